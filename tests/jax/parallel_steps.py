# SPDX-License-Identifier: Apache-2.0
"""Training steps of a small transformer on 8 devices: data, fully sharded, tensor, sequence, pipeline
and expert parallel, each with the same step on one device.

`steps(size)` gives {name: (step, arguments, whole step, whole arguments)}; a step returns the loss and
new parameters.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

SIZES = {  # layers, width, heads, feed-forward width, batch, length
    "small": (2, 32, 8, 64, 8, 16),
    "large": (4, 256, 8, 1024, 8, 128),
}
RATE = 0.1


def mesh_of(shape, names, devices):
    kinds = (AxisType.Auto,) * len(names)
    return Mesh(np.array(devices[:8]).reshape(shape), tuple(names), axis_types=kinds)


def parameters(size, seed=0):
    layers, width, heads, inner, _, _ = SIZES[size]
    shapes = {
        "q": (layers, width, heads, width // heads),
        "k": (layers, width, heads, width // heads),
        "v": (layers, width, heads, width // heads),
        "o": (layers, heads, width // heads, width),
        "up": (layers, width, inner),
        "down": (layers, inner, width),
    }
    random = np.random.default_rng(seed)
    return {name: (random.standard_normal(shape) / np.sqrt(width)).astype(np.float32)
            for name, shape in shapes.items()}


def batch_of(size, seed=1):
    _, width, _, _, batch, length = SIZES[size]
    random = np.random.default_rng(seed)
    return tuple(random.standard_normal((batch, length, width)).astype(np.float32) for _ in range(2))


def normalise(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def block(x, layer, constrain=lambda x: x):
    y = normalise(x)
    q, k, v = (jnp.einsum("btd,dhf->bthf", y, layer[n]) for n in "qkv")
    scores = jnp.einsum("bthf,bshf->bhts", q, k) / np.sqrt(q.shape[-1])
    length = scores.shape[-1]
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
    mixed = jnp.einsum("bhts,bshf->bthf", jax.nn.softmax(scores), v)
    x = constrain(x + jnp.einsum("bthf,hfd->btd", mixed, layer["o"]))
    return constrain(x + jax.nn.gelu(normalise(x) @ layer["up"]) @ layer["down"])


def forward(params, x, constrain=lambda x: x):
    return jax.lax.scan(lambda x, layer: (block(x, layer, constrain), None), x, params)[0]


def train(loss_of):
    def step(params, batch):
        loss, grads = jax.value_and_grad(loss_of)(params, batch)
        return loss, jax.tree.map(lambda p, g: p - RATE * g, params, grads)

    return step


def mean_loss(params, batch, constrain=lambda x: x):
    return jnp.mean((forward(params, batch[0], constrain) - batch[1]) ** 2)


def placed(mesh, specs, params):
    return {n: jax.device_put(p, NamedSharding(mesh, specs.get(n, P()))) for n, p in params.items()}


def sharded_step(mesh, specs, batch_spec, size, constrain=None):
    shardings = {n: NamedSharding(mesh, specs.get(n, P())) for n in parameters(size)}
    loss = functools.partial(mean_loss, constrain=constrain) if constrain else mean_loss
    step = jax.jit(train(loss), out_shardings=(NamedSharding(mesh, P()), shardings))
    batch = jax.device_put(batch_of(size), NamedSharding(mesh, batch_spec))
    return step, (placed(mesh, specs, parameters(size)), batch)


TENSOR = {"q": P(None, None, "t"), "k": P(None, None, "t"), "v": P(None, None, "t"),
          "o": P(None, "t"), "up": P(None, None, "t"), "down": P(None, "t")}
FULL = {"q": P(None, "d"), "k": P(None, "d"), "v": P(None, "d"), "o": P(None, None, None, "d"),
        "up": P(None, "d"), "down": P(None, "d")}


def data_parallel(size, devices):
    return sharded_step(mesh_of((8,), "d", devices), {}, P("d"), size)


def fully_sharded(size, devices):
    return sharded_step(mesh_of((8,), "d", devices), FULL, P("d"), size)


def tensor_parallel(size, devices):
    return sharded_step(mesh_of((8,), "t", devices), TENSOR, P(), size)


def data_and_tensor(size, devices):
    return sharded_step(mesh_of((2, 4), "dt", devices), TENSOR, P("d"), size)


def sequence_parallel(size, devices):
    mesh = mesh_of((8,), "s", devices)
    keep = NamedSharding(mesh, P(None, "s"))
    return sharded_step(mesh, {}, P(None, "s"), size,
                        lambda x: jax.lax.with_sharding_constraint(x, keep))


# ---- a pipeline: stage i has layer i, and microbatches move from stage to stage

def pipeline_loss(params, batch, mesh):
    stages = mesh.shape["p"]

    def run(params, x, target):
        layer = jax.tree.map(lambda p: p[0], params)
        stage = jax.lax.axis_index("p")
        count = x.shape[0]

        def turn(i, carry):
            state, outputs = carry
            state = jnp.where(stage == 0, x[jnp.minimum(i, count - 1)], state)
            state = block(state, layer)
            at = i - (stages - 1)
            done = jnp.where(at >= 0, state, outputs[jnp.maximum(at, 0)])
            outputs = outputs.at[jnp.maximum(at, 0)].set(done)
            state = jax.lax.ppermute(state, "p", [(k, (k + 1) % stages) for k in range(stages)])
            return state, outputs

        zeros = jax.lax.pcast(jnp.zeros_like(x[0]), ("p",), to="varying")
        outputs = jax.lax.pcast(jnp.zeros_like(x), ("p",), to="varying")
        _, outputs = jax.lax.fori_loop(0, count + stages - 1, turn, (zeros, outputs))
        loss = jnp.where(stage == stages - 1, jnp.mean((outputs - target) ** 2), 0.0)
        return jax.lax.psum(loss, "p")

    return jax.shard_map(run, mesh=mesh, in_specs=(P("p"), P(), P()), out_specs=P())(params, *batch)


def microbatches(size, count=4):
    return tuple(x.reshape(count, -1, *x.shape[1:]) for x in batch_of(size))


def pipeline_parallel(size, devices):
    layers = SIZES[size][0]
    mesh = Mesh(np.array(devices[:layers]), "p", axis_types=(AxisType.Auto,))
    specs = {n: P("p") for n in parameters(size)}
    step = jax.jit(train(functools.partial(pipeline_loss, mesh=mesh)))
    batch = jax.device_put(microbatches(size), NamedSharding(mesh, P()))
    return step, (placed(mesh, specs, parameters(size)), batch)


# ---- experts: each token goes to the expert that its router prefers

EXPERTS = 8


def expert_parameters(size):
    _, width, _, inner, _, _ = SIZES[size]
    random = np.random.default_rng(2)
    shapes = {"router": (width, EXPERTS), "up": (EXPERTS, width, inner), "down": (EXPERTS, inner, width)}
    return {n: (random.standard_normal(s) / np.sqrt(width)).astype(np.float32) for n, s in shapes.items()}


def expert_loss(params, batch):
    x, target = (b.reshape(-1, b.shape[-1]) for b in batch)
    tokens = x.shape[0]
    room = 2 * tokens // EXPERTS
    gates = jax.nn.softmax(normalise(x) @ params["router"])
    chosen = jax.nn.one_hot(jnp.argmax(gates, -1), EXPERTS)
    place = jnp.cumsum(chosen, 0) * chosen - 1
    sent = jax.nn.one_hot(place.max(-1).astype(jnp.int32), room)[:, None, :] * chosen[:, :, None]
    parts = jnp.einsum("tec,td->ecd", sent, x)
    parts = jnp.einsum("eci,eid->ecd", jax.nn.gelu(jnp.einsum("ecd,edi->eci", parts, params["up"])),
                       params["down"])
    weight = jnp.sum(gates * chosen, -1, keepdims=True)
    return jnp.mean((x + weight * jnp.einsum("tec,ecd->td", sent, parts) - target) ** 2)


def expert_parallel(size, devices):
    mesh = mesh_of((8,), "e", devices)
    specs = {"router": P(), "up": P("e"), "down": P("e")}
    shardings = {n: NamedSharding(mesh, s) for n, s in specs.items()}
    step = jax.jit(train(expert_loss), out_shardings=(NamedSharding(mesh, P()), shardings))
    batch = jax.device_put(batch_of(size), NamedSharding(mesh, P("e")))
    return step, (placed(mesh, specs, expert_parameters(size)), batch)


# ---- all

KINDS = {
    "data": data_parallel,
    "fully sharded": fully_sharded,
    "tensor": tensor_parallel,
    "data and tensor": data_and_tensor,
    "sequence": sequence_parallel,
    "pipeline": pipeline_parallel,
    "expert": expert_parallel,
}


def whole_step(kind, size, device):
    """The same step on one device."""
    if kind == "expert":
        step, params, batch = jax.jit(train(expert_loss)), expert_parameters(size), batch_of(size)
    else:
        step, params, batch = jax.jit(train(mean_loss)), parameters(size), batch_of(size)
    return step, jax.device_put((params, batch), device)
