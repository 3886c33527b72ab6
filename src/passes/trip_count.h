// SPDX-License-Identifier: Apache-2.0
// Trip counts of counting loops.
#pragma once

#include "ir/module.h"

/// Returns how often a `while` runs; -1: unknown, more than `most` times, or its counter would wrap
/// around. The cost is logarithmic in `most`, but for conditions NE.
int32_t hlo_loop_trip_count(const hlo_node_t* loop, int32_t most);
