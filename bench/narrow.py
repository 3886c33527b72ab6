#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times narrow numbers on hlocc and on XLA's cpu client, in one process: conversions, products of narrow elements,
and narrow weights times f32 and bf16.

One line per program and size: the best times of interleaved rounds, in microseconds. Conversions stand
beside a copy of as many bytes as they read and write (copy / hlocc: 1 is the bandwidth of memory), products
beside hlocc's own of the same shape in f32 and bf16. XLA's column is "-" where it cannot compile a program.
"""
import argparse
import re

import narrow_peers
import suite

FLOATS = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float4_e2m1fn")
INTEGERS = ("int4", "uint4", "int2", "int8")
GROUP = 32  # weights with a common scale


def random_of(np, ml_dtypes, dtype, shape, seed=1):
    random = np.random.default_rng(seed)
    info = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if "int" in dtype:
        limit = ml_dtypes.iinfo(info)
        return random.integers(limit.min, limit.max + 1, shape).astype(info)
    return random.normal(0, 1, shape).astype(np.float32).astype(info)


def conversions():
    """Operand's and result's types."""
    pairs = [(narrow, wide) for narrow in FLOATS for wide in ("bfloat16", "float32")]
    pairs += [(narrow, wide) for narrow in INTEGERS for wide in ("bfloat16", "float32")]
    pairs += [("float32", narrow) for narrow in FLOATS] + [("bfloat16", narrow) for narrow in FLOATS[:2]]
    return pairs + [("float32", "int8"), ("float32", "int4")]


class Table:
    def __init__(self, jax, devices, options):
        self.jax, self.devices, self.options = jax, devices, options

    def prepare(self, device, function, arguments):
        """A call that waits for its result; None where the device's compiler refuses the program."""
        placed = [self.jax.device_put(a, self.devices[device]) for a in arguments]
        try:
            compiled = self.jax.jit(function).lower(*placed).compile()
            compiled(*placed).block_until_ready()
        except Exception as error:  # XLA reports what it lacks in several ways
            if device == "hlocc":
                raise
            print(f"# {device}: {str(error).splitlines()[0][:100]}")
            return None
        return lambda: compiled(*placed).block_until_ready()

    def line(self, label, runs, ratios):
        best = suite.best_times({name: run for name, run in runs.items() if run}, self.options)
        cells = "".join(f"{best[name] * 1e6:10.1f}" if name in best else f"{'-':>10}" for name in runs)
        shown = "".join(f"{best[a] / best[b]:13.2f}" if a in best and b in best else f"{'-':>13}" for a, b in ratios)
        print(f"{label:42}{cells}{shown}", flush=True)


def convert_lines(table, np, ml_dtypes, sizes):
    print(f"{'conversion':42}{'hlocc':>10}{'XLA':>10}{'copy':>10}{'XLA/hlocc':>13}{'copy/hlocc':>13}")
    for source, target in conversions():
        wide = np.dtype(getattr(ml_dtypes, target, target))
        for size in sizes:
            label = f"{source} to {target} {size}"
            if not re.search(table.options.only, label):
                continue
            values = random_of(np, ml_dtypes, source, size)
            runs = {device: table.prepare(device, lambda x: x.astype(wide), [values]) for device in table.devices}
            # A copy reads and writes as many bytes as the conversion does, half of each.
            moved = (values.nbytes + size * wide.itemsize) // 2
            image, other = np.ones(moved, np.uint8), np.ones(moved, np.uint8)
            runs["copy"] = lambda: np.copyto(other, image)
            table.line(label, runs, [("xla", "hlocc"), ("copy", "hlocc")])


def peer_calls(np, kind, x, w, scales):
    """{column: call or None}; kind: the rows of product_cases() that other libraries compute."""
    peers = narrow_peers
    if kind == "bytes":
        return {"torch": peers.torch_int8(x, w, scales), "ort": peers.ort_integer(x, w, scales)}
    if kind == "zero points":
        return {"torch": None, "ort": peers.ort_integer(x, w, scales, (3, -2))}
    if kind == "int8 weights":
        return {"torch": peers.torch_int8_weights(x, w, scales), "ort": None}
    if kind == "int4 weights":
        return {"torch": None, "ort": peers.ort_4_bits(x, w.shape[0], GROUP)}
    return {"torch": None, "ort": None}


def product_lines(table, np, ml_dtypes, cases):
    """Cases: label, function of (activations, weights, scales), types of both operands, rows, depth, columns,
    whether weights are [columns, depth], with a scale for each GROUP of a row, what peers compute."""
    jax = table.jax
    names = ("XLA", "f32", "bf16", "torch", "ort")
    print(f"{'product':42}{'hlocc':>10}" + "".join(f"{n:>10}" for n in names) +
          "".join(f"{n + '/hlocc':>13}" for n in names))
    for name, function, left, right, rows, depth, columns, *form in cases:
        is_across, kind = form or (False, "")
        label = f"{name} {rows}x{depth}x{columns}"
        if not re.search(table.options.only, label):
            continue
        x = random_of(np, ml_dtypes, left, (rows, depth))
        w = random_of(np, ml_dtypes, right, (columns, depth) if is_across else (depth, columns), 2)
        scales = np.linspace(0.5, 2, columns, dtype=np.float32)
        has_groups = is_across and "groups" in name
        given = np.repeat(scales[:, None], depth // GROUP, axis=1) if has_groups else scales
        runs = {device: table.prepare(device, function, [x, w, given]) for device in table.devices}
        for plain in ("float32", "bfloat16"):
            dtype = np.dtype(getattr(ml_dtypes, plain, plain))
            operands = [v.astype(np.float32).astype(dtype) for v in (x, w)]
            dims = (((1,), (1 if is_across else 0,)), ((), ()))
            runs[plain] = table.prepare("hlocc", lambda a, b, d=dims: jax.lax.dot_general(a, b, d), operands)
        runs |= peer_calls(np, kind, x, w, scales)
        table.line(label, runs, [(n, "hlocc") for n in ("xla", "float32", "bfloat16", "torch", "ort")])


def product_cases(jax, np, ml_dtypes):
    jnp = jax.numpy
    f32 = jnp.float32

    def narrow(x, w, scales):
        return jnp.matmul(x, w, preferred_element_type=f32)

    def integers(x, w, scales):
        return jnp.matmul(x, w, preferred_element_type=jnp.int32).astype(f32) * scales

    def integers_across(x, w, scales):
        return integers(x, w.T, scales)

    def shifted(x, w, scales):  # zero points of both operands
        return jnp.matmul(x.astype(jnp.int32) - 3, w.astype(jnp.int32) + 2).astype(f32) * scales

    def by_channel(x, w, scales):
        return jnp.matmul(x, w.astype(x.dtype)) * scales.astype(x.dtype)

    def by_channel_across(x, w, scales):
        return by_channel(x, w.T, scales)

    def by_group(x, w, scales):  # a scale for GROUP rows of a column
        depth, columns = w.shape
        parts = w.astype(x.dtype).reshape(depth // GROUP, GROUP, columns) * scales.astype(x.dtype)
        return jnp.matmul(x, parts.reshape(depth, columns))

    def by_group_across(x, w, scales):
        parts = w.astype(x.dtype).reshape(w.shape[0], -1, GROUP) * scales.astype(x.dtype)[:, :, None]
        return jnp.matmul(x, parts.reshape(w.shape).T)

    sizes = [(256, 512, 256), (512, 1024, 1024)]
    cases = [(f"{t[6:]} x {t[6:]}", narrow, t, t, *size) for t in FLOATS[:2] for size in sizes]
    cases += [("f4 x f4", narrow, FLOATS[3], FLOATS[3], *size) for size in sizes]
    cases += [("s8 x s8, scales", integers, "int8", "int8", *size, False, "bytes") for size in sizes]
    cases += [("s8 x s8, scales, [N, K]", integers_across, "int8", "int8", *size, True, "")
              for size in [(1, 4096, 4096), (16, 4096, 4096), *sizes]]
    cases += [("u8 x s8, zero points, scales", shifted, "uint8", "int8", *size, False, "zero points") for size in sizes]
    for rows in (1, 4, 16):
        for weights in ("int8", "int4", "float8_e4m3fn", "float4_e2m1fn"):
            for x in ("float32", "bfloat16"):
                kind = {"float32": "f32", "bfloat16": "bf16"}[x]
                cases.append((f"{kind} x {weights}, channels", by_channel, x, weights, rows, 4096, 4096))
                cases.append((f"{kind} x {weights}, groups", by_group, x, weights, rows, 4096, 4096))
            size = (rows, 4096, 4096, True)
            cases.append((f"bf16 x {weights}, channels, [N, K]", by_channel_across, "bfloat16", weights, *size,
                          "int8 weights" if weights == "int8" else ""))
            cases.append((f"bf16 x {weights}, groups, [N, K]", by_group_across, "bfloat16", weights, *size,
                          "int4 weights" if weights == "int4" else ""))
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="lines that match")
    parser.add_argument("--sizes", default="65536,1048576,16777216", help="elements of conversions")
    parser.add_argument("--tables", default="conversions,products", help="what to print")
    suite.add_timing_arguments(parser, rounds=3, seconds=0.05)
    options = parser.parse_args()
    suite.use_one_core()
    jax, devices = suite.load_jax(options.library)
    import ml_dtypes
    import numpy as np

    table = Table(jax, devices, options)
    if "conversions" in options.tables:
        convert_lines(table, np, ml_dtypes, [int(size) for size in options.sizes.split(",")])
    if "products" in options.tables:
        product_lines(table, np, ml_dtypes, product_cases(jax, np, ml_dtypes))


if __name__ == "__main__":
    main()
