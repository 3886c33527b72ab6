// SPDX-License-Identifier: Apache-2.0
// Arithmetic on f16: what its ops mean is what IEEE 754 says, by a model that shares nothing with
// the expression of vir.def; roundings become those ops where the target has them; and the code for
// such a target holds their instructions, which are run where the processor has them (also by
// ops_test.c and x86_test.c).
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/fpenv.h"
#include "codegen/jit/jit.h"
#include "codegen/math/math.h"
#include "codegen/vir/builder.h"
#include "codegen/vir/interp.h"
#include "codegen/x86/x86_test_util.h"

enum { COUNT = 1 << 16, LANES = 16, ROUNDS = 16 };

static uint16_t operands[2][COUNT], results[COUNT];

static hlo_vir_module_t* build(hlo_vir_opcode_t op) {
  hlo_vir_module_t* module;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
  hlo_vir_func_t* func = hlo_vir_func_create(module, "half", 3, false);
  hlo_vir_type_t type = hlo_vir_type(HLO_VIR_I16, LANES);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t* i =
      hlo_vir_begin_for(&b, hlo_vir_iconst(&b, 0), hlo_vir_iconst(&b, COUNT), LANES, 0);
  hlo_vir_value_t* loaded[2];
  for (uint32_t k = 0; k < 2; ++k) {
    hlo_vir_value_t* address[] = {hlo_vir_param(&b, k), i};
    loaded[k] = hlo_vir_emit(&b, HLO_VIR_load, type, 1, 0, 2, address);
  }
  uint32_t count = hlo_vir_opcode_operand_count(op);
  hlo_vir_value_t* result = hlo_vir_emit(&b, op, type, 0, 0, count, loaded);
  hlo_vir_value_t* stored[] = {result, hlo_vir_param(&b, 2), i};
  hlo_vir_emit(&b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 1, 0, 3, stored);
  hlo_vir_end(&b);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  return module;
}

// ---- the model: doubles, which hold sums and products of two f16 exactly

static double value_of(uint16_t half) {
  int exponent = half >> 10 & 31, fraction = half & 1023;
  double sign = half >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

// Returns true if `half` is the f16 nearest to x, the even one of two.
static bool is_nearest(uint16_t half, double x) {
  if (isnan(x)) return isnan(value_of(half));
  if ((half >> 15 != 0) != (signbit(x) != 0)) return false;
  double size = fabs(x), found = fabs(value_of(half)), last = ldexp(1, -24);
  if (isnan(found)) return false;
  if (size >= 65520) return isinf(found);
  if (isinf(found)) return false;
  if (size >= ldexp(1, -14)) last = ldexp(1, ilogb(size) - 10);
  double distance = fabs(found - size);
  return distance < last / 2 || (distance == last / 2 && half % 2 == 0);
}

static double expected_of(hlo_vir_opcode_t op, double x, double y) {
  switch (op) {
    case HLO_VIR_half_add: return x + y;
    case HLO_VIR_half_sub: return x - y;
    case HLO_VIR_half_mul: return x * y;
    case HLO_VIR_half_div: return x / y;
    default: return sqrt(x);
  }
}

static const hlo_vir_opcode_t ops[] = {HLO_VIR_half_add, HLO_VIR_half_sub, HLO_VIR_half_mul,
                                       HLO_VIR_half_div, HLO_VIR_half_sqrt};
enum { OP_COUNT = sizeof ops / sizeof *ops };

static void test_meaning(void** state) {
  (void)state;
  for (uint32_t k = 0; k < OP_COUNT * ROUNDS; ++k) {
    hlo_vir_opcode_t op = ops[k % OP_COUNT];
    for (uint32_t i = 0; i < COUNT; ++i) {
      operands[0][i] = (uint16_t)i;
      operands[1][i] = (uint16_t)(i * (2 * k + 1) * 40503u + (k << 9));
    }
    hlo_vir_module_t* module = build(op);
    uint64_t params[] = {(uintptr_t)operands[0], (uintptr_t)operands[1], (uintptr_t)results};
    int32_t answer = -1;
    hlo_vir_interp_options_t options = {0};
    assert_true(
        hlo_status_is_ok(hlo_vir_interp_run(module->first_func, params, &options, &answer)));
    hlo_vir_module_release(module);
    for (uint32_t i = 0; i < COUNT; ++i) {
      double x = value_of(operands[0][i]), y = value_of(operands[1][i]);
      if (is_nearest(results[i], expected_of(op, x, y))) continue;
      fail_msg("%s of %a and %a is not %a", hlo_vir_opcode_name(op), x, y, value_of(results[i]));
    }
  }
}

// ---- where they are used

static hlo_vir_value_t* rounded(hlo_vir_builder_t* b, hlo_vir_opcode_t op, hlo_vir_value_t* x,
                                hlo_vir_value_t* y) {
  return hlo_vmath_round_to(b, HLO_DTYPE_F16, hlo_vir_binary(b, op, x, y));
}

static void test_choice(void** state) {
  (void)state;
  for (uint32_t has_half = 0; has_half < 2; ++has_half) {
    hlo_vir_module_t* module;
    assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
    module->has_half = has_half;
    hlo_vir_builder_t b;
    hlo_vir_builder_init(&b, hlo_vir_func_create(module, "choice", 1, false));
    hlo_vir_type_t memory = hlo_vmath_memory_type(HLO_DTYPE_F16, LANES);
    hlo_vir_type_t type = hlo_vmath_type(HLO_DTYPE_F16, LANES);
    hlo_vir_value_t* address[] = {hlo_vir_param(&b, 0)};
    hlo_vir_value_t* raw = hlo_vir_emit(&b, HLO_VIR_load, memory, 0, 0, 1, address);
    hlo_vir_value_t* x = hlo_vmath_from_memory(&b, HLO_DTYPE_F16, raw);
    hlo_vir_value_t* sum = rounded(&b, HLO_VIR_fadd, x, hlo_vir_const_float(&b, type, 0.5));
    assert_int_equal(sum->op, HLO_VIR_half_to_f32);
    assert_int_equal(sum->operands[0]->op, has_half ? HLO_VIR_half_add : HLO_VIR_f32_to_half);
    hlo_vir_value_t* more = rounded(&b, HLO_VIR_fmul, sum, sum);
    assert_int_equal(more->operands[0]->op, has_half ? HLO_VIR_half_mul : HLO_VIR_f32_to_half);
    // 0.1 is no f16, and fmax has no such op.
    hlo_vir_value_t* third = rounded(&b, HLO_VIR_fdiv, x, hlo_vir_const_float(&b, type, 0.1));
    assert_int_equal(third->operands[0]->op, HLO_VIR_f32_to_half);
    assert_int_equal(rounded(&b, HLO_VIR_fmax, x, sum)->operands[0]->op, HLO_VIR_f32_to_half);
    hlo_vir_builder_deinit(&b);
    hlo_vir_module_release(module);
  }
}

static bool has_instruction(const hlo_code_t* code, uint8_t opcode) {
  enum { EVEX = 0x62, MAP = 7, MAP_OF_HALVES = 5 };
  for (size_t i = 0; i + 5 < code->size_bytes; ++i) {
    const uint8_t* at = code->bytes + i;
    if (at[0] == EVEX && (at[1] & MAP) == MAP_OF_HALVES && at[4] == opcode) return true;
  }
  return false;
}

static void test_code(void** state) {
  (void)state;
  static const uint8_t opcodes[OP_COUNT] = {0x58, 0x5c, 0x59, 0x5e, 0x51};
  hlo_cpu_t cpu = {.level = HLO_CPU_LEVEL_AVX512, .features = UINT64_MAX};
  hlo_cpu_t without = cpu;
  without.features &= ~(UINT64_C(1) << HLO_CPU_AVX512FP16);
  for (uint32_t k = 0; k < OP_COUNT; ++k) {
    hlo_target_t target;
    hlo_code_t code;
    hlo_vir_module_t* module = build(ops[k]);
    hlo_target_init(&cpu, &target);
    assert_true(target.has_half);
    assert_true(hlo_status_is_ok(hlo_vir_verify(module, target.vector_bytes)));
    assert_true(hlo_status_is_ok(hlo_x86_compile(module, &target, &code)));
    assert_true(has_instruction(&code, opcodes[k]));
    hlo_code_deinit(&code);
    hlo_target_init(&without, &target);
    assert_false(target.has_half);
    hlo_status_t status = hlo_x86_compile(module, &target, &code);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
    hlo_status_release(status);
    hlo_vir_module_release(module);
  }
}

static void interpret(const hlo_vir_module_t* module, uint16_t* out) {
  uint64_t params[] = {(uintptr_t)operands[0], (uintptr_t)operands[1], (uintptr_t)out};
  int32_t answer = -1;
  const hlo_vir_interp_options_t options = {0};
  assert_true(hlo_status_is_ok(hlo_vir_interp_run(module->first_func, params, &options, &answer)));
}

// The instructions themselves, where the processor has them.
static void test_processor(void** state) {
  (void)state;
  typedef int32_t (*routine_t)(const uint16_t*, const uint16_t*, uint16_t*);
  static uint16_t expected[COUNT];
  hlo_cpu_t cpu;
  hlo_target_t target;
  assert_true(hlo_status_is_ok(hlo_cpu_detect(NULL, &cpu)));
  hlo_target_init(&cpu, &target);
  print_message("arithmetic on f16 is %s\n", target.has_half
                                                 ? "run on this processor"
                                                 : "not of this processor: encodings only");
  for (uint32_t k = 0; k < (target.has_half ? OP_COUNT * ROUNDS : 0); ++k) {
    for (uint32_t i = 0; i < COUNT; ++i) {
      operands[0][i] = (uint16_t)i;
      operands[1][i] = (uint16_t)(i * (2 * k + 1) * 40503u + (k << 9));
    }
    hlo_vir_module_t* module = build(ops[k % OP_COUNT]);
    hlo_code_t code;
    hlo_jit_t* jit;
    routine_t routine;
    interpret(module, expected);
    assert_true(hlo_status_is_ok(hlo_x86_compile(module, &target, &code)));
    assert_true(hlo_status_is_ok(hlo_jit_load(&code, "half", NULL, &jit)));
    void* address = hlo_jit_address(jit, 0);
    memcpy(&routine, &address, sizeof address);
    const hlo_fp_state_t before = hlo_fp_enter(HLO_SUBNORMALS_KEEP);
    assert_int_equal(routine(operands[0], operands[1], results), 0);
    hlo_fp_leave(before);
    for (uint32_t i = 0; i < COUNT; ++i) {
      const bool are_nan = isnan(value_of(expected[i])) && isnan(value_of(results[i]));
      if (!are_nan) assert_int_equal(results[i], expected[i]);
    }
    hlo_jit_release(jit);
    hlo_code_deinit(&code);
    hlo_vir_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_meaning), cmocka_unit_test(test_choice),
                                     cmocka_unit_test(test_code), cmocka_unit_test(test_processor)};
  return cmocka_run_group_tests_name("codegen/x86/half", tests, NULL, NULL);
}
