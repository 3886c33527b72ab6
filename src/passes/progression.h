// SPDX-License-Identifier: Apache-2.0
// Arithmetic progressions: what is known of integers that count iterations or positions.
#pragma once

#include "ir/module.h"

/// The integers first, first + step, ...
typedef struct hlo_progression {
  int64_t first, step;
} hlo_progression_t;

/// Returns true if a type holds the first `count` of them, and one more, as a counter has it.
bool hlo_progression_fits(hlo_progression_t p, int64_t count, hlo_dtype_t dtype);
/// Computes a binary op, whose types are not looked at, of the first `count` elements of two.
/// Comparisons are decided, as 0 or 1, if all elements agree. False if the result is no
/// progression.
bool hlo_progression_apply(const hlo_node_t* node, hlo_progression_t x, hlo_progression_t y,
                           int64_t count, hlo_progression_t* out);
