// SPDX-License-Identifier: Apache-2.0
// Factorisations for AVX2.
#define LAPACK hlo_lapack_avx2
#define VECTOR_BYTES 32
#include "lib/lapack/lapack_types.inl"
