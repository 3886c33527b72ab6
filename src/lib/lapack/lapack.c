// SPDX-License-Identifier: Apache-2.0
// Selects the factorisations by type and instruction set; sizes of scratch memory.

#include "base/mem.h"
#include "lib/isa.h"
#include "lib/lapack/lapack_impl.h"

bool hlo_lapack_supports(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_F32 || dtype == HLO_DTYPE_F64 || dtype == HLO_DTYPE_C64 ||
         dtype == HLO_DTYPE_C128;
}

static const hlo_lapack_t* table(hlo_dtype_t dtype) {
  const hlo_lapack_t* types = hlo_lapack_generic;
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_GENERIC: break;
    case HLO_ISA_AVX2: types = hlo_lapack_avx2; break;
    case HLO_ISA_AVX512: types = hlo_lapack_avx512; break;
  }
#endif
  switch (dtype) {
    case HLO_DTYPE_F32: return &types[HLO_LAPACK_F32];
    case HLO_DTYPE_C64: return &types[HLO_LAPACK_C64];
    case HLO_DTYPE_C128: return &types[HLO_LAPACK_C128];
    default: return &types[HLO_LAPACK_F64];
  }
}

int64_t hlo_lapack_stripe(int64_t columns, int64_t each) {
  if (columns < HLO_LAPACK_WORK_MIN && columns * each < HLO_LAPACK_WORK_MIN) return columns;
  const int64_t stripe = (columns + HLO_LAPACK_STRIPES_MAX - 1) / HLO_LAPACK_STRIPES_MAX;
  return (stripe + HLO_LAPACK_STRIPE_MIN - 1) / HLO_LAPACK_STRIPE_MIN * HLO_LAPACK_STRIPE_MIN;
}

size_t hlo_lapack_stripe_bytes(hlo_dtype_t dtype, int64_t rows, int64_t columns) {
  // The packed blocks of the product, both factors of a complex one written as real matrices (with
  // few rows or small depth), and the two inner matrices of a block reflector.
  enum { FEW = 2 * HLO_LAPACK_BLOCK };
  const bool is_complex = hlo_dtype_is_complex(dtype);
  const size_t each = hlo_dtype_size_bytes(dtype);
  const hlo_dtype_t real = hlo_dtype_info(dtype)->part;
  if (columns > HLO_LAPACK_STRIPE_MAX) columns = HLO_LAPACK_STRIPE_MAX;
  const int64_t depth = rows < HLO_LAPACK_DEPTH ? rows : HLO_LAPACK_DEPTH;
  const size_t packed = hlo_gemm_scratch_bytes(real, rows, 2 * columns, 2 * depth);
  const size_t spelt =
      is_complex ? (size_t)((rows + depth) * FEW + 2 * columns * (depth + FEW)) * each : 0;
  const size_t inner = (size_t)(HLO_LAPACK_BLOCK * columns * 2) * each;
  return (packed + spelt + inner + 256) & ~(size_t)63;
}

bool hlo_lapack_scratch_bytes(hlo_dtype_t dtype, int64_t rows, int64_t columns, size_t* out_bytes) {
  enum { MARGIN = 64, SIDE_MAX = 1 << 28 };
  if (rows > SIDE_MAX || columns > SIDE_MAX) return false;
  const size_t each = hlo_dtype_size_bytes(dtype);
  const int64_t stripes = columns / HLO_LAPACK_STRIPE_MIN + 1;
  const size_t count =
      (size_t)(stripes < HLO_LAPACK_STRIPES_MAX ? stripes : HLO_LAPACK_STRIPES_MAX);
  rows += MARGIN;
  columns += MARGIN;
  const size_t panels = (size_t)rows * HLO_LAPACK_BLOCK * (8 * each + 6 * sizeof(double));
  const size_t matrix = (size_t)rows * each;
  size_t matrices;
  if (!hlo_size_mul(matrix, 6 * (size_t)columns, &matrices)) return false;
  return hlo_size_add(matrices, panels + hlo_lapack_stripe_bytes(dtype, rows, columns) * count,
                      out_bytes);
}

int64_t hlo_lapack_potrf(hlo_dtype_t dtype, bool is_lower, int64_t n, void* a, int64_t lda,
                         const hlo_lapack_work_t* work) {
  return table(dtype)->potrf(is_lower, n, a, lda, work);
}

void hlo_lapack_trsm(hlo_dtype_t dtype, const hlo_triangle_t* triangle, int64_t m, int64_t n,
                     void* b, int64_t ldb, const hlo_lapack_work_t* work) {
  table(dtype)->trsm(triangle, m, n, b, ldb, work);
}

int64_t hlo_lapack_getrf(hlo_dtype_t dtype, int64_t m, int64_t n, void* a, int64_t lda,
                         int32_t* pivots, const hlo_lapack_work_t* work) {
  return table(dtype)->getrf(m, n, a, lda, pivots, work);
}

bool hlo_lapack_is_small(hlo_dtype_t dtype, int64_t count, int64_t m, int64_t n) {
  // Empty lanes, and matrices that do not fit the caches of a core, cost more than the gain.
  enum { FEW = 8, TINY_ELEMENTS = 64 };
  if ((dtype != HLO_DTYPE_F32 && dtype != HLO_DTYPE_F64) || m > HLO_LAPACK_SMALL_ELEMENTS ||
      n > HLO_LAPACK_SMALL_ELEMENTS || m * n > HLO_LAPACK_SMALL_ELEMENTS) {
    return false;
  }
  return count >= FEW || (count > 1 && m * n <= TINY_ELEMENTS);
}

void hlo_lapack_potrf_small(hlo_dtype_t dtype, bool is_lower, int64_t count, int64_t n, void* a,
                            int32_t* info, const hlo_lapack_work_t* work) {
  table(dtype)->potrf_small(is_lower, count, n, a, info, work);
}

void hlo_lapack_getrf_small(hlo_dtype_t dtype, int64_t count, int64_t m, int64_t n, void* a,
                            int32_t* pivots, int32_t* info, const hlo_lapack_work_t* work) {
  table(dtype)->getrf_small(count, m, n, a, pivots, info, work);
}

void hlo_lapack_trsm_small(hlo_dtype_t dtype, const hlo_triangle_t* triangle, int64_t count,
                           int64_t m, int64_t n, void* b, const hlo_lapack_work_t* work) {
  table(dtype)->trsm_small(triangle, count, m, n, b, work);
}

void hlo_lapack_geqrf_small(hlo_dtype_t dtype, int64_t count, int64_t m, int64_t n, void* a,
                            void* tau, const hlo_lapack_work_t* work) {
  table(dtype)->geqrf_small(count, m, n, a, tau, work);
}

void hlo_lapack_orgqr_small(hlo_dtype_t dtype, int64_t count, int64_t m, int64_t n, int64_t k,
                            void* a, const void* tau, const hlo_lapack_work_t* work) {
  table(dtype)->orgqr_small(count, m, n, k, a, tau, work);
}

void hlo_lapack_geqrf(hlo_dtype_t dtype, int64_t m, int64_t n, void* a, int64_t lda, void* tau,
                      const hlo_lapack_work_t* work) {
  table(dtype)->geqrf(m, n, a, lda, tau, work);
}

void hlo_lapack_orgqr(hlo_dtype_t dtype, int64_t m, int64_t n, int64_t k, void* a, int64_t lda,
                      const void* tau, const hlo_lapack_work_t* work) {
  table(dtype)->orgqr(m, n, k, a, lda, tau, work);
}

int64_t hlo_lapack_syevd(hlo_dtype_t dtype, bool has_vectors, bool is_lower, int64_t n, void* a,
                         int64_t lda, void* w, const hlo_lapack_work_t* work) {
  return table(dtype)->syevd(has_vectors, is_lower, n, a, lda, w, work);
}

void hlo_lapack_ormqr(hlo_dtype_t dtype, bool is_left, bool is_adjoint, int64_t m, int64_t n,
                      int64_t k, const void* a, int64_t lda, const void* tau, void* c, int64_t ldc,
                      const hlo_lapack_work_t* work) {
  table(dtype)->ormqr(is_left, is_adjoint, m, n, k, a, lda, tau, c, ldc, work);
}

void hlo_lapack_geqp3(hlo_dtype_t dtype, int64_t m, int64_t n, void* a, int64_t lda, int32_t* order,
                      void* tau, const hlo_lapack_work_t* work) {
  table(dtype)->geqp3(m, n, a, lda, order, tau, work);
}

void hlo_lapack_gehrd(hlo_dtype_t dtype, int64_t n, int64_t low, int64_t high, void* a, int64_t lda,
                      void* tau, const hlo_lapack_work_t* work) {
  table(dtype)->gehrd(n, low, high, a, lda, tau, work);
}

void hlo_lapack_sytrd(hlo_dtype_t dtype, bool is_lower, int64_t n, void* a, int64_t lda, void* d,
                      void* e, void* tau, const hlo_lapack_work_t* work) {
  table(dtype)->sytrd(is_lower, n, a, lda, d, e, tau, work);
}

int64_t hlo_lapack_gtsv(hlo_dtype_t dtype, bool is_perturbed, int64_t n, int64_t columns, void* dl,
                        void* d, void* du, void* b, int64_t ldb, const hlo_lapack_work_t* work) {
  return table(dtype)->gtsv(is_perturbed, n, columns, dl, d, du, b, ldb, work);
}

int64_t hlo_lapack_gesdd(hlo_dtype_t dtype, int64_t m, int64_t n, void* a, void* s,
                         int64_t u_columns, void* u, int64_t vt_rows, void* vt,
                         const hlo_lapack_work_t* work) {
  return table(dtype)->gesdd(m, n, a, s, u_columns, u, vt_rows, vt, work);
}
