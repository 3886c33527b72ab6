// SPDX-License-Identifier: Apache-2.0
// Shrinking: each edit is tried on all of its sites at once, on halves of them and so on down to
// single ones, and from the beginning while that helps (delta debugging).
#include "dev/shrink.h"

#include <stdlib.h>
#include <string.h>

#include "ir/clone.h"
#include "ir/infer.h"
#include "passes/build.h"
#include "passes/runner.h"
#include "passes/splice.h"

// The places of an edit to change: those numbered first <= i < end, in the order of the edit's
// traversal. `count` receives their total number.
typedef struct pick {
  uint32_t first, end, count;
} pick_t;

static bool picks(pick_t* pick) {
  uint32_t place = pick->count++;
  return place >= pick->first && place < pick->end;
}

// Changes a module, which the caller verifies, since it may be invalid afterwards. The places in a
// module do not depend on the picked ones. errors: RESOURCE_EXHAUSTED
typedef hlo_status_t (*edit_fn_t)(hlo_module_t* module, pick_t* pick);

// All nodes of a module, including those in regions, in textual order.
typedef struct nodes {
  hlo_node_t** items;
  uint32_t count;
} nodes_t;

static hlo_status_t collect(void* context, hlo_node_t* node) {
  nodes_t* nodes = context;
  if (nodes->items) nodes->items[nodes->count] = node;
  ++nodes->count;
  return hlo_ok();
}

static hlo_status_t list_nodes(hlo_module_t* module, nodes_t* out) {
  *out = (nodes_t){0};
  HLO_TRY(hlo_module_walk(module, false, collect, out));
  out->items = hlo_arena_array(&module->arena, out->count + 1, sizeof(hlo_node_t*));
  if (!out->items) return hlo_module_status(module);
  out->count = 0;
  return hlo_module_walk(module, false, collect, out);
}

static bool is_terminator(const hlo_node_t* node) {
  return hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR;
}

static bool is_splat(const hlo_node_t* node) {
  const hlo_attr_t* value =
      node->op == HLO_OP_constant ? hlo_node_attr(node, HLO_ATTR_value) : NULL;
  return value && value->kind == HLO_ATTR_KIND_LITERAL && value->literal->is_splat;
}

// Returns true for types with a known shape and plain elements.
static bool is_plain(const hlo_type_t* type) {
  return hlo_type_is_static(type) && !type->quant && !type->encoding;
}

// Finds the entry and its terminator; returns false if there is no entry.
static bool find_entry(hlo_module_t* module, hlo_func_t** out_func, hlo_node_t** out_end) {
  hlo_func_t* func = hlo_module_entry(module);
  hlo_node_t* end = func && func->body ? hlo_region_terminator(func->body) : NULL;
  *out_func = func;
  *out_end = end;
  return end != NULL;
}

static hlo_status_t shrink_functions(hlo_module_t* module, pick_t* pick) {
  const hlo_func_t* entry = hlo_module_entry(module);
  hlo_func_t* next;
  for (hlo_func_t* f = module->first_func; f; f = next) {
    next = f->next;
    if (f != entry && picks(pick)) hlo_func_remove(f);
  }
  return hlo_ok();
}

// ---- results and arguments of the entry

// Replaces the operands of a region's terminator.
static hlo_status_t set_terminator(hlo_node_t* end, uint32_t count, hlo_value_t** values) {
  hlo_module_t* module = end->parent->module;
  hlo_node_spec_t spec = {
      .op = end->op, .loc = end->loc, .operand_count = count, .operands = values};
  hlo_node_t* node = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(node)) return hlo_module_status(module);
  hlo_node_insert_before(end, node);
  hlo_node_erase(end);
  return hlo_ok();
}

// Returns values[i], which has the attributes of the old result origins[i].
static hlo_status_t set_results(hlo_func_t* func, hlo_node_t* end, uint32_t count,
                                hlo_value_t** values, const uint32_t* origins) {
  hlo_module_t* module = func->module;
  HLO_TRY(set_terminator(end, count, values));
  if (!func->result_attrs) return hlo_ok();
  const hlo_attr_t** attrs = hlo_arena_array(&module->arena, count + 1, sizeof *attrs);
  if (!attrs) return hlo_module_status(module);
  for (uint32_t i = 0; i < count; ++i) attrs[i] = func->result_attrs[origins[i]];
  func->result_attrs = attrs;
  return hlo_ok();
}

typedef struct results {
  uint32_t count;
  hlo_value_t** values;
  uint32_t* origins;
} results_t;

static bool make_results(hlo_module_t* module, size_t capacity, results_t* out) {
  out->count = 0;
  out->values = hlo_arena_array(&module->arena, capacity + 1, sizeof *out->values);
  out->origins = hlo_arena_array(&module->arena, capacity + 1, sizeof *out->origins);
  return out->values && out->origins;
}

static void add_result(results_t* results, hlo_value_t* value, uint32_t origin) {
  results->values[results->count] = value;
  results->origins[results->count++] = origin;
}

static hlo_status_t shrink_results(hlo_module_t* module, pick_t* pick) {
  hlo_func_t* func;
  hlo_node_t* end;
  results_t kept;
  if (!find_entry(module, &func, &end)) return hlo_ok();
  if (!make_results(module, end->operand_count, &kept)) return hlo_module_status(module);
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    if (!picks(pick)) add_result(&kept, hlo_node_operand(end, i), i);
  }
  return set_results(func, end, kept.count, kept.values, kept.origins);
}

// Returns the operands of a result's node instead of the result.
static hlo_status_t shrink_to_operands(hlo_module_t* module, pick_t* pick) {
  hlo_func_t* func;
  hlo_node_t* end;
  results_t all;
  if (!find_entry(module, &func, &end)) return hlo_ok();
  size_t capacity = end->operand_count;
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    const hlo_node_t* def = hlo_node_operand(end, i)->def;
    if (def) capacity += def->operand_count;
  }
  if (!make_results(module, capacity, &all)) return hlo_module_status(module);
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    hlo_value_t* value = hlo_node_operand(end, i);
    const hlo_node_t* def = value->def;
    if (!def || !def->operand_count || !picks(pick)) {
      add_result(&all, value, i);
      continue;
    }
    for (uint32_t j = 0; j < def->operand_count; ++j) {
      if (hlo_type_is_tensor(hlo_node_operand_type(def, j))) {
        add_result(&all, hlo_node_operand(def, j), i);
      }
    }
  }
  return set_results(func, end, all.count, all.values, all.origins);
}

static hlo_status_t add_argument(hlo_func_t* func, hlo_value_t* stands_for) {
  hlo_module_t* module = func->module;
  uint32_t count = func->body->arg_count;
  hlo_value_t* arg = hlo_region_add_arg(func->body, stands_for->type);
  if (!arg) return hlo_module_status(module);
  hlo_value_replace_uses(stands_for, arg);
  if (!func->arg_attrs) return hlo_ok();
  const hlo_attr_t** attrs = hlo_arena_array(&module->arena, count + 1, sizeof *attrs);
  if (!attrs) return hlo_module_status(module);
  memcpy(attrs, func->arg_attrs, count * sizeof *attrs);
  func->arg_attrs = attrs;
  return hlo_ok();
}

// Replaces the nodes computed first by arguments.
static hlo_status_t shrink_to_arguments(hlo_module_t* module, pick_t* pick) {
  hlo_func_t* func;
  hlo_node_t* end;
  if (!find_entry(module, &func, &end)) return hlo_ok();
  hlo_node_t* previous;
  for (hlo_node_t* node = end->prev; node; node = previous) {
    previous = node->prev;
    if (!node->result_count || is_splat(node) || !picks(pick)) continue;
    bool may_go = true;
    for (uint32_t i = 0; i < node->result_count; ++i) {
      hlo_value_t* result = &node->results[i];
      if (hlo_value_is_unused(result)) continue;
      may_go &= is_plain(result->type);
      if (is_plain(result->type)) HLO_TRY(add_argument(func, result));
    }
    if (may_go) hlo_node_erase(node);
  }
  return hlo_ok();
}

// Removes unused arguments.
static hlo_status_t shrink_arguments(hlo_module_t* module, pick_t* pick) {
  hlo_func_t* func;
  hlo_node_t* end;
  if (!find_entry(module, &func, &end)) return hlo_ok();
  hlo_region_t* body = func->body;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    hlo_value_t* arg = body->args[i];
    if (picks(pick) && hlo_value_is_unused(arg)) continue;
    if (func->arg_attrs) func->arg_attrs[kept] = func->arg_attrs[i];
    arg->number = kept;
    body->args[kept++] = arg;
  }
  body->arg_count = kept;
  return hlo_ok();
}

// ---- replacements of results

// Creates, before the node, the replacement of its result i; NULL: none.
typedef hlo_value_t* (*instead_t)(hlo_node_t* node, uint32_t i);

// Visits inner nodes first, so that no removed node is edited.
static hlo_status_t replace(hlo_module_t* module, pick_t* pick, instead_t instead) {
  nodes_t nodes;
  HLO_TRY(list_nodes(module, &nodes));
  for (uint32_t n = nodes.count; n-- > 0;) {
    hlo_node_t* node = nodes.items[n];
    if (is_terminator(node) || is_splat(node) || !picks(pick)) continue;
    bool may_go = node->result_count > 0;
    for (uint32_t i = 0; i < node->result_count; ++i) {
      if (hlo_value_is_unused(&node->results[i])) continue;
      hlo_value_t* value = instead(node, i);
      if (value) hlo_value_replace_uses(&node->results[i], value);
      may_go &= value != NULL;
    }
    if (may_go) hlo_node_erase(node);
  }
  return hlo_module_status(module);
}

// Returns operand i for result i of loops and barriers, else an operand that has the result's type.
static hlo_value_t* operand_like(hlo_node_t* node, uint32_t i, bool is_last) {
  const hlo_type_t* type = node->results[i].type;
  hlo_value_t* found = NULL;
  if (node->operand_count == node->result_count && hlo_node_operand_type(node, i) == type) {
    return hlo_node_operand(node, i);
  }
  for (uint32_t j = 0; j < node->operand_count && (!found || is_last); ++j) {
    if (hlo_node_operand_type(node, j) == type) found = hlo_node_operand(node, j);
  }
  return found;
}

static hlo_value_t* first_operand(hlo_node_t* node, uint32_t i) {
  return operand_like(node, i, false);
}

static hlo_value_t* last_operand(hlo_node_t* node, uint32_t i) {
  return operand_like(node, i, true);
}

static hlo_status_t shrink_to_first_operand(hlo_module_t* module, pick_t* pick) {
  return replace(module, pick, first_operand);
}

static hlo_status_t shrink_to_last_operand(hlo_module_t* module, pick_t* pick) {
  return replace(module, pick, last_operand);
}

static hlo_value_t* zeros(hlo_node_t* node, uint32_t i) {
  const hlo_type_t* type = node->results[i].type;
  if (!is_plain(type)) return NULL;
  return hlo_build_constant(node, type, hlo_build_literal(node->parent->module, type, true));
}

static hlo_status_t shrink_to_zeros(hlo_module_t* module, pick_t* pick) {
  return replace(module, pick, zeros);
}

// ---- control flow

// Returns a region that one execution of the node may run: a branch, or one iteration of a loop;
// NULL without a region.
static hlo_region_t* run_once(const hlo_node_t* node, bool is_last) {
  switch (node->op) {
    case HLO_OP_while: return node->regions[1];
    case HLO_OP_if:
    case HLO_OP_case: return node->regions[is_last ? node->region_count - 1 : 0];
    default: return NULL;
  }
}

static hlo_status_t open(hlo_module_t* module, pick_t* pick, bool is_last) {
  nodes_t nodes;
  HLO_TRY(list_nodes(module, &nodes));
  hlo_splicer_t splicer = {.arena = &module->arena};
  for (uint32_t n = nodes.count; n-- > 0;) {
    hlo_node_t* node = nodes.items[n];
    const hlo_region_t* body = run_once(node, is_last);
    if (!body || !picks(pick)) continue;
    hlo_value_t** values = hlo_arena_array(&module->arena, node->operand_count + 1, sizeof *values);
    if (!values) return hlo_module_status(module);
    for (uint32_t i = 0; i < node->operand_count; ++i) values[i] = hlo_node_operand(node, i);
    HLO_TRY(hlo_splice(&splicer, body, values, node, NULL, NULL));
    for (uint32_t i = 0; i < node->result_count; ++i) {
      hlo_value_replace_uses(&node->results[i], hlo_splice_result(&splicer, body, i));
    }
    hlo_node_erase(node);
  }
  return hlo_ok();
}

static hlo_status_t shrink_to_first_region(hlo_module_t* module, pick_t* pick) {
  return open(module, pick, false);
}

static hlo_status_t shrink_to_last_region(hlo_module_t* module, pick_t* pick) {
  return open(module, pick, true);
}

// Removes the values of a loop that are not kept; their uses read the initial values.
static hlo_status_t carry_less(hlo_node_t* loop, const bool* is_kept) {
  hlo_module_t* module = loop->parent->module;
  const uint32_t all = loop->operand_count;
  hlo_node_t* end = hlo_region_terminator(loop->regions[1]);
  hlo_value_t** operands = hlo_arena_array(&module->arena, all + 1, sizeof *operands);
  hlo_value_t** returned = hlo_arena_array(&module->arena, all + 1, sizeof *returned);
  const hlo_type_t** types = hlo_arena_array(&module->arena, all + 1, sizeof *types);
  if (!operands || !returned || !types) return hlo_module_status(module);
  uint32_t count = 0;
  for (uint32_t i = 0; i < all; ++i) {
    hlo_value_t* operand = hlo_node_operand(loop, i);
    for (uint32_t r = 0; r < loop->region_count; ++r) {
      hlo_value_t* arg = loop->regions[r]->args[i];
      if (!is_kept[i]) hlo_value_replace_uses(arg, operand);
      arg->number = count;
      if (is_kept[i]) loop->regions[r]->args[count] = arg;
    }
    if (!is_kept[i]) {
      hlo_value_replace_uses(&loop->results[i], operand);
      continue;
    }
    types[count] = operand->type;
    operands[count] = operand;
    returned[count++] = hlo_node_operand(end, i);
  }
  HLO_TRY(set_terminator(end, count, returned));
  hlo_node_spec_t spec = {.op = loop->op,
                          .loc = loop->loc,
                          .operand_count = count,
                          .operands = operands,
                          .region_count = loop->region_count,
                          .result_count = count,
                          .result_types = types};
  hlo_node_t* node = hlo_node_create(module, &spec);
  if (hlo_node_is_poison(node)) return hlo_module_status(module);
  hlo_node_insert_before(loop, node);
  for (uint32_t r = 0; r < loop->region_count; ++r) {
    hlo_region_t* region = loop->regions[r];
    loop->regions[r] = node->regions[r];
    loop->regions[r]->parent = loop;
    node->regions[r] = region;
    region->parent = node;
    region->arg_count = count;
  }
  count = 0;
  for (uint32_t i = 0; i < all; ++i) {
    if (is_kept[i]) hlo_value_replace_uses(&loop->results[i], &node->results[count++]);
  }
  hlo_node_erase(loop);
  return hlo_ok();
}

static hlo_status_t shrink_loops(hlo_module_t* module, pick_t* pick) {
  nodes_t nodes;
  HLO_TRY(list_nodes(module, &nodes));
  for (uint32_t n = nodes.count; n-- > 0;) {
    hlo_node_t* node = nodes.items[n];
    if (node->op != HLO_OP_while) continue;
    bool* is_kept = hlo_arena_array(&module->arena, node->operand_count + 1, sizeof *is_kept);
    if (!is_kept) return hlo_module_status(module);
    bool is_less = false;
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      is_kept[i] = !picks(pick);
      is_less |= !is_kept[i];
    }
    if (is_less) HLO_TRY(carry_less(node, is_kept));
  }
  return hlo_ok();
}

// ---- extents

enum { MAX_EXTENTS = 64, MAX_RESULTS = 1024 };

// Replaces an extent everywhere; with are_multiples, also its multiples in proportion, such as the
// extents of flattened arrays.
typedef struct change {
  hlo_module_t* module;
  int64_t from, to;
  bool are_multiples;
} change_t;

static int64_t changed(const change_t* change, int64_t extent) {
  if (extent == change->from) return change->to;
  if (!change->are_multiples || extent <= 0 || extent % change->from) return extent;
  return extent / change->from * change->to;
}

static const hlo_type_t* changed_type(const change_t* change, const hlo_type_t* type) {
  int64_t dims[HLO_RANK_MAX];
  bool is_other = false;
  if (!hlo_type_is_static(type)) return type;
  for (uint32_t d = 0; d < type->rank; ++d) {
    dims[d] = changed(change, type->dims[d]);
    is_other |= dims[d] != type->dims[d];
  }
  return is_other ? hlo_type_with_dims(change->module, type, type->rank, dims) : type;
}

static bool holds_extents(hlo_attr_id_t id) {
  switch (id) {
    case HLO_ATTR_broadcast_sizes:
    case HLO_ATTR_fft_length:
    case HLO_ATTR_limit_indices:
    case HLO_ATTR_slice_sizes:
    case HLO_ATTR_start_indices:
    case HLO_ATTR_window_dimensions: return true;
    default: return false;
  }
}

// Returns as many elements as the new type has, repeating them from the beginning if there are too
// few.
static const hlo_attr_t* changed_literal(const change_t* change, const hlo_attr_t* attr) {
  const hlo_type_t* type = changed_type(change, attr->type);
  hlo_literal_t* literal = NULL;
  if (type == attr->type) return attr;
  if (!hlo_status_take_ok(hlo_literal_create(type->dtype, type->rank, type->dims,
                                             attr->literal->is_splat, &literal)))
    return attr;
  uint8_t* data = hlo_literal_mutable_data(literal);
  for (size_t i = 0; i < literal->data_bytes && attr->literal->data_bytes; ++i) {
    data[i] = ((const uint8_t*)attr->literal->data)[i % attr->literal->data_bytes];
  }
  const hlo_attr_t* result = hlo_attr_literal(change->module, type, literal);
  hlo_literal_release(literal);
  return result;
}

static const hlo_attr_t* changed_attr(const change_t* change, hlo_attr_id_t id,
                                      const hlo_attr_t* attr) {
  if (attr->kind == HLO_ATTR_KIND_LITERAL) return changed_literal(change, attr);
  if (attr->kind != HLO_ATTR_KIND_INTS || attr->cols || !holds_extents(id)) return attr;
  int64_t values[HLO_RANK_MAX];
  if (attr->count > HLO_RANK_MAX) return attr;
  for (uint32_t i = 0; i < attr->count; ++i) values[i] = changed(change, attr->values[i]);
  return hlo_attr_ints(change->module, attr->count, values);
}

static void change_arguments(const change_t* change, hlo_region_t* region) {
  for (uint32_t i = 0; i < region->arg_count; ++i) {
    const hlo_type_t* type = changed_type(change, region->args[i]->type);
    if (type) region->args[i]->type = type;
  }
}

static hlo_status_t change_node(void* context, hlo_node_t* node) {
  const change_t* change = context;
  const hlo_op_info_t* info = hlo_op_info(node->op);
  for (uint32_t i = 0; i < info->attr_count; ++i) {
    const hlo_attr_t* attr =
        node->attrs[i] ? changed_attr(change, info->attrs[i].id, node->attrs[i]) : NULL;
    if (attr) node->attrs[i] = attr;
  }
  for (uint32_t i = 0; i < node->region_count; ++i) change_arguments(change, node->regions[i]);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = changed_type(change, node->results[i].type);
    if (type) node->results[i].type = type;
  }
  return hlo_ok();
}

// Recomputes dependent extents by shape inference.
static hlo_status_t infer_node(void* context, hlo_node_t* node) {
  const hlo_type_t* types[MAX_RESULTS];
  int64_t dims[HLO_RANK_MAX];
  uint32_t count = 0, rank = 0;
  if (node->result_count > MAX_RESULTS) return hlo_ok();
  hlo_status_t status = hlo_infer_types(context, node, MAX_RESULTS, types, &count);
  if (hlo_status_is_ok(status)) {
    for (uint32_t i = 0; i < count && i < node->result_count; ++i) {
      if (hlo_type_is_static(types[i])) node->results[i].type = types[i];
    }
  } else if (node->result_count == 1 && hlo_type_is_tensor(node->results[0].type)) {
    hlo_status_release(status);
    status = hlo_infer_result_dims(node, &rank, dims);
    const hlo_type_t* type = hlo_status_is_ok(status)
                                 ? hlo_type_with_dims(context, node->results[0].type, rank, dims)
                                 : NULL;
    if (type && hlo_type_is_static(type)) node->results[0].type = type;
  }
  hlo_status_release(status);
  return hlo_ok();
}

static hlo_status_t change_extents(change_t* change) {
  hlo_module_t* module = change->module;
  for (hlo_func_t* f = module->first_func; f; f = f->next) {
    if (f->body) change_arguments(change, f->body);
  }
  HLO_TRY(hlo_module_walk(module, false, change_node, change));
  HLO_TRY(hlo_module_walk(module, true, infer_node, module));
  return hlo_module_status(module);
}

typedef struct extents {
  uint32_t count;
  int64_t items[MAX_EXTENTS];
} extents_t;

static void collect_type(extents_t* extents, const hlo_type_t* type) {
  if (!hlo_type_is_static(type)) return;
  for (uint32_t d = 0; d < type->rank; ++d) {
    bool is_known = type->dims[d] <= 1 || extents->count == MAX_EXTENTS;
    for (uint32_t i = 0; i < extents->count && !is_known; ++i) {
      is_known = extents->items[i] == type->dims[d];
    }
    if (!is_known) extents->items[extents->count++] = type->dims[d];
  }
}

static hlo_status_t collect_node(void* context, hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    collect_type(context, hlo_node_operand_type(node, i));
  }
  return hlo_ok();
}

static int compare_extents(const void* a, const void* b) {
  int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x < y) - (x > y);
}

static hlo_status_t shrink_extents(hlo_module_t* module, pick_t* pick) {
  extents_t extents = {0};
  HLO_TRY(hlo_module_walk(module, false, collect_node, &extents));
  qsort(extents.items, extents.count, sizeof *extents.items, compare_extents);
  for (uint32_t i = 0; i < extents.count; ++i) {
    const int64_t from = extents.items[i];
    const int64_t to[] = {1, 2, 3, from / 2, from - 1};
    for (size_t t = 0; t < sizeof to / sizeof *to; ++t) {
      for (int are_multiples = 1; are_multiples >= 0; --are_multiples) {
        change_t change = {module, from, to[t], are_multiples};
        if (picks(pick) && to[t] < from) HLO_TRY(change_extents(&change));
      }
    }
  }
  return hlo_ok();
}

// ---- constants and attributes

// Replaces constants by a splat of their first element.
static hlo_status_t shrink_constants(hlo_module_t* module, pick_t* pick) {
  nodes_t nodes;
  HLO_TRY(list_nodes(module, &nodes));
  for (uint32_t n = 0; n < nodes.count; ++n) {
    hlo_node_t* node = nodes.items[n];
    const hlo_attr_t* attr =
        node->op == HLO_OP_constant ? hlo_node_attr(node, HLO_ATTR_value) : NULL;
    if (!attr || attr->kind != HLO_ATTR_KIND_LITERAL || attr->literal->is_splat ||
        !attr->literal->element_count || !picks(pick)) {
      continue;
    }
    const hlo_literal_t* old = attr->literal;
    hlo_literal_t* literal = NULL;
    HLO_TRY(hlo_literal_create(old->dtype, old->rank, old->dims, true, &literal));
    memcpy(hlo_literal_mutable_data(literal), hlo_literal_element(old, 0), literal->data_bytes);
    const hlo_attr_t* splat = hlo_attr_literal(module, attr->type, literal);
    hlo_literal_release(literal);
    if (splat) hlo_node_set_attr(node, HLO_ATTR_value, splat);
  }
  return hlo_module_status(module);
}

// Removes optional attributes, and discardable ones.
static hlo_status_t shrink_attributes(hlo_module_t* module, pick_t* pick) {
  if (picks(pick)) module->extra = NULL;
  for (hlo_func_t* f = module->first_func; f; f = f->next) {
    if (!picks(pick)) continue;
    f->extra = NULL;
    f->arg_attrs = f->result_attrs = NULL;
  }
  nodes_t nodes;
  HLO_TRY(list_nodes(module, &nodes));
  for (uint32_t n = 0; n < nodes.count; ++n) {
    hlo_node_t* node = nodes.items[n];
    const hlo_op_info_t* info = hlo_op_info(node->op);
    if (picks(pick)) node->extra = NULL;
    for (uint32_t i = 0; i < info->attr_count; ++i) {
      if (node->attrs[i] && !info->attrs[i].required && picks(pick)) {
        node->attrs[i] = NULL;
      }
    }
  }
  return hlo_ok();
}

typedef struct shrinker {
  hlo_module_t** module;
  hlo_shrink_test_t test;
  void* context;
} shrinker_t;

typedef struct edit {
  edit_fn_t apply;
  bool is_alone;  // one site at a time: several would conflict
} edit_t;

// The edits that remove most come first.
static const edit_t kEdits[] = {
    {shrink_functions, false},        {shrink_results, false},
    {shrink_to_operands, false},      {shrink_to_arguments, false},
    {shrink_to_first_region, false},  {shrink_to_last_region, false},
    {shrink_to_first_operand, false}, {shrink_to_last_operand, false},
    {shrink_to_zeros, false},         {shrink_loops, false},
    {shrink_arguments, false},        {shrink_attributes, false},
    {shrink_constants, false},        {shrink_extents, true},
};
enum { EDIT_COUNT = sizeof kEdits / sizeof *kEdits };

// ---- weight

enum { NODE_WEIGHT = 100, CONSTANT_WEIGHT = 20, PORT_WEIGHT = 10, ATTRIBUTE_WEIGHT = 1 };

static uint64_t digits(int64_t number) {
  uint64_t count = 0;
  for (; number > 0; number /= 2) ++count;
  return count;
}

static uint64_t type_weight(const hlo_type_t* type) {
  uint64_t weight = 0;
  if (!hlo_type_is_tensor(type)) return 0;
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (type->dims[d] > 1) weight += digits(type->dims[d] - 1) + 1;
  }
  return weight;
}

static hlo_status_t weigh(void* context, hlo_node_t* node) {
  uint64_t weight = node->op == HLO_OP_constant ? CONSTANT_WEIGHT : NODE_WEIGHT;
  weight += PORT_WEIGHT * (uint64_t)node->operand_count + ATTRIBUTE_WEIGHT * (node->extra != NULL);
  for (uint32_t i = 0; i < hlo_op_info(node->op)->attr_count; ++i) {
    const hlo_attr_t* attr = node->attrs[i];
    if (!attr) continue;
    weight += ATTRIBUTE_WEIGHT;
    if (attr->kind == HLO_ATTR_KIND_LITERAL && !attr->literal->is_splat) {
      weight += PORT_WEIGHT * (1 + digits(attr->literal->element_count));
    }
  }
  for (uint32_t i = 0; i < node->result_count; ++i) weight += type_weight(node->results[i].type);
  *(uint64_t*)context += weight;
  return hlo_ok();
}

uint64_t hlo_shrink_weight(const hlo_module_t* module) {
  uint64_t weight = ATTRIBUTE_WEIGHT * (uint64_t)(module->extra != NULL);
  for (const hlo_func_t* f = module->first_func; f; f = f->next) {
    weight += NODE_WEIGHT + PORT_WEIGHT * (uint64_t)f->type->element_count +
              ATTRIBUTE_WEIGHT *
                  ((f->extra != NULL) + (f->arg_attrs != NULL) + (f->result_attrs != NULL));
    for (uint32_t i = 0; i < f->type->input_count; ++i) weight += type_weight(f->type->elements[i]);
  }
  hlo_status_release(hlo_module_walk((hlo_module_t*)module, false, weigh, &weight));
  return weight;
}

// ---- attempts

// Verifies an edited module and removes unused nodes. Returns false if the module is invalid.
static bool clean(hlo_module_t* module) {
  for (hlo_func_t* f = module->first_func; f; f = f->next) hlo_func_update_type(f);
  hlo_status_t status = hlo_module_verify(module, NULL);
  if (hlo_status_is_ok(status)) status = hlo_passes_run(module, "dce", NULL);
  return hlo_status_take_ok(status);
}

// Keeps one of the modules and releases the other.
static void replace_module(shrinker_t* s, hlo_module_t* module, bool is_taken) {
  hlo_module_release(is_taken ? *s->module : module);
  if (is_taken) *s->module = module;
}

// Keeps the module if it is smaller and fails.
static hlo_status_t judge(shrinker_t* s, hlo_module_t* module, bool* out_taken) {
  *out_taken = false;
  hlo_status_t status = hlo_ok();
  if (clean(module) && hlo_shrink_weight(module) < hlo_shrink_weight(*s->module)) {
    status = s->test(s->context, module, out_taken);
  }
  replace_module(s, module, *out_taken);
  return status;
}

static hlo_status_t attempt(shrinker_t* s, const edit_t* edit, pick_t* pick, bool* out_taken) {
  hlo_module_t* copy = NULL;
  HLO_TRY(hlo_module_clone(*s->module, &copy));
  hlo_status_t status = edit->apply(copy, pick);
  if (hlo_status_is_ok(status)) return judge(s, copy, out_taken);
  hlo_module_release(copy);
  return status;
}

static hlo_status_t count_places(const shrinker_t* s, const edit_t* edit, uint32_t* out_count) {
  pick_t none = {0};
  hlo_module_t* copy = NULL;
  HLO_TRY(hlo_module_clone(*s->module, &copy));
  hlo_status_t status = edit->apply(copy, &none);
  hlo_module_release(copy);
  *out_count = none.count;
  return status;
}

static hlo_status_t try_edit(shrinker_t* s, const edit_t* edit, bool* out_changed) {
  uint32_t count;
  HLO_TRY(count_places(s, edit, &count));
  for (uint32_t size = edit->is_alone ? 1 : count; size && count; size /= 2) {
    for (uint32_t first = 0; first < count;) {
      pick_t pick = {.first = first, .end = first + size};
      bool is_taken;
      HLO_TRY(attempt(s, edit, &pick, &is_taken));
      if (is_taken) {  // the next sites have taken over the numbers
        *out_changed = true;
        HLO_TRY(count_places(s, edit, &count));
      } else {
        first += size;
      }
    }
  }
  return hlo_ok();
}

// Inlines calls, which obstruct all edits. A module that a pass refuses is unchanged.
static hlo_status_t inline_with(shrinker_t* s, const char* passes, bool* out_taken) {
  hlo_module_t* copy = NULL;
  HLO_TRY(hlo_module_clone(*s->module, &copy));
  hlo_status_t refusal = hlo_passes_run(copy, passes, NULL);
  *out_taken = false;
  hlo_status_t status = hlo_status_is_ok(refusal) ? s->test(s->context, copy, out_taken) : hlo_ok();
  hlo_status_release(refusal);
  replace_module(s, copy, *out_taken);
  return status;
}

static hlo_status_t inline_calls(shrinker_t* s) {
  bool is_taken = false;
  HLO_TRY(inline_with(s, "lower_composite,inline,dce", &is_taken));
  return is_taken ? hlo_ok() : inline_with(s, "inline,dce", &is_taken);
}

hlo_status_t hlo_shrink(hlo_module_t** module, hlo_shrink_test_t test, void* context) {
  shrinker_t s = {.module = module, .test = test, .context = context};
  HLO_TRY(inline_calls(&s));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < EDIT_COUNT; ++i) HLO_TRY(try_edit(&s, &kEdits[i], &changed));
  }
  return hlo_ok();
}
