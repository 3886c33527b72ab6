// SPDX-License-Identifier: Apache-2.0
// The table of operations, for text and verifier. Private to tile.
#ifndef HLO_TILE_IR_IMPL_H_
#define HLO_TILE_IR_IMPL_H_

#include "tile/ir.h"

typedef struct hlo_tile_op_info {
  const char* name;
  int32_t operand_count;  // -1: any
  bool has_result, has_body;
} hlo_tile_op_info_t;

extern const hlo_tile_op_info_t hlo_tile_op_infos[HLO_TILE_OP_KIND_COUNT];

static inline bool hlo_tile_op_has_offset(hlo_tile_op_kind_t kind) {
  return kind == HLO_TILE_OP_load || kind == HLO_TILE_OP_store || kind == HLO_TILE_OP_index ||
         kind == HLO_TILE_OP_guard;
}

/// The values that a reduce has.
static inline uint32_t hlo_tile_reduce_results(const hlo_tile_op_t* op) {
  return op->is_arg ? 2 : op->reducer_count;
}
/// The tile at a block: the digits around it that go in steps of more than one number, outermost
/// first, and how many they have. out_digits may be NULL. Returns how many there are.
uint32_t hlo_tile_block_tile(const hlo_tile_block_t* block, int64_t out_dims[HLO_TILE_MAX_DEPTH],
                             uint32_t out_digits[HLO_TILE_MAX_DEPTH]);
const char* hlo_tile_direction_name(int64_t direction);  // of a comparison

#endif  // HLO_TILE_IR_IMPL_H_
