# SPDX-License-Identifier: Apache-2.0
"""Which grid dimensions the values of a kernel depend on."""
from jax._src import core as jax_core

from hlocc.pallas_fold import (CALL_NAMES, HEAVY_NAMES, contains, contains_program_id, open_jaxpr,
                               scan_parts)

KNOWN_CALL_NAMES = CALL_NAMES | {"remat", "checkpoint", "custom_jvp_call", "custom_vjp_call"}


def passed_through(jaxpr):
    """For each result the argument or variable of the jaxpr whose value it is: loops and conditions
    carry references that they only read."""
    same = {}

    def source(atom):
        return atom if isinstance(atom, jax_core.Literal) else same.get(atom, atom)

    def positions(closed):
        """For each result the number of the argument that it is, or None."""
        inner = open_jaxpr(closed)[0]
        numbers = {var: i for i, var in enumerate(inner.invars)}
        return [None if isinstance(atom, jax_core.Literal) else numbers.get(atom)
                for atom in passed_through(inner)]

    for eqn in jaxpr.eqns:
        name, kept = eqn.primitive.name, []
        if name == "scan":
            consts, carry, _ = scan_parts(eqn, list(eqn.invars))
            at = positions(eqn.params["jaxpr"])
            kept = [at[i] == len(consts) + i and atom for i, atom in enumerate(carry)]
        elif name == "while":
            count, skipped = eqn.params["body_nconsts"], eqn.params["cond_nconsts"]
            at = positions(eqn.params["body_jaxpr"])
            carry = eqn.invars[skipped + count:]
            kept = [at[i] == count + i and atom for i, atom in enumerate(carry)]
        elif name == "cond":
            branches = [positions(branch) for branch in eqn.params["branches"]]
            kept = [len(set(each)) == 1 and each[0] is not None and eqn.invars[1 + each[0]]
                    for each in zip(*branches)]
        elif name in CALL_NAMES:
            at = positions(eqn.params.get("jaxpr", eqn.params.get("call_jaxpr")))
            kept = [i is not None and eqn.invars[i] for i in at]
        same.update((var, source(atom)) for var, atom in zip(eqn.outvars, kept) if atom is not False)
    return [source(atom) for atom in jaxpr.outvars]


class Dependences:
    """names[i] is the grid dimension of pl.program_id(i). After results(), `conditions` has the
    dimensions on which conditions depend, `loops` those on which the ends of loops do, or conditions
    that choose between products or loops, which are too much to compute for all steps."""

    def __init__(self, names):
        self.names = names
        self.conditions = frozenset()
        self.loops = frozenset()

    def results(self, jaxpr, inputs):
        """The set of grid dimensions of each result, from those of the arguments."""
        found = {var: frozenset() for var in jaxpr.constvars}
        found.update(zip(jaxpr.invars, inputs, strict=True))

        def read(atom):
            return frozenset() if isinstance(atom, jax_core.Literal) else found[atom]

        for eqn in jaxpr.eqns:
            depends = [read(atom) for atom in eqn.invars]
            found.update(zip(eqn.outvars, self._equation(eqn, depends), strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, eqn, depends):
        name = eqn.primitive.name
        if name == "program_id":
            return [frozenset({self.names[eqn.params["axis"]]})]
        if name == "axis_index":
            return [frozenset(self.names)]
        if name == "cond":
            return self._cond(eqn, depends)
        if name == "while":
            return self._while(eqn, depends)
        if name == "scan":
            return self._scan(eqn, depends)
        if name in KNOWN_CALL_NAMES:
            for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
                if key in eqn.params:
                    jaxpr = open_jaxpr(eqn.params[key])[0]
                    if len(jaxpr.invars) == len(depends):
                        return self.results(jaxpr, depends)
        inner = frozenset(self.names) if contains_program_id(eqn) else frozenset()
        return [inner.union(*depends)] * len(eqn.outvars)

    def _cond(self, eqn, depends):
        self.conditions |= depends[0]
        branches = [open_jaxpr(branch)[0] for branch in eqn.params["branches"]]
        if any(contains(branch, HEAVY_NAMES) for branch in branches):
            self.loops |= depends[0]
        results = [self.results(branch, depends[1:]) for branch in branches]
        return [depends[0].union(*each) for each in zip(*results)]

    def _while(self, eqn, depends):
        cond_count, body_count = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        cond_consts, rest = depends[:cond_count], depends[cond_count:]
        body_consts, carry = rest[:body_count], rest[body_count:]
        body = open_jaxpr(eqn.params["body_jaxpr"])[0]
        cond = open_jaxpr(eqn.params["cond_jaxpr"])[0]
        carry = self._fixpoint(carry, lambda now: self.results(body, [*body_consts, *now]))
        end = self.results(cond, [*cond_consts, *carry])[0]
        self.loops |= end
        return [each | end for each in carry]

    def _scan(self, eqn, depends):
        consts, carry, inputs = scan_parts(eqn, depends)
        body = open_jaxpr(eqn.params["jaxpr"])[0]
        outputs = []

        def once(now):
            results = self.results(body, [*consts, *now, *inputs])
            outputs[:] = results[len(carry):]
            return results[:len(carry)]

        return [*self._fixpoint(carry, once), *outputs]

    @staticmethod
    def _fixpoint(carry, once):
        while True:
            more = [old | new for old, new in zip(carry, once(carry))]
            if more == carry:
                return carry
            carry = more
