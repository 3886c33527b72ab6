// SPDX-License-Identifier: Apache-2.0
// Compares conversions and exact ops bit by bit with the reference: in the interpreter of vector IR
// with vectors of several widths, and as machine code; with subnormal numbers kept and flushed.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// after the above, which it needs
#include <cmocka.h>

#include "codegen/math/math_test_util.h"
#include "interp/scalar.h"

static _Alignas(64) uint8_t want_data[8 * COUNT];

// ---- conversions --------------------------------------------------------------------------------

static hlo_vir_value_t* convert_body(hlo_vir_builder_t* b, const void* context, hlo_vir_value_t* x,
                                     hlo_vir_value_t* y) {
  const hlo_test_vmath_kernel_t* kernel = context;
  (void)y;
  return hlo_vmath_convert(b, kernel->from, kernel->to, x);
}

static bool is_real(hlo_dtype_t dtype) {
  return hlo_vmath_type(dtype, 1).elem != HLO_VIR_VOID;
}

static void conversions_are_exact(void** state) {
  (void)state;
  for (int from = 0; from < HLO_DTYPE_COUNT; ++from) {
    for (int to = 0; to < HLO_DTYPE_COUNT; ++to) {
      if (!is_real((hlo_dtype_t)from) || !is_real((hlo_dtype_t)to)) continue;
      hlo_test_vmath_kernel_t kernel = {(hlo_dtype_t)from, (hlo_dtype_t)to, convert_body, &kernel};
      hlo_test_fill(kernel.from, 3, x_data);
      const hlo_fp_state_t before = hlo_fp_enter(subnormals);
      hlo_dtype_convert(kernel.from, x_data, kernel.to, want_data, COUNT);
      hlo_fp_leave(before);
      hlo_test_run_kernel(&kernel, widths[(from + to) % 4], x_data, x_data, out_data);
      hlo_test_assert_same(hlo_dtype_info(kernel.to)->name, kernel.from, x_data, kernel.to,
                           out_data, want_data);
    }
  }
}

// Registers hold the codes of both types.
static hlo_vir_value_t* convert_raw_body(hlo_vir_builder_t* b, const void* context,
                                         hlo_vir_value_t* x, hlo_vir_value_t* y) {
  const hlo_test_vmath_kernel_t* kernel = context;
  (void)y;
  return hlo_vmath_convert_raw(b, *(const hlo_dtype_t*)kernel->context, HLO_DTYPE_BF16, x);
}

static hlo_vir_value_t* encode_raw_body(hlo_vir_builder_t* b, const void* context,
                                        hlo_vir_value_t* x, hlo_vir_value_t* y) {
  const hlo_test_vmath_kernel_t* kernel = context;
  (void)y;
  return hlo_vmath_convert_raw(b, HLO_DTYPE_BF16, *(const hlo_dtype_t*)kernel->context, x);
}

// Compares with the elements in want_data.
static void check_raw(const hlo_test_vmath_kernel_t* kernel, uint32_t width) {
  const uint32_t lanes = width ? hlo_test_lanes(kernel, width) : 1;
  hlo_vir_module_t* module = hlo_test_build_kernel(kernel, lanes, true, false);
  hlo_test_check_status(hlo_vir_verify(module, hlo_test_max(width, 8)));
  hlo_test_interpret(module, x_data, x_data, out_data);
  assert_memory_equal(out_data, want_data, COUNT * hlo_dtype_size_bytes(kernel->to));
  hlo_test_compare_code(kernel, module, width, x_data, x_data, out_data);
  hlo_vir_module_release(module);
}

// All bf16 to all floats of 8 bits.
static void conversions_to_codes_are_exact(void** state) {
  (void)state;
  for (int number = 0; number < HLO_DTYPE_COUNT; ++number) {
    const hlo_dtype_t to = (hlo_dtype_t)number;
    if (!hlo_vmath_converts_raw(HLO_DTYPE_BF16, to)) continue;
    hlo_test_vmath_kernel_t names = {.context = &to};
    const hlo_test_vmath_kernel_t kernel = {HLO_DTYPE_U16, HLO_DTYPE_U8, encode_raw_body, &names};
    for (uint32_t first = 0; first < 1u << 16; first += COUNT) {
      for (uint32_t i = 0; i < COUNT; ++i) ((uint16_t*)x_data)[i] = (uint16_t)(first + i);
      hlo_dtype_convert(HLO_DTYPE_BF16, x_data, to, want_data, COUNT);
      check_raw(&kernel, widths[first / COUNT % (sizeof widths / sizeof *widths)]);
    }
  }
}

static void conversions_of_codes_are_exact(void** state) {
  (void)state;
  for (int number = 0; number < HLO_DTYPE_COUNT; ++number) {
    const hlo_dtype_t from = (hlo_dtype_t)number;
    if (!hlo_vmath_converts_raw(from, HLO_DTYPE_BF16)) continue;
    hlo_test_vmath_kernel_t names = {.context = &from};
    const hlo_test_vmath_kernel_t kernel = {HLO_DTYPE_U8, HLO_DTYPE_U16, convert_raw_body, &names};
    for (size_t i = 0; i < COUNT; ++i)
      x_data[i] = (uint8_t)(i % (1u << hlo_dtype_info(from)->bits));
    if (hlo_dtype_is_integer(from)) hlo_test_fill(from, 3, x_data);
    hlo_dtype_convert(from, x_data, HLO_DTYPE_BF16, want_data, COUNT);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; ++i) check_raw(&kernel, widths[i]);
  }
}

// ---- ops ----------------------------------------------------------------------------------------

static hlo_dtype_t result_of(hlo_op_t op, hlo_dtype_t dtype) {
  const bool is_predicate = op == HLO_OP_is_finite || op == HLO_OP_chlo_is_inf ||
                            op == HLO_OP_chlo_is_pos_inf || op == HLO_OP_chlo_is_neg_inf;
  return is_predicate ? HLO_DTYPE_PRED : dtype;
}

// Computes op of the elements of x_data and y_data into want_data.
static void compute_reference(hlo_op_t op, hlo_dtype_t dtype) {
  const hlo_loop_fn_t reference = hlo_ref_loop(op, dtype);
  assert_non_null(reference);
  const hlo_fp_state_t before = hlo_fp_enter(subnormals);
  reference((const void*[]){x_data, y_data}, want_data, COUNT);
  hlo_fp_leave(before);
}

static void compare_with_reference(hlo_op_t op, hlo_dtype_t dtype, uint32_t vector_bytes) {
  const hlo_test_op_case_t c = {op, dtype};
  const hlo_test_vmath_kernel_t kernel = {dtype, result_of(op, dtype), hlo_test_op_body, &c};
  hlo_test_run_kernel(&kernel, vector_bytes, x_data, y_data, out_data);
  hlo_test_assert_same(hlo_op_info(op)->name, dtype, x_data, kernel.to, out_data, want_data);
}

static void exact_op(hlo_op_t op, hlo_dtype_t dtype, uint32_t vector_bytes) {
  hlo_test_fill(dtype, 3, x_data);
  hlo_test_fill_second(dtype);
  compute_reference(op, dtype);
  compare_with_reference(op, dtype, vector_bytes);
}

static void exact_ops_match_the_reference(void** state) {
  (void)state;
  for (int dtype = 0; dtype < HLO_DTYPE_COUNT; ++dtype) {
    const bool is_narrow =
        hlo_dtype_is_float((hlo_dtype_t)dtype) && hlo_dtype_info((hlo_dtype_t)dtype)->bits < 32;
    for (int op = 0; op < HLO_OP_COUNT && !is_narrow; ++op) {
      const bool is_rounded = hlo_dtype_is_float((hlo_dtype_t)dtype) && f32_ulps[op] > 0;
      if (!hlo_vmath_has((hlo_op_t)op, (hlo_dtype_t)dtype) || is_rounded) continue;
      exact_op((hlo_op_t)op, (hlo_dtype_t)dtype, widths[(op + dtype) % 4]);
    }
  }
}

// Fills data with 1 to 2 times 2^least up to 2^(least + span - 1).
static void fill_small(hlo_dtype_t dtype, uint32_t factor, int least, int span, uint8_t* data) {
  for (uint32_t i = 0; i < COUNT; ++i) {
    const double significand = 1 + (double)((i + 1) * factor % 251) / 256;
    hlo_dtype_store_double(dtype, data + i * hlo_dtype_size_bytes(dtype),
                           ldexp(significand, least + (int)(i / 3) % span));
  }
}

static void flush_references(hlo_dtype_t dtype, double smallest_normal) {
  for (size_t i = 0; i < COUNT; ++i) {
    uint8_t* element = want_data + i * hlo_dtype_size_bytes(dtype);
    const double value = hlo_dtype_load_double(dtype, element);
    if (fabs(value) < smallest_normal) hlo_dtype_store_double(dtype, element, copysign(0, value));
  }
}

// The rest of a division by a small number may be subnormal where the remainder is not.
static void remainders_of_small_numbers_are_exact(void** state) {
  (void)state;
  static const struct {
    hlo_dtype_t dtype;
    int least, range;
  } cases[] = {{HLO_DTYPE_F32, -126, 250}, {HLO_DTYPE_F64, -1022, 2000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (int span = 8; span < cases[i].range; span *= 3) {
      fill_small(cases[i].dtype, 37, cases[i].least, span, x_data);
      fill_small(cases[i].dtype, 101, cases[i].least, 8, y_data);
      compute_reference(HLO_OP_remainder, cases[i].dtype);
      if (subnormals == HLO_SUBNORMALS_FLUSH) {
        flush_references(cases[i].dtype, ldexp(1, cases[i].least));
      }
      compare_with_reference(HLO_OP_remainder, cases[i].dtype, widths[i + 1]);
    }
  }
}

// ---- quotients by what is known -----------------------------------------------------------------

static hlo_vir_value_t* known_divisor_body(hlo_vir_builder_t* b, const void* context,
                                           hlo_vir_value_t* x, hlo_vir_value_t* y) {
  const hlo_test_op_case_t* c = context;
  uint64_t bits = 0;
  (void)y;
  memcpy(&bits, y_data, hlo_dtype_size_bytes(c->dtype));
  return hlo_vmath_emit(b, c->op, c->dtype, x, hlo_vir_const_bits(b, x->type, bits));
}

static void check_known_divisor(hlo_op_t op, hlo_dtype_t dtype, uint32_t vector_bytes) {
  const hlo_test_op_case_t c = {op, dtype};
  const hlo_test_vmath_kernel_t kernel = {dtype, dtype, known_divisor_body, &c};
  hlo_ref_loop(op, dtype)((const void*[]){x_data, y_data}, want_data, COUNT);
  hlo_test_run_kernel(&kernel, vector_bytes, x_data, y_data, out_data);
  hlo_test_assert_same(hlo_op_info(op)->name, dtype, x_data, dtype, out_data, want_data);
}

// Divides by powers of two, by other numbers, by zero, and by -1, where the quotient may overflow.
static void integers_are_divided_by_constants(void** state) {
  (void)state;
  static const int64_t divisors[] = {
      0,         1,         2,          3,          7,         8,        100,   127,
      -1,        -2,        -7,         -128,       1000,      32767,    65535, -32768,
      INT32_MAX, INT32_MIN, UINT32_MAX, 1000000007, INT64_MIN, INT64_MAX};
  for (int dtype = 0; dtype < HLO_DTYPE_COUNT; ++dtype) {
    if (!hlo_vmath_has(HLO_OP_divide, (hlo_dtype_t)dtype) ||
        !hlo_dtype_is_integer((hlo_dtype_t)dtype))
      continue;
    hlo_test_fill((hlo_dtype_t)dtype, 3, x_data);
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; ++i) {
      for (size_t k = 0; k < COUNT; ++k) {
        hlo_dtype_store_int64((hlo_dtype_t)dtype,
                              y_data + k * hlo_dtype_size_bytes((hlo_dtype_t)dtype), divisors[i]);
      }
      check_known_divisor(HLO_OP_divide, (hlo_dtype_t)dtype, widths[(i + (size_t)dtype) % 4]);
      check_known_divisor(HLO_OP_remainder, (hlo_dtype_t)dtype, widths[i % 4]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conversions_are_exact),
      cmocka_unit_test(conversions_of_codes_are_exact),
      cmocka_unit_test(conversions_to_codes_are_exact),
      cmocka_unit_test(exact_ops_match_the_reference),
      cmocka_unit_test(remainders_of_small_numbers_are_exact),
      cmocka_unit_test(integers_are_divided_by_constants),
  };
  return cmocka_run_group_tests_name("codegen/math, subnormals kept", tests,
                                     hlo_test_keep_subnormals, NULL) |
         cmocka_run_group_tests_name("codegen/math, subnormals flushed", tests,
                                     hlo_test_flush_subnormals, NULL);
}
