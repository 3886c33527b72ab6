// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format (see wire.h). Decoding a message makes two passes over its fields: the
// first counts repeated ones so that each array is allocated once, the second stores.
#include "base/wire.h"

#include <string.h>

enum {
  VARINT_LIMIT_BYTES = 10,
  FIELD_NUMBER_LIMIT = (1 << 29) - 1,
  TAG_TYPE_BITS = 3,
};

// ---- reader ------------------------------------------------------------------------------------

void hlo_wire_reader_init(hlo_wire_reader_t* reader, const void* data, size_t size) {
  *reader = (hlo_wire_reader_t){.data = data, .size = size, .depth_left = HLO_WIRE_DEPTH_LIMIT};
}

static hlo_status_t malformed(const hlo_wire_reader_t* reader, size_t position, const char* what) {
  return hlo_invalid_argument("malformed protobuf at byte %zu: %s", reader->origin + position,
                              what);
}

static hlo_status_t read_long_varint(hlo_wire_reader_t* reader, uint64_t* out_value) {
  uint64_t value = 0;
  size_t start = reader->position;
  for (size_t i = 0; i < VARINT_LIMIT_BYTES; ++i) {
    if (start + i >= reader->size)
      return malformed(reader, start, "the input ends inside a varint");
    uint8_t byte = reader->data[start + i];
    if (i == VARINT_LIMIT_BYTES - 1 && byte > 1) break;
    value |= (uint64_t)(byte & 0x7fu) << (7 * i);
    if (byte < 0x80) {
      reader->position = start + i + 1;
      *out_value = value;
      return hlo_ok();
    }
  }
  return malformed(reader, start, "a varint of more than 64 bits");
}

// Most varints have one or two bytes.
static inline hlo_status_t read_varint(hlo_wire_reader_t* reader, uint64_t* out_value) {
  const uint8_t* at = reader->data + reader->position;
  size_t left = reader->size - reader->position;
  if (left > 0 && at[0] < 0x80) {
    *out_value = at[0];
    ++reader->position;
    return hlo_ok();
  }
  if (left > 1 && at[1] < 0x80) {
    *out_value = (at[0] & 0x7fu) | (uint64_t)at[1] << 7;
    reader->position += 2;
    return hlo_ok();
  }
  return read_long_varint(reader, out_value);
}

static hlo_status_t read_fixed(hlo_wire_reader_t* reader, size_t size, uint64_t* out_value) {
  if (reader->size - reader->position < size) {
    return malformed(reader, reader->position, "the input ends inside a fixed-width number");
  }
  *out_value = 0;
  memcpy(out_value, reader->data + reader->position, size);  // little-endian host, see dtype.h
  reader->position += size;
  return hlo_ok();
}

static hlo_status_t read_bytes(hlo_wire_reader_t* reader, hlo_wire_field_t* field) {
  uint64_t size;
  HLO_TRY(read_varint(reader, &size));
  if (size > reader->size - reader->position) {
    return hlo_invalid_argument(
        "malformed protobuf at byte %zu: field %u claims %llu bytes, %zu are left", field->offset,
        field->number, (unsigned long long)size, reader->size - reader->position);
  }
  field->bytes = (hlo_wire_bytes_t){reader->data + reader->position, (size_t)size};
  reader->position += (size_t)size;
  return hlo_ok();
}

static hlo_status_t read_field(hlo_wire_reader_t* reader, hlo_wire_field_t* out_field) {
  size_t start = reader->position;
  uint64_t tag;
  HLO_TRY(read_varint(reader, &tag));
  out_field->offset = reader->origin + start;
  uint64_t number = tag >> TAG_TYPE_BITS;
  if (number == 0 || number > FIELD_NUMBER_LIMIT) {
    return malformed(reader, start, "a field number out of range");
  }
  out_field->number = (uint32_t)number;
  out_field->type = (hlo_wire_type_t)(tag & 7u);
  out_field->value = 0;
  out_field->bytes = (hlo_wire_bytes_t){0};
  switch (out_field->type) {
    case HLO_WIRE_TYPE_VARINT: return read_varint(reader, &out_field->value);
    case HLO_WIRE_TYPE_FIXED64: return read_fixed(reader, 8, &out_field->value);
    case HLO_WIRE_TYPE_FIXED32: return read_fixed(reader, 4, &out_field->value);
    case HLO_WIRE_TYPE_BYTES: return read_bytes(reader, out_field);
    default: return malformed(reader, start, "a wire type that is not in use (group or 6, 7)");
  }
}

hlo_status_t hlo_wire_next(hlo_wire_reader_t* reader, hlo_wire_field_t* out_field, bool* out_done) {
  size_t start = reader->position;
  *out_done = start >= reader->size;
  if (*out_done) return hlo_ok();
  hlo_status_t status = read_field(reader, out_field);
  if (!hlo_status_is_ok(status))
    reader->position = start;  // the position stays at the faulty field
  return status;
}

// Creates a reader of a nested message. errors: INVALID_ARGUMENT if not BYTES or nested too deep.
static hlo_status_t enter(const hlo_wire_reader_t* reader, const hlo_wire_field_t* field,
                          hlo_wire_reader_t* out_nested) {
  if (field->type != HLO_WIRE_TYPE_BYTES) {
    return hlo_invalid_argument("malformed protobuf at byte %zu: field %u is not a message",
                                field->offset, field->number);
  }
  if (reader->depth_left == 0) {
    return hlo_invalid_argument("protobuf at byte %zu: messages nested deeper than %d",
                                field->offset, HLO_WIRE_DEPTH_LIMIT);
  }
  *out_nested = (hlo_wire_reader_t){
      .data = field->bytes.data,
      .size = field->bytes.size,
      .origin = reader->origin + (size_t)(field->bytes.data - reader->data),
      .depth_left = reader->depth_left - 1,
  };
  return hlo_ok();
}

// ---- writer ------------------------------------------------------------------------------------

static size_t encode_varint(uint64_t value, char* bytes) {
  size_t count = 0;
  while (value >= 0x80) {
    bytes[count++] = (char)(value | 0x80u);
    value >>= 7;
  }
  bytes[count++] = (char)value;
  return count;
}

void hlo_wire_put_varint(hlo_strbuf_t* out, uint64_t value) {
  char bytes[VARINT_LIMIT_BYTES];
  hlo_strbuf_append(out, bytes, encode_varint(value, bytes));
}

static void put_tag(hlo_strbuf_t* out, uint32_t number, hlo_wire_type_t type) {
  hlo_wire_put_varint(out, (uint64_t)number << TAG_TYPE_BITS | (uint64_t)type);
}

void hlo_wire_put_uint(hlo_strbuf_t* out, uint32_t number, uint64_t value) {
  put_tag(out, number, HLO_WIRE_TYPE_VARINT);
  hlo_wire_put_varint(out, value);
}

void hlo_wire_put_int(hlo_strbuf_t* out, uint32_t number, int64_t value) {
  hlo_wire_put_uint(out, number, (uint64_t)value);
}

void hlo_wire_put_fixed32(hlo_strbuf_t* out, uint32_t number, uint32_t value) {
  put_tag(out, number, HLO_WIRE_TYPE_FIXED32);
  hlo_strbuf_append(out, (const char*)&value, sizeof value);
}

void hlo_wire_put_fixed64(hlo_strbuf_t* out, uint32_t number, uint64_t value) {
  put_tag(out, number, HLO_WIRE_TYPE_FIXED64);
  hlo_strbuf_append(out, (const char*)&value, sizeof value);
}

void hlo_wire_put_bytes(hlo_strbuf_t* out, uint32_t number, const void* data, size_t size) {
  put_tag(out, number, HLO_WIRE_TYPE_BYTES);
  hlo_wire_put_varint(out, size);
  hlo_strbuf_append(out, data, size);
}

void hlo_wire_put_string(hlo_strbuf_t* out, uint32_t number, const char* text) {
  hlo_wire_put_bytes(out, number, text, strlen(text));
}

void hlo_wire_put_packed_int64(hlo_strbuf_t* out, uint32_t number, const int64_t* values,
                               size_t count) {
  if (count == 0) return;
  size_t mark = hlo_wire_begin(out, number);
  for (size_t i = 0; i < count; ++i) hlo_wire_put_varint(out, (uint64_t)values[i]);
  hlo_wire_end(out, mark);
}

size_t hlo_wire_begin(hlo_strbuf_t* out, uint32_t number) {
  put_tag(out, number, HLO_WIRE_TYPE_BYTES);
  hlo_strbuf_putc(out, 0);  // room for a length below 128; hlo_wire_end() makes more if needed
  return out->length;
}

void hlo_wire_end(hlo_strbuf_t* out, size_t mark) {
  if (out->failed) return;
  char bytes[VARINT_LIMIT_BYTES];
  size_t size = out->length - mark;
  size_t length = encode_varint(size, bytes);
  hlo_strbuf_append(out, bytes, length - 1);  // reserves room; the content is moved into it
  if (out->failed) return;
  memmove(out->data + mark + length - 1, out->data + mark, size);
  memcpy(out->data + mark - 1, bytes, length);
}

// ---- decoding by table -------------------------------------------------------------------------

static const struct {
  uint8_t size_bytes;
  hlo_wire_type_t type;
} kKinds[] = {
    [HLO_WIRE_KIND_BOOL] = {sizeof(bool), HLO_WIRE_TYPE_VARINT},
    [HLO_WIRE_KIND_INT32] = {4, HLO_WIRE_TYPE_VARINT},
    [HLO_WIRE_KIND_UINT32] = {4, HLO_WIRE_TYPE_VARINT},
    [HLO_WIRE_KIND_INT64] = {8, HLO_WIRE_TYPE_VARINT},
    [HLO_WIRE_KIND_UINT64] = {8, HLO_WIRE_TYPE_VARINT},
    [HLO_WIRE_KIND_SINT64] = {8, HLO_WIRE_TYPE_VARINT},
    [HLO_WIRE_KIND_FIXED32] = {4, HLO_WIRE_TYPE_FIXED32},
    [HLO_WIRE_KIND_FIXED64] = {8, HLO_WIRE_TYPE_FIXED64},
    [HLO_WIRE_KIND_FLOAT] = {4, HLO_WIRE_TYPE_FIXED32},
    [HLO_WIRE_KIND_DOUBLE] = {8, HLO_WIRE_TYPE_FIXED64},
    [HLO_WIRE_KIND_BYTES] = {sizeof(hlo_wire_bytes_t), HLO_WIRE_TYPE_BYTES},
    [HLO_WIRE_KIND_MESSAGE] = {sizeof(void*), HLO_WIRE_TYPE_BYTES},
};

static const hlo_wire_field_info_t* find_field(const hlo_wire_message_t* message, uint32_t number) {
  size_t low = 0, high = message->field_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (message->fields[mid].number == number) return &message->fields[mid];
    if (message->fields[mid].number < number) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  return NULL;
}

static size_t item_bytes(const hlo_wire_field_info_t* info) {
  bool by_value = info->kind == HLO_WIRE_KIND_MESSAGE && info->repeated;
  return by_value ? info->message->struct_bytes : kKinds[info->kind].size_bytes;
}

static bool is_packed(const hlo_wire_field_info_t* info, const hlo_wire_field_t* field) {
  return info->repeated && field->type == HLO_WIRE_TYPE_BYTES &&
         kKinds[info->kind].type != HLO_WIRE_TYPE_BYTES;
}

// Stores one number at its member or array item.
static void store_number(hlo_wire_kind_t kind, uint64_t value, void* to) {
  if (kind == HLO_WIRE_KIND_BOOL) {
    *(bool*)to = value != 0;
    return;
  }
  if (kind == HLO_WIRE_KIND_SINT64) value = (value >> 1) ^ (0 - (value & 1));
  memcpy(to, &value, kKinds[kind].size_bytes);
}

// Returns the number of items that a field adds to its array.
static hlo_status_t count_items(const hlo_wire_field_info_t* info, const hlo_wire_field_t* field,
                                size_t* out_count) {
  *out_count = 1;
  if (!is_packed(info, field)) return hlo_ok();
  size_t size = field->bytes.size, width = kKinds[info->kind].size_bytes;
  if (kKinds[info->kind].type == HLO_WIRE_TYPE_VARINT) {
    size_t count = 0;
    for (size_t i = 0; i < size; ++i) count += field->bytes.data[i] < 0x80;
    *out_count = count;
    return hlo_ok();
  }
  *out_count = size / width;
  if (size % width == 0) return hlo_ok();
  return hlo_invalid_argument(
      "malformed protobuf at byte %zu: packed field %s of %zu bytes is no multiple of %zu",
      field->offset, info->name, size, width);
}

static hlo_status_t decode_into(const hlo_wire_message_t* message, hlo_wire_reader_t reader,
                                hlo_arena_t* arena, void* out_struct);

static hlo_status_t store_packed(const hlo_wire_field_info_t* info, hlo_wire_reader_t packed,
                                 hlo_wire_array_t* array) {
  size_t width = item_bytes(info);
  while (packed.position < packed.size) {
    uint64_t value = 0;
    if (kKinds[info->kind].type == HLO_WIRE_TYPE_VARINT) {
      HLO_TRY(read_varint(&packed, &value));
    } else {
      HLO_TRY(read_fixed(&packed, kKinds[info->kind].size_bytes, &value));
    }
    store_number(info->kind, value, (uint8_t*)array->items + array->count++ * width);
  }
  return hlo_ok();
}

// Stores a field that is not packed at `to`, a member or an array item.
static hlo_status_t store_one(const hlo_wire_field_info_t* info, const hlo_wire_field_t* field,
                              const hlo_wire_reader_t* reader, hlo_arena_t* arena, void* to) {
  if (field->type != kKinds[info->kind].type) {
    return hlo_invalid_argument(
        "malformed protobuf at byte %zu: field %s (%u) has wire type %d, expected %d",
        field->offset, info->name, info->number, (int)field->type, (int)kKinds[info->kind].type);
  }
  if (info->kind == HLO_WIRE_KIND_BYTES) {
    *(hlo_wire_bytes_t*)to = field->bytes;
    return hlo_ok();
  }
  if (info->kind != HLO_WIRE_KIND_MESSAGE) {
    store_number(info->kind, field->value, to);
    return hlo_ok();
  }
  hlo_wire_reader_t nested;
  HLO_TRY(enter(reader, field, &nested));
  if (!info->repeated) {
    void** pointer = to;
    if (!*pointer) *pointer = hlo_arena_alloc_zeroed(arena, info->message->struct_bytes);
    if (!*pointer) return hlo_arena_status(arena);
    to = *pointer;
  }
  return decode_into(info->message, nested, arena, to);
}

// First pass: sizes and allocates the arrays of all repeated fields, keeping items of an earlier
// occurrence of the same message; counts start again at the kept items.
static hlo_status_t size_arrays(const hlo_wire_message_t* message, hlo_wire_reader_t reader,
                                hlo_arena_t* arena, uint8_t* out_struct) {
  size_t counts[HLO_WIRE_FIELD_LIMIT];
  memset(counts, 0, message->field_count * sizeof counts[0]);
  for (;;) {
    hlo_wire_field_t field;
    bool done;
    HLO_TRY(hlo_wire_next(&reader, &field, &done));
    if (done) break;
    const hlo_wire_field_info_t* info = find_field(message, field.number);
    if (!info || !info->repeated) continue;
    size_t count;
    HLO_TRY(count_items(info, &field, &count));
    counts[info - message->fields] += count;  // bounded by the bytes of the input
  }
  for (size_t i = 0; i < message->field_count; ++i) {
    if (counts[i] == 0) continue;
    hlo_wire_array_t* array = (hlo_wire_array_t*)(out_struct + message->fields[i].offset);
    size_t width = item_bytes(&message->fields[i]);
    void* items = hlo_arena_array(arena, array->count + counts[i], width);
    if (!items) return hlo_arena_status(arena);
    if (array->count) memcpy(items, array->items, array->count * width);
    array->items = items;
  }
  return hlo_ok();
}

static hlo_status_t decode_into(const hlo_wire_message_t* message, hlo_wire_reader_t reader,
                                hlo_arena_t* arena, void* out_struct) {
  uint8_t* base = out_struct;
  HLO_TRY(size_arrays(message, reader, arena, base));
  if (message->size_offset) *(size_t*)(base + message->size_offset) += reader.size;
  for (;;) {
    hlo_wire_field_t field;
    bool done;
    HLO_TRY(hlo_wire_next(&reader, &field, &done));
    if (done) return hlo_ok();
    const hlo_wire_field_info_t* info = find_field(message, field.number);
    if (!info) continue;
    void* member = base + info->offset;
    if (info->present_offset != HLO_WIRE_NO_PRESENCE) *(bool*)(base + info->present_offset) = true;
    if (!info->repeated) {
      HLO_TRY(store_one(info, &field, &reader, arena, member));
      continue;
    }
    hlo_wire_array_t* array = member;
    if (is_packed(info, &field)) {
      hlo_wire_reader_t packed;
      HLO_TRY(enter(&reader, &field, &packed));
      HLO_TRY(store_packed(info, packed, array));
    } else {
      void* item = (uint8_t*)array->items + array->count++ * item_bytes(info);
      HLO_TRY(store_one(info, &field, &reader, arena, item));
    }
  }
}

hlo_status_t hlo_wire_decode(const hlo_wire_message_t* message, const void* data, size_t size,
                             hlo_arena_t* arena, void* out_struct) {
  hlo_wire_reader_t reader;
  hlo_wire_reader_init(&reader, data, size);
  memset(out_struct, 0, message->struct_bytes);
  HLO_TRY_MSG(decode_into(message, reader, arena, out_struct), "%s", message->name);
  return hlo_ok();
}

// ---- encoding by table -------------------------------------------------------------------------

static uint64_t load_number(hlo_wire_kind_t kind, const void* from) {
  uint64_t value = 0;
  memcpy(&value, from, kKinds[kind].size_bytes);
  if (kind == HLO_WIRE_KIND_INT32) return (uint64_t)(int64_t)(int32_t)(uint32_t)value;
  if (kind == HLO_WIRE_KIND_SINT64) return (value << 1) ^ (0 - (value >> 63));
  return value;
}

static void put_number(hlo_strbuf_t* out, hlo_wire_kind_t kind, uint64_t value) {
  if (kKinds[kind].type == HLO_WIRE_TYPE_VARINT) {
    hlo_wire_put_varint(out, value);
  } else {
    hlo_strbuf_append(out, (const char*)&value, kKinds[kind].size_bytes);
  }
}

// Writes one value that is not packed; a message by the address of its struct.
static void encode_one(const hlo_wire_field_info_t* info, const void* value, hlo_strbuf_t* out) {
  if (info->kind == HLO_WIRE_KIND_BYTES) {
    const hlo_wire_bytes_t* bytes = value;
    hlo_wire_put_bytes(out, info->number, bytes->data, bytes->size);
  } else if (info->kind == HLO_WIRE_KIND_MESSAGE) {
    size_t mark = hlo_wire_begin(out, info->number);
    hlo_wire_encode(info->message, value, out);
    hlo_wire_end(out, mark);
  } else {
    put_tag(out, info->number, kKinds[info->kind].type);
    put_number(out, info->kind, load_number(info->kind, value));
  }
}

static void encode_repeated(const hlo_wire_field_info_t* info, const hlo_wire_array_t* array,
                            hlo_strbuf_t* out) {
  size_t width = item_bytes(info);
  const uint8_t* items = array->items;
  if (array->count == 0) return;
  if (kKinds[info->kind].type == HLO_WIRE_TYPE_BYTES) {
    for (size_t i = 0; i < array->count; ++i) encode_one(info, items + i * width, out);
    return;
  }
  size_t mark = hlo_wire_begin(out, info->number);
  for (size_t i = 0; i < array->count; ++i) {
    put_number(out, info->kind, load_number(info->kind, items + i * width));
  }
  hlo_wire_end(out, mark);
}

static bool is_default(const hlo_wire_field_info_t* info, const void* member) {
  if (info->kind == HLO_WIRE_KIND_BYTES) return ((const hlo_wire_bytes_t*)member)->size == 0;
  if (info->kind == HLO_WIRE_KIND_MESSAGE) return *(void* const*)member == NULL;
  return load_number(info->kind, member) == 0;
}

void hlo_wire_encode(const hlo_wire_message_t* message, const void* value, hlo_strbuf_t* out) {
  const uint8_t* base = value;
  for (size_t i = 0; i < message->field_count; ++i) {
    const hlo_wire_field_info_t* info = &message->fields[i];
    const void* member = base + info->offset;
    if (info->repeated) {
      encode_repeated(info, member, out);
      continue;
    }
    bool has_presence = info->present_offset != HLO_WIRE_NO_PRESENCE;
    bool present =
        has_presence ? *(const bool*)(base + info->present_offset) : !is_default(info, member);
    if (!present || (info->kind == HLO_WIRE_KIND_MESSAGE && is_default(info, member))) continue;
    encode_one(info, info->kind == HLO_WIRE_KIND_MESSAGE ? *(void* const*)member : member, out);
  }
}
