// SPDX-License-Identifier: Apache-2.0
// Emits loops that carry values, `while` and `switch`. Without lanes they are loops and branches;
// with lanes each element follows its own path: masks say which lanes are on it, and the others
// keep their values.
#include "codegen/tiles/lower_impl.h"

// ---- carried values

// Creates the variables of an operation's results from its operands.
static void start_carried(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t lanes) {
  for (uint32_t i = 0; i < op->operand_count; ++i) {
    hlo_tile_set_result(e, op, i, hlo_vir_var(e->b, hlo_tile_operand(e, op->operands[i], lanes)));
  }
}

// Sets the variables to what a region yields; where `mask` is given, in its lanes only.
static void carry_yields(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, const hlo_tile_op_t* yield,
                         hlo_vir_value_t* mask) {
  hlo_vir_value_t* next[HLO_TILE_MAX_OPERANDS];
  for (uint32_t i = 0; i < yield->operand_count; ++i) {
    hlo_vir_value_t* var = e->results[op->number][i];
    next[i] = hlo_tile_operand(e, yield->operands[i], var->type.lanes);
    if (mask) {
      next[i] = hlo_vmath_select(e->b, mask, next[i], var);
    } else if (next[i]->op == HLO_VIR_var && next[i] != var) {
      next[i] = hlo_vir_var(e->b, next[i]);  // before another `set` changes it
    }
  }
  for (uint32_t i = 0; i < yield->operand_count; ++i) {
    hlo_vir_value_t* var = e->results[op->number][i];
    if (next[i] != var) hlo_vir_set(e->b, var, next[i]);
  }
}

void hlo_tile_emit_carry(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_tile_loop_t* loop = &op->loops[0];
  hlo_vir_builder_t* b = e->b;
  start_carried(e, op, hlo_tile_lanes_here(e));
  e->ivs[loop->iv] =
      hlo_vir_begin_for(b, hlo_vir_iconst(b, loop->low), hlo_vir_iconst(b, loop->end), 1, 0);
  hlo_tile_emit_block(e, &op->body);
  carry_yields(e, op, hlo_tile_region_yield(&op->body), NULL);
  hlo_vir_end(b);
  e->ivs[loop->iv] = NULL;
}

// ---- while

static hlo_vir_value_t* all_lanes(hlo_tile_emitter_t* e, uint32_t lanes) {
  static const uint8_t yes = 1;
  return hlo_elementwise_constant(e->b, HLO_DTYPE_PRED, lanes, &yes);
}

static hlo_vir_value_t* is_any_on(hlo_tile_emitter_t* e, hlo_vir_value_t* mask) {
  return hlo_scalar_from_lane(e->b, HLO_DTYPE_PRED, mask);
}

static void break_unless(hlo_tile_emitter_t* e, hlo_vir_value_t* condition) {
  hlo_vir_break_if(e->b, hlo_vir_icmp(e->b, HLO_VIR_EQ, condition, hlo_vir_iconst(e->b, 0)));
}

void hlo_tile_emit_while(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* condition = hlo_tile_region_yield(&op->body)->operands[0];
  const hlo_tile_op_t* yield = hlo_tile_region_yield(op->body.next);
  hlo_vir_builder_t* b = e->b;
  const uint32_t lanes = hlo_tile_lanes_here(e);
  hlo_vir_value_t *outer = e->path, *goes_on = NULL;
  start_carried(e, op, lanes);
  if (lanes > 1) {
    hlo_vir_value_t* first = outer ? outer : e->range;
    goes_on = hlo_vir_var(b, first ? first : all_lanes(e, lanes));
    e->path = goes_on;
  }
  hlo_vir_begin_loop(b);
  hlo_tile_emit_poll(e, op);
  hlo_tile_emit_block(e, &op->body);
  hlo_vir_value_t* holds = hlo_tile_operand(e, condition, lanes);
  if (goes_on) {
    hlo_vir_set(b, goes_on, hlo_vir_binary(b, HLO_VIR_mask_and, goes_on, holds));
    holds = goes_on;
  }
  break_unless(e, is_any_on(e, holds));
  hlo_tile_emit_block(e, op->body.next);
  carry_yields(e, op, yield, goes_on);
  hlo_vir_end(b);
  e->path = outer;
}

// ---- switch

// Returns the elements that select a region; the last region takes all other numbers.
static hlo_vir_value_t* is_chosen(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t region,
                                  bool is_last, uint32_t lanes) {
  hlo_vir_builder_t* b = e->b;
  hlo_vir_value_t* number = hlo_tile_operand(e, op->operands[0], lanes);
  if (op->kind == HLO_TILE_OP_if) {
    return region ? hlo_vir_unary(b, HLO_VIR_mask_not, number) : number;
  }
  if (!is_last) {
    return hlo_vir_compare(b, HLO_VIR_scmp, HLO_VIR_EQ, number,
                           hlo_vir_const_bits(b, number->type, region));
  }
  if (region == 0) return all_lanes(e, lanes);
  // Negative numbers are large without their sign.
  return hlo_vir_compare(b, HLO_VIR_ucmp, HLO_VIR_GT, number,
                         hlo_vir_const_bits(b, number->type, region - 1));
}

static void start_results(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, uint32_t lanes) {
  static const uint8_t zero[16];
  if (!hlo_tile_op_has_result(op)) return;
  const hlo_tile_op_t* yield = hlo_tile_region_yield(&op->body);
  for (uint32_t i = 0; i < yield->operand_count; ++i) {
    hlo_vir_value_t* first = hlo_elementwise_constant(e->b, yield->operands[i]->dtype, lanes, zero);
    hlo_tile_set_result(e, op, i, hlo_vir_var(e->b, first));
  }
}

void hlo_tile_emit_switch(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  hlo_vir_builder_t* b = e->b;
  const uint32_t lanes = hlo_tile_lanes_here(e);
  // Where all lanes take the same path, the path's mask stays as it is.
  const uint32_t chosen_lanes = e->done[op->operands[0]->number]->type.lanes;
  hlo_vir_value_t* outer = e->path;
  hlo_vir_value_t* around = outer ? outer : e->range;
  start_results(e, op, lanes);
  uint32_t number = 0;
  for (const hlo_tile_block_t* region = &op->body; region; region = region->next, ++number) {
    hlo_vir_value_t* mask = is_chosen(e, op, number, !region->next, chosen_lanes);
    if (chosen_lanes > 1) {
      e->path = around ? hlo_vir_binary(b, HLO_VIR_mask_and, around, mask) : mask;
    }
    hlo_vir_begin_if(b, is_any_on(e, chosen_lanes > 1 ? e->path : mask));
    hlo_tile_emit_block(e, region);
    if (hlo_tile_op_has_result(op)) {
      carry_yields(e, op, hlo_tile_region_yield(region), chosen_lanes > 1 ? e->path : NULL);
    }
    hlo_vir_end(b);
    e->path = outer;
  }
}
