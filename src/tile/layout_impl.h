// SPDX-License-Identifier: Apache-2.0
// Digits while a layout is made, and their splitting. Private to tile.
#ifndef HLO_TILE_LAYOUT_IMPL_H_
#define HLO_TILE_LAYOUT_IMPL_H_

#include "tile/layout.h"

/// Digits in any order and not yet a layout; more than fit are remembered as a failure.
typedef struct hlo_digit_list {
  uint32_t count;
  bool failed;
  hlo_digit_t digits[HLO_TILE_LAYOUT_MAX_DIGITS];
} hlo_digit_list_t;

/// Digits of extent 1 are none.
void hlo_digits_add(hlo_digit_list_t* list, hlo_digit_t digit);
/// By dimension, outer before inner, replicated ones last.
void hlo_digits_sort(hlo_digit_list_t* list);
/// Splits digits of `dim` so that one starts at `stride`; false: one would be torn.
bool hlo_digits_cut(hlo_digit_list_t* list, int32_t dim, int64_t stride);
/// Cuts digits of both at each other's boundaries and sorts; false: they do not fit.
bool hlo_digits_refine(hlo_digit_list_t* a, hlo_digit_list_t* b);
void hlo_digits_of(const hlo_tile_layout_t* a, hlo_digit_list_t* out_list);

#endif  // HLO_TILE_LAYOUT_IMPL_H_
