// SPDX-License-Identifier: Apache-2.0
// Each kind of constraint: its verdict once all variables are known, and what it implies for
// unknown ones (see system.h).
#include <string.h>

#include "tile/system_impl.h"

// ---- terms

// Returns the layout of a term; NULL while its variable is unknown, or (is_known) if no such layout
// exists.
static const hlo_tile_layout_t* evaluate(const hlo_tile_system_t* s, const hlo_tile_term_t* term,
                                         bool* out_is_known) {
  *out_is_known = true;
  if (term->kind == HLO_TILE_TERM_LAYOUT) return term->layout;
  if (term->kind == HLO_TILE_TERM_VAR) {
    const hlo_tile_variable_t* var = hlo_tile_variable(s, term->var);
    *out_is_known = var->is_known;
    return var->is_known ? var->value.layout : NULL;
  }
  const hlo_tile_layout_t* operand = evaluate(s, term->operand, out_is_known);
  return operand ? hlo_tile_layout_reduce(s->space, operand, term->reduced) : NULL;
}

static hlo_tile_var_t var_of(const hlo_tile_term_t* term) {
  while (term->operand) term = term->operand;
  return term->var;
}

bool hlo_tile_suggest(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
                      hlo_tile_var_t* out_var, const hlo_tile_layout_t** out_layout,
                      bool* out_is_forced) {
  if (c->term_count != 2 || (c->kind != HLO_TILE_EQUAL && c->kind != HLO_TILE_RELAYOUT)) {
    return false;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    bool is_known, is_other_known;
    evaluate(s, c->terms[side], &is_known);
    const hlo_tile_layout_t* other = evaluate(s, c->terms[1 - side], &is_other_known);
    if (is_known || !other) continue;
    if (c->terms[side]->kind != HLO_TILE_TERM_VAR) continue;  // several layouts have this sum
    *out_var = hlo_tile_leader(s, c->terms[side]->var);
    *out_layout = other;
    *out_is_forced = c->kind == HLO_TILE_EQUAL;
    return true;
  }
  return false;
}

// Returns true if every element has exactly one position, and no other element shares it.
static bool has_one_place_each(const hlo_tile_layout_t* a) {
  for (uint32_t i = 0; i < a->mode_count; ++i) {
    if (a->modes[i].dim == HLO_LAYOUT_MODE_REPLICATED || !a->modes[i].position) return false;
  }
  return true;
}

const hlo_tile_layout_t* hlo_tile_only_target(const hlo_tile_system_t* s,
                                              const hlo_tile_constraint_t* c,
                                              hlo_tile_var_t leader) {
  if (c->kind != HLO_TILE_RELAYOUT || c->worst != HLO_RELAYOUT_NONE) return NULL;
  bool is_known, is_to_known;
  evaluate(s, c->terms[1], &is_to_known);
  if (is_to_known || hlo_tile_leader(s, var_of(c->terms[1])) != leader) return NULL;
  const hlo_tile_layout_t* from = evaluate(s, c->terms[0], &is_known);
  bool is_only = from && has_one_place_each(from) && c->terms[1]->kind == HLO_TILE_TERM_VAR;
  return is_only ? from : NULL;
}

// ---- verdicts

static hlo_tile_verdict_t verdict(bool holds) {
  return holds ? HLO_TILE_HOLDS : HLO_TILE_FAILS;
}

static hlo_tile_verdict_t decide_transfer(const hlo_tile_system_t* s,
                                          const hlo_tile_constraint_t* c,
                                          const hlo_tile_layout_t* memory,
                                          const hlo_tile_layout_t* registers, double* out_cost) {
  double ops = hlo_tile_transfer_ops(s->target, memory, registers, c->number);
  if (ops < 0 || ops > c->most) return HLO_TILE_FAILS;
  const hlo_tile_atom_t* load = hlo_tile_atom_find(s->target, HLO_TILE_ATOM_LOAD, 0, 0);
  *out_cost = c->weight * ops / load->per_ns;
  return HLO_TILE_HOLDS;
}

static hlo_tile_verdict_t decide_relayout(const hlo_tile_system_t* s,
                                          const hlo_tile_constraint_t* c,
                                          const hlo_tile_layout_t* from,
                                          const hlo_tile_layout_t* to, double* out_cost) {
  hlo_relayout_t relayout = hlo_tile_layout_relayout(from, to);
  double ns = hlo_tile_relayout_ns(s->target, relayout, c->weight);
  if (relayout.kind > c->worst || ns < 0) return HLO_TILE_FAILS;
  *out_cost = ns;
  return HLO_TILE_HOLDS;
}

static hlo_tile_verdict_t decide_layouts(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
                                         double* out_cost) {
  const hlo_tile_layout_t* layouts[2];
  bool are_all_known = true;
  for (uint32_t i = 0; i < c->term_count; ++i) {
    bool is_known;
    layouts[i] = evaluate(s, c->terms[i], &is_known);
    if (is_known && !layouts[i]) return HLO_TILE_FAILS;  // no such layout
    are_all_known &= is_known;
  }
  if (!are_all_known) return HLO_TILE_OPEN;
  switch (c->kind) {
    case HLO_TILE_EQUAL: return verdict(layouts[0] == layouts[1]);
    case HLO_TILE_RELAYOUT: return decide_relayout(s, c, layouts[0], layouts[1], out_cost);
    default: return decide_transfer(s, c, layouts[0], layouts[1], out_cost);
  }
}

// Returns the size, or while it is unknown the candidate that makes a positive (negative) monomial
// least.
static int64_t least_size(const hlo_tile_variable_t* var, bool is_positive) {
  if (var->is_known || !var->candidate_count) return var->value.size;
  int64_t size = var->candidates[0].size;
  for (uint32_t i = 1; i < var->candidate_count; ++i) {
    int64_t other = var->candidates[i].size;
    if (is_positive ? other < size : other > size) size = other;
  }
  return size;
}

// Detects early a sum that cannot fit even with the best unknown sizes. Sizes are not negative.
static hlo_tile_verdict_t decide_at_most(const hlo_tile_system_t* s,
                                         const hlo_tile_constraint_t* c) {
  double sum = (double)c->number;
  bool are_all_known = true;
  for (uint32_t i = 0; i < c->item_count; ++i) {
    const hlo_tile_monomial_t* m = &c->monomials[i];
    double product = (double)m->coefficient;
    for (uint32_t k = 0; k < m->var_count; ++k) {
      const hlo_tile_variable_t* var = hlo_tile_variable(s, m->vars[k]);
      are_all_known &= var->is_known;
      product *= (double)least_size(var, m->coefficient > 0);
    }
    sum += product;
  }
  if (sum > (double)c->limit) return HLO_TILE_FAILS;
  return are_all_known ? HLO_TILE_HOLDS : HLO_TILE_OPEN;
}

int64_t hlo_tile_largest_fit(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
                             hlo_tile_var_t leader) {
  if (c->kind != HLO_TILE_AT_MOST || c->is_left_out) return INT64_MAX;
  double rest = (double)c->limit - (double)c->number, factor = 0;
  for (uint32_t i = 0; i < c->item_count; ++i) {
    const hlo_tile_monomial_t* m = &c->monomials[i];
    double product = (double)m->coefficient;
    uint32_t power = 0;
    for (uint32_t k = 0; k < m->var_count; ++k) {
      bool is_it = hlo_tile_leader(s, m->vars[k]) == leader;
      power += is_it;
      if (!is_it) {
        product *= (double)least_size(hlo_tile_variable(s, m->vars[k]), m->coefficient > 0);
      }
    }
    if (power > 1 || (power && product < 0)) return INT64_MAX;
    if (power) {
      factor += product;
    } else {
      rest -= product;
    }
  }
  if (factor == 0 || rest >= factor * (double)INT64_MAX) return INT64_MAX;
  return rest < 0 ? -1 : (int64_t)(rest / factor);
}

static hlo_tile_verdict_t decide_sizes(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
                                       double* out_cost) {
  int64_t sizes[HLO_TILE_MAX_COST_SIZES];
  for (uint32_t i = 0; i < c->var_count; ++i) {
    const hlo_tile_variable_t* var = hlo_tile_variable(s, c->vars[i]);
    if (!var->is_known) return HLO_TILE_OPEN;
    sizes[i] = var->value.size;
  }
  if (c->kind == HLO_TILE_MULTIPLE) return verdict(sizes[0] % c->number == 0);
  double cost = c->cost(c->context, sizes);
  if (cost < 0) return HLO_TILE_FAILS;
  *out_cost = cost;
  return HLO_TILE_HOLDS;
}

hlo_tile_verdict_t hlo_tile_decide(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
                                   double* out_cost) {
  *out_cost = 0;
  if (c->is_left_out) return HLO_TILE_HOLDS;
  if (c->term_count) return decide_layouts(s, c, out_cost);
  return c->kind == HLO_TILE_AT_MOST ? decide_at_most(s, c) : decide_sizes(s, c, out_cost);
}
