#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times collectives on eight virtual devices, on hlocc and on XLA's cpu client.

  collectives.py [--only=REGEX] [--rounds=N] [--seconds=S] [--library=PLUGIN]

Both take turns in one process and the least time counts, of a call of a compiled function of JAX with
the wait for its result. Sizes are those of one device. GB/s: bytes of all operands and results, on all
devices, by our time. The ratio is XLA's time over ours. "increment" reads and writes as many bytes as "psum", without
exchanging them: an all-reduce reads every operand and writes every result once, so its GB/s beside those of "increment"
are its share of the memory bandwidth.
"""
import argparse
import os
import re

import numpy as np

import suite

DEVICES = 8
MIB = 1 << 20


def operations(jax):
    """{name: (body on one device, elements, element type)}"""
    lax, jnp = jax.lax, jax.numpy
    float_count = MIB  # 4 MiB
    ring = [(i, (i + 1) % DEVICES) for i in range(DEVICES)]
    scatter = {"scatter_dimension": 0, "tiled": True}
    return {
        "increment, 4 MiB": (lambda x: x + 1, float_count, np.float32),
        "increment, 64 MiB": (lambda x: x + 1, 16 * float_count, np.float32),
        "psum, 1 float": (lambda x: lax.psum(x, "x"), 1, np.float32),
        "psum, 1,000 floats": (lambda x: lax.psum(x, "x"), 1000, np.float32),
        "psum, 4 MiB": (lambda x: lax.psum(x, "x"), float_count, np.float32),
        "psum, 64 MiB": (lambda x: lax.psum(x, "x"), 16 * float_count, np.float32),
        "psum of bf16, 4 MiB": (lambda x: lax.psum(x, "x"), 2 * float_count, jnp.bfloat16),
        "pmax, 4 MiB": (lambda x: lax.pmax(x, "x"), float_count, np.float32),
        "all_gather to 4 MiB": (lambda x: lax.all_gather(x, "x", tiled=True), float_count // DEVICES, np.float32),
        "psum_scatter of 4 MiB": (lambda x: lax.psum_scatter(x, "x", **scatter), float_count, np.float32),
        "all_to_all, 4 MiB": (lambda x: lax.all_to_all(x, "x", 0, 0, tiled=True), float_count, np.float32),
        "ppermute, 1 float": (lambda x: lax.ppermute(x, "x", ring), 1, np.float32),
        "ppermute, 4 MiB": (lambda x: lax.ppermute(x, "x", ring), float_count, np.float32),
    }


def prepare(jax, platform, body, count, dtype):
    """A call on one side, and the bytes that it reads and writes."""
    sharding = jax.sharding
    mesh = sharding.Mesh(np.array(jax.devices(platform)[:DEVICES]), ("x",))
    spec = sharding.PartitionSpec("x")
    function = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False))
    x = jax.device_put(np.ones(count * DEVICES, dtype), sharding.NamedSharding(mesh, spec))
    result = function(x)
    return lambda: function(x).block_until_ready(), x.nbytes + result.nbytes


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose names match")
    suite.add_timing_arguments(parser, rounds=5, seconds=0.2)
    return parser.parse_args()


def main():
    options = parse_arguments()
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    jax, _ = suite.load_jax(options.library)
    print(f"{'':28} {'hlocc, us':>12} {'XLA, us':>12} {'ratio':>8} {'GB/s':>8}")
    for name, (body, count, dtype) in operations(jax).items():
        if not re.search(options.only, name):
            continue
        sides = {side: prepare(jax, platform, body, count, dtype)
                 for side, platform in (("hlocc", "hlocc"), ("xla", "cpu"))}
        best = suite.best_times({side: call for side, (call, _) in sides.items()}, options)
        rate = sides["hlocc"][1] / best["hlocc"] / 1e9
        print(f"{name:28} {best['hlocc'] * 1e6:12,.1f} {best['xla'] * 1e6:12,.1f} "
              f"{best['xla'] / best['hlocc']:8.2f} {rate:8.1f}", flush=True)


if __name__ == "__main__":
    main()
