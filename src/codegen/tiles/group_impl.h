// SPDX-License-Identifier: Apache-2.0
// Threads that share the tiles of a phase (group.c, group_mma.c, group_plan.c). Private to the
// folder.
#pragma once

#include "codegen/tiles/lower_impl.h"

/// Returns true outside of what the threads have divided: all of them run the same operation.
static inline bool hlo_tile_is_together(const hlo_tile_emitter_t* e) {
  return e->group && !e->is_divided;
}

static inline const hlo_tile_group_alloc_t* hlo_tile_group_alloc(const hlo_tile_emitter_t* e,
                                                                 const hlo_tile_op_t* root) {
  return &e->group->plan->allocs[root->number];
}

static inline hlo_vir_value_t* hlo_tile_number(hlo_tile_emitter_t* e, int64_t value) {
  return hlo_vir_iconst(e->b, value);
}
static inline hlo_vir_value_t* hlo_tile_plus(hlo_tile_emitter_t* e, hlo_vir_value_t* x,
                                             hlo_vir_value_t* y) {
  return hlo_vir_index(e->b, HLO_VIR_iadd, x, y);
}
/// Emits an INDEX operation whose second operand is a number.
static inline hlo_vir_value_t* hlo_tile_by_number(hlo_tile_emitter_t* e, hlo_vir_opcode_t op,
                                                  hlo_vir_value_t* x, int64_t y) {
  return hlo_vir_index(e->b, op, x, hlo_vir_iconst(e->b, y));
}

/// Returns true if an operation belongs to a phase, or to no single one.
bool hlo_tile_is_part_of(const hlo_tile_op_t* op, const hlo_tile_op_t* phase);
/// Returns true for a loop with stages whose body begins with copies that fill allocations.
bool hlo_tile_has_stages(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* loop);
/// Emits an operation that the threads run together; false: as without a group.
bool hlo_tile_emit_together(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
/// Begins a loop of which each thread runs its part; ends with hlo_tile_end_divided().
hlo_vir_value_t* hlo_tile_begin_divided(hlo_tile_emitter_t* e, hlo_vir_value_t* low,
                                        hlo_vir_value_t* end);
void hlo_tile_end_divided(hlo_tile_emitter_t* e);
/// Waits for all threads and their asynchronous copies.
void hlo_tile_group_sync(hlo_tile_emitter_t* e);

/// Returns the value of a loop with stages that begins its iteration.
void hlo_tile_set_stage(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop,
                        hlo_vir_value_t* iteration);
/// Notes the accesses of an operation, as if it had just run.
void hlo_tile_note_accesses(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);

// ---- bulk copies (group_bulk.c)

/// Decides which loop with stages has producers. blocks: as for hlo_tile_plan_group()
void hlo_tile_plan_bulk(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                        uint64_t blocks, hlo_tile_group_plan_t* plan);
/// Returns the bytes of the barriers of a loop with producers.
int64_t hlo_tile_barrier_bytes(const hlo_tile_group_plan_t* plan);
/// Emits an iteration of a loop around the one with producers: they and the others take separate
/// ways.
void hlo_tile_emit_producers(hlo_tile_emitter_t* e, const hlo_tile_op_t* around);
/// Emits the loop for the other threads.
void hlo_tile_emit_consumers(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop);

/// Reduces values of all threads to one that they all have: `combine` reduces two sets of `count`.
typedef void (*hlo_tile_combine_t)(hlo_tile_emitter_t* e, const void* context,
                                   hlo_vir_value_t* const* x, hlo_vir_value_t* const* y,
                                   hlo_vir_value_t** out);
void hlo_tile_group_reduce(hlo_tile_emitter_t* e, hlo_tile_combine_t combine, const void* context,
                           hlo_vir_value_t** values, uint32_t count);

/// Returns a distance in bytes as near memory has it: bits are exchanged as the swizzle says.
hlo_vir_value_t* hlo_tile_swizzled(hlo_tile_emitter_t* e, hlo_swizzle_t swizzle,
                                   hlo_vir_value_t* bytes);
/// Returns the largest power of two, at most `most`, of which a reference's start is a multiple in
/// its memory, in bytes.
int64_t hlo_tile_alignment_of(const hlo_tile_op_t* ref, int64_t most);
/// Returns the swizzle of the memory of a reference.
hlo_swizzle_t hlo_tile_swizzle_of(const hlo_tile_emitter_t* e, const hlo_tile_op_t* ref);

// ---- sums in tensor memory (group_tensor.c)

/// Returns true if a product fits an atom whose sums are in tensor memory.
bool hlo_tile_fits_tensor(const hlo_tile_op_t* mma, const hlo_tile_atom_t* atom);
/// Gives an accumulator columns of tensor memory, and registers for some of them.
void hlo_tile_plan_tensor(const hlo_tile_op_t* alloc, hlo_tile_group_plan_t* plan);
/// Rounds up to columns that can be allocated. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_plan_columns(const hlo_tile_kernel_t* kernel, hlo_tile_group_plan_t* plan);
/// Does something with each element of the thread's rows, in register `number`. `nest`: the loop
/// whose accesses these are; NULL: the elements are read.
typedef void (*hlo_tile_each_element_t)(hlo_tile_emitter_t* e, uint32_t number,
                                        hlo_vir_value_t* row, hlo_vir_value_t* column,
                                        void* context);
void hlo_tile_each_tensor_element(hlo_tile_emitter_t* e, const hlo_tile_op_t* alloc,
                                  const hlo_tile_op_t* nest, hlo_tile_each_element_t visit,
                                  void* context);
void hlo_tile_emit_tensor_mma(hlo_tile_emitter_t* e, const hlo_tile_op_t* mma);

// ---- products (group_mma.c)

/// Decides which accumulators are fragments in registers, and how warps divide them.
void hlo_tile_plan_fragments(const hlo_tile_kernel_t* kernel, const hlo_target_t* target,
                             hlo_tile_group_plan_t* plan);
/// Returns the accumulator in registers that a reference is; NULL: it is memory.
const hlo_tile_group_alloc_t* hlo_tile_fragment_of(const hlo_tile_emitter_t* e,
                                                   const hlo_tile_op_t* ref);
/// Returns the accumulator that the nest of a loop visits element by element; NULL: none.
const hlo_tile_op_t* hlo_tile_fragment_nest(const hlo_tile_group_plan_t* plan,
                                            const hlo_tile_op_t* loop);
void hlo_tile_emit_fragment_nest(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop,
                                 const hlo_tile_op_t* alloc);
/// Accesses the element of a fragment that hlo_tile_emit_fragment_nest() is at.
hlo_vir_value_t* hlo_tile_emit_fragment_load(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_emit_fragment_store(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_emit_fragment_copy(hlo_tile_emitter_t* e, const hlo_tile_op_t* copy);
void hlo_tile_emit_fragment_mma(hlo_tile_emitter_t* e, const hlo_tile_op_t* mma);
