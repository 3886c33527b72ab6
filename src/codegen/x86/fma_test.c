// SPDX-License-Identifier: Apache-2.0
// Fused multiply-add without the instruction: the bits of the C library's for operands whose result
// is hard to round: sums that nearly cancel, that lie between two numbers, that are subnormal or
// overflow. With subnormal numbers kept, and flushed.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/float_bits.h"
#include "base/fpenv.h"
#include "codegen/jit/jit.h"
#include "codegen/vir/builder.h"
#include "codegen/x86/x86_test_util.h"

enum { COUNT = 1 << 16, ROUNDS = 8, LANE_BYTES = 16 };

static _Alignas(LANE_BYTES) uint8_t operands[3][COUNT * sizeof(double)];
static uint8_t results[COUNT * sizeof(double)];

typedef int32_t (*code_t)(const void* a, const void* b, void* c_and_result);

// result[i] = a[i] * b[i] + c[i], in place of c.
static hlo_vir_module_t* build(hlo_vir_elem_t elem, hlo_vir_opcode_t op) {
  hlo_vir_module_t* module;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
  hlo_vir_func_t* func = hlo_vir_func_create(module, "fma", 3, false);
  uint32_t bytes = elem == HLO_VIR_F64 ? 8 : 4;
  hlo_vir_type_t type = hlo_vir_type(elem, LANE_BYTES / bytes);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t* i =
      hlo_vir_begin_for(&b, hlo_vir_iconst(&b, 0), hlo_vir_iconst(&b, COUNT), type.lanes, 0);
  hlo_vir_value_t* loaded[3];
  uint32_t scale = (uint32_t)__builtin_ctz(bytes);
  for (uint32_t k = 0; k < 3; ++k) {
    hlo_vir_value_t* address[] = {hlo_vir_param(&b, k), i};
    loaded[k] = hlo_vir_emit(&b, HLO_VIR_load, type, scale, 0, 2, address);
  }
  hlo_vir_value_t* result = hlo_vir_ternary(&b, op, loaded[0], loaded[1], loaded[2]);
  hlo_vir_value_t* stored[] = {result, hlo_vir_param(&b, 2), i};
  hlo_vir_emit(&b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), scale, 0, 3, stored);
  hlo_vir_end(&b);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  return module;
}

static void execute(hlo_vir_elem_t elem, hlo_vir_opcode_t op) {
  hlo_cpu_t cpu;
  hlo_target_t target;
  hlo_code_t code;
  hlo_jit_t* jit;
  assert_true(hlo_status_is_ok(hlo_cpu_detect("sse2", &cpu)));
  hlo_target_init(&cpu, &target);
  target.subnormals = hlo_fp_flushes() ? HLO_SUBNORMALS_FLUSH : HLO_SUBNORMALS_KEEP;
  hlo_vir_module_t* module = build(elem, op);
  assert_true(hlo_status_is_ok(hlo_x86_compile(module, &target, &code)));
  assert_true(hlo_status_is_ok(hlo_jit_load(&code, "fma", NULL, &jit)));
  memcpy(results, operands[2], sizeof results);
  code_t run = (code_t)(uintptr_t)hlo_jit_address(jit, 0);
  assert_int_equal(run(operands[0], operands[1], results), 0);
  hlo_jit_release(jit);
  hlo_code_deinit(&code);
  hlo_vir_module_release(module);
}

static uint64_t next_random(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state * 0x2545f4914f6cdd1dull;
}

// Few bits, all bits, or ones and zeros in long runs, so that products are near numbers and between
// them.
static uint64_t fraction(uint64_t random, unsigned bits) {
  uint64_t all = random & ((1ull << bits) - 1);
  switch (random >> 60) {
    case 0: return 0;
    case 1:
    case 2: return all >> (bits - 4) << (bits - 4);
    case 3: return 1;
    case 4: return (1ull << bits) - 1;
    case 5: return all >> (bits / 2) << (bits / 2);
    default: return all;
  }
}

// Of both types: sign, exponent, fraction; exponents cluster at ends and in the middle.
static uint64_t number(uint64_t* state, unsigned exponent_bits, unsigned bits) {
  uint64_t random = next_random(state), top = (1ull << exponent_bits) - 1;
  uint64_t exponent = random >> 8 & top;
  switch (random & 7) {
    case 0: exponent = 0; break;
    case 1: exponent = random >> 20 & 3; break;
    case 2: exponent = top - (random >> 20 & 3); break;
    case 3: break;
    default: exponent = top / 2 - 30 + (random >> 20 & 63);
  }
  return random >> 7 << 63 >> (63 - exponent_bits - bits) | exponent << bits |
         fraction(next_random(state), bits);
}

// A sum that hides in the product: its opposite, a few places off, or much smaller than it.
static void check_f64(uint64_t seed, hlo_vir_opcode_t op) {
  uint64_t state = seed;
  double *a = (double*)operands[0], *b = (double*)operands[1], *c = (double*)operands[2];
  for (uint32_t i = 0; i < COUNT; ++i) {
    a[i] = hlo_f64_from_bits(number(&state, 11, 52));
    b[i] = hlo_f64_from_bits(number(&state, 11, 52));
    c[i] = hlo_f64_from_bits(number(&state, 11, 52));
    double product = op == HLO_VIR_fnma ? -(a[i] * b[i]) : a[i] * b[i];
    uint64_t random = next_random(&state);
    if (random % 3 == 0) c[i] = -product;
    if (random % 3 == 1) c[i] = product * ldexp(random & 8 ? 1 : -1, (int)(random >> 8) % 110 - 55);
    if (random & 16) c[i] = nextafter(c[i], random & 32 ? INFINITY : -INFINITY);
  }
  execute(HLO_VIR_F64, op);
  for (uint32_t i = 0; i < COUNT; ++i) {
    double expected = fma(op == HLO_VIR_fnma ? -a[i] : a[i], b[i], c[i]);
    double found = ((double*)results)[i];
    if (memcmp(&found, &expected, sizeof found) == 0 || (isnan(found) && isnan(expected))) continue;
    fail_msg("%a * %a + %a is %a, not %a", a[i], b[i], c[i], expected, found);
  }
}

static void check_f32(uint64_t seed, hlo_vir_opcode_t op) {
  uint64_t state = seed;
  float *a = (float*)operands[0], *b = (float*)operands[1], *c = (float*)operands[2];
  for (uint32_t i = 0; i < COUNT; ++i) {
    a[i] = hlo_f32_from_bits((uint32_t)number(&state, 8, 23));
    b[i] = hlo_f32_from_bits((uint32_t)number(&state, 8, 23));
    c[i] = hlo_f32_from_bits((uint32_t)number(&state, 8, 23));
    if (i % 16 == 0) {  // nearly half of the last place of a subnormal number
      a[i] = ldexpf(1 + (float)(i >> 8) * 0x1p-23f, -75);
      b[i] = ldexpf(1 - (float)(i >> 8) * 0x1p-23f, -75);
      c[i] = hlo_f32_from_bits((uint32_t)(next_random(&state) >> 41));
      continue;
    }
    float product = op == HLO_VIR_fnma ? -(a[i] * b[i]) : a[i] * b[i];
    uint64_t random = next_random(&state);
    if (random % 3 == 0) c[i] = -product;
    if (random % 3 == 1) c[i] = product * ldexpf(random & 8 ? 1 : -1, (int)(random >> 8) % 56 - 28);
    if (random & 16) c[i] = nextafterf(c[i], random & 32 ? INFINITY : -INFINITY);
  }
  execute(HLO_VIR_F32, op);
  for (uint32_t i = 0; i < COUNT; ++i) {
    float expected = fmaf(op == HLO_VIR_fnma ? -a[i] : a[i], b[i], c[i]);
    float found = ((float*)results)[i];
    if (memcmp(&found, &expected, sizeof found) == 0 || (isnan(found) && isnan(expected))) continue;
    fail_msg("%a * %a + %a is %a, not %a", (double)a[i], (double)b[i], (double)c[i],
             (double)expected, (double)found);
  }
}

static void check_hard_sums(hlo_subnormals_t subnormals) {
  const hlo_fp_state_t before = hlo_fp_enter(subnormals);
  for (uint64_t round = 0; round < ROUNDS; ++round) {
    hlo_vir_opcode_t op = round % 2 ? HLO_VIR_fnma : HLO_VIR_fma;
    check_f32(1 + round, op);
    check_f64(100 + round, op);
  }
  hlo_fp_leave(before);
}

static void test_hard_sums(void** state) {
  (void)state;
  check_hard_sums(HLO_SUBNORMALS_KEEP);
}

static void test_hard_sums_with_subnormals_flushed(void** state) {
  (void)state;
  check_hard_sums(HLO_SUBNORMALS_FLUSH);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_hard_sums),
                                     cmocka_unit_test(test_hard_sums_with_subnormals_flushed)};
  return cmocka_run_group_tests_name("codegen/x86/fma", tests, NULL, NULL);
}
