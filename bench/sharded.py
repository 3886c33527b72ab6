#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times products and training steps over 8 devices, on hlocc and on XLA's cpu client in one process.

  sharded.py [--only=REGEX] [--size=small|large] [--rounds=N] [--seconds=S] [--library=PLUGIN]

Both take turns and the least time counts. `ratio` and `compile` are XLA's times over ours, of a call and of
compiling; `overhead` is the time over 8 devices as a multiple of the same on one device of hlocc.
"""
import argparse
import os
import re
import sys
import time

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"

import suite  # noqa: E402  (JAX reads XLA_FLAGS when it starts)

sys.path.insert(0, str(suite.ROOT / "tests" / "jax"))


def products():
    import jax
    import numpy as np
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

    a = np.random.default_rng(0).standard_normal((1024, 1024)).astype(np.float32)

    def product(left, right, shape=(8,), names=("x",)):
        def make(size, devices):
            mesh = Mesh(np.array(devices).reshape(shape), names,
                        axis_types=(AxisType.Auto,) * len(shape))
            arguments = tuple(jax.device_put(a, NamedSharding(mesh, s)) for s in (left, right))
            return jax.jit(lambda x, y: x @ y), arguments

        return make

    return {
        "product, rows": product(P("x"), P()),
        "product, contracted": product(P(None, "x"), P("x")),
        "product, both": product(P("x"), P(None, "y"), (2, 4), ("x", "y")),
    }


def one_device_product(jax, a_pair, device):
    return jax.jit(lambda x, y: x @ y), jax.device_put(a_pair, device)


def compile_time(step, arguments):
    """Seconds of the client's compiler, without JAX's tracing and lowering."""
    lowered = step.lower(*arguments)
    start = time.perf_counter()
    lowered.compile()
    return time.perf_counter() - start


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose names match")
    parser.add_argument("--size", default="large", help="of the steps: small or large")
    suite.add_timing_arguments(parser, rounds=5, seconds=0.3)
    return parser.parse_args()


def main():
    options = parse_arguments()
    jax, _ = suite.load_jax(options.library)
    jax.config.update("jax_enable_x64", False)
    import parallel_steps

    devices = {"hlocc": jax.devices("hlocc"), "xla": jax.devices("cpu")}
    makers = {**products(), **{f"step, {k}": m for k, m in parallel_steps.KINDS.items()}}
    print(f"{'':26} {'hlocc':>10} {'XLA':>10} {'':3} {'ratio':>6} {'overhead':>9} {'compile':>9}")
    for name, make in makers.items():
        if not re.search(options.only, name):
            continue
        runs, compiles = {}, {}
        for side, own in devices.items():
            step, arguments = make(options.size, own)
            runs[side] = lambda step=step, arguments=arguments: jax.block_until_ready(step(*arguments))
            compiles[side] = compile_time(step, arguments)
        if name.startswith("step"):
            whole, arguments = parallel_steps.whole_step(name[6:], options.size, devices["hlocc"][0])
        else:
            whole, arguments = one_device_product(jax, [jax.device_get(a) for a in arguments],
                                                  devices["hlocc"][0])
        runs["whole"] = lambda whole=whole, arguments=arguments: jax.block_until_ready(whole(*arguments))
        best = suite.best_times(runs, options)
        ours, theirs, one = (best[k] * 1e3 for k in ("hlocc", "xla", "whole"))
        print(f"{name:26} {ours:10.3f} {theirs:10.3f} ms  {theirs / ours:6.2f} {ours / one:9.2f} "
              f"{compiles['xla'] / compiles['hlocc']:9.1f}", flush=True)


if __name__ == "__main__":
    main()
