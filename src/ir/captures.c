// SPDX-License-Identifier: Apache-2.0
// Captured values (see captures.h).
#include "ir/captures.h"

static bool is_inside(const hlo_region_t* region, const hlo_node_t* node) {
  while (region && region->parent && region->parent != node) {
    region = region->parent->parent;
  }
  return region && region->parent == node;
}

typedef struct captures {
  const hlo_node_t* owner;
  hlo_arena_t* arena;
  uint32_t count, capacity;
  const hlo_value_t** values;
} captures_t;

static hlo_status_t add_capture(captures_t* captures, const hlo_value_t* value) {
  if (is_inside(value->region, captures->owner)) return hlo_ok();
  for (uint32_t i = 0; i < captures->count; ++i) {
    if (captures->values[i] == value) return hlo_ok();
  }
  const hlo_value_t** room = hlo_arena_room(captures->arena, captures->values, captures->count,
                                            &captures->capacity, sizeof *room);
  if (!room) return hlo_arena_status(captures->arena);
  captures->values = room;
  captures->values[captures->count++] = value;
  return hlo_ok();
}

static hlo_status_t capture_in(captures_t* captures, const hlo_region_t* region) {
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      HLO_TRY(add_capture(captures, hlo_node_operand(node, i)));
    }
    for (uint32_t i = 0; i < node->region_count; ++i) {
      HLO_TRY(capture_in(captures, node->regions[i]));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_node_captures(const hlo_node_t* node, hlo_arena_t* arena, uint32_t* out_count,
                               const hlo_value_t*** out_values) {
  captures_t captures = {.owner = node, .arena = arena};
  for (uint32_t i = 0; i < node->region_count; ++i) {
    HLO_TRY(capture_in(&captures, node->regions[i]));
  }
  *out_count = captures.count;
  *out_values = captures.values;
  return hlo_ok();
}
