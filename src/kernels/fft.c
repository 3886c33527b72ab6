// SPDX-License-Identifier: Apache-2.0
// Mixed-radix decimation in time, with one table of roots; lengths with a large prime factor turn
// into a convolution of a power of two.
#include "kernels/fft.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { FACTOR_MAX = 31, FACTOR_COUNT = 64 };

struct hlo_fft {
  int64_t length;
  int factor_count;
  int factors[FACTOR_COUNT];
  double complex* roots;  // exp(-2 pi i k / length), k < length
  // Bluestein
  hlo_fft_t* inner;        // of a power of two >= 2 * length - 1, or NULL
  double complex* chirp;   // exp(-pi i k^2 / length)
  double complex* kernel;  // transform of the conjugate chirp, mirrored
  double complex* work;    // 2 * inner->length
};

// exp(-2 pi i k / n), with the angle brought into an eighth of the circle first.
static double complex root(int64_t k, int64_t n) {
  const double quarter_pi = 0.78539816339744830962;
  const __int128 eight = (__int128)8 * k;
  const int octant = (int)(eight / n);
  const double rest = (double)(int64_t)(eight % n) / (double)n;  // of an octant
  const double angle = quarter_pi * (octant % 2 ? 1 - rest : rest);
  double c = cos(angle), s = sin(angle);
  if (((octant + 1) / 2) % 2) {
    const double swap = c;
    c = s;
    s = swap;
  }
  if (octant >= 2 && octant < 6) c = -c;
  if (octant >= 4) s = -s;
  return __builtin_complex(c, -s);
}

// a * b without the special cases of C's complex product.
static inline double complex times(double complex a, double complex b) {
  return __builtin_complex(creal(a) * creal(b) - cimag(a) * cimag(b),
                           creal(a) * cimag(b) + cimag(a) * creal(b));
}

static inline double complex minus_i_times(double complex a) {
  return __builtin_complex(cimag(a), -creal(a));
}

// Joins two, or four, transforms of length m lying one after the other in `out`. `step`: distance
// in the table of roots.
static void join_2(const hlo_fft_t* fft, int64_t m, int64_t step, double complex* out) {
  for (int64_t k = 0; k < m; k++) {
    const double complex a = out[k], b = times(out[m + k], fft->roots[k * step]);
    out[k] = a + b;
    out[m + k] = a - b;
  }
}

static void join_4(const hlo_fft_t* fft, int64_t m, int64_t step, double complex* out) {
  for (int64_t k = 0; k < m; k++) {
    const double complex a = out[k], b = times(out[m + k], fft->roots[k * step]),
                         c = times(out[2 * m + k], fft->roots[2 * k * step]),
                         d = times(out[3 * m + k], fft->roots[3 * k * step]);
    const double complex even = a + c, odd = a - c, sum = b + d, turned = minus_i_times(b - d);
    out[k] = even + sum;
    out[m + k] = odd + turned;
    out[2 * m + k] = even - sum;
    out[3 * m + k] = odd - turned;
  }
}

static void join_any(const hlo_fft_t* fft, int p, int64_t m, int64_t step, double complex* out) {
  double complex parts[FACTOR_MAX];
  const int64_t turn = m * step;  // a p-th of the circle
  for (int64_t k = 0; k < m; k++) {
    for (int j = 0; j < p; j++) parts[j] = times(out[j * m + k], fft->roots[j * k * step]);
    for (int q = 0; q < p; q++) {
      double complex sum = parts[0];
      for (int j = 1; j < p; j++) sum += times(parts[j], fft->roots[(j * q) % p * turn]);
      out[q * m + k] = sum;
    }
  }
}

// Depth is the number of factors, at most 40.
static void transform(const hlo_fft_t* fft, int level, int64_t n, int64_t stride,
                      const double complex* in, double complex* out) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const int p = fft->factors[level];
  const int64_t m = n / p, step = fft->length / n;
  for (int j = 0; j < p; j++)
    transform(fft, level + 1, m, stride * p, in + j * stride, out + j * m);
  switch (p) {
    case 2: join_2(fft, m, step, out); return;
    case 4: join_4(fft, m, step, out); return;
    default: join_any(fft, p, m, step, out); return;
  }
}

// False if a prime factor is too large for the direct method.
static bool factorise(hlo_fft_t* fft) {
  int64_t rest = fft->length;
  const int order[] = {4, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31};
  for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
    for (; rest % order[i] == 0 && rest > 1; rest /= order[i]) {
      fft->factors[fft->factor_count++] = order[i];
    }
  }
  return rest == 1;
}

static hlo_status_t prepare_chirp(hlo_fft_t* fft) {
  const int64_t n = fft->length;
  int64_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  HLO_TRY(hlo_fft_create(m, &fft->inner));
  const size_t bytes = sizeof(double complex);
  fft->chirp = hlo_mem_alloc((size_t)n * bytes);
  fft->kernel = hlo_mem_alloc((size_t)m * bytes);
  fft->work = hlo_mem_alloc_zeroed(2 * (size_t)m * bytes);
  if (!fft->chirp || !fft->kernel || !fft->work) {
    return hlo_status_out_of_memory((size_t)(n + 3 * m) * bytes);
  }
  for (int64_t k = 0; k < n; k++) {  // k^2 / 2n of the circle, modulo whole turns
    const int64_t square =
        (int64_t)((unsigned __int128)k * (unsigned __int128)k % (unsigned __int128)(2 * n));
    fft->chirp[k] = root(square, 2 * n);
    fft->work[k] = conj(fft->chirp[k]);
    if (k > 0) fft->work[m - k] = fft->work[k];
  }
  hlo_fft_run(fft->inner, false, fft->work, fft->kernel);
  return hlo_ok();
}

hlo_status_t hlo_fft_create(int64_t length, hlo_fft_t** out_fft) {
  if (length < 1 || length > (int64_t)1 << 40) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "no transform of length %lld",
                             (long long)length);
  }
  hlo_fft_t* fft = hlo_mem_alloc_zeroed(sizeof(*fft));
  if (!fft) return hlo_status_out_of_memory(sizeof(*fft));
  fft->length = length;
  hlo_status_t status = hlo_ok();
  if (factorise(fft)) {
    fft->roots = hlo_mem_alloc((size_t)length * sizeof(fft->roots[0]));
    if (!fft->roots) status = hlo_status_out_of_memory((size_t)length * sizeof(fft->roots[0]));
    for (int64_t k = 0; k < length && fft->roots; k++) fft->roots[k] = root(k, length);
  } else {
    status = prepare_chirp(fft);
  }
  if (hlo_status_is_ok(status)) {
    *out_fft = fft;
  } else {
    hlo_fft_release(fft);
  }
  return status;
}

void hlo_fft_release(hlo_fft_t* fft) {
  if (!fft) return;
  hlo_fft_release(fft->inner);
  hlo_mem_free(fft->roots);
  hlo_mem_free(fft->chirp);
  hlo_mem_free(fft->kernel);
  hlo_mem_free(fft->work);
  hlo_mem_free(fft);
}

// out[k] = chirp[k] * (in * chirp convolved with the conjugate chirp)[k]
static void run_chirp(const hlo_fft_t* fft, const double complex* in, double complex* out) {
  const int64_t n = fft->length, m = fft->inner->length;
  double complex *a = fft->work, *b = fft->work + m;
  for (int64_t k = 0; k < n; k++) a[k] = times(in[k], fft->chirp[k]);
  for (int64_t k = n; k < m; k++) a[k] = 0;
  hlo_fft_run(fft->inner, false, a, b);
  for (int64_t k = 0; k < m; k++) b[k] = conj(times(b[k], fft->kernel[k]));
  hlo_fft_run(fft->inner, false, b, a);  // of the conjugate: the inverse transform's conjugate
  for (int64_t k = 0; k < n; k++) out[k] = times(conj(a[k]) / (double)m, fft->chirp[k]);
}

void hlo_fft_run(hlo_fft_t* fft, bool inverse, const double complex* in, double complex* out) {
  if (fft->inner) {
    run_chirp(fft, in, out);
  } else {
    transform(fft, 0, fft->length, 1, in, out);
  }
  if (!inverse) return;
  for (int64_t k = 1; k < fft->length - k; k++) {  // the inverse runs through the places backwards
    const double complex swap = out[k];
    out[k] = out[fft->length - k];
    out[fft->length - k] = swap;
  }
}
