// SPDX-License-Identifier: Apache-2.0
// Host memory (see mem.h): malloc behind fault injection, and block arenas.
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  ARENA_BLOCK_BYTES = 64 * 1024,
  ARENA_ALIGN = 16,
  MALLOC_CACHED_BYTES = 1024,  // glibc keeps freed blocks up to this size by thread
  ARENA_GAP_BYTES = HLO_ADDRESS_SANITIZER ? ARENA_ALIGN : 0,  // behind each allocation
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
  void* block = malloc(size_bytes ? size_bytes : 1);  // calloc() passes the thread's cache by
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
  _Alignas(ARENA_ALIGN) uint8_t data[];
};

void hlo_arena_init(hlo_arena_t* arena, size_t limit_bytes) {
  *arena = (hlo_arena_t){.limit_bytes = limit_bytes};
}

void hlo_arena_deinit(hlo_arena_t* arena) {
  hlo_arena_block_t* block = arena->blocks;
  while (block) {
    hlo_arena_block_t* older = block->older;
    hlo_mem_free(block);
    block = older;
  }
  *arena = (hlo_arena_t){0};
}

// A new block has room for the request and as much again as a usual block: what is left of the
// block before it is then smaller than what was asked for, so at most half of all memory lies idle.
static bool arena_grow(hlo_arena_t* arena, size_t size_bytes) {
  size_t want;
  if (!hlo_size_add(size_bytes, ARENA_BLOCK_BYTES, &want)) return false;
  if (arena->limit_bytes) {
    if (arena->used_bytes > arena->limit_bytes) return false;
    size_t left = arena->limit_bytes - arena->used_bytes;
    if (left < size_bytes) return false;
    if (want > left) want = left;
  }
  size_t total;
  if (!hlo_size_add(want, sizeof(hlo_arena_block_t), &total)) return false;
  hlo_arena_block_t* block = hlo_mem_alloc_aligned(total, ARENA_ALIGN);
  if (!block) return false;
  block->older = arena->blocks;
  block->size_bytes = want;
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
    hlo_mem_free(arena->blocks);
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
    return hlo_status_create(HLO_STATUS_RESOURCE_EXHAUSTED,
                             "host memory: the limit of %zu bytes for this module or the machine's "
                             "memory is used up (%zu bytes in use)",
                             arena->limit_bytes, arena->used_bytes);
  }
  return hlo_status_create(HLO_STATUS_RESOURCE_EXHAUSTED, "out of host memory (%zu bytes in use)",
                           arena->used_bytes);
}
