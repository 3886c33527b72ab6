// SPDX-License-Identifier: Apache-2.0
// Pass lower_quantized: turns quantized values into integers of their storage types. An op that
// computes is done on the real values, (stored - zero point) * scale in the expressed type, and its
// results are quantized again; other ops move or carry integers. Types below 32 bits are computed
// in f32.
// source: StableHLO specification, "Quantization computations"
#include "ir/clone.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { VALUES_MAX = 5 };  // operands or results of an op that computes

// Returns true for ops that are defined on real values.
static bool computes(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_batch_norm_grad:
    case HLO_OP_batch_norm_inference:
    case HLO_OP_batch_norm_training:
    case HLO_OP_chlo_broadcast_compare:
    case HLO_OP_chlo_broadcast_select:
    case HLO_OP_clamp:
    case HLO_OP_convert:
    case HLO_OP_convolution:
    case HLO_OP_dot:
    case HLO_OP_dot_general:
    case HLO_OP_dynamic_conv:
    case HLO_OP_einsum:
    case HLO_OP_iota:
    case HLO_OP_reduce_precision:
    case HLO_OP_select:
    case HLO_OP_unary_einsum:
    case HLO_OP_uniform_dequantize:
    case HLO_OP_uniform_quantize: return true;
    default:
      return hlo_op_has(node->op, HLO_TRAIT_ELEMENTWISE) ||
             hlo_op_info(node->op)->infer == HLO_INFER_BROADCAST;
  }
}

// Returns true for ops that may take the stored numbers instead: bodies compute.
static bool carries(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_all_gather:
    case HLO_OP_all_reduce:
    case HLO_OP_all_to_all:
    case HLO_OP_bitcast_convert:
    case HLO_OP_chlo_top_k:
    case HLO_OP_collective_broadcast:
    case HLO_OP_collective_permute:
    case HLO_OP_collective_reduce:
    case HLO_OP_concatenate:
    case HLO_OP_dynamic_pad:
    case HLO_OP_dynamic_update_slice:
    case HLO_OP_get_dimension_size:
    case HLO_OP_hlo_bitcast:
    case HLO_OP_hlo_ragged_all_to_all:
    case HLO_OP_map:
    case HLO_OP_optimization_barrier:
    case HLO_OP_pad:
    case HLO_OP_reduce:
    case HLO_OP_reduce_scatter:
    case HLO_OP_reduce_window:
    case HLO_OP_scatter:
    case HLO_OP_select_and_scatter:
    case HLO_OP_sort: return true;
    default:
      return hlo_op_has(node->op, HLO_TRAIT_MOVES | HLO_TRAIT_CONTROL | HLO_TRAIT_STRUCTURED |
                                      HLO_TRAIT_TERMINATOR | HLO_TRAIT_CONSTANT);
  }
}

// ---- arithmetic ---------------------------------------------------------------------------------

// Returns a parameter for each element of a shape: `values` along the quantized axis.
static hlo_value_t* build_parameters(hlo_node_t* at, const hlo_type_t* shape, hlo_dtype_t dtype,
                                     const hlo_quant_t* quant, const double* values) {
  hlo_module_t* module = at->parent->module;
  const hlo_type_t* type = hlo_type_with_dtype(module, shape, dtype);
  if (quant->axis < 0) return hlo_build_splat(at, type, values[0]);
  const int64_t count = quant->count, axis = quant->axis;
  const hlo_type_t* list = hlo_type_tensor(module, dtype, 1, &count);
  hlo_literal_t* literal = list ? hlo_build_literal(module, list, false) : NULL;
  if (!literal) return NULL;
  char* data = hlo_literal_mutable_data(literal);
  for (int64_t i = 0; i < count; ++i) {
    hlo_dtype_store_double(dtype, data + (size_t)i * hlo_dtype_size_bytes(dtype), values[i]);
  }
  return hlo_build_broadcast(at, type, hlo_build_constant(at, list, literal), &axis);
}

static hlo_value_t* build_zero_points(hlo_pass_ctx_t* ctx, hlo_node_t* at, const hlo_type_t* shape,
                                      hlo_dtype_t dtype, const hlo_quant_t* quant) {
  double* values = hlo_arena_array(&ctx->scratch, quant->count, sizeof *values);
  if (!values) return NULL;
  for (uint32_t i = 0; i < quant->count; ++i) values[i] = (double)quant->zero_points[i];
  return build_parameters(at, shape, dtype, quant, values);
}

// The type of the arithmetic, and one that holds every stored number.
static hlo_dtype_t real_type(const hlo_quant_t* quant) {
  return quant->expressed == HLO_DTYPE_F64 ? HLO_DTYPE_F64 : HLO_DTYPE_F32;
}
static hlo_dtype_t exact_type(const hlo_quant_t* quant) {
  enum { F32_BITS = 16 };  // and their differences are exact in f32
  return hlo_dtype_info(quant->storage)->bits > F32_BITS ? HLO_DTYPE_F64 : real_type(quant);
}

static hlo_value_t* dequantize(hlo_pass_ctx_t* ctx, hlo_node_t* at, hlo_value_t* stored) {
  const hlo_quant_t* quant = stored->type->quant;
  const hlo_dtype_t real = real_type(quant), exact = exact_type(quant);
  hlo_value_t* x = hlo_build_binary(at, HLO_OP_subtract, hlo_build_convert(at, exact, stored),
                                    build_zero_points(ctx, at, stored->type, exact, quant));
  x = x ? hlo_build_convert(at, real, x) : NULL;
  x = hlo_build_multiply(at, x, build_parameters(at, stored->type, real, quant, quant->scales));
  return x ? hlo_build_convert(at, quant->expressed, x) : NULL;
}

// The result has the quantized type.
static hlo_value_t* quantize(hlo_pass_ctx_t* ctx, hlo_node_t* at, hlo_value_t* x,
                             const hlo_type_t* type) {
  const hlo_quant_t* quant = type->quant;
  const hlo_dtype_t real = real_type(quant), exact = exact_type(quant);
  if (!x) return NULL;
  x = hlo_build_binary(at, HLO_OP_divide, hlo_build_convert(at, real, x),
                       build_parameters(at, type, real, quant, quant->scales));
  x = hlo_build_binary(at, HLO_OP_add, x, build_zero_points(ctx, at, type, real, quant));
  x = x ? hlo_build_convert(at, exact, x) : NULL;
  if (!x) return NULL;
  hlo_value_t* low = hlo_build_splat(at, x->type, (double)quant->storage_min);
  hlo_value_t* high = hlo_build_splat(at, x->type, (double)quant->storage_max);
  x = hlo_build_select(at, hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LT, x, low), low, x);
  x = hlo_build_select(at, hlo_build_compare(at, HLO_COMPARISON_DIRECTION_GT, x, high), high, x);
  x = hlo_build_unary(at, HLO_OP_round_nearest_even, x);
  return hlo_build_node(at, HLO_OP_convert, type, 1, &x, 0, NULL);
}

// ---- nodes --------------------------------------------------------------------------------------

static bool is_valid(const hlo_type_t* type) {
  const hlo_quant_t* quant = type->quant;
  return !quant || (hlo_type_is_static(type) &&
                    (quant->axis < 0 || ((uint32_t)quant->axis < type->rank &&
                                         type->dims[quant->axis] == quant->count)));
}

static bool is_quantized(const hlo_node_t* node, bool* out_is_valid) {
  bool found = false;
  *out_is_valid = node->operand_count <= VALUES_MAX && node->result_count <= VALUES_MAX;
  for (uint32_t i = 0; i < node->operand_count + node->result_count; ++i) {
    const hlo_type_t* type = hlo_node_type(node, i);
    found |= type->quant != NULL;
    *out_is_valid &= is_valid(type);
  }
  return found;
}

// Builds the op itself on real values.
static bool build_on_reals(hlo_node_t* node, hlo_value_t* const* operands, hlo_value_t** results) {
  hlo_module_t* module = node->parent->module;
  const hlo_type_t* types[VALUES_MAX];
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    types[i] = type->quant ? hlo_type_with_dtype(module, type, type->quant->expressed) : type;
  }
  hlo_node_t* copy =
      hlo_node_create(module, &(hlo_node_spec_t){.op = node->op,
                                                 .loc = node->loc,
                                                 .operand_count = node->operand_count,
                                                 .operands = operands,
                                                 .result_count = node->result_count,
                                                 .result_types = types});
  if (hlo_node_is_poison(copy)) return false;
  hlo_node_copy_attrs(copy, node);
  hlo_node_insert_before(node, copy);
  for (uint32_t i = 0; i < node->result_count; ++i) results[i] = &copy->results[i];
  return true;
}

static hlo_status_t lower_node(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  hlo_value_t *operands[VALUES_MAX], *results[VALUES_MAX];
  bool is_lowered;
  if (!is_quantized(node, &is_lowered) || carries(node)) return hlo_ok();
  if (!is_lowered || !computes(node)) {
    return hlo_pass_error(node, HLO_STATUS_UNIMPLEMENTED, "quantized values of these types");
  }
  for (uint32_t i = 0; i < node->operand_count && is_lowered; ++i) {
    operands[i] = hlo_node_operand(node, i);
    if (operands[i]->type->quant) operands[i] = dequantize(ctx, node, operands[i]);
    is_lowered = operands[i] != NULL;
  }
  if (node->op == HLO_OP_uniform_quantize || node->op == HLO_OP_uniform_dequantize) {
    results[0] = operands[0];
  } else {
    is_lowered = is_lowered && build_on_reals(node, operands, results);
  }
  for (uint32_t i = 0; i < node->result_count && is_lowered; ++i) {
    const hlo_type_t* type = node->results[i].type;
    if (type->quant) results[i] = quantize(ctx, node, results[i], type);
    is_lowered = results[i] != NULL;
    if (is_lowered) hlo_value_replace_uses(&node->results[i], results[i]);
  }
  HLO_TRY(hlo_module_status(node->parent->module));
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  hlo_node_erase(node);
  return hlo_ok();
}

// ---- types --------------------------------------------------------------------------------------

static void store_integers(hlo_pass_ctx_t* ctx, hlo_module_t* module, hlo_value_t* value) {
  if (!value->type->quant) return;
  value->type = hlo_type_with_dtype(module, value->type, value->type->quant->storage);
  ++ctx->step_count;
}

static hlo_status_t change_types(void* context, hlo_node_t* node) {
  hlo_module_t* module = node->parent->module;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    store_integers(context, module, &node->results[i]);
  }
  for (uint32_t r = 0; r < node->region_count; ++r) {
    for (uint32_t i = 0; i < node->regions[r]->arg_count; ++i) {
      store_integers(context, module, node->regions[r]->args[i]);
    }
  }
  return hlo_module_status(module);
}

hlo_status_t hlo_pass_lower_quantized(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  HLO_TRY(hlo_module_walk(module, false, lower_node, ctx));
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    for (uint32_t i = 0; func->body && i < func->body->arg_count; ++i) {
      store_integers(ctx, module, func->body->args[i]);
    }
  }
  HLO_TRY(hlo_module_walk(module, false, change_types, ctx));
  for (hlo_func_t* func = module->first_func; func && ctx->step_count; func = func->next) {
    if (func->body) hlo_func_update_type(func);
  }
  return hlo_module_status(module);
}
