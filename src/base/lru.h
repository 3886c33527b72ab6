// SPDX-License-Identifier: Apache-2.0
// Things that are kept by digests as long as they fit: what was used last stays longest.
#ifndef HLO_BASE_LRU_H_
#define HLO_BASE_LRU_H_

#include <stdatomic.h>

#include "base/hash.h"
#include "base/hashmap.h"
#include "base/threads.h"

/// The head of a thing that is kept: its owners, counted, and what it takes. `destroy` is called
/// without any lock held, so it may take some and use the table.
typedef struct hlo_lru_item {
  atomic_int count;
  size_t size_bytes;
  void (*destroy)(struct hlo_lru_item* item);
} hlo_lru_item_t;

/// The caller is the one owner.
static inline void hlo_lru_item_init(hlo_lru_item_t* item, size_t size_bytes,
                                     void (*destroy)(hlo_lru_item_t* item)) {
  atomic_init(&item->count, 1);
  item->size_bytes = size_bytes;
  item->destroy = destroy;
}
/// NULL: nothing.
void hlo_lru_item_release(hlo_lru_item_t* item);

/// owner: whoever initialised it; hlo_lru_deinit(). threads: safe
typedef struct hlo_lru {
  hlo_mutex_t mutex;
  uint64_t limit_bytes;
  uint64_t size_bytes;                    // mutex; of all items
  uint64_t added_count;                   // mutex; items that came so far
  hlo_map_t entries;                      // mutex; by digest
  struct hlo_lru_entry *newest, *oldest;  // mutex; by last use
} hlo_lru_t;

void hlo_lru_init(hlo_lru_t* lru, uint64_t limit_bytes);
/// Items live on with other owners.
void hlo_lru_deinit(hlo_lru_t* lru);
/// NULL when it is not there. owner: caller, hlo_lru_item_release()
hlo_lru_item_t* hlo_lru_find(hlo_lru_t* lru, const hlo_digest_t* key);
/// Adds an item, in the place of one of this key, as another owner. What does not fit is not kept.
void hlo_lru_add(hlo_lru_t* lru, const hlo_digest_t* key, hlo_lru_item_t* item);

#endif  // HLO_BASE_LRU_H_
