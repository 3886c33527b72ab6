// SPDX-License-Identifier: Apache-2.0
// Tests processor descriptions: properties of each level that the solver relies on.
#include "codegen/target/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static hlo_cpu_t cpu_of(hlo_cpu_level_t level) {
  hlo_cpu_t cpu = {.level = level, .l1_bytes = 48 << 10, .l2_bytes = 1 << 20};
  if (level >= HLO_CPU_LEVEL_SSE2) cpu.features |= (uint64_t)1 << HLO_CPU_SSE2;
  if (level >= HLO_CPU_LEVEL_AVX2) cpu.features |= (uint64_t)1 << HLO_CPU_FMA;
  if (level >= HLO_CPU_LEVEL_AVX512) {
    cpu.features |= (uint64_t)1 << HLO_CPU_AVX512BF16 | (uint64_t)1 << HLO_CPU_AVX512VNNI;
  }
  if (level >= HLO_CPU_LEVEL_AMX) {
    cpu.features |= (uint64_t)1 << HLO_CPU_AMX_BF16 | (uint64_t)1 << HLO_CPU_AMX_INT8 |
                    (uint64_t)1 << HLO_CPU_AMX_FP16;
  }
  return cpu;
}

static void check_atom(hlo_tile_layout_space_t* space, const hlo_tile_atom_t* atom) {
  const char* texts[3] = {atom->a, atom->b, atom->sum};
  const int64_t shapes[3][2] = {
      {atom->rows, atom->depth}, {atom->depth, atom->columns}, {atom->rows, atom->columns}};
  for (uint32_t i = 0; i < 3; ++i) {
    const hlo_tile_layout_t* layout;
    assert_non_null(texts[i]);
    assert_true(hlo_status_is_ok(hlo_tile_layout_parse(space, &texts[i], &layout)));
    assert_int_equal(layout->rank, 2);
    assert_memory_equal(layout->dims, shapes[i], sizeof shapes[i]);
    // Each layout fills a register exactly.
    int64_t lanes = 1;
    for (uint32_t k = 0; k < layout->mode_count; ++k) {
      const hlo_layout_mode_t* mode = &layout->modes[k];
      if (mode->axis == HLO_AXIS_LANE && mode->position) lanes *= mode->extent;
    }
    assert_int_equal(lanes, i < 2 ? atom->columns * atom->depth : atom->rows * atom->columns);
  }
}

static void test_levels(void** unused) {
  (void)unused;
  static const hlo_cpu_level_t levels[] = {HLO_CPU_LEVEL_GENERIC, HLO_CPU_LEVEL_SSE2,
                                           HLO_CPU_LEVEL_SSE4,    HLO_CPU_LEVEL_AVX2,
                                           HLO_CPU_LEVEL_AVX512,  HLO_CPU_LEVEL_AMX};
  enum { LEVEL_COUNT = sizeof levels / sizeof *levels };
  static const uint32_t products[] = {0, 2, 2, 2, 4, 7}, bytes[] = {16, 16, 16, 32, 64, 64};
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_layout_space_t space;
  hlo_tile_layout_space_init(&space, &arena);
  for (uint32_t i = 0; i < LEVEL_COUNT; ++i) {
    hlo_cpu_t cpu = cpu_of(levels[i]);
    hlo_target_t target;
    hlo_target_init(&cpu, &target);
    assert_int_equal(target.vector_bytes, bytes[i]);
    assert_int_equal(target.has_encoder, i > 0);
    assert_int_equal(target.has_masks, levels[i] >= HLO_CPU_LEVEL_AVX512);
    assert_int_equal(target.has_fma, levels[i] >= HLO_CPU_LEVEL_AVX2 || i == 0);
    uint32_t found = 0;
    for (uint32_t k = 0; k < target.tile.atom_count; ++k) {
      if (target.tile.atoms[k].op != HLO_TILE_ATOM_PRODUCT) continue;
      ++found;
      check_atom(&space, &target.tile.atoms[k]);
    }
    assert_int_equal(found, products[i]);
    // More distant memories are larger and slower.
    for (uint32_t k = 2; k < target.tile.memory_count; ++k) {
      const hlo_tile_memory_t *near = &target.tile.memories[k - 1], *far = near + 1;
      assert_true(far->capacity_bytes > near->capacity_bytes);
      assert_true(far->bytes_per_ns < near->bytes_per_ns);
    }
    assert_ptr_equal(hlo_tile_home(&target.tile, 100 << 10), &target.tile.memories[2]);
    size_t last = (size_t)target.tile.memories[3].capacity_bytes;
    assert_true(hlo_target_passes_caches(&target, last + 1, (double)last));
    assert_true(hlo_target_passes_caches(&target, last - 1, 2 * (double)last));
    assert_false(hlo_target_passes_caches(&target, last - 1, (double)last));
    assert_false(hlo_target_passes_caches(&target, last / 4, 9 * (double)last));
  }
  hlo_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels)};
  return cmocka_run_group_tests_name("codegen/target", tests, NULL, NULL);
}
