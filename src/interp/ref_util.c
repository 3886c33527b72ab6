// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the reference functions.
#include "interp/ref_util.h"

void hlo_tensor_read_ints(const hlo_tensor_t* tensor, uint32_t capacity, int64_t* out_values) {
  for (uint32_t i = 0; i < capacity && i < tensor->element_count; i++) {
    out_values[i] = hlo_tensor_int(tensor, i);
  }
}

hlo_status_t hlo_scratch_create(size_t size_bytes, hlo_tensor_t** out_scratch) {
  if (size_bytes > INT64_MAX) return hlo_status_out_of_memory(size_bytes);
  const int64_t count = (int64_t)size_bytes;
  return hlo_tensor_create(HLO_DTYPE_U8, 1, &count, out_scratch);
}
