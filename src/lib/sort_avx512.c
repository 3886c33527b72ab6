// SPDX-License-Identifier: Apache-2.0
// Loops of the sorts for AVX-512.
#define LOOPS hlo_sort_loops_avx512
#include "lib/sort_loops.inl"
