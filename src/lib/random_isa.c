// SPDX-License-Identifier: Apache-2.0
// Loops of random.h (see isa_variant.h).
#include <string.h>

#include "lib/isa_variant.h"
#include "lib/random_impl.h"

#define VECTOR_BYTES HLO_ISA_VECTOR_BYTES

enum { LANES = VECTOR_BYTES / 4, VECTORS = HLO_RANDOM_BLOCK / LANES };

typedef uint32_t words_t __attribute__((vector_size(VECTOR_BYTES)));
typedef uint64_t pairs_t __attribute__((vector_size(VECTOR_BYTES)));

static inline words_t rotate_left(words_t x, unsigned by) {
  return x << by | x >> (32 - by);
}

// Splits counters counter + lane into halves.
static inline void count_up(uint64_t counter, words_t* low, words_t* high) {
  static const uint32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  words_t lanes;
  memcpy(&lanes, numbers, sizeof lanes);
  *low = (uint32_t)counter + lanes;
  *high = (uint32_t)(counter >> 32) - (words_t)(*low < lanes);  // a wrapped low half adds 1 by
                                                                // subtracting -1
}

static void threefry(uint64_t key, uint64_t counter, uint32_t words[2][HLO_RANDOM_BLOCK]) {
  static const uint8_t rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t parity = 0x1bd11bda, low = (uint32_t)key, high = (uint32_t)(key >> 32);
  const uint32_t keys[3] = {low, high, low ^ high ^ parity};
  words_t x[VECTORS], y[VECTORS];
  for (int v = 0; v < VECTORS; ++v) {
    count_up(counter + (uint64_t)v * LANES, &x[v], &y[v]);
    x[v] += keys[0];
    y[v] += keys[1];
  }
#pragma GCC unroll 5
  for (unsigned group = 0; group < 5; ++group) {
#pragma GCC unroll 4
    for (unsigned r = 0; r < 4; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < VECTORS; ++v) {
        x[v] += y[v];
        y[v] = rotate_left(y[v], rotations[group % 2][r]) ^ x[v];
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < VECTORS; ++v) {
      x[v] += keys[(group + 1) % 3];
      y[v] += keys[(group + 2) % 3] + group + 1;
    }
  }
  memcpy(words[0], x, sizeof x);
  memcpy(words[1], y, sizeof y);
}

// Computes both halves of the products of all lanes with one word.
static inline void multiply(words_t x, uint32_t by, words_t* low, words_t* high) {
  const pairs_t even = ((pairs_t)x & 0xffffffffu) * by, odd = ((pairs_t)x >> 32) * by;
  *low = (words_t)((even & 0xffffffffu) | odd << 32);
  *high = (words_t)(even >> 32 | (odd & ~(uint64_t)0xffffffffu));
}

static inline void philox_vector(uint64_t key, words_t x[4]) {
  uint32_t key_0 = (uint32_t)key, key_1 = (uint32_t)(key >> 32);
  for (unsigned round = 0; round < 10; ++round) {
    words_t low_a, high_a, low_b, high_b;
    multiply(x[0], 0xd2511f53u, &low_a, &high_a);
    multiply(x[2], 0xcd9e8d57u, &low_b, &high_b);
    x[0] = high_b ^ x[1] ^ key_0;
    x[1] = low_b;
    x[2] = high_a ^ x[3] ^ key_1;
    x[3] = low_a;
    key_0 += 0x9e3779b9u;
    key_1 += 0xbb67ae85u;
  }
}

static void philox(uint64_t key, const uint64_t counter[2], uint32_t words[HLO_RANDOM_BLOCK][4]) {
  for (int v = 0; v < VECTORS; ++v) {
    const uint64_t first = counter[0] + (uint64_t)v * LANES;
    uint32_t above[2][LANES];  // the upper 64 bits, incremented where the lower ones wrap
    for (int lane = 0; lane < LANES; ++lane) {
      const uint64_t high = counter[1] + (first + (uint64_t)lane < counter[0]);
      above[0][lane] = (uint32_t)high;
      above[1][lane] = (uint32_t)(high >> 32);
    }
    words_t x[4];
    count_up(first, &x[0], &x[1]);
    memcpy(&x[2], above, sizeof above);
    philox_vector(key, x);
    for (int lane = 0; lane < LANES; ++lane) {
      for (int k = 0; k < 4; ++k) words[v * LANES + lane][k] = x[k][lane];
    }
  }
}

const hlo_random_loops_t HLO_ISA_NAME(hlo_random_loops) = {threefry, philox};
