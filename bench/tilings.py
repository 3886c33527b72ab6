#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well the model of matrix products ranks their tiles: `hlocc-dev tune --tiles` over products of many shapes. What the
compiler's choice, and the best of the model's first eight tiles, take more than the best of all.

  bench/tilings.py build/bin/hlocc [--only REGEX] [--cpu @machine.txt]
"""
import argparse
import pathlib
import re
import subprocess
import tempfile

# Rows, columns, length of the contraction; whether a and b are transposed; elements.
SHAPES = """256x256x256 nn f32, 512x512x512 nn f32, 1024x1024x1024 nn f32, 96x400x5000 nn f32, 96x400x5000 tn f32,
90x900x2000 tn f32, 64x1000x512 nn f32, 17x300x700 nn f32, 5x1024x1024 nn f32, 128x3072x768 nn f32, 768x768x128 nn f32,
1000x10x784 nn f32, 33x33x33 nn f32, 300x300x300 nn f32, 100x100x2000 nn f32, 784x128x256 tn f32, 1024x1024x64 tn f32,
128x768x768 nt f32, 512x512x64 nt f32, 31x127x999 nt f32, 2000x64x64 nn f32, 50x50x4096 tn f32, 40x2048x2048 nn f32,
12x768x3072 nn f32, 8x512x2048 nt f32, 300x40x1000 tn f32, 200x200x200 nn f64, 96x400x1000 tn f64,
256x1024x1024 nn bf16, 24x3000x100 nn f32, 64x64x10000 tn f32, 700x130x90 nn f32"""


def text_of(shape):
    sizes, form, element = shape.split()
    rows, columns, depth = sizes.split("x")
    result = f"tensor<{rows}x{columns}x{'f32' if element == 'bf16' else element}>"
    a = f"tensor<{rows}x{depth}x{element}>" if form[0] == "n" else f"tensor<{depth}x{rows}x{element}>"
    b = f"tensor<{depth}x{columns}x{element}>" if form[1] == "n" else f"tensor<{columns}x{depth}x{element}>"
    return (f"func.func @main(%a: {a}, %b: {b}) -> {result} {{\n  %0 = stablehlo.dot_general %a, %b, contracting_dims = "
            f"[{int(form[0] == 'n')}] x [{int(form[1] == 't')}] : ({a}, {b}) -> {result}\n  return %0 : {result}\n}}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--cpu", default="", metavar="LEVEL")
    options, taken, first = parser.parse_args(), [], []
    print(f"{'product':24}{'best':>22}{'choice':>10}{'of eight':>10}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "product.mlir"
        for shape in re.split(r",\s+", SHAPES):
            if not re.search(options.only, shape):
                continue
            path.write_text(text_of(shape), encoding="utf-8")
            done = subprocess.run([options.tool, "tune", f"--tiles={path}", f"--cpu={options.cpu}"],
                                  capture_output=True, text=True, check=True).stdout
            times = {tile: float(us) for tile, us in re.findall(r": (\d+ rows of \d+) vectors.* took ([\d.]+) us", done)}
            losses = re.search(r"taken: ([\d.]+) %.*: ([\d.]+) %", done)
            taken.append(float(losses[1]))
            first.append(float(losses[2]))
            best = min(times, key=times.get)
            print(f"{shape:24}{best + f' {times[best]:.1f} us':>22}{taken[-1]:>8} %{first[-1]:>8} %", flush=True)
    for name, losses in (("choice", taken), ("of eight", first)):
        print(f"{name}: {sum(losses) / len(losses):.1f} % more than the best, at most {max(losses)} %")


if __name__ == "__main__":
    main()
