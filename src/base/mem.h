// SPDX-License-Identifier: Apache-2.0
// Host memory: counted malloc with fault injection, checked size arithmetic, arenas with a limit.
#ifndef HLO_BASE_MEM_H_
#define HLO_BASE_MEM_H_

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

// Under the address sanitizer, allocators that carve up blocks keep to exact sizes, so that it sees
// every access beyond what was asked for.
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

/// For allocators that carve up or keep blocks: under the address sanitizer, touching these bytes
/// is a fault until they are permitted again.
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

/// The only way to heap memory outside base. NULL on failure (or when fault injection says so).
/// Sizes of 0 give a unique pointer. Free with hlo_mem_free(); NULL is fine there.
void* hlo_mem_alloc(size_t size_bytes) __attribute__((malloc));
void* hlo_mem_alloc_zeroed(size_t size_bytes) __attribute__((malloc));
void* hlo_mem_alloc_aligned(size_t size_bytes, size_t alignment) __attribute__((malloc));
void* hlo_mem_realloc(void* block, size_t size_bytes);
void hlo_mem_free(void* block);
/// Copies `length` bytes and adds a terminating zero.
char* hlo_mem_strndup(const char* text, size_t length);

/// Checked arithmetic: true when the result fits, false (output untouched) on overflow.
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
/// on fails, and only that one; 0 switches it off. For tests of out-of-memory paths.
void hlo_mem_fail_nth(uint64_t n);
/// True when the failure asked for has happened since hlo_mem_fail_nth().
bool hlo_mem_failed(void);

/// Blocks that arenas leave behind, at most HLO_ARENA_STORE_BYTES, for the next to use: work that
/// comes again and again finds its memory mapped. Zeroed: empty.
/// threads: safe
typedef struct hlo_arena_block hlo_arena_block_t;
enum { HLO_ARENA_STORE_BYTES = 4 << 20 };
typedef struct hlo_arena_store {
  _Atomic(hlo_arena_block_t*) blocks;  // taken and given back as a whole
} hlo_arena_store_t;

/// The arenas of this thread take their blocks from the store and leave them there, until
/// hlo_arena_store_leave(). False, and nothing to leave, when the thread has one already or `store`
/// is NULL. The store is lent until then.
bool hlo_arena_store_enter(hlo_arena_store_t* store);
void hlo_arena_store_leave(hlo_arena_store_t* store);
void hlo_arena_store_deinit(hlo_arena_store_t* store);

/// A bump allocator: many allocations, one owner, released all at once.
/// threads: confined to its owner.
typedef struct hlo_arena {
  hlo_arena_block_t* blocks;  // newest first
  uint8_t* next;              // free space of the newest block
  uint8_t* end;
  size_t used_bytes;          // of all blocks
  size_t limit_bytes;         // 0: none
  bool failed;                // sticky: an allocation failed or would have passed the limit
} hlo_arena_t;

/// A position to return to with hlo_arena_reset(); everything allocated later is dropped.
typedef struct hlo_arena_mark {
  hlo_arena_block_t* blocks;
  uint8_t* next;
  uint8_t* end;
  size_t used_bytes;
} hlo_arena_mark_t;

void hlo_arena_init(hlo_arena_t* arena, size_t limit_bytes);
void hlo_arena_deinit(hlo_arena_t* arena);
/// 16-byte aligned, NULL on failure (and `failed` is set). Memory is not zeroed.
void* hlo_arena_alloc(hlo_arena_t* arena, size_t size_bytes);
void* hlo_arena_alloc_zeroed(hlo_arena_t* arena, size_t size_bytes);
/// count * item_bytes with overflow check; zeroed.
void* hlo_arena_array(hlo_arena_t* arena, size_t count, size_t item_bytes);
/// Room for one more item behind `count` ones: `items`, or where they moved to with twice the room.
/// NULL on failure; then nothing changes.
void* hlo_arena_room(hlo_arena_t* arena, void* items, uint32_t count, uint32_t* capacity,
                     size_t item_bytes);
/// A copy of `length` bytes with a terminating zero.
char* hlo_arena_strndup(hlo_arena_t* arena, const char* text, size_t length);
char* hlo_arena_printf(hlo_arena_t* arena, const char* format, ...) HLO_PRINTF(2, 3);
hlo_arena_mark_t hlo_arena_mark(const hlo_arena_t* arena);
void hlo_arena_reset(hlo_arena_t* arena, hlo_arena_mark_t mark);
/// RESOURCE_EXHAUSTED if `failed`, else OK.
hlo_status_t hlo_arena_status(const hlo_arena_t* arena) HLO_MUST_USE;

#endif  // HLO_BASE_MEM_H_
