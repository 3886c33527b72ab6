#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the Lotka-Volterra equations to noisy counts of prey and predators, through the solver, with diffrax.

    JAX_PLATFORMS=hlocc python examples/ode_fit.py --compare
"""
import argparse
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

import compare

try:
    import diffrax
except ImportError:
    sys.exit("this example needs diffrax: build/venv/bin/python -m pip install diffrax")

TIMES = np.linspace(0, 16, 65, dtype=np.float32)
TRUE_RATES = np.array([0.8, 0.5, 0.9, 0.4], np.float32)  # birth, being eaten, death, growth by eating
START = np.array([2.0, 1.0], np.float32)


def change(t, counts, rates):
    prey, predators = counts
    birth, eaten, death, growth = rates
    return jnp.stack([prey * (birth - eaten * predators), predators * (growth * prey - death)])


def solve(rates):
    """The counts at TIMES: f32[time, kind]."""
    return diffrax.diffeqsolve(
        diffrax.ODETerm(change), diffrax.Tsit5(), t0=TIMES[0], t1=TIMES[-1], dt0=0.05, y0=jnp.asarray(START),
        args=rates, saveat=diffrax.SaveAt(ts=jnp.asarray(TIMES)),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-5)).ys


def loss_fn(log_rates, data):
    return jnp.mean((jnp.log(solve(jnp.exp(log_rates))) - jnp.log(data)) ** 2)


def plot(curves, points, height=16):
    """Text: a curve of `.` and points of letters for each kind, over TIMES."""
    top = max(curves.max(), points.max())
    rows = [[" "] * len(TIMES) for _ in range(height)]
    for kind, letter in enumerate("xo"):
        for column in range(len(TIMES)):
            for values, mark in ((curves, "."), (points, letter)):
                rows[height - 1 - int(values[column, kind] / top * (height - 1))][column] = mark
    return "\n".join("| " + "".join(row) for row in rows) + "\n+" + "-" * (len(TIMES) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    compare.add_option(parser)
    args = parser.parse_args()
    print(f"{compare.platform()}: {len(TIMES)} measurements", flush=True)
    noise = np.random.default_rng(0).normal(0, 0.08, (len(TIMES), 2)).astype(np.float32)
    data = np.asarray(jax.jit(solve)(TRUE_RATES)) * np.exp(noise)
    optimizer = optax.adam(optax.cosine_decay_schedule(0.03, args.steps))

    @jax.jit
    def step(log_rates, state):
        loss, grads = jax.value_and_grad(loss_fn)(log_rates, data)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(log_rates, updates), state, loss

    log_rates = jnp.log(jnp.full(4, 0.6))
    state, stopwatch = optimizer.init(log_rates), compare.Stopwatch()
    for i in range(1, args.steps + 1):
        log_rates, state, loss = stopwatch(step, log_rates, state)
        if i == 1 or i % max(1, args.steps // 10) == 0:
            rates = " ".join(f"{rate:.3f}" for rate in np.exp(log_rates))
            print(f"step {i:4d}/{args.steps}  loss {loss:.4f}  rates {rates}", flush=True)
    print(f"true rates {' '.join(f'{rate:.3f}' for rate in TRUE_RATES)}; prey x, predators o, the fit .\n")
    print(plot(np.asarray(jax.jit(solve)(jnp.exp(log_rates))), data))
    compare.finish(stopwatch, args.compare)


if __name__ == "__main__":
    main()
