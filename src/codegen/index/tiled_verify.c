// SPDX-License-Identifier: Apache-2.0
// Checks the rules of a finished walk (see tiled.h).
#include "codegen/index/tiled.h"

static hlo_status_t check_tiling_rule(bool holds, const char* rule) {
  if (holds) return hlo_ok();
  return hlo_internal_error("tiling: broken rule: %s", rule);
}

static hlo_status_t check_instance_rule(bool holds, const hlo_tiled_t* tiled, const char* rule) {
  if (holds) return hlo_ok();
  return hlo_internal_error("tiling: at instance %u of kind %d: broken rule: %s", tiled->number,
                            (int)tiled->kind, rule);
}

static hlo_status_t verify_space(const hlo_tiling_t* t, uint32_t number) {
  const hlo_tiled_space_t* space = &t->spaces[number];
  int64_t count = 1;
  for (uint32_t i = 0; i < space->loop_count; ++i) count *= space->extents[i];
  HLO_TRY(
      check_tiling_rule(count == space->element_count, "the loops of a space visit all elements"));
  if (!space->linear) return hlo_ok();  // not reached by this walk
  HLO_TRY(check_tiling_rule(space->first_loop + space->loop_count <= t->loop_count,
                            "the loops of a space are loops of the walk"));
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    const hlo_tiled_loop_t* loop = &t->loops[space->first_loop + i];
    HLO_TRY(check_tiling_rule(loop->space == number, "a loop belongs to one space"));
    HLO_TRY(check_tiling_rule(
        0 <= loop->low && loop->low <= loop->end && loop->end <= space->extents[i],
        "a segment is part of its loop"));
  }
  return hlo_ok();
}

static hlo_status_t verify_instance(const hlo_tiling_t* t, uint32_t number) {
  const hlo_tiled_t* tiled = t->instances[number];
  HLO_TRY(check_tiling_rule(tiled->number == number, "instance numbers are dense"));
  uint64_t loops = 0;
  for (uint32_t i = 0; i < tiled->operand_count; ++i) {
    HLO_TRY(check_instance_rule(tiled->operands[i]->number < number, tiled,
                                "operands come before users"));
    loops |= tiled->operands[i]->loops;
  }
  HLO_TRY(check_instance_rule(t->loop_count == 64 || tiled->loops >> t->loop_count == 0, tiled,
                              "an instance depends on loops of the walk"));
  switch (tiled->kind) {
    case HLO_TILED_LOAD:
      return check_instance_rule(tiled->input < t->fusion->input_count && tiled->offset, tiled,
                                 "a load reads an input at an offset");
    case HLO_TILED_COMPUTE:
      return check_instance_rule((loops & ~tiled->loops) == 0, tiled,
                                 "an instance depends on the loops of its operands");
    case HLO_TILED_REDUCE:
      return check_instance_rule(0 < tiled->reduction && tiled->reduction < t->space_count, tiled,
                                 "a reduction has a space of its own");
    case HLO_TILED_RESULT:
      return check_instance_rule(
          tiled->operand_count == 1 && tiled->operands[0]->kind == HLO_TILED_REDUCE, tiled,
          "the operand of a result is a reduction");
    case HLO_TILED_MASK:
      return check_instance_rule(tiled->operand_count == 2 && tiled->low < tiled->end, tiled,
                                 "a mask selects between two values");
    default: return hlo_ok();
  }
}

hlo_status_t hlo_tiling_verify(const hlo_tiling_t* t) {
  if (hlo_verdict_is_no(&t->verdict)) return hlo_ok();
  for (uint32_t i = 0; i < t->space_count; ++i) HLO_TRY(verify_space(t, i));
  for (uint32_t i = 0; i < t->instance_count; ++i) HLO_TRY(verify_instance(t, i));
  for (uint32_t i = 0; i < t->fusion->output_count; ++i) {
    HLO_TRY(check_tiling_rule(t->outputs[i] && t->output_offsets[i],
                              "an output has a value and an offset"));
  }
  return hlo_ok();
}
