# SPDX-License-Identifier: Apache-2.0
"""The package in which JAX discovers the plugin; the code is in hlocc.jax_plugin."""
from hlocc.jax_plugin import initialize

__all__ = ["initialize"]
