// SPDX-License-Identifier: Apache-2.0
// The variant of fft_lines_impl.h for one instruction set. Needs VARIANT, its name, and VECTOR_BYTES.
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "lib/fft_lines_impl.h"
#include "lib/strided.h"

#define T float
#define NAME(x) f32_##x
#include "lib/fft_block.inl"
#include "lib/fft_lines.inl"
#include "lib/fft_long.inl"
#include "lib/fft_any.inl"
#undef T
#undef NAME
#define T double
#define NAME(x) f64_##x
#include "lib/fft_block.inl"
#include "lib/fft_lines.inl"
#include "lib/fft_long.inl"
#include "lib/fft_any.inl"

const hlo_fft_variant_t VARIANT = {.f32 = f32_run, .f64 = f64_run};
