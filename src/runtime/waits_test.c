// SPDX-License-Identifier: Apache-2.0
// Explanations of waits: values that nobody has provided, chains of launches, missing members of a
// collective, foreign functions, blocked threads; asked for by calls, a signal, and after a time.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ffi/future.h"
#include "ffi/test_util.h"
#include "runtime/test_util.h"
#include "runtime/waits.h"

enum { POLL_US = 1000, POLLS = 20000 };

// The text of the clients' log, under the lock.
typedef struct sink {
  pthread_mutex_t lock;
  char text[8192];
} sink_t;

static sink_t g_sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void keep_line(void* context, const hlo_log_record_t* record) {
  sink_t* sink = context;
  const size_t length = record->length;
  assert_int_equal(record->level, HLO_LOG_LEVEL_WARN);
  pthread_mutex_lock(&sink->lock);
  const size_t used = strlen(sink->text);
  if (used + length + 2 < sizeof sink->text) {
    memcpy(sink->text + used, record->message, length);
    memcpy(sink->text + used + length, "\n", 2);
  }
  pthread_mutex_unlock(&sink->lock);
}

static const hlo_observer_t kObserver = {
    .log = {.level = HLO_LOG_LEVEL_WARN, .sink = keep_line, .context = &g_sink}};

static hlo_client_t* create_client(uint32_t seconds, const char* signal) {
  g_sink.text[0] = 0;
  const hlo_client_options_t options = {.device_count = 2,
                                        .thread_count = 2,
                                        .observer = &kObserver,
                                        .explain_seconds = seconds,
                                        .explain_signal = signal};
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(&options, &client));
  return client;
}

static const int64_t kDims[1] = {4};
static const hlo_buffer_shape_t kShape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kDims};

static hlo_memory_t* memory_of(hlo_client_t* client, uint32_t device) {
  return &hlo_client_device(client, device)->memories[HLO_MEMORY_DEVICE];
}

static hlo_buffer_t* alias_on(hlo_client_t* client, uint32_t device) {
  hlo_buffer_t* alias = NULL;
  hlo_test_check(hlo_buffer_create_alias(memory_of(client, device), &kShape, &alias));
  return alias;
}

static void fail_alias(hlo_buffer_t* alias) {
  hlo_status_release(hlo_buffer_fulfill(alias, NULL, hlo_internal_error("no value")));
  hlo_buffer_release(alias);
}

static void launch(hlo_loaded_t* loaded, uint32_t count, hlo_buffer_t** arguments,
                   hlo_buffer_t** results) {
  hlo_buffer_t* const* rows[2] = {arguments, arguments + 1};
  hlo_buffer_t** result_rows[2] = {results, results + 1};
  const hlo_launch_t request = {.device_count = count,
                                .arguments = rows,
                                .argument_count = 1,
                                .call_location = "train.py:12",
                                .launch_id = 7,
                                .out_results = result_rows};
  hlo_test_check(hlo_loaded_execute(loaded, &request));
}

static void expect_text(const char* text, const char* part) {
  if (!strstr(text, part)) fail_msg("'%s' not in:\n%s", part, text);
}

// Waits until an explanation has the part.
static void expect_explained(hlo_client_t* client, const char* part) {
  for (int i = 0;; ++i) {
    HLO_SCOPED_STRBUF text = {0};
    hlo_client_explain_waits(client, 0, &text);
    if (strstr(hlo_strbuf_text(&text), part)) return;
    if (i == POLLS) fail_msg("'%s' not in:\n%s", part, hlo_strbuf_text(&text));
    usleep(POLL_US);
  }
}

static void expect_logged(const char* part) {
  bool is_found = false;
  for (int i = 0; i < POLLS && !is_found; ++i) {
    pthread_mutex_lock(&g_sink.lock);
    is_found = strstr(g_sink.text, part) != NULL;
    pthread_mutex_unlock(&g_sink.lock);
    if (!is_found) usleep(POLL_US);
  }
  if (!is_found) fail_msg("'%s' was not logged:\n%s", part, g_sink.text);
}

static void chains_of_launches(void** state) {
  (void)state;
  hlo_client_t* client = create_client(0, NULL);
  HLO_SCOPED_STRBUF nothing = {0};
  assert_int_equal(hlo_client_explain_waits(client, 0, &nothing), 0);
  assert_int_equal(nothing.length, 0);
  hlo_loaded_t* loaded = hlo_test_load(client, HLO_TEST_SINES("100000"), NULL, 1);
  hlo_buffer_t *alias = alias_on(client, 0), *first = NULL, *second = NULL;
  launch(loaded, 1, &alias, &first);
  launch(loaded, 1, &first, &second);
  HLO_SCOPED_STRBUF text = {0};
  assert_true(hlo_client_explain_waits(client, 0, &text) > 0);
  expect_text(
      hlo_strbuf_text(&text),
      "run 1 of main on device 0, for 0.0 s, launched at train.py:12: waits for argument 0: "
      "a value that the application has yet to provide");
  expect_text(hlo_strbuf_text(&text),
              "waits for argument 0: the result of run 1 of main on device 0");
  fail_alias(alias);
  hlo_buffer_release(first);
  hlo_buffer_release(second);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

// Replica 0 waits for replica 1, which never ends.
static const char kMissed[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %id = stablehlo.replica_id : tensor<ui32>\n"
    "  %zero = stablehlo.constant dense<0> : tensor<ui32>\n"
    "  %first = stablehlo.compare EQ, %id, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
    "  %0 = \"stablehlo.if\"(%first) ({\n"
    "    %1 = \"stablehlo.all_reduce\"(%x) ({\n"
    "    ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "      %s = stablehlo.add %a, %b : tensor<f32>\n"
    "      stablehlo.return %s : tensor<f32>\n"
    "    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xf32>) -> "
    "tensor<4xf32>\n"
    "    stablehlo.return %1 : tensor<4xf32>\n"
    "  }, {\n"
    "    %2 = stablehlo.while(%v = %x) : tensor<4xf32>\n"
    "    cond {\n"
    "      %c = stablehlo.constant dense<true> : tensor<i1>\n"
    "      stablehlo.return %c : tensor<i1>\n"
    "    } do {\n"
    "      %3 = stablehlo.add %v, %x : tensor<4xf32>\n"
    "      stablehlo.return %3 : tensor<4xf32>\n"
    "    }\n"
    "    stablehlo.return %2 : tensor<4xf32>\n"
    "  }) : (tensor<i1>) -> tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "}\n";

static void* await_result(void* context) {
  hlo_event_t* ready = hlo_buffer_ready_event(context);
  hlo_status_release(hlo_event_await(ready, UINT64_MAX));
  hlo_event_release(ready);
  return NULL;
}

// A launch of two replicas that never ends by itself, and a thread that waits for it.
typedef struct stuck {
  hlo_client_t* client;
  hlo_loaded_t* loaded;
  hlo_buffer_t *arguments[2], *results[2];
  pthread_t thread;
} stuck_t;

static void stuck_begin(stuck_t* stuck, hlo_client_t* client, const char* backend) {
  *stuck = (stuck_t){.client = client};
  stuck->loaded = hlo_test_load(client, kMissed, backend, 2);
  for (uint32_t d = 0; d < 2; ++d) {
    hlo_test_check(
        hlo_buffer_create_uninitialized(memory_of(client, d), &kShape, &stuck->arguments[d]));
  }
  launch(stuck->loaded, 2, stuck->arguments, stuck->results);
  pthread_create(&stuck->thread, NULL, await_result, stuck->results[0]);
}

static void stuck_end(stuck_t* stuck) {
  for (uint32_t d = 0; d < 2; ++d) {
    assert_true(
        hlo_launch_poison(hlo_client_device(stuck->client, d), 7, hlo_internal_error("end")));
  }
  pthread_join(stuck->thread, NULL);
  for (uint32_t d = 0; d < 2; ++d) {
    hlo_buffer_release(stuck->arguments[d]);
    hlo_buffer_release(stuck->results[d]);
  }
  hlo_loaded_release(stuck->loaded);
}

static const char kMissing[] = "stablehlo.all_reduce for replica 1 (1 of 2 have arrived)";

static void missing_members(void** state) {
  (void)state;
  static const char* const backends[] = {NULL, "interp"};
  for (int b = 0; b < 2; ++b) {
    hlo_client_t* client = create_client(0, NULL);
    stuck_t stuck;
    stuck_begin(&stuck, client, backends[b]);
    expect_explained(client, kMissing);
    expect_explained(client, "run 1 of main, replica 0 on device 0");
    expect_explained(client, "test.mlir:6:");
    expect_explained(client, "s for run 1 of main, replica 0 on device 0\n");  // the thread
    stuck_end(&stuck);
    hlo_client_release(client);
  }
}

// Nobody sends.
static const char kReceived[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %t = stablehlo.create_token : !stablehlo.token\n"
    "  %0:2 = \"stablehlo.recv\"(%t) {channel_handle = #stablehlo.channel_handle<handle = 5, "
    "type = 1>, is_host_transfer = false, source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>} "
    ": (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)\n"
    "  return %0#0 : tensor<4xf32>\n"
    "}\n";

static void senders_that_are_missing(void** state) {
  (void)state;
  hlo_client_t* client = create_client(0, NULL);
  hlo_loaded_t* loaded = hlo_test_load(client, kReceived, NULL, 2);
  hlo_buffer_t *arguments[2], *results[2];
  for (uint32_t d = 0; d < 2; ++d) {
    hlo_test_check(hlo_buffer_create_uninitialized(memory_of(client, d), &kShape, &arguments[d]));
  }
  launch(loaded, 2, arguments, results);
  hlo_event_t* ready = hlo_buffer_ready_event(results[0]);
  hlo_status_t status = hlo_event_await(ready, UINT64_MAX);
  expect_text(hlo_status_message(status), "stablehlo.recv, channel 5, for replica 1");
  hlo_status_release(status);
  hlo_event_release(ready);
  for (uint32_t d = 0; d < 2; ++d) {
    await_result(results[d]);
    hlo_buffer_release(arguments[d]);
    hlo_buffer_release(results[d]);
  }
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

static XLA_FFI_Future* g_future;

HANDLER(returns_future) {
  g_future = frame->future = hlo_ffi_future_create();
  return NULL;
}

static void foreign_functions(void** state) {
  (void)state;
  hlo_ffi_test_add(NULL, "answers_later", returns_future);
  hlo_client_t* client = create_client(0, NULL);
  hlo_loaded_t* loaded = hlo_test_load(
      client,
      "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
      "  %0 = stablehlo.custom_call @answers_later(%x) {api_version = 4 : i32, backend_config = {}}"
      " : (tensor<4xf32>) -> tensor<4xf32>\n"
      "  return %0 : tensor<4xf32>\n"
      "}\n",
      NULL, 1);
  hlo_buffer_t *argument = NULL, *result = NULL;
  hlo_test_check(hlo_buffer_create_uninitialized(memory_of(client, 0), &kShape, &argument));
  launch(loaded, 1, &argument, &result);
  expect_explained(client,
                   "waits for the future of foreign function answers_later of test.mlir:2:");
  hlo_ffi_future_set(g_future, hlo_ok());
  await_result(result);
  hlo_buffer_release(argument);
  hlo_buffer_release(result);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

static void signals_ask(void** state) {
  (void)state;
  hlo_client_t* client = create_client(0, "USR1");
  raise(SIGUSR1);
  expect_logged("nothing is in flight");
  stuck_t stuck;
  stuck_begin(&stuck, client, NULL);
  expect_explained(client, kMissing);
  raise(SIGUSR1);
  expect_logged(kMissing);
  stuck_end(&stuck);
  hlo_client_release(client);
}

// Also a short program that waits for its input.
static void long_waits_are_logged(void** state) {
  (void)state;
  hlo_client_t* client = create_client(1, NULL);
  hlo_loaded_t* loaded = hlo_test_load(client,
                                       "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                                       "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n"
                                       "  return %0 : tensor<4xf32>\n"
                                       "}\n",
                                       NULL, 1);
  hlo_buffer_t *alias = alias_on(client, 0), *result = NULL;
  hlo_buffer_t* const* rows[1] = {&alias};
  hlo_buffer_t** result_rows[1] = {&result};
  const hlo_launch_t request = {
      .device_count = 1, .arguments = rows, .argument_count = 1, .out_results = result_rows};
  hlo_test_check(hlo_loaded_execute(loaded, &request));
  expect_logged("run 1 of main on device 0, for 1.");
  expect_logged("a value that the application has yet to provide");
  fail_alias(alias);
  hlo_buffer_release(result);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

static void unknown_signals_are_refused(void** state) {
  (void)state;
  const hlo_client_options_t options = {.device_count = 1, .explain_signal = "KILL"};
  hlo_client_t* client = NULL;
  hlo_status_t status = hlo_client_create(&options, &client);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  expect_text(hlo_status_message(status), "\"KILL\"");
  hlo_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_of_launches),
      cmocka_unit_test(missing_members),
      cmocka_unit_test(senders_that_are_missing),
      cmocka_unit_test(foreign_functions),
      cmocka_unit_test(signals_ask),
      cmocka_unit_test(long_waits_are_logged),
      cmocka_unit_test(unknown_signals_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
