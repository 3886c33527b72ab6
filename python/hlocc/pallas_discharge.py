# SPDX-License-Identifier: Apache-2.0
"""How kernels access references where interpret mode's rules are slow, or are not those of a GPU.

Masked loads and stores of slices: JAX's rules pad the whole reference, in case that a slice ends
outside of it. Slices that start at known positions and end inside need no padding.

Atomic operations at computed indices: JAX's rule reads the elements, combines them with the operands
and writes them: of equal indices the last one wins, and masks are refused. On a GPU every operand
counts, as here: in the order of their positions, so that a result is what the operations before have
made of the element.
"""
import contextlib
import operator
import sys
import threading

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src.pallas import primitives
from jax._src.state import discharge
from jax._src.state.indexing import NDIndexer, Slice

from hlocc import pallas_pipeline

TRITON_MODULE = "jax._src.pallas.triton.primitives"
METHODS = {"ADD": "add", "MAX": "max", "MIN": "min"}
COMBINE = {"ADD": operator.add, "MAX": jnp.maximum, "MIN": jnp.minimum, "AND": operator.and_,
           "OR": operator.or_, "XOR": operator.xor, "XCHG": lambda before, value: value}
_table_lock = threading.RLock()


# --- slices at known positions


def _known_window(shape, transforms):
    """(starts, sizes, scalar dimensions) of a slice inside of an array of the shape; None for others."""
    if not transforms:
        return [0] * len(shape), list(shape), ()
    if len(transforms) != 1 or not isinstance(transforms[0], NDIndexer):
        return None
    starts, sizes, scalars = [], [], []
    for d, index in enumerate(transforms[0].indices):
        start, size = (index.start, index.size) if isinstance(index, Slice) else (index, 1)
        if isinstance(index, Slice) and index.stride != 1:
            return None
        if not isinstance(start, (int, np.integer)) or not 0 <= start <= shape[d] - size:
            return None
        starts.append(int(start))
        sizes.append(size)
        if not isinstance(index, Slice):
            scalars.append(d)
    return starts, sizes, tuple(scalars)


def _read_window(ref, window):
    starts, sizes, scalars = window
    ends = [start + size for start, size in zip(starts, sizes)]
    return lax.squeeze(lax.slice(ref, starts, ends), scalars)


def _load(ref, window, mask, other):
    value = _read_window(ref, window)
    if mask is not None and other is not None:
        value = jnp.where(mask, value, other)
    return None, value


def _swap(ref, window, value, mask):
    old = result = _read_window(ref, window)
    if mask is not None:
        value, result = jnp.where(mask, value, old), jnp.where(mask, old, value)
    starts, sizes, scalars = window
    new = lax.expand_dims(value, scalars)
    if tuple(sizes) != ref.shape:
        new = lax.dynamic_update_slice(ref, new, [np.int32(start) for start in starts])
    return new, result


def _rule_of_windows(access):
    """A rule by access(ref, window, ...), which returns the new array, or None, and the result."""
    def wrap(theirs):
        def rule(in_avals, out_avals, *args, args_tree, **params):
            ref, transforms, *others = args_tree.unflatten(args)
            window = _known_window(in_avals[0].shape, transforms)
            if window is None:
                return theirs(in_avals, out_avals, *args, args_tree=args_tree, **params)
            new, result = access(ref, window, *others)
            return (new,) + (None,) * (len(in_avals) - 1), result

        return rule

    return wrap


# --- atomic operations


def _in_order(indices, value, old, combine):
    """(before, after, is_last): what the operands at equal indices, up to each one without and with it,
    make of the old elements; where no later index is equal."""
    order = jnp.argsort(indices, stable=True)
    at, values = indices[order], value[order]
    changes, edge = at[1:] != at[:-1], jnp.ones(1, bool)
    starts, ends = jnp.concatenate([edge, changes]), jnp.concatenate([changes, edge])

    def join(left, right):
        (is_start, so_far), (other_is_start, others) = left, right
        return is_start | other_is_start, jnp.where(other_is_start, others, combine(so_far, others))

    _, totals = lax.associative_scan(join, (starts, values))
    after = combine(old[order], totals)
    previous = jnp.concatenate([after[:1], after[:-1]])
    before = jnp.where(starts, old[order], previous)
    back = jnp.zeros_like(order).at[order].set(jnp.arange(len(order)))
    return before[back], after[back], ends[back]


def _atomic_rule(theirs):
    def rule(in_avals, out_avals, *args, args_tree, atomic_type):
        ref, transforms, value, mask = args_tree.unflatten(args)
        *others, last = transforms
        name = atomic_type.name
        if others or any(isinstance(i, Slice) for i in last.indices):
            return theirs(in_avals, out_avals, *args, args_tree=args_tree, atomic_type=atomic_type)
        indices = [jnp.where(i < 0, i + size, i) for i, size in zip(last.indices, ref.shape)]
        if mask is not None:  # what lies outside is dropped
            indices[0] = jnp.where(mask, indices[0], ref.shape[0])
        shape = jnp.shape(value)
        flat = jnp.zeros((), np.int32)
        for index, size in zip(indices, ref.shape):
            flat = flat * size + index
        flat = jnp.broadcast_to(flat, shape).reshape(-1)
        old = ref[tuple(last.indices)]
        before, after, is_last = _in_order(
            flat, value.reshape(-1), jnp.broadcast_to(old, shape).reshape(-1), COMBINE[name])
        at = ref.at[tuple(indices)]
        if name in METHODS:
            new = getattr(at, METHODS[name])(value, mode="drop")
        else:  # of equal indices, the last one has what all of them make
            indices[0] = jnp.where(is_last.reshape(shape), indices[0], ref.shape[0])
            new = ref.at[tuple(indices)].set(after.reshape(shape), mode="drop")
        return (new,) + (None,) * (len(in_avals) - 1), before.reshape(shape)

    return rule


@contextlib.contextmanager
def rules():
    """Discharges by these rules inside of the context; other clients keep JAX's."""
    triton = sys.modules.get(TRITON_MODULE)
    table = discharge._discharge_rules
    wrappers = {primitives.load_p: _rule_of_windows(_load), primitives.swap_p: _rule_of_windows(_swap),
                getattr(triton, "atomic_rmw_p", None): _atomic_rule}
    pipeline = getattr(sys.modules.get(pallas_pipeline.PIPELINE_MODULE), "emit_pipeline_p", None)
    with _table_lock:
        theirs = {p: table[p] for p in wrappers if p in table}
        table.update((p, wrappers[p](rule)) for p, rule in theirs.items())
        if pipeline is not None:
            table[pipeline] = pallas_pipeline.discharge_pipeline
        try:
            yield
        finally:
            table.update(theirs)
            table.pop(pipeline, None)
