#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier of handwritten digits with unmodified JAX and optax.

    JAX_PLATFORMS=hlocc python examples/train_digits.py --png digits.png --compare

Nothing in this file knows hlocc: JAX_PLATFORMS chooses who compiles and runs it. Ends with an error
unless at least 95% of the test digits are recognised.
"""
import argparse
import pathlib
import sys

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
import optax
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import compare

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend is chosen first)

LAYERS = (64, 128, 64, 10)
BATCH = 64
WANTED_ACCURACY = 0.95


def load_data():
    digits = load_digits()
    images = (digits.data / 16.0).astype(np.float32)
    return train_test_split(images, digits.target.astype(np.int32), test_size=0.25, random_state=0,
                            stratify=digits.target)


def init_params(key):
    params = []
    for fan_in, fan_out in zip(LAYERS[:-1], LAYERS[1:]):
        key, sub = jax.random.split(key)
        weights = jax.random.normal(sub, (fan_in, fan_out)) * jnp.sqrt(2.0 / fan_in)
        params.append({"w": weights, "b": jnp.zeros(fan_out)})
    return params


def forward(params, images):
    hidden = images
    for layer in params[:-1]:
        hidden = jax.nn.relu(hidden @ layer["w"] + layer["b"])
    return hidden @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, images, labels):
    logits = forward(params, images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def make_step(optimizer):
    @jax.jit
    def step(params, state, images, labels):
        loss, grads = jax.value_and_grad(loss_fn)(params, images, labels)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    return step


def batches(images, labels, random):
    order = random.permutation(len(images))
    for start in range(0, len(order) - BATCH + 1, BATCH):
        chosen = order[start:start + BATCH]
        yield images[chosen], labels[chosen]


def train(params, data, epochs, stopwatch):
    """Returns the loss of every step, and the predictions of the trained parameters."""
    train_images, test_images, train_labels, test_labels = data
    optimizer = optax.adam(optax.cosine_decay_schedule(3e-3, epochs * (len(train_images) // BATCH)))
    step, state = make_step(optimizer), optimizer.init(params)
    predict = jax.jit(lambda params, images: forward(params, images).argmax(axis=-1))
    random, losses = np.random.default_rng(0), []
    for epoch in range(1, epochs + 1):
        for images, labels in batches(train_images, train_labels, random):
            params, state, loss = stopwatch(step, params, state, images, labels)
            losses.append(float(loss))
        accuracy = float((np.asarray(predict(params, test_images)) == test_labels).mean())
        if epoch == 1 or epoch % max(1, epochs // 10) == 0:
            print(f"epoch {epoch:3d}/{epochs}  loss {np.mean(losses[-20:]):.4f}  "
                  f"test accuracy {accuracy:.3f}", flush=True)
    return losses, np.asarray(predict(params, test_images))


def draw(path, losses, images, labels, predictions):
    figure = plt.figure(figsize=(11, 4.5))
    left, right = figure.subfigures(1, 2)
    axes = left.subplots()
    axes.plot(losses, linewidth=0.8)
    axes.set(xlabel="step", ylabel="loss", yscale="log", title="training loss")
    wrong = np.flatnonzero(predictions != labels)[:6]
    shown = np.concatenate([wrong, np.flatnonzero(predictions == labels)])[:24]
    for axes, index in zip(right.subplots(4, 6).flat, shown):
        axes.imshow(images[index].reshape(8, 8), cmap="gray_r")
        axes.set_title(str(predictions[index]), fontsize=9,
                       color="green" if predictions[index] == labels[index] else "red")
        axes.axis("off")
    right.suptitle("predictions on test digits (red: wrong)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--png", type=pathlib.Path, default=pathlib.Path("digits.png"))
    compare.add_option(parser)
    args = parser.parse_args()
    data = load_data()
    print(f"JAX {jax.__version__} on {compare.platform()}", flush=True)
    params, stopwatch = init_params(jax.random.key(0)), compare.Stopwatch()
    losses, predictions = train(params, data, args.epochs, stopwatch)
    accuracy = float((predictions == data[3]).mean())
    draw(args.png, losses, data[1], data[3], predictions)
    print(f"test accuracy {accuracy:.4f} on {len(predictions)} digits")
    print(f"loss curve and predictions: {args.png}")
    if accuracy < WANTED_ACCURACY:
        sys.exit(f"test accuracy {accuracy:.4f} is below {WANTED_ACCURACY}")
    compare.finish(stopwatch, args.compare)


if __name__ == "__main__":
    main()
