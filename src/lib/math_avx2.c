// SPDX-License-Identifier: Apache-2.0
// Elementary functions of f32 arrays for AVX2.
#define MATH_TABLE hlo_math_f32_avx2
#include "lib/math.inl"
