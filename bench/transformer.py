#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes training steps of a transformer over many devices, for `hlocc simulate`.

  transformer.py [--data=N] [--tensor=N] [--layers=N] [--width=N] [--length=N] [-o FILE]

The batch, of two sequences a device, is divided over axis "data", and heads and feed-forward layers over axis
"tensor". Nothing runs, so no such devices are needed. Without -o, writes the programs of
tests/programs/many-devices: 128 x 8 and 1024 x 8 devices.
"""
import argparse
import functools
import pathlib

import jax
import jax.numpy as jnp
from jax._src.interpreters import mlir
from jax._src.lib import _jax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P
from jaxlib.mlir.dialects import stablehlo

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "programs" / "many-devices"


def normalise(x, gain):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * gain


def block(x, p):
    length, size = x.shape[1], p["q"].shape[-1]
    y = normalise(x, p["g1"])
    q, k, v = (jnp.einsum("btd,dhf->bthf", y, p[n]) for n in "qkv")
    scores = jnp.einsum("bthf,bshf->bhts", q, k) / size ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
    weights = jax.nn.softmax(scores.astype(jnp.float32)).astype(x.dtype)
    x = x + jnp.einsum("bthf,hfd->btd", jnp.einsum("bhts,bshf->bthf", weights, v), p["o"])
    return x + jax.nn.gelu(normalise(x, p["g2"]) @ p["up"]) @ p["down"]


def loss(params, x, target):
    for p in params:
        x = block(x, p)
    return jnp.mean((x - target).astype(jnp.float32) ** 2)


def step(params, x, target):
    value, grads = jax.value_and_grad(loss)(params, x, target)
    return value, jax.tree.map(lambda p, g: p - jnp.bfloat16(0.01) * g, params, grads)


def lower(data, tensor, layers, width, length):
    mesh = AbstractMesh((data, tensor), ("data", "tensor"), axis_types=(AxisType.Auto,) * 2)
    size, inner = 128, 4 * width

    def array(shape, *spec):
        return jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=NamedSharding(mesh, P(*spec)))

    heads = functools.partial(array, (width, width // size, size), None, "tensor")
    params = [{"q": heads(), "k": heads(), "v": heads(),
               "o": array((width // size, size, width), "tensor"),
               "up": array((width, inner), None, "tensor"), "down": array((inner, width), "tensor"),
               "g1": array((width,)), "g2": array((width,))} for _ in range(layers)]
    batch = [array((2 * data, length, width), "data") for _ in range(2)]
    results = (NamedSharding(mesh, P()), jax.tree.map(lambda p: p.sharding, params))
    traced = jax.jit(step, out_shardings=results, donate_argnums=0).trace(params, *batch)
    return traced.lower(lowering_platforms=("cpu",))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=int, default=128)
    parser.add_argument("--tensor", type=int, default=8)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=8192)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("-o", dest="output", type=pathlib.Path)
    options = parser.parse_args()
    shapes = [(options.data, options.output)] if options.output else [
        (128, FOLDER / "transformer_1024.mlirbc"), (1024, FOLDER / "transformer_8192.mlirbc")]
    for data, path in shapes:
        lowered = lower(data, options.tensor, options.layers, options.width, options.length)
        path.parent.mkdir(exist_ok=True)
        # Shardy's ops have no stable form: they stay as they are, as in what JAX sends to plugins.
        path.write_bytes(_jax.mlir.serialize_portable_artifact(
            mlir.module_to_bytecode(lowered.compiler_ir()), stablehlo.get_current_version(), True))
        print(f"{path}: {data * options.tensor} devices")


if __name__ == "__main__":
    main()
