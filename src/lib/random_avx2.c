// SPDX-License-Identifier: Apache-2.0
// Random numbers for AVX2.
#define LOOPS hlo_random_loops_avx2
#define VECTOR_BYTES 32
#include "lib/random.inl"
