// SPDX-License-Identifier: Apache-2.0
// Elementary functions of f32 arrays for the compiler's baseline instruction set.
#define MATH_TABLE hlo_math_f32_generic
#include "lib/math.inl"
