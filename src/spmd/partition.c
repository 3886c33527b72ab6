// SPDX-License-Identifier: Apache-2.0
// Rewrites a program to what one device computes (see partition_impl.h): regions, control flow,
// manual computations, and the signature of the entry.
//
// A region is rewritten in place: the local ops are built before the global ones, which are erased
// at its end, and its local arguments replace the global ones. The body of a manual computation is
// local along the manual axes already, so that its ops are built where the computation stood.
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/op_sharding.h"
#include "spmd/partition_impl.h"

// ---- local values

const hlo_type_t* hlo_local_type(hlo_partitioner_t* p, const hlo_type_t* type,
                                 const hlo_spec_t* spec) {
  if (!spec || !hlo_type_is_tensor(type)) return type;
  int64_t dims[HLO_RANK_MAX];
  bool is_whole = true;
  for (uint32_t d = 0; d < type->rank; ++d) {
    const int64_t parts = hlo_spec_parts(p->grid, spec, d);
    dims[d] = hlo_divide_up(type->dims[d], parts);
    is_whole = is_whole && parts == 1;
  }
  return is_whole ? type : hlo_type_with_dims(p->module, type, type->rank, dims);
}

hlo_status_t hlo_local_set(hlo_partitioner_t* p, const hlo_value_t* value, const hlo_spec_t* spec,
                           hlo_value_t* local) {
  hlo_local_value_t* entry = hlo_arena_alloc(&p->spmd->arena, sizeof *entry);
  if (!entry || !local || !spec || value->index >= p->local_capacity) {
    HLO_TRY(hlo_partitioner_status(p));
    return hlo_internal_error("a global value without a place for its local values");
  }
  *entry = (hlo_local_value_t){NULL, spec, local};
  hlo_local_value_t** link = &p->locals[value->index];
  while (*link) link = &(*link)->next;
  *link = entry;
  return hlo_ok();
}

// Returns true if a value may be used at p->at.
static bool is_visible(const hlo_partitioner_t* p, const hlo_value_t* value) {
  const hlo_region_t* region = p->at->parent;
  while (region && region != value->region) region = region->parent ? region->parent->parent : NULL;
  return region != NULL;
}

// Returns the splat that a constant consists of, or NULL.
static const hlo_attr_t* splat_of(const hlo_value_t* value) {
  if (!value->def || value->def->op != HLO_OP_constant) return NULL;
  const hlo_attr_t* attr = hlo_node_attr(value->def, HLO_ATTR_value);
  bool is_splat = attr && attr->kind == HLO_ATTR_KIND_LITERAL && attr->literal->is_splat;
  return is_splat && !value->type->quant ? attr : NULL;
}

// Builds a device's part of a splat.
static hlo_value_t* build_splat(hlo_partitioner_t* p, const hlo_type_t* type,
                                const hlo_attr_t* splat) {
  hlo_literal_t* literal = type ? hlo_build_literal(p->module, type, true) : NULL;
  if (!literal) return NULL;
  memcpy(hlo_literal_mutable_data(literal), splat->literal->data,
         hlo_dtype_size_bytes(type->dtype));
  return hlo_build_constant(p->at, type, literal);
}

// Finds the local value that costs the least to reshard; NULL if none is visible.
static const hlo_local_value_t* find_source(hlo_partitioner_t* p, const hlo_value_t* value,
                                            const hlo_spec_t* spec, double* out_bytes) {
  const hlo_local_value_t* best = NULL;
  *out_bytes = HUGE_VAL;
  for (const hlo_local_value_t* e = p->locals[value->index]; e; e = e->next) {
    if (!is_visible(p, e->value)) continue;
    const bool is_found = e->spec == spec || !hlo_type_is_tensor(value->type);
    const double bytes = is_found ? 0 : hlo_reshard_bytes(p, value->type, e->spec, spec);
    if (bytes >= *out_bytes) continue;
    best = e;
    *out_bytes = bytes;
    if (is_found) break;
  }
  return best;
}

double hlo_local_bytes(hlo_partitioner_t* p, const hlo_value_t* value, const hlo_spec_t* spec) {
  double bytes = 0;
  if (!spec || value->index >= p->local_capacity || splat_of(value)) return 0;
  return find_source(p, value, spec, &bytes) ? bytes : 0;
}

hlo_value_t* hlo_local_get(hlo_partitioner_t* p, hlo_value_t* value, const hlo_spec_t* spec) {
  if (!spec || value->index >= p->local_capacity) return NULL;
  double bytes;
  const hlo_local_value_t* best = find_source(p, value, spec, &bytes);
  if (best && (best->spec == spec || !hlo_type_is_tensor(value->type))) return best->value;
  const hlo_attr_t* splat = splat_of(value);
  hlo_value_t* local = NULL;
  if (splat && !spec->unreduced) {
    local = build_splat(p, hlo_local_type(p, value->type, spec), splat);
  } else if (best) {
    local = hlo_reshard(p, best->value, value->type, best->spec, spec);
  }
  if (!local) return NULL;
  hlo_status_t status = hlo_local_set(p, value, spec, local);
  const bool is_set = hlo_status_is_ok(status);
  hlo_status_release(status);
  return is_set ? local : NULL;
}

hlo_value_t* hlo_local_get_whole(hlo_partitioner_t* p, hlo_value_t* value) {
  return hlo_local_get(p, value, hlo_spec_replicated(p->spmd, value->type->rank));
}

// ---- regions

// How the arguments or the results of a region lie on the devices.
typedef struct region_side {
  const hlo_spec_t* const* specs;
  const hlo_grid_mesh_t* const* meshes;  // of the entry, NULL where not permuted; else NULL
} region_side_t;

// Gives a region local arguments beside the global ones, which stay until drop_global().
static hlo_status_t add_local_args(hlo_partitioner_t* p, hlo_region_t* region,
                                   const region_side_t* side) {
  const uint32_t count = region->arg_count;
  for (uint32_t i = 0; i < count; ++i) {
    hlo_value_t* global = region->args[i];
    const hlo_spec_t* spec = side->specs[i];
    hlo_value_t* local = hlo_region_add_arg(region, hlo_local_type(p, global->type, spec));
    if (side->meshes && side->meshes[i]) {
      local = hlo_build_mesh_permute(p, local, side->meshes[i], true);
    }
    if (!local) return hlo_partitioner_status(p);
    HLO_TRY(hlo_local_set(p, global, spec, local));
  }
  return hlo_ok();
}

// Erases the global ops of a region and its first `arg_count` arguments, which are the global ones.
static void drop_global(hlo_region_t* region, uint32_t arg_count, uint32_t first_new_node) {
  for (hlo_node_t* node = region->last; node;) {
    hlo_node_t* prev = node->prev;
    if (node->index < first_new_node) hlo_node_erase(node);
    node = prev;
  }
  region->arg_count -= arg_count;
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    region->args[i] = region->args[i + arg_count];
    region->args[i]->number = i;
  }
}

// Rewrites a region in place.
static hlo_status_t partition_region(hlo_partitioner_t* p, hlo_region_t* region,
                                     const region_side_t* in, const region_side_t* out) {
  const uint32_t arg_count = region->arg_count;
  hlo_node_t* end = hlo_region_terminator(region);
  if (!end) return hlo_internal_error("a region without an end");
  hlo_node_t* outer = p->at;
  p->at = region->first;
  HLO_TRY(add_local_args(p, region, in));
  p->at = NULL;
  HLO_TRY(hlo_partition_body(p, region));
  p->at = end;
  hlo_value_t** results = hlo_arena_array(&p->spmd->arena, end->operand_count, sizeof *results);
  if (!results) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    results[i] = hlo_local_get(p, hlo_node_operand(end, i), out->specs[i]);
    if (out->meshes && out->meshes[i]) {
      results[i] = hlo_build_mesh_permute(p, results[i], out->meshes[i], false);
    }
    if (!results[i]) return hlo_partitioner_status(p);
  }
  hlo_node_t* local_end =
      hlo_node_create(p->module, &(hlo_node_spec_t){.op = end->op,
                                                    .loc = end->loc,
                                                    .operand_count = end->operand_count,
                                                    .operands = results});
  if (hlo_node_is_poison(local_end)) return hlo_partitioner_status(p);
  hlo_node_insert_before(end, local_end);
  drop_global(region, arg_count, p->first_new_node);
  p->at = outer;
  return hlo_ok();
}

// ---- control flow

void hlo_local_move_regions(hlo_node_t* from, hlo_node_t* to) {
  for (uint32_t i = 0; i < from->region_count; ++i) {
    to->regions[i] = from->regions[i];
    to->regions[i]->parent = to;
  }
  from->region_count = 0;
}

hlo_node_t* hlo_local_create(hlo_partitioner_t* p, hlo_node_t* node, hlo_value_t* const* operands,
                             const hlo_type_t* const* result_types) {
  hlo_node_t* local =
      hlo_node_create(p->module, &(hlo_node_spec_t){.op = node->op,
                                                    .loc = node->loc,
                                                    .operand_count = node->operand_count,
                                                    .operands = operands,
                                                    .extra = hlo_local_extra(p, node->extra),
                                                    .region_count = node->region_count,
                                                    .result_count = node->result_count,
                                                    .result_types = result_types});
  if (hlo_node_is_poison(local)) return NULL;
  hlo_node_copy_attrs(local, node);
  return local;
}

// Creates the local form of a node that holds regions, which it takes over, before p->at.
static hlo_node_t* create_with_regions(hlo_partitioner_t* p, hlo_node_t* node,
                                       hlo_value_t* const* operands,
                                       const hlo_spec_t* const* result_specs) {
  const hlo_type_t** types = hlo_arena_array(&p->spmd->arena, node->result_count, sizeof *types);
  if (!types) return NULL;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    types[i] = hlo_local_type(p, node->results[i].type, result_specs[i]);
  }
  hlo_node_t* local = hlo_local_create(p, node, operands, types);
  if (!local) return NULL;
  hlo_node_insert_before(p->at, local);
  hlo_local_move_regions(node, local);
  return local;
}

static hlo_status_t set_results(hlo_partitioner_t* p, hlo_node_t* node, hlo_node_t* local,
                                const hlo_spec_t* const* specs) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    HLO_TRY(hlo_local_set(p, &node->results[i], specs[i], &local->results[i]));
  }
  return hlo_ok();
}

// Returns the specs that propagation decided for the results of a node.
static hlo_status_t result_specs_of(hlo_partitioner_t* p, const hlo_node_t* node,
                                    const hlo_spec_t*** out_specs) {
  const hlo_spec_t** specs = hlo_arena_array(&p->spmd->arena, node->result_count, sizeof *specs);
  if (!specs) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    specs[i] = hlo_spmd_value_spec(p->spmd, &node->results[i]);
    if (!specs[i]) return hlo_partitioner_status(p);
  }
  *out_specs = specs;
  return hlo_ok();
}

// A loop that begins with terms of a sum carries terms, so that the sum is done after it.
static hlo_status_t carry_terms(hlo_partitioner_t* p, const hlo_node_t* node,
                                const hlo_spec_t** specs) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_spec_t* first = hlo_spmd_value_spec(p->spmd, hlo_node_operand(node, i));
    if (!first) return hlo_partitioner_status(p);
    if (!first->unreduced || (hlo_spec_axes(specs[i]) & first->unreduced)) continue;
    hlo_spec_t carried = *specs[i];
    carried.unreduced = first->unreduced;
    specs[i] = hlo_spec_intern(p->spmd, &carried);
    if (!specs[i]) return hlo_partitioner_status(p);
  }
  return hlo_ok();
}

// A region's body that is moved to its local form is inside of it from the beginning, so that
// values outside of the loop are visible.
static hlo_status_t partition_while(hlo_partitioner_t* p, hlo_node_t* node) {
  const hlo_spec_t** specs;
  HLO_TRY(result_specs_of(p, node, &specs));
  HLO_TRY(carry_terms(p, node, specs));
  HLO_TRY(hlo_gather_before_loop(p, node, specs));
  hlo_value_t** operands = hlo_arena_array(&p->spmd->arena, node->operand_count, sizeof *operands);
  if (!operands) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = hlo_local_get(p, hlo_node_operand(node, i), specs[i]);
    if (!operands[i]) return hlo_partitioner_status(p);
  }
  hlo_node_t* local = create_with_regions(p, node, operands, specs);
  if (!local) return hlo_partitioner_status(p);
  const hlo_spec_t* scalar = hlo_spec_replicated(p->spmd, 0);
  const region_side_t carried = {specs, NULL}, condition = {&scalar, NULL};
  HLO_TRY(partition_region(p, local->regions[0], &carried, &condition));
  HLO_TRY(partition_region(p, local->regions[1], &carried, &carried));
  return set_results(p, node, local, specs);
}

static hlo_status_t partition_branches(hlo_partitioner_t* p, hlo_node_t* node) {
  const hlo_spec_t** specs;
  HLO_TRY(result_specs_of(p, node, &specs));
  hlo_value_t* which = hlo_local_get_whole(p, hlo_node_operand(node, 0));
  if (!which) return hlo_partitioner_status(p);
  hlo_node_t* local = create_with_regions(p, node, &which, specs);
  if (!local) return hlo_partitioner_status(p);
  const region_side_t none = {NULL, NULL}, results = {specs, NULL};
  for (uint32_t i = 0; i < local->region_count; ++i) {
    HLO_TRY(partition_region(p, local->regions[i], &none, &results));
  }
  return set_results(p, node, local, specs);
}

// ---- manual computations

// Returns the spec outside of a manual computation of a value inside of it: per dimension the
// manual axes of the sharding, then those that divide the value inside.
static const hlo_spec_t* outer_spec(hlo_partitioner_t* p, const hlo_spec_t* manual,
                                    const hlo_spec_t* inner, hlo_axis_set_t own) {
  hlo_dim_axes_t dims[HLO_RANK_MAX];
  if (!manual || !inner || manual->rank != inner->rank) return NULL;
  for (uint32_t d = 0; d < manual->rank; ++d) {
    const uint8_t* axes;
    uint32_t count = hlo_spec_dim(manual, d, &axes);
    dims[d].count = 0;
    for (uint32_t i = 0; i < count; ++i) {
      if (own & hlo_axis_bit(axes[i])) dims[d].axes[dims[d].count++] = axes[i];
    }
    count = hlo_spec_dim(inner, d, &axes);
    memcpy(&dims[d].axes[dims[d].count], axes, count);
    dims[d].count += count;
  }
  return hlo_spec_make(p->spmd, manual->rank, dims, (manual->unreduced & own) | inner->unreduced);
}

// The shardings of one side of a manual computation.
typedef struct manual_side {
  uint32_t count;
  const hlo_sharding_t* const* shardings;
  hlo_axis_set_t own, outer;
} manual_side_t;

static hlo_status_t read_side(hlo_partitioner_t* p, const hlo_node_t* node, hlo_attr_id_t attr,
                              uint32_t count, manual_side_t* side) {
  HLO_TRY(hlo_spmd_own_manual_axes(p->spmd, node, &side->own));
  HLO_TRY(hlo_spmd_manual_axes(p->spmd, node->parent, &side->outer));
  HLO_TRY(hlo_sharding_parse_list(p->module, hlo_node_attr(node, attr), &side->count,
                                  &side->shardings));
  return side->count == count
             ? hlo_ok()
             : hlo_node_invalid(node, "%u shardings for %u values", side->count, count);
}

// Returns the specs of value i inside and outside of the computation.
static hlo_status_t manual_specs(hlo_partitioner_t* p, const hlo_node_t* node,
                                 const manual_side_t* side, uint32_t i, const hlo_value_t* value,
                                 const hlo_spec_t** out_inner, const hlo_spec_t** out_outer) {
  const hlo_spec_t* manual;
  *out_inner = hlo_spmd_value_spec(p->spmd, value);
  if (!hlo_type_is_tensor(value->type)) {
    *out_outer = *out_inner;
    return *out_inner ? hlo_ok() : hlo_partitioner_status(p);
  }
  *out_inner = hlo_spec_even(p->spmd, *out_inner, value->type);
  if (!*out_inner) return hlo_partitioner_status(p);
  HLO_TRY(hlo_spec_from_sharding(p->spmd, side->shardings[i], side->outer, &manual));
  if (manual->rank != value->type->rank) {
    return hlo_node_invalid(node, "sharding %u is of rank %u, its value of rank %u", i,
                            manual->rank, value->type->rank);
  }
  *out_outer = outer_spec(p, manual, *out_inner, side->own);
  return *out_outer ? hlo_ok() : hlo_partitioner_status(p);
}

static hlo_status_t partition_manual(hlo_partitioner_t* p, hlo_node_t* node) {
  hlo_region_t* body = node->regions[0];
  hlo_node_t* end = hlo_region_terminator(body);
  if (!end || body->arg_count != node->operand_count || end->operand_count != node->result_count) {
    return hlo_node_invalid(node, "the body does not fit operands and results");
  }
  manual_side_t in, out;
  HLO_TRY(read_side(p, node, HLO_ATTR_in_shardings, node->operand_count, &in));
  HLO_TRY(read_side(p, node, HLO_ATTR_out_shardings, node->result_count, &out));
  const hlo_spec_t *inner, *outer;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    HLO_TRY(manual_specs(p, node, &in, i, body->args[i], &inner, &outer));
    hlo_value_t* local = hlo_local_get(p, hlo_node_operand(node, i), outer);
    if (!local) return hlo_partitioner_status(p);
    if (local->type != hlo_local_type(p, body->args[i]->type, inner)) {
      return hlo_node_invalid(node, "argument %u of the body does not have the shape of a part", i);
    }
    HLO_TRY(hlo_local_set(p, body->args[i], inner, local));
  }
  HLO_TRY(hlo_partition_body(p, body));
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_t* value = hlo_node_operand(end, i);
    HLO_TRY(manual_specs(p, node, &out, i, value, &inner, &outer));
    hlo_value_t* local = hlo_local_get(p, value, inner);
    if (!local) return hlo_partitioner_status(p);
    if (local->type != hlo_local_type(p, node->results[i].type, outer)) {
      return hlo_node_invalid(node, "result %u does not have the shape of the parts", i);
    }
    HLO_TRY(hlo_local_set(p, &node->results[i], outer, local));
  }
  return hlo_ok();
}

// ---- ops

static hlo_status_t partition_node(hlo_partitioner_t* p, hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_sdy_sharding_constraint:
    case HLO_OP_sdy_propagation_barrier:
    case HLO_OP_sdy_reshard: {
      const hlo_spec_t* spec = hlo_spmd_value_spec(p->spmd, &node->results[0]);
      return hlo_local_set(p, &node->results[0], spec,
                           hlo_local_get(p, hlo_node_operand(node, 0), spec));
    }
    case HLO_OP_sdy_sharding_group: return hlo_ok();
    case HLO_OP_sdy_manual_computation: return partition_manual(p, node);
    case HLO_OP_while: return partition_while(p, node);
    case HLO_OP_if:
    case HLO_OP_case: return partition_branches(p, node);
    case HLO_OP_call:
      return hlo_node_unimplemented(node,
                                    "a call that cannot be inlined, in a partitioned program");
    case HLO_OP_custom_call: {
      int64_t device;
      if (hlo_is_custom_partitioned(p, node)) return hlo_partition_custom(p, node);
      if (hlo_is_inspection(node)) return hlo_partition_inspection(p, node);
      if (hlo_custom_call_is_per_part(node)) return hlo_partition_per_part(p, node);
      HLO_TRY(hlo_find_single_device(p, node, &device));
      return device >= 0 ? hlo_partition_on_device(p, node, device) : hlo_partition_op(p, node);
    }
    default: return hlo_partition_op(p, node);
  }
}

// New nodes have the location of the op that they are built for.
static void set_locations(const hlo_node_t* last_before, hlo_node_t* at, const hlo_node_t* node) {
  hlo_node_t* first = last_before ? last_before->next : at->parent->first;
  for (hlo_node_t* n = first; n != at; n = n->next) {
    if (n->loc == at->loc) n->loc = node->loc;
  }
}

hlo_status_t hlo_partition_body(hlo_partitioner_t* p, hlo_region_t* body) {
  hlo_node_t* fixed = p->at;
  for (hlo_node_t* node = body->first; node && node->next; node = node->next) {
    if (node->index >= p->first_new_node) continue;
    p->at = fixed ? fixed : node;
    const hlo_node_t* last_before = p->at->prev;
    HLO_TRY(partition_node(p, node));
    HLO_TRY(hlo_partitioner_status(p));
    if (fixed) set_locations(last_before, fixed, node);
  }
  p->at = fixed;
  return hlo_ok();
}

// ---- the entry

// Returns the spec of a result of the entry: its own, which propagation has written down, or else
// that of its value.
static hlo_status_t entry_result_spec(hlo_partitioner_t* p, const hlo_func_t* func, uint32_t i,
                                      const hlo_value_t* value, const hlo_spec_t** out_spec) {
  const hlo_attr_t* attr =
      func->result_attrs ? hlo_attr_dict_get(func->result_attrs[i], "sdy.sharding") : NULL;
  const hlo_sharding_t* sharding;
  if (!attr || !hlo_type_is_tensor(value->type)) {
    *out_spec = hlo_spmd_value_spec(p->spmd, value);
    if (*out_spec && hlo_type_is_tensor(value->type)) {
      *out_spec = hlo_spec_even(p->spmd, *out_spec, value->type);
    }
    return *out_spec ? hlo_ok() : hlo_partitioner_status(p);
  }
  HLO_TRY(hlo_sharding_parse(p->module, attr, &sharding));
  if (sharding->rank != value->type->rank) {
    return hlo_invalid_argument("result %u: a sharding of rank %u for a value of rank %u", i,
                                sharding->rank, value->type->rank);
  }
  HLO_TRY(hlo_spec_from_sharding(p->spmd, sharding, 0, out_spec));
  *out_spec = hlo_spec_even(p->spmd, *out_spec, value->type);
  return *out_spec ? hlo_ok() : hlo_partitioner_status(p);
}

// Returns the mesh of the sharding that an argument or a result states, or else the first one.
static hlo_status_t find_mesh(hlo_partitioner_t* p, const hlo_attr_t* attrs,
                              const hlo_mesh_t** out_mesh) {
  const hlo_attr_t* attr = hlo_attr_dict_get(attrs, "sdy.sharding");
  const hlo_sharding_t* sharding = NULL;
  if (attr) HLO_TRY(hlo_sharding_parse(p->module, attr, &sharding));
  const bool is_known = sharding && hlo_grid_find_mesh(p->grid, sharding->mesh);
  *out_mesh = is_known ? sharding->mesh : p->grid->mesh_count ? p->grid->meshes[0].mesh : NULL;
  return hlo_ok();
}

// States what was decided, in the form of XLA's executables.
static hlo_status_t state_sharding(hlo_partitioner_t* p, const hlo_type_t* type,
                                   const hlo_spec_t* spec, const hlo_mesh_t* mesh,
                                   const hlo_attr_t** attrs) {
  HLO_SCOPED_STRBUF text = {0};
  if (mesh && hlo_type_is_tensor(type)) {
    const hlo_sharding_t* sharding;
    hlo_op_sharding_t form;
    HLO_TRY(hlo_spec_to_sharding(p->spmd, spec, mesh, &sharding));
    HLO_TRY(hlo_op_sharding_from_sharding(sharding, NULL, &p->spmd->arena, &form));
    hlo_op_sharding_print(&form, &text);
  } else {
    hlo_strbuf_puts(&text, "{replicated}");
  }
  HLO_TRY(hlo_strbuf_status(&text));
  const hlo_attr_t* value = hlo_attr_string(p->module, hlo_strbuf_text(&text), text.length);
  if (hlo_attr_dict_get(*attrs, "sdy.sharding")) {
    *attrs = hlo_attr_dict_with(p->module, *attrs, "sdy.sharding", NULL);
  }
  *attrs = value ? hlo_attr_dict_with(p->module, *attrs, HLO_OP_SHARDING_ATTR, value) : NULL;
  return hlo_partitioner_status(p);
}

// States the shardings of all arguments or results, and finds those on permuted meshes.
static hlo_status_t state_shardings(hlo_partitioner_t* p, const hlo_type_t* type, uint32_t first,
                                    uint32_t count, const hlo_attr_t*** attrs,
                                    region_side_t* side) {
  const hlo_grid_mesh_t** meshes = hlo_arena_array(&p->spmd->arena, count, sizeof *meshes);
  if (!meshes) return hlo_partitioner_status(p);
  side->meshes = meshes;
  if (!*attrs) {
    *attrs = hlo_arena_alloc_zeroed(&p->module->arena, (count + 1) * sizeof **attrs);
    if (!*attrs) return hlo_partitioner_status(p);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_mesh_t* mesh;
    HLO_TRY(find_mesh(p, (*attrs)[i], &mesh));
    const hlo_grid_mesh_t* map = mesh ? hlo_grid_find_mesh(p->grid, mesh) : NULL;
    const bool is_tensor = hlo_type_is_tensor(type->elements[first + i]);
    const bool is_whole = !is_tensor || hlo_spec_axis_count(side->specs[i]) == 0;
    meshes[i] = map && map->is_permuted && !is_whole ? map : NULL;
    HLO_TRY(state_sharding(p, type->elements[first + i], side->specs[i], mesh, &(*attrs)[i]));
  }
  return hlo_ok();
}

static hlo_status_t partition_entry(hlo_partitioner_t* p, hlo_func_t* func) {
  hlo_region_t* body = func->body;
  const hlo_node_t* end = hlo_region_terminator(body);
  if (!end) return hlo_internal_error("a function without an end");
  const uint32_t arg_count = body->arg_count, result_count = end->operand_count;
  const hlo_spec_t** args = hlo_arena_array(&p->spmd->arena, arg_count, sizeof *args);
  const hlo_spec_t** results = hlo_arena_array(&p->spmd->arena, result_count, sizeof *results);
  if (!args || !results) return hlo_partitioner_status(p);
  for (uint32_t i = 0; i < arg_count; ++i) {
    args[i] = hlo_spmd_value_spec(p->spmd, body->args[i]);
    if (!args[i]) return hlo_partitioner_status(p);
  }
  for (uint32_t i = 0; i < result_count; ++i) {
    HLO_TRY(entry_result_spec(p, func, i, hlo_node_operand(end, i), &results[i]));
  }
  region_side_t in = {args, NULL}, out = {results, NULL};
  HLO_TRY(state_shardings(p, func->type, 0, arg_count, &func->arg_attrs, &in));
  HLO_TRY(state_shardings(p, func->type, arg_count, result_count, &func->result_attrs, &out));
  HLO_TRY(partition_region(p, body, &in, &out));
  hlo_func_update_type(func);
  return hlo_ok();
}

// ---- sums that scalars are terms of

// Propagation decides how dimensions are divided. Scalars have none, but may be stated to be terms
// of sums.
static hlo_status_t state_scalar(hlo_partitioner_t* p, const hlo_value_t* value,
                                 const hlo_attr_t* attr, const hlo_region_t* region) {
  const hlo_sharding_t* sharding;
  hlo_axis_set_t manual;
  const hlo_spec_t* spec;
  if (!attr || !hlo_type_is_tensor(value->type) || value->type->rank) return hlo_ok();
  HLO_TRY(hlo_sharding_parse(p->module, attr, &sharding));
  if (!sharding->unreduced.count) return hlo_ok();
  HLO_TRY(hlo_spmd_manual_axes(p->spmd, region, &manual));
  HLO_TRY(hlo_spec_from_sharding(p->spmd, sharding, manual, &spec));
  return hlo_spmd_set_value_spec(p->spmd, value, spec);
}

// A value that is only constrained is what the constraint says.
static hlo_status_t state_scalar_constraint(void* context, hlo_node_t* node) {
  if (node->op != HLO_OP_sdy_sharding_constraint) return hlo_ok();
  const hlo_attr_t* attr = hlo_node_attr(node, HLO_ATTR_sharding);
  hlo_value_t* input = hlo_node_operand(node, 0);
  HLO_TRY(state_scalar(context, &node->results[0], attr, node->parent));
  return input->def && !input->uses->next ? state_scalar(context, input, attr, node->parent)
                                          : hlo_ok();
}

static hlo_status_t state_scalars(hlo_partitioner_t* p, const hlo_func_t* entry) {
  const hlo_region_t* body = entry->body;
  for (uint32_t i = 0; entry->arg_attrs && i < body->arg_count; ++i) {
    const hlo_attr_t* attr = hlo_attr_dict_get(entry->arg_attrs[i], "sdy.sharding");
    HLO_TRY(state_scalar(p, body->args[i], attr, body));
  }
  return hlo_region_walk(entry->body, false, state_scalar_constraint, p);
}

static hlo_status_t find_last_channel(void* context, hlo_node_t* node) {
  hlo_partitioner_t* p = context;
  const int64_t channel = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0);
  if (channel >= p->next_channel) p->next_channel = channel + 1;
  return hlo_ok();
}

hlo_status_t hlo_spmd_partition(hlo_spmd_t* spmd) {
  hlo_module_t* module = spmd->module;
  hlo_func_t* entry = hlo_module_entry(module);
  if (!entry || !entry->body) return hlo_invalid_argument("the module has no entry");
  hlo_partitioner_t p = {.spmd = spmd,
                         .module = module,
                         .grid = spmd->grid,
                         .next_channel = 1,
                         .first_new_node = module->node_count,
                         .local_capacity = module->value_count};
  p.locals = hlo_arena_alloc_zeroed(&spmd->arena, (p.local_capacity + 1) * sizeof *p.locals);
  if (!p.locals) return hlo_partitioner_status(&p);
  HLO_TRY(hlo_module_walk(module, false, find_last_channel, &p));
  HLO_TRY(state_scalars(&p, entry));
  HLO_TRY(partition_entry(&p, entry));
  hlo_drop_unused(&p, entry->body);
  for (hlo_node_t* node = module->top ? module->top->first : NULL; node;) {
    hlo_node_t* next = node->next;
    if (node->op == HLO_OP_sdy_mesh) hlo_node_erase(node);
    node = next;
  }
  return hlo_partitioner_status(&p);
}
