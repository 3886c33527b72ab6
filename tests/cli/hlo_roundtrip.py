#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of tests/programs as HLO: text and proto read back, are written as the same text again, and
give the same bits in the interpreter (those for one device).

    hlo_roundtrip.py [--run] TOOL [NAME...]     no names: all programs
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

PROGRAMS = pathlib.Path(__file__).resolve().parent.parent / "programs"


def faults(tool, program, folder, with_run):
    def call(*args):
        return subprocess.run([tool, *map(str, args)], stdout=subprocess.PIPE, check=True).stdout

    text, proto = folder / "program.hlo", folder / "program.pb"
    call("translate", "--to=hlo", program, "-o", text)
    call("translate", "--to=hlo-proto", program, "-o", proto)
    one_device = program.parent.name == "one-device"  # a proto does not say how many there are
    run = ("run", "--random", "--seed=3", "--print")
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
