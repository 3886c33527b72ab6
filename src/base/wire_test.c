// SPDX-License-Identifier: Apache-2.0
// Tests of the protobuf wire format: real compile options, every kind both ways, malformed input.
#include "base/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// ---- the messages of the tests -----------------------------------------------------------------

typedef struct computation_device {
  hlo_wire_array_t replica_device_ids;  // int64
} computation_device_t;
typedef struct assignment {
  int32_t replica_count, computation_count;
  hlo_wire_array_t computation_devices;  // computation_device_t
} assignment_t;
typedef struct build_options {
  int64_t num_replicas, num_partitions;
  bool use_spmd_partitioning, use_shardy_partitioner;
  assignment_t* device_assignment;
  hlo_wire_array_t allow_propagation_to_output;  // bool
} build_options_t;
typedef struct compile_options {
  build_options_t* executable_build_options;
  int64_t profile_version;
} compile_options_t;

static const hlo_wire_field_info_t kComputationDevice[] = {
    HLO_WIRE_REPEATED(computation_device_t, 1, INT64, replica_device_ids)};
static const hlo_wire_message_t kComputationDeviceMessage =
    HLO_WIRE_MESSAGE(computation_device_t, kComputationDevice);
static const hlo_wire_field_info_t kAssignment[] = {
    HLO_WIRE_FIELD(assignment_t, 1, INT32, replica_count),
    HLO_WIRE_FIELD(assignment_t, 2, INT32, computation_count),
    HLO_WIRE_REPEATED_NESTED(assignment_t, 3, computation_devices, &kComputationDeviceMessage)};
static const hlo_wire_message_t kAssignmentMessage = HLO_WIRE_MESSAGE(assignment_t, kAssignment);
static const hlo_wire_field_info_t kBuildOptions[] = {
    HLO_WIRE_FIELD(build_options_t, 4, INT64, num_replicas),
    HLO_WIRE_FIELD(build_options_t, 5, INT64, num_partitions),
    HLO_WIRE_FIELD(build_options_t, 6, BOOL, use_spmd_partitioning),
    HLO_WIRE_NESTED(build_options_t, 9, device_assignment, &kAssignmentMessage),
    HLO_WIRE_REPEATED(build_options_t, 12, BOOL, allow_propagation_to_output),
    HLO_WIRE_FIELD(build_options_t, 19, BOOL, use_shardy_partitioner)};
static const hlo_wire_message_t kBuildOptionsMessage =
    HLO_WIRE_MESSAGE(build_options_t, kBuildOptions);
static const hlo_wire_field_info_t kCompileOptions[] = {
    HLO_WIRE_NESTED(compile_options_t, 3, executable_build_options, &kBuildOptionsMessage),
    HLO_WIRE_FIELD(compile_options_t, 5, INT64, profile_version)};
static const hlo_wire_message_t kCompileOptionsMessage =
    HLO_WIRE_MESSAGE(compile_options_t, kCompileOptions);

typedef struct sample {
  bool flag, has_flag;
  int32_t i32, has_nothing;
  uint32_t u32;
  int64_t i64, s64;
  uint64_t u64, f64bits;
  uint32_t f32bits;
  float f;
  double d;
  hlo_wire_bytes_t text;
  hlo_wire_array_t doubles, ints, texts, samples;
  struct sample* child;
} sample_t;

static const hlo_wire_message_t kSampleMessage;
static const hlo_wire_field_info_t kSample[] = {
    HLO_WIRE_OPTIONAL(sample_t, 1, BOOL, flag),
    HLO_WIRE_FIELD(sample_t, 2, INT32, i32),
    HLO_WIRE_FIELD(sample_t, 3, UINT32, u32),
    HLO_WIRE_FIELD(sample_t, 4, INT64, i64),
    HLO_WIRE_FIELD(sample_t, 5, SINT64, s64),
    HLO_WIRE_FIELD(sample_t, 6, UINT64, u64),
    HLO_WIRE_FIELD(sample_t, 7, FIXED64, f64bits),
    HLO_WIRE_FIELD(sample_t, 8, FIXED32, f32bits),
    HLO_WIRE_FIELD(sample_t, 9, FLOAT, f),
    HLO_WIRE_FIELD(sample_t, 10, DOUBLE, d),
    HLO_WIRE_FIELD(sample_t, 11, BYTES, text),
    HLO_WIRE_REPEATED(sample_t, 12, DOUBLE, doubles),
    HLO_WIRE_REPEATED(sample_t, 13, INT32, ints),
    HLO_WIRE_REPEATED(sample_t, 14, BYTES, texts),
    HLO_WIRE_REPEATED_NESTED(sample_t, 15, samples, &kSampleMessage),
    HLO_WIRE_NESTED(sample_t, 3000, child, &kSampleMessage)};
static const hlo_wire_message_t kSampleMessage = HLO_WIRE_MESSAGE(sample_t, kSample);

// ---- helpers -----------------------------------------------------------------------------------

static size_t read_data(const char* name, uint8_t* bytes, size_t capacity) {
  char path[256];
  snprintf(path, sizeof path, "tests/data/options/%s", name);
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  size_t size = fread(bytes, 1, capacity, file);
  fclose(file);
  assert_true(size > 0 && size < capacity);
  return size;
}

static void expect_error(hlo_status_t status, const char* part) {
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  if (!strstr(hlo_status_message(status), part)) {
    fail_msg("\"%s\" does not hold \"%s\"", hlo_status_message(status), part);
  }
  hlo_status_release(status);
}

// ---- tests -------------------------------------------------------------------------------------

static void test_real_options(void** state) {
  (void)state;
  uint8_t bytes[4096];
  for (int eight = 0; eight < 2; ++eight) {
    size_t size = read_data(eight ? "eight_devices.pb" : "one_device.pb", bytes, sizeof bytes);
    hlo_arena_t arena;
    hlo_arena_init(&arena, 1 << 20);
    compile_options_t options;
    assert_true(
        hlo_status_is_ok(hlo_wire_decode(&kCompileOptionsMessage, bytes, size, &arena, &options)));
    const build_options_t* build = options.executable_build_options;
    assert_non_null(build);
    assert_int_equal(build->num_replicas, 1);
    assert_int_equal(build->num_partitions, eight ? 8 : 1);
    assert_non_null(build->device_assignment);
    assert_int_equal(build->device_assignment->computation_count, eight ? 8 : 1);
    assert_int_equal(build->device_assignment->computation_devices.count, eight ? 8 : 1);
    const computation_device_t* devices = build->device_assignment->computation_devices.items;
    for (int i = 0; i < (eight ? 8 : 1); ++i) {
      assert_int_equal(devices[i].replica_device_ids.count, 1);
      assert_int_equal(((int64_t*)devices[i].replica_device_ids.items)[0], i);
    }
    hlo_arena_deinit(&arena);
  }
}

// Copies a message field by field through reader and writer.
static void copy_fields(const uint8_t* bytes, size_t size, hlo_strbuf_t* out) {
  hlo_wire_reader_t reader;
  hlo_wire_reader_init(&reader, bytes, size);
  for (;;) {
    hlo_wire_field_t field;
    bool done;
    assert_true(hlo_status_is_ok(hlo_wire_next(&reader, &field, &done)));
    if (done) return;
    switch (field.type) {
      case HLO_WIRE_TYPE_VARINT: hlo_wire_put_uint(out, field.number, field.value); break;
      case HLO_WIRE_TYPE_FIXED32:
        hlo_wire_put_fixed32(out, field.number, (uint32_t)field.value);
        break;
      case HLO_WIRE_TYPE_FIXED64: hlo_wire_put_fixed64(out, field.number, field.value); break;
      case HLO_WIRE_TYPE_BYTES: {
        size_t mark = hlo_wire_begin(out, field.number);
        hlo_strbuf_append(out, (const char*)field.bytes.data, field.bytes.size);
        hlo_wire_end(out, mark);
        break;
      }
    }
  }
}

static void test_copy_is_identical(void** state) {
  (void)state;
  uint8_t bytes[4096];
  size_t size = read_data("one_device.pb", bytes, sizeof bytes);
  hlo_strbuf_t out = {0};
  copy_fields(bytes, size, &out);
  assert_int_equal(out.length, size);
  assert_memory_equal(out.data, bytes, size);
  hlo_strbuf_deinit(&out);
}

static void test_every_kind_both_ways(void** state) {
  (void)state;
  double doubles[] = {1.5, -0.0, 3};
  int32_t ints[] = {0, -1, 300};
  hlo_wire_bytes_t texts[] = {{(const uint8_t*)"a", 1}, {NULL, 0}};
  char long_text[300];
  memset(long_text, 'x', sizeof long_text);
  sample_t grandchild = {.text = {(const uint8_t*)long_text, sizeof long_text}, .i64 = INT64_MIN};
  sample_t items[] = {{.u32 = 7}, {.child = &grandchild}};
  sample_t in = {.has_flag = true,
                 .i32 = -5,
                 .u32 = UINT32_MAX,
                 .i64 = -1,
                 .s64 = -64,
                 .u64 = UINT64_MAX,
                 .f64bits = 1,
                 .f32bits = 2,
                 .f = 2.5f,
                 .d = -1e300,
                 .text = {(const uint8_t*)"t\0u", 3},
                 .doubles = {doubles, 3},
                 .ints = {ints, 3},
                 .texts = {texts, 2},
                 .samples = {items, 2},
                 .child = &grandchild};
  hlo_strbuf_t out = {0}, again = {0};
  hlo_wire_encode(&kSampleMessage, &in, &out);
  hlo_arena_t arena;
  hlo_arena_init(&arena, 1 << 20);
  sample_t back;
  assert_true(
      hlo_status_is_ok(hlo_wire_decode(&kSampleMessage, out.data, out.length, &arena, &back)));
  assert_true(back.has_flag && !back.flag);
  assert_int_equal(back.i32, -5);
  assert_int_equal(back.s64, -64);
  assert_true(back.f == 2.5f && back.d == -1e300);
  assert_int_equal(back.text.size, 3);
  assert_int_equal(back.doubles.count, 3);
  assert_memory_equal(back.doubles.items, doubles, sizeof doubles);
  assert_memory_equal(back.ints.items, ints, sizeof ints);
  assert_int_equal(back.texts.count, 2);
  const sample_t* samples = back.samples.items;
  assert_int_equal(samples[0].u32, 7);
  assert_int_equal(samples[1].child->text.size, 300);
  assert_true(back.child->i64 == INT64_MIN);
  hlo_wire_encode(&kSampleMessage, &back, &again);
  assert_int_equal(out.length, again.length);
  assert_memory_equal(out.data, again.data, out.length);
  hlo_arena_deinit(&arena);
  hlo_strbuf_deinit(&out);
  hlo_strbuf_deinit(&again);
}

// Repeated scalars one by one, messages in two pieces, fields unknown to the table.
static void test_merging(void** state) {
  (void)state;
  static const uint8_t kBytes[] = {
      0x68, 0x01,                                      // ints: 1
      0x6a, 0x02, 0x02, 0x03,                          // ints: packed 2, 3
      0xc2, 0xbb, 0x01, 0x02, 0x68, 0x05,              // child { ints: 5 }
      0xc0, 0x3e, 0x2a,                                // field 1000, unknown
      0xc2, 0xbb, 0x01, 0x04, 0x68, 0x06, 0x10, 0x09,  // child { ints: 6, i32: 9 }
      0x10, 0x01, 0x10, 0x02,                          // i32: 1, then 2
  };
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  sample_t sample;
  assert_true(
      hlo_status_is_ok(hlo_wire_decode(&kSampleMessage, kBytes, sizeof kBytes, &arena, &sample)));
  const int32_t ints[] = {1, 2, 3}, child_ints[] = {5, 6};
  assert_int_equal(sample.ints.count, 3);
  assert_memory_equal(sample.ints.items, ints, sizeof ints);
  assert_int_equal(sample.child->ints.count, 2);
  assert_memory_equal(sample.child->ints.items, child_ints, sizeof child_ints);
  assert_int_equal(sample.child->i32, 9);
  assert_int_equal(sample.i32, 2);
  hlo_arena_deinit(&arena);
}

// The short form of reading takes the same fields, and no other.
static void test_small_numbers(void** state) {
  (void)state;
  static const struct {
    uint8_t bytes[4];
    size_t size;
    bool is_small;
  } cases[] = {
      {{0x80, 0x01, 0x00}, 3, true},        {{0xf8, 0x7f, 0x7f}, 3, true},
      {{0x08, 0x01, 0x08}, 3, false},       {{0x80, 0x01, 0x80, 0x01}, 4, false},
      {{0x80, 0x81, 0x01, 0x00}, 4, false}, {{0x82, 0x01, 0x01, 0x00}, 4, false},
      {{0x88, 0x00, 0x01}, 3, false},       {{0x80, 0x01}, 2, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    hlo_wire_reader_t reader, other;
    hlo_wire_field_t field, expected;
    bool done;
    hlo_wire_reader_init(&reader, cases[i].bytes, cases[i].size);
    other = reader;
    assert_int_equal(hlo_wire_next_small(&reader, &field), cases[i].is_small);
    assert_int_equal(reader.position, cases[i].is_small ? cases[i].size : 0);
    if (!cases[i].is_small) continue;
    assert_true(hlo_status_is_ok(hlo_wire_next(&other, &expected, &done)));
    assert_int_equal(field.number, expected.number);
    assert_int_equal(field.type, expected.type);
    assert_int_equal(field.value, expected.value);
    assert_int_equal(field.offset, expected.offset);
  }
}

static void test_malformed(void** state) {
  (void)state;
  static const struct {
    const char* bytes;
    size_t size;
    const char* message;
  } kCases[] = {
      {"\x10", 1, "at byte 1: the input ends inside a varint"},
      {"\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "at byte 1: a varint of more than 64"},
      {"\x00\x00", 2, "at byte 0: a field number out of range"},
      {"\x5a\x05"
       "abc",
       5, "at byte 0: field 11 claims 5 bytes, 3 are left"},
      {"\x10\x01\x4d\x01", 4, "at byte 3: the input ends inside a fixed-width"},
      {"\x13\x14", 2, "at byte 0: a wire type that is not in use"},
      {"\x7a\x02\x10\x80", 4, "at byte 3: the input ends inside a varint"},
      {"\x08\x01\x12\x00", 4, "at byte 2: field i32 (2) has wire type 2"},
      {"\x62\x03"
       "abc",
       5, "packed field doubles of 3 bytes"},
      {"\x6a\x02\x01\x80", 4, "at byte 3: the input ends inside a varint"},
  };
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 1 << 20);
    sample_t sample;
    expect_error(hlo_wire_decode(&kSampleMessage, kCases[i].bytes, kCases[i].size, &arena, &sample),
                 kCases[i].message);
    hlo_arena_deinit(&arena);
  }
}

static void test_limits(void** state) {
  (void)state;
  hlo_strbuf_t out = {0};
  size_t marks[HLO_WIRE_DEPTH_LIMIT + 1];
  for (int i = 0; i <= HLO_WIRE_DEPTH_LIMIT; ++i) marks[i] = hlo_wire_begin(&out, 15);
  for (int i = HLO_WIRE_DEPTH_LIMIT; i >= 0; --i) hlo_wire_end(&out, marks[i]);
  hlo_arena_t arena;
  hlo_arena_init(&arena, 1 << 20);
  sample_t sample;
  expect_error(hlo_wire_decode(&kSampleMessage, out.data, out.length, &arena, &sample),
               "nested deeper than 100");
  hlo_strbuf_deinit(&out);
  for (int i = 0; i < 20000; ++i) hlo_strbuf_append(&out, "\x7a\x00", 2);  // empty samples
  hlo_status_t status = hlo_wire_decode(&kSampleMessage, out.data, out.length, &arena, &sample);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  hlo_status_release(status);
  hlo_arena_deinit(&arena);
  hlo_strbuf_deinit(&out);
}

// Every truncation of real input is an error or a shorter message, never a crash.
static void test_truncation(void** state) {
  (void)state;
  uint8_t bytes[4096];
  size_t size = read_data("eight_devices.pb", bytes, sizeof bytes);
  for (size_t cut = 0; cut < size; ++cut) {
    uint8_t* copy = malloc(cut + 1);  // exact size: the address sanitizer sees any overrun
    assert_non_null(copy);
    memcpy(copy, bytes, cut);
    hlo_arena_t arena;
    hlo_arena_init(&arena, 1 << 20);
    compile_options_t options;
    hlo_status_release(hlo_wire_decode(&kCompileOptionsMessage, copy, cut, &arena, &options));
    hlo_arena_deinit(&arena);
    free(copy);
  }
}

static void test_out_of_memory(void** state) {
  (void)state;
  uint8_t bytes[4096];
  size_t size = read_data("eight_devices.pb", bytes, sizeof bytes);
  for (uint64_t n = 1;; ++n) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    compile_options_t options;
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_wire_decode(&kCompileOptionsMessage, bytes, size, &arena, &options);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    assert_int_equal(hlo_status_is_ok(status), !failed);
    hlo_status_release(status);
    hlo_arena_deinit(&arena);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_real_options),
      cmocka_unit_test(test_copy_is_identical),
      cmocka_unit_test(test_every_kind_both_ways),
      cmocka_unit_test(test_merging),
      cmocka_unit_test(test_small_numbers),
      cmocka_unit_test(test_malformed),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_truncation),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
