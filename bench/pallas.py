# SPDX-License-Identifier: Apache-2.0
"""Times Pallas kernels: compiled by hlocc, the loop of interpret mode on hlocc (an exported program)
and on XLA's cpu client, and the same mathematics written for whole arrays on both. The best of several
rounds, in turns, in one process: in every second round in reverse order; before each time that counts,
the function runs once, so that all of them find their own arrays in the caches. Prints a table, with
--json one line of JSON a kernel.
"""
import argparse
import functools
import json
import os
import time

os.environ.setdefault("JAX_PLATFORMS", "hlocc")

import jax  # noqa: E402
import jax.export  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402
from jax.experimental.pallas.ops.tpu import flash_attention as flash  # noqa: E402

random = np.random.default_rng(3)
KERNELS = {}


def kernel(*shapes):
    """Registers f(call) -> (kernel function, plain function), with arguments of the shapes, or arrays."""

    def register(make):
        KERNELS[make.__name__] = (make, shapes)
        return make

    return register


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def tile(rows, columns, index):
    return pl.BlockSpec((rows, columns), index)


def by_rows(rows, columns):
    return tile(rows, columns, lambda i: (i, 0))


@kernel((2048, 2048), (2048, 2048))
def add(call):
    def body(x, y, o):
        o[...] = x[...] + y[...]

    def f(x, y):
        spec = tile(256, 512, lambda i, j: (i, j))
        return call(body, like(x), grid=(8, 4), in_specs=[spec, spec], out_specs=spec)(x, y)

    return f, lambda x, y: x + y


@kernel((2048, 2048))
def gelu(call):
    def body(x, o):
        o[...] = jax.nn.gelu(x[...])

    def f(x):
        return call(body, like(x), grid=(32,), in_specs=[by_rows(64, 2048)],
                    out_specs=by_rows(64, 2048))(x)

    return f, jax.nn.gelu


@kernel((2048, 1024))
def softmax(call):
    def body(x, o):
        o[...] = jax.nn.softmax(x[...], axis=-1)

    def f(x):
        return call(body, like(x), grid=(256,), in_specs=[by_rows(8, 1024)],
                    out_specs=by_rows(8, 1024))(x)

    return f, jax.nn.softmax


def normalised(x, scale, bias):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * scale + bias


@kernel((2048, 1024), (1024,), (1024,))
def layer_norm(call):
    def body(x, scale, bias, o):
        o[...] = normalised(x[...], scale[...], bias[...])

    def f(x, scale, bias):
        whole = pl.BlockSpec((1024,), lambda i: (0,))
        return call(body, like(x), grid=(128,), in_specs=[by_rows(16, 1024), whole, whole],
                    out_specs=by_rows(16, 1024))(x, scale, bias)

    return f, normalised


@kernel((2048, 1024))
def transpose(call):
    def body(x, o):
        o[...] = x[...].T

    def f(x):
        return call(body, jax.ShapeDtypeStruct(x.shape[::-1], x.dtype), grid=(16, 8),
                    in_specs=[tile(128, 128, lambda i, j: (i, j))],
                    out_specs=tile(128, 128, lambda i, j: (j, i)))(x)

    return f, lambda x: x.T


@kernel((2048, 2048))
def column_sums(call):
    def body(x, o):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += x[...].sum(0)

    def f(x):
        return call(body, jax.ShapeDtypeStruct((2048,), x.dtype), grid=(16,),
                    in_specs=[by_rows(128, 2048)], out_specs=pl.BlockSpec((2048,), lambda i: (0,)))(x)

    return f, lambda x: x.sum(0)


@kernel((1024, 1024), (1024, 1024))
def product(call):
    def body(x, y, o):
        o[...] = x[...] @ y[...]

    def f(x, y):
        return call(body, like(x), grid=(8, 8), in_specs=[tile(128, 1024, lambda i, j: (i, 0)),
                                                          tile(1024, 128, lambda i, j: (0, j))],
                    out_specs=tile(128, 128, lambda i, j: (i, j)))(x, y)

    return f, jnp.matmul


@kernel((1024, 1024), (1024, 1024))
def product_accumulated(call):
    def body(x, y, o, total):
        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += x[...] @ y[...]

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            o[...] = jnp.maximum(total[...], 0)

    def f(x, y):
        return call(body, like(x), grid=(8, 8, 4), in_specs=[tile(128, 256, lambda i, j, k: (i, k)),
                                                             tile(256, 128, lambda i, j, k: (k, j))],
                    out_specs=tile(128, 128, lambda i, j, k: (i, j)),
                    scratch_shapes=[pltpu.VMEM((128, 128), np.float32)])(x, y)

    return f, lambda x, y: jnp.maximum(x @ y, 0)


def attended(q, k, v):
    scores = jax.nn.softmax(jnp.einsum("hqd,hkd->hqk", q, k) / 8, axis=-1)
    return jnp.einsum("hqk,hkd->hqd", scores, v)


@kernel((8, 1024, 64), (8, 1024, 64), (8, 1024, 64))
def attention(call):
    """Online softmax: a loop over blocks of keys inside the kernel."""
    def body(q, k, v, o):
        query = q[...] / 8

        def step(i, carry):
            top, total, result = carry
            here = pl.ds(256 * i, 256)
            scores = query @ k[here, :].T
            new_top = jnp.maximum(top, scores.max(-1, keepdims=True))
            e, scale = jnp.exp(scores - new_top), jnp.exp(top - new_top)
            return (new_top, total * scale + e.sum(-1, keepdims=True), result * scale + e @ v[here, :])

        size = query.shape[0]
        start = (jnp.full((size, 1), -jnp.inf), jnp.zeros((size, 1)), jnp.zeros((size, 64)))
        _, total, result = jax.lax.fori_loop(0, 4, step, start)
        o[...] = result / total

    def f(q, k, v):
        own = pl.BlockSpec((None, 128, 64), lambda h, i: (h, i, 0))
        whole = pl.BlockSpec((None, 1024, 64), lambda h, i: (h, 0, 0))
        return call(body, like(q), grid=(8, 8), in_specs=[own, whole, whole], out_specs=own)(q, k, v)

    return f, attended


@kernel((2, 4, 1024, 64), (2, 4, 1024, 64), (2, 4, 1024, 64))
def flash_attention(call):
    """JAX's own kernel for TPUs, causal; 2 x 4 heads."""
    return made_by(call, causal_flash), causal_plain


@kernel((2, 4, 512, 64), (2, 4, 512, 64), (2, 4, 512, 64))
def flash_attention_gradients(call):
    def gradients(f):
        return jax.grad(lambda q, k, v: (f(q, k, v) ** 2).sum(), (0, 1, 2))

    return made_by(call, gradients(causal_flash)), gradients(causal_plain)


def causal_flash(q, k, v):
    length = min(q.shape[2], 512)
    backward = {name: length for name in (
        "block_q_major_dkv", "block_k_major_dkv", "block_k_dkv", "block_q_dkv", "block_k_major_dq",
        "block_k_dq", "block_q_dq")}
    sizes = flash.BlockSizes(block_q=length, block_k_major=length, block_k=length, block_b=1, **backward)
    return flash.flash_attention.__wrapped__(q, k, v, causal=True, sm_scale=0.125, block_sizes=sizes)


def causal_plain(q, k, v):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1), v)


def made_by(call, function):
    """The function with its kernels called by `call`."""
    def f(*args):
        theirs = pl.pallas_call
        pl.pallas_call = call
        try:
            return function(*args)
        finally:
            pl.pallas_call = theirs

    return f


@kernel((8, 34, 34, 16), (3, 3, 16, 16))
def convolution(call):
    """3 x 3, as nine products for each image."""
    def body(x, w, o):
        total = jnp.zeros((32 * 32, 16))
        for i in range(3):
            for j in range(3):
                total += x[i:i + 32, j:j + 32, :].reshape(32 * 32, 16) @ w[i, j]
        o[...] = total.reshape(32, 32, 16)

    def f(x, w):
        return call(body, jax.ShapeDtypeStruct((8, 32, 32, 16), x.dtype), grid=(8,),
                    in_specs=[pl.BlockSpec((None, 34, 34, 16), lambda n: (n, 0, 0, 0)),
                              pl.BlockSpec((3, 3, 16, 16), lambda n: (0, 0, 0, 0))],
                    out_specs=pl.BlockSpec((None, 32, 32, 16), lambda n: (n, 0, 0, 0)))(x, w)

    return f, lambda x, w: jax.lax.conv_general_dilated(
        x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@kernel(np.sort(random.integers(0, 16, 128)).astype(np.int32), (128, 8, 128))
def segment_sums(call):
    """Prefetched scalars choose the block of the output, which a step adds to."""
    def body(segments, x, zeros, o):
        del zeros
        i = pl.program_id(0)

        @pl.when((i == 0) | (segments[i] != segments[jnp.maximum(i - 1, 0)]))
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += x[...]

    def f(segments, x):
        chosen = pl.BlockSpec((None, 8, 128), lambda i, s: (s[i], 0, 0))
        return call(body, jax.ShapeDtypeStruct((16, 8, 128), x.dtype), input_output_aliases={2: 0},
                    grid_spec=pltpu.PrefetchScalarGridSpec(
                        num_scalar_prefetch=1, grid=(128,), out_specs=chosen,
                        in_specs=[pl.BlockSpec((None, 8, 128), lambda i, s: (i, 0, 0)), chosen]))(
                            segments, x, jnp.zeros((16, 8, 128)))

    return f, lambda segments, x: jax.ops.segment_sum(x, segments, 16)


def best(functions, args, rounds):
    """Least seconds of each function, called in turns, in both orders."""
    least = [float("inf")] * len(functions)
    for r in range(rounds):
        for i in range(len(functions))[::1 - r % 2 * 2]:
            f, a = functions[i], args[i]
            jax.block_until_ready(f(*a))
            start = time.perf_counter()
            jax.block_until_ready(f(*a))
            least[i] = min(least[i], time.perf_counter() - start)
    return least


def check(result, expected):
    """Compares elements by the largest of them: products and gradients cancel."""
    np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-4 * max(1, np.abs(expected).max()))


def measure(name, rounds):
    make, shapes = KERNELS[name]
    values = [shape if isinstance(shape, np.ndarray) else
              random.standard_normal(shape).astype(np.float32) for shape in shapes]
    xla = jax.local_devices(backend="cpu")[0]
    ours = [jax.device_put(x, jax.devices()[0]) for x in values]
    theirs = [jax.device_put(x, xla) for x in values]
    compiled, plain = make(pl.pallas_call)
    interpreted, _ = make(functools.partial(pl.pallas_call, interpret=True))
    with jax.default_device(xla):
        exported = jax.export.export(jax.jit(interpreted))(*values)
    compiled, plain, loop, interpreted = map(jax.jit, (compiled, plain, exported.call, interpreted))
    results = [compiled(*ours), plain(*ours), plain(*theirs), loop(*ours), interpreted(*theirs)]
    for result in results:
        jax.tree.map(check, result, results[-1])
    seconds = best([compiled, plain, plain], [ours, ours, theirs], rounds)
    return [*seconds, *best([loop, interpreted], [ours, theirs], max(rounds // 10, 2))]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("names", nargs="*", help=", ".join(KERNELS))
    args = parser.parse_args()
    if not args.json:
        print("| kernel | compiled ms | plain on hlocc | plain on XLA:CPU | loop on hlocc | loop on XLA:CPU "
              "| compiled / plain | loop on XLA:CPU / compiled |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in args.names or KERNELS:
        compiled, plain, plain_xla, loop, interpreted = (1e3 * s for s in measure(name, args.rounds))
        if args.json:
            print(json.dumps({"kernel": name, "compiled_ms": compiled, "plain_ms": plain,
                              "plain_xla_ms": plain_xla, "loop_ms": loop, "loop_xla_ms": interpreted}))
        else:
            print(f"| {name} | {compiled:.3f} | {plain:.3f} | {plain_xla:.3f} | {loop:.2f} | {interpreted:.2f} "
                  f"| {compiled / plain:.2f} | {interpreted / compiled:.0f} |", flush=True)


if __name__ == "__main__":
    main()
