// SPDX-License-Identifier: Apache-2.0
// Attributes of StableHLO ops from the fields of HLO instructions: a table of plain fields, and a
// few functions for windows, groups of devices and the like.
#include "frontend/hlo/build.h"

typedef enum field_kind {
  FIELD_I64,
  FIELD_I32,
  FIELD_BOOL,
  FIELD_F32,
  FIELD_DIMS,
  FIELD_DIMS_IF_ANY,
  FIELD_FIRST,  // the only value of a list
  FIELD_ENUM,
  FIELD_STRING,
  FIELD_STRING_IF_ANY,
} field_kind_t;

enum { NO_OUTER = 0xffff };

typedef struct field_row {
  hlo_op_t op;
  hlo_attr_id_t attr;
  field_kind_t kind;
  uint16_t outer;  // offset of the pointer to the struct that holds the field
  uint16_t offset;
  hlo_enum_kind_t enum_kind;
} field_row_t;

#define ROW(op, attr, kind, member)                       \
  {                                                       \
    HLO_OP_##op, HLO_ATTR_##attr, FIELD_##kind, NO_OUTER, \
        offsetof(hlo_desc_instruction_t, member), 0       \
  }
#define ENUM_ROW(op, attr, name, member)                                                          \
  {                                                                                               \
    HLO_OP_##op, HLO_ATTR_##attr, FIELD_ENUM, NO_OUTER, offsetof(hlo_desc_instruction_t, member), \
        HLO_ENUM_##name                                                                           \
  }
#define IN(op, attr, kind, struct_member, type, member)                                          \
  {                                                                                              \
    HLO_OP_##op, HLO_ATTR_##attr, FIELD_##kind, offsetof(hlo_desc_instruction_t, struct_member), \
        offsetof(hlo_desc_##type##_t, member), 0                                                 \
  }
#define ENUM_IN(op, attr, name, struct_member, type, member)                                   \
  {                                                                                            \
    HLO_OP_##op, HLO_ATTR_##attr, FIELD_ENUM, offsetof(hlo_desc_instruction_t, struct_member), \
        offsetof(hlo_desc_##type##_t, member), HLO_ENUM_##name                                 \
  }

static const field_row_t rows[] = {
    ROW(reduce_precision, exponent_bits, I32, exponent_bits),
    ROW(reduce_precision, mantissa_bits, I32, mantissa_bits),
    ROW(map, dimensions, DIMS, dimensions),
    ROW(iota, iota_dimension, FIRST, dimensions),
    ROW(broadcast_in_dim, broadcast_dimensions, DIMS, dimensions),
    ROW(concatenate, dimension, FIRST, dimensions),
    ROW(dynamic_slice, slice_sizes, DIMS, dynamic_slice_sizes),
    IN(gather, offset_dims, DIMS, gather, gather, offset_dims),
    IN(gather, collapsed_slice_dims, DIMS, gather, gather, collapsed_slice_dims),
    IN(gather, operand_batching_dims, DIMS_IF_ANY, gather, gather, operand_batching_dims),
    IN(gather, start_indices_batching_dims, DIMS_IF_ANY, gather, gather,
       start_indices_batching_dims),
    IN(gather, start_index_map, DIMS, gather, gather, start_index_map),
    IN(gather, index_vector_dim, I64, gather, gather, index_vector_dim),
    ROW(gather, slice_sizes, DIMS, gather_slice_sizes),
    ROW(gather, indices_are_sorted, BOOL, indices_are_sorted),
    ROW(reverse, dimensions, DIMS, dimensions),
    IN(scatter, update_window_dims, DIMS, scatter, scatter, update_window_dims),
    IN(scatter, inserted_window_dims, DIMS, scatter, scatter, inserted_window_dims),
    IN(scatter, input_batching_dims, DIMS_IF_ANY, scatter, scatter, input_batching_dims),
    IN(scatter, scatter_indices_batching_dims, DIMS_IF_ANY, scatter, scatter,
       scatter_indices_batching_dims),
    IN(scatter, scatter_dims_to_operand_dims, DIMS, scatter, scatter, scatter_dims_to_operand_dims),
    IN(scatter, index_vector_dim, I64, scatter, scatter, index_vector_dim),
    ROW(scatter, indices_are_sorted, BOOL, indices_are_sorted),
    ROW(scatter, unique_indices, BOOL, unique_indices),
    ROW(transpose, permutation, DIMS, dimensions),
    ROW(get_dimension_size, dimension, FIRST, dimensions),
    ROW(set_dimension_size, dimension, FIRST, dimensions),
    ROW(reduce, dimensions, DIMS, dimensions),
    ROW(sort, dimension, FIRST, dimensions),
    ROW(sort, is_stable, BOOL, is_stable),
    IN(dot_general, lhs_batching_dimensions, DIMS, dot, dot, lhs_batch_dimensions),
    IN(dot_general, rhs_batching_dimensions, DIMS, dot, dot, rhs_batch_dimensions),
    IN(dot_general, lhs_contracting_dimensions, DIMS, dot, dot, lhs_contracting_dimensions),
    IN(dot_general, rhs_contracting_dimensions, DIMS, dot, dot, rhs_contracting_dimensions),
    IN(cholesky, lower, BOOL, cholesky, cholesky, lower),
    IN(triangular_solve, left_side, BOOL, triangular, triangular, left_side),
    IN(triangular_solve, lower, BOOL, triangular, triangular, lower),
    IN(triangular_solve, unit_diagonal, BOOL, triangular, triangular, unit_diagonal),
    ENUM_IN(triangular_solve, transpose_a, TRANSPOSE, triangular, triangular, transpose_a),
    ENUM_ROW(fft, fft_type, FFT_TYPE, fft_type),
    ROW(fft, fft_length, DIMS, fft_length),
    ROW(batch_norm_grad, epsilon, F32, epsilon),
    ROW(batch_norm_grad, feature_index, I64, feature_index),
    ROW(batch_norm_inference, epsilon, F32, epsilon),
    ROW(batch_norm_inference, feature_index, I64, feature_index),
    ROW(batch_norm_training, epsilon, F32, epsilon),
    ROW(batch_norm_training, feature_index, I64, feature_index),
    ENUM_ROW(rng, rng_distribution, RNG_DISTRIBUTION, distribution),
    ENUM_ROW(rng_bit_generator, rng_algorithm, RNG_ALGORITHM, rng_algorithm),
    ROW(infeed, infeed_config, STRING_IF_ANY, infeed_config),
    ROW(outfeed, outfeed_config, STRING_IF_ANY, outfeed_config),
    ROW(send, is_host_transfer, BOOL, is_host_transfer),
    ROW(recv, is_host_transfer, BOOL, is_host_transfer),
    ROW(all_gather, all_gather_dim, FIRST, dimensions),
    ROW(all_to_all, split_dimension, FIRST, dimensions),
    ROW(all_to_all, concat_dimension, FIRST, dimensions),
    ROW(reduce_scatter, scatter_dimension, FIRST, dimensions),
    ROW(chlo_top_k, k, I64, k),
    ROW(hlo_fusion, kind, STRING_IF_ANY, fusion_kind),
    ROW(custom_call, call_target_name, STRING, custom_call_target),
    ROW(custom_call, has_side_effect, BOOL, custom_call_has_side_effect),
};

void hlo_desc_add_attr(hlo_desc_node_t* node, hlo_attr_id_t id, const hlo_attr_t* value) {
  if (value && node->attr_count < HLO_DESC_ATTRS_MAX) {
    node->attrs[node->attr_count++] = (hlo_named_attr_t){id, value};
  }
}

static hlo_status_t missing(const char* what) {
  return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "%s is missing", what);
}

static const hlo_attr_t* ints_attr(hlo_module_t* module, const hlo_wire_array_t* array) {
  return hlo_attr_ints(module, (uint32_t)array->count, array->items);
}

static const hlo_attr_t* string_attr(hlo_module_t* module, hlo_wire_bytes_t bytes) {
  return hlo_attr_string(module, bytes.size ? (const char*)bytes.data : "", bytes.size);
}

static hlo_status_t add_field(hlo_desc_node_t* node, const field_row_t* row) {
  hlo_module_t* m = node->builder->module;
  const uint8_t* base = (const uint8_t*)node->instruction;
  if (row->outer != NO_OUTER) {
    base = *(const uint8_t* const*)(base + row->outer);
    if (!base) return missing(hlo_attr_name(row->attr));
  }
  const void* field = base + row->offset;
  const hlo_wire_array_t* array = field;
  const hlo_wire_bytes_t* bytes = field;
  const hlo_attr_t* value = NULL;
  switch (row->kind) {
    case FIELD_I64: value = hlo_attr_int(m, HLO_DTYPE_S64, *(const int64_t*)field); break;
    case FIELD_I32: value = hlo_attr_int(m, HLO_DTYPE_S32, *(const int32_t*)field); break;
    case FIELD_BOOL: value = hlo_attr_bool(m, *(const bool*)field); break;
    case FIELD_F32: value = hlo_attr_float(m, HLO_DTYPE_F32, *(const float*)field); break;
    case FIELD_DIMS:
    case FIELD_DIMS_IF_ANY:
      if (array->count || row->kind == FIELD_DIMS) value = ints_attr(m, array);
      break;
    case FIELD_FIRST:
      if (array->count != 1) {
        return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                                 "%zu dimensions are given where one is wanted", array->count);
      }
      value = hlo_attr_int(m, HLO_DTYPE_S64, *(const int64_t*)array->items);
      break;
    case FIELD_ENUM:
      if (!hlo_enum_case_name(row->enum_kind, *(const int32_t*)field)) {
        return missing(hlo_attr_name(row->attr));
      }
      value = hlo_attr_enum(m, row->enum_kind, *(const int32_t*)field);
      break;
    case FIELD_STRING:
    case FIELD_STRING_IF_ANY:
      if (bytes->size || row->kind == FIELD_STRING) value = string_attr(m, *bytes);
      break;
  }
  hlo_desc_add_attr(node, row->attr, value);
  return hlo_ok();
}

// ---- windows, pads, slices: one list per attribute from one struct per dimension ----------------

// The int64 at `offset` of each item.
static const hlo_attr_t* column(hlo_desc_node_t* node, const hlo_wire_array_t* items, size_t stride,
                                size_t offset) {
  int64_t values[HLO_RANK_MAX];
  for (size_t i = 0; i < items->count; ++i) {
    memcpy(&values[i], (const uint8_t*)items->items + i * stride + offset, sizeof values[i]);
  }
  return hlo_attr_ints(node->builder->module, (uint32_t)items->count, values);
}

static hlo_status_t check_count(const hlo_wire_array_t* items) {
  if (items->count <= HLO_RANK_MAX) return hlo_ok();
  return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "%zu dimensions are too many",
                           items->count);
}

#define COLUMN(attr, items, type, member)  \
  hlo_desc_add_attr(node, HLO_ATTR_##attr, \
                    column(node, items, sizeof(type), offsetof(type, member)))

static hlo_status_t window_attrs(hlo_desc_node_t* node, bool is_conv) {
  static const hlo_desc_window_t none = {0};
  const hlo_desc_window_t* window = node->instruction->window ? node->instruction->window : &none;
  const hlo_wire_array_t* items = &window->dimensions;
  HLO_TRY(check_count(items));
  const hlo_desc_window_dim_t* dims = items->items;
  int64_t padding[2 * HLO_RANK_MAX], reversal[HLO_RANK_MAX];
  bool reversed = false;
  for (size_t i = 0; i < items->count; ++i) {
    padding[2 * i] = dims[i].padding_low;
    padding[2 * i + 1] = dims[i].padding_high;
    reversal[i] = dims[i].window_reversal;
    reversed |= dims[i].window_reversal;
  }
  hlo_module_t* m = node->builder->module;
  uint32_t count = (uint32_t)items->count;
  COLUMN(window_strides, items, hlo_desc_window_dim_t, stride);
  if (count > 0) hlo_desc_add_attr(node, HLO_ATTR_padding, hlo_attr_matrix(m, count, 2, padding));
  if (is_conv) {
    COLUMN(lhs_dilation, items, hlo_desc_window_dim_t, base_dilation);
    COLUMN(rhs_dilation, items, hlo_desc_window_dim_t, window_dilation);
    if (reversed) {
      hlo_desc_add_attr(node, HLO_ATTR_window_reversal, hlo_attr_bools(m, count, reversal));
    }
    return hlo_ok();
  }
  COLUMN(window_dimensions, items, hlo_desc_window_dim_t, size);
  if (node->op == HLO_OP_reduce_window) {
    COLUMN(base_dilations, items, hlo_desc_window_dim_t, base_dilation);
    COLUMN(window_dilations, items, hlo_desc_window_dim_t, window_dilation);
  }
  return hlo_ok();
}

static hlo_status_t pad_attrs(hlo_desc_node_t* node) {
  if (!node->instruction->padding_config) return missing("padding");
  const hlo_wire_array_t* items = &node->instruction->padding_config->dimensions;
  HLO_TRY(check_count(items));
  COLUMN(edge_padding_low, items, hlo_desc_pad_dim_t, edge_padding_low);
  COLUMN(edge_padding_high, items, hlo_desc_pad_dim_t, edge_padding_high);
  COLUMN(interior_padding, items, hlo_desc_pad_dim_t, interior_padding);
  return hlo_ok();
}

static hlo_status_t slice_attrs(hlo_desc_node_t* node) {
  const hlo_wire_array_t* items = &node->instruction->slice_dimensions;
  HLO_TRY(check_count(items));
  COLUMN(start_indices, items, hlo_desc_slice_dim_t, start);
  COLUMN(limit_indices, items, hlo_desc_slice_dim_t, limit);
  COLUMN(strides, items, hlo_desc_slice_dim_t, stride);
  return hlo_ok();
}

// ---- precision, comparison, convolution ---------------------------------------------------------

static void precision_attrs(hlo_desc_node_t* node) {
  const hlo_desc_precision_t* precision = node->instruction->precision;
  if (!precision || precision->operand_precision.count != 2) return;
  const int32_t* values = precision->operand_precision.items;
  const hlo_attr_t* items[2];
  for (int i = 0; i < 2; ++i) {
    if (!hlo_enum_case_name(HLO_ENUM_PRECISION, values[i])) return;
    items[i] = hlo_attr_enum(node->builder->module, HLO_ENUM_PRECISION, values[i]);
  }
  if (values[0] == 0 && values[1] == 0) return;
  hlo_desc_add_attr(node, HLO_ATTR_precision_config,
                    hlo_attr_array(node->builder->module, 2, items));
}

static hlo_status_t dot_attrs(hlo_desc_node_t* node) {
  const hlo_desc_precision_t* precision = node->instruction->precision;
  if (precision && precision->algorithm != 0) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "algorithm number %d of a dot",
                             (int)precision->algorithm);
  }
  precision_attrs(node);
  return hlo_ok();
}

// The case that bytes of a proto name, or -1; they may be empty or hold zeros.
static int64_t case_value(hlo_enum_kind_t kind, hlo_wire_bytes_t name) {
  if (name.size == 0 || memchr(name.data, 0, name.size)) return -1;
  return hlo_enum_case_value(kind, (const char*)name.data, name.size);
}

static hlo_status_t compare_attrs(hlo_desc_node_t* node) {
  const hlo_desc_instruction_t* in = node->instruction;
  hlo_module_t* m = node->builder->module;
  int64_t direction = case_value(HLO_ENUM_COMPARISON_DIRECTION, in->comparison_direction);
  if (direction < 0) return missing("direction");
  hlo_desc_add_attr(node, HLO_ATTR_comparison_direction,
                    hlo_attr_enum(m, HLO_ENUM_COMPARISON_DIRECTION, direction));
  if (in->comparison_type.size == 0) return hlo_ok();
  int64_t type = case_value(HLO_ENUM_COMPARISON_TYPE, in->comparison_type);
  if (type < 0) return missing("type");
  hlo_desc_add_attr(node, HLO_ATTR_compare_type, hlo_attr_enum(m, HLO_ENUM_COMPARISON_TYPE, type));
  return hlo_ok();
}

static hlo_status_t conv_attrs(hlo_desc_node_t* node) {
  const hlo_desc_conv_t* conv = node->instruction->conv;
  hlo_module_t* m = node->builder->module;
  if (!conv) return missing("dim_labels");
  HLO_TRY(window_attrs(node, true));
#define CONV_INT(name) \
  hlo_desc_add_attr(node, HLO_ATTR_##name, hlo_attr_int(m, HLO_DTYPE_S64, conv->name))
#define CONV_DIMS(name) hlo_desc_add_attr(node, HLO_ATTR_##name, ints_attr(m, &conv->name))
  CONV_INT(input_batch_dimension);
  CONV_INT(input_feature_dimension);
  CONV_DIMS(input_spatial_dimensions);
  CONV_INT(kernel_input_feature_dimension);
  CONV_INT(kernel_output_feature_dimension);
  CONV_DIMS(kernel_spatial_dimensions);
  CONV_INT(output_batch_dimension);
  CONV_INT(output_feature_dimension);
  CONV_DIMS(output_spatial_dimensions);
#undef CONV_INT
#undef CONV_DIMS
  int64_t features = node->instruction->feature_group_count;
  int64_t batches = node->instruction->batch_group_count;
  hlo_desc_add_attr(node, HLO_ATTR_feature_group_count,
                    hlo_attr_int(m, HLO_DTYPE_S64, features ? features : 1));
  hlo_desc_add_attr(node, HLO_ATTR_batch_group_count,
                    hlo_attr_int(m, HLO_DTYPE_S64, batches ? batches : 1));
  precision_attrs(node);
  return hlo_ok();
}

// ---- groups of devices --------------------------------------------------------------------------

static void pair_attrs(hlo_desc_node_t* node) {
  const hlo_wire_array_t* pairs = &node->instruction->source_target_pairs;
  // A pair is two int64 in a row, as the matrix wants them.
  hlo_desc_add_attr(node, HLO_ATTR_source_target_pairs,
                    hlo_attr_matrix(node->builder->module, (uint32_t)pairs->count, 2,
                                    (const int64_t*)pairs->items));
}

static void channel_attrs(hlo_desc_node_t* node) {
  enum { DEVICE_TO_DEVICE = 1, DEVICE_TO_HOST = 2, HOST_TO_DEVICE = 3 };
  hlo_module_t* m = node->builder->module;
  bool host = node->instruction->is_host_transfer;
  int64_t type =
      !host ? DEVICE_TO_DEVICE : (node->op == HLO_OP_send ? DEVICE_TO_HOST : HOST_TO_DEVICE);
  if (node->instruction->channel_id <= 0) return;
  hlo_desc_add_attr(node, HLO_ATTR_channel_id,
                    hlo_attr_int(m, HLO_DTYPE_S64, node->instruction->channel_id));
  hlo_desc_add_attr(node, HLO_ATTR_channel_type, hlo_attr_int(m, HLO_DTYPE_S64, type));
}

static hlo_status_t collective_attrs(hlo_desc_node_t* node) {
  const hlo_desc_instruction_t* in = node->instruction;
  hlo_module_t* m = node->builder->module;
  if (hlo_op_attr_slot(node->op, HLO_ATTR_channel_id) >= 0) channel_attrs(node);
  if (in->use_global_device_ids &&
      hlo_op_attr_slot(node->op, HLO_ATTR_use_global_device_ids) >= 0) {
    hlo_desc_add_attr(node, HLO_ATTR_use_global_device_ids, hlo_attr_unit(m));
  }
  if (in->has_dynamic_root && hlo_op_attr_slot(node->op, HLO_ATTR_has_dynamic_root) >= 0) {
    hlo_desc_add_attr(node, HLO_ATTR_has_dynamic_root, hlo_attr_unit(m));
  }
  if (node->op == HLO_OP_collective_permute) {
    pair_attrs(node);
    return hlo_ok();
  }
  const hlo_attr_t* groups = NULL;
  HLO_TRY(hlo_desc_groups(node, &groups));
  if (!groups) return hlo_module_status(m);
  hlo_desc_add_attr(node, HLO_ATTR_replica_groups, groups);
  if (node->op == HLO_OP_all_to_all) {
    hlo_desc_add_attr(node, HLO_ATTR_split_count, hlo_attr_int(m, HLO_DTYPE_S64, groups->cols));
  }
  return hlo_ok();
}

static hlo_status_t special_attrs(hlo_desc_node_t* node) {
  switch (node->op) {
    case HLO_OP_compare: return compare_attrs(node);
    case HLO_OP_pad: return pad_attrs(node);
    case HLO_OP_slice: return slice_attrs(node);
    case HLO_OP_reduce_window:
    case HLO_OP_select_and_scatter: return window_attrs(node, false);
    case HLO_OP_convolution: return conv_attrs(node);
    case HLO_OP_dot_general: return dot_attrs(node);
    case HLO_OP_send:
    case HLO_OP_recv: channel_attrs(node); return hlo_ok();
    default:
      if (hlo_op_info(node->op)->traits & HLO_TRAIT_COLLECTIVE) return collective_attrs(node);
      return hlo_ok();
  }
}

hlo_status_t hlo_desc_attrs(hlo_desc_node_t* node) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (rows[i].op == node->op) HLO_TRY(add_field(node, &rows[i]));
  }
  return special_attrs(node);
}
