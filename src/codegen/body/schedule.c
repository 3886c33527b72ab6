// SPDX-License-Identifier: Apache-2.0
// Queries about steps and their order (see schedule.h).
#include "codegen/body/schedule.h"

#include "ir/clone.h"

// Returns true if a broadcast only adds dimensions of one element between existing ones.
static bool adds_ones(const hlo_node_t* node) {
  const hlo_type_t* from = hlo_node_operand_type(node, 0);
  if (hlo_type_element_count(from) != hlo_type_element_count(node->results[0].type)) return false;
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &count);
  int64_t last = -1;
  for (uint32_t i = 0; i < count; ++i) {
    if (from->dims[i] == 1) continue;
    if (dims[i] < last) return false;
    last = dims[i];
  }
  return true;
}

// Elements of whole bytes may get another width. Shorter ones keep their width; the sign of signed
// integers fills their byte.
static bool keeps_bytes(const hlo_node_t* node) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  const uint32_t bits = hlo_dtype_info(from->dtype)->bits;
  if (from->quant || to->quant) return false;
  if (bits >= 8) return hlo_dtype_info(to->dtype)->bits >= 8;
  return bits == hlo_dtype_info(to->dtype)->bits && from->dtype != HLO_DTYPE_PRED &&
         to->dtype != HLO_DTYPE_PRED && !hlo_dtype_is_signed(from->dtype) &&
         !hlo_dtype_is_signed(to->dtype);
}

bool hlo_value_is_program_result(const hlo_value_t* value) {
  for (const hlo_use_t* use = value->uses; use; use = use->next) {
    if (use->user->op == HLO_OP_func_return) return true;
  }
  return false;
}

bool hlo_node_is_view(const hlo_node_t* node) {
  if (node->op == HLO_OP_bitcast_convert) return keeps_bytes(node);
  if (node->op == HLO_OP_broadcast_in_dim) return adds_ones(node);
  return hlo_op_has(node->op, HLO_TRAIT_VIEW);
}

hlo_status_t hlo_step_list_read(const hlo_step_t* step, hlo_arena_t* arena,
                                hlo_value_list_t* out_read) {
  if (step->fusion) {
    *out_read = (hlo_value_list_t){step->fusion->input_count,
                                   (const hlo_value_t* const*)step->fusion->inputs};
    return hlo_ok();
  }
  const hlo_node_t* node = step->node;
  uint32_t captured = 0;
  const hlo_value_t** captures = NULL;
  if (node->region_count) HLO_TRY(hlo_node_captures(node, arena, &captured, &captures));
  const hlo_value_t** values =
      hlo_arena_array(arena, (size_t)node->operand_count + captured, sizeof(*values));
  HLO_TRY(hlo_arena_status(arena));
  for (uint32_t i = 0; i < node->operand_count; ++i) values[i] = hlo_node_operand(node, i);
  for (uint32_t i = 0; i < captured; ++i) values[node->operand_count + i] = captures[i];
  *out_read = (hlo_value_list_t){node->operand_count + captured, values};
  return hlo_ok();
}

hlo_status_t hlo_schedule_finish(hlo_schedule_t* schedule, const hlo_module_t* module,
                                 hlo_arena_t* arena) {
  schedule->sequence_of =
      hlo_arena_array(arena, (size_t)module->node_count + 1, sizeof *schedule->sequence_of);
  for (uint32_t i = 0; schedule->sequence_of && i < schedule->sequence_count; ++i) {
    const hlo_node_t* end = hlo_region_terminator(schedule->sequences[i].region);
    if (end) schedule->sequence_of[end->index] = i + 1;
  }
  return hlo_arena_status(arena);
}

const hlo_sequence_t* hlo_schedule_find(const hlo_schedule_t* schedule,
                                        const hlo_region_t* region) {
  const hlo_node_t* end = hlo_region_terminator(region);
  uint32_t number = end ? schedule->sequence_of[end->index] : 0;
  return number ? &schedule->sequences[number - 1] : NULL;
}
