// SPDX-License-Identifier: Apache-2.0
// Tests of new values in the memory of buffers that are given up for it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/test_util.h"
#include "runtime/buffer.h"
#include "runtime/test_util.h"

enum { COUNT = 512 << 10, BYTES = COUNT * sizeof(float) };  // large enough to be copied by workers
static hlo_client_t* g_client;

static int setup(void** state) {
  (void)state;
  hlo_client_options_t options = {.thread_count = 1};
  return hlo_status_is_ok(hlo_client_create(&options, &g_client)) ? 0 : 1;
}

static int teardown(void** state) {
  (void)state;
  hlo_client_release(g_client);
  return 0;
}

static hlo_memory_t* memory_of(hlo_client_t* client, hlo_memory_kind_t kind) {
  return &hlo_client_device(client, 0)->memories[kind];
}

static const int64_t kDims[] = {COUNT};
static const hlo_buffer_shape_t kShape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kDims};
static float g_values[COUNT], g_got[COUNT];

static const float* values_of(float value) {
  for (int i = 0; i < COUNT; ++i) g_values[i] = value;
  return g_values;
}

static hlo_buffer_t* make_in(hlo_memory_t* memory, float value) {
  hlo_buffer_t* buffer = NULL;
  hlo_test_check(hlo_buffer_from_host(memory, &kShape, values_of(value), NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  return buffer;
}

static hlo_buffer_t* make(float value) {
  return make_in(memory_of(g_client, HLO_MEMORY_DEVICE), value);
}

static void* address_of(hlo_buffer_t* buffer) {
  void* address = NULL;
  hlo_test_check(hlo_buffer_data_pointer(buffer, &address));
  return address;
}

static void expect_all(hlo_buffer_t* buffer, float value) {
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_to_host(buffer, g_got, BYTES, NULL, &done));
  hlo_test_check(hlo_event_await(done, UINT64_MAX));
  hlo_event_release(done);
  for (int i = 0; i < COUNT; ++i) assert_true(g_got[i] == value);
}

static void expect_code(hlo_status_t status, hlo_status_code_t code) {
  assert_int_equal(hlo_status_code(status), code);
  hlo_status_release(status);
}

static hlo_buffer_t* overwrite_with(hlo_buffer_t* target, float value) {
  hlo_buffer_t* fresh = NULL;
  hlo_test_check(hlo_buffer_overwrite_from_host(target, values_of(value), BYTES,
                                                HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &fresh));
  return fresh;
}

static void uploads_use_the_memory_of_the_target(void** state) {
  (void)state;
  hlo_buffer_t* old = make(1);
  void* address = address_of(old);
  hlo_buffer_t* fresh = overwrite_with(old, 2);
  memset(g_values, 0, BYTES);  // lent for the call only
  assert_true(hlo_buffer_is_deleted(old));
  hlo_buffer_t* last = overwrite_with(fresh, 3);  // at once: the first copy may be pending
  assert_true(hlo_buffer_is_deleted(fresh));
  expect_all(last, 3);
  assert_ptr_equal(address_of(last), address);
  hlo_buffer_release(old);
  hlo_buffer_release(fresh);
  fresh = NULL;
  hlo_event_t* done = NULL;
  hlo_test_check(hlo_buffer_overwrite_from_host(
      last, values_of(4), BYTES, HLO_HOST_IMMUTABLE_UNTIL_TRANSFER_COMPLETES, &done, &fresh));
  hlo_test_check(hlo_event_await(done, UINT64_MAX));
  hlo_event_release(done);
  values_of(0);
  expect_all(fresh, 4);
  assert_ptr_equal(address_of(fresh), address);
  hlo_buffer_release(last);
  hlo_buffer_release(fresh);
}

// A launch whose input becomes an error leaves results without memory.
static void results_of_failed_launches_have_room(void** state) {
  (void)state;
  hlo_memory_t* memory = memory_of(g_client, HLO_MEMORY_DEVICE);
  hlo_buffer_t *failed = NULL, *result = NULL, **results[] = {&result};
  hlo_test_check(hlo_buffer_create_alias(memory, &kShape, &failed));
  hlo_loaded_t* loaded = hlo_test_load(
      g_client,
      "func.func @main(%x: tensor<524288xf32>) -> tensor<524288xf32> {\n"
      "  %0 = stablehlo.add %x, %x : tensor<524288xf32>\n  return %0 : tensor<524288xf32>\n}\n",
      NULL, 1);
  hlo_buffer_t* const* rows[] = {&failed};
  hlo_test_check(hlo_loaded_execute(
      loaded,
      &(hlo_launch_t){
          .device_count = 1, .arguments = rows, .argument_count = 1, .out_results = results}));
  hlo_test_check(hlo_buffer_fulfill(failed, NULL, hlo_status_create(HLO_STATUS_DATA_LOSS, "gone")));
  hlo_buffer_t* fresh = overwrite_with(result, 7);
  expect_all(fresh, 7);
  hlo_buffer_release(failed);
  hlo_buffer_release(result);
  hlo_buffer_release(fresh);
  hlo_loaded_release(loaded);
}

// A reader that was queued before sees the old value.
static void copies_wait_for_earlier_readers(void** state) {
  (void)state;
  hlo_buffer_t* old = make(1);
  void* address = address_of(old);
  hlo_test_hold_t hold;
  hlo_test_hold_worker(hlo_client_pool(g_client), &hold);
  static float seen[COUNT];
  hlo_event_t* read = NULL;
  hlo_test_check(hlo_buffer_to_host(old, seen, BYTES, NULL, &read));
  hlo_buffer_t* fresh = overwrite_with(old, 2);
  assert_false(hlo_event_is_ready(read));
  hlo_gate_open(&hold.gate);
  hlo_test_check(hlo_event_await(read, UINT64_MAX));
  hlo_event_release(read);
  for (int i = 0; i < COUNT; ++i) assert_true(seen[i] == 1);
  expect_all(fresh, 2);
  assert_ptr_equal(address_of(fresh), address);
  hlo_buffer_release(old);
  hlo_buffer_release(fresh);
}

static void copies_between_kinds_and_clients(void** state) {
  (void)state;
  hlo_client_t* other = NULL;
  hlo_test_check(hlo_client_create(&(hlo_client_options_t){.thread_count = 1}, &other));
  hlo_buffer_t* sources[] = {make(1), make_in(memory_of(other, HLO_MEMORY_DEVICE), 2)};
  hlo_buffer_t* target = make_in(memory_of(g_client, HLO_MEMORY_PINNED_HOST), 0);
  void* address = address_of(target);
  for (int i = 0; i < 2; ++i) {
    hlo_buffer_t* fresh = NULL;
    hlo_test_check(hlo_buffer_overwrite(target, sources[i], &fresh));
    hlo_buffer_release(target);
    target = fresh;
    expect_all(target, (float)(i + 1));
    assert_ptr_equal(address_of(target), address);
    assert_int_equal(hlo_buffer_memory(target)->kind, HLO_MEMORY_PINNED_HOST);
    assert_false(hlo_buffer_is_deleted(sources[i]));
    hlo_buffer_release(sources[i]);
  }
  hlo_buffer_release(target);
  hlo_client_release(other);
}

static void refused_values_leave_the_target_valid(void** state) {
  (void)state;
  hlo_buffer_t *target = make(1), *fresh = NULL, *source = NULL;
  expect_code(hlo_buffer_overwrite_from_host(target, g_values, BYTES - 4,
                                             HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &fresh),
              HLO_STATUS_INVALID_ARGUMENT);
  const int64_t dims[] = {COUNT / 2};
  const hlo_buffer_shape_t half = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = dims};
  hlo_test_check(
      hlo_buffer_create_uninitialized(memory_of(g_client, HLO_MEMORY_DEVICE), &half, &source));
  expect_code(hlo_buffer_overwrite(target, source, &fresh), HLO_STATUS_INVALID_ARGUMENT);
  expect_code(hlo_buffer_overwrite(target, target, &fresh), HLO_STATUS_INVALID_ARGUMENT);
  expect_all(target, 1);
  hlo_buffer_delete(target);
  expect_code(hlo_buffer_overwrite_from_host(target, g_values, BYTES,
                                             HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &fresh),
              HLO_STATUS_INVALID_ARGUMENT);
  assert_null(fresh);
  hlo_buffer_release(source);
  hlo_buffer_release(target);
}

static void count_release(void* context) {
  ++*(int*)context;
}

// Bytes that nobody may overwrite stay as they are: the new value gets memory of its own.
static void protected_bytes_are_not_overwritten(void** state) {
  (void)state;
  static _Alignas(64) float foreign[COUNT];
  hlo_memory_t* memory = memory_of(g_client, HLO_MEMORY_DEVICE);
  for (int is_mutable = 0; is_mutable < 2; ++is_mutable) {
    foreign[0] = 7;
    int releases = 0;
    hlo_storage_t* storage = NULL;
    hlo_buffer_t* target = NULL;
    hlo_test_check(hlo_storage_create_foreign(memory, foreign, BYTES, is_mutable, count_release,
                                              &releases, &storage));
    hlo_test_check(hlo_buffer_create_over(memory, &kShape, storage, NULL, &target));
    hlo_storage_release(storage);
    hlo_buffer_t* fresh = overwrite_with(target, 2);
    expect_all(fresh, 2);
    assert_true(foreign[0] == (is_mutable ? 2 : 7));
    // The owner gets its memory back with the last buffer that has it.
    assert_int_equal(releases, is_mutable ? 0 : 1);
    hlo_buffer_release(fresh);
    hlo_buffer_release(target);
    assert_int_equal(releases, 1);
  }
  hlo_buffer_t* held = make(1);
  hlo_test_check(hlo_buffer_external_retain(held));
  float* bytes = address_of(held);
  hlo_buffer_t* fresh = overwrite_with(held, 2);
  expect_all(fresh, 2);
  assert_true(bytes[0] == 1);
  hlo_test_check(hlo_buffer_external_release(held));
  hlo_buffer_release(held);
  hlo_buffer_release(fresh);
}

static void errors_of_values(void** state) {
  (void)state;
  hlo_memory_t* memory = memory_of(g_client, HLO_MEMORY_DEVICE);
  hlo_buffer_t *bad = NULL, *target = make(1), *fresh = NULL;
  hlo_test_check(hlo_buffer_create_error(memory, &kShape, hlo_internal_error("the source"), &bad));
  hlo_test_check(hlo_buffer_overwrite(target, bad, &fresh));
  hlo_event_t* ready = hlo_buffer_ready_event(fresh);
  expect_code(hlo_event_await(ready, UINT64_MAX), HLO_STATUS_INTERNAL);
  hlo_event_release(ready);
  // The error of the old value does not matter.
  hlo_buffer_t* good = overwrite_with(fresh, 5);
  expect_all(good, 5);
  hlo_buffer_release(bad);
  hlo_buffer_release(target);
  hlo_buffer_release(fresh);
  hlo_buffer_release(good);
}

static void every_allocation_may_fail(void** state) {
  (void)state;
  int successes = 0;  // the last ones: both kinds of copies succeed
  for (uint64_t n = 2; successes < 2; ++n) {
    hlo_buffer_t *target = make(1), *source = make(2), *fresh = NULL;
    hlo_mem_fail_nth(n / 2);
    hlo_status_t status =
        n % 2 ? hlo_buffer_overwrite(target, source, &fresh)
              : hlo_buffer_overwrite_from_host(target, values_of(2), BYTES,
                                               HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &fresh);
    successes = hlo_mem_failed() ? 0 : successes + 1;
    hlo_mem_fail_nth(0);
    if (fresh) {  // the copy may lack memory as well
      hlo_event_t* ready = hlo_buffer_ready_event(fresh);
      status = hlo_event_await(ready, UINT64_MAX);
      hlo_event_release(ready);
    }
    if (hlo_status_is_ok(status)) {
      expect_all(fresh, 2);
    } else {
      if (!fresh) expect_all(target, 1);
      assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
    }
    hlo_status_release(status);
    hlo_buffer_release(fresh);
    hlo_buffer_release(source);
    hlo_buffer_release(target);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(uploads_use_the_memory_of_the_target),
      cmocka_unit_test(results_of_failed_launches_have_room),
      cmocka_unit_test(copies_wait_for_earlier_readers),
      cmocka_unit_test(copies_between_kinds_and_clients),
      cmocka_unit_test(refused_values_leave_the_target_valid),
      cmocka_unit_test(protected_bytes_are_not_overwritten),
      cmocka_unit_test(errors_of_values),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
