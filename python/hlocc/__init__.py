# SPDX-License-Identifier: Apache-2.0
"""hlocc as a JAX plugin: finds the library; `hlocc.jax_plugin` registers it with JAX."""
from hlocc.library import LibraryError, library_info, library_path

__version__ = "0.1.0"
__all__ = ["LibraryError", "__version__", "library_info", "library_path"]
