// SPDX-License-Identifier: Apache-2.0
// Butterflies of Fourier transforms for AVX-512.
#define BLOCK_FN hlo_fft32_block_avx512
#include "kernels/fft32.inl"
