// SPDX-License-Identifier: Apache-2.0
// Copies of boxes of elements between byte strides: transposes, slices, reversals, repetitions.
#ifndef HLO_BASE_COPY_H_
#define HLO_BASE_COPY_H_

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

#endif  // HLO_BASE_COPY_H_
