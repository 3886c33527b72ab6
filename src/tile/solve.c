// SPDX-License-Identifier: Apache-2.0
// Solves systems of constraints (see system.h): known values are propagated through a work list
// until nothing new follows; then candidates are tried depth first, with a trail for backtracking,
// separately in each connected part. If there is no solution, a minimal contradiction is found by
// leaving constraints out.
#include <inttypes.h>
#include <string.h>

#include "tile/system_impl.h"

// ---- constraints: what each kind implies for unknown variables

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
  if (term->kind == HLO_TILE_TERM_CHOICE) {
    const hlo_tile_variable_t* var = hlo_tile_variable(s, term->var);
    *out_is_known = var->is_known;
    bool is_listed =
        var->is_known && var->value.size >= 0 && var->value.size < (int64_t)term->choice_count;
    return is_listed ? term->choices[var->value.size] : NULL;
  }
  const hlo_tile_layout_t* operand = evaluate(s, term->operand, out_is_known);
  return operand ? hlo_tile_layout_reduce(s->space, operand, term->reduced) : NULL;
}

static hlo_tile_var_t var_of(const hlo_tile_term_t* term) {
  while (term->operand) term = term->operand;
  return term->var;
}

// Returns a value that the constraint forces (is_forced) or prefers for one of its unknown
// variables; false if it suggests none.
static bool suggest(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
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

// Returns the only layout that the constraint allows for an otherwise unknown variable; NULL if it
// allows several or does not say.
static const hlo_tile_layout_t* only_target(const hlo_tile_system_t* s,
                                            const hlo_tile_constraint_t* c, hlo_tile_var_t leader) {
  if (c->kind != HLO_TILE_RELAYOUT || c->worst != HLO_RELAYOUT_NONE) return NULL;
  bool is_known, is_to_known;
  evaluate(s, c->terms[1], &is_to_known);
  if (is_to_known || hlo_tile_leader(s, var_of(c->terms[1])) != leader) return NULL;
  const hlo_tile_layout_t* from = evaluate(s, c->terms[0], &is_known);
  bool is_only = from && has_one_place_each(from) && c->terms[1]->kind == HLO_TILE_TERM_VAR;
  return is_only ? from : NULL;
}

// ---- constraints: the verdict once all variables are known

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

// Returns the largest value of an unknown size with which the constraint can still hold.
static int64_t largest_fit(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
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

// Decides what can be decided, with its cost.
static hlo_tile_verdict_t decide(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
                                 double* out_cost) {
  *out_cost = 0;
  if (c->is_left_out) return HLO_TILE_HOLDS;
  if (c->term_count) return decide_layouts(s, c, out_cost);
  return c->kind == HLO_TILE_AT_MOST ? decide_at_most(s, c) : decide_sizes(s, c, out_cost);
}

typedef struct trail_entry {
  uint32_t number;  // of a variable, or of a decided constraint
  bool is_constraint;
} trail_entry_t;

// A variable being tried.
typedef struct level {
  hlo_tile_var_t var;
  uint32_t next, count;  // candidates
  bool is_stuck;         // no candidate is possible
  const hlo_tile_value_t* candidates;
  uint32_t trail;  // the position to backtrack to
  double cost;
  hlo_arena_mark_t mark;
} level_t;

typedef struct search {
  hlo_tile_system_t* s;
  hlo_arena_t own;
  hlo_arena_t* scratch;  // the system's arena if no layouts are created meanwhile, else `own`
  uint64_t fuel, fuel_used;
  bool is_first_enough;       // any solution will do
  hlo_tile_visit_fn_t visit;  // receives all solutions; NULL: the best one is wanted
  void* context;
  double cost, best_cost;
  bool is_found, is_out_of_fuel;
  const char* undetermined;  // a variable that nothing constrains
  hlo_tile_value_t* best;
  uint32_t trail_count, queue_count;
  trail_entry_t* trail;
  uint32_t* queue;  // constraints to look at again
  bool *is_queued, *is_decided;
  level_t* levels;
  hlo_tile_var_t* parts;         // by variable: union-find parent of its connected part
  hlo_tile_var_t* next_in_part;  // by variable: in order; HLO_TILE_NO_VAR: the end
  hlo_tile_var_t part;           // the part being searched
} search_t;

// ---- merging equal variables

// Intersects candidates, in the order of `a`.
static bool meet(hlo_arena_t* arena, hlo_tile_variable_t* a, const hlo_tile_variable_t* b) {
  if (!b->candidate_count) return true;
  if (!a->candidate_count) {
    a->candidates = b->candidates;
    a->candidate_count = b->candidate_count;
    return true;
  }
  hlo_tile_value_t* kept = hlo_arena_array(arena, a->candidate_count, sizeof *kept);
  uint32_t count = 0;
  for (uint32_t i = 0; kept && i < a->candidate_count; ++i) {
    for (uint32_t k = 0; k < b->candidate_count; ++k) {
      if (memcmp(&a->candidates[i], &b->candidates[k], sizeof *kept) != 0) continue;
      kept[count++] = a->candidates[i];
      break;
    }
  }
  if (!count) return false;  // a contradiction, which the search reports
  a->candidates = kept;
  a->candidate_count = count;
  return true;
}

// Returns true if it states that two variables are equal.
static bool joins(const hlo_tile_constraint_t* c) {
  return c->kind == HLO_TILE_EQUAL && c->terms[0]->kind == HLO_TILE_TERM_VAR &&
         c->terms[1]->kind == HLO_TILE_TERM_VAR;
}

static void join_equal(hlo_tile_system_t* s, hlo_arena_t* scratch) {
  for (uint32_t i = 0; i < s->var_count; ++i) {
    hlo_tile_variable_t* var = &s->vars[i];
    var->is_known = false;
    var->leader = i;
    var->next_equal = HLO_TILE_NO_VAR;
    var->candidate_count = var->own_count;
    var->candidates = var->own_candidates;
  }
  for (uint32_t i = 0; i < s->constraint_count; ++i) {
    const hlo_tile_constraint_t* c = &s->constraints[i];
    if (c->is_left_out || !joins(c)) continue;
    hlo_tile_var_t a = hlo_tile_leader(s, c->vars[0]), b = hlo_tile_leader(s, c->vars[1]);
    if (a > b) {
      hlo_tile_var_t kept = a;
      a = b, b = kept;
    }
    if (a != b && meet(scratch, &s->vars[a], &s->vars[b])) s->vars[b].leader = a;
  }
  for (uint32_t i = 0; i < s->var_count; ++i) s->vars[i].leader = hlo_tile_leader(s, i);
  for (uint32_t i = s->var_count; i-- > 0;) {
    hlo_tile_variable_t* leader = &s->vars[s->vars[i].leader];
    if (leader == &s->vars[i]) continue;
    s->vars[i].next_equal = leader->next_equal;
    leader->next_equal = i;
  }
}

// ---- propagation

static void enqueue_uses(search_t* search, hlo_tile_var_t leader) {
  const hlo_tile_system_t* s = search->s;
  for (hlo_tile_var_t v = leader; v != HLO_TILE_NO_VAR; v = s->vars[v].next_equal) {
    for (uint32_t i = 0; i < s->vars[v].use_count; ++i) {
      uint32_t c = s->vars[v].uses[i];
      if (search->is_queued[c] || search->is_decided[c]) continue;
      search->is_queued[c] = true;
      search->queue[search->queue_count++] = c;
    }
  }
}

static void assign(search_t* search, hlo_tile_var_t leader, hlo_tile_value_t value) {
  hlo_tile_variable_t* var = &search->s->vars[leader];
  var->is_known = true;
  var->value = value;
  search->trail[search->trail_count++] = (trail_entry_t){leader, false};
  enqueue_uses(search, leader);
}

static bool is_candidate(const hlo_tile_variable_t* var, hlo_tile_value_t value) {
  for (uint32_t i = 0; i < var->candidate_count; ++i) {
    if (memcmp(&var->candidates[i], &value, sizeof value) == 0) return true;
  }
  return var->candidate_count == 0;
}

static void clear_queue(search_t* search) {
  while (search->queue_count) search->is_queued[search->queue[--search->queue_count]] = false;
}

// Returns true if no completion can be better than the best solution.
static bool is_beaten(const search_t* search) {
  return search->is_found && search->cost >= search->best_cost * (1 - search->s->tolerance);
}

// Propagates until nothing new follows; false: a contradiction, or not better than the best.
static bool spread(search_t* search) {
  hlo_tile_system_t* s = search->s;
  while (search->queue_count) {
    uint32_t number = search->queue[--search->queue_count];
    search->is_queued[number] = false;
    const hlo_tile_constraint_t* c = &s->constraints[number];
    double cost;
    hlo_tile_verdict_t verdict = decide(s, c, &cost);
    bool fails = verdict == HLO_TILE_FAILS;
    if (verdict == HLO_TILE_HOLDS) {
      search->is_decided[number] = true;
      search->trail[search->trail_count++] = (trail_entry_t){number, true};
      search->cost += cost;
      fails = is_beaten(search);
    } else if (verdict == HLO_TILE_OPEN) {
      hlo_tile_var_t var;
      hlo_tile_value_t value = {0};
      bool is_forced;
      if (suggest(s, c, &var, &value.layout, &is_forced) && is_forced) {
        fails = !is_candidate(&s->vars[var], value);
        if (!fails) assign(search, var, value);
      }
    }
    if (fails) {
      clear_queue(search);
      return false;
    }
  }
  return !is_beaten(search);
}

static void go_back(search_t* search, const level_t* level) {
  while (search->trail_count > level->trail) {
    trail_entry_t entry = search->trail[--search->trail_count];
    if (entry.is_constraint) {
      search->is_decided[entry.number] = false;
    } else {
      search->s->vars[entry.number].is_known = false;
    }
  }
  search->cost = level->cost;
}

// ---- narrowing: candidates are discarded before they are tried (see hlo_tile_shortcut_t). Each
// shortcut looks at one constraint whose only unknown variable is the one to be tried, and removes
// candidates with which the constraint cannot hold. The rest keeps its order: without shortcuts the
// result is the same, only later.

enum { MAX_PASSES = 16 };  // of finding layouts that are not splats

typedef struct narrowing {
  const hlo_tile_system_t* s;
  const hlo_tile_constraint_t* c;
  hlo_tile_var_t leader;
  uint32_t count;
  hlo_tile_value_t* values;
} narrowing_t;

typedef bool (*keeps_fn_t)(hlo_tile_value_t value, int64_t number);

static void keep(narrowing_t* n, keeps_fn_t keeps, int64_t number) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n->count; ++i) {
    if (keeps(n->values[i], number)) n->values[kept++] = n->values[i];
  }
  n->count = kept;
}

static bool is_at_most(hlo_tile_value_t value, int64_t most) {
  return value.size <= most;
}
static bool is_multiple(hlo_tile_value_t value, int64_t factor) {
  return factor && value.size % factor == 0;
}
static bool is_no_splat(hlo_tile_value_t value, HLO_UNUSED int64_t unused) {
  return !hlo_tile_layout_is_splat(value.layout);
}

// ---- one function per shortcut

static void narrow_fit(narrowing_t* n) {
  if (n->c->kind != HLO_TILE_AT_MOST) return;
  int64_t most = largest_fit(n->s, n->c, n->leader);
  if (most != INT64_MAX) keep(n, is_at_most, most);
}

static void narrow_multiple(narrowing_t* n) {
  if (n->c->kind == HLO_TILE_MULTIPLE) keep(n, is_multiple, n->c->number);
}

// If nothing may be converted, a layout with one position per element leaves only itself.
static void narrow_strict(narrowing_t* n) {
  const hlo_tile_layout_t* only = only_target(n->s, n->c, n->leader);
  if (!only) return;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < n->count; ++i) {
    if (n->values[i].layout == only) n->values[kept++] = n->values[i];
  }
  n->count = kept;
}

typedef void (*narrow_fn_t)(narrowing_t* n);

static const narrow_fn_t NARROW[HLO_TILE_SHORTCUT_COUNT] = {
    [HLO_TILE_SHORTCUT_FIT] = narrow_fit,
    [HLO_TILE_SHORTCUT_MULTIPLE] = narrow_multiple,
    [HLO_TILE_SHORTCUT_STRICT] = narrow_strict,
};

static bool is_off(const hlo_tile_system_t* s, hlo_tile_shortcut_t shortcut) {
  return s->shortcuts_off >> shortcut & 1;
}

// Removes candidates of an unknown variable that the shortcuts exclude; the others keep their
// order. Returns the number left.
static uint32_t narrow(const hlo_tile_system_t* s, hlo_tile_var_t leader, uint32_t count,
                       hlo_tile_value_t* values) {
  narrowing_t n = {.s = s, .leader = leader, .count = count, .values = values};
  if (s->vars[leader].is_no_splat) keep(&n, is_no_splat, 0);
  for (hlo_tile_var_t v = leader; v != HLO_TILE_NO_VAR; v = s->vars[v].next_equal) {
    for (uint32_t i = 0; i < s->vars[v].use_count; ++i) {
      n.c = &s->constraints[s->vars[v].uses[i]];
      for (uint32_t k = 0; k < HLO_TILE_SHORTCUT_COUNT && !n.c->is_left_out; ++k) {
        if (NARROW[k] && !is_off(s, k)) NARROW[k](&n);
      }
    }
  }
  return n.count;
}

// ---- layouts that are not splats

// Returns true if a term is certainly not a splat.
static bool is_term_no_splat(const hlo_tile_system_t* s, const hlo_tile_term_t* term) {
  for (; term->operand; term = term->operand) {
    if (term->kind == HLO_TILE_TERM_REDUCE) return false;  // its remainder may be a splat
  }
  if (term->kind == HLO_TILE_TERM_LAYOUT) {
    return !hlo_tile_layout_is_splat(term->layout);
  }
  if (term->kind == HLO_TILE_TERM_CHOICE) return false;
  return hlo_tile_variable(s, term->var)->is_no_splat;
}

// Every term over a splat is a splat, so the variable of a term that is not a splat is not one
// either. Returns true if that is new.
static bool mark_no_splat(hlo_tile_system_t* s, const hlo_tile_term_t* term) {
  while (term->operand) term = term->operand;
  if (term->kind == HLO_TILE_TERM_LAYOUT || term->kind == HLO_TILE_TERM_CHOICE) return false;
  hlo_tile_variable_t* var = &s->vars[hlo_tile_leader(s, term->var)];
  bool is_new = !var->is_no_splat;
  var->is_no_splat = true;
  return is_new;
}

// One pass over the constraints; returns true if it found something.
static bool spread_no_splat(hlo_tile_system_t* s) {
  bool is_new = false;
  for (uint32_t i = 0; i < s->constraint_count; ++i) {
    const hlo_tile_constraint_t* c = &s->constraints[i];
    if (c->is_left_out) continue;
    bool is_equal = c->kind == HLO_TILE_EQUAL;
    if ((is_equal || c->kind == HLO_TILE_RELAYOUT) && is_term_no_splat(s, c->terms[0])) {
      is_new |= mark_no_splat(s, c->terms[1]);
    }
    if (is_equal && is_term_no_splat(s, c->terms[1])) is_new |= mark_no_splat(s, c->terms[0]);
  }
  return is_new;
}

// Prepares narrow() before a search.
static void find_no_splats(hlo_tile_system_t* s) {
  for (uint32_t i = 0; i < s->var_count; ++i) s->vars[i].is_no_splat = false;
  if (!s->space || is_off(s, HLO_TILE_SHORTCUT_NOT_SPLAT)) return;
  uint32_t passes = 0;
  while (spread_no_splat(s) && ++passes < MAX_PASSES) {
  }
}

// ---- search

// Adds the candidates that neighbours prefer for the variable.
static uint32_t add_suggestions(const hlo_tile_system_t* s, hlo_tile_var_t leader,
                                hlo_tile_value_t* values) {
  uint32_t count = 0;
  for (hlo_tile_var_t v = leader; v != HLO_TILE_NO_VAR; v = s->vars[v].next_equal) {
    for (uint32_t i = 0; i < s->vars[v].use_count; ++i) {
      hlo_tile_var_t wanted;
      bool is_forced;
      hlo_tile_value_t value = {0};
      const hlo_tile_constraint_t* c = &s->constraints[s->vars[v].uses[i]];
      if (c->is_left_out || !suggest(s, c, &wanted, &value.layout, &is_forced)) continue;
      if (wanted == leader && is_candidate(&s->vars[leader], value)) values[count++] = value;
    }
  }
  return count;
}

// The first of each.
static uint32_t drop_doubles(hlo_tile_value_t* values, uint32_t count) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t k = 0;
    while (k < kept && memcmp(&values[k], &values[i], sizeof *values) != 0) ++k;
    if (k == kept) values[kept++] = values[i];
  }
  return kept;
}

// Layouts that neighbours suggest come first: they need no conversion.
static bool make_candidates(search_t* search, level_t* level) {
  const hlo_tile_system_t* s = search->s;
  const hlo_tile_variable_t* var = &s->vars[level->var];
  uint32_t room = var->candidate_count + 1;
  hlo_tile_var_t v = var->is_layout ? level->var : HLO_TILE_NO_VAR;
  for (; v != HLO_TILE_NO_VAR; v = s->vars[v].next_equal) room += s->vars[v].use_count;
  hlo_tile_value_t* all = hlo_arena_array(search->scratch, room, sizeof *all);
  if (!all) return false;
  uint32_t count = var->is_layout ? add_suggestions(s, level->var, all) : 0;
  if (var->candidate_count) {
    memcpy(all + count, var->candidates, var->candidate_count * sizeof *all);
    count += var->candidate_count;
  }
  if (var->is_layout) count = drop_doubles(all, count);
  level->candidates = all;
  level->count = narrow(s, level->var, count, all);
  level->is_stuck = count > 0 && level->count == 0;
  return true;
}

// Returns the next variable of the part to try: the first with candidates, else the first for which
// some are suggested. Those with candidates are tried in order, so the previous one tells where to
// continue.
static bool next_level(search_t* search, level_t* level, bool* out_is_done) {
  hlo_tile_system_t* s = search->s;
  hlo_tile_var_t first = level == search->levels ? search->part : level[-1].var;
  for (uint32_t pass = 0; pass < 2; ++pass, first = search->part) {
    *out_is_done = true;
    for (hlo_tile_var_t v = first; v != HLO_TILE_NO_VAR; v = search->next_in_part[v]) {
      if (s->vars[v].is_known) continue;
      *out_is_done = false;
      if (pass == 0 && !s->vars[v].candidate_count) continue;
      *level = (level_t){.var = v,
                         .trail = search->trail_count,
                         .cost = search->cost,
                         .mark = hlo_arena_mark(search->scratch)};
      if (!make_candidates(search, level)) return false;
      if (level->count || level->is_stuck) return true;
    }
  }
  if (*out_is_done) return true;
  // No variable has a candidate: they may be anything if any solution will do, else this branch
  // fails.
  search->undetermined = s->vars[level->var].name;
  *out_is_done = search->is_first_enough;
  return true;
}

static void keep_best(search_t* search) {
  for (hlo_tile_var_t v = search->part; v != HLO_TILE_NO_VAR; v = search->next_in_part[v]) {
    search->best[v] = search->s->vars[v].value;
  }
  search->best_cost = search->cost;
  search->is_found = true;
}

// Stores the current values of all variables as the best ones.
static void copy_values(search_t* search) {
  for (hlo_tile_var_t v = 0; v < search->s->var_count; ++v) {
    search->best[v] = hlo_tile_variable(search->s, v)->value;
  }
}

// A visitor receives all solutions; later ones need not be cheaper then.
static void keep_solution(search_t* search) {
  keep_best(search);
  if (!search->visit) return;
  copy_values(search);
  const hlo_tile_solution_t solution = {search->best, search->cost, search->fuel_used};
  search->visit(search->context, &solution);
  search->is_found = false;
}

// Searches the variables of a part depth first.
static void search_part(search_t* search) {
  uint32_t depth = 0;
  bool goes_on = true, is_done;
  for (;;) {
    if (goes_on) {
      if (!next_level(search, &search->levels[depth], &is_done)) break;
      if (is_done) {
        keep_solution(search);
        if (search->is_first_enough) break;
      } else {
        ++depth;
      }
    }
    while (depth && search->levels[depth - 1].next == search->levels[depth - 1].count) {
      go_back(search, &search->levels[--depth]);
      hlo_arena_reset(search->scratch, search->levels[depth].mark);
    }
    if (!depth) break;
    level_t* level = &search->levels[depth - 1];
    go_back(search, level);
    if (search->fuel_used == search->fuel) {
      search->is_out_of_fuel = true;
      break;
    }
    ++search->fuel_used;
    assign(search, level->var, level->candidates[level->next++]);
    goes_on = spread(search);
  }
}

static hlo_tile_var_t part_of(search_t* search, hlo_tile_var_t v) {
  hlo_tile_var_t* parts = search->parts;
  while (parts[v] != v) v = parts[v] = parts[parts[v]];
  return v;
}

// Variables that are unknown in the same constraint are connected; the first stands for all.
static void find_parts(search_t* search) {
  const hlo_tile_system_t* s = search->s;
  for (hlo_tile_var_t v = 0; v < s->var_count; ++v) {
    search->parts[v] = v;
    search->next_in_part[v] = HLO_TILE_NO_VAR;
  }
  for (uint32_t i = 0; i < s->constraint_count; ++i) {
    const hlo_tile_constraint_t* c = &s->constraints[i];
    hlo_tile_var_t first = s->var_count;
    for (uint32_t k = 0; k < c->var_count && !search->is_decided[i]; ++k) {
      hlo_tile_var_t leader = hlo_tile_leader(s, c->vars[k]);
      if (s->vars[leader].is_known) continue;
      hlo_tile_var_t other = part_of(search, leader);
      if (first == s->var_count) first = other;
      search->parts[other > first ? other : first] = other < first ? other : first;
      first = part_of(search, first);
    }
  }
  for (hlo_tile_var_t v = s->var_count; v-- > 0;) {
    hlo_tile_var_t part = part_of(search, v);
    if (part == v) continue;
    search->next_in_part[v] = search->next_in_part[part];
    search->next_in_part[part] = v;
  }
}

// Combines the solutions of all parts for a visitor.
static void make_one_part(search_t* search) {
  search->part = HLO_TILE_NO_VAR;
  for (hlo_tile_var_t v = search->s->var_count; v-- > 0;) {
    if (search->s->vars[v].leader != v || search->s->vars[v].is_known) continue;
    search->next_in_part[v] = search->part;
    search->part = v;
  }
}

// Keeps the best solution of a part while others are searched.
static void settle_part(search_t* search, const level_t* start) {
  go_back(search, start);
  for (hlo_tile_var_t v = search->part; v != HLO_TILE_NO_VAR; v = search->next_in_part[v]) {
    assign(search, v, search->best[v]);
  }
  clear_queue(search);
  search->cost = search->best_cost;
}

static void run(search_t* search) {
  const hlo_tile_system_t* s = search->s;
  for (uint32_t i = s->constraint_count; i-- > 0;) {
    search->is_queued[i] = true;
    search->queue[search->queue_count++] = i;
  }
  if (!spread(search)) return;
  if (search->visit) {
    make_one_part(search);
    search_part(search);
    return;
  }
  find_parts(search);
  search->is_found = true;  // if nothing is left to search
  search->best_cost = search->cost;
  for (hlo_tile_var_t v = 0; v < s->var_count; ++v) {
    if (search->parts[v] != v || s->vars[v].leader != v || s->vars[v].is_known) continue;
    level_t start = {.trail = search->trail_count, .cost = search->cost};
    search->part = v;
    search->is_found = false;
    search_part(search);
    if (!search->is_found || search->is_out_of_fuel) return;
    settle_part(search, &start);
  }
  copy_values(search);
}

// Runs `search` as configured. owner of the scratch memory: the caller, also after failure.
static hlo_status_t go_through(search_t* search) {
  hlo_tile_system_t* s = search->s;
  hlo_arena_init(&search->own, 0);
  hlo_arena_t* scratch = search->scratch = s->space ? &search->own : s->arena;
  join_equal(s, scratch);
  find_no_splats(s);
  uint32_t vars = s->var_count, constraints = s->constraint_count;
  search->best = hlo_arena_array(scratch, vars + 1, sizeof *search->best);
  search->trail = hlo_arena_array(scratch, vars + constraints + 1, sizeof *search->trail);
  search->queue = hlo_arena_array(scratch, constraints + 1, sizeof *search->queue);
  search->is_queued = hlo_arena_array(scratch, constraints + 1, sizeof *search->is_queued);
  search->is_decided = hlo_arena_array(scratch, constraints + 1, sizeof *search->is_decided);
  search->levels = hlo_arena_array(scratch, vars + 1, sizeof *search->levels);
  search->parts = hlo_arena_array(scratch, vars + 1, sizeof *search->parts);
  search->next_in_part = hlo_arena_array(scratch, vars + 1, sizeof *search->next_in_part);
  HLO_TRY(hlo_arena_status(scratch));
  run(search);
  HLO_TRY(hlo_arena_status(scratch));
  return hlo_arena_status(s->arena);
}

static hlo_status_t solve(hlo_tile_system_t* s, uint64_t fuel, bool is_first_enough,
                          search_t* search) {
  *search = (search_t){.s = s, .fuel = fuel, .is_first_enough = is_first_enough};
  return go_through(search);
}

double hlo_tile_cheapest(uint32_t count, const hlo_tile_candidates_t* vars, hlo_tile_cost_fn_t cost,
                         const void* context, int64_t* out_sizes) {
  uint32_t at[HLO_TILE_MAX_COST_SIZES] = {0};
  int64_t sizes[HLO_TILE_MAX_COST_SIZES] = {0};
  double best = -1;
  for (;;) {
    for (uint32_t i = 0; i < count; ++i) sizes[i] = vars[i].sizes[at[i]];
    double here = cost(context, sizes);
    if (here >= 0 && (best < 0 || here < best)) {
      best = here;
      memcpy(out_sizes, sizes, count * sizeof *sizes);
    }
    uint32_t i = count;
    while (i > 0 && ++at[i - 1] == vars[i - 1].count) at[--i] = 0;
    if (i == 0) return best;
  }
}

// ---- explanations

// Leaves out those constraints of a range without which there is still no solution: the whole
// range, or what can be left out of each half. A constraint that is needed stays needed, so none is
// tried twice.
static hlo_status_t leave_out(hlo_tile_system_t* s, uint32_t begin, uint32_t end, uint64_t fuel,
                              bool* is_minimal) {
  if (begin == end) return hlo_ok();
  search_t search;
  for (uint32_t i = begin; i < end; ++i) s->constraints[i].is_left_out = true;
  hlo_status_t status = solve(s, fuel, true, &search);
  hlo_arena_deinit(&search.own);
  HLO_TRY(status);
  if (!search.is_found && !search.is_out_of_fuel) return hlo_ok();
  for (uint32_t i = begin; i < end; ++i) s->constraints[i].is_left_out = false;
  if (end - begin == 1) {
    *is_minimal &= !search.is_out_of_fuel;
    return hlo_ok();
  }
  uint32_t middle = begin + (end - begin) / 2;
  HLO_TRY(leave_out(s, begin, middle, fuel, is_minimal));
  return leave_out(s, middle, end, fuel, is_minimal);
}

static hlo_status_t explain(hlo_tile_system_t* s, uint64_t fuel, const char* undetermined) {
  bool is_minimal = true;
  HLO_TRY(leave_out(s, 0, s->constraint_count, fuel, &is_minimal));
  HLO_SCOPED_STRBUF text = {0};
  const char* separator = "";
  for (uint32_t i = 0; i < s->constraint_count; ++i) {
    if (!s->constraints[i].is_left_out) {
      hlo_strbuf_puts(&text, separator);
      hlo_tile_constraint_print(s, &s->constraints[i], &text);
      separator = "; ";
    }
    s->constraints[i].is_left_out = false;
  }
  return text.length == 0 && undetermined
             ? hlo_failed_precondition("nothing says what %s may be", undetermined)
             : hlo_failed_precondition("no tile sizes and layouts satisfy all of these%s: %s",
                                       is_minimal ? ", of which none can be left out" : "",
                                       hlo_strbuf_text(&text));
}

static hlo_status_t copy_solution(hlo_tile_system_t* s, const search_t* search,
                                  hlo_tile_solution_t* out_solution) {
  hlo_tile_value_t* values = hlo_arena_array(s->arena, s->var_count + 1, sizeof *values);
  if (!values) return hlo_arena_status(s->arena);
  memcpy(values, search->best, s->var_count * sizeof *values);
  *out_solution = (hlo_tile_solution_t){values, search->best_cost, search->fuel_used};
  return hlo_ok();
}

static hlo_status_t out_of_fuel(const search_t* search) {
  return hlo_resource_exhausted(
      "no end after %" PRIu64 " tries for tile sizes and layouts of %u variables: fix some of them",
      search->fuel_used, search->s->var_count);
}

hlo_status_t hlo_tile_system_each(hlo_tile_system_t* s, uint64_t fuel, hlo_tile_visit_fn_t visit,
                                  void* context) {
  HLO_TRY(hlo_arena_status(s->arena));
  search_t search = {.s = s, .fuel = fuel, .visit = visit, .context = context};
  hlo_status_t status = go_through(&search);
  if (hlo_status_is_ok(status) && search.is_out_of_fuel) status = out_of_fuel(&search);
  hlo_arena_deinit(&search.own);
  return status;
}

// Returns true if a tile is part of one mode and all of those inside it; the last tile of the
// outermost mode may be shorter.
static bool is_whole(uint32_t mode_count, const int64_t* extents, int64_t size) {
  for (uint32_t i = mode_count; --i > 0; size /= extents[i]) {
    if (extents[i] % size == 0) return true;
    if (size % extents[i] != 0) return false;
  }
  return true;
}

uint32_t hlo_tile_list_sizes(uint32_t mode_count, const int64_t* extents, int64_t* out_sizes) {
  int64_t extent = 1;
  uint32_t count = 0;
  for (uint32_t i = 0; i < mode_count; ++i) extent *= extents[i];
  for (int64_t size = 1; size < extent; size *= 2) {
    if (is_whole(mode_count, extents, size)) out_sizes[count++] = size;
    if (size > extent / 2) break;
  }
  if (extent > 0) out_sizes[count++] = extent;
  return count;
}

hlo_status_t hlo_tile_system_solve(hlo_tile_system_t* s, uint64_t fuel,
                                   hlo_tile_solution_t* out_solution) {
  HLO_TRY(hlo_arena_status(s->arena));
  search_t search;
  hlo_status_t status = solve(s, fuel, false, &search);
  if (hlo_status_is_ok(status) && search.is_out_of_fuel) {
    status = out_of_fuel(&search);
  } else if (hlo_status_is_ok(status) && search.is_found) {
    status = copy_solution(s, &search, out_solution);
  } else if (hlo_status_is_ok(status)) {
    status = explain(s, fuel, search.undetermined);
  }
  hlo_arena_deinit(&search.own);
  return status;
}
