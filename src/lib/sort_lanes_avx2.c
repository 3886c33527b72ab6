// SPDX-License-Identifier: Apache-2.0
// Lanes for AVX2: eight of 32-bit keys. AVX2 has no comparison of unsigned 64-bit numbers.
#include <immintrin.h>
#include <string.h>

#include "lib/sort_impl.h"

#define KEY_T uint32_t
#define VEC __m256i
#define MIN _mm256_min_epu32
#define MAX _mm256_max_epu32
#define TABLE hlo_sort_lanes_avx2_32
#define NAME(x) narrow_##x
#include "lib/sort_lanes.inl"
