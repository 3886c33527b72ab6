// SPDX-License-Identifier: Apache-2.0
// The iterations behind eigenvalues of tridiagonal and singular values of bidiagonal matrices: in
// double for every type, apart from the vectors, which get their plane rotations in batches.
#ifndef HLO_LIB_LAPACK_LAPACK_QL_H_
#define HLO_LIB_LAPACK_LAPACK_QL_H_

#include <stdint.h>

enum { HLO_ROTATIONS_SWEEPS = 32 };  // in a batch, at most

/// Rotations of neighbouring rows. A sweep starts at a row and walks: the row it is at becomes
/// c row + s next, and what it takes along c next - s row.
typedef struct hlo_rotations {
  int64_t sweep_count;
  int64_t start[HLO_ROTATIONS_SWEEPS], count[HLO_ROTATIONS_SWEEPS];
  int step[HLO_ROTATIONS_SWEEPS];        // 1 or -1: which row is next
  int64_t offset[HLO_ROTATIONS_SWEEPS];  // of the sweep's first rotation in c and s
  double *c, *s;                         // HLO_ROTATIONS_SWEEPS * n each
} hlo_rotations_t;

/// A symmetric tridiagonal matrix on its way to a diagonal one.
typedef struct hlo_ql {
  int64_t n;
  double *d, *e;   // n each; e[i] joins i and i + 1
  double epsilon;  // an off-diagonal entry is nothing beside its neighbours times this
  int64_t at;      // eigenvalues before this one are found
  int sweeps;      // spent on this one
} hlo_ql_t;

/// An upper bidiagonal matrix on its way to a diagonal one.
typedef struct hlo_bidiagonal {
  int64_t n;
  double *d, *e;   // n each; e[i] is right of d[i]
  double epsilon;  // as above
  int64_t left;    // singular values that are not found yet: the first ones
  int64_t sweeps;  // spent so far
} hlo_bidiagonal_t;

#endif  // HLO_LIB_LAPACK_LAPACK_QL_H_
