// SPDX-License-Identifier: Apache-2.0
// Tests concurrent groups: which kernels form one, how they are split into chunks, and that plan
// verification finds members that touch each other's memory.
#include "codegen/fuse/concurrent.h"

#include "codegen/fuse/fusion.h"
#include "codegen/memory/plan.h"
#include "ir/test_util.h"

typedef struct fixture {
  hlo_module_t* module;
  hlo_arena_t arena;
  hlo_target_t target;
  hlo_schedule_t* schedule;
  hlo_plan_t* plan;
} fixture_t;

static void make(const hlo_strbuf_t* text, fixture_t* f) {
  *f = (fixture_t){.module = hlo_test_parse(hlo_strbuf_text(text))};
  hlo_arena_init(&f->arena, 0);
  hlo_target_init(&(hlo_cpu_t){.level = HLO_CPU_LEVEL_AVX2}, &f->target);
  const hlo_func_t* func = hlo_module_entry(f->module);
  hlo_test_check(hlo_schedule_create(func, &f->target, &f->arena, &f->schedule));
  hlo_test_check(
      hlo_schedule_make_concurrent_groups(f->schedule, f->module, &f->target, &f->arena));
  hlo_kernel_t** kernels = hlo_arena_array(&f->arena, f->schedule->fusion_count, sizeof *kernels);
  for (uint32_t s = 0; s < f->schedule->sequence_count; ++s) {
    const hlo_sequence_t* sequence = &f->schedule->sequences[s];
    for (uint32_t i = 0; i < sequence->step_count; ++i) {
      hlo_fusion_t* fusion = sequence->steps[i].fusion;
      if (fusion) kernels[fusion->index] = fusion->kernel;
    }
  }
  hlo_test_check(hlo_plan_create(func, f->schedule, kernels, false, &f->arena, &f->plan));
  hlo_test_check(hlo_plan_check(f->plan));
}

static void drop(fixture_t* f) {
  hlo_arena_deinit(&f->arena);
  hlo_module_release(f->module);
}

// Builds a function of `count` arguments and results; each result is an argument or the previous
// result, reversed and negated.
static void print_module(hlo_strbuf_t* out, int count, int elements, bool is_chain) {
  hlo_strbuf_puts(out, "func.func @main(");
  for (int i = 0; i < count; ++i) {
    hlo_strbuf_printf(out, "%s%%a%d: tensor<%dxf32>", i ? ", " : "", i, elements + i);
  }
  hlo_strbuf_puts(out, ") -> (");
  for (int i = 0; i < count; ++i) {
    hlo_strbuf_printf(out, "%stensor<%dxf32>", i ? ", " : "", elements + (is_chain ? 0 : i));
  }
  hlo_strbuf_puts(out, ") {\n");
  for (int i = 0; i < count; ++i) {
    int extent = elements + (is_chain ? 0 : i);
    const char* from = is_chain && i ? "r" : "a";
    int number = is_chain && i ? i - 1 : i;
    hlo_strbuf_printf(out, "%%s%d = stablehlo.reverse %%%s%d, dims = [0] : tensor<%dxf32>\n", i,
                      from, number, extent);
    hlo_strbuf_printf(out, "%%r%d = stablehlo.negate %%s%d : tensor<%dxf32>\n", i, i, extent);
  }
  hlo_strbuf_puts(out, "return ");
  for (int i = 0; i < count; ++i) hlo_strbuf_printf(out, "%s%%r%d", i ? ", " : "", i);
  hlo_strbuf_puts(out, " : ");
  for (int i = 0; i < count; ++i) {
    hlo_strbuf_printf(out, "%stensor<%dxf32>", i ? ", " : "", elements + (is_chain ? 0 : i));
  }
  hlo_strbuf_puts(out, "\n}\n");
}

static uint32_t concurrent_group_count(int count, int elements, bool is_chain) {
  hlo_strbuf_t text = {0};
  print_module(&text, count, elements, is_chain);
  fixture_t f;
  make(&text, &f);
  uint32_t found = f.schedule->concurrent_group_count;
  drop(&f);
  hlo_strbuf_deinit(&text);
  return found;
}

enum { COUNT = 40, ELEMENTS = 20000 };  // each too small to be split

static const hlo_concurrent_group_t* make_concurrent_group(hlo_strbuf_t* text, fixture_t* f) {
  print_module(text, COUNT, ELEMENTS, false);
  make(text, f);
  const hlo_concurrent_group_t* concurrent_group =
      f->schedule->sequences[0].steps[0].fusion->concurrent_group;
  assert_non_null(concurrent_group);
  return concurrent_group;
}

static void what_is_independent_and_long_enough_is_one(void** state) {
  (void)state;
  assert_int_equal(concurrent_group_count(COUNT, ELEMENTS, false), 1);
  assert_int_equal(concurrent_group_count(2, ELEMENTS, false), 0);  // saves too little
  assert_int_equal(concurrent_group_count(COUNT, 16, false), 0);    // each is faster inline
  assert_int_equal(concurrent_group_count(COUNT, ELEMENTS, true),
                   0);  // each needs the previous result
  assert_int_equal(concurrent_group_count(3, 50 * ELEMENTS, false), 0);  // each is split by itself
}

static void parts_hold_all_members_in_order(void** state) {
  (void)state;
  hlo_strbuf_t text = {0};
  fixture_t f;
  const hlo_concurrent_group_t* concurrent_group = make_concurrent_group(&text, &f);
  assert_int_equal(concurrent_group->member_count, COUNT);
  uint32_t count;
  hlo_concurrent_part_t* parts;
  hlo_test_check(
      hlo_concurrent_group_split(concurrent_group, &f.target, 0, &f.arena, &count, &parts));
  assert_true(count > 1 && count < COUNT);  // several small members in one chunk
  uint32_t member = 0;
  for (uint32_t i = 0; i < count; ++i) {
    assert_int_equal(parts[i].first, i);
    assert_int_equal(parts[i].count, 1);
    assert_int_equal(parts[i].first_member, member);
    member = parts[i].end_member;
  }
  assert_int_equal(member, COUNT);
  hlo_test_check(
      hlo_concurrent_group_split(concurrent_group, &f.target, 1, &f.arena, &count, &parts));
  assert_int_equal(count, 0);
  drop(&f);
  hlo_strbuf_deinit(&text);
}

static uint64_t all_copied(const fixture_t* f) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < f->module->node_count; ++i) {
    const hlo_copy_list_t* list = &f->plan->copies[i];
    for (uint32_t k = 0; k < list->count; ++k) bytes += list->items[k].size_bytes;
  }
  return bytes;
}

// Overwrites `updated` elements of an array that the first possible member reads; returns how many
// bytes are copied.
static uint64_t copied_bytes(int updated, uint32_t* out_concurrent_group_count) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "func.func @main(%i: tensor<i32>");
  for (int k = 0; k < COUNT; ++k) {
    hlo_strbuf_printf(&text, ", %%a%d: tensor<%dxf32>", k, ELEMENTS + k);
  }
  hlo_strbuf_printf(&text, ", %%u: tensor<%dxf32>) -> (tensor<%dxf32>", updated, ELEMENTS);
  for (int k = 0; k < COUNT; ++k) hlo_strbuf_printf(&text, ", tensor<%dxf32>", ELEMENTS + k);
  hlo_strbuf_printf(
      &text,
      ") {\n%%x0 = \"stablehlo.sort\"(%%a0) ({\n"
      "^bb0(%%p: tensor<f32>, %%q: tensor<f32>):\n"
      "%%c = stablehlo.compare LT, %%p, %%q : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "stablehlo.return %%c : tensor<i1>\n"
      "}) {dimension = 0 : i64} : (tensor<%dxf32>) -> tensor<%dxf32>\n",
      ELEMENTS, ELEMENTS);
  for (int k = 0; k < COUNT; ++k) {
    hlo_strbuf_printf(&text,
                      "%%s%d = stablehlo.reverse %%%s%d, dims = [0] : tensor<%dxf32>\n"
                      "%%r%d = stablehlo.negate %%s%d : tensor<%dxf32>\n",
                      k, k ? "a" : "x", k, ELEMENTS + k, k, k, ELEMENTS + k);
  }
  hlo_strbuf_printf(&text,
                    "%%y = stablehlo.dynamic_update_slice %%x0, %%u, %%i : (tensor<%dxf32>, "
                    "tensor<%dxf32>, tensor<i32>) -> tensor<%dxf32>\nreturn %%y",
                    ELEMENTS, updated, ELEMENTS);
  for (int k = 0; k < COUNT; ++k) hlo_strbuf_printf(&text, ", %%r%d", k);
  hlo_strbuf_printf(&text, " : tensor<%dxf32>", ELEMENTS);
  for (int k = 0; k < COUNT; ++k) hlo_strbuf_printf(&text, ", tensor<%dxf32>", ELEMENTS + k);
  hlo_strbuf_puts(&text, "\n}\n");
  fixture_t f;
  make(&text, &f);
  *out_concurrent_group_count = f.schedule->concurrent_group_count;
  uint64_t bytes = all_copied(&f);
  drop(&f);
  hlo_strbuf_deinit(&text);
  return bytes;
}

static void updates_stay_behind_what_reads_before_them(void** state) {
  (void)state;
  static const int kUpdated[] = {16, ELEMENTS / 2};
  for (uint32_t i = 0; i < sizeof kUpdated / sizeof *kUpdated; ++i) {
    uint32_t concurrent_groups;
    assert_int_equal(copied_bytes(kUpdated[i], &concurrent_groups), 0);
    assert_int_equal(concurrent_groups, 1);
  }
}

// In a loop, one possible member reads an array that another one overwrites.
static void next_values_stay_behind_what_reads_before_them(void** state) {
  (void)state;
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(
      &text,
      "func.func @main(%n: tensor<i32>, %a: tensor<50000xf32> {tf.aliasing_output = 0 : i32},\n"
      "    %b: tensor<50000xf32> {tf.aliasing_output = 1 : i32},\n"
      "    %c: tensor<50000xf32> {tf.aliasing_output = 2 : i32})\n"
      "    -> (tensor<50000xf32>, tensor<50000xf32>, tensor<50000xf32>) {\n"
      "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "  %r:4 = stablehlo.while(%i = %n, %x = %a, %y = %b, %z = %c) : tensor<i32>,\n"
      "      tensor<50000xf32>, tensor<50000xf32>, tensor<50000xf32>\n"
      "  cond {\n"
      "    %g = stablehlo.compare GT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %g : tensor<i1>\n"
      "  } do {\n"
      "    %s = stablehlo.reverse %x, dims = [0] : tensor<50000xf32>\n"
      "    %t = stablehlo.tanh %s : tensor<50000xf32>\n"
      "    %w = stablehlo.exponential %x : tensor<50000xf32>\n"
      "    %v = stablehlo.logistic %z : tensor<50000xf32>\n"
      "    %k = stablehlo.subtract %i, %one : tensor<i32>\n"
      "    stablehlo.return %k, %w, %t, %v : tensor<i32>, tensor<50000xf32>, tensor<50000xf32>,\n"
      "        tensor<50000xf32>\n"
      "  }\n"
      "  return %r#1, %r#2, %r#3 : tensor<50000xf32>, tensor<50000xf32>, tensor<50000xf32>\n"
      "}\n");
  fixture_t f;
  make(&text, &f);
  const hlo_node_t* loop = hlo_region_terminator(hlo_module_entry(f.module)->body)->prev;
  const hlo_node_t* end = hlo_region_terminator(loop->regions[1]);
  const hlo_copy_list_t* copies = &f.plan->copies[end->index];
  for (uint32_t i = 0; i < copies->count; ++i) assert_true(copies->items[i].size_bytes <= 4);
  drop(&f);
  hlo_strbuf_deinit(&text);
}

static void expect_fault(const fixture_t* f) {
  hlo_status_t status = hlo_plan_check(f->plan);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  hlo_status_release(status);
}

// As consecutive steps, both plans would be right.
static void the_proof_knows_that_members_run_at_a_time(void** state) {
  (void)state;
  hlo_strbuf_t text = {0};
  fixture_t f;
  const hlo_concurrent_group_t* concurrent_group = make_concurrent_group(&text, &f);
  const hlo_fusion_t *a = concurrent_group->members[0], *b = concurrent_group->members[1];
  hlo_allocation_t* allocation = &f.plan->allocations[b->outputs[0]->index];
  hlo_allocation_t right = *allocation;
  *allocation = f.plan->allocations[a->inputs[0]->index];  // another member reads it
  expect_fault(&f);
  *allocation = f.plan->allocations[a->outputs[0]->index];  // or writes it
  expect_fault(&f);
  *allocation = right;
  hlo_test_check(hlo_plan_check(f.plan));
  drop(&f);
  hlo_strbuf_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_independent_and_long_enough_is_one),
      cmocka_unit_test(parts_hold_all_members_in_order),
      cmocka_unit_test(updates_stay_behind_what_reads_before_them),
      cmocka_unit_test(next_values_stay_behind_what_reads_before_them),
      cmocka_unit_test(the_proof_knows_that_members_run_at_a_time),
  };
  return cmocka_run_group_tests_name("codegen/concurrent", tests, NULL, NULL);
}
