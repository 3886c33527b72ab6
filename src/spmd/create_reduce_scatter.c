// SPDX-License-Identifier: Apache-2.0
// Pass create_reduce_scatter: an all_reduce of which every process uses only its own slice becomes
// a reduce_scatter, which moves half of the bytes. Which slice is a process's own is computed from
// the numbers of the processes, through tables and arithmetic, for each process. Linear in the size
// of the module, and for each such slice in the number of processes.
#include "ir/clone.h"
#include "spmd/collective.h"
#include "spmd/passes.h"
#include "spmd/processes.h"

typedef struct creator {
  hlo_pass_ctx_t* ctx;
  hlo_processes_t processes;
} creator_t;

static hlo_status_t create(void* context, hlo_node_t* node) {
  creator_t* c = context;
  hlo_module_t* module = node->parent->module;
  if (node->op != HLO_OP_dynamic_slice) return hlo_ok();
  hlo_value_t* whole = hlo_node_operand(node, 0);
  hlo_node_t* reduce = whole->def;
  if (!reduce || reduce->op != HLO_OP_all_reduce || reduce->operand_count != 1 ||
      whole->uses->next || reduce->parent != node->parent ||
      hlo_node_operand_type(reduce, 0) != whole->type) {
    return hlo_ok();
  }
  const hlo_groups_t* groups = hlo_processes_groups(&c->processes, reduce);
  for (uint32_t d = 0; groups && groups->size > 1 && d < whole->type->rank; ++d) {
    if (!hlo_processes_own_slice(&c->processes, node, groups, d)) continue;
    if (hlo_collective_replace(node, HLO_OP_reduce_scatter, reduce, hlo_node_operand(reduce, 0),
                               HLO_ATTR_scatter_dimension, d)) {
      hlo_node_erase(reduce);
      ++c->ctx->step_count;
    }
    break;
  }
  return hlo_module_status(module);
}

hlo_status_t hlo_pass_create_reduce_scatter(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  creator_t creator = {.ctx = ctx};
  HLO_TRY(hlo_processes_init(module, &ctx->scratch, &creator.processes));
  HLO_TRY(hlo_module_walk(module, false, create, &creator));
  return hlo_arena_status(&ctx->scratch);
}
