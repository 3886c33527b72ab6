// SPDX-License-Identifier: Apache-2.0
// Pass single_reduce: a reduction over dimensions of one element each, as gradients of sums with
// kept dimensions are full of, becomes the one op that it does. What is reduced before may then be
// fused with what comes behind.
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

typedef struct single {
  const hlo_node_t* node;
  hlo_op_t op;
  bool is_turned;  // the element is the op's first operand
} single_t;

static bool read_body(single_t* s) {
  const hlo_node_t* node = hlo_region_binary_op(s->node->regions[0], &s->is_turned);
  if (!node) return false;
  s->op = node->op;
  switch (s->op) {
    case HLO_OP_add:
    case HLO_OP_multiply:
    case HLO_OP_maximum:
    case HLO_OP_minimum:
    case HLO_OP_and:
    case HLO_OP_or:
    case HLO_OP_xor: return true;
    default: return false;
  }
}

static bool read_single(hlo_node_t* node, single_t* s) {
  *s = (single_t){.node = node};
  if (node->op != HLO_OP_reduce || node->operand_count != 2 || node->result_count != 1) {
    return false;
  }
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  return hlo_type_is_plain(from) && hlo_type_is_plain(to) && hlo_type_is_static(from) &&
         from->dtype == to->dtype && hlo_node_operand_type(node, 1)->dtype == to->dtype &&
         hlo_type_element_count(to) > 0 &&
         hlo_type_element_count(from) == hlo_type_element_count(to) && read_body(s);
}

static hlo_value_t* replace(hlo_node_t* node) {
  single_t s;
  if (!read_single(node, &s)) return NULL;
  const hlo_type_t* type = node->results[0].type;
  hlo_value_t* element = hlo_build_reshape(node, type, hlo_node_operand(node, 0));
  hlo_value_t* first = hlo_build_broadcast(node, type, hlo_node_operand(node, 1), NULL);
  return s.is_turned ? hlo_build_binary(node, s.op, element, first)
                     : hlo_build_binary(node, s.op, first, element);
}

hlo_status_t hlo_pass_single_reduce(hlo_pass_ctx_t* ctx, hlo_module_t* module, bool* out_changed) {
  return hlo_replace_nodes(ctx, module, replace, out_changed);
}
