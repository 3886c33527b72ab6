// SPDX-License-Identifier: Apache-2.0
// Vector IR of entry functions (see entry.h): steps in order, loops and branches.

#include <stddef.h>

#include "base/program_abi.h"
#include "base/tuning.h"
#include "codegen/body/split.h"
#include "codegen/emit/entry_impl.h"
#include "ir/call.h"

struct hlo_entry {
  hlo_entry_context_t base;
  hlo_entry_func_list_t funcs;
};

static const hlo_vir_type_t kIndex = {HLO_VIR_INDEX, 1};

// ---- nodes

static void emit_process_number(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                const hlo_node_t* node, size_t offset) {
  enum { WIDTH_LOG2 = 2 };
  hlo_vir_value_t* number =
      hlo_entry_load_scalar(b, hlo_vir_param(b, 0), (int64_t)offset, WIDTH_LOG2, HLO_VIR_UNSIGNED);
  hlo_entry_store_scalar(b, number, hlo_entry_value_address(entry, b, &node->results[0]), 0,
                         WIDTH_LOG2);
}

static void emit_start(hlo_vir_builder_t* b, uint32_t call_site_number) {
  hlo_vir_value_t* call_site = hlo_vir_iconst(b, call_site_number);
  hlo_entry_call(b, offsetof(hlo_runtime_table_t, async_start), 1, &call_site);
}

// Tests if the results are available, and suspends the function until they may be.
static void emit_done(hlo_vir_builder_t* b, uint32_t call_site_number) {
  hlo_vir_begin_loop(b);
  hlo_vir_value_t* call_site = hlo_vir_iconst(b, call_site_number);
  hlo_vir_value_t* answer =
      hlo_vir_call(b, offsetof(hlo_runtime_table_t, async_done), 1, &call_site);
  hlo_vir_break_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, answer, hlo_vir_iconst(b, HLO_PROGRAM_DONE)));
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, answer, hlo_vir_iconst(b, HLO_PROGRAM_ERROR)));
  hlo_vir_return(b, answer);
  hlo_vir_end(b);
  hlo_vir_suspend(b, call_site_number);  // resume points are named by call sites
  hlo_vir_end(b);
}

static void emit_call_site(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                           const hlo_node_t* node) {
  if (hlo_op_has(node->op, HLO_TRAIT_ORDERS)) return;
  switch (node->op) {
    case HLO_OP_replica_id:
      emit_process_number(entry, b, node, offsetof(hlo_frame_t, replica_id));
      return;
    case HLO_OP_partition_id:
      emit_process_number(entry, b, node, offsetof(hlo_frame_t, partition_id));
      return;
    default: break;
  }
  if (hlo_call_may_wait(node)) {
    emit_start(b, hlo_call_site_number(node));
    if (!hlo_split_end(node)) emit_done(b, hlo_call_site_number(node));
  } else {
    hlo_entry_emit_call(b, hlo_call_site_number(node));
  }
}

// ---- control flow

static void emit_region(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                        const hlo_region_t* region);

static void poll_cancelled(hlo_vir_builder_t* b) {
  enum { WIDTH_LOG2 = 2 };
  hlo_vir_begin_if(
      b, hlo_entry_load_scalar(b, hlo_vir_param(b, 0), offsetof(hlo_frame_t, cancelled), WIDTH_LOG2,
                               HLO_VIR_UNSIGNED));
  hlo_vir_value_t* arguments[] = {hlo_vir_iconst(b, HLO_CALL_SITE_CANCELLED), hlo_vir_iconst(b, 0),
                                  hlo_vir_iconst(b, 0)};
  hlo_vir_return(b, hlo_vir_call(b, offsetof(hlo_runtime_table_t, check_failed), 3, arguments));
  hlo_vir_end(b);
}

// Loads the first element of a loop's or branch's predicate or index, as INDEX.
static hlo_vir_value_t* read_decision(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                      const hlo_value_t* value) {
  hlo_vir_value_t* known = hlo_entry_values_get(entry->values, value);
  if (known) return known;
  hlo_element_address_t address = {.base = hlo_entry_value_address(entry, b, value)};
  return hlo_scalar_load(b, value->type->dtype, &address);
}

static void emit_block(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                       const hlo_region_t* region) {
  uint32_t mark = hlo_entry_values_begin(entry->values);
  emit_region(entry, b, region);
  hlo_entry_values_end(entry->values, mark);
}

static void emit_while(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                       const hlo_node_t* node) {
  const hlo_node_t* condition = hlo_region_terminator(node->regions[0]);
  hlo_entry_emit_preparations(entry, b, node);
  hlo_entry_values_enter_loop(entry->values, node);
  hlo_vir_begin_loop(b);
  uint32_t mark = hlo_entry_values_begin(entry->values);
  emit_region(entry, b, node->regions[0]);
  hlo_vir_value_t* go_on = read_decision(entry, b, hlo_node_operand(condition, 0));
  hlo_vir_break_if(b, hlo_vir_icmp(b, HLO_VIR_EQ, go_on, hlo_vir_iconst(b, 0)));
  emit_region(entry, b, node->regions[1]);
  poll_cancelled(b);
  hlo_entry_values_end(entry->values, mark);
  hlo_vir_end(b);
}

static void emit_if(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                    const hlo_node_t* node) {
  hlo_vir_begin_if(b, read_decision(entry, b, hlo_node_operand(node, 0)));
  emit_block(entry, b, node->regions[0]);
  hlo_vir_begin_else(b);
  emit_block(entry, b, node->regions[1]);
  hlo_vir_end(b);
}

// Emits the branches from `first` to `end`, one of which has the given index.
static void emit_branches(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                          const hlo_node_t* node, hlo_vir_value_t* number, uint32_t first,
                          uint32_t end) {
  if (end - first == 1) {
    emit_block(entry, b, node->regions[first]);
    return;
  }
  uint32_t middle = first + (end - first) / 2;
  hlo_vir_condition_t condition = end - first == 2 ? HLO_VIR_EQ : HLO_VIR_LT;
  uint32_t limit = condition == HLO_VIR_EQ ? first : middle;
  hlo_vir_begin_if(b, hlo_vir_icmp(b, condition, number, hlo_vir_iconst(b, limit)));
  emit_branches(entry, b, node, number, first, middle);
  hlo_vir_begin_else(b);
  emit_branches(entry, b, node, number, middle, end);
  hlo_vir_end(b);
}

// Any index out of range runs the last branch: indices past it do so anyway, and of two branches
// the last one is for every non-zero value.
static void emit_case(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                      const hlo_node_t* node) {
  hlo_vir_value_t* number = read_decision(entry, b, hlo_node_operand(node, 0));
  if (node->region_count > 2) {
    hlo_vir_value_t* last = hlo_vir_iconst(b, node->region_count - 1);
    hlo_vir_value_t* is_negative = hlo_vir_icmp(b, HLO_VIR_LT, number, hlo_vir_iconst(b, 0));
    number = hlo_vir_emit(b, HLO_VIR_iselect, kIndex, 0, 0, 3,
                          (hlo_vir_value_t*[]){is_negative, last, number});
  }
  emit_branches(entry, b, node, number, 0, node->region_count);
}

static void emit_control(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                         const hlo_node_t* node) {
  bool* opened = hlo_entry_values_open(entry->values, node);
  if (node->op == HLO_OP_while) {
    emit_while(entry, b, node);
  } else if (node->op == HLO_OP_if) {
    emit_if(entry, b, node);
  } else {
    emit_case(entry, b, node);
  }
  hlo_entry_values_close(entry->values, node, opened);
}

// Checked code: emits a check of the temporaries around a step or terminator.
static void emit_memory_check(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                              hlo_memory_check_moment_t moment, const hlo_node_t* node) {
  const hlo_plan_t* plan = entry->plan;
  if (!plan->memory_check) return;
  hlo_memory_check_call_site_t call_site = {.event = {.moment = moment}, .node = node};
  if (node) {
    const hlo_node_t* around = node->parent->parent;
    bool is_step = !(hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR);
    call_site.event.begin = plan->begins[node->index];
    call_site.event.end = plan->ends[node->index];
    call_site.event.floor = around ? plan->begins[around->index] : 0;
    if (is_step && moment == HLO_MEMORY_CHECK_BEFORE) call_site.event.end = call_site.event.begin;
  }
  hlo_entry_emit_call(b,
                      hlo_call_site_table_add_memory_check(entry->table, &call_site, entry->arena));
}

static void emit_step(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                      const hlo_step_t* step) {
  const hlo_node_t* node = step->node;
  b->debug_id = hlo_call_site_number(node);
  emit_memory_check(entry, b, HLO_MEMORY_CHECK_BEFORE, node);
  const uint32_t span = hlo_entry_begin_span(entry, b, step, 1);
  hlo_entry_emit_copies(entry, b, node);
  switch (step->kind) {
    case HLO_STEP_FUSION: hlo_entry_emit_fusion(entry, b, step->fusion); break;
    case HLO_STEP_VIEW:
      if (hlo_split_begin(node)) emit_done(b, hlo_call_site_number(hlo_split_begin(node)));
      break;
    case HLO_STEP_CALL: emit_call_site(entry, b, node); break;
    case HLO_STEP_CONTROL: emit_control(entry, b, node); break;
  }
  hlo_entry_end_span(b, span);
  emit_memory_check(entry, b, HLO_MEMORY_CHECK_AFTER, node);
}

static void emit_concurrent_group(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                  const hlo_step_t* steps) {
  const hlo_concurrent_group_t* concurrent_group = steps->fusion->concurrent_group;
  b->debug_id = hlo_call_site_number(steps->node);
  emit_memory_check(entry, b, HLO_MEMORY_CHECK_BEFORE, steps->node);
  const uint32_t span = hlo_entry_begin_span(entry, b, steps, concurrent_group->member_count);
  for (uint32_t i = 0; i < concurrent_group->member_count; ++i)
    hlo_entry_emit_copies(entry, b, steps[i].node);
  hlo_entry_emit_concurrent(entry, b, concurrent_group);
  hlo_entry_end_span(b, span);
  emit_memory_check(entry, b, HLO_MEMORY_CHECK_AFTER, steps->node);
}

static void emit_region(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                        const hlo_region_t* region) {
  const hlo_sequence_t* sequence = hlo_schedule_find(entry->plan->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count;) {
    const hlo_step_t* step = &sequence->steps[i];
    const hlo_concurrent_group_t* concurrent_group = hlo_step_concurrent_group(step);
    if (concurrent_group) {
      emit_concurrent_group(entry, b, step);
    } else {
      emit_step(entry, b, step);
    }
    i += concurrent_group ? concurrent_group->member_count : 1;
  }
  const hlo_node_t* end = hlo_region_terminator(region);
  emit_memory_check(entry, b, HLO_MEMORY_CHECK_BEFORE, end);
  hlo_entry_emit_copies(entry, b, end);
  emit_memory_check(entry, b, HLO_MEMORY_CHECK_AFTER, end);
}

// Returns the number of base addresses that kernels and copies use, without that of the
// temporaries; call sites look up their own.
static uint32_t count_bases(const hlo_plan_t* plan) {
  uint32_t count = plan->argument_count + plan->result_count;
  for (uint32_t i = 0; i < plan->constant_count; ++i) {
    count += hlo_type_element_count(plan->constants[i].value->type) != 1;
  }
  return count;
}

static void build_entry(hlo_entry_context_t* entry, hlo_vir_module_t* module) {
  hlo_vir_func_t* func = hlo_vir_func_create(module, "entry", 1, true);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_entry_values_t values;
  hlo_entry_values_init(&values, entry->plan, entry->table, entry->target, &b, entry->arena);
  entry->values = &values;
  if (!entry->arena->failed) {
    emit_memory_check(entry, &b, HLO_MEMORY_CHECK_START, NULL);
    emit_region(entry, &b, entry->plan->func->body);
    hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_PROGRAM_DONE));
  }
  entry->values = NULL;
  hlo_vir_builder_deinit(&b);
}

hlo_status_t hlo_entry_create(const hlo_plan_t* plan, const hlo_target_t* target,
                              hlo_call_site_table_t* table, hlo_arena_t* arena,
                              hlo_vir_module_t* module, hlo_entry_t** out_entry) {
  hlo_entry_t* made = hlo_arena_alloc_zeroed(arena, sizeof *made);
  uint32_t* kernels = hlo_arena_array(arena, plan->schedule->fusion_count + 1, sizeof *kernels);
  HLO_TRY(hlo_arena_status(arena));
  made->funcs.kernels = kernels;
  made->base = (hlo_entry_context_t){
      .plan = plan, .target = target, .table = table, .arena = arena, .funcs = &made->funcs};
  made->base.most_addresses = hlo_entry_most_addresses(&made->base);
  if (count_bases(plan) <= HLO_TUNING_ENTRY_MAX_BASES) {
    made->base.load_flags = HLO_VIR_INVARIANT | HLO_VIR_FIXED;
  }
  build_entry(&made->base, module);
  HLO_TRY(hlo_arena_status(arena));
  *out_entry = made;
  return hlo_vir_module_status(module);
}

uint32_t hlo_entry_func_count(const hlo_entry_t* entry) {
  return entry->funcs.count + 1;
}

uint64_t hlo_entry_func_size(const hlo_entry_t* entry, uint32_t number) {
  const hlo_entry_func_t* func = &entry->funcs.items[number - 1];
  return hlo_entry_size_of(&entry->base, func);
}

const hlo_fusion_t* hlo_entry_func_kernel(const hlo_entry_t* entry, uint32_t number,
                                          uint32_t* out_phase) {
  const hlo_entry_func_t* func = number ? &entry->funcs.items[number - 1] : NULL;
  if (!func || func->kind != HLO_ENTRY_KERNEL || entry->base.plan->is_checked) return NULL;
  *out_phase = func->phase;
  return func->fusion;
}

const hlo_module_t* hlo_entry_module(const hlo_entry_t* entry) {
  return entry->base.plan->func->module;
}

const char* hlo_entry_func_name(const hlo_entry_t* entry, uint32_t number) {
  return entry->funcs.items[number - 1].name;
}

hlo_status_t hlo_entry_build_func(const hlo_entry_t* entry, uint32_t number,
                                  hlo_vir_module_t* module) {
  const hlo_entry_func_t* chunk = &entry->funcs.items[number - 1];
  hlo_vir_func_t* func = hlo_vir_func_create(module, chunk->name, 3, false);
  func->index = number;
  func->name = chunk->name;  // which outlives the module
  hlo_entry_context_t own = entry->base;
  own.arena = &module->arena;
  own.load_flags = chunk->kind == HLO_ENTRY_CONCURRENT
                       ? 0
                       : HLO_VIR_INVARIANT | HLO_VIR_FIXED;  // a concurrent group needs few of them
  own.funcs = NULL;
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  b.debug_id = chunk->call_site;
  hlo_entry_emit_func(&own, &b, chunk);
  hlo_vir_return(&b, hlo_vir_iconst(&b, HLO_PROGRAM_DONE));
  hlo_vir_builder_deinit(&b);
  return hlo_vir_module_status(module);
}

hlo_status_t hlo_entry_build(const hlo_plan_t* plan, const hlo_target_t* target,
                             hlo_call_site_table_t* table, hlo_arena_t* arena,
                             hlo_vir_module_t* module) {
  hlo_entry_t* entry;
  HLO_TRY(hlo_entry_create(plan, target, table, arena, module, &entry));
  for (uint32_t number = 1; number < hlo_entry_func_count(entry); ++number) {
    HLO_TRY(hlo_entry_build_func(entry, number, module));
  }
  return hlo_ok();
}
