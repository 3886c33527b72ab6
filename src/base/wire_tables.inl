// SPDX-License-Identifier: Apache-2.0
// Defines the field table <message>_fields and its hlo_wire_message_t <message>_table for the
// structs that wire_structs.inl declares, with the same two macros.

#define MESSAGE(message) static const hlo_wire_message_t HLO_WIRE_STRUCT(message, _table);
#define FIELD(message, number, kind, member)
#define OPTIONAL(message, number, kind, member)
#define REPEATED(message, number, kind, member)
#define NESTED(message, number, inner, member)
#define REPEATED_NESTED(message, number, inner, member)
#define MEMBER(type, member)
#define END(message)
#define END_SIZED(message, member)
#include HLO_WIRE_MESSAGES
#include "base/wire_undef.inl"

#define MESSAGE(message) static const hlo_wire_field_info_t HLO_WIRE_STRUCT(message, _fields)[] = {
#define FIELD(message, number, kind, member) \
  HLO_WIRE_FIELD(HLO_WIRE_STRUCT(message, _t), number, kind, member),
#define OPTIONAL(message, number, kind, member) \
  HLO_WIRE_OPTIONAL(HLO_WIRE_STRUCT(message, _t), number, kind, member),
#define REPEATED(message, number, kind, member) \
  HLO_WIRE_REPEATED(HLO_WIRE_STRUCT(message, _t), number, kind, member),
#define NESTED(message, number, inner, member) \
  HLO_WIRE_NESTED(HLO_WIRE_STRUCT(message, _t), number, member, &HLO_WIRE_STRUCT(inner, _table)),
#define REPEATED_NESTED(message, number, inner, member)                         \
  HLO_WIRE_REPEATED_NESTED(HLO_WIRE_STRUCT(message, _t), number, member,        \
                           &HLO_WIRE_STRUCT(inner, _table)),
#define MEMBER(type, member)
#define END(message)                                                  \
  };                                                                  \
  static const hlo_wire_message_t HLO_WIRE_STRUCT(message, _table) =  \
      HLO_WIRE_MESSAGE(HLO_WIRE_STRUCT(message, _t), HLO_WIRE_STRUCT(message, _fields));
#define END_SIZED(message, member)                                                               \
  };                                                                                             \
  static const hlo_wire_message_t HLO_WIRE_STRUCT(message, _table) =                             \
      HLO_WIRE_SIZED_MESSAGE(HLO_WIRE_STRUCT(message, _t), HLO_WIRE_STRUCT(message, _fields),    \
                             member);
#include HLO_WIRE_MESSAGES
#include "base/wire_undef.inl"
