// SPDX-License-Identifier: Apache-2.0
// The numbers of reductions over devices: every reducer and element type, groups and sizes, equal
// on all executors, and for sums equal to those computed here, whatever the order of arrival. Large
// arrays, which are divided and pass the caches, also in other collectives.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "runtime/test_util.h"

enum { DEVICES = 8, WIDTH_MAX = 16 };

typedef struct groups {
  const char* text;
  int8_t rows[8][8];  // -1 after the end
} groups_t;

static const groups_t kGroups[] = {
    {"dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>", {{0, 1, 2, 3, 4, 5, 6, 7}}},
    {"dense<[[7, 0], [1, 6], [5, 2], [3, 4]]> : tensor<4x2xi64>",
     {{7, 0, -1}, {1, 6, -1}, {5, 2, -1}, {3, 4, -1}}},
    {"dense<[[4, 0, 2], [1, -1, -1], [7, 3, -1], [6, 5, -1]]> : tensor<4x3xi64>",
     {{4, 0, 2, -1}, {1, -1}, {7, 3, -1}, {6, 5, -1}}},
    {"dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi64>",
     {{0, -1}, {1, -1}, {2, -1}, {3, -1}, {4, -1}, {5, -1}, {6, -1}, {7, -1}}},
};
enum { GROUPS = sizeof kGroups / sizeof *kGroups };

static hlo_client_t* create_client(uint32_t thread_count, uint64_t slow_seed) {
  const hlo_client_options_t options = {.device_count = DEVICES,
                                        .thread_count = thread_count,
                                        .is_slow = slow_seed != 0,
                                        .slow = {.seed = slow_seed, .delay = 5}};
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(&options, &client));
  return client;
}

static hlo_loaded_t* load(hlo_client_t* client, const char* backend, hlo_dtype_t dtype,
                          const char* reducer, const groups_t* groups, size_t count) {
  const char* name = hlo_dtype_info(dtype)->mlir_name;
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text,
                    "func.func @main(%%x: tensor<%zux%s>) -> tensor<%zux%s> {\n"
                    "  %%0 = \"stablehlo.all_reduce\"(%%x) ({\n"
                    "  ^bb0(%%a: tensor<%s>, %%b: tensor<%s>):\n"
                    "    %%s = stablehlo.%s %%a, %%b : tensor<%s>\n"
                    "    stablehlo.return %%s : tensor<%s>\n"
                    "  }) {replica_groups = %s} : (tensor<%zux%s>) -> tensor<%zux%s>\n"
                    "  return %%0 : tensor<%zux%s>\n}\n",
                    count, name, count, name, name, name, reducer, name, name, groups->text, count,
                    name, count, name, count, name);
  return hlo_test_load(client, hlo_strbuf_text(&text), backend, DEVICES);
}

static bool g_has_specials;  // sums of infinities and NaNs

// Values of device `device`; floats with many digits, integers that wrap.
static void fill(hlo_dtype_t dtype, uint32_t device, uint8_t* to, size_t count) {
  const size_t width = hlo_dtype_size_bytes(dtype);
  const hlo_dtype_t part = hlo_dtype_is_complex(dtype) ? hlo_dtype_info(dtype)->part : dtype;
  const size_t part_width = hlo_dtype_size_bytes(part);
  uint32_t state = 12345 + device * 7919;
  for (size_t i = 0; i < count * width / part_width; ++i) {
    state = state * 1664525 + 1013904223;
    if (hlo_dtype_is_float(part)) {
      const bool is_special = g_has_specials && i >= 60 && i < 63 && device + i > 63;
      const double special = i == 60 ? (double)NAN : i == 61 ? -(double)INFINITY : (double)INFINITY;
      const double plain = (double)(state >> 8) / (1 << 22) - 1.5;
      hlo_dtype_store_double(part, to + i * part_width, is_special ? special : plain);
    } else if (part == HLO_DTYPE_PRED) {
      to[i] = state >> 31;
    } else {
      hlo_dtype_store_int64(part, to + i * part_width, (int64_t)(int32_t)state);
    }
  }
}

typedef struct bytes {
  size_t size_bytes;
  uint8_t* data;  // of all devices
} bytes_t;

// Runs a program from vectors of `count` to vectors of `result_count`, which is not less.
static bytes_t run_to(hlo_client_t* client, hlo_loaded_t* loaded, hlo_dtype_t dtype, size_t count,
                      size_t result_count) {
  const size_t size = result_count * hlo_dtype_size_bytes(dtype);
  const int64_t dims[1] = {(int64_t)count};
  const hlo_buffer_shape_t shape = {.dtype = dtype, .rank = 1, .dims = dims};
  bytes_t all = {size * DEVICES, hlo_mem_alloc_zeroed(size * DEVICES + WIDTH_MAX)};
  hlo_buffer_t *arguments[DEVICES], *results[DEVICES];
  hlo_buffer_t* const* argument_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  for (uint32_t d = 0; d < DEVICES; ++d) {
    fill(dtype, d, all.data, count);
    hlo_memory_t* memory = &hlo_client_device(client, d)->memories[HLO_MEMORY_DEVICE];
    hlo_test_check(hlo_buffer_from_host(memory, &shape, all.data, NULL,
                                        HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &arguments[d]));
    argument_rows[d] = &arguments[d];
    result_rows[d] = &results[d];
  }
  hlo_test_check(hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = DEVICES,
                                                            .arguments = argument_rows,
                                                            .argument_count = 1,
                                                            .out_results = result_rows}));
  for (uint32_t d = 0; d < DEVICES; ++d) {
    hlo_event_t* done = NULL;
    hlo_test_check(hlo_buffer_to_host(results[d], all.data + d * size, size, NULL, &done));
    hlo_test_check(hlo_event_await(done, UINT64_MAX));
    hlo_event_release(done);
    hlo_buffer_release(results[d]);
    hlo_buffer_release(arguments[d]);
  }
  return all;
}

static bytes_t run(hlo_client_t* client, hlo_loaded_t* loaded, hlo_dtype_t dtype, size_t count) {
  return run_to(client, loaded, dtype, count, count);
}

// Sums in the order of the group, rounded to f32 after each addition and to the type at the end.
static void expect_float_sums(hlo_dtype_t dtype, const groups_t* groups, size_t count,
                              const bytes_t* got) {
  const size_t width = hlo_dtype_size_bytes(dtype), size = count * width;
  float* sums = hlo_mem_alloc(count * sizeof *sums + 1);
  float* values = hlo_mem_alloc(count * sizeof *values + 1);
  uint8_t* bytes = hlo_mem_alloc(size + 1);
  for (uint32_t g = 0; g < 8 && groups->rows[g][0] >= 0; ++g) {
    if (g > 0 && groups->rows[g][1] == 0 && groups->rows[g][0] == 0) break;  // rows are over
    for (uint32_t m = 0; m < 8 && groups->rows[g][m] >= 0; ++m) {
      fill(dtype, (uint32_t)groups->rows[g][m], bytes, count);
      hlo_dtype_convert(dtype, bytes, HLO_DTYPE_F32, m ? values : sums, count);
      for (size_t i = 0; m && i < count; ++i) sums[i] += values[i];
    }
    hlo_dtype_convert(HLO_DTYPE_F32, sums, dtype, bytes, count);
    for (uint32_t m = 0; m < 8 && groups->rows[g][m] >= 0; ++m) {
      assert_memory_equal(got->data + (size_t)groups->rows[g][m] * size, bytes, size);
    }
  }
  hlo_mem_free(sums);
  hlo_mem_free(values);
  hlo_mem_free(bytes);
}

static bool is_summed_in_f32(hlo_dtype_t dtype) {
  return hlo_dtype_is_float(dtype) && dtype != HLO_DTYPE_F64;
}

typedef struct clients {
  hlo_client_t *one, *three;
} clients_t;

static void compare(const clients_t* clients, hlo_dtype_t dtype, const char* reducer,
                    const groups_t* groups, size_t count) {
  hlo_loaded_t* reference = load(clients->one, "interp", dtype, reducer, groups, count);
  hlo_loaded_t* loaded = load(clients->three, "native", dtype, reducer, groups, count);
  bytes_t want = run(clients->one, reference, dtype, count);
  bytes_t got = run(clients->three, loaded, dtype, count);
  if (memcmp(want.data, got.data, want.size_bytes) != 0) {
    fail_msg("%s of %zu %s over %s", reducer, count, hlo_dtype_info(dtype)->name, groups->text);
  }
  if (strcmp(reducer, "add") == 0 && is_summed_in_f32(dtype)) {
    expect_float_sums(dtype, groups, count, &got);
  }
  hlo_mem_free(want.data);
  hlo_mem_free(got.data);
  hlo_loaded_release(loaded);
  hlo_loaded_release(reference);
}

static void reducers_and_types(void** state) {
  (void)state;
  static const char* const reducers[] = {"add", "multiply", "maximum", "minimum",
                                         "and", "or",       "xor"};
  enum { ARITHMETIC = 4, REDUCERS = sizeof reducers / sizeof *reducers };
  const clients_t clients = {create_client(1, 0), create_client(3, 0)};
  for (int t = 0; t < HLO_DTYPE_COUNT; ++t) {
    const hlo_dtype_t dtype = (hlo_dtype_t)t;
    const bool is_complex = hlo_dtype_is_complex(dtype), is_float = hlo_dtype_is_float(dtype);
    if (!is_complex && !is_float && !hlo_dtype_is_integer(dtype) && dtype != HLO_DTYPE_PRED) {
      continue;
    }
    const int count = is_complex ? 2 : is_float ? ARITHMETIC : REDUCERS;
    for (int r = 0; r < count; ++r) compare(&clients, dtype, reducers[r], &kGroups[t % 3], 67);
  }
  hlo_client_release(clients.one);
  hlo_client_release(clients.three);
}

static void groups_and_sizes(void** state) {
  (void)state;
  static const hlo_dtype_t dtypes[] = {HLO_DTYPE_F32, HLO_DTYPE_F16, HLO_DTYPE_BF16, HLO_DTYPE_S32};
  static const size_t counts[] = {0, 1, 3, 1025};
  const clients_t clients = {create_client(1, 0), create_client(3, 0)};
  g_has_specials = true;
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; ++t) {
    for (size_t g = 0; g < GROUPS; ++g) {
      for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        compare(&clients, dtypes[t], "add", &kGroups[g], counts[c]);
      }
    }
  }
  g_has_specials = false;
  hlo_client_release(clients.one);
  hlo_client_release(clients.three);
}

// Results that pass the caches, in several chunks with a rest.
static void large_sums(void** state) {
  (void)state;
  enum { COUNT = (1 << 20) + 1 };
  static const hlo_dtype_t dtypes[] = {HLO_DTYPE_F32, HLO_DTYPE_BF16};
  hlo_client_t* client = create_client(3, 0);
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; ++t) {
    for (size_t g = 0; g < GROUPS; ++g) {
      hlo_loaded_t* loaded = load(client, "native", dtypes[t], "add", &kGroups[g], COUNT);
      const char* backend = hlo_loaded_executable(loaded)->program->backend->name;
      assert_string_equal(backend, "native");
      bytes_t got = run(client, loaded, dtypes[t], COUNT);
      expect_float_sums(dtypes[t], &kGroups[g], COUNT, &got);
      hlo_mem_free(got.data);
      hlo_loaded_release(loaded);
    }
  }
  hlo_client_release(client);
}

#define X "tensor<1032x518xf32>"
#define PAIRS "replica_groups = dense<[[7, 0], [1, 6], [5, 2], [3, 4]]> : tensor<4x2xi64>"
#define MOVE(result, op, attributes, type)                                     \
  "func.func @main(%0: tensor<534576xf32>) -> tensor<" result                  \
  "xf32> {\n"                                                                  \
  "  %x = stablehlo.reshape %0 : (tensor<534576xf32>) -> " X                   \
  "\n"                                                                         \
  "  %1 = \"stablehlo." op "\"(%x) {" attributes "} : (" X ") -> tensor<" type \
  "xf32>\n"                                                                    \
  "  %2 = stablehlo.reshape %1 : (tensor<" type "xf32>) -> tensor<" result     \
  "xf32>\n"                                                                    \
  "  return %2 : tensor<" result "xf32>\n}\n"

static void large_moves(void** state) {
  (void)state;
  enum { COUNT = 1032 * 518 };
  static const struct {
    const char* text;
    size_t count;
  } programs[] = {
      {MOVE("1069152", "all_gather", "all_gather_dim = 0 : i64, " PAIRS, "2064x518"), 2 * COUNT},
      {MOVE("1069152", "all_gather", "all_gather_dim = 1 : i64, " PAIRS, "1032x1036"), 2 * COUNT},
      {MOVE("534576", "all_to_all",
            "split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, " PAIRS,
            "516x1036"),
       COUNT},
      {MOVE("534576", "collective_permute",
            "source_target_pairs = dense<[[0, 1], [1, 2], [6, 7], [7, 6]]> : tensor<4x2xi64>",
            "1032x518"),
       COUNT},
      {MOVE("534576", "collective_broadcast", PAIRS, "1032x518"), COUNT},
  };
  const clients_t clients = {create_client(1, 0), create_client(3, 0)};
  for (size_t p = 0; p < sizeof programs / sizeof *programs; ++p) {
    hlo_loaded_t* reference = hlo_test_load(clients.one, programs[p].text, "interp", DEVICES);
    hlo_loaded_t* loaded = hlo_test_load(clients.three, programs[p].text, "native", DEVICES);
    assert_string_equal(hlo_loaded_executable(loaded)->program->backend->name, "native");
    bytes_t want = run_to(clients.one, reference, HLO_DTYPE_F32, COUNT, programs[p].count);
    bytes_t got = run_to(clients.three, loaded, HLO_DTYPE_F32, COUNT, programs[p].count);
    if (memcmp(want.data, got.data, want.size_bytes) != 0) fail_msg("%s", programs[p].text);
    hlo_mem_free(want.data);
    hlo_mem_free(got.data);
    hlo_loaded_release(loaded);
    hlo_loaded_release(reference);
  }
  hlo_client_release(clients.one);
  hlo_client_release(clients.three);
}

static void orders_of_arrival(void** state) {
  (void)state;
  enum { COUNT = 1000, SEEDS = 10 };
  static const char* const backends[] = {"native", "interp"};
  for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
    hlo_client_t* client = create_client(1 + seed % 3, seed);
    for (size_t b = 0; b < 2; ++b) {
      const groups_t* groups = &kGroups[seed % 3];
      hlo_loaded_t* loaded = load(client, backends[b], HLO_DTYPE_F32, "add", groups, COUNT);
      bytes_t got = run(client, loaded, HLO_DTYPE_F32, COUNT);
      expect_float_sums(HLO_DTYPE_F32, groups, COUNT, &got);
      hlo_mem_free(got.data);
      hlo_loaded_release(loaded);
    }
    hlo_client_release(client);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reducers_and_types), cmocka_unit_test(groups_and_sizes),
      cmocka_unit_test(large_sums),         cmocka_unit_test(large_moves),
      cmocka_unit_test(orders_of_arrival),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
