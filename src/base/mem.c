// SPDX-License-Identifier: Apache-2.0
// Host memory (see mem.h): malloc with fault injection, and block arenas.
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  ARENA_BLOCK_BYTES = 64 * 1024,
  ARENA_ALIGN = 16,
  MALLOC_CACHED_BYTES = 1024,  // glibc caches freed blocks up to this size per thread
  ARENA_GAP_BYTES = HLO_ADDRESS_SANITIZER ? ARENA_ALIGN : 0,  // after each allocation
};

static _Thread_local uint64_t t_fail_countdown;
static _Thread_local bool t_failed;

void hlo_mem_fail_nth(uint64_t n) {
  t_fail_countdown = n;
  t_failed = false;
}

bool hlo_mem_failed(void) {
  return t_failed;
}

static bool injected_failure(void) {
  if (HLO_LIKELY(t_fail_countdown == 0)) return false;
  if (--t_fail_countdown != 0) return false;
  t_failed = true;
  return true;
}

void* hlo_mem_alloc(size_t size_bytes) {
  if (injected_failure()) return NULL;
  return malloc(size_bytes ? size_bytes : 1);
}

void* hlo_mem_alloc_zeroed(size_t size_bytes) {
  if (injected_failure()) return NULL;
  if (size_bytes > MALLOC_CACHED_BYTES) return calloc(1, size_bytes);
  void* block = malloc(size_bytes ? size_bytes : 1);  // calloc() bypasses the thread's cache
  return block ? memset(block, 0, size_bytes) : NULL;
}

void* hlo_mem_alloc_aligned(size_t size_bytes, size_t alignment) {
  if (injected_failure()) return NULL;
  void* block = NULL;
  if (alignment < sizeof(void*)) alignment = sizeof(void*);
  return posix_memalign(&block, alignment, size_bytes ? size_bytes : 1) == 0 ? block : NULL;
}

void* hlo_mem_realloc(void* block, size_t size_bytes) {
  if (injected_failure()) return NULL;
  return realloc(block, size_bytes ? size_bytes : 1);
}

void hlo_mem_free(void* block) {
  free(block);
}

char* hlo_mem_strndup(const char* text, size_t length) {
  char* copy = hlo_mem_alloc(length + 1);
  if (!copy) return NULL;
  if (length) memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

struct hlo_arena_block {
  hlo_arena_block_t* older;
  size_t size_bytes;
  size_t kept_bytes;  // in the first block of a store: the size of all its blocks
  _Alignas(ARENA_ALIGN) uint8_t data[];
};

// ---- stored blocks

// The blocks that this thread took from the store that it entered.
typedef struct spare {
  bool is_entered;
  size_t bytes;
  hlo_arena_block_t* blocks;
} spare_t;

static _Thread_local spare_t t_spare;

static void free_blocks(hlo_arena_block_t* block) {
  while (block) {
    hlo_arena_block_t* older = block->older;
    hlo_mem_free(block);
    block = older;
  }
}

static hlo_arena_block_t* take_block(size_t size_bytes) {
  hlo_arena_block_t** link = &t_spare.blocks;
  while (*link && (*link)->size_bytes != size_bytes) link = &(*link)->older;
  if (*link) {
    if (injected_failure()) return NULL;
    hlo_arena_block_t* block = *link;
    *link = block->older;
    t_spare.bytes -= size_bytes;
    return block;
  }
  size_t total;
  if (!hlo_size_add(size_bytes, sizeof(hlo_arena_block_t), &total)) return NULL;
  hlo_arena_block_t* block = hlo_mem_alloc_aligned(total, ARENA_ALIGN);
  if (block) block->size_bytes = size_bytes;
  return block;
}

static bool is_power_of_2(size_t x) {
  return (x & (x - 1)) == 0;
}

static void give_block(hlo_arena_block_t* block) {
  if (!t_spare.is_entered || !is_power_of_2(block->size_bytes) ||
      block->size_bytes > HLO_ARENA_STORE_BYTES - t_spare.bytes) {
    hlo_mem_free(block);
    return;
  }
  hlo_mem_forbid(block->data, block->size_bytes);
  block->older = t_spare.blocks;
  t_spare.blocks = block;
  t_spare.bytes += block->size_bytes;
}

bool hlo_arena_store_enter(hlo_arena_store_t* store) {
  if (!store || t_spare.is_entered) return false;
  // Pairs with the release in hlo_arena_store_leave(), after which the blocks' heads are written.
  hlo_arena_block_t* blocks = atomic_exchange_explicit(&store->blocks, NULL, memory_order_acquire);
  t_spare = (spare_t){true, blocks ? blocks->kept_bytes : 0, blocks};
  return true;
}

void hlo_arena_store_leave(hlo_arena_store_t* store) {
  if (t_spare.blocks) t_spare.blocks->kept_bytes = t_spare.bytes;
  // Frees the blocks that another thread stored meanwhile.
  free_blocks(atomic_exchange_explicit(&store->blocks, t_spare.blocks, memory_order_acq_rel));
  t_spare = (spare_t){0};
}

void hlo_arena_store_deinit(hlo_arena_store_t* store) {
  free_blocks(atomic_exchange_explicit(&store->blocks, NULL, memory_order_acquire));
}

// ---- arenas

void hlo_arena_init(hlo_arena_t* arena, size_t limit_bytes) {
  *arena = (hlo_arena_t){.limit_bytes = limit_bytes};
}

void hlo_arena_deinit(hlo_arena_t* arena) {
  hlo_arena_block_t* block = arena->blocks;
  while (block) {
    hlo_arena_block_t* older = block->older;
    give_block(block);
    block = older;
  }
  *arena = (hlo_arena_t){0};
}

// A new block has the usual size, or room for a large request and a usual block's size more, so
// that the unused rest of the block before it is smaller than the request. Sizes that a store keeps
// are powers of two, so that they fit later requests.
static bool block_size(size_t size_bytes, size_t* out_size) {
  *out_size = ARENA_BLOCK_BYTES;
  if (size_bytes <= ARENA_BLOCK_BYTES / 2) return true;
  if (!hlo_size_add(size_bytes, ARENA_BLOCK_BYTES, out_size)) return false;
  size_t rounded = ARENA_BLOCK_BYTES;
  while (rounded < *out_size && rounded < HLO_ARENA_STORE_BYTES) rounded *= 2;
  if (rounded > *out_size) *out_size = rounded;
  return true;
}

static bool arena_grow(hlo_arena_t* arena, size_t size_bytes) {
  size_t want;
  if (!block_size(size_bytes, &want)) return false;
  if (arena->limit_bytes) {
    if (arena->used_bytes > arena->limit_bytes) return false;
    size_t left = arena->limit_bytes - arena->used_bytes;
    if (left < size_bytes) return false;
    if (want > left) want = left;
  }
  hlo_arena_block_t* block = take_block(want);
  if (!block) return false;
  block->older = arena->blocks;
  hlo_mem_forbid(block->data, want);
  arena->blocks = block;
  arena->next = block->data;
  arena->end = block->data + want;
  arena->used_bytes += want;
  return true;
}

void* hlo_arena_alloc(hlo_arena_t* arena, size_t size_bytes) {
  size_t rounded;
  if (!hlo_size_add(size_bytes, ARENA_GAP_BYTES + ARENA_ALIGN - 1, &rounded)) {
    arena->failed = true;
    return NULL;
  }
  rounded &= ~(size_t)(ARENA_ALIGN - 1);
  if (HLO_UNLIKELY((size_t)(arena->end - arena->next) < rounded || !arena->next) &&
      !arena_grow(arena, rounded)) {
    arena->failed = true;
    return NULL;
  }
  void* block = arena->next;
  arena->next += rounded;
  hlo_mem_permit(block, size_bytes);
  return block;
}

void* hlo_arena_alloc_zeroed(hlo_arena_t* arena, size_t size_bytes) {
  void* block = hlo_arena_alloc(arena, size_bytes);
  if (block) memset(block, 0, size_bytes);
  return block;
}

void* hlo_arena_array(hlo_arena_t* arena, size_t count, size_t item_bytes) {
  size_t size;
  if (!hlo_size_mul(count, item_bytes, &size)) {
    arena->failed = true;
    return NULL;
  }
  return hlo_arena_alloc_zeroed(arena, size);
}

bool hlo_arena_grow(hlo_arena_t* arena, void* array, uint32_t count, uint32_t* capacity,
                    size_t item_bytes) {
  enum { FIRST_ROOM = 4 };
  if (count < *capacity) return true;
  if (*capacity > UINT32_MAX / 2) {
    arena->failed = true;
    return false;
  }
  uint32_t more = *capacity ? *capacity * 2 : FIRST_ROOM;
  void *grown = hlo_arena_array(arena, more, item_bytes), *items;
  if (!grown) return false;
  memcpy(&items, array, sizeof items);  // by bytes: it is a pointer of another type
  if (count) memcpy(grown, items, count * item_bytes);
  memcpy(array, &grown, sizeof grown);
  *capacity = more;
  return true;
}

char* hlo_arena_strndup(hlo_arena_t* arena, const char* text, size_t length) {
  char* copy = hlo_arena_alloc(arena, length + 1);
  if (!copy) return NULL;
  if (length) memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

char* hlo_arena_printf(hlo_arena_t* arena, const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char* text = length < 0 ? NULL : hlo_arena_alloc(arena, (size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

hlo_arena_mark_t hlo_arena_mark(const hlo_arena_t* arena) {
  return (hlo_arena_mark_t){arena->blocks, arena->next, arena->end, arena->used_bytes};
}

void hlo_arena_reset(hlo_arena_t* arena, hlo_arena_mark_t mark) {
  while (arena->blocks != mark.blocks) {
    hlo_arena_block_t* older = arena->blocks->older;
    give_block(arena->blocks);
    arena->blocks = older;
  }
  arena->next = mark.next;
  if (mark.next) hlo_mem_forbid(mark.next, (size_t)(mark.end - mark.next));
  arena->end = mark.end;
  arena->used_bytes = mark.used_bytes;
}

hlo_status_t hlo_arena_status(const hlo_arena_t* arena) {
  if (!arena->failed) return hlo_ok();
  if (arena->limit_bytes) {
    return hlo_resource_exhausted(
        "host memory: the limit of %zu bytes for this module or the machine's memory is used up "
        "(%zu bytes in use)",
        arena->limit_bytes, arena->used_bytes);
  }
  return hlo_resource_exhausted("out of host memory (%zu bytes in use)", arena->used_bytes);
}
