#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs golden files: text in, whole text out.

    # run: opt --passes=cse,dce      arguments of the tool; the input arrives on its stdin, {dir} is
                                     the folder of the file
    # why: what this file shows
    # exit: 1                        expected exit status where it is not 0; stderr then counts
    <input>
    # ---
    <whole expected output>

Several `# run:` lines run on the same input; `# ---` stands between their outputs, too.
Instead of `# ---` and the output, head lines `# expect: text` and `# expect-not: text` look for parts
of it (for messages, disassembly and the like). `--update` rewrites the expected outputs.
"""
import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

SEPARATOR = "# ---"
HEAD = re.compile(r"# (run|why|exit|expect|expect-not): ?(.*)")


class Golden:
    """One parsed golden file."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        self.head_lines = []
        self.heads = []
        while lines and (match := HEAD.fullmatch(lines[0].rstrip("\n"))):
            self.heads.append(match.groups())
            self.head_lines.append(lines.pop(0))
        marks = [i for i, line in enumerate(lines) if line.rstrip("\n") == SEPARATOR]
        self.whole = bool(marks)
        at = marks[0] if marks else len(lines)
        self.input = "".join(lines[:at])
        self.expected = "".join(lines[at + 1:])

    def all(self, key):
        return [value for name, value in self.heads if name == key]

    def write(self, output):
        text = "".join(self.head_lines) + self.input + SEPARATOR + "\n" + output
        self.path.write_text(text, encoding="utf-8")


def part_faults(golden, output):
    faults = [f"missing: {part}" for part in golden.all("expect") if part not in output]
    faults += [f"unwanted: {part}" for part in golden.all("expect-not") if part in output]
    return faults


def run_one(path, tool, update):
    """The faults of one file as text; empty when it passes."""
    golden = Golden(path)
    if not golden.all("run"):
        return f"{path}: needs a '# run:' line"
    wanted_exit = int((golden.all("exit") or ["0"])[0])
    outputs = []
    for run in golden.all("run"):
        command = [tool] + shlex.split(run.replace("{dir}", str(path.parent)))
        done = subprocess.run(command, input=golden.input, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=60)
        outputs.append(done.stdout + (done.stderr if wanted_exit else ""))
        if done.returncode != wanted_exit:
            return f"{path}: exit {done.returncode}, expected {wanted_exit}\n{done.stdout}{done.stderr}"
    output = f"{SEPARATOR}\n".join(outputs)
    faults = part_faults(golden, output)
    if faults:
        return f"{path}: " + "; ".join(faults) + f"\n{output}"
    partial = golden.all("expect") or golden.all("expect-not")
    if partial and not golden.whole or output == golden.expected:
        return ""
    if update:
        golden.write(output)
        return ""
    return "".join(difflib.unified_diff(golden.expected.splitlines(True), output.splitlines(True),
                                        f"{path} (expected)", f"{path} (output)"))


def main():
    parser = argparse.ArgumentParser(description="Runs golden files.")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    files = sorted(f for p in args.paths for f in (p.rglob("*.txt") if p.is_dir() else [p]))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda f: run_one(f, args.tool, args.update), files))
    failed = [text for text in results if text]
    for text in failed:
        print(text, end="" if text.endswith("\n") else "\n")
    print(f"golden: {len(files) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
