// SPDX-License-Identifier: Apache-2.0
// Constants after the code: each once, the widest first, so that all are aligned.
#include <string.h>

#include "base/hash.h"
#include "codegen/x86/asm_impl.h"
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

// Returns the label of these bytes in the unit; HLO_X86_NO_LABEL when memory is exhausted.
static hlo_x86_label_t intern(hlo_x86_unit_t* unit, const void* bytes, uint32_t size_bytes) {
  hlo_x86_pool_t* pool = &unit->pool;
  if (!make_room(pool)) return HLO_X86_NO_LABEL;
  uint32_t mask = pool->slot_count - 1;
  for (uint32_t at = (uint32_t)hash_of(bytes, size_bytes) & mask; pool->slots[at];
       at = (at + 1) & mask) {
    const hlo_x86_pool_entry_t* entry = &pool->entries.items[pool->slots[at] - 1];
    if (entry->size_bytes == size_bytes && memcmp(entry->bytes, bytes, size_bytes) == 0) {
      return entry->label;
    }
  }
  hlo_x86_pool_entry_t entry = {.size_bytes = size_bytes, .label = hlo_x86_label_create(&unit->as)};
  memcpy(entry.bytes, bytes, size_bytes);
  if (!hlo_vec_push(&pool->entries, entry)) return HLO_X86_NO_LABEL;
  put_slot(pool, (uint32_t)pool->entries.count - 1);
  return entry.label;
}

static hlo_x86_label_t intern_blob(hlo_x86_unit_t* unit, const hlo_vir_blob_t* blob) {
  hlo_x86_pool_t* pool = &unit->pool;
  for (size_t i = 0; i < pool->blobs.count; ++i) {
    const hlo_x86_blob_t* known = &pool->blobs.items[i];
    if (known->hash == blob->hash && known->size_bytes == blob->size_bytes &&
        memcmp(known->bytes, blob->bytes, blob->size_bytes) == 0) {
      return known->label;
    }
  }
  if (!hlo_vec_reserve(&pool->blobs, pool->blobs.count + 1)) return HLO_X86_NO_LABEL;
  uint8_t* bytes = hlo_mem_alloc(blob->size_bytes);
  if (!bytes) return HLO_X86_NO_LABEL;
  if (blob->size_bytes) memcpy(bytes, blob->bytes, blob->size_bytes);
  hlo_x86_label_t label = hlo_x86_label_create(&unit->as);
  pool->blobs.items[pool->blobs.count++] =
      (hlo_x86_blob_t){bytes, blob->size_bytes, blob->hash, label};
  return label;
}

static hlo_x86_rm_t operand_of(hlo_x86_fn_t* f, hlo_x86_label_t label) {
  if (label != HLO_X86_NO_LABEL) return hlo_x86_rip(label, 0);
  f->arena->failed = true;
  return hlo_x86_reg(0);
}

hlo_x86_rm_t hlo_x86_pool_bytes(hlo_x86_fn_t* f, const void* bytes, uint32_t size_bytes) {
  return operand_of(f, intern(f->unit, bytes, size_bytes));
}

hlo_x86_rm_t hlo_x86_pool_blob(hlo_x86_fn_t* f, const hlo_vir_blob_t* blob) {
  return operand_of(f, intern_blob(f->unit, blob));
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

void hlo_x86_pool_join(hlo_x86_unit_t* unit, const hlo_x86_pool_t* other, hlo_x86_label_t* map) {
  bool is_done = true;
  for (size_t i = 0; i < other->entries.count && is_done; ++i) {
    const hlo_x86_pool_entry_t* entry = &other->entries.items[i];
    map[entry->label] = intern(unit, entry->bytes, entry->size_bytes);
    is_done = map[entry->label] != HLO_X86_NO_LABEL;
  }
  for (size_t i = 0; i < other->blobs.count && is_done; ++i) {
    const hlo_x86_blob_t* blob = &other->blobs.items[i];
    const hlo_vir_blob_t content = {blob->bytes, blob->size_bytes, blob->hash};
    map[blob->label] = intern_blob(unit, &content);
    is_done = map[blob->label] != HLO_X86_NO_LABEL;
  }
  if (!is_done) hlo_x86_fail(&unit->as, hlo_status_out_of_memory(sizeof(hlo_x86_pool_entry_t)));
}

void hlo_x86_pool_emit(hlo_x86_unit_t* unit) {
  hlo_x86_asm_t* as = &unit->as;
  for (uint32_t size = MAX_BYTES; size; size /= 2) {
    bool is_first = true;
    for (size_t i = 0; i < unit->pool.entries.count; ++i) {
      const hlo_x86_pool_entry_t* entry = &unit->pool.entries.items[i];
      if (entry->size_bytes != size) continue;
      if (is_first) hlo_x86_align(as, size, false);
      is_first = false;
      hlo_x86_label_bind(as, entry->label);
      hlo_x86_data(as, entry->bytes, size);
    }
  }
  for (size_t i = 0; i < unit->pool.blobs.count; ++i) {
    const hlo_x86_blob_t* blob = &unit->pool.blobs.items[i];
    hlo_x86_align(as, MAX_BYTES, false);
    hlo_x86_label_bind(as, blob->label);
    hlo_x86_data(as, blob->bytes, blob->size_bytes);
  }
}

size_t hlo_x86_pool_size_bytes(const hlo_x86_pool_t* pool) {
  size_t size_bytes = pool->entries.capacity * sizeof *pool->entries.items +
                      pool->blobs.capacity * sizeof *pool->blobs.items +
                      pool->slot_count * sizeof *pool->slots;
  for (size_t i = 0; i < pool->blobs.count; ++i) size_bytes += pool->blobs.items[i].size_bytes;
  return size_bytes;
}

void hlo_x86_pool_deinit(hlo_x86_pool_t* pool) {
  for (size_t i = 0; i < pool->blobs.count; ++i) {
    hlo_mem_free(pool->blobs.items[i].bytes);
  }
  hlo_vec_deinit(&pool->blobs);
  hlo_vec_deinit(&pool->entries);
  hlo_mem_free(pool->slots);
  pool->slots = NULL;
}
