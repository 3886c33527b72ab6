// SPDX-License-Identifier: Apache-2.0
// Custom calls that select the best elements along a dimension: TopK, mhlo.topk, and ApproxTopK,
// which is computed exactly.
#include <string.h>

#include "interp/custom_call.h"
#include "interp/ref_topk.h"

/// The parameters of a call.
typedef struct selection {
  const hlo_node_t* node;
  hlo_topk_t topk;
} selection_t;

static hlo_status_t misfit(const hlo_node_t* node) {
  return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                        "the operands, results and attributes of @%s do not match",
                        hlo_node_attr_text(node, HLO_ATTR_call_target_name));
}

static hlo_status_t make_results(hlo_eval_t* eval, const selection_t* s, hlo_tensor_t** results) {
  const hlo_tensor_t *operand = s->topk.operand, *companion = s->topk.companion;
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, operand->dims, operand->rank * sizeof(*dims));
  dims[s->topk.axis] = s->topk.kept;
  for (uint32_t i = 0; i < 2; ++i) {
    HLO_TRY(hlo_eval_result_dims(eval, s->node, i, operand->rank, dims, &results[i]));
  }
  bool fits =
      results[0]->dtype == operand->dtype &&
      (companion ? results[1]->dtype == companion->dtype : hlo_dtype_is_integer(results[1]->dtype));
  return fits ? hlo_ok() : misfit(s->node);
}

static hlo_status_t select_lines(hlo_eval_t* eval, selection_t* s, bool is_largest,
                                 hlo_tensor_t** results) {
  const hlo_tensor_t* operand = s->topk.operand;
  if (s->topk.kept < 0 || s->topk.kept > operand->dims[s->topk.axis] ||
      hlo_dtype_is_complex(operand->dtype)) {
    return misfit(s->node);
  }
  s->topk.form = (hlo_sort_form_t){operand->dtype, .canonical = true, .descending = is_largest};
  HLO_TRY(make_results(eval, s, results));
  return hlo_topk_run(hlo_eval_parallel(eval), &s->topk, results[0], results[1]);
}

static const hlo_attr_t* setting(const hlo_node_t* node, const char* key) {
  const hlo_attr_t* value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  const hlo_attr_t* attributes = hlo_attr_dict_get(node->extra, "mhlo.attributes");
  if (!value && attributes && attributes->kind == HLO_ATTR_KIND_DICT) {
    value = hlo_attr_dict_get(attributes, key);
  }
  return value;
}

// Sets *out_largest if the comparator prefers larger elements.
static hlo_status_t read_comparator(hlo_eval_t* eval, const hlo_node_t* node, bool* out_largest) {
  const hlo_attr_t* called = hlo_node_attr(node, HLO_ATTR_called_computations);
  const hlo_attr_t* symbol =
      called && called->kind == HLO_ATTR_KIND_ARRAY && called->count ? called->items[0] : NULL;
  const hlo_func_t* func = symbol && symbol->kind == HLO_ATTR_KIND_SYMBOL
                               ? hlo_module_find_func(hlo_region_module(node->parent), symbol->text)
                               : NULL;
  if (!func || !func->body) return misfit(node);
  hlo_region_fn_t* fn = NULL;
  bool is_ascending = false, is_total_order = false;
  HLO_TRY(hlo_region_fn_create(eval, func->body, &fn));
  bool is_known = hlo_region_fn_comparator(fn, &is_ascending, &is_total_order);
  hlo_region_fn_release(fn);
  *out_largest = !is_ascending;
  return is_known ? hlo_ok()
                  : hlo_node_error(node, HLO_STATUS_UNIMPLEMENTED,
                                   "the comparator @%s does not compare two values", func->name);
}

hlo_status_t hlo_custom_topk(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                             hlo_tensor_t** results) {
  // (values) -> the largest (or smallest) elements of the last dimension, their positions
  if (node->operand_count < 1 || node->result_count != 2 || operands[0]->rank == 0 ||
      node->results[0].type->rank != operands[0]->rank) {
    return misfit(node);
  }
  selection_t s = {node, {.operand = operands[0], .axis = operands[0]->rank - 1}};
  const hlo_attr_t *k = setting(node, "k"), *largest = setting(node, "largest");
  bool is_largest = !largest || largest->i != 0;
  if (!largest && hlo_node_attr(node, HLO_ATTR_called_computations)) {
    HLO_TRY(read_comparator(eval, node, &is_largest));
  }
  s.topk.kept = k && k->kind == HLO_ATTR_KIND_INT ? k->i : node->results[0].type->dims[s.topk.axis];
  return select_lines(eval, &s, is_largest, results);
}

// (values, companions, initial values...) -> the best elements of a dimension by the called
// comparator, their companions
hlo_status_t hlo_custom_approx_topk(hlo_eval_t* eval, const hlo_node_t* node,
                                    hlo_tensor_t** operands, hlo_tensor_t** results) {
  const hlo_attr_t* axis = setting(node, "reduction_dim");
  if (node->operand_count < 4 || node->result_count != 2 || !axis ||
      axis->kind != HLO_ATTR_KIND_INT || axis->i < 0 || axis->i >= (int64_t)operands[0]->rank ||
      operands[1]->element_count != operands[0]->element_count ||
      node->results[0].type->rank != operands[0]->rank) {
    return misfit(node);
  }
  selection_t s = {node,
                   {.operand = operands[0], .companion = operands[1], .axis = (uint32_t)axis->i}};
  bool is_largest = false;
  HLO_TRY(read_comparator(eval, node, &is_largest));
  s.topk.kept = node->results[0].type->dims[s.topk.axis];
  return select_lines(eval, &s, is_largest, results);
}
