// SPDX-License-Identifier: Apache-2.0
// Compares complex functions expanded into ops of reals with the original op in the reference
// interpreter: over all pairs of special values, magnitudes of the whole range, arguments where
// terms cancel, and multiples of pi.
#include <complex.h>
#include <float.h>
#include <math.h>

#include "base/fpenv.h"
#include "interp/program.h"
#include "ir/test_util.h"
#include "passes/complex_parts.h"

enum { SAMPLES = 40000, PARTS_MAX = 4 };

typedef struct function {
  hlo_op_t op;
  double narrow_ulps, wide_ulps, wide_part_ulps;
} function_t;

static const function_t functions[] = {
#define HLO_COMPLEX_FUNCTION(op, name, ...) {HLO_OP_##op, __VA_ARGS__},
#include "passes/complex_functions.def"
#undef HLO_COMPLEX_FUNCTION
};

// ---- samples

static const double specials[] = {
    0.0,     -0.0,    INFINITY, -INFINITY, NAN,      1,          -1,   0.5,    -2,     M_PI,
    M_PI_2,  -M_PI_4, 1e-3,     88.8,      -104,     710,        -745, 5e-324, -1e-45, 1e-40,
    -1e-310, 2e-308,  1.2e-38,  -1e-20,    1e-160,   3e-5,       1e5,  -1e10,  1e19,   -1e30,
    3.4e38,  1e160,   -1e200,   1.79e308,  -1.7e308, 0.70710678, -0.6, 0.8,    30};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

static uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 11 ^ *state << 43;
}
static double uniform(uint64_t* state) {
  return (double)(next_random(state) >> 11) * 0x1p-53;
}

static double any_number(uint64_t* random, bool is_wide) {
  const double sign = next_random(random) & 4 ? 1 : -1, u = uniform(random);
  const double range = is_wide ? 1070 : 147;
  switch (next_random(random) % 8) {
    case 0: return specials[next_random(random) % SPECIALS];
    case 1: return sign * exp2((2 * u - 1) * range);
    case 2: return sign * exp2((2 * u - 1) * 20);
    case 3: return sign * (1 + (u - 0.5) * exp2(-50 * uniform(random)));
    case 4: return sign * M_PI_4 * floor(u * 16);
    default: return sign * 4 * u;
  }
}

// Fills in the real and imaginary part, and those of a second operand.
static void fill_sample(int64_t i, bool is_wide, uint64_t* random, double parts[PARTS_MAX]) {
  for (int k = 0; k < PARTS_MAX; ++k) parts[k] = any_number(random, is_wide);
  if (i < SPECIALS * SPECIALS) {
    parts[0] = specials[i % SPECIALS];
    parts[1] = specials[i / SPECIALS];
  } else if (i % 8 == 0) {  // of modulus 1, or at distance 1 from -1
    const double angle = uniform(random) * 7;
    parts[0] = cos(angle) - (i % 16 == 0);
    parts[1] = sin(angle);
  } else if (i % 8 == 1) {  // both parts of similar magnitude
    parts[1] = parts[0] * (4 * uniform(random) - 2);
    parts[3] = parts[2] * (4 * uniform(random) - 2);
  }
}

// ---- modules

// Builds a function of one or two complex numbers whose parts are the arguments.
static hlo_module_t* module_of(hlo_op_t op, bool is_wide) {
  const uint32_t operand_count = hlo_op_info(op)->operand_count;
  hlo_module_t* module = NULL;
  hlo_test_check(hlo_module_create(0, &module));
  const int64_t count = SAMPLES;
  const hlo_dtype_t part = is_wide ? HLO_DTYPE_F64 : HLO_DTYPE_F32;
  const hlo_type_t* real = hlo_type_tensor(module, part, 1, &count);
  const hlo_type_t* whole =
      hlo_type_tensor(module, is_wide ? HLO_DTYPE_C128 : HLO_DTYPE_C64, 1, &count);
  const hlo_type_t* type = hlo_type_function(module, 0, NULL, 1, &real);
  hlo_func_t* func = hlo_func_create(module, "main", type, HLO_PUBLIC, true, 0);
  hlo_value_t* numbers[2];
  for (uint32_t i = 0; i < operand_count; ++i) {
    hlo_value_t* parts[2] = {hlo_region_add_arg(func->body, real),
                             hlo_region_add_arg(func->body, real)};
    hlo_node_t* node = hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_complex,
                                                                  .operand_count = 2,
                                                                  .operands = parts,
                                                                  .result_count = 1,
                                                                  .result_types = &whole});
    hlo_region_append(func->body, node);
    numbers[i] = &node->results[0];
  }
  const hlo_type_t* result = op == HLO_OP_abs ? real : whole;
  hlo_node_t* node = hlo_node_create(module, &(hlo_node_spec_t){.op = op,
                                                                .operand_count = operand_count,
                                                                .operands = numbers,
                                                                .result_count = 1,
                                                                .result_types = &result});
  hlo_region_append(func->body, node);
  hlo_value_t* value = &node->results[0];
  hlo_region_append(func->body, hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_func_return,
                                                                           .operand_count = 1,
                                                                           .operands = &value}));
  hlo_func_update_type(func);
  return module;
}

// Replaces the function with ops of reals.
static void expand_function(hlo_module_t* module) {
  hlo_region_t* body = hlo_module_entry(module)->body;
  hlo_node_t* node = hlo_node_operand(body->last, 0)->def;
  hlo_parts_t operands[2];
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = (hlo_parts_t){body->args[2 * i], body->args[2 * i + 1]};
  }
  const hlo_parts_t parts = hlo_complex_function(node, operands);
  assert_non_null(parts.re);
  hlo_value_t* both[] = {parts.re, parts.im};
  hlo_value_t* value =
      parts.im ? hlo_build_node(node, HLO_OP_complex, node->results[0].type, 2, both, 0, NULL)
               : parts.re;
  hlo_value_replace_uses(&node->results[0], value);
  hlo_node_erase(node);
  hlo_diag_t diag;
  hlo_diag_init(&diag, "expanded", NULL, 0);
  hlo_test_check(hlo_module_verify(module, &diag));
  hlo_diag_deinit(&diag);
}

static hlo_tensor_t* evaluate(const hlo_module_t* module, hlo_tensor_t* const* inputs) {
  hlo_interp_program_t* program = NULL;
  hlo_test_check(hlo_interp_program_create(module, &program));
  const hlo_func_t* entry = hlo_module_entry(module);
  hlo_tensor_t* output = NULL;
  hlo_fp_state_t before = hlo_fp_enter(HLO_SUBNORMALS_KEEP);
  hlo_test_check(
      hlo_interp_call(program, entry, entry->type->input_count, inputs, 1, &output, NULL));
  hlo_fp_leave(before);
  hlo_interp_program_release(program);
  return output;
}

// ---- comparison

// Returns the distance between adjacent numbers of the format near x.
static double ulp(double x, bool is_wide) {
  const int bits = is_wide ? DBL_MANT_DIG : FLT_MANT_DIG;
  const int least = is_wide ? DBL_MIN_EXP : FLT_MIN_EXP;
  int exponent;
  frexp(x, &exponent);
  return ldexp(1, (x == 0 || exponent < least ? least : exponent) - bits);
}

// Returns the error of a part in units of `unit`. NaN is accepted next to NaN and infinities; the
// sign of a zero is ignored.
static double part_error(double value, double expected, double other, double unit, double limit) {
  if (isnan(value) || isnan(expected)) {
    return isnan(value) == isnan(expected) || !isfinite(other) ? 0 : INFINITY;
  }
  const double x = fmin(fmax(value, -limit), limit);  // infinity is adjacent to the largest number
  const double y = fmin(fmax(expected, -limit), limit);
  return fabs(x - y) / unit;
}

// The largest errors in units of the last place: of each part, and of the larger part.
typedef struct errors {
  double part, whole;
  int64_t worst_part, worst;
} errors_t;

static double load_part(const hlo_tensor_t* tensor, int64_t i) {
  const hlo_dtype_t part = hlo_dtype_info(tensor->dtype)->part;
  const char* at = (const char*)tensor->data + (size_t)i * hlo_dtype_size_bytes(part);
  return hlo_dtype_load_double(part, at);
}

// Returns the factor for the error bounds of power.
static double error_scale(hlo_tensor_t* const* inputs, int64_t i) {
  const double w = hypot(load_part(inputs[2], i), load_part(inputs[3], i));
  const double re = log(hypot(load_part(inputs[0], i), load_part(inputs[1], i)));
  const double im = atan2(load_part(inputs[1], i), load_part(inputs[0], i));
  return 1 + w * hypot(re, im);
}

// A part that is negligible next to the other one counts as if it had this magnitude.
static const double LEAST_PART = 0x1p-400;

static errors_t compare(hlo_op_t op, bool is_wide, hlo_tensor_t* const* inputs,
                        const hlo_tensor_t* tensor, const hlo_tensor_t* expected) {
  errors_t errors = {0};
  const int64_t width = hlo_dtype_is_complex(tensor->dtype) ? 2 : 1;
  for (int64_t i = 0; i < SAMPLES; ++i) {
    double x[2] = {0}, y[2] = {0};
    for (int64_t k = 0; k < width; ++k) {
      x[k] = load_part(tensor, i * width + k);
      y[k] = load_part(expected, i * width + k);
    }
    const double limit = is_wide ? DBL_MAX : FLT_MAX;
    const bool is_scaled = op == HLO_OP_power;
    const double times = is_scaled ? error_scale(inputs, i) : 1;
    if (is_scaled && !(times < 1e300)) continue;  // products with logarithms overflow
    const double size = fmax(fabs(y[0]), fabs(y[1]));
    for (int64_t k = 0; k < width; ++k) {
      const double part_size =
          fmin(fmax(fabs(y[k]), isfinite(size) ? size * LEAST_PART : 0), limit);
      const double part = part_error(x[k], y[k], y[1 - k], times * ulp(part_size, is_wide), limit);
      // next to an infinity every finite number is negligible
      const double unit = isfinite(size) ? times * ulp(size, is_wide) : INFINITY;
      const double whole = part_error(x[k], y[k], y[1 - k], unit, limit);
      if (part > errors.part) errors.part = part, errors.worst_part = i;
      if (whole > errors.whole) errors.whole = whole, errors.worst = i;
    }
  }
  return errors;
}

static void make_inputs(bool is_wide, hlo_tensor_t* inputs[PARTS_MAX]) {
  const int64_t count = SAMPLES;
  const hlo_dtype_t part = is_wide ? HLO_DTYPE_F64 : HLO_DTYPE_F32;
  const size_t width = hlo_dtype_size_bytes(part);
  for (int k = 0; k < PARTS_MAX; ++k)
    hlo_test_check(hlo_tensor_create(part, 1, &count, &inputs[k]));
  uint64_t random = 1;
  for (int64_t i = 0; i < SAMPLES; ++i) {
    double parts[PARTS_MAX];
    fill_sample(i, is_wide, &random, parts);
    for (int k = 0; k < PARTS_MAX; ++k) {
      hlo_dtype_store_double(part, (char*)inputs[k]->data + (size_t)i * width, parts[k]);
    }
  }
}

static void print_at(const char* what, hlo_tensor_t* const* tensors, int count, int64_t i) {
  print_error("  %s:", what);
  for (int k = 0; k < count; ++k) {
    const int64_t width = hlo_dtype_is_complex(tensors[k]->dtype) ? 2 : 1;
    for (int64_t j = 0; j < width; ++j) print_error(" %.17g", load_part(tensors[k], i * width + j));
  }
  print_error("\n");
}

static void check_errors(const function_t* function, bool is_wide, const errors_t* errors,
                         hlo_tensor_t* const* inputs, hlo_tensor_t* tensor,
                         hlo_tensor_t* expected) {
  const double whole = is_wide ? function->wide_ulps : function->narrow_ulps;
  const double part = is_wide ? function->wide_part_ulps : function->narrow_ulps;
  if (errors->whole <= whole && (errors->part <= part || part == 0)) return;
  const int64_t i = errors->whole > whole ? errors->worst : errors->worst_part;
  print_at("parts", inputs, PARTS_MAX, i);
  print_at("value", &tensor, 1, i);
  print_at("expected", &expected, 1, i);
  fail_msg("%s of %s: %g units of the last place, %g of each part", hlo_op_info(function->op)->name,
           is_wide ? "c128" : "c64", errors->whole, errors->part);
}

static void check_function(const function_t* function, bool is_wide) {
  hlo_tensor_t* inputs[PARTS_MAX];
  make_inputs(is_wide, inputs);
  hlo_module_t* module = module_of(function->op, is_wide);
  hlo_tensor_t* expected = evaluate(module, inputs);
  expand_function(module);
  hlo_tensor_t* tensor = evaluate(module, inputs);
  const errors_t errors = compare(function->op, is_wide, inputs, tensor, expected);
  check_errors(function, is_wide, &errors, inputs, tensor, expected);
  hlo_tensor_release(tensor);
  hlo_tensor_release(expected);
  for (int k = 0; k < PARTS_MAX; ++k) hlo_tensor_release(inputs[k]);
  hlo_module_release(module);
}

static void test_functions(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    check_function(&functions[i], false);
    check_function(&functions[i], true);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
