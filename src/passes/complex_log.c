// SPDX-License-Identifier: Apache-2.0
// Logarithms and powers of complex numbers (see complex_math.h): log|z| is half the logarithm of a
// sum of squares. Where that sum is near 1, its rounding error is added to its logarithm.
#include "passes/complex_math.h"

typedef hlo_complex_math_t math_t;
typedef hlo_parts_t parts_t;
typedef hlo_complex_scaled_t scaled_t;
typedef hlo_complex_sum_t sum_t;
typedef hlo_value_t value_t;

// Adds small terms to x as if with twice the bits.
static sum_t add_small(const math_t* m, value_t* x, int count, value_t* const* terms) {
  value_t *sum = terms[0], *lost = NULL;
  for (int i = 1; i < count; ++i) {
    const sum_t next = hlo_complex_two_sum(m, sum, terms[i]);
    sum = next.high;
    lost = lost ? hlo_radd(m, lost, next.low) : next.low;
  }
  return hlo_complex_two_sum(m, x, lost ? hlo_radd(m, sum, lost) : sum);
}

// Returns half of log(size) + error, for the number before scaling.
static value_t* half_log(const math_t* m, const scaled_t* scaled, value_t* size, value_t* error) {
  value_t* value = hlo_rmul_k(m, hlo_radd(m, hlo_rcall(m, HLO_OP_log, size), error), 0.5);
  if (m->has_spare) return value;
  const double log_scale = HLO_COMPLEX_SCALE_BITS * 0x1.62e42fefa39efp-1;  // log(2)
  return hlo_radd(m, value, hlo_complex_by_scale(m, scaled, log_scale, 0, -log_scale));
}

// Returns infinity for a number with an infinite part.
static value_t* unless_infinite(const math_t* m, parts_t z, value_t* log_size) {
  return hlo_rselect_k(m, hlo_rany_infinite(m, z), INFINITY, log_size);
}

static value_t* angle_of(const math_t* m, value_t* y, value_t* x) {
  value_t* angle = hlo_build_binary(m->insertion_point, HLO_OP_atan2, y, x);
  return hlo_build_convert(m->insertion_point, HLO_DTYPE_F64, angle);
}

static value_t* log_of_size(const math_t* m, parts_t z) {
  const scaled_t scaled = hlo_complex_scale(m, z);
  const sum_t x = hlo_complex_two_square(m, scaled.z.re);
  const sum_t y = hlo_complex_two_square(m, scaled.z.im);
  sum_t size = hlo_complex_two_sum(m, x.high, y.high);
  size = add_small(m, size.high, m->has_spare ? 1 : 3, (value_t*[]){size.low, x.low, y.low});
  value_t* is_near = hlo_rless_k(m, hlo_rabs(m, hlo_radd_k(m, size.high, -1)), 0.5);
  value_t* error = hlo_rselect(m, is_near, size.low, hlo_rconst(m, 0));
  return unless_infinite(m, z, half_log(m, &scaled, size.high, error));
}

// The angle is computed in the operand type: f32 is accurate enough for f32.
parts_t hlo_complex_log(const math_t* m, const parts_t* z) {
  return (parts_t){log_of_size(m, *z), angle_of(m, m->operands->im, m->operands->re)};
}

// |1 + z|^2 is 1 + (2x + x^2 + y^2) near 1, else (1 + x)^2 + y^2.
parts_t hlo_complex_log_plus_one(const math_t* m, const parts_t* z) {
  const scaled_t scaled = hlo_complex_scale(m, (parts_t){hlo_radd_k(m, z->re, 1), z->im});
  const sum_t x = hlo_complex_two_square(m, z->re), y = hlo_complex_two_square(m, z->im);
  const sum_t squares = hlo_complex_two_sum(m, x.high, y.high);
  sum_t above = hlo_complex_two_sum(m, hlo_radd(m, z->re, z->re), squares.high);
  value_t* terms[] = {above.low, squares.low, x.low, y.low};
  above = add_small(m, above.high, m->has_spare ? 2 : 4, terms);
  value_t* is_near = hlo_rless_k(m, hlo_rabs(m, above.high), 0.5);
  value_t* size = hlo_radd_k(m, above.high, 1);
  value_t* error = hlo_radd(m, hlo_rsub(m, above.high, hlo_radd_k(m, size, -1)), above.low);
  value_t* far = hlo_rdot(m, scaled.z.re, scaled.z.re, scaled.z.im, scaled.z.im);
  value_t* re = half_log(m, &scaled, hlo_rselect(m, is_near, size, far),
                         hlo_rselect(m, is_near, error, hlo_rconst(m, 0)));
  const parts_t narrow = *m->operands;
  value_t* one = narrow.re ? hlo_build_splat(m->insertion_point, narrow.re->type, 1) : NULL;
  value_t* right = hlo_build_binary(m->insertion_point, HLO_OP_add, narrow.re, one);
  return (parts_t){unless_infinite(m, *z, re), angle_of(m, narrow.im, right)};
}

// exp(w log(z)); a real w is left out of the products with its zero imaginary part. A base of zero
// gives 1, 0 or NaN depending on w.
parts_t hlo_complex_power(const math_t* m, const parts_t* z) {
  const parts_t w = z[1], log_z = {log_of_size(m, z[0]), angle_of(m, z[0].im, z[0].re)};
  value_t *is_real = hlo_requal_k(m, w.im, 0), *zero = hlo_rconst(m, 0);
  value_t* re = hlo_rselect(m, is_real, zero, hlo_rmul(m, log_z.im, w.im));
  value_t* im = hlo_rselect(m, is_real, zero, hlo_rmul(m, log_z.re, w.im));
  re = hlo_rsub(m, hlo_rmul(m, log_z.re, w.re), re);
  im = hlo_radd(m, hlo_rmul(m, log_z.im, w.re), im);
  const parts_t power = hlo_complex_exponential(m, &(parts_t){re, im});
  value_t* is_gone = hlo_rless_k(m, re, -2000);  // zero in every direction
  value_t* is_zero = hlo_rand(m, hlo_requal_k(m, z->re, 0), hlo_requal_k(m, z->im, 0));
  value_t* of_zero = hlo_rselect(m, hlo_rabove_k(m, w.re, 0), zero, hlo_rconst(m, NAN));
  value_t* is_one = hlo_rand(m, hlo_requal_k(m, w.re, 0), is_real);
  value_t* const parts[] = {power.re, power.im};
  value_t* results[2];
  for (int i = 0; i < 2; ++i) {
    results[i] = hlo_rselect(m, is_zero, of_zero, hlo_rselect(m, is_gone, zero, parts[i]));
    results[i] = hlo_rselect_k(m, is_one, 1 - i, results[i]);
  }
  return (parts_t){results[0], results[1]};
}
