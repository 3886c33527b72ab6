// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/wire.h"
#include "compiler/compile_options.h"

/// A message being put together and what came of parsing it.
typedef struct fixture {
  hlo_strbuf_t bytes;
  hlo_arena_t arena;
  hlo_compile_options_t options;
} fixture_t;

static int set_up(void** state) {
  static fixture_t fixture;
  fixture = (fixture_t){0};
  hlo_arena_init(&fixture.arena, 1 << 20);
  *state = &fixture;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  hlo_strbuf_deinit(&f->bytes);
  hlo_arena_deinit(&f->arena);
  return 0;
}

static void expect_parsed(fixture_t* f) {
  hlo_status_t status =
      hlo_compile_options_parse(f->bytes.data, f->bytes.length, &f->arena, &f->options);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
}

static void expect_refused(fixture_t* f, hlo_status_code_t code, const char* part) {
  f->options = (hlo_compile_options_t){.replica_count = 77};
  hlo_status_t status =
      hlo_compile_options_parse(f->bytes.data, f->bytes.length, &f->arena, &f->options);
  assert_int_equal(hlo_status_code(status), code);
  if (strstr(hlo_status_message(status), part) == NULL) {
    fail_msg("'%s' not in: %s", part, hlo_status_message(status));
  }
  assert_int_equal(f->options.replica_count, 77);  // outputs are untouched on failure
  hlo_status_release(status);
}

static void put_override(hlo_strbuf_t* out, const char* key, const char* text) {
  const size_t entry = hlo_wire_begin(out, 7);
  hlo_wire_put_string(out, 1, key);
  const size_t value = hlo_wire_begin(out, 2);
  hlo_wire_put_string(out, 1, text);
  hlo_wire_end(out, value);
  hlo_wire_end(out, entry);
}

static void put_assignment(hlo_strbuf_t* out, int64_t replicas, int64_t partitions,
                           const int64_t* ids_by_partition) {
  const size_t assignment = hlo_wire_begin(out, 9);
  hlo_wire_put_int(out, 1, replicas);
  hlo_wire_put_int(out, 2, partitions);
  for (int64_t p = 0; p < partitions; ++p) {
    const size_t device = hlo_wire_begin(out, 3);
    hlo_wire_put_packed_int64(out, 1, ids_by_partition + p * replicas, (size_t)replicas);
    hlo_wire_end(out, device);
  }
  hlo_wire_end(out, assignment);
}

static void test_empty_is_default(void** state) {
  fixture_t* f = *state;
  expect_parsed(f);
  assert_int_equal(f->options.replica_count, 1);
  assert_int_equal(f->options.partition_count, 1);
  assert_int_equal(f->options.device_ordinal, -1);
  assert_null(f->options.device_assignment);
  assert_int_equal(f->options.serialized_bytes, 0);
}

static void test_device_assignment_is_replica_major(void** state) {
  fixture_t* f = *state;
  const int64_t ids[] = {0, 1, /* partition 1: */ 2, 3, /* partition 2: */ 4, 5};
  const size_t build = hlo_wire_begin(&f->bytes, 3);
  hlo_wire_put_int(&f->bytes, 4, 2);
  hlo_wire_put_int(&f->bytes, 5, 3);
  hlo_wire_put_int(&f->bytes, 6, 1);
  put_assignment(&f->bytes, 2, 3, ids);
  hlo_wire_put_int(&f->bytes, 19, 1);
  hlo_wire_end(&f->bytes, build);
  expect_parsed(f);
  assert_true(f->options.use_spmd_partitioning);
  assert_true(f->options.use_shardy_partitioner);
  const int32_t expected[] = {0, 2, 4, 1, 3, 5};
  assert_memory_equal(f->options.device_assignment, expected, sizeof expected);

  hlo_strbuf_t written = {0}, again = {0};
  hlo_device_assignment_write(expected, 2, 3, &written);
  put_assignment(&again, 2, 3, ids);
  // `again` is the same message after its tag and length, two bytes.
  assert_int_equal(written.length + 2, again.length);
  assert_memory_equal(written.data, again.data + 2, written.length);
  hlo_strbuf_deinit(&written);
  hlo_strbuf_deinit(&again);
}

static void test_device_memory_is_a_limit(void** state) {
  fixture_t* f = *state;
  const size_t build = hlo_wire_begin(&f->bytes, 3);
  hlo_wire_put_int(&f->bytes, 4, 1);
  hlo_wire_put_int(&f->bytes, 5, 1);
  hlo_wire_put_int(&f->bytes, 15, 1 << 20);
  hlo_wire_end(&f->bytes, build);
  expect_parsed(f);
  assert_int_equal(f->options.device_memory_bytes, 1 << 20);
}

static void test_assignment_must_fit_the_counts(void** state) {
  fixture_t* f = *state;
  const int64_t ids[] = {0, 1};
  const size_t build = hlo_wire_begin(&f->bytes, 3);
  hlo_wire_put_int(&f->bytes, 4, 1);
  hlo_wire_put_int(&f->bytes, 5, 1);
  put_assignment(&f->bytes, 2, 1, ids);
  hlo_wire_end(&f->bytes, build);
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "device_assignment");
}

static void test_impossible_counts(void** state) {
  fixture_t* f = *state;
  const size_t build = hlo_wire_begin(&f->bytes, 3);
  hlo_wire_put_int(&f->bytes, 4, INT64_MAX);
  hlo_wire_put_int(&f->bytes, 5, 2);
  hlo_wire_end(&f->bytes, build);
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "replicas");
}

static void test_overrides(void** state) {
  fixture_t* f = *state;
  put_override(&f->bytes, "xla_embed_ir_in_executable", "true");
  put_override(&f->bytes, "xla_dump_max_hlo_modules", "200");
  put_override(&f->bytes, "xla_gpu_auto_spmd_partitioning_memory_budget_ratio", "0.5");
  put_override(&f->bytes, "xla_backend_optimization_level", "1");
  expect_parsed(f);
  assert_int_equal(f->options.optimization_level, 1);
}

static void test_hlo_dumps(void** state) {
  fixture_t* f = *state;
  hlo_compile_config_t config;
  put_override(&f->bytes, "xla_dump_to", "/a/b");
  expect_parsed(f);
  hlo_compile_config_init(&config);
  hlo_compile_options_apply(&f->options, &config);
  assert_string_equal(config.hlo_dump.directory, "/a/b");
  assert_true(config.hlo_dump.is_text && !config.hlo_dump.is_proto);
  put_override(&f->bytes, "xla_dump_hlo_as_proto", "True");
  expect_parsed(f);
  hlo_compile_options_apply(&f->options, &config);
  assert_true(!config.hlo_dump.is_text && config.hlo_dump.is_proto);
  put_override(&f->bytes, "xla_dump_hlo_as_text", "1");
  expect_parsed(f);
  hlo_compile_options_apply(&f->options, &config);
  assert_true(config.hlo_dump.is_text && config.hlo_dump.is_proto);
}

static void test_synchronous_collectives(void** state) {
  fixture_t* f = *state;
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  put_override(&f->bytes, "xla_gpu_disable_async_collectives", "ALLREDUCE,NOOP,COLLECTIVEPERMUTE");
  expect_parsed(f);
  hlo_compile_options_apply(&f->options, &config);
  assert_string_equal(config.sync_collectives, "all_reduce,collective_permute");
  put_override(&f->bytes, "xla_gpu_disable_async_collectives", "ALLCOLLECTIVES");
  expect_parsed(f);
  hlo_compile_options_apply(&f->options, &config);
  assert_string_equal(config.sync_collectives, "all");
  put_override(&f->bytes, "xla_gpu_disable_async_collectives", "ALLREDUCES");
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "'ALLREDUCES' is no kind of collectives");
}

static void test_unknown_debug_options_are_counted(void** state) {
  fixture_t* f = *state;
  const size_t build = hlo_wire_begin(&f->bytes, 3);
  const size_t debug = hlo_wire_begin(&f->bytes, 3);
  hlo_wire_put_int(&f->bytes, 31, 2);
  hlo_wire_put_int(&f->bytes, 60, 1);
  hlo_wire_put_int(&f->bytes, 100000, 1);
  hlo_wire_put_string(&f->bytes, 100001, "new");
  hlo_wire_end(&f->bytes, debug);
  hlo_wire_end(&f->bytes, build);
  expect_parsed(f);
  assert_int_equal(f->options.optimization_level, 2);
  assert_int_equal(f->options.unknown_debug_option_count, 2);
}

static void test_unknown_override(void** state) {
  fixture_t* f = *state;
  put_override(&f->bytes, "invalid_key", "1");
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "No such compile option: 'invalid_key'");
}

static void test_own_options_of_a_program(void** state) {
  fixture_t* f = *state;
  put_override(&f->bytes, "hlocc_subnormals", "keep");
  put_override(&f->bytes, "xla_embed_ir_in_executable", "true");
  put_override(&f->bytes, "hlocc_backend", "interp");
  expect_parsed(f);
  assert_int_equal(f->options.override_count, 2);
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  hlo_compile_options_apply(&f->options, &config);
  assert_int_equal(config.subnormals, HLO_SUBNORMALS_KEEP);
  assert_string_equal(config.backend, "interp");
  assert_false(config.verify_each);
}

static void test_own_options_of_clients(void** state) {
  fixture_t* f = *state;
  put_override(&f->bytes, "hlocc_num_devices", "2");
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "hlocc_num_devices is one of clients");
}

static void test_own_options_with_bad_values(void** state) {
  fixture_t* f = *state;
  put_override(&f->bytes, "hlocc_subnormals", "maybe");
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "expected one of: flush,keep");
}

static void test_unknown_own_option(void** state) {
  fixture_t* f = *state;
  put_override(&f->bytes, "hlocc_warp", "1");
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "No such compile option: 'hlocc_warp'");
}

static void test_override_of_the_wrong_kind(void** state) {
  fixture_t* f = *state;
  put_override(&f->bytes, "xla_embed_ir_in_executable", "invalid_value");
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "'invalid_value' is not a valid bool value.");
}

static void test_unsupported_is_named(void** state) {
  fixture_t* f = *state;
  hlo_wire_put_int(&f->bytes, 2, 1);
  expect_refused(f, HLO_STATUS_UNIMPLEMENTED, "parameter_is_tupled_arguments");
}

static void put_tiled_layout(hlo_strbuf_t* out, const int64_t* order, size_t tile_rank) {
  const int64_t dims[] = {3, 5};
  const size_t shape = hlo_wire_begin(out, 1);
  hlo_wire_put_int(out, 2, 11);  // F32
  hlo_wire_put_packed_int64(out, 3, dims, 2);
  const size_t layout = hlo_wire_begin(out, 5);
  hlo_wire_put_packed_int64(out, 1, order, 2);
  if (tile_rank) {
    const int64_t tile[] = {8, 128};
    const size_t tiles = hlo_wire_begin(out, 6);
    hlo_wire_put_packed_int64(out, 1, tile, tile_rank);
    hlo_wire_end(out, tiles);
  }
  hlo_wire_end(out, layout);
  hlo_wire_end(out, shape);
}

static void put_argument_layout(hlo_strbuf_t* out, const int64_t* order) {
  put_tiled_layout(out, order, 0);
}

static void test_layouts(void** state) {
  fixture_t* f = *state;
  put_argument_layout(&f->bytes, (const int64_t[]){0, 1});
  expect_parsed(f);
  assert_int_equal(f->options.argument_layout_count, 1);
  const hlo_array_layout_t* layout = &f->options.argument_layouts[0];
  assert_int_equal(layout->dtype, HLO_DTYPE_F32);
  assert_int_equal(layout->rank, 2);
  assert_int_equal(layout->dimensions[1], 5);
  assert_int_equal(layout->minor_to_major[0], 0);
}

static void test_layout_must_be_a_permutation(void** state) {
  fixture_t* f = *state;
  put_argument_layout(&f->bytes, (const int64_t[]){1, 1});
  expect_refused(f, HLO_STATUS_INVALID_ARGUMENT, "layout {1,1} is no order of 2 dimensions");
}

static void test_tiled_layouts_are_refused(void** state) {
  fixture_t* f = *state;
  put_argument_layout(&f->bytes, (const int64_t[]){1, 0});
  put_tiled_layout(&f->bytes, (const int64_t[]){1, 0}, 2);
  expect_refused(f, HLO_STATUS_UNIMPLEMENTED, "layout {1,0:T(8,128)} is not supported");
  expect_refused(f, HLO_STATUS_UNIMPLEMENTED,
                 "argument_layouts of the compile options: argument 1");
}

/// Every prefix of a message is parsed or refused, never read past its end.
static void test_truncated(void** state) {
  fixture_t* f = *state;
  put_argument_layout(&f->bytes, (const int64_t[]){0, 1});
  put_override(&f->bytes, "xla_backend_optimization_level", "2");
  for (size_t length = 0; length < f->bytes.length; ++length) {
    char* copy = hlo_mem_strndup(f->bytes.data, length);
    hlo_status_t status = hlo_compile_options_parse(copy, length, &f->arena, &f->options);
    hlo_status_release(status);
    hlo_mem_free(copy);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_empty_is_default),
      TEST(test_device_assignment_is_replica_major),
      TEST(test_device_memory_is_a_limit),
      TEST(test_assignment_must_fit_the_counts),
      TEST(test_impossible_counts),
      TEST(test_overrides),
      TEST(test_synchronous_collectives),
      TEST(test_hlo_dumps),
      TEST(test_unknown_debug_options_are_counted),
      TEST(test_unknown_override),
      TEST(test_override_of_the_wrong_kind),
      TEST(test_own_options_of_a_program),
      TEST(test_own_options_of_clients),
      TEST(test_own_options_with_bad_values),
      TEST(test_unknown_own_option),
      TEST(test_unsupported_is_named),
      TEST(test_layouts),
      TEST(test_tiled_layouts_are_refused),
      TEST(test_layout_must_be_a_permutation),
      TEST(test_truncated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
