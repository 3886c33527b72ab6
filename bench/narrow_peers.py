# SPDX-License-Identifier: Apache-2.0
"""Products of narrow elements in PyTorch and ONNX Runtime for narrow.py and scaled_dot.py: calls to time,
or None where the library is not installed or has no such product. One thread each.

ONNX Runtime's weights are constants of a model of a few nodes, which it packs once, when the model is loaded.
"""
import functools
import importlib.util

import numpy as np


def is_installed(name):
    return importlib.util.find_spec(name) is not None


@functools.cache
def torch_module():
    if not is_installed("torch"):
        return None
    import torch

    torch.set_num_threads(1)
    return torch


def torch_bf16(x, w):
    """x @ w of bf16."""
    torch = torch_module()
    if not torch:
        return None
    a, b = (torch.asarray(v.astype(np.float32)).to(torch.bfloat16) for v in (x, w))
    return lambda: torch.mm(a, b)


def torch_int8(x, w, scales):
    """x @ w of signed bytes, times a scale for each column."""
    torch = torch_module()
    if not torch:
        return None
    a, b, s = torch.asarray(x), torch.asarray(w), torch.asarray(scales)
    return lambda: torch._int_mm(a, b).to(torch.float32) * s


def torch_int8_weights(x, w, scales):
    """bf16 times signed bytes w [columns, depth], times a scale for each column."""
    torch = torch_module()
    if not torch:
        return None
    a, s = (torch.asarray(v.astype(np.float32)).to(torch.bfloat16) for v in (x, scales))
    b = torch.asarray(w)
    return lambda: torch.ops.aten._weight_int8pack_mm(a, b, s)


def session(nodes, inputs, constants):
    """A call of a model: nodes are (op, inputs, output, attributes); the last output is the result."""
    import onnx
    import onnxruntime

    helper = onnx.helper
    made = [helper.make_node(op, names, [output], domain="com.microsoft" if op == "MatMulNBits" else "", **attributes)
            for op, names, output, attributes in nodes]
    type_of = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        made, "product", [helper.make_tensor_value_info(n, type_of(v.dtype), v.shape) for n, v in inputs.items()],
        [helper.make_tensor_value_info(nodes[-1][2], onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(v, n) for n, v in constants.items()])
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=sets)
    model.ir_version = 8
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    run = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: run.run(None, inputs)


def has_ort():
    return is_installed("onnxruntime") and is_installed("onnx")


def ort_integer(x, w, scales, zero_points=None):
    """x @ w of bytes without zero points, if these are given, times a scale for each column."""
    if not has_ort():
        return None
    if x.dtype == np.int8 and not zero_points:  # slow; unsigned activations are not
        x, zero_points = (x.astype(np.int16) + 128).astype(np.uint8), (128, 0)
    constants, names = {"w": w, "s": scales}, ["x", "w"]
    if zero_points:
        constants |= {"xz": np.asarray(zero_points[0], x.dtype), "wz": np.asarray(zero_points[1], w.dtype)}
        names += ["xz", "wz"]
    return session([("MatMulInteger", names, "p", {}), ("Cast", ["p"], "f", {"to": 1}),
                    ("Mul", ["f", "s"], "out", {})], {"x": x}, constants)


def ort_4_bits(x, columns, block):
    """f32 times weights of four bits with a scale for each block of a column; activations may become bytes."""
    if not has_ort():
        return None
    depth = x.shape[1]
    random = np.random.default_rng(2)
    constants = {"w": random.integers(0, 256, (columns, depth // block, block // 2)).astype(np.uint8),
                 "s": random.random(columns * depth // block).astype(np.float32)}
    attributes = {"K": depth, "N": columns, "bits": 4, "block_size": block, "accuracy_level": 4}
    return session([("MatMulNBits", ["x", "w", "s"], "out", attributes)], {"x": x.astype(np.float32)}, constants)
