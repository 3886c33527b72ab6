// SPDX-License-Identifier: Apache-2.0
// The eigenproblem of general matrices: Schur form and eigenvectors, in double for every type.
#ifndef HLO_LIB_LAPACK_SCHUR_H_
#define HLO_LIB_LAPACK_SCHUR_H_

#include "lib/lapack/lapack.h"

/// Scratch memory for the functions below.
/// errors: false if it is more than memory can be
bool hlo_lapack_schur_scratch_bytes(int64_t n, size_t* out_bytes);

/// Schur form a = Z T Z': T in place of the n x n matrix `a`, upper triangular, for real types with
/// 2 x 2 blocks of equal diagonals for conjugate pairs. z: NULL or n x n. wr and wi: n real numbers
/// each (wi NULL and wr complex numbers for complex types). Dense rows. Returns 0, or how many
/// eigenvalues are not found (all if an entry is not finite). owner: lent for the call; threads:
/// safe with scratch of their own
int64_t hlo_lapack_gees(hlo_dtype_t dtype, int64_t n, void* a, void* z, void* wr, void* wi,
                        const hlo_lapack_work_t* work);

/// Eigenvalues of the n x n matrix `a`, balanced before, as in gees, and as columns of
/// complex matrices the left and right eigenvectors (NULL for none): of length 1, their
/// largest entries real.
int64_t hlo_lapack_geev(hlo_dtype_t dtype, int64_t n, const void* a, void* wr, void* wi, void* left,
                        void* right, const hlo_lapack_work_t* work);

#endif  // HLO_LIB_LAPACK_SCHUR_H_
