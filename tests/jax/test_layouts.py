# SPDX-License-Identifier: Apache-2.0
"""Layouts of arrays in device memory: asked for, answered and honoured."""
import ctypes
import itertools
import os
import pathlib
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.layout import Format, Layout, with_layout_constraint
from jax.sharding import SingleDeviceSharding

DEV_TOOL = pathlib.Path(os.environ.get("DEV_TOOL_OF_TESTS", pathlib.Path(__file__).parents[2] / "build" / "bin" / "hlocc-dev"))


def format_of(*major_to_minor):
    return Format(Layout(major_to_minor), SingleDeviceSharding(jax.devices()[0]))


def order(array):
    return array.format.layout.major_to_minor


def on_device(array):
    """The elements of an array in the order of device memory."""
    pointer = array.addressable_data(0).unsafe_buffer_pointer()
    raw = (ctypes.c_char * array.nbytes).from_address(pointer)
    return np.frombuffer(raw, array.dtype)


@pytest.mark.parametrize("major_to_minor", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "float16"])
def test_put(major_to_minor, dtype, random):
    x = (random.normal(size=(2, 3, 5)) * 4).astype(dtype)
    array = jax.device_put(x, format_of(*major_to_minor))
    assert order(array) == major_to_minor
    np.testing.assert_array_equal(on_device(array), x.transpose(major_to_minor).ravel())
    np.testing.assert_array_equal(array, x)
    np.testing.assert_array_equal(jax.device_put(array, format_of(0, 1, 2)), x)
    if dtype != "bool":
        np.testing.assert_array_equal(array + array, x + x)


def test_small_types():
    x = np.arange(-6, 6).reshape(3, 4)
    array = jax.device_put(jnp.asarray(x, jnp.int4), format_of(1, 0))
    assert order(array) == (1, 0)
    np.testing.assert_array_equal(np.asarray(array).astype(int), x)
    # The format of an array says the size of its elements, too.
    again = jax.jit(lambda x: x + 1, in_shardings=array.format, out_shardings=array.format)(array)
    np.testing.assert_array_equal(np.asarray(again).astype(int), x + 1)


@pytest.mark.parametrize("inputs", list(itertools.permutations(range(2))))
@pytest.mark.parametrize("outputs", list(itertools.permutations(range(2))))
def test_jit(inputs, outputs, random):
    x, y = random.normal(size=(33, 17)).astype("f4"), random.normal(size=(17, 33)).astype("f4")
    f = jax.jit(lambda x, y: (x @ y, x.T + y, x * 2, x.sum(0)),
                in_shardings=(format_of(*inputs), None),
                out_shardings=(format_of(*outputs), format_of(*outputs), format_of(*outputs), None))
    compiled = f.lower(x, y).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == inputs
    assert compiled.output_formats[0].layout.major_to_minor == outputs
    product, summed, double, sums = f(x, y)
    np.testing.assert_allclose(product, x @ y, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(summed, x.T + y)
    np.testing.assert_array_equal(double, x * 2)
    np.testing.assert_array_equal(on_device(double), (x * 2).transpose(outputs).ravel())
    np.testing.assert_allclose(sums, x.sum(0), rtol=1e-4, atol=1e-5)


def test_layouts_of_arguments_are_taken(random):
    """jit without formats compiles for the layouts that its arguments have."""
    x = random.normal(size=(8, 16)).astype("f4")
    f = jax.jit(lambda x: x @ x.T)
    rows, columns = f(x), f(jax.device_put(x, format_of(1, 0)))
    np.testing.assert_allclose(rows, columns, rtol=1e-5)


def test_auto():
    x = np.arange(24.0, dtype="f4").reshape(2, 3, 4)
    auto = Format(Layout.AUTO)
    compiled = jax.jit(lambda x: (x.transpose(2, 0, 1), x + 1), in_shardings=auto,
                       out_shardings=auto).lower(jax.ShapeDtypeStruct(x.shape, x.dtype)).compile()
    assert compiled.input_formats[0][0].layout.major_to_minor == (0, 1, 2)
    turned, same = compiled.output_formats
    assert turned.layout.major_to_minor == (1, 2, 0) and same.layout.major_to_minor == (0, 1, 2)
    turned, same = compiled(x)
    np.testing.assert_array_equal(turned, x.transpose(2, 0, 1))
    np.testing.assert_array_equal(on_device(turned), x.ravel())
    np.testing.assert_array_equal(same, x + 1)


def test_constraints():
    x = np.arange(12.0, dtype="f4").reshape(3, 4)
    inner = jax.jit(lambda x: jnp.sin(with_layout_constraint(x * 2, Layout((1, 0)))) + 1)
    np.testing.assert_allclose(inner(x), np.sin(x * 2) + 1, rtol=1e-5, atol=1e-6)
    last = jax.jit(lambda x: with_layout_constraint(x * 2, Layout((1, 0))))(x)
    assert order(last) == (1, 0)
    np.testing.assert_array_equal(last, x * 2)


def test_donation():
    x = np.arange(12.0, dtype="f4").reshape(3, 4)
    columns = format_of(1, 0)
    for result_format in (columns, None):
        array = jax.device_put(x, columns)
        pointer = array.unsafe_buffer_pointer()
        f = jax.jit(lambda x: x * 2, in_shardings=columns, out_shardings=result_format, donate_argnums=0)
        result = f(array)
        assert array.is_deleted()
        np.testing.assert_array_equal(result, x * 2)
        if result_format is columns:
            assert result.unsafe_buffer_pointer() == pointer
    square = jax.device_put(x[:, :3], columns)
    np.testing.assert_array_equal(jax.jit(lambda x: x.T, donate_argnums=0)(square), x[:, :3].T)


def test_compiled_programs_check_layouts():
    x = np.arange(12.0, dtype="f4").reshape(3, 4)
    with pytest.raises(ValueError, match="does not match the layout on the respective arg"):
        jax.jit(lambda x: x, in_shardings=format_of(0, 1))(jax.device_put(x, format_of(1, 0)))


def test_tiles_are_refused():
    tiled = Format(Layout((1, 0), ((8, 128),)), SingleDeviceSharding(jax.devices()[0]))
    with pytest.raises(Exception, match=r"UNIMPLEMENTED.*argument 0.*layout \{0,1:T\(8,128\)\}"):
        jax.jit(lambda x: x, in_shardings=tiled)(np.zeros((16, 128), "f4"))


def test_serialized_executables_keep_layouts():
    from jax.experimental.serialize_executable import deserialize_and_load, serialize
    x = np.arange(12.0, dtype="f4").reshape(3, 4)
    compiled = jax.jit(lambda x: x + 1, out_shardings=format_of(1, 0)).lower(x).compile()
    loaded = deserialize_and_load(*serialize(compiled))
    result = loaded(x)
    assert order(result) == (1, 0)
    np.testing.assert_array_equal(result, x + 1)


def test_views_of_column_major_memory(python):
    """As the cpu platform, hlocc uses arrays of NumPy in place, in their order."""
    status, out, errors = python("""import jax, jax.numpy as jnp, numpy as np
x = np.asfortranarray(np.arange(12.0, dtype="f4").reshape(3, 4))
y = jnp.from_dlpack(x)
print(y.format.layout.major_to_minor, bool((y + 1 == x + 1).all()))
""", HLOCC_AS_CPU="1", JAX_PLATFORMS="cpu")
    assert (status, out) == (0, "(1, 0) True\n"), errors


def test_launches_with_layouts_can_be_replayed(python, tmp_path):
    status, out, errors = python("""import jax, jax.numpy as jnp
from jax.experimental.layout import Format, Layout
columns = Format(Layout((1, 0)), jax.sharding.SingleDeviceSharding(jax.devices()[0]))
x = jax.device_put(jnp.arange(6.0).reshape(2, 3), columns)
print(jax.jit(lambda columns_plus: columns_plus + 1, out_shardings=columns)(x))
""", HLOCC_DUMP=f"launches:{tmp_path}")
    assert status == 0, errors
    folder, = tmp_path.glob("*lambda*.launch*")
    text = subprocess.run([DEV_TOOL, "replay", "--print", folder], capture_output=True, text=True, check=True).stdout
    assert "[[1.000000e+00, 2.000000e+00, 3.000000e+00], [4.0" in text, text
