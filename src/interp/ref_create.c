// SPDX-License-Identifier: Apache-2.0
// Ops that create tensors from attributes: constants and iota.
#include <string.h>

#include "interp/kernels_impl.h"
#include "interp/quant.h"

hlo_status_t hlo_ref_constant(HLO_REF_ARGUMENTS) {
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  const hlo_type_t* type = node->results[0].type;
  if (value == NULL || value->literal == NULL || value->literal->dtype != type->dtype) {
    return hlo_node_invalid(node, "`value` must be a literal of the result's element type");
  }
  HLO_TRY(hlo_tensor_from_literal(value->literal, &results[0]));
  results[0]->quant = type->quant;
  return hlo_ok();
}

HLO_REF_AS(chlo_constant, hlo_ref_constant)
HLO_REF_AS(sdy_constant, hlo_ref_constant)

// Repeats the first `width` bytes of `data` until `size_bytes` are filled.
static void repeat_bytes(uint8_t* data, size_t width, size_t size_bytes) {
  for (size_t done = width; done < size_bytes;) {
    size_t more = done < size_bytes - done ? done : size_bytes - done;
    memcpy(data + done, data, more);
    done += more;
  }
}

// Reads the value of chlo.constant_like, a scalar literal or a number attribute, as one element of
// `dtype`.
static bool like_element(const hlo_attr_t* value, hlo_dtype_t dtype, void* element) {
  if (value == NULL) return false;
  switch (value->kind) {
    case HLO_ATTR_KIND_LITERAL:
      if (value->literal->element_count != 1) return false;
      hlo_dtype_convert(value->literal->dtype, hlo_literal_element(value->literal, 0), dtype,
                        element, 1);
      return true;
    case HLO_ATTR_KIND_INT:
    case HLO_ATTR_KIND_BOOL:
      hlo_dtype_convert(HLO_DTYPE_S64, &value->i, dtype, element, 1);
      return true;
    case HLO_ATTR_KIND_FLOAT:
      hlo_dtype_convert(HLO_DTYPE_F64, &value->f, dtype, element, 1);
      return true;
    default: return false;
  }
}

hlo_status_t hlo_ref_chlo_constant_like(HLO_REF_ARGUMENTS) {
  uint8_t element[16];
  const hlo_type_t* type = node->results[0].type;
  if (!like_element(hlo_node_attr(node, HLO_ATTR_value), type->dtype, element)) {
    return hlo_node_invalid(node, "`value` must be one number");
  }
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, operands[0]->rank, operands[0]->dims, &results[0]));
  size_t width = hlo_dtype_size_bytes(type->dtype);
  if (results[0]->element_count > 0) {
    memcpy(results[0]->data, element, width);
    repeat_bytes(results[0]->data, width, results[0]->size_bytes);
  }
  return hlo_ok();
}

// Fills a tensor with 0, 1, 2 ... along dimension `dim`, in its own element type.
static void fill_iota(hlo_tensor_t* tensor, uint32_t dim) {
  if (tensor->element_count == 0) return;
  const int64_t count = tensor->dims[dim];
  const size_t width = hlo_dtype_size_bytes(tensor->dtype);
  size_t inner = width;
  for (uint32_t d = dim + 1; d < tensor->rank; ++d) inner *= (size_t)tensor->dims[d];
  uint8_t* to = tensor->data;
  enum { BLOCK = 256 };
  int64_t numbers[BLOCK];
  uint8_t elements[BLOCK * 16];
  for (int64_t start = 0; start < count; start += BLOCK) {
    int64_t n = count - start < BLOCK ? count - start : BLOCK;
    for (int64_t i = 0; i < n; ++i) numbers[i] = start + i;
    hlo_dtype_convert(HLO_DTYPE_S64, numbers, tensor->dtype, elements, (size_t)n);
    for (int64_t i = 0; i < n; ++i) {
      memcpy(to, elements + (size_t)i * width, width);
      repeat_bytes(to, width, inner);
      to += inner;
    }
  }
  repeat_bytes(tensor->data, inner * (size_t)count, tensor->size_bytes);
}

hlo_status_t hlo_ref_iota(HLO_REF_ARGUMENTS) {
  const hlo_type_t* type = node->results[0].type;
  int64_t dim = hlo_node_attr_int(node, HLO_ATTR_iota_dimension, 0);
  if (dim < 0 || dim >= (int64_t)type->rank) {
    return hlo_node_invalid(node, "iota_dimension is %lld, expected 0 to %u", (long long)dim,
                            type->rank);
  }
  if (type->quant != NULL) return hlo_quant_run(eval, node, hlo_ref_iota, operands, results);
  HLO_TRY(hlo_eval_result(eval, node, 0, &results[0]));
  fill_iota(results[0], (uint32_t)dim);
  return hlo_ok();
}
