// SPDX-License-Identifier: Apache-2.0
// Sorts lines together, one per vector lane, by a network: every step compares whole vectors, and
// no step depends on the data. Requires KEY_T, VEC (a vector of keys), MIN(a, b), MAX(a, b), TABLE
// (the name of the defined table), NAME(x).
// source: Green's network of 16; Batcher 1968, bitonic merging with the second half reversed, so
// that the smaller of two always goes to the lower index

enum { NAME(lanes) = sizeof(VEC) / sizeof(KEY_T), NAME(tile) = 16 };

#define T KEY_T
#include "lib/transpose_quads.inl"
#undef T

// The smaller of two goes to the first.
#define CROSS(i, j)                 \
  do {                              \
    const VEC less = MIN(v[i], v[j]); \
    v[j] = MAX(v[i], v[j]);         \
    v[i] = less;                    \
  } while (0)
#define CROSS2(i, j, k, l) CROSS(i, j); CROSS(k, l)
#define CROSS4(a, b, c, d, e, f, g, h) CROSS2(a, b, c, d); CROSS2(e, f, g, h)
// Orders halves of 2, 4, 8 and 16 vectors from v[i] on, `step` apart.
#define HALVES1(i) CROSS(i, i + 1)
#define HALVES2(i) CROSS2(i, i + 2, i + 1, i + 3); HALVES1(i); HALVES1(i + 2)
#define HALVES4(i)                                            \
  CROSS4(i, i + 4, i + 1, i + 5, i + 2, i + 6, i + 3, i + 7); \
  HALVES2(i);                                                 \
  HALVES2(i + 4)
// The same, with v[i] as the last.
#define REVERSED1(i) CROSS(i + 1, i)
#define REVERSED2(i) CROSS2(i + 2, i, i + 3, i + 1); REVERSED1(i); REVERSED1(i + 2)
#define REVERSED4(i)                                          \
  CROSS4(i + 4, i, i + 5, i + 1, i + 6, i + 2, i + 7, i + 3); \
  REVERSED2(i);                                               \
  REVERSED2(i + 4)

static void NAME(sort_tile)(VEC* x) {
  VEC v[NAME(tile)];
  for (int i = 0; i < NAME(tile); i++) v[i] = x[i];
  CROSS4(0, 1, 2, 3, 4, 5, 6, 7); CROSS4(8, 9, 10, 11, 12, 13, 14, 15);
  CROSS4(0, 2, 4, 6, 8, 10, 12, 14); CROSS4(1, 3, 5, 7, 9, 11, 13, 15);
  CROSS4(0, 4, 8, 12, 1, 5, 9, 13); CROSS4(2, 6, 10, 14, 3, 7, 11, 15);
  CROSS4(0, 8, 1, 9, 2, 10, 3, 11); CROSS4(4, 12, 5, 13, 6, 14, 7, 15);
  CROSS4(5, 10, 6, 9, 3, 12, 13, 14); CROSS2(4, 8, 7, 11); CROSS(1, 2);
  CROSS4(1, 4, 7, 13, 2, 8, 11, 14);
  CROSS4(2, 4, 5, 6, 9, 10, 11, 13); CROSS2(3, 8, 7, 12);
  CROSS4(6, 8, 10, 12, 3, 5, 7, 9);
  CROSS4(3, 4, 5, 6, 7, 8, 9, 10); CROSS(11, 12);
  CROSS2(6, 7, 8, 9);
  for (int i = 0; i < NAME(tile); i++) x[i] = v[i];
}

// The first four steps of merging two adjacent runs of m, after which runs of m / 8 are in order
// relative to each other.
static void NAME(merge_first)(int64_t m, VEC* x) {
  const int64_t step = m / 8;
  for (int64_t i = 0; i < step; i++) {
    VEC v[NAME(tile)], *up = x + i, *down = x + 2 * m - 1 - i;
    for (int j = 0; j < 8; j++) v[j] = up[j * step];
    for (int j = 0; j < 8; j++) v[8 + j] = down[-j * step];
    CROSS4(0, 8, 1, 9, 2, 10, 3, 11); CROSS4(4, 12, 5, 13, 6, 14, 7, 15);
    HALVES4(0);
    REVERSED4(8);
    for (int j = 0; j < 8; j++) up[j * step] = v[j];
    for (int j = 0; j < 8; j++) down[-j * step] = v[8 + j];
  }
}

// The remaining steps, in runs of `size`, a power of two.
static void NAME(merge_rest)(int64_t size, VEC* x) {
  VEC v[NAME(tile)];
  if (size == 2) {
    for (int i = 0; i < 2; i++) v[i] = x[i];
    HALVES1(0);
    for (int i = 0; i < 2; i++) x[i] = v[i];
  } else if (size == 4) {
    for (int i = 0; i < 4; i++) v[i] = x[i];
    HALVES2(0);
    for (int i = 0; i < 4; i++) x[i] = v[i];
  } else if (size == 8) {
    for (int i = 0; i < 8; i++) v[i] = x[i];
    HALVES4(0);
    for (int i = 0; i < 8; i++) x[i] = v[i];
  } else if (size >= NAME(tile)) {
    const int64_t step = size / NAME(tile);
    for (int64_t at = 0; at < step; at++) {
      for (int i = 0; i < NAME(tile); i++) v[i] = x[at + i * step];
      CROSS4(0, 8, 1, 9, 2, 10, 3, 11); CROSS4(4, 12, 5, 13, 6, 14, 7, 15);
      HALVES4(0);
      HALVES4(8);
      for (int i = 0; i < NAME(tile); i++) x[at + i * step] = v[i];
    }
    for (int64_t b = 0; step > 1 && b < NAME(tile); b++) NAME(merge_rest)(step, x + b * step);
  }
}

static void NAME(sort)(int64_t count, void* lanes) {
  VEC* x = lanes;
  int64_t padded = NAME(tile);
  while (padded < count) padded *= 2;
  // the maximum, which stays at the end
  memset(x + count, 0xff, (size_t)(padded - count) * sizeof(VEC));
  for (int64_t i = 0; i < count; i += NAME(tile)) NAME(sort_tile)(x + i);
  for (int64_t m = NAME(tile); m < padded; m *= 2) {
    for (int64_t first = 0; first + m < count; first += 2 * m) {
      NAME(merge_first)(m, x + first);
      for (int64_t b = first; b < first + 2 * m && b < count; b += m / 8) {
        NAME(merge_rest)(m / 8, x + b);
      }
    }
  }
}

static void NAME(put)(int64_t count, int64_t lane, const void* keys, void* lanes) {
  KEY_T* x = (KEY_T*)lanes + lane;
  const KEY_T* line = keys;
  int64_t e = 0;
  for (; e + 4 <= count; e += 4) {
    const KEY_T* const in[] = {line + e, line + count + e, line + 2 * count + e,
                               line + 3 * count + e};
    KEY_T* at = x + e * NAME(lanes);
    KEY_T* const out[] = {at, at + NAME(lanes), at + 2 * NAME(lanes), at + 3 * NAME(lanes)};
    NAME(transpose_quads)(in, out);
  }
  for (; e < count; e++) {
    for (int r = 0; r < 4; r++) x[e * NAME(lanes) + r] = line[r * count + e];
  }
}

static void NAME(get)(int64_t count, int64_t lane, const void* lanes, void* keys) {
  const KEY_T* x = (const KEY_T*)lanes + lane;
  KEY_T* line = keys;
  int64_t e = 0;
  for (; e + 4 <= count; e += 4) {
    const KEY_T* at = x + e * NAME(lanes);
    const KEY_T* const in[] = {at, at + NAME(lanes), at + 2 * NAME(lanes), at + 3 * NAME(lanes)};
    KEY_T* const out[] = {line + e, line + count + e, line + 2 * count + e, line + 3 * count + e};
    NAME(transpose_quads)(in, out);
  }
  for (; e < count; e++) {
    for (int r = 0; r < 4; r++) line[r * count + e] = x[e * NAME(lanes) + r];
  }
}

const hlo_sort_lanes_t TABLE = {
    .lanes = NAME(lanes), .put = NAME(put), .sort = NAME(sort), .get = NAME(get)};

#undef CROSS
#undef CROSS2
#undef CROSS4
#undef HALVES1
#undef HALVES2
#undef HALVES4
#undef REVERSED1
#undef REVERSED2
#undef REVERSED4
#undef KEY_T
#undef VEC
#undef MIN
#undef MAX
#undef TABLE
#undef NAME
