// SPDX-License-Identifier: Apache-2.0
// Scattering loops for AVX2.
#define LOOPS hlo_scatter_loops_avx2
#include "lib/scatter.inl"
