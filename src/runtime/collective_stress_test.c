// SPDX-License-Identifier: Apache-2.0
// Threads launch programs with collectives over overlapping sets of devices, on each other's
// results, on fewer workers than devices; nothing hangs and every mean is right.
// HLO_STRESS_TEST_LAUNCHES sets the number of launches.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/test_util.h"

enum { DEVICES = 8, THREADS = 4, LAUNCHES = 1000, COUNT = 33, SETS = 6, CHECK_EVERY = 7 };

typedef struct device_set {
  uint32_t count;
  int32_t devices[DEVICES];
} device_set_t;

static const device_set_t kSets[SETS] = {
    {2, {0, 1}},       {3, {3, 1, 2}},
    {4, {2, 3, 4, 5}}, {8, {7, 6, 5, 4, 3, 2, 1, 0}},
    {2, {5, 0}},       {8, {0, 1, 2, 3, 4, 5, 6, 7}},
};

#define TYPE "tensor<33xf32>"
#define MEAN(out, in)                                                                            \
  "  %s" out " = \"stablehlo.all_reduce\"(" in                                                   \
  ") ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"                                            \
  "    %t = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %t : tensor<f32>\n"         \
  "  }) {replica_groups = dense<> : tensor<0x0xi64>} : (" TYPE ") -> " TYPE "\n  %n" out         \
  " = stablehlo.constant dense<$N> : " TYPE "\n  %m" out " = stablehlo.divide %s" out ", %n" out \
  " : " TYPE "\n"
#define PERMUTE(out, in)                              \
  "  %" out " = \"stablehlo.collective_permute\"(" in \
  ") {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (" TYPE ") -> " TYPE "\n"

typedef enum kind { STRAIGHT, LOOP, EXCHANGED, FAILS, KINDS } kind_t;
static const char* const kPrograms[KINDS] = {
    "func.func @main(%x: " TYPE ") -> " TYPE " {\n" MEAN("0", "%x") "  return %m0 : " TYPE "\n}",
    "func.func @main(%x: " TYPE ") -> " TYPE
    " {\n  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %many = stablehlo.constant dense<20> : tensor<i32>\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, " TYPE
    "\n  cond {\n    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> "
    "tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  } do {\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n" MEAN(
        "1", "%v") "    stablehlo.return %j, %m1 : tensor<i32>, " TYPE
                   "\n  }\n  return %0#1 : " TYPE "\n}",
    // Two exchanges in flight, and a permutation that only two devices receive.
    "func.func @main(%x: " TYPE ") -> " TYPE " {\n" MEAN("0", "%x") PERMUTE("p", "%m0")
        MEAN("1", "%m0") "  %d = stablehlo.subtract %p, %p : " TYPE
                         "\n"
                         "  %0 = stablehlo.add %m1, %d : " TYPE "\n  return %0 : " TYPE "\n}",
    // The last device fails while the others wait.
    "func.func @main(%x: " TYPE ") -> " TYPE
    " {\n  %id = stablehlo.replica_id : tensor<ui32>\n"
    "  %last = stablehlo.constant dense<$L> : tensor<ui32>\n"
    "  %c = stablehlo.compare NE, %id, %last : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
    "  stablehlo.custom_call @shape_assertion(%c) {has_side_effect = true, error_message = "
    "\"as it should\"} : (tensor<i1>) -> ()\n" MEAN("0", "%x") "  return %m0 : " TYPE "\n}",
};

static hlo_client_t* g_client;
static hlo_loaded_t* g_loaded[SETS][KINDS];

typedef struct worker {
  pthread_t thread;
  uint32_t random;
  int launches;
  hlo_buffer_t* values[SETS][DEVICES];  // the last results
  char fault[160];                      // the first
} worker_t;

static hlo_loaded_t* load(const device_set_t* set, kind_t kind) {
  HLO_SCOPED_STRBUF text = {0};
  for (const char* c = kPrograms[kind]; *c; ++c) {
    if (*c != '$') {
      hlo_strbuf_putc(&text, *c);
    } else {
      ++c;
      hlo_strbuf_printf(&text, *c == 'N' ? "%u.0" : "%u", *c == 'N' ? set->count : set->count - 1);
    }
  }
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.replica_count = (int32_t)set->count;
  hlo_executable_t* executable = NULL;
  hlo_loaded_t* loaded = NULL;
  hlo_test_check(hlo_compile(hlo_strbuf_text(&text), text.length, "test.mlir", &config, NULL, 0,
                             NULL, &executable));
  hlo_test_check(hlo_loaded_create(g_client, executable, set->count, set->devices, &loaded));
  hlo_executable_release(executable);
  return loaded;
}

static hlo_buffer_t* make(int32_t device, float value) {
  static const int64_t dims[] = {COUNT};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = dims};
  float values[COUNT];
  for (int i = 0; i < COUNT; ++i) values[i] = value;
  hlo_buffer_t* buffer = NULL;
  hlo_device_t* owner = hlo_client_device(g_client, (uint32_t)device);
  hlo_test_check(hlo_buffer_from_host(&owner->memories[HLO_MEMORY_DEVICE], &shape, values, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static void note(worker_t* w, const char* what, const char* found) {
  if (!w->fault[0]) snprintf(w->fault, sizeof w->fault, "%s: %s", what, found);
}

// Checks that every element is `want`, or that the buffer has the program's error.
static void expect(worker_t* w, hlo_buffer_t* buffer, float want, bool fails) {
  float got[COUNT] = {0};
  hlo_event_t* done = NULL;
  hlo_status_t status = hlo_buffer_to_host(buffer, got, sizeof got, NULL, &done);
  if (hlo_status_is_ok(status)) status = hlo_event_await(done, UINT64_MAX);
  if (fails ? !strstr(hlo_status_message(status), "as it should") : !hlo_status_is_ok(status)) {
    note(w, fails ? "failure" : "mean", hlo_status_message(status));
  }
  for (int i = 0; i < COUNT && !fails; ++i) {
    if (got[i] != want) note(w, "mean", "a wrong value");
  }
  hlo_status_release(status);
  hlo_event_release(done);
}

static uint32_t draw(worker_t* w, uint32_t limit) {
  w->random = w->random * 1664525 + 1013904223;
  return (w->random >> 8) % limit;
}

// Launches on the results of the launch before on the same devices, which are kept in their place
// unless this one fails.
static void launch(worker_t* w, uint32_t s, kind_t kind) {
  const device_set_t* set = &kSets[s];
  hlo_buffer_t* results[DEVICES] = {0};
  hlo_buffer_t* const* argument_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  for (uint32_t d = 0; d < set->count; ++d) {
    argument_rows[d] = &w->values[s][d];
    result_rows[d] = &results[d];
  }
  hlo_status_t status =
      hlo_loaded_execute(g_loaded[s][kind], &(hlo_launch_t){.device_count = set->count,
                                                            .arguments = argument_rows,
                                                            .argument_count = 1,
                                                            .out_results = result_rows});
  if (!hlo_status_is_ok(status)) note(w, "launch", hlo_status_message(status));
  hlo_status_release(status);
  const bool checks = draw(w, CHECK_EVERY) == 0;
  for (uint32_t d = 0; d < set->count; ++d) {
    if (checks) expect(w, results[d], (float)(set->count - 1) / 2, kind == FAILS);
    hlo_buffer_t** old = kind == FAILS ? &results[d] : &w->values[s][d];
    hlo_buffer_release(*old);
    if (kind != FAILS) *old = results[d];
  }
}

static void* work(void* context) {
  worker_t* w = context;
  for (uint32_t s = 0; s < SETS; ++s) {
    for (uint32_t d = 0; d < kSets[s].count; ++d) {
      w->values[s][d] = make(kSets[s].devices[d], (float)d);
    }
  }
  for (int i = 0; i < w->launches && !w->fault[0]; ++i) {
    launch(w, draw(w, SETS), (kind_t)draw(w, KINDS));
  }
  for (uint32_t s = 0; s < SETS; ++s) {
    for (uint32_t d = 0; d < kSets[s].count; ++d) hlo_buffer_release(w->values[s][d]);
  }
  return NULL;
}

static void launch_at_once(uint32_t worker_count, uint32_t launch_limit, bool is_slow,
                           int launches) {
  hlo_test_check(hlo_client_create(&(hlo_client_options_t){.device_count = DEVICES,
                                                           .thread_count = worker_count,
                                                           .launch_limit = launch_limit,
                                                           .is_slow = is_slow,
                                                           .slow = {.seed = 3, .delay = 2}},
                                   &g_client));
  for (uint32_t s = 0; s < SETS; ++s) {
    for (int k = 0; k < KINDS; ++k) g_loaded[s][k] = load(&kSets[s], (kind_t)k);
  }
  worker_t workers[THREADS] = {0};
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i].random = i;
    workers[i].launches = launches / THREADS;
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; ++i) assert_string_equal(workers[i].fault, "");
  for (uint32_t s = 0; s < SETS; ++s) {
    for (int k = 0; k < KINDS; ++k) hlo_loaded_release(g_loaded[s][k]);
  }
  hlo_client_release(g_client);
}

static int launch_count(void) {
  const char* text = getenv("HLO_STRESS_TEST_LAUNCHES");
  return text ? atoi(text) : LAUNCHES;
}

static void two_workers(void** state) {
  (void)state;
  launch_at_once(2, 0, false, launch_count());
}

static void one_worker_and_few_launches(void** state) {
  (void)state;
  launch_at_once(1, 2, false, launch_count() / 4);
}

static void slow_devices(void** state) {
  (void)state;
  launch_at_once(3, 4, true, launch_count() / 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_workers),
      cmocka_unit_test(one_worker_and_few_launches),
      cmocka_unit_test(slow_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
