// SPDX-License-Identifier: Apache-2.0
// Predictions about partitioned programs against their runs: the bytes that collectives move
// between devices, and the memory of a device.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "base/recording.h"
#include "runtime/test_util.h"
#include "spmd/memory_estimate.h"
#include "spmd/traffic.h"

enum { DEVICES = 8, ENTRIES = 32, OPS = HLO_OP_COUNT };

typedef struct program {
  const char* name;
  hlo_client_t* client;
  hlo_executable_t* executable;
  hlo_loaded_t* loaded;
  uint32_t device_count;
  hlo_buffer_t* arguments[DEVICES][ENTRIES];
  hlo_buffer_t* results[DEVICES][ENTRIES];
} program_t;

static hlo_memory_t* memory_of(const program_t* p, uint32_t device) {
  return &hlo_client_device(p->client, device)->memories[HLO_MEMORY_DEVICE];
}

// Zeros are valid indices, predicates and numbers.
static void make_arguments(program_t* p) {
  for (uint32_t d = 0; d < p->device_count; ++d) {
    for (uint32_t i = 0; i < p->executable->argument_count; ++i) {
      const hlo_signature_entry_t* entry = &p->executable->arguments[i];
      const hlo_buffer_shape_t shape = {
          .dtype = entry->dtype, .rank = entry->rank, .dims = entry->dims};
      void* zeros = hlo_mem_alloc_zeroed(entry->size_bytes + 1);
      assert_non_null(zeros);
      hlo_test_check(hlo_buffer_from_host(memory_of(p, d), &shape, zeros, NULL,
                                          HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL,
                                          &p->arguments[d][i]));
      hlo_mem_free(zeros);
    }
  }
}

static void run(program_t* p) {
  hlo_buffer_t* const* arguments[DEVICES];
  hlo_buffer_t** results[DEVICES];
  hlo_event_t* events[DEVICES];
  for (uint32_t d = 0; d < p->device_count; ++d) {
    arguments[d] = p->arguments[d];
    results[d] = p->results[d];
  }
  hlo_test_check(
      hlo_loaded_execute(p->loaded, &(hlo_launch_t){.device_count = p->device_count,
                                                    .arguments = arguments,
                                                    .argument_count = p->executable->argument_count,
                                                    .out_results = results,
                                                    .out_events = events}));
  for (uint32_t d = 0; d < p->device_count; ++d) {
    hlo_status_t status = hlo_event_await(events[d], UINT64_MAX);
    if (!hlo_status_is_ok(status)) fail_msg("%s: %s", p->name, hlo_status_message(status));
    hlo_event_release(events[d]);
  }
}

static void release(program_t* p) {
  for (uint32_t d = 0; d < p->device_count; ++d) {
    for (uint32_t i = 0; i < p->executable->argument_count; ++i) {
      hlo_buffer_release(p->arguments[d][i]);
    }
    for (uint32_t i = 0; i < p->executable->result_count; ++i) hlo_buffer_release(p->results[d][i]);
  }
  hlo_loaded_release(p->loaded);
  hlo_executable_release(p->executable);
  hlo_client_release(p->client);
}

// ---- communication

// Adds up the bytes of the collectives in a recording, by op.
static void add_moved(const hlo_recording_t* recording, double* moved) {
  for (size_t i = 0; i < recording->spans.count; ++i) {
    const hlo_span_t* span = &recording->spans.items[i];
    if (strcmp(span->category, "collective") != 0) continue;
    for (int op = 0; op < OPS; ++op) {
      if (strcmp(hlo_op_info((hlo_op_t)op)->name, span->name) != 0) continue;
      for (uint32_t f = 0; f < span->fact_count; ++f) {
        if (strcmp(span->facts[f].name, "bytes") == 0) moved[op] += (double)span->facts[f].value;
      }
    }
  }
}

static void check_traffic(const program_t* p, const double* moved) {
  HLO_SCOPED_ARENA arena = {0};
  const hlo_traffic_mesh_t none = {0};
  hlo_traffic_t traffic;
  double predicted[OPS] = {0};
  hlo_test_check(hlo_traffic_count(p->executable->module, &none, &arena, &traffic));
  for (uint32_t i = 0; i < traffic.count; ++i) {
    const hlo_traffic_item_t* item = &traffic.items[i];
    if (item->is_at_least || item->is_at_most) fail_msg("%s: not exact", p->name);
    predicted[item->node->op] += item->count * item->bytes.total_bytes;
  }
  for (int op = 0; op < OPS; ++op) {
    if (predicted[op] == moved[op]) continue;
    fail_msg("%s: %s moves %.0f bytes instead of %.0f", p->name, hlo_op_info((hlo_op_t)op)->name,
             moved[op], predicted[op]);
  }
}

// ---- memory

// The buffers of a device grow by the results that are not in arguments.
static void check_memory(const program_t* p, const int64_t* before) {
  const hlo_executable_t* e = p->executable;
  const int64_t expected = (int64_t)(e->result_bytes - e->alias_bytes);
  for (uint32_t d = 0; d < p->device_count; ++d) {
    hlo_memory_stats_t stats;
    hlo_memory_get_stats(memory_of(p, d), &stats);
    const int64_t grown = stats.peak_bytes_in_use - before[d];
    if (grown == expected) continue;
    fail_msg("%s: the buffers of device %u take %lld more bytes instead of %lld", p->name, d,
             (long long)grown, (long long)expected);
  }
}

// Arguments and results are exact. Temporaries miss operands of products that machine code packs
// and values that it keeps in caches, which the processor decides.
static void check_estimate(const program_t* p) {
  const hlo_executable_t* e = p->executable;
  const double slack = 2048;
  hlo_memory_estimate_t estimate;
  hlo_test_check(hlo_memory_estimate(e->module, &estimate));
  assert_float_equal(estimate.argument_bytes, (double)e->argument_bytes, 0);
  assert_float_equal(estimate.result_bytes, (double)e->result_bytes, 0);
  assert_float_equal(estimate.alias_bytes, (double)e->alias_bytes, 0);
  const double all = hlo_memory_estimate_all(&estimate);
  const double compiled =
      (double)(e->argument_bytes + e->result_bytes - e->alias_bytes + e->program->temporary_bytes);
  if (all >= 0.5 * compiled - slack && all <= 1.25 * compiled + slack) return;
  fail_msg("%s: an estimate of %.0f bytes, but the program needs %.0f", p->name, all, compiled);
}

static void check_run(program_t* p) {
  double moved[OPS] = {0};
  int64_t before[DEVICES];
  hlo_recording_t* recording = NULL;
  make_arguments(p);
  for (uint32_t d = 0; d < p->device_count; ++d) {
    hlo_memory_stats_t stats;
    hlo_memory_clear_stats(memory_of(p, d));
    hlo_memory_get_stats(memory_of(p, d), &stats);
    before[d] = stats.bytes_in_use;
  }
  hlo_test_check(hlo_recording_start());
  run(p);
  hlo_test_check(hlo_recording_stop(&recording));
  add_moved(recording, moved);
  hlo_recording_release(recording);
  check_traffic(p, moved);
  check_memory(p, before);
}

// ---- programs

static void check_program(const char* name, const uint8_t* bytes, size_t size_bytes) {
  program_t p = {.name = name};
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.partition_count = 0;
  hlo_test_check(hlo_compile(bytes, size_bytes, name, &config, NULL, 0, NULL, &p.executable));
  p.device_count = (uint32_t)p.executable->config.partition_count;
  assert_in_range(p.device_count, 2, DEVICES);
  assert_in_range(p.executable->argument_count, 0, ENTRIES);
  assert_in_range(p.executable->result_count, 1, ENTRIES);
  assert_string_equal(p.executable->program->backend->name, "native");
  const hlo_client_options_t options = {.device_count = p.device_count, .thread_count = 2};
  hlo_test_check(hlo_client_create(&options, &p.client));
  hlo_test_check(hlo_loaded_create(p.client, p.executable, 0, NULL, &p.loaded));
  check_estimate(&p);
  check_run(&p);
  release(&p);
}

// Returns the part of a golden file that is the program.
static size_t input_bytes(const char* text, size_t size_bytes) {
  static const char kEnd[] = "\n# ---\n";
  const size_t length = sizeof kEnd - 1;
  for (size_t at = 0; at + length <= size_bytes; ++at) {
    if (memcmp(text + at, kEnd, length) == 0) return at + 1;
  }
  return size_bytes;
}

static size_t head_bytes(const char* text, size_t size_bytes) {
  size_t at = 0;
  while (at < size_bytes && text[at] == '#') {
    while (at < size_bytes && text[at++] != '\n') continue;
  }
  return at;
}

static bool has_suffix(const char* name, const char* suffix) {
  const size_t length = strlen(name), tail = strlen(suffix);
  return length > tail && strcmp(name + length - tail, suffix) == 0;
}

// Checks the files of a folder but for `except`; returns their number.
static unsigned check_folder(const char* folder, const char* suffix, const char* except) {
  unsigned count = 0;
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent* entry; (entry = readdir(dir));) {
    char path[512];
    uint8_t* bytes = NULL;
    size_t size_bytes = 0;
    if (!has_suffix(entry->d_name, suffix) || strstr(except, entry->d_name)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    hlo_test_check(hlo_os_file_read(path, 0, &bytes, &size_bytes));
    const size_t head = head_bytes((char*)bytes, size_bytes);
    check_program(path, bytes + head, input_bytes((char*)bytes + head, size_bytes - head));
    hlo_mem_free(bytes);
    ++count;
  }
  closedir(dir);
  return count;
}

static void test_stored_programs(void** state) {
  (void)state;
  assert_int_equal(check_folder("tests/programs/eight-devices", ".mlirbc", ""), 12);
}

// A foreign function cannot run here, and one device sends nothing.
static void test_goldens(void** state) {
  (void)state;
  assert_in_range(
      check_folder("tests/golden/partition", ".txt", "custom_call.txt one_device_mesh.txt"), 22,
      1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stored_programs),
      cmocka_unit_test(test_goldens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
