#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for cliffs: random programs that hlocc runs much slower than it should.

Each program is a handful of JAX operations (reductions, softmax, norms, masks, transposes, broadcasts,
slices, concatenations, gathers, products with mixed layouts; minor dimensions of 1 to 17 among others;
all float types; several results), made from its seed alone. It is timed in one process on hlocc, on
XLA's cpu client and on hlocc restricted to a lower level of instructions. A finding is a program below
0.7 of XLA's speed, or a tenth slower than at the lower level; findings are timed again before they
count, reduced to the operations that they need, and printed as Python.
"""
import argparse
import json
import math
import os
import random
import re
import statistics
import sys
import time

import suite

XLA_LIMIT = 0.7     # of XLA's speed
LEVEL_LIMIT = 0.9   # of the speed at a lower level
REPEATS = 3         # of the timing of a finding, each with new buffers: all minima together must be a finding
LEAST_SECONDS = 20e-6  # shorter programs say more about dispatch than about code
MOST_ELEMENTS = 1 << 21
DIMENSIONS = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 31, 32, 50, 64, 100, 128, 200, 256, 512, 1000, 1024, 2048]
TYPES = ["float32"] * 5 + ["bfloat16"] * 3 + ["float16", "float64"]
UNARY = ["jnp.tanh({x})", "jnp.exp(-jnp.abs({x}))", "jax.nn.sigmoid({x})", "{x} * 0.5 + 1", "jnp.maximum({x}, 0)",
         "{x} * {x}", "jax.nn.gelu({x})", "jnp.sqrt(jnp.abs({x}) + 1)", "{x}.astype(jnp.float32).astype({x}.dtype)"]
BINARY = ["{x} + {y}", "{x} * {y}", "{x} - {y}", "jnp.maximum({x}, {y})", "jnp.where({x} > {y}, {x}, 0)"]
REDUCE = ["jnp.sum({x}, {a})", "jnp.max({x}, {a})", "jnp.mean({x}, {a})", "jnp.sum({x} * {x}, {a})", "jnp.argmax({x}, {a})",
          "jax.nn.logsumexp({x}, {a})"]


class Maker:
    """Builds one program: lines of Python over values v0, v1 ... with their shapes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype = self.random.choice(TYPES)
        self.lines, self.shapes, self.inputs = [], {}, {}
        self.count = 0

    def shape(self, most=MOST_ELEMENTS):
        while True:
            dims = [self.random.choice(DIMENSIONS) for _ in range(self.random.choice([1, 2, 2, 3, 3, 4]))]
            if self.random.random() < 0.4:
                dims[-1] = self.random.randint(1, 17)
            if 1 << 12 <= math.prod(dims) <= most:
                return tuple(dims)

    def input(self, shape):
        name = f"v{self.count}"
        self.count += 1
        self.inputs[name] = self.shapes[name] = shape
        return name

    def add(self, text, shape):
        if math.prod(shape) > MOST_ELEMENTS or not shape:
            return None
        name = f"v{self.count}"
        self.count += 1
        self.lines.append((name, text))
        self.shapes[name] = tuple(shape)
        return name

    def value(self, rank=0):
        names = [name for name, shape in self.shapes.items() if len(shape) >= rank]
        return self.random.choice(names[-4:]) if names else self.input(self.shape())

    def unary(self):
        x = self.value()
        self.add(self.random.choice(UNARY).format(x=x), self.shapes[x])

    def binary(self):
        x = self.value()
        same = [n for n, shape in self.shapes.items() if shape == self.shapes[x] and n != x]
        y = self.random.choice(same) if same and self.random.random() < 0.7 else self.input(self.shapes[x])
        self.add(self.random.choice(BINARY).format(x=x, y=y), self.shapes[x])

    def reduce(self):
        x = self.value(2)
        shape = self.shapes[x]
        if len(shape) < 2:
            return
        axis = self.random.randrange(len(shape))
        text = self.random.choice(REDUCE).format(x=x, a=axis)
        y = self.add(f"({text}).astype({x}.dtype)", shape[:axis] + shape[axis + 1:])
        if y and self.random.random() < 0.5:
            self.add(f"{x} - jnp.expand_dims({y}, {axis})", shape)

    def normalise(self):
        x = self.value()
        axis = self.random.randrange(len(self.shapes[x]))
        kind = self.random.choice(["jax.nn.softmax({x}, {a})", "jax.nn.log_softmax({x}, {a})",
                                   "jax.nn.standardize({x}, {a})", "{x} * jax.lax.rsqrt(jnp.mean({x} * {x}, {a}, keepdims=True) + 1)"])
        self.add(kind.format(x=x, a=axis), self.shapes[x])

    def mask(self):
        x = self.value(2)
        shape = self.shapes[x]
        if len(shape) < 2:
            return
        a, b = self.random.sample(range(len(shape)), 2)
        self.add(f"jnp.where(jax.lax.broadcasted_iota(jnp.int32, {x}.shape, {a}) >= "
                 f"jax.lax.broadcasted_iota(jnp.int32, {x}.shape, {b}), {x}, jnp.asarray(-1e4, {x}.dtype))", shape)

    def transpose(self):
        x = self.value(2)
        shape = self.shapes[x]
        order = list(range(len(shape)))
        self.random.shuffle(order)
        self.add(f"jnp.transpose({x}, {tuple(order)})", [shape[i] for i in order])

    def broadcast(self):
        x = self.value()
        shape = self.shapes[x]
        y = self.input(shape)
        if len(shape) <= 3 and math.prod(shape) * shape[0] <= MOST_ELEMENTS:
            self.add(f"{x}[None] - {y}[:, None]", (shape[0],) + shape)

    def slice(self):
        x = self.value()
        shape = list(self.shapes[x])
        axis = self.random.randrange(len(shape))
        if shape[axis] < 4:
            return
        low, step = self.random.randrange(shape[axis] // 4 + 1), self.random.choice([1, 1, 1, 2, 3])
        end = self.random.randrange(low + shape[axis] // 2, shape[axis] + 1)
        shape[axis] = -(-(end - low) // step)
        self.add(f"jax.lax.slice_in_dim({x}, {low}, {end}, {step}, {axis})", shape)

    def concatenate(self):
        x = self.value()
        shape = list(self.shapes[x])
        axis = self.random.randrange(len(shape))
        other = list(shape)
        other[axis] = self.random.choice([1, 2, 3, shape[axis]])
        y = self.input(tuple(other))
        shape[axis] += other[axis]
        self.add(f"jnp.concatenate([{x}, {y}], {axis})", shape)

    def gather(self):
        x = self.value(2)
        shape = self.shapes[x]
        count = self.random.choice([64, 1000, 5000])
        self.add(f"{x}[(jnp.arange({count}) * 7919) % {shape[0]}]", (count,) + shape[1:])

    def product(self):
        x = self.value(2)
        shape = self.shapes[x]
        letters = "abcd"[:len(shape)]
        axis, size = self.random.randrange(len(shape)), self.random.choice(DIMENSIONS)
        batch = [i for i in range(len(shape)) if i != axis and len(shape) > 2 and self.random.random() < 0.3]
        other = [letters[i] for i in batch] + [letters[axis], "z"]
        self.random.shuffle(other)
        out = [c for i, c in enumerate(letters) if i != axis] + ["z"]
        if self.random.random() < 0.5:
            self.random.shuffle(out)
        sizes = dict(zip(letters, shape), z=size)
        work = math.prod(shape) * size
        if work > 1 << 29 or math.prod(sizes[c] for c in other) > MOST_ELEMENTS:
            return
        y = self.input(tuple(sizes[c] for c in other))
        self.add(f"jnp.einsum('{letters},{''.join(other)}->{''.join(out)}', {x}, {y})", [sizes[c] for c in out])


def make(seed):
    """Lines, results and inputs of the program of a seed."""
    maker = Maker(seed)
    maker.input(maker.shape())
    kinds = [maker.unary] * 4 + [maker.binary] * 4 + [maker.reduce] * 4 + [maker.normalise] * 2 + [
        maker.mask, maker.transpose, maker.transpose, maker.broadcast, maker.slice, maker.concatenate, maker.gather,
        maker.product, maker.product]
    for _ in range(maker.random.choice([1, 2, 3, 4, 6, 8, 12, 20, 30])):
        maker.random.choice(kinds)()
    if not maker.lines:
        maker.unary()
    used = " ".join(text for _, text in maker.lines)
    results = [name for name, _ in maker.lines if f"{name} " not in used + " " and f"{name}," not in used
               and f"{name})" not in used and f"{name}[" not in used and f"{name}." not in used]
    results = results[-3:] or [maker.lines[-1][0]]
    return trimmed(maker.lines, results), results, maker.inputs, maker.dtype


def trimmed(lines, results):
    """The lines that the results need."""
    needed, kept = set(results), []
    for name, text in reversed(lines):
        if name in needed:
            needed.update(re.findall(r"\bv\d+\b", text))
            kept.append((name, text))
    return kept[::-1]


def source(lines, results, inputs):
    used = set(re.findall(r"\bv\d+\b", " ".join(text for _, text in lines))) | set(results)
    names = [name for name in inputs if name in used]
    body = "\n".join(f"  {name} = {text}" for name, text in lines)
    return names, f"def f({', '.join(names)}):\n{body}\n  return {', '.join(results)},\n"


class Timer:
    """Times a program on all devices in turn, the best of the rounds."""

    def __init__(self, jax, devices, options):
        self.jax, self.devices, self.options = jax, devices, options

    def __call__(self, lines, results, inputs, dtype, rounds=None):
        import numpy as np
        jax = self.jax
        jax.config.update("jax_enable_x64", dtype == "float64")
        names, text = source(lines, results, inputs)
        scope = {"jax": jax, "jnp": jax.numpy}
        exec(text, scope)
        generator = np.random.default_rng(1)
        host = [generator.standard_normal(inputs[name]).astype(jax.numpy.dtype(dtype)) for name in names]
        calls = {}
        for column, device in self.devices.items():
            arguments = [jax.device_put(a, device) for a in host]
            calls[column] = (jax.jit(scope["f"]), arguments)
            jax.block_until_ready(calls[column][0](*arguments))
        best = dict.fromkeys(calls, math.inf)
        for _ in range(rounds or self.options.rounds):
            for column, (function, arguments) in calls.items():
                end, runs = time.perf_counter() + self.options.seconds, 0
                while runs < 3 or time.perf_counter() < end:
                    start = time.perf_counter()
                    jax.block_until_ready(function(*arguments))
                    best[column] = min(best[column], time.perf_counter() - start)
                    runs += 1
        jax.clear_caches()
        return best


def finding(seconds):
    """Why the times are a finding, or None."""
    mine = seconds["hlocc"]
    if mine < LEAST_SECONDS:
        return None
    if seconds["xla"] < XLA_LIMIT * mine:
        return f"{seconds['xla'] / mine:.2f} of XLA's speed"
    for column, other in seconds.items():
        if column not in ("hlocc", "xla") and other < LEVEL_LIMIT * mine:
            return f"{other / mine:.2f} of the speed at {column}"
    return None


def reduced(timer, lines, results, inputs, dtype, deadline):
    """The program with as few operations as the finding needs: results and lines are left out in turn."""
    inputs, changed = dict(inputs), True
    while changed and time.perf_counter() < deadline:
        changed = False
        tries = [(trimmed(lines, [r]), [r], inputs) for r in results] if len(results) > 1 else []
        for name, _ in lines:  # an operation's result becomes an input
            rest = [line for line in lines if line[0] != name]
            if rest and name not in results:
                tries.append((trimmed(rest, results), results, {**inputs, name: timer.shapes[name]}))
        tries += [(trimmed(lines, [name]), [name], inputs) for name, _ in lines if [name] != results]
        for candidate in sorted(tries, key=lambda t: len(t[0])):
            if len(candidate[0]) >= len(lines) or time.perf_counter() > deadline:
                continue
            try:
                if finding(timer(*candidate, dtype)):
                    lines, results, inputs = candidate
                    changed = True
                    break
            except Exception:  # a candidate that is no program
                continue
    return lines, results, inputs


def shapes_of(jax, lines, inputs, dtype):
    """Shapes of all values, for operations that become inputs."""
    names, text = source(lines, [name for name, _ in lines], inputs)
    scope = {"jax": jax, "jnp": jax.numpy}
    exec(text, scope)
    shapes = jax.eval_shape(scope["f"], *[jax.ShapeDtypeStruct(inputs[n], jax.numpy.dtype(dtype)) for n in names])
    return {**inputs, **{name: s.shape for (name, _), s in zip(lines, shapes)}}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="seed of the first program")
    parser.add_argument("--count", type=int, default=200, help="how many programs (200)")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds after which no more are begun")
    parser.add_argument("--reduce-seconds", type=float, default=20, help="for reducing one finding (20; 0: none)")
    parser.add_argument("--out", help="file for JSON lines, one per program; programs in it are not timed again")
    parser.add_argument("--level", default="avx2", help="lower level of instructions that is timed too (avx2)")
    suite.add_timing_arguments(parser, rounds=3, seconds=0.01)
    return parser.parse_args()


def read_journal(options):
    """Rows of --out, by seed: an interrupted run goes on where it stopped."""
    try:
        with open(options.out or os.devnull, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    except FileNotFoundError:
        return {}
    return {row["seed"]: row for row in rows if options.first <= row["seed"] < options.first + options.count}


def measure(timer, seed, options):
    """The row of one program. What looks like a finding is timed again until it is none, as noise does not persist."""
    program = make(seed)
    seconds = timer(*program)
    for _ in range(REPEATS):
        if not finding(seconds):
            break
        again = timer(*program, 3 * options.rounds)
        seconds = {column: min(seconds[column], again[column]) for column in seconds}
    return {"seed": seed, "dtype": program[-1], "reason": finding(seconds), **seconds}


def report(jax, timer, row, options):
    """Prints the program of a finding, reduced."""
    lines, results, inputs, dtype = make(row["seed"])
    if options.reduce_seconds:
        timer.shapes = shapes_of(jax, lines, inputs, dtype)
        lines, results, inputs = reduced(timer, lines, results, inputs, dtype,
                                         time.perf_counter() + options.reduce_seconds)
    names, text = source(lines, results, inputs)
    times = "  ".join(f"{column} {1e6 * row[column]:.0f} us" for column in timer.devices)
    print(f"seed {row['seed']}, {dtype}: {row['reason']}; {times}\n  inputs {[inputs[n] for n in names]}\n{text}",
          flush=True)


def main():
    options = parse_arguments()
    from jax._src import xla_bridge  # platforms are registered before the first is used
    sys.path.insert(0, str(suite.ROOT / "python"))
    lower = f"hlocc_{options.level}"
    xla_bridge.register_plugin(lower, library_path=options.library, options={"cpu": options.level})
    jax, devices = suite.load_jax(options.library, [lower])
    timer = Timer(jax, devices, options)
    rows, begun = read_journal(options), time.perf_counter()
    for seed in range(options.first, options.first + options.count):
        if seed in rows:
            continue
        if time.perf_counter() - begun > options.limit:
            break
        try:
            rows[seed] = measure(timer, seed, options)
        except Exception as error:  # the program itself is wrong, or hlocc is: both are to be seen
            print(f"seed {seed}: {type(error).__name__}: {str(error).splitlines()[0]}", flush=True)
            continue
        if options.out:
            with open(options.out, "a", encoding="utf-8") as file:
                file.write(json.dumps(rows[seed]) + "\n")
        if rows[seed]["reason"]:
            report(jax, timer, rows[seed], options)
    ratios = [row["xla"] / row["hlocc"] for row in rows.values()]
    if ratios:
        print(f"{len(ratios)} programs, {sum(bool(row['reason']) for row in rows.values())} findings; geometric mean "
              f"{statistics.geometric_mean(ratios):.2f} of XLA's speed, least {min(ratios):.2f}")


if __name__ == "__main__":
    main()
