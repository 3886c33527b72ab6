// SPDX-License-Identifier: Apache-2.0
// Compares the formulas of functions with the functions of the reference, in the reference
// interpreter: special values, the whole range, integers and where the functions have zeros.
#include <float.h>
#include <math.h>

#include "base/fpenv.h"
#include "interp/program.h"
#include "ir/test_util.h"
#include "passes/expand.h"

enum { SAMPLES = 30000 };

/// Errors in units of the last place of the result. Where terms cancel, as beside zeros of negative
/// arguments, the unit is that of `least` at least.
typedef struct function {
  hlo_op_t op;
  double ulps, least;
} function_t;

static const function_t functions[] = {
    {HLO_OP_chlo_bessel_i1e, 6, 0},   {HLO_OP_chlo_digamma, 8, 2}, {HLO_OP_chlo_lgamma, 8, 2},
    {HLO_OP_chlo_polygamma, 32, 1e3}, {HLO_OP_chlo_zeta, 16, 1},
};

static const double specials[] = {0.0,    -0.0,  INFINITY, -INFINITY, NAN,    1,      2,     3,
                                  -1,     -2,    0.5,      -0.5,      5e-324, 1e-300, 1e-10, -1e-10,
                                  1.4616, 12,    11.999,   2.5e305,   1e308,  -1e300, 1e16,  -2.457,
                                  171,    200.5, 8,        8.5,       170,    63,     1e5,   9};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

static uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 11 ^ *state << 43;
}
static double uniform(uint64_t* state) {
  return (double)(next_random(state) >> 11) * 0x1p-53;
}

static double any_number(uint64_t* random) {
  const double u = uniform(random);
  switch (next_random(random) % 8) {
    case 0: return specials[next_random(random) % SPECIALS];
    case 1: return (next_random(random) & 4 ? 1 : -1) * exp2((2 * u - 1) * 1020);
    case 2: return floor(u * 40) - 8;
    case 3: return 1 + floor(u * 3) + (u - 0.5) * exp2(-50 * uniform(random));
    case 4: return -30 * u;
    case 5: return 300 * u;
    default: return 16 * u;
  }
}

static double sample(int64_t i, uint32_t operand, uint64_t* random) {
  const double value = any_number(random);
  if (i >= SPECIALS * SPECIALS) return value;
  return specials[operand ? i / SPECIALS : i % SPECIALS];
}

static hlo_module_t* module_of(hlo_op_t op, hlo_dtype_t dtype) {
  const uint32_t operand_count = hlo_op_info(op)->operand_count;
  hlo_module_t* module = NULL;
  hlo_test_check(hlo_module_create(0, &module));
  const int64_t count = SAMPLES;
  const hlo_type_t* type = hlo_type_tensor(module, dtype, 1, &count);
  hlo_func_t* func = hlo_func_create(module, "main", hlo_type_function(module, 0, NULL, 1, &type),
                                     HLO_PUBLIC, true, 0);
  hlo_value_t* operands[2];
  for (uint32_t i = 0; i < operand_count; ++i) operands[i] = hlo_region_add_arg(func->body, type);
  hlo_node_t* node = hlo_node_create(module, &(hlo_node_spec_t){.op = op,
                                                                .operand_count = operand_count,
                                                                .operands = operands,
                                                                .result_count = 1,
                                                                .result_types = &type});
  hlo_region_append(func->body, node);
  hlo_value_t* value = &node->results[0];
  hlo_region_append(func->body, hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_func_return,
                                                                           .operand_count = 1,
                                                                           .operands = &value}));
  hlo_func_update_type(func);
  return module;
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

static bool is_computed(const hlo_node_t* node) {
  return node->op == HLO_OP_reduce;
}

static double load(const hlo_tensor_t* tensor, int64_t i) {
  const char* at = (const char*)tensor->data + (size_t)i * hlo_dtype_size_bytes(tensor->dtype);
  return hlo_dtype_load_double(tensor->dtype, at);
}

// Returns the error in units of the last place.
static double error_of(const function_t* function, hlo_dtype_t dtype, double found,
                       double expected) {
  if (isnan(found) || isnan(expected)) return isnan(found) == isnan(expected) ? 0 : INFINITY;
  const bool is_wide = dtype == HLO_DTYPE_F64;
  const double most = is_wide ? DBL_MAX : FLT_MAX;
  const double x = fmin(fmax(found, -most), most), y = fmin(fmax(expected, -most), most);
  int exponent;
  frexp(fmax(fabs(y), fmax(function->least, is_wide ? DBL_MIN : FLT_MIN)), &exponent);
  return fabs(x - y) / ldexp(1, exponent - (is_wide ? DBL_MANT_DIG : FLT_MANT_DIG));
}

static void check_function(const function_t* function, hlo_dtype_t dtype) {
  const int64_t count = SAMPLES;
  hlo_tensor_t* inputs[2];
  uint64_t random = 1;
  for (uint32_t k = 0; k < 2; ++k) hlo_test_check(hlo_tensor_create(dtype, 1, &count, &inputs[k]));
  for (int64_t i = 0; i < 2 * SAMPLES; ++i) {
    char* at = (char*)inputs[i % 2]->data + (size_t)(i / 2) * hlo_dtype_size_bytes(dtype);
    hlo_dtype_store_double(dtype, at, sample(i / 2, i % 2, &random));
  }
  hlo_module_t* module = module_of(function->op, dtype);
  hlo_tensor_t* expected = evaluate(module, inputs);
  bool is_changed = false;
  hlo_test_check(hlo_expand(module, NULL, is_computed, &is_changed));
  assert_true(is_changed);
  hlo_diag_t diag;
  hlo_diag_init(&diag, "expanded", NULL, 0);
  hlo_test_check(hlo_module_verify(module, &diag));
  hlo_diag_deinit(&diag);
  hlo_tensor_t* found = evaluate(module, inputs);
  const double ulps = dtype == HLO_DTYPE_F64 ? function->ulps : 1;
  double worst = 0;
  int64_t at = 0;
  for (int64_t i = 0; i < SAMPLES; ++i) {
    const double error = error_of(function, dtype, load(found, i), load(expected, i));
    if (error > worst) worst = error, at = i;
  }
  if (worst > ulps) {
    fail_msg("%s of %s at %.17g, %.17g: %.17g, expected %.17g (%g units of the last place)",
             hlo_op_info(function->op)->name, hlo_dtype_info(dtype)->name, load(inputs[0], at),
             load(inputs[1], at), load(found, at), load(expected, at), worst);
  }
  hlo_tensor_release(found);
  hlo_tensor_release(expected);
  for (uint32_t k = 0; k < 2; ++k) hlo_tensor_release(inputs[k]);
  hlo_module_release(module);
}

static void test_functions(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; ++i) {
    check_function(&functions[i], HLO_DTYPE_F32);
    check_function(&functions[i], HLO_DTYPE_F64);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
