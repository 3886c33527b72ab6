# SPDX-License-Identifier: Apache-2.0
"""Block-scaled products: jax.lax.scaled_dot, jax.nn.scaled_matmul and scaled_dot_general, forward and
gradient, beside XLA's cpu client."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest


E4M3, E5M2, E8M0, E2M1 = (jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float8_e8m0fnu, jnp.float4_e2m1fn)


def narrow(seed, shape, dtype):
    values = np.random.default_rng(seed).normal(size=shape)
    if dtype == E8M0:
        values = 2.0 ** np.round(4 * values)
    return jnp.asarray(np.asarray(values, np.float32)).astype(dtype)


@pytest.mark.parametrize("element, scale, block", [(E4M3, E8M0, 32), (E5M2, E8M0, 32), (E2M1, E4M3, 16)])
@pytest.mark.parametrize("rows, columns, depth", [(1, 48, 256), (33, 17, 96), (128, 96, 160)])
def test_scaled_matmul(both, element, scale, block, rows, columns, depth):
    count = depth // block
    operands = (narrow(0, (2, rows, depth), element), narrow(1, (2, columns, depth), element),
                abs(narrow(2, (2, rows, count), scale).astype(jnp.float32)).astype(scale),
                abs(narrow(3, (2, columns, count), scale).astype(jnp.float32)).astype(scale))
    both(lambda a, b, s, t: jax.nn.scaled_matmul(a, b, s, t), *operands)


def test_scaled_matmul_of_wide_elements(both):
    lhs, rhs = (jnp.asarray(np.random.default_rng(i).normal(size=(1, 4, 6)), jnp.float32) for i in range(2))
    scales = jnp.asarray([[[0.5, 3.0]] * 4], jnp.float32)
    ours = both(lambda a, b, s: jax.nn.scaled_matmul(a, b, s, s), lhs, rhs, scales)
    wide = np.repeat(np.asarray(scales), 3, axis=2)
    np.testing.assert_allclose(np.asarray(ours), np.einsum("bmk,bnk->bmn", lhs * wide, rhs * wide), rtol=1e-5)


@pytest.mark.parametrize("has_scales", [(True, True), (True, False), (False, True)])
def test_scaled_dot(both, has_scales):
    a, b = narrow(0, (2, 24, 96), E4M3), narrow(1, (2, 96, 40), E5M2)
    scales = narrow(2, (2, 24, 3), E8M0), narrow(3, (2, 6, 40), E8M0)
    given = [s if has else None for s, has in zip(scales, has_scales)]
    both(lambda a, b, s, t: jax.lax.scaled_dot(a, b, lhs_scale=s, rhs_scale=t,
                                               preferred_element_type=jnp.float32), a, b, *given)


def test_scaled_dot_is_one_operation():
    a, b = narrow(0, (24, 96), E4M3), narrow(1, (96, 40), E4M3)
    s, t = narrow(2, (24, 3), E8M0), narrow(3, (3, 40), E8M0)
    compiled = jax.jit(lambda a, b, s, t: jax.lax.scaled_dot(a, b, lhs_scale=s, rhs_scale=t)).lower(
        a, b, s, t).compile()
    # The operands' scaled copies in bf16 would take more than all arguments together.
    assert compiled.memory_analysis().temp_size_in_bytes < 4 * (a.nbytes + b.nbytes) * 4


@pytest.mark.parametrize("mode", ["mxfp8", "nvfp4"])
def test_scaled_dot_general(both, mode):
    config = jax.nn.get_scaled_dot_general_config(mode)
    x, y = (jnp.asarray(np.random.default_rng(i).normal(size=shape), jnp.float32)
            for i, shape in enumerate([(2, 32, 64), (2, 96, 64)]))
    dims = (((2,), (2,)), ((0,), (0,)))

    def product(x, y):
        return jax.nn.scaled_dot_general(x, y, dims, configs=[config] * 3)

    ours = both(product, x, y)
    exact = np.einsum("bmk,bnk->bmn", x, y)
    error = np.linalg.norm(np.asarray(ours) - exact) / np.linalg.norm(exact)
    assert error < (0.06 if mode == "mxfp8" else 0.25)
    both(jax.grad(lambda x, y: jnp.sum(jnp.sin(product(x, y))), argnums=(0, 1)), x, y)


@pytest.mark.parametrize("weights", ["int4", "uint4", "int8", "float4_e2m1fn"])
@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("block", [None, 32])
def test_narrow_weights(weights, rows, block):
    """Weights as arguments, with a scale for each column or for each block of one."""
    random = np.random.default_rng(0)
    depth, columns = 256, 72
    x = random.normal(size=(rows, depth)).astype(jnp.bfloat16)
    w = random.integers(0, 7, (columns, depth)) if weights[0] == "u" else random.integers(-4, 5, (columns, depth))
    s = 2.0 ** random.integers(-2, 3, (columns, depth // block if block else 1))

    def product(x, w, s):
        wide = w.astype(x.dtype)
        if block:
            wide = (wide.reshape(columns, -1, block) * s[:, :, None]).reshape(w.shape)
        out = jax.lax.dot_general(x, wide, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32)
        return out if block else out * s[:, 0]

    got = jax.jit(product)(x, w.astype(weights), s.astype(jnp.bfloat16))
    exact = w.astype(weights).astype(np.float64) * np.repeat(s, depth // s.shape[1], axis=1)
    np.testing.assert_allclose(np.asarray(got, np.float64), x.astype(np.float64) @ exact.T, rtol=1e-4, atol=1e-3)
