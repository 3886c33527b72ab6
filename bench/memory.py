#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Temporary memory of the stored programs: hlocc and XLA's cpu client.

  memory.py [--only=REGEX] [--library=PLUGIN] [--above=1.0]

Compiles every program of tests/programs/one-device with both and prints the ones whose
temp_size_in_bytes (memory_analysis() in JAX) is above XLA's, or that many times it, then the sums.
"""
import argparse
import math
import sys

import programs
import suite


def temporary_bytes(jax, device, path):
    program = suite.Program(jax, device, path, None)
    program.compile()
    return program.executable.get_compiled_memory_stats().temp_size_in_bytes


def ratio(ours, theirs):
    return ours / theirs if theirs else (math.inf if ours else 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX")
    suite.add_library_argument(parser)
    parser.add_argument("--above", type=float, default=1.0, help="which ratios are listed (above 1); 0: all")
    options = parser.parse_args()
    jax, devices = suite.load_jax(options.library)
    rows = [(path.stem, temporary_bytes(jax, devices["hlocc"], path), temporary_bytes(jax, devices["xla"], path))
            for path in programs.paths(options.only)]
    print(f"{'program':36} {'hlocc':>12} {'XLA':>12} {'ratio':>8}")
    for name, ours, theirs in sorted(rows, key=lambda row: -ratio(*row[1:])):
        if ratio(ours, theirs) > options.above or options.above == 0:
            print(f"{name:36} {ours:12} {theirs:12} {ratio(ours, theirs):8.2f}")
    ours, theirs = (sum(row[i] for row in rows) for i in (1, 2))
    above = sum(o > t for _, o, t in rows)
    print(f"{f'sum of {len(rows)}, {above} above':36} {ours:12} {theirs:12} {ratio(ours, theirs):8.2f}")


if __name__ == "__main__":
    sys.exit(main())
