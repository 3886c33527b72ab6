#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/performance.md of the JSON lines of bench/suite.py and, if given, of pjrt_bench and jit.py.

The page has a section for each kind of processor; --merge keeps those of other processors."""
import argparse
import json
import math
import pathlib
import re
import sys

import chart

SIDES = ("hlocc", "xla")
SHORT_S = 20e-6  # calls whose time is mostly JAX's own
# Each picture: file, title, key of XLA's time, key of ours.
CHARTS = (("run", "XLA:CPU's time / hlocc's time, running", "min_s", None),
          ("compile", "XLA:CPU's time / hlocc's time, compiling (hlocc by the C driver)",
           "compile_again_s", "driver_compile_s"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="JSON lines; later ones win")
    parser.add_argument("--worst", type=int, metavar="N", help="only the N worst ratios, as text")
    parser.add_argument("--charts", metavar="FOLDER",
                        help="write the ratios as pictures as well: run-PROCESSOR.svg and compile-PROCESSOR.svg")
    parser.add_argument("--merge", metavar="PAGE", type=pathlib.Path,
                        help="write the page here, with the sections of other processors that it has")
    return parser.parse_args()


def read(files):
    """(heads, {program: {column: row}}, the same of bench/jit.py, {program: error}): what the files say."""
    heads, table, jits, errors = [], {}, {}, {}
    for file in files:
        with open(file) as lines:
            for row in map(json.loads, lines):
                if "machine" in row or "plugin" in row:
                    heads.append(row)
                elif "kind" in row:  # of the C driver
                    column = table.setdefault(row["program"], {}).setdefault("hlocc", {})
                    column[f"driver_{row['kind']}_s"] = row["min_s"]
                elif "error" in row:
                    errors[row["program"]] = row["error"]
                else:
                    rows = jits if "jit_s" in row else table
                    rows.setdefault(row["program"], {})[row["column"]] = row
    return heads, table, jits, errors


def shown(seconds):
    """Three digits and a unit."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def ratio(rows, key, own_key=None):
    """XLA's time divided by hlocc's; None if one is missing."""
    own, xla = rows.get("hlocc", {}).get(own_key or key), rows.get("xla", {}).get(key)
    return xla / own if own and xla else None


def best_ratio(rows, own_key="min_s"):
    """The time of the fastest other library divided by hlocc's."""
    times = [row["min_s"] for column, row in rows.items() if column != "hlocc" and "min_s" in row]
    own = rows.get("hlocc", {}).get(own_key)
    return min(times) / own if own and times else None


def direct_ratio(rows):
    """As best_ratio, but a call that JAX makes longer than it is, is timed without JAX."""
    own = rows.get("hlocc", {})
    is_short = own.get("min_s", math.inf) < SHORT_S and "driver_run_s" in own
    return best_ratio(rows, "driver_run_s" if is_short else "min_s")


def number(value):
    return f"{value:.3g}" if value else ""


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def other_columns(table):
    return sorted({c for rows in table.values() for c in rows} - set(SIDES))


def run_table(table):
    others = other_columns(table)
    heads = ["program", "hlocc", "XLA:CPU", *others, "XLA / hlocc"] + ["best / hlocc"] * bool(others)
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for name, rows in sorted(table.items()):
        if "min_s" in rows.get("hlocc", {}):
            cells = [shown(rows.get(c, {}).get("min_s")) for c in (*SIDES, *others)]
            cells += [number(ratio(rows, "min_s"))] + [number(best_ratio(rows))] * bool(others)
            yield f"| {name} | {' | '.join(cells)} |"


def compile_table(table):
    yield "| program | hlocc, C driver | hlocc, JAX | XLA:CPU, JAX | XLA / C driver | XLA / JAX |"
    yield "|---|---|---|---|---|---|"
    for name, rows in sorted(table.items()):
        own, xla = rows.get("hlocc", {}), rows.get("xla", {})
        if "compile_again_s" in xla:
            cells = [shown(own.get("driver_compile_s")), shown(own.get("compile_again_s")),
                     shown(xla["compile_again_s"]),
                     number(ratio(rows, "compile_again_s", "driver_compile_s")),
                     number(ratio(rows, "compile_again_s"))]
            yield f"| {name} | {' | '.join(cells)} |"


def over_nothing(rows):
    """hlocc's time divided by that of a plugin without a compiler."""
    return rows["hlocc"]["cpu_s"] / rows["nothing"]["cpu_s"] if "nothing" in rows else None


def jit_table(jits):
    yield "| program | compiles nothing | hlocc | XLA:CPU | hlocc / nothing | XLA / hlocc |"
    yield "|---|---|---|---|---|---|"
    for name, rows in jits.items():
        cells = [shown(rows.get(c, {}).get("cpu_s")) for c in ("nothing", *SIDES)]
        cells += [number(over_nothing(rows)), number(ratio(rows, "cpu_s"))]
        yield f"| {name} | {' | '.join(cells)} |"


def ratios_line(what, ratios, floor):
    return (f"{what}: geometric mean {geometric_mean(ratios):.3g}x of XLA:CPU's speed over "
            f"{len(ratios)} programs, worst {min(ratios):.3g}x, {sum(r < floor for r in ratios)} "
            f"below {floor}x")


def summary(table, jits):
    for what, key, own_key, floor in (("run", "min_s", None, 0.95),
                                      ("compile through JAX", "compile_again_s", None, 1),
                                      ("compile by the C driver", "compile_again_s",
                                       "driver_compile_s", 15)):
        ratios = [r for r in (ratio(rows, key, own_key) for rows in table.values()) if r]
        if ratios:
            yield ratios_line(what, ratios, floor)
    overs = [r for r in map(over_nothing, jits.values()) if r]
    if overs:
        yield (f"a first call, against a plugin that compiles nothing: geometric mean "
               f"{geometric_mean(overs):.3g} times as long over {len(overs)} programs, at most {max(overs):.3g}")
    bests = [r for r in map(best_ratio, table.values()) if r]
    if bests and other_columns(table):
        yield (f"run, against the fastest of XLA:CPU, {', '.join(other_columns(table))}: ahead in "
               f"{sum(r > 1 for r in bests)} of {len(bests)}, geometric mean "
               f"{geometric_mean(bests):.3g}x")
        directs = [r for r in map(direct_ratio, table.values()) if r]
        yield (f"the same with hlocc's calls below {shown(SHORT_S)} by the C driver, without JAX: "
               f"ahead in {sum(r > 1 for r in directs)}")
    for name, rows in table.items():
        if "driver_dispatch_s" in rows.get("hlocc", {}):
            yield f"launch to end, {name}, by the C driver: {shown(rows['hlocc']['driver_dispatch_s'])}"


def worst(table, count):
    ranked = sorted((ratio(rows, "min_s"), name) for name, rows in table.items()
                    if ratio(rows, "min_s"))
    for value, name in ranked[:count]:
        times = [shown(table[name][side]["min_s"]) for side in SIDES]
        yield f"{value:10.4f}x  {name:32} hlocc {times[0]:>9}  XLA {times[1]:>9}"


INTRODUCTION = """# Performance

Written by `bench/report.py` from what `bench/suite.py` measured, a section for each kind of processor:
the minimum of interleaved rounds, through JAX, on the same module bytes and inputs;
other libraries run the same computation as their users write it (`bench/peers.py`).
`make bench` measures all of it again on the machine at hand; `bench/report.py ... --merge docs/performance.md`
replaces the section of its processor.
"""


def suite_head(heads):
    return next((head for head in heads if "machine" in head), {})


def chart_file(name, processor):
    return f"{name}-{re.sub('[^a-z0-9]+', '-', processor.lower()).strip('-')}.svg"


def bars(table, key, own_key):
    """(XLA's time / hlocc's, program), worst first."""
    ratios = ((ratio(rows, key, own_key), name) for name, rows in table.items())
    return sorted(bar for bar in ratios if bar[0])


def section(heads, table, jits, errors, options):
    """The section of one processor, its heading first."""
    head = suite_head(heads)
    processor = head.get("processor", head.get("machine", "unknown"))
    yield f"## {processor}\n"
    if head:
        versions = ", ".join(f"{n} {v}" for n, v in head["versions"].items())
        yield f"{head['cores']} cores; {head['client'].splitlines()[-1]}; {versions}.\n"
    yield from (f"- {line}" for line in summary(table, jits))
    for name, title, *keys in CHARTS if options.charts else ():
        if bars(table, *keys):
            yield f"\n![{title}]({chart_file(name, processor)})"
    yield "\n### Run\n"
    yield from run_table(table)
    yield "\n### Compile\n"
    yield "The C driver (`pjrt_bench`) counts the time inside PJRT_Client_Compile; through JAX its own work adds to both.\n"
    yield from compile_table(table)
    if jits:
        yield "\n### First call\n"
        yield ("Tracing, lowering and compiling a function that JAX has not seen (`bench/jit.py`), beside a plugin that "
               "compiles nothing: JAX's own work. Time of all cores together.\n")
        yield from jit_table(jits)
    for name, error in sorted(errors.items()):
        yield f"\n`{name}` did not run: {error}"


def merged(old, new):
    """The page with the section `new`, and the sections of the page `old` under other headings."""
    sections = {part.split("\n", 1)[0]: part for part in re.split(r"^(?=## )", old, flags=re.MULTILINE)[1:]}
    sections[new.split("\n", 1)[0]] = new
    return "\n".join([INTRODUCTION, *(part.rstrip("\n") + "\n" for _, part in sorted(sections.items()))])


def main():
    options = parse_arguments()
    heads, table, jits, errors = read(options.files)
    if options.worst:
        lines = [*worst(table, options.worst), *summary(table, jits), *(f"{n}: {e}" for n, e in errors.items())]
        print("\n".join(lines))
    else:
        old = options.merge.read_text() if options.merge and options.merge.exists() else ""
        text = merged(old, "\n".join(section(heads, table, jits, errors, options)) + "\n")
        if options.merge:
            options.merge.write_text(text)
        else:
            sys.stdout.write(text)
    processor = suite_head(heads).get("processor", "unknown")
    for name, title, *keys in CHARTS if options.charts else ():
        if bars(table, *keys):
            path = pathlib.Path(options.charts) / chart_file(name, processor)
            path.write_text(chart.draw(bars(table, *keys), title))


if __name__ == "__main__":
    main()
