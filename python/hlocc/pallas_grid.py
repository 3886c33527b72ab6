# SPDX-License-Identifier: Apache-2.0
"""A pallas_call as operations on whole arrays.

The kernel's references are discharged, as interpret mode does. Grid dimensions whose steps are
independent then become dimensions of the arrays: each array is seen as blocks, and the kernel is
mapped over them (`vmap`), so that its blocks are views and its operations fuse, run in parallel and
use the matrix products as if they had been written for whole arrays. The other dimensions become
loops, whose carries are the arrays that the kernel writes, updated in place; inputs are only read.
Accumulators over a loop lose their `pl.when` at the first and last step, which are made apart.

A dimension is independent if every array that the kernel writes has a dimension of its own for it,
blocked by the program id plus a constant, and nothing else leads from one step to another: scratch is
written before it is read, no side effects, no loop of the kernel ends by it.
Values of blocks outside the arrays, and of outputs and scratch not written, are those of interpret
mode: NaN, or the least integer.
"""
import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax._src import source_info_util, state
from jax._src.interpreters import mlir
from jax._src.interpreters import partial_eval as pe
from jax._src.pallas import core as pallas_core
from jax._src.pallas import hlo_interpreter, primitives
from jax._src.state import discharge

from hlocc import pallas_discharge, pallas_fold
from hlocc.pallas_dependence import Dependences, passed_through
from hlocc.pallas_fold import Evaluator, ProgramId

# A nonlinear index map, such as head // group, is evaluated for every program id up to this number.
TABLE_LIMIT = 4096
# A step is written apart for first and last indices of loops up to this number of copies.
COPY_LIMIT = 9

# Overlapping windows are joined from up to as many parts of blocks; others are gathered.
WINDOW_PIECES_LIMIT = 4

# Bytes of products and loops of a kernel, for all steps that are computed at once.
MEMORY_LIMIT = 1 << 28

EVALUATED_NAMES = pallas_fold.PROGRAM_ID_NAMES | pallas_fold.CALL_NAMES | {
    "cond", "while", "scan", "run_scoped"}


def _refuse(eqn, debug_info):
    where = source_info_util.summarize(eqn.source_info)
    raise NotImplementedError(f"pallas_call of {debug_info.func_src_info} on hlocc: primitive "
                              f"{eqn.primitive.name} at {where} is not implemented")


def _check_discharge(jaxpr, debug_info):
    """Refuses primitives that act on references and have no rule that replaces these by values."""
    known = set(discharge._discharge_rules)
    known |= set(getattr(discharge, "_partial_discharge_rules", ()))  # one table since jax 0.11
    own = {"new_ref", "ref", "empty_ref", "free_ref", "freeze"}
    for eqn in jaxpr.eqns:
        on_refs = any(isinstance(v.aval, state.AbstractRef) for v in eqn.invars)
        if on_refs and eqn.primitive not in known and eqn.primitive.name not in own:
            _refuse(eqn, debug_info)
        for sub in pallas_fold.sub_jaxprs(eqn):
            _check_discharge(sub, debug_info)


def _check_lowering(jaxpr, debug_info):
    """Refuses primitives for which JAX has no rule on cpu. run_scoped still has references."""
    for eqn in jaxpr.eqns:
        known = (eqn.primitive in mlir._lowerings or eqn.primitive.name in EVALUATED_NAMES
                 or eqn.primitive in mlir._platform_specific_lowerings["cpu"]
                 or any(isinstance(v.aval, state.AbstractRef) for v in eqn.invars))
        if not known:
            _refuse(eqn, debug_info)
        for sub in pallas_fold.sub_jaxprs(eqn):
            _check_lowering(sub, debug_info)


def _largest_value(jaxpr):
    """Bytes of the largest result of the operations that do not fuse: products and loops."""
    largest = 0
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in pallas_fold.HEAVY_NAMES:
            sizes = [v.aval.size * v.aval.dtype.itemsize for v in eqn.outvars
                     if hasattr(v.aval, "shape") and hasattr(v.aval.dtype, "itemsize")]
            largest = max(largest, *sizes)
        largest = max([largest, *map(_largest_value, pallas_fold.sub_jaxprs(eqn))])
    return largest


@dataclasses.dataclass
class Dim:
    """One dimension of an array in blocks. `steps`: the grid dimensions on which its index depends."""
    size: int  # of the array, padded to whole blocks
    block: int
    kind: str  # "blocked", "squeezed", or "element": the index is a start, in elements
    steps: frozenset

    @property
    def count(self):
        return self.size // self.block

    @property
    def split(self):
        """True if the array has an axis of blocks for it."""
        return self.kind != "element" and (self.count > 1 or self.kind == "squeezed")


class BlockedArray:
    """How one operand of the call is cut into blocks."""

    def __init__(self, mapping, grid_rank):
        self.mapping = mapping
        self.aval = mapping.array_aval
        closed = discharge.discharge_state(mapping.index_map_jaxpr)
        self.index_jaxpr, self.index_consts = pallas_fold.open_jaxpr(closed)
        inputs = [frozenset({d}) for d in range(grid_rank)]
        inputs += [frozenset()] * (len(self.index_jaxpr.invars) - grid_rank)
        depends = Dependences(()).results(self.index_jaxpr, inputs)
        self.reads_scalars = self._component_reads_scalars(grid_rank)
        self.padding = [bd.padding if isinstance(bd, pallas_core.Element) else (0, 0)
                        for bd in mapping.block_shape]
        self.dims = [self._dim(bd, size + sum(padding), steps) for bd, size, padding, steps in
                     zip(mapping.block_shape, self.aval.shape, self.padding, depends)]
        self.tables = {}

    def _component_reads_scalars(self, grid_rank):
        inputs = [frozenset()] * grid_rank
        inputs += [frozenset({0})] * (len(self.index_jaxpr.invars) - grid_rank)
        depends = Dependences(()).results(self.index_jaxpr, inputs)
        return [bool(d) for d in depends[:len(self.mapping.block_shape)]]

    @staticmethod
    def _dim(block_dim, size, steps):
        match block_dim:
            case pallas_core.Squeezed():
                block, kind = 1, "squeezed"
            case pallas_core.Blocked(block):
                kind = "blocked"
            case pallas_core.Element(block):
                kind = "element"
            case _:
                raise NotImplementedError(f"pallas_call on hlocc: block dimension {block_dim}")
        return Dim(-(-size // block) * block, block, kind, steps)

    def indices(self, axes, scalars):
        """(value, bounds) of every index, for the program ids `axes` of all grid dimensions."""
        args = [*(axis.index for axis in axes), *scalars]
        bounds = [None if axis.low is None else (axis.low, axis.high) for axis in axes]
        found = Evaluator(())._run(self.index_jaxpr, self.index_consts, args, bounds)
        return found[:len(self.dims)]

    def table(self, index, step, grid):
        """The block index of dimension `index` for each program id of grid dimension `step`, where it
        depends on nothing else and stays inside the array; None otherwise."""
        if index not in self.tables:
            self.tables[index] = self._table(index, step, grid)
        return self.tables[index]

    def _table(self, index, step, grid):
        dim, count = self.dims[index], grid[step]
        if not dim.split or self.reads_scalars[index] or dim.steps != {step}:
            return None
        if self.index_jaxpr.outvars[index] is self.index_jaxpr.invars[step]:
            return np.arange(count) if count <= dim.count else None
        return self._evaluate_table(index, step, grid, dim.count)

    def windows(self, index, steps, grid):
        """Windows of elements at equal distances, where their starts are known; None otherwise."""
        dim = self.dims[index]
        if len(steps) != 1 or dim.steps != set(steps) or self.reads_scalars[index]:
            return None
        starts = self._evaluate_table(index, steps[0], grid, dim.size - dim.block + 1)
        if starts is None:
            return None
        distance = int(starts[1] - starts[0])
        if distance <= 0 or np.any(np.diff(starts) != distance):
            return None
        windows = Windows(int(starts[0]), distance, len(starts), dim.block)
        return windows if windows.pieces <= WINDOW_PIECES_LIMIT else None

    def _evaluate_table(self, index, step, grid, limit):
        """The values of an index for the program ids of a step; None unless they are below `limit`."""
        count = grid[step]
        if count > TABLE_LIMIT:
            return None
        zeros = [ProgramId(np.int32(0), size, 0, 0) for size in grid]
        scalars = [np.zeros(v.aval.shape, v.aval.dtype) for v in
                   self.index_jaxpr.invars[len(grid):]]
        found = []
        for i in range(count):
            axes = [*zeros[:step], ProgramId(np.int32(i), count, i, i), *zeros[step + 1:]]
            bound = self.indices(axes, scalars)[index][1]
            if bound is None or bound[0] != bound[1] or not 0 <= bound[0] < limit:
                return None
            found.append(bound[0])
        return np.array(found)

    def shape(self):
        """Shape of the array in blocks."""
        return tuple(size for dim in self.dims for size in self._axes(dim))

    @staticmethod
    def _axes(dim):
        if not dim.split:
            return (dim.size,)
        return (dim.count,) if dim.kind == "squeezed" else (dim.count, dim.block)

    def to_blocks(self, value):
        """The array, padded with what interpret mode pads, as an array of blocks."""
        low_high = [(low, dim.size - low - size, 0) for (low, _), dim, size in
                    zip(self.padding, self.dims, self.aval.shape)]
        if any(low or high for low, high, _ in low_high):
            value = lax.pad(value, primitives.uninitialized_value((), value.dtype), low_high)
        return value.reshape(self.shape())

    def from_blocks(self, value):
        value = value.reshape([dim.size for dim in self.dims])
        starts = [low for low, _ in self.padding]
        return lax.slice(value, starts, [s + n for s, n in zip(starts, self.aval.shape)])

    def select(self, parallel, axes, scalars, grid):
        """The blocks that one step of the loops works on, `parallel` grid dimensions at once."""
        found = self.indices(axes, scalars)
        chosen = Selection([], [], [], [], {})
        for i, dim in enumerate(self.dims):
            value, bound = found[i]
            steps = tuple(sorted(dim.steps & parallel))
            if dim.kind == "blocked" and not dim.split:
                chosen.add(0, dim.size, None)
            elif dim.kind == "element":
                windows = self.windows(i, steps, grid) if steps else None
                if windows:
                    chosen.gather(dim.size, windows, (*steps, None))
                elif steps:
                    starts = jnp.clip(self._gathered(i, steps, axes, scalars), 0,
                                      dim.size - dim.block)
                    within = jnp.arange(dim.block, dtype=np.int32)
                    elements = starts[..., None] + within.reshape((1,) * len(steps) + (-1,))
                    chosen.gather(dim.size, elements, (*steps, None))
                else:
                    chosen.add(_start(value, bound, dim.size - dim.block), dim.block, None)
            elif not steps:
                chosen.add(_start(value, bound, dim.count - 1), 1, "drop")
            else:
                table = self.table(i, steps[0], grid)
                if table is None:
                    chosen.gather(dim.count, self._gathered(i, steps, axes, scalars), steps)
                else:
                    chosen.take(table, steps[0])
            if dim.split and dim.kind == "blocked":
                chosen.add(0, dim.block, None)
        return chosen

    def _gathered(self, index, steps, axes, scalars):
        """The index of one dimension for all program ids of the grid dimensions `steps`."""
        def at(ids):
            ids = dict(zip(steps, ids))
            here = [ProgramId(ids[d], axis.size, 0, axis.size - 1) if d in ids else axis
                    for d, axis in enumerate(axes)]
            return lax.convert_element_type(self.indices(here, scalars)[index][0], np.int32)

        function = at
        for depth in reversed(range(len(steps))):
            function = jax.vmap(function, in_axes=([0 if k == depth else None
                                                    for k in range(len(steps))],))
        return function([jnp.arange(axes[d].size, dtype=np.int32) for d in steps])


def _start(value, bound, limit):
    """A start index: an int where it is known, clamped as dynamic slices are."""
    if bound is not None and bound[0] == bound[1]:
        return min(max(int(bound[0]), 0), limit)
    return value


@dataclasses.dataclass
class Windows:
    """`count` windows of `size` elements, `distance` apart, the first one at `start`."""
    start: int
    distance: int
    count: int
    size: int

    @property
    def pieces(self):
        return -(-self.size // self.distance)

    def take(self, value, axis):
        """The windows as two axes. Each is joined from parts of adjacent blocks, which are views."""
        parts = []
        for first in range(0, self.size, self.distance):
            start, whole = self.start + first, self.count * self.distance
            end = min(start + whole, value.shape[axis])
            part = lax.slice_in_dim(value, start, end, axis=axis)
            missing = [(0, whole - (end - start) if d == axis else 0, 0) for d in range(value.ndim)]
            part = lax.pad(part, np.zeros((), value.dtype), missing)
            shape = [*value.shape[:axis], self.count, self.distance, *value.shape[axis + 1:]]
            length = min(self.distance, self.size - first)
            parts.append(lax.slice_in_dim(part.reshape(shape), 0, length, axis=axis + 1))
        return lax.concatenate(parts, axis + 1)


@dataclasses.dataclass
class Selection:
    """A slice of an array in blocks. labels: per axis its grid dimension, "drop", or None for elements
    of the block; a tuple of them for gathered axes. tables: for axes that are repeated, permuted or
    gathered, the index of each step."""
    starts: list
    sizes: list
    labels: list
    drops: list
    tables: dict

    def add(self, start, size, label):
        if label == "drop":
            self.drops.append(len(self.starts))
        self.starts.append(start)
        self.sizes.append(size)
        self.labels.append(label)

    def take(self, table, step):
        """Adds an axis of blocks with the index of each step, known now."""
        low, high = int(table.min()), int(table.max())
        if not np.array_equal(table, np.arange(low, high + 1)):
            self.tables[len(self.starts)] = table - low
        self.add(low, high - low + 1, step)

    def gather(self, count, table, labels):
        """Adds an axis with indices known when the program runs, which becomes several axes."""
        self.tables[len(self.starts)] = table
        self.add(0, count, labels)

    def kept_labels(self):
        kept = []
        for label in self.labels:
            kept += label if isinstance(label, tuple) else [label] if label != "drop" else []
        return kept

    def _static(self):
        return all(isinstance(start, int) for start in self.starts)

    def _dynamic_starts(self):
        return [lax.convert_element_type(start, np.int32) for start in self.starts]

    def read(self, value):
        if self._static():
            ends = [start + size for start, size in zip(self.starts, self.sizes)]
            value = lax.slice(value, self.starts, ends)
        else:
            value = lax.dynamic_slice(value, self._dynamic_starts(), self.sizes)
        value = lax.squeeze(value, self.drops)
        for axis, table in reversed(self.tables.items()):
            value = _take_blocks(value, axis - sum(drop < axis for drop in self.drops), table)
        return value

    def write(self, value, update):
        update = lax.expand_dims(update, self.drops)
        if update.shape == value.shape:
            return update
        return lax.dynamic_update_slice(value, update, self._dynamic_starts())


def _take_blocks(value, axis, table):
    """value with the blocks table[0], table[1], ... along the axis."""
    if isinstance(table, Windows):
        return table.take(value, axis)
    if not isinstance(table, np.ndarray):
        return jnp.take(value, table, axis=axis, mode="clip")
    count = value.shape[axis]
    repeats = len(table) // count
    if repeats * count == len(table) and np.array_equal(table, np.arange(len(table)) // repeats):
        shape = [*value.shape[:axis + 1], repeats, *value.shape[axis + 1:]]
        kept = [i for i in range(len(shape)) if i != axis + 1]
        value = lax.broadcast_in_dim(value, shape, kept)
        return value.reshape([*shape[:axis], len(table), *shape[axis + 2:]])
    return jnp.take(value, jnp.asarray(table), axis=axis, mode="clip")


class Kernel:
    """One call: the discharged kernel, its arrays in blocks, and what runs in parallel."""

    def __init__(self, jaxpr, grid_mapping, grid):
        self.mapping, self.grid = grid_mapping, grid
        debug_info = jaxpr.debug_info
        with pallas_discharge.rules():
            _check_discharge(jaxpr, debug_info)
            body, self.consts, scratch_avals = hlo_interpreter.kernel_to_hlo_jaxpr(
                jaxpr, (), grid_mapping)
        self.discharged = body
        body = pallas_fold.open_jaxpr(body)[0]
        body = body.replace(outvars=passed_through(body))
        scalar_count, block_count = grid_mapping.num_index_operands, len(
            grid_mapping.block_mappings)
        # Positions among the arguments: scalars, blocks (inputs and outputs), scratch.
        self.written = [out is not var for out, var in zip(body.outvars, body.invars, strict=True)]
        self.blocks = range(scalar_count, scalar_count + block_count)
        self.scratch = range(scalar_count + block_count, len(body.invars))
        self.written[:scalar_count] = [False] * scalar_count
        self.body, self.used = self._without_dead_code(body, list(self.written))
        _check_lowering(self.body, debug_info)
        self.scratch_avals = dict(zip(self.scratch, scratch_avals))
        self.arrays = {position: BlockedArray(mapping, len(grid)) for position, mapping in
                       zip(self.blocks, grid_mapping.block_mappings)}
        self.outputs = [position for position in range(len(self.written)) if self.written[position]]
        self.names = [d for d in range(len(grid)) if d not in grid_mapping.vmapped_dims]
        self.decided = frozenset()
        self.parallel = self._independent_dims()
        self.carries_scratch = any(self.used[position] for position in self.scratch)

    def _without_dead_code(self, jaxpr, outputs):
        with self.mapping.trace_env():
            return pe.dce_jaxpr(jaxpr, outputs)

    def _independent_dims(self):
        everything = frozenset(range(len(self.grid)))
        inputs = []
        for position in range(len(self.written)):
            if not self.used[position]:
                continue
            if position in self.arrays and not self.written[position]:
                inputs.append(frozenset().union(*(d.steps for d in self.arrays[position].dims)))
            else:
                inputs.append(everything if self.written[position] else frozenset())
        depends = Dependences(self.names)
        depends.results(self.body, inputs)
        self.decided = depends.conditions
        if self._has_side_effects():
            return frozenset()
        dims = {d for d, size in enumerate(self.grid) if isinstance(size, int) and size > 1}
        dims = frozenset(d for d in dims - depends.loops if self._blocks_allow(d))
        return self._within_memory(self._without_scratch_carries(dims))

    def _has_side_effects(self):
        return any(not isinstance(effect, state.RefEffect) for effect in self.body.effects)

    def _blocks_allow(self, step):
        """True if all arrays are blocked so that the steps along a grid dimension are independent."""
        for position, array in self.arrays.items():
            if not (self.used[position] or self.written[position]):
                continue
            at = [i for i, dim in enumerate(array.dims) if step in dim.steps]
            if len(at) > 1 or (self.written[position] and not at):
                return False
            if self.written[position]:
                table = array.table(at[0], step, self.grid)
                if table is None or not np.array_equal(table, table[0] + np.arange(len(table))):
                    return False
        return True

    def _without_scratch_carries(self, dims):
        """Removes dimensions along which scratch leads from one step to the next."""
        if not any(self.used[position] for position in self.scratch):
            return dims
        loops = [d for d, size in enumerate(self.grid)
                 if d not in dims and not (isinstance(size, int) and size == 1)]
        dims = frozenset(d for d in dims if not loops or d < loops[0])
        return dims if not self._first_step_reads_scratch(dims) else frozenset()

    def _within_memory(self, dims):
        """Removes dimensions until the largest value of the kernel that is kept takes, for all steps
        at once, no more than MEMORY_LIMIT or than the arrays."""
        arrays = sum(a.aval.size * a.aval.dtype.itemsize for a in self.arrays.values())
        largest = _largest_value(self.body)
        while dims and largest * np.prod([self.grid[d] for d in dims]) > max(MEMORY_LIMIT, arrays):
            # Loops are outside of what is done at once, unless scratch is carried along them.
            carried = any(self.used[position] for position in self.scratch)
            dims -= {max(dims) if carried else min(dims)}
        return dims

    def _first_step_reads_scratch(self, dims):
        """Traces the step at the start of all loops, where conditions on their indices are decided."""
        def axes(values):
            values = iter(values)
            return [ProgramId(next(values), size, 0, size - 1) if d in dims else
                    ProgramId(np.int32(0), size, 0, 0) for d, size in enumerate(self.grid)]

        def first_step(ids, args):
            return self._evaluate(axes(ids), args)

        ids = [jax.ShapeDtypeStruct((), np.int32) for _ in dims]
        args = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in self.body.invars]
        with self.mapping.trace_env():
            traced = pallas_fold.open_jaxpr(jax.make_jaxpr(first_step)(ids, args))[0]
        _, used = self._without_dead_code(traced, [True] * len(traced.outvars))
        used = used[len(ids):]
        positions = [p for p in range(len(self.used)) if self.used[p]]
        return any(u for p, u in zip(positions, used, strict=True) if p in self.scratch)

    def _evaluate(self, axes, args):
        """The written values after one step; args: the used arguments, in order."""
        if self.mapping.local_grid_env is not None:
            ids = [axis.index for axis in axes]
            local = [ProgramId(axis.index, axis.size) for axis in
                     self.mapping.local_grid_env(ids, self.grid)]
        else:
            local = [axes[d] for d in self.names]
        named = dict(zip(self.mapping.grid_names or (), axes))
        with pallas_core.grid_env([pallas_core.GridAxis(a.index, a.size) for a in local]):
            return Evaluator(local, named).run(self.body, self.consts, args)

    # One step of the loops: all parallel steps at once.

    def step(self, axes, scalars, inputs, state_values):
        """state_values: by position, the written arrays in blocks, and scratch. Returns new ones."""
        dims = sorted(self.parallel)
        args, labels = [], []
        selections = {}
        for position, array in self.arrays.items():
            if self.used[position] or self.written[position]:
                selections[position] = array.select(self.parallel, axes, scalars, self.grid)
        for position in range(len(self.used)):
            if not self.used[position]:
                continue
            if position in self.arrays:
                value = state_values.get(position, inputs.get(position))
                args.append(selections[position].read(value))
                labels.append(selections[position].kept_labels())
            elif position in self.scratch_avals:
                value, carried = self._scratch_value(position, state_values)
                args.append(value)
                labels.append(dims if carried else [])
            else:
                args.append(scalars[position])
                labels.append([])
        out_labels = [selections[position].kept_labels() if position in self.arrays else list(dims)
                      for position in self.outputs]
        results = self._mapped(axes, dims, labels, out_labels)(
            [jnp.arange(self.grid[d], dtype=np.int32) for d in dims], args)
        new_state = {}
        for position, result in zip(self.outputs, results):
            if position in self.arrays:
                new_state[position] = selections[position].write(state_values[position], result)
            elif position in state_values:
                new_state[position] = result
        return new_state

    def _scratch_value(self, position, state_values):
        if position in state_values:
            return state_values[position], True
        aval = self.scratch_avals[position]
        return primitives.uninitialized_value(aval.shape, aval.dtype), False

    def _mapped(self, axes, dims, labels, out_labels):
        def kernel(ids, args):
            ids = dict(zip(dims, ids))
            here = [ProgramId(ids[d], axis.size, 0, axis.size - 1) if d in ids else axis
                    for d, axis in enumerate(axes)]
            return self._evaluate(here, args)

        function = kernel
        for depth in reversed(range(len(dims))):
            mapped, outer = dims[depth], dims[:depth]

            def position_of(names, outer=outer, mapped=mapped):
                rest = [name for name in names if name is None or name not in outer]
                return rest.index(mapped) if mapped in rest else None

            id_axes = [0 if d == mapped else None for d in dims]
            function = jax.vmap(function,
                                in_axes=(id_axes, [position_of(names) for names in labels]),
                                out_axes=[position_of(names) for names in out_labels])
        return function

    def initial_state(self, inputs, aliases):
        values = {}
        first_output = self.blocks.start + self.mapping.num_inputs
        sources = {output: source for source, output in aliases}
        for position in self.outputs:
            if position not in self.arrays:
                continue
            array = self.arrays[position]
            if position < first_output:
                values[position] = inputs[position]
            elif position - first_output in sources:
                values[position] = inputs[sources[position - first_output]]
            else:
                values[position] = primitives.uninitialized_value(array.shape(), array.aval.dtype)
        if self.carries_scratch and any(self._loops()):
            sizes = tuple(self.grid[d] for d in sorted(self.parallel))
            for position, aval in self.scratch_avals.items():
                if self.used[position]:
                    values[position] = primitives.uninitialized_value(
                        (*sizes, *aval.shape), aval.dtype)
        return values

    # The loops over the other dimensions.

    def _loops(self):
        return [d not in self.parallel and not (isinstance(size, int) and size == 1)
                for d, size in enumerate(self.grid)]

    def run(self, scalars, inputs, aliases):
        zeros = [ProgramId(np.int32(0), size, 0, 0) for size in self.grid]
        loops = [d for d, is_loop in enumerate(self._loops()) if is_loop]
        apart, copies = set(), 1
        for d in reversed(loops):
            if d in self.decided and isinstance(self.grid[d], int) and copies * 3 <= COPY_LIMIT:
                apart.add(d)
                copies *= 3
        values = self.initial_state(inputs, aliases)
        return self._run_loops(loops, apart, zeros, scalars, inputs, values)

    def _run_loops(self, loops, apart, axes, scalars, inputs, values):
        if not loops:
            return values | self.step(axes, scalars, inputs, values)
        d, inner = loops[0], loops[1:]
        size = self.grid[d]

        def run_at(index, low, high, values):
            here = list(axes)
            here[d] = ProgramId(index, size, low, high)
            return self._run_loops(inner, apart, here, scalars, inputs, values)

        def run_range(low, high, values):
            if high is not None and high - low == 1:
                return run_at(np.int32(low), low, low, values)
            last = None if high is None else high - 1
            first = None if high is None else low
            return lax.fori_loop(np.int32(low), size if high is None else np.int32(high),
                                 lambda i, carry: run_at(i, first, last, carry), values)

        if not isinstance(size, int):
            return run_range(0, None, values)
        if size == 0:
            return values
        if d not in apart:
            return run_range(0, size, values)
        values = run_range(0, 1, values)
        if size > 2:
            values = run_range(1, size - 1, values)
        return run_range(size - 1, size, values)


def run_kernel(*args, jaxpr, grid_mapping, input_output_aliases, debug=False, **_):
    """Results of a pallas_call; the parameters are those of its primitive, of which compiler
    parameters, cost estimates, names and metadata have no influence on hlocc's program.
    errors : NotImplementedError names the primitive, and its line in the kernel"""
    if pallas_fold.open_jaxpr(jaxpr)[0].constvars:
        raise ValueError("Cannot lower a pallas_call with constants.")
    bounds = iter(args[:grid_mapping.num_dynamic_grid_bounds])
    args = args[grid_mapping.num_dynamic_grid_bounds:]
    grid = tuple(size if isinstance(size, int) else next(bounds) for size in grid_mapping.grid)
    kernel = Kernel(jaxpr, grid_mapping, grid)
    if debug:
        print(f"\nJaxpr of the kernel in pallas_call {jaxpr.debug_info.func_src_info}:")
        print(kernel.discharged)
    scalar_count = grid_mapping.num_index_operands
    inputs = {position: kernel.arrays[position].to_blocks(args[position])
              for position in range(scalar_count, len(args))
              if kernel.used[position] or kernel.written[position]
              or any(source == position for source, _ in input_output_aliases)}
    values = kernel.run(args[:scalar_count], inputs, input_output_aliases)
    results = []
    first_output = scalar_count + grid_mapping.num_inputs
    for position in range(first_output, first_output + grid_mapping.num_outputs):
        array = kernel.arrays[position]
        if position not in values:  # the kernel writes nothing to it
            source = [s for s, output in input_output_aliases if output == position - first_output]
            values[position] = inputs[source[0]] if source else primitives.uninitialized_value(
                array.shape(), array.aval.dtype)
        results.append(array.from_blocks(values[position]))
    return results
