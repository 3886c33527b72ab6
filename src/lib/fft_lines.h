// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of many lines of any length, in F32 or F64.
#ifndef HLO_LIB_FFT_LINES_H_
#define HLO_LIB_FFT_LINES_H_

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/parallel.h"
#include "base/status.h"

/// What lines are made of. Of a real line of length n only the first n / 2 + 1 complex
/// numbers are kept.
typedef enum hlo_fft_kind {
  HLO_FFT_COMPLEX,    // complex to complex
  HLO_FFT_FROM_REAL,  // real to kept
  HLO_FFT_TO_REAL,    // kept to real; imaginary parts that symmetry rules out are not read
} hlo_fft_kind_t;

/// out[k] = scale * sum_j in[j] exp(-2 pi i j k / length); inverse: +2 pi i.
typedef struct hlo_fft_lines {
  hlo_dtype_t real;  // F32 or F64
  hlo_fft_kind_t kind;
  bool inverse;  // of HLO_FFT_COMPLEX; FROM_REAL is not, TO_REAL is
  double scale;
  int64_t length, count;  // length >= 1
  int64_t inner;          // element k of line l is at (l / inner * length + k) * inner + l % inner;
                          // 1 (dense lines) unless complex
  const void* in;
  void* out;  // may be `in` if complex, else they do not overlap
} hlo_fft_lines_t;

/// Tables of lengths that were transformed, for the next time. Zero-initialised is empty.
/// threads: one transform at a time. owner: hlo_fft_cache_deinit()
typedef struct hlo_fft_cache {
  struct hlo_fft_item* first;
  size_t bytes;
} hlo_fft_cache_t;
void hlo_fft_cache_deinit(hlo_fft_cache_t* cache);

/// cache NULL: tables are made and dropped.
/// errors : RESOURCE_EXHAUSTED
/// threads: safe; results do not depend on them
/// source : Stockham with factors up to 31, several lines side by side, real ones in pairs; few long
///          lines as a matrix, columns then rows (Bailey 1990); larger prime factors by Bluestein's
///          chirp. Roots are rounded once from double; the error grows as log n.
hlo_status_t hlo_fft_lines_run(const hlo_parallel_t* parallel, hlo_fft_cache_t* cache,
                               const hlo_fft_lines_t* lines) HLO_MUST_USE;

#endif  // HLO_LIB_FFT_LINES_H_
