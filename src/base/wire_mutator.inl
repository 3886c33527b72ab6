// SPDX-License-Identifier: Apache-2.0
// Mutations of protobuf messages for fuzzers: one field at any depth is dropped, copied, swapped or
// changed, and the lengths of the enclosing messages are updated.
#include <string.h>

#include "base/fuzz.h"
#include "base/mem.h"
#include "base/wire.h"

enum { WIRE_GROWTH_BYTES = 64, WIRE_NUMBERS = 100 };

// A field and its bytes in the message, including the tag.
typedef struct wire_cut {
  hlo_wire_field_t field;
  hlo_wire_bytes_t message;
  size_t begin, end;
} wire_cut_t;

// Selects a field of a message with equal probability; *out_whole: the message is well formed.
static bool pick_field(hlo_wire_bytes_t message, uint64_t* random, bool* out_whole,
                       wire_cut_t* out) {
  hlo_wire_reader_t reader;
  hlo_wire_reader_init(&reader, message.data, message.size);
  uint32_t count = 0;
  for (;;) {
    wire_cut_t cut = {.message = message, .begin = reader.position};
    bool done = false;
    hlo_status_t status = hlo_wire_next(&reader, &cut.field, &done);
    *out_whole = hlo_status_is_ok(status);
    hlo_status_release(status);
    if (!*out_whole || done) return count > 0;
    cut.end = reader.position;
    if (hlo_fuzz_random(random) % ++count == 0) *out = cut;
  }
}

// Descends from a message into nested ones, along a random path of random length.
static bool pick_nested_field(hlo_wire_bytes_t message, uint64_t* random, wire_cut_t* out) {
  bool whole;
  if (!pick_field(message, random, &whole, out)) return false;
  while (out->field.type == HLO_WIRE_TYPE_BYTES && hlo_fuzz_random(random) % 4) {
    wire_cut_t inner;
    if (!pick_field(out->field.bytes, random, &whole, &inner) || !whole) break;
    *out = inner;
  }
  return true;
}

static void put_span(hlo_strbuf_t* out, hlo_wire_bytes_t message, size_t begin, size_t end) {
  hlo_strbuf_append(out, (const char*)message.data + begin, end - begin);
}

static void put_number(hlo_strbuf_t* out, const hlo_wire_field_t* field, uint32_t number,
                       uint64_t value) {
  if (field->type == HLO_WIRE_TYPE_VARINT) hlo_wire_put_uint(out, number, value);
  if (field->type == HLO_WIRE_TYPE_FIXED32) hlo_wire_put_fixed32(out, number, (uint32_t)value);
  if (field->type == HLO_WIRE_TYPE_FIXED64) hlo_wire_put_fixed64(out, number, value);
}

static void put_changed(hlo_strbuf_t* out, const hlo_wire_field_t* field, uint64_t* random) {
  static const uint64_t numbers[] = {0,         1,          2,         63,        64,        255,
                                     INT32_MAX, UINT32_MAX, INT64_MAX, INT64_MIN, UINT64_MAX};
  uint32_t choice = hlo_fuzz_random(random);
  if (field->type != HLO_WIRE_TYPE_BYTES) {
    uint64_t value = field->value + (choice / 4) % 8 - 4;
    if (choice % 4 == 0) value = numbers[(choice / 4) % (sizeof numbers / sizeof *numbers)];
    if (choice % 4 == 1) value = (choice / 4) % 32;
    put_number(out, field, field->number, value);
    return;
  }
  size_t size = field->bytes.size, capacity = size + WIRE_GROWTH_BYTES;
  uint8_t* bytes = hlo_mem_alloc(capacity);
  if (!bytes) return;
  if (size) memcpy(bytes, field->bytes.data, size);
  hlo_wire_put_bytes(out, field->number, bytes, LLVMFuzzerMutate(bytes, size, capacity));
  hlo_mem_free(bytes);
}

static void put_renumbered(hlo_strbuf_t* out, const hlo_wire_field_t* field, uint32_t number) {
  if (field->type == HLO_WIRE_TYPE_BYTES) {
    hlo_wire_put_bytes(out, number, field->bytes.data, field->bytes.size);
  } else {
    put_number(out, field, number, field->value);
  }
}

// Writes the replacement of one field.
static void put_mutated(hlo_strbuf_t* out, const wire_cut_t* cut, const wire_cut_t* other,
                        uint64_t* random) {
  switch (hlo_fuzz_random(random) % 8) {
    case 0: return;
    case 1:  // twice
      put_span(out, cut->message, cut->begin, cut->end);
      put_span(out, cut->message, cut->begin, cut->end);
      return;
    case 2:  // both
      put_span(out, cut->message, cut->begin, cut->end);
      put_span(out, other->message, other->begin, other->end);
      return;
    case 3: put_span(out, other->message, other->begin, other->end); return;
    case 4: put_renumbered(out, &other->field, cut->field.number); return;
    case 5: put_renumbered(out, &cut->field, 1 + hlo_fuzz_random(random) % WIRE_NUMBERS); return;
    default: put_changed(out, &cut->field, random); return;
  }
}

// Appends the message with one field changed, of itself or of a nested message; false if it has no
// fields.
static bool mutate_message(hlo_wire_bytes_t message, const wire_cut_t* other, uint64_t* random,
                           int depth, hlo_strbuf_t* out) {
  wire_cut_t cut;
  bool whole, nested = false;
  if (!pick_field(message, random, &whole, &cut) || (depth > 0 && !whole)) return false;
  put_span(out, message, 0, cut.begin);
  if (cut.field.type == HLO_WIRE_TYPE_BYTES && depth < HLO_WIRE_DEPTH_LIMIT &&
      hlo_fuzz_random(random) % 8) {
    hlo_strbuf_t inner = {0};
    nested = mutate_message(cut.field.bytes, other, random, depth + 1, &inner);
    if (nested) hlo_wire_put_bytes(out, cut.field.number, hlo_strbuf_text(&inner), inner.length);
    hlo_strbuf_deinit(&inner);
  }
  if (!nested) put_mutated(out, &cut, other, random);
  put_span(out, message, cut.end, message.size);
  return true;
}

// Writes `message` with one change, possibly a field of `donor`, to `out`; returns its size, or 0
// if the message has no fields or the result is too large.
static size_t mutate_wire_from(hlo_wire_bytes_t message, hlo_wire_bytes_t donor, uint8_t* out,
                               size_t max_size, uint64_t random) {
  wire_cut_t other;
  hlo_strbuf_t mutated = {0};
  size_t size = 0;
  if (pick_nested_field(donor, &random, &other) &&
      mutate_message(message, &other, &random, 0, &mutated) && !mutated.failed &&
      mutated.length <= max_size) {
    size = mutated.length;
    if (size) memcpy(out, mutated.data, size);
  }
  hlo_strbuf_deinit(&mutated);
  return size;
}

static size_t mutate_wire(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  hlo_wire_bytes_t message = {data, size};
  size_t new_size = seed % 16 ? mutate_wire_from(message, message, data, max_size, seed / 16) : 0;
  return new_size ? new_size : LLVMFuzzerMutate(data, size, max_size);
}
