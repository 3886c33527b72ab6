// SPDX-License-Identifier: Apache-2.0
// Reads selections of the best elements (see top_k.h).
#include "ir/top_k.h"

#include "ir/custom_call.h"
#include "ir/node_error.h"
#include "ir/sort_comparator.h"

static const hlo_attr_t* setting(const hlo_node_t* node, const char* key) {
  const hlo_attr_t* value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  const hlo_attr_t* attributes = hlo_attr_dict_get(node->extra, "mhlo.attributes");
  if (!value && attributes && attributes->kind == HLO_ATTR_KIND_DICT) {
    value = hlo_attr_dict_get(attributes, key);
  }
  return value;
}

static hlo_status_t misfit(const hlo_node_t* node) {
  return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                        "the operands, results and attributes do not match");
}

// Sets *out_largest if the called comparator prefers larger elements.
static hlo_status_t read_comparator(const hlo_node_t* node, bool* out_largest) {
  const hlo_attr_t* called = hlo_node_attr(node, HLO_ATTR_called_computations);
  const hlo_attr_t* symbol =
      called && called->kind == HLO_ATTR_KIND_ARRAY && called->count ? called->items[0] : NULL;
  const hlo_func_t* func = symbol && symbol->kind == HLO_ATTR_KIND_SYMBOL
                               ? hlo_module_find_func(hlo_region_module(node->parent), symbol->text)
                               : NULL;
  if (!func || !func->body) return misfit(node);
  hlo_sort_key_t keys[HLO_SORT_KEYS_MAX];
  if (hlo_sort_keys_of(func->body, keys) != 1 || keys[0].operand != 0) {
    return hlo_node_error(node, HLO_STATUS_UNIMPLEMENTED,
                          "the comparator @%s does not compare two values", func->name);
  }
  *out_largest = keys[0].descending;
  return hlo_ok();
}

// (values) -> the largest (or smallest) elements of the last dimension, their positions
static hlo_status_t read_custom(const hlo_node_t* node, uint32_t rank, hlo_top_k_t* out) {
  const hlo_attr_t *k = setting(node, "k"), *largest = setting(node, "largest");
  *out = (hlo_top_k_t){.axis = rank - 1, .is_canonical = true};
  out->is_largest = !largest || largest->i != 0;
  out->kept = k && k->kind == HLO_ATTR_KIND_INT ? k->i : node->results[0].type->dims[rank - 1];
  return !largest && hlo_node_attr(node, HLO_ATTR_called_computations)
             ? read_comparator(node, &out->is_largest)
             : hlo_ok();
}

// (values, companions, initial values...) -> the best elements of a dimension by the called
// comparator, their companions
static hlo_status_t read_approximate(const hlo_node_t* node, uint32_t rank, hlo_top_k_t* out) {
  const hlo_attr_t* axis = setting(node, "reduction_dim");
  if (node->operand_count < 4 || !axis || axis->kind != HLO_ATTR_KIND_INT || axis->i < 0 ||
      axis->i >= (int64_t)rank) {
    return misfit(node);
  }
  *out = (hlo_top_k_t){.axis = (uint32_t)axis->i, .is_canonical = true, .has_companion = true};
  out->kept = node->results[0].type->dims[axis->i];
  return read_comparator(node, &out->is_largest);
}

hlo_status_t hlo_top_k_of(const hlo_node_t* node, hlo_top_k_t* out_top_k) {
  const hlo_type_t* type = node->operand_count ? hlo_node_operand_type(node, 0) : NULL;
  if (!type || !hlo_type_is_tensor(type) || type->rank == 0 || node->result_count != 2 ||
      node->results[0].type->rank != type->rank || hlo_dtype_is_complex(type->dtype) ||
      node->results[0].type->dtype != type->dtype) {
    return misfit(node);
  }
  if (node->op == HLO_OP_custom_call) {
    return hlo_custom_function_of(node) == HLO_CUSTOM_top_k
               ? read_custom(node, type->rank, out_top_k)
               : read_approximate(node, type->rank, out_top_k);
  }
  *out_top_k = (hlo_top_k_t){
      .axis = type->rank - 1, .kept = hlo_node_attr_int(node, HLO_ATTR_k, 0), .is_largest = true};
  return hlo_ok();
}
