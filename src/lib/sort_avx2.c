// SPDX-License-Identifier: Apache-2.0
// Loops of the sorts for AVX2.
#define LOOPS hlo_sort_loops_avx2
#include "lib/sort_loops.inl"
