# SPDX-License-Identifier: Apache-2.0
"""Training steps of small models, compared with XLA."""
import jax
import jax.numpy as jnp
import numpy as np
import optax


def scaled(random, *shape):
    return (random.normal(size=shape) / np.sqrt(shape[0])).astype("f4")


def test_convnet_step(both, random):
    params = {"c1": scaled(random, 3, 3, 1, 8), "c2": scaled(random, 3, 3, 8, 16),
              "w": scaled(random, 2 * 2 * 16, 10), "b": np.zeros(10, "f4")}
    images = random.normal(size=(8, 8, 8, 1)).astype("f4")
    labels = random.integers(0, 10, 8)

    def convolve(x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME",
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pool(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(params):
        x = pool(jax.nn.relu(convolve(images, params["c1"])))
        x = pool(jax.nn.relu(convolve(x, params["c2"])))
        logits = x.reshape(8, -1) @ params["w"] + params["b"]
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    both(jax.value_and_grad(loss), params)


def test_strided_and_dilated_convolutions(both, random):
    x, k = random.normal(size=(2, 4, 9, 9)).astype("f4"), random.normal(size=(6, 2, 3, 3)).astype("f4")
    for strides, dilation in (((2, 1), (1, 1)), ((1, 1), (2, 2)), ((2, 2), (1, 2))):
        both(jax.grad(lambda k, s=strides, d=dilation: jnp.sum(jax.lax.conv_general_dilated(
            x, k, s, "SAME", rhs_dilation=d, feature_group_count=2) ** 2)), k)


def test_scan_rnn(both, random):
    params = {"wx": scaled(random, 6, 12), "wh": scaled(random, 12, 12), "b": np.zeros(12, "f4")}
    inputs = random.normal(size=(20, 4, 6)).astype("f4")

    def loss(params):
        def cell(h, x):
            h = jnp.tanh(x @ params["wx"] + h @ params["wh"] + params["b"])
            return h, h.mean()

        last, means = jax.lax.scan(cell, jnp.zeros((4, 12)), inputs)
        return (last ** 2).sum() + means.sum()

    both(jax.value_and_grad(loss), params)


def transformer_block(params, x):
    """Attention and a gated layer over one sequence [time, width], causal, four heads."""
    def normed(x):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred * jax.lax.rsqrt((centred ** 2).mean(axis=-1, keepdims=True) + 1e-5)

    time, width = x.shape
    q, k, v = (normed(x) @ params[n] for n in ("q", "k", "v"))
    q, k, v = (t.reshape(time, 4, width // 4).transpose(1, 0, 2) for t in (q, k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(width // 4)
    scores = jnp.where(jnp.tril(jnp.ones((time, time), bool)), scores, -jnp.inf)
    mixed = (jax.nn.softmax(scores) @ v).transpose(1, 0, 2).reshape(time, width)
    x = x + mixed @ params["o"]
    return x + jax.nn.gelu(normed(x) @ params["up"]) @ params["down"]


def test_transformer_block_vmap_and_grad(both, random):
    params = {n: scaled(random, 16, 16) for n in "qkvo"}
    params |= {"up": scaled(random, 16, 64), "down": scaled(random, 64, 16)}
    batch = random.normal(size=(3, 10, 16)).astype("f4")

    def loss(params, batch):
        return (jax.vmap(transformer_block, (None, 0))(params, batch) ** 2).mean()

    both(jax.vmap(transformer_block, (None, 0)), params, batch)
    both(jax.value_and_grad(loss), params, batch)


def test_optax_adam_steps(both, random):
    optimizer = optax.adamw(1e-2)
    params = {"w": scaled(random, 8, 3)}
    x, y = random.normal(size=(32, 8)).astype("f4"), random.normal(size=(32, 3)).astype("f4")

    def train(params):
        def step(_, carry):
            params, state = carry
            grads = jax.grad(lambda p: ((x @ p["w"] - y) ** 2).mean())(params)
            updates, state = optimizer.update(grads, state, params)
            return optax.apply_updates(params, updates), state

        return jax.lax.fori_loop(0, 20, step, (params, optimizer.init(params)))[0]

    both(train, params, tolerance=1e-4)


def test_linear_algebra(both, random):
    a = random.normal(size=(6, 6)).astype("f4")
    spd = a @ a.T + 6 * np.eye(6, dtype="f4")
    both(jnp.linalg.cholesky, spd, tolerance=1e-4)
    both(jnp.linalg.solve, spd, a[:, :2], tolerance=1e-4)
    both(lambda m: jnp.abs(jnp.linalg.qr(m)[1]), a, tolerance=1e-4)
    both(lambda m: jnp.linalg.eigh(m)[0], spd, tolerance=1e-4)
    both(jnp.linalg.det, spd, tolerance=1e-4)
