// SPDX-License-Identifier: Apache-2.0
// Rules of contractions and convolutions.
#include <string.h>

#include "ir/dot_algorithm.h"
#include "ir/infer_impl.h"
#include "ir/scaled_dot.h"

// The result of a contraction: batch dims, then the remaining dims of the left and of the right
// operand.
typedef struct contraction {
  uint32_t batch_count, contract_count;
  const int64_t *lhs_batch, *rhs_batch, *lhs_contract, *rhs_contract;
} contraction_t;

static hlo_status_t read_contraction(const hlo_node_t* node, const hlo_type_t* lhs,
                                     const hlo_type_t* rhs, contraction_t* c) {
  uint32_t rhs_batch, rhs_contract;
  HLO_TRY(hlo_infer_dims(node, HLO_ATTR_lhs_batching_dimensions, lhs->rank, &c->lhs_batch,
                         &c->batch_count));
  HLO_TRY(
      hlo_infer_dims(node, HLO_ATTR_rhs_batching_dimensions, rhs->rank, &c->rhs_batch, &rhs_batch));
  HLO_TRY(hlo_infer_dims(node, HLO_ATTR_lhs_contracting_dimensions, lhs->rank, &c->lhs_contract,
                         &c->contract_count));
  HLO_TRY(hlo_infer_dims(node, HLO_ATTR_rhs_contracting_dimensions, rhs->rank, &c->rhs_contract,
                         &rhs_contract));
  if (c->batch_count != rhs_batch || c->contract_count != rhs_contract) {
    return hlo_infer_error("the operands' batching or contracting dimensions differ in number");
  }
  for (uint32_t i = 0; i < c->batch_count; ++i) {
    if (!hlo_dims_agree(lhs->dims[c->lhs_batch[i]], rhs->dims[c->rhs_batch[i]])) {
      return hlo_infer_error("batching dimensions %u differ in size", i);
    }
  }
  return hlo_ok();
}

static bool is_in(uint32_t count, const int64_t* dims, uint32_t dim) {
  for (uint32_t i = 0; i < count; ++i) {
    if (dims[i] == (int64_t)dim) return true;
  }
  return false;
}

static hlo_status_t free_dims(const hlo_type_t* type, uint32_t batch_count, const int64_t* batch,
                              uint32_t contract_count, const int64_t* contract, uint32_t* rank,
                              int64_t* dims) {
  for (uint32_t i = 0; i < type->rank; ++i) {
    bool batched = is_in(batch_count, batch, i), contracted = is_in(contract_count, contract, i);
    if (batched && contracted)
      return hlo_infer_error("dimension %u is both batched and contracted", i);
    if (batched || contracted) continue;
    if (*rank == HLO_RANK_MAX) return hlo_infer_error("the rank of the result is too high");
    dims[(*rank)++] = type->dims[i];
  }
  return hlo_ok();
}

static hlo_status_t check_dims(const hlo_type_t* result, uint32_t rank, const int64_t* dims) {
  if (result->rank != rank) {
    return hlo_infer_error("the result has rank %u, but the operands determine %u", result->rank,
                           rank);
  }
  for (uint32_t i = 0; i < rank; ++i) {
    if (!hlo_dims_agree(result->dims[i], dims[i])) {
      return hlo_infer_error("dimension %u of the result is %lld, but the operands determine %lld",
                             i, (long long)result->dims[i], (long long)dims[i]);
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_dims_dot_general(const hlo_node_t* node, uint32_t* out_rank, int64_t* dims) {
  const hlo_type_t *lhs = hlo_node_operand_type(node, 0), *rhs = hlo_node_operand_type(node, 1);
  contraction_t c;
  HLO_TRY(read_contraction(node, lhs, rhs, &c));
  for (uint32_t i = 0; i < c.contract_count; ++i) {
    if (!hlo_dims_agree(lhs->dims[c.lhs_contract[i]], rhs->dims[c.rhs_contract[i]])) {
      return hlo_infer_error("contracting dimensions %u are %lld and %lld", i,
                             (long long)lhs->dims[c.lhs_contract[i]],
                             (long long)rhs->dims[c.rhs_contract[i]]);
    }
  }
  *out_rank = c.batch_count;
  for (uint32_t i = 0; i < c.batch_count; ++i) dims[i] = lhs->dims[c.lhs_batch[i]];
  HLO_TRY(
      free_dims(lhs, c.batch_count, c.lhs_batch, c.contract_count, c.lhs_contract, out_rank, dims));
  return free_dims(rhs, c.batch_count, c.rhs_batch, c.contract_count, c.rhs_contract, out_rank,
                   dims);
}

hlo_status_t hlo_dims_dot(const hlo_node_t* node, uint32_t* out_rank, int64_t* dims) {
  const hlo_type_t *lhs = hlo_node_operand_type(node, 0), *rhs = hlo_node_operand_type(node, 1);
  if (lhs->rank < 1 || lhs->rank > 2 || rhs->rank < 1 || rhs->rank > 2) {
    return hlo_infer_error("accepts vectors and matrices only");
  }
  if (!hlo_dims_agree(lhs->dims[lhs->rank - 1], rhs->dims[0])) {
    return hlo_infer_error("contracted dimensions are %lld and %lld",
                           (long long)lhs->dims[lhs->rank - 1], (long long)rhs->dims[0]);
  }
  *out_rank = 0;
  if (lhs->rank == 2) dims[(*out_rank)++] = lhs->dims[0];
  if (rhs->rank == 2) dims[(*out_rank)++] = rhs->dims[1];
  return hlo_ok();
}

static hlo_status_t check_result(const hlo_node_t* node) {
  uint32_t rank = 0;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(hlo_infer_result_dims(node, &rank, dims));
  return check_dims(node->results[0].type, rank, dims);
}

// StableHLO requires equal element types of the operands (C13 of dot_general, C27 of convolution)
// that are promotable to the result's. Its verifier and XLA let dots mix types, which JAX relies
// on; but no contraction may drop imaginary parts.
static hlo_status_t check_types(const hlo_node_t* node) {
  const hlo_type_t *lhs = hlo_node_operand_type(node, 0), *rhs = hlo_node_operand_type(node, 1);
  const hlo_type_t* result = node->results[0].type;
  if (lhs->quant || rhs->quant || result->quant) return hlo_ok();
  bool is_complex = hlo_dtype_is_complex(lhs->dtype) || hlo_dtype_is_complex(rhs->dtype);
  if (is_complex && !hlo_dtype_is_complex(result->dtype)) {
    return hlo_infer_error("complex operands need a complex result, not %s",
                           hlo_dtype_info(result->dtype)->mlir_name);
  }
  return hlo_ok();
}

// Convolutions mix float types only, and float operands need a float result.
static hlo_status_t check_convolution_types(const hlo_node_t* node) {
  HLO_TRY(check_types(node));
  const hlo_type_t *lhs = hlo_node_operand_type(node, 0), *rhs = hlo_node_operand_type(node, 1);
  const hlo_type_t* result = node->results[0].type;
  if (lhs->quant || rhs->quant || result->quant) return hlo_ok();
  bool floats = hlo_dtype_is_float(lhs->dtype) && hlo_dtype_is_float(rhs->dtype);
  if (lhs->dtype != rhs->dtype && !floats) {
    return hlo_infer_error("the operands' element types %s and %s differ",
                           hlo_dtype_info(lhs->dtype)->mlir_name,
                           hlo_dtype_info(rhs->dtype)->mlir_name);
  }
  bool inexact = hlo_dtype_is_float(result->dtype) || hlo_dtype_is_complex(result->dtype);
  if (!floats || inexact) return hlo_ok();
  return hlo_infer_error("float operands cannot have a result of %s",
                         hlo_dtype_info(result->dtype)->mlir_name);
}

// An algorithm needs all of its attributes, and excludes precision_config.
static hlo_status_t check_algorithm(const hlo_node_t* node) {
  static const hlo_attr_id_t counts[] = {HLO_ATTR_lhs_component_count, HLO_ATTR_rhs_component_count,
                                         HLO_ATTR_num_primitive_operations};
  static const hlo_attr_id_t others[] = {HLO_ATTR_lhs_precision_type, HLO_ATTR_rhs_precision_type,
                                         HLO_ATTR_accumulation_type,
                                         HLO_ATTR_allow_imprecise_accumulation};
  uint32_t given = 0;
  for (uint32_t i = 0; i < 4; ++i) given += hlo_node_attr(node, others[i]) != NULL;
  for (uint32_t i = 0; i < 3; ++i) {
    given += hlo_node_attr(node, counts[i]) != NULL;
    const int64_t count = hlo_node_attr_int(node, counts[i], 1);
    if (count >= 1) continue;
    return hlo_infer_error("%s is %lld, not positive", hlo_attr_name(counts[i]), (long long)count);
  }
  if (given == 0) return hlo_ok();
  if (given < HLO_DOT_ALGORITHM_ATTR_COUNT) {
    return hlo_infer_error("%u of the %d attributes of an algorithm are given", given,
                           HLO_DOT_ALGORITHM_ATTR_COUNT);
  }
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_precision_config);
  for (uint32_t i = 0; config && i < config->count; ++i) {
    if (config->items[i]->i == HLO_PRECISION_DEFAULT) continue;
    return hlo_infer_error("with an algorithm, the precision of both operands must be DEFAULT");
  }
  return hlo_ok();
}

void hlo_verify_dot_general(hlo_verify_t* verify, const hlo_node_t* node) {
  if (hlo_verify_status(verify, node, check_result(node)) &&
      hlo_verify_status(verify, node, check_types(node))) {
    hlo_verify_status(verify, node, check_algorithm(node));
  }
}

void hlo_verify_dot(hlo_verify_t* verify, const hlo_node_t* node) {
  if (hlo_verify_status(verify, node, check_result(node))) {
    hlo_verify_status(verify, node, check_types(node));
  }
}

// ---- einsum: letters, an optional "..." for batch dims

static hlo_status_t check_einsum(const hlo_node_t* node) {
  const char* config = hlo_node_attr_text(node, HLO_ATTR_einsum_config);
  uint32_t operand = 0, letters = 0;
  bool arrow = false, dots = false;
  for (const char* p = config; *p; ++p) {
    bool at_end = *p == ',' || (*p == '-' && p[1] == '>');
    if (at_end) {
      if (arrow || operand >= node->operand_count ||
          (!dots && letters != hlo_node_operand_type(node, operand)->rank)) {
        return hlo_infer_error("einsum_config \"%s\" does not match the operands", config);
      }
      ++operand;
      letters = 0;
      dots = false;
      if (*p == '-') {
        arrow = true;
        ++p;
      }
    } else if (strncmp(p, "...", 3) == 0) {
      dots = true;
      p += 2;
    } else if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z')) {
      ++letters;
    } else if (*p != ' ') {
      return hlo_infer_error("einsum_config \"%s\" has an invalid character", config);
    }
  }
  if (!arrow || operand != node->operand_count ||
      (!dots && letters != node->results[0].type->rank)) {
    return hlo_infer_error("einsum_config \"%s\" does not match operands and result", config);
  }
  return hlo_ok();
}

void hlo_verify_einsum(hlo_verify_t* verify, const hlo_node_t* node) {
  hlo_verify_status(verify, node, check_einsum(node));
}
HLO_VERIFY_AS(unary_einsum, hlo_verify_einsum)

// ---- convolution

typedef struct conv_dims {
  uint32_t spatial;
  int64_t input_batch, input_feature, kernel_input, kernel_output, output_batch, output_feature;
  const int64_t *input, *kernel, *output;
} conv_dims_t;

// Batch, feature and spatial dimensions must name each dimension of a tensor once.
static hlo_status_t check_partition(const char* what, uint32_t rank, int64_t a, int64_t b,
                                    uint32_t count, const int64_t* spatial) {
  uint64_t seen = 0;
  bool ok = rank == count + 2 && a >= 0 && a < rank && b >= 0 && b < rank && a != b;
  if (ok) seen = (uint64_t)1 << a | (uint64_t)1 << b;
  for (uint32_t i = 0; ok && i < count; ++i) {
    ok = spatial[i] >= 0 && spatial[i] < rank && !(seen >> spatial[i] & 1);
    if (ok) seen |= (uint64_t)1 << spatial[i];
  }
  if (ok) return hlo_ok();
  return hlo_infer_error("the dimension numbers do not name each dimension of the %s once", what);
}

static hlo_status_t read_conv_dims(const hlo_node_t* node, conv_dims_t* d) {
  uint32_t kernel, output;
  d->input = hlo_node_attr_ints(node, HLO_ATTR_input_spatial_dimensions, &d->spatial);
  d->kernel = hlo_node_attr_ints(node, HLO_ATTR_kernel_spatial_dimensions, &kernel);
  d->output = hlo_node_attr_ints(node, HLO_ATTR_output_spatial_dimensions, &output);
  if (kernel != d->spatial || output != d->spatial) {
    return hlo_infer_error("input, kernel and output differ in spatial rank");
  }
  d->input_batch = hlo_node_attr_int(node, HLO_ATTR_input_batch_dimension, -1);
  d->input_feature = hlo_node_attr_int(node, HLO_ATTR_input_feature_dimension, -1);
  d->kernel_input = hlo_node_attr_int(node, HLO_ATTR_kernel_input_feature_dimension, -1);
  d->kernel_output = hlo_node_attr_int(node, HLO_ATTR_kernel_output_feature_dimension, -1);
  d->output_batch = hlo_node_attr_int(node, HLO_ATTR_output_batch_dimension, -1);
  d->output_feature = hlo_node_attr_int(node, HLO_ATTR_output_feature_dimension, -1);
  HLO_TRY(check_partition("input", hlo_node_operand_type(node, 0)->rank, d->input_batch,
                          d->input_feature, d->spatial, d->input));
  HLO_TRY(check_partition("kernel", hlo_node_operand_type(node, 1)->rank, d->kernel_input,
                          d->kernel_output, d->spatial, d->kernel));
  return check_partition("output", node->results[0].type->rank, d->output_batch, d->output_feature,
                         d->spatial, d->output);
}

// Computes the result's batch and feature dims.
static hlo_status_t group_dims(const hlo_node_t* node, const conv_dims_t* d, int64_t* dims) {
  const hlo_type_t *input = hlo_node_operand_type(node, 0),
                   *kernel = hlo_node_operand_type(node, 1);
  int64_t features = hlo_node_attr_int(node, HLO_ATTR_feature_group_count, 1);
  int64_t batches = hlo_node_attr_int(node, HLO_ATTR_batch_group_count, 1);
  if (features < 1 || batches < 1 || (features > 1 && batches > 1)) {
    return hlo_infer_error("has %lld feature groups and %lld batch groups", (long long)features,
                           (long long)batches);
  }
  int64_t in = input->dims[d->input_feature], per_group = kernel->dims[d->kernel_input];
  int64_t out = kernel->dims[d->kernel_output], batch = input->dims[d->input_batch];
  if ((hlo_dim_is_known(in) && (in % features || !hlo_dims_agree(in / features, per_group))) ||
      (hlo_dim_is_known(out) && (out % features || out % batches)) ||
      (hlo_dim_is_known(batch) && batch % batches)) {
    return hlo_infer_error("features or batches do not divide evenly into groups");
  }
  dims[d->output_feature] = out;
  dims[d->output_batch] = hlo_dim_is_known(batch) ? batch / batches : HLO_DIM_DYNAMIC;
  return hlo_ok();
}

hlo_status_t hlo_dims_convolution(const hlo_node_t* node, uint32_t* out_rank, int64_t* dims) {
  conv_dims_t d;
  uint32_t padding_count, reversal_count;
  const int64_t *strides, *lhs_dilation, *rhs_dilation;
  HLO_TRY(read_conv_dims(node, &d));
  *out_rank = d.spatial + 2;
  for (uint32_t i = 0; i < *out_rank; ++i) dims[i] = HLO_DIM_DYNAMIC;
  HLO_TRY(group_dims(node, &d, dims));
  HLO_TRY(hlo_infer_ints(node, HLO_ATTR_window_strides, d.spatial, 1, &strides));
  HLO_TRY(hlo_infer_ints(node, HLO_ATTR_lhs_dilation, d.spatial, 1, &lhs_dilation));
  HLO_TRY(hlo_infer_ints(node, HLO_ATTR_rhs_dilation, d.spatial, 1, &rhs_dilation));
  const int64_t* reversal = hlo_node_attr_ints(node, HLO_ATTR_window_reversal, &reversal_count);
  if (reversal && reversal_count != d.spatial)
    return hlo_infer_error("window_reversal has the wrong length");
  if (node->op == HLO_OP_dynamic_conv) return hlo_ok();
  const int64_t* padding = hlo_node_attr_ints(node, HLO_ATTR_padding, &padding_count);
  if (padding && padding_count != 2 * d.spatial) {
    return hlo_infer_error("padding has %u values, %u expected", padding_count, 2 * d.spatial);
  }
  const hlo_type_t *input = hlo_node_operand_type(node, 0),
                   *kernel = hlo_node_operand_type(node, 1);
  for (uint32_t i = 0; i < d.spatial; ++i) {
    int64_t size = kernel->dims[d.kernel[i]];
    if (!hlo_dim_is_known(size)) continue;
    hlo_infer_window_dim_t w = {.size = size,
                                .stride = strides ? strides[i] : 1,
                                .low = padding ? padding[2 * i] : 0,
                                .high = padding ? padding[2 * i + 1] : 0,
                                .base_dilation = lhs_dilation ? lhs_dilation[i] : 1,
                                .window_dilation = rhs_dilation ? rhs_dilation[i] : 1};
    HLO_TRY(hlo_infer_window(input->dims[d.input[i]], &w, &dims[d.output[i]]));
  }
  return hlo_ok();
}

void hlo_verify_convolution(hlo_verify_t* verify, const hlo_node_t* node) {
  if (hlo_verify_status(verify, node, check_result(node))) {
    hlo_verify_status(verify, node, check_convolution_types(node));
  }
}

void hlo_verify_dynamic_conv(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!hlo_verify_status(verify, node, check_result(node)) ||
      !hlo_verify_status(verify, node, check_convolution_types(node))) {
    return;
  }
  const hlo_type_t* padding = hlo_node_operand_type(node, 2);
  uint32_t spatial = hlo_node_operand_type(node, 0)->rank - 2;
  if (padding->rank != 2 || !hlo_dtype_is_integer(padding->dtype) ||
      !hlo_dims_agree(padding->dims[0], spatial) || !hlo_dims_agree(padding->dims[1], 2)) {
    hlo_verify_fault(verify, node, "the padding is not a %ux2 matrix of integers", spatial);
  }
}

// ---- ragged dot: by the kind of the ragged dimension, as in StableHLO's three modes

static hlo_status_t check_ragged_dot(const hlo_node_t* node) {
  const hlo_type_t *lhs = hlo_node_operand_type(node, 0), *rhs = hlo_node_operand_type(node, 1);
  const hlo_type_t* sizes = hlo_node_operand_type(node, 2);
  contraction_t c;
  const int64_t *ragged, *groups;
  uint32_t ragged_count, group_count, rank = 0;
  HLO_TRY(read_contraction(node, lhs, rhs, &c));
  HLO_TRY(hlo_infer_dims(node, HLO_ATTR_lhs_ragged_dimensions, lhs->rank, &ragged, &ragged_count));
  HLO_TRY(hlo_infer_dims(node, HLO_ATTR_rhs_group_dimensions, rhs->rank, &groups, &group_count));
  bool contracted =
      ragged_count == 1 && is_in(c.contract_count, c.lhs_contract, (uint32_t)ragged[0]);
  bool batched = ragged_count == 1 && is_in(c.batch_count, c.lhs_batch, (uint32_t)ragged[0]);
  if (ragged_count != 1 || sizes->rank < 1 || !hlo_dtype_is_integer(sizes->dtype) ||
      group_count != (contracted || batched ? 0u : 1u)) {
    return hlo_infer_error("ragged and group dimensions do not match the operands");
  }
  int64_t dims[HLO_RANK_MAX];
  if (contracted) dims[rank++] = sizes->dims[sizes->rank - 1];
  for (uint32_t i = 0; i < c.batch_count; ++i) dims[rank++] = lhs->dims[c.lhs_batch[i]];
  HLO_TRY(
      free_dims(lhs, c.batch_count, c.lhs_batch, c.contract_count, c.lhs_contract, &rank, dims));
  // The group dimension of the right operand is not batched, contracted or part of the result.
  int64_t skip[2 * HLO_RANK_MAX];
  uint32_t skip_count = c.contract_count;
  memcpy(skip, c.rhs_contract, c.contract_count * sizeof *skip);
  if (group_count) skip[skip_count++] = groups[0];
  HLO_TRY(free_dims(rhs, c.batch_count, c.rhs_batch, skip_count, skip, &rank, dims));
  return check_dims(node->results[0].type, rank, dims);
}

void hlo_verify_chlo_ragged_dot(hlo_verify_t* verify, const hlo_node_t* node) {
  if (hlo_verify_status(verify, node, check_ragged_dot(node))) {
    hlo_verify_status(verify, node, check_types(node));
  }
}

// ---- products with block scales

static hlo_status_t check_scaled_dot(const hlo_node_t* node) {
  static const char* const sides[] = {"left", "right"};
  for (uint32_t i = 0; i < HLO_SCALED_DOT_OPERANDS; ++i) {
    const hlo_dtype_t dtype = hlo_node_operand_type(node, i)->dtype;
    if (hlo_node_operand_type(node, i)->quant || !hlo_dtype_is_float(dtype)) {
      return hlo_infer_error("operand %u has elements of %s, not floats", i,
                             hlo_dtype_info(dtype)->mlir_name);
    }
  }
  const hlo_dtype_t result = node->results[0].type->dtype;
  if (!hlo_dtype_is_float(result)) {
    return hlo_infer_error("the result has elements of %s, not floats",
                           hlo_dtype_info(result)->mlir_name);
  }
  if (!hlo_scaled_dot_has_scale(node, 0) && !hlo_scaled_dot_has_scale(node, 1)) {
    return hlo_infer_error("neither operand has scales");
  }
  for (uint32_t i = 0; i < 2; ++i) {
    if (!hlo_scaled_dot_has_scale(node, i)) continue;
    HLO_TRY(hlo_scaled_dot_check_scale(sides[i], hlo_node_operand_type(node, i),
                                       hlo_node_operand_type(node, 2 + i)));
  }
  return hlo_ok();
}

void hlo_verify_hlo_scaled_dot(hlo_verify_t* verify, const hlo_node_t* node) {
  if (hlo_verify_status(verify, node, check_result(node))) {
    hlo_verify_status(verify, node, check_scaled_dot(node));
  }
}
