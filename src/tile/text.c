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

hlo_status_t hlo_tile_text_error(const hlo_tile_text_t* text, const char* expected) {
  uint32_t line = 1;
  for (const char* c = text->start; c < text->at; ++c) line += *c == '\n';
  int shown = (int)strcspn(text->at, "\n");
  return hlo_invalid_argument("line %u: expected %s, found '%.*s'", line, expected,
                              shown > 40 ? 40 : shown, text->at);
}
