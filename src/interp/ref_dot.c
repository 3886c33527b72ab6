// SPDX-License-Identifier: Apache-2.0
// dot and dot_general: each element of the result is a sum of products in the widest type of its
// kind, rounded once. The dimensions of the operands are ordered as batch, free and contracting
// ones.
#include "interp/ref_dot.h"

#include <string.h>

#include "interp/quant.h"
#include "interp/ref_fold.h"
#include "ir/scaled_dot.h"

hlo_dtype_t hlo_dot_wide_dtype(hlo_dtype_t lhs, hlo_dtype_t rhs, hlo_dtype_t result) {
  if (hlo_dtype_is_complex(result)) return HLO_DTYPE_C128;
  return hlo_dtype_is_float(hlo_dot_compute_dtype(lhs, rhs, result)) ? HLO_DTYPE_F64
                                                                     : HLO_DTYPE_U64;
}

void hlo_dot_add_products(hlo_dtype_t wide, int64_t count, const void* a, int64_t a_step,
                          const void* b, int64_t b_step, void* sum) {
  if (wide == HLO_DTYPE_F64) {
    const double *x = a, *y = b;
    for (int64_t i = 0; i < count; i++) *(double*)sum += x[i * a_step] * y[i * b_step];
  } else if (wide == HLO_DTYPE_U64) {
    const uint64_t *x = a, *y = b;
    for (int64_t i = 0; i < count; i++) *(uint64_t*)sum += x[i * a_step] * y[i * b_step];
  } else {
    double* parts = sum;
    for (int64_t i = 0; i < count; i++) {
      const double *x = (const double*)a + 2 * i * a_step, *y = (const double*)b + 2 * i * b_step;
      parts[0] += x[0] * y[0] - x[1] * y[1];
      parts[1] += x[0] * y[1] + x[1] * y[0];
    }
  }
}

// An operand in a wide type, its dims in the order batch, free, contracting.
typedef struct {
  hlo_tensor_t* tensor;
  int64_t free_count, depth;
} ordered_t;

static hlo_status_t order_operand(hlo_tensor_t* tensor, hlo_dot_dims_t dims, hlo_dtype_t wide,
                                  ordered_t* out) {
  uint32_t order[HLO_RANK_MAX], rank = 0;
  *out = (ordered_t){.free_count = 1, .depth = 1};
  for (uint32_t i = 0; i < dims.batch.count; i++) order[rank++] = (uint32_t)dims.batch.values[i];
  for (uint32_t d = 0; d < tensor->rank; d++) {
    if (hlo_ints_has(dims.batch, d) || hlo_ints_has(dims.contracting, d)) continue;
    out->free_count *= tensor->dims[d];
    order[rank++] = d;
  }
  for (uint32_t i = 0; i < dims.contracting.count; i++) {
    out->depth *= tensor->dims[dims.contracting.values[i]];
    order[rank++] = (uint32_t)dims.contracting.values[i];
  }
  hlo_tensor_t* converted = NULL;
  int64_t strides[HLO_RANK_MAX], sizes[HLO_RANK_MAX], in[HLO_RANK_MAX], to[HLO_RANK_MAX];
  HLO_TRY(hlo_tensor_as(tensor, wide, &converted));
  hlo_tensor_strides(converted, strides);
  for (uint32_t i = 0; i < rank; i++) {
    sizes[i] = tensor->dims[order[i]];
    in[i] = strides[order[i]];
  }
  hlo_status_t status = hlo_tensor_create(wide, rank, sizes, &out->tensor);
  if (hlo_status_is_ok(status)) {
    hlo_tensor_strides(out->tensor, to);
    hlo_strided_copy(hlo_dtype_size_bytes(wide), rank, sizes, out->tensor->data, to,
                     converted->data, in);
  }
  hlo_tensor_release(converted);
  return status;
}

static void multiply(const ordered_t* lhs, const ordered_t* rhs, hlo_tensor_t* result) {
  const hlo_dtype_t wide = result->dtype;
  const size_t bytes = hlo_dtype_size_bytes(wide);
  const int64_t lhs_count = lhs->free_count, rhs_count = rhs->free_count, depth = lhs->depth;
  memset(result->data, 0, result->size_bytes);
  for (int64_t e = 0; e < result->element_count; e++) {
    const int64_t batch = e / (lhs_count * rhs_count);
    const int64_t row = batch * lhs_count + e / rhs_count % lhs_count;
    const int64_t column = batch * rhs_count + e % rhs_count;
    hlo_dot_add_products(wide, depth, (char*)lhs->tensor->data + (size_t)(row * depth) * bytes, 1,
                         (char*)rhs->tensor->data + (size_t)(column * depth) * bytes, 1,
                         (char*)result->data + (size_t)e * bytes);
  }
}

// Computes the result's dims and checks that paired dims have equal sizes.
static hlo_status_t contract_dims(const hlo_tensor_t* lhs, hlo_dot_dims_t lhs_dims,
                                  const hlo_tensor_t* rhs, hlo_dot_dims_t rhs_dims,
                                  uint32_t* out_rank, int64_t* out_dims) {
  uint32_t rank = 0;
  bool fits = lhs_dims.batch.count == rhs_dims.batch.count &&
              lhs_dims.contracting.count == rhs_dims.contracting.count;
  for (uint32_t i = 0; fits && i < lhs_dims.batch.count; i++) {
    out_dims[rank] = lhs->dims[lhs_dims.batch.values[i]];
    fits = out_dims[rank++] == rhs->dims[rhs_dims.batch.values[i]];
  }
  for (uint32_t i = 0; fits && i < lhs_dims.contracting.count; i++) {
    fits = lhs->dims[lhs_dims.contracting.values[i]] == rhs->dims[rhs_dims.contracting.values[i]];
  }
  const hlo_tensor_t* tensors[2] = {lhs, rhs};
  const hlo_dot_dims_t dims[2] = {lhs_dims, rhs_dims};
  for (int t = 0; fits && t < 2; t++) {
    for (uint32_t d = 0; fits && d < tensors[t]->rank; d++) {
      if (hlo_ints_has(dims[t].batch, d) || hlo_ints_has(dims[t].contracting, d)) continue;
      if (rank == HLO_RANK_MAX)
        fits = false;
      else
        out_dims[rank++] = tensors[t]->dims[d];
    }
  }
  *out_rank = rank;
  return fits ? hlo_ok() : hlo_invalid_argument("paired dimensions of the operands differ in size");
}

hlo_status_t hlo_dot_contract(hlo_tensor_t* lhs, hlo_dot_dims_t lhs_dims, hlo_tensor_t* rhs,
                              hlo_dot_dims_t rhs_dims, hlo_dtype_t dtype,
                              hlo_tensor_t** out_tensor) {
  uint32_t rank = 0;
  int64_t dims[2 * HLO_RANK_MAX];
  HLO_TRY(contract_dims(lhs, lhs_dims, rhs, rhs_dims, &rank, dims));
  const hlo_dtype_t wide = hlo_dot_wide_dtype(lhs->dtype, rhs->dtype, dtype);
  ordered_t l = {0}, r = {0};
  hlo_tensor_t* result = NULL;
  hlo_status_t status = order_operand(lhs, lhs_dims, wide, &l);
  if (hlo_status_is_ok(status)) status = order_operand(rhs, rhs_dims, wide, &r);
  if (hlo_status_is_ok(status)) status = hlo_tensor_create(wide, rank, dims, &result);
  if (hlo_status_is_ok(status)) {
    multiply(&l, &r, result);
    status = hlo_tensor_as(result, dtype, out_tensor);
  }
  hlo_tensor_release(l.tensor);
  hlo_tensor_release(r.tensor);
  hlo_tensor_release(result);
  return status;
}

// Multiplies rounded operands, rounds to the accumulation type, then converts to the result's type.
static hlo_status_t run_algorithm(const hlo_node_t* node, hlo_tensor_t** operands,
                                  hlo_dot_dims_t lhs, hlo_dot_dims_t rhs, hlo_tensor_t** results) {
  hlo_dot_types_t types;
  hlo_status_t status = hlo_dot_algorithm_types(node, &types);
  if (!hlo_status_is_ok(status)) return hlo_node_annotate(node, status);
  hlo_tensor_t *factors[2] = {NULL, NULL}, *product = NULL;
  for (int i = 0; i < 2 && hlo_status_is_ok(status); i++) {
    status = hlo_tensor_as(operands[i], types.operands[i], &factors[i]);
  }
  if (hlo_status_is_ok(status)) {
    status = hlo_dot_contract(factors[0], lhs, factors[1], rhs, types.result, &product);
  }
  if (hlo_status_is_ok(status)) {
    status = hlo_tensor_as(product, node->results[0].type->dtype, &results[0]);
  }
  hlo_tensor_release(factors[0]);
  hlo_tensor_release(factors[1]);
  hlo_tensor_release(product);
  return status;
}

hlo_status_t hlo_ref_dot_general(HLO_REF_ARGUMENTS) {
  const bool has_algorithm = hlo_dot_has_algorithm(node);
  if (!has_algorithm && hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_dot_general, operands, results);
  }
  const hlo_dot_dims_t lhs = {hlo_node_ints(node, HLO_ATTR_lhs_batching_dimensions),
                              hlo_node_ints(node, HLO_ATTR_lhs_contracting_dimensions)};
  const hlo_dot_dims_t rhs = {hlo_node_ints(node, HLO_ATTR_rhs_batching_dimensions),
                              hlo_node_ints(node, HLO_ATTR_rhs_contracting_dimensions)};
  if (has_algorithm) return run_algorithm(node, operands, lhs, rhs, results);
  return hlo_dot_contract(operands[0], lhs, operands[1], rhs, node->results[0].type->dtype,
                          &results[0]);
}

hlo_status_t hlo_ref_dot(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_dot, operands, results);
  }
  const int64_t lhs_last = (int64_t)operands[0]->rank - 1, rhs_first = 0;
  const hlo_dot_dims_t lhs = {.contracting = {&lhs_last, operands[0]->rank > 0}};
  const hlo_dot_dims_t rhs = {.contracting = {&rhs_first, operands[1]->rank > 0}};
  return hlo_dot_contract(operands[0], lhs, operands[1], rhs, node->results[0].type->dtype,
                          &results[0]);
}

// Multiplies each element by the scale of its block, rounding once to `dtype`, which both have
// first. Scales of rank 0 mean none.
static hlo_status_t scale_operand(hlo_tensor_t* operand, hlo_tensor_t* scale, hlo_dtype_t dtype,
                                  hlo_tensor_t** out_scaled) {
  if (scale->rank == 0) return hlo_tensor_as(operand, dtype, out_scaled);
  hlo_tensor_t *rounded[2] = {NULL, NULL}, *wide[2] = {NULL, NULL}, *product = NULL;
  hlo_tensor_t* const given[2] = {operand, scale};
  hlo_status_t status = hlo_tensor_create(HLO_DTYPE_F64, operand->rank, operand->dims, &product);
  for (int i = 0; i < 2 && hlo_status_is_ok(status); i++) {
    status = hlo_tensor_as(given[i], dtype, &rounded[i]);
    if (hlo_status_is_ok(status)) status = hlo_tensor_as(rounded[i], HLO_DTYPE_F64, &wide[i]);
  }
  if (hlo_status_is_ok(status)) {
    const double *elements = wide[0]->data, *scales = wide[1]->data;
    int64_t index[HLO_RANK_MAX] = {0};
    for (int64_t e = 0; e < product->element_count; e++) {
      int64_t at = 0;
      for (uint32_t d = 0; d < operand->rank; d++) {
        at = at * scale->dims[d] + index[d] / (operand->dims[d] / scale->dims[d]);
      }
      ((double*)product->data)[e] = elements[e] * scales[at];
      hlo_index_next(operand->rank, operand->dims, index);
    }
    status = hlo_tensor_as(product, dtype, out_scaled);
  }
  for (int i = 0; i < 2; i++) {
    hlo_tensor_release(rounded[i]);
    hlo_tensor_release(wide[i]);
  }
  hlo_tensor_release(product);
  return status;
}

hlo_status_t hlo_ref_hlo_scaled_dot(HLO_REF_ARGUMENTS) {
  const hlo_dot_dims_t lhs = {hlo_node_ints(node, HLO_ATTR_lhs_batching_dimensions),
                              hlo_node_ints(node, HLO_ATTR_lhs_contracting_dimensions)};
  const hlo_dot_dims_t rhs = {hlo_node_ints(node, HLO_ATTR_rhs_batching_dimensions),
                              hlo_node_ints(node, HLO_ATTR_rhs_contracting_dimensions)};
  hlo_tensor_t* scaled[2] = {NULL, NULL};
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < 2 && hlo_status_is_ok(status); i++) {
    status = scale_operand(operands[i], operands[2 + i], hlo_scaled_dot_operand_dtype(node, i),
                           &scaled[i]);
  }
  if (hlo_status_is_ok(status)) {
    status =
        hlo_dot_contract(scaled[0], lhs, scaled[1], rhs, node->results[0].type->dtype, &results[0]);
  }
  hlo_tensor_release(scaled[0]);
  hlo_tensor_release(scaled[1]);
  return status;
}
