// SPDX-License-Identifier: Apache-2.0
// The closest name by edit distance (see suggest.h).
#include "base/suggest.h"

#include <string.h>

enum { WORD_LIMIT = 64, DISTANCE_LIMIT = 3 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

size_t hlo_edit_distance(const char* a, const char* b, size_t limit) {
  size_t a_length = strnlen(a, WORD_LIMIT), b_length = strnlen(b, WORD_LIMIT);
  size_t rows[3][WORD_LIMIT + 1];  // two previous rows, for swapped neighbours
  for (size_t j = 0; j <= b_length; ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a_length; ++i) {
    const size_t* above = rows[(i - 1) % 3];
    size_t* row = rows[i % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; ++j) {
      size_t changed = above[j - 1] + (a[i - 1] != b[j - 1]);
      row[j] = least(changed, least(above[j], row[j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = least(row[j], rows[(i - 2) % 3][j - 2] + 1);
      }
    }
  }
  return least(rows[a_length % 3][b_length], limit + 1);
}

void hlo_suggestion_init(hlo_suggestion_t* suggestion, const char* wanted) {
  size_t third = strnlen(wanted, WORD_LIMIT) / 3;
  *suggestion = (hlo_suggestion_t){.wanted = wanted, .distance = least(third, DISTANCE_LIMIT) + 1};
}

void hlo_suggestion_offer(hlo_suggestion_t* suggestion, const char* name) {
  size_t distance = hlo_edit_distance(suggestion->wanted, name, DISTANCE_LIMIT);
  if (distance >= suggestion->distance) return;
  suggestion->distance = distance;
  suggestion->best = name;
}
