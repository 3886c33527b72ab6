// SPDX-License-Identifier: Apache-2.0
// Loops of exchanges: every variant that the machine runs gives the bits of hlo_fold_combine(), for
// any number of operands, with tails, results past the caches, and special values.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "ir/process_groups.h"
#include "lib/exchange_impl.h"
#include "lib/isa.h"

enum { MEMBERS_MAX = 19, COUNT_MAX = 300, BYTES_MAX = 8, BEGIN = 3, FAR = 16 };

typedef struct buffers {
  _Alignas(64) uint8_t in[MEMBERS_MAX][(COUNT_MAX + FAR) * BYTES_MAX];
  _Alignas(64) uint8_t out[MEMBERS_MAX][(COUNT_MAX + FAR) * BYTES_MAX];
  uint8_t want[COUNT_MAX * BYTES_MAX];
} buffers_t;

static buffers_t buffers;

static uint32_t random_state = 1;
static uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

static void fill(hlo_dtype_t dtype, size_t count, uint8_t* out) {
  static const double special[] = {0.0, -0.0, 1.5, -1.5, INFINITY, -INFINITY, NAN, 1e-39};
  const size_t bytes = hlo_dtype_size_bytes(dtype);
  for (size_t i = 0; i < count; i++, out += bytes) {
    if (hlo_dtype_is_float(dtype)) {
      const double number = next_random() % 2 ? special[next_random() % 8] : next_random() * 1e-3;
      hlo_dtype_store_double(dtype, out, number);
    } else {
      hlo_dtype_store_int64(dtype, out, (int64_t)((uint64_t)next_random() << 42 ^ next_random()));
      if (dtype == HLO_DTYPE_PRED) *out &= 1;
    }
  }
}

// The operands one after the other, sums of narrow floats in f32.
static void reduce_plainly(hlo_fold_op_t op, hlo_dtype_t dtype, uint32_t members, size_t count) {
  const hlo_dtype_t acc = op == HLO_FOLD_ADD ? hlo_group_accumulator(HLO_OP_add, dtype) : dtype;
  const size_t begin = BEGIN * hlo_dtype_size_bytes(dtype);
  const hlo_fold_t* fold = hlo_fold_find(op, acc);
  uint64_t sum[COUNT_MAX], next[COUNT_MAX];
  assert_non_null(fold);
  hlo_dtype_convert(dtype, buffers.in[0] + begin, acc, sum, count);
  for (uint32_t m = 1; m < members; ++m) {
    hlo_dtype_convert(dtype, buffers.in[m] + begin, acc, next, count);
    hlo_fold_combine(fold, acc, (int64_t)count, sum, next);
  }
  hlo_dtype_convert(acc, sum, dtype, buffers.want, count);
}

// The sign of a NaN depends on the order in which the compiler writes a sum.
static bool are_equal(hlo_dtype_t dtype, const uint8_t* got, const uint8_t* want, size_t count) {
  const size_t width = hlo_dtype_size_bytes(dtype);
  for (size_t i = 0; i < count * width; i += width) {
    if (memcmp(got + i, want + i, width) == 0) continue;
    if (!hlo_dtype_is_float(dtype) || !isnan(hlo_dtype_load_double(dtype, got + i)) ||
        !isnan(hlo_dtype_load_double(dtype, want + i))) {
      return false;
    }
  }
  return true;
}

static void check(hlo_exchange_reduce_fn_t reduce, hlo_fold_op_t op, hlo_dtype_t dtype,
                  uint32_t members, size_t count, size_t out_begin) {
  const size_t width = hlo_dtype_size_bytes(dtype);
  void *in[2 * MEMBERS_MAX], *out[2 * MEMBERS_MAX];
  for (uint32_t m = 0; m < members; ++m) {
    in[2 * m] = buffers.in[m];
    out[2 * m] = buffers.out[m];
    fill(dtype, BEGIN + count, buffers.in[m]);
    memset(buffers.out[m], 0x5a, sizeof buffers.out[m]);
  }
  reduce(&(hlo_exchange_reduce_t){.count = count,
                                  .in_count = members,
                                  .out_count = members,
                                  .stride = 2,
                                  .in = in,
                                  .out = out,
                                  .in_begin = BEGIN,
                                  .out_begin = out_begin,
                                  .is_streamed = count % 2 == 0});
  reduce_plainly(op, dtype, members, count);
  for (uint32_t m = 0; m < members; ++m) {
    const uint8_t* got = buffers.out[m] + out_begin * width;
    if (!are_equal(dtype, got, buffers.want, count)) {
      fail_msg("op %d of %s, %u members, %zu elements, member %u", op, hlo_dtype_info(dtype)->name,
               members, count, m);
    }
    assert_int_equal(got[count * width], 0x5a);
    if (out_begin) assert_int_equal(got[-1], 0x5a);
  }
}

static void check_loops(const hlo_exchange_loops_t* loops, uint32_t* loop_count) {
  static const size_t counts[] = {0, 1, 5, 16, 63, 64, 65, 130, 257, 300};
  static const uint32_t members[] = {2, 3, 8, 9, MEMBERS_MAX};
  for (hlo_dtype_t dtype = 0; dtype < HLO_DTYPE_COUNT; ++dtype) {
    for (hlo_fold_op_t op = 0; op < HLO_FOLD_OP_COUNT; ++op) {
      const hlo_exchange_reduce_fn_t reduce = loops->find_reduce(op, dtype);
      if (!reduce) continue;
      ++*loop_count;
      for (uint32_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        for (uint32_t m = 0; m < sizeof members / sizeof *members; ++m) {
          check(reduce, op, dtype, members[m], counts[c], 0);
          check(reduce, op, dtype, members[m], counts[c], FAR / 2);
          check(reduce, op, dtype, members[m], counts[c], 1);
        }
      }
    }
  }
}

static void check_all(hlo_subnormals_t subnormals) {
  const hlo_fp_state_t before = hlo_fp_enter(subnormals);
  uint32_t count = 0;
  check_loops(&hlo_exchange_loops_generic, &count);
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) check_loops(&hlo_exchange_loops_avx2, &count);
  if (hlo_isa() >= HLO_ISA_AVX512) check_loops(&hlo_exchange_loops_avx512, &count);
#endif
  hlo_fp_leave(before);
  assert_true(count >= 30);
}

static void loops_give_the_bits_of_folds(void** state) {
  (void)state;
  check_all(HLO_SUBNORMALS_FLUSH);
  check_all(HLO_SUBNORMALS_KEEP);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(loops_give_the_bits_of_folds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
