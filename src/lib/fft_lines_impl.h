// SPDX-License-Identifier: Apache-2.0
// Shared by the variants of fft_lines.h: factors, roots of unity, the table of variants.
#pragma once

#include "lib/fft_lines.h"

enum { HLO_FFT_FACTOR_MAX = 31, HLO_FFT_FACTORS_MAX = 64 };

/// The factors of a length, in the order of their passes. False if one is too large.
typedef struct hlo_fft_plan {
  int64_t length;
  int count;
  int factors[HLO_FFT_FACTORS_MAX];
} hlo_fft_plan_t;
bool hlo_fft_plan_init(hlo_fft_plan_t* plan, int64_t length);

/// Returns a length >= `least` without factors other than 2, 3 and 5 whose transform is cheapest.
int64_t hlo_fft_smooth_length(int64_t least);
/// Returns the largest divisor of a plan's length that is at most its square root.
int64_t hlo_fft_split(const hlo_fft_plan_t* plan);

/// The kinds of cached tables of a length (see hlo_fft_cache_t), each of one element type.
typedef enum hlo_fft_item_kind {
  HLO_FFT_TABLE,   // roots of a product of small factors
  HLO_FFT_ROOTS,   // hlo_fft_roots_t, always in F64
  HLO_FFT_STEPS,   // of a matrix's columns
  HLO_FFT_CHIRP,   // a convolution
  HLO_FFT_HALVES,  // roots that join the halves of real lines
  HLO_FFT_MIDDLE,  // memory for a matrix, of at least `length` bytes
  HLO_FFT_WORK,    // memory for padded lines
  HLO_FFT_WHOLE,   // memory for real lines as complex ones
} hlo_fft_item_kind_t;
typedef struct hlo_fft_item {
  struct hlo_fft_item* next;
  hlo_fft_item_kind_t kind;
  hlo_dtype_t real;
  int64_t length;
  size_t bytes;
  _Alignas(64) char data[];
} hlo_fft_item_t;

/// Returns the data of a cached item, or NULL if the item is not cached yet.
const void* hlo_fft_cache_find(const hlo_fft_cache_t* cache, hlo_fft_item_kind_t kind,
                               hlo_dtype_t real, int64_t length);
/// Allocates room for `count` numbers of an element type after a head of `head_bytes`. owner: the
/// caller, who fills it and adds it to the cache, or frees it. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fft_item_create(hlo_fft_item_kind_t kind, hlo_dtype_t real, int64_t length,
                                 size_t head_bytes, int64_t count,
                                 hlo_fft_item_t** out_item) HLO_MUST_USE;
const void* hlo_fft_cache_keep(hlo_fft_cache_t* cache, hlo_fft_item_t* item);
/// Returns memory for one user at a time until the transform is done. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fft_cache_room(hlo_fft_cache_t* cache, hlo_fft_item_kind_t kind, size_t bytes,
                                void** out_room) HLO_MUST_USE;

/// exp(-2 pi i k / n) for 0 <= k < n as products of two factors.
typedef struct hlo_fft_roots {
  int64_t n;
  int shift;
  double *coarse, *fine;
} hlo_fft_roots_t;
hlo_status_t hlo_fft_roots_get(hlo_fft_cache_t* cache, int64_t n,
                               const hlo_fft_roots_t** out_roots) HLO_MUST_USE;

static inline void hlo_fft_root(const hlo_fft_roots_t* roots, int64_t k, double* out) {
  const double* a = roots->coarse + 2 * (k >> roots->shift);
  const double* b = roots->fine + 2 * (k & (((int64_t)1 << roots->shift) - 1));
  out[0] = a[0] * b[0] - a[1] * b[1];
  out[1] = a[0] * b[1] + a[1] * b[0];
}

/// The transform of one type on one instruction set.
typedef hlo_status_t (*hlo_fft_run_t)(const hlo_parallel_t* parallel, hlo_fft_cache_t* cache,
                                      const hlo_fft_lines_t* lines);
typedef struct hlo_fft_variant {
  hlo_fft_run_t f32, f64;
} hlo_fft_variant_t;
extern const hlo_fft_variant_t hlo_fft_generic;
#if defined(__x86_64__)
extern const hlo_fft_variant_t hlo_fft_avx2, hlo_fft_avx512;
#endif
