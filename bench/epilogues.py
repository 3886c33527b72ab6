#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what follows a matrix product against the product alone and against its own arithmetic.

The arithmetic's time is that of a row: the same function of arrays that the second cache holds, of two
numbers of rows, whose difference no longer has what a call takes. `beyond` is what product and epilogue
together take more than both apart, in percent of the product; less than the clock's wavering (about
half a percent) is nothing. One thread, unless HLOCC_NUM_THREADS says how many. One JSON line per row.
"""
import argparse
import json
import os
import re
import sys

import numpy as np

import suite

FEW_ROWS, MORE_ROWS = 16, 48


def epilogues(jax):
    return {
        "bias": lambda x, bias: x + bias,
        "bias_relu": lambda x, bias: jax.numpy.maximum(x + bias, 0),
        "bias_gelu": lambda x, bias: jax.nn.gelu(x + bias),
        "bias_silu": lambda x, bias: jax.nn.silu(x + bias),
        "bias_tanh": lambda x, bias: jax.numpy.tanh(x + bias),
        "bias_erf_gelu": lambda x, bias: jax.nn.gelu(x + bias, approximate=False),
    }


def measure(jax, device, epilogue, size, options):
    random = np.random.default_rng(7)

    def prepare(function, *shapes):
        # Elements of the product are like those of the array: what is computed of large ones may be tiny.
        scale = size ** -0.25 if (size, size) in shapes else 1
        host = [(random.normal(size=s) * scale).astype(np.float32) for s in shapes]
        arguments = [jax.device_put(a, device) for a in host]
        code = jax.jit(function).lower(*arguments).compile()
        return lambda: code(*arguments).block_until_ready()

    square = (size, size)
    runs = {
        "product": prepare(lambda a, b: a @ b, square, square),
        "both": prepare(lambda a, b, bias: epilogue(a @ b, bias), square, square, (size,)),
        "few": prepare(epilogue, (FEW_ROWS, size), (size,)),
        "more": prepare(epilogue, (MORE_ROWS, size), (size,)),
    }
    best = suite.best_times(runs, options)
    arithmetic = (best["more"] - best["few"]) / (MORE_ROWS - FEW_ROWS) * size
    beyond = (best["both"] - best["product"] - arithmetic) / best["product"]
    return {"product_s": best["product"], "both_s": best["both"], "arithmetic_s": arithmetic,
            "beyond_percent": round(100 * beyond, 2)}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="epilogues whose names match")
    parser.add_argument("--sizes", default="256,1024", help="of square matrices (256,1024)")
    suite.add_timing_arguments(parser, rounds=10, seconds=0.05)
    return parser.parse_args()


def main():
    options = parse_arguments()
    os.environ.setdefault("HLOCC_NUM_THREADS", "1")
    jax, devices = suite.load_jax(options.library)
    for size in map(int, options.sizes.split(",")):
        for name, epilogue in epilogues(jax).items():
            if re.search(options.only, name):
                row = measure(jax, devices["hlocc"], epilogue, size, options)
                print(json.dumps({"epilogue": name, "size": size, **row}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
