// SPDX-License-Identifier: Apache-2.0
// The loops around what is emitted: which digits have values, what may be used again, ranges.
#include "codegen/kernel_emit_impl.h"

static bool is_deeper(const hlo_vir_value_t* value, const hlo_vir_block_t* block) {
  return value && value->parent && value->parent->depth > block->depth;
}

void hlo_emitter_close_block(hlo_emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (is_deeper(e->done[i], e->b->block)) e->done[i] = NULL;
    if (is_deeper(e->scalars[i], e->b->block)) e->scalars[i] = NULL;
  }
}

hlo_vir_value_t* hlo_emitter_open_loop(hlo_emitter_t* e, uint32_t digit, hlo_vir_value_t* low,
                                       hlo_vir_value_t* end, int64_t step) {
  hlo_vir_value_t* counter = hlo_vir_begin_for(e->b, low, end, step, 0);
  e->digits[digit] = counter;
  e->bound |= (uint64_t)1 << digit;
  return counter;
}

void hlo_emitter_forget_digit(hlo_emitter_t* e, uint32_t digit) {
  e->digits[digit] = NULL;
  e->bound &= ~((uint64_t)1 << digit);
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (e->tiling->instances[i]->digits >> digit & 1) e->done[i] = e->scalars[i] = NULL;
  }
}

void hlo_emitter_close_loop(hlo_emitter_t* e, uint32_t digit) {
  hlo_vir_end(e->b);
  hlo_emitter_forget_digit(e, digit);
  hlo_emitter_close_block(e);
}

void hlo_emitter_close_if(hlo_emitter_t* e) {
  hlo_vir_end(e->b);
  hlo_emitter_close_block(e);
}

hlo_range_t hlo_range_of_chunk(hlo_vir_builder_t* b, hlo_vir_value_t* chunk, int64_t size,
                               hlo_range_t all) {
  hlo_vir_value_t* first = hlo_vir_index(b, HLO_VIR_imul, chunk, hlo_vir_iconst(b, size));
  hlo_vir_value_t* end = hlo_vir_index(b, HLO_VIR_iadd, first, hlo_vir_iconst(b, size));
  return (hlo_range_t){hlo_vir_index(b, HLO_VIR_imax, first, all.low),
                       hlo_vir_index(b, HLO_VIR_imin, end, all.end)};
}

hlo_vir_value_t* hlo_range_whole_end(hlo_vir_builder_t* b, hlo_range_t range, int64_t step) {
  hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, range.end, range.low);
  count = hlo_vir_index(b, HLO_VIR_iand, count, hlo_vir_iconst(b, -step));
  return hlo_vir_index(b, HLO_VIR_iadd, range.low, count);
}

bool hlo_range_is_empty(hlo_range_t range) {
  return range.low == range.end ||
         (range.low->op == HLO_VIR_iconst && range.end->op == HLO_VIR_iconst &&
          range.low->imm >= range.end->imm);
}

// Vectors, `unroll` in each iteration.
static void emit_vectors(hlo_emitter_t* e, uint32_t digit, hlo_range_t range, uint32_t unroll,
                         hlo_lane_body_t body, void* context) {
  if (hlo_range_is_empty(range)) return;
  hlo_vir_value_t* counter =
      hlo_emitter_open_loop(e, digit, range.low, range.end, (int64_t)e->lanes * unroll);
  for (uint32_t copy = 0; copy < unroll; ++copy) {
    hlo_emitter_forget_digit(e, digit);
    e->digits[digit] =
        hlo_vir_index(e->b, HLO_VIR_iadd, counter, hlo_vir_iconst(e->b, copy * e->lanes));
    e->bound |= (uint64_t)1 << digit;
    body(e, copy, context);
  }
  hlo_emitter_close_loop(e, digit);
}

// The lanes behind the last whole vector: masked, or one by one.
static void emit_rest(hlo_emitter_t* e, uint32_t digit, hlo_range_t rest, hlo_lane_body_t body,
                      void* context) {
  if (hlo_range_is_empty(rest)) return;
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* count = hlo_vir_index(b, HLO_VIR_isub, rest.end, rest.low);
  bool is_known = count->op == HLO_VIR_iconst, has_masks = e->kernel->target->has_masks;
  if (!is_known) hlo_vir_begin_if(b, hlo_vir_icmp(b, HLO_VIR_GT, count, hlo_vir_iconst(b, 0)));
  if (has_masks) {
    hlo_vir_type_t type = hlo_vir_type(HLO_VIR_MASK, e->lanes);
    e->mask = hlo_vir_emit(b, HLO_VIR_mask_first, type, 0, 0, 1, &count);
  } else {
    e->lane_digit = HLO_NO_DIGIT;
  }
  hlo_emitter_open_loop(e, digit, rest.low, rest.end, has_masks ? e->lanes : 1);
  body(e, 0, context);
  hlo_emitter_close_loop(e, digit);
  if (!is_known) hlo_emitter_close_if(e);
}

void hlo_emit_lane_loop(hlo_emitter_t* e, uint32_t digit, hlo_range_t range, uint32_t unroll,
                        hlo_lane_body_t body, void* context) {
  uint32_t saved_digit = e->lane_digit, saved_lanes = e->lanes;
  hlo_vir_value_t* saved_mask = e->mask;
  e->lane_digit = digit;
  e->lanes = e->kernel->lanes;
  e->mask = NULL;
  if (unroll > 1) {
    hlo_range_t wide = {range.low, hlo_range_whole_end(e->b, range, (int64_t)e->lanes * unroll)};
    emit_vectors(e, digit, wide, unroll, body, context);
    range.low = wide.end;
  }
  hlo_range_t whole = {range.low, hlo_range_whole_end(e->b, range, e->lanes)};
  emit_vectors(e, digit, whole, 1, body, context);
  emit_rest(e, digit, (hlo_range_t){whole.end, range.end}, body, context);
  e->lane_digit = saved_digit;
  e->lanes = saved_lanes;
  e->mask = saved_mask;
}
