// SPDX-License-Identifier: Apache-2.0
// Every collective on eight devices, for eight element types, groups of several forms and sizes
// from no element to large odd ones: results equal those computed here from the definition of the
// op.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "runtime/test_util.h"

enum { DEVICES = 8, LARGE = (1 << 20) + 1 };

typedef enum op {
  ALL_REDUCE,
  REDUCE_SCATTER,
  ALL_GATHER,
  ALL_TO_ALL,
  PERMUTE,
  BROADCAST,
  OP_COUNT
} op_t;

// Groups by device, and the pairs of a permutation.
typedef struct form {
  const char* name;
  const char *groups, *shape;
  uint32_t count;
  uint32_t rows[DEVICES][DEVICES];
  const char *pairs, *pairs_shape;
  int32_t sources[DEVICES];  // by target; -1: nobody sends
} form_t;

static const form_t kForms[] = {
    {"all",
     "[[5, 1, 2, 7, 4, 0, 6, 3]]",
     "1x8",
     8,
     {{5, 1, 2, 7, 4, 0, 6, 3}},
     "[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]",
     "8x2",
     {7, 0, 1, 2, 3, 4, 5, 6}},
    {"pairs",
     "[[0, 3], [2, 1], [4, 7], [6, 5]]",
     "4x2",
     2,
     {{0, 3}, {2, 1}, {4, 7}, {6, 5}},
     "[[0, 3], [3, 0], [2, 1], [1, 2]]",
     "4x2",
     {3, 2, 1, 0, -1, -1, -1, -1}},
    {"one element",
     "[[0], [1], [2], [3], [4], [5], [6], [7]]",
     "8x1",
     1,
     {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}},
     "[[0, 1], [1, 2], [2, 0], [5, 3], [7, 7]]",
     "5x2",
     {2, 0, 1, 5, -1, -1, -1, 7}},
};

enum { FORM_COUNT = sizeof kForms / sizeof *kForms };

typedef struct sample {
  op_t op;
  const form_t* form;
  hlo_dtype_t dtype;
  size_t count;  // elements of a part
} sample_t;

static size_t operand_count(const sample_t* s) {
  return s->op == REDUCE_SCATTER || s->op == ALL_TO_ALL ? s->count * s->form->count : s->count;
}

static size_t result_count(const sample_t* s) {
  return s->op == ALL_GATHER || s->op == ALL_TO_ALL ? s->count * s->form->count : s->count;
}

// ---- the definition

// Sums of bytes wrap, and those of booleans are "or".
static uint32_t element(const sample_t* s, uint32_t device, size_t i) {
  const uint32_t small = (uint32_t)((device * 31 + i * 7) % (s->dtype == HLO_DTYPE_PRED ? 2 : 5));
  return s->dtype == HLO_DTYPE_U8 || s->dtype == HLO_DTYPE_S8 ? 50 * small : small;
}

static const uint32_t* group_of(const form_t* form, uint32_t device, uint32_t* out_position) {
  for (uint32_t g = 0; g < DEVICES / form->count; ++g) {
    for (uint32_t i = 0; i < form->count; ++i) {
      *out_position = i;
      if (form->rows[g][i] == device) return form->rows[g];
    }
  }
  return NULL;
}

static uint32_t sum_at(const sample_t* s, const uint32_t* group, size_t i) {
  uint32_t sum = 0;
  for (uint32_t m = 0; m < s->form->count; ++m) sum += element(s, group[m], i);
  return s->dtype == HLO_DTYPE_PRED ? sum > 0 : sum;
}

static uint32_t expected(const sample_t* s, uint32_t device, size_t i) {
  uint32_t position = 0;
  const uint32_t* group = group_of(s->form, device, &position);
  const size_t part = s->count ? i / s->count : 0, rest = s->count ? i % s->count : 0;
  switch (s->op) {
    case ALL_REDUCE: return sum_at(s, group, i);
    case REDUCE_SCATTER: return sum_at(s, group, position * s->count + i);
    case ALL_GATHER: return element(s, group[part], rest);
    case ALL_TO_ALL: return element(s, group[part], position * s->count + rest);
    case BROADCAST: return element(s, group[0], i);
    case PERMUTE:
    case OP_COUNT: break;
  }
  const int32_t source = s->form->sources[device];
  return source < 0 ? 0 : element(s, (uint32_t)source, i);
}

// ---- programs

static void append_sum(const char* type, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out,
                    " ({\n ^bb0(%%a: tensor<%s>, %%b: tensor<%s>):\n  %%s = stablehlo.add %%a, %%b "
                    ": tensor<%s>\n  stablehlo.return %%s : tensor<%s>\n })",
                    type, type, type, type);
}

static void append_program(const sample_t* s, hlo_strbuf_t* out) {
  static const char* const names[OP_COUNT] = {"all_reduce",         "reduce_scatter",
                                              "all_gather",         "all_to_all",
                                              "collective_permute", "collective_broadcast"};
  const char* type = hlo_dtype_info(s->dtype)->mlir_name;
  const size_t in = operand_count(s), result = result_count(s);
  hlo_strbuf_printf(out, "func.func @main(%%x: tensor<%zux%s>) -> tensor<%zux%s> {\n", in, type,
                    result, type);
  hlo_strbuf_printf(out, "  %%y = \"stablehlo.%s\"(%%x)", names[s->op]);
  if (s->op == ALL_REDUCE || s->op == REDUCE_SCATTER) append_sum(type, out);
  hlo_strbuf_puts(out, " {");
  if (s->op == REDUCE_SCATTER) hlo_strbuf_puts(out, "scatter_dimension = 0 : i64, ");
  if (s->op == ALL_GATHER) hlo_strbuf_puts(out, "all_gather_dim = 0 : i64, ");
  if (s->op == ALL_TO_ALL) {
    hlo_strbuf_printf(out,
                      "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = %u "
                      ": i64, ",
                      s->form->count);
  }
  if (s->op == PERMUTE) {
    hlo_strbuf_printf(out, "source_target_pairs = dense<%s> : tensor<%sxi64>", s->form->pairs,
                      s->form->pairs_shape);
  } else {
    hlo_strbuf_printf(out, "replica_groups = dense<%s> : tensor<%sxi64>", s->form->groups,
                      s->form->shape);
  }
  hlo_strbuf_printf(out,
                    "} : (tensor<%zux%s>) -> tensor<%zux%s>\n  return %%y : tensor<%zux%s>\n}\n",
                    in, type, result, type, result, type);
}

static hlo_loaded_t* load(hlo_client_t* client, const sample_t* s) {
  HLO_SCOPED_STRBUF text = {0};
  append_program(s, &text);
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.replica_count = DEVICES;
  hlo_executable_t* executable = NULL;
  hlo_loaded_t* loaded = NULL;
  hlo_test_check(hlo_compile(hlo_strbuf_text(&text), text.length, "test.mlir", &config, NULL, 0,
                             NULL, &executable));
  hlo_test_check(hlo_loaded_create(client, executable, 0, NULL, &loaded));
  hlo_executable_release(executable);
  return loaded;
}

static void store(hlo_dtype_t dtype, uint8_t* to, uint32_t value) {
  if (hlo_dtype_is_float(dtype)) {
    hlo_dtype_store_double(dtype, to, value);
  } else {
    memcpy(to, &value, hlo_dtype_size_bytes(dtype));
  }
}

static hlo_buffer_t* make_operand(hlo_client_t* client, const sample_t* s, uint32_t device) {
  const int64_t dims[] = {(int64_t)operand_count(s)};
  const hlo_buffer_shape_t shape = {.dtype = s->dtype, .rank = 1, .dims = dims};
  const size_t width = hlo_dtype_size_bytes(s->dtype);
  uint8_t* data = hlo_mem_alloc(operand_count(s) * width + 1);
  assert_non_null(data);
  for (size_t i = 0; i < operand_count(s); ++i) {
    store(s->dtype, data + i * width, element(s, device, i));
  }
  hlo_memory_t* memory = &hlo_client_device(client, device)->memories[HLO_MEMORY_DEVICE];
  hlo_buffer_t* buffer = NULL;
  hlo_test_check(hlo_buffer_from_host(memory, &shape, data, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  hlo_mem_free(data);
  return buffer;
}

static void check_result(const sample_t* s, uint32_t device, hlo_buffer_t* result) {
  const size_t width = hlo_dtype_size_bytes(s->dtype), bytes = result_count(s) * width;
  uint8_t* data = hlo_mem_alloc(bytes + 1);
  assert_non_null(data);
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(result, data, bytes, NULL, &done));
  hlo_test_check(hlo_event_await(done, UINT64_MAX));
  hlo_event_release(done);
  for (size_t i = 0; i < result_count(s); ++i) {
    uint8_t want[8] = {0};
    store(s->dtype, want, expected(s, device, i));
    if (memcmp(data + i * width, want, width) != 0) {
      fail_msg("op %d of %zu %s in groups '%s': device %u, element %zu", s->op, s->count,
               hlo_dtype_info(s->dtype)->mlir_name, s->form->name, device, i);
    }
  }
  hlo_mem_free(data);
}

static void check(hlo_client_t* client, const sample_t* s) {
  hlo_loaded_t* loaded = load(client, s);
  hlo_buffer_t *operands[DEVICES], *results[DEVICES];
  hlo_buffer_t* const* operand_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  for (uint32_t d = 0; d < DEVICES; ++d) {
    operands[d] = make_operand(client, s, d);
    operand_rows[d] = &operands[d];
    result_rows[d] = &results[d];
  }
  hlo_test_check(hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = DEVICES,
                                                            .arguments = operand_rows,
                                                            .argument_count = 1,
                                                            .out_results = result_rows}));
  for (uint32_t d = 0; d < DEVICES; ++d) {
    check_result(s, d, results[d]);
    hlo_buffer_release(operands[d]);
    hlo_buffer_release(results[d]);
  }
  hlo_loaded_release(loaded);
}

static hlo_client_t* make_client(uint32_t thread_count) {
  const hlo_client_options_t options = {.device_count = DEVICES, .thread_count = thread_count};
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(&options, &client));
  return client;
}

static void check_small(hlo_client_t* client, hlo_dtype_t dtype) {
  static const size_t counts[] = {0, 1, 3};
  for (op_t op = 0; op < OP_COUNT; ++op) {
    for (uint32_t f = 0; f < FORM_COUNT; ++f) {
      for (uint32_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
        check(client, &(sample_t){op, &kForms[f], dtype, counts[c]});
      }
    }
  }
}

static void small_sizes_follow_the_definition(void** state) {
  (void)state;
  static const hlo_dtype_t dtypes[] = {HLO_DTYPE_F32, HLO_DTYPE_F64, HLO_DTYPE_F16, HLO_DTYPE_BF16,
                                       HLO_DTYPE_S8,  HLO_DTYPE_S32, HLO_DTYPE_U8,  HLO_DTYPE_PRED};
  hlo_client_t* client = make_client(2);
  for (uint32_t t = 0; t < sizeof dtypes / sizeof *dtypes; ++t) check_small(client, dtypes[t]);
  hlo_client_release(client);
  client = make_client(1);
  check_small(client, HLO_DTYPE_F32);
  hlo_client_release(client);
}

// Of several chunks, of which the last is a single element.
static void large_sizes_follow_the_definition(void** state) {
  (void)state;
  enum { PAIRS = 1 };
  hlo_client_t* client = make_client(2);
  for (op_t op = 0; op < OP_COUNT; ++op) {
    check(client, &(sample_t){op, &kForms[PAIRS], HLO_DTYPE_U8, LARGE});
  }
  hlo_client_release(client);
}

// ---- loops

enum { TURNS = 1000, COLUMNS = 1000, OPERANDS = 4 };

#define ROW "tensor<1000xf32>"
#define ROWS ROW ", " ROW ", " ROW ", " ROW
// Four values go round the devices; each device adds one to the first.
static const char kRing[] =
    "func.func @main(%x: " ROW ") -> (" ROWS
    ") {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %many = stablehlo.constant dense<1000> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %ones = stablehlo.constant dense<1.0> : " ROW
    "\n"
    "  %b = stablehlo.add %x, %x : " ROW "\n  %c = stablehlo.add %b, %x : " ROW
    "\n  %d = stablehlo.add %c, %x : " ROW
    "\n"
    "  %0:5 = stablehlo.while(%i = %zero, %p = %x, %q = %b, %r = %c, %s = %d) : tensor<i32>, " ROWS
    "\n  cond {\n    %l = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> "
    "tensor<i1>\n    stablehlo.return %l : tensor<i1>\n  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n    %t = stablehlo.add %p, %ones : " ROW
    "\n    %1:4 = \"stablehlo.collective_permute\"(%t, %q, %r, %s) {source_target_pairs = "
    "dense<[[0, "
    "1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>} : (" ROWS
    ") -> (" ROWS ")\n    stablehlo.return %j, %1#0, %1#1, %1#2, %1#3 : tensor<i32>, " ROWS
    "\n  }\n  return %0#1, %0#2, %0#3, %0#4 : " ROWS "\n}\n";

static void check_ring_result(uint32_t device, uint32_t number, hlo_buffer_t* result) {
  static float data[COLUMNS];
  const uint32_t source = (device + DEVICES - TURNS % DEVICES) % DEVICES;
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(result, data, sizeof data, NULL, &done));
  hlo_test_check(hlo_event_await(done, UINT64_MAX));
  hlo_event_release(done);
  for (uint32_t i = 0; i < COLUMNS; ++i) {
    const uint32_t want = (source * COLUMNS + i) * (number + 1) + (number ? 0 : TURNS);
    if (data[i] != (float)want) fail_msg("device %u, value %u, element %u", device, number, i);
  }
}

static void go_round(const hlo_client_options_t* options) {
  static const int64_t dims[] = {COLUMNS};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = dims};
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(options, &client));
  hlo_loaded_t* loaded = hlo_test_load(client, kRing, "native", DEVICES);
  hlo_buffer_t *operands[DEVICES], *results[DEVICES][OPERANDS];
  hlo_buffer_t* const* operand_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  for (uint32_t d = 0; d < DEVICES; ++d) {
    float data[COLUMNS];
    for (uint32_t i = 0; i < COLUMNS; ++i) data[i] = (float)(d * COLUMNS + i);
    hlo_memory_t* memory = &hlo_client_device(client, d)->memories[HLO_MEMORY_DEVICE];
    hlo_test_check(hlo_buffer_from_host(memory, &shape, data, NULL,
                                        HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &operands[d]));
    operand_rows[d] = &operands[d];
    result_rows[d] = results[d];
  }
  hlo_test_check(hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = DEVICES,
                                                            .arguments = operand_rows,
                                                            .argument_count = 1,
                                                            .out_results = result_rows}));
  for (uint32_t d = 0; d < DEVICES; ++d) {
    for (uint32_t i = 0; i < OPERANDS; ++i) {
      check_ring_result(d, i, results[d][i]);
      hlo_buffer_release(results[d][i]);
    }
    hlo_buffer_release(operands[d]);
  }
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

// No value is read before it is written, or overwritten before it is read.
static void permutes_in_loops_keep_their_order(void** state) {
  (void)state;
  for (uint32_t threads = 1; threads <= 3; ++threads) {
    go_round(&(hlo_client_options_t){.device_count = DEVICES, .thread_count = threads});
  }
  go_round(&(hlo_client_options_t){.device_count = DEVICES, .thread_count = 2, .is_slow = true});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_sizes_follow_the_definition),
      cmocka_unit_test(large_sizes_follow_the_definition),
      cmocka_unit_test(permutes_in_loops_keep_their_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
