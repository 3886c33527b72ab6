#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the house rules that a script can see (CONTRIBUTING.md).

Files under 1,500 lines, functions under 80, a licence line at the head, no bare allocation or
process exit outside src/base and the tool, no printing in the library, no open ends, no paths of
one machine, thresholds in src/base/tuning.def, device memory accessed by device back ends only.
"""
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_FILE_LINES = 1500
MAX_FUNCTION_LINES = 80
C_SUFFIXES = {".c", ".h", ".inl", ".def"}
CHECKED_SUFFIXES = C_SUFFIXES | {".py", ".sh", ".cmake"}

ALLOCATION = re.compile(r"(?<![\w.>])(malloc|calloc|realloc|free|strdup|strndup|asprintf|"
                        r"aligned_alloc|posix_memalign)\s*\(")
PROCESS_END = re.compile(r"(?<![\w.>])(abort|exit|_exit|_Exit|quick_exit)\s*\(")
VARIANT = re.compile(r"\b\w+_avx(?:2|512)\b")
STRATEGY = ("passes", "tile", "compiler", "codegen/index", "codegen/fuse", "codegen/loops", "codegen/dot",
            "codegen/memory", "codegen/lower", "codegen/emit", "codegen/image")  # folders that decide
THRESHOLD = re.compile(r"\b(?:(?:LEAST|MOST|FEW|MANY|MIN|LONG|SHORT|FAR)(?:_\w+)?|\w+_(?:THRESHOLD|SHARE|NS))"
                       r" = [\d.]")
PRINTING = re.compile(r"(?<![\w.>])(printf|puts|putchar|perror|vprintf)\s*\(|"
                      r"(?<![\w.>])v?fprintf\s*\(\s*(stderr|stdout)|"
                      r"(?<![\w.>])f?put[sc]\s*\([^;]*,\s*(stderr|stdout)\s*\)")
DEVICE_POINTER = re.compile(r"\bhlo_device_program_pointer\s*\(")
DEVICE_POINTER_FILES = {  # back ends, and where addresses are passed on: to programs and to users
    "device_ops.h", "device_cpu.c", "device_slow.c", "run.c", "buffer.c", "raw_buffer.c"}
OPEN_END = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"/(work|root|home)/\w|/tmp/\w+\.\w+/")
C_TOKEN = re.compile(r"//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'",
                     re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)


def blank(match):
    """Replaces a comment, string or directive by blanks, keeping its line breaks."""
    return re.sub(r"[^\n]", " ", match.group(0))


def bare_code(text):
    """C text without comments and string contents, same lines."""
    return C_TOKEN.sub(blank, text)


def c_functions(code):
    """Yields (name, first line, line count) of each function body at file level.

    A `{` at depth 0 whose head (text since the last `;`, `}` or `{` there) has a parameter list and
    no `=` opens a function.
    """
    code = DIRECTIVE.sub(blank, code)
    depth, head_start, start = 0, 0, None
    for match in re.finditer(r"[{};]", code):
        mark, at = match.group(0), match.start()
        if mark == "{":
            if depth == 0:
                head = code[head_start:at]
                call = re.search(r"(\w+)\s*\(", head)
                if call and "=" not in head:
                    lead = len(head) - len(head.lstrip())
                    start = (call.group(1), head_start + lead)
            depth += 1
        elif mark == "}":
            depth = max(0, depth - 1)
            if depth == 0:
                if start:
                    first = code.count("\n", 0, start[1]) + 1
                    yield start[0], first, code.count("\n", 0, at) + 2 - first
                start, head_start = None, at + 1
        elif depth == 0:
            head_start = at + 1


def py_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def bare_call_faults(path, code):
    """Uses of libc that only some folders may make."""
    parts = path.parts
    if parts[0] != "src" or path.name.endswith(("_test.c", "_fuzz.c")):
        return
    rules = []
    if parts[1] != "base":
        rules.append((ALLOCATION, "use hlo_mem_alloc/hlo_mem_free or an arena"))
    ends_processes = path.parts[1:] in (("cli", "main.c"), ("base", "child.c"))  # child.c: those that it forked
    if not ends_processes:
        rules.append((PROCESS_END, "the library never ends the process"))
    if parts[1] not in ("base", "cli"):
        rules.append((PRINTING, "the library never prints"))
    for pattern, advice in rules:
        for match in pattern.finditer(code):
            yield code.count("\n", 0, match.start()) + 1, f"{match.group(0).strip()}: {advice}"


def device_pointer_faults(path, code):
    """Uses of addresses in device memory as pointers, which only its back end may access."""
    if path.parts[:2] == ("src", "runtime") and path.name in DEVICE_POINTER_FILES:
        return
    for match in DEVICE_POINTER.finditer(code):
        yield code.count("\n", 0, match.start()) + 1, "device memory: through hlo_device_ops_t"


def variant_faults(path, code):
    """Uses of kernels for x86 where they would be missing on other processors."""
    if path.parts[:2] != ("src", "lib") or path.suffix != ".c" or "_avx" in path.name:
        return
    regions = []  # of #if: whether it is for x86
    for number, line in enumerate(code.split("\n"), 1):
        if line.startswith("#if"):
            regions.append("__x86_64__" in line)
        elif line.startswith("#endif") and regions:
            regions.pop()
        elif not any(regions) and VARIANT.search(line):
            yield number, f"{VARIANT.search(line).group()}: only #if defined(__x86_64__)"


def file_faults(path, text):
    """Yields (line, text) for each fault of one file."""
    lines = text.count("\n")
    if lines >= MAX_FILE_LINES:
        yield 1, f"{lines} lines; files stay under {MAX_FILE_LINES}"
    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(text.split("\n", 3)[:3]):
        yield 1, "no SPDX licence line at the head"
    functions = ()
    if path.suffix in C_SUFFIXES:
        code = bare_code(text)
        yield from bare_call_faults(path, code)
        yield from variant_faults(path, code)
        yield from device_pointer_faults(path, code)
        if path.as_posix().startswith(tuple(f"src/{folder}/" for folder in STRATEGY)):
            for match in THRESHOLD.finditer(code):
                if "_test" not in path.name:
                    yield code.count("\n", 0, match.start()) + 1, f"{match.group(0)}: a row of tuning.def"
        if path.suffix != ".def":
            functions = c_functions(code)
    elif path.suffix == ".py":
        functions = py_functions(text)
    for name, first, count in functions:
        if count >= MAX_FUNCTION_LINES:
            yield first, f"function {name} has {count} lines; functions stay under {MAX_FUNCTION_LINES}"
    for pattern, advice in ((OPEN_END, "no open ends in the tree"),
                            (MACHINE_PATH, "a path of one machine")):
        for match in pattern.finditer(text):
            yield text.count("\n", 0, match.start()) + 1, f"{match.group(0)}: {advice}"


def project_files():
    """Tracked and new files, or all of the checked folders where there is no git."""
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        names = [ROOT / line for line in out.splitlines()]
    except (OSError, subprocess.CalledProcessError):
        folders = ("src", "include", "tools", "tests", "examples", "python", "bench", "cmake")
        names = [p for folder in folders for p in (ROOT / folder).rglob("*")]
    return [p for p in sorted(set(names)) if p.suffix in CHECKED_SUFFIXES and p.is_file()]


def main():
    files, faults = project_files(), 0
    for path in files:
        relative = path.relative_to(ROOT)
        for line, fault in file_faults(relative, path.read_text(encoding="utf-8")):
            print(f"{relative}:{line}: {fault}")
            faults += 1
    if not faults:
        print(f"house_rules: OK ({len(files)} files)")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
