// SPDX-License-Identifier: Apache-2.0
// Which values are computed again, where copies stand, and that taking it back leaves what was
// there.
#include "codegen/memory/remat.h"

#include "base/strbuf.h"
#include "codegen/fuse/fusion.h"
#include "ir/print.h"
#include "ir/test_util.h"

typedef struct fixture {
  hlo_module_t* module;
  hlo_arena_t arena;
  hlo_target_t target;
  hlo_remat_t* remat;
} fixture_t;

static void make(const char* text, fixture_t* f) {
  *f = (fixture_t){.module = hlo_test_parse(text)};
  hlo_arena_init(&f->arena, 0);
  hlo_target_init(&(hlo_cpu_t){.level = HLO_CPU_LEVEL_AVX2}, &f->target);
  hlo_test_check(
      hlo_remat_create(f->module, hlo_module_entry(f->module), &f->target, &f->arena, &f->remat));
}

static void drop(fixture_t* f) {
  hlo_arena_deinit(&f->arena);
  hlo_module_release(f->module);
}

static const hlo_plan_t* plan_of(fixture_t* f) {
  const hlo_func_t* func = hlo_module_entry(f->module);
  hlo_schedule_t* schedule;
  hlo_test_check(hlo_schedule_create(func, &f->target, &f->arena, &schedule));
  hlo_kernel_t** kernels = hlo_arena_array(&f->arena, schedule->fusion_count, sizeof(*kernels));
  for (uint32_t i = 0; i < schedule->sequences[0].step_count; ++i) {
    hlo_fusion_t* fusion = schedule->sequences[0].steps[i].fusion;
    if (fusion) kernels[fusion->index] = fusion->kernel;
  }
  hlo_plan_t* plan;
  hlo_test_check(hlo_plan_create(func, schedule, kernels, false, &f->arena, &plan));
  hlo_test_check(hlo_plan_check(plan));
  return plan;
}

static char* text_of(const fixture_t* f) {
  hlo_strbuf_t text = {0};
  hlo_print_module(f->module, &(hlo_print_options_t){0}, &text);
  return hlo_strbuf_take(&text);
}

static uint32_t step(fixture_t* f, const hlo_plan_t* plan, uint64_t excess) {
  uint32_t count;
  hlo_diag_t diag;
  hlo_test_check(hlo_remat_step(f->remat, plan, excess, &count));
  hlo_diag_init(&diag, "test", "", 0);
  hlo_test_check(hlo_module_verify(f->module, &diag));
  hlo_diag_deinit(&diag);
  return count;
}

#define BIG "tensor<64x1024xf32>"
#define SORT(result, operand)                                                             \
  result " = \"stablehlo.sort\"(" operand                                                 \
         ") <{dimension = 1 : i64}> ({\n"                                                 \
         "^bb0(%l: tensor<f32>, %r: tensor<f32>):\n"                                      \
         "%c = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>\n" \
         "stablehlo.return %c : tensor<i1>}) : (" BIG ") -> " BIG "\n"

// %a is made at the beginning and needed again at the end; sorts and what is sorted are in between.
static const char kept_long[] =
    "func.func @main(%x: " BIG ", %y: " BIG ") -> " BIG
    " {\n"
    "%a = stablehlo.tanh %x : " BIG
    "\n" SORT("%b", "%a") "%d = stablehlo.add %b, %y : " BIG
                          "\n" SORT("%e", "%d") "%g = stablehlo.add %e, %y : " BIG "\n" SORT(
                              "%h", "%g") "%f = stablehlo.multiply %h, %a : " BIG
                                          "\n"
                                          "return %f : " BIG "\n}\n";

static void values_are_computed_again(void** state) {
  (void)state;
  fixture_t f;
  make(kept_long, &f);
  const hlo_plan_t* before = plan_of(&f);
  assert_int_equal(step(&f, before, 1), 1);
  const hlo_plan_t* after = plan_of(&f);
  assert_true(after->temporary_bytes < before->temporary_bytes);
  // Nothing else is worth it.
  assert_int_equal(step(&f, after, 1), 0);
  drop(&f);
}

static void undone_is_as_before(void** state) {
  (void)state;
  fixture_t f;
  make(kept_long, &f);
  const hlo_plan_t* plan = plan_of(&f);
  char* before = text_of(&f);
  assert_int_equal(step(&f, plan, UINT64_MAX), 1);
  char* changed = text_of(&f);
  assert_string_not_equal(before, changed);
  hlo_remat_undo(f.remat);
  char* after = text_of(&f);
  assert_string_equal(before, after);
  hlo_test_check(hlo_plan_check(plan));
  // A change that did not help is not tried again.
  assert_int_equal(step(&f, plan, UINT64_MAX), 0);
  hlo_mem_free(before);
  hlo_mem_free(changed);
  hlo_mem_free(after);
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_computed_again),
      cmocka_unit_test(undone_is_as_before),
  };
  return cmocka_run_group_tests_name("codegen/remat", tests, NULL, NULL);
}
