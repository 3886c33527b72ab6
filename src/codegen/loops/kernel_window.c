// SPDX-License-Identifier: Apache-2.0
// Lanes over several short loops at once, as over the three channels of many pixels. The index of a
// broadcast along some of them is a quotient or remainder of the lanes' loop: a vector needs only a
// few adjacent elements, its window, which a permutation distributes to the lanes.
#include <string.h>

#include "codegen/loops/kernel_choose.h"
#include "codegen/loops/kernel_emit_impl.h"
#include "codegen/math/math.h"

enum { MAX_DIVISOR = 64 };  // for longer loops, lanes along the loop itself are nearly full

// ---- loads --------------------------------------------------------------------------------------

const hlo_expr_atom_t* hlo_kernel_lane_window(const hlo_target_t* target, const hlo_expr_t* offset,
                                              uint32_t loop, uint32_t lanes) {
  const hlo_expr_term_t* found = NULL;
  if (!target->has_masks || !target->has_permute) return NULL;
  for (uint32_t i = 0; i < offset->term_count; ++i) {
    if (!(offset->terms[i].atom->loops >> loop & 1)) continue;
    if (found) return NULL;
    found = &offset->terms[i];
  }
  if (!found || found->coefficient != 1 || !found->atom->argument) return NULL;
  const hlo_expr_t* argument = found->atom->argument;
  if (argument->low < 0 || hlo_tiled_lane_access(argument, loop) != HLO_LANE_PLAIN) return NULL;
  // The window of a remainder is all of its values: the lanes must take each of them.
  const hlo_expr_atom_t* atom = found->atom;
  bool is_quotient = atom->kind == HLO_EXPR_QUOTIENT;
  int64_t most = is_quotient ? MAX_DIVISOR : (int64_t)lanes;
  bool is_whole = is_quotient || argument->high - argument->low >= atom->divisor - 1;
  return lanes > 1 && atom->divisor <= most && is_whole ? atom : NULL;
}

static int64_t window_offset(const hlo_expr_atom_t* atom, int64_t number) {
  return atom->kind == HLO_EXPR_QUOTIENT ? number / atom->divisor : number % atom->divisor;
}

/// The adjacent elements that the lanes of one vector need.
typedef struct window {
  const hlo_expr_atom_t* atom;
  hlo_vir_value_t* first;  // index of the first of them in the array
  hlo_vir_value_t* rest;   // remainder of the first lane's number
} window_t;

// Returns false if there is no window.
static bool emit_window(hlo_emitter_t* e, const hlo_expr_t* offset, window_t* out) {
  hlo_vir_builder_t* b = e->b;
  const hlo_expr_atom_t* atom =
      hlo_kernel_lane_window(e->kernel->target, offset, e->lane_loop, e->lanes);
  if (!atom) return false;
  hlo_vir_value_t* divisor = hlo_vir_iconst(b, atom->divisor);
  hlo_vir_value_t* number = hlo_emit_index(e, atom->argument);
  hlo_vir_value_t* quotient = hlo_vir_index(b, HLO_VIR_idiv, number, divisor);
  hlo_vir_value_t* rest =
      hlo_vir_index(b, HLO_VIR_isub, number, hlo_vir_index(b, HLO_VIR_imul, quotient, divisor));
  hlo_vir_value_t* first = hlo_emit_common_index(e, offset);
  if (atom->kind == HLO_EXPR_QUOTIENT) first = hlo_vir_index(b, HLO_VIR_iadd, first, quotient);
  *out = (window_t){.atom = atom, .first = first, .rest = rest};
  return true;
}

// Returns the offsets of the lanes in the window, as the operand of a permutation of such values.
static hlo_vir_value_t* window_offsets(hlo_emitter_t* e, const window_t* window,
                                       hlo_vir_type_t type) {
  uint8_t offsets[MAX_DIVISOR + HLO_VIR_MAX_LANES];
  const uint32_t count = (uint32_t)window->atom->divisor + e->lanes;
  for (uint32_t i = 0; i < count; ++i) offsets[i] = (uint8_t)window_offset(window->atom, i);
  return hlo_emit_lane_offsets_from(e, type, count, offsets, window->rest);
}

hlo_vir_value_t* hlo_emit_window_offsets(hlo_emitter_t* e, const hlo_expr_t* offset,
                                         hlo_vir_type_t type) {
  window_t window;
  if (!emit_window(e, offset, &window)) return NULL;
  hlo_vir_value_t* offsets = window_offsets(e, &window, type);
  hlo_vir_value_t* first =
      hlo_vir_emit(e->b, HLO_VIR_splat_index, offsets->type, 0, 0, 1, &window.first);
  return hlo_vir_binary(e->b, HLO_VIR_add, first, offsets);
}

hlo_vir_value_t* hlo_emit_window_load(hlo_emitter_t* e, const hlo_tiled_t* tiled, uint32_t flags) {
  hlo_vir_builder_t* b = e->b;
  const hlo_type_t* type = tiled->value->type;
  window_t window;
  if (!emit_window(e, tiled->offset, &window)) return NULL;
  hlo_vir_value_t* count = hlo_vir_iconst(b, window.atom->divisor);
  if (window.atom->kind == HLO_EXPR_QUOTIENT) {
    // As many elements as lanes can need, but none past the end of the array.
    hlo_vir_value_t* end = hlo_vir_iconst(b, hlo_type_element_count(type));
    hlo_vir_value_t* most = hlo_vir_iconst(b, (e->lanes - 1) / window.atom->divisor + 2);
    count = hlo_vir_index(b, HLO_VIR_imin, hlo_vir_index(b, HLO_VIR_isub, end, window.first), most);
  }
  hlo_vir_type_t mask = hlo_vir_type(HLO_VIR_MASK, e->lanes);
  hlo_element_address_t address = {
      .base = e->addresses[tiled->input],
      .index = window.first,
      .mask = hlo_vir_emit(b, HLO_VIR_mask_first, mask, 0, 0, 1, &count),
      .flags = flags};
  hlo_vir_value_t* value = hlo_elementwise_load_raw(b, type->dtype, e->lanes, &address);
  hlo_vir_value_t* offsets = window_offsets(e, &window, value->type);
  value = hlo_vir_binary(b, HLO_VIR_permute, value, offsets);
  return hlo_vmath_from_memory(b, hlo_emitter_dtype(e, tiled->value), value);
}

// ---- joined loops -------------------------------------------------------------------------------

// Joins the last loops of the output until they fill the lanes; false if they do already or cannot.
static bool join_loops(hlo_tiled_space_t* space, int64_t lanes) {
  while (space->loop_count > 1 && space->extents[space->loop_count - 1] == 1) {
    --space->loop_count;
  }
  int64_t last = space->extents[space->loop_count - 1];
  if (space->loop_count < 2 || last % lanes == 0 || last > MAX_DIVISOR) return false;
  do {
    last = space->extents[--space->loop_count - 1] *= last;
  } while (last < lanes && space->loop_count > 1);
  return true;
}

// Returns true if every load that is not contiguous along the last loop has a window.
static bool has_lane_windows(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling) {
  uint32_t loop = tiling->spaces[0].loop_count - 1;
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    const hlo_tiled_t* tiled = tiling->instances[i];
    if (!tiled->offset || !hlo_expr_unresolved(tiled->offset)) continue;
    if (tiled->kind != HLO_TILED_LOAD ||
        !hlo_kernel_lane_window(kernel->target, tiled->offset, loop, kernel->lanes)) {
      return false;
    }
  }
  return true;
}

static bool may_join(const hlo_kernel_t* kernel, const hlo_kernel_pieces_t* pieces) {
  return kernel->target->has_masks && pieces->count == 1 &&
         kernel->fusion->extra_output_count == 0 && kernel->space_count == 1 &&
         pieces->tilings[0]->instance_count > 1;
}

// Walks the fusion with the joined loops; *out_tiling is NULL if they are not supported.
static hlo_status_t walk_joined(const hlo_kernel_t* kernel, const hlo_tiled_space_t* space,
                                hlo_arena_t* scratch, hlo_tiling_t** out_tiling) {
  hlo_tiling_t* tiling;
  *out_tiling = NULL;
  HLO_TRY(hlo_tiling_create(kernel->fusion, scratch, &tiling));
  tiling->space_count = tiling->whole_loops = 1;
  tiling->spaces[0] = *space;
  HLO_TRY(hlo_tiling_walk(tiling, NULL, false));
  bool is_done = !hlo_verdict_is_no(&tiling->verdict) && tiling->request == HLO_TILED_NOTHING &&
                 tiling->space_count == 1 && has_lane_windows(kernel, tiling);
  if (is_done) *out_tiling = tiling;
  return hlo_ok();
}

hlo_status_t hlo_kernel_join_loops(hlo_kernel_t* kernel, double cost_ns, hlo_arena_t* scratch,
                                   hlo_kernel_pieces_t* pieces, hlo_kernel_lanes_t* lanes) {
  hlo_tiled_space_t space = kernel->spaces[0];
  if (!may_join(kernel, pieces) || !join_loops(&space, kernel->lanes)) return hlo_ok();
  hlo_tiling_t* joined;
  HLO_TRY(walk_joined(kernel, &space, scratch, &joined));
  if (!joined) return hlo_ok();
  hlo_kernel_t trial = *kernel;
  trial.spaces = joined->spaces;
  hlo_kernel_pieces_t* whole = hlo_arena_alloc_zeroed(scratch, sizeof *whole);
  HLO_TRY(hlo_arena_status(scratch));
  whole->count = 1;
  whole->instance_count = joined->instance_count;
  whole->tilings[0] = joined;
  hlo_kernel_lanes_t found;
  double joined_ns = hlo_kernel_choose_lanes(&trial, whole, &found);
  if (joined_ns < 0 || (cost_ns >= 0 && joined_ns >= cost_ns)) return hlo_ok();
  kernel->spaces[0] = joined->spaces[0];
  hlo_kernel_whole_segment(kernel->spaces, kernel->segments);
  *pieces = *whole;
  *lanes = found;
  return hlo_ok();
}
