// SPDX-License-Identifier: Apache-2.0
// Prints a plan: one line per step, "name op operands -> results" with allocations, and copies
// where they happen.
#include <inttypes.h>

#include "codegen/memory/plan.h"

static void print_allocation(const hlo_plan_t* plan, const hlo_allocation_t* allocation,
                             hlo_strbuf_t* out) {
  switch (allocation->kind) {
    case HLO_ALLOCATION_NONE: hlo_strbuf_puts(out, "-"); return;
    case HLO_ALLOCATION_ARGUMENT: hlo_strbuf_printf(out, "arg%u", allocation->index); return;
    case HLO_ALLOCATION_RESULT:
      hlo_strbuf_printf(out, "result%u", allocation->index);
      if (allocation->offset_bytes) hlo_strbuf_printf(out, "+%" PRIu64, allocation->offset_bytes);
      return;
    case HLO_ALLOCATION_CONSTANT: hlo_strbuf_printf(out, "const%u", allocation->index); return;
    case HLO_ALLOCATION_REGISTER: hlo_strbuf_printf(out, "reg%u", allocation->index); return;
    case HLO_ALLOCATION_TEMPORARY:
      hlo_strbuf_printf(out, "%s+%" PRIu64,
                        hlo_plan_is_collective(plan, *allocation) ? "collective" : "temp",
                        allocation->offset_bytes);
      return;
  }
}

static void print_value(const hlo_plan_t* plan, const hlo_value_t* value, const char* separator,
                        hlo_strbuf_t* out) {
  hlo_allocation_t allocation = hlo_plan_allocation(plan, value);
  hlo_strbuf_puts(out, separator);
  print_allocation(plan, &allocation, out);
}

static void indent(uint32_t depth, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < depth; ++i) hlo_strbuf_puts(out, "  ");
}

static void print_copies(const hlo_plan_t* plan, const hlo_node_t* node, uint32_t depth,
                         hlo_strbuf_t* out) {
  const hlo_copy_list_t* list = &plan->copies[node->index];
  for (uint32_t i = 0; i < list->count; ++i) {
    const hlo_copy_t* copy = &list->items[i];
    indent(depth, out);
    hlo_strbuf_printf(out, "copy %" PRIu64 " bytes ", copy->size_bytes);
    print_allocation(plan, &copy->from, out);
    hlo_strbuf_puts(out, " -> ");
    print_allocation(plan, &copy->to, out);
    hlo_strbuf_puts(out, "\n");
  }
}

static void print_fusion(const hlo_plan_t* plan, const hlo_fusion_t* fusion, hlo_strbuf_t* out) {
  const hlo_kernel_t* kernel = plan->kernels[fusion->index];
  hlo_strbuf_printf(out, "fusion %u", fusion->index);
  for (uint32_t phase = 0; phase < hlo_kernel_phase_count(kernel); ++phase) {
    uint64_t chunks = hlo_kernel_chunk_count(kernel, phase);
    if (chunks > 1) hlo_strbuf_printf(out, " in %" PRIu64 " chunks", chunks);
  }
  if (plan->scratch[fusion->index].kind != HLO_ALLOCATION_NONE) {
    hlo_strbuf_puts(out, " with ");
    print_allocation(plan, &plan->scratch[fusion->index], out);
    if (plan->prepared[fusion->index]) hlo_strbuf_puts(out, " prepared before the loop");
  }
  if (fusion->model && fusion->model != fusion) {
    hlo_strbuf_printf(out, " as %u", fusion->model->index);
  }
  if (fusion->concurrent_group)
    hlo_strbuf_printf(out, " in concurrent group %u", fusion->concurrent_group->index);
  hlo_strbuf_puts(out, " {");
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    hlo_strbuf_printf(out, "%s%s", i ? " " : "", hlo_op_info(fusion->nodes[i]->op)->name);
  }
  hlo_strbuf_puts(out, "}");
  for (uint32_t i = 0; i < fusion->input_count; ++i) print_value(plan, fusion->inputs[i], " ", out);
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    print_value(plan, fusion->outputs[i], i ? ", " : " -> ", out);
  }
}

static void print_node(const hlo_plan_t* plan, const hlo_step_t* step, hlo_strbuf_t* out) {
  const hlo_node_t* node = step->node;
  const char* what = step->kind == HLO_STEP_VIEW ? "view " : "";
  hlo_strbuf_printf(out, "%s%s", what, hlo_op_info(node->op)->name);
  const hlo_allocation_t* staged = plan->staged ? plan->staged[node->index] : NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (staged && staged[i].kind != HLO_ALLOCATION_NONE) {
      hlo_strbuf_putc(out, ' ');
      print_allocation(plan, &staged[i], out);
    } else {
      print_value(plan, hlo_node_operand(node, i), " ", out);
    }
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    print_value(plan, &node->results[i], i ? ", " : " -> ", out);
  }
}

static void print_region(const hlo_plan_t* plan, const hlo_region_t* region, uint32_t depth,
                         hlo_strbuf_t* out) {
  const hlo_sequence_t* sequence = hlo_schedule_find(plan->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    print_copies(plan, step->node, depth, out);
    indent(depth, out);
    if (step->kind == HLO_STEP_FUSION) {
      print_fusion(plan, step->fusion, out);
    } else {
      print_node(plan, step, out);
    }
    hlo_strbuf_puts(out, "\n");
    for (uint32_t k = 0; step->kind == HLO_STEP_CONTROL && k < step->node->region_count; ++k) {
      indent(depth, out);
      hlo_strbuf_printf(out, "region %u", k);
      const hlo_region_t* inner = step->node->regions[k];
      for (uint32_t a = 0; a < inner->arg_count; ++a) print_value(plan, inner->args[a], " ", out);
      hlo_strbuf_puts(out, "\n");
      print_region(plan, inner, depth + 1, out);
    }
  }
  const hlo_node_t* end = hlo_region_terminator(region);
  print_copies(plan, end, depth, out);
  indent(depth, out);
  hlo_strbuf_puts(out, "return");
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    print_value(plan, hlo_node_operand(end, i), " ", out);
  }
  hlo_strbuf_puts(out, "\n");
}

void hlo_plan_print(const hlo_plan_t* plan, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "plan of @%s: %" PRIu64 " bytes of temporaries, ", plan->func->name,
                    plan->temporary_bytes);
  if (plan->collective_bytes) {
    hlo_strbuf_printf(out, "%" PRIu64 " of them for collectives, ", plan->collective_bytes);
  }
  hlo_strbuf_printf(out, "%u constants\n", plan->constant_count);
  print_region(plan, plan->func->body, 1, out);
}
