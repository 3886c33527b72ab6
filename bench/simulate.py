#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the steps that `hlocc simulate` predicts with their times on the virtual devices of this machine.

  simulate.py [--only=REGEX] [--size=small|large] [--rounds=N] [--seconds=S] [--library=PLUGIN]

The programs are those of bench/sharded.py. `hlocc simulate --calibrate` measures the machine first, with as
many devices as the programs use. Measured times are CPU times of the process over its threads, which the devices
keep busy, so that other processes do not count; `wall` is the time of a clock. A call through JAX of a program that
does nothing is added to the prediction, in which collectives are awaited at once, as programs on the host run.
`ratio` is the prediction over the measured time.
"""
import argparse
import functools
import os
import re
import subprocess
import sys
import tempfile
import time

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import sharded  # noqa: E402  (JAX reads XLA_FLAGS when it starts)
import suite  # noqa: E402

TOOL = suite.ROOT / "build" / "bin" / "hlocc"


def call(*arguments):
    return subprocess.run([TOOL, *arguments], check=True, capture_output=True, text=True).stdout


def least(step, arguments, options):
    """Milliseconds of CPU time over the processors, and of a clock."""
    import jax

    jax.block_until_ready(step(*arguments))
    used, wall = [], []
    for _ in range(options.rounds):
        count, begin, start = 0, time.process_time(), time.perf_counter()
        while not count or time.perf_counter() - start < options.seconds:
            jax.block_until_ready(step(*arguments))
            count += 1
        used.append((time.process_time() - begin) / count)
        wall.append((time.perf_counter() - start) / count)
    return min(used) * 1e3 / len(os.sched_getaffinity(0)), min(wall) * 1e3


@functools.cache
def calibrated(folder, count):
    """The file of this machine as `count` devices."""
    text = call("simulate", "--calibrate", f"--device-count={count}")
    path = os.path.join(folder, f"machine{count}.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    print(text)
    return path


def simulated(step, arguments, folder):
    """Milliseconds of a step and of its communication, and MiB of a device."""
    path = os.path.join(folder, "step.mlir")
    program = step.lower(*arguments).as_text()
    with open(path, "w", encoding="utf-8") as file:
        file.write(program)
    machine = calibrated(folder, int(re.search(r"num_partitions = (\d+)", program)[1]))
    text = call("simulate", f"--topology={machine}", path)
    number = {name: float(re.search(rf"^  {name} +(\S+)", text, re.M)[1])
              for name in ("length", "communication", "all")}
    return number["length"] / 1e3, number["communication"] / 1e3, number["all"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose names match")
    parser.add_argument("--size", default="large", help="of the steps: small or large")
    suite.add_timing_arguments(parser, rounds=5, seconds=0.3)
    options = parser.parse_args()
    jax, _ = suite.load_jax(options.library)
    jax.config.update("jax_enable_x64", False)
    import numpy as np
    import parallel_steps
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    devices = jax.devices("hlocc")[:8]
    with tempfile.TemporaryDirectory() as folder:
        spread = NamedSharding(Mesh(np.array(devices), "x"), P("x"))
        nothing, _ = least(jax.jit(lambda x: x + 1), (jax.device_put(np.zeros(8, np.float32), spread),),
                           options)
        print(f"a call that does nothing: {nothing:.3f} ms\n")
        print(f"{'':26} {'predicted':>10} {'sends':>10} {'measured':>10} ms {'ratio':>6} {'wall':>10} "
              f"{'MiB':>8}")
        makers = {**sharded.products(), **{f"step, {k}": m for k, m in parallel_steps.KINDS.items()}}
        for name, make in makers.items():
            if not re.search(options.only, name):
                continue
            step, arguments = make(options.size, devices)
            measured, wall = least(step, arguments, options)
            length, sends, mib = simulated(step, arguments, folder)
            predicted = length + nothing
            print(f"{name:26} {predicted:10.3f} {sends:10.3f} {measured:10.3f}    {predicted / measured:6.2f} "
                  f"{wall:10.3f} {mib:8.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
