// SPDX-License-Identifier: Apache-2.0
// A growing text buffer (see strbuf.h).
#include "base/strbuf.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static bool reserve(hlo_strbuf_t* buf, size_t extra) {
  size_t want;
  if (buf->failed || !hlo_size_add(buf->length, extra, &want) || !hlo_size_add(want, 1, &want)) {
    buf->failed = true;
    return false;
  }
  if (want <= buf->capacity) return true;
  size_t capacity = buf->capacity < 128 ? 256 : buf->capacity * 2;
  if (capacity < want) capacity = want;
  char* data = hlo_mem_realloc(buf->data, capacity);
  if (!data) {
    buf->failed = true;
    return false;
  }
  buf->data = data;
  buf->capacity = capacity;
  return true;
}

void hlo_strbuf_deinit(hlo_strbuf_t* buf) {
  hlo_mem_free(buf->data);
  *buf = (hlo_strbuf_t){0};
}

void hlo_strbuf_append(hlo_strbuf_t* buf, const char* text, size_t length) {
  if (!reserve(buf, length)) return;
  if (length) memcpy(buf->data + buf->length, text, length);
  buf->length += length;
  buf->data[buf->length] = 0;
}

void hlo_strbuf_puts(hlo_strbuf_t* buf, const char* text) {
  hlo_strbuf_append(buf, text, strlen(text));
}

void hlo_strbuf_putc(hlo_strbuf_t* buf, char c) {
  hlo_strbuf_append(buf, &c, 1);
}

void hlo_strbuf_printf(hlo_strbuf_t* buf, const char* format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length >= 0 && reserve(buf, (size_t)length)) {
    vsnprintf(buf->data + buf->length, (size_t)length + 1, format, again);
    buf->length += (size_t)length;
  }
  va_end(again);
}

const char* hlo_strbuf_text(const hlo_strbuf_t* buf) {
  return buf->data ? buf->data : "";
}

char* hlo_strbuf_take(hlo_strbuf_t* buf) {
  if (!buf->data) hlo_strbuf_append(buf, "", 0);
  char* text = buf->failed ? NULL : buf->data;
  if (buf->failed) hlo_mem_free(buf->data);
  *buf = (hlo_strbuf_t){0};
  return text;
}

hlo_status_t hlo_strbuf_status(const hlo_strbuf_t* buf) {
  return buf->failed ? hlo_status_out_of_memory(buf->capacity) : hlo_ok();
}
