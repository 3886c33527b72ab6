// SPDX-License-Identifier: Apache-2.0
// Collectives whose members do not come: at each collective, every device gets an error that names
// what is missing, and the client goes on.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ffi/test_util.h"
#include "runtime/flight.h"
#include "runtime/test_util.h"
#include "runtime/waits.h"

enum { DEVICES = 8, LATE = 5, COUNT = 8, POLL_US = 1000, POLLS = 20000 };

static const uint64_t kSoon = 20u * 1000 * 1000;  // ns

// ---- programs ----------------------------------------------------------------------------------

#define X "tensor<8xf32>"
#define ALL "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>"
#define RING \
  "dense<[[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 7], [7, 0]]> : tensor<8x2xi64>"
#define ADD                                        \
  "({\n ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n" \
  "  %s = stablehlo.add %a, %b : tensor<f32>\n  stablehlo.return %s : tensor<f32>\n })"
#define SUM(out, in) \
  "  " out " = \"stablehlo.all_reduce\"(" in ") " ADD " {" ALL "} : (" X ") -> " X "\n"
#define PROGRAM(result, body) \
  "func.func @main(%x: " X ") -> " result " {\n" body "  return %0 : " result "\n}\n"

typedef struct program {
  const char *op, *text;
} program_t;

static const program_t kCollectives[] = {
    {"stablehlo.all_reduce", PROGRAM(X, SUM("%0", "%x"))},
    // Machine code gathers the operands.
    {"test.mlir:2:8: stablehlo.all_",
     PROGRAM(X,
             "  %0 = \"stablehlo.all_reduce\"(%x) ({\n ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
             "  %m = stablehlo.maximum %a, %b : tensor<f32>\n"
             "  %s = stablehlo.add %m, %b : tensor<f32>\n"
             "  stablehlo.return %s : tensor<f32>\n }) {" ALL "} : (" X ") -> " X "\n")},
    {"stablehlo.all_gather",
     PROGRAM("tensor<64xf32>", "  %0 = \"stablehlo.all_gather\"(%x) {all_gather_dim = 0 : i64, " ALL
                               "} : (" X ") -> tensor<64xf32>\n")},
    {"stablehlo.reduce_scatter",
     PROGRAM("tensor<1xf32>",
             "  %0 = \"stablehlo.reduce_scatter\"(%x) " ADD " {scatter_dimension = 0 : i64, " ALL
             "} : (" X ") -> tensor<1xf32>\n")},
    {"stablehlo.all_to_all",
     PROGRAM(X,
             "  %0 = \"stablehlo.all_to_all\"(%x) {split_dimension = 0 : i64, concat_dimension = "
             "0 : i64, split_count = 8 : i64, " ALL "} : (" X ") -> " X "\n")},
    {"stablehlo.collective_permute",
     PROGRAM(X, "  %0 = \"stablehlo.collective_permute\"(%x) {source_target_pairs = " RING "} : (" X
                ") -> " X "\n")},
    {"stablehlo.collective_broadcast",
     PROGRAM(X, "  %0 = \"stablehlo.collective_broadcast\"(%x) {" ALL "} : (" X ") -> " X "\n")},
    {"hlo.ragged_all_to_all",
     PROGRAM(X,
             "  %i = stablehlo.iota dim = 0 : tensor<8xi32>\n"
             "  %z = stablehlo.constant dense<0> : tensor<8xi32>\n"
             "  %0 = \"hlo.ragged_all_to_all\"(%x, %x, %i, %z, %i, %z) {" ALL "} : (" X ", " X
             ", tensor<8xi32>, tensor<8xi32>, tensor<8xi32>, tensor<8xi32>) -> " X "\n")},
    {"recv, channel 3",
     PROGRAM(X,
             "  %t = stablehlo.after_all : !stablehlo.token\n"
             "  %u = \"stablehlo.send\"(%x, %t) {channel_handle = #stablehlo.channel_handle<"
             "handle = 3, type = 1>, is_host_transfer = false, source_target_pairs = " RING
             "} : (" X ", !stablehlo.token) -> !stablehlo.token\n"
             "  %0, %v = \"stablehlo.recv\"(%u) {channel_handle = #stablehlo.channel_handle<"
             "handle = 3, type = 1>, is_host_transfer = false, source_target_pairs = " RING
             "} : (!stablehlo.token) -> (" X ", !stablehlo.token)\n")},
};
enum { COLLECTIVES = sizeof kCollectives / sizeof *kCollectives };

// Device 5 leaves out the collective, or takes part in another one.
#define BRANCH(other)                                                                  \
  PROGRAM(X,                                                                           \
          "  %id = stablehlo.replica_id : tensor<ui32>\n"                              \
          "  %five = stablehlo.constant dense<5> : tensor<ui32>\n"                     \
          "  %c = stablehlo.compare NE, %id, %five : (tensor<ui32>, tensor<ui32>) -> " \
          "tensor<i1>\n  %0 = \"stablehlo.if\"(%c) ({\n" SUM(                          \
              "%1", "%x") "    stablehlo.return %1 : " X "\n  }, {\n" other            \
                          "  }) : (tensor<i1>) -> " X "\n")
static const char kLeftOut[] = BRANCH("    stablehlo.return %x : " X "\n");
static const char kCrossed[] = BRANCH(SUM("%2", "%x") "    stablehlo.return %2 : " X "\n");
static const char kEndless[] =
    BRANCH("    %3 = stablehlo.while(%v = %x) : " X
           "\n    cond {\n"
           "      %t = stablehlo.constant dense<true> : tensor<i1>\n"
           "      stablehlo.return %t : tensor<i1>\n    } do {\n"
           "      %4 = stablehlo.add %v, %x : " X "\n      stablehlo.return %4 : " X
           "\n    }\n"
           "    stablehlo.return %3 : " X "\n");

// ---- launches ----------------------------------------------------------------------------------

typedef struct sink {
  pthread_mutex_t lock;
  char text[8192];
} sink_t;

static sink_t g_sink = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void keep_line(void* context, const hlo_log_record_t* record) {
  sink_t* sink = context;
  pthread_mutex_lock(&sink->lock);
  const size_t used = strlen(sink->text);
  if (used + record->length + 2 < sizeof sink->text) {
    memcpy(sink->text + used, record->message, record->length);
    memcpy(sink->text + used + record->length, "\n", 2);
  }
  pthread_mutex_unlock(&sink->lock);
}

static const hlo_observer_t kObserver = {
    .log = {.level = HLO_LOG_LEVEL_WARN, .sink = keep_line, .context = &g_sink}};

static hlo_client_t* create_client(uint32_t thread_count, uint64_t fail_ns, bool is_slow) {
  g_sink.text[0] = 0;
  const hlo_client_options_t options = {.device_count = DEVICES,
                                        .thread_count = thread_count,
                                        .observer = &kObserver,
                                        .stall_warn_ns = fail_ns / 2,
                                        .stall_fail_ns = fail_ns,
                                        .is_slow = is_slow,
                                        .slow = {.seed = 7, .delay = 3}};
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(&options, &client));
  return client;
}

static const int64_t kDims[1] = {COUNT};
static const hlo_buffer_shape_t kShape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kDims};

static hlo_memory_t* memory_of(hlo_client_t* client, uint32_t device) {
  return &hlo_client_device(client, device)->memories[HLO_MEMORY_DEVICE];
}

static hlo_buffer_t* make_input(hlo_client_t* client, uint32_t device) {
  float values[COUNT];
  for (int i = 0; i < COUNT; ++i) values[i] = (float)(device + 1);
  hlo_buffer_t* buffer = NULL;
  hlo_test_check(hlo_buffer_from_host(memory_of(client, device), &kShape, values, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

typedef struct launch {
  hlo_client_t* client;
  hlo_buffer_t *arguments[DEVICES], *results[DEVICES];
} launch_t;

// `late`: the argument of device 5, taken; NULL: a value.
static hlo_status_t try_start(hlo_client_t* client, hlo_loaded_t* loaded, hlo_buffer_t* late,
                              launch_t* launch) {
  hlo_buffer_t* const* argument_rows[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  *launch = (launch_t){.client = client};
  for (uint32_t d = 0; d < DEVICES; ++d) {
    launch->arguments[d] = late && d == LATE ? late : make_input(client, d);
    argument_rows[d] = &launch->arguments[d];
    result_rows[d] = &launch->results[d];
  }
  return hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = DEVICES,
                                                    .arguments = argument_rows,
                                                    .argument_count = 1,
                                                    .launch_id = 7,
                                                    .out_results = result_rows});
}

static void start(hlo_client_t* client, hlo_loaded_t* loaded, hlo_buffer_t* late,
                  launch_t* launch) {
  hlo_test_check(try_start(client, loaded, late, launch));
}

static void release_launch(launch_t* launch) {
  for (uint32_t d = 0; d < DEVICES; ++d) {
    hlo_buffer_release(launch->arguments[d]);
    hlo_buffer_release(launch->results[d]);
  }
}

static hlo_status_t await(hlo_buffer_t* result) {
  hlo_event_t* ready = hlo_buffer_ready_event(result);
  hlo_status_t status = hlo_event_await(ready, UINT64_MAX);
  hlo_event_release(ready);
  return status;
}

static void expect_error(hlo_buffer_t* result, hlo_status_code_t code, const char* part,
                         const char* other) {
  hlo_status_t status = await(result);
  const char* message = hlo_status_message(status);
  if (hlo_status_code(status) != code || !strstr(message, part) || !strstr(message, other)) {
    fail_msg("expected '%s' and '%s' with code %d, got %d: '%s'", part, other, (int)code,
             (int)hlo_status_code(status), message);
  }
  hlo_status_release(status);
}

static void expect_errors(const launch_t* launch, hlo_status_code_t code, const char* part,
                          const char* other) {
  for (uint32_t d = 0; d < DEVICES; ++d) expect_error(launch->results[d], code, part, other);
}

// The client computes a sum over all devices.
static void expect_usable(hlo_client_t* client, const char* backend) {
  hlo_loaded_t* loaded = hlo_test_load(client, kCollectives[0].text, backend, DEVICES);
  launch_t launch;
  start(client, loaded, NULL, &launch);
  for (uint32_t d = 0; d < DEVICES; ++d) {
    float got[COUNT];
    hlo_event_t* copied = NULL;
    hlo_test_check(hlo_buffer_to_host(launch.results[d], got, sizeof got, NULL, &copied));
    hlo_test_check(hlo_event_await(copied, UINT64_MAX));
    hlo_event_release(copied);
    assert_true(got[0] == DEVICES * (DEVICES + 1) / 2);
  }
  release_launch(&launch);
  hlo_loaded_release(loaded);
}

static const char* const kBackends[] = {"native", "interp"};
enum { BACKENDS = sizeof kBackends / sizeof *kBackends };

// ---- tests -------------------------------------------------------------------------------------

// A collective may name its transport; the default one does the work of others, with a warning.
static void transports_that_are_missing(void** state) {
  (void)state;
  static const char* const names[] = {"local", "default", "nvshmem"};
  for (uint32_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "func.func @main(%%x: tensor<8xf32>) -> tensor<8xf32> {\n"
        "  %%y = \"stablehlo.collective_permute\"(%%x) {source_target_pairs = dense<[[0, 1]]> : "
        "tensor<1x2xi64>, hlocc.collective_backend = \"%s\"} : (tensor<8xf32>) -> "
        "tensor<8xf32>\n  return %%y : tensor<8xf32>\n}\n",
        names[i]);
    hlo_client_t* client = create_client(2, kSoon, false);
    hlo_loaded_t* loaded = hlo_test_load(client, text, "native", DEVICES);
    assert_int_equal(strstr(g_sink.text, "transport 'nvshmem' is not available") != NULL, i == 2);
    assert_int_equal(strstr(g_sink.text, "stablehlo.collective_permute") != NULL, i == 2);
    launch_t launch;
    start(client, loaded, NULL, &launch);
    for (uint32_t d = 0; d < DEVICES; ++d) hlo_test_check(await(launch.results[d]));
    release_launch(&launch);
    hlo_loaded_release(loaded);
    hlo_client_release(client);
  }
}

// The argument of device 5 never gets a value.
static void values_that_never_come(bool is_slow) {
  for (uint32_t b = 0; b < BACKENDS; ++b) {
    for (uint32_t p = 0; p < COLLECTIVES; ++p) {
      hlo_client_t* client = create_client(1 + p % 3, kSoon, is_slow);
      hlo_loaded_t* loaded = hlo_test_load(client, kCollectives[p].text, kBackends[b], DEVICES);
      hlo_buffer_t* alias = NULL;
      hlo_test_check(hlo_buffer_create_alias(memory_of(client, LATE), &kShape, &alias));
      launch_t launch;
      start(client, loaded, alias, &launch);
      const uint32_t shown = 6;  // waits for device 5 in all programs
      expect_error(launch.results[shown], HLO_STATUS_DEADLINE_EXCEEDED, kCollectives[p].op,
                   "replica 5 on device 5 waits for argument 0: a value that the application has "
                   "yet to provide");
      expect_error(launch.results[LATE], HLO_STATUS_DEADLINE_EXCEEDED, kCollectives[p].op,
                   "run 1 of main");
      hlo_status_release(hlo_buffer_fulfill(alias, NULL, hlo_internal_error("late")));
      for (uint32_t d = 0; d < DEVICES; ++d) hlo_status_release(await(launch.results[d]));
      release_launch(&launch);
      expect_usable(client, kBackends[b]);
      hlo_loaded_release(loaded);
      hlo_client_release(client);
    }
  }
}

static void values_never_come(void** state) {
  (void)state;
  values_that_never_come(false);
}

static void values_never_come_to_slow_devices(void** state) {
  (void)state;
  values_that_never_come(true);
}

// Device 5 waits for the result of another launch, which waits for a value.
static void launches_wait_for_launches(void** state) {
  (void)state;
  hlo_client_t* client = create_client(2, kSoon, false);
  hlo_loaded_t* loaded = hlo_test_load(client, kCollectives[0].text, NULL, DEVICES);
  hlo_loaded_t* first =
      hlo_test_load(client, PROGRAM(X, "  %0 = stablehlo.sine %x : " X "\n"), "interp", 1);
  hlo_buffer_t *alias = NULL, *made = NULL;
  hlo_test_check(hlo_buffer_create_alias(memory_of(client, LATE), &kShape, &alias));
  hlo_buffer_t* const* rows[1] = {&alias};
  hlo_buffer_t** result_rows[1] = {&made};
  hlo_test_check(
      hlo_loaded_execute(first, &(hlo_launch_t){.device_count = 1,
                                                .device = hlo_client_device(client, LATE),
                                                .arguments = rows,
                                                .argument_count = 1,
                                                .out_results = result_rows}));
  launch_t launch;
  start(client, loaded, made, &launch);
  expect_errors(&launch, HLO_STATUS_DEADLINE_EXCEEDED, "7 of 8 members have arrived",
                "replica 5 on device 5 waits for argument 0");
  hlo_status_release(hlo_buffer_fulfill(alias, NULL, hlo_internal_error("late")));
  release_launch(&launch);
  hlo_buffer_release(alias);
  expect_usable(client, NULL);
  hlo_loaded_release(first);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

static hlo_gate_t g_gate;
static atomic_uint g_calls;

// The first call stays until the gate opens.
HANDLER(one_stays) {
  (void)frame;
  if (atomic_fetch_add(&g_calls, 1) == 0) hlo_gate_await(&g_gate, UINT64_MAX);
  return NULL;
}

static void foreign_functions_that_stay(void** state) {
  (void)state;
  hlo_ffi_test_add(NULL, "one_stays", one_stays);
  g_gate = (hlo_gate_t){0};
  hlo_client_t* client = create_client(2, kSoon, false);
  hlo_loaded_t* loaded =
      hlo_test_load(client,
                    PROGRAM(X,
                            "  %1 = stablehlo.custom_call @one_stays(%x) {api_version = 4 : i32, "
                            "backend_config = {}} : (" X ") -> " X "\n" SUM("%0", "%1")),
                    NULL, DEVICES);
  launch_t launch;
  start(client, loaded, NULL, &launch);
  expect_errors(&launch, HLO_STATUS_DEADLINE_EXCEEDED,
                "is in foreign function one_stays of test.mlir", "7 of 8 members have arrived");
  expect_usable(client, NULL);
  hlo_gate_open(&g_gate);
  release_launch(&launch);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

// A device that computes has ten times as long, and is stopped then.
static void devices_that_compute_for_ever(void** state) {
  (void)state;
  hlo_client_t* client = create_client(2, kSoon / 4, false);
  hlo_loaded_t* loaded = hlo_test_load(client, kEndless, NULL, DEVICES);
  launch_t launch;
  start(client, loaded, NULL, &launch);
  expect_errors(&launch, HLO_STATUS_DEADLINE_EXCEEDED, "missing: replica 5 on device 5 is running",
                "stablehlo.all_reduce");
  expect_usable(client, NULL);
  release_launch(&launch);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

// Without a timeout: such waits are known to be endless.
static void devices_that_leave_out_a_collective(void** state) {
  (void)state;
  for (uint32_t b = 0; b < BACKENDS; ++b) {
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
      hlo_client_t* client = create_client(threads, 0, false);
      hlo_loaded_t* loaded = hlo_test_load(client, kLeftOut, kBackends[b], DEVICES);
      launch_t launch;
      start(client, loaded, NULL, &launch);
      for (uint32_t d = 0; d < DEVICES; ++d) {
        if (d == LATE) continue;
        expect_error(launch.results[d], HLO_STATUS_FAILED_PRECONDITION, "has ended",
                     "stablehlo.all_reduce for replica 5");
      }
      hlo_test_check(await(launch.results[LATE]));
      release_launch(&launch);
      expect_usable(client, kBackends[b]);
      hlo_loaded_release(loaded);
      hlo_client_release(client);
    }
  }
}

static void devices_that_wait_crosswise(void** state) {
  (void)state;
  for (uint32_t b = 0; b < BACKENDS; ++b) {
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
      hlo_client_t* client = create_client(threads, 0, false);
      hlo_loaded_t* loaded = hlo_test_load(client, kCrossed, kBackends[b], DEVICES);
      launch_t launch;
      start(client, loaded, NULL, &launch);
      expect_errors(&launch, HLO_STATUS_FAILED_PRECONDITION, "every device waits",
                    "replica 5 on device 5 waits in test.mlir:");
      release_launch(&launch);
      expect_usable(client, kBackends[b]);
      hlo_loaded_release(loaded);
      hlo_client_release(client);
    }
  }
}

// Only logged: the timeout is far away.
static void waits_are_logged(void** state) {
  (void)state;
  g_sink.text[0] = 0;
  const hlo_client_options_t options = {
      .device_count = DEVICES, .thread_count = 2, .observer = &kObserver, .stall_warn_ns = kSoon};
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(&options, &client));
  hlo_loaded_t* loaded = hlo_test_load(client, kCollectives[0].text, NULL, DEVICES);
  hlo_buffer_t* alias = NULL;
  hlo_test_check(hlo_buffer_create_alias(memory_of(client, LATE), &kShape, &alias));
  launch_t launch;
  start(client, loaded, alias, &launch);
  bool is_found = false;
  for (int i = 0; i < POLLS && !is_found; ++i) {
    usleep(POLL_US);
    pthread_mutex_lock(&g_sink.lock);
    is_found = strstr(g_sink.text, "missing: replica 5 on device 5 waits for argument 0") != NULL;
    pthread_mutex_unlock(&g_sink.lock);
  }
  assert_true(is_found);
  hlo_buffer_t* value = make_input(client, LATE);
  hlo_test_check(hlo_buffer_fulfill(alias, value, hlo_ok()));
  hlo_buffer_release(value);
  for (uint32_t d = 0; d < DEVICES; ++d) hlo_test_check(await(launch.results[d]));
  release_launch(&launch);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

// A member that is cancelled, or fails, while others wait for it.
static void members_that_are_cancelled(void** state) {
  (void)state;
  for (uint32_t b = 0; b < BACKENDS; ++b) {
    for (uint32_t p = 0; p < COLLECTIVES; ++p) {
      hlo_client_t* client = create_client(2, 0, p % 2);
      hlo_loaded_t* loaded = hlo_test_load(client, kCollectives[p].text, kBackends[b], DEVICES);
      hlo_buffer_t* alias = NULL;
      hlo_test_check(hlo_buffer_create_alias(memory_of(client, LATE), &kShape, &alias));
      launch_t launch;
      start(client, loaded, alias, &launch);
      const bool fails = (b + p) % 2;
      if (!fails) {
        assert_true(hlo_launch_poison(hlo_client_device(client, LATE), 7,
                                      hlo_internal_error("device 5 is gone")));
      }
      hlo_status_release(hlo_buffer_fulfill(alias, NULL, hlo_internal_error("device 5 failed")));
      expect_error(launch.results[6], HLO_STATUS_INTERNAL, "device 5 ", fails ? "failed" : "gone");
      release_launch(&launch);
      expect_usable(client, kBackends[b]);
      hlo_loaded_release(loaded);
      hlo_client_release(client);
    }
  }
}

// An operation of a device fails, each in turn.
static void devices_that_fail(void** state) {
  (void)state;
  for (uint32_t p = 0; p < COLLECTIVES; ++p) {
    bool has_failed = true;
    for (uint64_t n = 1; has_failed; ++n) {
      hlo_client_t* client = create_client(2, 0, true);
      hlo_loaded_t* loaded = hlo_test_load(client, kCollectives[p].text, NULL, DEVICES);
      hlo_device_slow_fail_nth(hlo_client_backend(client), n + DEVICES);  // after the arguments
      launch_t launch;
      hlo_status_t status = try_start(client, loaded, NULL, &launch);
      for (uint32_t d = 0; d < DEVICES && hlo_status_is_ok(status); ++d) {
        hlo_status_release(await(launch.results[d]));
      }
      hlo_status_release(status);
      has_failed = hlo_device_slow_failed(hlo_client_backend(client));
      hlo_device_slow_fail_nth(hlo_client_backend(client), 0);
      release_launch(&launch);
      expect_usable(client, NULL);
      hlo_loaded_release(loaded);
      hlo_client_release(client);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transports_that_are_missing),
      cmocka_unit_test(values_never_come),
      cmocka_unit_test(values_never_come_to_slow_devices),
      cmocka_unit_test(launches_wait_for_launches),
      cmocka_unit_test(foreign_functions_that_stay),
      cmocka_unit_test(devices_that_compute_for_ever),
      cmocka_unit_test(devices_that_leave_out_a_collective),
      cmocka_unit_test(devices_that_wait_crosswise),
      cmocka_unit_test(waits_are_logged),
      cmocka_unit_test(members_that_are_cancelled),
      cmocka_unit_test(devices_that_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
