// SPDX-License-Identifier: Apache-2.0
// Fields of HLO instructions from the attributes of StableHLO ops, the reverse of attrs.c: the rows
// of fields.h, and functions for windows, groups of devices and the like.
#include "frontend/hlo/fields.h"

#include "frontend/hlo/export.h"
#include "ir/dot_algorithm.h"
#include "ir/op_sharding.h"

// Returns the struct that a pointer of the instruction points to, created on demand; NULL if memory
// is exhausted.
static uint8_t* outer_struct(const hlo_exporter_t* ex, hlo_desc_instruction_t* in, uint16_t outer,
                             uint16_t outer_bytes) {
  if (outer == HLO_DESC_NO_OUTER) return (uint8_t*)in;
  void** place = (void**)((uint8_t*)in + outer);
  if (!*place) *place = hlo_arena_alloc_zeroed(ex->arena, outer_bytes);
  return *place;
}

static hlo_status_t set_column(const hlo_exporter_t* ex, const hlo_desc_field_row_t* row,
                               const hlo_attr_t* attr, hlo_desc_instruction_t* in) {
  const hlo_desc_columns_t* columns = hlo_desc_columns(row->kind);
  uint8_t* base = outer_struct(ex, in, columns->outer, columns->outer_bytes);
  if (!base) return hlo_arena_status(ex->arena);
  hlo_wire_array_t* items = (hlo_wire_array_t*)(base + columns->offset);
  if (!items->items) {
    items->items = hlo_arena_array(ex->arena, attr->count, columns->item_bytes);
    if (!items->items) return hlo_arena_status(ex->arena);
    items->count = attr->count;
    hlo_desc_window_dim_t* dims = items->items;
    for (uint32_t i = 0; row->kind == HLO_DESC_FIELD_WINDOW && i < attr->count; ++i) {
      dims[i] =
          (hlo_desc_window_dim_t){.size = 1, .stride = 1, .window_dilation = 1, .base_dilation = 1};
    }
  }
  for (uint32_t i = 0; i < attr->count && i < items->count; ++i) {
    memcpy((uint8_t*)items->items + i * columns->item_bytes + row->offset, &attr->values[i],
           sizeof attr->values[i]);
  }
  return hlo_ok();
}

static hlo_status_t set_field(const hlo_exporter_t* ex, const hlo_desc_field_row_t* row,
                              const hlo_attr_t* attr, hlo_desc_instruction_t* in) {
  if (hlo_desc_columns(row->kind)) return set_column(ex, row, attr, in);
  uint8_t* base = outer_struct(ex, in, row->outer, row->outer_bytes);
  if (!base) return hlo_arena_status(ex->arena);
  void* field = base + row->offset;
  switch (row->kind) {
    case HLO_DESC_FIELD_I64: *(int64_t*)field = attr->i; return hlo_ok();
    case HLO_DESC_FIELD_ENUM:
    case HLO_DESC_FIELD_I32: *(int32_t*)field = (int32_t)attr->i; return hlo_ok();
    case HLO_DESC_FIELD_BOOL_IF_TRUE:
    case HLO_DESC_FIELD_BOOL: *(bool*)field = attr->i != 0; return hlo_ok();
    case HLO_DESC_FIELD_F32: *(float*)field = (float)attr->f; return hlo_ok();
    case HLO_DESC_FIELD_FIRST: return hlo_export_ints(ex, 1, &attr->i, field);
    case HLO_DESC_FIELD_STRING:
    case HLO_DESC_FIELD_STRING_IF_ANY:
      *(hlo_wire_bytes_t*)field = (hlo_wire_bytes_t){(const uint8_t*)attr->text, attr->text_length};
      return hlo_ok();
    default: return hlo_export_ints(ex, attr->count, attr->values, field);
  }
}

// A struct exists if the op has rows for it, even if all its fields are absent.
static hlo_status_t set_fields(const hlo_exporter_t* ex, const hlo_node_t* node,
                               hlo_desc_instruction_t* in) {
  for (size_t i = 0; i < hlo_desc_field_row_count; ++i) {
    const hlo_desc_field_row_t* row = &hlo_desc_field_rows[i];
    if (row->op != node->op) continue;
    const hlo_attr_t* attr = hlo_node_attr(node, row->attr);
    if (attr) {
      HLO_TRY(set_field(ex, row, attr, in));
    } else if (!hlo_desc_columns(row->kind) &&
               !outer_struct(ex, in, row->outer, row->outer_bytes)) {
      return hlo_arena_status(ex->arena);
    }
  }
  return hlo_ok();
}

// ---- windows, precision, comparison -------------------------------------------------------------

// Returns the number of dimensions of a node's window.
static uint32_t window_rank(const hlo_node_t* node) {
  uint32_t rank = hlo_node_operand_type(node, 0)->rank;
  return node->op == HLO_OP_convolution && rank >= 2 ? rank - 2 : rank;
}

static hlo_status_t set_window(const hlo_exporter_t* ex, const hlo_node_t* node,
                               hlo_desc_instruction_t* in) {
  uint32_t rank = window_rank(node);
  if (rank == 0) {
    in->window = NULL;
    return hlo_ok();
  }
  if (!in->window) {  // all its lists are absent
    static const int64_t zeros[HLO_RANK_MAX] = {0};
    hlo_attr_t none = {.kind = HLO_ATTR_KIND_INTS, .count = rank, .values = zeros};
    hlo_desc_field_row_t row = {.kind = HLO_DESC_FIELD_WINDOW,
                                .offset = offsetof(hlo_desc_window_dim_t, padding_low)};
    HLO_TRY(set_column(ex, &row, &none, in));
  }
  hlo_desc_window_dim_t* dims = in->window->dimensions.items;
  if (in->window->dimensions.count != rank) return hlo_export_refuse(ex, "window of another rank");
  const hlo_attr_t* padding = hlo_node_attr(node, HLO_ATTR_padding);
  const hlo_attr_t* reversal =
      node->op == HLO_OP_convolution ? hlo_node_attr(node, HLO_ATTR_window_reversal) : NULL;
  const hlo_type_t* kernel = node->op == HLO_OP_convolution ? hlo_node_operand_type(node, 1) : NULL;
  for (uint32_t i = 0; i < rank; ++i) {
    if (padding && padding->count == 2 * rank) {
      dims[i].padding_low = padding->values[2 * i];
      dims[i].padding_high = padding->values[2 * i + 1];
    }
    if (reversal && i < reversal->count) dims[i].window_reversal = reversal->values[i] != 0;
    if (kernel && i < in->conv->kernel_spatial_dimensions.count) {
      int64_t dim = ((const int64_t*)in->conv->kernel_spatial_dimensions.items)[i];
      dims[i].size = kernel->dims[dim];
    }
  }
  return hlo_ok();
}

static hlo_status_t set_conv(const hlo_exporter_t* ex, const hlo_node_t* node,
                             hlo_desc_instruction_t* in) {
  int64_t features = hlo_node_attr_int(node, HLO_ATTR_feature_group_count, 1);
  int64_t batches = hlo_node_attr_int(node, HLO_ATTR_batch_group_count, 1);
  in->feature_group_count = features == 1 ? 0 : features;  // 0: the default of one group
  in->batch_group_count = batches == 1 ? 0 : batches;
  return set_window(ex, node, in);
}

static hlo_status_t set_precision(const hlo_exporter_t* ex, const hlo_node_t* node,
                                  hlo_desc_instruction_t* in) {
  const hlo_dot_algorithm_t* algorithm = NULL;
  if (hlo_dot_has_algorithm(node) && !hlo_status_take_ok(hlo_dot_algorithm_find(node, &algorithm)))
    return hlo_export_refuse(ex, "the algorithm of the dot");
  const hlo_attr_t* config = hlo_node_attr(node, HLO_ATTR_precision_config);
  bool usual = true;
  for (uint32_t i = 0; config && i < config->count; ++i) usual &= config->items[i]->i == 0;
  if (usual && !algorithm) return hlo_ok();
  in->precision = hlo_arena_alloc_zeroed(ex->arena, sizeof *in->precision);
  if (!in->precision) return hlo_arena_status(ex->arena);
  in->precision->algorithm = algorithm ? algorithm->number : 0;
  if (usual) return hlo_ok();
  int32_t* items = hlo_arena_array(ex->arena, config->count, sizeof *items);
  if (!items) return hlo_arena_status(ex->arena);
  for (uint32_t i = 0; i < config->count; ++i) items[i] = (int32_t)config->items[i]->i;
  in->precision->operand_precision = (hlo_wire_array_t){items, config->count};
  return hlo_ok();
}

// The default type of the elements is omitted.
static void set_compare(const hlo_node_t* node, hlo_desc_instruction_t* in) {
  const hlo_attr_t* direction = hlo_node_attr(node, HLO_ATTR_comparison_direction);
  const hlo_attr_t* type = hlo_node_attr(node, HLO_ATTR_compare_type);
  in->comparison_direction =
      hlo_export_text(hlo_enum_case_name(HLO_ENUM_COMPARISON_DIRECTION, direction->i));
  if (type && type->i == HLO_COMPARISON_TYPE_TOTALORDER &&
      hlo_dtype_is_float(hlo_node_operand_type(node, 0)->dtype)) {
    in->comparison_type = hlo_export_text(hlo_enum_case_name(HLO_ENUM_COMPARISON_TYPE, type->i));
  }
}

// ---- collectives --------------------------------------------------------------------------------

// Copies the rows of a matrix without their trailing -1.
static hlo_status_t set_groups(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                               hlo_wire_array_t* out_groups) {
  if (attr->kind != HLO_ATTR_KIND_INTS) return hlo_export_mesh_groups(ex, attr, out_groups);
  uint32_t rows = attr->cols ? attr->count / attr->cols : 0;
  hlo_desc_group_t* groups = hlo_arena_array(ex->arena, rows, sizeof *groups);
  if (!groups) return hlo_arena_status(ex->arena);
  for (uint32_t r = 0; r < rows; ++r) {
    const int64_t* row = attr->values + (size_t)r * attr->cols;
    uint32_t length = 0;
    while (length < attr->cols && row[length] != -1) ++length;
    HLO_TRY(hlo_export_ints(ex, length, row, &groups[r].replica_ids));
  }
  *out_groups = (hlo_wire_array_t){groups, rows};
  return hlo_ok();
}

static hlo_status_t set_pairs(const hlo_exporter_t* ex, const hlo_attr_t* attr,
                              hlo_desc_instruction_t* in) {
  // Two consecutive int64 are a pair.
  HLO_TRY(hlo_export_ints(ex, attr->count, attr->values, &in->source_target_pairs));
  in->source_target_pairs.count = attr->count / 2;
  return hlo_ok();
}

static hlo_status_t set_collective(const hlo_exporter_t* ex, const hlo_node_t* node,
                                   hlo_desc_instruction_t* in) {
  const hlo_attr_t* groups = hlo_node_attr(node, HLO_ATTR_replica_groups);
  const hlo_attr_t* pairs = hlo_node_attr(node, HLO_ATTR_source_target_pairs);
  in->channel_id = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0);
  in->use_global_device_ids = hlo_node_attr(node, HLO_ATTR_use_global_device_ids) != NULL;
  in->has_dynamic_root = hlo_node_attr(node, HLO_ATTR_has_dynamic_root) != NULL;
  if (pairs) HLO_TRY(set_pairs(ex, pairs, in));
  return groups ? set_groups(ex, groups, &in->replica_groups) : hlo_ok();
}

hlo_status_t hlo_desc_fields(const hlo_exporter_t* ex, const hlo_node_t* node,
                             hlo_desc_instruction_t* in) {
  HLO_TRY(set_fields(ex, node, in));
  switch (node->op) {
    case HLO_OP_compare: set_compare(node, in); return hlo_ok();
    case HLO_OP_reduce_window:
    case HLO_OP_select_and_scatter: return set_window(ex, node, in);
    case HLO_OP_convolution: HLO_TRY(set_conv(ex, node, in)); return set_precision(ex, node, in);
    case HLO_OP_dot_general:
    case HLO_OP_chlo_ragged_dot:
    case HLO_OP_hlo_scaled_dot:
    case HLO_OP_dot: return set_precision(ex, node, in);
    case HLO_OP_send:
    case HLO_OP_recv:
      in->channel_id = hlo_node_attr_int(node, HLO_ATTR_channel_id, 0);
      return hlo_ok();
    default:
      if (hlo_op_info(node->op)->traits & HLO_TRAIT_COLLECTIVE) {
        return set_collective(ex, node, in);
      }
      return hlo_ok();
  }
}

// ---- discardable attributes ---------------------------------------------------------------------

static bool key_is_less(hlo_wire_bytes_t a, hlo_wire_bytes_t b) {
  int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
  return order < 0 || (order == 0 && a.size < b.size);
}

hlo_status_t hlo_export_frontend(const hlo_exporter_t* ex, const char* key, const char* text,
                                 size_t length, hlo_desc_string_map_t** map) {
  if (!*map) *map = hlo_arena_alloc_zeroed(ex->arena, sizeof **map);
  if (!*map) return hlo_arena_status(ex->arena);
  hlo_wire_array_t* array = &(*map)->map;
  hlo_desc_string_pair_t* pairs = hlo_arena_array(ex->arena, array->count + 1, sizeof *pairs);
  if (!pairs) return hlo_arena_status(ex->arena);
  const hlo_desc_string_pair_t* known = array->items;
  hlo_desc_string_pair_t added = {hlo_export_text(key), {(const uint8_t*)text, length}};
  size_t place = 0;
  while (place < array->count && key_is_less(known[place].key, added.key)) ++place;
  for (size_t i = 0; i < array->count; ++i) pairs[i + (i >= place)] = known[i];
  pairs[place] = added;
  *array = (hlo_wire_array_t){pairs, array->count + 1};
  return hlo_ok();
}

// Checks for the characters of keys in XLA's text: letters, digits, "_.-".
static bool is_plain_key(const char* key) {
  size_t length = strlen(key);
  return length > 0 &&
         strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == length;
}

hlo_status_t hlo_export_extra(const hlo_exporter_t* ex, const hlo_attr_t* extra,
                              hlo_desc_instruction_t* in) {
  const hlo_attr_t* sharding = hlo_attr_dict_get(extra, HLO_OP_SHARDING_ATTR);
  if (sharding && sharding->kind == HLO_ATTR_KIND_STRING && sharding->text_length &&
      sharding->text[0] == '{') {
    in->sharding = (hlo_wire_bytes_t){(const uint8_t*)sharding->text, sharding->text_length};
  }
  const hlo_attr_t* dict = hlo_attr_dict_get(extra, "mhlo.frontend_attributes");
  for (uint32_t i = 0; dict && dict->kind == HLO_ATTR_KIND_DICT && i < dict->count; ++i) {
    if (dict->items[i]->kind != HLO_ATTR_KIND_STRING || !is_plain_key(dict->keys[i])) continue;
    HLO_TRY(hlo_export_frontend(ex, dict->keys[i], dict->items[i]->text,
                                dict->items[i]->text_length, &in->frontend_attributes));
  }
  for (uint32_t i = 0; ex->partitioned && extra && i < extra->count; ++i) {
    const hlo_attr_t* item = extra->items[i];
    if (strncmp(extra->keys[i], "sdy.", 4) != 0 || !is_plain_key(extra->keys[i]) ||
        item->kind != HLO_ATTR_KIND_OPAQUE) {
      continue;
    }
    const char* key = hlo_arena_printf(ex->arena, "xla.%s", extra->keys[i]);
    if (!key) return hlo_arena_status(ex->arena);
    HLO_TRY(hlo_export_frontend(ex, key, item->text, item->text_length, &in->frontend_attributes));
  }
  return hlo_ok();
}
