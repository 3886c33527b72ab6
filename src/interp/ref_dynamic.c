// SPDX-License-Identifier: Apache-2.0
// Ops whose shapes or amounts are operands: these are read and checked, then the static counterpart
// runs.
#include <string.h>

#include "interp/ref_util.h"

// Reads a shape operand: its rank and dims.
static hlo_status_t read_shape(const hlo_node_t* node, const hlo_tensor_t* shape,
                               uint32_t* out_rank, int64_t* out_dims) {
  int64_t count = 0;
  if (shape->rank != 1 || shape->element_count > HLO_RANK_MAX) {
    return hlo_node_invalid(node, "a shape must be a vector of at most %d", HLO_RANK_MAX);
  }
  *out_rank = (uint32_t)shape->element_count;
  hlo_tensor_read_ints(shape, HLO_RANK_MAX, out_dims);
  if (!hlo_dims_element_count(*out_rank, out_dims, &count)) {
    return hlo_node_invalid(node, "the computed shape has negative or too large dimensions");
  }
  return hlo_ok();
}

// Checks that `count` operands give one amount per dimension of operand 0.
static hlo_status_t check_amounts(const hlo_node_t* node, hlo_tensor_t* const* operands,
                                  uint32_t first, uint32_t count) {
  for (uint32_t k = first; k < first + count; k++) {
    if (operands[k]->element_count != operands[0]->rank) {
      return hlo_node_invalid(node, "operand %u needs one value per dimension", k);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_ref_dynamic_reshape(HLO_REF_ARGUMENTS) {
  uint32_t rank = 0;
  int64_t dims[HLO_RANK_MAX], count = 0;
  HLO_TRY(read_shape(node, operands[1], &rank, dims));
  if (!hlo_dims_element_count(rank, dims, &count) || count != operands[0]->element_count) {
    return hlo_node_invalid(node, "cannot reshape %lld elements to %lld",
                            (long long)operands[0]->element_count, (long long)count);
  }
  return hlo_move_reshape(node, 0, operands, 0, rank, dims, &results[0]);
}

hlo_status_t hlo_ref_dynamic_broadcast_in_dim(HLO_REF_ARGUMENTS) {
  uint32_t rank = 0;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(read_shape(node, operands[1], &rank, dims));
  return hlo_move_broadcast(eval, node, operands,
                            hlo_node_ints(node, HLO_ATTR_broadcast_dimensions).values, rank, dims,
                            &results[0]);
}

hlo_status_t hlo_ref_dynamic_pad(HLO_REF_ARGUMENTS) {
  int64_t low[HLO_RANK_MAX], high[HLO_RANK_MAX], interior[HLO_RANK_MAX];
  HLO_TRY(check_amounts(node, operands, 2, 3));
  hlo_tensor_read_ints(operands[2], HLO_RANK_MAX, low);
  hlo_tensor_read_ints(operands[3], HLO_RANK_MAX, high);
  hlo_tensor_read_ints(operands[4], HLO_RANK_MAX, interior);
  return hlo_move_pad(eval, node, operands[0], operands[1], low, high, interior, &results[0]);
}

hlo_status_t hlo_ref_real_dynamic_slice(HLO_REF_ARGUMENTS) {
  int64_t starts[HLO_RANK_MAX], limits[HLO_RANK_MAX], strides[HLO_RANK_MAX];
  HLO_TRY(check_amounts(node, operands, 1, 3));
  hlo_tensor_read_ints(operands[1], HLO_RANK_MAX, starts);
  hlo_tensor_read_ints(operands[2], HLO_RANK_MAX, limits);
  hlo_tensor_read_ints(operands[3], HLO_RANK_MAX, strides);
  return hlo_move_slice_to(eval, node, operands[0], starts, limits, strides, &results[0]);
}

hlo_status_t hlo_ref_dynamic_iota(HLO_REF_ARGUMENTS) {
  const uint32_t axis = (uint32_t)hlo_node_attr_int(node, HLO_ATTR_iota_dimension, 0);
  uint32_t rank = 0;
  int64_t dims[HLO_RANK_MAX], in[HLO_RANK_MAX] = {0}, out[HLO_RANK_MAX];
  HLO_TRY(read_shape(node, operands[0], &rank, dims));
  if (axis >= rank) return hlo_node_invalid(node, "iota dimension %u of rank %u", axis, rank);
  hlo_tensor_t *result = NULL, *line = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &result));
  hlo_status_t status = hlo_tensor_create(result->dtype, 1, &dims[axis], &line);
  if (!hlo_status_is_ok(status)) {
    hlo_tensor_release(result);
    return status;
  }
  const size_t bytes = hlo_tensor_element_bytes(result);
  for (int64_t i = 0; i < dims[axis]; i++) {
    hlo_dtype_convert(HLO_DTYPE_S64, &i, result->dtype, (char*)line->data + (size_t)i * bytes, 1);
  }
  in[axis] = (int64_t)bytes;
  hlo_tensor_strides(result, out);
  hlo_strided_copy(bytes, rank, dims, result->data, out, line->data, in);
  hlo_tensor_release(line);
  results[0] = result;
  return hlo_ok();
}

hlo_status_t hlo_ref_get_dimension_size(HLO_REF_ARGUMENTS) {
  const int64_t d = hlo_node_attr_int(node, HLO_ATTR_dimension, 0);
  if (d < 0 || d >= operands[0]->rank) {
    return hlo_node_invalid(node, "dimension %lld of rank %u", (long long)d, operands[0]->rank);
  }
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result(eval, node, 0, &result));
  hlo_dtype_store_int64(result->dtype, result->data, operands[0]->dims[d]);
  results[0] = result;
  return hlo_ok();
}

hlo_status_t hlo_ref_set_dimension_size(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t* operand = operands[0];
  const int64_t d = hlo_node_attr_int(node, HLO_ATTR_dimension, 0);
  const int64_t size = hlo_tensor_int(operands[1], 0);
  if (d < 0 || d >= operand->rank || size < 0 || size > operand->dims[d]) {
    return hlo_node_invalid(node, "size %lld is out of range for dimension %lld", (long long)size,
                            (long long)d);
  }
  if (size == operand->dims[d]) {
    results[0] = hlo_tensor_retain(operands[0]);
    return hlo_ok();
  }
  int64_t starts[HLO_RANK_MAX] = {0}, strides[HLO_RANK_MAX], dims[HLO_RANK_MAX];
  memcpy(dims, operand->dims, operand->rank * sizeof(dims[0]));
  for (uint32_t i = 0; i < operand->rank; i++) strides[i] = 1;
  dims[d] = size;
  return hlo_move_slice(eval, node, operand, starts, strides, dims, &results[0]);
}
