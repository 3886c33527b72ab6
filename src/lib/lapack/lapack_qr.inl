// SPDX-License-Identifier: Apache-2.0
// Householder QR of one type.
// source: Golub and Van Loan, "Matrix Computations" 5.1 and 5.2; blocks of reflectors as I - V S V'
// after Schreiber and Van Loan 1989 (S is LAPACK's T).

// Computes the reflector that maps x (m elements) to (beta, 0, ...): beta at the top, v below (v[0]
// = 1 implied). Returns tau.
static T NAME(reflector)(int64_t m, T* x) {
  const R norm = NAME(norm)(m - 1, x + 1);
  const T alpha = x[0];
#if IS_COMPLEX
  if (norm == 0 && __imag__ alpha == 0) return 0;
  const R length = HYPOT(HYPOT(__real__ alpha, __imag__ alpha), norm);
#else
  if (norm == 0) return 0;
  const R length = HYPOT(alpha, norm);
#endif
  const R beta = -COPYSIGN(length, NAME(real)(alpha));
  const T head = alpha - beta;
  for (int64_t i = 1; i < m; i++) x[i] = x[i] / head;
  x[0] = beta;
#if IS_COMPLEX
  return NAME(make)((beta - __real__ alpha) / beta, -__imag__ alpha / beta);
#else
  return (beta - alpha) / beta;
#endif
}

// A product of reflectors, H1 H2 ... = I - V S V'. Row k of `v` is the vector of reflector k:
// zeros, one, the rest.
typedef struct NAME(block) {
  int64_t m, count;
  T* v;
  int64_t ldv;
  T* s;  // upper triangle, HLO_LAPACK_BLOCK a row
} NAME(block_t);

static void NAME(block_take)(NAME(block_t)* block, int64_t m, hlo_lapack_pieces_t* pieces) {
  block->v = hlo_lapack_take(pieces, (size_t)(m * HLO_LAPACK_BLOCK) * sizeof(T));
  block->s = hlo_lapack_take(pieces, HLO_LAPACK_BLOCK * HLO_LAPACK_BLOCK * sizeof(T));
  block->ldv = m;
}

// Appends the reflector whose vector is row k of v.
static void NAME(block_grow)(NAME(block_t)* block, int64_t k, T tau) {
  T inner[HLO_LAPACK_BLOCK];
  NAME(dots)(block->m - k, k, block->v + k, block->ldv, block->v + k * block->ldv + k, inner);
  for (int64_t i = 0; i < k; i++) {  // column k of S: -tau S V' v
    T sum = 0;
    for (int64_t j = i; j < k; j++) sum += NAME(mul)(block->s[i * HLO_LAPACK_BLOCK + j], inner[j]);
    block->s[i * HLO_LAPACK_BLOCK + k] = -NAME(mul)(tau, sum);
  }
  for (int64_t j = 0; j < k; j++) block->s[k * HLO_LAPACK_BLOCK + j] = 0;
  block->s[k * HLO_LAPACK_BLOCK + k] = tau;
  block->count = k + 1;
}

// y = (H1 H2 ...)' y for one vector.
static void NAME(block_apply_adjoint)(const NAME(block_t)* block, T* y) {
  T inner[HLO_LAPACK_BLOCK], scaled[HLO_LAPACK_BLOCK];
  NAME(dots)(block->m, block->count, block->v, block->ldv, y, inner);
  for (int64_t i = 0; i < block->count; i++) {
    T sum = 0;
    for (int64_t j = 0; j <= i; j++) {
      sum += NAME(mul)(NAME(conj)(block->s[j * HLO_LAPACK_BLOCK + i]), inner[j]);
    }
    scaled[i] = sum;
  }
  NAME(subtract)(block->m, block->count, block->v, block->ldv, scaled, 1, y);
}

typedef struct NAME(reflection) {
  const NAME(block_t)* block;
  bool is_adjoint;
  T* c;
  int64_t ldc;
} NAME(reflection_t);

static void NAME(reflect_stripe)(const void* arg, int64_t first, int64_t columns, void* scratch) {
  const NAME(reflection_t)* r = arg;
  const NAME(block_t)* block = r->block;
  T* c = r->c + first;
  T* inner = scratch;
  T* scaled = inner + HLO_LAPACK_BLOCK * columns;
  char* rest = (char*)(scaled + HLO_LAPACK_BLOCK * columns);
  rest += -(uintptr_t)rest & 63;
  const hlo_lapack_operand_t rows = {block->v, block->ldv, 1, true};
  const hlo_lapack_operand_t transposed = {block->v, 1, block->ldv, false};
  const hlo_lapack_operand_t s = r->is_adjoint ? NAME(adjoint)(block->s, HLO_LAPACK_BLOCK)
                                               : NAME(plain)(block->s, HLO_LAPACK_BLOCK);
  NAME(product)(HLO_GEMM_SET, block->count, columns, block->m, rows, NAME(plain)(c, r->ldc), inner,
                columns, rest);
  NAME(product)(HLO_GEMM_SET, block->count, columns, block->count, s, NAME(plain)(inner, columns),
                scaled, columns, rest);
  NAME(product)(HLO_GEMM_SUBTRACT, block->m, columns, block->count, transposed,
                NAME(plain)(scaled, columns), c, r->ldc, rest);
}

// c = Q c or Q' c for the product Q of the block's reflectors; c has block->m rows.
static void NAME(reflect)(const NAME(block_t)* block, bool is_adjoint, int64_t columns, T* c,
                          int64_t ldc, const hlo_lapack_work_t* work, hlo_lapack_pieces_t pieces) {
  const NAME(reflection_t) r = {block, is_adjoint, c, ldc};
  NAME(run_stripes)(work, pieces, block->m, columns, 2 * block->m * block->count,
                    NAME(reflect_stripe), &r);
}

// Computes the reflectors of `count` columns, which are rows of the panel.
static void NAME(qr_panel)(int64_t m, int64_t count, T* panel, NAME(block_t)* block, T* tau) {
  block->m = m;
  block->count = 0;
  for (int64_t c = 0; c < count; c++) {
    T* column = panel + c * m;
    T* v = block->v + c * block->ldv;
    NAME(block_apply_adjoint)(block, column);
    tau[c] = NAME(reflector)(m - c, column + c);
    memset(v, 0, (size_t)c * sizeof(T));
    memcpy(v + c, column + c, (size_t)(m - c) * sizeof(T));
    v[c] = 1;
    NAME(block_grow)(block, c, tau[c]);
  }
}

static void NAME(geqrf)(int64_t m, int64_t n, void* data, int64_t lda, void* taus,
                        const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  T *a = data, *tau = taus;
  NAME(block_t) block;
  NAME(block_take)(&block, m, &pieces);
  T* panel = hlo_lapack_take(&pieces, (size_t)(m * HLO_LAPACK_BLOCK) * sizeof(T));
  const int64_t steps = NAME(least)(m, n);
  for (int64_t j = 0; j < steps; j += HLO_LAPACK_BLOCK) {
    const int64_t count = NAME(least)(HLO_LAPACK_BLOCK, steps - j), rows = m - j;
    T* corner = a + j * (lda + 1);
    NAME(transpose)(false, rows, count, corner, lda, panel, rows);
    NAME(qr_panel)(rows, count, panel, &block, tau + j);
    NAME(transpose)(false, count, rows, panel, rows, corner, lda);
    NAME(reflect)(&block, true, n - j - count, corner + count, lda, work, pieces);
  }
}

// Loads the block of reflectors from column j on, as stored by geqrf.
static void NAME(block_load)(int64_t m, int64_t j, int64_t count, const T* a, int64_t lda,
                             const T* tau, NAME(block_t)* block) {
  block->m = m - j;
  block->count = 0;
  NAME(transpose)(false, m - j, count, a + j * (lda + 1), lda, block->v, block->ldv);
  for (int64_t k = 0; k < count; k++) {
    T* v = block->v + k * block->ldv;
    memset(v, 0, (size_t)k * sizeof(T));
    v[k] = 1;
    NAME(block_grow)(block, k, tau[j + k]);
  }
}

static void NAME(orgqr)(int64_t m, int64_t n, int64_t k, void* data, int64_t lda, const void* tau,
                        const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  T* a = data;
  NAME(block_t) block;
  NAME(block_take)(&block, m, &pieces);
  const int64_t blocks = (k + HLO_LAPACK_BLOCK - 1) / HLO_LAPACK_BLOCK;
  int64_t started = k;  // columns from here on are those of Q, initially of the unit matrix
  for (int64_t i = 0; i < m; i++) {
    for (int64_t c = k; c < n; c++) a[i * lda + c] = i == c;
  }
  for (int64_t b = blocks - 1; b >= 0; b--) {
    const int64_t j = b * HLO_LAPACK_BLOCK, count = NAME(least)(HLO_LAPACK_BLOCK, k - j);
    NAME(block_load)(m, j, count, a, lda, tau, &block);
    for (int64_t i = 0; i < m; i++) {
      for (int64_t c = j; c < started; c++) a[i * lda + c] = i == c;
    }
    started = j;
    NAME(reflect)(&block, false, n - j, a + j * (lda + 1), lda, work, pieces);
  }
}

// ---- multiplication by Q ------------------------------------------------------------------------

static void NAME(ormqr)(bool is_left, bool is_adjoint, int64_t m, int64_t n, int64_t k,
                        const void* data, int64_t lda, const void* tau, void* matrix, int64_t ldc,
                        const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  const T* a = data;
  T* c = matrix;
  int64_t order = m, columns = n;
  if (!is_left) {  // c op(Q) is the adjoint of op(Q)' c'
    T* transposed = hlo_lapack_take(&pieces, (size_t)(m * n) * sizeof(T));
    NAME(transpose)(true, m, n, c, ldc, transposed, m);
    c = transposed;
    is_adjoint = !is_adjoint;
    order = n;
    columns = m;
  }
  const int64_t ld = is_left ? ldc : m;
  NAME(block_t) block;
  NAME(block_take)(&block, order, &pieces);
  const int64_t blocks = (k + HLO_LAPACK_BLOCK - 1) / HLO_LAPACK_BLOCK;
  for (int64_t step = 0; step < blocks; step++) {
    const int64_t j = (is_adjoint ? step : blocks - 1 - step) * HLO_LAPACK_BLOCK;
    NAME(block_load)(order, j, NAME(least)(HLO_LAPACK_BLOCK, k - j), a, lda, tau, &block);
    NAME(reflect)(&block, is_adjoint, columns, c + j * ld, ld, work, pieces);
  }
  if (!is_left) NAME(transpose)(true, n, m, c, m, matrix, ldc);
}

// ---- QR with column pivoting --------------------------------------------------------------------

// Returns the column, among those from j on, with the largest norm below row j. norms: the initial
// norms.
static int64_t NAME(largest_column)(int64_t n, int64_t j, const R* norms) {
  int64_t best = j;
  for (int64_t c = j + 1; c < n; c++) {
    if (norms[c] > norms[best]) best = c;
  }
  return best;
}

// Moves the columns that the caller marks to the front. Rows of `columns` are columns of the
// matrix.
static int64_t NAME(fixed_first)(int64_t m, int64_t n, T* columns, int32_t* order) {
  int64_t fixed = 0;
  for (int64_t c = 0; c < n; c++) {
    const bool is_fixed = order[c] != 0;
    order[c] = (int32_t)c + 1;
    if (!is_fixed) continue;
    if (c != fixed) {
      for (int64_t i = 0; i < m; i++) NAME(swap)(&columns[c * m + i], &columns[fixed * m + i]);
      order[c] = order[fixed];
      order[fixed] = (int32_t)c + 1;
    }
    fixed++;
  }
  return fixed;
}

static void NAME(geqp3)(int64_t m, int64_t n, void* a, int64_t lda, int32_t* order, void* taus,
                        const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  T *tau = taus, *columns = hlo_lapack_take(&pieces, (size_t)(m * n) * sizeof(T));
  T* v = hlo_lapack_take(&pieces, (size_t)m * sizeof(T));
  R* norms = hlo_lapack_take(&pieces, (size_t)n * sizeof(R));
  NAME(transpose)(false, m, n, a, lda, columns, m);
  const int64_t fixed = NAME(fixed_first)(m, n, columns, order);
  for (int64_t j = 0; j < NAME(least)(m, n); j++) {
    for (int64_t c = j; c < n; c++) norms[c] = NAME(norm)(m - j, columns + c * m + j);
    const int64_t pivot = j < fixed ? j : NAME(largest_column)(n, j, norms);
    if (pivot != j) {
      const int32_t kept = order[j];
      order[j] = order[pivot];
      order[pivot] = kept;
      for (int64_t i = 0; i < m; i++) NAME(swap)(&columns[j * m + i], &columns[pivot * m + i]);
    }
    T* column = columns + j * m + j;
    tau[j] = NAME(reflector)(m - j, column);
    memcpy(v, column, (size_t)(m - j) * sizeof(T));
    v[0] = 1;
    for (int64_t c = j + 1; c < n; c++) {
      T along;
      NAME(dots)(m - j, 1, v, m, columns + c * m + j, &along);
      along = NAME(mul)(NAME(conj)(tau[j]), along);
      NAME(subtract)(m - j, 1, v, m, &along, 1, columns + c * m + j);
    }
  }
  NAME(transpose)(false, n, m, columns, m, a, lda);
}

// ---- Hessenberg form ----------------------------------------------------------------------------

// a = H' a for the reflector v, tau on m rows and n columns; row: n elements of scratch.
static void NAME(reflect_rows)(int64_t m, int64_t n, const T* v, T tau, T* a, int64_t lda, T* row) {
  memset(row, 0, (size_t)n * sizeof(T));
  for (int64_t i = 0; i < m; i++) {
    const T factor = -NAME(conj)(v[i]);
    NAME(subtract)(n, 1, a + i * lda, lda, &factor, 1, row);
  }
  for (int64_t i = 0; i < m; i++) {
    const T factor = NAME(mul)(NAME(conj)(tau), v[i]);
    NAME(subtract)(n, 1, row, n, &factor, 1, a + i * lda);
  }
}

// a = a H for m rows and n columns; conjugated: n elements, column: m elements of scratch.
static void NAME(reflect_columns)(int64_t m, int64_t n, const T* v, T tau, T* a, int64_t lda,
                                  T* conjugated, T* column) {
  for (int64_t j = 0; j < n; j++) conjugated[j] = NAME(conj)(v[j]);
  NAME(dots)(n, m, a, lda, conjugated, column);
  for (int64_t i = 0; i < m; i++) {
    const T factor = NAME(mul)(tau, NAME(conj)(column[i]));
    NAME(subtract)(n, 1, conjugated, n, &factor, 1, a + i * lda);
  }
}

static void NAME(gehrd)(int64_t n, int64_t low, int64_t high, void* data, int64_t lda, void* taus,
                        const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  T *a = data, *tau = taus;
  T* v = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  T* row = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  T* column = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  for (int64_t j = 0; j + 1 < n; j++) tau[j] = 0;
  for (int64_t j = low; j + 1 < high; j++) {
    const int64_t m = high - j - 1;
    T* below = a + (j + 1) * lda + j;
    for (int64_t i = 0; i < m; i++) v[i] = below[i * lda];
    tau[j] = NAME(reflector)(m, v);
    for (int64_t i = 0; i < m; i++) below[i * lda] = v[i];
    v[0] = 1;
    NAME(reflect_columns)(high, m, v, tau[j], a + j + 1, lda, row, column);
    NAME(reflect_rows)(m, n - j - 1, v, tau[j], below + 1, lda, row);
  }
}
