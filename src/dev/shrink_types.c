// SPDX-License-Identifier: Apache-2.0
// Edits of types and attributes: extents, constants, attributes.
#include <stdlib.h>
#include <string.h>

#include "dev/shrink_impl.h"
#include "ir/clone.h"
#include "ir/infer.h"

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
  hlo_status_t status =
      hlo_literal_create(type->dtype, type->rank, type->dims, attr->literal->is_splat, &literal);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    return attr;
  }
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

hlo_status_t hlo_shrink_extents(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  extents_t extents = {0};
  HLO_TRY(hlo_module_walk(module, false, collect_node, &extents));
  qsort(extents.items, extents.count, sizeof *extents.items, compare_extents);
  for (uint32_t i = 0; i < extents.count; ++i) {
    const int64_t from = extents.items[i];
    const int64_t to[] = {1, 2, 3, from / 2, from - 1};
    for (size_t t = 0; t < sizeof to / sizeof *to; ++t) {
      for (int are_multiples = 1; are_multiples >= 0; --are_multiples) {
        change_t change = {module, from, to[t], are_multiples};
        if (hlo_shrink_picks(pick) && to[t] < from) HLO_TRY(change_extents(&change));
      }
    }
  }
  return hlo_ok();
}

// ---- constants and attributes

// Replaces constants by a splat of their first element.
hlo_status_t hlo_shrink_constants(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  hlo_shrink_nodes_t nodes;
  HLO_TRY(hlo_shrink_list_nodes(module, &nodes));
  for (uint32_t n = 0; n < nodes.count; ++n) {
    hlo_node_t* node = nodes.items[n];
    const hlo_attr_t* attr =
        node->op == HLO_OP_constant ? hlo_node_attr(node, HLO_ATTR_value) : NULL;
    if (!attr || attr->kind != HLO_ATTR_KIND_LITERAL || attr->literal->is_splat ||
        !attr->literal->element_count || !hlo_shrink_picks(pick)) {
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
hlo_status_t hlo_shrink_attributes(hlo_module_t* module, hlo_shrink_pick_t* pick) {
  if (hlo_shrink_picks(pick)) module->extra = NULL;
  for (hlo_func_t* f = module->first_func; f; f = f->next) {
    if (!hlo_shrink_picks(pick)) continue;
    f->extra = NULL;
    f->arg_attrs = f->result_attrs = NULL;
  }
  hlo_shrink_nodes_t nodes;
  HLO_TRY(hlo_shrink_list_nodes(module, &nodes));
  for (uint32_t n = 0; n < nodes.count; ++n) {
    hlo_node_t* node = nodes.items[n];
    const hlo_op_info_t* info = hlo_op_info(node->op);
    if (hlo_shrink_picks(pick)) node->extra = NULL;
    for (uint32_t i = 0; i < info->attr_count; ++i) {
      if (node->attrs[i] && !info->attrs[i].required && hlo_shrink_picks(pick)) {
        node->attrs[i] = NULL;
      }
    }
  }
  return hlo_ok();
}
