// SPDX-License-Identifier: Apache-2.0
// The table of ranges mapped for direct memory access: a sorted array with binary search. The
// memory of virtual devices is host memory, so mapping a range changes nothing else.
#include "runtime/dma.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_CAPACITY = 8 };

void hlo_dma_table_init(hlo_dma_table_t* table) {
  *table = (hlo_dma_table_t){.ranges = NULL};
  hlo_mutex_init(&table->lock, HLO_LOCK_LEVEL_MEMORY);
}

void hlo_dma_table_deinit(hlo_dma_table_t* table) {
  hlo_mutex_deinit(&table->lock);
  hlo_mem_free(table->ranges);
}

// Returns the index of the first range that ends after `address`.
static size_t find_after_locked(const hlo_dma_table_t* table, uintptr_t address) {
  size_t low = 0, high = table->count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (table->ranges[middle].end > address) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

static hlo_status_t reserve_locked(hlo_dma_table_t* table) {
  if (table->count < table->capacity) return hlo_ok();
  const size_t capacity = table->capacity ? 2 * table->capacity : FIRST_CAPACITY;
  const size_t bytes = capacity * sizeof *table->ranges;
  hlo_dma_range_t* ranges = hlo_mem_realloc(table->ranges, bytes);
  if (!ranges) return hlo_status_out_of_memory(bytes);
  table->ranges = ranges;
  table->capacity = capacity;
  return hlo_ok();
}

static hlo_status_t map_locked(hlo_dma_table_t* table, hlo_dma_range_t range) {
  const size_t at = find_after_locked(table, range.begin);
  if (at < table->count && table->ranges[at].begin < range.end) {
    const hlo_dma_range_t other = table->ranges[at];
    return hlo_status_create(
        HLO_STATUS_ALREADY_EXISTS,
        "cannot map %zu bytes at address %#zx for direct memory access: %zu bytes at address %#zx "
        "are already mapped",
        (size_t)(range.end - range.begin), (size_t)range.begin, (size_t)(other.end - other.begin),
        (size_t)other.begin);
  }
  HLO_TRY(reserve_locked(table));
  hlo_dma_range_t* slot = &table->ranges[at];
  memmove(slot + 1, slot, (table->count - at) * sizeof *slot);
  *slot = range;
  ++table->count;
  return hlo_ok();
}

hlo_status_t hlo_dma_map(hlo_dma_table_t* table, const void* data, size_t size_bytes) {
  const uintptr_t begin = (uintptr_t)data;
  if (!data || size_bytes == 0 || size_bytes > UINTPTR_MAX - begin) {
    return hlo_invalid_argument(
        "cannot map %zu bytes at address %#zx for direct memory access: no such range", size_bytes,
        (size_t)begin);
  }
  hlo_mutex_lock(&table->lock);
  const hlo_status_t status = map_locked(table, (hlo_dma_range_t){begin, begin + size_bytes});
  hlo_mutex_unlock(&table->lock);
  return status;
}

hlo_status_t hlo_dma_unmap(hlo_dma_table_t* table, const void* data) {
  const uintptr_t begin = (uintptr_t)data;
  hlo_mutex_lock(&table->lock);
  const size_t at = find_after_locked(table, begin);
  const bool is_found = at < table->count && table->ranges[at].begin == begin;
  if (is_found) {
    hlo_dma_range_t* slot = &table->ranges[at];
    --table->count;
    memmove(slot, slot + 1, (table->count - at) * sizeof *slot);
  }
  const size_t count = table->count;
  hlo_mutex_unlock(&table->lock);
  if (is_found) return hlo_ok();
  return hlo_not_found(
      "cannot unmap address %#zx: none of the %zu ranges mapped for direct "
      "memory access begins there",
      (size_t)begin, count);
}

bool hlo_dma_is_mapped(hlo_dma_table_t* table, const void* data, size_t size_bytes) {
  const uintptr_t begin = (uintptr_t)data;
  hlo_mutex_lock(&table->lock);
  const size_t at = find_after_locked(table, begin);
  const bool is_mapped = at < table->count && table->ranges[at].begin <= begin &&
                         size_bytes <= table->ranges[at].end - begin;
  hlo_mutex_unlock(&table->lock);
  return is_mapped;
}
