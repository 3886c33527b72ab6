#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Products of integers, which are exact in any order of summation: every tile is visited once, in any
order. Descriptions of machines with small caches split rows into stripes, contractions into blocks and parts,
panels into slices; others select the tile.

  orders_test.py TOOL
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import products_test

SHAPES = [("70x270", "270x290", [1], [0]), ("270x70", "270x290", [0], [0]), ("70x270", "290x270", [1], [1]),
          ("300x40", "40x33", [1], [0]), ("3x64x70", "3x70x40", [2], [1]), ("5x1100", "1100x64", [1], [0]),
          ("257x1030", "1030x65", [1], [0])]
# KiB of the first, second and third cache.
CACHES = [(48, 1024, 32768), (1, 16, 64), (4, 32, 4096), (2, 64, 128), (32, 8, 16)]
TILES = [(1, 1), (3, 2), (2, 3), (5, 1), (1, 4)]


def machines(tool, info, path):
    """Descriptions: what is asked of products may differ in each."""
    info = re.sub(r"^memory .*\n", "", info, flags=re.M)
    for l1, l2, l3 in CACHES:
        yield re.sub(r"caches: .*", f"caches: L1 {l1} KiB, L2 {l2} KiB, L3 {l3} KiB", info)
    listed = subprocess.run([tool, "compile", "--emit=tilings", path], capture_output=True, text=True, check=True)
    names = sorted(set(re.findall(r"^tile .*:", listed.stdout, flags=re.M)))
    for rows, vectors in TILES:
        yield info + "".join(f"{name} {rows} rows of {vectors} vectors\n" for name in names)


def run(tool, path, *options):
    done = subprocess.run([tool, *options, path], capture_output=True, text=True, timeout=900, check=False)
    return done.stdout if done.returncode == 0 else done.stderr


def main():
    tool, bad, programs = sys.argv[1], 0, 0
    info = subprocess.run([tool, "info"], capture_output=True, text=True, check=True).stdout
    if " sse2" not in info:
        return 0  # nothing to describe
    with tempfile.TemporaryDirectory() as folder:
        path, machine = pathlib.Path(folder) / "product.mlir", pathlib.Path(folder) / "machine.txt"
        for shape in SHAPES:
            path.write_text(products_test.text_of((*shape, "i32", "i32", "")), encoding="utf-8")
            expected = run(tool, path, "run", "--random", "--print", "--backend=interp")
            codes = set()
            for number, text in enumerate(machines(tool, info, path)):
                machine.write_text(text, encoding="utf-8")
                if run(tool, path, "run", "--random", "--print", f"--cpu=@{machine}") != expected:
                    print(f"{shape}: other elements on machine {number}")
                    bad += 1
                codes.add(run(tool, path, "compile", "--emit=vir", f"--cpu=@{machine}"))
            programs += len(codes)
            if len(codes) < len(TILES):
                print(f"{shape}: only {len(codes)} ways of computing it")
                bad += 1
    print(f"{len(SHAPES)} products in {programs} ways, {bad} faults")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
