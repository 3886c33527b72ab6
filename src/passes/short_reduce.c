// SPDX-License-Identifier: Apache-2.0
// Pass short_reduce: removes reductions over few elements, which need no loop. A reduction over
// dimensions of one element, frequent in gradients of sums with kept dimensions, becomes a single
// op. A reduction over a few innermost elements whose result is broadcast back to them, as in the
// normalisation of vectors of three coordinates, becomes ops of slices. All of it can then be
// fused, with lanes over many rows.
#include <string.h>

#include "base/tuning.h"
#include "ir/reducer.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

// Returns the op of a candidate reduction of one value; HLO_OP_COUNT for any other node.
static hlo_op_t read_op(const hlo_node_t* node) {
  if (node->op != HLO_OP_reduce || node->operand_count != 2 || node->result_count != 1) {
    return HLO_OP_COUNT;
  }
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  bool is_plain = hlo_type_is_plain(from) && hlo_type_is_plain(to) && from->dtype == to->dtype &&
                  hlo_node_operand_type(node, 1)->dtype == to->dtype &&
                  hlo_type_element_count(to) > 0;
  return is_plain ? hlo_reduce_op(node, 0) : HLO_OP_COUNT;
}

// Returns true if elementwise ops lead from the value to a broadcast of `element_count` elements;
// `uses` is the number of uses that may still be examined.
static bool is_spread(const hlo_value_t* value, int64_t element_count, uint32_t* uses) {
  for (const hlo_use_t* use = value->uses; use && *uses; use = use->next) {
    const hlo_node_t* user = use->user;
    const hlo_type_t* type = user->result_count ? user->results[0].type : NULL;
    --*uses;
    if (!type || !hlo_type_is_plain(type)) continue;
    int64_t count = hlo_type_element_count(type);
    bool is_broadcast = user->op == HLO_OP_broadcast_in_dim;
    if (is_broadcast && count == element_count) return true;
    bool is_passed = is_broadcast || user->op == HLO_OP_reshape ||
                     (hlo_op_info(user->op)->traits & HLO_TRAIT_ELEMENTWISE);
    if (is_passed && count == hlo_type_element_count(value->type) &&
        is_spread(&user->results[0], element_count, uses)) {
      return true;
    }
  }
  return false;
}

// Returns false for sums and products of narrow floats, which loops accumulate with more bits.
static bool is_exact(hlo_op_t op, hlo_dtype_t dtype) {
  bool is_rounded = op == HLO_OP_add || op == HLO_OP_multiply;
  return !hlo_dtype_is_complex(dtype) &&
         !(is_rounded && hlo_dtype_is_float(dtype) && hlo_dtype_size_bytes(dtype) < 4);
}

static bool is_short(const hlo_node_t* node, hlo_op_t op) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  uint32_t count, uses = HLO_TUNING_SHORT_REDUCE_MAX_USES;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &count);
  return dims && count == 1 && dims[0] == (int64_t)from->rank - 1 &&
         from->dims[dims[0]] <= HLO_TUNING_SHORT_REDUCE_MAX_ELEMENTS &&
         hlo_type_element_count(to) >= HLO_TUNING_SHORT_REDUCE_MIN_ROWS &&
         is_exact(op, to->dtype) &&
         is_spread(&node->results[0], hlo_type_element_count(from), &uses);
}

// Returns element `at` of each row, in the shape of the result.
static hlo_value_t* row_element(hlo_node_t* node, int64_t at) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  int64_t first[HLO_RANK_MAX] = {0};
  first[from->rank - 1] = at;
  const hlo_type_t* type = hlo_type_with_dim(node->parent->module, from, from->rank - 1, 1);
  hlo_value_t* slice = hlo_build_slice(node, type, hlo_node_operand(node, 0), first, NULL);
  return hlo_build_reshape(node, node->results[0].type, slice);
}

static hlo_value_t* replace_reduce(hlo_node_t* node) {
  const hlo_op_t op = read_op(node);
  if (op == HLO_OP_COUNT) return NULL;
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *type = node->results[0].type;
  bool is_single = hlo_type_element_count(from) == hlo_type_element_count(type);
  if (!is_single && !is_short(node, op)) return NULL;
  hlo_value_t* sum = hlo_build_broadcast(node, type, hlo_node_operand(node, 1), NULL);
  if (is_single) {
    hlo_value_t* element = hlo_build_reshape(node, type, hlo_node_operand(node, 0));
    return hlo_build_binary(node, op, sum, element);
  }
  for (int64_t i = 0; i < from->dims[from->rank - 1]; ++i) {
    sum = hlo_build_binary(node, op, sum, row_element(node, i));
  }
  return sum;
}

hlo_status_t hlo_pass_short_reduce(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, replace_reduce);
}
