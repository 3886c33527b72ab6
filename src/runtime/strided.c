// SPDX-License-Identifier: Apache-2.0
// Strided copies of host memory (see strided.h).
#include "runtime/strided.h"

#include <string.h>

static void dense_strides(const hlo_buffer_shape_t* shape, int64_t* strides) {
  int64_t stride = (int64_t)hlo_dtype_size_bytes(shape->dtype);
  for (uint32_t i = shape->rank; i-- > 0;) {
    strides[i] = stride;
    stride *= shape->dims[i];
  }
}

bool hlo_strides_are_dense(const hlo_buffer_shape_t* shape, const int64_t* byte_strides) {
  int64_t stride = (int64_t)hlo_dtype_size_bytes(shape->dtype);
  for (uint32_t i = shape->rank; i-- > 0;) {
    if (shape->dims[i] == 0) return true;
    if (shape->dims[i] != 1 && byte_strides[i] != stride) return false;
    stride *= shape->dims[i];
  }
  return true;
}

void hlo_strided_from_host(const hlo_buffer_shape_t* shape, const int64_t* byte_strides,
                           hlo_strided_t* out_copy) {
  *out_copy = (hlo_strided_t){.rank = shape->rank,
                              .element_bytes = hlo_dtype_size_bytes(shape->dtype)};
  for (uint32_t i = 0; i < shape->rank; ++i) {
    out_copy->dims[i] = shape->dims[i];
    out_copy->from_strides[i] = byte_strides[i];
  }
  dense_strides(shape, out_copy->to_strides);
}

hlo_status_t hlo_strided_to_layout(const hlo_buffer_shape_t* shape, const int64_t* minor_to_major,
                                   hlo_strided_t* out_copy, bool* out_needed) {
  *out_needed = false;
  if (!minor_to_major) return hlo_ok();
  uint64_t seen = 0;
  for (uint32_t i = 0; i < shape->rank; ++i) {
    int64_t d = minor_to_major[i];
    if (d < 0 || d >= shape->rank || (seen >> d & 1)) {
      return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                               "minor_to_major is no permutation of %u dimensions", shape->rank);
    }
    seen |= (uint64_t)1 << d;
    if (d != shape->rank - 1 - i) *out_needed = true;
  }
  if (!*out_needed) return hlo_ok();
  *out_copy = (hlo_strided_t){.rank = shape->rank,
                              .element_bytes = hlo_dtype_size_bytes(shape->dtype)};
  dense_strides(shape, out_copy->from_strides);
  int64_t stride = (int64_t)out_copy->element_bytes;
  for (uint32_t i = 0; i < shape->rank; ++i) {
    out_copy->dims[i] = shape->dims[i];
    out_copy->to_strides[minor_to_major[i]] = stride;
    stride *= shape->dims[minor_to_major[i]];
  }
  return hlo_ok();
}

static void copy_elements(uint8_t* to, int64_t to_stride, const uint8_t* from, int64_t from_stride,
                          int64_t count, size_t width) {
  if (to_stride == (int64_t)width && from_stride == (int64_t)width) {
    memcpy(to, from, (size_t)count * width);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    switch (width) {  // fixed sizes become single moves
      case 1: *to = *from; break;
      case 2: memcpy(to, from, 2); break;
      case 4: memcpy(to, from, 4); break;
      case 8: memcpy(to, from, 8); break;
      default: memcpy(to, from, width); break;
    }
    to += to_stride;
    from += from_stride;
  }
}

void hlo_strided_run(const hlo_strided_t* copy, const void* from, void* to) {
  const uint8_t* source = from;
  uint8_t* target = to;
  if (copy->rank == 0) {
    memcpy(to, from, copy->element_bytes);
    return;
  }
  for (uint32_t i = 0; i < copy->rank; ++i) {
    if (copy->dims[i] == 0) return;
  }
  uint32_t last = copy->rank - 1;
  int64_t index[HLO_BUFFER_RANK_MAX] = {0};
  for (;;) {
    copy_elements(target, copy->to_strides[last], source, copy->from_strides[last],
                  copy->dims[last], copy->element_bytes);
    uint32_t d = last;
    for (;;) {
      if (d-- == 0) return;
      source += copy->from_strides[d];
      target += copy->to_strides[d];
      if (++index[d] < copy->dims[d]) break;
      source -= copy->from_strides[d] * copy->dims[d];
      target -= copy->to_strides[d] * copy->dims[d];
      index[d] = 0;
    }
  }
}
