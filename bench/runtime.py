#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the runtime instead of programs, on hlocc and on XLA's cpu client: launches, transfers beside
memcpy, callbacks, and the memory of many live buffers and of a loop that never waits.

  runtime.py [--only=REGEX] [--rounds=N] [--seconds=S] [--library=PLUGIN]

Both take turns in one process and the least time counts. Memory is that of a process for each (resident
set, less what it was before). Prints a table; the ratio is XLA's number over ours.
"""
import argparse
import ctypes
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

import suite

SIZES = {"256 B": 64, "64 KiB": 1 << 14, "4 MiB": 1 << 20, "64 MiB": 1 << 24}  # floats
LAUNCHES, TURNS, BUFFERS = 1000, 10_000, 100_000


def handler_path():
    return pathlib.Path(os.environ["HLOCC_LIBRARY_PATH"]).parent.parent / "bench" / "empty_handler.so"


# ---- runs: {name: (function of jax and a device that returns a call, calls in one)}

def launch(jax, device):
    step, x = jax.jit(lambda x: x + 1), jax.device_put(np.float32(1), device)
    return lambda: step(x).block_until_ready()


def launches(jax, device):
    step, x = jax.jit(lambda x: x + 1), jax.device_put(np.zeros(1000, np.float32), device)

    def run():
        y = x
        for _ in range(LAUNCHES):
            y = step(y)
        y.block_until_ready()

    return run


def upload(count):
    def prepare(jax, device):
        x = np.ones(count, np.float32)
        return lambda: jax.device_put(x, device, may_alias=False).block_until_ready()

    return prepare


def download(count):
    def prepare(jax, device):
        x = jax.device_put(np.ones(count, np.float32), device)
        return lambda: np.array(x, copy=True)

    return prepare


def memcpy(count):
    def prepare(jax, device):
        x = np.ones(count, np.float32)
        return x.copy

    return prepare


def callback(count):
    def prepare(jax, device):
        shape = jax.ShapeDtypeStruct((count,), np.float32)
        x = jax.device_put(np.ones(count, np.float32), device)
        call = jax.jit(lambda x: jax.pure_callback(lambda y: y, shape, x))
        return lambda: call(x).block_until_ready()

    return prepare


def handler(jax, device):
    library = ctypes.CDLL(str(handler_path()))
    jax.ffi.register_ffi_target("bench_empty", jax.ffi.pycapsule(library.empty_handler), platform="cpu")
    call = jax.ffi.ffi_call("bench_empty", jax.ShapeDtypeStruct((4,), np.float32), input_output_aliases={0: 0})
    loop = jax.jit(lambda x: jax.lax.fori_loop(0, TURNS, lambda i, x: call(x), x))
    x = jax.device_put(np.ones(4, np.float32), device)
    return lambda: loop(x).block_until_ready()


RUNS = {
    "launch and wait": (launch, 1),
    "launch without waiting": (launches, LAUNCHES),
    **{f"host to device, {name}": (upload(count), 1) for name, count in SIZES.items()},
    **{f"device to host, {name}": (download(count), 1) for name, count in SIZES.items()},
    **{f"memcpy, {name}": (memcpy(count), 1) for name, count in SIZES.items()},
    "pure_callback, 8 floats": (callback(8), 1),
    "pure_callback, 100,000 floats": (callback(100_000), 1),
    "C handler in a loop": (handler, TURNS),
}


# ---- memory

def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def live_buffers(jax, device):
    """Bytes of a live array of one float, JAX's own object included."""
    x = np.float32(1)
    jax.device_put(x, device).block_until_ready()
    before = resident_bytes()
    arrays = [jax.device_put(x, device) for _ in range(BUFFERS)]
    jax.block_until_ready(arrays)
    return (resident_bytes() - before) / BUFFERS


def endless_loop(jax, device):
    """Most bytes of a loop of 1,000 steps of 1 MiB that waits for none."""
    step, x = jax.jit(lambda x: x * 0.5 + 1), jax.device_put(np.zeros(1 << 18, np.float32), device)
    step(x).block_until_ready()
    before, most = resident_bytes(), 0
    for _ in range(LAUNCHES):
        x = step(x)
        most = max(most, resident_bytes() - before)
    x.block_until_ready()
    return most


MEMORY = {"bytes of a live buffer": live_buffers, "bytes of a loop that never waits": endless_loop}


def measure_memory(options, name, side):
    done = subprocess.run([sys.executable, __file__, f"--library={options.library}", f"--memory={name}",
                           f"--side={side}"], stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


# ---- the table

def print_row(name, ours, theirs, unit):
    print(f"{name:36} {ours:14,.2f} {theirs:14,.2f} {unit:6} {theirs / ours if ours > 0 else 1:8.2f}", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose names match")
    parser.add_argument("--memory", choices=list(MEMORY), help=argparse.SUPPRESS)
    parser.add_argument("--side", help=argparse.SUPPRESS)
    suite.add_timing_arguments(parser, rounds=5, seconds=0.2)
    return parser.parse_args()


def main():
    options = parse_arguments()
    jax, devices = suite.load_jax(options.library)
    if options.memory:
        print(MEMORY[options.memory](jax, devices[options.side]))
        return
    print(f"{'':36} {'hlocc':>14} {'XLA':>14} {'':6} {'ratio':>8}")
    for name, (prepare, calls) in RUNS.items():
        if re.search(options.only, name):
            runs = {side: prepare(jax, device) for side, device in devices.items()}
            best = {side: seconds / calls * 1e6 for side, seconds in suite.best_times(runs, options).items()}
            print_row(name, best["hlocc"], best["xla"], "us")
    for name in MEMORY:
        if re.search(options.only, name):
            print_row(name, *(measure_memory(options, name, side) for side in ("hlocc", "xla")), "bytes")


if __name__ == "__main__":
    main()
