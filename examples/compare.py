# SPDX-License-Identifier: Apache-2.0
"""What the examples share: they time their steps, and with --compare run again on JAX's own CPU back end."""
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import jax

REPORT = "EXAMPLE_FIGURES"  # names the file into which the second process writes its figures


class Stopwatch:
    """Times the calls of a compiled function: the first, which compiles it, and all others."""

    def __init__(self):
        self.seconds = []

    def __call__(self, function, *arguments):
        """Returns the results of the function when they are there."""
        start = time.perf_counter()
        results = jax.block_until_ready(function(*arguments))
        self.seconds.append(time.perf_counter() - start)
        return results

    def figures(self):
        """Seconds of the first call and of a later one (median), and the peak of memory in bytes."""
        return {"first": self.seconds[0], "later": statistics.median(self.seconds[1:] or self.seconds),
                "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}


def platform():
    """Who compiles and runs the programs of this process, as a short name."""
    version = jax.devices()[0].client.platform_version.splitlines()[-1]
    return "hlocc" if "hlocc" in version else f"JAX's {jax.devices()[0].platform}"


def add_option(parser):
    parser.add_argument("--compare", action="store_true",
                        help="run again on JAX's own CPU back end and print a table")


def finish(stopwatch, compare):
    """Prints the figures of this run, with `compare` beside those of JAX's own CPU back end."""
    figures = stopwatch.figures()
    if os.environ.get(REPORT):
        with open(os.environ[REPORT], "w", encoding="utf-8") as file:
            json.dump(figures, file)
        return
    rows = [(platform(), figures)]
    if compare:
        rows.append(("JAX's cpu", figures_on_cpu()))
    print(f"\n{'':12}{'first call':>12}{'steady step':>14}{'peak memory':>14}")
    for name, row in rows:
        print(f"{name:12}{row['first']:10.2f} s{row['later'] * 1e3:11.3f} ms{row['memory'] / 2**20:10.0f} MiB")


def figures_on_cpu():
    """Runs this program with the same arguments, without its output, on JAX's own CPU back end."""
    read_end, write_end = os.pipe()
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "HLOCC_AS_CPU": "0", REPORT: f"/dev/fd/{write_end}"}
    arguments = [argument for argument in sys.argv if argument != "--compare"]
    try:
        subprocess.run([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL,
                       pass_fds=(write_end,), check=True)
    finally:
        os.close(write_end)
    with open(read_end, encoding="utf-8") as file:
        return json.load(file)
