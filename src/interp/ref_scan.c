// SPDX-License-Identifier: Apache-2.0
// chlo.scan: the body runs once per index of a dimension on slices of the inputs, with
// carried values.
#include <string.h>

#include "base/mem.h"
#include "interp/eval_impl.h"

/// The operands of a scan: inputs then carried values; its results: outputs then carried values.
typedef struct scan {
  const hlo_node_t* node;
  uint32_t input_count, carry_count, output_count;
  uint32_t axis;
  int64_t steps;
  hlo_tensor_t** args;   // of the body: slices, carried values
  hlo_tensor_t** found;  // results of the body: slices of outputs, carried values
} scan_t;

static hlo_status_t bad_scan(const hlo_node_t* node) {
  return hlo_node_invalid(node, "operands, results and body do not match");
}

// Copies slice `step` between `whole` and `slice` (whole without the dimension).
static void copy_slice(hlo_tensor_t* whole, uint32_t axis, int64_t step, hlo_tensor_t* slice,
                       bool into_whole) {
  size_t outer = 1, inner = hlo_dtype_size_bytes(whole->dtype);
  for (uint32_t d = 0; d < axis; ++d) outer *= (size_t)whole->dims[d];
  for (uint32_t d = axis + 1; d < whole->rank; ++d) inner *= (size_t)whole->dims[d];
  for (size_t i = 0; i < outer; ++i) {
    uint8_t* place = (uint8_t*)whole->data + (i * (size_t)whole->dims[axis] + (size_t)step) * inner;
    uint8_t* part = (uint8_t*)slice->data + i * inner;
    memcpy(into_whole ? place : part, into_whole ? part : place, inner);
  }
}

static void dims_without(const hlo_tensor_t* whole, uint32_t axis, int64_t* out_dims) {
  for (uint32_t d = 0, k = 0; d < whole->rank; ++d) {
    if (d != axis) out_dims[k++] = whole->dims[d];
  }
}

static hlo_status_t take_slices(scan_t* scan, hlo_tensor_t** inputs, int64_t step) {
  for (uint32_t i = 0; i < scan->input_count; ++i) {
    int64_t dims[HLO_RANK_MAX];
    dims_without(inputs[i], scan->axis, dims);
    hlo_tensor_release(scan->args[i]);
    scan->args[i] = NULL;
    HLO_TRY(hlo_tensor_create(inputs[i]->dtype, inputs[i]->rank - 1, dims, &scan->args[i]));
    copy_slice(inputs[i], scan->axis, step, scan->args[i], false);
  }
  return hlo_ok();
}

static hlo_status_t store_outputs(scan_t* scan, hlo_tensor_t** results, int64_t step) {
  for (uint32_t i = 0; i < scan->output_count; ++i) {
    const hlo_tensor_t* part = scan->found[i];
    bool fits = part->kind == HLO_TYPE_TENSOR && part->dtype == results[i]->dtype &&
                part->rank + 1 == results[i]->rank &&
                part->element_count * scan->steps == results[i]->element_count;
    if (!fits) return bad_scan(scan->node);
    copy_slice(results[i], scan->axis, step, scan->found[i], true);
    hlo_tensor_release(scan->found[i]);
    scan->found[i] = NULL;
  }
  for (uint32_t i = 0; i < scan->carry_count; ++i) {
    hlo_tensor_t** carry = &scan->args[scan->input_count + i];
    hlo_tensor_release(*carry);
    *carry = scan->found[scan->output_count + i];
    scan->found[scan->output_count + i] = NULL;
  }
  return hlo_ok();
}

static hlo_status_t run_steps(hlo_eval_t* eval, scan_t* scan, hlo_tensor_t** operands,
                              hlo_tensor_t** results) {
  bool is_reverse = hlo_node_attr_bool(scan->node, HLO_ATTR_is_reverse, false);
  for (uint32_t i = 0; i < scan->output_count; ++i) {
    HLO_TRY(hlo_eval_result(eval, scan->node, i, &results[i]));
    if (scan->axis >= results[i]->rank || results[i]->dims[scan->axis] != scan->steps) {
      return bad_scan(scan->node);
    }
  }
  for (int64_t k = 0; k < scan->steps; ++k) {
    int64_t step = is_reverse ? scan->steps - 1 - k : k;
    HLO_TRY(take_slices(scan, operands, step));
    HLO_TRY(hlo_eval_run_region(eval, scan->node->regions[0], scan->args, scan->found));
    HLO_TRY(store_outputs(scan, results, step));
  }
  for (uint32_t i = 0; i < scan->carry_count; ++i) {
    results[scan->output_count + i] = hlo_tensor_retain(scan->args[scan->input_count + i]);
  }
  return hlo_ok();
}

static hlo_status_t scan_init(const hlo_node_t* node, hlo_tensor_t** operands, scan_t* scan) {
  uint32_t first, unused;
  *scan = (scan_t){.node = node};
  int64_t axis = hlo_node_attr_int(node, HLO_ATTR_dimension, 0);
  if (!hlo_node_operand_segment(node, 0, &first, &scan->input_count) ||
      !hlo_node_operand_segment(node, 1, &unused, &scan->carry_count) ||
      node->result_count < scan->carry_count || node->region_count != 1) {
    return bad_scan(node);
  }
  const hlo_node_t* ret = hlo_region_terminator(node->regions[0]);
  if (!ret || ret->operand_count != node->result_count ||
      node->regions[0]->arg_count != node->operand_count) {
    return bad_scan(node);
  }
  scan->output_count = node->result_count - scan->carry_count;
  scan->axis = (uint32_t)axis;
  scan->steps = hlo_node_attr_int(node, HLO_ATTR_scan_dim_size, -1);
  for (uint32_t i = 0; i < scan->input_count; ++i) {
    if (axis < 0 || axis >= (int64_t)operands[i]->rank) return bad_scan(node);
    int64_t size = operands[i]->dims[axis];
    if (scan->steps >= 0 && scan->steps != size) return bad_scan(node);
    scan->steps = size;
  }
  if (scan->steps < 0 && scan->output_count && axis >= 0 &&
      axis < (int64_t)node->results[0].type->rank) {
    scan->steps = node->results[0].type->dims[axis];
  }
  return scan->steps < 0 ? bad_scan(node) : hlo_ok();
}

hlo_status_t hlo_ref_chlo_scan(HLO_REF_ARGUMENTS) {
  scan_t scan;
  HLO_TRY(scan_init(node, operands, &scan));
  uint32_t count = node->operand_count + node->result_count;
  scan.args = hlo_mem_alloc_zeroed(count * sizeof(*scan.args));
  if (!scan.args) return hlo_status_out_of_memory(count * sizeof(*scan.args));
  scan.found = scan.args + node->operand_count;
  for (uint32_t i = 0; i < scan.carry_count; ++i) {
    scan.args[scan.input_count + i] = hlo_tensor_retain(operands[scan.input_count + i]);
  }
  hlo_status_t status = run_steps(eval, &scan, operands, results);
  for (uint32_t i = 0; i < count; ++i) hlo_tensor_release(scan.args[i]);
  hlo_mem_free(scan.args);
  return status;
}
