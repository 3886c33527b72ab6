// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels of complex numbers. Functions are computed in the next wider type, whose
// extra bits and range absorb the errors of libm's complex functions and of the formulas here;
// branch cuts, signed zeros and infinities follow Annex G of C99.
#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/float_bits.h"
#include "interp/kernels_impl.h"

#define KERNEL_TYPE C64
#define T float complex
#define PART float
#define WIDE double complex
#define WIDE_PART double
#define WF(name) name
#define SPLITTER 0x1001p0f  // 2^12 + 1
#include "interp/ref_complex.inl"
#define KERNEL_TYPE C128
#define T double complex
#define PART double
#define WIDE long double complex
#define WIDE_PART long double
#define WF(name) name##l
#define SPLITTER 0x8000001p0  // 2^27 + 1
#include "interp/ref_complex.inl"
