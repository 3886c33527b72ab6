#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times attention of growing lengths on hlocc, on hlocc without its kernel for it, and on XLA's cpu client.

  bench/attention.py                           the table of docs/performance.md
  bench/attention.py --gradient                that of gradients; those of few scores without masks are not fused
  bench/attention.py --types bfloat16 --masks plain --lengths 2048

All columns take turns in one process, and the best of the rounds counts. `gflops` counts the two products
as if nothing were masked (gradients: seven products). `memory` is what a program keeps besides arguments
and results.
"""
import argparse
import json
import sys

import numpy as np

import suite

HEADS, DEPTH = 8, 64
MASKS = {"plain": {}, "causal": {"is_causal": True}, "local": {"local_window_size": (256, 0)}}


def attention(jax, mask, is_gradient):
    def attend(q, k, v):
        return jax.nn.dot_product_attention(q, k, v, **MASKS[mask])

    def loss(q, k, v):
        return attend(q, k, v).astype("float32").sum()

    return jax.value_and_grad(loss, (0, 1, 2)) if is_gradient else attend


def prepare(jax, device, function, arrays, compiler_options=None):
    arguments = [jax.device_put(a, device) for a in arrays]
    code = jax.jit(function).lower(*arguments).compile(compiler_options=compiler_options)
    return lambda: jax.block_until_ready(code(*arguments)), code.memory_analysis().temp_size_in_bytes


def measure(jax, devices, dtype, mask, length, options):
    random = np.random.default_rng(7)
    shape = (1, length, HEADS, DEPTH)
    arrays = [jax.numpy.asarray(random.normal(size=shape), dtype) for _ in range(3)]
    function = attention(jax, mask, options.gradient)
    columns = {"hlocc": prepare(jax, devices["hlocc"], function, arrays),
               "unfused": prepare(jax, devices["hlocc"], function, arrays, {"hlocc_fuse_attention": "false"}),
               "xla": prepare(jax, devices["xla"], function, arrays)}
    best = suite.best_times({name: run for name, (run, _) in columns.items()}, options)
    flops = (14 if options.gradient else 4) * HEADS * length * length * DEPTH
    return {"type": dtype, "mask": mask, "length": length, "gradient": options.gradient,
            **{f"{name}_ms": round(seconds * 1e3, 3) for name, seconds in best.items()},
            "gflops": round(flops / best["hlocc"] / 1e9, 1),
            "unfused_by_hlocc": round(best["unfused"] / best["hlocc"], 2),
            "xla_by_hlocc": round(best["xla"] / best["hlocc"], 2),
            **{f"{name}_memory": memory for name, (_, memory) in columns.items()}}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", default="float32,bfloat16")
    parser.add_argument("--masks", default="plain,causal")
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
