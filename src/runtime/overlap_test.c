// SPDX-License-Identifier: Apache-2.0
// Eight devices on few workers: computations run while a collective is in flight, and a device that
// waits leaves its worker to others. The tests compare the order of events, not how long they take.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/recording.h"
#include "runtime/test_util.h"

enum { DEVICES = 8, MAX_WORKERS = 3 };

// More iterations than a program has that runs in the caller's thread.
#define LOOP(out, in)                                                                           \
  "  %" out ":2 = stablehlo.while(%i = %zero, %v = " in                                         \
  ") : tensor<i32>, tensor<4xf32>\n"                                                            \
  "  cond {\n    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> "         \
  "tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  } do {\n"                                \
  "    %n = stablehlo.add %i, %one : tensor<i32>\n    %w = stablehlo.sine %v : tensor<4xf32>\n" \
  "    stablehlo.return %n, %w : tensor<i32>, tensor<4xf32>\n  }\n"
#define SUM(out, in)                                                                              \
  "  " out " = \"stablehlo.all_reduce\"(" in                                                      \
  ") ({\n ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n    %s = stablehlo.add %a, %b : tensor<f32>\n" \
  "    stablehlo.return %s : tensor<f32>\n  }) {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, "   \
  "7]]> : tensor<1x8xi64>} : (tensor<4xf32>) -> tensor<4xf32>\n"
#define BEGIN                                                                \
  "func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n" \
  "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"                    \
  "  %one = stablehlo.constant dense<1> : tensor<i32>\n"                     \
  "  %many = stablehlo.constant dense<5000> : tensor<i32>\n"

// A loop while the sum is in flight.
static const char kAsynchronous[] =
    BEGIN "  %f = \"stablehlo.async_start\"(%x) ({\n ^bb0(%arg: tensor<4xf32>):\n" SUM(
        "%r", "%arg") "    stablehlo.return %r : tensor<4xf32>\n"
                      "  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>\n" LOOP(
                          "l", "%x") "  %y = \"stablehlo.async_done\"(%f) : "
                                     "(!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>\n"
                                     "  return %l#1, %y : tensor<4xf32>, tensor<4xf32>\n}\n";
// A loop before the sum and one after it.
static const char kSynchronous[] = BEGIN LOOP("l", "%x") SUM("%y", "%l#1")
    LOOP("m", "%y") "  return %l#1, %m#1 : tensor<4xf32>, tensor<4xf32>\n}\n";

static hlo_loaded_t* load(hlo_client_t* client, const char* text) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.replica_count = DEVICES;
  config.profile_steps = true;  // each loop is a span
  hlo_executable_t* executable = NULL;
  hlo_loaded_t* loaded = NULL;
  hlo_test_check(hlo_compile(text, strlen(text), "test.mlir", &config, NULL, 0, NULL, &executable));
  hlo_test_check(hlo_loaded_create(client, executable, 0, NULL, &loaded));
  hlo_executable_release(executable);
  return loaded;
}

// Runs the program on all devices and returns the spans of the run.
static hlo_recording_t* record(hlo_client_t* client, hlo_loaded_t* loaded) {
  static const int64_t dims[] = {4};
  static const float values[] = {0.5f, 1, 2, 3};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = dims};
  hlo_buffer_t *arguments[DEVICES], *results[DEVICES][2];
  hlo_buffer_t* const* argument_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  for (uint32_t d = 0; d < DEVICES; ++d) {
    hlo_memory_t* memory = &hlo_client_device(client, d)->memories[HLO_MEMORY_DEVICE];
    hlo_test_check(hlo_buffer_from_host(memory, &shape, values, NULL,
                                        HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &arguments[d]));
    argument_rows[d] = &arguments[d];
    result_rows[d] = results[d];
  }
  hlo_recording_t* recording = NULL;
  hlo_test_check(hlo_recording_start());
  hlo_test_check(hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = DEVICES,
                                                            .arguments = argument_rows,
                                                            .argument_count = 1,
                                                            .out_results = result_rows}));
  for (uint32_t d = 0; d < DEVICES; ++d) {
    float got[4];
    for (uint32_t i = 0; i < 2; ++i) {
      hlo_event_t* done = NULL;
      hlo_test_check(hlo_buffer_to_host(results[d][i], got, sizeof got, NULL, &done));
      hlo_test_check(hlo_event_await(done, UINT64_MAX));
      hlo_event_release(done);
      hlo_buffer_release(results[d][i]);
    }
    hlo_buffer_release(arguments[d]);
  }
  hlo_test_check(hlo_recording_stop(&recording));
  return recording;
}

static bool is_loop(const hlo_span_t* span) {
  return strcmp(span->category, "step") == 0 && strstr(span->name, "while");
}

// The one exchange of a run, recorded by the device that arrives last.
static const hlo_span_t* find_exchange(const hlo_recording_t* recording) {
  const hlo_span_t* found = NULL;
  for (size_t i = 0; i < recording->spans.count; ++i) {
    const hlo_span_t* span = &recording->spans.items[i];
    if (strcmp(span->category, "collective") != 0) continue;
    assert_null(found);
    found = span;
  }
  assert_non_null(found);
  return found;
}

typedef struct counts {
  uint32_t all, ended_before, begun_after;
} counts_t;

// Counts the loops of all devices, and those before and after the exchange. Checks that only the
// workers have run them.
static counts_t count_loops(hlo_client_t* client, const hlo_recording_t* recording) {
  const hlo_span_t* exchange = find_exchange(recording);
  int64_t threads[MAX_WORKERS];
  uint32_t thread_count = 0;
  counts_t counts = {0};
  for (size_t i = 0; i < recording->spans.count; ++i) {
    const hlo_span_t* span = &recording->spans.items[i];
    if (!is_loop(span)) continue;
    ++counts.all;
    counts.ended_before += span->end_ns <= exchange->begin_ns;
    counts.begun_after += span->begin_ns >= exchange->end_ns;
    uint32_t t = 0;
    while (t < thread_count && threads[t] != span->thread_id) ++t;
    if (t < thread_count) continue;
    assert_true(thread_count < hlo_pool_worker_count(hlo_client_pool(client)));
    threads[thread_count++] = span->thread_id;
  }
  assert_int_equal(hlo_pool_helper_count(hlo_client_pool(client)), 0);
  return counts;
}

static counts_t count_run(const char* text, uint32_t worker_count) {
  const hlo_client_options_t options = {.device_count = DEVICES, .thread_count = worker_count};
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(&options, &client));
  hlo_loaded_t* loaded = load(client, text);
  hlo_recording_t* recording = record(client, loaded);
  const counts_t counts = count_loops(client, recording);
  hlo_recording_release(recording);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
  return counts;
}

// A worker leaves a device only at its async_done, thus after its loop. When the last device
// arrives, only the devices that other workers run at this moment may still be in their loops.
static void loops_run_while_a_sum_is_in_flight(void** state) {
  (void)state;
  for (uint32_t workers = 1; workers <= MAX_WORKERS; ++workers) {
    const counts_t counts = count_run(kAsynchronous, workers);
    assert_int_equal(counts.all, DEVICES);
    assert_in_range(counts.ended_before, DEVICES - workers, DEVICES);
  }
}

// All devices wait for the sum, more of them than there are workers.
static void waiting_devices_leave_their_workers(void** state) {
  (void)state;
  for (uint32_t workers = 1; workers <= MAX_WORKERS; ++workers) {
    const counts_t counts = count_run(kSynchronous, workers);
    assert_int_equal(counts.all, 2 * DEVICES);
    assert_int_equal(counts.ended_before, DEVICES);
    assert_int_equal(counts.begun_after, DEVICES);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_run_while_a_sum_is_in_flight),
      cmocka_unit_test(waiting_devices_leave_their_workers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
