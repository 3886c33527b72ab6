// SPDX-License-Identifier: Apache-2.0
// Every lane-wise op, type and immediate as machine code leaves the same bytes as the interpreter,
// for every vector width that this machine has, with subnormal numbers flushed and kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/fpenv.h"
#include "codegen/jit/jit.h"
#include "codegen/vir/interp.h"
#include "codegen/vir/lane_cases_test.inl"
#include "codegen/x86/x86_test_util.h"

typedef struct cases {
  hlo_target_t target;
  hlo_subnormals_t subnormals;
  uint8_t by_interp[LANE_CASES_MEMORY_BYTES], by_code[LANE_CASES_MEMORY_BYTES];
} cases_t;

static void run_code(const hlo_vir_module_t* module, cases_t* cases) {
  hlo_code_t code;
  hlo_jit_t* jit;
  hlo_status_t status = hlo_vir_verify(module, cases->target.vector_bytes);
  if (hlo_status_is_ok(status)) status = hlo_x86_compile(module, &cases->target, &code);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  assert_true(hlo_status_is_ok(hlo_jit_load(&code, "ops", NULL, &jit)));
  hlo_program_chunk_t chunk = (hlo_program_chunk_t)hlo_jit_address(jit, 0);
  hlo_fp_state_t before = hlo_fp_enter(cases->subnormals);
  assert_int_equal(chunk(NULL, cases->by_code, 0), HLO_PROGRAM_DONE);
  hlo_fp_leave(before);
  hlo_jit_release(jit);
  hlo_code_deinit(&code);
}

static void visit_case(const lane_case_t* c, void* context) {
  cases_t* cases = context;
  if (c->op == HLO_VIR_dot_u8s8 && !cases->target.has_dot_u8s8) return;
  if (hlo_vir_opcode_class(c->op) == HLO_VIR_HALF && !cases->target.has_half) return;
  if (c->op == HLO_VIR_scale && !cases->target.has_scale) return;
  if (c->op == HLO_VIR_dot_bf16 && !cases->target.has_dot_bf16) return;
  hlo_vir_module_t* module;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&module)));
  module->subnormals = cases->subnormals;
  hlo_vir_func_t* func = lane_cases_func(module, c, cases->target.vector_bytes);
  lane_cases_fill(c, cases->by_interp);
  lane_cases_fill(c, cases->by_code);
  int32_t answer = -1;
  hlo_vir_interp_options_t options = {0};
  uint64_t params[] = {0, (uintptr_t)cases->by_interp, 0};
  assert_true(hlo_status_is_ok(hlo_vir_interp_run(func, params, &options, &answer)));
  run_code(module, cases);
  for (size_t i = 0; i < LANE_CASES_MEMORY_BYTES; ++i) {
    if (cases->by_interp[i] == cases->by_code[i]) continue;
    fail_msg("%s of element %d to %d, imm %d, subnormals %s: byte %zu", func->name, c->operand,
             c->result, (int)c->imm, cases->subnormals == HLO_SUBNORMALS_KEEP ? "kept" : "flushed",
             i - 3 * LANE_CASES_ROOM_BYTES);
  }
  hlo_vir_module_release(module);
}

static void test_each_op(void** state) {
  (void)state;
  static const char* const levels[] = {"sse2", "sse4", "avx2", "avx512"};
  cases_t* cases = malloc(sizeof *cases);
  for (size_t i = 0; i < sizeof levels / sizeof *levels; ++i) {
    hlo_cpu_t cpu;
    hlo_status_t status = hlo_cpu_detect(levels[i], &cpu);
    if (hlo_status_is_ok(status)) {
      hlo_target_init(&cpu, &cases->target);
      cases->subnormals = cases->target.subnormals = HLO_SUBNORMALS_FLUSH;
      lane_cases_each(visit_case, cases);
      cases->subnormals = cases->target.subnormals = HLO_SUBNORMALS_KEEP;
      lane_cases_each(visit_case, cases);
    }
    hlo_status_release(status);  // a level that this machine has not
  }
  free(cases);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_op)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
