// SPDX-License-Identifier: Apache-2.0
// The QR iteration of complex matrices with single shifts (see lapack_schur_impl.h). Entries below
// the diagonal are kept real.
#include <math.h>
#include <stdbool.h>

#include "lib/lapack/lapack_schur_impl.h"

typedef double complex number_t;

typedef struct schur {
  int64_t n, ld;
  number_t *h, *z;
  double epsilon, least;  // for the element type of the matrix
} schur_t;

static inline number_t* at(const schur_t* s, int64_t i, int64_t j) {
  return s->h + i * s->ld + j;
}

static inline double size_of(number_t x) {
  return fabs(creal(x)) + fabs(cimag(x));
}

static inline number_t times(number_t a, number_t b) {  // without the special cases for Inf
  return __builtin_complex(creal(a) * creal(b) - cimag(a) * cimag(b),
                           creal(a) * cimag(b) + cimag(a) * creal(b));
}

// Multiplies row i right of column `from` and column i above row `to` (exclusive) by a number of
// magnitude 1 and its conjugate: a change of basis.
static void scale_basis(const schur_t* s, int64_t i, number_t by, int64_t from, int64_t to) {
  for (int64_t j = from; j < s->n; j++) *at(s, i, j) = times(by, *at(s, i, j));
  for (int64_t r = 0; r < to; r++) *at(s, r, i) = times(conj(by), *at(s, r, i));
  for (int64_t r = 0; s->z && r < s->n; r++) {
    s->z[r * s->ld + i] = times(conj(by), s->z[r * s->ld + i]);
  }
}

static bool is_negligible(const schur_t* s, int64_t first, int64_t last, int64_t k) {
  const double below = size_of(*at(s, k, k - 1)), least = s->least * ((double)s->n / s->epsilon);
  if (below <= least) return true;
  const number_t diagonal = *at(s, k, k), before = *at(s, k - 1, k - 1);
  double size = size_of(before) + size_of(diagonal);
  if (size == 0) {
    if (k - 2 >= first) size += fabs(creal(*at(s, k - 1, k - 2)));
    if (k + 1 <= last) size += fabs(creal(*at(s, k + 1, k)));
  }
  if (!(below <= s->epsilon * size)) return false;
  const double above = size_of(*at(s, k - 1, k)), apart = size_of(before - diagonal);
  const double ab = fmax(below, above), ba = fmin(below, above);
  const double aa = fmax(size_of(diagonal), apart), bb = fmin(size_of(diagonal), apart);
  const double sum = aa + ab;
  return ba * (ab / sum) <= fmax(least, s->epsilon * (bb * (aa / sum)));
}

static number_t choose_shift(const schur_t* s, int64_t first, int64_t last, int sweeps) {
  if (sweeps % (2 * HLO_SCHUR_STUCK) == HLO_SCHUR_STUCK) {
    return *at(s, first, first) + 0.75 * fabs(creal(*at(s, first + 1, first)));
  }
  if (sweeps > 0 && sweeps % (2 * HLO_SCHUR_STUCK) == 0) {
    return *at(s, last, last) + 0.75 * fabs(creal(*at(s, last, last - 1)));
  }
  const number_t corner = *at(s, last, last);
  const number_t u = times(csqrt(*at(s, last - 1, last)), csqrt(*at(s, last, last - 1)));
  if (size_of(u) == 0) return corner;
  const number_t x = (*at(s, last - 1, last - 1) - corner) / 2;
  const double scale = fmax(size_of(u), size_of(x));
  number_t y = scale * csqrt(times(x / scale, x / scale) + times(u / scale, u / scale));
  if (size_of(x) > 0 && creal(x) * creal(y) + cimag(x) * cimag(y) < 0) y = -y;
  return corner - times(u, u / (x + y));
}

static int64_t sweep_start(const schur_t* s, int64_t first, int64_t last, number_t shift,
                           number_t v[2]) {
  for (int64_t m = last - 1;; m--) {
    const number_t diagonal = *at(s, m, m);
    const double below = creal(*at(s, m + 1, m));
    const double size = size_of(diagonal - shift) + fabs(below);
    v[0] = (diagonal - shift) / size;
    v[1] = below / size;
    if (m == first) return m;
    const double around = size_of(diagonal) + size_of(*at(s, m + 1, m + 1));
    if (fabs(creal(*at(s, m, m - 1))) * fabs(creal(v[1])) <=
        s->epsilon * (size_of(v[0]) * around)) {
      return m;
    }
  }
}

// Computes the reflector of two numbers: v becomes (1, ..); beta is real.
static number_t reflector(number_t v[2], number_t* beta) {
  const double norm = cabs(v[1]);
  *beta = v[0];
  if (norm == 0 && cimag(v[0]) == 0) return 0;
  const double head = -copysign(hypot(cabs(v[0]), norm), creal(v[0]));
  const number_t tau = __builtin_complex((head - creal(v[0])) / head, -cimag(v[0]) / head);
  v[1] = v[1] / (v[0] - head);
  *beta = head;
  return tau;
}

static void reflect(const schur_t* s, int64_t k, int64_t last, number_t tau, number_t v) {
  number_t *x = at(s, k, 0), *y = at(s, k + 1, 0);
  const number_t second = creal(times(tau, v));
  for (int64_t j = k; j < s->n; j++) {
    const number_t sum = times(conj(tau), x[j]) + creal(second) * y[j];
    x[j] -= sum;
    y[j] -= times(sum, v);
  }
  const int64_t rows = k + 2 < last ? k + 3 : last + 1;
  for (int side = 0; side < (s->z ? 2 : 1); side++) {
    number_t* a = (side ? s->z : s->h) + k;
    for (int64_t i = 0; i < (side ? s->n : rows); i++, a += s->ld) {
      const number_t sum = times(tau, a[0]) + creal(second) * a[1];
      a[0] -= sum;
      a[1] -= times(sum, conj(v));
    }
  }
}

// A sweep that starts in the middle makes a real entry below the diagonal complex; this restores it
// and all entries below.
static void repair_basis(const schur_t* s, int64_t start, int64_t last, number_t tau) {
  number_t by = 1 - tau;
  by /= cabs(by);
  *at(s, start + 1, start) = times(*at(s, start + 1, start), conj(by));
  if (start + 2 <= last) *at(s, start + 2, start + 1) = times(*at(s, start + 2, start + 1), by);
  for (int64_t j = start; j <= last; j++) {
    if (j != start + 1) scale_basis(s, j, by, j + 1, j);
  }
}

static void sweep(const schur_t* s, int64_t first, int64_t last, number_t shift) {
  number_t v[2], beta;
  const int64_t start = sweep_start(s, first, last, shift, v);
  for (int64_t k = start; k < last; k++) {
    if (k > start) {
      v[0] = *at(s, k, k - 1);
      v[1] = *at(s, k + 1, k - 1);
    }
    const number_t tau = reflector(v, &beta);
    if (k > start) {
      *at(s, k, k - 1) = beta;
      *at(s, k + 1, k - 1) = 0;
    }
    reflect(s, k, last, tau, v[1]);
    if (k == start && start > first) repair_basis(s, start, last, tau);
  }
  const number_t below = *at(s, last, last - 1);
  if (cimag(below) == 0) return;
  *at(s, last, last - 1) = cabs(below);
  scale_basis(s, last, conj(below) / cabs(below), last + 1, last);
}

int64_t hlo_schur_complex(int64_t n, double epsilon, double least, int64_t ld, number_t* h,
                          number_t* z, number_t* w) {
  const schur_t s = {n, ld, h, z, epsilon, least};
  for (int64_t i = 1; i < n; i++) {
    for (int64_t j = 0; j + 1 < i; j++) *at(&s, i, j) = 0;
    const number_t below = *at(&s, i, i - 1);
    if (cimag(below) == 0) continue;
    scale_basis(&s, i, conj(below) / cabs(below), i, i + 2 < n ? i + 2 : n);
    *at(&s, i, i - 1) = cabs(below);
  }
  const int64_t sweeps_most = HLO_SCHUR_SWEEPS_EACH * (n > 10 ? n : 10);
  for (int64_t last = n - 1; last >= 0; last--) {
    int64_t first = 0;
    for (int64_t spent = 0;; spent++) {
      int64_t k = last;
      while (k > first && !is_negligible(&s, first, last, k)) k--;
      first = k;
      if (first > 0) *at(&s, first, first - 1) = 0;
      if (first >= last) break;
      if (spent == sweeps_most) return last + 1;
      sweep(&s, first, last, choose_shift(&s, first, last, (int)(spent % 1000)));
    }
    w[last] = *at(&s, last, last);
  }
  return 0;
}
