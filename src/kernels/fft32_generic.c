// SPDX-License-Identifier: Apache-2.0
// Butterflies of Fourier transforms for any machine.
#define BLOCK_FN hlo_fft32_block_generic
#include "kernels/fft32.inl"
