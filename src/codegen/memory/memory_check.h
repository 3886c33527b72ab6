// SPDX-License-Identifier: Apache-2.0
// Checked temporaries: a red zone after every block of the arena, and a NaN pattern in unused
// blocks, written and verified between steps. Finds writes of library functions outside their
// buffers, and reads of values that are not defined yet or no longer.
#pragma once

#include "base/mem.h"
#include "base/status.h"

enum { HLO_MEMORY_CHECK_ZONE_BYTES = 64 };

/// A block of the arena. Positions are those of planning (plan_impl.h).
typedef struct hlo_memory_check_block {
  uint64_t offset_bytes, size_bytes, room_bytes;  // room: including the zone
  uint32_t begin, end;                            // positions between which it is in use
} hlo_memory_check_block_t;

/// The beginning of a live range in a block.
typedef struct hlo_memory_check_range {
  uint32_t block, position;
} hlo_memory_check_range_t;

/// owner: an arena. threads: immutable
typedef struct hlo_memory_check {
  uint32_t block_count, live_range_count;
  const hlo_memory_check_block_t* blocks;
  const hlo_memory_check_range_t* live_ranges;
  uint64_t filled_bytes;  // of the arena: blocks and zones; followed by one byte per block: whether
                          // its zone is written
} hlo_memory_check_t;

typedef enum hlo_memory_check_moment {
  HLO_MEMORY_CHECK_START,   // of the program: fills the arena
  HLO_MEMORY_CHECK_BEFORE,  // before a step: writes the zones of blocks that the step begins to use
  HLO_MEMORY_CHECK_AFTER,   // after a step: verifies all zones and fills blocks that are no longer
                            // used
} hlo_memory_check_moment_t;

typedef struct hlo_memory_check_event {
  hlo_memory_check_moment_t moment;
  uint32_t begin, end;  // positions of the step
  uint32_t floor;       // of the enclosing loop or branch, 0: none: live ranges that began earlier
                        // may be needed again in another iteration
} hlo_memory_check_event_t;

/// Returns the arena's size with the memory that checks need.
uint64_t hlo_memory_check_temporary_bytes(const hlo_memory_check_t* memory_check);
/// Returns a copy that lives as long as `arena`; NULL when memory is exhausted.
const hlo_memory_check_t* hlo_memory_check_clone(const hlo_memory_check_t* memory_check,
                                                 hlo_arena_t* arena);
/// Performs the event in one run's arena. Returns the first block whose zone was overwritten, or
/// NULL.
const hlo_memory_check_block_t* hlo_memory_check_run(const hlo_memory_check_t* memory_check,
                                                     const hlo_memory_check_event_t* event,
                                                     uint8_t* temporaries);
