// SPDX-License-Identifier: Apache-2.0
// A growing text buffer for printers and messages; memory exhaustion is recorded, not reported.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/// Zero-initialised is empty. `data` is zero-terminated after the first append.
/// owner: whoever declared it; hlo_strbuf_deinit(). threads: confined.
typedef struct hlo_strbuf {
  char* data;
  size_t length;
  size_t capacity;
  bool failed;  // an append was dropped for lack of memory
} hlo_strbuf_t;

void hlo_strbuf_deinit(hlo_strbuf_t* buf);
/// Declares a buffer, zero-initialised, that is released when its block ends.
#define HLO_SCOPED_STRBUF __attribute__((cleanup(hlo_strbuf_deinit))) hlo_strbuf_t
void hlo_strbuf_append(hlo_strbuf_t* buf, const char* text, size_t length);
void hlo_strbuf_puts(hlo_strbuf_t* buf, const char* text);
void hlo_strbuf_putc(hlo_strbuf_t* buf, char c);
void hlo_strbuf_printf(hlo_strbuf_t* buf, const char* format, ...) HLO_PRINTF(2, 3);
/// Returns the text ("" when empty), lent until the next change.
const char* hlo_strbuf_text(const hlo_strbuf_t* buf);
/// Passes the text to the caller (hlo_mem_free) and empties the buffer; returns NULL if it failed.
char* hlo_strbuf_take(hlo_strbuf_t* buf);
hlo_status_t hlo_strbuf_status(const hlo_strbuf_t* buf) HLO_MUST_USE;
