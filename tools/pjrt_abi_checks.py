#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the table of PJRT ABI facts into compile-time checks of our own headers.

usage: pjrt_abi_checks.py tests/data/pjrt-abi.tsv OUT.inc

Rows of the table: S header struct size; F struct field offset size type; E header enum name value.
The output holds one static_assert per fact and the numbers of facts checked.
"""

import sys

# Headers of the table that include/hlocc does not declare: the FFI call interface lives in
# src/ffi, the other two name types that only their clients define.
ELSEWHERE = {
    "c_api.h",
    "pjrt_c_api_cross_host_transfers_extension.h",
    "pjrt_c_api_custom_partitioner_extension.h",
}
# C has no name for the size of a whole enumeration, so enumerators are compared one by one.


def checks(lines):
    header_of = {}
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        kind, *row = line.rstrip("\n").split("\t")
        if kind == "S":
            header, struct, size = row
            header_of[struct] = header
            if header not in ELSEWHERE:
                yield "S", f"sizeof(struct {struct}) == {size}", struct
        elif kind == "F":
            struct, field, offset, size, _ = row
            if header_of[struct] not in ELSEWHERE:
                name = f"{struct}.{field}"
                yield "F", f"offsetof(struct {struct}, {field}) == {offset}", name
                yield "F", f"sizeof(((struct {struct}*)0)->{field}) == {size}", name
        elif kind == "E":
            header, _, name, value = row
            if header not in ELSEWHERE:
                yield "E", f"{name} == {value}", name
        else:
            raise SystemExit(f"unknown row: {line!r}")


def main(table, out):
    count = {"S": 0, "F": 0, "E": 0}
    with open(table) as source, open(out, "w") as sink:
        for kind, condition, name in checks(source):
            count[kind] += 1
            sink.write(f'_Static_assert({condition}, "{name}");\n')
        sink.write(f"enum {{ ABI_STRUCTS = {count['S']}, ABI_FIELD_FACTS = {count['F']},")
        sink.write(f" ABI_ENUMERATORS = {count['E']} }};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
