// SPDX-License-Identifier: Apache-2.0
// Reads the text forms of this folder (see text.h).
#include "tile/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_word_start(char c) {
  return isalpha((unsigned char)c) || c == '_';
}
static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '.';
}

void hlo_tile_text_skip(hlo_tile_text_t* text) {
  for (;;) {
    while (isspace((unsigned char)*text->at)) ++text->at;
    if (strncmp(text->at, "//", 2) != 0) return;
    text->at += strcspn(text->at, "\n");
  }
}

bool hlo_tile_text_is_next(hlo_tile_text_t* text, const char* token) {
  hlo_tile_text_skip(text);
  size_t length = strlen(token);
  if (strncmp(text->at, token, length) != 0) return false;
  return !is_word_start(token[0]) || !is_word(text->at[length]);
}

bool hlo_tile_text_take(hlo_tile_text_t* text, const char* token) {
  if (!hlo_tile_text_is_next(text, token)) return false;
  text->at += strlen(token);
  return true;
}

bool hlo_tile_text_word(hlo_tile_text_t* text, char* out_word, size_t capacity) {
  hlo_tile_text_skip(text);
  if (!is_word_start(*text->at)) return false;
  size_t length = 0;
  for (; is_word(*text->at); ++text->at) {
    if (length + 1 < capacity) out_word[length++] = *text->at;
  }
  out_word[length] = 0;
  return true;
}

bool hlo_tile_text_number(hlo_tile_text_t* text, int64_t* out_number) {
  hlo_tile_text_skip(text);
  const char* digits = text->at + (*text->at == '-');
  if (!isdigit((unsigned char)*digits)) return false;
  char* end;
  errno = 0;
  long long number = strtoll(text->at, &end, 10);
  if (errno) return false;
  text->at = end;
  *out_number = number;
  return true;
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Reads one character of a string, or returns 0 for what does not belong there.
static char take_quoted(const char** at) {
  char c = *(*at)++;
  if (c != '\\') return c >= 32 && c < 127 ? c : 0;
  if (**at == '\\') return *(*at)++;
  int high = hex_digit(**at), low = high < 0 ? -1 : hex_digit((*at)[1]);
  if (low < 0) return 0;
  *at += 2;
  return (char)(16 * high + low);
}

bool hlo_tile_text_quoted(hlo_tile_text_t* text, hlo_arena_t* arena, const char** out_text) {
  hlo_tile_text_skip(text);
  if (*text->at != '"') return false;
  const char* at = text->at + 1;
  size_t length = 0;
  for (; *at != '"'; ++length) {
    if (!*at || !take_quoted(&at)) return false;
  }
  char* copy = hlo_arena_alloc(arena, length + 1);
  *out_text = copy;
  const char* from = text->at + 1;
  text->at = at + 1;
  if (!copy) return true;
  for (size_t i = 0; i < length; ++i) copy[i] = take_quoted(&from);
  copy[length] = 0;
  return true;
}

void hlo_tile_text_print_quoted(const char* text, hlo_strbuf_t* out) {
  hlo_strbuf_putc(out, '"');
  for (const char* c = text; *c; ++c) {
    if (*c == '\\') {
      hlo_strbuf_puts(out, "\\\\");
    } else if (*c >= 32 && *c < 127 && *c != '"') {
      hlo_strbuf_putc(out, *c);
    } else {
      hlo_strbuf_printf(out, "\\%02X", (unsigned char)*c);
    }
  }
  hlo_strbuf_putc(out, '"');
}

uint32_t hlo_tile_text_line(hlo_tile_text_t* text) {
  hlo_tile_text_skip(text);
  if (!text->counted) {
    text->counted = text->start;
    text->line = 1;
  }
  for (; text->counted < text->at; ++text->counted) text->line += *text->counted == '\n';
  return text->line;
}

hlo_status_t hlo_tile_text_error(const hlo_tile_text_t* text, const char* expected) {
  uint32_t line = 1;
  for (const char* c = text->start; c < text->at; ++c) line += *c == '\n';
  int shown = (int)strcspn(text->at, "\n");
  return hlo_invalid_argument("line %u: expected %s, found '%.*s'", line, expected,
                              shown > 40 ? 40 : shown, text->at);
}
