// SPDX-License-Identifier: Apache-2.0
// Which loops passes can rewrite, and trip counts of counting ones.
#pragma once

#include "ir/module.h"

/// Returns true for a `while` without discardable attributes whose body takes and leaves as many
/// values as it carries.
bool hlo_loop_is_plain(const hlo_node_t* node);
/// Returns true if, moreover, every carried value has one type, also in what is known of its dims.
bool hlo_loop_keeps_types(const hlo_node_t* node);
/// Returns how often a `while` runs; -1: unknown, more than `most` times, or its counter would wrap
/// around. The cost is logarithmic in `most`, but for conditions NE.
int32_t hlo_loop_trip_count(const hlo_node_t* loop, int32_t most);
