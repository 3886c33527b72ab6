// SPDX-License-Identifier: Apache-2.0
// Growing arrays and hash tables (see vec.h, hashmap.h). A table is an array of entries in
// insertion order and an open-addressed index of entry numbers with linear probing.
#include "base/hashmap.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/vec.h"

enum { FIRST_CAPACITY = 8, ENTRY_LIMIT = 1 << 30 };

bool hlo_vec_reserve_items(void* items, size_t* capacity, size_t count, size_t item_bytes) {
  if (count <= *capacity) return true;
  size_t wanted = *capacity < FIRST_CAPACITY ? FIRST_CAPACITY : *capacity + *capacity / 2;
  if (wanted < count) wanted = count;
  size_t size;
  if (!hlo_size_mul(wanted, item_bytes, &size)) return false;
  void* block;
  memcpy(&block, items, sizeof block);  // a T* of any type
  block = hlo_mem_realloc(block, size);
  if (!block) return false;
  memcpy(items, &block, sizeof block);
  *capacity = wanted;
  return true;
}

static uint32_t hash_of(const hlo_map_t* map, const char* key, uint64_t length) {
  uint64_t hash =
      key ? hlo_hash_bytes(key, (size_t)length, map->seed) : hlo_hash_word(map->seed, length);
  return (uint32_t)(hash ^ hash >> 32);
}

static bool is_key(const hlo_map_entry_t* entry, const char* key, uint64_t length) {
  if (entry->length != length || (entry->key == NULL) != (key == NULL)) return false;
  return !key || length == 0 || memcmp(entry->key, key, (size_t)length) == 0;
}

static hlo_map_entry_t* find(const hlo_map_t* map, const char* key, uint64_t length,
                             uint32_t hash) {
  if (map->slot_count == 0) return NULL;
  for (uint32_t slot = hash & (map->slot_count - 1);; slot = (slot + 1) & (map->slot_count - 1)) {
    uint32_t number = map->slots[slot];
    if (number == 0) return NULL;
    hlo_map_entry_t* entry = &map->entries[number - 1];
    if (entry->hash == hash && !entry->removed && is_key(entry, key, length)) return entry;
  }
}

static void index_entry(hlo_map_t* map, uint32_t entry_index) {
  uint32_t slot = map->entries[entry_index].hash & (map->slot_count - 1);
  while (map->slots[slot]) slot = (slot + 1) & (map->slot_count - 1);
  map->slots[slot] = entry_index + 1;
}

// Makes room for one more entry: drops removed ones and keeps at most half of the slots in use.
static bool grow(hlo_map_t* map) {
  uint32_t capacity = FIRST_CAPACITY;
  while (capacity <= map->live_count + map->live_count / 2) capacity *= 2;
  if (capacity > ENTRY_LIMIT) return false;
  hlo_map_entry_t* entries = hlo_mem_alloc(capacity * sizeof *entries);
  uint32_t* slots = hlo_mem_alloc_zeroed(2 * (size_t)capacity * sizeof *slots);
  if (!entries || !slots) {
    hlo_mem_free(entries);
    hlo_mem_free(slots);
    return false;
  }
  uint32_t count = 0;
  for (uint32_t i = 0; i < map->entry_count; ++i) {
    if (!map->entries[i].removed) entries[count++] = map->entries[i];
  }
  hlo_mem_free(map->entries);
  hlo_mem_free(map->slots);
  map->entries = entries;
  map->slots = slots;
  map->entry_count = count;
  map->entry_capacity = capacity;
  map->slot_count = 2 * capacity;
  for (uint32_t i = 0; i < count; ++i) index_entry(map, i);
  return true;
}

static bool put(hlo_map_t* map, const char* key, uint64_t length, void* value) {
  if (map->slot_count == 0) map->seed = hlo_os_now_ns() ^ (uint64_t)(uintptr_t)map;
  uint32_t hash = hash_of(map, key, length);
  hlo_map_entry_t* old = find(map, key, length, hash);
  if (old) {
    old->value = value;
    return true;
  }
  if (map->entry_count == map->entry_capacity && !grow(map)) return false;
  map->entries[map->entry_count] =
      (hlo_map_entry_t){.key = key, .length = length, .value = value, .hash = hash};
  index_entry(map, map->entry_count++);
  ++map->live_count;
  return true;
}

static void* take_out(hlo_map_t* map, const char* key, uint64_t length) {
  hlo_map_entry_t* entry = find(map, key, length, hash_of(map, key, length));
  if (!entry) return NULL;
  entry->removed = true;
  --map->live_count;
  return entry->value;
}

void hlo_map_deinit(hlo_map_t* map) {
  hlo_mem_free(map->entries);
  hlo_mem_free(map->slots);
  *map = (hlo_map_t){0};
}

void* hlo_map_get(const hlo_map_t* map, const char* key, size_t length) {
  hlo_map_entry_t* entry = find(map, key ? key : "", length, hash_of(map, key ? key : "", length));
  return entry ? entry->value : NULL;
}

void* hlo_map_get_number(const hlo_map_t* map, uint64_t key) {
  hlo_map_entry_t* entry = find(map, NULL, key, hash_of(map, NULL, key));
  return entry ? entry->value : NULL;
}

bool hlo_map_put(hlo_map_t* map, const char* key, size_t length, void* value) {
  return put(map, key ? key : "", length, value);
}

bool hlo_map_put_number(hlo_map_t* map, uint64_t key, void* value) {
  return put(map, NULL, key, value);
}

void* hlo_map_remove(hlo_map_t* map, const char* key, size_t length) {
  return take_out(map, key ? key : "", length);
}
