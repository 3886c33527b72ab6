# SPDX-License-Identifier: Apache-2.0
"""Attention as JAX's functions and einsum state it, beside XLA's cpu client."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest

QUERIES, KEYS = 130, 400
VARIANTS = {
    "plain": {},
    "causal": {"is_causal": True},
    "local": {"local_window_size": (20, 5)},
    "lengths": {"query_seq_lengths": np.array([100, 130], np.int32),
                "key_value_seq_lengths": np.array([400, 70], np.int32)},
}


def operands(dtype, key_heads=4, features=16):
    random = np.random.default_rng(3)
    shapes = [(2, QUERIES, 4, 16), (2, KEYS, key_heads, 16), (2, KEYS, key_heads, features)]
    return [jnp.asarray(random.normal(size=s), dtype) for s in shapes]


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_dot_product_attention(both, dtype, name):
    both(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, **VARIANTS[name]), *operands(dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_grouped_heads_with_bias_and_mask(both, dtype):
    random = np.random.default_rng(5)
    bias = jnp.asarray(random.normal(size=(1, 4, QUERIES, KEYS)), dtype)
    mask = jnp.asarray(random.uniform(size=(2, 1, 1, KEYS)) < 0.8)
    both(lambda q, k, v, b, m: jax.nn.dot_product_attention(q, k, v, b, m), *operands(dtype, 2), bias, mask)


def test_soft_cap_and_rows_without_keys(both):
    def attend(q, k, v):
        scores = 30 * jnp.tanh(jnp.einsum("bthd,bshd->bhts", q, k) / 30)
        keep = jnp.arange(QUERIES)[:, None] - 10 >= jnp.arange(KEYS)[None, :]
        weights = jax.nn.softmax(jnp.where(keep, scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhts,bshd->bthd", weights, v)

    result = both(attend, *operands("float32", features=5))
    assert np.isnan(np.asarray(result)[:, :10]).all() and np.isfinite(np.asarray(result)[:, 10:]).all()


def value_and_gradients(function):
    return jax.value_and_grad(lambda *a: (function(*a).astype("float32") ** 2).sum(), (0, 1, 2))


def softmax_of_exponentials(q, k, v):
    scores = jnp.einsum("bthd,bshd->bhts", q, k) * 0.25
    e = jnp.exp(scores - jax.lax.stop_gradient(scores.max(-1, keepdims=True)))
    return jnp.einsum("bhts,bshd->bthd", e / e.sum(-1, keepdims=True), v)


def soft_cap(q, k, v):
    scores = 30 * jnp.tanh(jnp.einsum("bthd,bshd->bhts", q, k) / 30)
    keep = jnp.arange(QUERIES)[:, None] + 3 >= jnp.arange(KEYS)[None, :]
    weights = jax.nn.softmax(jnp.where(keep, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhts,bshd->bthd", weights, v)


def scaled_queries(q, k, v):
    return jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(jnp.einsum("...qhd,...khd->...hqk", q / 4, k)), v)


def dropout(form, is_causal=False):
    """Dropout of probabilities: flax's attention with masks of rows and keys, or of all axes, and flax's layer."""
    def attend(q, k, v):
        scores = jnp.einsum("...qhd,...khd->...hqk", q / 4, k)
        if is_causal:
            scores = jnp.where(jnp.tri(*scores.shape[-2:], 3, dtype=bool), scores, -1e30)
        weights = jax.nn.softmax(scores)
        shape = (1, 1, *weights.shape[-2:]) if form == "broadcast" else weights.shape
        keep = jax.random.bernoulli(jax.random.key(3), 0.9, shape)
        if form == "layer":
            weights = jax.lax.select(keep, weights / 0.9, jnp.zeros_like(weights))
        else:
            weights = weights * (keep.astype(weights.dtype) / jnp.asarray(0.9, weights.dtype))
        return jnp.einsum("...hqk,...khd->...qhd", weights, v)

    return attend


DROPOUTS = {f"{form} dropout": dropout(form) for form in ("broadcast", "full", "layer")}
CAUSAL_DROPOUTS = {f"causal {form} dropout": dropout(form, True) for form in ("broadcast", "full", "layer")}


def with_options(**options):
    return lambda q, k, v: jax.nn.dot_product_attention(q, k, v, **options)


GRADIENTS = {
    **{name: with_options(**options) for name, options in VARIANTS.items()},
    "exponentials": softmax_of_exponentials,
    "soft cap": soft_cap,
    "dropout": dropout("full"),
    **CAUSAL_DROPOUTS,
    "checkpoint": jax.checkpoint(with_options(is_causal=True)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(both, name):
    both(value_and_gradients(GRADIENTS[name]), *operands("float32", features=5 if name in ("exponentials", "soft cap") else 16))


@pytest.mark.parametrize("name", ["causal", "plain"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_grouped_heads(both, dtype, name):
    tolerance = 1e-2 if dtype == "bfloat16" else None  # the value is float32, too
    both(value_and_gradients(GRADIENTS[name]), *operands(dtype, 2), tolerance=tolerance)


@pytest.mark.parametrize("name", ["causal", "local", "soft cap", "checkpoint"])
def test_gradients_have_no_matrix_of_scores(name):
    code = jax.jit(value_and_gradients(GRADIENTS[name])).lower(*operands("float32")).compile()
    assert code.memory_analysis().temp_size_in_bytes < 2 * 4 * QUERIES * KEYS * 4


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout(both, dtype, name):
    both(DROPOUTS[name], *operands(dtype))


@pytest.mark.parametrize("function", [scaled_queries, dropout("broadcast"), value_and_gradients(dropout("broadcast", True))])
def test_dropout_has_no_matrix_of_scores(function):
    code = jax.jit(function).lower(*operands("float32")).compile()
    assert code.memory_analysis().temp_size_in_bytes < 2 * 4 * QUERIES * KEYS * 4


def test_large_dropout_has_no_matrix_of_scores():
    """The truth values of dropout remain: a byte for each score."""
    operand = jax.ShapeDtypeStruct((1, 4096, 8, 16), "float32")
    for function in (dropout("full"), dropout("layer"), value_and_gradients(dropout("full"))):
        code = jax.jit(function).lower(operand, operand, operand).compile()
        assert code.memory_analysis().temp_size_in_bytes < 1.5 * 8 * 4096 * 4096


@pytest.mark.parametrize("has_64_bits", [False, True])
@pytest.mark.parametrize("options", [{"is_causal": True}, {"local_window_size": (64, 8)}], ids=["causal", "local"])
def test_memory_is_linear_in_the_length(options, has_64_bits):
    def temporaries(length):
        shape = jax.ShapeDtypeStruct((1, length, 2, 16), "float32")
        attend = value_and_gradients(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, **options))
        return jax.jit(attend).lower(shape, shape, shape).compile().memory_analysis().temp_size_in_bytes

    with jax.enable_x64(has_64_bits):
        assert temporaries(8192) <= 8 * max(temporaries(1024), 4096)
