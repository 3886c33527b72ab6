// SPDX-License-Identifier: Apache-2.0
// Rules of control flow, calls, custom calls, asynchronous ops and the test dialects.

#include "ir/infer_impl.h"

// Compares the type of value `i` of `what`, such as "a branch's value", with the expected type.
static void verify_type(hlo_verify_t* verify, const hlo_node_t* node, const char* what, uint32_t i,
                        const hlo_type_t* a, const hlo_type_t* b) {
  if (!hlo_types_compatible(a, b)) {
    hlo_verify_fault(verify, node, "%s %u does not have the expected type", what, i);
  }
}

// The region must return the node's results.
static void verify_branch(hlo_verify_t* verify, const hlo_node_t* node,
                          const hlo_region_t* region) {
  const hlo_node_t* end = hlo_region_terminator(region);
  if (region->arg_count != 0) hlo_verify_fault(verify, node, "a branch has arguments");
  if (!end || end->operand_count != node->result_count) {
    hlo_verify_fault(verify, node, "a branch does not return %u values", node->result_count);
    return;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    verify_type(verify, node, "a branch's value", i, hlo_node_operand_type(end, i),
                node->results[i].type);
  }
}

static void verify_scalar(hlo_verify_t* verify, const hlo_node_t* node, hlo_dtype_t dtype) {
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  if (!hlo_type_is_tensor(type) || type->rank != 0 || type->dtype != dtype) {
    hlo_verify_fault(verify, node, "operand 0 is not a scalar of type %s",
                     hlo_dtype_info(dtype)->mlir_name);
  }
}

void hlo_verify_if(hlo_verify_t* verify, const hlo_node_t* node) {
  verify_scalar(verify, node, HLO_DTYPE_PRED);
  verify_branch(verify, node, node->regions[0]);
  verify_branch(verify, node, node->regions[1]);
}

void hlo_verify_case(hlo_verify_t* verify, const hlo_node_t* node) {
  verify_scalar(verify, node, HLO_DTYPE_S32);
  if (node->region_count == 0) hlo_verify_fault(verify, node, "has no branch");
  for (uint32_t i = 0; i < node->region_count; ++i) verify_branch(verify, node, node->regions[i]);
}

void hlo_verify_while(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_region_t *cond = node->regions[0], *body = node->regions[1];
  uint32_t count = node->operand_count;
  const hlo_node_t *cond_end = hlo_region_terminator(cond), *end = hlo_region_terminator(body);
  if (node->result_count != count || cond->arg_count != count || body->arg_count != count || !end ||
      end->operand_count != count || !cond_end || cond_end->operand_count != 1) {
    hlo_verify_fault(verify, node, "operands, results and the regions' values differ in number");
    return;
  }
  const hlo_type_t* pred = hlo_node_operand_type(cond_end, 0);
  if (!hlo_type_is_tensor(pred) || pred->rank != 0 || pred->dtype != HLO_DTYPE_PRED) {
    hlo_verify_fault(verify, node, "the condition does not return a scalar i1");
  }
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    verify_type(verify, node, "result", i, node->results[i].type, type);
    verify_type(verify, node, "the condition's argument", i, cond->args[i]->type, type);
    verify_type(verify, node, "the body's argument", i, body->args[i]->type, type);
    verify_type(verify, node, "the body's result", i, hlo_node_operand_type(end, i), type);
  }
}

// Returns the type of the named function; a missing one is a fault, and NULL.
static const hlo_type_t* find_callee(hlo_verify_t* verify, const hlo_node_t* node,
                                     const char* name) {
  const hlo_func_t* func = name ? hlo_module_find_func(verify->module, name) : NULL;
  if (func) return func->type;
  hlo_verify_fault(verify, node, "no function @%s in the module", name ? name : "");
  return NULL;
}

// Operands and results must match the named function.
static void verify_callee(hlo_verify_t* verify, const hlo_node_t* node, hlo_attr_id_t id) {
  const char* name = hlo_node_attr_text(node, id);
  const hlo_type_t* type = find_callee(verify, node, name);
  if (!type) return;
  if (type->input_count != node->operand_count ||
      type->element_count - type->input_count != node->result_count) {
    hlo_verify_fault(verify, node, "@%s has %u arguments and returns %u values, not %u and %u",
                     name, type->input_count, type->element_count - type->input_count,
                     node->operand_count, node->result_count);
    return;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    verify_type(verify, node, "operand", i, hlo_node_operand_type(node, i), type->elements[i]);
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    verify_type(verify, node, "result", i, node->results[i].type,
                type->elements[type->input_count + i]);
  }
}

void hlo_verify_call(hlo_verify_t* verify, const hlo_node_t* node) {
  verify_callee(verify, node, HLO_ATTR_callee);
}

void hlo_verify_composite(hlo_verify_t* verify, const hlo_node_t* node) {
  verify_callee(verify, node, HLO_ATTR_decomposition);
}

void hlo_verify_sdy_manual_computation(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  if (body->arg_count != node->operand_count || !end || end->operand_count != node->result_count) {
    hlo_verify_fault(verify, node, "the body does not match operands and results");
  }
}

HLO_VERIFY_AS(hlo_fusion, hlo_verify_sdy_manual_computation)

// A terminator ends its region; the owner of the region checks the returned values.
static void verify_end(hlo_verify_t* verify, const hlo_node_t* node) {
  if (node->next) hlo_verify_fault(verify, node, "is not the last op of its region");
}
HLO_VERIFY_AS(return, verify_end)
HLO_VERIFY_AS(func_return, verify_end)
HLO_VERIFY_AS(sdy_return, verify_end)

void hlo_verify_sdy_mesh(hlo_verify_t* verify, const hlo_node_t* node) {
  if (node->parent != verify->module->top) hlo_verify_fault(verify, node, "is not at module level");
}

void hlo_verify_sdy_sharding_group(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!hlo_type_is_tensor(hlo_node_operand_type(node, 0))) {
    hlo_verify_fault(verify, node, "the operand is not a tensor");
  }
}

// ---- asynchronous ops

void hlo_verify_async_start(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_region_t* body = node->regions[0];
  if (node->results[0].type->kind != HLO_TYPE_FUTURE) {
    hlo_verify_fault(verify, node, "the result is not a future");
    return;
  }
  const hlo_node_t* end = hlo_region_terminator(body);
  bool own = body->arg_count == node->operand_count || body->arg_count == 0;
  if (!own || !end || end->operand_count != node->results[0].type->element_count) {
    hlo_verify_fault(verify, node, "the body does not match operands and future");
    return;
  }
  for (uint32_t i = 0; i < body->arg_count; ++i) {
    verify_type(verify, node, "the body's argument", i, body->args[i]->type,
                hlo_node_operand_type(node, i));
  }
  for (uint32_t i = 0; i < end->operand_count; ++i) {
    verify_type(verify, node, "the body's result", i, hlo_node_operand_type(end, i),
                node->results[0].type->elements[i]);
  }
}

// The computation is a region or a function, whatever its thread of execution.
void hlo_verify_hlo_async_start(hlo_verify_t* verify, const hlo_node_t* node) {
  const char* name = hlo_node_attr_text(node, HLO_ATTR_callee);
  const hlo_type_t* future = node->results[0].type;
  if (node->region_count != !name) {
    hlo_verify_fault(verify, node, "expected either one region or a callee");
    return;
  }
  if (!name) {
    hlo_verify_async_start(verify, node);
    return;
  }
  const hlo_type_t* type = find_callee(verify, node, name);
  if (!type) return;
  if (future->kind != HLO_TYPE_FUTURE || type->input_count != node->operand_count ||
      type->element_count - type->input_count != future->element_count) {
    hlo_verify_fault(verify, node, "@%s does not match operands and future", name);
    return;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    verify_type(verify, node, "operand", i, hlo_node_operand_type(node, i), type->elements[i]);
  }
  for (uint32_t i = 0; i < future->element_count; ++i) {
    verify_type(verify, node, "value of the future", i, future->elements[i],
                type->elements[type->input_count + i]);
  }
}

void hlo_verify_async_done(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_type_t* future = hlo_node_operand_type(node, 0);
  if (future->kind != HLO_TYPE_FUTURE || future->element_count != node->result_count) {
    hlo_verify_fault(verify, node, "operand 0 is not a future of %u values", node->result_count);
    return;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    verify_type(verify, node, "result", i, node->results[i].type, future->elements[i]);
  }
}

// The token is the first operand and the last result.
static void verify_token_pair(hlo_verify_t* verify, const hlo_node_t* node) {
  bool in = node->operand_count && hlo_node_operand_type(node, 0)->kind == HLO_TYPE_TOKEN;
  bool out =
      node->result_count && node->results[node->result_count - 1].type->kind == HLO_TYPE_TOKEN;
  if (!in || !out)
    hlo_verify_fault(verify, node, "does not have a token as first operand and last result");
}
HLO_VERIFY_AS(infeed, verify_token_pair)
HLO_VERIFY_AS(recv, verify_token_pair)

// HLO's own asynchronous ops carry any types: readers create matching ones, and a pass converts the
// ops to StableHLO's forms before a back end sees them.
static void verify_nothing(HLO_UNUSED hlo_verify_t* verify, HLO_UNUSED const hlo_node_t* node) {}
HLO_VERIFY_AS(custom_call, verify_nothing)  // as upstream, it may call functions of no module
HLO_VERIFY_AS(hlo_async_done, verify_nothing)
HLO_VERIFY_AS(hlo_copy_start, verify_nothing)
HLO_VERIFY_AS(hlo_copy_done, verify_nothing)
HLO_VERIFY_AS(hlo_send_done, verify_nothing)
HLO_VERIFY_AS(hlo_recv_done, verify_nothing)
HLO_VERIFY_AS(hlo_rng_get_and_update_state, verify_nothing)
HLO_VERIFY_AS(interpreter_run_parallel, verify_nothing)

// ---- scan

void hlo_verify_chlo_scan(hlo_verify_t* verify, const hlo_node_t* node) {
  uint32_t first, inputs, inits_first, inits;
  if (!hlo_node_operand_segment(node, 0, &first, &inputs) ||
      !hlo_node_operand_segment(node, 1, &inits_first, &inits)) {
    hlo_verify_fault(verify, node, "operands do not divide into inputs and inits");
    return;
  }
  const hlo_region_t* body = node->regions[0];
  const hlo_node_t* end = hlo_region_terminator(body);
  if (body->arg_count != inputs + inits || !end || end->operand_count != node->result_count ||
      node->result_count < inits) {
    hlo_verify_fault(verify, node, "the body does not match operands and results");
    return;
  }
  int64_t dim = hlo_node_attr_int(node, HLO_ATTR_dimension, 0), length = HLO_DIM_DYNAMIC;
  for (uint32_t i = 0; i < inputs; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (dim < 0 || dim >= type->rank || !hlo_dims_agree(type->dims[dim], length)) {
      hlo_verify_fault(verify, node, "input %u does not have the scanned dimension", i);
      return;
    }
    length = hlo_dim_meet(length, type->dims[dim]);
  }
  for (uint32_t i = 0; i < inits; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, inits_first + i);
    uint32_t r = node->result_count - inits + i;
    verify_type(verify, node, "the body's carry", i, body->args[inputs + i]->type, type);
    verify_type(verify, node, "the body's result", r, hlo_node_operand_type(end, r), type);
    verify_type(verify, node, "result", r, node->results[r].type, type);
  }
}

// ---- checks of the test dialects

static void verify_alike(hlo_verify_t* verify, const hlo_node_t* node) {
  verify_type(verify, node, "operand", 1, hlo_node_operand_type(node, 1),
              hlo_node_operand_type(node, 0));
}
static void verify_alike_value(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_attr_t* value = hlo_node_attr(node, HLO_ATTR_value);
  if (!hlo_types_compatible(value->type, hlo_node_operand_type(node, 0))) {
    hlo_verify_fault(verify, node, "operand and value differ in type");
  }
}
HLO_VERIFY_AS(check_expect_eq, verify_alike)
HLO_VERIFY_AS(check_expect_almost_eq, verify_alike)
HLO_VERIFY_AS(check_expect_close, verify_alike)
HLO_VERIFY_AS(check_expect_eq_const, verify_alike_value)
HLO_VERIFY_AS(check_expect_almost_eq_const, verify_alike_value)
HLO_VERIFY_AS(check_expect_serialized_eq, verify_nothing)
HLO_VERIFY_AS(interpreter_print, verify_nothing)
