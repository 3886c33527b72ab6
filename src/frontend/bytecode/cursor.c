// SPDX-License-Identifier: Apache-2.0
// Primitive encodings of MLIR bytecode (see cursor.h).
#include "frontend/bytecode/cursor.h"

#include <stdio.h>
#include <string.h>

enum { PADDING_BYTE = 0xCB };

hlo_status_t hlo_bc_error(const hlo_bc_cursor_t* c, const char* format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return hlo_invalid_argument("byte %zu (%s): %s", (size_t)(c->pos - c->file), c->where, message);
}

hlo_status_t hlo_bc_byte(hlo_bc_cursor_t* c, uint8_t* out) {
  if (c->pos == c->end) return hlo_bc_error(c, "expected a byte, found the end of the input");
  *out = *c->pos++;
  return hlo_ok();
}

hlo_status_t hlo_bc_varint(hlo_bc_cursor_t* c, uint64_t* out) {
  if (c->pos == c->end) return hlo_bc_error(c, "expected a number, found the end of the input");
  uint8_t first = *c->pos;
  if (HLO_LIKELY(first & 1)) {
    *out = first >> 1;
    c->pos += 1;
    return hlo_ok();
  }
  size_t more = first ? (size_t)__builtin_ctz(first) : 8;
  if (hlo_bc_left(c) < more + 1) return hlo_bc_error(c, "the input ends inside a number");
  uint64_t word = 0;
  if (more == 8) {
    memcpy(&word, c->pos + 1, 8);
    *out = word;
  } else {
    memcpy(&word, c->pos, more + 1);
    *out = word >> (more + 1);
  }
  c->pos += more + 1;
  return hlo_ok();
}

hlo_status_t hlo_bc_varint_flag(hlo_bc_cursor_t* c, uint64_t* out, bool* out_flag) {
  uint64_t word;
  HLO_TRY(hlo_bc_varint(c, &word));
  *out_flag = word & 1;
  *out = word >> 1;
  return hlo_ok();
}

hlo_status_t hlo_bc_svarint(hlo_bc_cursor_t* c, int64_t* out) {
  uint64_t word;
  HLO_TRY(hlo_bc_varint(c, &word));
  *out = (int64_t)((word >> 1) ^ (~(word & 1) + 1));
  return hlo_ok();
}

hlo_status_t hlo_bc_count(hlo_bc_cursor_t* c, size_t min_bytes, uint32_t* out) {
  uint64_t count;
  hlo_bc_cursor_t start = *c;
  HLO_TRY(hlo_bc_varint(c, &count));
  if (count > hlo_bc_left(c) / min_bytes || count > UINT32_MAX) {
    return hlo_bc_error(&start, "%llu items do not fit in the remaining %zu bytes",
                        (unsigned long long)count, hlo_bc_left(c));
  }
  *out = (uint32_t)count;
  return hlo_ok();
}

hlo_status_t hlo_bc_index(hlo_bc_cursor_t* c, uint64_t limit, const char* what, uint32_t* out) {
  uint64_t index;
  hlo_bc_cursor_t start = *c;
  HLO_TRY(hlo_bc_varint(c, &index));
  if (index >= limit || index > UINT32_MAX) {
    return hlo_bc_error(&start, "reference to %s %llu, but the file has only %llu", what,
                        (unsigned long long)index, (unsigned long long)limit);
  }
  *out = (uint32_t)index;
  return hlo_ok();
}

hlo_status_t hlo_bc_slice(hlo_bc_cursor_t* c, uint64_t size, hlo_bc_cursor_t* out) {
  if (size > hlo_bc_left(c)) {
    return hlo_bc_error(c, "expected %llu bytes, but only %zu are left", (unsigned long long)size,
                        hlo_bc_left(c));
  }
  *out = (hlo_bc_cursor_t){c->file, c->pos, c->pos + size, c->where};
  c->pos += size;
  return hlo_ok();
}

hlo_status_t hlo_bc_align(hlo_bc_cursor_t* c, uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
    return hlo_bc_error(c, "an alignment of %llu is not a power of two",
                        (unsigned long long)alignment);
  }
  while ((uint64_t)(c->pos - c->file) & (alignment - 1)) {
    hlo_bc_cursor_t start = *c;
    uint8_t padding = 0;
    HLO_TRY(hlo_bc_byte(c, &padding));
    if (padding != PADDING_BYTE) {
      return hlo_bc_error(&start, "expected padding byte 0x%02x, found 0x%02x", PADDING_BYTE,
                          padding);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_bc_text(hlo_bc_cursor_t* c, const char** out, size_t* out_length) {
  const uint8_t* zero = hlo_bc_left(c) ? memchr(c->pos, 0, hlo_bc_left(c)) : NULL;
  if (!zero) return hlo_bc_error(c, "a string is not terminated by a zero byte");
  *out = (const char*)c->pos;
  *out_length = (size_t)(zero - c->pos);
  c->pos = zero + 1;
  return hlo_ok();
}
