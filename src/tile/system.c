// SPDX-License-Identifier: Apache-2.0
// Builds and prints systems of constraints (see system.h).

#include <inttypes.h>
#include <string.h>

#include "tile/system_impl.h"

hlo_tile_system_t* hlo_tile_system_create(hlo_arena_t* arena, hlo_tile_layout_space_t* space,
                                          const hlo_tile_target_t* target) {
  hlo_tile_system_t* system = hlo_arena_alloc_zeroed(arena, sizeof *system);
  if (system) *system = (hlo_tile_system_t){.arena = arena, .space = space, .target = target};
  return system;
}

// Makes room for one more item of an array in the arena.
static bool reserve(hlo_arena_t* arena, void** items, uint32_t count, uint32_t* capacity,
                    uint32_t limit, size_t item_bytes) {
  if (count < *capacity) return true;
  uint32_t wanted = *capacity ? 2 * *capacity : 2;  // most systems are small
  void* fresh = count < limit ? hlo_arena_array(arena, wanted, item_bytes) : NULL;
  if (!fresh) {
    arena->failed = true;
    return false;
  }
  if (count) memcpy(fresh, *items, count * item_bytes);
  *items = fresh;
  *capacity = wanted;
  return true;
}

void hlo_tile_system_tolerance(hlo_tile_system_t* s, double share) {
  s->tolerance = share;
}

void hlo_tile_system_disable(hlo_tile_system_t* s, hlo_tile_shortcut_t shortcut) {
  s->shortcuts_off |= 1u << shortcut;
}

// ---- variables

static hlo_tile_var_t add_var(hlo_tile_system_t* s, const char* name, bool is_layout,
                              uint32_t count, hlo_tile_value_t** out_candidates) {
  *out_candidates = count ? hlo_arena_array(s->arena, count, sizeof **out_candidates) : NULL;
  if (!reserve(s->arena, (void**)&s->vars, s->var_count, &s->var_capacity, HLO_TILE_MAX_VARS,
               sizeof *s->vars) ||
      (count && !*out_candidates)) {
    *out_candidates = NULL;
    return 0;
  }
  s->vars[s->var_count] = (hlo_tile_variable_t){.name = name,
                                                .is_layout = is_layout,
                                                .leader = s->var_count,
                                                .own_count = count,
                                                .own_candidates = *out_candidates};
  return s->var_count++;
}

hlo_tile_var_t hlo_tile_system_size(hlo_tile_system_t* s, const char* name, uint32_t count,
                                    const int64_t* candidates) {
  hlo_tile_value_t* values;
  hlo_tile_var_t var = add_var(s, name, false, count, &values);
  for (uint32_t i = 0; values && i < count; ++i) values[i].size = candidates[i];
  return var;
}

hlo_tile_var_t hlo_tile_system_layout(hlo_tile_system_t* s, const char* name, uint32_t count,
                                      const hlo_tile_layout_t* const* candidates) {
  hlo_tile_value_t* values;
  hlo_tile_var_t var = add_var(s, name, true, count, &values);
  for (uint32_t i = 0; values && i < count; ++i) values[i].layout = candidates[i];
  return var;
}

hlo_tile_var_t hlo_tile_leader(const hlo_tile_system_t* s, hlo_tile_var_t var) {
  while (s->vars[var].leader != var) var = s->vars[var].leader;
  return var;
}

const hlo_tile_variable_t* hlo_tile_variable(const hlo_tile_system_t* s, hlo_tile_var_t var) {
  return &s->vars[hlo_tile_leader(s, var)];
}

// ---- terms

static const hlo_tile_term_t* add_term(hlo_tile_system_t* s, const hlo_tile_term_t* fields) {
  hlo_tile_term_t* term = hlo_arena_alloc(s->arena, sizeof *term);
  if (term) *term = *fields;
  return term;
}

const hlo_tile_term_t* hlo_tile_term_var(hlo_tile_system_t* s, hlo_tile_var_t var) {
  return add_term(s, &(hlo_tile_term_t){.kind = HLO_TILE_TERM_VAR, .var = var});
}

const hlo_tile_term_t* hlo_tile_term_layout(hlo_tile_system_t* s, const hlo_tile_layout_t* layout) {
  return add_term(s, &(hlo_tile_term_t){.kind = HLO_TILE_TERM_LAYOUT, .layout = layout});
}

const hlo_tile_term_t* hlo_tile_term_reduce(hlo_tile_system_t* s, const hlo_tile_term_t* operand,
                                            uint64_t dims) {
  return add_term(
      s, &(hlo_tile_term_t){.kind = HLO_TILE_TERM_REDUCE, .operand = operand, .reduced = dims});
}

const hlo_tile_term_t* hlo_tile_term_choice(hlo_tile_system_t* s, hlo_tile_var_t size,
                                            uint32_t count,
                                            const hlo_tile_layout_t* const* layouts) {
  const hlo_tile_layout_t** copy = hlo_arena_array(s->arena, count + 1, sizeof *copy);
  if (!copy) return NULL;
  if (count) memcpy(copy, layouts, count * sizeof *copy);
  return add_term(
      s, &(hlo_tile_term_t){
             .kind = HLO_TILE_TERM_CHOICE, .var = size, .choice_count = count, .choices = copy});
}

// ---- constraints

static bool add_use(hlo_tile_system_t* s, hlo_tile_var_t var, uint32_t constraint) {
  hlo_tile_variable_t* v = &s->vars[var];
  if (!reserve(s->arena, (void**)&v->uses, v->use_count, &v->use_capacity, HLO_TILE_MAX_CONSTRAINTS,
               sizeof *v->uses)) {
    return false;
  }
  v->uses[v->use_count++] = constraint;
  return true;
}

// Adds a constraint over the variables of its terms and `vars`, which exist unless memory is
// exhausted.
static void add_constraint(hlo_tile_system_t* s, const hlo_tile_constraint_t* fields,
                           uint32_t var_count, const hlo_tile_var_t* vars) {
  if (s->arena->failed) return;
  hlo_tile_var_t* all = hlo_arena_array(s->arena, fields->term_count + var_count + 1, sizeof *all);
  if (!all || !reserve(s->arena, (void**)&s->constraints, s->constraint_count,
                       &s->constraint_capacity, HLO_TILE_MAX_CONSTRAINTS, sizeof *s->constraints)) {
    return;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < fields->term_count; ++i) {
    const hlo_tile_term_t* term = fields->terms[i];
    while (term->operand) term = term->operand;
    if (term->kind != HLO_TILE_TERM_LAYOUT) all[count++] = term->var;
  }
  for (uint32_t i = 0; i < var_count; ++i) all[count++] = vars[i];
  hlo_tile_constraint_t* constraint = &s->constraints[s->constraint_count];
  *constraint = *fields;
  constraint->vars = all;
  constraint->var_count = count;
  for (uint32_t i = 0; i < count; ++i) {
    if (!add_use(s, all[i], s->constraint_count)) return;
  }
  ++s->constraint_count;
}

void hlo_tile_system_equal(hlo_tile_system_t* s, const char* origin, const hlo_tile_term_t* a,
                           const hlo_tile_term_t* b) {
  add_constraint(s,
                 &(hlo_tile_constraint_t){
                     .kind = HLO_TILE_EQUAL, .origin = origin, .term_count = 2, .terms = {a, b}},
                 0, NULL);
}

void hlo_tile_system_relayout(hlo_tile_system_t* s, const char* origin, const hlo_tile_term_t* from,
                              const hlo_tile_term_t* to, double vectors,
                              hlo_relayout_kind_t worst) {
  add_constraint(s,
                 &(hlo_tile_constraint_t){.kind = HLO_TILE_RELAYOUT,
                                          .origin = origin,
                                          .term_count = 2,
                                          .terms = {from, to},
                                          .weight = vectors,
                                          .worst = worst},
                 0, NULL);
}

void hlo_tile_system_transfer(hlo_tile_system_t* s, const char* origin,
                              const hlo_tile_term_t* memory, const hlo_tile_term_t* registers,
                              int64_t element_bytes, double count, double most_ops) {
  add_constraint(s,
                 &(hlo_tile_constraint_t){.kind = HLO_TILE_TRANSFER,
                                          .origin = origin,
                                          .term_count = 2,
                                          .terms = {memory, registers},
                                          .weight = count,
                                          .most = most_ops,
                                          .number = element_bytes},
                 0, NULL);
}

void hlo_tile_system_multiple(hlo_tile_system_t* s, const char* origin, hlo_tile_var_t size,
                              int64_t factor) {
  add_constraint(
      s, &(hlo_tile_constraint_t){.kind = HLO_TILE_MULTIPLE, .origin = origin, .number = factor}, 1,
      &size);
}

static void add_at_most(hlo_tile_system_t* s, const char* origin, const char* memory,
                        int64_t constant, uint32_t count, const hlo_tile_monomial_t* monomials,
                        int64_t limit) {
  hlo_tile_monomial_t* copy = hlo_arena_array(s->arena, count + 1, sizeof *copy);
  hlo_tile_var_t* vars = hlo_arena_array(s->arena, 3 * (size_t)count + 1, sizeof *vars);
  if (!copy || !vars) return;
  uint32_t var_count = 0;
  for (uint32_t i = 0; i < count; ++i) {
    copy[i] = monomials[i];
    for (uint32_t k = 0; k < copy[i].var_count; ++k) vars[var_count++] = copy[i].vars[k];
  }
  add_constraint(s,
                 &(hlo_tile_constraint_t){.kind = HLO_TILE_AT_MOST,
                                          .origin = origin,
                                          .memory = memory,
                                          .number = constant,
                                          .limit = limit,
                                          .item_count = count,
                                          .monomials = copy},
                 var_count, vars);
}

void hlo_tile_system_at_most(hlo_tile_system_t* s, const char* origin, int64_t constant,
                             uint32_t count, const hlo_tile_monomial_t* monomials, int64_t limit) {
  add_at_most(s, origin, NULL, constant, count, monomials, limit);
}

void hlo_tile_system_fits(hlo_tile_system_t* s, const char* origin, uint32_t memory,
                          int64_t constant, uint32_t count, const hlo_tile_monomial_t* monomials) {
  const hlo_tile_memory_t* space = &s->target->memories[memory];
  add_at_most(s, origin, space->name, constant, count, monomials, space->capacity_bytes);
}

void hlo_tile_system_cost(hlo_tile_system_t* s, const char* origin, uint32_t count,
                          const hlo_tile_var_t* sizes, hlo_tile_cost_fn_t cost,
                          const void* context) {
  if (count > HLO_TILE_MAX_COST_SIZES) {
    s->arena->failed = true;
    return;
  }
  add_constraint(s,
                 &(hlo_tile_constraint_t){
                     .kind = HLO_TILE_COST, .origin = origin, .cost = cost, .context = context},
                 count, sizes);
}

// ---- text

static void print_term(const hlo_tile_system_t* s, const hlo_tile_term_t* term, hlo_strbuf_t* out) {
  switch (term->kind) {
    case HLO_TILE_TERM_VAR: hlo_strbuf_puts(out, s->vars[term->var].name); return;
    case HLO_TILE_TERM_LAYOUT: hlo_tile_layout_print(term->layout, out); return;
    case HLO_TILE_TERM_CHOICE:
      hlo_strbuf_printf(out, "choice(%s of %u)", s->vars[term->var].name, term->choice_count);
      return;
    case HLO_TILE_TERM_REDUCE: hlo_strbuf_puts(out, "reduce("); break;
  }
  print_term(s, term->operand, out);
  const char* separator = ", ";
  for (uint32_t i = 0; i < 64; ++i) {
    if (!(term->reduced >> i & 1)) continue;
    hlo_strbuf_printf(out, "%s%u", separator, i);
    separator = " ";
  }
  hlo_strbuf_putc(out, ')');
}

static void print_sum(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
                      hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "(%" PRId64, c->number);
  for (uint32_t i = 0; i < c->item_count; ++i) {
    const hlo_tile_monomial_t* m = &c->monomials[i];
    hlo_strbuf_printf(out, " + %" PRId64, m->coefficient);
    for (uint32_t k = 0; k < m->var_count; ++k) {
      hlo_strbuf_printf(out, "*%s", s->vars[m->vars[k]].name);
    }
  }
  hlo_strbuf_printf(out, " <= %" PRId64, c->limit);
  if (c->memory) hlo_strbuf_printf(out, " of %s", c->memory);
  hlo_strbuf_putc(out, ')');
}

static const char* const KIND_NAMES[] = {
    [HLO_TILE_EQUAL] = "equal",       [HLO_TILE_RELAYOUT] = "relayout",
    [HLO_TILE_TRANSFER] = "transfer", [HLO_TILE_MULTIPLE] = "multiple",
    [HLO_TILE_AT_MOST] = "at_most",   [HLO_TILE_COST] = "cost",
};

void hlo_tile_constraint_print(const hlo_tile_system_t* s, const hlo_tile_constraint_t* c,
                               hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s: %s", c->origin, c->memory ? "fits" : KIND_NAMES[c->kind]);
  if (c->kind == HLO_TILE_AT_MOST) {
    print_sum(s, c, out);
    return;
  }
  const char* separator = "(";
  for (uint32_t i = 0; i < c->term_count; ++i, separator = ", ") {
    hlo_strbuf_puts(out, separator);
    print_term(s, c->terms[i], out);
  }
  for (uint32_t i = 0; !c->term_count && i < c->var_count; ++i, separator = ", ") {
    hlo_strbuf_printf(out, "%s%s", separator, s->vars[c->vars[i]].name);
  }
  if (c->kind == HLO_TILE_MULTIPLE) hlo_strbuf_printf(out, ", %" PRId64, c->number);
  hlo_strbuf_putc(out, ')');
}

void hlo_tile_system_print(const hlo_tile_system_t* s, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < s->constraint_count; ++i) {
    hlo_tile_constraint_print(s, &s->constraints[i], out);
    hlo_strbuf_putc(out, '\n');
  }
}

void hlo_tile_solution_print(const hlo_tile_system_t* s, const hlo_tile_solution_t* solution,
                             hlo_strbuf_t* out) {
  hlo_tile_system_print(s, out);
  for (uint32_t i = 0; i < s->var_count; ++i) {
    hlo_strbuf_printf(out, "%s%s = ", i ? ", " : "", s->vars[i].name);
    if (s->vars[i].is_layout) {
      hlo_tile_layout_print(solution->values[i].layout, out);
    } else {
      hlo_strbuf_printf(out, "%" PRId64, solution->values[i].size);
    }
  }
  hlo_strbuf_printf(out, ": %.4g ns after %" PRIu64 " tries\n", solution->cost_ns,
                    solution->fuel_used);
}
