#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every back end gives the interpreter's results.

  backends_test.py TOOL [BACKEND...]   (native, vir, tile, tile_native and, where there is a C compiler, c)

Runs the modules of this folder (files may hold several, cut at `// -----`), the textual modules of
tests/bytecode and the quick ones of tests/programs on random arguments. Buffer plans are proved
(HLOCC_CHECK). Integers must be equal, floats close. The C compiler optimizes only the first module of each
file, because optimization should not change results and takes ten times as long.
"""
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HAS_CC = any(shutil.which(name) for name in [os.environ.get("HLOCC_CC") or "cc", "gcc", "clang"])
BACKENDS = ["native", "vir", "tile", "tile_native"] + ["c"] * HAS_CC
PROGRAMS = """add_100_args add_scalar chain_of_50_small_ops cholesky_256 cnn_small_train dus_in_scan_1000x1000
    gelu_layernorm_1e3 inv_256 lstm_scan_128 matmul_f32_256 mlp_train_digits qr_256 roll_elementwise_400
    scan_1e4_matvec16 scan_3x3_carry_1e4 unrolled_500_ops vmap_solve4_1e4 while_1e4_vec100""".split()
# Few programs for the C compiler, because it is slow.
C_PROGRAMS = "add_100_args cnn_small_train gelu_layernorm_1e3 mlp_train_digits scan_3x3_carry_1e4".split()
# Chains that multiply rounding errors on random arguments, systems that are nearly singular; tests/jax
# runs them on arguments that do not.
WILD = {"chain_of_50_small_ops", "lstm_scan_128", "unrolled_500_ops", "vmap_solve4_1e4"}
# A chaotic program: sums without FMA, in `tile` and on machines without it, take another branch.
SUM_WILD = {"scan_1e4_matvec16"}
HAS_FMA = os.environ.get("HLOCC_CPU") not in ("sse2", "sse4")
# Relative to the largest magnitude in the result, because sums have another order.
TOLERANCE = {"f64": 1e-9, "f32": 2e-4, "f16": 4e-3, "bf16": 3e-2, "complex<f32>": 2e-4, "complex<f64>": 1e-9}
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|0x[0-9A-Fa-f]+|inf|nan)|true|false")


def quick_compiler(folder):
    """The C compiler as a script that does not optimize."""
    path = pathlib.Path(folder) / "quick-cc"
    compiler = os.environ.get("HLOCC_CC") or next(name for name in ["cc", "gcc", "clang"] if shutil.which(name))
    path.write_text(f'#!/bin/sh\nexec {compiler} "$@" -O0\n', encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def run(tool, backend, path, compiler=""):
    env = dict(os.environ, HLOCC_BACKEND=backend, HLOCC_CHECK="1")
    if compiler:
        env["HLOCC_CC"] = compiler
    done = subprocess.run([tool, "run", "--random", "--print", path], env=env, timeout=900,
                          capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines(), done.stderr


FORMATS = {"f64": "d", "f32": "f", "f16": "e", "complex<f32>": "f", "complex<f64>": "d"}


def packed_numbers(text, element):
    """The values of a large result, printed as hexadecimal bytes; None when it is not."""
    packed = re.search(r'"0x([0-9A-F]+)"', text)
    if not packed:
        return None
    data = bytes.fromhex(packed.group(1))
    if element == "bf16":
        return [v for v, in struct.iter_unpack("<f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))]
    if element not in FORMATS:
        return list(data)
    return [v for v, in struct.iter_unpack("<" + FORMATS[element], data)]


def numbers(text):
    found = []
    for word in NUMBER.findall(text):
        if word in ("true", "false"):
            found.append(float(word == "true"))
        elif word.startswith("0x"):
            found.append(float(int(word, 16)))
        else:
            found.append(float(word))
    return found


def is_close(mine, theirs, bound):
    if math.isfinite(theirs) and math.isfinite(mine):
        return abs(mine - theirs) <= bound
    return mine == theirs or (math.isnan(mine) and math.isnan(theirs))


def line_fault(mine, theirs):
    """A description of the fault in a printed result, or None."""
    if mine == theirs:
        return None
    name = re.fullmatch(r"\s*tensor<(?:[\d?]+x)*(.*)>\s*", theirs.rsplit(":", 1)[-1]).group(1)
    tolerance = TOLERANCE.get(name)
    mine_values, values = packed_numbers(mine, name), packed_numbers(theirs, name)
    if mine_values is None or values is None:
        mine_values, values = numbers(mine.rsplit(":", 1)[0]), numbers(theirs.rsplit(":", 1)[0])
    if tolerance is None or len(mine_values) != len(values):
        return f"found {mine[:200]}, expected {theirs[:200]}"
    bound = tolerance * max([abs(v) for v in values if math.isfinite(v)], default=1.0)
    for m, v in zip(mine_values, values):
        if not is_close(m, v, bound):
            return f"found {m}, expected {v} within {bound}"
    return None


def faults(tool, backend, path, expected, compiler=""):
    code, lines, error = run(tool, backend, path, compiler)
    if code != expected[0] or len(lines) != len(expected[1]):
        return [f"exit {code}, expected {expected[0]}: {error}"]
    found = [line_fault(mine, theirs) for mine, theirs in zip(lines, expected[1])]
    return [f"result line {i}: {fault}" for i, fault in enumerate(found) if fault]


def modules(folder):
    """Yields (name, path) of every module."""
    for file in sorted(HERE.glob("*.mlir")):
        for i, text in enumerate(re.split(r"^// -----\n", file.read_text(encoding="utf-8"), flags=re.M)):
            path = pathlib.Path(folder) / f"{file.stem}.{i}.mlir"
            path.write_text(text, encoding="utf-8")
            yield f"{file.stem}#{i}", path
    for file in sorted((HERE.parent / "bytecode").glob("*.mlir")):
        yield file.stem, file
    for name in PROGRAMS:
        if name in WILD:
            continue
        yield name, HERE.parent / "programs" / "one-device" / f"{name}.mlirbc"


def main():
    tool, backends = sys.argv[1], sys.argv[2:] or BACKENDS
    count = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # of the C compiler's work
        quick = quick_compiler(folder) if HAS_CC else ""
        for name, path in modules(folder):
            expected = run(tool, "interp", path)
            for backend in backends:
                if backend == "c" and name in PROGRAMS and name not in C_PROGRAMS:
                    continue
                if (backend == "tile" or not HAS_FMA) and name in SUM_WILD:
                    continue
                count += 1
                for fault in faults(tool, backend, path, expected, "" if name.endswith("#0") else quick):
                    bad += 1
                    print(f"{name} by {backend}: {fault}")
            if name.split("#")[0] in ("control", "convolutions", "found", "loops", "products", "scatters", "short_integers",
                                      "bodies", "functions", "forms", "quantized", "extra_outputs", "library_calls", "concurrent_groups", "windows") and expected[0] != 0:
                bad += "?x" not in path.read_text(encoding="utf-8")
                print(f"{name} by interp: {expected[2]}")
    print(f"{count} runs, {bad} faults")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
