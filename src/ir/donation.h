// SPDX-License-Identifier: Apache-2.0
// What an entry function says about arguments whose memory may become a result's.
#ifndef HLO_IR_DONATION_H_
#define HLO_IR_DONATION_H_

#include "ir/module.h"

/// The attribute that ties an argument to a result (an INT unless malformed); NULL: none.
const hlo_attr_t* hlo_func_argument_alias(const hlo_func_t* func, uint32_t argument);
/// Whether the argument may be given to any result of its size.
bool hlo_func_argument_is_donor(const hlo_func_t* func, uint32_t argument);

#endif  // HLO_IR_DONATION_H_
