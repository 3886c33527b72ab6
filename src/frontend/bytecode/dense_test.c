// SPDX-License-Identifier: Apache-2.0
// Tests of constants from bytes: borrowed data, copies, splats, sizes, bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frontend/bytecode/reader.h"

static void destroy_nothing(hlo_literal_keeper_t* keeper) {
  (void)keeper;
}

typedef struct fixture {
  hlo_bc_reader_t reader;
  hlo_literal_keeper_t keeper;
  _Alignas(8) uint8_t bytes[4096];
} fixture_t;

static int setup(void** state) {
  fixture_t* f = calloc(1, sizeof *f);
  f->keeper.destroy = destroy_nothing;
  atomic_init(&f->keeper.count, 1);
  f->reader.keeper = &f->keeper;
  f->reader.literal_budget = 1 << 16;
  for (size_t i = 0; i < sizeof f->bytes; ++i) f->bytes[i] = (uint8_t)(i * 7);
  *state = f;
  return hlo_status_is_ok(hlo_module_create(0, &f->reader.module)) ? 0 : -1;
}

static int teardown(void** state) {
  fixture_t* f = *state;
  hlo_module_release(f->reader.module);
  int left = atomic_load(&f->keeper.count);
  free(f);
  return left == 1 ? 0 : -1;  // every literal released the bytes
}

static hlo_status_t make_literal(fixture_t* f, hlo_dtype_t dtype, int64_t count, size_t offset,
                                 size_t size, const hlo_literal_t** out) {
  const hlo_type_t* type = hlo_type_tensor(f->reader.module, dtype, 1, &count);
  hlo_bc_cursor_t data = {f->bytes, f->bytes + offset, f->bytes + offset + size, "test"};
  const hlo_attr_t* attr = NULL;
  hlo_status_t status = hlo_bc_make_literal(&f->reader, &data, type, &attr);
  *out = attr ? attr->literal : NULL;
  return status;
}

static void test_lends_aligned(void** state) {
  fixture_t* f = *state;
  const hlo_literal_t* literal;
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_F32, 256, 16, 1024, &literal)));
  assert_ptr_equal(literal->data, f->bytes + 16);
  assert_ptr_equal(literal->keeper, &f->keeper);
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_F32, 256, 18, 1024, &literal)));
  assert_ptr_not_equal(literal->data, f->bytes + 18);
  assert_memory_equal(literal->data, f->bytes + 18, 1024);
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_C128, 64, 8, 1024, &literal)));
  assert_ptr_equal(literal->data, f->bytes + 8);
  // sub-byte values are extended
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_S4, 1024, 0, 1024, &literal)));
  assert_null(literal->keeper);
}

static void test_splats(void** state) {
  fixture_t* f = *state;
  const hlo_literal_t* literal;
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_F32, (int64_t)1 << 40, 4, 4, &literal)));
  assert_true(literal->is_splat);
  assert_memory_equal(literal->data, f->bytes + 4, 4);
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_F32, 1, 4, 4, &literal)));
  assert_false(literal->is_splat);
  f->bytes[0] = 0xff;
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_PRED, 8, 0, 1, &literal)));
  assert_true(literal->is_splat);
  f->bytes[0] = 0x05;  // bits
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_PRED, 8, 0, 1, &literal)));
  static const uint8_t bits[] = {1, 0, 1, 0, 0, 0, 0, 0};
  assert_memory_equal(literal->data, bits, 8);
  // one byte for all elements
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_PRED, 100, 0, 1, &literal)));
  assert_true(literal->is_splat);
}

static void test_wrong_sizes(void** state) {
  fixture_t* f = *state;
  static const struct {
    hlo_dtype_t dtype;
    int64_t count;
    size_t size;
  } cases[] = {
      {HLO_DTYPE_F32, 4, 15},  {HLO_DTYPE_F32, 4, 12}, {HLO_DTYPE_F32, 4, 0},
      {HLO_DTYPE_F32, 0, 8},   {HLO_DTYPE_PRED, 9, 3}, {HLO_DTYPE_PRED, 9, 0},
      {HLO_DTYPE_TOKEN, 1, 1},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    const hlo_literal_t* literal;
    hlo_status_t status =
        make_literal(f, cases[i].dtype, cases[i].count, 0, cases[i].size, &literal);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    hlo_status_release(status);
  }
}

static void test_memory_bound(void** state) {
  fixture_t* f = *state;
  const hlo_literal_t* literal;
  f->reader.keeper = NULL;
  f->reader.literal_budget = 4000;
  assert_true(hlo_status_is_ok(make_literal(f, HLO_DTYPE_F32, 512, 0, 2048, &literal)));
  hlo_status_t status = make_literal(f, HLO_DTYPE_F32, 512, 4, 2048, &literal);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  hlo_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_lends_aligned, setup, teardown),
      cmocka_unit_test_setup_teardown(test_splats, setup, teardown),
      cmocka_unit_test_setup_teardown(test_wrong_sizes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_memory_bound, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
