// SPDX-License-Identifier: Apache-2.0
// Reads the text forms of this folder: words, numbers and punctuation separated by blanks.
#pragma once

#include "base/mem.h"
#include "base/strbuf.h"

/// threads: confined
typedef struct hlo_tile_text {
  const char *start, *at;
  // The line of an earlier place, so that lines of consecutive places are counted once.
  const char* counted;
  uint32_t line;
} hlo_tile_text_t;

/// Takes the word (a whole one) or mark if it comes next.
bool hlo_tile_text_take(hlo_tile_text_t* text, const char* token);
/// Returns true if the word or mark comes next.
bool hlo_tile_text_is_next(hlo_tile_text_t* text, const char* token);
/// Takes a letter followed by letters, digits, `_` and `.`; copies it, truncated to `capacity`.
/// false if no word comes next.
bool hlo_tile_text_word(hlo_tile_text_t* text, char* out_word, size_t capacity);
bool hlo_tile_text_number(hlo_tile_text_t* text, int64_t* out_number);
/// Takes a string in quotes, of printable characters and \\HH for any other byte but 0. NULL in
/// *out_text when memory is exhausted (the arena says so).
bool hlo_tile_text_quoted(hlo_tile_text_t* text, hlo_arena_t* arena, const char** out_text);
/// Prints what hlo_tile_text_quoted() reads.
void hlo_tile_text_print_quoted(const char* text, hlo_strbuf_t* out);
/// Returns the number of the next token's line, from 1. Places only move forwards.
uint32_t hlo_tile_text_line(hlo_tile_text_t* text);
/// Skips blanks, line ends and // comments.
void hlo_tile_text_skip(hlo_tile_text_t* text);
/// INVALID_ARGUMENT: "line 3: expected <what>, found ...".
hlo_status_t hlo_tile_text_error(const hlo_tile_text_t* text,
                                 const char* expected) HLO_MUST_USE HLO_COLD;
