#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Long sums stay within the bound of docs/numerics.md. All elements are equal, so that the rounding errors
of a plain loop have one sign and exceed the bound.

  sums_test.py TOOL
"""
import array
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SUMS = [((200000, 8), [0]), ((100000, 40), [0]), ((20000, 300), [0]), ((60, 56, 56, 40), [0, 1, 2]),
        ((20, 6, 100, 130), [0, 2, 3]), ((60000, 3), [0]), ((20, 5000, 20), [1]), ((2500000,), [0]),
        ((3, 500000), [1]), ((3, 400000), [0, 1])]
TYPES = {"f32": ("f", "<f4", 2.0 ** -24), "f64": ("d", "<f8", 2.0 ** -53)}
TEXT = """func.func @main(%a: tensor<{shape}x{dtype}>) -> tensor<{result}{dtype}> {{
  %z = stablehlo.constant dense<0.0> : tensor<{dtype}>
  %s = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = {dims}
      : (tensor<{shape}x{dtype}>, tensor<{dtype}>) -> tensor<{result}{dtype}>
  return %s : tensor<{result}{dtype}>
}}
"""


def bound(count):
    """Relative to the sum of magnitudes, in units of the roundoff."""
    return 400 + 4 * math.log2(count)


def backends(tool):
    level = re.search(r"features: \w+ (\w+):", subprocess.run([tool, "info"], capture_output=True, text=True,
                                                              check=True).stdout)
    order = ["sse2", "sse4", "avx2", "avx512"]
    here = order.index(min(level.group(1), "avx512")) if level and level.group(1) in order + ["amx"] else -1
    yield from ((["--backend=native", f"--cpu={cpu}"]) for cpu in ("sse2", "avx2", "avx512")
                if order.index(cpu) <= here)
    if here < 0:
        yield ["--backend=native"]
    if shutil.which(os.environ.get("CC", "cc")):
        yield ["--backend=c"]


def write_npy(path, shape, code, text, value):
    head = f"{{'descr': '{text}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    data = array.array(code, [value]) * math.prod(shape)
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + data.tobytes())
    return data[0]


def numbers(printed, code):
    """All elements of a result: in hexadecimal if there are many, one if all are equal."""
    text = re.search(r"dense<(.*)> : ", printed).group(1)
    if text.startswith('"0x'):
        return array.array(code, bytes.fromhex(text[3:-1]))
    return [float(x) for x in re.findall(r"[^][, ]+", text)]


def fault(tool, options, folder, shape, dims, dtype):
    code, text, roundoff = TYPES[dtype]
    value = write_npy(folder / "a.npy", shape, code, text, 0.7)
    left = [extent for i, extent in enumerate(shape) if i not in dims]
    program = TEXT.format(shape="x".join(map(str, shape)), dtype=dtype, dims=dims,
                          result="".join(f"{extent}x" for extent in left))
    done = subprocess.run([tool, "run", *options, "--print", f"--input=@{folder / 'a.npy'}"], input=program,
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr
    count = math.prod(shape[i] for i in dims)
    sums = numbers(done.stdout, code)
    if len(sums) not in (1, math.prod(left)):
        return f"{len(sums)} sums"
    worst = max(abs(x - count * value) for x in sums) / (count * value) / roundoff
    return None if worst <= bound(count) else f"an error of {worst:.0f} units, at most {bound(count):.0f} are allowed"


def main():
    tool, bad = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:
        for options in backends(tool):
            for shape, dims in SUMS:
                for dtype in TYPES:
                    text = fault(tool, options, pathlib.Path(folder), shape, dims, dtype)
                    if text:
                        print(f"{' '.join(options)}: {dtype}{list(shape)} over {dims}: {text}")
                        bad += 1
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
