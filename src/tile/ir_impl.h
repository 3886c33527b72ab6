// SPDX-License-Identifier: Apache-2.0
// The table of operations, for text and verifier. Private to tile.
#ifndef HLO_TILE_IR_IMPL_H_
#define HLO_TILE_IR_IMPL_H_

#include "tile/ir.h"

typedef enum hlo_tile_has_result {
  HLO_TILE_RESULT_NEVER,
  HLO_TILE_RESULT_ALWAYS,
  HLO_TILE_RESULT_TYPED,  // where it has an element type
} hlo_tile_has_result_t;

typedef struct hlo_tile_op_info {
  const char* name;
  int32_t operand_count;  // -1: any
  hlo_tile_has_result_t has_result;
  int32_t region_count;  // -1: any
  uint32_t since;        // version of the text
} hlo_tile_op_info_t;

extern const hlo_tile_op_info_t hlo_tile_op_infos[HLO_TILE_OP_KIND_COUNT];

/// What well formed kernels have, and what is said of others.
typedef enum hlo_tile_rule {
#define HLO_TILE_RULE(id, text) HLO_TILE_RULE_##id,
#include "tile/ir_rules.def"
#undef HLO_TILE_RULE
  HLO_TILE_RULE_COUNT
} hlo_tile_rule_t;

static inline bool hlo_tile_op_has_offset(hlo_tile_op_kind_t kind) {
  return kind == HLO_TILE_OP_load || kind == HLO_TILE_OP_store || kind == HLO_TILE_OP_index ||
         kind == HLO_TILE_OP_guard;
}

static inline bool hlo_tile_op_has_regions(hlo_tile_op_kind_t kind) {
  return hlo_tile_op_infos[kind].region_count != 0;
}
static inline bool hlo_tile_op_has_loops(hlo_tile_op_kind_t kind) {
  return kind == HLO_TILE_OP_for || kind == HLO_TILE_OP_parallel || kind == HLO_TILE_OP_reduce;
}
/// Its operands are what its first step begins with.
static inline bool hlo_tile_op_carries(hlo_tile_op_kind_t kind) {
  return kind == HLO_TILE_OP_for || kind == HLO_TILE_OP_while;
}
/// The yield at the end of a region; NULL: there is none.
static inline hlo_tile_op_t* hlo_tile_block_yield(const hlo_tile_block_t* block) {
  return block->last && block->last->kind == HLO_TILE_OP_yield ? block->last : NULL;
}
/// What an operation with regions gives: the yield of the last one.
hlo_tile_op_t* hlo_tile_op_yield(const hlo_tile_op_t* op);
/// How many values it gives, of which `result` takes those beyond the first.
uint32_t hlo_tile_result_count(const hlo_tile_op_t* op);
/// The loops of all blocks around, a bit each.
uint64_t hlo_tile_block_digits(const hlo_tile_block_t* block);
/// The tile at a block: the digits around it that go in steps of more than one number, outermost
/// first, and how many they have. out_digits may be NULL. Returns how many there are.
uint32_t hlo_tile_block_tile(const hlo_tile_block_t* block, int64_t out_dims[HLO_TILE_MAX_DEPTH],
                             uint32_t out_digits[HLO_TILE_MAX_DEPTH]);
const char* hlo_tile_direction_name(int64_t direction);  // of a comparison

#endif  // HLO_TILE_IR_IMPL_H_
