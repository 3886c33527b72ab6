// SPDX-License-Identifier: Apache-2.0
// Endless launches are stopped by poison and by the release of their client.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_util.h"
#include "runtime/executable.h"
#include "runtime/test_util.h"

enum { DEVICES = 2, COUNT = 4 };

static const char* const kBackends[] = {"native", "interp"};

// Counts to a bound that it never reaches.
static const char kEndless[] =
    "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.while(%v = %x) : tensor<4xf32>\n"
    "  cond {\n"
    "    %c = stablehlo.constant dense<true> : tensor<i1>\n"
    "    stablehlo.return %c : tensor<i1>\n"
    "  } do {\n"
    "    %1 = stablehlo.add %v, %x : tensor<4xf32>\n"
    "    stablehlo.return %1 : tensor<4xf32>\n"
    "  }\n"
    "  return %0 : tensor<4xf32>\n"
    "}\n";

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

// A launch in flight.
typedef struct fixture {
  hlo_client_t* client;
  hlo_buffer_t* arguments[DEVICES];
  hlo_buffer_t* results[DEVICES];
} fixture_t;

static void create_client(uint32_t thread_count, fixture_t* f) {
  *f = (fixture_t){0};
  hlo_test_check(hlo_client_create(
      &(hlo_client_options_t){.device_count = DEVICES, .thread_count = thread_count}, &f->client));
}

static void launch(const char* text, const char* backend, uint32_t device_count, int32_t launch_id,
                   fixture_t* f) {
  const int64_t dims[] = {COUNT};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = dims};
  const float values[COUNT] = {1, 2, 3, 4};
  hlo_buffer_t* const* argument_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  for (uint32_t d = 0; d < device_count; ++d) {
    hlo_memory_t* memory = &hlo_client_device(f->client, d)->memories[HLO_MEMORY_DEVICE];
    hlo_test_check(hlo_buffer_from_host(
        memory, &shape, values, NULL, HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &f->arguments[d]));
    argument_rows[d] = &f->arguments[d];
    result_rows[d] = &f->results[d];
  }
  hlo_loaded_t* loaded = hlo_test_load(f->client, text, backend, (int32_t)device_count);
  hlo_test_check(hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = device_count,
                                                            .arguments = argument_rows,
                                                            .argument_count = 1,
                                                            .launch_id = launch_id,
                                                            .out_results = result_rows}));
  hlo_loaded_release(loaded);
}

static void start(const char* text, const char* backend, uint32_t device_count, int32_t launch_id,
                  fixture_t* f) {
  create_client(device_count, f);
  launch(text, backend, device_count, launch_id, f);
}

// The release of the client waits for launches in flight.
static void finish(fixture_t* f) {
  for (uint32_t d = 0; d < DEVICES; ++d) {
    hlo_buffer_release(f->arguments[d]);
    hlo_buffer_release(f->results[d]);
  }
  hlo_client_release(f->client);
}

static void expect_error(const fixture_t* f, uint32_t device, hlo_status_code_t code,
                         const char* words) {
  hlo_event_t* ready = hlo_buffer_ready_event(f->results[device]);
  hlo_status_t status = hlo_event_await(ready, UINT64_MAX);
  assert_int_equal(hlo_status_code(status), code);
  assert_non_null(strstr(hlo_status_message(status), words));
  hlo_status_release(status);
  hlo_event_release(ready);
}

static bool poison(const fixture_t* f, uint32_t device, int32_t launch_id) {
  return hlo_launch_poison(hlo_client_device(f->client, device), launch_id,
                           hlo_status_create(HLO_STATUS_ABORTED, "device %u is gone", device));
}

static void clients_stop_what_nobody_sees(void** state) {
  (void)state;
  for (size_t b = 0; b < sizeof kBackends / sizeof *kBackends; ++b) {
    fixture_t f;
    start(kEndless, kBackends[b], 1, 0, &f);
    hlo_event_t* ready = hlo_buffer_ready_event(f.results[0]);
    finish(&f);
    assert_int_equal(hlo_status_code(hlo_event_error(ready)), HLO_STATUS_CANCELLED);
    hlo_event_release(ready);
    start(kMissed, kBackends[b], DEVICES, 0, &f);
    finish(&f);
  }
}

// A copy to the host still needs the result.
static void clients_wait_for_what_is_seen(void** state) {
  (void)state;
  fixture_t f;
  float got[COUNT] = {0};
  hlo_event_t* copied = NULL;
  start(HLO_TEST_SINES("100000"), "native", 1, 0, &f);
  hlo_test_check(hlo_buffer_to_host(f.results[0], got, sizeof got, NULL, &copied));
  finish(&f);
  hlo_test_check(hlo_event_await(copied, 0));
  assert_true(got[0] > 0 && got[0] < 0.1F);
  hlo_event_release(copied);
}

static void poison_ends_a_launch(void** state) {
  (void)state;
  for (size_t b = 0; b < sizeof kBackends / sizeof *kBackends; ++b) {
    fixture_t f;
    start(kEndless, kBackends[b], 1, 7, &f);
    assert_false(poison(&f, 0, 8));
    assert_false(poison(&f, 1, 7));
    assert_true(poison(&f, 0, 7));
    expect_error(&f, 0, HLO_STATUS_ABORTED, "device 0 is gone");
    assert_false(poison(&f, 0, 7));
    finish(&f);
  }
}

static void poison_releases_who_waits(void** state) {
  (void)state;
  for (size_t b = 0; b < sizeof kBackends / sizeof *kBackends; ++b) {
    fixture_t f;
    start(kMissed, kBackends[b], DEVICES, 7, &f);
    assert_true(poison(&f, 0, 7));
    expect_error(&f, 0, HLO_STATUS_ABORTED, "device 0 is gone");
    assert_true(poison(&f, 1, 7));
    expect_error(&f, 1, HLO_STATUS_ABORTED, "device 1 is gone");
    finish(&f);
  }
}

// ---- released in callbacks

// Releases the client of a launch and all its objects.
typedef struct departure {
  fixture_t f;
  hlo_event_waiter_t waiter;
  hlo_gate_t gone;
} departure_t;

static void note_gone(void* context) {
  hlo_gate_open(context);
}

static void release_all(void* context, hlo_status_t status) {
  (void)status;
  departure_t* departure = context;
  for (uint32_t d = 0; d < DEVICES; ++d) {
    hlo_buffer_release(departure->f.arguments[d]);
    hlo_buffer_release(departure->f.results[d]);
  }
  hlo_client_release_then(departure->f.client, note_gone, &departure->gone);
}

static void await_departure(departure_t* departure) {
  assert_true(hlo_gate_await(&departure->gone, 60ull * 1000 * 1000 * 1000));
}

// On the client's only worker, which ends the launch; a copy that others wait for continues.
static void clients_are_released_on_their_worker(void** state) {
  (void)state;
  departure_t departure = {0};
  float got[COUNT] = {0};
  hlo_event_t* copied = NULL;
  hlo_test_hold_t hold;
  create_client(1, &departure.f);
  hlo_test_hold_worker(hlo_client_pool(departure.f.client), &hold);
  launch(HLO_TEST_SINES("100000"), "native", 1, 0, &departure.f);
  hlo_event_t* ready = hlo_buffer_ready_event(departure.f.results[0]);
  hlo_event_on_ready(ready, &departure.waiter, release_all, &departure);
  hlo_test_check(hlo_buffer_to_host(departure.f.results[0], got, sizeof got, NULL, &copied));
  hlo_gate_open(&hold.gate);
  await_departure(&departure);
  hlo_test_check(hlo_event_await(copied, 0));
  assert_true(got[0] > 0 && got[0] < 0.1F);
  hlo_event_release(copied);
  hlo_event_release(ready);
}

// On the thread that copies and sets the event.
static void clients_are_released_in_callbacks_of_copies(void** state) {
  (void)state;
  departure_t departure = {0};
  hlo_memory_t* memory;
  hlo_buffer_t* alias;
  float got[COUNT] = {0};
  hlo_event_t* copied = NULL;
  hlo_test_check(
      hlo_client_create(&(hlo_client_options_t){.thread_count = 1}, &departure.f.client));
  memory = &hlo_client_device(departure.f.client, 0)->memories[HLO_MEMORY_DEVICE];
  const int64_t dims[] = {COUNT};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = dims};
  const float values[COUNT] = {1, 2, 3, 4};
  hlo_test_check(hlo_buffer_create_alias(memory, &shape, &alias));
  hlo_test_check(hlo_buffer_from_host(memory, &shape, values, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL,
                                      &departure.f.arguments[0]));
  hlo_test_check(hlo_buffer_to_host(alias, got, sizeof got, NULL, &copied));
  hlo_event_on_ready(copied, &departure.waiter, release_all, &departure);
  departure.f.results[0] = alias;
  hlo_test_check(hlo_buffer_fulfill(alias, departure.f.arguments[0], hlo_ok()));
  await_departure(&departure);
  assert_true(got[3] == 4);
  hlo_event_release(copied);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clients_stop_what_nobody_sees),
      cmocka_unit_test(clients_wait_for_what_is_seen),
      cmocka_unit_test(poison_ends_a_launch),
      cmocka_unit_test(poison_releases_who_waits),
      cmocka_unit_test(clients_are_released_on_their_worker),
      cmocka_unit_test(clients_are_released_in_callbacks_of_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
