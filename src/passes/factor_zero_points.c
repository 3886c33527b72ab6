// SPDX-License-Identifier: Apache-2.0
// Pass factor_zero_points: a product of bytes that are converted to 32 bits, and from which zero
// points may be subtracted, becomes a product of the bytes, which processors multiply several at a
// time:
//   sum (x - a)(y - b) = sum x y - b sum x - a sum y + n a b
// over n steps, in integers that wrap around. The sums are those of rows of x and of columns of y.
#include "base/tuning.h"
#include "ir/dot_algorithm.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/passes.h"

/// An operand: bytes minus a zero point, which may be 0.
typedef struct factor {
  hlo_value_t* bytes;
  int64_t zero_point;
  const int64_t *batch, *depth;
  uint32_t batch_count, depth_count;
  int64_t free_extent;
} factor_t;

static bool holds(const int64_t* dims, uint32_t count, int64_t dim) {
  for (uint32_t i = 0; i < count; ++i) {
    if (dims[i] == dim) return true;
  }
  return false;
}

// Finds the bytes that a value is converted from, before a constant was added or subtracted.
static bool read_value(hlo_value_t* value, factor_t* out) {
  const hlo_node_t* node = value->def;
  out->zero_point = 0;
  if (node && (node->op == HLO_OP_subtract || node->op == HLO_OP_add)) {
    const void* constant = hlo_constant_splat(hlo_node_operand(node, 1));
    if (!constant) return false;
    out->zero_point = hlo_dtype_load_int64(value->type->dtype, constant);
    if (node->op == HLO_OP_add) out->zero_point = -out->zero_point;
    node = hlo_node_operand(node, 0)->def;
  }
  if (!node || node->op != HLO_OP_convert) return false;
  out->bytes = hlo_node_operand(node, 0);
  const hlo_dtype_t dtype = out->bytes->type->dtype;
  return hlo_type_is_plain(out->bytes->type) && (dtype == HLO_DTYPE_S8 || dtype == HLO_DTYPE_U8);
}

static bool read_factor(const hlo_node_t* node, uint32_t side, factor_t* out) {
  hlo_value_t* value = hlo_node_operand(node, side);
  if (value->type->dtype != HLO_DTYPE_S32 || !hlo_type_is_plain(value->type)) return false;
  out->batch = hlo_node_attr_ints(
      node, side ? HLO_ATTR_rhs_batching_dimensions : HLO_ATTR_lhs_batching_dimensions,
      &out->batch_count);
  out->depth = hlo_node_attr_ints(
      node, side ? HLO_ATTR_rhs_contracting_dimensions : HLO_ATTR_lhs_contracting_dimensions,
      &out->depth_count);
  if (!out->batch) out->batch_count = 0;
  if (!out->depth || !out->depth_count || !read_value(value, out)) return false;
  out->free_extent = 1;
  for (uint32_t d = 0; d < value->type->rank; ++d) {
    const bool is_free =
        !holds(out->batch, out->batch_count, d) && !holds(out->depth, out->depth_count, d);
    if (is_free) out->free_extent *= value->type->dims[d];
  }
  return true;
}

// Returns the sums of an operand's bytes over the contraction times -`factor`, in the shape of the
// result. first_free: the first dimension of the result that is the operand's alone
static hlo_value_t* correction(hlo_node_t* node, const factor_t* f, uint32_t first_free,
                               int64_t factor) {
  int64_t along[HLO_RANK_MAX];
  uint32_t count = 0;
  for (uint32_t d = 0, next = first_free; d < f->bytes->type->rank; ++d) {
    if (holds(f->depth, f->depth_count, d)) continue;
    along[count] = next;
    for (uint32_t i = 0; i < f->batch_count; ++i) {
      if (f->batch[i] == d) along[count] = i;
    }
    if (along[count] == next) ++next;
    ++count;
  }
  hlo_value_t* wide = hlo_build_convert(node, HLO_DTYPE_S32, f->bytes);
  hlo_value_t* sum = hlo_build_reduce(node, HLO_OP_add, wide, 0, f->depth_count, f->depth);
  if (!sum) return NULL;
  const int32_t negated = (int32_t) - (uint32_t)factor;  // wraps around
  sum = hlo_build_binary(node, HLO_OP_multiply, sum, hlo_build_splat(node, sum->type, negated));
  return hlo_build_broadcast(node, node->results[0].type, sum, along);
}

static hlo_value_t* factor_product(hlo_node_t* node) {
  factor_t f[2];
  if (node->op != HLO_OP_dot_general || node->results[0].type->dtype != HLO_DTYPE_S32 ||
      hlo_dot_has_algorithm(node) || !read_factor(node, 0, &f[0]) || !read_factor(node, 1, &f[1])) {
    return NULL;
  }
  for (uint32_t side = 0; side < 2; ++side) {
    if (f[1 - side].zero_point && f[1 - side].free_extent < HLO_TUNING_FACTORED_MIN_USES)
      return NULL;
  }
  hlo_value_t* bytes[] = {f[0].bytes, f[1].bytes};
  const hlo_type_t* type = node->results[0].type;
  hlo_value_t* result = hlo_build_like(node, type, bytes);
  uint32_t first_free[] = {f[0].batch_count, type->rank};
  int64_t steps = 1;
  for (uint32_t i = 0; i < f[0].depth_count; ++i) steps *= bytes[0]->type->dims[f[0].depth[i]];
  first_free[1] -= bytes[1]->type->rank - f[1].batch_count - f[1].depth_count;
  for (uint32_t side = 0; side < 2; ++side) {
    const int64_t other = f[1 - side].zero_point;
    if (!other) continue;
    result = hlo_build_binary(node, HLO_OP_add, result,
                              correction(node, &f[side], first_free[side], other));
  }
  const uint32_t both = (uint32_t)steps * (uint32_t)f[0].zero_point * (uint32_t)f[1].zero_point;
  return both ? hlo_build_binary(node, HLO_OP_add, result,
                                 hlo_build_splat(node, type, (double)(int32_t)both))
              : result;
}

hlo_status_t hlo_pass_factor_zero_points(hlo_pass_ctx_t* ctx, hlo_module_t* module) {
  return hlo_replace_nodes(ctx, module, factor_product);
}
