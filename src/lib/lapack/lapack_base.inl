// SPDX-License-Identifier: Apache-2.0
// Building blocks of the factorisations of one type: vectors, products, transposes, block
// reflectors. Requires T (element), R (its real type), IS_COMPLEX, DTYPE, REAL_DTYPE, VECTOR_BYTES,
// NAME(x).

typedef R NAME(vec) __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(R)), may_alias));

enum {
  NAME(lanes) = VECTOR_BYTES / sizeof(R),
  NAME(parts) = sizeof(T) / sizeof(R),  // real numbers in an element
};

#if IS_COMPLEX
static inline T NAME(make)(R re, R im) { return __builtin_complex(re, im); }
static inline T NAME(conj)(T x) { return NAME(make)(__real__ x, -__imag__ x); }
static inline R NAME(real)(T x) { return __real__ x; }
static inline T NAME(mul)(T a, T b) {
  return NAME(make)(__real__ a * __real__ b - __imag__ a * __imag__ b,
                    __real__ a * __imag__ b + __imag__ a * __real__ b);
}
static inline R NAME(size)(T x) { return FABS(__real__ x) + FABS(__imag__ x); }
#else
#include "lib/transpose_quads.inl"

static inline T NAME(make)(R re, R im) { return (void)im, re; }
static inline T NAME(conj)(T x) { return x; }
static inline R NAME(real)(T x) { return x; }
static inline T NAME(mul)(T a, T b) { return a * b; }
static inline R NAME(size)(T x) { return FABS(x); }
#endif

static inline int64_t NAME(least)(int64_t a, int64_t b) { return a < b ? a : b; }

static R NAME(fold)(NAME(vec) lanes) {
  R parts[NAME(lanes)];
  memcpy(parts, &lanes, sizeof(parts));
  for (int half = NAME(lanes) / 2; half > 0; half /= 2) {
    for (int l = 0; l < half; l++) parts[l] += parts[l + half];
  }
  return parts[0];
}

// Returns the sum of the squares of `count` real numbers.
static R NAME(squares)(int64_t count, const R* x) {
  NAME(vec) sums[2] = {{0}, {0}};
  int64_t i = 0;
  for (; i + 2 * NAME(lanes) <= count; i += 2 * NAME(lanes)) {
    for (int v = 0; v < 2; v++) {
      const NAME(vec) part = *(const NAME(vec)*)(x + i + v * NAME(lanes));
      sums[v] += part * part;
    }
  }
  R total = NAME(fold)(sums[0] + sums[1]);
  for (; i < count; i++) total += x[i] * x[i];
  return total;
}

// Returns the Euclidean norm; scales only if squares overflow or underflow.
static R NAME(norm)(int64_t m, const T* x) {
  const int64_t count = m * NAME(parts);
  const R* parts = (const R*)x;
  const R plain = NAME(squares)(count, parts);
  if (plain > NORM_LEAST && plain < NORM_MOST) return SQRT(plain);
  R largest = 0, sum = 0;
  for (int64_t i = 0; i < count; i++) {
    const R part = FABS(parts[i]);
    if (!(part <= largest)) largest = part;
  }
  if (largest == 0 || !(largest <= REAL_MAX)) return largest;
  for (int64_t i = 0; i < count; i++) sum += (parts[i] / largest) * (parts[i] / largest);
  return largest * SQRT(sum);
}

// y -= sum over k of u[k] x_k, where x_k is row k of x; m elements.
#if IS_COMPLEX
static void NAME(subtract)(int64_t m, int64_t count, const T* x, int64_t ldx, const T* u,
                           int64_t u_step, T* restrict y) {
  for (int64_t k = 0; k < count; k++) {
    const R re = __real__ u[k * u_step], im = __imag__ u[k * u_step];
    const R* row = (const R*)(x + k * ldx);
    R* restrict out = (R*)y;
    for (int64_t i = 0; i < m; i++) {
      out[2 * i] -= re * row[2 * i] - im * row[2 * i + 1];
      out[2 * i + 1] -= re * row[2 * i + 1] + im * row[2 * i];
    }
  }
}
#else
static void NAME(subtract)(int64_t m, int64_t count, const T* x, int64_t ldx, const T* u,
                           int64_t u_step, T* restrict y) {
  enum { STRIP = 4 };
  int64_t i = 0;
  for (; i + STRIP * NAME(lanes) <= m; i += STRIP * NAME(lanes)) {
    NAME(vec) sums[STRIP];
    for (int v = 0; v < STRIP; v++) sums[v] = *(const NAME(vec)*)(y + i + v * NAME(lanes));
    for (int64_t k = 0; k < count; k++) {
      const R factor = u[k * u_step];
      const T* row = x + k * ldx + i;
      for (int v = 0; v < STRIP; v++)
        sums[v] -= factor * *(const NAME(vec)*)(row + v * NAME(lanes));
    }
    for (int v = 0; v < STRIP; v++) *(NAME(vec)*)(y + i + v * NAME(lanes)) = sums[v];
  }
  for (; i + NAME(lanes) <= m; i += NAME(lanes)) {
    NAME(vec) sum = *(const NAME(vec)*)(y + i);
    for (int64_t k = 0; k < count; k++) sum -= u[k * u_step] * *(const NAME(vec)*)(x + k * ldx + i);
    *(NAME(vec)*)(y + i) = sum;
  }
  for (; i < m; i++) {
    T sum = y[i];
    for (int64_t k = 0; k < count; k++) sum -= u[k * u_step] * x[k * ldx + i];
    y[i] = sum;
  }
}
#endif

// out[k] = x_k' y (x_k conjugated) for the first `count` rows of x, m elements each.
#if IS_COMPLEX
static void NAME(dots)(int64_t m, int64_t count, const T* x, int64_t ldx, const T* y, T* out) {
  enum { LANES = 4 };
  for (int64_t k = 0; k < count; k++) {
    R re[LANES] = {0}, im[LANES] = {0};
    const R *a = (const R*)(x + k * ldx), *b = (const R*)y;
    int64_t i = 0;
    for (; i + LANES <= m; i += LANES) {
      for (int l = 0; l < LANES; l++) {
        const R ar = a[2 * (i + l)], ai = a[2 * (i + l) + 1];
        const R br = b[2 * (i + l)], bi = b[2 * (i + l) + 1];
        re[l] += ar * br + ai * bi;
        im[l] += ar * bi - ai * br;
      }
    }
    for (; i < m; i++) {
      re[0] += a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1];
      im[0] += a[2 * i] * b[2 * i + 1] - a[2 * i + 1] * b[2 * i];
    }
    out[k] = NAME(make)((re[0] + re[1]) + (re[2] + re[3]), (im[0] + im[1]) + (im[2] + im[3]));
  }
}
#else
static void NAME(dots)(int64_t m, int64_t count, const T* x, int64_t ldx, const T* y, T* out) {
  enum { ROWS = 4 };
  int64_t k = 0;
  for (; k + ROWS <= count; k += ROWS) {
    NAME(vec) sums[ROWS] = {{0}, {0}, {0}, {0}};
    R tails[ROWS] = {0};
    int64_t i = 0;
    for (; i + NAME(lanes) <= m; i += NAME(lanes)) {
      const NAME(vec) right = *(const NAME(vec)*)(y + i);
      for (int r = 0; r < ROWS; r++) sums[r] += *(const NAME(vec)*)(x + (k + r) * ldx + i) * right;
    }
    for (; i < m; i++) {
      for (int r = 0; r < ROWS; r++) tails[r] += x[(k + r) * ldx + i] * y[i];
    }
    for (int r = 0; r < ROWS; r++) out[k + r] = NAME(fold)(sums[r]) + tails[r];
  }
  for (; k < count; k++) {
    NAME(vec) sum = {0};
    R tail = 0;
    int64_t i = 0;
    for (; i + NAME(lanes) <= m; i += NAME(lanes)) {
      sum += *(const NAME(vec)*)(x + k * ldx + i) * *(const NAME(vec)*)(y + i);
    }
    for (; i < m; i++) tail += x[k * ldx + i] * y[i];
    out[k] = NAME(fold)(sum) + tail;
  }
}
#endif

// b = transpose of a (m x n), optionally conjugated.
static void NAME(transpose)(bool is_conjugate, int64_t m, int64_t n, const T* a, int64_t lda, T* b,
                       int64_t ldb) {
  enum { TILE = 16 };
  for (int64_t i0 = 0; i0 < m; i0 += TILE) {
    const int64_t rows = NAME(least)(TILE, m - i0);
    int64_t j = 0;
#if !IS_COMPLEX
    for (; rows == TILE && j + 4 <= n; j += 4) {
      for (int64_t i = i0; i < i0 + TILE; i += 4) {
        const T* in = a + i * lda + j;
        T* out = b + j * ldb + i;
        const T* const rows_in[] = {in, in + lda, in + 2 * lda, in + 3 * lda};
        T* const rows_out[] = {out, out + ldb, out + 2 * ldb, out + 3 * ldb};
        NAME(transpose_quads)(rows_in, rows_out);
      }
    }
#endif
    for (; j < n; j++) {
      for (int64_t i = i0; i < i0 + rows; i++) {
        const T entry = a[i * lda + j];
        b[j * ldb + i] = is_conjugate ? NAME(conj)(entry) : entry;
      }
    }
  }
}

// ---- products -----------------------------------------------------------------------------------

static inline hlo_lapack_operand_t NAME(plain)(const T* data, int64_t ld) {
  return (hlo_lapack_operand_t){data, ld, 1, false};
}

// Returns the adjoint of a matrix with rows of `ld` elements.
static inline hlo_lapack_operand_t NAME(adjoint)(const T* data, int64_t ld) {
  return (hlo_lapack_operand_t){data, 1, ld, true};
}

#if IS_COMPLEX
// Writes a as m x 2k real numbers in memory order, and b as 2k x 2n: each entry (x, y) over (-y,
// x). Their real product is the complex product in memory order.
static void NAME(spell_left)(int64_t m, int64_t k, hlo_lapack_operand_t a, T* out) {
  const T* data = a.data;
  for (int64_t i = 0; i < m; i++) {
    for (int64_t p = 0; p < k; p++) {
      const T entry = data[i * a.row + p * a.col];
      out[i * k + p] = a.is_conjugate ? NAME(conj)(entry) : entry;
    }
  }
}

static void NAME(spell_right)(int64_t k, int64_t n, hlo_lapack_operand_t b, T* out) {
  const T* data = b.data;
  for (int64_t p = 0; p < k; p++) {
    for (int64_t j = 0; j < n; j++) {
      const T entry = data[p * b.row + j * b.col];
      const R re = __real__ entry, im = b.is_conjugate ? -__imag__ entry : __imag__ entry;
      out[2 * p * n + j] = NAME(make)(re, im);
      out[(2 * p + 1) * n + j] = NAME(make)(-im, re);
    }
  }
}
#endif

// c = a b, c += a b or c -= a b; c is m x n, the common dimension is k.
static void NAME(product)(hlo_gemm_mode_t mode, int64_t m, int64_t n, int64_t k,
                          hlo_lapack_operand_t a, hlo_lapack_operand_t b, T* c, int64_t ldc,
                          void* scratch) {
  if (m <= 0 || n <= 0) return;
#if IS_COMPLEX
  if (k == 0 && mode == HLO_GEMM_SET) {
    for (int64_t i = 0; i < m; i++) memset(c + i * ldc, 0, (size_t)n * sizeof(T));
  }
  for (int64_t p = 0; p < k; p += HLO_LAPACK_DEPTH) {
    const int64_t depth = NAME(least)(HLO_LAPACK_DEPTH, k - p);
    T* left = scratch;
    T* right = left + m * depth;
    char* packed = (char*)(right + 2 * depth * n);
    packed += -(uintptr_t)packed & 63;
    hlo_lapack_operand_t a_part = a, b_part = b;
    a_part.data = (const T*)a.data + p * a.col;
    b_part.data = (const T*)b.data + p * b.row;
    NAME(spell_left)(m, depth, a_part, left);
    NAME(spell_right)(depth, n, b_part, right);
    const hlo_gemm_t gemm = {.m = m,
                             .n = 2 * n,
                             .k = 2 * depth,
                             .a = left,
                             .a_row = 2 * depth,
                             .a_col = 1,
                             .b = right,
                             .b_row = 2 * n,
                             .b_col = 1,
                             .c = c,
                             .c_row = 2 * ldc,
                             .mode = p && mode == HLO_GEMM_SET ? HLO_GEMM_ADD : mode};
    hlo_gemm(REAL_DTYPE, &gemm, packed);
  }
#else
  const hlo_gemm_t gemm = {.m = m,
                           .n = n,
                           .k = k,
                           .a = a.data,
                           .a_row = a.row,
                           .a_col = a.col,
                           .b = b.data,
                           .b_row = b.row,
                           .b_col = b.col,
                           .c = c,
                           .c_row = ldc,
                           .mode = mode};
  hlo_gemm(DTYPE, &gemm, scratch);
#endif
}

// ---- stripes: column ranges of a matrix, distributed over threads -------------------------------

typedef struct NAME(stripes) {
  void (*run)(const void* arg, int64_t first, int64_t count, void* scratch);
  const void* arg;
  int64_t columns, stripe;
  char* scratch;
  size_t scratch_bytes;  // per stripe
} NAME(stripes_t);

static void NAME(run_stripe)(void* arg, uint64_t index) {
  const NAME(stripes_t)* stripes = arg;
  const int64_t first = (int64_t)index * stripes->stripe;
  const int64_t last = NAME(least)(first + stripes->stripe, stripes->columns);
  for (int64_t i = first; i < last; i += HLO_LAPACK_STRIPE_MAX) {
    stripes->run(stripes->arg, i, NAME(least)(HLO_LAPACK_STRIPE_MAX, last - i),
                 stripes->scratch + index * stripes->scratch_bytes);
  }
}

// Runs `run` on stripes of `columns`, each of which costs `each` multiplications; its products have
// at most `rows` rows. pieces: lent; all of its memory is free again on return.
static void NAME(run_stripes)(const hlo_lapack_work_t* work, hlo_lapack_pieces_t pieces,
                              int64_t rows, int64_t columns, int64_t each,
                              void (*run)(const void*, int64_t, int64_t, void*), const void* arg) {
  if (columns <= 0) return;
  NAME(stripes_t) stripes = {.run = run, .arg = arg, .columns = columns};
  stripes.stripe = hlo_lapack_stripe(columns, each);
  stripes.scratch_bytes = hlo_lapack_stripe_bytes(DTYPE, rows, stripes.stripe);
  const uint64_t count = (uint64_t)((columns + stripes.stripe - 1) / stripes.stripe);
  stripes.scratch = hlo_lapack_take(&pieces, count * stripes.scratch_bytes);
  hlo_parallel_for(work->parallel, count, NAME(run_stripe), &stripes);
}
