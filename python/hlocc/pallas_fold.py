# SPDX-License-Identifier: Apache-2.0
"""Evaluates the discharged body of a Pallas kernel, with what is known of the program ids.

A grid's loop is traced in parts (first step, middle, last step), in which `pl.when(k == 0)` is
decided: integers whose bounds are known are followed through comparisons and arithmetic, conditions
that they decide are replaced by the branch. Calls are evaluated in place. A condition or loop that
contains program ids is traced again, because JAX has no lowering of program ids.
"""
import dataclasses
import operator

import jax
import numpy as np
from jax._src import core as jax_core
from jax._src import source_info_util


@dataclasses.dataclass(frozen=True)
class ProgramId:
    """A program id: its value (an int, or a traced int32), and its bounds, both included."""
    index: object
    size: object
    low: int | None = None
    high: int | None = None


def open_jaxpr(closed):
    """(jaxpr, consts) of a closed jaxpr; newer versions of JAX keep both in one object."""
    return getattr(closed, "jaxpr", closed), tuple(getattr(closed, "consts", ()))


def sub_jaxprs(eqn):
    """The jaxprs among an equation's parameters, opened."""
    for value in eqn.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(item, "eqns") or hasattr(item, "jaxpr"):
                yield open_jaxpr(item)[0]


def contains(jaxpr, names):
    """True if the jaxpr, or one inside it, has an equation of a primitive with one of the names."""
    return any(eqn.primitive.name in names or any(contains(sub, names) for sub in sub_jaxprs(eqn))
               for eqn in jaxpr.eqns)


def scan_parts(eqn, values):
    """The lists of a scan's constants, carried values and inputs, from those of all its operands."""
    params = eqn.params
    if "ft_in" in params:  # since jax 0.11
        return [list(part) for part in params["ft_in"].update(values).unpack()]
    ends = params["num_consts"], params["num_consts"] + params["num_carry"]
    return [list(part) for part in (values[:ends[0]], values[ends[0]:ends[1]], values[ends[1]:])]


CALL_NAMES = frozenset({"jit", "pjit", "closed_call", "core_call", "eval_jaxpr"})
PROGRAM_ID_NAMES = frozenset({"program_id", "num_programs", "axis_index"})
HEAVY_NAMES = frozenset({"dot_general", "conv_general_dilated", "while", "scan"})


# Bounds (low, high) of results from those of the operands; None where nothing is known.
def _product(a, b):
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _compare(always, never):
    def bounds(a, b):
        if always(a, b):
            return True, True
        return (False, False) if never(a, b) else (False, True)

    return bounds


def _quotient(a, b):
    if a[0] < 0 or b[0] != b[1] or b[0] <= 0:
        return None
    return a[0] // b[0], a[1] // b[0]


def _remainder(a, b):
    if a[0] < 0 or b[0] != b[1] or b[0] <= 0:
        return None
    return (a[0] % b[0], a[1] % b[0]) if a[0] // b[0] == a[1] // b[0] else (0, b[0] - 1)


def _logic(combine):
    def bounds(a, b):
        if a[0] != a[1] and b[0] != b[1]:
            return None if not isinstance(a[0], bool) else (False, True)
        if isinstance(a[0], bool):
            return combine(a[0], b[0]), combine(a[1], b[1])
        return (combine(a[0], b[0]),) * 2 if a[0] == a[1] and b[0] == b[1] else None

    return bounds


def _selected(which, *cases):
    if which[0] == which[1]:
        return cases[int(which[0])]
    return min(case[0] for case in cases), max(case[1] for case in cases)


_equal = _compare(lambda a, b: a[0] == a[1] == b[0] == b[1],
                  lambda a, b: a[1] < b[0] or b[1] < a[0])
_BOUNDS = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _product,
    "div": _quotient,
    "rem": _remainder,
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "neg": lambda a: (-a[1], -a[0]),
    "sign": lambda a: (int(np.sign(a[0])), int(np.sign(a[1]))),
    "eq": _equal,
    "ne": lambda a, b: tuple(not bound for bound in reversed(_equal(a, b))),
    "lt": _compare(lambda a, b: a[1] < b[0], lambda a, b: a[0] >= b[1]),
    "le": _compare(lambda a, b: a[1] <= b[0], lambda a, b: a[0] > b[1]),
    "gt": _compare(lambda a, b: a[0] > b[1], lambda a, b: a[1] <= b[0]),
    "ge": _compare(lambda a, b: a[0] >= b[1], lambda a, b: a[1] < b[0]),
    "and": _logic(operator.and_),
    "or": _logic(operator.or_),
    "not": lambda a: (not a[1], not a[0]) if isinstance(a[0], bool) else None,
    "convert_element_type": lambda a: a,
    "broadcast_in_dim": lambda a: a,
    "multiple_of": lambda a: a,
    "squeeze": lambda a: a,
    "select_n": _selected,
}


def _bounds_of_constant(value):
    if isinstance(value, (jax_core.Tracer, jax.Array)) or np.shape(value) != ():
        return None
    dtype = np.asarray(value).dtype
    if dtype == np.bool_:
        return bool(value), bool(value)
    return (int(value), int(value)) if np.issubdtype(dtype, np.integer) else None


class Evaluator:
    """Evaluates jaxprs under one list of program ids. `axes[i]` belongs to pl.program_id(i), `named`
    has those of grid dimensions with names."""

    def __init__(self, axes, named=None):
        self.axes = axes
        self.named = named or {}

    def call(self, closed, *args, bounds=()):
        jaxpr, consts = open_jaxpr(closed)
        return self.run(jaxpr, consts, args, bounds)

    def run(self, jaxpr, consts, args, bounds=()):
        """Values of the jaxpr's results. bounds: those known of its arguments, from the first on."""
        return [value for value, _ in self._run(jaxpr, consts, args, bounds)]

    def _run(self, jaxpr, consts, args, bounds):
        values = dict(zip(jaxpr.constvars, consts))
        values.update(zip(jaxpr.invars, args, strict=True))
        known = {var: bound for var, bound in zip(jaxpr.invars, bounds) if bound is not None}

        def read(atom):
            return atom.val if isinstance(atom, jax_core.Literal) else values[atom]

        def bound_of(atom):
            if isinstance(atom, jax_core.Literal):
                return _bounds_of_constant(atom.val)
            return known[atom] if atom in known else _bounds_of_constant(values[atom])

        for eqn in jaxpr.eqns:
            name_stack = source_info_util.current_name_stack() + eqn.source_info.name_stack
            with source_info_util.user_context(eqn.source_info.traceback, name_stack=name_stack), \
                    eqn.ctx.manager:
                results = self._equation(eqn, [read(v) for v in eqn.invars],
                                         [bound_of(v) for v in eqn.invars])
            for var, (value, bound) in zip(eqn.outvars, results, strict=True):
                values[var] = value
                if bound is not None:
                    known[var] = bound
        return [(read(v), bound_of(v)) for v in jaxpr.outvars]

    def _equation(self, eqn, args, bounds):
        """(value, bounds or None) of each result of an equation."""
        name = eqn.primitive.name
        if name == "program_id":
            return [self._program_id(self.axes[eqn.params["axis"]])]
        if name == "axis_index" and eqn.params["axis_name"] in self.named:
            return [self._program_id(self.named[eqn.params["axis_name"]])]
        if name == "num_programs":
            return [(self.axes[eqn.params["axis"]].size, None)]
        if name == "cond":
            return self._cond(eqn, args, bounds)
        if name in CALL_NAMES:
            closed = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
            jaxpr, consts = open_jaxpr(closed)
            return self._run(jaxpr, consts, args, bounds)
        if name == "run_scoped":
            return [(value, None) for value in self._run_scoped(eqn, args)]
        if name in ("while", "scan") and contains_program_id(eqn):
            return [(value, None) for value in getattr(self, "_" + name)(eqn, args)]
        bound = self._scalar_bounds(eqn, bounds)
        if bound is not None and bound[0] == bound[1]:
            return [(np.asarray(bound[0], eqn.outvars[0].aval.dtype)[()], bound)]
        params = eqn.primitive.get_bind_params(eqn.params)
        if isinstance(params, tuple):  # versions of JAX before 0.7 return functions apart
            functions, params = params
            args = [*functions, *args]
        results = eqn.primitive.bind(*args, **params)
        if not eqn.primitive.multiple_results:
            results = [results]
        return [(value, bound) for value in results]

    @staticmethod
    def _program_id(axis):
        return axis.index, None if axis.low is None else (axis.low, axis.high)

    @staticmethod
    def _scalar_bounds(eqn, bounds):
        rule = _BOUNDS.get(eqn.primitive.name)
        if rule is None or None in bounds or eqn.outvars[0].aval.shape != ():
            return None
        dtype = eqn.outvars[0].aval.dtype
        if dtype != np.bool_ and not np.issubdtype(dtype, np.signedinteger):
            return None
        bound = rule(*bounds)
        if bound is not None and dtype != np.bool_:
            limits = np.iinfo(dtype)
            if bound[0] < limits.min or bound[1] > limits.max:
                return None
            bound = int(bound[0]), int(bound[1])
        return bound

    def _cond(self, eqn, args, bounds):
        branches = eqn.params["branches"]
        index, operands = args[0], args[1:]
        if bounds[0] is not None:
            low, high = (min(max(int(end), 0), len(branches) - 1) for end in bounds[0])
            if low == high:
                jaxpr, consts = open_jaxpr(branches[low])
                return self._run(jaxpr, consts, operands, bounds[1:])
        if not contains_program_id(eqn):
            results = eqn.primitive.bind(*args, **eqn.params)
        else:
            def branch(closed):
                return lambda *operands: self.call(closed, *operands)

            if index.dtype == np.bool_:
                index = jax.numpy.int32(index)
            results = jax.lax.switch(index, [branch(closed) for closed in branches], *operands)
        return [(value, None) for value in results]

    def _while(self, eqn, args):
        params = eqn.params
        cond_count, body_count = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, rest = args[:cond_count], args[cond_count:]
        body_consts, carry = rest[:body_count], rest[body_count:]

        def cond(carry):
            return self.call(params["cond_jaxpr"], *cond_consts, *carry)[0]

        def body(carry):
            return tuple(self.call(params["body_jaxpr"], *body_consts, *carry))

        return jax.lax.while_loop(cond, body, tuple(carry))

    def _scan(self, eqn, args):
        params = eqn.params
        consts, carry, inputs = scan_parts(eqn, args)

        def body(carry, inputs):
            results = self.call(params["jaxpr"], *consts, *carry, *inputs)
            return results[:len(carry)], results[len(carry):]

        carry, outputs = jax.lax.scan(body, carry, inputs, length=params["length"],
                                      reverse=params["reverse"], unroll=params["unroll"])
        return [*carry, *outputs]

    def _run_scoped(self, eqn, args):
        from jax._src.interpreters import partial_eval as pe
        from jax._src.pallas import primitives
        from jax._src.state import discharge

        from hlocc import pallas_discharge

        if eqn.params.get("collective_axes"):
            raise NotImplementedError("run_scoped with collective_axes on hlocc")
        scoped = pe.convert_constvars_jaxpr(eqn.params["jaxpr"])
        count = len(scoped.outvars)
        if hasattr(jax_core, "ClosedJaxpr"):  # a name of its own until jax 0.11
            scoped = jax_core.ClosedJaxpr(scoped, ())
        with pallas_discharge.rules():
            closed = discharge.discharge_state(scoped)
        jaxpr, consts = open_jaxpr(closed)
        initial = [primitives.uninitialized_value(v.aval.shape, v.aval.dtype)
                   for v in jaxpr.invars[len(args):]]
        return self.run(jaxpr, consts, [*args, *initial])[:count]


def contains_program_id(eqn):
    return any(contains(sub, PROGRAM_ID_NAMES) for sub in sub_jaxprs(eqn))
