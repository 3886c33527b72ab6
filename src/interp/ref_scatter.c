// SPDX-License-Identifier: Apache-2.0
// scatter: each index vector selects where a window of the updates goes in the results, in place if
// the inputs have no other reference. A window that is partly out of bounds is dropped as a whole,
// as in XLA and as JAX's gradients require (StableHLO's specification drops elements).
#include <string.h>

#include "interp/ref_fold.h"
#include "ir/scatter_windows.h"

// The state of a scatter. Dims of a window are the operand's dims that are not inserted, in order.
typedef struct {
  uint32_t count;          // of inputs
  hlo_tensor_t** results;  // owned references
  hlo_tensor_t** updates;  // owned references
  const void* indices;
  hlo_region_fn_t* fn;
  hlo_scatter_windows_t windows;
  const void** args;  // of the body: elements of the results, then of the updates
} scatter_t;

static hlo_status_t scatter_init(scatter_t* scatter, hlo_eval_t* eval, const hlo_node_t* node,
                                 hlo_tensor_t** operands) {
  const uint32_t count = scatter->count;
  const hlo_region_t* body = node->regions[0];
  if (body->arg_count != 2 * count) {
    return hlo_node_invalid(node, "the body has %u arguments for %u inputs", body->arg_count,
                            count);
  }
  for (uint32_t k = 0; k < count; k++) {
    hlo_tensor_t *input = operands[k], *update = operands[count + 1 + k];
    if (input->element_count != operands[0]->element_count || input->rank != operands[0]->rank ||
        update->element_count != operands[count + 1]->element_count) {
      return hlo_node_invalid(node, "inputs or updates differ in shape");
    }
    HLO_TRY(hlo_tensor_as(update, body->args[count + k]->type->dtype, &scatter->updates[k]));
    const hlo_dtype_t dtype = body->args[k]->type->dtype;
    if (input->dtype == dtype && !hlo_tensor_is_unique(input)) {
      HLO_TRY(hlo_tensor_create(dtype, input->rank, input->dims, &scatter->results[k]));
      memcpy(scatter->results[k]->data, input->data, input->size_bytes);
      scatter->results[k]->quant = input->quant;
    } else {
      HLO_TRY(hlo_tensor_as(input, dtype, &scatter->results[k]));
    }
  }
  const hlo_tensor_t *result = scatter->results[0], *update = scatter->updates[0];
  const hlo_scatter_array_t to = {result->dtype, result->rank, result->dims};
  const hlo_scatter_array_t from = {update->dtype, update->rank, update->dims};
  const hlo_scatter_array_t at = {operands[count]->dtype, operands[count]->rank,
                                  operands[count]->dims};
  if (!hlo_scatter_windows_init(&scatter->windows, node, to, at, from)) {
    return hlo_node_invalid(node, "dimension numbers do not fit");
  }
  scatter->indices = operands[count]->data;
  return hlo_region_fn_create(eval, body, &scatter->fn);
}

// Combines the elements of the window of one position with the results, in order.
static hlo_status_t scatter_window(const scatter_t* scatter, const int64_t* position) {
  hlo_scatter_offsets_t at;
  int64_t index[HLO_RANK_MAX] = {0};
  if (!hlo_scatter_window_find(&scatter->windows, scatter->indices, position, &at)) return hlo_ok();
  do {
    int64_t to = at.result, from = at.update;
    for (uint32_t w = 0; w < scatter->windows.rank; w++) {
      to += index[w] * scatter->windows.result_strides[w];
      from += index[w] * scatter->windows.update_strides[w];
    }
    for (uint32_t k = 0; k < scatter->count; k++) {
      const hlo_tensor_t *result = scatter->results[k], *update = scatter->updates[k];
      scatter->args[k] = (char*)result->data + to * (int64_t)hlo_tensor_element_bytes(result);
      scatter->args[scatter->count + k] =
          (const char*)update->data + from * (int64_t)hlo_tensor_element_bytes(update);
    }
    HLO_TRY(hlo_region_fn_call(scatter->fn, scatter->args, (void* const*)scatter->args));
  } while (hlo_index_next(scatter->windows.rank, scatter->windows.sizes, index));
  return hlo_ok();
}

static hlo_status_t scatter_run(const scatter_t* scatter) {
  if (scatter->updates[0]->element_count == 0) return hlo_ok();
  int64_t position[HLO_RANK_MAX] = {0};
  do {
    HLO_TRY(scatter_window(scatter, position));
  } while (
      hlo_index_next(scatter->windows.vectors.batch_rank, scatter->windows.vectors.dims, position));
  return hlo_ok();
}

hlo_status_t hlo_ref_scatter(HLO_REF_ARGUMENTS) {
  const uint32_t count = (node->operand_count - 1) / 2;
  const size_t list_bytes = 4 * (size_t)count * sizeof(void*);
  hlo_tensor_t** lists = hlo_mem_alloc_zeroed(list_bytes);
  if (!lists) return hlo_status_out_of_memory(list_bytes);
  scatter_t scatter = {.count = count,
                       .results = lists,
                       .updates = lists + count,
                       .args = (const void**)(lists + 2 * count)};
  hlo_status_t status = scatter_init(&scatter, eval, node, operands);
  if (hlo_status_is_ok(status)) status = scatter_run(&scatter);
  for (uint32_t k = 0; k < count; k++) {
    hlo_tensor_release(scatter.updates[k]);
    if (hlo_status_is_ok(status)) {
      results[k] = scatter.results[k];
    } else {
      hlo_tensor_release(scatter.results[k]);
    }
  }
  hlo_region_fn_release(scatter.fn);
  hlo_mem_free(lists);
  return status;
}
