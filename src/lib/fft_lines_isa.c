// SPDX-License-Identifier: Apache-2.0
// The variant of fft_lines_impl.h for one instruction set (see isa_variant.h).
#include <stdatomic.h>
#include <string.h>

#include "base/copy.h"
#include "base/mem.h"
#include "lib/fft_lines_impl.h"
#include "lib/isa_variant.h"

#define VECTOR_BYTES HLO_ISA_VECTOR_BYTES

// fft_any.inl uses the others.

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

const hlo_fft_variant_t HLO_ISA_NAME(hlo_fft) = {.f32 = f32_run, .f64 = f64_run};
