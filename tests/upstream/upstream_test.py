#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs other projects' test data where somebody has them on the machine.

  upstream_test.py TOOL [PYTHON PLUGIN]

STABLEHLO_DIR, a checkout of openxla/stablehlo: every versioned bytecode file is read, printed and read
back, the one of a future version is refused; every program of testdata and of the interpreter's tests runs
and passes its own checks. JAX_TESTS_DIR, the `tests` folder of a checkout of jax-ml/jax of the installed
version: a few of its files, on hlocc. Unset variables skip their part, saying so.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Upstream compares many of its programs with other tools' values, NaN bits and last digits included, and
# some cannot run alone; so many have to pass.
LEAST_PROGRAMS = 2930
JAX_FILES = ["lax_numpy_einsum_test.py", "lax_numpy_vectorize_test.py", "lax_numpy_setops_test.py",
             "lax_vmap_op_test.py", "xla_transform_test.py"]
JAX_FILES_OF_8_DEVICES = ["custom_partitioning_test.py", "device_test.py", "multi_device_test.py",
                          "python_callback_test.py", "shard_alike_test.py"]


def run(*command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, errors="replace",
                          env=dict(os.environ, **(env or {})))
    return done.returncode, done.stdout + done.stderr


def bytecode_fault(tool, path):
    code, text = run(tool, "check", str(path))
    if "future" in path.name:
        refused = code == 1 and "version" in text
        return None if refused else f"a future version is not refused by name: {text[:200]}"
    return None if code == 0 else text[:200]


def modules(folder):
    """Every module that checks itself: files of testdata whole, those of tests/interpret cut."""
    for path in sorted((folder / "stablehlo" / "testdata").rglob("*.mlir")):
        yield path.name, path.read_text(encoding="utf-8")
    for path in sorted((folder / "stablehlo" / "tests" / "interpret").glob("*.mlir")):
        for i, text in enumerate(re.split(r"^// -----\n", path.read_text(encoding="utf-8"), flags=re.M)):
            if "func" in text and "error" not in text.split("\n", 1)[0]:
                yield f"{path.name}#{i}", text


def module_fault(tool, text):
    with tempfile.NamedTemporaryFile("w", suffix=".mlir", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        code, output = run(tool, "run", "--subnormals=keep", file.name)
    return None if code == 0 else output[:200]


def check_all(kind, items, fault):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda item: (item[0], fault(item[1])), items))
    faults = [(name, text) for name, text in found if text]
    for name, text in faults:
        print(f"{kind} {name}: {text.strip()}")
    passed = len(found) - len(faults)
    print(f"{kind}: {passed} of {len(found)}")
    return passed, len(found)


def check_stablehlo(tool, folder):
    files = [(p.name, p) for p in sorted((folder / "stablehlo" / "tests").rglob("*.mlir.bc"))]
    read, count = check_all("bytecode", files, lambda path: bytecode_fault(tool, path))
    passed, _ = check_all("program", list(modules(folder)), lambda text: module_fault(tool, text))
    return (read < count) + (passed < LEAST_PROGRAMS)


def check_jax(python, plugin, folder):
    faults = 0
    for name in JAX_FILES + JAX_FILES_OF_8_DEVICES:
        env = {"JAX_PLATFORMS": "hlocc,cpu", "HLOCC_LIBRARY_PATH": plugin,
               "JAX_NUM_GENERATED_CASES": "3",
               "HLOCC_NUM_DEVICES": "8" if name in JAX_FILES_OF_8_DEVICES else "1"}
        code, text = run(python, "-m", "pytest", "-q", "--no-header", "-x", str(folder / name), env=env)
        print(f"jax {name}: {text.strip().splitlines()[-1]}")
        faults += code != 0
    return faults


def main():
    tool, folder, jax = sys.argv[1], os.environ.get("STABLEHLO_DIR"), os.environ.get("JAX_TESTS_DIR")
    faults = 0
    if folder:
        faults += check_stablehlo(tool, pathlib.Path(folder))
    else:
        print("STABLEHLO_DIR is not set: StableHLO's test data are left out")
    if jax and len(sys.argv) > 3:
        faults += check_jax(sys.argv[2], sys.argv[3], pathlib.Path(jax))
    else:
        print("JAX_TESTS_DIR is not set: JAX's tests are left out")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
