// SPDX-License-Identifier: Apache-2.0
// Propagation of shardings through the entry function.
//
// For each priority that the program gives dimensions, for each class of ops (phase), for the basic
// and then the aggressive strategy: a worklist of steps runs until nothing changes. Axes are only
// ever added, so that it ends, and the order is that of the program, so that it is deterministic.
// source : Shardy, "Propagation", conflict resolution hierarchy
#include <string.h>

#include "ir/clone.h"
#include "passes/expand.h"
#include "spmd/propagate_impl.h"

enum { PHASE_COUNT = 5 };

// ---- worklist

static void push_step(hlo_prop_t* prop, hlo_prop_step_t* step) {
  if (step->is_queued) return;
  step->is_queued = true;
  prop->queue[prop->queue_count++] = step;
}

// Users are pushed last to first: the definition is looked at after all of them.
static void push_slot(hlo_prop_t* prop, const hlo_prop_slot_t* slot,
                      const hlo_prop_step_t* except) {
  if (!slot->step_count) return;
  hlo_prop_step_t** list = &prop->slot_steps[slot->first_step - 1];
  if (list[0] != except) push_step(prop, list[0]);
  for (uint32_t i = slot->step_count; i-- > 1;) {
    if (list[i] != except) push_step(prop, list[i]);
  }
}

static hlo_status_t run_results(hlo_prop_t* prop) {
  bool changed[2];
  for (uint32_t i = 0; i < prop->result_count; ++i) {
    HLO_TRY(hlo_prop_step_run(prop, &prop->result_steps[i], changed));
  }
  return hlo_ok();
}

static uint32_t largest_step(const hlo_prop_t* prop) {
  uint32_t count = 1;
  for (uint32_t i = 0; i < prop->step_count; ++i) {
    if (prop->steps[i]->tensor_count > count) count = prop->steps[i]->tensor_count;
  }
  return count;
}

static hlo_status_t run_strategy(hlo_prop_t* prop, bool* changed) {
  HLO_TRY(run_results(prop));
  for (uint32_t i = prop->step_count; i-- > 0;) push_step(prop, prop->steps[i]);
  while (prop->queue_count) {
    hlo_prop_step_t* step = prop->queue[--prop->queue_count];
    step->is_queued = false;
    HLO_TRY(hlo_prop_step_run(prop, step, changed));
    for (uint32_t t = 0; t < step->tensor_count; ++t) {
      if (changed[t]) push_slot(prop, step->tensors[t].slot, step);
    }
  }
  return run_results(prop);
}

static hlo_status_t run_phases(hlo_prop_t* prop, bool* changed) {
  for (prop->phase = 0; prop->phase < PHASE_COUNT; ++prop->phase) {
    for (uint32_t i = 0; i < 2; ++i) {
      prop->is_aggressive = i == 1;
      HLO_TRY(run_strategy(prop, changed));
    }
  }
  return hlo_ok();
}

// ---- priorities

// Returns the next priority after `last`; -1: `last` is the last one.
static int32_t next_priority(const hlo_prop_t* prop, int32_t last) {
  int32_t next = -1;
  for (uint32_t i = 0; i < prop->delayed_count; ++i) {
    const int32_t priority = prop->delayed[i].priority;
    if (priority > last && (next < 0 || priority < next)) next = priority;
  }
  return next;
}

static void restore_dim(const hlo_prop_delayed_t* d) {
  hlo_prop_slot_t* slot = d->slot;
  hlo_spec_t spec = {.rank = slot->spec.rank, .unreduced = slot->spec.unreduced};
  uint32_t total = 0;
  for (uint32_t i = 0; i < spec.rank; ++i) {
    const uint8_t* axes;
    uint32_t count = hlo_spec_dim(&slot->spec, i, &axes);
    if (i == d->dim) {
      axes = d->axes.axes;
      count = d->axes.count;
    }
    for (uint32_t k = 0; k < count; ++k) spec.axes[total++] = axes[k];
    spec.ends[i] = (uint8_t)total;
  }
  for (uint32_t k = 0; k < d->axes.count; ++k) slot->replicated &= ~hlo_axis_bit(d->axes.axes[k]);
  if (d->is_open) slot->closed &= ~((uint64_t)1 << d->dim);
  slot->spec = spec;
}

static hlo_status_t run_priorities(hlo_prop_t* prop) {
  bool* changed = hlo_arena_alloc_zeroed(&prop->arena, largest_step(prop));
  if (!changed) return hlo_arena_status(&prop->arena);
  HLO_TRY(run_phases(prop, changed));
  for (int32_t p = next_priority(prop, 0); p >= 0; p = next_priority(prop, p)) {
    for (uint32_t i = 0; i < prop->delayed_count; ++i) {
      if (prop->delayed[i].priority == p) restore_dim(&prop->delayed[i]);
    }
    HLO_TRY(run_phases(prop, changed));
  }
  return hlo_ok();
}

// ---- results

const hlo_mesh_t* hlo_prop_mesh(const hlo_prop_t* prop, const hlo_prop_slot_t* slot) {
  if (slot->mesh) return slot->mesh;
  const hlo_axis_set_t used = hlo_spec_axes(&slot->spec) | slot->spec.unreduced;
  for (uint32_t i = 0; i < prop->grid->mesh_count; ++i) {
    const hlo_grid_mesh_t* mesh = &prop->grid->meshes[i];
    const hlo_axis_set_t own = hlo_axis_set(mesh->axes, mesh->firsts[mesh->mesh->axis_count]);
    if ((used & ~own) == 0) return mesh->mesh;
  }
  return NULL;
}

// Arguments and results are divided evenly, and by whole axes where the program leaves them open.
static hlo_status_t drop_parts_of_axes(hlo_prop_t* prop, hlo_prop_slot_t* slot,
                                       const hlo_sharding_t** out_sharding) {
  const hlo_mesh_t* mesh = hlo_prop_mesh(prop, slot);
  const hlo_spec_t* even = hlo_spec_even(prop->spmd, &slot->spec, slot->type);
  *out_sharding = NULL;
  if (!even) return hlo_arena_status(&prop->spmd->arena);
  slot->spec = *even;
  if (!mesh) return hlo_ok();
  HLO_TRY(hlo_spec_to_sharding(prop->spmd, &slot->spec, mesh, out_sharding));
  hlo_sharding_t fields = **out_sharding;
  hlo_dim_sharding_t dims[HLO_RANK_MAX];
  bool is_whole = true;
  for (uint32_t d = 0; d < fields.rank; ++d) {
    dims[d] = fields.dims[d];
    for (uint32_t i = 0; i < dims[d].axes.count && !(slot->closed >> d & 1); ++i) {
      if (hlo_axis_ref_is_whole(mesh, dims[d].axes.refs[i])) continue;
      dims[d].axes.count = i;
      is_whole = false;
    }
  }
  if (is_whole) return hlo_ok();
  fields.dims = dims;
  HLO_TRY(hlo_sharding_intern(prop->spmd->module, &fields, out_sharding));
  const hlo_spec_t* spec;
  HLO_TRY(hlo_spec_from_sharding(prop->spmd, *out_sharding, 0, &spec));
  slot->spec = *spec;
  return hlo_ok();
}

static hlo_status_t set_attr(hlo_prop_t* prop, const hlo_attr_t** dict, hlo_prop_slot_t* slot) {
  const hlo_sharding_t* sharding;
  HLO_TRY(drop_parts_of_axes(prop, slot, &sharding));
  if (!sharding) return hlo_ok();
  *dict = hlo_attr_dict_with(prop->spmd->module, *dict, "sdy.sharding", sharding->attr);
  return hlo_module_status(prop->spmd->module);
}

static hlo_status_t ensure_attrs(hlo_prop_t* prop, const hlo_attr_t*** attrs, uint32_t count) {
  if (*attrs || !count) return hlo_ok();
  *attrs = hlo_arena_array(&prop->spmd->module->arena, count, sizeof **attrs);
  return *attrs ? hlo_ok() : hlo_module_status(prop->spmd->module);
}

// Returns the mesh that the program states for a value, or for what it is computed from.
static const hlo_mesh_t* find_source_mesh(const hlo_prop_t* prop, const hlo_value_t* value) {
  for (;;) {
    const hlo_prop_slot_t* slot = hlo_prop_slot(prop, value);
    if (slot && slot->mesh) return slot->mesh;
    if (!value->def || !value->def->operand_count) return NULL;
    value = hlo_node_operand(value->def, 0);
  }
}

// Writes the shardings of arguments and results to the function's attributes.
static hlo_status_t set_function_attrs(hlo_prop_t* prop) {
  hlo_func_t* func = prop->func;
  const hlo_node_t* end = hlo_region_terminator(func->body);
  HLO_TRY(ensure_attrs(prop, &func->arg_attrs, func->body->arg_count));
  HLO_TRY(ensure_attrs(prop, &func->result_attrs, prop->result_count));
  for (uint32_t i = 0; i < func->body->arg_count; ++i) {
    hlo_prop_slot_t* slot = hlo_prop_slot(prop, func->body->args[i]);
    if (slot) HLO_TRY(set_attr(prop, &func->arg_attrs[i], slot));
  }
  for (uint32_t i = 0; i < prop->result_count; ++i) {
    hlo_prop_slot_t* slot = &prop->results[i];
    if (!slot->leader) continue;
    if (!slot->mesh) slot->mesh = find_source_mesh(prop, hlo_node_operand(end, i));
    HLO_TRY(set_attr(prop, &func->result_attrs[i], slot));
  }
  return hlo_ok();
}

// Returns the spec of a value inside of the program. Its parts may be of unequal size; a dimension
// that the program does not divide itself is not in more parts than it has elements.
static const hlo_spec_t* settle_spec(hlo_prop_t* prop, const hlo_prop_slot_t* slot,
                                     const hlo_type_t* type) {
  hlo_dim_axes_t dims[HLO_RANK_MAX];
  const hlo_spec_t* spec = hlo_spec_intern(prop->spmd, &slot->spec);
  if (!spec || type->quant) return spec ? hlo_spec_even(prop->spmd, spec, type) : NULL;
  hlo_spec_dims(spec, dims);
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const int64_t size = type->dims[d];
    hlo_dim_axes_t* dim = &dims[d];
    while (dim->count && (size == 1 || !slot->is_stated) &&
           hlo_grid_size(prop->grid, dim->axes, dim->count) > size) {
      --dim->count;
    }
  }
  return hlo_spec_make(prop->spmd, spec->rank, dims, spec->unreduced);
}

static hlo_status_t set_value(hlo_prop_t* prop, const hlo_value_t* value) {
  const hlo_prop_slot_t* slot = hlo_prop_slot(prop, value);
  if (!slot) return hlo_ok();
  return hlo_spmd_set_value_spec(prop->spmd, value, settle_spec(prop, slot, value->type));
}

static hlo_status_t set_region(hlo_prop_t* prop, const hlo_region_t* region) {
  for (uint32_t i = 0; i < region->arg_count; ++i) HLO_TRY(set_value(prop, region->args[i]));
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->result_count; ++i) HLO_TRY(set_value(prop, &node->results[i]));
    for (uint32_t r = 0; r < node->region_count; ++r) HLO_TRY(set_region(prop, node->regions[r]));
  }
  return hlo_ok();
}

// Loops of slices and reductions can be divided along dimensions that these ops need whole.
static bool is_divided_as_it_is(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_batch_norm_grad:
    case HLO_OP_batch_norm_inference:
    case HLO_OP_batch_norm_training:
    case HLO_OP_chlo_scan: return false;
    default: return true;
  }
}

hlo_status_t hlo_prop_run(hlo_prop_t* prop) {
  bool is_expanded;
  HLO_TRY(hlo_expand(prop->spmd->module, NULL, is_divided_as_it_is, &is_expanded));
  HLO_TRY(hlo_spmd_skip_empty(prop->func));
  HLO_TRY(hlo_spmd_merge_reshapes(prop->func));
  HLO_TRY(hlo_spmd_split_constants(prop->func, &prop->arena));
  HLO_TRY(hlo_prop_build(prop));
  HLO_TRY(run_priorities(prop));
  HLO_TRY(set_function_attrs(prop));
  return set_region(prop, prop->func->body);
}

hlo_status_t hlo_spmd_propagate(hlo_spmd_t* spmd) {
  hlo_prop_t prop = {.spmd = spmd, .grid = spmd->grid, .func = hlo_module_entry(spmd->module)};
  if (!prop.func || !prop.func->body) return hlo_ok();
  hlo_arena_init(&prop.arena, 0);
  hlo_status_t status = hlo_prop_run(&prop);
  hlo_arena_deinit(&prop.arena);
  return status;
}
