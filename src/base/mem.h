// SPDX-License-Identifier: Apache-2.0
// Host memory: counted malloc with fault injection, checked size arithmetic, arenas with a limit.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Under the address sanitizer, allocators that divide blocks use exact sizes, so that every access
// beyond the requested bytes is detected.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HLO_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HLO_ADDRESS_SANITIZER 1
#endif
#ifndef HLO_ADDRESS_SANITIZER
#define HLO_ADDRESS_SANITIZER 0
#endif
#if HLO_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

/// Makes any access to these bytes a fault under the address sanitizer until they are permitted
/// again. For allocators that divide or keep blocks.
static inline void hlo_mem_forbid(const void* bytes, size_t count) {
#if HLO_ADDRESS_SANITIZER
  ASAN_POISON_MEMORY_REGION(bytes, count);
#else
  (void)bytes;
  (void)count;
#endif
}
static inline void hlo_mem_permit(const void* bytes, size_t count) {
#if HLO_ADDRESS_SANITIZER
  ASAN_UNPOISON_MEMORY_REGION(bytes, count);
#else
  (void)bytes;
  (void)count;
#endif
}

/// The only way to allocate heap memory outside base. Returns NULL on failure (or by fault
/// injection), and a unique pointer for size 0. Free with hlo_mem_free(), which accepts NULL.
void* hlo_mem_alloc(size_t size_bytes) __attribute__((malloc));
void* hlo_mem_alloc_zeroed(size_t size_bytes) __attribute__((malloc));
void* hlo_mem_alloc_aligned(size_t size_bytes, size_t alignment) __attribute__((malloc));
void* hlo_mem_realloc(void* block, size_t size_bytes);
void hlo_mem_free(void* block);
/// Returns a copy of `length` bytes with a terminating zero.
char* hlo_mem_strndup(const char* text, size_t length);

/// Checked arithmetic: returns true if the result fits, false without effect on overflow.
static inline bool hlo_size_add(size_t a, size_t b, size_t* out) {
  size_t r;
  if (__builtin_add_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}
static inline bool hlo_size_mul(size_t a, size_t b, size_t* out) {
  size_t r;
  if (__builtin_mul_overflow(a, b, &r)) return false;
  *out = r;
  return true;
}

/// Fault injection: the n-th (1-based) hlo_mem_* or arena block allocation of this thread from now
/// on fails, and only that one; 0 disables it. For tests of out-of-memory paths.
void hlo_mem_fail_nth(uint64_t n);
/// Returns true if the injected failure has occurred since hlo_mem_fail_nth().
bool hlo_mem_failed(void);

/// Free blocks of arenas, at most HLO_ARENA_STORE_BYTES, for reuse: repeated work finds its memory
/// mapped. Zero-initialised is empty.
/// threads: safe
typedef struct hlo_arena_block hlo_arena_block_t;
enum { HLO_ARENA_STORE_BYTES = 4 << 20 };
typedef struct hlo_arena_store {
  _Atomic(hlo_arena_block_t*) blocks;  // taken and returned as one list
} hlo_arena_store_t;

/// Arenas of this thread take their blocks from the store and return them to it until
/// hlo_arena_store_leave(). Returns false, without effect, if the thread uses a store already or
/// `store` is NULL. The store is lent until then.
bool hlo_arena_store_enter(hlo_arena_store_t* store);
void hlo_arena_store_leave(hlo_arena_store_t* store);
void hlo_arena_store_deinit(hlo_arena_store_t* store);

/// A bump allocator: many allocations, one owner, released all at once.
/// Zero-initialised is empty, without a limit.
/// threads: confined to its owner.
typedef struct hlo_arena {
  hlo_arena_block_t* blocks;  // newest first
  uint8_t* next;              // free space of the newest block
  uint8_t* end;
  size_t used_bytes;   // of all blocks
  size_t limit_bytes;  // 0: no limit
  bool failed;         // sticky: an allocation failed or would have exceeded the limit
} hlo_arena_t;

/// A position that hlo_arena_reset() returns to; everything allocated later is dropped.
typedef struct hlo_arena_mark {
  hlo_arena_block_t* blocks;
  uint8_t* next;
  uint8_t* end;
  size_t used_bytes;
} hlo_arena_mark_t;

void hlo_arena_init(hlo_arena_t* arena, size_t limit_bytes);
void hlo_arena_deinit(hlo_arena_t* arena);
/// Declares an arena, zero-initialised, that is released when its block ends.
#define HLO_SCOPED_ARENA __attribute__((cleanup(hlo_arena_deinit))) hlo_arena_t
/// Returns 16-byte aligned memory, not zeroed; NULL on failure (and sets `failed`).
void* hlo_arena_alloc(hlo_arena_t* arena, size_t size_bytes);
void* hlo_arena_alloc_zeroed(hlo_arena_t* arena, size_t size_bytes);
/// Allocates count * item_bytes with overflow check, zeroed.
void* hlo_arena_array(hlo_arena_t* arena, size_t count, size_t item_bytes);
/// Makes room for one more item after the `count` ones of an array: copies it to twice the capacity
/// if it is full. Returns false, without effect, on failure.
#define HLO_ARENA_GROW(arena, items, count, capacity) \
  hlo_arena_grow(arena, &(items), count, &(capacity), sizeof *(items))
/// The same; `array` points to the pointer to the items.
bool hlo_arena_grow(hlo_arena_t* arena, void* array, uint32_t count, uint32_t* capacity,
                    size_t item_bytes);
/// Returns a copy of `length` bytes with a terminating zero.
char* hlo_arena_strndup(hlo_arena_t* arena, const char* text, size_t length);
char* hlo_arena_printf(hlo_arena_t* arena, const char* format, ...) HLO_PRINTF(2, 3);
hlo_arena_mark_t hlo_arena_mark(const hlo_arena_t* arena);
void hlo_arena_reset(hlo_arena_t* arena, hlo_arena_mark_t mark);
/// Returns RESOURCE_EXHAUSTED if `failed`, else OK.
hlo_status_t hlo_arena_status(const hlo_arena_t* arena) HLO_MUST_USE;
