// SPDX-License-Identifier: Apache-2.0
// One variant of the butterflies. Needs BLOCK_FN, the name of the function that is defined.
#include "kernels/fft32_impl.h"

typedef float line_t __attribute__((vector_size(HLO_FFT32_LINES * sizeof(float))));
typedef struct {
  line_t re, im;
} row_t;

static inline row_t add(row_t a, row_t b) {
  return (row_t){a.re + b.re, a.im + b.im};
}
static inline row_t subtract(row_t a, row_t b) {
  return (row_t){a.re - b.re, a.im - b.im};
}
static inline row_t turn(row_t a) {
  return (row_t){a.im, -a.re};
}  // times -i
static inline row_t times(row_t a, const float* w) {
  return (row_t){a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0]};
}

// Transforms of length n, `stride` of them interleaved, become four times as many of a quarter.
static void pass_4(int64_t n, int64_t stride, const float* roots, const row_t* x, row_t* y) {
  const int64_t m = n / 4;
  for (int64_t p = 0; p < m; p++) {
    const float *w1 = roots + 2 * p * stride, *w2 = roots + 4 * p * stride,
                *w3 = roots + 6 * p * stride;
    for (int64_t q = 0; q < stride; q++) {
      const row_t* from = x + q + stride * p;
      const row_t a = from[0], b = from[stride * m], c = from[2 * stride * m],
                  d = from[3 * stride * m];
      const row_t even = add(a, c), odd = subtract(a, c), sum = add(b, d),
                  turned = turn(subtract(b, d));
      row_t* to = y + q + stride * 4 * p;
      to[0] = add(even, sum);
      to[stride] = times(add(odd, turned), w1);
      to[2 * stride] = times(subtract(even, sum), w2);
      to[3 * stride] = times(subtract(odd, turned), w3);
    }
  }
}

static void pass_2(int64_t stride, const row_t* x, row_t* y) {
  for (int64_t q = 0; q < stride; q++) {
    const row_t a = x[q], b = x[q + stride];
    y[q] = add(a, b);
    y[q + stride] = subtract(a, b);
  }
}

float* BLOCK_FN(int64_t length, const float* roots, const float* in, float* x, float* y) {
  const row_t* from = (const row_t*)in;
  row_t *to = (row_t*)x, *other = (row_t*)y;
  int64_t n = length, stride = 1;
  if (length == 1) {
    to[0] = from[0];
    return x;
  }
  for (; n > 1; n = n > 2 ? n / 4 : 1) {
    if (n == 2) {
      pass_2(stride, from, to);
    } else {
      pass_4(n, stride, roots, from, to);
    }
    stride *= 4;
    from = to;
    to = other;
    other = (row_t*)(uintptr_t)from;
  }
  return (float*)(uintptr_t)from;
}
