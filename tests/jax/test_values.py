# SPDX-License-Identifier: Apache-2.0
"""Types, shapes and operations one by one, compared with XLA."""
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import is_ours

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_arithmetic_wraps(both, random, dtype):
    with jax.enable_x64(True):
        info = np.iinfo(dtype)
        x = random.integers(info.min, info.max, 50, dtype=dtype, endpoint=True)
        y = np.where((z := random.integers(1, 100, 50)) == 0, 1, z).astype(dtype)
        both(lambda x, y: (x + y, x * y, x - y, x // y, x % y, x & y, x ^ y, ~x, x >> 1, x << 3,
                           jnp.minimum(x, y), x < y, jax.lax.population_count(x), jax.lax.clz(x)),
             x, y)


@pytest.mark.parametrize("dtype,modulus", [("int2", 2), ("int4", 8), ("uint4", 16)])
def test_integers_below_a_byte(dtype, modulus):
    lowest = -modulus if dtype.startswith("int") else 0
    values = np.arange(lowest, modulus, dtype="int64")
    x, y = (v.ravel().astype(dtype) for v in np.meshgrid(values, values[values != 0]))
    got = jax.jit(lambda x, y: (jax.lax.max(x, y), x < y, x.astype("int32")))(x, y)
    wide = x.astype("int64"), y.astype("int64")
    for out, want in zip(got, (np.maximum(*wide), np.less(*wide), wide[0])):
        np.testing.assert_array_equal(np.asarray(out).astype("int64"), want.astype("int64"))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_float_functions(both, random, dtype):
    with jax.enable_x64(True):
        x = jnp.asarray(random.uniform(0.1, 3.0, 200)).astype(dtype)
        both(lambda x: (jnp.exp(x), jnp.log(x), jnp.sin(x), jnp.cos(x), jnp.tanh(x), jnp.sqrt(x),
                        jax.lax.rsqrt(x), x ** 1.7, jnp.floor(x), jnp.round(x), jax.lax.erf(x),
                        jnp.arctan2(x, 1 - x), jnp.log1p(x), jnp.expm1(x)), np.asarray(x))


def test_bfloat16_layer(both, random):
    x = random.normal(size=(16, 32)).astype(jnp.bfloat16)
    w = random.normal(size=(32, 8)).astype(jnp.bfloat16)
    both(lambda x, w: jax.nn.softmax(x @ w), x, w, tolerance=5e-2)
    both(lambda x, w: jnp.dot(x, w, preferred_element_type=jnp.float32), x, w)


# What each algorithm of a product multiplies, and what it rounds sums to.
DOT_ALGORITHMS = {
    "F16_F16_F16": ("float16", "float16"), "F16_F16_F32": ("float16", "float32"),
    "BF16_BF16_BF16": ("bfloat16", "bfloat16"), "BF16_BF16_F32": ("bfloat16", "float32"),
    "BF16_BF16_F32_X3": ("float32", "float32"), "BF16_BF16_F32_X6": ("float32", "float32"),
    "BF16_BF16_F32_X9": ("float32", "float32"), "TF32_TF32_F32": ("float32", "float32"),
    "TF32_TF32_F32_X3": ("float32", "float32"), "F32_F32_F32": ("float32", "float32"),
    "F64_F64_F64": ("float64", "float64"),
}


def compile_for_any(f, *args):
    """JAX lowers few algorithms for cpu, the platform name of the client; others are exported."""
    from jax import export
    anywhere = [export.DisabledSafetyCheck.platform()]
    lowered = export.export(jax.jit(f), platforms=["cuda"], disabled_checks=anywhere)(*args)
    return jax.jit(lowered.call)


@pytest.mark.parametrize("algorithm", DOT_ALGORITHMS)
def test_dot_algorithms(random, algorithm):
    with jax.enable_x64(True):
        factor, sum_type = DOT_ALGORITHMS[algorithm]
        x, w = random.normal(size=(17, 45)).astype("f4"), random.normal(size=(45, 33)).astype("f4")
        x[0, :2], w[:2, 0] = [1 + 2 ** -8, 0], [1 + 2 ** -8, np.inf]  # the first is no bf16
        x[1, 0] = np.nan
        multiply = lambda x, w: jnp.matmul(x, w, precision=algorithm)
        got = compile_for_any(multiply, x, w)(x, w)
        assert is_ours(got) and got.dtype == "float32"
        wide_x, wide_w = (np.asarray(jnp.asarray(v).astype(factor)).astype("f8") for v in (x, w))
        with np.errstate(invalid="ignore"):
            want = wide_x @ wide_w
            scale = np.abs(wide_x) @ np.abs(wide_w)
        error = jnp.finfo(sum_type).eps + 45 * np.finfo("f4").eps
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        finite = np.isfinite(want)
        assert np.all(np.abs(got - want)[finite] <= (error * scale)[finite])
        assert got[2, 0] == want[2, 0]  # infinite, also where operands are cut into parts
        between = 1 + float(jnp.finfo(factor).eps) / 2  # 1 and the next number, if f32 has it
        x, one = jnp.array([[between]], "f4"), jnp.ones((1, 1), "f4")
        assert compile_for_any(multiply, one, one)(x, one)[0, 0] == 1
        assert compile_for_any(multiply, one, one)(one + 2 ** -8, one)[0, 0] == (
            1 if factor == "bfloat16" else 1 + 2 ** -8)


# The largest relative errors of eight positive products that the tests of XLA's GPU kernels allow, but that bf16 may
# round each operand by 2^-8, and sums of f32 up to 3e-7 in all; those tests are not as wide of their samples.
DOT_ERRORS = {"BF16_BF16_F32": 7.8e-3, "BF16_BF16_F32_X3": 7.9e-6, "BF16_BF16_F32_X6": 3e-7, "BF16_BF16_F32_X9": 3e-7,
              "TF32_TF32_F32": 4.1e-4, "TF32_TF32_F32_X3": 5e-7, "F32_F32_F32": 3e-7}


@pytest.mark.parametrize("algorithm", DOT_ERRORS)
def test_errors_of_dot_algorithms(random, algorithm):
    x, w = (np.abs(random.normal(size=shape)).astype("f4") for shape in [(64, 8), (8, 64)])
    compiled = compile_for_any(lambda x, w: jnp.matmul(x, w, precision=algorithm), x, w)
    want = x.astype("f8") @ w.astype("f8")
    error = np.max(np.abs(compiled(x, w) - want) / want)
    assert error < DOT_ERRORS[algorithm]
    if algorithm == "BF16_BF16_F32":
        assert error > 1e-3  # operands are rounded
        return
    # Elements whose bf16 would be infinite.
    x[:, 1:], w[1:] = 0, 0
    x[:, 0], w[0] = np.finfo("f4").max, np.linspace(0.125, 1, 64)
    np.testing.assert_array_equal(compiled(x, w), x @ w)


@pytest.mark.parametrize("lhs,rhs", [("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2",) * 2])
def test_dot_algorithms_of_8_bits(random, lhs, rhs):
    x = jnp.asarray(random.normal(size=(5, 40)).astype("f4")).astype(lhs)
    w = jnp.asarray(random.normal(size=(40, 7)).astype("f4")).astype(rhs)
    want = np.asarray(x.astype("f4")) @ np.asarray(w.astype("f4"))
    for algorithm in ("ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"):
        multiply = lambda x, w: jax.lax.dot(x, w, precision=algorithm,
                                            preferred_element_type="float32")
        got = compile_for_any(multiply, x, w)(x, w)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_dot_algorithms_in_transformations(random):
    x = random.normal(size=(4, 6, 8)).astype("f4")
    w = random.normal(size=(8, 5)).astype("f4")
    with jax.default_matmul_precision("BF16_BF16_F32"):
        rounded = jax.jit(jax.grad(lambda w: jnp.sum(jax.vmap(jnp.dot, (0, None))(x, w) ** 2)))(w)
    exact = jax.jit(jax.grad(lambda w: jnp.sum(jax.vmap(jnp.dot, (0, None))(x, w) ** 2)))(w)
    assert 0 < np.max(np.abs(rounded - exact)) < 0.05 * np.max(np.abs(exact))


def test_special_values(both):
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 3e38, -1.0], "f4")
    both(lambda x: (x + 1, x * 0, jnp.sqrt(x), jnp.sign(x), jnp.isnan(x), jnp.maximum(x, 0),
                    jnp.sort(x), jnp.argmax(x), x.astype("int32")), x)


# What arithmetic makes of subnormal numbers, what it does not touch, and what XLA's client does alike.
ARITHMETIC = [lambda x, y: x * y, lambda x, y: x + y, lambda x, y: x / y, jax.lax.max, jax.lax.min,
              lambda x, y: jnp.sign(x), lambda x, y: jnp.ceil(x), lambda x, y: jnp.sqrt(x),
              lambda x, y: jax.lax.clamp(-y, x, y), lambda x, y: x > 0, lambda x, y: x == x[::-1],
              lambda x, y: jnp.sum(x), lambda x, y: jnp.max(x), lambda x, y: jnp.cumsum(x)]
MOVES = [lambda x, y: -x, lambda x, y: jnp.abs(x), lambda x, y: jnp.where(y > 0, x, y),
         jnp.nextafter, lambda x, y: jnp.isfinite(x), lambda x, y: x[::-1]]


def bits_of(x):
    x = np.asarray(x)
    return x if x.dtype == bool else x.view(f"u{x.dtype.itemsize}")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("f", range(len(ARITHMETIC + MOVES)))
def test_subnormals_are_treated_as_by_xla(xla, dtype, f):
    with jax.enable_x64(True):
        tiny = jnp.finfo(dtype).tiny
        x = np.array([0.25, 0.5, 1, 1.5, 0, -0.25, -1], "f8").astype(dtype) * np.array(tiny, dtype)
        y = np.ones_like(x)
        function = (ARITHMETIC + MOVES)[f]
        ours = jax.jit(function)(x, y)
        with jax.default_device(xla):
            theirs = jax.jit(function)(x, y)
        np.testing.assert_array_equal(bits_of(ours), bits_of(theirs))


@pytest.mark.parametrize("shape, axes", [((32, 56, 56, 64), (0, 1, 2)), ((32, 64, 28, 28), (0, 2, 3)), ((200000, 8), (0,)),
                                         ((10000, 64), (0,)), ((300, 200, 100), (1,)), ((1024, 1024), (0,))])
def test_sums_over_batches_are_as_accurate_as_xlas(xla, random, shape, axes):
    x = (random.random(shape) + 0.5).astype("f4")
    for function in (lambda x: jnp.mean(x, axes), lambda x: jnp.sum(x * x, axes), lambda x: jnp.var(x, axes)):
        with jax.enable_x64(True), jax.default_device(xla):
            exact = np.asarray(jax.jit(function)(x.astype("f8")))
        with jax.default_device(xla):
            theirs = jax.jit(function)(x)
        errors = [np.max(np.abs(np.asarray(y, "f8") - exact)) / np.max(exact) * 2**24
                  for y in (jax.jit(function)(x), theirs)]
        assert errors[0] <= 2 * errors[1] + 2


KEEPING = """
import jax, jax.numpy as jnp, numpy as np
x = np.array([1e-45, -1e-40], "f4")
np.testing.assert_array_equal(jax.jit(lambda x: x * 3 - x)(x), x * 3 - x)
np.testing.assert_array_equal(jax.jit(jnp.sign)(x), [1, -1])
np.testing.assert_array_equal(jax.jit(lambda: jnp.float32(2.0**-126) * np.arange(1, 3, dtype="f4") / 4)(),
                              np.array([2.0**-128, 2.0**-127], "f4"))
"""


def test_subnormals_are_kept_if_asked(python):
    assert python(KEEPING, HLOCC_SUBNORMALS="keep")[0] == 0
    assert python(KEEPING)[0] != 0


def test_complex_numbers(both, random):
    x = (random.normal(size=(4, 8)) + 1j * random.normal(size=(4, 8))).astype("c8")
    both(lambda x: (x * x.conj(), jnp.abs(x), x @ x.T, jnp.exp(x), jnp.fft.fft(x), x.real), x)
    both(lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), x.real.copy())


def test_conversions(both, random):
    x = (random.normal(size=64) * 100).astype("f4")
    for dtype in ("int8", "uint16", "int32", "bool", "bfloat16", "float16", "complex64",
                  "float8_e4m3fn", "float8_e5m2"):
        both(lambda x, d=dtype: x.astype(d).astype("complex64" if d == "complex64" else "float32"), x)


def test_indexing_and_updates(both, random):
    x, i = random.normal(size=(7, 9)).astype("f4"), random.integers(0, 7, 12)
    both(lambda x, i: (x[i], x[i, i % 9], x.at[i].add(1.0), x.at[i, 0].set(5.0), x.at[2:4].mul(3),
                       jnp.take(x, i, axis=1, mode="clip"), x[::-1, ::3]), x, i)
    both(lambda x, s: (jax.lax.dynamic_slice(x, (s, s), (2, 3)),
                       jax.lax.dynamic_update_slice(x, jnp.ones((2, 2)), (s, s + 20))), x, np.int32(5))


def test_windows_and_cumulatives(both, random):
    x = random.normal(size=(4, 30)).astype("f4")
    both(lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), jax.lax.cummax(x, 1), jnp.pad(x, 2),
                    jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 3), (1, 2), "SAME")), x)


def test_sorting(both, random):
    keys, values = random.integers(0, 9, 50), random.normal(size=50).astype("f4")
    both(lambda k, v: jax.lax.sort((k, v), num_keys=1), keys, values)
    both(lambda k, v: (jnp.argsort(k), jax.lax.top_k(v, 5), jnp.median(v), jnp.unique(k, size=9)),
         keys, values)


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
def test_random_numbers_are_xlas(both, kind):
    def draw():
        key = jax.random.key(42, impl=kind)
        a, b, c, d = jax.random.split(key, 4)
        return (jax.random.bits(a, (7,)), jax.random.randint(b, (11,), 0, 100),
                jax.random.permutation(c, 20), jax.random.bernoulli(d, 0.3, (13,)))

    both(draw)
    both(lambda: jax.random.normal(jax.random.key(1, impl=kind), (100,)))
    both(lambda: jax.random.gamma(jax.random.key(1, impl=kind), 2.0, (10,)), tolerance=1e-4)


def test_control_flow(both):
    x = np.arange(5, dtype="f4")
    both(lambda i, x: jax.lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * 2], x), np.int32(2), x)
    both(lambda x: jax.lax.map(lambda v: jnp.where(v > 2, v, -v), x), x)
    both(lambda x: jax.lax.fori_loop(0, 5, lambda i, s: s.at[i].set(s.sum()), x), x)
    both(lambda n: jax.lax.while_loop(lambda s: s[1] > 1, lambda s: (
        s[0] + 1, jnp.where(s[1] % 2 == 0, s[1] // 2, 3 * s[1] + 1)), (0, n)), np.int32(27))
    both(lambda x: jax.lax.associative_scan(jnp.add, x), x)


def test_pytrees(both, random):
    tree = {"a": [random.normal(size=3).astype("f4"), (np.int32(4), None)], "b": {"c": np.ones((2, 2), "f4")}}
    both(lambda t: {"x": jax.tree.map(lambda v: v * 2, t), "y": (), "z": t["a"][0].sum()}, tree)


def test_zero_size_and_scalars(both):
    both(lambda x: (x.sum(axis=0), jnp.concatenate([x, x]), x * 2, x.max(axis=1)), np.zeros((0, 4), "f4"))
    both(lambda x: x * x + 1, np.float32(3))


def test_donation_reuses_the_argument():
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    x = jnp.zeros((256, 256)) + 1
    address = x.unsafe_buffer_pointer()
    result = step(x)
    assert is_ours(result) and x.is_deleted()
    assert result.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(result, np.full((256, 256), 2, "f4"))
    with pytest.raises(Exception, match="deleted"):
        step(x)


def test_asynchronous_results_arrive_in_order():
    step = jax.jit(lambda x: x * 2 + 1)
    x = jnp.zeros(1000)
    for _ in range(20):
        x = step(x)
    assert float(x.block_until_ready()[0]) == 2.0 ** 20 - 1


def test_ahead_of_time(random):
    x = random.normal(size=(4, 4)).astype("f4")
    compiled = jax.jit(lambda x: x @ x).lower(x).compile()
    np.testing.assert_allclose(compiled(x), x @ x, rtol=1e-5, atol=1e-5)
    assert compiled.cost_analysis() is not None
    assert compiled.memory_analysis().argument_size_in_bytes == x.nbytes


def test_options_of_one_program():
    """compiler_options with the prefix hlocc_ are options of the library for one program."""
    tiny = np.full(4, 1e-40, np.float32)
    flushed = jax.jit(lambda x: x * 2)(tiny)
    kept = jax.jit(lambda x: x * 2, compiler_options={"hlocc_subnormals": "keep"})(tiny)
    assert (np.asarray(flushed) == 0).all() and (np.asarray(kept) > 0).all()
    with pytest.raises(jax.errors.JaxRuntimeError, match="is one of clients"):
        jax.jit(lambda x: x * 2, compiler_options={"hlocc_num_devices": 2})(tiny)
