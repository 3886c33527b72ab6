// SPDX-License-Identifier: Apache-2.0
// reduce_window with windows that extend back to the beginning of a dimension, or forward to its
// end: JAX writes cumsum, cumprod, cummax and the like this way. Other windows are left to the
// caller.
#include "ir/ints.h"
#include "ir/reducer.h"
#include "lib/call_impl.h"
#include "lib/scan.h"

typedef struct {
  hlo_scan_t shape;
  const hlo_fold_t* fold;
  hlo_dtype_t dtype;  // of operand and result
  _Alignas(16) char init[16];
  size_t scratch_bytes, converted_bytes;  // converted_bytes: of the elements in the fold's type
} plan_t;

// Sets the dimension and direction of a scan; returns false for other windows.
static bool find_axis(const hlo_node_t* node, const hlo_lib_array_t* operand, uint32_t* out_axis,
                      bool* out_is_reverse) {
  const hlo_ints_t sizes = hlo_node_ints(node, HLO_ATTR_window_dimensions);
  const hlo_ints_t strides = hlo_node_ints(node, HLO_ATTR_window_strides);
  const hlo_ints_t base = hlo_node_ints(node, HLO_ATTR_base_dilations);
  const hlo_ints_t window = hlo_node_ints(node, HLO_ATTR_window_dilations);
  const hlo_ints_t padding = hlo_node_ints(node, HLO_ATTR_padding);
  uint32_t found = 0;
  for (uint32_t d = 0; d < operand->rank; d++) {
    const int64_t size = hlo_ints_at(sizes, d, 1), low = hlo_ints_at(padding, 2 * d, 0);
    const int64_t high = hlo_ints_at(padding, 2 * d + 1, 0);
    if (hlo_ints_at(strides, d, 1) != 1 || hlo_ints_at(base, d, 1) != 1) return false;
    if (size == 1 && low == 0 && high == 0) continue;
    const bool is_prefix = low == size - 1 && high == 0, is_suffix = high == size - 1 && low == 0;
    if (hlo_ints_at(window, d, 1) != 1 || size < operand->dims[d] || found++ ||
        !(is_prefix || is_suffix)) {
      return false;
    }
    *out_axis = d;
    *out_is_reverse = !is_prefix;
  }
  return found == 1;
}

// Returns true for a constant that changes nothing when it is folded in a second time.
static bool is_neutral(hlo_fold_op_t op, const hlo_node_t* init) {
  const hlo_attr_t* attr = init ? hlo_node_attr(init, HLO_ATTR_value) : NULL;
  if (!attr || init->op != HLO_OP_constant || attr->kind != HLO_ATTR_KIND_LITERAL) return false;
  const hlo_dtype_t dtype = attr->literal->dtype;
  const double value = hlo_dtype_load_double(dtype, attr->literal->data);
  switch (op) {
    case HLO_FOLD_ADD: return dtype == HLO_DTYPE_PRED || value == 0;
    case HLO_FOLD_XOR: return value == 0;
    case HLO_FOLD_MULTIPLY: return dtype == HLO_DTYPE_PRED || value == 1;
    default: return true;
  }
}

static hlo_status_t scan_run(const hlo_lib_run_t* run) {
  const plan_t* plan = run->plan;
  const hlo_lib_array_t *operand = &run->operands[0], *result = &run->results[0];
  char* memory = hlo_mem_alloc_aligned(plan->scratch_bytes + plan->converted_bytes + 1, 64);
  if (!memory) return hlo_status_out_of_memory(plan->scratch_bytes + plan->converted_bytes);
  char* converted = memory + plan->scratch_bytes;
  const size_t count = (size_t)operand->element_count;
  if (plan->converted_bytes) {
    hlo_dtype_convert(plan->dtype, operand->data, plan->fold->in, converted, count);
    hlo_scan_run(run->parallel, &plan->shape, plan->init, converted, converted, memory);
    hlo_dtype_convert(plan->fold->in, converted, plan->dtype, result->data, count);
  } else {
    hlo_scan_run(run->parallel, &plan->shape, plan->init, operand->data, result->data, memory);
  }
  hlo_mem_free(memory);
  return hlo_ok();
}

hlo_status_t hlo_lib_prepare_reduce_window(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_node_t* node = call->node;
  const hlo_lib_array_t *operand = &call->operands[0], *result = &call->results[0];
  plan_t* plan = hlo_arena_array(arena, 1, sizeof *plan);
  HLO_TRY(hlo_arena_status(arena));
  uint32_t axis = 0;
  const hlo_fold_op_t op =
      node->result_count == 1 ? hlo_fold_op_of(hlo_reduce_op(node, 0)) : HLO_FOLD_OP_COUNT;
  plan->fold = hlo_fold_find(op, operand->dtype);
  if (!plan->fold || operand->element_count == 0 || hlo_dtype_is_complex(operand->dtype) ||
      result->dtype != operand->dtype || call->operands[1].dtype != operand->dtype ||
      node->regions[0]->args[0]->type->dtype != operand->dtype ||
      !is_neutral(op, hlo_node_operand(node, 1)->def) ||
      !find_axis(node, operand, &axis, &plan->shape.is_reverse)) {
    return hlo_ok();
  }
  plan->dtype = operand->dtype;
  plan->shape.op = op;
  plan->shape.dtype = plan->fold->in;
  plan->shape.outer = plan->shape.inner = 1;
  plan->shape.length = operand->dims[axis];
  for (uint32_t d = 0; d < axis; d++) plan->shape.outer *= operand->dims[d];
  for (uint32_t d = axis + 1; d < operand->rank; d++) plan->shape.inner *= operand->dims[d];
  const hlo_attr_t* init = hlo_node_attr(hlo_node_operand(node, 1)->def, HLO_ATTR_value);
  hlo_dtype_convert(operand->dtype, init->literal->data, plan->fold->acc, plan->init, 1);
  plan->scratch_bytes = (hlo_scan_scratch_bytes(&plan->shape) + 63) & ~(size_t)63;
  if (plan->fold->in != plan->dtype) {
    plan->converted_bytes = (size_t)operand->element_count * hlo_dtype_size_bytes(plan->fold->in);
  }
  call->plan = plan;
  call->run = scan_run;
  return hlo_ok();
}
