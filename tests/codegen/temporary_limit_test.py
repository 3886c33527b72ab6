#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with many recomputed values: less memory, the same bits, proved plans and checked memory.

  temporary_limit_test.py TOOL
"""
import os
import pathlib
import re
import subprocess
import sys

# Programs, a limit in KiB, and the least share of their temporaries that it saves.
PROGRAMS = [("transformer_train", 42000, 0.6), ("mlp_train_digits", 1, 0)]


def run(tool, limit, *words):
    env = dict(os.environ, HLOCC_TEMPORARY_LIMIT=str(limit), HLOCC_CHECK="1" if limit else "0", HLOCC_LOG="error")
    return subprocess.run([tool, *words], env=env, capture_output=True, text=True, check=True).stdout


def temporary_bytes(tool, limit, path):
    return int(re.search(r"(\d+) bytes of temporaries", run(tool, limit, "compile", "--emit=plan", path)).group(1))


def main():
    tool, bad = sys.argv[1], 0
    folder = pathlib.Path(__file__).parents[1] / "programs/one-device"
    for name, limit, share in PROGRAMS:
        path = folder / f"{name}.mlirbc"
        before, after = (temporary_bytes(tool, n, path) for n in (0, limit))
        if after > before * (1 - share):
            bad += 1
            print(f"{name}: {after} bytes of temporaries of {before}")
        if run(tool, 0, "run", "--random", "--print", path) != run(tool, limit, "run", "--random", "--print", path):
            bad += 1
            print(f"{name}: other bits with less memory")
    print(f"{len(PROGRAMS)} programs, {bad} faults")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
