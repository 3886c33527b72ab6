// SPDX-License-Identifier: Apache-2.0
// The single elements and small arrays that an entry function keeps as values instead of in memory:
// the plan's registers, scalar constants, and scalar arguments read inside loops.
//
// A register is a plain value as long as one definition reaches its uses. If several definitions
// reach a use, in a loop or after branches, the register is open: a var holds its value at run
// time, and a value known at the current position is forgotten at the end of the block that defined
// it. A register that is not open gets its earlier value back there: another branch's block may
// have set it.
#pragma once

#include "codegen/lower/call_sites.h"
#include "codegen/math/scalar.h"
#include "codegen/memory/plan.h"

typedef struct hlo_entry_register {
  hlo_vir_value_t* var;    // NULL: not open
  hlo_vir_value_t* value;  // current value; NULL: that of the var
} hlo_entry_register_t;

/// A register whose known value changed, and its previous value.
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
  hlo_entry_change_t* learnt;   // in order of the changes
  uint32_t learnt_count, learnt_capacity;
} hlo_entry_values_t;

/// errors : sticky in the arena
void hlo_entry_values_init(hlo_entry_values_t* values, const hlo_plan_t* plan,
                           const hlo_call_site_table_t* table, const hlo_target_t* target,
                           hlo_vir_builder_t* b, hlo_arena_t* arena);
/// Returns a value of one element as INDEX or one lane; NULL if it is in memory only.
hlo_vir_value_t* hlo_entry_values_get(hlo_entry_values_t* values, const hlo_value_t* value);
hlo_vir_value_t* hlo_entry_values_read(hlo_entry_values_t* values, uint32_t number);
void hlo_entry_values_write(hlo_entry_values_t* values, uint32_t number, hlo_vir_value_t* value);

/// Opens the registers of a loop's slots or the results of branches unless they are open. Returns
/// which ones it opened: result_count flags, or NULL.
bool* hlo_entry_values_open(hlo_entry_values_t* values, const hlo_node_t* node);
void hlo_entry_values_close(hlo_entry_values_t* values, const hlo_node_t* node, const bool* opened);
/// Forgets the values that steps of a loop change, before its first instruction.
void hlo_entry_values_enter_loop(hlo_entry_values_t* values, const hlo_node_t* loop);
/// Brackets the steps of a block: its end restores the values known before the block.
uint32_t hlo_entry_values_begin(const hlo_entry_values_t* values);
void hlo_entry_values_end(hlo_entry_values_t* values, uint32_t mark);
