// SPDX-License-Identifier: Apache-2.0
// Descriptions of HLO modules: C structs with the supported fields of XLA's HloModuleProto. The
// proto reader decodes into them, the text reader fills them from text, and build.c converts them
// to IR.
#ifndef HLO_FRONTEND_HLO_DESC_H_
#define HLO_FRONTEND_HLO_DESC_H_

#include "base/dtype.h"
#include "base/wire.h"
#include "ir/literal.h"

// Values of PrimitiveType that are not element types.
enum {
  HLO_DESC_TUPLE = 13,
  HLO_DESC_OPAQUE = 14,
  HLO_DESC_TOKEN = 17,
  HLO_DESC_BUFFER = 34,  // of the only array in tuple_shapes; "b(f32[4])" in text
};

// An unbounded dimension ("?" in text), as protos write it.
#define HLO_DESC_UNBOUNDED INT64_MIN

typedef struct hlo_desc_tile {
  hlo_wire_array_t dimensions;  // int64_t
} hlo_desc_tile_t;

typedef struct hlo_desc_layout {
  hlo_wire_array_t minor_to_major;  // int64_t
  hlo_wire_array_t tiles;           // hlo_desc_tile_t; from protos
  hlo_wire_bytes_t properties;      // from text: tiles and more as written, "T(8,128)S(1)"
} hlo_desc_layout_t;

typedef struct hlo_desc_shape {
  int32_t element_type;
  hlo_wire_array_t dimensions;            // int64_t
  hlo_wire_array_t tuple_shapes;          // hlo_desc_shape_t; of a buffer: its array
  hlo_desc_layout_t* layout;              // NULL: row-major
  hlo_wire_array_t is_dynamic_dimension;  // bool
  uint32_t first_leaf;                    // set by hlo_desc_number_leaves()
} hlo_desc_shape_t;

typedef struct hlo_desc_literal {
  hlo_desc_shape_t* shape;
  hlo_wire_array_t preds, s32s, s64s, u32s, u64s, f32s, f64s, c64s, c128s;
  hlo_wire_array_t tuple_literals;
  hlo_wire_bytes_t u8s, f16s, bf16s, s8s, u16s, s16s, s4s, u4s, s2s, u2s;
  hlo_wire_bytes_t f8e5m2s, f8e4m3fns, f8e4m3b11fnuzs, f8e5m2fnuzs, f8e4m3fnuzs, f8e4m3s, f8e3m4s,
      f4e2m1fns, f8e8m0fnus, f6e3m2fns, f6e2m3fns;
  const void* elements;          // from text: dense row-major elements as literals store them
  hlo_elided_t elided;           // how to replace elements that the text omits
  uint64_t seed;                 // of random elements
  const struct hlo_attr* value;  // created from this description on first use
} hlo_desc_literal_t;

typedef struct hlo_desc_window_dim {
  int64_t size, stride, padding_low, padding_high, window_dilation, base_dilation;
  bool window_reversal;
} hlo_desc_window_dim_t;

typedef struct hlo_desc_window {
  hlo_wire_array_t dimensions;  // hlo_desc_window_dim_t
} hlo_desc_window_t;

typedef struct hlo_desc_conv {
  int64_t input_batch_dimension, input_feature_dimension;
  int64_t kernel_input_feature_dimension, kernel_output_feature_dimension;
  int64_t output_batch_dimension, output_feature_dimension;
  hlo_wire_array_t input_spatial_dimensions, kernel_spatial_dimensions, output_spatial_dimensions;
} hlo_desc_conv_t;

typedef struct hlo_desc_slice_dim {
  int64_t start, limit, stride;
} hlo_desc_slice_dim_t;

typedef struct hlo_desc_pad_dim {
  int64_t edge_padding_low, edge_padding_high, interior_padding;
} hlo_desc_pad_dim_t;

typedef struct hlo_desc_padding {
  hlo_wire_array_t dimensions;  // hlo_desc_pad_dim_t
} hlo_desc_padding_t;

typedef struct hlo_desc_dot {
  hlo_wire_array_t lhs_contracting_dimensions, rhs_contracting_dimensions, lhs_batch_dimensions,
      rhs_batch_dimensions;
} hlo_desc_dot_t;

typedef struct hlo_desc_ragged {
  hlo_desc_dot_t* dot;  // in protos; text and builder store it in the instruction
  hlo_wire_array_t lhs_ragged_dimensions, rhs_group_dimensions;
} hlo_desc_ragged_t;

typedef struct hlo_desc_gather {
  hlo_wire_array_t offset_dims, collapsed_slice_dims, start_index_map;
  int64_t index_vector_dim;
  hlo_wire_array_t operand_batching_dims, start_indices_batching_dims;
} hlo_desc_gather_t;

typedef struct hlo_desc_scatter {
  hlo_wire_array_t update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  int64_t index_vector_dim;
  hlo_wire_array_t input_batching_dims, scatter_indices_batching_dims;
} hlo_desc_scatter_t;

typedef struct hlo_desc_group {
  hlo_wire_array_t replica_ids;
} hlo_desc_group_t;

typedef struct hlo_desc_device_list {
  hlo_wire_array_t replica_groups;  // hlo_desc_group_t
} hlo_desc_device_list_t;

typedef struct hlo_desc_iota_list {
  int64_t num_replica_groups, num_devices_per_group;
  hlo_wire_array_t iota_reshape_dims;    // int64_t
  hlo_wire_array_t iota_transpose_perm;  // int32_t
} hlo_desc_iota_list_t;

typedef struct hlo_desc_mesh_axis {
  hlo_wire_bytes_t name;
  int64_t size;
} hlo_desc_mesh_axis_t;

typedef struct hlo_desc_iota {
  hlo_wire_array_t reshape_dims, transpose_perm;  // int64_t
} hlo_desc_iota_t;

// Devices in row-major order of the axes: those listed, a reshaped and transposed iota, or 0, 1 ...
typedef struct hlo_desc_mesh {
  hlo_wire_array_t axes;        // hlo_desc_mesh_axis_t
  hlo_wire_array_t device_ids;  // int64_t
  hlo_desc_iota_t* iota;
} hlo_desc_mesh_t;

typedef struct hlo_desc_sub_axis {
  int64_t pre_size, size;
} hlo_desc_sub_axis_t;

typedef struct hlo_desc_axis_ref {
  int64_t axis;
  hlo_desc_sub_axis_t* part;  // NULL: the whole axis
} hlo_desc_axis_ref_t;

// Devices whose coordinates differ only in the listed axes form a group.
typedef struct hlo_desc_mesh_list {
  hlo_desc_mesh_t* mesh;
  hlo_wire_array_t axes;  // hlo_desc_axis_ref_t
} hlo_desc_mesh_list_t;

typedef struct hlo_desc_pair {
  int64_t source, target;
} hlo_desc_pair_t;

typedef struct hlo_desc_triangular {
  bool left_side, lower, unit_diagonal;
  int32_t transpose_a;
} hlo_desc_triangular_t;

typedef struct hlo_desc_cholesky {
  bool lower;
} hlo_desc_cholesky_t;

typedef struct hlo_desc_precision {
  hlo_wire_array_t operand_precision;  // int32_t
  int32_t algorithm;
} hlo_desc_precision_t;

typedef struct hlo_desc_string_pair {
  hlo_wire_bytes_t key, value;
} hlo_desc_string_pair_t;

typedef struct hlo_desc_string_map {
  hlo_wire_array_t map;  // hlo_desc_string_pair_t
} hlo_desc_string_map_t;

typedef struct hlo_desc_metadata {
  hlo_wire_bytes_t op_name, source_file;
  int32_t source_line, source_column, stack_frame_id;
} hlo_desc_metadata_t;

typedef struct hlo_desc_output_alias {
  hlo_wire_array_t output_shape_index;
  int64_t operand_index;
  hlo_wire_array_t operand_shape_index;
} hlo_desc_output_alias_t;

typedef struct hlo_desc_instruction {
  hlo_wire_bytes_t name, opcode;
  hlo_desc_shape_t* shape;
  hlo_desc_metadata_t* metadata;
  hlo_desc_literal_t* literal;
  int64_t parameter_number;
  hlo_wire_bytes_t fusion_kind;
  int64_t tuple_index;
  hlo_wire_array_t dimensions;
  hlo_desc_window_t* window;
  hlo_desc_conv_t* conv;
  hlo_wire_array_t slice_dimensions;  // hlo_desc_slice_dim_t
  int32_t exponent_bits, mantissa_bits;
  hlo_wire_array_t dynamic_slice_sizes;
  hlo_desc_padding_t* padding_config;
  hlo_wire_bytes_t outfeed_config;
  int32_t distribution;
  float epsilon;
  int64_t feature_index, channel_id;
  hlo_wire_bytes_t infeed_config, custom_call_target;
  hlo_desc_shape_t* outfeed_shape;
  hlo_desc_dot_t* dot;
  hlo_desc_ragged_t* ragged;
  int32_t fft_type;
  hlo_wire_array_t fft_length;
  hlo_desc_gather_t* gather;
  hlo_wire_array_t gather_slice_sizes;
  int64_t id;
  hlo_wire_array_t operand_ids, called_computation_ids;
  hlo_wire_bytes_t backend_config;
  bool is_host_transfer;
  hlo_desc_scatter_t* scatter;
  hlo_wire_array_t replica_groups;  // hlo_desc_group_t
  int64_t feature_group_count;
  hlo_desc_precision_t* precision;
  hlo_wire_array_t source_target_pairs;  // hlo_desc_pair_t
  bool constrain_layout;
  hlo_wire_array_t operand_shapes;  // hlo_desc_shape_t
  int64_t batch_group_count;
  hlo_desc_triangular_t* triangular;
  bool is_stable;
  hlo_desc_cholesky_t* cholesky;
  hlo_wire_bytes_t comparison_direction;
  bool custom_call_has_side_effect, indices_are_sorted;
  hlo_desc_string_map_t* frontend_attributes;
  bool unique_indices;
  int32_t rng_algorithm;
  bool use_global_device_ids;
  hlo_wire_bytes_t comparison_type;
  hlo_wire_array_t output_aliases;  // hlo_desc_output_alias_t
  int32_t custom_call_api_version;
  int64_t k;
  bool largest;
  hlo_desc_device_list_t* device_list;
  bool is_composite;
  hlo_desc_iota_list_t* iota_list;
  hlo_desc_mesh_list_t* mesh_list;
  bool has_dynamic_root;
  // In text only.
  hlo_wire_bytes_t sharding;
  bool is_predicated;  // a conditional on a boolean
  uint32_t line, col;
} hlo_desc_instruction_t;

typedef struct hlo_desc_program_shape {
  hlo_wire_array_t parameters;  // hlo_desc_shape_t
  hlo_desc_shape_t* result;
  hlo_wire_array_t parameter_names;  // hlo_wire_bytes_t
} hlo_desc_program_shape_t;

typedef struct hlo_desc_computation {
  hlo_wire_bytes_t name;
  hlo_wire_array_t instructions;
  hlo_desc_program_shape_t* shape;  // only written
  int64_t id, root_id;
  size_t source_bytes;
  uint32_t line, col;  // from text only
} hlo_desc_computation_t;

typedef struct hlo_desc_alias {
  hlo_wire_array_t output_shape_index;
  int64_t parameter_number;
  hlo_wire_array_t parameter_shape_index;
  int32_t kind;
} hlo_desc_alias_t;

typedef struct hlo_desc_aliases {
  hlo_wire_array_t entries;  // hlo_desc_alias_t
} hlo_desc_aliases_t;

typedef struct hlo_desc_donor {
  int64_t parameter_number;
  hlo_wire_array_t parameter_shape_index;
} hlo_desc_donor_t;

typedef struct hlo_desc_donors {
  hlo_wire_array_t entries;  // hlo_desc_donor_t
} hlo_desc_donors_t;

typedef struct hlo_desc_file_location {
  int32_t file_name_id, function_name_id, line, column;
} hlo_desc_file_location_t;

typedef struct hlo_desc_frame {
  int32_t file_location_id, parent_frame_id;
} hlo_desc_frame_t;

typedef struct hlo_desc_frames {
  hlo_wire_array_t file_names;  // hlo_wire_bytes_t
  hlo_wire_array_t function_names;
  hlo_wire_array_t file_locations;  // hlo_desc_file_location_t
  hlo_wire_array_t stack_frames;    // hlo_desc_frame_t
} hlo_desc_frames_t;

typedef struct hlo_desc_module {
  hlo_wire_bytes_t name, entry_computation_name;
  hlo_wire_array_t computations;
  hlo_desc_program_shape_t* shape;  // with the layouts of the entry
  int64_t entry_computation_id;
  hlo_desc_aliases_t* input_output_alias;
  hlo_desc_frames_t* frames;
  hlo_desc_donors_t* buffer_donor;
  hlo_desc_string_map_t* frontend_attributes;
  // From text only; 0: not given.
  int64_t replica_count, num_partitions;
  bool flat_results;  // the caller's: refuse a result with nested tuples
} hlo_desc_module_t;

typedef struct hlo_desc_config {
  hlo_desc_program_shape_t* entry_computation_layout;
  int64_t replica_count, num_partitions;
  bool use_spmd_partitioning;
} hlo_desc_config_t;

/// Tables for hlo_wire_decode() and _encode(): an HloModuleProto, an HloProto around one, and an
/// HloModuleProtoWithConfig, whose second field differs.
typedef struct hlo_desc_wrapper {
  hlo_desc_module_t* hlo_module;
  hlo_desc_config_t* config;
} hlo_desc_wrapper_t;
extern const hlo_wire_message_t hlo_desc_module_message;
extern const hlo_wire_message_t hlo_desc_wrapper_message;
extern const hlo_wire_message_t hlo_desc_with_config_message;

/// Numbers of XLA's PrimitiveType; HLO_DTYPE_INVALID, or 0, if there is no counterpart.
hlo_dtype_t hlo_desc_dtype(int32_t primitive_type);
int32_t hlo_desc_primitive_type(hlo_dtype_t dtype);

#endif  // HLO_FRONTEND_HLO_DESC_H_
