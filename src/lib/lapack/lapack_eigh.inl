// SPDX-License-Identifier: Apache-2.0
// The Hermitian eigenproblem of one type: blocked reduction to a real tridiagonal matrix, implicit
// QL (lapack_ql.h), rotations applied to the vectors in batches.
// source: Dongarra, Hammarling, Sorensen 1989, "Block reduction of matrices to condensed forms";
// Golub and Van Loan 8.3.

// ---- plane rotations ----------------------------------------------------------------------------

typedef struct NAME(rotated) {
  const hlo_rotations_t* rotations;
  const R *c, *s;
  R* rows;  // `width` numbers each
  int64_t ld, width;
} NAME(rotated_t);

enum {
  NAME(rotated_vectors) = 4,  // processed together to hide latency
  NAME(rotated_width) = 128,  // columns per thread
};

// Applies all sweeps to `strip` vectors of numbers at `x`.
static inline __attribute__((always_inline)) void NAME(rotate_strip)(const NAME(rotated_t)* r, R* x,
                                                                     int strip) {
  const hlo_rotations_t* rotations = r->rotations;
  for (int64_t sweep = 0; sweep < rotations->sweep_count; sweep++) {
    const int64_t step = rotations->step[sweep] * r->ld;
    const R* cosines = r->c + rotations->offset[sweep];
    const R* sines = r->s + rotations->offset[sweep];
    R* row = x + rotations->start[sweep] * r->ld;
    NAME(vec) carried[NAME(rotated_vectors)];
    for (int v = 0; v < strip; v++) carried[v] = *(const NAME(vec)*)(row + v * NAME(lanes));
    for (int64_t i = 0; i < rotations->count[sweep]; i++) {
      const R c = cosines[i], s = sines[i];
      for (int v = 0; v < strip; v++) {
        const NAME(vec) next = *(const NAME(vec)*)(row + step + v * NAME(lanes));
        *(NAME(vec)*)(row + v * NAME(lanes)) = s * next + c * carried[v];
        carried[v] = c * next - s * carried[v];
      }
      row += step;
    }
    for (int v = 0; v < strip; v++) *(NAME(vec)*)(row + v * NAME(lanes)) = carried[v];
  }
}

static void NAME(rotate_chunk)(void* arg, uint64_t index) {
  const NAME(rotated_t)* r = arg;
  const int64_t last =
      NAME(least)(r->width, ((int64_t)index + 1) * NAME(rotated_width));
  int64_t i = (int64_t)index * NAME(rotated_width);
  for (; i + NAME(rotated_vectors) * NAME(lanes) <= last;
       i += NAME(rotated_vectors) * NAME(lanes)) {
    NAME(rotate_strip)(r, r->rows + i, NAME(rotated_vectors));
  }
  for (; i < last; i += NAME(lanes)) NAME(rotate_strip)(r, r->rows + i, 1);
}

// Converts the rotations of a batch to the type of the rows.
static R* NAME(narrow_rotations)(const hlo_rotations_t* rotations, const double* from, R* to) {
  if (rotations->sweep_count == 0) return to;
  const int64_t final = rotations->sweep_count - 1;
  const int64_t count = rotations->offset[final] + rotations->count[final];
  for (int64_t i = 0; i < count; i++) to[i] = (R)from[i];
  return to;
}

// Rotates rows of numbers that are padded to whole vectors. c, s: room for the rotations.
static void NAME(rotate_rows)(const hlo_rotations_t* rotations, R* rows, int64_t ld, int64_t width,
                              R* c, R* s, const hlo_parallel_t* parallel) {
  NAME(rotated_t) rotated = {rotations, NAME(narrow_rotations)(rotations, rotations->c, c),
                             NAME(narrow_rotations)(rotations, rotations->s, s), rows, ld, width};
  const int64_t chunks = (width + NAME(rotated_width) - 1) / NAME(rotated_width);
  hlo_parallel_for(parallel, (uint64_t)chunks, NAME(rotate_chunk), &rotated);
}

// ---- reduction to tridiagonal form --------------------------------------------------------------

// A panel of the reduction: rows 0.. are the vectors v, then w, then v again, so that
// v w' + w v' is one product.
typedef struct NAME(hermitian) {
  T* a;  // the remaining matrix, both triangles
  int64_t lda, m;
  T* pairs;
  int64_t ldp;
} NAME(hermitian_t);

// p = a v below row `from`, for the panel's matrix; a is its own adjoint, so it is read by rows.
static void NAME(multiply_rows)(const NAME(hermitian_t)* h, int64_t from, const T* v, T* p) {
  enum { ROWS = 16 };
  const int64_t m = h->m - from;
  T factors[ROWS];
  memset(p + from, 0, (size_t)m * sizeof(T));
  for (int64_t i = 0; i < m; i += ROWS) {
    const int64_t rows = NAME(least)(ROWS, m - i);
    for (int64_t r = 0; r < rows; r++) factors[r] = -NAME(conj)(v[from + i + r]);
    NAME(subtract)(m, rows, h->a + (from + i) * h->lda + from, h->lda, factors, 1, p + from);
  }
  for (int64_t i = from; i < h->m; i++) p[i] = NAME(conj)(p[i]);
}

// Computes column i of the panel: applies all earlier reflections to its entries, then creates the
// next reflector. Leaves the column in `column` as sytrd stores it. Returns tau.
static T NAME(tridiagonal_column)(const NAME(hermitian_t)* h, int64_t i, T* column) {
  const int64_t m = h->m;
  T *vs = h->pairs, *ws = vs + HLO_LAPACK_BLOCK * h->ldp;
  T *v = vs + i * h->ldp, *w = ws + i * h->ldp;
  T left[HLO_LAPACK_BLOCK], right[HLO_LAPACK_BLOCK];
  for (int64_t r = i; r < m; r++) column[r] = NAME(conj)(h->a[i * h->lda + r]);
  for (int64_t k = 0; k < i; k++) {
    left[k] = NAME(conj)(ws[k * h->ldp + i]);
    right[k] = NAME(conj)(vs[k * h->ldp + i]);
  }
  NAME(subtract)(m - i, i, vs + i, h->ldp, left, 1, column + i);
  NAME(subtract)(m - i, i, ws + i, h->ldp, right, 1, column + i);
  column[i] = NAME(real)(column[i]);
  memset(v, 0, (size_t)NAME(least)(m, i + 1) * sizeof(T));
  memset(w, 0, (size_t)NAME(least)(m, i + 1) * sizeof(T));
  if (i + 1 >= m) return 0;
  const T tau = NAME(reflector)(m - i - 1, column + i + 1);
  memcpy(v + i + 1, column + i + 1, (size_t)(m - i - 1) * sizeof(T));
  v[i + 1] = 1;
  // w = tau (a v - earlier) - (tau/2) (w' v) v
  const int64_t from = i + 1, rest = m - from;
  NAME(multiply_rows)(h, from, v, w);
  NAME(dots)(rest, i, ws + from, h->ldp, v + from, left);
  NAME(dots)(rest, i, vs + from, h->ldp, v + from, right);
  NAME(subtract)(rest, i, vs + from, h->ldp, left, 1, w + from);
  NAME(subtract)(rest, i, ws + from, h->ldp, right, 1, w + from);
  for (int64_t r = from; r < m; r++) w[r] = NAME(mul)(tau, w[r]);
  T along;
  NAME(dots)(rest, 1, w + from, h->ldp, v + from, &along);
  along = NAME(mul)(tau, along) / 2;
  NAME(subtract)(rest, 1, v + from, h->ldp, &along, 1, w + from);
  return tau;
}

static void NAME(tridiagonal_stripe)(const void* arg, int64_t first, int64_t columns,
                                     void* scratch) {
  const NAME(hermitian_t)* h = arg;
  const int64_t skip = HLO_LAPACK_BLOCK;
  const hlo_lapack_operand_t left = {h->pairs + skip, 1, h->ldp, false};
  const hlo_lapack_operand_t right = {h->pairs + HLO_LAPACK_BLOCK * h->ldp + skip + first, h->ldp,
                                      1, true};
  NAME(product)(HLO_GEMM_SUBTRACT, h->m - skip, columns, 2 * HLO_LAPACK_BLOCK, left, right,
                h->a + skip * (h->lda + 1) + first, h->lda, scratch);
}

// Reduces the Hermitian matrix in both triangles of a. The diagonal goes to d, the off-diagonal to
// e; the reflectors stay in the lower triangle below the off-diagonal, as in LAPACK's sytrd.
static void NAME(tridiagonalise)(int64_t n, T* a, int64_t lda, R* d, R* e, T* tau,
                                 const hlo_lapack_work_t* work, hlo_lapack_pieces_t pieces) {
  NAME(hermitian_t) h = {.lda = lda, .ldp = hlo_lapack_padded(n, sizeof(T))};
  h.pairs = hlo_lapack_take(&pieces, (size_t)(3 * HLO_LAPACK_BLOCK * h.ldp) * sizeof(T));
  T* column = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  for (int64_t j = 0; j < n; j += HLO_LAPACK_BLOCK) {
    h.a = a + j * (lda + 1);
    h.m = n - j;
    const int64_t count = NAME(least)(HLO_LAPACK_BLOCK, h.m);
    for (int64_t i = 0; i < count; i++) {
      const T factor = NAME(tridiagonal_column)(&h, i, column);
      d[j + i] = NAME(real)(column[i]);
      for (int64_t r = i; r < h.m; r++) h.a[r * lda + i] = column[r];
      if (i + 1 >= h.m) continue;
      tau[j + i] = factor;
      e[j + i] = NAME(real)(column[i + 1]);
    }
    if (h.m <= HLO_LAPACK_BLOCK) continue;
    memcpy(h.pairs + 2 * HLO_LAPACK_BLOCK * h.ldp, h.pairs,
           (size_t)(HLO_LAPACK_BLOCK * h.ldp) * sizeof(T));
    const int64_t rest = h.m - HLO_LAPACK_BLOCK;
    NAME(run_stripes)(work, pieces, rest, rest, rest * 2 * HLO_LAPACK_BLOCK,
                      NAME(tridiagonal_stripe), &h);
  }
}

// Fills the other triangle, so that the full matrix is its own adjoint.
static void NAME(complete)(bool is_lower, int64_t n, T* a, int64_t lda) {
  for (int64_t i = 0; i < n; i++) {
    a[i * (lda + 1)] = NAME(real)(a[i * (lda + 1)]);
    for (int64_t j = 0; j < i; j++) {
      T *low = &a[i * lda + j], *high = &a[j * lda + i];
      if (is_lower) {
        *high = NAME(conj)(*low);
      } else {
        *low = NAME(conj)(*high);
      }
    }
  }
}

// The upper triangle is the lower one of the matrix with rows and columns reversed.
static void NAME(sytrd)(bool is_lower, int64_t n, void* data, int64_t lda, void* diagonal,
                        void* beside, void* taus, const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  T *a = data, *tau = taus, *full = hlo_lapack_take(&pieces, (size_t)(n * n) * sizeof(T));
  R *d = diagonal, *e = beside;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i; j++) {
      full[i * n + j] = is_lower ? a[i * lda + j] : a[(n - 1 - i) * lda + n - 1 - j];
    }
  }
  NAME(complete)(true, n, full, n);
  NAME(tridiagonalise)(n, full, n, d, e, tau, work, pieces);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i; j++) {
      *(is_lower ? &a[i * lda + j] : &a[(n - 1 - i) * lda + n - 1 - j]) = full[i * n + j];
    }
  }
  if (is_lower) return;
  for (int64_t i = 0; i < n / 2; i++) {
    const R kept = d[i];
    d[i] = d[n - 1 - i];
    d[n - 1 - i] = kept;
  }
  for (int64_t i = 0; i < (n - 1) / 2; i++) {
    const R kept = e[i];
    e[i] = e[n - 2 - i];
    e[n - 2 - i] = kept;
    NAME(swap)(&tau[i], &tau[n - 2 - i]);
  }
}

// Computes the product of the reflectors of tridiagonalise(), in place.
static void NAME(form_vectors)(int64_t n, T* a, int64_t lda, const T* tau,
                               const hlo_lapack_work_t* work) {
  for (int64_t i = 0; i < n; i++) {  // each vector moves one column to the right
    for (int64_t j = i; j > 0; j--) a[i * lda + j] = a[i * lda + j - 1];
    a[i * lda] = i == 0;
    if (i > 0) a[i] = 0;
  }
  if (n > 1) NAME(orgqr)(n - 1, n - 1, n - 1, a + lda + 1, lda, tau, work);
}

// ---- the eigenproblem ---------------------------------------------------------------------------

// Computes the order of ascending values: insertion sort of an almost sorted list.
static void NAME(sort_order)(int64_t n, const double* d, int64_t* order) {
  for (int64_t i = 0; i < n; i++) {
    int64_t j = i;
    for (; j > 0 && d[order[j - 1]] > d[i]; j--) order[j] = order[j - 1];
    order[j] = i;
  }
}

// Applies one batch of rotations to the vectors while the next one is computed.
typedef struct NAME(step) {
  NAME(rotated_t) rotated;
  hlo_ql_t* ql;  // NULL: no further batch
  hlo_rotations_t* next;
  bool is_more;
} NAME(step_t);

static void NAME(step_chunk)(void* arg, uint64_t index) {
  NAME(step_t)* step = arg;
  if (index > 0) {
    NAME(rotate_chunk)(&step->rotated, index - 1);
  } else if (step->ql) {
    step->is_more = ql_run(step->ql, step->next);
  }
}

// Solves the tridiagonal problem with the d, e of `ql`; applies the rotations to the rows of
// `transposed`.
static int64_t NAME(diagonalise)(hlo_ql_t* ql, T* transposed, int64_t ld,
                                 const hlo_lapack_work_t* work, hlo_lapack_pieces_t pieces) {
  const int64_t n = ql->n, most = n * HLO_ROTATIONS_SWEEPS, width = n * NAME(parts);
  const int64_t chunks = transposed ? (width + NAME(rotated_width) - 1) / NAME(rotated_width) : 0;
  hlo_rotations_t batches[2];
  for (int b = 0; b < 2; b++) {
    batches[b].c = hlo_lapack_take(&pieces, (size_t)most * sizeof(double));
    batches[b].s = hlo_lapack_take(&pieces, (size_t)most * sizeof(double));
  }
  R* c = hlo_lapack_take(&pieces, (size_t)most * sizeof(R));
  R* s = hlo_lapack_take(&pieces, (size_t)most * sizeof(R));
  bool is_more = ql_run(ql, &batches[0]);
  for (int b = 0; batches[b].sweep_count > 0; b = 1 - b) {
    const hlo_rotations_t* found = &batches[b];
    batches[1 - b].sweep_count = 0;
    NAME(step_t) step = {.rotated = {found, NAME(narrow_rotations)(found, found->c, c),
                                     NAME(narrow_rotations)(found, found->s, s), (R*)transposed,
                                     ld * NAME(parts), width},
                         .ql = is_more ? ql : NULL,
                         .next = &batches[1 - b]};
    hlo_parallel_for(work->parallel, (uint64_t)chunks + 1, NAME(step_chunk), &step);
    is_more = step.is_more;
  }
  return n - ql->at;
}

// Returns true if the matrix has an Inf or a NaN; scales it so that squares of its entries neither
// overflow nor underflow.
static bool NAME(scale)(int64_t n, double* d, double* e, double* scale) {
  const double least = 1e-120, most = 1e120;
  double largest = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(d[i]) || !isfinite(e[i])) return false;
    largest = fmax(largest, fmax(fabs(d[i]), fabs(e[i])));
  }
  *scale = largest == 0 || (largest > least && largest < most) ? 1 : largest;
  for (int64_t i = 0; i < n && *scale != 1; i++) {
    d[i] /= *scale;
    e[i] /= *scale;
  }
  return true;
}

static int64_t NAME(syevd)(bool has_vectors, bool is_lower, int64_t n, void* data, int64_t lda,
                           void* values, const hlo_lapack_work_t* work) {
  T* a = data;
  R* w = values;
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  R* e = hlo_lapack_take(&pieces, (size_t)n * sizeof(R));
  T* tau = hlo_lapack_take(&pieces, (size_t)n * sizeof(T));
  hlo_ql_t ql = {.n = n, .epsilon = REAL_EPSILON / 2};
  ql.d = hlo_lapack_take(&pieces, (size_t)n * sizeof(double));
  ql.e = hlo_lapack_take(&pieces, (size_t)n * sizeof(double));
  int64_t* order = hlo_lapack_take(&pieces, (size_t)n * sizeof(*order));
  const int64_t ld = hlo_lapack_padded(n, sizeof(T));
  T* transposed = has_vectors ? hlo_lapack_take(&pieces, (size_t)(n * ld) * sizeof(T)) : NULL;
  NAME(complete)(is_lower, n, a, lda);
  NAME(tridiagonalise)(n, a, lda, w, e, tau, work, pieces);
  for (int64_t i = 0; i < n; i++) {
    ql.d[i] = w[i];
    ql.e[i] = i + 1 < n ? e[i] : 0;
  }
  double scale;
  if (!NAME(scale)(n, ql.d, ql.e, &scale)) return n;
  if (has_vectors) {
    const hlo_lapack_work_t rest = {pieces.next, (size_t)(pieces.end - pieces.next),
                                    work->parallel};
    NAME(form_vectors)(n, a, lda, tau, &rest);
    memset(transposed, 0, (size_t)(n * ld) * sizeof(T));
    NAME(transpose)(false, n, n, a, lda, transposed, ld);
  }
  const int64_t failed = NAME(diagonalise)(&ql, transposed, ld, work, pieces);
  NAME(sort_order)(n, ql.d, order);
  for (int64_t i = 0; i < n; i++) w[i] = (R)(ql.d[order[i]] * scale);
  for (int64_t i = 0; has_vectors && i < n; i += 16) {
    const int64_t count = NAME(least)(16, n - i);
    T* rows = (T*)pieces.next;  // 16 vectors in sorted order
    for (int64_t r = 0; r < count; r++) {
      memcpy(rows + r * ld, transposed + order[i + r] * ld, (size_t)n * sizeof(T));
    }
    NAME(transpose)(false, count, n, rows, ld, a + i, lda);
  }
  return failed;
}
