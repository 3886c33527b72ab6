// SPDX-License-Identifier: Apache-2.0
// Structural equality and hashing of modules (see clone.h).
#include <string.h>

#include "base/mem.h"
#include "ir/clone.h"
#include "ir/interner.h"

// Two values correspond if both walks define them at the same position. `numbers` maps each value
// of a module to the position of its definition.
typedef struct numbering {
  uint32_t* numbers;
  uint32_t next;
  bool is_whole;  // hashes see every byte of large constants
} numbering_t;

static void number_value(numbering_t* n, const hlo_value_t* value) {
  n->numbers[value->index] = ++n->next;
}

static bool text_equal(const char* a, const char* b) {
  return a == b || (a && b && strcmp(a, b) == 0);
}

static bool attrs_equal(const hlo_attr_t* a, const hlo_attr_t* b) {
  return a == b || (a && b && hlo_attr_equal(a, b));
}

static bool regions_equal(const hlo_region_t* a, const hlo_region_t* b, numbering_t* na,
                          numbering_t* nb);

static bool nodes_equal(const hlo_node_t* a, const hlo_node_t* b, numbering_t* na,
                        numbering_t* nb) {
  if (a->op != b->op || a->operand_count != b->operand_count ||
      a->result_count != b->result_count || a->region_count != b->region_count ||
      !attrs_equal(a->extra, b->extra)) {
    return false;
  }
  for (uint32_t i = 0; i < a->operand_count; ++i) {
    if (na->numbers[hlo_node_operand(a, i)->index] != nb->numbers[hlo_node_operand(b, i)->index]) {
      return false;
    }
  }
  for (uint32_t i = 0; i < hlo_op_info(a->op)->attr_count; ++i) {
    if (!attrs_equal(a->attrs[i], b->attrs[i])) return false;
  }
  for (uint32_t i = 0; i < a->result_count; ++i) {
    if (!hlo_type_equal(a->results[i].type, b->results[i].type)) return false;
    number_value(na, &a->results[i]);
    number_value(nb, &b->results[i]);
  }
  for (uint32_t i = 0; i < a->region_count; ++i) {
    if (!regions_equal(a->regions[i], b->regions[i], na, nb)) return false;
  }
  return true;
}

static bool regions_equal(const hlo_region_t* a, const hlo_region_t* b, numbering_t* na,
                          numbering_t* nb) {
  if (a->arg_count != b->arg_count) return false;
  for (uint32_t i = 0; i < a->arg_count; ++i) {
    if (!hlo_type_equal(a->args[i]->type, b->args[i]->type)) return false;
    number_value(na, a->args[i]);
    number_value(nb, b->args[i]);
  }
  const hlo_node_t *x = a->first, *y = b->first;
  for (; x && y; x = x->next, y = y->next) {
    if (!nodes_equal(x, y, na, nb)) return false;
  }
  return !x && !y;
}

static bool attr_lists_equal(uint32_t count, const hlo_attr_t* const* a,
                             const hlo_attr_t* const* b) {
  for (uint32_t i = 0; i < count; ++i) {
    if (!attrs_equal(a ? a[i] : NULL, b ? b[i] : NULL)) return false;
  }
  return true;
}

static bool funcs_equal(const hlo_func_t* a, const hlo_func_t* b, numbering_t* na,
                        numbering_t* nb) {
  uint32_t inputs = a->type->input_count;
  if (!text_equal(a->name, b->name) || a->visibility != b->visibility ||
      !hlo_type_equal(a->type, b->type) || !attrs_equal(a->extra, b->extra) ||
      !attr_lists_equal(inputs, a->arg_attrs, b->arg_attrs) ||
      !attr_lists_equal(a->type->element_count - inputs, a->result_attrs, b->result_attrs) ||
      (a->body == NULL) != (b->body == NULL)) {
    return false;
  }
  return !a->body || regions_equal(a->body, b->body, na, nb);
}

bool hlo_module_equal(const hlo_module_t* a, const hlo_module_t* b) {
  if (!text_equal(a->name, b->name) || !attrs_equal(a->extra, b->extra)) return false;
  numbering_t na = {.numbers = hlo_mem_alloc_zeroed((a->value_count + 1) * sizeof(uint32_t))};
  numbering_t nb = {.numbers = hlo_mem_alloc_zeroed((b->value_count + 1) * sizeof(uint32_t))};
  bool equal = na.numbers && nb.numbers && regions_equal(a->top, b->top, &na, &nb);
  const hlo_func_t *x = a->first_func, *y = b->first_func;
  for (; equal && x && y; x = x->next, y = y->next) equal = funcs_equal(x, y, &na, &nb);
  equal = equal && !x && !y;
  hlo_mem_free(na.numbers);
  hlo_mem_free(nb.numbers);
  return equal;
}

// ---- hashes: equal modules have equal hashes, so operands are hashed by the number of their
// definition

static uint64_t hash_text(uint64_t h, const char* text) {
  return text ? hlo_hash_bytes(text, strlen(text), h) : hlo_hash_word(h, 0);
}

static uint64_t hash_region(uint64_t h, const hlo_region_t* region, numbering_t* n);

static uint64_t hash_literals(uint64_t h, const hlo_attr_t* attr) {
  if (attr->literal) {
    const hlo_literal_t* literal = attr->literal;
    h = hlo_hash_word(h, literal->is_splat);
    if (literal->data_bytes) h = hlo_hash_bytes(literal->data, literal->data_bytes, h);
  }
  for (uint32_t i = 0; attr->items && i < attr->count; ++i) h = hash_literals(h, attr->items[i]);
  return h;
}

uint64_t hlo_attr_hash_whole(const hlo_attr_t* attr, uint64_t hash) {
  hash = hlo_hash_word(hash, attr ? attr->hash : 0);
  return attr ? hash_literals(hash, attr) : hash;
}

static uint64_t hash_node_attr(uint64_t h, const hlo_attr_t* attr, const numbering_t* n) {
  if (n && n->is_whole) return hlo_attr_hash_whole(attr, h);
  return hlo_hash_word(h, attr ? attr->hash : 0);
}

// If `n` is NULL, operands are hashed by type and result number only.
static uint64_t hash_node(uint64_t h, const hlo_node_t* node, numbering_t* n) {
  h = hlo_hash_word(h, ((uint64_t)node->op << 32) | node->operand_count);
  for (uint32_t i = 0; i < hlo_op_info(node->op)->attr_count; ++i) {
    h = hash_node_attr(h, node->attrs[i], n);
  }
  h = hash_node_attr(h, node->extra, n);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_value_t* operand = hlo_node_operand(node, i);
    h = hlo_hash_word(h, operand->type->hash);
    h = hlo_hash_word(h, n ? n->numbers[operand->index] : operand->number);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    h = hlo_hash_word(h, node->results[i].type->hash);
    if (n) number_value(n, &node->results[i]);
  }
  for (uint32_t i = 0; i < node->region_count; ++i) h = hash_region(h, node->regions[i], n);
  return h;
}

static uint64_t hash_region(uint64_t h, const hlo_region_t* region, numbering_t* n) {
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    h = hlo_hash_word(h, region->args[i]->type->hash);
    if (n) number_value(n, region->args[i]);
  }
  for (const hlo_node_t* node = region->first; node; node = node->next) h = hash_node(h, node, n);
  return h;
}

static uint64_t hash_attrs(uint64_t h, uint32_t count, const hlo_attr_t* const* attrs) {
  for (uint32_t i = 0; attrs && i < count; ++i) {
    h = hlo_hash_word(h, attrs[i] ? attrs[i]->hash : 0);
  }
  return h;
}

// A NULL `numbers` gives a weaker hash.
static uint64_t hash_module(uint64_t seed, const hlo_module_t* module, numbering_t* numbers) {
  uint64_t h = hash_text(seed, module->name);
  if (module->extra) h = hlo_hash_word(h, module->extra->hash);
  h = hash_region(h, module->top, numbers);
  for (const hlo_func_t* func = module->first_func; func; func = func->next) {
    uint32_t inputs = func->type->input_count;
    h = hlo_hash_word(hash_text(h, func->name), func->type->hash);
    h = hlo_hash_word(h, (uint64_t)func->visibility);
    if (func->extra) h = hlo_hash_word(h, func->extra->hash);
    h = hash_attrs(h, inputs, func->arg_attrs);
    h = hash_attrs(h, func->type->element_count - inputs, func->result_attrs);
    if (func->body) h = hash_region(h, func->body, numbers);
  }
  return h;
}

uint64_t hlo_module_hash(const hlo_module_t* module) {
  numbering_t n = {.numbers = hlo_mem_alloc_zeroed((module->value_count + 1) * sizeof(uint32_t))};
  uint64_t h = hash_module(HLO_HASH_SEED, module, n.numbers ? &n : NULL);
  hlo_mem_free(n.numbers);
  return h;
}

hlo_status_t hlo_module_digest(const hlo_module_t* module, uint64_t out_digest[2]) {
  size_t bytes = (module->value_count + 1) * sizeof(uint32_t);
  numbering_t n = {.numbers = hlo_mem_alloc_zeroed(bytes), .is_whole = true};
  if (!n.numbers) return hlo_status_out_of_memory(bytes);
  out_digest[0] = hash_module(HLO_HASH_SEED, module, &n);
  n.next = 0;
  out_digest[1] = hash_module(~(uint64_t)HLO_HASH_SEED, module, &n);
  hlo_mem_free(n.numbers);
  return hlo_ok();
}
