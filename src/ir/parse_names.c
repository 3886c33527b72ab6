// SPDX-License-Identifier: Apache-2.0
// Names of values, aliases and resources while parsing: hash tables with scopes.
#include <string.h>

#include "ir/interner.h"
#include "ir/parse_impl.h"

enum { FIRST_CAPACITY = 64 };

static bool grow_table(hlo_name_table_t* table) {
  uint32_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
  size_t bytes;
  if (!hlo_size_mul(capacity, sizeof *table->entries, &bytes)) return false;
  hlo_name_entry_t* entries = hlo_mem_realloc(table->entries, bytes);
  if (!entries) return false;
  table->entries = entries;
  uint32_t* buckets = hlo_mem_alloc_zeroed(capacity * sizeof *buckets);
  if (!buckets) return false;
  hlo_mem_free(table->buckets);
  table->buckets = buckets;
  table->bucket_count = table->capacity = capacity;
  for (uint32_t i = 0; i < table->count; ++i) {  // oldest first, so that the newest is first in its
                                                 // bucket
    uint32_t* bucket = &buckets[entries[i].hash & (capacity - 1)];
    entries[i].next = *bucket;
    *bucket = i + 1;
  }
  return true;
}

hlo_name_entry_t* hlo_names_add(hlo_name_table_t* table, const char* name, size_t length) {
  if (table->count == table->capacity && !grow_table(table)) return NULL;
  uint64_t hash = hlo_hash_bytes(name, length, HLO_HASH_SEED);
  uint32_t* bucket = &table->buckets[hash & (table->bucket_count - 1)];
  hlo_name_entry_t* entry = &table->entries[table->count];
  *entry = (hlo_name_entry_t){.name = name, .length = length, .hash = hash, .next = *bucket};
  *bucket = ++table->count;
  return entry;
}

hlo_name_entry_t* hlo_names_find(const hlo_name_table_t* table, const char* name, size_t length) {
  if (table->count == 0) return NULL;
  uint64_t hash = hlo_hash_bytes(name, length, HLO_HASH_SEED);
  uint32_t i = table->buckets[hash & (table->bucket_count - 1)];
  while (i) {
    hlo_name_entry_t* entry = &table->entries[i - 1];
    if (entry->hash == hash && entry->length == length && memcmp(entry->name, name, length) == 0) {
      return entry;
    }
    i = entry->next;
  }
  return NULL;
}

void hlo_names_drop(hlo_name_table_t* table, uint32_t count) {
  while (table->count > count) {  // the newest is first in its bucket
    hlo_name_entry_t* entry = &table->entries[--table->count];
    table->buckets[entry->hash & (table->bucket_count - 1)] = entry->next;
  }
}

void hlo_names_deinit(hlo_name_table_t* table) {
  hlo_mem_free(table->entries);
  hlo_mem_free(table->buckets);
  *table = (hlo_name_table_t){0};
}
