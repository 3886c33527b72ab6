// SPDX-License-Identifier: Apache-2.0
// How a fusion is computed: its output's elements as loops over digits, cut so that every access is
// affine and every guard decided, one loop over lanes, and chunks for parallel_for (see fusion.h).
#include <string.h>

#include "base/mem.h"
#include "codegen/dot/matmul.h"
#include "codegen/elementwise.h"
#include "codegen/kernel_impl.h"

// Costs decide only what is fused and cut, never results. What the machine takes for something is
// in its description (target.c).
static const double CALL_NS = 8.0;            // loops that take less are no function of their own
static const double SCALAR_CALL_NS = 100.0;  // nor are so few instructions without loops
static const double MOST_AFTER_PRODUCT = 120;  // for each element: it is emitted for every vector of
                                               // a tile, and a pass over memory is little beside it
enum {
  MANY_SEGMENTS = 32,     // to which no cuts add that only save guards at run time
  MAX_ROUNDS = 400,       // walks after which what is not decided becomes a guard at run time
  STRIP_VECTORS = 16,     // chunks of vectors are multiples of so many,
  SWEPT_VECTORS = 64,     // those of columns of so many
  SWEPT_ROWS = 32,        // fewer rows are no sweep, and no chunk
  SHARED_INPUTS = 64,     // bits of `shareable`
  SHORT_REDUCTION = 256,  // elements of a reduction that is soon done
  COSTLY = 10,            // from which hlo_elementwise_cost() on an op is a function, as exp is
  MOST_AGAIN = 32,        // plain ops for each element that are done again
};

hlo_status_t hlo_kernel_walk(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                             const hlo_kernel_segment_t* segment, hlo_tiling_t** out_tiling) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_tiling_create(kernel->fusion, arena, &tiling));
  tiling->dot = kernel->matmul ? kernel->matmul->contraction.node : NULL;
  tiling->space_count = kernel->space_count;
  memcpy(tiling->spaces, kernel->spaces, kernel->space_count * sizeof *kernel->spaces);
  HLO_TRY(hlo_tiling_walk(tiling, *segment, true));
  *out_tiling = tiling;
  return hlo_ok();
}

static void split_digit(hlo_tiled_space_t* space, uint32_t digit, int64_t inner) {
  memmove(&space->extents[digit + 1], &space->extents[digit],
          (space->digit_count - digit) * sizeof *space->extents);
  ++space->digit_count;
  space->extents[digit] /= inner;
  space->extents[digit + 1] = inner;
}

static void whole_segment(const hlo_tiled_space_t* space, hlo_kernel_segment_t* segment) {
  for (uint32_t i = 0; i < space->digit_count; ++i) {
    (*segment)[i][0] = 0;
    (*segment)[i][1] = space->extents[i];
  }
}

static hlo_status_t refused(const hlo_fusion_t* fusion, const char* why) {
  return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "fusion %u cannot be computed by loops: %s",
                           fusion->index, why);
}

static hlo_status_t keep_piece(hlo_kernel_pieces_t* pieces, const hlo_tiling_t* tiling) {
  const hlo_tiling_t* kept = hlo_tiling_keep(tiling);
  if (!kept) return hlo_arena_status(tiling->arena);
  pieces->tilings[pieces->count++] = kept;
  pieces->instance_count += kept->instance_count;
  return hlo_ok();
}

// Room for one more segment.
static hlo_status_t grow_segments(hlo_kernel_t* kernel, uint32_t count) {
  if (count & (count - 1)) return hlo_ok();  // full whenever there is a power of two of them
  hlo_kernel_segment_t* grown = hlo_arena_array(kernel->arena, 2 * (size_t)count, sizeof *grown);
  if (!grown) return hlo_arena_status(kernel->arena);
  memcpy(grown, kernel->segments, count * sizeof *grown);
  kernel->segments = grown;
  return hlo_ok();
}

// The first segments: those of a start that goes through the same elements, or everything once it
// has been walked. How many there are; 0: it has to be.
static hlo_status_t first_segments(hlo_kernel_t* kernel, hlo_tiling_t* tiling,
                                   uint32_t* out_count) {
  const hlo_kernel_start_t* start = tiling->is_small ? NULL : kernel->fusion->start;
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

// Those of products are found differently, and soon.
void hlo_kernel_find_start(const hlo_kernel_t* kernel, hlo_kernel_start_t* out_start) {
  out_start->segment_count = 0;
  if (kernel->matmul || kernel->is_small) return;
  out_start->space_count = kernel->space_count;
  out_start->segment_count = kernel->segment_count;
  memcpy(out_start->spaces, kernel->spaces, kernel->space_count * sizeof *kernel->spaces);
  memcpy(out_start->segments, kernel->segments, kernel->segment_count * sizeof *kernel->segments);
}

// Walks until no wish is left: digits are split (starting again), segments cut in two.
static hlo_status_t resolve(hlo_kernel_t* kernel, hlo_tiling_t* tiling, hlo_arena_t* scratch,
                            hlo_kernel_pieces_t* pieces) {
  uint32_t count;
  HLO_TRY(first_segments(kernel, tiling, &count));
  hlo_arena_mark_t start = hlo_arena_mark(scratch);
  bool is_known = count > 0;
  if (!is_known) count = 1;
  for (uint32_t round = 0; pieces->count < count; ++round) {
    hlo_arena_mark_t mark = hlo_arena_mark(scratch);
    uint32_t done = pieces->count;
    tiling->is_hasty = is_known;  // the very first walk finds the spaces; it is of everything
    HLO_TRY(hlo_tiling_walk(tiling, is_known ? kernel->segments[done] : NULL, round >= MAX_ROUNDS));
    if (tiling->refusal) return refused(kernel->fusion, tiling->refusal);
    hlo_tiled_space_t* space = &tiling->spaces[tiling->wish_space];
    if (!is_known) whole_segment(&tiling->spaces[0], &kernel->segments[0]);
    is_known = true;
    bool is_left = tiling->is_last_resort && count >= MANY_SEGMENTS;
    if (tiling->wish == HLO_TILED_NOTHING || is_left) {
      HLO_TRY(keep_piece(pieces, tiling));
      bool is_large = pieces->count > 1 && pieces->instance_count > HLO_TILED_MAX_INSTANCES;
      if (is_large) return refused(kernel->fusion, "its pieces are too large");
      continue;
    }
    hlo_arena_reset(scratch, mark);
    if (tiling->wish == HLO_TILED_SPLIT) {
      if (tiling->digit_count + 1 >= HLO_TILED_MAX_DIGITS) {
        return refused(kernel->fusion, "too many loops");
      }
      split_digit(space, tiling->wish_digit, tiling->wish_at);
      hlo_arena_reset(scratch, start);
      *pieces = (hlo_kernel_pieces_t){0};
      count = 1;
      whole_segment(&tiling->spaces[0], &kernel->segments[0]);
    } else {
      if (count == HLO_KERNEL_MAX_SEGMENTS) return refused(kernel->fusion, "too many pieces");
      HLO_TRY(grow_segments(kernel, count));
      hlo_kernel_segment_t* segments = kernel->segments;
      memcpy(segments[count], segments[done], sizeof segments[0]);
      segments[done][tiling->wish_digit][1] = tiling->wish_at;
      segments[count++][tiling->wish_digit][0] = tiling->wish_at;
    }
  }
  kernel->segment_count = count;
  return hlo_ok();
}

// All digits an instance's computation runs over.
static uint64_t computed_digits(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled) {
  uint64_t digits = tiled->digits;
  if (tiled->kind == HLO_TILED_REDUCE) {
    digits |= hlo_tiled_space_mask(&tiling->spaces[tiled->reduction]);
  }
  return digits;
}

// Bytes of the lanes that an instance needs: its elements, and its offsets where they are vectors.
static uint32_t lane_bytes(const hlo_tiled_t* tiled) {
  hlo_dtype_t dtype = tiled->kind == HLO_TILED_PRODUCT ? hlo_tiled_sum_dtype(tiled->value->def)
                                                       : tiled->value->type->dtype;
  uint32_t bytes = hlo_elementwise_register_bytes(dtype);
  if (!tiled->offset || tiled->kind == HLO_TILED_GUARD) return bytes;
  bool is_small = tiled->offset->low >= INT32_MIN && tiled->offset->high <= INT32_MAX;
  if (tiled->kind == HLO_TILED_INDEX) return is_small && bytes <= 4 ? 4 : 8;
  bool may_gather = hlo_dtype_size_bytes(tiled->value->type->dtype) >= 4;
  return may_gather && hlo_type_size_bytes(tiled->value->type) >= (size_t)1 << 31 ? 8 : bytes;
}

static uint32_t widest_bytes(const hlo_tiling_t* tiling) {
  uint32_t widest = 1;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    uint32_t bytes = lane_bytes(tiling->instances[i]);
    if (bytes > widest) widest = bytes;
  }
  return widest;
}

static uint32_t lanes_of_pieces(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  uint32_t most = 64;
  for (uint32_t i = 0; i < pieces->count; ++i) {
    uint32_t lanes = kernel->target->vector_bytes / widest_bytes(pieces->tilings[i]);
    if (lanes < most) most = lanes;
  }
  return most;
}

// Squares that are turned have as many rows as half of the registers hold, or a little more: a
// power of two.
static uint32_t square_edge(const hlo_kernel_t* kernel) {
  uint32_t most = kernel->target->vector_registers - 1, edge = 1u << (31 - __builtin_clz(most));
  if (edge > HLO_KERNEL_MAX_EDGE) edge = HLO_KERNEL_MAX_EDGE;
  return edge < kernel->lanes ? edge : kernel->lanes;
}

static void choose_loops(hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  const hlo_tiled_space_t* space = &kernel->spaces[0];
  kernel->lanes = lanes_of_pieces(kernel, pieces);
  if (kernel->is_small) {
    kernel->is_vector = true;
    kernel->loops[kernel->loop_count++] = 0;
    return;
  }
  uint32_t none = HLO_TILED_MAX_DIGITS, edge = square_edge(kernel);
  hlo_kernel_lanes_t best = hlo_kernel_choose_lanes(kernel, pieces, edge);
  kernel->is_woven = best.woven < none;
  kernel->woven_digit = best.woven;
  for (uint32_t i = 0; i < space->digit_count; ++i) {
    bool is_apart = i == best.lane || i == best.cross || i == best.woven;
    if (!is_apart && space->extents[i] > 1) kernel->loops[kernel->loop_count++] = i;
  }
  kernel->is_transposed = best.cross < none;
  if (kernel->is_transposed) {
    kernel->loops[kernel->loop_count++] = best.cross;
    kernel->lanes = edge;
  }
  kernel->is_vector = best.lane < none;
  if (kernel->is_vector) kernel->loops[kernel->loop_count++] = best.lane;
}

static bool is_worth_cutting(const hlo_kernel_t* kernel) {
  return hlo_tile_is_worth_cutting(&kernel->target->tile, kernel->cost_ns, false);
}

// Whether every output is a plain sum (or such) down columns of more data than a
// core's caches hold.
static bool is_column_reduction(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (!kernel->is_vector || kernel->segment_count != 1 || kernel->loop_count != 1) return false;
  uint32_t lane = kernel->loops[0];
  for (uint32_t i = 0; i < hlo_kernel_main_count(kernel); ++i) {
    const hlo_tiled_t* root = tiling->outputs[i];
    hlo_dtype_t dtype = kernel->fusion->outputs[i]->type->dtype;
    if (root->kind != HLO_TILED_REDUCE || root->operand_count != 2 ||
        root->reduction != tiling->outputs[0]->reduction || !(root->digits >> lane & 1) ||
        dtype == HLO_DTYPE_PRED || hlo_tiling_needs_reduction(tiling, root) ||
        hlo_elementwise_register_bytes(dtype) != hlo_dtype_size_bytes(dtype)) {
      return false;
    }
  }
  const hlo_tiled_space_t* rows = &tiling->spaces[tiling->outputs[0]->reduction];
  return rows->element_count >= SWEPT_ROWS && is_worth_cutting(kernel);
}

// Adds what the loops of a piece do; loaded: bytes by input, as often as they are loaded.
static void add_work(const hlo_tiling_t* tiling, uint32_t lanes, double* loaded,
                     hlo_tile_work_t* work) {
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    double points = hlo_tiling_points(tiling, computed_digits(tiling, tiled));
    double cost = tiled->kind == HLO_TILED_COMPUTE ? hlo_elementwise_cost(tiled->value->def) : 1;
    work->vector_ops += points * cost / lanes;
    if (tiled->kind == HLO_TILED_LOAD) {
      loaded[tiled->input] += points * (double)hlo_dtype_size_bytes(tiled->value->type->dtype);
    }
  }
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    const hlo_type_t* type = tiling->fusion->outputs[i]->type;
    bool is_side = i >= tiling->fusion->output_count - tiling->fusion->side_count;
    uint64_t digits =
        is_side ? tiling->output_offsets[i]->digits : hlo_tiled_space_mask(&tiling->spaces[0]);
    double bytes = hlo_tiling_points(tiling, digits) * (double)hlo_dtype_size_bytes(type->dtype);
    work->accessed_bytes += bytes;
    work->distinct_bytes += bytes;
  }
}

// The roofline of all pieces together.
static hlo_status_t estimate(hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                             hlo_arena_t* scratch) {
  const hlo_fusion_t* fusion = kernel->fusion;
  double* loaded = hlo_arena_array(scratch, fusion->input_count + 1, sizeof *loaded);
  HLO_TRY(hlo_arena_status(scratch));
  hlo_tile_work_t work = {0};
  for (uint32_t i = 0; i < pieces->count; ++i) {
    add_work(pieces->tilings[i], kernel->lanes, loaded, &work);
  }
  for (uint32_t i = 0; i < fusion->input_count; ++i) {
    double whole = (double)hlo_type_size_bytes(fusion->inputs[i]->type);
    work.accessed_bytes += loaded[i];
    work.distinct_bytes += loaded[i] < whole ? loaded[i] : whole;
  }
  kernel->cost_ns = hlo_tile_work_ns(&kernel->target->tile, &work);
  kernel->moved_bytes = work.distinct_bytes;
  return hlo_ok();
}

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// How many chunks the whole kernel's work is worth.
static int64_t wanted_chunks(const hlo_kernel_t* kernel) {
  return hlo_tile_chunk_count(&kernel->target->tile, kernel->cost_ns, false);
}

// Cuts `extent` into at most `wanted` chunks of a multiple of `step`; how many they are.
static uint64_t cut_chunks(hlo_kernel_t* kernel, int64_t extent, int64_t wanted, int64_t step) {
  kernel->chunk_size = divide_up(divide_up(extent, wanted), step) * step;
  return (uint64_t)divide_up(extent, kernel->chunk_size);
}

// What a loop may be cut into multiples of, so that no vector or tile falls apart.
static int64_t cutting_step(const hlo_kernel_t* kernel, uint32_t level) {
  uint32_t rest = kernel->loop_count - level;
  if (kernel->is_transposed && rest <= 2) return kernel->lanes;
  if (rest > 1 || !kernel->is_vector) return 1;
  return (int64_t)kernel->lanes * (kernel->is_sweep ? SWEPT_VECTORS : STRIP_VECTORS);
}

static void choose_chunks(hlo_kernel_t* kernel) {
  kernel->chunk_count = 1;
  if (!is_worth_cutting(kernel) || kernel->loop_count == 0) return;
  int64_t wanted = wanted_chunks(kernel), step = cutting_step(kernel, 0);
  const int64_t* extents = kernel->spaces[0].extents;
  int64_t outer = extents[kernel->loops[0]];
  kernel->is_split_twice = outer < wanted && kernel->loop_count > 1 && step == 1;
  if (kernel->is_split_twice) {
    kernel->parts_per_outer = cut_chunks(kernel, extents[kernel->loops[1]],
                                         divide_up(wanted, outer), cutting_step(kernel, 1));
    kernel->chunk_count = (uint64_t)outer * kernel->parts_per_outer;
  } else {
    kernel->chunk_count = cut_chunks(kernel, outer, wanted, step);
  }
}

// One element reduced from many: the reductions are cut instead, if all run side by side.
static hlo_status_t choose_split(hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (!is_worth_cutting(kernel) || kernel->loop_count > 0) return hlo_ok();
  uint32_t partials = 0;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE) continue;
    if (tiled->digits || (partials && tiled->reduction != kernel->split_space)) {
      return refused(kernel->fusion, "reductions to one element follow each other");
    }
    kernel->split_space = tiled->reduction;
    partials += hlo_tiled_result_count(tiled);
  }
  // An operand that needs a finished reduction would need a second round of chunks.
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE || !hlo_tiling_needs_reduction(tiling, tiled)) continue;
    return refused(kernel->fusion, "reductions to one element follow each other");
  }
  if (!partials || partials > HLO_KERNEL_MAX_PARTIALS) {
    kernel->split_space = 0;
    return hlo_ok();
  }
  const hlo_tiled_space_t* space = &tiling->spaces[kernel->split_space];
  while (space->extents[kernel->split_digit] < 2) ++kernel->split_digit;
  int64_t extent = space->extents[kernel->split_digit];
  int64_t step = space->digit_count == kernel->split_digit + 1 ? kernel->lanes * STRIP_VECTORS : 1;
  kernel->chunk_count = cut_chunks(kernel, extent, wanted_chunks(kernel), step);
  kernel->partial_count = partials;
  if (kernel->chunk_count < 2) kernel->split_space = kernel->partial_count = 0;
  return hlo_ok();
}

// The digits of all loops around an instance: those it depends on, and where one of them is a
// reduction's, those that the reduction depends on.
static uint64_t enclosing_digits(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled) {
  uint64_t digits = computed_digits(tiling, tiled);
  uint32_t end = tiling->space_count > 1 ? tiling->instance_count : 0;  // where there are reductions
  for (uint32_t i = tiled->number + 1; i < end; ++i) {                  // inner ones come first
    const hlo_tiled_t* outer = tiling->instances[i];
    if (outer->kind != HLO_TILED_REDUCE || !(outer->digits & ~digits)) continue;
    if (!(digits & hlo_tiled_space_mask(&tiling->spaces[outer->reduction]))) continue;
    bool is_needed[HLO_TILED_MAX_INSTANCES] = {false};
    hlo_tiling_mark_needed(tiling, outer, is_needed);
    if (is_needed[tiled->number]) digits |= outer->digits;
  }
  return digits;
}

// How often the loops compute an instance: once for every value of the loops down to the innermost
// one that is around it.
static double evaluation_count(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                               const hlo_tiled_t* tiled) {
  uint64_t output_digits = hlo_tiled_space_mask(&tiling->spaces[0]);
  uint64_t digits = enclosing_digits(tiling, tiled);
  double outer = 1;
  double count = hlo_tiling_points(tiling, digits & ~output_digits);
  double needed = 1;
  for (uint32_t i = 0; i < kernel->loop_count; ++i) {
    uint32_t digit = kernel->loops[i];
    outer *= (double)(tiling->digits[digit].end - tiling->digits[digit].low);
    if (digits >> digit & 1) needed = outer;
  }
  return count * needed;
}

// Fused work that is done many times over would be cheaper through memory. Adds what plain ops cost
// to `work`.
static hlo_status_t check_redundancy(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                                     double* totals, double* work) {
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE && tiled->kind != HLO_TILED_COMPUTE) continue;
    const hlo_node_t* node = tiled->value->def;
    bool is_reduce = tiled->kind == HLO_TILED_REDUCE;
    double cost = is_reduce ? 8 : hlo_elementwise_cost(node);
    double count = evaluation_count(kernel, tiling, tiled);
    if (!is_reduce) *work += cost * count;
    if (cost < 4) continue;
    uint32_t at = 0;
    while (at < kernel->fusion->node_count && kernel->fusion->nodes[at] != node) ++at;
    // Windows and products visit their operands many times by their nature.
    const hlo_type_t* type = node->op == HLO_OP_reduce ? hlo_node_operand_type(node, 0)
                                                       : node->results[0].type;
    double wanted = (double)hlo_type_element_count(type);
    if (node->op != HLO_OP_reduce && is_reduce) {
      wanted *= (double)tiling->spaces[tiled->reduction].element_count;
    }
    totals[at] += count / wanted;
    // The loops of one reduction may run its operands again: softmax needs its exponentials twice.
    if (totals[at] > (is_reduce ? 1.5 : cost >= COSTLY ? 2.5 : 3.5)) {
      return refused(kernel->fusion, "it would be computed again and again");
    }
  }
  return hlo_ok();
}

static bool has_reduction(const hlo_tiling_t* tiling) {
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    if (tiling->instances[i]->kind == HLO_TILED_REDUCE) return true;
  }
  return false;
}

// Whether outputs, all of as many elements, have different dimensions.
static bool has_several_shapes(const hlo_kernel_t* kernel) {
  const hlo_type_t* first = hlo_tiled_written(kernel->fusion->outputs[0])->type;
  for (uint32_t i = 1; i < hlo_kernel_main_count(kernel); ++i) {
    const hlo_type_t* type = hlo_tiled_written(kernel->fusion->outputs[i])->type;
    if (!hlo_type_same_dims(type, first)) return true;
  }
  return false;
}

// Lanes along short reductions leave what follows them to be computed one by one, which costs more
// than memory between the two. Outputs in whose different orders nothing has lanes do not belong
// together.
static hlo_status_t check_lanes(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (kernel->is_vector || tiling->spaces[0].element_count < kernel->lanes ||
      hlo_kernel_row_level(kernel, tiling) < kernel->loop_count) {
    return hlo_ok();
  }
  if (has_several_shapes(kernel) && !has_reduction(tiling)) {
    return refused(kernel->fusion, "no lanes go along the elements of all outputs");
  }
  uint64_t output_digits = hlo_tiled_space_mask(&tiling->spaces[0]);
  bool is_short = false, is_costly = false;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE) {
      is_short |= tiling->spaces[tiled->reduction].element_count <= SHORT_REDUCTION;
    } else if (tiled->kind == HLO_TILED_COMPUTE && !(tiled->digits & ~output_digits)) {
      is_costly |= hlo_elementwise_cost(tiled->value->def) >= COSTLY;
    }
  }
  return is_short && is_costly ? refused(kernel->fusion, "it would be computed one by one")
                               : hlo_ok();
}

static hlo_status_t check_pieces(hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces,
                                 hlo_arena_t* scratch) {
  double* totals = hlo_arena_array(scratch, kernel->fusion->node_count + 1, sizeof *totals);
  if (!totals) return hlo_arena_status(scratch);
  double work = 0, most = (double)kernel->spaces[0].element_count;
  for (uint32_t i = 0; i < kernel->fusion->node_count; ++i) {
    const hlo_node_t* node = kernel->fusion->nodes[i];
    double count = (double)hlo_type_element_count(node->results[0].type);
    if (hlo_elementwise_supports(node)) work -= hlo_elementwise_cost(node) * count;
    if (count > most) most = count;
  }
  for (uint32_t i = 0; i < pieces->count; ++i) {
    HLO_TRY(check_redundancy(kernel, pieces->tilings[i], totals, &work));
    if (kernel->fusion->node_count > 1) HLO_TRY(check_lanes(kernel, pieces->tilings[i]));
  }
  return work > most * MOST_AGAIN ? refused(kernel->fusion, "much would be computed again")
                                  : hlo_ok();
}

// Inputs that are read elsewhere than where an output is written cannot share its memory.
static void find_shareable(hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  // Side outputs are stored while the rest is still read.
  for (uint32_t o = hlo_kernel_main_count(kernel); o < kernel->fusion->output_count; ++o) {
    kernel->shareable[o] = 0;
  }
  bool is_one_point = !kernel->matmul && kernel->loop_count == 0 && kernel->segment_count == 1;
  if (is_one_point) return;  // everything is read before anything is written
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_LOAD || tiled->input >= SHARED_INPUTS) continue;
    for (uint32_t o = 0; o < kernel->fusion->output_count; ++o) {
      if (tiled->offset == tiling->output_offsets[o]) continue;
      kernel->shareable[o] &= ~((uint64_t)1 << tiled->input);
    }
  }
}

// Whether some output leaves the caches anyway before anyone can read it there.
static bool has_large_output(const hlo_kernel_t* kernel) {
  for (uint32_t i = 0; i < hlo_kernel_main_count(kernel); ++i) {
    const hlo_value_t* output = hlo_tiled_written(kernel->fusion->outputs[i]);
    size_t bytes = hlo_type_size_bytes(output->type);
    if (hlo_target_passes_caches(kernel->target, bytes, kernel->moved_bytes)) return true;
  }
  return false;
}

static bool stores_whole_lines(const hlo_target_t* target) {
  return target->vector_bytes >= hlo_target_line_bytes(target);
}

// Loops over several digits of a handful of elements become one vector where that can be.
static hlo_status_t make_small(hlo_kernel_t* kernel, hlo_tiling_t* tiling, hlo_arena_t* scratch,
                               hlo_kernel_pieces_t* pieces) {
  const hlo_tiled_space_t* space = &tiling->spaces[0];
  if (!kernel->target->has_masks || kernel->fusion->side_count || pieces->count != 1 ||
      space->digit_count < 2 || space->element_count > (int64_t)lanes_of_pieces(kernel, pieces)) {
    return hlo_ok();
  }
  hlo_tiling_t* whole;
  HLO_TRY(hlo_tiling_create(kernel->fusion, scratch, &whole));
  hlo_kernel_pieces_t* one = hlo_arena_alloc_zeroed(scratch, sizeof *one);
  HLO_TRY(hlo_arena_status(scratch));
  whole->is_small = true;
  hlo_kernel_t trial = *kernel;
  hlo_status_t status = resolve(&trial, whole, scratch, one);
  if (hlo_status_code(status) == HLO_STATUS_UNIMPLEMENTED) {
    hlo_status_release(status);
    return hlo_ok();
  }
  HLO_TRY(status);
  if (one->count != 1 || !hlo_kernel_fits_vector(one->tilings[0], lanes_of_pieces(kernel, one))) {
    return hlo_ok();
  }
  kernel->is_small = true;
  kernel->segments = trial.segments;
  *tiling = *whole;
  *pieces = *one;
  return hlo_ok();
}

/// The reductions of a kernel of columns.
typedef struct columns {
  uint32_t space, partials;
  bool is_swept;   // all run down the same rows, and their accumulators can be in memory
  bool is_nested;  // one needs the result of another
} columns_t;

static columns_t find_columns(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  uint32_t lane = kernel->loops[0], count = 0;
  columns_t columns = {.is_swept = true};
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind != HLO_TILED_REDUCE) continue;
    if (count++ == 0) columns.space = tiled->reduction;
    columns.is_nested |= hlo_tiling_needs_reduction(tiling, tiled);
    columns.is_swept &= tiled->digits >> lane & 1 && tiled->reduction == columns.space &&
                        tiled->operands[0]->kind != HLO_TILED_PRODUCT;
    for (uint32_t r = 0; r < hlo_tiled_result_count(tiled); ++r, ++columns.partials) {
      hlo_dtype_t dtype = tiled->value->def->results[r].type->dtype;
      columns.is_swept &= hlo_sweep_dtype(dtype) != HLO_DTYPE_INVALID;
    }
  }
  columns.is_swept &= count > 0 && columns.partials <= HLO_KERNEL_MAX_PARTIALS;
  return columns;
}

// Sums of few columns, and those with something behind them: each chunk sweeps rows of its own.
static hlo_status_t choose_row_split(hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  enum { FEW_CHUNKS = 4, PART_ROWS = 128 };  // PART_ROWS: that a chunk has at least
  bool is_plain = kernel->is_vector && !kernel->is_small && !kernel->is_woven &&
                  !kernel->is_transposed && kernel->segment_count == 1 && kernel->loop_count == 1;
  bool is_cut = kernel->is_sweep && kernel->chunk_count >= FEW_CHUNKS;
  if (!is_plain || !is_worth_cutting(kernel) || is_cut) return hlo_ok();
  columns_t columns = find_columns(kernel, tiling);
  if (!columns.is_swept) return hlo_ok();
  const hlo_tiled_space_t* space = &tiling->spaces[columns.space];
  int64_t wanted = wanted_chunks(kernel), most = space->element_count / PART_ROWS;
  if (wanted > most) wanted = most;
  if (wanted < 2) return hlo_ok();
  if (columns.is_nested) return refused(kernel->fusion, "sums of columns follow each other");
  uint32_t digit = 0;
  while (space->extents[digit] < 2) ++digit;
  int64_t step = digit + 1 == space->digit_count ? SWEPT_ROWS : 1;
  if (space->extents[digit] < 2 * step) return hlo_ok();
  kernel->chunk_count = cut_chunks(kernel, space->extents[digit], wanted, step);
  kernel->split_digit = digit;
  kernel->is_sweep = true;
  kernel->is_streamed = false;
  kernel->split_space = columns.space;
  kernel->partial_count = columns.partials;
  return hlo_ok();
}

static hlo_status_t check_sides(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  if (!kernel->fusion->side_count) return hlo_ok();
  const char* refusal = hlo_kernel_refuse_sides(kernel, tiling);
  // What could run on many threads by itself is not to wait for what cannot.
  if (!refusal && is_worth_cutting(kernel) && kernel->chunk_count < 2) refusal = "it cannot be cut";
  return refusal ? refused(kernel->fusion, refusal) : hlo_ok();
}

static int64_t range_of(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling, uint32_t level) {
  const hlo_tiled_digit_t* digit = &tiling->digits[kernel->loops[level]];
  return digit->end - digit->low;
}

// How many chunks compute an instance each for itself, beyond what the loops repeat anyway.
static double chunk_repeats(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling,
                            const hlo_tiled_t* tiled) {
  bool needs_outer = tiled->digits >> kernel->loops[0] & 1;
  if (!kernel->is_split_twice) {
    return needs_outer ? 1 : (double)divide_up(range_of(kernel, tiling, 0), kernel->chunk_size);
  }
  if (tiled->digits >> kernel->loops[1] & 1) return 1;
  int64_t parts = divide_up(range_of(kernel, tiling, 1), kernel->chunk_size);
  return (double)(needs_outer ? parts : parts * range_of(kernel, tiling, 0));
}

// What all chunks need, as the sum of everything, is better computed once before them, unless it is
// little beside the rest.
static hlo_status_t check_chunks(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  const double MOST = 0.25;
  if (kernel->chunk_count < 2 || kernel->split_space) return hlo_ok();
  double once = (double)kernel->spaces[0].element_count, again = 0;  // what is stored
  for (uint32_t i = 0; i < pieces->count; ++i) {
    const hlo_tiling_t* tiling = pieces->tilings[i];
    for (uint32_t k = 0; k < tiling->instance_count; ++k) {
      const hlo_tiled_t* tiled = tiling->instances[k];
      double cost = tiled->kind == HLO_TILED_COMPUTE ? hlo_elementwise_cost(tiled->value->def) : 1;
      cost *= hlo_tiling_points(tiling, computed_digits(tiling, tiled));
      once += cost;
      again += cost * (chunk_repeats(kernel, tiling, tiled) - 1);
    }
  }
  return again > MOST * once ? refused(kernel->fusion, "every chunk would compute it again")
                             : hlo_ok();
}

// How many of the outermost loops are the same in all segments. Reductions belong outside of loops
// that they do not depend on, so segments with such have loops of their own.
static uint32_t common_levels(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  if (pieces->count < 2 || kernel->is_woven) return 0;
  for (uint32_t i = 0; i < pieces->count; ++i) {
    if (has_reduction(pieces->tilings[i])) return 0;
  }
  for (uint32_t level = 0; level < kernel->loop_count; ++level) {
    const int64_t* first = kernel->segments[0][kernel->loops[level]];
    for (uint32_t i = 1; i < pieces->count; ++i) {
      const int64_t* range = kernel->segments[i][kernel->loops[level]];
      if (range[0] != first[0] || range[1] != first[1]) return level;
    }
  }
  return 0;
}

static hlo_status_t create(hlo_kernel_t* kernel, hlo_arena_t* scratch) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_tiling_create(kernel->fusion, scratch, &tiling));
  hlo_kernel_pieces_t* pieces = hlo_arena_alloc_zeroed(scratch, sizeof *pieces);
  HLO_TRY(hlo_arena_status(scratch));
  HLO_TRY(resolve(kernel, tiling, scratch, pieces));
  HLO_TRY(make_small(kernel, tiling, scratch, pieces));
  size_t bytes = tiling->space_count * sizeof *kernel->spaces;
  kernel->spaces = hlo_arena_alloc(kernel->arena, bytes);
  HLO_TRY(hlo_arena_status(kernel->arena));
  memcpy(kernel->spaces, tiling->spaces, bytes);
  kernel->space_count = tiling->space_count;
  choose_loops(kernel, pieces);
  HLO_TRY(estimate(kernel, pieces, scratch));
  for (uint32_t i = 0; i < pieces->count; ++i) find_shareable(kernel, pieces->tilings[i]);
  const hlo_tiling_t* first = pieces->tilings[0];
  kernel->is_sweep = is_column_reduction(kernel, first);
  kernel->is_streamed = kernel->is_vector && !kernel->is_sweep && !kernel->is_woven &&
                        has_large_output(kernel) &&
                        (!kernel->is_transposed || stores_whole_lines(kernel->target));
  HLO_TRY(check_pieces(kernel, pieces, scratch));
  hlo_kernel_order_loops(kernel, pieces);
  kernel->common_levels = common_levels(kernel, pieces);
  choose_chunks(kernel);
  HLO_TRY(choose_row_split(kernel, first));
  HLO_TRY(choose_split(kernel, first));
  HLO_TRY(check_chunks(kernel, pieces));
  return check_sides(kernel, first);
}

// ---- matrix products

// What may follow a product: computations of the same elements, from others read in vectors or one
// for all lanes.
static const char* unfit_for_product(const hlo_tiling_t* tiling, const hlo_matmul_t* matmul) {
  uint32_t lane_digit =
      matmul->is_by_depth ? HLO_TILED_MAX_DIGITS : (uint32_t)matmul->columns.digit;
  uint32_t products = 0;
  double cost = 0;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (tiled->kind == HLO_TILED_REDUCE || tiled->kind == HLO_TILED_GUARD) return "a reduction follows";
    if (tiled->kind == HLO_TILED_COMPUTE) cost += hlo_elementwise_cost(tiled->value->def);
    if (tiled->kind == HLO_TILED_DOT) {
      ++products;
      if (tiled->offset != tiling->spaces[0].linear) return "its elements are moved";
    } else if (tiled->kind == HLO_TILED_LOAD) {
      if (hlo_expr_unresolved(tiled->offset)) return "an operand that follows it is not affine";
      if (lane_digit == HLO_TILED_MAX_DIGITS) continue;  // one by one
      hlo_lane_access_t access = hlo_tiled_lane_access(tiled->offset, lane_digit);
      if (access != HLO_LANE_SAME && access != HLO_LANE_PLAIN) {
        return "an operand that follows it is strided";
      }
    }
  }
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    const hlo_value_t* output = tiling->fusion->outputs[i];
    const hlo_expr_t* offset = tiling->output_offsets[i];
    if (hlo_tiled_written(output) != output) return "a slice is updated";
    if (hlo_expr_unresolved(offset)) return "what it is moved to is not affine";
    if (lane_digit == HLO_TILED_MAX_DIGITS) continue;
    if (hlo_tiled_lane_access(offset, lane_digit) != HLO_LANE_PLAIN) return "rows become columns";
  }
  if (cost > MOST_AFTER_PRODUCT) return "what follows is long";
  return products == 1 ? NULL : "it is used in several places";
}

// Whether neighbours in all that the loops write are rows, not columns.
static bool is_across(const hlo_tiling_t* tiling, const hlo_matmul_t* m) {
  for (uint32_t i = 0; i < tiling->fusion->output_count; ++i) {
    const hlo_expr_t* offset = tiling->output_offsets[i];
    if (m->rows.digit < 0 || hlo_expr_coefficient(offset, (uint32_t)m->rows.digit) != 1) return false;
  }
  return true;
}

// The product's loops, such that what follows it is stored where it lies.
static hlo_status_t form_product(hlo_kernel_t* kernel, const hlo_node_t* node, hlo_tiling_t* tiling,
                                hlo_matmul_t** out_matmul) {
  hlo_matmul_form_t form = {0};
  const hlo_value_t* output = hlo_tiled_written(kernel->fusion->outputs[0]);
  for (;;) {
    hlo_matmul_t* m;
    HLO_TRY(hlo_matmul_create(kernel, node, &form, kernel->arena, &tiling->spaces[0], &m));
    if (hlo_type_element_count(output->type) != tiling->spaces[0].element_count) {
      return refused(kernel->fusion, "other elements than the product's");
    }
    HLO_TRY(hlo_tiling_walk(tiling, NULL, false));
    *out_matmul = m;
    if (tiling->refusal) return refused(kernel->fusion, tiling->refusal);
    if (tiling->wish == HLO_TILED_NOTHING) {
      if (is_across(tiling, m) && hlo_matmul_turn(m, &form)) continue;
      return hlo_ok();
    }
    const hlo_matmul_cut_t cut = {tiling->wish_digit, tiling->wish_at};
    bool is_split = tiling->wish == HLO_TILED_SPLIT && tiling->wish_space == 0;
    if (!is_split || !hlo_matmul_cut(m, kernel->target, cut, &form)) {
      return refused(kernel->fusion, "what follows a product is cut differently");
    }
  }
}

static hlo_status_t create_product(hlo_kernel_t* kernel, const hlo_node_t* node,
                                   hlo_tile_memo_t* memo, hlo_arena_t* scratch) {
  hlo_tiling_t* tiling;
  HLO_TRY(hlo_tiling_create(kernel->fusion, scratch, &tiling));
  tiling->dot = node;
  tiling->space_count = 1;
  hlo_matmul_t* matmul = NULL;
  HLO_TRY(form_product(kernel, node, tiling, &matmul));
  const char* refusal = unfit_for_product(tiling, matmul);
  if (refusal) return refused(kernel->fusion, refusal);
  find_shareable(kernel, tiling);
  kernel->spaces = hlo_arena_alloc(kernel->arena, sizeof *kernel->spaces);
  kernel->segments = hlo_arena_array(kernel->arena, 1, sizeof *kernel->segments);
  HLO_TRY(hlo_arena_status(kernel->arena));
  kernel->spaces[0] = tiling->spaces[0];
  kernel->space_count = kernel->segment_count = 1;
  whole_segment(&tiling->spaces[0], &kernel->segments[0]);
  uint32_t widest = widest_bytes(tiling);
  if (widest < matmul->element_bytes) widest = matmul->element_bytes;
  for (uint32_t side = 0; side < 2; ++side) {
    uint32_t bytes = matmul->operands[side].producer.widest_bytes;
    if (widest < bytes) widest = bytes;
  }
  kernel->lanes = kernel->target->vector_bytes / widest;
  HLO_TRY(hlo_matmul_finish(matmul, kernel->target, memo, kernel->lanes));
  kernel->chunk_count = matmul->chunk_count;
  kernel->matmul = matmul;
  return hlo_ok();
}

hlo_status_t hlo_kernel_create(hlo_fusion_t* fusion, const hlo_target_t* target,
                               hlo_tile_memo_t* memo, hlo_arena_t* arena,
                               hlo_kernel_t** out_kernel) {
  if (fusion->kernel) {
    *out_kernel = fusion->kernel;
    return hlo_ok();
  }
  hlo_kernel_t* kernel = hlo_arena_alloc_zeroed(arena, sizeof *kernel);
  if (!kernel) return hlo_arena_status(arena);
  uint64_t* shareable = hlo_arena_array(arena, fusion->output_count, sizeof *shareable);
  if (!shareable) return hlo_arena_status(arena);
  memset(shareable, 0xff, fusion->output_count * sizeof *shareable);
  *kernel = (hlo_kernel_t){
      .fusion = fusion, .target = target, .arena = arena, .shareable = shareable};
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  uint32_t products;
  const hlo_node_t* product = hlo_matmul_find(fusion, &products);
  hlo_status_t status = products > 1 ? refused(fusion, "several matrix products")
                        : product    ? create_product(kernel, product, memo, &scratch)
                                     : create(kernel, &scratch);
  hlo_arena_deinit(&scratch);
  if (hlo_status_is_ok(status)) *out_kernel = fusion->kernel = kernel;
  return status;
}

hlo_status_t hlo_kernel_visits_once(const hlo_kernel_t* kernel, uint32_t input, bool* out_does) {
  *out_does = false;
  if (kernel->segment_count != 1 || kernel->matmul) return hlo_ok();
  hlo_arena_t scratch;
  hlo_tiling_t* tiling;
  hlo_arena_init(&scratch, 0);
  hlo_status_t status = hlo_kernel_walk(kernel, &scratch, &kernel->segments[0], &tiling);
  uint32_t loads = 0;
  for (uint32_t i = 0; hlo_status_is_ok(status) && i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    loads += tiled->kind == HLO_TILED_LOAD && tiled->input == input;
  }
  hlo_arena_deinit(&scratch);
  *out_does = loads == 1;
  return status;
}

// Lanes are chosen again.
static hlo_status_t explain_lanes(const hlo_kernel_t* kernel, hlo_arena_t* scratch,
                                  hlo_strbuf_t* out) {
  hlo_kernel_pieces_t* pieces = hlo_arena_alloc_zeroed(scratch, sizeof *pieces);
  HLO_TRY(hlo_arena_status(scratch));
  for (uint32_t i = 0; i < kernel->segment_count; ++i) {
    hlo_tiling_t* tiling;
    HLO_TRY(hlo_kernel_walk(kernel, scratch, &kernel->segments[i], &tiling));
    pieces->tilings[pieces->count++] = tiling;
  }
  hlo_kernel_t before = *kernel;
  before.lanes = lanes_of_pieces(kernel, pieces);
  return hlo_kernel_explain_lanes(&before, pieces, square_edge(&before), scratch, out);
}

hlo_status_t hlo_kernel_explain(const hlo_kernel_t* kernel, hlo_strbuf_t* out) {
  const hlo_matmul_t* m = kernel->matmul;
  if (m && !m->is_narrow && !m->tile) return hlo_matmul_explain_sums(m, kernel->target, out);
  if (m || kernel->is_small) return hlo_ok();
  hlo_arena_t scratch;
  hlo_arena_init(&scratch, 0);
  hlo_status_t status = explain_lanes(kernel, &scratch, out);
  hlo_arena_deinit(&scratch);
  return status;
}

uint32_t hlo_kernel_phase_count(const hlo_kernel_t* kernel) {
  if (kernel->matmul) return hlo_matmul_phase_count(kernel->matmul);
  return kernel->split_space ? 2 : 1;
}

uint64_t hlo_kernel_chunk_count(const hlo_kernel_t* kernel, uint32_t phase) {
  if (kernel->matmul) return hlo_matmul_chunk_count(kernel->matmul, phase);
  return phase == 0 ? kernel->chunk_count : 1;
}

double hlo_kernel_cost_ns(const hlo_kernel_t* kernel) {
  return kernel->matmul ? kernel->matmul->cost_ns : kernel->cost_ns;
}

// As measured over the programs of tests/programs; within a factor of two of most.
uint64_t hlo_kernel_code_size(const hlo_kernel_t* kernel) {
  enum { NODE = 25, PRODUCT = 700 };
  uint64_t size = (uint64_t)NODE * kernel->fusion->node_count * kernel->segment_count;
  return kernel->matmul ? PRODUCT + size : size;
}

bool hlo_kernel_is_shared(const hlo_kernel_t* kernel) {
  if (!kernel->fusion->model || kernel->tile) return false;
  return kernel->matmul || kernel->cost_ns >= (kernel->loop_count ? CALL_NS : SCALAR_CALL_NS);
}

bool hlo_kernel_prepares(const hlo_kernel_t* kernel, uint32_t input) {
  return kernel->matmul && !kernel->tile && hlo_matmul_prepares(kernel->matmul, input);
}

size_t hlo_kernel_scratch_bytes(const hlo_kernel_t* kernel) {
  if (kernel->matmul) return hlo_matmul_scratch_bytes(kernel->matmul);
  if (!kernel->split_space) return 0;
  uint64_t elements = (uint64_t)kernel->spaces[0].element_count;  // one, or columns
  return kernel->chunk_count * kernel->partial_count * elements * sizeof(uint64_t);
}

bool hlo_kernel_reads_values(const hlo_kernel_t* kernel) {
  return !hlo_kernel_is_shared(kernel) && !kernel->matmul && !kernel->tile &&
         !kernel->split_space && !kernel->is_sweep && kernel->chunk_count <= 1;
}

uint32_t hlo_kernel_value_lanes(const hlo_kernel_t* kernel) {
  bool can_be = kernel->target->has_masks && hlo_kernel_reads_values(kernel) &&
                !kernel->is_transposed && !kernel->is_streamed;
  return can_be && kernel->lanes * sizeof(float) == kernel->target->vector_bytes ? kernel->lanes
                                                                                 : 0;
}

bool hlo_kernel_gives_value(const hlo_kernel_t* kernel, uint32_t output) {
  if (!hlo_kernel_reads_values(kernel) || kernel->segment_count != 1 ||
      hlo_kernel_updates(kernel, output) >= 0 || output >= hlo_kernel_main_count(kernel)) {
    return false;
  }
  if (kernel->loop_count == 0) return true;
  return kernel->is_vector && kernel->loop_count == 1 && hlo_kernel_value_lanes(kernel) &&
         kernel->spaces[0].element_count <= (int64_t)kernel->lanes;
}

int32_t hlo_kernel_updates(const hlo_kernel_t* kernel, uint32_t output) {
  const hlo_fusion_t* fusion = kernel->fusion;
  const hlo_value_t* value = fusion->outputs[output];
  if (hlo_tiled_written(value) == value) return -1;
  int32_t input = 0;
  while (fusion->inputs[input] != hlo_node_operand(value->def, 0)) ++input;
  return input;
}

bool hlo_kernel_may_share(const hlo_kernel_t* kernel, uint32_t output, uint32_t input) {
  const hlo_fusion_t* fusion = kernel->fusion;
  if (hlo_dtype_size_bytes(fusion->outputs[output]->type->dtype) !=
      hlo_dtype_size_bytes(fusion->inputs[input]->type->dtype)) {
    return false;
  }
  // Sums lie in the output while operands are still read.
  if (kernel->is_sweep) return false;
  if (kernel->matmul && kernel->matmul->is_narrow) return false;  // more is stored than computed
  if (kernel->matmul && kernel->matmul->sums_in_output &&
      kernel->matmul->sums_output == (int32_t)output) {
    return false;
  }
  int32_t updated = hlo_kernel_updates(kernel, output);
  if (updated >= 0 && input != (uint32_t)updated) return false;  // the updated value lies there
  for (uint32_t side = 0; kernel->matmul && side < 2; ++side) {
    if (hlo_matmul_reads(&kernel->matmul->operands[side], input)) return false;
  }
  return input < SHARED_INPUTS && kernel->shareable[output] >> input & 1;
}
