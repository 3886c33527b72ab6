// SPDX-License-Identifier: Apache-2.0
// Pass cse: replaces a pure op with an equal one before it.
//
// The table finds ops by opcode, attributes, operands and types, all of which compare by pointer
// inside a module. Scopes ensure that an entry dominates the op: a region of control flow sees the
// ops before it; a region that is a function of scalars (of reduce, sort ...) sees only itself.
// Leaving a region removes its entries.
#include <string.h>

#include "base/hash.h"
#include "passes/effects.h"
#include "passes/passes.h"

typedef struct entry {
  hlo_node_t* node;
  uint64_t hash;
  uint32_t domain;
  struct entry* next;      // same bucket
  struct entry* previous;  // added before this one, for leaving scopes
} entry_t;

typedef struct cse {
  hlo_pass_ctx_t* ctx;
  entry_t** buckets;
  uint32_t bucket_mask;
  entry_t* newest;
  entry_t* unused;
  uint32_t domain, next_domain;  // only entries of the same domain are visible
  uint32_t* numbers;             // by value->index, while two regions are compared
  uint32_t next_number;
} cse_t;

// ---- equality

static bool is_swappable(const hlo_node_t* node) {
  return (hlo_op_info(node->op)->traits & HLO_TRAIT_COMMUTATIVE) && node->operand_count == 2;
}

// In regions under comparison, values correspond by definition order: values defined since `base`
// are equal if their numbers are, other values if they are identical.
static bool same_value(const cse_t* cse, const hlo_value_t* a, const hlo_value_t* b,
                       uint32_t base) {
  uint32_t number = cse->numbers[a->index];
  return a == b || (number > base && number == cse->numbers[b->index]);
}

static void define(cse_t* cse, const hlo_value_t* a, const hlo_value_t* b) {
  cse->numbers[a->index] = cse->numbers[b->index] = ++cse->next_number;
}

static bool same_regions(cse_t* cse, const hlo_region_t* a, const hlo_region_t* b, uint32_t base);

static bool same_operands(const cse_t* cse, const hlo_node_t* a, const hlo_node_t* b,
                          uint32_t base) {
  bool same = true;
  for (uint32_t i = 0; i < a->operand_count && same; ++i) {
    same = same_value(cse, hlo_node_operand(a, i), hlo_node_operand(b, i), base);
  }
  if (same || !is_swappable(a)) return same;
  return same_value(cse, hlo_node_operand(a, 0), hlo_node_operand(b, 1), base) &&
         same_value(cse, hlo_node_operand(a, 1), hlo_node_operand(b, 0), base);
}

static bool same_nodes(cse_t* cse, const hlo_node_t* a, const hlo_node_t* b, uint32_t base) {
  if (a->op != b->op || a->operand_count != b->operand_count ||
      a->result_count != b->result_count || a->region_count != b->region_count ||
      a->extra != b->extra || !same_operands(cse, a, b, base)) {
    return false;
  }
  for (uint32_t i = 0; i < hlo_op_info(a->op)->attr_count; ++i) {
    if (a->attrs[i] != b->attrs[i]) return false;
  }
  for (uint32_t i = 0; i < a->result_count; ++i) {
    if (a->results[i].type != b->results[i].type) return false;
  }
  for (uint32_t i = 0; i < a->region_count; ++i) {
    if (!same_regions(cse, a->regions[i], b->regions[i], base)) return false;
  }
  return true;
}

static bool same_regions(cse_t* cse, const hlo_region_t* a, const hlo_region_t* b, uint32_t base) {
  if (a->arg_count != b->arg_count) return false;
  for (uint32_t i = 0; i < a->arg_count; ++i) {
    if (a->args[i]->type != b->args[i]->type) return false;
    define(cse, a->args[i], b->args[i]);
  }
  const hlo_node_t *x = a->first, *y = b->first;
  for (; x && y; x = x->next, y = y->next) {
    if (!same_nodes(cse, x, y, base)) return false;
    for (uint32_t i = 0; i < x->result_count; ++i) define(cse, &x->results[i], &y->results[i]);
  }
  return !x && !y;
}

static uint64_t hash_node(const hlo_node_t* node) {
  uint64_t h = hlo_hash_word(0, ((uint64_t)node->op << 32) | node->operand_count);
  for (uint32_t i = 0; i < hlo_op_info(node->op)->attr_count; ++i) {
    h = hlo_hash_word(h, node->attrs[i] ? node->attrs[i]->hash : 0);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    h = hlo_hash_word(h, node->results[i].type->hash);
  }
  if (is_swappable(node)) {
    uint32_t x = hlo_node_operand(node, 0)->index, y = hlo_node_operand(node, 1)->index;
    return hlo_hash_word(h, x < y ? ((uint64_t)x << 32) | y : ((uint64_t)y << 32) | x);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    h = hlo_hash_word(h, hlo_node_operand(node, i)->index);
  }
  return h;
}

// ---- hash table

static void leave_scope(cse_t* cse, entry_t* until) {
  while (cse->newest != until) {
    entry_t* entry = cse->newest;
    cse->newest = entry->previous;
    cse->buckets[entry->hash & cse->bucket_mask] = entry->next;
    entry->next = cse->unused;
    cse->unused = entry;
  }
}

static void enter(cse_t* cse, hlo_node_t* node, uint64_t hash) {
  entry_t* entry = cse->unused;
  if (entry)
    cse->unused = entry->next;
  else
    entry = hlo_arena_alloc(&cse->ctx->scratch, sizeof *entry);
  if (!entry) return;  // the runner detects the exhausted arena
  entry_t** bucket = &cse->buckets[hash & cse->bucket_mask];
  *entry = (entry_t){node, hash, cse->domain, *bucket, cse->newest};
  *bucket = cse->newest = entry;
}

static bool replace_duplicate(cse_t* cse, hlo_node_t* node, uint64_t hash) {
  for (entry_t* entry = cse->buckets[hash & cse->bucket_mask]; entry; entry = entry->next) {
    if (entry->hash != hash || entry->domain != cse->domain ||
        !same_nodes(cse, entry->node, node, cse->next_number)) {
      continue;
    }
    for (uint32_t i = 0; i < node->result_count; ++i) {
      hlo_value_replace_uses(&node->results[i], &entry->node->results[i]);
    }
    hlo_node_erase(node);
    ++cse->ctx->step_count;
    return true;
  }
  return false;
}

// ---- traversal

// Ops with tokens are excluded: tokens order side effects, so two of them are never equal.
static bool is_candidate(const hlo_node_t* node) {
  return node->result_count > 0 && node->results[0].type->kind != HLO_TYPE_TOKEN &&
         hlo_node_is_pure(node);
}

static void visit_region(cse_t* cse, hlo_region_t* region);

static void visit_nested(cse_t* cse, hlo_node_t* node) {
  uint32_t domain = cse->domain;
  for (uint32_t i = 0; i < node->region_count; ++i) {
    if (!(hlo_op_info(node->op)->traits & HLO_TRAIT_CONTROL)) cse->domain = ++cse->next_domain;
    visit_region(cse, node->regions[i]);
    cse->domain = domain;
  }
}

static void visit_region(cse_t* cse, hlo_region_t* region) {
  entry_t* scope = cse->newest;
  hlo_node_t* next;
  for (hlo_node_t* node = region->first; node; node = next) {
    next = node->next;
    visit_nested(cse, node);
    if (!is_candidate(node)) continue;
    uint64_t hash = hash_node(node);
    if (!replace_duplicate(cse, node, hash)) enter(cse, node, hash);
  }
  leave_scope(cse, scope);
}

hlo_status_t hlo_pass_cse(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  uint32_t bucket_count = 64;
  while (bucket_count < module->node_count && bucket_count < 1u << 20) bucket_count *= 2;
  cse_t cse = {.ctx = ctx, .bucket_mask = bucket_count - 1};
  cse.buckets = hlo_arena_array(&ctx->scratch, bucket_count, sizeof *cse.buckets);
  cse.numbers = hlo_arena_array(&ctx->scratch, module->value_count + 1, sizeof *cse.numbers);
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) visit_region(&cse, func->body);
  }
  return hlo_ok();
}
