// SPDX-License-Identifier: Apache-2.0
// Pass lower_layouts: turns arguments and results of the entry function with another layout than
// row-major into row-major arrays of permuted dimensions, and inserts transposes between them and
// the program. Code generation fuses those as index expressions, so that reading or writing another
// layout costs no copy.
//
// "auto" is row-major for arguments. A result gets the layout that its last op requests
// (LayoutConstraint), or the layout that makes its transposes cancel.
#include <string.h>

#include "base/shape.h"
#include "ir/clone.h"
#include "ir/entry.h"
#include "ir/infer.h"
#include "passes/build.h"

// The modes of `mhlo.layout_mode`.
typedef enum layout_mode {
  LAYOUT_MODE_DEFAULT,
  LAYOUT_MODE_AUTO,
  LAYOUT_MODE_ORDER,
} layout_mode_t;

// One argument or result to be lowered.
typedef struct boundary {
  hlo_func_t* func;
  const char* what;  // "argument" or "result"
  uint32_t number;
  layout_mode_t mode;
  int64_t minor_to_major[HLO_RANK_MAX];
} boundary_t;

// ---- requested layouts

static hlo_status_t boundary_error(const boundary_t* b, hlo_status_code_t code, const char* text) {
  return hlo_status_create(code, "%s %u of @%s: %s", b->what, b->number, b->func->name, text);
}

static hlo_status_t read_mode(const hlo_attr_t* attr, const hlo_type_t* type, boundary_t* b) {
  b->mode = LAYOUT_MODE_DEFAULT;
  if (!attr) return hlo_ok();
  if (attr->kind != HLO_ATTR_KIND_STRING) {
    return boundary_error(b, HLO_STATUS_INVALID_ARGUMENT, HLO_LAYOUT_MODE_ATTR " is no string");
  }
  if (strcmp(attr->text, "default") == 0) return hlo_ok();
  if (type->kind != HLO_TYPE_TENSOR) {
    return boundary_error(b, HLO_STATUS_INVALID_ARGUMENT, "only arrays have layouts");
  }
  if (strcmp(attr->text, "auto") == 0) {
    b->mode = LAYOUT_MODE_AUTO;
    return hlo_ok();
  }
  HLO_TRY_MSG(hlo_dim_order_parse(attr->text, type->rank, b->minor_to_major), "%s %u of @%s",
              b->what, b->number, b->func->name);
  b->mode = LAYOUT_MODE_ORDER;
  return hlo_ok();
}

static const char* attr_text(const hlo_attr_t* attr) {
  return attr && attr->kind == HLO_ATTR_KIND_STRING ? attr->text : NULL;
}

static bool asks(const hlo_attr_t* attr) {
  const char* text = attr_text(attr);
  return attr && !(text && strcmp(text, "default") == 0);
}

static bool asks_for_layouts(const hlo_func_t* func) {
  const uint32_t inputs = func->type->input_count;
  bool found = false;
  for (uint32_t i = 0; i < inputs; ++i) {
    found |= asks(hlo_func_argument_attr(func, i, HLO_LAYOUT_MODE_ATTR));
  }
  for (uint32_t i = 0; i < func->type->element_count - inputs; ++i) {
    found |= asks(hlo_func_result_attr(func, i, HLO_LAYOUT_MODE_ATTR));
  }
  return found;
}

// Callers inside the module would pass and receive arrays with unpermuted dimensions.
static hlo_status_t check_not_called(void* context, hlo_node_t* node) {
  const hlo_func_t* entry = context;
  const char* callee = node->op == HLO_OP_call ? hlo_node_attr_text(node, HLO_ATTR_callee) : NULL;
  if (!callee || strcmp(callee, entry->name) != 0) return hlo_ok();
  return hlo_pass_error(node, HLO_STATUS_UNIMPLEMENTED,
                        "the entry function asks for layouts and is called as well");
}

// ---- transposes at the boundary

// Fills in the program's dimensions in memory order, the major one first.
static void major_to_minor(const boundary_t* b, uint32_t rank, int64_t* out_dims) {
  for (uint32_t i = 0; i < rank; ++i) out_dims[i] = b->minor_to_major[rank - 1 - i];
}

static hlo_status_t transpose_before(hlo_node_t* position, hlo_value_t* value,
                                     const int64_t* permutation, hlo_value_t** out_value) {
  hlo_module_t* module = position->parent->module;
  const uint32_t rank = value->type->rank;
  const hlo_named_attr_t attr = {HLO_ATTR_permutation, hlo_attr_ints(module, rank, permutation)};
  hlo_value_t* made = hlo_build_node(position, HLO_OP_transpose, value->type, 1, &value, 1, &attr);
  if (!made) return hlo_module_status(module);
  const hlo_type_t* type;
  uint32_t count;
  HLO_TRY(hlo_infer_types(module, made->def, 1, &type, &count));
  made->type = type;
  *out_value = made;
  return hlo_module_status(module);
}

// Redirects all uses to a transpose of the argument into the program's order.
static hlo_status_t lower_argument(const boundary_t* b) {
  hlo_region_t* body = b->func->body;
  hlo_value_t* arg = body->args[b->number];
  const hlo_type_t* type = arg->type;
  const uint32_t rank = type->rank;
  int64_t to_memory[HLO_RANK_MAX], to_program[HLO_RANK_MAX];
  major_to_minor(b, rank, to_memory);
  for (uint32_t i = 0; i < rank; ++i) to_program[to_memory[i]] = i;
  hlo_node_t* position = body->first;
  hlo_value_t *in_memory, *in_program;
  HLO_TRY(transpose_before(position, arg, to_memory, &in_memory));
  arg->type = in_memory->type;
  hlo_node_erase(in_memory->def);
  HLO_TRY(transpose_before(position, arg, to_program, &in_program));
  in_program->type = type;
  hlo_value_replace_uses(arg, in_program);
  hlo_node_set_operand(in_program->def, 0, arg);
  return hlo_ok();
}

static hlo_status_t lower_result(const boundary_t* b, hlo_node_t* end) {
  int64_t to_memory[HLO_RANK_MAX];
  hlo_value_t *value = hlo_node_operand(end, b->number), *in_memory;
  major_to_minor(b, value->type->rank, to_memory);
  HLO_TRY(transpose_before(end, value, to_memory, &in_memory));
  hlo_node_set_operand(end, b->number, in_memory);
  return hlo_ok();
}

// ---- automatic layouts

// Returns the layout that a LayoutConstraint custom call requests; NULL for any other node.
static const hlo_attr_t* constraint_layout(const hlo_node_t* node) {
  if (node->op != HLO_OP_custom_call || node->operand_count != 1 || node->result_count != 1) {
    return NULL;
  }
  const char* target = hlo_node_attr_text(node, HLO_ATTR_call_target_name);
  const hlo_attr_t* layouts = hlo_node_attr(node, HLO_ATTR_result_layouts);
  if (!target || strcmp(target, "LayoutConstraint") != 0 || !layouts || layouts->count != 1) {
    return NULL;
  }
  const hlo_attr_t* layout = layouts->items[0];
  const uint32_t rank = node->results[0].type->rank;
  return layout->count == rank && hlo_dim_order_is_valid(rank, layout->values) ? layout : NULL;
}

// Follows transposes from the result up to a value with a known layout: a requested one or
// row-major.
static void choose_layout(const hlo_value_t* value, int64_t* out_minor_to_major) {
  const uint32_t rank = value->type->rank;
  const hlo_attr_t* asked = NULL;
  int64_t source_dims[HLO_RANK_MAX], order[HLO_RANK_MAX];  // of the result's dimensions
  for (uint32_t d = 0; d < rank; ++d) source_dims[d] = d;
  while (value->def && !(asked = constraint_layout(value->def)) &&
         value->def->op == HLO_OP_transpose) {
    uint32_t count;
    const int64_t* permutation = hlo_node_attr_ints(value->def, HLO_ATTR_permutation, &count);
    for (uint32_t d = 0; d < rank; ++d) source_dims[d] = permutation[source_dims[d]];
    value = hlo_node_operand(value->def, 0);
  }
  hlo_dim_order_row_major(rank, order);
  for (uint32_t i = 0; i < rank; ++i) {
    const int64_t dim = asked ? asked->values[i] : order[i];
    uint32_t at = 0;
    hlo_dims_contain(source_dims, rank, dim, &at);
    out_minor_to_major[i] = at;
  }
}

// Removes constraints, which have no effect once the boundary's layouts are chosen.
static hlo_status_t drop_constraint(void* context, hlo_node_t* node) {
  hlo_pass_ctx_t* ctx = context;
  if (!constraint_layout(node) || node->extra) return hlo_ok();
  if (node->results[0].type != hlo_node_operand_type(node, 0)) return hlo_ok();
  ++ctx->step_count;
  hlo_value_replace_uses(&node->results[0], hlo_node_operand(node, 0));
  hlo_node_erase(node);
  return hlo_ok();
}

// ---- the entry function

// Returns the order as an attribute; NULL for row-major, or when memory is exhausted.
static const hlo_attr_t* order_attr(const boundary_t* b, uint32_t rank) {
  if (b->mode == LAYOUT_MODE_DEFAULT || hlo_dim_order_is_row_major(rank, b->minor_to_major)) {
    return NULL;
  }
  return hlo_attr_ints(b->func->module, rank, b->minor_to_major);
}

static hlo_status_t lower_arguments(hlo_func_t* func) {
  for (uint32_t i = 0; i < func->body->arg_count; ++i) {
    boundary_t b = {.func = func, .what = "argument", .number = i};
    const hlo_attr_t* attr = hlo_func_argument_attr(func, i, HLO_LAYOUT_MODE_ATTR);
    if (!asks(attr)) continue;
    const hlo_type_t* type = func->body->args[i]->type;
    HLO_TRY(read_mode(attr, type, &b));
    if (b.mode == LAYOUT_MODE_AUTO) hlo_dim_order_row_major(type->rank, b.minor_to_major);
    const hlo_attr_t* order = order_attr(&b, type->rank);
    if (order) HLO_TRY(lower_argument(&b));
    hlo_func_set_argument_attr(func, i, HLO_LAYOUT_MODE_ATTR, NULL);
    if (order) hlo_func_set_argument_attr(func, i, HLO_LAYOUT_ATTR, order);
    HLO_TRY(hlo_module_status(func->module));
  }
  return hlo_ok();
}

static hlo_status_t lower_results(hlo_func_t* func) {
  hlo_node_t* end = hlo_region_terminator(func->body);
  for (uint32_t i = 0; end && i < end->operand_count; ++i) {
    boundary_t b = {.func = func, .what = "result", .number = i};
    const hlo_attr_t* attr = hlo_func_result_attr(func, i, HLO_LAYOUT_MODE_ATTR);
    if (!asks(attr)) continue;
    const hlo_value_t* value = hlo_node_operand(end, i);
    HLO_TRY(read_mode(attr, value->type, &b));
    if (b.mode == LAYOUT_MODE_AUTO) choose_layout(value, b.minor_to_major);
    const hlo_attr_t* order = order_attr(&b, value->type->rank);
    if (order) HLO_TRY(lower_result(&b, end));
    hlo_func_set_result_attr(func, i, HLO_LAYOUT_MODE_ATTR, NULL);
    if (order) hlo_func_set_result_attr(func, i, HLO_LAYOUT_ATTR, order);
    HLO_TRY(hlo_module_status(func->module));
  }
  return hlo_ok();
}

static hlo_status_t lower_entry(hlo_func_t* entry) {
  HLO_TRY(hlo_module_walk(entry->module, false, check_not_called, entry));
  HLO_TRY(lower_arguments(entry));
  HLO_TRY(lower_results(entry));
  hlo_func_update_type(entry);
  return hlo_module_status(entry->module);
}

hlo_status_t hlo_pass_lower_layouts(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  hlo_func_t* entry = hlo_module_entry(module);
  if (entry && entry->body && asks_for_layouts(entry)) {
    ++ctx->step_count;
    HLO_TRY(lower_entry(entry));
  }
  return hlo_module_walk(module, false, drop_constraint, ctx);
}
