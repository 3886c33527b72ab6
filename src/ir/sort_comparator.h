// SPDX-License-Identifier: Apache-2.0
// Comparators of sort that compare a list of keys lexicographically, and ops that select the best
// elements of lines.
#pragma once

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

// ---- selections of the best elements

typedef struct hlo_top_k {
  uint32_t axis;
  int64_t kept;        // elements per line; not yet compared with the length of the axis
  bool is_largest;     // the best elements are the largest ones
  bool is_canonical;   // floats: all NaN equal and above everything, -0 equal to 0; else totalOrder
  bool has_companion;  // result 1: elements of operand 1; otherwise positions
  bool is_fallback;    // of an approximate selection: asked to be a sort and a slice
} hlo_top_k_t;

/// errors: INVALID_ARGUMENT (operands, results and attributes do not match), UNIMPLEMENTED (a
/// comparator that does not compare two values)
hlo_status_t hlo_top_k_of(const hlo_node_t* node, hlo_top_k_t* out_top_k) HLO_MUST_USE;
