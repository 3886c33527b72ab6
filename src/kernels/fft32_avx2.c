// SPDX-License-Identifier: Apache-2.0
// Butterflies of Fourier transforms for AVX2.
#define BLOCK_FN hlo_fft32_block_avx2
#include "kernels/fft32.inl"
