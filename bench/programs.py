# SPDX-License-Identifier: Apache-2.0
"""The stored programs of tests/programs: their argument types, and inputs that make sense for them.

For the benchmarks here and for tests/jax.
"""
import pathlib
import re

import ml_dtypes
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "programs" / "one-device"
INPUT_ROWS = re.findall(r'^INPUT\("(\w+)", (\w+), (\d+)\)', (
    pathlib.Path(__file__).with_name("inputs.def").read_text()), re.MULTILINE)
TYPES = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "i8": np.int8,
         "i32": np.int32, "ui32": np.uint32, "i64": np.int64, "i1": np.bool_,
         "complex<f32>": np.complex64}


def paths(pattern=""):
    """The programs whose names match a regular expression, in order of name."""
    return [p for p in sorted(FOLDER.glob("*.mlirbc")) if re.search(pattern, p.stem)]


def argument_types(program):
    """[(shape, type name)] of the entry function."""
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, program)
        main = next(op for op in module.body.operations if str(getattr(op, "name", "")) == '"main"')
        texts = [str(t) for t in ir.FunctionType(main.type).inputs]
    split = [re.fullmatch(r"tensor<((?:\d+x)*)([\w<>]+)>", text).groups() for text in texts]
    return [(tuple(int(d) for d in dims.split("x") if d), name) for dims, name in split]


def traits(program_name):
    """{kind: limit} of the program's rows in inputs.def."""
    return {kind: int(limit) for start, kind, limit in INPUT_ROWS if program_name.startswith(start)}


def argument(random, shape, type_name, program_name):
    """One input, as numpy array."""
    dtype, kinds = TYPES[type_name], traits(program_name)
    if np.issubdtype(dtype, np.integer):
        if "IN_ORDER" in kinds:
            return np.arange(*shape, dtype=dtype)
        if "BYTES" in kinds:
            return random.integers(-128, 128, shape).astype(dtype)
        return random.integers(0, kinds.get("BELOW", 10), shape).astype(dtype)
    value = np.asarray(random.normal(size=shape), np.float32)
    if "POSITIVE" in kinds:
        value = np.abs(value)
    if "DEFINITE" in kinds:
        value = value @ value.T / shape[0] + np.eye(shape[0], dtype=np.float32)
    elif len(shape) > 1:
        value = value / np.sqrt(shape[-2])
    return value.astype(dtype)


def arguments(program, name, seed=None):
    random = np.random.default_rng(len(name) if seed is None else seed)
    return [argument(random, *t, name) for t in argument_types(program)]
