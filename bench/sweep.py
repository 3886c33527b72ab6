#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times computations of many shapes on hlocc and on XLA's cpu client, in one process.

What is bound by memory, Fourier transforms, linear algebra, matrix products; --only picks some by name. The stored
programs that bench/suite.py runs are few and round; these are the odd sizes, narrow types and awkward
dimensions around them. Both back ends take turns, the minimum counts. With --before a second plugin
joins in, an earlier build.
"""
import argparse
import functools
import os
import re
import statistics
import sys

import suite


class Arrays:
    """Random arguments."""

    def __init__(self, jnp, np):
        self.jnp, self.np, self.rng = jnp, np, np.random.default_rng(1)

    def f32(self, *dims):
        return self.rng.standard_normal(dims, dtype=self.np.float32)

    def bf16(self, *dims):
        return self.f32(*dims).astype(self.jnp.bfloat16)

    def i8(self, *dims):
        return self.rng.integers(-100, 100, dims, dtype=self.np.int8)

    def i32(self, high, *dims):
        return self.rng.integers(0, high, dims, dtype=self.np.int32)

    def mask(self, *dims):
        return self.rng.random(dims) < 0.5


def permutations(jax, jnp, np, some):
    """Transpositions and concatenations."""
    def permuted(*order):
        return functools.partial(jnp.transpose, axes=order)

    yield "transpose_1000x1000", jnp.transpose, some.f32(1000, 1000)
    yield "transpose_1024x1024", jnp.transpose, some.f32(1024, 1024)
    yield "transpose_77x4001", jnp.transpose, some.f32(77, 4001)
    yield "transpose_bf16_1000x1000", jnp.transpose, some.bf16(1000, 1000)
    yield "transpose_i8_1000x1000", jnp.transpose, some.i8(1000, 1000)
    yield "nchw_to_nhwc_8x64x56x56", permuted(0, 2, 3, 1), some.f32(8, 64, 56, 56)
    yield "nhwc_to_nchw_8x56x56x64", permuted(0, 3, 1, 2), some.f32(8, 56, 56, 64)
    yield "nchw_to_nhwc_8x3x224x224", permuted(0, 2, 3, 1), some.f32(8, 3, 224, 224)
    yield "nhwc_to_nchw_8x224x224x3", permuted(0, 3, 1, 2), some.f32(8, 224, 224, 3)
    yield "heads_8x512x8x64", permuted(0, 2, 1, 3), some.f32(8, 512, 8, 64)
    yield "heads_keys_8x512x8x64", permuted(0, 2, 3, 1), some.f32(8, 512, 8, 64)
    yield "concat_columns_8x1000x250", lambda *x: jnp.concatenate(x, 1), *[some.f32(1000, 250)] * 8
    yield "concat_columns_3x4000x33", lambda *x: jnp.concatenate(x, 1), *[some.f32(4000, 33)] * 3
    yield "concat_rows_4x250x1000", lambda *x: jnp.concatenate(x, 0), *[some.f32(250, 1000)] * 4
    yield "stack_last_2x1e6", lambda x, y: jnp.stack([x, y], -1), some.f32(1000000), some.f32(1000000)


def moves(jax, jnp, np, some):
    """Copies of parts."""
    yield "split_heads_add", lambda x: x[:, :512] + x[:, 512:], some.f32(1000, 1024)
    yield "gather_rows_1e5x64", lambda x, i: x[i], some.f32(10000, 64), some.i32(10000, 100000)
    yield "gather_rows_1e4x7", lambda x, i: x[i], some.f32(1000, 7), some.i32(1000, 10000)
    yield "gather_scalars_1e6", lambda x, i: x[i], some.f32(1000000), some.i32(1000000, 1000000)
    yield "take_columns", lambda x, i: x[:, i], some.f32(1000, 1000), some.i32(1000, 500)
    yield ("dus_rows", lambda x, y, i: jax.lax.dynamic_update_slice(x, y, (i, 0)),
           some.f32(1000, 1000), some.f32(100, 1000), np.int32(17))
    yield "pad_1000x1000", lambda x: jnp.pad(x, 3), some.f32(1000, 1000)
    yield "pad_8x56x56x64", lambda x: jnp.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), some.f32(8, 56, 56, 64)
    yield "roll_1e6", lambda x: jnp.roll(x, 12345), some.f32(1000000)
    yield "roll_columns_1000x1000", lambda x: jnp.roll(x, 3, 1), some.f32(1000, 1000)
    yield "broadcast_row", lambda x: jnp.broadcast_to(x, (1000, 1000)), some.f32(1000)
    yield "broadcast_column", lambda x: jnp.broadcast_to(x[:, None], (1000, 1000)), some.f32(1000)
    yield "reverse_1e6", lambda x: x[::-1], some.f32(1000000)
    yield "reverse_rows_1000x1000", lambda x: x[::-1], some.f32(1000, 1000)
    yield "every_second_1e6", lambda x: x[::2], some.f32(1000000)
    yield "every_second_row", lambda x: x[::2], some.f32(1000, 1000)
    yield "slice_middle", lambda x: x[100:900, 100:900], some.f32(1000, 1000)
    yield ("iota_1000x1000", lambda x: jnp.arange(1e6, dtype=np.float32).reshape(1000, 1000) + x,
           some.f32())


def reductions(jax, jnp, np, some):
    """Reductions and chains of them."""
    def layernorm(x):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    yield "sum_all_1e5", jnp.sum, some.f32(100000)
    yield "sum_all_1e6", jnp.sum, some.f32(1000000)
    yield "sum_all_bf16_1e6", jnp.sum, some.bf16(1000000)
    yield "max_all_1e6", jnp.max, some.f32(1000000)
    yield "dot_1e6", jnp.dot, some.f32(1000000), some.f32(1000000)
    yield "sum_rows_1e5x10", lambda x: x.sum(1), some.f32(100000, 10)
    yield "sum_rows_1e4x100", lambda x: x.sum(1), some.f32(10000, 100)
    yield "max_rows_1e4x64", lambda x: x.max(1), some.f32(10000, 64)
    yield "max_rows_1000x1000", lambda x: x.max(1), some.f32(1000, 1000)
    yield "sum_columns_1000x1000", lambda x: x.sum(0), some.f32(1000, 1000)
    yield "sum_columns_1e5x10", lambda x: x.sum(0), some.f32(100000, 10)
    yield "sum_middle_64x100x512", lambda x: x.sum(1), some.f32(64, 100, 512)
    yield "sum_middle_1000x50x7", lambda x: x.sum(1), some.f32(1000, 50, 7)
    yield "sum_outer_and_inner", lambda x: x.sum((0, 2)), some.f32(64, 100, 200)
    yield "mean_nchw_8x64x56x56", lambda x: x.mean((0, 2, 3)), some.f32(8, 64, 56, 56)
    yield "argmax_rows_1000x1000", lambda x: x.argmax(1), some.f32(1000, 1000)
    yield "argmin_columns_1000x1000", lambda x: x.argmin(0), some.f32(1000, 1000)
    yield "argmax_all_1e6", jnp.argmax, some.f32(1000000)
    yield "any_rows_1000x1000", lambda x: x.any(1), some.mask(1000, 1000)
    yield "var_rows_4000x256", lambda x: x.var(1), some.f32(4000, 256)
    for width in 64, 300, 1024, 8192:
        rows = (1 << 20) // width
        yield f"softmax_{rows}x{width}", jax.nn.softmax, some.f32(rows, width)
        yield f"layernorm_{rows}x{width}", layernorm, some.f32(rows, width)
        yield f"logsumexp_{rows}x{width}", lambda x: jax.nn.logsumexp(x, -1), some.f32(rows, width)
    yield "maxpool3x3_8x56x56x64", lambda x: jax.lax.reduce_window(
        x, -np.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), some.f32(8, 56, 56, 64)


def elementwise(jax, jnp, np, some):
    """One element at a time."""
    for name in "exp", "log", "tanh", "sin":
        yield f"{name}_1e6", getattr(jnp, name), abs(some.f32(1000000))
    yield "erf_1e6", jax.scipy.special.erf, some.f32(1000000)
    yield "add_row", lambda x, y: x + y, some.f32(1000, 1000), some.f32(1000)
    yield "add_column", lambda x, y: x + y[:, None], some.f32(1000, 1000), some.f32(1000)
    yield "outer_1000", jnp.outer, some.f32(1000), some.f32(1000)
    yield "add_bf16_1e6", lambda x, y: x + y, some.bf16(1000000), some.bf16(1000000)
    yield "gelu_bf16_1e6", jax.nn.gelu, some.bf16(1000000)
    yield "add_i8_1e6", lambda x, y: x + y, some.i8(1000000), some.i8(1000000)
    yield "i8_to_f32_1e6", lambda x: x.astype(np.float32) * 0.1, some.i8(1000000)
    yield "f32_to_i8_1e6", lambda x: jnp.round(x * 10).astype(np.int8), some.f32(1000000)
    yield "f32_to_bf16_1e6", lambda x: x.astype(jnp.bfloat16), some.f32(1000000)
    yield "bf16_to_f32_1e6", lambda x: x.astype(jnp.float32), some.bf16(1000000)
    yield "where_1e6", jnp.where, some.mask(1000000), some.f32(1000000), some.f32(1000000)
    yield "where_bf16_1e6", jnp.where, some.mask(1000000), some.bf16(1000000), some.bf16(1000000)
    yield "causal_mask_1000", lambda x: jnp.where(jnp.tri(1000, dtype=bool), x, -1e9), some.f32(1000, 1000)
    yield "compare_1e6", lambda x, y: x < y, some.f32(1000000), some.f32(1000000)


def transforms(jax, jnp, np, some):
    """Fourier transforms: powers, smooth, prime lengths, many short lines, several dimensions."""
    shapes = [(2**k,) for k in range(3, 21)] + [(3**k,) for k in range(2, 13, 2)]
    shapes += [(5**k,) for k in range(2, 9, 2)]
    shapes += [(n,) for n in (210, 1000, 1009, 4410, 10007, 44100, 65537, 100000, 360360)]
    shapes += [(10000, 8), (10000, 16), (10000, 30), (10000, 64), (10000, 101)]
    shapes += [(100, 128), (100, 480), (100, 1000), (100, 1009), (100, 1024), (100, 4096), (16, 65536)]
    for bits in 32, 64:
        for dims in shapes:
            x = some.f32(*dims).astype(f"f{bits // 8}")
            tail = f"_f{bits}_" + "x".join(map(str, dims))
            spectrum = np.fft.rfft(x).astype(f"c{bits // 4}")
            yield "fft" + tail, jnp.fft.fft, x + x.dtype.type(1) * 1j * some.f32(*dims).astype(x.dtype)
            yield "rfft" + tail, jnp.fft.rfft, x
            yield ("irfft" + tail, functools.partial(jnp.fft.irfft, n=dims[-1]), spectrum)
        for dims in (64, 64), (512, 512), (1000, 1000), (100, 32, 32), (64, 64, 64), (100, 120, 90):
            x = some.f32(*dims).astype(f"f{bits // 8}")
            tail = f"_f{bits}_" + "x".join(map(str, dims))
            yield "fftn" + tail, jnp.fft.fftn, x.astype(f"c{bits // 4}")
            yield "ifft2" + tail, jnp.fft.ifft2, x.astype(f"c{bits // 4}")
            yield "rfftn" + tail, jnp.fft.rfftn, x


def factorisations(jax, jnp, np, some):
    """Linear algebra of one matrix and of many."""
    linalg = jnp.linalg

    def triangular(a, b):
        return jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)

    for bits in 32, 64:
        for dims in (32,), (100,), (512,), (1000,), (1000, 8), (200, 32), (20, 100):
            *batch, n = dims
            a = some.f32(*batch, n, n).astype(f"f{bits // 8}")
            b = some.f32(*batch, n, n).astype(f"f{bits // 8}")
            positive = a @ np.swapaxes(a, -1, -2) + n * np.eye(n, dtype=a.dtype)
            tail = f"_f{bits}_" + "x".join(map(str, dims))
            yield "cholesky" + tail, linalg.cholesky, positive
            yield "triangular" + tail, triangular, positive, b
            yield "triangular_vector" + tail, triangular, positive, b[..., :1]
            yield "solve" + tail, linalg.solve, a, b[..., :1]
            yield "inv" + tail, linalg.inv, a
            yield "det" + tail, linalg.det, a
            yield "lu" + tail, jax.scipy.linalg.lu_factor, a
            yield "qr" + tail, linalg.qr, a
            if n < 1000:
                yield "eigh" + tail, linalg.eigh, positive
                yield "eigvalsh" + tail, linalg.eigvalsh, positive
                yield "svd" + tail, linalg.svd, a
                yield "singular_values" + tail, functools.partial(linalg.svd, compute_uv=False), a


def products(jax, jnp, np, some):
    """Matrix products between the round sizes."""
    yield "matmul_1000x1000x10", jnp.matmul, some.f32(1000, 1000), some.f32(1000, 10)
    yield "matmul_100x1000x1000", jnp.matmul, some.f32(100, 1000), some.f32(1000, 1000)
    yield "matmul_10x1000x1000", jnp.matmul, some.f32(10, 1000), some.f32(1000, 1000)
    yield "matmul_5000x64x64", jnp.matmul, some.f32(5000, 64), some.f32(64, 64)
    yield "matmul_64x64x5000", jnp.matmul, some.f32(64, 64), some.f32(64, 5000)
    for size in 96, 192, 384, 512, 768, 1000, 1536:
        yield f"matmul_{size}", jnp.matmul, some.f32(size, size), some.f32(size, size)
    for size in 32, 48, 100:
        yield f"matmul_64_of_{size}", jnp.matmul, some.f32(64, size, size), some.f32(64, size, size)
    yield "matmul_16_of_256", jnp.matmul, some.f32(16, 256, 256), some.f32(16, 256, 256)
    yield "matmul_64_of_1x128x512", jnp.matmul, some.f32(64, 1, 128), some.f32(64, 128, 512)
    yield "vector_1000x1000", jnp.matmul, some.f32(1000), some.f32(1000, 1000)
    yield "matmul_bf16_384", jnp.matmul, some.bf16(384, 384), some.bf16(384, 384)
    yield "matmul_bf16_8x4096x4096", jnp.matmul, some.bf16(8, 4096), some.bf16(4096, 4096)


def operands(jax, jnp, np, some):
    """Products of what is computed, or a view of something."""
    def dequantized(x, w, scale):
        return x @ (w.astype(x.dtype) * scale)

    def dequantized_rows(x, w, scale):
        return x @ (w.astype(x.dtype) * scale[:, None]).T

    def shifted(x, w, scale, zero):
        return x @ ((w.astype(x.dtype) - zero) * scale)

    for size in 1024, 4096:
        for rows in 1, 4, 32, 256:
            arguments = some.f32(rows, size), some.i8(size, size), some.f32(size)
            yield f"weights_i8_{rows}x{size}", dequantized, *arguments
            yield f"weights_i8_rows_{rows}x{size}", dequantized_rows, *arguments
            yield f"weights_i8_zero_{rows}x{size}", shifted, *arguments, some.f32(size)
            yield (f"weights_i8_bf16_{rows}x{size}", dequantized, some.bf16(rows, size), arguments[1],
                   some.bf16(size))
            yield (f"weights_bf16_{rows}x{size}", lambda x, w: x @ w.astype(x.dtype), arguments[0],
                   some.bf16(size, size))
    for size in 256, 1024:
        x, y = some.f32(size, size), some.f32(size, size)
        yield f"transposed_{size}", lambda x, y: x @ y.T, x, y
        yield f"mixed_precision_{size}", lambda x, y: (x.astype(jnp.bfloat16) @ y.astype(jnp.bfloat16)), x, y
        yield f"masked_{size}", lambda x, y, m: jnp.where(m, x, 0) @ y, x, y, some.mask(size, size)
        yield f"scaled_{size}", lambda x, y, s: (x * s) @ y, x, y, some.f32(size)
        yield f"pixels_{size}", lambda x, y: (x.astype(np.float32) / 255) @ y, some.i8(size, size), y
        yield f"sliced_{size}", lambda x, y: x @ y[size:], x, some.f32(2 * size, size)
        yield (f"layer_{size}", lambda x, w, i: x @ jax.lax.dynamic_index_in_dim(w, i, 0, False), x,
               some.f32(4, size, size), np.int32(2))
    yield ("layers_of_a_scan_64x512", lambda x, w: jax.lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, w)[0],
           some.f32(64, 512), some.f32(8, 512, 512))


def cases(jax, jnp, np):
    """Names, functions and arguments."""
    some = Arrays(jnp, np)
    for group in permutations, moves, reductions, elementwise, transforms, factorisations, products, operands:
        yield from group(jax, jnp, np, some)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose names match")
    suite.add_timing_arguments(parser, rounds=5, seconds=0.05)
    parser.add_argument("--before", metavar="LIBRARY", help="the plugin of an earlier build")
    return parser.parse_args()


def measure(jax, function, arguments, devices, options):
    """The least seconds of a call by column."""
    runs = {}
    compiled = jax.jit(function)
    for name, device in devices.items():
        placed = jax.block_until_ready(jax.device_put(arguments, device))
        runs[name] = lambda placed=placed: jax.block_until_ready(compiled(*placed))
    return suite.best_times(runs, options)


def main():
    options = parse_arguments()
    if options.before:
        os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"before:{options.before}"
    jax, devices = suite.load_jax(options.library, ["before"] if options.before else [])
    import numpy as np

    ratios = []
    for name, function, *arguments in cases(jax, jax.numpy, np):
        if not re.search(options.only, name):
            continue
        is_wide = any(getattr(a, "dtype", None) in (np.float64, np.complex128) for a in arguments)
        jax.config.update("jax_enable_x64", is_wide)  # off, as in most programs
        seconds = measure(jax, function, arguments, devices, options)
        ratios.append(seconds["xla"] / seconds["hlocc"])
        row = "  ".join(f"{column} {1e6 * s:8.1f} us" for column, s in seconds.items())
        print(f"{name:28} {row}  xla/hlocc {ratios[-1]:5.2f}", flush=True)
    if ratios:
        print(f"geometric mean {statistics.geometric_mean(ratios):.2f} of {len(ratios)}, "
              f"{sum(r < 0.95 for r in ratios)} below 0.95")


if __name__ == "__main__":
    main()
