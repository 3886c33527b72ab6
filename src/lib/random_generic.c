// SPDX-License-Identifier: Apache-2.0
// Random numbers for the compiler's baseline.
#define LOOPS hlo_random_loops_generic
#define VECTOR_BYTES 16
#include "lib/random.inl"
