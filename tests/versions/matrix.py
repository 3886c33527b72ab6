#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks one build of the plugin under every supported version of JAX.

    matrix.py --library PLUGIN [--environments FOLDER] [--readme README.md] [--update] [VERSION ...]

Makes a virtual environment for each version with the oldest Python that runs it, runs features.py there,
then loads the programs that each version exported under the newest one. Prints the table that the README
has; fails if a feature fails or, with --readme, if the table there differs. A version for which this
machine has no Python is named and left out of the comparison.
"""
import argparse
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# The last release of each series, and the oldest Python that it supports (3.11 for hlocc).
VERSIONS = {"0.6.2": (3, 11), "0.7.2": (3, 11), "0.8.3": (3, 11), "0.9.2": (3, 11), "0.10.2": (3, 11),
            "0.11.2": (3, 12), "0.12.0.1": (3, 12)}
TABLE = re.compile(r"^\| jax \| StableHLO it sends \|.*?(?=\n\n)", re.M | re.S)


def interpreters():
    """The Pythons of this machine that can make virtual environments, by version."""
    found = {}
    pyenv = os.environ.get("PYENV_ROOT", str(pathlib.Path.home() / ".pyenv"))
    names = [sys.executable, "/usr/bin/python3", *glob.glob(f"{pyenv}/versions/*/bin/python"),
             *(shutil.which(f"python3.{minor}") for minor in range(11, 20))]
    for name in filter(None, names):
        asked = subprocess.run([name, "-c", "import ensurepip, venv, sys; print(*sys.version_info[:2])"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        if asked.returncode == 0:
            found.setdefault(tuple(map(int, asked.stdout.split())), name)
    return found


def make_environment(folder, python, version):
    """Returns the Python of an environment with that version of JAX."""
    stamp = folder / f".jax-{version}"
    if not stamp.exists():
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", "--no-compile",
                        "--disable-pip-version-check", f"jax=={version}", f"jaxlib=={version}", "flatbuffers"],
                       check=True)
        stamp.touch()
    return folder / "bin" / "python"


def run_features(python, library, *arguments):
    """The report of features.py; a process that ends without one failed as a whole."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_", "HLOCC_"))}
    environment |= {"JAX_PLATFORMS": "hlocc", "HLOCC_LIBRARY_PATH": str(library),
                    "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([python, HERE / "features.py", *arguments], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, check=False)
    if done.returncode:
        return {"failures": {"process": done.stderr[-2000:] or f"ended with {done.returncode}"}}
    return json.loads(done.stdout.splitlines()[-1])


def check(version, python, library, programs):
    """Runs the features under one version; prints failures; returns the report."""
    report = run_features(python, library, programs / version)
    failed = {name: text for name, text in report["failures"].items() if text}
    print(f"jax {version}: {len(report['failures']) - len(failed)} of {len(report['failures'])} features pass",
          flush=True)
    for name, text in failed.items():
        print(f"  {name}: {text}")
    return report


def table(reports):
    features = next(iter(reports.values()))["failures"]
    lines = ["| jax | StableHLO it sends | features that pass | its exports run under the newest jax |",
             "|---|---|---|---|"]
    loads = {"yes": "yes", "module": "their StableHLO does; jax itself refuses exports of that age"}
    for version, report in reports.items():
        passed = sum(report["failures"].get(name, "missing") is None for name in features)
        lines.append(f"| {version} | {report.get('stablehlo')} | {passed} of {len(features)} | "
                     f"{loads.get(report['loads'], 'no')} |")
    return "\n".join(lines)


def rows_that_differ(readme, printed):
    """Rows of the printed table that the page lacks."""
    shown = TABLE.search(readme)
    rows = shown.group().splitlines() if shown else []
    return [row for row in printed.splitlines() if row not in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="*", default=list(VERSIONS), metavar="VERSION")
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--environments", type=pathlib.Path, default=ROOT / "build" / "versions")
    parser.add_argument("--readme", type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="writes the table into the page")
    args = parser.parse_args()
    library, pythons = args.library.resolve(), interpreters()
    environments, reports, skipped = {}, {}, []
    with tempfile.TemporaryDirectory() as folder:
        programs = pathlib.Path(folder)
        for version in args.versions:
            chosen = min((v for v in pythons if v >= VERSIONS[version]), default=None)
            if chosen is None:
                needed = ".".join(map(str, VERSIONS[version]))
                print(f"jax {version}: not checked, needs Python {needed}, which this machine lacks")
                skipped.append(version)
                continue
            environments[version] = make_environment(args.environments / version, pythons[chosen], version)
            reports[version] = check(version, environments[version], library, programs)
        newest = list(environments)[-1]
        for version, report in reports.items():
            loaded = run_features(environments[newest], library, programs / version, "--load")
            report["loads"] = loaded.get("loads")
            if not report["loads"]:
                print(f"programs of jax {version} under {newest}: {loaded['failures']}")
    printed = table(reports)
    print(printed)
    failed = sum(bool(text) for r in reports.values() for text in r["failures"].values())
    failed += sum(not r["loads"] for r in reports.values())
    if args.readme and args.update:
        args.readme.write_text(TABLE.sub(lambda _: printed, args.readme.read_text()))
    elif args.readme:
        for row in rows_that_differ(args.readme.read_text(), printed):
            print(f"{args.readme} lacks: {row}")
            failed += 1
    print(f"{len(reports)} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
