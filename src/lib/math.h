// SPDX-License-Identifier: Apache-2.0
// Elementary functions of f32 arrays, computed in vectors of doubles and rounded once.
#ifndef HLO_LIB_MATH_H_
#define HLO_LIB_MATH_H_

#include <stddef.h>

typedef enum hlo_math {
#define HLO_MATH(id, plain, limit, ulps) HLO_MATH_##id,
#include "lib/math.def"
  HLO_MATH_COUNT
} hlo_math_t;

/// out[i] = f(x[i]), the same bits for every `count` and instruction set; math.def states the
/// errors. `out` may be `x`, but must not overlap it otherwise.
/// threads: safe
void hlo_math_f32(hlo_math_t f, const float* x, float* out, size_t count);

#endif  // HLO_LIB_MATH_H_
