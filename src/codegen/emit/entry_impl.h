// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of entry functions. Private to entry*.c.
#pragma once

#include "codegen/emit/entry.h"
#include "codegen/emit/entry_values.h"
#include "codegen/fuse/concurrent.h"

enum { HLO_ENTRY_WORD_BYTES = 8 };

typedef enum hlo_entry_func_kind {
  HLO_ENTRY_KERNEL,      // a phase of equal kernels: its context is a table of addresses
  HLO_ENTRY_CONCURRENT,  // all members of a concurrent group, through their own functions
} hlo_entry_func_kind_t;

/// A function that the entry calls.
typedef struct hlo_entry_func {
  const char* name;
  hlo_entry_func_kind_t kind;
  uint32_t phase, call_site;
  const hlo_fusion_t* fusion;  // the kernel: the first of equal ones
  const hlo_concurrent_group_t* concurrent_group;
  uint32_t part_count;  // number of parts of the concurrent group
  const hlo_concurrent_part_t* parts;
  const uint32_t* member_funcs;  // function numbers
} hlo_entry_func_t;

typedef struct hlo_entry_func_list {
  uint32_t count, capacity;
  hlo_entry_func_t* items;  // from number 1 on
  uint32_t* kernels;        // by index of the fusion, the first of equal ones: its function; 0:
                            // none yet
} hlo_entry_func_list_t;

/// The state of building a function. Lists and values belong to the entry: they are NULL for other
/// functions.
typedef struct hlo_entry_context {
  const hlo_plan_t* plan;
  const hlo_target_t* target;
  hlo_call_site_table_t* table;
  hlo_arena_t* arena;
  hlo_entry_values_t* values;
  hlo_entry_func_list_t* funcs;
  uint32_t load_flags;      // INVARIANT and FIXED if base addresses stay in registers
  uint32_t most_addresses;  // most addresses that a kernel's function takes
} hlo_entry_context_t;

// ---- entry_memory.c

hlo_vir_value_t* hlo_entry_allocation_address(const hlo_entry_context_t* entry,
                                              hlo_vir_builder_t* b, hlo_allocation_t allocation);
hlo_vir_value_t* hlo_entry_value_address(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                         const hlo_value_t* value);
/// Loads integers of 1 << width_log2 bytes each as INDEX.
hlo_vir_value_t* hlo_entry_load_scalar(hlo_vir_builder_t* b, hlo_vir_value_t* base, int64_t offset,
                                       uint32_t width_log2, uint32_t flags);
void hlo_entry_store_scalar(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* base,
                            int64_t offset, uint32_t width_log2);

/// Returns from the function if a call returned an error.
void hlo_entry_return_error(hlo_vir_builder_t* b, hlo_vir_value_t* answer);
/// Calls the function at an offset of the runtime's table; an error returns from the function.
void hlo_entry_call(hlo_vir_builder_t* b, size_t function, uint32_t count,
                    hlo_vir_value_t* const* arguments);
void hlo_entry_emit_call(hlo_vir_builder_t* b, uint32_t call_site_number);
/// Emits the copies that the plan places before a node.
void hlo_entry_emit_copies(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                           const hlo_node_t* node);

// ---- entry_spans.c

/// Profiled programs: emits the begin of the span of `count` steps that run as one. Returns its
/// call site for hlo_entry_end_span(); 0 in other programs.
uint32_t hlo_entry_begin_span(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                              const hlo_step_t* steps, uint32_t count);
void hlo_entry_end_span(hlo_vir_builder_t* b, uint32_t begin);

// ---- entry_kernels.c

void hlo_entry_emit_fusion(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                           const hlo_fusion_t* fusion);
void hlo_entry_emit_concurrent(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                               const hlo_concurrent_group_t* concurrent_group);
/// Emits the leading phases that run once before a loop instead of in every iteration.
void hlo_entry_emit_preparations(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                 const hlo_node_t* loop);
/// Emits the body of a listed function; `entry` has no values and functions.
void hlo_entry_emit_func(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                         const hlo_entry_func_t* func);
/// Returns its approximate number of instructions.
uint64_t hlo_entry_size_of(const hlo_entry_context_t* entry, const hlo_entry_func_t* func);
/// Returns the largest number of addresses that a kernel's function takes.
uint32_t hlo_entry_most_addresses(const hlo_entry_context_t* entry);
