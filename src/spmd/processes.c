// SPDX-License-Identifier: Apache-2.0
// Knowledge about processes (see processes.h).
//
// Which processes have equal values is a relation: an array with the smallest process of each
// process's class. NULL: nothing is known. The relation of a pure op is the common refinement of
// those of its operands. Values that a collective gives to a whole group are equal in the group.
#include "spmd/processes.h"

#include <string.h>

#include "passes/effects.h"
#include "spmd/collective.h"
#include "spmd/integers.h"

struct hlo_known_groups {
  const hlo_attr_t* attr;
  hlo_group_strategy_t strategy;
  bool is_usable;
  hlo_groups_t groups;
  hlo_known_groups_t* next;
};

hlo_status_t hlo_processes_init(const hlo_module_t* module, hlo_arena_t* arena,
                                hlo_processes_t* out_processes) {
  const hlo_process_counts_t counts = hlo_module_process_counts(module);
  hlo_processes_t processes = {
      .arena = arena, .replicas = counts.replicas, .partitions = counts.partitions};
  if (__builtin_mul_overflow(counts.replicas, counts.partitions, &processes.count)) {
    return hlo_invalid_argument("%u replicas of %u partitions", counts.replicas, counts.partitions);
  }
  processes.all = hlo_arena_array(arena, processes.count, sizeof *processes.all);
  HLO_TRY(hlo_arena_status(arena));
  *out_processes = processes;
  return hlo_ok();
}

// ---- groups

// Enters the members of the group of `process`, of which it is the smallest.
static bool enter_group(hlo_processes_t* p, const hlo_node_t* node, hlo_group_strategy_t strategy,
                        const hlo_attr_t* attr, uint32_t process, uint32_t* members,
                        uint32_t* firsts, uint32_t* positions, uint32_t* out_size) {
  hlo_status_t status = hlo_group_members(node, strategy, attr, p->replicas, p->partitions, process,
                                          members, out_size);
  if (!hlo_status_take_ok(status) || !*out_size) return false;
  for (uint32_t i = 0; i < *out_size; ++i) {
    if (firsts[members[i]] != UINT32_MAX) return false;  // in two groups
    firsts[members[i]] = process;
    positions[members[i]] = i;
  }
  return firsts[process] == process;
}

static bool find_groups(hlo_processes_t* p, const hlo_node_t* node, hlo_known_groups_t* known) {
  uint32_t* firsts = hlo_arena_array(p->arena, p->count, sizeof *firsts);
  uint32_t* positions = hlo_arena_array(p->arena, p->count, sizeof *positions);
  uint32_t* members = hlo_arena_array(p->arena, p->count, sizeof *members);
  if (!firsts || !positions || !members) return false;
  memset(firsts, 0xff, p->count * sizeof *firsts);
  uint32_t size = 0;
  for (uint32_t i = 0; i < p->count; ++i) {
    if (firsts[i] != UINT32_MAX) continue;
    if (!enter_group(p, node, known->strategy, known->attr, i, members, firsts, positions, &size)) {
      return false;
    }
    known->groups.size = i == 0 || known->groups.size == size ? size : 0;
  }
  known->groups.firsts = firsts;
  known->groups.positions = positions;
  return true;
}

const hlo_groups_t* hlo_processes_groups(hlo_processes_t* p, const hlo_node_t* node) {
  const hlo_attr_t* attr = hlo_node_attr(node, HLO_ATTR_replica_groups);
  const hlo_group_strategy_t strategy = hlo_group_strategy(node);
  if (!attr || attr->kind != HLO_ATTR_KIND_INTS) return NULL;
  for (hlo_known_groups_t* known = p->known_groups; known; known = known->next) {
    if (known->attr == attr && known->strategy == strategy) {
      return known->is_usable ? &known->groups : NULL;
    }
  }
  hlo_known_groups_t* known = hlo_arena_alloc(p->arena, sizeof *known);
  if (!known) return NULL;
  *known = (hlo_known_groups_t){.attr = attr, .strategy = strategy, .next = p->known_groups};
  known->is_usable = find_groups(p, node, known);
  p->known_groups = known;
  return known->is_usable ? &known->groups : NULL;
}

// ---- slices

bool hlo_processes_own_slice(const hlo_processes_t* p, const hlo_node_t* slice,
                             const hlo_groups_t* groups, uint32_t dim, int64_t* out_rest) {
  const hlo_type_t *whole = hlo_node_operand_type(slice, 0), *part = slice->results[0].type;
  if (!hlo_type_is_static(whole) || !groups->size) return false;
  for (uint32_t d = 0; d < whole->rank; ++d) {
    if (d != dim && whole->dims[d] != part->dims[d]) return false;
  }
  *out_rest = whole->dims[dim] - part->dims[dim] * groups->size;
  if (*out_rest < 0) return false;
  for (uint32_t i = 0; i < p->count; ++i) {
    const hlo_integer_env_t env = {
        .has_process = true, .replica = i / p->partitions, .partition = i % p->partitions};
    int64_t start;
    if (!hlo_integer_evaluate(&env, hlo_node_operand(slice, 1 + dim), &start)) return false;
    if (start != groups->positions[i] * part->dims[dim]) return false;
  }
  return true;
}

// ---- equal values

// Returns the common refinement: processes are equal in it if they are in both.
static const uint32_t* refine(const hlo_processes_t* p, const uint32_t* a, const uint32_t* b) {
  if (!a || !b || a == b || b == p->all) return b ? a : NULL;
  if (a == p->all) return b;
  uint32_t bucket_count = 1;
  while (bucket_count < p->count) bucket_count *= 2;
  uint32_t* classes = hlo_arena_array(p->arena, p->count, sizeof *classes);
  const hlo_arena_mark_t mark = hlo_arena_mark(p->arena);
  uint32_t* heads = hlo_arena_array(p->arena, bucket_count, sizeof *heads);  // process + 1
  uint32_t* next = hlo_arena_array(p->arena, p->count, sizeof *next);
  for (uint32_t i = 0; heads && next && classes && i < p->count; ++i) {
    uint32_t* head = &heads[(a[i] * 31 + b[i]) & (bucket_count - 1)];
    uint32_t k = *head;
    while (k && (a[k - 1] != a[i] || b[k - 1] != b[i])) k = next[k - 1];
    classes[i] = k ? k - 1 : i;
    if (k) continue;
    next[i] = *head;
    *head = i + 1;
  }
  hlo_arena_reset(p->arena, mark);
  return classes;
}

static const uint32_t* relation_of(const hlo_processes_t* p, const hlo_value_t* value) {
  return value->index < p->relation_count ? p->relations[value->index] : NULL;
}

static const uint32_t* relate_number(const hlo_processes_t* p, bool is_partition) {
  uint32_t* classes = hlo_arena_array(p->arena, p->count, sizeof *classes);
  for (uint32_t i = 0; classes && i < p->count; ++i) {
    classes[i] = is_partition ? i % p->partitions : i / p->partitions * p->partitions;
  }
  return classes;
}

static const uint32_t* relate_pure(const hlo_processes_t* p, const hlo_node_t* node) {
  const uint32_t* classes = p->all;
  if (!hlo_node_is_pure(node) || hlo_op_has(node->op, HLO_TRAIT_CONTROL)) return NULL;
  for (uint32_t i = 0; i < node->operand_count && classes; ++i) {
    classes = refine(p, classes, relation_of(p, hlo_node_operand(node, i)));
  }
  return classes;
}

// Relates what a collective makes of one operand and gives to all members of a group.
static const uint32_t* relate_shared(hlo_processes_t* p, const hlo_node_t* node,
                                     const hlo_value_t* operand) {
  const hlo_groups_t* groups = hlo_processes_groups(p, node);
  if (!groups) return NULL;
  const bool is_equal = groups->size && hlo_processes_agree(p, operand, groups);
  return is_equal ? relation_of(p, operand) : groups->firsts;
}

static void relate_node(hlo_processes_t* p, const hlo_node_t* node) {
  const bool is_number = node->op == HLO_OP_partition_id || node->op == HLO_OP_replica_id;
  const uint32_t* classes =
      is_number ? relate_number(p, node->op == HLO_OP_partition_id) : relate_pure(p, node);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const uint32_t** relation = &p->relations[node->results[i].index];
    switch (node->op) {
      case HLO_OP_optimization_barrier:
        *relation = relation_of(p, hlo_node_operand(node, i));
        break;
      case HLO_OP_all_reduce:
      case HLO_OP_all_gather: *relation = relate_shared(p, node, hlo_node_operand(node, i)); break;
      default: *relation = classes;
    }
  }
}

bool hlo_argument_is_replicated(const hlo_func_t* func, uint32_t arg) {
  const hlo_attr_t* attrs = func->arg_attrs ? func->arg_attrs[arg] : NULL;
  const hlo_attr_t* list = hlo_attr_dict_get(attrs, "mhlo.parameter_replication");
  return list && list->kind == HLO_ATTR_KIND_ARRAY && list->count == 1 &&
         list->items[0]->kind == HLO_ATTR_KIND_BOOL && list->items[0]->i;
}

hlo_status_t hlo_processes_relate(hlo_processes_t* p, const hlo_module_t* module) {
  p->relation_count = module->value_count;
  p->relations = hlo_arena_array(p->arena, p->relation_count + 1, sizeof *p->relations);
  HLO_TRY(hlo_arena_status(p->arena));
  for (const hlo_func_t* func = module->first_func; func; func = func->next) {
    if (!func->body) continue;
    for (uint32_t i = 0; i < func->body->arg_count && func == hlo_module_entry(module); ++i) {
      if (!hlo_argument_is_replicated(func, i)) continue;
      p->relations[func->body->args[i]->index] = relate_number(p, true);
    }
    for (const hlo_node_t* n = func->body->first; n; n = n->next) relate_node(p, n);
  }
  return hlo_arena_status(p->arena);
}

bool hlo_processes_agree(const hlo_processes_t* p, const hlo_value_t* value,
                         const hlo_groups_t* groups) {
  const uint32_t* classes = relation_of(p, value);
  for (uint32_t i = 0; classes && i < p->count; ++i) {
    if (classes[i] != classes[groups->firsts[i]]) return false;
  }
  return classes != NULL;
}
