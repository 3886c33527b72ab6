// SPDX-License-Identifier: Apache-2.0
// Declares the C struct of each message of a table; wire_tables.inl makes their field tables.
// Requires HLO_WIRE_MESSAGES, the path of the table, and HLO_WIRE_STRUCT(message, suffix), which
// names what belongs to a message: `foo_##message##suffix`.
//
//   MESSAGE(message)                                 begins a message; its fields ascend by number
//   FIELD(message, number, KIND, member)             HLO_WIRE_KIND_..., given without its prefix
//   OPTIONAL(message, number, KIND, member)          with a bool member has_<member>
//   REPEATED(message, number, KIND, member)
//   NESTED(message, number, inner, member)           a message; NULL if absent
//   REPEATED_NESTED(message, number, inner, member)
//   MEMBER(type, member)                             a member that is not encoded
//   END(message)
//   END_SIZED(message, member)                       with a member for the encoded size

#define C_BOOL bool
#define C_INT32 int32_t
#define C_UINT32 uint32_t
#define C_INT64 int64_t
#define C_FLOAT float
#define C_DOUBLE double
#define C_BYTES hlo_wire_bytes_t
#define MESSAGE(message)                                                  \
  typedef struct HLO_WIRE_STRUCT(message, ) HLO_WIRE_STRUCT(message, _t); \
  struct HLO_WIRE_STRUCT(message, ) {
#define FIELD(message, number, kind, member) C_##kind member;
#define OPTIONAL(message, number, kind, member) C_##kind member; bool has_##member;
#define REPEATED(message, number, kind, member) hlo_wire_array_t member;
#define NESTED(message, number, inner, member) struct HLO_WIRE_STRUCT(inner, )* member;
#define REPEATED_NESTED(message, number, inner, member) hlo_wire_array_t member;
#define MEMBER(type, member) type member;
#define END(message) };
#define END_SIZED(message, member) size_t member; };
#include HLO_WIRE_MESSAGES
#include "base/wire_undef.inl"
#undef C_BOOL
#undef C_INT32
#undef C_UINT32
#undef C_INT64
#undef C_FLOAT
#undef C_DOUBLE
#undef C_BYTES
