// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and singular values by rotations (see ref_lapack.h).
#include <float.h>
#include <math.h>
#include <string.h>

#include "interp/ref_lapack.h"

enum { SWEEPS_MAX = 60, STEPS_MAX = 60 };  // of all pairs; of QR per eigenvalue

// Combines two lines by a unitary matrix: x = c x - conj(s) y, y = s x + c y.
static void rotate(int64_t count, int64_t step, double c, hlo_c128_t s, hlo_c128_t* x,
                   hlo_c128_t* y) {
  for (int64_t i = 0; i < count; i++) {
    const hlo_c128_t old = x[i * step];
    x[i * step] = c * old - conj(s) * y[i * step];
    y[i * step] = s * old + c * y[i * step];
  }
}

// Finds the rotation of columns that diagonalises [p, r; conj(r), q].
static void find_rotation(double p, double q, hlo_c128_t r, double* out_c, hlo_c128_t* out_s) {
  const double zeta = (q - p) / (2 * cabs(r));
  const double t = copysign(1, zeta) / (fabs(zeta) + hypot(1, zeta));
  *out_c = 1 / hypot(1, t);
  *out_s = *out_c * t * r / cabs(r);
}

static void set_identity(int64_t n, hlo_c128_t* a) {
  memset(a, 0, (size_t)(n * n) * sizeof *a);
  for (int64_t i = 0; i < n; i++) a[i * n + i] = 1;
}

static void swap_columns(int64_t rows, int64_t n, int64_t i, int64_t j, hlo_c128_t* a) {
  for (int64_t r = 0; r < rows && i != j; r++) {
    const hlo_c128_t x = a[r * n + i];
    a[r * n + i] = a[r * n + j];
    a[r * n + j] = x;
  }
}

// Makes columns from `have` on orthonormal to all before them, in the n x width matrix q: what is
// left of the unit vector that they span least.
static void complete(int64_t n, int64_t width, int64_t have, hlo_c128_t* q) {
  for (int64_t j = have; j < width; j++) {
    int64_t best = 0;
    double most = -1;
    for (int64_t i = 0; i < n; i++) {
      double left = 1;
      for (int64_t k = 0; k < j; k++) left -= creal(q[i * width + k] * conj(q[i * width + k]));
      if (left > most) best = i;
      if (left > most) most = left;
    }
    for (int64_t i = 0; i < n; i++) q[i * width + j] = i == best;
    for (int pass = 0; pass < 2; pass++) {
      double norm = 0;
      for (int64_t k = 0; k < j; k++) {
        hlo_c128_t dot = 0;
        for (int64_t i = 0; i < n; i++) dot += conj(q[i * width + k]) * q[i * width + j];
        for (int64_t i = 0; i < n; i++) q[i * width + j] -= dot * q[i * width + k];
      }
      for (int64_t i = 0; i < n; i++) norm = hypot(norm, cabs(q[i * width + j]));
      for (int64_t i = 0; i < n; i++) q[i * width + j] /= norm;
    }
  }
}

// ---- Hermitian matrices, singular values --------------------------------------------------------

void hlo_ref_syevd(bool is_lower, int64_t n, hlo_c128_t* a, hlo_c128_t* values, hlo_c128_t* v) {
  double norm = 0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      if (is_lower ? i < j : i > j) a[i * n + j] = conj(a[j * n + i]);
      norm = hypot(norm, cabs(a[i * n + j]));
    }
  }
  set_identity(n, v);
  bool is_done = false;
  for (int sweep = 0; sweep < SWEEPS_MAX && !is_done; sweep++) {
    is_done = true;
    for (int64_t i = 0; i < n; i++) {
      for (int64_t j = i + 1; j < n; j++) {
        const hlo_c128_t r = a[i * n + j];
        if (!(cabs(r) > DBL_EPSILON / 16 * norm)) continue;
        double c;
        hlo_c128_t s;
        find_rotation(creal(a[i * n + i]), creal(a[j * n + j]), r, &c, &s);
        rotate(n, n, c, s, a + i, a + j);
        rotate(n, 1, c, conj(s), a + i * n, a + j * n);
        rotate(n, n, c, s, v + i, v + j);
        a[i * n + j] = a[j * n + i] = 0;
        is_done = false;
      }
    }
  }
  for (int64_t i = 0; i < n; i++) values[i] = creal(a[i * n + i]);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i + 1; j < n; j++) {
      if (!(creal(values[j]) < creal(values[i]))) continue;
      swap_columns(1, n, i, j, values);
      swap_columns(n, n, i, j, v);
    }
  }
}

// Rotates pairs of the k columns of w (each `rows` long, in a matrix of `width` columns), and of v,
// until they are orthogonal.
static void orthogonalise(int64_t rows, int64_t width, int64_t k, hlo_c128_t* w, hlo_c128_t* v) {
  bool is_done = false;
  for (int sweep = 0; sweep < SWEEPS_MAX && !is_done; sweep++) {
    is_done = true;
    for (int64_t i = 0; i < k; i++) {
      for (int64_t j = i + 1; j < k; j++) {
        double p = 0, q = 0, c;
        hlo_c128_t r = 0, s;
        for (int64_t e = 0; e < rows; e++) {
          const hlo_c128_t x = w[e * width + i], y = w[e * width + j];
          p += creal(x * conj(x));
          q += creal(y * conj(y));
          r += conj(x) * y;
        }
        if (!(cabs(r) > DBL_EPSILON * sqrt(p) * sqrt(q)) || cabs(r) < DBL_MIN) continue;
        find_rotation(p, q, r, &c, &s);
        rotate(rows, width, c, s, w + i, w + j);
        rotate(k, k, c, s, v + i, v + j);
        is_done = false;
      }
    }
  }
}

// Divides the columns of w by their lengths, which become the values, in descending order. Returns
// the number of columns that are not zero up to rounding.
static int64_t normalise(int64_t rows, int64_t width, int64_t k, hlo_c128_t* w, hlo_c128_t* v,
                         hlo_c128_t* values) {
  for (int64_t j = 0; j < k; j++) {
    double norm = 0;
    for (int64_t i = 0; i < rows; i++) norm = hypot(norm, cabs(w[i * width + j]));
    values[j] = norm;
  }
  int64_t rank = 0;
  for (int64_t i = 0; i < k; i++) {
    for (int64_t j = i + 1; j < k; j++) {
      if (!(creal(values[j]) > creal(values[i]))) continue;
      swap_columns(1, k, i, j, values);
      swap_columns(rows, width, i, j, w);
      swap_columns(k, k, i, j, v);
    }
    if (!(creal(values[i]) > (double)k * DBL_EPSILON * creal(values[0]))) continue;
    for (int64_t r = 0; r < rows; r++) w[r * width + i] /= values[i];
    rank++;
  }
  return rank;
}

void hlo_ref_gesdd(int64_t m, int64_t n, const hlo_c128_t* a, hlo_c128_t* values, int64_t u_columns,
                   hlo_c128_t* u, int64_t vt_rows, hlo_c128_t* vt, hlo_c128_t* spare) {
  const bool is_wide = m < n;  // then the adjoint of `a` is decomposed
  const int64_t rows = is_wide ? n : m, k = is_wide ? m : n;
  const int64_t wanted = is_wide ? vt_rows : u_columns, width = wanted > k ? wanted : k;
  hlo_c128_t *w = spare, *v = spare + rows * width;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < k; j++) w[i * width + j] = is_wide ? conj(a[j * n + i]) : a[i * n + j];
  }
  set_identity(k, v);
  orthogonalise(rows, width, k, w, v);
  complete(rows, wanted, normalise(rows, width, k, w, v, values), w);
  for (int64_t j = 0; j < u_columns; j++) {
    for (int64_t i = 0; i < m; i++)
      u[i * u_columns + j] = is_wide ? v[i * k + j] : w[i * width + j];
  }
  for (int64_t i = 0; i < vt_rows; i++) {
    for (int64_t j = 0; j < n; j++) vt[i * n + j] = conj(is_wide ? w[j * width + i] : v[j * k + i]);
  }
}

// ---- general matrices ---------------------------------------------------------------------------

// The eigenvalue of the last 2 x 2 block up to row `end` that is nearer to its last element.
static hlo_c128_t shift_of(int64_t n, int64_t end, const hlo_c128_t* a) {
  const hlo_c128_t* row = a + end * n + end;
  const hlo_c128_t half = (row[-n - 1] - row[0]) / 2;
  const hlo_c128_t root = csqrt(half * half + row[-n] * row[-1]);
  return row[0] + half + (cabs(half + root) < cabs(half - root) ? root : -root);
}

// One step of QR on rows and columns begin..end: a bulge is chased down the diagonal.
static void qr_step(int64_t n, int64_t begin, int64_t end, hlo_c128_t shift, hlo_c128_t* a,
                    hlo_c128_t* z) {
  hlo_c128_t x = a[begin * n + begin] - shift, y = a[(begin + 1) * n + begin];
  for (int64_t k = begin; k < end; k++) {
    const double length = hypot(cabs(x), cabs(y));
    const double c = length == 0 ? 1 : cabs(x) / length;
    const hlo_c128_t s = length == 0 ? 0 : x == 0 ? 1 : -c * y / x;
    rotate(n, 1, c, s, a + k * n, a + (k + 1) * n);
    rotate(n, n, c, conj(s), a + k, a + k + 1);
    rotate(n, n, c, conj(s), z + k, z + k + 1);
    if (k > begin) a[(k + 1) * n + k - 1] = 0;
    x = a[(k + 1) * n + k];
    y = k + 2 <= end ? a[(k + 2) * n + k] : 0;
  }
}

int64_t hlo_ref_schur(int64_t n, hlo_c128_t* a, hlo_c128_t* z, hlo_c128_t* spare) {
  hlo_ref_gehrd(n, 0, n, a, spare);
  set_identity(n, z);
  hlo_ref_ormqr(true, false, n - 1, n, a + n, spare, n - 1, n, z + n);
  for (int64_t i = 2; i < n; i++) memset(a + i * n, 0, (size_t)(i - 1) * sizeof *a);
  int64_t steps = 0;
  for (int64_t end = n - 1; end > 0;) {
    int64_t begin = end;
    while (begin > 0 &&
           cabs(a[begin * n + begin - 1]) >
               DBL_EPSILON * (cabs(a[begin * n + begin]) + cabs(a[(begin - 1) * n + begin - 1]))) {
      begin--;
    }
    if (begin > 0) a[begin * n + begin - 1] = 0;
    if (begin == end) {
      end--;
      steps = 0;
      continue;
    }
    if (++steps > STEPS_MAX) return end + 1;
    const bool is_stuck = steps % 10 == 0;  // any other shift breaks a cycle
    const hlo_c128_t shift =
        is_stuck ? a[end * n + end] + cabs(a[end * n + end - 1]) : shift_of(n, end, a);
    qr_step(n, begin, end, shift, a, z);
  }
  return 0;
}

// Turns two rows and columns so that the diagonal of their block is constant.
static void make_equal(int64_t n, int64_t i, hlo_c128_t* a, hlo_c128_t* z) {
  const double p = creal(a[i * n + i]), q = creal(a[(i + 1) * n + i + 1]);
  const double sum = creal(a[i * n + i + 1] + a[(i + 1) * n + i]);
  const double angle = atan2(p - q, sum) / 2;
  rotate(n, 1, cos(angle), sin(angle), a + i * n, a + (i + 1) * n);
  rotate(n, n, cos(angle), sin(angle), a + i, a + i + 1);
  rotate(n, n, cos(angle), sin(angle), z + i, z + i + 1);
  a[i * n + i] = a[(i + 1) * n + i + 1] = (p + q) / 2;
}

// Replaces columns first.. of a by their product with q (size x size).
static void multiply_columns(int64_t n, int64_t first, int64_t size, const hlo_c128_t* q,
                             hlo_c128_t* a, hlo_c128_t* row) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < size; j++) {
      row[j] = 0;
      for (int64_t k = 0; k < size; k++) row[j] += a[i * n + first + k] * q[k * size + j];
    }
    memcpy(a + i * n + first, row, (size_t)size * sizeof *row);
  }
}

static void transpose(int64_t n, hlo_c128_t* a) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < i; j++) {
      const hlo_c128_t x = a[i * n + j];
      a[i * n + j] = a[j * n + i];
      a[j * n + i] = x;
    }
  }
}

// Finds an orthogonal matrix q whose first columns (1 or 2, returned) span the real space of an
// eigenvector. Returns 0 if none was found.
static int64_t find_space(int64_t size, hlo_c128_t* block, hlo_c128_t* q, hlo_c128_t* vectors,
                          hlo_c128_t* spare) {
  if (hlo_ref_schur(size, block, vectors, spare)) return 0;
  double norm = 0;
  int64_t largest = 0;
  for (int64_t i = 0; i < size; i++) {
    norm = hypot(norm, cabs(block[i * size + i]));
    if (cabs(vectors[i * size]) > cabs(vectors[largest * size])) largest = i;
  }
  const bool is_real = fabs(cimag(block[0])) <= 16 * (double)size * DBL_EPSILON * norm;
  const hlo_c128_t phase = conj(vectors[largest * size]) / cabs(vectors[largest * size]);
  const int64_t columns = is_real || size < 2 ? 1 : 2;
  double length = 0, dot = 0;
  for (int64_t i = 0; i < size; i++) {
    q[i * size] = creal(vectors[i * size] * phase);
    length = hypot(length, creal(q[i * size]));
  }
  for (int64_t i = 0; i < size; i++) q[i * size] /= length;
  for (int64_t i = 0; i < size; i++) dot += creal(q[i * size]) * cimag(vectors[i * size] * phase);
  length = 0;
  for (int64_t i = 0; i < size && columns == 2; i++) {
    q[i * size + 1] = cimag(vectors[i * size] * phase) - dot * creal(q[i * size]);
    length = hypot(length, creal(q[i * size + 1]));
  }
  for (int64_t i = 0; i < size && columns == 2; i++) q[i * size + 1] /= length;
  complete(size, size, columns, q);
  return columns;
}

int64_t hlo_ref_schur_real(int64_t n, hlo_c128_t* a, hlo_c128_t* z, hlo_c128_t* spare) {
  hlo_c128_t *block = spare, *q = block + n * n, *vectors = q + n * n, *row = vectors + n * n;
  set_identity(n, z);
  for (int64_t first = 0; first < n;) {
    const int64_t size = n - first;
    for (int64_t i = 0; i < size; i++) {
      memcpy(block + i * size, a + (first + i) * n + first, (size_t)size * sizeof *a);
    }
    const int64_t columns = find_space(size, block, q, vectors, row);
    if (columns == 0) return size;
    multiply_columns(n, first, size, q, a, row);
    multiply_columns(n, first, size, q, z, row);
    transpose(n, a);  // q is real: the rows are multiplied by its transpose
    multiply_columns(n, first, size, q, a, row);
    transpose(n, a);
    for (int64_t i = first + columns; i < n; i++) {
      for (int64_t j = first; j < first + columns; j++) a[i * n + j] = 0;
    }
    if (columns == 2) make_equal(n, first, a, z);
    first += columns;
  }
  return 0;
}

void hlo_ref_schur_vector(bool is_left, int64_t n, int64_t k, const hlo_c128_t* t,
                          const hlo_c128_t* z, hlo_c128_t* vector, hlo_c128_t* spare) {
  double norm = 0, length = 0;
  int64_t largest = 0;
  for (int64_t i = 0; i < n * n; i++) norm = hypot(norm, cabs(t[i]));
  const double least = norm > 0 ? DBL_EPSILON * norm : 1;
  memset(spare, 0, (size_t)n * sizeof *spare);
  spare[k] = 1;
  for (int64_t s = 1; is_left ? k + s < n : k - s >= 0; s++) {
    const int64_t i = is_left ? k + s : k - s;
    hlo_c128_t sum = 0, gap = t[i * n + i] - t[k * n + k];
    for (int64_t r = 0; r < s; r++) {
      const int64_t j = is_left ? k + r : k - r;
      sum += is_left ? conj(spare[j]) * t[j * n + i] : spare[j] * t[i * n + j];
    }
    if (cabs(gap) < least) gap = least;
    spare[i] = is_left ? conj(-sum / gap) : -sum / gap;
  }
  for (int64_t i = 0; i < n; i++) {
    vector[i] = 0;
    for (int64_t j = 0; j < n; j++) vector[i] += z[i * n + j] * spare[j];
    length = hypot(length, cabs(vector[i]));
    if (cabs(vector[i]) > cabs(vector[largest])) largest = i;
  }
  const hlo_c128_t scale = conj(vector[largest]) / (cabs(vector[largest]) * length);
  for (int64_t i = 0; i < n; i++) vector[i] *= scale;
}
