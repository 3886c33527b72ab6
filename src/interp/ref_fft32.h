// SPDX-License-Identifier: Apache-2.0
// fft of f32 data whose lengths are powers of two.
#ifndef HLO_INTERP_REF_FFT32_H_
#define HLO_INTERP_REF_FFT32_H_

#include "interp/eval.h"

/// A transform of the last `axes` dimensions of `batch_count` times those.
typedef struct hlo_fft32_node {
  int64_t type;  // HLO_FFT_TYPE_*
  uint32_t axes;
  const int64_t* lengths;  // of the transforms
  int64_t batch_count;
} hlo_fft32_node_t;

bool hlo_fft32_node_supports(const hlo_fft32_node_t* node, hlo_dtype_t in, hlo_dtype_t out);

/// in and out as the op has them: F32 on the real side of RFFT and IRFFT, C64 else; not empty.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_fft32_node_run(const hlo_parallel_t* parallel, const hlo_fft32_node_t* node,
                                const float* in, float* out) HLO_MUST_USE;

#endif  // HLO_INTERP_REF_FFT32_H_
