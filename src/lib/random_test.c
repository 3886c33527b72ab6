// SPDX-License-Identifier: Apache-2.0
// Random bits in lanes: every variant that the machine runs against one counter at a time.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "lib/isa.h"
#include "lib/random_impl.h"

static uint32_t rotate_left(uint32_t x, unsigned by) {
  return x << by | x >> (32 - by);
}

static void threefry(uint64_t key, uint64_t counter, uint32_t* words) {
  static const uint8_t rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t keys[] = {(uint32_t)key, (uint32_t)(key >> 32),
                           (uint32_t)key ^ (uint32_t)(key >> 32) ^ 0x1bd11bda};
  uint32_t x = (uint32_t)counter + keys[0], y = (uint32_t)(counter >> 32) + keys[1];
  for (unsigned round = 0; round < 20; ++round) {
    x += y;
    y = rotate_left(y, rotations[round % 8]) ^ x;
    if (round % 4 != 3) continue;
    x += keys[(round / 4 + 1) % 3];
    y += keys[(round / 4 + 2) % 3] + round / 4 + 1;
  }
  words[0] = x;
  words[1] = y;
}

static void philox_reference(uint64_t key, uint64_t low, uint64_t high, uint32_t* x) {
  uint32_t key_0 = (uint32_t)key, key_1 = (uint32_t)(key >> 32);
  x[0] = (uint32_t)low, x[1] = (uint32_t)(low >> 32);
  x[2] = (uint32_t)high, x[3] = (uint32_t)(high >> 32);
  for (unsigned round = 0; round < 10; ++round) {
    const uint64_t a = x[0] * UINT64_C(0xd2511f53), b = x[2] * UINT64_C(0xcd9e8d57);
    x[0] = (uint32_t)(b >> 32) ^ x[1] ^ key_0;
    x[1] = (uint32_t)b;
    x[2] = (uint32_t)(a >> 32) ^ x[3] ^ key_1;
    x[3] = (uint32_t)a;
    key_0 += 0x9e3779b9u;
    key_1 += 0xbb67ae85u;
  }
}

static void check_words(const hlo_random_loops_t* loops, uint64_t key, uint64_t low,
                        uint64_t high) {
  uint32_t pairs[2][HLO_RANDOM_BLOCK], fours[HLO_RANDOM_BLOCK][4];
  loops->threefry(key, low, pairs);
  loops->philox(key, (const uint64_t[]){low, high}, fours);
  for (uint32_t i = 0; i < HLO_RANDOM_BLOCK; ++i) {
    uint32_t want[4];
    threefry(key, low + i, want);
    assert_int_equal(pairs[0][i], want[0]);
    assert_int_equal(pairs[1][i], want[1]);
    philox_reference(key, low + i, high + (low + i < low), want);
    assert_memory_equal(fours[i], want, sizeof want);
  }
}

static void check_all(const hlo_random_loops_t* loops) {
  static const uint64_t counters[] = {0,
                                      7,
                                      0xfffffff0,
                                      0xffffffff,
                                      0x123456789abcdef0,
                                      UINT64_MAX,
                                      UINT64_MAX - 15,
                                      UINT64_MAX - 20};
  for (size_t i = 0; i < sizeof counters / sizeof *counters; ++i) {
    check_words(loops, 0x0123456789abcdef * (i + 1), counters[i], i * 0xffffffff);
  }
}

static void test_variants(void** state) {
  (void)state;
  check_all(&(hlo_random_loops_t){hlo_random_threefry, hlo_random_philox});
  check_all(&hlo_random_loops_generic);
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) check_all(&hlo_random_loops_avx2);
  if (hlo_isa() >= HLO_ISA_AVX512) check_all(&hlo_random_loops_avx512);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
