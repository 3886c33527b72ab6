// SPDX-License-Identifier: Apache-2.0
// Chooses the values that never reach memory: single elements, and f32 arrays that one vector
// holds, that only inlined kernels, loops, branches and copies use. All values of a class agree,
// and so do a loop's slot and result, which are one buffer.
#include "codegen/math/elementwise.h"
#include "codegen/memory/plan_impl.h"

static bool has_one_element(const hlo_value_t* value) {
  return value->type->kind == HLO_TYPE_TENSOR && hlo_type_element_count(value->type) == 1 &&
         hlo_elementwise_supports_dtype(value->type->dtype);
}

// lanes: of vectors that hold arrays; 0: no kernel accepts them.
static bool fits_register(const hlo_value_t* value, uint32_t lanes) {
  if (has_one_element(value)) return true;
  return value->type->kind == HLO_TYPE_TENSOR && value->type->dtype == HLO_DTYPE_F32 &&
         hlo_type_element_count(value->type) > 1 &&
         hlo_type_element_count(value->type) <= (int64_t)lanes;
}

static uint32_t most_lanes(const hlo_plan_t* plan) {
  uint32_t most = 0;
  for (uint32_t i = 0; i < plan->schedule->fusion_count; ++i) {
    uint32_t lanes = plan->kernels[i] ? hlo_kernel_value_lanes(plan->kernels[i]) : 0;
    if (lanes > most) most = lanes;
  }
  return most;
}

// Returns true if a kernel can read, or produce, the value of a register.
static bool fits_kernel(const hlo_planner_t* planner, const hlo_fusion_t* fusion,
                        const hlo_value_t* value) {
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  if (fusion->concurrent_group) return false;  // kernels on other threads find everything in memory
  int64_t count = hlo_type_element_count(value->type);
  if (count == 1) return hlo_kernel_reads_values(kernel);
  return count <= (int64_t)hlo_kernel_value_lanes(kernel);
}

static void keep_in_memory(hlo_planner_t* planner, const hlo_value_t* value) {
  planner->in_register[hlo_planner_root(planner, value)] = false;
}

// A class of single elements of one type that the program makes itself.
static void find_candidates(hlo_planner_t* planner) {
  uint32_t count = planner->module->value_count, lanes = most_lanes(planner->plan);
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* value = planner->values[i];
    if (!value || planner->parents[i] != i) continue;
    bool is_argument = value->region == planner->plan->func->body && !value->def;
    planner->in_register[i] =
        fits_register(value, lanes) && !is_argument && !hlo_plan_is_constant(value);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_value_t* value = planner->values[i];
    if (!value) continue;
    const hlo_value_t* root = planner->values[hlo_planner_root(planner, value)];
    if (!fits_register(value, lanes) || value->type->dtype != root->type->dtype) {
      keep_in_memory(planner, value);
    }
  }
}

static void scan_fusion(hlo_planner_t* planner, const hlo_fusion_t* fusion) {
  const hlo_kernel_t* kernel = planner->plan->kernels[fusion->index];
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    if (!fits_kernel(planner, fusion, fusion->inputs[i])) keep_in_memory(planner, fusion->inputs[i]);
  }
  for (uint32_t o = 0; o < fusion->output_count; ++o) {
    if (!fits_kernel(planner, fusion, fusion->outputs[o]) || !hlo_kernel_gives_value(kernel, o)) {
      keep_in_memory(planner, fusion->outputs[o]);
    }
    int32_t updated = hlo_kernel_updates(kernel, o);
    if (updated >= 0) keep_in_memory(planner, fusion->inputs[updated]);
  }
}

static hlo_status_t scan_site(hlo_planner_t* planner, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    keep_in_memory(planner, hlo_node_operand(node, i));
  }
  for (uint32_t r = 0; r < node->result_count; ++r) keep_in_memory(planner, &node->results[r]);
  uint32_t count = 0;
  const hlo_value_t** captures = NULL;
  HLO_TRY(hlo_node_captures(node, planner->arena, &count, &captures));
  for (uint32_t i = 0; i < count; ++i) keep_in_memory(planner, captures[i]);
  return hlo_ok();
}

static void agree_on_loop(hlo_planner_t* planner, const hlo_node_t* node, bool* changed) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uint32_t slot = hlo_planner_root(planner, node->regions[0]->args[i]);
    uint32_t result = hlo_planner_root(planner, &node->results[i]);
    if (planner->in_register[slot] == planner->in_register[result]) continue;
    planner->in_register[slot] = planner->in_register[result] = false;
    *changed = true;
  }
}

// A branch's value for a register is read from memory when the branch's other results are written,
// whose memory counts as theirs only from the end of all branches on: until then the value is kept.
static void keep_until_read(hlo_planner_t* planner, const hlo_node_t* node) {
  for (uint32_t k = 0; k < node->region_count; ++k) {
    const hlo_node_t* end = hlo_region_terminator(node->regions[k]);
    for (uint32_t i = 0; i < node->result_count; ++i) {
      uint32_t value = hlo_planner_root(planner, hlo_node_operand(end, i));
      if (!planner->in_register[hlo_planner_root(planner, &node->results[i])]) continue;
      if (planner->in_register[value]) continue;
      hlo_plan_range_t* range = &planner->ranges[value];
      uint32_t position = planner->ends[node->index];
      if (range->end < position) range->end = position;
    }
  }
}

static void keep_all(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  for (uint32_t s = 0; s < schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_node_t* node = sequence->steps[i].node;
      if (node->op == HLO_OP_if || node->op == HLO_OP_case) keep_until_read(planner, node);
    }
  }
}

// Marks values that need an address.
static hlo_status_t scan_uses(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  for (uint32_t s = 0; s < schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_step_t* step = &sequence->steps[i];
      if (step->kind == HLO_STEP_FUSION) scan_fusion(planner, step->fusion);
      if (step->kind == HLO_STEP_CALL) HLO_TRY(scan_site(planner, step->node));
    }
  }
  return hlo_ok();
}

// Returns true if loops had to be made consistent.
static bool agree_on_loops(hlo_planner_t* planner) {
  const hlo_schedule_t* schedule = planner->plan->schedule;
  bool changed = false;
  for (uint32_t s = 0; s < schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_node_t* node = sequence->steps[i].node;
      if (node->op == HLO_OP_while) agree_on_loop(planner, node, &changed);
    }
  }
  return changed;
}

hlo_status_t hlo_planner_choose_registers(hlo_planner_t* planner) {
  planner->in_register =
      hlo_arena_array(planner->arena, planner->module->value_count, sizeof(bool));
  HLO_TRY(hlo_arena_status(planner->arena));
  find_candidates(planner);
  HLO_TRY(scan_uses(planner));
  while (agree_on_loops(planner)) {
  }
  keep_all(planner);
  return hlo_ok();
}
