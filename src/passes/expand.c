// SPDX-License-Identifier: Apache-2.0
// Finds the ops to expand (see expand.h), and applies bodies of scalars to arrays.
#include "passes/expand.h"

#include "passes/build.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"
#include "passes/splice.h"

static hlo_expand_node_t expansion_of(hlo_op_t op) {
  if (hlo_op_info(op)->infer == HLO_INFER_BROADCAST) return hlo_expand_broadcasting;
  switch (op) {
    case HLO_OP_chlo_bessel_i1e:
    case HLO_OP_chlo_digamma:
    case HLO_OP_chlo_lgamma:
    case HLO_OP_chlo_polygamma:
    case HLO_OP_chlo_zeta: return hlo_expand_math;
    case HLO_OP_chlo_broadcast_compare:
    case HLO_OP_chlo_broadcast_complex:
    case HLO_OP_chlo_broadcast_select: return hlo_expand_broadcasting;
    case HLO_OP_dynamic_broadcast_in_dim:
    case HLO_OP_dynamic_conv:
    case HLO_OP_dynamic_gather:
    case HLO_OP_dynamic_iota:
    case HLO_OP_dynamic_pad:
    case HLO_OP_dynamic_reshape:
    case HLO_OP_get_dimension_size:
    case HLO_OP_real_dynamic_slice: return hlo_expand_static_form;
    case HLO_OP_batch_norm_grad:
    case HLO_OP_batch_norm_inference:
    case HLO_OP_batch_norm_training: return hlo_expand_batch_norm;
    case HLO_OP_chlo_constant:
    case HLO_OP_chlo_constant_like: return hlo_expand_constant;
    case HLO_OP_broadcast: return hlo_expand_broadcast;
    case HLO_OP_hlo_stochastic_convert: return hlo_expand_stochastic_convert;
    case HLO_OP_chlo_scan: return hlo_expand_scan;
    case HLO_OP_scatter: return hlo_expand_scatter;
    case HLO_OP_hlo_fusion: return hlo_expand_fusion;
    case HLO_OP_map: return hlo_expand_map;
    case HLO_OP_all_reduce:
    case HLO_OP_reduce_scatter: return hlo_expand_group_reduction;
    case HLO_OP_collective_reduce: return hlo_expand_collective_reduce;
    case HLO_OP_reduce: return hlo_expand_reduce;
    case HLO_OP_reduce_window: return hlo_expand_reduce_window;
    case HLO_OP_select_and_scatter: return hlo_expand_select_and_scatter;
    case HLO_OP_sort: return hlo_expand_sort;
    default: return NULL;
  }
}

static hlo_status_t expand_node(hlo_pass_ctx_t* ctx, hlo_node_t* node,
                                hlo_is_computed_t is_computed) {
  const hlo_expand_node_t expand = node->extra ? NULL : expansion_of(node->op);
  hlo_value_t* results[HLO_EXPAND_VALUES_MAX];
  if (!expand || node->result_count > HLO_EXPAND_VALUES_MAX || is_computed(node)) return hlo_ok();
  const bool is_expanded = expand(ctx, node, results);
  HLO_TRY(hlo_module_status(node->parent->module));
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  if (!is_expanded) return hlo_ok();
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_replace_uses(&node->results[i], results[i]);
  }
  hlo_node_erase(node);
  ++ctx->step_count;
  return hlo_ok();
}

static hlo_status_t expand_region(hlo_pass_ctx_t* ctx, hlo_region_t* region,
                                  hlo_is_computed_t is_computed) {
  for (hlo_node_t *node = region->first, *next; node; node = next) {
    next = node->next;
    const bool runs_here =
        hlo_op_has(node->op, HLO_TRAIT_STRUCTURED) || node->op == HLO_OP_async_start;
    for (uint32_t i = 0; runs_here && i < node->region_count; ++i) {
      HLO_TRY(expand_region(ctx, node->regions[i], is_computed));
    }
    HLO_TRY(expand_node(ctx, node, is_computed));
  }
  return hlo_ok();
}

hlo_status_t hlo_expand(hlo_module_t* module, const hlo_pass_options_t* options,
                        hlo_is_computed_t is_computed, bool* out_changed) {
  static const hlo_pass_options_t defaults;
  hlo_pass_ctx_t ctx = {.options = options ? options : &defaults};
  hlo_arena_init(&ctx.scratch, 0);
  hlo_status_t status = hlo_ok();
  for (hlo_func_t* func = module->first_func; func && hlo_status_is_ok(status); func = func->next) {
    if (func->body) status = expand_region(&ctx, func->body, is_computed);
  }
  hlo_arena_deinit(&ctx.scratch);
  *out_changed = ctx.step_count > 0;
  return status;
}

// ---- bodies of scalars --------------------------------------------------------------------------

static bool is_scalar(const hlo_type_t* type) {
  return hlo_type_is_plain(type) && type->rank == 0;
}

bool hlo_expand_can_apply(const hlo_region_t* body, uint32_t arg_count, uint32_t result_count) {
  const hlo_node_t* end = hlo_region_terminator(body);
  bool is_plain = end && body->arg_count == arg_count && end->operand_count == result_count;
  for (uint32_t i = 0; is_plain && i < arg_count; ++i) is_plain &= is_scalar(body->args[i]->type);
  for (uint32_t i = 0; is_plain && i < result_count; ++i) {
    is_plain &= is_scalar(hlo_node_operand_type(end, i));
  }
  return is_plain;
}

bool hlo_expand_copy(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point, const hlo_region_t* body,
                     hlo_value_t* const* args, hlo_value_t** results) {
  hlo_splicer_t splicer = {.arena = &ctx->scratch};
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    if (!args[i]) return false;
  }
  // Both arenas record it if memory is exhausted.
  const bool is_done =
      hlo_status_take_ok(hlo_splice(&splicer, body, args, insertion_point, NULL, NULL));
  for (uint32_t i = 0; is_done && i < body->last->operand_count; ++i) {
    results[i] = hlo_splice_result(&splicer, body, i);
  }
  return is_done;
}

static bool apply_to_elements(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point,
                              const hlo_region_t* body, hlo_value_t* const* args,
                              hlo_value_t** results) {
  hlo_module_t* module = body->module;
  const hlo_type_t* shape = args[0]->type;
  const int64_t count = hlo_type_element_count(shape);
  hlo_value_t *lists[2 * HLO_EXPAND_VALUES_MAX], *scalars[2 * HLO_EXPAND_VALUES_MAX];
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    const hlo_type_t* list = hlo_type_tensor(module, args[i]->type->dtype, 1, &count);
    lists[i] = hlo_build_reshape(insertion_point, list, args[i]);
  }
  const uint32_t result_count = body->last->operand_count;
  for (uint32_t i = 0; i < result_count; ++i) {
    const hlo_dtype_t dtype = hlo_node_operand_type(body->last, i)->dtype;
    results[i] = hlo_build_splat(insertion_point, hlo_type_tensor(module, dtype, 1, &count), 0);
  }
  hlo_loop_t loop;
  if (!hlo_loop_begin(insertion_point, hlo_loop_number(module, count), count, result_count, results,
                      &loop)) {
    return false;
  }
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    scalars[i] = hlo_loop_row(loop.end, lists[i], loop.number);
  }
  if (!hlo_expand_copy(ctx, loop.end, body, scalars, scalars)) return false;
  for (uint32_t i = 0; i < result_count; ++i) {
    scalars[i] = hlo_loop_set_row(loop.end, loop.values[i], scalars[i], loop.number);
  }
  if (!hlo_loop_finish(&loop, scalars, results)) return false;
  for (uint32_t i = 0; i < result_count; ++i) {
    const hlo_type_t* type = hlo_type_with_dtype(module, shape, results[i]->type->dtype);
    results[i] = hlo_build_reshape(insertion_point, type, results[i]);
    if (!results[i]) return false;
  }
  return true;
}

bool hlo_expand_apply(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point, const hlo_region_t* body,
                      hlo_value_t* const* args, hlo_value_t** results) {
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    if (!args[i]) return false;
  }
  if (hlo_lift_can(body)) return hlo_lift(insertion_point, body, args, results);
  if (args[0]->type->rank == 0) return hlo_expand_copy(ctx, insertion_point, body, args, results);
  return apply_to_elements(ctx, insertion_point, body, args, results);
}

bool hlo_expand_map(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  const hlo_region_t* body = node->regions[0];
  hlo_value_t* args[2 * HLO_EXPAND_VALUES_MAX];
  if (node->operand_count == 0 || node->operand_count > 2 * HLO_EXPAND_VALUES_MAX ||
      !hlo_expand_can_apply(body, node->operand_count, 1)) {
    return false;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    args[i] = hlo_node_operand(node, i);
    if (!hlo_type_is_plain(args[i]->type) || args[i]->type->dtype != body->args[i]->type->dtype) {
      return false;
    }
  }
  return hlo_expand_apply(ctx, node, body, args, results) &&
         results[0]->type == node->results[0].type;
}
