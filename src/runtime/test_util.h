// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of runtime.
#pragma once

#include <pthread.h>
#include <string.h>

#include "base/test_util.h"
#include "base/threads.h"
#include "runtime/executable.h"

enum { HLO_TEST_SMALL_STACK_BYTES = 256 << 10 };

/// Runs a test on a thread with a small stack, where code whose recursion depth depends on data
/// crashes.
static inline void hlo_test_on_small_stack(void* (*test)(void*), void* context) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, HLO_TEST_SMALL_STACK_BYTES);
  if (pthread_create(&thread, &attributes, test, context) == 0) pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
}

/// Compiles a program and loads it on the first devices of a client; `backend` NULL: the default.
static inline hlo_loaded_t* hlo_test_load(hlo_client_t* client, const char* text,
                                          const char* backend, int32_t replica_count) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  if (backend) config.backend = backend;
  config.replica_count = replica_count;
  hlo_executable_t* executable = NULL;
  hlo_loaded_t* loaded = NULL;
  hlo_test_check(hlo_compile(text, strlen(text), "test.mlir", &config, NULL, 0, NULL, &executable));
  hlo_test_check(hlo_loaded_create(client, executable, 0, NULL, &loaded));
  hlo_executable_release(executable);
  return loaded;
}

/// A job that blocks a worker until the gate opens.
typedef struct hlo_test_hold {
  hlo_job_t job;
  hlo_gate_t gate;
} hlo_test_hold_t;

static inline void hlo_test_await_gate(hlo_job_t* job) {
  hlo_gate_await(&((hlo_test_hold_t*)job)->gate, UINT64_MAX);
}

static inline void hlo_test_hold_worker(hlo_pool_t* pool, hlo_test_hold_t* hold) {
  *hold = (hlo_test_hold_t){.job.run = hlo_test_await_gate};
  hlo_pool_submit(pool, &hold->job);
}

/// The sine of four elements, applied `times` (a string) times: slow enough to be observed while
/// running.
#define HLO_TEST_SINES(times)                                                    \
  "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"                      \
  "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"                        \
  "  %many = stablehlo.constant dense<" times                                    \
  "> : tensor<i32>\n"                                                            \
  "  %one = stablehlo.constant dense<1> : tensor<i32>\n"                         \
  "  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>\n" \
  "  cond {\n"                                                                   \
  "    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> "    \
  "tensor<i1>\n"                                                                 \
  "    stablehlo.return %c : tensor<i1>\n"                                       \
  "  } do {\n"                                                                   \
  "    %1 = stablehlo.add %i, %one : tensor<i32>\n"                              \
  "    %2 = stablehlo.sine %v : tensor<4xf32>\n"                                 \
  "    stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>\n"                   \
  "  }\n"                                                                        \
  "  return %0#1 : tensor<4xf32>\n"                                              \
  "}\n"
