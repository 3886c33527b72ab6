// SPDX-License-Identifier: Apache-2.0
// Tests of buffers, events and launches of the public C API: memory lent and mapped without copies,
// donation, callbacks, several devices, failures.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
// cmocka.h needs those above first.
#include <cmocka.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "capi/test_util.h"

static const char kTwice[] =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "}\n";
static const char kSum[] =
    "func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "}\n";
// Counts to 2^22, slowly enough for others to act meanwhile.
static const char kSlow[] =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %0:2 = stablehlo.while(%i = %zero, %x = %a) : tensor<i32>, tensor<4xf32>\n"
    "    cond {\n"
    "      %end = stablehlo.constant dense<4194304> : tensor<i32>\n"
    "      %1 = stablehlo.compare LT, %i, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %1 : tensor<i1>\n"
    "    } do {\n"
    "      %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "      %1 = stablehlo.add %i, %one : tensor<i32>\n"
    "      %2 = stablehlo.negate %x : tensor<4xf32>\n"
    "      stablehlo.return %1, %2 : tensor<i32>, tensor<4xf32>\n"
    "    }\n"
    "  return %0#1 : tensor<4xf32>\n"
    "}\n";
static const char kFails[] =
    "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
    "  %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "  %two = stablehlo.constant dense<2> : tensor<i32>\n"
    "  stablehlo.custom_call @check.expect_eq(%one, %two) {has_side_effect = true} : "
    "(tensor<i32>, tensor<i32>) -> ()\n"
    "  return %a : tensor<4xf32>\n"
    "}\n";

static const int64_t kFour[] = {4};
static const hlocc_shape_t kShape = {.type = HLOCC_TYPE_F32, .rank = 1, .dims = kFour};

static void check_elements(hlocc_buffer_t* buffer, float first, float step) {
  void* data = NULL;
  hlo_test_succeed(hlocc_buffer_map(buffer, HLOCC_READ, &data));
  for (int i = 0; i < 4; ++i) assert_true(((float*)data)[i] == first + step * (float)i);
  hlocc_buffer_unmap(buffer);
}

static hlocc_buffer_t* copy_in(hlocc_client_t* client, uint32_t device, float first, float step) {
  const float data[] = {first, first + step, first + 2 * step, first + 3 * step};
  hlocc_buffer_t* buffer = NULL;
  hlo_test_succeed(hlocc_buffer_create_copy(client, device, &kShape, data, &buffer));
  return buffer;
}

static hlocc_buffer_t* launch(hlocc_executable_t* executable, hlocc_buffer_t* argument) {
  hlocc_buffer_t* result = NULL;
  hlo_test_succeed(hlocc_executable_launch(executable, &argument, NULL, &result, NULL));
  return result;
}

static void count_release(void* context) {
  atomic_fetch_add((atomic_int*)context, 1);
}

static void test_buffers_carry_values(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = hlo_test_load(client, kTwice, NULL);
  hlocc_buffer_t* in = copy_in(client, 0, 1, 1);
  hlocc_shape_t shape = hlocc_buffer_shape(in);
  assert_int_equal(shape.type, HLOCC_TYPE_F32);
  assert_int_equal(shape.rank, 1);
  assert_int_equal(shape.dims[0], 4);
  assert_int_equal(shape.element_count, 4);
  assert_int_equal(shape.size_bytes, 16);
  assert_int_equal(hlocc_buffer_device(in), 0);
  hlocc_event_t* end = NULL;
  hlocc_buffer_t *twice = NULL, *copy = NULL;
  hlo_test_succeed(hlocc_executable_launch(executable, &in, NULL, &twice, &end));
  hlocc_executable_free(executable);  // the rest goes on
  hlocc_client_free(client);
  hlo_test_succeed(hlocc_event_wait(end, HLOCC_FOREVER));
  assert_true(hlocc_event_is_ready(end));
  check_elements(twice, 2, 2);
  check_elements(in, 1, 1);
  float out[4];
  hlo_test_succeed(hlocc_buffer_read(twice, out, sizeof out, NULL));
  assert_true(out[3] == 8);
  hlocc_event_t* copied = NULL;
  hlo_test_succeed(hlocc_buffer_read(in, out, sizeof out, &copied));
  hlo_test_succeed(hlocc_event_wait(copied, HLOCC_FOREVER));
  assert_true(out[3] == 4);
  hlo_test_expect(hlocc_buffer_read(in, out, 15, NULL), HLOCC_INVALID_ARGUMENT, "15 bytes");
  hlo_test_expect(hlocc_buffer_read(in, out, 15, &copied), HLOCC_INVALID_ARGUMENT, "15 bytes");
  hlocc_event_free(copied);
  hlocc_event_free(end);
  hlocc_buffer_free(in);
  hlocc_buffer_free(twice);
  hlocc_buffer_free(copy);
}

static void test_counts_memory(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(2);
  hlocc_buffer_t* buffer = copy_in(client, 1, 1, 1);
  hlocc_memory_t memory = {.struct_size = sizeof memory};
  hlo_test_succeed(hlocc_client_memory(client, 1, &memory));
  assert_true(memory.used_bytes >= 16 && memory.peak_used_bytes >= memory.used_bytes);
  const uint64_t used = memory.used_bytes;
  hlocc_buffer_free(buffer);
  hlo_test_succeed(hlocc_client_memory(client, 1, &memory));
  assert_true(memory.used_bytes < used && memory.peak_used_bytes >= used);
  memory.limit_bytes = 7;  // unknown to an older caller
  memory.struct_size = offsetof(hlocc_memory_t, limit_bytes);
  hlo_test_succeed(hlocc_client_memory(client, 0, &memory));
  assert_int_equal(memory.limit_bytes, 7);
  hlo_test_expect(hlocc_client_memory(client, 2, &memory), HLOCC_INVALID_ARGUMENT, "device 2");
  memory.struct_size = 0;
  hlo_test_expect(hlocc_client_memory(client, 0, &memory), HLOCC_INVALID_ARGUMENT, "struct_size");
  hlocc_client_free(client);
}

static void test_trims_memory(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  const int64_t many[] = {1 << 20};
  const hlocc_shape_t large = {.type = HLOCC_TYPE_F32, .rank = 1, .dims = many};
  hlocc_executable_t* executable = hlo_test_load(client, kTwice, NULL);
  hlocc_executable_free(executable);
  hlocc_buffer_t *freed = NULL, *kept = NULL;
  hlo_test_succeed(hlocc_buffer_create(client, 0, &large, &freed));
  hlo_test_succeed(hlocc_buffer_create(client, 0, &large, &kept));
  hlocc_buffer_free(freed);
  hlocc_memory_t memory = {.struct_size = sizeof memory};
  hlo_test_succeed(hlocc_client_memory(client, 0, &memory));
  assert_true(memory.reserved_bytes >= 2 * (4 << 20));
  hlocc_client_trim(client);
  hlo_test_succeed(hlocc_client_memory(client, 0, &memory));
  assert_true(memory.reserved_bytes >= 4 << 20 && memory.reserved_bytes < 2 * (4 << 20));
  executable = hlo_test_load(client, kTwice, NULL);
  hlocc_executable_free(executable);
  hlocc_buffer_free(kept);
  hlocc_client_free(client);
}

static void test_lends_memory(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = hlo_test_load(client, kTwice, NULL);
  float* memory = malloc(4 * sizeof(float));
  for (int i = 0; i < 4; ++i) memory[i] = (float)i;
  atomic_int released = 0;
  hlocc_buffer_t* lent = NULL;
  hlo_test_succeed(
      hlocc_buffer_wrap(client, 0, &kShape, memory, HLOCC_READ, count_release, &released, &lent));
  void* data = NULL;
  hlo_test_succeed(hlocc_buffer_map(lent, HLOCC_READ, &data));
  assert_ptr_equal(data, memory);
  hlo_test_expect(hlocc_buffer_map(lent, HLOCC_READ_WRITE, &data), HLOCC_FAILED_PRECONDITION,
                  "mapped");
  hlocc_buffer_unmap(lent);
  hlo_test_expect(hlocc_buffer_map(lent, HLOCC_READ_WRITE, &data), HLOCC_FAILED_PRECONDITION,
                  "lent");
  hlocc_buffer_t* twice = launch(executable, lent);
  check_elements(twice, 0, 2);
  assert_int_equal(released, 0);
  hlocc_buffer_free(lent);
  assert_int_equal(released, 1);
  hlocc_buffer_free(twice);
  hlo_test_expect(hlocc_buffer_wrap(client, 0, &kShape, memory + 1, HLOCC_READ, count_release,
                                    &released, &lent),
                  HLOCC_INVALID_ARGUMENT, "multiple of 16");
  hlo_test_expect(
      hlocc_buffer_wrap(client, 1, &kShape, memory, HLOCC_READ, count_release, &released, &lent),
      HLOCC_INVALID_ARGUMENT, "device 1");
  const hlocc_shape_t bad = {.type = (hlocc_type_t)999, .rank = 0};
  hlo_test_expect(
      hlocc_buffer_wrap(client, 0, &bad, memory, HLOCC_READ, count_release, &released, &lent),
      HLOCC_INVALID_ARGUMENT, "element type");
  assert_int_equal(released, 1);  // failed calls keep nothing
  hlo_test_succeed(hlocc_buffer_wrap(client, 0, &kShape, memory, HLOCC_READ, NULL, NULL, &lent));
  hlocc_buffer_free(lent);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
  free(memory);
}

static hlocc_executable_t* load_donating(hlocc_client_t* client, const char* text) {
  static const uint32_t kFirst[] = {0};
  const hlocc_compile_options_t options = {
      .struct_size = sizeof options, .donated_count = 1, .donated = kFirst};
  return hlo_test_load(client, text, &options);
}

// The result of a donated argument has its memory, whose release is called when the last result
// dies.
static void test_donates_lent_memory(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = load_donating(client, kTwice);
  assert_true(hlocc_executable_is_donated(executable, 0));
  assert_false(hlocc_executable_is_donated(executable, 1));
  float* memory = malloc(4 * sizeof(float));
  for (int access = HLOCC_READ; access <= HLOCC_READ_WRITE; ++access) {
    for (int i = 0; i < 4; ++i) memory[i] = 1;
    atomic_int released = 0;
    hlocc_buffer_t* buffer = NULL;
    hlo_test_succeed(hlocc_buffer_wrap(client, 0, &kShape, memory, (hlocc_access_t)access,
                                       count_release, &released, &buffer));
    for (int step = 0; step < 3; ++step) {
      hlocc_buffer_t* next = launch(executable, buffer);
      assert_true(hlocc_buffer_is_donated(buffer));
      hlocc_buffer_free(buffer);
      buffer = next;
    }
    check_elements(buffer, 8, 0);
    void* data;
    hlo_test_succeed(hlocc_buffer_map(buffer, HLOCC_READ, &data));
    assert_int_equal(data == memory, access == HLOCC_READ_WRITE);
    assert_true(memory[0] == (access == HLOCC_READ_WRITE ? 8 : 1));
    hlocc_buffer_unmap(buffer);
    assert_int_equal(released, access == HLOCC_READ);
    hlocc_buffer_free(buffer);
    assert_int_equal(released, 1);
  }
  hlocc_executable_free(executable);
  hlocc_client_free(client);
  free(memory);
}

// A donated argument that is returned stays where it is, and the other result gets the rest.
static void test_donates_what_is_returned(void** state) {
  (void)state;
  static const char kHistory[] =
      "func.func @main(%before: tensor<4xf32>, %now: tensor<4xf32>) -> "
      "(tensor<4xf32>, tensor<4xf32>) {\n"
      "  %0 = stablehlo.add %before, %now : tensor<4xf32>\n"
      "  return %now, %0 : tensor<4xf32>, tensor<4xf32>\n"
      "}\n";
  static const uint32_t kBoth[] = {0, 1};
  const hlocc_compile_options_t options = {
      .struct_size = sizeof options, .donated_count = 2, .donated = kBoth};
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = hlo_test_load(client, kHistory, &options);
  hlocc_buffer_t* values[] = {copy_in(client, 0, 1, 0), copy_in(client, 0, 1, 0)};
  void *memory[2], *data;
  for (int i = 0; i < 2; ++i) {
    hlo_test_succeed(hlocc_buffer_map(values[i], HLOCC_READ, &memory[i]));
    hlocc_buffer_unmap(values[i]);
  }
  for (int step = 0; step < 4; ++step) {
    hlocc_buffer_t* next[2];
    hlo_test_succeed(hlocc_executable_launch(executable, values, NULL, next, NULL));
    for (int i = 0; i < 2; ++i) {
      hlocc_buffer_free(values[i]);
      values[i] = next[i];
      hlo_test_succeed(hlocc_buffer_map(values[i], HLOCC_READ, &data));
      assert_ptr_equal(data, memory[(step + 1 + i) % 2]);
      hlocc_buffer_unmap(values[i]);
    }
  }
  check_elements(values[0], 5, 0);  // of 1, 1, 2, 3, 5, 8
  check_elements(values[1], 8, 0);
  for (int i = 0; i < 2; ++i) hlocc_buffer_free(values[i]);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

// Results are computed in memory of the caller, which it gets back with the last of them.
static void test_writes_to_lent_memory(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* slow = hlo_test_load(client, kSlow, NULL);
  hlocc_executable_t* twice = hlo_test_load(client, kTwice, NULL);
  float* memory = malloc(4 * sizeof(float));
  atomic_int released = 0;
  hlocc_buffer_t *in = copy_in(client, 0, 1, 1), *out = NULL, *first = NULL, *second = NULL;
  hlo_test_succeed(hlocc_buffer_wrap(client, 0, &kShape, memory, HLOCC_READ_WRITE, count_release,
                                     &released, &out));
  const hlocc_launch_options_t to_out = {.struct_size = sizeof to_out, .outputs = &out};
  hlo_test_succeed(hlocc_executable_launch(twice, &in, &to_out, &first, NULL));
  assert_true(hlocc_buffer_is_donated(out));
  check_elements(first, 2, 2);
  assert_true(memory[3] == 8);
  // The memory is written again when its readers have ended, here a program.
  const hlocc_launch_options_t to_first = {.struct_size = sizeof to_first, .outputs = &first};
  hlocc_buffer_t* reader = launch(slow, first);
  hlo_test_succeed(hlocc_executable_launch(slow, &in, &to_first, &second, NULL));
  check_elements(second, 1, 1);
  check_elements(reader, 2, 2);
  assert_true(memory[3] == 4);
  // Refused outputs keep their values.
  hlocc_buffer_t* none = NULL;
  const hlocc_launch_options_t to_in = {.struct_size = sizeof to_in, .outputs = &in};
  hlo_test_expect(hlocc_executable_launch(twice, &in, &to_in, &none, NULL), HLOCC_INVALID_ARGUMENT,
                  "argument 0");
  hlo_test_expect(hlocc_executable_launch(twice, &in, &to_out, &none, NULL), HLOCC_INVALID_ARGUMENT,
                  "donated");
  const int64_t three[] = {3};
  const hlocc_shape_t small = {.type = HLOCC_TYPE_F32, .rank = 1, .dims = three};
  hlocc_buffer_free(out);
  hlo_test_succeed(hlocc_buffer_create(client, 0, &small, &out));
  hlo_test_expect(hlocc_executable_launch(twice, &in, &to_out, &none, NULL), HLOCC_INVALID_ARGUMENT,
                  "12 bytes");
  assert_false(hlocc_buffer_is_donated(out));
  hlocc_buffer_free(first);
  first = second;
  void* data;
  hlo_test_succeed(hlocc_buffer_map(first, HLOCC_READ, &data));
  hlo_test_expect(hlocc_executable_launch(twice, &in, &to_first, &none, NULL),
                  HLOCC_FAILED_PRECONDITION, "overwritten");
  hlocc_buffer_unmap(first);
  assert_false(hlocc_buffer_is_donated(first));
  check_elements(first, 1, 1);
  assert_int_equal(released, 0);
  hlocc_buffer_free(first);
  assert_int_equal(released, 1);
  hlocc_buffer_free(in);
  hlocc_buffer_free(out);
  hlocc_buffer_free(reader);
  hlocc_executable_free(slow);
  hlocc_executable_free(twice);
  hlocc_client_free(client);
  free(memory);
}

// A failed value is no input of the program that overwrites it; results without outputs take
// donated arguments as ever.
static void test_outputs_and_donation(void** state) {
  (void)state;
  static const char kBoth[] =
      "func.func @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> "
      "(tensor<4xf32>, tensor<4xf32>) {\n"
      "  %0 = stablehlo.add %a, %a : tensor<4xf32>\n"
      "  %1 = stablehlo.add %0, %a : tensor<4xf32>\n"
      "  return %0, %1 : tensor<4xf32>, tensor<4xf32>\n"
      "}\n";
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* fails = hlo_test_load(client, kFails, NULL);
  hlocc_executable_t* both = hlo_test_load(client, kBoth, NULL);
  hlocc_buffer_t *in = copy_in(client, 0, 1, 1), *results[2];
  void *memory, *data;
  hlo_test_succeed(hlocc_buffer_map(in, HLOCC_READ, &memory));
  hlocc_buffer_unmap(in);
  hlocc_buffer_t *other = copy_in(client, 0, 7, 0), *worse = NULL;
  hlocc_executable_t* twice = hlo_test_load(client, kTwice, NULL);
  hlocc_buffer_t* bad = launch(fails, other);
  const hlocc_launch_options_t to_bad = {.struct_size = sizeof to_bad, .outputs = &bad};
  hlo_test_succeed(hlocc_executable_launch(twice, &other, &to_bad, &worse, NULL));
  hlo_test_expect(hlocc_buffer_map(worse, HLOCC_READ, &data), HLOCC_INVALID_ARGUMENT, "expected 2");
  hlocc_buffer_free(bad);
  hlocc_buffer_free(worse);
  hlocc_executable_free(twice);
  hlocc_buffer_t* outputs[] = {NULL, other};
  hlocc_launch_options_t options = {.struct_size = sizeof options, .outputs = outputs};
  hlo_test_succeed(hlocc_executable_launch(both, &in, &options, results, NULL));
  check_elements(results[0], 2, 2);
  check_elements(results[1], 3, 3);
  hlo_test_succeed(hlocc_buffer_map(results[0], HLOCC_READ, &data));
  assert_ptr_equal(data, memory);
  hlocc_buffer_unmap(results[0]);
  hlocc_buffer_free(in);
  // An output goes before a donated argument, whose memory is free then.
  hlocc_buffer_free(outputs[1]);
  in = results[0];
  outputs[0] = results[1];
  outputs[1] = NULL;
  hlo_test_succeed(hlocc_executable_launch(both, &in, &options, results, NULL));
  assert_true(hlocc_buffer_is_donated(in) && hlocc_buffer_is_donated(outputs[0]));
  check_elements(results[0], 4, 4);
  check_elements(results[1], 6, 6);
  hlocc_buffer_free(in);
  hlocc_buffer_free(outputs[0]);
  hlocc_buffer_free(results[0]);
  hlocc_buffer_free(results[1]);
  hlocc_executable_free(fails);
  hlocc_executable_free(both);
  hlocc_client_free(client);
}

static void test_donation_can_be_refused(void** state) {
  (void)state;
  static const uint32_t kFirst[] = {0};
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = load_donating(client, kTwice);
  const hlocc_launch_options_t options = {
      .struct_size = sizeof options, .kept_count = 1, .kept = kFirst};
  hlocc_buffer_t *in = copy_in(client, 0, 1, 1), *kept = NULL;
  hlo_test_succeed(hlocc_executable_launch(executable, &in, &options, &kept, NULL));
  assert_false(hlocc_buffer_is_donated(in));
  check_elements(in, 1, 1);
  void* data = NULL;  // a map keeps the elements, but not the handle
  hlo_test_succeed(hlocc_buffer_map(in, HLOCC_READ, &data));
  hlocc_buffer_t* other = launch(executable, in);
  check_elements(other, 2, 2);
  assert_true(((float*)data)[1] == 2);
  hlocc_buffer_unmap(in);
  assert_true(hlocc_buffer_is_donated(in));
  assert_int_equal(hlocc_buffer_shape(in).size_bytes, 16);
  hlocc_buffer_t* none = NULL;
  hlo_test_expect(hlocc_executable_launch(executable, &in, NULL, &none, NULL),
                  HLOCC_INVALID_ARGUMENT, "argument 0");
  hlo_test_expect(hlocc_buffer_map(in, HLOCC_READ, &data), HLOCC_INVALID_ARGUMENT, "donated");
  hlo_test_expect(hlocc_buffer_map(in, HLOCC_READ_WRITE, &data), HLOCC_INVALID_ARGUMENT, "donated");
  hlo_test_expect(hlocc_buffer_read(in, data, 16, NULL), HLOCC_INVALID_ARGUMENT, "donated");
  hlo_test_expect(hlocc_buffer_copy(in, client, 0, &none), HLOCC_INVALID_ARGUMENT, "donated");
  const uint32_t third = 2;
  const hlocc_compile_options_t bad = {
      .struct_size = sizeof bad, .donated_count = 1, .donated = &third};
  hlocc_executable_t* unloaded = NULL;
  hlo_test_expect(hlocc_executable_load(client, kTwice, strlen(kTwice), &bad, &unloaded),
                  HLOCC_INVALID_ARGUMENT, "argument 2");
  hlocc_buffer_free(in);
  hlocc_buffer_free(kept);
  hlocc_buffer_free(other);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

static void test_maps_for_writing(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = hlo_test_load(client, kSlow, NULL);
  hlocc_buffer_t *in = NULL, *none = NULL;
  hlo_test_succeed(hlocc_buffer_create(client, 0, &kShape, &in));
  void *data = NULL, *other = NULL;
  hlo_test_succeed(hlocc_buffer_map(in, HLOCC_READ_WRITE, &data));
  assert_int_equal((uintptr_t)data % HLOCC_ALIGNMENT, 0);
  hlo_test_expect(hlocc_buffer_map(in, HLOCC_READ, &other), HLOCC_FAILED_PRECONDITION,
                  "for writing");
  hlo_test_expect(hlocc_buffer_map(in, HLOCC_READ_WRITE, &other), HLOCC_FAILED_PRECONDITION,
                  "for writing");
  hlo_test_expect(hlocc_executable_launch(executable, &in, NULL, &none, NULL),
                  HLOCC_FAILED_PRECONDITION, "argument 0");
  hlo_test_expect(hlocc_buffer_read(in, data, 16, NULL), HLOCC_FAILED_PRECONDITION, "for writing");
  hlo_test_expect(hlocc_buffer_copy(in, client, 0, &none), HLOCC_FAILED_PRECONDITION,
                  "for writing");
  assert_false(hlocc_buffer_is_donated(in));
  for (int i = 0; i < 4; ++i) ((float*)data)[i] = (float)i;
  hlocc_buffer_unmap(in);
  hlocc_buffer_unmap(in);  // no effect
  hlocc_buffer_t* result = launch(executable, in);
  hlo_test_succeed(
      hlocc_buffer_map(in, HLOCC_READ_WRITE, &data));  // waits until the launch has read it
  for (int i = 0; i < 4; ++i) ((float*)data)[i] = 7;
  check_elements(result, 0, 1);
  hlocc_buffer_unmap(in);
  check_elements(in, 7, 0);
  hlo_test_succeed(hlocc_buffer_map(in, HLOCC_READ_WRITE, &data));
  hlocc_buffer_free(in);  // ends the map
  hlo_test_succeed(hlocc_buffer_map(result, HLOCC_READ, &data));
  hlocc_buffer_free(result);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

static const char kOffload[] =
    "func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32> {mhlo.memory_kind = \"pinned_host\"})\n"
    "    -> (tensor<4xf32> {mhlo.memory_kind = \"unpinned_host\"}) {\n"
    "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
    "  return %0 : tensor<4xf32>\n"
    "}\n";

// Shapes of a program say where its arguments have to be, and buffers where they are.
// The memory outlives the buffer and the client, and counts until the block is freed.
static void test_takes_memory(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = hlo_test_load(client, kSlow, NULL);
  hlocc_buffer_t *in = copy_in(client, 0, 1, 1), *result = NULL, *none = NULL;
  void *data = NULL, *mapped = NULL;
  hlocc_block_t *block = NULL, *last = NULL;
  hlo_test_succeed(hlocc_executable_launch(executable, &in, NULL, &result, NULL));
  hlo_test_succeed(hlocc_buffer_take(in, &data, &block));  // waits for the launch, which reads it
  assert_true(hlocc_buffer_is_donated(in));
  assert_true(((float*)data)[0] == 1 && ((float*)data)[3] == 4);
  ((float*)data)[3] = 9;
  hlo_test_expect(hlocc_buffer_take(in, &data, &last), HLOCC_INVALID_ARGUMENT, "donated");
  hlo_test_succeed(hlocc_buffer_map(result, HLOCC_READ, &mapped));
  hlo_test_expect(hlocc_buffer_take(result, &data, &last), HLOCC_FAILED_PRECONDITION, "mapped");
  hlocc_buffer_unmap(result);
  hlo_test_succeed(hlocc_buffer_map(result, HLOCC_READ_WRITE, &mapped));
  hlo_test_expect(hlocc_buffer_take(result, &data, &last), HLOCC_FAILED_PRECONDITION, "mapped");
  hlocc_buffer_unmap(result);
  assert_false(hlocc_buffer_is_donated(result));
  hlo_test_succeed(hlocc_buffer_take(result, &data, &last));
  assert_ptr_equal(data, mapped);
  hlo_test_expect(hlocc_buffer_copy(result, client, 0, &none), HLOCC_INVALID_ARGUMENT, "donated");
  hlocc_memory_t memory = {.struct_size = sizeof memory};
  hlo_test_succeed(hlocc_client_memory(client, 0, &memory));
  assert_int_equal(memory.used_bytes, 32);
  hlocc_block_free(last);
  hlo_test_succeed(hlocc_client_memory(client, 0, &memory));
  assert_int_equal(memory.used_bytes, 16);
  hlocc_buffer_free(in);
  hlocc_buffer_free(result);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
  hlocc_block_free(block);
  hlocc_block_free(NULL);
}

// Lent memory is returned with the block.
static void test_takes_lent_memory(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  _Alignas(HLOCC_ALIGNMENT) float memory[4] = {0};
  for (int access = HLOCC_READ; access <= HLOCC_READ_WRITE; ++access) {
    atomic_int released = 0;
    hlocc_buffer_t* buffer = NULL;
    hlocc_block_t* block = NULL;
    void* data = NULL;
    hlo_test_succeed(hlocc_buffer_wrap(client, 0, &kShape, memory, (hlocc_access_t)access,
                                       count_release, &released, &buffer));
    hlocc_error_t* error = hlocc_buffer_take(buffer, &data, &block);
    if (access == HLOCC_READ) {
      hlo_test_expect(error, HLOCC_FAILED_PRECONDITION, "lent");
    } else {
      hlo_test_succeed(error);
      assert_ptr_equal(data, memory);
    }
    hlocc_buffer_free(buffer);
    assert_int_equal(released, access == HLOCC_READ);
    hlocc_block_free(block);
    assert_int_equal(released, 1);
  }
  hlocc_client_free(client);
}

static void test_kinds_of_memory(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = hlo_test_load(client, kOffload, NULL);
  const hlocc_shape_t pinned = hlocc_executable_argument(executable, 1);
  assert_int_equal(hlocc_executable_argument(executable, 0).memory, HLOCC_MEMORY_DEVICE);
  assert_int_equal(pinned.memory, HLOCC_MEMORY_PINNED_HOST);
  assert_int_equal(hlocc_executable_result(executable, 0).memory, HLOCC_MEMORY_UNPINNED_HOST);
  hlocc_buffer_t *arguments[] = {copy_in(client, 0, 1, 1), NULL}, *result = NULL, *back = NULL;
  arguments[1] = arguments[0];
  hlo_test_expect(hlocc_executable_launch(executable, arguments, NULL, &result, NULL),
                  HLOCC_INVALID_ARGUMENT,
                  "argument 1 has memory kind device, expected pinned_host");
  const float values[4] = {10, 20, 30, 40};
  hlo_test_succeed(hlocc_buffer_create_copy(client, 0, &pinned, values, &arguments[1]));
  assert_int_equal(hlocc_buffer_shape(arguments[1]).memory, HLOCC_MEMORY_PINNED_HOST);
  hlo_test_succeed(hlocc_executable_launch(executable, arguments, NULL, &result, NULL));
  assert_int_equal(hlocc_buffer_shape(result).memory, HLOCC_MEMORY_UNPINNED_HOST);
  check_elements(result, 11, 11);
  hlo_test_succeed(hlocc_buffer_copy_to(result, client, 0, HLOCC_MEMORY_PINNED_HOST, &back));
  assert_int_equal(hlocc_buffer_shape(back).memory, HLOCC_MEMORY_PINNED_HOST);
  check_elements(back, 11, 11);
  hlocc_memory_t memory = {.struct_size = sizeof memory, .kind = HLOCC_MEMORY_PINNED_HOST};
  hlo_test_succeed(hlocc_client_memory(client, 0, &memory));
  assert_int_equal(memory.used_bytes, 32);
  memory.kind = (hlocc_memory_kind_t)3;
  hlo_test_expect(hlocc_client_memory(client, 0, &memory), HLOCC_INVALID_ARGUMENT, "3 is no kind");
  hlo_test_expect(hlocc_buffer_copy_to(result, client, 0, memory.kind, &back),
                  HLOCC_INVALID_ARGUMENT, "3 is no kind");
  for (int i = 0; i < 2; ++i) hlocc_buffer_free(arguments[i]);
  hlocc_buffer_free(result);
  hlocc_buffer_free(back);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

static void test_overwrites_buffers(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* executable = hlo_test_load(client, kTwice, NULL);
  const float values[4] = {5, 6, 7, 8};
  hlocc_buffer_t *in = copy_in(client, 0, 1, 1), *next = NULL, *last = NULL, *result = NULL;
  hlo_test_expect(hlocc_buffer_overwrite(in, values, sizeof values - 1, &next),
                  HLOCC_INVALID_ARGUMENT, "16 bytes with 15 bytes");
  hlo_test_succeed(hlocc_executable_launch(executable, &in, NULL, &result, NULL));
  hlo_test_succeed(hlocc_buffer_overwrite(in, values, sizeof values, &next));
  assert_true(hlocc_buffer_is_donated(in));
  check_elements(next, 5, 1);
  check_elements(result, 2, 2);
  hlo_test_succeed(hlocc_buffer_overwrite_from(next, result, &last));
  assert_true(hlocc_buffer_is_donated(next));
  assert_false(hlocc_buffer_is_donated(result));
  check_elements(last, 2, 2);
  void* data = NULL;
  hlo_test_succeed(hlocc_buffer_map(last, HLOCC_READ_WRITE, &data));
  hlo_test_expect(hlocc_buffer_overwrite_from(result, last, &next), HLOCC_FAILED_PRECONDITION,
                  "mapped");
  hlocc_buffer_free(in);
  hlocc_buffer_free(next);
  hlocc_buffer_free(last);
  hlocc_buffer_free(result);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

static void test_runs_on_devices(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(2);
  hlocc_executable_t* executable = hlo_test_load(client, kTwice, NULL);
  const hlocc_launch_options_t second = {.struct_size = sizeof second, .device = 1};
  const hlocc_launch_options_t third = {.struct_size = sizeof third, .device = 2};
  hlocc_buffer_t *in = copy_in(client, 0, 1, 1), *moved = NULL, *result = NULL;
  hlo_test_expect(hlocc_executable_launch(executable, &in, &second, &result, NULL),
                  HLOCC_INVALID_ARGUMENT, "argument 0");
  hlo_test_expect(hlocc_executable_launch(executable, &in, &third, &result, NULL),
                  HLOCC_INVALID_ARGUMENT, "device 2");
  hlo_test_succeed(hlocc_buffer_copy(in, client, 1, &moved));
  assert_int_equal(hlocc_buffer_device(moved), 1);
  hlo_test_succeed(hlocc_executable_launch(executable, &moved, &second, &result, NULL));
  assert_int_equal(hlocc_buffer_device(result), 1);
  check_elements(result, 2, 2);
  hlocc_buffer_free(in);
  hlocc_buffer_free(moved);
  hlocc_buffer_free(result);
  hlocc_executable_free(executable);
  const hlocc_compile_options_t both = {.struct_size = sizeof both, .replica_count = 2};
  executable = hlo_test_load(client, kTwice, &both);
  hlocc_buffer_t* ins[] = {copy_in(client, 0, 1, 1), copy_in(client, 1, 5, 1)};
  hlocc_buffer_t* outs[2] = {NULL, NULL};
  hlocc_event_t* end = NULL;
  hlo_test_expect(hlocc_executable_launch(executable, ins, &second, outs, &end),
                  HLOCC_INVALID_ARGUMENT, "a program of 2 devices");
  hlo_test_succeed(hlocc_executable_launch(executable, ins, NULL, outs, &end));
  hlo_test_succeed(hlocc_event_wait(end, HLOCC_FOREVER));
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(hlocc_buffer_device(outs[i]), i);
    check_elements(outs[i], i ? 10 : 2, 2);
    hlocc_buffer_free(ins[i]);
    hlocc_buffer_free(outs[i]);
  }
  hlocc_event_free(end);
  hlocc_executable_free(executable);
  hlocc_client_free(client);
}

// The observations of a callback, and the objects that it uses.
typedef struct callback_state {
  sem_t called;
  atomic_int count;
  hlocc_code_t code, wait_code;
  hlocc_event_t* other;  // waited for in the callback
  hlocc_executable_t* executable;
  hlocc_buffer_t *in, *out;
  hlocc_client_t* client;  // freed in the callback
} callback_state_t;

static void on_end(void* context, const hlocc_error_t* error) {
  callback_state_t* found = context;
  found->code = hlocc_error_code(error);
  if (found->other) {
    hlocc_error_t* refused = hlocc_event_wait(found->other, HLOCC_FOREVER);
    found->wait_code = hlocc_error_code(refused);
    hlocc_error_free(refused);
  }
  if (found->executable) {
    hlocc_error_free(
        hlocc_executable_launch(found->executable, &found->in, NULL, &found->out, NULL));
  }
  hlocc_client_free(found->client);
  atomic_fetch_add(&found->count, 1);
  sem_post(&found->called);
}

static void test_calls_back(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* slow = hlo_test_load(client, kSlow, NULL);
  callback_state_t found = {.executable = slow, .in = copy_in(client, 0, 3, 1)};
  sem_init(&found.called, 0, 0);
  hlocc_event_t *end = NULL, *ready = NULL;
  hlocc_buffer_t *first = NULL, *second = NULL;
  hlo_test_succeed(hlocc_executable_launch(slow, &found.in, NULL, &first, &end));
  hlo_test_succeed(hlocc_executable_launch(slow, &first, NULL, &second, &found.other));
  hlo_test_succeed(hlocc_event_on_ready(end, on_end, &found));
  hlo_test_succeed(hlocc_buffer_ready(first, &ready));
  hlocc_event_free(end);  // the callback remains
  sem_wait(&found.called);
  assert_int_equal(found.code, HLOCC_OK);
  assert_int_equal(found.wait_code, HLOCC_FAILED_PRECONDITION);
  assert_true(hlocc_event_is_ready(ready));
  check_elements(second, 3, 1);
  check_elements(found.out, 3, 1);
  hlocc_buffer_free(found.out);
  hlocc_event_free(found.other);
  found.other = NULL;
  found.executable = NULL;
  hlo_test_succeed(hlocc_event_on_ready(ready, on_end, &found));  // at once
  assert_int_equal(atomic_load(&found.count), 2);
  hlocc_event_free(ready);
  hlocc_buffer_free(first);
  hlocc_buffer_free(second);
  // The callback frees the last object of the client while a program runs.
  callback_state_t last = {.client = client};
  sem_init(&last.called, 0, 0);
  hlo_test_succeed(hlocc_executable_launch(slow, &found.in, NULL, &first, &end));
  hlo_test_succeed(hlocc_event_on_ready(end, on_end, &last));
  hlocc_event_free(end);
  hlocc_buffer_free(found.in);
  hlocc_buffer_free(first);
  hlocc_executable_free(slow);
  sem_wait(&last.called);
  assert_int_equal(last.code, HLOCC_OK);
  sem_destroy(&found.called);
  sem_destroy(&last.called);
}

static void test_waits_for_a_while(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* slow = hlo_test_load(client, kSlow, NULL);
  hlocc_buffer_t *in = copy_in(client, 0, 1, 1), *out = NULL, *last = NULL;
  hlocc_event_t* end = NULL;
  hlo_test_succeed(hlocc_executable_launch(slow, &in, NULL, &out, NULL));
  hlo_test_succeed(hlocc_executable_launch(slow, &out, NULL, &last, &end));
  hlocc_error_t* error = hlocc_event_wait(end, 1);
  if (error) {  // the programs might have ended
    assert_int_equal(hlocc_error_code(error), HLOCC_DEADLINE_EXCEEDED);
    hlocc_error_free(error);
  }
  hlo_test_succeed(hlocc_event_wait(end, HLOCC_FOREVER));
  hlo_test_succeed(hlocc_event_wait(end, 0));
  hlocc_event_free(end);
  hlocc_buffer_free(in);
  hlocc_buffer_free(out);
  hlocc_buffer_free(last);
  hlocc_executable_free(slow);
  hlocc_client_free(client);
}

static void test_results_carry_errors(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_executable_t* fails = hlo_test_load(client, kFails, NULL);
  hlocc_executable_t* sum = hlo_test_load(client, kSum, NULL);
  hlocc_buffer_t *in = copy_in(client, 0, 1, 1), *bad = NULL, *worse = NULL;
  hlocc_event_t* end = NULL;
  hlo_test_succeed(hlocc_executable_launch(fails, &in, NULL, &bad, &end));
  hlocc_buffer_t* arguments[] = {in, bad};
  hlo_test_succeed(hlocc_executable_launch(sum, arguments, NULL, &worse, NULL));
  void* data = NULL;
  float out[4];
  hlo_test_expect(hlocc_event_wait(end, HLOCC_FOREVER), HLOCC_INVALID_ARGUMENT, "expected 2");
  hlo_test_expect(hlocc_buffer_map(worse, HLOCC_READ, &data), HLOCC_INVALID_ARGUMENT, "expected 2");
  hlo_test_expect(hlocc_buffer_map(bad, HLOCC_READ_WRITE, &data), HLOCC_INVALID_ARGUMENT,
                  "expected 2");
  hlo_test_expect(hlocc_buffer_read(worse, out, sizeof out, NULL), HLOCC_INVALID_ARGUMENT,
                  "expected 2");
  callback_state_t found = {.count = 0};
  sem_init(&found.called, 0, 0);
  hlo_test_succeed(hlocc_event_on_ready(end, on_end, &found));
  assert_int_equal(found.code, HLOCC_INVALID_ARGUMENT);
  sem_destroy(&found.called);
  hlocc_error_t* error = hlocc_event_wait(end, 0);
  assert_int_equal(hlocc_error_fault_count(error), 1);
  hlocc_fault_t fault = hlocc_error_fault(error, 0);
  assert_string_equal(fault.file, "test.mlir");
  assert_int_equal(fault.line, 4);
  assert_string_equal(fault.operation, "stablehlo.custom_call");
  hlocc_error_free(error);
  hlocc_event_free(end);
  hlocc_buffer_free(bad);
  hlocc_buffer_free(worse);
  arguments[1] = NULL;
  hlo_test_expect(hlocc_executable_launch(sum, arguments, NULL, &worse, NULL),
                  HLOCC_INVALID_ARGUMENT, "argument 1");
  hlocc_buffer_free(in);
  hlocc_executable_free(fails);
  hlocc_executable_free(sum);
  hlocc_client_free(client);
}

// ---- threads

typedef struct stream {
  hlocc_client_t* client;
  hlocc_executable_t* executable;
  atomic_int released, called;
} stream_t;

static void count_call(void* context, const hlocc_error_t* error) {
  assert_null(error);
  atomic_fetch_add((atomic_int*)context, 1);
}

enum { STREAM_THREADS = 3, STREAM_LAUNCHES = 60 };

// Lends memory, launches, and drops everything while it is in use.
static void* stream(void* context) {
  stream_t* shared = context;
  float* memory = malloc(4 * sizeof(float));
  for (int i = 0; i < 4; ++i) memory[i] = (float)i;
  hlocc_event_t* end = NULL;
  for (int i = 0; i < STREAM_LAUNCHES; ++i) {
    hlocc_buffer_t *in = NULL, *out = NULL;
    hlo_test_succeed(hlocc_buffer_wrap(shared->client, 0, &kShape, memory, HLOCC_READ,
                                       count_release, &shared->released, &in));
    hlocc_event_free(end);
    hlo_test_succeed(hlocc_executable_launch(shared->executable, &in, NULL, &out, &end));
    hlo_test_succeed(hlocc_event_on_ready(end, count_call, &shared->called));
    hlocc_buffer_free(in);
    if (i % 3 == 0) check_elements(out, 0, 2);
    hlocc_buffer_free(out);
  }
  hlo_test_succeed(hlocc_event_wait(end, HLOCC_FOREVER));
  hlocc_event_free(end);
  return memory;
}

static void test_streams_on_threads(void** state) {
  (void)state;
  stream_t shared = {.client = hlo_test_client(1)};
  shared.executable = hlo_test_load(shared.client, kTwice, NULL);
  pthread_t threads[STREAM_THREADS];
  void* memory[STREAM_THREADS];
  for (int i = 0; i < STREAM_THREADS; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, stream, &shared), 0);
  }
  for (int i = 0; i < STREAM_THREADS; ++i) pthread_join(threads[i], &memory[i]);
  hlocc_executable_free(shared.executable);
  hlocc_client_free(shared.client);  // waits for all work
  assert_int_equal(shared.released, STREAM_THREADS * STREAM_LAUNCHES);
  assert_int_equal(shared.called, STREAM_THREADS * STREAM_LAUNCHES);
  for (int i = 0; i < STREAM_THREADS; ++i) free(memory[i]);
}

static void* read_often(void* context) {
  for (int i = 0; i < 100; ++i) {
    void* data = NULL;
    hlocc_error_t* error = hlocc_buffer_map(context, HLOCC_READ, &data);
    if (error) {
      hlo_test_expect(error, HLOCC_FAILED_PRECONDITION, "for writing");
      continue;
    }
    const float* elements = data;
    for (int k = 1; k < 4; ++k) assert_true(elements[k] == elements[0]);
    hlocc_buffer_unmap(context);
  }
  return NULL;
}

// Those who map for reading see all elements of a write or none.
static void test_maps_on_threads(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(1);
  hlocc_buffer_t* buffer = copy_in(client, 0, 0, 0);
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(pthread_create(&threads[i], NULL, read_often, buffer), 0);
  }
  for (int i = 0; i < 100; ++i) {
    void* data = NULL;
    hlocc_error_t* error = hlocc_buffer_map(buffer, HLOCC_READ_WRITE, &data);
    if (error) {
      hlo_test_expect(error, HLOCC_FAILED_PRECONDITION, "mapped");
      continue;
    }
    for (int k = 0; k < 4; ++k) ((float*)data)[k] = (float)i;
    hlocc_buffer_unmap(buffer);
  }
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  hlocc_buffer_free(buffer);
  hlocc_client_free(client);
}

// ---- failures

// Uses every function once; returns the first error.
static hlocc_error_t* session(hlocc_client_t* client, hlocc_executable_t* executable,
                              void* memory) {
  atomic_int released = 0, called = 0;
  hlocc_buffer_t *lent = NULL, *made = NULL, *copy = NULL, *result = NULL;
  hlocc_event_t *end = NULL, *ready = NULL, *copied = NULL;
  void* data = NULL;
  float out[4];
  hlocc_error_t* error = hlocc_buffer_wrap(client, 0, &kShape, memory, HLOCC_READ_WRITE,
                                           count_release, &released, &lent);
  const bool has_lent = !error;
  if (!error) error = hlocc_buffer_create(client, 0, &kShape, &made);
  if (!error) error = hlocc_buffer_map(made, HLOCC_READ_WRITE, &data);
  if (!error) memset(data, 0, sizeof out);
  if (made) hlocc_buffer_unmap(made);
  if (!error) error = hlocc_buffer_copy(made, client, 1, &copy);
  const hlocc_launch_options_t options = {.struct_size = sizeof options, .outputs = &made};
  if (!error) error = hlocc_executable_launch(executable, &lent, &options, &result, &end);
  const bool is_called = !error && (error = hlocc_event_on_ready(end, count_call, &called)) == NULL;
  if (!error) error = hlocc_buffer_ready(result, &ready);
  if (!error) error = hlocc_buffer_read(result, out, sizeof out, &copied);
  if (!error) error = hlocc_event_wait(copied, HLOCC_FOREVER);
  hlocc_error_t* last = end ? hlocc_event_wait(end, HLOCC_FOREVER) : NULL;
  hlocc_error_free(last);
  hlocc_buffer_free(lent);
  hlocc_buffer_free(made);
  hlocc_buffer_free(copy);
  hlocc_buffer_free(result);
  hlocc_event_free(end);
  hlocc_event_free(ready);
  hlocc_event_free(copied);
  if (is_called) assert_int_equal(called, 1);
  assert_int_equal(released, has_lent);
  return error;
}

static void test_every_allocation_may_fail(void** state) {
  (void)state;
  hlocc_client_t* client = hlo_test_client(2);
  hlocc_executable_t* executable = load_donating(client, kTwice);
  float* memory = malloc(4 * sizeof(float));
  memset(memory, 0, HLOCC_ALIGNMENT);
  for (uint64_t n = 1;; ++n) {
    assert_true(n < 1000);
    hlo_mem_fail_nth(n);
    hlocc_error_t* error = session(client, executable, memory);
    const bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    const hlocc_code_t code = hlocc_error_code(error);
    hlocc_error_free(error);
    if (!failed) {
      assert_int_equal(code, HLOCC_OK);
      break;
    }
    assert_true(code == HLOCC_OK || code == HLOCC_RESOURCE_EXHAUSTED);
  }
  hlocc_executable_free(executable);
  hlocc_client_free(client);
  free(memory);
}

static void test_nothing_is_fine(void** state) {
  (void)state;
  hlocc_buffer_free(NULL);
  hlocc_event_free(NULL);
  hlocc_client_t* client = hlo_test_client(1);
  const int64_t negative[] = {-1};
  const hlocc_shape_t bad = {.type = HLOCC_TYPE_F32, .rank = 1, .dims = negative};
  const hlocc_shape_t none = {.type = HLOCC_TYPE_F32, .rank = 1};
  const int64_t zero[] = {0};
  const hlocc_shape_t empty = {.type = HLOCC_TYPE_F32, .rank = 1, .dims = zero};
  hlocc_buffer_t* buffer = NULL;
  float x = 1;
  hlo_test_expect(hlocc_buffer_create(client, 0, &bad, &buffer), HLOCC_INVALID_ARGUMENT, "-1");
  hlo_test_expect(hlocc_buffer_create(client, 0, &none, &buffer), HLOCC_INVALID_ARGUMENT,
                  "dimensions");
  hlo_test_expect(hlocc_buffer_create_copy(client, 0, &kShape, NULL, &buffer),
                  HLOCC_INVALID_ARGUMENT, "null");
  assert_null(buffer);
  hlo_test_succeed(hlocc_buffer_create_copy(client, 0, &empty, &x, &buffer));
  assert_int_equal(hlocc_buffer_shape(buffer).element_count, 0);
  hlo_test_succeed(hlocc_buffer_read(buffer, NULL, 0, NULL));
  hlocc_buffer_free(buffer);
  hlocc_client_free(client);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_buffers_carry_values),
      cmocka_unit_test(test_counts_memory),
      cmocka_unit_test(test_trims_memory),
      cmocka_unit_test(test_lends_memory),
      cmocka_unit_test(test_donates_lent_memory),
      cmocka_unit_test(test_donates_what_is_returned),
      cmocka_unit_test(test_writes_to_lent_memory),
      cmocka_unit_test(test_outputs_and_donation),
      cmocka_unit_test(test_donation_can_be_refused),
      cmocka_unit_test(test_maps_for_writing),
      cmocka_unit_test(test_takes_memory),
      cmocka_unit_test(test_takes_lent_memory),
      cmocka_unit_test(test_kinds_of_memory),
      cmocka_unit_test(test_overwrites_buffers),
      cmocka_unit_test(test_runs_on_devices),
      cmocka_unit_test(test_calls_back),
      cmocka_unit_test(test_waits_for_a_while),
      cmocka_unit_test(test_results_carry_errors),
      cmocka_unit_test(test_streams_on_threads),
      cmocka_unit_test(test_maps_on_threads),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_nothing_is_fine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
