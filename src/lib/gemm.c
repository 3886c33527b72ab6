// SPDX-License-Identifier: Apache-2.0
// Selects the matrix product: thin shapes run without packing, others use the best variant of the
// CPU.

#include "lib/gemm_impl.h"
#include "lib/isa.h"

#define T float
#define NAME(x) f32_##x
#include "lib/gemm_thin.inl"
#define T double
#define NAME(x) f64_##x
#include "lib/gemm_thin.inl"

typedef struct {
  void (*dots)(const hlo_gemm_t* gemm);
  void (*sums)(const hlo_gemm_t* gemm);
  void (*scattered)(const hlo_gemm_t* gemm);
  void (*packed[3])(const hlo_gemm_t* gemm, void* scratch);  // by hlo_isa_t
} variants_t;

#if defined(__x86_64__)
#define PACKED(type) \
  { hlo_gemm_##type##_generic, hlo_gemm_##type##_avx2, hlo_gemm_##type##_avx512 }
#else
#define PACKED(type) \
  { hlo_gemm_##type##_generic, hlo_gemm_##type##_generic, hlo_gemm_##type##_generic }
#endif

static const variants_t f32_variants = {f32_dots, f32_sums, f32_scattered, PACKED(f32)};
static const variants_t f64_variants = {f64_dots, f64_sums, f64_scattered, PACKED(f64)};
static const variants_t* variants_of(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_F32 ? &f32_variants : &f64_variants;
}

// Returns the smaller of size and limit, plus room for the zeros that pad the last panel.
static size_t packed_size(int64_t size, int64_t limit) {
  return (size_t)(size < limit ? size : limit) + HLO_GEMM_PANEL_MAX;
}

size_t hlo_gemm_scratch_bytes(hlo_dtype_t dtype, int64_t m, int64_t n, int64_t k) {
  const size_t depth = (size_t)(k < HLO_GEMM_KC ? k : HLO_GEMM_KC);
  return (packed_size(m, HLO_GEMM_MC) + packed_size(n, HLO_GEMM_NC)) * depth *
         hlo_dtype_size_bytes(dtype);
}

void hlo_gemm(hlo_dtype_t dtype, const hlo_gemm_t* gemm, void* scratch) {
  enum { THIN = 4 };
  const variants_t* variants = variants_of(dtype);
  const size_t bytes = hlo_dtype_size_bytes(dtype);
  if (gemm->k == 0) {
    for (int64_t i = 0; gemm->mode == HLO_GEMM_SET && i < gemm->m; i++) {
      __builtin_memset((char*)gemm->c + (size_t)(i * gemm->c_row) * bytes, 0,
                       (size_t)gemm->n * bytes);
    }
    return;
  }
  const int is_tiny = gemm->m <= 64 && gemm->n <= 64 && gemm->m * gemm->n * gemm->k <= 512;
  if (gemm->m <= THIN || gemm->n <= THIN || is_tiny) {
    if (gemm->a_col == 1 && gemm->b_row == 1) {
      variants->dots(gemm);
      return;
    }
    if (gemm->b_col == 1 && (gemm->m <= THIN || is_tiny)) {
      variants->sums(gemm);
      return;
    }
  }
  if (is_tiny) {
    variants->scattered(gemm);
    return;
  }
  variants->packed[hlo_isa()](gemm, scratch);
}
