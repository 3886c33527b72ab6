// SPDX-License-Identifier: Apache-2.0
// Threads do random operations on eight devices: creation, copies, launches, collectives, foreign
// functions, donation, aliases, failures, deletion, reads. A model predicts every value and every
// error. HLO_RANDOM_TEST_OPERATIONS sets the number of operations.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ffi/registry.h"
#include "ffi/test_util.h"
#include "runtime/raw_buffer.h"
#include "runtime/test_util.h"

enum { DEVICES = 8, THREADS = 4, COUNT = 160, SLOTS = 24, OPERATIONS = 12000, LIMIT = 1 << 20 };

#define TYPE "tensor<160xf32>"
typedef enum program { ADD, INCREMENT, FAILS, LOOP, CALL, CALL_FAILS, SUM, PROGRAMS } program_t;

static const char* const kPrograms[PROGRAMS] = {
    [ADD] = "func.func @main(%x: " TYPE ", %y: " TYPE ") -> " TYPE
            " {\n  %0 = stablehlo.add %x, %y : " TYPE "\n  return %0 : " TYPE "\n}",
    [INCREMENT] = "func.func @main(%x: " TYPE " {tf.aliasing_output = 0 : i32}) -> " TYPE
                  " {\n  %one = stablehlo.constant dense<1.0> : " TYPE
                  "\n  %0 = stablehlo.add %x, %one : " TYPE "\n  return %0 : " TYPE "\n}",
    [FAILS] =
        "func.func @main(%x: " TYPE ") -> " TYPE " {\n  %0 = stablehlo.slice %x [0:1] : (" TYPE
        ") -> tensor<1xf32>\n"
        "  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>\n"
        "  %2 = stablehlo.compare LT, %1, %1 : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "  stablehlo.custom_call @shape_assertion(%2) {has_side_effect = true, "
        "error_message = \"as it should\"} : (tensor<i1>) -> ()\n  return %x : " TYPE "\n}",
    // Not one of the programs that run on the launching thread.
    [LOOP] =
        "func.func @main(%x: " TYPE ") -> " TYPE
        " {\n  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %many = stablehlo.constant dense<50> : tensor<i32>\n"
        "  %step = stablehlo.constant dense<1> : tensor<i32>\n"
        "  %one = stablehlo.constant dense<1.0> : " TYPE
        "\n  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, " TYPE
        "\n  cond {\n    %c = stablehlo.compare LT, %i, %many : (tensor<i32>, tensor<i32>) -> "
        "tensor<i1>\n    stablehlo.return %c : tensor<i1>\n  } do {\n"
        "    %1 = stablehlo.add %i, %step : tensor<i32>\n    %2 = stablehlo.add %v, %one : " TYPE
        "\n    stablehlo.return %1, %2 : tensor<i32>, " TYPE "\n  }\n  return %0#1 : " TYPE "\n}",
    [CALL] = "func.func @main(%x: " TYPE ") -> " TYPE
             " {\n  %0 = stablehlo.custom_call @add_ten(%x) {api_version = 4 : i32} : (" TYPE
             ") -> " TYPE "\n  return %0 : " TYPE "\n}",
    [CALL_FAILS] = "func.func @main(%x: " TYPE ") -> " TYPE
                   " {\n  %0 = stablehlo.custom_call @breaks(%x) {api_version = 4 : i32} : (" TYPE
                   ") -> " TYPE "\n  return %0 : " TYPE "\n}",
    [SUM] =
        "func.func @main(%x: " TYPE ") -> " TYPE
        " {\n  %0 = \"stablehlo.all_reduce\"(%x) ({\n  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
        "    %s = stablehlo.add %a, %b : tensor<f32>\n    stablehlo.return %s : tensor<f32>\n"
        "  }) {replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>} : (" TYPE
        ") -> " TYPE "\n  return %0 : " TYPE "\n}",
};

HANDLER(add_ten) {
  const float* in = ((const XLA_FFI_Buffer*)frame->args.args[0])->data;
  float* out = ((const XLA_FFI_Buffer*)frame->rets.rets[0])->data;
  for (int i = 0; i < COUNT; ++i) out[i] = in[i] + 10;
  return NULL;
}

HANDLER(breaks) {
  return hlo_ffi_test_error(frame->api, XLA_FFI_Error_Code_DATA_LOSS, "the disk is full");
}

static hlo_client_t* g_client;
static hlo_loaded_t* g_loaded[PROGRAMS];

// A buffer and what is known about it: the value first + i * step, or an error with these words.
typedef struct slot {
  hlo_buffer_t* buffer;  // NULL: the slot is free
  uint32_t device;
  int first, step;
  const char* words;
} slot_t;

typedef struct worker {
  pthread_t thread;
  uint32_t random, operations;
  slot_t slots[SLOTS];
  char fault[300];  // the first
} worker_t;

static uint32_t draw(worker_t* w, uint32_t limit) {
  w->random = w->random * 1664525 + 1013904223;
  return (w->random >> 8) % limit;
}

static void complain(worker_t* w, const char* what, const char* found) {
  if (!w->fault[0]) snprintf(w->fault, sizeof w->fault, "%s: %s", what, found);
}

static void check(worker_t* w, const char* what, hlo_status_t status) {
  if (!hlo_status_is_ok(status)) complain(w, what, hlo_status_message(status));
  hlo_status_release(status);
}

static const int64_t kDims[] = {COUNT};
static const hlo_buffer_shape_t kShape = {.dtype = HLO_DTYPE_F32, .rank = 1, .dims = kDims};

static hlo_memory_t* memory_of(uint32_t device) {
  return &hlo_client_device(g_client, device)->memories[HLO_MEMORY_DEVICE];
}

static void clear(slot_t* slot) {
  hlo_buffer_release(slot->buffer);
  *slot = (slot_t){0};
}

static void fill(worker_t* w, slot_t* slot, uint32_t device) {
  clear(slot);
  *slot = (slot_t){.device = device, .first = (int)draw(w, 1000), .step = (int)draw(w, 10)};
  float values[COUNT];
  for (int i = 0; i < COUNT; ++i) values[i] = (float)(slot->first + i * slot->step);
  check(w, "create",
        hlo_buffer_from_host(memory_of(device), &kShape, values, NULL,
                             HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &slot->buffer));
  memset(values, -1, sizeof values);
}

// A used slot; the values of the model stay exact.
static slot_t* pick(worker_t* w) {
  slot_t* slot = &w->slots[draw(w, SLOTS)];
  if (!slot->buffer || slot->first > LIMIT || slot->step > LIMIT / COUNT) {
    fill(w, slot, draw(w, DEVICES));
  }
  return slot;
}

static void put(slot_t* slot, slot_t value) {
  clear(slot);
  *slot = value;
}

static hlo_buffer_t* launch(worker_t* w, program_t program, uint32_t device, hlo_buffer_t* x,
                            hlo_buffer_t* y) {
  hlo_buffer_t *arguments[] = {x, y}, *result = NULL;
  hlo_buffer_t* const* rows[] = {arguments};
  hlo_buffer_t** results[] = {&result};
  check(w, "launch",
        hlo_loaded_execute(g_loaded[program],
                           &(hlo_launch_t){.device_count = 1,
                                           .device = hlo_client_device(g_client, device),
                                           .arguments = rows,
                                           .argument_count = program == ADD ? 2 : 1,
                                           .out_results = results}));
  return result;
}

// ---- operations

static void read_back(worker_t* w) {
  const slot_t* slot = pick(w);
  const uint32_t begin = draw(w, COUNT), count = 1 + draw(w, COUNT - begin);
  float got[COUNT] = {0};
  hlo_event_t* done = NULL;
  hlo_status_t status = hlo_buffer_copy_raw_to_host(
      slot->buffer, got, (int64_t)(begin * sizeof(float)), (int64_t)(count * sizeof(float)), &done);
  if (hlo_status_is_ok(status)) status = hlo_event_await(done, UINT64_MAX);
  hlo_event_release(done);
  const char* message = hlo_status_is_ok(status) ? "" : hlo_status_message(status);
  if (slot->words ? !strstr(message, slot->words) : !hlo_status_is_ok(status)) {
    complain(w, slot->words ? slot->words : "read", message);
  }
  for (uint32_t i = 0; i < count && !slot->words; ++i) {
    if (got[i] != (float)(slot->first + (int)(begin + i) * slot->step))
      complain(w, "read", "value");
  }
  hlo_status_release(status);
}

static void copy(worker_t* w) {
  const slot_t* from = pick(w);
  slot_t made = *from;
  made.device = draw(w, DEVICES);
  made.buffer = NULL;
  check(w, "copy", hlo_buffer_copy_to_memory(from->buffer, memory_of(made.device), &made.buffer));
  put(&w->slots[draw(w, SLOTS)], made);
}

static void add(worker_t* w) {
  const slot_t* x = pick(w);
  slot_t* y = &w->slots[draw(w, SLOTS)];
  if (!y->buffer || y->device != x->device || y->first > LIMIT || y->step > LIMIT / COUNT)
    y = (slot_t*)x;
  const slot_t made = {.buffer = launch(w, ADD, x->device, x->buffer, y->buffer),
                       .device = x->device,
                       .first = x->first + y->first,
                       .step = x->step + y->step,
                       .words = x->words ? x->words : y->words};
  put(&w->slots[draw(w, SLOTS)], made);
}

static void call(worker_t* w) {
  static const struct {
    program_t program;
    int added;
    const char* words;
  } kCalls[] = {{LOOP, 50, NULL},
                {CALL, 10, NULL},
                {FAILS, 0, "as it should"},
                {CALL_FAILS, 0, "the disk is full"}};
  const size_t which = draw(w, 4);
  const slot_t* x = pick(w);
  slot_t made = *x;
  made.buffer = launch(w, kCalls[which].program, x->device, x->buffer, NULL);
  made.first += kCalls[which].added;
  if (!made.words) made.words = kCalls[which].words;
  put(&w->slots[draw(w, SLOTS)], made);
}

static void donate(worker_t* w) {
  slot_t* slot = pick(w);
  slot_t made = *slot;
  made.buffer = launch(w, INCREMENT, slot->device, slot->buffer, NULL);
  made.first += 1;
  if (made.buffer && !hlo_buffer_is_deleted(slot->buffer)) complain(w, "donate", "still there");
  put(slot, made);
}

// Launches use the alias before it gets its value, or its error.
static void alias(worker_t* w) {
  const slot_t source = *pick(w);
  const uint32_t how = draw(w, 3);
  hlo_buffer_t* early = NULL;
  check(w, "alias", hlo_buffer_create_alias(memory_of(source.device), &kShape, &early));
  slot_t made = source;
  made.buffer = launch(w, LOOP, source.device, early, NULL);
  made.first += 50;
  if (how == 0) {
    made.words = "it never came";
    check(w, "fail",
          hlo_buffer_fulfill(early, NULL, hlo_status_create(HLO_STATUS_ABORTED, "it never came")));
  } else if (how == 1) {
    made.words = "before it was fulfilled";
  } else {
    check(w, "fulfil", hlo_buffer_fulfill(early, source.buffer, hlo_ok()));
  }
  hlo_buffer_release(early);
  put(&w->slots[draw(w, SLOTS)], made);
}

static void overwrite(worker_t* w) {
  slot_t* slot = pick(w);
  float values[COUNT];
  slot_t made = {.device = slot->device, .first = (int)draw(w, 100), .step = (int)draw(w, 5)};
  for (int i = 0; i < COUNT; ++i) values[i] = (float)(made.first + i * made.step);
  check(w, "overwrite",
        hlo_buffer_overwrite_from_host(slot->buffer, values, sizeof values,
                                       HLO_HOST_IMMUTABLE_ONLY_DURING_CALL, NULL, &made.buffer));
  memset(values, -1, sizeof values);
  put(slot, made);
}

static void delete (worker_t* w) {
  slot_t* slot = pick(w);
  hlo_event_t* done = NULL;
  float got[COUNT];
  hlo_buffer_delete(slot->buffer);
  hlo_status_t status = hlo_buffer_to_host(slot->buffer, got, sizeof got, NULL, &done);
  if (hlo_status_code(status) != HLO_STATUS_INVALID_ARGUMENT) complain(w, "delete", "still there");
  hlo_status_release(status);
  clear(slot);
}

static void sum(worker_t* w) {
  slot_t values[DEVICES] = {0};
  hlo_buffer_t *results[DEVICES] = {0}, **result_rows[DEVICES];
  hlo_buffer_t* const* rows[DEVICES];
  slot_t made = {.device = draw(w, DEVICES)};
  for (uint32_t d = 0; d < DEVICES; ++d) {
    fill(w, &values[d], d);
    made.first += values[d].first;
    made.step += values[d].step;
    rows[d] = &values[d].buffer;
    result_rows[d] = &results[d];
  }
  check(w, "sum",
        hlo_loaded_execute(g_loaded[SUM], &(hlo_launch_t){.device_count = DEVICES,
                                                          .arguments = rows,
                                                          .argument_count = 1,
                                                          .out_results = result_rows}));
  made.buffer = results[made.device];
  for (uint32_t d = 0; d < DEVICES; ++d) {
    clear(&values[d]);
    if (d != made.device) hlo_buffer_release(results[d]);
  }
  put(&w->slots[draw(w, SLOTS)], made);
}

static void* work(void* context) {
  worker_t* w = context;
  static void (*const kOperations[])(worker_t*) = {read_back, copy,  add,       call,
                                                   donate,    alias, overwrite, delete};
  for (uint32_t i = 0; i < w->operations && !w->fault[0]; ++i) {
    if (draw(w, 64) == 0) {
      sum(w);
    } else {
      kOperations[draw(w, sizeof kOperations / sizeof *kOperations)](w);
    }
  }
  for (int i = 0; i < 4 * SLOTS && !w->fault[0]; ++i) read_back(w);
  for (int i = 0; i < SLOTS; ++i) clear(&w->slots[i]);
  return NULL;
}

static void load_all(void) {
  for (int i = 0; i < PROGRAMS; ++i) {
    g_loaded[i] = hlo_test_load(g_client, kPrograms[i], NULL, i == SUM ? DEVICES : 1);
  }
}

static uint32_t operation_count(void) {
  const char* text = getenv("HLO_RANDOM_TEST_OPERATIONS");
  return text ? (uint32_t)strtoul(text, NULL, 10) : OPERATIONS;
}

static void run_threads(const hlo_client_options_t* options) {
  hlo_test_check(hlo_client_create(options, &g_client));
  load_all();
  static worker_t workers[THREADS];
  memset(workers, 0, sizeof workers);
  for (uint32_t i = 0; i < THREADS; ++i) {
    workers[i].random = i + 1;
    workers[i].operations = operation_count() / THREADS;
    assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; ++i) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; ++i) assert_string_equal(workers[i].fault, "");
  for (int i = 0; i < PROGRAMS; ++i) hlo_loaded_release(g_loaded[i]);
  hlo_memory_stats_t stats;
  for (uint32_t d = 0; d < DEVICES; ++d) {
    do hlo_memory_get_stats(memory_of(d), &stats);  // unseen launches may still be running
    while (stats.bytes_in_use != 0);
  }
  hlo_client_release(g_client);
}

static void operations_on_processors(void** state) {
  (void)state;
  run_threads(&(hlo_client_options_t){.device_count = DEVICES, .thread_count = 3});
}

static void operations_on_slow_devices(void** state) {
  (void)state;
  run_threads(&(hlo_client_options_t){.device_count = DEVICES,
                                      .thread_count = 3,
                                      .is_slow = true,
                                      .slow = {.seed = 5, .delay = 6}});
}

static int setup(void** state) {
  (void)state;
  hlo_ffi_test_add(NULL, "add_ten", add_ten);
  hlo_ffi_test_add(NULL, "breaks", breaks);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(operations_on_processors),
                                     cmocka_unit_test(operations_on_slow_devices)};
  return cmocka_run_group_tests(tests, setup, NULL);
}
