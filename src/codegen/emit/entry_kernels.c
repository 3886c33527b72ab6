// SPDX-License-Identifier: Apache-2.0
// Kernels of entry functions: inline, or as functions shared by equal kernels or by a concurrent
// group.
#include <stddef.h>

#include "base/program_abi.h"
#include "base/tuning.h"
#include "codegen/emit/entry_impl.h"
#include "codegen/vir/guard.h"

static const hlo_vir_type_t kIndex = {HLO_VIR_INDEX, 1};

// ---- addresses

static uint32_t address_count(const hlo_entry_context_t* entry, const hlo_fusion_t* fusion) {
  bool has_scratch = entry->plan->scratch[fusion->index].kind != HLO_ALLOCATION_NONE;
  return fusion->input_count + fusion->output_count + has_scratch;
}

// The inputs, outputs and scratch memory of a kernel: addresses, or values of single elements.
typedef struct kernel_allocations {
  hlo_vir_value_t **addresses, **values;  // NULL when memory is exhausted, which the arena records
} kernel_allocations_t;

static kernel_allocations_t find_kernel_allocations(const hlo_entry_context_t* entry,
                                                    hlo_vir_builder_t* b,
                                                    const hlo_fusion_t* fusion) {
  const hlo_plan_t* plan = entry->plan;
  uint32_t count = fusion->input_count + fusion->output_count;
  kernel_allocations_t allocations = {
      .addresses = hlo_arena_array(entry->arena, count + 1, sizeof(*allocations.addresses)),
      .values = hlo_arena_array(entry->arena, count + 1, sizeof(*allocations.values))};
  if (!allocations.addresses || !allocations.values) return (kernel_allocations_t){0};
  bool takes_values = entry->values && hlo_kernel_reads_values(plan->kernels[fusion->index]);
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    if (takes_values)
      allocations.values[i] = hlo_entry_values_get(entry->values, fusion->inputs[i]);
    if (!allocations.values[i])
      allocations.addresses[i] = hlo_entry_value_address(entry, b, fusion->inputs[i]);
  }
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    if (hlo_plan_allocation(plan, fusion->outputs[i]).kind == HLO_ALLOCATION_REGISTER) continue;
    allocations.addresses[fusion->input_count + i] =
        hlo_entry_value_address(entry, b, fusion->outputs[i]);
  }
  hlo_allocation_t scratch = plan->scratch[fusion->index];
  if (scratch.kind != HLO_ALLOCATION_NONE)
    allocations.addresses[count] = hlo_entry_allocation_address(entry, b, scratch);
  return allocations;
}

// Loads the same from a table passed to the function.
static kernel_allocations_t given_allocations(const hlo_entry_context_t* entry,
                                              hlo_vir_builder_t* b, const hlo_fusion_t* fusion) {
  uint32_t count = address_count(entry, fusion);
  kernel_allocations_t allocations = {
      .addresses = hlo_arena_array(entry->arena, count, sizeof(*allocations.addresses))};
  for (uint32_t i = 0; allocations.addresses && i < count; ++i) {
    allocations.addresses[i] =
        hlo_vir_iload(b, hlo_vir_param(b, 1), (int64_t)i * HLO_ENTRY_WORD_BYTES,
                      HLO_VIR_INVARIANT | HLO_VIR_FIXED);
  }
  return allocations;
}

// Checked code: turns the addresses into those of buffers with known sizes.
static void guard_allocations(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                              const hlo_fusion_t* fusion, const kernel_allocations_t* allocations) {
  uint32_t values = fusion->input_count + fusion->output_count;
  for (uint32_t i = 0; i < address_count(entry, fusion); ++i) {
    const hlo_value_t* value = i < fusion->input_count ? fusion->inputs[i]
                               : i < values            ? fusion->outputs[i - fusion->input_count]
                                                       : NULL;
    uint64_t bytes = value ? hlo_type_size_bytes(value->type)
                           : hlo_kernel_scratch_bytes(entry->plan->kernels[fusion->index]);
    if (allocations->addresses[i]) {
      allocations->addresses[i] = hlo_vir_guard(b, allocations->addresses[i], bytes);
    }
  }
}

static void emit_phase(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                       const hlo_fusion_t* fusion, uint32_t phase,
                       const kernel_allocations_t* allocations, hlo_vir_value_t* chunk) {
  if (!allocations->addresses) return;
  hlo_vir_guards_t guards;
  if (entry->plan->is_checked) {
    hlo_vir_guards_begin(b, &guards);
    guard_allocations(entry, b, fusion, allocations);
  }
  hlo_kernel_emit(entry->plan->kernels[fusion->index], phase, b, allocations->addresses,
                  allocations->values, chunk);
  if (entry->plan->is_checked) hlo_vir_guards_end(b);
  for (uint32_t i = 0; entry->values && i < fusion->output_count; ++i) {
    hlo_allocation_t allocation = hlo_plan_allocation(entry->plan, fusion->outputs[i]);
    hlo_vir_value_t* value = allocations->values[fusion->input_count + i];
    if (allocation.kind == HLO_ALLOCATION_REGISTER && value) {
      hlo_entry_values_write(entry->values, allocation.index, value);
    }
  }
}

static const char* name_of(const hlo_entry_func_t* func, hlo_arena_t* arena) {
  if (func->kind == HLO_ENTRY_CONCURRENT) {
    return hlo_arena_printf(arena, "team%u_%u", func->concurrent_group->index, func->phase);
  }
  uint32_t index = func->fusion->index;
  return func->phase ? hlo_arena_printf(arena, "chunk%u_%u", index, func->phase)
                     : hlo_arena_printf(arena, "chunk%u", index);
}

// Adds a function to be built later and returns its number.
static uint32_t add_func(const hlo_entry_context_t* entry, const hlo_entry_func_t* func) {
  hlo_entry_func_list_t* list = entry->funcs;
  if (!HLO_ARENA_GROW(entry->arena, list->items, list->count, list->capacity))
    return 0;  // the arena records the failure
  list->items[list->count] = *func;
  list->items[list->count++].name = name_of(func, entry->arena);
  return list->count;
}

static void emit_chunk_func(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                            const hlo_entry_func_t* func) {
  const hlo_fusion_t* fusion = func->fusion;
  kernel_allocations_t allocations = given_allocations(entry, b, fusion);
  bool is_cut = hlo_kernel_chunk_count(entry->plan->kernels[fusion->index], func->phase) > 1;
  emit_phase(entry, b, fusion, func->phase, &allocations, is_cut ? hlo_vir_param(b, 2) : NULL);
}

static void emit_chunks(hlo_vir_builder_t* b, uint64_t count, uint32_t func,
                        hlo_vir_value_t* context) {
  hlo_vir_value_t* arguments[] = {hlo_vir_iconst(b, (int64_t)count),
                                  hlo_vir_emit(b, HLO_VIR_func_address, kIndex, 0, func, 0, NULL),
                                  context};
  hlo_entry_call(b, offsetof(hlo_runtime_table_t, parallel_for), 3, arguments);
}

typedef struct phase_range {
  uint32_t first, end;
} phase_range_t;

// Returns the function of the first phase; the other phases follow it. Debug ids begin with one
// shared by all equal kernels.
static uint32_t kernel_func(const hlo_entry_context_t* entry, const hlo_fusion_t* fusion) {
  if (fusion->model) fusion = fusion->model;
  uint32_t phases = hlo_kernel_phase_count(entry->plan->kernels[fusion->index]);
  uint32_t* func = &entry->funcs->kernels[fusion->index];
  for (uint32_t phase = 0; phase < phases && !*func; ++phase) {
    const hlo_entry_func_t made = {.kind = HLO_ENTRY_KERNEL,
                                   .fusion = fusion,
                                   .phase = phase,
                                   .call_site = hlo_call_site_number(fusion->nodes[0])};
    uint32_t number = add_func(entry, &made);
    if (phase + 1 == phases) *func = number + 1 - phases;
  }
  return *func;
}

// Builds the context of such a function; NULL when memory is exhausted, which the arena records.
static hlo_vir_value_t* emit_table(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                   const hlo_fusion_t* fusion) {
  kernel_allocations_t allocations = find_kernel_allocations(entry, b, fusion);
  if (!allocations.addresses) return NULL;
  hlo_vir_value_t* table = hlo_vir_emit(
      b, HLO_VIR_stack, kIndex, 0, (int64_t)entry->most_addresses * HLO_ENTRY_WORD_BYTES, 0, NULL);
  for (uint32_t i = 0; i < address_count(entry, fusion); ++i) {
    hlo_vir_istore(b, allocations.addresses[i], table, (int64_t)i * HLO_ENTRY_WORD_BYTES, 0);
  }
  return table;
}

static void emit_chunk_call(const hlo_entry_context_t* entry, hlo_vir_builder_t* b, uint32_t func,
                            hlo_vir_value_t* context, hlo_vir_value_t* chunk) {
  hlo_vir_value_t* answer = hlo_vir_call_chunk(b, func, context, chunk);
  if (entry->plan->is_checked) hlo_entry_return_error(b, answer);  // other code returns no error
}

static void emit_calls(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                       const hlo_fusion_t* fusion, phase_range_t range) {
  uint32_t func = kernel_func(entry, fusion);
  hlo_vir_value_t* table = emit_table(entry, b, fusion);
  if (!table) return;
  for (uint32_t phase = range.first; phase < range.end; ++phase) {
    uint64_t chunks = hlo_kernel_chunk_count(entry->plan->kernels[fusion->index], phase);
    if (chunks > 1) {
      emit_chunks(b, chunks, func + phase, table);
    } else {
      emit_chunk_call(entry, b, func + phase, table, hlo_vir_iconst(b, 0));
    }
  }
}

static void emit_phases(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                        const hlo_fusion_t* fusion, phase_range_t range) {
  if (hlo_kernel_is_called(entry->plan->kernels[fusion->index])) {
    emit_calls(entry, b, fusion, range);
    return;
  }
  for (uint32_t phase = range.first; phase < range.end; ++phase) {
    kernel_allocations_t allocations = find_kernel_allocations(entry, b, fusion);
    emit_phase(entry, b, fusion, phase, &allocations, NULL);
  }
}

void hlo_entry_emit_fusion(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                           const hlo_fusion_t* fusion) {
  uint32_t tile_call_site = hlo_call_site_tile_number(entry->table, fusion->index);
  if (tile_call_site) {
    hlo_entry_emit_call(b, tile_call_site);
    return;
  }
  uint32_t end = hlo_kernel_phase_count(entry->plan->kernels[fusion->index]);
  emit_phases(entry, b, fusion, (phase_range_t){entry->plan->prepared[fusion->index] ? 1 : 0, end});
}

void hlo_entry_emit_preparations(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                 const hlo_node_t* loop) {
  const hlo_schedule_t* schedule = entry->plan->schedule;
  uint32_t sequences = entry->plan->is_prepared_for[loop->index] ? schedule->sequence_count : 0;
  for (uint32_t s = 0; s < sequences; ++s) {
    const hlo_sequence_t* sequence = &schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      const hlo_fusion_t* fusion = sequence->steps[i].fusion;
      if (!fusion || entry->plan->prepared[fusion->index] != loop) continue;
      emit_phases(entry, b, fusion, (phase_range_t){0, 1});
    }
  }
}

// ---- concurrent groups

static bool has_phase(const hlo_entry_context_t* entry, const hlo_fusion_t* fusion,
                      uint32_t phase) {
  if (phase == 0 && entry->plan->prepared[fusion->index]) return false;  // it ran before the loop
  return phase < hlo_kernel_phase_count(entry->plan->kernels[fusion->index]);
}

static void emit_member(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                        const hlo_entry_func_t* func, const hlo_concurrent_part_t* part,
                        uint32_t member) {
  const hlo_fusion_t* fusion = func->concurrent_group->members[member];
  if (!has_phase(entry, fusion, func->phase)) return;
  hlo_vir_value_t* table = emit_table(entry, b, fusion);
  if (!table) return;
  hlo_vir_value_t* chunk = hlo_vir_iconst(b, 0);
  if (part->count > 1) {
    hlo_vir_value_t* first = hlo_vir_iconst(b, (int64_t)part->first);
    chunk = hlo_vir_index(b, HLO_VIR_isub, hlo_vir_param(b, 2), first);
  }
  emit_chunk_call(entry, b, func->member_funcs[member], table, chunk);
}

// Finds the part of a chunk by bisection.
static void emit_parts(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                       const hlo_entry_func_t* func, uint32_t first, uint32_t end) {
  const hlo_concurrent_part_t* part = &func->parts[first];
  if (end - first == 1) {
    for (uint32_t m = part->first_member; m < part->end_member; ++m) {
      emit_member(entry, b, func, part, m);
    }
    return;
  }
  uint32_t middle = (first + end) / 2;
  hlo_vir_value_t* bound = hlo_vir_iconst(b, (int64_t)func->parts[middle].first);
  hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_LT, hlo_vir_param(b, 2), bound));
  emit_parts(entry, b, func, first, middle);
  hlo_vir_begin_else(b);
  emit_parts(entry, b, func, middle, end);
  hlo_vir_end(b);
}

// Returns the functions of the members with this phase; NULL when memory is exhausted, which the
// arena records.
static const uint32_t* add_member_funcs(const hlo_entry_context_t* entry,
                                        const hlo_concurrent_group_t* concurrent_group,
                                        uint32_t phase) {
  uint32_t* funcs = hlo_arena_array(entry->arena, concurrent_group->member_count, sizeof *funcs);
  for (uint32_t m = 0; funcs && m < concurrent_group->member_count; ++m) {
    const hlo_fusion_t* fusion = concurrent_group->members[m];
    if (has_phase(entry, fusion, phase)) funcs[m] = kernel_func(entry, fusion) + phase;
  }
  return funcs;
}

static bool has_any_phase(const hlo_entry_context_t* entry,
                          const hlo_concurrent_group_t* concurrent_group, uint32_t phase) {
  for (uint32_t m = 0; m < concurrent_group->member_count; ++m) {
    if (has_phase(entry, concurrent_group->members[m], phase)) return true;
  }
  return false;
}

static void emit_concurrent_group_phase(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                        const hlo_concurrent_group_t* concurrent_group,
                                        uint32_t phase) {
  if (!has_any_phase(entry, concurrent_group, phase)) return;
  uint32_t count;
  hlo_concurrent_part_t* parts;
  if (!hlo_status_take_ok(hlo_concurrent_group_split(concurrent_group, entry->target, phase,
                                                     entry->arena, &count, &parts)))
    return;  // the arena records the failure
  const hlo_entry_func_t all = {.kind = HLO_ENTRY_CONCURRENT,
                                .concurrent_group = concurrent_group,
                                .phase = phase,
                                .call_site = b->debug_id,
                                .part_count = count,
                                .parts = parts,
                                .member_funcs = add_member_funcs(entry, concurrent_group, phase)};
  uint32_t func = add_func(entry, &all);
  uint64_t chunks = parts[count - 1].first + parts[count - 1].count;
  if (chunks > 1) {
    emit_chunks(b, chunks, func, hlo_vir_iconst(b, 0));
  } else {
    emit_chunk_call(entry, b, func, hlo_vir_iconst(b, 0), hlo_vir_iconst(b, 0));
  }
}

void hlo_entry_emit_concurrent(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                               const hlo_concurrent_group_t* concurrent_group) {
  uint32_t phases = hlo_concurrent_phase_count(concurrent_group);
  for (uint32_t phase = 0; phase < phases; ++phase)
    emit_concurrent_group_phase(entry, b, concurrent_group, phase);
}

// ---- functions

void hlo_entry_emit_func(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                         const hlo_entry_func_t* func) {
  if (func->kind == HLO_ENTRY_CONCURRENT) {
    emit_parts(entry, b, func, 0, func->part_count);
  } else {
    emit_chunk_func(entry, b, func);
  }
}

uint64_t hlo_entry_size_of(const hlo_entry_context_t* entry, const hlo_entry_func_t* func) {
  return func->kind == HLO_ENTRY_CONCURRENT
             ? HLO_TUNING_GROUP_PART_SIZE * (uint64_t)func->part_count
             : hlo_kernel_code_size(entry->plan->kernels[func->fusion->index]);
}

uint32_t hlo_entry_most_addresses(const hlo_entry_context_t* entry) {
  const hlo_plan_t* plan = entry->plan;
  uint32_t most = 0;
  const hlo_step_t* step;
  for (hlo_step_cursor_t cursor = {0}; (step = hlo_schedule_step(plan->schedule, &cursor));) {
    const hlo_fusion_t* fusion = step->fusion;
    if (!fusion ||
        !(fusion->concurrent_group || hlo_kernel_is_called(plan->kernels[fusion->index])))
      continue;
    uint32_t words = address_count(entry, fusion);
    if (words > most) most = words;
  }
  return most;
}
