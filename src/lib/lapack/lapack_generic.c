// SPDX-License-Identifier: Apache-2.0
// Factorisations for any machine.
#define LAPACK hlo_lapack_generic
#define VECTOR_BYTES 16
#include "lib/lapack/lapack_types.inl"
