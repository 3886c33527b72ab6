# SPDX-License-Identifier: Apache-2.0
"""Functions of the application that rewrite programs (jax.extend.xla)."""
import contextlib

import jax
import jax.extend.xla as xla
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.lib import hlo
from jax.sharding import NamedSharding, PartitionSpec as P


@contextlib.contextmanager
def transformation(function, name="test", stage=xla.PipelineStage.PRE_SCHEDULER):
    xla.register_hlo_module_transformation(function, name=name, stage=stage)
    try:
        yield
    finally:
        assert xla.clear_hlo_module_transformation(name, stage)


def sines_to_cosines(proto):
    module = hlo.HloModule.from_serialized_hlo_module_proto(proto)
    found = [(c, i) for c in module.computations() for i in c.instructions()
             if i.opcode == hlo.HloOpcode.kSin]
    for computation, sine in found:
        cosine = computation.create_unary_instruction(hlo.HloOpcode.kCos, sine.operands()[0])
        computation.replace_instruction(sine, cosine)
    return module.as_serialized_hlo_module_proto() if found else None


@pytest.mark.parametrize("stage", list(xla.PipelineStage))
def test_instructions_are_replaced(stage):
    x = jnp.array([0.0, 1.0, 2.0])
    function = jax.jit(lambda x: jnp.sin(x) + 1)
    with transformation(sines_to_cosines, stage=stage):
        np.testing.assert_allclose(function(x), np.cos(x) + 1, atol=1e-6)
    function.clear_cache()
    np.testing.assert_allclose(function(x), np.sin(x) + 1, atol=1e-6)


def test_what_xla_reads_and_writes_is_the_same_program():
    """Loops, sorts, callbacks, several devices: read and written by XLA without a change."""
    def same(proto):
        return hlo.HloModule.from_serialized_hlo_module_proto(
            proto).as_serialized_hlo_module_proto()

    def function(x):
        seen = jax.pure_callback(lambda v: 2 * v, jax.ShapeDtypeStruct((), x.dtype), x[0])
        y = jax.lax.fori_loop(0, 3, lambda i, v: jnp.sort(v)[::-1] * 0.5 + i, x)
        return y @ jnp.ones((8, 2)), jax.random.uniform(jax.random.key(0), (4,)) + seen

    x = jnp.arange(8, dtype=jnp.float32)
    wanted = jax.jit(function)(x)
    with transformation(same):
        for got, want in zip(jax.jit(lambda x: function(x))(x), wanted):
            np.testing.assert_array_equal(got, want)
    mesh = jax.make_mesh((len(jax.devices()),), ("x",))
    split = NamedSharding(mesh, P("x"))
    total = jax.jit(lambda x: jnp.cumsum(x * 2).sum(), in_shardings=split)
    want = total(x)
    total.clear_cache()
    with transformation(same):
        np.testing.assert_array_equal(total(x), want)


def test_an_exception_is_the_error_of_the_compilation():
    def fails(proto):
        raise ValueError("no rule for this")

    with transformation(fails, name="mine"):
        with pytest.raises(Exception, match=r"(?s)in transformation 'mine'.*no rule for this"):
            jax.jit(lambda x: x + 3)(1.0)
