// SPDX-License-Identifier: Apache-2.0
// Tests of memory spaces: kinds with limits and statistics of their own, the message of exhausted
// memory with its owners.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_util.h"
#include "runtime/buffer.h"
#include "runtime/test_util.h"

enum { MIB = 1 << 20, BLOCK_MIB = 12, BLOCK_BYTES = BLOCK_MIB * MIB };

static hlo_client_t* create_client(hlo_client_options_t options) {
  hlo_client_t* client = NULL;
  hlo_test_check(hlo_client_create(&options, &client));
  return client;
}

static hlo_memory_t* memory_of(hlo_client_t* client, hlo_memory_kind_t kind) {
  return &hlo_client_device(client, 0)->memories[kind];
}

static const int64_t kBlockDims[] = {BLOCK_BYTES};
static const hlo_buffer_shape_t kBlock = {.dtype = HLO_DTYPE_U8, .rank = 1, .dims = kBlockDims};

static hlo_buffer_t* make_block(hlo_client_t* client, hlo_memory_kind_t kind) {
  hlo_buffer_t* buffer = NULL;
  hlo_test_check(hlo_buffer_create_uninitialized(memory_of(client, kind), &kBlock, &buffer));
  return buffer;
}

static void expect_exhausted(hlo_client_t* client, hlo_memory_kind_t kind, const char* words) {
  hlo_buffer_t* buffer = NULL;
  hlo_status_t status = hlo_buffer_create_uninitialized(memory_of(client, kind), &kBlock, &buffer);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  if (!strstr(hlo_status_message(status), words)) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
  assert_null(buffer);
}

static hlo_memory_stats_t stats_of(hlo_client_t* client, hlo_memory_kind_t kind) {
  hlo_memory_stats_t stats;
  hlo_memory_get_stats(memory_of(client, kind), &stats);
  return stats;
}

// A full device has room in host memory, and the reverse.
static void kinds_have_their_own_limits(void** state) {
  (void)state;
  hlo_client_t* client = create_client((hlo_client_options_t){
      .thread_count = 1, .memory_mib = 16, .host_memory_mib = 32, .kept_mib = -1});
  hlo_buffer_t* device = make_block(client, HLO_MEMORY_DEVICE);
  expect_exhausted(client, HLO_MEMORY_DEVICE, "memory space device of device 0");
  hlo_buffer_t* pinned[] = {make_block(client, HLO_MEMORY_PINNED_HOST),
                            make_block(client, HLO_MEMORY_PINNED_HOST)};
  expect_exhausted(client, HLO_MEMORY_PINNED_HOST, "memory space pinned_host of device 0");
  hlo_buffer_t* unpinned = make_block(client, HLO_MEMORY_UNPINNED_HOST);
  // Offloading makes room on the device.
  hlo_buffer_t* offloaded = NULL;
  hlo_test_check(
      hlo_buffer_copy_to_memory(device, memory_of(client, HLO_MEMORY_UNPINNED_HOST), &offloaded));
  hlo_buffer_release(device);
  hlo_event_t* copied = hlo_buffer_ready_event(offloaded);
  hlo_test_check(hlo_event_await(copied, UINT64_MAX));
  hlo_event_release(copied);
  hlo_buffer_release(make_block(client, HLO_MEMORY_DEVICE));
  hlo_buffer_release(offloaded);
  hlo_buffer_release(unpinned);
  hlo_buffer_release(pinned[0]);
  hlo_buffer_release(pinned[1]);
  hlo_client_release(client);
}

static void kinds_have_their_own_statistics(void** state) {
  (void)state;
  hlo_client_t* client = create_client((hlo_client_options_t){
      .thread_count = 1, .memory_mib = 64, .host_memory_mib = 32, .kept_mib = -1});
  hlo_buffer_t* first = make_block(client, HLO_MEMORY_PINNED_HOST);
  hlo_buffer_t* second = make_block(client, HLO_MEMORY_PINNED_HOST);
  hlo_buffer_release(first);
  hlo_memory_stats_t stats = stats_of(client, HLO_MEMORY_PINNED_HOST);
  assert_int_equal(stats.bytes_in_use, BLOCK_BYTES);
  assert_int_equal(stats.peak_bytes_in_use, 2 * BLOCK_BYTES);
  assert_int_equal(stats.allocation_count, 2);
  assert_int_equal(stats.largest_allocation_bytes, BLOCK_BYTES);
  assert_int_equal(stats.reserved_bytes, BLOCK_BYTES);
  assert_int_equal(stats.peak_reserved_bytes, 2 * BLOCK_BYTES);
  assert_int_equal(stats.limit_bytes, 32 * MIB);
  hlo_memory_clear_stats(memory_of(client, HLO_MEMORY_PINNED_HOST));
  stats = stats_of(client, HLO_MEMORY_PINNED_HOST);
  assert_int_equal(stats.peak_bytes_in_use, BLOCK_BYTES);
  assert_int_equal(stats.peak_reserved_bytes, BLOCK_BYTES);
  stats = stats_of(client, HLO_MEMORY_DEVICE);
  assert_int_equal(stats.bytes_in_use, 0);
  assert_int_equal(stats.peak_reserved_bytes, 0);
  assert_int_equal(stats.limit_bytes, 64 * MIB);
  assert_int_equal(stats_of(client, HLO_MEMORY_UNPINNED_HOST).peak_bytes_in_use, 0);
  hlo_buffer_release(second);
  hlo_client_release(client);
}

// Freed memory that is kept for reuse makes room for other sizes and kinds.
static void kept_memory_is_freed_for_requests(void** state) {
  (void)state;
  hlo_client_t* client =
      create_client((hlo_client_options_t){.thread_count = 1, .memory_mib = 16, .kept_mib = 16});
  const int64_t dims[] = {5 * MIB};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_U8, .rank = 1, .dims = dims};
  hlo_buffer_t* small[3];
  for (int i = 0; i < 3; ++i) {
    hlo_test_check(
        hlo_buffer_create_uninitialized(memory_of(client, HLO_MEMORY_DEVICE), &shape, &small[i]));
  }
  for (int i = 0; i < 3; ++i) hlo_buffer_release(small[i]);
  assert_int_equal(stats_of(client, HLO_MEMORY_DEVICE).reserved_bytes, 15 * MIB);
  hlo_buffer_release(make_block(client, HLO_MEMORY_DEVICE));
  hlo_client_release(client);
}

static const char kBlockProgram[] =
    "module @blocks {\n"
    "  func.func @main() -> (tensor<12582912xui8>, tensor<12582912xui8>) {\n"
    "    %0 = stablehlo.iota dim = 0 : tensor<12582912xui8>\n"
    "    %1 = stablehlo.not %0 : tensor<12582912xui8>\n"
    "    return %0, %1 : tensor<12582912xui8>, tensor<12582912xui8>\n"
    "  }\n"
    "}\n";

// Runs the program to its end; the error of the launch or of its results.
static hlo_status_t run_blocks(hlo_loaded_t* loaded, hlo_buffer_t** results) {
  hlo_buffer_t** const result_rows[] = {results};
  hlo_status_t status = hlo_loaded_execute(
      loaded, &(hlo_launch_t){.device_count = 1, .out_results = (hlo_buffer_t***)result_rows});
  if (!hlo_status_is_ok(status)) return status;
  hlo_event_t* ready = hlo_buffer_ready_event(results[0]);
  status = hlo_event_await(ready, UINT64_MAX);
  hlo_event_release(ready);
  for (int i = 0; i < 2 && !hlo_status_is_ok(status); ++i) hlo_buffer_release(results[i]);
  return status;
}

static void expect_map(hlo_status_t status, const char* map) {
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  const char* lines = strchr(hlo_status_message(status), '\n');
  if (!lines || strcmp(lines + 1, map) != 0) fail_msg("%s", hlo_status_message(status));
  hlo_status_release(status);
}

// The message names the owners of the memory, the largest first, and the sizes requested.
static void exhaustion_names_the_owners_of_memory(void** state) {
  (void)state;
  hlo_client_t* client =
      create_client((hlo_client_options_t){.thread_count = 1, .memory_mib = 40, .kept_mib = -1});
  hlo_loaded_t* loaded = hlo_test_load(client, kBlockProgram, NULL, 1);
  hlo_buffer_t* results[2];
  hlo_test_check(run_blocks(loaded, results));
  hlo_buffer_t* array = make_block(client, HLO_MEMORY_DEVICE);
  hlo_buffer_t* offloaded = make_block(client, HLO_MEMORY_PINNED_HOST);
  hlo_buffer_t* none[2] = {0};
  expect_map(hlo_buffer_create_uninitialized(memory_of(client, HLO_MEMORY_DEVICE), &kBlock, none),
             "memory in use:\n"
             "  25165824 bytes of kind device in 2 blocks: results of blocks\n"
             "  12582912 bytes of kind device in 1 block: arrays from the host and copies\n"
             "  12582912 bytes of kind pinned_host in 1 block: arrays from the host and copies");
  hlo_buffer_release(results[0]);
  expect_map(run_blocks(loaded, none),
             "blocks needs 25165824 bytes on a device, 0 of them for temporaries\n"
             "memory in use:\n"
             "  12582912 bytes of kind device in 1 block: results of blocks\n"
             "  12582912 bytes of kind device in 1 block: arrays from the host and copies\n"
             "  12582912 bytes of kind pinned_host in 1 block: arrays from the host and copies");
  // Nothing is lost: without the array the launch succeeds, also after the executable is gone.
  hlo_buffer_release(array);
  hlo_test_check(run_blocks(loaded, none));
  hlo_loaded_release(loaded);
  hlo_buffer_release(none[0]);
  hlo_buffer_release(none[1]);
  hlo_buffer_release(results[1]);
  expect_map(
      hlo_buffer_create_uninitialized(
          memory_of(client, HLO_MEMORY_DEVICE),
          &(hlo_buffer_shape_t){.dtype = HLO_DTYPE_U8, .rank = 1, .dims = (int64_t[]){64 * MIB}},
          none),
      "memory in use:\n"
      "  12582912 bytes of kind pinned_host in 1 block: arrays from the host and copies");
  hlo_buffer_release(offloaded);
  hlo_client_release(client);
}

static const char kTemporaryProgram[] =
    "module @products {\n"
    "  func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {\n"
    "    %0 = stablehlo.dot %x, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>)"
    " -> tensor<1024x1024xf32>\n"
    "    %1 = stablehlo.dot %0, %x : (tensor<1024x1024xf32>, tensor<1024x1024xf32>)"
    " -> tensor<1024x1024xf32>\n"
    "    return %1 : tensor<1024x1024xf32>\n"
    "  }\n"
    "}\n";

static void exhaustion_names_temporaries(void** state) {
  (void)state;
  hlo_client_t* client =
      create_client((hlo_client_options_t){.thread_count = 1, .memory_mib = 10, .kept_mib = -1});
  hlo_loaded_t* loaded = hlo_test_load(client, kTemporaryProgram, NULL, 1);
  const int64_t dims[] = {1024, 1024};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_F32, .rank = 2, .dims = dims};
  hlo_buffer_t *x = NULL, *result = NULL;
  hlo_test_check(hlo_buffer_create_uninitialized(memory_of(client, HLO_MEMORY_DEVICE), &shape, &x));
  hlo_buffer_t* const row[] = {x};
  hlo_buffer_t* const* const rows[] = {row};
  hlo_buffer_t** result_rows[] = {&result};
  hlo_status_t status = hlo_loaded_execute(
      loaded,
      &(hlo_launch_t){
          .device_count = 1, .arguments = rows, .argument_count = 1, .out_results = result_rows});
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  const char* message = hlo_status_message(status);
  if (!strstr(message, "temporaries of products on device 0") ||
      !strstr(message, "4194304 bytes of kind device in 1 block: arrays")) {
    fail_msg("%s", message);
  }
  hlo_status_release(status);
  hlo_buffer_release(x);
  hlo_loaded_release(loaded);
  hlo_client_release(client);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds_have_their_own_limits),
      cmocka_unit_test(kinds_have_their_own_statistics),
      cmocka_unit_test(kept_memory_is_freed_for_requests),
      cmocka_unit_test(exhaustion_names_the_owners_of_memory),
      cmocka_unit_test(exhaustion_names_temporaries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
