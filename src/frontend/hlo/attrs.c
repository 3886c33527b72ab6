// SPDX-License-Identifier: Apache-2.0
// Attributes of StableHLO ops from the fields of HLO instructions: the rows of fields.h, and
// functions for windows, groups of devices and the like.
#include "frontend/hlo/build.h"
#include "frontend/hlo/fields.h"
#include "ir/dot_algorithm.h"

void hlo_desc_add_attr(hlo_desc_node_t* node, hlo_attr_id_t id, const hlo_attr_t* value) {
  if (value && node->attr_count < HLO_DESC_ATTRS_MAX) {
    node->attrs[node->attr_count++] = (hlo_named_attr_t){id, value};
  }
}

static hlo_status_t missing(const char* what) {
  return hlo_invalid_argument("%s is missing", what);
}

static const hlo_attr_t* ints_attr(hlo_module_t* module, const hlo_wire_array_t* array) {
  return hlo_attr_ints(module, (uint32_t)array->count, array->items);
}

static const hlo_attr_t* string_attr(hlo_module_t* module, hlo_wire_bytes_t bytes) {
  return hlo_attr_string(module, bytes.size ? (const char*)bytes.data : "", bytes.size);
}

static hlo_status_t add_column(hlo_desc_node_t* node, const hlo_desc_field_row_t* row);

static hlo_status_t add_field(hlo_desc_node_t* node, const hlo_desc_field_row_t* row) {
  if (hlo_desc_columns(row->kind)) return add_column(node, row);
  hlo_module_t* m = node->builder->module;
  const uint8_t* base = (const uint8_t*)node->instruction;
  if (row->outer != HLO_DESC_NO_OUTER) {
    base = *(const uint8_t* const*)(base + row->outer);
    if (!base) return missing(hlo_attr_name(row->attr));
  }
  const void* field = base + row->offset;
  const hlo_wire_array_t* array = field;
  const hlo_wire_bytes_t* bytes = field;
  const hlo_attr_t* value = NULL;
  switch (row->kind) {
    case HLO_DESC_FIELD_I64: value = hlo_attr_int(m, HLO_DTYPE_S64, *(const int64_t*)field); break;
    case HLO_DESC_FIELD_I32: value = hlo_attr_int(m, HLO_DTYPE_S32, *(const int32_t*)field); break;
    case HLO_DESC_FIELD_BOOL: value = hlo_attr_bool(m, *(const bool*)field); break;
    case HLO_DESC_FIELD_BOOL_IF_TRUE:
      if (*(const bool*)field) value = hlo_attr_bool(m, true);
      break;
    case HLO_DESC_FIELD_F32: value = hlo_attr_float(m, HLO_DTYPE_F32, *(const float*)field); break;
    case HLO_DESC_FIELD_DIMS:
    case HLO_DESC_FIELD_DIMS_IF_ANY:
      if (array->count || row->kind == HLO_DESC_FIELD_DIMS) value = ints_attr(m, array);
      break;
    case HLO_DESC_FIELD_FIRST:
      if (array->count != 1) {
        return hlo_invalid_argument("%zu dimensions, expected one", array->count);
      }
      value = hlo_attr_int(m, HLO_DTYPE_S64, *(const int64_t*)array->items);
      break;
    case HLO_DESC_FIELD_ENUM:
      if (!hlo_enum_case_name(row->enum_kind, *(const int32_t*)field)) {
        return missing(hlo_attr_name(row->attr));
      }
      value = hlo_attr_enum(m, row->enum_kind, *(const int32_t*)field);
      break;
    case HLO_DESC_FIELD_STRING:
    case HLO_DESC_FIELD_STRING_IF_ANY:
      if (bytes->size || row->kind == HLO_DESC_FIELD_STRING) value = string_attr(m, *bytes);
      break;
    default: break;
  }
  hlo_desc_add_attr(node, row->attr, value);
  return hlo_ok();
}

// ---- windows, pads, slices ----------------------------------------------------------------------

// Collects the same int64 of each dimension's struct.
static hlo_status_t add_column(hlo_desc_node_t* node, const hlo_desc_field_row_t* row) {
  const hlo_desc_columns_t* columns = hlo_desc_columns(row->kind);
  const uint8_t* base = (const uint8_t*)node->instruction;
  if (columns->outer != HLO_DESC_NO_OUTER) {
    static const hlo_desc_window_t empty = {0};
    base = *(const uint8_t* const*)(base + columns->outer);
    if (!base && row->kind == HLO_DESC_FIELD_WINDOW) base = (const uint8_t*)&empty;
    if (!base) return missing("padding");
  }
  const hlo_wire_array_t* items = (const hlo_wire_array_t*)(base + columns->offset);
  if (items->count > HLO_RANK_MAX) {
    return hlo_invalid_argument("too many dimensions (%zu)", items->count);
  }
  int64_t values[HLO_RANK_MAX];
  for (size_t i = 0; i < items->count; ++i) {
    memcpy(&values[i], (const uint8_t*)items->items + i * columns->item_bytes + row->offset,
           sizeof values[i]);
  }
  hlo_desc_add_attr(node, row->attr,
                    hlo_attr_ints(node->builder->module, (uint32_t)items->count, values));
  return hlo_ok();
}

// Sets the window attributes that are not columns; add_column() checks the number of dimensions.
static void window_attrs(hlo_desc_node_t* node) {
  const hlo_desc_window_t* window = node->instruction->window;
  uint32_t count = window ? (uint32_t)window->dimensions.count : 0;
  if (count == 0) return;
  const hlo_desc_window_dim_t* dims = window->dimensions.items;
  int64_t padding[2 * HLO_RANK_MAX], reversal[HLO_RANK_MAX];
  bool reversed = false;
  for (uint32_t i = 0; i < count; ++i) {
    padding[2 * i] = dims[i].padding_low;
    padding[2 * i + 1] = dims[i].padding_high;
    reversal[i] = dims[i].window_reversal;
    reversed |= dims[i].window_reversal;
  }
  hlo_module_t* m = node->builder->module;
  hlo_desc_add_attr(node, HLO_ATTR_padding, hlo_attr_matrix(m, count, 2, padding));
  if (reversed && node->op == HLO_OP_convolution) {
    hlo_desc_add_attr(node, HLO_ATTR_window_reversal, hlo_attr_bools(m, count, reversal));
  }
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
  if (!precision || precision->algorithm == 0) {
    precision_attrs(node);
    return hlo_ok();
  }
  // With an algorithm, XLA ignores the precision of the operands.
  const hlo_dot_algorithm_t* row = hlo_dot_algorithm_numbered(precision->algorithm);
  if (!row) return hlo_unimplemented("algorithm number %d of a dot", (int)precision->algorithm);
  hlo_named_attr_t attrs[HLO_DOT_ALGORITHM_ATTR_COUNT];
  hlo_dot_algorithm_attrs(node->builder->module, row, attrs);
  for (uint32_t i = 0; i < HLO_DOT_ALGORITHM_ATTR_COUNT; ++i) {
    hlo_desc_add_attr(node, attrs[i].id, attrs[i].value);
  }
  return hlo_module_status(node->builder->module);
}

// Returns the enum case that a proto's bytes name, or -1; the bytes may be empty or contain zeros.
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

static void conv_attrs(hlo_desc_node_t* node) {
  hlo_module_t* m = node->builder->module;
  window_attrs(node);
  int64_t features = node->instruction->feature_group_count;
  int64_t batches = node->instruction->batch_group_count;
  hlo_desc_add_attr(node, HLO_ATTR_feature_group_count,
                    hlo_attr_int(m, HLO_DTYPE_S64, features ? features : 1));
  hlo_desc_add_attr(node, HLO_ATTR_batch_group_count,
                    hlo_attr_int(m, HLO_DTYPE_S64, batches ? batches : 1));
  precision_attrs(node);
}

// ---- groups of devices --------------------------------------------------------------------------

static void pair_attrs(hlo_desc_node_t* node) {
  const hlo_wire_array_t* pairs = &node->instruction->source_target_pairs;
  // Two consecutive int64 are a pair, as in the matrix.
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
    if (in->dynamic_slice_sizes.count) {
      return hlo_unimplemented("in-place collective-permute of slices is not supported");
    }
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
    case HLO_OP_reduce_window:
    case HLO_OP_select_and_scatter: window_attrs(node); return hlo_ok();
    case HLO_OP_convolution: conv_attrs(node); return hlo_ok();
    case HLO_OP_dot_general: return dot_attrs(node);
    case HLO_OP_hlo_scaled_dot:
    case HLO_OP_chlo_ragged_dot: precision_attrs(node); return hlo_ok();
    case HLO_OP_send:
    case HLO_OP_recv: channel_attrs(node); return hlo_ok();
    default:
      if (hlo_op_info(node->op)->traits & HLO_TRAIT_COLLECTIVE) return collective_attrs(node);
      return hlo_ok();
  }
}

hlo_status_t hlo_desc_attrs(hlo_desc_node_t* node) {
  if (node->op == HLO_OP_all_to_all && node->instruction->dimensions.count == 0) {
    return hlo_unimplemented("all-to-all with one operand per device is not supported");
  }
  for (size_t i = 0; i < hlo_desc_field_row_count; ++i) {
    const hlo_desc_field_row_t* row = &hlo_desc_field_rows[i];
    if (row->op == node->op) HLO_TRY(add_field(node, row));
  }
  return special_attrs(node);
}
