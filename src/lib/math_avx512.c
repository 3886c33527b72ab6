// SPDX-License-Identifier: Apache-2.0
// Elementary functions of f32 arrays for AVX-512.
#define MATH_TABLE hlo_math_f32_avx512
#include "lib/math.inl"
