# SPDX-License-Identifier: Apache-2.0
"""Atomic operations of kernels on elements at computed indices.

JAX's rule for interpret mode reads the elements, combines them with the operands and writes them: of
equal indices the last one wins, and masks are refused. On a GPU every operand counts, as here. Where
indices are equal, the results of the operations are the elements before all of them.
"""
import contextlib
import sys
import threading

import jax.numpy as jnp
from jax._src.state import discharge
from jax._src.state.indexing import Slice

PRIMITIVES_MODULE = "jax._src.pallas.triton.primitives"
METHODS = {"ADD": "add", "MAX": "max", "MIN": "min"}
_table_lock = threading.RLock()


def _wrapped_rule(theirs):
    def rule(in_avals, out_avals, *args, args_tree, atomic_type):
        ref, transforms, value, mask = args_tree.unflatten(args)
        *before, last = transforms
        method = METHODS.get(atomic_type.name)
        if before or method is None or any(isinstance(i, Slice) for i in last.indices):
            return theirs(in_avals, out_avals, *args, args_tree=args_tree, atomic_type=atomic_type)
        old, indices = ref[last.indices], last.indices
        if mask is not None:  # what lies outside is dropped
            indices = jnp.where(mask, indices[0], ref.shape[0]), *indices[1:]
        new = getattr(ref.at[indices], method)(value, mode="drop")
        return (new,) + (None,) * (len(in_avals) - 1), old

    return rule


@contextlib.contextmanager
def rules():
    """Discharges atomic operations by this rule inside of the context; other clients keep JAX's."""
    primitives = sys.modules.get(PRIMITIVES_MODULE)
    table = discharge._discharge_rules
    atomic = getattr(primitives, "atomic_rmw_p", None)
    if atomic not in table:
        yield
        return
    with _table_lock:
        theirs = table[atomic]
        table[atomic] = _wrapped_rule(theirs)
        try:
            yield
        finally:
            table[atomic] = theirs
