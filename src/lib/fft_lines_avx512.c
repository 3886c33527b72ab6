// SPDX-License-Identifier: Apache-2.0
// Fourier transforms for AVX-512.
#define VARIANT hlo_fft_avx512
#define VECTOR_BYTES 64
#include "lib/fft_lines_types.inl"
