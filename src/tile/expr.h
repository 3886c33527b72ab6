// SPDX-License-Identifier: Apache-2.0
// Index expressions: integers made of loop variables by addition, multiplication with constants,
// floor division and remainder, always kept as one sum of atoms with bounds. Equal expressions are
// the same pointer, so building (i / 8) * 8 + i % 8 gives i.
//
// An expression is c + sum of coefficient * atom. An atom is a loop variable, a run-time value, or
// the quotient or remainder of an expression that no rule could resolve. Knows no tensor and no
// machine.
#pragma once

#include "base/mem.h"

enum { HLO_EXPR_MAX_LOOPS = 64, HLO_EXPR_MAX_TERMS = 48 };

/// Returns a / b rounded down; b > 0.
static inline int64_t hlo_floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

typedef struct hlo_expr hlo_expr_t;

typedef enum hlo_expr_atom_kind {
  HLO_EXPR_LOOP,       // number: the loop
  HLO_EXPR_VALUE,      // number: a value known at run time only, within bounds
  HLO_EXPR_QUOTIENT,   // floor(argument / divisor)
  HLO_EXPR_REMAINDER,  // argument - divisor * floor(argument / divisor)
} hlo_expr_atom_kind_t;

typedef struct hlo_expr_atom {
  uint8_t kind;
  uint32_t number;  // of the loop or value
  uint32_t order;   // creation order in the space; terms are sorted by it
  int64_t divisor;  // > 1
  const hlo_expr_t* argument;
  int64_t low, high;  // inclusive
  uint64_t loops;     // one bit per loop that it depends on
} hlo_expr_atom_t;

typedef struct hlo_expr_term {
  int64_t coefficient;  // not 0
  const hlo_expr_atom_t* atom;
} hlo_expr_term_t;

/// threads: immutable
struct hlo_expr {
  int64_t constant;
  int64_t low, high;  // inclusive bounds of the whole
  uint64_t loops;
  uint32_t number;  // dense in the space, for hashing compounds of expressions
  uint32_t term_count;
  hlo_expr_term_t terms[];
};

/// Owns expressions. owner: everything is in the arena, lent. threads: confined.
typedef struct hlo_expr_space {
  hlo_arena_t* arena;
  uint32_t expr_count, atom_count, expr_capacity, atom_capacity;
  const hlo_expr_t** exprs;  // open-addressing hash tables
  const hlo_expr_atom_t** atoms;
  const hlo_expr_t* poison;  // the result of every call after memory ran out (the arena says
                             // so)
  bool is_exceeded;
} hlo_expr_space_t;

void hlo_expr_space_init(hlo_expr_space_t* space, hlo_arena_t* arena);

const hlo_expr_t* hlo_expr_const(hlo_expr_space_t* space, int64_t value);
/// A loop variable with low <= value < end.
const hlo_expr_t* hlo_expr_loop(hlo_expr_space_t* space, uint32_t number, int64_t low, int64_t end);
/// A run-time value within inclusive bounds that depends on some loops.
const hlo_expr_t* hlo_expr_value(hlo_expr_space_t* space, uint32_t number, int64_t low,
                                 int64_t high, uint64_t loops);
const hlo_expr_t* hlo_expr_add(hlo_expr_space_t* space, const hlo_expr_t* a, const hlo_expr_t* b);
/// a + offset.
const hlo_expr_t* hlo_expr_offset(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t offset);
const hlo_expr_t* hlo_expr_mul(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t factor);
/// Quotient rounded down; divisor > 0, so the remainder is not negative.
const hlo_expr_t* hlo_expr_div(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t divisor);
const hlo_expr_t* hlo_expr_mod(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t divisor);
static inline bool hlo_expr_is_const(const hlo_expr_t* a) {
  return a->term_count == 0;
}
/// Returns the coefficient of the loop's own atom; 0 if the loop does not occur, or only inside
/// other atoms.
int64_t hlo_expr_coefficient(const hlo_expr_t* a, uint32_t loop);
/// Returns an innermost quotient or remainder whose argument depends on a loop; NULL if affine.
const hlo_expr_atom_t* hlo_expr_unresolved(const hlo_expr_t* a);
/// Evaluates the expression for given loop and run-time values.
int64_t hlo_expr_evaluate(const hlo_expr_t* a, const int64_t* loops, const int64_t* values);

/// Returns the row-major element offset of an index in a shape.
const hlo_expr_t* hlo_expr_linearize(hlo_expr_space_t* space, uint32_t rank, const int64_t* dims,
                                     const hlo_expr_t* const* index);
/// Splits a row-major element offset, which must lie inside the shape, into an index.
void hlo_expr_delinearize(hlo_expr_space_t* space, const hlo_expr_t* offset, uint32_t rank,
                          const int64_t* dims, const hlo_expr_t** out_index);

/// Returns the replacement of a loop or value atom in another space.
typedef const hlo_expr_t* (*hlo_expr_stand_in_t)(void* context, const hlo_expr_atom_t* atom);
/// Returns the same expression over other loops and values, in `space`.
const hlo_expr_t* hlo_expr_rewrite(hlo_expr_space_t* space, const hlo_expr_t* a,
                                   hlo_expr_stand_in_t stand_in, void* context);
