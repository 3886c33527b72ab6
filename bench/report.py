#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes Markdown tables (docs/performance.md) of the JSON lines of bench/suite.py."""
import argparse
import json
import math
import sys

SIDES = ("hlocc", "xla")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="JSON lines of bench/suite.py; later ones win")
    parser.add_argument("--worst", type=int, metavar="N", help="only the N worst ratios, as text")
    return parser.parse_args()


def read(files):
    """(heads, {program: {column: row}}, {program: error}): what the files say."""
    heads, table, errors = [], {}, {}
    for file in files:
        with open(file) as lines:
            for row in map(json.loads, lines):
                if "machine" in row:
                    heads.append(row)
                elif "error" in row:
                    errors[row["program"]] = row["error"]
                else:
                    table.setdefault(row["program"], {})[row["column"]] = row
    return heads, table, errors


def shown(seconds):
    """Three digits and a unit."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def ratio(rows, key):
    """How many times faster hlocc is than XLA; None where one is missing."""
    values = [rows.get(side, {}).get(key) for side in SIDES]
    return values[1] / values[0] if all(values) else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def run_table(table):
    others = sorted({c for rows in table.values() for c in rows} - set(SIDES))
    yield f"| program | hlocc | XLA:CPU | {''.join(f'{c} | ' for c in others)}XLA / hlocc | compile: hlocc | XLA:CPU | XLA / hlocc |"
    yield "|---" * (7 + len(others)) + "|"
    for name, rows in sorted(table.items()):
        cells = [shown(rows.get(c, {}).get("min_s")) for c in (*SIDES, *others)]
        cells.append(f"{ratio(rows, 'min_s'):.3g}" if ratio(rows, "min_s") else "")
        cells += [shown(rows.get(c, {}).get("compile_again_s")) for c in SIDES]
        cells.append(f"{ratio(rows, 'compile_again_s'):.3g}" if ratio(rows, "compile_again_s") else "")
        yield f"| {name} | {' | '.join(cells)} |"


def summary(table):
    for key, what in (("min_s", "run"), ("compile_again_s", "compile")):
        ratios = [r for r in (ratio(rows, key) for rows in table.values()) if r]
        if ratios:
            yield (f"{what}: geometric mean {geometric_mean(ratios):.3g}x of XLA:CPU's speed over "
                   f"{len(ratios)} programs, worst {min(ratios):.3g}x, {sum(r < 0.95 for r in ratios)} "
                   "below 0.95x")


def worst(table, count):
    ranked = sorted((ratio(rows, "min_s"), name) for name, rows in table.items()
                    if ratio(rows, "min_s"))
    for value, name in ranked[:count]:
        times = [shown(table[name][side]["min_s"]) for side in SIDES]
        yield f"{value:10.4f}x  {name:32} hlocc {times[0]:>9}  XLA {times[1]:>9}"


def page(heads, table, errors, files):
    yield "# Performance\n"
    yield f"Written by `bench/report.py {' '.join(files)}` from what `bench/suite.py` measured:"
    yield "the minimum of interleaved rounds, through JAX, on the same module bytes and inputs.\n"
    for head in heads[:1]:
        versions = ", ".join(f"{n} {v}" for n, v in head["versions"].items())
        yield f"{head['cores']} cores; {head['client']}; {versions}.\n"
    yield from (f"- {line}" for line in summary(table))
    yield ""
    yield from run_table(table)
    for name, error in sorted(errors.items()):
        yield f"\n`{name}` did not run: {error}"


def main():
    options = parse_arguments()
    heads, table, errors = read(options.files)
    lines = ([*worst(table, options.worst), *summary(table), *(f"{n}: {e}" for n, e in errors.items())]
             if options.worst else page(heads, table, errors, options.files))
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
