// SPDX-License-Identifier: Apache-2.0
// Pass outline_attention: moves the ops of an attention (ir/attention.h) into the body of a fusion
// of kind "attention", and those of its gradients into one of kind "attention_gradient", which the
// library computes without the matrix of scores. The body remains the definition: where the library
// does not compute the fusion, its ops replace it.
//
// With gradients, the attention's fusion has the maximum and the sum of each row as results, too.
// The gradients need the sum over keys of products of probabilities and their gradients: it becomes
// the sum over features of the result and its gradient, which is the same number.
#include <string.h>

#include "base/tuning.h"
#include "ir/attention.h"
#include "ir/clone.h"
#include "passes/build.h"
#include "passes/order.h"
#include "passes/passes.h"

enum { MAX_OPERANDS = 4 + HLO_ATTENTION_MAX_ARRAYS, MAX_RESULTS = 3 };

typedef struct outline {
  const char* kind;
  hlo_attention_nodes_t nodes;
  hlo_value_map_t map;
  hlo_region_t* body;
  uint32_t operand_count, result_count;
  hlo_value_t* operands[MAX_OPERANDS];
  hlo_value_t* results[MAX_RESULTS];
} outline_t;

static void add_operand(outline_t* o, const hlo_value_t* value) {
  for (uint32_t i = 0; i < o->operand_count; ++i) {
    if (o->operands[i] == value) return;
  }
  o->operands[o->operand_count++] = (hlo_value_t*)value;
}

static void add_operands(outline_t* o, const hlo_attention_t* a) {
  add_operand(o, a->query.value);
  add_operand(o, a->key.value);
  add_operand(o, a->value.value);
  for (uint32_t i = 0; i < a->array_count; ++i) add_operand(o, a->arrays[i].value);
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
static bool fill_body(outline_t* o, hlo_value_t** copies) {
  hlo_module_t* module = o->body->module;
  for (uint32_t i = 0; i < o->operand_count; ++i) {
    hlo_value_t* arg = hlo_region_add_arg(o->body, o->operands[i]->type);
    if (!arg) return false;
    o->map.values[o->operands[i]->index] = arg;
  }
  for (uint32_t i = 0; i < o->result_count; ++i) {
    if (!copy_value(o, o->results[i])) return false;
    copies[i] = o->map.values[o->results[i]->index];
  }
  const hlo_node_spec_t spec = {.op = HLO_OP_return,
                                .loc = o->results[0]->def->loc,
                                .operand_count = o->result_count,
                                .operands = copies};
  hlo_node_t* end = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(end)) return false;
  hlo_region_append(o->body, end);
  return true;
}

// Creates the fusion before the first result and fills in its body; copies: the results there. NULL
// if the match misses a node, or memory is exhausted.
static hlo_node_t* create_fusion(hlo_pass_ctx_t* ctx, outline_t* o, hlo_value_t** copies) {
  hlo_node_t* before = o->results[0]->def;
  hlo_module_t* module = before->parent->module;
  const hlo_type_t* types[MAX_RESULTS];
  for (uint32_t i = 0; i < o->result_count; ++i) types[i] = o->results[i]->type;
  const hlo_named_attr_t kind = {HLO_ATTR_kind,
                                 hlo_attr_string(module, o->kind, (uint32_t)strlen(o->kind))};
  o->map =
      (hlo_value_map_t){hlo_arena_array(&ctx->scratch, module->value_count, sizeof *o->map.values),
                        module->value_count};
  if (!o->map.values) return NULL;
  hlo_node_t* node = hlo_node_create(module, &(hlo_node_spec_t){.op = HLO_OP_hlo_fusion,
                                                                .loc = before->loc,
                                                                .operand_count = o->operand_count,
                                                                .operands = o->operands,
                                                                .attr_count = 1,
                                                                .attrs = &kind,
                                                                .region_count = 1,
                                                                .result_count = o->result_count,
                                                                .result_types = types});
  if (hlo_node_is_poison(node)) return NULL;
  hlo_node_insert_before(before, node);
  o->body = node->regions[0];
  if (fill_body(o, copies)) return node;
  hlo_node_erase(node);
  return NULL;
}

static void replace_results(hlo_pass_ctx_t* ctx, const outline_t* o, hlo_node_t* node) {
  for (uint32_t i = 0; i < o->result_count; ++i) {
    hlo_value_replace_uses(o->results[i], &node->results[i]);
  }
  ++ctx->step_count;
}

static int64_t score_count(const hlo_attention_t* a) {
  int64_t scores = a->rows * a->keys;
  for (uint32_t i = 0; i < a->batch_count; ++i) scores *= a->batch[i];
  return scores;
}

// Returns true if the factors of the weights are computed for each score: random bits, which
// separate ops compute while they wait for the matrix of scores.
static bool has_large_factor(const hlo_attention_t* a) {
  for (uint32_t i = 0; a->has_factor && i < a->array_count; ++i) {
    const hlo_value_t* value = a->arrays[i].value;
    if (value->def && hlo_type_element_count(value->type) == score_count(a)) return true;
  }
  return false;
}

// Returns true if the matrix of scores is large enough for the kernel to be faster than products
// and a softmax by themselves.
static bool is_profitable(const hlo_attention_t* a) {
  if (has_large_factor(a) && score_count(a) < HLO_TUNING_ATTENTION_DROPOUT_MIN_SCORES) return false;
  return a->rows >= HLO_TUNING_ATTENTION_MIN_ROWS && a->keys >= HLO_TUNING_ATTENTION_MIN_KEYS &&
         a->depth <= HLO_TUNING_ATTENTION_MAX_DEPTH &&
         a->features <= HLO_TUNING_ATTENTION_MAX_DEPTH && a->depth >= 1;
}

// Outlines an attention; statistics: with the maximum and the sum of each row. *out_node is NULL if
// nothing matches.
static hlo_status_t outline(hlo_pass_ctx_t* ctx, hlo_value_t* root,
                            const hlo_attention_training_t* training, hlo_node_t** out_node) {
  outline_t o = {.kind = "attention", .result_count = 1, .results = {root}};
  hlo_attention_t attention, again;
  hlo_value_t* copies[MAX_RESULTS];
  *out_node = NULL;
  if (!hlo_attention_match(root, training != NULL, &attention, &o.nodes) ||
      !is_profitable(&attention)) {
    return hlo_ok();
  }
  if (training) {
    if (attention.most.value != training->most.value || attention.sum.value != training->sum.value)
      return hlo_ok();
    o.results[o.result_count++] = (hlo_value_t*)training->most.value;
    o.results[o.result_count++] = (hlo_value_t*)training->sum.value;
  }
  add_operands(&o, &attention);
  hlo_node_t* node = create_fusion(ctx, &o, copies);
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  if (!node) return hlo_module_status(root->def->parent->module);
  // The body is matched again when the program is loaded.
  if (!hlo_attention_match(copies[0], false, &again, NULL)) {
    hlo_node_erase(node);
    return hlo_ok();
  }
  replace_results(ctx, &o, node);
  *out_node = node;
  return hlo_ok();
}

// ---- gradients

/// Values along the axes of the scores besides the keys, and along features last.
typedef struct axes {
  uint32_t count;
  int64_t dims[HLO_ATTENTION_MAX_RANK + 1];
  int8_t labels[HLO_ATTENTION_MAX_RANK + 1];
} axes_t;

// Broadcasts a value along axes, in f32.
static hlo_value_t* spread(hlo_node_t* at, const hlo_attention_view_t* view, const axes_t* axes) {
  hlo_module_t* module = at->parent->module;
  hlo_value_t* value = (hlo_value_t*)view->value;
  int64_t dims[HLO_ATTENTION_MAX_RANK], along[HLO_ATTENTION_MAX_RANK];
  uint32_t rank = 0;
  for (uint32_t i = 0; i < value->type->rank; ++i) {
    for (uint32_t k = 0; view->labels[i] >= 0 && k < axes->count; ++k) {
      if (axes->labels[k] != view->labels[i]) continue;
      along[rank] = k;
      dims[rank++] = value->type->dims[i];
    }
  }
  const bool is_reshaped = rank != value->type->rank;
  if (value->type->dtype != HLO_DTYPE_F32) value = hlo_build_convert(at, HLO_DTYPE_F32, value);
  if (is_reshaped) {
    value = hlo_build_reshape(at, hlo_type_tensor(module, HLO_DTYPE_F32, rank, dims), value);
  }
  const hlo_type_t* type = hlo_type_tensor(module, HLO_DTYPE_F32, axes->count, axes->dims);
  bool is_same = value && value->type == type;
  for (uint32_t i = 0; i < rank; ++i) is_same &= along[i] == i;
  return is_same ? value : hlo_build_broadcast(at, type, value, along);
}

// Computes the sum along keys from the attention's result.
static void replace_total(const hlo_attention_training_t* t, const hlo_attention_view_t* result) {
  hlo_value_t* total = (hlo_value_t*)t->total.value;
  hlo_node_t* at = total->def;
  axes_t axes = {.count = 0};
  for (uint32_t i = 0; i < total->type->rank; ++i) {
    if (t->total.labels[i] < 0) continue;
    axes.labels[axes.count] = t->total.labels[i];
    axes.dims[axes.count++] = total->type->dims[i];
  }
  const uint32_t rank = axes.count;
  if (t->gradient.scores.features > 1) {
    axes.labels[axes.count] = HLO_ATTENTION_MAX_RANK;
    axes.dims[axes.count++] = t->gradient.scores.features;
  }
  hlo_value_t* sum =
      hlo_build_multiply(at, spread(at, result, &axes), spread(at, &t->cotangent, &axes));
  const int64_t last = rank;
  if (axes.count > rank) sum = hlo_build_reduce(at, HLO_OP_add, sum, 0, 1, &last);
  axes.count = rank;
  for (uint32_t side = 0; side < 2; ++side) {
    for (uint32_t i = 0; i < t->factors.counts[side]; ++i) {
      hlo_value_t* factor = spread(at, &t->factors.views[side][i], &axes);
      sum = hlo_build_binary(at, side ? HLO_OP_divide : HLO_OP_multiply, sum, factor);
    }
  }
  if (t->factors.is_negative) sum = hlo_build_unary(at, HLO_OP_negate, sum);
  if (total->type->dtype != HLO_DTYPE_F32) sum = hlo_build_convert(at, total->type->dtype, sum);
  if (sum && sum->type != total->type) sum = hlo_build_reshape(at, total->type, sum);
  if (sum) hlo_value_replace_uses(total, sum);
}

// Appends the free dimensions of an operand to those of a product's result.
static void add_free(const hlo_attention_view_t* view, const hlo_attention_view_t* other,
                     int8_t key_label, uint32_t* rank, int64_t* dims, int8_t* labels) {
  for (uint32_t i = 0; i < view->value->type->rank; ++i) {
    bool is_free = view->labels[i] != key_label;
    for (uint32_t k = 0; k < other->value->type->rank; ++k) {
      is_free &= view->labels[i] < 0 || view->labels[i] != other->labels[k];
    }
    if (!is_free) continue;
    dims[*rank] = view->value->type->dims[i];
    labels[(*rank)++] = view->labels[i];
  }
}

// Builds the product of weights and values, which a program that recomputes them does not need.
static bool build_forward(hlo_attention_training_t* t) {
  const hlo_attention_view_t *w = &t->weights, *v = &t->value;
  const uint32_t w_rank = w->value->type->rank, v_rank = v->value->type->rank;
  hlo_node_t* at = t->total.value->def;
  hlo_module_t* module = at->parent->module;
  int64_t batch[2][HLO_ATTENTION_MAX_RANK], key[2] = {-1, -1}, dims[2 * HLO_ATTENTION_MAX_RANK];
  int8_t labels[2 * HLO_ATTENTION_MAX_RANK];
  uint32_t count = 0;
  for (uint32_t i = 0; i < w_rank; ++i) {
    for (uint32_t k = 0; w->labels[i] >= 0 && k < v_rank; ++k) {
      if (w->labels[i] != v->labels[k]) continue;
      if (w->labels[i] == t->key_label) {
        key[0] = i;
        key[1] = k;
      } else {
        batch[0][count] = i;
        batch[1][count] = k;
        labels[count] = w->labels[i];
        dims[count++] = w->value->type->dims[i];
      }
    }
  }
  uint32_t rank = count;
  add_free(w, v, t->key_label, &rank, dims, labels);
  add_free(v, w, t->key_label, &rank, dims, labels);
  if (rank > HLO_ATTENTION_MAX_RANK || key[0] < 0) return false;
  const hlo_named_attr_t attrs[] = {
      {HLO_ATTR_lhs_batching_dimensions, hlo_attr_ints(module, count, batch[0])},
      {HLO_ATTR_rhs_batching_dimensions, hlo_attr_ints(module, count, batch[1])},
      {HLO_ATTR_lhs_contracting_dimensions, hlo_attr_ints(module, 1, &key[0])},
      {HLO_ATTR_rhs_contracting_dimensions, hlo_attr_ints(module, 1, &key[1])}};
  hlo_value_t* operands[] = {(hlo_value_t*)w->value, (hlo_value_t*)v->value};
  t->result.value =
      hlo_build_node(at, HLO_OP_dot_general, hlo_type_tensor(module, HLO_DTYPE_F32, rank, dims), 2,
                     operands, sizeof attrs / sizeof *attrs, attrs);
  memcpy(t->result.labels, labels, rank);
  return true;
}

static hlo_status_t outline_gradient(hlo_pass_ctx_t* ctx, const hlo_attention_training_t* t) {
  outline_t o = {.kind = "attention_gradient", .result_count = HLO_ATTENTION_GRADIENTS};
  hlo_attention_gradient_t gradient, again;
  hlo_value_t* copies[MAX_RESULTS];
  if (!hlo_attention_match_gradient((const hlo_value_t* const*)t->roots, &gradient, &o.nodes)) {
    return hlo_ok();
  }
  memcpy(o.results, t->roots, sizeof t->roots);
  add_operands(&o, &gradient.scores);
  add_operand(&o, gradient.cotangent.value);
  hlo_node_t* node = create_fusion(ctx, &o, copies);
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  if (!node) return hlo_module_status(t->roots[0]->def->parent->module);
  if (!hlo_attention_match_gradient((const hlo_value_t* const*)copies, &again, NULL)) {
    hlo_node_erase(node);
    return hlo_ok();
  }
  replace_results(ctx, &o, node);
  return hlo_ok();
}

// Blocks that masks exclude pay for computing scores again; without masks, memory does.
static bool is_training_profitable(const hlo_attention_training_t* t) {
  const hlo_attention_t* a = &t->gradient.scores;
  for (uint32_t i = 0; i < HLO_ATTENTION_GRADIENTS; ++i) {
    if (hlo_value_is_unused(t->roots[i])) return false;
  }
  return is_profitable(a) &&
         (a->has_masks || score_count(a) >= HLO_TUNING_ATTENTION_GRADIENT_MIN_SCORES);
}

// Outlines an attention with its gradients whose scores a product computes.
static hlo_status_t outline_training(hlo_pass_ctx_t* ctx, hlo_node_t* product) {
  hlo_region_t* region = product->parent;
  hlo_attention_training_t* t = hlo_arena_alloc(&ctx->scratch, sizeof *t);
  HLO_TRY(hlo_arena_status(&ctx->scratch));
  if (!hlo_attention_match_training(product, t) || !is_training_profitable(t)) return hlo_ok();
  if (!t->forward && !build_forward(t)) return hlo_ok();
  HLO_TRY(hlo_module_status(region->module));
  hlo_node_t* node;
  HLO_TRY(outline(ctx, (hlo_value_t*)t->result.value, t, &node));
  if (!node) return hlo_ok();
  // The statistics are factors of the sum.
  t->result.value = &node->results[0];
  for (uint32_t side = 0; side < 2; ++side) {
    for (uint32_t i = 0; i < t->factors.counts[side]; ++i) {
      hlo_attention_view_t* view = &t->factors.views[side][i];
      if (view->value == t->most.value) view->value = &node->results[1];
      if (view->value == t->sum.value) view->value = &node->results[2];
    }
  }
  replace_total(t, &t->result);
  HLO_TRY(hlo_module_status(region->module));
  HLO_TRY(outline_gradient(ctx, t));
  return hlo_region_order(region, &ctx->scratch);
}

// Calls `visit` with the products that something uses.
static hlo_status_t visit_products(hlo_pass_ctx_t* ctx, hlo_region_t* region,
                                   hlo_status_t (*visit)(hlo_pass_ctx_t*, hlo_node_t*)) {
  for (hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; hlo_op_has(node->op, HLO_TRAIT_STRUCTURED) && i < node->region_count;
         ++i) {
      HLO_TRY(visit_products(ctx, node->regions[i], visit));
    }
    if (node->op == HLO_OP_dot_general && !hlo_value_is_unused(&node->results[0])) {
      HLO_TRY(visit(ctx, node));
    }
  }
  return hlo_ok();
}

static hlo_status_t outline_forward(hlo_pass_ctx_t* ctx, hlo_node_t* product) {
  hlo_node_t* node;
  return outline(ctx, hlo_attention_root(product), NULL, &node);
}

// Returns whether a region may have a softmax, without which no product needs to be matched.
static bool has_exponential(const hlo_region_t* region) {
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    if (node->op == HLO_OP_exponential) return true;
    for (uint32_t i = 0; i < node->region_count; ++i) {
      if (has_exponential(node->regions[i])) return true;
    }
  }
  return false;
}

hlo_status_t hlo_pass_outline_attention(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  if (ctx->options->keeps_attention) return hlo_ok();
  for (hlo_func_t* func = module->first_func; func; func = func->next) {
    if (!func->body || !has_exponential(func->body)) continue;
    HLO_TRY(visit_products(ctx, func->body, outline_training));
    HLO_TRY(visit_products(ctx, func->body, outline_forward));
  }
  return hlo_module_status(module);
}
