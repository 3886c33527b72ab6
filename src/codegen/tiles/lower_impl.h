// SPDX-License-Identifier: Apache-2.0
// Shared by the files of tile/: the state of emission. Private to the folder.
#pragma once

#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"
#include "codegen/math/scalar.h"
#include "codegen/tiles/lower.h"
#include "codegen/tiles/position.h"
#include "codegen/tiles/runtime.h"
#include "codegen/vir/interval.h"

enum {
  HLO_TILE_NO_LANES = HLO_POSITION_NO_LANES,  // lane_iv: one lane
  HLO_TILE_UNROLL_FREELY = 0,
};

/// The state of emission. Blocks are emitted in order, so `done` holds what a block can see.
typedef struct hlo_tile_emitter {
  const hlo_tile_kernel_t* kernel;
  const hlo_target_t* target;
  const hlo_tile_cut_t* cut;
  hlo_vir_builder_t* b;
  hlo_vir_value_t* const* addresses;  // by buffer
  hlo_arena_t* scratch;
  hlo_expr_space_t* exprs;                   // for offsets in references
  hlo_vir_value_t* stack;                    // memory of all allocations
  int64_t* stack_offsets;                    // by number of the allocation, in bytes
  hlo_vir_value_t* ivs[HLO_EXPR_MAX_LOOPS];  // the loops' values; with lanes that of the first one
  uint32_t lane_iv;                          // the loop that has lanes
  uint32_t lanes;                            // of values that differ between its iterations
  hlo_vir_value_t* range;                    // lanes inside the loop's range; NULL: all
  hlo_vir_value_t* path;       // with lanes: those inside the range that take this path;
                               // NULL: as `range`
  const hlo_tile_op_t** ops;   // by number
  hlo_vir_value_t** done;      // by number: the value; its lanes are 1 or `lanes`
  hlo_vir_value_t*** results;  // by number: all results of an operation with regions
  bool* shared;                // by number: the reduction was computed with another one
  bool* is_written;            // by buffer: the kernel stores to it
  // Groups of threads (group.c).
  const hlo_tile_group_t* group;         // NULL: one thread
  bool is_divided;                       // each thread runs its own part here
  bool has_async;                        // copies are under way that nothing waits for yet
  bool *pending_reads, *pending_writes;  // of memory, since the threads waited for each other
  const hlo_tile_op_t* fragment;         // the accumulator whose elements are visited,
  uint32_t fragment_register;            // and the register of this one
} hlo_tile_emitter_t;

/// How lanes along a loop find their elements.
typedef enum hlo_tile_access {
  HLO_TILE_SAME,      // all the same element
  HLO_TILE_ADJACENT,  // adjacent elements
  HLO_TILE_APART,     // any elements
} hlo_tile_access_t;
hlo_tile_access_t hlo_tile_lane_access(const hlo_expr_t* offset, uint32_t iv);

/// Returns true if an expression differs between lanes.
static inline bool hlo_tile_differs(const hlo_tile_emitter_t* e, const hlo_expr_t* expr) {
  return e->lane_iv != HLO_TILE_NO_LANES && (expr->loops >> e->lane_iv & 1);
}

/// Returns the yield at the end of a region; NULL if the region yields nothing.
static inline const hlo_tile_op_t* hlo_tile_region_yield(const hlo_tile_block_t* region) {
  return region->last && region->last->kind == HLO_TILE_OP_yield ? region->last : NULL;
}

// ---- positions (index.c)

/// Returns an expression that is equal for all lanes as INDEX.
hlo_vir_value_t* hlo_tile_emit_index(hlo_tile_emitter_t* e, const hlo_expr_t* expr);
/// Returns the lanes' values of an expression.
hlo_vir_value_t* hlo_tile_emit_lane_index(hlo_tile_emitter_t* e, hlo_vir_elem_t elem,
                                          const hlo_expr_t* expr);
/// Returns the address of an element, or of adjacent ones.
hlo_element_address_t hlo_tile_emit_address(hlo_tile_emitter_t* e, hlo_vir_value_t* base,
                                            hlo_dtype_t dtype, const hlo_expr_t* offset);

// ---- memory (memory.c)

/// Returns true if an operation's elements are those of a buffer or reference at an index: load,
/// store, ref_load, ref_store, atomic.
static inline bool hlo_tile_is_access(const hlo_tile_op_t* op) {
  return op->kind == HLO_TILE_OP_load || op->kind == HLO_TILE_OP_store ||
         op->kind == HLO_TILE_OP_ref_load || op->kind == HLO_TILE_OP_ref_store ||
         op->kind == HLO_TILE_OP_atomic;
}
/// Returns the same expression in another space.
const hlo_expr_t* hlo_tile_expr_in(hlo_expr_space_t* exprs, const hlo_expr_t* expr);
/// Returns the distance of an access from the start of its buffer or reference, in elements; for
/// other operations their offset, if they have one.
const hlo_expr_t* hlo_tile_offset(hlo_expr_space_t* exprs, const hlo_tile_op_t* op);
/// Returns true if the access is known to stay inside its buffer or reference.
bool hlo_tile_stays_inside(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op);
hlo_vir_value_t* hlo_tile_emit_load(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_emit_store(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
/// Returns where the only element of an access is, and the mask (NULL: none) without which there
/// may be none; false: there never is one.
bool hlo_tile_find_element(hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                           hlo_element_address_t* out_address, hlo_vir_value_t** out_mask);

// ---- references (reference.c, mma.c)

/// Dimensions of both sides of a copy, outermost first; dimensions that are adjacent in both are
/// one.
typedef struct hlo_tile_copy_loops {
  uint32_t count;
  int64_t dims[HLO_TILE_MAX_RANK], from[HLO_TILE_MAX_RANK], to[HLO_TILE_MAX_RANK];
} hlo_tile_copy_loops_t;
hlo_tile_copy_loops_t hlo_tile_merge_dims(const hlo_tile_op_t* from, const hlo_tile_op_t* to);

/// Returns the flags of loads from a reference.
uint32_t hlo_tile_ref_flags(const hlo_tile_emitter_t* e, const hlo_tile_op_t* ref);
/// Returns the bytes from one element of a reference to the next one.
static inline int64_t hlo_tile_ref_element_bytes(const hlo_tile_op_t* ref) {
  const bool is_semaphore =
      ref->ref.space == HLO_TILE_SPACE_semaphore || ref->ref.space == HLO_TILE_SPACE_barrier;
  return is_semaphore ? HLO_TILE_SEMAPHORE_BYTES : (int64_t)hlo_dtype_size_bytes(ref->dtype);
}
/// Returns the bytes that an allocation takes on the stack, a multiple of 64.
static inline int64_t hlo_tile_alloc_bytes(const hlo_tile_op_t* op) {
  return (hlo_tile_ref_count(op) * hlo_tile_ref_element_bytes(op) + 63) / 64 * 64;
}
/// Returns where a slice starts along a dimension: a part that would leave its reference is moved
/// inside.
hlo_vir_value_t* hlo_tile_emit_start(hlo_tile_emitter_t* e, const hlo_tile_op_t* slice,
                                     uint32_t dim);
/// Returns the address of a reference's first element.
hlo_vir_value_t* hlo_tile_emit_ref(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_emit_copy(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_emit_mma(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
hlo_vir_value_t* hlo_tile_emit_guard(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);

// ---- transposes in registers (transpose.c)

/// Returns the edge of the squares in which a loop and the one inside it are transposed; 0: they
/// are no transpose.
uint32_t hlo_tile_transpose_edge(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
/// Emits such a nest; returns false for any other loop.
bool hlo_tile_emit_transpose(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);

/// A copy whose elements are adjacent along the columns where they are loaded, along the lanes
/// where they are stored.
typedef struct hlo_tile_transposed_copy {
  hlo_dtype_t dtype;
  uint32_t edge;  // hlo_tile_copy_edge()
  int64_t lanes, columns;
  int64_t row_stride, column_stride;  // in elements: of loads along the lanes, of stores along the
                                      // columns
} hlo_tile_transposed_copy_t;
/// Returns the edge of the squares of such a copy; 0: elements are copied one by one.
uint32_t hlo_tile_copy_edge(const hlo_target_t* target, hlo_dtype_t dtype, int64_t lanes,
                            int64_t columns);
void hlo_tile_copy_transposed(hlo_tile_emitter_t* e, const hlo_tile_transposed_copy_t* copy,
                              hlo_vir_value_t* from, hlo_vir_value_t* to);

// ---- iterations that wait for each other (sync.c)

/// Returns true if the iterations of a parallel loop wait for each other: for what is signalled, or
/// written, outside of the iteration that waits.
bool hlo_tile_runs_threads(const hlo_tile_op_t* op);
/// Runs the iterations of such a loop.
void hlo_tile_emit_threads(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
/// Returns true if an allocation counts signals or arrivals; false also for semaphores of copies
/// that are waited for in their own iteration, which are complete by then.
bool hlo_tile_is_counted(const hlo_tile_op_t* alloc);
/// Emits a signal, an arrival, a wait, or the signal of an asynchronous copy.
void hlo_tile_emit_sync(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_begin_semaphores(hlo_tile_emitter_t* e, const hlo_tile_op_t* alloc);
/// Checks that nothing is left in the semaphores and barriers of a block.
void hlo_tile_end_semaphores(hlo_tile_emitter_t* e, const hlo_tile_block_t* block);
/// Lets other iterations run in a `while` that polls memory.
void hlo_tile_emit_poll(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop);

// ---- atomics and prints (atomic.c)

/// Returns true if an operation reads the value.
bool hlo_tile_is_used(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op);
/// Returns true for an atomic whose results depend on the order of updates.
bool hlo_tile_is_ordered_atomic(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op);
/// Returns the element before the update.
hlo_vir_value_t* hlo_tile_emit_atomic(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
/// Returns true if the points of the tile that an operation is in are visited one after the other,
/// tile by tile, where no loop has lanes.
bool hlo_tile_visits_in_order(const hlo_tile_op_t* op);
void hlo_tile_emit_print(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);

/// Returns the elements of the contraction that share a scale in a scaled_mma; 0: the operands
/// differ in that, or other dimensions share scales, too.
int64_t hlo_tile_scale_block(const hlo_tile_op_t* mma);
/// Returns true if the atom has the types and blocks of a scaled_mma. packing: how many elements
/// are one of a row of its operands
bool hlo_tile_is_scaled_atom(const hlo_tile_atom_t* atom, const hlo_tile_op_t* mma,
                             int64_t packing);

// ---- blocks and loops (lower.c, loop.c)

/// Returns true if an operation writes memory, its regions apart (plan.c).
bool hlo_tile_writes(const hlo_tile_op_t* op);
/// Calls `visit` for the operations of a block, or of an operation's regions, and for those in
/// their regions, until it returns true, as these do then (plan.c).
typedef bool (*hlo_tile_visit_t)(const hlo_tile_op_t* op, void* context);
bool hlo_tile_any_in_block(const hlo_tile_block_t* block, hlo_tile_visit_t visit, void* context);
bool hlo_tile_any_inside(const hlo_tile_op_t* op, hlo_tile_visit_t visit, void* context);
/// Makes the tables of values, which an iteration that waits for others has of its own.
bool hlo_tile_make_values(hlo_tile_emitter_t* e);
/// Returns the loop whose iterations have the function that an operation is in; NULL: the kernel's.
const hlo_tile_op_t* hlo_tile_function_of(const hlo_tile_op_t* op);
/// Gives the allocations of the function of a loop's iterations (NULL: of the kernel) memory.
void hlo_tile_place_allocations(hlo_tile_emitter_t* e, const hlo_tile_op_t* loop);

void hlo_tile_emit_block(hlo_tile_emitter_t* e, const hlo_tile_block_t* block);
void hlo_tile_emit_op(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
/// Emits a loop or branches as one thread runs them.
void hlo_tile_emit_repeated(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
/// Returns the range of a loop, or the chunk's part of it.
hlo_vir_interval_t hlo_tile_range_of(hlo_tile_emitter_t* e, const hlo_tile_loop_t* loop);
/// Returns true if the loop is cut: a chunk runs a part of it.
bool hlo_tile_is_cut(const hlo_tile_emitter_t* e, const hlo_tile_loop_t* loop);
/// Returns the only iteration of a loop that the chunk runs; NULL: it may run several or none.
hlo_vir_value_t* hlo_tile_single_iteration(const hlo_tile_emitter_t* e,
                                           const hlo_tile_loop_t* loop);
/// Returns a value with as many lanes as its user.
hlo_vir_value_t* hlo_tile_wide(hlo_tile_emitter_t* e, hlo_vir_value_t* value, uint32_t lanes);
hlo_vir_value_t* hlo_tile_operand(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t lanes);
/// Returns the lanes of values at the current position that differ between lanes.
static inline uint32_t hlo_tile_lanes_here(const hlo_tile_emitter_t* e) {
  return e->lane_iv == HLO_TILE_NO_LANES ? 1 : e->lanes;
}
/// Truth values as 0 and -1, and back.
hlo_vir_value_t* hlo_tile_from_mask(hlo_tile_emitter_t* e, hlo_vir_value_t* mask);
hlo_vir_value_t* hlo_tile_to_mask(hlo_tile_emitter_t* e, hlo_vir_value_t* value);
hlo_vir_elem_t hlo_tile_mask_elem(const hlo_tile_emitter_t* e, uint32_t lanes);

/// Emits the work of a loop at its value: of a vector, of the lanes in range, or of one element.
/// copy: the number of the vector in the iteration.
typedef void (*hlo_tile_body_t)(hlo_tile_emitter_t* e, uint32_t copy, void* context);
/// Runs a loop over lanes: vectors, `unroll` per iteration, then the rest.
void hlo_tile_emit_lane_loop(hlo_tile_emitter_t* e, uint32_t iv, hlo_vir_interval_t range,
                             uint32_t lanes, uint32_t unroll, hlo_tile_body_t body, void* context);
/// Returns the lanes of a loop's values; 1: it has none.
uint32_t hlo_tile_choose_lanes(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                               const hlo_tile_loop_t* loop);
/// Returns how many lanes the values inside an operation can have along a loop.
uint32_t hlo_tile_count_lanes(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t iv);
/// Returns the lanes of a reduction's loop, whose index is set; 1: none has lanes.
uint32_t hlo_tile_choose_reduce_lanes(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                                      uint32_t* out_loop);
void hlo_tile_emit_loop(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);

// ---- reductions (reduce.c), elements with different paths (branch.c)

/// Returns the product that a reduction only adds up, so that it is not rounded; NULL if there is
/// none.
const hlo_tile_op_t* hlo_tile_summed_product(const hlo_tile_op_t* op);
void hlo_tile_emit_reduce(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_emit_carry(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_emit_while(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
void hlo_tile_emit_switch(hlo_tile_emitter_t* e, const hlo_tile_op_t* op);
/// Returns result `number` of an operation with regions.
void hlo_tile_set_result(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t number,
                         hlo_vir_value_t* value);
