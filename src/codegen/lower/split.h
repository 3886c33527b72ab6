// SPDX-License-Identifier: Apache-2.0
// Makes pairs of a collective and the place where it is waited for (body/split.h).
#ifndef HLO_CODEGEN_SPLIT_H_
#define HLO_CODEGEN_SPLIT_H_

#include "ir/module.h"

/// Makes them in a region and those inside it: of async_start and async_done, and of small
/// collectives of which others are begun before anything needs their results, so that one wait does
/// for all. What cannot be a pair is done at once. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_split_collectives(hlo_region_t* region) HLO_MUST_USE;

#endif  // HLO_CODEGEN_SPLIT_H_
