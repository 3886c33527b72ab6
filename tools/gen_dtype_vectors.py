#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/base/dtype_vectors_test.inl: checksums of conversions as NumPy and ml_dtypes do them.

The inputs are rebuilt by dtype_test.c from the same rules (all codes, midpoints and their
neighbours, a fixed pseudo-random sequence), so only one CRC-32 a case is stored.
"""
import sys
import zlib

import ml_dtypes
import numpy as np

SMALL = """float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3fn
float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu""".split()
BITS = {"float4_e2m1fn": 4, "float6_e2m3fn": 6, "float6_e3m2fn": 6, "bfloat16": 16, "float16": 16}
SAMPLE_COUNT = 1 << 16


def dtype(name):
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def uint(d):
    return {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[d.itemsize]


def codes(name):
    d = dtype(name)
    return np.arange(1 << BITS.get(name, 8), dtype=np.uint32).astype(uint(d)).view(d)


def samples():
    out, x = np.empty(SAMPLE_COUNT, np.uint32), 1
    for i in range(SAMPLE_COUNT):
        x = (x * 6364136223846793005 + 1442695040888963407) & (2**64 - 1)
        out[i] = x >> 32
    return out.view(np.float32)


def midpoints(name):
    """Both neighbours and the point itself between each two finite values, of both signs."""
    values = codes(name).astype(np.float64)
    values = np.unique(np.abs(values[np.isfinite(values)]))
    mids = (values[1:] + values[:-1]) / 2
    mids = np.append(mids, values[-1] + (values[-1] - values[-2]) / 2).astype(np.float32)
    inf = np.float32(np.inf)
    up = np.stack([np.nextafter(mids, -inf), mids, np.nextafter(mids, inf)], axis=1).reshape(-1)
    return np.concatenate([up, -up])


def crc(array):
    d = array.dtype
    bits = array.view(uint(d)).copy()
    if d in (np.dtype(np.float16), np.dtype(np.float32)):  # payloads of NaNs are left open
        quiet = {2: 0x7E00, 4: 0x7FC00000}[d.itemsize]
        nan = np.isnan(array)
        bits[nan] = (bits[nan] & (1 << (8 * d.itemsize - 1))) | quiet
    return zlib.crc32(bits.tobytes())


def main(path):
    np.seterr(all="ignore")
    rows = []
    for name in SMALL + ["float16", "bfloat16"]:
        d = dtype(name)
        rows.append((name, [
            crc(codes(name).astype(np.float32)),
            crc(codes("float16").astype(d)),
            crc(codes("bfloat16").astype(d)),
            crc(samples().astype(d)),
            crc(midpoints(name).astype(d)),
        ]))
    with open(path, "w") as f:
        f.write("// SPDX-License-Identifier: Apache-2.0\n"
                "// Written by tools/gen_dtype_vectors.py (ml_dtypes %s): name, CRC-32 of the results of\n"
                "// decoding all codes, of encoding all f16 and bf16 codes, random floats, and midpoints.\n"
                "// Doubles are left out: ml_dtypes rounds them twice, through float; hlocc rounds once.\n" % ml_dtypes.__version__)
        for name, sums in rows:
            f.write('{"%s", {%s}},\n' % (name, ", ".join("0x%08xu" % s for s in sums)))


if __name__ == "__main__":
    main(sys.argv[1])
