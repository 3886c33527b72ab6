// SPDX-License-Identifier: Apache-2.0
// Selects the factorisations by type and instruction set; sizes of scratch memory.

#include "base/mem.h"
#include "lib/isa.h"
#include "lib/lapack/lapack_impl.h"

bool hlo_lapack_supports(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_F32 || dtype == HLO_DTYPE_F64 || dtype == HLO_DTYPE_C64 ||
         dtype == HLO_DTYPE_C128;
}

const hlo_lapack_t* hlo_lapack_of(hlo_dtype_t dtype) {
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

bool hlo_lapack_is_small(hlo_dtype_t dtype, int64_t count, int64_t m, int64_t n) {
  // Empty lanes, and matrices that do not fit the caches of a core, cost more than the gain.
  enum { FEW = 8, TINY_ELEMENTS = 64 };
  if ((dtype != HLO_DTYPE_F32 && dtype != HLO_DTYPE_F64) || m > HLO_LAPACK_SMALL_ELEMENTS ||
      n > HLO_LAPACK_SMALL_ELEMENTS || m * n > HLO_LAPACK_SMALL_ELEMENTS) {
    return false;
  }
  return count >= FEW || (count > 1 && m * n <= TINY_ELEMENTS);
}
