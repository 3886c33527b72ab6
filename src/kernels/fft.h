// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms of any length, in double.
#ifndef HLO_KERNELS_FFT_H_
#define HLO_KERNELS_FFT_H_

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/// Roots, factors and scratch memory for one length. threads: confined
typedef struct hlo_fft hlo_fft_t;

/// errors: INVALID_ARGUMENT (length < 1 or > 2^40), RESOURCE_EXHAUSTED
hlo_status_t hlo_fft_create(int64_t length, hlo_fft_t** out_fft) HLO_MUST_USE;
void hlo_fft_release(hlo_fft_t* fft);  // NULL is fine

/// out[k] = sum_j in[j] exp(-2 pi i j k / n); inverse: +2 pi i, not scaled. in and out are dense
/// and do not overlap. source: Cooley and Tukey for factors up to 31; Bluestein's chirp transform
/// for lengths with larger
///         prime factors. The error grows as log n.
void hlo_fft_run(hlo_fft_t* fft, bool inverse, const double complex* in, double complex* out);

#endif  // HLO_KERNELS_FFT_H_
