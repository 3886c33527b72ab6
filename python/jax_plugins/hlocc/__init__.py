# SPDX-License-Identifier: Apache-2.0
"""Where JAX looks for plugins; everything is in hlocc.jax_plugin."""
from hlocc.jax_plugin import initialize

__all__ = ["initialize"]
