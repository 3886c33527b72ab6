// SPDX-License-Identifier: Apache-2.0
// Measures the errors of functions against libm in higher precision, and compares them with
// math.def.
// HLO_MATH_TEST_STRIDE=n tests every n-th f32 (1: all) and a proportional number of other
// arguments;
// HLO_MATH_TEST_TABLE=FILE writes the largest errors found as docs/accuracy.md;
// HLO_MATH_TEST_ONLY=OP, such as chlo.erf, leaves all other functions out.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// after the above, which it needs
#include <cmocka.h>

#include "codegen/math/math_test_util.h"
#include "interp/ref_math.h"

// ---- exact values -------------------------------------------------------------------------------

static long double logisticl(long double x) {
  const long double e = expl(-fabsl(x));
  return (x < 0 ? e : 1) / (1 + e);
}
static double logistic(double x) {
  const double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
static long double inverse_rootl(long double x) {
  return 1 / sqrtl(x);
}
static double inverse_root(double x) {
  return 1 / sqrt(x);
}
static long double digammal(long double x) {
  return hlo_math_digamma((double)x);
}
static double digamma(double x) {
  return hlo_math_digamma(x);
}
// The reference's value, improved by a Newton step.
static long double inverse_erfl(long double x) {
  const long double y = hlo_math_erf_inv((double)x), size = fabsl(x);
  if (!(size < 1) || x == 0) return y;
  const long double two_over_root_pi = 1.128379167095512573896158903121545L;
  const long double excess = size < 0.5L ? erfl(y) - x : copysignl((1 - size) - erfcl(fabsl(y)), x);
  return y - excess / (two_over_root_pi * expl(-y * y));
}
static double inverse_erf(double x) {
  return (double)inverse_erfl(x);
}

typedef long double (*long_fn_t)(long double x);
typedef double (*double_fn_t)(double x);
typedef long double (*long_fn_2_t)(long double x, long double y);

/// The exact function of an op with one or two operands.
typedef struct exact {
  long_fn_t in_long;
  double_fn_t in_double;
  long_fn_2_t of_two;
} exact_t;

#define ROW(op, name) [HLO_OP_##op] = {.in_long = name##l, .in_double = name}
static const exact_t exact[HLO_OP_COUNT] = {
    ROW(cbrt, cbrt),
    ROW(chlo_acos, acos),
    ROW(chlo_acosh, acosh),
    ROW(chlo_asin, asin),
    ROW(chlo_asinh, asinh),
    ROW(chlo_atan, atan),
    ROW(chlo_atanh, atanh),
    ROW(chlo_cosh, cosh),
    ROW(chlo_digamma, digamma),
    ROW(chlo_erf, erf),
    ROW(chlo_erf_inv, inverse_erf),
    ROW(chlo_erfc, erfc),
    ROW(chlo_lgamma, lgamma),
    ROW(chlo_sinh, sinh),
    ROW(chlo_tan, tan),
    ROW(cosine, cos),
    ROW(exponential, exp),
    ROW(exponential_minus_one, expm1),
    ROW(log, log),
    ROW(log_plus_one, log1p),
    ROW(logistic, logistic),
    ROW(rsqrt, inverse_root),
    ROW(sine, sin),
    ROW(tan, tan),
    ROW(tanh, tanh),
    [HLO_OP_atan2] = {.of_two = atan2l},
    [HLO_OP_power] = {.of_two = powl},
};
#undef ROW

// ---- errors -------------------------------------------------------------------------------------

/// A float format: digits of the significand, the exponents of the last place of subnormal numbers
/// and of the first power of two beyond the range.
typedef struct format {
  hlo_dtype_t dtype;
  int digits, lowest, highest;
} format_t;

enum { F32, F64, F16, BF16, FORMATS };
static const format_t formats[FORMATS] = {{HLO_DTYPE_F32, 24, -149, 128},
                                          {HLO_DTYPE_F64, 53, -1074, 1024},
                                          {HLO_DTYPE_F16, 11, -24, 16},
                                          {HLO_DTYPE_BF16, 8, -133, 128}};

/// The largest error of a function so far, and its operands.
typedef struct worst {
  double error, x, y;
} worst_t;
static worst_t worst[FORMATS][HLO_OP_COUNT];

// Returns the bound of math.def; results of narrower types are those of f32, rounded once more.
static double bound_of(hlo_op_t op, const format_t* f) {
  if (f->digits == 53) return f64_ulps[op];
  return f->digits == 24 ? f32_ulps[op] : 0.5 + 2 * ldexp(f32_ulps[op], f->digits - 24);
}

static bool is_function(int op, const format_t* f) {
  const char* only = getenv("HLO_MATH_TEST_ONLY");
  if (only && strcmp(only, hlo_op_info((hlo_op_t)op)->name) != 0) return false;
  return bound_of((hlo_op_t)op, f) > 0 && f32_ulps[op] > 0 &&
         hlo_vmath_has((hlo_op_t)op, f->dtype) && (exact[op].in_long || exact[op].of_two);
}

static double rounded_to(const format_t* f, long double x) {
  uint64_t element = 0;
  hlo_dtype_store_double(f->dtype, &element, (double)x);
  return hlo_dtype_load_double(f->dtype, &element);
}

// Returns the distance in units in the last place; infinity counts as the number after the largest.
static double ulps(double got, long double want, const format_t* f) {
  const double rounded = rounded_to(f, want);
  if (isnan(rounded) || isnan(got)) return isnan(rounded) && isnan(got) ? 0 : INFINITY;
  const bool is_same = rounded == got && signbit(got) == signbit(rounded);
  if (is_same && (got == 0 || isinf(got)))
    return got == 0 ? (double)(fabsl(want) / ldexpl(1, f->lowest)) : 0;
  if (got == 0 && rounded == 0) return INFINITY;  // the sign
  if (isinf(rounded) || isinf(got)) {
    const long double first = ldexpl(1, f->highest);
    const long double a = isinf(got) ? copysignl(first, got) : (long double)got;
    const long double c = isinf(rounded) ? copysignl(first, rounded) : want;
    return (double)(fabsl(a - c) / ldexpl(1, f->highest - f->digits));
  }
  int exponent;
  (void)frexpl(want, &exponent);
  const int place =
      want == 0 || exponent - f->digits < f->lowest ? f->lowest : exponent - f->digits;
  return (double)(fabsl(got - want) / ldexpl(1, place));
}

static void note(hlo_op_t op, int format, double error, double x, double y) {
  worst_t* w = &worst[format][op];
  if (!(error <= w->error)) *w = (worst_t){error, x, y};
}

static void assert_within_bounds(void) {
  int beyond = 0;
  for (int i = 0; i < FORMATS * HLO_OP_COUNT; ++i) {
    const hlo_op_t op = (hlo_op_t)(i % HLO_OP_COUNT);
    const format_t* f = &formats[i / HLO_OP_COUNT];
    const worst_t* w = &worst[i / HLO_OP_COUNT][op];
    if (w->error <= bound_of(op, f)) continue;
    ++beyond;
    print_error("%s %s(%a, %a): %g ulps, not %g\n", hlo_dtype_info(f->dtype)->name,
                hlo_op_info(op)->name, w->x, w->y, w->error, bound_of(op, f));
  }
  assert_int_equal(beyond, 0);
}

static double least_normal(const format_t* f) {
  return ldexp(1, f->lowest + f->digits - 1);
}

// Returns the operand as a function sees it: flushed to zero if subnormal numbers are.
static double operand_of(const format_t* f, double x) {
  const bool is_flushed =
      subnormals == HLO_SUBNORMALS_FLUSH && f->dtype != HLO_DTYPE_F16 && fabs(x) < least_normal(f);
  return is_flushed ? copysign(0, x) : x;
}

// Returns the error of a result in units in the last place. Where subnormal numbers are flushed, an
// absolute error up to the smallest normal number is accepted.
static double error_of(double got, long double want, const format_t* f) {
  const double error = ulps(got, want, f);
  const bool may_be_lost = subnormals == HLO_SUBNORMALS_FLUSH && f->dtype != HLO_DTYPE_F16 &&
                           fabsl((long double)got - want) <= (long double)least_normal(f);
  return may_be_lost && error > 0 ? 0 : error;
}

static void check_results(hlo_op_t op, int format) {
  const format_t* f = &formats[format];
  const size_t width = hlo_dtype_size_bytes(f->dtype);
  for (size_t i = 0; i < COUNT; ++i) {
    const double x = operand_of(f, hlo_dtype_load_double(f->dtype, x_data + i * width));
    const double y = operand_of(f, hlo_dtype_load_double(f->dtype, y_data + i * width));
    const double got = hlo_dtype_load_double(f->dtype, out_data + i * width);
    const long double want = exact[op].of_two ? exact[op].of_two(x, y) : exact[op].in_long(x);
    note(op, format, error_of(got, want, f), x, y);
  }
}

// Checks finite f32 results against `want` in double precision; ulps() checks all others.
static void check_many(hlo_op_t op, const float* x, const float* got, const double* want) {
  for (size_t i = 0; i < COUNT; ++i) {
    enum { DOUBLE_BIAS = 1023, LEAST_EXPONENT = 1023 - 126 };
    uint64_t bits;
    memcpy(&bits, &want[i], sizeof bits);
    const uint64_t field = bits >> 52 & 0x7ff;
    const uint64_t exponent = field < LEAST_EXPONENT ? LEAST_EXPONENT : field;
    const uint64_t scale_bits = (uint64_t)(2 * DOUBLE_BIAS + 23 - exponent) << 52;
    double scale;
    memcpy(&scale, &scale_bits, sizeof scale);
    double error = fabs((double)got[i] - want[i]) * scale;
    if (error <= worst[F32][op].error && got[i] != 0) continue;
    error = error_of((double)got[i], (long double)want[i], &formats[F32]);
    note(op, F32, error, (double)x[i], 0);
  }
}

// ---- arguments ----------------------------------------------------------------------------------

static const hlo_test_op_case_t* case_of(int op, hlo_dtype_t dtype) {
  static hlo_test_op_case_t c;
  c = (hlo_test_op_case_t){(hlo_op_t)op, dtype};
  return &c;
}

static void check_function(int op, int format, uint32_t vector_bytes) {
  const hlo_dtype_t dtype = formats[format].dtype;
  const hlo_test_vmath_kernel_t kernel = {dtype, dtype, hlo_test_op_body, case_of(op, dtype)};
  hlo_test_fill_second(dtype);
  hlo_test_run_kernel(&kernel, vector_bytes, x_data, y_data, out_data);
  check_results((hlo_op_t)op, format);
}

// Fills in arguments of every magnitude, many of them near 1.
static void fill_arguments(hlo_dtype_t dtype, uint64_t part) {
  uint64_t state = 11 + part;
  for (size_t i = 0; i < COUNT; ++i) {
    const uint64_t random = hlo_test_next_random(&state);
    double value = ldexp((double)(int64_t)random, (int)(random & 15) - 70);
    if (part == 0)
      value = i < EDGES ? hlo_test_edge(i) : hlo_test_random_float(&state, dtype == HLO_DTYPE_F64);
    hlo_dtype_store_double(dtype, x_data + i * hlo_dtype_size_bytes(dtype), value);
  }
}

// Tests pairs of the smallest and of the largest subnormal numbers.
static void subnormal_pairs_are_accurate(void** state) {
  (void)state;
  enum { SIDE = 64 };
  for (int format = F32; format <= F64; ++format) {
    const format_t* f = &formats[format];
    const size_t width = hlo_dtype_size_bytes(f->dtype);
    for (size_t i = 0; i < COUNT; ++i) {
      const size_t column = i % SIDE + i / (COUNT / 2) * ((1u << 22) - SIDE);
      hlo_dtype_store_double(f->dtype, x_data + i * width, ldexp((double)(i / SIDE), f->lowest));
      hlo_dtype_store_double(f->dtype, y_data + i * width, ldexp((double)column, f->lowest));
    }
    for (int op = 0; op < HLO_OP_COUNT; ++op) {
      if (!is_function(op, f) || !exact[op].of_two) continue;
      const hlo_test_vmath_kernel_t kernel = {f->dtype, f->dtype, hlo_test_op_body,
                                              case_of(op, f->dtype)};
      hlo_test_run_kernel(&kernel, WIDEST, x_data, y_data, out_data);
      check_results((hlo_op_t)op, format);
    }
  }
  assert_within_bounds();
}

// The arguments with the largest errors in a sweep over all of f32.
static const float worst_arguments[] = {
    0x1.f5fa26p-125f, -0x1.3c8af4p-2f, -0x1.765026p+2f,  0x1.8996aap-2f,  0x1.90f2d8p+0f,
    0x1.a8e60ep-2f,   -0x1.0a111ap+2f, 0x1.019566p-126f, 0x1.d1ee6cp+16f, 0x1.d4bdd6p+16f,
    0x1.08f028p-1f,   0x1.f0a87ap-1f,  0x1.007f6ep+0f,   0x1.f77daep-3f,  0x1.0925a4p-1f,
    0x1.18d284p+0f,   0x1.5f89ecp-3f,  0x1.21e65ep+2f,   -0x1.0b2f02p+6f, 0x1.1b16eep+0f,
    0x1.fffdp-1f,     0x1.e31f3ap+0f,  0x1.ac6ddp-1f,    0x1.fc132cp-4f};

static void worst_errors_stay_within(void** state) {
  (void)state;
  const size_t count = sizeof worst_arguments / sizeof *worst_arguments;
  for (size_t i = 0; i < COUNT; ++i) {
    memcpy(x_data + i * sizeof(float), &worst_arguments[i % count], sizeof(float));
  }
  for (int op = 0; op < HLO_OP_COUNT; ++op) {
    if (is_function(op, &formats[F32])) check_function(op, F32, WIDEST);
  }
  assert_within_bounds();
}

static void functions_are_accurate(void** state) {
  (void)state;
  enum { PARTS = 3 };
  for (unsigned part = 0; part < PARTS; ++part) {
    for (int format = F32; format <= F64; ++format) {
      fill_arguments(formats[format].dtype, part);
      for (int op = 0; op < HLO_OP_COUNT; ++op) {
        if (is_function(op, &formats[format])) check_function(op, format, widths[(op + part) % 4]);
      }
    }
  }
  assert_within_bounds();
}

// Tests every 16-bit float as an argument.
static void narrow_arguments_are_accurate(void** state) {
  (void)state;
  for (int format = F16; format <= BF16; ++format) {
    for (uint32_t first = 0; first < 0x10000; first += COUNT) {
      for (uint32_t i = 0; i < COUNT; ++i) {
        const uint16_t code = (uint16_t)(first + i);
        memcpy(x_data + 2 * i, &code, sizeof code);
      }
      for (int op = 0; op < HLO_OP_COUNT; ++op) {
        if (is_function(op, &formats[format])) check_function(op, format, WIDEST);
      }
    }
  }
  assert_within_bounds();
}

// ---- sweeps -------------------------------------------------------------------------------------

/// An op as machine code of the widest vectors.
typedef struct machine_op {
  hlo_vir_module_t* module;
  hlo_code_t code;
  hlo_jit_t* jit;
  hlo_test_vmath_code_t run;
} machine_op_t;

static machine_op_t compile(int op, hlo_dtype_t dtype) {
  const hlo_target_t* target = &targets[target_count - 1];
  const hlo_test_vmath_kernel_t kernel = {dtype, dtype, hlo_test_op_body, case_of(op, dtype)};
  machine_op_t m = {.module = hlo_test_build_kernel(&kernel,
                                                    hlo_test_lanes(&kernel, target->vector_bytes),
                                                    target->has_permute, target->has_scale)};
  hlo_test_check_status(hlo_code_compile(m.module, target, &m.code));
  hlo_test_check_status(hlo_jit_load(&m.code, "math", NULL, &m.jit));
  m.run = (hlo_test_vmath_code_t)(uintptr_t)hlo_jit_address(m.jit, 0);
  return m;
}

static void release(machine_op_t* m) {
  hlo_jit_release(m->jit);
  hlo_code_deinit(&m->code);
  hlo_vir_module_release(m->module);
}

static void run_code(const machine_op_t* m, const void* x, const void* y, void* out) {
  const hlo_fp_state_t before = hlo_fp_enter(subnormals);
  assert_int_equal(m->run(x, y, out), 0);
  hlo_fp_leave(before);
}

static uint64_t stride_of_test(void) {
  const char* text = getenv("HLO_MATH_TEST_STRIDE");
  const uint64_t stride = text ? strtoull(text, NULL, 10) : 130000;
  return stride ? stride : 1;
}

// libm is too slow for smaller strides: functions of f64 replace it, where they exist; the other
// tests compare those with libm.
enum { SHORT_STRIDE = 16 };

static void sweep(int op, uint64_t stride) {
  static _Alignas(64) float x[COUNT], got[COUNT];
  static _Alignas(64) double wide[COUNT], want[COUNT];
  const bool by_code = stride < SHORT_STRIDE && hlo_vmath_has((hlo_op_t)op, HLO_DTYPE_F64);
  machine_op_t narrow_op = compile(op, HLO_DTYPE_F32), wide_op = {0};
  if (by_code) wide_op = compile(op, HLO_DTYPE_F64);
  for (uint64_t pattern = 0; pattern <= UINT32_MAX;) {
    for (size_t i = 0; i < COUNT; ++i, pattern += stride) {  // wraps in the last block
      const uint32_t bits = (uint32_t)pattern;
      memcpy(&x[i], &bits, sizeof bits);
      wide[i] = operand_of(&formats[F32], (double)x[i]);
    }
    run_code(&narrow_op, x, x, got);
    if (by_code) {
      run_code(&wide_op, wide, wide, want);
    } else {
      for (size_t i = 0; i < COUNT; ++i) want[i] = exact[op].in_double(wide[i]);
    }
    check_many((hlo_op_t)op, x, got, want);
  }
  release(&narrow_op);
  if (by_code) release(&wide_op);
}

// Tests f32 arguments over all bit patterns at regular distances.
static void swept_arguments_are_accurate(void** state) {
  (void)state;
  const uint64_t stride = stride_of_test();
  for (int op = 0; op < HLO_OP_COUNT && target_count; ++op) {
    if (is_function(op, &formats[F32]) && exact[op].in_double) sweep(op, stride);
  }
  assert_within_bounds();
}

// Returns the number of blocks of COUNT random arguments: fewer than swept f32, for libm is slow.
static uint64_t sampled_blocks(void) {
  const uint64_t stride = stride_of_test();
  return 1 + 24414 / (stride < SHORT_STRIDE ? SHORT_STRIDE : stride);
}

// Tests random arguments of f64 and of functions of two operands, with special values and neighbors
// among them: 6 million where all f32 are swept.
static void sampled_arguments_are_accurate(void** state) {
  (void)state;
  const uint64_t blocks = sampled_blocks();
  for (int op = 0; op < HLO_OP_COUNT && target_count; ++op) {
    for (int format = F32; format <= F64; ++format) {
      if (!is_function(op, &formats[format]) || (format == F32 && !exact[op].of_two)) continue;
      machine_op_t m = compile(op, formats[format].dtype);
      for (uint64_t block = 0; block < blocks; ++block) {
        if (block % 2) {
          fill_arguments(formats[format].dtype, block);
        } else {
          hlo_test_fill(formats[format].dtype, block + 5, x_data);
        }
        hlo_test_fill_second(formats[format].dtype);
        run_code(&m, x_data, y_data, out_data);
        check_results((hlo_op_t)op, format);
      }
      release(&m);
    }
  }
  assert_within_bounds();
}

// ---- table --------------------------------------------------------------------------------------

static void write_cell(FILE* file, int op, int format) {
  if (!is_function(op, &formats[format])) {
    fprintf(file, " | |");
  } else {
    fprintf(file, " %.3f | %.4g |", worst[format][op].error,
            bound_of((hlo_op_t)op, &formats[format]));
  }
}

// The table has the errors of the first group, which keeps subnormal numbers.
static int write_table(void** state) {
  (void)state;
  const char* path = getenv("HLO_MATH_TEST_TABLE");
  FILE* file = path ? fopen(path, "w") : NULL;
  if (!file) return path != NULL;
  const uint64_t stride = stride_of_test();
  char swept[48] = "every f32";
  if (stride > 1) snprintf(swept, sizeof swept, "one f32 in %llu", (unsigned long long)stride);
  fprintf(file,
          "# Measured errors of functions\n\n"
          "Written by `make check-accuracy`, which fails beyond the bounds of\n"
          "[math.def](../src/codegen/math/math.def): the largest distance from the exact value, in "
          "units of the last\nplace of the result. Arguments were every f16 and bf16, %s, and some "
          "%.1g "
          "of f64 and of pairs.\n[numerics.md](numerics.md) says what the bounds mean.\n\n"
          "| function | f32 | bound | f64 | bound | f16 | bound | bf16 | bound | worst f32 |\n"
          "|---|---|---|---|---|---|---|---|---|---|\n",
          swept, (double)sampled_blocks() * COUNT);
  for (int op = 0; op < HLO_OP_COUNT; ++op) {
    if (!is_function(op, &formats[F32])) continue;
    fprintf(file, "| %s |", hlo_op_info((hlo_op_t)op)->name);
    for (int format = 0; format < FORMATS; ++format) write_cell(file, op, format);
    fprintf(file, exact[op].of_two ? " %a, %a |\n" : " %a |\n", worst[F32][op].x, worst[F32][op].y);
  }
  return fclose(file);
}

static int start_again(void** state) {
  memset(worst, 0, sizeof worst);
  return hlo_test_flush_subnormals(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(worst_errors_stay_within),
      cmocka_unit_test(functions_are_accurate),
      cmocka_unit_test(subnormal_pairs_are_accurate),
      cmocka_unit_test(narrow_arguments_are_accurate),
      cmocka_unit_test(swept_arguments_are_accurate),
      cmocka_unit_test(sampled_arguments_are_accurate),
  };
  return cmocka_run_group_tests_name("codegen/math/accuracy, subnormals kept", tests,
                                     hlo_test_keep_subnormals, write_table) |
         cmocka_run_group_tests_name("codegen/math/accuracy, subnormals flushed", tests,
                                     start_again, NULL);
}
