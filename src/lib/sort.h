// SPDX-License-Identifier: Apache-2.0
// Stable sorting of elements or positions by unsigned keys that preserve the order of any element
// type; selection of the first few.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/parallel.h"

/// The order of elements. Floats: totalOrder of IEEE 754, or if `canonical` all NaN equal and above
/// everything and -0 equal to 0. Real types only.
typedef struct hlo_sort_form {
  hlo_dtype_t dtype;
  bool canonical, descending;
} hlo_sort_form_t;

/// Longest line; positions have 32 bits.
#define HLO_SORT_COUNT_MAX ((int64_t)UINT32_MAX)

/// Computes scratch memory (64-byte aligned) for any function below on lines of at most `count`
/// elements; returns false if the size overflows.
bool hlo_sort_scratch_bytes(hlo_dtype_t dtype, int64_t count, size_t* out_bytes);

/// Returns true if hlo_sort_values() supports the type: integers, and floats of 16 bits and more.
bool hlo_sort_values_supports(hlo_dtype_t dtype);

/// out = in sorted; `out` may be `in`. Returns false without effect if elements with different bits
/// compare equal (NaN, zeros of both signs): ordering them needs positions.
/// threads: safe (this and the next two; separate scratch memory each)
/// source: radix sort by bytes, least significant first, skipping those that all keys share; merge
/// sort of short lines
bool hlo_sort_values(const hlo_parallel_t* parallel, const hlo_sort_form_t* form, int64_t count,
                     const void* in, void* out, void* scratch);

/// Sorts `positions` by the elements of `in` at those positions; equal ones keep their order.
/// is_identity: the positions are 0, 1, 2 ... and need not be initialised.
void hlo_sort_positions(const hlo_parallel_t* parallel, const hlo_sort_form_t* form, int64_t count,
                        const void* in, bool is_identity, uint32_t* positions, void* scratch);

/// positions[0..kept) = the positions of the first `kept` elements of the sorted line; there is
/// room for `count` of them. 0 <= kept <= count
/// source: only elements not above the kept-th smallest of a sample of minima are sorted
void hlo_sort_select(const hlo_sort_form_t* form, int64_t count, const void* in, int64_t kept,
                     uint32_t* positions, void* scratch);

/// Returns how many short lines are sorted together in vector lanes, for values or positions; 0:
/// lines of this form and length are not. stride: of their elements; 1: line l starts at element l
/// * count, else at element l.
int64_t hlo_sort_group(const hlo_sort_form_t* form, bool wants_positions, int64_t count);
size_t hlo_sort_group_scratch_bytes(int64_t count);
/// hlo_sort_values() for `lines` lines, at most a group. Returns a bit mask of the lines left
/// unsorted.
uint32_t hlo_sort_group_values(const hlo_sort_form_t* form, int64_t lines, int64_t count,
                               int64_t stride, const void* in, void* out, void* scratch);
/// hlo_sort_positions() from 0, 1, 2 ... for `lines` lines; positions: `count` per line.
/// source: sorting networks (sort_lanes.inl)
void hlo_sort_group_positions(const hlo_sort_form_t* form, int64_t lines, int64_t count,
                              int64_t stride, const void* in, uint32_t* positions, void* scratch);

/// Returns the group size if hlo_sort_group_positions() finds the first `kept` faster than
/// hlo_sort_select() does, else 0.
int64_t hlo_sort_select_group(const hlo_sort_form_t* form, int64_t count, int64_t kept);

/// out[i * stride] = in[positions[i] * stride], elements of `bytes` bytes.
void hlo_sort_permute(size_t bytes, int64_t count, int64_t stride, const uint32_t* positions,
                      const void* in, void* out);
