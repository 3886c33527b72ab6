// SPDX-License-Identifier: Apache-2.0
// Operand preparation shared by the folding ops.
#include "interp/ref_fold.h"

hlo_status_t hlo_tensor_as(hlo_tensor_t* tensor, hlo_dtype_t dtype, hlo_tensor_t** out_tensor) {
  if (tensor->dtype == dtype) {
    *out_tensor = hlo_tensor_retain(tensor);
    return hlo_ok();
  }
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_tensor_create(dtype, tensor->rank, tensor->dims, &result));
  hlo_dtype_convert(tensor->dtype, tensor->data, dtype, result->data,
                    (size_t)tensor->element_count);
  *out_tensor = result;
  return hlo_ok();
}

// Returns the type in which the body's sum or product is computed, or HLO_DTYPE_INVALID.
static hlo_dtype_t wide_of(const hlo_node_t* node, const hlo_fold_operands_t* fold) {
  const hlo_op_t op = hlo_region_fn_binary(fold->fn);
  const hlo_type_t* type = node->regions[0]->args[0]->type;
  if (fold->count != 1 || (op != HLO_OP_add && op != HLO_OP_multiply) || type->quant ||
      node->results[0].type->quant || node->results[0].type->dtype != type->dtype) {
    return HLO_DTYPE_INVALID;
  }
  return hlo_dtype_is_complex(type->dtype) ? HLO_DTYPE_C128
         : hlo_dtype_is_float(type->dtype) ? HLO_DTYPE_F64
                                           : HLO_DTYPE_INVALID;
}

hlo_status_t hlo_fold_step(const hlo_fold_operands_t* fold, size_t count, const void* const* args,
                           void* const* outs) {
  if (fold->wide == HLO_DTYPE_INVALID) {
    return count == 1 ? hlo_region_fn_call(fold->fn, args, outs)
                      : hlo_region_fn_call_many(fold->fn, count, args, outs);
  }
  const size_t parts = fold->wide == HLO_DTYPE_C128 ? 2 : 1;
  const double *x = args[0], *y = args[1];
  double* out = outs[0];
  for (size_t i = 0; i < count * parts; i += parts) {
    const double imag = parts == 2 ? x[i] * y[i + 1] + x[i + parts - 1] * y[i] : 0;
    const double real = parts == 2 ? x[i] * y[i] - x[i + 1] * y[i + 1] : x[i] * y[i];
    const double high = parts == 2 ? x[i + 1] + y[i + 1] : 0;
    out[i] = fold->is_product ? real : x[i] + y[i];
    if (parts == 2) out[i + 1] = fold->is_product ? imag : high;
  }
  return hlo_ok();
}

// Zeroes, then fills `out`; the caller releases it also on failure.
static hlo_status_t begin_operands(hlo_fold_operands_t* out, hlo_eval_t* eval,
                                   const hlo_node_t* node, hlo_tensor_t** operands,
                                   uint32_t count) {
  const hlo_region_t* body = node->regions[0];
  *out = (hlo_fold_operands_t){.count = count};
  if (body->arg_count != 2 * count) {
    return hlo_node_invalid(node, "the body has %u arguments for %u inputs", body->arg_count,
                            count);
  }
  out->inputs = hlo_mem_alloc_zeroed(2 * (size_t)count * sizeof(out->inputs[0]));
  if (!out->inputs) return hlo_status_out_of_memory(2 * (size_t)count * sizeof(out->inputs[0]));
  out->inits = out->inputs + count;
  HLO_TRY(hlo_region_fn_create(eval, body, &out->fn));
  out->wide = wide_of(node, out);
  out->is_product = hlo_region_fn_binary(out->fn) == HLO_OP_multiply;
  const bool is_wide = out->wide != HLO_DTYPE_INVALID;
  for (uint32_t k = 0; k < count; k++) {
    const hlo_dtype_t element = is_wide ? out->wide : body->args[count + k]->type->dtype;
    HLO_TRY(hlo_tensor_as(operands[k], element, &out->inputs[k]));
    const hlo_dtype_t init = is_wide ? out->wide : body->args[k]->type->dtype;
    HLO_TRY(hlo_tensor_as(operands[count + k], init, &out->inits[k]));
  }
  return hlo_ok();
}

static void end_operands(hlo_fold_operands_t* operands) {
  if (!operands->inputs) return;
  for (uint32_t k = 0; k < 2 * operands->count; k++) hlo_tensor_release(operands->inputs[k]);
  hlo_mem_free(operands->inputs);
  hlo_region_fn_release(operands->fn);
}

hlo_status_t hlo_fold_results(hlo_eval_t* eval, const hlo_node_t* node,
                              const hlo_fold_operands_t* fold, uint32_t rank, const int64_t* dims,
                              hlo_tensor_t** results) {
  for (uint32_t k = 0; k < fold->count; k++) {
    if (fold->inputs[k]->element_count != fold->inputs[0]->element_count) {
      return hlo_node_invalid(node, "inputs differ in shape");
    }
    HLO_TRY(fold->wide == HLO_DTYPE_INVALID
                ? hlo_eval_result_dims(eval, node, k, rank, dims, &results[k])
                : hlo_tensor_create(fold->wide, rank, dims, &results[k]));
    hlo_strided_fill(hlo_tensor_element_bytes(results[k]), (size_t)results[k]->element_count,
                     results[k]->data, fold->inits[k]->data);
  }
  return hlo_ok();
}

hlo_status_t hlo_fold_run(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                          hlo_tensor_t** results, hlo_fold_run_fn_t run) {
  const uint32_t count = node->operand_count / 2;
  hlo_fold_operands_t fold;
  hlo_status_t status = begin_operands(&fold, eval, node, operands, count);
  for (uint32_t k = 0; k < count; k++) results[k] = NULL;
  if (hlo_status_is_ok(status)) status = run(eval, node, &fold, results);
  if (hlo_status_is_ok(status) && fold.wide != HLO_DTYPE_INVALID) {
    hlo_tensor_t* wide = results[0];
    status = hlo_tensor_as(wide, node->results[0].type->dtype, &results[0]);
    hlo_tensor_release(wide);
    if (!hlo_status_is_ok(status)) results[0] = NULL;
  }
  for (uint32_t k = 0; k < count && !hlo_status_is_ok(status); k++) {
    hlo_tensor_release(results[k]);
    results[k] = NULL;
  }
  end_operands(&fold);
  return status;
}
