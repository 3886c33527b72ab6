// SPDX-License-Identifier: Apache-2.0
// Pass lower_composite: turns a composite into the op that it represents, or else into a call of
// its decomposition; and custom calls named after functions into these.
#include <string.h>

#include "ir/clone.h"
#include "ir/custom_call.h"
#include "ir/scaled_dot.h"
#include "passes/complex_parts.h"
#include "passes/passes.h"

// A composite whose decomposition has the semantics of one of our ops, which the back ends know.
typedef struct known {
  const char* name;
  int64_t version;
  hlo_op_t op;
  uint32_t operand_count, result_count, attr_count;
  struct {
    const char* key;
    hlo_attr_id_t id;
  } attrs[2];  // every attribute that the composite may have
} known_t;

static const known_t known_composites[] = {
    {"chlo.top_k",
     1,
     HLO_OP_chlo_top_k,
     1,
     2,
     2,
     {{"is_stable", HLO_ATTR_is_stable}, {"k", HLO_ATTR_k}}},
};

static uint32_t known_attrs(const known_t* known, const hlo_attr_t* dict, hlo_named_attr_t* out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < known->attr_count; ++i) {
    const hlo_attr_t* attr = hlo_attr_dict_get(dict, known->attrs[i].key);
    if (attr) out[count++] = (hlo_named_attr_t){known->attrs[i].id, attr};
  }
  return count;
}

static const known_t* known_of(const hlo_node_t* node) {
  const char* name = hlo_node_attr_text(node, HLO_ATTR_name);
  const hlo_attr_t* dict = hlo_node_attr(node, HLO_ATTR_composite_attributes);
  const int64_t version = hlo_node_attr_int(node, HLO_ATTR_version, 0);
  for (size_t i = 0; i < sizeof known_composites / sizeof known_composites[0]; ++i) {
    const known_t* known = &known_composites[i];
    hlo_named_attr_t attrs[2];
    if (name && strcmp(name, known->name) == 0 && version == known->version && dict &&
        node->operand_count == known->operand_count && node->result_count == known->result_count &&
        known_attrs(known, dict, attrs) == dict->count &&
        hlo_attr_dict_get(dict, known->attrs[known->attr_count - 1].key)) {
      return known;
    }
  }
  return NULL;
}

// Returns true if the op supports the element type: all real floats, and complex functions that are
// more accurate than the decomposition.
static bool has_function(hlo_op_t op, hlo_dtype_t dtype) {
  if (hlo_dtype_is_complex(dtype)) return hlo_complex_has_function(op);
  return hlo_dtype_is_float(dtype) && op != HLO_OP_COUNT;
}

// Returns `op` if it can be applied to the node's operands.
static hlo_op_t applied_function(const hlo_node_t* node, hlo_op_t op) {
  if (!has_function(op, node->results[0].type->dtype)) return HLO_OP_COUNT;
  const hlo_op_info_t* info = hlo_op_info(op);
  if (!(info->traits & HLO_TRAIT_ELEMENTWISE) || info->infer != HLO_INFER_SAME ||
      info->operand_count != node->operand_count || info->attr_count > 0) {
    return HLO_OP_COUNT;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (hlo_node_operand_type(node, i) != node->results[0].type) return HLO_OP_COUNT;
  }
  return op;
}

// Returns the function that JAX names after the op: chlo.erf and the like.
static hlo_op_t function_of(const hlo_node_t* node) {
  const char* name = hlo_node_attr_text(node, HLO_ATTR_name);
  const hlo_attr_t* dict = hlo_node_attr(node, HLO_ATTR_composite_attributes);
  if (!name || strncmp(name, "chlo.", 5) != 0 || (dict && dict->count > 0) ||
      hlo_node_attr_int(node, HLO_ATTR_version, 0) != 1 || node->operand_count == 0 ||
      node->result_count != 1) {
    return HLO_OP_COUNT;
  }
  return applied_function(node, hlo_op_from_name(name, strlen(name)));
}

// The same for custom calls of before composites: @mhlo.erf and the like.
static hlo_op_t called_function_of(const hlo_node_t* node) {
  static const char prefix[] = "mhlo.";
  enum { PREFIX_BYTES = sizeof prefix - 1, NAME_BYTES = 32 };
  const char* target = hlo_custom_call_target(node);
  char name[NAME_BYTES] = "chlo.";
  const size_t length = strlen(target);
  if (strncmp(target, prefix, PREFIX_BYTES) != 0 || length >= sizeof name ||
      node->operand_count == 0 || node->result_count != 1) {
    return HLO_OP_COUNT;
  }
  memcpy(name + PREFIX_BYTES, target + PREFIX_BYTES, length - PREFIX_BYTES);
  return applied_function(node, hlo_op_from_name(name, length));
}

// Returns a list of dimensions as an attribute, or NULL for anything else.
static const hlo_attr_t* dims_of(hlo_module_t* module, const hlo_attr_t* list) {
  int64_t dims[HLO_RANK_MAX];
  if (!list || list->kind != HLO_ATTR_KIND_ARRAY || list->count > HLO_RANK_MAX) return NULL;
  for (uint32_t i = 0; i < list->count; ++i) {
    if (list->items[i]->kind != HLO_ATTR_KIND_INT) return NULL;
    dims[i] = list->items[i]->i;
  }
  return hlo_attr_ints(module, list->count, dims);
}

static const hlo_attr_t* item_of(const hlo_attr_t* list, uint32_t i) {
  return list && list->kind == HLO_ATTR_KIND_ARRAY && list->count == 2 ? list->items[i] : NULL;
}

// Reads [[left, right contracting], [left, right batching]], as JAX writes dimension numbers.
static bool read_dims(const hlo_node_t* node, hlo_named_attr_t* out_attrs) {
  static const hlo_attr_id_t ids[2][2] = {
      {HLO_ATTR_lhs_contracting_dimensions, HLO_ATTR_rhs_contracting_dimensions},
      {HLO_ATTR_lhs_batching_dimensions, HLO_ATTR_rhs_batching_dimensions}};
  const hlo_attr_t* dict = hlo_node_attr(node, HLO_ATTR_composite_attributes);
  const hlo_attr_t* numbers = hlo_attr_dict_get(dict, "dimension_numbers");
  bool is_read = true;
  for (uint32_t i = 0; i < 4; ++i) {
    const hlo_attr_t* list = item_of(item_of(numbers, i / 2), i % 2);
    out_attrs[i].id = ids[i / 2][i % 2];
    out_attrs[i].value = dims_of(node->parent->module, list);
    is_read = is_read && out_attrs[i].value;
  }
  return is_read;
}

// Returns true for a composite whose decomposition computes the same as scaled_dot: it multiplies
// by scales in bf16. The composites of JAX scale blocks of contracting dimensions only.
static bool is_scaled_dot(const hlo_node_t* node, hlo_named_attr_t* out_attrs) {
  const char* name = hlo_node_attr_text(node, HLO_ATTR_name);
  if (node->op != HLO_OP_composite || !name || strcmp(name, "xla.scaled_dot") != 0 ||
      node->operand_count != HLO_SCALED_DOT_OPERANDS || node->result_count != 1 ||
      !read_dims(node, out_attrs) || !hlo_dtype_is_float(node->results[0].type->dtype)) {
    return false;
  }
  for (uint32_t i = 0; i < HLO_SCALED_DOT_OPERANDS; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (!hlo_type_is_static(type) || !hlo_dtype_is_float(type->dtype)) return false;
  }
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    const hlo_type_t* scale = hlo_node_operand_type(node, 2 + i);
    if (!hlo_scaled_dot_has_scale(node, i) ||
        hlo_scaled_dot_operand_dtype(node, i) != HLO_DTYPE_BF16 ||
        !hlo_status_take_ok(hlo_scaled_dot_check_scale("", type, scale))) {
      return false;
    }
    for (uint32_t d = 0; d < type->rank; ++d) {
      const hlo_attr_t* contracting = out_attrs[i].value;
      if (type->dims[d] != scale->dims[d] &&
          !hlo_dims_contain(contracting->values, contracting->count, d, NULL)) {
        return false;
      }
    }
  }
  return true;
}

static hlo_status_t lower_node(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  const bool is_call = node->op == HLO_OP_custom_call;
  const hlo_op_t function = is_call                        ? called_function_of(node)
                            : node->op == HLO_OP_composite ? function_of(node)
                                                           : HLO_OP_COUNT;
  if (is_call ? function == HLO_OP_COUNT : node->op != HLO_OP_composite) return hlo_ok();
  if (node->region_count > 0) {
    return hlo_pass_error(node, HLO_STATUS_UNIMPLEMENTED,
                          "a composite with regions has no call form");
  }
  hlo_module_t* module = node->parent->module;
  hlo_value_t** operands =
      hlo_arena_array(&ctx->scratch, node->operand_count + 1, sizeof *operands);
  const hlo_type_t** types = hlo_arena_array(&ctx->scratch, node->result_count + 1, sizeof *types);
  if (!operands || !types) return hlo_arena_status(&ctx->scratch);
  for (uint32_t i = 0; i < node->operand_count; ++i) operands[i] = hlo_node_operand(node, i);
  for (uint32_t i = 0; i < node->result_count; ++i) types[i] = node->results[i].type;
  hlo_named_attr_t attrs[4];
  const known_t* known = is_call ? NULL : known_of(node);
  hlo_op_t op = function;
  uint32_t attr_count = 0;
  if (op == HLO_OP_COUNT && known) {
    op = known->op;
    attr_count = known_attrs(known, hlo_node_attr(node, HLO_ATTR_composite_attributes), attrs);
  } else if (op == HLO_OP_COUNT && is_scaled_dot(node, attrs)) {
    op = HLO_OP_hlo_scaled_dot;
    attr_count = 4;
  } else if (op == HLO_OP_COUNT) {
    op = HLO_OP_call;
    attrs[attr_count++] =
        (hlo_named_attr_t){HLO_ATTR_callee, hlo_node_attr(node, HLO_ATTR_decomposition)};
  }
  hlo_node_t* lowered =
      hlo_node_create(module, &(hlo_node_spec_t){.op = op,
                                                 .loc = node->loc,
                                                 .operand_count = node->operand_count,
                                                 .operands = operands,
                                                 .attr_count = attr_count,
                                                 .attrs = attrs,
                                                 .extra = is_call ? NULL : node->extra,
                                                 .result_count = node->result_count,
                                                 .result_types = types});
  if (hlo_node_is_poison(lowered)) return hlo_module_status(module);
  hlo_node_insert_before(node, lowered);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    hlo_value_replace_uses(&node->results[i], &lowered->results[i]);
  }
  hlo_node_erase(node);
  ++ctx->step_count;
  return hlo_ok();
}

hlo_status_t hlo_pass_lower_composite(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, false, lower_node, ctx);
}
