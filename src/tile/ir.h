// SPDX-License-Identifier: Apache-2.0
// Tile IR: kernels as loops over digits with operations on tiles between them. A digit that goes in
// steps of more than one is a dimension of the tile: a value that depends on it has an element for
// each of its numbers inside of the step. So transposition, broadcasting, slicing and reshaping are
// only index expressions; a reduction is a loop that has values.
//
//   parallel d0 = 0..64 by 1 {
//     for d1 = 0..128 by 16 {
//       %0 = load 0 [128*d0 + d1] : f32
//       %1 = map add %0, %0 : f32
//       store 1 [128*d0 + d1] %1
//
// Sequential loops may hand values from step to step, `while` and `switch` have regions: every
// element goes its own way through them (one whose condition is false keeps its values and stores
// nothing), so that a tile only says how many go at a time.
//
//   %3 = for %0 over d1 = 0..8 by 1 : f32 {
//     %1 = argument 0 : f32
//     %2 = map add %1, %1 : f32
//     yield %2
//   }
//
// Knows no machine and no meaning of elementwise operations: the interpreter is given it.
#ifndef HLO_TILE_IR_H_
#define HLO_TILE_IR_H_

#include "ir/ops.h"
#include "tile/expr.h"
#include "tile/target.h"

enum {
  HLO_TILE_MAX_OPERANDS = 16,
  HLO_TILE_MAX_REDUCE_DIGITS = 12,
  HLO_TILE_MAX_DEPTH = 64,
  HLO_TILE_MAX_ALIASES = 256,
  HLO_TILE_VERSION = 2,  // of the text; all from 1 on are read
};

typedef enum hlo_tile_op_kind {
#define HLO_TILE_OP(id, ...) HLO_TILE_OP_##id,
#include "tile/ir.def"
#undef HLO_TILE_OP
  HLO_TILE_OP_KIND_COUNT
} hlo_tile_op_kind_t;

typedef struct hlo_tile_op hlo_tile_op_t;

/// Operations in order. The kernel's own has no parent.
typedef struct hlo_tile_block hlo_tile_block_t;
struct hlo_tile_block {
  hlo_tile_op_t *first, *last;
  hlo_tile_op_t* parent;
  hlo_tile_block_t* next;  // region of the parent
};

/// low <= digit < end in steps of `step`, the last of which may be shorter.
typedef struct hlo_tile_loop {
  uint32_t digit;
  int64_t low, end, step;
} hlo_tile_loop_t;

/// An elementwise operation without its operands.
typedef struct hlo_tile_map {
  hlo_op_t op;
  int64_t direction;    // of compare
  bool is_total_order;  // of compare
} hlo_tile_map_t;

struct hlo_tile_op {
  hlo_tile_op_kind_t kind;
  uint32_t number;    // of the value; dense, in order of making
  hlo_dtype_t dtype;  // of the value; INVALID: there is none
  uint32_t operand_count;
  // Of a reduce: initial values; none: zeros. Of loops: initial values of what goes from step to
  // step.
  hlo_tile_op_t* operands[HLO_TILE_MAX_OPERANDS];
  hlo_tile_block_t* block;  // that it is in
  hlo_tile_op_t* next;
  const hlo_tile_layout_t* layout;  // NULL: not decided
  uint32_t buffer;                  // load, store
  uint32_t alias;                   // load, store: those of one number lie alike; 0: none
  const hlo_expr_t* offset;         // load, store, index, guard
  int64_t low, end;                 // guard
  hlo_tile_map_t map;
  uint8_t element[16];  // constant
  uint32_t result;      // result, argument: number of it
  // Loops, reductions.
  uint32_t loop_count;
  hlo_tile_loop_t loops[HLO_TILE_MAX_REDUCE_DIGITS];
  hlo_op_t
      reducers[HLO_TILE_MAX_OPERANDS / 2];  // for each value of a reduce, of which there is one
  uint32_t reducer_count;
  bool is_arg;  // two values: the better by reducers[0] (maximum, minimum) with its index, the
                // smaller one of equals
  hlo_tile_block_t body;  // the first region
};

typedef struct hlo_tile_buffer {
  hlo_dtype_t dtype;
  int64_t element_count;
  bool is_output;
} hlo_tile_buffer_t;

/// owner: everything is in the arena. threads: confined while it is built, immutable then.
typedef struct hlo_tile_kernel {
  hlo_arena_t* arena;
  const char* name;
  hlo_expr_space_t exprs;
  hlo_tile_layout_space_t layouts;
  uint32_t buffer_count, value_count, digit_count;
  hlo_tile_buffer_t* buffers;
  hlo_tile_block_t body;
} hlo_tile_kernel_t;

const char* hlo_tile_op_name(hlo_tile_op_kind_t kind);
bool hlo_tile_op_has_result(const hlo_tile_op_t* op);

/// buffers are copied. NULL when memory is out.
hlo_tile_kernel_t* hlo_tile_kernel_create(hlo_arena_t* arena, const char* name,
                                          uint32_t buffer_count, const hlo_tile_buffer_t* buffers);
/// A copy of `fields` for a block, its body empty; it is not yet there. NULL when memory is out.
hlo_tile_op_t* hlo_tile_begin(hlo_tile_kernel_t* kernel, hlo_tile_block_t* block,
                              const hlo_tile_op_t* fields);
/// Another region, behind those that it has. NULL when memory is out.
hlo_tile_block_t* hlo_tile_add_region(hlo_tile_kernel_t* kernel, hlo_tile_op_t* op);
/// Puts it at the end of its block, its body done, and numbers it if it has a result.
void hlo_tile_end(hlo_tile_kernel_t* kernel, hlo_tile_op_t* op);
/// Both. NULL when memory is out.
hlo_tile_op_t* hlo_tile_append(hlo_tile_kernel_t* kernel, hlo_tile_block_t* block,
                               const hlo_tile_op_t* fields);
/// All operations in the order of the text, each after those of its regions: first, next; NULL: no
/// more.
hlo_tile_op_t* hlo_tile_first_op(const hlo_tile_kernel_t* kernel);
hlo_tile_op_t* hlo_tile_next_op(const hlo_tile_op_t* op);
/// Numbers values in the order of the text. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_kernel_renumber(hlo_tile_kernel_t* kernel) HLO_MUST_USE;
/// The loops around a block, outermost first; at most HLO_TILE_MAX_DEPTH of them.
uint32_t hlo_tile_block_loops(const hlo_tile_block_t* block,
                              const hlo_tile_loop_t* out_loops[HLO_TILE_MAX_DEPTH]);

/// A value as a number in expressions, clamped to inclusive bounds.
const hlo_expr_t* hlo_tile_value_expr(hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op,
                                      int64_t low, int64_t high);

/// The least version of the text that has all that the kernel needs: a reader that is not older can
/// read it.
uint32_t hlo_tile_kernel_version(const hlo_tile_kernel_t* kernel);
/// In that version.
void hlo_tile_kernel_print(const hlo_tile_kernel_t* kernel, hlo_strbuf_t* out);
/// Reads what print writes and wrote in earlier versions; verified too. What names no version is of
/// the first. errors: INVALID_ARGUMENT with the line, RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_kernel_parse(hlo_arena_t* arena, const char* text,
                                   hlo_tile_kernel_t** out_kernel) HLO_MUST_USE;
/// errors: INVALID_ARGUMENT naming the operation
hlo_status_t hlo_tile_kernel_verify(const hlo_tile_kernel_t* kernel) HLO_MUST_USE;

/// Decides the layout of every value: lanes along one digit of each tile, so that loads, stores and
/// changes of layout cost least on the target; where a value has to change its layout a relayout is
/// put in. Layouts that values have already stay as they are, for that a relayout may be asked for
/// by hand. errors: as hlo_tile_system_solve(), naming operations
hlo_status_t hlo_tile_kernel_infer(hlo_tile_kernel_t* kernel, const hlo_tile_target_t* target,
                                   uint64_t fuel) HLO_MUST_USE;

/// What elements mean. context is the first argument of both.
typedef struct hlo_tile_meaning {
  void* context;
  /// `count` elements of a map; false: no such operation for these types.
  bool (*map)(void* context, const hlo_tile_map_t* map, uint32_t operand_count,
              const hlo_dtype_t* dtypes, const void* const* operands, hlo_dtype_t dtype,
              void* result, size_t count);
} hlo_tile_meaning_t;

/// Runs the kernel, loop after loop. Accesses outside of their buffers are errors.
/// errors: UNIMPLEMENTED (a map without meaning), OUT_OF_RANGE, RESOURCE_EXHAUSTED
hlo_status_t hlo_tile_kernel_run(const hlo_tile_kernel_t* kernel, const hlo_tile_meaning_t* meaning,
                                 void* const* buffers) HLO_MUST_USE;

#endif  // HLO_TILE_IR_H_
