// SPDX-License-Identifier: Apache-2.0
// Pass widen_products: the loops of products and convolutions take elements of a byte or more.
// Booleans and shorter integers become bytes, shorter floats bf16, all of which hold them exactly;
// the result is converted back. A product of booleans is true where the count of true pairs is not
// 0. Products of 8-bit floats are those of bf16, which processors multiply in pairs. Products of
// bytes in floats are sums of 32-bit integers if these cannot overflow: exact, and four at a time.
#include "ir/dot_algorithm.h"
#include "passes/build.h"
#include "passes/passes.h"

static bool is_short(hlo_dtype_t dtype) {
  return dtype == HLO_DTYPE_PRED || hlo_dtype_info(dtype)->bits < 8;
}

static hlo_dtype_t operand_dtype(hlo_dtype_t dtype) {
  if (!is_short(dtype)) return dtype;
  if (hlo_dtype_is_float(dtype)) return HLO_DTYPE_BF16;
  return hlo_dtype_is_signed(dtype) ? HLO_DTYPE_S8 : HLO_DTYPE_U8;
}

static hlo_dtype_t result_dtype(hlo_dtype_t dtype) {
  if (!is_short(dtype)) return dtype;
  return hlo_dtype_is_float(dtype) ? HLO_DTYPE_F32 : HLO_DTYPE_S32;
}

// Returns true for floats that bf16 holds exactly, or is.
static bool is_in_bf16(hlo_dtype_t dtype) {
  return hlo_dtype_is_float(dtype) && hlo_dtype_convert_is_lossless(dtype, HLO_DTYPE_BF16);
}

// Returns true if a 32-bit integer holds the sum of the contraction's products of these types.
static bool is_exact_in_s32(const hlo_node_t* node, const hlo_dtype_t dtypes[2]) {
  uint32_t count;
  const int64_t* along = hlo_node_attr_ints(node, HLO_ATTR_lhs_contracting_dimensions, &count);
  double most = 1;
  for (uint32_t i = 0; along && i < count; ++i) {
    most *= (double)hlo_node_operand_type(node, 0)->dims[along[i]];
  }
  for (uint32_t i = 0; i < 2; ++i) most *= dtypes[i] == HLO_DTYPE_S8 ? -INT8_MIN : UINT8_MAX;
  return most <= INT32_MAX;
}

// Returns true for a product in floats of operands that become bytes, with exact integer sums.
static bool is_float_of_bytes(const hlo_node_t* node) {
  hlo_dtype_t dtypes[2];
  const hlo_dtype_t result = node->results[0].type->dtype;
  if (node->op != HLO_OP_dot_general || !hlo_dtype_is_float(result)) return false;
  for (uint32_t i = 0; i < 2; ++i) {
    dtypes[i] = operand_dtype(hlo_node_operand_type(node, i)->dtype);
    if (dtypes[i] != HLO_DTYPE_S8 && dtypes[i] != HLO_DTYPE_U8) return false;
  }
  return is_exact_in_s32(node, dtypes);
}

static hlo_value_t* widen(hlo_node_t* node) {
  if (node->op != HLO_OP_dot_general && node->op != HLO_OP_dot && node->op != HLO_OP_convolution) {
    return NULL;
  }
  hlo_value_t* operands[] = {hlo_node_operand(node, 0), hlo_node_operand(node, 1)};
  const hlo_type_t* type = node->results[0].type;
  bool is_any = is_short(type->dtype), is_quantized = type->quant != NULL;
  for (uint32_t i = 0; i < 2; ++i) {
    is_any |= is_short(operands[i]->type->dtype);
    is_quantized |= operands[i]->type->quant != NULL;
  }
  const bool is_bf16 = node->op != HLO_OP_convolution && is_in_bf16(operands[0]->type->dtype) &&
                       is_in_bf16(operands[1]->type->dtype);
  for (uint32_t i = 0; i < 2; ++i) is_any |= is_bf16 && operands[i]->type->dtype != HLO_DTYPE_BF16;
  const bool is_integer = is_float_of_bytes(node);
  is_any |= is_integer;
  if (!is_any || is_quantized || hlo_dot_has_algorithm(node)) return NULL;
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_dtype_t dtype = operands[i]->type->dtype;
    operands[i] =
        hlo_build_convert(node, is_bf16 ? HLO_DTYPE_BF16 : operand_dtype(dtype), operands[i]);
    if (!operands[i]) return NULL;
  }
  const hlo_dtype_t wide = is_integer ? HLO_DTYPE_S32 : result_dtype(type->dtype);
  hlo_value_t* product =
      hlo_build_like(node, hlo_type_with_dtype(node->parent->module, type, wide), operands);
  return hlo_build_convert(node, type->dtype, product);
}

hlo_status_t hlo_pass_widen_products(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, widen);
}
