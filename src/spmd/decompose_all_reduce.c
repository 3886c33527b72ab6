// SPDX-License-Identifier: Apache-2.0
// Pass decompose_all_reduce: an all_reduce becomes a reduce_scatter and an all_gather, along the
// first dimension that its groups divide. Both halves move what an all_reduce moves in its two
// phases, but each can run beside other work. Values stay the same bit for bit.
#include "ir/clone.h"
#include "spmd/collective.h"
#include "spmd/passes.h"
#include "spmd/processes.h"

typedef struct decomposer {
  hlo_pass_ctx_t* ctx;
  hlo_processes_t processes;
  uint64_t min_bytes;
} decomposer_t;

static bool find_dim(const hlo_type_t* type, uint32_t parts, uint32_t* out_dim) {
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (type->dims[d] == 0 || type->dims[d] % parts) continue;
    *out_dim = d;
    return true;
  }
  return false;
}

// Puts an all_gather of `part` in place of the only result of `node`, with its groups.
static bool gather(hlo_node_t* node, hlo_value_t* part, uint32_t dim) {
  return hlo_collective_replace(node, HLO_OP_all_gather, node, part, HLO_ATTR_all_gather_dim, dim);
}

static hlo_status_t decompose(void* context, hlo_node_t* node) {
  decomposer_t* d = context;
  hlo_module_t* module = node->parent->module;
  uint32_t dim = 0;
  if (node->op != HLO_OP_all_reduce || node->operand_count != 1) return hlo_ok();
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  const hlo_groups_t* groups = hlo_processes_groups(&d->processes, node);
  if (type != node->results[0].type || !hlo_type_is_static(type) ||
      hlo_type_size_bytes(type) < d->min_bytes || !groups || groups->size < 2 ||
      !find_dim(type, groups->size, &dim)) {
    return hlo_ok();
  }
  const hlo_type_t* part = hlo_type_with_dim(module, type, dim, type->dims[dim] / groups->size);
  const hlo_attr_t* along = hlo_attr_int(module, HLO_DTYPE_S64, dim);
  if (!part || !along) return hlo_module_status(module);
  hlo_value_t* operand = hlo_node_operand(node, 0);
  hlo_node_t* scatter =
      hlo_collective_create_like(HLO_OP_reduce_scatter, node, 1, &operand, 1, &part);
  if (hlo_node_is_poison(scatter)) return hlo_module_status(module);
  hlo_node_set_attr(scatter, HLO_ATTR_scatter_dimension, along);
  hlo_node_insert_before(node, scatter);
  if (gather(node, &scatter->results[0], dim)) ++d->ctx->step_count;
  return hlo_module_status(module);
}

hlo_status_t hlo_pass_decompose_all_reduce(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  decomposer_t decomposer = {.ctx = ctx};
  HLO_TRY(hlo_bytes_argument(ctx, 0, &decomposer.min_bytes));
  HLO_TRY(hlo_processes_init(module, &ctx->scratch, &decomposer.processes));
  HLO_TRY(hlo_module_walk(module, false, decompose, &decomposer));
  return hlo_arena_status(&ctx->scratch);
}
