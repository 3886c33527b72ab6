// SPDX-License-Identifier: Apache-2.0
// Lanes for AVX-512: sixteen of 32-bit keys, eight of 64-bit keys.
#include <immintrin.h>
#include <string.h>

#include "lib/sort_impl.h"

#define KEY_T uint32_t
#define VEC __m512i
#define MIN _mm512_min_epu32
#define MAX _mm512_max_epu32
#define TABLE hlo_sort_lanes_avx512_32
#define NAME(x) narrow_##x
#include "lib/sort_lanes.inl"
#define KEY_T uint64_t
#define VEC __m512i
#define MIN _mm512_min_epu64
#define MAX _mm512_max_epu64
#define TABLE hlo_sort_lanes_avx512_64
#define NAME(x) wide_##x
#include "lib/sort_lanes.inl"
