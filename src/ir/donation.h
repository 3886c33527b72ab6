// SPDX-License-Identifier: Apache-2.0
// What an entry function says about arguments whose memory may become a result's.
#ifndef HLO_IR_DONATION_H_
#define HLO_IR_DONATION_H_

#include "ir/module.h"

/// The attribute that ties an argument to a result (an INT unless malformed); NULL: none.
const hlo_attr_t* hlo_func_argument_alias(const hlo_func_t* func, uint32_t argument);
/// Whether the argument may be given to any result of its size and layout.
bool hlo_func_argument_is_donor(const hlo_func_t* func, uint32_t argument);

#define HLO_DONATED_NOWHERE UINT32_MAX
/// Which argument's memory a result may have: that of the one that names it, else of a donor of its
/// size and layout. `out_results` by argument, `out_arguments` by result; HLO_DONATED_NOWHERE: none.
void hlo_func_pair_donations(const hlo_func_t* func, uint32_t* out_results,
                             uint32_t* out_arguments);

#endif  // HLO_IR_DONATION_H_
