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


def expect_done(python, source):
    status, out, err = python(source, **EIGHT)
    assert status == 0, err[-3000:]
    assert out.splitlines() == ["done"]


def test_functions_of_divided_matrices(python):
    expect_done(python, MATRICES)


def test_gradients_of_divided_layers(python):
    expect_done(python, LAYERS)
