// SPDX-License-Identifier: Apache-2.0
// Locations, aliases and the metadata section of MLIR text; names with their scopes.
#include <string.h>

#include "ir/interner.h"
#include "ir/parse_impl.h"

// ---- Locations

static bool parse_loc(hlo_parser_t* p, bool defining, hlo_loc_t* out_loc);

// #name is known or, outside alias definitions, may be defined later; so locations have no cycles.
static bool parse_loc_alias(hlo_parser_t* p, bool defining, hlo_loc_t* out_loc) {
  hlo_token_t name = p->token;
  hlo_name_entry_t* entry = hlo_names_find(&p->locs, name.start + 1, name.length - 1);
  if (!entry && !defining) {
    entry = hlo_names_add(&p->locs, name.start + 1, name.length - 1);
    if (!entry) {
      p->no_memory = true;
      return false;
    }
    entry->number = hlo_module_loc(p->module, &(hlo_loc_info_t){.kind = HLO_LOC_UNKNOWN});
  }
  if (!entry || (defining && !entry->count)) {
    return hlo_parse_fault(p, name.start, "unknown location alias '%.*s'",
                           (int)(name.length < 60 ? name.length : 60), name.start);
  }
  *out_loc = (hlo_loc_t)entry->number;
  hlo_lex_advance(p);
  return true;
}

static bool add_loc(hlo_parser_t* p, const hlo_loc_info_t* info, hlo_loc_t* out_loc) {
  *out_loc = hlo_module_loc(p->module, info);
  return *out_loc != 0;
}

// "file":1:2, optionally followed by a range: "to 3:4", "to :4".
static bool parse_position(hlo_parser_t* p, const char* file, hlo_loc_t* out_loc) {
  int64_t line, col, end;
  const char* at = p->token.start;
  if (!hlo_parse_int(p, &line) || !hlo_expect(p, ':') || !hlo_parse_int(p, &col)) return false;
  if (hlo_accept_word(p, "to")) {
    if (!hlo_at(p, ':') && !hlo_parse_int(p, &end)) return false;
    if (!hlo_expect(p, ':') || !hlo_parse_int(p, &end)) return false;
  }
  if (line < 0 || line > UINT32_MAX || col < 0 || col > UINT32_MAX) {
    return hlo_parse_fault(p, at, "line or column out of range");
  }
  hlo_loc_info_t info = {
      .kind = HLO_LOC_FILE, .line = (uint32_t)line, .col = (uint32_t)col, .text = file};
  return add_loc(p, &info, out_loc);
}

static bool parse_named(hlo_parser_t* p, bool defining, hlo_loc_t* out_loc) {
  size_t length;
  const char* text = hlo_take_text(p, &length);
  if (!text) return false;
  if (hlo_accept(p, ':')) return parse_position(p, text, out_loc);
  hlo_loc_t child = 0;
  bool has_child = hlo_accept(p, '(');
  if (has_child && (!parse_loc(p, defining, &child) || !hlo_expect(p, ')'))) return false;
  hlo_loc_info_t info = {
      .kind = HLO_LOC_NAME, .text = text, .child_count = child ? 1 : 0, .children = &child};
  return add_loc(p, &info, out_loc);
}

static bool parse_callsite(hlo_parser_t* p, bool defining, hlo_loc_t* out_loc) {
  hlo_loc_t children[2];
  if (!hlo_expect(p, '(') || !parse_loc(p, defining, &children[0]) || !hlo_expect_word(p, "at") ||
      !parse_loc(p, defining, &children[1]) || !hlo_expect(p, ')')) {
    return false;
  }
  hlo_loc_info_t info = {.kind = HLO_LOC_CALLSITE, .child_count = 2, .children = children};
  return add_loc(p, &info, out_loc);
}

static bool parse_fused(hlo_parser_t* p, bool defining, hlo_loc_t* out_loc) {
  hlo_loc_t* children = NULL;
  uint32_t count = 0, capacity = 0;
  if (hlo_accept(p, '<')) {  // metadata is skipped
    if (!hlo_parse_any_attr(p) || !hlo_expect(p, '>')) return false;
  }
  if (!hlo_expect(p, '[')) return false;
  while (!hlo_at(p, ']')) {
    if (count && !hlo_expect(p, ',')) return false;
    if (!HLO_GROW(p, children, count, capacity) || !parse_loc(p, defining, &children[count])) {
      return false;
    }
    ++count;
  }
  hlo_lex_advance(p);
  hlo_loc_info_t info = {.kind = HLO_LOC_FUSED, .child_count = count, .children = children};
  return add_loc(p, &info, out_loc);
}

static bool parse_loc_any(hlo_parser_t* p, bool defining, hlo_loc_t* out_loc) {
  if (hlo_at(p, HLO_TOKEN_HASH)) return parse_loc_alias(p, defining, out_loc);
  if (hlo_at(p, HLO_TOKEN_STRING)) return parse_named(p, defining, out_loc);
  if (hlo_accept_word(p, "callsite")) return parse_callsite(p, defining, out_loc);
  if (hlo_accept_word(p, "fused")) return parse_fused(p, defining, out_loc);
  if (hlo_accept_word(p, "loc")) {
    return hlo_expect(p, '(') && parse_loc(p, defining, out_loc) && hlo_expect(p, ')');
  }
  if (!hlo_accept_word(p, "unknown")) return hlo_parse_expected(p, "a location");
  *out_loc = 0;
  return true;
}

static bool parse_loc(hlo_parser_t* p, bool defining, hlo_loc_t* out_loc) {
  bool ok = hlo_parse_enter(p) && parse_loc_any(p, defining, out_loc);
  --p->depth;
  return ok;
}

bool hlo_parse_optional_loc(hlo_parser_t* p, hlo_loc_t* loc) {
  if (!hlo_accept_word(p, "loc")) return true;
  return hlo_expect(p, '(') && parse_loc(p, false, loc) && hlo_expect(p, ')');
}

// ---- Aliases

static bool define_loc(hlo_parser_t* p, const hlo_token_t* name) {
  hlo_loc_t loc = 0;
  hlo_lex_advance(p);
  if (!hlo_expect(p, '(') || !parse_loc(p, true, &loc) || !hlo_expect(p, ')')) return false;
  hlo_name_entry_t* entry = hlo_names_find(&p->locs, name->start + 1, name->length - 1);
  if (entry && entry->count) {
    return hlo_parse_fault(p, name->start, "location alias defined twice");
  }
  if (entry) {  // used before: fill in the location reserved for it
    if (loc) p->module->locs[entry->number] = p->module->locs[loc];
  } else {
    entry = hlo_names_add(&p->locs, name->start + 1, name->length - 1);
    if (entry) entry->number = loc;
  }
  if (!entry) {
    p->no_memory = true;
    return false;
  }
  entry->count = 1;
  return true;
}

const void* hlo_parse_alias(hlo_parser_t* p, const hlo_name_table_t* table) {
  // If each alias names the previous one twice, the text expands exponentially.
  enum { EXPANSION_BYTES = 16 << 20, EXPANSION_FACTOR = 16 };
  hlo_token_t name = p->token;
  hlo_name_entry_t* alias = hlo_names_find(table, name.start + 1, name.length - 1);
  if (!alias) {
    hlo_parse_fault(p, name.start, "unknown alias '%.*s'",
                    (int)(name.length < 60 ? name.length : 60), name.start);
    return NULL;
  }
  size_t limit = EXPANSION_BYTES;
  size_t length = (size_t)(p->end - p->text);
  if (length < SIZE_MAX / EXPANSION_FACTOR / 2) limit += length * EXPANSION_FACTOR;
  if (!hlo_size_add(p->alias_bytes, alias->number, &p->alias_bytes) || p->alias_bytes > limit) {
    hlo_parse_fault(p, name.start, "aliases expand to more than %zu bytes of text", limit);
    return NULL;
  }
  if (p->depth + alias->count > p->deepest) p->deepest = p->depth + alias->count;
  if (p->deepest > HLO_TEXT_DEPTH_MAX) {
    hlo_parse_fault(p, name.start, "nested more than %d deep", HLO_TEXT_DEPTH_MAX);
    return NULL;
  }
  hlo_lex_advance(p);
  return alias->payload;
}

bool hlo_parse_alias_definition(hlo_parser_t* p) {
  hlo_token_t name = p->token;
  size_t nested_bytes = p->alias_bytes;
  p->deepest = p->depth;
  bool is_type = name.kind == HLO_TOKEN_BANG;
  hlo_lex_advance(p);
  if (!hlo_expect(p, '=')) return false;
  if (!is_type && hlo_at_word(p, "loc")) return define_loc(p, &name);
  hlo_name_table_t* table = is_type ? &p->types : &p->attrs;
  const void* payload = is_type ? (const void*)hlo_parse_any_type(p) : hlo_parse_any_attr(p);
  if (!payload) return false;
  if (hlo_names_find(table, name.start + 1, name.length - 1)) {
    return hlo_parse_fault(p, name.start, "alias '%.*s' defined twice",
                           (int)(name.length < 60 ? name.length : 60), name.start);
  }
  hlo_name_entry_t* entry = hlo_names_add(table, name.start + 1, name.length - 1);
  if (!entry) {
    p->no_memory = true;
    return false;
  }
  entry->payload = (void*)payload;
  entry->count = p->deepest - p->depth;
  entry->number = (size_t)(p->token.start - name.start) + (p->alias_bytes - nested_bytes);
  return true;
}

// ---- {-# dialect_resources: { builtin: { name: "0x..." } } #-}

static bool add_resource(hlo_parser_t* p, const hlo_token_t* key) {
  const char* name = key->start;
  size_t length = key->length;
  if (key->kind == HLO_TOKEN_STRING) {
    ++name;
    length -= 2;
  }
  hlo_name_entry_t* entry = hlo_names_add(&p->resources, name, length);
  if (!entry) {
    p->no_memory = true;
    return false;
  }
  entry->payload = (void*)(p->token.start + 1);
  entry->number = p->token.length - 2;
  hlo_lex_advance(p);
  return true;
}

// Parses nested groups of "key: value". A string at any level is a resource: keys are unique in
// practice, and only the resources of builtin are used.
static bool parse_group(hlo_parser_t* p, int close) {
  while (!hlo_at(p, close)) {
    hlo_token_t key = p->token;
    if (key.kind != HLO_TOKEN_WORD && key.kind != HLO_TOKEN_STRING) {
      return hlo_parse_expected(p, "a key of the metadata");
    }
    hlo_lex_advance(p);
    if (!hlo_expect(p, ':')) return false;
    if (hlo_at(p, HLO_TOKEN_STRING)) {
      if (!add_resource(p, &key)) return false;
    } else if (hlo_at(p, '{')) {
      bool ok = hlo_parse_enter(p);
      if (ok) {
        hlo_lex_advance(p);
        ok = parse_group(p, '}');
      }
      --p->depth;
      if (!ok) return false;
    } else {
      return hlo_parse_expected(p, "'{' or a string");
    }
    if (!hlo_accept(p, ',') && !hlo_at(p, close)) return hlo_parse_expected(p, "','");
  }
  hlo_lex_advance(p);
  return true;
}

bool hlo_parse_metadata(hlo_parser_t* p) {
  hlo_names_drop(&p->resources, 0);
  p->metadata_read = true;
  hlo_lex_advance(p);
  return parse_group(p, HLO_TOKEN_META_END);
}

void hlo_read_metadata_ahead(hlo_parser_t* p) {
  if (p->metadata_read) return;
  p->metadata_read = true;
  const char* back = p->token.start;
  while (!hlo_at(p, HLO_TOKEN_META_BEGIN) && !hlo_at(p, HLO_TOKEN_EOF) &&
         !hlo_at(p, HLO_TOKEN_ERROR)) {
    hlo_lex_advance(p);
  }
  if (hlo_at(p, HLO_TOKEN_META_BEGIN)) hlo_parse_metadata(p);
  hlo_lex_seek(p, back);
}

// ---- names of values, aliases and resources: hash tables with scopes

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
