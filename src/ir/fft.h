// SPDX-License-Identifier: Apache-2.0
// The axes of Fourier transforms, which every implementation needs.
#pragma once

#include "ir/module.h"

enum { HLO_FFT_AXES_MAX = 3 };

/// A transform of the last dimensions.
typedef struct hlo_fft_shape {
  int64_t type;  // HLO_FFT_TYPE_*
  uint32_t axes;
  int64_t length[HLO_FFT_AXES_MAX];  // of the transforms
  int64_t kept;                      // elements of the last axis on the complex side
  hlo_dtype_t real;                  // F32 or F64
} hlo_fft_shape_t;

/// Reads the transform of an fft node on an operand.
/// errors: INVALID_ARGUMENT (lengths or element type that do not fit)
hlo_status_t hlo_fft_shape_read(const hlo_node_t* node, hlo_dtype_t dtype, uint32_t rank,
                                const int64_t* dims, hlo_fft_shape_t* out_shape) HLO_MUST_USE;
static inline bool hlo_fft_is_inverse(const hlo_fft_shape_t* shape) {
  return shape->type == HLO_FFT_TYPE_IFFT || shape->type == HLO_FFT_TYPE_IRFFT;
}
