// SPDX-License-Identifier: Apache-2.0
// Field numbers of XLA's HLO protos (xla/service/hlo.proto, xla/xla_data.proto), for the wire
// decoder.
#include "frontend/hlo/desc.h"

#define FIELD HLO_WIRE_FIELD
#define REPEATED HLO_WIRE_REPEATED
#define NESTED HLO_WIRE_NESTED
#define MANY HLO_WIRE_REPEATED_NESTED

static const hlo_wire_field_info_t tile_fields[] = {
    REPEATED(hlo_desc_tile_t, 1, INT64, dimensions),
};
static const hlo_wire_message_t tile_message = HLO_WIRE_MESSAGE(hlo_desc_tile_t, tile_fields);

static const hlo_wire_field_info_t layout_fields[] = {
    REPEATED(hlo_desc_layout_t, 1, INT64, minor_to_major),
    MANY(hlo_desc_layout_t, 6, tiles, &tile_message),
};
static const hlo_wire_message_t layout_message = HLO_WIRE_MESSAGE(hlo_desc_layout_t, layout_fields);

static const hlo_wire_message_t shape_message;
static const hlo_wire_field_info_t shape_fields[] = {
    FIELD(hlo_desc_shape_t, 2, INT32, element_type),
    REPEATED(hlo_desc_shape_t, 3, INT64, dimensions),
    MANY(hlo_desc_shape_t, 4, tuple_shapes, &shape_message),
    NESTED(hlo_desc_shape_t, 5, layout, &layout_message),
    REPEATED(hlo_desc_shape_t, 6, BOOL, is_dynamic_dimension),
};
static const hlo_wire_message_t shape_message = HLO_WIRE_MESSAGE(hlo_desc_shape_t, shape_fields);

static const hlo_wire_message_t literal_message;
static const hlo_wire_field_info_t literal_fields[] = {
    NESTED(hlo_desc_literal_t, 1, shape, &shape_message),
    REPEATED(hlo_desc_literal_t, 2, BOOL, preds),
    FIELD(hlo_desc_literal_t, 3, BYTES, u8s),
    REPEATED(hlo_desc_literal_t, 4, INT32, s32s),
    REPEATED(hlo_desc_literal_t, 5, INT64, s64s),
    REPEATED(hlo_desc_literal_t, 6, UINT32, u32s),
    REPEATED(hlo_desc_literal_t, 7, UINT64, u64s),
    REPEATED(hlo_desc_literal_t, 8, FLOAT, f32s),
    REPEATED(hlo_desc_literal_t, 9, DOUBLE, f64s),
    MANY(hlo_desc_literal_t, 10, tuple_literals, &literal_message),
    FIELD(hlo_desc_literal_t, 11, BYTES, f16s),
    REPEATED(hlo_desc_literal_t, 12, FLOAT, c64s),
    FIELD(hlo_desc_literal_t, 13, BYTES, bf16s),
    FIELD(hlo_desc_literal_t, 15, BYTES, s8s),
    FIELD(hlo_desc_literal_t, 16, BYTES, u16s),
    FIELD(hlo_desc_literal_t, 17, BYTES, s16s),
    REPEATED(hlo_desc_literal_t, 18, DOUBLE, c128s),
    FIELD(hlo_desc_literal_t, 19, BYTES, f8e5m2s),
    FIELD(hlo_desc_literal_t, 20, BYTES, f8e4m3fns),
    FIELD(hlo_desc_literal_t, 21, BYTES, s4s),
    FIELD(hlo_desc_literal_t, 22, BYTES, u4s),
    FIELD(hlo_desc_literal_t, 23, BYTES, f8e4m3b11fnuzs),
    FIELD(hlo_desc_literal_t, 24, BYTES, f8e5m2fnuzs),
    FIELD(hlo_desc_literal_t, 25, BYTES, f8e4m3fnuzs),
    FIELD(hlo_desc_literal_t, 26, BYTES, s2s),
    FIELD(hlo_desc_literal_t, 27, BYTES, u2s),
    FIELD(hlo_desc_literal_t, 28, BYTES, f8e4m3s),
    FIELD(hlo_desc_literal_t, 29, BYTES, f8e3m4s),
    FIELD(hlo_desc_literal_t, 32, BYTES, f4e2m1fns),
    FIELD(hlo_desc_literal_t, 33, BYTES, f8e8m0fnus),
    FIELD(hlo_desc_literal_t, 35, BYTES, f6e3m2fns),
    FIELD(hlo_desc_literal_t, 36, BYTES, f6e2m3fns),
};
static const hlo_wire_message_t literal_message =
    HLO_WIRE_MESSAGE(hlo_desc_literal_t, literal_fields);

static const hlo_wire_field_info_t window_dim_fields[] = {
    FIELD(hlo_desc_window_dim_t, 1, INT64, size),
    FIELD(hlo_desc_window_dim_t, 2, INT64, stride),
    FIELD(hlo_desc_window_dim_t, 3, INT64, padding_low),
    FIELD(hlo_desc_window_dim_t, 4, INT64, padding_high),
    FIELD(hlo_desc_window_dim_t, 5, INT64, window_dilation),
    FIELD(hlo_desc_window_dim_t, 6, INT64, base_dilation),
    FIELD(hlo_desc_window_dim_t, 7, BOOL, window_reversal),
};
static const hlo_wire_message_t window_dim_message =
    HLO_WIRE_MESSAGE(hlo_desc_window_dim_t, window_dim_fields);
static const hlo_wire_field_info_t window_fields[] = {
    MANY(hlo_desc_window_t, 1, dimensions, &window_dim_message),
};
static const hlo_wire_message_t window_message = HLO_WIRE_MESSAGE(hlo_desc_window_t, window_fields);

static const hlo_wire_field_info_t conv_fields[] = {
    FIELD(hlo_desc_conv_t, 3, INT64, kernel_input_feature_dimension),
    FIELD(hlo_desc_conv_t, 4, INT64, kernel_output_feature_dimension),
    REPEATED(hlo_desc_conv_t, 6, INT64, kernel_spatial_dimensions),
    FIELD(hlo_desc_conv_t, 7, INT64, input_batch_dimension),
    FIELD(hlo_desc_conv_t, 8, INT64, input_feature_dimension),
    FIELD(hlo_desc_conv_t, 9, INT64, output_batch_dimension),
    FIELD(hlo_desc_conv_t, 10, INT64, output_feature_dimension),
    REPEATED(hlo_desc_conv_t, 11, INT64, input_spatial_dimensions),
    REPEATED(hlo_desc_conv_t, 12, INT64, output_spatial_dimensions),
};
static const hlo_wire_message_t conv_message = HLO_WIRE_MESSAGE(hlo_desc_conv_t, conv_fields);

static const hlo_wire_field_info_t slice_dim_fields[] = {
    FIELD(hlo_desc_slice_dim_t, 1, INT64, start),
    FIELD(hlo_desc_slice_dim_t, 2, INT64, limit),
    FIELD(hlo_desc_slice_dim_t, 3, INT64, stride),
};
static const hlo_wire_message_t slice_dim_message =
    HLO_WIRE_MESSAGE(hlo_desc_slice_dim_t, slice_dim_fields);

static const hlo_wire_field_info_t pad_dim_fields[] = {
    FIELD(hlo_desc_pad_dim_t, 1, INT64, edge_padding_low),
    FIELD(hlo_desc_pad_dim_t, 2, INT64, edge_padding_high),
    FIELD(hlo_desc_pad_dim_t, 3, INT64, interior_padding),
};
static const hlo_wire_message_t pad_dim_message =
    HLO_WIRE_MESSAGE(hlo_desc_pad_dim_t, pad_dim_fields);
static const hlo_wire_field_info_t padding_fields[] = {
    MANY(hlo_desc_padding_t, 1, dimensions, &pad_dim_message),
};
static const hlo_wire_message_t padding_message =
    HLO_WIRE_MESSAGE(hlo_desc_padding_t, padding_fields);

static const hlo_wire_field_info_t dot_fields[] = {
    REPEATED(hlo_desc_dot_t, 1, INT64, lhs_contracting_dimensions),
    REPEATED(hlo_desc_dot_t, 2, INT64, rhs_contracting_dimensions),
    REPEATED(hlo_desc_dot_t, 3, INT64, lhs_batch_dimensions),
    REPEATED(hlo_desc_dot_t, 4, INT64, rhs_batch_dimensions),
};
static const hlo_wire_message_t dot_message = HLO_WIRE_MESSAGE(hlo_desc_dot_t, dot_fields);

static const hlo_wire_field_info_t ragged_fields[] = {
    NESTED(hlo_desc_ragged_t, 1, dot, &dot_message),
    REPEATED(hlo_desc_ragged_t, 2, INT64, lhs_ragged_dimensions),
    REPEATED(hlo_desc_ragged_t, 3, INT64, rhs_group_dimensions),
};
static const hlo_wire_message_t ragged_message = HLO_WIRE_MESSAGE(hlo_desc_ragged_t, ragged_fields);

static const hlo_wire_field_info_t gather_fields[] = {
    REPEATED(hlo_desc_gather_t, 1, INT64, offset_dims),
    REPEATED(hlo_desc_gather_t, 2, INT64, collapsed_slice_dims),
    REPEATED(hlo_desc_gather_t, 3, INT64, start_index_map),
    FIELD(hlo_desc_gather_t, 4, INT64, index_vector_dim),
    REPEATED(hlo_desc_gather_t, 5, INT64, operand_batching_dims),
    REPEATED(hlo_desc_gather_t, 6, INT64, start_indices_batching_dims),
};
static const hlo_wire_message_t gather_message = HLO_WIRE_MESSAGE(hlo_desc_gather_t, gather_fields);

static const hlo_wire_field_info_t scatter_fields[] = {
    REPEATED(hlo_desc_scatter_t, 1, INT64, update_window_dims),
    REPEATED(hlo_desc_scatter_t, 2, INT64, inserted_window_dims),
    REPEATED(hlo_desc_scatter_t, 3, INT64, scatter_dims_to_operand_dims),
    FIELD(hlo_desc_scatter_t, 4, INT64, index_vector_dim),
    REPEATED(hlo_desc_scatter_t, 5, INT64, input_batching_dims),
    REPEATED(hlo_desc_scatter_t, 6, INT64, scatter_indices_batching_dims),
};
static const hlo_wire_message_t scatter_message =
    HLO_WIRE_MESSAGE(hlo_desc_scatter_t, scatter_fields);

static const hlo_wire_field_info_t group_fields[] = {
    REPEATED(hlo_desc_group_t, 1, INT64, replica_ids),
};
static const hlo_wire_message_t group_message = HLO_WIRE_MESSAGE(hlo_desc_group_t, group_fields);
static const hlo_wire_field_info_t device_list_fields[] = {
    MANY(hlo_desc_device_list_t, 1, replica_groups, &group_message),
};
static const hlo_wire_message_t device_list_message =
    HLO_WIRE_MESSAGE(hlo_desc_device_list_t, device_list_fields);
static const hlo_wire_field_info_t iota_list_fields[] = {
    FIELD(hlo_desc_iota_list_t, 1, INT64, num_replica_groups),
    FIELD(hlo_desc_iota_list_t, 2, INT64, num_devices_per_group),
    REPEATED(hlo_desc_iota_list_t, 3, INT64, iota_reshape_dims),
    REPEATED(hlo_desc_iota_list_t, 4, INT32, iota_transpose_perm),
};
static const hlo_wire_message_t iota_list_message =
    HLO_WIRE_MESSAGE(hlo_desc_iota_list_t, iota_list_fields);
static const hlo_wire_field_info_t mesh_axis_fields[] = {
    FIELD(hlo_desc_mesh_axis_t, 1, BYTES, name),
    FIELD(hlo_desc_mesh_axis_t, 2, INT64, size),
};
static const hlo_wire_message_t mesh_axis_message =
    HLO_WIRE_MESSAGE(hlo_desc_mesh_axis_t, mesh_axis_fields);
static const hlo_wire_field_info_t iota_fields[] = {
    REPEATED(hlo_desc_iota_t, 1, INT64, reshape_dims),
    REPEATED(hlo_desc_iota_t, 2, INT64, transpose_perm),
};
static const hlo_wire_message_t iota_message = HLO_WIRE_MESSAGE(hlo_desc_iota_t, iota_fields);
static const hlo_wire_field_info_t mesh_fields[] = {
    MANY(hlo_desc_mesh_t, 1, axes, &mesh_axis_message),
    REPEATED(hlo_desc_mesh_t, 2, INT64, device_ids),
    NESTED(hlo_desc_mesh_t, 3, iota, &iota_message),
};
static const hlo_wire_message_t mesh_message = HLO_WIRE_MESSAGE(hlo_desc_mesh_t, mesh_fields);
static const hlo_wire_field_info_t sub_axis_fields[] = {
    FIELD(hlo_desc_sub_axis_t, 1, INT64, pre_size),
    FIELD(hlo_desc_sub_axis_t, 2, INT64, size),
};
static const hlo_wire_message_t sub_axis_message =
    HLO_WIRE_MESSAGE(hlo_desc_sub_axis_t, sub_axis_fields);
static const hlo_wire_field_info_t axis_ref_fields[] = {
    FIELD(hlo_desc_axis_ref_t, 1, INT64, axis),
    NESTED(hlo_desc_axis_ref_t, 2, part, &sub_axis_message),
};
static const hlo_wire_message_t axis_ref_message =
    HLO_WIRE_MESSAGE(hlo_desc_axis_ref_t, axis_ref_fields);
static const hlo_wire_field_info_t mesh_list_fields[] = {
    NESTED(hlo_desc_mesh_list_t, 1, mesh, &mesh_message),
    MANY(hlo_desc_mesh_list_t, 2, axes, &axis_ref_message),
};
static const hlo_wire_message_t mesh_list_message =
    HLO_WIRE_MESSAGE(hlo_desc_mesh_list_t, mesh_list_fields);

static const hlo_wire_field_info_t pair_fields[] = {
    FIELD(hlo_desc_pair_t, 1, INT64, source),
    FIELD(hlo_desc_pair_t, 2, INT64, target),
};
static const hlo_wire_message_t pair_message = HLO_WIRE_MESSAGE(hlo_desc_pair_t, pair_fields);

static const hlo_wire_field_info_t triangular_fields[] = {
    FIELD(hlo_desc_triangular_t, 1, BOOL, left_side),
    FIELD(hlo_desc_triangular_t, 2, BOOL, lower),
    FIELD(hlo_desc_triangular_t, 3, BOOL, unit_diagonal),
    FIELD(hlo_desc_triangular_t, 4, INT32, transpose_a),
};
static const hlo_wire_message_t triangular_message =
    HLO_WIRE_MESSAGE(hlo_desc_triangular_t, triangular_fields);
static const hlo_wire_field_info_t cholesky_fields[] = {
    FIELD(hlo_desc_cholesky_t, 1, BOOL, lower),
};
static const hlo_wire_message_t cholesky_message =
    HLO_WIRE_MESSAGE(hlo_desc_cholesky_t, cholesky_fields);
static const hlo_wire_field_info_t precision_fields[] = {
    REPEATED(hlo_desc_precision_t, 1, INT32, operand_precision),
    FIELD(hlo_desc_precision_t, 2, INT32, algorithm),
};
static const hlo_wire_message_t precision_message =
    HLO_WIRE_MESSAGE(hlo_desc_precision_t, precision_fields);

static const hlo_wire_field_info_t string_pair_fields[] = {
    FIELD(hlo_desc_string_pair_t, 1, BYTES, key),
    FIELD(hlo_desc_string_pair_t, 2, BYTES, value),
};
static const hlo_wire_message_t string_pair_message =
    HLO_WIRE_MESSAGE(hlo_desc_string_pair_t, string_pair_fields);
static const hlo_wire_field_info_t string_map_fields[] = {
    MANY(hlo_desc_string_map_t, 1, map, &string_pair_message),
};
static const hlo_wire_message_t string_map_message =
    HLO_WIRE_MESSAGE(hlo_desc_string_map_t, string_map_fields);

static const hlo_wire_field_info_t output_alias_fields[] = {
    REPEATED(hlo_desc_output_alias_t, 1, INT64, output_shape_index),
    FIELD(hlo_desc_output_alias_t, 2, INT64, operand_index),
    REPEATED(hlo_desc_output_alias_t, 3, INT64, operand_shape_index),
};
static const hlo_wire_message_t output_alias_message =
    HLO_WIRE_MESSAGE(hlo_desc_output_alias_t, output_alias_fields);

static const hlo_wire_field_info_t program_shape_fields[] = {
    MANY(hlo_desc_program_shape_t, 1, parameters, &shape_message),
    NESTED(hlo_desc_program_shape_t, 2, result, &shape_message),
    REPEATED(hlo_desc_program_shape_t, 3, BYTES, parameter_names),
};
static const hlo_wire_message_t program_shape_message =
    HLO_WIRE_MESSAGE(hlo_desc_program_shape_t, program_shape_fields);

static const hlo_wire_field_info_t metadata_fields[] = {
    FIELD(hlo_desc_metadata_t, 2, BYTES, op_name),
    FIELD(hlo_desc_metadata_t, 3, BYTES, source_file),
    FIELD(hlo_desc_metadata_t, 4, INT32, source_line),
    FIELD(hlo_desc_metadata_t, 15, INT32, stack_frame_id),
    FIELD(hlo_desc_metadata_t, 18, INT32, source_column),
};
static const hlo_wire_message_t metadata_message =
    HLO_WIRE_MESSAGE(hlo_desc_metadata_t, metadata_fields);

static const hlo_wire_field_info_t instruction_fields[] = {
    FIELD(hlo_desc_instruction_t, 1, BYTES, name),
    FIELD(hlo_desc_instruction_t, 2, BYTES, opcode),
    NESTED(hlo_desc_instruction_t, 3, shape, &shape_message),
    NESTED(hlo_desc_instruction_t, 7, metadata, &metadata_message),
    NESTED(hlo_desc_instruction_t, 8, literal, &literal_message),
    FIELD(hlo_desc_instruction_t, 9, INT64, parameter_number),
    FIELD(hlo_desc_instruction_t, 11, BYTES, fusion_kind),
    FIELD(hlo_desc_instruction_t, 13, INT64, tuple_index),
    REPEATED(hlo_desc_instruction_t, 14, INT64, dimensions),
    NESTED(hlo_desc_instruction_t, 15, window, &window_message),
    NESTED(hlo_desc_instruction_t, 16, conv, &conv_message),
    MANY(hlo_desc_instruction_t, 17, slice_dimensions, &slice_dim_message),
    FIELD(hlo_desc_instruction_t, 18, INT32, exponent_bits),
    FIELD(hlo_desc_instruction_t, 19, INT32, mantissa_bits),
    REPEATED(hlo_desc_instruction_t, 20, INT64, dynamic_slice_sizes),
    NESTED(hlo_desc_instruction_t, 21, padding_config, &padding_message),
    FIELD(hlo_desc_instruction_t, 22, BYTES, outfeed_config),
    FIELD(hlo_desc_instruction_t, 23, INT32, distribution),
    FIELD(hlo_desc_instruction_t, 24, FLOAT, epsilon),
    FIELD(hlo_desc_instruction_t, 25, INT64, feature_index),
    FIELD(hlo_desc_instruction_t, 26, INT64, channel_id),
    FIELD(hlo_desc_instruction_t, 27, BYTES, infeed_config),
    FIELD(hlo_desc_instruction_t, 28, BYTES, custom_call_target),
    NESTED(hlo_desc_instruction_t, 29, outfeed_shape, &shape_message),
    NESTED(hlo_desc_instruction_t, 30, dot, &dot_message),
    FIELD(hlo_desc_instruction_t, 31, INT32, fft_type),
    REPEATED(hlo_desc_instruction_t, 32, INT64, fft_length),
    NESTED(hlo_desc_instruction_t, 33, gather, &gather_message),
    REPEATED(hlo_desc_instruction_t, 34, INT64, gather_slice_sizes),
    FIELD(hlo_desc_instruction_t, 35, INT64, id),
    REPEATED(hlo_desc_instruction_t, 36, INT64, operand_ids),
    REPEATED(hlo_desc_instruction_t, 38, INT64, called_computation_ids),
    FIELD(hlo_desc_instruction_t, 43, BYTES, backend_config),
    FIELD(hlo_desc_instruction_t, 47, BOOL, is_host_transfer),
    NESTED(hlo_desc_instruction_t, 48, scatter, &scatter_message),
    MANY(hlo_desc_instruction_t, 49, replica_groups, &group_message),
    FIELD(hlo_desc_instruction_t, 50, INT64, feature_group_count),
    NESTED(hlo_desc_instruction_t, 51, precision, &precision_message),
    MANY(hlo_desc_instruction_t, 52, source_target_pairs, &pair_message),
    FIELD(hlo_desc_instruction_t, 56, BOOL, constrain_layout),
    MANY(hlo_desc_instruction_t, 57, operand_shapes, &shape_message),
    FIELD(hlo_desc_instruction_t, 58, INT64, batch_group_count),
    NESTED(hlo_desc_instruction_t, 59, triangular, &triangular_message),
    FIELD(hlo_desc_instruction_t, 60, BOOL, is_stable),
    NESTED(hlo_desc_instruction_t, 62, cholesky, &cholesky_message),
    FIELD(hlo_desc_instruction_t, 63, BYTES, comparison_direction),
    FIELD(hlo_desc_instruction_t, 65, BOOL, custom_call_has_side_effect),
    FIELD(hlo_desc_instruction_t, 67, BOOL, indices_are_sorted),
    NESTED(hlo_desc_instruction_t, 68, frontend_attributes, &string_map_message),
    FIELD(hlo_desc_instruction_t, 69, BOOL, unique_indices),
    FIELD(hlo_desc_instruction_t, 70, INT32, rng_algorithm),
    FIELD(hlo_desc_instruction_t, 71, BOOL, use_global_device_ids),
    FIELD(hlo_desc_instruction_t, 72, BYTES, comparison_type),
    MANY(hlo_desc_instruction_t, 74, output_aliases, &output_alias_message),
    FIELD(hlo_desc_instruction_t, 77, INT32, custom_call_api_version),
    FIELD(hlo_desc_instruction_t, 81, INT64, k),
    FIELD(hlo_desc_instruction_t, 85, BOOL, largest),
    NESTED(hlo_desc_instruction_t, 87, device_list, &device_list_message),
    FIELD(hlo_desc_instruction_t, 89, BOOL, is_composite),
    NESTED(hlo_desc_instruction_t, 90, ragged, &ragged_message),
    NESTED(hlo_desc_instruction_t, 92, iota_list, &iota_list_message),
    NESTED(hlo_desc_instruction_t, 93, mesh_list, &mesh_list_message),
    FIELD(hlo_desc_instruction_t, 100, BOOL, has_dynamic_root),
};
static const hlo_wire_message_t instruction_message =
    HLO_WIRE_MESSAGE(hlo_desc_instruction_t, instruction_fields);

static const hlo_wire_field_info_t computation_fields[] = {
    FIELD(hlo_desc_computation_t, 1, BYTES, name),
    MANY(hlo_desc_computation_t, 2, instructions, &instruction_message),
    NESTED(hlo_desc_computation_t, 4, shape, &program_shape_message),
    FIELD(hlo_desc_computation_t, 5, INT64, id),
    FIELD(hlo_desc_computation_t, 6, INT64, root_id),
};
static const hlo_wire_message_t computation_message =
    HLO_WIRE_SIZED_MESSAGE(hlo_desc_computation_t, computation_fields, source_bytes);

static const hlo_wire_field_info_t alias_fields[] = {
    REPEATED(hlo_desc_alias_t, 1, INT64, output_shape_index),
    FIELD(hlo_desc_alias_t, 2, INT64, parameter_number),
    REPEATED(hlo_desc_alias_t, 3, INT64, parameter_shape_index),
    FIELD(hlo_desc_alias_t, 4, INT32, kind),
};
static const hlo_wire_message_t alias_message = HLO_WIRE_MESSAGE(hlo_desc_alias_t, alias_fields);
static const hlo_wire_field_info_t aliases_fields[] = {
    MANY(hlo_desc_aliases_t, 1, entries, &alias_message),
};
static const hlo_wire_message_t aliases_message =
    HLO_WIRE_MESSAGE(hlo_desc_aliases_t, aliases_fields);
static const hlo_wire_field_info_t donor_fields[] = {
    FIELD(hlo_desc_donor_t, 1, INT64, parameter_number),
    REPEATED(hlo_desc_donor_t, 2, INT64, parameter_shape_index),
};
static const hlo_wire_message_t donor_message = HLO_WIRE_MESSAGE(hlo_desc_donor_t, donor_fields);
static const hlo_wire_field_info_t donors_fields[] = {
    MANY(hlo_desc_donors_t, 1, entries, &donor_message),
};
static const hlo_wire_message_t donors_message = HLO_WIRE_MESSAGE(hlo_desc_donors_t, donors_fields);

static const hlo_wire_field_info_t file_location_fields[] = {
    FIELD(hlo_desc_file_location_t, 1, INT32, file_name_id),
    FIELD(hlo_desc_file_location_t, 2, INT32, function_name_id),
    FIELD(hlo_desc_file_location_t, 3, INT32, line),
    FIELD(hlo_desc_file_location_t, 4, INT32, column),
};
static const hlo_wire_message_t file_location_message =
    HLO_WIRE_MESSAGE(hlo_desc_file_location_t, file_location_fields);
static const hlo_wire_field_info_t frame_fields[] = {
    FIELD(hlo_desc_frame_t, 1, INT32, file_location_id),
    FIELD(hlo_desc_frame_t, 2, INT32, parent_frame_id),
};
static const hlo_wire_message_t frame_message = HLO_WIRE_MESSAGE(hlo_desc_frame_t, frame_fields);
static const hlo_wire_field_info_t frames_fields[] = {
    REPEATED(hlo_desc_frames_t, 1, BYTES, file_names),
    REPEATED(hlo_desc_frames_t, 2, BYTES, function_names),
    MANY(hlo_desc_frames_t, 3, file_locations, &file_location_message),
    MANY(hlo_desc_frames_t, 4, stack_frames, &frame_message),
};
static const hlo_wire_message_t frames_message = HLO_WIRE_MESSAGE(hlo_desc_frames_t, frames_fields);

static const hlo_wire_field_info_t module_fields[] = {
    FIELD(hlo_desc_module_t, 1, BYTES, name),
    FIELD(hlo_desc_module_t, 2, BYTES, entry_computation_name),
    MANY(hlo_desc_module_t, 3, computations, &computation_message),
    NESTED(hlo_desc_module_t, 4, shape, &program_shape_message),
    FIELD(hlo_desc_module_t, 6, INT64, entry_computation_id),
    NESTED(hlo_desc_module_t, 8, input_output_alias, &aliases_message),
    NESTED(hlo_desc_module_t, 17, frames, &frames_message),
    NESTED(hlo_desc_module_t, 18, buffer_donor, &donors_message),
    NESTED(hlo_desc_module_t, 19, frontend_attributes, &string_map_message),
};
const hlo_wire_message_t hlo_desc_module_message =
    HLO_WIRE_MESSAGE(hlo_desc_module_t, module_fields);

static const hlo_wire_field_info_t wrapper_fields[] = {
    NESTED(hlo_desc_wrapper_t, 1, hlo_module, &hlo_desc_module_message),
};
const hlo_wire_message_t hlo_desc_wrapper_message =
    HLO_WIRE_MESSAGE(hlo_desc_wrapper_t, wrapper_fields);

static const hlo_wire_field_info_t config_fields[] = {
    NESTED(hlo_desc_config_t, 1, entry_computation_layout, &program_shape_message),
    FIELD(hlo_desc_config_t, 4, INT64, replica_count),
    FIELD(hlo_desc_config_t, 5, INT64, num_partitions),
    FIELD(hlo_desc_config_t, 7, BOOL, use_spmd_partitioning),
};
static const hlo_wire_message_t config_message = HLO_WIRE_MESSAGE(hlo_desc_config_t, config_fields);

static const hlo_wire_field_info_t with_config_fields[] = {
    NESTED(hlo_desc_wrapper_t, 1, hlo_module, &hlo_desc_module_message),
    NESTED(hlo_desc_wrapper_t, 2, config, &config_message),
};
const hlo_wire_message_t hlo_desc_with_config_message =
    HLO_WIRE_MESSAGE(hlo_desc_wrapper_t, with_config_fields);

static const uint8_t primitive_types[HLO_DTYPE_COUNT] = {
    [HLO_DTYPE_PRED] = 1,
    [HLO_DTYPE_S2] = 26,
    [HLO_DTYPE_S4] = 21,
    [HLO_DTYPE_S8] = 2,
    [HLO_DTYPE_S16] = 3,
    [HLO_DTYPE_S32] = 4,
    [HLO_DTYPE_S64] = 5,
    [HLO_DTYPE_U2] = 27,
    [HLO_DTYPE_U4] = 22,
    [HLO_DTYPE_U8] = 6,
    [HLO_DTYPE_U16] = 7,
    [HLO_DTYPE_U32] = 8,
    [HLO_DTYPE_U64] = 9,
    [HLO_DTYPE_F16] = 10,
    [HLO_DTYPE_F32] = 11,
    [HLO_DTYPE_F64] = 12,
    [HLO_DTYPE_C64] = 15,
    [HLO_DTYPE_BF16] = 16,
    [HLO_DTYPE_C128] = 18,
    [HLO_DTYPE_F8E5M2] = 19,
    [HLO_DTYPE_F8E4M3FN] = 20,
    [HLO_DTYPE_F8E4M3] = 28,
    [HLO_DTYPE_F8E4M3B11FNUZ] = 23,
    [HLO_DTYPE_F8E5M2FNUZ] = 24,
    [HLO_DTYPE_F8E4M3FNUZ] = 25,
    [HLO_DTYPE_F8E3M4] = 29,
    [HLO_DTYPE_F4E2M1FN] = 32,
    [HLO_DTYPE_F8E8M0FNU] = 33,
    [HLO_DTYPE_F6E3M2FN] = 35,
    [HLO_DTYPE_F6E2M3FN] = 36,
    [HLO_DTYPE_TOKEN] = HLO_DESC_TOKEN,
};

hlo_dtype_t hlo_desc_dtype(int32_t primitive_type) {
  for (int d = 0; d < HLO_DTYPE_COUNT && primitive_type > 0; ++d) {
    if (primitive_types[d] == primitive_type) return (hlo_dtype_t)d;
  }
  return HLO_DTYPE_INVALID;
}

int32_t hlo_desc_primitive_type(hlo_dtype_t dtype) {
  return (unsigned)dtype < HLO_DTYPE_COUNT ? primitive_types[dtype] : 0;
}
