// SPDX-License-Identifier: Apache-2.0
// The steps that choose the loops of a kernel (kernel.c), one file each. Private to them.
#pragma once

#include "codegen/loops/kernel_impl.h"

/// The tilings of a kernel's segments, with every mask decided where possible.
typedef struct hlo_kernel_pieces {
  uint32_t count, instance_count;
  const hlo_tiling_t* tilings[HLO_KERNEL_MAX_SEGMENTS];
} hlo_kernel_pieces_t;

/// The loops of the output that lanes run over; HLO_TILED_MAX_LOOPS: none.
typedef struct hlo_kernel_lanes {
  hlo_kernel_kind_t kind;  // POINTS (reductions have lanes of their own), LANES, TRANSPOSE or
                           // INTERLEAVED
  uint32_t lane;
  uint32_t other;  // TRANSPOSE: the loop along which strided loads become contiguous; INTERLEAVED:
                   // the loop whose values are interleaved
  uint32_t count;  // of lanes
} hlo_kernel_lanes_t;

/// Chooses the lanes with the least time and returns that time; negative if no loop can have lanes.
double hlo_kernel_choose_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                               hlo_kernel_lanes_t* out_lanes);
/// Takes the lanes of the kernel's configuration; false if they are not possible.
bool hlo_kernel_take_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                           hlo_kernel_lanes_t* out_lanes);
/// Lists the possible lanes as configurations, the fastest first; appends to `list`. errors :
/// RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_list_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                   hlo_arena_t* scratch, hlo_kernel_configs_t* list) HLO_MUST_USE;
/// Appends the constraint system of that choice and its solution. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_explain_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                      hlo_arena_t* scratch, hlo_strbuf_t* out) HLO_MUST_USE;

/// Reorders the loops around rows that are stored past the caches by the order of what is read.
void hlo_kernel_order_loops(hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces);

// The following steps set kernel->verdict if the fusion is computed better, or only, in another
// way, and return OK: the caller checks it before the next step.

/// Finds the segments in which loops cover the output, and the spaces: splits loops and cuts ranges
/// until no request is left; whatever fits one vector becomes one.
hlo_status_t hlo_kernel_find_pieces(hlo_kernel_t* kernel, hlo_arena_t* scratch,
                                    hlo_kernel_pieces_t** out_pieces) HLO_MUST_USE;
/// Joins the last, short loops of a kernel with a single segment into one if lanes along it take
/// less than cost_ns (negative: there are no lanes); updates spaces, segment, pieces and lanes.
hlo_status_t hlo_kernel_join_loops(hlo_kernel_t* kernel, double cost_ns, hlo_arena_t* scratch,
                                   hlo_kernel_pieces_t* pieces,
                                   hlo_kernel_lanes_t* lanes) HLO_MUST_USE;

/// Returns the lanes that all segments support.
uint32_t hlo_kernel_piece_lanes(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces);

/// Returns the loops around an instance: those it depends on and, if one of them belongs to a
/// reduction, those that the reduction depends on.
uint64_t hlo_kernel_enclosing_loops(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled);

/// Returns the operations of an instance, at all points where loops compute it and without lanes.
double hlo_kernel_instance_ops(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled);

/// Refuses work that would be recomputed too often, or without lanes. errors : RESOURCE_EXHAUSTED
hlo_status_t hlo_kernel_check_work(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                   hlo_arena_t* scratch, hlo_verdict_t* out_verdict) HLO_MUST_USE;
/// Refuses work that each of the chosen chunks would repeat, and extra outputs that prevent chunks.
hlo_verdict_t hlo_kernel_check_chunks(const hlo_kernel_t* kernel,
                                      const hlo_kernel_pieces_t* pieces);

/// Returns true if the work is worth more than one thread.
bool hlo_kernel_is_worth_cutting(const hlo_kernel_t* kernel);
/// Returns true if every output is a plain reduction down columns of more data than a core's caches
/// hold.
bool hlo_kernel_reduces_columns(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);
/// Splits the chosen loops or reductions into chunks. Refuses reductions that should be split but
/// cannot.
hlo_verdict_t hlo_kernel_choose_chunks(hlo_kernel_t* kernel, const hlo_tiling_t* tiling);
