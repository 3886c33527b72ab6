// SPDX-License-Identifier: Apache-2.0
// Building blocks of the functions: polynomials, exact products, vectors cut into parts.
#include <string.h>

#include "codegen/math/math_impl.h"

typedef hlo_vir_builder_t builder_t;
typedef hlo_vir_value_t value_t;

double hlo_vmath_float_of_bits(const value_t* constant) {
  double wide = 0;
  float narrow = 0;
  if (hlo_vis_f64(constant)) {
    memcpy(&wide, &constant->imm, sizeof wide);
    return wide;
  }
  const uint32_t bits = (uint32_t)constant->imm;
  memcpy(&narrow, &bits, sizeof narrow);
  return (double)narrow;
}

value_t* hlo_vmath_polynomial(builder_t* b, value_t* x, const double* c, size_t count) {
  value_t* sum = hlo_vconst(b, x, c[count - 1]);
  for (size_t i = count - 1; i-- > 0;) sum = hlo_vfma(b, sum, x, hlo_vconst(b, x, c[i]));
  return sum;
}

hlo_vpair_t hlo_vmath_product(builder_t* b, value_t* x, value_t* y) {
  value_t* high = hlo_vmul(b, x, y);
  return (hlo_vpair_t){high, hlo_vneg(b, hlo_vfnma(b, x, y, high))};
}

value_t* hlo_vmath_in_parts(builder_t* b, hlo_vector_fn_t fn, value_t* x, value_t* y,
                            uint32_t ratio) {
  if (ratio <= 1 || x->type.lanes == 1) return fn(b, x, y);
  value_t* lower =
      hlo_vmath_in_parts(b, fn, hlo_vlower(b, x), y ? hlo_vlower(b, y) : NULL, ratio / 2);
  value_t* upper =
      hlo_vmath_in_parts(b, fn, hlo_vupper(b, x), y ? hlo_vupper(b, y) : NULL, ratio / 2);
  return hlo_vjoin(b, lower, upper);
}

static value_t* extend_to_f64(builder_t* b, value_t* x) {
  return hlo_vir_convert(b, HLO_VIR_fext, HLO_VIR_F64, x);
}

static value_t* through_f64(builder_t* b, hlo_vector_fn_t fn, value_t* x, value_t* y,
                            uint32_t ratio) {
  if (ratio > 1 && x->type.lanes > 1) {
    value_t* lower = through_f64(b, fn, hlo_vlower(b, x), y ? hlo_vlower(b, y) : NULL, ratio / 2);
    value_t* upper = through_f64(b, fn, hlo_vupper(b, x), y ? hlo_vupper(b, y) : NULL, ratio / 2);
    return hlo_vjoin(b, lower, upper);
  }
  value_t* wide = fn(b, extend_to_f64(b, x), y ? extend_to_f64(b, y) : NULL);
  return hlo_vir_convert(b, HLO_VIR_ftrunc, HLO_VIR_F32, wide);
}

value_t* hlo_vmath_in_f64(builder_t* b, hlo_vector_fn_t fn, value_t* x, value_t* y) {
  return through_f64(b, fn, x, y, 2);
}

value_t* hlo_vmath_except_where(builder_t* b, value_t* mask, value_t* x, value_t* value,
                                hlo_vector_fn_t fn) {
  value_t* result = hlo_vir_var(b, value);
  hlo_vir_begin_if(b, hlo_vany(b, mask));
  value_t* inner = hlo_vir_var(b, x);  // keeps instructions on x inside the `if`
  value_t* exact = hlo_vis_f64(x) ? fn(b, inner, NULL) : hlo_vmath_in_f64(b, fn, inner, NULL);
  hlo_vir_set(b, result, hlo_vselect(b, mask, exact, value));
  hlo_vir_end(b);
  return result;
}
