#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times elementwise functions on hlocc and on XLA's cpu client, in one process.

One line per function and element type: the best times of interleaved rounds, in microseconds, and how
many times as fast as XLA hlocc is. On a busy machine `taskset -c 0` and a small --count leave the
arithmetic to be seen. bench/suite.py times whole programs.
"""
import argparse
import re

import suite


def functions(jax):
    """Name, what a lane computes, and the ranges of the operands' values."""
    jnp, lax = jax.numpy, jax.lax
    small, positive, open_unit = (-3, 3), (0.01, 30), (-0.999, 0.999)
    return [
        ("abs", jnp.abs, small), ("acos", lax.acos, open_unit), ("acosh", lax.acosh, (1, 30)),
        ("asin", lax.asin, open_unit), ("asinh", lax.asinh, small), ("atan", lax.atan, small),
        ("atan2", lax.atan2, small, small), ("atanh", lax.atanh, open_unit), ("cbrt", lax.cbrt, small),
        ("ceil", lax.ceil, small), ("cos", lax.cos, small), ("cosh", lax.cosh, small),
        ("digamma", lax.digamma, positive), ("digamma_negative", lax.digamma, small),
        ("divide", lax.div, small, positive), ("erf", lax.erf, small), ("erf_inv", lax.erf_inv, open_unit),
        ("erfc", lax.erfc, small), ("exp", lax.exp, small), ("exp2", lax.exp2, small),
        ("expm1", lax.expm1, small), ("floor", lax.floor, small), ("gelu", jax.nn.gelu, small),
        ("lgamma", lax.lgamma, positive), ("lgamma_negative", lax.lgamma, small), ("log", lax.log, positive),
        ("log1p", lax.log1p, positive), ("log2", jnp.log2, positive), ("logistic", lax.logistic, small),
        ("maximum", lax.max, small, small), ("nextafter", lax.nextafter, small, small),
        ("power", lax.pow, positive, small), ("power_2.5", lambda x: x ** 2.5, positive),
        ("remainder", lax.rem, small, positive), ("remainder_large", lax.rem, (-1e6, 1e6), positive),
        ("round", lax.round, small), ("round_even", jnp.round, small), ("rsqrt", lax.rsqrt, positive),
        ("sign", lax.sign, small), ("silu", jax.nn.silu, small), ("sin", lax.sin, small),
        ("sinh", lax.sinh, small), ("softplus", jax.nn.softplus, small), ("sqrt", lax.sqrt, positive),
        ("tan", lax.tan, small), ("tanh", lax.tanh, small),
    ]


def integer_functions(jax):
    jnp, lax = jax.numpy, jax.lax
    any_size, divisor, few = (-100_000, 100_000), (1, 1000), (0, 7)
    return [
        ("abs", lax.abs, any_size), ("clz", lax.clz, any_size), ("divide", lax.div, any_size, divisor),
        ("divide_7", lambda x: lax.div(x, x.dtype.type(7)), any_size),
        ("floor_divide", lambda x, y: x // y, any_size, divisor),
        ("maximum", lax.max, any_size, any_size), ("multiply", lax.mul, any_size, any_size),
        ("popcount", lax.population_count, any_size), ("power", lambda x, y: x ** y, few, few),
        ("power_3", lambda x: lax.integer_pow(x, 3), any_size),
        ("remainder", lax.rem, any_size, divisor),
        ("remainder_7", lambda x: lax.rem(x, x.dtype.type(7)), any_size),
        ("shift_left", lax.shift_left, any_size, few), ("sign", lax.sign, any_size),
    ]


def operands(np, dtype, ranges, count):
    random = np.random.default_rng(1)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [random.integers(max(low, info.min), min(high, info.max), count).astype(dtype)
                for low, high in ranges]
    return [random.uniform(low, high, count).astype(dtype) for low, high in ranges]


def measure(jax, devices, function, arguments, options):
    """The best time of each device."""
    runs = {}
    for column, device in devices.items():
        placed = [jax.device_put(a, device) for a in arguments]
        compiled = jax.jit(function).lower(*placed).compile()
        runs[column] = lambda compiled=compiled, placed=placed: compiled(*placed).block_until_ready()
    return suite.best_times(runs, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="lines such as `f32 tanh` that match")
    parser.add_argument("--dtypes", default="f32,f64,bf16,s32,s64,u32,s8", help="element types")
    parser.add_argument("--count", type=int, default=1_000_000, help="elements (1000000)")
    suite.add_timing_arguments(parser, rounds=3, seconds=0.03)
    options = parser.parse_args()
    jax, devices = suite.load_jax(options.library)
    np = jax.numpy
    import numpy

    dtypes = {"f32": np.float32, "f64": np.float64, "bf16": np.bfloat16, "f16": np.float16,
              "s8": np.int8, "s16": np.int16, "s32": np.int32, "s64": np.int64, "u8": np.uint8,
              "u16": np.uint16, "u32": np.uint32, "u64": np.uint64}
    print(f"{'':24}{'hlocc':>10}{'XLA':>10}  XLA / hlocc")
    for name in options.dtypes.split(","):
        dtype = numpy.dtype(dtypes[name])
        rows = integer_functions(jax) if dtype.kind in "iu" else functions(jax)
        for label, function, *ranges in rows:
            if not re.search(options.only, f"{name} {label}"):
                continue
            arguments = operands(numpy, dtype, ranges, options.count)
            best = measure(jax, devices, function, arguments, options)
            print(f"{name + ' ' + label:24}{best['hlocc'] * 1e6:10.1f}{best['xla'] * 1e6:10.1f}"
                  f"{best['xla'] / best['hlocc']:10.2f}", flush=True)


if __name__ == "__main__":
    main()
