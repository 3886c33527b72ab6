// SPDX-License-Identifier: Apache-2.0
// Tests of launches: donation, propagation of errors, collectives of many devices on few workers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/test_util.h"
#include "runtime/executable.h"
#include "runtime/test_util.h"

enum { DEVICES = 8, COUNT = 4 };
static hlo_client_t* g_client;

static void expect(hlo_status_t status, hlo_status_code_t code, const char* words) {
  assert_int_equal(hlo_status_code(status), code);
  if (!strstr(hlo_status_message(status), words)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

// One worker for eight devices: waiting runs must not block it.
static int setup(void** state) {
  (void)state;
  hlo_client_options_t options = {.device_count = DEVICES, .thread_count = 1};
  return hlo_status_is_ok(hlo_client_create(&options, &g_client)) ? 0 : 1;
}

static int teardown(void** state) {
  (void)state;
  hlo_client_release(g_client);
  return 0;
}

static hlo_loaded_t* load_with(const char* text, const hlo_compile_config_t* config) {
  hlo_executable_t* executable = NULL;
  hlo_test_check(hlo_compile(text, strlen(text), "test.mlir", config, NULL, 0, NULL, &executable));
  hlo_loaded_t* loaded = NULL;
  hlo_test_check(hlo_loaded_create(g_client, executable, 0, NULL, &loaded));
  hlo_executable_release(executable);
  return loaded;
}

static hlo_loaded_t* load(const char* text, int32_t replica_count) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.replica_count = replica_count;
  return load_with(text, &config);
}

static const int64_t kDims[1] = {COUNT};
static const hlo_buffer_shape_t kShape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kDims};

static hlo_memory_t* memory_of(uint32_t device) {
  return &hlo_client_device(g_client, device)->memories[HLO_MEMORY_DEVICE];
}

static hlo_buffer_t* make(uint32_t device, float first) {
  float values[COUNT];
  for (int i = 0; i < COUNT; ++i) values[i] = first + (float)i;
  hlo_buffer_t* buffer = NULL;
  hlo_test_check(hlo_buffer_from_host(memory_of(device), &kShape, values, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static hlo_status_t read_back(hlo_buffer_t* buffer, float* out) {
  hlo_event_t* done = NULL;
  HLO_TRY(hlo_buffer_to_host(buffer, out, COUNT * sizeof(float), NULL, &done));
  hlo_status_t status = hlo_event_await(done, UINT64_MAX);
  hlo_event_release(done);
  return status;
}

static hlo_status_t run_one(hlo_loaded_t* loaded, uint32_t count, hlo_buffer_t* const* arguments,
                            hlo_buffer_t** out_result) {
  hlo_buffer_t* const* rows[1] = {arguments};
  hlo_buffer_t** results[1] = {out_result};
  hlo_launch_t launch = {
      .device_count = 1, .arguments = rows, .argument_count = count, .out_results = results};
  return hlo_loaded_execute(loaded, &launch);
}

static const char kIncrement[] =
    "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {\n"
    "  %one = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
    "  %y = stablehlo.add %x, %one : tensor<4xf32>\n"
    "  return %y : tensor<4xf32>\n"
    "}\n";

static void donated_argument_becomes_the_result(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kIncrement, 1);
  hlo_buffer_t *x = make(0, 1), *y = NULL;
  void *before = NULL, *after = NULL;
  hlo_test_check(hlo_buffer_data_pointer(x, &before));
  hlo_test_check(run_one(loaded, 1, &x, &y));
  assert_true(hlo_buffer_is_deleted(x));
  float got[COUNT];
  hlo_test_check(read_back(y, got));
  assert_true(got[0] == 2 && got[3] == 5);
  hlo_test_check(hlo_buffer_data_pointer(y, &after));
  assert_ptr_equal(before, after);
  expect(run_one(loaded, 1, &x, &y), HLO_STATUS_INVALID_ARGUMENT, "deleted or donated");
  hlo_buffer_release(x);
  hlo_buffer_release(y);
  hlo_loaded_release(loaded);
}

static void count_end(void* context) {
  ++*(int*)context;
}

// Foreign memory is overwritten if its owner allows it, and belongs to the owner again after the
// last use.
static void donated_foreign_memory_is_reused_if_its_owner_says_so(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kIncrement, 1);
  for (int is_mutable = 0; is_mutable < 2; ++is_mutable) {
    _Alignas(64) float bytes[COUNT] = {1, 2, 3, 4};
    int ends = 0;
    hlo_storage_t* storage = NULL;
    hlo_buffer_t *x = NULL, *y = NULL;
    hlo_test_check(hlo_storage_create_foreign(memory_of(0), bytes, sizeof bytes, is_mutable,
                                              count_end, &ends, &storage));
    hlo_test_check(hlo_buffer_create_over(memory_of(0), &kShape, storage, NULL, &x));
    hlo_storage_release(storage);
    hlo_test_check(run_one(loaded, 1, &x, &y));
    assert_true(hlo_buffer_is_deleted(x));
    void* address = NULL;
    hlo_test_check(hlo_buffer_data_pointer(y, &address));
    assert_int_equal(address == (void*)bytes, is_mutable);
    assert_int_equal(ends, !is_mutable);
    float got[COUNT];
    hlo_test_check(read_back(y, got));
    assert_true(got[0] == 2 && got[3] == 5);
    assert_true(bytes[0] == (is_mutable ? 2 : 1));
    hlo_buffer_release(x);
    hlo_buffer_release(y);
    assert_int_equal(ends, 1);
  }
  hlo_loaded_release(loaded);
}

static void note_fp_state(void* context) {
  *(hlo_fp_state_t*)context = hlo_fp_get();
}

static bool is_same_fp_state(hlo_fp_state_t a, hlo_fp_state_t b) {
  return memcmp(&a, &b, sizeof a) == 0;
}

// A program runs in its own floating-point state, also on the caller's thread. The caller's state
// is restored for the caller and its callbacks.
static void callers_keep_their_floating_point_state(void** state) {
  (void)state;
  static const char kHalve[] =
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %half = stablehlo.constant dense<0.5> : tensor<4xf32>\n"
      "  %y = stablehlo.multiply %x, %half : tensor<4xf32>\n"
      "  return %y : tensor<4xf32>\n"
      "}\n";
  for (int i = 0; i < 4; ++i) {
    hlo_compile_config_t config;
    hlo_compile_config_init(&config);
    config.subnormals = i / 2 ? HLO_SUBNORMALS_KEEP : HLO_SUBNORMALS_FLUSH;
    hlo_loaded_t* loaded = load_with(kHalve, &config);
    const hlo_fp_state_t test = hlo_fp_enter(i % 2 ? HLO_SUBNORMALS_KEEP : HLO_SUBNORMALS_FLUSH);
    const hlo_fp_state_t host = hlo_fp_get();
    hlo_fp_state_t at_end = {0};
    _Alignas(64) float bytes[COUNT] = {0x1p-126f, 0x1p-127f, 2, 3};
    hlo_storage_t* storage = NULL;
    hlo_buffer_t *x = NULL, *y = NULL;
    hlo_test_check(hlo_storage_create_foreign(memory_of(0), bytes, sizeof bytes, false,
                                              note_fp_state, &at_end, &storage));
    hlo_test_check(hlo_buffer_create_over(memory_of(0), &kShape, storage, NULL, &x));
    hlo_storage_release(storage);
    hlo_test_check(run_one(loaded, 1, &x, &y));
    assert_true(is_same_fp_state(hlo_fp_get(), host));
    float got[COUNT];
    hlo_test_check(read_back(y, got));
    hlo_buffer_release(x);
    hlo_buffer_release(y);
    hlo_loaded_release(loaded);
    assert_true(is_same_fp_state(hlo_fp_get(), host));
    assert_true(is_same_fp_state(at_end, host));
    hlo_fp_leave(test);
    static const float kKept[COUNT] = {0x1p-127f, 0x1p-128f, 1, 1.5f};
    static const float kFlushed[COUNT] = {0, 0, 1, 1.5f};
    assert_memory_equal(got, i / 2 ? kKept : kFlushed, sizeof got);
  }
}

// A donation waits neither for readers of the result nor for a donation of it.
static void results_of_waiting_donations_can_be_used(void** state) {
  (void)state;
  hlo_loaded_t *loop = load(HLO_TEST_SINES("300000"), 1), *increment = load(kIncrement, 1);
  hlo_buffer_t* values[4] = {make(0, 1)};
  hlo_buffer_t* read = NULL;
  hlo_test_check(run_one(loop, 1, values, &read));
  for (int i = 0; i < 3; ++i) hlo_test_check(run_one(increment, 1, &values[i], &values[i + 1]));
  float got[COUNT];
  hlo_event_t* copied = NULL;
  hlo_test_check(hlo_buffer_to_host(values[3], got, sizeof got, NULL, &copied));
  hlo_test_check(hlo_event_await(copied, 60ull * 1000 * 1000 * 1000));
  assert_true(got[0] == 4 && got[3] == 7);
  hlo_event_release(copied);
  for (int i = 0; i < 4; ++i) hlo_buffer_release(values[i]);
  hlo_buffer_release(read);
  hlo_loaded_release(loop);
  hlo_loaded_release(increment);
}

enum { MANY_ARGUMENTS = 1000 };

// The last of a thousand arguments.
static hlo_loaded_t* load_many_arguments(void) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text, "func.func @main(");
  for (int i = 0; i < MANY_ARGUMENTS; ++i) {
    hlo_strbuf_printf(&text, "%s%%x%d: tensor<4xf32>", i ? ", " : "", i);
  }
  hlo_strbuf_printf(&text, ") -> tensor<4xf32> {\n  return %%x%d : tensor<4xf32>\n}\n",
                    MANY_ARGUMENTS - 1);
  hlo_loaded_t* loaded = load(hlo_strbuf_text(&text), 1);
  hlo_strbuf_deinit(&text);
  return loaded;
}

static void launches_wait_once_for_each_event(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load_many_arguments();
  hlo_buffer_t *arguments[MANY_ARGUMENTS], *value = make(0, 7), *alias = NULL, *result = NULL;
  hlo_test_check(hlo_buffer_create_alias(memory_of(0), &kShape, &alias));
  for (int i = 0; i < MANY_ARGUMENTS; ++i) arguments[i] = alias;
  hlo_test_check(run_one(loaded, MANY_ARGUMENTS, arguments, &result));
  hlo_event_t* ready = hlo_buffer_ready_event(alias);
  assert_int_equal(hlo_event_waiter_count(ready), 1);
  hlo_event_release(ready);
  hlo_test_check(hlo_buffer_fulfill(alias, value, hlo_ok()));
  float got[COUNT];
  hlo_test_check(read_back(result, got));
  assert_true(got[0] == 7);
  hlo_buffer_release(value);
  hlo_buffer_release(alias);
  hlo_buffer_release(result);
  hlo_loaded_release(loaded);
}

static const char kTwoResults[] =
    "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
    "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n"
    "  %1 = stablehlo.multiply %x, %x : tensor<4xf32>\n"
    "  return %0, %1 : tensor<4xf32>, tensor<4xf32>\n"
    "}\n";

// The results of a launch have one event, and to ask whether it is ready allocates nothing.
static void results_share_an_event(void** state) {
  (void)state;
  enum { CHECKS = 10000 };
  hlo_loaded_t* loaded = load(kTwoResults, 1);
  hlo_buffer_t *x = make(0, 1), *results[2] = {NULL};
  hlo_test_check(run_one(loaded, 1, &x, results));
  hlo_event_t *first = hlo_buffer_ready_event(results[0]),
              *second = hlo_buffer_ready_event(results[1]);
  assert_ptr_equal(first, second);
  hlo_test_check(hlo_event_await(first, UINT64_MAX));
  hlo_mem_fail_nth(1);
  int ready_count = 0;
  for (int i = 0; i < CHECKS; ++i) {
    hlo_event_t* ready = hlo_buffer_ready_event(results[i % 2]);
    ready_count += hlo_event_is_ready(ready);
    hlo_event_release(ready);
  }
  const bool has_allocated = hlo_mem_failed();
  hlo_mem_fail_nth(0);
  assert_false(has_allocated);
  assert_int_equal(ready_count, CHECKS);
  hlo_event_release(first);
  hlo_event_release(second);
  hlo_buffer_release(x);
  for (int i = 0; i < 2; ++i) hlo_buffer_release(results[i]);
  hlo_loaded_release(loaded);
}

enum { STEPS = 20000 };

// Alternating launches and copies, the first of which waits for a value that is defined last.
static void* launch_and_fulfil(void* context) {
  hlo_loaded_t* loaded = load(kIncrement, 1);
  hlo_buffer_t *zero = make(0, 0), *alias = NULL, *last = NULL;
  hlo_test_check(hlo_buffer_create_alias(memory_of(0), &kShape, &alias));
  hlo_test_check(run_one(loaded, 1, &alias, &last));
  for (int i = 1; i < STEPS; ++i) {
    hlo_buffer_t *copy = NULL, *next = NULL;
    hlo_test_check(hlo_buffer_copy_to_memory(last, memory_of(0), &copy));
    hlo_test_check(run_one(loaded, 1, &copy, &next));
    hlo_buffer_release(copy);
    hlo_buffer_release(last);
    last = next;
  }
  hlo_test_check(hlo_buffer_fulfill(alias, zero, hlo_ok()));
  hlo_buffer_release(zero);
  hlo_buffer_release(alias);
  hlo_loaded_release(loaded);
  *(hlo_buffer_t**)context = last;
  return NULL;
}

static void long_chains_of_launches_need_little_stack(void** state) {
  (void)state;
  hlo_buffer_t* last = NULL;
  hlo_test_on_small_stack(launch_and_fulfil, &last);
  float got[COUNT];
  hlo_test_check(read_back(last, got));
  assert_true(got[0] == STEPS && got[3] == STEPS + 3);
  hlo_buffer_release(last);
}

static void denied_donation_leaves_the_argument(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kIncrement, 1);
  hlo_buffer_t *x = make(0, 1), *y = NULL;
  hlo_buffer_t* const* rows[1] = {&x};
  hlo_buffer_t** results[1] = {&y};
  const int64_t denied[1] = {0};
  hlo_launch_t launch = {.device_count = 1,
                         .arguments = rows,
                         .argument_count = 1,
                         .out_results = results,
                         .non_donatable = denied,
                         .non_donatable_count = 1};
  hlo_test_check(hlo_loaded_execute(loaded, &launch));
  float got[COUNT];
  hlo_test_check(read_back(x, got));
  assert_true(got[0] == 1);
  hlo_test_check(read_back(y, got));
  assert_true(got[0] == 2);
  hlo_buffer_release(x);
  hlo_buffer_release(y);
  hlo_loaded_release(loaded);
}

static const char kSwap[] =
    "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 1 : i32},\n"
    "                %y: tensor<4xf32> {tf.aliasing_output = 0 : i32})\n"
    "    -> (tensor<4xf32>, tensor<4xf32>) {\n"
    "  return %x, %y : tensor<4xf32>, tensor<4xf32>\n"
    "}\n";

// Each result is in the other value's memory.
static void swapped_aliases_keep_their_values(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kSwap, 1);
  hlo_buffer_t *arguments[2] = {make(0, 1), make(0, 100)}, *results[2] = {NULL};
  hlo_test_check(run_one(loaded, 2, arguments, results));
  float got[COUNT];
  hlo_test_check(read_back(results[0], got));
  assert_true(got[0] == 1);
  hlo_test_check(read_back(results[1], got));
  assert_true(got[0] == 100);
  hlo_buffer_t* again[2] = {results[0], results[0]};
  hlo_buffer_t* none[2] = {NULL};
  expect(run_one(loaded, 2, again, none), HLO_STATUS_INVALID_ARGUMENT, "twice");
  assert_false(hlo_buffer_is_deleted(results[0]));
  for (int i = 0; i < 2; ++i) {
    hlo_buffer_release(arguments[i]);
    hlo_buffer_release(results[i]);
  }
  hlo_loaded_release(loaded);
}

static const char kOneOfTwo[] =
    "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32> {tf.aliasing_output = 0 : i32},\n"
    "                %z: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %x, %y : tensor<4xf32>\n"
    "  %1 = stablehlo.add %0, %z : tensor<4xf32>\n"
    "  return %1 : tensor<4xf32>\n"
    "}\n";

// Whichever of the two is first.
static void donated_arguments_have_no_other_use(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kOneOfTwo, 1);
  hlo_buffer_t *x = make(0, 1), *y = make(0, 2), *sum = NULL;
  hlo_buffer_t *before[] = {x, x, y}, *after[] = {y, x, x}, *apart[] = {y, x, y};
  expect(run_one(loaded, 3, before, &sum), HLO_STATUS_INVALID_ARGUMENT,
         "donated as argument 1 is also used as argument 0");
  expect(run_one(loaded, 3, after, &sum), HLO_STATUS_INVALID_ARGUMENT,
         "donated as argument 1 is also used as argument 2");
  assert_false(hlo_buffer_is_deleted(x) || hlo_buffer_is_deleted(y));
  hlo_test_check(run_one(loaded, 3, apart, &sum));
  assert_true(hlo_buffer_is_deleted(x) && !hlo_buffer_is_deleted(y));
  float got[COUNT];
  hlo_test_check(read_back(sum, got));
  assert_true(got[0] == 5);
  hlo_buffer_release(x);
  hlo_buffer_release(y);
  hlo_buffer_release(sum);
  hlo_loaded_release(loaded);
}

static void wrong_calls_change_nothing(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kIncrement, 1);
  hlo_buffer_t *x = make(0, 1), *elsewhere = make(1, 1), *y = NULL;
  const int64_t three[1] = {3};
  hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = three};
  hlo_buffer_t* small = NULL;
  hlo_test_check(hlo_buffer_create_uninitialized(memory_of(0), &shape, &small));
  expect(run_one(loaded, 0, NULL, &y), HLO_STATUS_INVALID_ARGUMENT, "0 arguments");
  expect(run_one(loaded, 1, &small, &y), HLO_STATUS_INVALID_ARGUMENT, "f32[3]");
  expect(run_one(loaded, 1, &elsewhere, &y), HLO_STATUS_INVALID_ARGUMENT, "device 1");
  assert_false(hlo_buffer_is_deleted(x) || hlo_buffer_is_deleted(elsewhere));
  hlo_loaded_delete(loaded);
  expect(run_one(loaded, 1, &x, &y), HLO_STATUS_FAILED_PRECONDITION, "deleted");
  hlo_buffer_release(x);
  hlo_buffer_release(small);
  hlo_buffer_release(elsewhere);
  hlo_loaded_release(loaded);
}

static const char kOffload[] =
    "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32> {mhlo.memory_kind = \"pinned_host\"})\n"
    "    -> (tensor<4xf32> {mhlo.memory_kind = \"unpinned_host\"}) {\n"
    "  %0 = stablehlo.add %x, %y : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "}\n";

// Arguments must be in the memory spaces for which the program was compiled.
static void memory_kinds_of_arguments_are_checked(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kOffload, 1);
  hlo_buffer_t *x = make(0, 1), *there = NULL, *sum = NULL;
  hlo_memory_t* host = &hlo_client_device(g_client, 0)->memories[HLO_MEMORY_PINNED_HOST];
  assert_ptr_equal(hlo_loaded_argument_memory(loaded, 0, 1), host);
  hlo_test_check(hlo_buffer_copy_to_memory(x, host, &there));
  hlo_buffer_t *right[2] = {x, there}, *near[2] = {x, x}, *far[2] = {there, there};
  expect(run_one(loaded, 2, near, &sum), HLO_STATUS_INVALID_ARGUMENT,
         "argument 1 has memory kind device, expected pinned_host");
  expect(run_one(loaded, 2, far, &sum), HLO_STATUS_INVALID_ARGUMENT,
         "argument 0 has memory kind pinned_host, expected device");
  hlo_test_check(run_one(loaded, 2, right, &sum));
  assert_int_equal(hlo_buffer_memory(sum)->kind, HLO_MEMORY_UNPINNED_HOST);
  float got[COUNT];
  hlo_test_check(read_back(sum, got));
  assert_true(got[0] == 2);
  hlo_buffer_release(x);
  hlo_buffer_release(there);
  hlo_buffer_release(sum);
  hlo_loaded_release(loaded);
}

static void expect_unknown_kind(const char* argument, const char* result, const char* words) {
  hlo_strbuf_t text = {0};
  hlo_strbuf_printf(&text,
                    "func.func @main(%%x: tensor<4xf32> {mhlo.memory_kind = \"%s\"})\n"
                    "    -> (tensor<4xf32> {mhlo.memory_kind = \"%s\"}) {\n"
                    "  return %%x : tensor<4xf32>\n}\n",
                    argument, result);
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  hlo_executable_t* executable = NULL;
  hlo_test_check(hlo_compile(hlo_strbuf_text(&text), text.length, "test.mlir", &config, NULL, 0,
                             NULL, &executable));
  hlo_loaded_t* loaded = NULL;
  expect(hlo_loaded_create(g_client, executable, 0, NULL, &loaded), HLO_STATUS_INVALID_ARGUMENT,
         words);
  hlo_executable_release(executable);
  hlo_strbuf_deinit(&text);
}

static void unknown_memory_kinds_are_refused(void** state) {
  (void)state;
  expect_unknown_kind("device", "vmem", "result 0 of main has memory kind \"vmem\", expected");
  expect_unknown_kind("smem", "device", "argument 0 of main has memory kind \"smem\"");
  static const char kNumber[] =
      "func.func @main(%x: tensor<4xf32> {mhlo.memory_kind = 1 : i32}) -> tensor<4xf32> {\n"
      "  return %x : tensor<4xf32>\n}\n";
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  hlo_executable_t* executable = NULL;
  expect(hlo_compile(kNumber, strlen(kNumber), "test.mlir", &config, NULL, 0, NULL, &executable),
         HLO_STATUS_INVALID_ARGUMENT, "mhlo.memory_kind of argument 0");
}

static void errors_reach_every_consumer(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kIncrement, 1);
  hlo_buffer_t *bad = NULL, *chain[3] = {NULL};
  hlo_test_check(
      hlo_buffer_create_error(memory_of(0), &kShape, hlo_internal_error("the first one"), &bad));
  hlo_test_check(run_one(loaded, 1, &bad, &chain[0]));
  hlo_test_check(run_one(loaded, 1, &chain[0], &chain[1]));
  hlo_test_check(run_one(loaded, 1, &chain[1], &chain[2]));
  float got[COUNT];
  expect(read_back(chain[2], got), HLO_STATUS_INTERNAL, "the first one");
  hlo_buffer_t *x = make(0, 1), *y = NULL;
  hlo_test_check(run_one(loaded, 1, &x, &y));
  hlo_test_check(read_back(y, got));
  for (int i = 0; i < 3; ++i) hlo_buffer_release(chain[i]);
  hlo_buffer_release(bad);
  hlo_buffer_release(x);
  hlo_buffer_release(y);
  hlo_loaded_release(loaded);
}

static const char kSum[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %y = \"stablehlo.all_reduce\"(%x) ({\n"
    "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %s = stablehlo.add %a, %b : tensor<f32>\n"
    "    stablehlo.return %s : tensor<f32>\n"
    "  }) {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}\n"
    "    : (tensor<4xf32>) -> tensor<4xf32>\n"
    "  return %y : tensor<4xf32>\n"
    "}\n";

typedef struct table {
  hlo_buffer_t* arguments[DEVICES][1];
  hlo_buffer_t* results[DEVICES][1];
  hlo_buffer_t* const* argument_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  hlo_launch_t launch;
} table_t;

static void table_init(table_t* table) {
  memset(table, 0, sizeof *table);
  for (uint32_t d = 0; d < DEVICES; ++d) {
    table->arguments[d][0] = make(d, (float)d);
    table->argument_rows[d] = table->arguments[d];
    table->result_rows[d] = table->results[d];
  }
  table->launch = (hlo_launch_t){.device_count = DEVICES,
                                 .arguments = table->argument_rows,
                                 .argument_count = 1,
                                 .out_results = table->result_rows};
}

static void table_release(table_t* table) {
  for (uint32_t d = 0; d < DEVICES; ++d) {
    hlo_buffer_release(table->arguments[d][0]);
    hlo_buffer_release(table->results[d][0]);
  }
}

static void eight_devices_meet_on_one_worker(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kSum, DEVICES);
  for (int round = 0; round < 20; ++round) {
    table_t table;
    table_init(&table);
    hlo_test_check(hlo_loaded_execute(loaded, &table.launch));
    for (uint32_t d = 0; d < DEVICES; ++d) {
      float got[COUNT];
      hlo_test_check(read_back(table.results[d][0], got));
      assert_true(got[0] == 28 && got[3] == 52);
    }
    table_release(&table);
  }
  hlo_loaded_release(loaded);
}

static void one_failed_device_fails_the_rendezvous(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kSum, DEVICES);
  table_t table;
  table_init(&table);
  hlo_buffer_release(table.arguments[5][0]);
  hlo_test_check(hlo_buffer_create_error(
      memory_of(5), &kShape, hlo_internal_error("device five is ill"), &table.arguments[5][0]));
  hlo_test_check(hlo_loaded_execute(loaded, &table.launch));
  for (uint32_t d = 0; d < DEVICES; ++d) {
    float got[COUNT];
    expect(read_back(table.results[d][0], got), HLO_STATUS_INTERNAL, "device five is ill");
  }
  table_release(&table);
  hlo_loaded_release(loaded);
}

// Device five cannot start: no other device does, and no argument is consumed.
static void all_devices_launch_or_none(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kSum, DEVICES);
  table_t table;
  table_init(&table);
  hlo_buffer_delete(table.arguments[5][0]);
  expect(hlo_loaded_execute(loaded, &table.launch), HLO_STATUS_INVALID_ARGUMENT,
         "replica 5, partition 0 (device 5)");
  expect(hlo_loaded_execute(loaded, &table.launch), HLO_STATUS_INVALID_ARGUMENT, "deleted");
  for (uint32_t d = 0; d < DEVICES; ++d) assert_null(table.results[d][0]);
  table_release(&table);
  hlo_loaded_release(loaded);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kIncrement, 1);
  bool failed = true;
  for (uint64_t n = 1; failed && n < 1000; ++n) {
    hlo_buffer_t *x = make(0, 1), *y = NULL;
    hlo_mem_fail_nth(n);
    hlo_status_t status = run_one(loaded, 1, &x, &y);
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (!hlo_status_is_ok(status)) {
      assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
      assert_false(hlo_buffer_is_deleted(x));
      hlo_status_release(status);
    }
    hlo_buffer_release(x);
    hlo_buffer_release(y);
  }
  assert_false(failed);
  hlo_loaded_release(loaded);
}

// If one device lacks memory, all launches of the group fail and none waits for ever.
static void every_failed_allocation_of_a_rendezvous_is_survived(void** state) {
  (void)state;
  hlo_loaded_t* loaded = load(kSum, DEVICES);
  bool failed = true;
  for (uint64_t n = 1; failed && n < 1000; ++n) {
    table_t table;
    table_init(&table);
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_loaded_execute(loaded, &table.launch);
    float got[COUNT];
    bool is_launched = hlo_status_is_ok(status);
    for (uint32_t d = 0; d < DEVICES && is_launched; ++d) {
      hlo_status_t read = read_back(table.results[d][0], got);
      if (hlo_status_is_ok(read)) {
        assert_true(got[0] == 28 && got[3] == 52);
      } else {
        assert_int_equal(hlo_status_code(read), HLO_STATUS_RESOURCE_EXHAUSTED);
      }
      hlo_status_release(read);
    }
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    hlo_status_release(status);
    table_release(&table);
  }
  assert_false(failed);
  hlo_loaded_release(loaded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(donated_argument_becomes_the_result),
      cmocka_unit_test(donated_foreign_memory_is_reused_if_its_owner_says_so),
      cmocka_unit_test(callers_keep_their_floating_point_state),
      cmocka_unit_test(results_of_waiting_donations_can_be_used),
      cmocka_unit_test(launches_wait_once_for_each_event),
      cmocka_unit_test(results_share_an_event),
      cmocka_unit_test(long_chains_of_launches_need_little_stack),
      cmocka_unit_test(denied_donation_leaves_the_argument),
      cmocka_unit_test(swapped_aliases_keep_their_values),
      cmocka_unit_test(donated_arguments_have_no_other_use),
      cmocka_unit_test(wrong_calls_change_nothing),
      cmocka_unit_test(memory_kinds_of_arguments_are_checked),
      cmocka_unit_test(unknown_memory_kinds_are_refused),
      cmocka_unit_test(errors_reach_every_consumer),
      cmocka_unit_test(eight_devices_meet_on_one_worker),
      cmocka_unit_test(one_failed_device_fails_the_rendezvous),
      cmocka_unit_test(all_devices_launch_or_none),
      cmocka_unit_test(every_failed_allocation_is_survived),
      cmocka_unit_test(every_failed_allocation_of_a_rendezvous_is_survived),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
