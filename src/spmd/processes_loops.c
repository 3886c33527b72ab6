// SPDX-License-Identifier: Apache-2.0
// Which processes have equal values in each iteration of a loop (see processes.h). A carried value
// is assumed to be equal while its initial value and its next one are examined: if both are equal
// under this assumption, so it is in every iteration.
#include "passes/effects.h"
#include "spmd/integers.h"
#include "spmd/processes.h"

enum {
  ASSUMED_MAX = 32,   // carried values
  VALUES_MAX = 1000,  // that are examined
};

typedef struct agreement {
  const hlo_processes_t* processes;
  const hlo_groups_t* groups;
  uint32_t assumed_count, value_count;
  const hlo_value_t* assumed[ASSUMED_MAX];
} agreement_t;

// Computes an integer in every process, and compares.
static bool has_equal_integers(const agreement_t* a, const hlo_value_t* value) {
  const hlo_processes_t* p = a->processes;
  for (uint32_t i = 0; i < p->count; ++i) {
    const uint32_t first = a->groups->firsts[i];
    int64_t own, other;
    const hlo_integer_env_t env = {
        .has_process = true, .replica = i / p->partitions, .partition = i % p->partitions};
    const hlo_integer_env_t first_env = {
        .has_process = true, .replica = first / p->partitions, .partition = first % p->partitions};
    if (!hlo_integer_evaluate(&env, value, &own) ||
        !hlo_integer_evaluate(&first_env, value, &other) || own != other) {
      return false;
    }
  }
  return true;
}

static bool agrees(agreement_t* a, const hlo_value_t* value);

static bool carried_agrees(agreement_t* a, const hlo_value_t* value) {
  const hlo_node_t* loop = value->region->parent;
  if (!loop || loop->op != HLO_OP_while) return false;
  const hlo_node_t* end = hlo_region_terminator(loop->regions[1]);
  const hlo_value_t* carried = loop->regions[1]->args[value->number];
  for (uint32_t i = 0; i < a->assumed_count; ++i) {
    if (a->assumed[i] == carried) return true;
  }
  if (!end || a->assumed_count == ASSUMED_MAX) return false;
  const uint32_t before = a->assumed_count;
  a->assumed[a->assumed_count++] = carried;
  const bool is_equal = agrees(a, hlo_node_operand(loop, value->number)) &&
                        agrees(a, hlo_node_operand(end, value->number));
  if (!is_equal) a->assumed_count = before;
  return is_equal;
}

static bool agrees(agreement_t* a, const hlo_value_t* value) {
  if (++a->value_count > VALUES_MAX) return false;
  if (hlo_processes_agree(a->processes, value, a->groups)) return true;
  const hlo_node_t* node = value->def;
  if (!node) return carried_agrees(a, value);
  const bool is_pure = hlo_node_is_pure(node) && !node->region_count &&
                       !hlo_op_has(node->op, HLO_TRAIT_CONTROL) &&
                       node->op != HLO_OP_partition_id && node->op != HLO_OP_replica_id;
  bool is_equal = is_pure;
  for (uint32_t i = 0; i < node->operand_count && is_equal; ++i) {
    is_equal = agrees(a, hlo_node_operand(node, i));
  }
  return is_equal || has_equal_integers(a, value);
}

bool hlo_processes_agree_in_loop(const hlo_processes_t* processes, const hlo_value_t* value,
                                 const hlo_groups_t* groups) {
  agreement_t a = {.processes = processes, .groups = groups};
  return agrees(&a, value);
}
