// SPDX-License-Identifier: Apache-2.0
// What the parts of kernels share: how the loops of a fusion were chosen. Private to codegen.
#ifndef HLO_CODEGEN_KERNEL_IMPL_H_
#define HLO_CODEGEN_KERNEL_IMPL_H_

#include "codegen/index/tiled.h"
#include "codegen/loops/kernel.h"

typedef struct hlo_matmul hlo_matmul_t;

enum {
  HLO_KERNEL_MAX_SEGMENTS = 128,
  HLO_KERNEL_MAX_PARTIALS = 8,
  HLO_KERNEL_MAX_EDGE = 16,  // of a tile that is transposed in registers
  HLO_KERNEL_MAX_WOVEN = 8,  // vectors that are woven into each other
  HLO_KERNEL_MAX_WOVEN_OUTPUTS = 4,
  HLO_KERNEL_SHARED_INPUTS = 64,  // bits of `shareable`
};

/// What the loops compute at a time.
typedef enum hlo_kernel_kind {
  HLO_KERNEL_POINTS,   // one element of the output; reductions may have lanes of their own
  HLO_KERNEL_LANES,    // lanes along the last loop
  HLO_KERNEL_SQUARES,  // tiles of the last two loops, which are turned in registers
  HLO_KERNEL_WOVEN,    // lanes along the last loop, for all values of woven_digit, side by side
  HLO_KERNEL_VECTOR,   // all of the output, in one vector
} hlo_kernel_kind_t;

/// What chunks are parts of.
typedef enum hlo_kernel_cut {
  HLO_KERNEL_CUT_LOOP,       // the outermost loop
  HLO_KERNEL_CUT_TWO_LOOPS,  // the second loop, each value of the first having chunks of its own
  HLO_KERNEL_CUT_REDUCTION,  // a reduction to one element or columns; a second phase joins them
} hlo_kernel_cut_t;

/// Ranges of the output's digits, [low, end) each.
typedef int64_t hlo_kernel_segment_t[HLO_TILED_MAX_DIGITS][2];

/// threads: immutable after creation
struct hlo_kernel {
  const hlo_fusion_t* fusion;
  const hlo_target_t* target;
  hlo_arena_t* arena;
  uint32_t space_count;
  hlo_tiled_space_t* spaces;  // digits of the output (0) and of reductions
  uint32_t segment_count;
  hlo_kernel_segment_t* segments;
  uint32_t common_levels;     // of the outermost loops, which all segments run in together
  uint32_t loop_count;        // output digits with more than one value, outermost first (kernel_order.c)
  uint32_t loops[HLO_TILED_MAX_DIGITS];
  hlo_kernel_kind_t kind;
  uint32_t lanes;             // of the widest element in a register
  uint32_t woven_digit;       // the innermost, none of the loops
  bool is_streamed;           // an output would leave all caches: it is stored past them
  bool is_sweep;              // sums of columns: rows in blocks, accumulators in outputs' memory
                              // (if it is cut, chunks have rows of their own: in scratch memory)
  hlo_kernel_cut_t cut;
  uint64_t chunk_count;
  int64_t chunk_size;         // of what is cut
  uint64_t parts_per_outer;   // of two loops: chunks per value of the first
  uint32_t split_space;       // of a reduction: its space,
  uint32_t split_digit;       // the number in it of the digit that is cut,
  uint32_t partial_count;     // accumulators of 8 bytes that a chunk leaves for each element
  hlo_verdict_t verdict;      // a "no" ends the choice of loops: what follows is not decided
  double cost_ns;
  double moved_bytes;         // of inputs and outputs, each element once
  uint64_t* shareable;  // by output: bits of inputs that are read only where it is written
  const struct hlo_tile_kernel* tile;  // run by the Tile IR's interpreter instead; NULL: not
  const hlo_matmul_t* matmul;  // a matrix product has loops of its own; NULL: none
};

/// One element, or lanes along one digit, of a kernel whose loops are made elsewhere: what follows
/// the product, and the stores.
typedef struct hlo_point {
  hlo_vir_value_t* const* digits;  // of the output
  uint32_t lane_digit, lanes;
  hlo_vir_value_t* mask;   // active lanes; NULL: all
  hlo_vir_value_t* value;  // of the product there, as its element type is in registers
} hlo_point_t;

typedef struct hlo_point_emitter {
  struct hlo_emitter* emitter;
  struct hlo_emitter* producers[2];  // of the product's operands; NULL: they are in memory
} hlo_point_emitter_t;

static inline bool hlo_kernel_has_lanes(const hlo_kernel_t* kernel) {
  return kernel->kind != HLO_KERNEL_POINTS;
}

/// The outputs that the loops over the output's digits store: those before the side outputs.
static inline uint32_t hlo_kernel_main_count(const hlo_kernel_t* kernel) {
  return kernel->fusion->output_count - kernel->fusion->side_count;
}

/// What the accumulators of a swept reduction are in memory; HLO_DTYPE_INVALID: they
/// cannot be there.
hlo_dtype_t hlo_sweep_dtype(hlo_dtype_t dtype);

/// Returns whether the kernel's loops, which are chosen, can store the side outputs.
hlo_verdict_t hlo_kernel_check_sides(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);

void hlo_point_emit(const hlo_point_emitter_t* points, const hlo_point_t* point);
/// Elements of an operand that is computed, digits being its loops, as registers hold its type.
hlo_vir_value_t* hlo_point_produce(const hlo_point_emitter_t* points, uint32_t side,
                                   const hlo_point_t* point);
/// Where the elements begin that an operand is a view of.
hlo_vir_value_t* hlo_point_view_start(const hlo_point_emitter_t* points, uint32_t side);

/// Whether a load jumps from lane to lane but is plain along `cross`.
bool hlo_is_crossing(const hlo_tiled_t* tiled, uint32_t lane, uint32_t cross);

/// The elements from lane to lane where whole vectors are read for them, negative ones
/// backwards; 0: not so.
int64_t hlo_kernel_lane_step(const hlo_target_t* target, const hlo_expr_t* offset, uint32_t digit);
/// The quotient or remainder by which lanes find their elements in a window of at most so many;
/// NULL: they do not.
const hlo_expr_atom_t* hlo_kernel_lane_window(const hlo_target_t* target, const hlo_expr_t* offset,
                                              uint32_t digit, uint32_t lanes);
/// How many vectors hold a value that lanes look their elements up in, as it is in registers; 0: it
/// is too large, or the target has no permutations.
uint32_t hlo_kernel_table_pieces(const hlo_target_t* target, const hlo_tiled_t* tiled,
                                 uint32_t lanes);

/// Whether lanes can run over `lane` while the values of `woven`, few and innermost in memory, lie
/// side by side in them.
bool hlo_kernel_can_weave(const hlo_tiling_t* tiling, uint32_t lane, uint32_t woven);

/// The loop over short rows whose reductions are finished for several rows at once, as a number
/// among the loops; loop_count: none.
uint32_t hlo_kernel_row_level(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);

/// Whether one vector of so many lanes holds the output, and all that is read for it can be
/// put in its order.
bool hlo_kernel_fits_vector(const hlo_tiling_t* tiling, uint32_t lanes);

/// How the loops of a kernel were cut: more nodes in them are cut there as well, and perhaps
/// further.
typedef struct hlo_kernel_start {
  uint32_t space_count, segment_count;  // 0 segments: nothing is known
  hlo_tiled_space_t spaces[HLO_TILED_MAX_DIGITS];
  hlo_kernel_segment_t segments[HLO_KERNEL_MAX_SEGMENTS];
} hlo_kernel_start_t;

void hlo_kernel_find_start(const hlo_kernel_t* kernel, hlo_kernel_start_t* out_start);

/// Points that those digits run over.
static inline double hlo_tiling_points(const hlo_tiling_t* tiling, uint64_t digits) {
  double product = 1;
  for (; digits; digits &= digits - 1) {
    const hlo_tiled_digit_t* digit = &tiling->digits[__builtin_ctzll(digits)];
    product *= (double)(digit->end - digit->low);
  }
  return product;
}

/// A tiling of the kernel for one segment, digits as chosen.
hlo_status_t hlo_kernel_walk(const hlo_kernel_t* kernel, hlo_arena_t* arena,
                             const hlo_kernel_segment_t* segment,
                             hlo_tiling_t** out_tiling) HLO_MUST_USE;

#endif  // HLO_CODEGEN_KERNEL_IMPL_H_
