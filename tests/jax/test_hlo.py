# SPDX-License-Identifier: Apache-2.0
"""HLO as hlocc writes it, read by XLA: the text of compiled programs, and stored programs that XLA runs
from our HLO with the bits that it computes from the original."""
import os
import pathlib
import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxlib import _hlo, _jax
from test_programs import lapack_for_xla, programs, run  # noqa: F401

TOOL = pathlib.Path(os.environ.get("TOOL_OF_TESTS", programs.FOLDER.parents[2] / "build" / "bin" / "hlocc"))


def translate(form, path):
    return subprocess.run([TOOL, "translate", f"--to={form}", path], stdout=subprocess.PIPE,
                          check=True).stdout


def test_compiled_text():
    """Names and places of the source are in the text of what was compiled."""
    x = np.ones((4, 4), np.float32)
    compiled = jax.jit(lambda x: (jnp.sin(x) @ x, jnp.linalg.cholesky(x))).lower(x).compile()
    text = compiled.as_text()
    assert "HloModule jit__lambda" in text
    assert 'custom_call_target="lapack_spotrf_ffi"' in text
    sine = next(line for line in text.splitlines() if " sine(" in line)
    assert "/sin" in sine and 'source_file="' in sine and "test_hlo.py" in sine
    assert _hlo.hlo_module_from_text(text).name == "jit__lambda"


def test_compiled_text_of_ops_without_hlo():
    """XLA decomposes what HLO has no op for."""
    text = jax.jit(jax.lax.lgamma).lower(np.ones(4, np.float32)).compile().as_text()
    assert "HloModule" in text


@pytest.mark.parametrize("path", sorted(programs.FOLDER.parent.glob("*/*.mlirbc")), ids=lambda p: p.stem)
def test_xla_reads(path):
    text = translate("hlo", path).decode()
    module = _hlo.hlo_module_from_text(text)
    again = _hlo.HloModule.from_serialized_hlo_module_proto(translate("hlo-proto", path))
    assert len(again.computations()) == len(module.computations())


def test_parameter_replication(tmp_path):
    """XLA's text and proto say which arguments all replicas are given equal values of."""
    text = ("HloModule m, replica_count=2\nENTRY e {\n  a = f32[] parameter(0), parameter_replication={true}\n"
            "  b = f32[] parameter(1), parameter_replication={false}\n  ROOT s = f32[] add(a, b)\n}\n")
    path = tmp_path / "m.pb"
    path.write_bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())
    text = translate("hlo", path).decode()
    assert "parameter(0), parameter_replication={true}" in text
    assert "parameter(1), parameter_replication={false}" in text
    assert _hlo.hlo_module_from_text(text).to_string().count("parameter_replication") == 2


@pytest.mark.parametrize("name", ["cholesky_256", "maxpool2x2", "while_1e4_vec100", "conv3x3_fwd",
                                  "sort_rows_1000x1000", "mlp_train_digits", "lstm_scan_128",
                                  "scatter_add_1e6_scalars", "gather_rows_1e5x64"])
def test_xla_runs(name, xla):
    path = programs.FOLDER / f"{name}.mlirbc"
    program = path.read_bytes()
    arguments = programs.arguments(program, name)
    module = _hlo.hlo_module_from_text(translate("hlo", path).decode())
    computation = _hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    from_hlo = _jax.mlir.xla_computation_to_mlir_module(computation)
    for ours, theirs in zip(run(from_hlo, xla, arguments), run(program, xla, arguments)):
        np.testing.assert_array_equal(ours, theirs)
