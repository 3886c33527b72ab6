// SPDX-License-Identifier: Apache-2.0
// Reads attributes of instructions in HLO text, by the table of text_rows.c.

#include "frontend/hlo/text_impl.h"
#include "ir/dot_algorithm.h"

static hlo_status_t read_bool(hlo_text_t* t, bool* out_value) {
  *out_value = hlo_text_take(t, "true");
  return *out_value ? hlo_ok() : hlo_text_expect(t, "false");
}

// ---- computations

static hlo_status_t read_call(hlo_text_t* t, hlo_desc_instruction_t* in, size_t place) {
  hlo_wire_bytes_t name;
  HLO_TRY(hlo_text_name(t, &name));
  uintptr_t id = (uintptr_t)hlo_map_get(&t->computations, (const char*)name.data, name.size);
  if (!id) {
    return hlo_text_error(t, "no earlier computation %.*s", name.size < 100 ? (int)name.size : 100,
                          (const char*)name.data);
  }
  while (in->called_computation_ids.count <= place) {
    if (!hlo_text_push(t, &in->called_computation_ids, sizeof(int64_t))) {
      return hlo_arena_status(t->arena);
    }
  }
  ((int64_t*)in->called_computation_ids.items)[place] = (int64_t)id;
  return hlo_ok();
}

static hlo_status_t read_calls(hlo_text_t* t, hlo_desc_instruction_t* in) {
  HLO_TRY(hlo_text_expect(t, "{"));
  for (size_t i = 0; !hlo_text_take(t, "}"); ++i) {
    if (i) HLO_TRY(hlo_text_expect(t, ","));
    HLO_TRY(read_call(t, in, i));
  }
  return hlo_ok();
}

// ---- windows, labels, pads

// "3x3" or "1_1x0_0": one or two numbers per dimension.
static hlo_status_t window_part(hlo_text_t* t, hlo_desc_window_t* window, bool* sized,
                                const hlo_text_window_part_t* part) {
  for (size_t i = 0;; ++i) {
    if (i == window->dimensions.count) {
      if (*sized) return hlo_text_error(t, "the window has %zu dimensions", i);
      hlo_desc_window_dim_t* dim = hlo_text_push(t, &window->dimensions, sizeof *dim);
      if (!dim) return hlo_arena_status(t->arena);
      *dim =
          (hlo_desc_window_dim_t){.size = 1, .stride = 1, .window_dilation = 1, .base_dilation = 1};
    }
    hlo_desc_window_dim_t* dim = (hlo_desc_window_dim_t*)window->dimensions.items + i;
    int64_t value;
    HLO_TRY(hlo_text_int(t, &value));
    if (part->form == HLO_WINDOW_BOOL) {
      dim->window_reversal = value != 0;
    } else {
      memcpy((uint8_t*)dim + part->offset, &value, sizeof value);
    }
    if (part->form == HLO_WINDOW_PAIR) {
      HLO_TRY(hlo_text_expect(t, "_"));
      HLO_TRY(hlo_text_int(t, &dim->padding_high));
    }
    if (t->next >= t->end || *t->next != 'x') break;
    ++t->next;
  }
  *sized = true;
  return hlo_ok();
}

static hlo_status_t read_window(hlo_text_t* t, hlo_desc_instruction_t* in) {
  in->window = hlo_arena_alloc_zeroed(t->arena, sizeof *in->window);
  if (!in->window) return hlo_arena_status(t->arena);
  bool sized = false;
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    size_t i = 0;
    while (i < HLO_TEXT_WINDOW_PARTS && !hlo_text_take(t, hlo_text_window_parts[i].name)) ++i;
    if (i == HLO_TEXT_WINDOW_PARTS) {
      return hlo_text_error(t, "expected size, stride, pad ...");
    }
    HLO_TRY(hlo_text_expect(t, "="));
    HLO_TRY(window_part(t, in->window, &sized, &hlo_text_window_parts[i]));
  }
  return hlo_ok();
}

// "b01f": the positions of batch ('b' or 'i'), feature ('f' or 'o') and the spatial dimensions.
static hlo_status_t read_labels(hlo_text_t* t, const char* names, int64_t* out_first,
                                int64_t* out_second, hlo_wire_array_t* spatial) {
  bool first = false, second = false;
  size_t rank = 0;
  hlo_text_skip(t);
  const char* start = t->next;
  while (start + rank < t->end && start[rank] && strchr("biof0123456789?", start[rank])) ++rank;
  t->next = start + rank;
  for (size_t i = 0; i < rank; ++i) {
    if (!hlo_text_push(t, spatial, sizeof(int64_t))) return hlo_arena_status(t->arena);
  }
  spatial->count = 0;
  uint32_t seen = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (start[i] == names[0]) {
      *out_first = (int64_t)i;
      first = true;
    } else if (start[i] == names[1]) {
      *out_second = (int64_t)i;
      second = true;
    } else if (start[i] >= '0' && start[i] <= '9' && (size_t)(start[i] - '0') + 2 < rank) {
      ((int64_t*)spatial->items)[start[i] - '0'] = (int64_t)i;
      seen |= 1u << (start[i] - '0');
    }
  }
  size_t wanted = rank >= 2 ? rank - 2 : 0;
  if (!first || !second || wanted > 10 || seen != (1u << wanted) - 1) {
    return hlo_text_error(t, "the labels of the dimensions are malformed");
  }
  spatial->count = wanted;
  return hlo_ok();
}

static hlo_status_t read_dim_labels(hlo_text_t* t, hlo_desc_instruction_t* in) {
  hlo_desc_conv_t* conv = hlo_arena_alloc_zeroed(t->arena, sizeof *conv);
  if (!conv) return hlo_arena_status(t->arena);
  in->conv = conv;
  HLO_TRY(read_labels(t, "bf", &conv->input_batch_dimension, &conv->input_feature_dimension,
                      &conv->input_spatial_dimensions));
  HLO_TRY(hlo_text_expect(t, "_"));
  HLO_TRY(read_labels(t, "io", &conv->kernel_input_feature_dimension,
                      &conv->kernel_output_feature_dimension, &conv->kernel_spatial_dimensions));
  HLO_TRY(hlo_text_expect(t, "->"));
  return read_labels(t, "bf", &conv->output_batch_dimension, &conv->output_feature_dimension,
                     &conv->output_spatial_dimensions);
}

// 0_1_2x3_4: low, high and interior of each dimension. Empty for a scalar.
static hlo_status_t read_padding(hlo_text_t* t, hlo_desc_instruction_t* in) {
  in->padding_config = hlo_arena_alloc_zeroed(t->arena, sizeof *in->padding_config);
  if (!in->padding_config) return hlo_arena_status(t->arena);
  for (;;) {
    hlo_desc_pad_dim_t* dim = hlo_text_push(t, &in->padding_config->dimensions, sizeof *dim);
    if (!dim) return hlo_arena_status(t->arena);
    *dim = (hlo_desc_pad_dim_t){0};
    HLO_TRY(hlo_text_int(t, &dim->edge_padding_low));
    HLO_TRY(hlo_text_expect(t, "_"));
    HLO_TRY(hlo_text_int(t, &dim->edge_padding_high));
    if (hlo_text_take(t, "_")) HLO_TRY(hlo_text_int(t, &dim->interior_padding));
    if (t->next >= t->end || *t->next != 'x') return hlo_ok();
    ++t->next;
  }
}

static hlo_status_t read_slice(hlo_text_t* t, hlo_desc_instruction_t* in) {
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (in->slice_dimensions.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_slice_dim_t* dim = hlo_text_push(t, &in->slice_dimensions, sizeof *dim);
    if (!dim) return hlo_arena_status(t->arena);
    dim->stride = 1;
    HLO_TRY(hlo_text_expect(t, "["));
    HLO_TRY(hlo_text_int(t, &dim->start));
    HLO_TRY(hlo_text_expect(t, ":"));
    HLO_TRY(hlo_text_int(t, &dim->limit));
    if (hlo_text_take(t, ":")) HLO_TRY(hlo_text_int(t, &dim->stride));
    HLO_TRY(hlo_text_expect(t, "]"));
  }
  return hlo_ok();
}

// ---- devices

// 4,2 or 4,2]T(1,0) after an opening bracket: dimensions, then a permutation of them.
static hlo_status_t read_iota(hlo_text_t* t, hlo_wire_array_t* dims, hlo_wire_array_t* perm) {
  do {
    HLO_TRY(hlo_text_append_int(t, dims));
  } while (hlo_text_take(t, ","));
  HLO_TRY(hlo_text_expect(t, "]"));
  if (t->next >= t->end || *t->next != 'T') return hlo_ok();
  ++t->next;
  HLO_TRY(hlo_text_expect(t, "("));
  do {
    HLO_TRY(hlo_text_append_int(t, perm));
  } while (hlo_text_take(t, ","));
  return hlo_text_expect(t, ")");
}

// [2,4]<=[4,2]T(1,0)
static hlo_status_t read_iota_groups(hlo_text_t* t, hlo_desc_instruction_t* in) {
  hlo_desc_iota_list_t* list = hlo_arena_alloc_zeroed(t->arena, sizeof *list);
  if (!list) return hlo_arena_status(t->arena);
  in->iota_list = list;
  HLO_TRY(hlo_text_expect(t, "["));
  HLO_TRY(hlo_text_int(t, &list->num_replica_groups));
  HLO_TRY(hlo_text_expect(t, ","));
  HLO_TRY(hlo_text_int(t, &list->num_devices_per_group));
  HLO_TRY(hlo_text_expect(t, "]"));
  HLO_TRY(hlo_text_expect(t, "<="));
  HLO_TRY(hlo_text_expect(t, "["));
  hlo_wire_array_t perm = {0};
  HLO_TRY(read_iota(t, &list->iota_reshape_dims, &perm));
  for (size_t i = 0; i < perm.count; ++i) {
    int32_t* dim = hlo_text_push(t, &list->iota_transpose_perm, sizeof *dim);
    if (!dim) return hlo_arena_status(t->arena);
    int64_t value = ((const int64_t*)perm.items)[i];
    *dim = value >= 0 && value < HLO_TEXT_DEPTH ? (int32_t)value : -1;
  }
  return hlo_ok();
}

static hlo_status_t read_axis_name(hlo_text_t* t, hlo_wire_bytes_t* out_name) {
  HLO_TRY(hlo_text_expect(t, "'"));
  const char* end = memchr(t->next, '\'', (size_t)(t->end - t->next));
  if (!end) return hlo_text_error(t, "unterminated name of an axis");
  *out_name = (hlo_wire_bytes_t){(const uint8_t*)t->next, (size_t)(end - t->next)};
  t->next = end + 1;
  return hlo_ok();
}

// 'x'=2,'y'=4], device_ids=(0,2,1,3) after an opening bracket; the devices are optional.
static hlo_status_t read_mesh(hlo_text_t* t, hlo_desc_mesh_t* mesh) {
  while (!hlo_text_take(t, "]")) {
    if (mesh->axes.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_mesh_axis_t* axis = hlo_text_push(t, &mesh->axes, sizeof *axis);
    if (!axis) return hlo_arena_status(t->arena);
    HLO_TRY(read_axis_name(t, &axis->name));
    HLO_TRY(hlo_text_expect(t, "="));
    HLO_TRY(hlo_text_int(t, &axis->size));
  }
  if (!hlo_text_take(t, ",")) return hlo_ok();
  HLO_TRY(hlo_text_expect(t, "device_ids"));
  HLO_TRY(hlo_text_expect(t, "="));
  HLO_TRY(hlo_text_expect(t, "("));
  if (hlo_text_take(t, "[")) {
    mesh->iota = hlo_arena_alloc_zeroed(t->arena, sizeof *mesh->iota);
    if (!mesh->iota) return hlo_arena_status(t->arena);
    HLO_TRY(read_iota(t, &mesh->iota->reshape_dims, &mesh->iota->transpose_perm));
    return hlo_text_expect(t, ")");
  }
  do {
    HLO_TRY(hlo_text_append_int(t, &mesh->device_ids));
  } while (hlo_text_take(t, ","));
  return hlo_text_expect(t, ")");
}

// 'y' or, for a part of the axis, 'y':(1)2
static hlo_status_t read_axis_ref(hlo_text_t* t, const hlo_desc_mesh_t* mesh,
                                  hlo_desc_axis_ref_t* ref) {
  const hlo_desc_mesh_axis_t* axes = mesh->axes.items;
  hlo_wire_bytes_t name;
  size_t axis = 0;
  HLO_TRY(read_axis_name(t, &name));
  while (axis < mesh->axes.count && (axes[axis].name.size != name.size ||
                                     memcmp(axes[axis].name.data, name.data, name.size) != 0)) {
    ++axis;
  }
  if (axis == mesh->axes.count) return hlo_text_error(t, "the mesh has no axis of this name");
  ref->axis = (int64_t)axis;
  if (!hlo_text_take(t, ":")) return hlo_ok();
  ref->part = hlo_arena_alloc_zeroed(t->arena, sizeof *ref->part);
  if (!ref->part) return hlo_arena_status(t->arena);
  HLO_TRY(hlo_text_expect(t, "("));
  HLO_TRY(hlo_text_int(t, &ref->part->pre_size));
  HLO_TRY(hlo_text_expect(t, ")"));
  return hlo_text_int(t, &ref->part->size);
}

// mesh['x'=2,'y'=4] {'y'}
static hlo_status_t read_mesh_groups(hlo_text_t* t, hlo_desc_instruction_t* in) {
  hlo_desc_mesh_list_t* list = hlo_arena_alloc_zeroed(t->arena, sizeof *list);
  if (!list) return hlo_arena_status(t->arena);
  list->mesh = hlo_arena_alloc_zeroed(t->arena, sizeof *list->mesh);
  if (!list->mesh) return hlo_arena_status(t->arena);
  in->mesh_list = list;
  HLO_TRY(hlo_text_expect(t, "["));
  HLO_TRY(read_mesh(t, list->mesh));
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (list->axes.count) HLO_TRY(hlo_text_expect(t, ","));
    if (list->axes.count == HLO_TEXT_DEPTH) return hlo_text_error(t, "too many axes");
    hlo_desc_axis_ref_t* ref = hlo_text_push(t, &list->axes, sizeof *ref);
    if (!ref) return hlo_arena_status(t->arena);
    HLO_TRY(read_axis_ref(t, list->mesh, ref));
  }
  return hlo_ok();
}

static hlo_status_t read_groups(hlo_text_t* t, hlo_desc_instruction_t* in) {
  if (hlo_text_peek(t) == '[') return read_iota_groups(t, in);
  if (hlo_text_take(t, "mesh")) return read_mesh_groups(t, in);
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (in->replica_groups.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_group_t group;
    HLO_TRY(hlo_text_ints(t, &group.replica_ids));
    HLO_TRY(hlo_text_append(t, &in->replica_groups, &group, sizeof group));
  }
  return hlo_ok();
}

static hlo_status_t read_pairs(hlo_text_t* t, hlo_desc_instruction_t* in) {
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (in->source_target_pairs.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_pair_t* pair = hlo_text_push(t, &in->source_target_pairs, sizeof *pair);
    if (!pair) return hlo_arena_status(t->arena);
    HLO_TRY(hlo_text_expect(t, "{"));
    HLO_TRY(hlo_text_int(t, &pair->source));
    HLO_TRY(hlo_text_expect(t, ","));
    HLO_TRY(hlo_text_int(t, &pair->target));
    HLO_TRY(hlo_text_expect(t, "}"));
  }
  return hlo_ok();
}

// {f32[2]{0}, s32[]}
static hlo_status_t read_shapes(hlo_text_t* t, hlo_wire_array_t* shapes) {
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (shapes->count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_shape_t shape;
    HLO_TRY(hlo_text_shape(t, &shape));
    HLO_TRY(hlo_text_append(t, shapes, &shape, sizeof shape));
  }
  return hlo_ok();
}

// {{0}: (1, {}), ...}: positions in the results that share memory with positions in the operands.
static hlo_status_t read_output_aliases(hlo_text_t* t, hlo_wire_array_t* aliases) {
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (aliases->count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_output_alias_t alias = {0};
    HLO_TRY(hlo_text_ints(t, &alias.output_shape_index));
    HLO_TRY(hlo_text_expect(t, ":"));
    HLO_TRY(hlo_text_position(t, &alias.operand_index, &alias.operand_shape_index));
    HLO_TRY(hlo_text_expect(t, ")"));
    HLO_TRY(hlo_text_append(t, aliases, &alias, sizeof alias));
  }
  return hlo_ok();
}

// ---- other attributes

static hlo_status_t read_metadata(hlo_text_t* t, hlo_desc_instruction_t* in) {
  hlo_desc_metadata_t* metadata = hlo_arena_alloc_zeroed(t->arena, sizeof *metadata);
  if (!metadata) return hlo_arena_status(t->arena);
  in->metadata = metadata;
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    int64_t number = 0;
    int32_t* field = NULL;
    if (hlo_text_take(t, "op_name")) {
      HLO_TRY(hlo_text_expect(t, "="));
      HLO_TRY(hlo_text_string(t, &metadata->op_name));
      continue;
    }
    if (hlo_text_take(t, "source_file")) {
      HLO_TRY(hlo_text_expect(t, "="));
      HLO_TRY(hlo_text_string(t, &metadata->source_file));
      continue;
    }
    if (hlo_text_take(t, "source_line"))
      field = &metadata->source_line;
    else if (hlo_text_take(t, "source_column"))
      field = &metadata->source_column;
    else if (hlo_text_take(t, "stack_frame_id"))
      field = &metadata->stack_frame_id;
    hlo_wire_bytes_t name;
    if (!field) HLO_TRY(hlo_text_name(t, &name));
    HLO_TRY(hlo_text_expect(t, "="));
    if (!field) {
      HLO_TRY(hlo_text_skip_value(t));
      continue;
    }
    HLO_TRY(hlo_text_int(t, &number));
    *field = number > 0 && number < INT32_MAX ? (int32_t)number : 0;
  }
  return hlo_ok();
}

static hlo_status_t enum_word(hlo_text_t* t, hlo_enum_kind_t kind, int32_t* out_value) {
  hlo_wire_bytes_t name;
  HLO_TRY(hlo_text_name(t, &name));
  char upper[64];
  size_t length = name.size < sizeof upper ? name.size : 0;
  for (size_t i = 0; i < length; ++i) {
    char c = (char)name.data[i];
    upper[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
  }
  size_t skip = length > 4 && memcmp(upper, "RNG_", 4) == 0 ? 4 : 0;
  int64_t value = hlo_enum_case_value(kind, upper + skip, length - skip);
  if (value < 0) {
    return hlo_text_error(t, "%.*s is not a %s", name.size < 60 ? (int)name.size : 60,
                          (const char*)name.data, hlo_enum_mnemonic(kind));
  }
  *out_value = (int32_t)value;
  return hlo_ok();
}

static hlo_status_t read_algorithm(hlo_text_t* t, int32_t* out_number) {
  hlo_wire_bytes_t name;
  HLO_TRY(hlo_text_name(t, &name));
  const hlo_dot_algorithm_t* row = hlo_dot_algorithm_named((const char*)name.data, name.size);
  if (!row && !hlo_bytes_equal(name, "unset")) {
    return hlo_text_error(t, "%.*s is not an algorithm of a dot",
                          name.size < 60 ? (int)name.size : 60, (const char*)name.data);
  }
  *out_number = row ? row->number : 0;
  return hlo_ok();
}

static hlo_status_t read_precision(hlo_text_t* t, hlo_desc_instruction_t* in) {
  if (!in->precision) {
    in->precision = hlo_arena_alloc_zeroed(t->arena, sizeof *in->precision);
    if (!in->precision) return hlo_arena_status(t->arena);
  }
  hlo_desc_precision_t* precision = in->precision;
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (precision->operand_precision.count) HLO_TRY(hlo_text_expect(t, ","));
    int32_t* item = hlo_text_push(t, &precision->operand_precision, sizeof *item);
    if (!item) return hlo_arena_status(t->arena);
    HLO_TRY(enum_word(t, HLO_ENUM_PRECISION, item));
  }
  return hlo_ok();
}

hlo_status_t hlo_text_string_map(hlo_text_t* t, hlo_desc_string_map_t** out_map) {
  hlo_desc_string_map_t* map = hlo_arena_alloc_zeroed(t->arena, sizeof *map);
  if (!map) return hlo_arena_status(t->arena);
  *out_map = map;
  HLO_TRY(hlo_text_expect(t, "{"));
  while (!hlo_text_take(t, "}")) {
    if (map->map.count) HLO_TRY(hlo_text_expect(t, ","));
    hlo_desc_string_pair_t* pair = hlo_text_push(t, &map->map, sizeof *pair);
    if (!pair) return hlo_arena_status(t->arena);
    HLO_TRY(hlo_text_name(t, &pair->key));
    HLO_TRY(hlo_text_expect(t, "="));
    HLO_TRY(hlo_text_string(t, &pair->value));
  }
  return hlo_ok();
}

static hlo_status_t read_bools(hlo_text_t* t, hlo_wire_array_t* out_values) {
  HLO_TRY(hlo_text_expect(t, "{"));
  *out_values = (hlo_wire_array_t){0};
  while (!hlo_text_take(t, "}")) {
    bool value;
    if (out_values->count) HLO_TRY(hlo_text_expect(t, ","));
    HLO_TRY(read_bool(t, &value));
    HLO_TRY(hlo_text_append(t, out_values, &value, sizeof value));
  }
  return hlo_ok();
}

static hlo_status_t read_int_lists(hlo_text_t* t, hlo_wire_array_t* out_values) {
  HLO_TRY(hlo_text_expect(t, "{"));
  for (bool first = true; !hlo_text_take(t, "}"); first = false) {
    hlo_wire_array_t list;
    if (!first) HLO_TRY(hlo_text_expect(t, ","));
    HLO_TRY(hlo_text_ints(t, &list));
    for (size_t i = 0; i < list.count; ++i) {
      HLO_TRY(hlo_text_append(t, out_values, (int64_t*)list.items + i, sizeof(int64_t)));
    }
  }
  return hlo_ok();
}

static hlo_status_t read_scalar(hlo_text_t* t, const hlo_text_row_t* row, void* field) {
  int64_t value;
  hlo_wire_bytes_t word;
  switch (row->notation) {
    case HLO_NOTE_INT: return hlo_text_int(t, field);
    case HLO_NOTE_INT32:
      HLO_TRY(hlo_text_int(t, &value));
      *(int32_t*)field = value >= 0 && value <= INT32_MAX ? (int32_t)value : -1;
      return hlo_ok();
    case HLO_NOTE_BOOL: return read_bool(t, field);
    case HLO_NOTE_FLOAT: return hlo_text_float(t, field);
    case HLO_NOTE_ENUM:
    case HLO_NOTE_RNG_ENUM: return enum_word(t, (hlo_enum_kind_t)row->index, field);
    case HLO_NOTE_ALGORITHM: return read_algorithm(t, field);
    case HLO_NOTE_ORDER:
      HLO_TRY(hlo_text_name(t, &word));
      *(hlo_wire_bytes_t*)field = (hlo_wire_bytes_t){(const uint8_t*)"TOTALORDER", 10};
      return word.size == 5 ? hlo_ok() : hlo_text_error(t, "the order is not TOTAL");
    case HLO_NOTE_DIM: return hlo_text_append_int(t, field);
    case HLO_NOTE_INTS: return hlo_text_ints(t, field);
    case HLO_NOTE_BOOLS: return read_bools(t, field);
    case HLO_NOTE_INT_LISTS: return read_int_lists(t, field);
    default: return hlo_text_string(t, field);
  }
}

static hlo_status_t read_value(hlo_text_t* t, const hlo_text_row_t* row,
                               hlo_desc_instruction_t* in) {
  uint8_t* base = (uint8_t*)in;
  switch (row->notation) {
    case HLO_NOTE_CALL:
      return hlo_text_peek(t) == '{' ? read_calls(t, in) : read_call(t, in, row->index);
    case HLO_NOTE_CALLS: return read_calls(t, in);
    case HLO_NOTE_WINDOW: return read_window(t, in);
    case HLO_NOTE_DIM_LABELS: return read_dim_labels(t, in);
    case HLO_NOTE_PADDING: return read_padding(t, in);
    case HLO_NOTE_SLICE: return read_slice(t, in);
    case HLO_NOTE_GROUPS: return read_groups(t, in);
    case HLO_NOTE_PAIRS: return read_pairs(t, in);
    case HLO_NOTE_SHAPES: return read_shapes(t, (hlo_wire_array_t*)(base + row->offset));
    case HLO_NOTE_ALIASES: return read_output_aliases(t, (hlo_wire_array_t*)(base + row->offset));
    case HLO_NOTE_METADATA: return read_metadata(t, in);
    case HLO_NOTE_PRECISION: return read_precision(t, in);
    case HLO_NOTE_STRING_MAP: return hlo_text_string_map(t, &in->frontend_attributes);
    case HLO_NOTE_SKIP: return hlo_text_skip_value(t);
    default: break;
  }
  if (row->outer != HLO_TEXT_NO_OUTER) {
    void** outer = (void**)(base + row->outer);
    if (!*outer) *outer = hlo_arena_alloc_zeroed(t->arena, row->outer_bytes);
    if (!*outer) return hlo_arena_status(t->arena);
    base = *outer;
  }
  return read_scalar(t, row, base + row->offset);
}

// Finds the row of a name: that of the opcode or of the operation that it starts, else the first
// one.
static const hlo_text_row_t* find_row(hlo_wire_bytes_t name, hlo_wire_bytes_t opcode) {
  const hlo_text_row_t* first = NULL;
  hlo_wire_bytes_t started = hlo_desc_async_opcode(opcode);
  for (size_t i = 0; i < hlo_text_row_count; ++i) {
    const hlo_text_row_t* row = &hlo_text_rows[i];
    if (!hlo_bytes_equal(name, row->name)) continue;
    if (hlo_text_row_is_of(row, opcode) || hlo_text_row_is_of(row, started)) return row;
    if (!first) first = row;
  }
  return first;
}

// Dots, gathers and scatters may omit all of their lists.
static hlo_status_t fill_defaults(hlo_text_t* t, hlo_desc_instruction_t* in) {
  hlo_wire_bytes_t started = hlo_desc_async_opcode(in->opcode);
  hlo_wire_bytes_t opcode = started.size ? started : in->opcode;
  bool is_dot = hlo_bytes_equal(opcode, "dot") || hlo_bytes_equal(opcode, "ragged-dot") ||
                hlo_bytes_equal(opcode, "scaled-dot");
  if (is_dot && !in->dot) {
    in->dot = hlo_arena_alloc_zeroed(t->arena, sizeof *in->dot);
    if (!in->dot) return hlo_arena_status(t->arena);
  }
  if (hlo_bytes_equal(opcode, "cholesky") && !in->cholesky) {
    in->cholesky = hlo_arena_alloc_zeroed(t->arena, sizeof *in->cholesky);
    if (!in->cholesky) return hlo_arena_status(t->arena);
  }
  if (hlo_bytes_equal(opcode, "sort") && in->dimensions.count == 0) {
    if (!hlo_text_push(t, &in->dimensions, sizeof(int64_t))) return hlo_arena_status(t->arena);
  }
  return hlo_ok();
}

hlo_status_t hlo_text_attributes(hlo_text_t* t, hlo_desc_instruction_t* in) {
  while (hlo_text_take(t, ",")) {
    hlo_wire_bytes_t name;
    HLO_TRY(hlo_text_name(t, &name));
    HLO_TRY(hlo_text_expect(t, "="));
    const hlo_text_row_t* row = find_row(name, in->opcode);
    if (!row) {
      return hlo_unimplemented("the attribute %.*s is not supported",
                               name.size < 60 ? (int)name.size : 60, (const char*)name.data);
    }
    HLO_TRY(read_value(t, row, in));
  }
  return fill_defaults(t, in);
}
