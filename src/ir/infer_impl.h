// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the files of inference and verification (private to ir).
#pragma once

#include "ir/infer.h"

/// Returns INVALID_ARGUMENT with a message; the caller of inference adds op and location.
hlo_status_t hlo_infer_error(const char* format, ...) HLO_PRINTF(1, 2) HLO_MUST_USE HLO_COLD;

/// Sets the only result. A NULL type, which exhausted memory causes, becomes that error.
hlo_status_t hlo_infer_give(hlo_infer_t* infer, const hlo_type_t* type) HLO_MUST_USE;

/// Gets the type of operand `i`; INVALID_ARGUMENT if it is not a tensor.
hlo_status_t hlo_infer_tensor(const hlo_infer_t* infer, uint32_t i,
                              const hlo_type_t** out_type) HLO_MUST_USE;
/// Gets a list of dimensions, each in [0, rank) and at most once.
hlo_status_t hlo_infer_dims(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                            const int64_t** out_dims, uint32_t* out_count) HLO_MUST_USE;
/// Gets such a list in ascending order.
hlo_status_t hlo_infer_sorted_dims(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                                   const int64_t** out_dims, uint32_t* out_count) HLO_MUST_USE;
/// Gets a list of exactly `count` integers, each at least `least`; NULL if the attribute is absent.
hlo_status_t hlo_infer_ints(const hlo_node_t* node, hlo_attr_id_t id, uint32_t count, int64_t least,
                            const int64_t** out_values) HLO_MUST_USE;
/// Gets a single dimension number in [0, rank).
hlo_status_t hlo_infer_dim(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                           int64_t* out_dim) HLO_MUST_USE;

/// Infers kind BROADCAST of the op table: two operands of one element type, shapes as in NumPy.
hlo_status_t hlo_infer_broadcast_same(hlo_infer_t* infer) HLO_MUST_USE;

/// Defines hlo_infer_<op>() as another function of the same form.
#define HLO_INFER_AS(op, function)                  \
  hlo_status_t hlo_infer_##op(hlo_infer_t* infer) { \
    return function(infer);                         \
  }

static inline bool hlo_dim_is_known(int64_t dim) {
  return dim >= 0;
}
static inline bool hlo_dims_agree(int64_t a, int64_t b) {
  return a == b || !hlo_dim_is_known(a) || !hlo_dim_is_known(b);
}
static inline bool hlo_shapes_agree(const hlo_type_t* a, const hlo_type_t* b) {
  bool agree = a->rank == b->rank;
  for (uint32_t i = 0; agree && i < a->rank; ++i) agree = hlo_dims_agree(a->dims[i], b->dims[i]);
  return agree;
}
/// Returns the known one of two agreeing dims.
static inline int64_t hlo_dim_meet(int64_t a, int64_t b) {
  return hlo_dim_is_known(a) ? a : b;
}

/// Checks a region such as a reducer: `arg_count` scalar arguments, `result_count` scalar results.
hlo_status_t hlo_infer_scalar_region(const hlo_region_t* region, uint32_t arg_count,
                                     uint32_t result_count) HLO_MUST_USE;

/// The window along one dimension.
typedef struct hlo_infer_window_dim {
  int64_t size, stride, low, high, base_dilation, window_dilation;
} hlo_infer_window_dim_t;
/// Computes the number of window positions over `dim` (dilated and padded): 0 if no window fits.
/// errors : INVALID_ARGUMENT on overflow
hlo_status_t hlo_infer_window(int64_t dim, const hlo_infer_window_dim_t* window,
                              int64_t* out_dim) HLO_MUST_USE;

// ---- verification

/// Reports a failed status as a fault of the node, releases it and returns false; returns true when
/// OK.
bool hlo_verify_status(hlo_verify_t* verify, const hlo_node_t* node, hlo_status_t status);

/// Defines hlo_verify_<op>() as another function of the same form.
#define HLO_VERIFY_AS(op, function)                                    \
  void hlo_verify_##op(hlo_verify_t* verify, const hlo_node_t* node) { \
    function(verify, node);                                            \
  }

/// The functions of hlo_infer_result_dims() for ops whose dims need checks beyond inference.
hlo_status_t hlo_dims_dot_general(const hlo_node_t* node, uint32_t* out_rank,
                                  int64_t* dims) HLO_MUST_USE;
hlo_status_t hlo_dims_dot(const hlo_node_t* node, uint32_t* out_rank, int64_t* dims) HLO_MUST_USE;
hlo_status_t hlo_dims_convolution(const hlo_node_t* node, uint32_t* out_rank,
                                  int64_t* dims) HLO_MUST_USE;
