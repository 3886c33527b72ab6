// SPDX-License-Identifier: Apache-2.0
// Library calls of compiled programs: functions of single nodes, copies, failed checks. They are
// prepared once per program; a call only converts allocations to addresses.
#pragma once

#include "base/program_abi.h"
#include "codegen/body/call_site.h"
#include "codegen/memory/plan.h"
#include "lib/call.h"
#include "lib/exchange.h"

typedef struct hlo_call_site {
  const hlo_node_t* node;               // NULL: an unused number
  const hlo_allocation_t* allocations;  // operands, results
  hlo_lib_call_t* library;              // NULL: a collective, send, recv or foreign function
  const hlo_exchange_t* exchange;       // of a collective; one process performs it for all
  uint32_t foreign_number;  // of a foreign function's call: its position in the table's list
                            // of them, + 1; else 0
} hlo_call_site_t;

/// A kernel that the Tile IR interpreter runs.
typedef struct hlo_tile_call_site {
  const struct hlo_tile_kernel* kernel;  // NULL: no kernel
  const hlo_allocation_t* allocations;   // inputs, outputs
} hlo_tile_call_site_t;

/// A copy that is too large for inline code.
typedef struct hlo_copy_call_site {
  hlo_copy_t copy;
  const hlo_literal_t* splat;  // value to fill with; NULL: `copy.from` is memory
} hlo_copy_call_site_t;

/// A memory check of the temporaries of a checked program; its call site number is
/// HLO_CALL_SITE_MEMORY_CHECK + index.
typedef struct hlo_memory_check_call_site {
  hlo_memory_check_event_t event;
  const hlo_node_t* node;  // the step, or the terminator
} hlo_memory_check_call_site_t;

/// A step of a profiled program, whose executions are spans of traces and recordings. The facts are
/// counted from shapes. owner: the table's arena
typedef struct hlo_step_span {
  const char* name;      // "fusion 5: dot_general, add"
  const char* place;     // "model.py:3:7", as hlo_loc_format() writes it; NULL: unknown
  int64_t flops, bytes;  // of one execution; bytes of operands and results
  int64_t roofline_ps;   // the least time that the machine's rates allow
} hlo_step_span_t;

/// The target of frame->program. Immutable after construction.
typedef struct hlo_call_site_table {
  void* const* constants;  // first, where generated code reads it
  const hlo_module_t* module;
  const hlo_func_t* func;
  uint32_t argument_count, constant_count;
  uint32_t node_count;  // number of call sites
  uint32_t foreign_count;
  const hlo_node_t** foreign_nodes;  // the calls of foreign functions
  uint32_t copy_count, copy_capacity;
  uint32_t tile_count;  // 0: no kernel is interpreted
  hlo_call_site_t* call_sites;
  hlo_copy_call_site_t* copies;
  const hlo_memory_check_t* memory_check;  // NULL: not checked
  uint32_t memory_check_count, memory_check_capacity;
  hlo_memory_check_call_site_t* memory_checks;
  bool is_profiled;  // steps have spans
  uint32_t step_span_count, step_span_capacity;
  hlo_step_span_t* step_spans;
  size_t
      step_times_offset;  // in frame->saved: 8 bytes for the begin of each step; set by the owner
  const hlo_plan_constant_t* constant_values;
  hlo_tile_call_site_t* tiles;                  // by index of the fusion
  const struct hlo_tile_meaning* tile_meaning;  // of their elements; set by the owner
  void** owned_constants;  // by constant; NULL if the literal's own bytes are used
} hlo_call_site_table_t;

/// Creates the call sites and constants of a planned program; the module must outlive the table.
/// Allocations are copied from the plan.
/// owner  : hlo_call_site_table_deinit(), also after failure
/// errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_call_site_table_init(const hlo_plan_t* plan, hlo_arena_t* arena,
                                      hlo_call_site_table_t* out_table) HLO_MUST_USE;
void hlo_call_site_table_deinit(hlo_call_site_table_t* table);
/// Returns the number of the fusion's interpreted Tile IR; 0: its loops are compiled.
uint32_t hlo_call_site_tile_number(const hlo_call_site_table_t* table, uint32_t fusion);
/// Returns the literal of a constant; NULL for any other value.
const hlo_literal_t* hlo_call_site_literal(const hlo_value_t* value);
/// Returns the number of values of a node's call: operands, results.
static inline uint32_t hlo_call_site_value_count(const hlo_node_t* node) {
  return node->operand_count + node->result_count;
}
/// Does the same as hlo_call_site_table_init() without call sites: the caller adds up to
/// `node_count` of them later. The constants are copied.
hlo_status_t hlo_call_site_table_begin(const hlo_func_t* func, uint32_t node_count,
                                       uint32_t constant_count,
                                       const hlo_plan_constant_t* constants, hlo_arena_t* arena,
                                       hlo_call_site_table_t* out_table) HLO_MUST_USE;
/// Adds the call site of a node; the caller fills in its hlo_call_site_value_count() allocations.
hlo_status_t hlo_call_site_table_add(hlo_call_site_table_t* table, uint32_t number,
                                     const hlo_node_t* node, hlo_arena_t* arena,
                                     hlo_allocation_t** out_allocations) HLO_MUST_USE;
/// Prepares the collectives among the call sites for a grid of processes, and lists the calls of
/// foreign functions.
/// errors : RESOURCE_EXHAUSTED; UNIMPLEMENTED, naming a node without a function and its place
hlo_status_t hlo_call_site_table_prepare(hlo_call_site_table_t* table, uint32_t replica_count,
                                         uint32_t partition_count, hlo_arena_t* arena) HLO_MUST_USE;
/// Adds a copy and returns its call site number, or 0 when memory is exhausted (the arena has
/// failed).
uint32_t hlo_call_site_table_add_copy(hlo_call_site_table_t* table, const hlo_copy_t* copy,
                                      hlo_arena_t* arena);
/// Adds a memory check; returns 0 when memory is exhausted.
uint32_t hlo_call_site_table_add_memory_check(hlo_call_site_table_t* table,
                                              const hlo_memory_check_call_site_t* memory_check,
                                              hlo_arena_t* arena);

/// Adds a step of a profiled program and returns the number of the call site that begins its span;
/// 0 when memory is exhausted.
uint32_t hlo_call_site_table_add_step_span(hlo_call_site_table_t* table,
                                           const hlo_step_span_t* span, hlo_arena_t* arena);

/// The functions of hlo_runtime_table_t for compiled programs. buffers NULL: the planned
/// allocations; otherwise operands, results.
int32_t hlo_call_site_call(hlo_frame_t* frame, uint32_t call_site_number, void* const* buffers);
/// Performs a collective of a single process.
int32_t hlo_call_site_exchange(hlo_frame_t* frame, uint32_t call_site_number);
/// Fills in the addresses of a call site's operands and results, in this order, in a run of the
/// program.
void hlo_call_site_addresses(const hlo_frame_t* frame, const hlo_call_site_t* call_site,
                             void** out_addresses);
/// Returns the call site of a number, in the table of the frame's program.
const hlo_call_site_t* hlo_call_site_of(const hlo_frame_t* frame, uint32_t call_site_number);
int32_t hlo_call_site_check_failed(hlo_frame_t* frame, uint32_t call_site_number, int64_t found,
                                   int64_t limit);
/// Sets the frame's error unless it has one; takes ownership of `status`. Returns
/// HLO_PROGRAM_ERROR.
int32_t hlo_call_site_fail(hlo_frame_t* frame, uint32_t call_site_number, hlo_status_t status);
