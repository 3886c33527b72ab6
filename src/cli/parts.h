// SPDX-License-Identifier: Apache-2.0
// Arrays of partitioned programs: the parts that devices hold, and the whole.
#pragma once

#include "interp/eval.h"
#include "ir/module.h"

/// Copies the part of `whole` that a partition holds. `sharding`: the attribute mhlo.sharding of
/// the argument (NULL: every partition holds the whole). errors : UNIMPLEMENTED (partial sums),
/// INVALID_ARGUMENT, RESOURCE_EXHAUSTED owner  : the caller
hlo_status_t hlo_cli_divide(const hlo_tensor_t* whole, const hlo_attr_t* sharding,
                            uint32_t partition, hlo_tensor_t** out_part) HLO_MUST_USE;
/// Makes the whole, with the dimensions of `type`, of the parts of all partitions.
hlo_status_t hlo_cli_join(const hlo_type_t* type, const hlo_attr_t* sharding, uint32_t count,
                          hlo_tensor_t* const* parts, hlo_tensor_t** out_whole) HLO_MUST_USE;
