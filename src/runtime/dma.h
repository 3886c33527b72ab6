// SPDX-License-Identifier: Apache-2.0
// The ranges of host memory that the framework has mapped for direct memory access by devices.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/threads.h"

typedef struct hlo_dma_range {
  uintptr_t begin, end;
} hlo_dma_range_t;

/// A table of disjoint ranges in ascending order.
/// owner  : hlo_dma_table_deinit()
/// threads: safe
typedef struct hlo_dma_table {
  hlo_mutex_t lock;  // guards the fields below
  hlo_dma_range_t* ranges;
  size_t count, capacity;
} hlo_dma_table_t;

void hlo_dma_table_init(hlo_dma_table_t* table);
void hlo_dma_table_deinit(hlo_dma_table_t* table);

/// Adds the range of `size_bytes` at `data`.
/// errors : INVALID_ARGUMENT if it is empty, null or past the end of the address space,
///          ALREADY_EXISTS if it overlaps a mapped one, RESOURCE_EXHAUSTED
hlo_status_t hlo_dma_map(hlo_dma_table_t* table, const void* data, size_t size_bytes) HLO_MUST_USE;
/// Removes the range that begins at `data`.
/// errors : NOT_FOUND if none does
hlo_status_t hlo_dma_unmap(hlo_dma_table_t* table, const void* data) HLO_MUST_USE;
/// Returns true if all `size_bytes` at `data` are in one mapped range.
bool hlo_dma_is_mapped(hlo_dma_table_t* table, const void* data, size_t size_bytes);
