// SPDX-License-Identifier: Apache-2.0
// Pass apply_control_deps: a call control_dep(a, b) asks that the op of a is placed before the op
// of b. The ops of each region with such calls are put in a stable order that does, and the calls
// are removed. Linear in the size of the module.
#include "base/hashmap.h"
#include "base/vec.h"
#include "ir/clone.h"
#include "ir/custom_call.h"
#include "passes/order.h"
#include "passes/passes.h"

typedef struct ordering {
  hlo_arena_t* scratch;
  hlo_map_t seen;  // regions
  HLO_VEC(hlo_region_t*) regions;
  HLO_VEC(hlo_order_edge_t) edges;  // of one region
} ordering_t;

static bool is_control_dep(const hlo_node_t* node) {
  return hlo_custom_function_of(node) == HLO_CUSTOM_control_dep;
}

static hlo_status_t find_regions(void* context, hlo_node_t* node) {
  ordering_t* o = context;
  if (node->op != HLO_OP_custom_call || !is_control_dep(node) ||
      hlo_map_get_pointer(&o->seen, node->parent)) {
    return hlo_ok();
  }
  return hlo_map_put_pointer(&o->seen, node->parent, node->parent) &&
                 hlo_vec_push(&o->regions, node->parent)
             ? hlo_ok()
             : hlo_status_out_of_memory(sizeof node);
}

// Adds the edge that a call asks for. Values of other regions are there before all ops of this one.
static hlo_status_t add_edge(ordering_t* o, const hlo_node_t* node) {
  if (node->operand_count != 2 || node->result_count) {
    return hlo_node_invalid(node, "control_dep takes two operands and has no result");
  }
  const hlo_value_t *first = hlo_node_operand(node, 0), *then = hlo_node_operand(node, 1);
  if (!first->def || first->region != node->parent) return hlo_ok();
  if (!then->def || then->region != node->parent) {
    return hlo_node_invalid(node, "operand 1 is there before operand 0");
  }
  const hlo_order_edge_t edge = {first->def, then->def};
  return first->def == then->def || hlo_vec_push(&o->edges, edge)
             ? hlo_ok()
             : hlo_status_out_of_memory(sizeof edge);
}

static hlo_status_t order_region(ordering_t* o, hlo_region_t* region) {
  hlo_node_t *last = NULL, *next;
  o->edges.count = 0;
  for (hlo_node_t* node = region->first; node; node = next) {
    next = node->next;
    if (node->op != HLO_OP_custom_call || !is_control_dep(node)) continue;
    HLO_TRY(add_edge(o, node));
    last = node;
  }
  bool is_possible;
  HLO_TRY(hlo_region_order_by(region, o->edges.items, (uint32_t)o->edges.count, o->scratch,
                              &is_possible));
  if (!is_possible) {
    return hlo_node_invalid(last, "the control dependencies of these ops cannot all be met");
  }
  for (hlo_node_t* node = region->first; node; node = next) {
    next = node->next;
    if (node->op == HLO_OP_custom_call && is_control_dep(node)) hlo_node_erase(node);
  }
  return hlo_ok();
}

static hlo_status_t order_regions(ordering_t* o, hlo_module_t* module) {
  HLO_TRY(hlo_module_walk(module, false, find_regions, o));
  for (size_t i = 0; i < o->regions.count; ++i) HLO_TRY(order_region(o, o->regions.items[i]));
  return hlo_ok();
}

hlo_status_t hlo_pass_apply_control_deps(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  ordering_t o = {.scratch = &ctx->scratch};
  hlo_status_t status = order_regions(&o, module);
  if (hlo_status_is_ok(status)) ctx->step_count += (uint32_t)o.regions.count;
  hlo_vec_deinit(&o.edges);
  hlo_vec_deinit(&o.regions);
  hlo_map_deinit(&o.seen);
  return status;
}
