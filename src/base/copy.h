// SPDX-License-Identifier: Apache-2.0
// Copies of boxes of elements between byte strides: transposes, slices, broadcasts, pads, reversals
// and concatenations are all one such copy with the right strides.
#pragma once

#include <stdbool.h>

#include "base/shape.h"

typedef enum hlo_copy_kind {
  HLO_COPY_KIND_EMPTY,
  HLO_COPY_KIND_BYTES,      // one run
  HLO_COPY_KIND_RUNS,       // equal runs at strides
  HLO_COPY_KIND_TRANSPOSE,  // the two inner dimensions are swapped
} hlo_copy_kind_t;

typedef struct hlo_copy_dim {
  int64_t extent;
  int64_t in_stride, out_stride;  // bytes
} hlo_copy_dim_t;

/// A prepared copy, made once and run many times; plain data without pointers into the arguments.
typedef struct hlo_copy_plan {
  hlo_copy_kind_t kind;
  uint32_t dim_count;
  size_t item_bytes;                          // moved by one step of the innermost dimension
  hlo_copy_dim_t dims[HLO_SHAPE_RANK_LIMIT];  // outermost first
} hlo_copy_plan_t;

/// Prepares a copy in which element (i0, i1, ...) is at sum(i_k * stride_k) bytes from the base
/// that hlo_copy_run() gets (with a negative stride the base is not the lowest address). A
/// dimension of 0 copies nothing; an input stride of 0 repeats. The caller guarantees that sizes do
/// not overflow and that written elements overlap neither each other nor the input.
void hlo_copy_plan_init(hlo_copy_plan_t* plan, size_t element_bytes, size_t rank,
                        const int64_t* dims, const int64_t* in_strides, const int64_t* out_strides);
void hlo_copy_run(const hlo_copy_plan_t* plan, const void* in, void* out);

/// Copies the box `dims` from `in` to `out`; element (i0, i1, ...) is at sum(i_k * stride_k) bytes.
/// shapes : rank <= HLO_SHAPE_RANK_LIMIT; any dim may be 0 (nothing is accessed then)
/// units  : strides in bytes, may be negative; an input stride of 0 repeats (broadcast)
/// errors : none. `element_bytes` may be any size; 1, 2, 4, 8 and 16 have their own loops.
/// owner  : both lent for the call; the views must not overlap
/// threads: safe (pure)
void hlo_strided_copy(size_t element_bytes, uint32_t rank, const int64_t* dims, void* out,
                      const int64_t* out_strides, const void* in, const int64_t* in_strides);

/// Fills `count` consecutive elements of `out` with the one at `value` (which may be its first).
void hlo_strided_fill(size_t element_bytes, size_t count, void* out, const void* value);

/// Computes the row-major strides in bytes of a dense tensor. An empty tensor has zero strides.
void hlo_strided_dense(size_t element_bytes, uint32_t rank, const int64_t* dims,
                       int64_t* out_strides);

/// Odometer over dims: advances `index` in row-major order; returns false after the last index.
static inline bool hlo_index_next(uint32_t rank, const int64_t* dims, int64_t* index) {
  for (uint32_t d = rank; d-- > 0;) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}
