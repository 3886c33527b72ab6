#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiled random programs give the interpreter's results.

  random_modules.py TOOL [--count=N | --seconds=S] [--first=SEED] [--backends=NAME,...]
                    [--equal=NAME,NAME...] [--under=COMMAND] [--keep=FOLDER] [--focus=OPERATION]

Module number SEED is always the same; half of the operations are --focus. Every value has a bound on its
magnitude and on the allowed difference from the interpreter: 0 for integers, moved data and single IEEE operations, more
for functions and sums; inexact values are never compared, rounded or converted. A module that differs
is shrunk (its inner values become arguments) and printed, with --keep also written with its arguments.
Back ends named by --equal must agree in every bit but those of NaNs: native,c. COMMAND is put before
the compiled runs: "valgrind -q --undef-value-errors=no --error-exitcode=9" finds accesses outside of
buffers (with --backends=native-avx2, the highest level that it supports; undefined lanes are no fault).
"""
import argparse
import array
import copy
import math
import os
import pathlib
import random
import shlex
import struct
import subprocess
import sys
import tempfile
import time

EXTENTS = [1, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 64, 65, 100, 257]
SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "ui8": 1, "ui16": 2, "ui32": 4, "ui64": 8,
         "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "complex<f32>": 8, "complex<f64>": 16}
PARTS = {"complex<f32>": "f32", "complex<f64>": "f64"}
EPSILON = {"f16": 2.0 ** -10, "bf16": 2.0 ** -7, "f32": 2.0 ** -23, "f64": 2.0 ** -52}
LARGEST = {"f16": 2e4, "bf16": 1e30, "f32": 1e30, "f64": 1e200}
FLOATS, SIGNED = list(EPSILON), ["i8", "i16", "i32", "i64"]
UNSIGNED = ["ui8", "ui16", "ui32", "ui64"]
INTEGERS = SIGNED + UNSIGNED
SPECIAL = {  # bits of values at which code goes wrong
    "f16": [0x7e00, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x8001, 0x3ff, 0x7bff, 0xfbff, 0x3c00, 0xbc00, 0x3800],
    "bf16": [0x7fc0, 0x7f80, 0xff80, 0, 0x8000, 1, 0x8001, 0x7f, 0x7f7f, 0xff7f, 0x3f80, 0xbf80, 0x3f00],
    "f32": [0x7fc00000, 0x7f800000, 0xff800000, 0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x7f7fffff,
            0xff7fffff, 0x3f800000, 0xbf800000, 0x3f000000, 0x4f000000, 0x5f000000, 0xcf000000],
    "f64": [0x7ff8 << 48, 0x7ff0 << 48, 0xfff0 << 48, 0, 1 << 63, 1, (1 << 63) + 1, (1 << 52) - 1,
            (0x7ff0 << 48) - 1, (0xfff0 << 48) - 1, 0x3ff << 52, 0xbff << 52, 0x3fe << 52,
            0x41e << 52, 0x43e << 52, 0x36a << 52],
}
# Wrong as a whole when the relative distance is larger.
FUNCTION_BOUND = {"f16": 2.0 ** -8, "bf16": 2.0 ** -5, "f32": 2.0 ** -19, "f64": 2.0 ** -46}


def tensor(dtype, shape):
    return "tensor<" + "".join(f"{d}x" for d in shape) + dtype + ">"


def product(numbers):
    return math.prod(numbers)


class Value:
    """A value: `error` is 0 when exact, None when close relative to each element; `size` None: any."""

    def __init__(self, name, dtype, shape, size=None, error=0):
        self.name, self.dtype, self.shape = name, dtype, tuple(shape)
        self.size, self.error = size, error
        self.type = tensor(dtype, shape)
        self.count = product(shape)

    @property
    def is_exact(self):
        return self.error == 0


class Step:
    """One operation as text; regions are part of the text."""

    def __init__(self, text, results, operands):
        self.text, self.results, self.operands = text, results, operands


class Module:
    def __init__(self):
        self.args, self.steps, self.results = [], [], []  # args: (Value, bytes)

    def live_steps(self):
        needed = {v.name for v in self.results}
        live = []
        known = {v.name for v, _ in self.args}
        for step in reversed(self.steps):
            if any(r.name in needed and r.name not in known for r in step.results):
                live.append(step)
                needed.update(v.name for v in step.operands)
        return live[::-1], needed

    def text(self):
        live, needed = self.live_steps()
        args = [(v, d) for v, d in self.args if v.name in needed]
        lines = [f"func.func @main({', '.join(f'{v.name}: {v.type}' for v, _ in args)})"
                 f" -> ({', '.join(v.type for v in self.results)}) {{"]
        lines += ["  " + step.text for step in live]
        names, types = ", ".join(v.name for v in self.results), ", ".join(v.type for v in self.results)
        lines += [f"  return {names} : {types}", "}"]
        return "\n".join(lines) + "\n", args


# ---- arguments ----------------------------------------------------------------------------------------

def pack_float(dtype, number):
    if dtype == "bf16":
        return struct.pack("<f", number)[2:]
    return struct.pack({"f16": "<e", "f32": "<f", "f64": "<d"}[dtype], number)


def tame_bytes(rng, dtype, count):
    if dtype in PARTS:
        return tame_bytes(rng, PARTS[dtype], 2 * count)
    pattern = [rng.randrange(-16, 17) / 8 for _ in range(min(count, 997))]
    data = b"".join(pack_float(dtype, x) for x in pattern)
    return (data * (count * SIZES[dtype] // max(len(data), 1) + 1))[:count * SIZES[dtype]]


def wild_bytes(rng, dtype, count):
    if dtype in PARTS:
        return wild_bytes(rng, PARTS[dtype], 2 * count)
    size = SIZES[dtype]
    if dtype == "i1":
        return bytes(b & 1 for b in rng.randbytes(count))
    data = bytearray(rng.randbytes(count * size) if rng.random() < 0.5 or dtype not in EPSILON
                     else tame_bytes(rng, dtype, count))
    bits = 8 * size
    special = SPECIAL.get(dtype) or [0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, 7,
                                     bits, bits - 1]
    for _ in range(min(count, 400)):
        at = rng.randrange(count)
        if dtype in EPSILON or rng.random() < 0.5:
            data[at * size:(at + 1) * size] = rng.choice(special).to_bytes(size, "little")
    return bytes(data)


def index_bytes(rng, dtype, count, limit):
    """Indices, some out of range."""
    size, bits = SIZES[dtype], 8 * SIZES[dtype]
    extremes = [(1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, limit, limit + 1, 0]
    values = [rng.choice(extremes) if rng.random() < 0.2 else rng.randrange(max(limit, 1)) for _ in range(count)]
    return b"".join((v % (1 << bits)).to_bytes(size, "little") for v in values)


# ---- making modules -----------------------------------------------------------------------------------

UNARY_FLOAT = ["abs", "negate", "floor", "ceil", "round_nearest_even", "round_nearest_afz", "sign", "sqrt"]
FUNCTIONS = ["exponential", "log", "tanh", "logistic", "sine", "cosine", "rsqrt", "cbrt", "log_plus_one",
             "exponential_minus_one"]
TAME_FUNCTIONS = ["tanh", "logistic", "sine", "cosine"]  # slopes of at most 1
UNARY_INTEGER = ["abs", "negate", "not", "popcnt", "count_leading_zeros", "sign"]
BINARY_INTEGER = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor",
                  "shift_left", "shift_right_logical", "shift_right_arithmetic", "power"]
BINARY_FLOAT = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"]
BINARY_PRED = ["and", "or", "xor", "add", "multiply", "maximum", "minimum"]


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.module = Module()
        self.pool, self.wanted = [], []
        self.number = 0
        self.limit = self.rng.choice([40, 2000, 2000, 20000, 20000, 200000])
        self.dtypes = self.rng.sample(list(SIZES), self.rng.choice([1, 2, 3, 15]))

    # -- small parts

    def name(self):
        self.number += 1
        return f"%v{self.number}"

    def shape(self, rank=None):
        rng = self.rng
        for _ in range(50):
            dims = [rng.choice(EXTENTS) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4]) if rank is None else rank)]
            if dims and rng.random() < 0.02:
                dims[rng.randrange(len(dims))] = 0
            if dims and rng.random() < 0.2:
                dims[rng.randrange(len(dims))] *= max(1, self.limit // max(product(dims), 1))
            if product(dims) <= self.limit:
                return dims
        return [1] * (rank or 0)

    def argument(self, dtype=None, shape=None, data=None, tame=None):
        rng = self.rng
        dtype = dtype or rng.choice(self.dtypes)
        shape = self.shape() if shape is None else shape
        value = Value(self.name(), dtype, shape)
        if data is None:
            tame = PARTS.get(dtype, dtype) in EPSILON and (rng.random() < 0.6 if tame is None else tame)
            if tame:
                value.size = 2.0
            data = (tame_bytes if tame else wild_bytes)(rng, dtype, value.count)
        self.module.args.append((value, data))
        self.pool.append(value)
        return value

    def emit(self, op, operands, dtype, shape, attrs="", size=None, error=0):
        value = Value(self.name(), dtype, shape, size, error)
        types = ", ".join(v.type for v in operands)
        text = (f'{value.name} = "stablehlo.{op}"({", ".join(v.name for v in operands)})'
                f'{" {" + attrs + "}" if attrs else ""} : ({types}) -> {value.type}')
        return self.add(text, value, operands)

    def add(self, text, value, operands):
        self.module.steps.append(Step(text, [value], operands))
        self.pool.append(value)
        return value

    def pick(self, fits=lambda v: True):
        found = [v for v in self.pool if fits(v)]
        if not found:
            return None
        return found[-1] if self.rng.random() < 0.4 else self.rng.choice(found)

    def like(self, x, exact=False):
        """Another value of the same type."""
        rng = self.rng
        y = self.pick(lambda v: v.type == x.type and not (exact and not v.is_exact))
        if y and y is not x and rng.random() < 0.8:
            return y
        choice = rng.random()
        if choice < 0.3:
            vector = [d for d in x.shape]
            keep = [i for i in range(len(vector)) if rng.random() < 0.5]
            inner = [x.shape[i] for i in keep]
            if product(inner) > self.limit:  # beside a dimension of none
                return self.argument(x.dtype, x.shape)
            inner = self.argument(x.dtype, inner)
            return self.emit("broadcast_in_dim", [inner], x.dtype, x.shape,
                             f"broadcast_dimensions = array<i64{': ' if keep else ''}{', '.join(map(str, keep))}>",
                             inner.size)
        return self.argument(x.dtype, x.shape)

    def constant(self, dtype, text, shape=(), size=None):
        value = Value(self.name(), dtype, shape, size)
        return self.add(f"{value.name} = stablehlo.constant dense<{text}> : {value.type}", value, [])

    def moved(self, op, x, shape, attrs, more=()):
        return self.emit(op, [x, *more], x.dtype, shape, attrs, x.size, x.error)

    # -- elementwise

    def unary(self):
        rng = self.rng
        x = self.pick(lambda v: v.is_exact)
        if not x:
            return
        if x.dtype == "i1":
            self.emit("not", [x], "i1", x.shape)
        elif x.dtype in PARTS:
            op = rng.choice(["negate", "real", "imag"])
            self.emit(op, [x], x.dtype if op == "negate" else PARTS[x.dtype], x.shape, "", x.size)
        elif x.dtype in EPSILON:
            op = rng.choice(UNARY_FLOAT + ["is_finite"])
            if op == "is_finite":
                self.emit(op, [x], "i1", x.shape)
            else:
                size = None if x.size is None or op == "sqrt" else x.size + 1
                self.emit(op, [x], x.dtype, x.shape, "", size)
        else:
            ops = [o for o in UNARY_INTEGER if x.dtype in SIGNED or o not in ("abs", "sign")]
            self.emit(rng.choice(ops), [x], x.dtype, x.shape)

    def function(self):
        x = self.pick(lambda v: v.dtype in EPSILON and v.error is not None)
        if not x:
            return
        if x.size is not None and self.rng.random() < 0.6:
            self.emit(self.rng.choice(TAME_FUNCTIONS), [x], x.dtype, x.shape, "", 1.0,
                      x.error * 1.01 + FUNCTION_BOUND[x.dtype])
        elif x.is_exact:
            self.emit(self.rng.choice(FUNCTIONS), [x], x.dtype, x.shape, "", None, None)

    def table(self):
        """Functions of a few elements along each dimension, and what is computed of all of them."""
        rng = self.rng
        dtype = rng.choice(list(EPSILON))
        shape = [rng.choice([2, 3, 4, 5, 7, 9]) for _ in range(rng.choice([2, 2, 3]))]
        whole = None
        for i, size in enumerate(shape):
            dims = [i, i + 1] if i + 1 < len(shape) and rng.random() < 0.2 else [i]
            x = self.argument(dtype, [shape[d] for d in dims], tame=True)
            for _ in range(rng.choice([0, 1, 1, 2])):
                x = self.emit(rng.choice(TAME_FUNCTIONS), [x], dtype, x.shape, "", 1.0,
                              x.error * 1.01 + FUNCTION_BOUND[dtype])
            x = self.moved("broadcast_in_dim", x, shape,
                           f"broadcast_dimensions = array<i64: {', '.join(map(str, dims))}>")
            if not whole or not self.tame_binary(whole, x):
                whole = x
            else:
                whole = self.pool[-1]

    def complex(self):
        x = self.pick(lambda v: v.dtype in PARTS.values() and v.is_exact)
        y = x and self.like(x, exact=True)
        if y and y.is_exact:
            size = None if None in (x.size, y.size) else max(x.size, y.size)
            self.emit("complex", [x, y], f"complex<{x.dtype}>", x.shape, "", size)

    def complex_binary(self, x):
        y = self.like(x, exact=True)
        if y.is_exact:
            self.emit(self.rng.choice(["add", "subtract", "multiply"]), [x, y], x.dtype, x.shape)

    def binary(self):
        x = self.pick(lambda v: v.error is not None)
        if not x:
            return
        if x.dtype in PARTS:
            if x.is_exact:
                self.complex_binary(x)
            return
        if x.dtype in EPSILON and x.size is not None:
            y = self.like(x)
            if y.size is not None and y.error is not None and self.tame_binary(x, y):
                return
            if not (x.is_exact and y.is_exact):
                return
        elif not x.is_exact:
            return
        else:
            y = self.like(x, exact=True)
            if not y.is_exact:
                return
        ops = BINARY_PRED if x.dtype == "i1" else BINARY_FLOAT if x.dtype in EPSILON else BINARY_INTEGER
        op = self.rng.choice(ops)
        if self.rng.random() < 0.5:
            x, y = y, x
        self.emit(op, [x, y], x.dtype, x.shape)

    def tame_binary(self, x, y):
        op = self.rng.choice(["add", "subtract", "multiply", "maximum", "minimum"])
        size, error = x.size + y.size, x.error + y.error
        if op == "multiply":
            size, error = x.size * y.size, x.error * y.size + y.error * x.size + x.error * y.error
        if size > LARGEST[x.dtype]:
            return False
        if error:
            error += 2 * size * EPSILON[x.dtype]
        self.emit(op, [x, y], x.dtype, x.shape, "", size, error)
        return True

    def convert(self):
        x = self.pick(lambda v: v.is_exact)
        if not x:
            return
        if x.dtype in PARTS:
            self.emit("convert", [x], self.rng.choice(list(PARTS)), x.shape, "", x.size and x.size * 1.01)
            return
        dtype = self.rng.choice(self.dtypes if self.rng.random() < 0.5 else list(SIZES))
        size = x.size * 1.01 if dtype in EPSILON and x.size is not None else None
        self.emit("convert", [x], dtype, x.shape, "", size)

    def compare(self):
        x = self.pick(lambda v: v.is_exact)
        y = x and self.like(x, exact=True)
        if not y or not y.is_exact:
            return
        if x.dtype in PARTS:
            self.emit("compare", [x, y], "i1", x.shape, "comparison_direction = #stablehlo<comparison_direction "
                      f"{self.rng.choice(['EQ', 'NE'])}>")
            return
        kind = "FLOAT" if x.dtype in EPSILON else "SIGNED" if x.dtype in SIGNED else "UNSIGNED"
        if kind == "FLOAT" and self.rng.random() < 0.2 and {x.name, y.name} <= {v.name for v, _ in self.module.args}:
            kind = "TOTALORDER"  # of computed NaNs the sign is free
        direction = self.rng.choice(["EQ", "NE", "LT", "LE", "GT", "GE"])
        self.emit("compare", [x, y], "i1", x.shape, f"comparison_direction = #stablehlo<comparison_direction "
                  f"{direction}>, compare_type = #stablehlo<comparison_type {kind}>")

    def joined(self, values):
        """Size and error of a choice among values."""
        sizes, errors = [v.size for v in values], [v.error for v in values]
        error = None if None in errors else max(errors)
        if error and None in sizes:
            return None
        return (None if None in sizes else max(sizes)), error

    def select(self):
        x = self.pick()
        y = x and self.like(x)
        if not y or (None in (x.error, y.error) and (x.error or y.error)):
            return
        found = self.joined([x, y])
        if not found:
            return
        shape = x.shape if self.rng.random() < 0.9 else ()
        p = self.pick(lambda v: v.dtype == "i1" and v.shape == tuple(shape)) or self.argument("i1", shape)
        self.emit("select", [p, x, y], x.dtype, x.shape, "", *found)

    def clamp(self):
        x = self.pick(lambda v: v.is_exact and v.dtype != "i1" and v.dtype not in PARTS)
        if not x:
            return
        if self.rng.random() < 0.5:
            low, high = self.argument(x.dtype, ()), self.argument(x.dtype, ())
        else:
            low, high = self.like(x, True), self.like(x, True)
        if low.is_exact and high.is_exact:
            self.emit("clamp", [low, x, high], x.dtype, x.shape)

    # -- movement

    def broadcast(self):
        x = self.pick(lambda v: len(v.shape) < 4 and v.count <= self.limit)
        if not x:
            return
        rank = self.rng.randrange(len(x.shape), 5)
        at = sorted(self.rng.sample(range(rank), len(x.shape)))
        if self.rng.random() < 0.2:
            self.rng.shuffle(at)
        shape = [self.rng.choice(EXTENTS) for _ in range(rank)]
        for i, dim in enumerate(at):
            if x.shape[i] != 1:
                shape[dim] = x.shape[i]
        if product(shape) <= self.limit:
            self.moved("broadcast_in_dim", x, shape,
                       f"broadcast_dimensions = array<i64{': ' if at else ''}{', '.join(map(str, at))}>")

    def reshape(self):
        x = self.pick()
        dims, rest = [], x.count
        while rest > 1 and len(dims) < 4:
            divisors = [d for d in range(2, min(rest, 300) + 1) if rest % d == 0] or [rest]
            dims.append(self.rng.choice(divisors))
            rest //= dims[-1]
        dims.append(rest)
        if x.count == 0:
            dims = [0, 3]
        if self.rng.random() < 0.3:
            dims.insert(self.rng.randrange(len(dims) + 1), 1)
        self.moved("reshape", x, dims if x.count != 1 or self.rng.random() < 0.5 else [], "")

    def transpose(self):
        x = self.pick(lambda v: len(v.shape) > 1)
        if x:
            order = list(range(len(x.shape)))
            self.rng.shuffle(order)
            self.moved("transpose", x, [x.shape[i] for i in order],
                       f"permutation = array<i64: {', '.join(map(str, order))}>")

    def slice(self):
        x = self.pick(lambda v: v.shape)
        if not x:
            return
        starts = [self.rng.randrange(d + 1) // 2 for d in x.shape]
        ends = [d - (self.rng.randrange(d - s) // 2 if d > s else 0) for d, s in zip(x.shape, starts)]
        strides = [self.rng.choice([1, 1, 1, 2, 3]) for _ in x.shape]
        shape = [-(-(e - s) // k) for s, e, k in zip(starts, ends, strides)]
        text = [", ".join(map(str, part)) for part in (starts, ends, strides)]
        self.moved("slice", x, shape, f"start_indices = array<i64: {text[0]}>, limit_indices = "
                   f"array<i64: {text[1]}>, strides = array<i64: {text[2]}>")

    def reverse(self):
        x = self.pick(lambda v: v.shape)
        if x:
            dims = sorted(self.rng.sample(range(len(x.shape)), self.rng.randrange(1, len(x.shape) + 1)))
            self.moved("reverse", x, x.shape, f"dimensions = array<i64: {', '.join(map(str, dims))}>")

    def pad(self):
        x = self.pick(lambda v: v.shape)
        if not x:
            return
        low = [self.rng.choice([0, 0, 1, 2, 5, -1]) for _ in x.shape]
        high = [self.rng.choice([0, 0, 1, 3, -1]) for _ in x.shape]
        inside = [self.rng.choice([0] * 8 + [1]) for _ in x.shape]
        shape = [l + h + d + max(d - 1, 0) * i for l, h, d, i in zip(low, high, x.shape, inside)]
        if min(shape) < 0 or product(shape) > 2 * self.limit:
            return
        with_ = self.argument(x.dtype, (), tame=x.size is not None)
        found = self.joined([x, with_])
        if found:
            text = [", ".join(map(str, part)) for part in (low, high, inside)]
            self.emit("pad", [x, with_], x.dtype, shape, f"edge_padding_low = array<i64: {text[0]}>, "
                      f"edge_padding_high = array<i64: {text[1]}>, interior_padding = array<i64: {text[2]}>",
                      *found)

    def concatenate(self):
        x = self.pick(lambda v: v.shape)
        if not x:
            return
        dim = self.rng.randrange(len(x.shape))
        parts = [x]
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            rest = lambda s: s[:dim] + s[dim + 1:]
            y = self.pick(lambda v: v.dtype == x.dtype and len(v.shape) == len(x.shape)
                          and rest(v.shape) == rest(x.shape))
            shape = list(x.shape)
            shape[dim] = self.rng.choice(EXTENTS)
            if self.rng.random() < 0.4 and product(shape) <= self.limit:
                y = self.argument(x.dtype, shape, tame=x.size is not None)
            parts.append(y)
        self.rng.shuffle(parts)
        found = self.joined(parts)
        total = sum(v.shape[dim] for v in parts)
        shape = x.shape[:dim] + (total,) + x.shape[dim + 1:]
        if found and product(shape) <= 2 * self.limit:
            self.emit("concatenate", parts, x.dtype, shape, f"dimension = {dim} : i64", *found)

    def extend(self):
        """An array that grows by functions of its own edge, over and over."""
        rng = self.rng
        x = self.pick(lambda v: v.shape and v.count and v.dtype in INTEGERS)
        for _ in range(rng.choice([2, 4, 8])):
            if not x or 2 * x.count > self.limit:
                return
            dim = rng.randrange(len(x.shape))
            ends = list(x.shape)
            ends[dim] = rng.randrange(1, ends[dim] + 1)
            edge = self.moved("slice", x, ends, f"start_indices = array<i64: {', '.join('0' for _ in ends)}>, "
                              f"limit_indices = array<i64: {', '.join(map(str, ends))}>, "
                              f"strides = array<i64: {', '.join('1' for _ in ends)}>")
            turned = self.moved("reverse", edge, ends, f"dimensions = array<i64: {dim}>")
            edge = self.emit(rng.choice(["add", "subtract", "xor"]), [edge, turned], x.dtype, ends)
            shape = list(x.shape)
            shape[dim] += ends[dim]
            x = self.emit("concatenate", rng.choice([[x, edge], [edge, x]]), x.dtype, shape, f"dimension = {dim} : i64")

    def iota(self):
        shape = self.shape(self.rng.choice([1, 2, 3]))
        dtype = self.rng.choice([d for d in SIZES if d != "i1"])
        if dtype in ("i8", "ui8", "f16", "bf16") and max(shape) > 100:
            return
        self.emit("iota", [], dtype, shape, f"iota_dimension = {self.rng.randrange(len(shape))} : i64",
                  float(max(shape)) if dtype in EPSILON else None)

    def starts(self, x, dtype):
        values = []
        for d in x.shape:
            v = self.pick(lambda v: v.dtype == dtype and not v.shape and v.is_exact)
            if not v or self.rng.random() < 0.6:
                v = self.argument(dtype, (), index_bytes(self.rng, dtype, 1, d))
            values.append(v)
        return values

    def dynamic_slice(self):
        x = self.pick(lambda v: v.shape)
        if x:
            sizes = [self.rng.randrange(d + 1) if self.rng.random() < 0.5 else d for d in x.shape]
            self.moved("dynamic_slice", x, sizes, f"slice_sizes = array<i64: {', '.join(map(str, sizes))}>",
                       self.starts(x, self.rng.choice(INTEGERS)))

    def update_slice(self):
        x = self.pick(lambda v: v.shape)
        if not x:
            return
        y = self.pick(lambda v: v.dtype == x.dtype and len(v.shape) == len(x.shape)
                      and all(a <= b for a, b in zip(v.shape, x.shape)))
        if y is x or self.rng.random() < 0.5:
            sizes = [self.rng.randrange(d + 1) if self.rng.random() < 0.5 else d for d in x.shape]
            if self.rng.random() < 0.5:
                text = ", ".join(map(str, sizes))
                y = self.moved("dynamic_slice", x, sizes, f"slice_sizes = array<i64: {text}>",
                               self.starts(x, "i32"))
                if y.is_exact and y.dtype != "i1":
                    z = self.like(y, True)
                    if z.is_exact:
                        y = self.emit("subtract", [y, z], y.dtype, y.shape)
            else:
                y = self.argument(x.dtype, sizes, tame=x.size is not None)
        found = self.joined([x, y])
        if found and y:
            self.emit("dynamic_update_slice", [x, y, *self.starts(x, self.rng.choice(INTEGERS))], x.dtype,
                      x.shape, "", *found)

    def gather(self):
        rng = self.rng
        x = self.pick(lambda v: v.shape and v.count)
        if not x:
            return
        rank = len(x.shape)
        batch_rank = rng.choice([0, 1, 1, 2])
        batch = [rng.choice(EXTENTS) for _ in range(batch_rank)]
        mapped = rng.sample(range(rank), rng.randrange(1, rank + 1))
        batching = []
        spare = [d for d in range(rank) if d not in mapped]
        if spare and batch and rng.random() < 0.3:
            batching = [rng.choice(spare)]
            batch[0] = x.shape[batching[0]]
        sizes = [1 if rng.random() < 0.5 else rng.randrange(1, d + 1) for d in x.shape]
        for d in batching:
            sizes[d] = 1
        collapsed = [d for d in range(rank) if sizes[d] == 1 and d not in batching and rng.random() < 0.7]
        window = [d for d in range(rank) if d not in collapsed and d not in batching]
        offsets = sorted(rng.sample(range(batch_rank + len(window)), len(window)))
        shape, rest, sizes_left = [], list(batch), [sizes[d] for d in window]
        for i in range(batch_rank + len(window)):
            shape.append(sizes_left.pop(0) if i in offsets else rest.pop(0))
        if product(shape) > self.limit:
            return
        vector = rng.randrange(batch_rank + 1) if len(mapped) > 1 or rng.random() < 0.5 else batch_rank
        places = list(batch)
        if not (len(mapped) == 1 and vector == batch_rank and rng.random() < 0.5):
            places.insert(vector, len(mapped))
        dtype = rng.choice(INTEGERS)
        indices = self.pick(lambda v: v.dtype in INTEGERS and list(v.shape) == places)
        if not indices or rng.random() < 0.7:
            data = index_bytes(rng, dtype, product(places), max(x.shape[d] for d in mapped))
            indices = self.argument(dtype, places, data)
        batch_dims = [0 if vector > 0 or len(places) == len(batch) else 1] if batching else []
        parts = [f"offset_dims = {offsets}" if offsets else "",
                 f"collapsed_slice_dims = {collapsed}" if collapsed else "",
                 f"operand_batching_dims = {batching}" if batching else "",
                 f"start_indices_batching_dims = {batch_dims}" if batching else "",
                 f"start_index_map = {mapped}", f"index_vector_dim = {vector}"]
        self.moved("gather", x, shape, f"dimension_numbers = #stablehlo.gather<{', '.join(p for p in parts if p)}>,"
                   f" slice_sizes = array<i64: {', '.join(map(str, sizes))}>, indices_are_sorted = false",
                   [indices])

    # -- sums and windows

    def reducer(self, x, count):
        """(op, size, error) of a reduction of `count` elements, or None."""
        rng = self.rng
        if x.dtype == "i1":
            return rng.choice(["and", "or", "add", "multiply", "maximum", "minimum", "xor"]), None, 0
        if x.dtype in INTEGERS:
            return rng.choice(["add", "multiply", "maximum", "minimum", "and", "or", "xor"]), None, 0
        if x.error is None or (x.size is None and x.error):
            return None
        if x.dtype in PARTS and x.size is None:
            return None
        ops = ["add"] if x.dtype in PARTS else ["maximum", "minimum"]
        op = rng.choice(ops if x.size is None or x.dtype in PARTS else ["add", "add", *ops])
        size = None if x.size is None else x.size + 2
        if op == "add":
            total = size * (count + 1)
            part = PARTS.get(x.dtype, x.dtype)
            if total > LARGEST[part]:
                return None
            return op, total, (count + 1) * (x.error + total * EPSILON[part])
        # Which zero is the largest is up to the order.
        return op, size, None if size is None else x.error + 1e-300

    def body(self, op, dtype):
        scalar = tensor(dtype, ())
        n = self.name()[1:]
        order = f"%a{n}, %b{n}" if self.rng.random() < 0.7 else f"%b{n}, %a{n}"
        return (f"({{\n  ^bb0(%a{n}: {scalar}, %b{n}: {scalar}):\n    %c{n} = stablehlo.{op} {order} : {scalar}\n"
                f"    stablehlo.return %c{n} : {scalar}\n  }})")

    def reduce(self, x=None, dims=None):
        x = x or self.pick(lambda v: v.shape and v.error is not None)
        if not x:
            return None
        dims = dims or sorted(self.rng.sample(range(len(x.shape)), self.rng.randrange(1, len(x.shape) + 1)))
        found = self.reducer(x, product(x.shape[d] for d in dims))
        if not found:
            return None
        first = self.argument(x.dtype, (), tame=x.size is not None)
        shape = [d for i, d in enumerate(x.shape) if i not in dims]
        value = Value(self.name(), x.dtype, shape, *found[1:])
        return self.add(
            f'{value.name} = "stablehlo.reduce"({x.name}, {first.name}) {self.body(found[0], x.dtype)} '
            f'{{dimensions = array<i64: {", ".join(map(str, dims))}>}} : ({x.type}, {first.type}) -> '
            f'{value.type}', value, [x, first])

    def statistics(self):
        """Rows or columns and values computed from them, repeatedly, all of them results."""
        rng = self.rng
        x = self.pick(lambda v: len(v.shape) > 1 and v.error is not None)
        if not x:
            return
        dims = sorted(rng.sample(range(len(x.shape)), rng.randrange(1, len(x.shape) + 1)))
        kept = [i for i in range(len(x.shape)) if i not in dims]
        for _ in range(rng.choice([1, 2, 3])):
            self.pool.append(x)
            rng.choice([self.unary, self.binary, self.function])()
            y = self.pool[-1] if self.pool[-1].shape == x.shape and self.pool[-1].error is not None else x
            total = self.reduce(y, dims)
            if not total:
                return
            back = self.moved("broadcast_in_dim", total, x.shape, "broadcast_dimensions = array<i64"
                              f"{': ' if kept else ''}{', '.join(map(str, kept))}>")
            self.wanted += [v for v in (y, total) if rng.random() < 0.6]
            if back.is_exact and y.is_exact and y.dtype in INTEGERS:
                x = self.emit(rng.choice(["add", "subtract", "xor"]), [y, back], y.dtype, y.shape)
            elif y.dtype not in EPSILON or None in (y.size, back.size) or not self.tame_binary(y, back):
                return
            else:
                x = self.pool[-1]
            self.wanted += [x] if rng.random() < 0.6 else []

    def reduce_window(self):
        rng = self.rng
        x = self.pick(lambda v: v.shape and v.error is not None)
        if not x:
            return
        window = [rng.choice([1, 2, 3]) for _ in x.shape]
        strides = [rng.choice([1, 1, 2, 3]) for _ in x.shape]
        pads = [(rng.choice([0, 0, 1, 2]), rng.choice([0, 0, 1, 2])) for _ in x.shape]
        dilation = [rng.choice([1, 1, 1, 2]) for _ in x.shape]
        shape = []
        for i, d in enumerate(x.shape):
            reach = (window[i] - 1) * dilation[i] + 1
            length = d + sum(pads[i])
            shape.append(0 if length < reach else (length - reach) // strides[i] + 1)
        found = self.reducer(x, product(window))
        if not found:
            return
        first = self.argument(x.dtype, (), tame=x.size is not None)
        size, error = found[1:]
        if found[0] == "add" and size is not None:
            size, error = size * product(window), error * product(window)
        value = Value(self.name(), x.dtype, shape, size, error)
        text = [", ".join(map(str, part)) for part in (window, strides, dilation)]
        self.add(f'{value.name} = "stablehlo.reduce_window"({x.name}, {first.name}) {self.body(found[0], x.dtype)} '
                 f'{{window_dimensions = array<i64: {text[0]}>, window_strides = array<i64: {text[1]}>, '
                 f'window_dilations = array<i64: {text[2]}>, padding = dense<{[list(p) for p in pads]}> : '
                 f'tensor<{len(pads)}x2xi64>}} : ({x.type}, {first.type}) -> {value.type}', value, [x, first])

    def several_sums(self):
        """Two operands reduced at once: sums, or the place of the largest (smallest) element."""
        rng = self.rng
        x = self.pick(lambda v: v.shape and v.is_exact and v.dtype != "i1" and v.dtype not in PARTS)
        if not x:
            return
        dims = sorted(rng.sample(range(len(x.shape)), rng.randrange(1, len(x.shape) + 1)))
        shape = [d for i, d in enumerate(x.shape) if i not in dims]
        if rng.random() < 0.5:
            self.arg_reduce(x, dims, shape)
            return
        y = self.like(x, True)
        ops = [self.reducer(v, product(x.shape[d] for d in dims)) for v in (x, y)]
        if None in ops or not y.is_exact:
            return
        firsts = [self.argument(v.dtype, (), tame=v.size is not None) for v in (x, y)]
        n, s = self.name()[1:], tensor(x.dtype, ())
        body = (f"({{\n  ^bb0(%a{n}: {s}, %b{n}: {s}, %c{n}: {s}, %d{n}: {s}):\n"
                f"    %e{n} = stablehlo.{ops[0][0]} %a{n}, %c{n} : {s}\n"
                f"    %f{n} = stablehlo.{ops[1][0]} %b{n}, %d{n} : {s}\n"
                f"    stablehlo.return %e{n}, %f{n} : {s}, {s}\n  }})")
        self.two_results(n, body, [x, y, *firsts], dims,
                         [(x.dtype, shape, *ops[0][1:]), (y.dtype, shape, *ops[1][1:])])

    def two_results(self, n, body, operands, dims, types):
        values = [Value(f"%{n}#{i}", *types[i]) for i in range(2)]
        text = (f'%{n}:2 = "stablehlo.reduce"({", ".join(v.name for v in operands)}) {body} '
                f'{{dimensions = array<i64: {", ".join(map(str, dims))}>}} : '
                f'({", ".join(v.type for v in operands)}) -> ({", ".join(v.type for v in values)})')
        # Shrinking makes arguments of results, whose names cannot be v#0: moves give them plain ones.
        self.module.steps.append(Step(text, values, operands))
        for v in values:
            self.moved("reshape", v, v.shape, "")

    def arg_reduce(self, x, dims, shape):
        rng = self.rng
        kind = rng.choice(["i32", "i64", "ui32", "i8"] if max(x.shape) < 100 else ["i32", "i64", "ui32"])
        if product(x.shape) == 0:
            return
        places = self.emit("iota", [], kind, x.shape, f"iota_dimension = {dims[-1]} : i64")
        if len(dims) > 1:
            dims = dims[-1:]
            shape = [d for i, d in enumerate(x.shape) if i not in dims]
        direction = rng.choice(["GT", "LT"])
        first, place = self.argument(x.dtype, ()), self.constant(kind, "0")
        n, s, k = self.name()[1:], tensor(x.dtype, ()), tensor(kind, ())
        types = f"({s}, {s}) -> tensor<i1>"
        nan = x.dtype in EPSILON and rng.random() < 0.8
        lines = [f"%g{n} = stablehlo.compare {direction}, %a{n}, %c{n} : {types}"]
        lines += [f"%h{n} = stablehlo.compare NE, %a{n}, %a{n} : {types}",
                  f"%p{n} = stablehlo.or %g{n}, %h{n} : tensor<i1>"] if nan else []
        pick = f"%p{n}" if nan else f"%g{n}"
        lines += [f"%q{n} = stablehlo.compare EQ, %a{n}, %c{n} : {types}",
                  f"%r{n} = stablehlo.compare LT, %b{n}, %d{n} : ({k}, {k}) -> tensor<i1>",
                  f"%s{n} = stablehlo.and %q{n}, %r{n} : tensor<i1>",
                  f"%t{n} = stablehlo.or {pick}, %s{n} : tensor<i1>",
                  f"%x{n} = stablehlo.select {pick}, %a{n}, %c{n} : tensor<i1>, {s}",
                  f"%y{n} = stablehlo.select %t{n}, %b{n}, %d{n} : tensor<i1>, {k}",
                  f"stablehlo.return %x{n}, %y{n} : {s}, {k}"]
        if not nan and x.dtype in EPSILON and x.size is None:
            return
        body = (f"({{\n  ^bb0(%a{n}: {s}, %b{n}: {k}, %c{n}: {s}, %d{n}: {k}):\n    " + "\n    ".join(lines) +
                "\n  })")
        # Of zeros of both signs, which are equal, the order of a reduction says which one it is.
        error = None if x.dtype in EPSILON else 0
        self.two_results(n, body, [x, places, first, place], dims, [(x.dtype, shape, None, error), (kind, shape)])

    def factor(self, dtype, shape):
        """An operand of a product, perhaps made of something by a few exact ops."""
        rng, last = self.rng, len(shape) - 1
        how = rng.choice(["", "", "", "transpose", "slice", "dynamic_slice", "negate", "row", "widened"])
        if dtype in PARTS and how == "row":
            how = ""
        if how == "transpose":
            x = self.argument(dtype, [*shape[:-2], shape[-1], shape[-2]], tame=True)
            order = [*range(last - 1), last, last - 1]
            return self.emit("transpose", [x], dtype, shape, f"permutation = array<i64: {', '.join(map(str, order))}>",
                             x.size)
        if how in ("slice", "dynamic_slice"):
            x = self.argument(dtype, [d + 3 for d in shape], tame=True)
            if how == "slice":
                text = [", ".join(map(str, part)) for part in ([2] * len(shape), [d + 2 for d in shape], [1] * len(shape))]
                return self.emit("slice", [x], dtype, shape, f"start_indices = array<i64: {text[0]}>, limit_indices = "
                                 f"array<i64: {text[1]}>, strides = array<i64: {text[2]}>", x.size)
            starts = [self.argument("i32", (), index_bytes(rng, "i32", 1, 4)) for _ in shape]
            return self.emit("dynamic_slice", [x] + starts, dtype, shape,
                             f"slice_sizes = array<i64: {', '.join(map(str, shape))}>", x.size)
        narrow = {"f32": "bf16", "f64": "f32", "i32": "i8"}.get(dtype)
        x = self.argument(narrow if how == "widened" and narrow else dtype, shape, tame=True)
        if x.dtype != dtype:
            return self.emit("convert", [x], dtype, shape, "", x.size)
        if how == "negate":
            return self.emit("negate", [x], dtype, shape, "", x.size)
        if how == "row":
            y = self.argument(dtype, shape[-1:], tame=True)
            y = self.emit("broadcast_in_dim", [y], dtype, shape, f"broadcast_dimensions = array<i64: {last}>", y.size)
            return self.emit("maximum", [x, y], dtype, shape, "", x.size)
        return x

    def dot(self):
        rng = self.rng
        dtype = rng.choice(["f32", "f32", "f64", "bf16", "f16", "i32", "i8", *PARTS])
        m, k, n = (rng.choice(EXTENTS) for _ in range(3))
        batch = [rng.choice([2, 3])] if rng.random() < 0.3 else []
        if (m * n + m * k + n * k) * product(batch) > 3 * self.limit or m * n * k > 300000:
            return
        x_shape, y_shape = rng.choice([[m, k], [k, m]]), rng.choice([[k, n], [n, k]])
        x, y = self.factor(dtype, batch + x_shape), self.factor(dtype, batch + y_shape)
        b = len(batch)
        sides = [b + (0 if x_shape == [k, m] else 1), b + (0 if y_shape == [k, n] else 1)]
        size, error = None, 0
        part = PARTS.get(dtype, dtype)
        if part in EPSILON:
            size = 4.0 * k * (2 if dtype in PARTS else 1)
            error = 4 * size * max(EPSILON[part], (k + 1) * EPSILON["f64" if part == "f64" else "f32"])
        batching = f"lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], " if batch else ""
        self.emit("dot_general", [x, y], dtype, batch + [m, n], f"dot_dimension_numbers = #stablehlo.dot<{batching}"
                  f"lhs_contracting_dimensions = [{sides[0]}], rhs_contracting_dimensions = [{sides[1]}]>",
                  size, error)

    # -- control flow: bodies are made by a smaller maker whose pool holds carried and captured values

    def inner(self, carried, steps, others=()):
        """Text of a body computing new values of `carried`, what it captures, and the new values."""
        saved = self.module.steps, self.pool, self.argument
        self.module.steps, self.pool = [], list(carried) + self.rng.sample(saved[1], min(len(saved[1]), 4))
        outside = list(self.pool)
        arguments = []

        def argument(*args, **named):
            made = saved[2](*args, **named)
            arguments.append(made)
            return made

        self.argument = argument
        self.pool = [v for v in self.pool if v.is_exact]
        exact = [self.unary, self.binary, self.select, self.compare, self.clamp, self.slice, self.reverse,
                 self.update_slice, self.dynamic_slice, self.transpose, self.pad, self.concatenate, *others]
        for _ in range(steps):
            if self.pool:
                self.rng.choice(exact)()
        new = []
        for v in carried:
            found = [w for w in self.pool if w.type == v.type and w.is_exact]
            new.append(self.rng.choice(found[-3:] if found else [v]))
        body = self.module.steps
        self.module.steps, self.pool = saved[0], saved[1] + [a for a in arguments if a not in saved[1]]
        del self.argument
        return body, new, [v for v in outside if v not in carried] + arguments

    @staticmethod
    def prune(body, new):
        needed, kept = {v.name for v in new}, []
        for step in reversed(body):
            if any(r.name in needed for r in step.results):
                kept.append(step)
                needed.update(v.name for v in step.operands)
        return [s.text for s in kept[::-1]], needed

    def carried_values(self):
        values = [v for v in self.pool if v.is_exact]
        return self.rng.sample(values, min(len(values), self.rng.choice([1, 2, 2, 3])))

    def loop(self):
        start = self.carried_values()
        if not start:
            return
        n = self.name()[1:]
        slots = [Value(f"%s{n}_{i}", v.dtype, v.shape) for i, v in enumerate(start)]
        counter = Value(f"%i{n}", "i32", ())
        body, new, captured = self.inner(slots + [counter], self.rng.choice([2, 4, 8]))
        lines, needed = self.prune(body, new[:-1])
        captured = [v for v in captured if v.name in needed]
        types = ["tensor<i32>"] + [v.type for v in start]
        turns = self.rng.choice([0, 1, 2, 3, 5])
        text = [f"%z{n} = stablehlo.constant dense<0> : tensor<i32>",
                f"%w{n}:{len(types)} = stablehlo.while(" +
                ", ".join(f"{s.name} = {v}" for s, v in
                          zip([counter] + slots, [f"%z{n}"] + [v.name for v in start])) + f") : {', '.join(types)}",
                "  cond {", f"    %n{n} = stablehlo.constant dense<{turns}> : tensor<i32>",
                f"    %p{n} = stablehlo.compare LT, {counter.name}, %n{n} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
                f"    stablehlo.return %p{n} : tensor<i1>", "  } do {"]
        text += ["    " + line for line in lines]
        text += [f"    %o{n} = stablehlo.constant dense<1> : tensor<i32>",
                 f"    %j{n} = stablehlo.add {counter.name}, %o{n} : tensor<i32>",
                 f"    stablehlo.return %j{n}, {', '.join(v.name for v in new[:-1])} : {', '.join(types)}", "  }"]
        self.results_of(n, "\n  ".join(text), start, captured, 1)

    def grid_loop(self):
        """A loop over the points of a grid, as interpreted Pallas kernels are: blocks of arrays are read, and
        written where they were read or elsewhere, or added up; indices wrap around, or the number of the point is
        divided."""
        rng, n = self.rng, self.name()[1:]
        bounds = [rng.choice([1, 2, 3, 4, 5, 8]) for _ in range(rng.choice([1, 1, 2, 2, 3]))]
        number = self.scalars(n)
        lines, indices = [], [Value(f"%g{n}_{k}", "i32", ()) for k in range(len(bounds))]
        windows = [self.window(number, lines, indices, bounds) for _ in range(rng.choice([1, 2, 2, 3]))]
        output_count = rng.choice([1, 1, 2])
        blocks = []
        for array, slot, starts, sizes in windows:
            block = Value(self.name(), array.dtype, sizes)
            lines.append(f"{block.name} = stablehlo.dynamic_slice {slot.name}, {', '.join(starts)}, sizes = {sizes} : "
                         f"({', '.join([array.type] + ['tensor<i32>'] * len(starts))}) -> {block.type}")
            blocks.append(block)
        scratch = [Value(self.name(), b.dtype, b.shape) for b in blocks[:1] if rng.random() < 0.2]
        first = [self.argument(v.dtype, v.shape) for v in scratch]
        body, new, captured = self.inner(blocks + scratch + indices[:1], rng.choice([1, 2, 4, 8]),
                                         [self.broadcast, self.reshape, self.reduce, self.gather, self.dot])
        kept, needed = self.prune(body, new[:-1])
        lines += kept
        ends = []
        for i, ((array, slot, starts, sizes), value) in enumerate(zip(windows, new)):
            if rng.random() < 0.1:  # written elsewhere: iterations may depend on each other
                starts = self.block_starts(number, lines, indices, bounds, array.shape, sizes)[0]
            if i < output_count:
                end = Value(self.name(), array.dtype, array.shape)
                lines.append(f"{end.name} = stablehlo.dynamic_update_slice {slot.name}, {value.name}, {', '.join(starts)} : "
                             f"({', '.join([array.type, value.type] + ['tensor<i32>'] * len(starts))}) -> {array.type}")
                ends.append(end)
            else:
                ends.append(slot)
        start = [w[0] for w in windows] + first
        slots = [w[1] for w in windows] + scratch
        ends += new[len(blocks):-1]
        for value in [v for v in new[:len(blocks)] if v.dtype in INTEGERS and rng.random() < 0.5]:
            slot, end = Value(self.name(), value.dtype, value.shape), Value(self.name(), value.dtype, value.shape)
            lines.append(f"{end.name} = stablehlo.add {slot.name}, {value.name} : {value.type}")
            start, slots, ends = start + [self.argument(value.dtype, value.shape)], slots + [slot], ends + [end]
        self.grid_text(n, number, bounds, indices, lines, start, slots, ends,
                       [v for v in captured if v.name in needed])

    def grid_text(self, n, number, bounds, indices, lines, start, slots, ends, captured):
        wraps = self.rng.random() < 0.6
        counter = Value(f"%i{n}", "i32", ())
        head = [] if wraps else self.divided(n, number, counter, bounds, indices)
        carried = [counter] + (indices if wraps else []) + slots
        tail, following = self.wrapped(n, number, bounds, indices) if wraps else ([], [])
        tail.insert(0, f"%j{n} = stablehlo.add {counter.name}, {number(1)} : tensor<i32>")
        values = [f"%j{n}"] + following + [v.name for v in ends]
        types = ", ".join(v.type for v in carried)
        limit, zero = number(product(bounds)), number(0)
        begin = [zero] * (len(carried) - len(slots)) + [v.name for v in start]
        text = [*number.lines, f"%w{n}:{len(carried)} = stablehlo.while(" +
                ", ".join(f"{s.name} = {v}" for s, v in zip(carried, begin)) + f") : {types}", "  cond {",
                f"    %p{n} = stablehlo.compare LT, {counter.name}, {limit} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
                f"    stablehlo.return %p{n} : tensor<i1>", "  } do {"]
        text += ["    " + line for line in head + lines + tail]
        text += [f"    stablehlo.return {', '.join(values)} : {types}", "  }"]
        self.results_of(n, "\n  ".join(text), start, captured, len(carried) - len(slots))

    @staticmethod
    def scalars(n):
        """number(i) is the name of a constant before the loop; number.lines has their text."""
        def number(value):
            name = f"%c{n}_{'m' * (value < 0)}{abs(value)}"
            line = f"{name} = stablehlo.constant dense<{value}> : tensor<i32>"
            if line not in number.lines:
                number.lines.append(line)
            return name

        number.lines = []
        return number

    def scalar(self, lines, op, x, y):
        name = self.name()
        lines.append(f"{name} = stablehlo.{op} {x}, {y} : tensor<i32>")
        return name

    def window(self, number, lines, indices, bounds):
        """An array as an argument, its carried value, the starts of a block and its sizes."""
        rank = self.rng.choice([1, 2, 2, 3])
        sizes = [self.rng.choice([1, 1, 2, 3, 8, 16]) for _ in range(rank)]
        starts, shape = self.block_starts(number, lines, indices, bounds, None, sizes)
        array = self.argument(None, shape)
        return array, Value(self.name(), array.dtype, array.shape), starts, sizes

    def block_starts(self, number, lines, indices, bounds, shape, sizes):
        """Names of starts, of which some are indices of blocks, and the shape of an array for them."""
        rng, names, dims = self.rng, [], []
        free = rng.sample(range(len(bounds)), len(bounds))
        for d, size in enumerate(sizes):
            low, high = rng.choice([0, 0, 0, 1, 3]), rng.choice([0, 0, 0, 2])
            if not free or rng.random() < 0.2:
                names.append(number(rng.choice([0, low, -1])))
                dims.append(size + low + high)
                continue
            k = free.pop()
            index = indices[k].name
            if rng.random() < 0.2:  # from the end
                index = self.scalar(lines, "subtract", number(bounds[k] - 1), index)
            distance = size if rng.random() < 0.8 else rng.choice([1, 2, size + 1])
            names.append(self.scalar(lines, "add", self.scalar(lines, "multiply", index, number(distance)), number(low)))
            dims.append(max(size, (bounds[k] - 1) * distance + size) + low + high)
        if shape:  # clamped where it is shorter
            return names, shape
        return names, dims

    def wrapped(self, n, number, bounds, indices):
        """Text of the next indices: the last one goes up, and the one before when it returns to zero."""
        lines, following, carry = [], [], None
        for k in reversed(range(len(bounds))):
            up = self.scalar(lines, "add", indices[k].name, number(1))
            if carry:
                lines.append(f"%u{n}_{k} = stablehlo.select {carry}, {up}, {indices[k].name} : tensor<i1>, tensor<i32>")
                up = f"%u{n}_{k}"
            carry = f"%e{n}_{k}"
            lines.append(f"{carry} = stablehlo.compare EQ, {up}, {number(bounds[k])} : (tensor<i32>, tensor<i32>) -> tensor<i1>")
            lines.append(f"%x{n}_{k} = stablehlo.select {carry}, {number(0)}, {up} : tensor<i1>, tensor<i32>")
            following.insert(0, f"%x{n}_{k}")
        return lines, following

    def divided(self, n, number, counter, bounds, indices):
        lines, rest = [], counter.name
        for k in reversed(range(len(bounds))):
            lines.append(f"{indices[k].name} = stablehlo.remainder {rest}, {number(bounds[k])} : tensor<i32>")
            if k:
                rest = self.scalar(lines, "divide", rest, number(bounds[k]))
        return lines

    def branch(self):
        like = self.carried_values()
        if not like:
            return
        n = self.name()[1:]
        count = self.rng.choice([2, 2, 3])
        is_if = count == 2 and self.rng.random() < 0.6
        which = self.argument("i1" if is_if else "i32", (), None if is_if else index_bytes(self.rng, "i32", 1, count))
        regions, captured = [], [which] + like
        for _ in range(count):
            body, new, found = self.inner(like, self.rng.choice([1, 2, 4]))
            lines, needed = self.prune(body, new)
            captured += [v for v in found if v.name in needed]
            lines.append(f"stablehlo.return {', '.join(v.name for v in new)} : {', '.join(v.type for v in new)}")
            regions.append("{\n      " + "\n      ".join(lines) + "\n  }")
        types = ", ".join(v.type for v in like)
        text = (f'%w{n}:{len(like)} = "stablehlo.{"if" if is_if else "case"}"({which.name}) ({", ".join(regions)}) : '
                f'({which.type}) -> ({types})')
        self.results_of(n, text, like, captured, 0)

    def results_of(self, n, text, like, captured, first):
        values = [Value(f"%w{n}#{i + first}", v.dtype, v.shape) for i, v in enumerate(like)]
        self.module.steps.append(Step(text, values, like + captured))
        for v in values:
            self.moved("reshape", v, v.shape, "") if self.rng.random() < 0.7 else self.pool.append(v)

    def make(self, focus=None):
        rng = self.rng
        for _ in range(rng.choice([1, 2, 3])):
            self.argument()
        kinds = [self.unary] * 2 + [self.function, self.complex, self.table] + [self.binary] * 5 + [self.convert] * 2 + \
            [self.compare, self.select, self.clamp, self.broadcast, self.reshape, self.transpose, self.slice,
             self.reverse, self.pad, self.concatenate, self.extend, self.iota, self.dynamic_slice, self.update_slice,
             self.gather, self.reduce, self.reduce, self.statistics, self.reduce_window, self.several_sums,
             self.dot, self.loop, self.branch, self.grid_loop]
        chosen = kinds if rng.random() < 0.4 else rng.sample(kinds, 8) + [self.binary]
        if focus:
            chosen = chosen + [getattr(self, focus)] * len(chosen)
        wanted = rng.choice([1, 2, 4, 8, 16, 30])
        for _ in range(10 * wanted):
            if len(self.module.steps) < wanted:
                rng.choice(chosen)()
        values = [v for v in self.pool if v.error is None or v.error <= 1e30]
        used = {v.name for s in self.module.steps for v in s.operands}
        ends = [v for v in values if v.name not in used]
        results = ends if len(ends) <= 4 or rng.random() < 0.5 else rng.sample(ends, 4)
        results = results[:8] + rng.sample(values, min(len(values), rng.choice([0, 0, 1, 2])))
        results += [v for v in dict.fromkeys(self.wanted) if v in values and v not in results]
        if results and rng.random() < 0.1:
            results.append(rng.choice(results))
        self.module.results = results or values[-1:]
        return self.module


# ---- running and comparing ----------------------------------------------------------------------------

def npy(value, data):
    letter = ("b" if value.dtype == "i1" else "V" if value.dtype == "bf16" else "u" if value.dtype[0] == "u" else
              value.dtype[0])  # c: complex
    size = SIZES[value.dtype]
    shape = "".join(f"{d}," for d in value.shape)
    head = f"{{'descr': '{'|' if size == 1 else '<'}{letter}{size}', 'fortran_order': False, 'shape': ({shape}), }}"
    head += " " * (-(len(head) + 11) % 16) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data


class Runner:
    def __init__(self, tool, folder, under=()):
        self.tool, self.folder, self.under = tool, pathlib.Path(folder), list(under)
        self.subnormals = "flush"

    def compare(self, value, mine, theirs):
        return fault(value, mine, theirs, self.subnormals == "flush")

    def write(self, module, folder):
        text, args = module.text()
        (folder / "module.mlir").write_text(text, encoding="utf-8")
        words = []
        for i, (value, data) in enumerate(args):
            (folder / f"arg{i}.npy").write_bytes(npy(value, data))
            words.append(f"--input={value.type[7:-1]}=@{folder}/arg{i}.npy")
        return words

    def run(self, module, backend, words=None):
        """Bytes of each result, or the error as a string."""
        if words is None:
            words = self.write(module, self.folder)
        env = dict(os.environ, HLOCC_BACKEND=backend.split("-")[0], HLOCC_SUBNORMALS=self.subnormals)
        if "-" in backend:
            env["HLOCC_CPU"] = backend.split("-")[1]
        if backend != "interp":
            env["HLOCC_CHECK"] = "1"
        files = [self.folder / f"result{i}.npy" for i in range(len(module.results))]
        under = self.under if backend != "interp" else []
        command = [*under, self.tool, "run", *words, *(f"--output=@{f}" for f in files),
                   str(self.folder / "module.mlir")]
        try:
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
        except subprocess.TimeoutExpired:
            return "did not end"
        if done.returncode:
            return f"exit {done.returncode}: {done.stderr.strip()[:600]}"
        found = []
        for f in files:
            raw = f.read_bytes()
            found.append(raw[10 + struct.unpack("<H", raw[8:10])[0]:])
        return found


def decode(dtype, data):
    dtype = PARTS.get(dtype, dtype)
    if dtype == "bf16":
        halves = array.array("H", data)
        return struct.unpack(f"<{len(halves)}f", array.array("I", [h << 16 for h in halves]).tobytes())
    return struct.unpack(f"<{len(data) // SIZES[dtype]}{'e' if dtype == 'f16' else 'f' if dtype == 'f32' else 'd'}",
                         data)


def fault(value, mine, theirs, flushes=False):
    """A description of the fault in a result, or None. flushes: subnormal numbers may be flushed, or not."""
    if mine == theirs:
        return None
    size = SIZES[value.dtype]
    if len(mine) != len(theirs):
        return f"{len(mine)} bytes, expected {len(theirs)}"
    part = PARTS.get(value.dtype, value.dtype)
    if part not in EPSILON:
        at = next(i for i in range(0, len(mine), size) if mine[i:i + size] != theirs[i:i + size])
        return f"element {at // size} is {mine[at:at + size].hex()}, expected {theirs[at:at + size].hex()}"
    for i, (m, t) in enumerate(zip(decode(value.dtype, mine), decode(value.dtype, theirs))):
        bound = 0.0 if value.is_exact else value.error
        least_normal = 2.0 ** -1022 if part == "f64" else 2.0 ** -126
        if bound is None:
            tiny = {"f16": 2.0 ** -23, "bf16": 2.0 ** -132, "f32": 2.0 ** -148, "f64": 2.0 ** -1073}[part]
            if flushes and part != "f16":
                tiny = least_normal
            bound = abs(t) * FUNCTION_BOUND[part] + 2 * tiny if math.isfinite(t) else 0.0
        if m != m and t != t:
            continue
        if flushes and t == 0 and abs(m) < least_normal and math.copysign(1, m) == math.copysign(1, t):
            continue  # a rewrite removed what flushes it, such as a conversion there and back
        if m == t and (not value.is_exact or math.copysign(1, m) == math.copysign(1, t)):
            continue
        if not (math.isfinite(m) and math.isfinite(t) and bound and abs(m - t) <= bound):
            return f"element {i} is {m!r}, expected {t!r} within {bound}"
    return None


def bit_fault(value, mine, theirs):
    """Like fault, for results that must be equal in every bit, except NaNs."""
    if mine == theirs:
        return None
    exact = copy.copy(value)
    exact.error = 0
    return fault(exact, mine, theirs)


def faults(module, mine, theirs, compare):
    if isinstance(mine, str):
        return [(None, mine)]
    found = [(v, compare(v, m, t)) for v, m, t in zip(module.results, mine, theirs)]
    return [(v, text) for v, text in found if text]


def differs(runner, module, backend, twin=None):
    """The faults of `backend` compared with the interpreter or, in every bit, with back end `twin`."""
    words = runner.write(module, runner.folder)
    expected = runner.run(module, twin or "interp", words)
    if isinstance(expected, str):
        return []
    return faults(module, runner.run(module, backend, words), expected, bit_fault if twin else runner.compare)


def copy_of(module, results=None, args=None):
    made = Module()
    made.args, made.steps = list(args or module.args), module.steps
    made.results = list(results or module.results)
    return made


def shrink(runner, module, backend, twin):
    """The smallest module found that still differs."""
    for i in reversed(range(len(module.results))):
        smaller = copy_of(module, module.results[:i] + module.results[i + 1:])
        if len(module.results) > 1 and differs(runner, smaller, backend, twin):
            module = smaller
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for step in module.live_steps()[0]:
            values = [v for v in step.results if "#" not in v.name]
            if "stablehlo.constant" in step.text or any(v in module.results for v in values) or not values:
                continue
            data = runner.run(copy_of(module, values), "interp")
            if isinstance(data, str):
                continue
            smaller = copy_of(module, None, module.args + list(zip(values, data)))
            if differs(runner, smaller, backend, twin):
                module, is_smaller = smaller, True
                break
    return module


def report(runner, module, backend, seed, keep, first, twin=None):
    small = shrink(runner, module, backend, twin)
    found = differs(runner, small, backend, twin)
    beside = f" beside {twin}" * bool(twin)
    print(f"module {seed} by {backend}{beside}, subnormals {runner.subnormals}: {found[0][1] if found else f'only sometimes: {first[0][1]}'}")
    print(small.text()[0])
    if keep:
        folder = pathlib.Path(keep) / f"{seed}.{backend}"
        folder.mkdir(parents=True, exist_ok=True)
        words = runner.write(small, folder)
        (folder / "command").write_text(" ".join([str(runner.tool), "run", "--print",
                                                  f"--subnormals={runner.subnormals}", *words,
                                                  str(folder / "module.mlir")]) + "\n", encoding="utf-8")
    sys.stdout.flush()


def is_faulty(runner, module, seed, options):
    """Runs a module in every back end; prints the faults."""
    words = runner.write(module, runner.folder)
    expected = runner.run(module, "interp", words)
    if isinstance(expected, str):
        print(f"module {seed} by interp: {expected}\n{module.text()[0]}")
        return True
    found = {}
    for backend in options.backends:
        if backend == "vir" and (seed % 4 or max(v.count for v in module.results) > 3000):
            continue
        found[backend] = runner.run(module, backend, words)
        first = faults(module, found[backend], expected, runner.compare)
        if first:
            report(runner, module, backend, seed, options.keep, first)
            return True
    for backend in options.equal[1:]:
        first = faults(module, found[backend], found[options.equal[0]], bit_fault)
        if first:
            report(runner, module, backend, seed, options.keep, first, options.equal[0])
            return True
    return False


def levels_of(tool):
    """Older levels of the machine on which the tool runs, which may be emulated."""
    info = subprocess.run([tool, "info"], check=True, capture_output=True, text=True).stdout
    features = next(line for line in info.splitlines() if line.startswith("features:")).split()
    return [f"native-{level}" for level in ("avx2", "sse2") if level in features]


def parse_arguments():
    def names(text):
        return text.split(",") if text else []

    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--focus", choices=["grid_loop", "loop", "branch", "dot"])
    parser.add_argument("--seconds", type=float, help="instead of a count")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--backends", type=names, help="with commas; else native, its levels of this machine, vir, tile")
    parser.add_argument("--equal", type=names, default="")
    parser.add_argument("--under", type=shlex.split, default="")
    parser.add_argument("--keep")
    options = parser.parse_args()
    options.backends = options.backends or ["native", *levels_of(options.tool), "vir", "tile"]
    options.backends += [name for name in options.equal if name not in options.backends]
    return options


def main():
    options = parse_arguments()
    end = time.monotonic() + options.seconds if options.seconds else math.inf
    count = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("XDG_CACHE_HOME", folder)  # of the C compiler's work
        runner = Runner(options.tool, folder, options.under)
        while time.monotonic() < end and (options.seconds or count < options.count):
            seed = options.first + count
            runner.subnormals = "keep" if seed % 3 == 0 else "flush"
            bad += is_faulty(runner, Maker(seed).make(options.focus), seed, options)
            count += 1
    print(f"{count} modules, {bad} faults")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
