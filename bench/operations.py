#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times single JAX operations on hlocc, on XLA's cpu client and on another build of hlocc.

The table below has operations that become library calls or that have been slow once: sorts, scatters,
windows, products of unusual types, linear algebra, transforms, masked softmax, transposes, gradients of
loops. All columns take turns in one process and the best rounds count. Before and after a change:

  bench/operations.py --base OTHER/build/lib/pjrt_c_api_hlocc_plugin.so
"""
import argparse
import math
import re

import suite

# Name, function of the arguments, arguments: f32, bf16, f64, c64 normally distributed, i32:N below N.
OPERATIONS = """
sort_descending | lambda a: jnp.sort(a, descending=True) | f32[100000]
sort_bf16 | jnp.sort | bf16[100000]
sort_i8 | lambda a: jnp.sort(a.astype(jnp.int8)) | i32:100[100000]
sort_complex | jnp.sort | c64[20000]
sort_middle_axis | lambda a: jnp.sort(a, axis=1) | f32[64,128,16]
sort_two_keys | lambda a, b: lax.sort((a, b, a + b), num_keys=2) | i32:100[100000] i32:100[100000]
lexsort | lambda a, b: jnp.lexsort((a, b)) | i32:100[100000] i32:100[100000]
argsort_columns | lambda a: jnp.argsort(a, axis=0) | f32[1000,64]
unique | lambda a: jnp.unique(a, size=1000) | i32:1000[100000]
median | lambda a: jnp.median(a, axis=0) | f32[1000,100]
quantile | lambda a: jnp.quantile(a, 0.3, axis=1) | f32[100,1000]
top_k_bf16 | lambda a: lax.top_k(a, 10) | bf16[100,10000]
approx_max_k | lambda a: lax.approx_max_k(a, 10) | f32[100,10000]
searchsorted | lambda a, v: jnp.searchsorted(jnp.sort(a), v) | f32[10000] f32[10000]
histogram | lambda a: jnp.histogram(a, bins=100)[0] | f32[100000]
bincount | lambda a: jnp.bincount(a, length=100) | i32:100[100000]
scatter_multiply | lambda x, i, u: x.at[i].multiply(u) | f32[10000] i32:10000[50000] f32[50000]
scatter_max_rows | lambda x, i, u: x.at[i].max(u) | f32[1000,64] i32:1000[10000] f32[10000,64]
scatter_apply | lambda x, i: x.at[i].apply(jnp.tanh) | f32[10000] i32:10000[5000]
segment_min | lambda x, i: jax.ops.segment_min(x, i, 100) | f32[10000,8] i32:100[10000]
neighbour_sum | lambda x, i: x[i].sum(1) | f32[10000,32] i32:10000[10000,16]
neighbour_difference | lambda x, i: (x[i] - x[:, None]).sum(1) | f32[10000,3] i32:10000[10000,16]
neighbour_energy | lambda x, i: (1 / (1 + ((x[i] - x[:, None])**2).sum(-1))).sum(1) | f32[10000,3] i32:10000[10000,16]
neighbour_scatter | lambda x, i, j: jnp.zeros_like(x).at[j].add(x[i]) | f32[10000,32] i32:10000[160000] i32:10000[160000]
cumprod | lambda x: jnp.cumprod(1 + x / 100, axis=0) | f32[1000,64]
cummax | lambda x: lax.cummax(x, axis=1) | f32[64,10000]
cumlogsumexp | lambda x: lax.cumlogsumexp(x, axis=1) | f32[64,1000]
cumsum_i32 | jnp.cumsum | i32:9[1000000]
cumsum_bf16 | lambda x: jnp.cumsum(x, axis=-1) | bf16[64,1000]
map_elements | lambda a: lax.map(lambda x: jnp.sin(x) * x + 1, a) | f32[1000000]
map_rows | lambda a: lax.map(lambda x: jnp.exp(x - x.max()), a) | f32[1024,1024]
map_long_rows | lambda a: lax.map(jax.nn.gelu, a) | f32[64,65536]
scan_stacked | lambda a: lax.scan(lambda c, x: (c, jnp.exp(c - x * x)), 0.5, a, reverse=True)[1] | f32[2048,512]
fori_set | lambda a: lax.fori_loop(0, 100000, lambda i, y: y.at[i].set(a[i] * 2), jnp.zeros_like(a)) | f32[100000]
associative_scan | lambda a: lax.associative_scan(jnp.maximum, a) | f32[100000]
window_custom | lambda x: lax.reduce_window(x, np.float32(0), lambda a, b: a + b * 2, (1, 3), (1, 1), "SAME") | f32[100,200]
window_long | lambda x: lax.reduce_window(x, np.float32(0), lax.add, (1, 200), (1, 1), "SAME") | f32[32,4000]
avg_pool_11 | lambda x: lax.reduce_window(x, np.float32(0), lax.add, (1, 11, 11, 1), (1, 1, 1, 1), "SAME") | f32[4,56,56,16]
max_pool_3d | lambda x: lax.reduce_window(x, np.float32(-np.inf), lax.max, (1, 3, 3, 3, 1), (1, 2, 2, 2, 1), "SAME") | f32[2,16,32,32,16]
max_pool_gradient | jax.grad(lambda x: lax.reduce_window(x, np.float32(-np.inf), lax.max, (1, 7, 7, 1), (1, 3, 3, 1), "SAME").sum()) | f32[4,56,56,32]
reduce_custom | lambda x: lax.reduce(x, np.float32(1), lambda a, b: a * b + a + b, (1,)) | f32[100,1000]
reduce_two | lambda x, y: lax.reduce((x, y), (np.float32(0), np.float32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)) | f32[1000,1000] f32[1000,1000]
sum_and_squares | lambda x: (x.sum(1), (x * x).sum(1)) | f32[10000,64]
max_f64 | lambda x: jnp.max(x, 1) | f64[1024,1024,16]
max_transposed_2d | lambda x: jnp.max(x.T, axis=1) | f32[2048,2048]
max_transposed_outer | lambda x: jnp.max(jnp.transpose(x, (1, 0, 2)), axis=0) | f32[64,512,64]
max_transposed_inner | lambda x: jnp.max(jnp.transpose(x, (2, 0, 1)), axis=-1) | f32[128,128,128]
reverse_axes_short | lambda x: jnp.transpose(x) | f32[1024,256,4]
reverse_axes_4d | lambda x: jnp.transpose(x) | f32[64,64,64,4]
swap_outer_axes | lambda x: jnp.swapaxes(x, 0, 1) | f32[128,2048,4]
softmax_middle | lambda x: jax.nn.softmax(x, axis=1) | f32[64,256,128]
softmax_transposed | lambda x: jax.nn.softmax(x.T, axis=-1) | f32[512,512]
masked_softmax_bf16 | lambda x: masked_softmax(jnp.transpose(x, (1, 2, 0, 3))) | bf16[256,4,4,1024]
masked_softmax_f32 | lambda x: masked_softmax(jnp.transpose(x, (1, 2, 0, 3))) | f32[256,4,4,1024]
scores_bf16 | lambda q, k: masked_softmax(jnp.einsum("tghd,sgd->ghts", q, k)) | bf16[256,4,4,128] bf16[1024,4,128]
pairwise_differences | pairwise | f32[2048,3]
pairwise_row_sums | lambda x: (pairwise(x)[0], jnp.sqrt(pairwise(x)[1] + 1e-6).sum(1)) | f32[2048,3]
dot_i64 | lambda a, b: a.astype(jnp.int64) @ b.astype(jnp.int64) | i32:9[200,200] i32:9[200,200]
dot_u8 | lambda a, b: lax.dot(a.astype(jnp.uint8), b.astype(jnp.uint8), preferred_element_type=jnp.int32) | i32:9[200,200] i32:9[200,200]
dot_bool | lambda a, b: (a > 0) @ (b > 0) | i32:2[200,200] i32:2[200,200]
dot_i4 | lambda a, b: lax.dot(a.astype(jnp.int4), b.astype(jnp.int4), preferred_element_type=jnp.int32) | i32:7[200,200] i32:7[200,200]
dot_c64 | lambda a, b: a @ b | c64[200,200] c64[200,200]
dot_f8 | lambda a, b: lax.dot(a.astype(jnp.float8_e4m3fn), b.astype(jnp.float8_e4m3fn), preferred_element_type=jnp.float32) | f32[200,200] f32[200,200]
ragged_dot | lambda a, b: lax.ragged_dot(a, b, jnp.array([100, 50, 200, 162])) | f32[512,256] f32[4,256,512]
conv_nchw | conv("NCHW", "OIHW") | f32[4,16,28,28] f32[32,16,3,3]
conv_dilated_kernel | conv("NHWC", "HWIO", rhs_dilation=(2, 2)) | f32[4,28,28,16] f32[3,3,16,32]
conv_dilated_input | conv("NHWC", "HWIO", lhs_dilation=(2, 2)) | f32[4,28,28,16] f32[3,3,16,32]
conv_feature_groups | conv("NHWC", "HWIO", feature_group_count=4) | f32[4,28,28,16] f32[3,3,4,32]
conv_batch_groups | conv("NHWC", "HWIO", batch_group_count=4) | f32[4,28,28,16] f32[3,3,16,32]
conv_i32 | conv("NHWC", "HWIO") | i32:9[4,28,28,16] i32:9[3,3,16,32]
conv_c64 | conv("NHWC", "HWIO") | c64[2,14,14,8] c64[3,3,8,16]
random_normal | lambda a: jax.random.normal(jax.random.key(a[0]), (100000,)) | i32:9[1]
random_rbg | lambda a: jax.random.uniform(jax.random.key(a[0], impl="rbg"), (100000,)) | i32:9[1]
permutation | lambda a: jax.random.permutation(jax.random.key(a[0]), 100000) | i32:9[1]
determinants | jnp.linalg.det | f32[100,8,8]
expm | lambda a: jax.scipy.linalg.expm(a / 10) | f32[32,32]
svd_values | lambda a: jnp.linalg.svd(a, compute_uv=False) | f32[64,64]
eigh_values | lambda a: jnp.linalg.eigh(a + a.T)[0] | f32[64,64]
schur | lambda a: jax.scipy.linalg.schur(a)[0] | f32[32,32]
inverse | lambda a: jnp.linalg.inv(a) | f32[256,256]
fft_f64 | lambda a: jnp.fft.fft(a) | f64[100,1000]
rfft2 | jnp.fft.rfft2 | f32[8,100,120]
loop_gradient | lambda w, x: jax.grad(lambda w: nested_loops(w, x).sum())(w) | f32[64,64] f32[128,64]
ode_gradient | lambda w, x: jax.grad(lambda w: ode(w, x).sum())(w) | f32[64,64] f32[128,64]
"""


def helpers(jax, numpy):
    """What the functions of the table may name."""
    jnp, lax = jax.numpy, jax.lax

    def masked_softmax(scores):
        rows, columns = scores.shape[-2:]
        mask = jnp.arange(columns) <= jnp.arange(rows)[:, None] + columns - rows
        return jax.nn.softmax(jnp.where(mask, scores, jnp.asarray(-1e9, scores.dtype)), -1)

    def pairwise(x):
        difference = x[None] - x[:, None]
        return difference, (difference * difference).sum(-1)

    def conv(layout, kernel_layout, **attributes):
        return lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "SAME" if "lhs_dilation" not in attributes else ((1, 1), (1, 1)),
            dimension_numbers=(layout, kernel_layout, layout), **attributes)

    def nested_loops(w, x):
        def inner(y, _):
            return y + 0.01 * jnp.tanh(y @ w / 8), None
        return lax.scan(lambda y, _: (lax.scan(inner, y, None, length=8)[0], None), x, None, length=20)[0]

    def ode(w, x):
        from jax.experimental.ode import odeint
        return odeint(lambda y, t, w: jnp.tanh(y @ w / 8), x, jnp.linspace(0, 1, 5, dtype=x.dtype), w)[-1]

    return {"np": numpy, "jax": jax, "jnp": jnp, "lax": lax, "masked_softmax": masked_softmax, "pairwise": pairwise,
            "conv": conv, "nested_loops": nested_loops, "ode": ode}


def argument(jax, generator, text):
    """The host array of `f32[2,3]` or `i32:N[4]`."""
    dtype, limit, dims = re.fullmatch(r"(\w+)(?::(\d+))?\[([\d,]*)\]", text).groups()
    shape = [int(dim) for dim in dims.split(",")]
    if limit:
        return generator.integers(0, int(limit), shape, dtype="int32")
    values = generator.standard_normal(shape)
    if dtype == "c64":
        values = values + 1j * generator.standard_normal(shape)
    return values.astype({"f32": "float32", "f64": "float64", "c64": "complex64",
                          "bf16": jax.numpy.bfloat16}[dtype])


def prepare(jax, devices, function, arguments):
    """A run per column. XLA's client does not compile every operation."""
    runs = {}
    for column, device in devices.items():
        placed = [jax.device_put(a, device) for a in arguments]
        try:
            compiled = jax.jit(function).lower(*placed).compile()
        except jax.errors.JaxRuntimeError:
            if column == "hlocc":
                raise
            continue
        runs[column] = lambda compiled=compiled, placed=placed: jax.block_until_ready(compiled(*placed))
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="operations whose names match")
    parser.add_argument("--base", help="the plugin of another build")
    suite.add_timing_arguments(parser, rounds=3, seconds=0.1)
    options = parser.parse_args()
    if options.base:
        from jax._src import xla_bridge

        xla_bridge.register_plugin("base", library_path=options.base)
    jax, devices = suite.load_jax(options.library, ["base"] if options.base else [])
    import numpy

    names = helpers(jax, numpy)
    print(f"{'best, us':24}" + "".join(f"{column:>12}" for column in devices) + "  speed")
    logs = {column: [] for column in devices if column != "hlocc"}
    for line in OPERATIONS.strip().splitlines():
        name, code, shapes = line.split(" | ")
        if not re.search(options.only, name):
            continue
        generator = numpy.random.default_rng(0)
        arguments = [argument(jax, generator, text) for text in shapes.split()]
        function = eval(code, names)
        best = suite.best_times(prepare(jax, devices, function, arguments), options)
        cells = [f"{best[column] * 1e6:12.1f}" if column in best else f"{'-':>12}" for column in devices]
        for column in logs:
            if column in best:
                ratio = best[column] / best["hlocc"]
                logs[column].append(math.log(ratio))
                cells.append(f"  {ratio:.2f} {column}")
        print(f"{name:24}{''.join(cells)}", flush=True)
    for column, values in logs.items():
        print(f"geometric mean beside {column}: {math.exp(sum(values) / len(values)):.2f} of {len(values)}")


if __name__ == "__main__":
    main()
