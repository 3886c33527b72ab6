// SPDX-License-Identifier: Apache-2.0
// Pass propagate_shardings: states what propagation decides, as sdy.sharding of the ops.
#include "spmd/passes.h"
#include "spmd/propagate_impl.h"

static const hlo_mesh_t* first_mesh(const hlo_grid_t* grid) {
  return grid->mesh_count ? grid->meshes[0].mesh : NULL;
}

static hlo_status_t annotate_node(hlo_spmd_t* spmd, const hlo_mesh_t* mesh, hlo_node_t* node) {
  bool is_divided = false;
  const hlo_sharding_t** list = hlo_arena_array(&spmd->arena, node->result_count, sizeof *list);
  if (!list) return hlo_arena_status(&spmd->arena);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_spec_t* spec = hlo_spmd_value_spec(spmd, &node->results[i]);
    if (!spec) return hlo_arena_status(&spmd->arena);
    is_divided = is_divided || hlo_spec_axis_count(spec) || spec->unreduced;
    HLO_TRY(hlo_spec_to_sharding(spmd, spec, mesh, &list[i]));
  }
  if (!is_divided) return hlo_ok();
  const hlo_attr_t* attr = hlo_sharding_list_attr(spmd->module, node->result_count, list);
  if (attr && node->op == HLO_OP_sdy_manual_computation) {
    hlo_node_set_attr(node, HLO_ATTR_out_shardings, attr);
  } else if (attr && node->op != HLO_OP_sdy_sharding_constraint) {
    node->extra = hlo_attr_dict_with(spmd->module, node->extra, "sdy.sharding", attr);
  }
  return hlo_module_status(spmd->module);
}

static hlo_status_t annotate_region(hlo_spmd_t* spmd, const hlo_mesh_t* mesh,
                                    const hlo_region_t* region) {
  for (hlo_node_t* node = region->first; node; node = node->next) {
    HLO_TRY(annotate_node(spmd, mesh, node));
    for (uint32_t r = 0; r < node->region_count; ++r) {
      HLO_TRY(annotate_region(spmd, mesh, node->regions[r]));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_spmd_annotate(hlo_spmd_t* spmd) {
  const hlo_func_t* func = hlo_module_entry(spmd->module);
  const hlo_mesh_t* mesh = first_mesh(spmd->grid);
  return func && func->body && mesh ? annotate_region(spmd, mesh, func->body) : hlo_ok();
}

hlo_status_t hlo_pass_propagate_shardings(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  uint32_t count = 1;
  HLO_TRY(hlo_devices_argument(ctx, module, &count));
  hlo_spmd_t spmd;
  hlo_status_t status = hlo_spmd_init(&spmd, module, count);
  if (hlo_status_is_ok(status)) status = hlo_spmd_propagate(&spmd);
  if (hlo_status_is_ok(status)) status = hlo_spmd_annotate(&spmd);
  hlo_spmd_deinit(&spmd);
  ++ctx->step_count;
  return status;
}
