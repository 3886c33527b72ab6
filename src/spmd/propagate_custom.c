// SPDX-License-Identifier: Apache-2.0
// Propagation through custom calls that the application partitions and that have no sharding rule:
// the application derives the shardings of the results from those of the operands.
#include <string.h>

#include "ir/custom_call.h"
#include "ir/custom_partitioner.h"
#include "spmd/partition_impl.h"
#include "spmd/propagate_impl.h"

bool hlo_prop_is_custom(const hlo_prop_t* prop, const hlo_node_t* node) {
  const hlo_custom_partitioner_t* custom = prop->spmd->custom_partitioner;
  return custom && custom->infer && node->op == HLO_OP_custom_call &&
         custom->knows(custom->context, hlo_custom_call_target(node));
}

// Collects the specs of the operands. *out_is_new is false if no operand is divided, or if the
// application has been asked about the same specs.
static hlo_status_t find_specs(hlo_prop_t* prop, hlo_prop_step_t* step, bool* out_is_new) {
  bool is_divided = false, is_new = false;
  if (!step->asked) {
    step->asked =
        hlo_arena_alloc_zeroed(&prop->arena, (step->operand_count + 1) * sizeof *step->asked);
    if (!step->asked) return hlo_arena_status(&prop->arena);
  }
  for (uint32_t t = 0; t < step->operand_count; ++t) {
    const hlo_prop_slot_t* slot = step->tensors[t].slot;
    if (!slot) continue;
    const hlo_spec_t* spec = hlo_spec_even(prop->spmd, &slot->spec, slot->type);
    if (spec) spec = hlo_spec_intern(prop->spmd, spec);
    if (!spec) return hlo_arena_status(&prop->spmd->arena);
    is_divided = is_divided || hlo_spec_axis_count(spec);
    is_new = is_new || step->asked[t] != spec;
    step->asked[t] = spec;
  }
  *out_is_new = is_divided && is_new;
  return hlo_ok();
}

// Adds to a slot the axes of a spec that extend those of its dimensions. Returns true if there are
// any.
static bool extend_slot(hlo_prop_slot_t* slot, const hlo_spec_t* wanted) {
  hlo_spec_t spec = {.rank = slot->spec.rank, .unreduced = slot->spec.unreduced};
  hlo_axis_set_t used = hlo_spec_axes(&slot->spec) | slot->spec.unreduced | slot->replicated;
  uint32_t total = 0;
  bool is_extended = false;
  for (uint32_t d = 0; d < spec.rank; ++d) {
    const uint8_t *axes, *more;
    const uint32_t count = hlo_spec_dim(&slot->spec, d, &axes),
                   more_count = hlo_spec_dim(wanted, d, &more);
    for (uint32_t k = 0; k < count; ++k) spec.axes[total++] = axes[k];
    const bool extends =
        !(slot->closed >> d & 1) && more_count > count && !memcmp(axes, more, count);
    for (uint32_t k = count; extends && k < more_count; ++k) {
      if (used & hlo_axis_bit(more[k])) break;
      used |= hlo_axis_bit(more[k]);
      spec.axes[total++] = more[k];
      is_extended = true;
    }
    spec.ends[d] = (uint8_t)total;
  }
  if (is_extended) slot->spec = spec;
  return is_extended;
}

static hlo_status_t infer(hlo_prop_t* prop, const hlo_prop_step_t* step, bool* changed) {
  const hlo_custom_partitioner_t* custom = prop->spmd->custom_partitioner;
  hlo_op_sharding_t* operands =
      hlo_arena_alloc_zeroed(&prop->arena, (step->operand_count + 1) * sizeof *operands);
  const hlo_op_sharding_t* results = NULL;
  if (!operands) return hlo_arena_status(&prop->arena);
  for (uint32_t t = 0; t < step->operand_count; ++t) {
    if (step->asked[t]) {
      HLO_TRY(hlo_spec_to_op_sharding(prop->spmd, step->asked[t], &operands[t]));
    }
  }
  HLO_TRY(custom->infer(custom->context, step->node, operands, &prop->arena, &results));
  for (uint32_t t = step->operand_count; results && t < step->tensor_count; ++t) {
    hlo_prop_slot_t* slot = step->tensors[t].slot;
    const hlo_spec_t* wanted;
    if (!slot) continue;
    HLO_TRY_MSG(hlo_spec_from_op_sharding(prop->spmd, &results[t - step->operand_count],
                                          slot->type->rank, &wanted),
                "result %u", t - step->operand_count);
    changed[t] = extend_slot(slot, wanted);
  }
  return hlo_ok();
}

hlo_status_t hlo_prop_custom_run(hlo_prop_t* prop, hlo_prop_step_t* step, bool* changed) {
  bool is_new = false;
  HLO_TRY(find_specs(prop, step, &is_new));
  return is_new ? hlo_node_annotate(step->node, infer(prop, step, changed)) : hlo_ok();
}
