// SPDX-License-Identifier: Apache-2.0
// Tests of raw buffers: lifetime, ranges, slices, dependencies, and what programs may overwrite.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "runtime/raw_buffer.h"
#include "runtime/storage.h"
#include "runtime/test_util.h"

enum { BYTES = 1024 };

static const int64_t kDims[] = {BYTES};
static const hlo_buffer_shape_t kShape = {.dtype = HLO_DTYPE_U8, .rank = 1, .dims = kDims};
static const hlo_dependencies_t kNone = {0};

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

static hlo_memory_t* memory_of(uint32_t device) {
  return &hlo_client_device(g_client, device)->memories[HLO_MEMORY_DEVICE];
}

static void expect_error(hlo_status_t status, hlo_status_code_t code, const char* part) {
  assert_int_equal(hlo_status_code(status), code);
  if (!strstr(hlo_status_message(status), part)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

static void await(hlo_event_t* event) {
  hlo_test_check(hlo_event_await(event, UINT64_MAX));
  hlo_event_release(event);
}

static void write_bytes(const hlo_raw_buffer_t* raw, const void* data, int64_t offset,
                        int64_t size) {
  hlo_event_t* done;
  hlo_test_check(hlo_raw_buffer_from_host(raw, data, offset, size, kNone, &done));
  await(done);
}

static void read_bytes(const hlo_raw_buffer_t* raw, void* data, int64_t offset, int64_t size) {
  hlo_event_t* done;
  hlo_test_check(hlo_raw_buffer_to_host(raw, data, offset, size, kNone, &done));
  await(done);
}

static hlo_buffer_t* zeros(void) {
  static const uint8_t data[BYTES];
  hlo_buffer_t* buffer;
  hlo_test_check(hlo_buffer_from_host(memory_of(0), &kShape, data, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static hlo_raw_buffer_t raw_of(hlo_buffer_t* buffer) {
  hlo_raw_buffer_t raw;
  hlo_test_check(hlo_raw_buffer_init(buffer, &raw));
  return raw;
}

static int64_t bytes_in_use(void) {
  hlo_memory_stats_t stats;
  hlo_memory_get_stats(memory_of(0), &stats);
  return stats.bytes_in_use;
}

static void the_bytes_outlive_the_buffer(void** state) {
  (void)state;
  const int64_t before = bytes_in_use();
  hlo_buffer_t* buffer = zeros();
  hlo_raw_buffer_t raw = raw_of(buffer), late;
  hlo_buffer_delete(buffer);
  expect_error(hlo_raw_buffer_init(buffer, &late), HLO_STATUS_INVALID_ARGUMENT, "deleted");
  hlo_buffer_release(buffer);
  uint8_t want[BYTES], got[BYTES];
  memset(want, 7, sizeof want);
  write_bytes(&raw, want, 0, BYTES);
  read_bytes(&raw, got, 0, BYTES);
  assert_memory_equal(got, want, BYTES);
  assert_memory_equal(hlo_raw_buffer_host_pointer(&raw), want, BYTES);
  assert_int_equal(bytes_in_use(), before + BYTES);
  hlo_raw_buffer_deinit(&raw);
  assert_int_equal(bytes_in_use(), before);
}

static void ranges_are_checked(void** state) {
  (void)state;
  hlo_buffer_t* buffer = zeros();
  hlo_raw_buffer_t raw = raw_of(buffer), part;
  uint8_t ones[256], got[BYTES], want[BYTES] = {0};
  memset(ones, 1, sizeof ones);
  memset(want + 512, 1, sizeof ones);
  write_bytes(&raw, ones, 512, 256);
  read_bytes(&raw, got, 0, BYTES);
  assert_memory_equal(got, want, BYTES);
  static const int64_t outside[][2] = {{512, 513},     {0, BYTES + 1}, {-1, 1},
                                       {BYTES + 1, 0}, {0, -1},        {INT64_MAX, INT64_MAX}};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; ++i) {
    const int64_t offset = outside[i][0], size = outside[i][1];
    hlo_event_t* done;
    expect_error(hlo_raw_buffer_from_host(&raw, ones, offset, size, kNone, &done),
                 HLO_STATUS_INVALID_ARGUMENT, "1024");
    expect_error(hlo_raw_buffer_to_host(&raw, got, offset, size, kNone, &done),
                 HLO_STATUS_INVALID_ARGUMENT, "1024");
    expect_error(hlo_raw_buffer_slice(&raw, offset, size, &part), HLO_STATUS_INVALID_ARGUMENT,
                 "1024");
  }
  hlo_event_t* done;
  expect_error(hlo_raw_buffer_from_host(&raw, NULL, 0, 1, kNone, &done),
               HLO_STATUS_INVALID_ARGUMENT, "null");
  hlo_test_check(hlo_raw_buffer_from_host(&raw, NULL, BYTES, 0, kNone, &done));
  assert_true(hlo_event_is_ready(done));
  hlo_event_release(done);
  hlo_raw_buffer_deinit(&raw);
  hlo_buffer_release(buffer);
}

typedef struct filler {
  hlo_raw_buffer_t* slice;
  int value;
} filler_t;

static void* fill_slice(void* context) {
  const filler_t* filler = context;
  const uint8_t byte = (uint8_t)filler->value;
  for (int i = 0; i < BYTES / 2; ++i) write_bytes(filler->slice, &byte, i, 1);
  return NULL;
}

static void slices_fill_their_parts(void** state) {
  (void)state;
  hlo_buffer_t* buffer = zeros();
  hlo_raw_buffer_t raw = raw_of(buffer), half[2], nested;
  filler_t fillers[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    hlo_test_check(hlo_raw_buffer_slice(&raw, i * BYTES / 2, BYTES / 2, &half[i]));
    fillers[i] = (filler_t){.slice = &half[i], .value = i + 1};
  }
  hlo_raw_buffer_deinit(&raw);  // the slices keep the bytes
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, fill_slice, &fillers[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  uint8_t got[BYTES], want[BYTES];
  memset(want, 1, BYTES / 2);
  memset(want + BYTES / 2, 2, BYTES / 2);
  hlo_event_t* done;
  hlo_test_check(hlo_buffer_to_host(buffer, got, BYTES, NULL, &done));
  await(done);
  assert_memory_equal(got, want, BYTES);
  expect_error(hlo_raw_buffer_to_host(&half[1], got, 1, BYTES / 2, kNone, &done),
               HLO_STATUS_INVALID_ARGUMENT, "512");
  hlo_test_check(hlo_raw_buffer_slice(&half[1], 500, 12, &nested));
  assert_ptr_equal(hlo_raw_buffer_host_pointer(&nested),
                   (uint8_t*)hlo_raw_buffer_host_pointer(&half[0]) + 1012);
  hlo_buffer_release(buffer);
  for (int i = 0; i < 2; ++i) hlo_raw_buffer_deinit(&half[i]);
  read_bytes(&nested, got, 0, 12);
  assert_memory_equal(got, want + 1012, 12);
  hlo_raw_buffer_deinit(&nested);
}

static void copies_wait_for_their_dependencies(void** state) {
  (void)state;
  hlo_buffer_t* buffer = zeros();
  hlo_raw_buffer_t raw = raw_of(buffer);
  const uint8_t one = 1;
  uint8_t got = 9;
  hlo_event_t* events[] = {hlo_event_create_ready(hlo_ok()), hlo_event_create_promise(),
                           hlo_event_create_promise()};
  hlo_event_t *written, *read, *failed;
  const hlo_dependencies_t both = {events, 2}, second = {&events[2], 1};
  hlo_test_check(hlo_raw_buffer_from_host(&raw, &one, 3, 1, both, &written));
  const hlo_dependencies_t after = {&written, 1};
  hlo_test_check(hlo_raw_buffer_to_host(&raw, &got, 3, 1, after, &read));
  hlo_test_check(hlo_raw_buffer_from_host(&raw, &one, 4, 1, second, &failed));
  assert_false(hlo_event_is_ready(written));
  assert_true(hlo_event_awaits_promise(read));
  assert_int_equal(((uint8_t*)hlo_raw_buffer_host_pointer(&raw))[3], 0);
  hlo_event_set(events[1], hlo_ok());
  await(written);
  await(read);
  assert_int_equal(got, 1);
  hlo_event_set(events[2], hlo_invalid_argument("broken dependency"));
  expect_error(hlo_event_await(failed, UINT64_MAX), HLO_STATUS_INVALID_ARGUMENT,
               "broken dependency");
  assert_int_equal(((uint8_t*)hlo_raw_buffer_host_pointer(&raw))[4], 0);
  hlo_event_release(failed);
  for (int i = 0; i < 3; ++i) hlo_event_release(events[i]);
  hlo_raw_buffer_deinit(&raw);
  hlo_buffer_release(buffer);
}

/// A copy in flight needs neither the raw buffer nor the buffer.
static void copies_hold_the_bytes(void** state) {
  (void)state;
  const int64_t before = bytes_in_use();
  hlo_buffer_t* buffer = zeros();
  hlo_raw_buffer_t raw = raw_of(buffer);
  uint8_t got[BYTES];
  memset(got, 1, BYTES);
  static const uint8_t want[BYTES];
  hlo_event_t *promise = hlo_event_create_promise(), *read, *written;
  const hlo_dependencies_t wait = {&promise, 1};
  hlo_test_check(hlo_raw_buffer_to_host(&raw, got, 0, BYTES, wait, &read));
  hlo_test_check(hlo_raw_buffer_from_host(&raw, want, 0, BYTES, wait, &written));
  hlo_raw_buffer_deinit(&raw);
  hlo_buffer_release(buffer);
  hlo_event_set(promise, hlo_ok());
  hlo_event_release(promise);
  await(read);
  await(written);
  assert_memory_equal(got, want, BYTES);
  assert_int_equal(bytes_in_use(), before);
}

static void raw_buffers_copy_to_each_other(void** state) {
  (void)state;
  enum { PART = BYTES / 2, SHIFT = 100 };
  hlo_buffer_t *buffer = zeros(), *other = zeros();
  hlo_raw_buffer_t raw = raw_of(buffer), target = raw_of(other), from, to, small;
  uint8_t want[BYTES], got[BYTES];
  for (int i = 0; i < BYTES; ++i) want[i] = (uint8_t)(i * 7);
  write_bytes(&raw, want, 0, BYTES);
  hlo_event_t* done;
  hlo_test_check(hlo_raw_buffer_copy(&raw, &target, kNone, &done));
  await(done);
  read_bytes(&target, got, 0, BYTES);
  assert_memory_equal(got, want, BYTES);
  hlo_test_check(hlo_raw_buffer_slice(&raw, 0, PART, &from));
  hlo_test_check(hlo_raw_buffer_slice(&raw, SHIFT, PART, &to));
  hlo_test_check(hlo_raw_buffer_copy(&from, &to, kNone, &done));
  await(done);
  read_bytes(&to, got, 0, PART);
  assert_memory_equal(got, want, PART);
  hlo_test_check(hlo_raw_buffer_slice(&target, 0, PART - 1, &small));
  expect_error(hlo_raw_buffer_copy(&from, &small, kNone, &done), HLO_STATUS_INVALID_ARGUMENT,
               "512 bytes at offset 0 are outside a raw buffer of 511 bytes");
  hlo_raw_buffer_t* all[] = {&raw, &target, &from, &to, &small};
  for (int i = 0; i < 5; ++i) hlo_raw_buffer_deinit(all[i]);
  hlo_buffer_release(buffer);
  hlo_buffer_release(other);
}

/// The user fills a buffer whose bytes exist; the value of an alias must be awaited.
static void pending_values(void** state) {
  (void)state;
  hlo_storage_t* storage;
  hlo_event_t* promise = hlo_event_create_promise();
  hlo_buffer_t *filled, *alias;
  hlo_test_check(hlo_storage_create(memory_of(0), BYTES, &storage));
  hlo_test_check(hlo_buffer_create_over(memory_of(0), &kShape, storage, promise, &filled));
  hlo_raw_buffer_t raw = raw_of(filled);
  uint8_t data[BYTES], got[BYTES];
  memset(data, 3, BYTES);
  write_bytes(&raw, data, 0, BYTES);
  hlo_event_set(promise, hlo_ok());
  hlo_event_release(promise);
  hlo_raw_buffer_deinit(&raw);

  hlo_test_check(hlo_buffer_create_alias(memory_of(0), &kShape, &alias));
  raw = raw_of(alias);
  assert_null(hlo_raw_buffer_host_pointer(&raw));
  hlo_event_t* read;
  hlo_test_check(hlo_raw_buffer_to_host(&raw, got, 0, BYTES, kNone, &read));
  assert_false(hlo_event_is_ready(read));
  hlo_test_check(hlo_buffer_fulfill(alias, filled, hlo_ok()));
  await(read);
  assert_memory_equal(got, data, BYTES);
  assert_non_null(hlo_raw_buffer_host_pointer(&raw));
  expect_error(hlo_raw_buffer_from_host(&raw, data, 0, 5, kNone, &read),
               HLO_STATUS_FAILED_PRECONDITION, "cannot write 5 bytes at offset 0");
  hlo_raw_buffer_deinit(&raw);
  hlo_storage_release(storage);
  hlo_buffer_release(filled);
  hlo_buffer_release(alias);
}

static void failed_values_fail_copies(void** state) {
  (void)state;
  hlo_buffer_t* buffer;
  hlo_test_check(
      hlo_buffer_create_error(memory_of(0), &kShape, hlo_invalid_argument("broken"), &buffer));
  hlo_raw_buffer_t raw = raw_of(buffer);
  uint8_t got = 5;
  hlo_event_t* done;
  hlo_test_check(hlo_raw_buffer_to_host(&raw, &got, 0, 1, kNone, &done));
  expect_error(hlo_event_await(done, UINT64_MAX), HLO_STATUS_INVALID_ARGUMENT, "broken");
  assert_int_equal(got, 5);
  assert_null(hlo_raw_buffer_host_pointer(&raw));
  hlo_event_release(done);
  hlo_raw_buffer_deinit(&raw);
  hlo_buffer_release(buffer);
}

/// A program that takes the buffer by donation writes to other memory.
static void donation_spares_the_bytes(void** state) {
  (void)state;
  hlo_buffer_t* buffer = zeros();
  hlo_raw_buffer_t raw = raw_of(buffer);
  hlo_buffer_use_t use;
  hlo_test_check(hlo_buffer_donate(buffer, &use));
  assert_false(use.is_donated);
  hlo_buffer_use_end(&use);
  hlo_raw_buffer_deinit(&raw);
  hlo_buffer_release(buffer);
}

/// Every allocation of a copy fails once; nothing leaks.
static void exhausted_memory(void** state) {
  (void)state;
  hlo_buffer_t* buffer = zeros();
  hlo_raw_buffer_t raw = raw_of(buffer);
  bool failed = true;
  for (uint64_t n = 1; failed; ++n) {
    uint8_t got;
    hlo_event_t* done = NULL;
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_raw_buffer_to_host(&raw, &got, 0, 1, kNone, &done);
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (hlo_status_is_ok(status)) {
      status = hlo_event_await(done, UINT64_MAX);
      hlo_event_release(done);
    }
    assert_int_equal(hlo_status_code(status), failed ? HLO_STATUS_RESOURCE_EXHAUSTED : 0);
    hlo_status_release(status);
  }
  hlo_raw_buffer_deinit(&raw);
  hlo_buffer_release(buffer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_bytes_outlive_the_buffer),
      cmocka_unit_test(ranges_are_checked),
      cmocka_unit_test(slices_fill_their_parts),
      cmocka_unit_test(copies_wait_for_their_dependencies),
      cmocka_unit_test(copies_hold_the_bytes),
      cmocka_unit_test(raw_buffers_copy_to_each_other),
      cmocka_unit_test(pending_values),
      cmocka_unit_test(failed_values_fail_copies),
      cmocka_unit_test(donation_spares_the_bytes),
      cmocka_unit_test(exhausted_memory),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
