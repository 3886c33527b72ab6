// SPDX-License-Identifier: Apache-2.0
// One step per node (see schedule_plain.h).
#include "codegen/lower/schedule_plain.h"


typedef struct plain {
  hlo_arena_t* arena;
  hlo_schedule_t* schedule;
  uint32_t next;
} plain_t;

static bool is_step(const hlo_node_t* node) {
  return !hlo_op_has(node->op, HLO_TRAIT_CONSTANT | HLO_TRAIT_ORDERS | HLO_TRAIT_TERMINATOR);
}

static hlo_step_kind_t step_kind(const hlo_node_t* node) {
  if (hlo_op_is_control(node->op)) return HLO_STEP_CONTROL;
  return hlo_node_is_view(node) ? HLO_STEP_VIEW : HLO_STEP_CALL;
}

static uint32_t count_sequences(const hlo_region_t* region) {
  uint32_t count = 1;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; hlo_op_is_control(node->op) && i < node->region_count; ++i) {
      count += count_sequences(node->regions[i]);
    }
  }
  return count;
}

static hlo_status_t make_sequence(plain_t* plain, const hlo_region_t* region) {
  hlo_sequence_t* sequence = &plain->schedule->sequences[plain->next++];
  uint32_t count = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) count += is_step(node);
  sequence->region = region;
  sequence->steps = hlo_arena_array(plain->arena, count, sizeof *sequence->steps);
  HLO_TRY(hlo_arena_status(plain->arena));
  for (hlo_node_t* node = region->first; node; node = node->next) {
    if (!is_step(node)) continue;
    sequence->steps[sequence->step_count++] = (hlo_step_t){.kind = step_kind(node), .node = node};
    for (uint32_t i = 0; hlo_op_is_control(node->op) && i < node->region_count; ++i) {
      HLO_TRY(make_sequence(plain, node->regions[i]));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_schedule_create_plain(const hlo_func_t* func, hlo_arena_t* arena,
                                       hlo_schedule_t** out_schedule) {
  plain_t plain = {.arena = arena};
  plain.schedule = hlo_arena_alloc_zeroed(arena, sizeof *plain.schedule);
  if (!plain.schedule) return hlo_arena_status(arena);
  plain.schedule->sequence_count = count_sequences(func->body);
  plain.schedule->sequences =
      hlo_arena_array(arena, plain.schedule->sequence_count, sizeof(hlo_sequence_t));
  HLO_TRY(hlo_arena_status(arena));
  HLO_TRY(make_sequence(&plain, func->body));
  HLO_TRY(hlo_schedule_finish(plain.schedule, func->module, arena));
  *out_schedule = plain.schedule;
  return hlo_ok();
}
