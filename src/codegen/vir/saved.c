// SPDX-License-Identifier: Apache-2.0
// Values that are live across a suspend (see saved.h).
//
// A value is live across s if it is available there and used after s in the text, or anywhere in
// the outermost loop that contains s but not the value's definition: such a loop may run again. The
// counter and bound of a `for` around s are used at its end.
#include "codegen/vir/saved.h"

#include <string.h>

#include "base/program_abi.h"

enum { SLOT_BYTES = 8 };

// Text positions by number: of an instruction, and of the last instruction inside it.
typedef struct places {
  uint32_t* at;
  uint32_t* end;
  bool* is_rematerialized;
  bool* is_stack;  // an address derived from one of the stack
  uint32_t next;
  uint32_t resume_count;
} places_t;

// Decides if a value is recomputed, and if it may point into the stack; its operands are decided
// already.
static void classify(places_t* places, const hlo_vir_value_t* value) {
  bool is_index = hlo_vir_opcode_class((hlo_vir_opcode_t)value->op) == HLO_VIR_INDEX_OP;
  bool is_rematerialized = hlo_vir_opcode_is_pure((hlo_vir_opcode_t)value->op) &&
                           !value->parent->owner && (is_index || value->operand_count == 0);
  bool is_stack = value->op == HLO_VIR_stack;
  for (uint32_t i = 0; i < value->operand_count; ++i) {
    if (!value->operands[i]) continue;
    is_rematerialized = is_rematerialized && places->is_rematerialized[value->operands[i]->number];
    is_stack = is_stack || places->is_stack[value->operands[i]->number];
  }
  places->is_rematerialized[value->number] = is_rematerialized;
  if (value->op == HLO_VIR_set && is_stack) places->is_stack[value->operands[0]->number] = true;
  places->is_stack[value->number] = is_stack && (is_index || value->op == HLO_VIR_var);
}

static void number_block(places_t* places, const hlo_vir_block_t* block) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    places->at[value->number] = places->next++;
    classify(places, value);
    places->resume_count += value->op == HLO_VIR_suspend;
    if (value->body) number_block(places, value->body);
    if (value->other_body) number_block(places, value->other_body);
    places->end[value->number] = places->next;
  }
}

static bool is_loop(const hlo_vir_value_t* value) {
  return value->op == HLO_VIR_for || value->op == HLO_VIR_loop;
}

// A suspend whose live values are being collected.
typedef struct search {
  const places_t* places;
  const hlo_vir_value_t* suspend;
  uint8_t* is_live;  // by number
  uint32_t live_count;
} search_t;

// Returns the outermost loop around the suspend that does not contain the value's definition, or
// NULL.
static const hlo_vir_value_t* loop_between(const search_t* search, const hlo_vir_value_t* value) {
  const hlo_vir_block_t* known = hlo_vir_value_block(value);
  const hlo_vir_value_t* found = NULL;
  for (const hlo_vir_block_t* at = search->suspend->parent; at && at != known; at = at->parent) {
    if (at->owner && is_loop(at->owner)) found = at->owner;
  }
  return found;
}

static bool is_known_at(const search_t* search, const hlo_vir_value_t* value) {
  const places_t* places = search->places;
  if (places->at[value->number] >= places->at[search->suspend->number]) return false;
  const hlo_vir_block_t* block = search->suspend->parent;
  const hlo_vir_block_t* known = hlo_vir_value_block(value);
  while (block && block->depth > known->depth) block = block->parent;
  return block == known;
}

static void mark(search_t* search, const hlo_vir_value_t* value) {
  if (search->is_live[value->number] || search->places->is_rematerialized[value->number]) return;
  search->is_live[value->number] = 1;
  ++search->live_count;
}

static void visit_use(search_t* search, const hlo_vir_value_t* user, const hlo_vir_value_t* value) {
  const places_t* places = search->places;
  if (places->is_rematerialized[value->number] || !is_known_at(search, value)) return;
  uint32_t at = places->at[user->number];
  const hlo_vir_value_t* loop = loop_between(search, value);
  if (at > places->at[search->suspend->number] ||
      (loop && at >= places->at[loop->number] && at < places->end[loop->number])) {
    mark(search, value);
  }
}

static void visit_block(search_t* search, const hlo_vir_block_t* block) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    for (uint32_t i = 0; i < value->operand_count; ++i) {
      if (value->operands[i]) visit_use(search, value, value->operands[i]);
    }
    if (value->body) visit_block(search, value->body);
    if (value->other_body) visit_block(search, value->other_body);
  }
}

static void visit_loops_around(search_t* search) {
  for (const hlo_vir_value_t* at = search->suspend->parent->owner; at; at = at->parent->owner) {
    if (at->op != HLO_VIR_for) continue;
    mark(search, at);
    mark(search, at->operands[1]);
  }
}

static void collect_block(const search_t* search, const hlo_vir_block_t* block,
                          hlo_vir_resume_t* resume) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    if (search->is_live[value->number]) resume->values[resume->value_count++] = value;
    if (value->body) collect_block(search, value->body, resume);
    if (value->other_body) collect_block(search, value->other_body, resume);
  }
}

static uint32_t slot_bytes(hlo_vir_type_t type) {
  uint32_t bytes = hlo_vir_elem_bits((hlo_vir_elem_t)type.elem) / 8 * type.lanes;
  return bytes <= SLOT_BYTES ? SLOT_BYTES : (bytes + SLOT_BYTES - 1) / SLOT_BYTES * SLOT_BYTES;
}

static hlo_status_t add_resume(const hlo_vir_func_t* func, const places_t* places,
                               const hlo_vir_value_t* suspend, hlo_arena_t* arena,
                               hlo_vir_saved_t* saved) {
  hlo_vir_resume_t* resume = &saved->resumes[saved->resume_count++];
  search_t search = {.places = places, .suspend = suspend};
  search.is_live = hlo_arena_alloc_zeroed(arena, func->value_count);
  if (!search.is_live) return hlo_arena_status(arena);
  visit_block(&search, func->body);
  visit_loops_around(&search);
  *resume = (hlo_vir_resume_t){.suspend = suspend};
  resume->values = hlo_arena_array(arena, search.live_count, sizeof *resume->values);
  if (!resume->values) return hlo_arena_status(arena);
  collect_block(&search, func->body, resume);
  for (uint32_t i = 0; i < resume->value_count; ++i) {
    const hlo_vir_value_t* value = resume->values[i];
    if (places->is_stack[value->number]) {
      return hlo_internal_error("%s: %%%u is an address of the stack and live across a suspend",
                                func->name, value->number);
    }
    if (saved->offsets[value->number] != UINT32_MAX) continue;
    saved->offsets[value->number] = saved->size_bytes;
    saved->size_bytes += slot_bytes(value->type);
  }
  return hlo_ok();
}

static hlo_status_t add_resumes(const hlo_vir_func_t* func, const places_t* places,
                                const hlo_vir_block_t* block, hlo_arena_t* arena,
                                hlo_vir_saved_t* saved) {
  for (const hlo_vir_value_t* value = block->first; value; value = value->next) {
    if (value->op == HLO_VIR_suspend) HLO_TRY(add_resume(func, places, value, arena, saved));
    if (value->body) HLO_TRY(add_resumes(func, places, value->body, arena, saved));
    if (value->other_body) HLO_TRY(add_resumes(func, places, value->other_body, arena, saved));
  }
  return hlo_ok();
}

hlo_status_t hlo_vir_saved_create(const hlo_vir_func_t* func, hlo_arena_t* arena,
                                  hlo_vir_saved_t* out_saved) {
  size_t count = func->value_count;
  hlo_vir_saved_t saved = {
      .size_bytes = HLO_PROGRAM_SAVED_START,
      .offsets = hlo_arena_array(arena, count, sizeof *saved.offsets),
      .is_rematerialized = hlo_arena_array(arena, count, sizeof *saved.is_rematerialized)};
  places_t places = {.at = hlo_arena_array(arena, count, sizeof *places.at),
                     .end = hlo_arena_array(arena, count, sizeof *places.end),
                     .is_rematerialized = saved.is_rematerialized,
                     .is_stack = hlo_arena_array(arena, count, sizeof *places.is_stack)};
  HLO_TRY(hlo_arena_status(arena));
  memset(saved.offsets, 0xff, count * sizeof *saved.offsets);
  number_block(&places, func->body);
  saved.resumes = hlo_arena_array(arena, places.resume_count, sizeof *saved.resumes);
  HLO_TRY(hlo_arena_status(arena));
  HLO_TRY(add_resumes(func, &places, func->body, arena, &saved));
  *out_saved = saved;
  return hlo_ok();
}
