// SPDX-License-Identifier: Apache-2.0
// Windows that reach back to the beginning of a dimension, or on to its end: reduce_window as JAX
// writes cumsum, cumprod, cummax and the like.
#ifndef HLO_INTERP_REF_WINDOW_SCAN_H_
#define HLO_INTERP_REF_WINDOW_SCAN_H_

#include "interp/ref_fold.h"
#include "interp/ref_window.h"

typedef struct hlo_window_scan {
  const hlo_parallel_t* parallel;
  const hlo_fold_operands_t* operands;
  uint32_t axis;
  bool is_reverse;
} hlo_window_scan_t;

/// Whether the windows are a scan along one dimension; sets axis and is_reverse.
bool hlo_window_is_scan(uint32_t rank, const hlo_window_dim_t* windows, hlo_window_scan_t* scan);

/// By a fold of lib/fold.h, its initial value neutral, rounding at the end.
hlo_status_t hlo_window_scan_folded(const hlo_window_scan_t* scan, hlo_fold_op_t op,
                                    hlo_tensor_t* result, bool* out_is_done) HLO_MUST_USE;

/// By any body that its initial values do not change: then padding has no effect, and results are
/// the same as of windows folded in order. In reverse the order is another: not done where windows
/// are small. Nor for other initial values. results hold the initial values, and still do if not
/// done.
hlo_status_t hlo_window_scan_any(const hlo_window_scan_t* scan, hlo_tensor_t** results,
                                 bool* out_is_done) HLO_MUST_USE;

#endif  // HLO_INTERP_REF_WINDOW_SCAN_H_
