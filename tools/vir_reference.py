#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/vir.md, the reference of the vector IR, from src/codegen/vir/vir.def.

Every row of the table becomes a row of the page: name, operands, result class, the C expression of a
lane where there is one, and the row's comment. `--check` compares instead of writing.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "src" / "codegen" / "vir" / "vir.def"
PAGE = ROOT / "docs" / "vir.md"

ROW = re.compile(r"^HLO_VIR_(OP|LANE)\((\w+), (\d), (\w+), ([\w| ]+?)(?:, (.*?))?\)(?:\s*//\s?(.*))?$")
NOTE = re.compile(r"^\s*// ?(.*)$")

INTRODUCTION = """\
# The vector IR

Generated from `src/codegen/vir/vir.def` by `tools/vir_reference.py` (`make docs`).

The vector IR is the level between fused kernels and machine code, C source or an interpreter:
functions of structured control flow over machine vectors. `hlocc compile --emit=vir FILE` prints it.

## Values and types

| type | meaning |
|---|---|
| `index` | 64 bits in a general register: addresses, loop counters, conditions (0 or 1) |
| `mask` x lanes | one truth value per lane |
| `i8` `i16` `i32` `i64` x lanes | integers; `f16` and `bf16` are `i16` in memory and are converted by instructions |
| `f32` `f64` x lanes | floats |

A vector has 1, 2, 4 ... 64 lanes and fits one register of the target; the builder never splits one. Values
are assigned once, with one exception: `var` is a mutable register. A use of a `var` reads the value that
the last executed `set` gave it, so no instruction is folded or moved through a `var`.

There is no undefined lane and no undefined result: where an operation has a precondition, its row says so.

## Control flow

Blocks nest: `for`, `loop` and `if` own the blocks that are their bodies, and there is no other jump. A value
may be used from its definition to the end of its block, nested blocks included. The builder puts a pure
instruction into the outermost open block in which all its operands are available, and reuses an equal
instruction there; loop-invariant code is therefore never inside the loop.

A module has one *entry* function, which the runtime calls with the frame of `src/base/program_abi.h`, *chunk*
functions, which run one part of a parallel loop, and local functions. `suspend` exists in the entry only: it
stores a resume point and returns SUSPENDED; the next call of the entry continues after it. `saved.h` keeps
the values that live across it.

## Memory

An address is `base + (index << scale) + imm`; the scale (1, 2, 4 or 8 bytes) is in the instruction's flags. A
masked load gives 0 in the lanes that are off and never touches their memory; a masked store leaves them as
they were. `INVARIANT` promises that the memory does not change while the function runs: such a load is moved
and merged like a pure instruction, but never out of an `if` unless it is `FIXED` as well, which also
survives a fence (`hlo_vir_fence()`: everything before it may have changed memory). `STREAM` stores past the
caches. `PARALLEL_SAFE` on a `for` states that its iterations are independent.

## Instructions

The column *lane* is the meaning of an instruction, as C over the lane's operands `a`, `b`, `c` and the
immediate `imm`: `T(x)` is x in the result's lane type, `U(x)` is x as an unsigned integer of at least 32
bits. The interpreter, constant folding and the C back end compile this expression, and tests compare machine
code with it bit for bit. Operand counts are maxima; trailing operands may be absent where the note says so.
"""

CLASSES = [
    ("CONTROL", "Control flow"), ("INDEX", "64-bit integers"), ("MEMORY", "Memory"),
    ("CROSS", "Between lanes"), ("TILE", "Tile registers"), ("GROUP", "Groups of threads"), ("FLOAT", "Floats"), ("BITS", "Bits"),
    ("INT", "Integers"), ("DOT", "Dot products inside a lane"), ("HALF", "f16 arithmetic"),
    ("COMPARE", "Comparisons"), ("MASK", "Masks"), ("CONVERT", "Conversions"),
]


def read_rows(text):
    """The rows of the table as dicts, with the comment lines that continue a row's note."""
    rows, open_row = [], None
    for line in text.split("\n"):
        match = ROW.match(line)
        if match:
            kind, name, operands, group, traits, expression, note = match.groups()
            open_row = {"name": name, "operands": operands, "class": group, "lane": expression or "",
                        "pure": traits.strip() == "PURE", "note": note or ""}
            rows.append(open_row)
        elif open_row and line.startswith(" ") and NOTE.match(line):
            open_row["note"] += " " + NOTE.match(line).group(1).strip()
        elif line.startswith("HLO_VIR_"):
            sys.exit(f"{TABLE.name}: a row that {pathlib.Path(__file__).name} cannot read: {line}")
        else:
            open_row = None
    return rows


def escaped(text):
    return text.replace("|", "\\|")


def page(rows):
    known = {group for group, _ in CLASSES}
    unknown = {row["class"] for row in rows} - known
    if unknown:
        sys.exit(f"{TABLE.name}: unknown classes {sorted(unknown)}")
    parts = [INTRODUCTION]
    for group, title in CLASSES:
        members = [row for row in rows if row["class"] == group]
        has_lane = any(row["lane"] for row in members)
        parts.append(f"\n### {title}\n")
        parts.append("| instruction | operands |" + (" lane |" if has_lane else "") + " note |")
        parts.append("|---|---|" + ("---|" if has_lane else "") + "---|")
        for row in members:
            lane = f" `{escaped(row['lane'])}` |" if has_lane else ""
            parts.append(f"| `{row['name']}` | {row['operands']} |{lane} {escaped(row['note'])} |")
    return "\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if docs/vir.md is stale")
    args = parser.parse_args()
    text = page(read_rows(TABLE.read_text(encoding="utf-8")))
    if not args.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print("docs/vir.md is stale: run make docs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
