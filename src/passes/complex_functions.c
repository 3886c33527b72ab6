// SPDX-License-Identifier: Apache-2.0
// Functions of complex numbers as ops of reals (see complex_parts.h): the functions that their
// formulas share. docs/numerics.md documents their accuracy; the test compares them with
// interp/ref_complex.inl.
#include "passes/complex_math.h"

typedef hlo_complex_math_t math_t;
typedef hlo_parts_t parts_t;
typedef hlo_complex_scaled_t scaled_t;
typedef hlo_complex_sum_t sum_t;
typedef hlo_value_t value_t;

static const parts_t NONE = {NULL, NULL};
static const double HUGE_PART = 0x1p500, TINY_PART = 0x1p-500;

scaled_t hlo_complex_scale(const math_t* m, parts_t z) {
  if (m->has_spare) return (scaled_t){.z = z};
  value_t *x = hlo_rabs(m, z.re), *y = hlo_rabs(m, z.im);
  scaled_t scaled = {
      .is_huge = hlo_ror(m, hlo_rabove_k(m, x, HUGE_PART), hlo_rabove_k(m, y, HUGE_PART)),
      .is_tiny = hlo_rand(m, hlo_rless_k(m, x, TINY_PART), hlo_rless_k(m, y, TINY_PART))};
  value_t* scale = hlo_complex_by_scale(m, &scaled, ldexp(1, -HLO_COMPLEX_SCALE_BITS), 1,
                                        ldexp(1, HLO_COMPLEX_SCALE_BITS));
  scaled.z = (parts_t){hlo_rmul(m, z.re, scale), hlo_rmul(m, z.im, scale)};
  return scaled;
}

value_t* hlo_complex_by_scale(const math_t* m, const scaled_t* scaled, double huge, double none,
                              double tiny) {
  if (m->has_spare) return NULL;
  return hlo_rselect_k(m, scaled->is_huge, huge,
                       hlo_rselect_k(m, scaled->is_tiny, tiny, hlo_rconst(m, none)));
}

value_t* hlo_complex_unscale(const math_t* m, const scaled_t* scaled, int bits, value_t* x) {
  if (m->has_spare) return x;
  return hlo_rmul(m, x, hlo_complex_by_scale(m, scaled, ldexp(1, bits), 1, ldexp(1, -bits)));
}

value_t* hlo_complex_modulus(const math_t* m, parts_t z) {
  return hlo_rcall(m, HLO_OP_sqrt, hlo_rdot(m, z.re, z.re, z.im, z.im));
}

sum_t hlo_complex_two_sum(const math_t* m, value_t* x, value_t* y) {
  value_t* sum = hlo_radd(m, x, y);
  value_t* y_part = hlo_rsub(m, sum, x);
  value_t* x_part = hlo_rsub(m, sum, y_part);
  return (sum_t){sum, hlo_radd(m, hlo_rsub(m, x, x_part), hlo_rsub(m, y, y_part))};
}

sum_t hlo_complex_two_square(const math_t* m, value_t* x) {
  value_t* square = hlo_rmul(m, x, x);
  if (m->has_spare) return (sum_t){square, hlo_rconst(m, 0)};
  value_t* split = hlo_rmul_k(m, x, 0x8000001p0);
  value_t* high = hlo_rsub(m, split, hlo_rsub(m, split, x));
  value_t* low = hlo_rsub(m, x, high);
  value_t* error = hlo_radd(m, hlo_rsub(m, hlo_rmul(m, high, high), square),
                            hlo_rmul(m, hlo_radd(m, high, high), low));
  return (sum_t){square, hlo_radd(m, error, hlo_rmul(m, low, low))};
}

static const struct {
  hlo_op_t op;
  parts_t (*make)(const math_t* m, const parts_t* z);
} FUNCTIONS[] = {
#define HLO_COMPLEX_FUNCTION(op, name, ...) {HLO_OP_##op, hlo_complex_##name},
#include "passes/complex_functions.def"
#undef HLO_COMPLEX_FUNCTION
};
enum { FUNCTION_COUNT = sizeof FUNCTIONS / sizeof FUNCTIONS[0], OPERANDS_MAX = 2 };

static uint32_t row_of(hlo_op_t op) {
  uint32_t row = 0;
  while (row < FUNCTION_COUNT && FUNCTIONS[row].op != op) ++row;
  return row;
}

bool hlo_complex_has_function(hlo_op_t op) {
  return row_of(op) < FUNCTION_COUNT;
}

hlo_parts_t hlo_complex_function(hlo_node_t* node, const hlo_parts_t* operands) {
  const uint32_t row = row_of(node->op);
  if (row == FUNCTION_COUNT || node->operand_count > OPERANDS_MAX) return NONE;
  parts_t z[OPERANDS_MAX];
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!operands[i].im) return NONE;
    z[i].re = hlo_build_convert(node, HLO_DTYPE_F64, operands[i].re);
    z[i].im = hlo_build_convert(node, HLO_DTYPE_F64, operands[i].im);
    if (!z[i].re || !z[i].im) return NONE;
  }
  const hlo_dtype_t part = operands->re->type->dtype;
  const math_t m = {node, z->re->type, part == HLO_DTYPE_F32, operands};
  const parts_t result = FUNCTIONS[row].make(&m, z);
  return (parts_t){hlo_build_convert(node, part, result.re),
                   hlo_build_convert(node, part, result.im)};
}
