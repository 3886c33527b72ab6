// SPDX-License-Identifier: Apache-2.0
// Result types of ops that reduce or order elements with a region.
#include <string.h>

#include "ir/infer_impl.h"

// Checks inputs of one shape, scalar initial values, and a region (inputs, inits) -> inits of their
// types.
static hlo_status_t check_reducer(const hlo_infer_t* infer, const hlo_region_t* region,
                                  uint32_t* out_count, const hlo_type_t** out_first) {
  const hlo_node_t* node = infer->node;
  uint32_t count = node->operand_count / 2;
  if (count == 0 || node->operand_count % 2) return hlo_infer_error("has no inputs");
  HLO_TRY(hlo_infer_tensor(infer, 0, out_first));
  HLO_TRY(hlo_infer_scalar_region(region, 2 * count, count));
  const hlo_node_t* end = hlo_region_terminator(region);
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t *input, *init;
    HLO_TRY(hlo_infer_tensor(infer, i, &input));
    HLO_TRY(hlo_infer_tensor(infer, count + i, &init));
    if (input->rank != (*out_first)->rank) return hlo_infer_error("inputs differ in rank");
    for (uint32_t d = 0; d < input->rank; ++d) {
      if (!hlo_dims_agree(input->dims[d], (*out_first)->dims[d])) {
        return hlo_infer_error("inputs differ in shape");
      }
    }
    if (init->rank != 0) return hlo_infer_error("initial value %u is not a scalar", i);
    hlo_dtype_t a = region->args[i]->type->dtype, b = region->args[count + i]->type->dtype;
    if (a != b || hlo_node_operand_type(end, i)->dtype != a) {
      return hlo_infer_error("the region's arguments and result %u differ in element type", i);
    }
    if (!input->quant && hlo_dtype_info(input->dtype)->klass != hlo_dtype_info(a)->klass) {
      return hlo_infer_error("input %u cannot be promoted to the region's element type", i);
    }
    if (!input->quant && input->dtype != init->dtype && init->dtype != a) {
      return hlo_infer_error("input and initial value %u differ in element type", i);
    }
  }
  *out_count = count;
  return hlo_ok();
}

// Sets the type of result `i`: the input with `dims` and the element type that the region returns.
static hlo_status_t give_reduced(hlo_infer_t* infer, const hlo_region_t* region, uint32_t i,
                                 uint32_t rank, const int64_t* dims) {
  const hlo_type_t* input = hlo_node_operand_type(infer->node, i);
  const hlo_type_t* type = hlo_type_with_dims(infer->module, input, rank, dims);
  const hlo_type_t* element = hlo_node_operand_type(hlo_region_terminator(region), i);
  if (type && !input->quant && element->dtype != type->dtype) {
    type = hlo_type_with_dtype(infer->module, type, element->dtype);
  }
  return hlo_infer_give(infer, type);
}

hlo_status_t hlo_infer_reduce(hlo_infer_t* infer) {
  const hlo_region_t* region = infer->node->regions[0];
  const hlo_type_t* first = NULL;
  uint32_t count, dim_count, rank = 0;
  const int64_t* dims;
  HLO_TRY(check_reducer(infer, region, &count, &first));
  HLO_TRY(hlo_infer_dims(infer->node, HLO_ATTR_dimensions, first->rank, &dims, &dim_count));
  int64_t kept[HLO_RANK_MAX];
  uint64_t reduced = 0;
  for (uint32_t i = 0; i < dim_count; ++i) reduced |= (uint64_t)1 << dims[i];
  for (uint32_t i = 0; i < first->rank; ++i) {
    if (!(reduced >> i & 1)) kept[rank++] = first->dims[i];
  }
  for (uint32_t i = 0; i < count; ++i) HLO_TRY(give_reduced(infer, region, i, rank, kept));
  return hlo_ok();
}

static hlo_status_t window_dims(const hlo_node_t* node, const hlo_type_t* type, bool dilated,
                                int64_t* dims) {
  uint32_t rank = type->rank, size_count;
  const int64_t *sizes, *strides, *base = NULL, *window = NULL;
  HLO_TRY(hlo_infer_ints(node, HLO_ATTR_window_dimensions, rank, 1, &sizes));
  HLO_TRY(hlo_infer_ints(node, HLO_ATTR_window_strides, rank, 1, &strides));
  if (dilated) {
    HLO_TRY(hlo_infer_ints(node, HLO_ATTR_base_dilations, rank, 1, &base));
    HLO_TRY(hlo_infer_ints(node, HLO_ATTR_window_dilations, rank, 1, &window));
  }
  const int64_t* padding = hlo_node_attr_ints(node, HLO_ATTR_padding, &size_count);
  if (padding && size_count != 2 * rank) {
    return hlo_infer_error("padding has %u values, %u expected", size_count, 2 * rank);
  }
  for (uint32_t i = 0; i < rank; ++i) {
    hlo_infer_window_dim_t w = {.size = sizes ? sizes[i] : 1,
                                .stride = strides ? strides[i] : 1,
                                .low = padding ? padding[2 * i] : 0,
                                .high = padding ? padding[2 * i + 1] : 0,
                                .base_dilation = base ? base[i] : 1,
                                .window_dilation = window ? window[i] : 1};
    HLO_TRY(hlo_infer_window(type->dims[i], &w, &dims[i]));
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_reduce_window(hlo_infer_t* infer) {
  const hlo_region_t* region = infer->node->regions[0];
  const hlo_type_t* first = NULL;
  uint32_t count;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(check_reducer(infer, region, &count, &first));
  HLO_TRY(window_dims(infer->node, first, true, dims));
  for (uint32_t i = 0; i < count; ++i) {
    HLO_TRY(give_reduced(infer, region, i, first->rank, dims));
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_select_and_scatter(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t *operand, *source, *init;
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(hlo_infer_tensor(infer, 0, &operand));
  HLO_TRY(hlo_infer_tensor(infer, 1, &source));
  HLO_TRY(hlo_infer_tensor(infer, 2, &init));
  HLO_TRY(hlo_infer_scalar_region(node->regions[0], 2, 1));
  HLO_TRY(hlo_infer_scalar_region(node->regions[1], 2, 1));
  const hlo_region_t *select = node->regions[0], *scatter = node->regions[1];
  if (hlo_node_operand_type(hlo_region_terminator(select), 0)->dtype != HLO_DTYPE_PRED) {
    return hlo_infer_error("the select region does not return i1");
  }
  for (uint32_t i = 0; i < 2 && !operand->quant; ++i) {
    hlo_dtype_t a = select->args[i]->type->dtype, b = scatter->args[i]->type->dtype;
    if (a != operand->dtype || b != scatter->args[0]->type->dtype) {
      return hlo_infer_error("a region has another element type than the operand");
    }
  }
  if (init->rank != 0) return hlo_infer_error("the initial value is not a scalar");
  HLO_TRY(window_dims(node, operand, false, dims));
  if (source->rank != operand->rank) return hlo_infer_error("operand and source differ in rank");
  for (uint32_t i = 0; i < operand->rank; ++i) {
    if (!hlo_dims_agree(source->dims[i], dims[i])) {
      return hlo_infer_error("dimension %u of the source is %lld, but %lld windows fit", i,
                             (long long)source->dims[i], (long long)dims[i]);
    }
  }
  hlo_dtype_t dtype = hlo_node_operand_type(hlo_region_terminator(scatter), 0)->dtype;
  if (dtype != scatter->args[0]->type->dtype) {
    return hlo_infer_error("the scatter region changes the element type");
  }
  return hlo_infer_give(infer, operand->quant || dtype == operand->dtype
                                   ? operand
                                   : hlo_type_with_dtype(infer->module, operand, dtype));
}

hlo_status_t hlo_infer_sort(hlo_infer_t* infer) {
  const hlo_node_t* node = infer->node;
  const hlo_type_t* first = NULL;
  if (node->operand_count == 0) return hlo_infer_error("has no operand");
  HLO_TRY(hlo_infer_tensor(infer, 0, &first));
  int64_t dim = hlo_node_attr_int(node, HLO_ATTR_dimension, -1);
  int64_t rank = first->rank;
  if (rank ? dim < -rank || dim >= rank : dim != -1 && dim != 0) {
    return hlo_infer_error("dimension is %lld, but the rank is %u", (long long)dim, first->rank);
  }
  HLO_TRY(hlo_infer_scalar_region(node->regions[0], 2 * node->operand_count, 1));
  const hlo_region_t* region = node->regions[0];
  if (hlo_node_operand_type(hlo_region_terminator(region), 0)->dtype != HLO_DTYPE_PRED) {
    return hlo_infer_error("the comparator does not return i1");
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const hlo_type_t* operand = NULL;
    HLO_TRY(hlo_infer_tensor(infer, i, &operand));
    if (operand->rank != first->rank) return hlo_infer_error("operands differ in rank");
    for (uint32_t d = 0; d < first->rank; ++d) {
      if (!hlo_dims_agree(operand->dims[d], first->dims[d])) {
        return hlo_infer_error("operands differ in shape");
      }
    }
    if (!operand->quant && (region->args[2 * i]->type->dtype != operand->dtype ||
                            region->args[2 * i + 1]->type->dtype != operand->dtype)) {
      return hlo_infer_error("the comparator's arguments for operand %u have another element type",
                             i);
    }
    HLO_TRY(hlo_infer_give(infer, operand));
  }
  return hlo_ok();
}

// Infers all_reduce and collective_reduce: every operand keeps its shape.
static hlo_status_t infer_group_reduction(hlo_infer_t* infer, uint32_t count) {
  const hlo_region_t* region = infer->node->regions[0];
  HLO_TRY(hlo_infer_scalar_region(region, 2, 1));
  hlo_dtype_t dtype = region->args[0]->type->dtype;
  if (region->args[1]->type->dtype != dtype ||
      hlo_node_operand_type(hlo_region_terminator(region), 0)->dtype != dtype) {
    return hlo_infer_error("the region's arguments and result differ in element type");
  }
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_type_t* type = NULL;
    HLO_TRY(hlo_infer_tensor(infer, i, &type));
    if (!type->quant && type->dtype != dtype) {
      if (hlo_dtype_info(type->dtype)->klass != hlo_dtype_info(dtype)->klass) {
        return hlo_infer_error("operand %u cannot be promoted to the region's element type", i);
      }
      type = hlo_type_with_dtype(infer->module, type, dtype);
    }
    HLO_TRY(hlo_infer_give(infer, type));
  }
  return hlo_ok();
}

hlo_status_t hlo_infer_all_reduce(hlo_infer_t* infer) {
  return infer_group_reduction(infer, infer->node->operand_count);
}

hlo_status_t hlo_infer_collective_reduce(hlo_infer_t* infer) {
  bool root = hlo_node_attr_bool(infer->node, HLO_ATTR_has_dynamic_root, false);
  uint32_t count = infer->node->operand_count;
  if (root && count < 2) return hlo_infer_error("has no operand besides the root");
  return infer_group_reduction(infer, root ? count - 1 : count);
}
