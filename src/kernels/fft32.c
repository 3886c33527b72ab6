// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of f32 (see fft32.h). A long line of n = columns * rows elements is a matrix:
// its columns are transformed, turned by roots of n, and its rows transformed into columns of the
// result. Short lines are the rows of such a matrix. Either way HLO_FFT32_LINES go side by side.
#include "kernels/fft32.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "kernels/fft32_impl.h"
#include "kernels/isa.h"

enum {
  LINES = HLO_FFT32_LINES,
  ROW = HLO_FFT32_ROW,
  SHORT_MAX = 1024,  // longest line that is not cut
  LENGTH_LOG2_MAX = 26,
};

typedef struct {
  hlo_fft32_block_fn_t block;
  bool inverse;
  int64_t length, line_count;
  int64_t height, width;              // of the matrix: a column has `height` elements
  float *height_roots, *width_roots;  // exp(-2 pi i k / height), and of width
  double *coarse, *fine;              // exp(-2 pi i k / n) for k = i * width, and for k < width
  float* steps;                       // rows of exp(-2 pi i r j / n), j < LINES
  const float* in;                    // of the line under way
  float* out;
  float* middle;  // blocks of LINES rows: [height / LINES][width] rows
  atomic_bool is_exhausted;
} fft_t;

bool hlo_fft32_supports(int64_t length) {
  return length >= 1 && length <= (int64_t)1 << LENGTH_LOG2_MAX && (length & (length - 1)) == 0;
}

static hlo_fft32_block_fn_t block_fn(void) {
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_GENERIC: break;
    case HLO_ISA_AVX2: return hlo_fft32_block_avx2;
    case HLO_ISA_AVX512: return hlo_fft32_block_avx512;
  }
#endif
  return hlo_fft32_block_generic;
}

// ---- roots

// exp(-2 pi i k / n) for 0 <= k < n, n a power of two: k / n is exact.
static void root(int64_t k, int64_t n, double* out) {
  const double angle = -6.283185307179586476925 * ((double)k / (double)n);
  out[0] = cos(angle);
  out[1] = sin(angle);
}

static void fill_roots(int64_t n, float* out) {
  for (int64_t k = 0; k < n; k++) {
    double w[2];
    root(k, n, w);
    out[2 * k] = (float)w[0];
    out[2 * k + 1] = (float)w[1];
  }
}

// exp(-2 pi i k / n) for 0 <= k < n as the product of two.
static void fine_root(const fft_t* fft, int64_t k, double* out) {
  const double *a = fft->coarse + 2 * (k / fft->width), *b = fft->fine + 2 * (k % fft->width);
  out[0] = a[0] * b[0] - a[1] * b[1];
  out[1] = a[0] * b[1] + a[1] * b[0];
}

static hlo_status_t fill_tables(fft_t* fft) {
  const int64_t height = fft->height, width = fft->width;
  const size_t bytes =
      (size_t)(4 * height + 4 * width) * sizeof(double) + (size_t)(height * ROW) * sizeof(float);
  fft->coarse = hlo_mem_alloc_aligned(bytes, 64);
  if (!fft->coarse) return hlo_status_out_of_memory(bytes);
  fft->fine = fft->coarse + 2 * height;
  fft->height_roots = (float*)(fft->fine + 2 * width);
  fft->width_roots = fft->height_roots + 2 * height;
  fft->steps = fft->width_roots + 2 * width;
  fill_roots(width, fft->width_roots);
  if (height == 1) return hlo_ok();
  fill_roots(height, fft->height_roots);
  for (int64_t i = 0; i < height; i++) root(i, height, fft->coarse + 2 * i);
  for (int64_t k = 0; k < width; k++) root(k, fft->length, fft->fine + 2 * k);
  for (int64_t r = 0; r < height; r++) {
    for (int64_t j = 0; j < LINES; j++) {
      double w[2];
      fine_root(fft, r * j % fft->length, w);
      fft->steps[r * ROW + j] = (float)w[0];
      fft->steps[r * ROW + LINES + j] = (float)w[1];
    }
  }
  return hlo_ok();
}

// ---- blocks

static float* block_alloc(fft_t* fft, int64_t rows) {
  float* block = hlo_mem_alloc_aligned(2 * (size_t)(rows * ROW) * sizeof(float), 64);
  if (!block) atomic_store(&fft->is_exhausted, true);
  return block;
}

// The inverse is the transform with real and imaginary parts exchanged, before and after.
static inline void load_row(bool swap, const float* in, float* row) {
  float *re = swap ? row + LINES : row, *im = swap ? row : row + LINES;
  for (int j = 0; j < LINES; j++) {
    re[j] = in[2 * j];
    im[j] = in[2 * j + 1];
  }
}

static inline void store_row(bool swap, const float* row, float* out) {
  const float *re = swap ? row + LINES : row, *im = swap ? row : row + LINES;
  for (int j = 0; j < LINES; j++) {
    out[2 * j] = re[j];
    out[2 * j + 1] = im[j];
  }
}

// Row r times exp(-2 pi i r (first + j) / n) for its elements j.
static void turn_row(const fft_t* fft, int64_t r, int64_t first, float* row) {
  const float* step = fft->steps + r * ROW;
  double w[2];
  fine_root(fft, r * first % fft->length, w);
  const float c = (float)w[0], s = (float)w[1];
  for (int j = 0; j < LINES; j++) {
    const float re = c * step[j] - s * step[LINES + j], im = c * step[LINES + j] + s * step[j];
    const float x = row[j], y = row[LINES + j];
    row[j] = x * re - y * im;
    row[LINES + j] = x * im + y * re;
  }
}

// LINES columns of the matrix, into LINES elements of every row of the blocks in the middle.
static void run_columns(void* arg, uint64_t index) {
  fft_t* fft = arg;
  const int64_t first = (int64_t)index * LINES, height = fft->height;
  float* x = block_alloc(fft, height);
  if (!x) return;
  float* y = x + height * ROW;
  for (int64_t r = 0; r < height; r++) {
    load_row(fft->inverse, fft->in + 2 * (r * fft->width + first), y + r * ROW);
  }
  float* found = fft->block(height, fft->height_roots, y, x, y);
  for (int64_t r = 0; r < height; r++) turn_row(fft, r, first, found + r * ROW);
  for (int64_t b = 0; b < height; b += LINES) {  // turned over, LINES by LINES
    float* to = fft->middle + (b / LINES * fft->width + first) * ROW;
    const float* from = found + b * ROW;
    for (int64_t j = 0; j < LINES; j++) {
      for (int64_t r = 0; r < LINES; r++) {
        to[j * ROW + r] = from[r * ROW + j];
        to[j * ROW + LINES + r] = from[r * ROW + LINES + j];
      }
    }
  }
  hlo_mem_free(x);
}

static void run_rows(void* arg, uint64_t index) {
  fft_t* fft = arg;
  float* x = block_alloc(fft, fft->width);
  if (!x) return;
  const float* in = fft->middle + (int64_t)index * fft->width * ROW;
  const float* found = fft->block(fft->width, fft->width_roots, in, x, x + fft->width * ROW);
  for (int64_t k = 0; k < fft->width; k++) {
    store_row(fft->inverse, found + k * ROW,
              fft->out + 2 * (k * fft->height + (int64_t)index * LINES));
  }
  hlo_mem_free(x);
}

static hlo_status_t run_long(const hlo_parallel_t* parallel, fft_t* fft) {
  const size_t bytes = 2 * (size_t)fft->length * sizeof(float);
  const float* in = fft->in;
  float* out = fft->out;
  fft->middle = hlo_mem_alloc_aligned(bytes, 64);
  if (!fft->middle) return hlo_status_out_of_memory(bytes);
  for (int64_t l = 0; l < fft->line_count; l++) {
    fft->in = in + 2 * l * fft->length;
    fft->out = out + 2 * l * fft->length;
    hlo_parallel_for(parallel, (uint64_t)(fft->width / LINES), run_columns, fft);
    hlo_parallel_for(parallel, (uint64_t)(fft->height / LINES), run_rows, fft);
  }
  hlo_mem_free(fft->middle);
  return hlo_ok();
}

// ---- short lines

// LINES lines at a time; the last ones are filled up with zeros.
static void run_short(const fft_t* fft, int64_t first, float* x, float* y) {
  const int64_t n = fft->length;
  const int64_t count = fft->line_count - first < LINES ? fft->line_count - first : LINES;
  const int re = fft->inverse ? LINES : 0, im = LINES - re;
  if (count < LINES) memset(y, 0, (size_t)(n * ROW) * sizeof(float));
  for (int64_t l = 0; l < count; l++) {
    const float* in = fft->in + 2 * (first + l) * n;
    for (int64_t k = 0; k < n; k++) {
      y[k * ROW + re + l] = in[2 * k];
      y[k * ROW + im + l] = in[2 * k + 1];
    }
  }
  const float* found = fft->block(n, fft->width_roots, y, x, y);
  for (int64_t l = 0; l < count; l++) {
    float* out = fft->out + 2 * (first + l) * n;
    for (int64_t k = 0; k < n; k++) {
      out[2 * k] = found[k * ROW + re + l];
      out[2 * k + 1] = found[k * ROW + im + l];
    }
  }
}

static int64_t lines_per_chunk(const fft_t* fft) {
  enum { CHUNK_ELEMENTS = 1 << 14 };
  const int64_t lines = CHUNK_ELEMENTS / fft->length / LINES * LINES;
  return lines < LINES ? LINES : lines;
}

static void run_short_chunk(void* arg, uint64_t index) {
  fft_t* fft = arg;
  const int64_t step = lines_per_chunk(fft), first = (int64_t)index * step;
  float* x = block_alloc(fft, fft->length);
  if (!x) return;
  for (int64_t l = first; l < first + step && l < fft->line_count; l += LINES) {
    run_short(fft, l, x, x + fft->length * ROW);
  }
  hlo_mem_free(x);
}

hlo_status_t hlo_fft32_run(const hlo_parallel_t* parallel, int64_t length, int64_t line_count,
                           bool inverse, const float* in, float* out) {
  fft_t fft = {.block = block_fn(),
               .inverse = inverse,
               .length = length,
               .line_count = line_count,
               .height = 1,
               .width = length,
               .in = in,
               .out = out};
  while (length > SHORT_MAX && fft.height < fft.width) {
    fft.height *= 2;
    fft.width /= 2;
  }
  hlo_status_t status = fill_tables(&fft);
  if (hlo_status_is_ok(status) && fft.height > 1) {
    status = run_long(parallel, &fft);
  } else if (hlo_status_is_ok(status)) {
    hlo_parallel_for(parallel, hlo_chunk_count((size_t)line_count, (size_t)lines_per_chunk(&fft)),
                     run_short_chunk, &fft);
  }
  hlo_mem_free(fft.coarse);
  if (hlo_status_is_ok(status) && atomic_load(&fft.is_exhausted)) {
    status = hlo_status_out_of_memory((size_t)(fft.width * ROW) * sizeof(float));
  }
  return status;
}
