// SPDX-License-Identifier: Apache-2.0
// A cache with a size limit (see lru.h): a table by digest, and a list by last use.
#include "base/lru.h"

#include "base/mem.h"

typedef struct hlo_lru_entry {
  hlo_digest_t key;
  hlo_lru_item_t* item;
  struct hlo_lru_entry *newer, *older;
} entry_t;

void hlo_lru_item_release(hlo_lru_item_t* item) {
  // release: reads by this owner precede the destruction by the last one
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

// Removes the entry and prepends it to `chain`, which destroy_chain() frees without the lock.
static entry_t* drop_locked(hlo_lru_t* lru, entry_t* entry, entry_t* chain) {
  hlo_map_remove(&lru->entries, (const char*)&entry->key, sizeof entry->key);
  unlink_entry(lru, entry);
  lru->size_bytes -= entry->item->size_bytes;
  entry->older = chain;
  return entry;
}

static void destroy_chain(entry_t* chain) {
  while (chain) {
    entry_t* next = chain->older;
    hlo_lru_item_release(chain->item);
    hlo_mem_free(chain);
    chain = next;
  }
}

static entry_t* find(const hlo_lru_t* lru, const hlo_digest_t* key) {
  return hlo_map_get(&lru->entries, (const char*)key, sizeof *key);
}

void hlo_lru_init(hlo_lru_t* lru, uint64_t limit_bytes) {
  *lru = (hlo_lru_t){.limit_bytes = limit_bytes};
  hlo_mutex_init(&lru->mutex, HLO_LOCK_LEVEL_MEMORY + 2);
}

void hlo_lru_clear(hlo_lru_t* lru) {
  entry_t* chain = NULL;
  hlo_mutex_lock(&lru->mutex);
  while (lru->oldest) chain = drop_locked(lru, lru->oldest, chain);
  hlo_mutex_unlock(&lru->mutex);
  destroy_chain(chain);
}

void hlo_lru_deinit(hlo_lru_t* lru) {
  while (lru->oldest) hlo_lru_clear(lru);  // destroying an item may add another one
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

// Takes a reference to the item. Returns the evicted entries, including `entry` itself if memory is
// exhausted.
static entry_t* add_locked(hlo_lru_t* lru, entry_t* entry) {
  entry_t *chain = NULL, *old = find(lru, &entry->key);
  if (old) chain = drop_locked(lru, old, chain);
  retain(entry->item);
  if (!hlo_map_put(&lru->entries, (const char*)&entry->key, sizeof entry->key, entry)) {
    entry->older = chain;
    return entry;
  }
  link_newest(lru, entry);
  lru->size_bytes += entry->item->size_bytes;
  ++lru->added_count;
  while (lru->size_bytes > lru->limit_bytes) chain = drop_locked(lru, lru->oldest, chain);
  return chain;
}

void hlo_lru_add(hlo_lru_t* lru, const hlo_digest_t* key, hlo_lru_item_t* item) {
  if (item->size_bytes > lru->limit_bytes) return;
  entry_t* entry = hlo_mem_alloc(sizeof *entry);
  if (!entry) return;
  *entry = (entry_t){.key = *key, .item = item};
  hlo_mutex_lock(&lru->mutex);
  entry_t* chain = add_locked(lru, entry);
  hlo_mutex_unlock(&lru->mutex);
  destroy_chain(chain);
}
