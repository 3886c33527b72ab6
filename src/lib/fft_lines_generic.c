// SPDX-License-Identifier: Apache-2.0
// Fourier transforms for any machine.
#define VARIANT hlo_fft_generic
#define VECTOR_BYTES 16
#include "lib/fft_lines_types.inl"
