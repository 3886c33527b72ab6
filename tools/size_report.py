#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how large the project is, as `make size` and at the end of `make check`.

    size_report.py [--build FOLDER]

Lines of product and tests in each folder, the folder with the most files, functions that are nearly
too long, switches over operations (each is a place to visit for a new one), assertions, and the bytes
of the plugin without symbols. It only reports: tools/house_rules.py holds the limits.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import tempfile

import house_rules

ROOT = house_rules.ROOT
LONG_FUNCTION_LINES = 60
TEST = re.compile(r"_(?:test|fuzz)\.(?:c|inl)$|_test_util\.[ch]$|^test_util\.[ch]$|^fuzz\.h$|_mutator\.inl$")
SWITCH = re.compile(r"\bswitch\s*\(|\bcase\s+HLO_OP_\w+|[{}]")
ASSERTION = re.compile(r"(?<!_)\bassert\s*\(|\bHLO_(?:ASSERT|ALWAYS|NEVER)\s*\(")
NOT_INSTALLED = "dev"  # the folder of hlocc-dev, which only developers of hlocc run
OTHERS = ("include", "tests", "tools", "python", "bench", "examples", "cmake")
PLUGIN = "lib/pjrt_c_api_hlocc_plugin.so"


def opcode_switches(code):
    """Number of switch statements with a `case HLO_OP_...` of their own."""
    count, blocks, is_next = 0, [], False  # of open braces: None, or whether an operation was met
    for match in SWITCH.finditer(code):
        token = match.group(0)
        if token.startswith("switch"):
            is_next = True
        elif token == "{":
            blocks.append(False if is_next else None)
            is_next = False
        elif token == "}":
            count += bool(blocks and blocks.pop())
        else:
            switches = [i for i, block in enumerate(blocks) if block is not None]
            if switches:
                blocks[switches[-1]] = True
    return count


class Folder:
    """The counts of one folder of src/."""

    def __init__(self):
        self.files = self.product = self.tests = self.switches = self.assertions = 0

    def add(self, path, text, code):
        self.files += 1
        if TEST.search(path.name):
            self.tests += text.count("\n")
            return
        self.product += text.count("\n")
        self.switches += opcode_switches(code)
        self.assertions += len(ASSERTION.findall(code))


def count_sources(files):
    """Folders of src/ by name, and (lines, name, place) of the functions of the product."""
    folders, functions = collections.defaultdict(Folder), []
    for path in files:
        relative = path.relative_to(ROOT)
        if relative.parts[0] != "src" or path.suffix not in house_rules.C_SUFFIXES:
            continue
        text = path.read_text(encoding="utf-8")
        code = house_rules.DIRECTIVE.sub(house_rules.blank, house_rules.bare_code(text))
        folders[relative.parent.relative_to("src").as_posix()].add(path, text, code)
        if path.suffix != ".def" and not TEST.search(path.name):
            functions += [(count, name, f"{relative}:{first}")
                          for name, first, count in house_rules.c_functions(code)]
    return folders, sorted(functions, reverse=True)


def print_folders(folders):
    print(f"{'src/':<24}{'files':>7}{'product':>9}{'tests':>8}{'switches':>10}{'assertions':>12}")
    total = Folder()
    for name, folder in sorted(folders.items()):
        print(f"{name:<24}{folder.files:7}{folder.product:9}{folder.tests:8}"
              f"{folder.switches or '':>10}{folder.assertions or '':>12}")
        for field, value in vars(folder).items():
            setattr(total, field, getattr(total, field) + value)
    print(f"{'sum':<24}{total.files:7}{total.product:9}{total.tests:8}{total.switches:10}"
          f"{total.assertions:12}")
    installed = total.product - folders[NOT_INSTALLED].product
    print(f"product that is installed (without src/{NOT_INSTALLED}): {installed} lines")


def print_others(files):
    """Lines of the checked text files outside src/, by folder."""
    lines = collections.Counter()
    for path in files:
        top = path.relative_to(ROOT).parts[0]
        if top in OTHERS:
            lines[top] += path.read_text(encoding="utf-8").count("\n")
    print("elsewhere: " + ", ".join(f"{name} {lines[name]}" for name in OTHERS if lines[name]))


def stripped_bytes(library):
    """Size of a library without its symbols, or None."""
    if not library.is_file():
        return None
    with tempfile.NamedTemporaryFile() as copy:
        try:
            subprocess.run(["strip", "-o", copy.name, library], check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        return pathlib.Path(copy.name).stat().st_size


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    build = parser.parse_args().build
    files = house_rules.project_files()
    folders, functions = count_sources(files)
    print_folders(folders)
    print_others(files)
    largest = max(folders, key=lambda name: folders[name].files)
    print(f"largest folder: src/{largest}, {folders[largest].files} files")
    long = [function for function in functions if function[0] > LONG_FUNCTION_LINES]
    print(f"functions: {len(functions)}, over {LONG_FUNCTION_LINES} lines: {len(long)}")
    for count, name, place in long:
        print(f"  {count} {name} {place}")
    size = stripped_bytes(build / PLUGIN)
    print(f"plugin without symbols: {f'{size} bytes' if size else 'not built'}")


if __name__ == "__main__":
    main()
