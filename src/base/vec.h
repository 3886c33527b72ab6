// SPDX-License-Identifier: Apache-2.0
// A typed growing array on the heap: HLO_VEC(int64_t) dims = {0}; hlo_vec_push(&dims, 3) returns
// false if memory is exhausted; hlo_vec_deinit(&dims). Growth moves the items. threads: confined.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

#define HLO_VEC(type) \
  struct {            \
    type* items;      \
    size_t count;     \
    size_t capacity;  \
  }

/// Reserves room for `count` items; `items` is the address of the member. Returns false, without
/// effect, if memory is exhausted or the size overflows.
bool hlo_vec_reserve_items(void* items, size_t* capacity, size_t count, size_t item_bytes);

#define hlo_vec_reserve(vec, wanted) \
  hlo_vec_reserve_items(&(vec)->items, &(vec)->capacity, (wanted), sizeof *(vec)->items)

/// Appends a value; returns true on success.
#define hlo_vec_push(vec, value) \
  (hlo_vec_reserve(vec, (vec)->count + 1) && ((vec)->items[(vec)->count++] = (value), true))

#define hlo_vec_deinit(vec)             \
  do {                                  \
    hlo_mem_free((vec)->items);         \
    (vec)->items = NULL;                \
    (vec)->count = (vec)->capacity = 0; \
  } while (0)
