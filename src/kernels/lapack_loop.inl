// SPDX-License-Identifier: Apache-2.0
// Cholesky and triangular solves for one number type. Needs T, MATRIX, CONJ(x), REAL(x), NAME(x).

// Lower factor of the view (i, j) -> data[i * row + j * col].
static int64_t NAME(factor)(int64_t n, T* a, int64_t row, int64_t col) {
  for (int64_t j = 0; j < n; j++) {
    const T* top = a + j * row;
    double pivot = REAL(top[j * col]);
    for (int64_t k = 0; k < j; k++) pivot -= REAL(top[k * col] * CONJ(top[k * col]));
    if (!(pivot > 0)) return j + 1;
    const double root = sqrt(pivot);
    a[j * row + j * col] = root;
    for (int64_t i = j + 1; i < n; i++) {
      const T* left = a + i * row;
      T sum = left[j * col];
      if (col == 1) {
        T lanes[4] = {0};
        int64_t k = 0;
        for (; k + 4 <= j; k += 4) {
          for (int l = 0; l < 4; l++) lanes[l] += left[k + l] * CONJ(top[k + l]);
        }
        for (; k < j; k++) lanes[0] += left[k] * CONJ(top[k]);
        sum -= (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
      } else {
        for (int64_t k = 0; k < j; k++) sum -= left[k * col] * CONJ(top[k * col]);
      }
      a[i * row + j * col] = sum / root;
    }
  }
  return 0;
}

// The upper factor is the lower one of the transposed view: there the matrix is its own conjugate.
static int64_t NAME(potrf)(bool lower, int64_t n, MATRIX a) {
  return lower ? NAME(factor)(n, a.data, a.row, a.col) : NAME(factor)(n, a.data, a.col, a.row);
}

// Solves a x = b for a triangular view of a (conjugated if `conjugate`), in place of b (m x n).
static void NAME(substitute)(bool lower, bool conjugate, bool unit, int64_t m, int64_t n, MATRIX a,
                             MATRIX b) {
  for (int64_t step = 0; step < m; step++) {
    const int64_t i = lower ? step : m - 1 - step;
    T* x = b.data + i * b.row;
    const int64_t first = lower ? 0 : i + 1, last = lower ? i : m;
    for (int64_t k = first; k < last; k++) {
      const T entry = a.data[i * a.row + k * a.col];
      const T factor = conjugate ? CONJ(entry) : entry;
      const T* other = b.data + k * b.row;
      if (b.col == 1) {
        for (int64_t j = 0; j < n; j++) x[j] -= factor * other[j];
      } else {
        for (int64_t j = 0; j < n; j++) x[j * b.col] -= factor * other[j * b.col];
      }
    }
    if (unit) continue;
    const T entry = a.data[i * a.row + i * a.col];
    const T pivot = conjugate ? CONJ(entry) : entry;
    for (int64_t j = 0; j < n; j++) x[j * b.col] /= pivot;
  }
}

static void NAME(trsm)(bool left, bool lower, hlo_transpose_t transpose, bool unit_diagonal, int64_t m,
                int64_t n, MATRIX a, MATRIX b) {
  const bool conjugate = transpose == HLO_LAPACK_ADJOINT;
  bool transposed = transpose != HLO_LAPACK_PLAIN;
  int64_t order = m, columns = n;
  if (!left) {  // x op(a) = b is op(a)' x' = b'
    const MATRIX turned = {b.data, b.col, b.row};
    b = turned;
    transposed = !transposed;
    order = n;
    columns = m;
  }
  const MATRIX view = {a.data, transposed ? a.col : a.row, transposed ? a.row : a.col};
  const bool is_lower = transposed ? !lower : lower;
  if (b.col == 1 || b.row != 1) {
    NAME(substitute)(is_lower, conjugate, unit_diagonal, order, columns, view, b);
    return;
  }
  for (int64_t j = 0; j < columns; j++) {  // dense columns: one after the other
    const MATRIX column = {b.data + j * b.col, b.row, 1};
    NAME(substitute)(is_lower, conjugate, unit_diagonal, order, 1, view, column);
  }
}

#undef T
#undef MATRIX
#undef CONJ
#undef REAL
#undef NAME
