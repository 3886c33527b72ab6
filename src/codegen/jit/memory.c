// SPDX-License-Identifier: Apache-2.0
// Executable memory. A pool allocates from slabs: one anonymous file mapped twice, writable at one
// address and executable at the other, so that loading changes no protection. Programs without a
// pool, large programs, and all programs on systems that refuse such mappings get private pages,
// which are written first and made executable afterwards; the last resort is a separate file mapped
// twice.
#include <string.h>

#include "base/mem.h"
#include "codegen/jit/jit_impl.h"

enum { SLAB_BYTES = 1 << 20, LARGE_BYTES = SLAB_BYTES / 4, ALIGNMENT = 64 };

// ---- slabs

static hlo_status_t slab_create(hlo_jit_slab_t** out_slab) {
  hlo_jit_slab_t* slab = hlo_mem_alloc_zeroed(sizeof *slab);
  if (!slab) return hlo_status_out_of_memory(sizeof *slab);
  void *writable, *executable;
  hlo_status_t status = hlo_os_pages_map_twice(SLAB_BYTES, &writable, &executable);
  if (!hlo_status_is_ok(status)) {
    hlo_mem_free(slab);
    return status;
  }
  slab->writable = writable;
  slab->executable = executable;
  *out_slab = slab;
  return hlo_ok();
}

static void slab_release(hlo_jit_slab_t* slab) {
  hlo_os_pages_unmap(slab->writable, SLAB_BYTES);
  hlo_os_pages_unmap(slab->executable, SLAB_BYTES);
  hlo_mem_free(slab);
}

static size_t offset_after(const hlo_jit_slab_t* slab, const hlo_jit_memory_t* range) {
  if (!range) return 0;
  size_t end = (size_t)(range->code - slab->executable) + range->size_bytes;
  return (end + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

// Returns true if `size_bytes` fit after a range (NULL: at the start of the slab).
static bool fits_after(const hlo_jit_slab_t* slab, const hlo_jit_memory_t* range,
                       size_t size_bytes) {
  const hlo_jit_memory_t* next = range ? range->next : slab->first;
  size_t begin = offset_after(slab, range);
  size_t end = next ? (size_t)(next->code - slab->executable) : SLAB_BYTES;
  return end - begin >= size_bytes;
}

// Finds a gap, starting after the last placed range; false if no gap is large enough.
static bool find_gap(const hlo_jit_slab_t* slab, size_t size_bytes, hlo_jit_memory_t** out_before) {
  if (SLAB_BYTES - slab->used_bytes < size_bytes) return false;
  *out_before = slab->rover;
  if (fits_after(slab, slab->rover, size_bytes)) return true;
  *out_before = NULL;
  if (fits_after(slab, NULL, size_bytes)) return true;
  for (hlo_jit_memory_t* range = slab->first; range; range = range->next) {
    *out_before = range;
    if (fits_after(slab, range, size_bytes)) return true;
  }
  return false;
}

static void insert_after(hlo_jit_slab_t* slab, hlo_jit_memory_t* before, hlo_jit_memory_t* memory) {
  memory->slab = slab;
  memory->code = slab->executable + offset_after(slab, before);
  memory->prev = before;
  memory->next = before ? before->next : slab->first;
  *(before ? &before->next : &slab->first) = memory;
  *(memory->next ? &memory->next->prev : &slab->last) = memory;
  slab->used_bytes += memory->size_bytes;
  slab->rover = memory;
}

static hlo_status_t reserve_locked(hlo_jit_pool_t* pool, hlo_jit_memory_t* memory) {
  hlo_jit_memory_t* before;
  for (hlo_jit_slab_t* slab = pool->slabs; slab; slab = slab->next) {
    if (!find_gap(slab, memory->size_bytes, &before)) continue;
    insert_after(slab, before, memory);
    return hlo_ok();
  }
  hlo_jit_slab_t* slab = NULL;
  HLO_TRY(slab_create(&slab));
  slab->next = pool->slabs;
  pool->slabs = slab;
  insert_after(slab, NULL, memory);
  return hlo_ok();
}

// Returns false if the program needs separate pages.
static bool place_in_slab(hlo_jit_pool_t* pool, const uint8_t* bytes, hlo_jit_memory_t* memory) {
  if (!pool->has_slabs || memory->size_bytes > LARGE_BYTES ||
      pool->process_id != hlo_os_process_id()) {
    return false;
  }
  hlo_mutex_lock(&pool->mutex);
  if (!pool->is_slab_refused) {
    hlo_status_t status = reserve_locked(pool, memory);
    hlo_status_code_t code = hlo_status_code(status);
    pool->is_slab_refused = code != HLO_STATUS_OK && code != HLO_STATUS_RESOURCE_EXHAUSTED;
    hlo_status_release(status);
  }
  hlo_mutex_unlock(&pool->mutex);
  if (!memory->slab) return false;
  size_t offset = (size_t)(memory->code - memory->slab->executable);
  memcpy(memory->slab->writable + offset, bytes, memory->size_bytes);
  return true;
}

static void release_in_slab(hlo_jit_pool_t* pool, hlo_jit_memory_t* memory) {
  hlo_jit_slab_t* slab = memory->slab;
  hlo_jit_slab_t* empty = NULL;
  hlo_mutex_lock(&pool->mutex);
  *(memory->prev ? &memory->prev->next : &slab->first) = memory->next;
  *(memory->next ? &memory->next->prev : &slab->last) = memory->prev;
  if (slab->rover == memory) slab->rover = memory->prev;
  slab->used_bytes -= memory->size_bytes;
  if (!slab->first && pool->slabs->next) {  // keep the only slab for the next program
    hlo_jit_slab_t** link = &pool->slabs;
    while (*link != slab) link = &(*link)->next;
    *link = slab->next;
    empty = slab;
  }
  hlo_mutex_unlock(&pool->mutex);
  if (empty) slab_release(empty);
}

// ---- separate pages

static hlo_status_t place_in_pages(const uint8_t* bytes, hlo_jit_memory_t* memory) {
  void* pages;
  HLO_TRY(hlo_os_pages_map(memory->size_bytes, false, &pages));
  memcpy(pages, bytes, memory->size_bytes);
  hlo_status_t status =
      hlo_os_pages_protect(pages, memory->size_bytes, HLO_OS_ACCESS_READ | HLO_OS_ACCESS_EXECUTE);
  if (!hlo_status_is_ok(status)) {
    hlo_os_pages_unmap(pages, memory->size_bytes);
    return status;
  }
  memory->code = pages;
  return hlo_ok();
}

static hlo_status_t place_in_file(const uint8_t* bytes, hlo_jit_memory_t* memory) {
  void *writable, *executable;
  HLO_TRY(hlo_os_pages_map_twice(memory->size_bytes, &writable, &executable));
  memcpy(writable, bytes, memory->size_bytes);
  hlo_os_pages_unmap(writable, memory->size_bytes);
  memory->code = executable;
  return hlo_ok();
}

// Combines two refusals into one status: exhausted memory, or a system that forbids executable
// memory.
static hlo_status_t refusal_status(hlo_status_t pages, hlo_status_t file) {
  bool is_memory = hlo_status_code(pages) == HLO_STATUS_RESOURCE_EXHAUSTED ||
                   hlo_status_code(file) == HLO_STATUS_RESOURCE_EXHAUSTED;
  hlo_status_t status = hlo_status_create(
      is_memory ? HLO_STATUS_RESOURCE_EXHAUSTED : HLO_STATUS_PERMISSION_DENIED,
      "no executable memory: %s; %s", hlo_status_message(pages), hlo_status_message(file));
  hlo_status_release(pages);
  hlo_status_release(file);
  return status;
}

hlo_status_t hlo_jit_memory_place(hlo_jit_pool_t* pool, const uint8_t* bytes, size_t size_bytes,
                                  hlo_jit_memory_t* memory) {
  *memory = (hlo_jit_memory_t){.size_bytes = size_bytes};
  if (!place_in_slab(pool, bytes, memory)) {
    hlo_status_t pages = place_in_pages(bytes, memory);
    if (!hlo_status_is_ok(pages)) {
      hlo_status_t file = place_in_file(bytes, memory);
      if (!hlo_status_is_ok(file)) return refusal_status(pages, file);
      hlo_status_release(pages);
    }
  }
  __builtin___clear_cache((char*)memory->code, (char*)memory->code + size_bytes);
  return hlo_ok();
}

void hlo_jit_memory_release(hlo_jit_pool_t* pool, hlo_jit_memory_t* memory) {
  if (memory->slab) {
    release_in_slab(pool, memory);
  } else {
    hlo_os_pages_unmap(memory->code, memory->size_bytes);
  }
  *memory = (hlo_jit_memory_t){0};
}

void hlo_jit_memory_deinit(hlo_jit_pool_t* pool) {
  while (pool->slabs) {
    hlo_jit_slab_t* slab = pool->slabs;
    pool->slabs = slab->next;
    slab_release(slab);
  }
}
