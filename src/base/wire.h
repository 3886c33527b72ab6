// SPDX-License-Identifier: Apache-2.0
// The protobuf wire format: a bounds-checked reader, a writer into hlo_strbuf_t, and a decoder and
// encoder driven by field tables.
// source: https://protobuf.dev/programming-guides/encoding/
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/status.h"
#include "base/strbuf.h"

enum {
  HLO_WIRE_DEPTH_LIMIT = 100,  // nested messages, protobuf's own default
  HLO_WIRE_FIELD_LIMIT = 512,  // rows of one field table
};

typedef enum hlo_wire_type {
  HLO_WIRE_TYPE_VARINT = 0,
  HLO_WIRE_TYPE_FIXED64 = 1,
  HLO_WIRE_TYPE_BYTES = 2,
  HLO_WIRE_TYPE_FIXED32 = 5,
} hlo_wire_type_t;

/// Bytes lent from the input (not zero-terminated).
typedef struct hlo_wire_bytes {
  const uint8_t* data;
  size_t size;
} hlo_wire_bytes_t;

// ---- reader ------------------------------------------------------------------------------------

/// A position in one message; copy it to read twice. owner: none, lends the input. threads:
/// confined
typedef struct hlo_wire_reader {
  const uint8_t* data;
  size_t size;
  size_t position;
  size_t origin;        // offset of data[0] in the outermost input, for error messages
  uint32_t depth_left;  // nested messages still allowed
} hlo_wire_reader_t;

/// One encoded field of the input.
typedef struct hlo_wire_field {
  uint32_t number;
  hlo_wire_type_t type;
  uint64_t value;          // VARINT, FIXED32, FIXED64
  hlo_wire_bytes_t bytes;  // BYTES
  size_t offset;           // of its tag in the outermost input
} hlo_wire_field_t;

void hlo_wire_reader_init(hlo_wire_reader_t* reader, const void* data, size_t size);
/// Reads the next field, or sets *out_done. Groups (wire types 3 and 4) are refused.
/// errors: INVALID_ARGUMENT "at byte N" for truncated, overlong or malformed data.
hlo_status_t hlo_wire_next(hlo_wire_reader_t* reader, hlo_wire_field_t* out_field,
                           bool* out_done) HLO_MUST_USE;
/// Reads the next field if it is a number below 128 with a tag of two bytes, as most fields of
/// large messages are; returns false, without effect, if not. For loops that call hlo_wire_next()
/// otherwise.
static inline bool hlo_wire_next_small(hlo_wire_reader_t* reader, hlo_wire_field_t* out_field) {
  enum { SMALL_BYTES = 3, MORE = 0x80, TYPE_MASK = 7, TYPE_BITS = 3, LOW_BITS = 7 - TYPE_BITS };
  const uint8_t* at = reader->data + reader->position;
  if (reader->size - reader->position < SMALL_BYTES) return false;
  if ((at[0] & (MORE | TYPE_MASK)) != (MORE | HLO_WIRE_TYPE_VARINT)) return false;
  if ((at[1] | at[2]) >= MORE || at[1] == 0) return false;
  *out_field = (hlo_wire_field_t){
      .number = (uint32_t)(at[0] & (MORE - 1)) >> TYPE_BITS | (uint32_t)at[1] << LOW_BITS,
      .type = HLO_WIRE_TYPE_VARINT,
      .value = at[2],
      .offset = reader->origin + reader->position,
  };
  reader->position += SMALL_BYTES;
  return true;
}

// ---- writer ------------------------------------------------------------------------------------

void hlo_wire_put_varint(hlo_strbuf_t* out, uint64_t value);
void hlo_wire_put_uint(hlo_strbuf_t* out, uint32_t number, uint64_t value);
void hlo_wire_put_int(hlo_strbuf_t* out, uint32_t number, int64_t value);  // intN, enum, bool
void hlo_wire_put_fixed32(hlo_strbuf_t* out, uint32_t number, uint32_t value);
void hlo_wire_put_fixed64(hlo_strbuf_t* out, uint32_t number, uint64_t value);
void hlo_wire_put_bytes(hlo_strbuf_t* out, uint32_t number, const void* data, size_t size);
void hlo_wire_put_string(hlo_strbuf_t* out, uint32_t number, const char* text);
/// Writes a packed repeated varint field (nothing for count 0).
void hlo_wire_put_packed_int64(hlo_strbuf_t* out, uint32_t number, const int64_t* values,
                               size_t count);
/// Begins a nested message (or packed field): it contains everything written until the end with the
/// same mark.
size_t hlo_wire_begin(hlo_strbuf_t* out, uint32_t number);
void hlo_wire_end(hlo_strbuf_t* out, size_t mark);

// ---- field tables ------------------------------------------------------------------------------

/// Kinds of a field and the C type of its member.
typedef enum hlo_wire_kind {
  HLO_WIRE_KIND_BOOL,     // bool
  HLO_WIRE_KIND_INT32,    // int32_t; also enums
  HLO_WIRE_KIND_UINT32,   // uint32_t
  HLO_WIRE_KIND_INT64,    // int64_t
  HLO_WIRE_KIND_UINT64,   // uint64_t
  HLO_WIRE_KIND_SINT64,   // int64_t, zigzag
  HLO_WIRE_KIND_FIXED32,  // uint32_t
  HLO_WIRE_KIND_FIXED64,  // uint64_t
  HLO_WIRE_KIND_FLOAT,    // float
  HLO_WIRE_KIND_DOUBLE,   // double
  HLO_WIRE_KIND_BYTES,    // hlo_wire_bytes_t; also strings
  HLO_WIRE_KIND_MESSAGE,  // pointer to the struct, NULL when absent
} hlo_wire_kind_t;

/// A repeated field: `items` of the kind's C type (MESSAGE: of the struct itself, not pointers).
/// A map is a repeated message of key = 1, value = 2.
typedef struct hlo_wire_array {
  void* items;
  size_t count;
} hlo_wire_array_t;

struct hlo_wire_message;

typedef struct hlo_wire_field_info {
  uint32_t number;
  hlo_wire_kind_t kind;
  bool repeated;
  uint32_t offset;  // of the member
  uint32_t
      present_offset;  // of a bool member that is set if the field is present; HLO_WIRE_NO_PRESENCE
  const struct hlo_wire_message* message;
  const char* name;
} hlo_wire_field_info_t;

#define HLO_WIRE_NO_PRESENCE UINT32_MAX

/// Describes one message type and the C struct that holds it. Fields not listed are skipped. At
/// most HLO_WIRE_FIELD_LIMIT rows; HLO_WIRE_MESSAGE checks it.
typedef struct hlo_wire_message {
  const char* name;
  size_t struct_bytes;
  const hlo_wire_field_info_t* fields;  // ascending by number
  size_t field_count;
  size_t size_offset;  // of a size_t member, not the first one, that receives the message's size;
                       // 0: none
} hlo_wire_message_t;

// Rows of a field table: the kind is given without its prefix.
#define HLO_WIRE_FIELD(type, number, kind, member)                                           \
  {                                                                                          \
    number, HLO_WIRE_KIND_##kind, false, offsetof(type, member), HLO_WIRE_NO_PRESENCE, NULL, \
        #member                                                                              \
  }
/// A field with a bool member has_<member>.
#define HLO_WIRE_OPTIONAL(type, number, kind, member)                                          \
  {                                                                                            \
    number, HLO_WIRE_KIND_##kind, false, offsetof(type, member), offsetof(type, has_##member), \
        NULL, #member                                                                          \
  }
#define HLO_WIRE_REPEATED(type, number, kind, member)                                       \
  {                                                                                         \
    number, HLO_WIRE_KIND_##kind, true, offsetof(type, member), HLO_WIRE_NO_PRESENCE, NULL, \
        #member                                                                             \
  }
#define HLO_WIRE_NESTED(type, number, member, info)                                           \
  {                                                                                           \
    number, HLO_WIRE_KIND_MESSAGE, false, offsetof(type, member), HLO_WIRE_NO_PRESENCE, info, \
        #member                                                                               \
  }
#define HLO_WIRE_REPEATED_NESTED(type, number, member, info)                                 \
  {                                                                                          \
    number, HLO_WIRE_KIND_MESSAGE, true, offsetof(type, member), HLO_WIRE_NO_PRESENCE, info, \
        #member                                                                              \
  }
#define HLO_WIRE_MESSAGE_AND_SIZE(type, table, size_offset)                                        \
  {                                                                                                \
#type, sizeof(type), table,                                                                    \
        sizeof(table) / sizeof((table)[0]) +                                                       \
            0 * sizeof(char[sizeof(table) / sizeof((table)[0]) <= HLO_WIRE_FIELD_LIMIT ? 1 : -1]), \
        size_offset                                                                                \
  }
#define HLO_WIRE_MESSAGE(type, table) HLO_WIRE_MESSAGE_AND_SIZE(type, table, 0)
/// The size_t member `member` receives the encoded size of the message.
#define HLO_WIRE_SIZED_MESSAGE(type, table, member) \
  HLO_WIRE_MESSAGE_AND_SIZE(type, table, offsetof(type, member))

/// Decodes into a struct (zeroed first). Bytes stay lent from the input; everything else comes from
/// the arena, whose limit bounds the memory that hostile input can claim. Later values of a field
/// win, messages merge, repeated fields may be packed or not.
/// errors: INVALID_ARGUMENT "at byte N", naming message and field; RESOURCE_EXHAUSTED.
hlo_status_t hlo_wire_decode(const hlo_wire_message_t* message, const void* data, size_t size,
                             hlo_arena_t* arena, void* out_struct) HLO_MUST_USE;
/// Encodes a struct: as in proto3, fields without presence are omitted if zero or empty; repeated
/// scalars are packed. The struct must not refer to itself.
void hlo_wire_encode(const hlo_wire_message_t* message, const void* value, hlo_strbuf_t* out);
