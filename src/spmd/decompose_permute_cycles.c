// SPDX-License-Identifier: Apache-2.0
// Pass decompose_permute_cycles: a collective_permute around cycles of processes becomes one of the
// pairs that go up and one of those that go down; each process takes the result of the one that
// sends to it. Neither has a cycle, so loops can pipeline them: the shorter one closes the cycles.
// Values stay the same bit for bit. Linear in the number of pairs.
#include "ir/clone.h"
#include "passes/build.h"
#include "spmd/collective.h"
#include "spmd/passes.h"
#include "spmd/processes.h"

typedef struct decomposer {
  hlo_pass_ctx_t* ctx;
  uint64_t min_bytes;
  hlo_processes_t processes;
} decomposer_t;

// Follows the pairs from `id` on. True if they lead back to it.
static bool is_on_cycle(const int64_t* targets, uint32_t count, uint32_t id, bool* seen) {
  int64_t at = targets[id];
  for (uint32_t i = 0; i < count && at >= 0 && at != id && !seen[at]; ++i) {
    seen[at] = true;
    at = targets[at];
  }
  return at == id;
}

// Returns true if no process sends to itself and some pairs form a cycle.
static bool has_cycle(const hlo_ints_t pairs, uint32_t ids, hlo_arena_t* scratch) {
  int64_t* targets = hlo_arena_array(scratch, ids, sizeof *targets);
  bool* seen = hlo_arena_array(scratch, ids, sizeof *seen);
  bool found = false;
  if (!targets || !seen) return false;
  for (uint32_t i = 0; i < ids; ++i) targets[i] = -1;
  for (uint32_t i = 0; i < pairs.count; i += 2) {
    const int64_t from = pairs.values[i], to = pairs.values[i + 1];
    if (from == to || from >= ids || to >= ids) return false;
    targets[from] = to;
  }
  for (uint32_t i = 0; i < ids && !found; ++i) {
    found = !seen[i] && is_on_cycle(targets, ids, i, seen);
  }
  return found;
}

// Builds the permutation of the pairs that go up, or of the others. receives[id]: has a result.
static hlo_value_t* permute_some(hlo_node_t* node, bool is_up, int64_t* receives,
                                 hlo_arena_t* scratch) {
  hlo_module_t* module = node->parent->module;
  const hlo_ints_t pairs = hlo_node_ints(node, HLO_ATTR_source_target_pairs);
  int64_t* some = hlo_arena_array(scratch, pairs.count, sizeof *some);
  uint32_t count = 0;
  for (uint32_t i = 0; some && i < pairs.count; i += 2) {
    if ((pairs.values[i] < pairs.values[i + 1]) != is_up) continue;
    some[count++] = pairs.values[i];
    some[count++] = pairs.values[i + 1];
    if (receives) receives[pairs.values[i + 1]] = 1;
  }
  const hlo_attr_t* attr = some ? hlo_attr_matrix(module, count / 2, 2, some) : NULL;
  hlo_value_t* operand = hlo_node_operand(node, 0);
  hlo_node_t* part =
      attr ? hlo_collective_create_like(node->op, node, 1, &operand, 1, &node->results[0].type)
           : NULL;
  if (!part || hlo_node_is_poison(part)) return NULL;
  hlo_node_set_attr(part, HLO_ATTR_source_target_pairs, attr);
  hlo_node_insert_before(node, part);
  return &part->results[0];
}

// Returns the entry of a table for the number of the process, once for each element of the result.
static hlo_value_t* look_up(hlo_node_t* node, uint32_t ids, const int64_t* table) {
  hlo_module_t* module = node->parent->module;
  const bool is_partition = hlo_group_strategy(node) == HLO_GROUP_CROSS_PARTITION;
  const hlo_type_t* type = node->results[0].type;
  const hlo_type_t* number = hlo_type_tensor(module, HLO_DTYPE_U32, 0, NULL);
  hlo_value_t* id = hlo_build_node(node, is_partition ? HLO_OP_partition_id : HLO_OP_replica_id,
                                   number, 0, NULL, 0, NULL);
  const hlo_type_t* row = hlo_type_tensor(module, HLO_DTYPE_PRED, 1, (int64_t[]){ids});
  const hlo_type_t* one = hlo_type_tensor(module, HLO_DTYPE_PRED, 1, (int64_t[]){1});
  const hlo_type_t* flag = hlo_type_tensor(module, HLO_DTYPE_PRED, 0, NULL);
  const hlo_type_t* flags = hlo_type_with_dtype(module, type, HLO_DTYPE_PRED);
  if (!row || !one || !flag || !flags) return NULL;
  hlo_value_t* entry =
      hlo_build_dynamic_slice(node, one, hlo_build_integers(node, row, table), &id);
  return hlo_build_broadcast(node, flags, hlo_build_reshape(node, flag, entry), NULL);
}

static hlo_status_t decompose(void* context, hlo_node_t* node) {
  decomposer_t* d = context;
  hlo_arena_t* scratch = &d->ctx->scratch;
  if (node->op != HLO_OP_collective_permute || node->operand_count != 1) return hlo_ok();
  hlo_module_t* module = node->parent->module;
  const bool is_partition = hlo_group_strategy(node) == HLO_GROUP_CROSS_PARTITION;
  const uint32_t ids = is_partition ? d->processes.partitions : d->processes.replicas;
  const hlo_ints_t pairs = hlo_node_ints(node, HLO_ATTR_source_target_pairs);
  if (!hlo_type_is_static(node->results[0].type) || node->results[0].type->quant ||
      hlo_type_size_bytes(node->results[0].type) < d->min_bytes ||
      !has_cycle(pairs, ids, scratch)) {
    return hlo_ok();
  }
  uint32_t ups = 0;
  for (uint32_t i = 0; i < pairs.count; i += 2) ups += pairs.values[i] < pairs.values[i + 1];
  const bool closes_up = 2 * ups < pairs.count / 2;  // fewer go up than down
  int64_t* receives = hlo_arena_array(scratch, ids, sizeof *receives);
  if (!receives) return hlo_ok();
  hlo_value_t* closing = permute_some(node, closes_up, receives, scratch);
  hlo_value_t* rest = closing ? permute_some(node, !closes_up, NULL, scratch) : NULL;
  hlo_value_t* which = rest ? look_up(node, ids, receives) : NULL;
  hlo_value_t* value = hlo_build_select(node, which, closing, rest);
  if (!value) return hlo_module_status(module);
  hlo_value_replace_uses(&node->results[0], value);
  hlo_node_erase(node);
  ++d->ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_decompose_permute_cycles(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  decomposer_t decomposer = {.ctx = ctx};
  HLO_TRY(hlo_bytes_argument(ctx, 0, &decomposer.min_bytes));
  HLO_TRY(hlo_processes_init(module, &ctx->scratch, &decomposer.processes));
  HLO_TRY(hlo_module_walk(module, false, decompose, &decomposer));
  return hlo_arena_status(&ctx->scratch);
}
