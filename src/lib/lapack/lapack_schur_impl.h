// SPDX-License-Identifier: Apache-2.0
// QR iterations on Hessenberg matrices (see lapack_schur.h).
#pragma once

#include <complex.h>
#include <stdint.h>

/// Reduces the upper Hessenberg matrix h (n x n, rows ld apart) to Schur form, and updates z = z U
/// for its vectors (may be NULL). Returns the number of eigenvalues that did not converge: those of
/// the leading rows. source: Francis 1961, double shifts; deflation after Ahues and Tisseur 1997
int64_t hlo_schur_real(int64_t n, double epsilon, double least, int64_t ld, double* h, double* z,
                       double complex* w);

/// Like hlo_schur_real() with single shifts.
int64_t hlo_schur_complex(int64_t n, double epsilon, double least, int64_t ld, double complex* h,
                          double complex* z, double complex* w);

enum {
  HLO_SCHUR_SWEEPS_EACH = 30,
  HLO_SCHUR_STUCK = 10
};  // iterations per eigenvalue; iterations before an exceptional shift
