// SPDX-License-Identifier: Apache-2.0
// Hash sets of interned values (see interner.h).
#include "ir/interner.h"

enum { FIRST_CAPACITY = 64 };

static bool grow_set(hlo_intern_set_t* set, hlo_arena_t* arena) {
  uint32_t capacity = set->capacity ? set->capacity * 2 : FIRST_CAPACITY;
  hlo_intern_entry_t* entries = hlo_arena_array(arena, capacity, sizeof *entries);
  if (!entries) return false;
  for (uint32_t i = 0; i < set->capacity; ++i) {
    if (!set->entries[i].value) continue;
    uint32_t at = (uint32_t)set->entries[i].hash & (capacity - 1);
    while (entries[at].value) at = (at + 1) & (capacity - 1);
    entries[at] = set->entries[i];
  }
  set->entries = entries;
  set->capacity = capacity;
  return true;
}

void** hlo_intern_slot(hlo_intern_set_t* set, hlo_arena_t* arena, uint64_t hash,
                       hlo_intern_match_t match, const void* key) {
  if (set->count * 2 >= set->capacity && !grow_set(set, arena)) return NULL;
  uint32_t at = (uint32_t)hash & (set->capacity - 1);
  while (set->entries[at].value) {
    if (set->entries[at].hash == hash && match(set->entries[at].value, key)) {
      return &set->entries[at].value;
    }
    at = (at + 1) & (set->capacity - 1);
  }
  set->entries[at].hash = hash;
  ++set->count;
  return &set->entries[at].value;
}
