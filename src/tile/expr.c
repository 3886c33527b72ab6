// SPDX-License-Identifier: Apache-2.0
// Index expressions (see expr.h): every operation builds a sum in canonical order and interns it.
#include "tile/expr.h"

#include <string.h>

#include "base/check.h"
#include "base/hash.h"

// A sum under construction: terms sorted by the age of their atoms, coefficients not 0.
typedef struct sum {
  int64_t constant;
  uint32_t count;
  bool is_exceeded;  // too many terms, or numbers too large
  hlo_expr_term_t terms[HLO_EXPR_MAX_TERMS];
} sum_t;

// Does not initialise the terms: the array is large.
static void sum_begin(sum_t* sum, int64_t constant) {
  sum->constant = constant;
  sum->count = 0;
  sum->is_exceeded = false;
}

void hlo_expr_space_init(hlo_expr_space_t* space, hlo_arena_t* arena) {
  *space = (hlo_expr_space_t){.arena = arena};
  static const hlo_expr_t zero;
  space->poison = &zero;
}

// Hashes terms independently of each other, so that no term waits for the previous one.
static uint64_t hash_terms(int64_t constant, uint32_t count, const hlo_expr_term_t* terms) {
  uint64_t sum = (uint64_t)constant;
  for (uint32_t i = 0; i < count; ++i) {
    sum += hlo_hash_word(terms[i].atom->order, (uint64_t)terms[i].coefficient);
  }
  return hlo_hash_word(0, sum);
}

static uint64_t hash_atom(const hlo_expr_atom_t* atom) {
  uint64_t hash = hlo_hash_word(atom->kind, atom->number);
  hash = hlo_hash_word(hash, (uint64_t)atom->divisor);
  hash = hlo_hash_word(hash, atom->argument ? atom->argument->number : 0);
  return hlo_hash_word(hlo_hash_word(hash, (uint64_t)atom->low), (uint64_t)atom->high);
}

// Doubles an open-addressing table of pointers; `hash` gives the positions of entries.
static bool grow(hlo_expr_space_t* space, const void*** table, uint32_t* capacity,
                 uint64_t (*hash)(const void* item)) {
  uint32_t wanted = *capacity ? 2 * *capacity : 64;
  const void** fresh = hlo_arena_array(space->arena, wanted, sizeof *fresh);
  if (!fresh) return false;
  for (uint32_t i = 0; i < *capacity; ++i) {
    if (!(*table)[i]) continue;
    uint32_t at = (uint32_t)hash((*table)[i]) & (wanted - 1);
    while (fresh[at]) at = (at + 1) & (wanted - 1);
    fresh[at] = (*table)[i];
  }
  *table = fresh;
  *capacity = wanted;
  return true;
}

static uint64_t hash_expr_item(const void* item) {
  const hlo_expr_t* expr = item;
  return hash_terms(expr->constant, expr->term_count, expr->terms);
}
static uint64_t hash_atom_item(const void* item) {
  return hash_atom(item);
}

// total += a * b, if it stays within 62 bits.
static bool add_product(int64_t* total, int64_t a, int64_t b) {
  const int64_t limit = (int64_t)1 << 62;
  int64_t product, sum;
  if (__builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(*total, product, &sum) ||
      sum > limit || sum < -limit) {
    return false;
  }
  *total = sum;
  return true;
}

// Returns false if a bound exceeds 62 bits.
static bool find_bounds(const sum_t* sum, int64_t* out_low, int64_t* out_high) {
  *out_low = *out_high = sum->constant;
  for (uint32_t i = 0; i < sum->count; ++i) {
    const hlo_expr_term_t* term = &sum->terms[i];
    bool is_rising = term->coefficient > 0;
    const hlo_expr_atom_t* atom = term->atom;
    if (!add_product(out_low, term->coefficient, is_rising ? atom->low : atom->high) ||
        !add_product(out_high, term->coefficient, is_rising ? atom->high : atom->low)) {
      return false;
    }
  }
  return true;
}

// Returns the table slot of a sum, where it is or belongs; the table is not full.
static const hlo_expr_t** find_sum(const hlo_expr_space_t* space, const sum_t* sum) {
  uint32_t mask = space->expr_capacity - 1;
  uint32_t at = (uint32_t)hash_terms(sum->constant, sum->count, sum->terms) & mask;
  for (; space->exprs[at]; at = (at + 1) & mask) {
    const hlo_expr_t* found = space->exprs[at];
    if (found->constant != sum->constant || found->term_count != sum->count) continue;
    uint32_t i = 0;
    while (i < sum->count && found->terms[i].atom == sum->terms[i].atom &&
           found->terms[i].coefficient == sum->terms[i].coefficient) {
      ++i;
    }
    if (i == sum->count) break;
  }
  return &space->exprs[at];
}

static const hlo_expr_t* exceed(hlo_expr_space_t* space) {
  space->is_exceeded = true;
  return space->poison;
}

// Checks the bounds of new sums only: existing ones were checked before.
static const hlo_expr_t* intern(hlo_expr_space_t* space, const sum_t* sum) {
  if (sum->is_exceeded) return exceed(space);
  if (2 * (space->expr_count + 1) > space->expr_capacity &&
      !grow(space, (const void***)&space->exprs, &space->expr_capacity, hash_expr_item)) {
    return space->poison;
  }
  const hlo_expr_t** place = find_sum(space, sum);
  if (*place) return *place;
  int64_t low, high;
  if (!find_bounds(sum, &low, &high)) return exceed(space);
  size_t bytes = sum->count * sizeof *sum->terms;
  hlo_expr_t* expr = hlo_arena_alloc(space->arena, sizeof *expr + bytes);
  if (!expr) return space->poison;
  *expr = (hlo_expr_t){.constant = sum->constant,
                       .low = low,
                       .high = high,
                       .number = ++space->expr_count,
                       .term_count = sum->count};
  memcpy(expr->terms, sum->terms, bytes);
  for (uint32_t i = 0; i < sum->count; ++i) {
    HLO_ASSERT(sum->terms[i].coefficient != 0, "no term of a sum is zero");
    HLO_ASSERT(i == 0 || sum->terms[i - 1].atom->order < sum->terms[i].atom->order,
               "the terms of a sum are in the order of their atoms");
    expr->loops |= sum->terms[i].atom->loops;
  }
  HLO_ASSERT(low <= high, "an expression has a value within its bounds");
  return *place = expr;
}

static const hlo_expr_atom_t* intern_atom(hlo_expr_space_t* space, const hlo_expr_atom_t* wanted) {
  if (2 * (space->atom_count + 1) > space->atom_capacity &&
      !grow(space, (const void***)&space->atoms, &space->atom_capacity, hash_atom_item)) {
    return NULL;
  }
  uint32_t mask = space->atom_capacity - 1;
  uint32_t at = (uint32_t)hash_atom(wanted) & mask;
  for (; space->atoms[at]; at = (at + 1) & mask) {
    const hlo_expr_atom_t* found = space->atoms[at];
    if (found->kind == wanted->kind && found->number == wanted->number &&
        found->divisor == wanted->divisor && found->argument == wanted->argument &&
        found->low == wanted->low && found->high == wanted->high) {
      return found;
    }
  }
  hlo_expr_atom_t* atom = hlo_arena_alloc(space->arena, sizeof *atom);
  if (!atom) return NULL;
  *atom = *wanted;
  atom->order = ++space->atom_count;
  return space->atoms[at] = atom;
}

static void sum_add_term(sum_t* sum, int64_t coefficient, const hlo_expr_atom_t* atom) {
  if (!coefficient) return;
  uint32_t i = sum->count;
  while (i > 0 && sum->terms[i - 1].atom->order > atom->order) --i;
  if (i > 0 && sum->terms[i - 1].atom == atom) {
    hlo_expr_term_t* term = &sum->terms[i - 1];
    sum->is_exceeded |= !add_product(&term->coefficient, coefficient, 1);
    if (!term->coefficient) {
      memmove(term, term + 1, (sum->count - i) * sizeof *term);
      --sum->count;
    }
    return;
  }
  if (sum->count == HLO_EXPR_MAX_TERMS) {
    sum->is_exceeded = true;
    return;
  }
  memmove(&sum->terms[i + 1], &sum->terms[i], (sum->count - i) * sizeof *sum->terms);
  sum->terms[i] = (hlo_expr_term_t){coefficient, atom};
  ++sum->count;
}

static void sum_add(sum_t* sum, const hlo_expr_t* expr, int64_t factor) {
  sum->is_exceeded |= !add_product(&sum->constant, expr->constant, factor);
  if (sum->count == 0 && factor == 1) {
    memcpy(sum->terms, expr->terms, expr->term_count * sizeof *sum->terms);
    sum->count = expr->term_count;
    return;
  }
  for (uint32_t i = 0; i < expr->term_count; ++i) {
    int64_t coefficient = 0;
    sum->is_exceeded |= !add_product(&coefficient, expr->terms[i].coefficient, factor);
    sum_add_term(sum, coefficient, expr->terms[i].atom);
  }
}

static void sum_remove(sum_t* sum, uint32_t i) {
  memmove(&sum->terms[i], &sum->terms[i + 1], (--sum->count - i) * sizeof *sum->terms);
}

// Returns the quotient (or remainder) if an expression is nothing but one such atom; else NULL.
static const hlo_expr_atom_t* lone_quotient(const hlo_expr_t* a) {
  bool is_lone = a->term_count == 1 && a->constant == 0 && a->terms[0].coefficient == 1 &&
                 a->terms[0].atom->kind == HLO_EXPR_QUOTIENT;
  return is_lone ? a->terms[0].atom : NULL;
}

// Returns true if `quotient` is the whole part that belongs to the remainder `rest`; (x div n) div
// m is stored as x div (n * m).
static bool belong_together(const hlo_expr_atom_t* quotient, const hlo_expr_atom_t* rest) {
  if (quotient->kind != HLO_EXPR_QUOTIENT) return false;
  if (quotient->argument == rest->argument) return quotient->divisor == rest->divisor;
  const hlo_expr_atom_t* inner = lone_quotient(rest->argument);
  int64_t both;
  return inner && quotient->argument == inner->argument &&
         !__builtin_mul_overflow(inner->divisor, rest->divisor, &both) && quotient->divisor == both;
}

// Returns true if `high` is the next mixed-radix digit above `low`: (x div n) mod m over x mod n.
static bool are_neighbours(const hlo_expr_atom_t* high, const hlo_expr_atom_t* low) {
  if (high->kind != HLO_EXPR_REMAINDER || high == low) return false;
  const hlo_expr_atom_t* whole = lone_quotient(high->argument);
  return whole && belong_together(whole, low);
}

// Merges k * n * (x div n) + k * (x mod n) into k * x, and k * n * ((x div n) mod m) + k * (x mod
// n) into k * (x mod (n * m)). Returns true if something was merged.
static bool recombine_once(hlo_expr_space_t* space, sum_t* sum) {
  for (uint32_t i = 0; i < sum->count; ++i) {
    const hlo_expr_atom_t* rest = sum->terms[i].atom;
    if (rest->kind != HLO_EXPR_REMAINDER) continue;
    for (uint32_t j = 0; j < sum->count; ++j) {
      const hlo_expr_atom_t* other = sum->terms[j].atom;
      int64_t whole, divisor = 1;
      bool is_loop = are_neighbours(other, rest);
      if ((!is_loop && !belong_together(other, rest)) ||
          __builtin_mul_overflow(sum->terms[i].coefficient, rest->divisor, &whole) ||
          sum->terms[j].coefficient != whole ||
          (is_loop && __builtin_mul_overflow(other->divisor, rest->divisor, &divisor))) {
        continue;
      }
      int64_t factor = sum->terms[i].coefficient;
      sum_remove(sum, i > j ? i : j);
      sum_remove(sum, i > j ? j : i);
      sum_add(sum, is_loop ? hlo_expr_mod(space, rest->argument, divisor) : rest->argument, factor);
      return true;
    }
  }
  return false;
}

static const hlo_expr_t* finish(hlo_expr_space_t* space, sum_t* sum) {
  while (recombine_once(space, sum)) {
  }
  return intern(space, sum);
}

const hlo_expr_t* hlo_expr_const(hlo_expr_space_t* space, int64_t value) {
  sum_t sum;
  sum_begin(&sum, value);
  return intern(space, &sum);
}

static const hlo_expr_t* from_atom(hlo_expr_space_t* space, const hlo_expr_atom_t* wanted) {
  if (wanted->low == wanted->high) return hlo_expr_const(space, wanted->low);
  const hlo_expr_atom_t* atom = intern_atom(space, wanted);
  if (!atom) return space->poison;
  sum_t sum;
  sum_begin(&sum, 0);
  sum_add_term(&sum, 1, atom);
  return intern(space, &sum);
}

const hlo_expr_t* hlo_expr_loop(hlo_expr_space_t* space, uint32_t number, int64_t low,
                                int64_t end) {
  return from_atom(space, &(hlo_expr_atom_t){.kind = HLO_EXPR_LOOP,
                                             .number = number,
                                             .low = low,
                                             .high = end - 1,
                                             .loops = (uint64_t)1 << number});
}

const hlo_expr_t* hlo_expr_value(hlo_expr_space_t* space, uint32_t number, int64_t low,
                                 int64_t high, uint64_t loops) {
  return from_atom(
      space,
      &(hlo_expr_atom_t){
          .kind = HLO_EXPR_VALUE, .number = number, .low = low, .high = high, .loops = loops});
}

static bool is_zero(const hlo_expr_t* a) {
  return a->term_count == 0 && a->constant == 0;
}

const hlo_expr_t* hlo_expr_add(hlo_expr_space_t* space, const hlo_expr_t* a, const hlo_expr_t* b) {
  if (is_zero(a)) return b;
  if (is_zero(b)) return a;
  sum_t sum;
  sum_begin(&sum, 0);
  sum_add(&sum, a, 1);
  sum_add(&sum, b, 1);
  return finish(space, &sum);
}

const hlo_expr_t* hlo_expr_offset(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t offset) {
  if (offset == 0) return a;
  sum_t sum;
  sum_begin(&sum, 0);
  sum_add(&sum, a, 1);
  sum.is_exceeded |= !add_product(&sum.constant, offset, 1);
  return intern(space, &sum);  // its terms are merged already
}

const hlo_expr_t* hlo_expr_mul(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t factor) {
  if (factor == 1) return a;
  sum_t sum;
  sum_begin(&sum, 0);
  sum_add(&sum, a, factor);
  return finish(space, &sum);
}

// a = divisor * whole + rest; `rest` has the terms whose coefficients the divisor does not divide.
static void split(const hlo_expr_t* a, int64_t divisor, sum_t* whole, sum_t* rest) {
  sum_begin(whole, hlo_floor_div(a->constant, divisor));
  sum_begin(rest, a->constant - divisor * whole->constant);
  for (uint32_t i = 0; i < a->term_count; ++i) {
    const hlo_expr_term_t* term = &a->terms[i];
    if (term->coefficient % divisor == 0) {
      sum_add_term(whole, term->coefficient / divisor, term->atom);
    } else {
      sum_add_term(rest, term->coefficient, term->atom);
    }
  }
}

static int64_t gcd(int64_t a, int64_t b) {
  if (a < 0) a = -a;
  while (b) {
    int64_t t = a % b;
    a = b, b = t;
  }
  return a;
}

// floor((g*x + c) / (g*d)) = floor((x + floor(c/g)) / d).
static const hlo_expr_t* reduce_fraction(hlo_expr_space_t* space, const hlo_expr_t* a,
                                         int64_t* divisor) {
  int64_t g = *divisor;
  for (uint32_t i = 0; i < a->term_count && g > 1; ++i) g = gcd(a->terms[i].coefficient, g);
  if (g <= 1) return a;
  sum_t sum;
  sum_begin(&sum, hlo_floor_div(a->constant, g));
  sum.count = a->term_count;
  for (uint32_t i = 0; i < a->term_count; ++i) {
    sum.terms[i] = (hlo_expr_term_t){a->terms[i].coefficient / g, a->terms[i].atom};
  }
  *divisor /= g;
  return intern(space, &sum);
}

const hlo_expr_t* hlo_expr_div(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t divisor) {
  if (divisor == 1) return a;
  int64_t low = hlo_floor_div(a->low, divisor), high = hlo_floor_div(a->high, divisor);
  if (low == high) return hlo_expr_const(space, low);
  sum_t whole, rest;
  split(a, divisor, &whole, &rest);
  const hlo_expr_t* quotient = finish(space, &whole);
  const hlo_expr_t* argument = finish(space, &rest);
  low = hlo_floor_div(argument->low, divisor), high = hlo_floor_div(argument->high, divisor);
  if (low == high) return hlo_expr_offset(space, quotient, low);
  argument = reduce_fraction(space, argument, &divisor);
  if (divisor == 1) return hlo_expr_add(space, quotient, argument);
  // floor(floor(x / n) / m) = floor(x / (n * m)) if nothing is added in between.
  const hlo_expr_atom_t* inner = lone_quotient(argument);
  int64_t both;
  if (inner && !__builtin_mul_overflow(inner->divisor, divisor, &both)) {
    return hlo_expr_add(space, quotient, hlo_expr_div(space, inner->argument, both));
  }
  const hlo_expr_t* unresolved =
      from_atom(space, &(hlo_expr_atom_t){.kind = HLO_EXPR_QUOTIENT,
                                          .divisor = divisor,
                                          .argument = argument,
                                          .low = hlo_floor_div(argument->low, divisor),
                                          .high = hlo_floor_div(argument->high, divisor),
                                          .loops = argument->loops});
  return hlo_expr_add(space, quotient, unresolved);
}

const hlo_expr_t* hlo_expr_mod(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t divisor) {
  if (divisor == 1) return hlo_expr_const(space, 0);
  sum_t whole, rest;
  split(a, divisor, &whole, &rest);
  const hlo_expr_t* argument = finish(space, &rest);
  int64_t low = hlo_floor_div(argument->low, divisor);
  if (low == hlo_floor_div(argument->high, divisor)) {
    return hlo_expr_offset(space, argument, -low * divisor);
  }
  // (g * x) mod (g * d) = g * (x mod d).
  int64_t reduced = divisor;
  const hlo_expr_t* smaller = reduce_fraction(space, argument, &reduced);
  int64_t factor = divisor / reduced;
  int64_t offset = argument->constant - factor * hlo_floor_div(argument->constant, factor);
  if (factor > 1) {
    const hlo_expr_t* inner = hlo_expr_mul(space, hlo_expr_mod(space, smaller, reduced), factor);
    return hlo_expr_offset(space, inner, offset);
  }
  return from_atom(space, &(hlo_expr_atom_t){.kind = HLO_EXPR_REMAINDER,
                                             .divisor = divisor,
                                             .argument = argument,
                                             .low = 0,
                                             .high = divisor - 1,
                                             .loops = argument->loops});
}

int64_t hlo_expr_coefficient(const hlo_expr_t* a, uint32_t loop) {
  for (uint32_t i = 0; i < a->term_count; ++i) {
    const hlo_expr_atom_t* atom = a->terms[i].atom;
    if (atom->kind == HLO_EXPR_LOOP && atom->number == loop) return a->terms[i].coefficient;
  }
  return 0;
}

const hlo_expr_atom_t* hlo_expr_unresolved(const hlo_expr_t* a) {
  for (uint32_t i = 0; i < a->term_count; ++i) {
    const hlo_expr_atom_t* atom = a->terms[i].atom;
    if (atom->kind != HLO_EXPR_QUOTIENT && atom->kind != HLO_EXPR_REMAINDER) continue;
    const hlo_expr_atom_t* inner = hlo_expr_unresolved(atom->argument);
    return inner ? inner : atom;
  }
  return NULL;
}

static int64_t evaluate_atom(const hlo_expr_atom_t* atom, const int64_t* loops,
                             const int64_t* values) {
  if (atom->kind == HLO_EXPR_LOOP) return loops[atom->number];
  if (atom->kind == HLO_EXPR_VALUE) return values[atom->number];
  int64_t argument = hlo_expr_evaluate(atom->argument, loops, values);
  int64_t quotient = hlo_floor_div(argument, atom->divisor);
  return atom->kind == HLO_EXPR_QUOTIENT ? quotient : argument - quotient * atom->divisor;
}

int64_t hlo_expr_evaluate(const hlo_expr_t* a, const int64_t* loops, const int64_t* values) {
  int64_t sum = a->constant;
  for (uint32_t i = 0; i < a->term_count; ++i) {
    sum += a->terms[i].coefficient * evaluate_atom(a->terms[i].atom, loops, values);
  }
  return sum;
}

const hlo_expr_t* hlo_expr_linearize(hlo_expr_space_t* space, uint32_t rank, const int64_t* dims,
                                     const hlo_expr_t* const* index) {
  sum_t sum;
  sum_begin(&sum, 0);
  int64_t stride = 1;
  for (uint32_t i = rank; i-- > 0; stride *= dims[i]) sum_add(&sum, index[i], stride);
  return finish(space, &sum);
}

void hlo_expr_delinearize(hlo_expr_space_t* space, const hlo_expr_t* offset, uint32_t rank,
                          const int64_t* dims, const hlo_expr_t** out_index) {
  const hlo_expr_t* rest = offset;
  for (uint32_t i = rank; i-- > 0;) {
    out_index[i] = i == 0 ? rest : hlo_expr_mod(space, rest, dims[i]);
    if (dims[i] == 1) out_index[i] = hlo_expr_const(space, 0);
    rest = hlo_expr_div(space, rest, dims[i]);
  }
}

const hlo_expr_t* hlo_expr_rewrite(hlo_expr_space_t* space, const hlo_expr_t* a,
                                   hlo_expr_stand_in_t stand_in, void* context) {
  const hlo_expr_t* sum = hlo_expr_const(space, a->constant);
  for (uint32_t i = 0; i < a->term_count; ++i) {
    const hlo_expr_atom_t* atom = a->terms[i].atom;
    const hlo_expr_t* term;
    if (atom->argument) {
      const hlo_expr_t* argument = hlo_expr_rewrite(space, atom->argument, stand_in, context);
      term = atom->kind == HLO_EXPR_QUOTIENT ? hlo_expr_div(space, argument, atom->divisor)
                                             : hlo_expr_mod(space, argument, atom->divisor);
    } else {
      term = stand_in(context, atom);
    }
    sum = hlo_expr_add(space, sum, hlo_expr_mul(space, term, a->terms[i].coefficient));
  }
  return sum;
}
