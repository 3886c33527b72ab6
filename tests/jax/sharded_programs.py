# SPDX-License-Identifier: Apache-2.0
"""Programs over meshes as applications write them: axes whose shardings are types, caches of keys and values,
attention around a ring, divided optimizers, helpers for many hosts. Each returns results that do not depend on the
number of devices (8, or 1 with meshes of one device)."""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P


def mesh_of(shape, names, count, kinds=AxisType.Auto):
    shape = shape if count > 1 else (1,) * len(shape)
    kinds = kinds if isinstance(kinds, tuple) else (kinds,) * len(names)
    return jax.make_mesh(shape, names, axis_types=kinds, devices=jax.devices()[:int(np.prod(shape))])


def draws(seed=1):
    random = np.random.default_rng(seed)
    return random, lambda *shape: 0.3 * random.standard_normal(shape).astype(np.float32)


def explicit_transformer(count):
    """Two training steps of a layer of attention; the type of every value says how it is divided."""
    mesh = mesh_of((2, 4), ("data", "model"), count, AxisType.Explicit)
    random, f = draws()
    words, width, heads, keys, length, batch = 32, 16, 4, 8, 8, 8
    with jax.set_mesh(mesh):
        specs = {"e": P(None, None), "q": P(None, "model", None), "k": P(None, "model", None),
                 "v": P(None, "model", None), "o": P("model", None, None), "up": P(None, "model"), "dn": P("model", None)}
        shapes = {"e": (words, width), "q": (width, heads, keys), "k": (width, heads, keys), "v": (width, heads, keys),
                  "o": (heads, keys, width), "up": (width, 4 * width), "dn": (4 * width, width)}
        w = {n: jax.device_put(f(*shapes[n]), specs[n]) for n in shapes}
        tokens = jax.device_put(random.integers(0, words, (batch, length + 1)), P("data", None))

        def norm(x):
            return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)

        def loss(w, tokens):
            x = w["e"].at[tokens[:, :-1]].get(out_sharding=P("data", None, None))
            q, k, v = (jnp.einsum("btd,dhk->bthk", norm(x), w[n]) for n in "qkv")
            scores = jnp.einsum("bqhk,bshk->bhqs", q, k) / np.sqrt(keys)
            scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
            mixed = jnp.einsum("bhqs,bshk->bqhk", jax.nn.softmax(scores), v)
            x = x + jnp.einsum("bqhk,hkd->bqd", mixed, w["o"], out_sharding=P("data", None, None))
            hidden = jax.nn.gelu(jnp.einsum("btd,df->btf", norm(x), w["up"]))
            x = x + jnp.einsum("btf,fd->btd", hidden, w["dn"], out_sharding=P("data", None, None))
            logs = jax.nn.log_softmax(jnp.einsum("btd,vd->btv", norm(x), w["e"]))
            return -jnp.mean(jnp.sum(logs * jax.nn.one_hot(tokens[:, 1:], words), -1))

        @functools.partial(jax.jit, donate_argnums=0)
        def step(w, tokens):
            value, gradients = jax.value_and_grad(loss)(w, tokens)
            return jax.tree.map(lambda a, g: a - 0.1 * g, w, gradients), value

        losses = []
        for _ in range(2):
            w, value = step(w, tokens)
            losses.append(value)
        assert all(jax.typeof(w[n]).sharding.spec == specs[n] for n in specs)
        return losses, w


def mixed_axes(count):
    """One axis is part of types, the compiler divides along the other."""
    mesh = mesh_of((2, 4), ("x", "y"), count, (AxisType.Explicit, AxisType.Auto))
    _, f = draws()
    with jax.set_mesh(mesh):
        a, b = jax.device_put(f(8, 16), P("x", None)), jax.device_put(f(16, 8), P(None, None))

        @jax.jit
        def g(a, b):
            whole = jax.sharding.reshard(jnp.dot(a, b), P(None, None))
            inner = jax.sharding.auto_axes(lambda v: lax.with_sharding_constraint(v.T @ v, P("x", "y")),
                                           out_sharding=P("x", None))
            return inner(jnp.sin(whole) + 1), jnp.argsort(whole, axis=-1)

        return g(a, b), jax.jit(jax.grad(lambda a, b: g(a, b)[0].sum()))(a, b)


def decoding(count):
    """Words one after the other, with a divided cache of keys and values in a loop."""
    mesh = mesh_of((2, 4), ("data", "model"), count)
    _, f = draws()
    words, width, heads, keys, length, batch = 32, 16, 4, 8, 6, 4

    def on(*spec):
        return NamedSharding(mesh, P(*spec))

    w = {"e": jax.device_put(f(words, width), on("model")), "o": jax.device_put(f(heads, keys, width), on("model"))}
    w |= {n: jax.device_put(f(width, heads, keys), on(None, "model")) for n in "qkv"}

    @jax.jit
    def generate(w, first, key):
        def cache():
            return lax.with_sharding_constraint(jnp.zeros((batch, length, heads, keys)), on("data", None, "model", None))

        def body(carry):
            i, word, k, v, text, key = carry
            x = w["e"][word]
            k = lax.dynamic_update_slice(k, jnp.einsum("bd,dhk->bhk", x, w["k"])[:, None], (0, i, 0, 0))
            v = lax.dynamic_update_slice(v, jnp.einsum("bd,dhk->bhk", x, w["v"])[:, None], (0, i, 0, 0))
            scores = jnp.einsum("bhk,bthk->bht", jnp.einsum("bd,dhk->bhk", x, w["q"]), k)
            scores = jax.nn.softmax(jnp.where(jnp.arange(length) <= i, scores, -1e9))
            x = x + jnp.einsum("bhk,hkd->bd", jnp.einsum("bht,bthk->bhk", scores, v), w["o"])
            best, places = lax.top_k(x @ w["e"].T, 8)
            key, own = jax.random.split(key)
            word = jnp.take_along_axis(places, jax.random.categorical(own, best)[:, None], 1)[:, 0]
            return i + 1, word, k, v, text.at[:, i].set(word), key

        start = (0, first, cache(), cache(), jnp.zeros((batch, length), jnp.int32), key)
        return lax.while_loop(lambda c: c[0] < length, body, start)[4]

    return generate(w, jax.device_put(np.arange(batch, dtype=np.int32), on("data")), jax.random.key(3))


def ring_attention(count):
    """Attention whose keys and values go around a ring of devices, and its gradients."""
    size = 8 if count > 1 else 1
    mesh = mesh_of((8,), ("seq",), count)
    _, f = draws()
    batch, length, heads, keys = 2, 16, 2, 4

    @jax.checkpoint
    def ring(q, k, v):
        own, part = lax.axis_index("seq"), q.shape[1]
        turn = [(j, (j + 1) % size) for j in range(size)]

        def body(i, carry):
            total, high, weight, k, v = carry
            positions = (own - i) % size * part + jnp.arange(part)
            scores = jnp.einsum("bqhk,bshk->bhqs", q, k) / np.sqrt(keys)
            scores = jnp.where((own * part + jnp.arange(part))[:, None] >= positions[None], scores, -1e30)
            new = jnp.maximum(high, scores.max(-1))
            p, old = jnp.exp(scores - new[..., None]), jnp.exp(high - new)
            total = total * old[..., None] + jnp.einsum("bhqs,bshk->bhqk", p, v)
            return (total, new, weight * old + p.sum(-1), lax.ppermute(k, "seq", turn), lax.ppermute(v, "seq", turn))

        def zeros(*shape):
            return lax.pcast(jnp.zeros(shape), ("seq",), to="varying")

        start = (zeros(batch, heads, part, keys), zeros(batch, heads, part) - 1e30, zeros(batch, heads, part), k, v)
        total, _, weight, _, _ = lax.fori_loop(0, size, body, start)
        return jnp.einsum("bhqk->bqhk", total / weight[..., None])

    whole = jax.shard_map(ring, mesh=mesh, in_specs=(P(None, "seq"),) * 3, out_specs=P(None, "seq"))
    values = [f(batch, length, heads, keys) for _ in range(3)]
    return jax.jit(jax.value_and_grad(lambda *a: jnp.sum(whole(*a)**2), argnums=(0, 1, 2)))(*values)


def divided_optimizer(count):
    """Parameters and momentum in parts: gathered for the step, gradients of microbatches scattered."""
    size = 8 if count > 1 else 1
    mesh = mesh_of((8,), ("dp",), count)
    _, f = draws()
    w, x = f(16, 16), f(4, 16, 16)

    def step(w, momentum, x):
        whole = lax.all_gather(w, "dp", tiled=True)

        def micro(total, x):
            return total + jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x)**2))(whole), None

        total, _ = lax.scan(micro, lax.pcast(jnp.zeros((16, 16)), ("dp",), to="varying"), x)
        momentum = 0.9 * momentum + lax.psum_scatter(total, "dp", scatter_dimension=0, tiled=True) / size
        return w - 0.1 * momentum, momentum

    divided = jax.shard_map(step, mesh=mesh, in_specs=(P("dp"), P("dp"), P(None, "dp")), out_specs=(P("dp"), P("dp")),
                            check_vma=False)
    run, momentum = jax.jit(divided, donate_argnums=(0, 1)), np.zeros_like(w)
    for _ in range(3):
        w, momentum = run(w, momentum, x)
    return w


def hosts(count):
    """Helpers for many hosts, on one."""
    from jax.experimental import multihost_utils as many

    mesh = mesh_of((4, 2), ("data", "model"), count)
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    many.sync_global_devices("start")
    whole = many.host_local_array_to_global_array(x, mesh, P("data", "model"))
    sums = jax.jit(lambda a: 2 * a.sum(0), out_shardings=NamedSharding(mesh, P("model")))(whole)
    many.assert_equal(x, "the hosts differ")
    rows = jax.make_array_from_process_local_data(NamedSharding(mesh, P("data")), x)
    tiles = jax.make_array_from_callback(x.shape, NamedSharding(mesh, P("model", "data")), lambda index: x[index])
    return (many.broadcast_one_to_all(x), many.global_array_to_host_local_array(sums, mesh, P("model")),
            many.process_allgather(sums, tiled=True), jax.jit(lambda a, b: a @ b.T)(rows, tiles))


def stacked_layers(count):
    """Microbatches through scanned layers that are computed again for gradients; a stack of weights is divided over
    layers, over features, or both."""
    mesh = mesh_of((2, 2, 2), ("data", "fsdp", "tensor"), count)
    _, f = draws()
    layers, width, hidden, batch, length = 4, 16, 32, 8, 4

    def on(*spec):
        return NamedSharding(mesh, P(*spec))

    w = {"up": jax.device_put(f(layers, width, hidden), on("data", "fsdp", "tensor")),
         "down": jax.device_put(f(layers, hidden, width), on(None, "tensor", "fsdp")),
         "scale": jax.device_put(1 + f(layers, width), on("data"))}
    x = jax.device_put(f(batch, length, width), on(("data", "fsdp")))

    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.checkpoint_dots_with_no_batch_dims)
    def layer(x, w):
        x = lax.with_sharding_constraint(x, on(("data", "fsdp")))
        y = x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * w["scale"]
        return x + jax.nn.silu(y @ w["up"]) @ w["down"], jnp.mean(x)

    def loss(w, x):
        y, means = lax.scan(layer, x, w)
        return jnp.mean((y - x)**2) + jnp.sum(means)

    @functools.partial(jax.jit, donate_argnums=0)
    def step(w, x):
        def micro(total, part):
            value, gradients = jax.value_and_grad(loss)(w, lax.with_sharding_constraint(part, on(("data", "fsdp"))))
            return jax.tree.map(jnp.add, total, (value, gradients)), None

        start = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, w))
        (value, gradients), _ = lax.scan(micro, start, x.reshape(2, batch // 2, length, width))
        return jax.tree.map(lambda a, g: a - 0.1 * g, w, gradients), value

    values = []
    for _ in range(2):
        w, value = step(w, x)
        values.append(value)
    return values, w


def heat(count):
    """A loop over a grid in tiles whose edges go to neighbours, until it changes little."""
    mesh = mesh_of((2, 4), ("x", "y"), count)
    _, f = draws()
    grid = jax.device_put(f(16, 32), NamedSharding(mesh, P("x", "y")))

    @jax.jit
    def run(grid):
        def body(carry):
            i, u, _ = carry
            neighbours = sum(jnp.roll(u, shift, axis) for axis in (0, 1) for shift in (1, -1))
            new = u + 0.1 * (neighbours - 4 * u)
            return i + 1, new, jnp.max(jnp.abs(new - u))

        return lax.while_loop(lambda c: (c[2] > 0.02) & (c[0] < 40), body, (0, grid, jnp.float32(1)))

    return run(grid)


def two_meshes(count):
    """Values of a mesh of 2 x 3 devices go to shards of one of 3 x 2, and back."""
    first, second = mesh_of((2, 3), ("a", "b"), count), mesh_of((3, 2), ("c", "d"), count)
    _, f = draws()

    def number_rows(part):
        return part + lax.axis_index("c") * part.shape[0] + jnp.arange(part.shape[0])[:, None]

    @functools.partial(jax.jit, out_shardings=(NamedSharding(first, P("b")), NamedSharding(second, P("c", "d"))))
    def step(x):
        shards = jax.shard_map(number_rows, mesh=second, in_specs=P("c", "d"), out_specs=P("c", "d"))(jnp.sin(x))
        back = lax.with_sharding_constraint(shards, NamedSharding(first, P("a", "b")))
        return back @ x, back.T

    return step(jax.device_put(f(12, 12), NamedSharding(first, P("a", "b"))))


PROGRAMS = [explicit_transformer, mixed_axes, decoding, ring_attention, divided_optimizer, hosts, stacked_layers, heat,
            two_meshes]
