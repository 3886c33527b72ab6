#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times attention of growing lengths on hlocc, on hlocc without its kernel for it, and on XLA's cpu client.

  bench/attention.py                           the table of docs/performance.md
  bench/attention.py --gradient                that of gradients; those of few scores without masks are not fused
  bench/attention.py --types bfloat16 --masks plain,dropout --lengths 2048 --depth 80 --key-heads 2

All columns take turns in one process, and the best of the rounds counts. `gflops` counts the two products
as if nothing were masked (gradients: seven products). `memory` is what a program keeps besides arguments
and results. Masks: `bias` has a number for each head, row and key, `cap` is a soft cap, `dropout` is that of
flax with one mask for all heads, `dropouts` that with a mask of each.
"""
import argparse
import json
import sys

import numpy as np

import suite

MASKS = {"plain": {}, "causal": {"is_causal": True}, "local": {"local_window_size": (256, 0)}}
KEEP = np.float32(0.9)


def attend_capped(jax, q, k, v):
    jnp = jax.numpy
    scores = 30 * jnp.tanh(jnp.einsum("bthd,bshd->bhts", q, k) / (30 * q.shape[-1] ** 0.5))
    return jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)


def attend_dropping(jax, q, k, v, key, has_all_axes):
    jnp = jax.numpy
    weights = jax.nn.softmax(jnp.einsum("...qhd,...khd->...hqk", q / q.shape[-1] ** 0.5, k))
    keep = jax.random.bernoulli(key, KEEP, weights.shape if has_all_axes else (1, 1, *weights.shape[-2:]))
    weights = weights * (keep.astype(weights.dtype) / jnp.asarray(KEEP, weights.dtype))
    return jnp.einsum("...hqk,...khd->...qhd", weights, v)


def attention(jax, mask, is_gradient):
    def attend(q, k, v, *more):
        if mask == "cap":
            return attend_capped(jax, q, k, v)
        if mask in ("dropout", "dropouts"):
            return attend_dropping(jax, q, k, v, *more, has_all_axes=mask == "dropouts")
        return jax.nn.dot_product_attention(q, k, v, *more, **MASKS.get(mask, {}))

    def loss(*arguments):
        return attend(*arguments).astype("float32").sum()

    return jax.value_and_grad(loss, (0, 1, 2)) if is_gradient else attend


def make_arrays(jax, dtype, mask, length, options):
    random = np.random.default_rng(7)
    heads, key_heads = options.heads, options.key_heads or options.heads
    arrays = [jax.numpy.asarray(random.normal(size=(1, length, count, options.depth)), dtype)
              for count in (heads, key_heads, key_heads)]
    if mask == "bias":
        arrays.append(jax.numpy.asarray(random.normal(size=(1, heads, length, length)), dtype))
    if mask in ("dropout", "dropouts"):
        arrays.append(jax.random.PRNGKey(3))
    return arrays


def prepare(jax, device, function, arrays, compiler_options=None):
    arguments = [jax.device_put(a, device) for a in arrays]
    code = jax.jit(function).lower(*arguments).compile(compiler_options=compiler_options)
    return lambda: jax.block_until_ready(code(*arguments)), code.memory_analysis().temp_size_in_bytes


def measure(jax, devices, dtype, mask, length, options):
    arrays = make_arrays(jax, dtype, mask, length, options)
    function = attention(jax, mask, options.gradient)
    columns = {"hlocc": prepare(jax, devices["hlocc"], function, arrays),
               "unfused": prepare(jax, devices["hlocc"], function, arrays, {"hlocc_fuse_attention": "false"}),
               "xla": prepare(jax, devices["xla"], function, arrays)}
    best = suite.best_times({name: run for name, (run, _) in columns.items()}, options)
    flops = (14 if options.gradient else 4) * options.heads * length * length * options.depth
    return {"type": dtype, "mask": mask, "length": length, "heads": options.heads, "depth": options.depth,
            "gradient": options.gradient,
            **{f"{name}_ms": round(seconds * 1e3, 3) for name, seconds in best.items()},
            "gflops": round(flops / best["hlocc"] / 1e9, 1),
            "unfused_by_hlocc": round(best["unfused"] / best["hlocc"], 2),
            "xla_by_hlocc": round(best["xla"] / best["hlocc"], 2),
            **{f"{name}_memory": memory for name, (_, memory) in columns.items()}}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", default="float32,bfloat16")
    parser.add_argument("--masks", default="plain,causal", help="plain,causal,local,bias,cap,dropout,dropouts")
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--key-heads", type=int, default=0, help="fewer heads of keys and values; 0: as many")
    parser.add_argument("--depth", type=int, default=64, help="size of a head")
    parser.add_argument("--lengths", default="512,1024,2048,4096,8192")
    parser.add_argument("--gradient", action="store_true", help="value and gradients, not the result alone")
    suite.add_timing_arguments(parser, rounds=3, seconds=0.1)
    return parser.parse_args()


def main():
    options = parse_arguments()
    jax, devices = suite.load_jax(options.library)
    for dtype in options.types.split(","):
        for mask in options.masks.split(","):
            for length in map(int, options.lengths.split(",")):
                row = measure(jax, devices, dtype, mask, length, options)
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    sys.exit(main())
