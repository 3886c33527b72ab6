// SPDX-License-Identifier: Apache-2.0
// Pass hoist_invariants: moves loop-invariant ops before their loop where that is worth the memory
// of the result. Ops that cost no more than a pass over memory remain in the body, where they fuse
// with their users. Inner loops are processed first, so that a value leaves every loop that it does
// not depend on; ops of branches remain in them. Collectives are moved like other expensive ops.
#include "base/tuning.h"
#include "ir/clone.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/trip_count.h"

// The facts about a value that a loop's body defines.
typedef struct fact {
  bool is_invariant;
  bool is_hoisted;
  uint32_t work;          // operations per element to compute it and its operands, at most
                          // HLO_TUNING_HOIST_MIN_OPS
  uint64_t source_bytes;  // size of the largest value defined before the loop that it depends on
} fact_t;

typedef struct hoister {
  hlo_pass_ctx_t* ctx;
  fact_t* facts;  // by value->index
} hoister_t;

// ---- costs

// Returns the number of operations per element. HLO_TUNING_HOIST_MIN_OPS: always worth hoisting.
static uint32_t work_of(hlo_op_t op) {
  switch (hlo_op_info(op)->cost) {
    case HLO_COST_INDEX:
    case HLO_COST_MOVE: return 0;
    case HLO_COST_SIMPLE: return 1;
    default: return HLO_TUNING_HOIST_MIN_OPS;
  }
}

static uint64_t bytes_of(const hlo_value_t* value) {
  return value->type->kind == HLO_TYPE_TENSOR && hlo_type_is_static(value->type)
             ? hlo_type_size_bytes(value->type)
             : 0;
}

// ---- invariance

enum { TRIP_COUNT_MAX = 1 << 20 };  // counting up to it may take this many steps

// A collective may fail, for example where a process is in no group: it is only moved if the loop
// runs it anyway.
static bool is_hoistable_op(const hlo_node_t* node, const hlo_node_t* loop) {
  if (!node->result_count) return false;
  if (hlo_op_info(node->op)->cost == HLO_COST_EXCHANGE) {
    return node->parent == loop->regions[1] && hlo_loop_trip_count(loop, TRIP_COUNT_MAX) > 0;
  }
  if (node->op == HLO_OP_custom_call) return hlo_node_is_removable(node, NULL, NULL);
  return hlo_node_is_pure(node);
}

// Returns the value that replaces `value` before the loop; NULL if it varies or is defined in the
// body only.
static hlo_value_t* before_loop(const hoister_t* h, const hlo_node_t* loop,
                                const hlo_region_t* region, hlo_value_t* value) {
  if (value->region != region) return value;
  if (value->def) return h->facts[value->index].is_invariant ? value : NULL;
  const hlo_region_t* body = loop->regions[1];
  const hlo_value_t* next = hlo_node_operand(hlo_region_terminator(body), value->number);
  hlo_value_t* first = hlo_node_operand(loop, value->number);
  return next == body->args[value->number] && first->type == value->type ? first : NULL;
}

// Regions that are functions of scalars (of reduce or sort) capture nothing.
static bool has_captures(const hoister_t* h, const hlo_node_t* node) {
  uint32_t count = 0;
  const hlo_value_t** values = NULL;
  if (!node->region_count) return false;
  // The runner detects an exhausted arena.
  return !hlo_status_take_ok(hlo_node_captures(node, &h->ctx->scratch, &count, &values)) || count;
}

static void find_fact(hoister_t* h, const hlo_node_t* loop, const hlo_node_t* node) {
  fact_t fact = {.is_invariant = is_hoistable_op(node, loop), .work = work_of(node->op)};
  for (uint32_t i = 0; i < node->operand_count && fact.is_invariant; ++i) {
    hlo_value_t* value = hlo_node_operand(node, i);
    const fact_t* operand = &h->facts[value->index];
    bool is_here = value->region == node->parent && value->def;
    uint64_t bytes = is_here ? operand->source_bytes : bytes_of(value);
    fact.is_invariant = before_loop(h, loop, node->parent, value) != NULL;
    if (is_here) fact.work += operand->work;
    if (bytes > fact.source_bytes) fact.source_bytes = bytes;
  }
  fact.is_invariant = fact.is_invariant && !has_captures(h, node);
  if (fact.work > HLO_TUNING_HOIST_MIN_OPS) fact.work = HLO_TUNING_HOIST_MIN_OPS;
  for (uint32_t i = 0; i < node->result_count; ++i) h->facts[node->results[i].index] = fact;
}

// ---- profitability

// Returns true for a broadcast to more elements than its operand has, which fuses with its users.
static bool is_spread(const hlo_node_t* node, uint64_t bytes) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (bytes_of(hlo_node_operand(node, i)) >= bytes) return false;
  }
  return work_of(node->op) == 0;
}

static bool is_worth_it(const hoister_t* h, const hlo_node_t* node) {
  const fact_t* fact = &h->facts[node->results[0].index];
  if (!fact->is_invariant || fact->work < HLO_TUNING_HOIST_MIN_OPS) return false;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < node->result_count; ++i) bytes += bytes_of(&node->results[i]);
  if (is_spread(node, bytes)) return false;
  if (bytes <= fact->source_bytes) return true;
  // The result occupies more memory than its operands.
  bool is_elementwise = (hlo_op_info(node->op)->traits & HLO_TRAIT_ELEMENTWISE) != 0;
  return work_of(node->op) == HLO_TUNING_HOIST_MIN_OPS &&
         (!is_elementwise || bytes < HLO_TUNING_HOIST_MAX_BYTES);
}

static void mark(hoister_t* h, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    h->facts[node->results[i].index].is_hoisted = true;
  }
}

// Visits ops in reverse order: the operands of a hoisted op are hoisted as well.
static void choose(hoister_t* h, const hlo_region_t* region) {
  for (const hlo_node_t* node = region->last; node; node = node->prev) {
    if (!node->result_count) continue;
    if (is_worth_it(h, node)) mark(h, node);
    if (!h->facts[node->results[0].index].is_hoisted) continue;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      const hlo_value_t* value = hlo_node_operand(node, i);
      if (value->region == region && value->def) mark(h, value->def);
    }
  }
}

// ---- code motion

static void hoist(hoister_t* h, hlo_node_t* loop, hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    hlo_value_t* value = hlo_node_operand(node, i);
    hlo_value_t* outside = before_loop(h, loop, node->parent, value);
    if (outside != value) hlo_node_set_operand(node, i, outside);
  }
  hlo_node_unlink(node);
  hlo_node_insert_before(loop, node);
  ++h->ctx->step_count;
}

static void hoist_from(hoister_t* h, hlo_node_t* loop, hlo_region_t* region) {
  for (const hlo_node_t* node = region->first; node; node = node->next) find_fact(h, loop, node);
  choose(h, region);
  for (hlo_node_t *node = region->first, *next; node; node = next) {
    next = node->next;
    if (!node->result_count || !h->facts[node->results[0].index].is_hoisted) continue;
    hoist(h, loop, node);
  }
}

static hlo_status_t hoist_from_loop(void* context, hlo_node_t* node) {
  if (node->op != HLO_OP_while || node->region_count != 2) return hlo_ok();
  const hlo_node_t* end = hlo_region_terminator(node->regions[1]);
  if (!end || end->operand_count != node->operand_count) return hlo_ok();
  for (uint32_t i = 0; i < node->region_count; ++i) hoist_from(context, node, node->regions[i]);
  return hlo_ok();
}

hlo_status_t hlo_pass_hoist_invariants(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  hoister_t hoister = {.ctx = ctx};
  hoister.facts =
      hlo_arena_array(&ctx->scratch, (size_t)module->value_count + 1, sizeof *hoister.facts);
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  return hlo_module_walk(module, true, hoist_from_loop, &hoister);
}
