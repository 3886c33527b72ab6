// SPDX-License-Identifier: Apache-2.0
// Diagnostics with locations and carets (see diag.h).
#include "base/diag.h"

#include <stdio.h>
#include <string.h>

enum { DEFAULT_ERROR_LIMIT = 20, MAX_CARET_LINE = 160 };

void hlo_diag_init(hlo_diag_t* diag, const char* file, const char* source, size_t source_length) {
  *diag = (hlo_diag_t){.file = file, .source = source, .source_length = source_length};
}

void hlo_diag_deinit(hlo_diag_t* diag) {
  hlo_strbuf_deinit(&diag->text);
}

static void add_caret(hlo_diag_t* diag, uint32_t line, uint32_t col) {
  const char* p = diag->source;
  const char* end = p + diag->source_length;
  for (uint32_t i = 1; i < line; ++i) {
    p = memchr(p, '\n', (size_t)(end - p));
    if (!p) return;
    ++p;
  }
  const char* stop = memchr(p, '\n', (size_t)(end - p));
  size_t length = (size_t)((stop ? stop : end) - p);
  size_t start = col > MAX_CARET_LINE ? col - MAX_CARET_LINE / 2 : 0;
  if (start > length) start = length;
  size_t shown = length - start > MAX_CARET_LINE ? MAX_CARET_LINE : length - start;
  hlo_strbuf_puts(&diag->text, "  ");
  for (size_t i = 0; i < shown; ++i) {  // control characters must not reach terminals
    unsigned char c = (unsigned char)p[start + i];
    hlo_strbuf_putc(&diag->text, c < 32 || c == 127 ? ' ' : (char)c);
  }
  size_t caret = col > start ? col - 1 - start : 0;
  if (caret > shown) caret = shown;  // a column beyond the line
  hlo_strbuf_printf(&diag->text, "\n  %*s^\n", (int)caret, "");
}

static bool store(hlo_diag_t* diag, const char* place, const char* message) {
  uint32_t limit = diag->error_limit ? diag->error_limit : DEFAULT_ERROR_LIMIT;
  bool named = place && place[0];
  if (diag->error_count++ == 0) {
    snprintf(diag->first, sizeof diag->first, "%s%s%s", named ? place : "", named ? ": " : "",
             message);
  }
  if (diag->error_count > limit) return false;
  hlo_strbuf_printf(&diag->text, "%s%serror: %s\n", named ? place : "", named ? ": " : "", message);
  return true;
}

void hlo_diag_error(hlo_diag_t* diag, uint32_t line, uint32_t col, const char* format, ...) {
  char message[1024], place[512];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  const char* file = diag->file ? diag->file : "<input>";
  if (line) {
    snprintf(place, sizeof place, "%s:%u:%u", file, line, col);
  } else {
    snprintf(place, sizeof place, "%s", file);
  }
  if (store(diag, place, message) && line && diag->source) add_caret(diag, line, col);
}

void hlo_diag_error_at(hlo_diag_t* diag, const char* place, const char* format, ...) {
  char message[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  store(diag, place, message);
}

hlo_status_t hlo_diag_status(const hlo_diag_t* diag) {
  if (diag->error_count == 0) return hlo_ok();
  uint32_t limit = diag->error_limit ? diag->error_limit : DEFAULT_ERROR_LIMIT;
  const char* text = diag->text.failed ? diag->first : hlo_strbuf_text(&diag->text);
  int length = (int)strlen(text);
  if (length > 0 && text[length - 1] == '\n') --length;
  if (diag->error_count > limit) {
    return hlo_invalid_argument("%.*s\n%u more errors", length, text, diag->error_count - limit);
  }
  return hlo_invalid_argument("%.*s", length, text);
}
