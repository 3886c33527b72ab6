# SPDX-License-Identifier: Apache-2.0
"""Ahead-of-time compilation against described topologies: other processors, more devices."""
import jax
import numpy as np
import pytest
from jax._src import xla_bridge
from jax.experimental import topologies
from jax._src.lib import xla_client

ONES = jax.ShapeDtypeStruct((8, 8), np.float32)


def compiled_for(cpu, name="2x4", device=0):
    """The serialized executable of a function, for one device of a topology."""
    topology = topologies.get_topology_desc(name, platform="hlocc", cpu=cpu)
    place = jax.sharding.SingleDeviceSharding(topology.devices[device])
    function = jax.jit(lambda x: x @ x + 1, in_shardings=place)
    return function.trace(ONES).lower().compile().runtime_executable().serialize()


def load(serialized):
    client = xla_bridge.get_backend()
    return client.deserialize_executable(
        serialized, xla_client.DeviceList(tuple(client.local_devices()[:1])), None)


def test_devices_and_processor_are_described():
    topology = topologies.get_topology_desc("2x4", platform="hlocc", cpu="avx512")
    assert len(topology.devices) == 8
    assert "avx512bw" in topology.devices[0].client.platform_version


def test_code_for_an_older_processor_runs():
    loaded = load(compiled_for("sse2", name="1"))
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    out = loaded.execute_sharded([jax.device_put(x)]).disassemble_into_single_device_arrays()
    np.testing.assert_array_equal(np.asarray(out[0][0]), x @ x + 1)


def test_memory_and_cost_are_known_without_a_device():
    topology = topologies.get_topology_desc("", platform="hlocc")
    place = jax.sharding.SingleDeviceSharding(topology.devices[0])
    compiled = jax.jit(lambda x: x @ x, in_shardings=place).trace(ONES).lower().compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 256
    assert compiled.cost_analysis()["flops"] == 2 * 8 ** 3


REFUSED = """
import sys
sys.path.insert(0, {path!r})
from test_topologies import compiled_for, load
try:
    load(compiled_for("avx512"))
except Exception as error:
    print(error)
else:
    print("loaded")
"""


@pytest.mark.parametrize("recompile", [False, True])
def test_code_for_a_newer_processor(python, recompile):
    """Refused with the missing features; compiled again if the option allows that."""
    script = REFUSED.format(path=__file__.rpartition("/")[0])
    status, out, errors = python(script, HLOCC_CPU="sse2", HLOCC_RECOMPILE=str(int(recompile)))
    assert status == 0, errors
    assert ("loaded" in out) == recompile
    assert ("avx512f" in out) != recompile


def test_unknown_features_are_refused():
    with pytest.raises(jax.errors.JaxRuntimeError, match='unknown processor feature "warp"'):
        topologies.get_topology_desc("", platform="hlocc", cpu="avx2+warp")


def test_lowered_programs_have_no_cost_for_plugins():
    """JAX asks no plugin for the cost of an uncompiled program; compiled ones have it."""
    lowered = jax.jit(lambda x: x @ x).lower(ONES)
    assert lowered.cost_analysis() is None
    cost = lowered.compile().cost_analysis()
    assert cost["flops"] == 1024 and cost["bytes accessed"] == 768
