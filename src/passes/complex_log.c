// SPDX-License-Identifier: Apache-2.0
// Logarithms of complex numbers (see complex_math.h): log|z| is half the logarithm of a sum of
// squares. Where that is near 1, its rounding error is added to its logarithm.
#include "passes/complex_math.h"

// x and small terms, as if with twice the bits.
static sum_t add_small(const math_t* m, value_t* x, int count, value_t* const* terms) {
  value_t *sum = terms[0], *lost = NULL;
  for (int i = 1; i < count; ++i) {
    const sum_t next = hlo_complex_two_sum(m, sum, terms[i]);
    sum = next.high;
    lost = lost ? radd(m, lost, next.low) : next.low;
  }
  return hlo_complex_two_sum(m, x, lost ? radd(m, sum, lost) : sum);
}

// Half of log(size) + error, in the range before scaling.
static value_t* half_log(const math_t* m, const scaled_t* scaled, value_t* size, value_t* error) {
  value_t* value = rmul_k(m, radd(m, rcall(m, HLO_OP_log, size), error), 0.5);
  if (m->has_spare) return value;
  const double turn = HLO_COMPLEX_SCALE_BITS * 0x1.62e42fefa39efp-1;  // log(2)
  return radd(m, value, hlo_complex_by_scale(m, scaled, turn, 0, -turn));
}

// The angle of operands that are as wide as the result; with an infinite part, log|z| is infinite.
static parts_t with_angle(const math_t* m, parts_t z, value_t* re, value_t* y, value_t* x) {
  value_t* angle = hlo_build_binary(m->place, HLO_OP_atan2, y, x);
  return (parts_t){rselect_k(m, rany_infinite(m, z), INFINITY, re),
                   hlo_build_convert(m->place, HLO_DTYPE_F64, angle)};
}

parts_t hlo_complex_log(const math_t* m, const parts_t* z) {
  const scaled_t scaled = hlo_complex_scale(m, *z);
  const sum_t x = hlo_complex_two_square(m, scaled.z.re);
  const sum_t y = hlo_complex_two_square(m, scaled.z.im);
  sum_t size = hlo_complex_two_sum(m, x.high, y.high);
  size = add_small(m, size.high, m->has_spare ? 1 : 3, (value_t*[]){size.low, x.low, y.low});
  value_t* is_near = rless_k(m, rabs(m, radd_k(m, size.high, -1)), 0.5);
  value_t* error = rselect(m, is_near, size.low, rconst(m, 0));
  value_t* re = half_log(m, &scaled, size.high, error);
  return with_angle(m, *z, re, m->operands->im, m->operands->re);
}

// |1 + z|^2 is 1 + (2x + x^2 + y^2) near 1, else (1 + x)^2 + y^2.
parts_t hlo_complex_log_plus_one(const math_t* m, const parts_t* z) {
  const scaled_t scaled = hlo_complex_scale(m, (parts_t){radd_k(m, z->re, 1), z->im});
  const sum_t x = hlo_complex_two_square(m, z->re), y = hlo_complex_two_square(m, z->im);
  const sum_t squares = hlo_complex_two_sum(m, x.high, y.high);
  sum_t above = hlo_complex_two_sum(m, radd(m, z->re, z->re), squares.high);
  value_t* terms[] = {above.low, squares.low, x.low, y.low};
  above = add_small(m, above.high, m->has_spare ? 2 : 4, terms);
  value_t* is_near = rless_k(m, rabs(m, above.high), 0.5);
  value_t* size = radd_k(m, above.high, 1);
  value_t* error = radd(m, rsub(m, above.high, radd_k(m, size, -1)), above.low);
  value_t* far = rdot(m, scaled.z.re, scaled.z.re, scaled.z.im, scaled.z.im);
  value_t* re = half_log(m, &scaled, rselect(m, is_near, size, far),
                         rselect(m, is_near, error, rconst(m, 0)));
  const parts_t narrow = *m->operands;
  value_t* one = narrow.re ? hlo_build_splat(m->place, narrow.re->type, 1) : NULL;
  return with_angle(m, *z, re, narrow.im, hlo_build_binary(m->place, HLO_OP_add, narrow.re, one));
}
