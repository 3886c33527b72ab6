// SPDX-License-Identifier: Apache-2.0
// Pass batch_loops: turns a loop whose iterations are independent into ops on whole arrays: maps,
// scans that only stack results, and counting loops that set element after element. They fuse, have
// lanes and run in parallel, which iterations of a few elements do not.
//
// An iteration is independent if everything that the loop carries is a counter, a value that stays
// the same, or an array of which each iteration replaces a slice of its own (and reads no other
// part). A loop with an op that has no form for all iterations is kept: inner loops that remain,
// branches, calls of the library. Inner loops are batched first. Sums of floats and products become
// larger ones, whose order of additions is that of any program with their shape.
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
      if (!update_of(b, i)) return false;
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
  if (!hlo_batch_window(b, update, &window)) return false;
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

static bool is_update_of_carry(const hlo_batch_t* b, const hlo_node_t* node) {
  const hlo_value_t* array = node->operand_count ? hlo_node_operand(node, 0) : NULL;
  return array && array->region == b->body && !array->def &&
         next_value(b, array->number) == &node->results[0] && update_of(b, array->number) == node;
}

static bool classify_body(hlo_batch_t* b) {
  const hlo_node_t* end = hlo_region_terminator(b->body);
  for (const hlo_node_t* node = b->body->first; node != end; node = node->next) {
    if (node->result_count != 1 || node->extra || !hlo_node_is_pure(node)) return false;
    hlo_batch_fact_t* fact = &b->facts[node->results[0].index];
    if (is_update_of_carry(b, node)) {
      *fact = (hlo_batch_fact_t){.is_varying = true};
      continue;
    }
    *fact = hlo_batch_infer(b, node);
    if (fact->is_known) continue;
    if (!hlo_batch_can(b, node) || (fact->is_varying && !has_room(b, node))) return false;
  }
  for (uint32_t i = 0; i < b->body->arg_count; ++i) {
    const hlo_batch_fact_t* fact = &b->facts[b->body->args[i]->index];
    if (fact->is_varying && !fact->is_known && !updates_own_slice(b, i)) return false;
  }
  return true;
}

// ---- construction

static hlo_status_t build_body(hlo_batch_t* b) {
  const hlo_node_t* end = hlo_region_terminator(b->body);
  for (hlo_node_t* node = b->body->first; node != end; node = node->next) {
    const hlo_value_t* result = &node->results[0];
    if (b->facts[result->index].is_known || is_update_of_carry(b, node)) continue;
    b->built[result->index] = hlo_batch_build(b, node);
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
