// SPDX-License-Identifier: Apache-2.0
// Pass refine_shapes: makes dimensions static that follow from known values.
//
// One walk over the entry function in program order: it folds constants, so that computed shapes
// are known at their uses; replaces ops with computed shapes with their static forms; and refines
// types with the dims of the operands. It inlines calls, since each call may have its own shapes. A
// loop gets the shapes of its operands if every iteration returns the same shapes. A module without
// dynamic shapes is unchanged.
#include <string.h>

#include "base/tuning.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "passes/constants.h"
#include "passes/fold.h"
#include "passes/passes.h"
#include "passes/splice.h"
#include "passes/static_form.h"

enum {
  DEPTH_LIMIT = 128
};  // ops of called functions and loops; nesting of
    // regions

typedef struct refiner {
  hlo_pass_ctx_t* ctx;
  hlo_module_t* module;
  hlo_splicer_t splicer;
  uint32_t copied;
} refiner_t;

// ---- types

// Returns `type` with the known dims of `dims` merged; `type` itself if nothing new is known or
// they contradict each other.
static const hlo_type_t* refined(refiner_t* r, const hlo_type_t* type, uint32_t rank,
                                 const int64_t* dims) {
  if (type->kind != HLO_TYPE_TENSOR || type->rank != rank || hlo_type_is_static(type)) return type;
  int64_t all[HLO_RANK_MAX], bounds[HLO_RANK_MAX];
  bool is_new = false, is_bounded = false;
  for (uint32_t i = 0; i < rank; ++i) {
    bool is_known = type->dims[i] >= 0;
    if (is_known && dims[i] >= 0 && dims[i] != type->dims[i]) return type;
    is_new |= !is_known && dims[i] >= 0;
    all[i] = is_known || dims[i] < 0 ? type->dims[i] : dims[i];
    bounds[i] = type->bounds && all[i] < 0 ? type->bounds[i] : HLO_DIM_DYNAMIC;
    is_bounded |= bounds[i] >= 0;
  }
  int64_t count;
  if (!is_new || (hlo_dims_element_count(rank, all, &count) && count < 0)) return type;
  hlo_type_t fields = *type;
  fields.dims = all;
  fields.bounds = is_bounded ? bounds : NULL;
  const hlo_type_t* better = hlo_type_intern(r->module, &fields);
  return better ? better : type;  // the module records the failure
}

static void refine_value(refiner_t* r, hlo_value_t* value, uint32_t rank, const int64_t* dims) {
  const hlo_type_t* type = refined(r, value->type, rank, dims);
  r->ctx->step_count += type != value->type;
  value->type = type;
}

static void refine_value_as(refiner_t* r, hlo_value_t* value, const hlo_type_t* type) {
  if (type->kind == HLO_TYPE_TENSOR) refine_value(r, value, type->rank, type->dims);
}

// Returns true if a value of type `a` may replace one of type `b` without loss of known dims.
static bool is_as_refined(const hlo_type_t* a, const hlo_type_t* b) {
  if (a == b) return true;
  if (!hlo_types_compatible(a, b)) return false;
  for (uint32_t i = 0; i < a->rank; ++i) {
    if (a->dims[i] < 0 && b->dims[i] >= 0) return false;
  }
  return true;
}

static bool has_dynamic_result(const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    if (type->kind == HLO_TYPE_TENSOR && !hlo_type_is_static(type)) return true;
  }
  return false;
}

// ---- ops

static hlo_status_t refine_inferred(refiner_t* r, hlo_node_t* node) {
  const hlo_type_t** types = hlo_arena_array(&r->ctx->scratch, node->result_count, sizeof *types);
  if (!types) return hlo_arena_status(&r->ctx->scratch);
  uint32_t count = 0;
  hlo_status_t status = hlo_infer_types(r->module, node, node->result_count, types, &count);
  for (uint32_t i = 0; hlo_status_is_ok(status) && i < count; ++i) {
    refine_value_as(r, &node->results[i], types[i]);
  }
  hlo_status_release(status);  // an op with mismatched shapes fails at run time
  return hlo_module_status(r->module);
}

static hlo_status_t refine_results(refiner_t* r, hlo_node_t* node) {
  if (!has_dynamic_result(node)) return hlo_ok();
  const hlo_op_info_t* info = hlo_op_info(node->op);
  if (info->traits & HLO_TRAIT_ELEMENTWISE && info->infer != HLO_INFER_BROADCAST) {
    for (uint32_t i = 0; i < node->operand_count; ++i) {
      refine_value_as(r, &node->results[0], hlo_node_operand_type(node, i));
    }
    return hlo_module_status(r->module);
  }
  if (info->infer != HLO_INFER_EXPLICIT) return refine_inferred(r, node);
  uint32_t rank = 0;
  int64_t dims[HLO_RANK_MAX];
  hlo_status_t status = hlo_infer_result_dims(node, &rank, dims);
  if (hlo_status_is_ok(status)) refine_value(r, &node->results[0], rank, dims);
  hlo_status_release(status);
  return hlo_module_status(r->module);
}

// ---- calls

// Returns true if the ops of `region` may still be copied: limits the total size of copies for
// nested calls and loops.
static bool may_copy(refiner_t* r, const hlo_region_t* region) {
  const uint32_t size = hlo_splice_size(region);
  if (size > HLO_TUNING_REFINE_MAX_COPIED_OPS - r->copied) return false;
  r->copied += size;
  return true;
}

static bool may_open(refiner_t* r, const hlo_node_t* call, const hlo_func_t* callee) {
  const hlo_node_t* end = callee && callee->body ? hlo_region_terminator(callee->body) : NULL;
  if (!end || call->extra || callee == call->parent->func ||
      callee->body->arg_count != call->operand_count || end->operand_count != call->result_count) {
    return false;
  }
  for (uint32_t i = 0; i < call->operand_count; ++i) {
    if (!is_as_refined(hlo_node_operand_type(call, i), callee->body->args[i]->type)) return false;
  }
  return may_copy(r, callee->body);
}

// Replaces the call with the callee's body; the walk continues at its first node.
static hlo_status_t open_call(refiner_t* r, hlo_node_t* call, hlo_node_t** out_next) {
  const char* name = hlo_node_attr_text(call, HLO_ATTR_callee);
  const hlo_func_t* callee = name ? hlo_module_find_func(r->module, name) : NULL;
  if (!may_open(r, call, callee)) return hlo_ok();
  hlo_value_t** operands =
      hlo_arena_array(&r->ctx->scratch, call->operand_count + 1, sizeof *operands);
  if (!operands) return hlo_arena_status(&r->ctx->scratch);
  for (uint32_t i = 0; i < call->operand_count; ++i) operands[i] = hlo_node_operand(call, i);
  hlo_node_t* before = call->prev;
  hlo_region_t* region = call->parent;
  HLO_TRY(hlo_splice(&r->splicer, callee->body, operands, call, NULL, NULL));
  for (uint32_t i = 0; i < call->result_count; ++i) {
    hlo_value_replace_uses(&call->results[i], hlo_splice_result(&r->splicer, callee->body, i));
  }
  hlo_node_erase(call);
  *out_next = before ? before->next : region->first;
  ++r->ctx->step_count;
  return hlo_module_status(r->module);
}

// ---- control flow

static hlo_status_t refine_region(refiner_t* r, hlo_region_t* region, uint32_t depth);

static hlo_status_t refine_branches(refiner_t* r, hlo_node_t* node, uint32_t depth) {
  for (uint32_t i = 0; i < node->region_count; ++i) {
    HLO_TRY(refine_region(r, node->regions[i], depth + 1));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = NULL;
    bool is_same = true;
    for (uint32_t b = 0; b < node->region_count; ++b) {
      const hlo_node_t* end = hlo_region_terminator(node->regions[b]);
      const hlo_type_t* mine = hlo_node_operand_type(end, i);
      is_same &= !type || type == mine;
      type = mine;
    }
    if (type && is_same) refine_value_as(r, &node->results[i], type);
  }
  return hlo_module_status(r->module);
}

static hlo_status_t refine_loop_regions(refiner_t* r, hlo_node_t* loop, uint32_t depth) {
  HLO_TRY(refine_region(r, loop->regions[0], depth + 1));
  return refine_region(r, loop->regions[1], depth + 1);
}

static bool learns_from_operands(const hlo_node_t* loop) {
  bool learns = false;
  for (uint32_t i = 0; i < loop->operand_count; ++i) {
    const hlo_type_t *want = loop->results[i].type, *have = hlo_node_operand_type(loop, i);
    if (!is_as_refined(have, want)) return false;
    learns |= !is_as_refined(want, have);
  }
  return learns;
}

static bool keeps_shapes(const hlo_node_t* loop) {
  const hlo_node_t* end = hlo_region_terminator(loop->regions[1]);
  for (uint32_t i = 0; i < loop->operand_count; ++i) {
    if (!is_as_refined(hlo_node_operand_type(end, i), hlo_node_operand_type(loop, i))) return false;
  }
  return true;
}

// Refines the loop as if it kept the shapes of its operands. If an iteration then returns other
// shapes, the copy made before replaces the loop.
static hlo_status_t refine_loop(refiner_t* r, hlo_node_t* loop, uint32_t depth) {
  if (!learns_from_operands(loop) || !may_copy(r, loop->regions[0]) ||
      !may_copy(r, loop->regions[1])) {
    return refine_loop_regions(r, loop, depth);
  }
  hlo_region_t* aside = hlo_region_create(r->module, loop->parent->func, NULL);
  hlo_value_map_t none = {0};
  hlo_node_t* copy = aside ? hlo_node_clone(aside, loop, &none) : NULL;
  if (!copy || hlo_node_is_poison(copy)) return hlo_module_status(r->module);
  hlo_node_unlink(copy);
  const uint32_t step_count = r->ctx->step_count;
  for (uint32_t i = 0; i < loop->operand_count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(loop, i);
    loop->regions[0]->args[i]->type = loop->regions[1]->args[i]->type = type;
    loop->results[i].type = type;
  }
  HLO_TRY(refine_loop_regions(r, loop, depth));
  if (keeps_shapes(loop)) {
    hlo_node_erase(copy);
    ++r->ctx->step_count;
    return hlo_ok();
  }
  hlo_node_insert_before(loop, copy);
  for (uint32_t i = 0; i < loop->result_count; ++i) {
    hlo_value_replace_uses(&loop->results[i], &copy->results[i]);
  }
  hlo_node_erase(loop);
  r->ctx->step_count = step_count;
  return refine_loop_regions(r, copy, depth);
}

// ---- traversal

// Returns true for a @shape_assertion that holds.
static bool is_true_assertion(const hlo_node_t* node) {
  if (node->op != HLO_OP_custom_call || node->operand_count == 0 || node->result_count > 0) {
    return false;
  }
  const char* target = hlo_node_attr_text(node, HLO_ATTR_call_target_name);
  const hlo_literal_t* holds = hlo_constant_literal(hlo_node_operand(node, 0));
  return target && strcmp(target, "shape_assertion") == 0 && holds &&
         holds->dtype == HLO_DTYPE_PRED && holds->element_count == 1 &&
         *(const uint8_t*)holds->data;
}

static hlo_status_t refine_node(refiner_t* r, hlo_node_t* node, uint32_t depth,
                                hlo_node_t** out_next) {
  switch (node->op) {
    case HLO_OP_call: return open_call(r, node, out_next);
    case HLO_OP_while: return refine_loop(r, node, depth);
    case HLO_OP_if:
    case HLO_OP_case: return refine_branches(r, node, depth);
    default: break;
  }
  if (is_true_assertion(node)) {
    hlo_node_erase(node);
    ++r->ctx->step_count;
    return hlo_ok();
  }
  hlo_value_t* value = hlo_static_form(node);
  hlo_node_t* made = value ? value->def : hlo_static_call(node, &r->splicer);
  HLO_TRY(hlo_module_status(r->module));
  if (value || made) {
    for (uint32_t i = 0; i < node->result_count; ++i) {
      hlo_value_replace_uses(&node->results[i], value ? value : &made->results[i]);
    }
    hlo_node_erase(node);
    ++r->ctx->step_count;
    if (!made || made->next != *out_next) return hlo_ok();  // it existed before
    node = made;
  }
  HLO_TRY(refine_results(r, node));
  bool is_folded;
  return hlo_fold_node(r->ctx, node, &is_folded);
}

static hlo_status_t refine_region(refiner_t* r, hlo_region_t* region, uint32_t depth) {
  if (depth > DEPTH_LIMIT) return hlo_ok();
  for (hlo_node_t *node = region->first, *next; node; node = next) {
    next = node->next;
    HLO_TRY(refine_node(r, node, depth, &next));
  }
  return hlo_ok();
}

// ---- modules

static hlo_status_t look_for_dynamic(void* context, hlo_node_t* node) {
  *(bool*)context |= has_dynamic_result(node);
  return hlo_ok();
}

bool hlo_module_has_dynamic_shapes(hlo_module_t* module) {
  bool is_found = false;
  hlo_status_release(hlo_module_walk(module, false, look_for_dynamic, &is_found));
  return is_found;
}

typedef struct caller_search {
  const char* name;
  bool is_found;
} caller_search_t;

static hlo_status_t look_for_call(void* context, hlo_node_t* node) {
  caller_search_t* search = context;
  const char* name = node->op == HLO_OP_call ? hlo_node_attr_text(node, HLO_ATTR_callee) : NULL;
  search->is_found |= name && strcmp(name, search->name) == 0;
  return hlo_ok();
}

hlo_status_t hlo_pass_refine_shapes(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  hlo_func_t* entry = hlo_module_entry(module);
  if (!entry || !entry->body || !hlo_module_has_dynamic_shapes(module)) return hlo_ok();
  caller_search_t search = {.name = entry->name};
  HLO_TRY(hlo_module_walk(module, false, look_for_call, &search));
  if (search.is_found) return hlo_ok();  // callers rely on its type
  refiner_t refiner = {.ctx = ctx, .module = module, .splicer.arena = &ctx->scratch};
  HLO_TRY(refine_region(&refiner, entry->body, 0));
  hlo_func_update_type(entry);
  return hlo_module_status(module);
}
