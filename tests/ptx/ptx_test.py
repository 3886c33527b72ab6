#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of tests/ptx as PTX for several GPUs: `ptx_test.py HLOCC` prints each; where HLOCC_PTXAS names
NVIDIA's assembler it assembles them and fails on spills. Exit code 77: no assembler, all were printed.
`--table` writes docs/ptx.md with launches and registers (ptxas: HLOCC_PTXAS, or in PATH).
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parent.parent / "docs" / "ptx.md"
TARGETS = ["sm_80", "sm_90a", "sm_100a", "sm_120a"]
SKIPPED = 77
REPORT = re.compile(r"^(\S+): (\d+) registers, (\d+) bytes of spill stores, (\d+) of spill loads, (\d+) of stack, "
                    r"(\d+) of shared memory, (\d+) barriers$")
ONLY = re.compile(r"^// for (.+)$", re.MULTILINE)  # the targets of a kernel
LAUNCH = re.compile(r"^// \S+: (.+)$")

INTRODUCTION = """\
# Kernels as PTX

`tests/ptx/ptx_test.py build/bin/hlocc --table` (`make check-ptx` runs it without `--table`) compiles the kernels of `tests/ptx` to PTX and
assembles them with {version}. No kernel spills registers. A cell is the registers of a thread, and the matrix instruction where there
is one; - where the GPU lacks it. Kernels without blocks share nothing between threads. The text of small kernels of the same forms is run by tests, thread by
thread, and compared with the interpreter of Tile IR; no GPU has run them.

Elements of 2 or 4 bits are packed in buffers, the first one in the low bits; copies and scaled products access them, nothing else does.
Scales of `f8e4m3fn` are not negative. Where sums are in tensor memory (`tcgen05`), rows of operands have 128 bytes, and sums multiples of
128 rows; accumulators that need more than 512 columns of it are an error that states both numbers.

| kernel | launch on the first one | {targets} |
|---|---|{rule}|
"""


def run(tool, arguments):
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)


def compile_kernel(tool, path, target, assemble, options):
    arguments = ["compile", "--emit=ptx", f"--target={target}", *options, str(path)]
    done = run(tool, arguments + (["--assemble"] if assemble else []))
    if done.returncode:
        sys.exit(f"{path.name} for {target}: {done.stderr.strip()}")
    return done.stdout


def check_kernel(tool, path, target, assembles):
    """Returns the launch, the registers of each phase and the matrix instruction."""
    only = ONLY.search(path.read_text(encoding="utf-8"))
    if only and target not in only.group(1).split(", "):
        return [], [], ""
    options = ["--allow-tf32"] if "tf32" in path.name else []
    text = compile_kernel(tool, path, target, False, options)
    launches = [match.group(1) for match in map(LAUNCH.match, text.split("\n")) if match]
    matrix = re.search(r"mma\w*\.sync\.aligned\.(m\d+n\d+k\d+)(?:\.row\.col)?(?:\.kind::(\w+)[\w.:]+X)?\.\w+\.(\w+)", text)
    tensor = re.search(r"tcgen05\.mma\.cta_group::1\.kind::(\w+)", text)
    registers = []
    if assembles:
        for line in compile_kernel(tool, path, target, True, options).strip().split("\n"):
            match = REPORT.match(line)
            if not match:
                sys.exit(f"{path.name} for {target}: {line}")
            if int(match.group(3)) or int(match.group(4)):
                sys.exit(f"{path.name} for {target} spills: {line}")
            registers.append(match.group(2))
    if tensor:
        return launches, registers, f"tcgen05 {tensor.group(1)}"
    return launches, registers, " ".join(filter(None, matrix.groups())) if matrix else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tool")
    parser.add_argument("--table", action="store_true", help="write docs/ptx.md")
    args = parser.parse_args()
    assembler = os.environ.get("HLOCC_PTXAS") or (shutil.which("ptxas") if args.table else None)
    if args.table and not assembler:
        sys.exit("ptxas was not found: set HLOCC_PTXAS")
    rows = []
    for path in sorted(FOLDER.glob("*.tile")):
        cells = [check_kernel(args.tool, path, target, bool(assembler)) for target in TARGETS]
        launch = "; ".join(next(cell[0] for cell in cells if cell[0])).replace(", 0 bytes of shared memory", "")
        texts = [", ".join(registers) + (f" ({matrix})" if matrix else "") or "-" for _, registers, matrix in cells]
        rows.append(f"| `{path.stem}` | {launch} | " + " | ".join(texts) + " |")
    if args.table:
        version = run(assembler, ["--version"]).stdout
        version = "ptxas of CUDA " + re.search(r"release ([\d.]+)", version).group(1)
        head = INTRODUCTION.format(version=version, targets=" | ".join(TARGETS), rule="---|" * (len(TARGETS) - 1) + "---")
        PAGE.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    if not assembler:
        print("HLOCC_PTXAS names no ptxas: kernels were printed, not assembled")
        return SKIPPED
    print(f"{len(rows)} kernels for {len(TARGETS)} GPUs, no spills")
    return 0


if __name__ == "__main__":
    sys.exit(main())
