// SPDX-License-Identifier: Apache-2.0
// Scatters cut into parts give the same bits on any number of threads as one update after the
// other.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ir/infer.h"
#include "ir/parse.h"
#include "lib/call.h"

typedef struct array {
  hlo_dtype_t dtype;
  int64_t element_count;
  size_t size_bytes;
  void* data;
} array_t;

enum { ROWS = 300, COLUMNS = 40, UPDATES = 20000 };

typedef struct scatter_case {
  const char *indices, *dtype;  // element types
  int64_t columns;              // 1: single elements without a window
  const char* body;             // NULL: the update is returned
  bool is_across;               // columns are indexed, and windows run along columns
} scatter_case_t;

static hlo_module_t* parse(const scatter_case_t* c) {
  char operand[64], updates[64], window[64] = "", body[128], text[2048];
  const char *before = c->is_across ? "40x" : "",
             *behind = c->columns > 1 && !c->is_across ? "x40" : "";
  snprintf(operand, sizeof operand, "tensor<%s%d%sx%s>", before, ROWS, behind, c->dtype);
  snprintf(updates, sizeof updates, "tensor<%s%d%sx%s>", before, UPDATES, behind, c->dtype);
  if (c->columns > 1) {
    snprintf(window, sizeof window, "update_window_dims = [%d], ", c->is_across ? 0 : 1);
  }
  snprintf(body, sizeof body, "  stablehlo.return %%y : tensor<%s>\n", c->dtype);
  if (c->body) {
    snprintf(body, sizeof body,
             "  %%r = stablehlo.%s %%x, %%y : tensor<%s>\n  stablehlo.return %%r : tensor<%s>\n",
             c->body, c->dtype, c->dtype);
  }
  snprintf(text, sizeof text,
           "func.func @main(%%a: %s, %%i: tensor<%dx1x%s>, %%u: %s) -> %s {\n"
           "%%0 = \"stablehlo.scatter\"(%%a, %%i, %%u) ({\n"
           "^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n%s"
           "}) {scatter_dimension_numbers = #stablehlo.scatter<%sinserted_window_dims = [%d], "
           "scatter_dims_to_operand_dims = [%d], index_vector_dim = 1>} : "
           "(%s, tensor<%dx1x%s>, %s) -> %s\nreturn %%0 : %s\n}\n",
           operand, UPDATES, c->indices, updates, operand, c->dtype, c->dtype, body, window,
           c->is_across, c->is_across, operand, UPDATES, c->indices, updates, operand, operand);
  hlo_diag_t diag;
  hlo_diag_init(&diag, "test", text, strlen(text));
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text, strlen(text), "test", &diag, &module);
  if (hlo_status_is_ok(status)) status = hlo_module_verify(module, &diag);
  if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", text, hlo_status_message(status));
  hlo_diag_deinit(&diag);
  return module;
}

// Creates an array of rows, or of elements without a row dimension.
static array_t* create_array(const char* dtype, int64_t rows, int64_t columns) {
  hlo_dtype_t type = strcmp(dtype, "f32") == 0    ? HLO_DTYPE_F32
                     : strcmp(dtype, "ui32") == 0 ? HLO_DTYPE_U32
                     : strcmp(dtype, "i32") == 0  ? HLO_DTYPE_S32
                     : strcmp(dtype, "i64") == 0  ? HLO_DTYPE_S64
                     : strcmp(dtype, "bf16") == 0 ? HLO_DTYPE_BF16
                                                  : HLO_DTYPE_S16;
  array_t* array = hlo_mem_alloc_zeroed(sizeof *array);
  assert_non_null(array);
  *array = (array_t){.dtype = type, .element_count = rows * (columns ? columns : 1)};
  array->size_bytes = (size_t)array->element_count * hlo_dtype_size_bytes(type);
  array->data = hlo_mem_alloc_aligned(array->size_bytes, 64);
  assert_non_null(array->data);
  return array;
}

static uint32_t g_random;
static uint32_t next_random(void) {
  g_random = g_random * 1664525u + 1013904223u;
  return g_random >> 8;
}

static void release(array_t* array) {
  hlo_mem_free(array->data);
  hlo_mem_free(array);
}

static void fill(array_t* tensor) {
  for (int64_t i = 0; i < tensor->element_count; ++i) {
    double value = (double)(next_random() % 100000) / 977 - 40;
    hlo_dtype_store_double(tensor->dtype,
                           (char*)tensor->data + (size_t)i * hlo_dtype_size_bytes(tensor->dtype),
                           value);
  }
}

static double combine(const char* body, double x, double y) {
  if (!body) return y;
  if (strcmp(body, "add") == 0) return x + y;
  return strcmp(body, "maximum") == 0 ? (x > y ? x : y) : x < y ? x : y;
}

// Applies one update after the other; a float sum computed in double and rounded once equals the
// sum in float.
static void expect_scattered(const scatter_case_t* c, array_t* const* inputs, const array_t* got) {
  const array_t *a = inputs[0], *indices = inputs[1], *updates = inputs[2];
  const size_t width = hlo_dtype_size_bytes(a->dtype);
  array_t* want = create_array(c->dtype, ROWS, c->columns > 1 ? COLUMNS : 0);
  memcpy(want->data, a->data, a->size_bytes);
  for (int64_t i = 0; i < UPDATES; ++i) {
    const char* at = (const char*)indices->data + (size_t)i * hlo_dtype_size_bytes(indices->dtype);
    int64_t row = hlo_dtype_load_int64(indices->dtype, at);
    if (row < 0 || row >= ROWS) continue;
    for (int64_t k = 0; k < c->columns; ++k) {
      const int64_t place = c->is_across ? k * ROWS + row : row * c->columns + k;
      const int64_t source = c->is_across ? k * UPDATES + i : i * c->columns + k;
      char* to = (char*)want->data + (size_t)place * width;
      const char* from = (const char*)updates->data + (size_t)source * width;
      hlo_dtype_store_double(a->dtype, to,
                             combine(c->body, hlo_dtype_load_double(a->dtype, to),
                                     hlo_dtype_load_double(a->dtype, from)));
    }
  }
  assert_memory_equal(got->data, want->data, want->size_bytes);
  release(want);
}

static void library_for(hlo_frame_t* frame, uint64_t chunk_count, hlo_parallel_chunk_t chunk,
                        void* argument) {
  const hlo_parallel_t parallel = hlo_parallel_on_pool(frame->owner);
  hlo_parallel_for(&parallel, chunk_count, chunk, argument);
}

static const hlo_runtime_table_t runtime = {.library_for = library_for};

static void check_case(const scatter_case_t* c) {
  hlo_module_t* module = parse(c);
  const hlo_node_t* node = hlo_module_find_func(module, "main")->body->first;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_lib_call_t* call = NULL;
  assert_true(hlo_status_is_ok(hlo_lib_call_prepare(node, &arena, &call)));
  assert_non_null(call);
  const int64_t columns = c->columns > 1 ? COLUMNS : 0;
  array_t* inputs[] = {create_array(c->dtype, ROWS, columns), create_array(c->indices, UPDATES, 1),
                       create_array(c->dtype, UPDATES, columns)};
  array_t* output = create_array(c->dtype, ROWS, columns);
  fill(inputs[0]);
  fill(inputs[2]);
  for (int64_t i = 0; i < UPDATES; ++i) {  // some are out of bounds
    hlo_dtype_store_int64(
        inputs[1]->dtype,
        (char*)inputs[1]->data + (size_t)i * hlo_dtype_size_bytes(inputs[1]->dtype),
        (int64_t)(next_random() % (ROWS + 8)) - 4);
  }
  for (uint32_t threads = 0; threads <= 5; threads += threads ? 3 : 1) {
    hlo_pool_t* pool = NULL;
    if (threads) {
      assert_true(hlo_status_is_ok(hlo_pool_create(threads, &pool)));
    }
    hlo_frame_t frame = {.runtime = pool ? &runtime : NULL, .owner = pool};
    void* const addresses[] = {inputs[0]->data, inputs[1]->data, inputs[2]->data, output->data};
    assert_true(hlo_status_is_ok(hlo_lib_call_run(call, &frame, addresses)));
    expect_scattered(c, inputs, output);
    if (pool) hlo_pool_release(pool);
  }
  for (int i = 0; i < 3; ++i) release(inputs[i]);
  release(output);
  hlo_lib_call_deinit(call);
  hlo_arena_deinit(&arena);
  hlo_module_release(module);
}

static void test_parts(void** state) {
  (void)state;
  g_random = 1;
  static const scatter_case_t cases[] = {
      {"i32", "f32", COLUMNS, "add", false},  {"i32", "f32", 1, "add", false},
      {"i64", "f32", COLUMNS, "add", false},  {"ui32", "i32", 1, "maximum", false},
      {"i16", "f32", 1, "minimum", false},    {"i32", "i16", COLUMNS, NULL, false},
      {"i32", "f32", COLUMNS, NULL, false},   {"i32", "bf16", 1, "add", false},
      {"i32", "bf16", COLUMNS, "add", false}, {"i32", "f32", COLUMNS, "maximum", true},
      {"i64", "i16", COLUMNS, NULL, true},    {"i32", "i16", COLUMNS, "minimum", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) check_case(&cases[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
