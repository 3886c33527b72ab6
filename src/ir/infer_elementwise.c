// SPDX-License-Identifier: Apache-2.0
// Result types of elementwise ops that change the element type or mix shapes.
#include <string.h>

#include "ir/infer_impl.h"

// Infers the operand's shape with another element type.
static hlo_status_t give_dtype(hlo_infer_t* infer, const hlo_type_t* type, hlo_dtype_t dtype) {
  return hlo_infer_give(infer, hlo_type_with_dtype(infer->module, type, dtype));
}

static hlo_status_t infer_part(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  return give_dtype(infer, type, hlo_dtype_info(type->dtype)->part);
}

hlo_status_t hlo_infer_abs(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  if (hlo_dtype_is_complex(type->dtype)) return infer_part(infer);
  return hlo_infer_give(infer, type);
}

HLO_INFER_AS(real, infer_part)
HLO_INFER_AS(imag, infer_part)

static hlo_status_t infer_predicate(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  if (!type->quant && !hlo_dtype_is_float(type->dtype)) {
    return hlo_infer_error("does not accept elements of type %s",
                           hlo_dtype_info(type->dtype)->mlir_name);
  }
  return give_dtype(infer, type, HLO_DTYPE_PRED);
}

HLO_INFER_AS(is_finite, infer_predicate)
HLO_INFER_AS(chlo_is_inf, infer_predicate)
HLO_INFER_AS(chlo_is_neg_inf, infer_predicate)
HLO_INFER_AS(chlo_is_pos_inf, infer_predicate)

hlo_status_t hlo_infer_reduce_precision(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  if (!type->quant && !hlo_dtype_is_float(type->dtype)) {
    return hlo_infer_error("accepts floats only");
  }
  if (hlo_node_attr_int(infer->node, HLO_ATTR_exponent_bits, 0) < 1 ||
      hlo_node_attr_int(infer->node, HLO_ATTR_mantissa_bits, 0) < 0) {
    return hlo_infer_error("exponent_bits below 1 or mantissa_bits below 0");
  }
  return hlo_infer_give(infer, type);
}

hlo_status_t hlo_infer_uniform_dequantize(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  if (!type->quant) return hlo_infer_error("accepts quantized elements only");
  return give_dtype(infer, type, type->quant->expressed);
}

// Checks that two operands have one type; the result's dims are the known ones of both.
static hlo_status_t check_pair(hlo_infer_t* infer, uint32_t a, uint32_t b,
                               const hlo_type_t** out_type) {
  const hlo_type_t *x, *y;
  HLO_TRY(hlo_infer_tensor(infer, a, &x));
  HLO_TRY(hlo_infer_tensor(infer, b, &y));
  if (!hlo_types_compatible(x, y)) {
    return hlo_infer_error("operands %u and %u differ in shape or element type", a, b);
  }
  int64_t dims[HLO_RANK_MAX];
  bool same = true;
  for (uint32_t i = 0; i < x->rank; ++i) {
    dims[i] = hlo_dim_meet(x->dims[i], y->dims[i]);
    same &= dims[i] == x->dims[i];
  }
  *out_type = same ? x : hlo_type_with_dims(infer->module, x, x->rank, dims);
  return *out_type ? hlo_ok() : hlo_module_status(infer->module);
}

hlo_status_t hlo_infer_compare(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(check_pair(infer, 0, 1, &type));
  return give_dtype(infer, type, HLO_DTYPE_PRED);
}

hlo_status_t hlo_infer_complex(hlo_infer_t* infer) {
  const hlo_type_t* type = NULL;
  HLO_TRY(check_pair(infer, 0, 1, &type));
  hlo_dtype_t dtype = hlo_dtype_complex_of(type->dtype);
  if (dtype == HLO_DTYPE_INVALID) return hlo_infer_error("accepts f32 or f64 only");
  return give_dtype(infer, type, dtype);
}

static bool is_scalar_or_like(const hlo_type_t* type, const hlo_type_t* like) {
  return type->rank == 0 || hlo_shapes_agree(type, like);
}

hlo_status_t hlo_infer_clamp(hlo_infer_t* infer) {
  const hlo_type_t *min, *operand, *max;
  HLO_TRY(hlo_infer_tensor(infer, 0, &min));
  HLO_TRY(hlo_infer_tensor(infer, 1, &operand));
  HLO_TRY(hlo_infer_tensor(infer, 2, &max));
  if (!is_scalar_or_like(min, operand) || !is_scalar_or_like(max, operand)) {
    return hlo_infer_error("bounds are neither scalars nor shaped like the operand");
  }
  if (!operand->quant && (min->dtype != operand->dtype || max->dtype != operand->dtype)) {
    return hlo_infer_error("bounds and operand differ in element type");
  }
  return hlo_infer_give(infer, operand);
}

hlo_status_t hlo_infer_select(hlo_infer_t* infer) {
  const hlo_type_t *pred, *type;
  HLO_TRY(hlo_infer_tensor(infer, 0, &pred));
  HLO_TRY(check_pair(infer, 1, 2, &type));
  if (pred->dtype != HLO_DTYPE_PRED) return hlo_infer_error("the predicate is not a tensor of i1");
  if (!is_scalar_or_like(pred, type)) {
    return hlo_infer_error("the predicate is neither a scalar nor shaped like the values");
  }
  return hlo_infer_give(infer, type);
}

hlo_status_t hlo_infer_map(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t* type = NULL;
  if (node->operand_count == 0) return hlo_infer_error("has no operand");
  HLO_TRY(hlo_infer_tensor(infer, 0, &type));
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    const hlo_type_t* other = NULL;
    HLO_TRY(hlo_infer_tensor(infer, i, &other));
    if (!is_scalar_or_like(other, type) || other->rank != type->rank) {
      return hlo_infer_error("operands 0 and %u differ in shape", i);
    }
  }
  HLO_TRY(hlo_infer_scalar_region(node->regions[0], node->operand_count, 1));
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &count);
  bool all = count == type->rank;
  for (uint32_t i = 0; all && i < count; ++i) all = dims[i] == i;
  if (!all) return hlo_infer_error("dimensions do not name every dimension in order");
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->regions[0]->args[i]->type->dtype != hlo_node_operand_type(node, i)->dtype) {
      return hlo_infer_error("argument %u of the region has another element type", i);
    }
  }
  const hlo_node_t* end = hlo_region_terminator(node->regions[0]);
  return give_dtype(infer, type, hlo_node_operand_type(end, 0)->dtype);
}

// ---- chlo.broadcast_*: ranks aligned at the minor end, or by the smaller operand's
// broadcast_dimensions

static hlo_status_t broadcast_dims(const hlo_node_t* node, const hlo_type_t* a, const hlo_type_t* b,
                                   uint32_t* out_rank, int64_t* dims) {
  const hlo_type_t* large = a->rank >= b->rank ? a : b;
  const hlo_type_t* small = a->rank >= b->rank ? b : a;
  uint32_t count = 0, shift = large->rank - small->rank;
  const int64_t* map = hlo_node_attr_ints(node, HLO_ATTR_broadcast_dimensions, &count);
  if (map && count != small->rank) {
    return hlo_infer_error("broadcast_dimensions has %u values, %u expected", count, small->rank);
  }
  memcpy(dims, large->dims, large->rank * sizeof *dims);
  for (uint32_t i = 0; i < small->rank; ++i) {
    if (map && (map[i] < 0 || map[i] >= large->rank)) {
      return hlo_infer_error("broadcast_dimensions has dimension %lld, but the rank is %u",
                             (long long)map[i], large->rank);
    }
    uint32_t d = map ? (uint32_t)map[i] : i + shift;
    if (small->dims[i] == 1) continue;
    if (dims[d] == 1 || !hlo_dim_is_known(dims[d])) {
      dims[d] = small->dims[i];
    } else if (!hlo_dims_agree(dims[d], small->dims[i])) {
      return hlo_infer_error("dimensions %lld and %lld do not broadcast", (long long)dims[d],
                             (long long)small->dims[i]);
    }
  }
  *out_rank = large->rank;
  return hlo_ok();
}

static hlo_status_t infer_broadcast(hlo_infer_t* infer, hlo_dtype_t dtype) {
  const hlo_type_t *a, *b;
  HLO_TRY(hlo_infer_tensor(infer, 0, &a));
  HLO_TRY(hlo_infer_tensor(infer, 1, &b));
  if (a->dtype != b->dtype) return hlo_infer_error("operands differ in element type");
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(broadcast_dims(infer->node, a, b, &rank, dims));
  const hlo_type_t* type = hlo_type_with_dims(infer->module, a, rank, dims);
  if (!type || dtype == HLO_DTYPE_INVALID) return hlo_infer_give(infer, type);
  return give_dtype(infer, type, dtype);
}

hlo_status_t hlo_infer_broadcast_same(hlo_infer_t* infer) {
  return infer_broadcast(infer, HLO_DTYPE_INVALID);
}

hlo_status_t hlo_infer_chlo_broadcast_compare(hlo_infer_t* infer) {
  return infer_broadcast(infer, HLO_DTYPE_PRED);
}

hlo_status_t hlo_infer_chlo_broadcast_complex(hlo_infer_t* infer) {
  hlo_dtype_t dtype = hlo_dtype_complex_of(hlo_node_operand_type(infer->node, 0)->dtype);
  if (dtype == HLO_DTYPE_INVALID) return hlo_infer_error("accepts f32 or f64 only");
  return infer_broadcast(infer, dtype);
}

hlo_status_t hlo_infer_chlo_broadcast_select(hlo_infer_t* infer) {
  const hlo_type_t *pred, *a, *b;
  HLO_TRY(hlo_infer_tensor(infer, 0, &pred));
  HLO_TRY(hlo_infer_tensor(infer, 1, &a));
  HLO_TRY(hlo_infer_tensor(infer, 2, &b));
  if (pred->dtype != HLO_DTYPE_PRED || a->dtype != b->dtype) {
    return hlo_infer_error("needs a predicate and two values of one element type");
  }
  uint32_t rank;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(broadcast_dims(infer->node, a, b, &rank, dims));
  const hlo_type_t* both = hlo_type_with_dims(infer->module, a, rank, dims);
  if (!both) return hlo_infer_give(infer, both);
  HLO_TRY(broadcast_dims(infer->node, both, pred, &rank, dims));
  return hlo_infer_give(infer, hlo_type_with_dims(infer->module, a, rank, dims));
}
