// SPDX-License-Identifier: Apache-2.0
// Tile IR to vector IR: the code of any well-formed kernel, whether a fusion's or written by hand.
#pragma once

#include "codegen/tiles/group.h"

enum { HLO_TILE_MAX_CUT_LOOPS = 8 };

/// The iterations that one chunk runs: a part of each of these loops.
typedef struct hlo_tile_cut {
  uint32_t count;
  struct {
    uint32_t iv;             // of the loop
    hlo_vir_value_t* chunk;  // INDEX: the number of the part
    int64_t size;            // iterations of a part
    uint32_t lanes;          // a part is one vector of as many lanes, all inside; 0: it need not be
  } loops[HLO_TILE_MAX_CUT_LOOPS];
  const hlo_tile_group_t* group;  // the threads that run a chunk together; NULL: one does
} hlo_tile_cut_t;

/// Returns why the kernel cannot be lowered for the target.
/// errors: UNIMPLEMENTED naming the operation, RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_check_lowering(const hlo_tile_kernel_t* kernel,
                                     const hlo_target_t* target) HLO_MUST_USE;

/// Emits a kernel that hlo_tile_check_lowering() accepts at the builder's insertion point.
/// addresses: INDEX base addresses, by buffer; a buffer that is written overlaps another one only
/// where each element is read before, or in the same step as, it is written. cut: NULL for the
/// whole kernel; the loops that are cut run in any order. phase: the only operation with effects
/// that is emitted, an outermost one; NULL: all. errors: sticky in the module
void hlo_tile_emit(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                   const hlo_tile_cut_t* cut, const hlo_tile_op_t* phase, hlo_vir_builder_t* b,
                   hlo_vir_value_t* const* addresses);

/// Returns true if an operation of the kernel's block has effects: it is a phase.
bool hlo_tile_is_phase(const hlo_tile_op_t* op);

/// The chunks of a kernel. Its outermost operations with effects are phases, each of which is
/// finished before the next begins; a phase that is a parallel loop has chunks. Values that a phase
/// gives to later operations, or that others read from memory that changes, make a single phase of
/// the kernel.
typedef struct hlo_tile_plan {
  uint32_t phase_count;
  bool is_whole;           // the only phase is the kernel
  uint32_t* chunk_counts;  // by phase
  int64_t* chunk_sizes;    // by phase: iterations of its loop
} hlo_tile_plan_t;

/// Plans the chunks. owner: the arena. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_plan_chunks(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                                  hlo_arena_t* arena, hlo_tile_plan_t* out_plan) HLO_MUST_USE;

/// Adds one function per phase, of a frame, a table of the buffers' addresses, and the number of
/// the chunk. errors: sticky in the module
void hlo_tile_emit_phases(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                          const hlo_tile_plan_t* plan, hlo_vir_module_t* module);
