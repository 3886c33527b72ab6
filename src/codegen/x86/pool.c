// SPDX-License-Identifier: Apache-2.0
// Constants behind the code: each once, the widest first, so that all are aligned.
#include <string.h>

#include "base/hash.h"
#include "codegen/x86/x86_impl.h"

enum { FIRST_SLOTS = 64, MAX_BYTES = 64 };

static uint64_t hash_of(const void* bytes, uint32_t size_bytes) {
  return hlo_hash_bytes(bytes, size_bytes, size_bytes);
}

static void put_slot(hlo_x86_pool_t* pool, uint32_t entry) {
  const hlo_x86_pool_entry_t* item = &pool->entries.items[entry];
  uint32_t mask = pool->slot_count - 1;
  uint32_t at = (uint32_t)hash_of(item->bytes, item->size_bytes) & mask;
  while (pool->slots[at]) at = (at + 1) & mask;
  pool->slots[at] = entry + 1;
}

static bool make_room(hlo_x86_pool_t* pool) {
  if (pool->entries.count * 2 < pool->slot_count) return true;
  uint32_t count = pool->slot_count ? pool->slot_count * 2 : FIRST_SLOTS;
  uint32_t* slots = hlo_mem_alloc_zeroed(count * sizeof *slots);
  if (!slots) return false;
  hlo_mem_free(pool->slots);
  pool->slots = slots;
  pool->slot_count = count;
  for (uint32_t i = 0; i < pool->entries.count; ++i) put_slot(pool, i);
  return true;
}

hlo_x86_rm_t hlo_x86_pool_bytes(hlo_x86_fn_t* f, const void* bytes, uint32_t size_bytes) {
  hlo_x86_pool_t* pool = &f->unit->pool;
  if (!make_room(pool)) {
    f->arena->failed = true;
    return hlo_x86_reg(0);
  }
  uint32_t mask = pool->slot_count - 1;
  for (uint32_t at = (uint32_t)hash_of(bytes, size_bytes) & mask; pool->slots[at];
       at = (at + 1) & mask) {
    const hlo_x86_pool_entry_t* entry = &pool->entries.items[pool->slots[at] - 1];
    if (entry->size_bytes == size_bytes && memcmp(entry->bytes, bytes, size_bytes) == 0) {
      return hlo_x86_rip(entry->label, 0);
    }
  }
  hlo_x86_pool_entry_t entry = {.size_bytes = size_bytes, .label = hlo_x86_label_create(f->as)};
  memcpy(entry.bytes, bytes, size_bytes);
  if (!hlo_vec_push(&pool->entries, entry)) {
    f->arena->failed = true;
    return hlo_x86_reg(0);
  }
  put_slot(pool, (uint32_t)pool->entries.count - 1);
  return hlo_x86_rip(entry.label, 0);
}

hlo_x86_rm_t hlo_x86_pool_splat(hlo_x86_fn_t* f, unsigned elem_bits, uint64_t bits,
                                unsigned width) {
  uint8_t bytes[MAX_BYTES];
  for (unsigned at = 0; at < width; at += elem_bits / 8) memcpy(bytes + at, &bits, elem_bits / 8);
  return hlo_x86_pool_bytes(f, bytes, width);
}

hlo_x86_rm_t hlo_x86_pool_iota(hlo_x86_fn_t* f, unsigned elem_bits, unsigned width) {
  uint8_t bytes[MAX_BYTES];
  unsigned elem_bytes = elem_bits / 8;
  for (uint64_t i = 0; i < width / elem_bytes; ++i) memcpy(bytes + i * elem_bytes, &i, elem_bytes);
  return hlo_x86_pool_bytes(f, bytes, width);
}

hlo_status_t hlo_x86_pool_emit(hlo_x86_unit_t* unit) {
  hlo_x86_asm_t* as = &unit->as;
  for (uint32_t size = MAX_BYTES; size; size /= 2) {
    bool is_first = true;
    for (uint32_t i = 0; i < unit->pool.entries.count; ++i) {
      const hlo_x86_pool_entry_t* entry = &unit->pool.entries.items[i];
      if (entry->size_bytes != size) continue;
      if (is_first) hlo_x86_align(as, size, false);
      is_first = false;
      hlo_x86_label_bind(as, entry->label);
      hlo_x86_data(as, entry->bytes, size);
    }
  }
  for (uint32_t i = 0; i < unit->module->blob_count; ++i) {
    if (unit->blob_labels[i] == HLO_X86_NO_LABEL) continue;
    hlo_x86_align(as, MAX_BYTES, false);
    hlo_x86_label_bind(as, unit->blob_labels[i]);
    hlo_x86_data(as, unit->module->blobs[i].bytes, unit->module->blobs[i].size_bytes);
  }
  return hlo_ok();
}

void hlo_x86_pool_deinit(hlo_x86_pool_t* pool) {
  hlo_vec_deinit(&pool->entries);
  hlo_mem_free(pool->slots);
  pool->slots = NULL;
}
