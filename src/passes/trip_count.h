// SPDX-License-Identifier: Apache-2.0
// How often loops run that count.
#ifndef HLO_PASSES_TRIP_COUNT_H_
#define HLO_PASSES_TRIP_COUNT_H_

#include "ir/module.h"

/// How often a `while` runs; -1: not known, more than `most` times, or its counter would wrap
/// around. Takes as many steps.
int32_t hlo_loop_trip_count(const hlo_node_t* loop, int32_t most);

#endif  // HLO_PASSES_TRIP_COUNT_H_
