// SPDX-License-Identifier: Apache-2.0
// Pass outline_attention: moves the ops of an attention (ir/attention.h) into the body of a fusion
// of kind "attention", which the library computes without the matrix of scores. The body remains
// the definition: where the library does not compute the fusion, its ops replace it.
#include "base/tuning.h"
#include "ir/attention.h"
#include "ir/clone.h"
#include "passes/build.h"
#include "passes/passes.h"

enum { MAX_OPERANDS = 3 + HLO_ATTENTION_MAX_ARRAYS };

typedef struct outline {
  hlo_attention_t attention;
  hlo_attention_nodes_t nodes;
  hlo_value_map_t map;
  hlo_region_t* body;
  uint32_t operand_count;
  hlo_value_t* operands[MAX_OPERANDS];
} outline_t;

static void add_operand(outline_t* o, const hlo_value_t* value) {
  for (uint32_t i = 0; i < o->operand_count; ++i) {
    if (o->operands[i] == value) return;
  }
  o->operands[o->operand_count++] = (hlo_value_t*)value;
}

static bool is_inside(const outline_t* o, const hlo_node_t* node) {
  for (uint32_t i = 0; i < o->nodes.count; ++i) {
    if (o->nodes.nodes[i] == node) return true;
  }
  return false;
}

// Copies what computes a value into the body. The depth is that of the match.
static bool copy_value(outline_t* o, const hlo_value_t* value) {
  if (o->map.values[value->index]) return true;
  if (!value->def || !is_inside(o, value->def)) return false;
  for (uint32_t i = 0; i < value->def->operand_count; ++i) {
    if (!copy_value(o, hlo_node_operand(value->def, i))) return false;
  }
  const hlo_node_t* copy = hlo_node_clone(o->body, value->def, &o->map);
  return !hlo_node_is_poison(copy);
}

// Fills in the body; false if the match misses a node, or memory is exhausted.
static bool fill_body(outline_t* o, const hlo_value_t* root) {
  hlo_module_t* module = o->body->module;
  for (uint32_t i = 0; i < o->operand_count; ++i) {
    hlo_value_t* arg = hlo_region_add_arg(o->body, o->operands[i]->type);
    if (!arg) return false;
    o->map.values[o->operands[i]->index] = arg;
  }
  if (!copy_value(o, root)) return false;
  hlo_value_t* result = o->map.values[root->index];
  const hlo_node_spec_t spec = {
      .op = HLO_OP_return, .loc = root->def->loc, .operand_count = 1, .operands = &result};
  hlo_node_t* end = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(end)) return false;
  hlo_region_append(o->body, end);
  return true;
}

static hlo_node_t* create_fusion(outline_t* o, const hlo_value_t* root) {
  static const char kKind[] = "attention";
  hlo_module_t* module = root->def->parent->module;
  const hlo_attention_t* a = &o->attention;
  add_operand(o, a->query.value);
  add_operand(o, a->key.value);
  add_operand(o, a->value.value);
  for (uint32_t i = 0; i < a->array_count; ++i) add_operand(o, a->arrays[i].value);
  const hlo_named_attr_t kind = {HLO_ATTR_kind, hlo_attr_string(module, kKind, sizeof kKind - 1)};
  hlo_node_t* node = hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_hlo_fusion,
                                                                .loc = root->def->loc,
                                                                .operand_count = o->operand_count,
                                                                .operands = o->operands,
                                                                .attr_count = 1,
                                                                .attrs = &kind,
                                                                .region_count = 1,
                                                                .result_count = 1,
                                                                .result_types = &root->type});
  return hlo_node_is_poison(node) ? NULL : node;
}

// Returns true if the matrix of scores is large enough for the kernel to be faster than products
// and a softmax by themselves.
static bool is_profitable(const hlo_attention_t* a) {
  return a->rows >= HLO_TUNING_ATTENTION_MIN_ROWS && a->keys >= HLO_TUNING_ATTENTION_MIN_KEYS &&
         a->depth <= HLO_TUNING_ATTENTION_MAX_DEPTH &&
         a->features <= HLO_TUNING_ATTENTION_MAX_DEPTH && a->depth >= 1;
}

// Returns the result after the transposes that alone use it.
static hlo_value_t* find_root(hlo_node_t* product) {
  hlo_value_t* root = &product->results[0];
  for (uint32_t i = 0; i < 4; ++i) {
    const hlo_use_t* use = root->uses;
    if (!use || use->next || use->user->op != HLO_OP_transpose || use->user->extra) break;
    root = &use->user->results[0];
  }
  return root;
}

static hlo_status_t outline(hlo_pass_ctx_t* ctx, hlo_node_t* product) {
  hlo_module_t* module = product->parent->module;
  hlo_value_t* root = find_root(product);
  outline_t o = {.operand_count = 0};
  if (!hlo_attention_match(root, &o.attention, &o.nodes) || !is_profitable(&o.attention)) {
    return hlo_ok();
  }
  o.map =
      (hlo_value_map_t){hlo_arena_array(&ctx->scratch, module->value_count, sizeof *o.map.values),
                        module->value_count};
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  hlo_node_t* node = create_fusion(&o, root);
  if (!node) return hlo_module_status(module);
  hlo_node_insert_before(root->def, node);
  o.body = node->regions[0];
  // The body is matched again when the program is loaded.
  hlo_attention_t again;
  if (!fill_body(&o, root) || !hlo_attention_match(o.map.values[root->index], &again, NULL)) {
    hlo_node_erase(node);
    return hlo_module_status(module);
  }
  hlo_value_replace_uses(root, &node->results[0]);
  ++ctx->step_count;
  return hlo_ok();
}

static hlo_status_t outline_region(hlo_pass_ctx_t* ctx, hlo_region_t* region) {
  for (hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; hlo_op_has(node->op, HLO_TRAIT_STRUCTURED) && i < node->region_count;
         ++i) {
      HLO_TRY(outline_region(ctx, node->regions[i]));
    }
    if (node->op == HLO_OP_dot_general && !hlo_value_is_unused(&node->results[0])) {
      HLO_TRY(outline(ctx, node));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_pass_outline_attention(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  if (ctx->options->keeps_attention) return hlo_ok();
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (func->body) HLO_TRY(outline_region(ctx, func->body));
  }
  return hlo_module_status(module);
}
