// SPDX-License-Identifier: Apache-2.0
// Walks over regions and modules (see clone.h). Recursion is as deep as regions nest, which the
// readers bound.
#include "ir/clone.h"

static hlo_status_t walk_node(hlo_node_t* node, bool post_order, hlo_visit_t visit, void* context) {
  if (!post_order) HLO_TRY(visit(context, node));
  // Read the regions after the visit, which may change them.
  for (uint32_t i = 0; i < node->region_count; ++i) {
    HLO_TRY(hlo_region_walk(node->regions[i], post_order, visit, context));
  }
  return post_order ? visit(context, node) : hlo_ok();
}

hlo_status_t hlo_region_walk(hlo_region_t* region, bool post_order, hlo_visit_t visit,
                             void* context) {
  hlo_node_t* next;
  for (hlo_node_t* node = region->first; node; node = next) {
    next = node->next;  // the visit may erase the node
    HLO_TRY(walk_node(node, post_order, visit, context));
  }
  return hlo_ok();
}

hlo_status_t hlo_module_walk(hlo_module_t* module, bool post_order, hlo_visit_t visit,
                             void* context) {
  HLO_TRY(hlo_region_walk(module->top, post_order, visit, context));
  hlo_func_t* next;
  for (hlo_func_t* func = module->first_func; func; func = next) {
    next = func->next;
    if (func->body) HLO_TRY(hlo_region_walk(func->body, post_order, visit, context));
  }
  return hlo_ok();
}
