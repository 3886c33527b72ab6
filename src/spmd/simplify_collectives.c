// SPDX-License-Identifier: Apache-2.0
// Pass simplify_collectives: removes collectives that tell no process anything new.
//
//   groups of one                                the operand
//   all_reduce of equal values                   the operand (maximum, minimum, and, or), or its
//                                                product with the size of the group (sum)
//   all_reduce of an all_reduce over rows, over  all_reduce over rows and columns
//   columns of the same grid of processes
//   all_gather of a reduce_scatter               all_reduce
//   a process's own slice of an all_gather       the operand
//   an op on elements of two all_gathers         all_gather of the op on their operands
//   unused                                       nothing
//
// Sums of equal values and sums over rows and columns round differently from before.
#include <string.h>

#include "ir/clone.h"
#include "passes/build.h"
#include "spmd/collective.h"
#include "spmd/passes.h"
#include "spmd/processes.h"

typedef struct simplifier {
  hlo_pass_ctx_t* ctx;
  hlo_processes_t processes;
} simplifier_t;

static void replace_result(simplifier_t* s, hlo_node_t* node, uint32_t i, hlo_value_t* value) {
  hlo_value_replace_uses(&node->results[i], value);
  ++s->ctx->step_count;
}

static bool has_one_use(const hlo_value_t* value) {
  return value->uses && !value->uses->next;
}

// ---- groups of one

static bool is_identity_permute(const simplifier_t* s, const hlo_node_t* node) {
  const hlo_ints_t pairs = hlo_node_ints(node, HLO_ATTR_source_target_pairs);
  const bool is_partitions = hlo_group_strategy(node) == HLO_GROUP_CROSS_PARTITION;
  const uint32_t ids = is_partitions ? s->processes.partitions : s->processes.replicas;
  if (pairs.count != 2 * ids) return false;  // others receive zeros
  for (uint32_t i = 0; i < pairs.count; i += 2) {
    if (pairs.values[i] != pairs.values[i + 1]) return false;
  }
  return true;
}

static bool is_alone(simplifier_t* s, const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_collective_permute: return is_identity_permute(s, node);
    case HLO_OP_all_reduce:
    case HLO_OP_all_gather:
    case HLO_OP_all_to_all:
    case HLO_OP_collective_broadcast:
    case HLO_OP_reduce_scatter: break;
    default: return false;
  }
  const hlo_groups_t* groups = hlo_processes_groups(&s->processes, node);
  return groups && groups->size == 1;
}

static void pass_operands(simplifier_t* s, hlo_node_t* node) {
  if (node->operand_count != node->result_count) return;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (hlo_node_operand_type(node, i) != node->results[i].type) return;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (node->results[i].uses) replace_result(s, node, i, hlo_node_operand(node, i));
  }
}

// ---- equal values

// Returns true if an element type holds a group's size and products with it.
static bool can_count(const hlo_type_t* type, uint32_t size) {
  if (!hlo_type_is_tensor(type) || type->quant || hlo_type_element_count(type) < 0) return false;
  const uint32_t bits = hlo_dtype_info(type->dtype)->bits;
  const bool is_number = hlo_dtype_is_integer(type->dtype) || hlo_dtype_is_float(type->dtype);
  return is_number && bits >= 16 && (bits > 16 || size <= 256);
}

static hlo_value_t* reduce_equal(hlo_node_t* node, uint32_t i, hlo_op_t reducer, uint32_t size) {
  hlo_value_t* operand = hlo_node_operand(node, i);
  if (operand->type != node->results[i].type) return NULL;
  switch (reducer) {
    case HLO_OP_maximum:
    case HLO_OP_minimum:
    case HLO_OP_and:
    case HLO_OP_or: return operand;
    case HLO_OP_add:
      if (!can_count(operand->type, size)) return NULL;
      return hlo_build_multiply(node, operand, hlo_build_splat(node, operand->type, size));
    default: return NULL;
  }
}

static void simplify_equal(simplifier_t* s, hlo_node_t* node) {
  const hlo_groups_t* groups = hlo_processes_groups(&s->processes, node);
  const hlo_op_t reducer = hlo_collective_reducer(node);
  if (!groups || !groups->size) return;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (!node->results[i].uses) continue;
    if (!hlo_processes_agree(&s->processes, hlo_node_operand(node, i), groups)) continue;
    hlo_value_t* value = reduce_equal(node, i, reducer, groups->size);
    if (value) replace_result(s, node, i, value);
  }
}

// ---- rows and columns

static uint32_t find_root(uint32_t* parents, uint32_t process) {
  while (parents[process] != process) {
    process = parents[process] = parents[parents[process]];
  }
  return process;
}

// Finds the sets that groups of `inner` and `outer` connect, as the smallest process of each.
static void connect(const simplifier_t* s, const hlo_groups_t* inner, const hlo_groups_t* outer,
                    uint32_t* parents) {
  for (uint32_t i = 0; i < s->processes.count; ++i) parents[i] = i;
  for (uint32_t i = 0; i < s->processes.count; ++i) {
    const uint32_t others[] = {inner->firsts[i], outer->firsts[i]};
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t a = find_root(parents, i), b = find_root(parents, others[k]);
      parents[a > b ? a : b] = a > b ? b : a;
    }
  }
  for (uint32_t i = 0; i < s->processes.count; ++i) parents[i] = find_root(parents, i);
}

// Returns true if the members of each group of `outer` are in different groups of `inner`.
static bool meet_once(const simplifier_t* s, const hlo_groups_t* inner, const hlo_groups_t* outer,
                      uint32_t* seen) {
  const uint32_t count = s->processes.count;
  memset(seen, 0xff, count * sizeof *seen);
  for (uint32_t first = 0; first < count; ++first) {
    for (uint32_t i = first; i < count && outer->firsts[first] == first; ++i) {
      if (outer->firsts[i] != first) continue;
      if (seen[inner->firsts[i]] == first) return false;
      seen[inner->firsts[i]] = first;
    }
  }
  return true;
}

// Returns the groups that hold each set of `size` connected processes, as ids under `strategy`;
// NULL if a set is of another size.
static const hlo_attr_t* list_sets(const simplifier_t* s, hlo_module_t* module,
                                   const uint32_t* firsts, uint32_t size,
                                   hlo_group_strategy_t strategy) {
  const bool is_replicas = strategy == HLO_GROUP_CROSS_REPLICA;
  const uint32_t step = is_replicas ? s->processes.partitions : 1;
  const uint32_t count = s->processes.count / step;
  int64_t* ids = hlo_arena_array(&s->ctx->scratch, count, sizeof *ids);
  uint32_t* rows = hlo_arena_array(&s->ctx->scratch, s->processes.count, sizeof *rows);
  uint32_t* lengths = hlo_arena_array(&s->ctx->scratch, count, sizeof *lengths);
  uint32_t row_count = 0;
  if (!ids || !rows || !lengths || count % size) return NULL;
  for (uint32_t i = 0; i < s->processes.count; i += step) {
    if (firsts[i] == i) rows[i] = row_count++;
    const uint32_t row = rows[firsts[i]];
    if (row >= count / size || lengths[row] == size) return NULL;
    ids[row * size + lengths[row]++] = i / step;
  }
  return row_count * size == count ? hlo_attr_matrix(module, row_count, size, ids) : NULL;
}

static const hlo_attr_t* fold_groups(simplifier_t* s, const hlo_node_t* inner,
                                     const hlo_node_t* outer) {
  const hlo_group_strategy_t strategy = hlo_group_strategy(outer);
  const hlo_groups_t* a = hlo_processes_groups(&s->processes, inner);
  const hlo_groups_t* b = hlo_processes_groups(&s->processes, outer);
  uint32_t* firsts = hlo_arena_array(&s->ctx->scratch, s->processes.count, sizeof *firsts);
  uint32_t* seen = hlo_arena_array(&s->ctx->scratch, s->processes.count, sizeof *seen);
  if (!a || !b || !a->size || !b->size || !firsts || !seen) return NULL;
  if (strategy == HLO_GROUP_CROSS_REPLICA_AND_PARTITION) return NULL;
  connect(s, a, b, firsts);
  if (!meet_once(s, a, b, seen)) return NULL;
  return list_sets(s, outer->parent->module, firsts, a->size * b->size, strategy);
}

// Returns true if `a` and `b` have the same attributes but for groups and channels.
static bool are_alike_in_other_groups(const hlo_node_t* a, const hlo_node_t* b) {
  return a->op == b->op && a->extra == b->extra && hlo_group_strategy(a) == hlo_group_strategy(b) &&
         hlo_node_attr(a, HLO_ATTR_channel_type) == hlo_node_attr(b, HLO_ATTR_channel_type) &&
         hlo_collective_reducer(a) == hlo_collective_reducer(b);
}

static void fold_all_reduces(simplifier_t* s, hlo_node_t* node) {
  hlo_value_t* operand = hlo_node_operand(node, 0);
  hlo_node_t* inner = operand->def;
  if (node->operand_count != 1 || !inner || inner->op != HLO_OP_all_reduce ||
      inner->operand_count != 1 || !has_one_use(operand) || inner->parent != node->parent ||
      hlo_collective_reducer(node) == HLO_OP_COUNT || !are_alike_in_other_groups(inner, node) ||
      hlo_node_operand_type(inner, 0) != node->results[0].type) {
    return;
  }
  const hlo_attr_t* groups = fold_groups(s, inner, node);
  if (!groups) return;
  hlo_node_set_attr(node, HLO_ATTR_replica_groups, groups);
  hlo_node_set_operand(node, 0, hlo_node_operand(inner, 0));
  hlo_node_erase(inner);
  ++s->ctx->step_count;
}

// ---- gathers

static bool have_same_groups(const hlo_node_t* a, const hlo_node_t* b) {
  return hlo_group_strategy(a) == hlo_group_strategy(b) &&
         hlo_node_attr(a, HLO_ATTR_replica_groups) == hlo_node_attr(b, HLO_ATTR_replica_groups);
}

// all_gather(reduce_scatter(x)). Returns true if the node was replaced.
static bool gather_scattered(simplifier_t* s, hlo_node_t* node) {
  hlo_value_t* operand = hlo_node_operand(node, 0);
  hlo_node_t* scatter = operand->def;
  if (node->operand_count != 1 || !scatter || scatter->op != HLO_OP_reduce_scatter ||
      !has_one_use(operand) || scatter->parent != node->parent || node->extra != scatter->extra ||
      !have_same_groups(node, scatter) ||
      hlo_node_operand_type(scatter, 0) != node->results[0].type ||
      hlo_node_attr_int(node, HLO_ATTR_all_gather_dim, -1) !=
          hlo_node_attr_int(scatter, HLO_ATTR_scatter_dimension, -2)) {
    return false;
  }
  if (!hlo_collective_replace(node, HLO_OP_all_reduce, scatter, hlo_node_operand(scatter, 0),
                              HLO_ATTR_COUNT, 0)) {
    return false;
  }
  hlo_node_erase(scatter);
  ++s->ctx->step_count;
  return true;
}

// A process's own slice of what it gathers.
static void slice_gathered(simplifier_t* s, hlo_node_t* node) {
  hlo_value_t* operand = hlo_node_operand(node, 0);
  hlo_node_t* gather = operand->def;
  if (!gather || gather->op != HLO_OP_all_gather) return;
  hlo_value_t* own = hlo_node_operand(gather, operand->number);
  const hlo_groups_t* groups = hlo_processes_groups(&s->processes, gather);
  if (!groups || own->type != node->results[0].type) return;
  const uint32_t dim = (uint32_t)hlo_node_attr_int(gather, HLO_ATTR_all_gather_dim, 0);
  int64_t rest;
  if (!hlo_processes_own_slice(&s->processes, node, groups, dim, &rest) || rest) return;
  replace_result(s, node, 0, own);
  hlo_node_erase(node);
  s->ctx->step_count += hlo_collective_erase_unused(gather);
}

// Returns the all_gather that alone makes operand `i` of `user`, the only user.
static hlo_node_t* find_gather(const hlo_node_t* user, uint32_t i) {
  const hlo_value_t* value = hlo_node_operand(user, i);
  hlo_node_t* gather = value->def;
  if (!gather || gather->op != HLO_OP_all_gather || gather->operand_count != 1 ||
      gather->parent != user->parent || !hlo_type_is_static(value->type)) {
    return NULL;
  }
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    if (use->user != user) return NULL;
  }
  return gather;
}

// op(all_gather(a), all_gather(b)), element by element. A chain of sums becomes one all_gather, as
// operands come before the ops that use them. Returns true if the node was replaced.
static bool gather_later(simplifier_t* s, hlo_node_t* node) {
  if (node->operand_count != 2 || node->extra || !hlo_op_has(node->op, HLO_TRAIT_ELEMENTWISE)) {
    return false;
  }
  hlo_node_t *a = find_gather(node, 0), *b = find_gather(node, 1);
  const hlo_type_t* result = node->results[0].type;
  if (!a || !b || !hlo_collective_exchanges_alike(a, b) || result->quant ||
      hlo_node_operand_type(a, 0) != hlo_node_operand_type(b, 0) ||
      hlo_node_operand_type(a, 0)->quant) {
    return false;
  }
  hlo_value_t* parts[] = {hlo_node_operand(a, 0), hlo_node_operand(b, 0)};
  const hlo_type_t* type = hlo_type_with_dtype(node->parent->module, parts[0]->type, result->dtype);
  hlo_value_t* part = type ? hlo_build_copy(node, node, type, parts) : NULL;
  if (!part || !hlo_collective_replace(node, a->op, a, part, HLO_ATTR_COUNT, 0)) return false;
  if (b != a) hlo_node_erase(b);
  hlo_node_erase(a);
  ++s->ctx->step_count;
  return true;
}

// ---- the pass

static hlo_status_t simplify_node(void* context, hlo_node_t* node) {
  simplifier_t* s = context;
  hlo_module_t* module = node->parent->module;
  if (is_alone(s, node)) pass_operands(s, node);
  switch (node->op) {
    case HLO_OP_all_reduce:
      simplify_equal(s, node);
      fold_all_reduces(s, node);
      break;
    case HLO_OP_all_gather:
      if (gather_scattered(s, node)) return hlo_module_status(module);
      break;
    case HLO_OP_dynamic_slice: slice_gathered(s, node); return hlo_module_status(module);
    default:
      if (gather_later(s, node)) return hlo_module_status(module);
      break;
  }
  s->ctx->step_count += hlo_collective_erase_unused(node);
  return hlo_module_status(module);
}

// After a round, more values may be known to be equal. Every round but the last leaves
// fewer collectives; two are the rule.
hlo_status_t hlo_pass_simplify_collectives(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  simplifier_t simplifier = {.ctx = ctx};
  HLO_TRY(hlo_processes_init(module, &ctx->scratch, &simplifier.processes));
  for (bool has_changed = true; has_changed;) {
    const uint32_t step_count = ctx->step_count;
    HLO_TRY(hlo_processes_relate(&simplifier.processes, module));
    HLO_TRY(hlo_module_walk(module, false, simplify_node, &simplifier));
    has_changed = ctx->step_count != step_count;
  }
  return hlo_arena_status(&ctx->scratch);
}
