// SPDX-License-Identifier: Apache-2.0
// Custom calls that the application partitions (see ir/custom_partitioner.h).
#include <stdlib.h>

#include "base/mem.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/custom_partitioner.h"
#include "passes/runner.h"
#include "spmd/partition_impl.h"

// ---- specs as tiles

hlo_status_t hlo_spec_to_op_sharding(hlo_spmd_t* spmd, const hlo_spec_t* spec,
                                     hlo_op_sharding_t* out) {
  const hlo_grid_t* grid = spmd->grid;
  hlo_mesh_axis_t axes[HLO_GRID_AXES_MAX];
  hlo_axis_ref_t refs[2 * HLO_GRID_AXES_MAX];
  hlo_dim_sharding_t dims[HLO_RANK_MAX];
  const hlo_mesh_t mesh = {.axis_count = grid->axis_count,
                           .axes = axes,
                           .device_count = grid->device_count,
                           .device_ids = grid->device_ids};
  for (uint32_t i = 0; i < grid->axis_count; ++i) {
    axes[i] = (hlo_mesh_axis_t){"", grid->sizes[i]};
  }
  uint32_t used = 0;
  for (uint32_t d = 0; d < spec->rank; ++d) {
    const uint8_t* list;
    const uint32_t count = hlo_spec_dim(spec, d, &list);
    dims[d] = (hlo_dim_sharding_t){.axes = {count, &refs[used]}};
    for (uint32_t i = 0; i < count; ++i) {
      refs[used++] = (hlo_axis_ref_t){list[i], 1, grid->sizes[list[i]]};
    }
  }
  hlo_sharding_t sharding = {
      .mesh = &mesh, .rank = spec->rank, .dims = dims, .unreduced = {0, &refs[used]}};
  for (uint32_t i = 0; i < grid->axis_count; ++i) {
    if (!(spec->unreduced & hlo_axis_bit(i))) continue;
    refs[used++] = (hlo_axis_ref_t){i, 1, grid->sizes[i]};
    ++sharding.unreduced.count;
  }
  return hlo_op_sharding_from_sharding(&sharding, NULL, &spmd->arena, out);
}

// Appends the axes of the grid that a factor consists of.
static hlo_status_t add_factor(const hlo_grid_t* grid, const hlo_tile_factor_t* factor,
                               hlo_dim_axes_t* axes) {
  int64_t size = 1;
  for (uint32_t i = 0; i < grid->axis_count; ++i) {
    const int64_t stride = grid->strides[i];
    if (stride < factor->stride || stride >= factor->stride * factor->size) continue;
    axes->axes[axes->count++] = (uint8_t)i;
    size *= grid->sizes[i];
  }
  return size == factor->size
             ? hlo_ok()
             : hlo_unimplemented("a sharding that divides devices otherwise than the program does");
}

static hlo_status_t find_factors(hlo_spmd_t* spmd, const hlo_op_sharding_t* sharding,
                                 hlo_tile_factors_t* out) {
  const hlo_grid_t* grid = spmd->grid;
  const int64_t* devices;
  if (hlo_op_sharding_device_count(sharding) != grid->device_count) {
    return hlo_invalid_argument("a sharding over %lld devices in a program for %u partitions",
                                (long long)hlo_op_sharding_device_count(sharding),
                                grid->device_count);
  }
  HLO_TRY(hlo_op_sharding_devices(sharding, &spmd->arena, &devices));
  int64_t* positions = hlo_arena_array(&spmd->arena, grid->device_count, sizeof *positions);
  HLO_TRY(hlo_arena_status(&spmd->arena));
  for (uint32_t i = 0; i < grid->device_count; ++i) positions[i] = grid->positions[devices[i]];
  return hlo_tile_factors_find(sharding, positions, out)
             ? hlo_ok()
             : hlo_unimplemented("a sharding with the devices in another order than the program's");
}

hlo_status_t hlo_spec_from_op_sharding(hlo_spmd_t* spmd, const hlo_op_sharding_t* sharding,
                                       uint32_t rank, const hlo_spec_t** out_spec) {
  hlo_dim_axes_t dims[HLO_RANK_MAX + 1];
  hlo_tile_factors_t factors = {0};
  hlo_axis_set_t unreduced = 0;
  for (uint32_t d = 0; d < rank; ++d) dims[d].count = 0;
  switch ((hlo_op_sharding_kind_t)sharding->kind) {
    case HLO_OP_SHARDING_REPLICATED: break;
    case HLO_OP_SHARDING_TILED: HLO_TRY(find_factors(spmd, sharding, &factors)); break;
    default: return hlo_invalid_argument("a sharding that is neither replicated nor tiled");
  }
  for (uint32_t i = 0; i < factors.count; ++i) {
    const hlo_tile_factor_t* factor = &factors.items[i];
    const hlo_op_sharding_kind_t kind = hlo_op_sharding_dim_kind(sharding, factor->dim);
    hlo_dim_axes_t* axes = &dims[HLO_RANK_MAX];
    if (kind == HLO_OP_SHARDING_TILED) {
      if (factor->dim >= rank) return hlo_invalid_argument("a sharding of another rank");
      axes = &dims[factor->dim];
    } else {
      axes->count = 0;
    }
    HLO_TRY(add_factor(spmd->grid, factor, axes));
    if (kind == HLO_OP_SHARDING_UNREDUCED) unreduced |= hlo_axis_set(axes->axes, axes->count);
  }
  *out_spec = hlo_spec_make(spmd, rank, dims, unreduced);
  return *out_spec ? hlo_ok() : hlo_arena_status(&spmd->arena);
}

// ---- calls that are divided along leading dimensions

// Returns the number of leading dimensions that a call computes element by element.
static uint32_t batch_rank(const hlo_node_t* node) {
  const hlo_attr_t* frontend = hlo_attr_dict_get(node->extra, "mhlo.frontend_attributes");
  const hlo_attr_t* text = hlo_attr_dict_get(frontend, "num_batch_dims");
  if (!text || text->kind != HLO_ATTR_KIND_STRING) return 0;
  char* end;
  const unsigned long rank = strtoul(text->text, &end, 10);
  if (*end || rank > HLO_RANK_MAX) return 0;
  const hlo_type_t* first = hlo_node_type(node, 0);
  for (uint32_t t = 0; t < node->operand_count + node->result_count; ++t) {
    const hlo_type_t* type = hlo_node_type(node, t);
    if (!hlo_type_is_tensor(type) || type->rank < rank) return 0;
    for (uint32_t d = 0; d < type->rank; ++d) {
      if (type->dims[d] < 1 || (d < rank && type->dims[d] != first->dims[d])) return 0;
    }
  }
  return (uint32_t)rank;
}

// Writes a rule in which only the leading dimensions belong together.
static void put_batch_rule(const hlo_node_t* node, uint32_t rank, hlo_strbuf_t* out) {
  HLO_SCOPED_STRBUF sizes = {0}, whole = {0};
  uint32_t next = rank;
  for (uint32_t d = 0; d < rank; ++d) {
    hlo_strbuf_puts(&sizes, d ? ", " : "");
    hlo_factor_print(d, &sizes);
    hlo_strbuf_printf(&sizes, "=%lld", (long long)hlo_node_type(node, 0)->dims[d]);
  }
  hlo_strbuf_puts(out, "#sdy.op_sharding_rule<(");
  for (uint32_t t = 0; t < node->operand_count + node->result_count; ++t) {
    const hlo_type_t* type = hlo_node_type(node, t);
    const bool is_first = t == 0 || t == node->operand_count;
    if (t == node->operand_count) hlo_strbuf_puts(out, ")->(");
    hlo_strbuf_puts(out, is_first ? "[" : ", [");
    for (uint32_t d = 0; d < type->rank; ++d) {
      hlo_strbuf_puts(out, d ? ", " : "");
      hlo_factor_print(d < rank ? d : next, out);
      if (d < rank) continue;
      hlo_strbuf_puts(&whole, whole.length ? ", " : "");
      hlo_factor_print(next, &whole);
      hlo_strbuf_puts(&sizes, ", ");
      hlo_factor_print(next++, &sizes);
      hlo_strbuf_printf(&sizes, "=%lld", (long long)type->dims[d]);
    }
    hlo_strbuf_putc(out, ']');
  }
  hlo_strbuf_printf(out, ") {%s}", hlo_strbuf_text(&sizes));
  if (whole.length) hlo_strbuf_printf(out, " need_replication={%s}", hlo_strbuf_text(&whole));
  hlo_strbuf_puts(out, ", custom>");
  if (sizes.failed || whole.failed) out->failed = true;
}

static hlo_status_t state_rule(void* context, hlo_node_t* node) {
  hlo_spmd_t* spmd = context;
  const hlo_custom_partitioner_t* custom = spmd->custom_partitioner;
  if (node->op != HLO_OP_custom_call || !hlo_custom_call_is_foreign(node) ||
      hlo_attr_dict_get(node->extra, "sdy.sharding_rule") ||
      !custom->is_batched(custom->context, hlo_custom_call_target(node))) {
    return hlo_ok();
  }
  const uint32_t rank = batch_rank(node);
  if (!rank) return hlo_ok();
  HLO_SCOPED_STRBUF rule = {0};
  put_batch_rule(node, rank, &rule);
  HLO_TRY(hlo_strbuf_status(&rule));
  node->extra =
      hlo_attr_dict_with(spmd->module, node->extra, "sdy.sharding_rule",
                         hlo_attr_opaque(spmd->module, hlo_strbuf_text(&rule), rule.length));
  return hlo_module_status(spmd->module);
}

hlo_status_t hlo_spmd_state_rules(hlo_spmd_t* spmd) {
  if (!spmd->custom_partitioner) return hlo_ok();
  return hlo_module_walk(spmd->module, false, state_rule, spmd);
}

// ---- calls

static uint32_t rank_of(const hlo_type_t* type) {
  return hlo_type_is_tensor(type) ? type->rank : 0;
}

// Makes the shardings that propagation decided for operands, or results.
static hlo_status_t decided_shardings(hlo_partitioner_t* p, const hlo_node_t* node, bool is_result,
                                      const hlo_op_sharding_t** out_list) {
  const uint32_t count = is_result ? node->result_count : node->operand_count;
  hlo_op_sharding_t* list = hlo_arena_array(&p->spmd->arena, count, sizeof *list);
  if (!list) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* value = is_result ? &node->results[i] : hlo_node_operand(node, i);
    if (!hlo_type_is_tensor(value->type)) continue;
    const hlo_spec_t* spec =
        hlo_spec_even(p->spmd, hlo_spmd_value_spec(p->spmd, value), value->type);
    if (!spec) return hlo_partitioner_status(p);
    HLO_TRY(hlo_spec_to_op_sharding(p->spmd, spec, &list[i]));
  }
  *out_list = list;
  return hlo_ok();
}

// Reads a sharding of the application's answer. Axes that are manual here divide nothing that the
// application sees.
static hlo_status_t read_spec(hlo_partitioner_t* p, const hlo_node_t* node,
                              const hlo_op_sharding_t* sharding, const hlo_type_t* type,
                              const hlo_spec_t** out_spec) {
  hlo_axis_set_t manual;
  HLO_TRY(hlo_spmd_manual_axes(p->spmd, node->parent, &manual));
  HLO_TRY(hlo_spec_from_op_sharding(p->spmd, sharding, rank_of(type), out_spec));
  const hlo_axis_set_t used = hlo_spec_axes(*out_spec) | (*out_spec)->unreduced;
  return used & manual ? hlo_invalid_argument("a sharding along manual axes") : hlo_ok();
}

// Brings the operands into the form that the application wants.
static hlo_status_t take_operands(hlo_partitioner_t* p, hlo_node_t* node,
                                  const hlo_custom_part_t* part, const hlo_region_t* body,
                                  hlo_value_t** out_values) {
  if (body->arg_count != node->operand_count) {
    return hlo_invalid_argument("the application's program has %u arguments for %u operands",
                                body->arg_count, node->operand_count);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_value_t* value = hlo_node_operand(node, i);
    const hlo_spec_t* spec;
    HLO_TRY_MSG(read_spec(p, node, &part->operands[i], value->type, &spec), "operand %u", i);
    out_values[i] = hlo_local_get(p, value, spec);
    if (!out_values[i]) return hlo_partitioner_status(p);
    if (out_values[i]->type != hlo_type_import(p->module, body->args[i]->type)) {
      return hlo_invalid_argument("argument %u of the application's program has another type", i);
    }
  }
  return hlo_ok();
}

static hlo_status_t enter_results(hlo_partitioner_t* p, hlo_node_t* node,
                                  const hlo_custom_part_t* part, hlo_value_t* const* values) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_t* result = &node->results[i];
    const hlo_spec_t* spec;
    HLO_TRY_MSG(read_spec(p, node, &part->results[i], result->type, &spec), "result %u", i);
    if (values[i]->type != hlo_local_type(p, result->type, spec)) {
      return hlo_invalid_argument("result %u of the application's program has another type", i);
    }
    HLO_TRY(hlo_local_set(p, result, spec, values[i]));
  }
  return hlo_ok();
}

typedef struct renumbering {
  hlo_partitioner_t* p;
  int64_t first, last;
} renumbering_t;

static hlo_status_t renumber_channel(void* context, hlo_node_t* node) {
  renumbering_t* r = context;
  const int64_t channel = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0);
  if (channel <= 0) return hlo_ok();
  if (r->first + channel > r->last) r->last = r->first + channel;
  hlo_node_set_attr(node, HLO_ATTR_channel_id,
                    hlo_attr_int(r->p->module, HLO_DTYPE_S64, r->first + channel));
  return hlo_ok();
}

// Gives the channels of new ops, those after `before` (NULL: all), numbers of their own.
static hlo_status_t renumber_channels(hlo_partitioner_t* p, const hlo_node_t* before) {
  renumbering_t r = {p, p->next_channel - 1, p->next_channel - 1};
  for (hlo_node_t* node = before ? before->next : p->at->parent->first; node != p->at;
       node = node->next) {
    HLO_TRY(renumber_channel(&r, node));
    for (uint32_t i = 0; i < node->region_count; ++i) {
      HLO_TRY(hlo_region_walk(node->regions[i], false, renumber_channel, &r));
    }
  }
  p->next_channel = r.last + 1;
  return hlo_ok();
}

static hlo_status_t insert_part(hlo_partitioner_t* p, hlo_node_t* node,
                                const hlo_custom_part_t* part) {
  const hlo_func_t* entry = hlo_module_entry(part->module);
  const hlo_region_t* body = entry ? entry->body : NULL;
  const hlo_node_t* end = body ? hlo_region_terminator(body) : NULL;
  if (!end || end->operand_count != node->result_count) {
    return hlo_invalid_argument("the application's program does not have %u results",
                                node->result_count);
  }
  hlo_value_t** operands = hlo_arena_array(&p->spmd->arena, node->operand_count, sizeof *operands);
  hlo_value_t** results = hlo_arena_array(&p->spmd->arena, node->result_count, sizeof *results);
  if (!operands || !results) return hlo_partitioner_status(p);
  HLO_TRY(take_operands(p, node, part, body, operands));
  const hlo_node_t* before = p->at->prev;
  HLO_TRY(hlo_region_import(body, operands, p->at, results));
  HLO_TRY(renumber_channels(p, before));
  return enter_results(p, node, part, results);
}

bool hlo_is_custom_partitioned(const hlo_partitioner_t* p, const hlo_node_t* node) {
  const hlo_custom_partitioner_t* custom = p->spmd->custom_partitioner;
  return custom && node->op == HLO_OP_custom_call &&
         custom->knows(custom->context, hlo_custom_call_target(node));
}

// Forms that the program has no more when it is partitioned.
static const char kForms[] =
    "lower_ragged_all_to_all,lower_mesh_groups,drop_shardy,lower_placement,lower_composite,"
    "inline=400000,dce";

// Lets the application adapt the shardings of results that users asked for. A call with a rule was
// asked for nothing else than its rule allows.
static hlo_status_t adapt_results(hlo_partitioner_t* p, const hlo_node_t* node,
                                  const hlo_op_sharding_t** results) {
  const hlo_custom_partitioner_t* custom = p->spmd->custom_partitioner;
  bool is_divided = false;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    is_divided = is_divided || (*results)[i].kind == HLO_OP_SHARDING_TILED;
  }
  if (!is_divided || !custom->adapt || hlo_sharding_rule_is_stated(node)) return hlo_ok();
  return custom->adapt(custom->context, node, *results, &p->spmd->arena, results);
}

hlo_status_t hlo_partition_custom(hlo_partitioner_t* p, hlo_node_t* node) {
  const hlo_custom_partitioner_t* custom = p->spmd->custom_partitioner;
  const hlo_op_sharding_t *operands, *results;
  HLO_TRY(decided_shardings(p, node, false, &operands));
  HLO_TRY(decided_shardings(p, node, true, &results));
  HLO_TRY(hlo_node_annotate(node, adapt_results(p, node, &results)));
  hlo_custom_part_t part = {0};
  hlo_status_t status =
      custom->partition(custom->context, node, operands, results, &p->spmd->arena, &part);
  if (hlo_status_is_ok(status)) status = hlo_passes_run(part.module, kForms, NULL);
  if (hlo_status_is_ok(status)) status = insert_part(p, node, &part);
  hlo_module_release(part.module);
  return hlo_node_annotate(node, status);
}

bool hlo_is_inspection(const hlo_node_t* node) {
  return strcmp(hlo_custom_call_target(node), "InspectSharding") == 0 && node->operand_count == 1 &&
         hlo_type_is_tensor(hlo_node_operand_type(node, 0));
}

hlo_status_t hlo_partition_inspection(hlo_partitioner_t* p, hlo_node_t* node) {
  const hlo_custom_partitioner_t* custom = p->spmd->custom_partitioner;
  hlo_value_t* operand = hlo_node_operand(node, 0);
  const hlo_spec_t* spec = hlo_spmd_value_spec(p->spmd, operand);
  hlo_op_sharding_t sharding;
  hlo_axis_set_t manual;
  if (!spec) return hlo_partitioner_status(p);
  HLO_TRY(hlo_spmd_manual_axes(p->spmd, node->parent, &manual));
  HLO_TRY(hlo_spec_to_op_sharding(p->spmd, spec, &sharding));
  if (custom) {
    const hlo_op_sharding_t own = {.kind = HLO_OP_SHARDING_MANUAL};
    hlo_status_t status =
        custom->inspect(custom->context, node, manual ? &own : &sharding, &p->spmd->arena);
    HLO_TRY(hlo_node_annotate(node, status));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->results[i].type != operand->type) {
      return hlo_node_invalid(node, "result %u has another type than the operand", i);
    }
    HLO_TRY(hlo_local_set(p, &node->results[i], spec, hlo_local_get(p, operand, spec)));
  }
  return hlo_ok();
}
