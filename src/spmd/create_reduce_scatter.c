// SPDX-License-Identifier: Apache-2.0
// Pass create_reduce_scatter: an all_reduce of which every process uses only its own slice becomes
// a reduce_scatter, which moves half of the bytes. Which slice is a process's own is computed from
// the numbers of the processes, through tables and arithmetic, for each process. Linear in the size
// of the module, and for each such slice in the number of processes.
//
//   slice(all_reduce(x))             reduce_scatter(x)
//   slice(reshape(all_reduce(x)))    reshape(reduce_scatter(x)), if the reshape keeps the dimension
//   no slice has the last elements   reduce_scatter(slice(x))
#include "ir/clone.h"
#include "passes/build.h"
#include "spmd/collective.h"
#include "spmd/passes.h"
#include "spmd/processes.h"

typedef struct creator {
  hlo_pass_ctx_t* ctx;
  hlo_processes_t processes;
} creator_t;

/// A slice of an all_reduce.
typedef struct own_slice {
  hlo_node_t *slice, *reshape, *reduce;  // `reshape`: NULL for a plain slice
  uint32_t dim;                          // of the all_reduce
  int64_t size, rest;                    // of a part, and after the last part
} own_slice_t;

static hlo_node_t* only_user_of(const hlo_value_t* value, const hlo_node_t* user) {
  hlo_node_t* def = value->def;
  return def && !value->uses->next && def->parent == user->parent ? def : NULL;
}

static bool find_reduce(own_slice_t* own) {
  hlo_node_t* def = only_user_of(hlo_node_operand(own->slice, 0), own->slice);
  own->reshape = def && def->op == HLO_OP_reshape && !def->extra ? def : NULL;
  if (own->reshape) def = only_user_of(hlo_node_operand(def, 0), def);
  own->reduce = def;
  return def && def->op == HLO_OP_all_reduce && def->operand_count == 1 &&
         hlo_node_operand_type(def, 0) == def->results[0].type;
}

// Finds the dimension of `from` whose elements are those of dimension `dim` of `to`. Returns false
// if a reshape joins or splits it.
static bool find_same_dim(const hlo_type_t* from, const hlo_type_t* to, uint32_t dim,
                          uint32_t* out_dim) {
  int64_t before = 1, product = 1;
  for (uint32_t d = 0; d < dim; ++d) before *= to->dims[d];
  for (uint32_t d = 0; d < from->rank && product <= before; product *= from->dims[d++]) {
    if (product != before || from->dims[d] != to->dims[dim]) continue;
    *out_dim = d;
    return true;
  }
  return false;
}

static bool find_own_slice(creator_t* c, own_slice_t* own) {
  const hlo_type_t* whole = hlo_node_operand_type(own->slice, 0);
  const hlo_groups_t* groups = hlo_processes_groups(&c->processes, own->reduce);
  for (uint32_t d = 0; groups && groups->size > 1 && d < whole->rank; ++d) {
    if (!hlo_processes_own_slice(&c->processes, own->slice, groups, d, &own->rest)) continue;
    own->dim = d;
    own->size = own->slice->results[0].type->dims[d];
    return !own->reshape || find_same_dim(own->reduce->results[0].type, whole, d, &own->dim);
  }
  return false;
}

static hlo_value_t* drop_rest(const own_slice_t* own, hlo_value_t* value) {
  const hlo_type_t* type = value->type;
  const int64_t starts[HLO_RANK_MAX] = {0};
  if (!own->rest) return value;
  const hlo_type_t* part = hlo_type_with_dim(own->slice->parent->module, type, own->dim,
                                             type->dims[own->dim] - own->rest);
  return part ? hlo_build_slice(own->slice, part, value, starts, NULL) : NULL;
}

// Puts a reduce_scatter, and a reshape of it, where the slice is. False when memory is exhausted.
static bool replace(const own_slice_t* own) {
  hlo_module_t* module = own->slice->parent->module;
  const hlo_type_t* type = own->reduce->results[0].type;
  hlo_value_t* operand = drop_rest(own, hlo_node_operand(own->reduce, 0));
  const hlo_type_t* part = hlo_type_with_dim(module, type, own->dim, own->size);
  const hlo_attr_t* dim = hlo_attr_int(module, HLO_DTYPE_S64, own->dim);
  if (!operand || !part || !dim) return false;
  hlo_node_t* scatter =
      hlo_collective_create_like(HLO_OP_reduce_scatter, own->reduce, 1, &operand, 1, &part);
  if (hlo_node_is_poison(scatter)) return false;
  hlo_node_set_attr(scatter, HLO_ATTR_scatter_dimension, dim);
  hlo_node_insert_before(own->slice, scatter);
  hlo_value_t* value = &scatter->results[0];
  if (own->reshape) value = hlo_build_reshape(own->slice, own->slice->results[0].type, value);
  if (!value) return false;
  hlo_value_replace_uses(&own->slice->results[0], value);
  hlo_node_erase(own->slice);
  if (own->reshape) hlo_node_erase(own->reshape);
  hlo_node_erase(own->reduce);
  return true;
}

static hlo_status_t create(void* context, hlo_node_t* node) {
  creator_t* c = context;
  own_slice_t own = {.slice = node};
  const hlo_module_t* module = node->parent->module;
  if (node->op != HLO_OP_dynamic_slice || !find_reduce(&own) || !find_own_slice(c, &own)) {
    return hlo_ok();
  }
  c->ctx->step_count += replace(&own);
  return hlo_module_status(module);
}

hlo_status_t hlo_pass_create_reduce_scatter(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  creator_t creator = {.ctx = ctx};
  HLO_TRY(hlo_processes_init(module, &ctx->scratch, &creator.processes));
  HLO_TRY(hlo_module_walk(module, false, create, &creator));
  return hlo_arena_status(&ctx->scratch);
}
