// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels of f32 and f64; narrower floats run through those of f32.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/float_bits.h"
#include "interp/kernels_impl.h"
#include "interp/ref_math.h"

#define KERNEL_TYPE F32
#define T float
#define BITS_T uint32_t
#define SIGNED_BITS_T int32_t
#include "interp/ref_float.inl"
#define KERNEL_TYPE F64
#define T double
#define BITS_T uint64_t
#define SIGNED_BITS_T int64_t
#include "interp/ref_float.inl"
