// SPDX-License-Identifier: Apache-2.0
// Device memory: blocks that are kept when freed and used again, because fresh pages of the system
// cost many times what writing them costs.
#ifndef HLO_BASE_HEAP_H_
#define HLO_BASE_HEAP_H_

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/// Blocks come in size classes. From 1 MiB on, sixteen to each power of two, they are pages of the
/// system of their own, aligned to 2 MiB and advised to be huge; smaller ones, four to each power
/// of two, come from malloc. Blocks from 128 KiB on begin at different offsets within a page: an Intel
/// core holds a load back behind an earlier store that is a multiple of 4 KiB away, so arrays that
/// are walked together must not begin alike. A freed block stays, and serves the next request that it fits with at
/// most a quarter to spare, the best fitting first and the last freed among equals. All kept blocks
/// together stay within a limit; the longest unused goes first.
/// Under the address sanitizer small blocks are not kept, and of large ones only what was asked for
/// may be touched.
/// threads: safe
typedef struct hlo_heap hlo_heap_t;

/// A block in use; plain data. data NULL: none.
typedef struct hlo_block {
  void* data;            // aligned to HLO_BLOCK_ALIGNMENT at least; not zeroed
  size_t size_bytes;     // as asked for
  uint32_t class_index;  // the heap's
} hlo_block_t;

enum {
  HLO_BLOCK_ALIGNMENT = 64,
  HLO_BLOCK_LARGE_BYTES = 1 << 20,
  HLO_BLOCK_STAGGERED_BYTES = 1 << 17,  // blocks from here on begin at different offsets of a page
  HLO_BLOCK_ALIAS_BYTES = 4096,         // distance at which a load waits for an earlier store
  // Between the offsets of two blocks: 16 different ones. A multiple of 256, so that rows of 256 bytes
  // stay within one page.
  HLO_BLOCK_STEP_BYTES = 1280,
};

typedef struct hlo_heap_options {
  uint64_t keep_bytes;   // most memory of freed blocks that is kept; 0: none
  uint64_t limit_bytes;  // most memory of all blocks; 0: no limit
} hlo_heap_options_t;

typedef struct hlo_heap_stats {
  uint64_t reserved_bytes;  // of blocks in use or kept, without the page that staggering adds
  uint64_t peak_reserved_bytes;
  uint64_t kept_bytes;   // of freed blocks
  uint64_t fresh_count;  // blocks that came from the system
  uint64_t reuse_count;  // blocks that came from the kept ones
} hlo_heap_stats_t;

/// errors: RESOURCE_EXHAUSTED. owner: caller, hlo_heap_release() after all its blocks.
hlo_status_t hlo_heap_create(const hlo_heap_options_t* options, hlo_heap_t** out_heap) HLO_MUST_USE;
void hlo_heap_release(hlo_heap_t* heap);

/// Gives a block. When the system refuses or the limit is met, all kept blocks go first.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_block_acquire(hlo_heap_t* heap, size_t size_bytes,
                               hlo_block_t* out_block) HLO_MUST_USE;
/// Takes it back; cannot fail. A block without data is fine.
void hlo_block_release(hlo_heap_t* heap, hlo_block_t block);

void hlo_heap_get_stats(hlo_heap_t* heap, hlo_heap_stats_t* out_stats);
/// The peak starts again from what is reserved now.
void hlo_heap_clear_peak(hlo_heap_t* heap);

#endif  // HLO_BASE_HEAP_H_
