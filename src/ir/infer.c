// SPDX-License-Identifier: Apache-2.0
// Inference of result types: dispatch by the op table, elementwise agreement, shared checks.

#include <string.h>

#include "ir/infer_impl.h"

hlo_status_t hlo_infer_error(const char* format, ...) {
  va_list args;
  va_start(args, format);
  hlo_status_t status = hlo_status_createv(HLO_STATUS_INVALID_ARGUMENT, format, args);
  va_end(args);
  return status;
}

hlo_status_t hlo_infer_give(hlo_infer_t* infer, const hlo_type_t* type) {
  if (!type) {
    HLO_TRY(hlo_module_status(infer->module));
    return hlo_infer_error("has a result whose shape overflows");
  }
  if (infer->count == infer->capacity) {
    return hlo_infer_error("has fewer results than its operands determine");
  }
  if (hlo_type_is_static(type) && hlo_type_size_bytes(type) == SIZE_MAX) {
    return hlo_infer_error("has a result with too many elements");
  }
  infer->types[infer->count++] = type;
  return hlo_ok();
}

hlo_status_t hlo_infer_tensor(const hlo_infer_t* infer, uint32_t i, const hlo_type_t** out_type) {
  const hlo_type_t* type = hlo_node_operand_type(infer->node, i);
  if (!hlo_type_is_tensor(type)) return hlo_infer_error("operand %u is not a tensor", i);
  *out_type = type;
  return hlo_ok();
}

hlo_status_t hlo_infer_dims(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                            const int64_t** out_dims, uint32_t* out_count) {
  uint32_t count;
  const int64_t* dims = hlo_node_attr_ints(node, id, &count);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (dims[i] < 0 || dims[i] >= rank) {
      return hlo_infer_error("%s has dimension %lld, but the rank is %u", hlo_attr_name(id),
                             (long long)dims[i], rank);
    }
    if (seen >> dims[i] & 1) {
      return hlo_infer_error("%s has dimension %lld twice", hlo_attr_name(id), (long long)dims[i]);
    }
    seen |= (uint64_t)1 << dims[i];
  }
  *out_dims = dims;
  *out_count = count;
  return hlo_ok();
}

hlo_status_t hlo_infer_sorted_dims(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                                   const int64_t** out_dims, uint32_t* out_count) {
  HLO_TRY(hlo_infer_dims(node, id, rank, out_dims, out_count));
  for (uint32_t i = 1; i < *out_count; ++i) {
    if ((*out_dims)[i] < (*out_dims)[i - 1]) {
      return hlo_infer_error("%s is not sorted", hlo_attr_name(id));
    }
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_ints(const hlo_node_t* node, hlo_attr_id_t id, uint32_t count, int64_t least,
                            const int64_t** out_values) {
  uint32_t found;
  *out_values = NULL;
  const int64_t* values = hlo_node_attr_ints(node, id, &found);
  if (!hlo_node_attr(node, id)) return hlo_ok();
  if (found != count) {
    return hlo_infer_error("%s has %u values, %u expected", hlo_attr_name(id), found, count);
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] < least) {
      return hlo_infer_error("%s has %lld, at least %lld expected", hlo_attr_name(id),
                             (long long)values[i], (long long)least);
    }
  }
  *out_values = values;
  return hlo_ok();
}

hlo_status_t hlo_infer_dim(const hlo_node_t* node, hlo_attr_id_t id, uint32_t rank,
                           int64_t* out_dim) {
  int64_t dim = hlo_node_attr_int(node, id, 0);
  if (dim < 0 || dim >= rank) {
    return hlo_infer_error("%s is %lld, but the rank is %u", hlo_attr_name(id), (long long)dim,
                           rank);
  }
  *out_dim = dim;
  return hlo_ok();
}

hlo_status_t hlo_infer_window(int64_t dim, const hlo_infer_window_dim_t* window, int64_t* out_dim) {
  int64_t base = dim, extent;
  if (!hlo_dim_is_known(dim)) {
    *out_dim = HLO_DIM_DYNAMIC;
    return hlo_ok();
  }
  if (window->stride < 1 || window->base_dilation < 1 || window->window_dilation < 1 ||
      window->size < 0) {
    return hlo_infer_error("a window has a stride or dilation below 1");
  }
  // The sum of two values then fits in an int64_t.
  const int64_t limit = INT64_MAX / 4;
  bool bad =
      window->low < -limit || window->low > limit || window->high < -limit || window->high > limit;
  bad = bad || (base > 0 && __builtin_mul_overflow(base - 1, window->base_dilation, &base));
  if (dim > 0) bad = bad || __builtin_add_overflow(base, 1, &base);
  bad = bad || __builtin_add_overflow(base, window->low, &base) ||
        __builtin_add_overflow(base, window->high, &base);
  extent = window->size;
  if (extent > 0) {
    bad = bad || __builtin_mul_overflow(extent - 1, window->window_dilation, &extent) ||
          __builtin_add_overflow(extent, 1, &extent) || extent > limit;
  }
  if (bad) return hlo_infer_error("a window overflows");
  *out_dim = base < extent || base <= 0 ? 0 : (base - extent) / window->stride + 1;
  return hlo_ok();
}

hlo_status_t hlo_infer_scalar_region(const hlo_region_t* region, uint32_t arg_count,
                                     uint32_t result_count) {
  const hlo_node_t* end = hlo_region_terminator(region);
  if (region->arg_count != arg_count || !end || end->operand_count != result_count) {
    return hlo_infer_error("the region has %u arguments and returns %u values, %u and %u expected",
                           region->arg_count, end ? end->operand_count : 0, arg_count,
                           result_count);
  }
  for (uint32_t i = 0; i < arg_count; ++i) {
    const hlo_type_t* type = region->args[i]->type;
    if (!hlo_type_is_tensor(type) || type->rank != 0) {
      return hlo_infer_error("argument %u of the region is not a scalar", i);
    }
  }
  for (uint32_t i = 0; i < result_count; ++i) {
    const hlo_type_t* type = hlo_node_operand_type(end, i);
    if (!hlo_type_is_tensor(type) || type->rank != 0) {
      return hlo_infer_error("result %u of the region is not a scalar", i);
    }
  }
  return hlo_ok();
}

static bool element_types_agree(const hlo_type_t* a, const hlo_type_t* b) {
  // This allows quantized and plain tensors to mix: each op checks what it accepts.
  if (a->quant || b->quant) return true;
  return a->dtype == b->dtype;
}

bool hlo_types_compatible(const hlo_type_t* a, const hlo_type_t* b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->element_count != b->element_count) return false;
  for (uint32_t i = 0; i < a->element_count; ++i) {
    if (!hlo_types_compatible(a->elements[i], b->elements[i])) return false;
  }
  if (a->kind != HLO_TYPE_TENSOR && a->kind != HLO_TYPE_BUFFER) return true;
  return element_types_agree(a, b) && hlo_shapes_agree(a, b);
}

// ---- elementwise ops of kind SAME

static uint32_t element_kind(const hlo_type_t* type) {
  if (type->quant) return HLO_ELEMENT_QUANT;
  switch (hlo_dtype_info(type->dtype)->klass) {
    case HLO_DTYPE_CLASS_BOOL: return HLO_ELEMENT_PRED;
    case HLO_DTYPE_CLASS_SIGNED:
    case HLO_DTYPE_CLASS_UNSIGNED: return HLO_ELEMENT_INT;
    case HLO_DTYPE_CLASS_FLOAT: return HLO_ELEMENT_FLOAT;
    case HLO_DTYPE_CLASS_COMPLEX: return HLO_ELEMENT_COMPLEX;
    default: return 0;
  }
}

// Every operand agrees with the first, and the result with all of them: it has the most refined
// shape.
static hlo_status_t infer_same(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  if (node->operand_count == 0) return hlo_infer_error("has no operand");
  bool elementwise = hlo_op_info(node->op)->traits & HLO_TRAIT_ELEMENTWISE;
  const hlo_type_t* first = hlo_node_operand_type(node, 0);
  if (!elementwise) {
    for (uint32_t i = 0; i < hlo_op_info(node->op)->result_count; ++i) {
      HLO_TRY(hlo_infer_give(infer, first));
    }
    return hlo_ok();
  }
  HLO_TRY(hlo_infer_tensor(infer, 0, &first));
  if (!(element_kind(first) & hlo_op_info(node->op)->elements)) {
    return hlo_infer_error("does not accept elements of type %s",
                           hlo_dtype_info(first->dtype)->mlir_name);
  }
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, first->dims, first->rank * sizeof *dims);
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    const hlo_type_t* other = NULL;
    HLO_TRY(hlo_infer_tensor(infer, i, &other));
    if (!hlo_types_compatible(first, other)) {
      return hlo_infer_error("operands 0 and %u differ in shape or element type", i);
    }
    for (uint32_t d = 0; d < first->rank; ++d) dims[d] = hlo_dim_meet(dims[d], other->dims[d]);
  }
  bool same = memcmp(dims, first->dims, first->rank * sizeof *dims) == 0;
  return hlo_infer_give(infer,
                        same ? first : hlo_type_with_dims(infer->module, first, first->rank, dims));
}

typedef hlo_status_t (*infer_fn_t)(hlo_infer_t* infer);
#define HLO_INFERENCE_SAME(id) infer_same
#define HLO_INFERENCE_BROADCAST(id) hlo_infer_broadcast_same
#define HLO_INFERENCE_CUSTOM(id) hlo_infer_##id
#define HLO_INFERENCE_EXPLICIT(id) NULL
#define HLO_INFERENCE_NONE(id) NULL
static const infer_fn_t kInference[] = {
#define HLO_OP(id, mlir, hlo, infer, ...) HLO_INFERENCE_##infer(id),
#include "ir/ops.def"
#undef HLO_OP
};

hlo_status_t hlo_infer_types(hlo_module_t* module, const hlo_node_t* node, uint32_t capacity,
                             const hlo_type_t** types, uint32_t* out_count) {
  *out_count = 0;
  if ((unsigned)node->op >= HLO_OP_COUNT) return hlo_module_status(module);
  const hlo_op_info_t* info = hlo_op_info(node->op);
  if (info->infer == HLO_INFER_NONE) return hlo_ok();
  if (!kInference[node->op]) {
    return hlo_failed_precondition("the operands of %s do not determine its result types",
                                   info->name);
  }
  hlo_infer_t infer = {.module = module, .node = node, .types = types, .capacity = capacity};
  HLO_TRY(kInference[node->op](&infer));
  *out_count = infer.count;
  return hlo_ok();
}
