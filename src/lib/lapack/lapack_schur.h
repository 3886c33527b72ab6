// SPDX-License-Identifier: Apache-2.0
// The eigenproblem of general matrices: Schur form and eigenvectors, in double for every type.
#pragma once

#include "lib/lapack/lapack.h"

/// Computes the scratch memory for the functions below.
/// errors: false if the size overflows
bool hlo_lapack_schur_scratch_bytes(int64_t n, size_t* out_bytes);

/// Schur form a = Z T Z': T in place of the n x n matrix `a`, upper triangular, for real types with
/// 2 x 2 blocks of equal diagonals for conjugate pairs. z: NULL or n x n. wr and wi: n real numbers
/// each (for complex types wi is NULL and wr complex). Dense rows. Returns 0, or the number of
/// eigenvalues that did not converge (all if an entry is not finite). owner: lent for the call;
/// threads: safe with separate scratch memory
int64_t hlo_lapack_gees(hlo_dtype_t dtype, int64_t n, void* a, void* z, void* wr, void* wi,
                        const hlo_lapack_work_t* work);

/// Eigenvalues of the n x n matrix `a`, which is balanced first, stored as in gees, and the left
/// and right eigenvectors as columns of complex matrices (may be NULL): of length 1, their largest
/// entries real.
int64_t hlo_lapack_geev(hlo_dtype_t dtype, int64_t n, const void* a, void* wr, void* wi, void* left,
                        void* right, const hlo_lapack_work_t* work);
