# SPDX-License-Identifier: Apache-2.0
"""Functions of jax.numpy and jax.lax whose arguments are divided over eight devices in several ways give
what one device gives."""

EIGHT = {"JAX_PJRT_CLIENT_CREATE_OPTIONS": "num_devices:8"}

HEAD = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P
devices = jax.devices()
assert "hlocc" in devices[0].client.platform_version and len(devices) == 8
mesh = Mesh(np.array(devices).reshape(4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
random = np.random.RandomState(0)

def check(name, f, args, specs):
    one = jax.jit(f)(*args)
    parts = [jax.device_put(x, NamedSharding(mesh, P(*spec))) for x, spec in zip(args, specs)]
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(jax.jit(f)(*parts))):
        np.testing.assert_allclose(np.float64(a), np.float64(b), rtol=2e-4, atol=2e-4, err_msg=f"{name} {specs}")
"""

MATRICES = HEAD + """
functions = {
    "argmax": lambda x: jnp.argmax(x, 0),
    "argsort": lambda x: jnp.argsort(x, 1),
    "associative_scan": lambda x: lax.associative_scan(jnp.add, x),
    "branch": lambda x: lax.cond(x[0, 0] > 0, lambda x: x.T, lambda x: -x.T, x),
    "cumsum": lambda x: jnp.cumsum(x, 0),
    "diff": lambda x: jnp.diff(x, axis=0),
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (jnp.argmax(x[0]) % 9, 2), (4, 9)),
    "einsum": lambda x: jnp.einsum("ij,kj,lj->ikl", x, x, x),
    "fft": lambda x: jnp.abs(jnp.fft.rfft(x)),
    "fft2": lambda x: jnp.abs(jnp.fft.fft2(x)),
    "flip": lambda x: x[::-1, ::-1],
    "histogram": lambda x: jnp.histogram(x, 8, (-3, 3))[0],
    "inverse": lambda x: jnp.linalg.inv(x @ x.T + 20 * jnp.eye(16)),
    "normal": lambda x: jax.random.normal(jax.random.key(3), x.shape) + x,
    "pad": lambda x: jnp.pad(x, ((1, 2), (3, 0)), mode="wrap"),
    "irfft2": lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x)[:, :16]),
    "roll": lambda x: jnp.roll(x, 3, 0) + jnp.roll(x, -5, 0) + jnp.roll(x, 20, 1),
    "scan": lambda x: lax.scan(lambda c, y: (c * 0.9 + y, c + y), x[0], x),
    "softmax": lambda x: jax.nn.softmax(x, 0),
    "sort": lambda x: jnp.sort(x, 0),
    "stack": lambda x: jnp.stack([x, x * 2], 1).reshape(-1, 32),
    "svd": lambda x: jnp.linalg.svd(x, compute_uv=False),
    "top_k": lambda x: lax.top_k(x, 5),
    "top_k of a few": lambda x: lax.top_k(x, 1),
    "top_k of all": lambda x: lax.top_k(jnp.round(x.reshape(-1)), 7),
    "approx_max_k": lambda x: lax.approx_max_k(x, 2, aggregate_to_topk=True),
    "update": lambda x: x.at[2:5, ::3].set(7.0).at[jnp.array([1, 9, 3])].add(2.0),
}
matrix = random.randn(16, 32).astype("f")
for name, f in functions.items():
    for spec in [("x",), ("y", "x")]:
        check(name, f, (matrix,), (spec,))
large = random.randn(64, 256).astype("f")
for name in ["argsort", "fft", "fft2", "sort", "top_k"]:
    for spec in [("x",), ("x", "y"), (None, "y")]:
        check(name, functions[name], (large,), (spec,))
print("done")
"""

LAYERS = HEAD + """
def convolution(x, w):
    return lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

def pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

images, kernel = random.randn(8, 16, 16, 4).astype("f"), random.randn(3, 3, 4, 8).astype("f")
for spec in [("x", "y"), ("x", None, "y"), (None, "x", "y"), (None, None, None, "x")]:
    check("convolution", jax.grad(lambda x, w: (convolution(x, w) ** 2).sum(), (0, 1)), (images, kernel), (spec, ()))
check("pool", jax.grad(lambda x: (pool(x) ** 2).sum()), (images,), ((None, "x", "y"),))
table, rows = random.randn(64, 16).astype("f"), random.randint(0, 64, (8, 12)).astype("i")
for spec in [("x",), (None, "y"), ("x", "y")]:
    check("rows", jax.grad(lambda t, i: (t[i] ** 2).sum()), (table, rows), (spec, ("y",)))
check("along", lambda t, i: jnp.take_along_axis(t, i[:, :1] % 16, 1), (table[:8], rows), (("x", "y"), ("x",)))
print("done")
"""


# Sizes that are no multiples of the parts are only stated inside of programs.
UNEVEN = HEAD + """
def on(x, *axes):
    return lax.with_sharding_constraint(x, NamedSharding(mesh, P(*axes))) if is_divided else x

x, w = random.randn(10, 7).astype("f"), random.randn(7, 13).astype("f")
n, low = random.randint(-9, 9, (10, 7)).astype("i"), np.full((10, 7), -3, "f")
functions = {
    "softmax": (lambda x: jax.nn.softmax(on(x, "x"), 0), x),
    "product": (lambda x, w: on(on(x, "x", "y") @ on(w, "y", "x"), "x", "y"), x, w),
    "contraction": (lambda x, w: on(x / on(x, None, "x"), None, "x") @ on(w, "x"), x, w),
    "gradient": (jax.grad(lambda w, x: (jax.nn.softmax(on(jnp.tanh(on(x, "x", "y") @ w), "y", "x")) ** 2).sum()), w, x),
    "quotients": (lambda n: (7 // on(jnp.where(n == 0, 1, n), "x", "y")).sum(), n),
    "logarithms": (lambda x: jnp.max(jnp.log(on(-x, ("x", "y"))), 0), low),
    "largest": (lambda x: on(x, "x", "y").max(0) + on(x.T, "x", "y").max(), low),
    "argmax": (lambda x: jnp.argmax(on(x, "x", "y"), 0), x),
    "few": (lambda x: on(x[:3], ("x", "y")).sum(0), x),
    "transpose": (lambda x: on(on(x, ("x", "y")) * 2, None, ("y", "x")), x),
    "deviation": (lambda x: on(x, "x").std(0), x),
    "loop": (lambda x: lax.fori_loop(0, 5, lambda i, c: on(jnp.sin(c) + i, "y", "x"), on(x, "x", "y")), x),
    "branch": (lambda x: lax.cond(x[0, 0] > 0, lambda x: on(x + 1, "x"), lambda x: on(x * 2, "y"), on(x, "x")), x),
    "convolution": (lambda x: on(jnp.convolve(on(x[:, 0], "x"), jnp.arange(3.0)), "x"), x),
    "cumsum": (lambda x: jnp.cumsum(on(x, "x", "y"), 0), x),
    "sort": (lambda x: jnp.sort(on(x, "x", "y"), 1), x),
    "take": (lambda x: on(x, "x")[jnp.array([9, 3, -1])], x),
    "add": (lambda x: on(x, "x").at[jnp.array([9, 3, 9])].add(1.0), x),
    "join": (lambda x: on(jnp.concatenate([on(x, "x", "y"), x[:3]]), "x", "y"), x),
    "reshape": (lambda x: on(on(x, "x", "y").reshape(70), ("x", "y")), x),
    "update": (lambda x, i: lax.dynamic_update_slice(on(x, "x", "y"), x[:2, :2], (i, i)), x, np.int32(5)),
    "shard_map": (lambda x: jax.shard_map(lambda y: y + 1, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(
        on(x, "y", "x")[:8]) if is_divided else x[:8] + 1, x),
}
for name, (f, *args) in functions.items():
    is_divided = False
    want = jax.jit(lambda *args: f(*args))(*args)
    is_divided = True
    have = jax.jit(lambda *args: f(*args))(*args)
    for a, b in zip(jax.tree.leaves(want), jax.tree.leaves(have)):
        np.testing.assert_allclose(np.float64(a), np.float64(b), rtol=2e-5, atol=2e-5, err_msg=name)
text = jax.jit(functions["softmax"][0]).lower(x).compile().as_text()
assert "f32[3,7]" in text, text  # 3, 3, 3 and 1 rows
print("done")
"""


def expect_done(python, source):
    status, out, err = python(source, **EIGHT)
    assert status == 0, err[-3000:]
    assert out.splitlines() == ["done"]


def test_functions_of_divided_matrices(python):
    expect_done(python, MATRICES)


def test_gradients_of_divided_layers(python):
    expect_done(python, LAYERS)


def test_sizes_that_are_no_multiples_of_the_parts(python):
    expect_done(python, UNEVEN)
