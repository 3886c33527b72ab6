#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eight schools: a hierarchical model, sampled with NUTS by blackjax.

    JAX_PLATFORMS=hlocc python examples/bayes_nuts.py --compare

Coaching for a test was tried in eight schools (Rubin 1981). School i has a true effect mean + spread * z[i]
with z[i] ~ Normal(0, 1), and the measured effect is Normal(true effect, standard error).
"""
import argparse
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

import compare

try:
    import blackjax
except ImportError:
    sys.exit("this example needs blackjax: build/venv/bin/python -m pip install blackjax")

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0], np.float32)
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0], np.float32)


def true_effects(position):
    return position["mean"] + jnp.exp(position["log_spread"]) * position["z"]


def log_density(position):
    prior = norm.logpdf(position["mean"], 0, 10) + norm.logpdf(position["z"]).sum()
    prior += norm.logpdf(position["log_spread"], 1.5, 1)
    return prior + norm.logpdf(EFFECTS, true_effects(position), ERRORS).sum()


def make_sampler(kernel, draws):
    """Returns a function that continues all chains by `draws` draws."""
    def chain(state, key):
        def draw(state, key):
            state, info = kernel(key, state)
            return state, (state.position, info.is_divergent)

        return jax.lax.scan(draw, state, jax.random.split(key, draws))

    return jax.jit(jax.vmap(chain))


def between_chains(x):
    """R-hat of draws[chain, draw, ...] (Gelman and Rubin 1992): near 1 if the chains agree."""
    within = x.var(axis=1, ddof=1).mean(axis=0)
    return np.sqrt((x.shape[1] - 1) / x.shape[1] + x.mean(axis=1).var(axis=0, ddof=1) / within)


def interval(draws, low=-25, high=45, width=56):
    """A line of text: 90% interval of the draws, and their mean."""
    column = lambda value: int(np.clip((value - low) / (high - low), 0, 1) * (width - 1))
    line = [" "] * width
    line[column(0)] = ":"
    first, last = (column(v) for v in np.percentile(draws, (5, 95)))
    line[first:last + 1] = "-" * (last + 1 - first)
    line[column(draws.mean())] = "o"
    return "".join(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--draws", type=int, default=1000, help="draws of each chain")
    parser.add_argument("--warmup", type=int, default=500)
    compare.add_option(parser)
    args = parser.parse_args()
    print(f"{compare.platform()}: {args.chains} chains", flush=True)
    start = {"mean": jnp.array(0.0), "log_spread": jnp.array(1.0), "z": jnp.zeros(len(EFFECTS))}
    warmup = blackjax.window_adaptation(blackjax.nuts, log_density, target_acceptance_rate=0.9)
    (state, parameters), _ = warmup.run(jax.random.key(0), start, num_steps=args.warmup)
    print(f"warm-up: step size {float(parameters['step_size']):.3f}", flush=True)

    part = max(1, args.draws // 10)
    sample = make_sampler(blackjax.nuts(log_density, **parameters).step, part)
    states = jax.tree.map(lambda x: jnp.broadcast_to(x, (args.chains, *x.shape)), state)
    stopwatch, parts, divergences = compare.Stopwatch(), [], 0
    for key in jax.random.split(jax.random.key(1), args.draws // part):
        states, (positions, divergent) = stopwatch(sample, states, jax.random.split(key, args.chains))
        parts.append(positions)
        divergences += int(divergent.sum())
        done = len(parts) * part
        print(f"draws {done:5d}/{args.draws}  mean effect {float(positions['mean'].mean()):5.2f}", flush=True)

    positions = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *parts)
    effects = np.asarray(true_effects({k: v[..., None] if v.ndim == 2 else v for k, v in positions.items()}))
    print(f"\nR-hat {between_chains(effects).max():.3f}, {divergences} divergent draws; effect of coaching (90%):")
    for i, measured in enumerate(EFFECTS):
        print(f"school {i + 1}  measured {measured:5.0f}  {interval(effects[..., i])}")
    print(f"all schools          {interval(positions['mean'])}")
    compare.finish(stopwatch, args.compare)


if __name__ == "__main__":
    main()
