// SPDX-License-Identifier: Apache-2.0
// Accounts of memory (see account.h).
#include "runtime/account.h"

#include <string.h>

#include "base/mem.h"

// ---- lists

void hlo_account_list_init(hlo_account_list_t* list) {
  *list = (hlo_account_list_t){0};
  hlo_mutex_init(&list->lock, HLO_LOCK_LEVEL_MEMORY + 3);
}

void hlo_account_list_deinit(hlo_account_list_t* list) {
  hlo_mutex_deinit(&list->lock);
}

hlo_status_t hlo_account_create(hlo_account_list_t* list, const char* what, const char* name,
                                hlo_account_t** out_account) {
  const size_t name_bytes = strlen(name) + 1;
  hlo_account_t* account = hlo_mem_alloc_zeroed(sizeof *account + name_bytes);
  if (!account) return hlo_status_out_of_memory(sizeof *account + name_bytes);
  atomic_init(&account->references, 1);
  account->list = list;
  account->what = what;
  memcpy(account->name, name, name_bytes);
  hlo_mutex_lock(&list->lock);
  account->next = list->first;
  if (list->first) list->first->previous = account;
  list->first = account;
  hlo_mutex_unlock(&list->lock);
  *out_account = account;
  return hlo_ok();
}

void hlo_account_release(hlo_account_t* account) {
  // acq_rel: the other owners' last accesses precede the end
  if (!account || atomic_fetch_sub_explicit(&account->references, 1, memory_order_acq_rel) != 1) {
    return;
  }
  hlo_account_list_t* list = account->list;
  hlo_mutex_lock(&list->lock);
  *(account->previous ? &account->previous->next : &list->first) = account->next;
  if (account->next) account->next->previous = account->previous;
  hlo_mutex_unlock(&list->lock);
  hlo_mem_free(account);
}

// ---- blocks

void hlo_account_add(hlo_account_t* account, hlo_memory_kind_t kind, size_t size_bytes) {
  // relaxed: numbers only, and the caller has a reference
  atomic_fetch_add_explicit(&account->references, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&account->bytes[kind], size_bytes, memory_order_relaxed);
  atomic_fetch_add_explicit(&account->blocks[kind], 1, memory_order_relaxed);
}

void hlo_account_remove(hlo_account_t* account, hlo_memory_kind_t kind, size_t size_bytes) {
  atomic_fetch_sub_explicit(&account->bytes[kind], size_bytes, memory_order_relaxed);
  atomic_fetch_sub_explicit(&account->blocks[kind], 1, memory_order_relaxed);
  hlo_account_release(account);
}

// ---- printing

enum { LINE_LIMIT = 8, NAME_LIMIT = 64 };

// One line of a map; copied, because the account may end.
typedef struct line {
  uint64_t bytes, blocks;
  hlo_memory_kind_t kind;
  const char* what;
  char name[NAME_LIMIT];
} line_t;

// The largest lines, in order, and the sum of all others.
typedef struct map {
  line_t lines[LINE_LIMIT];
  uint32_t count, other_count;
  uint64_t other_bytes;
} map_t;

static void insert_line(map_t* map, const line_t* line) {
  uint32_t at = map->count;
  while (at > 0 && map->lines[at - 1].bytes < line->bytes) --at;
  if (map->count == LINE_LIMIT) {
    const line_t* dropped = at == LINE_LIMIT ? line : &map->lines[LINE_LIMIT - 1];
    map->other_bytes += dropped->bytes;
    ++map->other_count;
    if (at == LINE_LIMIT) return;
    --map->count;
  }
  memmove(&map->lines[at + 1], &map->lines[at], (map->count - at) * sizeof *line);
  map->lines[at] = *line;
  ++map->count;
}

static void add_account(map_t* map, const hlo_account_t* account) {
  for (int kind = 0; kind < HLO_MEMORY_KIND_COUNT; ++kind) {
    line_t line = {.bytes = atomic_load_explicit(&account->bytes[kind], memory_order_relaxed),
                   .blocks = atomic_load_explicit(&account->blocks[kind], memory_order_relaxed),
                   .kind = (hlo_memory_kind_t)kind,
                   .what = account->what};
    if (line.bytes == 0) continue;
    const size_t length = strnlen(account->name, NAME_LIMIT - 1);
    memcpy(line.name, account->name, length);
    insert_line(map, &line);
  }
}

void hlo_account_list_print(hlo_account_list_t* list, hlo_strbuf_t* out) {
  map_t map = {0};
  hlo_mutex_lock(&list->lock);
  for (const hlo_account_t* account = list->first; account; account = account->next) {
    add_account(&map, account);
  }
  hlo_mutex_unlock(&list->lock);
  if (map.count == 0) hlo_strbuf_puts(out, "\n  no memory is in use");
  for (uint32_t i = 0; i < map.count; ++i) {
    const line_t* line = &map.lines[i];
    hlo_strbuf_printf(out, "\n  %llu bytes of kind %s in %llu block%s: %s%s%s",
                      (unsigned long long)line->bytes, hlo_memory_kind_name(line->kind),
                      (unsigned long long)line->blocks, line->blocks == 1 ? "" : "s", line->what,
                      line->name[0] ? " " : "", line->name);
  }
  if (map.other_count) {
    hlo_strbuf_printf(out, "\n  %llu bytes: %u other owners", (unsigned long long)map.other_bytes,
                      map.other_count);
  }
}
