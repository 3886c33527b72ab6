// SPDX-License-Identifier: Apache-2.0
// Butterflies of fft32.c, one variant per instruction set.
#ifndef HLO_KERNELS_FFT32_IMPL_H_
#define HLO_KERNELS_FFT32_IMPL_H_

#include <stdint.h>

/// How many lines are transformed side by side. A row of a block: as many real parts, then as many
/// imaginary ones.
enum { HLO_FFT32_LINES = 16, HLO_FFT32_ROW = 2 * HLO_FFT32_LINES };

/// Transforms a block of `length` rows (a power of two); roots: exp(-2 pi i k / length), pairs.
/// `in` is only read; x and y are written, one of them is the result and returned. All 64-byte
/// aligned; `in` may be y.
typedef float* (*hlo_fft32_block_fn_t)(int64_t length, const float* roots, const float* in,
                                       float* x, float* y);

float* hlo_fft32_block_generic(int64_t length, const float* roots, const float* in, float* x,
                               float* y);
float* hlo_fft32_block_avx2(int64_t length, const float* roots, const float* in, float* x,
                            float* y);
float* hlo_fft32_block_avx512(int64_t length, const float* roots, const float* in, float* x,
                              float* y);

#endif  // HLO_KERNELS_FFT32_IMPL_H_
