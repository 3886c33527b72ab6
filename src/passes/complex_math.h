// SPDX-License-Identifier: Apache-2.0
// Private to the complex_*.c of functions: short names for formulas of reals. Everything is
// computed in f64. Operands from c64 then have spare bits and range: squares neither overflow nor
// underflow, products are exact.
#pragma once

#include <math.h>

#include "passes/complex_parts.h"

/// The insertion point and types of a formula. A NULL operand (memory is exhausted) gives a NULL
/// result in every function.
typedef struct hlo_complex_math {
  hlo_node_t* insertion_point;
  const hlo_type_t* type;       // f64 tensors
  bool has_spare;               // operands come from c64
  const hlo_parts_t* operands;  // in their original type, f32 or f64
} hlo_complex_math_t;

/// A value and its rounding error.
typedef struct hlo_complex_sum {
  hlo_value_t *high, *low;
} hlo_complex_sum_t;

/// Functions of the operands' parts in f64. The results are rounded to the part type of the node's
/// result; `im` is NULL if that is real.
#define HLO_COMPLEX_FUNCTION(op, name, ...) \
  hlo_parts_t hlo_complex_##name(const hlo_complex_math_t* m, const hlo_parts_t* z);
#include "passes/complex_functions.def"
#undef HLO_COMPLEX_FUNCTION

static inline hlo_value_t* hlo_rcall(const hlo_complex_math_t* m, hlo_op_t op, hlo_value_t* x) {
  return hlo_build_unary(m->insertion_point, op, x);
}
static inline hlo_value_t* hlo_radd(const hlo_complex_math_t* m, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_add, x, y);
}
static inline hlo_value_t* hlo_rsub(const hlo_complex_math_t* m, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_subtract, x, y);
}
static inline hlo_value_t* hlo_rmul(const hlo_complex_math_t* m, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_multiply, x, y);
}
static inline hlo_value_t* hlo_rdiv(const hlo_complex_math_t* m, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_divide, x, y);
}
static inline hlo_value_t* hlo_rneg(const hlo_complex_math_t* m, hlo_value_t* x) {
  return hlo_rcall(m, HLO_OP_negate, x);
}
static inline hlo_value_t* hlo_rabs(const hlo_complex_math_t* m, hlo_value_t* x) {
  return hlo_rcall(m, HLO_OP_abs, x);
}
static inline hlo_value_t* hlo_rconst(const hlo_complex_math_t* m, double k) {
  return hlo_build_splat(m->insertion_point, m->type, k);
}
static inline hlo_value_t* hlo_radd_k(const hlo_complex_math_t* m, hlo_value_t* x, double k) {
  return hlo_radd(m, x, hlo_rconst(m, k));
}
static inline hlo_value_t* hlo_rmul_k(const hlo_complex_math_t* m, hlo_value_t* x, double k) {
  return hlo_rmul(m, x, hlo_rconst(m, k));
}
/// Returns x y + z w, with three roundings.
static inline hlo_value_t* hlo_rdot(const hlo_complex_math_t* m, hlo_value_t* x, hlo_value_t* y,
                                    hlo_value_t* z, hlo_value_t* w) {
  return hlo_radd(m, hlo_rmul(m, x, y), hlo_rmul(m, z, w));
}

// ---- booleans -----------------------------------------------------------------------------------

static inline hlo_value_t* hlo_rless_k(const hlo_complex_math_t* m, hlo_value_t* x, double k) {
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_LT, x, hlo_rconst(m, k));
}
static inline hlo_value_t* hlo_rabove_k(const hlo_complex_math_t* m, hlo_value_t* x, double k) {
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_GT, x, hlo_rconst(m, k));
}
static inline hlo_value_t* hlo_requal_k(const hlo_complex_math_t* m, hlo_value_t* x, double k) {
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_EQ, x, hlo_rconst(m, k));
}
static inline hlo_value_t* hlo_rand(const hlo_complex_math_t* m, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_and, x, y);
}
static inline hlo_value_t* hlo_ror(const hlo_complex_math_t* m, hlo_value_t* x, hlo_value_t* y) {
  return hlo_build_binary(m->insertion_point, HLO_OP_or, x, y);
}
static inline hlo_value_t* hlo_rselect(const hlo_complex_math_t* m, hlo_value_t* which,
                                       hlo_value_t* yes, hlo_value_t* no) {
  return hlo_build_select(m->insertion_point, which, yes, no);
}
static inline hlo_value_t* hlo_rselect_k(const hlo_complex_math_t* m, hlo_value_t* which,
                                         double yes, hlo_value_t* no) {
  return hlo_rselect(m, which, hlo_rconst(m, yes), no);
}
static inline hlo_value_t* hlo_ris_infinite(const hlo_complex_math_t* m, hlo_value_t* x) {
  return hlo_requal_k(m, hlo_rabs(m, x), INFINITY);
}
static inline hlo_value_t* hlo_rany_infinite(const hlo_complex_math_t* m, hlo_parts_t z) {
  return hlo_ror(m, hlo_ris_infinite(m, z.re), hlo_ris_infinite(m, z.im));
}
/// Tests the sign bit, so -0 is negative.
static inline hlo_value_t* hlo_ris_negative(const hlo_complex_math_t* m, hlo_value_t* x) {
  const hlo_type_t* type =
      hlo_type_with_dtype(m->insertion_point->parent->module, m->type, HLO_DTYPE_S64);
  if (!x || !type) return NULL;
  hlo_value_t* integer =
      hlo_build_node(m->insertion_point, HLO_OP_bitcast_convert, type, 1, &x, 0, NULL);
  return hlo_build_compare(m->insertion_point, HLO_COMPARISON_DIRECTION_LT, integer,
                           hlo_build_splat(m->insertion_point, type, 0));
}
/// Returns x, which is not negative, with the sign of y.
static inline hlo_value_t* hlo_rcopy_sign(const hlo_complex_math_t* m, hlo_value_t* x,
                                          hlo_value_t* y) {
  return hlo_rselect(m, hlo_ris_negative(m, y), hlo_rneg(m, x), x);
}

// ---- ranges and errors --------------------------------------------------------------------------

/// A number times 2^-600 where a part is huge, times 2^600 where both are tiny, so that its squares
/// are in range. Operands from c64 are not scaled, and the booleans are NULL.
typedef struct hlo_complex_scaled {
  hlo_parts_t z;
  hlo_value_t *is_huge, *is_tiny;
} hlo_complex_scaled_t;
enum { HLO_COMPLEX_SCALE_BITS = 600 };  // a multiple of 2 and 3
hlo_complex_scaled_t hlo_complex_scale(const hlo_complex_math_t* m, hlo_parts_t z);
/// Selects `huge`, `tiny` or `none` by the scale; NULL for numbers that are not scaled.
hlo_value_t* hlo_complex_by_scale(const hlo_complex_math_t* m, const hlo_complex_scaled_t* scaled,
                                  double huge, double none, double tiny);
/// Returns x 2^(bits k), with k = 1 for huge and -1 for tiny.
hlo_value_t* hlo_complex_unscale(const hlo_complex_math_t* m, const hlo_complex_scaled_t* scaled,
                                 int bits, hlo_value_t* x);

/// Returns the modulus of a scaled number.
hlo_value_t* hlo_complex_modulus(const hlo_complex_math_t* m, hlo_parts_t z);
/// Returns x + y and its rounding error. source: Knuth, The Art of Computer Programming, 4.2.2,
/// theorem B
hlo_complex_sum_t hlo_complex_two_sum(const hlo_complex_math_t* m, hlo_value_t* x, hlo_value_t* y);
/// Returns x^2 and its rounding error; no error for operands from c64. source: Dekker 1971,
/// products of halves of 26 bits
hlo_complex_sum_t hlo_complex_two_square(const hlo_complex_math_t* m, hlo_value_t* x);
