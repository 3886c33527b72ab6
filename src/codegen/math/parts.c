// SPDX-License-Identifier: Apache-2.0
// What the functions are made of: polynomials, vectors cut into parts.
#include <string.h>

#include "codegen/math/math_impl.h"

double hlo_vmath_float_of_bits(const value_t* constant) {
  double wide = 0;
  float narrow = 0;
  if (is_f64(constant)) {
    memcpy(&wide, &constant->imm, sizeof wide);
    return wide;
  }
  const uint32_t bits = (uint32_t)constant->imm;
  memcpy(&narrow, &bits, sizeof narrow);
  return (double)narrow;
}

value_t* hlo_vmath_polynomial(builder_t* b, value_t* x, const double* c, size_t count) {
  value_t* sum = vconst(b, x, c[count - 1]);
  for (size_t i = count - 1; i-- > 0;) sum = vfma(b, sum, x, vconst(b, x, c[i]));
  return sum;
}

pair_t hlo_vmath_product(builder_t* b, value_t* x, value_t* y) {
  value_t* high = vmul(b, x, y);
  return (pair_t){high, vneg(b, vfnma(b, x, y, high))};
}

value_t* hlo_vmath_in_parts(builder_t* b, vector_fn_t fn, value_t* x, value_t* y, uint32_t ratio) {
  if (ratio <= 1 || x->type.lanes == 1) return fn(b, x, y);
  value_t* lower = hlo_vmath_in_parts(b, fn, vlower(b, x), y ? vlower(b, y) : NULL, ratio / 2);
  value_t* upper = hlo_vmath_in_parts(b, fn, vupper(b, x), y ? vupper(b, y) : NULL, ratio / 2);
  return vjoin(b, lower, upper);
}

static value_t* widen(builder_t* b, value_t* x) {
  return hlo_vir_convert(b, HLO_VIR_fext, HLO_VIR_F64, x);
}

static value_t* through_f64(builder_t* b, vector_fn_t fn, value_t* x, value_t* y, uint32_t ratio) {
  if (ratio > 1 && x->type.lanes > 1) {
    value_t* lower = through_f64(b, fn, vlower(b, x), y ? vlower(b, y) : NULL, ratio / 2);
    value_t* upper = through_f64(b, fn, vupper(b, x), y ? vupper(b, y) : NULL, ratio / 2);
    return vjoin(b, lower, upper);
  }
  value_t* wide = fn(b, widen(b, x), y ? widen(b, y) : NULL);
  return hlo_vir_convert(b, HLO_VIR_ftrunc, HLO_VIR_F32, wide);
}

value_t* hlo_vmath_in_f64(builder_t* b, vector_fn_t fn, value_t* x, value_t* y) {
  return through_f64(b, fn, x, y, 2);
}

value_t* hlo_vmath_except_where(builder_t* b, value_t* mask, value_t* x, value_t* value,
                                vector_fn_t fn) {
  value_t* result = hlo_vir_var(b, value);
  hlo_vir_begin_if(b, vany(b, mask));
  value_t* here = hlo_vir_var(b, x);  // keeps what follows inside
  value_t* exact = is_f64(x) ? fn(b, here, NULL) : hlo_vmath_in_f64(b, fn, here, NULL);
  hlo_vir_set(b, result, vselect(b, mask, exact, value));
  hlo_vir_end(b);
  return result;
}
