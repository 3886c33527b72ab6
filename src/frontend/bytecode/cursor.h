// SPDX-License-Identifier: Apache-2.0
// A cursor over a range of the input with the primitive encodings of MLIR bytecode. Every read is
// checked against the end of the range; its failure names the byte offset in the file.
// source : MLIR "Bytecode Format", Primitives
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct hlo_bc_cursor {
  const uint8_t* file;  // first byte of the file, for offsets
  const uint8_t* pos;
  const uint8_t* end;
  const char* where;  // name of the range in messages, "IR section"
} hlo_bc_cursor_t;

static inline size_t hlo_bc_left(const hlo_bc_cursor_t* c) {
  return (size_t)(c->end - c->pos);
}
static inline bool hlo_bc_at_end(const hlo_bc_cursor_t* c) {
  return c->pos == c->end;
}

/// Returns INVALID_ARGUMENT "byte N of the file (<where>): ...".
hlo_status_t hlo_bc_error(const hlo_bc_cursor_t* c, const char* format, ...)
    HLO_PRINTF(2, 3) HLO_MUST_USE HLO_COLD;

hlo_status_t hlo_bc_byte(hlo_bc_cursor_t* c, uint8_t* out) HLO_MUST_USE;
/// Reads one to nine bytes; the number of trailing zero bits of the first one is the number of
/// bytes that follow.
hlo_status_t hlo_bc_varint(hlo_bc_cursor_t* c, uint64_t* out) HLO_MUST_USE;
/// Reads a varint whose lowest bit is a flag.
hlo_status_t hlo_bc_varint_flag(hlo_bc_cursor_t* c, uint64_t* out, bool* out_flag) HLO_MUST_USE;
/// Reads a zigzag number: 0, -1, 1, -2, ...
hlo_status_t hlo_bc_svarint(hlo_bc_cursor_t* c, int64_t* out) HLO_MUST_USE;
/// Reads the number of items of at least `min_bytes` each; an error if they exceed the remaining
/// bytes.
hlo_status_t hlo_bc_count(hlo_bc_cursor_t* c, size_t min_bytes, uint32_t* out) HLO_MUST_USE;
/// Reads a varint below `limit`; `what` names the table in the message.
hlo_status_t hlo_bc_index(hlo_bc_cursor_t* c, uint64_t limit, const char* what,
                          uint32_t* out) HLO_MUST_USE;
/// Sets *out to the next `size` bytes.
hlo_status_t hlo_bc_slice(hlo_bc_cursor_t* c, uint64_t size, hlo_bc_cursor_t* out) HLO_MUST_USE;
/// Skips padding bytes to a multiple of `alignment` in the file.
hlo_status_t hlo_bc_align(hlo_bc_cursor_t* c, uint64_t alignment) HLO_MUST_USE;
/// Reads a zero-terminated string; the length excludes the zero.
hlo_status_t hlo_bc_text(hlo_bc_cursor_t* c, const char** out, size_t* out_length) HLO_MUST_USE;
