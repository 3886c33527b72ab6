// SPDX-License-Identifier: Apache-2.0
// Elements as unsigned keys in the same order, and back. Private to the sorts of this folder.
#pragma once

#include "lib/sort.h"

/// Returns true for types of 64 bits, whose keys have 64 bits; all others have 32.
static inline bool hlo_sort_is_wide(hlo_dtype_t dtype) {
  return hlo_dtype_info(dtype)->bits > 32;
}

/// keys[i] = key of element first + i, for i < count. Returns true if the line has elements with
/// different bits that compare equal (a negative zero, a NaN).
bool hlo_sort_keys_32(const hlo_sort_form_t* form, const void* in, int64_t first, int64_t count,
                      uint32_t* keys);
bool hlo_sort_keys_64(const hlo_sort_form_t* form, const void* in, int64_t first, int64_t count,
                      uint64_t* keys);

/// Element first + i of `out` = element of keys[i]; for types that hlo_sort_values() supports.
void hlo_sort_elements_32(const hlo_sort_form_t* form, int64_t first, int64_t count,
                          const uint32_t* keys, void* out);
void hlo_sort_elements_64(const hlo_sort_form_t* form, int64_t first, int64_t count,
                          const uint64_t* keys, void* out);
