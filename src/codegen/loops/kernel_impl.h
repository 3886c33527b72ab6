// SPDX-License-Identifier: Apache-2.0
// Shared by the files of loops/: queries about the chosen loops of a fusion. Private to the folder.
#ifndef HLO_CODEGEN_KERNEL_IMPL_H_
#define HLO_CODEGEN_KERNEL_IMPL_H_

#include "codegen/loops/kernel_form.h"

static inline int64_t hlo_divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

static inline bool hlo_kernel_has_lanes(const hlo_kernel_t* kernel) {
  return kernel->kind != HLO_KERNEL_POINTS;
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

/// Returns the reason why the chosen loops cannot store the extra outputs, if there is one.
hlo_verdict_t hlo_kernel_check_extra_outputs(const hlo_kernel_t* kernel,
                                             const hlo_tiling_t* tiling);

/// Returns true if a load is not contiguous along loop `lane`, but along `cross`.
bool hlo_is_crossing(const hlo_tiled_t* tiled, uint32_t lane, uint32_t cross);
/// Returns the elements of a row that transposes of blocks of `edge` columns read at once.
uint32_t hlo_kernel_transpose_part(const hlo_tiled_t* load, uint32_t edge);

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

/// Returns the level of the loop over short rows whose reductions are finished for several rows at
/// once; loop_count without such a loop.
uint32_t hlo_kernel_row_level(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);

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

/// Returns the tiling of one segment of the kernel, with the loops as chosen.
hlo_status_t hlo_kernel_walk(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                             const hlo_kernel_segment_t* segment,
                             hlo_tiling_t** out_tiling) HLO_MUST_USE;

#endif  // HLO_CODEGEN_KERNEL_IMPL_H_
