// SPDX-License-Identifier: Apache-2.0
// Pass fold: evaluates ops whose operands are all constants with the reference functions, so that a
// folded program has the values of the unfolded one.
//
// Time and memory are limited: operands and results have at most fold_element_limit elements, and
// ops whose cost those do not limit (windows, convolutions, general bodies) are kept. An op that
// would fail is kept, too, and fails at run time. iota is kept because its structure is more useful
// to later passes than its elements.
#include <string.h>

#include "base/env.h"
#include "base/tuning.h"
#include "interp/program.h"
#include "interp/tensor_pool.h"
#include "ir/clone.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/fold.h"

enum { OPERAND_LIMIT = 16 };

typedef struct folder {
  hlo_pass_ctx_t* ctx;
  int64_t element_limit;
} folder_t;

static bool has_bounded_cost(hlo_op_t op) {
  switch (op) {
    case HLO_OP_convolution:
    case HLO_OP_dynamic_conv:
    case HLO_OP_einsum:
    case HLO_OP_chlo_ragged_dot:
    case HLO_OP_chlo_polygamma:
    case HLO_OP_chlo_zeta: return false;
    default: return true;
  }
}

// Returns true for products whose sums compiled code rounds more often than the reference.
static bool has_rounded_sums(const hlo_node_t* node) {
  return (node->op == HLO_OP_dot || node->op == HLO_OP_dot_general) &&
         !hlo_dtype_is_integer(node->results[0].type->dtype);
}

static bool is_small(const folder_t* folder, const hlo_type_t* type) {
  if (!hlo_type_is_plain(type)) return false;
  int64_t count = hlo_type_element_count(type);
  return count >= 0 && count <= folder->element_limit;
}

static bool may_fold(const folder_t* folder, const hlo_node_t* node) {
  if (!(hlo_op_info(node->op)->traits & HLO_TRAIT_PURE) || node->region_count > 0 || node->extra ||
      node->operand_count == 0 || node->operand_count > OPERAND_LIMIT ||
      !has_bounded_cost(node->op) || has_rounded_sums(node)) {
    return false;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* operand = hlo_node_operand(node, i);
    if (!is_small(folder, operand->type) || !hlo_constant_literal(operand)) return false;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (!is_small(folder, node->results[i].type)) return false;
  }
  return node->result_count > 0;
}

static hlo_status_t replace_with_constants(hlo_node_t* node, hlo_tensor_t* const* tensors) {
  hlo_module_t* module = node->parent->module;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_tensor_t* tensor = tensors[i];
    const hlo_type_t* type = node->results[i].type;
    hlo_literal_t* literal = hlo_build_literal(module, type, false);
    if (literal && literal->data_bytes != tensor->size_bytes) {
      hlo_literal_release(literal);
      return hlo_pass_error(node, HLO_STATUS_INTERNAL, "the folded result has another size");
    }
    if (literal && tensor->size_bytes > 0) {
      memcpy(hlo_literal_mutable_data(literal), tensor->data, tensor->size_bytes);
    }
    hlo_value_t* constant = hlo_build_constant(node, type, literal);
    if (!constant) return hlo_module_status(module);
    hlo_value_replace_uses(&node->results[i], constant);
  }
  hlo_node_erase(node);
  return hlo_ok();
}

// Returns true if the result only has elements of the operand and those are all equal: the result
// is then a splat and nothing is evaluated.
static bool moves_splat(const hlo_node_t* node) {
  return hlo_op_has(node->op, HLO_TRAIT_MOVES) && node->operand_count == 1 &&
         hlo_constant_splat(hlo_node_operand(node, 0)) &&
         hlo_type_element_count(node->results[0].type) > 0;
}

static hlo_status_t replace_by_splat(hlo_node_t* node) {
  const hlo_type_t* type = node->results[0].type;
  hlo_literal_t* literal = hlo_build_literal(node->parent->module, type, true);
  if (literal) {
    memcpy(hlo_literal_mutable_data(literal), hlo_constant_splat(hlo_node_operand(node, 0)),
           hlo_dtype_size_bytes(type->dtype));
  }
  hlo_value_t* constant = hlo_build_constant(node, type, literal);
  if (!constant) return hlo_module_status(node->parent->module);
  hlo_value_replace_uses(&node->results[0], constant);
  hlo_node_erase(node);
  return hlo_ok();
}

static hlo_status_t evaluate(const folder_t* folder, const hlo_node_t* node,
                             hlo_tensor_t** results) {
  hlo_tensor_t* operands[OPERAND_LIMIT] = {0};
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < node->operand_count && hlo_status_is_ok(status); ++i) {
    status = hlo_tensor_from_literal(hlo_constant_literal(hlo_node_operand(node, i)), &operands[i]);
  }
  if (hlo_status_is_ok(status)) {
    const hlo_env_t* env = folder->ctx->options->env;
    const hlo_env_state_t before = hlo_env_enter(env ? env : hlo_env_default());
    status = hlo_interp_node(node, operands, results);
    hlo_env_leave(before);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) hlo_tensor_release(operands[i]);
  return status;
}

static hlo_status_t fold_node(void* context, hlo_node_t* node) {
  const folder_t* folder = context;
  if (!may_fold(folder, node)) return hlo_ok();
  if (moves_splat(node)) {
    ++folder->ctx->step_count;
    return replace_by_splat(node);
  }
  hlo_tensor_t** results =
      hlo_arena_array(&folder->ctx->scratch, node->result_count, sizeof(hlo_tensor_t*));
  if (!results) return hlo_arena_status(&folder->ctx->scratch);
  hlo_status_t status = evaluate(folder, node, results);
  if (!hlo_status_is_ok(status)) {
    if (hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED) return status;
    hlo_status_release(status);
    return hlo_ok();
  }
  uint32_t result_count = node->result_count;
  status = replace_with_constants(node, results);
  ++folder->ctx->step_count;
  for (uint32_t i = 0; i < result_count; ++i) hlo_tensor_release(results[i]);
  return status;
}

static folder_t make_folder(hlo_pass_ctx_t* ctx) {
  int64_t limit = ctx->options->fold_element_limit;
  return (folder_t){ctx, limit > 0 ? limit : HLO_TUNING_FOLD_MAX_ELEMENTS};
}

hlo_status_t hlo_fold_node(hlo_pass_ctx_t* ctx, hlo_node_t* node, bool* out_folded) {
  folder_t folder = make_folder(ctx);
  uint32_t before = ctx->step_count;
  hlo_status_t status = fold_node(&folder, node);
  *out_folded = ctx->step_count > before;
  return status;
}

hlo_status_t hlo_pass_fold(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  folder_t folder = make_folder(ctx);
  hlo_tensor_pool_t pool = {0};  // recycles the buffers of operands and results
  hlo_tensor_pool_t* previous = hlo_tensor_pool_enter(&pool);
  hlo_status_t status = hlo_module_walk(module, true, fold_node, &folder);
  hlo_tensor_pool_leave(previous);
  hlo_tensor_pool_deinit(&pool);
  return status;
}
