// SPDX-License-Identifier: Apache-2.0
// The steps in which the loops of a kernel are chosen (kernel.c), one file each. Private to them.
#ifndef HLO_CODEGEN_KERNEL_CHOOSE_H_
#define HLO_CODEGEN_KERNEL_CHOOSE_H_

#include "codegen/loops/kernel_impl.h"

/// The tilings of a kernel's segments, every guard decided where that could be done.
typedef struct hlo_kernel_pieces {
  uint32_t count, instance_count;
  const hlo_tiling_t* tilings[HLO_KERNEL_MAX_SEGMENTS];
} hlo_kernel_pieces_t;

/// Which digit of the output runs over lanes, HLO_TILED_MAX_LOOPS: none, reductions have their own
/// lanes; along which one loads that jump from lane to lane are plain; and which one's values are
/// woven into each other. HLO_TILED_MAX_LOOPS: none.
typedef struct hlo_kernel_lanes {
  uint32_t lane, cross, interleaved;
} hlo_kernel_lanes_t;

/// Lanes of the squares that are turned where they run over digit `lane`.
uint32_t hlo_kernel_transpose_edge(const hlo_kernel_t* kernel, uint32_t lane);
/// The lanes with which everything takes least time, and that time; negative: nothing has lanes.
double hlo_kernel_choose_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                               hlo_kernel_lanes_t* out_lanes);
/// The system that they come from, and its solution; appended.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_explain_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                      hlo_arena_t* scratch, hlo_strbuf_t* out) HLO_MUST_USE;

/// Puts the loops around rows that are stored past the caches into the order of what is read.
void hlo_kernel_order_loops(hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces);

// These steps set kernel->verdict where the fusion is better, or only, computed otherwise, and return
// OK: the caller looks at it before the next step.

/// The pieces in which the loops go through the output, and the spaces: digits are split and ranges
/// cut until no wish is left, and what fits into one vector is one.
hlo_status_t hlo_kernel_find_pieces(hlo_kernel_t* kernel, hlo_arena_t* scratch,
                                    hlo_kernel_pieces_t** out_pieces) HLO_MUST_USE;
/// Makes one of the last digits, short ones, of a kernel with a single piece, where lanes along it
/// take less than cost_ns (negative: there are none): spaces, segment, pieces and lanes are of that.
hlo_status_t hlo_kernel_join_loops(hlo_kernel_t* kernel, double cost_ns,
                                    hlo_arena_t* scratch, hlo_kernel_pieces_t* pieces,
                                    hlo_kernel_lanes_t* lanes) HLO_MUST_USE;

/// Lanes that all pieces can have.
uint32_t hlo_kernel_piece_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces);

/// Says no to what would be recomputed too often, or without lanes.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_check_work(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                   hlo_arena_t* scratch, hlo_verdict_t* out_verdict) HLO_MUST_USE;
/// Says no to what chunks, which are chosen, would compute each for itself, and to sides that keep
/// the rest from being cut.
hlo_verdict_t hlo_kernel_check_chunks(const hlo_kernel_t* kernel,
                                      const hlo_kernel_pieces_t* pieces);

/// Whether the work is worth more than one thread.
bool hlo_kernel_is_worth_cutting(const hlo_kernel_t* kernel);
/// Whether every output is a plain sum (or such) down columns of more data than a core's caches
/// hold.
bool hlo_kernel_reduces_columns(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);
/// Cuts loops, or reductions, whose loops are chosen. Says no where reductions cannot be cut, and
/// should be.
hlo_verdict_t hlo_kernel_choose_chunks(hlo_kernel_t* kernel, const hlo_tiling_t* tiling);

/// All digits an instance's computation runs over.
static inline uint64_t hlo_tiling_computed_loops(const hlo_tiling_t* tiling,
                                                  const hlo_tiled_t* tiled) {
  bool is_reduce = tiled->kind == HLO_TILED_REDUCE;
  return is_reduce ? tiled->loops | hlo_tiled_space_mask(&tiling->spaces[tiled->reduction])
                   : tiled->loops;
}

static inline int64_t hlo_divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

#endif  // HLO_CODEGEN_KERNEL_CHOOSE_H_
