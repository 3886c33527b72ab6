// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of lines (see fft_lines.h): the choice of the variant, factors, roots.

#include <math.h>

#include "base/mem.h"
#include "lib/fft_lines_impl.h"
#include "lib/isa.h"

bool hlo_fft_plan_init(hlo_fft_plan_t* plan, int64_t length) {
  enum { BITS_MAX = 3 };  // of a factor
  *plan = (hlo_fft_plan_t){.length = length};
  int twos = 0;
  for (; length % 2 == 0; length /= 2) twos++;
  // as even as possible
  for (int passes = (twos + BITS_MAX - 1) / BITS_MAX; passes > 0; passes--) {
    const int bits = (twos + passes - 1) / passes;
    plan->factors[plan->count++] = 1 << bits;
    twos -= bits;
  }
  for (int p = 3; p <= HLO_FFT_FACTOR_MAX; p += 2) {
    for (; length % p == 0; length /= p) plan->factors[plan->count++] = p;
  }
  return length == 1;
}

// Estimates the time of the passes per element, in passes; the remaining work costs about two
// passes.
static double passes_work(const hlo_fft_plan_t* plan) {
  double work = 2;
  for (int i = 0; i < plan->count; i++) work += 0.9 + plan->factors[i] / 32.0;
  return work;
}

int64_t hlo_fft_smooth_length(int64_t least) {
  int64_t best = 1;
  double best_work = INFINITY;
  for (int64_t fives = 1; fives / 5 < least; fives *= 5) {
    for (int64_t threes = fives; threes / 3 < least; threes *= 3) {
      int64_t length = threes;
      while (length < least) length *= 2;
      hlo_fft_plan_t plan;
      hlo_fft_plan_init(&plan, length);
      const double work = (double)length * passes_work(&plan);
      if (work < best_work || (work == best_work && length < best)) {
        best = length;
        best_work = work;
      }
    }
  }
  return best;
}

int64_t hlo_fft_split(const hlo_fft_plan_t* plan) {
  int64_t divisor = (int64_t)sqrt((double)plan->length);
  while (divisor > 1 && plan->length % divisor != 0) divisor--;
  return divisor < 1 ? 1 : divisor;
}

// exp(-2 pi i k / n), with the angle reduced to an octant first.
static void exact_root(int64_t k, int64_t n, double* out) {
  const double quarter_pi = 0.78539816339744830962;
  const __int128 eight = (__int128)8 * k;
  const int octant = (int)(eight / n);
  const double rest = (double)(int64_t)(eight % n) / (double)n;  // of an octant
  const double angle = quarter_pi * (octant % 2 ? 1 - rest : rest);
  const bool is_swapped = ((octant + 1) / 2) % 2;
  const double c = is_swapped ? sin(angle) : cos(angle), s = is_swapped ? cos(angle) : sin(angle);
  out[0] = octant >= 2 && octant < 6 ? -c : c;
  out[1] = octant >= 4 ? s : -s;
}

hlo_status_t hlo_fft_roots_get(hlo_fft_cache_t* cache, int64_t n,
                               const hlo_fft_roots_t** out_roots) {
  *out_roots = hlo_fft_cache_find(cache, HLO_FFT_ROOTS, HLO_DTYPE_F64, n);
  if (*out_roots) return hlo_ok();
  int shift = 0;
  while ((int64_t)1 << (2 * shift) < n) shift++;
  const int64_t fine = (int64_t)1 << shift, coarse = (n >> shift) + 1;
  hlo_fft_item_t* item = NULL;
  HLO_TRY(hlo_fft_item_create(HLO_FFT_ROOTS, HLO_DTYPE_F64, n, sizeof(hlo_fft_roots_t),
                              2 * (fine + coarse), &item));
  hlo_fft_roots_t* roots = (hlo_fft_roots_t*)item->data;
  double* numbers = (double*)(item->data + sizeof(*roots));
  *roots =
      (hlo_fft_roots_t){.n = n, .shift = shift, .coarse = numbers, .fine = numbers + 2 * coarse};
  for (int64_t i = 0; i < fine; i++) exact_root(i % n, n, roots->fine + 2 * i);
  for (int64_t i = 0; i < coarse; i++) exact_root((i << shift) % n, n, roots->coarse + 2 * i);
  *out_roots = hlo_fft_cache_keep(cache, item);
  return hlo_ok();
}

const void* hlo_fft_cache_find(const hlo_fft_cache_t* cache, hlo_fft_item_kind_t kind,
                               hlo_dtype_t real, int64_t length) {
  for (const hlo_fft_item_t* item = cache->first; item; item = item->next) {
    if (item->kind == kind && item->real == real && item->length == length) return item->data;
  }
  return NULL;
}

hlo_status_t hlo_fft_item_create(hlo_fft_item_kind_t kind, hlo_dtype_t real, int64_t length,
                                 size_t head_bytes, int64_t count, hlo_fft_item_t** out_item) {
  size_t bytes;
  if (!hlo_size_mul((size_t)count, hlo_dtype_size_bytes(real), &bytes) ||
      !hlo_size_add(bytes, sizeof(hlo_fft_item_t) + head_bytes, &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  hlo_fft_item_t* item = hlo_mem_alloc_aligned(bytes, 64);
  if (!item) return hlo_status_out_of_memory(bytes);
  item->kind = kind;
  item->real = real;
  item->length = length;
  item->bytes = bytes;
  *out_item = item;
  return hlo_ok();
}

const void* hlo_fft_cache_keep(hlo_fft_cache_t* cache, hlo_fft_item_t* item) {
  item->next = cache->first;
  cache->first = item;
  cache->bytes += item->bytes;
  return item->data;
}

hlo_status_t hlo_fft_cache_room(hlo_fft_cache_t* cache, hlo_fft_item_kind_t kind, size_t bytes,
                                void** out_room) {
  hlo_fft_item_t** link = &cache->first;
  while (*link && (*link)->kind != kind) link = &(*link)->next;
  hlo_fft_item_t* item = *link;
  if (item && (size_t)item->length >= bytes) {
    *out_room = item->data;
    return hlo_ok();
  }
  if (item) {
    *link = item->next;
    cache->bytes -= item->bytes;
    hlo_mem_free(item);
  }
  if (bytes > INT64_MAX) return hlo_status_out_of_memory(bytes);
  HLO_TRY(hlo_fft_item_create(kind, HLO_DTYPE_U8, (int64_t)bytes, 0, (int64_t)bytes, &item));
  hlo_fft_cache_keep(cache, item);
  *out_room = item->data;
  return hlo_ok();
}

void hlo_fft_cache_deinit(hlo_fft_cache_t* cache) {
  while (cache->first) {
    hlo_fft_item_t* item = cache->first;
    cache->first = item->next;
    hlo_mem_free(item);
  }
  cache->bytes = 0;
}

hlo_status_t hlo_fft_lines_run(const hlo_parallel_t* parallel, hlo_fft_cache_t* cache,
                               const hlo_fft_lines_t* lines) {
  enum { KEPT_BYTES_MAX = 1 << 25 };
  const hlo_fft_variant_t* variant = &hlo_fft_generic;
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_GENERIC: break;
    case HLO_ISA_AVX2: variant = &hlo_fft_avx2; break;
    case HLO_ISA_AVX512: variant = &hlo_fft_avx512; break;
  }
#endif
  const hlo_fft_run_t run = lines->real == HLO_DTYPE_F64 ? variant->f64 : variant->f32;
  hlo_fft_cache_t own = {0};
  hlo_status_t status = run(parallel, cache ? cache : &own, lines);
  if (!cache || cache->bytes > KEPT_BYTES_MAX) hlo_fft_cache_deinit(cache ? cache : &own);
  return status;
}
