// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the files of verification (private to ir).
#ifndef HLO_IR_VERIFY_IMPL_H_
#define HLO_IR_VERIFY_IMPL_H_

#include "ir/infer.h"

/// All operands and results are tensors whose sizes do not overflow; reports and
/// gives false if not.
bool hlo_verify_tensors(hlo_verify_t* verify, const hlo_node_t* node);
/// Reports a failed status as a fault of the node, releases it, and gives false; true when OK.
bool hlo_verify_status(hlo_verify_t* verify, const hlo_node_t* node, hlo_status_t status);

/// The parts of hlo_infer_result_dims() that check more than they infer.
hlo_status_t hlo_dims_dot_general(const hlo_node_t* node, uint32_t* out_rank,
                                  int64_t* dims) HLO_MUST_USE;
hlo_status_t hlo_dims_dot(const hlo_node_t* node, uint32_t* out_rank, int64_t* dims) HLO_MUST_USE;
hlo_status_t hlo_dims_convolution(const hlo_node_t* node, uint32_t* out_rank,
                                  int64_t* dims) HLO_MUST_USE;

#endif  // HLO_IR_VERIFY_IMPL_H_
