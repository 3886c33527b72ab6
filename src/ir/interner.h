// SPDX-License-Identifier: Apache-2.0
// The hash sets that intern the types, attributes and strings of a module (private to ir).
#pragma once

#include <stdint.h>

#include "base/hash.h"
#include "base/mem.h"

/// Must differ from the word that hlo_hash_word() adds first: otherwise the sum would cancel the
/// hashed word.
#define HLO_HASH_SEED 0x2545f4914f6cdd1du

typedef struct hlo_intern_entry {
  uint64_t hash;
  void* value;
} hlo_intern_entry_t;

/// Open addressing in arena memory; doubled when half full.
typedef struct hlo_intern_set {
  hlo_intern_entry_t* entries;
  uint32_t count, capacity;
} hlo_intern_set_t;

typedef struct hlo_interner {
  hlo_intern_set_t types, attrs, strings;
  struct hlo_literal_ref* literals;  // held by attributes, released with the module
} hlo_interner_t;

typedef bool (*hlo_intern_match_t)(const void* entry, const void* key);

/// Returns the slot of the entry equal to `key`: *slot is the entry, or NULL for the caller to fill
/// immediately. NULL when memory is exhausted.
void** hlo_intern_slot(hlo_intern_set_t* set, hlo_arena_t* arena, uint64_t hash,
                       hlo_intern_match_t match, const void* key);

/// Releases the literals that attributes of the module hold.
void hlo_interner_release_literals(hlo_interner_t* interner);
