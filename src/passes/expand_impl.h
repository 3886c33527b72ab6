// SPDX-License-Identifier: Apache-2.0
// Private to expand*.c: the expansions of single nodes, and what they share.
#pragma once

#include "ir/window.h"
#include "passes/passes.h"

enum {
  HLO_EXPAND_VALUES_MAX = 31
};  // operands that an op combines with a body; loops carry twice
    // as many values and more

/// Builds the results of a node before it. Returns false if the node has no expansion, and is kept,
/// or if memory is exhausted, which the module or the scratch arena records.
typedef bool (*hlo_expand_node_t)(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);

bool hlo_expand_reduce(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_reduce_window(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_select_and_scatter(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_sort(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_math(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_map(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);

bool hlo_expand_batch_norm(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_broadcast(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_broadcasting(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_collective_reduce(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_constant(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_fusion(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_group_reduction(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_scan(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_scatter(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_stochastic_convert(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);
bool hlo_expand_static_form(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results);

/// Returns true if the arguments and results of a body are plain scalars, `arg_count` and
/// `result_count` of them.
bool hlo_expand_can_apply(const hlo_region_t* body, uint32_t arg_count, uint32_t result_count);
/// Builds the results of a body for arrays of one shape before `insertion_point`: as ops of whole
/// arrays if it is made of elementwise ops, else as a loop over the elements.
bool hlo_expand_apply(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point, const hlo_region_t* body,
                      hlo_value_t* const* args, hlo_value_t** results);
/// Copies the ops of a body before `insertion_point` for other arguments.
bool hlo_expand_copy(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point, const hlo_region_t* body,
                     hlo_value_t* const* args, hlo_value_t** results);

/// The windows of a node.
typedef struct hlo_expand_windows {
  uint32_t rank;
  hlo_window_dim_t dims[HLO_RANK_MAX];
  int64_t positions, padded;  // of a window; of the padded operand, INT64_MAX: too many
  const hlo_type_t* number;   // a scalar for either
} hlo_expand_windows_t;

/// Reads windows over operand 0, which has elements. Returns false for windows without output.
bool hlo_expand_read_windows(const hlo_node_t* node, hlo_expand_windows_t* out_windows);
/// Returns an array of the operand's shape with `element` around its elements and between them.
hlo_value_t* hlo_expand_pad(const hlo_expand_windows_t* w, hlo_node_t* insertion_point,
                            hlo_value_t* value, hlo_value_t* element);
/// Returns the elements of a padded array at position `number` of all windows.
hlo_value_t* hlo_expand_window_elements(const hlo_expand_windows_t* w, hlo_node_t* insertion_point,
                                        hlo_value_t* number, hlo_value_t* padded);
/// Splits a number into the indices of an array, the last one fastest.
void hlo_expand_split_number(hlo_node_t* insertion_point, hlo_value_t* number, uint32_t rank,
                             const int64_t* dims, hlo_value_t** indices);
/// Returns x times a constant.
hlo_value_t* hlo_expand_times(hlo_node_t* insertion_point, hlo_value_t* x, int64_t factor);
