// SPDX-License-Identifier: Apache-2.0
// Interning of types in a module, and their queries (see type.h).
#include <string.h>

#include "ir/interner.h"
#include "ir/module.h"

static uint64_t hash_type(const hlo_type_t* t) {
  uint64_t h = hlo_hash_word(HLO_HASH_SEED, ((uint64_t)t->kind << 40) | ((uint64_t)t->dtype << 32) |
                                                ((uint64_t)t->is_index << 31) | t->rank);
  for (uint32_t i = 0; i < t->rank; ++i) {
    h = hlo_hash_word(h, (uint64_t)t->dims[i]);
    if (t->bounds) h = hlo_hash_word(h, (uint64_t)t->bounds[i]);
  }
  if (t->quant) {
    const hlo_quant_t* quant = t->quant;
    h = hlo_hash_word(h, ((uint64_t)quant->expressed << 32) | quant->count);
    h = hlo_hash_word(h, ((uint64_t)quant->storage << 32) | (uint32_t)quant->axis);
    h = hlo_hash_word(hlo_hash_word(h, (uint64_t)quant->storage_min), (uint64_t)quant->storage_max);
    h = hlo_hash_bytes(quant->scales, quant->count * sizeof(double), h);
    h = hlo_hash_bytes(quant->zero_points, quant->count * sizeof(int64_t), h);
  }
  if (t->encoding) h = hlo_hash_word(h, t->encoding->hash);
  h = hlo_hash_word(h, ((uint64_t)t->input_count << 32) | t->element_count);
  for (uint32_t i = 0; i < t->element_count; ++i) h = hlo_hash_word(h, t->elements[i]->hash);
  return h;
}

static bool quant_equal(const hlo_quant_t* a, const hlo_quant_t* b) {
  if (a == b) return true;
  if (!a || !b) return false;
  return a->storage == b->storage && a->expressed == b->expressed &&
         a->storage_min == b->storage_min && a->storage_max == b->storage_max &&
         a->axis == b->axis && a->count == b->count &&
         memcmp(a->scales, b->scales, a->count * sizeof(double)) == 0 &&
         memcmp(a->zero_points, b->zero_points, a->count * sizeof(int64_t)) == 0;
}

static bool ints_equal(uint32_t count, const int64_t* a, const int64_t* b) {
  if (!a || !b) return a == b || count == 0;
  return count == 0 || memcmp(a, b, count * sizeof(int64_t)) == 0;
}

bool hlo_type_equal(const hlo_type_t* a, const hlo_type_t* b) {
  if (a == b) return true;
  if (!a || !b || a->hash != b->hash) return false;
  if (a->kind != b->kind || a->dtype != b->dtype || a->is_index != b->is_index ||
      a->rank != b->rank || a->element_count != b->element_count ||
      a->input_count != b->input_count || (a->bounds == NULL) != (b->bounds == NULL) ||
      (a->encoding == NULL) != (b->encoding == NULL)) {
    return false;
  }
  if (!ints_equal(a->rank, a->dims, b->dims) || !ints_equal(a->rank, a->bounds, b->bounds) ||
      !quant_equal(a->quant, b->quant) ||
      (a->encoding && !hlo_attr_equal(a->encoding, b->encoding))) {
    return false;
  }
  for (uint32_t i = 0; i < a->element_count; ++i) {
    if (!hlo_type_equal(a->elements[i], b->elements[i])) return false;
  }
  return true;
}

static const hlo_quant_t* copy_quant(hlo_arena_t* arena, const hlo_quant_t* quant) {
  hlo_quant_t* q = hlo_arena_alloc(arena, sizeof *q);
  double* scales = hlo_arena_array(arena, quant->count, sizeof(double));
  int64_t* zero_points = hlo_arena_array(arena, quant->count, sizeof(int64_t));
  if (!q || !scales || !zero_points) return NULL;
  *q = *quant;
  if (quant->count) {
    memcpy(scales, quant->scales, quant->count * sizeof(double));
    memcpy(zero_points, quant->zero_points, quant->count * sizeof(int64_t));
  }
  q->scales = scales;
  q->zero_points = zero_points;
  return q;
}

static const int64_t* copy_ints(hlo_arena_t* arena, uint32_t count, const int64_t* values) {
  int64_t* copy = hlo_arena_array(arena, count, sizeof(int64_t));
  if (copy && count) memcpy(copy, values, count * sizeof(int64_t));
  return copy;
}

// The arrays of `fields` may be on the caller's stack, so a new entry copies them into the arena.
static hlo_type_t* copy_type(hlo_arena_t* arena, const hlo_type_t* fields) {
  hlo_type_t* type = hlo_arena_alloc(arena, sizeof *type);
  if (!type) return NULL;
  *type = *fields;
  type->dims = copy_ints(arena, fields->rank, fields->dims);
  if (fields->bounds) type->bounds = copy_ints(arena, fields->rank, fields->bounds);
  if (fields->quant) type->quant = copy_quant(arena, fields->quant);
  if (fields->element_count) {
    const hlo_type_t** elements =
        hlo_arena_array(arena, fields->element_count, sizeof(hlo_type_t*));
    if (elements) memcpy(elements, fields->elements, fields->element_count * sizeof(hlo_type_t*));
    type->elements = elements;
  }
  return arena->failed ? NULL : type;
}

static bool type_matches(const void* entry, const void* key) {
  return hlo_type_equal(entry, key);
}

const hlo_type_t* hlo_type_intern(hlo_module_t* module, const hlo_type_t* fields) {
  if (fields->rank > HLO_RANK_MAX) {  // readers report it with a location; this is the last check
    module->arena.failed = true;
    return NULL;
  }
  for (uint32_t i = 0; i < fields->element_count; ++i) {
    if (!fields->elements[i]) return NULL;
  }
  hlo_type_t key = *fields;
  if (key.bounds) {  // bounds that are all unknown count as absent
    bool any = false;
    for (uint32_t i = 0; i < key.rank; ++i) any |= key.bounds[i] != HLO_DIM_DYNAMIC;
    if (!any) key.bounds = NULL;
  }
  key.hash = hash_type(&key);
  void** slot =
      hlo_intern_slot(&module->interner->types, &module->arena, key.hash, type_matches, &key);
  if (!slot) return NULL;
  if (!*slot) *slot = copy_type(&module->arena, &key);
  return *slot;
}

const hlo_type_t* hlo_type_tensor(hlo_module_t* module, hlo_dtype_t dtype, uint32_t rank,
                                  const int64_t* dims) {
  return hlo_type_intern(
      module, &(hlo_type_t){.kind = HLO_TYPE_TENSOR, .dtype = dtype, .rank = rank, .dims = dims});
}

const hlo_type_t* hlo_type_token(hlo_module_t* module) {
  return hlo_type_intern(module, &(hlo_type_t){.kind = HLO_TYPE_TOKEN, .dtype = HLO_DTYPE_TOKEN});
}

const hlo_type_t* hlo_type_none(hlo_module_t* module) {
  return hlo_type_intern(module, &(hlo_type_t){.kind = HLO_TYPE_NONE});
}

const hlo_type_t* hlo_type_tuple(hlo_module_t* module, uint32_t count,
                                 const hlo_type_t* const* elements) {
  return hlo_type_intern(
      module, &(hlo_type_t){.kind = HLO_TYPE_TUPLE, .element_count = count, .elements = elements});
}

const hlo_type_t* hlo_type_future(hlo_module_t* module, uint32_t count,
                                  const hlo_type_t* const* elements) {
  return hlo_type_intern(
      module, &(hlo_type_t){.kind = HLO_TYPE_FUTURE, .element_count = count, .elements = elements});
}

const hlo_type_t* hlo_type_function(hlo_module_t* module, uint32_t input_count,
                                    const hlo_type_t* const* inputs, uint32_t result_count,
                                    const hlo_type_t* const* results) {
  uint32_t count = input_count + result_count;
  const hlo_type_t** all = hlo_arena_array(&module->arena, count, sizeof(hlo_type_t*));
  if (!all) return NULL;
  for (uint32_t i = 0; i < count; ++i) {
    all[i] = i < input_count ? inputs[i] : results[i - input_count];
  }
  return hlo_type_intern(module, &(hlo_type_t){.kind = HLO_TYPE_FUNCTION,
                                               .element_count = count,
                                               .input_count = input_count,
                                               .elements = all});
}

const hlo_type_t* hlo_type_with_dtype(hlo_module_t* module, const hlo_type_t* type,
                                      hlo_dtype_t dtype) {
  hlo_type_t fields = *type;
  fields.dtype = dtype;
  fields.is_index = false;
  fields.quant = NULL;
  return hlo_type_intern(module, &fields);
}

const hlo_type_t* hlo_type_with_dims(hlo_module_t* module, const hlo_type_t* type, uint32_t rank,
                                     const int64_t* dims) {
  hlo_type_t fields = *type;
  fields.rank = rank;
  fields.dims = dims;
  fields.bounds = NULL;
  return hlo_type_intern(module, &fields);
}

const hlo_type_t* hlo_type_with_dim(hlo_module_t* module, const hlo_type_t* type, uint32_t dim,
                                    int64_t size) {
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < type->rank; ++d) dims[d] = d == dim ? size : type->dims[d];
  return hlo_type_with_dims(module, type, type->rank, dims);
}

bool hlo_type_is_static(const hlo_type_t* type) {
  if (type->kind != HLO_TYPE_TENSOR && type->kind != HLO_TYPE_BUFFER) return false;
  for (uint32_t i = 0; i < type->rank; ++i) {
    if (type->dims[i] < 0) return false;
  }
  return true;
}

int64_t hlo_type_element_count(const hlo_type_t* type) {
  int64_t count;
  if (!hlo_type_is_static(type) || !hlo_dims_element_count(type->rank, type->dims, &count)) {
    return -1;
  }
  return count;
}

size_t hlo_type_size_bytes(const hlo_type_t* type) {
  int64_t count = hlo_type_element_count(type);
  size_t bytes;
  if (count < 0 || !hlo_size_mul((size_t)count, hlo_dtype_size_bytes(type->dtype), &bytes)) {
    return SIZE_MAX;
  }
  return bytes;
}

const hlo_type_t* hlo_type_import(hlo_module_t* module, const hlo_type_t* type) {
  if (!type) return NULL;
  hlo_type_t fields = *type;
  if (type->encoding) fields.encoding = hlo_attr_import(module, type->encoding);
  if (type->element_count) {
    const hlo_type_t** elements =
        hlo_arena_array(&module->arena, type->element_count, sizeof(hlo_type_t*));
    if (!elements) return NULL;
    for (uint32_t i = 0; i < type->element_count; ++i) {
      elements[i] = hlo_type_import(module, type->elements[i]);
    }
    fields.elements = elements;
  }
  return hlo_type_intern(module, &fields);
}

// ---- hash sets of interned values

enum { FIRST_CAPACITY = 64 };

static bool grow_set(hlo_intern_set_t* set, hlo_arena_t* arena) {
  uint32_t capacity = set->capacity ? set->capacity * 2 : FIRST_CAPACITY;
  hlo_intern_entry_t* entries = hlo_arena_array(arena, capacity, sizeof *entries);
  if (!entries) return false;
  for (uint32_t i = 0; i < set->capacity; ++i) {
    if (!set->entries[i].value) continue;
    uint32_t at = (uint32_t)set->entries[i].hash & (capacity - 1);
    while (entries[at].value) at = (at + 1) & (capacity - 1);
    entries[at] = set->entries[i];
  }
  set->entries = entries;
  set->capacity = capacity;
  return true;
}

void** hlo_intern_slot(hlo_intern_set_t* set, hlo_arena_t* arena, uint64_t hash,
                       hlo_intern_match_t match, const void* key) {
  if (set->count * 2 >= set->capacity && !grow_set(set, arena)) return NULL;
  uint32_t at = (uint32_t)hash & (set->capacity - 1);
  while (set->entries[at].value) {
    if (set->entries[at].hash == hash && match(set->entries[at].value, key)) {
      return &set->entries[at].value;
    }
    at = (at + 1) & (set->capacity - 1);
  }
  set->entries[at].hash = hash;
  ++set->count;
  return &set->entries[at].value;
}
