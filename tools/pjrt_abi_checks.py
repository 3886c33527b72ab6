#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the table of ABI facts into compile-time checks of our own headers.

usage: pjrt_abi_checks.py tests/data/pjrt-abi.tsv pjrt|ffi OUT.inc

Rows of the table: S header struct size; F struct field offset size type; E header enum name value.
The output holds one static_assert per fact and the numbers of facts checked.
"""

import re
import sys

FFI = {"c_api.h"}  # the only header of the table that src/ffi/abi.h declares
# A header that nothing declares: it names types that only its clients define.
ELSEWHERE = {"pjrt_c_api_cross_host_transfers_extension.h"}
# What FFI 0.4 changed: checked unless FFI_BEFORE_0_4 is defined, for headers of 0.3.
SINCE_FFI_04 = re.compile(
    r"XLA_FFI_(ExtensionId|Extension|InvokeContext_FindExtension_Args)(\.\w+|_STRUCT_SIZE)?"
    r"|XLA_FFI_Error_GetDetails_Args(\.errc|_STRUCT_SIZE)?|XLA_FFI_Handler_Bundle(\.record)?"
    r"|XLA_FFI_Handler_Register_Args(\.bundle|\.traits|_STRUCT_SIZE)?|XLA_FFI_ExecutionStage_RECORD"
    r"|XLA_FFI_Api(\.XLA_FFI_InvokeContext_FindExtension|_STRUCT_SIZE)?")
# C has no name for the size of a whole enumeration, so enumerators are compared one by one.


def checks(lines, interface):
    def is_checked(header):
        return header in FFI if interface == "ffi" else header not in FFI | ELSEWHERE

    header_of = {}
    for line in lines:
        if line.startswith("#") or not line.strip():
            continue
        kind, *row = line.rstrip("\n").split("\t")
        if kind == "S":
            header, struct, size = row
            header_of[struct] = header
            if is_checked(header):
                yield "S", f"sizeof(struct {struct}) == {size}", struct
        elif kind == "F":
            struct, field, offset, size, _ = row
            if is_checked(header_of[struct]):
                name = f"{struct}.{field}"
                yield "F", f"offsetof(struct {struct}, {field}) == {offset}", name
                yield "F", f"sizeof(((struct {struct}*)0)->{field}) == {size}", name
        elif kind == "E":
            header, _, name, value = row
            if is_checked(header):
                yield "E", f"{name} == {value}", name
        else:
            raise SystemExit(f"unknown row: {line!r}")


def main(table, interface, out):
    count = {"S": 0, "F": 0, "E": 0}
    with open(table) as source, open(out, "w") as sink:
        for kind, condition, name in checks(source, interface):
            count[kind] += 1
            check = f'_Static_assert({condition}, "{name}");\n'
            if SINCE_FFI_04.fullmatch(name):
                check = f"#ifndef FFI_BEFORE_0_4\n{check}#endif\n"
            sink.write(check)
        sink.write(f"enum {{ ABI_STRUCTS = {count['S']}, ABI_FIELD_FACTS = {count['F']},")
        sink.write(f" ABI_ENUMERATORS = {count['E']} }};\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
