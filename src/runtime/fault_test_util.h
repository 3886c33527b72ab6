// SPDX-License-Identifier: Apache-2.0
// Helpers of tests that inject faults into the collectives of programs: each operation of a device,
// in turn, is late, fails, is cancelled, or never begins. Every launch ends, errors name the
// device, the op and its source line, and the next launch has the results of the first.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "ir/module.h"
#include "runtime/test_util.h"

enum { HLO_FAULT_DEVICES = 8, HLO_FAULT_LAUNCH_ID = 9 };

typedef enum hlo_test_fault {
  HLO_TEST_FAULT_NONE,
  HLO_TEST_FAULT_LATE,
  HLO_TEST_FAULT_ERROR,
  HLO_TEST_FAULT_CANCELLED,
  HLO_TEST_FAULT_LOST,
  HLO_TEST_FAULT_KINDS
} hlo_test_fault_t;

/// One fault of a launch: at operation `at` of `victim`.
typedef struct hlo_fault_plan {
  hlo_client_t* client;
  hlo_test_fault_t fault;
  uint32_t victim, at;
  atomic_uint operations[HLO_FAULT_DEVICES];  // begun in this launch
  atomic_bool has_struck;
  char place[512];  // of the op that was struck: source line and name
} hlo_fault_plan_t;

static inline hlo_comm_fault_t hlo_fault_choose(void* context, uint64_t run_id, uint32_t process,
                                                const void* label) {
  (void)run_id;
  hlo_fault_plan_t* plan = context;
  const uint32_t number = atomic_fetch_add(&plan->operations[process], 1);
  if (process != plan->victim || number != plan->at) return HLO_COMM_FAULT_NONE;
  if (plan->fault == HLO_TEST_FAULT_NONE) return HLO_COMM_FAULT_NONE;
  HLO_SCOPED_STRBUF text = {0};
  hlo_node_print_location(label, &text);
  snprintf(plan->place, sizeof plan->place, "%s", hlo_strbuf_text(&text));
  atomic_store(&plan->has_struck, true);
  switch (plan->fault) {
    case HLO_TEST_FAULT_LATE: usleep(500); return HLO_COMM_FAULT_NONE;
    case HLO_TEST_FAULT_CANCELLED:
      assert_true(hlo_launch_poison(hlo_client_device(plan->client, process), HLO_FAULT_LAUNCH_ID,
                                    hlo_internal_error("device %u is gone", process)));
      return HLO_COMM_FAULT_NONE;
    case HLO_TEST_FAULT_LOST: return HLO_COMM_FAULT_LOST;
    default: return HLO_COMM_FAULT_ERROR;
  }
}

/// A program on the first devices of a client whose collectives follow a plan.
typedef struct hlo_fault_bench {
  hlo_fault_plan_t plan;
  hlo_comm_faults_t faults;
  hlo_client_t* client;
  hlo_loaded_t* loaded;
  const hlo_executable_t* executable;
  uint32_t device_count;
  hlo_buffer_t** arguments;  // [device][argument]
  hlo_buffer_t** results;    // [device][result]
  uint8_t* want;             // the results of a launch without faults, one after the other
} hlo_fault_bench_t;

/// Makes small integers, the same on all devices: an argument may be replicated.
static inline hlo_buffer_t* hlo_fault_argument(hlo_fault_bench_t* b, uint32_t device, uint32_t i) {
  const hlo_signature_entry_t* entry = &b->executable->arguments[i];
  const hlo_buffer_shape_t shape = {
      .dtype = entry->dtype, .rank = entry->rank, .dims = entry->dims};
  uint8_t* data = hlo_mem_alloc_zeroed(entry->size_bytes + 1);
  assert_non_null(data);
  const size_t width = hlo_dtype_size_bytes(entry->dtype);
  for (int64_t k = 0; k < entry->element_count; ++k) {
    uint8_t* element = data + (size_t)k * width;
    const int64_t value = (k + i) % 3;
    if (hlo_dtype_is_integer(entry->dtype)) {
      hlo_dtype_store_int64(entry->dtype, element, value);
    } else if (hlo_dtype_is_float(entry->dtype)) {
      hlo_dtype_store_double(entry->dtype, element, (double)value - 1);
    }
  }
  hlo_buffer_t* buffer = NULL;
  hlo_memory_t* memory = hlo_loaded_argument_memory(b->loaded, device, i);
  hlo_test_check(hlo_buffer_from_host(memory, &shape, data, NULL,
                                      HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer));
  hlo_mem_free(data);
  return buffer;
}

static inline size_t hlo_fault_result_bytes(const hlo_fault_bench_t* b) {
  size_t bytes = 0;
  for (uint32_t r = 0; r < b->executable->result_count; ++r) {
    bytes += b->executable->results[r].size_bytes;
  }
  return bytes;
}

static inline void hlo_fault_launch(hlo_fault_bench_t* b) {
  const uint32_t in = b->executable->argument_count, out = b->executable->result_count;
  hlo_buffer_t* const* argument_rows[HLO_FAULT_DEVICES];
  hlo_buffer_t** result_rows[HLO_FAULT_DEVICES];
  for (uint32_t d = 0; d < b->device_count; ++d) {
    for (uint32_t i = 0; i < in; ++i) b->arguments[d * in + i] = hlo_fault_argument(b, d, i);
    argument_rows[d] = &b->arguments[d * in];
    result_rows[d] = &b->results[d * out];
    atomic_store(&b->plan.operations[d], 0);
  }
  atomic_store(&b->plan.has_struck, false);
  hlo_test_check(hlo_loaded_execute(b->loaded, &(hlo_launch_t){.device_count = b->device_count,
                                                               .arguments = argument_rows,
                                                               .argument_count = in,
                                                               .launch_id = HLO_FAULT_LAUNCH_ID,
                                                               .out_results = result_rows}));
}

/// Waits for the first result of a device, which all share their event.
static inline hlo_status_t hlo_fault_await(const hlo_fault_bench_t* b, uint32_t device) {
  hlo_event_t* ready = hlo_buffer_ready_event(b->results[device * b->executable->result_count]);
  hlo_status_t status = hlo_event_await(ready, UINT64_MAX);
  hlo_event_release(ready);
  return status;
}

static inline void hlo_fault_end_launch(hlo_fault_bench_t* b) {
  const uint32_t in = b->executable->argument_count, out = b->executable->result_count;
  for (uint32_t i = 0; i < b->device_count * in; ++i) hlo_buffer_release(b->arguments[i]);
  for (uint32_t i = 0; i < b->device_count * out; ++i) hlo_buffer_release(b->results[i]);
}

/// A launch that succeeds: keeps the results, or compares them with the kept ones.
static inline void hlo_fault_expect_results(hlo_fault_bench_t* b, const char* name) {
  const uint32_t out = b->executable->result_count;
  const size_t bytes = hlo_fault_result_bytes(b) * b->device_count;
  uint8_t *got = hlo_mem_alloc_zeroed(bytes + 1), *at = got;
  hlo_fault_launch(b);
  for (uint32_t d = 0; d < b->device_count; ++d) {
    hlo_status_t status = hlo_fault_await(b, d);
    if (!hlo_status_is_ok(status)) fail_msg("%s: %s", name, hlo_status_message(status));
    for (uint32_t r = 0; r < out; ++r) {
      const size_t size_bytes = b->executable->results[r].size_bytes;
      hlo_event_t* copied = NULL;
      hlo_test_check(hlo_buffer_to_host(b->results[d * out + r], at, size_bytes, NULL, &copied));
      hlo_test_check(hlo_event_await(copied, UINT64_MAX));
      hlo_event_release(copied);
      at += size_bytes;
    }
  }
  hlo_fault_end_launch(b);
  if (b->want && memcmp(b->want, got, bytes) != 0) fail_msg("%s: other results", name);
  if (b->want) {
    hlo_mem_free(got);
  } else {
    b->want = got;
  }
}

static inline bool hlo_fault_has(const char* message, const char* part) {
  return strstr(message, part) != NULL;
}

/// The victim's error says what it is, and at least one other device has it too.
static inline void hlo_fault_expect_errors(hlo_fault_bench_t* b, const char* name) {
  uint32_t failed = 0;
  char device[32];
  snprintf(device, sizeof device, "device %u", b->plan.victim);
  for (uint32_t d = 0; d < b->device_count; ++d) {
    hlo_status_t status = hlo_fault_await(b, d);
    const char* message = hlo_status_message(status);
    const bool has_failed = !hlo_status_is_ok(status);
    const bool is_named = hlo_fault_has(message, device);
    const bool is_found =
        b->plan.fault == HLO_TEST_FAULT_CANCELLED || hlo_fault_has(message, b->plan.place) ||
        (b->plan.fault == HLO_TEST_FAULT_LOST && hlo_fault_has(message, "members have arrived"));
    if (has_failed ? !is_named || !is_found : d == b->plan.victim) {
      fail_msg("%s: fault %d of device %u at %s, device %u: '%s'", name, (int)b->plan.fault,
               b->plan.victim, b->plan.place, d, message);
    }
    failed += has_failed;
    hlo_status_release(status);
  }
  if (failed < 2) fail_msg("%s: only device %u has failed", name, b->plan.victim);
}

static inline void hlo_fault_strike(hlo_fault_bench_t* b, const char* name, hlo_test_fault_t fault,
                                    uint32_t victim, uint32_t at) {
  b->plan.fault = fault;
  b->plan.victim = victim;
  b->plan.at = at;
  if (fault == HLO_TEST_FAULT_LATE) {
    hlo_fault_expect_results(b, name);
  } else {
    hlo_fault_launch(b);
    for (uint32_t d = 0; d < b->device_count; ++d) hlo_status_release(hlo_fault_await(b, d));
    if (atomic_load(&b->plan.has_struck)) hlo_fault_expect_errors(b, name);
    hlo_fault_end_launch(b);
  }
  b->plan.fault = HLO_TEST_FAULT_NONE;
}

/// `fail_ns`: how long collectives wait for members that do not come; 0: for ever.
static inline void hlo_fault_bench_init(hlo_fault_bench_t* b, hlo_executable_t* executable,
                                        uint32_t thread_count, uint64_t fail_ns) {
  const uint32_t in = executable->argument_count, out = executable->result_count;
  *b = (hlo_fault_bench_t){.executable = executable};
  b->device_count = (uint32_t)hlo_backend_process_count(&executable->config);
  b->faults = (hlo_comm_faults_t){hlo_fault_choose, &b->plan};
  const hlo_client_options_t options = {.device_count = HLO_FAULT_DEVICES,
                                        .thread_count = thread_count,
                                        .stall_fail_ns = fail_ns,
                                        .comm_faults = &b->faults};
  hlo_test_check(hlo_client_create(&options, &b->client));
  b->plan.client = b->client;
  hlo_test_check(hlo_loaded_create(b->client, executable, 0, NULL, &b->loaded));
  b->arguments = hlo_mem_alloc_zeroed((b->device_count * in + 1) * sizeof *b->arguments);
  b->results = hlo_mem_alloc_zeroed((b->device_count * out + 1) * sizeof *b->results);
  assert_true(b->arguments && b->results);
}

static inline void hlo_fault_bench_deinit(hlo_fault_bench_t* b) {
  hlo_mem_free(b->want);
  hlo_mem_free(b->arguments);
  hlo_mem_free(b->results);
  hlo_loaded_release(b->loaded);
  hlo_client_release(b->client);
}

/// Strikes at most `limit` operations (0: all), spread over the run, each with the faults from
/// `first` to `last`, at a device that changes from one to the next. Returns the number of faults.
static inline uint32_t hlo_fault_strike_all(hlo_fault_bench_t* b, const char* name, uint32_t limit,
                                            uint32_t seed, hlo_test_fault_t first,
                                            hlo_test_fault_t last) {
  hlo_fault_expect_results(b, name);
  const uint32_t operations = atomic_load(&b->plan.operations[0]);
  const uint32_t step = limit && operations > limit ? (operations + limit - 1) / limit : 1;
  uint32_t count = 0;
  for (uint32_t at = seed % step; at < operations; at += step) {
    for (hlo_test_fault_t f = first; f <= last; ++f, ++count) {
      hlo_fault_strike(b, name, f, (seed + at + f) % b->device_count, at);
    }
    hlo_fault_expect_results(b, name);
  }
  return count;
}

/// Takes the executable. Strikes at most `limit` operations of the program (0: all) with every
/// fault; fewer with the one that takes time. `seed` shifts which. Returns the number of faults.
static inline uint32_t hlo_fault_run(hlo_executable_t* executable, const char* name,
                                     uint32_t thread_count, uint32_t limit, uint32_t seed) {
  static const uint64_t soon_ns = 100u * 1000 * 1000;  // ten times as long for members that compute
  hlo_fault_bench_t b;
  hlo_fault_bench_init(&b, executable, thread_count, 0);
  uint32_t count =
      hlo_fault_strike_all(&b, name, limit, seed, HLO_TEST_FAULT_LATE, HLO_TEST_FAULT_CANCELLED);
  hlo_fault_bench_deinit(&b);
  hlo_fault_bench_init(&b, executable, thread_count, soon_ns);
  count +=
      hlo_fault_strike_all(&b, name, limit ? 1 : 0, seed, HLO_TEST_FAULT_LOST, HLO_TEST_FAULT_LOST);
  hlo_fault_bench_deinit(&b);
  hlo_executable_release(executable);
  return count;
}
