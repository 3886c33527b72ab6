// SPDX-License-Identifier: Apache-2.0
// Rules of ops that carry their result type: conversions, reshapes, dynamic shapes.
#include <string.h>

#include "ir/infer_impl.h"

bool hlo_verify_status(hlo_verify_t* verify, const hlo_node_t* node, hlo_status_t status) {
  if (hlo_status_is_ok(status)) return true;
  hlo_verify_fault(verify, node, "%s", hlo_status_message(status));
  hlo_status_release(status);
  return false;
}

static bool same_dtype(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_type_t *a = hlo_node_operand_type(node, 0), *b = node->results[0].type;
  if (a->quant || b->quant || a->dtype == b->dtype) return true;
  hlo_verify_fault(verify, node, "operand and result differ in element type");
  return false;
}

static void verify_same_shape(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!hlo_shapes_agree(hlo_node_operand_type(node, 0), node->results[0].type)) {
    hlo_verify_fault(verify, node, "operand and result differ in shape");
  }
}

HLO_VERIFY_AS(convert, verify_same_shape)
HLO_VERIFY_AS(hlo_stochastic_convert, verify_same_shape)

void hlo_verify_uniform_quantize(hlo_verify_t* verify, const hlo_node_t* node) {
  verify_same_shape(verify, node);
  const hlo_type_t* type = node->results[0].type;
  if (!type->quant) hlo_verify_fault(verify, node, "the result is not quantized");
}

void hlo_verify_iota(hlo_verify_t* verify, const hlo_node_t* node) {
  int64_t dim;
  const hlo_type_t* type = node->results[0].type;
  hlo_verify_status(verify, node, hlo_infer_dim(node, HLO_ATTR_iota_dimension, type->rank, &dim));
  if (!hlo_type_is_static(type)) hlo_verify_fault(verify, node, "the result's shape is dynamic");
  if (type->dtype == HLO_DTYPE_PRED) hlo_verify_fault(verify, node, "i1 cannot hold the counter");
}

// Operand `i` must be a vector of integers, as long as the rank of result `r`.
static bool verify_shape_operand(hlo_verify_t* verify, const hlo_node_t* node, uint32_t i,
                                 uint32_t r) {
  const hlo_type_t* type = hlo_node_operand_type(node, i);
  if (type->rank != 1 || !hlo_dtype_is_integer(type->dtype) || type->quant ||
      !hlo_dims_agree(type->dims[0], node->results[r].type->rank)) {
    hlo_verify_fault(verify, node, "operand %u is not a vector of %u integers", i,
                     node->results[r].type->rank);
    return false;
  }
  return true;
}

void hlo_verify_dynamic_iota(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!verify_shape_operand(verify, node, 0, 0)) return;
  int64_t dim;
  hlo_verify_status(
      verify, node,
      hlo_infer_dim(node, HLO_ATTR_iota_dimension, node->results[0].type->rank, &dim));
}

void hlo_verify_bitcast_convert(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_type_t *a = hlo_node_operand_type(node, 0), *b = node->results[0].type;
  uint32_t bits_a = hlo_dtype_info(a->dtype)->bits, bits_b = hlo_dtype_info(b->dtype)->bits;
  if (hlo_dtype_is_complex(a->dtype) != hlo_dtype_is_complex(b->dtype)) {
    hlo_verify_fault(verify, node, "complex and real elements cannot be converted to each other");
    return;
  }
  // The wider type lacks the minor dimension that holds the parts of an element.
  const hlo_type_t *wide = bits_a >= bits_b ? a : b, *narrow = bits_a >= bits_b ? b : a;
  uint32_t ratio = bits_a == 0 || bits_b == 0 ? 0
                   : bits_a >= bits_b         ? bits_a / bits_b
                                              : bits_b / bits_a;
  bool ok = bits_a == bits_b
                ? hlo_shapes_agree(a, b)
                : narrow->rank == wide->rank + 1 && hlo_dims_agree(narrow->dims[wide->rank], ratio);
  for (uint32_t i = 0; ok && i < wide->rank; ++i) {
    ok = hlo_dims_agree(wide->dims[i], narrow->dims[i]);
  }
  uint32_t larger = bits_a > bits_b ? bits_a : bits_b, smaller = bits_a > bits_b ? bits_b : bits_a;
  if (!ok || smaller == 0 || larger % smaller) {
    hlo_verify_fault(verify, node, "the operand's bits do not match the result's shape");
  }
}

// Conversion to wider elements removes the minor dimension that holds their parts; conversion to
// narrower elements adds one.
static hlo_status_t bitcast_dims(const hlo_node_t* node, uint32_t* out_rank, int64_t* dims) {
  const hlo_type_t *from = hlo_node_operand_type(node, 0), *to = node->results[0].type;
  uint32_t from_bits = hlo_dtype_info(from->dtype)->bits, to_bits = hlo_dtype_info(to->dtype)->bits;
  bool shrinks = from_bits < to_bits;
  if (to_bits == 0 || from->rank + (from_bits > to_bits) > HLO_RANK_MAX ||
      (shrinks && from->rank == 0)) {
    return hlo_infer_error("the operand's bits do not match the result's shape");
  }
  *out_rank = from->rank - shrinks;
  if (*out_rank) memcpy(dims, from->dims, *out_rank * sizeof *dims);
  if (from_bits > to_bits) dims[(*out_rank)++] = from_bits / to_bits;
  return hlo_ok();
}

hlo_status_t hlo_infer_result_dims(const hlo_node_t* node, uint32_t* out_rank, int64_t* dims) {
  switch (node->op) {
    case HLO_OP_convert:
    case HLO_OP_uniform_quantize: {
      const hlo_type_t* type = hlo_node_operand_type(node, 0);
      *out_rank = type->rank;
      if (type->rank) memcpy(dims, type->dims, type->rank * sizeof *dims);
      return hlo_ok();
    }
    case HLO_OP_bitcast_convert: return bitcast_dims(node, out_rank, dims);
    case HLO_OP_dot: return hlo_dims_dot(node, out_rank, dims);
    case HLO_OP_hlo_scaled_dot:
    case HLO_OP_dot_general: return hlo_dims_dot_general(node, out_rank, dims);
    case HLO_OP_convolution:
    case HLO_OP_dynamic_conv: return hlo_dims_convolution(node, out_rank, dims);
    default:
      return hlo_failed_precondition("the operands of %s do not determine the shape of its result",
                                     hlo_op_info(node->op)->name);
  }
}

static void verify_element_count(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!same_dtype(verify, node)) return;
  int64_t a = hlo_type_element_count(hlo_node_operand_type(node, 0));
  int64_t b = hlo_type_element_count(node->results[0].type);
  if (a >= 0 && b >= 0 && a != b) {
    hlo_verify_fault(verify, node, "%lld elements cannot become %lld", (long long)a, (long long)b);
  }
}

void hlo_verify_reshape(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!hlo_type_is_static(node->results[0].type) && !node->results[0].type->bounds) {
    hlo_verify_fault(verify, node, "the result's shape is dynamic");
  }
  verify_element_count(verify, node);
}

void hlo_verify_dynamic_reshape(hlo_verify_t* verify, const hlo_node_t* node) {
  if (verify_shape_operand(verify, node, 1, 0)) verify_element_count(verify, node);
}

void hlo_verify_hlo_bitcast(hlo_verify_t* verify, const hlo_node_t* node) {
  size_t a = hlo_type_size_bytes(hlo_node_operand_type(node, 0));
  size_t b = hlo_type_size_bytes(node->results[0].type);
  if (a != b) hlo_verify_fault(verify, node, "operand and result differ in size in bytes");
}

static void verify_broadcast(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_type_t *a = hlo_node_operand_type(node, 0), *b = node->results[0].type;
  const int64_t* dims;
  uint32_t count;
  if (!same_dtype(verify, node) ||
      !hlo_verify_status(
          verify, node,
          hlo_infer_dims(node, HLO_ATTR_broadcast_dimensions, b->rank, &dims, &count))) {
    return;
  }
  if (count != a->rank) {
    hlo_verify_fault(verify, node,
                     "broadcast_dimensions has %u values, but the operand has rank %u", count,
                     a->rank);
    return;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (a->dims[i] != 1 && !hlo_dims_agree(a->dims[i], b->dims[dims[i]])) {
      hlo_verify_fault(verify, node, "dimension %u of %lld cannot become dimension %lld of %lld", i,
                       (long long)a->dims[i], (long long)dims[i], (long long)b->dims[dims[i]]);
    }
  }
}

void hlo_verify_broadcast_in_dim(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!hlo_type_is_static(node->results[0].type) && !node->results[0].type->bounds) {
    hlo_verify_fault(verify, node, "the result's shape is dynamic");
  }
  verify_broadcast(verify, node);
}

void hlo_verify_dynamic_broadcast_in_dim(hlo_verify_t* verify, const hlo_node_t* node) {
  if (verify_shape_operand(verify, node, 1, 0)) verify_broadcast(verify, node);
}

// Operand and result must have the same rank and element type; the operands from `first` on are
// vectors of rank length.
static bool verify_per_dim_operands(hlo_verify_t* verify, const hlo_node_t* node, uint32_t first) {
  if (!same_dtype(verify, node)) return false;
  if (hlo_node_operand_type(node, 0)->rank != node->results[0].type->rank) {
    hlo_verify_fault(verify, node, "operand and result differ in rank");
    return false;
  }
  for (uint32_t i = first; i < node->operand_count; ++i) {
    if (!verify_shape_operand(verify, node, i, 0)) return false;
  }
  return true;
}

void hlo_verify_dynamic_pad(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!verify_per_dim_operands(verify, node, 2)) return;
  const hlo_type_t* value = hlo_node_operand_type(node, 1);
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  if (value->rank != 0 || (!operand->quant && value->dtype != operand->dtype)) {
    hlo_verify_fault(verify, node,
                     "the padding value is not a scalar of the operand's element type");
  }
}

void hlo_verify_real_dynamic_slice(hlo_verify_t* verify, const hlo_node_t* node) {
  verify_per_dim_operands(verify, node, 1);
}

void hlo_verify_dynamic_gather(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_type_t* operand = hlo_node_operand_type(node, 0);
  const hlo_type_t* indices = hlo_node_operand_type(node, 1);
  const hlo_type_t* sizes = hlo_node_operand_type(node, 2);
  int64_t vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0);
  if (!hlo_dtype_is_integer(indices->dtype) || sizes->rank != 1 ||
      !hlo_dtype_is_integer(sizes->dtype) || !hlo_dims_agree(sizes->dims[0], operand->rank) ||
      vector_dim < 0 || vector_dim > indices->rank) {
    hlo_verify_fault(verify, node, "indices or slice sizes do not match the operand");
    return;
  }
  static const hlo_attr_id_t kOperandDims[] = {
      HLO_ATTR_collapsed_slice_dims, HLO_ATTR_operand_batching_dims, HLO_ATTR_start_index_map};
  const int64_t* dims;
  uint32_t count, window;
  for (uint32_t i = 0; i < 3; ++i) {
    if (!hlo_verify_status(verify, node,
                           hlo_infer_dims(node, kOperandDims[i], operand->rank, &dims, &count))) {
      return;
    }
  }
  hlo_verify_status(
      verify, node,
      hlo_infer_dims(node, HLO_ATTR_start_indices_batching_dims, indices->rank, &dims, &count));
  uint32_t result_rank = node->results[0].type->rank;
  if (hlo_verify_status(
          verify, node,
          hlo_infer_sorted_dims(node, HLO_ATTR_offset_dims, result_rank, &dims, &window))) {
    uint32_t batch = indices->rank - (vector_dim < indices->rank ? 1 : 0);
    if (batch + window != result_rank) {
      hlo_verify_fault(verify, node, "the result has rank %u, %u expected", result_rank,
                       batch + window);
    }
  }
  same_dtype(verify, node);
}

void hlo_verify_torch_index_select(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!same_dtype(verify, node)) return;
  const hlo_type_t *operand = hlo_node_operand_type(node, 0),
                   *index = hlo_node_operand_type(node, 1);
  int64_t dim = hlo_node_attr_int(node, HLO_ATTR_dim, 0);
  int64_t batch = hlo_node_attr_int(node, HLO_ATTR_batch_dims, 0);
  if (dim < 0 || dim >= operand->rank || batch < 0 || batch > dim || batch > index->rank) {
    hlo_verify_fault(verify, node, "dim or batch_dims do not match the operands");
    return;
  }
  if (!hlo_dtype_is_integer(index->dtype))
    hlo_verify_fault(verify, node, "indices are not integers");
  const hlo_type_t* result = node->results[0].type;
  uint32_t rank = operand->rank + index->rank - 1 - (uint32_t)batch;
  bool ok = result->rank == rank;
  for (uint32_t i = 0; ok && i < rank; ++i) {
    int64_t want = i < (uint32_t)dim ? operand->dims[i]
                   : i < (uint32_t)dim + index->rank - (uint32_t)batch
                       ? index->dims[i - (uint32_t)dim + (uint32_t)batch]
                       : operand->dims[i + 1 + (uint32_t)batch - index->rank];
    ok = hlo_dims_agree(result->dims[i], want);
  }
  if (!ok) hlo_verify_fault(verify, node, "the result's shape does not follow from the operands");
}

void hlo_verify_rng(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_type_t* type = node->results[0].type;
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_type_t* bound = hlo_node_operand_type(node, i);
    if (bound->rank != 0 || bound->dtype != type->dtype) {
      hlo_verify_fault(verify, node, "operand %u is not a scalar of the result's element type", i);
    }
  }
  verify_shape_operand(verify, node, 2, 0);
}

void hlo_verify_rng_bit_generator(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_type_t *state = hlo_node_operand_type(node, 0), *out = node->results[0].type;
  // The shape of the state is not checked: some algorithms exist only to be carried.
  if (state->dtype != out->dtype || !hlo_shapes_agree(state, out)) {
    hlo_verify_fault(verify, node, "the new state does not have the initial state's type");
  }
  if (!hlo_type_is_static(node->results[1].type)) {
    hlo_verify_fault(verify, node, "the result's shape is dynamic");
  }
}

void hlo_verify_all_gather(hlo_verify_t* verify, const hlo_node_t* node) {
  if (node->operand_count != node->result_count || node->operand_count == 0) {
    hlo_verify_fault(verify, node, "operands and results differ in number");
    return;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t *a = hlo_node_operand_type(node, i), *b = node->results[i].type;
    int64_t dim;
    if (!hlo_verify_status(verify, node,
                           hlo_infer_dim(node, HLO_ATTR_all_gather_dim, a->rank, &dim))) {
      return;
    }
    bool ok = a->rank == b->rank && (a->quant || a->dtype == b->dtype);
    for (uint32_t d = 0; ok && d < a->rank; ++d) {
      bool whole = !hlo_dim_is_known(a->dims[d]) || !hlo_dim_is_known(b->dims[d]) ||
                   (a->dims[d] == 0 ? b->dims[d] == 0 : b->dims[d] % a->dims[d] == 0);
      ok = d == (uint32_t)dim ? whole : hlo_dims_agree(a->dims[d], b->dims[d]);
    }
    if (!ok)
      hlo_verify_fault(verify, node, "result %u is not its operand concatenated over the group", i);
  }
}

void hlo_verify_reduce_scatter(hlo_verify_t* verify, const hlo_node_t* node) {
  const hlo_type_t *a = hlo_node_operand_type(node, 0), *b = node->results[0].type;
  int64_t dim;
  if (!hlo_verify_status(verify, node,
                         hlo_infer_dim(node, HLO_ATTR_scatter_dimension, a->rank, &dim)) ||
      !hlo_verify_status(verify, node, hlo_infer_scalar_region(node->regions[0], 2, 1))) {
    return;
  }
  bool ok = a->rank == b->rank;
  for (uint32_t d = 0; ok && d < a->rank; ++d) {
    bool whole = !hlo_dim_is_known(a->dims[d]) || !hlo_dim_is_known(b->dims[d]) ||
                 (b->dims[d] == 0 ? a->dims[d] == 0 : a->dims[d] % b->dims[d] == 0);
    ok = d == (uint32_t)dim ? whole : hlo_dims_agree(a->dims[d], b->dims[d]);
  }
  hlo_dtype_t dtype = node->regions[0]->args[0]->type->dtype;
  if (!a->quant &&
      (b->dtype != dtype || hlo_dtype_info(a->dtype)->klass != hlo_dtype_info(dtype)->klass)) {
    ok = false;
  }
  if (!ok) hlo_verify_fault(verify, node, "the result is not a part of the operand");
}

void hlo_verify_hlo_ragged_all_to_all(hlo_verify_t* verify, const hlo_node_t* node) {
  if (!hlo_types_compatible(hlo_node_operand_type(node, 1), node->results[0].type)) {
    hlo_verify_fault(verify, node, "output and result differ in type");
  }
  for (uint32_t i = 2; i < 6; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(node, i);
    if (type->rank != 1 || !hlo_dtype_is_integer(type->dtype)) {
      hlo_verify_fault(verify, node, "operand %u is not a vector of integers", i);
    }
  }
}
