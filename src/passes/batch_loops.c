// SPDX-License-Identifier: Apache-2.0
// Pass batch_loops: turns a loop whose iterations are independent into ops on whole arrays: maps,
// scans that only stack results, and counting loops that set element after element. They fuse, have
// lanes and run in parallel, which iterations of a few elements do not.
//
// An iteration is independent if everything that the loop carries is a counter, a value that stays
// the same, an array of which each iteration replaces a slice of its own (and reads no other part),
// or an accumulator: a value that each iteration only adds to. A loop with an op that has no form
// for all iterations is kept: inner loops that remain, branches, calls of the library. Inner loops
// are batched first. Sums of floats and products become larger ones, whose order of additions is
// that of any program with their shape: what iterations add up is one reduction, and the sum of
// their products one product that also contracts the iterations.
#include "passes/batch_loops.h"

#include "base/tuning.h"
#include "ir/clone.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/effects.h"
#include "passes/passes.h"
#include "passes/trip_count.h"

static const hlo_value_t* next_value(const hlo_batch_t* b, uint32_t i) {
  return hlo_node_operand(hlo_region_terminator(b->body), i);
}

// ---- recognition

// Returns the update that makes the next value of carried value i; NULL if another op does.
static hlo_node_t* update_of(const hlo_batch_t* b, uint32_t i) {
  const hlo_value_t* next = next_value(b, i);
  hlo_node_t* node = next->def;
  const bool is_update = node && node->parent == b->body &&
                         node->op == HLO_OP_dynamic_update_slice &&
                         hlo_node_operand(node, 0) == b->body->args[i];
  return is_update && next->uses && !next->uses->next ? node : NULL;
}

// Returns the addition that makes the next value of accumulator i; NULL if the iterations use it in
// other ways, or add the same value.
static hlo_node_t* accumulation_of(const hlo_batch_t* b, uint32_t i) {
  const hlo_value_t *arg = b->body->args[i], *next = next_value(b, i);
  hlo_node_t* node = next->def;
  const bool is_sum = node && node->parent == b->body && node->op == HLO_OP_add && !node->extra &&
                      !hlo_dtype_is_complex(arg->type->dtype);
  if (!is_sum || !arg->uses || arg->uses->next || arg->uses->user != node) return NULL;
  return next->uses && !next->uses->next ? node : NULL;
}

// Returns what an addition adds to accumulator i.
static hlo_value_t* addend_of(const hlo_batch_t* b, const hlo_node_t* sum, uint32_t i) {
  return hlo_node_operand(sum, hlo_node_operand(sum, 0) == b->body->args[i]);
}

// Matches a carried integer to which each iteration adds a constant.
static bool read_counter(const hlo_batch_t* b, uint32_t i, hlo_batch_fact_t* out) {
  const hlo_node_t* add = next_value(b, i)->def;
  *out = (hlo_batch_fact_t){.is_varying = true, .is_known = true};
  if (!add || add->op != HLO_OP_add ||
      !hlo_constant_integer(hlo_node_operand(b->loop, i), &out->first)) {
    return false;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    if (hlo_node_operand(add, side) == b->body->args[i] &&
        hlo_constant_integer(hlo_node_operand(add, 1 - side), &out->step)) {
      return out->step != 0;
    }
  }
  return false;
}

// Fills in the facts of the body's arguments. False if an iteration depends on the one before.
static bool classify_arguments(hlo_batch_t* b) {
  for (uint32_t i = 0; i < b->body->arg_count; ++i) {
    const hlo_value_t* arg = b->body->args[i];
    hlo_batch_fact_t* fact = &b->facts[arg->index];
    if (arg->type != b->loop->results[i].type || arg->type != hlo_node_operand_type(b->loop, i) ||
        arg->type != next_value(b, i)->type || !hlo_type_is_plain(arg->type)) {
      return false;
    }
    if (next_value(b, i) == arg) {
      int64_t value;
      *fact = (hlo_batch_fact_t){0};
      if (hlo_constant_integer(hlo_node_operand(b->loop, i), &value)) {
        *fact = (hlo_batch_fact_t){.is_known = true, .first = value};
      }
    } else if (!read_counter(b, i, fact)) {
      if (!update_of(b, i) && !accumulation_of(b, i)) return false;
      *fact = (hlo_batch_fact_t){.is_varying = true};
    }
  }
  return true;
}

static bool same_window(const hlo_batch_window_t* x, const hlo_batch_window_t* y, uint32_t rank) {
  for (uint32_t d = 0; d < rank; ++d) {
    if (x->starts[d] != y->starts[d] || x->at[d] != y->at[d]) return false;
  }
  return x->dim == y->dim && x->is_reversed == y->is_reversed;
}

// Returns true if each iteration replaces a slice of its own of carried value i, and reads no
// other.
static bool updates_own_slice(const hlo_batch_t* b, uint32_t i) {
  hlo_node_t* update = update_of(b, i);
  hlo_batch_window_t window, read;
  if (!update || !hlo_batch_window(b, update, &window)) return false;
  for (const hlo_use_t* use = b->body->args[i]->uses; use; use = use->next) {
    if (use->user == update && use == &update->operands[0]) continue;
    if (use->user->op != HLO_OP_dynamic_slice || use->user->parent != b->body ||
        use->user->results[0].type != hlo_node_operand_type(update, 1) ||
        !hlo_batch_window(b, use->user, &read) ||
        !same_window(&read, &window, b->body->args[i]->type->rank)) {
      return false;
    }
  }
  return true;
}

// Returns true if all values of the body, for all iterations, take a bounded amount of memory.
static bool has_room(const hlo_batch_t* b, const hlo_node_t* node) {
  const hlo_type_t* type = node->results[0].type;
  uint64_t limit = HLO_TUNING_BATCH_MAX_BYTES;
  for (uint32_t i = 0; i < b->loop->operand_count; ++i) {
    const uint64_t bytes = hlo_type_size_bytes(hlo_node_operand_type(b->loop, i));
    if (bytes > limit) limit = bytes;
  }
  uint64_t bytes;
  return hlo_type_element_count(type) <= HLO_TUNING_BATCH_MAX_ELEMENTS &&
         !__builtin_mul_overflow(hlo_type_size_bytes(type), (uint64_t)b->count, &bytes) &&
         bytes <= limit;
}

static bool is_known(const hlo_batch_t* b, uint32_t i) {
  return b->facts[b->body->args[i]->index].is_known;
}

// Returns true if the node makes the next value of a carried array or accumulator.
static bool ends_carry(const hlo_batch_t* b, const hlo_node_t* node) {
  if (node->op != HLO_OP_add && node->op != HLO_OP_dynamic_update_slice) return false;
  const hlo_use_t* use = node->results[0].uses;
  const hlo_node_t* end = hlo_region_terminator(b->body);
  if (!use || use->user != end) return false;
  const uint32_t i = (uint32_t)(use - end->operands);
  return node == update_of(b, i) || (node == accumulation_of(b, i) && !is_known(b, i));
}

// Returns true for ops that commute with the sum of iterations.
static bool only_moves(const hlo_node_t* node) {
  return node->op == HLO_OP_transpose || node->op == HLO_OP_reshape;
}

// Returns true if the node is a product of values that both vary, or moves its elements, and the
// loop only adds the result to an accumulator: it is computed for the sum of all iterations.
static bool is_summed(const hlo_batch_t* b, const hlo_node_t* node) {
  while (only_moves(node)) {
    node = hlo_node_operand(node, 0)->def;
    if (!node || node->parent != b->body) return false;
  }
  if (node->op != HLO_OP_dot_general || !hlo_batch_fact(b, hlo_node_operand(node, 0)).is_varying ||
      !hlo_batch_fact(b, hlo_node_operand(node, 1)).is_varying) {
    return false;
  }
  do {
    const hlo_use_t* use = node->results[0].uses;
    if (!use || use->next) return false;
    node = use->user;
  } while (only_moves(node));
  return node->op == HLO_OP_add && ends_carry(b, node);
}

// Returns true if the loop adds what no iteration changes, or products that take as much memory as
// the accumulator, which it adds in place: such loops are kept.
static bool accumulates_in_place(const hlo_batch_t* b, uint32_t i) {
  const hlo_value_t* addend = addend_of(b, accumulation_of(b, i), i);
  if (!hlo_batch_fact(b, addend).is_varying) return true;
  const int64_t count = hlo_type_element_count(addend->type);
  const hlo_node_t* end = hlo_region_terminator(b->body);
  for (const hlo_node_t* node = b->body->first; node != end; node = node->next) {
    if (node->op == HLO_OP_dot_general && !is_summed(b, node) &&
        b->facts[node->results[0].index].is_varying &&
        hlo_type_element_count(node->results[0].type) >= count) {
      return true;
    }
  }
  return false;
}

static bool classify_body(hlo_batch_t* b) {
  const hlo_node_t* end = hlo_region_terminator(b->body);
  for (const hlo_node_t* node = b->body->first; node != end; node = node->next) {
    if (node->result_count != 1 || node->extra || !hlo_node_is_pure(node)) return false;
    hlo_batch_fact_t* fact = &b->facts[node->results[0].index];
    if (ends_carry(b, node)) {
      *fact = (hlo_batch_fact_t){.is_varying = true};
      continue;
    }
    *fact = hlo_batch_infer(b, node);
    if (fact->is_known) continue;
    if (!hlo_batch_can(b, node)) return false;
    if (fact->is_varying && !is_summed(b, node) && !has_room(b, node)) return false;
  }
  for (uint32_t i = 0; i < b->body->arg_count; ++i) {
    const hlo_batch_fact_t* fact = &b->facts[b->body->args[i]->index];
    if (!fact->is_varying || fact->is_known) continue;
    if (accumulation_of(b, i) ? accumulates_in_place(b, i) : !updates_own_slice(b, i)) return false;
  }
  return true;
}

// ---- construction

static hlo_status_t build_body(hlo_batch_t* b) {
  const hlo_node_t* end = hlo_region_terminator(b->body);
  for (hlo_node_t* node = b->body->first; node != end; node = node->next) {
    const hlo_value_t* result = &node->results[0];
    if (b->facts[result->index].is_known || ends_carry(b, node)) continue;
    b->built[result->index] =
        is_summed(b, node) ? hlo_batch_build_sum(b, node) : hlo_batch_build(b, node);
    HLO_TRY(hlo_module_status(b->body->module));
  }
  return hlo_ok();
}

static hlo_value_t* result_of(const hlo_batch_t* b, uint32_t i) {
  const hlo_value_t* arg = b->body->args[i];
  const hlo_batch_fact_t* fact = &b->facts[arg->index];
  if (!fact->is_varying) return hlo_node_operand(b->loop, i);
  if (fact->is_known) {
    return hlo_build_integers(b->loop, arg->type, &(int64_t){fact->first + fact->step * b->count});
  }
  const hlo_node_t* sum = accumulation_of(b, i);
  if (sum) {
    hlo_value_t* addend = addend_of(b, sum, i);
    const hlo_node_t* node = addend->def;
    hlo_value_t* total = node && node->parent == b->body && is_summed(b, node)
                             ? b->built[addend->index]
                             : hlo_batch_sum(b, addend);
    return hlo_build_binary(b->loop, HLO_OP_add, hlo_node_operand(b->loop, i), total);
  }
  const hlo_node_t* update = update_of(b, i);
  hlo_batch_window_t window;
  if (!hlo_batch_window(b, update, &window)) return NULL;  // not reached: checked before
  return hlo_batch_assemble(b, &window, hlo_node_operand(b->loop, i), hlo_node_operand(update, 1));
}

static hlo_status_t build_results(hlo_pass_ctx_t* ctx, hlo_batch_t* b) {
  const uint32_t count = b->loop->result_count;
  hlo_value_t** results = hlo_arena_array(&ctx->scratch, count + 1, sizeof *results);
  if (!results) return hlo_arena_status(&ctx->scratch);
  for (uint32_t i = 0; i < count; ++i) results[i] = result_of(b, i);
  HLO_TRY(hlo_module_status(b->body->module));
  for (uint32_t i = 0; i < count; ++i) hlo_value_replace_uses(&b->loop->results[i], results[i]);
  hlo_node_erase(b->loop);
  ++ctx->step_count;
  return hlo_ok();
}

static hlo_status_t batch_loop(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  if (!hlo_loop_is_plain(node)) return hlo_ok();
  hlo_batch_t batch = {.loop = node, .body = node->regions[1]};
  batch.count = hlo_loop_trip_count(node, HLO_TUNING_BATCH_MAX_ITERATIONS);
  if (batch.count < 2) return hlo_ok();
  batch.table_size = node->parent->module->value_count;
  batch.facts = hlo_arena_array(&ctx->scratch, batch.table_size, sizeof *batch.facts);
  batch.built = hlo_arena_array(&ctx->scratch, batch.table_size, sizeof(hlo_value_t*));
  if (!batch.facts || !batch.built) return hlo_arena_status(&ctx->scratch);
  if (!classify_arguments(&batch) || !classify_body(&batch)) return hlo_ok();
  HLO_TRY(build_body(&batch));
  return build_results(ctx, &batch);
}

hlo_status_t hlo_pass_batch_loops(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, true, batch_loop, ctx);
}
