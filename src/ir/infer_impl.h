// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the files of inference and verification (private to ir).
#ifndef HLO_IR_INFER_IMPL_H_
#define HLO_IR_INFER_IMPL_H_

#include "ir/infer.h"

/// INVALID_ARGUMENT with a message; the caller of inference adds op and place.
hlo_status_t hlo_infer_error(const char* format, ...) HLO_PRINTF(1, 2) HLO_MUST_USE;

/// One result (a NULL type, from exhausted memory, becomes that error).
hlo_status_t hlo_infer_give(hlo_infer_t* infer, const hlo_type_t* type) HLO_MUST_USE;

/// Operand `i` as a tensor; INVALID_ARGUMENT if it is none.
hlo_status_t hlo_infer_tensor(const hlo_infer_t* infer, uint32_t i,
                              const hlo_type_t** out_type) HLO_MUST_USE;
/// A list of dimensions: each in [0, rank), none twice.
hlo_status_t hlo_infer_dims(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                            const int64_t** out_dims, uint32_t* out_count) HLO_MUST_USE;
/// The same in rising order.
hlo_status_t hlo_infer_sorted_dims(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                                   const int64_t** out_dims, uint32_t* out_count) HLO_MUST_USE;
/// A list of exactly `count` integers, each at least `least`; absent: NULL.
hlo_status_t hlo_infer_ints(const hlo_node_t* node, hlo_attr_id_t id, uint32_t count, int64_t least,
                            const int64_t** out_values) HLO_MUST_USE;
/// A single dimension number in [0, rank).
hlo_status_t hlo_infer_dim(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                           int64_t* out_dim) HLO_MUST_USE;

/// Kind BROADCAST of the op table: two operands of one element type, shapes as in NumPy.
hlo_status_t hlo_infer_broadcast_same(hlo_infer_t* infer) HLO_MUST_USE;

static inline bool hlo_dim_is_known(int64_t dim) { return dim >= 0; }
static inline bool hlo_dims_agree(int64_t a, int64_t b) {
  return a == b || !hlo_dim_is_known(a) || !hlo_dim_is_known(b);
}
/// The known one of two agreeing dims.
static inline int64_t hlo_dim_meet(int64_t a, int64_t b) { return hlo_dim_is_known(a) ? a : b; }

/// A reducer or the like: `scalar_count` scalar arguments of the element types in order, returning
/// `result_count` scalars; types NULL where any will do.
hlo_status_t hlo_infer_scalar_region(const hlo_region_t* region, uint32_t arg_count,
                                     uint32_t result_count) HLO_MUST_USE;

/// Sizes of windows along one dimension; -1 dim: unknown.
typedef struct hlo_infer_window_dim {
  int64_t size, stride, low, high, base_dilation, window_dilation;
} hlo_infer_window_dim_t;
/// Number of window positions over `dim` (dilated and padded): 0 if none fits.
/// errors: INVALID_ARGUMENT on overflow
hlo_status_t hlo_infer_window(int64_t dim, const hlo_infer_window_dim_t* window,
                              int64_t* out_dim) HLO_MUST_USE;

#endif  // HLO_IR_INFER_IMPL_H_
