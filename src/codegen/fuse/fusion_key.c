// SPDX-License-Identifier: Apache-2.0
// Serializes fusions into words (see fusion_key.h). Attributes and types are interned: within a
// module their addresses identify them, elsewhere their hashes. Nodes are numbered in the order of
// their first occurrence.
#include "codegen/fuse/fusion_key.h"

#include <string.h>

#include "base/tuning.h"
#include "ir/clone.h"

enum { INPUT = 1 << 24, ARGUMENT = 1 << 25 };

typedef struct writer {
  const hlo_fusion_t* fusion;
  uint32_t* numbers;  // by node->index: number + 1
  uint32_t next_number;
  hlo_arena_t* arena;
  uint64_t* words;
  uint32_t count, capacity;
  bool is_portable;  // valid in other modules
  bool is_alone;     // independent of what the program does with the outputs
  bool is_bound;     // refers to a value outside the fusion, which has no portable name
} writer_t;

static void put_word(writer_t* w, uint64_t word) {
  if (w->count == w->capacity && !HLO_ARENA_GROW(w->arena, w->words, w->count, w->capacity))
    return;  // the arena records the failure; the words are not used
  w->words[w->count++] = word;
}

static void put_pointer(writer_t* w, const void* pointer) {
  put_word(w, (uint64_t)(uintptr_t)pointer);
}

static void put_type(writer_t* w, const hlo_type_t* type) {
  if (w->is_portable) {
    put_word(w, type->hash);
  } else {
    put_pointer(w, type);
  }
}

static void put_attr(writer_t* w, const hlo_attr_t* attr) {
  if (w->is_portable) {
    put_word(w, hlo_attr_hash_whole(attr, 0));
  } else {
    put_pointer(w, attr);
  }
}

// An operand may be both an input and a member's result: a slice update and the array that it
// overwrites.
static void put_operand(writer_t* w, const hlo_value_t* value) {
  uint32_t input = 0;
  while (input < w->fusion->input_count && w->fusion->inputs[input] != value) ++input;
  if (input < w->fusion->input_count) put_word(w, INPUT | input);
  if (value->def && w->numbers[value->def->index]) {
    put_word(w, (uint64_t)w->numbers[value->def->index] << 32 | value->number);
  } else if (!value->def && value->region && value->region->parent &&
             w->numbers[value->region->parent->index]) {
    put_word(w,
             (uint64_t)w->numbers[value->region->parent->index] << 32 | ARGUMENT | value->number);
  } else if (input == w->fusion->input_count) {
    put_pointer(w, value);  // outside the fusion: equal to itself only
    w->is_bound = true;
  }
}

static void put_node(writer_t* w, const hlo_node_t* node);

static void put_region(writer_t* w, const hlo_region_t* region) {
  put_word(w, region->arg_count);
  for (uint32_t i = 0; i < region->arg_count; ++i) put_type(w, region->args[i]->type);
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    w->numbers[node->index] = ++w->next_number;
    put_node(w, node);
  }
}

static void put_node(writer_t* w, const hlo_node_t* node) {
  put_word(w, (uint64_t)node->op << 48 | (uint64_t)node->region_count << 32 |
                  (uint64_t)node->operand_count << 16 | node->result_count);
  for (uint32_t i = 0; i < hlo_op_info(node->op)->attr_count; ++i) put_attr(w, node->attrs[i]);
  for (uint32_t i = 0; i < node->result_count; ++i) put_type(w, node->results[i].type);
  for (uint32_t i = 0; i < node->operand_count; ++i) put_operand(w, hlo_node_operand(node, i));
  for (uint32_t i = 0; i < node->region_count; ++i) put_region(w, node->regions[i]);
}

static void forget_node(uint32_t* numbers, const hlo_node_t* node) {
  numbers[node->index] = 0;
  for (uint32_t i = 0; i < node->region_count; ++i) {
    for (const hlo_node_t* inner = node->regions[i]->first; inner; inner = inner->next) {
      forget_node(numbers, inner);
    }
  }
}

static bool is_large_result(const hlo_value_t* output) {
  return hlo_type_size_bytes(output->type) >= HLO_TUNING_STREAM_MIN_RESULT_BYTES &&
         hlo_value_is_program_result(output);
}

static void put_fusion(writer_t* w) {
  const hlo_fusion_t* fusion = w->fusion;
  put_word(w,
           (uint64_t)fusion->node_count << 32 | fusion->input_count << 16 | fusion->output_count);
  for (uint32_t i = 0; i < fusion->input_count; ++i) put_type(w, fusion->inputs[i]->type);
  // Members are numbered first: they may be used before they are serialized.
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    w->numbers[fusion->nodes[i]->index] = ++w->next_number;
  }
  for (uint32_t i = 0; i < fusion->node_count; ++i) put_node(w, fusion->nodes[i]);
  for (uint32_t i = 0; i < fusion->output_count; ++i) {
    put_operand(w, fusion->outputs[i]);
    // Kernels may store only those past the caches.
    if (!w->is_alone && is_large_result(fusion->outputs[i])) put_word(w, i);
  }
  for (uint32_t i = 0; i < fusion->node_count; ++i) forget_node(w->numbers, fusion->nodes[i]);
}

hlo_status_t hlo_fusion_key(const hlo_fusion_t* fusion, uint32_t* numbers, hlo_arena_t* arena,
                            hlo_fusion_key_t* out_key) {
  writer_t w = {.fusion = fusion, .numbers = numbers, .arena = arena};
  put_fusion(&w);
  *out_key =
      (hlo_fusion_key_t){hlo_hash_bytes(w.words, w.count * sizeof *w.words, 0), w.count, w.words};
  return hlo_arena_status(arena);
}

static hlo_status_t make_digest(writer_t* w, bool* out_has_one, hlo_digest_t* out_digest) {
  put_fusion(w);
  for (uint64_t seed = 0; seed < 2; ++seed) {
    out_digest->words[seed] = hlo_hash_bytes(w->words, w->count * sizeof *w->words, seed);
  }
  *out_has_one = !w->is_bound;
  return hlo_arena_status(w->arena);
}

hlo_status_t hlo_fusion_digest(const hlo_fusion_t* fusion, uint32_t* numbers, hlo_arena_t* arena,
                               bool* out_has_one, hlo_digest_t* out_digest) {
  writer_t w = {.fusion = fusion, .numbers = numbers, .arena = arena, .is_portable = true};
  return make_digest(&w, out_has_one, out_digest);
}

hlo_status_t hlo_fusion_choice_digest(const hlo_fusion_t* fusion, uint32_t* numbers,
                                      hlo_arena_t* arena, bool* out_has_one,
                                      hlo_digest_t* out_digest) {
  writer_t w = {
      .fusion = fusion, .numbers = numbers, .arena = arena, .is_portable = true, .is_alone = true};
  return make_digest(&w, out_has_one, out_digest);
}

static void list_key_node(const hlo_node_t* node, const hlo_node_t** items, uint32_t* count) {
  if (items) items[*count] = node;
  ++*count;
  for (uint32_t i = 0; i < node->region_count; ++i) {
    for (const hlo_node_t* inner = node->regions[i]->first; inner; inner = inner->next) {
      list_key_node(inner, items, count);
    }
  }
}

hlo_status_t hlo_fusion_list_nodes(const hlo_fusion_t* fusion, hlo_arena_t* arena,
                                   hlo_fusion_nodes_t* out_nodes) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < fusion->node_count; ++i) list_key_node(fusion->nodes[i], NULL, &count);
  const hlo_node_t** items = hlo_arena_array(arena, count + 1, sizeof *items);
  HLO_TRY(hlo_arena_status(arena));
  *out_nodes = (hlo_fusion_nodes_t){.items = items};
  for (uint32_t i = 0; i < fusion->node_count; ++i) {
    list_key_node(fusion->nodes[i], items, &out_nodes->count);
  }
  return hlo_ok();
}

static bool are_keys_equal(const hlo_fusion_key_t* a, const hlo_fusion_key_t* b) {
  return a->hash == b->hash && a->word_count == b->word_count &&
         memcmp(a->words, b->words, a->word_count * sizeof *a->words) == 0;
}

static uint32_t bucket_of(const hlo_fusion_table_t* table, const hlo_fusion_key_t* key) {
  return (uint32_t)(key->hash % (sizeof table->buckets / sizeof *table->buckets));
}

hlo_fusion_known_t* hlo_fusion_table_find(const hlo_fusion_table_t* table,
                                          const hlo_fusion_key_t* key) {
  hlo_fusion_known_t* known = table->buckets[bucket_of(table, key)];
  while (known && !are_keys_equal(&known->key, key)) known = known->next;
  return known;
}

hlo_fusion_known_t* hlo_fusion_table_add(hlo_fusion_table_t* table, const hlo_fusion_key_t* key,
                                         hlo_arena_t* arena) {
  hlo_fusion_known_t* known = hlo_arena_alloc_zeroed(arena, sizeof *known);
  uint64_t* words = hlo_arena_alloc(arena, key->word_count * sizeof *words);
  if (!known || !words) return NULL;
  memcpy(words, key->words, key->word_count * sizeof *words);
  uint32_t bucket = bucket_of(table, key);
  *known = (hlo_fusion_known_t){.key = {key->hash, key->word_count, words},
                                .next = table->buckets[bucket]};
  return table->buckets[bucket] = known;
}

void hlo_fusion_table_forget(hlo_fusion_table_t* table, uint32_t first_index) {
  for (uint32_t i = 0; i < sizeof table->buckets / sizeof *table->buckets; ++i) {
    for (hlo_fusion_known_t* known = table->buckets[i]; known; known = known->next) {
      if (known->fusion && known->fusion->index >= first_index) known->fusion = NULL;
    }
  }
}
