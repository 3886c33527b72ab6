// SPDX-License-Identifier: Apache-2.0
// Hashes of bytes (see hash.h): two words per step, each mixed into its own half.
#include "base/hash.h"

static uint64_t load_word(const uint8_t* bytes, size_t count) {
  uint64_t word = 0;
  memcpy(&word, bytes, count);
  return word;
}

uint64_t hlo_hash_bytes(const void* data, size_t size, uint64_t seed) {
  enum { WORD = 8, STEP = 2 * WORD };
  const uint8_t* bytes = data;
  uint64_t a = seed ^ 0xa0761d6478bd642full, b = seed ^ 0xe7037ed1a0b428dbull;
  size_t left = size;
  for (; left >= STEP; left -= STEP, bytes += STEP) {
    a = hlo_hash_word(a, load_word(bytes, WORD));
    b = hlo_hash_word(b, load_word(bytes + WORD, WORD));
  }
  if (left >= WORD) {
    a = hlo_hash_word(a, load_word(bytes, WORD));
    bytes += WORD;
    left -= WORD;
  }
  if (left) b = hlo_hash_word(b, load_word(bytes, left));
  return hlo_hash_word(hlo_hash_word(a, b), size);
}
