// SPDX-License-Identifier: Apache-2.0
// Tests of the public C API: load, shapes, launches on threads, errors with locations.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs those above first.
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os.h"
#include "capi/test_util.h"

static const char kAdd[] =
    "func.func @main(%a: tensor<2x3xf32>, %b: tensor<f32>) -> (tensor<2x3xf32>, tensor<i4>) {\n"
    "  %0 = stablehlo.broadcast_in_dim %b, dims = [] : (tensor<f32>) -> tensor<2x3xf32>\n"
    "  %1 = stablehlo.add %a, %0 : tensor<2x3xf32>\n"
    "  %2 = stablehlo.constant dense<-3> : tensor<i4>\n"
    "  return %1, %2 : tensor<2x3xf32>, tensor<i4>\n"
    "}\n";

static hlocc_executable_t* load(hlocc_client_t* client, const char* text, uint32_t replica_count) {
  hlocc_compile_options_t options = {
      .struct_size = sizeof options, .file_name = "add.mlir", .replica_count = replica_count};
  hlocc_executable_t* executable = NULL;
  hlocc_error_t* error = hlocc_executable_load(client, text, strlen(text), &options, &executable);
  assert_string_equal(hlocc_error_message(error), "");
  return executable;
}

static void check_add(hlocc_executable_t* executable) {
  float a[6] = {1, 2, 3, 4, 5, 6}, b = 0.5f, sum[6];
  int8_t three = 0;
  hlocc_error_t* error =
      hlocc_executable_run(executable, (const void*[]){a, &b}, (void*[]){sum, &three});
  assert_null(error);
  for (int i = 0; i < 6; ++i) assert_true(sum[i] == (float)i + 1.5f);
  assert_int_equal(three, -3);
}

static void test_runs_a_program(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = load(client, kAdd, 0);
  assert_int_equal(hlocc_executable_argument_count(executable), 2);
  assert_int_equal(hlocc_executable_result_count(executable), 2);
  hlocc_shape_t shape = hlocc_executable_argument(executable, 0);
  assert_int_equal(shape.type, HLOCC_TYPE_F32);
  assert_string_equal(hlocc_type_name(shape.type), "f32");
  assert_int_equal(shape.rank, 2);
  assert_int_equal(shape.dims[1], 3);
  assert_int_equal(shape.size_bytes, 24);
  assert_int_equal(hlocc_executable_result(executable, 1).size_bytes, 1);
  assert_int_equal(hlocc_executable_result(executable, 2).type, HLOCC_TYPE_INVALID);
  hlocc_client_free(client);  // the executable keeps it
  check_add(executable);
  check_add(executable);
  hlocc_executable_free(executable);
}

// Arrays are lent to the run, wherever they are, and left as they are.
static void test_reads_inputs_in_place(void** state) {
  (void)state;
  static const char kStep[] =
      "func.func @main(%a: tensor<6xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<6xf32>) -> "
      "(tensor<6xf32>, tensor<6xf32>) {\n"
      "  %0 = stablehlo.add %a, %b : tensor<6xf32>\n"
      "  return %0, %b : tensor<6xf32>, tensor<6xf32>\n}\n";
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = load(client, kStep, 0);
  float* memory = malloc(16 * sizeof(float));
  for (int offset = 0; offset < 4; ++offset) {
    float *a = memory + offset, b[6] = {1, 1, 1, 1, 1, 1}, sum[6], same[6];
    for (int i = 0; i < 6; ++i) a[i] = (float)i;
    hlo_test_succeed(hlocc_executable_run(executable, (const void*[]){a, b}, (void*[]){sum, same}));
    for (int i = 0; i < 6; ++i) {
      assert_true(sum[i] == (float)i + 1 && same[i] == 1 && a[i] == (float)i && b[i] == 1);
    }
  }
  free(memory);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

// Callers compiled against older headers have shorter structs.
static void test_options_of_older_callers(void** state) {
  (void)state;
  hlocc_client_options_t client_options = {
      .struct_size = offsetof(hlocc_client_options_t, settings),
      .device_count = 1,
      .settings = (const char* const*)(uintptr_t)0xaaaaaaaaaaaaaaaa};
  hlocc_client_t* client = NULL;
  hlo_test_succeed(hlocc_client_create(&client_options, &client));
  hlocc_compile_options_t options = {
      .struct_size = offsetof(hlocc_compile_options_t, donated_count), .donated_count = 7};
  hlocc_executable_t* executable = NULL;
  hlo_test_succeed(hlocc_executable_load(client, kAdd, strlen(kAdd), &options, &executable));
  check_add(executable);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

static void* run_often(void* executable) {
  for (int i = 0; i < 50; ++i) check_add(executable);
  return NULL;
}

static void test_runs_on_threads(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = load(client, kAdd, 0);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, run_often, executable), 0);
  }
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

static void test_runs_replicas(void** state) {
  (void)state;
  static const char kSum[] =
      "func.func @main(%a: tensor<2xi32>) -> tensor<2xi32> {\n"
      "  %0 = \"stablehlo.all_reduce\"(%a) ({\n"
      "  ^bb0(%x: tensor<i32>, %y: tensor<i32>):\n"
      "    %1 = stablehlo.add %x, %y : tensor<i32>\n"
      "    stablehlo.return %1 : tensor<i32>\n"
      "  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2xi32>) -> "
      "tensor<2xi32>\n"
      "  return %0 : tensor<2xi32>\n"
      "}\n";
  hlocc_client_t* client = hlo_test_client(2);
  assert_int_equal(hlocc_client_device_count(client), 2);
  char text[8] = "?";
  assert_int_equal(hlocc_client_explain_waits(client, text, sizeof text), 0);
  assert_string_equal(text, "");
  assert_int_equal(hlocc_client_explain_waits(client, NULL, 0), 0);
  hlocc_executable_t* executable = load(client, kSum, 2);
  int32_t in[2][2] = {{1, 2}, {10, 20}}, out[2][2] = {{0}};
  hlocc_error_t* error =
      hlocc_executable_run(executable, (const void*[]){in[0], in[1]}, (void*[]){out[0], out[1]});
  assert_string_equal(hlocc_error_message(error), "");
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(out[i][0], 11);
    assert_int_equal(out[i][1], 22);
  }
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

// Two replicas of two partitions: the rows of %a are divided, and the columns of the result.
static void test_runs_partitions(void** state) {
  (void)state;
  static const char kProduct[] =
      "module attributes {mhlo.num_partitions = 2 : i32} {\n"
      "sdy.mesh @mesh = <[\"x\"=2]>\n"
      "func.func @main(%a: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>},\n"
      "                %b: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})\n"
      "    -> (tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) {\n"
      "  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x2xf32>, "
      "tensor<2x2xf32>) -> tensor<4x2xf32>\n"
      "  return %0 : tensor<4x2xf32>\n"
      "}\n"
      "}\n";
  hlocc_client_t* client = hlo_test_client(4);
  hlocc_compile_options_t options = {
      .struct_size = sizeof options, .replica_count = 2, .partition_count = 2};
  hlocc_executable_t* executable = hlo_test_load(client, kProduct, &options);
  assert_int_equal(hlocc_executable_device_count(executable), 4);
  assert_int_equal(hlocc_executable_argument(executable, 0).dims[0], 2);
  assert_int_equal(hlocc_executable_argument(executable, 1).dims[0], 2);
  assert_int_equal(hlocc_executable_result(executable, 0).dims[1], 1);
  int64_t offsets[2], dims[2];
  for (uint32_t device = 0; device < 4; ++device) {
    hlo_test_succeed(hlocc_executable_argument_part(executable, 0, device, offsets, dims));
    assert_true(offsets[0] == 2 * (device % 2) && offsets[1] == 0 && dims[0] == 4 && dims[1] == 2);
    hlo_test_succeed(hlocc_executable_argument_part(executable, 1, device, offsets, dims));
    assert_true(offsets[0] == 0 && offsets[1] == 0 && dims[0] == 2 && dims[1] == 2);
    hlo_test_succeed(hlocc_executable_result_part(executable, 0, device, offsets, dims));
    assert_true(offsets[0] == 0 && offsets[1] == device % 2 && dims[0] == 4 && dims[1] == 2);
  }
  hlo_test_expect(hlocc_executable_argument_part(executable, 2, 0, offsets, dims),
                  HLOCC_INVALID_ARGUMENT, "argument 2 of 2");
  hlo_test_expect(hlocc_executable_result_part(executable, 0, 4, offsets, dims),
                  HLOCC_INVALID_ARGUMENT, "device 4 of a program on 4 devices");
  float a[2][4][2] = {{{1, 2}, {3, 4}, {5, 6}, {7, 8}}, {{2, 4}, {6, 8}, {10, 12}, {14, 16}}};
  float b[2][2] = {{1, 10}, {100, 1000}}, out[4][4] = {{0}};
  hlo_test_succeed(hlocc_executable_run(
      executable, (const void*[]){a[0][0], b, a[0][2], b, a[1][0], b, a[1][2], b},
      (void*[]){out[0], out[1], out[2], out[3]}));
  for (int device = 0; device < 4; ++device) {
    for (int row = 0; row < 4; ++row) {
      const float* at = a[device / 2][row];
      assert_true(out[device][row] == at[0] * b[0][device % 2] + at[1] * b[1][device % 2]);
    }
  }
  hlocc_executable_free(executable);
  options.partition_count = 4;
  hlo_test_expect(hlocc_executable_load(client, kProduct, strlen(kProduct), &options, &executable),
                  HLOCC_INVALID_ARGUMENT, "mesh @mesh has 2 devices");
  hlocc_client_free(client);
}

static void expect_error(hlocc_client_t* client, const char* text, hlocc_code_t code, uint32_t line,
                         const char* part) {
  hlocc_compile_options_t options = {.struct_size = sizeof options, .file_name = "bad.mlir"};
  hlocc_executable_t* executable = NULL;
  hlocc_error_t* error = hlocc_executable_load(client, text, strlen(text), &options, &executable);
  assert_non_null(error);
  assert_null(executable);
  assert_int_equal(hlocc_error_code(error), code);
  assert_non_null(strstr(hlocc_error_message(error), part));
  uint32_t at, column;
  assert_string_equal(hlocc_error_location(error, &at, &column), "bad.mlir");
  assert_int_equal(at, line);
  hlocc_error_free(error);
}

static void test_errors_have_places(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  expect_error(client, "func.func @main() {\n  %0 = stablehlo.frob : tensor<f32>\n  return\n}\n",
               HLOCC_UNIMPLEMENTED, 2, "stablehlo.frob");
  expect_error(
      client,
      "func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n\n"
      "  %0 = \"stablehlo.add\"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>\n"
      "  return %0 : tensor<3xf32>\n}\n",
      HLOCC_INVALID_ARGUMENT, 3, "stablehlo.add");
  static const char kTwoFaults[] =
      "func.func @main(%a: tensor<2xf32>) -> tensor<3xf32> {\n"
      "  %0 = \"stablehlo.add\"(%a, %a) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>\n"
      "  %1 = \"stablehlo.exponential\"(%0) : (tensor<3xf32>) -> tensor<2xf32>\n"
      "  return %0 : tensor<3xf32>\n}\n";
  hlocc_executable_t* executable = NULL;
  hlocc_error_t* error =
      hlocc_executable_load(client, kTwoFaults, strlen(kTwoFaults), NULL, &executable);
  assert_int_equal(hlocc_error_fault_count(error), 2);
  for (uint32_t i = 0; i < 2; ++i) {
    const hlocc_fault_t fault = hlocc_error_fault(error, i);
    assert_string_equal(fault.file, "<input>");
    assert_int_equal(fault.line, 2 + i);
    assert_true(fault.column > 1);
    assert_string_equal(fault.operation, i ? "stablehlo.exponential" : "stablehlo.add");
    assert_ptr_equal(strstr(fault.text, fault.operation), fault.text);
    assert_null(strstr(fault.text, i ? "stablehlo.add" : "stablehlo.exponential"));
  }
  assert_string_equal(hlocc_error_fault(error, 2).file, "");
  hlocc_error_free(error);
  static const char kUnknown[] = "func.func @main() {\n  stablehlo.frob\n  return\n}\n";
  error = hlocc_executable_load(client, kUnknown, strlen(kUnknown), NULL, &executable);
  assert_int_equal(hlocc_error_fault_count(error), 1);  // with the line of the program
  assert_string_equal(hlocc_error_fault(error, 0).operation, "stablehlo.frob");
  hlocc_error_free(error);
  error = hlocc_executable_load_file(client, "no/such/file.mlir", NULL, &executable);
  assert_int_equal(hlocc_error_fault_count(error), 1);
  assert_non_null(strstr(hlocc_error_fault(error, 0).text, "no/such/file.mlir"));
  assert_int_equal(hlocc_error_code(error), HLOCC_NOT_FOUND);
  assert_non_null(strstr(hlocc_error_message(error), "no/such/file.mlir"));
  hlocc_error_free(error);
  hlocc_client_free(client);
}

static void test_failed_runs_say_where(void** state) {
  (void)state;
  static const char kCheck[] =
      "func.func @main(%a: tensor<i32>, %b: tensor<i32>) {\n"
      "  stablehlo.custom_call @check.expect_eq(%a, %b) {has_side_effect = true} : "
      "(tensor<i32>, tensor<i32>) -> ()\n  return\n}\n";
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = load(client, kCheck, 0);
  int32_t one = 1, two = 2;
  assert_null(hlocc_executable_run(executable, (const void*[]){&one, &one}, NULL));
  hlocc_error_t* error = hlocc_executable_run(executable, (const void*[]){&one, &two}, NULL);
  assert_int_equal(hlocc_error_code(error), HLOCC_INVALID_ARGUMENT);
  uint32_t line;
  assert_string_equal(hlocc_error_location(error, &line, NULL), "add.mlir");
  assert_int_equal(line, 2);
  assert_string_equal(
      hlocc_error_fault(error, 0).text,
      "stablehlo.custom_call: element [] is 1, expected 2 (1 of 1 elements differ)");
  hlocc_error_free(error);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

// Runs a session from creation to results; returns HLOCC_OK or the code of the failure.
static hlocc_code_t session(void) {
  hlocc_client_t* client = NULL;
  hlocc_executable_t* executable = NULL;
  float a[6] = {1}, b = 0.5f, sum[6];
  int8_t three;
  hlocc_error_t* error = hlocc_client_create(NULL, &client);
  if (!error) error = hlocc_executable_load(client, kAdd, strlen(kAdd), NULL, &executable);
  if (!error) {
    error = hlocc_executable_run(executable, (const void*[]){a, &b}, (void*[]){sum, &three});
  }
  hlocc_code_t code = hlocc_error_code(error);
  hlocc_error_free(error);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
  return code;
}

static void test_every_allocation_may_fail(void** state) {
  (void)state;
  for (uint64_t n = 1;; ++n) {
    assert_true(n < 100000);
    hlo_mem_fail_nth(n);
    hlocc_code_t code = session();
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (!failed) {
      assert_int_equal(code, HLOCC_OK);
      break;
    }
    assert_true(code == HLOCC_OK || code == HLOCC_RESOURCE_EXHAUSTED);
  }
}

// Reading a program fails at every operation, then succeeds.
static void test_every_read_may_fail(void** state) {
  (void)state;
  setenv("HLOCC_BACKEND", "interp", 1);  // allocation of executable memory survives single failures
  static const char kPath[] = "tests/data/hlo/layouts.hlo";
  hlocc_client_t* client = hlo_test_client(1);
  for (uint64_t n = 1;; ++n) {
    assert_true(n < 100);
    hlocc_executable_t* executable = NULL;
    hlo_os_io_fail_nth(n);
    hlocc_error_t* error = hlocc_executable_load_file(client, kPath, NULL, &executable);
    bool failed = hlo_os_io_failed();
    hlo_os_io_fail_nth(0);
    hlocc_executable_free(executable);
    if (!failed) {
      assert_null(error);
      break;
    }
    assert_int_equal(hlocc_error_code(error), HLOCC_DATA_LOSS);
    assert_non_null(strstr(hlocc_error_message(error), kPath));
    hlocc_error_free(error);
  }
  unsetenv("HLOCC_BACKEND");
  hlocc_client_free(client);
}

// Stores the sum and the difference; fails if the first element is negative.
static void sum_and_difference(void* out, const void** in, hlocc_call_status_t* status) {
  const float *a = in[0], *b = in[1];
  float* const* results = out;
  for (int i = 0; i < 2; ++i) {
    results[0][i] = a[i] + b[i];
    results[1][i] = a[i] - b[i];
  }
  if (a[0] < 0) hlocc_call_fail(status, "negative");
}

static void double_it(void* out, const void** in, hlocc_call_status_t* status) {
  (void)status;
  for (int i = 0; i < 2; ++i) ((float*)out)[i] = 2 * ((const float*)in[0])[i];
}

static void test_functions_of_the_application(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {\n"
      "  %0:2 = stablehlo.custom_call @sum_and_difference(%a, %b) {api_version = 2 : i32} : "
      "(tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>)\n"
      "  %1 = stablehlo.custom_call @double_it(%0#1) {api_version = 2 : i32} : (tensor<2xf32>) -> "
      "tensor<2xf32>\n"
      "  return %0#0, %1 : tensor<2xf32>, tensor<2xf32>\n}\n";
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = NULL;
  hlo_test_expect(hlocc_executable_load(client, kText, strlen(kText), NULL, &executable),
                  HLOCC_NOT_FOUND, "sum_and_difference");
  assert_null(hlocc_register_function("sum_and_difference", sum_and_difference));
  assert_null(hlocc_register_function("double_it", double_it));
  assert_null(hlocc_register_function("double_it", double_it));
  hlo_test_expect(hlocc_register_function("double_it", sum_and_difference), HLOCC_ALREADY_EXISTS,
                  "double_it");
  hlo_test_expect(hlocc_register_function("", double_it), HLOCC_INVALID_ARGUMENT, "name");
  hlo_test_expect(hlocc_register_ffi_handler("x", NULL), HLOCC_INVALID_ARGUMENT, "address");
  executable = load(client, kText, 1);
  float a[] = {1, 2}, b[] = {3, 5}, sum[2], twice[2];
  const void* inputs[] = {a, b};
  void* outputs[] = {sum, twice};
  assert_null(hlocc_executable_run(executable, inputs, outputs));
  assert_true(sum[0] == 4 && sum[1] == 7 && twice[0] == -4 && twice[1] == -6);
  a[0] = -1;
  hlo_test_expect(hlocc_executable_run(executable, inputs, outputs), HLOCC_INTERNAL, "negative");
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

static void halve_it(void* out, const void** in, hlocc_call_status_t* status) {
  (void)status;
  for (int i = 0; i < 2; ++i) ((float*)out)[i] = ((const float*)in[0])[i] / 2;
}

static void test_functions_of_a_client(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
      "  %0 = stablehlo.custom_call @scale_it(%a) {api_version = 2 : i32} : (tensor<2xf32>) -> "
      "tensor<2xf32>\n"
      "  return %0 : tensor<2xf32>\n}\n";
  hlocc_client_t *own = hlo_test_client(1), *other = hlo_test_client(1);
  assert_null(hlocc_client_register_function(own, "scale_it", halve_it));
  hlo_test_expect(hlocc_client_register_function(own, "scale_it", double_it), HLOCC_ALREADY_EXISTS,
                  "scale_it");
  hlo_test_expect(hlocc_client_register_ffi_handler(own, "x", NULL), HLOCC_INVALID_ARGUMENT,
                  "address");
  hlocc_executable_t* executable = NULL;
  hlo_test_expect(hlocc_executable_load(other, kText, strlen(kText), NULL, &executable),
                  HLOCC_NOT_FOUND, "scale_it");
  assert_null(hlocc_register_function("scale_it", double_it));
  hlocc_executable_t* executables[] = {load(own, kText, 1), load(other, kText, 1)};
  const float a[] = {1, 2}, expected[] = {0.5f, 2};
  for (int i = 0; i < 2; ++i) {
    float result[2];
    assert_null(hlocc_executable_run(executables[i], (const void*[]){a}, (void*[]){result}));
    assert_true(result[0] == expected[i] && result[1] == 2 * expected[i]);
    hlocc_executable_free(executables[i]);
  }
  hlocc_client_free(own);
  hlocc_client_free(other);
}

typedef struct records {
  int count;
  hlocc_log_record_t last;
  char message[1024], component[32], file[64];
} records_t;

static void keep_record(void* context, const hlocc_log_record_t* record) {
  records_t* records = context;
  assert_int_equal(record->struct_size, sizeof *record);
  assert_int_equal(strlen(record->message), record->message_bytes);
  ++records->count;
  records->last = *record;
  snprintf(records->message, sizeof records->message, "%s", record->message);
  snprintf(records->component, sizeof records->component, "%s", record->component);
  snprintf(records->file, sizeof records->file, "%s", record->file);
}

// Redirects standard error to a temporary file; returns the old descriptor.
static int redirect_stderr(FILE* file) {
  const int old = dup(STDERR_FILENO);
  assert_true(old >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  return old;
}

// A sink gets messages with their fields, and standard error stays empty.
static void test_log_sink(void** state) {
  (void)state;
  records_t records = {0};
  hlocc_client_options_t options = {.struct_size = sizeof options,
                                    .device_count = 1,
                                    .thread_count = 1,
                                    .log_sink = keep_record,
                                    .log_context = &records};
  setenv("HLOCC_NUM_DEVICE", "1", 1);
  FILE* file = tmpfile();
  assert_non_null(file);
  const int old = redirect_stderr(file);
  hlocc_client_t* client = NULL;
  hlocc_error_t* error = hlocc_client_create(&options, &client);
  dup2(old, STDERR_FILENO);
  close(old);
  unsetenv("HLOCC_NUM_DEVICE");
  assert_null(error);
  assert_int_equal(lseek(fileno(file), 0, SEEK_END), 0);
  fclose(file);
  assert_int_equal(records.count, 1);
  assert_int_equal(records.last.level, HLOCC_LOG_WARN);
  assert_string_equal(hlocc_log_level_name(records.last.level), "warn");
  assert_string_equal(records.component, "capi");
  assert_string_equal(records.file, "src/capi/client.c");
  assert_true(records.last.line > 0 && records.last.wall_time_ns > 0);
  assert_int_equal(records.last.thread_id, hlo_os_thread_id());
  assert_non_null(strstr(records.message, "HLOCC_NUM_DEVICE"));
  hlocc_client_free(client);
  assert_string_equal(hlocc_log_level_name((hlocc_log_level_t)0), "unknown");
}

static void test_log_level(void** state) {
  (void)state;
  records_t records = {0};
  const hlocc_client_options_t options = {.struct_size = sizeof options,
                                          .settings = (const char* const[]){"log=info", NULL},
                                          .log_sink = keep_record,
                                          .log_context = &records};
  hlocc_client_t* client = NULL;
  hlocc_error_t* error = hlocc_client_create(&options, &client);
  assert_null(error);
  static const char text[] =
      "func.func @main() -> tensor<281474976710656xf32> {\n"
      "  %0 = stablehlo.iota dim = 0 : tensor<281474976710656xf32>\n"
      "  return %0 : tensor<281474976710656xf32>\n"
      "}\n";
  hlocc_executable_t* executable = hlo_test_load(client, text, NULL);
  error = hlocc_executable_run(executable, NULL, (void*[]){NULL});
  assert_int_equal(hlocc_error_code(error), HLOCC_RESOURCE_EXHAUSTED);
  hlocc_error_free(error);
  assert_int_equal(records.last.level, HLOCC_LOG_INFO);
  assert_string_equal(records.component, "runtime");
  assert_non_null(strstr(records.message, "memory in use:"));
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

static void test_nothing_is_fine(void** state) {
  (void)state;
  assert_int_equal(hlocc_error_code(NULL), HLOCC_OK);
  assert_string_equal(hlocc_error_location(NULL, NULL, NULL), "");
  hlocc_error_free(NULL);
  hlocc_client_free(NULL);
  hlocc_executable_free(NULL);
  assert_string_equal(hlocc_version(), HLOCC_VERSION);
  assert_string_equal(hlocc_type_name((hlocc_type_t)9999), "invalid");
  assert_int_equal(hlocc_error_fault_count(NULL), 0);
  assert_string_equal(hlocc_error_fault(NULL, 0).text, "");
  hlocc_client_options_t options = {0};
  hlocc_client_t* client = NULL;
  hlo_test_expect(hlocc_client_create(&options, &client), HLOCC_INVALID_ARGUMENT, "struct_size");
  options.struct_size = sizeof options;
  options.settings = (const char*[]){"num_devices=3", NULL};
  assert_null(hlocc_client_create(&options, &client));
  assert_int_equal(hlocc_client_device_count(client), 3);
  hlocc_client_free(client);
  options.settings = (const char*[]){"num_devices", NULL};
  hlo_test_expect(hlocc_client_create(&options, &client), HLOCC_INVALID_ARGUMENT, "name=value");
  options.settings = (const char*[]){"num_device=3", NULL};
  hlo_test_expect(hlocc_client_create(&options, &client), HLOCC_NOT_FOUND, "num_devices");
  options.settings = (const char*[]){"num_devices=x", NULL};
  hlo_test_expect(hlocc_client_create(&options, &client), HLOCC_INVALID_ARGUMENT, "num_devices");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_runs_a_program),
      cmocka_unit_test(test_reads_inputs_in_place),
      cmocka_unit_test(test_options_of_older_callers),
      cmocka_unit_test(test_runs_on_threads),
      cmocka_unit_test(test_runs_replicas),
      cmocka_unit_test(test_runs_partitions),
      cmocka_unit_test(test_errors_have_places),
      cmocka_unit_test(test_failed_runs_say_where),
      cmocka_unit_test(test_functions_of_the_application),
      cmocka_unit_test(test_functions_of_a_client),
      cmocka_unit_test(test_log_sink),
      cmocka_unit_test(test_log_level),
      cmocka_unit_test(test_nothing_is_fine),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_every_read_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
