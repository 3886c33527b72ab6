// SPDX-License-Identifier: Apache-2.0
// Hashes of bytes and words: fast, well mixed, equal in every run for the same seed. Not for
// secrets.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/// Folds the 128-bit product of two words; the mixing step of all hashes here.
static inline uint64_t hlo_hash_mix(uint64_t a, uint64_t b) {
  __uint128_t product = (__uint128_t)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/// Adds a word to a hash; order matters.
static inline uint64_t hlo_hash_word(uint64_t hash, uint64_t word) {
  return hlo_hash_mix(hash ^ 0x9e3779b97f4a7c15ull, word ^ 0xd6e8feb86659fd93ull);
}

/// Returns the hash of `size` bytes.
uint64_t hlo_hash_bytes(const void* data, size_t size, uint64_t seed);

/// Two hashes with different seeds; used as the only identity of the hashed data.
typedef struct hlo_digest {
  uint64_t words[2];
} hlo_digest_t;

static inline bool hlo_digest_equal(const hlo_digest_t* a, const hlo_digest_t* b) {
  return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}
