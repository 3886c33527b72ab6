// SPDX-License-Identifier: Apache-2.0
// Sizes of shapes (see shape.h).
#include "base/shape.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/mem.h"

hlo_status_t hlo_shape_measure(hlo_dtype_t dtype, const int64_t* dims, size_t rank,
                               size_t* out_element_count, size_t* out_size_bytes) {
  if (rank > HLO_SHAPE_RANK_LIMIT) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                             "a shape has %zu dimensions, expected at most %d", rank,
                             HLO_SHAPE_RANK_LIMIT);
  }
  size_t count = 1, size;
  bool empty = false, fits = true;
  for (size_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                               "dimension %zu is %" PRId64 ", expected 0 or more", i, dims[i]);
    }
    empty |= dims[i] == 0;
    fits = fits && hlo_size_mul(count, (size_t)dims[i], &count);
  }
  if (empty) count = 0;  // even if the other dimensions would overflow
  fits = (empty || fits) && hlo_size_mul(count, hlo_dtype_size_bytes(dtype), &size) &&
         size <= INT64_MAX;
  if (!fits) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "a shape has 2^63 bytes or more");
  }
  *out_element_count = count;
  *out_size_bytes = size;
  return hlo_ok();
}
