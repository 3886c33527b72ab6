// SPDX-License-Identifier: Apache-2.0
// Windows that extend back to the beginning of a dimension, or forward to its end: JAX writes
// cumsum, cumprod, cummax and the like as such a reduce_window.
#pragma once

#include "interp/ref_fold.h"
#include "interp/ref_util.h"
#include "ir/window.h"

typedef struct hlo_window_scan {
  const hlo_fold_operands_t* operands;
  uint32_t axis;
  bool is_reverse;
} hlo_window_scan_t;

/// Sets *out_is_fixed if the body maps the initial values to themselves, bit for bit.
hlo_status_t hlo_window_init_is_fixed(const hlo_fold_operands_t* operands,
                                      bool* out_is_fixed) HLO_MUST_USE;

/// Scans with any body that maps its initial values to themselves: padding then has no effect, and
/// the results equal those of windows folded in order. A reverse scan changes the order, so it is
/// not done for small windows; nor is a scan with other initial values. results hold the initial
/// values, and still do if the scan is not done.
hlo_status_t hlo_window_scan(const hlo_window_scan_t* scan, hlo_tensor_t** results,
                             bool* out_is_done) HLO_MUST_USE;
