#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/bytecode/*.mlirbc: the programs there in every form of bytecode that matters.

usage: gen_bytecode_tests.py   (needs jax; run by hand when the programs change)

NAME.plain-vN.mlirbc is plain StableHLO in version N of the encoding, NAME.vhlo-X.Y.mlirbc a
portable artifact of StableHLO X.Y. All files of one NAME must read as equal modules.
"""
import io
import pathlib

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "bytecode"
PLAIN = (1, 2, 4, 5, 6)
PORTABLE = {
    "basic": ("0.9.0", "0.12.0", "0.14.0", "0.15.0", "1.0.0", "1.5.0", "1.10.0", "1.20.0"),
    "recent": ("1.20.0",),
    "resource": (),
    "meshes": ("1.20.0",),
    "shardy": (),  # Shardy does not find the shardings of VHLO functions
    "quantized": ("0.18.0", "1.20.0"),
}
TEXT_ONLY = ("quantized",)  # jaxlib's Python does not load the quant dialect


def main():
    for name, versions in PORTABLE.items():
        text = (FOLDER / f"{name}.mlir").read_text()
        with jax_mlir.make_ir_context():
            module = None if name in TEXT_ONLY else ir.Module.parse(text)
            for version in PLAIN if module else ():
                out = io.BytesIO()
                module.operation.write_bytecode(out, version)
                (FOLDER / f"{name}.plain-v{version}.mlirbc").write_bytes(out.getvalue())
            for version in versions:
                artifact = (stablehlo.serialize_portable_artifact(module, version, True) if module
                            else stablehlo.serialize_portable_artifact_str(text, version))
                short = version.rsplit(".", 1)[0]
                (FOLDER / f"{name}.vhlo-{short}.mlirbc").write_bytes(artifact)


if __name__ == "__main__":
    main()
