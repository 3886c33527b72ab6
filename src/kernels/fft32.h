// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of complex f32 lines, their length a power of two.
#ifndef HLO_KERNELS_FFT32_H_
#define HLO_KERNELS_FFT32_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parallel.h"
#include "base/status.h"

/// Whether lines of this length can be transformed here.
bool hlo_fft32_supports(int64_t length);

/// The transforms of `line_count` dense lines of C64: out[k] = sum_j in[j] exp(-2 pi i j k / n);
/// inverse: +2 pi i, not scaled. out and in may be the same, else do not overlap.
/// errors : RESOURCE_EXHAUSTED; the length must be supported
/// threads: safe
/// source : Stockham, radix 4, several lines side by side; long lines as a matrix, columns then
///          rows (Bailey, "FFTs in external or hierarchical memory", 1990). Roots are rounded once
///          from double; the error grows as log n.
hlo_status_t hlo_fft32_run(const hlo_parallel_t* parallel, int64_t length, int64_t line_count,
                           bool inverse, const float* in, float* out) HLO_MUST_USE;

#endif  // HLO_KERNELS_FFT32_H_
