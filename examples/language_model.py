#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer, character by character, on the pages of this project; then it writes.

    JAX_PLATFORMS=hlocc python examples/language_model.py --compare
"""
import argparse
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax

import compare

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 64, 96, 4, 2, 24


def load_text():
    """The pages as one array of character numbers, and the characters."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(ROOT.glob("src/*/GUIDE.md"))]
    tables = ("ops.md", "accuracy.md", "support-matrix.md", "performance.md")
    text = "".join(page.read_text() for page in pages if page.name not in tables)
    characters = sorted(set(text))
    number = {character: i for i, character in enumerate(characters)}
    return np.array([number[character] for character in text], np.int32), characters


def init_params(key, vocabulary):
    keys = iter(jax.random.split(key, 3 + 4 * LAYERS))

    def matrix(rows, columns, scale=1.0):
        return jax.random.normal(next(keys), (rows, columns)) * scale / np.sqrt(rows)

    blocks = [{"qkv": matrix(WIDTH, 3 * WIDTH), "out": matrix(WIDTH, WIDTH, 0.5),
               "up": matrix(WIDTH, 4 * WIDTH), "down": matrix(4 * WIDTH, WIDTH, 0.5)} for _ in range(LAYERS)]
    return {"embed": matrix(vocabulary, WIDTH), "position": matrix(CONTEXT, WIDTH), "blocks": blocks,
            "head": matrix(WIDTH, vocabulary)}


def normalize(x):
    return (x - x.mean(axis=-1, keepdims=True)) * jax.lax.rsqrt(x.var(axis=-1, keepdims=True) + 1e-5)


def attention(block, x):
    q, k, v = (part.reshape(CONTEXT, HEADS, -1) for part in jnp.split(x @ block["qkv"], 3, axis=-1))
    scores = jnp.einsum("qhd,khd->hqk", q, k) / np.sqrt(WIDTH / HEADS)
    scores = jnp.where(jnp.tri(CONTEXT, dtype=bool), scores, -1e9)
    mixed = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(scores), v)
    return mixed.reshape(CONTEXT, WIDTH) @ block["out"]


def logits(params, text):
    """Scores of the next character after each of the CONTEXT characters of `text`."""
    x = params["embed"][text] + params["position"]
    for block in params["blocks"]:
        x = x + attention(block, normalize(x))
        x = x + jax.nn.gelu(normalize(x) @ block["up"]) @ block["down"]
    return normalize(x) @ params["head"]


def loss_fn(params, windows):
    scores = jax.vmap(logits, in_axes=(None, 0))(params, windows[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(scores, windows[:, 1:]).mean()


def write(params, key, start, length):
    """Draws `length` characters, each from the distribution after the CONTEXT characters before it."""
    def draw(window, key):
        character = jax.random.categorical(key, logits(params, window)[-1] / 0.6)
        return jnp.append(window[1:], character), character

    return jax.lax.scan(draw, start, jax.random.split(key, length))[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--length", type=int, default=400, help="characters to write")
    compare.add_option(parser)
    args = parser.parse_args()
    text, characters = load_text()
    print(f"{compare.platform()}: {len(text)} characters, {len(characters)} different ones", flush=True)
    params = init_params(jax.random.key(0), len(characters))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0),
                            optax.adamw(optax.warmup_cosine_decay_schedule(0, 4e-3, 20, args.steps + 1)))

    @jax.jit
    def step(params, state, windows):
        loss, grads = jax.value_and_grad(loss_fn)(params, windows)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    state, random, stopwatch = optimizer.init(params), np.random.default_rng(0), compare.Stopwatch()
    for i in range(1, args.steps + 1):
        starts = random.integers(0, len(text) - CONTEXT - 1, BATCH)
        windows = text[starts[:, None] + np.arange(CONTEXT + 1)]
        params, state, loss = stopwatch(step, params, state, windows)
        if i == 1 or i % max(1, args.steps // 10) == 0:
            print(f"step {i:4d}/{args.steps}  loss {loss:.3f} nats a character", flush=True)
    written = jax.jit(write, static_argnums=3)(params, jax.random.key(1), jnp.array(text[:CONTEXT]), args.length)
    print("\n" + "".join(characters[i] for i in written.tolist()))
    compare.finish(stopwatch, args.compare)


if __name__ == "__main__":
    main()
