// SPDX-License-Identifier: Apache-2.0
// Index expressions: integers made of loop digits by addition, multiplication with constants, floor
// division and remainder, always kept as one sum of atoms with bounds. Equal expressions are the
// same pointer, so that (i / 8) * 8 + i % 8 is found to be i by building it.
//
// An expression is c + sum of coefficient * atom; an atom is a digit, a run-time value, or the
// quotient or remainder of an expression that no rule could resolve. Knows no tensor, no machine.
#ifndef HLO_TILE_EXPR_H_
#define HLO_TILE_EXPR_H_

#include "base/mem.h"

enum { HLO_EXPR_MAX_DIGITS = 64, HLO_EXPR_MAX_TERMS = 48 };

/// The quotient rounded down; b > 0.
static inline int64_t hlo_floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

typedef struct hlo_expr hlo_expr_t;

typedef enum hlo_expr_atom_kind {
  HLO_EXPR_DIGIT,      // number: a loop digit
  HLO_EXPR_VALUE,      // number: something only running can tell, within bounds
  HLO_EXPR_QUOTIENT,   // floor(argument / divisor)
  HLO_EXPR_REMAINDER,  // argument - divisor * floor(argument / divisor)
} hlo_expr_atom_kind_t;

typedef struct hlo_expr_atom {
  uint8_t kind;
  uint32_t number;    // of the digit or value
  uint32_t order;     // age in the space; terms are sorted by it
  int64_t divisor;    // > 1
  const hlo_expr_t* argument;
  int64_t low, high;  // inclusive
  uint64_t digits;    // bit per digit it depends on
} hlo_expr_atom_t;

typedef struct hlo_expr_term {
  int64_t coefficient;  // not 0
  const hlo_expr_atom_t* atom;
} hlo_expr_term_t;

/// threads: immutable
struct hlo_expr {
  int64_t constant;
  int64_t low, high;  // inclusive bounds of the whole
  uint64_t digits;
  uint32_t number;    // dense in the space, for hashing what is made of expressions
  uint32_t term_count;
  hlo_expr_term_t terms[];
};

/// Where expressions live. owner: everything is in the arena, lent. threads: confined.
typedef struct hlo_expr_space {
  hlo_arena_t* arena;
  uint32_t expr_count, atom_count, expr_capacity, atom_capacity;
  const hlo_expr_t** exprs;       // open hash tables
  const hlo_expr_atom_t** atoms;
  const hlo_expr_t* poison;       // what calls answer when memory is out (the arena says so),
  bool is_exceeded;               // or when a sum had too many terms or left 62 bits: sticky
} hlo_expr_space_t;

void hlo_expr_space_init(hlo_expr_space_t* space, hlo_arena_t* arena);

const hlo_expr_t* hlo_expr_const(hlo_expr_space_t* space, int64_t value);
/// A digit with low <= digit < end.
const hlo_expr_t* hlo_expr_digit(hlo_expr_space_t* space, uint32_t number, int64_t low,
                                 int64_t end);
/// A run-time value within inclusive bounds that depends on some digits.
const hlo_expr_t* hlo_expr_value(hlo_expr_space_t* space, uint32_t number, int64_t low,
                                 int64_t high, uint64_t digits);
const hlo_expr_t* hlo_expr_add(hlo_expr_space_t* space, const hlo_expr_t* a, const hlo_expr_t* b);
/// a + offset.
const hlo_expr_t* hlo_expr_offset(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t offset);
const hlo_expr_t* hlo_expr_mul(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t factor);
/// divisor > 0; rounds down, the remainder is not negative.
const hlo_expr_t* hlo_expr_div(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t divisor);
const hlo_expr_t* hlo_expr_mod(hlo_expr_space_t* space, const hlo_expr_t* a, int64_t divisor);
static inline bool hlo_expr_is_const(const hlo_expr_t* a) { return a->term_count == 0; }
/// The coefficient of a digit itself, 0 when it does not occur or only inside other atoms.
int64_t hlo_expr_coefficient(const hlo_expr_t* a, uint32_t digit);
/// A quotient or remainder (innermost first) whose argument depends on digits; NULL when affine.
const hlo_expr_atom_t* hlo_expr_unresolved(const hlo_expr_t* a);
/// The value for given digits and run-time values.
int64_t hlo_expr_evaluate(const hlo_expr_t* a, const int64_t* digits, const int64_t* values);

/// Row-major element offset of an index in a shape.
const hlo_expr_t* hlo_expr_linearize(hlo_expr_space_t* space, uint32_t rank, const int64_t* dims,
                                     const hlo_expr_t* const* index);
/// The index of a row-major element offset, which must lie in the shape.
void hlo_expr_delinearize(hlo_expr_space_t* space, const hlo_expr_t* offset, uint32_t rank,
                          const int64_t* dims, const hlo_expr_t** out_index);

/// What stands for a digit or a value in another space.
typedef const hlo_expr_t* (*hlo_expr_stand_in_t)(void* context, const hlo_expr_atom_t* atom);
/// The same expression over other digits and values, in `space`.
const hlo_expr_t* hlo_expr_rewrite(hlo_expr_space_t* space, const hlo_expr_t* a,
                                   hlo_expr_stand_in_t stand_in, void* context);

#endif  // HLO_TILE_EXPR_H_
