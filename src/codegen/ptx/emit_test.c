// SPDX-License-Identifier: Apache-2.0
// Tests of the PTX emitter: every lane-wise operation and random functions leave the same bytes
// when their text is run as when the interpreter of vector IR runs them.
#include "codegen/ptx/emit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_util.h"
#include "codegen/ptx/assembler_test.inl"
#include "codegen/ptx/run_test.inl"
#include "codegen/vir/interp.h"
#include "codegen/vir/lane_cases_test.inl"
#include "codegen/vir/random_vir_test.inl"

enum { FUNC_COUNT = 40, STATEMENTS = 40 };

static hlo_vir_module_t* new_module(hlo_subnormals_t subnormals) {
  hlo_vir_module_t* module;
  hlo_test_check(hlo_vir_module_create(&module));
  module->subnormals = subnormals;
  module->has_half = true;
  return module;
}

static hlo_status_t emit(const hlo_vir_module_t* module, hlo_strbuf_t* out) {
  hlo_ptx_target_t target;
  hlo_test_check(hlo_ptx_target_parse("sm_80", &target));
  return hlo_ptx_emit(module, &target, NULL, out);
}

static void run_text(const hlo_strbuf_t* text, const hlo_vir_func_t* func, uint8_t* memory) {
  char name[HLO_PTX_KERNEL_NAME_BYTES];
  hlo_ptx_kernel_name(func, name);
  ptx_run(hlo_strbuf_text(text), name, 1, (uint64_t[]){0, (uintptr_t)memory}, 2, NULL);
}

// ---- single operations -------------------------------------------------------------------------

typedef struct op_cases {
  hlo_subnormals_t subnormals;
  uint8_t *by_interp, *by_text;
  uint32_t count;
} op_cases_t;

// Compares a case with vectors of some bytes; 0: of one lane.
static void compare_case(const lane_case_t* c, op_cases_t* cases, uint32_t vector_bytes) {
  const bool is_flushed = cases->subnormals == HLO_SUBNORMALS_FLUSH;
  if (c->op == HLO_VIR_scale ||
      (is_flushed && (c->operand == HLO_VIR_F64 || c->result == HLO_VIR_F64))) {
    return;
  }
  hlo_vir_module_t* module = new_module(cases->subnormals);
  const uint32_t bits = hlo_vir_elem_bits(c->operand), result_bits = hlo_vir_elem_bits(c->result);
  const hlo_vir_func_t* func = lane_cases_func(
      module, c, vector_bytes ? vector_bytes : (bits > result_bits ? bits : result_bits) / 8);
  HLO_SCOPED_STRBUF text = {0};
  hlo_test_check(emit(module, &text));
  lane_cases_fill(c, cases->by_interp);
  lane_cases_fill(c, cases->by_text);
  int32_t answer = -1;
  const hlo_vir_interp_options_t options = {0};
  const uint64_t params[] = {0, (uintptr_t)cases->by_interp, 0};
  hlo_fp_state_t before = hlo_fp_enter(cases->subnormals);
  hlo_test_check(hlo_vir_interp_run(func, params, &options, &answer));
  hlo_fp_leave(before);
  run_text(&text, func, cases->by_text);
  for (size_t i = 0; i < LANE_CASES_MEMORY_BYTES; ++i) {
    if (cases->by_interp[i] == cases->by_text[i]) continue;
    fail_msg("%s of element %d to %d, imm %d: byte %zu\n%s", func->name, c->operand, c->result,
             (int)c->imm, i - 3 * LANE_CASES_ROOM_BYTES, hlo_strbuf_text(&text));
  }
  hlo_vir_module_release(module);
  ++cases->count;
}

static void visit_case(const lane_case_t* c, void* context) {
  compare_case(c, context, 0);
}

static void visit_vector_case(const lane_case_t* c, void* context) {
  compare_case(c, context, 16);
}

static void compare_each_op(hlo_subnormals_t subnormals) {
  op_cases_t cases = {subnormals, malloc(LANE_CASES_MEMORY_BYTES), malloc(LANE_CASES_MEMORY_BYTES),
                      0};
  lane_cases_each(visit_case, &cases);
  if (subnormals == HLO_SUBNORMALS_KEEP) lane_cases_each(visit_vector_case, &cases);
  assert_true(cases.count > 100);
  free(cases.by_interp);
  free(cases.by_text);
}

static void test_each_op(void** state) {
  (void)state;
  compare_each_op(HLO_SUBNORMALS_KEEP);
}

static void test_each_op_with_subnormals_flushed(void** state) {
  (void)state;
  compare_each_op(HLO_SUBNORMALS_FLUSH);
}

// ---- random functions --------------------------------------------------------------------------

static void test_random(void** state) {
  (void)state;
  static uint8_t by_interp[RANDOM_VIR_MEMORY_BYTES], by_text[RANDOM_VIR_MEMORY_BYTES];
  for (uint32_t seed = 0; seed < FUNC_COUNT; ++seed) {
    hlo_vir_module_t* module = new_module(HLO_SUBNORMALS_KEEP);
    const random_vir_options_t options = {.vector_bytes = 8,
                                          .max_lanes = 1,
                                          .statement_count = STATEMENTS,
                                          .has_dots = true,
                                          .has_halves = true};
    const hlo_vir_func_t* func = random_vir_func(module, "kernel", 7000 + seed, &options);
    HLO_SCOPED_STRBUF text = {0};
    hlo_test_check(emit(module, &text));
    for (size_t i = 0; i < sizeof by_interp; ++i) {
      by_interp[i] = by_text[i] = (uint8_t)((i * 2654435761u + seed) >> 13);
    }
    int32_t answer = -1;
    const hlo_vir_interp_options_t interp_options = {0};
    const uint64_t params[] = {0, (uintptr_t)by_interp, 0};
    hlo_fp_state_t before = hlo_fp_enter(HLO_SUBNORMALS_KEEP);
    hlo_test_check(hlo_vir_interp_run(func, params, &interp_options, &answer));
    hlo_fp_leave(before);
    run_text(&text, func, by_text);
    for (size_t i = 0; i < sizeof by_interp; ++i) {
      if (by_interp[i] != by_text[i]) {
        fail_msg("seed %u: byte %zu\n%s", seed, i, hlo_strbuf_text(&text));
      }
    }
    hlo_vir_module_release(module);
  }
}

// ---- the assembler -----------------------------------------------------------------------------

static void add_case(const lane_case_t* c, void* context) {
  const uint32_t bits = hlo_vir_elem_bits(c->operand), result_bits = hlo_vir_elem_bits(c->result);
  if (c->op != HLO_VIR_scale)
    lane_cases_func(context, c, (bits > result_bits ? bits : result_bits) / 8);
}

static void assemble(const hlo_vir_module_t* module, const char* target_name) {
  hlo_ptx_target_t target;
  HLO_SCOPED_STRBUF text = {0};
  hlo_test_check(hlo_ptx_target_parse(target_name, &target));
  hlo_test_check(hlo_ptx_emit(module, &target, NULL, &text));
  ptx_assemble(&text, target_name);
}

static void test_assembled(void** state) {
  (void)state;
  static const char* const targets[] = {"sm_80", "sm_90a", "sm_100a", "sm_120a"};
  ptx_skip_without_assembler();
  hlo_vir_module_t* module = new_module(HLO_SUBNORMALS_KEEP);
  const random_vir_options_t options = {.vector_bytes = 8,
                                        .max_lanes = 1,
                                        .statement_count = STATEMENTS,
                                        .has_dots = true,
                                        .has_halves = true};
  lane_cases_each(add_case, module);
  for (uint32_t seed = 0; seed < 8; ++seed) random_vir_func(module, "random", seed, &options);
  hlo_vir_module_add_blob(module, "constant", 8);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) assemble(module, targets[i]);
  hlo_vir_module_release(module);
}

// ---- what cannot be said -----------------------------------------------------------------------

static void expect_refused(hlo_vir_module_t* module, const char* part) {
  HLO_SCOPED_STRBUF text = {0};
  const hlo_status_t status = emit(module, &text);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_UNIMPLEMENTED);
  assert_non_null(strstr(hlo_status_message(status), part));
  hlo_status_release(status);
  hlo_vir_module_release(module);
}

static void test_refusals(void** state) {
  (void)state;
  const lane_case_t wide = {HLO_VIR_fadd, HLO_VIR_F64, HLO_VIR_F64, 0};
  hlo_vir_module_t* module = new_module(HLO_SUBNORMALS_KEEP);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, hlo_vir_func_create(module, "slide", 3, false));
  hlo_vir_value_t* base = hlo_vir_param(&b, 1);
  const hlo_vir_type_t type = hlo_vir_type(HLO_VIR_F32, 4);
  hlo_vir_value_t* value = hlo_vir_emit(&b, HLO_VIR_load, type, 0, 0, 1, &base);
  value = hlo_vir_emit(&b, HLO_VIR_slide_up, type, 0, 1, 1, &value);
  hlo_vir_emit(&b, HLO_VIR_store, hlo_vir_type(HLO_VIR_VOID, 0), 0, 0, 2,
               (hlo_vir_value_t*[]){value, base});
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  expect_refused(module, "it moves elements between lanes");
  module = new_module(HLO_SUBNORMALS_FLUSH);
  lane_cases_func(module, &wide, 8);
  expect_refused(module, "subnormal f64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_op),  cmocka_unit_test(test_each_op_with_subnormals_flushed),
      cmocka_unit_test(test_random),   cmocka_unit_test(test_assembled),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
