// SPDX-License-Identifier: Apache-2.0
// The verifier: the generic rules of every op's table row, then the rules of hlo_verify_<op>().
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ir/infer.h"
#include "ir/print.h"

void hlo_verify_fault(hlo_verify_t* verify, const hlo_node_t* node, const char* format, ...) {
  char message[900];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  HLO_SCOPED_STRBUF location = {0};
  hlo_loc_format(verify->module, node->loc, &location);
  hlo_diag_error_at(verify->diag, hlo_strbuf_text(&location), "%s: %s", hlo_op_info(node->op)->name,
                    message);
}

// ---- attributes by form

static bool is_ints(const hlo_attr_t* attr, bool matrix) {
  return attr->kind == HLO_ATTR_KIND_INTS && (!matrix || attr->count == 0 || attr->cols > 0);
}

static bool is_enum(const hlo_attr_t* attr, hlo_enum_kind_t kind) {
  return attr->kind == HLO_ATTR_KIND_ENUM && attr->enum_kind == kind &&
         hlo_enum_case_name(kind, attr->i) != NULL;
}

static bool is_array_of(const hlo_attr_t* attr, bool (*item)(const hlo_attr_t* item)) {
  if (attr->kind != HLO_ATTR_KIND_ARRAY) return false;
  for (uint32_t i = 0; i < attr->count; ++i) {
    if (!item(attr->items[i])) return false;
  }
  return true;
}

static bool is_symbol(const hlo_attr_t* item) {
  return item->kind == HLO_ATTR_KIND_SYMBOL;
}
static bool is_layout(const hlo_attr_t* item) {
  return item->kind == HLO_ATTR_KIND_INTS;
}
static bool is_precision(const hlo_attr_t* item) {
  return is_enum(item, HLO_ENUM_PRECISION);
}

static bool has_form(const hlo_attr_t* attr, hlo_attr_form_t form) {
  switch (form) {
    case HLO_ATTR_FORM_I64:
    case HLO_ATTR_FORM_U64:
    case HLO_ATTR_FORM_I32:
      return attr->kind == HLO_ATTR_KIND_INT || is_enum(attr, HLO_ENUM_CUSTOM_CALL_API_VERSION);
    case HLO_ATTR_FORM_BOOL: return attr->kind == HLO_ATTR_KIND_BOOL;
    case HLO_ATTR_FORM_F32: return attr->kind == HLO_ATTR_KIND_FLOAT;
    case HLO_ATTR_FORM_STRING: return attr->kind == HLO_ATTR_KIND_STRING;
    case HLO_ATTR_FORM_SYMBOL: return attr->kind == HLO_ATTR_KIND_SYMBOL;
    case HLO_ATTR_FORM_SYMBOLS: return is_array_of(attr, is_symbol);
    case HLO_ATTR_FORM_TYPE:  // tf32 is text, not an element type
      return attr->kind == HLO_ATTR_KIND_TYPE || attr->kind == HLO_ATTR_KIND_OPAQUE;
    case HLO_ATTR_FORM_UNIT:
      return attr->kind == HLO_ATTR_KIND_UNIT || attr->kind == HLO_ATTR_KIND_BOOL;
    case HLO_ATTR_FORM_DICT: return attr->kind == HLO_ATTR_KIND_DICT;
    case HLO_ATTR_FORM_LITERAL: return attr->kind == HLO_ATTR_KIND_LITERAL;
    case HLO_ATTR_FORM_DIMS:
    case HLO_ATTR_FORM_BOOLS: return is_ints(attr, false);
    case HLO_ATTR_FORM_PAIRS: return is_ints(attr, true) && (attr->count == 0 || attr->cols == 2);
    case HLO_ATTR_FORM_MATRIX: return is_ints(attr, true) || attr->kind == HLO_ATTR_KIND_OPAQUE;
    case HLO_ATTR_FORM_LAYOUTS: return is_array_of(attr, is_layout);
    case HLO_ATTR_FORM_PRECISIONS: return is_array_of(attr, is_precision);
    case HLO_ATTR_FORM_ENUM_COMPARISON_DIRECTION:
      return is_enum(attr, HLO_ENUM_COMPARISON_DIRECTION);
    case HLO_ATTR_FORM_ENUM_COMPARISON_TYPE: return is_enum(attr, HLO_ENUM_COMPARISON_TYPE);
    case HLO_ATTR_FORM_ENUM_FFT_TYPE: return is_enum(attr, HLO_ENUM_FFT_TYPE);
    case HLO_ATTR_FORM_ENUM_RNG_ALGORITHM: return is_enum(attr, HLO_ENUM_RNG_ALGORITHM);
    case HLO_ATTR_FORM_ENUM_RNG_DISTRIBUTION: return is_enum(attr, HLO_ENUM_RNG_DISTRIBUTION);
    case HLO_ATTR_FORM_ENUM_TRANSPOSE: return is_enum(attr, HLO_ENUM_TRANSPOSE);
    case HLO_ATTR_FORM_ALIASES:
    case HLO_ATTR_FORM_ANY: return true;
  }
  return false;
}

static bool verify_attrs(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_op_info_t* info = hlo_op_info(node->op);
  bool ok = true;
  for (uint32_t i = 0; i < info->attr_count; ++i) {
    const char* name = hlo_attr_name(info->attrs[i].id);
    if (!node->attrs[i]) {
      if (!info->attrs[i].required) continue;
      hlo_verify_fault(verify, node, "attribute %s is missing", name);
      ok = false;
    } else if (!has_form(node->attrs[i], hlo_attr_form(info->attrs[i].id))) {
      hlo_verify_fault(verify, node, "attribute %s is of the wrong kind", name);
      ok = false;
    }
  }
  return ok;
}

// ---- operands, results, regions by the table

static void count_ports(const hlo_port_t* ports, uint32_t port_count, uint32_t* fixed,
                        bool* variadic) {
  *fixed = 0;
  *variadic = false;
  for (uint32_t i = 0; i < port_count; ++i) {
    if (ports[i].arity == HLO_ARITY_ONE) {
      ++*fixed;
    } else {
      *variadic = true;
    }
  }
}

static bool verify_arity(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_op_info_t* info = hlo_op_info(node->op);
  uint32_t fixed, first, count;
  bool variadic, ok = true;
  count_ports(info->operands, info->operand_count, &fixed, &variadic);
  if (node->operand_count < fixed || (!variadic && node->operand_count != fixed)) {
    hlo_verify_fault(verify, node, "has %u operands, %s%u expected", node->operand_count,
                     variadic ? "at least " : "", fixed);
    ok = false;
  } else if (info->operand_count && !hlo_node_operand_segment(node, 0, &first, &count)) {
    hlo_verify_fault(verify, node, "%u operands do not divide into the op's operand groups",
                     node->operand_count);
    ok = false;
  }
  count_ports(info->results, info->result_count, &fixed, &variadic);
  if (node->result_count < fixed || (!variadic && node->result_count != fixed)) {
    hlo_verify_fault(verify, node, "has %u results, %s%u expected", node->result_count,
                     variadic ? "at least " : "", fixed);
    ok = false;
  }
  if (info->region_count >= 0 && node->region_count != (uint32_t)info->region_count) {
    hlo_verify_fault(verify, node, "has %u regions, %d expected", node->region_count,
                     info->region_count);
    ok = false;
  }
  return ok;
}

// ---- rules of single ops

typedef void (*verifier_t)(hlo_verify_t* verify, const hlo_node_t* node);

// Results of SAME and CUSTOM ops must agree with inference.
static void verify_inferred(hlo_verify_t* verify, const hlo_node_t* node) {
  enum { FEW = 8 };
  const hlo_type_t* few[FEW];
  uint32_t count = 0;
  hlo_module_t* module = (hlo_module_t*)verify->module;  // inference only interns types
  const hlo_type_t** types = few;
  if (node->result_count > FEW) {
    types = hlo_mem_alloc(node->result_count * sizeof *types);
    if (!types) return;
  }
  uint32_t capacity = node->result_count > FEW ? node->result_count : FEW;
  hlo_status_t status = hlo_infer_types(module, node, capacity, types, &count);
  if (!hlo_status_is_ok(status)) {
    hlo_verify_fault(verify, node, "%s", hlo_status_message(status));
    hlo_status_release(status);
  } else if (count != node->result_count) {
    hlo_verify_fault(verify, node, "has %u results, but its operands determine %u",
                     node->result_count, count);
  }
  for (uint32_t i = 0; i < count && i < node->result_count; ++i) {
    if (hlo_types_compatible(types[i], node->results[i].type)) continue;
    HLO_SCOPED_STRBUF want = {0}, found = {0};
    hlo_print_type(types[i], &want);
    hlo_print_type(node->results[i].type, &found);
    hlo_verify_fault(verify, node, "result %u is %s, but its operands determine %s", i,
                     hlo_strbuf_text(&found), hlo_strbuf_text(&want));
  }
  if (types != few) hlo_mem_free(types);
}

#define HLO_VERIFIER_SAME(id) verify_inferred
#define HLO_VERIFIER_BROADCAST(id) verify_inferred
#define HLO_VERIFIER_CUSTOM(id) verify_inferred
#define HLO_VERIFIER_EXPLICIT(id) hlo_verify_##id
#define HLO_VERIFIER_NONE(id) hlo_verify_##id
static const verifier_t kVerifiers[] = {
#define HLO_OP(id, mlir, hlo, infer, ...) HLO_VERIFIER_##infer(id),
#include "ir/ops.def"
#undef HLO_OP
};

// The sizes of tensors must not overflow either.
static bool verify_tensors(hlo_verify_t* verify, const hlo_node_t* node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!hlo_type_is_tensor(hlo_node_operand_type(node, i))) {
      hlo_verify_fault(verify, node, "operand %u is not a tensor", i);
      return false;
    }
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const hlo_type_t* type = node->results[i].type;
    if (!hlo_type_is_tensor(type)) {
      hlo_verify_fault(verify, node, "result %u is not a tensor", i);
      return false;
    }
    if (hlo_type_is_static(type) && hlo_type_size_bytes(type) == SIZE_MAX) {
      hlo_verify_fault(verify, node, "result %u has too many elements", i);
      return false;
    }
  }
  return true;
}

// The op's own rules, after the generic ones.
static void verify_rules(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!hlo_op_has(node->op, HLO_TRAIT_TENSORS) || verify_tensors(verify, node)) {
    kVerifiers[node->op](verify, node);
  }
}

bool hlo_node_is_valid(const hlo_node_t* node) {
  hlo_diag_t diag;
  hlo_diag_init(&diag, NULL, NULL, 0);
  hlo_verify_t verify = {.module = node->parent->module, .func = node->parent->func, .diag = &diag};
  bool is_valid = verify_arity(&verify, node) && verify_attrs(&verify, node);
  if (is_valid) verify_rules(&verify, node);
  is_valid = is_valid && diag.error_count == 0;
  hlo_diag_deinit(&diag);
  return is_valid;
}

// ---- order of definitions: `defined` marks the values that are defined and in scope

typedef struct scope {
  hlo_verify_t* verify;
  uint8_t* defined;
} scope_t;

static void verify_region(scope_t* scope, const hlo_region_t* region);

static bool verify_operands(scope_t* scope, const hlo_node_t* node) {
  bool ok = true;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!scope->defined[hlo_node_operand(node, i)->index]) {
      hlo_verify_fault(scope->verify, node, "operand %u is used before its definition", i);
      ok = false;
    }
  }
  return ok;
}

static void verify_node(scope_t* scope, const hlo_node_t* node) {
  bool ok = verify_operands(scope, node);
  ok = verify_arity(scope->verify, node) && ok;
  ok = verify_attrs(scope->verify, node) && ok;
  uint32_t errors = scope->verify->diag->error_count;
  for (uint32_t i = 0; i < node->region_count; ++i) verify_region(scope, node->regions[i]);
  // The op's own rules may rely on all earlier checks, including those of its regions.
  if (ok && scope->verify->diag->error_count == errors) verify_rules(scope->verify, node);
  for (uint32_t i = 0; i < node->result_count; ++i) scope->defined[node->results[i].index] = 1;
}

static void verify_region(scope_t* scope, const hlo_region_t* region) {
  for (uint32_t i = 0; i < region->arg_count; ++i) scope->defined[region->args[i]->index] = 1;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    verify_node(scope, node);
    bool ends = hlo_op_info(node->op)->traits & HLO_TRAIT_TERMINATOR;
    if (ends && node->next) hlo_verify_fault(scope->verify, node, "is not the last of its region");
  }
  if (region->parent && region->first && !hlo_region_terminator(region)) {
    hlo_verify_fault(scope->verify, region->parent, "a region does not end in a return");
  }
  // These values leave their scope: later regions must not use them.
  for (uint32_t i = 0; i < region->arg_count; ++i) scope->defined[region->args[i]->index] = 0;
  for (const hlo_node_t* node = region->first; node; node = node->next) {
    for (uint32_t i = 0; i < node->result_count; ++i) scope->defined[node->results[i].index] = 0;
  }
}

// ---- functions

static void func_fault(hlo_verify_t* verify, const hlo_func_t* func, const char* message) {
  HLO_SCOPED_STRBUF location = {0};
  hlo_loc_format(verify->module, func->loc, &location);
  hlo_diag_error_at(verify->diag, hlo_strbuf_text(&location), "function @%s: %s", func->name,
                    message);
}

static void verify_signature(hlo_verify_t* verify, const hlo_func_t* func) {
  const hlo_type_t* type = func->type;
  const hlo_node_t* end = hlo_region_terminator(func->body);
  if (!end) {
    func_fault(verify, func, "the body does not end in a return");
    return;
  }
  uint32_t results = type->element_count - type->input_count;
  if (end->operand_count != results) {
    hlo_verify_fault(verify, end, "returns %u values, the function has %u results",
                     end->operand_count, results);
    return;
  }
  for (uint32_t i = 0; i < results; ++i) {
    if (hlo_node_operand_type(end, i) != type->elements[type->input_count + i]) {
      hlo_verify_fault(verify, end, "value %u does not have the function's result type", i);
    }
  }
}

static void verify_func(scope_t* scope, const hlo_func_t* func) {
  if (hlo_module_find_func(scope->verify->module, func->name) != func) {
    func_fault(scope->verify, func, "another function has the same name");
  }
  if (!func->body) return;
  scope->verify->func = func;
  verify_region(scope, func->body);
  verify_signature(scope->verify, func);
}

static hlo_status_t verify_module(const hlo_module_t* module, hlo_diag_t* diag) {
  hlo_verify_t verify = {.module = module, .diag = diag};
  scope_t scope = {&verify, hlo_mem_alloc_zeroed(module->value_count + 1)};
  if (!scope.defined) return hlo_status_out_of_memory(module->value_count);
  verify_region(&scope, module->top);
  for (const hlo_func_t* func = module->first_func; func; func = func->next) {
    verify_func(&scope, func);
  }
  hlo_mem_free(scope.defined);
  return hlo_diag_status(diag);
}

hlo_status_t hlo_module_verify(const hlo_module_t* module, hlo_diag_t* diag) {
  HLO_TRY(hlo_module_status(module));
  if (diag) return verify_module(module, diag);
  hlo_diag_t own;
  hlo_diag_init(&own, NULL, NULL, 0);
  hlo_status_t status = verify_module(module, &own);
  hlo_diag_deinit(&own);
  return status;
}
