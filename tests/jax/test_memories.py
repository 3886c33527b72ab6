# SPDX-License-Identifier: Apache-2.0
"""Memory kinds: arrays are in the memory that a sharding, a memory space or an offload policy names."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import SingleDeviceSharding

KINDS = ["device", "pinned_host", "unpinned_host"]


def on(kind):
    return SingleDeviceSharding(jax.devices()[0], memory_kind=kind)


def kind_of(array):
    return array.sharding.memory_kind


def test_devices_have_all_kinds():
    for device in jax.devices():
        assert [memory.kind for memory in device.addressable_memories()] == KINDS
        assert device.default_memory().kind == "device"


@pytest.mark.smoke
@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_device_put(source, target):
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    there = jax.device_put(jax.device_put(host, on(source)), on(target))
    assert kind_of(there) == target
    np.testing.assert_array_equal(np.asarray(there), host)


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_in_the_memory_of_out_shardings(kind):
    x = jnp.arange(8.0)
    got = jax.jit(lambda v: v * 2, out_shardings=on(kind))(x)
    assert kind_of(got) == kind
    np.testing.assert_array_equal(np.asarray(got), np.arange(8.0) * 2)


def test_memory_spaces_inside_a_program():
    @jax.jit
    def there(x):
        return jax.device_put(x * 2, jax.memory.Space.Host), x + 1

    @functools.partial(jax.jit, in_shardings=on("pinned_host"))
    def back(x):
        return jax.device_put(x, jax.memory.Space.Device) + 1

    offloaded, kept = there(jnp.arange(8.0))
    assert (kind_of(offloaded), kind_of(kept)) == ("pinned_host", "device")
    returned = back(offloaded)
    assert kind_of(returned) == "device"
    np.testing.assert_array_equal(np.asarray(returned), np.arange(8.0) * 2 + 1)


def test_donation_between_kinds_is_a_copy():
    add = functools.partial(jax.jit, donate_argnums=0)
    x = jax.device_put(jnp.arange(8.0), on("pinned_host"))
    same = add(lambda v: v + 1, out_shardings=on("pinned_host"))(x)
    assert x.is_deleted() and kind_of(same) == "pinned_host"
    with pytest.warns(UserWarning, match="donated buffers were not usable"):
        other = add(lambda v: v + 1, out_shardings=on("device"))(same)
    assert kind_of(other) == "device"
    np.testing.assert_array_equal(np.asarray(other), np.arange(8.0) + 2)


def offloaded_layers(policy):
    @functools.partial(jax.checkpoint, policy=policy)
    def layer(x, w):
        hidden = checkpoint_name(jnp.sin(x @ w), "hidden")
        return checkpoint_name(jnp.cos(hidden @ w.T), "output")

    def loss(x, w):
        return jnp.sum(jax.lax.scan(lambda c, w_i: (layer(c, w_i), None), x, w)[0] ** 2)

    return loss


def test_offload_policies(both, random):
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["output"], names_which_can_be_offloaded=["hidden"],
        offload_src="device", offload_dst="pinned_host")
    loss = offloaded_layers(policy)
    x = random.standard_normal((4, 8)).astype(np.float32)
    w = (0.1 * random.standard_normal((3, 8, 16))).astype(np.float32)
    grads = both(jax.grad(loss, argnums=(0, 1)), x, w)
    plain = jax.jit(jax.grad(offloaded_layers(None), argnums=(0, 1)))(x, w)
    for got, expected in zip(grads, plain):
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-5, atol=1e-5)


def test_residuals_are_offloaded():
    policy = jax.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    layer = jax.checkpoint(lambda x, w: jnp.sin(x @ w), policy=policy)
    x, w = jnp.ones((16, 8)), jnp.ones((8, 32))

    @jax.jit
    def forward(x, w):
        return jax.vjp(layer, x, w)

    _, pullback = forward(x, w)
    residuals = [leaf for leaf in jax.tree.leaves(pullback) if leaf.shape == (16, 32)]
    assert residuals and all(kind_of(leaf) == "pinned_host" for leaf in residuals)
    grads = jax.jit(lambda f, cotangent: f(cotangent))(pullback, jnp.ones((16, 32)))
    expected = jax.grad(lambda x, w: jnp.sum(jnp.sin(x @ w)), argnums=(0, 1))(x, w)
    for got, other in zip(grads, expected):
        np.testing.assert_allclose(np.asarray(got), np.asarray(other), rtol=1e-5, atol=1e-5)


def test_compiled_memory_stats_count_host_memory():
    compiled = jax.jit(lambda v: v * 2, out_shardings=on("pinned_host")).lower(jnp.zeros(256)).compile()
    stats = compiled.memory_analysis()
    assert (stats.output_size_in_bytes, stats.host_output_size_in_bytes) == (0, 1024)


FULL_DEVICE = """
import jax, numpy as np
from jax.sharding import SingleDeviceSharding
host = SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
block = np.zeros(12 << 20, np.uint8)
first = jax.device_put(block)
try:
    jax.device_put(block).block_until_ready()
    raise SystemExit("the device has more memory than its limit")
except jax.errors.JaxRuntimeError as error:
    assert "RESOURCE_EXHAUSTED" in str(error), error
offloaded = jax.device_put(first, host)
offloaded.block_until_ready()
del first
second = jax.device_put(block)
second.block_until_ready()
assert jax.devices()[0].memory_stats()["bytes_in_use"] == 12 << 20
"""


def test_offloading_makes_room_on_the_device(python):
    status, out, errors = python(FULL_DEVICE, HLOCC_MEMORY_LIMIT="16")
    assert status == 0, out + errors
