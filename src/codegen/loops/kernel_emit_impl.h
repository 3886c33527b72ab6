// SPDX-License-Identifier: Apache-2.0
// What the files that make vector IR of a kernel share. kernel_emit.c walks the loops and the
// values, kernel_loop.c opens and closes loops, kernel_index.c makes positions and addresses,
// kernel_reduce.c, kernel_sweep.c and kernel_partial.c the three forms of reductions,
// kernel_transpose.c tiles that are turned in registers, kernel_keep.c rows that are not computed
// twice, kernel_side.c outputs of other sizes, kernel_stride.c lanes a few elements apart,
// kernel_weave.c a few elements of each lane, kernel_rows.c short rows, several at a time.
#ifndef HLO_CODEGEN_KERNEL_EMIT_IMPL_H_
#define HLO_CODEGEN_KERNEL_EMIT_IMPL_H_

#include "codegen/loops/kernel_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/scalar.h"

enum {
  HLO_NO_LOOP = HLO_TILED_MAX_LOOPS,
  HLO_MAX_UNROLL = 4,    // accumulators of one reduction
  HLO_UNROLL_FREELY = 0,
  HLO_MAX_FUSED_REDUCTIONS = 8,  // reductions in the same loops
  HLO_MAX_ACCUMULATORS = 2 * HLO_MAX_FUSED_REDUCTIONS,
};

/// A row that a reduction computes and an output needs again (kernel_keep.c); NULLs: none.
typedef struct hlo_cached_row {
  const hlo_tiled_t *reduction, *first, *again;
} hlo_cached_row_t;

/// Rows that are reduced in blocks (kernel_rows.c).
typedef struct hlo_row_block {
  uint32_t level;        // of the loop over rows; loop_count: none
  uint32_t loop;        // of that loop
  int64_t more_bytes;    // of the stack, for kept rows
  hlo_vir_value_t* row;  // of the block, while its rows are walked one by one; NULL: not in one
  uint32_t finished_count, finished[8];  // numbers of reductions
  hlo_vir_type_t types[8];               // of their results, with a lane for each row
} hlo_row_block_t;

/// Where emission is: digits with values, which one runs over lanes, what is computed already.
typedef struct hlo_emitter {
  const hlo_kernel_t* kernel;
  const hlo_tiling_t* tiling;
  hlo_vir_builder_t* b;
  hlo_vir_value_t* const* addresses;
  hlo_vir_value_t** values;  // instead of addresses, or NULL
  hlo_vir_value_t* loops[HLO_TILED_MAX_LOOPS];  // NULL: not in a loop over it
  uint64_t bound;                                 // digits with a value
  uint32_t lane_loop;                            // HLO_NO_LOOP: one lane
  uint32_t lanes;                                 // of values that depend on lane_digit
  hlo_vir_value_t* mask;                          // active lanes; NULL: all
  uint32_t guard_depth;  // bodies of run-time guards around: what they read may not be read before
  bool is_streaming;     // outputs are large: what is aligned to vectors is stored past the caches
  bool has_aligned_outputs;          // their memory is, while streaming
  bool is_minor;  // the segment is little beside the others: short code for it is all it is worth
  const hlo_expr_t* aligned_offset;  // the loop begins where vectors of an output are; or NULL
  hlo_arena_t* scratch;  // until the segment ends
  hlo_cached_row_t cached;
  hlo_row_block_t rows;
  const hlo_tiling_t** interleaved;  // by segment, of a kernel that is woven
  hlo_vir_value_t* chunk;  // of a kernel that cuts a reduction; NULL: all of it
  bool* is_certain;           // by instance: not only where a guard lets it be read
  hlo_vir_value_t** done;     // by instance; NULL: not computed
  hlo_vir_value_t** scalars;  // likewise, as INDEX
} hlo_emitter_t;

/// Whether an instance is a reduction that can be computed here and has not been.
static inline bool hlo_emit_is_pending(const hlo_emitter_t* e, uint32_t number) {
  const hlo_tiled_t* tiled = e->tiling->instances[number];
  return tiled->kind == HLO_TILED_REDUCE && e->is_certain[number] && !e->done[number] &&
         !(tiled->loops & ~e->bound);
}

/// Whether a value that depends on these digits differs between lanes.
static inline bool hlo_emitter_has_lanes(const hlo_emitter_t* e, uint64_t loops) {
  return e->lane_loop != HLO_NO_LOOP && (loops >> e->lane_loop & 1);
}

/// How many elements of the output are computed at once here.
static inline uint32_t hlo_emitter_point_lanes(const hlo_emitter_t* e) {
  return e->lane_loop == HLO_NO_LOOP ? 1 : e->lanes;
}

/// Starts anew with the tiling of a segment.
hlo_status_t hlo_emitter_start_segment(hlo_emitter_t* e, hlo_arena_t* scratch,
                                       const hlo_kernel_segment_t* segment) HLO_MUST_USE;

// ---- loops (kernel_loop.c)

/// Range of a loop in this segment and chunk.
typedef struct hlo_range {
  hlo_vir_value_t *low, *end;
} hlo_range_t;

/// A loop whose counter is the digit's value.
hlo_vir_value_t* hlo_emitter_open_loop(hlo_emitter_t* e, uint32_t loop, hlo_vir_value_t* low,
                                       hlo_vir_value_t* end, int64_t step);
/// The digit has no value any more, nor has what depends on it.
void hlo_emitter_forget_loop(hlo_emitter_t* e, uint32_t loop);
void hlo_emitter_close_loop(hlo_emitter_t* e, uint32_t loop);
/// Forgets what was computed in blocks that are closed now.
void hlo_emitter_close_block(hlo_emitter_t* e);

/// The part of a range that chunk number `chunk` of this size covers.
hlo_range_t hlo_range_of_chunk(hlo_vir_builder_t* b, hlo_vir_value_t* chunk, int64_t size,
                               hlo_range_t all);
/// The end of the part of a range that is a multiple of `step`, a power of two, long.
hlo_vir_value_t* hlo_range_whole_end(hlo_vir_builder_t* b, hlo_range_t range, int64_t step);
/// Whether it is known to be empty.
bool hlo_range_is_empty(hlo_range_t range);

/// What is done at the digit's value: for a vector, for the active lanes of one (with a mask), or
/// for one element (without lane digit). copy: which of the vectors of one iteration it is.
typedef void (*hlo_lane_body_t)(hlo_emitter_t* e, uint32_t copy, void* context);

/// `body` for all of a range in lanes: `unroll` vectors in each iteration, single vectors, and what
/// is left, masked or, where there are no masks, element by element. HLO_UNROLL_FREELY: any order
/// will do, as many vectors at a time as registers hold, their instructions in turn.
void hlo_emit_lane_loop(hlo_emitter_t* e, uint32_t loop, hlo_range_t range, uint32_t unroll,
                        hlo_lane_body_t body, void* context);

/// `body` for an even number of vectors in each iteration, those of the second half of a range
/// beside those of the first: a core gets more from far memory at two places than at one. What is
/// left of the range.
hlo_range_t hlo_emit_lane_halves(hlo_emitter_t* e, uint32_t loop, hlo_range_t range,
                                 uint32_t unroll, hlo_lane_body_t body, void* context);

/// Whether the rows of the only output are long enough for the next function.
bool hlo_kernel_aligns_rows(const hlo_kernel_t* kernel);
/// Computes the elements before the first that lies at a multiple of a vector's size in the first
/// output, where vectors would not be aligned otherwise; where the rest begins. Short rows are not
/// worth it.
hlo_vir_value_t* hlo_emit_until_aligned(hlo_emitter_t* e, uint32_t loop, hlo_range_t range);

// ---- positions (kernel_index.c)

/// An expression as an INDEX value.
hlo_vir_value_t* hlo_emit_index(hlo_emitter_t* e, const hlo_expr_t* expr);
/// The lanes' values of an expression that is affine in the lane digit.
hlo_vir_value_t* hlo_emit_vector_index(hlo_emitter_t* e, hlo_vir_elem_t elem,
                                       const hlo_expr_t* expr);
/// The address of element `offset`, for one lane or lanes with stride 1.
hlo_element_address_t hlo_emit_address(hlo_emitter_t* e, hlo_vir_value_t* base,
                                       const hlo_expr_t* offset, hlo_dtype_t dtype);

/// Whether vectors of an output are long enough to be stored past the caches.
bool hlo_kernel_may_stream(const hlo_kernel_t* kernel, hlo_dtype_t dtype);
/// Whether `offset` is that of whole vectors which may be, each at a multiple of its size from the base.
bool hlo_emit_is_aligned(const hlo_emitter_t* e, const hlo_expr_t* offset, hlo_dtype_t dtype);

/// The part of an expression that is the same for all lanes.
hlo_vir_value_t* hlo_emit_common_index(hlo_emitter_t* e, const hlo_expr_t* expr);

// ---- few elements (kernel_small.c)

/// Elements that the lanes of a small kernel need in any order.
hlo_vir_value_t* hlo_emit_small_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags);

enum { HLO_EMIT_MAX_OFFSETS = 128 };
/// Places below the number of lanes as the operand of a permute of such values.
hlo_vir_value_t* hlo_emit_lane_offsets(hlo_emitter_t* e, hlo_vir_type_t type, const uint8_t* lanes);
/// Those from number `first`, an INDEX, on of a list of at most HLO_EMIT_MAX_OFFSETS.
hlo_vir_value_t* hlo_emit_lane_offsets_from(hlo_emitter_t* e, hlo_vir_type_t type, uint32_t count,
                                      const uint8_t* list, hlo_vir_value_t* first);

/// The same from an array that is a value instead of memory.
hlo_vir_value_t* hlo_emit_from_vector(hlo_emitter_t* e, const hlo_tiled_t* tiled,
                                      hlo_vir_value_t* array);

/// Elements at any places of a value of hlo_kernel_table_pieces(); NULL: they are to be gathered.
hlo_vir_value_t* hlo_emit_table_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags);

// ---- lanes a few elements apart (kernel_stride.c)

/// Lanes at hlo_kernel_lane_step(); NULL: they are to be gathered.
hlo_vir_value_t* hlo_emit_strided_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags);
/// How many lanes are active, from the first on; NULL: not known.
hlo_vir_value_t* hlo_emit_active_lanes(hlo_emitter_t* e);

// ---- lanes over several digits (kernel_window.c)

/// Lanes of hlo_kernel_lane_window(); NULL: they are to be found otherwise.
hlo_vir_value_t* hlo_emit_window_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags);
/// The places in the array of such lanes, as the operand of a permute of values of `type`; NULL as
/// above.
hlo_vir_value_t* hlo_emit_window_offsets(hlo_emitter_t* e, const hlo_expr_t* offset,
                                        hlo_vir_type_t type);

// ---- a few elements of each lane (kernel_weave.c)

/// The tilings of all segments, which differ in the woven digit only.
hlo_status_t hlo_emit_walk_interleaved(hlo_emitter_t* e) HLO_MUST_USE;
/// The body of a loop over lanes; context: these tilings.
void hlo_emit_interleaved(hlo_emitter_t* e, uint32_t copy, void* context);

// ---- values (kernel_emit.c)

/// The value of an instance here: computed at most once per block. Lanes only where it depends on
/// the lane digit.
hlo_vir_value_t* hlo_emit_value(hlo_emitter_t* e, const hlo_tiled_t* tiled);
/// An integer or truth value that does not differ between lanes, as INDEX.
hlo_vir_value_t* hlo_emit_scalar(hlo_emitter_t* e, const hlo_tiled_t* tiled);
/// The value with as many lanes as its user has.
hlo_vir_value_t* hlo_emit_wide(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t lanes);
/// Fetches what lies `distance` bytes behind an element.
void hlo_emit_prefetch(hlo_emitter_t* e, hlo_dtype_t dtype, const hlo_element_address_t* address,
                       int64_t distance);
/// Stores output `i` at the digits' values.
void hlo_emit_store(hlo_emitter_t* e, uint32_t i, hlo_vir_value_t* value);
/// All outputs of the loops at the digits' values, and their stores.
void hlo_emit_point(hlo_emitter_t* e);
/// Loops from `level` on. Reductions come before the outermost loop they do not depend on.
void hlo_emit_loops(hlo_emitter_t* e, uint32_t level, const hlo_range_t* ranges);
/// The same as the body of a loop over lanes.
void hlo_emit_lanes(hlo_emitter_t* e, uint32_t copy, void* context);

/// The integer that fills a register with so many lanes.
hlo_vir_elem_t hlo_emit_lane_integer(const hlo_emitter_t* e, uint32_t lanes);
/// Truth values as 0 and -1, and back.
hlo_vir_value_t* hlo_emit_mask_to_integer(hlo_emitter_t* e, hlo_vir_value_t* mask);
hlo_vir_value_t* hlo_emit_integer_to_mask(hlo_emitter_t* e, hlo_vir_value_t* value);

// ---- reductions (kernel_reduce.c)

typedef struct hlo_accumulator {
  const hlo_tiled_t* tiled;
  uint32_t result;
  bool is_pair;  // a value whose index is in the next accumulator
  bool is_negated;  // a maximum, as the minimum of the negatives
  hlo_op_t op;
  hlo_dtype_t dtype;
  hlo_vir_value_t* vars[HLO_MAX_UNROLL];
} hlo_accumulator_t;

/// Reductions that run in the same loops.
typedef struct hlo_fused_reductions {
  uint32_t count, accumulator_count, unroll;
  uint32_t fresh;  // bit by step: its accumulators hold identities still
  bool negates_maxima;
  const hlo_tiled_t* members[HLO_MAX_FUSED_REDUCTIONS];
  hlo_accumulator_t accumulators[HLO_MAX_ACCUMULATORS];
} hlo_fused_reductions_t;

/// A reduction and those that run along with it, complete: their results are in `done`.
void hlo_emit_reduce(hlo_emitter_t* e, const hlo_tiled_t* tiled);

/// Points whose lanes reduce each on its own, several vectors of them side by side, so that memory
/// is read in longer pieces; where the rest of the range begins.
hlo_vir_value_t* hlo_emit_columns(hlo_emitter_t* e, uint32_t loop, hlo_range_t range);

// Its steps, for the forms that run some of them elsewhere.
void hlo_reduce_collect(const hlo_emitter_t* e, const hlo_tiled_t* first, hlo_fused_reductions_t* set);
/// Accumulators with their identities, `unroll` of each.
void hlo_reduce_start(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t lanes);
/// The loops; one lane or the user's in vars[0] of each accumulator then.
void hlo_reduce_run(hlo_emitter_t* e, const hlo_tiled_t* tiled, hlo_fused_reductions_t* set);
/// The finished values: with the initial value, rounded, as masks where they are truth values.
void hlo_reduce_finish(hlo_emitter_t* e, hlo_fused_reductions_t* set);
void hlo_reduce_vars(const hlo_fused_reductions_t* set, uint32_t u, hlo_vir_value_t** out);
hlo_vir_value_t* hlo_reduce_identity(hlo_emitter_t* e, const hlo_accumulator_t* a, uint32_t lanes);
/// x op y for all accumulators; the arrays have a value for each.
void hlo_reduce_combine(hlo_emitter_t* e, const hlo_fused_reductions_t* set, hlo_vir_value_t* const* x,
                        hlo_vir_value_t* const* y, hlo_vir_value_t** out);
/// The values of digit `i` of a reduction: all, or those of this chunk.
hlo_range_t hlo_reduce_range(const hlo_emitter_t* e, uint32_t space_number, uint32_t i);
/// Loops over all digits of a reduction but one; HLO_NO_LOOP: over all.
void hlo_reduce_open_loops(hlo_emitter_t* e, uint32_t space_number, uint32_t except);
void hlo_reduce_close_loops(hlo_emitter_t* e, uint32_t space_number, uint32_t except);

// ---- side outputs (kernel_side.c)

/// Those of whole rows that are known once the loops before `level` are open.
void hlo_emit_row_extra_outputs(hlo_emitter_t* e, uint32_t level);
/// Those that belong to the reductions, at the digits' values.
void hlo_emit_reduced_extra_outputs(hlo_emitter_t* e, const hlo_fused_reductions_t* set);
/// Whether those of `reduction` can be stored in lanes along the digit.
bool hlo_extra_outputs_run_over(const hlo_emitter_t* e, const hlo_tiled_t* reduction, uint32_t loop);

/// The loops of a set over lanes, which stay apart: vectors in vars[0] then.
void hlo_reduce_to_lanes(hlo_emitter_t* e, hlo_fused_reductions_t* set);

// ---- short rows (kernel_rows.c)

/// The loop at e->rows.level over whole blocks, and all in it; where the rest of the range begins.
hlo_vir_value_t* hlo_emit_row_blocks(hlo_emitter_t* e, uint32_t level, const hlo_range_t* ranges);
/// The stack of a block from byte `at` on; -1: its part for kept rows.
hlo_vir_value_t* hlo_emit_rows_stack(hlo_emitter_t* e, int64_t at);

// ---- rows that are kept (kernel_keep.c)

/// Chooses the row of this segment.
void hlo_emit_find_cached_row(hlo_emitter_t* e);
/// The value from the row; NULL if it is not of one, or is to be computed here.
hlo_vir_value_t* hlo_emit_cached_row(hlo_emitter_t* e, const hlo_tiled_t* tiled);
/// Keeps the value if it is of the row.
void hlo_emit_fill_row_cache(hlo_emitter_t* e, const hlo_tiled_t* tiled, hlo_vir_value_t* value);

// ---- transpositions (kernel_transpose.c)

/// The last two loops of a kernel that is transposed.
void hlo_emit_transposed(hlo_emitter_t* e, hlo_range_t crosses, hlo_range_t lanes);

// ---- sums down columns (kernel_sweep.c)

void hlo_emit_sweep(hlo_emitter_t* e, hlo_range_t range);
/// The rows of one chunk into its own accumulators, and those of all chunks to the outputs.
void hlo_emit_sweep_part(hlo_emitter_t* e);
void hlo_emit_sweep_finish(hlo_emitter_t* e);

// ---- reductions cut into chunks (kernel_partial.c)

/// What one chunk leaves in scratch memory.
hlo_status_t hlo_emit_partials(hlo_emitter_t* e, hlo_arena_t* scratch,
                               hlo_vir_value_t* chunk) HLO_MUST_USE;
/// All of it to the outputs.
hlo_status_t hlo_emit_partials_finish(hlo_emitter_t* e, hlo_arena_t* scratch) HLO_MUST_USE;

#endif  // HLO_CODEGEN_KERNEL_EMIT_IMPL_H_
