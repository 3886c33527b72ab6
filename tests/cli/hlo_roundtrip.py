#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of tests/programs as HLO: text and proto read back, are written as the same text again, and
give the same bits in the interpreter (those for one device).

    hlo_roundtrip.py [--run] TOOL [NAME...]     no names: all programs
"""
import argparse
import array
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "programs"

COUNTED = {"while_gather_1e6": 1000000}  # ends where it meets the largest of 0, 1, 2 ...


def inputs_of(program, folder):
    """Random values, or 0, 1, 2 ... of s32 where random ones have no end."""
    count = COUNTED.get(program.stem)
    if count is None:
        return ["--random", "--seed=3"]
    head = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({count},), }}".ljust(117) + "\n"
    path = folder / "input.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
                     + array.array("i", range(count)).tobytes())
    return [f"--input=@{path}"]


def faults(tool, program, folder, with_run):
    def call(*args):
        return subprocess.run([tool, *map(str, args)], stdout=subprocess.PIPE, check=True).stdout

    text, proto = folder / "program.hlo", folder / "program.pb"
    call("translate", "--to=hlo", program, "-o", text)
    call("translate", "--to=hlo-proto", program, "-o", proto)
    one_device = program.parent.name == "one-device"  # a proto does not say how many there are
    run = ["run", *inputs_of(program, folder), "--print"]
    wanted = call(*run, program) if with_run and one_device else None
    for source in (text, proto) if one_device else (text,):
        if call("translate", "--to=hlo", source) != text.read_bytes():
            yield f"{source.suffix} is written as another text"
        if wanted is not None and call(*run, source) != wanted:
            yield f"{source.suffix} gives other results"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--run", action="store_true", help="compare results too")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    programs = [p for p in sorted(PROGRAMS.glob("*/*.mlirbc"))
                if not args.names or p.stem in args.names]
    failed = len(programs) < len(args.names) or not programs
    for program in programs:
        with tempfile.TemporaryDirectory() as folder:
            for fault in faults(args.tool, program, pathlib.Path(folder), args.run):
                print(f"{program.stem}: {fault}", flush=True)
                failed = True
    print(f"hlo_roundtrip: {len(programs)} programs")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
