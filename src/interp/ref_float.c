// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels of f32 and f64; narrower floats run through those of f32.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/float_bits.h"
#include "interp/kernels_impl.h"
#include "interp/ref_math.h"
#include "lib/math.h"

#define KERNEL_TYPE F32
#define HLO_MATH(id, plain, limit, ulps)                                        \
  static void KERNEL_LOOP(id)(const void* const* in, void* out, size_t count) { \
    hlo_math_f32(HLO_MATH_##id, in[0], out, count);                             \
  }                                                                             \
  static void KERNEL_SCALAR(id)(const void* const* args, void* result) {        \
    hlo_math_f32(HLO_MATH_##id, args[0], result, 1);                            \
  }
#include "lib/math.def"
#define HAS_MATH_KERNELS
#define T float
#define BITS_T uint32_t
#define SIGNED_BITS_T int32_t
#include "interp/ref_float.inl"
#define KERNEL_TYPE F64
#define T double
#define BITS_T uint64_t
#define SIGNED_BITS_T int64_t
#include "interp/ref_float.inl"
