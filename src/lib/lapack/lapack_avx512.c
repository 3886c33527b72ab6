// SPDX-License-Identifier: Apache-2.0
// Factorisations for AVX-512.
#define LAPACK hlo_lapack_avx512
#define VECTOR_BYTES 64
#include "lib/lapack/lapack_types.inl"
