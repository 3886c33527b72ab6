#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times what a user waits for at a first call, tracing, lowering and compiling, on hlocc, on XLA's cpu
client and on a plugin that compiles nothing.

The last (build/bench/memo_plugin.so) is hlocc, but finds the executables of programs it has seen: what
it takes is JAX's own. All take turns with functions that JAX has not seen, the minimum counts. One
JSON line per program and column, as from bench/suite.py.
"""
import argparse
import ctypes
import json
import os
import pathlib
import re
import sys
import time

import numpy as np

import suite

MEMO = "nothing"  # the platform of the plugin that compiles nothing


# ---- programs: (function, arguments)

def normal(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def dense(sizes):
    return [(normal(m, n), normal(n)) for m, n in zip(sizes, sizes[1:])]


def descend(loss):
    """A step of gradient descent."""
    import jax

    def step(parameters, *data):
        value, gradients = jax.value_and_grad(loss)(parameters, *data)
        return value, jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradients)
    return step


def cross_entropy(scores, labels):
    import jax
    import jax.numpy as jnp
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(scores), labels[..., None], -1))


def perceptron(layers, x):
    import jax
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


def mlp_gradient():
    import jax
    loss = lambda layers, x, labels: cross_entropy(perceptron(layers, x), labels)
    return jax.grad(loss), (dense((64, 256, 256, 10)), normal(128, 64), np.arange(128) % 10)


def cnn_step():
    import jax
    from jax import lax

    def loss(parameters, x, labels):
        filters, layers = parameters
        for w in filters:
            x = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = lax.reduce_window(jax.nn.relu(x), -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME")
        return cross_entropy(perceptron(layers, x.reshape(len(x), -1)), labels)

    filters = [normal(3, 3, 1, 16), normal(3, 3, 16, 32)]
    return descend(loss), ((filters, dense((128, 10))), normal(32, 8, 8, 1), np.arange(32) % 10)


def transformer_step(layers=2, width=64, heads=4, words=100, length=32):
    import jax
    import jax.numpy as jnp

    def norm(x):
        centred = x - x.mean(-1, keepdims=True)
        return centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)

    def block(p, x):
        q, k, v = (t.reshape(*x.shape[:2], heads, -1) for t in jnp.split(norm(x) @ p["qkv"], 3, -1))
        scores = jnp.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(width / heads)
        scores = jnp.where(np.tri(length, dtype=bool), scores, -np.inf)
        x = x + jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(scores), v).reshape(x.shape) @ p["out"]
        return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]

    def loss(parameters, tokens):
        x = parameters["words"][tokens]
        for p in parameters["blocks"]:
            x = block(p, x)
        return cross_entropy((x @ parameters["words"].T)[:, :-1], tokens[:, 1:])

    blocks = [{"qkv": normal(width, 3 * width), "out": normal(width, width), "up": normal(width, 4 * width),
               "down": normal(4 * width, width)} for _ in range(layers)]
    tokens = np.arange(4 * length).reshape(4, length) % words
    return descend(loss), ({"words": normal(words, width), "blocks": blocks}, tokens)


def chained_sines(count=500):
    import jax.numpy as jnp

    def chain(x):
        for _ in range(count):
            x = jnp.sin(x)
        return x
    return chain, (normal(1000),)


def scan_rnn():
    import jax
    import jax.numpy as jnp

    def run(w, u, xs):
        step = lambda h, x: (jnp.tanh(h @ w + x @ u),) * 2
        return jax.lax.scan(step, jnp.zeros((16, 64), np.float32), xs)
    return run, (normal(64, 64), normal(32, 64), normal(50, 16, 32))


PROGRAMS = {
    "add_scalar": lambda: (lambda x: x + 1, (normal(),)),
    "add_100_args": lambda: (lambda *xs: [x + 1 for x in xs], [normal(8)] * 100),
    "matmul_256": lambda: (lambda a, b: a @ b, (normal(256, 256), normal(256, 256))),
    "mlp_gradient": mlp_gradient,
    "cnn_step": cnn_step,
    "transformer_step": transformer_step,
    "scan_rnn": scan_rnn,
    "chained_sines_500": chained_sines,
}


# ---- measuring

def jit_seconds(jax, function, arguments):
    """Of a function that JAX has not seen: (seconds, those of all cores)."""
    fresh = jax.jit(lambda *a: function(*a))
    start, start_cpu = time.perf_counter(), time.process_time()
    fresh.lower(*arguments).compile()
    return time.perf_counter() - start, time.process_time() - start_cpu


def measure(make, jax, devices, options):
    """{column: (seconds, those of all cores)}"""
    function, host = make()
    arguments = {column: jax.device_put(host, device) for column, device in devices.items()}
    times = {column: [] for column in devices}
    end = time.perf_counter() + options.seconds
    while len(times["hlocc"]) < options.rounds or time.perf_counter() < end:
        for column, found in times.items():
            found.append(jit_seconds(jax, function, arguments[column]))
    return {column: tuple(map(min, zip(*found))) for column, found in times.items()}


def compiled_count(path):
    return ctypes.CDLL(str(path)).memo_compiled_count()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose names match")
    parser.add_argument("--out", help="file for the JSON lines (appended to)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of every column, at least (5)")
    parser.add_argument("--seconds", type=float, default=3, help="of each program, at least (3)")
    parser.add_argument("--columns", default="hlocc,nothing,xla", help="what to run; hlocc always does")
    suite.add_library_argument(parser)
    parser.add_argument("--memo", default=str(suite.ROOT / "build" / "bench" / "memo_plugin.so"),
                        help="the plugin that compiles nothing (build/bench)")
    return parser.parse_args()


def main():
    options = parse_arguments()
    os.environ.update(MEMO_PLUGIN=str(pathlib.Path(options.library).resolve()),
                      PJRT_NAMES_AND_LIBRARY_PATHS=f"{MEMO}:{options.memo}")
    jax, devices = suite.load_jax(options.library, (MEMO,))
    columns = {"hlocc", *options.columns.split(",")}
    devices = {name: device for name, device in devices.items() if name in columns}
    out = open(options.out, "a") if options.out else sys.stdout
    for name, make in PROGRAMS.items():
        if not re.search(options.only, name):
            continue
        before = compiled_count(options.memo)
        for column, (seconds, cpu_s) in measure(make, jax, devices, options).items():
            row = {"program": name, "column": column, "jit_s": round(seconds, 7), "cpu_s": round(cpu_s, 7)}
            if column == MEMO:
                row["compiled"] = compiled_count(options.memo) - before  # 1: all but the first were found
            print(json.dumps(row), file=out, flush=True)


if __name__ == "__main__":
    main()
