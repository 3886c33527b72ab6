# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in small settings; one whose library is not installed says what to install.

`make check-examples` runs this file where all of the libraries are installed.
"""
import importlib.util
import pathlib
import struct

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def test_language_model(python):
    status, out, err = python(None, str(EXAMPLES / "language_model.py"), "--steps=20", "--length=30")
    assert status == 0, err
    losses = [float(line.split("loss ")[1].split()[0]) for line in out.splitlines() if "loss" in line]
    assert losses[-1] < losses[0] - 0.5
    assert "hlocc" in out and "peak memory" in out


def test_fluid_beside_jax_cpu(python, tmp_path):
    png = tmp_path / "fluid.png"
    status, out, err = python(None, str(EXAMPLES / "fluid.py"), "--size=32", "--steps=5", f"--png={png}", "--compare")
    assert status == 0, err
    names = [line.split("  ")[0] for line in out.splitlines()[-2:]]
    assert names == ["hlocc", "JAX's cpu"]
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", data[16:24]) == (3 * 32, 2 * 32)


@pytest.mark.parametrize("library, example, arguments, last", [
    ("blackjax", "bayes_nuts.py", ("--draws=40", "--warmup=60", "--chains=2"), "R-hat"),
    ("diffrax", "ode_fit.py", ("--steps=20",), "true rates"),
])
def test_examples_with_libraries(python, library, example, arguments, last):
    status, out, err = python(None, str(EXAMPLES / example), *arguments)
    if importlib.util.find_spec(library):
        assert status == 0, err
        assert last in out and "peak memory" in out
    else:
        assert status == 1 and err.strip() == f"this example needs {library}: " \
            f"build/venv/bin/python -m pip install {library}"
