// SPDX-License-Identifier: Apache-2.0
// Device memory (see heap.h). A kept block stores its links in its own first bytes: it is in the
// list of its class, most recently freed first, and in the list of all kept blocks by age.
#include "base/heap.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/threads.h"

enum {
  SMALLEST_LOG2 = 6,  // 64 bytes
  LARGE_LOG2 = 20,    // HLO_BLOCK_LARGE_BYTES
  LIMIT_LOG2 = 47,    // of the address space
  STAGGERED_LOG2 = 17,
  SMALL_STEPS_LOG2 = 2,
  LARGE_STEPS_LOG2 = 4,
  SMALL_CLASSES = (LARGE_LOG2 - SMALLEST_LOG2) << SMALL_STEPS_LOG2,
  UNSTAGGERED_CLASSES = (STAGGERED_LOG2 - SMALLEST_LOG2) << SMALL_STEPS_LOG2,
  CLASSES = SMALL_CLASSES + ((LIMIT_LOG2 - LARGE_LOG2) << LARGE_STEPS_LOG2),
  KEEPS_SMALL = !HLO_ADDRESS_SANITIZER,
};
static_assert(HLO_BLOCK_LARGE_BYTES == 1 << LARGE_LOG2, "one of the class bounds");
static_assert(HLO_BLOCK_STAGGERED_BYTES == 1 << STAGGERED_LOG2, "one of the class bounds");
static_assert(HLO_BLOCK_STEP_BYTES % HLO_BLOCK_ALIGNMENT == 0, "blocks stay aligned");

/// The head of a kept block.
typedef struct kept {
  struct kept *newer, *older;    // of all kept blocks
  struct kept *previous, *next;  // of its class; previous NULL: the first
  uint32_t class_index;
} kept_t;
static_assert(sizeof(kept_t) <= 1 << SMALLEST_LOG2, "links fit the smallest block");

struct hlo_heap {
  hlo_heap_options_t options;
  hlo_mutex_t lock;  // guards all below
  kept_t *newest, *oldest;
  uint32_t staggered_count;  // staggered blocks created so far; selects the next offset
  hlo_heap_stats_t stats;
  kept_t* classes[CLASSES];
};

// ---- size classes

/// Finds the class of the smallest blocks that hold `size_bytes`; false beyond the address space.
static bool class_of(size_t size_bytes, uint32_t* out_class) {
  if (size_bytes <= (size_t)1 << SMALLEST_LOG2) {
    *out_class = 0;
    return true;
  }
  const size_t last = size_bytes - 1;  // its leading bits, plus one, are octave and step
  const uint32_t octave = 63 - (uint32_t)__builtin_clzll(last);
  if (octave >= LIMIT_LOG2) return false;
  const bool is_large = size_bytes > ((size_t)1 << LARGE_LOG2);
  const uint32_t steps_log2 = is_large ? LARGE_STEPS_LOG2 : SMALL_STEPS_LOG2;
  const uint32_t step = (uint32_t)(last >> (octave - steps_log2)) & ((1u << steps_log2) - 1);
  const uint32_t first = is_large ? SMALL_CLASSES : 0;
  *out_class =
      first + ((octave - (is_large ? LARGE_LOG2 : SMALLEST_LOG2)) << steps_log2) + step + 1;
  return *out_class < CLASSES;
}

static bool is_large_class(uint32_t class_index) {
  return class_index >= SMALL_CLASSES;
}

/// Returns the bytes of a class's blocks: 2^octave * (1 + step / steps).
static size_t class_bytes(uint32_t class_index) {
  const bool is_large = is_large_class(class_index);
  const uint32_t steps_log2 = is_large ? LARGE_STEPS_LOG2 : SMALL_STEPS_LOG2;
  const uint32_t number = class_index - (is_large ? SMALL_CLASSES : 0);
  const uint32_t octave = (is_large ? LARGE_LOG2 : SMALLEST_LOG2) + (number >> steps_log2);
  const size_t step = number & ((1u << steps_log2) - 1);
  return ((size_t)1 << octave) + (step << (octave - steps_log2));
}

// ---- the system

static bool is_staggered_class(uint32_t class_index) {
  return class_index >= UNSTAGGERED_CLASSES;
}

/// Allocates memory that begins at a page; NULL if the system refuses.
static void* fresh_pages(uint32_t class_index, size_t bytes) {
  if (!is_large_class(class_index)) return hlo_mem_alloc_aligned(bytes, HLO_BLOCK_ALIAS_BYTES);
  void* pages;
  return hlo_status_take_ok(hlo_os_pages_map(bytes, true, &pages)) ? pages : NULL;
}

/// Allocates a block; NULL if the system refuses. size_bytes: the request; offset_bytes: the start
/// of a staggered block in its first page.
static void* fresh_block(uint32_t class_index, size_t size_bytes, size_t offset_bytes) {
  const bool is_whole = KEEPS_SMALL || is_large_class(class_index);
  const size_t bytes = is_whole ? class_bytes(class_index) : size_bytes;
  if (!is_staggered_class(class_index)) return hlo_mem_alloc_aligned(bytes, HLO_BLOCK_ALIGNMENT);
  // One more page gives room for any offset in the first one.
  const size_t room = is_whole ? HLO_BLOCK_ALIAS_BYTES : offset_bytes;
  uint8_t* pages = fresh_pages(class_index, bytes + room);
  return pages ? pages + offset_bytes : NULL;
}

static void return_block(void* data, uint32_t class_index) {
  if (!is_staggered_class(class_index)) {
    hlo_mem_free(data);
    return;
  }
  uint8_t* pages = (uint8_t*)data - (uintptr_t)data % HLO_BLOCK_ALIAS_BYTES;
  if (is_large_class(class_index)) {
    hlo_mem_permit(data, class_bytes(class_index));
    hlo_os_pages_unmap(pages, class_bytes(class_index) + HLO_BLOCK_ALIAS_BYTES);
  } else {
    hlo_mem_free(pages);
  }
}

/// Frees a chain of blocks that are in no list.
static void return_chain(kept_t* chain) {
  while (chain) {
    kept_t* next = chain->next;
    return_block(chain, chain->class_index);
    chain = next;
  }
}

// ---- kept blocks

static void forbid_kept(kept_t* block, size_t bytes) {
  if (bytes > sizeof *block) {
    hlo_mem_forbid((uint8_t*)block + sizeof *block, bytes - sizeof *block);
  }
}

static void keep_locked(hlo_heap_t* heap, void* data, uint32_t class_index) {
  kept_t* block = data;
  hlo_mem_permit(block, sizeof *block);
  *block = (kept_t){
      .older = heap->newest, .next = heap->classes[class_index], .class_index = class_index};
  *(heap->newest ? &heap->newest->newer : &heap->oldest) = block;
  heap->newest = block;
  if (block->next) block->next->previous = block;
  heap->classes[class_index] = block;
  heap->stats.kept_bytes += class_bytes(class_index);
  forbid_kept(block, class_bytes(class_index));
}

static void unlink_locked(hlo_heap_t* heap, kept_t* block) {
  *(block->newer ? &block->newer->older : &heap->newest) = block->older;
  *(block->older ? &block->older->newer : &heap->oldest) = block->newer;
  *(block->previous ? &block->previous->next : &heap->classes[block->class_index]) = block->next;
  if (block->next) block->next->previous = block->previous;
  heap->stats.kept_bytes -= class_bytes(block->class_index);
}

/// Removes kept blocks until at most `keep_bytes` are left; the caller passes the result to
/// return_chain() without the lock.
static kept_t* trim_locked(hlo_heap_t* heap, uint64_t keep_bytes) {
  kept_t* chain = NULL;
  while (heap->stats.kept_bytes > keep_bytes) {
    kept_t* block = heap->oldest;
    unlink_locked(heap, block);
    heap->stats.reserved_bytes -= class_bytes(block->class_index);
    block->next = chain;
    chain = block;
  }
  return chain;
}

/// Finds the best fitting kept block in classes up to a quarter larger.
static kept_t* find_locked(hlo_heap_t* heap, uint32_t class_index) {
  const uint32_t reach =
      is_large_class(class_index) ? 1u << (LARGE_STEPS_LOG2 - 2) : 1u << (SMALL_STEPS_LOG2 - 2);
  uint32_t last = class_index + reach;
  if (!is_large_class(class_index) && last >= SMALL_CLASSES) last = SMALL_CLASSES - 1;
  for (uint32_t c = class_index; c <= last && c < CLASSES; ++c) {
    if (heap->classes[c]) return heap->classes[c];
  }
  return NULL;
}

static void* reuse_locked(hlo_heap_t* heap, uint32_t* class_index) {
  kept_t* block = find_locked(heap, *class_index);
  if (!block) return NULL;
  unlink_locked(heap, block);
  ++heap->stats.reuse_count;
  *class_index = block->class_index;
  return block;
}

// ---- public

hlo_status_t hlo_heap_create(const hlo_heap_options_t* options, hlo_heap_t** out_heap) {
  hlo_heap_t* heap = hlo_mem_alloc_zeroed(sizeof *heap);
  if (!heap) return hlo_status_out_of_memory(sizeof *heap);
  heap->options = *options;
  hlo_mutex_init(&heap->lock, HLO_LOCK_LEVEL_MEMORY + 1);
  *out_heap = heap;
  return hlo_ok();
}

void hlo_heap_release(hlo_heap_t* heap) {
  if (!heap) return;
  return_chain(trim_locked(heap, 0));  // no other thread uses the heap
  hlo_mutex_deinit(&heap->lock);
  hlo_mem_free(heap);
}

/// Returns the offset of the next fresh block in its first page.
static size_t next_offset_locked(hlo_heap_t* heap) {
  return heap->staggered_count++ * HLO_BLOCK_STEP_BYTES % HLO_BLOCK_ALIAS_BYTES;
}

/// Adds `bytes` to the reserved memory if the limit allows it.
static bool reserve_locked(hlo_heap_t* heap, size_t bytes) {
  hlo_heap_stats_t* stats = &heap->stats;
  if (heap->options.limit_bytes && (bytes > heap->options.limit_bytes ||
                                    stats->reserved_bytes > heap->options.limit_bytes - bytes)) {
    return false;
  }
  stats->reserved_bytes += bytes;
  if (stats->reserved_bytes > stats->peak_reserved_bytes) {
    stats->peak_reserved_bytes = stats->reserved_bytes;
  }
  ++stats->fresh_count;
  return true;
}

static void unreserve_locked(hlo_heap_t* heap, size_t bytes) {
  heap->stats.reserved_bytes -= bytes;
  --heap->stats.fresh_count;
}

/// Allocates a block from the system within the limit; NULL if refused.
static void* acquire_fresh(hlo_heap_t* heap, uint32_t class_index, size_t size_bytes) {
  const size_t bytes = class_bytes(class_index);
  hlo_mutex_lock(&heap->lock);
  const bool fits = reserve_locked(heap, bytes);
  const size_t offset = fits && is_staggered_class(class_index) ? next_offset_locked(heap) : 0;
  hlo_mutex_unlock(&heap->lock);
  if (!fits) return NULL;
  void* data = fresh_block(class_index, size_bytes, offset);
  if (data) return data;
  hlo_mutex_lock(&heap->lock);
  unreserve_locked(heap, bytes);
  hlo_mutex_unlock(&heap->lock);
  return NULL;
}

bool hlo_heap_trim(hlo_heap_t* heap) {
  hlo_mutex_lock(&heap->lock);
  kept_t* chain = trim_locked(heap, 0);
  hlo_mutex_unlock(&heap->lock);
  return_chain(chain);
  return chain != NULL;
}

hlo_status_t hlo_block_acquire(hlo_heap_t* heap, size_t size_bytes, hlo_block_t* out_block) {
  uint32_t class_index;
  if (!class_of(size_bytes, &class_index)) return hlo_status_out_of_memory(size_bytes);
  hlo_mutex_lock(&heap->lock);
  void* data = reuse_locked(heap, &class_index);
  hlo_mutex_unlock(&heap->lock);
  if (!data) data = acquire_fresh(heap, class_index, size_bytes);
  if (!data && hlo_heap_trim(heap)) data = acquire_fresh(heap, class_index, size_bytes);
  if (!data) return hlo_status_out_of_memory(size_bytes);
  if (is_large_class(class_index)) {
    hlo_mem_permit(data, size_bytes);
    hlo_mem_forbid((uint8_t*)data + size_bytes, class_bytes(class_index) - size_bytes);
  }
  *out_block = (hlo_block_t){data, size_bytes, class_index};
  return hlo_ok();
}

void hlo_block_release(hlo_heap_t* heap, hlo_block_t block) {
  if (!block.data) return;
  const size_t bytes = class_bytes(block.class_index);
  const bool keeps =
      (KEEPS_SMALL || is_large_class(block.class_index)) && bytes <= heap->options.keep_bytes;
  kept_t* chain = NULL;
  hlo_mutex_lock(&heap->lock);
  if (keeps) {
    keep_locked(heap, block.data, block.class_index);
    chain = trim_locked(heap, heap->options.keep_bytes);
  } else {
    heap->stats.reserved_bytes -= bytes;
  }
  hlo_mutex_unlock(&heap->lock);
  if (!keeps) return_block(block.data, block.class_index);
  return_chain(chain);
}

void hlo_heap_get_stats(hlo_heap_t* heap, hlo_heap_stats_t* out_stats) {
  hlo_mutex_lock(&heap->lock);
  *out_stats = heap->stats;
  hlo_mutex_unlock(&heap->lock);
}

void hlo_heap_clear_peak(hlo_heap_t* heap) {
  hlo_mutex_lock(&heap->lock);
  heap->stats.peak_reserved_bytes = heap->stats.reserved_bytes;
  hlo_mutex_unlock(&heap->lock);
}
