// SPDX-License-Identifier: Apache-2.0
// Transposing in registers takes no more shuffles than the target description counts for that
// change of layout, and no gathers.
#include "codegen/loops/kernel_test_util.h"
#include "tile/target.h"

// Prints the vector IR of a program's only fusion.
static void print_loops(const char* body, const hlo_target_t* target, hlo_strbuf_t* out) {
  hlo_arena_t arena;
  hlo_module_t* module;
  hlo_arena_init(&arena, 0);
  const hlo_kernel_t* kernel = hlo_test_make_only_kernel(body, target, &arena, &module);
  hlo_vir_module_t* vir;
  hlo_test_check(hlo_vir_module_create(&vir));
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, hlo_vir_func_create(vir, "square", 2, false));
  hlo_vir_value_t* addresses[] = {hlo_vir_param(&b, 0), hlo_vir_param(&b, 1)};
  hlo_kernel_emit(kernel, 0, &b, addresses, NULL, NULL);
  hlo_vir_return(&b, hlo_vir_iconst(&b, 0));
  hlo_vir_builder_deinit(&b);
  hlo_test_check(hlo_vir_module_status(vir));
  hlo_vir_print(vir, out);
  hlo_vir_module_release(vir);
  hlo_arena_deinit(&arena);
  hlo_module_release(module);
}

static uint32_t count_of(const char* text, const char* word) {
  uint32_t count = 0;
  for (const char* at = text; (at = strstr(at, word)); ++at) ++count;
  return count;
}

// Returns the shuffles that the description counts for `n` registers of `n` lanes.
static double shuffles_of(int64_t n) {
  static const hlo_tile_target_t one_a_ns = {
      .atom_count = 1, .atoms = {{.name = "shuffle", .op = HLO_TILE_ATOM_SHUFFLE, .per_ns = 1}}};
  hlo_arena_t arena;
  hlo_tile_layout_space_t space;
  hlo_arena_init(&arena, 0);
  hlo_tile_layout_space_init(&space, &arena);
  const int64_t dims[2] = {n, n};
  const hlo_layout_mode_t rows[2] = {{0, HLO_AXIS_SLOT, n, 1, 1}, {1, HLO_AXIS_LANE, n, 1, 1}};
  const hlo_layout_mode_t columns[2] = {{0, HLO_AXIS_LANE, n, 1, 1}, {1, HLO_AXIS_SLOT, n, 1, 1}};
  hlo_relayout_t relayout = hlo_tile_layout_relayout(
      hlo_tile_layout_make(&space, 2, dims, 2, rows, (hlo_swizzle_t){0}),
      hlo_tile_layout_make(&space, 2, dims, 2, columns, (hlo_swizzle_t){0}));
  hlo_arena_deinit(&arena);
  assert_int_equal(relayout.kind, HLO_RELAYOUT_SHUFFLE);
  return hlo_tile_relayout_ns(&one_a_ns, relayout, (double)n);
}

static void test_shuffles(void** unused) {
  (void)unused;
  static const struct {
    const char* dtype;
    uint32_t bytes;
  } types[] = {{"f32", 4}, {"f64", 8}, {"i32", 4}};
  static const hlo_cpu_level_t levels[] = {HLO_CPU_LEVEL_AVX2, HLO_CPU_LEVEL_AVX512};
  for (uint32_t i = 0; i < 6; ++i) {
    hlo_target_t target;
    hlo_cpu_t cpu = {.level = levels[i / 3], .features = UINT64_MAX};
    hlo_target_init(&cpu, &target);
    uint32_t n = target.vector_bytes / types[i % 3].bytes;
    char body[512];
    const char* t = types[i % 3].dtype;
    snprintf(body, sizeof body,
             "func.func @main(%%a: tensor<%ux%ux%s>) -> tensor<%ux%ux%s> {\n"
             "%%0 = stablehlo.transpose %%a, dims = [1, 0] : (tensor<%ux%ux%s>) -> "
             "tensor<%ux%ux%s>\nreturn %%0 : tensor<%ux%ux%s>\n}",
             n, n, t, n, n, t, n, n, t, n, n, t, n, n, t);
    hlo_strbuf_t text = {0};
    print_loops(body, &target, &text);
    const char* loops = hlo_strbuf_text(&text);
    // Joins are loads into one half of a register, not shuffles.
    uint32_t shuffles =
        count_of(loops, "zip_low") + count_of(loops, "zip_high") + count_of(loops, "permute");
    if (shuffles == 0 || shuffles > shuffles_of(n) || strstr(loops, "gather")) {
      fail_msg("%ux%ux%s takes %u shuffles, expected at most %g:\n%s", n, n, t, shuffles,
               shuffles_of(n), loops);
    }
    hlo_strbuf_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shuffles),
  };
  return cmocka_run_group_tests_name("codegen/kernel_transpose", tests, NULL, NULL);
}
