// SPDX-License-Identifier: Apache-2.0
// Quantized tensors: dequantize, quantize, and ops on quantized tensors computed in the expressed
// type. Types below 32 bits are computed in f32 and rounded at the end.
// source: StableHLO specification, "Quantization computations"
#include "interp/quant.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"

bool hlo_quant_is_used(const hlo_node_t* node, hlo_tensor_t* const* operands) {
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    if (operands[k]->quant != NULL) return true;
  }
  for (uint32_t k = 0; k < node->result_count; ++k) {
    if (node->results[k].type->quant != NULL) return true;
  }
  return false;
}

// The parameter of each element: element i has parameter (i / inner) % count.
typedef struct axis {
  int64_t inner;
  int64_t count;
} axis_t;

static hlo_status_t find_axis(const hlo_tensor_t* tensor, const hlo_quant_t* quant,
                              axis_t* out_axis) {
  axis_t axis = {.inner = tensor->element_count ? tensor->element_count : 1, .count = 1};
  if (quant->axis >= 0) {
    if ((uint32_t)quant->axis >= tensor->rank || tensor->dims[quant->axis] != quant->count) {
      return hlo_invalid_argument(
          "%u quantization parameters do not match dimension %d of the tensor", quant->count,
          quant->axis);
    }
    axis.count = quant->count;
    axis.inner = 1;
    for (uint32_t d = (uint32_t)quant->axis + 1; d < tensor->rank; ++d) {
      axis.inner *= tensor->dims[d];
    }
  }
  *out_axis = axis;
  return hlo_ok();
}

static void dequantize_run(const hlo_quant_t* quant, int64_t parameter, const uint8_t* from,
                           uint8_t* to, int64_t count) {
  const size_t from_width = hlo_dtype_size_bytes(quant->storage);
  const size_t to_width = hlo_dtype_size_bytes(quant->expressed);
  const double scale = quant->scales[parameter];
  const int64_t zero_point = quant->zero_points[parameter];
  for (int64_t i = 0; i < count; ++i) {
    double x = (double)(hlo_dtype_load_int64(quant->storage, from) - zero_point);
    x = quant->expressed == HLO_DTYPE_F64 ? x * scale : (double)((float)x * (float)scale);
    hlo_dtype_store_double(quant->expressed, to, x);
    from += from_width;
    to += to_width;
  }
}

// Returns the real values of a quantized tensor in its expressed type.
// errors: INVALID_ARGUMENT if the parameters do not match the shape, RESOURCE_EXHAUSTED
static hlo_status_t dequantize(const hlo_tensor_t* tensor, hlo_tensor_t** out_tensor) {
  const hlo_quant_t* quant = tensor->quant;
  axis_t axis;
  HLO_TRY(find_axis(tensor, quant, &axis));
  hlo_tensor_t* result;
  HLO_TRY(hlo_tensor_create(quant->expressed, tensor->rank, tensor->dims, &result));
  const uint8_t* from = tensor->data;
  uint8_t* to = result->data;
  int64_t parameter = 0;
  for (int64_t i = 0; i < tensor->element_count; i += axis.inner) {
    dequantize_run(quant, parameter, from, to, axis.inner);
    from += (size_t)axis.inner * hlo_dtype_size_bytes(quant->storage);
    to += (size_t)axis.inner * hlo_dtype_size_bytes(quant->expressed);
    parameter = parameter + 1 < axis.count ? parameter + 1 : 0;
  }
  *out_tensor = result;
  return hlo_ok();
}

static void quantize_run(const hlo_quant_t* quant, int64_t parameter, hlo_dtype_t from_type,
                         const uint8_t* from, uint8_t* to, int64_t count) {
  const size_t from_width = hlo_dtype_size_bytes(from_type);
  const size_t to_width = hlo_dtype_size_bytes(quant->storage);
  const double scale = quant->scales[parameter];
  const double zero_point = (double)quant->zero_points[parameter];
  const double low = (double)quant->storage_min, high = (double)quant->storage_max;
  for (int64_t i = 0; i < count; ++i) {
    double x = hlo_dtype_load_double(from_type, from);
    x = quant->expressed == HLO_DTYPE_F64 ? x / scale + zero_point
                                          : (double)((float)x / (float)scale + (float)zero_point);
    x = x < low ? low : x > high ? high : x;
    hlo_dtype_store_double(quant->storage, to, rint(x));
    from += from_width;
    to += to_width;
  }
}

// Stores the values of a float tensor by `quant`: divided by the scale in the expressed type,
// rounded to nearest even, shifted by the zero point, clamped to the storage range.
static hlo_status_t quantize(const hlo_tensor_t* tensor, const hlo_quant_t* quant,
                             hlo_tensor_t** out_tensor) {
  axis_t axis;
  HLO_TRY(find_axis(tensor, quant, &axis));
  if (!hlo_dtype_is_float(tensor->dtype)) {
    return hlo_invalid_argument("only floats can be quantized, not %s",
                                hlo_dtype_info(tensor->dtype)->hlo_name);
  }
  hlo_tensor_t* result;
  HLO_TRY(hlo_tensor_create(quant->storage, tensor->rank, tensor->dims, &result));
  result->quant = quant;
  const uint8_t* from = tensor->data;
  uint8_t* to = result->data;
  int64_t parameter = 0;
  for (int64_t i = 0; i < tensor->element_count; i += axis.inner) {
    quantize_run(quant, parameter, tensor->dtype, from, to, axis.inner);
    from += (size_t)axis.inner * hlo_dtype_size_bytes(tensor->dtype);
    to += (size_t)axis.inner * hlo_dtype_size_bytes(quant->storage);
    parameter = parameter + 1 < axis.count ? parameter + 1 : 0;
  }
  *out_tensor = result;
  return hlo_ok();
}

// ---- ops on quantized tensors -----------------------------------------------------------------

// A node without its quantization: the same op, attributes and regions on expressed types.
typedef struct plain_node {
  hlo_node_t node;
  hlo_tensor_t** operands;  // owned
  hlo_value_t* values;      // of the operands, then the results
  hlo_type_t* types;        // of the values
  void* block;
} plain_node_t;

static void make_plain_value(const hlo_value_t* from, hlo_value_t* value, hlo_type_t* type) {
  *type = *from->type;
  if (type->quant != NULL) type->dtype = type->quant->expressed;
  type->quant = NULL;
  *value = *from;
  value->type = type;
}

static void plain_node_deinit(plain_node_t* plain) {
  for (uint32_t k = 0; k < plain->node.operand_count; ++k) hlo_tensor_release(plain->operands[k]);
  hlo_mem_free(plain->block);
}

static hlo_status_t plain_node_init(const hlo_node_t* node, hlo_tensor_t* const* operands,
                                    plain_node_t* plain) {
  const size_t count = (size_t)node->operand_count + node->result_count;
  const size_t bytes = count * (sizeof(hlo_value_t) + sizeof(hlo_type_t)) +
                       node->operand_count * (sizeof(hlo_use_t) + sizeof(hlo_tensor_t*));
  *plain = (plain_node_t){.node = *node, .block = hlo_mem_alloc_zeroed(bytes)};
  if (plain->block == NULL) return hlo_status_out_of_memory(bytes);
  plain->types = plain->block;
  plain->values = (hlo_value_t*)(plain->types + count);
  plain->node.operands = (hlo_use_t*)(plain->values + count);
  plain->operands = (hlo_tensor_t**)(plain->node.operands + node->operand_count);
  plain->node.results = plain->values + node->operand_count;
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    make_plain_value(hlo_node_operand(node, k), &plain->values[k], &plain->types[k]);
    plain->node.operands[k] = node->operands[k];
    plain->node.operands[k].value = &plain->values[k];
  }
  for (uint32_t k = 0; k < node->result_count; ++k) {
    uint32_t at = node->operand_count + k;
    make_plain_value(&node->results[k], &plain->values[at], &plain->types[at]);
  }
  hlo_status_t status = hlo_ok();
  for (uint32_t k = 0; k < node->operand_count && hlo_status_is_ok(status); ++k) {
    if (operands[k]->quant == NULL) {
      plain->operands[k] = hlo_tensor_retain(operands[k]);
    } else {
      status = dequantize(operands[k], &plain->operands[k]);
    }
  }
  if (!hlo_status_is_ok(status)) plain_node_deinit(plain);
  return status;
}

hlo_status_t hlo_quant_run(hlo_eval_t* eval, const hlo_node_t* node, hlo_ref_fn_t function,
                           hlo_tensor_t** operands, hlo_tensor_t** results) {
  plain_node_t plain;
  HLO_TRY(plain_node_init(node, operands, &plain));
  hlo_status_t status = function(eval, &plain.node, plain.operands, results);
  bool has_results = hlo_status_is_ok(status);
  for (uint32_t k = 0; k < node->result_count && hlo_status_is_ok(status); ++k) {
    const hlo_quant_t* quant = node->results[k].type->quant;
    if (quant == NULL) continue;
    hlo_tensor_t* real = results[k];
    hlo_tensor_t* stored;
    status = quantize(real, quant, &stored);
    if (!hlo_status_is_ok(status)) break;
    results[k] = stored;
    hlo_tensor_release(real);
  }
  if (has_results && !hlo_status_is_ok(status)) {
    for (uint32_t k = 0; k < node->result_count; ++k) {
      hlo_tensor_release(results[k]);
      results[k] = NULL;
    }
  }
  plain_node_deinit(&plain);
  return status;
}

static hlo_status_t located(const hlo_node_t* node, hlo_status_t status) {
  if (hlo_status_is_ok(status)) return status;
  hlo_status_t result =
      hlo_node_error(node, hlo_status_code(status), "%s", hlo_status_message(status));
  hlo_status_release(status);
  return result;
}

hlo_status_t hlo_ref_uniform_quantize(HLO_REF_ARGUMENTS) {
  const hlo_quant_t* quant = node->results[0].type->quant;
  if (quant == NULL) return hlo_node_invalid(node, "the result must be quantized");
  if (operands[0]->quant == NULL) {
    return located(node, quantize(operands[0], quant, &results[0]));
  }
  hlo_tensor_t* real;
  HLO_TRY(located(node, dequantize(operands[0], &real)));
  hlo_status_t status = quantize(real, quant, &results[0]);
  hlo_tensor_release(real);
  return located(node, status);
}

hlo_status_t hlo_ref_uniform_dequantize(HLO_REF_ARGUMENTS) {
  if (operands[0]->quant == NULL) return hlo_node_invalid(node, "the operand must be quantized");
  return located(node, dequantize(operands[0], &results[0]));
}
