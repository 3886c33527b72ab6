// SPDX-License-Identifier: Apache-2.0
// Fourier transforms for AVX2.
#define VARIANT hlo_fft_avx2
#define VECTOR_BYTES 32
#include "lib/fft_lines_types.inl"
