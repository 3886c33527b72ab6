#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes under src/ point down the layers only (see ARCHITECTURE.md).

A folder may include the folders of its row and, through them, everything those may include.
Files that are private to a folder (x_impl.h) may not be included from another one. Folders that know
no machine name none, not even in comments.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

MAY_INCLUDE = {
    "base": [],
    "ir": ["base"],
    "lib": ["ir"],
    "interp": ["ir", "lib"],
    "frontend": ["ir"],
    "passes": ["ir", "interp"],
    "spmd": ["passes"],
    "tile": ["ir"],
    "rt": ["base", "interp"],
    "codegen": ["tile", "passes", "interp", "lib", "rt"],
    "ffi": ["base"],
    "compiler": ["frontend", "passes", "spmd", "codegen", "interp"],
    "comm": ["base"],
    "runtime": ["compiler", "comm", "ffi"],
    "pjrt": ["runtime", "compiler"],
    "capi": ["runtime", "compiler"],
    "cli": ["runtime", "compiler"],
}

NEUTRAL = {"ir", "passes", "tile"}
MACHINE = re.compile(r"\b(avx\w*|sse\d?|[xyz]mm\d*|amx|x86\w*|aarch64|neon|zen\d?|cuda|nvidia|ptx|sm_\d+)\b",
                     re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def reachable(layer):
    seen, todo = {layer}, [layer]
    while todo:
        for below in MAY_INCLUDE[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def check_include(path, layer, allowed, included):
    """The fault of one include line as text, or None."""
    if included.startswith("hlocc/"):
        return None
    if "/" not in included:  # generated for this file
        return None
    target = included.split("/")[0]
    if target not in MAY_INCLUDE:
        return f'"{included}" is in no layer'
    if target not in allowed:
        return f'{layer} may not include {target} ("{included}")'
    if target != layer and included.endswith("_impl.h"):
        return f'"{included}" is private to {target}'
    return None


def check_file(path):
    layer = path.relative_to(ROOT / "src").parts[0]
    if layer not in MAY_INCLUDE:
        return [f"{path.relative_to(ROOT)}: the folder is in no layer"]
    allowed = reachable(layer)
    text = path.read_text(encoding="utf-8")
    faults = []
    for match in INCLUDE.finditer(text):
        fault = check_include(path, layer, allowed, match.group(1))
        if fault:
            line = text.count("\n", 0, match.start(1)) + 1
            faults.append(f"{path.relative_to(ROOT)}:{line}: {fault}")
    for match in MACHINE.finditer(text) if layer in NEUTRAL else ():
        line = text.count("\n", 0, match.start()) + 1
        faults.append(f"{path.relative_to(ROOT)}:{line}: {layer} knows no machine ({match.group()})")
    return faults


def main():
    files = [p for p in sorted((ROOT / "src").rglob("*"))
             if p.suffix in (".c", ".h", ".inl", ".def")]
    faults = [fault for path in files for fault in check_file(path)]
    for fault in faults:
        print(fault)
    if not faults:
        print(f"layer_check: OK ({len(files)} files)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
