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
PIPELINE_MODULE = "jax._src.pallas.mosaic.pipeline"
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


def _install_pipeline(module):
    from hlocc import pallas_pipeline

    pallas_pipeline.install(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Calls install(module) when JAX first imports a module of Pallas, which takes too long to import
    for nothing."""

    def __init__(self, module_name, install):
        self.module_name, self.install = module_name, install

    def find_spec(self, name, path, target=None):
        if name != self.module_name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None:
            execute = spec.loader.exec_module

            def execute_and_install(module):
                execute(module)
                self.install(module)

            spec.loader.exec_module = execute_and_install
        return spec


def connect():
    """Installs the rule now if Pallas is imported, else when it is."""
    import jax

    if jax.version.__version_info__[:2] < JAX_MINIMUM:
        return
    for name, install in ((RULES_MODULE, _install), (PIPELINE_MODULE, _install_pipeline)):
        if name in sys.modules:
            install(sys.modules[name])
        else:
            sys.meta_path.insert(0, _Finder(name, install))
