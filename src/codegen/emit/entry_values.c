// SPDX-License-Identifier: Apache-2.0
// Single elements as values of the entry function (see entry_values.h).
#include "codegen/emit/entry_values.h"

#include <stddef.h>

#include "base/program_abi.h"

enum { WORD_BYTES = 8, MAX_ARGUMENTS = 24 };

static bool is_register(const hlo_plan_t* plan, const hlo_value_t* value, uint32_t* out_number) {
  hlo_allocation_t allocation = hlo_plan_allocation(plan, value);
  *out_number = allocation.index;
  return allocation.kind == HLO_ALLOCATION_REGISTER;
}

// ---- arguments

static bool is_donated(const hlo_plan_t* plan, uint32_t argument) {
  return plan->donated_to[argument] != HLO_DONATED_NOWHERE;
}

static void load_argument(hlo_entry_values_t* values, const hlo_value_t* value, uint32_t number) {
  hlo_vir_builder_t* b = values->b;
  uint32_t flags = HLO_VIR_INVARIANT | HLO_VIR_FIXED;
  hlo_vir_value_t* buffers =
      hlo_vir_iload(b, hlo_vir_param(b, 0), offsetof(hlo_frame_t, buffers), flags);
  hlo_element_address_t address = {
      .base = hlo_vir_iload(b, buffers, (int64_t)number * WORD_BYTES, flags)};
  values->arguments[number] = hlo_scalar_load(b, value->type->dtype, &address);
}

// Returns false for the argument's bytes taken for another type (bitcast_convert).
static bool is_argument(const hlo_plan_t* plan, const hlo_value_t* value, uint32_t number) {
  return value->type->dtype == plan->func->body->args[number]->type->dtype;
}

// Loads arguments of one element that kernels read inside loops or branches once.
static void load_arguments(hlo_entry_values_t* values) {
  const hlo_plan_t* plan = values->plan;
  uint32_t count = 0;
  for (uint32_t s = 1; s < plan->schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &plan->schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_fusion_t* fusion = sequence->steps[i].fusion;
      if (!fusion || fusion->concurrent_group ||
          !hlo_kernel_reads_values(plan->kernels[fusion->index])) {
        continue;
      }
      for (uint32_t k = 0; k < fusion->input_count; ++k) {
        const hlo_value_t* value = fusion->inputs[k];
        hlo_allocation_t allocation = hlo_plan_allocation(plan, value);
        if (allocation.kind != HLO_ALLOCATION_ARGUMENT ||
            !is_argument(plan, value, allocation.index) || !hlo_elementwise_is_scalar(value) ||
            values->arguments[allocation.index] || is_donated(plan, allocation.index)) {
          continue;
        }
        if (count++ == MAX_ARGUMENTS) return;
        load_argument(values, value, allocation.index);
      }
    }
  }
}

void hlo_entry_values_init(hlo_entry_values_t* values, const hlo_plan_t* plan,
                           const hlo_call_site_table_t* table, const hlo_target_t* target,
                           hlo_vir_builder_t* b, hlo_arena_t* arena) {
  *values = (hlo_entry_values_t){.plan = plan, .table = table, .b = b, .arena = arena};
  values->lanes = target->vector_bytes / (uint32_t)sizeof(float);
  values->registers = hlo_arena_array(arena, plan->register_count, sizeof *values->registers);
  values->arguments = hlo_arena_array(arena, plan->argument_count, sizeof *values->arguments);
  if (!arena->failed) load_arguments(values);
}

// ---- reads and writes

// NULL: no longer known.
static void set_known_value(hlo_entry_values_t* values, uint32_t number, hlo_vir_value_t* value) {
  if (!HLO_ARENA_GROW(values->arena, values->learnt, values->learnt_count, values->learnt_capacity))
    return;
  hlo_entry_register_t* r = &values->registers[number];
  values->learnt[values->learnt_count++] = (hlo_entry_change_t){number, r->value};
  r->value = value;
}

// Returns the current value of a var.
static hlo_vir_value_t* value_of_var(hlo_vir_builder_t* b, hlo_vir_value_t* var) {
  if (var->type.elem == HLO_VIR_INDEX) {
    return hlo_vir_index(b, HLO_VIR_iadd, var, hlo_vir_iconst(b, 0));
  }
  return hlo_vir_convert(b, HLO_VIR_bitcast, (hlo_vir_elem_t)var->type.elem, var);
}

static hlo_vir_value_t* zero(const hlo_entry_values_t* values, uint32_t number) {
  static const uint8_t bytes[16];
  const hlo_plan_register_t* r = &values->plan->registers[number];
  if (r->is_vector) return hlo_elementwise_constant(values->b, r->dtype, values->lanes, bytes);
  return hlo_scalar_constant(values->b, r->dtype, bytes);
}

hlo_vir_value_t* hlo_entry_values_read(hlo_entry_values_t* values, uint32_t number) {
  hlo_entry_register_t* r = &values->registers[number];
  if (r->value) return r->value;
  hlo_vir_value_t* value = r->var ? value_of_var(values->b, r->var) : zero(values, number);
  set_known_value(values, number, value);
  return value;
}

void hlo_entry_values_write(hlo_entry_values_t* values, uint32_t number, hlo_vir_value_t* value) {
  hlo_vir_value_t* var = values->registers[number].var;
  set_known_value(values, number, value);
  if (var) hlo_vir_set(values->b, var, value);
}

hlo_vir_value_t* hlo_entry_values_get(hlo_entry_values_t* values, const hlo_value_t* value) {
  hlo_allocation_t allocation = hlo_plan_allocation(values->plan, value);
  switch (allocation.kind) {
    case HLO_ALLOCATION_REGISTER: return hlo_entry_values_read(values, allocation.index);
    case HLO_ALLOCATION_ARGUMENT:
      return is_argument(values->plan, value, allocation.index)
                 ? values->arguments[allocation.index]
                 : NULL;
    case HLO_ALLOCATION_CONSTANT: {
      const void* element = values->table->constants[allocation.index];
      if (!element || !hlo_elementwise_is_scalar(value)) return NULL;
      return hlo_scalar_constant(values->b, value->type->dtype, element);
    }
    default: return NULL;
  }
}

// ---- blocks

bool* hlo_entry_values_open(hlo_entry_values_t* values, const hlo_node_t* node) {
  bool* opened = hlo_arena_array(values->arena, node->result_count, sizeof *opened);
  for (uint32_t i = 0; opened && i < node->result_count; ++i) {
    uint32_t number;
    if (!is_register(values->plan, &node->results[i], &number)) continue;
    if (values->registers[number].var) continue;
    hlo_vir_value_t* first = hlo_entry_values_read(values, number);
    values->registers[number].var = hlo_vir_var(values->b, first);
    opened[i] = true;
  }
  return opened;
}

void hlo_entry_values_close(hlo_entry_values_t* values, const hlo_node_t* node,
                            const bool* opened) {
  for (uint32_t i = 0; opened && i < node->result_count; ++i) {
    uint32_t number;
    if (!opened[i] || !is_register(values->plan, &node->results[i], &number)) continue;
    set_known_value(values, number, NULL);
    hlo_entry_values_read(values, number);
    values->registers[number].var = NULL;
  }
}

static void forget(hlo_entry_values_t* values, hlo_allocation_t allocation) {
  if (allocation.kind == HLO_ALLOCATION_REGISTER) set_known_value(values, allocation.index, NULL);
}

static void forget_copies(hlo_entry_values_t* values, const hlo_node_t* node) {
  const hlo_copy_list_t* list = &values->plan->copies[node->index];
  for (uint32_t i = 0; i < list->count; ++i) forget(values, list->items[i].to);
}

static void forget_region(hlo_entry_values_t* values, const hlo_region_t* region) {
  const hlo_plan_t* plan = values->plan;
  const hlo_sequence_t* sequence = hlo_schedule_find(plan->schedule, region);
  for (uint32_t i = 0; i < sequence->step_count; ++i) {
    const hlo_step_t* step = &sequence->steps[i];
    forget_copies(values, step->node);
    for (uint32_t o = 0; step->fusion && o < step->fusion->output_count; ++o) {
      forget(values, hlo_plan_allocation(plan, step->fusion->outputs[o]));
    }
    if (step->kind != HLO_STEP_CONTROL) continue;
    for (uint32_t r = 0; r < step->node->result_count; ++r) {
      forget(values, hlo_plan_allocation(plan, &step->node->results[r]));
    }
    for (uint32_t k = 0; k < step->node->region_count; ++k) {
      forget_region(values, step->node->regions[k]);
    }
  }
  forget_copies(values, hlo_region_terminator(region));
}

void hlo_entry_values_enter_loop(hlo_entry_values_t* values, const hlo_node_t* loop) {
  for (uint32_t k = 0; k < loop->region_count; ++k) forget_region(values, loop->regions[k]);
}

uint32_t hlo_entry_values_begin(const hlo_entry_values_t* values) {
  return values->learnt_count;
}

void hlo_entry_values_end(hlo_entry_values_t* values, uint32_t mark) {
  while (values->learnt_count > mark) {
    const hlo_entry_change_t* change = &values->learnt[--values->learnt_count];
    hlo_entry_register_t* r = &values->registers[change->number];
    r->value = r->var ? NULL : change->before;
  }
}
