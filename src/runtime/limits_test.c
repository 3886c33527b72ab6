// SPDX-License-Identifier: Apache-2.0
// Limits of launches: callers that wait, memory that launches wait for, promises that no launch
// waits for, callbacks that launch.
#include "runtime/limits.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/test_util.h"
#include "runtime/executable.h"
#include "runtime/storage.h"
#include "runtime/test_util.h"

static const uint64_t kShortNs = 20ull * 1000 * 1000, kLongNs = 60ull * 1000 * 1000 * 1000;

// ---- the counter

typedef struct caller {
  pthread_t thread;
  hlo_launch_limit_t* limit;
  hlo_gate_t returned;
} caller_t;

static void* await_limit(void* context) {
  caller_t* caller = context;
  hlo_launch_limit_await(caller->limit);
  hlo_gate_open(&caller->returned);
  return NULL;
}

static void callers_wait_for_a_quarter(void** state) {
  (void)state;
  enum { LIMIT = 8, CALLERS = 3 };
  hlo_launch_limit_t limit;
  caller_t callers[CALLERS];
  hlo_launch_limit_init(&limit, LIMIT);
  for (int i = 0; i < LIMIT; ++i) hlo_launch_limit_begin(&limit);
  hlo_launch_limit_await(&limit);
  hlo_launch_limit_begin(&limit);
  hlo_thread_no_wait_begin();
  hlo_launch_limit_await(&limit);  // returns nevertheless
  hlo_thread_no_wait_end();
  for (int i = 0; i < CALLERS; ++i) {
    callers[i] = (caller_t){.limit = &limit};
    assert_int_equal(pthread_create(&callers[i].thread, NULL, await_limit, &callers[i]), 0);
  }
  for (int waiting = 0; waiting < CALLERS;) {
    hlo_mutex_lock(&limit.lock);
    waiting = 0;
    for (void* const* w = (void* const*)limit.waiters; w; w = *w) ++waiting;  // `next` is first
    hlo_mutex_unlock(&limit.lock);
    sched_yield();
  }
  for (int i = 0; i < 2; ++i) hlo_launch_limit_end(&limit);
  assert_false(hlo_gate_await(&callers[0].returned, kShortNs));
  hlo_launch_limit_end(&limit);
  for (int i = 0; i < CALLERS; ++i) {
    assert_true(hlo_gate_await(&callers[i].returned, kLongNs));
    pthread_join(callers[i].thread, NULL);
  }
  assert_int_equal(hlo_launch_limit_count(&limit), LIMIT - 2);
  while (hlo_launch_limit_count(&limit)) hlo_launch_limit_end(&limit);
  hlo_launch_limit_deinit(&limit);
}

// ---- the queue

static uint64_t g_free_bytes;

typedef struct fake {
  hlo_memory_request_t request;
  hlo_launch_progress_t progress;
  hlo_memory_queue_t* queue;
  bool waits, has_memory, has_failed;
} fake_t;

static hlo_status_t fake_allocate(hlo_memory_request_t* request) {
  const uint64_t size_bytes = request->progress->size_bytes;
  if (size_bytes > g_free_bytes) return hlo_status_out_of_memory(size_bytes);
  g_free_bytes -= size_bytes;
  return hlo_ok();
}

static void fake_acquire(fake_t* fake) {
  hlo_status_t status = hlo_memory_queue_acquire(fake->queue, &fake->request, &fake->waits);
  fake->has_failed = !hlo_status_is_ok(status);
  fake->has_memory = !fake->waits && !fake->has_failed;
  hlo_status_release(status);
}

static void fake_retry(hlo_memory_request_t* request) {
  fake_acquire((fake_t*)request);
}

// A request of a launch, or if NULL of a new one whose inputs are ready.
static void fake_init(fake_t* fake, hlo_memory_queue_t* queue, uint64_t size_bytes,
                      hlo_launch_progress_t* progress) {
  *fake = (fake_t){.request = {.allocate = fake_allocate,
                               .retry = fake_retry,
                               .progress = progress ? progress : &fake->progress},
                   .progress = {.run_count = 1, .ready_count = 1, .size_bytes = size_bytes},
                   .queue = queue};
}

static void fake_end(fake_t* fake) {
  if (!fake->has_memory) return;
  hlo_launch_progress_t* progress = fake->request.progress;
  if (progress->ended_count + 1 == progress->run_count) g_free_bytes += progress->size_bytes;
  hlo_memory_queue_end(fake->queue, progress);
}

static void requests_come_in_order(void** state) {
  (void)state;
  hlo_memory_queue_t queue;
  hlo_memory_queue_init(&queue, UINT64_MAX);
  g_free_bytes = 100;
  fake_t runs[4];
  const uint64_t sizes[4] = {60, 60, 10, 80};
  for (int i = 0; i < 4; ++i) fake_init(&runs[i], &queue, sizes[i], NULL);
  for (int i = 0; i < 4; ++i) fake_acquire(&runs[i]);
  assert_true(runs[0].has_memory && runs[1].waits && runs[2].waits && runs[3].waits);
  fake_end(&runs[0]);
  assert_true(runs[1].has_memory && runs[2].has_memory && runs[3].waits);
  fake_end(&runs[2]);
  assert_true(runs[3].waits);
  fake_end(&runs[1]);
  assert_true(runs[3].has_memory);
  fake_end(&runs[3]);
  assert_int_equal(g_free_bytes, 100);
  hlo_memory_queue_deinit(&queue);
}

static void exhaustion_is_an_error_when_nothing_runs(void** state) {
  (void)state;
  hlo_memory_queue_t queue;
  hlo_memory_queue_init(&queue, UINT64_MAX);
  g_free_bytes = 100;
  fake_t runs[4];
  const uint64_t sizes[4] = {60, 101, 102, 50};
  for (int i = 0; i < 4; ++i) fake_init(&runs[i], &queue, sizes[i], NULL);
  for (int i = 0; i < 4; ++i) fake_acquire(&runs[i]);
  assert_true(runs[1].waits && runs[2].waits && runs[3].waits);
  fake_end(&runs[0]);
  assert_true(runs[1].has_failed && runs[2].has_failed && runs[3].has_memory);
  fake_end(&runs[3]);
  hlo_memory_queue_deinit(&queue);
}

static void the_limit_counts_while_launches_run(void** state) {
  (void)state;
  hlo_memory_queue_t queue;
  hlo_memory_queue_init(&queue, 50);
  g_free_bytes = 1000;
  fake_t runs[4];
  const uint64_t sizes[4] = {80, 10, 30, 30};
  for (int i = 0; i < 4; ++i) fake_init(&runs[i], &queue, sizes[i], NULL);
  for (int i = 0; i < 4; ++i) fake_acquire(&runs[i]);
  assert_true(runs[0].has_memory && runs[1].waits);  // a single one may exceed the limit
  fake_end(&runs[0]);
  assert_true(runs[1].has_memory && runs[2].has_memory && runs[3].waits);
  fake_end(&runs[1]);
  assert_true(runs[3].waits);
  fake_end(&runs[2]);
  assert_true(runs[3].has_memory);
  fake_end(&runs[3]);
  hlo_memory_queue_deinit(&queue);
}

// A launch on two devices gets memory for both at once, and delays others once it can run on both.
static void launches_get_memory_for_all_their_devices(void** state) {
  (void)state;
  hlo_memory_queue_t queue;
  hlo_memory_queue_init(&queue, UINT64_MAX);
  g_free_bytes = 100;
  hlo_launch_progress_t progress = {.run_count = 2, .size_bytes = 60};
  fake_t first, second, running, large, later;
  fake_init(&running, &queue, 50, NULL);
  fake_init(&first, &queue, 0, &progress);
  fake_init(&large, &queue, 60, NULL);
  fake_init(&second, &queue, 0, &progress);
  fake_init(&later, &queue, 60, NULL);
  fake_acquire(&running);
  hlo_memory_queue_note_ready(&queue, &progress);
  fake_acquire(&first);
  fake_acquire(&large);
  hlo_memory_queue_note_ready(&queue, &progress);
  fake_acquire(&second);
  assert_true(first.waits && large.waits && second.waits);
  fake_end(&running);
  // The large launch requested its memory first.
  assert_true(first.has_memory && second.has_memory && large.waits);
  fake_end(&first);
  assert_true(large.waits);
  fake_end(&second);
  assert_true(large.has_memory);
  fake_end(&large);
  // One of two inputs is missing for an unknown time.
  progress = (hlo_launch_progress_t){.run_count = 2, .ready_count = 1, .size_bytes = 60};
  fake_acquire(&first);
  fake_acquire(&later);
  assert_true(first.has_memory && later.has_failed);
  hlo_memory_queue_note_ready(&queue, &progress);
  fake_acquire(&later);
  assert_true(later.waits);
  fake_acquire(&second);
  fake_end(&first);
  fake_end(&second);
  assert_true(later.has_memory);
  fake_end(&later);
  assert_int_equal(queue.running_count, 0);
  assert_int_equal(queue.taken_bytes, 0);
  hlo_memory_queue_deinit(&queue);
}

// ---- programs

enum { MIB = 1 << 20, LARGE_COUNT = 4 * MIB, LARGE_BYTES = 4 * LARGE_COUNT, SMALL_COUNT = 4 };

#define LARGE "tensor<4194304xf32>"
static const char kStep[] =
    "func.func @main(%x: " LARGE ") -> " LARGE " {\n  %0 = stablehlo.add %x, %x : " LARGE
    "\n  return %0 : " LARGE "\n}\n";
static const char kSum[] =
    "func.func @main(%x: " LARGE ") -> " LARGE
    " {\n  %0 = \"stablehlo.all_reduce\"(%x) ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
    "    %s = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %s : tensor<f32>\n"
    "  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (" LARGE ") -> " LARGE
    "\n  return %0 : " LARGE "\n}";
static const char kReadBoth[] =
    "func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %x, %y : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n";
static const char kDonate[] =
    "func.func @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %x, %x : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n";

static const int64_t kLargeDims[] = {LARGE_COUNT}, kSmallDims[] = {SMALL_COUNT};
static const hlo_buffer_shape_t kLarge = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kLargeDims},
                                kSmall = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kSmallDims};

static hlo_client_t* create_client(const hlo_client_options_t* options) {
  hlo_client_t* client;
  hlo_test_check(hlo_client_create(options, &client));
  return client;
}

static hlo_memory_t* memory_of(hlo_client_t* client, uint32_t device) {
  return &hlo_client_device(client, device)->memories[HLO_MEMORY_DEVICE];
}

static hlo_buffer_t* make_small(hlo_client_t* client) {
  const float values[SMALL_COUNT] = {1, 2, 3, 4};
  hlo_buffer_t* buffer = NULL;
  hlo_test_check(hlo_buffer_from_host(memory_of(client, 0), &kSmall, values, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

// Zeros.
static hlo_buffer_t* make_large(hlo_client_t* client, uint32_t device) {
  hlo_buffer_t* buffer = NULL;
  void* data = NULL;
  hlo_test_check(hlo_buffer_create_uninitialized(memory_of(client, device), &kLarge, &buffer));
  hlo_test_check(hlo_buffer_data_pointer(buffer, &data));
  memset(data, 0, LARGE_BYTES);
  return buffer;
}

static hlo_status_t run_one(hlo_loaded_t* loaded, uint32_t count, hlo_buffer_t* const* arguments,
                            hlo_buffer_t** out_result, hlo_event_t** out_end) {
  hlo_buffer_t* const* rows[1] = {arguments};
  hlo_buffer_t** results[1] = {out_result};
  return hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = 1,
                                                    .arguments = rows,
                                                    .argument_count = count,
                                                    .out_results = results,
                                                    .out_events = out_end});
}

static void await_and_release(hlo_event_t* event) {
  hlo_test_check(hlo_event_await(event, kLongNs));
  hlo_event_release(event);
}

typedef struct launcher {
  hlo_client_t* client;
  uint32_t launch_count;
  atomic_uint returned_count;
  hlo_gate_t done;
} launcher_t;

// Each launch takes the result of the one before, whose handle is released.
static void* launch_chain(void* context) {
  launcher_t* launcher = context;
  hlo_loaded_t* loaded = hlo_test_load(launcher->client, kStep, NULL, 1);
  hlo_buffer_t* value = make_large(launcher->client, 0);
  for (uint32_t i = 0; i < launcher->launch_count; ++i) {
    hlo_buffer_t* next = NULL;
    hlo_test_check(run_one(loaded, 1, &value, &next, NULL));
    atomic_fetch_add(&launcher->returned_count, 1);
    hlo_buffer_release(value);
    value = next;
  }
  hlo_event_t* ready = hlo_buffer_ready_event(value);
  await_and_release(ready);
  hlo_buffer_release(value);
  hlo_loaded_release(loaded);
  hlo_gate_open(&launcher->done);
  return NULL;
}

// Nothing runs, so the launch above the limit does not return, and waiting launches take no memory.
static void callers_that_launch_too_much_wait(void** state) {
  (void)state;
  enum { LIMIT = 4, LAUNCHES = 100 };
  hlo_client_t* client =
      create_client(&(hlo_client_options_t){.thread_count = 1, .launch_limit = LIMIT});
  hlo_test_hold_t hold;
  hlo_test_hold_worker(hlo_client_pool(client), &hold);
  launcher_t launcher = {.client = client, .launch_count = LAUNCHES};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, launch_chain, &launcher), 0);
  assert_false(hlo_gate_await(&launcher.done, 5 * kShortNs));
  assert_true(atomic_load(&launcher.returned_count) <= LIMIT);
  hlo_gate_open(&hold.gate);
  assert_true(hlo_gate_await(&launcher.done, kLongNs));
  pthread_join(thread, NULL);
  hlo_memory_stats_t stats;
  hlo_memory_get_stats(memory_of(client, 0), &stats);
  assert_true(stats.peak_bytes_in_use <= 3ll * LARGE_BYTES);
  hlo_client_release(client);
}

// The caller fulfils the alias after all launches that wait for it: one reads the alias and x,
// others donate x and hence wait for the first, and copies.
static void launches_that_wait_for_the_caller_do_not_count(void** state) {
  (void)state;
  enum { LAUNCHES = 20 };
  hlo_client_t* client =
      create_client(&(hlo_client_options_t){.thread_count = 1, .launch_limit = 1});
  hlo_loaded_t *read = hlo_test_load(client, kReadBoth, NULL, 1),
               *donate = hlo_test_load(client, kDonate, NULL, 1);
  hlo_loaded_t* sines = hlo_test_load(client, HLO_TEST_SINES("1000"), NULL, 1);
  hlo_buffer_t *x = make_small(client), *value = make_small(client), *alias, *sum = NULL;
  hlo_test_check(hlo_buffer_create_alias(memory_of(client, 0), &kSmall, &alias));
  hlo_test_check(run_one(read, 2, (hlo_buffer_t*[]){alias, x}, &sum, NULL));
  for (int i = 0; i < LAUNCHES; ++i) {
    hlo_buffer_t *donated = NULL, *copy = NULL, *next = NULL;
    hlo_test_check(run_one(donate, 1, &x, &donated, NULL));
    hlo_test_check(hlo_buffer_copy_to_memory(donated, memory_of(client, 0), &copy));
    hlo_test_check(run_one(sines, 1, &copy, &next, NULL));
    hlo_buffer_release(next);
    hlo_buffer_release(copy);
    hlo_buffer_release(x);
    x = donated;
  }
  assert_int_equal(hlo_launch_limit_count(&hlo_client_device(client, 0)->launches), 0);
  hlo_test_check(hlo_buffer_fulfill(alias, value, hlo_ok()));
  float got[SMALL_COUNT];
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(x, got, sizeof got, NULL, &done));
  await_and_release(done);
  assert_true(got[0] == 1 << LAUNCHES);
  hlo_buffer_t* all[] = {x, value, alias, sum};
  for (int i = 0; i < 4; ++i) hlo_buffer_release(all[i]);
  hlo_loaded_t* programs[] = {read, donate, sines};
  for (int i = 0; i < 3; ++i) hlo_loaded_release(programs[i]);
  hlo_client_release(client);
}

// A chain of launches, each called in the callback of the one before.
typedef struct relay {
  hlo_loaded_t* loaded;
  hlo_buffer_t *value, *last;
  hlo_event_t* end;
  hlo_event_waiter_t waiter;
  int left;
  hlo_gate_t done;
} relay_t;

static void launch_next(void* context, hlo_status_t status) {
  relay_t* relay = context;
  hlo_test_check(status);
  if (relay->last) hlo_buffer_release(relay->last);
  hlo_event_release(relay->end);
  if (relay->left-- == 0) {
    hlo_gate_open(&relay->done);
    return;
  }
  for (int i = 0; i < 2; ++i) {  // one more than the limit
    relay->last = NULL;
    hlo_test_check(run_one(relay->loaded, 1, &relay->value, &relay->last, &relay->end));
    if (i == 0) hlo_event_release(relay->end);
    if (i == 0) hlo_buffer_release(relay->last);
  }
  hlo_event_on_ready(relay->end, &relay->waiter, launch_next, relay);
}

static void callbacks_launch_without_waiting(void** state) {
  (void)state;
  hlo_client_t* client =
      create_client(&(hlo_client_options_t){.thread_count = 1, .launch_limit = 1});
  relay_t relay = {.loaded = hlo_test_load(client, HLO_TEST_SINES("1000"), NULL, 1),
                   .value = make_small(client),
                   .end = hlo_event_create_ready(hlo_ok()),
                   .left = 30};
  launch_next(&relay, hlo_ok());
  assert_true(hlo_gate_await(&relay.done, kLongNs));
  hlo_buffer_release(relay.value);
  hlo_loaded_release(relay.loaded);
  hlo_client_release(client);
}

// Memory for three results besides the argument, workers for eight launches.
static void launches_wait_for_memory_of_others(void** state) {
  (void)state;
  enum { LAUNCHES = 60, WORKERS = 8 };
  hlo_client_t* client = create_client(&(hlo_client_options_t){
      .thread_count = WORKERS, .memory_mib = 70, .running_mib = 1 << 20, .kept_mib = -1});
  hlo_loaded_t* loaded = hlo_test_load(client, kStep, NULL, 1);
  hlo_buffer_t* value = make_large(client, 0);
  hlo_event_t* ends[LAUNCHES];
  for (int i = 0; i < LAUNCHES; ++i) {
    hlo_buffer_t* result = NULL;
    hlo_test_check(run_one(loaded, 1, &value, &result, &ends[i]));
    hlo_buffer_release(result);
  }
  // This must not fail either, although others may still have the memory.
  hlo_buffer_t* more = make_large(client, 0);
  for (int i = 0; i < LAUNCHES; ++i) await_and_release(ends[i]);
  hlo_buffer_release(more);
  hlo_buffer_release(value);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

static void launches_on_several_devices_wait_for_memory_of_others(void** state) {
  (void)state;
  enum { LAUNCHES = 40, WORKERS = 4, DEVICES = 2 };
  hlo_client_t* client = create_client(&(hlo_client_options_t){.device_count = DEVICES,
                                                               .thread_count = WORKERS,
                                                               .memory_mib = 85,
                                                               .running_mib = 1 << 20,
                                                               .kept_mib = -1});
  hlo_loaded_t* loaded = hlo_test_load(client, kSum, NULL, DEVICES);
  hlo_buffer_t *values[DEVICES], *results[DEVICES];
  hlo_buffer_t* const* arguments[DEVICES];
  hlo_buffer_t** result_rows[DEVICES];
  hlo_event_t* ends[LAUNCHES][DEVICES];
  for (uint32_t d = 0; d < DEVICES; ++d) {
    values[d] = make_large(client, d);
    arguments[d] = &values[d];
    result_rows[d] = &results[d];
  }
  for (int i = 0; i < LAUNCHES; ++i) {
    hlo_test_check(hlo_loaded_execute(loaded, &(hlo_launch_t){.device_count = DEVICES,
                                                              .arguments = arguments,
                                                              .argument_count = 1,
                                                              .out_results = result_rows,
                                                              .out_events = ends[i]}));
    for (uint32_t d = 0; d < DEVICES; ++d) hlo_buffer_release(results[d]);
  }
  // The results of two launches do not fit besides the arguments.
  for (int i = 0; i < LAUNCHES * DEVICES; ++i) await_and_release(ends[i / DEVICES][i % DEVICES]);
  for (uint32_t d = 0; d < DEVICES; ++d) hlo_buffer_release(values[d]);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

static void expect_exhausted(hlo_status_t status) {
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(hlo_status_message(status), "out of memory"));
  hlo_status_release(status);
}

// The launch changes nothing, because no launch is in flight that could free memory.
static void exhaustion_is_told_at_once(void** state) {
  (void)state;
  hlo_client_t* client =
      create_client(&(hlo_client_options_t){.thread_count = 2, .memory_mib = 40, .kept_mib = -1});
  hlo_loaded_t* loaded = hlo_test_load(client, kStep, NULL, 1);
  hlo_buffer_t *values[2] = {make_large(client, 0), make_large(client, 0)}, *none = NULL;
  expect_exhausted(run_one(loaded, 1, &values[0], &none, NULL));
  assert_null(none);
  expect_exhausted(hlo_buffer_create_uninitialized(memory_of(client, 0), &kLarge, &none));
  for (int i = 0; i < 2; ++i) hlo_buffer_release(values[i]);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

// Three launches in flight, whose threads the child lacks.
static void forked_children_release_their_client(void** state) {
  (void)state;
  hlo_client_t* client = create_client(&(hlo_client_options_t){.thread_count = 1});
  hlo_loaded_t* loaded = hlo_test_load(client, kStep, NULL, 1);
  hlo_buffer_t* value = make_large(client, 0);
  hlo_event_t* end = NULL;
  hlo_test_hold_t hold;
  hlo_test_hold_worker(hlo_client_pool(client), &hold);
  for (int i = 0; i < 3; ++i) {
    hlo_buffer_t* result = NULL;
    hlo_event_release(end);
    hlo_test_check(run_one(loaded, 1, &value, &result, &end));
    hlo_buffer_release(result);
  }
  const pid_t child = fork();
  if (child == 0) {
    hlo_client_release(client);
    _exit(0);
  }
  int result = -1;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
  hlo_gate_open(&hold.gate);
  await_and_release(end);
  hlo_buffer_release(value);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(callers_wait_for_a_quarter),
      cmocka_unit_test(requests_come_in_order),
      cmocka_unit_test(exhaustion_is_an_error_when_nothing_runs),
      cmocka_unit_test(the_limit_counts_while_launches_run),
      cmocka_unit_test(launches_get_memory_for_all_their_devices),
      cmocka_unit_test(callers_that_launch_too_much_wait),
      cmocka_unit_test(launches_that_wait_for_the_caller_do_not_count),
      cmocka_unit_test(callbacks_launch_without_waiting),
      cmocka_unit_test(launches_wait_for_memory_of_others),
      cmocka_unit_test(launches_on_several_devices_wait_for_memory_of_others),
      cmocka_unit_test(exhaustion_is_told_at_once),
      cmocka_unit_test(forked_children_release_their_client),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
