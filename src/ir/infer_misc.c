// SPDX-License-Identifier: Apache-2.0
// Result types of tokens, tuples, identities and collectives.
#include <string.h>

#include "ir/infer_impl.h"

static hlo_status_t give_token(hlo_infer_t* infer) {
  return hlo_infer_give(infer, hlo_type_token(infer->module));
}

static hlo_status_t check_token(const hlo_infer_t* infer, uint32_t i) {
  if (hlo_node_operand_type(infer->node, i)->kind == HLO_TYPE_TOKEN) return hlo_ok();
  return hlo_infer_error("operand %u is not a token", i);
}

hlo_status_t hlo_infer_after_all(hlo_infer_t* infer) {
  for (uint32_t i = 0; i < infer->node->operand_count; ++i) HLO_TRY(check_token(infer, i));
  return give_token(infer);
}

HLO_INFER_AS(create_token, give_token)

hlo_status_t hlo_infer_outfeed(hlo_infer_t* infer) {
  HLO_TRY(check_token(infer, infer->node->operand_count - 1));
  return give_token(infer);
}

HLO_INFER_AS(send, hlo_infer_outfeed)

static hlo_status_t give_operands(hlo_infer_t* infer, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_infer_give(infer, hlo_node_operand_type(infer->node, i)));
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_optimization_barrier(hlo_infer_t* infer) {
  return give_operands(infer, infer->node->operand_count);
}

hlo_status_t hlo_infer_tuple(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t** types =
      hlo_arena_array(&infer->module->arena, node->operand_count + 1, sizeof *types);
  if (!types) return hlo_module_status(infer->module);
  for (uint32_t i = 0; i < node->operand_count; ++i) types[i] = hlo_node_operand_type(node, i);
  return hlo_infer_give(infer, hlo_type_tuple(infer->module, node->operand_count, types));
}

hlo_status_t hlo_infer_get_tuple_element(hlo_infer_t* infer) {
  const hlo_type_t* type = hlo_node_operand_type(infer->node, 0);
  int64_t index = hlo_node_attr_int(infer->node, HLO_ATTR_index, -1);
  if (type->kind != HLO_TYPE_TUPLE || index < 0 || index >= type->element_count) {
    return hlo_infer_error("the operand is not a tuple with an element %lld", (long long)index);
  }
  return hlo_infer_give(infer, type->elements[index]);
}

static hlo_status_t give_u32(hlo_infer_t* infer) {
  return hlo_infer_give(infer, hlo_type_tensor(infer->module, HLO_DTYPE_U32, 0, NULL));
}
HLO_INFER_AS(partition_id, give_u32)
HLO_INFER_AS(replica_id, give_u32)

hlo_status_t hlo_infer_collective_broadcast(hlo_infer_t* infer) {
  bool root = hlo_node_attr_bool(infer->node, HLO_ATTR_has_dynamic_root, false);
  uint32_t count = infer->node->operand_count;
  if (root && count < 2) return hlo_infer_error("has no operand besides the root");
  return give_operands(infer, root ? count - 1 : count);
}

hlo_status_t hlo_infer_collective_permute(hlo_infer_t* infer) {
  uint32_t count;
  const int64_t* pairs = hlo_node_attr_ints(infer->node, HLO_ATTR_source_target_pairs, &count);
  for (uint32_t i = 0; i < count; ++i) {
    if (pairs[i] < 0) return hlo_infer_error("source_target_pairs has a negative process id");
    for (uint32_t k = i % 2; k < i; k += 2) {
      if (pairs[k] == pairs[i]) {
        return hlo_infer_error("process %lld is %s twice", (long long)pairs[i],
                               i % 2 ? "a target" : "a source");
      }
    }
  }
  if (infer->node->operand_count == 0) return hlo_infer_error("has no operand");
  return give_operands(infer, infer->node->operand_count);
}

hlo_status_t hlo_infer_all_to_all(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  int64_t count = hlo_node_attr_int(node, HLO_ATTR_split_count, 0);
  if (count < 1) return hlo_infer_error("split_count is %lld", (long long)count);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* type = NULL;
    int64_t split, concat, dims[HLO_RANK_MAX];
    HLO_TRY(hlo_infer_tensor(infer, i, &type));
    HLO_TRY(hlo_infer_dim(node, HLO_ATTR_split_dimension, type->rank, &split));
    HLO_TRY(hlo_infer_dim(node, HLO_ATTR_concat_dimension, type->rank, &concat));
    memcpy(dims, type->dims, type->rank * sizeof *dims);
    if (hlo_dim_is_known(dims[split])) {
      if (dims[split] % count) {
        return hlo_infer_error("dimension %lld of %lld does not divide into %lld parts",
                               (long long)split, (long long)dims[split], (long long)count);
      }
      dims[split] /= count;
    }
    if (hlo_dim_is_known(dims[concat]) &&
        __builtin_mul_overflow(dims[concat], count, &dims[concat])) {
      return hlo_infer_error("the result overflows");
    }
    HLO_TRY(hlo_infer_give(infer, hlo_type_with_dims(infer->module, type, type->rank, dims)));
  }
  return hlo_ok();
}
