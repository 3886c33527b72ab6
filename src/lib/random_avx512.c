// SPDX-License-Identifier: Apache-2.0
// Random numbers for AVX-512.
#define LOOPS hlo_random_loops_avx512
#define VECTOR_BYTES 64
#include "lib/random.inl"
