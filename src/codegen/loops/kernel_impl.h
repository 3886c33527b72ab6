// SPDX-License-Identifier: Apache-2.0
// What the parts of kernels share: how the loops of a fusion were chosen. Private to loops.
#ifndef HLO_CODEGEN_KERNEL_IMPL_H_
#define HLO_CODEGEN_KERNEL_IMPL_H_

#include "codegen/loops/kernel_form.h"

static inline bool hlo_kernel_has_lanes(const hlo_kernel_t* kernel) {
  return kernel->kind != HLO_KERNEL_POINTS;
}

/// The outputs that the loops over the output's digits store: those before the side outputs.
static inline uint32_t hlo_kernel_main_count(const hlo_kernel_t* kernel) {
  return kernel->fusion->output_count - kernel->fusion->extra_output_count;
}

/// What the accumulators of a swept reduction are in memory; HLO_DTYPE_INVALID: they
/// cannot be there.
hlo_dtype_t hlo_sweep_dtype(hlo_dtype_t dtype);

/// Returns whether the kernel's loops, which are chosen, can store the side outputs.
hlo_verdict_t hlo_kernel_check_sides(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);

/// Whether a load jumps from lane to lane but is plain along `cross`.
bool hlo_is_crossing(const hlo_tiled_t* tiled, uint32_t lane, uint32_t cross);

/// The elements from lane to lane where whole vectors are read for them, negative ones
/// backwards; 0: not so.
int64_t hlo_kernel_lane_step(const hlo_target_t* target, const hlo_expr_t* offset, uint32_t loop);
/// The quotient or remainder by which lanes find their elements in a window of at most so many;
/// NULL: they do not.
const hlo_expr_atom_t* hlo_kernel_lane_window(const hlo_target_t* target, const hlo_expr_t* offset,
                                              uint32_t loop, uint32_t lanes);
/// How many vectors hold a value that lanes look their elements up in, as it is in registers; 0: it
/// is too large, or the target has no permutations.
uint32_t hlo_kernel_table_pieces(const hlo_target_t* target, const hlo_tiled_t* tiled,
                                 uint32_t lanes);

/// Whether lanes can run over `lane` while the values of `woven`, few and innermost in memory, lie
/// side by side in them.
bool hlo_kernel_can_interleave(const hlo_tiling_t* tiling, uint32_t lane, uint32_t interleaved);

/// The loop over short rows whose reductions are finished for several rows at once, as a number
/// among the loops; loop_count: none.
uint32_t hlo_kernel_row_level(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);

/// Whether one vector of so many lanes holds the output, and all that is read for it can be
/// put in its order.
bool hlo_kernel_fits_vector(const hlo_tiling_t* tiling, uint32_t lanes);

struct hlo_kernel_start {
  uint32_t space_count, segment_count;  // 0 segments: nothing is known
  hlo_tiled_space_t spaces[HLO_TILED_MAX_LOOPS];
  hlo_kernel_segment_t segments[HLO_KERNEL_MAX_SEGMENTS];
};

/// Points that those digits run over.
static inline double hlo_tiling_points(const hlo_tiling_t* tiling, uint64_t loops) {
  double product = 1;
  for (; loops; loops &= loops - 1) {
    const hlo_tiled_loop_t* loop = &tiling->loops[__builtin_ctzll(loops)];
    product *= (double)(loop->end - loop->low);
  }
  return product;
}

/// A tiling of the kernel for one segment, digits as chosen.
hlo_status_t hlo_kernel_walk(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                             const hlo_kernel_segment_t* segment,
                             hlo_tiling_t** out_tiling) HLO_MUST_USE;

#endif  // HLO_CODEGEN_KERNEL_IMPL_H_
