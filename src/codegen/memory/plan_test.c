// SPDX-License-Identifier: Apache-2.0
// Buffer plans: whole plans as text, each proved by hlo_plan_check(); and that the proof finds
// faults.
#include <string.h>

#include "base/heap.h"
#include "codegen/memory/plan.h"
#include "ir/test_util.h"

// ---- a schedule without fusions: every node by itself

typedef struct plain {
  hlo_arena_t* arena;
  hlo_schedule_t* schedule;
  uint32_t next;
} plain_t;

static bool is_step(const hlo_node_t* node) {
  return !hlo_op_has(node->op, HLO_TRAIT_CONSTANT | HLO_TRAIT_ORDERS | HLO_TRAIT_TERMINATOR);
}

static hlo_step_kind_t step_kind(const hlo_node_t* node) {
  if (hlo_op_is_control(node->op)) return HLO_STEP_CONTROL;
  return hlo_node_is_view(node) ? HLO_STEP_VIEW : HLO_STEP_CALL;
}

static uint32_t count_sequences(const hlo_region_t* region) {
  uint32_t count = 1;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; hlo_op_is_control(node->op) && i < node->region_count; ++i) {
      count += count_sequences(node->regions[i]);
    }
  }
  return count;
}

static hlo_status_t make_sequence(plain_t* plain, const hlo_region_t* region) {
  hlo_sequence_t* sequence = &plain->schedule->sequences[plain->next++];
  uint32_t count = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) count += is_step(node);
  sequence->region = region;
  sequence->steps = hlo_arena_array(plain->arena, count, sizeof *sequence->steps);
  HLO_TRY(hlo_arena_status(plain->arena));
  for (hlo_node_t* node = region->first; node; node = node->next) {
    if (!is_step(node)) continue;
    sequence->steps[sequence->step_count++] = (hlo_step_t){.kind = step_kind(node), .node = node};
    for (uint32_t i = 0; hlo_op_is_control(node->op) && i < node->region_count; ++i) {
      HLO_TRY(make_sequence(plain, node->regions[i]));
    }
  }
  return hlo_ok();
}

static hlo_status_t create_schedule(const hlo_func_t* func, hlo_arena_t* arena,
                                    hlo_schedule_t** out_schedule) {
  plain_t plain = {.arena = arena};
  plain.schedule = hlo_arena_alloc_zeroed(arena, sizeof *plain.schedule);
  if (!plain.schedule) return hlo_arena_status(arena);
  plain.schedule->sequence_count = count_sequences(func->body);
  plain.schedule->sequences =
      hlo_arena_array(arena, plain.schedule->sequence_count, sizeof(hlo_sequence_t));
  HLO_TRY(hlo_arena_status(arena));
  HLO_TRY(make_sequence(&plain, func->body));
  HLO_TRY(hlo_schedule_finish(plain.schedule, func->module, arena));
  *out_schedule = plain.schedule;
  return hlo_ok();
}

// ---- plans

typedef struct fixture {
  hlo_module_t* module;
  hlo_arena_t arena;
  hlo_plan_t* plan;
} fixture_t;

static void make(const char* text, fixture_t* f) {
  *f = (fixture_t){.module = hlo_test_parse(text)};
  hlo_arena_init(&f->arena, 0);
  hlo_schedule_t* schedule = NULL;
  const hlo_func_t* func = hlo_module_entry(f->module);
  hlo_test_check(create_schedule(func, &f->arena, &schedule));
  hlo_test_check(hlo_plan_create(func, schedule, NULL, false, &f->arena, &f->plan));
}

static void drop(fixture_t* f) {
  hlo_arena_deinit(&f->arena);
  hlo_module_release(f->module);
}

static void expect_plan(const char* text, const char* wanted) {
  fixture_t f;
  make(text, &f);
  hlo_test_check(hlo_plan_check(f.plan));
  hlo_strbuf_t found = {0};
  hlo_plan_print(f.plan, &found);
  assert_string_equal(hlo_strbuf_text(&found), wanted);
  hlo_strbuf_deinit(&found);
  drop(&f);
}

static void computes_results_where_they_are_wanted(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2x2xf32>) {\n"
      "  %0 = stablehlo.negate %x : tensor<4xf32>\n"
      "  %1 = stablehlo.abs %0 : tensor<4xf32>\n"
      "  %2 = stablehlo.reshape %1 : (tensor<4xf32>) -> tensor<2x2xf32>\n"
      "  return %0, %2 : tensor<4xf32>, tensor<2x2xf32>\n"
      "}\n",
      "plan of @main: 0 bytes of temporaries, 0 constants\n"
      "  stablehlo.negate arg0 -> result0\n"
      "  stablehlo.abs result0 -> result1\n"
      "  view stablehlo.reshape result1 -> result1\n"
      "  return result0 result1\n");
}

// A broadcast to dimensions of one element moves nothing; one that turns others does.
static void broadcasts_of_all_elements_are_views(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<1x3x4xf32>) -> (tensor<3x1x4x1xf32>, tensor<4x1x3xf32>) {\n"
      "  %0 = stablehlo.negate %x : tensor<1x3x4xf32>\n"
      "  %1 = stablehlo.broadcast_in_dim %0, dims = [1, 0, 2]\n"
      "      : (tensor<1x3x4xf32>) -> tensor<3x1x4x1xf32>\n"
      "  %2 = stablehlo.broadcast_in_dim %x, dims = [1, 2, 0]\n"
      "      : (tensor<1x3x4xf32>) -> tensor<4x1x3xf32>\n"
      "  return %1, %2 : tensor<3x1x4x1xf32>, tensor<4x1x3xf32>\n"
      "}\n",
      "plan of @main: 0 bytes of temporaries, 0 constants\n"
      "  stablehlo.negate arg0 -> result0\n"
      "  view stablehlo.broadcast_in_dim result0 -> result0\n"
      "  stablehlo.broadcast_in_dim arg0 -> result1\n"
      "  return result0 result1\n");
}

static void copies_what_is_returned_twice_or_passed_through(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,\n"
      "                                       tensor<f32>) {\n"
      "  %c = stablehlo.constant dense<2.0> : tensor<f32>\n"
      "  %0 = stablehlo.negate %x : tensor<4xf32>\n"
      "  return %0, %0, %x, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>\n"
      "}\n",
      "plan of @main: 0 bytes of temporaries, 1 constants\n"
      "  stablehlo.negate arg0 -> result0\n"
      "  copy 16 bytes result0 -> result1\n"
      "  copy 16 bytes arg0 -> result2\n"
      "  copy 4 bytes const0 -> result3\n"
      "  return result0 result0 arg0 const0\n");
}

static void temporaries_share_the_arena(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<32xf32>) -> tensor<32xf32> {\n"
      "  %0 = stablehlo.negate %x : tensor<32xf32>\n"
      "  %1 = stablehlo.abs %0 : tensor<32xf32>\n"
      "  %2 = stablehlo.negate %1 : tensor<32xf32>\n"
      "  %3 = stablehlo.abs %2 : tensor<32xf32>\n"
      "  return %3 : tensor<32xf32>\n"
      "}\n",
      "plan of @main: 256 bytes of temporaries, 0 constants\n"
      "  stablehlo.negate arg0 -> temp+0\n"
      "  stablehlo.abs temp+0 -> temp+128\n"
      "  stablehlo.negate temp+128 -> temp+0\n"
      "  stablehlo.abs temp+0 -> result0\n"
      "  return result0\n");
}

// The loop's tensor is updated in the result's memory; what never changes is not copied.
static void loops_update_in_place(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<64xf32>, %w: tensor<1xf32>, %n: tensor<i32>) -> tensor<64xf32> "
      "{\n"
      "  %c = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %0:4 = stablehlo.while(%i = %c, %a = %x, %v = %w, %m = %n)\n"
      "      : tensor<i32>, tensor<64xf32>, tensor<1xf32>, tensor<i32>\n"
      "    cond {\n"
      "      %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "      stablehlo.return %p : tensor<i1>\n"
      "    } do {\n"
      "      %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "      %i2 = stablehlo.add %i, %one : tensor<i32>\n"
      "      %u = stablehlo.dynamic_update_slice %a, %v, %i2\n"
      "          : (tensor<64xf32>, tensor<1xf32>, tensor<i32>) -> tensor<64xf32>\n"
      "      stablehlo.return %i2, %u, %v, %m\n"
      "          : tensor<i32>, tensor<64xf32>, tensor<1xf32>, tensor<i32>\n"
      "    }\n"
      "  return %0#1 : tensor<64xf32>\n"
      "}\n",
      "plan of @main: 128 bytes of temporaries, 2 constants\n"
      "  copy 4 bytes const0 -> temp+0\n"
      "  copy 256 bytes arg0 -> result0\n"
      "  stablehlo.while const0 arg0 arg1 arg2 -> temp+0, result0, arg1, arg2\n"
      "  region 0 temp+0 result0 arg1 arg2\n"
      "    stablehlo.compare temp+0 arg2 -> temp+64\n"
      "    return temp+64\n"
      "  region 1 temp+0 result0 arg1 arg2\n"
      "    stablehlo.add temp+0 const1 -> temp+64\n"
      "    stablehlo.dynamic_update_slice result0 arg1 temp+64 -> result0\n"
      "    copy 4 bytes temp+64 -> temp+0\n"
      "    return temp+64 result0 arg1 arg2\n"
      "  return result0\n");
}

// A value used after the update cannot be where the update goes.
static void updates_of_what_lives_on_are_copies(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<64xf32>, %w: tensor<1xf32>, %n: tensor<i32>)\n"
      "    -> (tensor<64xf32>, tensor<64xf32>) {\n"
      "  %0 = stablehlo.negate %x : tensor<64xf32>\n"
      "  %1 = stablehlo.dynamic_update_slice %0, %w, %n\n"
      "      : (tensor<64xf32>, tensor<1xf32>, tensor<i32>) -> tensor<64xf32>\n"
      "  return %0, %1 : tensor<64xf32>, tensor<64xf32>\n"
      "}\n",
      "plan of @main: 0 bytes of temporaries, 0 constants\n"
      "  stablehlo.negate arg0 -> result0\n"
      "  copy 256 bytes result0 -> result1\n"
      "  stablehlo.dynamic_update_slice result0 arg1 arg2 -> result1\n"
      "  return result0 result1\n");
}

static const char kSwap[] =
    "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: tensor<i1>)\n"
    "    -> (tensor<4xf32>, tensor<4xf32>) {\n"
    "  %0:3 = stablehlo.while(%a = %x, %b = %y, %p = %n)\n"
    "      : tensor<4xf32>, tensor<4xf32>, tensor<i1>\n"
    "    cond {\n"
    "      stablehlo.return %p : tensor<i1>\n"
    "    } do {\n"
    "      %q = stablehlo.not %p : tensor<i1>\n"
    "      stablehlo.return %b, %a, %q : tensor<4xf32>, tensor<4xf32>, tensor<i1>\n"
    "    }\n"
    "  return %0#0, %0#1 : tensor<4xf32>, tensor<4xf32>\n"
    "}\n";

static void loop_values_may_change_places(void** state) {
  (void)state;
  expect_plan(kSwap,
              "plan of @main: 192 bytes of temporaries, 0 constants\n"
              "  copy 16 bytes arg0 -> result0\n"
              "  copy 16 bytes arg1 -> result1\n"
              "  copy 1 bytes arg2 -> temp+0\n"
              "  stablehlo.while arg0 arg1 arg2 -> result0, result1, temp+0\n"
              "  region 0 result0 result1 temp+0\n"
              "    return temp+0\n"
              "  region 1 result0 result1 temp+0\n"
              "    stablehlo.not temp+0 -> temp+64\n"
              "    copy 1 bytes temp+64 -> temp+0\n"
              "    copy 16 bytes result0 -> temp+128\n"
              "    copy 16 bytes result1 -> result0\n"
              "    copy 16 bytes temp+128 -> result1\n"
              "    return result1 result0 temp+64\n"
              "  return result0 result1\n");
}

static void branches_write_where_the_result_is(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = \"stablehlo.if\"(%p) ({\n"
      "    %1 = stablehlo.negate %x : tensor<4xf32>\n"
      "    stablehlo.return %1 : tensor<4xf32>\n"
      "  }, {\n"
      "    stablehlo.return %x : tensor<4xf32>\n"
      "  }) : (tensor<i1>) -> tensor<4xf32>\n"
      "  return %0 : tensor<4xf32>\n"
      "}\n",
      "plan of @main: 0 bytes of temporaries, 0 constants\n"
      "  stablehlo.if arg0 -> result0\n"
      "  region 0\n"
      "    stablehlo.negate arg1 -> result0\n"
      "    return result0\n"
      "  region 1\n"
      "    copy 16 bytes arg1 -> result0\n"
      "    return arg1\n"
      "  return result0\n");
}

// The result may be the argument's memory: it is written only once the argument is not read any
// more.
static void donated_arguments_are_read_before_results_are_written(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %w: tensor<1xf32>,\n"
      "                %n: tensor<i32>) -> (tensor<64xf32>, tensor<64xf32>) {\n"
      "  %0 = stablehlo.negate %x : tensor<64xf32>\n"
      "  %1 = stablehlo.add %0, %x : tensor<64xf32>\n"
      "  return %0, %1 : tensor<64xf32>, tensor<64xf32>\n"
      "}\n",
      "plan of @main: 256 bytes of temporaries, 0 constants\n"
      "  stablehlo.negate arg0 -> temp+0\n"
      "  stablehlo.add temp+0 arg0 -> result1\n"
      "  copy 256 bytes temp+0 -> result0\n"
      "  return temp+0 result1\n");
  expect_plan(
      "func.func @main(%x: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %w: tensor<1xf32>,\n"
      "                %n: tensor<i32>) -> tensor<64xf32> {\n"
      "  %0 = stablehlo.dynamic_update_slice %x, %w, %n\n"
      "      : (tensor<64xf32>, tensor<1xf32>, tensor<i32>) -> tensor<64xf32>\n"
      "  return %0 : tensor<64xf32>\n"
      "}\n",
      "plan of @main: 0 bytes of temporaries, 0 constants\n"
      "  copy 256 bytes arg0 -> result0\n"
      "  stablehlo.dynamic_update_slice arg0 arg1 arg2 -> result0\n"
      "  return result0\n");
}

// Results are memory like any other until their values are there, or what a donated argument has in
// them is read for the last time.
static void temporaries_lie_in_results(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<1024xf32>) -> (tensor<2048xf32>, tensor<64xf32>) {\n"
      "  %0 = stablehlo.negate %x : tensor<1024xf32>\n"
      "  %1 = stablehlo.abs %0 : tensor<1024xf32>\n"
      "  %2 = stablehlo.add %0, %1 : tensor<1024xf32>\n"
      "  %3 = stablehlo.concatenate %2, %2, dim = 0\n"
      "      : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<2048xf32>\n"
      "  %4 = stablehlo.slice %3 [0:64] : (tensor<2048xf32>) -> tensor<64xf32>\n"
      "  return %3, %4 : tensor<2048xf32>, tensor<64xf32>\n"
      "}\n",
      "plan of @main: 4096 bytes of temporaries, 0 constants\n"
      "  stablehlo.negate arg0 -> result0\n"
      "  stablehlo.abs result0 -> result0+4096\n"
      "  stablehlo.add result0 result0+4096 -> temp+0\n"
      "  stablehlo.concatenate temp+0 temp+0 -> result0\n"
      "  stablehlo.slice result0 -> result1\n"
      "  return result0 result1\n");
  expect_plan(
      "func.func @main(%x: tensor<1024xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1024xf32> {\n"
      "  %0 = stablehlo.negate %x : tensor<1024xf32>\n"
      "  %1 = stablehlo.add %x, %0 : tensor<1024xf32>\n"
      "  %2 = stablehlo.negate %1 : tensor<1024xf32>\n"
      "  %3 = stablehlo.abs %2 : tensor<1024xf32>\n"
      "  %4 = stablehlo.abs %3 : tensor<1024xf32>\n"
      "  return %4 : tensor<1024xf32>\n"
      "}\n",
      "plan of @main: 8192 bytes of temporaries, 0 constants\n"
      "  stablehlo.negate arg0 -> temp+0\n"
      "  stablehlo.add arg0 temp+0 -> temp+4096\n"
      "  stablehlo.negate temp+4096 -> result0\n"
      "  stablehlo.abs result0 -> temp+0\n"
      "  stablehlo.abs temp+0 -> result0\n"
      "  return result0\n");
}

static void donated_arguments_may_change_places(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32},\n"
      "                %y: tensor<4xf32> {tf.aliasing_output = 1 : i32})\n"
      "    -> (tensor<4xf32>, tensor<4xf32>) {\n"
      "  return %y, %x : tensor<4xf32>, tensor<4xf32>\n"
      "}\n",
      "plan of @main: 64 bytes of temporaries, 0 constants\n"
      "  copy 16 bytes arg0 -> temp+0\n"
      "  copy 16 bytes arg1 -> result0\n"
      "  copy 16 bytes temp+0 -> result1\n"
      "  return arg1 arg0\n");
}

// A value captured by a loop lives to its end, whatever is used after it inside.
static void captured_values_outlive_every_round(void** state) {
  (void)state;
  fixture_t f;
  make(
      "func.func @main(%x: tensor<64xf32>, %n: tensor<i1>) -> tensor<64xf32> {\n"
      "  %k = stablehlo.negate %x : tensor<64xf32>\n"
      "  %0:2 = stablehlo.while(%a = %x, %p = %n) : tensor<64xf32>, tensor<i1>\n"
      "    cond {\n"
      "      stablehlo.return %p : tensor<i1>\n"
      "    } do {\n"
      "      %1 = stablehlo.add %a, %k : tensor<64xf32>\n"
      "      %2 = stablehlo.abs %1 : tensor<64xf32>\n"
      "      %3 = stablehlo.negate %2 : tensor<64xf32>\n"
      "      stablehlo.return %3, %p : tensor<64xf32>, tensor<i1>\n"
      "    }\n"
      "  return %0#0 : tensor<64xf32>\n"
      "}\n",
      &f);
  hlo_test_check(hlo_plan_check(f.plan));
  drop(&f);
}

// Every place of a right plan moved to another one in turn: the proof must fail, or the value be
// one that nobody reads there.
static void the_proof_finds_wrong_allocations(void** state) {
  (void)state;
  fixture_t f;
  make(kSwap, &f);
  const hlo_node_t* loop = f.module->first_func->body->first;
  const hlo_value_t* victims[] = {loop->regions[0]->args[0], loop->regions[1]->args[1],
                                  &loop->results[0], &loop->regions[1]->first->results[0]};
  for (size_t i = 0; i < sizeof victims / sizeof victims[0]; ++i) {
    hlo_allocation_t* allocation = &f.plan->allocations[victims[i]->index];
    hlo_allocation_t right = *allocation;
    *allocation = (hlo_allocation_t){HLO_ALLOCATION_TEMPORARY, 0, 32};
    hlo_status_t status = hlo_plan_check(f.plan);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
    hlo_status_release(status);
    *allocation = right;
  }
  hlo_copy_list_t* copies = &f.plan->copies[hlo_region_terminator(loop->regions[1])->index];
  for (uint32_t i = 0; i < copies->count; ++i) {
    hlo_copy_t right = copies->items[i];
    copies->items[i] = copies->items[(i + 1) % copies->count];
    hlo_status_t status = hlo_plan_check(f.plan);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
    hlo_status_release(status);
    copies->items[i] = right;
  }
  hlo_test_check(hlo_plan_check(f.plan));
  drop(&f);
}

// Updates one after the other are in one buffer, however many there are.
static void long_chains_are_in_place(void** state) {
  (void)state;
  enum { COUNT = 600 };
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text,
                  "func.func @main(%x: tensor<64xf32>, %u: tensor<4xf32>) -> tensor<64xf32> {\n"
                  "%i = stablehlo.constant dense<3> : tensor<i32>\n"
                  "%0 = stablehlo.negate %x : tensor<64xf32>\n");
  for (int i = 0; i < COUNT; ++i) {
    hlo_strbuf_printf(&text,
                      "%%%d = stablehlo.dynamic_update_slice %%%d, %%u, %%i : (tensor<64xf32>, "
                      "tensor<4xf32>, tensor<i32>) -> tensor<64xf32>\n",
                      i + 1, i);
  }
  hlo_strbuf_printf(&text, "return %%%d : tensor<64xf32>\n}\n", COUNT);
  fixture_t f;
  make(hlo_strbuf_text(&text), &f);
  assert_int_equal(f.plan->temporary_bytes, 0);
  for (const hlo_node_t* node = f.module->first_func->body->first; node; node = node->next) {
    assert_int_equal(f.plan->copies[node->index].count, 0);
  }
  hlo_test_check(hlo_plan_check(f.plan));
  hlo_strbuf_deinit(&text);
  drop(&f);
}

// More values at a time than gaps are looked for among: they still take turns.
static void many_values_share_the_arena(void** state) {
  (void)state;
  enum { COUNT = 1500, ROUNDS = 2 };
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text,
                  "func.func @main(%s: tensor<16xf32>, %t: tensor<100xf32>) -> "
                  "(tensor<16xf32>, tensor<100xf32>) {\n");
  for (int round = 0; round < ROUNDS; ++round) {
    for (int i = 0; i < COUNT; ++i) {
      hlo_strbuf_printf(&text, "%%v%d_%d = stablehlo.negate %%%s : tensor<%dxf32>\n", round, i,
                        i % 2 ? "t" : "s", i % 2 ? 100 : 16);
    }
    for (int i = 0; i < COUNT; ++i) {
      const char* before = i < 2 ? i ? "%t" : "%s" : NULL;
      hlo_strbuf_printf(&text, "%%w%d_%d = stablehlo.add %%v%d_%d, ", round, i, round, i);
      if (before) {
        hlo_strbuf_puts(&text, before);
      } else {
        hlo_strbuf_printf(&text, "%%w%d_%d", round, i - 2);
      }
      hlo_strbuf_printf(&text, " : tensor<%dxf32>\n", i % 2 ? 100 : 16);
    }
  }
  hlo_strbuf_printf(&text, "return %%w%d_%d, %%w%d_%d : tensor<16xf32>, tensor<100xf32>\n}\n",
                    ROUNDS - 1, COUNT - 2, ROUNDS - 1, COUNT - 1);
  fixture_t f;
  make(hlo_strbuf_text(&text), &f);
  const uint64_t at_once = COUNT / 2 * (64 + 448);
  assert_true(f.plan->temporary_bytes >= at_once);
  assert_true(f.plan->temporary_bytes <= at_once + at_once / 4);
  hlo_test_check(hlo_plan_check(f.plan));
  hlo_strbuf_deinit(&text);
  drop(&f);
}

static void print_types(uint32_t count, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_puts(out, i ? ", tensor<16xf32>" : "tensor<16xf32>");
  }
}

// Arguments, each donated to the result that it names or to one of its size, that go on to other
// results in circles.
static void make_circles(uint32_t count, uint32_t circle, bool is_named, fixture_t* f) {
  hlo_strbuf_t text = {0};
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_printf(&text, "%s%%a%u: tensor<16xf32> ", i ? ", " : "func.func @main(", i);
    if (is_named) {
      hlo_strbuf_printf(&text, "{tf.aliasing_output = %u : i32}", i);
    } else {
      hlo_strbuf_puts(&text, "{jax.buffer_donor = true}");
    }
  }
  hlo_strbuf_puts(&text, ") -> (");
  print_types(count, &text);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t from = i / circle * circle + (i + 1) % circle;
    hlo_strbuf_printf(&text, "%s%%a%u", i ? ", " : ") {\nreturn ", from < count ? from : i);
  }
  hlo_strbuf_puts(&text, " : ");
  print_types(count, &text);
  hlo_strbuf_puts(&text, "\n}\n");
  make(hlo_strbuf_text(&text), f);
  hlo_strbuf_deinit(&text);
}

// The arrays are walked together: on Intel a load waits for an earlier store 4 KiB away. There are
// as many as different offsets.
static void large_temporaries_begin_at_different_offsets_of_a_page(void** state) {
  (void)state;
  enum { COUNT = 16, SIZE_BYTES = 1 << 20, WAYS = HLO_BLOCK_ALIAS_BYTES / HLO_BLOCK_ALIGNMENT };
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text,
                  "func.func @main(%x: tensor<512x512xf32>) -> tensor<1x1xf32> {\n"
                  "%0 = stablehlo.negate %x : tensor<512x512xf32>\n");
  for (int i = 1; i < COUNT; ++i) {
    hlo_strbuf_printf(&text, "%%%d = stablehlo.abs %%%d : tensor<512x512xf32>\n", i, i - 1);
  }
  hlo_strbuf_puts(&text, "%s0 = stablehlo.add %0, %0 : tensor<512x512xf32>\n");
  for (int i = 1; i < COUNT; ++i) {  // all of them are needed until here
    hlo_strbuf_printf(&text, "%%s%d = stablehlo.add %%s%d, %%%d : tensor<512x512xf32>\n", i, i - 1,
                      i);
  }
  hlo_strbuf_printf(&text,
                    "%%r = stablehlo.slice %%s%d [0:1, 0:1] : (tensor<512x512xf32>) -> "
                    "tensor<1x1xf32>\nreturn %%r : tensor<1x1xf32>\n}\n",
                    COUNT - 1);
  fixture_t f;
  make(hlo_strbuf_text(&text), &f);
  hlo_test_check(hlo_plan_check(f.plan));
  bool is_taken[WAYS] = {false};
  const hlo_node_t* node = f.module->first_func->body->first;
  for (int i = 0; i < COUNT; ++i, node = node->next) {
    const hlo_allocation_t allocation = hlo_plan_allocation(f.plan, &node->results[0]);
    assert_int_equal(allocation.kind, HLO_ALLOCATION_TEMPORARY);
    assert_int_equal(allocation.offset_bytes % HLO_BLOCK_ALIGNMENT, 0);
    const uint64_t way = allocation.offset_bytes % HLO_BLOCK_ALIAS_BYTES / HLO_BLOCK_ALIGNMENT;
    assert_false(is_taken[way]);
    is_taken[way] = true;
  }
  const uint64_t at_once = (uint64_t)(COUNT + 1) * SIZE_BYTES;  // with a sum
  assert_true(f.plan->temporary_bytes <= at_once + at_once / 128);
  hlo_strbuf_deinit(&text);
  drop(&f);
}

// One array of each circle is saved before its memory is written.
static void many_donated_arguments_change_places(void** state) {
  (void)state;
  enum { MANY = 6000, SOME = 60 };
  fixture_t f;
  for (int is_named = 0; is_named < 2; ++is_named) {
    for (uint32_t circle = 2; circle <= MANY; circle *= 10) {
      make_circles(MANY, circle, is_named, &f);
      const hlo_node_t* end = hlo_region_terminator(f.plan->func->body);
      assert_int_equal(f.plan->copies[end->index].count, MANY + MANY / circle);
      drop(&f);
    }
    for (uint32_t circle = 2; circle <= SOME; circle *= 3) {
      make_circles(SOME, circle, is_named, &f);
      hlo_test_check(hlo_plan_check(f.plan));
      drop(&f);
    }
  }
}

// ---- the memory of collectives

#define REDUCE(out, in, attrs)                                                                     \
  "  " out " = \"stablehlo.all_reduce\"(" in                                                       \
  ") ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %s = stablehlo.add %a, %b : tensor<f32>\n" \
  "    stablehlo.return %s : tensor<f32>\n  }) {replica_groups = dense<[[0, 1]]> : "               \
  "tensor<1x2xi64>" attrs "} : (tensor<4xf32>) -> tensor<4xf32>\n"
#define OWN ", hlocc.collective_memory"

// Arguments and constants are copied, results leave it at the end; other values are not there.
static void collectives_have_memory_of_their_own(void** state) {
  (void)state;
  expect_plan("func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
              "  %k = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
              "  %e = stablehlo.sine %x : tensor<4xf32>\n" REDUCE("%y", "%x", OWN)
                  REDUCE("%z", "%k", OWN) "  %n = stablehlo.cosine %e : tensor<4xf32>\n" REDUCE(
                      "%w", "%n", OWN) "  %r = stablehlo.add %w, %z : tensor<4xf32>\n"
                                       "  return %y, %r : tensor<4xf32>, tensor<4xf32>\n}\n",
              "plan of @main: 256 bytes of temporaries, 192 of them for collectives, 1 constants\n"
              "  stablehlo.sine arg0 -> temp+0\n"
              "  copy 16 bytes arg0 -> collective+128\n"
              "  stablehlo.all_reduce collective+128 -> collective+64\n"
              "  copy 16 bytes const0 -> collective+192\n"
              "  stablehlo.all_reduce collective+192 -> collective+128\n"
              "  stablehlo.cosine temp+0 -> collective+192\n"
              "  stablehlo.all_reduce collective+192 -> collective+192\n"
              "  stablehlo.add collective+192 collective+128 -> result1\n"
              "  copy 16 bytes collective+64 -> result0\n"
              "  return collective+64 result1\n");
}

// Its loop values are in this memory, and an argument only once it is one.
static void collectives_in_loops_have_memory_of_their_own(void** state) {
  (void)state;
  expect_plan("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
              "  %i = stablehlo.constant dense<0> : tensor<i32>\n"
              "  %0:2 = stablehlo.while(%j = %i, %v = %x) : tensor<i32>, tensor<4xf32>\n"
              "  cond {\n    %c = stablehlo.compare LT, %j, %j : (tensor<i32>, tensor<i32>) -> "
              "tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  } do {\n" REDUCE("%y", "%v", OWN)
              "    stablehlo.return %j, %y : tensor<i32>, tensor<4xf32>\n  }\n"
              "  return %0#1 : tensor<4xf32>\n}\n",
              "plan of @main: 128 bytes of temporaries, 64 of them for collectives, 1 constants\n"
              "  copy 16 bytes arg0 -> collective+64\n"
              "  stablehlo.while const0 arg0 -> const0, collective+64\n"
              "  region 0 const0 collective+64\n"
              "    stablehlo.compare const0 const0 -> temp+0\n"
              "    return temp+0\n"
              "  region 1 const0 collective+64\n"
              "    stablehlo.all_reduce collective+64 -> collective+64\n"
              "    return const0 collective+64\n"
              "  copy 16 bytes collective+64 -> result0\n"
              "  return collective+64\n");
}

static void sums_cover_operands_unless_told_otherwise(void** state) {
  (void)state;
  expect_plan(
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %e = stablehlo.sine %x : tensor<4xf32>\n" REDUCE("%y", "%e",
                                                          "") "  return %y : tensor<4xf32>\n}\n",
      "plan of @main: 0 bytes of temporaries, 0 constants\n"
      "  stablehlo.sine arg0 -> result0\n"
      "  stablehlo.all_reduce result0 -> result0\n"
      "  return result0\n");
  expect_plan(
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %e = stablehlo.sine %x : tensor<4xf32>\n" REDUCE(
          "%y", "%e", ", hlocc.out_of_place") "  return %y : tensor<4xf32>\n}\n",
      "plan of @main: 64 bytes of temporaries, 0 constants\n"
      "  stablehlo.sine arg0 -> temp+0\n"
      "  stablehlo.all_reduce temp+0 -> result0\n"
      "  return result0\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(computes_results_where_they_are_wanted),
      cmocka_unit_test(broadcasts_of_all_elements_are_views),
      cmocka_unit_test(copies_what_is_returned_twice_or_passed_through),
      cmocka_unit_test(temporaries_share_the_arena),
      cmocka_unit_test(loops_update_in_place),
      cmocka_unit_test(updates_of_what_lives_on_are_copies),
      cmocka_unit_test(loop_values_may_change_places),
      cmocka_unit_test(branches_write_where_the_result_is),
      cmocka_unit_test(donated_arguments_are_read_before_results_are_written),
      cmocka_unit_test(temporaries_lie_in_results),
      cmocka_unit_test(donated_arguments_may_change_places),
      cmocka_unit_test(captured_values_outlive_every_round),
      cmocka_unit_test(the_proof_finds_wrong_allocations),
      cmocka_unit_test(long_chains_are_in_place),
      cmocka_unit_test(many_values_share_the_arena),
      cmocka_unit_test(large_temporaries_begin_at_different_offsets_of_a_page),
      cmocka_unit_test(many_donated_arguments_change_places),
      cmocka_unit_test(collectives_have_memory_of_their_own),
      cmocka_unit_test(collectives_in_loops_have_memory_of_their_own),
      cmocka_unit_test(sums_cover_operands_unless_told_otherwise),
  };
  return cmocka_run_group_tests_name("codegen/plan", tests, NULL, NULL);
}
