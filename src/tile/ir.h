// SPDX-License-Identifier: Apache-2.0
// Tile IR: kernels as loops with operations on tiles between them. A loop whose step is larger than
// one is a dimension of the tile: a value that depends on it has one element for each iteration
// inside the step. Transposition, broadcasting, slicing and reshaping are therefore only index
// expressions; a reduction is a loop with results.
//
//   parallel d0 = 0..64 by 1 {
//     for d1 = 0..128 by 16 {
//       %0 = load 0 [128*d0 + d1] : f32
//       %1 = map add %0, %0 : f32
//       store 1 [128*d0 + d1] %1
//
// Sequential loops may carry values from step to step; `while` and `switch` have regions. Each
// element takes its own path through them: an element whose condition is false keeps its values and
// stores nothing. A tile only says how many elements are processed at a time.
//
//   %3 = for %0 over d1 = 0..8 by 1 : f32 {
//     %1 = argument 0 : f32
//     %2 = map add %1, %1 : f32
//     yield %2
//   }
//
// Loops may say how they run on the machine, operations where they come from:
//
//   parallel d0 = 0..64 by 1 chunk 8 {
//     for d1 = 0..128 by 16 lanes 8 unroll 2 {
//       %0 = load 0 [128*d0 + d1] : f32 loc("model.py":12:3)
//
// A reference is memory with a shape: a buffer, an allocation that lives until its block ends, or a
// part of one. Copies, products and synchronisation take references; ref_load and ref_store take
// elements of tiles.
//
//   %0 = reference 0 : f32[64, 128]
//   %1 = alloc near : f32[8, 128]
//   %2 = slice [8*d0, 0] sizes [8, 128] %0 : f32[8, 128]
//   copy %2, %1
//   %3 = ref_load [d1, d2] %1 : f32
//
// The iterations of a parallel loop run at the same time; copy_start's copy does too. Ends of
// loops, semaphores, barriers and atomics order them.
//
// Knows no machine, and not what elementwise operations mean: the interpreter is told.
#pragma once

#include "ir/ops.h"
#include "tile/expr.h"
#include "tile/target.h"

enum {
  HLO_TILE_MAX_OPERANDS = 16,
  HLO_TILE_MAX_REDUCE_LOOPS = 12,
  HLO_TILE_MAX_DEPTH = 64,
  HLO_TILE_MAX_ALIASES = 256,
  HLO_TILE_MAX_RANK = 8,  // of references
  HLO_TILE_VERSION = 4,   // of the text format; every version from 1 on can be read
};

typedef enum hlo_tile_op_kind {
#define HLO_TILE_OP(id, ...) HLO_TILE_OP_##id,
#include "tile/ir.def"
#undef HLO_TILE_OP
  HLO_TILE_OP_KIND_COUNT
} hlo_tile_op_kind_t;

/// Where the elements of a reference lie (ir_enums.def).
typedef enum hlo_tile_space {
#define HLO_TILE_SPACE(id) HLO_TILE_SPACE_##id,
#include "tile/ir_enums.def"
  HLO_TILE_SPACE_COUNT
} hlo_tile_space_t;

/// The update of an atomic operation (ir_enums.def).
typedef enum hlo_tile_atomic {
#define HLO_TILE_ATOMIC(id) HLO_TILE_ATOMIC_##id,
#include "tile/ir_enums.def"
  HLO_TILE_ATOMIC_COUNT
} hlo_tile_atomic_t;

/// The shape of a reference; its element type is the operation's.
typedef struct hlo_tile_ref {
  hlo_tile_space_t space;
  uint32_t rank;
  int64_t dims[HLO_TILE_MAX_RANK];
} hlo_tile_ref_t;

/// The dimensions of a product's operands; the result has batch dimensions, then the remaining ones
/// of the left, then of the right operand.
typedef struct hlo_tile_dims {
  uint32_t batch_count, contract_count;
  uint32_t left_batch[HLO_TILE_MAX_RANK], right_batch[HLO_TILE_MAX_RANK];
  uint32_t left_contract[HLO_TILE_MAX_RANK], right_contract[HLO_TILE_MAX_RANK];
} hlo_tile_dims_t;

typedef struct hlo_tile_op hlo_tile_op_t;
typedef struct hlo_tile_kernel hlo_tile_kernel_t;

/// Operations in order. The kernel's own block has no parent.
typedef struct hlo_tile_block hlo_tile_block_t;
struct hlo_tile_block {
  hlo_tile_op_t *first, *last;
  hlo_tile_op_t* parent;
  hlo_tile_block_t* next;  // next region of the parent operation
};

/// How a loop runs on the machine (ir_schedule.def); 0: not decided.
typedef struct hlo_tile_schedule {
#define HLO_TILE_SCHEDULE(id) int64_t id;
#include "tile/ir_schedule.def"
#undef HLO_TILE_SCHEDULE
} hlo_tile_schedule_t;

/// low <= variable < end in steps of `step`; the last step may be shorter.
typedef struct hlo_tile_loop {
  uint32_t iv;
  int64_t low, end, step;
  hlo_tile_schedule_t schedule;
  bool is_grid;  // a dimension of the kernel's grid, counted from the outermost
} hlo_tile_loop_t;

/// Where an operation comes from. Lines and columns count from 1.
typedef struct hlo_tile_loc {
  const char* file;  // NULL: the text of the kernel itself, whose line it is; 0: unknown
  uint32_t line, column;
} hlo_tile_loc_t;

/// An elementwise operation without its operands.
typedef struct hlo_tile_map {
  hlo_op_t op;
  int64_t direction;    // of compare
  bool is_total_order;  // of compare
} hlo_tile_map_t;

struct hlo_tile_op {
  hlo_tile_op_kind_t kind;
  hlo_tile_loc_t loc;
  uint32_t number;    // of the value: dense, in order of creation
  hlo_dtype_t dtype;  // of the value or the reference's elements; INVALID: the operation has no
                      // result
  uint32_t operand_count;
  // Reductions: initial values, or none for zeros. Loops: initial carried values.
  hlo_tile_op_t* operands[HLO_TILE_MAX_OPERANDS];
  hlo_tile_block_t* block;  // the block that contains it
  hlo_tile_op_t* next;
  const hlo_tile_layout_t* layout;  // NULL: not decided yet
  uint32_t buffer;                  // load, store
  uint32_t alias;                   // load, store: accesses with the same number share a layout; 0:
                                    // none
  const hlo_expr_t* offset;         // load, store, index, guard
  int64_t low, end;                 // guard
  hlo_tile_map_t map;
  uint8_t element[16];  // constant
  uint32_t result;      // result, argument: its number
  // References and what uses them.
  hlo_tile_ref_t ref;    // the shape of the result
  uint32_t index_count;  // ref_load, ref_store, atomic, slice; barrier_wait: the phase
  const hlo_expr_t* indices[HLO_TILE_MAX_RANK];
  int64_t sizes[HLO_TILE_MAX_RANK], strides[HLO_TILE_MAX_RANK];  // slice
  uint32_t squeezed;                        // slice: dropped dimensions of size 1, one bit each
  uint32_t permutation[HLO_TILE_MAX_RANK];  // transpose: dimension i of the result is that one
  bool is_masked;                           // ref_load, ref_store, atomic
  hlo_tile_atomic_t atomic;
  hlo_tile_dims_t dims;  // mma
  int64_t count;         // semaphores: what is added or waited for; alloc barrier: arrivals
  bool is_placed;        // alloc: `address` is decided
  int64_t address;       // alloc: bytes from the start of its space
  uint32_t dimension;    // program_id, num_programs: of the grid
  const char* label;     // print
  // Loops, reductions.
  uint32_t loop_count;
  hlo_tile_loop_t loops[HLO_TILE_MAX_REDUCE_LOOPS];
  hlo_op_t reducers[HLO_TILE_MAX_OPERANDS / 2];  // one per reduced value
  uint32_t reducer_count;
  bool is_arg;  // two values: reducers[0] (maximum or minimum) selects the value and its index; of
                // equal values the smaller index
  hlo_tile_block_t body;  // the first region
};

/// Row-major memory of the caller.
typedef struct hlo_tile_buffer {
  hlo_dtype_t dtype;
  int64_t element_count;
  bool is_output;
  bool is_prefetched;  // its numbers are known before the kernel starts: scalars for index
                       // expressions
  uint32_t rank;       // 0: one dimension with all elements
  int64_t dims[HLO_TILE_MAX_RANK];
} hlo_tile_buffer_t;

/// owner: everything is in the arena. threads: confined while it is built, immutable then.
struct hlo_tile_kernel {
  hlo_arena_t* arena;
  const char* name;
  hlo_expr_space_t exprs;
  hlo_tile_layout_space_t layouts;
  uint32_t buffer_count, value_count, iv_count;
  hlo_tile_buffer_t* buffers;
  hlo_tile_block_t body;
};

const char* hlo_tile_op_name(hlo_tile_op_kind_t kind);
/// Appends the operation as messages name it: "%3 = load (model.py:12:3)".
void hlo_tile_op_format(const hlo_tile_op_t* op, hlo_strbuf_t* out);
bool hlo_tile_op_has_result(const hlo_tile_op_t* op);
/// Returns true if the result is a reference.
bool hlo_tile_op_is_ref(const hlo_tile_op_t* op);
/// Returns true if the result is one element per point of the tile.
static inline bool hlo_tile_op_has_value(const hlo_tile_op_t* op) {
  return hlo_tile_op_has_result(op) && !hlo_tile_op_is_ref(op);
}
/// Writes the distances of a reference's elements along its dimensions, in elements.
void hlo_tile_ref_strides(const hlo_tile_op_t* op, int64_t out_strides[HLO_TILE_MAX_RANK]);
/// Returns the buffer's or allocation's operation that a reference is a part of.
const hlo_tile_op_t* hlo_tile_ref_root(const hlo_tile_op_t* op);
int64_t hlo_tile_ref_count(const hlo_tile_op_t* op);  // of elements
/// Returns true for products of references.
static inline bool hlo_tile_op_is_mma(const hlo_tile_op_t* op) {
  return op->kind == HLO_TILE_OP_mma || op->kind == HLO_TILE_OP_scaled_mma;
}
/// Returns the shape of a buffer.
hlo_tile_ref_t hlo_tile_buffer_ref(const hlo_tile_buffer_t* buffer);
const char* hlo_tile_space_name(hlo_tile_space_t space);

/// `buffers` is copied. Returns NULL when memory is exhausted.
hlo_tile_kernel_t* hlo_tile_kernel_create(hlo_arena_t* arena, const char* name,
                                          uint32_t buffer_count, const hlo_tile_buffer_t* buffers);
/// Creates a copy of `fields` with an empty body for a block, without inserting it. NULL when
/// memory is exhausted.
hlo_tile_op_t* hlo_tile_begin(hlo_tile_kernel_t* kernel, hlo_tile_block_t* block,
                              const hlo_tile_op_t* fields);
/// Adds a region after the existing ones. NULL when memory is exhausted.
hlo_tile_block_t* hlo_tile_add_region(hlo_tile_kernel_t* kernel, hlo_tile_op_t* op);
/// Appends the operation, its body being complete, to its block and numbers its result.
void hlo_tile_end(hlo_tile_kernel_t* kernel, hlo_tile_op_t* op);
/// Begins and ends an operation at once. NULL when memory is exhausted.
hlo_tile_op_t* hlo_tile_append(hlo_tile_kernel_t* kernel, hlo_tile_block_t* block,
                               const hlo_tile_op_t* fields);
/// Visits all operations in the order of the text, each after those of its regions. NULL: the end.
hlo_tile_op_t* hlo_tile_first_op(const hlo_tile_kernel_t* kernel);
hlo_tile_op_t* hlo_tile_next_op(const hlo_tile_op_t* op);
/// Numbers values in the order of the text. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_kernel_renumber(hlo_tile_kernel_t* kernel) HLO_MUST_USE;
/// Lists the loops around a block, outermost first; at most HLO_TILE_MAX_DEPTH.
uint32_t hlo_tile_block_loops(const hlo_tile_block_t* block,
                              const hlo_tile_loop_t* out_loops[HLO_TILE_MAX_DEPTH]);

/// A value as an atom of index expressions, clamped to inclusive bounds.
const hlo_expr_t* hlo_tile_value_expr(hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op,
                                      int64_t low, int64_t high);

/// Returns the least version of the text format that can express the kernel; readers of that
/// version or later can read it.
uint32_t hlo_tile_kernel_version(const hlo_tile_kernel_t* kernel);
/// Prints the kernel in that version.
void hlo_tile_kernel_print(const hlo_tile_kernel_t* kernel, hlo_strbuf_t* out);
/// Parses and verifies what any version of the printer has written; text without a version is
/// version 1. errors: INVALID_ARGUMENT with the line, RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_kernel_parse(hlo_arena_t* arena, const char* text,
                                   hlo_tile_kernel_t** out_kernel) HLO_MUST_USE;
/// errors: INVALID_ARGUMENT naming the operation
hlo_status_t hlo_tile_kernel_verify(const hlo_tile_kernel_t* kernel) HLO_MUST_USE;

/// Decides the layout of every value: lanes along one loop of each tile, such that loads, stores
/// and layout changes cost least on the target; a relayout is inserted where a value changes its
/// layout. Layouts that are already set are kept, so a relayout can be requested by hand. errors:
/// as hlo_tile_system_solve(), naming operations
hlo_status_t hlo_tile_kernel_infer(hlo_tile_kernel_t* kernel, const hlo_tile_target_t* target,
                                   uint64_t fuel) HLO_MUST_USE;

/// Gives every allocation an address in its space, a multiple of `align_bytes`. Allocations that
/// are in use at the same time share no byte; others may: each is in use from its operation to the
/// last use in its block, or to the end of the block if an asynchronous copy uses it. out_bytes:
/// how much each space needs. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_kernel_place(hlo_tile_kernel_t* kernel, int64_t align_bytes,
                                   int64_t out_bytes[HLO_TILE_SPACE_COUNT]) HLO_MUST_USE;

/// When an allocation is in use: positions in the text, both included.
typedef struct hlo_tile_lifetime {
  uint32_t start, end;
} hlo_tile_lifetime_t;

/// Finds when allocations are in use, by the number of each. owner: the arena.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_kernel_lifetimes(const hlo_tile_kernel_t* kernel, hlo_arena_t* arena,
                                       hlo_tile_lifetime_t** out_lifetimes) HLO_MUST_USE;

enum { HLO_TILE_PRINTED_ELEMENTS = 64 };
/// Formats the line of a `print`, "label %3 f32 <4 | 0:4/1 lane 1>: 1 2 - 4". operands: `count`
/// elements each; is_on: which of the first HLO_TILE_PRINTED_ELEMENTS are active; NULL: all.
void hlo_tile_print_line(const hlo_tile_op_t* op, const void* const* operands, int64_t count,
                         const bool* is_on, hlo_strbuf_t* out);

/// The semantics of elements. `context` is the first argument of both.
typedef struct hlo_tile_meaning {
  void* context;
  /// Computes `count` elements of a map; false: no such operation for these types.
  bool (*map)(void* context, const hlo_tile_map_t* map, uint32_t operand_count,
              const hlo_dtype_t* dtypes, const void* const* operands, hlo_dtype_t dtype,
              void* result, size_t count);
  /// Receives a line that the kernel prints, lent; from several threads at once where machine code
  /// runs on several. NULL: printing does nothing.
  void (*print)(void* context, const char* line);
} hlo_tile_meaning_t;

/// Interprets the kernel. Accesses outside of buffers are errors. errors: UNIMPLEMENTED (a map
/// without semantics), OUT_OF_RANGE, FAILED_PRECONDITION (iterations that wait for ever, signals
/// that nothing waited for), RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_kernel_run(const hlo_tile_kernel_t* kernel, const hlo_tile_meaning_t* meaning,
                                 void* const* buffers) HLO_MUST_USE;
/// As hlo_tile_kernel_run(), and finds accesses of parallel iterations and asynchronous copies that
/// nothing orders; whether it does is independent of the order in which they happen to run.
/// errors: FAILED_PRECONDITION naming both operations of the first race, with their lines
hlo_status_t hlo_tile_kernel_find_races(const hlo_tile_kernel_t* kernel,
                                        const hlo_tile_meaning_t* meaning,
                                        void* const* buffers) HLO_MUST_USE;
