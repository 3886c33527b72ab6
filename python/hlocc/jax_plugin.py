# SPDX-License-Identifier: Apache-2.0
"""Registers hlocc with JAX. JAX calls initialize() when it discovers plugins.

The client reports the platform `cpu`, so that JAX's cpu rules, donation and callbacks apply, and is
registered under the key `hlocc`: JAX_PLATFORMS=hlocc chooses it, jax.devices("hlocc") names it.
HLOCC_AS_CPU=1 registers it as `cpu` instead, in the place of XLA's own client.
"""
import os

from hlocc import foreign, pallas, scaled_matmul
from hlocc.library import LibraryError, checked_library_path

NAME = "hlocc"
PRIORITY = 400  # above XLA's cpu client (0), below the GPU plugins (500)
JAX_MINIMUM = (0, 6, 0)


def _client_options():
    """Create options, read when the client is created, so that jax.config may change before."""
    from jax._src import xla_bridge

    count = xla_bridge.num_cpu_devices.value
    return {"num_devices": count} if count > 0 else {}


def _refuse(xla_bridge, key, error):
    """Registers a client whose creation fails with the given error."""

    def factory():
        raise RuntimeError(f"hlocc: {error}")

    quietly = key != "cpu"  # JAX can go on with its own cpu client, unless ours takes its place
    xla_bridge.register_backend_factory(key, factory, priority=PRIORITY, fail_quietly=quietly)


def _usable_library(jax):
    """Path of a library that this JAX can load. Raises LibraryError with the reason otherwise."""
    if jax.version.__version_info__[:3] < JAX_MINIMUM:
        wanted = ".".join(map(str, JAX_MINIMUM))
        raise LibraryError(f"needs jax {wanted} or newer, found {jax.__version__}")
    return checked_library_path()


def _keep_a_cpu_client(jax):
    """Keeps XLA's cpu platform, which JAX uses for callbacks and eager host values."""
    if jax.config.jax_platforms == NAME:
        jax.config.update("jax_platforms", f"{NAME},cpu")


def initialize():
    """Called by JAX once, when it discovers plugins; starts no client."""
    import jax
    from jax._src import xla_bridge
    from jax._src.lib import xla_client

    as_cpu = os.environ.get("HLOCC_AS_CPU", "0") not in ("", "0")
    key = "cpu" if as_cpu else NAME
    try:
        path = _usable_library(jax)
    except LibraryError as error:
        _refuse(xla_bridge, key, error)
        return
    if not as_cpu:
        _keep_a_cpu_client(jax)
    foreign.connect(path, xla_client)
    pallas.connect()
    scaled_matmul.register(jax)
    xla_bridge._nonexperimental_plugins.add(key)
    xla_bridge.register_plugin(key, priority=PRIORITY, library_path=path, options=_client_options)
