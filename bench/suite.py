#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the stored programs of tests/programs on hlocc and on XLA's cpu client, in one process.

Both back ends compile the very same module bytes and options and run them on the same inputs. They
take turns in every round, and the best of the rounds counts, so that a busy machine disturbs both
alike. NumPy, PyTorch, IREE and ONNX Runtime, where installed, join in for the programs that
bench/peers.py has. One JSON line per program and column goes to standard output or to --out;
bench/report.py makes tables of them.
"""
import argparse
import json
import os
import pathlib
import platform
import re
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def add_library_argument(parser):
    parser.add_argument("--library", default=os.environ.get(
        "HLOCC_LIBRARY_PATH", str(ROOT / "build" / "lib" / "pjrt_c_api_hlocc_plugin.so")),
        help="the plugin (build/lib)")


def add_timing_arguments(parser, rounds, seconds):
    parser.add_argument("--rounds", type=int, default=rounds, help=f"turns of every column ({rounds})")
    parser.add_argument("--seconds", type=float, default=seconds, help=f"of calls in a round ({seconds})")
    add_library_argument(parser)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose names match")
    parser.add_argument("--out", help="file for the JSON lines (appended to)")
    parser.add_argument("--columns", default="hlocc,xla,numpy,torch,iree,ort", help="what to run")
    add_timing_arguments(parser, rounds=3, seconds=0.3)
    parser.add_argument("--compile-only", action="store_true")
    return parser.parse_args()


def use_one_core():
    """Lets hlocc, XLA and other libraries, before they are loaded, run one thread on one core."""
    os.environ.setdefault("HLOCC_NUM_THREADS", "1")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def load_jax(library, others=()):
    """JAX with hlocc from this tree besides its own cpu client and other platforms."""
    sys.path.insert(0, str(ROOT / "python"))
    os.environ.update(HLOCC_LIBRARY_PATH=library, JAX_PLATFORMS=",".join(["hlocc", "cpu", *others]),
                      JAX_ENABLE_COMPILATION_CACHE="0", HLOCC_CACHE_MEMORY="0", HLOCC_CACHE_DIR="")
    import jax
    import numpy as np

    jax.config.update("jax_enable_x64", True)  # inputs keep their types
    devices = {"hlocc": jax.devices("hlocc")[0], "xla": jax.local_devices(backend="cpu")[0],
               **{name: jax.devices(name)[0] for name in others}}
    # jaxlib binds its LAPACK targets when JAX first lowers one; the stored programs pass that by.
    jax.jit(jax.numpy.linalg.cholesky).lower(np.eye(2, dtype=np.float32))
    return jax, devices


class Program:
    """One stored program on one JAX device."""

    def __init__(self, jax, device, path, arguments):
        from jaxlib import _jax

        options = path.with_name(path.stem + ".options.pb").read_bytes()
        self.options = _jax.CompileOptions.ParseFromString(options)
        self.code, self.devices = path.read_bytes(), _jax.DeviceList((device,))
        self.client, self.jax, self.device = device.client, jax, device
        self.host, self.arguments = arguments, None

    def compile(self):
        start = time.perf_counter()
        self.executable = self.client.compile_and_load(self.code, self.devices, self.options)
        return time.perf_counter() - start

    def place(self):
        """Inputs onto the device, again where the program donates them."""
        if self.arguments is None or any(a.is_deleted() for a in self.arguments):
            self.arguments = [self.jax.device_put(a, self.device) for a in self.host]
            self.jax.block_until_ready(self.arguments)

    def run(self):
        """A call whose results are dropped, as those of the other libraries are."""
        results = self.executable.execute_sharded(self.arguments)
        for shards in results.disassemble_into_single_device_arrays():
            shards[0].block_until_ready()


def time_calls(run, seconds, before=lambda: None):
    """Seconds of each of a round's calls, after one that does not count unless it is slow."""
    times, end = [], time.perf_counter() + seconds
    for number in range(1_000_000):
        before()
        start = time.perf_counter()
        run()
        now = time.perf_counter()
        if number or now - start > seconds:
            times.append(now - start)
        if now > end and times:
            return times
    return times


def best_times(runs, options):
    """The least seconds of a call of each of the named runs, which take turns.

    Every second round is in reverse order: a run after that of another library finds its threads awake
    and its arrays in the caches.
    """
    times = {name: [] for name in runs}
    for number in range(options.rounds):
        for name in list(runs)[::1 - number % 2 * 2]:
            times[name] += time_calls(runs[name], options.seconds)
    return {name: min(found) for name, found in times.items()}


def measure(path, jax, devices, others, options):
    """Rows of one program."""
    import peers
    import programs

    arguments = programs.arguments(path.read_bytes(), path.stem)
    rows, runs = {}, {}
    for column, device in devices.items():
        program = Program(jax, device, path, arguments)
        compile_s = [program.compile() for _ in range(3)]
        rows[column] = {"compile_first_s": compile_s[0], "compile_again_s": min(compile_s[1:])}
        program.place()
        runs[column] = (program.run, program.place)
    for column in others if not options.compile_only else ():
        call = peers.prepare(column, path, arguments)
        if call:
            rows[column], runs[column] = {}, (call, lambda: None)
    times = {column: [] for column in runs}
    for _ in range(0 if options.compile_only else options.rounds):
        for column, (run, before) in runs.items():
            times[column] += time_calls(run, options.seconds, before)
    for column, row in rows.items():
        if times[column]:
            row.update(min_s=min(times[column]), median_s=statistics.median(times[column]),
                       calls=len(times[column]))
        yield {"program": path.stem, "column": column, **row}


def processor_name():
    """The processor's name with its family and model, which tell kinds of equal names apart."""
    facts = dict(re.findall(r"^(model name|cpu family|model)\s*: (.*)$",
                            pathlib.Path("/proc/cpuinfo").read_text(), flags=re.MULTILINE))
    if "model name" not in facts:
        return platform.machine()
    return f"{facts['model name']}, family {facts['cpu family']}, model {facts['model']}"


def main():
    options = parse_arguments()
    columns = options.columns.split(",")
    jax, devices = load_jax(options.library)
    sys.path.insert(0, str(ROOT / "bench"))
    import peers
    import programs

    devices = {name: device for name, device in devices.items() if name in columns}
    others = peers.installed([name for name in columns if name not in ("hlocc", "xla")])
    out = open(options.out, "a") if options.out else sys.stdout
    versions = {"jax": jax.__version__, **others}
    print(json.dumps({"machine": platform.machine(), "processor": processor_name(), "cores": os.cpu_count(), "versions": versions,
                      "client": devices[columns[0]].client.platform_version,
                      "command": " ".join(sys.argv)}), file=out, flush=True)
    for path in programs.paths(options.only):
        try:
            for row in measure(path, jax, devices, others, options):
                print(json.dumps(row), file=out, flush=True)
        except Exception as error:  # one program that fails must not end the others
            print(json.dumps({"program": path.stem, "error": str(error)[:300]}), file=out, flush=True)


if __name__ == "__main__":
    main()
