# SPDX-License-Identifier: Apache-2.0
"""JAX end-to-end tests: hlocc is the default client, XLA's cpu client is available for comparison.

`both` runs one function on the two and compares; `python` runs a script in a fresh process, for what
must be set before JAX starts.
"""
import os
import subprocess
import sys

os.environ.setdefault("JAX_PLATFORMS", "hlocc")

import jax  # noqa: E402  (reads JAX_PLATFORMS)
import numpy as np  # noqa: E402
import pytest  # noqa: E402

# Relative tolerance by result type: a few units in the last place of sums of some hundred terms.
TOLERANCE = {"float64": 1e-12, "float32": 2e-5, "bfloat16": 2e-2, "float16": 4e-3,
             "complex64": 2e-5, "complex128": 1e-12}


def is_ours(array):
    return all("hlocc" in device.client.platform_version for device in array.devices())


def assert_close(ours, theirs, tolerance=None):
    """Same tree, shapes and types; integers equal, floats within the tolerance of their type."""
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
        mine, other = np.asarray(mine), np.asarray(other)
        assert mine.dtype == other.dtype and mine.shape == other.shape
        bound = tolerance or TOLERANCE.get(mine.dtype.name)
        if bound is None:
            np.testing.assert_array_equal(mine, other)
        else:
            wide = np.complex128 if mine.dtype.kind == "c" else np.float64
            mine, other = mine.astype(wide), other.astype(wide)
            scale = np.max(np.abs(other[np.isfinite(other)]), initial=0.0)
            np.testing.assert_allclose(mine, other, rtol=bound, atol=bound * scale)


@pytest.fixture(scope="session")
def xla():
    """A device of XLA's own cpu client."""
    return jax.local_devices(backend="cpu")[0]


@pytest.fixture(scope="session")
def both(xla):
    """both(f, *args): jit(f) on hlocc and on XLA; fails if they differ; returns hlocc's result."""

    def run(f, *args, tolerance=None):
        ours = jax.jit(f)(*args)
        assert all(is_ours(leaf) for leaf in jax.tree.leaves(ours))
        with jax.default_device(xla):
            theirs = jax.jit(f)(*args)
        assert_close(ours, theirs, tolerance)
        return ours

    return run


@pytest.fixture(scope="session")
def random():
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def python():
    """python(source, **environment): runs a script in a new process; its (status, stdout, stderr)."""

    def run(source, *arguments, **environment):
        child = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_"))}
        child.update({"JAX_PLATFORMS": "hlocc"}, **environment)
        done = subprocess.run([sys.executable, *(["-c", source] if source else []), *arguments],
                              env=child, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=900)
        return done.returncode, done.stdout, done.stderr

    return run
