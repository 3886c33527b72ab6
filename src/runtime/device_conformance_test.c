// SPDX-License-Identifier: Apache-2.0
// The contract of device back ends: each row is a test that runs on all back ends, with one and
// with several workers, and must give the same bytes and the same errors on all. Then each row
// runs with every operation of the device and every allocation of the caller failing in turn:
// nothing may hang, leak, or keep the client from working.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/mem.h"
#include "runtime/raw_buffer.h"
#include "runtime/test_util.h"

enum { DEVICES = 2, COUNT = 64, BIG_COUNT = 100000, LOG_BYTES = 1 << 15, MEMORY_MIB = 64 };
static const uint64_t kDeadlineNs = UINT64_C(60000000000);

// ---- configurations

typedef struct config {
  const char* name;
  uint32_t threads;
  bool is_slow;
  uint64_t seed;
  uint32_t delay;
} config_t;

static const config_t kConfigs[] = {
    {.name = "cpu, 1 worker", .threads = 1},
    {.name = "cpu, 4 workers", .threads = 4},
    {.name = "slow, 1 worker", .threads = 1, .is_slow = true, .seed = 1, .delay = 3},
    {.name = "slow, 4 workers", .threads = 4, .is_slow = true, .seed = 2, .delay = 8},
    {.name = "slow, 4 workers, other order", .threads = 4, .is_slow = true, .seed = 3},
};
enum { CONFIGS = sizeof kConfigs / sizeof *kConfigs };

// ---- programs

#define SMALL "tensor<64xf32>"
#define BIG "tensor<100000xf32>"
typedef enum program { ADD, INCREMENT, BIG_ADD, FAILS, LOOP, SUM, PROGRAMS } program_t;

static const char* const kPrograms[PROGRAMS] = {
    [ADD] = "func.func @main(%x: " SMALL ", %y: " SMALL ") -> " SMALL
            " {\n  %0 = stablehlo.add %x, %y : " SMALL "\n  return %0 : " SMALL "\n}",
    [INCREMENT] = "func.func @main(%x: " SMALL " {tf.aliasing_output = 0 : i32}) -> " SMALL
                  " {\n  %one = stablehlo.constant dense<1.0> : " SMALL
                  "\n  %0 = stablehlo.add %x, %one : " SMALL "\n  return %0 : " SMALL "\n}",
    [BIG_ADD] =
        "func.func @main(%x: " BIG ", %y: " BIG ") -> (" BIG ", " BIG
        ") {\n  %0 = stablehlo.add %x, %y : " BIG "\n  %1 = stablehlo.multiply %0, %x : " BIG
        "\n  return %0, %1 : " BIG ", " BIG "\n}",
    [FAILS] =
        "func.func @main(%x: " SMALL ") -> " SMALL " {\n  %0 = stablehlo.slice %x [0:1] : (" SMALL
        ") -> tensor<1xf32>\n"
        "  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>\n"
        "  %2 = stablehlo.compare LT, %1, %1 : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  stablehlo.custom_call @shape_assertion(%2) {has_side_effect = true, "
        "error_message = \"as it should\"} : (tensor<i1>) -> ()\n  return %x : " SMALL "\n}",
    [LOOP] =
        "func.func @main(%x: " SMALL ") -> " SMALL
        " {\n  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %many = stablehlo.constant dense<50> : tensor<i32>\n"
        "  %step = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1.0> : " SMALL
        "\n  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, " SMALL
        "\n  cond {\n    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> "
        "tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  } do {\n"
        "    %1 = stablehlo.add %i, %step : tensor<i32>\n    %2 = stablehlo.add %v, %one : " SMALL
        "\n    stablehlo.return %1, %2 : tensor<i32>, " SMALL "\n  }\n  return %0#1 : " SMALL "\n}",
    [SUM] =
        "func.func @main(%x: " SMALL ") -> " SMALL
        " {\n  %0 = \"stablehlo.all_reduce\"(%x) ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "    %s = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %s : tensor<f32>\n"
        "  }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (" SMALL ") -> " SMALL
        "\n  return %0 : " SMALL "\n}",
};

static hlo_executable_t* g_executables[PROGRAMS];

static int compile_all(void** state) {
  (void)state;
  for (int i = 0; i < PROGRAMS; ++i) {
    hlo_compile_config_t config;
    hlo_compile_config_init(&config);
    config.replica_count = i == SUM ? DEVICES : 1;
    hlo_test_check(hlo_compile(kPrograms[i], strlen(kPrograms[i]), "test.mlir", &config, NULL, 0,
                               NULL, &g_executables[i]));
  }
  return 0;
}

static int release_all(void** state) {
  (void)state;
  for (int i = 0; i < PROGRAMS; ++i) hlo_executable_release(g_executables[i]);
  return 0;
}

// ---- the bench: a client, its programs, and what a row has seen. Its memory is fixed, so that
// only the runtime allocates.

typedef struct bench {
  const config_t* config;
  hlo_client_t* client;
  hlo_loaded_t* loaded[PROGRAMS];
  size_t log_length;
  char log[LOG_BYTES];
} bench_t;

static float g_big[BIG_COUNT];  // of the row that runs, whose thread waits for all transfers

static void note(bench_t* bench, const char* format, ...) __attribute__((format(printf, 2, 3)));
static void note(bench_t* bench, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const size_t left = LOG_BYTES - bench->log_length;
  const int count = vsnprintf(bench->log + bench->log_length, left, format, args);
  va_end(args);
  assert_true(count >= 0 && (size_t)count < left);
  bench->log_length += (size_t)count;
}

// Notes an error; returns false on error.
static bool succeeds(bench_t* bench, const char* what, hlo_status_t status) {
  if (hlo_status_is_ok(status)) return true;
  note(bench, "%s: %d %s\n", what, (int)hlo_status_code(status), hlo_status_message(status));
  hlo_status_release(status);
  return false;
}

// Takes the event; NULL is an earlier failure.
static bool await(bench_t* bench, const char* what, hlo_event_t* event) {
  if (!event) return false;
  hlo_status_t status = hlo_event_await(event, kDeadlineNs);
  if (hlo_status_code(status) == HLO_STATUS_DEADLINE_EXCEEDED) fail_msg("%s: pending", what);
  hlo_event_release(event);
  return succeeds(bench, what, status);
}

static void note_bytes(bench_t* bench, const char* what, const void* bytes, size_t count) {
  note(bench, "%s: %zu bytes %016llx\n", what, count,
       (unsigned long long)hlo_hash_bytes(bytes, count, 0));
}

static const int64_t kSmallDims[] = {COUNT}, kBigDims[] = {BIG_COUNT};
static const hlo_buffer_shape_t kSmall = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kSmallDims};
static const hlo_buffer_shape_t kBig = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kBigDims};

static hlo_memory_t* memory_of(const bench_t* bench, uint32_t device, hlo_memory_kind_t kind) {
  return &hlo_client_device(bench->client, device)->memories[kind];
}

// A small array first, first + 1, ...; NULL on failure.
static hlo_buffer_t* make(bench_t* bench, uint32_t device, float first) {
  float values[COUNT];
  for (int i = 0; i < COUNT; ++i) values[i] = first + (float)i;
  hlo_buffer_t* buffer = NULL;
  hlo_status_t status =
      hlo_buffer_from_host(memory_of(bench, device, HLO_MEMORY_DEVICE), &kSmall, values, NULL,
                           HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer);
  memset(values, -1, sizeof values);
  return succeeds(bench, "make", status) ? buffer : NULL;
}

static hlo_buffer_t* make_big(bench_t* bench, float first) {
  for (int i = 0; i < BIG_COUNT; ++i) g_big[i] = first + (float)(i % 1000);
  hlo_buffer_t* buffer = NULL;
  hlo_status_t status =
      hlo_buffer_from_host(memory_of(bench, 0, HLO_MEMORY_DEVICE), &kBig, g_big, NULL,
                           HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer);
  return succeeds(bench, "make", status) ? buffer : NULL;
}

// Notes the value or the error.
static void show(bench_t* bench, const char* what, hlo_buffer_t* buffer) {
  if (!buffer) return;
  hlo_event_t* done = NULL;
  const size_t size = hlo_buffer_size_bytes(buffer);
  assert_true(size <= sizeof g_big);
  memset(g_big, 0, size);
  hlo_status_t status = hlo_buffer_to_host(buffer, g_big, size, NULL, &done);
  if (succeeds(bench, what, status) && await(bench, what, done)) {
    note_bytes(bench, what, g_big, size);
  }
}

static void run_many(bench_t* bench, program_t program, uint32_t device_count, uint32_t count,
                     hlo_buffer_t* const* const* rows, hlo_buffer_t** const* results) {
  for (uint32_t d = 0; d < device_count; ++d) {
    for (uint32_t i = 0; i < count; ++i) {
      if (!rows[d][i]) return;
    }
  }
  succeeds(bench, "launch",
           hlo_loaded_execute(bench->loaded[program], &(hlo_launch_t){.device_count = device_count,
                                                                      .arguments = rows,
                                                                      .argument_count = count,
                                                                      .out_results = results}));
}

// Returns the first result; NULL on failure.
static hlo_buffer_t* run(bench_t* bench, program_t program, hlo_buffer_t* x, hlo_buffer_t* y) {
  hlo_buffer_t *arguments[] = {x, y}, *results[2] = {0};
  hlo_buffer_t* const* rows[] = {arguments};
  hlo_buffer_t** result_rows[] = {results};
  run_many(bench, program, 1, program == ADD || program == BIG_ADD ? 2 : 1, rows, result_rows);
  hlo_buffer_release(results[1]);
  return results[0];
}

static hlo_buffer_t* copy_to(bench_t* bench, hlo_buffer_t* buffer, hlo_memory_t* memory) {
  hlo_buffer_t* copy = NULL;
  if (!buffer) return NULL;
  hlo_status_t status = hlo_buffer_copy_to_memory(buffer, memory, &copy);
  return succeeds(bench, "copy", status) ? copy : NULL;
}

static hlo_buffer_t* make_alias(bench_t* bench) {
  hlo_buffer_t* alias = NULL;
  hlo_status_t status =
      hlo_buffer_create_alias(memory_of(bench, 0, HLO_MEMORY_DEVICE), &kSmall, &alias);
  return succeeds(bench, "alias", status) ? alias : NULL;
}

// ---- rows

// The host may change its memory when the contract says so.
static void uploads(bench_t* bench) {
  static const int64_t kSizes[] = {0, 1, 13, 512, 513, 70000, 300000};
  uint8_t* host = (uint8_t*)g_big + 4096;
  for (size_t s = 0; s < sizeof kSizes / sizeof *kSizes; ++s) {
    const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_U8, .rank = 1, .dims = &kSizes[s]};
    for (int contract = 0; contract <= HLO_HOST_MUTABLE_ZERO_COPY; ++contract) {
      const size_t size = (size_t)kSizes[s];
      for (size_t i = 0; i < size; ++i) host[i] = (uint8_t)(i * 7 + s + (size_t)contract);
      hlo_event_t* done = NULL;
      hlo_buffer_t* buffer = NULL;
      hlo_status_t status =
          hlo_buffer_from_host(memory_of(bench, 1, HLO_MEMORY_DEVICE), &shape, host, NULL,
                               (hlo_host_semantics_t)contract, &done, &buffer);
      if (!succeeds(bench, "upload", status)) continue;
      const bool is_lent_on = contract >= HLO_HOST_IMMUTABLE_ZERO_COPY;
      if (contract == HLO_HOST_IMMUTABLE_UNTIL_TRANSFER_COMPLETES) await(bench, "upload", done);
      if (contract == HLO_HOST_IMMUTABLE_ONLY_DURING_CALL) hlo_event_release(done);
      if (!is_lent_on) memset(host, 0xEE, size);
      hlo_event_t* read = NULL;
      uint8_t* back = host + size;
      if (is_lent_on) back = (uint8_t*)g_big;  // may be the bytes themselves: read another range
      if (size > 4096 && is_lent_on) {
        hlo_buffer_release(buffer);
        await(bench, "zero copy", done);
        continue;
      }
      if (size + 4096 + size > sizeof g_big) back = host;
      status = hlo_buffer_copy_raw_to_host(buffer, back, 0, (int64_t)size, &read);
      if (succeeds(bench, "read", status) && await(bench, "read", read)) {
        note_bytes(bench, "uploaded", back, size);
      }
      hlo_buffer_release(buffer);
      if (is_lent_on) await(bench, "zero copy", done);
    }
  }
}

static void strided_uploads(bench_t* bench) {
  enum { ROWS = 5, COLUMNS = 3, BYTES = ROWS * COLUMNS * 2 };
  static const int64_t dims[] = {ROWS, COLUMNS}, columns_first[] = {0, 1}, rows_first[] = {1, 0};
  static const int64_t strides[][2] = {{6, 2}, {2, 10}, {-6, 2}, {0, 2}, {0, 0}};
  for (size_t s = 0; s < sizeof strides / sizeof *strides; ++s) {
    for (int order = 0; order < 2; ++order) {
      uint16_t host[ROWS * COLUMNS];
      for (int i = 0; i < ROWS * COLUMNS; ++i) host[i] = (uint16_t)(i * 1000 + 1);
      const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_U16,
                                        .rank = 2,
                                        .dims = dims,
                                        .minor_to_major = order ? columns_first : rows_first};
      hlo_buffer_t* buffer = NULL;
      const uint16_t* origin = strides[s][0] < 0 ? host + (ROWS - 1) * COLUMNS : host;
      hlo_status_t status =
          hlo_buffer_from_host(memory_of(bench, 0, HLO_MEMORY_DEVICE), &shape, origin, strides[s],
                               HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &buffer);
      memset(host, 0xEE, sizeof host);
      if (!succeeds(bench, "upload", status)) continue;
      hlo_event_t *raw = NULL, *ordered = NULL;
      uint16_t back[2][ROWS * COLUMNS] = {0};
      if (succeeds(bench, "raw", hlo_buffer_copy_raw_to_host(buffer, back[0], 0, BYTES, &raw)) &&
          await(bench, "raw", raw)) {
        note_bytes(bench, "raw", back[0], BYTES);
      }
      status = hlo_buffer_to_host(buffer, back[1], BYTES, columns_first, &ordered);
      if (succeeds(bench, "ordered", status) && await(bench, "ordered", ordered)) {
        note_bytes(bench, "ordered", back[1], BYTES);
      }
      hlo_buffer_release(buffer);
    }
  }
}

static void ranges(bench_t* bench) {
  static const int64_t kRanges[][2] = {{0, 256}, {0, 0},   {256, 0}, {100, 56}, {255, 1},
                                       {0, 257}, {257, 0}, {-1, 2},  {3, -1},   {INT64_MAX, 1}};
  hlo_buffer_t* buffer = make(bench, 0, 3);
  for (size_t r = 0; buffer && r < sizeof kRanges / sizeof *kRanges; ++r) {
    uint8_t back[COUNT * sizeof(float) + 8];
    memset(back, 0x11, sizeof back);
    hlo_event_t* done = NULL;
    hlo_status_t status =
        hlo_buffer_copy_raw_to_host(buffer, back + 4, kRanges[r][0], kRanges[r][1], &done);
    if (succeeds(bench, "range", status) && await(bench, "range", done)) {
      note_bytes(bench, "range", back, sizeof back);
    }
  }
  hlo_buffer_release(buffer);
}

static void copies(bench_t* bench) {
  hlo_buffer_t* source = make(bench, 0, 10);
  for (uint32_t device = 0; device < DEVICES; ++device) {
    for (int kind = 0; kind < HLO_MEMORY_KIND_COUNT; ++kind) {
      hlo_memory_t* memory = memory_of(bench, device, (hlo_memory_kind_t)kind);
      hlo_buffer_t* there = copy_to(bench, source, memory);
      hlo_buffer_t* back = copy_to(bench, there, memory_of(bench, 0, HLO_MEMORY_DEVICE));
      hlo_buffer_t* sum = run(bench, ADD, source, back);
      show(bench, "there", there);
      show(bench, "sum", sum);
      hlo_buffer_release(there);
      hlo_buffer_release(back);
      hlo_buffer_release(sum);
    }
  }
  hlo_buffer_t *big = make_big(bench, 1), *other = NULL;
  other = copy_to(bench, big, memory_of(bench, 1, HLO_MEMORY_DEVICE));
  hlo_buffer_release(big);
  show(bench, "big", other);
  hlo_buffer_release(other);
  hlo_buffer_release(source);
}

// To the memory of a client with the other back end, and back.
static void copies_between_clients(bench_t* bench) {
  hlo_client_t* client = NULL;
  const hlo_client_options_t options = {
      .thread_count = 1, .is_slow = !bench->config->is_slow, .slow = {.seed = 9, .delay = 2}};
  if (!succeeds(bench, "client", hlo_client_create(&options, &client))) return;
  hlo_buffer_t* source = make(bench, 0, 40);
  hlo_buffer_t* there = copy_to(bench, source, &hlo_client_device(client, 0)->memories[0]);
  hlo_buffer_t* back = copy_to(bench, there, memory_of(bench, 1, HLO_MEMORY_DEVICE));
  hlo_buffer_release(source);
  hlo_buffer_release(there);
  show(bench, "back", back);
  hlo_buffer_release(back);
  hlo_client_release(client);
}

// A result takes the bytes of its argument, of which a copy and a read are pending.
static void donation(bench_t* bench) {
  hlo_buffer_t* value = make(bench, 0, 0);
  for (int i = 0; i < 6; ++i) {
    hlo_buffer_t* copy = copy_to(bench, value, memory_of(bench, 1, HLO_MEMORY_DEVICE));
    hlo_buffer_t* next = run(bench, INCREMENT, value, NULL);
    if (next) assert_true(hlo_buffer_is_deleted(value));
    show(bench, "before", copy);
    hlo_buffer_release(copy);
    hlo_buffer_release(value);
    value = next;
  }
  show(bench, "after", value);
  hlo_buffer_t* twice = run(bench, INCREMENT, value, NULL);
  hlo_buffer_t* again = run(bench, INCREMENT, value, NULL);  // donated already
  show(bench, "twice", twice);
  assert_true(!again || !twice);
  hlo_buffer_release(twice);
  hlo_buffer_release(again);
  hlo_buffer_release(value);
}

static void aliases(bench_t* bench) {
  hlo_buffer_t *source = make(bench, 0, 7), *alias = make_alias(bench);
  hlo_buffer_t *failed = make_alias(bench), *lost = make_alias(bench);
  hlo_buffer_t* heirs[] = {run(bench, LOOP, alias, NULL), run(bench, LOOP, failed, NULL),
                           run(bench, LOOP, lost, NULL)};
  if (alias && source) succeeds(bench, "fulfil", hlo_buffer_fulfill(alias, source, hlo_ok()));
  if (alias && source) succeeds(bench, "again", hlo_buffer_fulfill(alias, source, hlo_ok()));
  hlo_status_t error = hlo_status_create(HLO_STATUS_DATA_LOSS, "gone");
  if (failed) {
    succeeds(bench, "fail", hlo_buffer_fulfill(failed, NULL, error));
  } else {
    hlo_status_release(error);
  }
  hlo_buffer_release(lost);
  hlo_buffer_release(source);
  if (alias && source) show(bench, "alias", alias);
  if (failed) show(bench, "failed", failed);
  for (size_t i = 0; i < 3; ++i) {
    if (i > 0 || source) show(bench, "heir", heirs[i]);
  }
  hlo_buffer_release(alias);
  hlo_buffer_release(failed);
  for (size_t i = 0; i < 3; ++i) hlo_buffer_release(heirs[i]);
}

// Slices are written in the order that dependencies state; ranges overlap.
static void raw_buffers(bench_t* bench) {
  enum { BYTES = COUNT * sizeof(float), HALF = BYTES / 2 };
  uint8_t host[HALF], back[BYTES] = {0};
  hlo_buffer_t* buffer = make(bench, 0, 1);
  hlo_raw_buffer_t whole = {0}, parts[2] = {0};
  if (!buffer || !succeeds(bench, "raw", hlo_raw_buffer_init(buffer, &whole))) {
    hlo_buffer_release(buffer);
    return;
  }
  hlo_event_t *order = NULL, *written = NULL;
  for (int i = 0; i < 2; ++i) {
    succeeds(bench, "slice", hlo_raw_buffer_slice(&whole, i * HALF / 2, HALF, &parts[i]));
  }
  memset(host, 0x33, sizeof host);
  const hlo_dependencies_t none = {0};
  bool is_ordered =
      parts[0].storage && parts[1].storage &&
      succeeds(bench, "write", hlo_raw_buffer_from_host(&parts[0], host, 0, HALF, none, &written));
  order = hlo_event_retain(written);
  for (int i = 0; i < 6 && is_ordered; ++i) {
    hlo_event_t* next = NULL;
    const hlo_dependencies_t after = {.events = &order, .count = 1};
    hlo_status_t status = hlo_raw_buffer_copy(&parts[i % 2], &parts[1 - i % 2], after, &next);
    is_ordered = succeeds(bench, "overlap", status);
    if (is_ordered) hlo_event_release(order);
    if (is_ordered) order = next;
  }
  const hlo_dependencies_t after = {.events = &order, .count = order != NULL};
  hlo_event_t* read = NULL;
  hlo_status_t status = hlo_raw_buffer_to_host(&whole, back, 0, BYTES, after, &read);
  if (succeeds(bench, "read", status) && await(bench, "read", read)) {
    note_bytes(bench, "raw", back, BYTES);
  }
  await(bench, "order", order);
  await(bench, "write", written);  // a copy that fails does not wait for its dependencies
  for (int i = 0; i < 2; ++i) hlo_raw_buffer_deinit(&parts[i]);
  hlo_raw_buffer_deinit(&whole);
  hlo_buffer_release(buffer);
}

// Pieces of storage are written at once; the value is defined by its user.
static void pieces(bench_t* bench) {
  enum { PIECES = 8, BYTES = COUNT * sizeof(float) / PIECES };
  uint8_t host[PIECES][BYTES];
  hlo_memory_t* memory = memory_of(bench, 0, HLO_MEMORY_DEVICE);
  hlo_storage_t* storage = NULL;
  hlo_buffer_t* buffer = NULL;
  hlo_event_t *ready = hlo_event_create_promise(), *ends[PIECES] = {0};
  if (!ready) return;
  hlo_status_t status = hlo_storage_create(memory, sizeof host, &storage);
  if (hlo_status_is_ok(status)) {
    status = hlo_buffer_create_over(memory, &kSmall, storage, ready, &buffer);
  }
  bool is_whole = succeeds(bench, "storage", status);
  hlo_buffer_t* heir = run(bench, LOOP, buffer, NULL);
  for (int i = 0; i < PIECES && is_whole; ++i) {
    memset(host[i], 0x40 + i, BYTES);
    is_whole =
        succeeds(bench, "piece",
                 hlo_storage_from_host(storage, (size_t)i * BYTES, host[i], BYTES, &ends[i]));
  }
  for (int i = 0; i < PIECES; ++i) is_whole &= await(bench, "piece", ends[i]);
  hlo_event_set(ready,
                is_whole ? hlo_ok() : hlo_status_create(HLO_STATUS_ABORTED, "a piece failed"));
  hlo_event_release(ready);
  hlo_storage_release(storage);
  show(bench, "pieces", buffer);
  show(bench, "heir", heir);
  hlo_buffer_release(buffer);
  hlo_buffer_release(heir);
}

// A read whose destination is named after the value exists, and one whose never is.
static void late_reads(bench_t* bench) {
  hlo_buffer_t* value = make(bench, 0, 5);
  for (int i = 0; i < 2 && value; ++i) {
    uint8_t back[100] = {0};
    hlo_late_copy_t* copy = NULL;
    hlo_event_t* done = NULL;
    hlo_status_t status = hlo_late_copy_create(value, 8, sizeof back, &copy, &done);
    if (!succeeds(bench, "late", status)) continue;
    if (i == 0) hlo_buffer_delete(value);
    hlo_late_copy_start(copy, back,
                        i ? hlo_status_create(HLO_STATUS_CANCELLED, "not wanted") : hlo_ok());
    if (await(bench, "late", done)) note_bytes(bench, "late", back, sizeof back);
    hlo_buffer_release(value);
    value = make(bench, 0, 6);
  }
  hlo_buffer_release(value);
}

// Nothing is awaited before the end.
static void chains(bench_t* bench) {
  enum { LENGTH = 20 };
  hlo_buffer_t *x = make(bench, 0, 1), *sum = make(bench, 0, 0);
  for (int i = 0; i < LENGTH; ++i) {
    hlo_buffer_t* next = run(bench, i % 5 == 4 ? LOOP : ADD, sum, x);
    hlo_buffer_release(sum);
    sum = next;
  }
  show(bench, "chain", sum);
  hlo_buffer_release(x);
  hlo_buffer_release(sum);
  hlo_buffer_t* big = make_big(bench, 2);
  for (int i = 0; i < 3; ++i) {
    hlo_buffer_t* next = run(bench, BIG_ADD, big, big);
    hlo_buffer_release(big);
    big = next;
  }
  show(bench, "big chain", big);
  hlo_buffer_release(big);
}

static void collectives(bench_t* bench) {
  hlo_buffer_t* values[DEVICES];
  for (uint32_t d = 0; d < DEVICES; ++d) values[d] = make(bench, d, 100 * (float)d);
  for (int i = 0; i < 4; ++i) {
    hlo_buffer_t *results[DEVICES] = {0}, **result_rows[DEVICES];
    hlo_buffer_t* const* rows[DEVICES];
    for (uint32_t d = 0; d < DEVICES; ++d) {
      rows[d] = &values[d];
      result_rows[d] = &results[d];
    }
    run_many(bench, SUM, DEVICES, 1, rows, result_rows);
    for (uint32_t d = 0; d < DEVICES; ++d) {
      hlo_buffer_release(values[d]);
      values[d] = results[d];
    }
  }
  for (uint32_t d = 0; d < DEVICES; ++d) {
    show(bench, "sum", values[d]);
    hlo_buffer_release(values[d]);
  }
}

// Readers, copies and launches inherit the error of a launch.
static void poisoning(bench_t* bench) {
  hlo_buffer_t *x = make(bench, 0, 1), *failed = run(bench, FAILS, x, NULL);
  hlo_buffer_t* sum = run(bench, ADD, x, failed);
  hlo_buffer_t* copy = copy_to(bench, sum, memory_of(bench, 1, HLO_MEMORY_PINNED_HOST));
  hlo_buffer_t* error = NULL;
  hlo_status_t status =
      hlo_buffer_create_error(memory_of(bench, 0, HLO_MEMORY_DEVICE), &kSmall,
                              hlo_status_create(HLO_STATUS_DATA_LOSS, "born dead"), &error);
  if (!succeeds(bench, "error", status)) error = NULL;
  hlo_buffer_t* heir = run(bench, LOOP, error, NULL);
  show(bench, "failed", failed);
  show(bench, "sum", sum);
  show(bench, "copy", copy);
  show(bench, "heir", heir);
  show(bench, "x", x);
  hlo_buffer_t* all[] = {x, failed, sum, copy, error, heir};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) hlo_buffer_release(all[i]);
}

typedef struct order {
  hlo_event_waiter_t waiter;
  atomic_uint* counter;
  unsigned place;
} order_t;

static void take_place(void* context, hlo_status_t status) {
  order_t* order = context;
  (void)status;
  order->place = 1 + atomic_fetch_add(order->counter, 1);
}

// Callbacks run in the order of registration, whether before or after the event.
static void callbacks(bench_t* bench) {
  enum { CALLBACKS = 5 };
  atomic_uint counter = 0;
  order_t orders[CALLBACKS] = {0};
  hlo_buffer_t *x = make(bench, 0, 1), *result = run(bench, LOOP, x, NULL);
  hlo_buffer_release(x);
  if (!result) return;
  hlo_event_t* ready = hlo_buffer_ready_event(result);
  for (int i = 0; i < CALLBACKS; ++i) {
    if (i == CALLBACKS - 1) show(bench, "result", result);
    orders[i].counter = &counter;
    hlo_event_on_ready(ready, &orders[i].waiter, take_place, &orders[i]);
  }
  await(bench, "ready", ready);
  hlo_buffer_release(result);
  // The thread that sets the event may still be in a callback.
  while (atomic_load(&counter) < CALLBACKS) continue;
  for (int i = 0; i < CALLBACKS; ++i) note(bench, "place %u\n", orders[i].place);
}

static void deletion_in_use(bench_t* bench) {
  hlo_buffer_t *x = make(bench, 0, 2), *big = make_big(bench, 3);
  hlo_buffer_t *loop = run(bench, LOOP, x, NULL), *product = run(bench, BIG_ADD, big, big);
  hlo_buffer_t* copy = copy_to(bench, big, memory_of(bench, 1, HLO_MEMORY_DEVICE));
  if (x) hlo_buffer_delete(x);
  if (big) hlo_buffer_delete(big);
  hlo_buffer_t* late = run(bench, LOOP, x, NULL);
  assert_null(late);
  show(bench, "loop", loop);
  show(bench, "product", product);
  show(bench, "copy", copy);
  // Some results are released while they are computed.
  hlo_buffer_t* unseen = run(bench, BIG_ADD, copy, copy);
  hlo_buffer_t* all[] = {x, big, loop, product, copy, unseen};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) hlo_buffer_release(all[i]);
}

static void exhaustion(bench_t* bench) {
  enum { BLOCKS = 8 };
  static const int64_t dims[] = {20 << 20};
  const hlo_buffer_shape_t shape = {.dtype = HLO_DTYPE_U8, .rank = 1, .dims = dims};
  for (int turn = 0; turn < 2; ++turn) {
    hlo_buffer_t* blocks[BLOCKS] = {0};
    int count = 0, refused = 0;
    for (int i = 0; i < BLOCKS; ++i) {
      hlo_status_t status = hlo_buffer_create_uninitialized(memory_of(bench, 0, HLO_MEMORY_DEVICE),
                                                            &shape, &blocks[i]);
      refused += hlo_status_code(status) == HLO_STATUS_RESOURCE_EXHAUSTED;
      count += hlo_status_is_ok(status);
      hlo_status_release(status);
    }
    note(bench, "%d blocks, %d refused\n", count, refused);
    for (int i = 0; i < BLOCKS; ++i) hlo_buffer_release(blocks[i]);
  }
}

static const struct {
  const char* name;
  void (*run)(bench_t* bench);
} kRows[] = {
    {"uploads", uploads},
    {"strided uploads", strided_uploads},
    {"ranges", ranges},
    {"copies", copies},
    {"copies between clients", copies_between_clients},
    {"donation", donation},
    {"aliases", aliases},
    {"raw buffers", raw_buffers},
    {"pieces", pieces},
    {"late reads", late_reads},
    {"chains", chains},
    {"collectives", collectives},
    {"poisoning", poisoning},
    {"callbacks", callbacks},
    {"deletion in use", deletion_in_use},
    {"exhaustion", exhaustion},
};
enum { ROWS = sizeof kRows / sizeof *kRows };

// ---- runs of a row

static void open_bench(const config_t* config, bench_t* bench) {
  bench->config = config;
  bench->log_length = 0;
  bench->log[0] = 0;
  hlo_test_check(hlo_client_create(
      &(hlo_client_options_t){.device_count = DEVICES,
                              .thread_count = config->threads,
                              .memory_mib = MEMORY_MIB,
                              .is_slow = config->is_slow,
                              .slow = {.seed = config->seed, .delay = config->delay}},
      &bench->client));
  for (int i = 0; i < PROGRAMS; ++i) {
    hlo_test_check(hlo_loaded_create(bench->client, g_executables[i], 0, NULL, &bench->loaded[i]));
  }
}

// All memory is free once the work that nobody sees has ended.
static void await_free_memory(const bench_t* bench) {
  hlo_memory_stats_t stats;
  for (uint32_t d = 0; d < DEVICES; ++d) {
    for (int kind = 0; kind < HLO_MEMORY_KIND_COUNT; ++kind) {
      do hlo_memory_get_stats(memory_of(bench, d, (hlo_memory_kind_t)kind), &stats);
      while (stats.bytes_in_use != 0);
    }
  }
}

static void close_bench(bench_t* bench) {
  await_free_memory(bench);
  for (int i = 0; i < PROGRAMS; ++i) hlo_loaded_release(bench->loaded[i]);
  hlo_client_release(bench->client);
}

static bench_t g_first, g_other;

static void row_gives_the_same_on_all(void** state) {
  const size_t row = (size_t)(uintptr_t)*state;
  open_bench(&kConfigs[0], &g_first);
  kRows[row].run(&g_first);
  close_bench(&g_first);
  assert_true(g_first.log_length > 0);
  for (size_t c = 1; c < CONFIGS; ++c) {
    open_bench(&kConfigs[c], &g_other);
    kRows[row].run(&g_other);
    close_bench(&g_other);
    if (strcmp(g_first.log, g_other.log) != 0) {
      fail_msg("%s gives\n%s%s gives\n%s", kConfigs[0].name, g_first.log, kConfigs[c].name,
               g_other.log);
    }
  }
}

// The client works after a failure.
static void check_usable(bench_t* bench) {
  bench->log_length = 0;
  chains(bench);
  if (strcmp(g_first.log, bench->log) != 0) {
    fail_msg("%s, after a failure\n%s", bench->config->name, bench->log);
  }
}

static void row_survives_failures(void** state) {
  enum { MANY = 5000 };
  const size_t row = (size_t)(uintptr_t)*state;
  open_bench(&kConfigs[0], &g_first);
  chains(&g_first);
  close_bench(&g_first);
  for (size_t c = 2; c < 4; ++c) {
    open_bench(&kConfigs[c], &g_other);
    hlo_device_backend_t* backend = hlo_client_backend(g_other.client);
    for (uint64_t n = 1;; ++n) {
      assert_true(n < MANY);
      g_other.log_length = 0;
      hlo_device_slow_fail_nth(backend, n);
      kRows[row].run(&g_other);
      await_free_memory(&g_other);
      const bool has_failed = hlo_device_slow_failed(backend);
      hlo_device_slow_fail_nth(backend, 0);
      if (!has_failed) break;
    }
    check_usable(&g_other);
    close_bench(&g_other);
  }
}

// The allocations of the calling thread.
static void row_survives_exhaustion_of_host_memory(void** state) {
  enum { MANY = 5000 };
  const size_t row = (size_t)(uintptr_t)*state;
  open_bench(&kConfigs[0], &g_first);
  chains(&g_first);
  close_bench(&g_first);
  for (size_t c = 0; c < 3; c += 2) {
    open_bench(&kConfigs[c], &g_other);
    for (uint64_t n = 1;; ++n) {
      assert_true(n < MANY);
      g_other.log_length = 0;
      hlo_mem_fail_nth(n);
      kRows[row].run(&g_other);
      const bool has_failed = hlo_mem_failed();
      hlo_mem_fail_nth(0);
      await_free_memory(&g_other);
      if (!has_failed) break;
    }
    check_usable(&g_other);
    close_bench(&g_other);
  }
}

int main(void) {
  static struct CMUnitTest tests[3 * ROWS];
  static char names[3 * ROWS][80];
  static const struct {
    const char* suffix;
    CMUnitTestFunction run;
  } kKinds[] = {{"the same on all", row_gives_the_same_on_all},
                {"failing operations", row_survives_failures},
                {"failing allocations", row_survives_exhaustion_of_host_memory}};
  for (size_t i = 0; i < 3 * ROWS; ++i) {
    const size_t row = i % ROWS, kind = i / ROWS;
    snprintf(names[i], sizeof names[i], "%s: %s", kRows[row].name, kKinds[kind].suffix);
    tests[i] = (struct CMUnitTest){
        .name = names[i], .test_func = kKinds[kind].run, .initial_state = (void*)(uintptr_t)row};
  }
  return cmocka_run_group_tests(tests, compile_all, release_all);
}
