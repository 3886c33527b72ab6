// SPDX-License-Identifier: Apache-2.0
// The roofline and transfers on a machine that does not exist.
#include "tile/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static const hlo_tile_target_t MACHINE = {
    .vector_bytes = 32,
    .vector_count = 16,
    .memory_count = 4,
    .atom_count = 5,
    .memories = {{"registers", 512, 32, 0, 0},
                 {"near", 32 << 10, 64, 64, 0},
                 {"far", 1 << 20, 64, 32, 0},
                 {"main", INT64_MAX, 64, 8, 0}},
    .atoms = {{.name = "op", .op = HLO_TILE_ATOM_VECTOR, .per_ns = 2, .latency_ns = 2},
              {.name = "load", .op = HLO_TILE_ATOM_LOAD, .per_ns = 4},
              {.name = "gather", .op = HLO_TILE_ATOM_GATHER, .per_ns = 0.5},
              {.name = "shuffle", .op = HLO_TILE_ATOM_SHUFFLE, .per_ns = 2},
              {.name = "fma",
               .op = HLO_TILE_ATOM_PRODUCT,
               .operand = HLO_DTYPE_F32,
               .result = HLO_DTYPE_F32,
               .rows = 1,
               .columns = 8,
               .depth = 1,
               .a = "<1x1 | *:8 lane 1>",
               .b = "<1x8 | 1:8/1 lane 1>",
               .sum = "<1x8 | 1:8/1 lane 1>",
               .per_ns = 4}},
    .moving = {1000, 400},
    .multiplying = {500, 100},
    .max_chunks = 16,
};

// Lines whose addresses agree in what finds them are only as many as there are ways.
static void test_lines(void** unused) {
  (void)unused;
  const hlo_tile_memory_t near = {"near", 32 << 10, 64, 64, 4096};
  assert_int_equal(hlo_tile_lines_held(&near, 64), 512);
  assert_int_equal(hlo_tile_lines_held(&near, 0), 512);
  assert_int_equal(hlo_tile_lines_held(&near, 4096), 8);
  assert_int_equal(hlo_tile_lines_held(&near, 3 * 4096), 8);
  assert_int_equal(hlo_tile_lines_held(&near, 2048 + 4096), 16);
  assert_int_equal(hlo_tile_lines_held(&near, 320), 512);
  assert_int_equal(hlo_tile_lines_held(&MACHINE.memories[1], 4096),
                   MACHINE.memories[1].capacity_bytes / 64);
  assert_true(hlo_tile_lines_held(&MACHINE.memories[3], 64) > 1 << 20);
}

// A load and a store each, or what comes from where the value lives.
static void test_kept(void** unused) {
  (void)unused;
  assert_float_equal(hlo_tile_store_ns(&MACHINE, 8, 256), 4, 1e-9);
  const double bytes = 2 << 20;
  assert_float_equal(hlo_tile_store_ns(&MACHINE, bytes / 32, bytes),
                     bytes / MACHINE.memories[3].bytes_per_ns, 1e-9);
}

static void test_roofline(void** unused) {
  (void)unused;
  const hlo_tile_atom_t* fma =
      hlo_tile_atom_find(&MACHINE, HLO_TILE_ATOM_PRODUCT, HLO_DTYPE_F32, HLO_DTYPE_F32);
  assert_non_null(fma);
  assert_null(hlo_tile_atom_find(&MACHINE, HLO_TILE_ATOM_PRODUCT, HLO_DTYPE_S8, HLO_DTYPE_S32));
  hlo_tile_work_t work = {.vector_ops = 100};
  assert_float_equal(hlo_tile_work_ns(&MACHINE, &work), 50, 1e-9);
  work.products = 400, work.atom = fma;
  assert_float_equal(hlo_tile_work_ns(&MACHINE, &work), 150, 1e-9);
  work.accessed_bytes = 64 * 200;  // the first cache is what limits
  assert_float_equal(hlo_tile_work_ns(&MACHINE, &work), 200, 1e-9);
  work.distinct_bytes = 16 << 10;  // they live there
  assert_float_equal(hlo_tile_work_ns(&MACHINE, &work), 256, 1e-9);
  work.distinct_bytes = 64 << 10;  // in the second
  assert_float_equal(hlo_tile_work_ns(&MACHINE, &work), 2048, 1e-9);
  work.distinct_bytes = 2 << 20;  // in main memory
  assert_float_equal(hlo_tile_work_ns(&MACHINE, &work), 262144, 1e-9);
  work.chain_ops = 200000;  // each waits for the one before
  assert_float_equal(hlo_tile_work_ns(&MACHINE, &work), 400000, 1e-9);
}

static void test_chunks(void** unused) {
  (void)unused;
  assert_int_equal(hlo_tile_chunk_count(&MACHINE, 999, false), 1);
  assert_int_equal(hlo_tile_chunk_count(&MACHINE, 1000, false), 2);
  assert_int_equal(hlo_tile_chunk_count(&MACHINE, 4000, false), 10);
  assert_int_equal(hlo_tile_chunk_count(&MACHINE, 1e12, false), 16);
  assert_int_equal(hlo_tile_chunk_count(&MACHINE, 499, true), 1);
  assert_int_equal(hlo_tile_chunk_count(&MACHINE, 500, true), 5);
}

typedef struct transfer {
  const char *memory, *registers;
  int64_t bytes;
  double ops;
} transfer_t;

static void test_transfers(void** unused) {
  (void)unused;
  static const transfer_t cases[] = {
      {"<4x8 | 0:4/1 address 8, 1:8/1 address 1>", "<4x8 | 0:4/1 slot 1, 1:8/1 lane 1>", 4, 1},
      {"<4x8 | 0:4/1 address 100, 1:8/1 address 1>", "<4x8 | 0:4/1 slot 1, 1:8/1 lane 1>", 1, 1},
      // one element for all lanes
      {"<4x8 | 0:4/1 address 1, 1:8/1 address 0>", "<4x8 | 0:4/1 slot 1, 1:8/1 lane 1>", 4, 1},
      // across rows, and backwards
      {"<4x8 | 0:4/1 address 1, 1:8/1 address 4>", "<4x8 | 0:4/1 slot 1, 1:8/1 lane 1>", 4, 8},
      {"<8 | 0:8/1 address -1>", "<8 | 0:8/1 lane 1>", 4, 8},
      {"<8 | 0:8/1 address 2>", "<8 | 0:8/1 lane 1>", 2, -1},
      // two rows of four side by side, in memory or not
      {"<2x4 | 0:2/1 address 4, 1:4/1 address 1>", "<2x4 | 0:2/1 lane 4, 1:4/1 lane 1>", 4, 1},
      {"<2x4 | 0:2/1 address 9, 1:4/1 address 1>", "<2x4 | 0:2/1 lane 4, 1:4/1 lane 1>", 4, 8},
  };
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_tile_layout_space_t space;
  hlo_tile_layout_space_init(&space, &arena);
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const char *memory_text = cases[i].memory, *register_text = cases[i].registers;
    const hlo_tile_layout_t *memory, *registers;
    assert_true(hlo_status_is_ok(hlo_tile_layout_parse(&space, &memory_text, &memory)));
    assert_true(hlo_status_is_ok(hlo_tile_layout_parse(&space, &register_text, &registers)));
    double ops = hlo_tile_transfer_ops(&MACHINE, memory, registers, cases[i].bytes);
    assert_float_equal(ops, cases[i].ops, 1e-9);
  }
  hlo_arena_deinit(&arena);
}

static void test_relayouts(void** unused) {
  (void)unused;
  assert_float_equal(hlo_tile_relayout_ns(&MACHINE, (hlo_relayout_t){HLO_RELAYOUT_RENAME, 1}, 8), 0,
                     0);
  double one = hlo_tile_relayout_ns(&MACHINE, (hlo_relayout_t){HLO_RELAYOUT_BROADCAST, 1}, 8);
  double square = hlo_tile_relayout_ns(&MACHINE, (hlo_relayout_t){HLO_RELAYOUT_SHUFFLE, 64}, 8);
  assert_float_equal(one, 4, 1e-9);
  assert_float_equal(square, 12, 1e-9);  // 8 x 8: three stages
  assert_true(hlo_tile_relayout_ns(&MACHINE, (hlo_relayout_t){HLO_RELAYOUT_MEMORY, 1}, 8) > 0);
  assert_true(hlo_tile_relayout_ns(&MACHINE, (hlo_relayout_t){HLO_RELAYOUT_IMPOSSIBLE, 1}, 8) < 0);
}

static hlo_tile_target_t copy_of(const hlo_tile_target_t* target, double factor) {
  hlo_tile_target_t copy = *target;
  for (uint32_t i = 1; i < copy.memory_count; ++i) copy.memories[i].bytes_per_ns *= factor;
  for (uint32_t i = 0; i < copy.atom_count; ++i) copy.atoms[i].per_ns *= factor;
  return copy;
}

// A printed description is read back, among lines of others; nothing else is touched.
static void test_description(void** unused) {
  (void)unused;
  hlo_strbuf_t text = {0}, again = {0};
  hlo_tile_target_t faster = copy_of(&MACHINE, 2), read = MACHINE;
  faster.memories[1].capacity_bytes = 48 << 10;
  faster.tuned[faster.tuned_count++] = (hlo_tile_tuned_t){"f32.nn", 96, 400, 5000, 8, 3};
  faster.tuned[faster.tuned_count++] = (hlo_tile_tuned_t){"bf16.conv", 96, 400, 5000, 6, 4};
  hlo_strbuf_puts(&text, "memory: 24105 MiB\natom of nothing\nmemory none: 1 bytes/ns\n");
  size_t start = text.length;
  hlo_tile_target_print(&faster, 6, &text);
  hlo_tile_target_read(hlo_strbuf_text(&text), &read);
  hlo_tile_target_print(&read, 6, &again);
  assert_string_equal(hlo_strbuf_text(&again), hlo_strbuf_text(&text) + start);
  hlo_tile_target_read("memory near: -4 KiB, 0 bytes/ns\natom op (vector): nan/ns, -1 ns", &read);
  hlo_tile_target_read("memory near: 1e300 KiB, inf bytes/ns\nmemory main: 5 KiB, 16 bytes/ns",
                       &read);
  hlo_tile_target_read("memory near: 0.06 KiB, 0 bytes/ns", &read);  // less than a line
  hlo_strbuf_deinit(&again);
  hlo_tile_target_print(&read, 6, &again);
  assert_string_equal(hlo_strbuf_text(&again), hlo_strbuf_text(&text) + start);
  hlo_strbuf_deinit(&text);
  hlo_strbuf_deinit(&again);
}

// Of two tiles for one product the later one counts; there is an end to how many are kept.
static void test_tuned(void** unused) {
  (void)unused;
  hlo_tile_target_t target = MACHINE;
  const hlo_tile_tuned_t product = {.kind = "f32.nn", .rows = 96, .columns = 400, .steps = 500};
  hlo_tile_target_read(
      "tile f32.nn 96x400x500: 6 rows of 4 vectors, 300 ns\n"
      "tile f32.nn 96x400x500: 8 rows of 3 vectors\n"
      "tile f32.nn 96x400x501: 8 rows of 2 vectors\n"
      "tile f32.nn 96x400x500: 0 rows of 2 vectors\n"
      "tile f32.nn 96x400x500: 2 rows\ntile f32.nn\n",
      &target);
  assert_int_equal(target.tuned_count, 2);
  const hlo_tile_tuned_t* tuned = hlo_tile_tuned_find(&target, &product);
  assert_non_null(tuned);
  assert_int_equal(tuned->height, 8);
  assert_int_equal(tuned->width, 3);
  assert_null(hlo_tile_tuned_find(&MACHINE, &product));
  for (int i = 0; i < 2 * HLO_TILE_MAX_TUNED; ++i) {
    char line[64];
    snprintf(line, sizeof line, "tile f32.nn %dx1x1: 1 rows of 1 vectors", i + 1);
    hlo_tile_target_read(line, &target);
  }
  assert_int_equal(target.tuned_count, HLO_TILE_MAX_TUNED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),       cmocka_unit_test(test_kept),
      cmocka_unit_test(test_roofline),    cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_transfers),   cmocka_unit_test(test_relayouts),
      cmocka_unit_test(test_description), cmocka_unit_test(test_tuned),
  };
  return cmocka_run_group_tests_name("tile/target", tests, NULL, NULL);
}
