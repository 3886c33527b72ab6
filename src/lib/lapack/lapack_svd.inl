// SPDX-License-Identifier: Apache-2.0
// Singular values of one type: QR, bidiagonal form of the square factor, implicit QR (lapack_ql.h),
// rotations applied to the vectors in batches.
// source: Golub and Van Loan, "Matrix Computations" 5.4 and 8.6; Chan 1982 for the initial QR.

// Reduces the square a = Q B P', B upper bidiagonal with real d and e. The reflectors of Q stay in
// the columns, those of P in the rows.
static void NAME(bidiagonalise)(int64_t n, T* a, int64_t lda, R* d, R* e, T* tau_q, T* tau_p,
                                hlo_lapack_pieces_t pieces) {
  T* v = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  T* row = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  T* column = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  for (int64_t i = 0; i < n; i++) {
    T* corner = a + i * (lda + 1);
    const int64_t m = n - i;
    for (int64_t r = 0; r < m; r++) v[r] = corner[r * lda];
    tau_q[i] = NAME(reflector)(m, v);
    d[i] = NAME(real)(v[0]);
    for (int64_t r = 0; r < m; r++) corner[r * lda] = v[r];
    v[0] = 1;
    if (m == 1) break;
    NAME(reflect_rows)(m, m - 1, v, tau_q[i], corner + 1, lda, row);
    for (int64_t c = 0; c < m - 1; c++) v[c] = NAME(conj)(corner[1 + c]);
    tau_p[i] = NAME(reflector)(m - 1, v);
    e[i] = NAME(real)(v[0]);
    memcpy(corner + 1, v, (size_t)(m - 1) * sizeof(T));
    v[0] = 1;
    NAME(reflect_columns)(m - 1, m - 1, v, tau_p[i], corner + lda + 1, lda, row, column);
  }
}

// Forms the columns of P as rows of p. The rows of a hold the reflectors; scratch as for orgqr.
static void NAME(form_right)(int64_t n, const T* a, int64_t lda, const T* tau, T* p, int64_t ld,
                             const hlo_lapack_work_t* work) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      p[i * ld + j] = i == j ? 1 : j >= 1 && j < i ? a[(j - 1) * lda + i] : 0;
    }
  }
  if (n > 1) NAME(orgqr)(n - 1, n - 1, n - 1, p + ld + 1, ld, tau, work);
}

// Decomposes a square matrix of order n: the rows of u_rows become the left vectors, those of vt
// the right ones, conjugated, both sorted by `order`. Rows have `ld` elements.
static int64_t NAME(svd_square)(int64_t n, T* a, int64_t lda, hlo_bidiagonal_t* b, bool has_vectors,
                                T* u_rows, T* vt, int64_t ld, const hlo_lapack_work_t* work,
                                hlo_lapack_pieces_t pieces) {
  T* tau_q = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  T* tau_p = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  R* d = hlo_lapack_take(&pieces, (size_t)n * sizeof(R));
  R* e = hlo_lapack_take(&pieces, (size_t)n * sizeof(R));
  NAME(bidiagonalise)(n, a, lda, d, e, tau_q, tau_p, pieces);
  for (int64_t i = 0; i < n; i++) {
    b->d[i] = d[i];
    b->e[i] = i + 1 < n ? e[i] : 0;
  }
  double scale;
  if (!NAME(scale)(n, b->d, b->e, &scale)) return n;
  if (has_vectors) {
    const hlo_lapack_work_t rest = {pieces.next, (size_t)(pieces.end - pieces.next),
                                    work->parallel};
    memset(u_rows, 0, (size_t)(n * ld) * sizeof(T));
    memset(vt, 0, (size_t)(n * ld) * sizeof(T));
    NAME(form_right)(n, a, lda, tau_p, u_rows, ld, &rest);
    NAME(transpose)(true, n, n, u_rows, ld, vt, ld);
    NAME(orgqr)(n, n, n, a, lda, tau_q, &rest);
    NAME(transpose)(false, n, n, a, lda, u_rows, ld);
  }
  const int64_t most = n * HLO_ROTATIONS_SWEEPS;
  hlo_rotations_t left, right;
  hlo_rotations_t* const sides[2] = {&left, &right};
  for (int side = 0; side < 2; side++) {
    sides[side]->c = hlo_lapack_take(&pieces, (size_t)most * sizeof(double));
    sides[side]->s = hlo_lapack_take(&pieces, (size_t)most * sizeof(double));
  }
  R* c = hlo_lapack_take(&pieces, (size_t)most * sizeof(R));
  R* s = hlo_lapack_take(&pieces, (size_t)most * sizeof(R));
  for (bool is_more = true; is_more;) {
    is_more = bidiagonal_run(b, &left, &right);
    for (int side = 0; has_vectors && side < 2; side++) {
      NAME(rotate_rows)(sides[side], (R*)(side ? vt : u_rows), ld * NAME(parts), n * NAME(parts), c,
                        s, work->parallel);
    }
  }
  for (int64_t i = 0; i < n; i++) {
    if (b->d[i] < 0 || (b->d[i] == 0 && signbit(b->d[i]))) {
      b->d[i] = -b->d[i];
      for (int64_t j = 0; has_vectors && j < n; j++) vt[i * ld + j] = -vt[i * ld + j];
    }
    b->d[i] *= scale;
  }
  return b->left;
}

// The memory of a singular value decomposition of a tall matrix.
typedef struct NAME(svd) {
  int64_t m, n;  // m >= n
  T* q;          // m x q_columns: the reflectors of the QR, then Q
  int64_t q_columns;
  T *square, *u_rows, *vt, *tau;
  int64_t ld;  // of u_rows and vt
  hlo_bidiagonal_t bidiagonal;
  int64_t* order;
} NAME(svd_t);

// Computes the left vectors: Q times those of the square factor, and the rest of Q. `out` has rows
// of `columns` elements, whose columns are the vectors (is_transposed: rows of m, conjugated).
static void NAME(svd_left)(const NAME(svd_t)* svd, int64_t columns, bool is_transposed, T* out,
                           const hlo_lapack_work_t* work, hlo_lapack_pieces_t pieces) {
  const int64_t m = svd->m, n = svd->n;
  const hlo_lapack_work_t rest = {pieces.next, (size_t)(pieces.end - pieces.next), work->parallel};
  T* u = svd->q;
  if (m > n || columns > n) {  // u = Q u of the square factor
    NAME(orgqr)(m, svd->q_columns, n, svd->q, svd->q_columns, svd->tau, &rest);
    T* left = svd->square;
    NAME(transpose)(false, n, n, svd->u_rows, svd->ld, left, n);
    T* rows = hlo_lapack_take(&pieces, (size_t)(HLO_LAPACK_BLOCK * n) * sizeof(T));
    for (int64_t i = 0; i < m; i += HLO_LAPACK_BLOCK) {
      const int64_t count = NAME(least)(HLO_LAPACK_BLOCK, m - i);
      T* product = u + i * svd->q_columns;
      NAME(product)(HLO_GEMM_SET, count, n, n, NAME(plain)(product, svd->q_columns),
                    NAME(plain)(left, n), rows, n, pieces.next);
      for (int64_t r = 0; r < count; r++) {
        memcpy(product + r * svd->q_columns, rows + r * n, (size_t)n * sizeof(T));
      }
    }
  } else {
    NAME(transpose)(false, n, n, svd->u_rows, svd->ld, u, n);
  }
  for (int64_t i = 0; i < m; i++) {
    for (int64_t j = 0; j < columns; j++) {
      const T entry = u[i * svd->q_columns + (j < n ? svd->order[j] : j)];
      if (is_transposed) {
        out[j * m + i] = NAME(conj)(entry);
      } else {
        out[i * columns + j] = entry;
      }
    }
  }
}

// Computes the right vectors: `out` has them conjugated in rows (is_transposed: as columns).
static void NAME(svd_right)(const NAME(svd_t)* svd, bool is_transposed, T* out) {
  const int64_t n = svd->n;
  for (int64_t i = 0; i < n; i++) {
    const T* row = svd->vt + svd->order[i] * svd->ld;
    for (int64_t j = 0; j < n; j++) {
      if (is_transposed) {
        out[j * n + i] = NAME(conj)(row[j]);
      } else {
        out[i * n + j] = row[j];
      }
    }
  }
}

static int64_t NAME(gesdd)(int64_t m, int64_t n, void* a, void* values, int64_t u_columns, void* u,
                           int64_t vt_rows, void* vt, const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  const bool has_vectors = u != NULL;
  const bool is_transposed = m < n;  // a wide matrix is the adjoint of a tall one
  NAME(svd_t) svd = {.m = is_transposed ? n : m, .n = is_transposed ? m : n};
  const int64_t tall = svd.m, order = svd.n, left_columns = is_transposed ? vt_rows : u_columns;
  svd.q_columns = left_columns > order ? left_columns : order;
  svd.ld = hlo_lapack_padded(order, sizeof(T));
  svd.q = hlo_lapack_take(&pieces, (size_t)(tall * svd.q_columns) * sizeof(T));
  svd.square = hlo_lapack_take(&pieces, (size_t)(order * order) * sizeof(T));
  svd.u_rows = hlo_lapack_take(&pieces, (size_t)(order * svd.ld) * sizeof(T));
  svd.vt = hlo_lapack_take(&pieces, (size_t)(order * svd.ld) * sizeof(T));
  svd.tau = hlo_lapack_take(&pieces, (size_t)order * sizeof(T));
  svd.bidiagonal = (hlo_bidiagonal_t){.n = order, .left = order, .epsilon = REAL_EPSILON / 2};
  svd.bidiagonal.d = hlo_lapack_take(&pieces, (size_t)order * sizeof(double));
  svd.bidiagonal.e = hlo_lapack_take(&pieces, (size_t)order * sizeof(double));
  svd.order = hlo_lapack_take(&pieces, (size_t)order * sizeof(int64_t));
  if (is_transposed) {
    NAME(transpose)(true, m, n, a, n, svd.q, svd.q_columns);
  } else {
    for (int64_t i = 0; i < m; i++) {
      memcpy(svd.q + i * svd.q_columns, (const T*)a + i * n, (size_t)n * sizeof(T));
    }
  }
  const bool has_qr = tall > order || left_columns > order;
  if (has_qr) {
    const hlo_lapack_work_t rest = {pieces.next, (size_t)(pieces.end - pieces.next),
                                    work->parallel};
    NAME(geqrf)(tall, order, svd.q, svd.q_columns, svd.tau, &rest);
  }
  for (int64_t i = 0; i < order; i++) {
    for (int64_t j = 0; j < order; j++) {
      svd.square[i * order + j] = has_qr && j < i ? 0 : svd.q[i * svd.q_columns + j];
    }
  }
  const int64_t failed = NAME(svd_square)(order, svd.square, order, &svd.bidiagonal, has_vectors,
                                          svd.u_rows, svd.vt, svd.ld, work, pieces);
  double* d = svd.bidiagonal.d;
  for (int64_t i = 0; i < order; i++) d[i] = -d[i];
  NAME(sort_order)(order, d, svd.order);
  for (int64_t i = 0; i < order; i++) ((R*)values)[i] = (R)-d[svd.order[i]];
  if (!has_vectors || failed) return failed;
  NAME(svd_left)(&svd, left_columns, is_transposed, is_transposed ? vt : u, work, pieces);
  NAME(svd_right)(&svd, is_transposed, is_transposed ? u : vt);
  return 0;
}
