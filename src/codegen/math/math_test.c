// SPDX-License-Identifier: Apache-2.0
// Every expression against what it stands for: functions within the errors of math.def, all else
// bit by bit against the reference; run by the interpreter of vector IR in vectors of several
// widths.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
// after the above, which it needs
#include <cmocka.h>

#include "codegen/jit/jit.h"
#include "codegen/math/math.h"
#include "codegen/target.h"
#include "codegen/vir/interp.h"
#include "codegen/x86/x86.h"
#include "interp/ref_math.h"
#include "interp/scalar.h"

enum { COUNT = 4096, WIDEST = 64, PARAMS = 3 };

typedef hlo_vir_value_t* (*body_t)(hlo_vir_builder_t* b, const void* context, hlo_vir_value_t* x,
                                   hlo_vir_value_t* y);

static uint32_t scale_of(hlo_dtype_t dtype) {
  return (uint32_t)__builtin_ctz((unsigned)hlo_dtype_size_bytes(dtype));
}

/// A loop over arrays of elements: out[i] = body(x[i], y[i]).
typedef struct kernel {
  hlo_dtype_t from, to;
  body_t body;
  const void* context;
} kernel_t;

static hlo_vir_value_t* load(hlo_vir_builder_t* b, hlo_dtype_t dtype, uint32_t lanes,
                             hlo_vir_value_t* base, hlo_vir_value_t* index) {
  hlo_vir_value_t* address[] = {base, index};
  hlo_vir_value_t* raw = hlo_vir_emit(b, HLO_VIR_load, hlo_vmath_memory_type(dtype, lanes),
                                      scale_of(dtype), 0, 2, address);
  return hlo_vmath_from_memory(b, dtype, raw);
}

static hlo_vir_module_t* build(const kernel_t* kernel, uint32_t lanes) {
  hlo_vir_module_t* module;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
  hlo_vir_func_t* func = hlo_vir_func_create(module, "kernel", PARAMS, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t* p[PARAMS];
  for (uint32_t i = 0; i < PARAMS; ++i) p[i] = hlo_vir_param(&b, i);
  hlo_vir_value_t* count = hlo_vir_iconst(&b, COUNT);
  hlo_vir_value_t* index = hlo_vir_begin_for(&b, hlo_vir_iconst(&b, 0), count, lanes, 0);
  hlo_vir_value_t* x = load(&b, kernel->from, lanes, p[0], index);
  hlo_vir_value_t* y = load(&b, kernel->from, lanes, p[1], index);
  hlo_vir_value_t* result = kernel->body(&b, kernel->context, x, y);
  assert_non_null(result);
  assert_int_equal(result->type.elem, hlo_vmath_type(kernel->to, lanes).elem);
  assert_int_equal(result->type.lanes, lanes);
  hlo_vir_value_t* stored[] = {hlo_vmath_to_memory(&b, kernel->to, result), p[2], index};
  hlo_vir_emit(&b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), scale_of(kernel->to), 0, 3,
               stored);
  hlo_vir_end(&b);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  return module;
}

static uint32_t max_u32(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

// Lanes such that both the operands' and the result's register forms fit.
static uint32_t lanes_of(const kernel_t* kernel, uint32_t vector_bytes) {
  uint32_t bits = max_u32(hlo_vir_elem_bits((hlo_vir_elem_t)hlo_vmath_type(kernel->from, 1).elem),
                          hlo_vir_elem_bits((hlo_vir_elem_t)hlo_vmath_type(kernel->to, 1).elem));
  return bits == 0 ? 8 : 8 * vector_bytes / bits;
}

static void check_status(hlo_status_t status) {
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static void interpret(const hlo_vir_module_t* module, const void* x, const void* y, void* out) {
  const uint64_t params[PARAMS] = {(uintptr_t)x, (uintptr_t)y, (uintptr_t)out};
  const hlo_vir_interp_options_t options = {.check_memory = false};
  int32_t answer = -1;
  check_status(hlo_vir_interp_run(module->first_func, params, &options, &answer));
  assert_int_equal(answer, 0);
}

typedef int32_t (*code_t)(const void* x, const void* y, void* out);

static void execute(const hlo_vir_module_t* module, const hlo_target_t* target, const void* x,
                    const void* y, void* out) {
  hlo_code_t code = {0};
  hlo_jit_t* jit = NULL;
  check_status(hlo_x86_compile(module, target, &code));
  check_status(hlo_jit_load(&code, "math", NULL, &jit));
  assert_int_equal(((code_t)(uintptr_t)hlo_jit_address(jit, 0))(x, y, out), 0);
  hlo_jit_release(jit);
  hlo_code_deinit(&code);
}

static bool is_nan(hlo_dtype_t dtype, const void* element) {
  return hlo_dtype_is_float(dtype) && isnan(hlo_dtype_load_double(dtype, element));
}

static void assert_same(const char* what, hlo_dtype_t from, const uint8_t* x, hlo_dtype_t to,
                        const uint8_t* got, const uint8_t* want) {
  const size_t width = hlo_dtype_size_bytes(to);
  for (size_t i = 0; i < COUNT; ++i, got += width, want += width) {
    if (memcmp(got, want, width) == 0 || (is_nan(to, got) && is_nan(to, want))) continue;
    fail_msg("%s of %s %a: %a, not %a", what, hlo_dtype_info(from)->name,
             hlo_dtype_load_double(from, x + i * hlo_dtype_size_bytes(from)),
             hlo_dtype_load_double(to, got), hlo_dtype_load_double(to, want));
  }
}

// The machines that this one can be, widest last.
static hlo_target_t targets[2];
static size_t target_count;

static int find_targets(void** state) {
  static const char* const names[] = {"avx2", "avx512"};
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    hlo_cpu_t cpu;
    hlo_status_t status = hlo_cpu_detect(names[i], &cpu);
    if (hlo_status_is_ok(status)) hlo_target_init(&cpu, &targets[target_count]);
    target_count += hlo_status_is_ok(status) && targets[target_count].has_encoder;
    hlo_status_release(status);
  }
  return 0;
}

// In the interpreter, and the same bits as machine code. vector_bytes 0: one lane.
static void run(const kernel_t* kernel, uint32_t vector_bytes, const void* x, const void* y,
                void* out) {
  static _Alignas(64) uint8_t code_out[8 * COUNT];
  const uint32_t lanes = vector_bytes ? lanes_of(kernel, vector_bytes) : 1;
  hlo_vir_module_t* module = build(kernel, lanes);
  check_status(hlo_vir_verify(module, max_u32(vector_bytes, 8)));
  interpret(module, x, y, out);
  for (size_t i = 0; i < target_count; ++i) {
    if (targets[i].vector_bytes < vector_bytes) continue;
    execute(module, &targets[i], x, y, code_out);
    assert_same("machine code", kernel->from, x, kernel->to, code_out, out);
  }
  hlo_vir_module_release(module);
}

// ---- operands -----------------------------------------------------------------------------------

static uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state * 0x2545f4914f6cdd1dull;
}

// Floats that matter, as doubles.
static const double edges[] = {0,
                               1,
                               0.5,
                               0x1.fffffep-2,
                               1.5,
                               2,
                               2.5,
                               3,
                               4,
                               5,
                               6,
                               7,
                               7.5,
                               28,
                               30,
                               127.5,
                               128,
                               129,
                               240,
                               247.9,
                               248,
                               255.5,
                               256,
                               448,
                               464,
                               480,
                               57344,
                               61440,
                               65504,
                               65519,
                               65520,
                               0x1p31,
                               0x1.fffffffcp30,
                               0x1p32,
                               0x1.fffffffcp31,
                               0x1p52,
                               0x1p63,
                               0x1p64,
                               0x1p-24,
                               0x1p-127,
                               0x1p-126,
                               0x1p-149,
                               0x1.8p-150,
                               0x1p-1022,
                               0x1p-1074,
                               87.34,
                               88.73,
                               103.98,
                               708.4,
                               709.79,
                               710.4758,
                               745.14,
                               0x1.fffffep127,
                               0x1.fffffffffffffp1023,
                               INFINITY,
                               NAN};
enum { EDGES = 2 * sizeof edges / sizeof edges[0] };

static double edge(size_t i) {
  const double value = edges[i / 2 % (sizeof edges / sizeof edges[0])];
  return i % 2 ? -value : value;
}

// A random float: any bits, moderate size, few bits, or next to a number with few bits.
static double random_float(uint64_t* state, bool is_f64) {
  const uint64_t random = next_random(state);
  uint64_t bits = is_f64 ? random : random >> 32;
  double wide;
  float narrow;
  if (random % 4 != 0) {
    const int64_t few = (int64_t)(random >> 8 & 0x1fff) - 0x1000;
    wide = ldexp((double)few, (int)(random >> 40 & 63) - 44);
    narrow = (float)wide;
    uint32_t narrow_bits;
    memcpy(&bits, &wide, sizeof bits);
    memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    if (!is_f64) bits = narrow_bits;
    bits += random % 4 == 2 ? random >> 30 & 1 : 0;
    bits -= random % 4 == 3 ? random >> 31 & 1 : 0;
  }
  const uint32_t low = (uint32_t)bits;
  memcpy(&wide, &bits, sizeof wide);
  memcpy(&narrow, &low, sizeof narrow);
  return is_f64 ? wide : (double)narrow;
}

static int64_t random_integer(uint64_t* state) {
  const uint64_t random = next_random(state);
  const int64_t power = (int64_t)((1ull << (random >> 8 & 63)) + (random >> 16 & 3) - 1);
  switch (random % 4) {
    case 0: return (int64_t)next_random(state);
    case 1: return (int64_t)(next_random(state)) >> (random >> 8 & 63);
    case 2: return random & 4 ? (int64_t)(0 - (uint64_t)power) : power;
    default:
      return (int64_t)((random >> 20 & 0x1ff) << (random >> 8 & 31)) + (int64_t)(random >> 40 & 1);
  }
}

// Elements in memory; all of them for types of at most 8 bits, a part for those of 16.
static void fill(hlo_dtype_t dtype, uint64_t seed, void* out) {
  const size_t width = hlo_dtype_size_bytes(dtype);
  const unsigned bits = hlo_dtype_info(dtype)->bits;
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 1;
  uint8_t* at = out;
  for (size_t i = 0; i < COUNT; ++i, at += width) {
    if (hlo_dtype_is_float(dtype) && width >= 4) {
      const double value = i < EDGES ? edge(i) : random_float(&state, width == 8);
      hlo_dtype_store_double(dtype, at, value);
    } else if (width >= 4) {
      hlo_dtype_store_int64(dtype, at, random_integer(&state));
    } else {
      const uint64_t code = width == 1 ? i * seed + (i >> 8) : i * 17 * seed;
      const uint64_t kept = code & ((1u << bits) - 1u);
      const uint64_t sign = hlo_dtype_is_signed(dtype) ? ~0ull << (bits - 1) : 0;
      const uint64_t extended = kept & sign ? kept | sign : kept;
      memcpy(at, &extended, width);
    }
  }
}

static _Alignas(64) uint8_t x_data[8 * COUNT], y_data[8 * COUNT], out_data[8 * COUNT],
    want_data[8 * COUNT];

// The second operand: any of the first ones, often special ones or the same.
static void fill_second(hlo_dtype_t dtype) {
  const size_t width = hlo_dtype_size_bytes(dtype);
  uint64_t state = 7;
  for (size_t i = 0; i < COUNT; ++i) {
    const uint64_t random = next_random(&state);
    const size_t j = random & 1 ? random >> 8 & 127 : random >> 8 & (COUNT - 1);
    memcpy(y_data + i * width, x_data + (random & 6 ? j : i) * width, width);
  }
}

static const uint32_t widths[] = {0, 16, 32, 64};

// ---- conversions --------------------------------------------------------------------------------

static hlo_vir_value_t* convert_body(hlo_vir_builder_t* b, const void* context, hlo_vir_value_t* x,
                                     hlo_vir_value_t* y) {
  const kernel_t* kernel = context;
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
      kernel_t kernel = {(hlo_dtype_t)from, (hlo_dtype_t)to, convert_body, &kernel};
      fill(kernel.from, 3, x_data);
      hlo_dtype_convert(kernel.from, x_data, kernel.to, want_data, COUNT);
      run(&kernel, widths[(from + to) % 4], x_data, x_data, out_data);
      assert_same(hlo_dtype_info(kernel.to)->name, kernel.from, x_data, kernel.to, out_data,
                  want_data);
    }
  }
}

// ---- ops ----------------------------------------------------------------------------------------

typedef struct op_case {
  hlo_op_t op;
  hlo_dtype_t dtype;
} op_case_t;

static hlo_vir_value_t* op_body(hlo_vir_builder_t* b, const void* context, hlo_vir_value_t* x,
                                hlo_vir_value_t* y) {
  const op_case_t* c = context;
  return hlo_vmath_emit(b, c->op, c->dtype, x, y);
}

// Largest errors as in math.def, by op; 0: as the reference.
static const double f32_ulps[HLO_OP_COUNT] = {
#define HLO_VMATH(op, operands, f32, f32_ulps, f64_ulps) [HLO_OP_##op] = f32_ulps,
#include "codegen/math/math.def"
};
static const double f64_ulps[HLO_OP_COUNT] = {
#define HLO_VMATH(op, operands, f32, f32_ulps, f64_ulps) [HLO_OP_##op] = f64_ulps,
#include "codegen/math/math.def"
};

static hlo_dtype_t result_of(hlo_op_t op, hlo_dtype_t dtype) {
  const bool is_question = op == HLO_OP_is_finite || op == HLO_OP_chlo_is_inf ||
                           op == HLO_OP_chlo_is_pos_inf || op == HLO_OP_chlo_is_neg_inf;
  return is_question ? HLO_DTYPE_PRED : dtype;
}

static void exact_op(hlo_op_t op, hlo_dtype_t dtype, uint32_t vector_bytes) {
  const op_case_t c = {op, dtype};
  const kernel_t kernel = {dtype, result_of(op, dtype), op_body, &c};
  fill(dtype, 3, x_data);
  fill_second(dtype);
  const hlo_loop_fn_t reference = hlo_ref_loop(op, dtype);
  assert_non_null(reference);
  reference((const void*[]){x_data, y_data}, want_data, COUNT);
  run(&kernel, vector_bytes, x_data, y_data, out_data);
  assert_same(hlo_op_info(op)->name, dtype, x_data, kernel.to, out_data, want_data);
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

// ---- functions ----------------------------------------------------------------------------------

static long double logistic(long double x) {
  const long double e = expl(-fabsl(x));
  return (x < 0 ? e : 1) / (1 + e);
}
static long double inverse_root(long double x) {
  return 1 / sqrtl(x);
}

static long double digamma(long double x) {
  return hlo_math_digamma((double)x);
}
// The reference's value, improved by a Newton step.
static long double inverse_erf(long double x) {
  const long double y = hlo_math_erf_inv((double)x), size = fabsl(x);
  if (!(size < 1) || x == 0) return y;
  const long double two_over_root_pi = 1.128379167095512573896158903121545L;
  const long double excess = size < 0.5L ? erfl(y) - x : copysignl((1 - size) - erfcl(fabsl(y)), x);
  return y - excess / (two_over_root_pi * expl(-y * y));
}

typedef long double (*plain_t)(long double x);
static const plain_t plain[HLO_OP_COUNT] = {
    [HLO_OP_cbrt] = cbrtl,
    [HLO_OP_chlo_acos] = acosl,
    [HLO_OP_chlo_acosh] = acoshl,
    [HLO_OP_chlo_asin] = asinl,
    [HLO_OP_chlo_asinh] = asinhl,
    [HLO_OP_chlo_atan] = atanl,
    [HLO_OP_chlo_atanh] = atanhl,
    [HLO_OP_chlo_cosh] = coshl,
    [HLO_OP_chlo_digamma] = digamma,
    [HLO_OP_chlo_erf] = erfl,
    [HLO_OP_chlo_erf_inv] = inverse_erf,
    [HLO_OP_chlo_erfc] = erfcl,
    [HLO_OP_chlo_lgamma] = lgammal,
    [HLO_OP_chlo_sinh] = sinhl,
    [HLO_OP_chlo_tan] = tanl,
    [HLO_OP_cosine] = cosl,
    [HLO_OP_exponential] = expl,
    [HLO_OP_exponential_minus_one] = expm1l,
    [HLO_OP_log] = logl,
    [HLO_OP_log_plus_one] = log1pl,
    [HLO_OP_logistic] = logistic,
    [HLO_OP_rsqrt] = inverse_root,
    [HLO_OP_sine] = sinl,
    [HLO_OP_tan] = tanl,
    [HLO_OP_tanh] = tanhl,
};

/// A float format: the exponents of its last place.
typedef struct format {
  int digits, lowest;      // of the last place of subnormal numbers
  double overflow, place;  // the first value that is infinite, and its last place
} format_t;
static const format_t f32_format = {24, -149, 0x1p128, 0x1p104};
static const format_t f64_format = {53, -1074, INFINITY, 0x1p971};

// Distance in units of the last place; the number beyond the largest one stands for infinity.
static double ulps(double got, long double want, const format_t* f) {
  const double rounded = f->digits == 24 ? (double)(float)want : (double)want;
  if (isnan(rounded) || isnan(got)) return isnan(rounded) && isnan(got) ? 0 : INFINITY;
  if (rounded == got && (got != 0 || signbit(got) == signbit(rounded))) {
    if (got == 0 || isinf(got)) return 0;
  } else if (isinf(rounded) || isinf(got)) {
    const long double first = ldexpl(1, f->digits == 24 ? 128 : 1024);
    const long double a = isinf(got) ? copysignl(first, got) : (long double)got;
    const long double c = isinf(rounded) ? copysignl(first, rounded) : want;
    return (double)(fabsl(a - c) / f->place);
  } else if (got == 0 && rounded == 0) {
    return INFINITY;  // the sign
  }
  int exponent;
  (void)frexpl(want, &exponent);
  const int place = exponent - f->digits < f->lowest ? f->lowest : exponent - f->digits;
  return (double)(fabsl(got - want) / ldexpl(1, place));
}

typedef long double (*plain_2_t)(long double x, long double y);
static const plain_2_t plain_2[HLO_OP_COUNT] = {
    [HLO_OP_atan2] = atan2l,
    [HLO_OP_power] = powl,
};

static bool is_function(int op, hlo_dtype_t dtype) {
  return f32_ulps[op] > 0 && hlo_vmath_has((hlo_op_t)op, dtype) && (plain[op] || plain_2[op]);
}

static void check_results(hlo_op_t op, hlo_dtype_t dtype) {
  const bool is_f64 = dtype == HLO_DTYPE_F64;
  const double bound = is_f64 ? f64_ulps[op] : f32_ulps[op];
  const size_t width = hlo_dtype_size_bytes(dtype);
  for (size_t i = 0; i < COUNT; ++i) {
    const double x = hlo_dtype_load_double(dtype, x_data + i * width);
    const double y = hlo_dtype_load_double(dtype, y_data + i * width);
    const double got = hlo_dtype_load_double(dtype, out_data + i * width);
    const long double want = plain[op] ? plain[op]((long double)x) : plain_2[op](x, y);
    const double error = ulps(got, want, is_f64 ? &f64_format : &f32_format);
    if (!(error <= bound)) {
      fail_msg("%s %s(%a, %a) is %a, not %La: %g ulps", hlo_dtype_info(dtype)->name,
               hlo_op_info(op)->name, x, y, got, want, error);
    }
  }
}

static void check_function(hlo_op_t op, hlo_dtype_t dtype, uint32_t vector_bytes) {
  const op_case_t c = {op, dtype};
  const kernel_t kernel = {dtype, dtype, op_body, &c};
  fill_second(dtype);
  run(&kernel, vector_bytes, x_data, y_data, out_data);
  check_results(op, dtype);
}

// Arguments of every size, and more of a size near 1.
static void fill_arguments(hlo_dtype_t dtype, unsigned part) {
  uint64_t state = 11 + part;
  for (size_t i = 0; i < COUNT; ++i) {
    const uint64_t random = next_random(&state);
    double value = ldexp((double)(int64_t)random, (int)(random & 15) - 70);
    if (part == 0) value = i < EDGES ? edge(i) : random_float(&state, dtype == HLO_DTYPE_F64);
    hlo_dtype_store_double(dtype, x_data + i * hlo_dtype_size_bytes(dtype), value);
  }
}

// Where the errors found by sweeping all of f32 were largest.
static const float worst_arguments[] = {
    -0x1.0a111ap+2f, -0x1.b976fp+1f, 0x1.08f028p-1f,  0x1.21090ap+0f,   0x1.fffdp-1f,
    0x1.ab85cep+4f,  0x1.8996aap-2f, 0x1.90809ep+0f,  0x1.a92e2ep-2f,   -0x1.d1ee6cp+16f,
    -0x1.2be134p-2f, 0x1.24f974p-2f, -0x1.1abf98p+0f, 0x1.038c3ap-126f, -0x1.1e978ap-6f};

static void worst_errors_stay_within(void** state) {
  (void)state;
  const size_t count = sizeof worst_arguments / sizeof *worst_arguments;
  for (size_t i = 0; i < COUNT; ++i) {
    memcpy(x_data + i * sizeof(float), &worst_arguments[i % count], sizeof(float));
  }
  for (int op = 0; op < HLO_OP_COUNT; ++op) {
    if (is_function(op, HLO_DTYPE_F32)) check_function((hlo_op_t)op, HLO_DTYPE_F32, WIDEST);
  }
}

static void functions_are_accurate(void** state) {
  (void)state;
  enum { PARTS = 3 };
  static const hlo_dtype_t dtypes[] = {HLO_DTYPE_F32, HLO_DTYPE_F64};
  for (unsigned part = 0; part < PARTS; ++part) {
    for (int d = 0; d < 2; ++d) {
      fill_arguments(dtypes[d], part);
      for (int op = 0; op < HLO_OP_COUNT; ++op) {
        if (is_function(op, dtypes[d])) {
          check_function((hlo_op_t)op, dtypes[d], widths[(op + part) % 4]);
        }
      }
    }
  }
}

// Every float of 16 bits as an argument.
static void narrow_arguments_are_accurate(void** state) {
  (void)state;
  for (int d = 0; d < 2; ++d) {
    for (uint32_t first = 0; first < 0x10000; first += COUNT) {
      for (uint32_t i = 0; i < COUNT; ++i) {
        const uint16_t code = (uint16_t)(first + i);
        const float value = d == 0 ? hlo_f16_to_f32(code) : hlo_bf16_to_f32(code);
        memcpy(x_data + 4 * i, &value, sizeof value);
      }
      for (int op = 0; op < HLO_OP_COUNT; ++op) {
        if (is_function(op, HLO_DTYPE_F32)) check_function((hlo_op_t)op, HLO_DTYPE_F32, WIDEST);
      }
    }
  }
}

// f32 arguments over all bit patterns, each some steps after the one before: HLO_MATH_TEST_STRIDE,
// 1 for all of them.
static void swept_arguments_are_accurate(void** state) {
  (void)state;
  const char* text = getenv("HLO_MATH_TEST_STRIDE");
  const uint64_t stride = text ? strtoull(text, NULL, 10) : 130000;
  if (target_count == 0 || stride == 0) return;
  const hlo_target_t* target = &targets[target_count - 1];
  for (int op = 0; op < HLO_OP_COUNT; ++op) {
    if (!is_function(op, HLO_DTYPE_F32) || !plain[op]) continue;
    const op_case_t c = {(hlo_op_t)op, HLO_DTYPE_F32};
    const kernel_t kernel = {HLO_DTYPE_F32, HLO_DTYPE_F32, op_body, &c};
    hlo_vir_module_t* module = build(&kernel, lanes_of(&kernel, target->vector_bytes));
    hlo_code_t code = {0};
    hlo_jit_t* jit = NULL;
    check_status(hlo_x86_compile(module, target, &code));
    check_status(hlo_jit_load(&code, "math", NULL, &jit));
    const code_t function = (code_t)(uintptr_t)hlo_jit_address(jit, 0);
    for (uint64_t pattern = 0; pattern <= UINT32_MAX;) {
      for (size_t i = 0; i < COUNT; ++i, pattern += stride) {  // wraps in the last block
        memcpy(x_data + 4 * i, &pattern, sizeof(float));
      }
      assert_int_equal(function(x_data, x_data, out_data), 0);
      check_results((hlo_op_t)op, HLO_DTYPE_F32);
    }
    hlo_jit_release(jit);
    hlo_code_deinit(&code);
    hlo_vir_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conversions_are_exact),
      cmocka_unit_test(exact_ops_match_the_reference),
      cmocka_unit_test(worst_errors_stay_within),
      cmocka_unit_test(functions_are_accurate),
      cmocka_unit_test(narrow_arguments_are_accurate),
      cmocka_unit_test(swept_arguments_are_accurate),
  };
  return cmocka_run_group_tests(tests, find_targets, NULL);
}
