// SPDX-License-Identifier: Apache-2.0
// What the parts of entry functions share. Private to entry*.c.
#ifndef HLO_CODEGEN_ENTRY_IMPL_H_
#define HLO_CODEGEN_ENTRY_IMPL_H_

#include "codegen/emit/entry.h"
#include "codegen/emit/entry_values.h"
#include "codegen/fuse/concurrent.h"

enum { HLO_ENTRY_WORD_BYTES = 8 };

typedef enum hlo_entry_func_kind {
  HLO_ENTRY_KERNEL,  // a phase of equal kernels: addresses are in the table that is its context
  HLO_ENTRY_CONCURRENT,    // of all members of a team, by functions of theirs
} hlo_entry_func_kind_t;

/// A function that the entry calls.
typedef struct hlo_entry_func {
  const char* name;
  hlo_entry_func_kind_t kind;
  uint32_t phase, call_site;
  const hlo_fusion_t* fusion;  // of the kernel: the first of equal ones
  const hlo_concurrent_group_t* concurrent_group;
  uint32_t part_count;  // the team's
  const hlo_concurrent_part_t* parts;
  const uint32_t* member_funcs;  // numbers of functions
} hlo_entry_func_t;

typedef struct hlo_entry_func_list {
  uint32_t count, capacity;
  hlo_entry_func_t* items;  // number 1 and on
  uint32_t* kernels;        // by index of the fusion, the first of equal ones: its function; 0: none yet
} hlo_entry_func_list_t;

/// What a function is built with. Lists and values are the entry's alone: NULL in others.
typedef struct hlo_entry_context {
  const hlo_plan_t* plan;
  const hlo_target_t* target;
  hlo_call_site_table_t* table;
  hlo_arena_t* arena;
  hlo_entry_values_t* values;
  hlo_entry_func_list_t* funcs;
  uint32_t load_flags;     // INVARIANT and FIXED when base addresses are kept all along
  uint32_t most_addresses;  // that a kernel's function takes
} hlo_entry_context_t;

// ---- entry_memory.c

hlo_vir_value_t* hlo_entry_allocation_address(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                         hlo_allocation_t allocation);
hlo_vir_value_t* hlo_entry_value_address(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                         const hlo_value_t* value);
/// Integers in memory, 1 << width_log2 bytes each, as INDEX.
hlo_vir_value_t* hlo_entry_load_scalar(hlo_vir_builder_t* b, hlo_vir_value_t* base, int64_t offset,
                                       uint32_t width_log2, uint32_t flags);
void hlo_entry_store_scalar(hlo_vir_builder_t* b, hlo_vir_value_t* value, hlo_vir_value_t* base,
                            int64_t offset, uint32_t width_log2);

/// Ends the function where a call answered an error.
void hlo_entry_return_error(hlo_vir_builder_t* b, hlo_vir_value_t* answer);
/// Calls what lies at an offset of the runtime's table; an error ends the function.
void hlo_entry_call(hlo_vir_builder_t* b, size_t function, uint32_t count,
                    hlo_vir_value_t* const* arguments);
void hlo_entry_emit_call(hlo_vir_builder_t* b, uint32_t call_site_number);
/// The copies that the plan has before a node.
void hlo_entry_emit_copies(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                           const hlo_node_t* node);

// ---- entry_kernels.c

void hlo_entry_emit_fusion(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                           const hlo_fusion_t* fusion);
void hlo_entry_emit_concurrent(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                         const hlo_concurrent_group_t* concurrent_group);
/// The first phases that run once before a loop instead of in every turn of it.
void hlo_entry_emit_preparations(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                                 const hlo_node_t* loop);
/// What a listed function does; entry: without values and functions.
void hlo_entry_emit_func(const hlo_entry_context_t* entry, hlo_vir_builder_t* b,
                         const hlo_entry_func_t* func);
/// About how many instructions that is.
uint64_t hlo_entry_size_of(const hlo_entry_context_t* entry, const hlo_entry_func_t* func);
/// The most addresses that the function of a kernel takes.
uint32_t hlo_entry_most_addresses(const hlo_entry_context_t* entry);

#endif  // HLO_CODEGEN_ENTRY_IMPL_H_
