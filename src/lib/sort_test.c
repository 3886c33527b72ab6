// SPDX-License-Identifier: Apache-2.0
// Sorts against insertion by comparison: every element type, special values, stability, lengths
// around the limits of the methods, threads.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "lib/isa.h"
#include "lib/sort.h"
#include "lib/sort_impl.h"

static uint32_t random_state = 1;
static uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

// Fills with random bits; some elements are special values or repeat an earlier element.
static void fill(hlo_dtype_t dtype, int64_t count, uint8_t* out) {
  static const double special[] = {0.0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 2};
  const size_t bytes = hlo_dtype_size_bytes(dtype);
  for (int64_t i = 0; i < count; i++) {
    uint8_t* element = out + (size_t)i * bytes;
    const uint32_t kind = next_random() % 4;
    if (kind == 0 && hlo_dtype_is_float(dtype)) {
      hlo_dtype_store_double(dtype, element, special[next_random() % 8]);
    } else if (kind == 1 && i > 0) {
      memcpy(element, out + (size_t)(next_random() % (uint32_t)i) * bytes, bytes);
    } else if (hlo_dtype_is_float(dtype)) {
      for (size_t b = 0; b < bytes; b++) element[b] = (uint8_t)next_random();
    } else {
      const uint64_t high = next_random(), low = next_random();
      hlo_dtype_store_int64(dtype, element, (int64_t)(high << 40 ^ low << 3));
      if (dtype == HLO_DTYPE_PRED) *element &= 1;
    }
  }
}

// Returns true if a comes before b, by the definition of the order.
static bool is_less(const hlo_sort_form_t* form, const uint8_t* a, const uint8_t* b) {
  const uint8_t *x = form->descending ? b : a, *y = form->descending ? a : b;
  if (!hlo_dtype_is_float(form->dtype)) {
    const int64_t i = hlo_dtype_load_int64(form->dtype, x),
                  j = hlo_dtype_load_int64(form->dtype, y);
    return form->dtype == HLO_DTYPE_U64 ? (uint64_t)i < (uint64_t)j : i < j;
  }
  double i = hlo_dtype_load_double(form->dtype, x), j = hlo_dtype_load_double(form->dtype, y);
  if (isnan(i) || isnan(j)) {
    if (form->canonical) return !isnan(i) && isnan(j);
    if (isnan(i) && isnan(j) && !signbit(i) == !signbit(j)) {  // by payload
      uint64_t p = 0, q = 0;
      memcpy(&p, x, hlo_dtype_size_bytes(form->dtype));
      memcpy(&q, y, hlo_dtype_size_bytes(form->dtype));
      return signbit(i) ? p > q : p < q;
    }
    return isnan(i) ? signbit(i) : !signbit(j);
  }
  if (i == 0 && j == 0 && !form->canonical) return signbit(i) && !signbit(j);
  return i < j;
}

static void sort_plainly(const hlo_sort_form_t* form, int64_t count, const uint8_t* in,
                         uint32_t* positions) {
  const size_t bytes = hlo_dtype_size_bytes(form->dtype);
  for (int64_t i = 0; i < count; i++) {
    int64_t j = i;
    for (; j > 0 && is_less(form, in + (size_t)i * bytes, in + positions[j - 1] * bytes); j--) {
      positions[j] = positions[j - 1];
    }
    positions[j] = (uint32_t)i;
  }
}

static void check_sort(const hlo_sort_form_t* form, int64_t count) {
  const size_t bytes = hlo_dtype_size_bytes(form->dtype), n = (size_t)count;
  size_t scratch_bytes = 0;
  assert_true(hlo_sort_scratch_bytes(form->dtype, count, &scratch_bytes));
  void* scratch = hlo_mem_alloc_aligned(scratch_bytes, 64);
  uint8_t* in = hlo_mem_alloc_aligned(2 * n * bytes + 1, 64);
  uint8_t* out = in + n * bytes;
  uint32_t* want = hlo_mem_alloc(2 * n * sizeof(*want) + 1);
  uint32_t* found = want + n;
  fill(form->dtype, count, in);
  sort_plainly(form, count, in, want);
  hlo_sort_positions(NULL, form, count, in, true, found, scratch);
  assert_memory_equal(found, want, n * sizeof(*want));
  if (hlo_sort_values_supports(form->dtype) &&
      hlo_sort_values(NULL, form, count, in, out, scratch)) {
    for (size_t i = 0; i < n; i++) {
      assert_memory_equal(out + i * bytes, in + want[i] * bytes, bytes);
    }
  }
  const int64_t kept[] = {0, 1, count / 50 + 1, count / 3, count};
  for (int k = 0; k < 5; k++) {
    hlo_sort_select(form, count, in, kept[k], found, scratch);
    assert_memory_equal(found, want, (size_t)kept[k] * sizeof(*want));
  }
  hlo_mem_free(scratch);
  hlo_mem_free(in);
  hlo_mem_free(want);
}

// Lines sorted together equal lines sorted alone; some of the group may be missing.
static void check_group(const hlo_sort_form_t* form, int64_t count, bool is_across) {
  const int64_t value_lines = hlo_sort_group(form, false, count),
                position_lines = hlo_sort_group(form, true, count);
  const int64_t lines =
      (value_lines > position_lines ? value_lines : position_lines) - (int64_t)(next_random() % 3);
  if (lines <= 0) return;
  const size_t bytes = hlo_dtype_size_bytes(form->dtype), n = (size_t)(count * lines);
  size_t scratch_bytes = 0;
  assert_true(hlo_sort_scratch_bytes(form->dtype, count, &scratch_bytes));
  void* scratch = hlo_mem_alloc_aligned(scratch_bytes + hlo_sort_group_scratch_bytes(count), 64);
  uint8_t* in = hlo_mem_alloc_aligned(4 * n * bytes + 1, 64);
  uint8_t *out = in + n * bytes, *want = out + n * bytes, *kept = want + n * bytes;
  uint32_t* positions = hlo_mem_alloc(2 * n * sizeof(*positions) + 1);
  fill(form->dtype, (int64_t)n, in);
  memcpy(kept, in, n * bytes);
  // Strided lines, interleaved with others, and contiguous ones.
  const int64_t stride = is_across ? lines : 1;
  uint8_t *given = in, *across = hlo_mem_alloc_aligned(n * bytes + 1, 64);
  if (is_across) {
    for (size_t i = 0; i < n; i++) {
      memcpy(across + (i % (size_t)count * (size_t)lines + i / (size_t)count) * bytes,
             in + i * bytes, bytes);
    }
    given = across;
  }
  if (lines <= position_lines) {
    hlo_sort_group_positions(form, lines, count, stride, given, positions, scratch);
    for (int64_t l = 0; l < lines; l++) {
      uint32_t* alone = positions + n;
      hlo_sort_positions(NULL, form, count, in + (size_t)(l * count) * bytes, true, alone, scratch);
      assert_memory_equal(positions + l * count, alone, (size_t)count * sizeof(*alone));
    }
  }
  if (lines <= value_lines) {
    const uint32_t left = hlo_sort_group_values(form, lines, count, stride, given, given, scratch);
    for (size_t i = 0; i < n; i++) {
      const size_t from = is_across ? i % (size_t)count * (size_t)lines + i / (size_t)count : i;
      memcpy(out + i * bytes, given + from * bytes, bytes);
    }
    for (int64_t l = 0; l < lines; l++) {
      const size_t at = (size_t)(l * count) * bytes;
      const bool is_done = hlo_sort_values(NULL, form, count, kept + at, want, scratch);
      if (left >> l & 1) memcpy(want, kept + at, (size_t)count * bytes);
      assert_true(is_done || left >> l & 1);
      assert_memory_equal(out + at, want, (size_t)count * bytes);
    }
  }
  hlo_mem_free(scratch);
  hlo_mem_free(in);
  hlo_mem_free(across);
  hlo_mem_free(positions);
}

static void test_types_and_lengths(void** state) {
  (void)state;
  static const hlo_dtype_t types[] = {
      HLO_DTYPE_F32,  HLO_DTYPE_F64, HLO_DTYPE_BF16, HLO_DTYPE_F16, HLO_DTYPE_F8E4M3FN,
      HLO_DTYPE_PRED, HLO_DTYPE_S8,  HLO_DTYPE_U8,   HLO_DTYPE_S16, HLO_DTYPE_U16,
      HLO_DTYPE_S32,  HLO_DTYPE_U32, HLO_DTYPE_S64,  HLO_DTYPE_U64, HLO_DTYPE_S4};
  static const int64_t lengths[] = {0, 1, 2, 3, 15, 16, 17, 33, 100, 191, 192, 193, 517, 1030};
  for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
    for (int f = 0; f < 4; f++) {
      const hlo_sort_form_t form = {types[t], .canonical = f & 1, .descending = f & 2};
      if (!form.canonical && types[t] == HLO_DTYPE_F8E4M3FN) continue;  // NaN has no payload
      for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
        check_sort(&form, lengths[l]);
        check_group(&form, lengths[l], false);
        check_group(&form, lengths[l], true);
      }
    }
  }
}

#if defined(__x86_64__)

// A network that sorts all zeros and ones sorts everything: all inputs for the shortest lines, many
// for longer ones.
static void check_network(const hlo_sort_lanes_t* lanes, int width) {
  enum { LONGEST = 2048, LANES = 16 };
  static _Alignas(64) uint64_t x[LONGEST * LANES];
  const int64_t n = lanes->lanes;
  for (int64_t count = 1; count <= LONGEST; count += count < 40 ? 1 : count / 3) {
    const int64_t rounds = count == 16 ? (1 << 16) / n : 1 + 2000 / count;
    for (int64_t round = 0; round < rounds; round++) {
      int64_t ones[LANES] = {0};
      const uint32_t odds = next_random() % 255 + 1;
      for (int64_t e = 0; e < count; e++) {
        for (int64_t l = 0; l < n; l++) {
          const bool one = count == 16 ? (round * n + l) >> e & 1 : next_random() % 256 < odds;
          ones[l] += one;
          if (width == 32) {
            ((uint32_t*)x)[e * n + l] = one;
          } else {
            x[e * n + l] = one;
          }
        }
      }
      lanes->sort(count, x);
      for (int64_t i = 0; i < count * n; i++) {
        const uint64_t found = width == 32 ? ((uint32_t*)x)[i] : x[i];
        assert_int_equal(found, i / n >= count - ones[i % n]);
      }
    }
  }
}

#endif

static void test_networks(void** state) {
  (void)state;
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) check_network(&hlo_sort_lanes_avx2_32, 32);
  if (hlo_isa() >= HLO_ISA_AVX512) {
    check_network(&hlo_sort_lanes_avx512_32, 32);
    check_network(&hlo_sort_lanes_avx512_64, 64);
  }
#endif
}

// Keys with equal digits, already sorted, and in reverse.
static void test_shapes_of_data(void** state) {
  (void)state;
  enum { COUNT = 700 };
  const hlo_sort_form_t form = {.dtype = HLO_DTYPE_S32};
  size_t scratch_bytes = 0;
  assert_true(hlo_sort_scratch_bytes(form.dtype, COUNT, &scratch_bytes));
  void* scratch = hlo_mem_alloc_aligned(scratch_bytes, 64);
  int32_t in[COUNT], out[COUNT];
  for (int shape = 0; shape < 4; shape++) {
    for (int i = 0; i < COUNT; i++) {
      in[i] = shape == 0 ? 7 : shape == 1 ? i - 300 : shape == 2 ? 300 - i : i % 2 ? -65536 : 65536;
    }
    assert_true(hlo_sort_values(NULL, &form, COUNT, in, out, scratch));
    for (int i = 1; i < COUNT; i++) assert_true(out[i - 1] <= out[i]);
    assert_true(hlo_sort_values(NULL, &form, COUNT, in, in, scratch));
    assert_memory_equal(in, out, sizeof(in));
  }
  hlo_mem_free(scratch);
}

static void test_two_keys(void** state) {
  (void)state;
  enum { COUNT = 900 };
  const hlo_sort_form_t minor = {.dtype = HLO_DTYPE_S64, .descending = true};
  const hlo_sort_form_t major = {.dtype = HLO_DTYPE_S32};
  size_t scratch_bytes = 0;
  assert_true(hlo_sort_scratch_bytes(minor.dtype, COUNT, &scratch_bytes));
  void* scratch = hlo_mem_alloc_aligned(scratch_bytes, 64);
  static int64_t low[COUNT];
  static int32_t high[COUNT];
  uint32_t positions[COUNT];
  for (int i = 0; i < COUNT; i++) {
    low[i] = next_random() % 20;
    high[i] = (int32_t)(next_random() % 10) - 5;
  }
  hlo_sort_positions(NULL, &minor, COUNT, low, true, positions, scratch);
  hlo_sort_positions(NULL, &major, COUNT, high, false, positions, scratch);
  for (int i = 1; i < COUNT; i++) {
    const uint32_t a = positions[i - 1], b = positions[i];
    assert_true(high[a] < high[b] ||
                (high[a] == high[b] && (low[a] > low[b] || (low[a] == low[b] && a < b))));
  }
  hlo_mem_free(scratch);
}

// A line cut into chunks, with and without threads.
static void test_long_line(void** state) {
  (void)state;
  enum { COUNT = 200001 };
  hlo_pool_t* pool = NULL;
  assert_true(hlo_status_is_ok(hlo_pool_create(3, &pool)));
  const hlo_parallel_t parallel = hlo_parallel_on_pool(pool);
  static const hlo_dtype_t types[] = {HLO_DTYPE_F32, HLO_DTYPE_S64};
  for (int t = 0; t < 2; t++) {
    const hlo_sort_form_t form = {.dtype = types[t], .canonical = true};
    const size_t bytes = hlo_dtype_size_bytes(form.dtype);
    size_t scratch_bytes = 0;
    assert_true(hlo_sort_scratch_bytes(form.dtype, COUNT, &scratch_bytes));
    void* scratch = hlo_mem_alloc_aligned(scratch_bytes, 64);
    uint8_t* in = hlo_mem_alloc_aligned(2 * COUNT * bytes, 64);
    uint32_t* alone = hlo_mem_alloc(2 * COUNT * sizeof(*alone));
    fill(form.dtype, COUNT, in);
    hlo_sort_positions(NULL, &form, COUNT, in, true, alone, scratch);
    hlo_sort_positions(&parallel, &form, COUNT, in, true, alone + COUNT, scratch);
    assert_memory_equal(alone, alone + COUNT, COUNT * sizeof(*alone));
    for (int i = 1; i < COUNT; i++) {
      const uint8_t *a = in + alone[i - 1] * bytes, *b = in + alone[i] * bytes;
      assert_true(is_less(&form, a, b) || (!is_less(&form, b, a) && alone[i - 1] < alone[i]));
    }
    uint8_t* out = in + COUNT * bytes;
    const bool is_done = hlo_sort_values(&parallel, &form, COUNT, in, out, scratch);
    assert_int_equal(is_done, types[t] == HLO_DTYPE_S64);
    for (size_t i = 0; i < COUNT && is_done; i++) {
      assert_memory_equal(out + i * bytes, in + alone[i] * bytes, bytes);
    }
    hlo_mem_free(scratch);
    hlo_mem_free(in);
    hlo_mem_free(alone);
  }
  hlo_pool_release(pool);
}

static void check_loops(const hlo_sort_loops_t* loops) {
  enum { COUNT = 333, COLUMNS = 40 };
  const hlo_sort_loops_t* plain = &hlo_sort_loops_generic;
  uint64_t in[COUNT], found[COUNT], want[COUNT];
  for (int canonical = 0; canonical < 2; canonical++) {
    fill(HLO_DTYPE_F32, COUNT, (uint8_t*)in);
    uint32_t *keys = (uint32_t*)found, *others = (uint32_t*)want;
    assert_int_equal(loops->keys_f32(canonical, 5, COUNT, (uint32_t*)in, keys),
                     plain->keys_f32(canonical, 5, COUNT, (uint32_t*)in, others));
    assert_memory_equal(keys, others, COUNT * sizeof(*keys));
    loops->elements_f32(5, COUNT, others, keys);
    if (!canonical) assert_memory_equal(keys, in, COUNT * sizeof(*keys));
    fill(HLO_DTYPE_F64, COUNT, (uint8_t*)in);
    assert_int_equal(loops->keys_f64(canonical, 5, COUNT, in, found),
                     plain->keys_f64(canonical, 5, COUNT, in, want));
    assert_memory_equal(found, want, sizeof(found));
    loops->elements_f64(5, COUNT, want, found);
    if (!canonical) assert_memory_equal(found, in, sizeof(found));
  }
  uint32_t keys[COUNT], least[2][COLUMNS];
  for (int i = 0; i < COUNT; i++) keys[i] = next_random() % 500 + 0xfffffe00u * (i % 2);
  loops->least_of_columns(COUNT, keys, COLUMNS, least[0]);
  plain->least_of_columns(COUNT, keys, COLUMNS, least[1]);
  assert_memory_equal(least[0], least[1], sizeof(least[0]));
  const int64_t count = loops->collect(COUNT, keys, 100, 2, found);
  assert_int_equal(count, plain->collect(COUNT, keys, 100, 2, want));
  assert_memory_equal(found, want, (size_t)count * sizeof(*found));
}

static void test_loops(void** state) {
  (void)state;
  check_loops(&hlo_sort_loops_generic);
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) check_loops(&hlo_sort_loops_avx2);
  if (hlo_isa() >= HLO_ISA_AVX512) check_loops(&hlo_sort_loops_avx512);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_types_and_lengths), cmocka_unit_test(test_networks),
      cmocka_unit_test(test_shapes_of_data),    cmocka_unit_test(test_two_keys),
      cmocka_unit_test(test_long_line),         cmocka_unit_test(test_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
