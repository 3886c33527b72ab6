// SPDX-License-Identifier: Apache-2.0
// Device memory: freed blocks are kept and reused, because fresh pages of the system cost many
// times the time of writing to them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/// Blocks have size classes. Blocks of 1 MiB and more have sixteen classes per power of two and
/// their own pages, aligned to 2 MiB and advised to be huge; smaller ones have four classes per
/// power of two and come from malloc. Blocks of 128 KiB and more begin at different offsets within
/// a page: an Intel core delays a load after an earlier store at a distance that is a multiple of 4
/// KiB, so arrays that a loop reads together must not begin at the same offset. A freed block is
/// kept and serves a later request that leaves at most a quarter unused: the best fit first, the
/// most recently freed among equals. The total size of the kept blocks is limited; the one unused
/// for the longest time is freed first. Under the address sanitizer small blocks are not kept, and
/// only the requested bytes of large ones may be accessed.
/// threads: safe
typedef struct hlo_heap hlo_heap_t;

/// A block in use; plain data. data NULL: no block.
typedef struct hlo_block {
  void* data;            // aligned to HLO_BLOCK_ALIGNMENT at least; not zeroed
  size_t size_bytes;     // as requested
  uint32_t class_index;  // the heap's
} hlo_block_t;

enum {
  HLO_BLOCK_ALIGNMENT = 64,
  HLO_BLOCK_LARGE_BYTES = 1 << 20,
  HLO_BLOCK_STAGGERED_BYTES = 1 << 17,  // smallest block that begins at its own offset in a page
  HLO_BLOCK_ALIAS_BYTES = 4096,         // distance at which a load waits for an earlier store
  // Distance between the 16 offsets. A multiple of 256, so that rows of 256 bytes do not cross
  // pages.
  HLO_BLOCK_STEP_BYTES = 1280,
};

typedef struct hlo_heap_options {
  uint64_t keep_bytes;   // limit on the memory of kept blocks; 0: keeps none
  uint64_t limit_bytes;  // limit on the memory of all blocks; 0: no limit
} hlo_heap_options_t;

typedef struct hlo_heap_stats {
  uint64_t reserved_bytes;  // of blocks in use or kept, without the page that staggering adds
  uint64_t peak_reserved_bytes;
  uint64_t kept_bytes;   // of freed blocks
  uint64_t fresh_count;  // blocks allocated from the system
  uint64_t reuse_count;  // kept blocks that were reused
} hlo_heap_stats_t;

/// errors: RESOURCE_EXHAUSTED. owner: caller, hlo_heap_release() after all its blocks.
hlo_status_t hlo_heap_create(const hlo_heap_options_t* options, hlo_heap_t** out_heap) HLO_MUST_USE;
void hlo_heap_release(hlo_heap_t* heap);

/// Allocates a block. If the system refuses or the limit is reached, frees all kept blocks and
/// tries once more.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_block_acquire(hlo_heap_t* heap, size_t size_bytes,
                               hlo_block_t* out_block) HLO_MUST_USE;
/// Frees a block; cannot fail. data may be NULL.
void hlo_block_release(hlo_heap_t* heap, hlo_block_t block);

/// Frees all kept blocks. Returns true if memory was returned to the system.
bool hlo_heap_trim(hlo_heap_t* heap);

void hlo_heap_get_stats(hlo_heap_t* heap, hlo_heap_stats_t* out_stats);
/// Resets the peak to the memory that is reserved now.
void hlo_heap_clear_peak(hlo_heap_t* heap);
