// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of many lines of any length, in F32 or F64.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"
#include "base/parallel.h"
#include "base/status.h"

/// The element types of lines. Only the first n / 2 + 1 complex numbers of a transformed real line
/// of length n are stored.
typedef enum hlo_fft_kind {
  HLO_FFT_COMPLEX,    // complex to complex
  HLO_FFT_FROM_REAL,  // real to the stored half
  HLO_FFT_TO_REAL,    // stored half to real; imaginary parts that symmetry makes zero are not read
} hlo_fft_kind_t;

/// out[k] = scale * sum_j in[j] exp(-2 pi i j k / length); inverse: +2 pi i.
typedef struct hlo_fft_lines {
  hlo_dtype_t real;  // F32 or F64
  hlo_fft_kind_t kind;
  bool inverse;  // HLO_FFT_COMPLEX only; FROM_REAL is never inverse, TO_REAL always
  double scale;
  int64_t length, count;  // length >= 1
  int64_t inner;          // element k of line l is at (l / inner * length + k) * inner + l % inner;
                          // 1 (dense lines) unless complex
  const void* in;
  void* out;  // may be `in` if complex, otherwise they must not overlap
} hlo_fft_lines_t;

/// Tables of previously transformed lengths, for reuse. Zero-initialised is empty.
/// threads: one transform at a time. owner: hlo_fft_cache_deinit()
typedef struct hlo_fft_cache {
  struct hlo_fft_item* first;
  size_t bytes;
} hlo_fft_cache_t;
void hlo_fft_cache_deinit(hlo_fft_cache_t* cache);

/// cache NULL: tables are created and freed.
/// errors : RESOURCE_EXHAUSTED
/// threads: safe; results do not depend on the number of threads
/// source : Stockham with factors up to 31, several lines side by side, real ones in pairs;
///          few long lines as a matrix, columns then rows (Bailey 1990); larger prime factors by
///          Bluestein's chirp. Roots are rounded once from double; the error grows as log n.
hlo_status_t hlo_fft_lines_run(const hlo_parallel_t* parallel, hlo_fft_cache_t* cache,
                               const hlo_fft_lines_t* lines) HLO_MUST_USE;
