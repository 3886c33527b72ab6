# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/programs/one-device, as JAX sends them, on random inputs: hlocc against XLA."""
import pathlib
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jaxlib import _jax
from jaxlib.mlir.dialects import stablehlo

pytestmark = pytest.mark.programs

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "programs" / "one-device"
SYMMETRIC = ("cholesky", "eigh", "inv")  # inputs made symmetric and positive definite
POSITIVE = ("log_", "mlp_train", "transformer_train")  # logarithms, roots of Adam's second moments
SIGN_FREE = ("eigh", "qr")               # columns of the results may differ in sign
TOLERANCE = {"default": 1e-4, "matmul_bf16_1024": 2e-2, "matmul_bf16_2048": 2e-2,
             "vmap_solve4_1e4": 1e-2, "inv_256": 1e-3,
             "eigh_256": 1e-2,                                         # eigenvalues lie close
             "scan_1e4_matvec16": 1e-3, "scan_3x3_carry_1e4": 1e-2}    # 10,000 dependent steps
TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "i8": np.int8,
         "i32": np.int32, "ui32": np.uint32, "i64": np.int64, "i1": np.bool_,
         "complex<f32>": np.complex64}


def argument_types(program):
    """[(shape, type name)] of the entry function."""
    with mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, program)
        main = next(op for op in module.body.operations if str(getattr(op, "name", "")) == '"main"')
        texts = [str(t) for t in ir.FunctionType(main.type).inputs]
    split = [re.fullmatch(r"tensor<((?:\d+x)*)([\w<>]+)>", text).groups() for text in texts]
    return [(tuple(int(d) for d in dims.split("x") if d), name) for dims, name in split]


def random_argument(random, shape, type_name, name):
    dtype = TYPES[type_name]
    if name == "while_gather_1e6":  # ends where it has met the largest index
        return np.arange(*shape, dtype=dtype)
    if np.issubdtype(dtype, np.integer):
        return random.integers(0, 10, shape).astype(dtype)
    value = np.asarray(random.normal(size=shape), np.float32)
    if name.startswith(POSITIVE):
        value = np.abs(value)
    if name.startswith(SYMMETRIC):
        value = value @ value.T / shape[0] + np.eye(shape[0], dtype=np.float32)
    elif len(shape) > 1:
        value = value / np.sqrt(shape[-2])
    return value.astype(dtype)


def run(program, device, arguments):
    devices = _jax.DeviceList((device,))
    executable = device.client.compile_and_load(program, devices, _jax.CompileOptions())
    results = executable.execute_sharded([jax.device_put(a, device) for a in arguments])
    return [np.asarray(part[0]) for part in results.disassemble_into_single_device_arrays()]


@pytest.fixture(scope="module", autouse=True)
def lapack_for_xla():
    """jaxlib binds its LAPACK targets when JAX first lowers one; the stored programs pass that by."""
    jax.jit(jnp.linalg.cholesky).lower(np.eye(2, dtype=np.float32))


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.mlirbc")), ids=lambda path: path.stem)
def test_program(path, xla):
    program, name = path.read_bytes(), path.stem
    random = np.random.default_rng(len(name))
    arguments = [random_argument(random, *t, name) for t in argument_types(program)]
    ours, theirs = run(program, jax.devices()[0], arguments), run(program, xla, arguments)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        assert mine.dtype == other.dtype and mine.shape == other.shape
        if mine.dtype.kind in "iub":  # exact
            np.testing.assert_array_equal(mine, other)
            continue
        wide = np.complex128 if mine.dtype.kind == "c" else np.float64
        mine, other = mine.astype(wide), other.astype(wide)
        if name.startswith(SIGN_FREE):
            mine, other = np.abs(mine), np.abs(other)
        assert np.isfinite(other).all(), "the inputs make no sense for this program"
        bound = TOLERANCE.get(name, TOLERANCE["default"])
        np.testing.assert_allclose(mine, other, rtol=bound, atol=bound * np.abs(other).max())
