// SPDX-License-Identifier: Apache-2.0
// Implicit QL on a tridiagonal matrix (see lapack_ql.h).
#include "kernels/lapack_ql.h"

#include <math.h>

static const double square_least = 1e-280;  // below, squares lose bits

// Length of (f, g), and its inverse, which waits for the root only.
static inline double length(double f, double g, double* inverse) {
  const double square = f * f + g * g;
  if (square > square_least) {
    const double root = sqrt(square);
    *inverse = root * (1 / square);
    return root;
  }
  const double root = hypot(f, g);
  *inverse = 1 / root;
  return root;
}

// One sweep on the unreduced block l..m; c and s get its rotations, from row m down.
static int64_t sweep(hlo_ql_t* ql, int64_t l, int64_t m, double* cosines, double* sines) {
  double *d = ql->d, *e = ql->e, inverse;
  double g = (d[l + 1] - d[l]) / (2 * e[l]);
  g = d[m] - d[l] + e[l] / (g + copysign(hypot(g, 1), g));
  double s = 1, c = 1, p = 0;
  int64_t count = 0;
  for (int64_t i = m - 1; i >= l; i--) {
    const double f = s * e[i], b = c * e[i];
    const double r = length(f, g, &inverse);
    e[i + 1] = r;
    if (r == 0) {  // the block splits here
      d[i + 1] -= p;
      e[m] = 0;
      return count;
    }
    s = f * inverse;
    c = g * inverse;
    g = d[i + 1] - p;
    const double turned = (d[i] - g) * s + 2 * c * b;
    p = s * turned;
    d[i + 1] = g + p;
    g = c * turned - b;
    cosines[count] = c;
    sines[count] = s;
    count++;
  }
  d[l] -= p;
  e[l] = g;
  e[m] = 0;
  return count;
}

bool hlo_ql_run(hlo_ql_t* ql, hlo_rotations_t* rotations) {
  enum { SWEEPS_MAX = 60 };
  const double* d = ql->d;
  int64_t used = 0;
  rotations->sweep_count = 0;
  for (; ql->at < ql->n; ql->at++, ql->sweeps = 0) {
    const int64_t l = ql->at;
    for (;;) {
      int64_t m = l;
      while (m + 1 < ql->n && !(fabs(ql->e[m]) <= ql->epsilon * (fabs(d[m]) + fabs(d[m + 1])))) m++;
      if (m == l) break;
      if (ql->sweeps == SWEEPS_MAX) return false;
      if (rotations->sweep_count == HLO_ROTATIONS_SWEEPS) return true;
      const int64_t index = rotations->sweep_count++;
      rotations->start[index] = m;
      rotations->step[index] = -1;
      rotations->offset[index] = used;
      rotations->count[index] = sweep(ql, l, m, rotations->c + used, rotations->s + used);
      used += rotations->count[index];
      ql->sweeps++;
    }
  }
  return false;
}
