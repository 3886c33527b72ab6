// SPDX-License-Identifier: Apache-2.0
// Copies between dense row-major elements and other orders of the same elements in host memory.
#ifndef HLO_RUNTIME_STRIDED_H_
#define HLO_RUNTIME_STRIDED_H_

#include "runtime/buffer.h"

/// A copy of rank loops, outermost first; adjacent loops are merged where both sides allow it.
typedef struct hlo_strided {
  uint32_t rank;
  size_t element_bytes;
  int64_t dims[HLO_BUFFER_RANK_MAX];
  int64_t from_strides[HLO_BUFFER_RANK_MAX];  // bytes
  int64_t to_strides[HLO_BUFFER_RANK_MAX];
} hlo_strided_t;

bool hlo_strides_are_dense(const hlo_buffer_shape_t* shape, const int64_t* byte_strides);
/// From host memory with byte strides to dense row-major.
void hlo_strided_from_host(const hlo_buffer_shape_t* shape, const int64_t* byte_strides,
                           hlo_strided_t* out_copy);
/// From dense row-major to dense in the order of `minor_to_major`; *out_needed is false when that is
/// the same order. errors: INVALID_ARGUMENT if it is no permutation.
hlo_status_t hlo_strided_to_layout(const hlo_buffer_shape_t* shape, const int64_t* minor_to_major,
                                   hlo_strided_t* out_copy, bool* out_needed) HLO_MUST_USE;
void hlo_strided_run(const hlo_strided_t* copy, const void* from, void* to);

#endif  // HLO_RUNTIME_STRIDED_H_
