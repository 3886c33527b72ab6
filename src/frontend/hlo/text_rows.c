// SPDX-License-Identifier: Apache-2.0
// The table of attributes in HLO text: names, notations, fields, and the opcodes that have them.
#include <assert.h>

#include "frontend/hlo/text_impl.h"

#define AT(member) offsetof(hlo_desc_instruction_t, member)
#define OF(list) .opcodes = list
#define ROW(text, form, member) \
  .name = text, .notation = HLO_NOTE_##form, .outer = HLO_TEXT_NO_OUTER, .offset = AT(member)
#define ENUM_ROW(text, member, kind) ROW(text, ENUM, member), .index = HLO_ENUM_##kind
#define RNG_ROW(text, member, kind) ROW(text, RNG_ENUM, member), .index = HLO_ENUM_##kind
#define IN(text, form, struct_member, type, member)                      \
  .name = text, .notation = HLO_NOTE_##form, .outer = AT(struct_member), \
  .outer_bytes = sizeof(hlo_desc_##type##_t), .offset = offsetof(hlo_desc_##type##_t, member)
#define ENUM_IN(text, struct_member, type, member, kind) \
  IN(text, ENUM, struct_member, type, member), .index = HLO_ENUM_##kind
#define CALL(text, place) ROW(text, CALL, called_computation_ids), .index = place
#define CALLS(text) ROW(text, CALLS, called_computation_ids)
#define SKIP(text) .name = text, .notation = HLO_NOTE_SKIP, .outer = HLO_TEXT_NO_OUTER

const hlo_text_row_t hlo_text_rows[] = {
    {OF("broadcast concatenate map reduce reverse transpose sort get-dimension-size "
        "set-dimension-size all-gather all-gather-start all-to-all reduce-scatter"),
     ROW("dimensions", INTS, dimensions)},
    {OF("iota"), ROW("iota_dimension", DIM, dimensions)},
    {OF("get-tuple-element"), ROW("index", INT, tuple_index)},
    {OF("call reduce map reduce-window scatter sort all-reduce all-reduce-start reduce-scatter"),
     CALL("to_apply", 0)},
    {OF("while"), CALL("condition", 1)},
    {OF("while"), CALL("body", 0)},
    {OF("conditional"), CALL("true_computation", 0)},
    {OF("conditional"), CALL("false_computation", 1)},
    {OF("select-and-scatter"), CALL("select", 0)},
    {OF("select-and-scatter"), CALL("scatter", 1)},
    {OF("fusion async-start"), CALL("calls", 0)},
    {OF("conditional"), CALLS("branch_computations")},
    {OF("custom-call"), CALLS("called_computations")},
    {ROW("kind", WORD, fusion_kind)},
    {ROW("direction", WORD, comparison_direction)},
    {ROW("type", WORD, comparison_type)},
    {OF(""), ROW("order", ORDER, comparison_type)},
    {OF("slice"), ROW("slice", SLICE, slice_dimensions)},
    {OF("dynamic-slice"), ROW("dynamic_slice_sizes", INTS, dynamic_slice_sizes)},
    {ROW("padding", PADDING, padding_config)},
    {ROW("window", WINDOW, window)},
    {ROW("dim_labels", DIM_LABELS, conv)},
    {ROW("feature_group_count", INT, feature_group_count)},
    {ROW("batch_group_count", INT, batch_group_count)},
    {ROW("operand_precision", PRECISION, precision)},
    {IN("lhs_batch_dims", INTS, dot, dot, lhs_batch_dimensions)},
    {IN("lhs_contracting_dims", INTS, dot, dot, lhs_contracting_dimensions)},
    {IN("rhs_batch_dims", INTS, dot, dot, rhs_batch_dimensions)},
    {IN("rhs_contracting_dims", INTS, dot, dot, rhs_contracting_dimensions)},
    {IN("lhs_ragged_dims", INTS, ragged, ragged, lhs_ragged_dimensions)},
    {IN("rhs_group_dims", INTS, ragged, ragged, rhs_group_dimensions)},
    {OF("gather"), IN("offset_dims", INTS, gather, gather, offset_dims)},
    {OF("gather"), IN("collapsed_slice_dims", INTS, gather, gather, collapsed_slice_dims)},
    {OF("gather"), IN("start_index_map", INTS, gather, gather, start_index_map)},
    {IN("operand_batching_dims", INTS, gather, gather, operand_batching_dims)},
    {IN("start_indices_batching_dims", INTS, gather, gather, start_indices_batching_dims)},
    {OF("gather"), IN("index_vector_dim", INT, gather, gather, index_vector_dim)},
    {OF("gather"), ROW("slice_sizes", INTS, gather_slice_sizes)},
    {OF("scatter"), IN("update_window_dims", INTS, scatter, scatter, update_window_dims)},
    {OF("scatter"), IN("inserted_window_dims", INTS, scatter, scatter, inserted_window_dims)},
    {OF("scatter"),
     IN("scatter_dims_to_operand_dims", INTS, scatter, scatter, scatter_dims_to_operand_dims)},
    {IN("input_batching_dims", INTS, scatter, scatter, input_batching_dims)},
    {IN("scatter_indices_batching_dims", INTS, scatter, scatter, scatter_indices_batching_dims)},
    {OF("scatter"), IN("index_vector_dim", INT, scatter, scatter, index_vector_dim)},
    {ROW("indices_are_sorted", BOOL, indices_are_sorted)},
    {ROW("unique_indices", BOOL, unique_indices)},
    {OF("reduce-precision"), ROW("exponent_bits", INT32, exponent_bits)},
    {OF("reduce-precision"), ROW("mantissa_bits", INT32, mantissa_bits)},
    {OF("rng"), RNG_ROW("distribution", distribution, RNG_DISTRIBUTION)},
    {IN("algorithm", ALGORITHM, precision, precision, algorithm)},
    {OF("rng-bit-generator"), RNG_ROW("algorithm", rng_algorithm, RNG_ALGORITHM)},
    {OF("fft"), ENUM_ROW("fft_type", fft_type, FFT_TYPE)},
    {OF("fft"), ROW("fft_length", INTS, fft_length)},
    {OF("batch-norm-grad batch-norm-inference batch-norm-training"),
     ROW("epsilon", FLOAT, epsilon)},
    {OF("batch-norm-grad batch-norm-inference batch-norm-training"),
     ROW("feature_index", INT, feature_index)},
    {OF("cholesky"), IN("lower", BOOL, cholesky, cholesky, lower)},
    {OF("triangular-solve"), IN("left_side", BOOL, triangular, triangular, left_side)},
    {OF("triangular-solve"), IN("lower", BOOL, triangular, triangular, lower)},
    {OF("triangular-solve"), IN("unit_diagonal", BOOL, triangular, triangular, unit_diagonal)},
    {OF("triangular-solve"),
     ENUM_IN("transpose_a", triangular, triangular, transpose_a, TRANSPOSE)},
    {OF("custom-call"), ROW("custom_call_target", STRING, custom_call_target)},
    {ROW("operand_layout_constraints", SHAPES, operand_shapes)},
    {ROW("custom_call_has_side_effect", BOOL, custom_call_has_side_effect)},
    {ROW("output_to_operand_aliasing", ALIASES, output_aliases)},
    {ENUM_ROW("api_version", custom_call_api_version, CUSTOM_CALL_API_VERSION)},
    {ROW("backend_config", STRING, backend_config)},
    {ROW("infeed_config", STRING, infeed_config)},
    {ROW("outfeed_config", STRING, outfeed_config)},
    {ROW("channel_id", INT, channel_id)},
    {ROW("is_host_transfer", BOOL, is_host_transfer)},
    {OF("all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-broadcast "
        "ragged-all-to-all reduce-scatter"),
     ROW("replica_groups", GROUPS, replica_groups)},
    {OF("collective-permute collective-permute-start"),
     ROW("source_target_pairs", PAIRS, source_target_pairs)},
    {OF("collective-permute collective-permute-start"),
     ROW("slice_sizes", INT_LISTS, dynamic_slice_sizes)},
    {ROW("use_global_device_ids", BOOL, use_global_device_ids)},
    {ROW("has_dynamic_root", BOOL, has_dynamic_root)},
    {OF("topk"), ROW("k", INT, k)},
    {OF("topk"), ROW("largest", BOOL, largest)},
    {ROW("is_stable", BOOL, is_stable)},
    {ROW("is_composite", BOOL, is_composite)},
    {IN("parameter_replication", BOOLS, parameter_replication, replication, leaves)},
    {ROW("sharding", WORD, sharding)},
    {ROW("frontend_attributes", STRING_MAP, frontend_attributes)},
    {ROW("metadata", METADATA, metadata)},
    // Attributes without meaning for the IR.
    {SKIP("control-predecessors")},
    {SKIP("statistics")},
    {SKIP("origin")},
    {SKIP("original_value")},
    {SKIP("schedule")},
    {SKIP("constrain_layout")},
    {SKIP("async_execution_thread")},
    {SKIP("execution_thread")},
    {SKIP("domain")},
    {SKIP("result_accuracy")},
    {SKIP("delta")},
    {SKIP("cross_program_prefetch_index")},
    {SKIP("outfeed_shape")},

};
const size_t hlo_text_row_count = sizeof hlo_text_rows / sizeof *hlo_text_rows;

bool hlo_text_row_is_of(const hlo_text_row_t* row, hlo_wire_bytes_t opcode) {
  for (const char* word = row->opcodes; word && *word;) {
    size_t length = strcspn(word, " ");
    if (length == opcode.size && memcmp(word, opcode.data, length) == 0) return true;
    word += length + (word[length] == ' ');
  }
  return false;
}

#define DIM(member) offsetof(hlo_desc_window_dim_t, member)
const hlo_text_window_part_t hlo_text_window_parts[HLO_TEXT_WINDOW_PARTS] = {
    {"size", HLO_WINDOW_INT, DIM(size), INT64_MIN},
    {"stride", HLO_WINDOW_INT, DIM(stride), 1},
    {"pad", HLO_WINDOW_PAIR, DIM(padding_low), 0},
    {"lhs_dilate", HLO_WINDOW_INT, DIM(base_dilation), 1},
    {"rhs_dilate", HLO_WINDOW_INT, DIM(window_dilation), 1},
    {"rhs_reversal", HLO_WINDOW_BOOL, DIM(window_reversal), 0},
};
static_assert(DIM(padding_high) == DIM(padding_low) + sizeof(int64_t), "a pair in a row");
