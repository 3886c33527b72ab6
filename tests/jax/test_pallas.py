# SPDX-License-Identifier: Apache-2.0
"""pallas_call compiled on hlocc, compared with interpret mode on XLA's cpu client."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

jax_version = tuple(map(int, jax.__version__.split(".")[:2]))
if jax_version < (0, 10):
    pytest.skip("JAX's own rule refuses kernels before 0.10", allow_module_level=True)

from jax.experimental import pallas as pl  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402

from conftest import assert_close, is_ours  # noqa: E402


@pytest.fixture
def same(xla):
    """same(f, *args): f(call, *args) compiled on hlocc and interpreted on XLA; the program's text."""

    def run(f, *args, tolerance=None):
        compiled = jax.jit(functools.partial(f, pl.pallas_call))
        ours = compiled(*args)
        assert all(is_ours(leaf) for leaf in jax.tree.leaves(ours))
        interpreted = functools.partial(pl.pallas_call, interpret=True)
        with jax.default_device(xla):
            theirs = jax.jit(functools.partial(f, interpreted))(*args)
        assert_close(ours, theirs, tolerance)
        return compiled.lower(*args).as_text()

    return run


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def rows(height, width):
    return pl.BlockSpec((height, width), lambda i: (i, 0))


@pytest.fixture
def matrix(random):
    return random.standard_normal((64, 32)).astype(np.float32)


# --- grids and blocks -----------------------------------------------------------------------------

@pytest.mark.smoke
def test_whole_arrays(same, matrix):
    def kernel(x, y, o):
        o[...] = x[...] * 2 + y[...]

    assert "while" not in same(lambda call, x: call(kernel, like(x))(x, x), matrix)


@pytest.mark.smoke
def test_independent_steps_are_no_loop(same, matrix):
    def kernel(x, o):
        o[...] = jnp.exp(x[...]) + pl.program_id(0) * pl.num_programs(1) + pl.program_id(1)

    def f(call, x):
        spec = pl.BlockSpec((16, 8), lambda i, j: (i, j))
        return call(kernel, like(x), grid=(4, 4), in_specs=[spec], out_specs=spec)(x)

    assert "while" not in same(f, matrix)


@pytest.mark.parametrize("block", [(24, 32), (64, 5), (7, 9), (None, 32), (16, None)])
def test_ragged_and_squeezed_blocks(same, matrix, block):
    def kernel(x, o):
        o[...] = x[...] + 1

    def f(call, x):
        grid = tuple(pl.cdiv(n, b or 1) for n, b in zip(x.shape, block))
        spec = pl.BlockSpec(block, lambda i, j: (i, j))
        return call(kernel, like(x), grid=grid, in_specs=[spec], out_specs=spec)(x)

    assert "while" not in same(f, matrix)


def test_index_maps(same, matrix):
    """Shifted, reversed, shared and repeated blocks; reversed outputs need a loop."""
    def kernel(a, b, c, o):
        o[...] = a[...] + b[...] * c[...]

    def f(call, x, out_map):
        specs = [pl.BlockSpec((8, 32), lambda i: (i + 1, 0)), pl.BlockSpec((8, 32), lambda i: (7 - i, 0)),
                 pl.BlockSpec((8, 32), lambda i: (i // 2, 0))]
        return call(kernel, jax.ShapeDtypeStruct((48, 32), x.dtype), grid=(6,), in_specs=specs,
                    out_specs=pl.BlockSpec((8, 32), out_map))(x, x, x)

    assert "while" not in same(lambda call, x: f(call, x, lambda i: (i, 0)), matrix)
    assert "while" in same(lambda call, x: f(call, x, lambda i: (5 - i, 0)), matrix)


def test_overlapping_elements(same, matrix):
    def kernel(x, o):
        o[...] = x[:8, :] - x[8:, :]

    def f(call, x):
        window = pl.BlockSpec((pl.Element(16), 32), lambda i: (8 * i, 0))
        return call(kernel, jax.ShapeDtypeStruct((56, 32), x.dtype), grid=(7,), in_specs=[window],
                    out_specs=rows(8, 32))(x)

    assert "while" not in same(f, matrix)


def test_overlapping_windows_of_two_dimensions(same, random):
    """A stencil; windows as views of adjacent blocks, with a part of the third where they are long."""
    def kernel(x, o):
        edges = x[:-2, 1:-1] + x[2:, 1:-1]
        o[...] = edges - x[1:-1, 1:-1]

    def long(x, o):
        o[...] = x[:8] * x[12:]

    def stencil(call, x):
        window = pl.BlockSpec((pl.Element(18), pl.Element(10)), lambda i, j: (16 * i, 8 * j))
        block = pl.BlockSpec((16, 8), lambda i, j: (i, j))
        return call(kernel, jax.ShapeDtypeStruct((64, 32), x.dtype), grid=(4, 4), in_specs=[window],
                    out_specs=block)(x)

    def products(call, x):
        window = pl.BlockSpec((pl.Element(20), 34), lambda i: (8 * i + 3, 0))
        return call(long, jax.ShapeDtypeStruct((40, 34), x.dtype), grid=(5,), in_specs=[window],
                    out_specs=rows(8, 34))(x)

    x = random.standard_normal((66, 34)).astype(np.float32)
    for f in stencil, products:
        text = same(f, x)
        assert "while" not in text and "gather" not in text


def test_indices_of_several_program_ids(same, matrix):
    """Blocks numbered over two grid dimensions, of which one is a loop."""
    def kernel(x, o):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o[...] = x[...]

        o[...] += x[...]

    def f(call, x):
        return call(kernel, jax.ShapeDtypeStruct((32, 32), x.dtype), grid=(4, 2),
                    in_specs=[pl.BlockSpec((8, 32), lambda i, k: (2 * i + k, 0))],
                    out_specs=pl.BlockSpec((8, 32), lambda i, k: (i, 0)))(x)

    assert "while" not in same(f, matrix)


def test_products_of_all_steps_stay_within_a_limit(same, random, monkeypatch):
    from hlocc import pallas_grid

    monkeypatch.setattr(pallas_grid, "MEMORY_LIMIT", 1 << 10)

    def kernel(x, o):
        o[...] = (x[...] @ x[...].T).sum(0, keepdims=True)

    def f(call, x):
        return call(kernel, jax.ShapeDtypeStruct((8, 64), x.dtype), grid=(8,),
                    in_specs=[rows(64, 2)], out_specs=rows(1, 64))(x)

    assert "while" in same(f, random.standard_normal((512, 2)).astype(np.float32))


def test_no_steps_and_few_steps(same, matrix):
    def kernel(x, o):
        o[...] = x[...] + 1

    def f(call, x, steps):
        return call(kernel, like(x), grid=(steps,), in_specs=[rows(8, 32)], out_specs=rows(8, 32),
                    input_output_aliases={0: 0})(x)

    for steps in (0, 1, 3):
        same(functools.partial(f, steps=steps), matrix)
    same(lambda call, x, steps: f(call, x, steps), matrix, np.int32(5))  # a dynamic grid


# --- state between steps --------------------------------------------------------------------------

def blocked_product(call, x, y, scratch, block=16):
    def kernel(x, y, o, *rest):
        total = rest[0] if scratch else o

        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += x[...] @ y[...]
        if scratch:
            @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
            def _():
                o[...] = jnp.maximum(total[...], 0)

    shape = (x.shape[0], y.shape[1])
    return call(kernel, jax.ShapeDtypeStruct(shape, x.dtype),
                grid=(shape[0] // block, shape[1] // block, x.shape[1] // block),
                in_specs=[pl.BlockSpec((block, block), lambda i, j, k: (i, k)),
                          pl.BlockSpec((block, block), lambda i, j, k: (k, j))],
                out_specs=pl.BlockSpec((block, block), lambda i, j, k: (i, j)),
                scratch_shapes=[pltpu.VMEM((block, block), np.float32)] if scratch else [])(x, y)


@pytest.mark.smoke
@pytest.mark.parametrize("scratch", [False, True])
def test_accumulators(same, random, scratch):
    """One loop, over the contraction, without conditions: its first and last steps are apart."""
    x = random.standard_normal((48, 64)).astype(np.float32)
    text = same(functools.partial(blocked_product, scratch=scratch), x, x.T.copy())
    assert text.count("stablehlo.while") == 1 and "stablehlo.case" not in text


def test_scratch_that_leads_from_step_to_step(same, matrix):
    """A running sum down the rows: nothing may be computed at once."""
    def kernel(x, o, total):
        @pl.when(pl.program_id(0) == 0)
        def _():
            total[...] = jnp.zeros_like(total)

        total[...] += x[...].sum(0, keepdims=True)
        o[...] = x[...] + total[...]

    def f(call, x):
        return call(kernel, like(x), grid=(8,), in_specs=[rows(8, 32)], out_specs=rows(8, 32),
                    scratch_shapes=[pltpu.VMEM((1, 32), np.float32)])(x)

    assert "while" in same(f, matrix)


def test_scratch_of_one_step(same, matrix):
    def kernel(x, o, twice):
        twice[...] = 2 * x[...]
        twice[:4, :] += 1
        o[...] = twice[...]

    def f(call, x):
        return call(kernel, like(x), grid=(8,), in_specs=[rows(8, 32)], out_specs=rows(8, 32),
                    scratch_shapes=[pltpu.VMEM((8, 32), np.float32)])(x)

    assert "while" not in same(f, matrix)


def test_aliases(same, matrix):
    """Blocks that the kernel does not write keep the values of the input."""
    def kernel(x, o):
        o[...] = -x[...]

    def f(call, x):
        spec = pl.BlockSpec((8, 32), lambda i: (i + 2, 0))
        return call(kernel, like(x), grid=(4,), in_specs=[spec], out_specs=spec,
                    input_output_aliases={0: 0})(x)

    assert "while" not in same(f, matrix)


# --- inside the kernel ----------------------------------------------------------------------------

def test_conditions_on_program_ids(matrix):
    """Interpret mode knows no program ids inside conditions."""
    def kernel(x, o):
        o[...] = x[...]

        @pl.when(pl.program_id(0) % 2 == 1)
        def _():
            o[...] = x[...] * pl.program_id(0)

    spec = rows(8, 32)
    ours = pl.pallas_call(kernel, like(matrix), grid=(8,), in_specs=[spec], out_specs=spec)(matrix)
    step = np.repeat(np.arange(8, dtype=np.float32), 8)[:, None]
    np.testing.assert_array_equal(ours, np.where(step % 2 == 1, matrix * step, matrix))


def test_loops_and_dynamic_slices(same, matrix):
    def kernel(x, o):
        def body(i, scale):
            o[pl.ds(8 * i, 8), :] = x[pl.ds(8 * i, 8), :] * scale
            return scale + 1

        jax.lax.fori_loop(0, 4, body, 1.0)

    def f(call, x):
        return call(kernel, like(x), grid=(2,), in_specs=[rows(32, 32)], out_specs=rows(32, 32))(x)

    same(f, matrix)


def test_loops_that_end_by_the_program_id(same, matrix):
    """Each step has its own number of iterations: steps run one after another."""
    def kernel(x, o):
        steps = pl.program_id(0) + 1
        o[...] = jax.lax.fori_loop(0, steps, lambda i, c: c + x[...], jnp.zeros((8, 32)))

    def f(call, x):
        return call(kernel, like(x), grid=(8,), in_specs=[rows(8, 32)], out_specs=rows(8, 32))(x)

    assert same(f, matrix).count("stablehlo.while") == 2


def test_scalar_prefetch(same, matrix, random):
    def kernel(order, x, o):
        o[...] = x[...] + order[pl.program_id(0)]

    def f(call, order, x):
        spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(8,),
            in_specs=[pl.BlockSpec((8, 32), lambda i, order: (order[i], 0))],
            out_specs=pl.BlockSpec((8, 32), lambda i, order: (i, 0)))
        return call(kernel, like(x), grid_spec=spec)(order, x)

    assert "while" not in same(f, random.permutation(8).astype(np.int32), matrix)


def test_masked_rows(same, matrix):
    """Masked loads at positions, in a loop of the kernel, which carries references that it only reads."""
    from jax.experimental.pallas import triton

    def kernel(x, scale, o):
        @pl.loop(0, 2)
        def _(i):
            at = 16 * i + jnp.arange(16)
            row = triton.load(x.at[0, at], mask=at < 30, other=0.)
            triton.store(o.at[0, at], row * triton.load(scale.at[at]), mask=at < 31)

    def f(call, x):
        start = jnp.zeros_like(x)
        whole = pl.BlockSpec((32,), lambda i: (0,))
        return call(lambda x, scale, start, o: kernel(x, scale, o), like(x), grid=(64,),
                    out_specs=rows(1, 32), in_specs=[rows(1, 32), whole, rows(1, 32)],
                    input_output_aliases={2: 0})(x, x[0], start)

    assert same(f, matrix).count("stablehlo.while") == 1


def test_scoped_memory(matrix):
    def kernel(x, o):
        def body(buffer):
            buffer[...] = x[...] + pl.program_id(0)
            o[...] = buffer[...] * 3

        pl.run_scoped(body, pltpu.VMEM((8, 32), np.float32))

    def f(call, x):
        return call(kernel, like(x), grid=(8,), in_specs=[rows(8, 32)], out_specs=rows(8, 32))(x)

    compiled = jax.jit(functools.partial(f, pl.pallas_call))
    np.testing.assert_array_equal(
        compiled(matrix), (matrix + np.repeat(np.arange(8, dtype=np.float32), 8)[:, None]) * 3)
    assert "while" not in compiled.lower(matrix).as_text()


def test_copies_and_semaphores(same, matrix):
    def kernel(x, o, buffer, copied, ready):
        copy = pltpu.make_async_copy(x, buffer, copied)
        copy.start()
        pl.semaphore_signal(ready, 2)
        copy.wait()
        pl.semaphore_wait(ready, 2)
        o[...] = buffer[...] * 2

    def f(call, x):
        return call(kernel, like(x), in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
                    scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), pltpu.SemaphoreType.DMA,
                                    pltpu.SemaphoreType.REGULAR])(x)

    same(f, matrix)


def test_atomics(same, matrix):
    from jax.experimental.pallas import triton

    def kernel(x, start, o):
        triton.atomic_add(o, (pl.ds(0, 32),), x[...].sum(0))

    def f(call, x, start):
        whole = pl.BlockSpec((32,), lambda i: (0,))
        return call(kernel, like(start), grid=(8,), in_specs=[rows(8, 32), whole], out_specs=whole,
                    input_output_aliases={1: 0})(x, start)

    same(f, matrix, matrix[0])


def test_atomics_with_equal_indices(random):
    """All of them count, as on a GPU; interpret mode keeps the last one."""
    from jax.experimental.pallas import triton

    def kernel(x, o, top):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o[...] = jnp.zeros_like(o)
            top[...] = jnp.zeros_like(top)

        triton.atomic_add(o, (x[...],), jnp.ones(x.shape, np.int32), mask=x[...] != 3)
        triton.atomic_max(top, (x[...],), jnp.arange(x.shape[0]) + 100 * pl.program_id(0))

    x = random.integers(0, 10, 256).astype(np.int32)
    bins = jax.ShapeDtypeStruct((10,), np.int32)
    whole = pl.BlockSpec((10,), lambda i: (0,))
    counts, top = pl.pallas_call(kernel, [bins, bins], grid=(4,), out_specs=[whole, whole],
                                 in_specs=[pl.BlockSpec((64,), lambda i: (i,))])(x)
    expected = np.bincount(x, minlength=10)
    expected[3] = 0
    np.testing.assert_array_equal(counts, expected)
    last = np.array([np.flatnonzero(x == value)[-1] for value in range(10)])
    np.testing.assert_array_equal(top, last + last // 64 * 36)


@pytest.mark.parametrize("name", ["add", "max", "xor", "xchg"])
def test_atomics_return_what_those_before_have_made(random, name):
    from jax.experimental.pallas import triton

    def kernel(at, values, _, o, before):
        atomic = getattr(triton, f"atomic_{name}")
        before[...] = atomic(o, (at[...],), values[...], mask=values[...] != 5)

    at, values = random.integers(0, 7, 64).astype(np.int32), random.integers(0, 99, 64).astype(np.int32)
    start = random.integers(0, 50, 7).astype(np.int32)
    whole, part = pl.BlockSpec((7,), lambda i: (0,)), pl.BlockSpec((16,), lambda i: (i,))
    ours, before = pl.pallas_call(kernel, [like(start), like(at)], grid=(4,), out_specs=[whole, part],
                                  in_specs=[part, part, whole], input_output_aliases={2: 0})(
                                      at, values, start)
    combine = {"add": np.add, "max": np.maximum, "xor": np.bitwise_xor, "xchg": lambda x, y: y}[name]
    expected, seen = start.copy(), []
    for i, value in zip(at, values):
        seen.append(expected[i])
        expected[i] = combine(expected[i], value) if value != 5 else expected[i]
    np.testing.assert_array_equal(ours, expected)
    np.testing.assert_array_equal(np.where(values != 5, before, 0), np.where(values != 5, seen, 0))


def test_masked_slices(same, matrix):
    """Loads and stores of slices inside of a reference copy nothing else."""
    from jax.experimental.pallas import triton

    def kernel(x, o):
        row = triton.load(x.at[pl.ds(0, 1), pl.ds(0, 32)], mask=jnp.arange(32)[None] < 30, other=1.)
        triton.store(o.at[pl.ds(0, 1), pl.ds(0, 32)], row * 2)
        triton.store(o.at[pl.ds(0, 1), pl.ds(4, 8)], row[:, :8], mask=jnp.arange(8)[None] % 3 > 0)

    def f(call, x):
        return call(kernel, like(x), grid=(64,), in_specs=[rows(1, 32)], out_specs=rows(1, 32))(x)

    text = same(f, matrix)
    assert "while" not in text and "stablehlo.pad" not in text


# --- pipelines ------------------------------------------------------------------------------------

def pipelined(kernel, *args, out, scratch=()):
    """The kernel's results on references of whole arrays, and the program's text."""
    whole = pl.BlockSpec(memory_space=pl.ANY)
    call = jax.jit(pl.pallas_call(kernel, out, in_specs=[whole] * len(args), out_specs=whole,
                                  scratch_shapes=scratch))
    return call(*map(jnp.asarray, args)), call.lower(*args).as_text()


pipelines = pytest.mark.skipif(tuple(map(int, jax.__version__.split(".")[:3])) < (0, 10, 2),
                               reason="pipelines are no primitive before jax 0.10.2")


@pipelines
def test_pipelines_are_grids(random):
    """Products accumulated over a pipeline's inner dimension, with ragged blocks."""
    x = random.standard_normal((40, 64)).astype(np.float32)

    def body(x, y, o):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += x[...] @ y[...]

    def kernel(x, y, o):
        pltpu.emit_pipeline(
            body, grid=(3, 3, 2), in_specs=[pl.BlockSpec((16, 32), lambda i, j, k: (i, k)),
                                            pl.BlockSpec((32, 16), lambda i, j, k: (k, j))],
            out_specs=[pl.BlockSpec((16, 16), lambda i, j, k: (i, j))])(x, y, o)

    ours, text = pipelined(kernel, x, x.T.copy(), out=jax.ShapeDtypeStruct((40, 40), x.dtype))
    np.testing.assert_allclose(ours, x @ x.T, rtol=1e-5, atol=1e-5)
    assert "while" not in text


@pipelines
def test_pipelines_with_captured_references_and_indices(matrix):
    """A sum in scratch memory around the pipeline; an index map with a value of the kernel."""
    def kernel(x, o, total):
        total[...] = jnp.zeros_like(total)
        first = jnp.int32(x[0, 0] * 0) + 2

        def body(x, o):
            total[...] += x[...].sum(0, keepdims=True)
            o[...] = x[...] + total[...]

        spec = pl.BlockSpec((8, 32), lambda i: (first + i, 0))
        pltpu.emit_pipeline(body, grid=(6,), in_specs=[spec], out_specs=[spec])(x, o)
        o[0:1, :] = total[...]

    ours, _ = pipelined(kernel, matrix, out=like(matrix), scratch=[pltpu.VMEM((1, 32), np.float32)])
    sums = np.cumsum(matrix.reshape(8, 8, 32).sum(1)[2:], 0)
    np.testing.assert_allclose(ours[16:], matrix[16:] + np.repeat(sums, 8, 0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ours[0], sums[-1], rtol=1e-5, atol=1e-5)


@pipelines
def test_pipelines_in_a_grid_on_views(matrix):
    def kernel(x, o):
        at = pl.ds(16 * pl.program_id(0), 16)

        def body(x, o):
            o[...] = x[...] * 2 + pl.program_id(0)

        spec = pl.BlockSpec((8, 32), lambda i: (i, 0))
        pltpu.emit_pipeline(body, grid=(2,), in_specs=[spec], out_specs=[spec])(x.at[at], o.at[at])

    whole = pl.BlockSpec(memory_space=pl.ANY)
    jax.block_until_ready(jnp.asarray(matrix))
    ours = pl.pallas_call(kernel, like(matrix), grid=(4,), in_specs=[whole], out_specs=whole)(matrix)
    np.testing.assert_allclose(ours, matrix * 2 + (np.arange(64) // 8 % 2)[:, None], rtol=1e-6)


@pipelines
def test_pipelines_in_scoped_memory(matrix):
    def kernel(x, o):
        def scoped(total):
            total[...] = jnp.zeros_like(total)

            def body(x, o):
                total[...] += x[...].sum(0, keepdims=True)
                o[...] = total[...] + x[...] * 0

            spec = pl.BlockSpec((8, 32), lambda i: (i, 0))
            pltpu.emit_pipeline(body, grid=(8,), in_specs=[spec], out_specs=[spec])(x, o)

        pl.run_scoped(scoped, pltpu.VMEM((1, 32), np.float32))

    ours, _ = pipelined(kernel, matrix, out=like(matrix))
    sums = np.cumsum(matrix.reshape(8, 8, 32).sum(1), 0)
    np.testing.assert_allclose(ours, np.repeat(sums, 8, 0), rtol=1e-5, atol=1e-5)


def test_kernels_over_meshes_of_cores(matrix):
    create = getattr(pltpu, "TensorCoreMesh", None) or pltpu.create_tensorcore_mesh

    @pl.kernel(out_type=like(matrix), mesh=create(axis_name="core", num_cores=1))
    def copy(x, o):
        pltpu.sync_copy(x, o)

    np.testing.assert_array_equal(copy(matrix), matrix)


def test_prints(capsys, matrix):
    def kernel(x, o):
        o[...] = x[...]
        pl.debug_print("step {}", pl.program_id(0))

    spec = rows(16, 32)
    jax.block_until_ready(pl.pallas_call(kernel, like(matrix), grid=(4,), in_specs=[spec],
                                         out_specs=spec)(matrix))
    jax.effects_barrier()
    assert sorted(capsys.readouterr().out.splitlines()) == [f"step {i}" for i in range(4)]


# --- transformations ------------------------------------------------------------------------------

def row_softmax(call, x):
    def kernel(x, o):
        e = jnp.exp(x[...] - x[...].max(-1, keepdims=True))
        o[...] = e / e.sum(-1, keepdims=True)

    width = x.shape[1]
    return call(kernel, like(x), grid=(x.shape[0],), in_specs=[rows(1, width)],
                out_specs=rows(1, width))(x)


def test_vmap_scan_and_jvp(same, random):
    x = random.standard_normal((3, 16, 32)).astype(np.float32)
    assert "while" not in same(lambda call, x: jax.vmap(functools.partial(row_softmax, call))(x), x)
    same(lambda call, x: jax.lax.scan(lambda c, y: (c + row_softmax(call, y), y.sum()), x[0], x), x)
    same(lambda call, x: jax.jvp(functools.partial(row_softmax, call), (x[0],), (x[1],)), x)


def test_custom_vjp(same, matrix):
    def f(call, x):
        @jax.custom_vjp
        def softmax(x):
            return row_softmax(call, x)

        def backward(y, g):
            def kernel(y, g, o):
                o[...] = y[...] * (g[...] - (y[...] * g[...]).sum(-1, keepdims=True))

            return (call(kernel, like(y), grid=(8,), in_specs=[rows(8, 32)] * 2,
                         out_specs=rows(8, 32))(y, g),)

        softmax.defvjp(lambda x: (softmax(x),) * 2, backward)
        return jax.grad(lambda x: (softmax(x) ** 2).sum())(x)

    same(f, matrix)


def test_shard_map(python):
    status, out, err = python("""
import jax, jax.numpy as jnp, numpy as np
from jax.experimental import pallas as pl
from jax.sharding import PartitionSpec as P
mesh = jax.make_mesh((4,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))

def kernel(x, o):
    o[...] = x[...] * 2 + pl.program_id(0)

def f(x):
    spec = pl.BlockSpec((4, 8), lambda i: (i, 0))
    return pl.pallas_call(kernel, jax.ShapeDtypeStruct(x.shape, x.dtype), grid=(2,), in_specs=[spec],
                          out_specs=spec)(x)

x = np.arange(256, dtype=np.float32).reshape(32, 8)
g = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False))
np.testing.assert_array_equal(g(x), 2 * x + (np.arange(32) // 4 % 2)[:, None])
""", JAX_PJRT_CLIENT_CREATE_OPTIONS="num_devices:4")
    assert status == 0, err


def test_exported_interpret_mode(xla, random):
    """Exported programs have interpret mode's loop over the grid, which hlocc makes ops on whole arrays of."""
    interpreted = functools.partial(pl.pallas_call, interpret=True)
    x = random.standard_normal((48, 64)).astype(np.float32)
    programs = [functools.partial(row_softmax, interpreted),
                lambda x: blocked_product(interpreted, x, x.T, True)]
    for f in programs:
        with jax.default_device(xla):
            exported = jax.export.export(jax.jit(f))(x)
            theirs = jax.jit(f)(x)
        ours = jax.jit(exported.call)(x)
        assert is_ours(ours)
        assert_close(ours, theirs)


# --- refusals, and who is left alone --------------------------------------------------------------

def test_unknown_primitives_are_refused_with_their_line(matrix):
    def kernel(x, o):
        pltpu.prng_seed(0)
        o[...] = x[...]

    with pytest.raises(NotImplementedError, match=r"primitive prng_seed at .*test_pallas.py:\d+"):
        pl.pallas_call(kernel, like(matrix))(matrix)


def test_other_clients_and_exports_keep_their_rule(xla, matrix):
    def kernel(x, o):
        o[...] = x[...]

    call = jax.jit(pl.pallas_call(kernel, like(matrix)))
    with jax.default_device(xla), pytest.raises(ValueError, match="Only interpret mode"):
        call(matrix)
    with pytest.raises(ValueError, match="Only interpret mode"):
        jax.export.export(call, platforms=["cpu", "tpu"])(like(matrix))


@pytest.mark.parametrize("early", [True, False])
def test_pallas_may_be_imported_before_jax_starts_hlocc(python, early):
    status, _, err = python(f"""
import jax, numpy as np
if not {early}:
    jax.devices()
from jax.experimental import pallas as pl

def kernel(x, o):
    o[...] = x[...] + 1

x = np.ones((4, 4), np.float32)
assert (pl.pallas_call(kernel, jax.ShapeDtypeStruct(x.shape, x.dtype))(x) == 2).all()
""")
    assert status == 0, err
