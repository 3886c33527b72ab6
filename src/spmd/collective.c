// SPDX-License-Identifier: Apache-2.0
// Queries about collectives (see collective.h).
#include "spmd/collective.h"

#include <strings.h>

static uint32_t count_of(const hlo_module_t* module, const char* key) {
  const hlo_attr_t* attr = hlo_attr_dict_get(module->extra, key);
  const bool is_count = attr && attr->kind == HLO_ATTR_KIND_INT && attr->i > 0;
  return is_count && attr->i <= UINT32_MAX ? (uint32_t)attr->i : 1;
}

hlo_process_counts_t hlo_module_process_counts(const hlo_module_t* module) {
  return (hlo_process_counts_t){count_of(module, "mhlo.num_replicas"),
                                count_of(module, "mhlo.num_partitions")};
}

static bool has_channel(const hlo_node_t* node) {
  return hlo_node_attr_int(node, HLO_ATTR_channel_id, 0) > 0;
}

bool hlo_collective_exchanges_alike(const hlo_node_t* a, const hlo_node_t* b) {
  if (a->op != b->op || a->extra != b->extra || has_channel(a) != has_channel(b)) return false;
  const hlo_op_info_t* info = hlo_op_info(a->op);
  for (uint32_t i = 0; i < info->attr_count; ++i) {
    if (info->attrs[i].id != HLO_ATTR_channel_id && a->attrs[i] != b->attrs[i]) return false;
  }
  return true;
}

bool hlo_call_communicates(const hlo_node_t* call) {
  if (call->op != HLO_OP_custom_call && call->op != HLO_OP_call) return false;
  const hlo_attr_t* dict = hlo_attr_dict_get(call->extra, "mhlo.frontend_attributes");
  const hlo_attr_t* stream = hlo_attr_dict_get(dict, "_xla_stream_annotation");
  return stream && stream->kind == HLO_ATTR_KIND_STRING &&
         strcasecmp(stream->text, "collective") == 0;
}

hlo_op_t hlo_collective_reducer(const hlo_node_t* node) {
  const hlo_op_t op = node->region_count == 1 ? hlo_region_reducer(node->regions[0]) : HLO_OP_COUNT;
  return op != HLO_OP_COUNT && hlo_op_has(op, HLO_TRAIT_COMMUTATIVE) ? op : HLO_OP_COUNT;
}

bool hlo_collective_has_plain_body(const hlo_node_t* node) {
  const hlo_region_t* body = node->region_count == 1 ? node->regions[0] : NULL;
  return body && body->first && body->first->next == body->last;
}

bool hlo_collective_set_dtype(hlo_node_t* node, const hlo_type_t* type) {
  hlo_region_t* body = node->regions[0];
  if (body->args[0]->type->dtype == type->dtype) return true;
  const hlo_type_t* scalar = hlo_type_with_dims(body->module, type, 0, NULL);
  if (!scalar) return false;
  body->args[0]->type = body->args[1]->type = body->first->results[0].type = scalar;
  return true;
}

bool hlo_convert_widens(const hlo_node_t* convert) {
  const hlo_dtype_t from = hlo_node_operand_type(convert, 0)->dtype;
  const hlo_dtype_t to = convert->results[0].type->dtype;
  const hlo_dtype_info_t *narrow = hlo_dtype_info(from), *wide = hlo_dtype_info(to);
  return hlo_dtype_is_float(from) && hlo_dtype_is_float(to) &&
         wide->exponent_bits >= narrow->exponent_bits &&
         wide->mantissa_bits >= narrow->mantissa_bits;
}

hlo_node_t* hlo_collective_create_like(hlo_op_t op, hlo_node_t* like, uint32_t operand_count,
                                       hlo_value_t* const* operands, uint32_t result_count,
                                       const hlo_type_t* const* result_types) {
  hlo_module_t* module = like->parent->module;
  const hlo_op_info_t* info = hlo_op_info(op);
  const uint32_t region_count = (uint32_t)info->region_count;
  const hlo_node_spec_t spec = {.op = op,
                                .loc = like->loc,
                                .operand_count = operand_count,
                                .operands = operands,
                                .extra = like->extra,
                                .region_count = region_count,
                                .result_count = result_count,
                                .result_types = result_types};
  hlo_node_t* node = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(node)) return node;
  for (uint32_t i = 0; i < info->attr_count; ++i) {
    const hlo_attr_t* attr = hlo_node_attr(like, info->attrs[i].id);
    if (attr) hlo_node_set_attr(node, info->attrs[i].id, attr);
  }
  for (uint32_t i = 0; i < region_count && i < like->region_count; ++i) {
    hlo_region_t* body = like->regions[i];
    like->regions[i] = node->regions[i];
    like->regions[i]->parent = like;
    node->regions[i] = body;
    body->parent = node;
  }
  return node;
}

bool hlo_collective_replace(hlo_node_t* node, hlo_op_t op, hlo_node_t* like, hlo_value_t* operand,
                            hlo_attr_id_t dim_attr, int64_t dim) {
  hlo_module_t* module = node->parent->module;
  const hlo_attr_t* attr =
      dim_attr == HLO_ATTR_COUNT ? NULL : hlo_attr_int(module, HLO_DTYPE_S64, dim);
  if (dim_attr != HLO_ATTR_COUNT && !attr) return false;
  hlo_node_t* new = hlo_collective_create_like(op, like, 1, &operand, 1, &node->results[0].type);
  if (hlo_node_is_poison(new)) return false;
  if (attr) hlo_node_set_attr(new, dim_attr, attr);
  hlo_node_insert_before(node, new);
  hlo_value_replace_uses(&node->results[0], &new->results[0]);
  hlo_node_erase(node);
  return true;
}

bool hlo_collective_is_unused(const hlo_node_t* node) {
  switch (node->op) {
    case HLO_OP_all_reduce:
    case HLO_OP_all_gather:
    case HLO_OP_all_to_all:
    case HLO_OP_collective_broadcast:
    case HLO_OP_collective_permute:
    case HLO_OP_reduce_scatter: break;
    default: return false;
  }
  return hlo_node_is_unused(node);
}

uint32_t hlo_collective_erase_unused(hlo_node_t* node) {
  uint32_t count = 0;
  while (node && hlo_collective_is_unused(node)) {
    hlo_value_t* operand = node->operand_count == 1 ? hlo_node_operand(node, 0) : NULL;
    hlo_node_erase(node);
    ++count;
    node = operand ? operand->def : NULL;
  }
  return count;
}
