// SPDX-License-Identifier: Apache-2.0
// Triangular solves, Cholesky and LU of one type.
// source: Golub and Van Loan, "Matrix Computations": blocked triangular systems 3.1, LU 3.2 and
// 3.4, Cholesky 4.2; the panels are left-looking on columns, so that each is read once for all that
// is subtracted.

// ---- triangular solves --------------------------------------------------------------------------

// A triangular system, with op expressed by strides.
typedef struct NAME(system) {
  hlo_lapack_operand_t a;
  bool is_lower, is_unit;
  int64_t order;
  T* b;
  int64_t ldb;
} NAME(system_t);

// Copies the diagonal block of op(a) that starts at row and column i.
static void NAME(load_block)(const NAME(system_t)* s, int64_t i, int64_t count, T* block) {
  const T* data = (const T*)s->a.data + i * (s->a.row + s->a.col);
  for (int64_t r = 0; r < count; r++) {
    for (int64_t c = 0; c < count; c++) {
      const T entry = data[r * s->a.row + c * s->a.col];
      block[r * HLO_LAPACK_BLOCK + c] = s->a.is_conjugate ? NAME(conj)(entry) : entry;
    }
  }
}

// x / by. Complex numbers are multiplied by the inverse, unless the inverse is not a normal number.
static void NAME(divide)(int64_t n, T* x, T by) {
#if IS_COMPLEX
  const R size = NAME(size)(by);
  if (size > 4 * REAL_LEAST && size < REAL_MAX / 4) {
    const T inverse = 1 / by;
    for (int64_t j = 0; j < n; j++) x[j] = NAME(mul)(x[j], inverse);
    return;
  }
#endif
  for (int64_t j = 0; j < n; j++) x[j] = x[j] / by;
}

// Solves with a dense block of at most HLO_LAPACK_BLOCK rows.
static void NAME(substitute)(bool is_lower, bool is_unit, int64_t m, int64_t n, const T* block,
                             T* b, int64_t ldb) {
  for (int64_t step = 0; step < m; step++) {
    const int64_t i = is_lower ? step : m - 1 - step, first = is_lower ? 0 : i + 1;
    const T* row = block + i * HLO_LAPACK_BLOCK;
    T* x = b + i * ldb;
    NAME(subtract)(n, step, b + first * ldb, ldb, row + first, 1, x);
    if (!is_unit) NAME(divide)(n, x, row[i]);
  }
}

// Solves for the unknowns `first` to `first + rows` and `count` columns of b recursively by halves,
// which makes the products as large as possible.
static void NAME(solve_rows)(const NAME(system_t)* s, int64_t first, int64_t rows, T* b,
                             int64_t count, void* scratch) {
  if (rows <= HLO_LAPACK_BLOCK) {
    T block[HLO_LAPACK_BLOCK * HLO_LAPACK_BLOCK];
    NAME(load_block)(s, first, rows, block);
    NAME(substitute)(s->is_lower, s->is_unit, rows, count, block, b + first * s->ldb, s->ldb);
    return;
  }
  const int64_t blocks = (rows + HLO_LAPACK_BLOCK - 1) / HLO_LAPACK_BLOCK;
  const int64_t top = blocks / 2 * HLO_LAPACK_BLOCK, middle = first + top, bottom = rows - top;
  const int64_t known = s->is_lower ? first : middle, known_rows = s->is_lower ? top : bottom;
  const int64_t wanted = s->is_lower ? middle : first, wanted_rows = rows - known_rows;
  hlo_lapack_operand_t left = s->a;
  left.data = (const T*)s->a.data + wanted * s->a.row + known * s->a.col;
  NAME(solve_rows)(s, known, known_rows, b, count, scratch);
  NAME(product)(HLO_GEMM_SUBTRACT, wanted_rows, count, known_rows, left,
                NAME(plain)(b + known * s->ldb, s->ldb), b + wanted * s->ldb, s->ldb, scratch);
  NAME(solve_rows)(s, wanted, wanted_rows, b, count, scratch);
}

// Solves for `count` columns of b from `first` on.
static void NAME(solve_stripe)(const void* arg, int64_t first, int64_t count, void* scratch) {
  const NAME(system_t)* s = arg;
  NAME(solve_rows)(s, 0, s->order, s->b + first, count, scratch);
}

static void NAME(trsm)(const hlo_triangle_t* triangle, int64_t m, int64_t n, void* b, int64_t ldb,
                       const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  const bool is_plain = triangle->form == HLO_LAPACK_PLAIN;
  NAME(system_t) system = {.a = {triangle->a, triangle->lda, 1, false},
                           .is_lower = triangle->is_lower,
                           .is_unit = triangle->is_unit,
                           .order = m,
                           .b = b,
                           .ldb = ldb};
  // x op(a) = b is op(a)^T x^T = b^T: one more transposition.
  if (is_plain == !triangle->is_left) {
    system.a = (hlo_lapack_operand_t){triangle->a, 1, triangle->lda, false};
    system.is_lower = !triangle->is_lower;
  }
  system.a.is_conjugate = triangle->form == HLO_LAPACK_ADJOINT;
  if (triangle->is_left) {
    NAME(run_stripes)(work, pieces, m, n, m * m / 2, NAME(solve_stripe), &system);
    return;
  }
  T* transposed = hlo_lapack_take(&pieces, (size_t)(m * n) * sizeof(T));
  NAME(transpose)(false, m, n, b, ldb, transposed, m);
  system.b = transposed;
  system.ldb = m;
  system.order = n;
  NAME(run_stripes)(work, pieces, n, m, n * n / 2, NAME(solve_stripe), &system);
  NAME(transpose)(false, n, m, transposed, m, b, ldb);
}

// ---- Cholesky -----------------------------------------------------------------------------------

// Computes columns of the factor; row c of the panel is column c, from the panel's first row on.
static int64_t NAME(cholesky_panel)(int64_t m, int64_t count, T* panel, int64_t ldp) {
  for (int64_t c = 0; c < count; c++) {
    T* column = panel + c * ldp + c;
    T row[HLO_LAPACK_BLOCK];
    for (int64_t k = 0; k < c; k++) row[k] = NAME(conj)(panel[k * ldp + c]);
    NAME(subtract)(m - c, c, panel + c, ldp, row, 1, column);
    const R pivot = NAME(real)(column[0]);
    if (!(pivot > 0)) return c + 1;
    const R root = SQRT(pivot);
    column[0] = root;
    for (int64_t i = 1; i < m - c; i++) column[i] = column[i] / root;
  }
  return 0;
}

// The update of the rows right of a panel: subtracts panel panel', below the diagonal only.
typedef struct NAME(trailing) {
  T* a;  // the remaining square matrix
  int64_t lda;
  const T* panel;  // the panel's rows for that matrix
  int64_t ldp, count;
} NAME(trailing_t);

static void NAME(trailing_stripe)(const void* arg, int64_t first, int64_t rows, void* scratch) {
  enum { STEP = 2 * HLO_LAPACK_BLOCK };
  const NAME(trailing_t)* t = arg;
  for (int64_t i = first; i < first + rows; i += STEP) {
    const int64_t count = NAME(least)(STEP, first + rows - i);
    const hlo_lapack_operand_t left = {t->panel + i, 1, t->ldp, false};
    hlo_lapack_operand_t right = {t->panel, t->ldp, 1, true};
    NAME(product)(HLO_GEMM_SUBTRACT, count, i, t->count, left, right, t->a + i * t->lda, t->lda,
                  scratch);
    T corner[STEP * STEP];
    T* diagonal = t->a + i * (t->lda + 1);
    right.data = t->panel + i;
    NAME(product)(HLO_GEMM_SET, count, count, t->count, left, right, corner, STEP, scratch);
    for (int64_t r = 0; r < count; r++) {
      for (int64_t c = 0; c <= r; c++) diagonal[r * t->lda + c] -= corner[r * STEP + c];
    }
  }
}

static int64_t NAME(cholesky)(int64_t n, T* a, int64_t lda, const hlo_lapack_work_t* work,
                              hlo_lapack_pieces_t pieces) {
  T* panel = hlo_lapack_take(&pieces, (size_t)(n * HLO_LAPACK_BLOCK) * sizeof(T));
  for (int64_t j = 0; j < n; j += HLO_LAPACK_BLOCK) {
    const int64_t count = NAME(least)(HLO_LAPACK_BLOCK, n - j), m = n - j;
    T* corner = a + j * (lda + 1);
    NAME(transpose)(false, m, count, corner, lda, panel, m);
    const int64_t failed = NAME(cholesky_panel)(m, count, panel, m);
    for (int64_t r = 0; r < count; r++) {
      for (int64_t c = 0; c <= r; c++) corner[r * lda + c] = panel[c * m + r];
    }
    NAME(transpose)(false, count, m - count, panel + count, m, corner + count * lda, lda);
    if (failed) return j + failed;
    const NAME(trailing_t) trailing = {.a = corner + count * (lda + 1),
                                       .lda = lda,
                                       .panel = panel + count,
                                       .ldp = m,
                                       .count = count};
    NAME(run_stripes)(work, pieces, m, m - count, (m - count) * count / 2, NAME(trailing_stripe),
                      &trailing);
  }
  return 0;
}

static int64_t NAME(potrf)(bool is_lower, int64_t n, void* data, int64_t lda,
                           const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  if (is_lower) return NAME(cholesky)(n, data, lda, work, pieces);
  T* a = data;  // the upper factor is the adjoint of the lower one
  T* transposed = hlo_lapack_take(&pieces, (size_t)(n * n) * sizeof(T));
  NAME(transpose)(true, n, n, a, lda, transposed, n);
  const int64_t failed = NAME(cholesky)(n, transposed, n, work, pieces);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i; j < n; j++) a[i * lda + j] = NAME(conj)(transposed[j * n + i]);
  }
  return failed;
}

// ---- LU -----------------------------------------------------------------------------------------

// Returns the index of the largest of `count` entries; the first if none compares.
static int64_t NAME(largest)(int64_t count, const T* x) {
  enum { LANES = 16 };
  R lanes[LANES], best = -1;
  for (int l = 0; l < LANES; l++) lanes[l] = -1;
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES) {
    for (int l = 0; l < LANES; l++) {
      const R size = NAME(size)(x[i + l]);
      lanes[l] = size > lanes[l] ? size : lanes[l];
    }
  }
  for (; i < count; i++) {
    const R size = NAME(size)(x[i]);
    best = size > best ? size : best;
  }
  for (int l = 0; l < LANES; l++) best = lanes[l] > best ? lanes[l] : best;
  for (i = 0; i < count; i++) {
    if (NAME(size)(x[i]) == best) return i;
  }
  return 0;
}

static inline void NAME(swap)(T* x, T* y) {
  const T kept = *x;
  *x = *y;
  *y = kept;
}

// Computes columns of L and U; row c of the panel is column c. pivots: rows of the panel, 0-based.
static int64_t NAME(lu_panel)(int64_t m, int64_t count, T* panel, int64_t ldp, int64_t* pivots) {
  int64_t info = 0;
  for (int64_t c = 0; c < count; c++) {
    T* column = panel + c * ldp;
    const int64_t done = NAME(least)(c, m);
    for (int64_t k = 0; k < done; k++) {
      NAME(swap)(&column[k], &column[pivots[k]]);
    }
    for (int64_t k = 0; k + 1 < done; k++) {
      const T factor = column[k];
      const T* lower = panel + k * ldp;
      for (int64_t i = k + 1; i < done; i++) column[i] -= NAME(mul)(factor, lower[i]);
    }
    NAME(subtract)(m - done, done, panel + done, ldp, column, 1, column + done);
    if (c >= m) continue;
    const int64_t pivot = c + NAME(largest)(m - c, column + c);
    pivots[c] = pivot;
    if (NAME(size)(column[pivot]) == 0) {
      if (info == 0) info = c + 1;
      continue;
    }
    if (pivot != c) {
      for (int64_t k = 0; k <= c; k++) NAME(swap)(&panel[k * ldp + c], &panel[k * ldp + pivot]);
    }
    NAME(divide)(m - c - 1, column + c + 1, column[c]);
  }
  return info;
}

typedef struct NAME(lu_step) {
  T* a;  // from the panel's first row on
  int64_t lda, first;  // first: the first column to update
  int64_t m, count;    // rows, columns of the panel
  const T* panel;
  const T* corner;  // the unit lower triangle
  const int64_t* pivots;
} NAME(lu_step_t);

static void NAME(swap_rows)(const NAME(lu_step_t)* s, int64_t first, int64_t columns) {
  for (int64_t k = 0; k < s->count; k++) {
    if (s->pivots[k] == k) continue;
    T *x = s->a + k * s->lda + first, *y = s->a + s->pivots[k] * s->lda + first;
    for (int64_t j = 0; j < columns; j++) NAME(swap)(&x[j], &y[j]);
  }
}

// Updates the columns right of a panel: swap, solve for U, subtract L U.
static void NAME(lu_stripe)(const void* arg, int64_t first, int64_t columns, void* scratch) {
  const NAME(lu_step_t)* s = arg;
  T* top = s->a + s->first + first;
  NAME(swap_rows)(s, s->first + first, columns);
  NAME(substitute)(true, true, s->count, columns, s->corner, top, s->lda);
  const hlo_lapack_operand_t left = {s->panel + s->count, 1, s->m, false};
  NAME(product)(HLO_GEMM_SUBTRACT, s->m - s->count, columns, s->count, left,
                NAME(plain)(top, s->lda), top + s->count * s->lda, s->lda, scratch);
}

static int64_t NAME(getrf)(int64_t m, int64_t n, void* data, int64_t lda, int32_t* pivots,
                           const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  T* a = data;
  T* panel = hlo_lapack_take(&pieces, (size_t)(m * HLO_LAPACK_BLOCK) * sizeof(T));
  T corner[HLO_LAPACK_BLOCK * HLO_LAPACK_BLOCK];
  int64_t swaps[HLO_LAPACK_BLOCK], info = 0;
  const int64_t steps = NAME(least)(m, n);
  for (int64_t j = 0; j < steps; j += HLO_LAPACK_BLOCK) {
    const int64_t count = NAME(least)(HLO_LAPACK_BLOCK, steps - j), rows = m - j;
    NAME(transpose)(false, rows, count, a + j * (lda + 1), lda, panel, rows);
    const int64_t failed = NAME(lu_panel)(rows, count, panel, rows, swaps);
    if (failed && !info) info = j + failed;
    NAME(transpose)(false, count, rows, panel, rows, a + j * (lda + 1), lda);
    for (int64_t i = 0; i < count; i++) {
      pivots[j + i] = (int32_t)(j + swaps[i] + 1);
      for (int64_t c = 0; c < i; c++) corner[i * HLO_LAPACK_BLOCK + c] = panel[c * rows + i];
    }
    const NAME(lu_step_t) step = {.a = a + j * lda,
                                  .lda = lda,
                                  .first = j + count,
                                  .m = rows,
                                  .count = count,
                                  .panel = panel,
                                  .corner = corner,
                                  .pivots = swaps};
    NAME(swap_rows)(&step, 0, j);
    NAME(run_stripes)(work, pieces, rows, n - j - count, rows * count, NAME(lu_stripe), &step);
  }
  return info;
}

// ---- tridiagonal systems ------------------------------------------------------------------------

// dl[i] joins row i + 1 to i and du[i] row i to i + 1; n - 1 of each. All are overwritten.
static int64_t NAME(gtsv)(bool is_perturbed, int64_t n, int64_t columns, void* below,
                          void* diagonal, void* above, void* data, int64_t ldb,
                          const hlo_lapack_work_t* work) {
  T *dl = below, *d = diagonal, *du = above, *b = data;
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  T* second = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));  // second superdiagonal, filled by
                                                                // pivoting
  R largest = 0;
  for (int64_t i = 0; is_perturbed && i < n; i++) {
    const R size = NAME(size)(d[i]) + (i + 1 < n ? NAME(size)(dl[i]) + NAME(size)(du[i]) : 0);
    if (size > largest) largest = size;
  }
  const R least = largest > 0 ? largest * REAL_EPSILON : REAL_LEAST / REAL_EPSILON;
  for (int64_t i = 0; i < n; i++) {
    const bool is_last = i + 1 == n;
    const bool is_swapped = !is_last && NAME(size)(dl[i]) > NAME(size)(d[i]);
    T* row = b + i * ldb;
    second[i] = 0;
    if (is_swapped) {
      NAME(swap)(&d[i], &dl[i]);
      NAME(swap)(&du[i], &d[i + 1]);
      if (i + 2 < n) {
        second[i] = du[i + 1];
        du[i + 1] = 0;
      }
      for (int64_t j = 0; j < columns; j++) NAME(swap)(&row[j], &row[ldb + j]);
    }
    if (is_perturbed && NAME(size)(d[i]) < least) d[i] = NAME(real)(d[i]) < 0 ? -least : least;
    if (NAME(size)(d[i]) == 0) return i + 1;
    if (is_last) break;
    const T factor = dl[i] / d[i];
    d[i + 1] -= NAME(mul)(factor, du[i]);
    if (i + 2 < n) du[i + 1] -= NAME(mul)(factor, second[i]);
    NAME(subtract)(columns, 1, row, ldb, &factor, 1, row + ldb);
  }
  for (int64_t i = n - 1; i >= 0; i--) {
    T* row = b + i * ldb;
    if (i + 1 < n) NAME(subtract)(columns, 1, row + ldb, ldb, &du[i], 1, row);
    if (i + 2 < n) NAME(subtract)(columns, 1, row + 2 * ldb, ldb, &second[i], 1, row);
    for (int64_t j = 0; j < columns; j++) row[j] = row[j] / d[i];
  }
  return 0;
}
