// SPDX-License-Identifier: Apache-2.0
// Factorisations for any machine.
#define LAPACK hlo_lapack_generic
#include "kernels/lapack_ref.inl"
