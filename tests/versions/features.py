# SPDX-License-Identifier: Apache-2.0
"""Uses one feature of JAX after the other on hlocc; run by matrix.py under each version of JAX.

    features.py FOLDER            checks every feature; leaves exported programs in FOLDER
    features.py FOLDER --load     loads and runs the exported programs of FOLDER

Prints one JSON object: what each feature failed with, or null, and the versions that took part.
"""
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

DEVICES = 8
RANDOM = np.random.default_rng(3)
MATRIX = RANDOM.standard_normal((6, 6)).astype(np.float32)
SYMMETRIC = MATRIX @ MATRIX.T + 6 * np.eye(6, dtype=np.float32)


def close(ours, theirs):
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=2e-4, atol=2e-5)


def check_jit():
    assert "hlocc" in jax.devices()[0].client.platform_version
    close(jax.jit(lambda x: jnp.tanh(x @ x).sum(axis=0))(MATRIX), np.tanh(MATRIX @ MATRIX).sum(axis=0))


def check_grad():
    close(jax.jit(jax.grad(lambda x: (x @ x.T).sum()))(MATRIX), 2 * np.tile(MATRIX.sum(axis=0), (6, 1)))
    close(jax.jit(jax.hessian(lambda x: (x**3).sum()))(MATRIX[0]), np.diag(6 * MATRIX[0]))


def check_vmap():
    close(jax.jit(jax.vmap(lambda row, x: x @ row, in_axes=(0, None)))(MATRIX, SYMMETRIC), MATRIX @ SYMMETRIC)


def check_scan():
    total, sums = jax.jit(lambda x: lax.scan(lambda c, v: (c + v, c + v), jnp.zeros(6), x))(MATRIX)
    close(sums, np.cumsum(MATRIX, axis=0))
    close(total, MATRIX.sum(axis=0))
    assert jax.jit(lambda n: lax.while_loop(lambda v: v < n, lambda v: 2 * v, 1))(100) == 128
    close(jax.jit(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x))(True, MATRIX), np.sin(MATRIX))


def check_linalg():
    factor = jax.jit(jnp.linalg.cholesky)(SYMMETRIC)
    close(factor @ factor.T, SYMMETRIC)
    close(jax.jit(jnp.linalg.solve)(SYMMETRIC, MATRIX[0]), np.linalg.solve(SYMMETRIC, MATRIX[0]))
    close(jax.jit(jnp.linalg.eigvalsh)(SYMMETRIC), np.linalg.eigvalsh(SYMMETRIC))
    q, r = jax.jit(jnp.linalg.qr)(MATRIX)
    close(q @ r, MATRIX)
    u, s, vt = jax.jit(jnp.linalg.svd)(MATRIX)
    close((u * s) @ vt, MATRIX)
    values = np.asarray(jax.jit(jnp.linalg.eigvals)(MATRIX))
    close(np.sort(np.abs(values)), np.sort(np.abs(np.linalg.eigvals(MATRIX))))


def check_random():
    draws = np.asarray(jax.jit(lambda key: jax.random.normal(key, (10000,)))(jax.random.key(1)))
    assert abs(draws.mean()) < 0.05 and abs(draws.std() - 1) < 0.05
    order = np.asarray(jax.random.permutation(jax.random.key(2), 50))
    assert sorted(order) == list(range(50)) and list(order) != list(range(50))
    # The bits are fixed by JAX: the same on every back end and in every version.
    assert jax.random.bits(jax.random.key(0), (2,)).tolist() == [4070199207, 4202968722]


def check_donation():
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    first = jnp.arange(1024.0)
    where = first.unsafe_buffer_pointer()
    second = step(first)
    assert first.is_deleted() and second.unsafe_buffer_pointer() == where
    close(second, np.arange(1024.0) + 1)


def check_pure_callback():
    shape = jax.ShapeDtypeStruct((6, 6), np.float32)
    twice = jax.jit(lambda x: jax.pure_callback(lambda v: 2 * np.asarray(v), shape, x) + 1)
    close(twice(MATRIX), 2 * MATRIX + 1)


def check_debug_print():
    script = "import jax; jax.jit(lambda x: jax.debug.print('x is {}', x))(3); jax.effects_barrier()"
    assert "x is 3" in child(script)


def check_devices():
    child(f"import jax; jax.config.update('jax_num_cpu_devices', {DEVICES}); import features; "
          "features.place_on_devices()")


def place_on_devices():
    devices = jax.devices()
    assert len(devices) == DEVICES
    placed = [jax.device_put(MATRIX + i, device) for i, device in enumerate(devices)]
    for i, (array, device) in enumerate(zip(placed, devices)):
        result = jax.jit(jnp.sin)(array)
        assert result.devices() == {device}
        close(result, np.sin(MATRIX + i))
    moved = jax.device_put(placed[7], devices[0])
    close(placed[0] + moved, 2 * MATRIX + 7)


def check_sharding():
    child(f"import jax; jax.config.update('jax_num_cpu_devices', {DEVICES}); import features; "
          "features.divide_over_devices()")


def divide_over_devices():
    """Programs over a mesh: divided by the compiler, per device with collectives, and both; gradients of them."""
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    shard_map = getattr(jax, "shard_map", None)
    if not callable(shard_map):
        from jax.experimental.shard_map import shard_map
    mesh = Mesh(np.asarray(jax.devices()).reshape(4, 2), ("data", "model"))
    x, w, v = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((16, 8), (8, 12), (12, 6)))
    batch, columns, rows = (NamedSharding(mesh, P(*s)) for s in (("data",), (None, "model"), ("model",)))

    def loss(w, v, x):
        hidden = jax.lax.with_sharding_constraint(jnp.tanh(x @ w), NamedSharding(mesh, P("data", "model")))
        return jnp.mean((hidden @ v) ** 2)

    wanted, gradients = jax.value_and_grad(loss_of_one_device, argnums=(0, 1))(w, v, x)
    placed = [jax.device_put(*pair) for pair in ((w, columns), (v, rows), (x, batch))]
    step = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)), out_shardings=(None, (columns, rows)))
    value, divided = step(*placed)
    close(value, wanted)
    jax.tree.map(close, divided, gradients)
    assert divided[0].sharding.is_equivalent_to(columns, 2)
    assert jax.jit(jnp.sin)(placed[2]).sharding.is_equivalent_to(batch, 2)  # decided by propagation

    def per_device(w, v, x):
        return lax.psum(jnp.tanh(x @ w) @ v, "model")

    specs = {"in_specs": (P(None, "model"), P("model"), P("data")), "out_specs": P("data")}
    manual = jax.jit(shard_map(per_device, mesh=mesh, **specs))
    close(manual(w, v, x), np.tanh(x @ w) @ v)
    manual_loss = jax.jit(jax.grad(lambda *a: jnp.mean(manual(*a) ** 2), argnums=(0, 1)))
    jax.tree.map(close, manual_loss(*placed), gradients)
    ring = shard_map(lambda a: lax.ppermute(a, "data", [(i, (i + 1) % 4) for i in range(4)]), mesh=mesh,
                     in_specs=P("data"), out_specs=P("data"))
    close(jax.jit(ring)(x), np.roll(x, 4, axis=0))
    bits = jax.jit(lambda key: jax.random.bits(key, (16, 2)), out_shardings=batch)(jax.random.key(0))
    assert bits.tolist() == jax.random.bits(jax.random.key(0), (16, 2)).tolist()


def loss_of_one_device(w, v, x):
    return jnp.mean((jnp.tanh(x @ w) @ v) ** 2)


def check_executables():
    from jax.experimental import serialize_executable

    compiled = jax.jit(lambda x: jnp.cos(x).sum()).lower(MATRIX).compile()
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    assert loaded(MATRIX) == compiled(MATRIX)


CACHED = """
import sys
import jax, jax.numpy as jnp
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
hits = []
jax.monitoring.register_event_listener(
    lambda event, **_: hits.append(event) if event == "/jax/compilation_cache/cache_hits" else None)
print(float(jax.jit(lambda x: jnp.sin(x).sum())(jnp.arange(5.0))), len(hits))
"""


def check_compilation_cache():
    with tempfile.TemporaryDirectory() as folder:
        first, hits_before = child(CACHED, folder).split()
        second, hits_after = child(CACHED, folder).split()
    assert first == second and int(hits_before) == 0 and int(hits_after) > 0


def exported_programs():
    """Names, functions and arguments of the programs that are exported."""
    yield "mlp", jax.value_and_grad(lambda w: jnp.tanh(MATRIX @ w).sum()), (MATRIX,)
    yield "loop", lambda x: lax.fori_loop(0, 5, lambda i, c: c * 0.5 + x[i], x[5]), (MATRIX,)
    yield "sort", lambda x: (jnp.sort(x, axis=1), jnp.argsort(x, axis=0), lax.top_k(x, 3)), (MATRIX,)
    yield "convolution", lambda x: lax.conv(x[None, None], x[None, None, :3, :3], (1, 1), "SAME"), (MATRIX,)
    yield "random", lambda seed: jax.random.uniform(jax.random.key(seed), (7,)), (np.int32(5),)
    yield "cholesky", jnp.linalg.cholesky, (SYMMETRIC,)


def check_export(folder):
    from jax import export

    for name, function, arguments in exported_programs():
        exported = export.export(jax.jit(function))(*arguments)
        data = exported.serialize()
        results = export.deserialize(data).call(*arguments)
        jax.tree.map(close, results, jax.jit(function)(*arguments))
        (folder / f"{name}.bin").write_bytes(data)
        (folder / f"{name}.mlirbc").write_bytes(exported.mlir_module_serialized)
        np.savez(folder / f"{name}.npz", *jax.tree.leaves(results))
    return re.search(rb"StableHLO_v([\d.]+)", exported.mlir_module_serialized).group(1).decode()


def load_exported(folder):
    """Returns "yes", or "module" where JAX refuses exports of that age, but takes their StableHLO."""
    from jax import export

    how = "yes"
    for name, function, arguments in exported_programs():
        try:
            exported = export.deserialize(bytearray((folder / f"{name}.bin").read_bytes()))
        except ValueError as error:
            assert "backward-compatibility window" in str(error), error
            how, module = "module", (folder / f"{name}.mlirbc").read_bytes()
            exported = dataclasses.replace(export.export(jax.jit(function))(*arguments),
                                           mlir_module_serialized=module)
        results = exported.call(*arguments)
        with np.load(folder / f"{name}.npz") as stored:
            for got, wanted in zip(jax.tree.leaves(results), stored.values(), strict=True):
                close(got, wanted)
    return how


def child(script, *arguments):
    """Standard output of a script in a process of its own."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300,
                          cwd=pathlib.Path(__file__).parent)
    assert done.returncode == 0, done.stderr
    return done.stdout


def failure_of(function, *arguments):
    """Returns the result of the function and None, or None and what it failed with."""
    try:
        return function(*arguments), None
    except Exception:  # the report says what failed; the other features are checked all the same
        return None, traceback.format_exc()


def main():
    folder = pathlib.Path(sys.argv[1])
    report = {"jax": jax.__version__, "python": "%d.%d" % sys.version_info[:2], "failures": {}}
    if "--load" in sys.argv:
        report["loads"], report["failures"]["load"] = failure_of(load_exported, folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        for name, function in list(globals().items()):
            if name.startswith("check_") and name != "check_export":
                report["failures"][name[len("check_"):]] = failure_of(function)[1]
        report["stablehlo"], report["failures"]["export"] = failure_of(check_export, folder)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
