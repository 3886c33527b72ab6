// SPDX-License-Identifier: Apache-2.0
// The QR iteration of real matrices with double shifts (see lapack_schur_impl.h).
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/lapack/lapack_schur_impl.h"

typedef struct schur {
  int64_t n, ld;
  double *h, *z;
  double epsilon, least;  // for the element type of the matrix
} schur_t;

static inline double* at(const schur_t* s, int64_t i, int64_t j) {
  return s->h + i * s->ld + j;
}

// Returns true if h[k][k-1] is negligible compared with its neighbours.
static bool is_negligible(const schur_t* s, int64_t first, int64_t last, int64_t k) {
  const double below = fabs(*at(s, k, k - 1)), least = s->least * ((double)s->n / s->epsilon);
  if (below <= least) return true;
  const double diagonal = *at(s, k, k), before = *at(s, k - 1, k - 1);
  double size = fabs(before) + fabs(diagonal);
  if (size == 0) {
    if (k - 2 >= first) size += fabs(*at(s, k - 1, k - 2));
    if (k + 1 <= last) size += fabs(*at(s, k + 1, k));
  }
  if (!(below <= s->epsilon * size)) return false;
  const double above = fabs(*at(s, k - 1, k)), apart = fabs(before - diagonal);
  const double ab = fmax(below, above), ba = fmin(below, above);
  const double aa = fmax(fabs(diagonal), apart), bb = fmin(fabs(diagonal), apart), sum = aa + ab;
  return ba * (ab / sum) <= fmax(least, s->epsilon * (bb * (aa / sum)));
}

// Two shifts: (re1, im1) and (re2, im2).
typedef struct shifts {
  double re1, im1, re2, im2;
} shifts_t;

static shifts_t choose_shifts(const schur_t* s, int64_t first, int64_t last, int sweeps) {
  double h11 = *at(s, last - 1, last - 1), h21 = *at(s, last, last - 1);
  double h12 = *at(s, last - 1, last), h22 = *at(s, last, last);
  if (sweeps % (2 * HLO_SCHUR_STUCK) == HLO_SCHUR_STUCK) {
    const double size = fabs(*at(s, first + 1, first)) + fabs(*at(s, first + 2, first + 1));
    h11 = h22 = 0.75 * size + *at(s, first, first);
    h12 = -0.4375 * size;
    h21 = size;
  } else if (sweeps > 0 && sweeps % (2 * HLO_SCHUR_STUCK) == 0) {
    const double size = fabs(h21) + fabs(*at(s, last - 1, last - 2));
    h11 = h22 = 0.75 * size + *at(s, last, last);
    h12 = -0.4375 * size;
    h21 = size;
  }
  const double size = fabs(h11) + fabs(h12) + fabs(h21) + fabs(h22);
  if (size == 0) return (shifts_t){0};
  h11 /= size, h12 /= size, h21 /= size, h22 /= size;
  const double middle = (h11 + h22) / 2;
  const double square = (h11 - middle) * (h22 - middle) - h12 * h21, root = sqrt(fabs(square));
  if (square >= 0) return (shifts_t){middle * size, root * size, middle * size, -root * size};
  const double one = middle + root, other = middle - root;
  const double nearer = (fabs(one - h22) <= fabs(other - h22) ? one : other) * size;
  return (shifts_t){nearer, 0, nearer, 0};
}

// Returns the row where the sweep may start: two consecutive small entries are below the diagonal.
// v: its first column.
static int64_t sweep_start(const schur_t* s, int64_t first, int64_t last, const shifts_t* t,
                           double v[3]) {
  for (int64_t m = last - 2;; m--) {
    const double diagonal = *at(s, m, m), next = *at(s, m + 1, m + 1);
    const double size = fabs(diagonal - t->re2) + fabs(t->im2) + fabs(*at(s, m + 1, m));
    const double below = *at(s, m + 1, m) / size;
    v[0] = below * *at(s, m, m + 1) + (diagonal - t->re1) * ((diagonal - t->re2) / size) -
           t->im1 * (t->im2 / size);
    v[1] = below * (diagonal + next - t->re1 - t->re2);
    v[2] = below * *at(s, m + 2, m + 1);
    const double sum = fabs(v[0]) + fabs(v[1]) + fabs(v[2]);
    for (int i = 0; i < 3; i++) v[i] /= sum;
    if (m == first) return m;
    const double before = fabs(*at(s, m, m - 1)) * (fabs(v[1]) + fabs(v[2]));
    const double around = fabs(*at(s, m - 1, m - 1)) + fabs(diagonal) + fabs(next);
    if (before <= s->epsilon * fabs(v[0]) * around) return m;
  }
}

// Computes the reflector of `count` <= 3 numbers: v becomes (1, ..), beta receives its head.
static double reflector(int count, double v[3], double* beta) {
  const double norm = count == 3 ? hypot(v[1], v[2]) : fabs(v[1]);
  *beta = v[0];
  if (norm == 0) return 0;
  *beta = -copysign(hypot(v[0], norm), v[0]);
  const double tau = (*beta - v[0]) / *beta, head = v[0] - *beta;
  v[1] /= head;
  v[2] = count == 3 ? v[2] / head : 0;
  return tau;
}

// Reflects columns k.. of rows first..last of a matrix: a = a H.
static void reflect_columns(int count, int64_t first, int64_t last, double* a, int64_t ld,
                            int64_t k, const double v[3], double tau) {
  for (int64_t i = first; i <= last; i++) {
    double* row = a + i * ld + k;
    const double sum = tau * (row[0] + v[1] * row[1] + (count == 3 ? v[2] * row[2] : 0));
    row[0] -= sum;
    row[1] -= sum * v[1];
    if (count == 3) row[2] -= sum * v[2];
  }
}

static void reflect_rows(const schur_t* s, int count, int64_t k, const double v[3], double tau) {
  double *x = at(s, k, 0), *y = at(s, k + 1, 0), *w = count == 3 ? at(s, k + 2, 0) : NULL;
  for (int64_t j = k; j < s->n; j++) {
    const double sum = tau * (x[j] + v[1] * y[j] + (w ? v[2] * w[j] : 0));
    x[j] -= sum;
    y[j] -= sum * v[1];
    if (w) w[j] -= sum * v[2];
  }
}

static void sweep(const schur_t* s, int64_t first, int64_t last, const shifts_t* shifts) {
  double v[3], beta;
  const int64_t start = sweep_start(s, first, last, shifts, v);
  for (int64_t k = start; k < last; k++) {
    const int count = last - k + 1 < 3 ? 2 : 3;
    if (k > start) {
      for (int i = 0; i < count; i++) v[i] = *at(s, k + i, k - 1);
    }
    const double tau = reflector(count, v, &beta);
    if (k > start) {
      *at(s, k, k - 1) = beta;
      for (int i = 1; i < count; i++) *at(s, k + i, k - 1) = 0;
    } else if (start > first) {
      *at(s, k, k - 1) *= 1 - tau;
    }
    reflect_rows(s, count, k, v, tau);
    reflect_columns(count, 0, k + 3 < last ? k + 3 : last, s->h, s->ld, k, v, tau);
    if (s->z) reflect_columns(count, 0, s->n - 1, s->z, s->ld, k, v, tau);
  }
}

// ---- 2 x 2 blocks -------------------------------------------------------------------------------

typedef struct block {
  double a, b, c, d;  // [a b; c d]
  double cosine, sine;
} block_t;

// Handles a block whose eigenvalues are close or complex: makes the diagonals equal, then splits it
// if the off-diagonal entries have the same sign (two real eigenvalues).
static void standardise_pair(block_t* t, double half) {
  const double sum = t->b + t->c, apart = t->a - t->d;
  const double length = hypot(sum, apart);
  t->cosine = sqrt((1 + fabs(sum) / length) / 2);
  t->sine = -(half / (length * t->cosine)) * copysign(1, sum);
  const double cs = t->cosine, sn = t->sine;
  const double aa = t->a * cs + t->b * sn, bb = -t->a * sn + t->b * cs;
  const double cc = t->c * cs + t->d * sn, dd = -t->c * sn + t->d * cs;
  t->a = aa * cs + cc * sn;
  t->b = bb * cs + dd * sn;
  t->c = -aa * sn + cc * cs;
  t->d = -bb * sn + dd * cs;
  const double middle = (t->a + t->d) / 2;
  t->a = t->d = middle;
  if (t->c == 0) return;
  if (t->b == 0) {
    t->b = -t->c;
    t->c = 0;
    t->cosine = -sn;
    t->sine = cs;
  } else if (signbit(t->b) == signbit(t->c)) {
    const double upper = sqrt(fabs(t->b)), lower = sqrt(fabs(t->c));
    const double p = copysign(upper * lower, t->c), scale = 1 / sqrt(fabs(t->b + t->c));
    t->a = middle + p;
    t->d = middle - p;
    t->b -= t->c;
    t->c = 0;
    const double c1 = upper * scale, s1 = lower * scale;
    t->cosine = cs * c1 - sn * s1;
    t->sine = cs * s1 + sn * c1;
  }
}

// Reduces the block to triangular form, or to equal diagonals if its eigenvalues are complex.
static void standardise(block_t* t, double epsilon) {
  t->cosine = 1;
  t->sine = 0;
  if (t->c == 0) return;
  if (t->b == 0) {
    const double kept = t->d;
    t->d = t->a;
    t->a = kept;
    t->b = -t->c;
    t->c = 0;
    t->cosine = 0;
    t->sine = 1;
    return;
  }
  if (t->a == t->d && signbit(t->b) != signbit(t->c)) return;
  const double half = (t->a - t->d) / 2, most = fmax(fabs(t->b), fabs(t->c));
  const double least = fmin(fabs(t->b), fabs(t->c)) * copysign(1, t->b) * copysign(1, t->c);
  const double scale = fmax(fabs(half), most);
  const double z = half / scale * half + most / scale * least;
  if (z < 4 * epsilon) {
    standardise_pair(t, half);
    return;
  }
  const double root = half + copysign(sqrt(scale) * sqrt(z), half);
  const double length = hypot(t->c, root);
  t->a = t->d + root;
  t->d -= most / root * least;
  t->cosine = root / length;
  t->sine = t->c / length;
  t->b -= t->c;
  t->c = 0;
}

static void rotate_pair(double* x, int64_t step_x, double* y, int64_t step_y, int64_t count,
                        double c, double s) {
  for (int64_t i = 0; i < count; i++) {
    const double left = x[i * step_x], right = y[i * step_y];
    x[i * step_x] = c * left + s * right;
    y[i * step_y] = c * right - s * left;
  }
}

// Standardises the block at rows i - 1 and i and updates the rest of the matrix.
static void deflate_pair(const schur_t* s, int64_t i, double complex* w) {
  const int64_t k = i - 1, n = s->n;
  block_t t = {.a = *at(s, k, k), .b = *at(s, k, i), .c = *at(s, i, k), .d = *at(s, i, i)};
  standardise(&t, s->epsilon);
  *at(s, k, k) = t.a;
  *at(s, k, i) = t.b;
  *at(s, i, k) = t.c;
  *at(s, i, i) = t.d;
  const double part = t.c == 0 ? 0 : sqrt(fabs(t.b)) * sqrt(fabs(t.c));
  w[k] = t.a + I * part;
  w[i] = t.d - I * part;
  if (i + 1 < n) {
    rotate_pair(at(s, k, i + 1), 1, at(s, i, i + 1), 1, n - i - 1, t.cosine, t.sine);
  }
  rotate_pair(at(s, 0, k), s->ld, at(s, 0, i), s->ld, k, t.cosine, t.sine);
  if (s->z) rotate_pair(s->z + k, s->ld, s->z + i, s->ld, n, t.cosine, t.sine);
}

int64_t hlo_schur_real(int64_t n, double epsilon, double least, int64_t ld, double* h, double* z,
                       double complex* w) {
  const schur_t s = {n, ld, h, z, epsilon, least};
  for (int64_t i = 2; i < n; i++) {
    for (int64_t j = 0; j + 1 < i; j++) *at(&s, i, j) = 0;
  }
  const int64_t sweeps_most = HLO_SCHUR_SWEEPS_EACH * (n > 10 ? n : 10);
  for (int64_t last = n - 1; last >= 0;) {
    int64_t first = 0, spent = 0;
    for (;; spent++) {
      int64_t k = last;
      while (k > first && !is_negligible(&s, first, last, k)) k--;
      first = k;
      if (first > 0) *at(&s, first, first - 1) = 0;
      if (first + 1 >= last) break;
      if (spent == sweeps_most) return last + 1;
      const shifts_t shifts = choose_shifts(&s, first, last, (int)(spent % 1000));
      sweep(&s, first, last, &shifts);
    }
    if (first == last) {
      w[last] = *at(&s, last, last);
    } else {
      deflate_pair(&s, last, w);
    }
    last = first - 1;
  }
  return 0;
}
