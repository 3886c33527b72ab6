#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every operation on single elements, of every element type, gives the interpreter's results.

  op_properties.py TOOL [--full] [--only=REGEX] [--backends=NAME,...] [--keep=FOLDER]
                   [--subnormals=flush,keep]

Operations are those of src/ir/ops.def with the trait ELEMENTWISE, and compare, select, clamp, conversions,
reductions, windows, sorting and movements of elements, for the element types of docs/support-matrix.md.
Arguments are all pairs of special values (zeros, infinities, NaN, subnormals, extremes, ties; all codes of small
types) in one array, and edge shapes: scalars, empty, numbers of elements around the lanes of a vector, extents of 1.
By default a sample runs; --full runs everything, on all levels of this machine and in C. Subnormal numbers are both
flushed and kept.
"""
import argparse
import itertools
import math
import pathlib
import random
import re
import shutil
import struct
import sys
import tempfile

import random_modules
from random_modules import Module, Runner, Step, Value, product

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# Of floats: exponent and mantissa bits, and which codes are no numbers: "ieee" infinity and NaN, "fn" the
# last code of each sign, "fnuz" the code of -0, "" none.
FLOATS = {"f4E2M1FN": (2, 1, ""), "f6E2M3FN": (2, 3, ""), "f6E3M2FN": (3, 2, ""), "f8E3M4": (3, 4, "ieee"),
          "f8E4M3": (4, 3, "ieee"), "f8E4M3FN": (4, 3, "fn"), "f8E4M3B11FNUZ": (4, 3, "fnuz"),
          "f8E4M3FNUZ": (4, 3, "fnuz"), "f8E5M2": (5, 2, "ieee"), "f8E5M2FNUZ": (5, 2, "fnuz"),
          "f8E8M0FNU": (8, 0, "fn"), "f16": (5, 10, "ieee"), "bf16": (8, 7, "ieee"), "f32": (8, 23, "ieee"),
          "f64": (11, 52, "ieee")}
INTEGERS = {f"{sign}{bits}": bits for bits in (2, 4, 8, 16, 32, 64) for sign in ("i", "ui")}
COMPLEX = {"complex<f32>": "f32", "complex<f64>": "f64"}
DTYPES = ["i1", *INTEGERS, *FLOATS, *COMPLEX]
DIRECTIONS = ["EQ", "NE", "LT", "LE", "GT", "GE"]
QUESTIONS = {"is_finite", "is_inf", "is_neg_inf", "is_pos_inf"}
OTHERS = {"stablehlo.convert", "stablehlo.complex", "stablehlo.uniform_quantize", "stablehlo.uniform_dequantize"}
PARTS = {"abs", "real", "imag"}  # of complex numbers: real


def size_of(dtype):
    """Bytes of an element in a file."""
    if dtype in COMPLEX:
        return 2 * size_of(COMPLEX[dtype])
    if dtype in FLOATS:
        return max(1, (1 + sum(FLOATS[dtype][:2])) // 8)
    return max(1, INTEGERS.get(dtype, 1) // 8)


def bits_of(dtype):
    if dtype in COMPLEX:
        return 8 * size_of(dtype)
    if dtype in FLOATS:
        exponent, mantissa, _ = FLOATS[dtype]
        return exponent + mantissa + (dtype != "f8E8M0FNU")
    return INTEGERS.get(dtype, 1)


def is_nan(dtype, code):
    exponent, mantissa, kind = FLOATS[dtype]
    sign = 1 << (exponent + mantissa)
    last = sign - 1
    if dtype == "f8E8M0FNU":
        return code == 255
    if kind == "ieee":
        return code & last > last >> mantissa << mantissa
    return code & last == last if kind == "fn" else kind == "fnuz" and code == sign


# ---- tables of operations -----------------------------------------------------------------------------

def elementwise_ops():
    """Name and number of operands."""
    text = (ROOT / "src/ir/ops.def").read_text(encoding="utf-8")
    found = {}
    for name, traits, rest in re.findall(r'^HLO_OP\(\w+, "([\w.]+)", "[^"]*", \w+, ([\w |]+), [\w |]+, \w+, (.*)$', text, re.M):
        operands = re.match(r"((?:ONE\(\w+\) ?)+), ONE\(\w+\),", rest)
        if "ELEMENTWISE" in traits and operands and "REQ(" not in rest and name not in OTHERS:
            found[name] = operands.group(1).count("ONE(")
    return {name: count for name, count in found.items() if count <= 2}


def supported():
    """The element types of each operation's native column."""
    text = (ROOT / "docs/support-matrix.md").read_text(encoding="utf-8")
    classes = {name: [{"pred": "i1", "c64": "complex<f32>", "c128": "complex<f64>"}.get(t, t) for t in types.split()]
               for name, types in re.findall(r"^- (\w+): (.*)$", text, re.M) if name != "quantized"}
    spelled = {name.lower(): name for name in DTYPES}
    for bits in (2, 4, 8, 16, 32, 64):
        spelled.update({f"s{bits}": f"i{bits}", f"u{bits}": f"ui{bits}"})
    table = {}
    for name, types in re.findall(r"^\| `([\w.]+)` \| [^|]* \| ([^|]*) \|", text, re.M):
        words = [t.strip() for t in types.split(",")]
        names = classes if words == ["all"] else words
        listed = [t for word in names for t in classes.get(word, [word])]
        table[name] = {spelled[t.lower()] for t in listed if t.lower() in spelled}
    return table


def function_ulps():
    """The errors that math.def allows, of f32 (and what is made of it) and f64; 0 for the others."""
    text = (ROOT / "src/codegen/math/math.def").read_text(encoding="utf-8")
    rows = re.findall(r"^HLO_VMATH\((\w+), \d, \w+, ([\d.]+), ([\d.]+)\)", text, re.M)
    return {name.removeprefix("chlo_"): (float(narrow), float(wide)) for name, narrow, wide in rows}


def complex_ulps():
    """The same that complex_functions.def allows, of the larger part of a number."""
    text = (ROOT / "src/passes/complex_functions.def").read_text(encoding="utf-8")
    rows = re.findall(r"^HLO_COMPLEX_FUNCTION\((\w+), \w+, ([\d.]+), ([\d.]+),", text, re.M)
    table = {name.removeprefix("chlo_"): (float(narrow), float(wide)) for name, narrow, wide in rows}
    return table | {"square": (-1, 2)}  # of c64 exact


def expanded_ulps():
    """The same of functions that become formulas of f64, with the least size of a result that the unit is of, as the
    test of the formulas has them."""
    text = (ROOT / "src/passes/expand_math_test.c").read_text(encoding="utf-8")
    rows = re.findall(r"\{HLO_OP_chlo_(\w+), (\d+), ([\de]+)\}", text)
    return {name: (float(ulps), float(least)) for name, ulps, least in rows}


ULPS, COMPLEX_ULPS, EXPANDED = function_ulps(), complex_ulps(), expanded_ulps()


def places(op, dtype):
    """The allowed distance, in codes, of a result from the reference's, which is rounded itself."""
    if dtype in COMPLEX:
        narrow, wide = COMPLEX_ULPS.get(op.lstrip("_"), (-1, -1))
        return math.ceil((narrow if dtype == "complex<f32>" else wide) + 1)
    narrow, wide = ULPS.get(op, (0, 0))
    if not narrow or dtype not in FLOATS:
        return 0
    return math.ceil(wide + 1.5) if dtype == "f64" else math.ceil(narrow + 0.5) if dtype == "f32" else 1


def ints(values):
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


class Calls:
    """The computation on the arguments %a and %b (and others) of one type and shape."""

    def __init__(self, dtype, shape, support):
        self.dtype, self.shape, self.support = dtype, shape, support
        self.a, self.b, self.c = (Value(n, dtype, shape) for n in ("%a", "%b", "%c"))
        self.p, self.z = Value("%p", "i1", shape), Value("%z", dtype, ())
        self.steps = []

    def add(self, op, operands, dtype, shape=None, attrs="", dialect="stablehlo", label=None, region="", before=""):
        value = Value(f"%r{len(self.steps)}", dtype, self.shape if shape is None else shape)
        value.places = places(op, self.dtype)
        value.is_complex_function = self.dtype in COMPLEX and value.places > 0
        value.label = label or op
        types = ", ".join(v.type for v in operands)
        text = (f'{before}{value.name} = "{dialect}.{op}"({", ".join(v.name for v in operands)})'
                f'{region}{" {" + attrs + "}" if attrs else ""} : ({types}) -> {value.type}')
        self.steps.append(Step(text, [value], operands))

    def elementwise(self):
        for name, count in elementwise_ops().items():
            dialect, op = name.split(".")
            if self.dtype not in self.support.get(name, ()):
                continue
            if self.dtype in COMPLEX and op == "power":
                continue  # its bound depends on the operands: src/passes/complex_functions_test.c knows it
            result = "i1" if op in QUESTIONS else COMPLEX.get(self.dtype, self.dtype) if op in PARTS else self.dtype
            self.add(op, [self.a, self.b][:count], result, dialect=dialect)

    def compared(self):
        kinds = ["FLOAT", "TOTALORDER"] if self.dtype in FLOATS else \
            ["UNSIGNED" if self.dtype == "i1" or self.dtype[0] == "u" else "SIGNED"]
        for kind in kinds if self.dtype not in COMPLEX else ["FLOAT"]:
            for direction in DIRECTIONS[:2] if self.dtype in COMPLEX else DIRECTIONS:
                self.add("compare", [self.a, self.b], "i1", None,
                         f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
                         f"compare_type = #stablehlo<comparison_type {kind}>", label=f"compare {direction} {kind}")

    def narrowed(self):
        for exponent, mantissa in ((5, 2), (8, 7), (5, 10), (2, 1), (11, 52)) if self.dtype in FLOATS else ():
            if self.dtype in self.support["stablehlo.reduce_precision"]:
                self.add("reduce_precision", [self.a], self.dtype, None,
                         f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32",
                         label=f"reduce_precision to e{exponent}m{mantissa}")

    def chosen(self):
        self.add("select", [self.p, self.a, self.b], self.dtype)
        if self.dtype not in COMPLEX and self.dtype in self.support["stablehlo.clamp"]:
            self.add("clamp", [self.a, self.b, self.c], self.dtype)
        for dtype in DTYPES:
            if dtype != self.dtype and not (self.dtype in COMPLEX and dtype not in COMPLEX):
                self.add("convert", [self.a], dtype, label=f"convert to {dtype}")

    def reduced(self):
        """Of every dimension; sums and products of floats are taken in any order, so not those."""
        ops = {"i1": ["and", "or", "maximum", "minimum"]}.get(self.dtype, ["maximum", "minimum"])
        if self.dtype in INTEGERS:
            ops = ["add", "multiply", "and", "or", "xor", *ops]
        for op in ops if self.dtype not in COMPLEX else ():
            if self.dtype not in self.support[f"stablehlo.{op}"]:
                continue
            for dim in range(len(self.shape)):
                self.reduction(op, dim)

    def region(self, op):
        """Of a reduction, whose result is one element."""
        scalar = f"tensor<{self.dtype}>"
        return (f' ({{\n    ^bb0(%l: {scalar}, %u: {scalar}):\n    %q = stablehlo.{op} %l, %u : {scalar}\n'
                f'    "stablehlo.return"(%q) : ({scalar}) -> ()\n  }})')

    def reduction(self, op, dim):
        self.add("reduce", [self.a, self.z], self.dtype, self.shape[:dim] + self.shape[dim + 1:],
                 f"dimensions = {ints([dim])}", label=f"reduce {op} of dimension {dim}", region=self.region(op))

    def cast(self):
        """The bits as those of another type, of as many bits or of fewer; a complex number of its parts."""
        if self.dtype in ("f32", "f64"):
            self.add("complex", [self.a, self.b], f"complex<{self.dtype}>")
        names = self.support["stablehlo.bitcast_convert"]
        bits = bits_of(self.dtype)
        for dtype in DTYPES if self.dtype in names and self.dtype != "i1" and self.dtype not in COMPLEX else ():
            ratio, rest = divmod(bits, bits_of(dtype))
            if dtype in names and dtype != "i1" and dtype not in COMPLEX and ratio and not rest:
                self.add("bitcast_convert", [self.a], dtype, self.shape + (ratio,) * (ratio > 1),
                         label=f"bitcast_convert to {dtype}")

    def moved(self):
        rank, shape = len(self.shape), self.shape
        a, b, z = self.a, self.b, self.z
        ones, dims = [1] * rank, list(range(rank))
        self.add("broadcast_in_dim", [a], self.dtype, (2, *shape, 3), f"broadcast_dimensions = {ints([d + 1 for d in dims])}")
        self.add("reshape", [a], self.dtype, (product(shape),))
        if not rank:
            return
        self.add("reverse", [a], self.dtype, attrs=f"dimensions = {ints(dims)}")
        self.add("transpose", [a], self.dtype, shape[::-1], f"permutation = {ints(dims[::-1])}")
        starts = [min(1, n) for n in shape]
        self.add("slice", [a], self.dtype, [(n - s + 1) // 2 for n, s in zip(shape, starts)],
                 f"start_indices = {ints(starts)}, limit_indices = {ints(shape)}, strides = {ints([2] * rank)}")
        self.add("pad", [a, z], self.dtype, [n + max(n - 1, 0) for n in shape], f"edge_padding_low = {ints(ones)}, "
                 f"edge_padding_high = {ints([-1] * rank)}, interior_padding = {ints(ones)}")
        self.add("concatenate", [a, b, a], self.dtype, [*shape[:-1], 3 * shape[-1]], f"dimension = {rank - 1} : i64")
        places = [5, -9, 0, 2, 1, 0, 300, 7, 1, 15, 3, 31, 4, 16, 6, 63, 12, 64, 8]
        if shape[0]:  # rows, or elements of a table
            index = Value(f"%i{len(self.steps)}", "i32", (len(places), 1))
            self.add("gather", [a, index], self.dtype, [len(places), *shape[1:]],
                     f"dimension_numbers = #stablehlo.gather<offset_dims = {dims[1:]}, collapsed_slice_dims = [0], "
                     f"start_index_map = [0], index_vector_dim = 1>, slice_sizes = {ints([1, *shape[1:]])}",
                     before=f"{index.name} = stablehlo.constant dense<{[[p] for p in places]}> : {index.type}\n  ")

    def ordered(self):
        """Sorted by their codes; the largest of a window."""
        if self.dtype in COMPLEX or not self.shape:
            return
        rank, scalar = len(self.shape), f"tensor<{self.dtype}>"
        kind = "TOTALORDER" if self.dtype in FLOATS else "UNSIGNED" if self.dtype == "i1" or self.dtype[0] == "u" \
            else "SIGNED"
        region = (f" ({{\n    ^bb0(%l: {scalar}, %u: {scalar}):\n    %q = stablehlo.compare LT, %l, %u, {kind} : "
                  f'({scalar}, {scalar}) -> tensor<i1>\n    "stablehlo.return"(%q) : (tensor<i1>) -> ()\n  }})')
        if self.dtype in self.support["stablehlo.sort"]:
            self.add("sort", [self.a], self.dtype, attrs=f"dimension = {rank - 1} : i64, is_stable = true",
                     region=region)
        if self.dtype in self.support["stablehlo.reduce_window"] and self.dtype in self.support["stablehlo.maximum"]:
            around = ", ".join(["[1, 1]"] * rank)
            self.add("reduce_window", [self.a, self.z], self.dtype, attrs=f"window_dimensions = {ints([3] * rank)}, "
                     f"padding = dense<[{around}]> : tensor<{rank}x2xi64>", region=self.region("maximum"))

    def all(self):
        for part in (self.elementwise, self.compared, self.narrowed, self.chosen, self.reduced, self.cast, self.moved,
                     self.ordered):
            part()
        return self.steps


# ---- arguments ----------------------------------------------------------------------------------------

def float_codes(dtype):
    """Around each kind of number, both signs; all codes of small types."""
    exponent, mantissa, _ = FLOATS[dtype]
    if bits_of(dtype) <= 8:
        return list(range(1 << bits_of(dtype)))
    one, top = ((1 << (exponent - 1)) - 1) << mantissa, ((1 << exponent) - 1) << mantissa
    unit = 1 << mantissa
    halves = [one - unit, one, one + unit // 2, one + unit, one + unit + unit // 4, one + unit + unit // 2,
              one + 2 * unit + unit // 8]  # 0.5 1 1.5 2 2.5 3 4.5
    codes = [0, 1, 2, unit - 1, unit, unit + 1, one - unit - 1, one - 1, one + 1, one + mantissa * unit,
             one + mantissa * unit - 1, one + (mantissa + 1) * unit, top - unit, top - 1, top, top + unit // 2, *halves]
    for bits in (7, 8, 15, 16, 31, 32, 63, 64):  # the ends of integers
        if one + bits * unit < top:
            codes += [one + bits * unit - 1, one + bits * unit]
    sign = 1 << (exponent + mantissa)
    return codes + [sign + code for code in codes]


def codes_of(dtype):
    if dtype in FLOATS:
        return float_codes(dtype)
    bits = bits_of(dtype)
    if bits <= 8:
        return list(range(1 << bits))
    ends = [0, 1, 2, 3, 7, 8, bits - 1, bits, bits + 1, 100, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000]
    ends += [1 << k for k in (23, 24, 31, 32, 51, 52, 53) if k < bits] + [(1 << (bits - 1)) - 1, 1 << (bits - 1)]
    return sorted({code % (1 << bits) for e in ends for code in (e, e - 1, -e)})


def element(dtype, code):
    size = size_of(dtype)
    if dtype in INTEGERS and bits_of(dtype) < 8 and dtype[0] == "i" and code >> (bits_of(dtype) - 1):
        code += 256 - (1 << bits_of(dtype))  # signed ones fill their byte
    return code.to_bytes(size, "little")


def elements(rng, dtype, count):
    """Values that matter, or any."""
    if dtype in COMPLEX:
        return elements(rng, COMPLEX[dtype], 2 * count)
    codes, bits = codes_of(dtype), bits_of(dtype)
    return b"".join(element(dtype, rng.choice(codes) if rng.random() < 0.7 else rng.randrange(1 << bits))
                    for _ in range(count))


def all_pairs(dtype):
    """Elements of %a and %b such that every value meets every other."""
    real = COMPLEX.get(dtype, dtype)
    codes = [element(real, code) for code in codes_of(real)]
    if dtype in COMPLEX:
        values = [x + y for x in codes[::3] for y in codes[1::4]]
        rng = random.Random(1)
        rng.shuffle(values)
        return b"".join(values), b"".join(values[1:] + values[:1])
    return b"".join(x for x in codes for _ in codes), b"".join(codes) * len(codes)


# ---- running ------------------------------------------------------------------------------------------

def npy(value, data):
    """Converts to the form of the tool's files."""
    size = size_of(value.dtype)
    kind = {"i1": "b"}.get(value.dtype, "V" if value.dtype in FLOATS or bits_of(value.dtype) < 8 else value.dtype[0])
    if value.dtype in ("f16", "f32", "f64"):
        kind = "f"
    if value.dtype in COMPLEX:
        kind = "c"
    shape = "".join(f"{d}," for d in value.shape)
    head = (f"{{'descr': '{'|' if size == 1 else '<'}{kind}{size}', 'fortran_order': False, "
            f"'shape': ({shape}), }}")
    head += " " * (-(len(head) + 11) % 16) + "\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(head)) + head.encode() + data


random_modules.npy = npy  # knows more types


def ordered(code, bits):
    """Codes of neighbours are neighbours."""
    sign = 1 << (bits - 1)
    return sign - (code - sign) if code & sign else sign + code


def is_near(value, number, mine, theirs):
    """Both parts of a complex number are, counted in last places of the larger one. Beside what is not finite may be
    NaN, and a number is nothing beside an infinity."""
    dtype = COMPLEX.get(value.dtype, value.dtype)
    parts = 2 if value.dtype in COMPLEX else 1
    form = f"<{parts}{'f' if dtype == 'f32' else 'd'}"
    at = number * size_of(value.dtype)
    m, t = struct.unpack_from(form, mine, at), struct.unpack_from(form, theirs, at)
    last_place = max(math.ulp(x) for x in t if not math.isnan(x)) if not all(map(math.isnan, t)) else 0
    if dtype == "f32":
        last_place = max(last_place * 2.0 ** 29, 2.0 ** -149)
    return all((math.isnan(x) and (math.isnan(y) or not math.isfinite(other))) or x == y
               or abs(x - y) <= value.places * last_place for x, y, other in zip(m, t, t[::-1]))


def is_near_formula(op, mine, theirs):
    """A result of f64 is as near as the bound of its formula says; one unit more for the reference's own rounding."""
    ulps, least = EXPANDED[op]
    m, t = (struct.unpack("<d", struct.pack("<Q", code))[0] for code in (mine, theirs))
    return m == t or abs(m - t) <= (ulps + 1) * math.ulp(max(abs(t), least))


def is_lost(value, dtype, mine, theirs):
    """Returns true if two codes of a function's result differ by flushed intermediate values: no more than
    the least normal number. A remainder, exact otherwise, is then that of a dividend as far away; the larger one of two complex numbers
    is chosen by comparisons, which flush it or not."""
    exponent, mantissa, _ = FLOATS[dtype]
    sign, least = 1 << (exponent + mantissa), 1 << mantissa
    may_be = value.places or value.label == "remainder" or \
        (value.dtype in COMPLEX and value.label in ("maximum", "minimum", "clamp"))
    return may_be and dtype in ("f32", "f64", "bf16") and \
        all(code & ~sign <= 2 * least for code in (mine, theirs))


def fault(value, mine, theirs, flushes=False):
    """A description of the fault in a result, or None."""
    if mine == theirs:
        return None
    dtype = COMPLEX.get(value.dtype, value.dtype)
    size, bits = size_of(dtype), bits_of(dtype)
    if len(mine) != len(theirs):
        return f"{len(mine)} bytes, expected {len(theirs)}"
    for at in range(0, len(mine), size):
        if mine[at:at + size] == theirs[at:at + size]:
            continue
        m, t = (int.from_bytes(data[at:at + size], "little") for data in (mine, theirs))
        if dtype in FLOATS:
            if is_nan(dtype, m) and is_nan(dtype, t):
                continue
            if value.is_complex_function and is_near(value, at // size_of(value.dtype), mine, theirs):
                continue
            if flushes and is_lost(value, dtype, m, t):
                continue
            if value.dtype == "f64" and value.label in EXPANDED and is_near_formula(value.label, m, t):
                continue
            far = abs(ordered(m, bits) - ordered(t, bits)) > value.places
            if not far and not is_nan(dtype, m) and not is_nan(dtype, t):
                continue
        return f"{value.label}: element {at // size_of(value.dtype)} is {m:#x}, expected {t:#x}"
    return None


def shapes_of(dtype):
    lanes = max(1, 64 // size_of(dtype))
    sizes = sorted({1, 2, *(n + d for n in (lanes // 4, lanes // 2, lanes) for d in (-1, 0, 1) if n + d > 0)})
    return [(), (0,), *((n,) for n in sizes), (3, 1, 5), (1, lanes + 1), (lanes + 1, 1), (2, 3, 1), (1, 1, 1),
            (4, 0, 2), (3, lanes - 1 or 1), (2, 3, 7)]


def modules(dtype, support, full, rng):
    """Modules of a few operations each, with the values of their arguments."""
    pairs = all_pairs(dtype)
    count = len(pairs[0]) // size_of(dtype)
    shapes = shapes_of(dtype)
    chosen = [(count,)] + (shapes if full else rng.sample(shapes, 2))
    for shape in chosen:
        calls = Calls(dtype, shape, support)
        steps = calls.all()
        rng.shuffle(steps)
        n = product(shape)
        data = {"%a": pairs[0], "%b": pairs[1]} if shape == (count,) else \
            {name: elements(rng, dtype, n) for name in ("%a", "%b")}
        data["%c"], data["%z"] = elements(rng, dtype, n), elements(rng, dtype, 1)
        data["%p"] = bytes(rng.randrange(2) for _ in range(n))
        args = [(v, data[v.name]) for v in (calls.a, calls.b, calls.c, calls.p, calls.z)]
        step = 4 if full and shape == (count,) else 24
        for i in range(0, len(steps), step):
            module = Module()
            module.args, module.steps = args, steps[i:i + step]
            module.results = [s.results[0] for s in module.steps]
            yield module


def single(module, value):
    """The module with one of its results."""
    made = Module()
    made.args, made.steps, made.results = module.args, module.steps, [value]
    return made


def check(runner, module, backend, expected, keep):
    """The number of operations of the module that differ; prints the first one."""
    found = runner.run(module, backend)
    if isinstance(found, str):
        print(f"{backend}: {found}\n{module.text()[0]}")
        return 1
    wrong = [(v, text) for v, m, t in zip(module.results, found, expected)
             if (text := fault(v, m, t, runner.subnormals == "flush"))]
    for value, text in wrong:
        print(f"{backend} {module.args[0][0].type}, subnormals {runner.subnormals}: {text}")
        if keep:
            folder = pathlib.Path(keep) / re.sub(r"\W", "_", f"{backend} {module.args[0][0].type} {value.label}")
            folder.mkdir(parents=True, exist_ok=True)
            runner.write(single(module, value), folder)
    return len(wrong)


def backends_of(full):
    if not full:
        return ["native"]
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8") if pathlib.Path("/proc/cpuinfo").exists() else ""
    machines = [f"native-{name}" for name, flag in (("sse2", "sse2"), ("avx2", "avx2"), ("avx512", "avx512bw")) if f" {flag} " in flags]
    return (machines or ["native"]) + ["vir"] + ["c"] * bool(shutil.which("cc"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool", type=pathlib.Path)
    parser.add_argument("--full", action="store_true", help="all shapes and back ends")
    parser.add_argument("--only", default="", metavar="REGEX", help="element types that match")
    parser.add_argument("--backends", help="with commas, such as native-avx2,vir,c")
    parser.add_argument("--keep", help="folder for what differs")
    parser.add_argument("--subnormals", default="flush,keep", help="with commas, what becomes of subnormal numbers")
    options = parser.parse_args()
    backends = options.backends.split(",") if options.backends else backends_of(options.full)
    support, runs, faults = supported(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.tool.resolve(), folder)
        for dtype in DTYPES:
            if not re.search(options.only, dtype):
                continue
            rng = random.Random(dtype)
            for module, runner.subnormals in itertools.product(modules(dtype, support, options.full, rng),
                                                               options.subnormals.split(",")):
                expected = runner.run(module, "interp")
                if isinstance(expected, str):
                    print(f"interp: {expected}\n{module.text()[0]}")
                    faults += 1
                    continue
                for backend in backends:
                    if backend in ("c", "vir") and product(module.results[0].shape) > 20_000:
                        continue
                    runs += 1
                    faults += check(runner, module, backend, expected, options.keep)
    print(f"{runs} runs, {faults} faults")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
