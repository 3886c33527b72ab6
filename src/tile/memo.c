// SPDX-License-Identifier: Apache-2.0
// Solutions keyed by everything their systems depend on (see memo.h): a small direct-mapped table.
#include "tile/memo.h"

#include <string.h>

#include "base/hash.h"

enum { PLACES = 32 };

typedef struct entry {
  uint32_t key_count;  // 0: the slot is empty
  int64_t keys[HLO_TILE_MEMO_KEYS], values[HLO_TILE_MEMO_VALUES];
} entry_t;

struct hlo_tile_memo {
  hlo_arena_t* arena;
  entry_t* entries[PLACES];
};

hlo_tile_memo_t* hlo_tile_memo_create(hlo_arena_t* arena) {
  hlo_tile_memo_t* memo = hlo_arena_alloc_zeroed(arena, sizeof *memo);
  if (memo) memo->arena = arena;
  return memo;
}

static uint32_t place_of(uint32_t count, const int64_t* keys) {
  return (uint32_t)(hlo_hash_bytes(keys, count * sizeof *keys, 0) % PLACES);
}

const int64_t* hlo_tile_memo_find(const hlo_tile_memo_t* memo, uint32_t count,
                                  const int64_t* keys) {
  if (!memo) return NULL;
  const entry_t* entry = memo->entries[place_of(count, keys)];
  bool is_it =
      entry && entry->key_count == count && memcmp(entry->keys, keys, count * sizeof *keys) == 0;
  return is_it ? entry->values : NULL;
}

void hlo_tile_memo_keep(hlo_tile_memo_t* memo, uint32_t count, const int64_t* keys,
                        uint32_t value_count, const int64_t* values) {
  if (!memo) return;
  entry_t** entry = &memo->entries[place_of(count, keys)];
  if (!*entry) *entry = hlo_arena_alloc(memo->arena, sizeof **entry);
  if (!*entry) return;
  (*entry)->key_count = count;
  memcpy((*entry)->keys, keys, count * sizeof *keys);
  memcpy((*entry)->values, values, value_count * sizeof *values);
}
