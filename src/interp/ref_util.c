// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the reference functions.
#include "interp/ref_util.h"

void hlo_tensor_read_ints(const hlo_tensor_t* tensor, uint32_t capacity, int64_t* out_values) {
  for (uint32_t i = 0; i < capacity && i < tensor->element_count; i++) {
    out_values[i] = hlo_tensor_int(tensor, i);
  }
}
