// SPDX-License-Identifier: Apache-2.0
// Slots and steps of a function (see propagate_impl.h), with the shardings that the program states.
//
// Loops, branches and manual computations have no rules. A value that a loop carries is one slot:
// its result and the arguments of its regions; flows lead to it from the operand and from the value
// that the body returns.
#include <stdio.h>
#include <string.h>

#include "ir/clone.h"
#include "spmd/propagate_impl.h"

static hlo_prop_slot_t* leader_of(hlo_prop_slot_t* slot) {
  while (slot->leader != slot) slot = slot->leader = slot->leader->leader;
  return slot;
}

hlo_prop_slot_t* hlo_prop_slot(const hlo_prop_t* prop, const hlo_value_t* value) {
  hlo_prop_slot_t* slot = value->index < prop->slot_capacity ? prop->slots[value->index] : NULL;
  return slot ? leader_of(slot) : NULL;
}

static bool is_divisible(const hlo_type_t* type) {
  return hlo_type_is_tensor(type) && type->rank && hlo_type_element_count(type) >= 0;
}

static void init_slot(hlo_prop_slot_t* slot, const hlo_type_t* type) {
  memset(slot, 0, sizeof *slot);
  slot->leader = slot;
  slot->type = type;
  slot->spec.rank = type->rank;
}

static hlo_status_t add_slot(hlo_prop_t* prop, const hlo_value_t* value) {
  if (!is_divisible(value->type) || value->index >= prop->slot_capacity) return hlo_ok();
  hlo_prop_slot_t* slot = hlo_arena_alloc(&prop->arena, sizeof *slot);
  if (!slot) return hlo_arena_status(&prop->arena);
  init_slot(slot, value->type);
  prop->slots[value->index] = slot;
  return hlo_ok();
}

static void tie(const hlo_prop_t* prop, const hlo_value_t* a, const hlo_value_t* b) {
  hlo_prop_slot_t *first = hlo_prop_slot(prop, a), *second = hlo_prop_slot(prop, b);
  if (first && second && first != second && hlo_type_same_dims(first->type, second->type)) {
    second->leader = first;
  }
}

static bool is_branch(const hlo_node_t* node) {
  return node->op == HLO_OP_case || node->op == HLO_OP_if;
}

/// Returns true if the values inside of the node's regions are divided as those outside are.
static bool has_flows(const hlo_node_t* node) {
  return is_branch(node) || node->op == HLO_OP_while || node->op == HLO_OP_sdy_manual_computation;
}

// ---- slots

static hlo_status_t add_region_slots(hlo_prop_t* prop, const hlo_region_t* region) {
  for (uint32_t i = 0; i < region->arg_count; ++i) HLO_TRY(add_slot(prop, region->args[i]));
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->result_count; ++i) HLO_TRY(add_slot(prop, &node->results[i]));
    if (!has_flows(node)) continue;
    for (uint32_t r = 0; r < node->region_count; ++r) {
      const hlo_region_t* inner = node->regions[r];
      HLO_TRY(add_region_slots(prop, inner));
      if (node->op != HLO_OP_while) continue;
      for (uint32_t i = 0; i < inner->arg_count; ++i) tie(prop, &node->results[i], inner->args[i]);
    }
  }
  return hlo_ok();
}

// ---- sharding groups

// The first values of groups, by number.
static hlo_status_t tie_groups(hlo_prop_t* prop, const hlo_region_t* region, hlo_map_t* firsts) {
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t r = 0; has_flows(node) && r < node->region_count; ++r) {
      HLO_TRY(tie_groups(prop, node->regions[r], firsts));
    }
    if (node->op != HLO_OP_sdy_sharding_group) continue;
    const hlo_value_t* value = hlo_node_operand(node, 0);
    const uint64_t group = (uint64_t)hlo_node_attr_int(node, HLO_ATTR_group_id, 0);
    const hlo_value_t* first = hlo_map_get_number(firsts, group);
    if (first && !hlo_type_same_dims(first->type, value->type)) {
      return hlo_node_invalid(node, "a value of another shape than those of group %llu",
                              (unsigned long long)group);
    }
    if (first) {
      tie(prop, first, value);
    } else if (!hlo_map_put_number(firsts, group, (void*)value)) {
      return hlo_status_out_of_memory(sizeof(hlo_map_entry_t));
    }
  }
  return hlo_ok();
}

// ---- what the program states

static hlo_status_t map_axes(hlo_prop_t* prop, const hlo_sharding_t* sharding, hlo_axis_refs_t refs,
                             hlo_axis_set_t except, hlo_axis_set_t* out_set) {
  hlo_dim_axes_t axes = {0};
  const hlo_grid_mesh_t* mesh = hlo_grid_find_mesh(prop->grid, sharding->mesh);
  HLO_TRY(hlo_grid_map_axes(prop->grid, mesh, refs, &axes));
  *out_set = hlo_axis_set(axes.axes, axes.count) & ~except;
  return hlo_ok();
}

static hlo_status_t delay_dim(hlo_prop_t* prop, hlo_prop_slot_t* slot, uint32_t dim,
                              const hlo_dim_sharding_t* stated, const uint8_t* axes,
                              uint32_t count) {
  if (!HLO_ARENA_GROW(&prop->arena, prop->delayed, prop->delayed_count, prop->delayed_capacity)) {
    return hlo_arena_status(&prop->arena);
  }
  hlo_prop_delayed_t* d = &prop->delayed[prop->delayed_count++];
  *d = (hlo_prop_delayed_t){slot, slot->type, dim, stated->priority, stated->is_open, {count, {0}}};
  memcpy(d->axes.axes, axes, count);
  return hlo_ok();
}

// Sets what a slot is known to be. Dimensions of a lower priority are closed and their axes taken
// until it is their turn.
static hlo_status_t state_slot(hlo_prop_t* prop, hlo_prop_slot_t* slot, const hlo_type_t* type,
                               const hlo_sharding_t* sharding, hlo_axis_set_t except,
                               const char* what) {
  if (!slot || slot->is_stated || hlo_mesh_is_maximal(sharding->mesh)) return hlo_ok();
  if (sharding->rank != type->rank) {
    return hlo_invalid_argument("%s: sharding of rank %u of a tensor of rank %u: %.*s", what,
                                sharding->rank, type->rank, (int)sharding->attr->text_length,
                                sharding->attr->text);
  }
  const hlo_spec_t* spec;
  HLO_TRY(hlo_spec_from_sharding(prop->spmd, sharding, except, &spec));
  HLO_TRY(map_axes(prop, sharding, sharding->replicated, except, &slot->replicated));
  slot->is_stated = true;
  if (hlo_grid_find_mesh(prop->grid, sharding->mesh)) slot->mesh = sharding->mesh;
  slot->closed = 0;
  hlo_dim_axes_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) {
    const hlo_dim_sharding_t* stated = &sharding->dims[d];
    const uint8_t* axes;
    dims[d].count = hlo_spec_dim(spec, d, &axes);
    memcpy(dims[d].axes, axes, dims[d].count);
    if (!stated->is_open) slot->closed |= (uint64_t)1 << d;
    if (stated->priority <= 0) continue;
    HLO_TRY(delay_dim(prop, slot, d, stated, axes, dims[d].count));
    slot->replicated |= hlo_axis_set(axes, dims[d].count);
    slot->closed |= (uint64_t)1 << d;
    dims[d].count = 0;
  }
  const hlo_spec_t* now = hlo_spec_make(prop->spmd, type->rank, dims, spec->unreduced);
  if (!now) return hlo_arena_status(&prop->spmd->arena);
  slot->spec = *now;
  return hlo_ok();
}

static hlo_status_t state_slot_attr(hlo_prop_t* prop, hlo_prop_slot_t* slot, const hlo_type_t* type,
                                    const hlo_attr_t* attr, const char* what) {
  const hlo_sharding_t* sharding;
  if (!slot || !attr) return hlo_ok();
  HLO_TRY(hlo_sharding_parse(prop->spmd->module, attr, &sharding));
  return state_slot(prop, slot, type, sharding, 0, what);
}

static hlo_status_t state_manual(hlo_prop_t* prop, const hlo_node_t* node, hlo_axis_set_t outer) {
  hlo_module_t* module = prop->spmd->module;
  const hlo_region_t* body = node->regions[0];
  hlo_axis_set_t own;
  uint32_t count;
  const hlo_sharding_t* const* list;
  HLO_TRY(hlo_spmd_own_manual_axes(prop->spmd, node, &own));
  HLO_TRY(
      hlo_sharding_parse_list(module, hlo_node_attr(node, HLO_ATTR_in_shardings), &count, &list));
  for (uint32_t i = 0; i < count && i < body->arg_count; ++i) {
    HLO_TRY(state_slot(prop, hlo_prop_slot(prop, body->args[i]), body->args[i]->type, list[i],
                       own | outer, "in_shardings"));
  }
  HLO_TRY(
      hlo_sharding_parse_list(module, hlo_node_attr(node, HLO_ATTR_out_shardings), &count, &list));
  for (uint32_t i = 0; i < count && i < node->result_count; ++i) {
    HLO_TRY(state_slot(prop, hlo_prop_slot(prop, &node->results[i]), node->results[i].type, list[i],
                       outer, "out_shardings"));
  }
  return hlo_ok();
}

static hlo_status_t state_node(hlo_prop_t* prop, const hlo_node_t* node, hlo_axis_set_t outer) {
  hlo_module_t* module = prop->spmd->module;
  if (node->op == HLO_OP_sdy_manual_computation) return state_manual(prop, node, outer);
  const hlo_attr_t* attr = hlo_attr_dict_get(node->extra, "sdy.sharding");
  const hlo_sharding_t* const* list = NULL;
  const hlo_sharding_t* one;
  uint32_t count = 0;
  if (node->op == HLO_OP_sdy_sharding_constraint || node->op == HLO_OP_sdy_reshard) {
    HLO_TRY(hlo_sharding_parse(module, hlo_node_attr(node, HLO_ATTR_sharding), &one));
    list = &one;
    count = 1;
  } else if (attr) {
    HLO_TRY(hlo_sharding_parse_list(module, attr, &count, &list));
  }
  for (uint32_t i = 0; i < count && i < node->result_count; ++i) {
    const hlo_value_t* result = &node->results[i];
    hlo_status_t status =
        state_slot(prop, hlo_prop_slot(prop, result), result->type, list[i], outer, "sharding");
    HLO_TRY(hlo_node_annotate(node, status));
  }
  return hlo_ok();
}

static hlo_status_t state_region(hlo_prop_t* prop, const hlo_region_t* region,
                                 hlo_axis_set_t outer) {
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    HLO_TRY(state_node(prop, node, outer));
    if (!has_flows(node)) continue;
    hlo_axis_set_t own = 0;
    if (node->op == HLO_OP_sdy_manual_computation) {
      HLO_TRY(hlo_spmd_own_manual_axes(prop->spmd, node, &own));
    }
    for (uint32_t r = 0; r < node->region_count; ++r) {
      HLO_TRY(state_region(prop, node->regions[r], outer | own));
    }
  }
  return hlo_ok();
}

static hlo_status_t state_function(hlo_prop_t* prop) {
  const hlo_func_t* func = prop->func;
  char what[48];
  for (uint32_t i = 0; i < func->body->arg_count; ++i) {
    const hlo_value_t* arg = func->body->args[i];
    const hlo_attr_t* dict = func->arg_attrs ? func->arg_attrs[i] : NULL;
    (void)snprintf(what, sizeof what, "argument %u", i);
    HLO_TRY(state_slot_attr(prop, hlo_prop_slot(prop, arg), arg->type,
                            hlo_attr_dict_get(dict, "sdy.sharding"), what));
  }
  const hlo_node_t* end = hlo_region_terminator(func->body);
  prop->result_count = end ? end->operand_count : 0;
  prop->results = hlo_arena_array(&prop->arena, prop->result_count, sizeof *prop->results);
  if (!prop->results) return hlo_arena_status(&prop->arena);
  for (uint32_t i = 0; i < prop->result_count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(end, i);
    const hlo_attr_t* dict = func->result_attrs ? func->result_attrs[i] : NULL;
    if (!is_divisible(type)) continue;
    init_slot(&prop->results[i], type);
    (void)snprintf(what, sizeof what, "result %u", i);
    HLO_TRY(state_slot_attr(prop, &prop->results[i], type, hlo_attr_dict_get(dict, "sdy.sharding"),
                            what));
  }
  return state_region(prop, func->body, 0);
}

// ---- constraints of operands

// Sets *out_attr to what a use asks for, or NULL.
static hlo_status_t constraint_of_use(hlo_prop_t* prop, const hlo_use_t* use,
                                      const hlo_attr_t** out_attr) {
  const hlo_node_t* user = use->user;
  const bool is_constraint = user->op == HLO_OP_sdy_sharding_constraint;
  *out_attr = is_constraint ? hlo_node_attr(user, HLO_ATTR_sharding) : NULL;
  if (user->op != HLO_OP_sdy_manual_computation) return hlo_ok();
  uint32_t count;
  const hlo_sharding_t* const* list;
  HLO_TRY(hlo_sharding_parse_list(prop->spmd->module, hlo_node_attr(user, HLO_ATTR_in_shardings),
                                  &count, &list));
  const uint32_t number = (uint32_t)(use - user->operands);
  if (number < count) *out_attr = list[number]->attr;
  return hlo_ok();
}

// A value that no other constraint contradicts is divided as its constraint says, so that it is
// not computed first in another way.
static hlo_status_t should_apply(hlo_prop_t* prop, const hlo_value_t* value,
                                 const hlo_sharding_t* sharding, bool* out_is) {
  const hlo_prop_slot_t* slot = hlo_prop_slot(prop, value);
  *out_is = slot && !slot->is_stated;
  for (uint32_t d = 0; d < sharding->rank; ++d) *out_is = *out_is && !sharding->dims[d].is_open;
  for (const hlo_use_t* use = value->uses; use && *out_is; use = use->next) {
    const hlo_attr_t* other;
    HLO_TRY(constraint_of_use(prop, use, &other));
    *out_is = !other || other == sharding->attr;
  }
  return hlo_ok();
}

// Values that flow from several sources are not constrained themselves, only their uses.
static bool is_target_of_flow(const hlo_value_t* value) {
  const hlo_node_t* owner = value->def ? value->def : value->region->parent;
  return owner && (has_flows(owner) || owner->op == HLO_OP_optimization_barrier);
}

static void move_after_value(hlo_node_t* node, const hlo_value_t* value) {
  hlo_node_t* next = value->def ? value->def->next : value->region->first;
  if (next == node) return;
  hlo_node_unlink(node);
  if (next) {
    hlo_node_insert_before(next, node);
  } else {
    hlo_region_append(value->region, node);
  }
}

static void use_constraint_instead(hlo_value_t* value, hlo_node_t* constraint) {
  hlo_use_t* next;
  for (hlo_use_t* use = value->uses; use; use = next) {
    next = use->next;
    if (use->user == constraint) continue;
    hlo_node_set_operand(use->user, (uint32_t)(use - use->user->operands), &constraint->results[0]);
  }
}

static hlo_status_t apply_constraint(hlo_prop_t* prop, hlo_node_t* node, uint32_t operand,
                                     const hlo_sharding_t* sharding, hlo_axis_set_t outer) {
  hlo_value_t* value = hlo_node_operand(node, operand);
  bool is_applied;
  HLO_TRY(should_apply(prop, value, sharding, &is_applied));
  if (!is_applied) return hlo_ok();
  if (!is_target_of_flow(value)) {
    return state_slot(prop, hlo_prop_slot(prop, value), value->type, sharding, outer, "sharding");
  }
  hlo_node_t* constraint = node;
  if (node->op != HLO_OP_sdy_sharding_constraint) {
    const hlo_named_attr_t attr = {HLO_ATTR_sharding, sharding->attr};
    constraint =
        hlo_node_create(prop->spmd->module, &(hlo_node_spec_t){.op = HLO_OP_sdy_sharding_constraint,
                                                               .loc = node->loc,
                                                               .operand_count = 1,
                                                               .operands = &value,
                                                               .attr_count = 1,
                                                               .attrs = &attr,
                                                               .result_count = 1,
                                                               .result_types = &value->type});
    if (hlo_node_is_poison(constraint)) return hlo_module_status(prop->spmd->module);
    hlo_region_append(value->region, constraint);
    HLO_TRY(add_slot(prop, &constraint->results[0]));
    HLO_TRY(state_node(prop, constraint, outer));
  }
  move_after_value(constraint, value);
  use_constraint_instead(value, constraint);
  return hlo_ok();
}

static hlo_status_t apply_constraints(hlo_prop_t* prop, hlo_region_t* region,
                                      hlo_axis_set_t outer) {
  hlo_node_t* next;
  for (hlo_node_t* node = region->first; node; node = next) {
    next = node->next;
    hlo_axis_set_t own = 0;
    if (node->op == HLO_OP_sdy_manual_computation) {
      HLO_TRY(hlo_spmd_own_manual_axes(prop->spmd, node, &own));
    }
    for (uint32_t r = 0; has_flows(node) && r < node->region_count; ++r) {
      HLO_TRY(apply_constraints(prop, node->regions[r], outer | own));
    }
    uint32_t count = 0;
    const hlo_sharding_t* const* list = NULL;
    const hlo_sharding_t* one;
    if (node->op == HLO_OP_sdy_sharding_constraint) {
      HLO_TRY(hlo_sharding_parse(prop->spmd->module, hlo_node_attr(node, HLO_ATTR_sharding), &one));
      list = &one;
      count = 1;
    } else if (node->op == HLO_OP_sdy_manual_computation) {
      HLO_TRY(hlo_sharding_parse_list(prop->spmd->module,
                                      hlo_node_attr(node, HLO_ATTR_in_shardings), &count, &list));
    }
    for (uint32_t i = 0; i < count && i < node->operand_count; ++i) {
      HLO_TRY(apply_constraint(prop, node, i, list[i], outer));
    }
  }
  return hlo_ok();
}

// ---- steps

static hlo_prop_step_t* add_step(hlo_prop_t* prop, const hlo_node_t* node, uint32_t operand_count,
                                 uint32_t tensor_count, hlo_prop_class_t kind) {
  hlo_prop_step_t* step = hlo_arena_alloc_zeroed(&prop->arena, sizeof *step);
  if (!step || !HLO_ARENA_GROW(&prop->arena, prop->steps, prop->step_count, prop->step_capacity)) {
    return NULL;
  }
  step->tensors = hlo_arena_array(&prop->arena, tensor_count, sizeof *step->tensors);
  if (!step->tensors) return NULL;
  step->node = node;
  step->operand_count = operand_count;
  step->tensor_count = tensor_count;
  step->kind = kind;
  prop->steps[prop->step_count++] = step;
  return step;
}

static void set_tensor(const hlo_prop_t* prop, hlo_prop_step_t* step, uint32_t number,
                       const hlo_value_t* value) {
  step->tensors[number] =
      (hlo_prop_tensor_t){.value = value, .slot = hlo_prop_slot(prop, value), .type = value->type};
}

// A flow from operands of the node, or of the ends of its regions, to a value.
static hlo_status_t add_flow(hlo_prop_t* prop, const hlo_node_t* node, uint32_t source_count,
                             const hlo_value_t* const* sources, const hlo_value_t* target,
                             const hlo_prop_view_t* view) {
  if (!hlo_prop_slot(prop, target)) return hlo_ok();
  hlo_prop_step_t* step = add_step(prop, node, source_count, source_count + 1, HLO_PROP_FLOW);
  if (!step) return hlo_arena_status(&prop->arena);
  for (uint32_t i = 0; i < source_count; ++i) set_tensor(prop, step, i, sources[i]);
  set_tensor(prop, step, source_count, target);
  step->tensors[source_count].view = view;
  if (view) step->tensors[source_count].type = sources[0]->type;
  return hlo_ok();
}

static hlo_status_t add_while_flows(hlo_prop_t* prop, const hlo_node_t* node) {
  const hlo_node_t* end = hlo_region_terminator(node->regions[1]);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_value_t* sources[2] = {hlo_node_operand(node, i), NULL};
    const bool has_end = end && i < end->operand_count;
    if (has_end) sources[1] = hlo_node_operand(end, i);
    HLO_TRY(add_flow(prop, node, has_end ? 2 : 1, sources, &node->results[i], NULL));
  }
  return hlo_ok();
}

static hlo_status_t add_branch_flows(hlo_prop_t* prop, const hlo_node_t* node) {
  const hlo_value_t** sources = hlo_arena_array(&prop->arena, node->region_count, sizeof *sources);
  if (!sources) return hlo_arena_status(&prop->arena);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t count = 0;
    for (uint32_t r = 0; r < node->region_count; ++r) {
      const hlo_node_t* end = hlo_region_terminator(node->regions[r]);
      if (end && i < end->operand_count) sources[count++] = hlo_node_operand(end, i);
    }
    if (count) HLO_TRY(add_flow(prop, node, count, sources, &node->results[i], NULL));
  }
  return hlo_ok();
}

// The manual axes of a sharding, per dimension, and those that it says hold copies.
static hlo_status_t make_view(hlo_prop_t* prop, const hlo_sharding_t* sharding, bool adds,
                              hlo_axis_set_t own, hlo_axis_set_t outer,
                              const hlo_prop_view_t** out_view) {
  hlo_prop_view_t* view = hlo_arena_alloc_zeroed(&prop->arena, sizeof *view);
  if (!view) return hlo_arena_status(&prop->arena);
  const hlo_spec_t* spec;
  HLO_TRY(hlo_spec_from_sharding(prop->spmd, sharding, ~own | outer, &spec));
  view->adds = adds;
  view->prefix = *spec;
  view->manual = own;
  HLO_TRY(map_axes(prop, sharding, sharding->replicated, outer, &view->replicated));
  *out_view = view;
  return hlo_ok();
}

static hlo_status_t add_manual_flows(hlo_prop_t* prop, const hlo_node_t* node, hlo_axis_set_t outer,
                                     bool is_result) {
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  const hlo_attr_id_t id = is_result ? HLO_ATTR_out_shardings : HLO_ATTR_in_shardings;
  const uint32_t targets = is_result ? node->result_count : body->arg_count;
  hlo_axis_set_t own;
  uint32_t count;
  const hlo_sharding_t* const* list;
  HLO_TRY(hlo_spmd_own_manual_axes(prop->spmd, node, &own));
  HLO_TRY(hlo_sharding_parse_list(prop->spmd->module, hlo_node_attr(node, id), &count, &list));
  if (count != targets || (is_result && (!end || end->operand_count != count)) ||
      (!is_result && node->operand_count != count)) {
    return hlo_node_invalid(node, "%u shardings of %u values", count, targets);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* source = is_result ? hlo_node_operand(end, i) : hlo_node_operand(node, i);
    const hlo_value_t* target = is_result ? &node->results[i] : body->args[i];
    const hlo_prop_view_t* view = NULL;
    if (!hlo_prop_slot(prop, target)) continue;
    if (list[i]->rank == target->type->rank) {
      HLO_TRY(make_view(prop, list[i], !is_result, own, outer, &view));
    }
    HLO_TRY(add_flow(prop, node, 1, &source, target, view));
  }
  return hlo_ok();
}

// ---- ops

static bool is_scalar(const hlo_type_t* type) {
  return !hlo_type_is_tensor(type) || type->rank == 0;
}

static bool has_shared_operands(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* operand = hlo_node_operand(node, i);
    if (!is_scalar(operand->type) && operand->uses->next) return true;
  }
  return false;
}

static bool is_like_elementwise(const hlo_node_t* node) {
  if (node->op == HLO_OP_bitcast_convert) {
    return hlo_type_same_dims(hlo_node_type(node, 0), hlo_node_type(node, 1));
  }
  return node->op == HLO_OP_sdy_sharding_constraint || node->op == HLO_OP_hlo_copy ||
         hlo_op_has(node->op, HLO_TRAIT_ELEMENTWISE);
}

static hlo_prop_class_t class_of(const hlo_node_t* node) {
  if (is_like_elementwise(node)) return HLO_PROP_PASS;
  switch (node->op) {
    case HLO_OP_reshape:
    case HLO_OP_transpose: return HLO_PROP_PASS;
    case HLO_OP_dynamic_slice:
    case HLO_OP_dynamic_update_slice: return HLO_PROP_SLICE;
    case HLO_OP_broadcast_in_dim:
      // One that only adds dimensions of size 1 is a reshape.
      return hlo_type_element_count(hlo_node_type(node, 0)) ==
                     hlo_type_element_count(hlo_node_type(node, 1))
                 ? HLO_PROP_PASS
                 : HLO_PROP_BROADCAST;
    case HLO_OP_custom_call: {
      const char* target = hlo_node_attr_text(node, HLO_ATTR_call_target_name);
      const bool is_move =
          target && (strcmp(target, "MoveToHost") == 0 || strcmp(target, "MoveToDevice") == 0);
      return is_move ? HLO_PROP_PASS : HLO_PROP_OTHER;
    }
    default: return HLO_PROP_OTHER;
  }
}

static hlo_status_t add_barrier(hlo_prop_t* prop, const hlo_node_t* node) {
  if (!hlo_prop_slot(prop, &node->results[0])) return hlo_ok();
  hlo_prop_step_t* step = add_step(prop, node, 1, 2, HLO_PROP_BARRIER);
  if (!step) return hlo_arena_status(&prop->arena);
  step->allowed = (uint8_t)hlo_node_attr_int(node, HLO_ATTR_allowed_direction, 0) & HLO_PROP_BOTH;
  step->is_elementwise = true;
  set_tensor(prop, step, 0, hlo_node_operand(node, 0));
  set_tensor(prop, step, 1, &node->results[0]);
  return hlo_ok();
}

static hlo_status_t add_op(hlo_prop_t* prop, const hlo_node_t* node) {
  const hlo_sharding_rule_t* rule = NULL;
  uint32_t count = 0;
  for (uint32_t t = 0; t < node->operand_count + node->result_count; ++t) {
    const hlo_value_t* value = t < node->operand_count ? hlo_node_operand(node, t)
                                                       : &node->results[t - node->operand_count];
    if (hlo_prop_slot(prop, value)) ++count;
  }
  if (count == 0) return hlo_ok();
  // Tensors of an elementwise op that are divisible have one shape: no rule is needed.
  const bool is_plain =
      hlo_op_has(node->op, HLO_TRAIT_ELEMENTWISE) || node->op == HLO_OP_sdy_sharding_constraint;
  bool is_custom = false;
  if (!is_plain) {
    HLO_TRY(hlo_sharding_rule_make(node, &prop->arena, &rule));
    is_custom = !rule && hlo_prop_is_custom(prop, node);
    if (!rule && !is_custom) return hlo_ok();
  }
  hlo_prop_step_t* step =
      add_step(prop, node, node->operand_count, node->operand_count + node->result_count,
               is_custom ? HLO_PROP_CUSTOM : class_of(node));
  if (!step) return hlo_arena_status(&prop->arena);
  step->rule = rule;
  step->is_elementwise = is_like_elementwise(node);
  step->has_shared_operands = has_shared_operands(node);
  for (uint32_t t = 0; t < step->tensor_count; ++t) {
    set_tensor(prop, step, t,
               t < node->operand_count ? hlo_node_operand(node, t)
                                       : &node->results[t - node->operand_count]);
  }
  return hlo_ok();
}

static hlo_status_t add_barrier_flows(hlo_prop_t* prop, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->result_count && i < node->operand_count; ++i) {
    const hlo_value_t* source = hlo_node_operand(node, i);
    HLO_TRY(add_flow(prop, node, 1, &source, &node->results[i], NULL));
  }
  return hlo_ok();
}

static hlo_status_t add_region_steps(hlo_prop_t* prop, const hlo_region_t* region,
                                     hlo_axis_set_t outer);

static hlo_status_t add_node_steps(hlo_prop_t* prop, const hlo_node_t* node, hlo_axis_set_t outer) {
  hlo_axis_set_t own = 0;
  const bool is_manual = node->op == HLO_OP_sdy_manual_computation;
  if (is_manual) {
    HLO_TRY(hlo_spmd_own_manual_axes(prop->spmd, node, &own));
    HLO_TRY(hlo_node_annotate(node, add_manual_flows(prop, node, outer, false)));
  }
  for (uint32_t r = 0; has_flows(node) && r < node->region_count; ++r) {
    HLO_TRY(add_region_steps(prop, node->regions[r], outer | own));
  }
  if (is_manual) return hlo_node_annotate(node, add_manual_flows(prop, node, outer, true));
  if (node->op == HLO_OP_while) return add_while_flows(prop, node);
  if (is_branch(node)) return add_branch_flows(prop, node);
  if (node->op == HLO_OP_optimization_barrier) return add_barrier_flows(prop, node);
  if (node->op == HLO_OP_sdy_propagation_barrier) return add_barrier(prop, node);
  return hlo_op_has(node->op, HLO_TRAIT_TERMINATOR) ? hlo_ok() : add_op(prop, node);
}

// Nodes that are not done yet, innermost last.
typedef struct node_stack {
  const hlo_node_t** nodes;
  uint32_t count, capacity;
} node_stack_t;

// Adds the steps of a node after those of its operands' definitions, depth first: the order in
// which XLA imports a computation, on which the winner of a conflict may depend.
static hlo_status_t add_steps_of(hlo_prop_t* prop, const hlo_node_t* root, hlo_axis_set_t outer,
                                 node_stack_t* stack) {
  if (prop->node_states[root->index]) return hlo_ok();
  if (!HLO_ARENA_GROW(&prop->arena, stack->nodes, stack->count, stack->capacity)) {
    return hlo_arena_status(&prop->arena);
  }
  stack->nodes[stack->count++] = root;
  while (stack->count) {
    const hlo_node_t* node = stack->nodes[stack->count - 1];
    uint8_t* state = &prop->node_states[node->index];
    if (*state == HLO_PROP_NODE_NEW) {
      *state = HLO_PROP_NODE_OPEN;
      for (uint32_t i = node->operand_count; i-- > 0;) {
        const hlo_node_t* def = hlo_node_operand(node, i)->def;
        if (!def || def->parent != node->parent || prop->node_states[def->index]) continue;
        if (!HLO_ARENA_GROW(&prop->arena, stack->nodes, stack->count, stack->capacity)) {
          return hlo_arena_status(&prop->arena);
        }
        stack->nodes[stack->count++] = def;
      }
      continue;
    }
    --stack->count;
    if (*state == HLO_PROP_NODE_OPEN) {
      *state = HLO_PROP_NODE_DONE;
      HLO_TRY(add_node_steps(prop, node, outer));
    }
  }
  return hlo_ok();
}

static hlo_status_t add_region_steps(hlo_prop_t* prop, const hlo_region_t* region,
                                     hlo_axis_set_t outer) {
  node_stack_t stack = {0};
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (hlo_node_is_unused(node)) HLO_TRY(add_steps_of(prop, node, outer, &stack));
  }
  // Values that only nested regions use.
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    HLO_TRY(add_steps_of(prop, node, outer, &stack));
  }
  return hlo_ok();
}

static hlo_status_t add_result_steps(hlo_prop_t* prop) {
  const hlo_node_t* end = hlo_region_terminator(prop->func->body);
  prop->result_steps =
      hlo_arena_array(&prop->arena, prop->result_count, sizeof *prop->result_steps);
  hlo_prop_tensor_t* tensors =
      hlo_arena_array(&prop->arena, 2 * (size_t)prop->result_count, sizeof *tensors);
  if (!prop->result_steps || !tensors) return hlo_arena_status(&prop->arena);
  for (uint32_t i = 0; i < prop->result_count; ++i) {
    hlo_prop_step_t* step = &prop->result_steps[i];
    step->kind = HLO_PROP_FLOW;
    step->operand_count = 1;
    step->tensor_count = 2;
    step->tensors = &tensors[2 * i];
    set_tensor(prop, step, 0, hlo_node_operand(end, i));
    if (!prop->results[i].leader) continue;
    step->tensors[1] =
        (hlo_prop_tensor_t){.slot = &prop->results[i], .type = prop->results[i].type};
  }
  return hlo_ok();
}

// Lists the steps of each slot.
static hlo_status_t index_steps(hlo_prop_t* prop) {
  uint32_t total = 0;
  for (uint32_t i = 0; i < prop->step_count; ++i) {
    for (uint32_t t = 0; t < prop->steps[i]->tensor_count; ++t) {
      hlo_prop_slot_t* slot = prop->steps[i]->tensors[t].slot;
      if (slot) ++slot->step_count, ++total;
    }
  }
  prop->slot_steps = hlo_arena_array(&prop->arena, total, sizeof *prop->slot_steps);
  prop->queue = hlo_arena_array(&prop->arena, prop->step_count, sizeof *prop->queue);
  if (!prop->slot_steps || !prop->queue) return hlo_arena_status(&prop->arena);
  uint32_t next = 0;
  for (uint32_t i = 0; i < prop->step_count; ++i) {
    hlo_prop_step_t* step = prop->steps[i];
    for (uint32_t t = 0; t < step->tensor_count; ++t) {
      hlo_prop_slot_t* slot = step->tensors[t].slot;
      if (!slot) continue;
      // The first step of a slot reserves its part of the list and counts again.
      if (!slot->first_step) {
        slot->first_step = next + 1;
        next += slot->step_count;
        slot->step_count = 0;
      }
      hlo_prop_step_t** list = &prop->slot_steps[slot->first_step - 1];
      if (!slot->step_count || list[slot->step_count - 1] != step) list[slot->step_count++] = step;
    }
  }
  return hlo_ok();
}

static uint32_t count_manual_operands(const hlo_region_t* region) {
  uint32_t count = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (node->op == HLO_OP_sdy_manual_computation) count += node->operand_count;
    for (uint32_t r = 0; has_flows(node) && r < node->region_count; ++r) {
      count += count_manual_operands(node->regions[r]);
    }
  }
  return count;
}

hlo_status_t hlo_prop_build(hlo_prop_t* prop) {
  hlo_region_t* body = prop->func->body;
  prop->slot_capacity = prop->spmd->module->value_count + count_manual_operands(body);
  prop->slots = hlo_arena_array(&prop->arena, prop->slot_capacity, sizeof *prop->slots);
  if (!prop->slots) return hlo_arena_status(&prop->arena);
  HLO_TRY(add_region_slots(prop, body));
  hlo_map_t groups = {0};
  hlo_status_t status = tie_groups(prop, body, &groups);
  hlo_map_deinit(&groups);
  HLO_TRY(status);
  HLO_TRY(state_function(prop));
  HLO_TRY(apply_constraints(prop, body, 0));
  prop->node_states = hlo_arena_alloc_zeroed(&prop->arena, prop->spmd->module->node_count);
  if (!prop->node_states) return hlo_arena_status(&prop->arena);
  HLO_TRY(add_region_steps(prop, body, 0));
  HLO_TRY(add_result_steps(prop));
  return index_steps(prop);
}
