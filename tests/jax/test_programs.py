# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/programs/one-device, as JAX sends them, on random inputs: hlocc against XLA."""
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib import _jax

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import programs  # noqa: E402

pytestmark = pytest.mark.programs

SIGN_FREE = ("eigh", "qr")               # columns of the results may differ in sign
TOLERANCE = {"default": 1e-4, "matmul_bf16_1024": 2e-2, "matmul_bf16_2048": 2e-2,
             "vmap_solve4_1e4": 1e-2, "inv_256": 1e-3,
             "transformer_train": 5e-4,  # one ill-conditioned row of the positions' gradient
             "eigh_256": 1e-2,                                         # eigenvalues lie close
             "scan_1e4_matvec16": 1e-3, "scan_3x3_carry_1e4": 1e-2}    # 10,000 dependent steps


# Of programs that jump where a value is 0: no value of a run is so near to 0 that a rounding decides.
SEEDS = {"unrolled_1500_ops": 1}


def run(program, device, arguments):
    devices = _jax.DeviceList((device,))
    executable = device.client.compile_and_load(program, devices, _jax.CompileOptions())
    results = executable.execute_sharded([jax.device_put(a, device) for a in arguments])
    return [np.asarray(part[0]) for part in results.disassemble_into_single_device_arrays()]


@pytest.fixture(scope="module", autouse=True)
def lapack_for_xla():
    """jaxlib binds its LAPACK targets when JAX first lowers one; the stored programs pass that by."""
    jax.jit(jnp.linalg.cholesky).lower(np.eye(2, dtype=np.float32))


@pytest.mark.parametrize("path", programs.paths(), ids=lambda path: path.stem)
def test_program(path, xla):
    program, name = path.read_bytes(), path.stem
    arguments = programs.arguments(program, name, SEEDS.get(name))
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
