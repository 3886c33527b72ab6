// SPDX-License-Identifier: Apache-2.0
// The iterations for eigenvalues of tridiagonal and singular values of bidiagonal matrices: in
// double for every type, except the vectors, to which plane rotations are applied in batches.
#pragma once

#include <stdint.h>

enum { HLO_ROTATIONS_SWEEPS = 32 };  // maximum per batch

/// Rotations of adjacent rows. A sweep starts at a row and moves on: the current row becomes c row
/// + s next, and the row carried along becomes c next - s row.
typedef struct hlo_rotations {
  int64_t sweep_count;
  int64_t start[HLO_ROTATIONS_SWEEPS], count[HLO_ROTATIONS_SWEEPS];
  int step[HLO_ROTATIONS_SWEEPS];        // 1 or -1: direction to the next row
  int64_t offset[HLO_ROTATIONS_SWEEPS];  // of the sweep's first rotation in c and s
  double *c, *s;                         // HLO_ROTATIONS_SWEEPS * n each
} hlo_rotations_t;

/// A symmetric tridiagonal matrix being diagonalised.
typedef struct hlo_ql {
  int64_t n;
  double *d, *e;   // n each; e[i] joins i and i + 1
  double epsilon;  // an off-diagonal entry below its neighbours times this is negligible
  int64_t at;      // eigenvalues before this one have converged
  int sweeps;      // number of sweeps for the current eigenvalue
} hlo_ql_t;

/// An upper bidiagonal matrix being diagonalised.
typedef struct hlo_bidiagonal {
  int64_t n;
  double *d, *e;   // n each; e[i] is right of d[i]
  double epsilon;  // like hlo_ql_t::epsilon
  int64_t left;    // singular values that have not converged: the first ones
  int64_t sweeps;  // number of sweeps so far
} hlo_bidiagonal_t;
