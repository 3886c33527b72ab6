// SPDX-License-Identifier: Apache-2.0
// The table of fields.h: one row for each attribute that an instruction stores in its own field.
#include "frontend/hlo/fields.h"

#define AT(member) offsetof(hlo_desc_instruction_t, member)
#define PLACE(struct_member, type) AT(struct_member), sizeof(hlo_desc_##type##_t)
#define ROW(op, attr, kind, member) \
  { HLO_OP_##op, HLO_ATTR_##attr, HLO_DESC_FIELD_##kind, HLO_DESC_NO_OUTER, 0, AT(member), 0 }
#define ENUM_ROW(op, attr, name, member)                                                 \
  {                                                                                      \
    HLO_OP_##op, HLO_ATTR_##attr, HLO_DESC_FIELD_ENUM, HLO_DESC_NO_OUTER, 0, AT(member), \
        HLO_ENUM_##name                                                                  \
  }
#define IN(op, attr, kind, struct_member, type, member)                              \
  {                                                                                  \
    HLO_OP_##op, HLO_ATTR_##attr, HLO_DESC_FIELD_##kind, PLACE(struct_member, type), \
        offsetof(hlo_desc_##type##_t, member), 0                                     \
  }
#define ENUM_IN(op, attr, name, struct_member, type, member)                       \
  {                                                                                \
    HLO_OP_##op, HLO_ATTR_##attr, HLO_DESC_FIELD_ENUM, PLACE(struct_member, type), \
        offsetof(hlo_desc_##type##_t, member), HLO_ENUM_##name                     \
  }
#define COLUMN(op, attr, kind, type, member)                                   \
  {                                                                            \
    HLO_OP_##op, HLO_ATTR_##attr, HLO_DESC_FIELD_##kind, HLO_DESC_NO_OUTER, 0, \
        offsetof(hlo_desc_##type##_t, member), 0                               \
  }

const hlo_desc_field_row_t hlo_desc_field_rows[] = {
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
    IN(chlo_ragged_dot, lhs_batching_dimensions, DIMS, dot, dot, lhs_batch_dimensions),
    IN(chlo_ragged_dot, rhs_batching_dimensions, DIMS, dot, dot, rhs_batch_dimensions),
    IN(chlo_ragged_dot, lhs_contracting_dimensions, DIMS, dot, dot, lhs_contracting_dimensions),
    IN(chlo_ragged_dot, rhs_contracting_dimensions, DIMS, dot, dot, rhs_contracting_dimensions),
    IN(chlo_ragged_dot, lhs_ragged_dimensions, DIMS, ragged, ragged, lhs_ragged_dimensions),
    IN(chlo_ragged_dot, rhs_group_dimensions, DIMS, ragged, ragged, rhs_group_dimensions),
    IN(hlo_scaled_dot, lhs_batching_dimensions, DIMS, dot, dot, lhs_batch_dimensions),
    IN(hlo_scaled_dot, rhs_batching_dimensions, DIMS, dot, dot, rhs_batch_dimensions),
    IN(hlo_scaled_dot, lhs_contracting_dimensions, DIMS, dot, dot, lhs_contracting_dimensions),
    IN(hlo_scaled_dot, rhs_contracting_dimensions, DIMS, dot, dot, rhs_contracting_dimensions),
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
    ROW(chlo_top_k, is_stable, BOOL_IF_TRUE, is_stable),
    ROW(hlo_fusion, kind, STRING_IF_ANY, fusion_kind),
    ROW(custom_call, call_target_name, STRING, custom_call_target),
    ROW(custom_call, has_side_effect, BOOL, custom_call_has_side_effect),
    COLUMN(slice, start_indices, SLICE, slice_dim, start),
    COLUMN(slice, limit_indices, SLICE, slice_dim, limit),
    COLUMN(slice, strides, SLICE, slice_dim, stride),
    COLUMN(pad, edge_padding_low, PAD, pad_dim, edge_padding_low),
    COLUMN(pad, edge_padding_high, PAD, pad_dim, edge_padding_high),
    COLUMN(pad, interior_padding, PAD, pad_dim, interior_padding),
    COLUMN(convolution, window_strides, WINDOW, window_dim, stride),
    COLUMN(convolution, lhs_dilation, WINDOW, window_dim, base_dilation),
    COLUMN(convolution, rhs_dilation, WINDOW, window_dim, window_dilation),
    COLUMN(reduce_window, window_dimensions, WINDOW, window_dim, size),
    COLUMN(reduce_window, window_strides, WINDOW, window_dim, stride),
    COLUMN(reduce_window, base_dilations, WINDOW, window_dim, base_dilation),
    COLUMN(reduce_window, window_dilations, WINDOW, window_dim, window_dilation),
    COLUMN(select_and_scatter, window_dimensions, WINDOW, window_dim, size),
    COLUMN(select_and_scatter, window_strides, WINDOW, window_dim, stride),
    IN(convolution, input_batch_dimension, I64, conv, conv, input_batch_dimension),
    IN(convolution, input_feature_dimension, I64, conv, conv, input_feature_dimension),
    IN(convolution, input_spatial_dimensions, DIMS, conv, conv, input_spatial_dimensions),
    IN(convolution, kernel_input_feature_dimension, I64, conv, conv,
       kernel_input_feature_dimension),
    IN(convolution, kernel_output_feature_dimension, I64, conv, conv,
       kernel_output_feature_dimension),
    IN(convolution, kernel_spatial_dimensions, DIMS, conv, conv, kernel_spatial_dimensions),
    IN(convolution, output_batch_dimension, I64, conv, conv, output_batch_dimension),
    IN(convolution, output_feature_dimension, I64, conv, conv, output_feature_dimension),
    IN(convolution, output_spatial_dimensions, DIMS, conv, conv, output_spatial_dimensions),
};

const size_t hlo_desc_field_row_count = sizeof hlo_desc_field_rows / sizeof *hlo_desc_field_rows;

const hlo_desc_columns_t* hlo_desc_columns(hlo_desc_field_kind_t kind) {
  static const hlo_desc_columns_t window = {PLACE(window, window),
                                            offsetof(hlo_desc_window_t, dimensions),
                                            sizeof(hlo_desc_window_dim_t)};
  static const hlo_desc_columns_t pad = {PLACE(padding_config, padding),
                                         offsetof(hlo_desc_padding_t, dimensions),
                                         sizeof(hlo_desc_pad_dim_t)};
  static const hlo_desc_columns_t slice = {HLO_DESC_NO_OUTER, 0, AT(slice_dimensions),
                                           sizeof(hlo_desc_slice_dim_t)};
  switch (kind) {
    case HLO_DESC_FIELD_WINDOW: return &window;
    case HLO_DESC_FIELD_PAD: return &pad;
    case HLO_DESC_FIELD_SLICE: return &slice;
    default: return NULL;
  }
}
