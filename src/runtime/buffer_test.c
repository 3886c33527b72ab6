// SPDX-License-Identifier: Apache-2.0
// Tests of buffers: lifetime contracts of host memory, layouts, deletion, donation,
// aliases, errors.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/test_util.h"
#include "base/threads.h"
#include "runtime/buffer.h"
#include "runtime/storage.h"
#include "runtime/test_util.h"

static hlo_client_t* g_client;

static int setup(void** state) {
  (void)state;
  hlo_client_options_t options = {.device_count = 2, .thread_count = 2};
  return hlo_status_is_ok(hlo_client_create(&options, &g_client)) ? 0 : 1;
}

static int teardown(void** state) {
  (void)state;
  hlo_client_release(g_client);
  return 0;
}

static hlo_memory_t* device_memory(uint32_t device) {
  return &hlo_client_device(g_client, device)->memories[HLO_MEMORY_DEVICE];
}

static void expect_code(hlo_status_t status, hlo_status_code_t code) {
  assert_int_equal(hlo_status_code(status), code);
  hlo_status_release(status);
}

static void await_and_release(hlo_event_t* event) {
  hlo_test_check(hlo_event_await(event, UINT64_MAX));
  hlo_event_release(event);
}

static void read_back(hlo_buffer_t* buffer, void* data, size_t size_bytes) {
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(buffer, data, size_bytes, NULL, &done));
  await_and_release(done);
}

static const int64_t kDims[2] = {3, 5};
static const hlo_buffer_shape_t kShape = {.dtype = HLO_DTYPE_F32, .rank = 2, .dims = kDims};

static void fill(float* values, int count) {
  for (int i = 0; i < count; ++i) values[i] = (float)i + 0.5f;
}

// Each contract: the host overwrites the array as early as allowed; the buffer keeps the old
// values.
static void host_memory_contracts(void** state) {
  (void)state;
  for (int semantics = 0; semantics <= HLO_HOST_IMMUTABLE_UNTIL_TRANSFER_COMPLETES; ++semantics) {
    float values[15], want[15], got[15];
    fill(values, 15);
    memcpy(want, values, sizeof want);
    hlo_event_t* done = NULL;
    hlo_buffer_t* buffer;
    hlo_test_check(hlo_buffer_from_host(device_memory(0), &kShape, values, NULL,
                                        (hlo_host_semantics_t)semantics, &done, &buffer));
    await_and_release(done);
    memset(values, 0, sizeof values);
    read_back(buffer, got, sizeof got);
    assert_memory_equal(got, want, sizeof want);
    hlo_buffer_release(buffer);
  }
}

static void zero_copy_aliases_and_tells_when_it_is_over(void** state) {
  (void)state;
  _Alignas(64) float values[15];
  fill(values, 15);
  hlo_event_t* done = NULL;
  hlo_buffer_t* buffer;
  hlo_test_check(hlo_buffer_from_host(device_memory(0), &kShape, values, NULL,
                                      HLO_HOST_MUTABLE_ZERO_COPY, &done, &buffer));
  void* address = NULL;
  hlo_test_check(hlo_buffer_data_pointer(buffer, &address));
  assert_ptr_equal(address, values);
  assert_false(hlo_event_is_ready(done));
  hlo_buffer_delete(buffer);
  await_and_release(done);
  hlo_buffer_release(buffer);
}

static void strides_of_the_host_are_honoured(void** state) {
  (void)state;
  float columns[15], got[15], back[15];
  fill(columns, 15);
  const int64_t strides[2] = {4, 12};  // column-major
  hlo_buffer_t* buffer;
  hlo_test_check(hlo_buffer_from_host(device_memory(0), &kShape, columns, strides,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  read_back(buffer, got, sizeof got);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 5; ++c) assert_true(got[r * 5 + c] == columns[c * 3 + r]);
  }
  const int64_t minor_to_major[2] = {0, 1};
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(buffer, back, sizeof back, minor_to_major, &done));
  await_and_release(done);
  assert_memory_equal(back, columns, sizeof back);
  hlo_buffer_release(buffer);
}

static hlo_buffer_t* make(uint32_t device) {
  float values[15];
  fill(values, 15);
  hlo_buffer_t* buffer;
  hlo_test_check(hlo_buffer_from_host(device_memory(device), &kShape, values, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static void raw_ranges_are_checked(void** state) {
  (void)state;
  hlo_buffer_t* buffer = make(0);
  float got = 0;
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_copy_raw_to_host(buffer, &got, 4, 4, &done));
  await_and_release(done);
  assert_true(got == 1.5f);
  expect_code(hlo_buffer_copy_raw_to_host(buffer, &got, 58, 4, &done), HLO_STATUS_INVALID_ARGUMENT);
  expect_code(hlo_buffer_to_host(buffer, &got, 4, NULL, &done), HLO_STATUS_INVALID_ARGUMENT);
  hlo_buffer_release(buffer);
}

static const int64_t kColumnMajor[] = {0, 1};
static const hlo_buffer_shape_t kColumns = {
    .dtype = HLO_DTYPE_F32, .rank = 2, .dims = kDims, .minor_to_major = kColumnMajor};

// Element (row, column) of make() at [column * 3 + row].
static void fill_columns(float* columns) {
  float rows[15];
  fill(rows, 15);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 5; ++c) columns[c * 3 + r] = rows[r * 5 + c];
  }
}

static hlo_buffer_t* make_columns(void) {
  float rows[15];
  fill(rows, 15);
  hlo_buffer_t* buffer;
  hlo_test_check(hlo_buffer_from_host(device_memory(0), &kColumns, rows, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static void expect_bytes(hlo_buffer_t* buffer, const float* want) {
  float got[15];
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_copy_raw_to_host(buffer, got, 0, sizeof got, &done));
  await_and_release(done);
  assert_memory_equal(got, want, sizeof got);
}

static void layouts_of_the_device_are_honoured(void** state) {
  (void)state;
  float rows[15], columns[15], got[15];
  fill(rows, 15);
  fill_columns(columns);
  hlo_buffer_t* buffer = make_columns();
  expect_bytes(buffer, columns);
  assert_memory_equal(hlo_buffer_shape(buffer)->minor_to_major, kColumnMajor, sizeof kColumnMajor);
  read_back(buffer, got, sizeof got);
  assert_memory_equal(got, rows, sizeof rows);
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(buffer, got, sizeof got, kColumnMajor, &done));
  await_and_release(done);
  assert_memory_equal(got, columns, sizeof columns);
  hlo_buffer_t* copy;
  hlo_test_check(hlo_buffer_copy_to_memory(buffer, device_memory(1), &copy));
  hlo_buffer_release(buffer);
  assert_memory_equal(hlo_buffer_shape(copy)->minor_to_major, kColumnMajor, sizeof kColumnMajor);
  expect_bytes(copy, columns);
  hlo_buffer_release(copy);
}

// Host memory in the device's order is used in place, in another order it is copied.
static void zero_copy_needs_the_layout_of_the_device(void** state) {
  (void)state;
  _Alignas(64) float columns[16];
  fill_columns(columns);
  const int64_t strides[2] = {4, 12};
  hlo_buffer_t *same, *other;
  void *same_data, *other_data;
  hlo_test_check(hlo_buffer_from_host(device_memory(0), &kColumns, columns, strides,
                                      HLO_HOST_IMMUTABLE_ZERO_COPY, NULL, &same));
  hlo_test_check(hlo_buffer_from_host(device_memory(0), &kColumns, columns, NULL,
                                      HLO_HOST_IMMUTABLE_ZERO_COPY, NULL, &other));
  hlo_test_check(hlo_buffer_data_pointer(same, &same_data));
  hlo_test_check(hlo_buffer_data_pointer(other, &other_data));
  assert_ptr_equal(same_data, columns);
  assert_ptr_not_equal(other_data, columns);
  hlo_buffer_release(same);
  hlo_buffer_release(other);
}

static void other_orders_are_refused(void** state) {
  (void)state;
  const int64_t twice[2] = {1, 1};
  hlo_buffer_shape_t shape = kShape;
  shape.minor_to_major = twice;
  hlo_buffer_t *buffer = make(0), *other;
  expect_code(hlo_buffer_create_uninitialized(device_memory(0), &shape, &other),
              HLO_STATUS_INVALID_ARGUMENT);
  float got[15];
  hlo_event_t* done = NULL;
  expect_code(hlo_buffer_to_host(buffer, got, sizeof got, twice, &done),
              HLO_STATUS_INVALID_ARGUMENT);
  hlo_buffer_release(buffer);
}

static void deleted_buffers_say_so(void** state) {
  (void)state;
  hlo_buffer_t* buffer = make(0);
  hlo_buffer_delete(buffer);
  hlo_buffer_delete(buffer);
  assert_true(hlo_buffer_is_deleted(buffer));
  hlo_event_t* done = NULL;
  float got[15];
  expect_code(hlo_buffer_to_host(buffer, got, sizeof got, NULL, &done),
              HLO_STATUS_INVALID_ARGUMENT);
  hlo_buffer_release(buffer);
}

static void external_references_outlive_deletion(void** state) {
  (void)state;
  hlo_memory_stats_t before, held, after;
  hlo_memory_get_stats(device_memory(1), &before);
  hlo_buffer_t* buffer = make(1);
  hlo_test_check(hlo_buffer_external_retain(buffer));
  void* address = NULL;
  hlo_test_check(hlo_buffer_data_pointer(buffer, &address));
  hlo_buffer_delete(buffer);
  assert_true(hlo_buffer_is_deleted(buffer));
  hlo_memory_get_stats(device_memory(1), &held);
  assert_true(held.bytes_in_use > before.bytes_in_use);
  assert_true(((float*)address)[1] == 1.5f);
  hlo_test_check(hlo_buffer_external_release(buffer));
  hlo_memory_get_stats(device_memory(1), &after);
  assert_int_equal(after.bytes_in_use, before.bytes_in_use);
  expect_code(hlo_buffer_external_release(buffer), HLO_STATUS_FAILED_PRECONDITION);
  hlo_buffer_release(buffer);
}

static void copies_land_elsewhere(void** state) {
  (void)state;
  hlo_buffer_t* buffer = make(0);
  hlo_buffer_t* copy;
  hlo_test_check(hlo_buffer_copy_to_memory(buffer, device_memory(1), &copy));
  hlo_buffer_release(buffer);  // the copy continues
  float want[15], got[15];
  fill(want, 15);
  read_back(copy, got, sizeof got);
  assert_memory_equal(got, want, sizeof want);
  hlo_buffer_release(copy);
}

enum { MANY = 1 << 20, HOLD_NS = 20 * 1000 * 1000 };

// A blocked worker.
typedef struct hold {
  hlo_job_t job;
  hlo_gate_t gate;
} hold_t;

static void hold_worker(hlo_job_t* job) {
  hlo_gate_await(&((hold_t*)job)->gate, UINT64_MAX);
}

static hlo_client_t* create_one_worker(void) {
  hlo_client_t* client;
  hlo_test_check(hlo_client_create(&(hlo_client_options_t){.thread_count = 1}, &client));
  return client;
}

typedef struct end {
  hlo_client_t* client;
  hlo_gate_t gate;
} end_t;

static void* release_client(void* context) {
  end_t* end = context;
  hlo_client_release(end->client);
  hlo_gate_open(&end->gate);
  return NULL;
}

// A copy that has not begun still needs the memory of its source.
static void clients_live_as_long_as_copies_of_their_buffers(void** state) {
  (void)state;
  static const int64_t kMany[1] = {MANY};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_S8, .rank = 1, .dims = kMany};
  hlo_client_t *source = create_one_worker(), *target = create_one_worker();
  hlo_memory_t* memories[] = {&hlo_client_device(source, 0)->memories[HLO_MEMORY_DEVICE],
                              &hlo_client_device(target, 0)->memories[HLO_MEMORY_DEVICE]};
  int8_t *values = malloc(MANY), *got = malloc(MANY);
  for (int i = 0; i < MANY; ++i) values[i] = (int8_t)i;
  hlo_buffer_t *buffer, *copy;
  hlo_test_check(hlo_buffer_from_host(memories[0], &shape, values, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  hold_t hold = {.job.run = hold_worker};
  hlo_pool_submit(hlo_client_pool(target), &hold.job);
  hlo_test_check(hlo_buffer_copy_to_memory(buffer, memories[1], &copy));
  hlo_buffer_release(buffer);
  end_t end = {.client = source};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, release_client, &end), 0);
  assert_false(hlo_gate_await(&end.gate, HOLD_NS));
  hlo_gate_open(&hold.gate);
  pthread_join(thread, NULL);
  read_back(copy, got, MANY);
  assert_memory_equal(got, values, MANY);
  hlo_buffer_release(copy);
  hlo_client_release(target);
  free(values);
  free(got);
}

static void donation_takes_and_gives_back(void** state) {
  (void)state;
  hlo_buffer_t* buffer = make(0);
  hlo_buffer_use_t use;
  hlo_test_check(hlo_buffer_donate(buffer, &use));
  assert_true(use.is_donated);
  assert_true(hlo_buffer_is_deleted(buffer));
  hlo_buffer_donate_abort(buffer, &use);
  assert_false(hlo_buffer_is_deleted(buffer));
  hlo_test_check(hlo_buffer_external_retain(buffer));
  hlo_test_check(hlo_buffer_donate(buffer, &use));
  assert_false(use.is_donated);  // the address is in use: the bytes must not be overwritten
  hlo_buffer_use_end(&use);
  hlo_buffer_release(buffer);
}

static void mark(void* context, hlo_status_t status) {
  (void)status;
  *(bool*)context = true;
}

static void donated_storage_waits_for_readers(void** state) {
  (void)state;
  hlo_buffer_t* buffer = make(0);
  hlo_buffer_use_t reader, donor;
  hlo_test_check(hlo_buffer_use_begin(buffer, &reader));
  hlo_test_check(hlo_buffer_donate(buffer, &donor));
  bool idle = false;
  hlo_storage_when_idle(donor.storage, mark, &idle);
  assert_false(idle);
  hlo_buffer_use_end(&reader);
  assert_true(idle);
  hlo_buffer_use_end(&donor);
  hlo_buffer_release(buffer);
}

static void alias_buffers_are_fulfilled_once(void** state) {
  (void)state;
  hlo_buffer_t* source = make(0);
  hlo_buffer_t* alias;
  hlo_test_check(hlo_buffer_create_alias(device_memory(0), &kShape, &alias));
  float got[15], want[15];
  fill(want, 15);
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(alias, got, sizeof got, NULL, &done));
  assert_false(hlo_event_is_ready(done));
  hlo_test_check(hlo_buffer_fulfill(alias, source, hlo_ok()));
  await_and_release(done);
  assert_memory_equal(got, want, sizeof want);
  expect_code(hlo_buffer_fulfill(alias, source, hlo_ok()), HLO_STATUS_FAILED_PRECONDITION);
  hlo_buffer_release(alias);
  hlo_buffer_release(source);
}

enum { COPIES = 1000000 };

// Copies of copies of an undefined value.
static void* copy_and_fulfil(void* context) {
  hlo_buffer_t *source = make(0), *alias, *last;
  hlo_test_check(hlo_buffer_create_alias(device_memory(0), &kShape, &alias));
  hlo_test_check(hlo_buffer_copy_to_memory(alias, device_memory(0), &last));
  for (int i = 1; i < COPIES; ++i) {
    hlo_buffer_t* copy;
    hlo_test_check(hlo_buffer_copy_to_memory(last, device_memory(0), &copy));
    hlo_buffer_release(last);
    last = copy;
  }
  hlo_test_check(hlo_buffer_fulfill(alias, source, hlo_ok()));
  hlo_buffer_release(source);
  hlo_buffer_release(alias);
  *(hlo_buffer_t**)context = last;
  return NULL;
}

static void long_chains_of_copies_need_little_stack(void** state) {
  (void)state;
  hlo_buffer_t* last = NULL;
  hlo_test_on_small_stack(copy_and_fulfil, &last);
  float want[15], got[15];
  fill(want, 15);
  read_back(last, got, sizeof got);
  assert_memory_equal(got, want, sizeof want);
  hlo_buffer_release(last);
}

// Waiters of an alias get an error if its value will never come.
static void aliases_that_cannot_be_fulfilled_are_errors(void** state) {
  (void)state;
  const int64_t other_dims[1] = {2};
  const hlo_buffer_shape_t other = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = other_dims};
  hlo_buffer_t *deleted = make(0), *transposed = make_columns(), *small, *alias;
  hlo_buffer_delete(deleted);
  hlo_test_check(hlo_buffer_create_uninitialized(device_memory(0), &other, &small));
  hlo_buffer_t* sources[] = {deleted, small, transposed};
  for (int i = 0; i < 3; ++i) {
    hlo_test_check(hlo_buffer_create_alias(device_memory(0), &kShape, &alias));
    hlo_event_t* ready = hlo_buffer_ready_event(alias);
    expect_code(hlo_buffer_fulfill(alias, sources[i], hlo_ok()), HLO_STATUS_INVALID_ARGUMENT);
    assert_true(hlo_event_is_ready(ready));
    assert_int_equal(hlo_status_code(hlo_event_error(ready)), HLO_STATUS_INVALID_ARGUMENT);
    hlo_event_release(ready);
    hlo_buffer_release(alias);
  }
  hlo_buffer_release(transposed);
  hlo_buffer_release(small);
  hlo_buffer_release(deleted);
}

// Waiters that registered before the handle was deleted get the value.
static void deleted_aliases_are_fulfilled_too(void** state) {
  (void)state;
  hlo_buffer_t *source = make(0), *alias;
  hlo_test_check(hlo_buffer_create_alias(device_memory(0), &kShape, &alias));
  float got[15], want[15];
  fill(want, 15);
  hlo_event_t *done = NULL, *ready = hlo_buffer_ready_event(alias);
  hlo_test_check(hlo_buffer_to_host(alias, got, sizeof got, NULL, &done));
  hlo_buffer_delete(alias);
  hlo_test_check(hlo_buffer_fulfill(alias, source, hlo_ok()));
  assert_true(hlo_event_is_ready(ready));
  await_and_release(ready);
  await_and_release(done);
  assert_memory_equal(got, want, sizeof want);
  hlo_buffer_release(alias);
  hlo_buffer_release(source);
}

static void errors_travel_with_buffers(void** state) {
  (void)state;
  hlo_buffer_t *buffer, *copy;
  hlo_test_check(
      hlo_buffer_create_error(device_memory(0), &kShape, hlo_internal_error("broken"), &buffer));
  hlo_test_check(hlo_buffer_copy_to_memory(buffer, device_memory(1), &copy));
  hlo_event_t* ready = hlo_buffer_ready_event(copy);
  hlo_status_t status = hlo_event_await(ready, UINT64_MAX);
  assert_string_equal(hlo_status_message(status), "broken");
  hlo_status_release(status);
  hlo_event_release(ready);
  hlo_buffer_release(copy);
  hlo_buffer_release(buffer);
}

static void impossible_shapes_are_refused(void** state) {
  (void)state;
  hlo_buffer_t* buffer;
  const int64_t huge[2] = {INT64_MAX, 4}, negative[2] = {-1, 4};
  hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 2, .dims = huge};
  expect_code(hlo_buffer_create_uninitialized(device_memory(0), &shape, &buffer),
              HLO_STATUS_INVALID_ARGUMENT);
  shape.dims = negative;
  expect_code(hlo_buffer_create_uninitialized(device_memory(0), &shape, &buffer),
              HLO_STATUS_INVALID_ARGUMENT);
  shape.rank = 65;
  expect_code(hlo_buffer_create_uninitialized(device_memory(0), &shape, &buffer),
              HLO_STATUS_INVALID_ARGUMENT);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  float values[15];
  fill(values, 15);
  for (uint64_t n = 1; n < 100; ++n) {
    hlo_event_t* done = NULL;
    hlo_buffer_t* buffer = NULL;
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_buffer_from_host(device_memory(0), &kShape, values, NULL,
                                               HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, &done, &buffer);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (hlo_status_is_ok(status)) {
      hlo_buffer_release(buffer);
    } else {
      assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
      hlo_status_release(status);
    }
    hlo_event_release(done);
    if (!failed) return;
  }
  fail_msg("the call never succeeded");
}

enum { READERS = 3, DONATIONS = 2000 };

typedef struct reader {
  hlo_storage_t* storage;
  hlo_gate_t* start;
  long sum;
} reader_t;

static void* read_and_end(void* context) {
  reader_t* reader = context;
  hlo_gate_await(reader->start, UINT64_MAX);
  reader->sum = *(volatile long*)hlo_storage_host_pointer(reader->storage);
  hlo_storage_use_end(reader->storage);
  return NULL;
}

static void count_and_overwrite(void* context, hlo_status_t status) {
  (void)status;
  hlo_storage_t* storage = context;
  ++*(long*)hlo_storage_host_pointer(
      storage);  // checked by the thread sanitizer: no reader may be left
}

// Readers end while a donation begins to wait for them: it is called once, after the last reader.
static void donations_wait_for_readers_on_other_threads(void** state) {
  (void)state;
  for (long i = 0; i < DONATIONS / READERS; ++i) {
    hlo_storage_t* storage;
    hlo_test_check(hlo_storage_create(device_memory(0), sizeof(long), &storage));
    *(long*)hlo_storage_host_pointer(storage) = i;
    hlo_gate_t start = {0};
    pthread_t threads[READERS];
    reader_t readers[READERS];
    for (int r = 0; r < READERS; ++r) {
      readers[r] = (reader_t){storage, &start, -1};
      hlo_storage_use_begin(storage);
      pthread_create(&threads[r], NULL, read_and_end, &readers[r]);
    }
    hlo_storage_use_begin(storage);  // of the donation
    hlo_gate_open(&start);
    hlo_storage_when_idle(storage, count_and_overwrite, storage);
    for (int r = 0; r < READERS; ++r) {
      pthread_join(threads[r], NULL);
      assert_int_equal(readers[r].sum, i);
    }
    assert_int_equal(*(long*)hlo_storage_host_pointer(storage), i + 1);
    hlo_storage_use_end(storage);
    hlo_storage_release(storage);
  }
}

static void memory_is_counted(void** state) {
  (void)state;
  hlo_memory_stats_t before, during, after;
  hlo_memory_get_stats(device_memory(1), &before);
  hlo_buffer_t* buffer = make(1);
  hlo_memory_get_stats(device_memory(1), &during);
  hlo_buffer_release(buffer);
  hlo_memory_get_stats(device_memory(1), &after);
  assert_int_equal(during.bytes_in_use - before.bytes_in_use, 60);
  assert_int_equal(after.bytes_in_use, before.bytes_in_use);
  assert_true(after.peak_bytes_in_use >= 60);
}

// A forked child has no workers: every transfer fails, none waits for them.
static void forked_children_are_refused(void** state) {
  (void)state;
  hlo_buffer_t* buffer = make(0);
  pid_t child = fork();
  if (child == 0) {
    float values[15];
    hlo_event_t* done = NULL;
    hlo_buffer_t* copy = NULL;
    hlo_status_t statuses[] = {
        hlo_buffer_to_host(buffer, values, sizeof values, NULL, &done),
        hlo_buffer_copy_raw_to_host(buffer, values, 0, 4, &done),
        hlo_buffer_copy_to_memory(buffer, device_memory(1), &copy),
        hlo_buffer_from_host(device_memory(0), &kShape, values, NULL,
                             HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, &done, &copy)};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; ++i) {
      if (hlo_status_code(statuses[i]) != HLO_STATUS_FAILED_PRECONDITION) _exit((int)i + 1);
    }
    _exit(0);
  }
  int result = -1;
  assert_int_equal(waitpid(child, &result, 0), child);
  assert_int_equal(result, 0);
  hlo_buffer_release(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(host_memory_contracts),
      cmocka_unit_test(zero_copy_aliases_and_tells_when_it_is_over),
      cmocka_unit_test(strides_of_the_host_are_honoured),
      cmocka_unit_test(raw_ranges_are_checked),
      cmocka_unit_test(layouts_of_the_device_are_honoured),
      cmocka_unit_test(zero_copy_needs_the_layout_of_the_device),
      cmocka_unit_test(other_orders_are_refused),
      cmocka_unit_test(deleted_buffers_say_so),
      cmocka_unit_test(external_references_outlive_deletion),
      cmocka_unit_test(copies_land_elsewhere),
      cmocka_unit_test(clients_live_as_long_as_copies_of_their_buffers),
      cmocka_unit_test(donation_takes_and_gives_back),
      cmocka_unit_test(donated_storage_waits_for_readers),
      cmocka_unit_test(alias_buffers_are_fulfilled_once),
      cmocka_unit_test(long_chains_of_copies_need_little_stack),
      cmocka_unit_test(aliases_that_cannot_be_fulfilled_are_errors),
      cmocka_unit_test(deleted_aliases_are_fulfilled_too),
      cmocka_unit_test(errors_travel_with_buffers),
      cmocka_unit_test(impossible_shapes_are_refused),
      cmocka_unit_test(every_failed_allocation_is_survived),
      cmocka_unit_test(donations_wait_for_readers_on_other_threads),
      cmocka_unit_test(memory_is_counted),
      cmocka_unit_test(forked_children_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
