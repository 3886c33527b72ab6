# SPDX-License-Identifier: Apache-2.0
"""Programs over 8 devices: training steps equal those on one device, and results have the shardings
that XLA's cpu client gives them."""
import os

import pytest

EIGHT = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "hlocc,cpu",
         "PYTHONPATH": os.path.dirname(__file__)}
KINDS = ["data", "fully sharded", "tensor", "data and tensor", "sequence", "pipeline", "expert"]

STEPS = """
import jax, numpy as np, parallel_steps as ps
devices = jax.devices("hlocc") if "hlocc" in {d.platform for d in jax.devices()} else jax.devices()
assert "hlocc" in devices[0].client.platform_version and len(devices) == 8
for kind, make in ps.KINDS.items():
    step, (params, batch) = make("small", devices)
    whole, (whole_params, whole_batch) = ps.whole_step(kind, "small", devices[0])
    for turn in range(2):
        loss, params = step(params, batch)
        whole_loss, whole_params = whole(whole_params, whole_batch)
        np.testing.assert_allclose(loss, whole_loss, rtol=1e-5)
        for name in params:
            np.testing.assert_allclose(params[name], whole_params[name], rtol=1e-4, atol=1e-5)
    print(kind, "equal")
"""

PROGRAMS = """
import jax, numpy as np, sharded_programs as programs
assert "hlocc" in jax.devices()[0].client.platform_version and len(jax.devices()) == 8
for program in programs.PROGRAMS:
    many, one = (jax.tree.leaves(program(count)) for count in (8, 1))
    for a, b in zip(many, one, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=program.__name__)
print("done")
"""

SHARDINGS = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
ours, theirs = jax.devices(), jax.devices("cpu")
if "hlocc" not in ours[0].client.platform_version: ours = jax.devices("hlocc")
assert "hlocc" in ours[0].client.platform_version and len(ours) == len(theirs) == 8
assert "hlocc" not in theirs[0].client.platform_version
x, y = np.arange(64.0, dtype=np.float32).reshape(8, 8), np.ones((8, 16), np.float32)
programs = {
    "add": lambda x, y: x + 1, "transpose": lambda x, y: x.T, "product": lambda x, y: x @ y,
    "gram": lambda x, y: x @ x.T, "sum": lambda x, y: x.sum(0), "all": lambda x, y: x.sum(),
    "merge": lambda x, y: x.reshape(64), "split": lambda x, y: x.reshape(2, 4, 8),
    "softmax": lambda x, y: jax.nn.softmax(x), "sort": lambda x, y: jnp.sort(x, 0),
    "cumsum": lambda x, y: jnp.cumsum(x, 0), "concat": lambda x, y: jnp.concatenate([x, y], 1),
    "slice": lambda x, y: x[2:6, 1:], "roll": lambda x, y: jnp.roll(x, 3, 0),
    "take": lambda x, y: x[jnp.array([1, 5, 2])], "set": lambda x, y: x.at[3].set(0),
    "scan": lambda x, y: jax.lax.scan(lambda c, r: (c + r, c @ y), x[0], x),
    "cond": lambda x, y: jax.lax.cond(x[0, 0] > 0, lambda a: a * 2, lambda a: a - 1, x),
    "argmax": lambda x, y: jnp.argmax(x, 1), "flip": lambda x, y: x[::-1],
    "einsum": lambda x, y: jnp.einsum("ab,bc->ca", x, y), "grad": jax.grad(lambda x, y: (x @ y).sum()),
    "top": lambda x, y: jax.lax.top_k(x, 4), "approximate": lambda x, y: jax.lax.approx_max_k(x, 4),
    "approximate rows": lambda x, y: jax.lax.approx_max_k(x, 4, reduction_dimension=0),
}
for name, f in programs.items():
    for spec in (P("x"), P("x", "y"), P(None, "y"), P(("x", "y"))):
        results = []
        for devices in (ours, theirs):
            mesh = Mesh(np.array(devices).reshape(2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
            z = jax.device_put(x, NamedSharding(mesh, spec))
            w = jax.device_put(y, NamedSharding(mesh, P("y")))
            results.append(jax.jit(f)(z, w))
        for mine, other in zip(*map(jax.tree.leaves, results)):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5, err_msg=name)
            if mine.sharding.spec != other.sharding.spec:
                print("differs:", name, spec, mine.sharding.spec, other.sharding.spec)
print("done")
"""

INSPECTION = """
import jax, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4, 2), ("x", "y"))
x = np.arange(64, dtype=np.float32).reshape(8, 8)
divided = jax.device_put(x, NamedSharding(mesh, P("x", "y")))
seen, parts, devices = [], [], jax.devices()
assert "hlocc" in devices[0].client.platform_version and len(devices) == 8

@jax.jit
def show(x):
    jax.debug.inspect_array_sharding(x * 2, callback=seen.append)
    return x
with jax.set_mesh(mesh):
    show(divided)
assert [s.is_equivalent_to(divided.sharding, 2) for s in seen] == [True], seen

@jax.jit
def call_back(x):  # without results
    jax.debug.callback(lambda part: parts.append(np.array(part)), x, partitioned=True)
call_back(divided)
jax.effects_barrier()
expected = {np.asarray(shard.data).tobytes() for shard in divided.addressable_shards}
assert {part.tobytes() for part in parts} == expected and len(parts) == 8
print("seen")
"""


def test_steps_equal_those_of_one_device(python):
    status, out, err = python(STEPS, **EIGHT)
    assert status == 0, err[-2000:]
    assert out.splitlines() == [f"{kind} equal" for kind in KINDS]


def test_programs_equal_those_of_one_device(python):
    status, out, err = python(PROGRAMS, **EIGHT)
    assert status == 0, err[-2000:]
    assert out.splitlines() == ["done"]


def test_results_and_shardings_equal_those_of_xla(python):
    status, out, err = python(SHARDINGS, **EIGHT)
    assert status == 0, err[-2000:]
    assert out.splitlines() == ["done"]


def test_how_values_are_divided_is_shown(python):
    status, out, err = python(INSPECTION, **EIGHT)
    assert status == 0, err[-2000:]
    assert out.splitlines() == ["seen"]
