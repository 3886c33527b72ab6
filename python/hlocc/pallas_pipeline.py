# SPDX-License-Identifier: Apache-2.0
"""pltpu.emit_pipeline inside of kernels.

JAX expands a pipeline to copies and semaphores for the TPU that it asks its device for; hlocc is none.
Where hlocc is the default device, pipelines are traced as one primitive instead (a mode that JAX has),
and discharged as a pallas_call of the body on the references' values: its grid becomes dimensions of
arrays or loops as that of every kernel.
"""
import functools

from jax._src import config
from jax._src import core as jax_core
from jax._src import state
from jax._src.interpreters import pxla
from jax._src.pallas import core as pallas_core
from jax._src.pallas import pallas_call
from jax._src.state import discharge

PIPELINE_MODULE = "jax._src.pallas.mosaic.pipeline"


def _is_ours():
    client = getattr(pxla.get_default_device(), "client", None)
    return "hlocc" in getattr(client, "platform_version", "")


def install(module):
    """Changes an imported PIPELINE_MODULE: emit_pipeline, which kernels may have imported by its name,
    calls _emit_pipeline unless pipelines are primitives."""
    theirs = getattr(module, "_emit_pipeline", None)
    flag = getattr(config, "use_emit_pipeline_primitive", None)
    if theirs is None or flag is None or not hasattr(module, "emit_pipeline_p"):
        return  # before jax 0.10.2

    @functools.wraps(theirs)
    def emit_pipeline(*args, **kwargs):
        if "_grid_offsets" in kwargs or not _is_ours():  # the former from the primitive's own rule
            return theirs(*args, **kwargs)
        with flag(True):
            return module.emit_pipeline(*args, **kwargs)

    module._emit_pipeline = emit_pipeline
    # A pipeline whose trace starts JAX's backends asks for the TPU before it can be told: any will do.
    info = module.tpu_info
    info.registry.setdefault("cpu", lambda: info._get_tpu_info_impl(info.ChipVersion.TPU_V5E, 1))


class _Operands:
    """The values of a pipeline's references, of which several may be views of one array."""

    def __init__(self, args, args_tree):
        self.values = list(args)
        self.numbers = [leaf.ref if isinstance(leaf, state.TransformedRef) else leaf
                        for leaf in self._leaves(args_tree, range(len(args)))]
        self.transforms = [leaf.transforms if isinstance(leaf, state.TransformedRef) else ()
                           for leaf in self._leaves(args_tree, args)]

    @staticmethod
    def _leaves(args_tree, args):
        from jax._src.pallas.mosaic import pipeline

        return pipeline.tracing_registry.flatten(args_tree.unflatten(args),
                                                 pipeline.is_transformed_ref)[0]

    def read(self, leaf):
        return discharge.transform_array(self.values[self.numbers[leaf]], self.transforms[leaf])

    def write(self, leaf, value):
        """Returns the number of the array that is written."""
        number = self.numbers[leaf]
        if self.transforms[leaf]:
            _, value = discharge.transform_swap_array(self.values[number], self.transforms[leaf], value)
        self.values[number] = value
        return number


def _spec(mapping, consts, scalars_before):
    """The block's spec, whose index map reads the values that it captured from prefetched scalars."""
    spec = mapping.to_block_spec()
    jaxpr = getattr(mapping.index_map_jaxpr, "jaxpr", mapping.index_map_jaxpr)

    def index_map(*args):
        grid_rank = len(jaxpr.invars)
        scalars = args[grid_rank + scalars_before:][:len(consts)]
        values = [scalar if isinstance(var.aval, state.AbstractRef) else
                  scalar[0] if var.aval.shape == () else scalar[...]
                  for var, scalar in zip(jaxpr.constvars, scalars)]
        found = jax_core.eval_jaxpr(jaxpr, values, *args[:grid_rank])
        return tuple(found)

    return pallas_core.BlockSpec(spec.block_shape, index_map)


def _split(values, counts):
    start, parts = 0, []
    for count in counts:
        parts.append(values[start:start + count])
        start += count
    return [*parts, values[start:]]


def discharge_pipeline(in_avals, out_avals, *args, body_jaxpr, body_consts_len, grid_mapping, args_tree,
                       _static_grid_offsets, _num_extra_dynamic, **_):
    del out_avals
    from jax._src.pallas.mosaic import core as tpu_core

    # Scoped references around the pipeline are discharged later: they are read here, and written.
    held = {i: arg for i, arg in enumerate(args)
            if isinstance(jax_core.typeof(arg), state.AbstractRef)}
    args = [held[i][...] if i in held else arg for i, arg in enumerate(args)]
    if any(not isinstance(offset, int) or offset for offset in _static_grid_offsets):
        raise NotImplementedError("emit_pipeline whose grid is divided over several cores on hlocc")
    mappings = grid_mapping.block_mappings
    consts_of = [len(mapping.index_map_jaxpr.consts) for mapping in mappings]
    index_consts, bounds, _, body_consts, refs = _split(
        args, [sum(consts_of), grid_mapping.num_dynamic_grid_bounds, _num_extra_dynamic, body_consts_len])
    bounds = iter(bounds)
    grid = tuple(size if isinstance(size, int) else next(bounds) for size in grid_mapping.grid)
    operands = _Operands(refs, args_tree)
    scalars = [value if value.ndim else value[None] for value in index_consts]
    before = [sum(consts_of[:i]) for i in range(len(mappings))]
    specs = [_spec(mapping, range(count), at) for mapping, count, at in zip(mappings, consts_of, before)]
    in_count = grid_mapping.num_inputs
    captured = [isinstance(var.aval, state.AbstractRef) for var in body_jaxpr.constvars]
    kept = [value if value.ndim else value[None] for value in body_consts]
    values = [*kept, *(operands.read(leaf) for leaf in range(len(mappings)))]
    whole = [pallas_core.BlockSpec(value.shape, lambda *_, rank=value.ndim: (0,) * rank) for value in kept]
    written = [i for i, is_ref in enumerate(captured) if is_ref]
    written += [len(kept) + i for i in range(in_count, len(mappings))]
    in_specs = [*whole, *specs]

    def kernel(*refs):
        inputs = list(refs[len(scalars):len(scalars) + len(values)])
        for number, ref in zip(written, refs[len(scalars) + len(values):]):
            inputs[number] = ref
        consts = [ref if is_ref and value.ndim else ref.at[0] if is_ref else
                  ref[...] if value.ndim else ref[0]
                  for ref, is_ref, value in zip(inputs, captured, body_consts)]
        jax_core.eval_jaxpr(body_jaxpr, consts, *inputs[len(kept):])

    results = pallas_call.pallas_call(
        kernel, [jax_core.ShapedArray(values[i].shape, values[i].dtype) for i in written],
        grid_spec=tpu_core.PrefetchScalarGridSpec(
            num_scalar_prefetch=len(scalars), grid=grid, in_specs=in_specs,
            out_specs=[in_specs[i] for i in written]),
        input_output_aliases={len(scalars) + i: n for n, i in enumerate(written)})(*scalars, *values)
    new = [None] * len(in_avals)
    first_const = len(args) - len(refs) - body_consts_len
    for number, result in zip(written, results):
        if number < len(kept):
            new[first_const + number] = result if body_consts[number].ndim else result[0]
        else:
            at = operands.write(number - len(kept), result)
            new[len(args) - len(refs) + at] = operands.values[at]
    for i, ref in held.items():
        if new[i] is not None:
            ref[...] = new[i]
            new[i] = None
    return new, []
