#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs samples of the tests of libraries that build on JAX on hlocc, and those that fail on XLA:CPU.

  libraries.py run --venv DIR --plugin FILE --out FILE [--library NAME ...] [--sample FRACTION]
                   [--checkout NAME=DIR ...]
  libraries.py table FILE

`run` installs the libraries into the virtual environment DIR, takes the tests from their source archives on
the package index (equinox, diffrax and jaxopt leave their tests out of those: name a checkout of the same
version), runs them in one process a library, and writes the outcomes as JSON. A test that ends its process
counts as crashed, and a new process continues after it. `table` prints the Markdown table of
docs/libraries.md.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import typing
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

class Library(typing.NamedTuple):
    """Where the archive or checkout has the tests, what they import besides the library, and the share of
    them that takes some minutes."""
    tests: str
    imports: list
    sample: float


LIBRARIES = {
    "optax": Library("optax", ["chex"], 0.03),
    "flax": Library("tests", ["chex", "einops", "cloudpickle", "treescope"], 0.06),
    "equinox": Library("tests", ["beartype", "psutil"], 0.25),
    "diffrax": Library("test", ["beartype", "scipy", "psutil"], 0.03),
    "numpyro": Library("test", ["scipy", "scikit-learn"], 0.01),
    "blackjax": Library("tests", ["chex", "scipy"], 0.02),
    "jaxopt": Library("tests", ["scikit-learn", "cvxpy"], 0.04),
}


def pip(venv, *arguments):
    subprocess.run([f"{venv}/bin/pip", "install", "--quiet", *arguments], check=True)


def install(venv, names):
    if not os.path.exists(f"{venv}/bin/python"):
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    extras = {package for name in names for package in LIBRARIES[name].imports}
    pip(venv, "--requirement", str(ROOT / "tools" / "requirements.txt"), *names, *sorted(extras))


def installed_version(venv, name):
    done = subprocess.run([f"{venv}/bin/pip", "show", name], check=True, capture_output=True, text=True)
    return re.search(r"^Version: (\S+)", done.stdout, re.M).group(1)


def source_archive(name, version, folder):
    """The unpacked source archive of the installed version; None if its tests are not in it."""
    target = folder / f"{name}-{version}"
    if not target.exists():
        index = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/") + f"/{name}/"
        with urllib.request.urlopen(index, timeout=60) as page:
            links = re.findall(r'href="([^"]+)"', page.read().decode())
        link = next(link for link in links if f"/{name}-{version}.tar.gz" in link)
        archive, _ = urllib.request.urlretrieve(urllib.parse.urljoin(index, link))
        subprocess.run(["tar", "-xzf", archive, "-C", folder], check=True)
    return target if any((target / LIBRARIES[name].tests).rglob("*test*.py")) else None


def read_journal(path):
    """The last outcome of each test."""
    outcomes = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            outcomes[entry["test"]] = (entry["outcome"], entry.get("message", ""))
    return outcomes


def run_tests(options, name, source, platform, only=()):
    """{test: [outcome, message]}. Runs until no process dies in a test any more."""
    journal = pathlib.Path(options.venv) / "sources" / f"{name}-{platform}.jsonl"
    environment = dict(os.environ, JAX_PLATFORMS=platform, HLOCC_LIBRARY_PATH=options.plugin,
                       PYTHONPATH=f"{ROOT / 'python'}:{HERE}", HLOCC_OUTCOMES=str(journal),
                       HLOCC_OUTCOMES_SAMPLE=str(options.sample or LIBRARIES[name].sample),
                       HLOCC_OUTCOMES_ONLY="\n".join(only))
    journal.unlink(missing_ok=True)
    while True:
        before = len(read_journal(journal))
        with open(journal.with_suffix(".log"), "w", encoding="utf-8") as log:
            done = subprocess.run([f"{options.venv}/bin/python", "-m", "pytest", "-q", "-p", "outcomes_plugin",
                                   "-p", "no:cacheprovider", "--continue-on-collection-errors",
                                   LIBRARIES[name].tests], cwd=source, env=environment, stdout=log,
                                  stderr=subprocess.STDOUT, check=False)
        if done.returncode >= 0 or len(read_journal(journal)) == before:
            break
    return {test: ["crashed", ""] if outcome == "started" else [outcome, message]
            for test, (outcome, message) in read_journal(journal).items()}


def run(options):
    names = options.library or list(LIBRARIES)
    checkouts = dict(item.split("=", 1) for item in options.checkout)
    install(options.venv, names)
    sources = pathlib.Path(options.venv) / "sources"
    sources.mkdir(exist_ok=True)
    out = pathlib.Path(options.out)
    results = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    for name in names:
        version = installed_version(options.venv, name)
        source = checkouts.get(name) or source_archive(name, version, sources)
        if source is None:
            print(f"{name} {version}: the source archive has no tests; name a checkout", flush=True)
            continue
        ours = run_tests(options, name, source, "hlocc")
        bad = [test for test, (outcome, _) in ours.items() if outcome not in ("passed", "skipped")]
        theirs = run_tests(options, name, source, "cpu", bad) if bad else {}
        results[name] = {"version": version, "sample": options.sample or LIBRARIES[name].sample, "hlocc": ours, "cpu": theirs}
        out.write_text(json.dumps(results, indent=1), encoding="utf-8")
        report(name, results[name])


def passing(outcomes):
    return {test for test, (outcome, _) in outcomes.items() if outcome == "passed"}


def failing(entry):
    """Tests that pass on XLA:CPU only."""
    return sorted(passing(entry["cpu"]) - passing(entry["hlocc"]))


def report(name, entry):
    print(f"{name} {entry['version']}: {len(passing(entry['hlocc']))} pass, "
          f"{len(failing(entry))} pass on XLA:CPU only", flush=True)
    for test in failing(entry):
        print("   ", test, *entry["hlocc"][test])


def table(options):
    results = json.loads(pathlib.Path(options.out).read_text(encoding="utf-8"))
    print("| library | version | sample | pass | pass on XLA:CPU only |\n|---|---|---:|---:|---:|")
    for name, entry in results.items():
        print(f"| {name} | {entry['version']} | {entry['sample']:.0%} | {len(passing(entry['hlocc']))} "
              f"| {len(failing(entry))} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    runner = commands.add_parser("run")
    runner.set_defaults(function=run)
    runner.add_argument("--venv", required=True)
    runner.add_argument("--plugin", required=True)
    runner.add_argument("--out", required=True)
    runner.add_argument("--library", action="append", choices=sorted(LIBRARIES))
    runner.add_argument("--sample", type=float)
    runner.add_argument("--checkout", action="append", default=[])
    tabler = commands.add_parser("table")
    tabler.set_defaults(function=table)
    tabler.add_argument("out")
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
