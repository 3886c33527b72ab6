// SPDX-License-Identifier: Apache-2.0
// Private to the complex_*.c of functions: short names for formulas of reals. Everything is
// computed in f64. Operands from c64 then have spare bits and range: squares neither overflow nor
// underflow, products are exact.
#ifndef HLO_PASSES_COMPLEX_MATH_H_
#define HLO_PASSES_COMPLEX_MATH_H_

#include <math.h>

#include "passes/complex_parts.h"

typedef hlo_value_t value_t;
typedef hlo_parts_t parts_t;

/// The insertion point and types of a formula. A NULL operand (memory is exhausted) gives a NULL
/// result in every function.
typedef struct hlo_complex_math {
  hlo_node_t* insertion_point;
  const hlo_type_t* type;   // f64 tensors
  bool has_spare;           // operands come from c64
  const parts_t* operands;  // in their original type, f32 or f64
} math_t;

/// A value and its rounding error.
typedef struct hlo_complex_sum {
  value_t *high, *low;
} sum_t;

/// Functions of the operands' parts in f64. The results are rounded to the part type of the node's
/// result; `im` is NULL if that is real.
#define HLO_COMPLEX_FUNCTION(op, name, ...) \
  parts_t hlo_complex_##name(const math_t* m, const parts_t* z);
#include "passes/complex_functions.def"
#undef HLO_COMPLEX_FUNCTION

static inline value_t* rcall(const math_t* m, hlo_op_t op, value_t* x) {
  return hlo_build_unary(m->insertion_point, op, x);
}
static inline value_t* radd(const math_t* m, value_t* x, value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_add, x, y);
}
static inline value_t* rsub(const math_t* m, value_t* x, value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_subtract, x, y);
}
static inline value_t* rmul(const math_t* m, value_t* x, value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_multiply, x, y);
}
static inline value_t* rdiv(const math_t* m, value_t* x, value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_divide, x, y);
}
static inline value_t* rneg(const math_t* m, value_t* x) {
  return rcall(m, HLO_OP_negate, x);
}
static inline value_t* rabs(const math_t* m, value_t* x) {
  return rcall(m, HLO_OP_abs, x);
}
static inline value_t* rconst(const math_t* m, double k) {
  return hlo_build_splat(m->insertion_point, m->type, k);
}
static inline value_t* radd_k(const math_t* m, value_t* x, double k) {
  return radd(m, x, rconst(m, k));
}
static inline value_t* rmul_k(const math_t* m, value_t* x, double k) {
  return rmul(m, x, rconst(m, k));
}
/// Returns x y + z w, with three roundings.
static inline value_t* rdot(const math_t* m, value_t* x, value_t* y, value_t* z, value_t* w) {
  return radd(m, rmul(m, x, y), rmul(m, z, w));
}

// ---- booleans -----------------------------------------------------------------------------------

static inline value_t* rless_k(const math_t* m, value_t* x, double k) {
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_LT, x, rconst(m, k));
}
static inline value_t* rabove_k(const math_t* m, value_t* x, double k) {
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_GT, x, rconst(m, k));
}
static inline value_t* requal_k(const math_t* m, value_t* x, double k) {
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_EQ, x, rconst(m, k));
}
static inline value_t* rand(const math_t* m, value_t* x, value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_and, x, y);
}
static inline value_t* ror(const math_t* m, value_t* x, value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_or, x, y);
}
static inline value_t* rselect(const math_t* m, value_t* which, value_t* yes, value_t* no) {
  return hlo_build_select(m->insertion_point, which, yes, no);
}
static inline value_t* rselect_k(const math_t* m, value_t* which, double yes, value_t* no) {
  return rselect(m, which, rconst(m, yes), no);
}
static inline value_t* ris_infinite(const math_t* m, value_t* x) {
  return requal_k(m, rabs(m, x), INFINITY);
}
static inline value_t* rany_infinite(const math_t* m, parts_t z) {
  return ror(m, ris_infinite(m, z.re), ris_infinite(m, z.im));
}
/// Tests the sign bit, so -0 is negative.
static inline value_t* ris_negative(const math_t* m, value_t* x) {
  const hlo_type_t* type =
      hlo_type_with_dtype(m->insertion_point->parent->module, m->type, HLO_DTYPE_S64);
  if (!x || !type) return NULL;
  value_t* integer =
      hlo_build_node(m->insertion_point, HLO_OP_bitcast_convert, type, 1, &x, 0, NULL);
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_LT, integer,
                           hlo_build_splat(m->insertion_point, type, 0));
}
/// Returns x, which is not negative, with the sign of y.
static inline value_t* rcopy_sign(const math_t* m, value_t* x, value_t* y) {
  return rselect(m, ris_negative(m, y), rneg(m, x), x);
}

// ---- ranges and errors --------------------------------------------------------------------------

/// A number times 2^-600 where a part is huge, times 2^600 where both are tiny, so that its squares
/// are in range. Operands from c64 are not scaled, and the booleans are NULL.
typedef struct hlo_complex_scaled {
  parts_t z;
  value_t *is_huge, *is_tiny;
} scaled_t;
enum { HLO_COMPLEX_SCALE_BITS = 600 };  // a multiple of 2 and 3
scaled_t hlo_complex_scale(const math_t* m, parts_t z);
/// Selects `huge`, `tiny` or `none` by the scale; NULL for numbers that are not scaled.
value_t* hlo_complex_by_scale(const math_t* m, const scaled_t* scaled, double huge, double none,
                              double tiny);
/// Returns x 2^(bits k), with k = 1 for huge and -1 for tiny.
value_t* hlo_complex_unscale(const math_t* m, const scaled_t* scaled, int bits, value_t* x);

/// Returns the modulus of a scaled number.
value_t* hlo_complex_modulus(const math_t* m, parts_t z);
/// Returns x + y and its rounding error. source: Knuth, The Art of Computer Programming, 4.2.2,
/// theorem B
sum_t hlo_complex_two_sum(const math_t* m, value_t* x, value_t* y);
/// Returns x^2 and its rounding error; no error for operands from c64. source: Dekker 1971,
/// products of halves of 26 bits
sum_t hlo_complex_two_square(const math_t* m, value_t* x);

#endif  // HLO_PASSES_COMPLEX_MATH_H_
