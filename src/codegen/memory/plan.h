// SPDX-License-Identifier: Apache-2.0
// The buffer plan of a function: the allocation of every value while the program runs.
//
// Steps have one total order, so a value is live over an interval of it. Values that are the same
// bytes (views, loop values that never change) share an allocation; so do values with disjoint
// intervals where that saves a copy: a loop's slot, the body's new value and the loop's result; a
// slice update and its operand; a result and the returned value. The remaining values are put into
// results that are not written yet, or into one arena, where overlapping intervals have different
// offsets.
//
// A donated argument and the result that may take its memory are the same bytes in one run and
// different ones in another: the plan is correct in both.
#pragma once

#include "codegen/body/schedule.h"
#include "codegen/loops/kernel.h"
#include "codegen/memory/memory_check.h"
#include "ir/entry.h"

typedef enum hlo_allocation_kind {
  HLO_ALLOCATION_NONE,       // tokens, and values that never reach memory
  HLO_ALLOCATION_ARGUMENT,   // frame->buffers[index]
  HLO_ALLOCATION_RESULT,     // frame->buffers[argument_count + index] + offset_bytes
  HLO_ALLOCATION_CONSTANT,   // number `index` of the program's constants
  HLO_ALLOCATION_TEMPORARY,  // frame->temporaries + offset_bytes
  HLO_ALLOCATION_REGISTER,   // no memory: a single element that the entry keeps as value `index`
} hlo_allocation_kind_t;

typedef struct hlo_allocation {
  hlo_allocation_kind_t kind;
  uint32_t index;
  uint64_t offset_bytes;
} hlo_allocation_t;

/// A copy, to be done unless both addresses are equal at run time. A constant source may be a
/// splat.
typedef struct hlo_copy {
  hlo_allocation_t from, to;
  uint64_t size_bytes;
} hlo_copy_t;

/// Copies, in order.
typedef struct hlo_copy_list {
  uint32_t count;
  hlo_copy_t* items;
} hlo_copy_list_t;

typedef struct hlo_plan_constant {
  const hlo_value_t* value;
  bool is_read;  // by a step; otherwise only copied from
} hlo_plan_constant_t;

/// One element, or an array that fits one vector.
typedef struct hlo_plan_register {
  hlo_dtype_t dtype;
  bool is_vector;
} hlo_plan_register_t;

/// owner: the arena given to hlo_plan_create(). threads: immutable.
typedef struct hlo_plan {
  const hlo_func_t* func;
  const hlo_schedule_t* schedule;
  hlo_kernel_t* const* kernels;  // by index of the fusion; NULL: none
  uint32_t argument_count, result_count, constant_count;
  hlo_allocation_t* allocations;  // by index of the value
  hlo_allocation_t* scratch;      // by index of the fusion: its kernel's scratch memory
  const hlo_node_t** prepared;    // by index of the fusion: the loop before which its first phase
                                  // runs, since its operands never change inside; NULL: none
  bool* is_prepared_for;          // by index of the node: loops that `prepared` names
  hlo_copy_list_t* copies;  // by index of the node: before a step; of a terminator: at the end of
                            // its region
  hlo_plan_constant_t* constants;
  uint32_t register_count;
  hlo_plan_register_t* registers;
  // By argument the result that may take its memory at run time, and by result that argument; or
  // HLO_DONATED_NOWHERE.
  uint32_t *donated_to, *donor_of;
  uint64_t temporary_bytes;
  // The last ones, for operands and results of collectives that want memory of their own
  // (hlo_node_wants_collective_memory()).
  uint64_t collective_begin, collective_bytes;
  // By index of the node: such a collective's copies of operands that lie elsewhere (arguments and
  // constants), by operand, or kind NONE; NULL: none. NULL for all: no collective has any.
  hlo_allocation_t** staged;
  bool is_checked;  // the code checks its memory while it runs
  // Of a checked plan:
  const hlo_memory_check_t* memory_check;
  const uint32_t *begins, *ends;  // first and last position of a step, by index of its node
} hlo_plan_t;

/// Plans a function whose shapes are static. `kernels` by index of the fusion (they decide what may
/// share memory). Everything is allocated in `arena`; func, schedule and kernels are kept.
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_plan_create(const hlo_func_t* func, const hlo_schedule_t* schedule,
                             hlo_kernel_t* const* kernels, bool is_checked, hlo_arena_t* arena,
                             hlo_plan_t** out_plan) HLO_MUST_USE;

static inline bool hlo_plan_is_constant(const hlo_value_t* value) {
  return value->def && hlo_op_has(value->def->op, HLO_TRAIT_CONSTANT);
}

static inline hlo_allocation_t hlo_plan_allocation(const hlo_plan_t* plan,
                                                   const hlo_value_t* value) {
  return plan->allocations[value->index];
}
/// Returns true for an allocation among the temporaries of collectives.
static inline bool hlo_plan_is_collective(const hlo_plan_t* plan, hlo_allocation_t allocation) {
  return allocation.kind == HLO_ALLOCATION_TEMPORARY && plan->collective_bytes &&
         allocation.offset_bytes >= plan->collective_begin;
}
/// Returns the allocation in which a node's own call finds operand `i`: for operands that it
/// changes, that of the result; for staged ones, that of the copy.
hlo_allocation_t hlo_plan_operand_allocation(const hlo_plan_t* plan, const hlo_node_t* node,
                                             uint32_t i);

/// Prints one line per step with allocations, then its copies.
void hlo_plan_print(const hlo_plan_t* plan, hlo_strbuf_t* out);

/// Verifies the plan by running it over tokens instead of bytes, with loops twice and donation both
/// ways. errors : INTERNAL naming the first step that would read something other than its operand
hlo_status_t hlo_plan_check(const hlo_plan_t* plan) HLO_MUST_USE;
