#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the steps that `hlocc simulate` predicts with their times on the virtual devices of this machine.

  simulate.py [--only=REGEX] [--size=small|large] [--rounds=N] [--seconds=S] [--library=PLUGIN]

The programs are those of bench/sharded.py. `hlocc simulate --calibrate` measures the machine first, with as
many devices as the programs use, and again after it, since other work may disturb it: the machine of the higher
rates counts. A call through JAX of a program that does nothing is added to the prediction. `ratio` is the
prediction over the measured time, of collectives that are awaited at once, as programs on the host run.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import sharded  # noqa: E402  (JAX reads XLA_FLAGS when it starts)
import suite  # noqa: E402

TOOL = suite.ROOT / "build" / "bin" / "hlocc"


def call(*arguments):
    return subprocess.run([TOOL, *arguments], check=True, capture_output=True, text=True).stdout


def least(step, arguments, options):
    import jax

    run = {"step": lambda: jax.block_until_ready(step(*arguments))}
    return suite.best_times(run, options)["step"] * 1e3


def calibrated(folder):
    """The file of the machine with the higher rate of products."""
    texts = [call("simulate", "--calibrate", "--device-count=8") for _ in range(3)]
    best = max(texts, key=lambda t: float(re.search(r"^compute (\S+)", t, re.M)[1]))
    path = os.path.join(folder, "machine.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(best)
    print(best)
    return path


def simulated(machine, step, arguments, folder):
    """Milliseconds of a step and of its communication, and MiB of a device."""
    path = os.path.join(folder, "step.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.write(step.lower(*arguments).as_text())
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
        machine = calibrated(folder)
        spread = NamedSharding(Mesh(np.array(devices), "x"), P("x"))
        nothing = least(jax.jit(lambda x: x + 1), (jax.device_put(np.zeros(8, np.float32), spread),), options)
        print(f"a call that does nothing: {nothing:.3f} ms\n")
        print(f"{'':26} {'predicted':>10} {'sends':>10} {'measured':>10} ms {'ratio':>6} {'MiB':>8}")
        makers = {**sharded.products(), **{f"step, {k}": m for k, m in parallel_steps.KINDS.items()}}
        for name, make in makers.items():
            if not re.search(options.only, name):
                continue
            step, arguments = make(options.size, devices)
            measured = least(step, arguments, options)
            length, sends, mib = simulated(machine, step, arguments, folder)
            predicted = length + nothing
            print(f"{name:26} {predicted:10.3f} {sends:10.3f} {measured:10.3f}    {predicted / measured:6.2f} "
                  f"{mib:8.3f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
