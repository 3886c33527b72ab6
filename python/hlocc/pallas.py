# SPDX-License-Identifier: Apache-2.0
"""Compiles pallas_call on hlocc clients: the lowering rule, and how JAX comes to use it.

JAX's own rule for the platform cpu knows interpret mode only. connect() puts a rule in front of it
that is taken where the program is compiled for an hlocc client and interpret is False or True; other
clients, exports, and the interpreters of TPU and GPU kernels keep JAX's rule.
hlocc.pallas_grid says how a kernel becomes a program.
"""
import functools
import importlib.abc
import importlib.machinery
import sys

RULES_MODULE = "jax._src.pallas.pallas_call"
JAX_MINIMUM = (0, 10)  # earlier versions discharge kernels in other ways; they keep JAX's rule


def _is_ours(ctx):
    """True if the program is compiled for an hlocc client; exports have no client."""
    module = ctx.module_context
    if tuple(module.platforms) != ("cpu",):
        return False
    backend = module.get_backend(optional=True)
    return backend is not None and "hlocc" in getattr(backend, "platform_version", "")


def _wrapped_rule(theirs):
    @functools.wraps(theirs)
    def rule(ctx, *in_nodes, interpret, **params):
        if not isinstance(interpret, bool) or not _is_ours(ctx):
            return theirs(ctx, *in_nodes, interpret=interpret, **params)
        from jax._src import config
        from jax._src.interpreters import mlir

        from hlocc import pallas_grid

        kernel = functools.partial(pallas_grid.run_kernel, **params)
        with config.enable_checks(False):  # they refuse calls that JAX's own discharge makes
            return mlir.lower_fun(kernel, multiple_results=True)(ctx, *in_nodes)

    return rule


def _install(module):
    """Replaces the rule of an imported RULES_MODULE; pl.kernel finds it by its name there."""
    from jax._src.interpreters import mlir

    rule = _wrapped_rule(module._pallas_call_lowering)
    module._pallas_call_lowering = rule
    mlir.register_lowering(module.pallas_call_p, rule)


class _RulesFinder(importlib.abc.MetaPathFinder):
    """Installs the rule when JAX first imports Pallas, which takes too long to import for nothing."""

    def find_spec(self, name, path, target=None):
        if name != RULES_MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_install(module):
                execute(module)
                _install(module)

            spec.loader.exec_module = execute_and_install
        return spec


def connect():
    """Installs the rule now if Pallas is imported, else when it is."""
    import jax

    if jax.version.__version_info__[:2] < JAX_MINIMUM:
        return
    if RULES_MODULE in sys.modules:
        _install(sys.modules[RULES_MODULE])
    else:
        sys.meta_path.insert(0, _RulesFinder())
