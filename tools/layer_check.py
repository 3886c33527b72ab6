#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that includes under src/ point down the layers only, as src/layers.txt states them.

Every include is checked directly: a file includes its own folder and what the folder's row names.
Headers that are private to a folder (x_impl.h) may not be included from another one. The tables of
ARCHITECTURE.md and src/codegen/GUIDE.md have to agree with the rows. Folders that know no machine
name none, not even in comments.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = ROOT / "src/layers.txt"
DOCUMENTS = {"ARCHITECTURE.md": "", "src/codegen/GUIDE.md": "codegen/"}  # and the prefix of names

NEUTRAL = {"ir", "passes", "tile"}
MACHINE = re.compile(r"\b(avx\w*|sse\d?|[xyz]mm\d*|amx|x86\w*|aarch64|neon|zen\d?|cuda|nvidia|ptx|sm_\d+)\b",
                     re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ROW = re.compile(r"([a-z0-9_/]+):((?: [a-z0-9_/]+)*)")
EXCEPTION = re.compile(r"except ([a-z0-9_/]+) ([a-z0-9_/.]+): \S.*")
TABLE_ROW = re.compile(r"^\| `([a-z0-9_]+)` \| ([a-z0-9_, /]+) \| ", re.MULTILINE)
TEST = re.compile(r"_test\.c$|_fuzz\.c$|test_util\.[ch]$")


class Layers:
    """The rows and exceptions of src/layers.txt, and what is wrong with them."""

    def __init__(self, text):
        self.rows, self.exceptions, self.faults = {}, {}, []
        for number, line in enumerate(text.split("\n"), 1):
            fault = self.add(line) if line and not line.startswith("#") else None
            if fault:
                self.faults.append(f"src/layers.txt:{number}: {fault}")
        self.used = set()

    def add(self, line):
        """Adds one line; its fault as text, or None."""
        exception, row = EXCEPTION.fullmatch(line), ROW.fullmatch(line)
        if exception:
            self.exceptions[exception.group(1, 2)] = line
            return None
        if not row:
            return "neither a row nor an exception"
        name, below = row.group(1), row.group(2).split()
        layer = name.split("/")[0]
        for folder in below:
            if folder not in self.rows:
                return f"{name} names {folder}, which is no row above it"
            if "/" in name and folder not in self.rows[layer] and not folder.startswith(layer + "/"):
                return f"{name} names {folder}, which the row of {layer} does not"
            if "/" not in name and "/" in folder:
                return f"{name} names {folder}, a room of another layer"
        self.rows[name] = below
        return None

    def folder_of(self, path):
        """The row that a path below src/ belongs to, or None."""
        parts = path.split("/")
        room = "/".join(parts[:2])
        if room in self.rows:
            return room
        has_rooms = any(row.startswith(parts[0] + "/") for row in self.rows)
        return parts[0] if parts[0] in self.rows and not has_rooms else None

    def allows(self, folder, target, is_test):
        """Returns true if a file of one folder may include one of another."""
        layer, target_layer = folder.split("/")[0], target.split("/")[0]
        if is_test and (target_layer in (layer, "interp") or target_layer in self.rows[layer]):
            return True
        return target == folder or target in self.rows[folder] or (
            target_layer != layer and target_layer in self.rows[folder])


def check_include(layers, folder, is_test, included):
    """The fault of one include line as text, or None."""
    if included.startswith("hlocc/") or "/" not in included:  # public, or generated for this file
        return None
    target = layers.folder_of(included)
    if not target:
        return f'"{included}" is in no layer'
    fault = None
    if not layers.allows(folder, target, is_test):
        fault = f'{folder} may not include {target} ("{included}")'
    elif target != folder and included.endswith("_impl.h") and not is_test:
        fault = f'"{included}" is private to {target}'
    if fault and (folder, included) in layers.exceptions:
        layers.used.add((folder, included))
        return None
    return fault


def check_file(layers, path):
    name = path.relative_to(ROOT / "src").as_posix()
    folder = layers.folder_of(name)
    if not folder:
        return [f"src/{name}: the folder is in no layer"]
    text = path.read_text(encoding="utf-8")
    faults = []
    for match in INCLUDE.finditer(text):
        fault = check_include(layers, folder, bool(TEST.search(name)), match.group(1))
        if fault:
            line = text.count("\n", 0, match.start(1)) + 1
            faults.append(f"src/{name}:{line}: {fault}")
    for match in MACHINE.finditer(text) if folder in NEUTRAL else ():
        line = text.count("\n", 0, match.start()) + 1
        faults.append(f"src/{name}:{line}: {folder} knows no machine ({match.group()})")
    return faults


def check_document(layers, page, prefix):
    """The table of a page, `| `folder` | what it may include | ...`, has the rows of its prefix."""
    stated = {}
    for name, below in TABLE_ROW.findall((ROOT / page).read_text(encoding="utf-8")):
        folders = [] if below == "nothing" else below.split(", ")
        stated[prefix + name] = {prefix + f if prefix + f in layers.rows else f for f in folders}
    faults = []
    for name, below in layers.rows.items():
        if name.rpartition("/")[0] != prefix.rstrip("/"):
            continue
        if name not in stated:
            faults.append(f"{page}: the table of folders has no row `{name[len(prefix):]}`")
        elif stated[name] != set(below):
            faults.append(f"{page}: `{name[len(prefix):]}` may include {', '.join(below) or 'nothing'}, "
                          f"says src/layers.txt")
    return faults


def main():
    layers = Layers(LAYERS.read_text(encoding="utf-8"))
    files = [p for p in sorted((ROOT / "src").rglob("*"))
             if p.suffix in (".c", ".h", ".inl", ".def")]
    faults = layers.faults + [fault for path in files for fault in check_file(layers, path)]
    faults += [f"src/layers.txt: nothing needs this any more: {layers.exceptions[unused]}"
               for unused in layers.exceptions if unused not in layers.used]
    for page, prefix in DOCUMENTS.items():
        faults += check_document(layers, page, prefix)
    for fault in faults:
        print(fault)
    if not faults:
        print(f"layer_check: OK ({len(files)} files, {len(layers.exceptions)} exceptions)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
