#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the words and the language of the code (CONTRIBUTING.md, "Words and language").

Counts, in C sources and Markdown pages: names made of words that have a standard term, comments in a
manner to leave behind, names in headers without the project's prefix, and comments of definitions
that say what the header says already. Commit subjects stay within 72 characters. The limits of
tools/language_limits.txt only ever fall; `--update` writes the counts of today where they are lower.
With --list every finding is printed.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMITS = ROOT / "tools" / "language_limits.txt"
SUBJECT_MAX = 72
SUBJECTS_SINCE = "bba950b"  # where the rule begins

# Word of a name -> standard term; where a path matches the exception, the word has its plain meaning.
WORDS = {
    "digit": ("loop, mode", r"lex|text|print|parse|schema|shrink|accuracy|asm|sse|sort_radix|mutator|listing"),
    "digits": ("loops, modes", r"lex|text|print|parse|schema|shrink|accuracy|asm|sse|sort_radix|mutator|listing"),
    "wish": ("split request", None),
    "stay": ("live range", r"_test"),
    "placing": ("node state", None),
    "weave": ("interleave", None),
    "woven": ("interleaved", None),
    "hasty": ("optimistic", None),
    "haste": ("optimism", None),
    "refuted": ("rejected", None),
    "everywhere": ("duplicated", None),
    "sibling": ("fused reduction", None),
    "siblings": ("fused reductions", None),
    "team": ("concurrent group", None),
    "teams": ("concurrent groups", None),
    "meeting": ("rendezvous", None),
    "parcel": ("message", None),
    "watch": ("memory check", None),
    "behind": ("after", r"_test"),
    "turned": ("transposed, swapped", None),
    "producer": ("prologue", r"bytecode|schema|tiles/group|ptx/kernel"),  # warps that copy
}
# Phrases of comments and messages -> what to write.
PHRASES = {
    r"^[/\s*]*Whether\b": "Returns true if ...",
    r"(?:^[/\s*]*|[.:;] )What\b(?![^.]*\?)": "name the subject",
    r"\bbehind\b": "after, past",
    r"\b(?:there )?(?:is|are) none\b": "say what is missing",
    r"\bso many\b": "give the number a name",
    r"\bin truth\b": "really; or leave it out",
    r"\bnothing of (?:it|them|theirs)\b": "name the subject",
    r"\bdigits? of (?:the|a) (?:output|reduction|loop|space)": "loop",
    r"\b(?:wish(?:es)?|hasty|refuted|woven|weav\w+|parcels?)\b": "the standard term",
}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
DECLARED = re.compile(r"^(?:static inline |extern )?(?:const |unsigned |struct |enum )*\w+[\s*]+(\w+)\(", re.M)
TYPEDEF = re.compile(r"^(?:typedef [^;{]*?\b(\w+)(?:\[\d+\])?;|\} (\w+);)", re.M)
TAG = re.compile(r"^(?:typedef )?(?:struct|enum|union) (\w+) \{", re.M)
PREFIX = re.compile(r"^(?:hlo_|HLO_|hlocc_|HLOCC_|PJRT_|_|GetPjrtApi|XLA_|Xla|LLVMFuzzer)")


def sources(*suffixes):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    paths = (ROOT / line for line in out.splitlines())
    return [p for p in sorted(set(paths)) if p.suffix in suffixes and p.is_file()]


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def word_findings(path, text):
    code = STRING.sub('""', COMMENT.sub("", text))
    for match in NAME.finditer(code):
        for part in match.group().lower().split("_"):
            term, exception = WORDS.get(part, (None, None))
            if term and not (exception and re.search(exception, path)):
                yield line_of(code, match.start()), f"{match.group()}: {part} -> {term}"


def comment_findings(text):
    """Runs of // comments and the strings of C text, phrase by phrase."""
    for number, line in enumerate(text.split("\n"), 1):
        for part in COMMENT.findall(line) + STRING.findall(line):
            for pattern, advice in PHRASES.items():
                for match in re.finditer(pattern, part):
                    yield number, f"{match.group().strip()}: {advice}"


def page_findings(text):
    for number, line in enumerate(text.split("\n"), 1):
        for pattern, advice in PHRASES.items():
            for match in re.finditer(pattern, line):
                yield number, f"{match.group().strip()}: {advice}"


def prefix_findings(text):
    code = STRING.sub('""', COMMENT.sub("", text))
    for pattern in (DECLARED, TYPEDEF, TAG):
        for match in pattern.finditer(code):
            name = next(g for g in match.groups() if g)
            if not PREFIX.match(name):
                yield line_of(code, match.start()), f"{name}: names in headers begin with hlo_"


def documented(text):
    """Functions with a comment right above: name -> line."""
    found = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = DECLARED.match(line)
        if match and number and lines[number - 1].lstrip().startswith("//"):
            found[match.group(1)] = number + 1
    return found


def repeated_findings(headers, files):
    declared = {}
    for path in headers:
        declared.update(dict.fromkeys(documented(path.read_text(encoding="utf-8")), path))
    for path in files:
        for name, line in documented(path.read_text(encoding="utf-8")).items():
            if name in declared and name.startswith("hlo"):
                yield str(path.relative_to(ROOT)), line, f"{name}: described in {declared[name].name}, too"


def tag_findings(files):
    first = {}
    for path in files:
        for match in TAG.finditer(path.read_text(encoding="utf-8")):
            tag = match.group(1)
            if not tag.startswith("hlo_"):
                continue
            if tag in first and first[tag] != path:
                yield str(path.relative_to(ROOT)), 1, f"struct {tag}: also in {first[tag].relative_to(ROOT)}"
            first.setdefault(tag, path)


def subject_findings():
    done = subprocess.run(["git", "log", "--format=%h %s", f"{SUBJECTS_SINCE}..HEAD"], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in done.stdout.splitlines() if done.returncode == 0 else ():
        commit, _, subject = line.partition(" ")
        if len(subject) > SUBJECT_MAX:
            yield commit, 1, f"{len(subject)} characters: {subject}"


def findings():
    """Yields (kind, path, line, text)."""
    files = [p for p in sources(".c", ".h", ".inl", ".def") if p.relative_to(ROOT).parts[0] == "src"]
    headers = [p for p in files if p.suffix == ".h"]
    for path in files:
        text, name = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
        for line, found in word_findings(name, text):
            yield "words", name, line, found
        for line, found in comment_findings(text):
            yield "phrases", name, line, found
    for path in headers:
        for line, found in prefix_findings(path.read_text(encoding="utf-8")):
            yield "prefixes", str(path.relative_to(ROOT)), line, found
    for path in sources(".md"):
        for line, found in page_findings(path.read_text(encoding="utf-8")):
            yield "pages", str(path.relative_to(ROOT)), line, found
    yield from (("repeated", *found) for found in repeated_findings(headers, [p for p in files if p.suffix == ".c"]))
    yield from (("tags", *found) for found in tag_findings(files))
    yield from (("subjects", *found) for found in subject_findings())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", metavar="KIND|PATH", nargs="?", const="", help="print findings of a kind or path")
    parser.add_argument("--update", action="store_true", help="lower the limits to the counts of today")
    args = parser.parse_args()
    limits = dict(line.split() for line in LIMITS.read_text().splitlines() if line and line[0] != "#")
    counts = dict.fromkeys(limits, 0)
    for kind, path, line, found in findings():
        counts[kind] = counts.get(kind, 0) + 1
        if args.list is not None and (args.list in ("", kind) or path.startswith(args.list)):
            print(f"{path}:{line}: {kind}: {found}")
    over = [kind for kind, count in counts.items() if count > int(limits.get(kind, 0))]
    for kind in over:
        print(f"language_rules: {counts[kind]} findings of {kind}, at most {limits.get(kind, 0)} "
              f"(tools/language_rules.py --list {kind})")
    if args.update:
        head = [line for line in LIMITS.read_text().splitlines() if line.startswith("#")]
        rows = [f"{kind} {min(count, int(limits.get(kind, count)))}" for kind, count in counts.items()]
        LIMITS.write_text("\n".join(head + rows) + "\n")
    if not over:
        print("language_rules: OK (" + ", ".join(f"{k} {v}" for k, v in counts.items()) + ")")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
