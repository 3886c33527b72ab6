// SPDX-License-Identifier: Apache-2.0
// Result types of tokens, tuples, identities, collectives, linear algebra and batch normalisation.
#include <string.h>

#include "ir/infer_impl.h"

static hlo_status_t give_token(hlo_infer_t* infer) {
  return hlo_infer_give(infer, hlo_type_token(infer->module));
}

static hlo_status_t check_token(const hlo_infer_t* infer, uint32_t i) {
  if (hlo_node_operand_type(infer->node, i)->kind == HLO_TYPE_TOKEN) return hlo_ok();
  return hlo_infer_error("operand %u is not a token", i);
}

hlo_status_t hlo_infer_after_all(hlo_infer_t* infer) {
  for (uint32_t i = 0; i < infer->node->operand_count; ++i) HLO_TRY(check_token(infer, i));
  return give_token(infer);
}

HLO_INFER_AS(create_token, give_token)

hlo_status_t hlo_infer_outfeed(hlo_infer_t* infer) {
  HLO_TRY(check_token(infer, infer->node->operand_count - 1));
  return give_token(infer);
}

HLO_INFER_AS(send, hlo_infer_outfeed)

static hlo_status_t give_operands(hlo_infer_t* infer, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(hlo_infer_give(infer, hlo_node_operand_type(infer->node, i)));
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_optimization_barrier(hlo_infer_t* infer) {
  return give_operands(infer, infer->node->operand_count);
}

hlo_status_t hlo_infer_tuple(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t** types =
      hlo_arena_array(&infer->module->arena, node->operand_count + 1, sizeof *types);
  if (!types) return hlo_module_status(infer->module);
  for (uint32_t i = 0; i < node->operand_count; ++i) types[i] = hlo_node_operand_type(node, i);
  return hlo_infer_give(infer, hlo_type_tuple(infer->module, node->operand_count, types));
}

hlo_status_t hlo_infer_get_tuple_element(hlo_infer_t* infer) {
  const hlo_type_t* type = hlo_node_operand_type(infer->node, 0);
  int64_t index = hlo_node_attr_int(infer->node, HLO_ATTR_index, -1);
  if (type->kind != HLO_TYPE_TUPLE || index < 0 || index >= type->element_count) {
    return hlo_infer_error("the operand is not a tuple with an element %lld", (long long)index);
  }
  return hlo_infer_give(infer, type->elements[index]);
}

static hlo_status_t give_u32(hlo_infer_t* infer) {
  return hlo_infer_give(infer, hlo_type_tensor(infer->module, HLO_DTYPE_U32, 0, NULL));
}
HLO_INFER_AS(partition_id, give_u32)
HLO_INFER_AS(replica_id, give_u32)

hlo_status_t hlo_infer_collective_broadcast(hlo_infer_t* infer) {
  bool root = hlo_node_attr_bool(infer->node, HLO_ATTR_has_dynamic_root, false);
  uint32_t count = infer->node->operand_count;
  if (root && count < 2) return hlo_infer_error("has no operand besides the root");
  return give_operands(infer, root ? count - 1 : count);
}

hlo_status_t hlo_infer_collective_permute(hlo_infer_t* infer) {
  uint32_t count;
  const int64_t* pairs = hlo_node_attr_ints(infer->node, HLO_ATTR_source_target_pairs, &count);
  for (uint32_t i = 0; i < count; ++i) {
    if (pairs[i] < 0) return hlo_infer_error("source_target_pairs has a negative process id");
    for (uint32_t k = i % 2; k < i; k += 2) {
      if (pairs[k] == pairs[i]) {
        return hlo_infer_error("process %lld is %s twice", (long long)pairs[i],
                               i % 2 ? "a target" : "a source");
      }
    }
  }
  if (infer->node->operand_count == 0) return hlo_infer_error("has no operand");
  return give_operands(infer, infer->node->operand_count);
}

hlo_status_t hlo_infer_all_to_all(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  int64_t count = hlo_node_attr_int(node, HLO_ATTR_split_count, 0);
  if (count < 1) return hlo_infer_error("split_count is %lld", (long long)count);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* type = NULL;
    int64_t split, concat, dims[HLO_RANK_MAX];
    HLO_TRY(hlo_infer_tensor(infer, i, &type));
    HLO_TRY(hlo_infer_dim(node, HLO_ATTR_split_dimension, type->rank, &split));
    HLO_TRY(hlo_infer_dim(node, HLO_ATTR_concat_dimension, type->rank, &concat));
    memcpy(dims, type->dims, type->rank * sizeof *dims);
    if (hlo_dim_is_known(dims[split])) {
      if (dims[split] % count) {
        return hlo_infer_error("dimension %lld of %lld does not divide into %lld parts",
                               (long long)split, (long long)dims[split], (long long)count);
      }
      dims[split] /= count;
    }
    if (hlo_dim_is_known(dims[concat]) &&
        __builtin_mul_overflow(dims[concat], count, &dims[concat])) {
      return hlo_infer_error("the result overflows");
    }
    HLO_TRY(hlo_infer_give(infer, hlo_type_with_dims(infer->module, type, type->rank, dims)));
  }
  return hlo_ok();
}

// ---- factorisations, transforms and batch normalisation

static bool is_inexact(const hlo_type_t* type) {
  return type->quant || hlo_dtype_is_float(type->dtype) || hlo_dtype_is_complex(type->dtype);
}

// Checks that the last two dims of operand 0 are equal, so that it holds square matrices.
static hlo_status_t check_square(const hlo_type_t* type) {
  if (type->rank < 2)
    return hlo_infer_error("operand 0 has rank %u, at least 2 expected", type->rank);
  if (!hlo_dims_agree(type->dims[type->rank - 1], type->dims[type->rank - 2])) {
    return hlo_infer_error("operand 0 does not hold square matrices");
  }
  if (!is_inexact(type)) return hlo_infer_error("accepts floats and complex numbers only");
  return hlo_ok();
}

hlo_status_t hlo_infer_cholesky(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  HLO_TRY(check_square(type));
  return hlo_infer_give(infer, type);
}

hlo_status_t hlo_infer_triangular_solve(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t *a, *b;
  HLO_TRY(hlo_infer_tensor(infer, 0, &a));
  HLO_TRY(hlo_infer_tensor(infer, 1, &b));
  HLO_TRY(check_square(a));
  if (a->rank != b->rank || (!a->quant && a->dtype != b->dtype)) {
    return hlo_infer_error("operands differ in rank or element type");
  }
  for (uint32_t i = 0; i + 2 < a->rank; ++i) {
    if (!hlo_dims_agree(a->dims[i], b->dims[i])) {
      return hlo_infer_error("operands differ in batch dimension %u", i);
    }
  }
  bool left = hlo_node_attr_bool(node, HLO_ATTR_left_side, false);
  if (!hlo_dims_agree(a->dims[a->rank - 1], b->dims[b->rank - (left ? 2 : 1)])) {
    return hlo_infer_error("the dimensions of the matrices do not match");
  }
  if (hlo_node_attr_int(node, HLO_ATTR_transpose_a, 0) == HLO_TRANSPOSE_TRANSPOSE_INVALID) {
    return hlo_infer_error("transpose_a is invalid");
  }
  return hlo_infer_give(infer, b);
}

hlo_status_t hlo_infer_fft(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t* type = NULL;
  uint32_t count;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  const int64_t* lengths = hlo_node_attr_ints(node, HLO_ATTR_fft_length, &count);
  if (count < 1 || count > 3 || count > type->rank) {
    return hlo_infer_error("fft_length has %u values, but the rank is %u", count, type->rank);
  }
  int64_t kind = hlo_node_attr_int(node, HLO_ATTR_fft_type, 0), dims[HLO_RANK_MAX];
  bool real_in = kind == HLO_FFT_TYPE_RFFT, real_out = kind == HLO_FFT_TYPE_IRFFT;
  if (real_in ? type->dtype != HLO_DTYPE_F32 && type->dtype != HLO_DTYPE_F64
              : !hlo_dtype_is_complex(type->dtype)) {
    return hlo_infer_error("the operand's element type is wrong for this fft_type");
  }
  memcpy(dims, type->dims, type->rank * sizeof *dims);
  for (uint32_t i = 0; i < count; ++i) {
    int64_t dim = type->dims[type->rank - count + i];
    bool halved = real_out && i == count - 1;
    int64_t want = halved ? lengths[i] / 2 + 1 : lengths[i];
    if (lengths[i] < 0 ||
        (hlo_dim_is_known(dim) && dim != want && !(halved && lengths[i] == 0 && dim == 0))) {
      return hlo_infer_error("fft_length %lld does not match a dimension of %lld",
                             (long long)lengths[i], (long long)dim);
    }
  }
  uint32_t last = type->rank - 1;
  if (real_in && hlo_dim_is_known(dims[last])) {
    dims[last] = lengths[count - 1] == 0 ? 0 : lengths[count - 1] / 2 + 1;
  } else if (real_out) {
    dims[last] = lengths[count - 1];
  }
  const hlo_type_t* shaped = hlo_type_with_dims(infer->module, type, type->rank, dims);
  hlo_dtype_t dtype = type->dtype;
  if (real_in) dtype = hlo_dtype_complex_of(type->dtype);
  if (real_out) dtype = hlo_dtype_info(type->dtype)->part;
  return hlo_infer_give(infer, shaped ? hlo_type_with_dtype(infer->module, shaped, dtype) : NULL);
}

// Operand 0 may have any shape; the others are vectors along its feature dimension (the last may
// have the shape of operand 0).
static hlo_status_t check_batch_norm(const hlo_infer_t* infer, uint32_t vector_count,
                                     const hlo_type_t** out_operand, int64_t* out_feature_dim) {
  const hlo_type_t* operand = NULL;
  int64_t feature;
  HLO_TRY(hlo_infer_tensor(infer, 0, &operand));
  HLO_TRY(hlo_infer_dim(infer->node, HLO_ATTR_feature_index, operand->rank, &feature));
  if (!is_inexact(operand) || hlo_dtype_is_complex(operand->dtype)) {
    return hlo_infer_error("accepts floats only");
  }
  for (uint32_t i = 1; i <= vector_count; ++i) {
    const hlo_type_t* vector = NULL;
    HLO_TRY(hlo_infer_tensor(infer, i, &vector));
    if (vector->rank != 1 || vector->dtype != operand->dtype ||
        !hlo_dims_agree(vector->dims[0], operand->dims[feature])) {
      return hlo_infer_error("operand %u is not a vector along the feature dimension", i);
    }
  }
  *out_operand = operand;
  *out_feature_dim = operand->dims[feature];
  return hlo_ok();
}

static hlo_status_t give_features(hlo_infer_t* infer, const hlo_type_t* operand, int64_t dim) {
  return hlo_infer_give(infer, hlo_type_with_dims(infer->module, operand, 1, &dim));
}

hlo_status_t hlo_infer_batch_norm_inference(hlo_infer_t* infer) {
  const hlo_type_t* operand = NULL;
  int64_t dim;
  HLO_TRY(check_batch_norm(infer, 4, &operand, &dim));
  return hlo_infer_give(infer, operand);
}

hlo_status_t hlo_infer_batch_norm_training(hlo_infer_t* infer) {
  const hlo_type_t* operand = NULL;
  int64_t dim;
  HLO_TRY(check_batch_norm(infer, 2, &operand, &dim));
  HLO_TRY(hlo_infer_give(infer, operand));
  HLO_TRY(give_features(infer, operand, dim));
  return give_features(infer, operand, dim);
}

hlo_status_t hlo_infer_batch_norm_grad(hlo_infer_t* infer) {
  const hlo_type_t *operand, *grad;
  int64_t dim;
  HLO_TRY(check_batch_norm(infer, 3, &operand, &dim));
  HLO_TRY(hlo_infer_tensor(infer, 4, &grad));
  if (!hlo_types_compatible(operand, grad)) {
    return hlo_infer_error("grad_output does not have the operand's type");
  }
  HLO_TRY(hlo_infer_give(infer, operand));
  HLO_TRY(give_features(infer, operand, dim));
  return give_features(infer, operand, dim);
}
