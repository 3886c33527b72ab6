// SPDX-License-Identifier: Apache-2.0
// Custom calls that represent ops with computed shapes (see static_form.h): exporters emit them
// where StableHLO has no dynamic form of an op.
#include <string.h>

#include "base/tuning.h"
#include "ir/infer.h"
#include "passes/static_form.h"

enum {
  WINDOW_OPERANDS = 5,  // sizes, strides, base dilations, window dilations, padding
};

// ---- reduction functions

static const hlo_func_t* called_function(const hlo_node_t* node) {
  const hlo_attr_t* called = hlo_node_attr(node, HLO_ATTR_called_computations);
  bool is_one = called && called->kind == HLO_ATTR_KIND_ARRAY && called->count == 1 &&
                called->items[0]->kind == HLO_ATTR_KIND_SYMBOL;
  const hlo_func_t* func =
      is_one ? hlo_module_find_func(node->parent->module, called->items[0]->text) : NULL;
  return func && func->body && hlo_region_terminator(func->body) ? func : NULL;
}

// Copies the function's body into an empty region. False: it is too large, or memory is exhausted,
// which the module records.
static bool fill_region(hlo_splicer_t* splicer, hlo_region_t* region, const hlo_region_t* body) {
  hlo_module_t* module = region->module;
  const hlo_node_t* end = hlo_region_terminator(body);
  if (hlo_splice_size(body) > HLO_TUNING_STATIC_CALL_MAX_BODY_OPS) return false;
  hlo_value_t** values =
      hlo_arena_array(splicer->arena, body->arg_count + end->operand_count + 1, sizeof *values);
  if (!values) return false;
  hlo_value_t** results = values + body->arg_count;
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    values[i] = hlo_region_add_arg(region, body->args[i]->type);
  }
  for (uint32_t i = 0; i < end->operand_count; ++i) results[i] = hlo_node_operand(end, i);
  hlo_node_t* copy = hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_return,
                                                                .loc = end->loc,
                                                                .operand_count = end->operand_count,
                                                                .operands = results});
  if (hlo_node_is_poison(copy)) return false;
  hlo_region_append(region, copy);
  hlo_status_t status = hlo_splice(splicer, body, values, copy, NULL, NULL);
  for (uint32_t i = 0; i < end->operand_count && hlo_status_is_ok(status); ++i) {
    hlo_node_set_operand(copy, i, hlo_splice_result(splicer, body, i));
  }
  return hlo_status_take_ok(status);
}

// ---- new nodes

// Builds a node with the first operands and the result types of `node` before it.
static hlo_node_t* build_call_op(hlo_node_t* node, hlo_op_t op, uint32_t operand_count,
                                 const hlo_type_t* const* types, uint32_t attr_count,
                                 const hlo_named_attr_t* attrs, const hlo_func_t* func,
                                 hlo_splicer_t* splicer) {
  hlo_module_t* module = node->parent->module;
  hlo_value_t** operands = hlo_arena_array(&module->arena, operand_count + 1, sizeof *operands);
  if (!operands) return NULL;
  for (uint32_t i = 0; i < operand_count; ++i) operands[i] = hlo_node_operand(node, i);
  hlo_node_t* made = hlo_node_create(module, &(hlo_node_spec_t){.op = op,
                                                                .loc = node->loc,
                                                                .operand_count = operand_count,
                                                                .operands = operands,
                                                                .attr_count = attr_count,
                                                                .attrs = attrs,
                                                                .region_count = func != NULL,
                                                                .result_count = node->result_count,
                                                                .result_types = types});
  if (hlo_node_is_poison(made)) return NULL;
  hlo_node_insert_before(node, made);
  const bool is_filled = !func || fill_region(splicer, made->regions[0], func->body);
  if (is_filled && hlo_node_is_valid(made)) return made;
  hlo_node_erase(made);
  return NULL;
}

static const hlo_type_t** result_types(hlo_node_t* node) {
  const hlo_type_t** types =
      hlo_arena_array(&node->parent->module->arena, node->result_count + 1, sizeof *types);
  for (uint32_t i = 0; types && i < node->result_count; ++i) types[i] = node->results[i].type;
  return types;
}

// ---- call targets

static hlo_node_t* reduce_window(hlo_node_t* node, hlo_splicer_t* splicer) {
  static const hlo_attr_id_t ids[] = {HLO_ATTR_window_dimensions, HLO_ATTR_window_strides,
                                      HLO_ATTR_base_dilations, HLO_ATTR_window_dilations};
  const hlo_func_t* func = called_function(node);
  const hlo_type_t** types = result_types(node);
  if (!func || !types || node->operand_count <= WINDOW_OPERANDS) return NULL;
  uint32_t values = node->operand_count - WINDOW_OPERANDS;
  hlo_module_t* module = node->parent->module;
  hlo_named_attr_t attrs[WINDOW_OPERANDS];
  hlo_integers_t list;
  for (uint32_t i = 0; i < WINDOW_OPERANDS - 1; ++i) {
    if (!hlo_read_integers(hlo_node_operand(node, values + i), &list)) return NULL;
    attrs[i] = (hlo_named_attr_t){ids[i], hlo_attr_ints(module, list.count, list.values)};
  }
  if (!hlo_read_integers(hlo_node_operand(node, values + 4), &list) || list.count % 2) return NULL;
  attrs[4] =
      (hlo_named_attr_t){HLO_ATTR_padding, hlo_attr_matrix(module, list.count / 2, 2, list.values)};
  return build_call_op(node, HLO_OP_reduce_window, values, types, WINDOW_OPERANDS, attrs, func,
                       splicer);
}

static hlo_node_t* top_k(hlo_node_t* node, hlo_splicer_t* splicer) {
  const hlo_type_t** types = result_types(node);
  hlo_integers_t k;
  if (!types || node->operand_count != 2 || !hlo_read_integers(hlo_node_operand(node, 1), &k) ||
      k.count != 1) {
    return NULL;
  }
  const hlo_named_attr_t attr = {HLO_ATTR_k,
                                 hlo_attr_int(node->parent->module, HLO_DTYPE_S64, k.values[0])};
  return build_call_op(node, HLO_OP_chlo_top_k, 1, types, 1, &attr, NULL, splicer);
}

static hlo_node_t* rng_bit_generator(hlo_node_t* node, hlo_splicer_t* splicer) {
  const hlo_attr_t* algorithm = hlo_attr_dict_get(node->extra, "rng_algorithm");
  const hlo_type_t** types = result_types(node);
  hlo_integers_t dims;
  if (!types || node->operand_count != 2 || node->result_count != 2 || !algorithm ||
      !hlo_read_integers(hlo_node_operand(node, 1), &dims) || dims.count != types[1]->rank) {
    return NULL;
  }
  types[1] = hlo_type_with_dims(node->parent->module, types[1], dims.count, dims.values);
  const hlo_named_attr_t attr = {HLO_ATTR_rng_algorithm, algorithm};
  return types[1] ? build_call_op(node, HLO_OP_rng_bit_generator, 1, types, 1, &attr, NULL, splicer)
                  : NULL;
}

hlo_node_t* hlo_static_call(hlo_node_t* node, hlo_splicer_t* splicer) {
  static const struct {
    const char* target;
    hlo_node_t* (*form)(hlo_node_t* node, hlo_splicer_t* splicer);
  } forms[] = {
      {"stablehlo.dynamic_reduce_window", reduce_window},
      {"stablehlo.dynamic_rng_bit_generator", rng_bit_generator},
      {"stablehlo.dynamic_top_k", top_k},
  };
  const char* target =
      node->op == HLO_OP_custom_call ? hlo_node_attr_text(node, HLO_ATTR_call_target_name) : NULL;
  for (size_t i = 0; target && i < sizeof forms / sizeof forms[0]; ++i) {
    if (strcmp(target, forms[i].target) == 0) return forms[i].form(node, splicer);
  }
  return NULL;
}
