// SPDX-License-Identifier: Apache-2.0
// Reads the text forms of this folder: words, numbers and punctuation separated by blanks.
#pragma once

#include "base/status.h"

/// threads: confined
typedef struct hlo_tile_text {
  const char *start, *at;
} hlo_tile_text_t;

/// Takes the word (a whole one) or mark if it comes next.
bool hlo_tile_text_take(hlo_tile_text_t* text, const char* token);
/// Returns true if the word or mark comes next.
bool hlo_tile_text_is_next(hlo_tile_text_t* text, const char* token);
/// Takes a letter followed by letters, digits, `_` and `.`; copies it, truncated to `capacity`.
/// false if no word comes next.
bool hlo_tile_text_word(hlo_tile_text_t* text, char* out_word, size_t capacity);
bool hlo_tile_text_number(hlo_tile_text_t* text, int64_t* out_number);
/// Skips blanks, line ends and // comments.
void hlo_tile_text_skip(hlo_tile_text_t* text);
/// INVALID_ARGUMENT: "line 3: expected <what>, found ...".
hlo_status_t hlo_tile_text_error(const hlo_tile_text_t* text,
                                 const char* expected) HLO_MUST_USE HLO_COLD;
