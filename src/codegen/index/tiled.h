// SPDX-License-Identifier: Apache-2.0
// A fusion as seen from its loops: which element of which value each point needs. A walk from the
// outputs to the operands finds this with index expressions. Movement (reshape, transpose,
// broadcast, slice, pad, concatenate ...) disappears into the expressions; loads, computations and
// reductions remain. For codegen only.
#pragma once

#include "codegen/body/schedule.h"
#include "codegen/body/verdict.h"
#include "tile/expr.h"

enum {
  HLO_TILED_MAX_LOOPS = 40,
  HLO_TILED_MAX_INSTANCES = 1200,
  HLO_TILED_TABLE_SIZE = 256,
};

typedef enum hlo_tiled_kind {
  HLO_TILED_LOAD,      // element `offset` of the fusion's input `input`
  HLO_TILED_CONSTANT,  // splat constant
  HLO_TILED_INDEX,     // iota: `offset` as a number
  HLO_TILED_COMPUTE,   // elementwise `value->def` of the operands
  HLO_TILED_REDUCE,    // reduce node: operands, then initial values; loops over `reduction`. A
                       // dot_general: the PRODUCT, without initial value
  HLO_TILED_PRODUCT,   // operands[0] * operands[1] of a dot_general, a term of its sum
  HLO_TILED_DOT,       // the result of a dot_general of a product kernel, at `offset`
  HLO_TILED_RESULT,    // result `value->number` of the reduce operands[0]
  HLO_TILED_MASK,      // operands[0] where low <= offset < end, else operands[1]
} hlo_tiled_kind_t;

typedef struct hlo_tiled hlo_tiled_t;

/// One value at one index.
struct hlo_tiled {
  hlo_tiled_kind_t kind;
  uint32_t number;  // dense, operands before users
  const hlo_value_t* value;
  const hlo_expr_t* const* index;
  uint64_t loops;  // parallel and enclosing reduction loops that it depends on
  uint32_t input;
  uint32_t reduction;
  uint32_t operand_count;
  hlo_tiled_t** operands;
  const hlo_expr_t* offset;
  int64_t low, end;
  hlo_tiled_t* next;  // in the hash table
};

/// A space of loops: the output's elements (number 0) or the elements that reductions reduce,
/// divided into loops, outermost first.
typedef struct hlo_tiled_space {
  int64_t element_count;
  uint32_t depth;  // of nested reductions
  uint32_t loop_count, first_loop;
  int64_t extents[HLO_TILED_MAX_LOOPS];
  const hlo_expr_t* linear;  // the row-major index
} hlo_tiled_space_t;

typedef struct hlo_tiled_loop {
  int64_t low, end;  // of this segment
  uint32_t space;
} hlo_tiled_loop_t;

/// The change of the loops that would resolve an expression: a loop split, or a cut of its range.
typedef enum hlo_split_request {
  HLO_TILED_NOTHING,
  HLO_TILED_SPLIT,
  HLO_TILED_CUT
} hlo_split_request_t;

/// threads: confined
typedef struct hlo_tiling {
  hlo_arena_t* arena;
  const hlo_fusion_t* fusion;
  const hlo_node_t* dot;  // a member that other code computes; NULL: none
  bool expands_products;  // convolutions are sums too, to see their terms
  hlo_expr_space_t exprs;
  uint32_t space_count, loop_count, instance_count;
  hlo_tiled_space_t* spaces;  // capacity HLO_TILED_MAX_LOOPS
  hlo_tiled_loop_t* loops;    // capacity HLO_TILED_MAX_LOOPS
  hlo_tiled_t** instances;    // capacity HLO_TILED_MAX_INSTANCES
  hlo_tiled_t** table;        // instances by hash, HLO_TILED_TABLE_SIZE lists
  hlo_tiled_t** outputs;      // per output of the fusion
  const hlo_expr_t** output_offsets;
  const hlo_tiled_t** output_owners;  // of an extra output (schedule.h): the reduction whose loops
                                      // compute its elements; NULL: the loops over the output
  uint32_t whole_loops;               // the number of innermost output loops that are not split
  bool is_optimistic;                 // a walk ends at its first split request
  hlo_verdict_t verdict;              // a "no": loops cannot compute the fusion
  hlo_split_request_t request;
  bool is_last_resort;                   // a cut that only counts without another request
  uint32_t request_space, request_loop;  // loop number inside the space
  int64_t request_at;                    // inner extent of a split, position of a cut
} hlo_tiling_t;

/// Creates the state for walks of a fusion. The state and the results of walks are in `arena`.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_tiling_create(const hlo_fusion_t* fusion, hlo_arena_t* arena,
                               hlo_tiling_t** out_tiling) HLO_MUST_USE;
/// Returns a copy of a tiling as its last walk left it, which remains valid during later walks.
/// Returns NULL when memory is exhausted.
const hlo_tiling_t* hlo_tiling_keep(const hlo_tiling_t* tiling);
/// Walks the fusion. `spaces` keeps the loops of earlier rounds (space_count 0 at first). `ranges`:
/// the segment's [low, end) per loop of space 0; NULL: all. After a split request, the caller
/// splits or cuts the loop and walks again. A walk with `is_final` makes no requests and keeps
/// masks.
/// errors: RESOURCE_EXHAUSTED; the verdict is in the tiling
hlo_status_t hlo_tiling_walk(hlo_tiling_t* tiling, const int64_t (*ranges)[2],
                             bool is_final) HLO_MUST_USE;

/// Checks the rules of a finished walk: spaces and their loops, instances in order, outputs.
/// errors: INTERNAL, naming the broken rule
hlo_status_t hlo_tiling_verify(const hlo_tiling_t* tiling) HLO_MUST_USE;

/// Returns the index of the element of `to` that members of the fusion compute or move from the
/// element of `from` at `index` alone; NULL if there is no such element. The expressions are those
/// of the last walk.
const hlo_expr_t* const* hlo_tiling_index_above(hlo_tiling_t* tiling, const hlo_value_t* from,
                                                const hlo_expr_t* const* index,
                                                const hlo_value_t* to);

/// Returns the loops of a space as a mask.
static inline uint64_t hlo_tiled_space_mask(const hlo_tiled_space_t* space) {
  return (((uint64_t)1 << space->loop_count) - 1) << space->first_loop;
}

/// The memory access pattern of lanes along a loop.
typedef enum hlo_lane_access {
  HLO_LANE_SAME,      // all the same element
  HLO_LANE_PLAIN,     // adjacent elements
  HLO_LANE_GATHERED,  // elements some stride apart, or at indices from a value
  HLO_LANE_UNKNOWN,   // a quotient or remainder prevents an answer
} hlo_lane_access_t;

hlo_lane_access_t hlo_tiled_lane_access(const hlo_expr_t* offset, uint32_t loop);

/// Marks the instances that `tiled` needs, without itself, by number. `marks`: instance_count
/// flags, cleared.
void hlo_tiling_mark_needed(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled, bool* marks);
/// Marks the instances that are never in lanes, by number: the same in all iterations, and read
/// only by other such instances, before these are broadcast, and as positions (of dynamic slices).
/// `marks`: instance_count flags.
void hlo_tiling_mark_scalars(const hlo_tiling_t* tiling, bool* marks);
/// Marks the instances that the outputs need at every point, not only where a mask selects them.
void hlo_tiling_mark_certain(const hlo_tiling_t* tiling, bool* marks);
/// Returns true if `tiled` needs a reduction.
bool hlo_tiling_needs_reduction(const hlo_tiling_t* tiling, const hlo_tiled_t* tiled);

/// Returns true if loops can compute a node (element types, op, reducer).
bool hlo_tiled_supports(const hlo_node_t* node);
/// Returns true if the node's element types and sizes allow loops, for any op.
bool hlo_tiled_supports_types(const hlo_node_t* node);
/// Returns the value that the loops write to an output: the whole output, or the update of a
/// dynamic_update_slice, whose other elements exist already.
const hlo_value_t* hlo_tiled_written(const hlo_value_t* output);
/// Returns the number of values that reduction `tiled` accumulates.
static inline uint32_t hlo_tiled_result_count(const hlo_tiled_t* tiled) {
  return (tiled->operand_count + 1) / 2;
}
/// Returns the type in which the products of a dot_general are added.
hlo_dtype_t hlo_tiled_sum_dtype(const hlo_node_t* node);
/// Returns the binary op that reduces each result on its own, including a product's. Returns
/// HLO_OP_COUNT for other bodies.
hlo_op_t hlo_tiled_reducer(const hlo_node_t* node, uint32_t result);

static inline bool hlo_tiling_has_reduction(const hlo_tiling_t* tiling) {
  for (uint32_t i = 0; i < tiling->instance_count; ++i) {
    if (tiling->instances[i]->kind == HLO_TILED_REDUCE) return true;
  }
  return false;
}
