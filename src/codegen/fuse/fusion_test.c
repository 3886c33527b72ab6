// SPDX-License-Identifier: Apache-2.0
// Tests schedules: fusions of typical programs, equal fusions, and compile time that grows linearly
// with the program.
#include <stdio.h>
#include <string.h>

#include "codegen/dot/matmul.h"
#include "codegen/emit/entry.h"
#include "codegen/fuse/fusion_impl.h"
#include "codegen/loops/kernel_impl.h"
#include "ir/test_util.h"

typedef struct fixture {
  hlo_module_t* module;
  hlo_arena_t arena;
  hlo_target_t target;
  hlo_schedule_t* schedule;
} fixture_t;

static void make_for(hlo_cpu_level_t level, const char* text, fixture_t* f) {
  *f = (fixture_t){.module = hlo_test_parse(text)};
  hlo_arena_init(&f->arena, 0);
  hlo_target_init(&(hlo_cpu_t){.level = level}, &f->target);
  hlo_test_check(
      hlo_schedule_create(hlo_module_entry(f->module), &f->target, &f->arena, &f->schedule));
}

static void make(const char* text, fixture_t* f) {
  make_for(HLO_CPU_LEVEL_AVX2, text, f);
}

static void drop(fixture_t* f) {
  hlo_arena_deinit(&f->arena);
  hlo_module_release(f->module);
}

static const hlo_fusion_t* fusion_at(const fixture_t* f, uint32_t step) {
  const hlo_sequence_t* sequence = &f->schedule->sequences[0];
  assert_true(step < sequence->step_count);
  assert_int_equal(sequence->steps[step].kind, HLO_STEP_FUSION);
  return sequence->steps[step].fusion;
}

static hlo_plan_t* make_plan(fixture_t* f) {
  const hlo_sequence_t* body = &f->schedule->sequences[0];
  hlo_kernel_t** kernels = hlo_arena_array(&f->arena, f->schedule->fusion_count, sizeof *kernels);
  for (uint32_t i = 0; i < body->step_count; ++i) {
    if (body->steps[i].fusion) {
      kernels[body->steps[i].fusion->index] = body->steps[i].fusion->kernel;
    }
  }
  hlo_plan_t* plan;
  hlo_test_check(
      hlo_plan_create(hlo_module_entry(f->module), f->schedule, kernels, false, &f->arena, &plan));
  return plan;
}

// Returns the number of instructions of the whole program.
static uint64_t count_instructions(fixture_t* f) {
  hlo_plan_t* plan = make_plan(f);
  hlo_call_site_table_t table = {0};
  hlo_test_check(hlo_call_site_table_init(plan, &f->arena, &table));
  hlo_vir_module_t* vir;
  hlo_test_check(hlo_vir_module_create(&vir));
  hlo_test_check(hlo_entry_build(plan, &f->target, &table, &f->arena, vir));
  hlo_test_check(hlo_vir_verify(vir, f->target.vector_bytes));
  uint64_t count = 0;
  for (hlo_vir_func_t* func = vir->first_func; func; func = func->next) count += func->value_count;
  hlo_vir_module_release(vir);
  hlo_call_site_table_deinit(&table);
  return count;
}

// ---- equal fusions ------------------------------------------------------------------------------

// The reduced operand has another use, so that each round makes one or two fusions.
static void print_round(hlo_strbuf_t* out, uint32_t i, double constant) {
  const char* type = "tensor<32x48xf32>";
  uint32_t at = 10 * i, before = i ? at - 10 + 4 : 0;
  hlo_strbuf_printf(out, "%%%u = stablehlo.constant dense<%.9g> : %s\n", at + 1, constant, type);
  hlo_strbuf_printf(out, "%%%u = stablehlo.multiply %%%u, %%%u : %s\n", at + 2, before, at + 1,
                    type);
  hlo_strbuf_printf(out,
                    "%%%u = stablehlo.reduce(%%%u init: %%zero) applies stablehlo.add across "
                    "dimensions = [1] : (%s, tensor<f32>) -> tensor<32xf32>\n",
                    at + 3, at + 2, type);
  hlo_strbuf_printf(
      out, "%%b%u = stablehlo.broadcast_in_dim %%%u, dims = [0] : (tensor<32xf32>) -> %s\n", i,
      at + 3, type);
  hlo_strbuf_printf(out, "%%t%u = stablehlo.tanh %%b%u : %s\n", i, i, type);
  hlo_strbuf_printf(out, "%%%u = stablehlo.subtract %%%u, %%t%u : %s\n", at + 4, at + 2, i, type);
}

// Prints one op of a chain of elementwise ops.
static void print_link(hlo_strbuf_t* out, uint32_t i, double constant) {
  static const char* const ops[] = {"add", "multiply", "maximum", "subtract"};
  const char* type = "tensor<32x48xf32>";
  uint32_t at = 10 * i, before = i ? at - 10 + 4 : 0;
  hlo_strbuf_printf(out, "%%%u = stablehlo.constant dense<%.9g> : %s\n", at + 1, constant, type);
  hlo_strbuf_printf(out, "%%%u = stablehlo.%s %%%u, %%%u : %s\n", at + 4, ops[i % 4], before,
                    at + 1, type);
}

// Prints a matrix product with an epilogue.
static void print_layer(hlo_strbuf_t* out, uint32_t i, double constant) {
  const char* type = "tensor<32x48xf32>";
  uint32_t at = 10 * i, before = i ? at - 10 + 4 : 0;
  hlo_strbuf_printf(out, "%%%u = stablehlo.constant dense<%.9g> : %s\n", at + 1, constant, type);
  hlo_strbuf_printf(out,
                    "%%%u = stablehlo.dot_general %%%u, %%w, contracting_dims = [1] x [0] : "
                    "(%s, tensor<48x48xf32>) -> %s\n",
                    at + 2, before, type, type);
  hlo_strbuf_printf(out, "%%%u = stablehlo.multiply %%%u, %%%u : %s\n", at + 3, at + 2, at + 1,
                    type);
  hlo_strbuf_printf(out, "%%%u = stablehlo.tanh %%%u : %s\n", at + 4, at + 3, type);
}

// Prints an op that takes many instructions and can be fused with any number of others.
static void print_sine(hlo_strbuf_t* out, uint32_t i, double constant) {
  (void)constant;
  hlo_strbuf_printf(out, "%%%u = stablehlo.sine %%%u : tensor<32x48xf32>\n", 10 * i + 4,
                    i ? 10 * i - 6 : 0);
}

// Prints an op that is as cheap as a multiplication.
static void print_square(hlo_strbuf_t* out, uint32_t i, double constant) {
  (void)constant;
  hlo_strbuf_printf(out, "%%%u = chlo.square %%%u : tensor<32x48xf32> -> tensor<32x48xf32>\n",
                    10 * i + 4, i ? 10 * i - 6 : 0);
}

typedef void (*print_t)(hlo_strbuf_t* out, uint32_t i, double constant);

// step: difference between the constants of two rounds
static void make_rounds(fixture_t* f, print_t print, uint32_t count, double step) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text,
                  "func.func @main(%0: tensor<32x48xf32>, %w: tensor<48x48xf32>) -> "
                  "tensor<32x48xf32> {\n"
                  "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n");
  for (uint32_t i = 0; i < count; ++i) print(&text, i, 0.5 + step * i);
  hlo_strbuf_printf(&text, "return %%%u : tensor<32x48xf32>\n}\n", 10 * count - 6);
  make(hlo_strbuf_text(&text), f);
  hlo_strbuf_deinit(&text);
}

static void equal_fusions_have_one_kernel(void** state) {
  (void)state;
  fixture_t f;
  make_rounds(&f, print_layer, 3, 0);
  const hlo_fusion_t* model = fusion_at(&f, 0)->model;
  assert_non_null(model);
  for (uint32_t i = 0; i < 3; ++i) {
    assert_ptr_equal(fusion_at(&f, i)->model, model);
    assert_ptr_equal(fusion_at(&f, i)->kernel, model->kernel);
  }
  drop(&f);
}

static void other_constants_are_other_fusions(void** state) {
  (void)state;
  fixture_t f;
  make_rounds(&f, print_layer, 3, 0.125);
  for (uint32_t i = 0; i < 3; ++i) assert_null(fusion_at(&f, i)->model);
  drop(&f);
}

// Both reductions recompute the differences of all pairs; no array of that size is in memory.
static void broadcast_values_are_not_memory(void** state) {
  (void)state;
  fixture_t f;
  make(
      "func.func @main(%x: tensor<96xf32>, %y: tensor<160xf32>) -> (tensor<96xf32>, "
      "tensor<96xf32>) {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %a = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<96xf32>) -> tensor<96x160xf32>\n"
      "  %b = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<160xf32>) -> tensor<96x160xf32>\n"
      "  %c = stablehlo.subtract %a, %b : tensor<96x160xf32>\n"
      "  %d = stablehlo.multiply %c, %c : tensor<96x160xf32>\n"
      "  %r = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [1]\n"
      "      : (tensor<96x160xf32>, tensor<f32>) -> tensor<96xf32>\n"
      "  %e = stablehlo.exponential %c : tensor<96x160xf32>\n"
      "  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.maximum across dimensions = [1]\n"
      "      : (tensor<96x160xf32>, tensor<f32>) -> tensor<96xf32>\n"
      "  return %r, %s : tensor<96xf32>, tensor<96xf32>\n}\n",
      &f);
  for (uint32_t i = 0; i < f.schedule->sequences[0].step_count; ++i) {
    const hlo_fusion_t* fusion = fusion_at(&f, i);
    for (uint32_t o = 0; o < fusion->output_count; ++o) {
      assert_int_equal(fusion->outputs[o]->type->rank, 1);
    }
  }
  drop(&f);
}

static void expect_one_fusion(const char* text, uint32_t outputs, uint32_t extra_outputs) {
  fixture_t f;
  make(text, &f);
  assert_int_equal(f.schedule->sequences[0].step_count, 1);
  assert_int_equal(fusion_at(&f, 0)->output_count, outputs);
  assert_int_equal(fusion_at(&f, 0)->extra_output_count, extra_outputs);
  drop(&f);
}

// The summed values are stored on the way; sums of rows are stored before the loops that use them.
static void outputs_have_several_sizes(void** state) {
  (void)state;
  expect_one_fusion(
      "func.func @main(%x: tensor<96x160xf32>) -> (tensor<96x160xf32>, tensor<96xf32>) {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %e = stablehlo.exponential %x : tensor<96x160xf32>\n"
      "  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1]\n"
      "      : (tensor<96x160xf32>, tensor<f32>) -> tensor<96xf32>\n"
      "  return %e, %s : tensor<96x160xf32>, tensor<96xf32>\n}\n",
      2, 1);
  expect_one_fusion(
      "func.func @main(%x: tensor<96x160xf32>) -> (tensor<96x160xf32>, tensor<96xf32>) {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]\n"
      "      : (tensor<96x160xf32>, tensor<f32>) -> tensor<96xf32>\n"
      "  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<96xf32>) -> tensor<96x160xf32>\n"
      "  %y = stablehlo.divide %x, %b : tensor<96x160xf32>\n"
      "  return %y, %s : tensor<96x160xf32>, tensor<96xf32>\n}\n",
      2, 1);
}

#define ROW_SUM(to, from, op, first)                                               \
  "  %" to " = stablehlo.reduce(%" from " init: %" first ") applies stablehlo." op \
  " across dimensions = [1] : (tensor<96x160xf32>, tensor<f32>) -> tensor<96xf32>\n"

// Ops that read the same array in the same order are one fusion, whether or not one uses the other.
static void readers_of_one_array_are_one_fusion(void** state) {
  (void)state;
  expect_one_fusion(
      "func.func @main(%x: tensor<96x160xf32>) -> (tensor<96xf32>, tensor<96xf32>) {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n" ROW_SUM("s", "x", "add", "zero")
          ROW_SUM("m", "x", "maximum",
                  "zero") "  return %s, %m : tensor<96xf32>, tensor<96xf32>\n}\n",
      2, 0);
  expect_one_fusion(  // a softmax and the values that its gradient needs
      "func.func @main(%x: tensor<96x160xf32>) -> (tensor<96x160xf32>, tensor<96x160xf32>, "
      "tensor<96xf32>, tensor<96xf32>) {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      ROW_SUM("m", "x", "maximum", "zero")
      "  %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<96xf32>) -> tensor<96x160xf32>\n"
      "  %c = stablehlo.subtract %x, %b : tensor<96x160xf32>\n"
      "  %e = stablehlo.exponential %c : tensor<96x160xf32>\n"
      ROW_SUM("s", "e", "add", "zero")
      "  %d = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<96xf32>) -> tensor<96x160xf32>\n"
      "  %y = stablehlo.divide %e, %d : tensor<96x160xf32>\n"
      "  return %y, %e, %s, %m : tensor<96x160xf32>, tensor<96x160xf32>, tensor<96xf32>, "
      "tensor<96xf32>\n}\n",
      4, 2);
}

// Rows and columns of one array are read in two orders; a value that a step between two fusions
// needs is not delayed.
static void not_all_readers_of_one_array_are_one_fusion(void** state) {
  (void)state;
  fixture_t f;
  make(
      "func.func @main(%x: tensor<128x128xf32>) -> (tensor<128xf32>, tensor<128xf32>) {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]\n"
      "      : (tensor<128x128xf32>, tensor<f32>) -> tensor<128xf32>\n"
      "  %c = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]\n"
      "      : (tensor<128x128xf32>, tensor<f32>) -> tensor<128xf32>\n"
      "  return %r, %c : tensor<128xf32>, tensor<128xf32>\n}\n",
      &f);
  assert_int_equal(f.schedule->sequences[0].step_count, 2);
  drop(&f);
  make("func.func @main(%x: tensor<96x160xf32>) -> (tensor<96xf32>, tensor<96xf32>) {\n"
       "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
       ROW_SUM("s", "x", "add", "zero")
       "  %t = \"stablehlo.sort\"(%s) ({\n"
       "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
       "    %lt = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
       "    stablehlo.return %lt : tensor<i1>\n"
       "  }) {dimension = 0 : i64, is_stable = true} : (tensor<96xf32>) -> tensor<96xf32>\n"
       "  %b = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<96xf32>) -> tensor<96x160xf32>\n"
       "  %y = stablehlo.add %x, %b : tensor<96x160xf32>\n"
       ROW_SUM("m", "y", "maximum", "zero")
       "  return %s, %m : tensor<96xf32>, tensor<96xf32>\n}\n",
       &f);
  assert_int_equal(f.schedule->sequences[0].step_count, 3);
  drop(&f);
}

// Slices of slices whose indices have more terms than an index expression can hold: not all are
// fused.
static void long_expressions_are_not_all_fused(void** state) {
  (void)state;
  enum { RANK = 6, SLICES = 9, FIRST = 12 };
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text,
                  "func.func @main(%0: tensor<12x12x12x12x12x12xi8>, %i: tensor<i32>) -> "
                  "tensor<3x3x3x3x3x3xi8> {\n");
  for (uint32_t i = 0; i < SLICES; ++i) {
    for (uint32_t k = 0; k < RANK; ++k) {
      uint32_t at = RANK * i + k;
      hlo_strbuf_printf(&text, "%%c%u = stablehlo.constant dense<%u> : tensor<i32>\n", at, at + 2);
      hlo_strbuf_printf(&text, "%%i%u = stablehlo.remainder %%i, %%c%u : tensor<i32>\n", at, at);
    }
    hlo_strbuf_printf(&text, "%%%u = \"stablehlo.dynamic_slice\"(%%%u", i + 1, i);
    for (uint32_t k = 0; k < RANK; ++k) hlo_strbuf_printf(&text, ", %%i%u", RANK * i + k);
    uint32_t from = FIRST - i, to = from - 1;
    hlo_strbuf_printf(&text,
                      ") {slice_sizes = array<i64: %u, %u, %u, %u, %u, %u>} : "
                      "(tensor<%ux%ux%ux%ux%ux%uxi8>, tensor<i32>, tensor<i32>, tensor<i32>, "
                      "tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<%ux%ux%ux%ux%ux%uxi8>\n",
                      to, to, to, to, to, to, from, from, from, from, from, from, to, to, to, to,
                      to, to);
  }
  hlo_strbuf_printf(&text, "return %%%u : tensor<3x3x3x3x3x3xi8>\n}\n", SLICES);
  fixture_t f;
  make(hlo_strbuf_text(&text), &f);
  assert_true(f.schedule->sequences[0].step_count > 1);
  drop(&f);
  hlo_strbuf_deinit(&text);
}

// A sum of more arrays than a fusion can read becomes a few fusions, not one for each array.
static void wide_sums_are_halved(void** state) {
  (void)state;
  enum { ARRAYS = 60 };
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text, "func.func @main(%s0: tensor<64xf32>");
  for (uint32_t i = 1; i < ARRAYS; ++i) hlo_strbuf_printf(&text, ", %%x%u: tensor<64xf32>", i);
  hlo_strbuf_puts(&text, ") -> tensor<64xf32> {\n");
  for (uint32_t i = 1; i < ARRAYS; ++i) {
    hlo_strbuf_printf(&text, "%%s%u = stablehlo.add %%s%u, %%x%u : tensor<64xf32>\n", i, i - 1, i);
  }
  hlo_strbuf_printf(&text, "return %%s%u : tensor<64xf32>\n}\n", ARRAYS - 1);
  fixture_t f;
  make(hlo_strbuf_text(&text), &f);
  assert_int_equal(f.schedule->sequences[0].step_count, 2);
  drop(&f);
  hlo_strbuf_deinit(&text);
}

// When a sum of too many arrays is split, a cheap op may end one half: the other half recomputes
// it, and the half stores its operand.
static void cheap_ops_are_recomputed_in_each_half(void** state) {
  (void)state;
  enum { ARRAYS = 50 };
  for (uint32_t at = ARRAYS / 2 - 3; at < ARRAYS / 2 + 3; ++at) {
    hlo_strbuf_t text = {0};
    hlo_strbuf_puts(&text, "func.func @main(%s0: tensor<64xf32>");
    for (uint32_t i = 1; i < ARRAYS; ++i) {
      hlo_strbuf_printf(&text, ", %%x%u: tensor<64%sxf32>", i, i < at ? "" : "x3");
    }
    hlo_strbuf_puts(&text, ") -> tensor<64x3xf32> {\n");
    for (uint32_t i = 1; i < ARRAYS; ++i) {
      if (i == at) {
        hlo_strbuf_printf(&text,
                          "%%wide = stablehlo.broadcast_in_dim %%s%u, dims = [0] : "
                          "(tensor<64xf32>) -> tensor<64x3xf32>\n",
                          i - 1);
      }
      hlo_strbuf_printf(&text, "%%s%u = stablehlo.add %%", i);
      if (i == at) {
        hlo_strbuf_puts(&text, "wide");
      } else {
        hlo_strbuf_printf(&text, "s%u", i - 1);
      }
      hlo_strbuf_printf(&text, ", %%x%u : tensor<64%sxf32>\n", i, i < at ? "" : "x3");
    }
    hlo_strbuf_printf(&text, "return %%s%u : tensor<64x3xf32>\n}\n", ARRAYS - 1);
    fixture_t f;
    make(hlo_strbuf_text(&text), &f);
    assert_int_equal(f.schedule->sequences[0].step_count, 2);
    assert_true(count_instructions(&f) > 0);  // every value that is read is computed
    drop(&f);
    hlo_strbuf_deinit(&text);
  }
}

// ---- growth -------------------------------------------------------------------------------------

typedef struct cost {
  uint64_t walked, instructions;
} cost_t;

static cost_t cost_of(print_t print, uint32_t count, double step) {
  fixture_t f;
  make_rounds(&f, print, count, step);
  cost_t cost = {f.schedule->walked_count, count_instructions(&f)};
  drop(&f);
  return cost;
}

// A value with two users is stored once if it is expensive (tanh), else recomputed. Elements are
// divided by the sum of all.
static uint32_t count_steps_of_shares(int elements) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text,
                    "func.func @main(%%x: tensor<%dxf32>) -> tensor<%dxf32> {\n"
                    "%%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
                    "%%s = stablehlo.reduce(%%x init: %%zero) applies stablehlo.add across "
                    "dimensions = [0] : (tensor<%dxf32>, tensor<f32>) -> tensor<f32>\n"
                    "%%b = stablehlo.broadcast_in_dim %%s, dims = [] : (tensor<f32>) -> "
                    "tensor<%dxf32>\n"
                    "%%y = stablehlo.divide %%x, %%b : tensor<%dxf32>\n"
                    "return %%y : tensor<%dxf32>\n}\n",
                    elements, elements, elements, elements, elements, elements);
  fixture_t f;
  make(hlo_strbuf_text(&text), &f);
  uint32_t count = f.schedule->sequences[0].step_count;
  drop(&f);
  hlo_strbuf_deinit(&text);
  return count;
}

static void chunks_do_not_repeat_common_values(void** state) {
  (void)state;
  assert_int_equal(count_steps_of_shares(1000), 1);
  assert_int_equal(count_steps_of_shares(1000000), 2);
}

// Row sums that column sums use are computed outside the loops of the column sums.
static void inner_sums_are_not_repeated(void** state) {
  (void)state;
  fixture_t f;
  make(
      "func.func @main(%x: tensor<256x256xf32>) -> tensor<256xf32> {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %r = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]\n"
      "      : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>\n"
      "  %b = stablehlo.broadcast_in_dim %r, dims = [0]\n"
      "      : (tensor<256xf32>) -> tensor<256x256xf32>\n"
      "  %y = stablehlo.subtract %x, %b : tensor<256x256xf32>\n"
      "  %c = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]\n"
      "      : (tensor<256x256xf32>, tensor<f32>) -> tensor<256xf32>\n"
      "  return %c : tensor<256xf32>\n}\n",
      &f);
  assert_int_equal(f.schedule->sequences[0].step_count, 2);
  drop(&f);
}

// A product that fits one vector, divided by the sum of its squares.
static void small_products_are_not_repeated(void** state) {
  (void)state;
  fixture_t f;
  make_for(
      HLO_CPU_LEVEL_AVX512,
      "func.func @main(%a: tensor<3x3xf32>, %b: tensor<3x3xf32>) -> tensor<3x3xf32> {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]\n"
      "      : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>\n"
      "  %q = stablehlo.multiply %p, %p : tensor<3x3xf32>\n"
      "  %s = stablehlo.reduce(%q init: %zero) applies stablehlo.add across dimensions = [0, 1]\n"
      "      : (tensor<3x3xf32>, tensor<f32>) -> tensor<f32>\n"
      "  %t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<3x3xf32>\n"
      "  %d = stablehlo.divide %p, %t : tensor<3x3xf32>\n"
      "  return %d : tensor<3x3xf32>\n}\n",
      &f);
  assert_int_equal(f.schedule->sequences[0].step_count, 2);
  drop(&f);
}

// Sums over all others of a function of each pair times the vectors between them.
static void costly_ops_are_not_broadcast(void** state) {
  (void)state;
  fixture_t f;
  make(
      "func.func @main(%x: tensor<256x256xf32>, %d: tensor<256x256x3xf32>) -> tensor<256x3xf32> {\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %p = stablehlo.power %x, %x : tensor<256x256xf32>\n"
      "  %b = stablehlo.broadcast_in_dim %p, dims = [0, 1]\n"
      "      : (tensor<256x256xf32>) -> tensor<256x256x3xf32>\n"
      "  %y = stablehlo.multiply %d, %b : tensor<256x256x3xf32>\n"
      "  %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1]\n"
      "      : (tensor<256x256x3xf32>, tensor<f32>) -> tensor<256x3xf32>\n"
      "  return %s : tensor<256x3xf32>\n}\n",
      &f);
  assert_int_equal(f.schedule->sequences[0].step_count, 2);
  drop(&f);
}

// A long chain of ops that both halves of a result use is computed once.
static void long_chains_are_not_computed_for_each_part(void** state) {
  (void)state;
  for (uint32_t length = 8; length <= 80; length += 72) {
    hlo_strbuf_t text = {0};
    hlo_strbuf_puts(&text,
                    "func.func @main(%0: tensor<4096xi32>, %k: tensor<4096xi32>) -> "
                    "tensor<8192xi32> {\n");
    for (uint32_t i = 0; i < length; ++i) {
      hlo_strbuf_printf(&text, "%%%u = stablehlo.%s %%%u, %%k : tensor<4096xi32>\n", i + 1,
                        i % 2 ? "xor" : "add", i);
    }
    hlo_strbuf_printf(&text, "%%n = stablehlo.negate %%%u : tensor<4096xi32>\n", length);
    hlo_strbuf_printf(&text,
                      "%%y = stablehlo.concatenate %%%u, %%n, dim = 0 : (tensor<4096xi32>, "
                      "tensor<4096xi32>) -> tensor<8192xi32>\n",
                      length);
    hlo_strbuf_puts(&text, "return %y : tensor<8192xi32>\n}\n");
    fixture_t f;
    make(hlo_strbuf_text(&text), &f);
    assert_int_equal(f.schedule->sequences[0].step_count, length > 8 ? 2 : 1);
    drop(&f);
    hlo_strbuf_deinit(&text);
  }
}

static void plain_ops_are_recomputed(void** state) {
  (void)state;
  fixture_t f;
  make(
      "module {\n"
      "func.func public @main(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> "
      "{\n"
      "%one = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "%ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<64x64xf32>\n"
      "%t = stablehlo.tanh %x : tensor<64x64xf32>\n"
      "%up = stablehlo.add %t, %ones : tensor<64x64xf32>\n"
      "%down = stablehlo.subtract %ones, %t : tensor<64x64xf32>\n"
      "%slope = stablehlo.multiply %up, %down : tensor<64x64xf32>\n"
      "%twice = stablehlo.add %up, %up : tensor<64x64xf32>\n"
      "%y = stablehlo.multiply %x, %twice : tensor<64x64xf32>\n"
      "%p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] :"
      " (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n"
      "%q = stablehlo.dot_general %p, %w, contracting_dims = [1] x [0] :"
      " (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n"
      "%g = stablehlo.multiply %q, %slope : tensor<64x64xf32>\n"
      "%h = stablehlo.multiply %g, %twice : tensor<64x64xf32>\n"
      "return %h : tensor<64x64xf32>\n"
      "}\n}\n",
      &f);
  const hlo_fusion_t* first = fusion_at(&f, 0);
  assert_int_equal(first->output_count,
                   2);  // the product's operand and a value that the last fusion reads
  assert_int_equal(first->outputs[0]->def->op, HLO_OP_tanh);
  const hlo_fusion_t* last = fusion_at(&f, f.schedule->sequences[0].step_count - 1);
  assert_int_equal(last->nodes[0]->op, HLO_OP_multiply);
  bool reads_tanh = false;
  for (uint32_t i = 0; i < last->input_count; ++i) {
    reads_tanh |= last->inputs[i] == first->outputs[0];
  }
  assert_true(reads_tanh);
  drop(&f);
}

// A program four times as large may cost four times as much, and a little more for a late start.
static void expect_linear(print_t print, double step) {
  enum { COUNT = 400 };
  cost_t once = cost_of(print, COUNT, step), four = cost_of(print, 4 * COUNT, step);
  assert_true(four.walked <= 5 * once.walked);
  assert_true(four.instructions <= 5 * once.instructions);
}

static void cost_grows_with_the_program(void** state) {
  (void)state;
  expect_linear(print_round, 0.125);
  expect_linear(print_link, 0.125);
  expect_linear(print_layer, 0.125);
}

static void repetition_costs_next_to_nothing(void** state) {
  (void)state;
  enum { COUNT = 50, PER_CALL = 24 };
  cost_t once = cost_of(print_layer, COUNT, 0), four = cost_of(print_layer, 4 * COUNT, 0);
  assert_int_equal(four.walked, once.walked);
  assert_true(four.instructions - once.instructions <= (uint64_t)3 * COUNT * PER_CALL);
  once = cost_of(print_sine, COUNT * 2, 0), four = cost_of(print_sine, COUNT * 8, 0);
  assert_true(four.instructions - once.instructions <= (uint64_t)COUNT * PER_CALL);
}

// ---- recomputed ops -----------------------------------------------------------------------------

// Returns true if two reductions, along rows and down columns, both compute f(x) from x.
static bool is_computed_twice(const char* op, int64_t rows, int64_t columns) {
  hlo_strbuf_t text = {0};
  char type[64];
  snprintf(type, sizeof type, "tensor<%dx%dxf32>", (int)rows, (int)columns);
  hlo_strbuf_printf(&text, "func.func @main(%%x: %s, %%z: tensor<f32>) -> (tensor<%dxf32>, ", type,
                    (int)columns);
  hlo_strbuf_printf(&text, "tensor<%dxf32>) {\n%%f = stablehlo.%s %%x : %s\n", (int)rows, op, type);
  hlo_strbuf_printf(&text, "%%a = stablehlo.multiply %%f, %%x : %s\n", type);
  hlo_strbuf_printf(&text, "%%b = stablehlo.add %%f, %%x : %s\n", type);
  for (int dim = 0; dim < 2; ++dim) {
    hlo_strbuf_printf(&text,
                      "%%%d = stablehlo.reduce(%%%c init: %%z) applies stablehlo.add across "
                      "dimensions = [%d] : (%s, tensor<f32>) -> tensor<%dxf32>\n",
                      dim, "ab"[dim], dim, type, (int)(dim ? rows : columns));
  }
  hlo_strbuf_printf(&text, "return %%0, %%1 : tensor<%dxf32>, tensor<%dxf32>\n}", (int)columns,
                    (int)rows);
  fixture_t f;
  make(hlo_strbuf_text(&text), &f);
  assert_int_equal(f.schedule->fusion_count, 2);
  uint32_t outputs = fusion_at(&f, 0)->output_count + fusion_at(&f, 1)->output_count;
  drop(&f);
  hlo_strbuf_deinit(&text);
  return outputs == 2;
}

// An op is recomputed if that takes no longer than loading its result.
static void ops_are_recomputed_if_loading_is_slower(void** unused) {
  (void)unused;
  assert_true(is_computed_twice("negate", 32, 64));
  assert_true(is_computed_twice("negate", 4096, 2048));
  assert_false(is_computed_twice("sqrt", 256, 256));
  assert_true(is_computed_twice("sqrt", 4096, 2048));
  assert_false(is_computed_twice("tanh", 256, 256));
}

// ---- outputs ------------------------------------------------------------------------------------

// An array and its transpose: in neither order can the loops of both outputs have lanes.
static void orders_without_lanes_are_apart(void** unused) {
  (void)unused;
  fixture_t f;
  make(
      "func.func @main(%x: tensor<1000xf32>, %y: tensor<2x1000xf32>) -> "
      "(tensor<3x1000xf32>, tensor<1000x3xf32>) {\n"
      "%0 = stablehlo.reshape %x : (tensor<1000xf32>) -> tensor<1x1000xf32>\n"
      "%1 = stablehlo.concatenate %0, %y, dim = 0 : (tensor<1x1000xf32>, tensor<2x1000xf32>) -> "
      "tensor<3x1000xf32>\n"
      "%2 = stablehlo.sqrt %1 : tensor<3x1000xf32>\n"
      "%3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<3x1000xf32>) -> tensor<1000x3xf32>\n"
      "%4 = stablehlo.negate %3 : tensor<1000x3xf32>\n"
      "return %2, %4 : tensor<3x1000xf32>, tensor<1000x3xf32>\n}",
      &f);
  assert_int_equal(f.schedule->fusion_count, 2);
  drop(&f);
}

// Products of complex numbers as pairs: both parts are read before one is overwritten.
static void donated_pairs_are_overwritten(void** state) {
  (void)state;
  fixture_t f;
  make_for(
      HLO_CPU_LEVEL_AVX512,
      "func.func @main(%x: tensor<1000x2xf32> {tf.aliasing_output = 0 : i32}) -> "
      "tensor<1000x2xf32> {\n"
      "  %re = stablehlo.slice %x [0:1000, 0:1] : (tensor<1000x2xf32>) -> tensor<1000x1xf32>\n"
      "  %im = stablehlo.slice %x [0:1000, 1:2] : (tensor<1000x2xf32>) -> tensor<1000x1xf32>\n"
      "  %0 = stablehlo.multiply %re, %re : tensor<1000x1xf32>\n"
      "  %1 = stablehlo.multiply %im, %im : tensor<1000x1xf32>\n"
      "  %2 = stablehlo.subtract %0, %1 : tensor<1000x1xf32>\n"
      "  %3 = stablehlo.multiply %re, %im : tensor<1000x1xf32>\n"
      "  %4 = stablehlo.concatenate %2, %3, dim = 1 : (tensor<1000x1xf32>, tensor<1000x1xf32>) -> "
      "tensor<1000x2xf32>\n"
      "  return %4 : tensor<1000x2xf32>\n}\n",
      &f);
  const hlo_plan_t* plan = make_plan(&f);
  hlo_test_check(hlo_plan_check(plan));
  assert_int_equal(f.schedule->fusion_count, 1);
  assert_int_equal(plan->temporary_bytes, 0);
  drop(&f);
}

// ---- start of a trial ---------------------------------------------------------------------------

#define ROLLED_COLUMNS                                                                     \
  "func.func @main(%a: tensor<64x96xf32>) -> tensor<64x96xf32> {\n"                        \
  "%0 = stablehlo.slice %a [0:64, 3:96] : (tensor<64x96xf32>) -> tensor<64x93xf32>\n"      \
  "%1 = stablehlo.slice %a [0:64, 0:3] : (tensor<64x96xf32>) -> tensor<64x3xf32>\n"        \
  "%2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<64x93xf32>, tensor<64x3xf32>) -> " \
  "tensor<64x96xf32>\n"
#define ROLLED_ROWS                                                                        \
  "%3 = stablehlo.slice %2 [5:64, 0:96] : (tensor<64x96xf32>) -> tensor<59x96xf32>\n"      \
  "%4 = stablehlo.slice %2 [0:5, 0:96] : (tensor<64x96xf32>) -> tensor<5x96xf32>\n"        \
  "%5 = stablehlo.concatenate %3, %4, dim = 0 : (tensor<59x96xf32>, tensor<5x96xf32>) -> " \
  "tensor<64x96xf32>\n"

// Makes the only kernel of a program again.
static const hlo_kernel_t* kernel_from(fixture_t* f, const hlo_kernel_start_t* start) {
  hlo_fusion_t* fusion = hlo_arena_alloc(&f->arena, sizeof *fusion);
  assert_non_null(fusion);
  *fusion = *fusion_at(f, 0);
  fusion->kernel = NULL;
  fusion->start = start;
  hlo_kernel_t* kernel;
  hlo_test_check(
      hlo_kernel_create(fusion, &f->target, &hlo_product_form, NULL, &f->arena, &kernel));
  return kernel;
}

static void a_start_changes_no_loops(void** state) {
  (void)state;
  fixture_t part, whole;
  make(ROLLED_COLUMNS "return %2 : tensor<64x96xf32>\n}\n", &part);
  make(ROLLED_COLUMNS ROLLED_ROWS "return %5 : tensor<64x96xf32>\n}\n", &whole);
  const hlo_kernel_t* plain = kernel_from(&whole, NULL);
  hlo_kernel_start_t* start = NULL;
  hlo_test_check(hlo_kernel_keep_start(kernel_from(&part, NULL), &whole.arena, &start));
  assert_int_equal(start->segment_count, 2);
  for (uint32_t i = 0; i < 2; ++i) {  // with some of its nodes, then with all
    const hlo_kernel_t* begun = kernel_from(&whole, start);
    assert_int_equal(begun->segment_count, 4);
    assert_int_equal(begun->segment_count, plain->segment_count);
    assert_int_equal(begun->spaces[0].loop_count, plain->spaces[0].loop_count);
    assert_int_equal(begun->chunk_count, plain->chunk_count);
    assert_true(begun->cost_ns == plain->cost_ns);
    hlo_test_check(hlo_kernel_keep_start(begun, &whole.arena, &start));
  }
  drop(&part);
  drop(&whole);
}

// ---- members that join without a trial ----------------------------------------------------------

// Differences of adjacent rows and columns.
#define DIFFERENCES                                                                   \
  "func.func @main(%a: tensor<64x96xf32>) -> tensor<64x96xf32> {\n"                   \
  "%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"                             \
  "%0 = stablehlo.slice %a [1:64, 0:96] : (tensor<64x96xf32>) -> tensor<63x96xf32>\n" \
  "%1 = stablehlo.slice %a [0:63, 0:96] : (tensor<64x96xf32>) -> tensor<63x96xf32>\n" \
  "%2 = stablehlo.subtract %0, %1 : tensor<63x96xf32>\n"                              \
  "%3 = stablehlo.slice %a [0:64, 1:96] : (tensor<64x96xf32>) -> tensor<64x95xf32>\n" \
  "%4 = stablehlo.slice %a [0:64, 0:95] : (tensor<64x96xf32>) -> tensor<64x95xf32>\n" \
  "%5 = stablehlo.subtract %3, %4 : tensor<64x95xf32>\n"                              \
  "%6 = stablehlo.pad %2, %zero, low = [0, 0], high = [1, 0], interior = [0, 0] : "   \
  "(tensor<63x96xf32>, tensor<f32>) -> tensor<64x96xf32>\n"                           \
  "%7 = stablehlo.pad %5, %zero, low = [0, 0], high = [0, 1], interior = [0, 0] : "   \
  "(tensor<64x95xf32>, tensor<f32>) -> tensor<64x96xf32>\n"                           \
  "%8 = stablehlo.add %6, %7 : tensor<64x96xf32>\n"                                   \
  "return %8 : tensor<64x96xf32>\n}\n"

static void optimistic_groups_are_tried_once(void** state) {
  (void)state;
  fixture_t f;
  make(DIFFERENCES, &f);
  assert_int_equal(f.schedule->sequences[0].step_count, 1);
  assert_int_equal(f.schedule->walked_count, fusion_at(&f, 0)->node_count);
  drop(&f);
}

// Rotates an array `rounds` times beside `idle` unrelated ops; returns the number of its fusions,
// and their sizes as digits of *out_nodes.
static uint32_t roll_often(uint32_t rounds, uint32_t idle, uint32_t* out_nodes) {
  const char* type = "tensor<64xf32>";
  hlo_strbuf_t text = {0};
  hlo_strbuf_puts(&text,
                  "func.func @main(%x0: tensor<64xf32>, %i0: tensor<7xf32>) -> "
                  "(tensor<64xf32>, tensor<7xf32>) {\n");
  for (uint32_t i = 0; i < idle; ++i) {
    hlo_strbuf_printf(&text, "%%i%u = stablehlo.negate %%i%u : tensor<7xf32>\n", i + 1, i);
  }
  for (uint32_t i = 0; i < rounds; ++i) {
    uint32_t by = 1 + 5 * i % 31;
    hlo_strbuf_printf(&text,
                      "%%a%u = stablehlo.slice %%x%u [%u:64] : (%s) -> tensor<%uxf32>\n"
                      "%%b%u = stablehlo.slice %%x%u [0:%u] : (%s) -> tensor<%uxf32>\n"
                      "%%c%u = stablehlo.concatenate %%a%u, %%b%u, dim = 0 : (tensor<%uxf32>, "
                      "tensor<%uxf32>) -> %s\n"
                      "%%x%u = stablehlo.add %%c%u, %%x%u : %s\n",
                      i, i, by, type, 64 - by, i, i, by, type, by, i, i, i, 64 - by, by, type,
                      i + 1, i, i, type);
  }
  hlo_strbuf_printf(&text, "return %%x%u, %%i%u : %s, tensor<7xf32>\n}\n", rounds, idle, type);
  fixture_t f;
  make(hlo_strbuf_text(&text), &f);
  uint32_t count = 0;
  *out_nodes = 0;
  for (uint32_t i = 0; i < f.schedule->sequences[0].step_count; ++i) {
    const hlo_fusion_t* fusion = fusion_at(&f, i);
    if (hlo_type_element_count(fusion->outputs[0]->type) != 64) continue;
    *out_nodes = *out_nodes * 100 + fusion->node_count;
    ++count;
  }
  assert_true(count_instructions(&f) > 0);  // every value that is read is computed
  drop(&f);
  hlo_strbuf_deinit(&text);
  return count;
}

// In a long region every op is tried before it joins. A short region has the same fusions, even if
// its optimistic group does not fit.
static void optimistic_groups_change_no_fusions(void** state) {
  (void)state;
  uint32_t most = 0;
  for (uint32_t rounds = 1; rounds <= 12; ++rounds) {
    uint32_t nodes, careful_nodes;
    uint32_t count = roll_often(rounds, 0, &nodes);
    assert_int_equal(count, roll_often(rounds, HLO_TUNING_FUSE_OPTIMISTIC_NODES, &careful_nodes));
    assert_int_equal(nodes, careful_nodes);
    if (count > most) most = count;
  }
  assert_true(most > 1);
}

// ---- edges --------------------------------------------------------------------------------------

// Beside a large interior, unrolled code for the edges is not worth its size.
static void edges_are_short(void** state) {
  (void)state;
  static const char* const kStencil =
      "func.func @main(%%a: tensor<%ux%uxf32>) -> tensor<%ux%uxf32> {\n"
      "%%zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%%0 = stablehlo.pad %%a, %%zero, low = [1, 0], high = [-1, 0], interior = [0, 0] : "
      "(tensor<%ux%uxf32>, tensor<f32>) -> tensor<%ux%uxf32>\n"
      "%%1 = stablehlo.pad %%a, %%zero, low = [-1, 0], high = [1, 0], interior = [0, 0] : "
      "(tensor<%ux%uxf32>, tensor<f32>) -> tensor<%ux%uxf32>\n"
      "%%2 = stablehlo.subtract %%0, %%1 : tensor<%ux%uxf32>\n"
      "return %%2 : tensor<%ux%uxf32>\n}\n";
  uint64_t instructions[2];
  for (uint32_t i = 0; i < 2; ++i) {
    uint32_t rows = i ? 1024 : 8, n = (1u << 20) / rows;  // for eight rows the edge is not small
    hlo_strbuf_t text = {0};
    hlo_strbuf_printf(&text, kStencil, rows, n, rows, n, rows, n, rows, n, rows, n, rows, n, rows,
                      n, rows, n);
    fixture_t f;
    make_for(HLO_CPU_LEVEL_AVX512, hlo_strbuf_text(&text), &f);
    assert_int_equal(fusion_at(&f, 0)->kernel->segment_count, 3);
    instructions[i] = count_instructions(&f);
    drop(&f);
    hlo_strbuf_deinit(&text);
  }
  assert_true(instructions[1] < instructions[0]);
}

static void cheap_functions_are_one_fusion(void** state) {
  (void)state;
  fixture_t f;
  make_rounds(&f, print_square, 20, 0);
  assert_int_equal(f.schedule->sequences[0].step_count, 1);
  assert_int_equal(fusion_at(&f, 0)->node_count, 20);
  drop(&f);
}

// ---- the verifier -------------------------------------------------------------------------------

static void expect_broken(fixture_t* f, const char* rule) {
  hlo_status_t status = hlo_schedule_verify(f->schedule, hlo_module_entry(f->module));
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  if (!strstr(hlo_status_message(status), rule)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

static void broken_schedules_are_found(void** state) {
  (void)state;
  fixture_t f;
  make_rounds(&f, print_layer, 3, 0);
  hlo_test_check(hlo_schedule_verify(f.schedule, hlo_module_entry(f.module)));
  hlo_step_t* steps = f.schedule->sequences[0].steps;
  hlo_step_t step = steps[0];
  steps[0] = steps[1];
  steps[1] = step;
  expect_broken(&f, "a step reads only results of earlier steps");
  steps[0] = steps[1];
  expect_broken(&f, "a fusion is one step");
  drop(&f);
  make_rounds(&f, print_layer, 3, 0);
  hlo_fusion_t* fusion = f.schedule->sequences[0].steps[1].fusion;
  fusion->inputs[0] = fusion->outputs[0];
  expect_broken(&f, "an operand is an input or the result of a member");
  drop(&f);
  make_rounds(&f, print_layer, 3, 0);
  f.schedule->sequences[0].steps[1].fusion->kernel = NULL;
  expect_broken(&f, "equal fusions share a kernel");
  f.schedule->sequences[0].steps[1].kind = HLO_STEP_CALL;
  expect_broken(&f, "steps of kind FUSION have a fusion");
  drop(&f);
}

static void expect_illegal(const hlo_kernel_t* kernel, const char* rule) {
  hlo_status_t status = hlo_kernel_verify(kernel);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  if (!strstr(hlo_status_message(status), rule)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

// An elementwise program with lanes along the only loop.
static void illegal_kernels_are_found(void** state) {
  (void)state;
  fixture_t f;
  make_rounds(&f, print_link, 2, 0);
  hlo_kernel_t* kernel = fusion_at(&f, 0)->kernel;
  const hlo_kernel_t good = *kernel;
  hlo_test_check(hlo_kernel_verify(kernel));
  assert_int_equal(kernel->kind, HLO_KERNEL_LANES);
  kernel->kind = HLO_KERNEL_TRANSPOSE;
  expect_illegal(kernel, "of kind TRANSPOSE: broken rule: a kernel has the loops of its kind");
  *kernel = good;
  kernel->kind = HLO_KERNEL_POINTS;
  kernel->is_streamed = true;
  expect_illegal(kernel, "of kind POINTS: broken rule: stores past the caches");
  *kernel = good;
  kernel->loop_count = 0;
  expect_illegal(kernel, "every loop with more than one value runs");
  *kernel = good;
  kernel->segments[0][0][1] -= 1;
  expect_illegal(kernel, "every element of the output is in a segment");
  kernel->segments[0][0][1] += 1;
  kernel->cut = HLO_KERNEL_CUT_REDUCTION;
  expect_illegal(kernel, "of kind LANES: broken rule: chunks split what the kind allows");
  kernel->kind = HLO_KERNEL_SWEEP;
  expect_illegal(kernel, "a split reduction has at least two chunks");
  *kernel = good;
  kernel->spaces[0].element_count += 1;
  kernel->segment_count = 0;
  expect_illegal(kernel, "a kernel has at least one segment");
  drop(&f);
}

static const hlo_rejection_t* find_rejection(const hlo_schedule_t* schedule, hlo_op_t op) {
  for (uint32_t i = 0; i < schedule->rejection_count; ++i) {
    if (schedule->rejections[i].rejected->op == op) return &schedule->rejections[i];
  }
  fail_msg("no rejection of %s", hlo_op_info(op)->name);
  return NULL;
}

// The product is larger than the result of the sum; the sort is a library function.
static void rejected_ops_have_reasons(void** state) {
  (void)state;
  fixture_t f;
  make(
      "func.func @main(%x: tensor<64x128xf32>, %w: tensor<128x128xf32>) -> tensor<64xf32> {\n"
      "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %d = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x128xf32>, "
      "tensor<128x128xf32>) -> tensor<64x128xf32>\n"
      "  %s = \"stablehlo.sort\"(%x) ({\n"
      "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
      "    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
      "    stablehlo.return %c : tensor<i1>\n"
      "  }) {dimension = 1 : i64} : (tensor<64x128xf32>) -> tensor<64x128xf32>\n"
      "  %e = stablehlo.add %d, %s : tensor<64x128xf32>\n"
      "  %r = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : "
      "(tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>\n"
      "  return %r : tensor<64xf32>\n}\n",
      &f);
  assert_int_equal(f.schedule->rejection_count, 0);
  hlo_schedule_t* explained;
  const hlo_func_t* func = hlo_module_entry(f.module);
  hlo_test_check(hlo_schedule_create_explained(func, &f.target, &f.arena, &explained));
  assert_int_equal(explained->fusion_count, f.schedule->fusion_count);
  const hlo_rejection_t* product = find_rejection(explained, HLO_OP_dot_general);
  assert_int_equal(product->verdict.reason, HLO_REASON_PRODUCT_SHAPE);
  assert_int_equal(find_rejection(explained, HLO_OP_sort)->verdict.reason, HLO_REASON_FUSER_OP);
  hlo_strbuf_t text = {0};
  hlo_test_check(hlo_schedule_print(explained, func, &text));
  assert_non_null(strstr(hlo_strbuf_text(&text), "library call: stablehlo.sort -> %"));
  assert_non_null(strstr(hlo_strbuf_text(&text), ": an output has another number of elements "));
  hlo_strbuf_deinit(&text);
  drop(&f);
}

static void illegal_products_are_found(void** state) {
  (void)state;
  fixture_t f;
  make_rounds(&f, print_layer, 1, 0);
  hlo_kernel_t* kernel = fusion_at(&f, 0)->kernel;
  assert_int_equal(kernel->kind, HLO_KERNEL_FORM);
  hlo_test_check(hlo_kernel_verify(kernel));
  hlo_matmul_t m = *hlo_matmul_of(kernel);
  kernel->form.plan = &m;
  m.strategy = HLO_MATMUL_BY_CHANNEL;
  expect_illegal(kernel, "a strategy is of matrix products, of convolutions, or of both");
  m.strategy = HLO_MATMUL_BY_COLUMN;
  const hlo_matmul_packing_t packing = m.operands[HLO_MATMUL_B].packing;
  m.operands[HLO_MATMUL_B].packing = HLO_MATMUL_TRANSPOSED_LINES;
  expect_illegal(kernel, "A is packed in lines, B in panels or blocks");
  m.operands[HLO_MATMUL_B].packing = packing;
  m.outer_extent += 1;
  expect_illegal(kernel, "the outer loops have the outer extent");
  m.outer_extent -= 1;
  m.panel_count += 2;
  expect_illegal(kernel, "panels are full but for the last one");
  drop(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ops_are_recomputed_if_loading_is_slower),
      cmocka_unit_test(equal_fusions_have_one_kernel),
      cmocka_unit_test(other_constants_are_other_fusions),
      cmocka_unit_test(broadcast_values_are_not_memory),
      cmocka_unit_test(outputs_have_several_sizes),
      cmocka_unit_test(readers_of_one_array_are_one_fusion),
      cmocka_unit_test(not_all_readers_of_one_array_are_one_fusion),
      cmocka_unit_test(chunks_do_not_repeat_common_values),
      cmocka_unit_test(inner_sums_are_not_repeated),
      cmocka_unit_test(small_products_are_not_repeated),
      cmocka_unit_test(costly_ops_are_not_broadcast),
      cmocka_unit_test(long_chains_are_not_computed_for_each_part),
      cmocka_unit_test(orders_without_lanes_are_apart),
      cmocka_unit_test(plain_ops_are_recomputed),
      cmocka_unit_test(wide_sums_are_halved),
      cmocka_unit_test(cheap_ops_are_recomputed_in_each_half),
      cmocka_unit_test(long_expressions_are_not_all_fused),
      cmocka_unit_test(cost_grows_with_the_program),
      cmocka_unit_test(repetition_costs_next_to_nothing),
      cmocka_unit_test(donated_pairs_are_overwritten),
      cmocka_unit_test(a_start_changes_no_loops),
      cmocka_unit_test(optimistic_groups_are_tried_once),
      cmocka_unit_test(optimistic_groups_change_no_fusions),
      cmocka_unit_test(edges_are_short),
      cmocka_unit_test(cheap_functions_are_one_fusion),
      cmocka_unit_test(rejected_ops_have_reasons),
      cmocka_unit_test(broken_schedules_are_found),
      cmocka_unit_test(illegal_kernels_are_found),
      cmocka_unit_test(illegal_products_are_found),
  };
  return cmocka_run_group_tests_name("codegen/fusion", tests, NULL, NULL);
}
