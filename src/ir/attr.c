// SPDX-License-Identifier: Apache-2.0
// Interning of attributes and strings in a module (see type.h).
#include <stdlib.h>
#include <string.h>

#include "ir/interner.h"
#include "ir/module.h"

static uint64_t hash_attr(const hlo_attr_t* a) {
  uint64_t h =
      hlo_hash_word(HLO_HASH_SEED, ((uint64_t)a->kind << 48) | ((uint64_t)a->dtype << 40) |
                                       ((uint64_t)a->is_index << 39) | (uint64_t)a->enum_kind);
  uint64_t bits;
  memcpy(&bits, &a->f, sizeof bits);
  h = hlo_hash_word(h, (uint64_t)a->i ^ bits);
  if (a->text) h = hlo_hash_bytes(a->text, a->text_length, h);
  if (a->type) h = hlo_hash_word(h, a->type->hash);
  if (a->literal) h = hlo_hash_word(h, hlo_literal_hash(a->literal));
  h = hlo_hash_word(h, ((uint64_t)a->rows << 32) | a->cols);
  h = hlo_hash_word(h, a->count);
  for (uint32_t i = 0; a->values && i < a->count; ++i) h = hlo_hash_word(h, (uint64_t)a->values[i]);
  for (uint32_t i = 0; a->items && i < a->count; ++i) h = hlo_hash_word(h, a->items[i]->hash);
  for (uint32_t i = 0; a->keys && i < a->count; ++i) {
    h = hlo_hash_bytes(a->keys[i], strlen(a->keys[i]), h);
  }
  return h;
}

static bool scalars_equal(const hlo_attr_t* a, const hlo_attr_t* b) {
  return a->kind == b->kind && a->dtype == b->dtype && a->is_index == b->is_index &&
         a->enum_kind == b->enum_kind && a->i == b->i && memcmp(&a->f, &b->f, sizeof a->f) == 0 &&
         a->text_length == b->text_length && a->count == b->count && a->rows == b->rows &&
         a->cols == b->cols && (a->literal == NULL) == (b->literal == NULL) &&
         (a->type == NULL) == (b->type == NULL);
}

bool hlo_attr_equal(const hlo_attr_t* a, const hlo_attr_t* b) {
  if (a == b) return true;
  if (!a || !b || a->hash != b->hash || !scalars_equal(a, b)) return false;
  if (a->text_length && memcmp(a->text, b->text, a->text_length) != 0) return false;
  if (a->type && !hlo_type_equal(a->type, b->type)) return false;
  if (a->literal && !hlo_literal_equal(a->literal, b->literal)) return false;
  if (a->values && a->count && memcmp(a->values, b->values, a->count * sizeof(int64_t)) != 0) {
    return false;
  }
  for (uint32_t i = 0; a->items && i < a->count; ++i) {
    if (!hlo_attr_equal(a->items[i], b->items[i])) return false;
    if (a->keys && strcmp(a->keys[i], b->keys[i]) != 0) return false;
  }
  return true;
}

// The module records each literal that an attribute holds, to release it at the end.
struct hlo_literal_ref {
  struct hlo_literal_ref* next;
  hlo_literal_t* literal;
};

static bool hold_literal(hlo_module_t* module, hlo_literal_t* literal) {
  struct hlo_literal_ref* ref = hlo_arena_alloc(&module->arena, sizeof *ref);
  if (!ref) return false;
  ref->literal = hlo_literal_retain(literal);
  ref->next = module->interner->literals;
  module->interner->literals = ref;
  return true;
}

void hlo_interner_release_literals(hlo_interner_t* interner) {
  for (struct hlo_literal_ref* ref = interner->literals; ref; ref = ref->next) {
    hlo_literal_release(ref->literal);
  }
  interner->literals = NULL;
}

static hlo_attr_t* copy_attr(hlo_module_t* module, const hlo_attr_t* fields) {
  hlo_arena_t* arena = &module->arena;
  hlo_attr_t* attr = hlo_arena_alloc(arena, sizeof *attr);
  if (!attr) return NULL;
  *attr = *fields;
  if (fields->text) attr->text = hlo_arena_strndup(arena, fields->text, fields->text_length);
  if (fields->values || fields->kind == HLO_ATTR_KIND_INTS) {
    int64_t* values = hlo_arena_array(arena, fields->count, sizeof(int64_t));
    if (values && fields->count) memcpy(values, fields->values, fields->count * sizeof(int64_t));
    attr->values = values;
  }
  if (fields->items) {
    const hlo_attr_t** items = hlo_arena_array(arena, fields->count, sizeof(hlo_attr_t*));
    if (items) memcpy(items, fields->items, fields->count * sizeof(hlo_attr_t*));
    attr->items = items;
  }
  if (fields->keys) {
    const char** keys = hlo_arena_array(arena, fields->count, sizeof(char*));
    for (uint32_t i = 0; keys && i < fields->count; ++i) {
      keys[i] = hlo_module_string(module, fields->keys[i], strlen(fields->keys[i]));
    }
    attr->keys = keys;
  }
  if (arena->failed) return NULL;
  if (fields->literal && !hold_literal(module, fields->literal)) return NULL;
  return attr;
}

static bool attr_matches(const void* entry, const void* key) {
  return hlo_attr_equal(entry, key);
}

const hlo_attr_t* hlo_attr_intern(hlo_module_t* module, const hlo_attr_t* fields) {
  for (uint32_t i = 0; fields->items && i < fields->count; ++i) {
    if (!fields->items[i]) return NULL;
  }
  hlo_attr_t key = *fields;
  if (key.text && !key.text_length) key.text = "";
  key.hash = hash_attr(&key);
  void** slot =
      hlo_intern_slot(&module->interner->attrs, &module->arena, key.hash, attr_matches, &key);
  if (!slot) return NULL;
  if (!*slot) {
    // copy_attr() may intern strings but no attributes, so `slot` stays valid.
    *slot = copy_attr(module, &key);
  }
  return *slot;
}

const hlo_attr_t* hlo_attr_unit(hlo_module_t* module) {
  return hlo_attr_intern(module, &(hlo_attr_t){.kind = HLO_ATTR_KIND_UNIT});
}

const hlo_attr_t* hlo_attr_bool(hlo_module_t* module, bool value) {
  return hlo_attr_intern(
      module, &(hlo_attr_t){.kind = HLO_ATTR_KIND_BOOL, .dtype = HLO_DTYPE_PRED, .i = value});
}

const hlo_attr_t* hlo_attr_int(hlo_module_t* module, hlo_dtype_t dtype, int64_t value) {
  return hlo_attr_intern(module,
                         &(hlo_attr_t){.kind = HLO_ATTR_KIND_INT, .dtype = dtype, .i = value});
}

const hlo_attr_t* hlo_attr_float(hlo_module_t* module, hlo_dtype_t dtype, double value) {
  return hlo_attr_intern(module,
                         &(hlo_attr_t){.kind = HLO_ATTR_KIND_FLOAT, .dtype = dtype, .f = value});
}

static const hlo_attr_t* text_attr(hlo_module_t* module, hlo_attr_kind_t kind, const char* text,
                                   size_t length) {
  if (length > UINT32_MAX) {
    module->arena.failed = true;
    return NULL;
  }
  return hlo_attr_intern(
      module, &(hlo_attr_t){.kind = kind, .text = text, .text_length = (uint32_t)length});
}

const hlo_attr_t* hlo_attr_string(hlo_module_t* module, const char* text, size_t length) {
  return text_attr(module, HLO_ATTR_KIND_STRING, text, length);
}

const hlo_attr_t* hlo_attr_symbol(hlo_module_t* module, const char* text, size_t length) {
  return text_attr(module, HLO_ATTR_KIND_SYMBOL, text, length);
}

const hlo_attr_t* hlo_attr_opaque(hlo_module_t* module, const char* text, size_t length) {
  return text_attr(module, HLO_ATTR_KIND_OPAQUE, text, length);
}

const hlo_attr_t* hlo_attr_type(hlo_module_t* module, const hlo_type_t* type) {
  if (!type) return NULL;
  return hlo_attr_intern(module, &(hlo_attr_t){.kind = HLO_ATTR_KIND_TYPE, .type = type});
}

const hlo_attr_t* hlo_attr_ints(hlo_module_t* module, uint32_t count, const int64_t* values) {
  return hlo_attr_intern(
      module,
      &(hlo_attr_t){
          .kind = HLO_ATTR_KIND_INTS, .dtype = HLO_DTYPE_S64, .count = count, .values = values});
}

const hlo_attr_t* hlo_attr_matrix(hlo_module_t* module, uint32_t rows, uint32_t cols,
                                  const int64_t* values) {
  uint32_t count;
  if (__builtin_mul_overflow(rows, cols, &count)) {
    module->arena.failed = true;
    return NULL;
  }
  return hlo_attr_intern(module, &(hlo_attr_t){.kind = HLO_ATTR_KIND_INTS,
                                               .dtype = HLO_DTYPE_S64,
                                               .count = count,
                                               .rows = rows,
                                               .cols = cols,
                                               .values = values});
}

const hlo_attr_t* hlo_attr_bools(hlo_module_t* module, uint32_t count, const int64_t* values) {
  return hlo_attr_intern(
      module,
      &(hlo_attr_t){
          .kind = HLO_ATTR_KIND_INTS, .dtype = HLO_DTYPE_PRED, .count = count, .values = values});
}

const hlo_attr_t* hlo_attr_literal(hlo_module_t* module, const hlo_type_t* type,
                                   hlo_literal_t* literal) {
  if (!type || !literal) return NULL;
  return hlo_attr_intern(
      module, &(hlo_attr_t){.kind = HLO_ATTR_KIND_LITERAL, .type = type, .literal = literal});
}

const hlo_attr_t* hlo_attr_enum(hlo_module_t* module, hlo_enum_kind_t kind, int64_t value) {
  return hlo_attr_intern(module,
                         &(hlo_attr_t){.kind = HLO_ATTR_KIND_ENUM, .enum_kind = kind, .i = value});
}

const hlo_attr_t* hlo_attr_array(hlo_module_t* module, uint32_t count,
                                 const hlo_attr_t* const* items) {
  static const hlo_attr_t* const kNone[1];
  return hlo_attr_intern(
      module,
      &(hlo_attr_t){.kind = HLO_ATTR_KIND_ARRAY, .count = count, .items = count ? items : kNone});
}

typedef struct dict_entry {
  const char* key;
  const hlo_attr_t* item;
  uint32_t order;
} dict_entry_t;

static int compare_entries(const void* a, const void* b) {
  const dict_entry_t *x = a, *y = b;
  int order = strcmp(x->key, y->key);
  return order ? order : (x->order > y->order) - (x->order < y->order);
}

const hlo_attr_t* hlo_attr_dict(hlo_module_t* module, uint32_t count, const char* const* keys,
                                const hlo_attr_t* const* items) {
  dict_entry_t* entries = hlo_arena_array(&module->arena, (size_t)count + 1, sizeof *entries);
  const char** sorted_keys = hlo_arena_array(&module->arena, (size_t)count + 1, sizeof(char*));
  const hlo_attr_t** sorted_items =
      hlo_arena_array(&module->arena, (size_t)count + 1, sizeof(hlo_attr_t*));
  if (!entries || !sorted_keys || !sorted_items) return NULL;
  for (uint32_t i = 0; i < count; ++i) entries[i] = (dict_entry_t){keys[i], items[i], i};
  qsort(entries, count, sizeof *entries, compare_entries);
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; ++i) {  // of equal keys the last one wins
    if (used && strcmp(sorted_keys[used - 1], entries[i].key) == 0) --used;
    sorted_keys[used] = entries[i].key;
    sorted_items[used++] = entries[i].item;
  }
  return hlo_attr_intern(
      module,
      &(hlo_attr_t){
          .kind = HLO_ATTR_KIND_DICT, .count = used, .items = sorted_items, .keys = sorted_keys});
}

const hlo_attr_t* hlo_attr_dict_get(const hlo_attr_t* dict, const char* key) {
  if (!dict || dict->kind != HLO_ATTR_KIND_DICT) return NULL;
  uint32_t low = 0, high = dict->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    int order = strcmp(dict->keys[middle], key);
    if (order == 0) return dict->items[middle];
    *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
  }
  return NULL;
}

const hlo_attr_t* hlo_attr_dict_with(hlo_module_t* module, const hlo_attr_t* dict, const char* key,
                                     const hlo_attr_t* value) {
  uint32_t old_count = dict ? dict->count : 0;
  const char** keys = hlo_arena_array(&module->arena, old_count + 1, sizeof(char*));
  const hlo_attr_t** items = hlo_arena_array(&module->arena, old_count + 1, sizeof(hlo_attr_t*));
  if (!keys || !items) return NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < old_count; ++i) {
    if (strcmp(dict->keys[i], key) == 0) continue;
    keys[count] = dict->keys[i];
    items[count++] = dict->items[i];
  }
  if (value) {
    keys[count] = key;
    items[count++] = value;
  }
  return count ? hlo_attr_dict(module, count, keys, items) : NULL;
}

const hlo_attr_t* hlo_attr_import(hlo_module_t* module, const hlo_attr_t* attr) {
  if (!attr) return NULL;
  hlo_attr_t fields = *attr;
  if (attr->type) fields.type = hlo_type_import(module, attr->type);
  if (attr->items) {
    const hlo_attr_t** items = hlo_arena_array(&module->arena, attr->count + 1, sizeof *items);
    if (!items) return NULL;
    for (uint32_t i = 0; i < attr->count; ++i) items[i] = hlo_attr_import(module, attr->items[i]);
    fields.items = items;
  }
  return hlo_attr_intern(module, &fields);
}

typedef struct text_key {
  const char* text;
  size_t length;
} text_key_t;

static bool string_matches(const void* entry, const void* key) {
  const text_key_t* k = key;
  return strncmp(entry, k->text, k->length) == 0 && ((const char*)entry)[k->length] == 0;
}

const char* hlo_module_string(hlo_module_t* module, const char* text, size_t length) {
  if (length == 0) text = "";  // may be NULL
  text_key_t key = {text, strnlen(text, length)};
  uint64_t hash = hlo_hash_bytes(text, key.length, HLO_HASH_SEED);
  void** slot =
      hlo_intern_slot(&module->interner->strings, &module->arena, hash, string_matches, &key);
  if (!slot) return "";
  if (!*slot) *slot = hlo_arena_strndup(&module->arena, text, key.length);
  return *slot ? *slot : "";
}

typedef struct enum_case {
  hlo_enum_kind_t kind;
  const char* name;
  int64_t value;
} enum_case_t;

static const enum_case_t kCases[] = {
#define HLO_ENUM_CASE(kind, name, value) {HLO_ENUM_##kind, #name, value},
#include "ir/enums.def"
};

static const char* const kMnemonics[] = {
#define HLO_ENUM(kind, dialect, mnemonic) mnemonic,
#include "ir/enums.def"
};

const char* hlo_enum_case_name(hlo_enum_kind_t kind, int64_t value) {
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (kCases[i].kind == kind && kCases[i].value == value) return kCases[i].name;
  }
  return NULL;
}

int64_t hlo_enum_case_value(hlo_enum_kind_t kind, const char* name, size_t length) {
  for (size_t i = 0; i < sizeof kCases / sizeof kCases[0]; ++i) {
    if (kCases[i].kind == kind && strlen(kCases[i].name) == length &&
        memcmp(kCases[i].name, name, length) == 0) {
      return kCases[i].value;
    }
  }
  return -1;
}

const char* hlo_enum_mnemonic(hlo_enum_kind_t kind) {
  return kMnemonics[kind];
}
