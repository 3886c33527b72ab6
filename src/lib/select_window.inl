// SPDX-License-Identifier: Apache-2.0
// Loops of select_window_isa.c. Requires T (the element type) and NAME(x).

static inline __attribute__((always_inline)) void NAME(select_by)(int64_t direction, int64_t count,
                                                                  const T* rows, int32_t place,
                                                                  T* kept, int32_t* selected) {
  for (int64_t i = 0; i < count; i++, rows += HLO_SELECT_COLUMNS, place++) {
    for (int c = 0; c < HLO_SELECT_COLUMNS; c++) {
      const T a = kept[c], b = rows[c];
      const bool stays = direction == HLO_COMPARISON_DIRECTION_GE   ? a >= b
                         : direction == HLO_COMPARISON_DIRECTION_GT ? a > b
                         : direction == HLO_COMPARISON_DIRECTION_LE ? a <= b
                                                                    : a < b;
      kept[c] = stays ? a : b;
      selected[c] = stays ? selected[c] : place;
    }
  }
}

static void NAME(select)(int64_t direction, int64_t count, const void* rows, int32_t place,
                         void* kept, int32_t* selected) {
  T k[HLO_SELECT_COLUMNS];
  int32_t s[HLO_SELECT_COLUMNS];
  const T* row = rows;
  const bool is_first = selected[0] < 0;
  for (int c = 0; c < HLO_SELECT_COLUMNS; c++) {
    k[c] = is_first ? row[c] : ((const T*)kept)[c];
    s[c] = is_first ? place : selected[c];
  }
  row += is_first ? HLO_SELECT_COLUMNS : 0;
  count -= is_first;
  place += is_first;
  switch (direction) {
    case HLO_COMPARISON_DIRECTION_GE:
      NAME(select_by)(HLO_COMPARISON_DIRECTION_GE, count, row, place, k, s);
      break;
    case HLO_COMPARISON_DIRECTION_GT:
      NAME(select_by)(HLO_COMPARISON_DIRECTION_GT, count, row, place, k, s);
      break;
    case HLO_COMPARISON_DIRECTION_LE:
      NAME(select_by)(HLO_COMPARISON_DIRECTION_LE, count, row, place, k, s);
      break;
    default: NAME(select_by)(HLO_COMPARISON_DIRECTION_LT, count, row, place, k, s);
  }
  memcpy(kept, k, sizeof k);
  memcpy(selected, s, sizeof s);
}

#undef T
#undef NAME
