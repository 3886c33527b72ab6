// SPDX-License-Identifier: Apache-2.0
// "Did you mean": the closest of many names to a misspelt one.
#ifndef HLO_BASE_SUGGEST_H_
#define HLO_BASE_SUGGEST_H_

#include <stddef.h>

/// How many letters must be changed, added, left out or swapped with a neighbour to get from one
/// word to the other; `limit` + 1 when more than that. Words are cut at 64 letters.
/// source: optimal string alignment distance
size_t hlo_edit_distance(const char* a, const char* b, size_t limit);

/// A search over names offered one by one. Names are lent until the result is used.
typedef struct hlo_suggestion {
  const char* wanted;
  const char* best;  // NULL while nothing is close enough
  size_t distance;
} hlo_suggestion_t;

/// Close enough means at most a third of the letters, and three.
void hlo_suggestion_init(hlo_suggestion_t* suggestion, const char* wanted);
void hlo_suggestion_offer(hlo_suggestion_t* suggestion, const char* name);

#endif  // HLO_BASE_SUGGEST_H_
