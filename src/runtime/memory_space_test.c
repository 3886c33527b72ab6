// SPDX-License-Identifier: Apache-2.0
// Tests of memory spaces: kinds with limits and statistics of their own.
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
  hlo_test_check(hlo_buffer_copy_to_memory(device, memory_of(client, HLO_MEMORY_UNPINNED_HOST),
                                           &offloaded));
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kinds_have_their_own_limits),
      cmocka_unit_test(kinds_have_their_own_statistics),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
