// SPDX-License-Identifier: Apache-2.0
// Pass lower_block_scaling: custom calls that quantize, dequantize and multiply tensors with a
// scale for each block of the last dimension become ops.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/integer.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/scaled_dot.h"
#include "passes/scaled_dots.h"

static hlo_status_t refuse(const hlo_node_t* node, const char* what) {
  return hlo_node_invalid(node, "%s: %s", hlo_custom_call_target(node), what);
}

// Returns an error unless `scale` has the dims of `type` but for the last, which it divides.
static hlo_status_t check_blocks(const hlo_node_t* node, const hlo_type_t* type,
                                 const hlo_type_t* scale) {
  bool agree = type->rank > 0 && scale->rank == type->rank;
  for (uint32_t d = 0; agree && d + 1 < type->rank; ++d) agree = type->dims[d] == scale->dims[d];
  if (!agree) return refuse(node, "operand and scales differ in more than the last dimension");
  const int64_t size = type->dims[type->rank - 1], count = scale->dims[type->rank - 1];
  if (size <= 0 || count <= 0 || size % count) {
    return refuse(node, "the last dimension of the scales does not divide that of the operand");
  }
  return hlo_ok();
}

static bool are_floats(const hlo_node_t* node) {
  bool are = true;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    are = are && hlo_type_is_tensor(type) && hlo_type_is_static(type) &&
          hlo_dtype_is_float(type->dtype);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    are = are && hlo_type_is_tensor(type) && hlo_type_is_static(type) &&
          hlo_dtype_is_float(type->dtype);
  }
  return are;
}

// Returns the power of two at or below the type's largest number.
static double largest_power(hlo_dtype_t dtype) {
  const hlo_dtype_info_t* info = hlo_dtype_info(dtype);
  const int top = (1 << info->exponent_bits) - 1 - (info->specials == HLO_FLOAT_IEEE);
  return ldexp(1, top - info->bias);
}

// Scales are the largest magnitude of a block over the power of two below the type's largest
// number, as XLA computes them: blocks of zeros have scales that are not numbers if the scales have
// no zero.
static hlo_status_t lower_quantize(hlo_node_t* node, hlo_value_t** results) {
  if (node->operand_count != 1 || node->result_count != 2) {
    return refuse(node, "needs one operand and two results");
  }
  hlo_value_t* input = hlo_node_operand(node, 0);
  const hlo_type_t *type = input->type, *output = node->results[0].type;
  const hlo_type_t* scale_type = node->results[1].type;
  if (!hlo_type_same_dims(type, output)) return refuse(node, "the result has another shape");
  HLO_TRY(check_blocks(node, output, scale_type));
  if (type->rank == HLO_RANK_MAX) return refuse(node, "the rank of the operand is too high");
  hlo_module_t* module = node->parent->module;
  int64_t dims[HLO_RANK_MAX];
  const int64_t last = type->rank;
  memcpy(dims, scale_type->dims, (size_t)last * sizeof *dims);
  dims[last] = type->dims[last - 1] / scale_type->dims[last - 1];
  hlo_value_t* blocks =
      hlo_build_reshape(node, hlo_type_with_dims(module, type, (uint32_t)last + 1, dims), input);
  hlo_value_t* largest = hlo_build_reduce(node, HLO_OP_maximum,
                                          hlo_build_unary(node, HLO_OP_abs, blocks), 0, 1, &last);
  if (!largest) return hlo_module_status(module);
  hlo_value_t* power = hlo_build_splat(node, largest->type, largest_power(output->dtype));
  hlo_value_t* scale = hlo_build_convert(node, scale_type->dtype,
                                         hlo_build_binary(node, HLO_OP_divide, largest, power));
  hlo_value_t* divisor =
      hlo_build_repeated_scale(node, type, hlo_build_convert(node, type->dtype, scale));
  results[0] =
      hlo_build_convert(node, output->dtype, hlo_build_binary(node, HLO_OP_divide, input, divisor));
  results[1] = scale;
  return hlo_module_status(module);
}

static hlo_status_t lower_dequantize(hlo_node_t* node, hlo_value_t** results) {
  if (node->operand_count != 2 || node->result_count != 1) {
    return refuse(node, "needs two operands and one result");
  }
  const hlo_type_t* type = node->results[0].type;
  hlo_value_t *operand = hlo_node_operand(node, 0), *scale = hlo_node_operand(node, 1);
  if (!hlo_type_same_dims(operand->type, type)) return refuse(node, "the result has another shape");
  HLO_TRY(check_blocks(node, operand->type, scale->type));
  if (type->rank == HLO_RANK_MAX) return refuse(node, "the rank of the operand is too high");
  results[0] = hlo_build_dequantized(node, operand, scale, type->dtype);
  return hlo_module_status(node->parent->module);
}

// Returns the block size that the configuration of the call gives, as JSON text or as a dictionary;
// 0: none.
static int64_t given_block_size(const hlo_node_t* node) {
  static const char message[] = "\"block_scaled_dot_backend_config\"", field[] = "\"block_size\"";
  const hlo_attr_t* config =
      hlo_attr_dict_get(hlo_custom_call_config(node), "block_scaled_dot_backend_config");
  const hlo_attr_t* size =
      config && config->kind == HLO_ATTR_KIND_DICT ? hlo_attr_dict_get(config, "block_size") : NULL;
  if (size) return size->kind == HLO_ATTR_KIND_INT ? size->i : 0;
  const hlo_attr_t* text = hlo_node_attr(node, HLO_ATTR_backend_config);
  if (!text || text->kind != HLO_ATTR_KIND_STRING || strlen(text->text) != text->text_length) {
    return 0;
  }
  const char* at = strstr(text->text, message);
  at = at ? strstr(at, field) : NULL;
  at = at ? strchr(at + sizeof field - 1, ':') : NULL;
  return at ? hlo_max(strtoll(at + 1, NULL, 10), 0) : 0;
}

// An operand of a product and the scales that belong to its elements.
typedef struct scaled {
  const hlo_type_t* type;
  hlo_value_t *operand, *scale;  // scale: NULL without
  int64_t block;                 // elements of the last dimension with one scale
} scaled_t;

// Takes the used part of scales, which may be larger than the operand needs.
static hlo_status_t read_scale(hlo_node_t* node, int64_t block, scaled_t* scaled) {
  const hlo_type_t *type = scaled->type, *scale = scaled->scale->type;
  const uint32_t last = type->rank - 1;
  if (scale->rank != type->rank) return refuse(node, "scales have another rank than their operand");
  if (last == 2 && scale->dims[0] != type->dims[0]) {
    return refuse(node, "scales have other batches than their operand");
  }
  if (scale->dims[last - 1] < type->dims[last - 1]) return refuse(node, "scales have too few rows");
  if (block > 0 && scale->dims[last] < hlo_divide_up(type->dims[last], block)) {
    return refuse(node, "scales have too few columns for blocks of the given size");
  }
  int64_t dims[3];
  memcpy(dims, type->dims, (last + 1) * sizeof *dims);
  dims[last] = block > 0 ? hlo_divide_up(type->dims[last], block) : scale->dims[last];
  scaled->block = block;
  if (block == 0) {
    if (dims[last] <= 0 || type->dims[last] % dims[last]) {
      return refuse(node,
                    "without a block size, the columns of scales must divide their operand's");
    }
    scaled->block = type->dims[last] / dims[last];
  }
  static const int64_t first[3];
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* used = hlo_type_tensor(module, scale->dtype, last + 1, dims);
  if (used != scale) scaled->scale = hlo_build_slice(node, used, scaled->scale, first, NULL);
  return hlo_module_status(module);
}

// Multiplies by scales in `dtype`; the last block may be short.
static hlo_value_t* dequantize(hlo_node_t* node, const scaled_t* scaled, hlo_dtype_t dtype) {
  static const int64_t first[3];
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = scaled->type;
  const uint32_t last = type->rank - 1;
  const int64_t whole = scaled->scale->type->dims[last] * scaled->block;
  const hlo_type_t* padded = hlo_type_with_dim(module, type, last, whole);
  hlo_value_t* scale = hlo_build_convert(node, dtype, scaled->scale);
  scale = padded ? hlo_build_repeated_scale(node, padded, scale) : NULL;
  const hlo_type_t* wide = hlo_type_with_dtype(module, type, dtype);
  if (padded != type) scale = hlo_build_slice(node, wide, scale, first, NULL);
  return hlo_build_multiply(node, hlo_build_convert(node, dtype, scaled->operand), scale);
}

// Returns true if scaled_dot computes the product of the operands as exactly as ops in the type of
// the result do.
static bool is_exact(const scaled_t* scaled) {
  for (uint32_t i = 0; i < 2; ++i) {
    if (!scaled[i].scale) continue;
    const uint32_t last = scaled[i].type->rank - 1;
    if (scaled[i].scale->type->dims[last] * scaled[i].block != scaled[i].type->dims[last] ||
        !hlo_scaled_dot_is_exact(scaled[i].type->dtype, scaled[i].scale->type->dtype)) {
      return false;
    }
  }
  return true;
}

static hlo_value_t* build_product(hlo_node_t* node, scaled_t* scaled) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* type = node->results[0].type;
  const int64_t last = scaled->type->rank - 1, batch = 0;
  const hlo_attr_t* batches = hlo_attr_ints(module, last == 2, &batch);
  const hlo_attr_t* depth = hlo_attr_ints(module, 1, &last);
  const hlo_named_attr_t attrs[] = {{HLO_ATTR_lhs_batching_dimensions, batches},
                                    {HLO_ATTR_rhs_batching_dimensions, batches},
                                    {HLO_ATTR_lhs_contracting_dimensions, depth},
                                    {HLO_ATTR_rhs_contracting_dimensions, depth}};
  hlo_value_t* operands[HLO_SCALED_DOT_OPERANDS] = {scaled[0].operand, scaled[1].operand};
  if (is_exact(scaled)) {
    for (uint32_t i = 0; i < 2; ++i) {
      operands[2 + i] =
          scaled[i].scale ? scaled[i].scale
                          : hlo_build_splat(node, hlo_type_tensor(module, type->dtype, 0, NULL), 1);
    }
    return hlo_build_node(node, HLO_OP_hlo_scaled_dot, type, HLO_SCALED_DOT_OPERANDS, operands, 4,
                          attrs);
  }
  for (uint32_t i = 0; i < 2; ++i) {
    if (scaled[i].scale) operands[i] = dequantize(node, &scaled[i], type->dtype);
  }
  return hlo_build_node(node, HLO_OP_dot_general, type, 2, operands, 4, attrs);
}

static hlo_status_t check_product(const hlo_node_t* node) {
  if (node->operand_count < 3 || node->operand_count > 5 || node->result_count != 1) {
    return refuse(node, "needs three to five operands and one result");
  }
  const hlo_type_t *lhs = hlo_node_operand_type(node, 0), *rhs = hlo_node_operand_type(node, 1);
  const hlo_type_t* type = node->results[0].type;
  const uint32_t last = lhs->rank - 1;
  if (lhs->rank != rhs->rank || lhs->rank < 2 || lhs->rank > 3) {
    return refuse(node, "operands must be two matrices or two batches of matrices");
  }
  if (lhs->dims[last] != rhs->dims[last] || (last == 2 && lhs->dims[0] != rhs->dims[0])) {
    return refuse(node, "the operands differ in batches or columns");
  }
  if (type->rank != lhs->rank || type->dims[last - 1] != lhs->dims[last - 1] ||
      type->dims[last] != rhs->dims[last - 1] || (last == 2 && type->dims[0] != lhs->dims[0])) {
    return refuse(node, "the operands determine another shape of the result");
  }
  if (node->operand_count < 5) return hlo_ok();
  const hlo_type_t* global = hlo_node_operand_type(node, 4);
  if (global->rank == 0 && global->dtype == type->dtype) return hlo_ok();
  return refuse(node, "the global scale must be a scalar of the result's type");
}

static hlo_status_t lower_product(hlo_node_t* node, hlo_value_t** results) {
  HLO_TRY(check_product(node));
  const int64_t block = given_block_size(node);
  scaled_t scaled[2];
  for (uint32_t i = 0; i < 2; ++i) {
    scaled[i] = (scaled_t){.operand = hlo_node_operand(node, i)};
    scaled[i].type = scaled[i].operand->type;
    if (2 + i >= node->operand_count) continue;
    scaled[i].scale = hlo_node_operand(node, 2 + i);
    HLO_TRY(read_scale(node, block, &scaled[i]));
  }
  results[0] = build_product(node, scaled);
  if (results[0] && node->operand_count == 5) {
    hlo_value_t* global =
        hlo_build_broadcast(node, results[0]->type, hlo_node_operand(node, 4), NULL);
    results[0] = hlo_build_multiply(node, results[0], global);
  }
  return hlo_module_status(node->parent->module);
}

static hlo_status_t lower_node(void* context, hlo_node_t* node) {
  static const struct {
    const char* target;
    hlo_status_t (*lower)(hlo_node_t* node, hlo_value_t** results);
  } calls[] = {{"__op$quantize", lower_quantize},
               {"__op$dequantize", lower_dequantize},
               {"__op$block_scaled_dot", lower_product}};
  hlo_pass_ctx_t* ctx = context;
  if (node->op != HLO_OP_custom_call) return hlo_ok();
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    if (strcmp(hlo_custom_call_target(node), calls[i].target) != 0) continue;
    if (!are_floats(node))
      return refuse(node, "operands and results must be floats of known shape");
    hlo_value_t* results[2];
    HLO_TRY(calls[i].lower(node, results));
    for (uint32_t r = 0; r < node->result_count; ++r) {
      if (!results[r]) return hlo_module_status(node->parent->module);
      hlo_value_replace_uses(&node->results[r], results[r]);
    }
    hlo_node_erase(node);
    ++ctx->step_count;
    return hlo_ok();
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_lower_block_scaling(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, false, lower_node, ctx);
}
