// SPDX-License-Identifier: Apache-2.0
// Arguments of an entry function whose memory a result may reuse.
#ifndef HLO_IR_DONATION_H_
#define HLO_IR_DONATION_H_

#include "ir/module.h"

/// Returns the attribute that ties an argument to a result (an INT unless malformed), or NULL.
const hlo_attr_t* hlo_func_argument_alias(const hlo_func_t* func, uint32_t argument);
/// Returns true if any result of the same size and layout may use the argument's memory.
bool hlo_func_argument_is_donor(const hlo_func_t* func, uint32_t argument);

#define HLO_DONATED_NOWHERE UINT32_MAX
/// Pairs each result with the argument whose memory it may use: the argument that names it, else a
/// donor of its size and layout. `out_results` is indexed by argument, `out_arguments` by result;
/// HLO_DONATED_NOWHERE marks the unpaired.
void hlo_func_pair_donations(const hlo_func_t* func, uint32_t* out_results,
                             uint32_t* out_arguments);

#endif  // HLO_IR_DONATION_H_
