// SPDX-License-Identifier: Apache-2.0
// Tests which loop runs over lanes: the choice for known programs, and for the same programs with
// another target description.
#include "codegen/loops/kernel_test_util.h"

static void target_of(hlo_target_t* target) {
  hlo_cpu_t cpu = {.level = HLO_CPU_LEVEL_AVX512, .features = UINT64_MAX};
  hlo_target_init(&cpu, target);
}

// Explains the choice for the only fusion of a program.
static void explain(const char* body, const hlo_target_t* target, hlo_strbuf_t* out) {
  hlo_arena_t arena;
  hlo_module_t* module;
  hlo_arena_init(&arena, 0);
  const hlo_kernel_t* kernel = hlo_test_make_only_kernel(body, target, &arena, &module);
  hlo_test_check(hlo_kernel_explain(kernel, out));
  hlo_arena_deinit(&arena);
  hlo_module_release(module);
}

static void expect(const char* body, const hlo_target_t* target, const char* part) {
  hlo_strbuf_t text = {0};
  explain(body, target, &text);
  if (!strstr(hlo_strbuf_text(&text), part)) fail_msg("%s", hlo_strbuf_text(&text));
  hlo_strbuf_deinit(&text);
}

static const char PLAIN[] =
    "func.func @main(%a: tensor<100x200xf32>, %b: tensor<200xf32>) -> tensor<100x200xf32> {\n"
    "%0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<200xf32>) -> tensor<100x200xf32>\n"
    "%1 = stablehlo.add %a, %0 : tensor<100x200xf32>\n"
    "return %1 : tensor<100x200xf32>\n}";

static const char TRANSPOSED[] =
    "func.func @main(%a: tensor<128x256xf32>) -> tensor<256x128xf32> {\n"
    "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<128x256xf32>) -> tensor<256x128xf32>\n"
    "return %0 : tensor<256x128xf32>\n}";

// The store prefers lanes along the last loop; one load is contiguous along the first loop, two
// along the middle one.
static const char TRANSPOSED_TWICE[] =
    "func.func @main(%y: tensor<32x48x64xf32>, %x: tensor<32x64x48xf32>, %z: tensor<32x64x48xf32>) "
    "-> tensor<64x48x32xf32> {\n"
    "%0 = stablehlo.transpose %y, dims = [2, 1, 0] : (tensor<32x48x64xf32>) -> "
    "tensor<64x48x32xf32>\n"
    "%1 = stablehlo.transpose %x, dims = [1, 2, 0] : (tensor<32x64x48xf32>) -> "
    "tensor<64x48x32xf32>\n"
    "%2 = stablehlo.transpose %z, dims = [1, 2, 0] : (tensor<32x64x48xf32>) -> "
    "tensor<64x48x32xf32>\n"
    "%3 = stablehlo.multiply %1, %2 : tensor<64x48x32xf32>\n"
    "%4 = stablehlo.add %0, %3 : tensor<64x48x32xf32>\n"
    "return %4 : tensor<64x48x32xf32>\n}";

static const char ROWS[] =
    "func.func @main(%a: tensor<100x2000xf32>, %i: tensor<f32>) -> tensor<100xf32> {\n"
    "%0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [1] : "
    "(tensor<100x2000xf32>, tensor<f32>) -> tensor<100xf32>\n"
    "return %0 : tensor<100xf32>\n}";

static const char COLUMNS[] =
    "func.func @main(%a: tensor<2000x100xf32>, %i: tensor<f32>) -> tensor<100xf32> {\n"
    "%0 = stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0] : "
    "(tensor<2000x100xf32>, tensor<f32>) -> tensor<100xf32>\n"
    "return %0 : tensor<100xf32>\n}";

// Adjacent elements; no lanes, because the reduction has its own; adjacent columns.
static void test_known(void** unused) {
  (void)unused;
  hlo_target_t target;
  target_of(&target);
  expect(PLAIN, &target, "lanes = 1, ");
  expect(TRANSPOSED, &target, "lanes = 1, interleaved = 0, across = 0");
  expect(TRANSPOSED_TWICE, &target, "lanes = 2, interleaved = 0, across = 1");
  expect(ROWS, &target, "lanes = 40, ");
  expect(COLUMNS, &target, "lanes = 0, ");
}

// If transposing and gathering are expensive, no loop has lanes.
static void test_other_machine(void** unused) {
  (void)unused;
  hlo_target_t target;
  target_of(&target);
  for (uint32_t i = 0; i < target.tile.atom_count; ++i) {
    hlo_tile_atom_t* atom = &target.tile.atoms[i];
    if (atom->op == HLO_TILE_ATOM_TRANSPOSE || atom->op == HLO_TILE_ATOM_GATHER)
      atom->per_ns /= 100;
  }
  expect(TRANSPOSED, &target, "lanes = 40, ");
  expect(PLAIN, &target, "lanes = 1, ");
}

static const char PIXELS[] =
    "func.func @main(%a: tensor<500x3xf32>, %b: tensor<3xf32>) -> tensor<500x3xf32> {\n"
    "%0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<3xf32>) -> tensor<500x3xf32>\n"
    "%1 = stablehlo.subtract %a, %0 : tensor<500x3xf32>\n"
    "return %1 : tensor<500x3xf32>\n}";

// Short adjacent rows are one loop if loads have masks; else lanes interleave three rows: a row
// shorter than a vector has no lanes. Without permutations there are no lanes at all.
static void test_short_rows(void** unused) {
  (void)unused;
  static const struct {
    hlo_cpu_level_t level;
    const char* lanes;
  } cases[] = {{HLO_CPU_LEVEL_AVX512, "lanes = 0, interleaved = 0"},
               {HLO_CPU_LEVEL_AVX2, "lanes = 0, interleaved = 1"},
               {HLO_CPU_LEVEL_SSE2, "lanes = 40, interleaved = 0"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    hlo_cpu_t cpu = {.level = cases[i].level};
    hlo_target_t target;
    hlo_target_init(&cpu, &target);
    expect(PIXELS, &target, cases[i].lanes);
  }
}

static void test_one_point(void** unused) {
  (void)unused;
  hlo_target_t target;
  hlo_strbuf_t text = {0};
  target_of(&target);
  explain(
      "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
      "%0 = stablehlo.add %a, %a : tensor<f32>\nreturn %0 : tensor<f32>\n}",
      &target, &text);
  assert_int_equal(text.length, 0);
  hlo_strbuf_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_known),
      cmocka_unit_test(test_other_machine),
      cmocka_unit_test(test_short_rows),
      cmocka_unit_test(test_one_point),
  };
  return cmocka_run_group_tests_name("codegen/kernel_lanes", tests, NULL, NULL);
}
