// SPDX-License-Identifier: Apache-2.0
// The variants of hlo_math_f32().
#ifndef HLO_LIB_MATH_IMPL_H_
#define HLO_LIB_MATH_IMPL_H_

#include <math.h>

#include "lib/math.h"

typedef void (*hlo_math_f32_fn_t)(const float* x, float* out, size_t count);

extern const hlo_math_f32_fn_t hlo_math_f32_generic[HLO_MATH_COUNT];
extern const hlo_math_f32_fn_t hlo_math_f32_avx2[HLO_MATH_COUNT];
extern const hlo_math_f32_fn_t hlo_math_f32_avx512[HLO_MATH_COUNT];

// Functions that math.def names and libm lacks.
static inline double hlo_math_plain_logistic(double x) {
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}
static inline double hlo_math_plain_rsqrt(double x) {
  return 1.0 / sqrt(x);
}

#endif  // HLO_LIB_MATH_IMPL_H_
