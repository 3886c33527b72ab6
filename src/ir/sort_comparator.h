// SPDX-License-Identifier: Apache-2.0
// Comparators of sort that compare a list of keys lexicographically.
#ifndef HLO_IR_SORT_COMPARATOR_H_
#define HLO_IR_SORT_COMPARATOR_H_

#include "ir/module.h"

/// One key: an operand of the sort, or a part of it.
typedef struct hlo_sort_key {
  uint32_t operand;
  int part;  // of complex numbers: 0 real, 1 imaginary; real numbers: 0
  bool descending;
  bool canonical;  // floats: all NaN equal and last, -0 equal to 0; else totalOrder
} hlo_sort_key_t;

enum { HLO_SORT_KEYS_MAX = 8 };

/// Recognises the keys of a comparator, most significant first: strict comparisons of one operand's
/// two arguments, joined as `a or (a_equal and b)`, each optionally on values made canonical as
/// jax.lax.sort does. Returns the number of keys, 0 if the comparator has another form or more than
/// HLO_SORT_KEYS_MAX keys.
uint32_t hlo_sort_keys_of(const hlo_region_t* comparator, hlo_sort_key_t* out_keys);

#endif  // HLO_IR_SORT_COMPARATOR_H_
