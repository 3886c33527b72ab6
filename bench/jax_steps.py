#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times small JAX programs on hlocc and on XLA's cpu client in one process; one JSON line each.

The sides take turns and the best of several rounds counts, so that a busy machine disturbs both alike.
"""
import json
import os
import time

os.environ["JAX_PLATFORMS"] = "hlocc"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

ROUNDS = 5
SECONDS = 0.2


def mlp_step(params, x, y):
    def loss(params):
        hidden = jax.nn.relu(x @ params[0])
        return ((hidden @ params[1] - y) ** 2).mean()

    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))


def programs():
    random = np.random.default_rng(0)

    def normal(*shape):
        return random.normal(size=shape).astype("f4")

    yield "dispatch", lambda x: x + 1, (normal(4),)
    yield "elementwise_1m", lambda x: jnp.tanh(x) * x + 1, (normal(1 << 20),)
    yield "matmul_512", lambda a, b: a @ b, (normal(512, 512), normal(512, 512))
    yield "mlp_step", mlp_step, ([normal(64, 128), normal(128, 10)], normal(64, 64), normal(64, 10))
    yield "scan_rnn", lambda h, w: jax.lax.fori_loop(0, 100, lambda _, h: jnp.tanh(h @ w), h), (
        normal(8, 64), normal(64, 64) * 0.1)


def seconds_per_call(call, args):
    count, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < SECONDS:
        jax.block_until_ready(call(*args))
        count += 1
    return spent / count


def main():
    sides = {"hlocc": jax.devices("hlocc")[0], "xla": jax.local_devices(backend="cpu")[0]}
    for name, function, args in programs():
        calls, best, compile_s = {}, dict.fromkeys(sides, float("inf")), {}
        for side, device in sides.items():
            placed = jax.device_put(args, device)
            start = time.perf_counter()
            calls[side] = jax.jit(function).lower(*placed).compile(), placed
            compile_s[side] = time.perf_counter() - start
        for _ in range(ROUNDS):
            for side, (call, placed) in calls.items():
                best[side] = min(best[side], seconds_per_call(call, placed))
        print(json.dumps({"program": name, **{f"{s}_us": round(best[s] * 1e6, 1) for s in sides},
                          **{f"{s}_compile_ms": round(compile_s[s] * 1e3, 1) for s in sides}}), flush=True)


if __name__ == "__main__":
    main()
