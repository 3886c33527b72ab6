// SPDX-License-Identifier: Apache-2.0
// Things that are kept as long as they fit (see lru.h): a table by digest, and a list by last use.
#include "base/lru.h"

#include "base/mem.h"

typedef struct hlo_lru_entry {
  hlo_digest_t key;
  hlo_lru_item_t* item;
  struct hlo_lru_entry *newer, *older;
} entry_t;

void hlo_lru_item_release(hlo_lru_item_t* item) {
  // release: what this owner read comes before the last one's end
  if (item && atomic_fetch_sub_explicit(&item->count, 1, memory_order_acq_rel) == 1) {
    item->destroy(item);
  }
}

static hlo_lru_item_t* retain(hlo_lru_item_t* item) {
  // relaxed: the caller holds a reference or the mutex
  atomic_fetch_add_explicit(&item->count, 1, memory_order_relaxed);
  return item;
}

static void link_newest(hlo_lru_t* lru, entry_t* entry) {
  entry->newer = NULL;
  entry->older = lru->newest;
  *(lru->newest ? &lru->newest->newer : &lru->oldest) = entry;
  lru->newest = entry;
}

static void unlink_entry(hlo_lru_t* lru, entry_t* entry) {
  *(entry->newer ? &entry->newer->older : &lru->newest) = entry->older;
  *(entry->older ? &entry->older->newer : &lru->oldest) = entry->newer;
}

static void drop(hlo_lru_t* lru, entry_t* entry) {
  hlo_map_remove(&lru->entries, (const char*)&entry->key, sizeof entry->key);
  unlink_entry(lru, entry);
  lru->size_bytes -= entry->item->size_bytes;
  hlo_lru_item_release(entry->item);
  hlo_mem_free(entry);
}

static entry_t* find(const hlo_lru_t* lru, const hlo_digest_t* key) {
  return hlo_map_get(&lru->entries, (const char*)key, sizeof *key);
}

void hlo_lru_init(hlo_lru_t* lru, uint64_t limit_bytes) {
  *lru = (hlo_lru_t){.limit_bytes = limit_bytes};
  hlo_mutex_init(&lru->mutex, HLO_LOCK_LEVEL_MEMORY + 2);
}

void hlo_lru_deinit(hlo_lru_t* lru) {
  while (lru->oldest) drop(lru, lru->oldest);
  hlo_map_deinit(&lru->entries);
  hlo_mutex_deinit(&lru->mutex);
}

hlo_lru_item_t* hlo_lru_find(hlo_lru_t* lru, const hlo_digest_t* key) {
  hlo_lru_item_t* item = NULL;
  hlo_mutex_lock(&lru->mutex);
  entry_t* entry = find(lru, key);
  if (entry) {
    unlink_entry(lru, entry);
    link_newest(lru, entry);
    item = retain(entry->item);
  }
  hlo_mutex_unlock(&lru->mutex);
  return item;
}

static void add_locked(hlo_lru_t* lru, entry_t* entry) {
  entry_t* old = find(lru, &entry->key);
  if (old) drop(lru, old);
  if (!hlo_map_put(&lru->entries, (const char*)&entry->key, sizeof entry->key, entry)) {
    hlo_mem_free(entry);
    return;
  }
  retain(entry->item);
  link_newest(lru, entry);
  lru->size_bytes += entry->item->size_bytes;
  ++lru->added_count;
  while (lru->size_bytes > lru->limit_bytes) drop(lru, lru->oldest);
}

void hlo_lru_add(hlo_lru_t* lru, const hlo_digest_t* key, hlo_lru_item_t* item) {
  if (item->size_bytes > lru->limit_bytes) return;
  entry_t* entry = hlo_mem_alloc(sizeof *entry);
  if (!entry) return;
  *entry = (entry_t){.key = *key, .item = item};
  hlo_mutex_lock(&lru->mutex);
  add_locked(lru, entry);
  hlo_mutex_unlock(&lru->mutex);
}
