// SPDX-License-Identifier: Apache-2.0
// Matrix products for AVX2 with FMA.
#include <immintrin.h>

#include "lib/gemm_impl.h"

#define T float
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#define TILE_VECTORS 2
#define MADD(acc, a, b) ((f32_vec)_mm256_fmadd_ps(a, b, acc))
#define NAME(x) f32_##x
#define f32_gemm hlo_gemm_f32_avx2
#include "lib/gemm.inl"

#define T double
#define VECTOR_BYTES 32
#define TILE_ROWS 6
#define TILE_VECTORS 2
#define MADD(acc, a, b) ((f64_vec)_mm256_fmadd_pd(a, b, acc))
#define NAME(x) f64_##x
#define f64_gemm hlo_gemm_f64_avx2
#include "lib/gemm.inl"
