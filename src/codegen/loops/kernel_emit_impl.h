// SPDX-License-Identifier: Apache-2.0
// Shared by the files that emit a kernel. kernel_emit.c walks loops and values, kernel_loop.c opens
// and closes loops, kernel_index.c makes positions and addresses, kernel_reduce.c, kernel_sweep.c
// and kernel_partial.c the three forms of reductions, kernel_transpose.c blocks transposed in
// registers, kernel_row_cache.c rows that are computed once, kernel_extra_outputs.c outputs of
// other sizes, kernel_stride.c strided lanes, kernel_interleave.c a few elements per lane,
// kernel_rows.c several short rows at a time.
#pragma once

#include "base/tuning.h"
#include "codegen/loops/kernel_impl.h"
#include "codegen/math/elementwise.h"
#include "codegen/math/scalar.h"
#include "codegen/tiles/position.h"
#include "codegen/vir/interval.h"

enum {
  HLO_NO_LOOP = HLO_TILED_MAX_LOOPS,
  HLO_UNROLL_FREELY = 0,
  HLO_MAX_FUSED_REDUCTIONS = 8,  // reductions in the same loops
  HLO_MAX_ACCUMULATORS = 2 * HLO_MAX_FUSED_REDUCTIONS,
};

/// A row that a reduction computes and an output needs again (kernel_row_cache.c); NULLs: none.
typedef struct hlo_cached_row {
  const hlo_tiled_t *reduction, *first, *recomputed;
} hlo_cached_row_t;

/// Rows that are reduced in blocks (kernel_rows.c).
typedef struct hlo_row_block {
  uint32_t level;        // of the loop over rows; loop_count: none
  uint32_t loop;         // number of that loop
  int64_t more_bytes;    // of the stack, for cached rows
  hlo_vir_value_t* row;  // of the block, while its rows are walked one by one; else NULL
  uint32_t finished_count, finished[8];  // numbers of reductions
  hlo_vir_type_t types[8];               // of their results, one lane per row
} hlo_row_block_t;

/// The state of emission: loops with values, the loop over lanes, what has been computed.
typedef struct hlo_emitter {
  const hlo_kernel_t* kernel;
  const hlo_tiling_t* tiling;
  hlo_vir_builder_t* b;
  hlo_vir_value_t* const* addresses;
  hlo_vir_value_t** values;                     // instead of addresses, or NULL
  hlo_vir_value_t* loops[HLO_TILED_MAX_LOOPS];  // NULL: not inside that loop
  uint64_t bound;                               // loops with a value
  uint32_t lane_loop;                           // HLO_NO_LOOP: one lane
  uint32_t lanes;                               // of values that depend on lane_loop
  hlo_vir_value_t* mask;                        // active lanes; NULL: all
  uint32_t mask_depth;       // enclosing branches on run-time masks: their loads must not move out
  bool is_streaming;         // outputs are large: aligned vectors are stored past the caches
  bool has_aligned_outputs;  // holds while streaming
  bool is_minor;             // the segment is small beside the others: its code should be short
  const hlo_expr_t* aligned_offset;  // the loop begins where vectors of an output are aligned; or
                                     // NULL
  hlo_arena_t* scratch;              // freed at the end of the segment
  hlo_cached_row_t cached;
  hlo_row_block_t rows;
  const hlo_tiling_t** interleaved;  // by segment, of an interleaved kernel; NULL: not walked yet
  hlo_vir_value_t* chunk;            // of a kernel that splits a reduction; NULL: the whole
  bool* is_certain;                  // by instance: needed not only under a mask
  hlo_vir_value_t** done;            // by instance; NULL: not computed
  hlo_vir_value_t** scalars;         // the same as INDEX
} hlo_emitter_t;

/// Returns true if an instance is a reduction that can be computed here and has not been.
static inline bool hlo_emit_is_pending(const hlo_emitter_t* e, uint32_t number) {
  const hlo_tiled_t* tiled = e->tiling->instances[number];
  return tiled->kind == HLO_TILED_REDUCE && e->is_certain[number] && !e->done[number] &&
         !(tiled->loops & ~e->bound);
}

/// Returns true if a value that depends on these loops differs between lanes.
static inline bool hlo_emitter_has_lanes(const hlo_emitter_t* e, uint64_t loops) {
  return e->lane_loop != HLO_NO_LOOP && (loops >> e->lane_loop & 1);
}

/// Returns the element type by which registers hold elements of a value.
static inline hlo_dtype_t hlo_emitter_dtype(const hlo_emitter_t* e, const hlo_value_t* value) {
  return hlo_kernel_register_dtype(e->kernel, value->type->dtype);
}

/// Returns the number of output elements computed at once here.
static inline uint32_t hlo_emitter_point_lanes(const hlo_emitter_t* e) {
  return e->lane_loop == HLO_NO_LOOP ? 1 : e->lanes;
}

/// Restarts with the tiling of a segment.
hlo_status_t hlo_emitter_start_segment(hlo_emitter_t* e, hlo_arena_t* scratch,
                                       const hlo_kernel_segment_t* segment) HLO_MUST_USE;

// ---- loops (kernel_loop.c)

/// Returns the ranges of the kernel's loops in a segment and a chunk (NULL: all) (kernel_emit.c).
void hlo_emitter_ranges(const hlo_emitter_t* e, const hlo_kernel_segment_t* segment,
                        hlo_vir_value_t* chunk, hlo_vir_interval_t* out_ranges);

/// Opens a loop whose counter is the loop's value.
hlo_vir_value_t* hlo_emitter_open_loop(hlo_emitter_t* e, uint32_t loop, hlo_vir_value_t* low,
                                       hlo_vir_value_t* end, int64_t step);
/// Invalidates the loop's value and everything that depends on it.
void hlo_emitter_forget_loop(hlo_emitter_t* e, uint32_t loop);
void hlo_emitter_close_loop(hlo_emitter_t* e, uint32_t loop);
/// Invalidates values computed in blocks that have been closed.
void hlo_emitter_close_block(hlo_emitter_t* e);

/// The work at the loop's value: for a vector, for the active lanes of one (with a mask), or for
/// one element (without a lane loop). copy: the number of the vector within one iteration.
typedef void (*hlo_lane_body_t)(hlo_emitter_t* e, uint32_t copy, void* context);

/// Runs `body` over a range in lanes: `unroll` vectors per iteration, then single vectors, then the
/// remainder, masked or element by element if masks do not exist. HLO_UNROLL_FREELY: the order does
/// not matter; as many vectors as registers hold, with interleaved instructions.
void hlo_emit_lane_loop(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range, uint32_t unroll,
                        hlo_lane_body_t body, void* context);

/// Runs `body` for an even number of vectors per iteration, half of them `distance` elements past
/// the range: a core reads distant memory faster from two positions than from one.
void hlo_emit_lane_pairs(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range,
                         hlo_vir_value_t* distance, uint32_t unroll, hlo_lane_body_t body,
                         void* context);

/// Returns true if the rows of the only output are long enough for the next function.
bool hlo_kernel_aligns_rows(const hlo_kernel_t* kernel);
/// Computes the elements before the first one that is aligned to a vector in the first output, if
/// vectors would not be aligned otherwise; returns the start of the rest. Does nothing for short
/// rows.
hlo_vir_value_t* hlo_emit_until_aligned(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range);

// ---- positions (kernel_index.c)

/// Returns an expression as an INDEX value.
hlo_vir_value_t* hlo_emit_index(hlo_emitter_t* e, const hlo_expr_t* expr);
/// Returns the lanes' values of an expression that is affine in the lane loop.
hlo_vir_value_t* hlo_emit_vector_index(hlo_emitter_t* e, hlo_vir_elem_t elem,
                                       const hlo_expr_t* expr);
/// Returns the address of element `offset`, for one lane or lanes with stride 1: constants become
/// the displacement, the innermost contiguous loop the index.
hlo_element_address_t hlo_emit_address(hlo_emitter_t* e, hlo_vir_value_t* base,
                                       const hlo_expr_t* offset, hlo_dtype_t dtype);

/// Returns true if vectors of an output are wide enough to be stored past the caches.
bool hlo_kernel_may_stream(const hlo_kernel_t* kernel, hlo_dtype_t dtype);
/// Returns true if `offset` is that of whole vectors which may be streamed, each aligned relative
/// to the base.
bool hlo_emit_is_aligned(const hlo_emitter_t* e, const hlo_expr_t* offset, hlo_dtype_t dtype);

/// Returns the part of an expression that is equal for all lanes.
hlo_vir_value_t* hlo_emit_common_index(hlo_emitter_t* e, const hlo_expr_t* expr);

// ---- few elements (kernel_small.c)

/// Loads the elements of lanes that are the whole output, in any order; NULL: use another way.
hlo_vir_value_t* hlo_emit_small_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags);

enum { HLO_EMIT_MAX_OFFSETS = 128 };
/// Returns constant positions below the number of lanes, as the operand of a permute of such
/// values.
hlo_vir_value_t* hlo_emit_lane_offsets(hlo_emitter_t* e, hlo_vir_type_t type, const uint8_t* lanes);
/// Returns the positions of a list of at most HLO_EMIT_MAX_OFFSETS, from number `first`, an INDEX.
hlo_vir_value_t* hlo_emit_lane_offsets_from(hlo_emitter_t* e, hlo_vir_type_t type, uint32_t count,
                                            const uint8_t* list, hlo_vir_value_t* first);

/// Returns the elements of an array that is in registers instead of memory.
hlo_vir_value_t* hlo_emit_from_vector(hlo_emitter_t* e, const hlo_tiled_t* tiled,
                                      hlo_vir_value_t* array);

/// Returns elements at any positions of a table (hlo_kernel_table_pieces()); NULL: use a gather.
hlo_vir_value_t* hlo_emit_table_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags);

// ---- strided lanes (kernel_stride.c)

/// Lanes at hlo_kernel_lane_step(); NULL: use a gather.
hlo_vir_value_t* hlo_emit_strided_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags);
/// Returns the number of active lanes, a prefix; NULL if unknown.
hlo_vir_value_t* hlo_emit_active_lanes(hlo_emitter_t* e);

// ---- lanes over several loops (kernel_window.c)

/// Lanes of hlo_kernel_lane_window(); NULL: another way is needed.
hlo_vir_value_t* hlo_emit_window_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags);
/// The positions of such lanes in the array, as the operand of a permute of values of `type`; NULL
/// as above.
hlo_vir_value_t* hlo_emit_window_offsets(hlo_emitter_t* e, const hlo_expr_t* offset,
                                         hlo_vir_type_t type);

// ---- values (kernel_emit.c)

/// Returns the value of an instance here, computed at most once per block; with lanes only if it
/// depends on the lane loop.
hlo_vir_value_t* hlo_emit_value(hlo_emitter_t* e, const hlo_tiled_t* tiled);
/// Returns an integer or truth value that is equal for all lanes, as INDEX.
hlo_vir_value_t* hlo_emit_scalar(hlo_emitter_t* e, const hlo_tiled_t* tiled);
/// Returns the value with as many lanes as its user.
hlo_vir_value_t* hlo_emit_wide(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t lanes);
/// Prefetches memory `distance` bytes past an element.
void hlo_emit_prefetch(hlo_emitter_t* e, hlo_dtype_t dtype, const hlo_element_address_t* address,
                       int64_t distance);
/// Stores output `i` at the loops' values.
void hlo_emit_store(hlo_emitter_t* e, uint32_t i, hlo_vir_value_t* value);
/// Computes and stores all outputs of the loops at the loops' values.
void hlo_emit_point(hlo_emitter_t* e);
/// Emits the loops from `level` on. A reduction precedes the outermost loop it does not depend on.
void hlo_emit_loops(hlo_emitter_t* e, uint32_t level, const hlo_vir_interval_t* ranges);
/// Emits them as the body of a loop over lanes.
void hlo_emit_lanes(hlo_emitter_t* e, uint32_t copy, void* context);

/// Returns the integer type with which `lanes` lanes fill a register.
hlo_vir_elem_t hlo_emit_lane_integer(const hlo_emitter_t* e, uint32_t lanes);
/// Converts truth values to 0 and -1, and back.
hlo_vir_value_t* hlo_emit_mask_to_integer(hlo_emitter_t* e, hlo_vir_value_t* mask);
hlo_vir_value_t* hlo_emit_integer_to_mask(hlo_emitter_t* e, hlo_vir_value_t* value);

// ---- reductions (kernel_reduce.c)

typedef struct hlo_accumulator {
  const hlo_tiled_t* tiled;
  uint32_t result;
  bool is_pair;     // a value whose index is in the next accumulator
  bool ascends;     // of a pair: each term's index is larger than those before
  bool is_negated;  // a maximum, as the minimum of the negatives
  hlo_op_t op;
  hlo_dtype_t dtype;
  hlo_vir_value_t* vars[HLO_TUNING_REDUCE_ACCUMULATORS];
} hlo_accumulator_t;

/// Reductions that run in the same loops.
typedef struct hlo_fused_reductions {
  uint32_t count, accumulator_count, unroll;
  uint32_t fresh;  // one bit per step: its accumulators still hold identities
  bool negates_maxima;
  bool is_used;      // of accumulators for single elements: there are such elements
  bool is_in_order;  // the second of two combined values is the next term
  const hlo_tiled_t* members[HLO_MAX_FUSED_REDUCTIONS];
  hlo_accumulator_t accumulators[HLO_MAX_ACCUMULATORS];
} hlo_fused_reductions_t;

/// Emits a reduction and those fused with it; the results are in `done`.
void hlo_emit_reduce(hlo_emitter_t* e, const hlo_tiled_t* tiled);

/// Reduces points in lanes, several vectors side by side so that memory is read in longer runs;
/// returns the start of the remaining range.
hlo_vir_value_t* hlo_emit_columns(hlo_emitter_t* e, uint32_t loop, hlo_vir_interval_t range);

// The steps of a reduction, for forms that run some of them elsewhere.
/// Collects the reductions over the same space that can be computed in the same loops.
void hlo_reduce_collect(const hlo_emitter_t* e, const hlo_tiled_t* first,
                        hlo_fused_reductions_t* set);
/// Creates accumulators with their identities, `unroll` of each.
void hlo_reduce_start(hlo_emitter_t* e, hlo_fused_reductions_t* set, uint32_t lanes);
/// Runs the loops; afterwards vars[0] of each accumulator has one lane, or the user's lanes.
void hlo_reduce_run(hlo_emitter_t* e, const hlo_tiled_t* tiled, hlo_fused_reductions_t* set);
/// Finishes the values: combines the initial value, rounds, converts truth values to masks.
void hlo_reduce_finish(hlo_emitter_t* e, hlo_fused_reductions_t* set);
void hlo_reduce_vars(const hlo_fused_reductions_t* set, uint32_t u, hlo_vir_value_t** out);
hlo_vir_value_t* hlo_reduce_identity(hlo_emitter_t* e, const hlo_accumulator_t* a, uint32_t lanes);
/// Combines x op y for all accumulators; the arrays have one value per accumulator.
void hlo_reduce_combine(hlo_emitter_t* e, const hlo_fused_reductions_t* set,
                        hlo_vir_value_t* const* x, hlo_vir_value_t* const* y,
                        hlo_vir_value_t** out);
/// Returns the range of loop `i` of a reduction: all of it, or that of this chunk.
hlo_vir_interval_t hlo_reduce_range(const hlo_emitter_t* e, uint32_t space_number, uint32_t i);

// ---- long sums (kernel_levels.c)

enum { HLO_MAX_LEVELS = 12 };

/// One loop of a nest: over blocks of `size` iterations.
typedef struct hlo_level_step {
  uint32_t loop;  // its position in the nest
  int64_t size;
  bool begins_level;  // each iteration has accumulators of its own
} hlo_level_step_t;

/// The loops of a reduction split into blocks, outermost first. Plain data.
typedef struct hlo_levels {
  uint32_t step_count, level_count;  // levels below the uppermost one
  hlo_level_step_t steps[HLO_TILED_MAX_LOOPS + HLO_MAX_LEVELS];
} hlo_levels_t;

/// Splits loops with these trip counts, outermost first, so that an accumulator of the innermost
/// level takes about `first_terms` terms; 0: splits nothing.
void hlo_levels_plan(const int64_t* trips, uint32_t loop_count, int64_t first_terms,
                     hlo_levels_t* out_levels);
/// Returns `first_terms` for sums with `parallel` accumulators that are added up at the end; 0: the
/// terms are partial sums already.
int64_t hlo_levels_first_terms(uint32_t parallel);
/// Returns true if a reduction, or one of the set, adds up floats.
bool hlo_tiled_is_sum(const hlo_tiled_t* reduction);
bool hlo_reduce_has_sums(const hlo_fused_reductions_t* set);

/// Loops for hlo_emit_levels() and their bodies. The uppermost level has number 0.
typedef struct hlo_level_nest {
  uint32_t loop_count;
  const uint32_t* numbers;  // of the tiling's loops; NULL: other loops
  const hlo_vir_interval_t* ranges;
  int64_t trip_elements;  // of the innermost loop, which `body` runs itself; 0: `body` is one
                          // iteration
  void* context;
  void (*begin)(hlo_emitter_t* e, uint32_t level, void* context);
  void (*body)(hlo_emitter_t* e, hlo_vir_interval_t innermost, void* context);
  void (*end)(hlo_emitter_t* e, uint32_t level, void* context);
} hlo_level_nest_t;

void hlo_emit_levels(hlo_emitter_t* e, const hlo_levels_t* levels, const hlo_level_nest_t* nest);

/// Accumulators of a level in registers, by accumulator and step.
typedef hlo_vir_value_t* hlo_level_vars_t[HLO_MAX_ACCUMULATORS][HLO_TUNING_REDUCE_ACCUMULATORS];

/// Gives the set new accumulators; `outer` holds those of the level above until they are added.
void hlo_reduce_begin_level(hlo_emitter_t* e, hlo_fused_reductions_t* set, hlo_level_vars_t* outer);
void hlo_reduce_end_level(hlo_emitter_t* e, hlo_fused_reductions_t* set,
                          const hlo_level_vars_t* outer);

/// Loads the accumulators of a chunk.
typedef void (*hlo_join_load_t)(hlo_emitter_t* e, hlo_vir_value_t* chunk, void* context,
                                hlo_vir_value_t** out_values);
/// Combines the accumulators of all chunks in those of the set.
void hlo_reduce_join_chunks(hlo_emitter_t* e, hlo_fused_reductions_t* set, hlo_join_load_t load,
                            void* context);

// ---- extra outputs (kernel_extra_outputs.c)

/// Emits those of whole rows that are known once the loops before `level` are open.
void hlo_emit_row_extra_outputs(hlo_emitter_t* e, uint32_t level);
/// Emits those that belong to the reductions, at the loops' values.
void hlo_emit_reduced_extra_outputs(hlo_emitter_t* e, const hlo_fused_reductions_t* set);
/// Returns true if those of `reduction` can be stored in lanes along the loop.
bool hlo_extra_outputs_run_over(const hlo_emitter_t* e, const hlo_tiled_t* reduction,
                                uint32_t loop);

/// Runs the loops of a set with separate lanes; vars[0] is a vector afterwards.
void hlo_reduce_to_lanes(hlo_emitter_t* e, hlo_fused_reductions_t* set);

// ---- short rows (kernel_rows.c)

/// Emits the loop at e->rows.level over whole blocks and everything in it; returns the start of the
/// remaining range.
hlo_vir_value_t* hlo_emit_row_blocks(hlo_emitter_t* e, uint32_t level,
                                     const hlo_vir_interval_t* ranges);
/// Returns the stack of a block from byte `at` on; -1: its part for cached rows.
hlo_vir_value_t* hlo_emit_rows_stack(hlo_emitter_t* e, int64_t at);

// ---- cached rows (kernel_row_cache.c)

/// Chooses the row of this segment. errors : INVALID_ARGUMENT if the configuration wants one and
/// no row can be kept
hlo_status_t hlo_emit_find_cached_row(hlo_emitter_t* e) HLO_MUST_USE;
/// Returns the value from the cached row; NULL if it has none or is to be computed here.
hlo_vir_value_t* hlo_emit_cached_row(hlo_emitter_t* e, const hlo_tiled_t* tiled);
/// Stores the value into the cached row if it belongs there.
void hlo_emit_fill_row_cache(hlo_emitter_t* e, const hlo_tiled_t* tiled, hlo_vir_value_t* value);

// ---- functions of kinds

/// Phases. Points: kernel_partial.c; sweeps: kernel_sweep.c; others: kernel_emit.c.
hlo_kernel_emit_t hlo_emit_segments, hlo_emit_points, hlo_emit_sweep, hlo_emit_form;
/// Inner loops. Vectors: kernel_emit.c; the others: kernel_transpose.c, kernel_interleave.c.
hlo_kernel_emit_inner_t hlo_emit_vectors, hlo_emit_transposed, hlo_emit_interleaved;
