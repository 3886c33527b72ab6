// SPDX-License-Identifier: Apache-2.0
// Red zones and fill patterns of temporaries (see memory_check.h).
#include "codegen/memory/memory_check.h"

#include <string.h>

// Repeated, it is a NaN in every float type (a signalling one in f64) and a large integer.
static const uint8_t kFilling[] = {0xF4, 0x7F};

static void fill(uint8_t* from, uint64_t size_bytes) {
  for (uint64_t i = 0; i < size_bytes; ++i) from[i] = kFilling[i % sizeof kFilling];
}

static bool is_filled(const uint8_t* from, uint64_t size_bytes) {
  for (uint64_t i = 0; i < size_bytes; ++i) {
    if (from[i] != kFilling[i % sizeof kFilling]) return false;
  }
  return true;
}

uint64_t hlo_memory_check_temporary_bytes(const hlo_memory_check_t* memory_check) {
  return memory_check->filled_bytes + memory_check->block_count;
}

static const void* clone_array(const void* items, size_t count, size_t item_bytes,
                               hlo_arena_t* arena) {
  void* copy = hlo_arena_array(arena, count + 1, item_bytes);
  if (copy && count) memcpy(copy, items, count * item_bytes);
  return copy;
}

const hlo_memory_check_t* hlo_memory_check_clone(const hlo_memory_check_t* memory_check,
                                                 hlo_arena_t* arena) {
  hlo_memory_check_t* copy = hlo_arena_alloc(arena, sizeof *copy);
  if (!copy) return NULL;
  *copy = *memory_check;
  copy->blocks = clone_array(memory_check->blocks, memory_check->block_count,
                             sizeof *memory_check->blocks, arena);
  copy->live_ranges = clone_array(memory_check->live_ranges, memory_check->live_range_count,
                                  sizeof *memory_check->live_ranges, arena);
  return arena->failed ? NULL : copy;
}

static uint8_t* zone_of(const hlo_memory_check_block_t* block, uint8_t* temporaries) {
  return temporaries + block->offset_bytes + block->size_bytes;
}

static uint64_t zone_bytes(const hlo_memory_check_block_t* block) {
  return block->room_bytes - block->size_bytes;
}

static void write_zones(const hlo_memory_check_t* memory_check,
                        const hlo_memory_check_event_t* event, uint8_t* temporaries) {
  uint8_t* is_written = temporaries + memory_check->filled_bytes;
  for (uint32_t i = 0; i < memory_check->live_range_count; ++i) {
    const hlo_memory_check_range_t* live_range = &memory_check->live_ranges[i];
    const hlo_memory_check_block_t* block = &memory_check->blocks[live_range->block];
    if (live_range->position < event->begin || live_range->position > event->end) continue;
    if (is_written[live_range->block] && live_range->position != block->begin) continue;
    fill(zone_of(block, temporaries), zone_bytes(block));
    is_written[live_range->block] = true;
  }
}

// Blocks that ended inside a branch that was not taken, or in a loop, have no zone any more.
static const hlo_memory_check_block_t* look(const hlo_memory_check_t* memory_check,
                                            const hlo_memory_check_event_t* event,
                                            uint8_t* temporaries) {
  uint8_t* is_written = temporaries + memory_check->filled_bytes;
  const hlo_memory_check_block_t* wrong = NULL;
  for (uint32_t i = 0; i < memory_check->block_count; ++i) {
    const hlo_memory_check_block_t* block = &memory_check->blocks[i];
    bool may_free = block->begin > event->floor;
    if (!is_written[i]) continue;
    if (may_free && block->end >= event->begin && block->end < event->end) is_written[i] = false;
    if (!is_written[i] || block->begin > event->end || block->end < event->end) continue;
    if (!wrong && !is_filled(zone_of(block, temporaries), zone_bytes(block))) wrong = block;
    if (block->end != event->end || !may_free) continue;
    fill(temporaries + block->offset_bytes, block->room_bytes);
    is_written[i] = false;
  }
  return wrong;
}

const hlo_memory_check_block_t* hlo_memory_check_run(const hlo_memory_check_t* memory_check,
                                                     const hlo_memory_check_event_t* event,
                                                     uint8_t* temporaries) {
  if (!memory_check->block_count) return NULL;  // there may be no memory at all
  switch (event->moment) {
    case HLO_MEMORY_CHECK_START:
      fill(temporaries, memory_check->filled_bytes);
      memset(temporaries + memory_check->filled_bytes, 0, memory_check->block_count);
      return NULL;
    case HLO_MEMORY_CHECK_BEFORE: write_zones(memory_check, event, temporaries); return NULL;
    default: return look(memory_check, event, temporaries);
  }
}
