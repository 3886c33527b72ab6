// SPDX-License-Identifier: Apache-2.0
// Checked temporaries: a red zone behind every block of the arena, and a filling that is no number
// in blocks that nothing uses, written and looked at between steps. Finds what kernels of the
// library write outside of their buffers, and reads of what is not there yet or not any more.
#ifndef HLO_CODEGEN_WATCH_H_
#define HLO_CODEGEN_WATCH_H_

#include "base/mem.h"
#include "base/status.h"

enum { HLO_WATCH_ZONE_BYTES = 64 };

/// A block of the arena. Positions are those of planning (plan_impl.h).
typedef struct hlo_watch_block {
  uint64_t offset_bytes, size_bytes, room_bytes;  // room: with the zone behind it
  uint32_t begin, end;                            // positions between which it is in use
} hlo_watch_block_t;

/// Something begins to lie in a block.
typedef struct hlo_watch_stay {
  uint32_t block, position;
} hlo_watch_stay_t;

/// owner: an arena. threads: immutable
typedef struct hlo_watch {
  uint32_t block_count, stay_count;
  const hlo_watch_block_t* blocks;
  const hlo_watch_stay_t* stays;
  uint64_t filled_bytes;  // of the arena: blocks and zones; behind them a byte for each block:
                          // whether its zone is written
} hlo_watch_t;

typedef enum hlo_watch_moment {
  HLO_WATCH_START,   // of the program: fills the arena
  HLO_WATCH_BEFORE,  // a step: writes the zones of blocks that it begins to use
  HLO_WATCH_AFTER,   // looks at all zones, and fills blocks that are not used any more
} hlo_watch_moment_t;

typedef struct hlo_watch_event {
  hlo_watch_moment_t moment;
  uint32_t begin, end;  // positions of the step
  uint32_t floor;       // of the loop or branch around it, 0: none: what began to lie in a block
                        // before it may be wanted again, in another turn
} hlo_watch_event_t;

/// The arena's size with what a watch needs.
uint64_t hlo_watch_temporary_bytes(const hlo_watch_t* watch);
/// A copy that lives as long as `arena`; NULL when memory is out.
const hlo_watch_t* hlo_watch_clone(const hlo_watch_t* watch, hlo_arena_t* arena);
/// In one run's arena. Answers the first block whose zone has been written to, NULL if there is
/// none.
const hlo_watch_block_t* hlo_watch_run(const hlo_watch_t* watch, const hlo_watch_event_t* event,
                                       uint8_t* temporaries);

#endif  // HLO_CODEGEN_WATCH_H_
