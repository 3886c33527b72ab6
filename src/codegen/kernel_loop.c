// SPDX-License-Identifier: Apache-2.0
// The loops around what is emitted: which digits have values, what may be used again, ranges.
#include "codegen/kernel_emit_impl.h"

void hlo_emitter_close_block(hlo_emitter_t* e) {
  for (uint32_t i = 0; i < e->tiling->instance_count; ++i) {
    if (e->done[i] && e->done[i]->parent && e->done[i]->parent->depth > e->b->block->depth) {
      e->done[i] = NULL;
    }
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
    if (e->tiling->instances[i]->digits >> digit & 1) e->done[i] = NULL;
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
