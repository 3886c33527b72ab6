// SPDX-License-Identifier: Apache-2.0
// Strided copies (planned and run by base/copy.c), fills, dense strides.
#include "base/strided.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/copy.h"

static_assert(HLO_STRIDED_RANK_MAX <= HLO_SHAPE_RANK_LIMIT, "plans hold every view");

void hlo_strided_copy(size_t element_bytes, uint32_t rank, const int64_t* dims, void* out,
                      const int64_t* out_strides, const void* in, const int64_t* in_strides) {
  hlo_copy_plan_t plan;
  hlo_copy_plan_init(&plan, element_bytes, rank, dims, in_strides, out_strides);
  hlo_copy_run(&plan, in, out);
}

void hlo_strided_fill(size_t element_bytes, size_t count, void* out, const void* value) {
  if (count == 0) return;
  unsigned char probe = 0;
  for (size_t i = 0; i < element_bytes; i++) probe |= ((const unsigned char*)value)[i];
  if (probe == 0) {
    memset(out, 0, count * element_bytes);
    return;
  }
  memmove(out, value, element_bytes);
  const size_t total = count * element_bytes;
  for (size_t done = element_bytes; done < total;) {  // double the filled part, within the cache
    size_t step = done < 16384 ? done : 16384 - 16384 % element_bytes;
    if (step > total - done) step = total - done;
    memcpy((char*)out + done, out, step);
    done += step;
  }
}

void hlo_strided_dense(size_t element_bytes, uint32_t rank, const int64_t* dims,
                       int64_t* out_strides) {
  bool empty = false;
  for (uint32_t i = 0; i < rank; i++) empty |= dims[i] == 0;
  int64_t stride = empty ? 0 : (int64_t)element_bytes;
  for (uint32_t i = rank; i > 0; i--) {
    out_strides[i - 1] = stride;
    stride *= dims[i - 1];
  }
}
