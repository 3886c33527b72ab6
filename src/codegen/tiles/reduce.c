// SPDX-License-Identifier: Apache-2.0
// Reductions as loops over accumulators: over lanes with several accumulators each, or each lane of
// the surrounding loop by itself. Reductions over the same loops share them.
#include "base/tuning.h"
#include "codegen/tiles/group_impl.h"

enum {
  MAX_SHARED = 8,  // reductions in the same loops
  MAX_ACCUMULATORS = 2 * MAX_SHARED,
};

typedef struct tile_accumulator {
  const hlo_tile_op_t* op;
  const hlo_tile_op_t* yielded;  // what the body yields for it
  const hlo_tile_op_t* product;  // `yielded` if it is multiplied and added at once, else NULL
  uint32_t result;
  hlo_op_t reducer;  // HLO_OP_COUNT: the index of a pair
  bool is_pair;      // this and the next accumulator: a value and its index
  hlo_dtype_t dtype;
  hlo_vir_value_t* vars[HLO_TUNING_REDUCE_ACCUMULATORS];
} tile_accumulator_t;

typedef struct tile_reduction {
  const hlo_tile_op_t* members[MAX_SHARED];
  uint32_t count, accumulator_count, unroll;
  tile_accumulator_t accumulators[MAX_ACCUMULATORS];
  struct tile_reduction* rest;  // for single elements after the lanes; NULL: none
} tile_reduction_t;

// ---- combining

// Combines accumulator `i`, and the next one if they are a pair; returns their number.
static uint32_t combine_at(hlo_tile_emitter_t* e, const tile_reduction_t* r, uint32_t i,
                           hlo_vir_value_t* const* x, hlo_vir_value_t* const* y,
                           hlo_vir_value_t** out) {
  const tile_accumulator_t* a = &r->accumulators[i];
  if (a->is_pair) {
    hlo_elementwise_combine_pair(e->b, a->reducer, a->dtype, a[1].dtype, x + i, y + i, out + i);
    return 2;
  }
  out[i] = hlo_elementwise_combine(e->b, a->reducer, a->dtype, x[i], y[i]);
  return 1;
}

static void combine_all(hlo_tile_emitter_t* e, const tile_reduction_t* r, hlo_vir_value_t* const* x,
                        hlo_vir_value_t* const* y, hlo_vir_value_t** out) {
  for (uint32_t i = 0; i < r->accumulator_count;) i += combine_at(e, r, i, x, y, out);
}

static hlo_vir_value_t* identity_of(hlo_tile_emitter_t* e, const tile_accumulator_t* a,
                                    uint32_t lanes) {
  // The index of a pair's identity exceeds all others.
  const hlo_op_t reducer = a->reducer == HLO_OP_COUNT ? HLO_OP_minimum : a->reducer;
  if (a->dtype != HLO_DTYPE_PRED) {
    return hlo_elementwise_identity(e->b, reducer, a->dtype, lanes);
  }
  const bool is_all =
      reducer == HLO_OP_and || reducer == HLO_OP_multiply || reducer == HLO_OP_minimum;
  return hlo_vir_const_bits(e->b, hlo_vir_type(hlo_tile_mask_elem(e, lanes), lanes),
                            is_all ? UINT64_MAX : 0);
}

// ---- accumulators

const hlo_tile_op_t* hlo_tile_summed_product(const hlo_tile_op_t* op) {
  const hlo_tile_op_t* yield = hlo_tile_region_yield(&op->body);
  if (op->kind != HLO_TILE_OP_reduce || op->is_arg || yield->operand_count != 1) return NULL;
  const hlo_tile_op_t* product = yield->operands[0];
  const hlo_dtype_t dtype = product->dtype;
  // Nothing but the yield follows it, so nothing else uses it. Sums of narrow floats are wider.
  const bool is_last = product->kind == HLO_TILE_OP_product && product->next == yield;
  const bool is_wide = !hlo_dtype_is_float(dtype) || hlo_dtype_info(dtype)->bits >= 32;
  return is_last && is_wide && op->reducers[0] == HLO_OP_add ? product : NULL;
}

static void add_member(tile_reduction_t* r, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* yield = hlo_tile_region_yield(&op->body);
  r->members[r->count++] = op;
  for (uint32_t i = 0; i < yield->operand_count; ++i) {
    tile_accumulator_t* a = &r->accumulators[r->accumulator_count++];
    *a = (tile_accumulator_t){.op = op,
                              .yielded = yield->operands[i],
                              .result = i,
                              .dtype = yield->operands[i]->dtype,
                              .is_pair = op->is_arg && i == 0};
    a->reducer = !op->is_arg ? op->reducers[i] : i == 0 ? op->reducers[0] : HLO_OP_COUNT;
    a->product = hlo_tile_summed_product(op);
  }
}

static void start_accumulators(hlo_tile_emitter_t* e, tile_reduction_t* r, uint32_t lanes) {
  for (uint32_t i = 0; i < r->accumulator_count; ++i) {
    tile_accumulator_t* a = &r->accumulators[i];
    for (uint32_t u = 0; u < r->unroll; ++u) {
      a->vars[u] = hlo_vir_var(e->b, identity_of(e, a, lanes));
    }
  }
}

static void copy_vars(const tile_reduction_t* r, uint32_t u, hlo_vir_value_t** out) {
  for (uint32_t i = 0; i < r->accumulator_count; ++i) out[i] = r->accumulators[i].vars[u];
}

static hlo_vir_value_t* add_product(hlo_tile_emitter_t* e, const tile_accumulator_t* a,
                                    hlo_vir_value_t* sum) {
  hlo_vir_value_t* factors[2];
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_tile_op_t* operand = a->product->operands[i];
    factors[i] = hlo_vmath_convert(e->b, operand->dtype, a->dtype,
                                   hlo_tile_operand(e, operand, sum->type.lanes));
  }
  return hlo_elementwise_multiply_add(e->b, e->target->has_fma, factors[0], factors[1], sum);
}

// Returns the next term of an accumulator; lanes out of range contribute nothing.
static hlo_vir_value_t* next_term(hlo_tile_emitter_t* e, const tile_accumulator_t* a,
                                  uint32_t lanes, hlo_vir_value_t* range) {
  hlo_vir_value_t* value = hlo_tile_operand(e, a->yielded, lanes);
  if (a->dtype == HLO_DTYPE_PRED) value = hlo_tile_from_mask(e, value);
  if (!range) return value;
  return hlo_vir_ternary(e->b, HLO_VIR_select, range, value, identity_of(e, a, lanes));
}

// Emits one step of all accumulators with number `u`. range: of the reduction's own lanes.
static void accumulate(hlo_tile_emitter_t* e, tile_reduction_t* r, uint32_t u,
                       hlo_vir_value_t* range) {
  hlo_vir_value_t *vars[MAX_ACCUMULATORS], *terms[MAX_ACCUMULATORS], *sums[MAX_ACCUMULATORS];
  for (uint32_t m = 0; m < r->count; ++m) hlo_tile_emit_block(e, &r->members[m]->body);
  copy_vars(r, u, vars);
  for (uint32_t i = 0; i < r->accumulator_count; ++i) {
    const tile_accumulator_t* a = &r->accumulators[i];
    if (!a->product) terms[i] = next_term(e, a, vars[i]->type.lanes, range);
  }
  for (uint32_t i = 0; i < r->accumulator_count;) {
    if (!r->accumulators[i].product) {
      i += combine_at(e, r, i, vars, terms, sums);
      continue;
    }
    sums[i] = add_product(e, &r->accumulators[i], vars[i]);
    if (range) sums[i] = hlo_vir_ternary(e->b, HLO_VIR_select, range, sums[i], vars[i]);
    ++i;
  }
  for (uint32_t i = 0; i < r->accumulator_count; ++i) hlo_vir_set(e->b, vars[i], sums[i]);
}

// ---- loops

static void accumulate_lanes(hlo_tile_emitter_t* e, uint32_t copy, void* context) {
  tile_reduction_t* r = context;
  const bool is_single = e->lane_iv == HLO_TILE_NO_LANES;
  accumulate(e, is_single ? r->rest : r, is_single ? 0 : copy, e->range);
}

// Threads take turns at the steps of a loop.
static void accumulate_divided(hlo_tile_emitter_t* e, tile_reduction_t* r,
                               const hlo_tile_loop_t* loop) {
  e->ivs[loop->iv] =
      hlo_tile_begin_divided(e, hlo_vir_iconst(e->b, loop->low), hlo_vir_iconst(e->b, loop->end));
  accumulate(e, r, 0, NULL);
  hlo_tile_end_divided(e);
  e->ivs[loop->iv] = NULL;
}

// Emits the loops from number `at` on; the loop `last`, which has lanes, is the innermost one.
static void emit_term_loops(hlo_tile_emitter_t* e, tile_reduction_t* r, uint32_t at, uint32_t last,
                            uint32_t lanes) {
  const hlo_tile_op_t* op = r->members[0];
  if (at == last) ++at;
  if (at < op->loop_count) {
    const hlo_tile_loop_t* loop = &op->loops[at];
    e->ivs[loop->iv] = hlo_vir_begin_for(e->b, hlo_vir_iconst(e->b, loop->low),
                                         hlo_vir_iconst(e->b, loop->end), 1, 0);
    emit_term_loops(e, r, at + 1, last, lanes);
    hlo_vir_end(e->b);
    e->ivs[loop->iv] = NULL;
  } else if (last < op->loop_count) {
    const hlo_tile_loop_t* loop = &op->loops[last];
    if (hlo_tile_is_together(e)) {
      accumulate_divided(e, r, loop);
      return;
    }
    const hlo_vir_interval_t range = {hlo_vir_iconst(e->b, loop->low),
                                      hlo_vir_iconst(e->b, loop->end)};
    hlo_tile_emit_lane_loop(e, loop->iv, range, lanes, r->unroll, accumulate_lanes, r);
  } else {
    accumulate(e, r, 0, NULL);
  }
}

// Folds all lanes of the values into one.
static void fold_lanes(hlo_tile_emitter_t* e, const tile_reduction_t* r, hlo_vir_value_t** values) {
  while (values[0]->type.lanes > 1) {
    hlo_vir_value_t *low[MAX_ACCUMULATORS], *high[MAX_ACCUMULATORS];
    for (uint32_t i = 0; i < r->accumulator_count; ++i) {
      const hlo_vir_type_t half =
          hlo_vir_type((hlo_vir_elem_t)values[i]->type.elem, values[i]->type.lanes / 2u);
      low[i] = hlo_vir_emit(e->b, HLO_VIR_lower_half, half, 0, 0, 1, &values[i]);
      high[i] = hlo_vir_emit(e->b, HLO_VIR_upper_half, half, 0, 0, 1, &values[i]);
    }
    combine_all(e, r, low, high, values);
  }
}

static hlo_vir_value_t* in_elem(hlo_tile_emitter_t* e, hlo_vir_value_t* value, uint8_t elem) {
  if (value->type.elem == elem) return value;
  const bool is_wider =
      hlo_vir_elem_bits((hlo_vir_elem_t)elem) > hlo_vir_elem_bits((hlo_vir_elem_t)value->type.elem);
  return hlo_vir_convert(e->b, is_wider ? HLO_VIR_sext : HLO_VIR_trunc, (hlo_vir_elem_t)elem,
                         value);
}

static void combine_threads(hlo_tile_emitter_t* e, const void* context, hlo_vir_value_t* const* x,
                            hlo_vir_value_t* const* y, hlo_vir_value_t** out) {
  combine_all(e, context, x, y, out);
}

// Combines the accumulators of all steps, then the initial values, and rounds. folds: those of all
// lanes, or of all threads, are combined.
static void finish(hlo_tile_emitter_t* e, tile_reduction_t* r, bool folds) {
  hlo_vir_value_t *values[MAX_ACCUMULATORS], *more[MAX_ACCUMULATORS];
  copy_vars(r, 0, values);
  for (uint32_t u = 1; u < r->unroll; ++u) {
    copy_vars(r, u, more);
    combine_all(e, r, values, more, values);
  }
  if (folds && hlo_tile_is_together(e)) {
    hlo_tile_group_reduce(e, combine_threads, r, values, r->accumulator_count);
  } else if (folds) {
    fold_lanes(e, r, values);
  }
  if (r->rest) {
    copy_vars(r->rest, 0, more);
    for (uint32_t i = 0; i < r->accumulator_count; ++i) {
      more[i] = in_elem(e, more[i], values[i]->type.elem);
    }
    combine_all(e, r, values, more, values);
  }
  for (uint32_t i = 0; i < r->accumulator_count; ++i) {
    const tile_accumulator_t* a = &r->accumulators[i];
    const uint32_t lanes = values[i]->type.lanes;
    if (a->op->operand_count == 0) {
      more[i] = hlo_vir_const_bits(e->b, values[i]->type, 0);
      continue;
    }
    more[i] = hlo_tile_operand(e, a->op->operands[a->result], lanes);
    if (a->dtype == HLO_DTYPE_PRED) {
      more[i] = in_elem(e, hlo_tile_from_mask(e, more[i]), values[i]->type.elem);
    }
  }
  combine_all(e, r, more, values, values);
  for (uint32_t i = 0; i < r->accumulator_count; ++i) {
    const tile_accumulator_t* a = &r->accumulators[i];
    hlo_vir_value_t* value = a->dtype == HLO_DTYPE_PRED
                                 ? hlo_tile_to_mask(e, values[i])
                                 : hlo_vmath_round_to(e->b, a->dtype, values[i]);
    hlo_tile_set_result(e, a->op, a->result, value);
  }
}

// ---- sharing of loops

static bool has_same_loops(const hlo_tile_op_t* a, const hlo_tile_op_t* b) {
  if (a->loop_count != b->loop_count) return false;
  for (uint32_t i = 0; i < a->loop_count; ++i) {
    const hlo_tile_loop_t *x = &a->loops[i], *y = &b->loops[i];
    if (x->iv != y->iv || x->low != y->low || x->end != y->end || x->step != y->step) return false;
  }
  return true;
}

// Values of later operations of the same block would be those of the last iteration.
static bool is_known_before(const hlo_tile_op_t* value, const hlo_tile_op_t* first) {
  return value->block != first->block || value->number < first->number;
}

// Returns true if the values in an expression are known before the reduction `first`.
static bool is_expr_ready(const hlo_tile_emitter_t* e, const hlo_tile_op_t* first,
                          const hlo_expr_t* expr) {
  bool is_known = true;
  for (uint32_t i = 0; is_known && i < expr->term_count; ++i) {
    const hlo_expr_atom_t* atom = expr->terms[i].atom;
    if (atom->kind == HLO_EXPR_VALUE) is_known = is_known_before(e->ops[atom->number], first);
    if (atom->argument) is_known &= is_expr_ready(e, first, atom->argument);
  }
  return is_known;
}

// Returns true if a body can be emitted before the reduction `first`.
static bool is_block_ready(const hlo_tile_emitter_t* e, const hlo_tile_op_t* first,
                           const hlo_tile_block_t* block) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    if (hlo_tile_writes(op)) return false;
    if (op->offset && !is_expr_ready(e, first, op->offset)) return false;
    for (uint32_t i = 0; i < op->index_count; ++i) {
      if (!is_expr_ready(e, first, op->indices[i])) return false;
    }
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      if (!is_known_before(op->operands[i], first)) return false;
    }
    const hlo_tile_block_t* region = op->body.first ? &op->body : NULL;
    for (; region; region = region->next) {
      if (!is_block_ready(e, first, region)) return false;
    }
  }
  return true;
}

// Collects the reductions after `op` that can share its loops: nothing between them has effects.
static void collect(hlo_tile_emitter_t* e, const hlo_tile_op_t* op, tile_reduction_t* r) {
  *r = (tile_reduction_t){.unroll = 1};
  add_member(r, op);
  for (const hlo_tile_op_t* next = op->next; next && r->count < MAX_SHARED; next = next->next) {
    if (hlo_tile_writes(next) || next->kind == HLO_TILE_OP_yield) return;
    if (next->kind != HLO_TILE_OP_reduce) {
      if (next->body.first) return;
      continue;
    }
    bool is_known = has_same_loops(op, next) && is_block_ready(e, op, &next->body);
    for (uint32_t i = 0; i < next->operand_count; ++i) {
      is_known &= is_known_before(next->operands[i], op);
    }
    if (!is_known) continue;
    if (r->accumulator_count + hlo_tile_region_yield(&next->body)->operand_count >
        MAX_ACCUMULATORS) {
      return;
    }
    add_member(r, next);
  }
}

// ---- reductions

static bool is_inside(const hlo_tile_op_t* value, const hlo_tile_op_t* op) {
  const hlo_tile_op_t* parent = value->block->parent;
  while (parent && parent != op) parent = parent->block->parent;
  return parent != NULL;
}

// Returns true if what a block of a reduction reads from outside differs between the lanes of the
// loop around.
static bool block_differs(const hlo_tile_emitter_t* e, const hlo_tile_op_t* reduction,
                          const hlo_tile_block_t* block) {
  for (const hlo_tile_op_t* op = block->first; op; op = op->next) {
    if (op->offset && hlo_tile_differs(e, op->offset)) return true;
    for (uint32_t i = 0; i < op->index_count; ++i) {
      if (hlo_tile_differs(e, op->indices[i])) return true;
    }
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      if (is_inside(op->operands[i], reduction)) continue;
      if (e->done[op->operands[i]->number]->type.lanes > 1) return true;
    }
    const hlo_tile_block_t* region = op->body.first ? &op->body : NULL;
    for (; region; region = region->next) {
      if (block_differs(e, reduction, region)) return true;
    }
  }
  return false;
}

static bool differs_between_lanes(const hlo_tile_emitter_t* e, const tile_reduction_t* r) {
  if (e->lane_iv == HLO_TILE_NO_LANES) return false;
  for (uint32_t m = 0; m < r->count; ++m) {
    const hlo_tile_op_t* op = r->members[m];
    if (block_differs(e, op, &op->body)) return true;
    for (uint32_t i = 0; i < op->operand_count; ++i) {
      if (e->done[op->operands[i]->number]->type.lanes > 1) return true;
    }
  }
  return false;
}

// Each lane of the loop around reduces separately.
static void reduce_apart(hlo_tile_emitter_t* e, tile_reduction_t* r) {
  start_accumulators(e, r, e->lanes);
  emit_term_loops(e, r, 0, UINT32_MAX, 1);
  finish(e, r, false);
}

static void reduce_over_lanes(hlo_tile_emitter_t* e, tile_reduction_t* r, uint32_t last,
                              uint32_t lanes) {
  const hlo_tile_loop_t* loop = &r->members[0]->loops[last];
  tile_reduction_t rest = *r;
  const bool is_long = loop->end - loop->low >= (int64_t)lanes * HLO_TUNING_REDUCE_ACCUMULATORS;
  r->unroll = is_long && r->count <= 2 ? HLO_TUNING_REDUCE_ACCUMULATORS : 1;
  r->rest = e->target->has_masks ? NULL : &rest;
  start_accumulators(e, r, lanes);
  if (r->rest) start_accumulators(e, r->rest, 1);
  emit_term_loops(e, r, 0, last, lanes);
  finish(e, r, true);
}

void hlo_tile_emit_reduce(hlo_tile_emitter_t* e, const hlo_tile_op_t* op) {
  if (e->shared[op->number]) {  // computed with an earlier reduction
    e->shared[op->number] = false;
    return;
  }
  tile_reduction_t r;
  collect(e, op, &r);
  for (uint32_t m = 1; m < r.count; ++m) e->shared[r.members[m]->number] = true;
  if (differs_between_lanes(e, &r)) {
    reduce_apart(e, &r);
    return;
  }
  const hlo_tile_emitter_t saved = *e;
  e->lane_iv = HLO_TILE_NO_LANES;
  e->range = e->path = NULL;
  uint32_t last = UINT32_MAX, lanes = hlo_tile_choose_reduce_lanes(e, op, &last);
  for (uint32_t m = 1; m < r.count && lanes > 1; ++m) {
    uint32_t other = last;
    const uint32_t narrow = hlo_tile_choose_reduce_lanes(e, r.members[m], &other);
    if (narrow < lanes) lanes = narrow;
  }
  if (hlo_tile_is_together(e) && last != UINT32_MAX) {
    start_accumulators(e, &r, 1);
    emit_term_loops(e, &r, 0, last, 1);
    finish(e, &r, true);
  } else if (lanes > 1) {
    reduce_over_lanes(e, &r, last, lanes);
  } else {
    start_accumulators(e, &r, 1);
    emit_term_loops(e, &r, 0, UINT32_MAX, 1);
    finish(e, &r, false);
  }
  e->lane_iv = saved.lane_iv;
  e->lanes = saved.lanes;
  e->range = saved.range;
  e->path = saved.path;
}
