// SPDX-License-Identifier: Apache-2.0
// chlo.ragged_dot: one contraction per group, on slices of the operands. The ragged dimension of
// lhs is a free (each group has its own rhs), contracting (each group gives a result) or batch
// dimension.
#include <string.h>

#include "interp/ref_dot.h"

typedef enum { RAGGED_FREE, RAGGED_CONTRACTING, RAGGED_BATCH } ragged_mode_t;

typedef struct {
  const hlo_tensor_t *lhs, *rhs, *sizes;
  hlo_tensor_t* result;
  hlo_dot_dims_t lhs_dims, rhs_dims;
  ragged_mode_t mode;
  int64_t ragged;                   // dim of lhs
  int64_t group_dim;                // of rhs, or -1
  int64_t rhs_of[HLO_RANK_MAX];     // lhs dim -> paired rhs dim, or -1
  int64_t result_of[HLO_RANK_MAX];  // lhs dim -> result dim, or -1
  uint32_t prefix_count;            // dims of lhs that group sizes depend on
  int64_t prefix[HLO_RANK_MAX];
} ragged_t;

// A rectangular region of a tensor.
typedef struct {
  int64_t starts[HLO_RANK_MAX], sizes[HLO_RANK_MAX];
} box_t;

static box_t whole_box(const hlo_tensor_t* tensor) {
  box_t box = {.starts = {0}};
  memcpy(box.sizes, tensor->dims, tensor->rank * sizeof(box.sizes[0]));
  return box;
}

static void narrow(box_t* box, int64_t dim, int64_t start, int64_t size) {
  if (dim < 0) return;
  box->starts[dim] = start;
  box->sizes[dim] = size;
}

// Copies between a box of `tensor` and dense memory.
static void copy_box(const hlo_tensor_t* tensor, const box_t* box, void* dense, bool to_tensor) {
  const size_t bytes = hlo_tensor_element_bytes(tensor);
  int64_t strides[HLO_RANK_MAX], packed[HLO_RANK_MAX];
  char* place = tensor->data;
  hlo_tensor_strides(tensor, strides);
  hlo_strided_dense(bytes, tensor->rank, box->sizes, packed);
  for (uint32_t d = 0; d < tensor->rank; d++) place += box->starts[d] * strides[d];
  if (to_tensor) {
    hlo_strided_copy(bytes, tensor->rank, box->sizes, place, strides, dense, packed);
  } else {
    hlo_strided_copy(bytes, tensor->rank, box->sizes, dense, packed, place, strides);
  }
}

static hlo_status_t slice_box(const hlo_tensor_t* tensor, const box_t* box,
                              hlo_tensor_t** out_slice) {
  HLO_TRY(hlo_tensor_create(tensor->dtype, tensor->rank, box->sizes, out_slice));
  if ((*out_slice)->element_count > 0) copy_box(tensor, box, (*out_slice)->data, false);
  return hlo_ok();
}

// Computes the product of one group: rows [start, start + size) of the ragged dimension.
static hlo_status_t ragged_group(const ragged_t* ragged, const int64_t* position, int64_t group,
                                 int64_t start, int64_t size) {
  box_t lhs_box = whole_box(ragged->lhs), rhs_box = whole_box(ragged->rhs);
  box_t result_box = whole_box(ragged->result);
  for (uint32_t p = 0; p < ragged->prefix_count; p++) {
    const int64_t dim = ragged->prefix[p];
    narrow(&lhs_box, dim, position[p], 1);
    narrow(&rhs_box, ragged->rhs_of[dim], position[p], 1);
    narrow(&result_box, ragged->result_of[dim], position[p], 1);
  }
  narrow(&lhs_box, ragged->ragged, start, size);
  narrow(&rhs_box, ragged->rhs_of[ragged->ragged], start, size);
  narrow(&rhs_box, ragged->group_dim, group, 1);
  if (ragged->mode == RAGGED_CONTRACTING) {
    narrow(&result_box, 0, group, 1);
  } else {
    narrow(&result_box, ragged->result_of[ragged->ragged], start, size);
  }
  hlo_tensor_t *lhs = NULL, *rhs = NULL, *product = NULL;
  hlo_status_t status = slice_box(ragged->lhs, &lhs_box, &lhs);
  if (hlo_status_is_ok(status)) status = slice_box(ragged->rhs, &rhs_box, &rhs);
  if (hlo_status_is_ok(status)) {
    status = hlo_dot_contract(lhs, ragged->lhs_dims, rhs, ragged->rhs_dims, ragged->result->dtype,
                              &product);
  }
  if (hlo_status_is_ok(status)) copy_box(ragged->result, &result_box, product->data, true);
  hlo_tensor_release(lhs);
  hlo_tensor_release(rhs);
  hlo_tensor_release(product);
  return status;
}

static hlo_status_t ragged_run(const ragged_t* ragged) {
  const int64_t groups = ragged->sizes->dims[ragged->sizes->rank - 1];
  const int64_t limit = ragged->lhs->dims[ragged->ragged];
  int64_t position[HLO_RANK_MAX] = {0};
  const int64_t lines = groups > 0 ? ragged->sizes->element_count / groups : 0;
  for (int64_t line = 0; line < lines; line++) {
    int64_t start = 0;
    for (int64_t g = 0; g < groups; g++) {
      int64_t size = hlo_tensor_int(ragged->sizes, line * groups + g);
      size = hlo_index_clamp(size, 0, limit - start);
      if (size > 0) HLO_TRY(ragged_group(ragged, position, g, start, size));
      start += size;
    }
    hlo_index_next(ragged->prefix_count, ragged->sizes->dims, position);
  }
  return hlo_ok();
}

// Pairs the dimensions and computes the result's dims.
static hlo_status_t ragged_init(ragged_t* ragged, const hlo_node_t* node, uint32_t* out_rank,
                                int64_t* out_dims) {
  const hlo_ints_t ragged_dims = hlo_node_ints(node, HLO_ATTR_lhs_ragged_dimensions);
  const hlo_ints_t group_dims = hlo_node_ints(node, HLO_ATTR_rhs_group_dimensions);
  const hlo_tensor_t *lhs = ragged->lhs, *rhs = ragged->rhs;
  const hlo_ints_t batch = ragged->lhs_dims.batch, contracting = ragged->lhs_dims.contracting;
  if (ragged_dims.count != 1 || ragged_dims.values[0] >= lhs->rank || ragged->sizes->rank < 1 ||
      (uint64_t)lhs->rank + rhs->rank > HLO_RANK_MAX) {
    return hlo_node_invalid(node, "needs one ragged dimension");
  }
  ragged->ragged = ragged_dims.values[0];
  ragged->group_dim = group_dims.count ? group_dims.values[0] : -1;
  ragged->mode = hlo_ints_has(batch, ragged->ragged)         ? RAGGED_BATCH
                 : hlo_ints_has(contracting, ragged->ragged) ? RAGGED_CONTRACTING
                                                             : RAGGED_FREE;
  uint32_t rank = 0;
  for (uint32_t d = 0; d < lhs->rank; d++) ragged->rhs_of[d] = ragged->result_of[d] = -1;
  if (ragged->mode == RAGGED_CONTRACTING) {
    out_dims[rank++] = ragged->sizes->dims[ragged->sizes->rank - 1];
  }
  for (uint32_t i = 0; i < batch.count; i++) {
    const int64_t d = batch.values[i];
    if (ragged->mode != RAGGED_BATCH || d != ragged->ragged) {
      ragged->prefix[ragged->prefix_count++] = d;
    }
    ragged->rhs_of[d] = ragged->rhs_dims.batch.values[i];
    ragged->result_of[d] = rank;
    out_dims[rank++] = lhs->dims[d];
  }
  for (uint32_t i = 0; i < contracting.count; i++) {
    ragged->rhs_of[contracting.values[i]] = ragged->rhs_dims.contracting.values[i];
  }
  for (uint32_t d = 0; d < lhs->rank; d++) {
    if (hlo_ints_has(batch, d) || hlo_ints_has(contracting, d)) continue;
    if (ragged->mode == RAGGED_FREE && d < ragged->ragged) {
      ragged->prefix[ragged->prefix_count++] = d;
    }
    ragged->result_of[d] = rank;
    out_dims[rank++] = lhs->dims[d];
  }
  for (uint32_t d = 0; d < rhs->rank; d++) {
    if (!hlo_ints_has(ragged->rhs_dims.batch, d) &&
        !hlo_ints_has(ragged->rhs_dims.contracting, d) && d != ragged->group_dim) {
      out_dims[rank++] = rhs->dims[d];
    }
  }
  *out_rank = rank;
  if (ragged->sizes->rank == 1) ragged->prefix_count = 0;  // the same sizes for all prefixes
  bool fits = ragged->sizes->rank == ragged->prefix_count + 1;
  for (uint32_t p = 0; fits && p < ragged->prefix_count; p++) {
    fits = ragged->sizes->dims[p] == lhs->dims[ragged->prefix[p]];
  }
  return fits ? hlo_ok()
              : hlo_node_unimplemented(node, "group sizes of this shape are not supported");
}

hlo_status_t hlo_ref_chlo_ragged_dot(HLO_REF_ARGUMENTS) {
  ragged_t ragged = {.lhs = operands[0],
                     .rhs = operands[1],
                     .sizes = operands[2],
                     .lhs_dims = {hlo_node_ints(node, HLO_ATTR_lhs_batching_dimensions),
                                  hlo_node_ints(node, HLO_ATTR_lhs_contracting_dimensions)},
                     .rhs_dims = {hlo_node_ints(node, HLO_ATTR_rhs_batching_dimensions),
                                  hlo_node_ints(node, HLO_ATTR_rhs_contracting_dimensions)}};
  uint32_t rank = 0;
  int64_t dims[2 * HLO_RANK_MAX];
  HLO_TRY(ragged_init(&ragged, node, &rank, dims));
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, rank, dims, &ragged.result));
  memset(ragged.result->data, 0, ragged.result->size_bytes);
  hlo_status_t status = ragged.result->element_count ? ragged_run(&ragged) : hlo_ok();
  if (hlo_status_is_ok(status)) {
    results[0] = ragged.result;
  } else {
    hlo_tensor_release(ragged.result);
  }
  return status;
}
