#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes src/codegen/math/coefficients.h: minimax polynomials by the Remez exchange (needs mpmath).

Coefficients are rounded one after another, lowest first, and the rest fitted again, so that the errors
of rounding the important ones are made up for. It rewrites the header; with names as arguments, only
these tables of it.
"""
import pathlib
import re
import struct
import sys

import mpmath as mp

mp.mp.dps = 40
HEADER = pathlib.Path(__file__).resolve().parent.parent / "src/codegen/math/coefficients.h"
TOP = """// SPDX-License-Identifier: Apache-2.0
// Coefficients of polynomials, lowest power first, with the largest error of each relative to the
// function it stands for.
// source: minimax fits by tools/math_coefficients.py
#pragma once

// clang-format off
"""
BOTTOM = "\n// clang-format on\n"


def to_f32(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_f64(x):
    return mp.mpf(float(x))


def solve(f, weight, points, powers):
    """The polynomial whose weighted error is +E, -E, +E ... at the points; its coefficients and E."""
    n = len(points)
    matrix, right = mp.matrix(n, n), mp.matrix(n, 1)
    for i, x in enumerate(points):
        for j, k in enumerate(powers):
            matrix[i, j] = x**k
        matrix[i, n - 1] = weight(x) if i % 2 else -weight(x)
        right[i] = f(x)
    solution = mp.lu_solve(matrix, right)
    return [solution[j] for j in range(n - 1)], solution[n - 1]


def extrema(errors):
    """Indices of the largest error of each run of equal sign."""
    found, best = [], 0
    for i in range(1, len(errors)):
        if (errors[i] > 0) != (errors[best] > 0):
            found.append(best)
            best = i
        elif abs(errors[i]) > abs(errors[best]):
            best = i
    return found + [best]


def vertex(xs, ys):
    """The extremum of the parabola through three points; the middle point if that is outside."""
    (x0, x1, x2), (y0, y1, y2) = xs, ys
    bottom = 2 * ((x1 - x0) * (y1 - y2) - (x1 - x2) * (y1 - y0))
    if bottom == 0:
        return x1
    x = x1 - ((x1 - x0)**2 * (y1 - y2) - (x1 - x2)**2 * (y1 - y0)) / bottom
    return x if x0 < x < x2 else x1


def remez(f, weight, low, high, powers):
    """Coefficients of the polynomial with the least largest weighted error, and that error."""
    low, high = mp.mpf(low), mp.mpf(high)
    n = len(powers) + 1
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle - half * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]
    grid = [middle - half * mp.cos(mp.pi * i / (24 * n)) for i in range(24 * n + 1)]
    values, weights = [f(x) for x in grid], [weight(x) for x in grid]
    best = None
    for _ in range(25):
        coefficients, level = solve(f, weight, points, powers)
        errors = [(sum(c * x**k for c, k in zip(coefficients, powers)) - v) / w
                  for x, v, w in zip(grid, values, weights)]
        largest = max(abs(e) for e in errors)
        if best is None or largest < best[1]:
            best = (coefficients, largest)
        peaks = extrema(errors)
        while len(peaks) > n:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if len(peaks) < n or largest < abs(level) * mp.mpf("1.002"):
            break
        points = [grid[i] if i in (0, len(grid) - 1)
                  else vertex(grid[i - 1:i + 2], errors[i - 1:i + 2]) for i in peaks]
    return best


def fit(f, weight, low, high, count, rounded):
    """Rounded coefficients and the largest error they leave. Where x may be as large as 1, all of them are
    as important."""
    known = []
    steps = count - 1 if rounded is to_f32 else min(3, count - 1)
    for sequential in range(0 if low == -1 else steps):
        rest = list(range(sequential, count))
        coefficients, _ = remez(lambda x: f(x) - mp.polyval(known[::-1], x), weight, low, high, rest)
        known.append(rounded(coefficients[0]))
    rest = list(range(len(known), count))
    coefficients, _ = remez(lambda x: f(x) - mp.polyval(known[::-1], x), weight, low, high, rest)
    known += [rounded(c) for c in coefficients]
    points = [low + (mp.mpf(high) - low) * i / 400 for i in range(401)]
    return known, max(abs((mp.polyval(known[::-1], x) - f(x)) / weight(x)) for x in points)


def text_of(name, comment, coefficients, error):
    items = [re.sub(r"\.?0+p", "p", float(c).hex()) for c in coefficients]
    lines, line = [], "   "
    for i, item in enumerate(items):
        item = f" {item}" + ("" if i == len(items) - 1 else ",")
        if len(line) + len(item) > 98:
            lines.append(line)
            line = "   "
        line += item
    body = "\n".join(lines + [line])
    return (f"\n// {comment}: 2^{float(mp.log(error, 2)):.1f}\n"
            f"static const double {name}[] = {{\n{body}}};\n")


def table_of_inverse_pi():
    """Rows of 2^(16 g - 1075) / pi modulo 2, for g from 64 on, each as the sum of four doubles."""
    rows = []
    with mp.workdps(400):
        for group in range(64, 128):
            rest = mp.ldexp(1 / mp.pi, 16 * group - 1075)
            rest -= 2 * mp.nint(rest / 2)
            row = []
            for _ in range(4):
                row.append(float(rest))
                rest -= mp.mpf(row[-1])
            rows.append("    " + ", ".join(part.hex() for part in row))
    return ("\n// 2^(16 g - 1075) / pi modulo 2 in four parts, g from 64 to 127 (trig.c)\n"
            "static const double inverse_pi[] = {\n" + ",\n".join(rows) + "};\n")


# ---- functions of the fits ------------------------------------------------------------------------
# Each is paired with the weight that makes the error relative to the whole function. Near a removable
# singularity both are their limits (the weight: large).

LARGE = mp.mpf(10)**18
TINY = mp.mpf(10)**-12


def exp_rest(r):
    return (mp.expm1(r) - r) / r**2 if abs(r) > TINY else mp.mpf(1) / 2


def exp_weight(r):
    return mp.exp(r) / r**2 if abs(r) > mp.mpf(10)**-6 else mp.mpf(10)**12


def log_rest(f):
    return (mp.log1p(f) - f + f * f / 2) / f**3 if abs(f) > TINY else mp.mpf(1) / 3


def log_weight(f):
    return abs(mp.log1p(f) / f**3) if abs(f) > mp.mpf(10)**-6 else LARGE


def exp2_rest(r):
    return (mp.mpf(2)**r - 1) / r if abs(r) > TINY else mp.log(2)


def exp2_weight(r):
    return mp.mpf(2)**r / abs(r) if abs(r) > mp.mpf(10)**-6 else LARGE


def artanh_rest(z):
    """(artanh(s) / s - 1 - z / 3) / z^2 of z = s^2."""
    s = mp.sqrt(z)
    return (mp.atanh(s) / s - 1 - z / 3) / z**2 if z > mp.mpf(10)**-8 else mp.mpf(1) / 5 + z / 7


def artanh_rest_weight(z):
    return 1 / z**2 if z > mp.mpf(10)**-8 else LARGE


def gamma_rest(v):
    """lgamma(2 + v) / (v (1 + v))."""
    if abs(v) < TINY:
        return 1 - mp.euler
    return mp.loggamma(2 + v) / (v * (v + 1)) if abs(v + 1) > TINY else mp.euler


def stirling_rest(z):
    """The remainder of lgamma(x), times x, as a function of z = 1 / x^2."""
    if z < mp.mpf(10)**-8:
        return mp.mpf(1) / 12 - z / 360
    x = 1 / mp.sqrt(z)
    return (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def odd_rest(function, cubic):
    """(function(s) - c s) / s^3 of z = s^2, with the weight; c is the slope, `cubic` the limit."""
    slope = mp.diff(function, 0)

    def rest(z):
        s = mp.sqrt(z)
        return (function(s) - slope * s) / s**3 if s > mp.mpf(10)**-9 else cubic

    def weight(z):
        s = mp.sqrt(z)
        return abs(function(s)) / s**3 if s > mp.mpf(10)**-6 else LARGE

    return rest, weight


def per_argument(function):
    """function(x) / x of z = x^2."""
    slope = mp.diff(function, 0)
    return lambda z: function(mp.sqrt(z)) / mp.sqrt(z) if z > TINY**2 else slope


def erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def erfc_root(x):
    return mp.erfc(x)**(mp.mpf(1) / 8)


def erf_inverse(w):
    """erfinv(x) / x with x = sqrt(1 - exp(-w))."""
    x = mp.sqrt(-mp.expm1(-w))
    return mp.erfinv(x) / x if x > mp.mpf(10)**-9 else mp.sqrt(mp.pi) / 2


def shepherd(t):
    """(1 + 2x) erfcx(x) with t = (x - 3) / (x + 3)."""
    x = 3 * (1 + t) / (1 - t)
    return (1 + 2 * x) * erfcx(x)


def all_fits():
    """Rows: name, comment, function, weight, interval, count, rounding, factor, coefficients before."""
    half_log2 = mp.log(2) / 2 * mp.mpf("1.001")
    root_half, root = mp.sqrt(mp.mpf(1) / 2), mp.sqrt(2)
    log_low, log_high = root_half - 1, root - 1
    artanh, artanh_weight = odd_rest(lambda s: 2 * mp.atanh(s), mp.mpf(2) / 3)
    artanh_high = ((root - 1) / (root + 1))**2 * mp.mpf("1.0001")
    sine, sine_weight = odd_rest(mp.sin, -mp.mpf(1) / 6)
    sine_high = (mp.pi / 2 * mp.mpf("1.002"))**2
    erf = per_argument(mp.erf)
    tan, tan_weight = odd_rest(mp.tan, mp.mpf(1) / 3)
    atan, atan_weight = odd_rest(mp.atan, -mp.mpf(1) / 3)
    central, tail = lambda t: erf_inverse(t + 3.125), lambda t: erf_inverse((t + 4)**2)
    shepherd_of = lambda x: (x - 3) / (x + 3)
    logs = "on [sqrt(1/2) - 1, sqrt(2) - 1]"
    return [
        ("exp_f32", "2 exp(r), |r| <= log(2) / 2", exp_rest, exp_weight, -half_log2, half_log2, 5,
         to_f32, 2, [2, 2]),
        ("exp_f64", "2 exp(r), |r| <= log(2) / 2", exp_rest, exp_weight, -half_log2, half_log2, 10,
         to_f64, 2, [2, 2]),
        ("log_f32", f"(log(1 + f) - f + f^2 / 2) / f^3 {logs}", log_rest, log_weight, log_low,
         log_high, 8, to_f32, 1, []),
        ("log_f64", "(2 artanh(s) - 2 s) / s^3 in s^2; log(1 + f) = 2 artanh(f / (2 + f))", artanh,
         artanh_weight, 0, artanh_high, 7, to_f64, 1, []),
        ("exp2_f32", "2 2^r, |r| <= 1/2", exp2_rest, exp2_weight, -mp.mpf("0.502"), mp.mpf("0.502"), 7,
         to_f32, 2, [2]),
        ("exp2_f64", "2 2^r, |r| <= 1/2", exp2_rest, exp2_weight, -mp.mpf("0.502"), mp.mpf("0.502"), 11,
         to_f64, 2, [2]),
        ("log2_f32", "(artanh(s) / s - 1 - s^2 / 3) / s^4 in s^2; the error is that of artanh(s)",
         artanh_rest, artanh_rest_weight, 0, artanh_high, 3, to_f32, 1, []),
        ("log2_f64", "the same", artanh_rest, artanh_rest_weight, 0, artanh_high, 7, to_f64, 1, []),
        ("sin_f32", "(sin(r) - r) / r^3 in r^2, |r| <= pi / 2", sine, sine_weight, 0, sine_high, 4,
         to_f32, 1, []),
        ("sin_f64", "(sin(r) - r) / r^3 in r^2, |r| <= pi / 2", sine, sine_weight, 0, sine_high, 8,
         to_f64, 1, []),
        ("tan_f32", "(tan(r) - r) / r^3 in r^2, |r| <= pi / 4", tan, tan_weight, 0, sine_high / 4, 7,
         to_f32, 1, []),
        ("tan_f64", "(tan(r) - r) / r^3 in r^2, |r| <= pi / 4", tan, tan_weight, 0, sine_high / 4, 15,
         to_f64, 1, []),
        ("atan_f64", "(atan(t) - t) / t^3 in t^2, |t| <= tan(pi / 8)", atan, atan_weight, 0,
         (root - 1)**2 * mp.mpf("1.0001"), 11, to_f64, 1, []),
        ("atan_f32", "(atan(t) - t) / t^3 in t^2, |t| <= 1", atan, atan_weight, 0, mp.mpf("1.0001"), 9,
         to_f32, 1, []),
        ("erf_inv_central", "erfinv(x) / x - 1 in w - 25/8, w = -log(1 - x^2) <= 25/4", lambda t: central(t) - 1, central,
         -mp.mpf("3.125"), mp.mpf("3.13"), 13, to_f64, 1, []),
        ("erf_inv_tail", "erfinv(x) / x - 1 in sqrt(w) - 4, 5/2 <= sqrt(w) <= 6.2", lambda t: tail(t) - 1, tail, -1.5, 2.2,
         14, to_f64, 1, []),
        ("erf_inv_central_f32", "erfinv(x) / x - 1 in w - 5/2, w = -log(1 - x^2) <= 5",
         lambda t: erf_inverse(t + 2.5) - 1, lambda t: erf_inverse(t + 2.5), -mp.mpf("2.5"),
         mp.mpf("2.51"), 11, to_f32, 1, []),
        ("erf_inv_tail_f32", "erfinv(x) / x - 1 in sqrt(w) - 3, sqrt(5) <= sqrt(w) <= 4.1",
         lambda t: erf_inverse((t + 3)**2) - 1, lambda t: erf_inverse((t + 3)**2), -mp.mpf("0.77"),
         mp.mpf("1.1"), 11, to_f32, 1, []),
        ("erf_f32", "erf(x) / x - 1 in x^2, |x| <= 1.1; the error is that of erf(x) / x",
         lambda z: erf(z) - 1, erf, 0, mp.mpf("1.1")**2, 7, to_f32, 1, []),
        ("erfc_root_f32", "erfc(x)^(1/8), 1.1 <= x <= 4; the error is that of erf(x)", erfc_root,
         lambda x: mp.erf(x) / (8 * erfc_root(x)**7), mp.mpf("1.09"), 4, 7, to_f32, 1, []),
        ("erf_f64", "erf(x) / x in x^2, |x| <= 1", erf, erf, 0, mp.mpf("1.001"), 12, to_f64, 1, []),
        ("erfcx_f32", "(1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3), 0.48 <= x <= 10.1", shepherd,
         shepherd, shepherd_of(mp.mpf("0.48")), shepherd_of(mp.mpf("10.1")), 10, to_f32, 1, []),
        ("erfcx_f64", "(1 + 2 x) exp(x^2) erfc(x) in (x - 3) / (x + 3), 0.48 <= x <= 28", shepherd,
         shepherd, shepherd_of(mp.mpf("0.48")), shepherd_of(mp.mpf(28)), 22, to_f64, 1, []),
        ("lgamma_f32", "lgamma(2 + v) / (v (1 + v)), |v| <= 1", gamma_rest, gamma_rest, -1, 1, 13,
         to_f32, 1, []),
        ("stirling_f32", "(lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2) x in 1 / x^2, x >= 3",
         stirling_rest, lambda z: mp.mpf(1) / 12, 0, mp.mpf(1) / 9, 3, to_f32, 1, []),
    ]


def main():
    names, old = sys.argv[1:], HEADER.read_text(encoding="utf-8")
    text = TOP
    for name, comment, f, weight, low, high, count, rounded, factor, before in all_fits():
        if names and name not in names:
            text += re.search(rf"\n// [^\n]*\n(// [^\n]*\n)*static const double {name}\[[^;]*;\n", old).group()
            continue
        coefficients, error = fit(f, weight, low, high, count, rounded)
        print(f"{name}: 2^{float(mp.log(error, 2)):.1f}")
        text += text_of(name, comment, before + [factor * c for c in coefficients], error)
    text += table_of_inverse_pi()
    HEADER.write_text(text + BOTTOM, encoding="utf-8")


if __name__ == "__main__":
    main()
