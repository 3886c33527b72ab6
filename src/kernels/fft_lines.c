// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of lines (see fft_lines.h): the choice of the variant, factors, roots.
#include "kernels/fft_lines.h"

#include <math.h>

#include "base/mem.h"
#include "kernels/fft_lines_impl.h"
#include "kernels/isa.h"

bool hlo_fft_plan_init(hlo_fft_plan_t* plan, int64_t length) {
  static const int first[] = {8, 4, 2};
  *plan = (hlo_fft_plan_t){.length = length};
  for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
    for (; length % first[i] == 0; length /= first[i]) plan->factors[plan->count++] = first[i];
  }
  for (int p = 3; p <= HLO_FFT_FACTOR_MAX; p += 2) {
    for (; length % p == 0; length /= p) plan->factors[plan->count++] = p;
  }
  return length == 1;
}

int64_t hlo_fft_smooth_length(int64_t least) {
  int64_t best = 1;
  while (best < least) best *= 2;
  for (int64_t fives = 1; fives < best; fives *= 5) {
    for (int64_t threes = fives; threes < best; threes *= 3) {
      int64_t length = threes;
      while (length < least) length *= 2;
      if (length < best) best = length;
    }
  }
  return best;
}

int64_t hlo_fft_split(const hlo_fft_plan_t* plan) {
  int64_t divisor = (int64_t)sqrt((double)plan->length);
  while (divisor > 1 && plan->length % divisor != 0) divisor--;
  return divisor < 1 ? 1 : divisor;
}

// exp(-2 pi i k / n), with the angle brought into an eighth of the circle first.
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

hlo_status_t hlo_fft_roots_init(hlo_fft_roots_t* roots, int64_t n) {
  *roots = (hlo_fft_roots_t){.n = n};
  while ((int64_t)1 << (2 * roots->shift) < n) roots->shift++;
  const int64_t fine = (int64_t)1 << roots->shift, coarse = (n >> roots->shift) + 1;
  const size_t bytes = 2 * (size_t)(fine + coarse) * sizeof(double);
  roots->coarse = hlo_mem_alloc_aligned(bytes, 64);
  if (!roots->coarse) return hlo_status_out_of_memory(bytes);
  roots->fine = roots->coarse + 2 * coarse;
  for (int64_t i = 0; i < fine; i++) exact_root(i % n, n, roots->fine + 2 * i);
  for (int64_t i = 0; i < coarse; i++) exact_root((i << roots->shift) % n, n, roots->coarse + 2 * i);
  return hlo_ok();
}

void hlo_fft_roots_deinit(hlo_fft_roots_t* roots) { hlo_mem_free(roots->coarse); }

hlo_status_t hlo_fft_lines_run(const hlo_parallel_t* parallel, const hlo_fft_lines_t* lines) {
  const hlo_fft_variant_t* variant = &hlo_fft_generic;
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_GENERIC: break;
    case HLO_ISA_AVX2: variant = &hlo_fft_avx2; break;
    case HLO_ISA_AVX512: variant = &hlo_fft_avx512; break;
  }
#endif
  return (lines->real == HLO_DTYPE_F64 ? variant->f64 : variant->f32)(parallel, lines);
}
