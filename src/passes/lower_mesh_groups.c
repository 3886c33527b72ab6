// SPDX-License-Identifier: Apache-2.0
// Pass lower_mesh_groups: lists the devices of groups that collectives give as axes of a mesh.
#include "ir/clone.h"
#include "ir/mesh_groups.h"
#include "passes/passes.h"

static hlo_status_t list_groups(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  const hlo_attr_t* groups = hlo_node_attr(node, HLO_ATTR_replica_groups);
  if (!groups || groups->kind != HLO_ATTR_KIND_OPAQUE) return hlo_ok();
  hlo_module_t* module = node->parent->module;
  uint32_t rows, cols;
  int64_t* ids;
  hlo_status_t status = hlo_mesh_groups_read(&ctx->scratch, module, groups, &rows, &cols, &ids);
  if (!hlo_status_is_ok(status)) {
    hlo_status_t located =
        hlo_pass_error(node, hlo_status_code(status), hlo_status_message(status));
    hlo_status_release(status);
    return located;
  }
  hlo_node_set_attr(node, HLO_ATTR_replica_groups, hlo_attr_matrix(module, rows, cols, ids));
  ++ctx->step_count;
  return hlo_module_status(module);
}

hlo_status_t hlo_pass_lower_mesh_groups(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_module_walk(module, true, list_groups, ctx);
}
