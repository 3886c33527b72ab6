// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the files of verification (private to ir).
#ifndef HLO_IR_VERIFY_IMPL_H_
#define HLO_IR_VERIFY_IMPL_H_

#include "ir/infer.h"

/// Checks that all operands and results are tensors whose sizes do not overflow; reports a fault
/// and returns false otherwise.
bool hlo_verify_tensors(hlo_verify_t* verify, const hlo_node_t* node);
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

#endif  // HLO_IR_VERIFY_IMPL_H_
