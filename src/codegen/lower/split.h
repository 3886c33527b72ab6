// SPDX-License-Identifier: Apache-2.0
// Splits collectives into a start and a done half, where the results are waited for (body/split.h).
#pragma once

#include "ir/module.h"

/// Splits the collectives of a region and its nested regions: those of async_start and async_done,
/// and small collectives followed by others before their results are used, so that one wait serves
/// all. Collectives that cannot be split, or that `sync` (op_list.h) names, are executed at once.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_split_collectives(hlo_region_t* region, const char* sync) HLO_MUST_USE;
