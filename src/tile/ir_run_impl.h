// SPDX-License-Identifier: Apache-2.0
// The state of the interpreter of Tile IR, shared by ir_run*.c. Private to tile.
#pragma once

#include "tile/ir_impl.h"
#include "tile/ir_race.h"

enum {
  HLO_RUN_MAX_BYTES = 1 << 28,  // of all values of a thread; of an allocation
  HLO_RUN_ELEMENT_BYTES = 16,   // of the widest element
};

// A running loop and its current range.
typedef struct hlo_run_active {
  uint32_t iv;
  int64_t base, count;
} hlo_run_active_t;

// Counts signals that nothing has waited for yet.
typedef struct hlo_run_semaphore {
  int64_t count;
  int64_t phase, arrived;  // of a barrier: completed phases; arrivals in the current one
  hlo_race_signals_t signals;
} hlo_run_semaphore_t;

// The memory of a buffer or an allocation.
typedef struct hlo_run_storage hlo_run_storage_t;
struct hlo_run_storage {
  const hlo_tile_op_t* op;  // the allocation; NULL: a buffer
  uint32_t buffer;
  uint8_t* data;
  int64_t count;
  size_t element_bytes;
  hlo_race_cell_t* cells;           // NULL: not checked
  hlo_run_semaphore_t* semaphores;  // one per element, of semaphores and barriers
  hlo_run_storage_t* next;          // allocated before, in this block or around it
};

// A reference at run time.
typedef struct hlo_run_view {
  hlo_run_storage_t* storage;
  int64_t offset, strides[HLO_TILE_MAX_RANK];
} hlo_run_view_t;

typedef struct hlo_run_value {
  void* data;
  const hlo_tile_op_t* op;
  int64_t count;   // number of points
  void** results;  // of operations with regions; reductions keep theirs in the type of the sums
  hlo_run_view_t* view;  // of references
} hlo_run_value_t;

// The active points where elements take different paths. Points of loops inside follow theirs.
typedef struct hlo_run_mask {
  const uint8_t* is_on;  // NULL: all
  int64_t count;
} hlo_run_mask_t;

typedef struct hlo_tile_run {
  const hlo_tile_kernel_t* kernel;
  const hlo_tile_meaning_t* meaning;
  hlo_run_storage_t* buffers;
  hlo_arena_t arena;    // for values
  hlo_arena_t scratch;  // for one operation
  hlo_arena_t memory;   // for allocations, until their blocks end
  hlo_run_value_t* values;
  hlo_run_storage_t* storages;  // the newest allocation
  hlo_run_mask_t mask;
  uint32_t depth;
  hlo_run_active_t active[HLO_TILE_MAX_DEPTH];
  hlo_races_t* races;  // NULL: not checked
  hlo_race_thread_t* thread;
} hlo_tile_run_t;

// Allocations of a block are dropped at its end.
typedef struct hlo_run_scope {
  hlo_arena_mark_t mark;
  hlo_run_storage_t* storages;
} hlo_run_scope_t;

// ---- ir_run.c

int64_t hlo_run_point_count(const hlo_tile_run_t* run);
bool hlo_run_is_on(const hlo_tile_run_t* run, int64_t point, int64_t count);
/// Returns an operand at every point of the current block, repeated for the loops inside the
/// operand's own block; NULL when memory is exhausted.
const void* hlo_run_spread(hlo_tile_run_t* run, const hlo_tile_op_t* op, int64_t count);
/// Evaluates an expression at every point; NULL when memory is exhausted.
int64_t* hlo_run_evaluate(hlo_tile_run_t* run, const hlo_expr_t* expr, int64_t count);
hlo_status_t hlo_run_map(hlo_tile_run_t* run, const hlo_tile_map_t* what, uint32_t operand_count,
                         const hlo_dtype_t* dtypes, const void* const* operands, hlo_dtype_t dtype,
                         void* result, int64_t count) HLO_MUST_USE;
/// Makes room for the values of a block and of the regions inside.
hlo_status_t hlo_run_make_values(hlo_tile_run_t* run, const hlo_tile_block_t* block) HLO_MUST_USE;
/// Runs one operation with its regions, or all of a block.
hlo_status_t hlo_run_op(hlo_tile_run_t* run, const hlo_tile_op_t* op) HLO_MUST_USE;
hlo_status_t hlo_run_block(hlo_tile_run_t* run, const hlo_tile_block_t* block) HLO_MUST_USE;
/// The results of an operation with regions: before the first step, after a step, at the end.
hlo_status_t hlo_run_put_initial(hlo_tile_run_t* run, const hlo_tile_op_t* op) HLO_MUST_USE;
hlo_status_t hlo_run_keep_yields(hlo_tile_run_t* run, const hlo_tile_op_t* op,
                                 const hlo_tile_op_t* yield) HLO_MUST_USE;
void hlo_run_take_result(hlo_tile_run_t* run, const hlo_tile_op_t* of, uint32_t number,
                         const hlo_tile_op_t* op);
/// Returns the number of the region that the operand selects at one point; the last region of a
/// switch takes all other numbers.
int64_t hlo_run_chosen(const hlo_tile_op_t* op, const void* number, int64_t region_count);

// ---- ir_run_memory.c: references, copies, products, synchronisation

hlo_run_scope_t hlo_run_enter(const hlo_tile_run_t* run);
/// errors: FAILED_PRECONDITION: signals that nothing has waited for
hlo_status_t hlo_run_leave(hlo_tile_run_t* run, hlo_run_scope_t scope) HLO_MUST_USE;
/// Runs an operation on references.
hlo_status_t hlo_run_memory(hlo_tile_run_t* run, const hlo_tile_op_t* op,
                            int64_t count) HLO_MUST_USE;
/// Returns true if the operation would wait now.
bool hlo_run_must_wait(hlo_tile_run_t* run, const hlo_tile_op_t* op);
/// Records an access to an element. errors: FAILED_PRECONDITION: unordered with an earlier one
hlo_status_t hlo_run_note(hlo_tile_run_t* run, hlo_run_storage_t* storage, int64_t element,
                          hlo_race_access_t access, const hlo_tile_op_t* op) HLO_MUST_USE;

// ---- ir_run_threads.c: iterations that wait for each other

/// Runs the kernel's block, as many iterations of parallel loops at a time as wait for each other.
hlo_status_t hlo_run_threads(hlo_tile_run_t* run) HLO_MUST_USE;
