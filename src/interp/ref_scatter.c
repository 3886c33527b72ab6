// SPDX-License-Identifier: Apache-2.0
// scatter: each index vector selects where a window of the updates goes in the results, in place if
// the inputs have no other reference. A window that is partly out of bounds is dropped as a whole,
// as in XLA and as JAX's gradients require (StableHLO's specification drops elements).
#include <string.h>

#include "interp/ref_fold.h"
#include "ir/index_vectors.h"

// The state of a scatter. Dims of a window are the operand's dims that are not inserted, in order.
typedef struct {
  uint32_t count;          // of inputs
  hlo_tensor_t** results;  // owned references
  hlo_tensor_t** updates;  // owned references
  const void* indices;
  hlo_region_fn_t* fn;
  hlo_index_vectors_t vectors;
  uint32_t window_rank;
  int64_t window_sizes[HLO_RANK_MAX];
  int64_t update_window[HLO_RANK_MAX];  // strides of the window in the updates, in elements
  int64_t update_batch[HLO_RANK_MAX];   // strides of index positions in the updates
  int64_t result_window[HLO_RANK_MAX];  // strides of the window in the results
  uint32_t window_dims[HLO_RANK_MAX];   // operand dim of a window dim
  int64_t result_strides[HLO_RANK_MAX];
  const void** args;  // of the body: elements of the results, then of the updates
} scatter_t;

// Computes dimension numbers, sizes and strides.
static hlo_status_t scatter_shape(scatter_t* scatter, const hlo_node_t* node,
                                  const hlo_tensor_t* indices) {
  const hlo_tensor_t *result = scatter->results[0], *update = scatter->updates[0];
  const hlo_ints_t update_window = hlo_node_ints(node, HLO_ATTR_update_window_dims);
  const hlo_ints_t inserted = hlo_node_ints(node, HLO_ATTR_inserted_window_dims);
  const hlo_index_dims_t dims = {
      .index_vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
      .index_map = hlo_node_ints(node, HLO_ATTR_scatter_dims_to_operand_dims),
      .operand_batching = hlo_node_ints(node, HLO_ATTR_input_batching_dims),
      .indices_batching = hlo_node_ints(node, HLO_ATTR_scatter_indices_batching_dims),
  };
  if (!hlo_index_vectors_init(&scatter->vectors, indices->dtype, indices->rank, indices->dims,
                              result->rank, &dims)) {
    return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "dimension numbers do not fit");
  }
  for (uint32_t d = 0; d < result->rank; d++) {
    if (hlo_ints_has(inserted, d) || hlo_ints_has(dims.operand_batching, d)) continue;
    scatter->window_dims[scatter->window_rank++] = d;
  }
  int64_t update_strides[HLO_RANK_MAX];
  hlo_strided_dense(1, update->rank, update->dims, update_strides);
  hlo_strided_dense(1, result->rank, result->dims, scatter->result_strides);
  uint32_t window = 0, batch = 0;
  bool fits = scatter->window_rank == update_window.count &&
              update->rank == update_window.count + scatter->vectors.batch_rank;
  for (uint32_t d = 0; fits && d < update->rank; d++) {
    if (hlo_ints_has(update_window, d)) {
      scatter->window_sizes[window] = update->dims[d];
      scatter->update_window[window] = update_strides[d];
      scatter->result_window[window] = scatter->result_strides[scatter->window_dims[window]];
      window++;
    } else {
      fits = batch < scatter->vectors.batch_rank && scatter->vectors.dims[batch] == update->dims[d];
      scatter->update_batch[batch++] = update_strides[d];
    }
  }
  return fits ? hlo_ok()
              : hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "dimension numbers do not fit");
}

static hlo_status_t scatter_init(scatter_t* scatter, hlo_eval_t* eval, const hlo_node_t* node,
                                 hlo_tensor_t** operands) {
  const uint32_t count = scatter->count;
  const hlo_region_t* body = node->regions[0];
  if (body->arg_count != 2 * count) {
    return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                          "the body has %u arguments for %u inputs", body->arg_count, count);
  }
  for (uint32_t k = 0; k < count; k++) {
    hlo_tensor_t *input = operands[k], *update = operands[count + 1 + k];
    if (input->element_count != operands[0]->element_count || input->rank != operands[0]->rank ||
        update->element_count != operands[count + 1]->element_count) {
      return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "inputs or updates differ in shape");
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
  HLO_TRY(scatter_shape(scatter, node, operands[count]));
  scatter->indices = operands[count]->data;
  return hlo_region_fn_create(eval, body, &scatter->fn);
}

// The offsets of the window at a position.
typedef struct {
  int64_t result_at, update_at;  // first elements
} window_place_t;

// Returns false if the window at `position` is partly out of bounds.
static bool place_window(const scatter_t* scatter, const int64_t* position, window_place_t* out) {
  const int64_t* dims = scatter->results[0]->dims;
  int64_t start[HLO_RANK_MAX];
  hlo_index_vectors_start(&scatter->vectors, scatter->indices, position, start);
  *out = (window_place_t){.result_at = 0};
  for (uint32_t b = 0; b < scatter->vectors.batch_rank; b++) {
    out->update_at += position[b] * scatter->update_batch[b];
  }
  uint32_t w = 0;
  for (uint32_t d = 0; d < scatter->results[0]->rank; d++) {
    const bool in_window = w < scatter->window_rank && scatter->window_dims[w] == d;
    const int64_t size = in_window ? scatter->window_sizes[w++] : 1;
    if (start[d] < 0 || start[d] > dims[d] - size) return false;
    out->result_at += start[d] * scatter->result_strides[d];
  }
  return true;
}

// Combines the elements of the window of one position with the results, in order.
static hlo_status_t scatter_window(const scatter_t* scatter, const int64_t* position) {
  window_place_t place;
  int64_t index[HLO_RANK_MAX] = {0};
  if (!place_window(scatter, position, &place)) return hlo_ok();
  do {
    int64_t to = place.result_at, from = place.update_at;
    for (uint32_t w = 0; w < scatter->window_rank; w++) {
      to += index[w] * scatter->result_window[w];
      from += index[w] * scatter->update_window[w];
    }
    for (uint32_t k = 0; k < scatter->count; k++) {
      const hlo_tensor_t *result = scatter->results[k], *update = scatter->updates[k];
      scatter->args[k] = (char*)result->data + to * (int64_t)hlo_tensor_element_bytes(result);
      scatter->args[scatter->count + k] =
          (const char*)update->data + from * (int64_t)hlo_tensor_element_bytes(update);
    }
    HLO_TRY(hlo_region_fn_call(scatter->fn, scatter->args, (void* const*)scatter->args));
  } while (hlo_index_next(scatter->window_rank, scatter->window_sizes, index));
  return hlo_ok();
}

static hlo_status_t scatter_run(const scatter_t* scatter) {
  if (scatter->updates[0]->element_count == 0) return hlo_ok();
  int64_t position[HLO_RANK_MAX] = {0};
  do {
    HLO_TRY(scatter_window(scatter, position));
  } while (hlo_index_next(scatter->vectors.batch_rank, scatter->vectors.dims, position));
  return hlo_ok();
}

hlo_status_t hlo_ref_scatter(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                             hlo_tensor_t** results) {
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
