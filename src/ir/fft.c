// SPDX-License-Identifier: Apache-2.0
// The axes of Fourier transforms (see fft.h).
#include "ir/fft.h"

hlo_status_t hlo_fft_shape_read(const hlo_node_t* node, hlo_dtype_t dtype, uint32_t rank,
                                const int64_t* dims, hlo_fft_shape_t* out_shape) {
  const hlo_ints_t lengths = hlo_node_ints(node, HLO_ATTR_fft_length);
  hlo_fft_shape_t shape = {.type = hlo_node_attr(node, HLO_ATTR_fft_type)->i,
                           .real = hlo_dtype_info(dtype)->part};
  if (lengths.count < 1 || lengths.count > HLO_FFT_AXES_MAX || lengths.count > rank) {
    return hlo_node_invalid(node, "fft of %u dimensions", lengths.count);
  }
  const bool is_half = shape.type == HLO_FFT_TYPE_RFFT || shape.type == HLO_FFT_TYPE_IRFFT;
  for (uint32_t a = 0; a < lengths.count; a++) {
    const int64_t n = lengths.values[a], size = dims[rank - lengths.count + a];
    shape.kept = a + 1 == lengths.count && is_half ? n / 2 + 1 : n;
    if (n < 1 || size != (shape.type == HLO_FFT_TYPE_IRFFT ? shape.kept : n)) {
      return hlo_node_invalid(node,
                              "a transform of length %lld does not match a dimension of size %lld",
                              (long long)n, (long long)size);
    }
    shape.length[shape.axes++] = n;
  }
  if ((shape.real != HLO_DTYPE_F32 && shape.real != HLO_DTYPE_F64) ||
      hlo_dtype_is_complex(dtype) != (shape.type != HLO_FFT_TYPE_RFFT)) {
    return hlo_node_invalid(node, "fft of %s", hlo_dtype_info(dtype)->name);
  }
  *out_shape = shape;
  return hlo_ok();
}
