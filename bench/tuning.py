#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tuning gains: 40 products and fusions of odd sizes, each compiled by the models alone and with the choices that `hlocc
tune` keeps, timed in turns on one thread. A second process that compiles with tune=expect must time nothing.

  bench/tuning.py build/bin/hlocc [--only REGEX] [--part I/N] [--rounds N] [--dir DIR]

Prints a line for each program: the time by the models, the tuned time, their ratio, the tuned choices. Where these are all
`default`, the code is the same and the ratio is noise. Exit status 1 if another one is slower by more than 3 %, or if the second
process timed a kernel.
"""
import argparse
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PRODUCTS = """17x300x700 nn, 33x129x1000 nn, 100x100x2000 nn, 90x900x2000 tn, 96x400x5000 nn, 31x127x999 nt, 700x130x90 nn,
1000x10x784 nn, 300x300x300 nn, 50x50x4096 tn, 40x2048x1100 nn, 12x768x3072 nn, 8x512x2048 nt, 300x40x1000 tn, 5x1024x1024 nn,
257x255x513 nn, 64x1000x511 nn, 123x456x789 nn, 784x127x255 tn, 63x2000x65 nn"""
EPILOGUES = "37x500x175, 200x300x77, 130x1000x260, 55x55x1500, 400x90x300, 19x700x1300"
PROLOGUES = "50x400x333, 111x222x444, 30x900x600, 250x64x1000"
BATCHES = "7x65x66x67, 12x128x64x128, 33x40x70x48"
CONVOLUTIONS = "1x28x32x64x3, 2x19x24x40x3, 1x55x16x24x5"
ROWS = "301x1000, 2000x129, 77x5000, 4096x40"


def dot(a, b, contract, result, batch=""):
    return (f"stablehlo.dot_general %a, %b, {batch}contracting_dims = [{contract[0]}] x [{contract[1]}] : "
            f"(tensor<{a}xf32>, tensor<{b}xf32>) -> tensor<{result}xf32>")


def function(arguments, result, lines):
    types = ", ".join(f"%{name}: tensor<{shape}xf32>" for name, shape in arguments)
    body = "".join(f"  {line}\n" for line in lines)
    return f"func.func @main({types}) -> tensor<{result}xf32> {{\n{body}}}\n"


def product(sizes):
    (rows, columns, depth), form = sizes.split()[0].split("x"), sizes.split()[1]
    a = f"{rows}x{depth}" if form[0] == "n" else f"{depth}x{rows}"
    b = f"{depth}x{columns}" if form[1] == "n" else f"{columns}x{depth}"
    result = f"{rows}x{columns}"
    return function([("a", a), ("b", b)], result,
                    [f"%0 = {dot(a, b, (int(form[0] == 'n'), int(form[1] == 't')), result)}", f"return %0 : tensor<{result}xf32>"])


def epilogue(sizes):
    rows, columns, depth = sizes.split("x")
    result, line = f"{rows}x{columns}", f"tensor<{rows}x{columns}xf32>"
    return function([("a", f"{rows}x{depth}"), ("b", f"{depth}x{columns}"), ("c", columns)], result, [
        f"%0 = {dot(f'{rows}x{depth}', f'{depth}x{columns}', (1, 0), result)}",
        f"%1 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<{columns}xf32>) -> {line}",
        f"%2 = stablehlo.add %0, %1 : {line}", f"%3 = stablehlo.tanh %2 : {line}", f"return %3 : {line}"])


def prologue(sizes):
    rows, columns, depth = sizes.split("x")
    result, line = f"{rows}x{columns}", f"tensor<{columns}x{depth}xf32>"
    return function([("a", f"{rows}x{depth}"), ("x", f"{columns}x{depth}")], result, [
        f"%b = stablehlo.multiply %x, %x : {line}", f"%0 = {dot(f'{rows}x{depth}', f'{columns}x{depth}', (1, 1), result)}",
        f"return %0 : tensor<{result}xf32>"])


def batch(sizes):
    count, rows, columns, depth = sizes.split("x")
    a, b, result = f"{count}x{rows}x{depth}", f"{count}x{depth}x{columns}", f"{count}x{rows}x{columns}"
    return function([("a", a), ("b", b)], result,
                    [f"%0 = {dot(a, b, (2, 1), result, 'batching_dims = [0] x [0], ')}", f"return %0 : tensor<{result}xf32>"])


def convolution(sizes):
    images, side, features, outputs, window = map(int, sizes.split("x"))
    a, b = f"{images}x{side}x{side}x{features}", f"{window}x{window}x{features}x{outputs}"
    result = f"{images}x{side - window + 1}x{side - window + 1}x{outputs}"
    return function([("a", a), ("b", b)], result, [
        f"%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {{}} "
        f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : (tensor<{a}xf32>, tensor<{b}xf32>) -> tensor<{result}xf32>",
        f"return %0 : tensor<{result}xf32>"])


def softmax(sizes):
    rows, columns = sizes.split("x")
    line, short = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}xf32>"
    return function([("a", f"{rows}x{columns}")], f"{rows}x{columns}", [
        "%z = stablehlo.constant dense<0.0> : tensor<f32>", f"%e = stablehlo.exponential %a : {line}",
        f"%r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : ({line}, tensor<f32>) -> {short}",
        f"%b = stablehlo.broadcast_in_dim %r, dims = [0] : ({short}) -> {line}", f"%q = stablehlo.divide %e, %b : {line}",
        f"return %q : {line}"])


def programs():
    for kind, make, names in (("product", product, PRODUCTS), ("epilogue", epilogue, EPILOGUES), ("prologue", prologue, PROLOGUES),
                              ("batch", batch, BATCHES), ("convolution", convolution, CONVOLUTIONS), ("softmax", softmax, ROWS)):
        for sizes in re.split(r",\s+", names):
            yield f"{kind} {sizes}", make(sizes)


class Tool:
    def __init__(self, path, folder):
        self.path, self.environment = path, {**os.environ, "HLOCC_TUNE_DIR": str(folder), "HLOCC_NUM_THREADS": "1"}

    def call(self, *arguments, mode="off", log="warn"):
        environment = {**self.environment, "HLOCC_TUNE": mode, "HLOCC_LOG": log}
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, check=True, env=environment)
        return done.stdout, done.stderr

    def time(self, path, mode):
        """The shortest of 30 runs, in microseconds."""
        out, _ = self.call("run", "--random", "--bench=30", str(path), mode=mode)
        value, unit = re.search(r"least ([\d.]+) (ns|us|ms)", out).groups()
        return float(value) * {"ns": 1e-3, "us": 1, "ms": 1e3}[unit]


def measure(tool, path, rounds):
    """Times both in turns. Returns the shortest times, the tuned choices, and what the second process timed."""
    tool.call("tune", str(path))
    table, _ = tool.call("tune", "--read-only", str(path))
    choices = [line.strip() for line in re.findall(r"in the store\n(.*)\n", table)]
    _, log = tool.call("compile", str(path), mode="expect", log="info")
    timed = int(re.search(r"(\d+) candidates timed", log)[1])
    times = {"off": math.inf, "cache": math.inf}
    for number in range(rounds):
        for mode in ("off", "cache") if number % 2 else ("cache", "off"):
            times[mode] = min(times[mode], tool.time(path, mode))
    return times["off"], times["cache"], choices, timed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--part", default="1/1", metavar="I/N")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--dir", default="", metavar="DIR", help="of the tuned choices (default: a new one)")
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    chosen = [(name, text) for name, text in programs() if re.search(options.only, name)][part - 1::parts]
    ratios, tuned, timed_again = [], [1.0], 0
    print(f"{'program':26}{'models':>12}{'tuned':>12}{'ratio':>8}  choices")
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(options.tool, options.dir or pathlib.Path(folder) / "tuned")
        path = pathlib.Path(folder) / "program.mlir"
        for name, text in chosen:
            path.write_text(text, encoding="utf-8")
            before, after, choices, timed = measure(tool, path, options.rounds)
            ratios.append(before / after)
            timed_again += timed
            if set(choices) != {"default"}:
                tuned.append(ratios[-1])
            print(f"{name:26}{before:>9.1f} us{after:>9.1f} us{ratios[-1]:>8.3f}  {'; '.join(choices)}", flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"{len(ratios)} programs: geometric mean {mean:.3f}, least {min(ratios):.3f}; "
          f"candidates timed by the second process: {timed_again}")
    sys.exit(min(tuned) < 0.97 or timed_again > 0)


if __name__ == "__main__":
    main()
