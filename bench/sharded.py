#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times maps, products and training steps over 8 devices, on hlocc and on XLA's cpu client in one process.

  sharded.py [--only=REGEX] [--size=small|large] [--processor] [--rounds=N] [--seconds=S]
             [--library=PLUGIN]

Both take turns and the least time counts. `ratio` and `compile` are XLA's times over ours, of a call and of
compiling; `overhead` is the time over 8 devices as a multiple of the same on one device of hlocc, and
`processor` the same of the process's processor time, which depends less on what else the machine does.
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


def layers(x, *weights):
    import jax.numpy as jnp

    for w in weights:
        x = jnp.tanh(x @ w)
    return x


def normalise(x):
    import jax

    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def maps():
    """Functions of rows, which need no exchange."""
    import jax
    import numpy as np
    from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

    random = np.random.default_rng(0)

    def make_map(function, shape, weight_count=0):
        x = random.standard_normal(shape).astype(np.float32)
        weights = [random.standard_normal((shape[-1],) * 2).astype(np.float32) / 16
                   for _ in range(weight_count)]

        def make(size, devices):
            mesh = Mesh(np.array(devices), "x", axis_types=(AxisType.Auto,))
            specs = [P("x")] + [P()] * weight_count
            return jax.jit(function), tuple(jax.device_put(a, NamedSharding(mesh, s))
                                            for a, s in zip([x, *weights], specs))

        make.function = function
        return make

    return {
        "map, exponential of sine": make_map(lambda x: jax.numpy.exp(jax.numpy.sin(x)), (8192, 2048)),
        "map, normalise": make_map(normalise, (16384, 1024)),
        "map, softmax": make_map(jax.nn.softmax, (16384, 1024)),
        "map, three layers": make_map(layers, (16384, 256), 3),
    }


def on_one_device(jax, make, arguments, device):
    function = getattr(make, "function", lambda x, y: x @ y)
    return jax.jit(function), jax.device_put([jax.device_get(a) for a in arguments], device)


def compile_time(jax, step, arguments, repetitions=3):
    """Least seconds of the client's compiler, without JAX's tracing and lowering."""
    times = []
    for _ in range(repetitions):
        jax.clear_caches()
        lowered = step.lower(*arguments)
        start = time.perf_counter()
        lowered.compile()
        times.append(time.perf_counter() - start)
    return min(times)


def processor_times(runs, rounds, calls=3):
    """The least processor seconds of a call of each of the named runs, which take turns."""
    times = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            for _ in range(calls):
                run()
            times[name].append((time.process_time() - start) / calls)
    return {name: min(found) for name, found in times.items()}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose names match")
    parser.add_argument("--size", default="large", help="of the steps: small or large")
    parser.add_argument("--processor", action="store_true",
                        help="only processor times, over 8 devices and on one, without XLA")
    suite.add_timing_arguments(parser, rounds=5, seconds=0.3)
    return parser.parse_args()


def make_runs(jax, name, make, size, devices):
    """Calls of a program on each side's devices, and of the same on one device of hlocc."""
    import parallel_steps

    runs, compiles = {}, {}
    for side, own in devices.items():
        step, arguments = make(size, own)
        runs[side] = lambda step=step, arguments=arguments: jax.block_until_ready(step(*arguments))
        compiles[side] = compile_time(jax, step, arguments)
    if name.startswith("step"):
        whole, arguments = parallel_steps.whole_step(name[6:], size, devices["hlocc"][0])
    else:
        whole, arguments = on_one_device(jax, make, arguments, devices["hlocc"][0])
    runs["whole"] = lambda: jax.block_until_ready(whole(*arguments))
    return runs, compiles


def main():
    options = parse_arguments()
    jax, _ = suite.load_jax(options.library)
    jax.config.update("jax_enable_x64", False)
    import parallel_steps

    devices = {"hlocc": jax.devices("hlocc")}
    if not options.processor:
        devices["xla"] = jax.devices("cpu")
        print(f"{'':26} {'hlocc':>10} {'XLA':>10} {'':3} {'ratio':>6} {'overhead':>9} {'processor':>9} {'compile':>9}")
    makers = {**maps(), **products(), **{f"step, {k}": m for k, m in parallel_steps.KINDS.items()}}
    for name, make in makers.items():
        if not re.search(options.only, name):
            continue
        runs, compiles = make_runs(jax, name, make, options.size, devices)
        spent = processor_times({k: runs[k] for k in ("hlocc", "whole")}, options.rounds)
        many, one = (spent[k] * 1e3 for k in ("hlocc", "whole"))
        if options.processor:
            print(f"{name:26} {many:10.3f} {one:10.3f} ms  {many / one:6.2f}", flush=True)
            continue
        best = suite.best_times(runs, options)
        ours, theirs, whole = (best[k] * 1e3 for k in ("hlocc", "xla", "whole"))
        print(f"{name:26} {ours:10.3f} {theirs:10.3f} ms  {theirs / ours:6.2f} {ours / whole:9.2f} "
              f"{many / one:9.2f} {compiles['xla'] / compiles['hlocc']:9.1f}", flush=True)


if __name__ == "__main__":
    main()
