// SPDX-License-Identifier: Apache-2.0
// Concatenations without their operands that have no elements, before propagation: ops on those
// have no sharding rule. A rotation by nothing is one of them.
#include "ir/clone.h"
#include "passes/build.h"
#include "spmd/propagate_impl.h"

static hlo_status_t skip_empty(HLO_UNUSED void* context, hlo_node_t* node) {
  if (node->op != HLO_OP_concatenate || node->extra) return hlo_ok();
  hlo_module_t* module = node->parent->module;
  hlo_value_t* value = hlo_build_without_empty(node);
  if (!value) return hlo_module_status(module);
  hlo_value_replace_uses(&node->results[0], value);
  hlo_node_erase(node);
  return hlo_module_status(module);
}

hlo_status_t hlo_spmd_skip_empty(hlo_func_t* func) {
  return hlo_region_walk(func->body, false, skip_empty, NULL);
}
