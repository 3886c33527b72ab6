// SPDX-License-Identifier: Apache-2.0
// Factorisations of many small matrices at once, one per vector lane. For real types. Requires the
// definitions for lapack_base.inl, and I, an integer as wide as T. Sums stay in registers, so that
// vectors are read more often than they are written.
// source: Golub and Van Loan, "Matrix Computations": Crout's form of LU 3.2, Cholesky 4.2,
// QR 5.1 and 5.2

typedef I NAME(choice) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(I)), may_alias));

// A matrix in each lane; element (i, j) is data[i * row + j * col].
typedef struct NAME(lane_matrix) {
  NAME(vec) * data;
  int64_t row, col;
} NAME(lane_matrix_t);

static inline NAME(vec) * NAME(lane_at)(const NAME(lane_matrix_t)* a, int64_t i, int64_t j) {
  return a->data + i * a->row + j * a->col;
}

static inline NAME(vec) NAME(pick)(NAME(choice) which, NAME(vec) yes, NAME(vec) no) {
  return (NAME(vec))((which & (NAME(choice))yes) | (~which & (NAME(choice))no));
}

static inline NAME(vec) NAME(lane_sizes)(NAME(vec) x) { return NAME(pick)(x < 0, -x, x); }

static inline NAME(vec) NAME(lane_roots)(NAME(vec) x) {
  for (int l = 0; l < NAME(lanes); l++) x[l] = SQRT(x[l]);
  return x;
}

static bool NAME(any)(NAME(choice) which) {
  I all = 0;
  for (int l = 0; l < NAME(lanes); l++) all |= which[l];
  return all != 0;
}

// ---- loads and stores of lanes ------------------------------------------------------------------

// Loads matrices into lanes; lanes without a matrix repeat the first.
static void NAME(lanes_load)(int64_t count, int64_t each, const T* a, NAME(vec) * x) {
  T* lanes = (T*)x;
  for (int64_t l = 0; l < NAME(lanes); l += 4) {
    const T* in[4];
    for (int64_t r = 0; r < 4; r++) in[r] = a + (l + r < count ? l + r : 0) * each;
    int64_t e = 0;
    for (; NAME(lanes) >= 4 && e + 4 <= each; e += 4) {
      T* out[4];
      for (int64_t r = 0; r < 4; r++) out[r] = lanes + (e + r) * NAME(lanes) + l;
      NAME(transpose_quads)(in, out);
      for (int64_t r = 0; r < 4; r++) in[r] += 4;
    }
    for (; e < each; e++) {
      for (int64_t r = 0; r < 4 && l + r < NAME(lanes); r++)
        lanes[e * NAME(lanes) + l + r] = *in[r]++;
    }
  }
}

static void NAME(lanes_store)(int64_t count, int64_t each, const NAME(vec) * x, T* a) {
  const T* lanes = (const T*)x;
  for (int64_t l = 0; l < count; l += 4) {
    int64_t e = 0;
    for (; l + 4 <= count && e + 4 <= each; e += 4) {
      const T* in[4];
      T* out[4];
      for (int64_t r = 0; r < 4; r++) {
        in[r] = lanes + (e + r) * NAME(lanes) + l;
        out[r] = a + (l + r) * each + e;
      }
      NAME(transpose_quads)(in, out);
    }
    for (; e < each; e++) {
      for (int64_t r = l; r < l + 4 && r < count; r++) a[r * each + e] = lanes[e * NAME(lanes) + r];
    }
  }
}

// ---- sums of products ---------------------------------------------------------------------------

enum { NAME(side) = 4 };  // independent sums, to hide the latency of additions

// x(i, c) -= a(i, k) b(k, c), summed over k from `from` to `end`, for `count` columns from c on.
static inline void NAME(lanes_across)(const NAME(lane_matrix_t)* a, const NAME(lane_matrix_t)* b,
                                      const NAME(lane_matrix_t)* x, int64_t i, int64_t c,
                                      int64_t count, int64_t from, int64_t end) {
  for (; count > 0; c += NAME(side), count -= NAME(side)) {
    if (count >= NAME(side)) {
      NAME(vec) sums[NAME(side)];
      for (int s = 0; s < NAME(side); s++) sums[s] = *NAME(lane_at)(x, i, c + s);
      for (int64_t k = from; k < end; k++) {
        const NAME(vec) left = *NAME(lane_at)(a, i, k);
        for (int s = 0; s < NAME(side); s++) sums[s] -= left * *NAME(lane_at)(b, k, c + s);
      }
      for (int s = 0; s < NAME(side); s++) *NAME(lane_at)(x, i, c + s) = sums[s];
      continue;
    }
    for (int64_t s = 0; s < count; s++) {
      NAME(vec) sum = *NAME(lane_at)(x, i, c + s);
      for (int64_t k = from; k < end; k++) {
        sum -= *NAME(lane_at)(a, i, k) * *NAME(lane_at)(b, k, c + s);
      }
      *NAME(lane_at)(x, i, c + s) = sum;
    }
  }
}

static inline NAME(lane_matrix_t) NAME(lanes_transposed)(NAME(lane_matrix_t) a) {
  return (NAME(lane_matrix_t)){a.data, a.col, a.row};
}

// ---- LU -----------------------------------------------------------------------------------------

// Swaps row j with row `pivot`, in every lane. Few rows are handled with whole-vector selects, many
// lane by lane.
static void NAME(lanes_swap)(int64_t m, int64_t n, int64_t j, NAME(vec) * x, NAME(choice) pivot) {
  NAME(vec)* top = x + j * n;
  if (2 * (m - j) > NAME(lanes)) {
    for (int l = 0; l < NAME(lanes); l++) {
      T *upper = (T*)top + l, *lower = (T*)(x + pivot[l] * n) + l;
      for (int64_t c = 0; pivot[l] != j && c < n; c++) {
        NAME(swap)(upper + c * NAME(lanes), lower + c * NAME(lanes));
      }
    }
    return;
  }
  for (int64_t i = j + 1; i < m; i++) {
    const NAME(choice) is_pivot = pivot == (I)i;
    if (!NAME(any)(is_pivot)) continue;
    NAME(vec)* row = x + i * n;
    for (int64_t c = 0; c < n; c++) {
      const NAME(vec) upper = top[c], lower = row[c];
      top[c] = NAME(pick)(is_pivot, lower, upper);
      row[c] = NAME(pick)(is_pivot, upper, lower);
    }
  }
}

// Returns the row of the largest entry in column j, from row j on; row j if no entry compares.
static NAME(choice) NAME(lanes_pivot)(int64_t m, int64_t n, int64_t j, const NAME(vec) * x) {
  NAME(vec) best = (NAME(vec)){0} - 1;
  NAME(choice) pivot = (NAME(choice)){0} + (I)j;
  for (int64_t i = j; i < m; i++) {
    const NAME(vec) size = NAME(lane_sizes)(x[i * n + j]);
    const NAME(choice) larger = size > best;
    best = NAME(pick)(larger, size, best);
    pivot = (larger & (I)i) | (~larger & pivot);
  }
  return pivot;
}

static void NAME(lanes_getrf)(int64_t count, int64_t m, int64_t n, NAME(vec) * x, int32_t* pivots,
                              int32_t* info) {
  const int64_t steps = NAME(least)(m, n);
  const NAME(lane_matrix_t) a = {x, n, 1}, transposed = NAME(lanes_transposed)(a);
  for (int64_t l = 0; l < count; l++) info[l] = 0;
  for (int64_t j = 0; j < steps; j++) {
    // column j, rows j..m-1
    NAME(lanes_across)(&transposed, &transposed, &transposed, j, j, m - j, 0, j);
    const NAME(choice) pivot = NAME(lanes_pivot)(m, n, j, x);
    NAME(lanes_swap)(m, n, j, x, pivot);
    const NAME(vec) head = x[j * n + j];
    const NAME(choice) is_zero = head == 0;
    for (int64_t l = 0; l < count; l++) {
      pivots[l * steps + j] = (int32_t)pivot[l] + 1;
      if (is_zero[l] && info[l] == 0) info[l] = (int32_t)j + 1;
    }
    const NAME(vec) divisor = NAME(pick)(is_zero, (NAME(vec)){0} + 1, head);
    for (int64_t i = j + 1; i < m; i++) x[i * n + j] /= divisor;
    NAME(lanes_across)(&a, &a, &a, j, j + 1, n - j - 1, 0, j);  // row j of U
  }
}

static void NAME(getrf_small)(int64_t count, int64_t m, int64_t n, void* data, int32_t* pivots,
                              int32_t* info, const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  NAME(vec)* x = hlo_lapack_take(&pieces, (size_t)(m * n) * VECTOR_BYTES);
  for (int64_t b = 0; b < count; b += NAME(lanes)) {
    const int64_t some = NAME(least)(NAME(lanes), count - b);
    T* a = (T*)data + b * m * n;
    NAME(lanes_load)(some, m * n, a, x);
    NAME(lanes_getrf)(some, m, n, x, pivots + b * NAME(least)(m, n), info + b);
    NAME(lanes_store)(some, m * n, x, a);
  }
}

// ---- Cholesky -----------------------------------------------------------------------------------

static void NAME(lanes_potrf)(int64_t count, int64_t n, NAME(lane_matrix_t) a, int32_t* info) {
  const NAME(lane_matrix_t) transposed = NAME(lanes_transposed)(a);
  for (int64_t l = 0; l < count; l++) info[l] = 0;
  for (int64_t j = 0; j < n; j++) {
    // column j from the diagonal down: x(i, j) -= x(j, k) x(i, k)
    NAME(lanes_across)(&a, &transposed, &transposed, j, j, n - j, 0, j);
    const NAME(vec) pivot = *NAME(lane_at)(&a, j, j), root = NAME(lane_roots)(pivot);
    const NAME(choice) is_positive = pivot > 0;
    for (int64_t l = 0; l < count; l++) {
      if (!is_positive[l] && info[l] == 0) info[l] = (int32_t)j + 1;
    }
    const NAME(vec) scale = 1 / root;
    *NAME(lane_at)(&a, j, j) = root;
    for (int64_t i = j + 1; i < n; i++) *NAME(lane_at)(&a, i, j) *= scale;
  }
}

static void NAME(potrf_small)(bool is_lower, int64_t count, int64_t n, void* data, int32_t* info,
                              const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  NAME(vec)* x = hlo_lapack_take(&pieces, (size_t)(n * n) * VECTOR_BYTES);
  const NAME(lane_matrix_t) a = {x, is_lower ? n : 1, is_lower ? 1 : n};
  for (int64_t b = 0; b < count; b += NAME(lanes)) {
    const int64_t some = NAME(least)(NAME(lanes), count - b);
    T* in = (T*)data + b * n * n;
    NAME(lanes_load)(some, n * n, in, x);
    NAME(lanes_potrf)(some, n, a, info + b);
    NAME(lanes_store)(some, n * n, x, in);
  }
}

// ---- triangular solves --------------------------------------------------------------------------

static void NAME(trsm_small)(const hlo_triangle_t* triangle, int64_t count, int64_t m, int64_t n,
                             void* data, const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  const bool is_left = triangle->is_left,
             is_transposed = (triangle->form != HLO_LAPACK_PLAIN) == is_left;
  const bool is_lower = triangle->is_lower != is_transposed;
  const int64_t order = is_left ? m : n, columns = is_left ? n : m;
  NAME(lane_matrix_t) a = {NULL, order, 1}, x = {NULL, n, 1};
  a.data = hlo_lapack_take(&pieces, (size_t)(order * order) * VECTOR_BYTES);
  x.data = hlo_lapack_take(&pieces, (size_t)(m * n) * VECTOR_BYTES);
  if (is_transposed) a = NAME(lanes_transposed)(a);
  if (!is_left) x = NAME(lanes_transposed)(x);
  for (int64_t b = 0; b < count; b += NAME(lanes)) {
    const int64_t some = NAME(least)(NAME(lanes), count - b);
    T* in = (T*)data + b * m * n;
    NAME(lanes_load)(some, order * order, (const T*)triangle->a + b * order * order, a.data);
    NAME(lanes_load)(some, m * n, in, x.data);
    for (int64_t step = 0; step < order; step++) {
      const int64_t i = is_lower ? step : order - 1 - step, from = is_lower ? 0 : i + 1;
      NAME(lanes_across)(&a, &x, &x, i, 0, columns, from, from + step);
      const NAME(vec) pivot = *NAME(lane_at)(&a, i, i);
      for (int64_t c = 0; !triangle->is_unit && c < columns; c++) *NAME(lane_at)(&x, i, c) /= pivot;
    }
    NAME(lanes_store)(some, m * n, x.data, in);
  }
}

// ---- QR -----------------------------------------------------------------------------------------

// Subtracts v (tau v' x) from columns c.. of x, for the vector v of column j: one in row j, the
// stored entries below.
static void NAME(lanes_reflect)(int64_t m, int64_t n, int64_t j, int64_t c, NAME(vec) tau,
                                NAME(vec) * x) {
  for (; c < n; c += NAME(side)) {
    const int columns = (int)NAME(least)(NAME(side), n - c);
    NAME(vec) sums[NAME(side)];
    for (int s = 0; s < NAME(side); s++) sums[s] = x[j * n + c + (s < columns ? s : 0)];
    for (int64_t i = j + 1; columns == NAME(side) && i < m; i++) {
      const NAME(vec) v = x[i * n + j];
      for (int s = 0; s < NAME(side); s++) sums[s] += v * x[i * n + c + s];
    }
    for (int s = 0; columns < NAME(side) && s < columns; s++) {
      for (int64_t i = j + 1; i < m; i++) sums[s] += x[i * n + j] * x[i * n + c + s];
    }
    for (int s = 0; s < columns; s++) {
      sums[s] *= tau;
      x[j * n + c + s] -= sums[s];
    }
    for (int64_t i = j + 1; i < m; i++) {
      const NAME(vec) v = x[i * n + j];
      for (int s = 0; s < columns; s++) x[i * n + c + s] -= v * sums[s];
    }
  }
}

// Computes the reflector of column j. Returns false if squares overflow or underflow in a lane.
static bool NAME(lanes_reflector)(int64_t m, int64_t n, int64_t j, NAME(vec) * x,
                                  NAME(vec) * out_tau) {
  const NAME(vec) zero = {0}, alpha = x[j * n + j];
  NAME(vec) below = zero;
  NAME(choice) is_done = ~(NAME(choice)){0};  // lanes that need no reflection
  for (int64_t i = j + 1; i < m; i++) {
    below += x[i * n + j] * x[i * n + j];
    is_done &= x[i * n + j] == 0;
  }
  const NAME(vec) square = below + alpha * alpha;
  if (NAME(any)(~is_done & ~((below > NORM_LEAST) & (square < NORM_MOST)))) return false;
  const NAME(vec) length = NAME(lane_roots)(square);
  NAME(vec) beta = NAME(pick)(alpha < 0, length, -length);
  // -0 counts as positive, which is allowed: both signs are right.
  const NAME(vec) scale =
      NAME(pick)(is_done, zero, 1 / NAME(pick)(is_done, zero + 1, alpha - beta));
  *out_tau = NAME(pick)(is_done, zero, (beta - alpha) / NAME(pick)(is_done, zero + 1, beta));
  for (int64_t i = j + 1; i < m; i++) x[i * n + j] *= scale;
  x[j * n + j] = NAME(pick)(is_done, alpha, beta);
  return true;
}

static void NAME(geqrf_small)(int64_t count, int64_t m, int64_t n, void* data, void* taus,
                              const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  NAME(vec)* x = hlo_lapack_take(&pieces, (size_t)(m * n) * VECTOR_BYTES);
  const int64_t steps = NAME(least)(m, n);
  for (int64_t b = 0; b < count; b += NAME(lanes)) {
    const int64_t some = NAME(least)(NAME(lanes), count - b);
    T *a = (T*)data + b * m * n, *tau = (T*)taus + b * steps;
    NAME(lanes_load)(some, m * n, a, x);
    bool is_plain = true;
    for (int64_t j = 0; is_plain && j < steps; j++) {
      NAME(vec) scale;
      is_plain = NAME(lanes_reflector)(m, n, j, x, &scale);
      if (!is_plain) break;
      NAME(lanes_reflect)(m, n, j, j + 1, scale, x);
      for (int64_t l = 0; l < some; l++) tau[l * steps + j] = scale[l];
    }
    if (is_plain) NAME(lanes_store)(some, m * n, x, a);
    for (int64_t l = 0; !is_plain && l < some; l++) {
      NAME(geqrf)(m, n, a + l * m * n, n, tau + l * steps, work);
    }
  }
}

static void NAME(orgqr_small)(int64_t count, int64_t m, int64_t n, int64_t k, void* data,
                              const void* taus, const hlo_lapack_work_t* work) {
  hlo_lapack_pieces_t pieces = hlo_lapack_pieces(work);
  NAME(vec)* x = hlo_lapack_take(&pieces, (size_t)(m * n) * VECTOR_BYTES);
  NAME(vec)* tau = hlo_lapack_take(&pieces, (size_t)k * VECTOR_BYTES);
  for (int64_t b = 0; b < count; b += NAME(lanes)) {
    const int64_t some = NAME(least)(NAME(lanes), count - b);
    T* a = (T*)data + b * m * n;
    NAME(lanes_load)(some, m * n, a, x);
    NAME(lanes_load)(some, k, (const T*)taus + b * k, tau);
    for (int64_t i = 0; i < m; i++) {
      for (int64_t c = k; c < n; c++) x[i * n + c] = (NAME(vec)){0} + (T)(i == c);
    }
    for (int64_t j = k - 1; j >= 0; j--) {
      NAME(lanes_reflect)(m, n, j, j + 1, tau[j], x);
      for (int64_t i = 0; i < j; i++) x[i * n + j] = (NAME(vec)){0};
      x[j * n + j] = 1 - tau[j];
      for (int64_t i = j + 1; i < m; i++) x[i * n + j] *= -tau[j];
    }
    NAME(lanes_store)(some, m * n, x, a);
  }
}
