// SPDX-License-Identifier: Apache-2.0
// Scattering loops for AVX-512.
#define LOOPS hlo_scatter_loops_avx512
#include "lib/scatter.inl"
