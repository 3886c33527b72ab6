#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times products with block scales on hlocc and on XLA's cpu client, in one process.

One line per format and size, rows x depth x columns: the best times of interleaved rounds, in microseconds on
one core, of jax.lax.scaled_dot on both clients, of hlocc with both operands scaled to bf16 by a program of its
own before the product ("apart"), and of hlocc's product of bf16 operands; where installed, PyTorch's product of
bf16 operands ("torch16"), and ONNX Runtime's of bytes ("ort8") and of f32 by weights of four bits with as large
blocks ("ort4"). The last columns say how many times faster than these hlocc's scaled product is.

  bench/scaled_dot.py [--only REGEX] [--sizes 1x4096x4096,1024x1024x1024] [--library PLUGIN]
"""
import argparse
import re

import narrow_peers
import suite

SIZES = "1x4096x4096,4x4096x4096,16x4096x4096,64x1024x1024,256x512x512,1024x1024x1024"
FORMATS = {  # elements, scales, elements of a block
    "mxfp8": ("float8_e4m3fn", "float8_e8m0fnu", 32),
    "mxfp4": ("float4_e2m1fn", "float8_e8m0fnu", 32),
    "nvfp4": ("float4_e2m1fn", "float8_e4m3fn", 16),
}
DIMENSIONS = (((1,), (1,)), ((), ()))


def operands(np, ml_dtypes, kind, rows, depth, columns):
    element, scale, block = FORMATS[kind]
    random = np.random.default_rng(1)
    values = [random.normal(size=(n, depth)).astype(np.float32).astype(getattr(ml_dtypes, element))
              for n in (rows, columns)]
    scales = [(2.0 ** random.integers(-4, 4, (n, depth // block))).astype(np.float32).astype(getattr(ml_dtypes, scale))
              for n in (rows, columns)]
    return values + scales


def peer_calls(np, a, b, block):
    random = np.random.default_rng(3)
    x, w = (random.integers(-128, 128, shape).astype(np.int8) for shape in (a.shape, b.T.shape))
    return {"torch16": narrow_peers.torch_bf16(a, b.T),
            "ort8": narrow_peers.ort_integer(x, w, np.ones(len(b), np.float32)),
            "ort4": narrow_peers.ort_4_bits(a, len(b), block)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="lines that match")
    parser.add_argument("--sizes", default=SIZES, help="rows x depth x columns")
    suite.add_timing_arguments(parser, rounds=5, seconds=0.05)
    options = parser.parse_args()
    suite.use_one_core()
    jax, devices = suite.load_jax(options.library)
    import ml_dtypes
    import numpy as np
    jnp = jax.numpy

    def scaled(a, b, s, t):
        return jax.lax.scaled_dot(a, b, lhs_scale=s, rhs_scale=t, dimension_numbers=DIMENSIONS,
                                  preferred_element_type=jnp.float32)

    def dequantized(a, b, s, t):
        def one(x, scale):
            wide = jnp.repeat(scale.astype(jnp.bfloat16), x.shape[1] // scale.shape[1], axis=1)
            return x.astype(jnp.bfloat16) * wide
        return one(a, s), one(b, t)

    def product(a, b):
        return jax.lax.dot_general(a, b, DIMENSIONS, preferred_element_type=jnp.float32)

    names = ("hlocc", "XLA", "apart", "bf16", "torch16", "ort8", "ort4")
    print(f"{'product':24}" + "".join(f"{n:>9}" for n in names) + "".join(f"{n + '/hlocc':>14}" for n in names[1:]))
    for kind in FORMATS:
        for size in options.sizes.split(","):
            label = f"{kind} {size}"
            if not re.search(options.only, label):
                continue
            arguments = operands(np, ml_dtypes, kind, *map(int, size.split("x")))
            runs = {}
            for name, device in zip(names, devices):
                placed = [jax.device_put(x, devices[device]) for x in arguments]
                compiled = jax.jit(scaled).lower(*placed).compile()
                runs[name] = lambda c=compiled, p=placed: c(*p).block_until_ready()
                try:
                    runs[name]()
                except ValueError as error:  # XLA's client packs f4 in memory, and then does not know its own arrays
                    if device == "hlocc":
                        raise
                    print(f"# {name}: {str(error).splitlines()[0][:100]}")
                    del runs[name]
            placed = [jax.device_put(x, devices["hlocc"]) for x in arguments]
            scale = jax.jit(dequantized).lower(*placed).compile()
            wide = scale(*placed)
            multiply = jax.jit(product).lower(*wide).compile()
            runs["apart"] = lambda s=scale, m=multiply, p=placed: m(*s(*p)).block_until_ready()
            runs["bf16"] = lambda m=multiply, w=wide: m(*w).block_until_ready()
            runs |= peer_calls(np, *(np.asarray(v) for v in wide), FORMATS[kind][2])
            best = suite.best_times({name: run for name, run in runs.items() if run}, options)
            times = [f"{best[n] * 1e6:9.1f}" if n in best else f"{'-':>9}" for n in names]
            ratios = [f"{best[n] / best['hlocc']:14.2f}" if n in best else f"{'-':>14}" for n in names[1:]]
            print(f"{label:24}" + "".join(times + ratios), flush=True)


if __name__ == "__main__":
    main()
