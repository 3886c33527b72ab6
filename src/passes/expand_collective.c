// SPDX-License-Identifier: Apache-2.0
// Reductions over groups of processes by any computation: each process gathers the operands of its
// group and folds them itself, first member to last, as the reference does. A reduce_scatter folds
// the slices that belong to the process alone. In groups of different sizes, member after member
// broadcasts its operands, and processes ignore those after the last one of their group.
#include <string.h>

#include "ir/process_groups.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"

enum {
  UNROLLED_MEMBERS_MAX = 16,  // larger groups are folded in a loop
  UNEVEN_MEMBERS_MAX = 64,    // of the largest group of different sizes
};

typedef struct group_reduction {
  hlo_pass_ctx_t* ctx;
  hlo_node_t* node;
  const hlo_region_t* body;
  uint32_t process_count, member_count;  // of the largest group
  bool is_uneven;
  int64_t *positions, *counts;  // by process: in its group, and the members of its group
  uint32_t* leaders;            // by process: the first of its group
} group_reduction_t;

// Finds the groups, which all processes must be in.
static bool read_groups(group_reduction_t* g) {
  const hlo_pass_options_t* options = g->ctx->options;
  const uint32_t replicas = options->replica_count, partitions = options->partition_count;
  const uint32_t processes = g->process_count = replicas * partitions;
  uint32_t* members = hlo_arena_array(&g->ctx->scratch, processes, sizeof *members);
  g->positions = hlo_arena_array(&g->ctx->scratch, processes, sizeof *g->positions);
  g->counts = hlo_arena_array(&g->ctx->scratch, processes, sizeof *g->counts);
  g->leaders = hlo_arena_array(&g->ctx->scratch, processes, sizeof *g->leaders);
  if (!members || !g->positions || !g->counts || !g->leaders) return false;
  for (uint32_t p = 0; p < processes; ++p) {
    uint32_t count = 0, at = 0;
    // The back end reports groups that are wrong.
    if (!hlo_status_take_ok(hlo_group_members(g->node, hlo_group_strategy(g->node),
                                              hlo_node_attr(g->node, HLO_ATTR_replica_groups),
                                              replicas, partitions, p, members, &count)) ||
        count == 0) {
      return false;
    }
    while (at < count && members[at] != p) ++at;
    g->positions[p] = at;
    g->counts[p] = count;
    g->leaders[p] = members[0];
    g->is_uneven |= count != g->counts[0];
    if (count > g->member_count) g->member_count = count;
  }
  return processes > 0;
}

// Returns the type of a slice of a reduce_scatter; NULL if the group does not divide the dimension.
static const hlo_type_t* slice_type(const group_reduction_t* g, const hlo_type_t* type) {
  const int64_t axis = hlo_node_attr_int(g->node, HLO_ATTR_scatter_dimension, 0);
  int64_t dims[HLO_RANK_MAX];
  if (axis < 0 || axis >= (int64_t)type->rank || type->dims[axis] % g->member_count) return NULL;
  memcpy(dims, type->dims, type->rank * sizeof *dims);
  dims[axis] /= g->member_count;
  return hlo_type_with_dims(g->node->parent->module, type, type->rank, dims);
}

// Returns true if the types are those that the results of the fold have.
static bool are_types_expected(const group_reduction_t* g) {
  const hlo_node_t* node = g->node;
  hlo_module_t* module = node->parent->module;
  const hlo_dtype_t dtype = g->body->args[0]->type->dtype;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (!hlo_type_is_plain(type) || type->rank == HLO_RANK_MAX) return false;
    if (node->op == HLO_OP_reduce_scatter) type = slice_type(g, type);
    if (!type || hlo_type_with_dtype(module, type, dtype) != node->results[i].type) return false;
  }
  return g->body->args[1]->type->dtype == dtype &&
         hlo_node_operand_type(g->body->last, 0)->dtype == dtype;
}

static bool read_reduction(hlo_pass_ctx_t* ctx, hlo_node_t* node, group_reduction_t* g) {
  *g = (group_reduction_t){.ctx = ctx, .node = node};
  const bool has_roots = hlo_node_attr_bool(node, HLO_ATTR_has_dynamic_root, false);
  if (node->region_count != 1 || node->operand_count != node->result_count + has_roots)
    return false;
  g->body = node->regions[0];
  return hlo_expand_can_apply(g->body, 2, 1) && read_groups(g) && are_types_expected(g) &&
         !(g->is_uneven && node->op == HLO_OP_reduce_scatter);
}

// A computation of a wider type reduces converted operands.
static bool promote_operands(const group_reduction_t* g) {
  bool has_changed = false;
  for (uint32_t i = 0; i < g->node->operand_count; ++i) {
    hlo_value_t* operand = hlo_node_operand(g->node, i);
    const hlo_dtype_t dtype = g->body->args[0]->type->dtype;
    if (operand->type->dtype == dtype) continue;
    hlo_value_t* wide = hlo_build_convert(g->node, dtype, operand);
    if (!wide) return false;
    hlo_node_set_operand(g->node, i, wide);
    has_changed = true;
  }
  g->ctx->step_count += has_changed;
  return has_changed;
}

static void copy_attr(const hlo_node_t* from, hlo_node_t* to, hlo_attr_id_t id) {
  const hlo_attr_t* attr = hlo_node_attr(from, id);
  if (attr) hlo_node_set_attr(to, id, attr);
}

static void copy_channel(const hlo_node_t* from, hlo_node_t* to) {
  copy_attr(from, to, HLO_ATTR_channel_id);
  copy_attr(from, to, HLO_ATTR_channel_type);
}

static void copy_group_attrs(const hlo_node_t* from, hlo_node_t* to) {
  copy_channel(from, to);
  copy_attr(from, to, HLO_ATTR_replica_groups);
  copy_attr(from, to, HLO_ATTR_use_global_device_ids);
}

// Returns the operands of all members as rows, by one collective.
static bool gather_rows(const group_reduction_t* g, hlo_value_t** rows) {
  hlo_module_t* module = g->node->parent->module;
  hlo_value_t* operands[HLO_EXPAND_VALUES_MAX];
  const hlo_type_t* types[HLO_EXPAND_VALUES_MAX];
  const uint32_t count = g->node->operand_count;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(g->node, i);
    int64_t dims[HLO_RANK_MAX] = {1};
    memcpy(dims + 1, type->dims, type->rank * sizeof *dims);
    const hlo_type_t* row = hlo_type_with_dims(module, type, type->rank + 1, dims);
    dims[0] = g->member_count;
    types[i] = hlo_type_with_dims(module, type, type->rank + 1, dims);
    operands[i] = hlo_build_reshape(g->node, row, hlo_node_operand(g->node, i));
    if (!operands[i] || !types[i]) return false;
  }
  hlo_node_t* gather = hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_all_gather,
                                                                  .loc = g->node->loc,
                                                                  .operand_count = count,
                                                                  .operands = operands,
                                                                  .result_count = count,
                                                                  .result_types = types});
  const hlo_attr_t* dim = hlo_attr_int(module, HLO_DTYPE_S64, 0);
  if (hlo_node_is_poison(gather) || !dim) return false;
  hlo_node_set_attr(gather, HLO_ATTR_all_gather_dim, dim);
  copy_group_attrs(g->node, gather);
  hlo_node_insert_before(g->node, gather);
  for (uint32_t i = 0; i < count; ++i) rows[i] = &gather->results[i];
  return true;
}

static hlo_value_t* build_id(hlo_node_t* at, hlo_op_t op, const hlo_type_t* number) {
  const hlo_type_t* id = hlo_type_with_dtype(at->parent->module, number, HLO_DTYPE_U32);
  return hlo_build_convert(at, number->dtype, hlo_build_node(at, op, id, 0, NULL, 0, NULL));
}

// Returns the entry of the running process in a list by process, a scalar of type `number`.
static hlo_value_t* build_own(const group_reduction_t* g, const hlo_type_t* number,
                              const int64_t* by_process) {
  const int64_t count = g->process_count;
  const hlo_type_t* list = hlo_type_with_dims(g->node->parent->module, number, 1, &count);
  hlo_value_t* table = hlo_build_integers(g->node, list, by_process);
  hlo_value_t* process =
      hlo_build_binary(g->node, HLO_OP_add,
                       hlo_expand_times(g->node, build_id(g->node, HLO_OP_replica_id, number),
                                        g->ctx->options->partition_count),
                       build_id(g->node, HLO_OP_partition_id, number));
  return hlo_loop_row(g->node, table, process);
}

// Returns the part of each row that a reduce_scatter leaves to this process.
static hlo_value_t* take_slices(const group_reduction_t* g, hlo_value_t* rows) {
  hlo_module_t* module = g->node->parent->module;
  const int64_t axis = hlo_node_attr_int(g->node, HLO_ATTR_scatter_dimension, 0);
  const uint32_t rank = rows->type->rank;
  int64_t sizes[HLO_RANK_MAX];
  memcpy(sizes, rows->type->dims, rank * sizeof *sizes);
  sizes[axis + 1] /= g->member_count;
  const hlo_type_t* number = hlo_loop_number(module, rows->type->dims[axis + 1]);
  hlo_value_t* starts[HLO_RANK_MAX];
  for (uint32_t d = 0; d < rank; ++d) {
    starts[d] = d == axis + 1
                    ? hlo_expand_times(g->node, build_own(g, number, g->positions), sizes[d])
                    : hlo_build_integers(g->node, number, (int64_t[]){0});
  }
  return hlo_build_dynamic_slice(g->node, hlo_type_with_dims(module, rows->type, rank, sizes), rows,
                                 starts);
}

static hlo_value_t* row_of(hlo_node_t* at, hlo_value_t* rows, int64_t number) {
  int64_t first[HLO_RANK_MAX] = {number}, dims[HLO_RANK_MAX];
  const uint32_t rank = rows->type->rank;
  memcpy(dims, rows->type->dims, rank * sizeof *dims);
  dims[0] = 1;
  hlo_module_t* module = at->parent->module;
  hlo_value_t* row =
      hlo_build_slice(at, hlo_type_with_dims(module, rows->type, rank, dims), rows, first, NULL);
  return hlo_build_reshape(at, hlo_type_with_dims(module, rows->type, rank - 1, dims + 1), row);
}

static hlo_value_t* apply(const group_reduction_t* g, hlo_node_t* at, hlo_value_t* sum,
                          hlo_value_t* row) {
  hlo_value_t *args[] = {sum, row}, *result = NULL;
  return hlo_expand_apply(g->ctx, at, g->body, args, &result) ? result : NULL;
}

static hlo_value_t* fold_in_loop(const group_reduction_t* g, hlo_value_t* rows) {
  hlo_module_t* module = g->node->parent->module;
  const hlo_type_t* number = hlo_loop_number(module, g->member_count);
  hlo_value_t *sum = row_of(g->node, rows, 0), *result = NULL;
  hlo_loop_t loop;
  if (!hlo_loop_begin(g->node, number, g->member_count - 1, 1, &sum, &loop)) return NULL;
  hlo_value_t* member = hlo_build_binary(loop.end, HLO_OP_add, loop.number,
                                         hlo_build_integers(loop.end, number, (int64_t[]){1}));
  hlo_value_t* next = apply(g, loop.end, loop.values[0], hlo_loop_row(loop.end, rows, member));
  return hlo_loop_finish(&loop, &next, &result) ? result : NULL;
}

static hlo_value_t* fold_rows(const group_reduction_t* g, hlo_value_t* rows) {
  if (!rows) return NULL;
  if (g->member_count > UNROLLED_MEMBERS_MAX) return fold_in_loop(g, rows);
  hlo_value_t* sum = row_of(g->node, rows, 0);
  for (uint32_t m = 1; m < g->member_count; ++m) {
    sum = apply(g, g->node, sum, row_of(g->node, rows, m));
  }
  return sum;
}

// ---- groups of different sizes

// Fills in a row for each group, whose members begin with the one at position `first`, modulo their
// number. Returns the number of rows; 0 if a process is in another group than its members say.
static uint32_t list_groups(const group_reduction_t* g, uint32_t first, int64_t* rows) {
  const hlo_pass_options_t* options = g->ctx->options;
  uint32_t* members = hlo_arena_array(&g->ctx->scratch, g->process_count, sizeof *members);
  uint32_t row_count = 0, seen = 0;
  for (uint32_t p = 0; members && p < g->process_count; ++p) {
    uint32_t count = 0;
    if (g->leaders[p] != p) continue;
    if (!hlo_status_take_ok(hlo_group_members(
            g->node, hlo_group_strategy(g->node), hlo_node_attr(g->node, HLO_ATTR_replica_groups),
            options->replica_count, options->partition_count, p, members, &count))) {
      return 0;
    }
    int64_t* row = rows + (size_t)row_count++ * g->member_count;
    for (uint32_t i = 0; i < g->member_count; ++i) row[i] = -1;
    for (uint32_t i = 0; i < count; ++i, ++seen) {
      const uint32_t member = members[i];
      if (g->leaders[member] != p || g->positions[member] != i) return 0;
      row[(i + count - first % count) % count] = member;
    }
  }
  return seen == g->process_count ? row_count : 0;
}

// Broadcasts name replicas or partitions: a grid of both has no names for all processes.
static bool can_broadcast(const group_reduction_t* g) {
  const hlo_pass_options_t* options = g->ctx->options;
  const bool has_channel = hlo_node_attr_int(g->node, HLO_ATTR_channel_id, 0) > 0;
  return options->partition_count == 1 || (options->replica_count == 1 && has_channel);
}

// Gives every process the first `count` operands of the member at position `first` of its group, or
// of the one that a further operand names. NULL if the groups cannot be listed so.
static hlo_node_t* create_broadcast(const group_reduction_t* g, uint32_t first, uint32_t count,
                                    hlo_value_t* const* operands, bool has_roots) {
  hlo_module_t* module = g->node->parent->module;
  const hlo_type_t* types[HLO_EXPAND_VALUES_MAX];
  int64_t* rows =
      hlo_arena_array(&g->ctx->scratch, (size_t)g->process_count * g->member_count, sizeof *rows);
  const uint32_t row_count = rows ? list_groups(g, first, rows) : 0;
  if (!row_count) return NULL;
  for (uint32_t i = 0; i < count; ++i) types[i] = operands[i]->type;
  hlo_node_t* node = hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_collective_broadcast,
                                                                .loc = g->node->loc,
                                                                .operand_count = count + has_roots,
                                                                .operands = operands,
                                                                .result_count = count,
                                                                .result_types = types});
  const hlo_attr_t* groups = hlo_attr_matrix(module, row_count, g->member_count, rows);
  const hlo_attr_t* unit = hlo_attr_unit(module);
  if (hlo_node_is_poison(node) || !groups || !unit) return NULL;
  hlo_node_set_attr(node, HLO_ATTR_replica_groups, groups);
  if (has_roots) hlo_node_set_attr(node, HLO_ATTR_has_dynamic_root, unit);
  if (g->ctx->options->partition_count > 1) copy_channel(g->node, node);
  hlo_node_insert_before(g->node, node);
  return node;
}

static bool broadcast_operands(const group_reduction_t* g, uint32_t first, hlo_value_t** results) {
  hlo_value_t* operands[HLO_EXPAND_VALUES_MAX];
  const uint32_t count = g->node->operand_count;
  for (uint32_t i = 0; i < count; ++i) operands[i] = hlo_node_operand(g->node, i);
  hlo_node_t* node = create_broadcast(g, first, count, operands, false);
  for (uint32_t i = 0; i < count && node; ++i) results[i] = &node->results[i];
  return node != NULL;
}

static bool fold_broadcasts(const group_reduction_t* g, hlo_value_t** results) {
  if (!can_broadcast(g) || g->member_count > UNEVEN_MEMBERS_MAX) return false;
  const hlo_type_t* number = hlo_loop_number(g->node->parent->module, g->process_count + 1);
  hlo_value_t *own_count = NULL, *parts[HLO_EXPAND_VALUES_MAX];
  for (uint32_t m = 0; m < g->member_count; ++m) {
    if (!broadcast_operands(g, m, parts)) return false;
    if (m == 0) own_count = build_own(g, number, g->counts);
    hlo_value_t* is_member = hlo_build_compare(g->node, HLO_COMPARISON_DIRECTION_GT, own_count,
                                               hlo_build_integers(g->node, number, (int64_t[]){m}));
    for (uint32_t i = 0; i < g->node->operand_count; ++i) {
      hlo_value_t* sum = m ? apply(g, g->node, results[i], parts[i]) : parts[i];
      results[i] = m ? hlo_build_select(g->node, is_member, sum, results[i]) : sum;
      if (!results[i]) return false;
    }
  }
  return true;
}

bool hlo_expand_group_reduction(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  group_reduction_t g;
  hlo_value_t* rows[HLO_EXPAND_VALUES_MAX];
  if (!read_reduction(ctx, node, &g) || promote_operands(&g)) return false;
  if (g.is_uneven) return fold_broadcasts(&g, results);
  if (!gather_rows(&g, rows)) return false;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->op == HLO_OP_reduce_scatter) rows[i] = take_slices(&g, rows[i]);
    results[i] = fold_rows(&g, rows[i]);
    if (!results[i] || results[i]->type != node->results[i].type) return false;
  }
  return true;
}

// Finds the position in its group of each result's root: 0, or what the last operand says. A
// broadcast of the positions from these roots also finds those that the group does not have.
static bool find_roots(const group_reduction_t* g, hlo_value_t* own, hlo_value_t** roots) {
  const hlo_node_t* node = g->node;
  const uint32_t count = node->result_count;
  if (!hlo_node_attr_bool(node, HLO_ATTR_has_dynamic_root, false)) {
    roots[0] = hlo_build_integers(g->node, own->type, (int64_t[]){0});
    for (uint32_t i = 1; i < count; ++i) roots[i] = roots[0];
    return roots[0] != NULL;
  }
  hlo_value_t* operands[HLO_EXPAND_VALUES_MAX + 1];
  if (!can_broadcast(g)) return false;
  for (uint32_t i = 0; i < count; ++i) operands[i] = own;
  operands[count] = hlo_node_operand(node, count);
  hlo_node_t* broadcast = create_broadcast(g, 0, count, operands, true);
  for (uint32_t i = 0; i < count && broadcast; ++i) roots[i] = &broadcast->results[i];
  return broadcast != NULL;
}

// An all_reduce, of which the roots use the results; the other processes have zeros.
bool hlo_expand_collective_reduce(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  group_reduction_t g;
  const hlo_type_t* types[HLO_EXPAND_VALUES_MAX];
  hlo_value_t* operands[HLO_EXPAND_VALUES_MAX];
  hlo_module_t* module = node->parent->module;
  if (!read_reduction(ctx, node, &g)) return false;
  const hlo_type_t* number = hlo_loop_number(module, g.process_count);
  hlo_value_t *own = build_own(&g, number, g.positions), *roots[HLO_EXPAND_VALUES_MAX];
  if (!own || !find_roots(&g, own, roots)) return false;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    types[i] = node->results[i].type;
    operands[i] = hlo_node_operand(node, i);
  }
  hlo_node_t* reduce =
      hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_all_reduce,
                                                 .loc = node->loc,
                                                 .operand_count = node->result_count,
                                                 .operands = operands,
                                                 .region_count = 1,
                                                 .result_count = node->result_count,
                                                 .result_types = types});
  if (hlo_node_is_poison(reduce)) return false;
  copy_group_attrs(node, reduce);
  hlo_region_t* body = node->regions[0];
  node->regions[0] = reduce->regions[0];
  node->regions[0]->parent = node;
  reduce->regions[0] = body;
  body->parent = reduce;
  hlo_node_insert_before(node, reduce);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_t* zeros = hlo_build_splat(node, types[i], 0);
    hlo_value_t* is_root = hlo_build_compare(node, HLO_COMPARISON_DIRECTION_EQ, own, roots[i]);
    results[i] = hlo_build_select(node, is_root, &reduce->results[i], zeros);
    if (!results[i] || results[i]->type != types[i]) return false;
  }
  return true;
}
