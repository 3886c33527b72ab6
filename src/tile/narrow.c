// SPDX-License-Identifier: Apache-2.0
// Discards candidates before they are tried (see hlo_tile_shortcut_t). Each shortcut looks at one
// constraint whose only unknown variable is the one to be tried, and removes candidates with which
// the constraint cannot hold. The rest keeps its order: without shortcuts the result is the same,
// only later.
#include "tile/system_impl.h"

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
static bool is_no_splat(hlo_tile_value_t value, int64_t unused) {
  (void)unused;
  return !hlo_tile_layout_is_splat(value.layout);
}

// ---- one function per shortcut

static void narrow_fit(narrowing_t* n) {
  if (n->c->kind != HLO_TILE_AT_MOST) return;
  int64_t most = hlo_tile_largest_fit(n->s, n->c, n->leader);
  if (most != INT64_MAX) keep(n, is_at_most, most);
}

static void narrow_multiple(narrowing_t* n) {
  if (n->c->kind == HLO_TILE_MULTIPLE) keep(n, is_multiple, n->c->number);
}

// If nothing may be converted, a layout with one position per element leaves only itself.
static void narrow_strict(narrowing_t* n) {
  const hlo_tile_layout_t* only = hlo_tile_only_target(n->s, n->c, n->leader);
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

uint32_t hlo_tile_narrow(const hlo_tile_system_t* s, hlo_tile_var_t leader, uint32_t count,
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
  return hlo_tile_variable(s, term->var)->is_no_splat;
}

// Every term over a splat is a splat, so the variable of a term that is not a splat is not one
// either. Returns true if that is new.
static bool mark_no_splat(hlo_tile_system_t* s, const hlo_tile_term_t* term) {
  while (term->operand) term = term->operand;
  if (term->kind == HLO_TILE_TERM_LAYOUT) return false;
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

void hlo_tile_find_no_splats(hlo_tile_system_t* s) {
  for (uint32_t i = 0; i < s->var_count; ++i) s->vars[i].is_no_splat = false;
  if (!s->space || is_off(s, HLO_TILE_SHORTCUT_NOT_SPLAT)) return;
  uint32_t passes = 0;
  while (spread_no_splat(s) && ++passes < MAX_PASSES) {
  }
}
