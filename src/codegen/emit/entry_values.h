// SPDX-License-Identifier: Apache-2.0
// The single elements and small arrays that an entry function keeps as values instead of in memory:
// the plan's registers, scalar constants, and scalar arguments read inside loops.
//
// A register is a plain value wherever one definition reaches its uses. Where several do, in a loop
// or behind branches, it is open: a var beside it has what it is at run time, and what is known at
// the current place is forgotten at the end of the block that learnt it. A register that is
// not open has its earlier value again there: the block before another branch may have used
// it for its own.
#ifndef HLO_CODEGEN_ENTRY_VALUES_H_
#define HLO_CODEGEN_ENTRY_VALUES_H_

#include "codegen/lower/call_sites.h"
#include "codegen/math/scalar.h"
#include "codegen/memory/plan.h"

typedef struct hlo_entry_register {
  hlo_vir_value_t* var;    // NULL: not open
  hlo_vir_value_t* value;  // what it is here; NULL: what the var is
} hlo_entry_register_t;

/// A register whose known value changed, and what it was.
typedef struct hlo_entry_change {
  uint32_t number;
  hlo_vir_value_t* before;
} hlo_entry_change_t;

typedef struct hlo_entry_values {
  const hlo_plan_t* plan;
  const hlo_call_site_table_t* table;
  hlo_vir_builder_t* b;
  uint32_t lanes;  // of vectors of f32
  hlo_arena_t* arena;
  hlo_entry_register_t* registers;
  hlo_vir_value_t** arguments;  // by number; NULL: in memory
  hlo_entry_change_t* learnt;   // in order
  uint32_t learnt_count, learnt_capacity;
} hlo_entry_values_t;

/// errors: sticky in the arena
void hlo_entry_values_init(hlo_entry_values_t* values, const hlo_plan_t* plan,
                           const hlo_call_site_table_t* table, const hlo_target_t* target,
                           hlo_vir_builder_t* b, hlo_arena_t* arena);
/// A value of one element as INDEX or one lane; NULL when it lies in memory only.
hlo_vir_value_t* hlo_entry_values_get(hlo_entry_values_t* values, const hlo_value_t* value);
hlo_vir_value_t* hlo_entry_values_read(hlo_entry_values_t* values, uint32_t number);
void hlo_entry_values_write(hlo_entry_values_t* values, uint32_t number, hlo_vir_value_t* value);

/// Opens the registers of a loop's slots or the results of branches, if they are not open already.
/// Answers which ones it opened: result_count flags, or NULL.
bool* hlo_entry_values_open(hlo_entry_values_t* values, const hlo_node_t* node);
void hlo_entry_values_close(hlo_entry_values_t* values, const hlo_node_t* node, const bool* opened);
/// Forgets what steps of a loop change, before its first instruction.
void hlo_entry_values_enter_loop(hlo_entry_values_t* values, const hlo_node_t* loop);
/// Around the steps of a block: forgets at its end what was learnt in it, and knows again
/// what was before.
uint32_t hlo_entry_values_begin(const hlo_entry_values_t* values);
void hlo_entry_values_end(hlo_entry_values_t* values, uint32_t mark);

#endif  // HLO_CODEGEN_ENTRY_VALUES_H_
