// SPDX-License-Identifier: Apache-2.0
// Matrix products for the compiler's baseline instruction set.
#include "lib/gemm_impl.h"

#define T float
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#define TILE_VECTORS 2
#define MADD(acc, a, b) ((acc) + (a) * (b))
#define NAME(x) f32_##x
#define f32_gemm hlo_gemm_f32_generic
#include "lib/gemm.inl"

#define T double
#define VECTOR_BYTES 16
#define TILE_ROWS 4
#define TILE_VECTORS 2
#define MADD(acc, a, b) ((acc) + (a) * (b))
#define NAME(x) f64_##x
#define f64_gemm hlo_gemm_f64_generic
#include "lib/gemm.inl"
