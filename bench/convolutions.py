#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times convolutions and poolings of well-known networks on hlocc, on XLA's cpu client and in PyTorch.

A set of its own beside the stored programs: each row of LAYERS is a layer and what is computed of it,
the value (y) or the gradient of its input (dx) or weights (dw). Results are compared with XLA's. One
JSON line per layer and column, as from bench/suite.py; --table prints a table instead.
"""
import argparse
import dataclasses
import json
import re
import sys

import numpy as np

import suite


@dataclasses.dataclass(frozen=True)
class Layer:
    """x: batch, places ..., features."""
    name: str
    x: tuple
    window: tuple
    features: int = 0  # of the output; 0: as many as x has
    stride: int = 1
    dilation: int = 1
    groups: int = 1  # -1: depthwise
    padding: object = "SAME"
    kind: str = "convolution"  # transposed, max_pool, average_pool
    dtype: str = "float32"
    of: str = "y"  # dx, dw
    layout: str = "last"  # features; first

    @property
    def space(self):
        return len(self.window)


LAYERS = [
    Layer("resnet_stem_7x7s2", (8, 224, 224, 3), (7, 7), 64, 2),
    Layer("resnet_3x3_64", (8, 56, 56, 64), (3, 3), 64),
    Layer("resnet_3x3_512", (8, 7, 7, 512), (3, 3), 512),
    Layer("resnet_3x3s2_128", (8, 56, 56, 128), (3, 3), 128, 2),
    Layer("resnet_1x1_256_64", (8, 56, 56, 256), (1, 1), 64),
    Layer("resnet_1x1s2_256_512", (8, 56, 56, 256), (1, 1), 512, 2),
    Layer("resnext_3x3_g32", (8, 28, 28, 256), (3, 3), 256, groups=32),
    Layer("mobilenet_dw3x3_64", (8, 56, 56, 64), (3, 3), groups=-1),
    Layer("mobilenet_dw3x3s2_144", (8, 56, 56, 144), (3, 3), stride=2, groups=-1),
    Layer("mobilenet_dw5x5_240", (8, 14, 14, 240), (5, 5), groups=-1),
    Layer("convnext_dw7x7_96", (4, 56, 56, 96), (7, 7), groups=-1),
    Layer("dw3x3_multiplier2", (8, 28, 28, 64), (3, 3), 128, groups=-1),
    Layer("dw3x3_bf16", (8, 56, 56, 64), (3, 3), groups=-1, dtype="bfloat16"),
    Layer("dw3x3_nchw", (8, 64, 56, 56), (3, 3), groups=-1, layout="first"),
    Layer("mamba_dw1d_4", (4, 1024, 512), (4,), groups=-1, padding=((3, 0),)),
    Layer("convnext_patch_4x4s4", (4, 224, 224, 3), (4, 4), 96, 4, padding="VALID"),
    Layer("unet_3x3_32_nchw", (4, 32, 96, 96), (3, 3), 32, layout="first"),
    Layer("atrous_3x3d4_128", (2, 48, 48, 128), (3, 3), 128, dilation=4),
    Layer("lenet_5x5_1", (64, 28, 28, 1), (5, 5), 20, padding="VALID"),
    Layer("groups4_3x3_64", (8, 28, 28, 64), (3, 3), 64, groups=4),
    Layer("wav2vec_10s5_1", (4, 16000, 1), (10,), 512, 5, padding="VALID"),
    Layer("wav2vec_3s2_512", (4, 3199, 512), (3,), 512, 2, padding="VALID"),
    Layer("wav2vec_pos_128_g16", (4, 100, 768), (128,), 768, groups=16),
    Layer("conv3d_3x3x3_16", (2, 16, 32, 32, 16), (3, 3, 3), 32),
    Layer("unet_up_2x2s2", (4, 32, 32, 128), (2, 2), 64, 2, kind="transposed"),
    Layer("dcgan_up_4x4s2", (8, 16, 16, 256), (4, 4), 128, 2, kind="transposed"),
    Layer("conv3x3_bf16", (8, 56, 56, 64), (3, 3), 64, dtype="bfloat16"),
    Layer("conv1x1_bf16", (8, 28, 28, 256), (1, 1), 256, dtype="bfloat16"),
    Layer("conv3x3_int8", (8, 56, 56, 64), (3, 3), 64, dtype="int8"),
    Layer("conv1x1_int8", (8, 28, 28, 256), (1, 1), 256, dtype="int8"),
    Layer("conv3x3_bf16_dx", (8, 56, 56, 64), (3, 3), 64, dtype="bfloat16", of="dx"),
    Layer("conv3x3_bf16_dw", (8, 56, 56, 64), (3, 3), 64, dtype="bfloat16", of="dw"),
    Layer("resnet_stem_dw", (8, 112, 112, 3), (7, 7), 64, 2, of="dw"),
    Layer("resnet_3x3_64_dx", (8, 56, 56, 64), (3, 3), 64, of="dx"),
    Layer("resnet_3x3_64_dw", (8, 56, 56, 64), (3, 3), 64, of="dw"),
    Layer("resnet_3x3s2_128_dx", (8, 56, 56, 128), (3, 3), 128, 2, of="dx"),
    Layer("resnet_3x3s2_128_dw", (8, 56, 56, 128), (3, 3), 128, 2, of="dw"),
    Layer("resnet_1x1_256_64_dw", (8, 56, 56, 256), (1, 1), 64, of="dw"),
    Layer("unet_up_2x2s2_dx", (4, 32, 32, 128), (2, 2), 64, 2, kind="transposed", of="dx"),
    Layer("unet_up_2x2s2_dw", (4, 32, 32, 128), (2, 2), 64, 2, kind="transposed", of="dw"),
    Layer("dw3x3_dx", (8, 56, 56, 64), (3, 3), groups=-1, of="dx"),
    Layer("dw3x3_dw", (8, 56, 56, 64), (3, 3), groups=-1, of="dw"),
    Layer("dw3x3s2_dx", (8, 56, 56, 64), (3, 3), stride=2, groups=-1, of="dx"),
    Layer("dw3x3s2_dw", (8, 56, 56, 64), (3, 3), stride=2, groups=-1, of="dw"),
    Layer("groups4_3x3_64_dw", (8, 28, 28, 64), (3, 3), 64, groups=4, of="dw"),
    Layer("wav2vec_3s2_512_dx", (4, 3199, 512), (3,), 512, 2, padding="VALID", of="dx"),
    Layer("max_pool_2x2", (8, 112, 112, 64), (2, 2), stride=2, kind="max_pool"),
    Layer("max_pool_3x3s2", (8, 112, 112, 64), (3, 3), stride=2, kind="max_pool"),
    Layer("max_pool_3x3s2_nchw", (8, 64, 112, 112), (3, 3), stride=2, kind="max_pool", layout="first"),
    Layer("average_pool_2x2", (8, 112, 112, 64), (2, 2), stride=2, kind="average_pool"),
    Layer("average_pool_7x7", (8, 7, 7, 512), (7, 7), kind="average_pool", padding="VALID"),
    Layer("max_pool_2x2_dx", (8, 112, 112, 64), (2, 2), stride=2, kind="max_pool", of="dx"),
    Layer("max_pool_3x3s2_dx", (8, 112, 112, 64), (3, 3), stride=2, kind="max_pool", of="dx"),
    Layer("average_pool_2x2_dx", (8, 112, 112, 64), (2, 2), stride=2, kind="average_pool", of="dx"),
]


# ---- JAX

def window_of(layer, value):
    return (1, *value, 1) if layer.layout == "last" else (1, 1, *value)


def pool(layer, x):
    from jax import lax
    is_max = layer.kind == "max_pool"
    window = window_of(layer, layer.window)
    y = lax.reduce_window(x, x.dtype.type(-np.inf if is_max else 0), lax.max if is_max else lax.add, window,
                          window_of(layer, [layer.stride] * layer.space), layer.padding)
    return y if is_max else y / float(np.prod(window))


def groups_of(layer):
    channels = layer.x[-1 if layer.layout == "last" else 1]
    return (channels if layer.groups == -1 else layer.groups), channels


def weight_shape(layer):
    groups, channels = groups_of(layer)
    return (*layer.window, channels // groups, layer.features or channels)


def convolve(layer, x, w):
    from jax import lax
    letters = "DHW"[3 - layer.space:]
    shape = f"N{letters}C" if layer.layout == "last" else f"NC{letters}"
    numbers = (shape, f"{letters}IO", shape)
    strides = [layer.stride] * layer.space
    if layer.kind == "transposed":
        return lax.conv_transpose(x, w, strides, layer.padding, dimension_numbers=numbers)
    sums = np.int32 if layer.dtype == "int8" else None
    return lax.conv_general_dilated(x, w, strides, layer.padding, dimension_numbers=numbers,
                                    rhs_dilation=[layer.dilation] * layer.space,
                                    feature_group_count=groups_of(layer)[0],
                                    preferred_element_type=sums)


def jax_function(layer):
    """(function, shapes of its arguments)"""
    import jax
    is_pool = layer.kind.endswith("pool")
    forward = (lambda *a: pool(layer, *a)) if is_pool else lambda *a: convolve(layer, *a)
    shapes = [layer.x] if is_pool else [layer.x, weight_shape(layer)]
    if layer.of == "y":
        return forward, shapes
    dtype = jax.numpy.dtype(layer.dtype)
    y = jax.eval_shape(forward, *[jax.ShapeDtypeStruct(s, dtype) for s in shapes])
    at = ("dx", "dw").index(layer.of)
    return (lambda *a: jax.vjp(forward, *a[:-1])[1](a[-1])[at]), [*shapes, y.shape]


# ---- PyTorch

def torch_pads(layer):
    """(low, high) of every place as JAX computes SAME."""
    if layer.padding == "VALID":
        return [(0, 0)] * layer.space
    if layer.padding != "SAME":
        return layer.padding
    places = layer.x[1:-1] if layer.layout == "last" else layer.x[2:]
    pads = []
    for extent, window in zip(places, layer.window):
        reach = (window - 1) * layer.dilation + 1
        total = max((-(-extent // layer.stride) - 1) * layer.stride + reach - extent, 0)
        pads.append((total // 2, total - total // 2))
    return pads


def torch_function(layer, arguments):
    import torch
    import torch.nn.functional as F

    def features_first(array):
        tensor = torch.from_numpy(np.asarray(array, np.float32)).to(getattr(torch, layer.dtype))
        return tensor.movedim(-1, 1) if layer.layout == "last" else tensor

    n = layer.space
    x, y = features_first(arguments[0]), arguments[-1]
    pads = torch_pads(layer)
    sides = tuple(max(p) for p in pads)
    if layer.kind.endswith("pool"):
        function = getattr(F, f"{layer.kind.replace('average', 'avg')}{n}d")
        sides = tuple(0 if layer.stride == w else p for w, p in zip(layer.window, sides))
        forward = lambda x: function(x, layer.window, layer.stride, padding=sides)
        if layer.of == "y":
            return lambda: forward(x)
        x.requires_grad_()
        value = forward(x)
        return lambda: torch.autograd.grad(value, x, torch.ones_like(value), retain_graph=True)
    is_transposed = layer.kind == "transposed"
    w = torch.from_numpy(np.asarray(arguments[1], np.float32)).to(x.dtype)
    w = w.movedim((-2, -1), (0, 1) if is_transposed else (1, 0)).contiguous()
    if n == 2 and layer.layout == "last":
        w = w.contiguous(memory_format=torch.channels_last)
    if is_transposed:
        sides = tuple((k - layer.stride) // 2 for k in layer.window)
    groups, numbers = groups_of(layer)[0], ([layer.stride] * n, list(sides), [layer.dilation] * n)
    call = lambda: torch.ops.aten.convolution(x, w, None, *numbers, is_transposed, [0] * n, groups)
    if layer.of == "y":
        return call
    value = call()
    mask = [layer.of == "dx", layer.of == "dw", False]
    return lambda: torch.ops.aten.convolution_backward(
        value, x, w, None, *numbers, is_transposed, [0] * n, groups, mask)


# ---- measuring

def measure(layer, jax, devices, options):
    function, shapes = jax_function(layer)
    random = np.random.default_rng(7)
    dtype = jax.numpy.dtype(layer.dtype)
    scale = 40 if layer.dtype == "int8" else 1
    host = [(random.normal(size=s) * scale).astype(np.float32).astype(dtype) for s in shapes]
    runs, results = {}, {}
    for column, device in devices.items():
        arguments = [jax.device_put(a, device) for a in host]
        code = jax.jit(function).lower(*arguments).compile()
        results[column] = np.asarray(code(*arguments)).astype(np.float64)
        runs[column] = lambda code=code, arguments=arguments: code(*arguments).block_until_ready()
    if "torch" in options.columns and layer.dtype != "int8":
        runs["torch"] = torch_function(layer, host)
    row = suite.best_times(runs, options)
    if len(results) == 2:
        got, wanted = results["hlocc"], results["xla"]
        row["difference"] = float(np.max(np.abs(got - wanted)) / (np.max(np.abs(wanted)) + 1e-30))
    return row


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="layers whose names match")
    parser.add_argument("--columns", default="hlocc,xla,torch", help="what to run")
    suite.add_timing_arguments(parser, rounds=3, seconds=0.1)
    parser.add_argument("--table", action="store_true", help="a table to read, in microseconds")
    return parser.parse_args()


def print_row(layer, row, options):
    if not options.table:
        for column in (c for c in options.columns.split(",") if c in row):
            print(json.dumps({"program": layer.name, "column": column, "min_s": row[column]}),
                  flush=True)
        return
    ratios = [f"{other} {row[other] / row['hlocc']:6.2f}x" for other in ("xla", "torch")
              if other in row and "hlocc" in row]
    cells = [f"{c} {row.get(c, np.nan) * 1e6:9.1f}" for c in options.columns.split(",")]
    print(f"{layer.name:24}", *cells, *ratios, f"{row.get('difference', 0):8.1e}", flush=True)


def main():
    options = parse_arguments()
    jax, devices = suite.load_jax(options.library)
    devices = {name: device for name, device in devices.items() if name in options.columns}
    for layer in LAYERS:
        if not re.search(options.only, layer.name):
            continue
        try:
            print_row(layer, measure(layer, jax, devices, options), options)
        except Exception as error:  # one layer that fails must not end the others
            print(json.dumps({"program": layer.name, "error": str(error)[:300]}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
