// SPDX-License-Identifier: Apache-2.0
// Checks the rules of schedules (see schedule.h).
#include "codegen/body/schedule.h"

typedef struct verifier {
  const hlo_schedule_t* schedule;
  uint32_t* computed_by;  // by value: 1 + number of the step that computes it, in its sequence
  bool* seen;             // by fusion
} verifier_t;

static hlo_status_t check_schedule_rule(bool holds, const hlo_node_t* node, const char* rule) {
  if (holds) return hlo_ok();
  return hlo_internal_error("schedule: at %s (node %u): broken rule: %s",
                            hlo_op_info(node->op)->name, node->index, rule);
}

// ---- fusions ------------------------------------------------------------------------------------

static bool contains_value(hlo_value_t* const* values, uint32_t count, const hlo_value_t* value) {
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] == value) return true;
  }
  return false;
}

static bool is_member(const hlo_fusion_t* fusion, uint32_t count, const hlo_node_t* node) {
  for (uint32_t i = 0; i < count; ++i) {
    if (fusion->nodes[i] == node) return true;
  }
  return false;
}

static hlo_status_t verify_members(const hlo_fusion_t* fusion) {
  const hlo_region_t* region = fusion->outputs[0]->region;
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    const hlo_node_t* node = fusion->nodes[i];
    HLO_TRY(check_schedule_rule(!is_member(fusion, i, node), node, "a node is a member only once"));
    HLO_TRY(check_schedule_rule(node->parent == region || hlo_op_has(node->op, HLO_TRAIT_CONSTANT),
                                node, "all members except constants are in one region"));
    for (uint32_t k = 0; k < node->operand_count; ++k) {
      const hlo_value_t* value = hlo_node_operand(node, k);
      const bool is_input = contains_value(fusion->inputs, fusion->input_count, value);
      const bool is_inside = value->def && is_member(fusion, fusion->node_count, value->def);
      HLO_TRY(check_schedule_rule(is_input || is_inside, node,
                                  "an operand is an input or the result of a member"));
    }
  }
  return hlo_ok();
}

static hlo_status_t verify_model(const hlo_fusion_t* fusion) {
  const hlo_fusion_t* model = fusion->model;
  const hlo_node_t* first = fusion->nodes[0];
  if (!model) return hlo_ok();
  HLO_TRY(check_schedule_rule(model->model == model, first, "a model is its own model"));
  HLO_TRY(check_schedule_rule(
      model->node_count == fusion->node_count && model->input_count == fusion->input_count &&
          model->output_count == fusion->output_count &&
          model->extra_output_count == fusion->extra_output_count,
      first, "a fusion has as many members, inputs and outputs as its model"));
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    HLO_TRY(check_schedule_rule(fusion->nodes[i]->op == model->nodes[i]->op, fusion->nodes[i],
                                "a fusion has the ops of its model, in the same order"));
  }
  HLO_TRY(
      check_schedule_rule(fusion->kernel == model->kernel, first, "equal fusions share a kernel"));
  return hlo_ok();
}

// Returns true if a member loads the value although another member computes it: the operand that an
// update overwrites, and the operands of products.
static bool is_read_from_memory(const hlo_fusion_t* fusion, const hlo_value_t* value) {
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    const hlo_node_t* node = fusion->nodes[i];
    const bool is_product = node->op == HLO_OP_dot_general || node->op == HLO_OP_convolution;
    const uint32_t count = node->op == HLO_OP_dynamic_update_slice ? 1 : is_product ? 2 : 0;
    for (uint32_t k = 0; k < count; ++k) {
      if (hlo_node_operand(node, k) == value) return true;
    }
  }
  return false;
}

hlo_status_t hlo_fusion_verify(const hlo_fusion_t* fusion) {
  const hlo_node_t* first = fusion->nodes[0];
  HLO_TRY(check_schedule_rule(fusion->node_count > 0, first, "a fusion has members"));
  HLO_TRY(check_schedule_rule(fusion->output_count > fusion->extra_output_count, first,
                              "a fusion has a main output"));
  HLO_TRY(verify_members(fusion));
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    const hlo_value_t* input = fusion->inputs[i];
    HLO_TRY(check_schedule_rule(!contains_value(fusion->inputs, i, input), first,
                                "inputs are different values"));
    HLO_TRY(check_schedule_rule(
        !input->def || !is_member(fusion, fusion->node_count, input->def) ||
            is_read_from_memory(fusion, input),
        first, "no input is the result of a member, except of updates and products"));
  }
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    const hlo_value_t* output = fusion->outputs[i];
    HLO_TRY(check_schedule_rule(!contains_value(fusion->outputs, i, output), first,
                                "outputs are different values"));
    HLO_TRY(check_schedule_rule(output->def && is_member(fusion, fusion->node_count, output->def),
                                first, "an output is the result of a member"));
  }
  return verify_model(fusion);
}

// ---- sequences ----------------------------------------------------------------------------------

static hlo_status_t verify_step(verifier_t* v, const hlo_sequence_t* sequence,
                                const hlo_step_t* step) {
  const hlo_node_t* node = step->node;
  HLO_TRY(check_schedule_rule(node->parent == sequence->region, node,
                              "a step is in its sequence's region"));
  HLO_TRY(check_schedule_rule((step->kind == HLO_STEP_FUSION) == (step->fusion != NULL), node,
                              "steps of kind FUSION have a fusion"));
  HLO_TRY(check_schedule_rule((step->kind == HLO_STEP_CONTROL) == hlo_op_is_control(node->op), node,
                              "control flow is a step of kind CONTROL"));
  HLO_TRY(check_schedule_rule(step->kind != HLO_STEP_VIEW || hlo_node_is_view(node), node,
                              "a step of kind VIEW is a view"));
  if (!step->fusion) return hlo_ok();
  HLO_TRY(check_schedule_rule(step->fusion->index < v->schedule->fusion_count, node,
                              "fusion indices are dense"));
  HLO_TRY(check_schedule_rule(!v->seen[step->fusion->index], node, "a fusion is one step"));
  HLO_TRY(check_schedule_rule(is_member(step->fusion, step->fusion->node_count, node), node,
                              "the node of a fusion's step is a member"));
  v->seen[step->fusion->index] = true;
  return hlo_fusion_verify(step->fusion);
}

static void record_results(verifier_t* v, const hlo_step_t* step, uint32_t number) {
  if (step->fusion) {
    for (uint32_t i = 0; i < step->fusion->output_count; ++i) {
      v->computed_by[step->fusion->outputs[i]->index] = number;
    }
    return;
  }
  for (uint32_t i = 0; i < step->node->result_count; ++i) {
    v->computed_by[step->node->results[i].index] = number;
  }
}

// Constants and initial tokens need no step.
static bool is_computed(const verifier_t* v, const hlo_region_t* region, const hlo_value_t* value,
                        uint32_t before) {
  const hlo_node_t* def = value->def;
  if (!def || def->parent != region) return true;
  if (hlo_op_has(def->op, HLO_TRAIT_CONSTANT | HLO_TRAIT_ORDERS)) return true;
  return v->computed_by[value->index] && v->computed_by[value->index] <= before;
}

static hlo_status_t verify_order(const verifier_t* v, const hlo_sequence_t* sequence,
                                 hlo_arena_t* scratch) {
  const hlo_region_t* region = sequence->region;
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    hlo_value_list_t read;
    HLO_TRY(hlo_step_list_read(step, scratch, &read));
    for (uint32_t k = 0; k < read.count; ++k) {
      HLO_TRY(check_schedule_rule(is_computed(v, region, read.values[k], i), step->node,
                                  "a step reads only results of earlier steps"));
    }
  }
  const hlo_node_t* end = hlo_region_terminator(region);
  for (uint32_t k = 0; end && k < end->operand_count; ++k) {
    HLO_TRY(
        check_schedule_rule(is_computed(v, region, hlo_node_operand(end, k), sequence->step_count),
                            end, "a region returns only results of its steps"));
  }
  return hlo_ok();
}

static hlo_status_t verify_concurrent_group(const hlo_sequence_t* sequence, uint32_t at) {
  const hlo_concurrent_group_t* group = hlo_step_concurrent_group(&sequence->steps[at]);
  const hlo_node_t* node = sequence->steps[at].node;
  if (!group || group->members[0] != sequence->steps[at].fusion) return hlo_ok();
  HLO_TRY(check_schedule_rule(at + group->member_count <= sequence->step_count, node,
                              "members of a concurrent group are adjacent"));
  for (uint32_t i = 0; i < group->member_count; ++i) {
    HLO_TRY(check_schedule_rule(
        sequence->steps[at + i].fusion == group->members[i], node,
        "members of a concurrent group are adjacent, in the order of their steps"));
    HLO_TRY(check_schedule_rule(group->members[i]->concurrent_group == group, node,
                                "a member refers to its concurrent group"));
  }
  return hlo_ok();
}

static hlo_status_t verify_sequence(verifier_t* v, const hlo_sequence_t* sequence,
                                    hlo_arena_t* scratch) {
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    HLO_TRY(verify_step(v, sequence, &sequence->steps[i]));
    record_results(v, &sequence->steps[i], i + 1);
  }
  HLO_TRY(verify_order(v, sequence, scratch));
  for (uint32_t i = 0; i < sequence->step_count; ++i) HLO_TRY(verify_concurrent_group(sequence, i));
  return hlo_ok();
}

hlo_status_t hlo_schedule_verify(const hlo_schedule_t* schedule, const hlo_func_t* func) {
  HLO_SCOPED_ARENA scratch = {0};
  verifier_t v = {.schedule = schedule};
  v.computed_by =
      hlo_arena_array(&scratch, (size_t)func->module->value_count + 1, sizeof *v.computed_by);
  v.seen = hlo_arena_array(&scratch, (size_t)schedule->fusion_count + 1, sizeof *v.seen);
  HLO_TRY(hlo_arena_status(&scratch));
  const hlo_node_t* end = hlo_region_terminator(func->body);
  HLO_TRY(
      check_schedule_rule(schedule->sequence_count && schedule->sequences[0].region == func->body,
                          end, "the first sequence is the function's body"));
  for (uint32_t i = 0; i < schedule->sequence_count; ++i) {
    const hlo_sequence_t* sequence = &schedule->sequences[i];
    HLO_TRY(check_schedule_rule(hlo_schedule_find(schedule, sequence->region) == sequence, end,
                                "a region has one sequence"));
    HLO_TRY(verify_sequence(&v, sequence, &scratch));
  }
  for (uint32_t i = 0; i < schedule->fusion_count; ++i) {
    HLO_TRY(check_schedule_rule(v.seen[i], end, "fusion indices are dense"));
  }
  return hlo_ok();
}
