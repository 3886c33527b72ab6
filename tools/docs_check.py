#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the pages name things that exist.

Every `name` between backticks of a Markdown page that looks like a file, a function, a constant, an
environment variable or an option of the tool is looked up in the tree.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
FILE = re.compile(r"^[\w.*{},-]+(?:/[\w.*{},-]+)*/?$")
SUFFIXES = (".c", ".h", ".inl", ".def", ".py", ".sh", ".md", ".mlir", ".txt", ".svg", ".tsv", ".cmake")
SYMBOL = re.compile(r"^((?:hlo|hlocc|HLO|HLOCC|PJRT)_\w+)(?:\(.*\))?$")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]+)")
# Made by a build, by the user, or of other projects.
ELSEWHERE = re.compile(r"^(build|\.cache|~|/)|^(softmax|small|big|f|native|interp|prog|NAME|FILE|index|differs|x|model|main)\.\w+$|^x_\w+\.[ch]$|^[._]"
                       r"|<|libhlocc|options\.pb|fp8|script\.py|step\.c|\.o$")


def tracked():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return [line for line in out.splitlines() if (ROOT / line).is_file()]


def expand(text):
    """`a{b,c}` and `a*` as patterns."""
    match = re.search(r"\{([^{}]*)\}", text)
    if match:
        return [e for part in match.group(1).split(",")
                for e in expand(text[:match.start()] + part + text[match.end():])]
    return [text]


def file_exists(name, page, files, folders):
    for pattern in expand(name.rstrip("/")):
        regex = re.compile(r"(^|.*/)" + re.escape(pattern).replace(r"\*", "[^/]*") + "$")
        if not any(regex.match(f) for f in files) and not any(regex.match(f) for f in folders):
            return False
    return True


def faults(page, text, files, folders, names, options):
    for match in CODE.finditer(FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)):
        token, line = match.group(1).strip(), text.count("\n", 0, match.start()) + 1
        symbol = SYMBOL.match(token)
        if symbol:
            name = symbol.group(1)
            if name not in names and not name.endswith("_") and "*" not in token:
                yield line, f"`{token}` is nowhere in the sources"
        elif FILE.match(token) and (token.endswith(SUFFIXES) or "/" in token) and not ELSEWHERE.search(token):
            if ("/" in token or "." in token) and token.endswith(SUFFIXES + ("/",)) \
                    and not file_exists(token, page, files, folders):
                yield line, f"`{token}`: there is no such file"
        elif token.startswith("hlocc "):
            for option in OPTION.findall(token):
                if option not in options:
                    yield line, f"`{token}`: the tool has no option --{option}"


def main():
    files = tracked()
    folders = {str(parent) for f in files for parent in pathlib.PurePosixPath(f).parents}
    names, options = set(), set()
    for name in files:
        if name.endswith((".c", ".h", ".inl", ".def", ".py", ".cmake", ".txt", ".sh")) or "Makefile" in name:
            text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
            names.update(re.findall(r"\b(?:hlo|hlocc|HLO|HLOCC|PJRT)_\w+", text))
            options.update(OPTION.findall(text))
            if name.endswith("options.def"):
                options.update(re.findall(r'"([a-z][a-z-]+)"', text))
            if name.endswith("config.def"):
                names.update("HLOCC_" + env for env in re.findall(r"HLO_CONFIG\(\w+, (\w+)", text))
    for table in ("src/ir/ops.def", "src/base/dtype.def"):
        for word in re.findall(r"\b\w+\b", (ROOT / table).read_text(encoding="utf-8")):
            names.update((f"HLO_OP_{word}", f"hlo_ref_{word}", f"hlo_infer_{word}", f"hlo_verify_{word}"))
    count = 0
    for page in (f for f in files if f.endswith(".md")):
        text = (ROOT / page).read_text(encoding="utf-8")
        for line, fault in faults(page, text, files, folders, names, options):
            print(f"{page}:{line}: {fault}")
            count += 1
    if not count:
        print(f"docs_check: OK ({sum(f.endswith('.md') for f in files)} pages)")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
