# SPDX-License-Identifier: Apache-2.0
"""Programs that call back: into Python, and into functions of other libraries."""
import ctypes
import shutil
import subprocess

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax.experimental import buffer_callback, checkify, io_callback

VMAP_METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")


def like(value):
    return jax.ShapeDtypeStruct(value.shape, value.dtype)


@pytest.fixture
def printed(capsys):
    """printed(f, *args): the lines that f prints, when all of its effects are over."""

    def run(f, *args):
        jax.block_until_ready(f(*args))
        jax.effects_barrier()
        return capsys.readouterr().out.splitlines()

    return run


# --- jax.debug ------------------------------------------------------------------------------------

@pytest.mark.smoke
@pytest.mark.parametrize("ordered", [False, True])
def test_print(printed, ordered):
    @jax.jit
    def f(x):
        jax.debug.print("x = {x}, twice {twice}", x=x, twice=2 * x, ordered=ordered)
        return x + 1

    assert printed(f, 3) == ["x = 3, twice 6"]
    assert printed(f, np.arange(3)) == ["x = [0 1 2], twice [0 2 4]"]


def test_print_in_loops(printed):
    def body(i, x):
        jax.debug.print("{i}: {x}", i=i, x=x, ordered=True)
        return 2 * x

    def scanned(x, y):
        jax.debug.print("{} + {}", x, y, ordered=True)
        return x + y, None

    expected = [f"{i}: {2 ** i}" for i in range(20)]
    assert printed(jax.jit(lambda x: jax.lax.fori_loop(0, 20, body, x)), 1) == expected
    endless = jax.jit(lambda x: jax.lax.while_loop(lambda s: s[1] < 1000,
                                                   lambda s: (s[0] + 1, body(*s)), (0, x)))
    assert printed(endless, 1) == expected[:10]
    assert printed(jax.jit(lambda y: jax.lax.scan(scanned, 0, y)), np.arange(4)) == [
        "0 + 0", "0 + 1", "1 + 2", "3 + 3"]


@pytest.mark.parametrize("ordered", [False, True])
def test_print_in_branches(printed, ordered):
    def branch(name):
        def run(x):
            jax.debug.print(name + " {x}", x=x, ordered=ordered)
            return x
        return run

    two = jax.jit(lambda x: jax.lax.cond(x > 0, branch("positive"), branch("other"), x))
    assert printed(two, 1) == ["positive 1"]
    assert printed(two, -1) == ["other -1"]
    three = jax.jit(lambda i, x: jax.lax.switch(i, [branch("a"), branch("b"), branch("c")], x))
    assert [line for i in range(3) for line in printed(three, i, 7)] == ["a 7", "b 7", "c 7"]


def test_print_under_vmap_and_grad(printed):
    def f(x):
        jax.debug.print("x = {x}", x=x)
        return jnp.sin(x)

    assert sorted(printed(jax.jit(jax.vmap(f)), np.arange(3.0, dtype="f4"))) == [
        "x = 0.0", "x = 1.0", "x = 2.0"]
    assert printed(jax.jit(jax.grad(f)), np.float32(0.5)) == ["x = 0.5"]
    assert sorted(printed(jax.jit(jax.vmap(jax.grad(f))), np.arange(2.0, dtype="f4"))) == [
        "x = 0.0", "x = 1.0"]


def test_ordered_effects_keep_their_order_between_programs():
    seen = []
    f = jax.jit(lambda x: jax.debug.callback(seen.append, x, ordered=True))
    g = jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(-v), x, ordered=True))
    for i in range(1, 31):
        f(i)
        g(i)
    jax.effects_barrier()
    assert [int(v) for v in seen] == [s * i for i in range(1, 31) for s in (1, -1)]


def test_debug_callbacks_take_trees_and_statics():
    seen = {}
    jax.jit(lambda x: jax.debug.callback(lambda t, name: seen.update({name: t}),
                                         {"a": x, "b": (x + 1, 5)}, name="tree"))(np.arange(2))
    jax.effects_barrier()
    np.testing.assert_array_equal(seen["tree"]["a"], [0, 1])
    np.testing.assert_array_equal(seen["tree"]["b"][0], [1, 2])
    assert seen["tree"]["b"][1] == 5


# --- jax.pure_callback ----------------------------------------------------------------------------

@pytest.mark.smoke
def test_results_of_python(both, random):
    x = random.normal(size=(3, 4)).astype("f4")
    both(lambda x: jax.pure_callback(np.sin, like(x), x) * 2 + x, x)


def test_several_results(random):
    def python(x, y):
        return {"sum": np.float32(x.sum()), "parts": (x[:2], (y * 2).astype("i4"))}, np.empty((0, 3), "f4")

    x, y = random.normal(size=5).astype("f4"), np.arange(3, dtype="i4")
    shapes = {"sum": like(np.float32(0)), "parts": (like(x[:2]), like(y))}, like(np.empty((0, 3), "f4"))
    first, second = jax.jit(lambda x, y: jax.pure_callback(python, shapes, x + 0, y + 1))(x, y)
    np.testing.assert_array_equal(first["sum"], np.float32(x.sum()))
    np.testing.assert_array_equal(first["parts"][0], x[:2])
    np.testing.assert_array_equal(first["parts"][1], 2 * (y + 1))
    assert second.shape == (0, 3)


@pytest.mark.parametrize("method", VMAP_METHODS)
def test_vmap_methods(both, random, method):
    def f(x, y):
        return jax.pure_callback(lambda x, y: np.asarray(x) + np.asarray(y) * np.ones_like(x), like(np.float32(0)),
                                 x, y, vmap_method=method)

    x, y = random.normal(size=(2, 6)).astype("f4")
    both(jax.vmap(f), x, y)
    both(jax.vmap(f, in_axes=(0, None)), x, y[0])
    both(jax.vmap(jax.vmap(f, in_axes=(0, None)), in_axes=(None, 0)), x, y)


def test_callbacks_in_scans(both, random):
    def step(carry, x):
        carry = jax.pure_callback(lambda c, x: np.float32(0.5) * c + x, like(np.zeros(3, "f4")), carry, x)
        return carry, carry.sum()

    both(lambda xs: jax.lax.scan(step, jnp.zeros(3), xs), random.normal(size=(50, 3)).astype("f4"))


def test_callbacks_with_derivatives(both, random):
    @jax.custom_jvp
    def sin(x):
        return jax.pure_callback(lambda x: np.sin(x), like(x), x, vmap_method="expand_dims")

    sin.defjvp(lambda primals, tangents: (sin(*primals), jnp.cos(primals[0]) * tangents[0]))
    x = random.normal(size=7).astype("f4")
    both(jax.value_and_grad(lambda x: (sin(x) ** 2).sum()), x)
    both(jax.vmap(jax.grad(sin)), x)


def test_callbacks_of_large_arrays(random):
    x = random.normal(size=(1000, 1000)).astype("f4")
    ours = jax.jit(lambda x: jax.pure_callback(lambda x: x[::-1], like(x), x.T))(x)
    np.testing.assert_array_equal(ours, x.T[::-1])


def test_arguments_outlive_the_call():
    kept = []
    f = jax.jit(lambda x: jax.pure_callback(lambda v: kept.append(v) or np.float32(0), like(np.float32(0)), x * 2))
    for i in range(5):
        f(np.full(1000, i, "f4")).block_until_ready()
    for i, value in enumerate(kept):
        np.testing.assert_array_equal(value, np.full(1000, 2 * i))


def test_results_that_are_not_contiguous(random):
    x = random.normal(size=(4, 6)).astype("f4")
    for python in (lambda x: np.asarray(x).T, lambda x: np.asarray(x)[:, ::-1].T, lambda x: np.asfortranarray(x).T):
        ours = jax.jit(lambda x: jax.pure_callback(python, like(x.T), x))(x)
        np.testing.assert_array_equal(ours, python(x))


TYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "float16", "float32", "complex64",
         ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2, ml_dtypes.float8_e4m3fn,
         ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn]


@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0, 4)])
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
def test_types_and_shapes(dtype, shape):
    seen = []
    count = int(np.prod(shape))
    value = (np.arange(count) % 4 - (1 if np.dtype(dtype).name.startswith("int") else 0)).reshape(shape).astype(dtype)

    def python(x):
        x = np.asarray(x)
        seen.append((x.dtype, x.shape))
        return x[..., ::-1] if x.ndim else x

    ours = jax.jit(lambda x: jax.pure_callback(python, like(x), x))(value)
    ours.block_until_ready()
    assert seen == [(np.dtype(dtype), shape)]
    assert ours.dtype == value.dtype and ours.shape == shape
    np.testing.assert_array_equal(np.asarray(ours).astype("c8"),
                                  (value[..., ::-1] if shape else value).astype("c8"))


def test_types_of_8_bytes(python):
    status, _, errors = python("""
import jax, numpy as np
for dtype in ("int64", "uint64", "float64", "complex128"):
    x = (np.arange(5) * 2.0 ** 40).astype(dtype)
    y = jax.jit(lambda x: jax.pure_callback(lambda v: v + v, jax.ShapeDtypeStruct(x.shape, dtype), x))(x)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y, 2 * x)
""", JAX_ENABLE_X64="1")
    assert status == 0, errors


# --- io_callback ----------------------------------------------------------------------------------

def test_state_of_ordered_callbacks():
    state = {"value": 0, "log": []}

    def add(x):
        state["value"] += int(x)
        state["log"].append(int(x))
        return np.int32(state["value"])

    @jax.jit
    def f(n):
        def body(i, total):
            return total + io_callback(add, like(np.int32(0)), i, ordered=True)
        return jax.lax.fori_loop(0, n, body, 0)

    results = [f(n) for n in (5, 3, 4)]
    jax.effects_barrier()
    assert state["log"] == [0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3]
    sums = np.cumsum(state["log"])
    assert [int(r) for r in results] == [sums[:5].sum(), sums[5:8].sum(), sums[8:].sum()]


def test_callbacks_without_results_are_called():
    calls = []
    f = jax.jit(lambda x: (io_callback(lambda v: calls.append(int(v)), None, x), x + 1)[1])
    assert [int(f(i)) for i in range(4)] == [1, 2, 3, 4]
    jax.effects_barrier()
    assert sorted(calls) == [0, 1, 2, 3]


# --- errors ---------------------------------------------------------------------------------------

def check_alive():
    assert float(jax.jit(lambda x: jax.pure_callback(np.negative, like(np.float32(0)), x))(2.0)) == -2


def refuse_the_value(x):
    raise ValueError(f"cannot take {np.asarray(x).tolist()} – Ärger")


def test_exceptions_arrive_with_text_and_place():
    f = jax.jit(lambda x: jax.pure_callback(refuse_the_value, like(np.float32(0)), x) + 1)
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        f(np.float32(3.5)).block_until_ready()
    text = str(caught.value)
    assert "ValueError: cannot take 3.5 – Ärger" in text
    assert "test_callbacks.py" in text and "in refuse_the_value" in text
    check_alive()


def test_exceptions_without_traceback_room():
    def fail(x):
        raise ValueError("é" * 40_000 + " end")

    with pytest.raises(jax.errors.JaxRuntimeError, match="é{1000}"):
        jax.jit(lambda x: jax.pure_callback(fail, like(np.float32(0)), x))(1.0).block_until_ready()
    check_alive()


def test_exceptions_of_effects():
    @jax.jit
    def f(x):
        jax.debug.callback(refuse_the_value, x, ordered=True)
        return x

    with pytest.raises(jax.errors.JaxRuntimeError, match="cannot take 1"):
        f(1).block_until_ready()
        jax.effects_barrier()
    from jax._src import dispatch
    dispatch.runtime_tokens.clear()
    check_alive()


def test_exceptions_end_loops():
    calls = []

    def python(i):
        calls.append(int(i))
        if i == 5:
            raise StopIteration("at five")
        return np.int32(i)

    loop = jax.jit(lambda x: jax.lax.fori_loop(
        0, 1000, lambda i, s: s + jax.pure_callback(python, like(np.int32(0)), i), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="at five"):
        loop(0).block_until_ready()
    assert calls == list(range(6))
    check_alive()


@pytest.mark.parametrize("value, said", [
    (np.zeros(3, "f4"), r"Expected: \(2,\), Actual: \(3,\)"),
    (np.zeros((2, 1), "f4"), r"Expected: \(2,\), Actual: \(2, 1\)"),
    (np.float32(0), r"Expected: \(2,\), Actual: \(\)"),
    (np.zeros(2, "i4"), "Expected: float32, Actual: int32"),
    ("text", "<U4 is not a valid JAX array type"),
], ids=["long", "rank", "scalar", "type", "text"])
def test_wrong_results_are_said(value, said):
    f = jax.jit(lambda x: jax.pure_callback(lambda x: value, like(np.zeros(2, "f4")), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match=said):
        f(1.0).block_until_ready()
    check_alive()


def test_a_wrong_number_of_results_is_said():
    two = (like(np.float32(0)),) * 2
    for value in ((np.float32(1),), (np.float32(1),) * 3, np.float32(1)):
        with pytest.raises(jax.errors.JaxRuntimeError, match="Expected: 2, Actual: [13]"):
            jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(lambda x: value, two, x))(1.0))
    check_alive()


def test_checks_of_checkify():
    @jax.jit
    @checkify.checkify
    def f(x, i):
        checkify.check(x > 0, "x must be positive, is {x}", x=x)
        return jnp.log(x) + jnp.arange(3.0)[i]

    f(1.0, 0)[0].throw()
    with pytest.raises(checkify.JaxRuntimeError, match="x must be positive, is -1.0"):
        f(-1.0, 0)[0].throw()
    indices = jax.jit(checkify.checkify(lambda x, i: x[i], errors=checkify.index_checks))
    with pytest.raises(checkify.JaxRuntimeError, match="out-of-bounds"):
        indices(jnp.arange(3), 5)[0].throw()


def test_nans_are_found():
    with jax.debug_nans(True):
        with pytest.raises(FloatingPointError, match="nan"):
            jax.jit(lambda x: jnp.log(x) + 1)(-1.0).block_until_ready()
        assert float(jax.jit(lambda x: x + 1)(1.0)) == 2


# --- callbacks that use JAX -----------------------------------------------------------------------

NESTED = """
import jax, jax.numpy as jnp, numpy as np
device = jax.devices()[0]
assert "hlocc" in device.client.platform_version
scalar = jax.ShapeDtypeStruct((), "f4")
def innermost(x):
    with jax.default_device(device):
        return np.asarray(jax.jit(lambda x: (x * jnp.ones(100)).sum())(float(x)))
def middle(x):
    with jax.default_device(device):
        y = jax.jit(lambda x: jax.pure_callback(innermost, scalar, x + 1) * 2)(float(x))
        assert y.devices() == {device}
        return np.asarray(y)
f = jax.jit(lambda x: jax.pure_callback(middle, scalar, x) + 1)
for i in range(20):
    assert float(f(jax.device_put(np.float32(i), device))) == 200 * (i + 1) + 1
"""

ON_ALL_DEVICES = """
assert jax.device_count() == 8
for _ in range(5):
    results = []
    for i, each in enumerate(jax.devices()):
        results.append(f(jax.device_put(np.float32(i), each)))
    for i, result in enumerate(results):
        assert result.devices() == {jax.devices()[i]} and float(result) == 200 * (i + 1) + 1
"""


@pytest.mark.parametrize("environment", [
    {}, {"HLOCC_NUM_THREADS": "1"}, {"HLOCC_AS_CPU": "1", "JAX_PLATFORMS": "cpu"},
    {"HLOCC_NUM_DEVICES": "8"}, {"HLOCC_NUM_DEVICES": "8", "HLOCC_NUM_THREADS": "1"},
], ids=lambda e: "-".join(e) or "default")
def test_callbacks_run_programs(python, environment):
    source = NESTED + (ON_ALL_DEVICES if "HLOCC_NUM_DEVICES" in environment else "")
    status, _, errors = python(source, **environment)
    assert status == 0, errors


def test_many_threads_call_back():
    import concurrent.futures
    f = jax.jit(lambda x: jax.lax.fori_loop(
        0, 20, lambda i, v: jax.pure_callback(lambda v: v + 1, like(np.zeros(3, "f4")), v), x))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for i, value in enumerate(pool.map(f, [np.full(3, i, "f4") for i in range(32)])):
            np.testing.assert_array_equal(value, i + 20)


def test_the_process_ends_while_callbacks_run(python):
    status, out, errors = python("""
import jax, numpy as np, time
def slow(x):
    time.sleep(0.05)
    return x
f = jax.jit(lambda x: jax.lax.fori_loop(0, 10, lambda i, v: jax.pure_callback(slow, jax.ShapeDtypeStruct((), "f4"), v), x))
f(1.0)
print("launched", flush=True)
""")
    assert (status, out) == (0, "launched\n"), errors


# --- buffer_callback ------------------------------------------------------------------------------

def test_buffers_are_filled_in_place(random):
    x = random.normal(size=(3, 4)).astype("f4")

    def python(context, out, arg):
        assert context.stage == buffer_callback.ExecutionStage.EXECUTE
        assert out.writeable and not arg.writeable
        np.asarray(out)[...] = 2 * np.asarray(arg)

    f = buffer_callback.buffer_callback(python, like(x))
    np.testing.assert_array_equal(jax.jit(lambda x: f(x + 1))(x), 2 * (x + np.float32(1)))


def test_buffers_of_aliased_arguments(random):
    x = random.normal(size=100).astype("f4")

    def python(context, out, arg):
        assert np.asarray(out).ctypes.data == np.asarray(arg).ctypes.data
        np.asarray(out)[...] += 1

    f = buffer_callback.buffer_callback(python, like(x), input_output_aliases={0: 0})
    double, incremented = jax.jit(lambda x: (2 * x, f(x)))(x)
    np.testing.assert_array_equal(double, 2 * x)
    np.testing.assert_array_equal(incremented, x + 1)


def test_errors_of_buffer_callbacks():
    def stream(context, out, *arguments):
        context.stream

    def fail(context, out, *arguments):
        raise KeyError("no such buffer")

    for python, said in ((stream, "XLA FFI GPU context is not available"), (fail, "no such buffer")):
        f = buffer_callback.buffer_callback(python, like(np.float32(0)))
        with pytest.raises(jax.errors.JaxRuntimeError, match=said):
            jax.jit(f)(np.zeros(3)).block_until_ready()
    check_alive()


# --- functions of other libraries -----------------------------------------------------------------

FOREIGN = r"""
#include <string.h>
#include "xla/ffi/api/c_api.h"

static XLA_FFI_Error* fail(const XLA_FFI_Api* api, const char* message) {
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, message,
                                    XLA_FFI_Error_Code_OUT_OF_RANGE};
  return api->XLA_FFI_Error_Create(&args);
}

// out = a + factor * b, attribute `factor` of type f32, at most 100.
XLA_FFI_Error* add_scaled(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata* metadata = ((XLA_FFI_Metadata_Extension*)frame->extension_start)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    return NULL;
  }
  const XLA_FFI_Buffer *a = frame->args.args[0], *b = frame->args.args[1], *out = frame->rets.rets[0];
  float factor;
  memcpy(&factor, ((XLA_FFI_Scalar*)frame->attrs.attrs[0])->value, sizeof factor);
  if (factor > 100) return fail(frame->api, "the factor is too large");
  long count = 1;
  for (long i = 0; i < out->rank; ++i) count *= out->dims[i];
  for (long i = 0; i < count; ++i) ((float*)out->data)[i] = ((float*)a->data)[i] + factor * ((float*)b->data)[i];
  return NULL;
}

// The older interfaces: four floats; two results.
void negate(void* out, const void** in) {
  for (int i = 0; i < 4; ++i) ((float*)out)[i] = -((const float*)in[0])[i];
}
void negate_and_double(void* out, const void** in) {
  negate(((void**)out)[0], in);
  for (int i = 0; i < 4; ++i) ((float**)out)[1][i] = 2 * ((const float*)in[0])[i];
}
void first_byte(void* out, const void** in, const char* opaque, size_t size, void* status) {
  *(int*)out = size == 0 ? -1 : opaque[0];
}
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """A library of handlers, whose targets are registered."""
    folder = tmp_path_factory.mktemp("foreign")
    source, path = folder / "foreign.c", folder / "foreign.so"
    source.write_text(FOREIGN)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    subprocess.run([compiler, "-shared", "-fPIC", "-I", jax.ffi.include_dir(), source, "-o", path], check=True)
    library = ctypes.CDLL(str(path))
    jax.ffi.register_ffi_target("test_add_scaled", jax.ffi.pycapsule(library.add_scaled), platform="cpu")
    for name in ("negate", "negate_and_double", "first_byte"):
        jax.ffi.register_ffi_target("test_" + name, jax.ffi.pycapsule(getattr(library, name)), platform="cpu",
                                    api_version=0)
    return library


def test_typed_handlers(foreign, both, random):
    a, b = random.normal(size=(2, 3, 5)).astype("f4")
    call = lambda a, b, factor: jax.ffi.ffi_call("test_add_scaled", like(np.zeros((3, 5), "f4")))(
        a, b, factor=np.float32(factor))
    both(lambda a, b: call(a + 1, b, 2.5) * 2, a, b)
    both(lambda a, b: jax.lax.fori_loop(0, 10, lambda i, v: call(v, b, 0.5), a), a, b)
    with pytest.raises(jax.errors.JaxRuntimeError, match="OUT_OF_RANGE.*the factor is too large"):
        jax.jit(lambda a, b: call(a, b, 101))(a, b).block_until_ready()


@pytest.mark.parametrize("method", VMAP_METHODS)
def test_typed_handlers_under_vmap(foreign, both, random, method):
    a, b = random.normal(size=(2, 4, 5)).astype("f4")
    call = jax.ffi.ffi_call("test_add_scaled", like(np.zeros(5, "f4")), vmap_method=method)
    both(jax.vmap(lambda a, b: call(a, b, factor=np.float32(3))), a, b)


def test_handlers_take_layouts(foreign, both, random):
    """Column-major operands and results."""
    a, b = random.normal(size=(2, 3, 5)).astype("f4")
    call = jax.ffi.ffi_call("test_add_scaled", like(np.zeros((3, 5), "f4")), input_layouts=[(1, 0), (1, 0)],
                            output_layouts=(1, 0))
    both(lambda a, b: call(a, b, factor=np.float32(2)), a, b)
    mixed = jax.ffi.ffi_call("test_add_scaled", like(np.zeros((3, 5), "f4")), input_layouts=[(0, 1), (0, 1)],
                             output_layouts=(0, 1))
    both(lambda a, b: mixed(a, b, factor=np.float32(2)).T, a, b)


@pytest.mark.parametrize("version", [1, 2])
def test_untyped_functions(foreign, random, version):
    x = random.normal(size=4).astype("f4")
    one = jax.ffi.ffi_call("test_negate", like(x), custom_call_api_version=version, legacy_backend_config="")
    np.testing.assert_array_equal(jax.jit(lambda x: one(x + 1))(x), -(x + np.float32(1)))
    two = jax.ffi.ffi_call("test_negate_and_double", (like(x), like(x)), custom_call_api_version=version,
                           legacy_backend_config="")
    negated, doubled = jax.jit(two)(x)
    np.testing.assert_array_equal(negated, -x)
    np.testing.assert_array_equal(doubled, 2 * x)


def test_untyped_functions_read_their_config(foreign):
    for config, expected in (("", -1), ("Q", ord("Q"))):
        f = jax.ffi.ffi_call("test_first_byte", like(np.int32(0)), custom_call_api_version=3, legacy_backend_config=config)
        assert int(jax.jit(f)(np.float32(0))) == expected
