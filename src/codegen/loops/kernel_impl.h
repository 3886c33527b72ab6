// SPDX-License-Identifier: Apache-2.0
// Shared by the files of loops/: queries about the chosen loops of a fusion. Private to the folder.
#pragma once

#include "base/integer.h"
#include "codegen/loops/kernel_form.h"

struct hlo_emitter;
struct hlo_vir_interval;

/// Properties of kinds, one bit each.
enum {
  HLO_KERNEL_STREAMS = 1 << 0,         // outputs may be stored past the caches
  HLO_KERNEL_IN_TILES = 1 << 1,        // memory is read and written tile by tile
  HLO_KERNEL_SEGMENTS = 1 << 2,        // may have several segments
  HLO_KERNEL_JOINS_SEGMENTS = 1 << 3,  // which one loop computes
  HLO_KERNEL_EXTRA_OUTPUTS = 1 << 4,   // may have some (kernel_extra_outputs.c)
  HLO_KERNEL_ROW_BLOCKS = 1 << 5,      // may reduce short rows together (kernel_rows.c)
  HLO_KERNEL_ROW_CACHE = 1 << 6,       // may have one (kernel_row_cache.c)
  HLO_KERNEL_VALUES = 1 << 7,          // inputs and outputs may be values instead of memory
  HLO_KERNEL_WHOLE = 1 << 8,           // one iteration computes all, with loads in any order
};

/// Emits a phase. errors : RESOURCE_EXHAUSTED
typedef hlo_status_t hlo_kernel_emit_t(struct hlo_emitter* e, hlo_arena_t* scratch, uint32_t phase,
                                       hlo_vir_value_t* chunk);
/// Emits the inner loops over these ranges, as hlo_emit_loops() reaches them.
typedef void hlo_kernel_emit_inner_t(struct hlo_emitter* e, const struct hlo_vir_interval* ranges);
/// Refuses work that other kernels do better.
typedef hlo_verdict_t hlo_kernel_check_t(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);
/// Returns true if one iteration reads, before it stores to an output, exactly elements that it
/// stores there.
typedef bool hlo_kernel_reads_first_t(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                                      const hlo_expr_t* load, const hlo_expr_t* output);
/// Summarises phases and scratch memory.
typedef void hlo_kernel_plan_t(const hlo_kernel_t* kernel, hlo_kernel_summary_t* out_summary);

/// A kind: what it can be combined with, and its functions, NULL where there is nothing to do.
/// threads: immutable
typedef struct hlo_kernel_kind_info {
  const char* name;
  const char *text, *suffix;  // of listings, before and after the loops; %u: the number of lanes
  uint32_t properties;
  uint32_t cuts;         // hlo_kernel_cut_t of several chunks, one bit each
  uint32_t inner_loops;  // innermost loops that emit_inner runs, the last one in lanes; 0: none
  uint32_t most_loops;
  uint32_t chunk_vectors;  // the factor of chunk sizes along the inner loops, in vectors
  bool (*fits)(const hlo_kernel_t* kernel);  // the vectors that belong together are in registers
  bool (*is_one_by_one)(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                        const hlo_tiled_t* tiled);  // for the cost: computed without lanes
  hlo_kernel_reads_first_t* reads_first;
  hlo_kernel_check_t* check;
  hlo_kernel_plan_t* plan;
  hlo_kernel_emit_t* emit;
  hlo_kernel_emit_inner_t* emit_inner;
} hlo_kernel_kind_info_t;
extern const hlo_kernel_kind_info_t hlo_kernel_kinds[HLO_KERNEL_KINDS];

static inline bool hlo_kernel_has(const hlo_kernel_t* kernel, uint32_t property) {
  return hlo_kernel_kinds[kernel->kind].properties & property;
}

static inline bool hlo_kernel_has_lanes(const hlo_kernel_t* kernel) {
  return hlo_kernel_kinds[kernel->kind].inner_loops > 0;
}

/// Returns the form that makes the loops; NULL: loops over the output's elements.
static inline const hlo_kernel_form_t* hlo_kernel_form_of(const hlo_kernel_t* kernel) {
  return kernel->kind == HLO_KERNEL_FORM ? kernel->form.functions : NULL;
}

/// Returns the number of outputs that the loops over the output store: those before the extra
/// outputs.
static inline uint32_t hlo_kernel_main_count(const hlo_kernel_t* kernel) {
  return kernel->fusion->output_count - kernel->fusion->extra_output_count;
}

/// Returns the element type of the accumulators of a swept reduction in memory; HLO_DTYPE_INVALID
/// if they cannot be in memory.
hlo_dtype_t hlo_sweep_dtype(hlo_dtype_t dtype);
/// Returns the levels of accumulators that the rows of a sweep have beyond the first.
uint32_t hlo_sweep_level_count(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);
/// The accumulators of chunks in scratch memory (kernel_partial.c, kernel_sweep.c).
hlo_kernel_plan_t hlo_kernel_plan_partials, hlo_kernel_plan_sweep;

/// Returns the reason why the chosen loops cannot store the extra outputs, if there is one.
hlo_verdict_t hlo_kernel_check_extra_outputs(const hlo_kernel_t* kernel,
                                             const hlo_tiling_t* tiling);

/// Returns true if a load is not contiguous along loop `lane`, but along `cross`.
bool hlo_is_crossing(const hlo_tiled_t* tiled, uint32_t lane, uint32_t cross);

/// Returns the distance in elements between lanes if whole vectors are loaded for them and
/// permuted;
/// negative if they run backwards; 0 if the load is not strided so.
int64_t hlo_kernel_lane_step(const hlo_target_t* target, const hlo_tiled_t* tiled, uint32_t loop);
/// Returns the quotient or remainder by which `lanes` lanes find their elements in a window of
/// adjacent elements; NULL if they cannot.
const hlo_expr_atom_t* hlo_kernel_lane_window(const hlo_target_t* target, const hlo_expr_t* offset,
                                              uint32_t loop, uint32_t lanes);
/// Returns the number of vectors that hold a whole array, as a table in registers in which lanes
/// look up their elements; 0 if it is too large or the target has no permutations.
uint32_t hlo_kernel_table_pieces(const hlo_target_t* target, const hlo_tiled_t* tiled,
                                 uint32_t lanes);

/// Returns true if lanes can run over `lane` while the few innermost values of loop `interleaved`
/// are interleaved between the lanes.
bool hlo_kernel_can_interleave(const hlo_tiling_t* tiling, uint32_t lane, uint32_t interleaved);
/// Returns how many interleaved values share an instance that depends on these loops; 1 in kernels
/// of other kinds.
int64_t hlo_kernel_interleaved_users(const hlo_kernel_t* kernel, uint64_t loops);
/// Refuses an op that only depends on the interleaved loop, such as one on the sums of columns: it
/// is repeated by lanes along that loop. Computed apart, it leaves those lanes to the loads.
hlo_kernel_check_t hlo_kernel_check_interleaved;
hlo_kernel_reads_first_t hlo_kernel_reads_interleaved;

/// Returns the level of the loop over short rows whose reductions are finished for several rows at
/// once; loop_count without such a loop.
uint32_t hlo_kernel_row_level(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);
/// Returns true if the kernel may keep a row that is needed again (kernel_row_cache.c), whatever it
/// computes.
bool hlo_kernel_may_cache_rows(const hlo_kernel_t* kernel);

/// Returns true if one vector of `lanes` lanes holds the output, and every load can be permuted
/// into its order.
bool hlo_kernel_fits_vector(const hlo_tiling_t* tiling, uint32_t lanes);

struct hlo_kernel_start {
  uint32_t space_count, segment_count;  // 0 segments: nothing is known
  hlo_tiled_space_t spaces[HLO_TILED_MAX_LOOPS];
  hlo_kernel_segment_t segments[HLO_KERNEL_MAX_SEGMENTS];
};

/// Returns the number of points that the given loops run over.
static inline double hlo_tiling_points(const hlo_tiling_t* tiling, uint64_t loops) {
  double product = 1;
  for (; loops; loops &= loops - 1) {
    const hlo_tiled_loop_t* loop = &tiling->loops[__builtin_ctzll(loops)];
    product *= (double)(loop->end - loop->low);
  }
  return product;
}

/// Returns all loops that the computation of an instance runs over.
static inline uint64_t hlo_tiling_computed_loops(const hlo_tiling_t* tiling,
                                                 const hlo_tiled_t* tiled) {
  bool is_reduce = tiled->kind == HLO_TILED_REDUCE;
  return is_reduce ? tiled->loops | hlo_tiled_space_mask(&tiling->spaces[tiled->reduction])
                   : tiled->loops;
}

/// Returns the number of points of a segment.
double hlo_segment_points(const hlo_kernel_t* kernel, const hlo_kernel_segment_t* segment);
/// Returns the tiling of one segment of the kernel, with the loops as chosen.
hlo_status_t hlo_kernel_walk(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                             const hlo_kernel_segment_t* segment,
                             hlo_tiling_t** out_tiling) HLO_MUST_USE;
