#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of many shapes: close to the interpreter's, and the same bits with 1, 2 and 5 threads.
--narrow: only those of bytes and of 16 bits, and convolutions.mlir's, in machine code with and without its
memory checked, and the same bits as the vector IR interpreted.

  products_test.py TOOL [--narrow]
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import backends_test

# Dimensions of a and b, which of them are contracted and of the batch, the elements' types, and what
# follows. Each is there for one way of computing products: B in place, packed whole, block by block
# on the stack, in slices for each chunk; A in place, packed, fetched ahead; lanes along rows or the
# contraction; sums in registers, in the output or in memory between blocks.
PRODUCTS = [
    ("70x270", "270x1100", [1], [0], "f32", "f32", "add"),
    ("70x270", "270x1100", [1], [0], "f32", "f32", ""),
    ("71x1101", "1101x1030", [1], [0], "f32", "f32", ""),
    ("71x1101", "1101x1030", [1], [0], "f32", "f32", "exponential"),
    ("270x70", "270x1100", [0], [0], "f32", "f32", ""),
    ("70x270", "1100x270", [1], [1], "f32", "f32", ""),
    ("71x1101", "1030x1101", [1], [1], "f32", "f32", ""),
    ("200x2050", "2050x520", [1], [0], "f32", "f32", ""),
    ("200x2050", "520x2050", [1], [1], "f32", "f32", "add"),
    ("2111x75", "2111x350", [0], [0], "f32", "f32", ""),
    ("2x2110x64", "2x2110x350", [1], [1], "f32", "f32", "add"),
    ("2103x43", "2103x150", [0], [0], "f64", "f64", ""),
    ("2103x75", "2103x270", [0], [0], "f16", "f16", ""),
    ("1101x66", "1101x1030", [0], [0], "f64", "f64", ""),
    ("66x131", "131x1100", [1], [0], "f64", "f64", "add"),
    ("70x601", "601x1100", [1], [0], "bf16", "f32", ""),
    ("70x2051", "2051x1030", [1], [0], "bf16", "f32", ""),
    ("70x601", "601x1100", [1], [0], "bf16", "bf16", "add"),
    ("70x1101", "1101x1030", [1], [0], "i8", "i32", ""),
    ("70x4301", "4301x1030", [1], [0], "i8", "i32", ""),
    ("70x1101", "1030x1101", [1], [1], "i8", "i32", ""),
    ("70x1101", "1101x1030", [1], [0], "ui8", "i32", ""),
    ("70x270", "270x1100", [1], [0], "f16", "f16", ""),
    ("70x270", "270x1100", [1], [0], "i32", "i32", "add"),
    ("67x129", "129x200", [1], [0], "f32", "f32", "add"),
    ("1x700", "700x300", [1], [0], "f32", "f32", "add"),
    ("300x700", "700x1", [1], [0], "f32", "f32", ""),
    ("3000x3", "3x3", [1], [0], "f32", "f32", "add"),
    ("3001x3", "3x3", [1], [0], "f32", "f32", "exponential"),
    ("300001x3", "3x3", [1], [0], "f32", "f32", ""),
    ("70001x4", "4x4", [1], [1], "f32", "f32", ""),
    ("70003x8", "8x8", [1], [0], "f32", "f32", ""),
    ("7000x8", "8x2", [1], [0], "f64", "f64", "add"),
    ("7001x3", "5x3", [1], [1], "f64", "f64", ""),
    ("301x7", "7x7", [1], [0], "f16", "f16", ""),
    ("8x20003", "20003x24", [1], [0], "f32", "f32", "add"),
    ("20005x13", "20005x41", [0], [0], "f32", "f32", ""),
    ("9005x40", "9005x33", [0], [0], "f64", "f64", "exponential"),
    ("30x9003", "9003x20", [1], [0], "i8", "i32", ""),
    ("30x9003", "9003x20", [1], [0], "bf16", "f32", ""),
    ("2x6x9003", "2x9003x20", [2], [1], "f32", "f32", "add"),
    ("8x5000", "5000x24", [1], [0], "f32", "f32", ""),
    ("5000x8", "5000x9", [0], [0], "f32", "f32", ""),
    ("20000x4", "20000x3", [0], [0], "f64", "f64", ""),
    ("37x5x6", "37x6x7", [2], [1], "f32", "f32", "add"),
]


# Whole steps of tile registers, and less; one tile, two and three; each signedness; B and A across.
NARROW = [
    ("64x256", "256x96", [1], [0], "i8", "i32", ""),
    ("33x100", "100x17", [1], [0], "i8", "i32", "add"),
    ("17x70", "70x40", [1], [0], "i8,ui8", "i32", ""),
    ("32x64", "64x16", [1], [0], "ui8,i8", "i32", ""),
    ("70x33", "70x65", [0], [0], "ui8", "i32", ""),
    ("20x300", "90x300", [1], [1], "i8", "i16", ""),
    ("24x1030", "1030x24", [1], [0], "i8", "i64", ""),
    ("64x128", "128x64", [1], [0], "bf16", "f32", "add"),
    ("17x70", "70x40", [1], [0], "bf16", "bf16", "exponential"),
    ("40x70", "33x70", [1], [1], "bf16", "f32", ""),
    ("70x40", "70x33", [0], [0], "bf16", "f32", ""),
    ("3x40x64", "3x64x50", [2], [1], "bf16", "f32", "add"),
    ("30x9003", "9003x20", [1], [0], "bf16", "f32", "add"),
    ("64x128", "128x64", [1], [0], "f16", "f32", ""),
    ("47x33", "33x31", [1], [0], "f16", "f16", "add"),
    ("2x33x70", "2x70x40", [2], [1], "f16", "f16", ""),
    ("5x33x70", "5x70x40", [0, 2], [0, 1], "bf16", "f32", ""),
    ("3x40x128", "128x40x3", [0, 2], [2, 0], "i8", "i32", "add"),
]


def text_of(product):
    a, b, a_depth, b_depth, elements, result, after = product
    a_element, b_element = (elements + "," + elements).split(",")[:2]
    a_dims, b_dims = a.split("x"), b.split("x")
    batch = [0] if len(a_dims) - len(a_depth) == 2 else []
    dims = [a_dims[i] for i in batch]
    for shape, depth in ((a_dims, a_depth), (b_dims, b_depth)):
        dims += [d for i, d in enumerate(shape) if i not in depth and i not in batch]
    out = f"tensor<{'x'.join(dims)}x{result}>"
    batching = "batching_dims = [0] x [0], " if batch else ""
    lines = [f"func.func @main(%a: tensor<{a}x{a_element}>, %b: tensor<{b}x{b_element}>, %c: {out}) -> {out} {{",
             f"  %0 = stablehlo.dot_general %a, %b, {batching}contracting_dims = {a_depth} x {b_depth} : "
             f"(tensor<{a}x{a_element}>, tensor<{b}x{b_element}>) -> {out}"]
    if after == "add":
        lines.append(f"  %1 = stablehlo.add %0, %c : {out}")
    elif after:
        lines.append(f"  %n = stablehlo.logistic %0 : {out}\n  %1 = stablehlo.{after} %n : {out}")
    lines.append(f"  return %{1 if after else 0} : {out}\n}}\n")
    return "\n".join(lines)


def run(tool, backend, threads, path, check=0):
    env = dict(os.environ, HLOCC_BACKEND=backend, HLOCC_NUM_THREADS=str(threads), HLOCC_CHECK=str(check))
    done = subprocess.run([tool, "run", "--random", "--print", path], env=env, timeout=120,
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def faults_of(tool, path, is_narrow):
    expected, one = run(tool, "interp", 2, path), run(tool, "native", 1, path)
    faults = [expected[2] or one[2]] if expected[0] or one[0] else []
    faults += filter(None, map(backends_test.line_fault, one[1], expected[1]))
    faults += [f"other bits with {n} threads" for n in (2, 5) if run(tool, "native", n, path) != one]
    if is_narrow:
        faults += ["other bits as vector IR"] if run(tool, "vir", 1, path) != one else []
        faults += ["other bits with checks"] if run(tool, "native", 1, path, 1) != one else []
    return faults


def narrow_convolutions():
    parts = pathlib.Path(__file__).with_name("convolutions.mlir").read_text(encoding="utf-8").split("// -----\n")
    return [(f"convolution {i}", part) for i, part in enumerate(parts) if re.search(r"x(bf16|u?i8)>", part)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--narrow", action="store_true")
    options, bad = parser.parse_args(), 0
    cases = [(product, text_of(product)) for product in NARROW] + narrow_convolutions()
    if not options.narrow:
        cases = [(product, text_of(product)) for product in PRODUCTS]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in cases:
            path = pathlib.Path(folder) / "product.mlir"
            path.write_text(text, encoding="utf-8")
            faults = faults_of(options.tool, path, options.narrow)
            bad += len(faults)
            for fault in faults:
                print(f"{name}: {fault}")
    print(f"{len(cases)} products, {bad} faults")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
