# SPDX-License-Identifier: Apache-2.0
"""Some of the stored programs written for array libraries: xp is numpy or torch, arrays are its own."""
import importlib

PROGRAMS = {
    "add_scalar": lambda xp, x: x + 1,
    "argmax_rows_4096": lambda xp, x: xp.argmax(x, 1),
    "argsort_1e6": lambda xp, x: xp.argsort(x),
    "batch_matmul_64x128x64x128": lambda xp, a, b: xp.matmul(a, b),
    "cholesky_256": lambda xp, a: xp.linalg.cholesky(a),
    "cumsum_1e6": lambda xp, x: xp.cumsum(x, 0),
    "cumsum_rows_1000x1000": lambda xp, x: xp.cumsum(x, 1),
    "eigh_256": lambda xp, a: xp.linalg.eigh(a),
    "exp_1e6": lambda xp, x: xp.exp(x),
    "fft_2e18_c64": lambda xp, x: xp.fft.fft(x),
    "inv_256": lambda xp, a: xp.linalg.inv(a),
    "log_1e6": lambda xp, x: xp.log(x),
    "matmul_1e6x3x3": lambda xp, a, b: xp.matmul(a, b),
    "matmul_f32_1024": lambda xp, a, b: xp.matmul(a, b),
    "matmul_f32_2048": lambda xp, a, b: xp.matmul(a, b),
    "matmul_f32_256": lambda xp, a, b: xp.matmul(a, b),
    "max_rows_4096": lambda xp, x: xp.amax(x, 1),
    "qr_256": lambda xp, a: xp.linalg.qr(a),
    "sin_1e6": lambda xp, x: xp.sin(x),
    "sort_1e6": lambda xp, x: xp.sort(x),
    "sort_rows_1000x1000": lambda xp, x: xp.sort(x),
    "sum_all_1e6": lambda xp, x: xp.sum(x),
    "sum_all_1e7": lambda xp, x: xp.sum(x),
    "sum_cols_4096": lambda xp, x: xp.sum(x, 0),
    "sum_rows_4096": lambda xp, x: xp.sum(x, 1),
    "tanh_1e6": lambda xp, x: xp.tanh(x),
}


def installed(names):
    """{name: module} of those array libraries that are here."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            pass
    return found


def call(xp, name, arguments):
    """A function without arguments that runs the program once and waits; None if there is none."""
    function = PROGRAMS.get(name)
    if function is None:
        return None
    own = [xp.asarray(a) for a in arguments]
    return lambda: function(xp, *own)
