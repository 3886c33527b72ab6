// SPDX-License-Identifier: Apache-2.0
// Tests of foreign functions in programs: values, attributes, errors, futures, memory that results
// share with operands, packed elements; functions that launch programs and wait for them.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fpenv.h"
#include "ffi/registry.h"
#include "ffi/test_util.h"
#include "runtime/test_util.h"

enum { DEVICES = 8, COUNT = 4, FUTURE_ROUNDS = 50, NESTED_ROUNDS = 1250, WATCHDOG_SECONDS = 300 };
static hlo_client_t* g_client;
static const char* const kBackends[] = {"native", "vir", "interp"};
enum { BACKENDS = 3 };

// ---- handlers

static const XLA_FFI_Buffer* argument_of(const XLA_FFI_CallFrame* frame, int i) {
  return frame->args.args[i];
}

static void* result_of(const XLA_FFI_CallFrame* frame, int i) {
  return ((const XLA_FFI_Buffer*)frame->rets.rets[i])->data;
}

// Adds the attribute `by`.
HANDLER(add_by) {
  float by = 0;
  const XLA_FFI_Scalar* scalar = frame->attrs.attrs[0];
  memcpy(&by, scalar->value, sizeof by);
  const float* in = argument_of(frame, 0)->data;
  float* out = result_of(frame, 0);
  for (int i = 0; i < COUNT; ++i) out[i] = in[i] + by;
  return NULL;
}

HANDLER(fails) {
  return hlo_ffi_test_error(frame->api, XLA_FFI_Error_Code_DATA_LOSS, "the disk is full");
}

static int g_shared_count;
HANDLER(in_place) {
  g_shared_count += argument_of(frame, 0)->data == result_of(frame, 0);
  float* both = result_of(frame, 0);
  for (int i = 0; i < COUNT; ++i) both[i] *= 2;
  return NULL;
}

// Adds one to packed s4: two elements a byte, the first one in the low half.
HANDLER(packed) {
  const uint8_t* in = argument_of(frame, 0)->data;
  uint8_t* out = result_of(frame, 0);
  for (int i = 0; i < 2; ++i) {
    const uint8_t low = (uint8_t)((in[i] & 15) + 1) & 15, high = (uint8_t)((in[i] >> 4) + 1) & 15;
    out[i] = (uint8_t)(low | high << 4);
  }
  return NULL;
}

static int g_user_object;
static void* g_seen_object;
HANDLER(reads_user_data) {
  hlo_status_release(hlo_ffi_user_data_get(frame->ctx->execution->user_data, 77, &g_seen_object));
  return NULL;
}

static hlo_fp_state_t g_seen_state;
HANDLER(reads_environment) {
  (void)frame;
  g_seen_state = hlo_fp_get();
  return NULL;
}

typedef struct later {
  const XLA_FFI_Api* api;
  XLA_FFI_Future* future;
  const float* in;
  float* out;
} later_t;

static void* work_later(void* context) {
  later_t* later = context;
  for (int i = 0; i < COUNT; ++i) later->out[i] = later->in[i] + 10;
  hlo_ffi_future_set(later->future, later->in[0] < 0 ? hlo_internal_error("negative") : hlo_ok());
  hlo_mem_free(later);
  return NULL;
}

HANDLER(later) {
  later_t* later = hlo_mem_alloc(sizeof *later);
  *later = (later_t){frame->api, hlo_ffi_future_create(), argument_of(frame, 0)->data,
                     result_of(frame, 0)};
  frame->future = later->future;
  pthread_t thread;
  pthread_create(&thread, NULL, work_later, later);
  pthread_detach(thread);
  return NULL;
}

static XLA_FFI_Future* g_held;  // of the call in progress

// Ends when the test says so.
HANDLER(held) {
  memcpy(result_of(frame, 0), argument_of(frame, 0)->data, COUNT * sizeof(float));
  g_held = hlo_ffi_future_create();
  frame->future = g_held;
  return NULL;
}

// ---- programs

#define CALL(target, rest)                                                     \
  "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"                    \
  "  %0 = stablehlo.custom_call @" target "(%x) {api_version = 4 : i32, " rest \
  "} "                                                                         \
  ": (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"

static const char kLoop[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %many = stablehlo.constant dense<5> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>\n"
    "  cond {\n"
    "    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %1 = stablehlo.add %i, %one : tensor<i32>\n"
    "    %2 = stablehlo.custom_call @later(%v) {api_version = 4 : i32, backend_config = {}} : "
    "(tensor<4xf32>) -> tensor<4xf32>\n"
    "    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>\n"
    "  }\n"
    "  return %0#1 : tensor<4xf32>\n}\n";

static int setup(void** state) {
  (void)state;
  hlo_ffi_test_add(NULL, "add_by", add_by);
  hlo_ffi_test_add(NULL, "fails", fails);
  hlo_ffi_test_add(NULL, "in_place", in_place);
  hlo_ffi_test_add(NULL, "packed", packed);
  hlo_ffi_test_add(NULL, "reads_user_data", reads_user_data);
  hlo_ffi_test_add(NULL, "reads_environment", reads_environment);
  hlo_ffi_test_add(NULL, "later", later);
  hlo_ffi_test_add(NULL, "held", held);
  hlo_client_options_t options = {.device_count = DEVICES, .thread_count = 1};
  return hlo_status_is_ok(hlo_client_create(&options, &g_client)) ? 0 : 1;
}

static int teardown(void** state) {
  (void)state;
  hlo_client_release(g_client);
  return 0;
}

static hlo_buffer_t* make(uint32_t device, hlo_dtype_t dtype, const void* values) {
  static const int64_t dims[] = {COUNT};
  const hlo_buffer_shape_t shape = {.dtype = dtype, .rank = 1, .dims = dims};
  hlo_buffer_t* buffer = NULL;
  hlo_test_check(hlo_buffer_from_host(
      &hlo_client_device(g_client, device)->memories[HLO_MEMORY_DEVICE], &shape, values, NULL,
      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static hlo_status_t launch(hlo_loaded_t* loaded, hlo_device_t* device,
                           const hlo_ffi_user_data_t* user_data, hlo_buffer_t* argument,
                           hlo_buffer_t** out_result) {
  hlo_buffer_t* const* rows[1] = {&argument};
  hlo_buffer_t** results[1] = {out_result};
  hlo_launch_t request = {.device_count = 1,
                          .arguments = rows,
                          .argument_count = 1,
                          .device = device,
                          .user_data = user_data,
                          .out_results = results};
  return hlo_loaded_execute(loaded, &request);
}

static hlo_status_t read_back(hlo_buffer_t* buffer, void* out, size_t bytes) {
  hlo_event_t* done = NULL;
  HLO_TRY(hlo_buffer_to_host(buffer, out, bytes, NULL, &done));
  hlo_status_t status = hlo_event_await(done, UINT64_MAX);
  hlo_event_release(done);
  return status;
}

// Runs a program of one argument on four floats, 1 to 4.
static hlo_status_t run(const char* text, const char* backend, const hlo_ffi_user_data_t* user_data,
                        float* out) {
  hlo_loaded_t* loaded = hlo_test_load(g_client, text, backend, 1);
  static const float kIn[COUNT] = {1, 2, 3, 4};
  hlo_buffer_t *x = make(0, HLO_DTYPE_F32, kIn), *y = NULL;
  hlo_test_check(launch(loaded, NULL, user_data, x, &y));
  hlo_status_t status = read_back(y, out, COUNT * sizeof *out);
  hlo_buffer_release(x);
  hlo_buffer_release(y);
  hlo_loaded_release(loaded);
  return status;
}

// ---- tests

static void functions_get_values_and_attributes(void** state) {
  (void)state;
  for (int b = 0; b < BACKENDS; ++b) {
    float out[COUNT];
    hlo_test_check(
        run(CALL("add_by", "backend_config = {by = 2.5 : f32}"), kBackends[b], NULL, out));
    assert_true(out[0] == 3.5f && out[3] == 6.5f);
  }
}

static void errors_have_locations(void** state) {
  (void)state;
  for (int b = 0; b < BACKENDS; ++b) {
    float out[COUNT];
    hlo_status_t status = run(CALL("fails", "backend_config = {}"), kBackends[b], NULL, out);
    assert_non_null(strstr(hlo_status_message(status), "test.mlir:2"));
    hlo_ffi_test_expect(status, HLO_STATUS_DATA_LOSS, "the disk is full");
  }
}

static void unknown_targets_are_refused_when_loaded(void** state) {
  (void)state;
  static const char kText[] = CALL("add_bye", "backend_config = {}");
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  hlo_executable_t* executable = NULL;
  hlo_loaded_t* loaded = NULL;
  hlo_test_check(
      hlo_compile(kText, strlen(kText), "test.mlir", &config, NULL, 0, NULL, &executable));
  hlo_status_t status = hlo_loaded_create(g_client, executable, 0, NULL, &loaded);
  assert_non_null(strstr(hlo_status_message(status), "test.mlir:2"));
  hlo_ffi_test_expect(status, HLO_STATUS_NOT_FOUND, "add_by");
  hlo_executable_release(executable);
}

static void results_are_in_the_memory_of_their_operands(void** state) {
  (void)state;
  for (int b = 0; b < BACKENDS; ++b) {
    float out[COUNT];
    g_shared_count = 0;
    hlo_test_check(run(CALL("in_place",
                            "backend_config = {}, output_operand_aliases = "
                            "[#stablehlo.output_operand_alias<output_tuple_indices = [], "
                            "operand_index = 0, operand_tuple_indices = []>]"),
                       kBackends[b], NULL, out));
    assert_int_equal(g_shared_count, 1);
    assert_true(out[0] == 2 && out[3] == 8);
  }
}

static void small_elements_are_packed(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @main(%x: tensor<4xi4>) -> tensor<4xi4> {\n"
      "  %0 = stablehlo.custom_call @packed(%x) {api_version = 4 : i32, backend_config = {}} "
      ": (tensor<4xi4>) -> tensor<4xi4>\n  return %0 : tensor<4xi4>\n}\n";
  for (int b = 0; b < BACKENDS; ++b) {
    hlo_loaded_t* loaded = hlo_test_load(g_client, kText, kBackends[b], 1);
    static const int8_t kIn[COUNT] = {-3, 7, 0, -1};
    static const int8_t kWanted[COUNT] = {-2, -8, 1, 0};
    int8_t out[COUNT];
    hlo_buffer_t *x = make(0, HLO_DTYPE_S4, kIn), *y = NULL;
    hlo_test_check(launch(loaded, NULL, NULL, x, &y));
    hlo_test_check(read_back(y, out, sizeof out));
    assert_memory_equal(out, kWanted, sizeof out);
    hlo_buffer_release(x);
    hlo_buffer_release(y);
    hlo_loaded_release(loaded);
  }
}

static void functions_see_user_data_and_the_hosts_environment(void** state) {
  (void)state;
  hlo_ffi_user_data_t data = {0};
  hlo_test_check(hlo_ffi_user_data_add(&data, 77, &g_user_object, NULL));
  float out[COUNT];
  hlo_test_check(run(CALL("reads_user_data", "backend_config = {}, has_side_effect = true"), NULL,
                     &data, out));
  assert_ptr_equal(g_seen_object, &g_user_object);
  hlo_ffi_user_data_deinit(&data);
  hlo_test_check(run(CALL("reads_environment", "backend_config = {}, has_side_effect = true"), NULL,
                     NULL, out));
#if defined(__x86_64__)
  assert_int_equal(g_seen_state.mxcsr & (HLO_MXCSR_FLUSH | HLO_MXCSR_FLUSH_INPUT), 0);
#endif
}

static void futures_suspend_the_program(void** state) {
  (void)state;
  for (int b = 0; b < BACKENDS; ++b) {
    float out[COUNT];
    for (int round = 0; round < FUTURE_ROUNDS; ++round) {
      hlo_test_check(run(kLoop, kBackends[b], NULL, out));
      assert_true(out[0] == 51 && out[3] == 54);
    }
  }
}

// ---- ends of launches

// Launches a program of one argument; *out_end is the event of its end.
static hlo_buffer_t* launch_with_end(hlo_loaded_t* loaded, uint32_t device, hlo_event_t** out_end) {
  static const float kIn[COUNT] = {1, 2, 3, 4};
  hlo_buffer_t *x = make(device, HLO_DTYPE_F32, kIn), *y = NULL;
  hlo_buffer_t* const* rows[1] = {&x};
  hlo_buffer_t** results[1] = {&y};
  hlo_launch_t request = {.device_count = 1,
                          .arguments = rows,
                          .argument_count = 1,
                          .device = hlo_client_device(g_client, device),
                          .out_results = results,
                          .out_events = out_end};
  hlo_test_check(hlo_loaded_execute(loaded, &request));
  hlo_buffer_release(x);
  return y;
}

// Frameworks keep the end of a device's last launch with side effects, and wait for that alone.
static void launches_with_functions_end_in_order(void** state) {
  (void)state;
  hlo_loaded_t* holder = hlo_test_load(g_client, CALL("held", "backend_config = {}"), NULL, 1);
  hlo_loaded_t* adder =
      hlo_test_load(g_client, CALL("add_by", "backend_config = {by = 1.0 : f32}"), NULL, 1);
  hlo_loaded_t* plain = hlo_test_load(g_client, HLO_TEST_SINES("1"), NULL, 1);
  enum { HELD, AFTER, LAST, OTHER_DEVICE, PLAIN, ENDS };
  for (int fails = 0; fails < 2; ++fails) {
    hlo_event_t* ends[ENDS];
    hlo_buffer_t* results[ENDS];
    float out[COUNT];
    g_held = NULL;
    results[HELD] = launch_with_end(holder, 0, &ends[HELD]);
    results[AFTER] = launch_with_end(adder, 0, &ends[AFTER]);
    results[LAST] = launch_with_end(adder, 0, &ends[LAST]);
    results[OTHER_DEVICE] = launch_with_end(adder, 1, &ends[OTHER_DEVICE]);
    results[PLAIN] = launch_with_end(plain, 0, &ends[PLAIN]);
    hlo_test_check(read_back(results[LAST], out, sizeof out));  // which do not wait
    assert_true(out[0] == 2);
    hlo_test_check(hlo_event_await(ends[OTHER_DEVICE], UINT64_MAX));
    hlo_test_check(hlo_event_await(ends[PLAIN], UINT64_MAX));
    assert_false(hlo_event_is_ready(ends[AFTER]) || hlo_event_is_ready(ends[LAST]));
    assert_non_null(g_held);
    hlo_ffi_future_set(g_held, fails ? hlo_internal_error("no end") : hlo_ok());
    hlo_test_check(hlo_event_await(ends[LAST], UINT64_MAX));  // its own result, not that before it
    assert_true(hlo_event_is_ready(ends[AFTER]) && hlo_event_is_ready(ends[HELD]));
    assert_int_equal(hlo_status_is_ok(hlo_event_error(ends[HELD])), !fails);
    for (int i = 0; i < ENDS; ++i) {
      hlo_buffer_release(results[i]);
      hlo_event_release(ends[i]);
    }
  }
  hlo_loaded_release(holder);
  hlo_loaded_release(adder);
  hlo_loaded_release(plain);
}

// ---- functions that launch and wait

static hlo_loaded_t* g_inner;

// Launches a program on the same device, whose result it returns.
HANDLER(nested) {
  float values[COUNT];
  memcpy(values, argument_of(frame, 0)->data, sizeof values);
  const int32_t device = frame->ctx->execution->device_ordinal;
  hlo_buffer_t *x = make((uint32_t)device, HLO_DTYPE_F32, values), *y = NULL;
  hlo_status_t status = launch(g_inner, hlo_client_device(g_client, (uint32_t)device), NULL, x, &y);
  if (hlo_status_is_ok(status)) status = read_back(y, result_of(frame, 0), sizeof values);
  hlo_buffer_release(x);
  hlo_buffer_release(y);
  return hlo_ffi_error_of(status);
}

// Eight devices share one worker, and every program waits for another program, 10,000 times.
static void functions_may_launch_and_wait(void** state) {
  (void)state;
  hlo_ffi_test_add(NULL, "nested", nested);
  alarm(WATCHDOG_SECONDS);  // a deadlock ends the test
  g_inner = hlo_test_load(g_client, HLO_TEST_SINES("100"), NULL, 1);
  hlo_loaded_t* outer = hlo_test_load(g_client, CALL("nested", "backend_config = {}"), NULL, 1);
  static const float kIn[COUNT] = {1, 2, 3, 4};
  for (int round = 0; round < NESTED_ROUNDS; ++round) {
    hlo_buffer_t *x[DEVICES], *y[DEVICES];
    for (uint32_t d = 0; d < DEVICES; ++d) {
      x[d] = make(d, HLO_DTYPE_F32, kIn);
      hlo_test_check(launch(outer, hlo_client_device(g_client, d), NULL, x[d], &y[d]));
    }
    for (uint32_t d = 0; d < DEVICES; ++d) {
      float out[COUNT] = {0};
      hlo_test_check(read_back(y[d], out, sizeof out));
      assert_true(out[0] > 0 && out[0] < 1);
      hlo_buffer_release(x[d]);
      hlo_buffer_release(y[d]);
    }
  }
  alarm(0);
  hlo_loaded_release(outer);
  hlo_loaded_release(g_inner);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(functions_get_values_and_attributes),
      cmocka_unit_test(errors_have_locations),
      cmocka_unit_test(unknown_targets_are_refused_when_loaded),
      cmocka_unit_test(results_are_in_the_memory_of_their_operands),
      cmocka_unit_test(small_elements_are_packed),
      cmocka_unit_test(functions_see_user_data_and_the_hosts_environment),
      cmocka_unit_test(futures_suspend_the_program),
      cmocka_unit_test(launches_with_functions_end_in_order),
      cmocka_unit_test(functions_may_launch_and_wait),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
