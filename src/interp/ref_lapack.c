// SPDX-License-Identifier: Apache-2.0
// Linear systems and orthogonal factors (see ref_lapack.h).
#include "interp/ref_lapack.h"

#include <math.h>

static void swap(hlo_c128_t* a, hlo_c128_t* b) {
  const hlo_c128_t c = *a;
  *a = *b;
  *b = c;
}

// The size by which pivots are chosen, as in LAPACK.
static double size_of(hlo_c128_t x) {
  return fabs(creal(x)) + fabs(cimag(x));
}

// ---- triangles ----------------------------------------------------------------------------------

// Element (i, j) of the lower factor: of the upper one it is the adjoint.
static hlo_c128_t lower_at(bool is_lower, int64_t n, const hlo_c128_t* a, int64_t i, int64_t j) {
  return is_lower ? a[i * n + j] : conj(a[j * n + i]);
}

int64_t hlo_ref_potrf(bool is_lower, int64_t n, hlo_c128_t* a) {
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = j; i < n; i++) {
      hlo_c128_t sum = lower_at(is_lower, n, a, i, j);
      for (int64_t k = 0; k < j; k++) {
        sum -= lower_at(is_lower, n, a, i, k) * conj(lower_at(is_lower, n, a, j, k));
      }
      if (i == j && !(creal(sum) > 0)) return j + 1;
      const hlo_c128_t value = i == j ? sqrt(creal(sum)) : sum / creal(a[j * n + j]);
      a[is_lower ? i * n + j : j * n + i] = is_lower ? value : conj(value);
    }
  }
  return 0;
}

static hlo_c128_t triangle_at(const hlo_ref_triangle_t* t, int64_t i, int64_t j) {
  if (i == j && t->is_unit) return 1;
  const hlo_c128_t value = t->is_transposed ? t->a[j * t->n + i] : t->a[i * t->n + j];
  return t->is_conjugated ? conj(value) : value;
}

void hlo_ref_trsm(const hlo_ref_triangle_t* t, bool is_left, int64_t other, hlo_c128_t* b) {
  const int64_t n = t->n;
  const int64_t step = is_left ? other : 1, line = is_left ? 1 : n;  // of the unknowns; of lines
  const bool is_forward = (t->is_lower != t->is_transposed) == is_left;
  for (int64_t l = 0; l < other; l++) {
    hlo_c128_t* x = b + l * line;
    for (int64_t s = 0; s < n; s++) {
      const int64_t i = is_forward ? s : n - 1 - s;
      hlo_c128_t sum = x[i * step];
      for (int64_t r = 0; r < s; r++) {
        const int64_t k = is_forward ? r : n - 1 - r;
        sum -= (is_left ? triangle_at(t, i, k) : triangle_at(t, k, i)) * x[k * step];
      }
      sum /= triangle_at(t, i, i);
      x[i * step] = t->is_real ? creal(sum) : sum;
    }
  }
}

// ---- elimination --------------------------------------------------------------------------------

int64_t hlo_ref_getrf(int64_t m, int64_t n, hlo_c128_t* a, hlo_c128_t* pivots) {
  int64_t info = 0;
  for (int64_t j = 0; j < m && j < n; j++) {
    int64_t best = j;
    for (int64_t i = j + 1; i < m; i++) {
      if (size_of(a[i * n + j]) > size_of(a[best * n + j])) best = i;
    }
    pivots[j] = (double)(best + 1);
    for (int64_t k = 0; k < n && best != j; k++) swap(&a[j * n + k], &a[best * n + k]);
    if (a[j * n + j] == 0) {
      if (info == 0) info = j + 1;
      continue;
    }
    for (int64_t i = j + 1; i < m; i++) {
      a[i * n + j] /= a[j * n + j];
      for (int64_t k = j + 1; k < n; k++) a[i * n + k] -= a[i * n + j] * a[j * n + k];
    }
  }
  return info;
}

// Eliminates what is left of the diagonal in row i + 1; dl[i + 1] becomes the second superdiagonal
// of row i, as in LAPACK.
static void eliminate(int64_t i, int64_t n, int64_t columns, hlo_c128_t* dl, hlo_c128_t* d,
                      hlo_c128_t* du, hlo_c128_t* b) {
  const hlo_c128_t factor = dl[i + 1] / d[i], second = i + 2 < n ? dl[i] : 0;
  d[i + 1] -= factor * du[i];
  if (i + 2 < n) du[i + 1] -= factor * second;
  for (int64_t j = 0; j < columns; j++) b[(i + 1) * columns + j] -= factor * b[i * columns + j];
}

int64_t hlo_ref_gtsv(double tiny, int64_t n, int64_t columns, hlo_c128_t* dl, hlo_c128_t* d,
                     hlo_c128_t* du, hlo_c128_t* b) {
  for (int64_t i = 0; i < n; i++) {
    const bool is_last = i + 1 == n;
    hlo_c128_t below = is_last ? 0 : dl[i + 1];
    dl[i] = 0;
    if (size_of(below) > size_of(d[i])) {
      swap(&d[i], &below);
      swap(&du[i], &d[i + 1]);
      if (i + 2 < n) swap(&dl[i], &du[i + 1]);
      for (int64_t j = 0; j < columns; j++) swap(&b[i * columns + j], &b[(i + 1) * columns + j]);
    }
    if (size_of(d[i]) < tiny) d[i] = creal(d[i]) < 0 ? -tiny : tiny;
    if (d[i] == 0) return i + 1;
    if (is_last) break;
    dl[i + 1] = below;
    eliminate(i, n, columns, dl, d, du, b);
  }
  for (int64_t i = n - 1; i >= 0; i--) {
    for (int64_t j = 0; j < columns; j++) {
      hlo_c128_t* x = b + j;
      if (i + 1 < n) x[i * columns] -= du[i] * x[(i + 1) * columns];
      if (i + 2 < n) x[i * columns] -= dl[i] * x[(i + 2) * columns];
      x[i * columns] /= d[i];
    }
  }
  return 0;
}

// ---- reflectors ---------------------------------------------------------------------------------

// Makes I - tau v v' with v[0] = 1, whose adjoint maps x (`count` elements, `step` apart) to beta
// and zeros; beta and the rest of v replace x. Returns tau.
static hlo_c128_t reflect(int64_t count, int64_t step, hlo_c128_t* x) {
  double norm = 0;
  for (int64_t i = 1; i < count; i++) norm = hypot(norm, cabs(x[i * step]));
  if (count < 1 || (norm == 0 && cimag(x[0]) == 0)) return 0;
  const double beta = -copysign(hypot(cabs(x[0]), norm), creal(x[0]));
  const hlo_c128_t tau = (beta - x[0]) / beta;
  for (int64_t i = 1; i < count; i++) x[i * step] /= x[0] - beta;
  x[0] = beta;
  return tau;
}

// A reflector: v[0] = 1 and the elements of v after it, `step` apart.
typedef struct {
  hlo_c128_t tau;
  int64_t count, step;
  const hlo_c128_t* v;
} reflector_t;

static hlo_c128_t vector_at(const reflector_t* h, int64_t i) {
  return i ? h->v[i * h->step] : 1;
}

// Multiplies `count` lines of c, `line` apart, whose elements are `step` apart, by the reflector:
// from the left where the lines are columns, from the right (is_row) where they are rows.
static void apply(const reflector_t* h, bool is_row, int64_t count, int64_t line, int64_t step,
                  hlo_c128_t* c) {
  for (int64_t l = 0; l < count; l++) {
    hlo_c128_t* x = c + l * line;
    hlo_c128_t sum = 0;
    for (int64_t i = 0; i < h->count; i++) {
      sum += x[i * step] * (is_row ? vector_at(h, i) : conj(vector_at(h, i)));
    }
    for (int64_t i = 0; i < h->count; i++) {
      x[i * step] -= h->tau * sum * (is_row ? conj(vector_at(h, i)) : vector_at(h, i));
    }
  }
}

// Moves the largest of the columns from j on to j, and its name.
static void move_largest(int64_t m, int64_t n, int64_t j, hlo_c128_t* a, hlo_c128_t* order) {
  int64_t best = j;
  double most = -1;
  for (int64_t k = j; k < n; k++) {
    double norm = 0;
    for (int64_t i = j; i < m; i++) norm = hypot(norm, cabs(a[i * n + k]));
    if (norm > most) best = k;
    if (norm > most) most = norm;
  }
  for (int64_t i = 0; i < m && best != j; i++) swap(&a[i * n + j], &a[i * n + best]);
  if (best != j) swap(&order[j], &order[best]);
}

// Names the columns and moves the asked ones to the front. Returns their number.
static int64_t move_asked(int64_t m, int64_t n, hlo_c128_t* a, hlo_c128_t* order) {
  int64_t asked = 0;
  for (int64_t j = 0; j < n; j++) {
    const bool is_asked = order[j] != 0;
    order[j] = (double)(j + 1);
    if (!is_asked) continue;
    for (int64_t i = 0; i < m && asked != j; i++) swap(&a[i * n + asked], &a[i * n + j]);
    if (asked != j) swap(&order[asked], &order[j]);
    asked++;
  }
  return asked;
}

void hlo_ref_geqrf(int64_t m, int64_t n, hlo_c128_t* a, hlo_c128_t* order, hlo_c128_t* tau) {
  const int64_t asked = order ? move_asked(m, n, a, order) : n;
  for (int64_t j = 0; j < m && j < n; j++) {
    if (j >= asked) move_largest(m, n, j, a, order);
    hlo_c128_t* x = a + j * n + j;
    tau[j] = reflect(m - j, n, x);
    const reflector_t h = {conj(tau[j]), m - j, n, x};
    apply(&h, false, n - j - 1, 1, n, x + 1);
  }
}

void hlo_ref_ormqr(bool is_left, bool is_adjoint, int64_t k, int64_t columns, const hlo_c128_t* a,
                   const hlo_c128_t* tau, int64_t m, int64_t n, hlo_c128_t* c) {
  const int64_t order = is_left ? m : n;
  for (int64_t s = 0; s < k; s++) {
    const int64_t i = is_left == is_adjoint ? s : k - 1 - s;
    const reflector_t h = {is_adjoint ? conj(tau[i]) : tau[i], order - i, columns,
                           a + i * columns + i};
    if (is_left) {
      apply(&h, false, n, 1, n, c + i * n);
    } else {
      apply(&h, true, m, n, 1, c + i);
    }
  }
}

void hlo_ref_gehrd(int64_t n, int64_t low, int64_t high, hlo_c128_t* a, hlo_c128_t* tau) {
  for (int64_t i = 0; i + 1 < n; i++) tau[i] = 0;
  for (int64_t i = low; i + 1 < high; i++) {
    hlo_c128_t* x = a + (i + 1) * n + i;
    tau[i] = reflect(high - i - 1, n, x);
    reflector_t h = {tau[i], high - i - 1, n, x};
    apply(&h, true, high, n, 1, a + i + 1);
    h.tau = conj(tau[i]);
    apply(&h, false, n - i - 1, 1, n, x + 1);
  }
}

// Multiplies the Hermitian matrix, of which one triangle is valid, by a reflector from both sides:
// first the other triangle is completed. Rows and columns first, first + step, ...
static void apply_both(const reflector_t* h, bool is_lower, int64_t n, int64_t first, int64_t sign,
                       hlo_c128_t* a) {
  for (int64_t p = 0; p < h->count; p++) {
    for (int64_t q = 0; q < h->count; q++) {
      const int64_t i = first + sign * p, j = first + sign * q;
      if (is_lower ? i < j : i > j) a[i * n + j] = conj(a[j * n + i]);
    }
  }
  hlo_c128_t* block = a + first * n + first;
  apply(h, true, h->count, sign * n, sign, block);
  const reflector_t adjoint = {conj(h->tau), h->count, h->step, h->v};
  apply(&adjoint, false, h->count, sign, sign * n, block);
}

void hlo_ref_sytrd(bool is_lower, int64_t n, hlo_c128_t* a, hlo_c128_t* d, hlo_c128_t* e,
                   hlo_c128_t* tau) {
  for (int64_t s = 0; s + 1 < n; s++) {
    const int64_t i = is_lower ? s : n - 2 - s, first = is_lower ? i + 1 : i;
    const int64_t sign = is_lower ? 1 : -1;
    hlo_c128_t* x = is_lower ? a + (i + 1) * n + i : a + i * n + i + 1;
    const int64_t count = is_lower ? n - i - 1 : i + 1;
    tau[i] = reflect(count, sign * n, x);
    const reflector_t h = {tau[i], count, sign * n, x};
    apply_both(&h, is_lower, n, first, sign, a);
    e[i] = *x;
  }
  for (int64_t i = 0; i < n; i++) d[i] = creal(a[i * n + i]);
}
