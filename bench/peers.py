# SPDX-License-Identifier: Apache-2.0
"""The stored programs in other libraries: prepare(column, path, arguments) gives a call to time.

PROGRAMS are written once for NumPy and PyTorch (xp is the library, arrays are its own); what one
of them says in its own way is in NUMPY and TORCH, whole models in torch_models.py. IREE compiles the very module bytes.
"""
import importlib.metadata
import subprocess
import tempfile

import numpy as np

MATMUL = ("batch_matmul_64x128x64x128", "gemv_f32_4096", "matmul_1e6x3x3", "matmul_f32_1024",
          "matmul_f32_2048", "matmul_f32_256", "vmap_matmul8_1e4")
PROGRAMS = {
    **{name: lambda xp, a, b: xp.matmul(a, b) for name in MATMUL},
    **{f"{name}_1e6": lambda xp, x, name=name: getattr(xp, name)(x)
       for name in ("exp", "log", "sin", "tanh")},
    "add_scalar": lambda xp, x: x + 1,
    "add_100_args": lambda xp, *xs: [x + 1 for x in xs],
    "argmax_rows_4096": lambda xp, x: xp.argmax(x, 1),
    "argsort_1e6": lambda xp, x: xp.argsort(x),
    "axpy_1e7": lambda xp, x, y: 2.5 * x + y,
    "cholesky_256": lambda xp, a: xp.linalg.cholesky(a),
    "concat_8x1000x250": lambda xp, *xs: xp.concatenate(xs, 1),
    "cumsum_1e6": lambda xp, x: xp.cumsum(x, 0),
    "cumsum_rows_1000x1000": lambda xp, x: xp.cumsum(x, 1),
    "eigh_256": lambda xp, a: xp.linalg.eigh(a),
    "fft_2e18_c64": lambda xp, x: xp.fft.fft(x),
    "gather_rows_1e5x64": lambda xp, table, rows: table[rows],
    "inv_256": lambda xp, a: xp.linalg.inv(a),
    "matmul_f32_1024_At_B": lambda xp, a, b: xp.matmul(a.T, b),
    "max_rows_4096": lambda xp, x: xp.amax(x, 1),
    "qr_256": lambda xp, a: xp.linalg.qr(a),
    "sort_1e6": lambda xp, x: xp.sort(x),
    "sort_rows_1000x1000": lambda xp, x: xp.sort(x),
    "sum_all_1e6": lambda xp, x: xp.sum(x),
    "sum_all_1e7": lambda xp, x: xp.sum(x),
    "sum_cols_4096": lambda xp, x: xp.sum(x, 0),
    "sum_rows_4096": lambda xp, x: xp.sum(x, 1),
    "chain_of_50_small_ops": lambda xp, x, w: chain(xp, x, w),
    "vmap_solve4_1e4": lambda xp, a, b: xp.linalg.solve(a, b[..., None])[..., 0],
}


def chain(xp, x, w):
    for _ in range(50):
        x = xp.tanh(x @ w)
    return x


def scatter_numpy(rows, updates, count):
    table = np.zeros((count, *updates.shape[1:]), np.float32)
    np.add.at(table, rows, updates)
    return table


def gelu_layernorm_numpy(x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    y = centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gain + bias
    return 0.5 * y * (1 + np.tanh(0.7978846 * (y + 0.044715 * y * y * y)))


def softmax_numpy(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


GELU = ("gelu_layernorm_1e3", "gelu_layernorm_1e6", "gelu_layernorm_1e7")
NUMPY = {
    **{name: lambda _, *args: gelu_layernorm_numpy(*args) for name in GELU},
    "softmax_4096": lambda _, x: softmax_numpy(x),
    "scatter_add_1e6_scalars": lambda _, i, u: scatter_numpy(i, u, 100000),
    "scatter_add_1e5_rows_of_64": lambda _, i, u: scatter_numpy(i, u, 10000),
    "transpose_4096": lambda xp, x: xp.ascontiguousarray(x.T),
    "transpose_heads_8x512x8x64": lambda xp, x: xp.ascontiguousarray(x.transpose(0, 2, 1, 3)),
    "attention_scores_einsum": lambda xp, q, k: xp.matmul(q.transpose(0, 2, 1, 3),
                                                          k.transpose(0, 2, 3, 1)),
    "pad_8x56x56x64": lambda xp, x: xp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))),
}
TORCH = {
    **{name: lambda t, x, g, b: t.nn.functional.gelu(
        t.nn.functional.layer_norm(x, g.shape, g, b), approximate="tanh") for name in GELU},
    "attention_scores_einsum": lambda t, q, k: t.einsum("bqhd,bkhd->bhqk", q, k),
    "cast_f32_bf16_1e7": lambda t, x: x.to(t.bfloat16),
    "erf_1e6": lambda t, x: t.erf(x),
    "logsumexp_4096": lambda t, x: t.logsumexp(x, 1),
    "matmul_bf16_1024": lambda t, a, b: t.mm(a, b),
    "matmul_bf16_2048": lambda t, a, b: t.mm(a, b),
    "matmul_bias_gelu_1024": lambda t, a, b, c: t.nn.functional.gelu(a @ b + c, approximate="tanh"),
    "matmul_int8_1024": lambda t, a, b: t._int_mm(a, b),
    "pad_8x56x56x64": lambda t, x: t.nn.functional.pad(x, (0, 0, 1, 1, 1, 1)),
    "rng_normal_1e6": lambda t, _: t.randn(10**6),
    "scatter_add_1e5_rows_of_64": lambda t, i, u: t.zeros(10000, 64).index_add_(0, i, u),
    "scatter_add_1e6_scalars": lambda t, i, u: t.zeros(100000).index_add_(0, i, u),
    "softmax_4096": lambda t, x: t.softmax(x, 1),
    "topk32_1024x4096": lambda t, x: t.topk(x, 32),
    "transpose_4096": lambda t, x: x.t().contiguous(),
    "transpose_heads_8x512x8x64": lambda t, x: x.permute(0, 2, 1, 3).contiguous(),
}


def array_library(xp, own, path, arguments):
    """A call of a program in an array library; None if there is no such program."""
    function = own.get(path.stem) or PROGRAMS.get(path.stem)
    if function is None:
        return None
    arrays = [to_array(xp, a) for a in arguments]
    return lambda: function(xp, *arrays)


def to_array(xp, argument):
    if argument.dtype.name == "bfloat16" and xp is not np:
        return xp.asarray(argument.astype(np.float32)).to(xp.bfloat16)
    if argument.dtype.name == "uint32" and xp is not np:
        argument = argument.astype(np.int64)
    return xp.asarray(argument)


def numpy_call(path, arguments):
    return array_library(np, NUMPY, path, arguments)


def torch_call(path, arguments):
    import torch
    import torch_models

    model = torch_models.MODELS.get(path.stem)
    return model(arguments) if model else array_library(torch, TORCH, path, arguments)


IREE_COMPILE_LIMIT_S = 100
# Minutes to hours a call.
IREE_SLOW = ("while_gather_1e6", "while_1e5_tiny", "argsort_1e6", "sort_1e6")


def module_text(path):
    from jax._src.interpreters import mlir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context() as context:
        return str(stablehlo.deserialize_portable_artifact(context, path.read_bytes()))


def iree_call(path, arguments):
    """IREE's compiler for this machine's cpu, its runtime with one worker for each core."""
    import iree.compiler
    import iree.runtime

    if path.stem in IREE_SLOW:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as source, \
         tempfile.NamedTemporaryFile(suffix=".vmfb") as binary:
        source.write(module_text(path))
        source.flush()
        tool = iree.compiler.tools.binaries.find_tool("iree-compile")
        done = subprocess.run(
            [tool, source.name, "-o", binary.name, "--iree-input-type=stablehlo_xla",
             "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
             "--iree-llvmcpu-target-cpu=host"], capture_output=True, timeout=IREE_COMPILE_LIMIT_S)
        if done.returncode:
            return None
        config = iree.runtime.Config("local-task")
        module = iree.runtime.VmModule.copy_buffer(config.vm_instance, binary.read())
    context = iree.runtime.SystemContext(config=config, vm_modules=[module])
    (main,) = [f for m in context.modules.values() if hasattr(m, "main") for f in [m.main]]
    device_arguments = [iree.runtime.asdevicearray(config.device, np.asarray(a)) for a in arguments]
    return lambda: main(*device_arguments)


def ort_call(path, arguments):
    """ONNX Runtime on a model of one node."""
    nodes = {**{name: ("MatMul", {}) for name in MATMUL}, "softmax_4096": ("Softmax", {"axis": 1}),
             "exp_1e6": ("Exp", {}), "tanh_1e6": ("Tanh", {}), "sin_1e6": ("Sin", {}),
             "log_1e6": ("Log", {}), "erf_1e6": ("Erf", {})}
    if path.stem not in nodes:
        return None
    import onnx
    import onnxruntime

    kind, attributes = nodes[path.stem]
    names = [f"input{i}" for i in range(len(arguments))]
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(kind, names, ["output"], **attributes)], path.stem,
        [value(n, onnx.TensorProto.FLOAT, a.shape) for n, a in zip(names, arguments)],
        [value("output", onnx.TensorProto.FLOAT, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    feeds = dict(zip(names, arguments))
    return lambda: session.run(None, feeds)


# Column: the distribution that it needs, and what makes its calls.
COLUMNS = {"numpy": ("numpy", numpy_call), "torch": ("torch", torch_call),
           "iree": ("iree-base-runtime", iree_call), "ort": ("onnxruntime", ort_call)}


def installed(columns):
    """{column: version} of those whose libraries are here."""
    found = {}
    for column in columns:
        try:
            found[column] = importlib.metadata.version(COLUMNS[column][0])
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def prepare(column, path, arguments):
    """A function without arguments that runs the program once and waits; None if it cannot."""
    try:
        return COLUMNS[column][1](path, arguments)
    except subprocess.TimeoutExpired:
        return None
