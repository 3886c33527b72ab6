// SPDX-License-Identifier: Apache-2.0
// Checked temporaries: a red zone behind every block of the arena, and a filling that is no number
// in blocks that nothing uses, written and looked at between steps. Finds what kernels of the
// library write outside of their buffers, and reads of what is not there yet or not any more.
#ifndef HLO_CODEGEN_MEMORY_CHECK_H_
#define HLO_CODEGEN_MEMORY_CHECK_H_

#include "base/mem.h"
#include "base/status.h"

enum { HLO_MEMORY_CHECK_ZONE_BYTES = 64 };

/// A block of the arena. Positions are those of planning (plan_impl.h).
typedef struct hlo_memory_check_block {
  uint64_t offset_bytes, size_bytes, room_bytes;  // room: with the zone behind it
  uint32_t begin, end;                            // positions between which it is in use
} hlo_memory_check_block_t;

/// Something begins to lie in a block.
typedef struct hlo_memory_check_range {
  uint32_t block, position;
} hlo_memory_check_range_t;

/// owner: an arena. threads: immutable
typedef struct hlo_memory_check {
  uint32_t block_count, live_range_count;
  const hlo_memory_check_block_t* blocks;
  const hlo_memory_check_range_t* live_ranges;
  uint64_t filled_bytes;  // of the arena: blocks and zones; behind them a byte for each block:
                          // whether its zone is written
} hlo_memory_check_t;

typedef enum hlo_memory_check_moment {
  HLO_MEMORY_CHECK_START,   // of the program: fills the arena
  HLO_MEMORY_CHECK_BEFORE,  // a step: writes the zones of blocks that it begins to use
  HLO_MEMORY_CHECK_AFTER,   // looks at all zones, and fills blocks that are not used any more
} hlo_memory_check_moment_t;

typedef struct hlo_memory_check_event {
  hlo_memory_check_moment_t moment;
  uint32_t begin, end;  // positions of the step
  uint32_t floor;       // of the loop or branch around it, 0: none: what began to lie in a block
                        // before it may be wanted again, in another turn
} hlo_memory_check_event_t;

/// The arena's size with what a watch needs.
uint64_t hlo_memory_check_temporary_bytes(const hlo_memory_check_t* memory_check);
/// A copy that lives as long as `arena`; NULL when memory is out.
const hlo_memory_check_t* hlo_memory_check_clone(const hlo_memory_check_t* memory_check, hlo_arena_t* arena);
/// In one run's arena. Answers the first block whose zone has been written to, NULL if there is
/// none.
const hlo_memory_check_block_t* hlo_memory_check_run(const hlo_memory_check_t* memory_check, const hlo_memory_check_event_t* event,
                                       uint8_t* temporaries);

#endif  // HLO_CODEGEN_MEMORY_CHECK_H_
