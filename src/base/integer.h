// SPDX-License-Identifier: Apache-2.0
// Arithmetic of sizes and positions that C lacks.
#pragma once

#include <stdint.h>

static inline int64_t hlo_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t hlo_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/// Returns the quotient rounded up, of a count that is not negative and a positive divisor.
static inline int64_t hlo_divide_up(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}
