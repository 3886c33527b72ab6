// SPDX-License-Identifier: Apache-2.0
// Custom calls that the application partitions: it is told how operands and results are divided,
// and returns the program of one device with the shardings that this needs.
#pragma once

#include "ir/op_sharding.h"

/// The program of one device for a custom call.
typedef struct hlo_custom_part {
  hlo_module_t* module;               // verified, of one partition. owner: the receiver
  const hlo_op_sharding_t* operands;  // one each
  const hlo_op_sharding_t* results;
} hlo_custom_part_t;

/// The functions of whoever knows the application. Shardings are one per operand or result; answers
/// other than modules are in `arena`.
/// threads: safe
typedef struct hlo_custom_partitioner {
  void* context;
  /// Returns true if calls of this target are to be asked about.
  bool (*knows)(void* context, const char* target);
  /// Returns true if calls of this target compute each element of their leading dimensions for
  /// itself; the frontend attribute num_batch_dims says how many these are.
  bool (*is_batched)(void* context, const char* target);
  /// errors : those of the application, INVALID_ARGUMENT (its answer is malformed)
  hlo_status_t (*partition)(void* context, const hlo_node_t* node,
                            const hlo_op_sharding_t* operands, const hlo_op_sharding_t* results,
                            hlo_arena_t* arena, hlo_custom_part_t* out_part);
  /// Derives the shardings of results from those of operands; *out_results is NULL if nothing
  /// follows.
  hlo_status_t (*infer)(void* context, const hlo_node_t* node, const hlo_op_sharding_t* operands,
                        hlo_arena_t* arena, const hlo_op_sharding_t** out_results);
  /// Adapts the shardings that users of the results want.
  hlo_status_t (*adapt)(void* context, const hlo_node_t* node, const hlo_op_sharding_t* wanted,
                        hlo_arena_t* arena, const hlo_op_sharding_t** out_results);
  /// Shows how the operand of a call of InspectSharding is divided.
  /// errors : those of the application, INVALID_ARGUMENT (the call names no function)
  hlo_status_t (*inspect)(void* context, const hlo_node_t* node, const hlo_op_sharding_t* operand,
                          hlo_arena_t* arena);
} hlo_custom_partitioner_t;
