// SPDX-License-Identifier: Apache-2.0
// Contraction of two tensors, used by dot, dot_general, einsum and ragged_dot.
#ifndef HLO_INTERP_REF_DOT_H_
#define HLO_INTERP_REF_DOT_H_

#include "interp/ref_util.h"
#include "ir/dot_dtype.h"

/// The batch and contracting dimensions of an operand, each listed in the order that pairs them
/// with the other operand's; all other dimensions are free.
typedef struct hlo_dot_dims {
  hlo_ints_t batch;
  hlo_ints_t contracting;
} hlo_dot_dims_t;

/// Returns the contraction of lhs and rhs (matching sizes) as a new tensor of `dtype` with
/// dimensions batch, free of lhs, free of rhs. Small floats and integers accumulate in the compute
/// type and are rounded once at the end. parallel: for the parts of complex numbers; NULL: on the
/// calling thread. errors: INVALID_ARGUMENT (sizes), RESOURCE_EXHAUSTED
hlo_status_t hlo_dot_contract(const hlo_parallel_t* parallel, const hlo_tensor_t* lhs,
                              hlo_dot_dims_t lhs_dims, const hlo_tensor_t* rhs,
                              hlo_dot_dims_t rhs_dims, hlo_dtype_t dtype,
                              hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// sum += sign * in over `count` elements of F32 or F64, for the products of parts of complex
/// numbers.
void hlo_dot_add_plane(hlo_dtype_t dtype, size_t count, int sign, const void* in, void* sum);

#endif  // HLO_INTERP_REF_DOT_H_
