// SPDX-License-Identifier: Apache-2.0
// A hash table from byte strings, or from pointers and numbers, to pointers. Entries are iterated
// in insertion order, so that nothing depends on hashes or addresses.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The bytes of a string key are lent: they must live as long as the entry. If key is NULL, the key
/// is the number in `length`. Removed entries have `removed` set.
typedef struct hlo_map_entry {
  const char* key;
  uint64_t length;
  void* value;
  uint32_t hash;
  bool removed;
} hlo_map_entry_t;

/// Zero-initialised is empty. owner: whoever declared it; hlo_map_deinit(). threads: confined.
typedef struct hlo_map {
  hlo_map_entry_t* entries;  // in order of insertion, removed ones included
  uint32_t* slots;           // entry index + 1, or 0
  uint32_t entry_count;      // removed ones included
  uint32_t entry_capacity;
  uint32_t slot_count;  // a power of two
  uint32_t live_count;
  uint64_t seed;  // differs between tables, as a defence against chosen keys
} hlo_map_t;

void hlo_map_deinit(hlo_map_t* map);

/// Returns the value, or NULL if the key is missing.
void* hlo_map_get(const hlo_map_t* map, const char* key, size_t length);
void* hlo_map_get_number(const hlo_map_t* map, uint64_t key);

/// Adds or replaces an entry. Returns false, without effect, if memory is exhausted.
bool hlo_map_put(hlo_map_t* map, const char* key, size_t length, void* value);
bool hlo_map_put_number(hlo_map_t* map, uint64_t key, void* value);

/// Removes a key and returns its value; NULL if the key is missing.
void* hlo_map_remove(hlo_map_t* map, const char* key, size_t length);

static inline void* hlo_map_get_pointer(const hlo_map_t* map, const void* key) {
  return hlo_map_get_number(map, (uint64_t)(uintptr_t)key);
}
static inline bool hlo_map_put_pointer(hlo_map_t* map, const void* key, void* value) {
  return hlo_map_put_number(map, (uint64_t)(uintptr_t)key, value);
}
