# SPDX-License-Identifier: Apache-2.0
"""The first things a user tries."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import is_ours

pytestmark = pytest.mark.smoke


def test_default_device_is_hlocc():
    device = jax.devices()[0]
    assert "hlocc" in device.client.platform_version
    assert device.platform == "cpu"


def test_jit_add():
    result = jax.jit(lambda x, y: x + y)(jnp.arange(4.0), jnp.ones(4))
    assert is_ours(result)
    np.testing.assert_array_equal(result, [1, 2, 3, 4])


def test_eager_operations():
    x = jnp.arange(12).reshape(3, 4)
    np.testing.assert_array_equal((x * 2 - 1).sum(axis=0), [21, 27, 33, 39])
    np.testing.assert_array_equal(x[1:, ::2], [[4, 6], [8, 10]])


def test_host_round_trip(random):
    for dtype in (np.float32, np.float16, np.int8, np.uint32, np.bool_, np.complex64):
        value = (random.normal(size=(3, 5)) * 50).astype(dtype)
        np.testing.assert_array_equal(np.asarray(jax.device_put(value)), value)
    np.testing.assert_array_equal(np.asarray(jax.device_put(np.zeros((0, 3)))), np.zeros((0, 3)))


def test_matmul_and_reductions(both, random):
    a, b = random.normal(size=(33, 65)).astype("f4"), random.normal(size=(65, 17)).astype("f4")
    both(lambda a, b: a @ b, a, b)
    both(lambda a: (a.sum(), a.max(axis=1), a.argmin(axis=0), a.mean(axis=0)), a)


def test_gradient(both, random):
    x = random.normal(size=100).astype("f4")
    both(jax.grad(lambda x: jnp.sum(jnp.tanh(x) * jnp.exp(-x * x))), x)


def test_mlp_step(both, random):
    """One step of gradient descent of a two-layer network."""
    params = [random.normal(size=s).astype("f4") * 0.1 for s in ((64, 32), (32,), (32, 10), (10,))]
    images = random.normal(size=(16, 64)).astype("f4")
    labels = random.integers(0, 10, 16)

    def loss(params, images, labels):
        w1, b1, w2, b2 = params
        logits = jax.nn.relu(images @ w1 + b1) @ w2 + b2
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()

    def step(params, images, labels):
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    both(step, params, images, labels)


def test_loop_and_branch(both):
    both(lambda n: jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2), (0, 1)),
         np.int32(10))
    both(lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), np.ones(3, "f4"))


def test_sort_and_random(both, random):
    both(jnp.sort, random.normal(size=(5, 37)).astype("f4"))
    both(lambda: jax.random.normal(jax.random.key(3), (4, 5)))


def test_an_error_is_an_exception():
    with pytest.raises(Exception, match="no_such_target"):
        jax.jit(lambda x: jax.ffi.ffi_call("no_such_target", x)(x))(jnp.ones(3)).block_until_ready()
    assert float(jnp.ones(3).sum()) == 3.0
