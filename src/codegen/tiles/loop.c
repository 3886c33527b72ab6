// SPDX-License-Identifier: Apache-2.0
// Emits loops: over lanes with what remains of them, over single iterations, over chunks. A loop
// whose step is above one has no order, so it may have lanes whatever its step is.
#include "base/tuning.h"
#include "codegen/tiles/lower_impl.h"

// ---- the choice of lanes

// The accesses below an operation, along one loop.
typedef struct lane_score {
  uint32_t iv;
  uint32_t index_bytes;  // of positions along the loop
  int64_t adjacent, apart;
  uint32_t widest_bytes;  // of values that differ between lanes, and of vectors of positions
  bool is_ordered;        // an atomic or a print, which has no lanes
  bool has_branch_store;  // a store of some of the lanes, where they take different paths or have
                          // masks
} lane_score_t;

static void widen(lane_score_t* score, uint32_t bytes) {
  if (bytes > score->widest_bytes) score->widest_bytes = bytes;
}

static void score_access(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op, bool is_branch,
                         lane_score_t* score) {
  const hlo_expr_t* offset = hlo_tile_offset(e->exprs, op);
  const hlo_tile_access_t access = hlo_tile_lane_access(offset, score->iv);
  const bool is_checked = op->is_masked || !hlo_tile_stays_inside(e->kernel, op);
  const bool is_store = hlo_tile_writes(op);
  score->has_branch_store |= is_store && (is_branch || is_checked);
  score->adjacent += access == HLO_TILE_ADJACENT;
  score->apart += access == HLO_TILE_APART;
  // Lanes that store to one element are scattered, too.
  const bool has_positions = access == HLO_TILE_APART ||
                             (access == HLO_TILE_ADJACENT && is_checked) ||
                             (access == HLO_TILE_SAME && is_store);
  if (has_positions) {
    widen(score, hlo_vir_elem_bits(hlo_position_elem(offset)) / 8);
  }
  for (uint32_t i = 0; i < op->index_count && is_checked; ++i) {
    widen(score, hlo_vir_elem_bits(hlo_position_elem(op->indices[i])) / 8);
  }
}

static void score_block(const hlo_tile_emitter_t* e, const hlo_tile_block_t* block, bool is_branch,
                        lane_score_t* score);

static void score_op(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op, bool is_branch,
                     lane_score_t* score) {
  const bool is_access = hlo_tile_is_access(op);
  score->is_ordered |= op->kind == HLO_TILE_OP_atomic || op->kind == HLO_TILE_OP_print;
  if (is_access) score_access(e, op, is_branch, score);
  if (!is_access && op->offset && (op->offset->loops >> score->iv & 1)) {
    widen(score, hlo_vir_elem_bits(hlo_position_elem(op->offset)) / 8);
  }
  if (op->kind == HLO_TILE_OP_program_id) widen(score, score->index_bytes);
  // Every value inside may differ between lanes.
  if (op->dtype != HLO_DTYPE_INVALID) widen(score, hlo_elementwise_register_bytes(op->dtype));
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    widen(score, hlo_elementwise_register_bytes(op->operands[i]->dtype));
  }
  const bool branches =
      op->kind == HLO_TILE_OP_while || op->kind == HLO_TILE_OP_switch || op->kind == HLO_TILE_OP_if;
  if (!op->body.first) return;
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next) {
    score_block(e, region, is_branch || branches, score);
  }
}

static void score_block(const hlo_tile_emitter_t* e, const hlo_tile_block_t* block, bool is_branch,
                        lane_score_t* score) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    score_op(e, op, is_branch, score);
  }
}

static lane_score_t score_loop(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t iv) {
  lane_score_t score = {.iv = iv, .widest_bytes = 1, .index_bytes = sizeof(int32_t)};
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    const hlo_tile_loop_t* loop = &op->loops[i];
    const bool is_long = loop->low < INT32_MIN || loop->end > INT32_MAX;
    if (loop->iv == iv && is_long) score.index_bytes = sizeof(int64_t);
  }
  if (op->kind == HLO_TILE_OP_reduce) {
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      widen(&score, hlo_elementwise_register_bytes(op->operands[i]->dtype));
    }
  }
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next) {
    score_block(e, region, false, &score);
  }
  return score;
}

static int64_t gain_of(const lane_score_t* score) {
  return score->adjacent - score->apart;
}

// Returns the best gain of the loops in tiles inside a block.
static int64_t best_inside(const hlo_tile_emitter_t* e, const hlo_tile_block_t* block,
                           int64_t best) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    for (uint32_t i = 0; i < op->loop_count; ++i) {
      if (op->loops[i].step == 1) continue;
      const lane_score_t score = score_loop(e, op, op->loops[i].iv);
      if (gain_of(&score) > best) best = gain_of(&score);
    }
    if (!op->body.first) continue;
    for (const hlo_tile_block_t* region = &op->body; region; region = region->next) {
      best = best_inside(e, region, best);
    }
  }
  return best;
}

static uint32_t lanes_of(const hlo_tile_emitter_t* e, const lane_score_t* score) {
  if (score->is_ordered || (score->has_branch_store && !e->target->has_masks)) return 1;
  const uint32_t lanes = e->target->vector_bytes / score->widest_bytes;
  return lanes ? lanes : 1;
}

uint32_t hlo_tile_count_lanes(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t iv) {
  const lane_score_t score = score_loop(e, op, iv);
  return lanes_of(e, &score);
}

uint32_t hlo_tile_choose_lanes(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                               const hlo_tile_loop_t* loop) {
  if (e->lane_iv != HLO_TILE_NO_LANES || loop->step == 1) return 1;
  const lane_score_t score = score_loop(e, op, loop->iv);
  // Of equally good loops the innermost one has lanes.
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next) {
    if (best_inside(e, region, INT64_MIN) >= gain_of(&score)) return 1;
  }
  return lanes_of(e, &score);
}

uint32_t hlo_tile_choose_reduce_lanes(const hlo_tile_emitter_t* e, const hlo_tile_op_t* op,
                                      uint32_t* out_loop) {
  int64_t best = INT64_MIN;
  uint32_t lanes = 1;
  for (uint32_t i = 0; i < op->loop_count; ++i) {
    if (op->loops[i].step == 1) continue;
    const lane_score_t score = score_loop(e, op, op->loops[i].iv);
    if (gain_of(&score) < best) continue;
    best = gain_of(&score);
    lanes = lanes_of(e, &score);
    *out_loop = i;
  }
  if (best_inside(e, &op->body, INT64_MIN) > best) return 1;
  return lanes;
}

// ---- ranges

// Returns the number of a loop among those that are cut; their count: it is not cut.
static uint32_t find_cut(const hlo_tile_emitter_t* e, const hlo_tile_loop_t* loop) {
  uint32_t at = 0;
  while (e->cut && at < e->cut->count && e->cut->loops[at].iv != loop->iv) ++at;
  return at;
}

bool hlo_tile_is_cut(const hlo_tile_emitter_t* e, const hlo_tile_loop_t* loop) {
  return e->cut && find_cut(e, loop) < e->cut->count;
}

hlo_vir_value_t* hlo_tile_single_iteration(const hlo_tile_emitter_t* e,
                                           const hlo_tile_loop_t* loop) {
  const uint32_t at = find_cut(e, loop);
  const bool is_single =
      e->cut && at < e->cut->count && e->cut->loops[at].size == 1 && loop->low == 0;
  return is_single ? e->cut->loops[at].chunk : NULL;
}

hlo_vir_interval_t hlo_tile_range_of(hlo_tile_emitter_t* e, const hlo_tile_loop_t* loop) {
  hlo_vir_builder_t* b = e->b;
  const hlo_vir_interval_t all = {hlo_vir_iconst(b, loop->low), hlo_vir_iconst(b, loop->end)};
  const uint32_t at = find_cut(e, loop);
  if (!e->cut || at == e->cut->count) return all;
  return hlo_vir_interval_of_chunk(b, e->cut->loops[at].chunk, e->cut->loops[at].size, all);
}

// ---- loops over lanes

static hlo_vir_value_t* open_loop(hlo_tile_emitter_t* e, uint32_t iv, hlo_vir_interval_t range,
                                  int64_t step) {
  return e->ivs[iv] = hlo_vir_begin_for(e->b, range.low, range.end, step, 0);
}

static void close_loop(hlo_tile_emitter_t* e, uint32_t iv) {
  hlo_vir_end(e->b);
  e->ivs[iv] = NULL;
}

// Emits vectors, `unroll` per iteration; returns the loop, or NULL if it is not needed.
static hlo_vir_value_t* emit_vectors(hlo_tile_emitter_t* e, uint32_t iv, hlo_vir_interval_t range,
                                     uint32_t unroll, hlo_tile_body_t body, void* context) {
  if (hlo_vir_interval_is_empty(range)) return NULL;
  hlo_vir_value_t* counter = open_loop(e, iv, range, (int64_t)e->lanes * unroll);
  for (uint32_t copy = 0; copy < unroll; ++copy) {
    e->ivs[iv] =
        hlo_vir_index(e->b, HLO_VIR_iadd, counter, hlo_vir_iconst(e->b, (int64_t)copy * e->lanes));
    body(e, copy, context);
  }
  close_loop(e, iv);
  return counter->op == HLO_VIR_for && counter != range.low ? counter : NULL;
}

// Emits single vectors, then unrolls their loop as far as registers allow.
static void emit_free_vectors(hlo_tile_emitter_t* e, uint32_t iv, hlo_vir_interval_t range,
                              hlo_tile_body_t body, void* context) {
  hlo_vir_value_t* ends[HLO_VIR_UNROLL_CHOICES];
  hlo_vir_interval_unroll_ends(e->b, range, e->lanes, ends);
  hlo_vir_value_t* loop = emit_vectors(e, iv, range, 1, body, context);
  const hlo_vir_registers_t registers = {e->target->vector_registers, e->target->mask_registers,
                                         e->target->unroll};
  if (loop) hlo_vir_interval_unroll(e->b, loop, range, ends, &registers);
}

// Emits the lanes after the last whole vector: with a mask, or one by one.
static void emit_rest(hlo_tile_emitter_t* e, uint32_t iv, hlo_vir_interval_t rest,
                      hlo_tile_body_t body, void* context) {
  if (hlo_vir_interval_is_empty(rest)) return;
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, rest.end, rest.low);
  const bool is_known = count->op == HLO_VIR_iconst, has_masks = e->target->has_masks;
  if (!is_known) hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, count, hlo_vir_iconst(b, 0)));
  if (has_masks) {
    const hlo_vir_type_t type = hlo_vir_type(HLO_VIR_MASK, e->lanes);
    e->range = hlo_vir_emit(b, HLO_VIR_mask_first, type, 0, 0, 1, &count);
  } else {
    e->lane_iv = HLO_TILE_NO_LANES;
  }
  open_loop(e, iv, rest, has_masks ? e->lanes : 1);
  body(e, 0, context);
  close_loop(e, iv);
  if (!is_known) hlo_vir_end(b);
}

void hlo_tile_emit_lane_loop(hlo_tile_emitter_t* e, uint32_t iv, hlo_vir_interval_t range,
                             uint32_t lanes, uint32_t unroll, hlo_tile_body_t body, void* context) {
  const uint32_t saved_lanes = e->lanes;
  e->lane_iv = iv;
  e->lanes = lanes;
  e->range = NULL;
  if (unroll > 1) {
    const hlo_vir_interval_t wide = {
        range.low, hlo_vir_interval_whole_end(e->b, range, (int64_t)lanes * unroll)};
    emit_vectors(e, iv, wide, unroll, body, context);
    range.low = wide.end;
  }
  const hlo_vir_interval_t whole = {range.low, hlo_vir_interval_whole_end(e->b, range, lanes)};
  if (unroll == HLO_TILE_UNROLL_FREELY) {
    emit_free_vectors(e, iv, whole, body, context);
  } else {
    emit_vectors(e, iv, whole, 1, body, context);
  }
  emit_rest(e, iv, (hlo_vir_interval_t){whole.end, range.end}, body, context);
  e->lane_iv = HLO_TILE_NO_LANES;
  e->lanes = saved_lanes;
  e->range = NULL;
}

// ---- loops of the kernel

static void emit_body(hlo_tile_emitter_t* e, HLO_UNUSED uint32_t copy, void* context) {
  const hlo_tile_op_t* op = context;
  hlo_tile_emit_block(e, &op->body);
}

// Emits the part of a cut loop that is one vector.
static void emit_vector(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t lanes) {
  const uint32_t iv = op->loops[0].iv, saved_lanes = e->lanes;
  hlo_vir_value_t* chunk = e->cut->loops[find_cut(e, &op->loops[0])].chunk;
  e->ivs[iv] = hlo_vir_index(e->b, HLO_VIR_imul, chunk, hlo_vir_iconst(e->b, lanes));
  e->lane_iv = iv;
  e->lanes = lanes;
  hlo_tile_emit_block(e, &op->body);
  e->lane_iv = HLO_TILE_NO_LANES;
  e->lanes = saved_lanes;
  e->ivs[iv] = NULL;
}

void hlo_tile_emit_loop(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_tile_loop_t* loop = &op->loops[0];
  if (!e->group && hlo_tile_runs_threads(op)) {
    hlo_tile_emit_threads(e, op);
    return;
  }
  if (op->operand_count) {
    hlo_tile_emit_carry(e, op);
    return;
  }
  hlo_vir_value_t* single = hlo_tile_single_iteration(e, loop);
  if (single) {
    e->ivs[loop->iv] = single;
    hlo_tile_emit_block(e, &op->body);
    e->ivs[loop->iv] = NULL;
    return;
  }
  if (hlo_tile_is_cut(e, loop) && e->cut->loops[find_cut(e, loop)].lanes) {
    emit_vector(e, op, e->cut->loops[find_cut(e, loop)].lanes);
    return;
  }
  if (hlo_tile_emit_transpose(e, op)) return;
  const hlo_vir_interval_t range = hlo_tile_range_of(e, loop);
  const uint32_t lanes = hlo_tile_choose_lanes(e, op, loop);
  if (lanes > 1) {
    hlo_tile_emit_lane_loop(e, loop->iv, range, lanes, HLO_TILE_UNROLL_FREELY, emit_body,
                            (void*)(uintptr_t)op);
    return;
  }
  open_loop(e, loop->iv, range, 1);
  hlo_tile_emit_block(e, &op->body);
  close_loop(e, loop->iv);
}
