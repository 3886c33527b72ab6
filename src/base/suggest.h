// SPDX-License-Identifier: Apache-2.0
// "Did you mean": finds the closest of many names to a misspelt one.
#pragma once

#include <stddef.h>

/// Returns the number of letters to change, insert, delete or swap with a neighbour that turn one
/// word into the other; `limit` + 1 if there are more. Words are truncated to 64 letters.
/// source: optimal string alignment distance
size_t hlo_edit_distance(const char* a, const char* b, size_t limit);

/// A search over names that are passed one by one. Names are lent until the result is used.
typedef struct hlo_suggestion {
  const char* wanted;
  const char* best;  // NULL if no name is close enough
  size_t distance;
} hlo_suggestion_t;

/// A name is close enough if at most a third of the letters, and at most three, differ.
void hlo_suggestion_init(hlo_suggestion_t* suggestion, const char* wanted);
void hlo_suggestion_offer(hlo_suggestion_t* suggestion, const char* name);
