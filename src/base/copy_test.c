// SPDX-License-Identifier: Apache-2.0
// Tests of strided copies, each against element by element.
#include "base/copy.h"

#include <stdlib.h>

#include "base/test_util.h"

enum { RANK = 4, ORDERS = 6 };

// Byte strides of dimensions in an order from the innermost to the outermost one.
static int64_t strides_in(const uint8_t* order, const int64_t* dims, size_t element_bytes,
                          int64_t* out_strides) {
  int64_t stride = (int64_t)element_bytes;
  for (uint32_t i = 0; i < RANK; ++i) {
    out_strides[order[i]] = stride;
    stride *= dims[order[i]];
  }
  return stride;
}

// Byte offset of an element by its number in row-major order.
static int64_t offset_of(int64_t number, const int64_t* dims, const int64_t* strides) {
  int64_t offset = 0;
  for (uint32_t d = RANK; d-- > 0; number /= dims[d]) offset += number % dims[d] * strides[d];
  return offset;
}

static hlo_copy_kind_t check_copy(size_t element_bytes, const int64_t* dims,
                                  const uint8_t* in_order, const uint8_t* out_order) {
  int64_t in_strides[RANK], out_strides[RANK], count = 1;
  const int64_t bytes = strides_in(in_order, dims, element_bytes, in_strides);
  strides_in(out_order, dims, element_bytes, out_strides);
  for (uint32_t d = 0; d < RANK; ++d) count *= dims[d];
  uint8_t *in = malloc((size_t)bytes + 1), *out = malloc((size_t)bytes + 1);
  assert_true(in && out);
  for (int64_t i = 0; i < bytes; ++i) in[i] = (uint8_t)(i * 151 >> 3);
  out[bytes] = 0xa5;
  hlo_copy_plan_t plan;
  hlo_copy_plan_init(&plan, element_bytes, RANK, dims, in_strides, out_strides);
  hlo_copy_run(&plan, in, out);
  for (int64_t i = 0; i < count; ++i) {
    assert_memory_equal(out + offset_of(i, dims, out_strides), in + offset_of(i, dims, in_strides),
                        element_bytes);
  }
  assert_int_equal(out[bytes], 0xa5);
  free(in);
  free(out);
  return plan.kind;
}

static void every_order_becomes_every_other(void** state) {
  (void)state;
  static const size_t kSizes[] = {1, 2, 3, 4, 8, 16, 24};
  static const uint8_t kOrders[ORDERS][RANK] = {{3, 2, 1, 0}, {0, 1, 2, 3}, {3, 1, 2, 0},
                                                {1, 3, 2, 0}, {2, 3, 0, 1}, {3, 0, 1, 2}};
  static const int64_t kDims[][RANK] = {
      {2, 3, 4, 5}, {1, 17, 1, 33}, {3, 1, 40, 18}, {5, 2, 1, 1}, {2, 0, 3, 4}};
  for (size_t t = 0; t < sizeof kSizes / sizeof *kSizes; ++t) {
    for (size_t s = 0; s < sizeof kDims / sizeof *kDims; ++s) {
      for (size_t i = 0; i < ORDERS * ORDERS; ++i) {
        check_copy(kSizes[t], kDims[s], kOrders[i / ORDERS], kOrders[i % ORDERS]);
      }
    }
  }
}

static void loops_are_named(void** state) {
  (void)state;
  static const uint8_t kRows[] = {3, 2, 1, 0}, kColumns[] = {2, 3, 1, 0}, kApart[] = {3, 1, 2, 0};
  static const int64_t kSquare[] = {1, 1, 100, 70}, kCube[] = {1, 6, 7, 8}, kEmpty[] = {1, 0, 2, 2};
  assert_int_equal(check_copy(4, kSquare, kRows, kColumns), HLO_COPY_KIND_TRANSPOSE);
  assert_int_equal(check_copy(4, kSquare, kRows, kRows), HLO_COPY_KIND_BYTES);
  assert_int_equal(check_copy(4, kCube, kRows, kApart), HLO_COPY_KIND_RUNS);
  assert_int_equal(check_copy(4, kEmpty, kRows, kColumns), HLO_COPY_KIND_EMPTY);
}

static void inputs_may_have_any_strides(void** state) {
  (void)state;
  int32_t data[4 * 6], out[4 * 3];
  for (int i = 0; i < 4 * 6; ++i) data[i] = i;
  static const int64_t kDims[] = {4, 3}, kDense[] = {12, 4};
  static const struct {
    int first, row, column;  // in elements
  } kInputs[] = {{0, 6, 2}, {18, -6, 2}, {0, 0, 1}};
  for (size_t k = 0; k < sizeof kInputs / sizeof *kInputs; ++k) {
    const int64_t strides[] = {kInputs[k].row * 4, kInputs[k].column * 4};
    hlo_copy_plan_t plan;
    hlo_copy_plan_init(&plan, sizeof *data, 2, kDims, strides, kDense);
    hlo_copy_run(&plan, data + kInputs[k].first, out);
    for (int i = 0; i < 12; ++i) {
      assert_int_equal(out[i],
                       kInputs[k].first + i / 3 * kInputs[k].row + i % 3 * kInputs[k].column);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_order_becomes_every_other),
                                     cmocka_unit_test(loops_are_named),
                                     cmocka_unit_test(inputs_may_have_any_strides)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
