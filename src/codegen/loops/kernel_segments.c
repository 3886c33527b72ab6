// SPDX-License-Identifier: Apache-2.0
// Divides the output into segments: loops are split and ranges cut until every access is affine and
// every mask is decided, so that the loops of a segment need neither divisions nor masks.
#include <string.h>

#include "base/tuning.h"
#include "codegen/loops/kernel_choose.h"

hlo_status_t hlo_kernel_walk(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                             const hlo_kernel_segment_t* segment, hlo_tiling_t** out_tiling) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_tiling_create(kernel->fusion, arena, &tiling));
  tiling->dot = hlo_kernel_form_of(kernel) ? kernel->form.node : NULL;
  tiling->space_count = kernel->space_count;
  memcpy(tiling->spaces, kernel->spaces, kernel->space_count * sizeof *kernel->spaces);
  HLO_TRY(hlo_tiling_walk(tiling, *segment, true));
  *out_tiling = tiling;
  return hlo_ok();
}

static void split_loop(hlo_tiled_space_t* space, uint32_t loop, int64_t inner) {
  memmove(&space->extents[loop + 1], &space->extents[loop],
          (space->loop_count - loop) * sizeof *space->extents);
  ++space->loop_count;
  space->extents[loop] /= inner;
  space->extents[loop + 1] = inner;
}

void hlo_kernel_whole_segment(const hlo_tiled_space_t* space, hlo_kernel_segment_t* segment) {
  for (uint32_t i = 0; i < space->loop_count; ++i) {
    (*segment)[i][0] = 0;
    (*segment)[i][1] = space->extents[i];
  }
}

double hlo_segment_points(const hlo_kernel_t* kernel, const hlo_kernel_segment_t* segment) {
  double points = 1;
  for (uint32_t i = 0; i < kernel->spaces[0].loop_count; ++i) {
    points *= (double)((*segment)[i][1] - (*segment)[i][0]);
  }
  return points;
}

static hlo_status_t add_piece(hlo_kernel_pieces_t* pieces, const hlo_tiling_t* tiling) {
  const hlo_tiling_t* kept = hlo_tiling_keep(tiling);
  if (!kept) return hlo_arena_status(tiling->arena);
  pieces->tilings[pieces->count++] = kept;
  pieces->instance_count += kept->instance_count;
  return hlo_ok();
}

// Makes room for one more segment.
static hlo_status_t grow_segments(hlo_kernel_t* kernel, uint32_t count) {
  if (count & (count - 1)) return hlo_ok();  // the capacity is the next power of two
  hlo_kernel_segment_t* grown = hlo_arena_array(kernel->arena, 2 * (size_t)count, sizeof *grown);
  if (!grown) return hlo_arena_status(kernel->arena);
  memcpy(grown, kernel->segments, count * sizeof *grown);
  kernel->segments = grown;
  return hlo_ok();
}

// Starts with the segments of an earlier kernel over the same elements, or, without one, with
// the whole output once it has been walked: *out_count is 0 then.
static hlo_status_t first_segments(hlo_kernel_t* kernel, hlo_tiling_t* tiling,
                                   uint32_t* out_count) {
  const hlo_kernel_start_t* start = tiling->whole_loops ? NULL : kernel->fusion->start;
  const hlo_type_t* type = hlo_tiled_written(kernel->fusion->outputs[0])->type;
  bool is_known = start && start->segment_count &&
                  start->spaces[0].element_count == hlo_type_element_count(type);
  *out_count = is_known ? start->segment_count : 0;
  uint32_t room = 1;
  while (room < *out_count) room *= 2;
  kernel->segments = hlo_arena_array(kernel->arena, room, sizeof *kernel->segments);
  if (!kernel->segments || !is_known) return hlo_arena_status(kernel->arena);
  memcpy(kernel->segments, start->segments, *out_count * sizeof *kernel->segments);
  memcpy(tiling->spaces, start->spaces, start->space_count * sizeof *start->spaces);
  tiling->space_count = start->space_count;
  return hlo_ok();
}

// Forms have no reusable start.
static void find_start(const hlo_kernel_t* kernel, hlo_kernel_start_t* out_start) {
  out_start->segment_count = 0;
  if (hlo_kernel_form_of(kernel) || hlo_kernel_has(kernel, HLO_KERNEL_WHOLE)) return;
  out_start->space_count = kernel->space_count;
  out_start->segment_count = kernel->segment_count;
  memcpy(out_start->spaces, kernel->spaces, kernel->space_count * sizeof *kernel->spaces);
  memcpy(out_start->segments, kernel->segments, kernel->segment_count * sizeof *kernel->segments);
}

hlo_status_t hlo_kernel_keep_start(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                                   hlo_kernel_start_t** start) {
  if (!*start) *start = hlo_arena_alloc(arena, sizeof **start);
  if (!*start) return hlo_arena_status(arena);
  find_start(kernel, *start);
  return hlo_ok();
}

// Walks until the tiling has no more requests: splits loops, which restarts the walk, and cuts
// segments in two.
static hlo_status_t resolve_requests(hlo_kernel_t* kernel, hlo_tiling_t* tiling,
                                     hlo_arena_t* scratch, hlo_kernel_pieces_t* pieces) {
  uint32_t count;
  HLO_TRY(first_segments(kernel, tiling, &count));
  hlo_arena_mark_t start = hlo_arena_mark(scratch);
  bool is_known = count > 0;
  if (!is_known) count = 1;
  for (uint32_t round = 0; pieces->count < count; ++round) {
    hlo_arena_mark_t mark = hlo_arena_mark(scratch);
    uint32_t done = pieces->count;
    // The very first walk finds the spaces and covers the whole output.
    tiling->is_optimistic = is_known;
    HLO_TRY(hlo_tiling_walk(tiling, is_known ? kernel->segments[done] : NULL,
                            round >= HLO_TUNING_SPLIT_MAX_ROUNDS));
    kernel->verdict = tiling->verdict;
    if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
    hlo_tiled_space_t* space = &tiling->spaces[tiling->request_space];
    if (!is_known) hlo_kernel_whole_segment(&tiling->spaces[0], &kernel->segments[0]);
    is_known = true;
    bool is_masked = tiling->is_last_resort && count >= HLO_TUNING_SPLIT_MANY_SEGMENTS;
    if (tiling->request == HLO_TILED_NOTHING || is_masked) {
      HLO_TRY(add_piece(pieces, tiling));
      bool is_large = pieces->count > 1 && pieces->instance_count > HLO_TILED_MAX_INSTANCES;
      if (!is_large) continue;
      kernel->verdict = hlo_verdict_beyond(HLO_REASON_PIECES_SIZE, NULL, pieces->instance_count,
                                           HLO_TILED_MAX_INSTANCES);
      return hlo_ok();
    }
    hlo_arena_reset(scratch, mark);
    if (tiling->request == HLO_TILED_SPLIT) {
      if (tiling->loop_count + 1 >= HLO_TILED_MAX_LOOPS) {
        kernel->verdict = hlo_verdict_beyond(HLO_REASON_INDEX_LOOPS, NULL, tiling->loop_count + 1,
                                             HLO_TILED_MAX_LOOPS - 1);
        return hlo_ok();
      }
      split_loop(space, tiling->request_loop, tiling->request_at);
      hlo_arena_reset(scratch, start);
      *pieces = (hlo_kernel_pieces_t){0};
      count = 1;
      hlo_kernel_whole_segment(&tiling->spaces[0], &kernel->segments[0]);
    } else {
      if (count == HLO_KERNEL_MAX_SEGMENTS) {
        kernel->verdict = hlo_verdict_beyond(HLO_REASON_PIECES, NULL, count + 1, count);
        return hlo_ok();
      }
      HLO_TRY(grow_segments(kernel, count));
      hlo_kernel_segment_t* segments = kernel->segments;
      memcpy(segments[count], segments[done], sizeof segments[0]);
      segments[done][tiling->request_loop][1] = tiling->request_at;
      segments[count++][tiling->request_loop][0] = tiling->request_at;
    }
  }
  kernel->segment_count = count;
  return hlo_ok();
}

// Joins the loops over an output that fits one vector, if all loads can be permuted.
static hlo_status_t make_vector_kernel(hlo_kernel_t* kernel, hlo_tiling_t* tiling,
                                       hlo_arena_t* scratch, hlo_kernel_pieces_t* pieces) {
  const hlo_tiled_space_t* space = &tiling->spaces[0];
  if (!kernel->target->has_masks || kernel->fusion->extra_output_count || pieces->count != 1 ||
      space->loop_count < 2 ||
      space->element_count > (int64_t)hlo_kernel_piece_lanes(kernel, pieces)) {
    return hlo_ok();
  }
  hlo_tiling_t* whole;
  HLO_TRY(hlo_tiling_create(kernel->fusion, scratch, &whole));
  hlo_kernel_pieces_t* one = hlo_arena_alloc_zeroed(scratch, sizeof *one);
  HLO_TRY(hlo_arena_status(scratch));
  whole->whole_loops = HLO_TILED_MAX_LOOPS;
  hlo_kernel_t trial = *kernel;
  HLO_TRY(resolve_requests(&trial, whole, scratch, one));
  if (hlo_verdict_is_no(&trial.verdict)) return hlo_ok();
  uint32_t lanes = hlo_kernel_piece_lanes(kernel, one);
  if (one->count != 1 || !hlo_kernel_fits_vector(one->tilings[0], lanes)) {
    return hlo_ok();
  }
  kernel->kind = HLO_KERNEL_VECTOR;
  kernel->segments = trial.segments;
  *tiling = *whole;
  *pieces = *one;
  return hlo_ok();
}

hlo_status_t hlo_kernel_find_pieces(hlo_kernel_t* kernel, hlo_arena_t* scratch,
                                    hlo_kernel_pieces_t** out_pieces) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_tiling_create(kernel->fusion, scratch, &tiling));
  hlo_kernel_pieces_t* pieces = hlo_arena_alloc_zeroed(scratch, sizeof *pieces);
  HLO_TRY(hlo_arena_status(scratch));
  HLO_TRY(resolve_requests(kernel, tiling, scratch, pieces));
  if (hlo_verdict_is_no(&kernel->verdict)) return hlo_ok();
  HLO_TRY(make_vector_kernel(kernel, tiling, scratch, pieces));
  kernel->spaces = hlo_arena_array(kernel->arena, tiling->space_count, sizeof *kernel->spaces);
  HLO_TRY(hlo_arena_status(kernel->arena));
  memcpy(kernel->spaces, tiling->spaces, tiling->space_count * sizeof *kernel->spaces);
  kernel->space_count = tiling->space_count;
  *out_pieces = pieces;
  return hlo_ok();
}
