// SPDX-License-Identifier: Apache-2.0
// A cache by digest with a size limit; the least recently used items are evicted first.
#pragma once

#include <stdatomic.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/threads.h"

/// The head of a cached item: its reference count and size. `destroy` is called without a lock
/// held, so it may take locks and use the cache.
typedef struct hlo_lru_item {
  atomic_int count;
  size_t size_bytes;
  void (*destroy)(struct hlo_lru_item* item);
} hlo_lru_item_t;

/// Initialises an item with the caller as its only owner.
static inline void hlo_lru_item_init(hlo_lru_item_t* item, size_t size_bytes,
                                     void (*destroy)(hlo_lru_item_t* item)) {
  atomic_init(&item->count, 1);
  item->size_bytes = size_bytes;
  item->destroy = destroy;
}
/// Drops a reference; NULL is fine.
void hlo_lru_item_release(hlo_lru_item_t* item);

/// owner: whoever initialised it; hlo_lru_deinit(). threads: safe
typedef struct hlo_lru {
  hlo_mutex_t mutex;
  uint64_t limit_bytes;
  uint64_t size_bytes;                    // mutex; of all items
  uint64_t added_count;                   // mutex; items added so far
  hlo_map_t entries;                      // mutex; by digest
  struct hlo_lru_entry *newest, *oldest;  // mutex; by last use
} hlo_lru_t;

void hlo_lru_init(hlo_lru_t* lru, uint64_t limit_bytes);
/// Drops the cache's references; other owners keep their items.
void hlo_lru_deinit(hlo_lru_t* lru);
/// Evicts all items. Items that other owners hold, and those that are added meanwhile, live on.
void hlo_lru_clear(hlo_lru_t* lru);
/// Returns NULL if the key is missing. owner: caller, hlo_lru_item_release()
hlo_lru_item_t* hlo_lru_find(hlo_lru_t* lru, const hlo_digest_t* key);
/// Adds an item as a further owner, replacing the item of the same key. An item above the limit is
/// not added.
void hlo_lru_add(hlo_lru_t* lru, const hlo_digest_t* key, hlo_lru_item_t* item);
