// SPDX-License-Identifier: Apache-2.0
// Pass canonicalize: applies the rewrite rules of rules.def, replaces elements of tuples with their
// values, sorts the contracted dimensions of products, moves transposes into products and after
// reductions, removes updates that change nothing. Patterns match from an op back to its operands,
// so one walk in program order finds every match.
#include <string.h>

#include "ir/clone.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"
#include "passes/rules.h"

typedef struct canonicalizer {
  hlo_pass_ctx_t* ctx;
  const hlo_rule_set_t* rules;
} canonicalizer_t;

// Replaces get_tuple_element of a `tuple` op with that op's operand.
static bool open_tuple(hlo_node_t* node) {
  if (node->op != HLO_OP_get_tuple_element || hlo_value_is_unused(&node->results[0])) return false;
  const hlo_node_t* tuple = hlo_node_operand(node, 0)->def;
  int64_t index = hlo_node_attr_int(node, HLO_ATTR_index, -1);
  if (!tuple || tuple->op != HLO_OP_tuple || index < 0 || index >= tuple->operand_count ||
      hlo_node_operand_type(tuple, (uint32_t)index) != node->results[0].type) {
    return false;
  }
  hlo_value_replace_uses(&node->results[0], hlo_node_operand(tuple, (uint32_t)index));
  return true;
}

static bool is_ascending(const int64_t* dims, uint32_t count) {
  for (uint32_t i = 1; i < count; ++i) {
    if (dims[i - 1] >= dims[i]) return false;
  }
  return true;
}

// Sorts the contracted dimensions into their common memory order if both operands have one:
// dot_general does not define the order in which the products are added.
static bool order_contraction(hlo_node_t* node) {
  const hlo_attr_id_t ids[] = {HLO_ATTR_lhs_contracting_dimensions,
                               HLO_ATTR_rhs_contracting_dimensions};
  int64_t sorted[2][HLO_RANK_MAX];
  uint32_t count;
  if (node->op != HLO_OP_dot_general) return false;
  for (uint32_t side = 0; side < 2; ++side) {
    const int64_t* dims = hlo_node_attr_ints(node, ids[side], &count);
    if (!dims || count < 2) return false;
    memcpy(sorted[side], dims, count * sizeof *dims);
  }
  if (is_ascending(sorted[0], count)) return false;
  for (uint32_t i = 1; i < count; ++i) {
    for (uint32_t k = i; k > 0 && sorted[0][k - 1] > sorted[0][k]; --k) {
      for (uint32_t side = 0; side < 2; ++side) {
        int64_t dim = sorted[side][k];
        sorted[side][k] = sorted[side][k - 1];
        sorted[side][k - 1] = dim;
      }
    }
  }
  if (!is_ascending(sorted[1], count)) return false;
  for (uint32_t side = 0; side < 2; ++side) {
    hlo_node_set_attr(node, ids[side], hlo_attr_ints(node->parent->module, count, sorted[side]));
  }
  return true;
}

// Swaps two attributes of a node.
static void swap_attrs(hlo_node_t* node, hlo_attr_id_t a, hlo_attr_id_t b) {
  const hlo_attr_t *old_a = hlo_node_attr(node, a), *old_b = hlo_node_attr(node, b);
  hlo_node_set_attr(node, a, old_b);
  hlo_node_set_attr(node, b, old_a);
}

// Returns true if the operands of a product may be swapped: nothing else uses the product, no
// algorithm names the operands' types, and swapping makes no read strided that was contiguous. Both
// operands are contiguous along the contraction, or they have the same memory order and no
// transpose remains whose cost strided reads could exceed.
static bool may_swap_operands(const hlo_node_t* product, bool leaves_transpose) {
  const hlo_attr_id_t ids[] = {HLO_ATTR_lhs_contracting_dimensions,
                               HLO_ATTR_rhs_contracting_dimensions};
  if (product->results[0].uses->next || hlo_node_attr(product, HLO_ATTR_lhs_precision_type))
    return false;
  if (!leaves_transpose && hlo_node_attr(product, ids[0]) == hlo_node_attr(product, ids[1]) &&
      hlo_node_attr(product, HLO_ATTR_lhs_batching_dimensions) ==
          hlo_node_attr(product, HLO_ATTR_rhs_batching_dimensions)) {
    return true;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    uint32_t count;
    const int64_t* dims = hlo_node_attr_ints(product, ids[side], &count);
    const uint32_t rank = hlo_node_operand_type(product, side)->rank;
    if (!dims || count == 0 || dims[count - 1] + 1 != rank) return false;
  }
  return true;
}

static void swap_operands(hlo_node_t* product) {
  hlo_module_t* module = product->parent->module;
  hlo_value_t *lhs = hlo_node_operand(product, 0), *rhs = hlo_node_operand(product, 1);
  const hlo_attr_t* precision = hlo_node_attr(product, HLO_ATTR_precision_config);
  hlo_node_set_operand(product, 0, rhs);
  hlo_node_set_operand(product, 1, lhs);
  swap_attrs(product, HLO_ATTR_lhs_batching_dimensions, HLO_ATTR_rhs_batching_dimensions);
  swap_attrs(product, HLO_ATTR_lhs_contracting_dimensions, HLO_ATTR_rhs_contracting_dimensions);
  if (precision && precision->count == 2) {
    const hlo_attr_t* swapped[] = {precision->items[1], precision->items[0]};
    hlo_node_set_attr(product, HLO_ATTR_precision_config, hlo_attr_array(module, 2, swapped));
  }
}

// Swaps the operands of a product whose transpose makes its last row dimension the innermost one:
// the product then stores elements where they are wanted, and leaves at most a transpose of outer
// dimensions, or one that the rules remove.
static bool make_rows_innermost(hlo_node_t* transpose) {
  hlo_node_t* product =
      transpose->op == HLO_OP_transpose ? hlo_node_operand(transpose, 0)->def : NULL;
  if (!product || product->op != HLO_OP_dot_general || product->results[0].type->quant ||
      product->extra || transpose->extra) {
    return false;
  }
  const hlo_type_t* type = product->results[0].type;
  uint32_t rank, batch, depth;
  const int64_t* permutation = hlo_node_attr_ints(transpose, HLO_ATTR_permutation, &rank);
  hlo_node_attr_ints(product, HLO_ATTR_lhs_batching_dimensions, &batch);
  hlo_node_attr_ints(product, HLO_ATTR_lhs_contracting_dimensions, &depth);
  const uint32_t rows = hlo_node_operand_type(product, 0)->rank - batch - depth;
  const uint32_t columns = rank - batch - rows;
  if (rows == 0 || columns == 0 || permutation[rank - 1] + 1 != batch + rows) return false;
  int64_t dims[HLO_RANK_MAX], moved[HLO_RANK_MAX];
  bool leaves_transpose = false;
  for (uint32_t i = 0; i < rank; ++i) {
    const int64_t from = i < batch ? i : i < batch + columns ? i + rows : i - columns;
    const int64_t dim = permutation[i];
    dims[i] = type->dims[from];
    moved[i] = dim < batch ? dim : dim < batch + rows ? dim + columns : dim - rows;
    leaves_transpose |= moved[i] != i;
  }
  if (!may_swap_operands(product, leaves_transpose)) return false;
  hlo_module_t* module = transpose->parent->module;
  swap_operands(product);
  product->results[0].type = hlo_type_with_dims(module, type, rank, dims);
  hlo_node_set_attr(transpose, HLO_ATTR_permutation, hlo_attr_ints(module, rank, moved));
  return true;
}

// Returns the permutation of the transposes that a reduction reads; NULL if some operand is neither
// one of them nor an iota, or something other than reductions needs a transposed operand.
static const int64_t* reduced_permutation(const hlo_node_t* reduce) {
  const int64_t* permutation = NULL;
  for (uint32_t i = 0; i < reduce->result_count; ++i) {
    const hlo_value_t* value = hlo_node_operand(reduce, i);
    if (!value->def || value->def->extra || !hlo_type_is_plain(value->type)) return NULL;
    if (value->def->op == HLO_OP_iota) continue;
    if (value->def->op != HLO_OP_transpose) return NULL;
    for (const hlo_use_t* use = value->uses; use; use = use->next) {
      if (use->user->op != HLO_OP_reduce) return NULL;
    }
    uint32_t rank;
    const int64_t* other = hlo_node_attr_ints(value->def, HLO_ATTR_permutation, &rank);
    if (permutation && memcmp(permutation, other, rank * sizeof *other) != 0) return NULL;
    permutation = other;
  }
  return permutation;
}

// Returns an operand of a reduction in the order before the transposes.
static hlo_value_t* untransposed(hlo_node_t* reduce, uint32_t operand, const int64_t* permutation) {
  const hlo_value_t* value = hlo_node_operand(reduce, operand);
  if (value->def->op == HLO_OP_transpose) return hlo_node_operand(value->def, 0);
  hlo_module_t* module = reduce->parent->module;
  const int64_t along = hlo_node_attr_int(value->def, HLO_ATTR_iota_dimension, 0);
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < value->type->rank; ++d) dims[permutation[d]] = value->type->dims[d];
  const hlo_named_attr_t attr = {HLO_ATTR_iota_dimension,
                                 hlo_attr_int(module, HLO_DTYPE_S64, permutation[along])};
  return hlo_build_node(reduce, HLO_OP_iota,
                        hlo_type_with_dims(module, value->type, value->type->rank, dims), 0, NULL,
                        1, &attr);
}

// Transposes result `number` of a reduction, whose dimensions are now in another order. `order` has
// the dimension of the new result for each of the old one.
static bool transpose_result(hlo_node_t* reduce, uint32_t number, const int64_t* order) {
  hlo_module_t* module = reduce->parent->module;
  hlo_value_t* result = &reduce->results[number];
  const hlo_type_t* type = result->type;
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) dims[order[d]] = type->dims[d];
  if (is_ascending(order, type->rank)) return true;
  const hlo_named_attr_t attr = {HLO_ATTR_permutation, hlo_attr_ints(module, type->rank, order)};
  hlo_value_t* transposed =
      hlo_build_node(reduce->next, HLO_OP_transpose, type, 1, &result, 1, &attr);
  if (!transposed) return false;
  result->type = hlo_type_with_dims(module, type, type->rank, dims);
  hlo_value_replace_uses(result, transposed);
  hlo_node_set_operand(transposed->def, 0, result);
  return true;
}

// Reduces before a transpose, over the permuted dimensions: the result has fewer elements to be
// transposed, and the reduction reads memory in order. Elements must keep their order.
static bool reduce_before_transpose(hlo_node_t* reduce) {
  if (reduce->op != HLO_OP_reduce || reduce->extra) return false;
  const int64_t* permutation = reduced_permutation(reduce);
  const uint32_t rank = hlo_node_operand_type(reduce, 0)->rank;
  int64_t reduced[HLO_RANK_MAX], order[HLO_RANK_MAX];
  uint32_t count, kept = 0;
  const int64_t* dims = hlo_node_attr_ints(reduce, HLO_ATTR_dimensions, &count);
  if (!permutation || !dims) return false;
  for (uint32_t i = 0; i < count; ++i) reduced[i] = permutation[dims[i]];
  if (!is_ascending(dims, count) || !is_ascending(reduced, count)) return false;
  for (uint32_t d = 0; d < rank; ++d) {
    if (hlo_dims_contain(dims, count, d, NULL)) continue;
    order[kept] = permutation[d];
    for (uint32_t i = 0; i < count; ++i) order[kept] -= reduced[i] < permutation[d];
    ++kept;
  }
  for (uint32_t i = 0; i < reduce->result_count; ++i) {
    hlo_value_t* operand = untransposed(reduce, i, permutation);
    if (!operand || !transpose_result(reduce, i, order)) return false;
    hlo_node_set_operand(reduce, i, operand);
  }
  hlo_node_set_attr(reduce, HLO_ATTR_dimensions,
                    hlo_attr_ints(reduce->parent->module, count, reduced));
  return true;
}

// Returns the value that has the same elements in the same order before reshapes, and broadcasts
// that only add dimensions of one element.
static const hlo_value_t* before_reshapes(const hlo_value_t* value) {
  for (const hlo_node_t* node = value->def;
       node && (node->op == HLO_OP_reshape || node->op == HLO_OP_broadcast_in_dim);
       node = value->def) {
    const hlo_value_t* operand = hlo_node_operand(node, 0);
    if (!hlo_type_is_plain(operand->type) || !hlo_type_is_plain(value->type) ||
        hlo_type_element_count(operand->type) != hlo_type_element_count(value->type)) {
      break;
    }
    const hlo_ints_t dims = hlo_node_ints(node, HLO_ATTR_broadcast_dimensions);
    bool is_ordered = true;
    for (uint32_t i = 1; i < dims.count; ++i) is_ordered &= dims.values[i - 1] < dims.values[i];
    if (!is_ordered) break;
    value = operand;
  }
  return value;
}

// Removes an update that writes back the slice which it replaces: both clamp the same indices.
static bool drop_unchanged_update(hlo_node_t* update) {
  if (update->op != HLO_OP_dynamic_update_slice || update->extra ||
      hlo_value_is_unused(&update->results[0])) {
    return false;
  }
  hlo_value_t* whole = hlo_node_operand(update, 0);
  const hlo_node_t* slice = before_reshapes(hlo_node_operand(update, 1))->def;
  if (!slice || slice->op != HLO_OP_dynamic_slice || hlo_node_operand(slice, 0) != whole ||
      update->results[0].type != whole->type ||
      slice->results[0].type != hlo_node_operand_type(update, 1) ||
      slice->operand_count + 1 != update->operand_count) {
    return false;
  }
  for (uint32_t i = 1; i < slice->operand_count; ++i) {
    if (hlo_node_operand(slice, i) != hlo_node_operand(update, i + 1)) return false;
  }
  hlo_value_replace_uses(&update->results[0], whole);
  return true;
}

static hlo_status_t canonicalize_node(void* context, hlo_node_t* node) {
  canonicalizer_t* c = context;
  c->ctx->step_count += open_tuple(node) + order_contraction(node) + make_rows_innermost(node) +
                        reduce_before_transpose(node) + drop_unchanged_update(node);
  // Every rewrite reduces the weight of the node, so the loop ends.
  for (hlo_node_t* next; node && hlo_rules_apply(c->rules, node, &next); node = next) {
    ++c->ctx->step_count;
  }
  return hlo_ok();
}

static hlo_status_t read_class(const char* argument, hlo_rule_class_t* out_class) {
  static const char* const names[] = {"bits", "value", "fast"};
  *out_class = HLO_RULE_BITS;
  if (!argument) return hlo_ok();
  for (int i = HLO_RULE_BITS; i <= HLO_RULE_FAST; ++i) {
    if (strcmp(argument, names[i]) == 0) {
      *out_class = (hlo_rule_class_t)i;
      return hlo_ok();
    }
  }
  return hlo_invalid_argument("the exactness class is bits, value or fast, not '%s'", argument);
}

hlo_status_t hlo_pass_canonicalize(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  canonicalizer_t c = {.ctx = ctx};
  hlo_rule_class_t exactness;
  HLO_TRY(read_class(ctx->argument, &exactness));
  HLO_TRY(hlo_rules_acquire(exactness, &c.rules));
  hlo_status_t status = hlo_module_walk(module, true, canonicalize_node, &c);
  hlo_rules_release();
  return status;
}
