// SPDX-License-Identifier: Apache-2.0
// Index vectors (see index_vectors.h).
#include "ir/index_vectors.h"

// Reads a start index; unsigned values beyond int64 saturate.
static int64_t index_at(hlo_dtype_t dtype, const void* indices, int64_t i) {
  int64_t value = 0;
  const char* at = (const char*)indices + i * (int64_t)hlo_dtype_size_bytes(dtype);
  hlo_dtype_convert(dtype, at, HLO_DTYPE_S64, &value, 1);
  return value < 0 && hlo_dtype_is_unsigned(dtype) ? INT64_MAX : value;
}

bool hlo_index_vectors_init(hlo_index_vectors_t* out, hlo_dtype_t dtype, uint32_t indices_rank,
                            const int64_t* indices_dims, uint32_t operand_rank,
                            const hlo_index_dims_t* dims) {
  *out = (hlo_index_vectors_t){.dtype = dtype, .rank = operand_rank};
  const int64_t vector_dim = dims->index_vector_dim;
  const bool is_scalar = vector_dim == indices_rank;
  if (vector_dim < 0 || vector_dim > indices_rank || dims->index_map.count > HLO_RANK_MAX ||
      dims->index_map.count != (is_scalar ? 1 : (uint64_t)indices_dims[vector_dim]) ||
      dims->operand_batching.count != dims->indices_batching.count) {
    return false;
  }
  int64_t strides[HLO_RANK_MAX], stride = 1;
  for (uint32_t d = indices_rank; d > 0; d--) {
    strides[d - 1] = stride;
    stride *= indices_dims[d - 1];
  }
  out->component_stride = is_scalar ? 0 : strides[vector_dim];
  out->map = dims->index_map;
  for (uint32_t d = 0; d < operand_rank; d++) out->batch_of[d] = -1;
  for (uint32_t d = 0; d < indices_rank; d++) {
    if (d == vector_dim) continue;
    for (uint32_t b = 0; b < dims->indices_batching.count; b++) {
      if (dims->indices_batching.values[b] == d) {
        out->batch_of[dims->operand_batching.values[b]] = (int)out->batch_rank;
      }
    }
    out->dims[out->batch_rank] = indices_dims[d];
    out->strides[out->batch_rank++] = strides[d];
  }
  return true;
}

void hlo_index_vectors_start(const hlo_index_vectors_t* vectors, const void* indices,
                             const int64_t* position, int64_t* out_start) {
  int64_t at = 0;
  for (uint32_t d = 0; d < vectors->batch_rank; d++) at += position[d] * vectors->strides[d];
  for (uint32_t d = 0; d < vectors->rank; d++) {
    out_start[d] = vectors->batch_of[d] >= 0 ? position[vectors->batch_of[d]] : 0;
  }
  for (uint32_t c = 0; c < vectors->map.count; c++) {
    out_start[vectors->map.values[c]] =
        index_at(vectors->dtype, indices, at + (int64_t)c * vectors->component_stride);
  }
}
