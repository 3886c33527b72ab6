// SPDX-License-Identifier: Apache-2.0
// Dimensions split into quotients and remainders (see stride_split.h).
#include "passes/stride_split.h"

#include "passes/build.h"

static const int64_t ELEMENTS_MAX = INT64_MAX / HLO_STRIDE_SPLIT_REMAINDERS_MAX / 8;

bool hlo_stride_split_init(hlo_node_t* insertion_point, const hlo_type_t* type,
                           const int64_t* strides, hlo_stride_split_t* out_split) {
  if (type->rank > HLO_STRIDE_SPLIT_RANK_MAX || hlo_type_element_count(type) > ELEMENTS_MAX)
    return false;
  hlo_stride_split_t* d = out_split;
  *d = (hlo_stride_split_t){.insertion_point = insertion_point, .type = type};
  int64_t remainders = 1;
  for (uint32_t i = 0; i < type->rank; ++i) {
    int64_t stride = d->strides[i] = strides[i];
    if (stride < 1 || stride > HLO_STRIDE_SPLIT_REMAINDERS_MAX) return false;
    remainders *= stride;
    if (remainders > HLO_STRIDE_SPLIT_REMAINDERS_MAX) return false;
    d->quotients[i] = (type->dims[i] + stride - 1) / stride;
    d->dims[i] = d->rank;
    d->extents[d->rank++] = d->quotients[i];
    if (stride > 1) d->extents[d->rank++] = stride;
  }
  return true;
}

bool hlo_stride_split_next(uint32_t rank, const int64_t* extents, int64_t* at) {
  for (uint32_t i = rank; i-- > 0;) {
    if (++at[i] < extents[i]) return true;
    at[i] = 0;
  }
  return false;
}

static hlo_value_t* broadcast(const hlo_stride_split_t* d, hlo_value_t* value,
                              const int64_t* along) {
  if (!value) return NULL;
  const hlo_type_t* type =
      hlo_type_tensor(d->insertion_point->parent->module, value->type->dtype, d->rank, d->extents);
  return hlo_build_broadcast(d->insertion_point, type, value, along);
}

hlo_value_t* hlo_stride_split_value(const hlo_stride_split_t* d, hlo_value_t* value,
                                    hlo_value_t* outside, const int64_t* shift) {
  if (!value || !outside) return NULL;
  int64_t high[HLO_STRIDE_SPLIT_RANK_MAX];
  for (uint32_t i = 0; i < d->type->rank; ++i) {
    high[i] = d->quotients[i] - value->type->dims[i] - shift[i];
  }
  value = hlo_build_pad(d->insertion_point, value, outside, shift, high, NULL);
  return broadcast(d, value, d->dims);
}

hlo_value_t* hlo_stride_split_splat(const hlo_stride_split_t* d, hlo_value_t* value) {
  return broadcast(d, value, NULL);
}

hlo_value_t* hlo_stride_split_table(const hlo_stride_split_t* d, hlo_dtype_t dtype,
                                    const int64_t* values) {
  int64_t extents[HLO_STRIDE_SPLIT_RANK_MAX] = {0}, along[HLO_STRIDE_SPLIT_RANK_MAX] = {0};
  uint32_t rank = 0;
  for (uint32_t i = 0; i < d->type->rank; ++i) {
    if (d->strides[i] == 1) continue;
    extents[rank] = d->strides[i];
    along[rank++] = d->dims[i] + 1;
  }
  const hlo_type_t* type =
      hlo_type_tensor(d->insertion_point->parent->module, dtype, rank, extents);
  return broadcast(d, hlo_build_integers(d->insertion_point, type, values), along);
}

hlo_value_t* hlo_stride_split_join(const hlo_stride_split_t* d, hlo_value_t* value) {
  if (!value) return NULL;
  hlo_module_t* module = d->insertion_point->parent->module;
  uint32_t rank = d->type->rank;
  int64_t extents[HLO_STRIDE_SPLIT_RANK_MAX] = {0}, zeros[HLO_STRIDE_SPLIT_RANK_MAX] = {0};
  bool is_cut = false;
  for (uint32_t i = 0; i < rank; ++i) {
    extents[i] = d->quotients[i] * d->strides[i];
    is_cut |= extents[i] != d->type->dims[i];
  }
  const hlo_type_t* whole = hlo_type_tensor(module, value->type->dtype, rank, extents);
  value = hlo_build_reshape(d->insertion_point, whole, value);
  return is_cut ? hlo_build_slice(d->insertion_point, d->type, value, zeros, NULL) : value;
}
