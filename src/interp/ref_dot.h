// SPDX-License-Identifier: Apache-2.0
// Contraction of two tensors, used by dot, dot_general, einsum and ragged_dot.
#pragma once

#include "interp/ref_util.h"
#include "ir/dot_algorithm.h"

/// The batch and contracting dimensions of an operand, each listed in the order that pairs them
/// with the other operand's; all other dimensions are free.
typedef struct hlo_dot_dims {
  hlo_ints_t batch;
  hlo_ints_t contracting;
} hlo_dot_dims_t;

/// Returns the contraction of lhs and rhs (matching sizes) as a new tensor of `dtype` with
/// dimensions batch, free of lhs, free of rhs. Every sum is rounded once.
/// errors: INVALID_ARGUMENT (sizes), RESOURCE_EXHAUSTED
hlo_status_t hlo_dot_contract(hlo_tensor_t* lhs, hlo_dot_dims_t lhs_dims, hlo_tensor_t* rhs,
                              hlo_dot_dims_t rhs_dims, hlo_dtype_t dtype,
                              hlo_tensor_t** out_tensor) HLO_MUST_USE;

/// Returns the type in which products of these types are summed: C128, F64 or U64, which wraps.
hlo_dtype_t hlo_dot_wide_dtype(hlo_dtype_t lhs, hlo_dtype_t rhs, hlo_dtype_t result);
/// sum += the products of `count` elements of a and b, which are a_step and b_step apart.
void hlo_dot_add_products(hlo_dtype_t wide, int64_t count, const void* a, int64_t a_step,
                          const void* b, int64_t b_step, void* sum);
