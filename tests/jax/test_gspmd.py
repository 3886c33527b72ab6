# SPDX-License-Identifier: Apache-2.0
"""Sharded programs in the forms of GSPMD, what executables say about shardings, and custom calls that
the application partitions."""

EIGHT = {"JAX_PJRT_CLIENT_CREATE_OPTIONS": "num_devices:8"}

HEAD = """
import jax, jax.numpy as jnp, numpy as np
from functools import partial
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
devices = jax.devices()
assert "hlocc" in devices[0].client.platform_version and len(devices) == 8
mesh = Mesh(np.array(devices).reshape(4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
x = np.arange(64.0, dtype=np.float32).reshape(8, 8)
on = lambda spec: NamedSharding(mesh, spec)
z = jax.device_put(x, on(P("x", "y")))
"""

# Without Shardy, JAX writes shardings as tiles and the boundaries of shard_map as custom calls.
GSPMD = HEAD + """
jax.config.update("jax_use_shardy_partitioner", False)
f = jax.jit(lambda x: jax.lax.with_sharding_constraint(x @ x.T, on(P("y", None))))
text = f.lower(z).as_text()
assert "mhlo.sharding" in text and "sdy" not in text
np.testing.assert_array_equal(f(z), x @ x.T)
assert f(z).sharding.spec == P("y",)
whole = partial(jax.shard_map, mesh=mesh)
g = whole(lambda x: jax.lax.psum(x, "x") * jax.lax.axis_index("y"), in_specs=P("x", "y"),
          out_specs=P(None, "y"))
np.testing.assert_array_equal(jax.jit(g)(z), x.reshape(4, 2, 8).sum(0) * np.repeat([0, 1], 4))
some = whole(lambda x: jax.lax.psum(x, "x") + 1, in_specs=P("x"), out_specs=P(), axis_names={"x"},
             check_vma=False)
np.testing.assert_array_equal(jax.jit(some)(z), x.reshape(4, 2, 8).sum(0) + 1)
twice = jax.jit(lambda x: some(jnp.sin(g(x)).repeat(4, 0)))
once = np.sin(x.reshape(4, 2, 8).sum(0) * np.repeat([0, 1], 4)).repeat(4, 0)
np.testing.assert_allclose(twice(z), once.reshape(4, 2, 8).sum(0) + 1, rtol=1e-5, atol=1e-5)
print("done")
"""

QUERIES = HEAD + """
f = jax.jit(lambda x, n: (x @ x.T + n, x.sum()), out_shardings=(None, on(P())))
compiled = f.lower(z, 1.0).compile()
(a, b), _ = compiled.input_shardings
assert a.spec == P("x", "y") and b.spec == P(), (a, b)
assert compiled.output_shardings[0].spec == P("x"), compiled.output_shardings
text = compiled.as_text()
assert "num_partitions=8" in text and "sharding={devices=[4,2]<=[8]}" in text, text
memory = compiled.memory_analysis()
assert memory.argument_size_in_bytes == (2 * 4 + 1) * 4, memory  # of one device
assert memory.output_size_in_bytes == (2 * 8 + 1) * 4, memory
from jax.experimental import serialize_executable as s
again = s.deserialize_and_load(*s.serialize(compiled), execution_devices=devices)
np.testing.assert_array_equal(again(z, 1.0)[0], x @ x.T + 1)
assert again.output_shardings[0].spec == P("x")
whole = jax.ShapeDtypeStruct((8, 8), np.float32, sharding=on(P(None, "y")))
pair = jax.shard_map(lambda a: (jax.lax.psum(a, "x"), a), mesh=mesh, in_specs=P("x", "y"), out_specs=(P(None, "y"), P("x")),
                     check_vma=False)
compiled = jax.jit(lambda a: pair(a) + (a.sum(0),)).lower(whole).compile()
for program in compiled, s.deserialize_and_load(*s.serialize(compiled), execution_devices=devices):
    assert program.input_shardings[0][0].spec == P(None, "y"), program.input_shardings
    specs = [sharding.spec for sharding in program.output_shardings]
    assert specs == [P(None, "y"), P("x"), P("y")], specs
    assert [result.sharding.spec for result in program(jax.device_put(x, whole.sharding))] == specs
    assert "sharding={devices=[1,2,4]<=[4,2]T(1,0) last_tile_dim_replicate}" in program.as_text(), program.as_text()
empty = jax.device_put(np.zeros((8, 0), np.float32), on(P("x")))
compiled = jax.jit(lambda a: (a + 1, a.sum(1))).lower(empty).compile()
assert [sharding.spec for sharding in compiled.output_shardings] == [P("x"), P("x")], compiled.output_shardings
np.testing.assert_array_equal(compiled(empty)[1], np.zeros(8))
exported = jax.export.export(f)(z, 1.0)
np.testing.assert_array_equal(exported.call(z, 1.0)[0], x @ x.T + 1)
print("done")
"""

CUSTOM = HEAD + """
from jax.experimental.custom_partitioning import custom_partitioning
calls = []
@custom_partitioning
def scale(x):
    return x * 2
def partition(mesh, arg_shapes, result_shape):
    calls.append(arg_shapes[0].sharding.spec)
    rows = NamedSharding(mesh, P("x", None))
    def lower(x):
        return x * 2 + jax.lax.psum(jnp.zeros(()), "x")
    return mesh, lower, rows, (rows,)
scale.def_partition(partition=partition, sharding_rule="i j -> i j")
with mesh:
    np.testing.assert_array_equal(jax.jit(scale)(z), x * 2)
    assert calls == [P("x", "y")], calls
@custom_partitioning
def fails(x):
    return x
def raises(mesh, arg_shapes, result_shape):
    raise ValueError("cannot be divided")
fails.def_partition(partition=raises, sharding_rule="i j -> i j")
with mesh:
    try:
        jax.jit(fails)(z)
        raise AssertionError("no error")
    except Exception as error:
        assert "cannot be divided" in str(error), error
    np.testing.assert_array_equal(jax.jit(scale)(z + 1), x * 2 + 2)
print("done")
"""


# The application derives shardings of results (GSPMD knows no rules); a call whose values are divided along one axis by
# hand and along another by the compiler.
DERIVED = """
import jax, jax.numpy as jnp, numpy as np
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
x = np.arange(64.0, dtype=np.float32).reshape(8, 8)
z = jax.device_put(x, NamedSharding(mesh, P("x", "y")))
asked = []
@custom_partitioning
def sine(x):
    return jnp.sin(x)
def partition(mesh, arg_shapes, result_shape):
    asked.append(("partition", arg_shapes[0].sharding.spec, result_shape.sharding.spec))
    return mesh, jnp.sin, result_shape.sharding, (arg_shapes[0].sharding,)
def infer(mesh, arg_shapes, result_shape):
    asked.append(("infer", arg_shapes[0].sharding.spec))
    return arg_shapes[0].sharding
sine.def_partition(partition=partition, infer_sharding_from_operands=infer)
jax.config.update("jax_use_shardy_partitioner", False)
result = jax.jit(lambda a: sine(a * 2) + 1)(z)
np.testing.assert_allclose(result, np.sin(x * 2) + 1, rtol=1e-4)
assert result.sharding.spec == P("x", "y"), result.sharding
assert asked == [("infer", P("x", "y")), ("partition", P("x", "y"), P("x", "y"))], asked
@custom_partitioning
def cosine(x):
    return jnp.cos(x)
def partition_rows(mesh, arg_shapes, result_shape):
    asked.append(("partition", result_shape.sharding.spec))
    rows = NamedSharding(mesh, P("x", None))
    return mesh, jnp.cos, rows, (rows,)
def adapt(mesh, user_shape):
    asked.append(("adapt", user_shape.sharding.spec))
    return NamedSharding(mesh, P("x", None))
cosine.def_partition(partition=partition_rows, infer_sharding_from_operands=lambda mesh, args, result: None,
                     propagate_user_sharding=adapt)
asked.clear()
result = jax.jit(cosine, out_shardings=NamedSharding(mesh, P("x", "y")))(x)
np.testing.assert_allclose(result, np.cos(x), rtol=1e-4)
assert asked == [("adapt", P("x", "y")), ("partition", P("x", None))], asked
jax.config.update("jax_use_shardy_partitioner", True)
seen = []
@custom_partitioning
def double(x):
    return x * 2
def partition_columns(mesh, arg_shapes, result_shape):
    columns = NamedSharding(mesh, P(None, "y"))
    seen.append(arg_shapes[0].sharding.is_equivalent_to(columns, 2))
    return mesh, lambda x: x * 2 + jax.lax.psum(jnp.zeros(()), "y"), columns, (columns,)
double.def_partition(partition=partition_columns, sharding_rule="i j -> i j")
body = jax.shard_map(lambda a: double(a) + jax.lax.axis_index("x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"),
                     axis_names={"x"})
with mesh:
    np.testing.assert_array_equal(jax.jit(body)(z), x * 2 + np.repeat([0, 1], 4)[:, None])
assert seen == [True], seen
print("done")
"""


def expect_done(python, source):
    status, out, err = python(source, **EIGHT)
    assert status == 0, err[-3000:]
    assert out.splitlines() == ["done"]


def test_shardings_as_tiles(python):
    expect_done(python, GSPMD)


def test_executables_tell_their_shardings(python):
    expect_done(python, QUERIES)


def test_partitioners_of_the_application(python):
    expect_done(python, CUSTOM)


def test_partitioners_without_rules_and_in_manual_computations(python):
    expect_done(python, DERIVED)
