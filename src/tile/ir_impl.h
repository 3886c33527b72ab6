// SPDX-License-Identifier: Apache-2.0
// The table of operations, for printer, parser and verifier. Private to tile.
#pragma once

#include "tile/ir.h"

typedef enum hlo_tile_has_result {
  HLO_TILE_RESULT_NEVER,
  HLO_TILE_RESULT_ALWAYS,
  HLO_TILE_RESULT_TYPED,  // present if an element type is given
  HLO_TILE_RESULT_REF,    // a reference
} hlo_tile_has_result_t;

typedef struct hlo_tile_op_info {
  const char* name;
  int32_t operand_count;  // -1: any number
  hlo_tile_has_result_t has_result;
  int32_t region_count;  // -1: any number
  uint32_t since;        // version of the text format
} hlo_tile_op_info_t;

extern const hlo_tile_op_info_t hlo_tile_op_infos[HLO_TILE_OP_KIND_COUNT];

/// The rules of well-formed kernels, and the message for each violation.
typedef enum hlo_tile_rule {
#define HLO_TILE_RULE(id, text) HLO_TILE_RULE_##id,
#include "tile/ir_rules.def"
#undef HLO_TILE_RULE
  HLO_TILE_RULE_COUNT
} hlo_tile_rule_t;

/// A number of a loop's schedule, by name.
typedef struct hlo_tile_schedule_field {
  const char* name;
  size_t offset;  // in hlo_tile_schedule_t
} hlo_tile_schedule_field_t;
enum {
#define HLO_TILE_SCHEDULE(id) HLO_TILE_SCHEDULE_##id,
#include "tile/ir_schedule.def"
#undef HLO_TILE_SCHEDULE
  HLO_TILE_SCHEDULE_COUNT
};
extern const hlo_tile_schedule_field_t hlo_tile_schedule_fields[HLO_TILE_SCHEDULE_COUNT];
static inline int64_t hlo_tile_schedule_get(const hlo_tile_schedule_t* schedule, uint32_t field) {
  return *(const int64_t*)((const char*)schedule + hlo_tile_schedule_fields[field].offset);
}

/// Returns the first rule of references, memory and synchronisation that an operation breaks;
/// COUNT: none.
hlo_tile_rule_t hlo_tile_memory_rule(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* op);

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
/// Returns true if the operands are the values that the first step begins with.
static inline bool hlo_tile_op_carries(hlo_tile_op_kind_t kind) {
  return kind == HLO_TILE_OP_for || kind == HLO_TILE_OP_while;
}
/// Returns the number of operands, from the first, that are references.
uint32_t hlo_tile_op_ref_operands(hlo_tile_op_kind_t kind);
/// Returns true for operations that the whole tile does once, not each of its elements.
bool hlo_tile_op_is_uniform(hlo_tile_op_kind_t kind);
/// Returns the loops of dimensions of the tile at a block, one bit each.
uint64_t hlo_tile_block_tile_ivs(const hlo_tile_block_t* block);
/// Returns the loop of a dimension of the grid around a block; NULL: the grid lacks it.
const hlo_tile_loop_t* hlo_tile_block_grid(const hlo_tile_block_t* block, uint32_t dimension);
/// As hlo_tile_ref_strides(), of a part of an allocation with these strides (NULL: row-major).
void hlo_tile_ref_strides_in(const hlo_tile_op_t* op, const int64_t* root,
                             int64_t out_strides[HLO_TILE_MAX_RANK]);
/// Writes the strides that an allocation's layout gives its dimensions; false if it is no list of
/// one address step per dimension.
bool hlo_tile_layout_strides(const hlo_tile_layout_t* layout,
                             int64_t out_strides[HLO_TILE_MAX_RANK]);
/// Returns true if the elements of a reference are adjacent, in row-major order.
bool hlo_tile_ref_is_contiguous(const hlo_tile_op_t* op);
/// Returns the extents of a product's result, and how many there are.
uint32_t hlo_tile_mma_shape(const hlo_tile_op_t* op, int64_t out_dims[3 * HLO_TILE_MAX_RANK]);
const char* hlo_tile_atomic_name(hlo_tile_atomic_t atomic);

/// Returns the yield at the end of a region; NULL if it has none.
static inline hlo_tile_op_t* hlo_tile_block_yield(const hlo_tile_block_t* block) {
  return block->last && block->last->kind == HLO_TILE_OP_yield ? block->last : NULL;
}
/// Returns the yield that gives the operation's results: that of its last region.
hlo_tile_op_t* hlo_tile_op_yield(const hlo_tile_op_t* op);
/// Returns the number of results; a `result` operation names those after the first.
uint32_t hlo_tile_result_count(const hlo_tile_op_t* op);
/// Returns the loops of all enclosing blocks, one bit each.
uint64_t hlo_tile_block_ivs(const hlo_tile_block_t* block);
/// Returns the rank of the tile at a block: the enclosing loops with a step above one, outermost
/// first, with their steps in out_dims. The list of loops may be NULL.
uint32_t hlo_tile_block_tile(const hlo_tile_block_t* block, int64_t out_dims[HLO_TILE_MAX_DEPTH],
                             uint32_t out_ivs[HLO_TILE_MAX_DEPTH]);
const char* hlo_tile_direction_name(int64_t direction);  // of a comparison
