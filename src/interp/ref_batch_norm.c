// SPDX-License-Identifier: Apache-2.0
// Batch normalisation: statistics and outputs per feature, computed in double.
#include <math.h>
#include <string.h>

#include "interp/quant.h"
#include "interp/ref_util.h"

// The operand as [outer, features, inner], and the state shared by the ops.
typedef struct {
  int64_t outer, features, inner;
  double epsilon;
  double* row;      // `inner` elements in double
  double* other;    // a second row
  double* vectors;  // 5 per-feature vectors
} norm_t;

static hlo_status_t norm_init(norm_t* norm, const hlo_node_t* node, hlo_tensor_t* const* operands,
                              uint32_t vector_count) {
  const hlo_tensor_t* operand = operands[0];
  const int64_t axis = hlo_node_attr_int(node, HLO_ATTR_feature_index, 0);
  const hlo_attr_t* epsilon = hlo_node_attr(node, HLO_ATTR_epsilon);
  bool fits = axis >= 0 && axis < operand->rank;
  for (uint32_t k = 1; fits && k <= vector_count; k++) {
    fits = operands[k]->element_count == operand->dims[axis];
  }
  if (!fits || !epsilon) {
    return hlo_node_invalid(node, "the operands do not match the feature index");
  }
  norm->epsilon = epsilon->f;
  norm->outer = norm->inner = 1;
  norm->features = operand->dims[axis];
  for (uint32_t d = 0; d < operand->rank; d++) {
    if (d < axis) norm->outer *= operand->dims[d];
    if (d > axis) norm->inner *= operand->dims[d];
  }
  size_t count = 0, bytes = 0;
  if (!hlo_size_mul((size_t)norm->features, 5, &count) ||
      !hlo_size_add(count, 2 * (size_t)norm->inner, &count) ||
      !hlo_size_mul(count, sizeof(double), &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  norm->row = hlo_mem_alloc_zeroed(bytes);
  if (!norm->row) return hlo_status_out_of_memory(bytes);
  norm->other = norm->row + norm->inner;
  norm->vectors = norm->other + norm->inner;
  return hlo_ok();
}

static double* feature_vector(const norm_t* norm, uint32_t k) {
  return norm->vectors + (int64_t)k * norm->features;
}

static void load_row(const norm_t* norm, const hlo_tensor_t* tensor, int64_t row, double* out) {
  const size_t bytes = hlo_tensor_element_bytes(tensor);
  hlo_dtype_convert(tensor->dtype, (const char*)tensor->data + (size_t)(row * norm->inner) * bytes,
                    HLO_DTYPE_F64, out, (size_t)norm->inner);
}

static void store_row(const norm_t* norm, const double* in, int64_t row, hlo_tensor_t* tensor) {
  const size_t bytes = hlo_tensor_element_bytes(tensor);
  hlo_dtype_convert(HLO_DTYPE_F64, in, tensor->dtype,
                    (char*)tensor->data + (size_t)(row * norm->inner) * bytes, (size_t)norm->inner);
}

static void load_vector(const norm_t* norm, const hlo_tensor_t* tensor, uint32_t k) {
  hlo_dtype_convert(tensor->dtype, tensor->data, HLO_DTYPE_F64, feature_vector(norm, k),
                    (size_t)norm->features);
}

static void store_vector(const norm_t* norm, uint32_t k, hlo_tensor_t* tensor) {
  hlo_dtype_convert(HLO_DTYPE_F64, feature_vector(norm, k), tensor->dtype, tensor->data,
                    (size_t)norm->features);
}

// result = (operand - mean) * scale / sqrt(variance + epsilon) + offset
static void normalise_features(const norm_t* norm, const hlo_tensor_t* operand, const double* scale,
                               const double* offset, const double* mean, const double* variance,
                               hlo_tensor_t* result) {
  for (int64_t row = 0; row < norm->outer * norm->features; row++) {
    const int64_t f = row % norm->features;
    const double deviation = sqrt(variance[f] + norm->epsilon);
    load_row(norm, operand, row, norm->row);
    for (int64_t i = 0; i < norm->inner; i++) {
      norm->row[i] = (norm->row[i] - mean[f]) * scale[f] / deviation + offset[f];
    }
    store_row(norm, norm->row, row, result);
  }
}

// Creates the results: the first like the operand, the others vectors of features.
static hlo_status_t norm_results(hlo_eval_t* eval, const hlo_node_t* node, const norm_t* norm,
                                 const hlo_tensor_t* operand, hlo_tensor_t** out_results) {
  for (uint32_t k = 0; k < node->result_count; k++) {
    hlo_status_t status =
        k == 0 ? hlo_eval_result_dims(eval, node, k, operand->rank, operand->dims, &out_results[k])
               : hlo_eval_result_dims(eval, node, k, 1, &norm->features, &out_results[k]);
    if (hlo_status_is_ok(status)) continue;
    while (k > 0) hlo_tensor_release(out_results[--k]);
    return status;
  }
  return hlo_ok();
}

hlo_status_t hlo_ref_batch_norm_inference(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_batch_norm_inference, operands, results);
  }
  norm_t norm;
  HLO_TRY(norm_init(&norm, node, operands, 4));
  hlo_status_t status = norm_results(eval, node, &norm, operands[0], results);
  if (hlo_status_is_ok(status)) {
    for (uint32_t k = 0; k < 4; k++) load_vector(&norm, operands[k + 1], k);
    normalise_features(&norm, operands[0], feature_vector(&norm, 0), feature_vector(&norm, 1),
                       feature_vector(&norm, 2), feature_vector(&norm, 3), results[0]);
  }
  hlo_mem_free(norm.row);
  return status;
}

// Mean and (biased) variance per feature into vectors 2 and 3.
static void compute_statistics(const norm_t* norm, const hlo_tensor_t* operand) {
  double *mean = feature_vector(norm, 2), *variance = feature_vector(norm, 3);
  const double count = (double)(norm->outer * norm->inner);
  for (int64_t row = 0; row < norm->outer * norm->features; row++) {
    load_row(norm, operand, row, norm->row);
    for (int64_t i = 0; i < norm->inner; i++) mean[row % norm->features] += norm->row[i];
  }
  for (int64_t f = 0; f < norm->features; f++) mean[f] /= count;
  for (int64_t row = 0; row < norm->outer * norm->features; row++) {
    const int64_t f = row % norm->features;
    load_row(norm, operand, row, norm->row);
    for (int64_t i = 0; i < norm->inner; i++) {
      variance[f] += (norm->row[i] - mean[f]) * (norm->row[i] - mean[f]);
    }
  }
  for (int64_t f = 0; f < norm->features; f++) variance[f] /= count;
}

hlo_status_t hlo_ref_batch_norm_training(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_batch_norm_training, operands, results);
  }
  norm_t norm;
  HLO_TRY(norm_init(&norm, node, operands, 2));
  hlo_status_t status = norm_results(eval, node, &norm, operands[0], results);
  if (hlo_status_is_ok(status)) {
    load_vector(&norm, operands[1], 0);
    load_vector(&norm, operands[2], 1);
    compute_statistics(&norm, operands[0]);
    normalise_features(&norm, operands[0], feature_vector(&norm, 0), feature_vector(&norm, 1),
                       feature_vector(&norm, 2), feature_vector(&norm, 3), results[0]);
    store_vector(&norm, 2, results[1]);
    store_vector(&norm, 3, results[2]);
  }
  hlo_mem_free(norm.row);
  return status;
}

// Sums over the batch: of the gradient into vector 3, of gradient * (operand - mean) into vector 4.
static void gradient_sums(const norm_t* norm, hlo_tensor_t* const* operands) {
  const double* mean = feature_vector(norm, 1);
  double *sum = feature_vector(norm, 3), *centred = feature_vector(norm, 4);
  for (int64_t row = 0; row < norm->outer * norm->features; row++) {
    const int64_t f = row % norm->features;
    load_row(norm, operands[0], row, norm->row);
    load_row(norm, operands[4], row, norm->other);
    for (int64_t i = 0; i < norm->inner; i++) {
      sum[f] += norm->other[i];
      centred[f] += norm->other[i] * (norm->row[i] - mean[f]);
    }
  }
}

hlo_status_t hlo_ref_batch_norm_grad(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_batch_norm_grad, operands, results);
  }
  norm_t norm;
  if (operands[4]->element_count != operands[0]->element_count) {
    return hlo_node_invalid(node, "the gradient has another shape");
  }
  HLO_TRY(norm_init(&norm, node, operands, 3));
  hlo_status_t status = norm_results(eval, node, &norm, operands[0], results);
  if (hlo_status_is_ok(status)) {
    for (uint32_t k = 0; k < 3; k++) load_vector(&norm, operands[k + 1], k);
    gradient_sums(&norm, operands);
    const double *scale = feature_vector(&norm, 0), *mean = feature_vector(&norm, 1),
                 *variance = feature_vector(&norm, 2), *sum = feature_vector(&norm, 3);
    double* centred = feature_vector(&norm, 4);
    const double count = (double)(norm.outer * norm.inner);
    for (int64_t row = 0; row < norm.outer * norm.features; row++) {
      const int64_t f = row % norm.features;
      const double shifted = variance[f] + norm.epsilon;
      const double factor = scale[f] / sqrt(shifted) / count;
      load_row(&norm, operands[0], row, norm.row);
      load_row(&norm, operands[4], row, norm.other);
      for (int64_t i = 0; i < norm.inner; i++) {
        const double along = centred[f] * (norm.row[i] - mean[f]) / shifted;
        norm.row[i] = factor * (count * norm.other[i] - sum[f] - along);
      }
      store_row(&norm, norm.row, row, results[0]);
    }
    for (int64_t f = 0; f < norm.features; f++) centred[f] /= sqrt(variance[f] + norm.epsilon);
    store_vector(&norm, 4, results[1]);
    store_vector(&norm, 3, results[2]);
  }
  hlo_mem_free(norm.row);
  return status;
}
