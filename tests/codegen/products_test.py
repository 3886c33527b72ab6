#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of many shapes: close to the interpreter's, with the same bits for 1, 2 and 5 threads and
with memory checks.
--narrow: only products of bytes and of 16 bits, and those of convolutions.mlir, with the bits of the interpreted
vector IR.

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

# Dimensions of a and b, the contracted and batch dimensions, the element types, and the epilogue. Each
# covers one way to compute products: B in place, packed whole, per block on the stack, in slices for each chunk,
# of parts of the contraction; A in place, packed, prefetched; lanes along rows or the contraction; sums in
# registers, in the output or in memory between blocks.
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
    ("4033x250", "4033x130", [0], [0], "f32", "f32", "add"),
    ("130x9001", "9001x70", [1], [0], "f32", "f32", ""),
    ("70x20010", "20010x130", [1], [0], "i8", "i32", "add"),
    ("70x9002", "9002x130", [1], [0], "bf16", "f32", ""),
    ("1203x450", "1203x300", [0], [0], "bf16", "f32", ""),
    ("2101x390", "2101x300", [0], [0], "i8", "i32", "add"),
    ("1101x66", "1101x1030", [0], [0], "f64", "f64", ""),
    ("66x131", "131x1100", [1], [0], "f64", "f64", "add"),
    ("70x601", "601x1100", [1], [0], "bf16", "f32", ""),
    ("70x2051", "2051x1030", [1], [0], "bf16", "f32", ""),
    ("70x601", "601x1100", [1], [0], "bf16", "bf16", "add"),
    ("70x1101", "1101x1030", [1], [0], "i8", "i32", ""),
    ("9x2051", "2051x1100", [1], [0], "i8", "i32", "add"),
    ("20x2051", "2051x1100", [1], [0], "i8", "i32", ""),
    ("24x2051", "2051x1100", [1], [0], "bf16", "f32", ""),
    ("70x4301", "4301x1030", [1], [0], "i8", "i32", ""),
    ("70x1101", "1030x1101", [1], [1], "i8", "i32", ""),
    ("70x1101", "1101x1030", [1], [0], "ui8", "i32", ""),
    ("70x270", "270x1100", [1], [0], "f16", "f16", ""),
    ("70x270", "270x1100", [1], [0], "i32", "i32", "add"),
    ("71x1101", "1101x1030", [1], [0], "f8E5M2", "f32", ""),
    ("71x270", "270x1100", [1], [0], "f8E4M3FN", "bf16", "add"),
    ("67x129", "129x200", [1], [0], "f32", "f32", "add"),
    ("1x700", "700x300", [1], [0], "f32", "f32", "add"),
    ("300x700", "700x1", [1], [0], "f32", "f32", ""),
    ("3000x3", "3x3", [1], [0], "f32", "f32", "add"),
    ("3001x3", "3x3", [1], [0], "f32", "f32", "exponential"),
    ("300001x3", "3x3", [1], [0], "f32", "f32", ""),
    ("70001x4", "4x4", [1], [1], "f32", "f32", ""),
    ("300001x6", "6x3", [1], [0], "f32", "f32", ""),
    ("4096x5", "5x2", [1], [0], "f32", "f32", ""),
    ("300001x2", "2x7", [1], [0], "f32", "f32", "exponential"),
    ("70001x4", "4x2", [1], [0], "f64", "f64", "add"),
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
    ("2x33", "2100x33", [1], [1], "f32", "f32", ""),
    ("9x4x70", "9x310x70", [2], [2], "f32", "f32", "add"),
    ("1100x131", "131x7", [1], [0], "f32", "f32", ""),
    ("5x41", "1100x41", [1], [1], "f64", "f64", "add"),
    ("4x129", "1100x129", [1], [1], "bf16", "f32", ""),
    ("3x131", "1100x131", [1], [1], "i8", "i32", ""),
    ("12x270", "1100x270", [1], [1], "i8", "i32", "add"),
    ("1100x270", "270x12", [1], [0], "i8", "i32", "add"),
    ("1100x270", "270x5", [1], [0], "i8", "i32", ""),
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
    ("33x70", "70x40", [1], [0], "f8E4M3FN", "f32", ""),
    ("40x70", "33x70", [1], [1], "f8E5M2,f8E4M3FN", "bf16", "add"),
    ("70x40", "70x33", [0], [0], "f8E4M3B11FNUZ", "f32", ""),
    ("3x40x64", "3x64x50", [2], [1], "f4E2M1FN,bf16", "f32", "add"),
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


# Prologues: lhs, rhs, contracted dimensions, the multiplied type, the result type, and the prologue of each operand
# ("": a plain argument) that the product computes while it packs or reads the operand.
MADE = [
    ("1x700", "700x300", [1], [0], "f32", "f32", "", "dequantize"),
    ("1x701", "301x701", [1], [1], "f32", "f32", "", "dequantize"),
    ("3x700", "700x300", [1], [0], "f32", "f32", "", "dequantize"),
    ("3x1201", "301x1201", [1], [1], "f32", "f32", "", "dequantize"),
    ("14x1201", "301x1201", [1], [1], "f32", "f32", "", "dequantize"),
    ("61x130", "130x301", [1], [0], "f32", "f32", "", "dequantize"),
    ("61x131", "301x131", [1], [1], "f32", "f32", "", "dequantize"),
    ("130x701", "701x1100", [1], [0], "f32", "f32", "", "dequantize"),
    ("130x2051", "2051x1030", [1], [0], "f32", "f32", "", "dequantize"),
    ("130x2051", "1030x2051", [1], [1], "f32", "f32", "", "dequantize"),
    ("1x700", "700x300", [1], [0], "bf16", "f32", "", "dequantize"),
    ("40x701", "701x300", [1], [0], "bf16", "f32", "", "dequantize"),
    ("40x701", "300x701", [1], [1], "bf16", "bf16", "", "dequantize"),
    ("701x40", "701x300", [0], [0], "bf16", "f32", "dequantize", "dequantize"),
    ("66x701", "701x300", [1], [0], "bf16", "f32", "round", "round"),
    ("66x701", "300x701", [1], [1], "bf16", "f32", "round", "round"),
    ("24x3001", "3001x1100", [1], [0], "bf16", "f32", "", "dequantize"),
    ("70x401", "401x300", [1], [0], "i8", "i32", "clamp", "clamp"),
    ("70x401", "300x401", [1], [1], "i8", "i32", "", "clamp"),
    ("401x70", "401x300", [0], [0], "i8", "i32", "clamp", ""),
    ("70x401", "401x300", [1], [0], "f32", "f32", "dequantize", "dequantize"),
    ("401x70", "401x300", [0], [0], "f32", "f32", "dequantize", ""),
    ("401x700", "401x1300", [0], [0], "f32", "f32", "dequantize", "dequantize"),
    ("300x700", "700x1", [1], [0], "f32", "f32", "dequantize", ""),
    ("700x5", "700x900", [0], [0], "f64", "f64", "dequantize", "dequantize"),
    ("70x401", "401x300", [1], [0], "f32", "f32", "transpose", "transpose"),
    ("70x401", "401x300", [1], [0], "f32", "f32", "slice", "slice"),
    ("70x401", "300x401", [1], [1], "f32", "f32", "dynamic", "dynamic"),
    ("1x401", "401x300", [1], [0], "f32", "f32", "", "dynamic"),
    ("70x401", "401x300", [1], [0], "bf16", "f32", "transpose", "dynamic"),
    ("2x60x401", "2x401x300", [2], [1], "f32", "f32", "", "dequantize"),
    ("2x60x401", "2x300x401", [2], [2], "f32", "f32", "transpose", "dequantize"),
    ("3x1x401", "3x300x401", [2], [2], "f32", "f32", "dynamic", "dequantize"),
    ("70x401", "401x300", [1], [0], "f16", "f16", "broadcast", ""),
    ("4x401", "301x401", [1], [1], "f32", "f32", "broadcast", ""),
    ("70x401", "301x401", [1], [1], "bf16", "f32", "", "broadcast"),
    ("70x401", "401x300", [1], [0], "bf16", "f32", "broadcast", ""),
    ("70x401", "401x300", [1], [0], "i8", "i32", "broadcast", ""),
    ("70x401", "301x401", [1], [1], "i8", "i32", "", "broadcast"),
    ("401x70", "401x300", [0], [0], "f32", "f32", "broadcast", ""),
    ("70x401", "401x300", [1], [0], "f32", "f32", "", "broadcast"),
]


def making_of(name, shape, element, how):
    """Arguments and ops that make operand `name`."""
    dims, kind = shape.split("x"), f"tensor<{shape}x{element}>"
    last, rank = dims[-1], len(dims)
    if how == "":
        return [f"%{name}: {kind}"], []
    if how == "transpose":
        order = [*range(rank - 2), rank - 1, rank - 2]
        source = f"tensor<{'x'.join(dims[i] for i in order)}x{element}>"
        return [f"%{name}0: {source}"], [
            f"%{name} = stablehlo.transpose %{name}0, dims = {order} : ({source}) -> {kind}"]
    if how == "broadcast":  # of a vector
        source = f"tensor<{dims[0]}x{element}>"
        return [f"%{name}0: {source}"], [
            f"%{name} = stablehlo.broadcast_in_dim %{name}0, dims = [0] : ({source}) -> {kind}"]
    if how in ("slice", "dynamic"):
        source = f"tensor<{'x'.join(str(int(d) + 5) for d in dims)}x{element}>"
        arguments = [f"%{name}0: {source}"]
        if how == "slice":
            return arguments, [f"%{name} = stablehlo.slice %{name}0 "
                               f"[{', '.join(f'2:{int(d) + 2}' for d in dims)}] : ({source}) -> {kind}"]
        starts = [f"%{name}{i + 1}" for i in range(rank)]
        return arguments + [f"{s}: tensor<i32>" for s in starts], [
            f"%{name} = stablehlo.dynamic_slice %{name}0, {', '.join(starts)}, sizes = [{', '.join(dims)}] : "
            f"({source}, {', '.join(['tensor<i32>'] * rank)}) -> {kind}"]
    if how == "round":
        source = f"tensor<{shape}xf32>"
        return [f"%{name}0: {source}"], [
            f"%{name}1 = stablehlo.negate %{name}0 : {source}",
            f"%{name} = stablehlo.convert %{name}1 : ({source}) -> {kind}"]
    narrow, scale = f"tensor<{shape}xi8>", f"tensor<{last}x{element}>"
    if how == "clamp":
        return [f"%{name}0: {narrow}", f"%{name}1: {scale}"], [
            f"%{name}2 = stablehlo.broadcast_in_dim %{name}1, dims = [{rank - 1}] : ({scale}) -> {narrow}",
            f"%{name} = stablehlo.maximum %{name}0, %{name}2 : {narrow}"]
    return [f"%{name}0: {narrow}", f"%{name}1: {scale}", f"%{name}2: {scale}"], [
        f"%{name}3 = stablehlo.convert %{name}0 : ({narrow}) -> {kind}",
        f"%{name}4 = stablehlo.broadcast_in_dim %{name}1, dims = [{rank - 1}] : ({scale}) -> {kind}",
        f"%{name}5 = stablehlo.broadcast_in_dim %{name}2, dims = [{rank - 1}] : ({scale}) -> {kind}",
        f"%{name}6 = stablehlo.subtract %{name}3, %{name}5 : {kind}",
        f"%{name} = stablehlo.multiply %{name}6, %{name}4 : {kind}"]


def text_of_made(product):
    a, b, a_depth, b_depth, element, result, a_how, b_how = product
    whole = text_of((a, b, a_depth, b_depth, element, result, "")).splitlines()
    arguments, lines = [], []
    for name, shape, how in (("a", a, a_how), ("b", b, b_how)):
        more, ops = making_of(name, shape, element, how)
        arguments += more
        lines += ops
    head = f"func.func @main({', '.join(arguments)}) ->" + whole[0].rpartition("->")[2]
    return "\n".join([head, *lines, *whole[1:]]) + "\n"


# Results with fused movements: lhs, rhs, contracted dimensions, element type, the shape before a
# transpose and its permutation, or "reverse"; and the op before that, if it is not an addition. Loops over
# rows, columns and batches are split; sums are in registers or, between blocks, in memory; rows become columns.
MOVED = [
    ("128x70", "70x128", [1], [0], "f32", "f32", "2x64x4x32", [0, 2, 1, 3]),
    ("128x70", "70x128", [1], [0], "f32", "f32", "128x4x32", [1, 0, 2]),
    ("128x70", "70x128", [1], [0], "f32", "f32", "2x64x128", [1, 0, 2]),
    ("128x70", "128x70", [1], [1], "f32", "f32", "2x64x2x64", [2, 1, 0, 3]),
    ("4x40x33", "4x33x48", [2], [1], "f32", "f32", "4x40x48", [1, 0, 2]),
    ("12x40x24", "12x24x50", [2], [1], "f32", "f32", "3x4x40x50", [0, 2, 1, 3]),
    ("12x40x24", "12x24x50", [2], [1], "f64", "f64", "3x4x40x50", [2, 0, 1, 3]),
    ("1x700", "700x256", [1], [0], "f32", "f32", "1x8x32", [1, 0, 2]),
    ("1x700", "256x700", [1], [1], "f32", "f32", "1x8x32", [1, 0, 2]),
    ("3x40x64", "3x64x50", [2], [1], "bf16", "f32", "3x40x50", [1, 0, 2]),
    ("128x66", "66x128", [1], [0], "i8", "i32", "2x64x4x32", [0, 2, 1, 3]),
    ("24x9003", "9003x64", [1], [0], "f32", "f32", "24x2x32", [1, 0, 2]),
    ("192x2050", "2050x512", [1], [0], "f32", "f32", "3x64x8x64", [0, 2, 1, 3]),
    ("192x1050", "1050x512", [1], [0], "bf16", "bf16", "3x64x8x64", [2, 0, 1, 3]),
    ("70x270", "270x1100", [1], [0], "f32", "f32", "70x1100", "reverse"),
    ("270x192", "270x80", [0], [0], "f32", "f32", "3x64x80", [0, 2, 1], "exponential"),
    ("2x70x64", "2x64x70", [1], [2], "f32", "f32", "2x64x64", [2, 0, 1], "exponential"),
    ("3x2050x33", "3x300x2050", [1], [2], "bf16", "f32", "3x33x300", [2, 0, 1], "exponential"),
]


def text_of_moved(product):
    plain, (shape, order), after = product[:6], product[6:8], (*product[8:], "add")[0]
    result = plain[-1]
    whole = text_of((*plain, after)).splitlines()
    seen, before = f"tensor<{shape}x{result}>", whole[0].rpartition("-> ")[2].removesuffix(" {")
    to, how = seen, "stablehlo.reverse %2, dims = [0] : " + seen
    if order != "reverse":
        to = f"tensor<{'x'.join(shape.split('x')[i] for i in order)}x{result}>"
        how = f"stablehlo.transpose %2, dims = {order} : ({seen}) -> {to}"
    head = whole[0].rpartition("-> ")[0] + f"-> {to} {{"
    return "\n".join([head, *whole[1:-2], f"  %2 = stablehlo.reshape %1 : ({before}) -> {seen}",
                      f"  %3 = {how}", f"  return %3 : {to}", "}"]) + "\n"


def steps_of(tool, path):
    done = subprocess.run([tool, "compile", "--emit=plan", path], capture_output=True, text=True, check=True)
    return done.stdout.count("\n  fusion ")


def run(tool, backend, threads, path, check=0):
    env = dict(os.environ, HLOCC_BACKEND=backend, HLOCC_NUM_THREADS=str(threads), HLOCC_CHECK=str(check))
    done = subprocess.run([tool, "run", "--random", "--print", path], env=env, timeout=900,
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


def tiles_of(tool):
    """The executor of tile instructions: this processor, the emulator in the tool, or none."""
    info = subprocess.run([tool, "info"], capture_output=True, text=True, check=True).stdout
    if "amx_tile" not in info:
        return "none"
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    has_them = cpuinfo.exists() and "amx_tile" in cpuinfo.read_text(encoding="utf-8")
    return "of this processor" if has_them else "emulated"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--narrow", action="store_true")
    options, bad = parser.parse_args(), 0
    made = [(product, text_of_made(product)) for product in MADE]
    made += [(product, text_of_moved(product)) for product in MOVED]
    cases = [(product, text_of(product)) for product in NARROW] + narrow_convolutions()
    cases += [case for case in made if case[0][4] in ("bf16", "i8")]
    if not options.narrow:
        cases = [(product, text_of(product)) for product in PRODUCTS] + made
    with tempfile.TemporaryDirectory() as folder:
        for name, text in cases:
            path = pathlib.Path(folder) / "product.mlir"
            path.write_text(text, encoding="utf-8")
            faults = faults_of(options.tool, path, options.narrow or name in MADE + MOVED)
            faults += ["not one kernel"] if name in MOVED and steps_of(options.tool, path) != 1 else []
            bad += len(faults)
            for fault in faults:
                print(f"{name}: {fault}")
    print(f"{len(cases)} products, {bad} faults; tile registers: {tiles_of(options.tool)}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
