// SPDX-License-Identifier: Apache-2.0
// Many threads launch compiled programs on one client at once: shared arguments that are deleted
// meanwhile, donations, failing programs and users of their results, loops, unused results,
// collectives.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_util.h"
#include "runtime/executable.h"

enum { THREADS = 6, TURNS = 400, DEVICES = 2, SLOTS = 16, COUNT = 64, WORKERS = 2 };

#define TYPE "tensor<64xf32>"
static const char kAdd[] = "func.func @main(%x: " TYPE ", %y: " TYPE ") -> " TYPE
                           " {\n  %0 = stablehlo.add %x, %y : " TYPE "\n  return %0 : " TYPE "\n}";
static const char kIncrement[] =
    "func.func @main(%x: " TYPE " {tf.aliasing_output = 0 : i32}) -> " TYPE
    " {\n  %one = stablehlo.constant dense<1.0> : " TYPE "\n  %0 = stablehlo.add %x, %one : " TYPE
    "\n  return %0 : " TYPE "\n}";
static const char kFails[] =
    "func.func @main(%x: " TYPE ") -> " TYPE " {\n  %0 = stablehlo.slice %x [0:1] : (" TYPE
    ") -> tensor<1xf32>\n"
    "  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>\n"
    "  %2 = stablehlo.compare LT, %1, %1 : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
    "  stablehlo.custom_call @shape_assertion(%2) {has_side_effect = true, error_message = "
    "\"as it should\"} : (tensor<i1>) -> ()\n  return %x : " TYPE "\n}";
// None of the programs that run on the launching thread.
static const char kLoop[] =
    "func.func @main(%x: " TYPE ") -> " TYPE
    " {\n  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %many = stablehlo.constant dense<50> : tensor<i32>\n"
    "  %step = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1.0> : " TYPE
    "\n  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, " TYPE
    "\n  cond {\n    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> "
    "tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  } do {\n"
    "    %1 = stablehlo.add %i, %step : tensor<i32>\n    %2 = stablehlo.add %v, %one : " TYPE
    "\n    stablehlo.return %1, %2 : tensor<i32>, " TYPE "\n  }\n  return %0#1 : " TYPE "\n}";
static const char kSum[] =
    "func.func @main(%x: " TYPE ") -> " TYPE
    " {\n  %0 = \"stablehlo.all_reduce\"(%x) ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %s = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %s : tensor<f32>\n"
    "  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (" TYPE ") -> " TYPE
    "\n  return %0 : " TYPE "\n}";

typedef enum kind { ADD, INCREMENT, FAILS, LOOP, SUM, DELETE, KIND_COUNT } kind_t;
static const char* const kPrograms[] = {kAdd, kIncrement, kFails, kLoop, kSum};

static hlo_client_t* g_client;
static hlo_loaded_t* g_loaded[DELETE];
static hlo_buffer_t* g_shared[SLOTS];  // slot i holds i until a thread deletes it

typedef struct worker {
  pthread_t thread;
  uint32_t random;
  char fault[160];  // the first
} worker_t;

static hlo_buffer_t* make(uint32_t device, float value) {
  static const int64_t dims[] = {COUNT};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = dims};
  float values[COUNT];
  for (int i = 0; i < COUNT; ++i) values[i] = value;
  hlo_buffer_t* buffer = NULL;
  hlo_memory_t* memory = &hlo_client_device(g_client, device)->memories[HLO_MEMORY_DEVICE];
  hlo_status_release(hlo_buffer_from_host(memory, &shape, values, NULL,
                                          HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static hlo_status_t run(kind_t kind, uint32_t count, hlo_buffer_t* const* arguments,
                        hlo_buffer_t** out_result) {
  hlo_buffer_t* const* rows[] = {arguments};
  hlo_buffer_t** results[] = {out_result};
  *out_result = NULL;
  return hlo_loaded_execute(
      g_loaded[kind],
      &(hlo_launch_t){
          .device_count = 1, .arguments = rows, .argument_count = count, .out_results = results});
}

static void note(worker_t* w, const char* what, const char* found) {
  if (!w->fault[0]) snprintf(w->fault, sizeof w->fault, "%s: %s", what, found);
}

// Checks that every element is `want`, or that the buffer has an error that contains `words`.
static void expect(worker_t* w, const char* what, hlo_buffer_t* buffer, float want,
                   const char* words) {
  float got[COUNT] = {0};
  hlo_event_t* done = NULL;
  hlo_status_t status = hlo_buffer_to_host(buffer, got, sizeof got, NULL, &done);
  if (hlo_status_is_ok(status)) status = hlo_event_await(done, UINT64_MAX);
  const char* message = hlo_status_is_ok(status) ? "" : hlo_status_message(status);
  if (words ? !strstr(message, words) : !hlo_status_is_ok(status)) note(w, what, message);
  for (int i = 0; i < COUNT && !words; ++i) {
    if (got[i] != want) note(w, what, "a wrong value");
  }
  hlo_status_release(status);
  hlo_event_release(done);
}

static uint32_t draw(worker_t* w, uint32_t limit) {
  w->random = w->random * 1664525 + 1013904223;
  return (w->random >> 8) % limit;
}

// ---- iterations

// Of a shared buffer, which may already be deleted, or be deleted while being read.
static void add_shared(worker_t* w) {
  uint32_t slot = draw(w, SLOTS);
  hlo_buffer_t *own = make(0, 100), *sum = NULL;
  hlo_buffer_t* arguments[] = {g_shared[slot], own};
  hlo_status_t status = run(ADD, 2, arguments, &sum);
  if (hlo_status_is_ok(status)) {
    expect(w, "add", sum, 100 + (float)slot, NULL);
  } else if (!strstr(hlo_status_message(status), "deleted")) {
    note(w, "add", hlo_status_message(status));
  }
  hlo_status_release(status);
  hlo_buffer_release(own);
  hlo_buffer_release(sum);
}

// Each result takes the memory of the one before, which a reader still uses.
static void donate(worker_t* w) {
  hlo_buffer_t* value = make(0, 0);
  for (int i = 0; i < 5; ++i) {
    hlo_buffer_t *next = NULL, *copy = NULL;
    hlo_status_t status = run(LOOP, 1, &value, &copy);
    if (hlo_status_is_ok(status)) status = run(INCREMENT, 1, &value, &next);
    if (!hlo_status_is_ok(status)) note(w, "donate", hlo_status_message(status));
    hlo_status_release(status);
    if (!hlo_buffer_is_deleted(value)) note(w, "donate", "the argument is there");
    expect(w, "what was read before the donation", copy, (float)i + 50, NULL);
    hlo_buffer_release(copy);
    hlo_buffer_release(value);
    value = next;
  }
  expect(w, "donated", value, 5, NULL);
  hlo_buffer_release(value);
}

static void fail_and_go_on(worker_t* w) {
  hlo_buffer_t *value = make(0, 1), *failed = NULL, *heir = NULL;
  hlo_status_release(run(FAILS, 1, &value, &failed));
  hlo_status_release(run(LOOP, 1, &failed, &heir));
  expect(w, "heir of a failure", heir, 0, "as it should");
  hlo_buffer_release(value);
  hlo_buffer_release(failed);
  hlo_buffer_release(heir);
}

// Half of the results are released while they are computed.
static void loop(worker_t* w) {
  hlo_buffer_t *value = make(0, 2), *result = NULL;
  hlo_status_release(run(LOOP, 1, &value, &result));
  hlo_buffer_delete(value);
  if (draw(w, 2)) expect(w, "loop", result, 52, NULL);
  hlo_buffer_release(value);
  hlo_buffer_release(result);
}

static void sum(worker_t* w) {
  hlo_buffer_t *values[DEVICES], *results[DEVICES] = {0};
  hlo_buffer_t* const* argument_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  for (uint32_t d = 0; d < DEVICES; ++d) {
    values[d] = make(d, (float)(d + 1));
    argument_rows[d] = &values[d];
    result_rows[d] = &results[d];
  }
  hlo_status_release(
      hlo_loaded_execute(g_loaded[SUM], &(hlo_launch_t){.device_count = DEVICES,
                                                        .arguments = argument_rows,
                                                        .argument_count = 1,
                                                        .out_results = result_rows}));
  for (uint32_t d = 0; d < DEVICES; ++d) {
    expect(w, "sum", results[d], 3, NULL);
    hlo_buffer_release(values[d]);
    hlo_buffer_release(results[d]);
  }
}

static void* work(void* context) {
  worker_t* w = context;
  static void (*const kTurns[])(worker_t*) = {add_shared, donate, fail_and_go_on, loop, sum};
  for (int i = 0; i < TURNS; ++i) {
    kind_t kind = (kind_t)draw(w, KIND_COUNT);
    if (kind != DELETE) {
      kTurns[kind](w);
    } else if (draw(w, 8) == 0) {
      hlo_buffer_delete(g_shared[draw(w, SLOTS)]);
    }
  }
  return NULL;
}

static void launch_at_once(uint32_t launch_limit) {
  hlo_test_check(hlo_client_create(
      &(hlo_client_options_t){
          .device_count = DEVICES, .thread_count = WORKERS, .launch_limit = launch_limit},
      &g_client));
  for (int kind = 0; kind < DELETE; ++kind) {
    hlo_compile_config_t config;
    hlo_compile_config_init(&config);
    config.replica_count = kind == SUM ? DEVICES : 1;
    hlo_executable_t* executable = NULL;
    hlo_test_check(hlo_compile(kPrograms[kind], strlen(kPrograms[kind]), "test.mlir", &config, NULL,
                               0, NULL, &executable));
    hlo_test_check(hlo_loaded_create(g_client, executable, 0, NULL, &g_loaded[kind]));
    hlo_executable_release(executable);
  }
  for (int i = 0; i < SLOTS; ++i) g_shared[i] = make(0, (float)i);
  worker_t workers[THREADS] = {0};
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i].random = i;
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; ++i) assert_string_equal(workers[i].fault, "");
  for (int i = 0; i < SLOTS; ++i) hlo_buffer_release(g_shared[i]);
  for (int kind = 0; kind < DELETE; ++kind) hlo_loaded_release(g_loaded[kind]);
  hlo_memory_stats_t stats;
  for (uint32_t d = 0; d < DEVICES; ++d) {
    hlo_memory_t* memory = &hlo_client_device(g_client, d)->memories[HLO_MEMORY_DEVICE];
    // Launches whose results were released may still be running.
    do hlo_memory_get_stats(memory, &stats);
    while (stats.bytes_in_use != 0);
  }
  hlo_client_release(g_client);
}

static void threads_launch_at_once(void** state) {
  (void)state;
  launch_at_once(0);
}

static void threads_launch_with_few_in_flight(void** state) {
  (void)state;
  launch_at_once(1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_launch_at_once),
                                     cmocka_unit_test(threads_launch_with_few_in_flight)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
