#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what programs over 8 devices send as hlocc and as XLA partition them. Nothing runs.

  partitioning.py [--only=REGEX] [--keep=FOLDER] [--markdown]

JAX lowers each program; `hlocc compile --emit=spmd` counts the bytes that a device sends in a run, and those of
XLA's collectives are counted the same way (rings for sums and gathers, each byte once for the others) in what its
cpu client compiles. `ratio` is ours over XLA's: programs that send more than XLA's are at the top.
`--keep` stores the programs and XLA's text.
"""
import argparse
import os
import re
import subprocess
import tempfile
from pathlib import Path

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402  (reads XLA_FLAGS when it starts)
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
MESHES = {"x": ((8,), ("x",)), "ab": ((2, 4), ("a", "b"))}
DTYPES = {"i": jnp.int32, "f": jnp.float32, "c": jnp.complex64, "k": jnp.uint32, "h": jnp.bfloat16, "p": jnp.bool_}
BYTES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4,
         "s64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16}


# ---- programs

def grad(function, *which):
    """The gradient of the mean of the squares, which needs every element of the result."""
    return jax.grad(lambda *args: jnp.square(function(*args)).mean(), which or (0,))


def einsum(config):
    return lambda *operands: jnp.einsum(config, *operands)


def attention(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("bshd,bthd->bhst", q, k), axis=-1)
    return jnp.einsum("bhst,bthd->bshd", weights, v)


def grouped_attention(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("bsgqd,btgd->bgqst", q, k), axis=-1)
    return jnp.einsum("bgqst,btgd->bsgqd", weights, v)


def mlp(x, up, down):
    return jax.nn.gelu(x @ up) @ down


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


def cross_entropy_one_hot(logits, labels):
    return -(jax.nn.log_softmax(logits) * jax.nn.one_hot(labels, logits.shape[-1])).sum(-1).mean()


def batch_norm(x, scale, offset):
    mean = x.mean((0, 1, 2))
    return (x - mean) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5) * scale + offset


def convolve(x, w, strides=(1, 1), groups=1):
    return lax.conv_general_dilated(x, w, strides, "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def max_pool(x, size=(2, 2), strides=(2, 2), padding="VALID"):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, *size, 1), (1, *strides, 1), padding)


def average_pool(x):
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def moe(x, gates, up, down):
    """Tokens to experts by one-hot dispatch, as of GShard."""
    chosen = jax.nn.one_hot(jnp.argmax(jnp.einsum("gsd,de->gse", x, gates), -1), gates.shape[1])
    position = jnp.cumsum(chosen, 1) * chosen
    dispatch = jax.nn.one_hot(position.astype(jnp.int32) - 1, 32) * chosen[..., None]
    tokens = jnp.einsum("gsec,gsd->egcd", dispatch, x)
    tokens = jnp.einsum("egcf,efd->egcd", jax.nn.relu(jnp.einsum("egcd,edf->egcf", tokens, up)), down)
    return jnp.einsum("gsec,egcd->gsd", dispatch, tokens)


def scan_layers(x, weights):
    return lax.scan(lambda c, w: (jnp.tanh(c @ w), None), x, weights)[0]


def scan_rows(x, rows):
    return lax.scan(lambda c, r: (c * 0.5 + r, c.sum()), x, rows)


def power_iteration(a, v):
    def step(carry):
        i, v = carry
        w = a @ v
        return i + 1, w / jnp.linalg.norm(w)

    return lax.while_loop(lambda carry: carry[0] < 16, step, (0, v))[1]


def heat(u):
    def step(_, u):
        around = jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)
        return u + 0.1 * (around - 4 * u)

    return lax.fori_loop(0, 16, step, u)


def decode(cache, new, index):
    return lax.dynamic_update_slice(cache, new, (0, index, 0, 0))


def decode_attention(cache, q, new, index):
    cache = lax.dynamic_update_slice(cache, new, (0, index, 0, 0))
    weights = jax.nn.softmax(jnp.einsum("bhd,bthd->bht", q, cache))
    return cache, jnp.einsum("bht,bthd->bhd", weights, cache)


def stencil(x):
    return x[2:] - 2 * x[1:-1] + x[:-2]


def layer_norm(x, scale):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) * scale


def embed(table, tokens):
    return table[tokens]


# Name, mesh, function, arguments and results: a size and the axes that divide it for each dimension, then the type.
PROGRAMS = [
    ("product, rows", "x", einsum("ij,jk->ik"), "1024x,1024 1024,1024", "1024x,1024"),
    ("product, contracted", "x", einsum("ij,jk->ik"), "1024,1024x 1024x,1024", "1024,1024"),
    ("product, contracted, rows of the result", "x", einsum("ij,jk->ik"), "1024,1024x 1024x,1024", "1024x,1024"),
    ("product, one side contracted", "x", einsum("ij,jk->ik"), "1024,1024x 1024,1024", "1024,1024x"),
    ("product, grid", "ab", einsum("ij,jk->ik"), "1024a,1024b 1024a,1024b", "1024a,1024b"),
    ("product, grid, transposed", "ab", einsum("ij,kj->ik"), "1024a,1024b 1024a,1024b", "1024a,1024b"),
    ("product, weights gathered", "ab", einsum("ij,jk->ik"), "2048ab,512 512a,2048b", "2048ab,2048"),
    ("product, small activations", "ab", einsum("ij,jk->ik"), "16a,1024 1024a,4096b", "16a,4096b"),
    ("product, two contracted", "ab", einsum("bshd,hde->bse"), "8a,128,16b,64 16b,64,1024", "8a,128,1024"),
    ("product, two contracted, both divided", "ab", einsum("sij,ijk->sk"), "256,64a,128b 64a,128b,256", "256,256"),
    ("product, columns and rows", "x", einsum("ij,jk->ik"), "1024,1024x 1024,1024x", "1024,1024x"),
    ("product, wide result", "x", einsum("ij,jk->ik"), "4096x,128 128,4096x", "4096x,4096"),
    ("product, batches and rows", "ab", einsum("bij,bjk->bik"), "8a,256b,256 8a,256,256b", "8a,256b,256"),
    ("product, batches contracted", "x", einsum("bij,bik->jk"), "64x,256,256 64x,256,256", "256,256x"),
    ("product, vector", "ab", einsum("ij,j->i"), "2048a,2048b 2048b", "2048a"),
    ("product, outer", "ab", einsum("i,j->ij"), "2048a 2048a", "2048a,2048b"),
    ("chain of products", "ab", lambda a, b, c: a @ b @ c, "512a,512b 512a,512b 512a,512b", "512a,512b"),
    ("gradient of a product", "ab", grad(lambda x, w: x @ w, 0, 1), "512a,1024b 1024b,512", "512a,1024b 1024b,512"),
    ("mlp, columns then rows", "ab", mlp, "512a,256 256,1024b 1024b,256", "512a,256"),
    ("mlp, gradient", "ab", grad(mlp, 0, 1, 2), "512a,256 256,1024b 1024b,256", "512a,256 256,1024b 1024b,256"),
    ("mlp, gathered weights, gradient", "ab", grad(mlp, 1, 2), "512a,256 256a,1024b 1024b,256a",
     "256a,1024b 1024b,256a"),
    ("attention, heads", "ab", attention, "4a,256,8b,64 4a,256,8b,64 4a,256,8b,64", "4a,256,8b,64"),
    ("attention, heads, gradient", "ab", grad(attention, 0, 1, 2), "4a,256,8b,64 4a,256,8b,64 4a,256,8b,64",
     "4a,256,8b,64 4a,256,8b,64 4a,256,8b,64"),
    ("attention, sequence", "ab", attention, "4a,256b,8,64 4a,256b,8,64 4a,256b,8,64", "4a,256b,8,64"),
    ("attention, keys", "ab", attention, "4a,256,8,64 4a,256b,8,64 4a,256b,8,64", "4a,256,8,64"),
    ("attention, grouped queries", "ab", grouped_attention, "4a,256,4b,4,64 4a,256,4b,64 4a,256,4b,64",
     "4a,256,4b,4,64"),
    ("attention, head dimension", "ab", attention, "4a,256,8,64b 4a,256,8,64b 4a,256,8,64b", "4a,256,8,64b"),
    ("experts, dispatch", "x", einsum("gsec,gsd->egcd"), "8x,128,8,32 8x,128,256", "8x,8,32,256"),
    ("experts, combine", "x", einsum("gsec,egcd->gsd"), "8x,128,8,32 8x,8,32,256", "8x,128,256"),
    ("experts, layer", "x", moe, "8x,128,256 256,8 8x,256,512 8x,512,256", "8x,128,256"),
    ("experts, layer, gradient", "x", grad(moe, 0, 2, 3), "8x,128,256 256,8 8x,256,512 8x,512,256",
     "8x,128,256 8x,256,512 8x,512,256"),
    ("embedding, vocabulary", "ab", embed, "32000b,256 32a,128:i", "32a,128,256"),
    ("embedding, features", "ab", embed, "32000,256b 32a,128:i", "32a,128,256b"),
    ("embedding, vocabulary, gradient", "ab", grad(embed), "32000b,256 32a,128:i", "32000b,256"),
    ("embedding, both, gradient", "ab", grad(embed), "32000b,256a 32a,128:i", "32000b,256a"),
    ("embedding, one-hot", "ab", lambda t, i: jax.nn.one_hot(i, 32000) @ t, "32000b,256 32a,128:i", "32a,128,256"),
    ("cross-entropy, vocabulary", "ab", cross_entropy, "1024a,32000b 1024a:i", ""),
    ("cross-entropy, vocabulary, gradient", "ab", jax.grad(cross_entropy), "1024a,32000b 1024a:i", "1024a,32000b"),
    ("cross-entropy, one-hot, gradient", "ab", jax.grad(cross_entropy_one_hot), "1024a,32000b 1024a:i",
     "1024a,32000b"),
    ("argmax, vocabulary", "ab", lambda x: x.argmax(-1), "1024a,32000b", "1024a"),
    ("top_k, vocabulary", "ab", lambda x: lax.top_k(x, 8), "64a,32000b", "64a,8 64a,8"),
    ("softmax, divided", "ab", jax.nn.softmax, "1024a,4096b", "1024a,4096b"),
    ("layer norm, divided", "ab", layer_norm, "1024a,4096b 4096b", "1024a,4096b"),
    ("layer norm, gradient", "ab", grad(layer_norm, 0, 1), "1024a,4096b 4096b", "1024a,4096b 4096b"),
    ("take_along_axis, divided", "ab", lambda x, i: jnp.take_along_axis(x, i, 1), "1024a,4096b 1024a,16:i",
     "1024a,16"),
    ("gather of rows, divided indices", "x", embed, "4096x,256 512x:i", "512x,256"),
    ("scatter-add to rows", "x", lambda x, i, u: x.at[i].add(u), "4096x,256 512x:i 512x,256", "4096x,256"),
    ("scatter of rows, whole updates", "x", lambda x, i, u: x.at[i].set(u), "4096x,256 512:i 512,256", "4096x,256"),
    ("segment_sum", "x", lambda d, i: jax.ops.segment_sum(d, i, 256), "65536x,32 65536x:i", "256,32"),
    ("cache, update of a step", "ab", decode, "8a,2048b,8,64 8a,1,8,64 :i", "8a,2048b,8,64"),
    ("cache, attention of a step", "ab", decode_attention, "8a,2048b,8,64 8a,8,64 8a,1,8,64 :i",
     "8a,2048b,8,64 8a,8,64"),
    ("dynamic slice, divided", "ab", lambda x, i: lax.dynamic_slice_in_dim(x, i, 16, 0), "4096b,256 :i", "16,256"),
    ("dynamic slice, most rows", "ab", lambda x, i: lax.dynamic_slice_in_dim(x, i, 2048, 0), "4096b,256 :i",
     "2048b,256"),
    ("concatenate, divided", "x", lambda x, y: jnp.concatenate([x, y]), "4096x,256 4096x,256", "8192x,256"),
    ("concatenate of eight", "x", lambda *x: jnp.concatenate(x), " ".join(["512x,256"] * 8), "4096x,256"),
    ("stack and reshape", "x", lambda x, y: jnp.stack([x, y], 1).reshape(-1, 256), "4096x,256 4096x,256",
     "8192x,256"),
    ("split in halves", "x", lambda x: jnp.split(x, 2), "4096x,256", "2048x,256 2048x,256"),
    ("rotary halves", "ab", lambda x: jnp.concatenate([-x[..., 32:], x[..., :32]], -1), "8a,128,8,64b",
     "8a,128,8,64b"),
    ("pad, divided", "x", lambda x: jnp.pad(x, ((8, 8), (0, 0))), "4080x,256", "4096x,256"),
    ("roll", "x", lambda x: jnp.roll(x, 3, 0), "4096x,256", "4096x,256"),
    ("reverse", "x", lambda x: x[::-1], "4096x,256", "4096x,256"),
    ("stencil", "x", stencil, "4096x,256", "4094,256"),
    ("every other row", "x", lambda x: x[::2], "4096x,256", "2048x,256"),
    ("cumsum", "x", lambda x: jnp.cumsum(x, 0), "4096x,256", "4096x,256"),
    ("cumlogsumexp", "x", lambda x: lax.cumlogsumexp(x, 0), "4096x,256", "4096x,256"),
    ("cummax, reversed", "x", lambda x: lax.cummax(x, 0, reverse=True), "4096x,256", "4096x,256"),
    ("sort, divided lines", "x", lambda x: jnp.sort(x, 0), "4096x,256", "4096x,256"),
    ("sort, one line", "x", jnp.sort, "1048576x", "1048576x"),
    ("argsort, one line", "x", jnp.argsort, "1048576x", "1048576x"),
    ("fft, divided lines", "x", jnp.fft.fft, "256,4096x:c", "256,4096x"),
    ("fft, two dimensions", "x", jnp.fft.fft2, "1024x,1024:c", "1024x,1024"),
    ("fft, one line", "x", jnp.fft.fft, "1048576x:c", "1048576x"),
    ("transpose", "x", lambda x: x.T, "4096x,1024", "1024x,4096"),
    ("reshape, minor", "x", lambda x: x.reshape(256, -1), "256,16,256x", "256,4096x"),
    ("reshape, heads", "ab", lambda x: x.reshape(8, 128, 8, 64), "8a,128,512b", "8a,128,8b,64"),
    ("convolution, batch", "x", convolve, "64x,32,32,32 3,3,32,32", "64x,32,32,32"),
    ("convolution, height", "x", convolve, "8,128x,64,32 3,3,32,32", "8,128x,64,32"),
    ("convolution, height, stride 2", "x", lambda x, w: convolve(x, w, (2, 2)), "8,128x,64,32 3,3,32,32",
     "8,64x,32,32"),
    ("convolution, height, gradient", "x", grad(convolve, 0, 1), "8,128x,64,32 3,3,32,32", "8,128x,64,32 3,3,32,32"),
    ("convolution, batch, gradient", "x", grad(convolve, 0, 1), "64x,32,32,32 3,3,32,32", "64x,32,32,32 3,3,32,32"),
    ("convolution, features", "ab", convolve, "16a,32,32,64b 3,3,64b,64", "16a,32,32,64"),
    ("convolution, depthwise", "x", lambda x, w: convolve(x, w, groups=64), "8,128x,64,64 3,3,1,64", "8,128x,64,64"),
    ("convolution, depthwise, features, gradient", "ab", grad(lambda x, w: convolve(x, w, groups=64), 0, 1),
     "16a,32,32,64b 3,3,1,64b", "16a,32,32,64b 3,3,1,64b"),
    ("max pool, height", "x", max_pool, "8,128x,64,32", "8,64x,32,32"),
    ("max pool, height, gradient", "x", grad(max_pool), "8,128x,64,32", "8,128x,64,32"),
    ("max pool, padded, gradient", "x", grad(lambda x: max_pool(x, (3, 3), (2, 2), "SAME")), "8,128x,64,32",
     "8,128x,64,32"),
    ("average pool, padded, gradient", "x", grad(average_pool), "8,128x,64,32", "8,128x,64,32"),
    ("batch norm, batch", "x", batch_norm, "64x,16,16,64 64 64", "64x,16,16,64"),
    ("batch norm, gradient", "x", grad(batch_norm, 0, 1, 2), "64x,16,16,64 64 64", "64x,16,16,64 64 64"),
    ("scan over layers, columns", "ab", scan_layers, "256a,512 8,512,512b", "256a,512"),
    ("scan over divided layers", "ab", scan_layers, "256a,512 8b,512,512", "256a,512"),
    ("scan over divided rows", "ab", scan_rows, "512b 1024a,512b", "512b 1024"),
    ("scan over layers, gradient", "ab", grad(scan_layers, 1), "256a,512 8,512,512b", "8,512,512b"),
    ("loop, power iteration", "ab", power_iteration, "2048a,2048b 2048", "2048"),
    ("loop, heat", "ab", heat, "1024a,1024b", "1024a,1024b"),
    ("cholesky, columns", "x", jnp.linalg.cholesky, "1024,1024x", "1024,1024x"),
    ("cholesky, batches of divided rows", "x", jnp.linalg.cholesky, "64,128x,128", "64,128x,128"),
    ("triangular solve, systems", "x", lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True),
     "512,512 512,512x", "512,512x"),
    ("random bits", "x", lambda key: jax.random.bits(jax.random.wrap_key_data(key), (4096, 256)), "2:k", "4096x,256"),
    ("dropout", "x", lambda x, key: x * jax.random.bernoulli(jax.random.wrap_key_data(key), 0.5, x.shape),
     "4096x,256 2:k", "4096x,256"),
    ("histogram", "x", lambda x: jnp.bincount(x, length=256), "65536x:i", "256"),
    ("mean and variance", "ab", lambda x: (x.mean(), x.var()), "2048a,2048b", " "),
    ("norm of gradients", "ab", lambda x, y: jnp.sqrt((x * x).sum() + (y * y).sum()), "512a,512b 512b,512", ""),
]


def parse_values(text, mesh, is_result):
    """The shapes and shardings of values that a text of PROGRAMS names."""
    values = []
    for item in text.split(" ") if text else [""]:
        dims, _, dtype = item.partition(":")
        pairs = [re.match(r"(\d+)([a-z]*)$", d).groups() for d in dims.split(",")] if dims else []
        sharding = NamedSharding(mesh, PartitionSpec(*(tuple(axes) or None for _, axes in pairs)))
        shape = tuple(int(size) for size, _ in pairs)
        values.append(sharding if is_result
                      else jax.ShapeDtypeStruct(shape, DTYPES[dtype or "f"], sharding=sharding))
    return values


def lower(program):
    _, mesh_name, function, arguments, results = program
    shape, names = MESHES[mesh_name]
    mesh = Mesh(np.array(jax.devices()).reshape(shape), names, axis_types=(AxisType.Auto,) * len(shape))
    values = parse_values(arguments, mesh, False)
    shardings = parse_values(results, mesh, True)
    tree = jax.tree.structure(jax.eval_shape(function, *values))
    return jax.jit(function, out_shardings=jax.tree.unflatten(tree, shardings)).lower(*values)


# ---- what XLA sends

def type_bytes(text):
    total = 0
    for dtype, dims in re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]", text):
        count = 1
        for size in filter(None, dims.split(",")):
            count *= int(size)
        total += count * BYTES.get(dtype, 0)
    return total


def group_size(line):
    """Members of a replica group, in any of its forms."""
    if found := re.search(r"replica_groups=\{\{([\d,]*)\}", line):
        return found[1].count(",") + 1
    if found := re.search(r"replica_groups=\[\d+,(\d+)\]<=", line):
        return int(found[1])
    sizes = {name: int(size) for name, size in re.findall(r"'(\w+)'=(\d+)", line)}
    found = re.search(r"replica_groups=mesh\[[^]]*\](?:, device_ids=\S+)?(?: \{([^}]*)\})?", line)
    count = 1
    for name, part in re.findall(r"'(\w+)'(?::\(\d+\)(\d+))?", found[1] or ""):
        count *= int(part) if part else sizes[name]
    return count


def sent_bytes(line):
    """Bytes that a device sends for the collective of a line of HLO; 0 for other lines."""
    found = re.search(r"= (.*?) (all-gather|all-reduce|reduce-scatter|all-to-all|collective-permute|"
                      r"collective-broadcast|ragged-all-to-all)(-start)?\(", line)
    if not found:
        return 0
    size, op = type_bytes(found[1]), found[2]
    if op == "collective-permute":
        pairs = re.findall(r"\{(\d+),(\d+)\}", line[line.find("source_target_pairs"):].split("}}")[0] + "}")
        return size if any(a != b for a, b in pairs) else 0
    count = group_size(line)
    if op == "reduce-scatter":
        return size * (count - 1)
    return size * (count - 1) / count * (2 if op == "all-reduce" else 1)


def count_xla(text):
    """Bytes that a device sends in a run of a module. Of branches, those that send the most."""
    computations, entry, name = {}, None, None
    for line in text.splitlines():
        if found := re.match(r"(ENTRY )?%?([\w.\-]+) \(.*\{$", line):
            name = found[2]
            computations[name] = []
            entry = name if found[1] else entry
        elif name and line.startswith("  "):
            computations[name].append(line)

    def total(name):
        sent = 0
        for line in computations[name]:
            sent += sent_bytes(line)
            if found := re.search(r" while\(.*body=%([\w.\-]+)", line):
                trips = re.search(r'known_trip_count":\{"n":"(\d+)"', line)
                sent += total(found[1]) * (int(trips[1]) if trips else 1)
            elif found := re.search(r"branch_computations=\{([^}]*)\}", line):
                sent += max(total(b) for b in re.findall(r"%([\w.\-]+)", found[1]))
            elif found := re.search(r" (?:call|async-start)\(.*(?:to_apply|calls)=%([\w.\-]+)", line):
                sent += total(found[1])
        return sent

    return total(entry)


# ---- what hlocc sends

def count_ours(path):
    text = subprocess.run([ROOT / "build/bin/hlocc", "compile", "--emit=spmd", path], check=True, capture_output=True,
                          text=True).stdout
    table = text.partition("// by collective")[2].partition("// by axes")[0]
    return text, sum(int(line.split()[2]) for line in table.splitlines()[1:] if line.startswith("// "))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="programs whose names match")
    parser.add_argument("--keep", default=None, metavar="FOLDER", help="where programs are stored")
    parser.add_argument("--markdown", action="store_true", help="print a table for a page")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(exist_ok=True)
        for program in PROGRAMS:
            name = program[0]
            if not re.search(options.only, name):
                continue
            lowered = lower(program)
            path = folder / (re.sub(r"\W+", "_", name) + ".mlir")
            path.write_text(lowered.as_text(), encoding="utf-8")
            xla_text = lowered.compile().as_text()
            text, ours = count_ours(path)
            if options.keep:
                path.with_suffix(".xla").write_text(xla_text, encoding="utf-8")
                path.with_suffix(".ours").write_text(text, encoding="utf-8")
            rows.append((name, ours, count_xla(xla_text)))
            print(f"{name:45} {ours:12} {rows[-1][2]:14.0f}", flush=True)
    rows.sort(key=lambda row: (row[1] - row[2] <= 0.1 * row[2], row[0]))
    for name, ours, xla in rows:
        ratio = f"{ours / xla:.2f}" if xla else "-" if not ours else "inf"
        print(f"| {name} | {ours} | {xla:.0f} | {ratio} |" if options.markdown
              else f"{name:45} {ours:12} {xla:14.0f} {ratio:>6}")


if __name__ == "__main__":
    main()
