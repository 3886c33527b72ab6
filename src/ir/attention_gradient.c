// SPDX-License-Identifier: Apache-2.0
// Recognition of the gradients of an attention (see attention.h). Labels are the dimensions of the
// scores' gradient in the product that gives the query's; what the other products read is labelled
// by values that both have in common.
#include <string.h>

#include "ir/attention_impl.h"
#include "ir/reducer.h"

enum {
  QUERY = HLO_ATTENTION_QUERY_GRADIENT,
  KEY = HLO_ATTENTION_KEY_GRADIENT,
  VALUE = HLO_ATTENTION_VALUE_GRADIENT,
  GRADIENTS = HLO_ATTENTION_GRADIENTS,
  MAX_SEARCH = 8,    // ops between a value and one that has labels
  MAX_CLOSURE = 96,  // values that depend on the scores
  NO_LABEL = HLO_ATTENTION_NO_LABEL,
};

typedef struct gradient_match {
  hlo_attention_match_t m;
  hlo_attention_gradient_t* out;
  int64_t extents[GRADIENTS];  // of the free dimensions of `others`
  uint32_t summed[GRADIENTS];  // labels that a product contracts, as bits
  hlo_attention_view_t weights[GRADIENTS], others[GRADIENTS], results[GRADIENTS];
  uint32_t second;                        // the product of cotangent and value
  hlo_attention_view_t value, cotangent;  // its operands
} gradient_match_t;

static hlo_attention_view_t view_as_is(const hlo_value_t* value) {
  hlo_attention_view_t view = {.value = value};
  for (uint32_t i = 0; i < value->type->rank && i < HLO_ATTENTION_MAX_RANK; ++i) {
    view.labels[i] = (int8_t)(value->type->dims[i] == 1 ? NO_LABEL : (int)i);
  }
  return view;
}

static bool is_elementwise(const hlo_node_t* node) {
  if (node->extra || node->result_count != 1 || !node->operand_count) return false;
  const hlo_type_t* type = node->results[0].type;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* from = hlo_node_operand_type(node, i);
    const bool is_alike = hlo_type_is_tensor(from) && from->rank == type->rank &&
                          memcmp(from->dims, type->dims, type->rank * sizeof *type->dims) == 0;
    if (!is_alike && from->rank) return false;
  }
  return hlo_op_has(node->op, HLO_TRAIT_ELEMENTWISE);
}

// Labels a value, whose dimensions `own` follows back, by one that computes it and has labels.
static bool find_labels(const hlo_attention_match_t* m, const hlo_attention_view_t* own,
                        uint32_t depth, int8_t* map) {
  const hlo_node_t* node = own->value->def;
  for (uint32_t i = 0; i < m->memo_count; ++i) {
    if (m->memo[i].value != own->value) continue;
    for (uint32_t d = 0; d < own->value->type->rank; ++d) {
      if (own->labels[d] != NO_LABEL) map[own->labels[d]] = m->memo[i].labels[d];
    }
    return true;
  }
  if (!node || depth == MAX_SEARCH) return false;
  hlo_attention_view_t from;
  if (hlo_attention_move(own, false, &from)) return find_labels(m, &from, depth + 1, map);
  if (!is_elementwise(node)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    from = *own;
    from.value = hlo_node_operand(node, i);
    if (from.value->type->rank == own->value->type->rank && find_labels(m, &from, depth + 1, map)) {
      return true;
    }
  }
  return false;
}

static bool label_value(const hlo_attention_match_t* m, const hlo_value_t* value,
                        hlo_attention_view_t* out) {
  int8_t map[HLO_ATTENTION_MAX_RANK];
  memset(map, NO_LABEL, sizeof map);
  if (!hlo_attention_is_plain(value->type)) return false;
  *out = view_as_is(value);
  const hlo_attention_view_t own = *out;
  if (!find_labels(m, &own, 0, map)) return false;
  for (uint32_t i = 0; i < value->type->rank; ++i) {
    if (out->labels[i] == NO_LABEL) continue;
    out->labels[i] = map[i];
    if (map[i] == NO_LABEL) return false;
  }
  return true;
}

static uint32_t contracted_labels(const hlo_attention_product_t* p, uint32_t side,
                                  const hlo_attention_view_t* weights) {
  uint32_t labels = 0;
  for (uint32_t i = 0; i < p->depth[side].count; ++i) {
    const int8_t label = weights->labels[p->depth[side].values[i]];
    if (label != NO_LABEL) labels |= 1u << label;
  }
  return labels;
}

// Matches one of the three products; returns its step, -1 if it does not match.
static int match_product(gradient_match_t* g, uint32_t which, const hlo_value_t* root,
                         uint32_t side) {
  hlo_attention_match_t* m = &g->m;
  hlo_attention_product_t p;
  if (!hlo_attention_is_plain(root->type) ||
      !hlo_attention_read_product(hlo_attention_product_of(root), &p)) {
    return -1;
  }
  hlo_attention_view_t* weights = &g->weights[which];
  const hlo_value_t* operand = hlo_node_operand(p.node, side);
  if (which == QUERY) {
    *weights = view_as_is(operand);
    const int32_t key = hlo_attention_contracted_dim(&p, side);
    if (key < 0) return -1;
    m->key_label = (int8_t)key;
    for (uint32_t i = 0; i < operand->type->rank; ++i) m->extents[i] = operand->type->dims[i];
  } else if (!label_value(m, operand, weights)) {
    return -1;
  }
  int8_t labels[HLO_ATTENTION_MAX_RANK];
  g->summed[which] = contracted_labels(&p, side, weights);
  g->results[which].value = root;
  if (!hlo_attention_label_product(&p, side, weights, &g->others[which], labels,
                                   &g->extents[which]) ||
      !hlo_attention_label_root(m, &p, labels, &g->results[which]) ||
      !hlo_attention_visit(m, p.node)) {
    return -1;
  }
  return hlo_attention_build(m, *weights, 0);
}

// Gives the operands of a product of the scores: that of the rows, and that of the keys.
static bool view_sides(const gradient_match_t* g, const hlo_attention_view_t* scores,
                       hlo_attention_view_t* row, hlo_attention_view_t* key) {
  hlo_attention_product_t p;
  hlo_attention_view_t sides[2];
  if (!hlo_attention_read_product(scores->value, &p)) return false;
  for (uint32_t i = 0; i < 2; ++i) {
    if (!hlo_attention_view_operand(&p, i, scores->labels, &sides[i])) return false;
  }
  const uint32_t key_side = hlo_attention_view_has_label(&sides[1], g->m.key_label) ? 1 : 0;
  *row = sides[1 - key_side];
  *key = sides[key_side];
  return hlo_attention_view_has_label(key, g->m.key_label) &&
         !hlo_attention_view_has_label(row, g->m.key_label);
}

static bool is_same_array(gradient_match_t* g, const hlo_attention_view_t* a,
                          const hlo_attention_view_t* b) {
  hlo_attention_view_t x = *a, y = *b;
  return hlo_attention_peel_operand(&g->m, &x) && hlo_attention_peel_operand(&g->m, &y) &&
         hlo_attention_view_is_equal(&x, &y);
}

// Matches product `first` as the scores, and the other one as that of cotangent and value.
static bool match_scores(gradient_match_t* g, uint32_t first) {
  hlo_attention_view_t query, key;
  g->second = 1 - first;
  return view_sides(g, &g->m.products[first], &query, &key) &&
         view_sides(g, &g->m.products[1 - first], &g->cotangent, &g->value) &&
         is_same_array(g, &query, &g->others[KEY]) && is_same_array(g, &key, &g->others[QUERY]) &&
         is_same_array(g, &g->cotangent, &g->others[VALUE]);
}

// Returns true if a step selects by what may be the same for a whole block: not by an array of rows
// and keys.
static bool is_mask(const hlo_attention_t* out, uint32_t step) {
  if (out->steps[step].op != HLO_ATTENTION_SELECT) return false;
  const hlo_attention_step_t* by = &out->steps[out->steps[step].operands[0]];
  const hlo_attention_array_t* array = &out->arrays[by->array];
  return by->op != HLO_ATTENTION_ARRAY || !array->row || !array->key;
}

static bool store(gradient_match_t* g) {
  hlo_attention_match_t* m = &g->m;
  hlo_attention_gradient_t* out = g->out;
  hlo_attention_view_t arrays[4] = {g->others[KEY], g->others[QUERY], g->value, g->others[VALUE]};
  for (uint32_t i = 0; i < 4; ++i) {
    if (!hlo_attention_peel_operand(m, &arrays[i]) ||
        !hlo_attention_is_float(arrays[i].value->type->dtype)) {
      return false;
    }
  }
  const int row = hlo_attention_choose_rows(m, &arrays[0], &arrays[1], &arrays[2]);
  if (row < 0 || !(g->summed[KEY] >> row & 1) || !hlo_attention_resolve_rows(m->out, row)) {
    return false;
  }
  hlo_attention_array_t* const to[4 + GRADIENTS] = {&m->out->query,  &m->out->key, &m->out->value,
                                                    &out->cotangent, &out->query,  &out->key,
                                                    &out->value};
  for (uint32_t i = 0; i < 4 + GRADIENTS; ++i) {
    const hlo_attention_view_t* view = i < 4 ? &arrays[i] : &g->results[i - 4];
    const hlo_attention_strides_t strides = hlo_attention_strides_of(view);
    hlo_attention_store_array(m, row, &strides, view->value, to[i]);
    if (!hlo_attention_is_float(view->value->type->dtype)) return false;
  }
  hlo_attention_store_arrays(m, row);
  for (uint32_t i = 0; i < m->out->step_count; ++i) m->out->has_masks |= is_mask(m->out, i);
  m->out->is_narrow = true;
  for (uint32_t i = 0; i < 4; ++i) {
    m->out->is_narrow &= arrays[i].value->type->dtype == HLO_DTYPE_BF16;
  }
  for (uint32_t i = 0; i < GRADIENTS; ++i) {
    m->out->is_narrow &= g->weights[i].value->type->dtype == HLO_DTYPE_BF16;
  }
  m->out->rows = m->extents[row];
  m->out->keys = m->extents[m->key_label];
  m->out->depth = g->extents[QUERY];
  m->out->features = g->extents[VALUE];
  for (int i = 0; i < HLO_ATTENTION_MAX_RANK; ++i) {
    if (m->extents[i] <= 1 || i == row || i == m->key_label) continue;
    out->is_summed[m->out->batch_count] = g->summed[KEY] >> i & 1;
    m->out->batch[m->out->batch_count++] = m->extents[i];
  }
  return true;
}

// `sides` has a bit for each product: the operand that is g or w.
static bool match_sides(gradient_match_t* g, const hlo_value_t* const* roots, uint32_t sides) {
  hlo_attention_match_t* m = &g->m;
  const int gradient = match_product(g, QUERY, roots[QUERY], sides & 1);
  if (gradient < 0 || m->product_count != 2) return false;
  if (match_product(g, KEY, roots[KEY], sides >> 1 & 1) != gradient) return false;
  const int weights = match_product(g, VALUE, roots[VALUE], sides >> 2 & 1);
  if (weights < 0 || g->extents[QUERY] != g->extents[KEY]) return false;
  if (g->summed[KEY] != g->summed[VALUE] || g->summed[QUERY] != 1u << m->key_label ||
      g->summed[KEY] >> m->key_label & 1) {
    return false;
  }
  g->out->gradient = (uint8_t)gradient;
  g->out->weights = (uint8_t)weights;
  if (match_scores(g, 0)) return store(g);
  for (uint32_t i = 0; i < m->out->step_count; ++i) {
    hlo_attention_op_t* op = &m->out->steps[i].op;
    if (*op == HLO_ATTENTION_SCORE || *op == HLO_ATTENTION_SECOND) {
      *op = *op == HLO_ATTENTION_SCORE ? HLO_ATTENTION_SECOND : HLO_ATTENTION_SCORE;
    }
  }
  return match_scores(g, 1) && store(g);
}

static bool match_roots(gradient_match_t* g, const hlo_value_t* const* roots,
                        hlo_attention_gradient_t* out) {
  for (uint32_t sides = 0; sides < 1u << GRADIENTS; ++sides) {
    *out = (hlo_attention_gradient_t){.gradient = 0};
    *g = (gradient_match_t){.m = {.out = &out->scores, .is_shared = true, .product_limit = 2},
                            .out = out};
    if (match_sides(g, roots, sides)) return true;
  }
  return false;
}

bool hlo_attention_match_gradient(const hlo_value_t* const* roots, hlo_attention_gradient_t* out,
                                  hlo_attention_nodes_t* out_nodes) {
  gradient_match_t g;
  if (!match_roots(&g, roots, out)) return false;
  if (out_nodes) *out_nodes = g.m.visited;
  return true;
}

// ---- factors

// Adds the factors of a view to those above (side 0) or below the line.
static bool add_factors(hlo_attention_view_t view, uint32_t side, uint32_t depth,
                        hlo_attention_factors_t* f) {
  const hlo_node_t* node;
  for (;;) {
    node = view.value->def;
    if (node && node->op == HLO_OP_convert && !node->extra &&
        hlo_attention_is_float(view.value->type->dtype) &&
        hlo_attention_is_float(hlo_node_operand_type(node, 0)->dtype)) {
      view.value = hlo_node_operand(node, 0);
    } else if (!hlo_attention_move(&view, true, &view)) {
      break;
    }
  }
  if (depth > MAX_SEARCH) return false;
  hlo_attention_view_t x = view, y = view;
  const hlo_op_t op = node && !node->extra ? node->op : HLO_OP_COUNT;
  if (op == HLO_OP_multiply || op == HLO_OP_divide) {
    x.value = hlo_node_operand(node, 0);
    y.value = hlo_node_operand(node, 1);
    return add_factors(x, side, depth + 1, f) &&
           add_factors(y, op == HLO_OP_multiply ? side : 1 - side, depth + 1, f);
  }
  if (op == HLO_OP_negate) {
    f->is_negative = !f->is_negative;
    x.value = hlo_node_operand(node, 0);
    return add_factors(x, side, depth + 1, f);
  }
  if (op == HLO_OP_constant) {
    double number;
    if (hlo_attention_read_number(view.value, &number) && number == 1) return true;
  }
  if (op == HLO_OP_select && side == 0) {
    double number;
    hlo_attention_view_t zero = view;
    x.value = hlo_node_operand(node, 0);
    y.value = hlo_node_operand(node, 1);
    zero.value = hlo_node_operand(node, 2);
    if (x.value->type->rank && hlo_attention_read_number(zero.value, &number) && number == 0) {
      view = x;
      if (!add_factors(y, side, depth + 1, f)) return false;
    }
  }
  if (f->counts[side] == HLO_ATTENTION_MAX_FACTORS) return false;
  f->views[side][f->counts[side]++] = view;
  return true;
}

// Removes one factor; false if it is missing.
static bool remove_factor(hlo_attention_factors_t* f, uint32_t side,
                          const hlo_attention_view_t* view) {
  for (uint32_t i = 0; i < f->counts[side]; ++i) {
    if (!hlo_attention_view_is_equal(&f->views[side][i], view)) continue;
    f->views[side][i] = f->views[side][--f->counts[side]];
    return true;
  }
  return false;
}

// ---- the program

/// All that depends on the scores.
typedef struct closure {
  uint32_t count, product_count, reduction_count;
  const hlo_value_t* values[MAX_CLOSURE];
  hlo_node_t* products[GRADIENTS + 1];
  hlo_node_t* reductions[3];
} closure_t;

static bool add_node(hlo_node_t** list, uint32_t limit, uint32_t* count, hlo_node_t* node) {
  for (uint32_t i = 0; i < *count; ++i) {
    if (list[i] == node) return true;
  }
  if (*count == limit) return false;
  list[(*count)++] = node;
  return true;
}

static bool add_user(closure_t* c, hlo_node_t* user, int64_t elements) {
  if (user->op == HLO_OP_dot_general) {
    return add_node(c->products, GRADIENTS + 1, &c->product_count, user);
  }
  if (user->op == HLO_OP_reduce) return add_node(c->reductions, 3, &c->reduction_count, user);
  if (user->result_count != 1 || user->region_count || c->count == MAX_CLOSURE) return false;
  const hlo_value_t* value = &user->results[0];
  if (!hlo_type_is_tensor(value->type) || !hlo_type_is_static(value->type) ||
      hlo_type_element_count(value->type) != elements) {
    return false;
  }
  for (uint32_t i = 0; i < c->count; ++i) {
    if (c->values[i] == value) return true;
  }
  c->values[c->count++] = value;
  return true;
}

static bool find_closure(const hlo_value_t* scores, closure_t* c) {
  const int64_t elements = hlo_type_element_count(scores->type);
  c->values[c->count++] = scores;
  bool has_exponential = false;
  for (uint32_t i = 0; i < c->count; ++i) {
    const hlo_node_t* node = c->values[i]->def;
    has_exponential |= node->op == HLO_OP_exponential;
    for (const hlo_use_t* use = c->values[i]->uses; use; use = use->next) {
      if (!add_user(c, use->user, elements)) return false;
    }
  }
  return has_exponential && c->product_count >= GRADIENTS && c->reduction_count == 3;
}

// Labels the result of a reduction along the keys, and what it reduces.
static bool label_reduction(const gradient_match_t* g, const hlo_node_t* node,
                            hlo_attention_view_t* from, hlo_attention_view_t* out) {
  const hlo_ints_t dims = hlo_node_ints(node, HLO_ATTR_dimensions);
  if (node->extra || node->operand_count != 2 ||
      !label_value(&g->m, hlo_node_operand(node, 0), from)) {
    return false;
  }
  bool has_key = false;
  *out = (hlo_attention_view_t){.value = &node->results[0]};
  for (uint32_t i = 0, at = 0; i < from->value->type->rank; ++i) {
    if (!hlo_ints_has(dims, i)) {
      out->labels[at++] = from->labels[i];
    } else if (from->labels[i] == g->m.key_label) {
      has_key = true;
    } else if (from->labels[i] != NO_LABEL) {
      return false;
    }
  }
  return has_key;
}

// Finds which reduction is which, and the exponentials.
static bool match_reductions(const gradient_match_t* g, const closure_t* c,
                             hlo_attention_training_t* out, hlo_attention_view_t* exponentials,
                             hlo_attention_view_t* summed) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < c->reduction_count; ++i) {
    hlo_attention_view_t from, result;
    const hlo_op_t op = hlo_reduce_op(c->reductions[i], 0);
    if (!label_reduction(g, c->reductions[i], &from, &result)) return false;
    hlo_attention_factors_t f = {.is_negative = false};
    if (op == HLO_OP_maximum) {
      out->most = result;
      found |= 1;
      continue;
    }
    if (op != HLO_OP_add || !add_factors(from, 0, 0, &f)) return false;
    const hlo_node_t* node = f.counts[0] == 1 ? f.views[0][0].value->def : NULL;
    if (!f.counts[1] && !f.is_negative && node && node->op == HLO_OP_exponential) {
      *exponentials = f.views[0][0];
      out->sum = result;
      found |= 2;
    } else {
      *summed = from;
      out->total = result;
      found |= 4;
    }
  }
  return found == 7;
}

// Divides what is summed to `total` by the weights, which are exponentials / sum * others, and the
// second product: what remains is the same for all keys.
static bool match_total(const gradient_match_t* g, const hlo_attention_view_t* exponentials,
                        const hlo_attention_view_t* summed, hlo_attention_training_t* out) {
  hlo_attention_factors_t weights = {.is_negative = false}, *total = &out->factors;
  *total = (hlo_attention_factors_t){.is_negative = false};
  if (!add_factors(g->weights[VALUE], 0, 0, &weights) || weights.is_negative ||
      !add_factors(*summed, 0, 0, total) || !remove_factor(&weights, 0, exponentials) ||
      !remove_factor(&weights, 1, &out->sum) || !remove_factor(total, 0, exponentials)) {
    return false;
  }
  if (!remove_factor(total, 0, &g->m.products[g->second])) return false;
  for (uint32_t side = 0; side < 2; ++side) {
    for (uint32_t i = 0; i < weights.counts[side]; ++i) {
      if (!remove_factor(total, side, &weights.views[side][i])) return false;
    }
  }
  if (!remove_factor(total, 1, &out->sum)) {
    if (total->counts[0] == HLO_ATTENTION_MAX_FACTORS) return false;
    total->views[0][total->counts[0]++] = out->sum;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    for (uint32_t i = 0; i < total->counts[side]; ++i) {
      if (hlo_attention_view_has_label(&total->views[side][i], g->m.key_label) ||
          !hlo_attention_is_float(total->views[side][i].value->type->dtype)) {
        return false;
      }
    }
  }
  return true;
}

// Matches the product besides the gradients as that of the attention itself.
static bool match_forward(gradient_match_t* g, hlo_node_t* node, hlo_attention_training_t* out) {
  hlo_attention_product_t p;
  if (!hlo_attention_read_product(&node->results[0], &p)) return false;
  for (uint32_t side = 0; side < 2; ++side) {
    hlo_attention_view_t weights, value, known = g->weights[VALUE];
    int8_t labels[HLO_ATTENTION_MAX_RANK];
    int64_t extent;
    out->result.value = hlo_attention_root(node);
    if (!label_value(&g->m, hlo_node_operand(node, side), &weights)) continue;
    hlo_attention_view_t found = weights;
    if (!hlo_attention_peel(&g->m, false, &found) || !hlo_attention_peel(&g->m, false, &known) ||
        !hlo_attention_view_is_equal(&found, &known) ||
        contracted_labels(&p, side, &weights) != 1u << g->m.key_label ||
        !hlo_attention_label_product(&p, side, &weights, &value, labels, &extent) ||
        !hlo_attention_label_root(&g->m, &p, labels, &out->result) ||
        !is_same_array(g, &value, &g->value)) {
      continue;
    }
    out->forward = node;
    return true;
  }
  return false;
}

static bool match_products(const closure_t* c, const uint32_t* order,
                           hlo_attention_training_t* out) {
  gradient_match_t g;
  hlo_attention_view_t exponentials, summed;
  for (uint32_t i = 0; i < GRADIENTS; ++i)
    out->roots[i] = hlo_attention_root(c->products[order[i]]);
  if (!match_roots(&g, (const hlo_value_t* const*)out->roots, &out->gradient) ||
      !match_reductions(&g, c, out, &exponentials, &summed) ||
      !match_total(&g, &exponentials, &summed, out)) {
    return false;
  }
  out->weights = g.weights[VALUE];
  out->value = g.value;
  out->cotangent = g.cotangent;
  out->key_label = g.m.key_label;
  out->forward = NULL;
  return c->product_count == GRADIENTS || match_forward(&g, c->products[order[GRADIENTS]], out);
}

bool hlo_attention_match_training(hlo_node_t* scores, hlo_attention_training_t* out) {
  closure_t c = {.count = 0};
  if (!hlo_attention_is_plain(scores->results[0].type) || !find_closure(&scores->results[0], &c)) {
    return false;
  }
  const uint32_t n = c.product_count;
  for (uint32_t query = 0; query < n; ++query) {
    for (uint32_t key = 0; key < n; ++key) {
      for (uint32_t value = 0; value < n; ++value) {
        if (query == key || key == value || query == value) continue;
        const uint32_t order[] = {query, key, value, 6 - query - key - value};
        if (match_products(&c, order, out)) return true;
      }
    }
  }
  return false;
}
