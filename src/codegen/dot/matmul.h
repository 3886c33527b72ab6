// SPDX-License-Identifier: Apache-2.0
// Kernels of matrix products and convolutions: all decisions about one, in hlo_matmul_t. GUIDE.md
// describes the strategies. Private to codegen.
//
// The result is rows x columns for every iteration of the outer loops. Operands are swapped where
// that suits a strategy better: A has the rows, B the columns.
//
// Bytes and 16-bit floats are multiplied in groups if the processor can do so. A lane holds 4 or 2
// neighbours along the contraction, and a step of the innermost contracting loop multiplies all of
// them. Bytes of equal signedness are multiplied with A's sign bits flipped; each panel of B begins
// with the correction that this needs for the accumulators of its columns.
//
// An operand that a few ops compute from values in memory is computed where it is packed or, if
// each element is read only once, where it is read. A view, transposed or sliced, is read in place.
//
// Loops of a convolution skip the window positions outside the input, and edge tiles, whose rows
// differ in these positions, have their own code. The gradient of weights multiplies bf16 at two
// window positions at a time, which are joined in a copy of the input.
#pragma once

#include "base/tuning.h"
#include "codegen/dot/dot.h"
#include "codegen/index/contraction.h"
#include "codegen/loops/kernel_form.h"

enum {
  HLO_MATMUL_A,
  HLO_MATMUL_B,
  HLO_MATMUL_MAX_LOOPS = 16,
  HLO_MATMUL_MAX_NARROW = 8,  // steps along the contraction of a narrow product
  HLO_MATMUL_TRANSPOSED = 4,  // columns that are transposed together in a register
  HLO_MATMUL_MAX_PIECES = 24,
  HLO_MATMUL_MAX_SLIDE = 8,
  HLO_MATMUL_CODES_CHUNK = 64,  // codes that are looked up together
  HLO_MATMUL_CODES_GROUP = 2,   // bf16 in a lane
  HLO_MATMUL_CODES_ROWS = HLO_MATMUL_CODES_CHUNK / HLO_MATMUL_CODES_GROUP,
  HLO_MATMUL_INTEGERS_SPAN = 256,  // codes that are multiplied together as integers
};

static inline int64_t hlo_matmul_min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t hlo_matmul_max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/// Limits the steps of a contracting loop to those inside the input, or inside a window, at a step
/// of an output loop: 0 <= first + output step * stride + step * spread < extent.
typedef struct hlo_matmul_limit {
  bool is_used;
  int32_t loop;  // of the output
  int64_t first, stride, spread, extent;
  int64_t wrap_at, wrap;  // from output step `wrap_at` on, the position is `wrap` further; 0:
                          // never
} hlo_matmul_limit_t;

/// A loop: its extent, and the elements by which a step moves each operand, in place (`from`) and
/// where the product reads the operand (`strides`).
typedef struct hlo_matmul_dim {
  int64_t extent;
  int64_t from[2], strides[2];
  int32_t loop;     // of the output; -1: none
  int64_t wrap_at;  // from this step on the operands are `wrap` elements further; 0: never
  int64_t wrap[2];
  uint32_t place[2];  // loop of a computed operand, plus 1; 0: none
  int64_t together;   // elements per step; 0: one
  uint32_t window;    // loops of a convolution that a limit connects; 0: none
  hlo_matmul_limit_t limit;
} hlo_matmul_dim_t;

/// Returns the steps of nested loops.
static inline int64_t hlo_matmul_extent(const hlo_matmul_dim_t* dims, uint32_t count) {
  int64_t extent = 1;
  for (uint32_t i = 0; i < count; ++i) extent *= dims[i].extent;
  return extent;
}

static inline bool hlo_matmul_moves(const hlo_matmul_dim_t* dim, uint32_t side) {
  return dim->from[side] || dim->wrap[side] || dim->place[side];
}

typedef enum hlo_matmul_origin {
  HLO_MATMUL_FROM_INPUT,  // an input, or a view of one at a constant offset
  HLO_MATMUL_FROM_VIEW,   // the elements of an input at an offset known at run time
  HLO_MATMUL_COMPUTED,    // from inputs
} hlo_matmul_origin_t;

/// An operand without memory of its own: members of the fusion compute each element from the
/// fusion's inputs where it is packed or read. The `from` strides of the loops are then those of
/// the largest input or, for a view, those of the viewed input.
typedef struct hlo_matmul_prologue {
  hlo_matmul_origin_t origin;
  bool is_forced;           // it would not be packed if it were in memory
  hlo_value_t* value;       // the operand
  hlo_tiled_space_t space;  // the loops that move along the operand
  // Per loop of the product that moves along the operand, outermost first: steps of the inner loop
  // if the space has two loops for it, over blocks and inside of one; 0: one loop.
  int64_t blocks[HLO_MATMUL_MAX_LOOPS];
  uint32_t place_count;   // such loops of the product
  uint64_t inputs;        // bits of the fusion's inputs that it reads
  uint64_t lane_loops;    // loops along which lanes can compute all elements
  double vector_ops;      // per vector of elements
  double read_bytes;      // all bytes that it reads
  uint32_t widest_bytes;  // of an element in a register
} hlo_matmul_prologue_t;

/// Where the product reads an operand. Copies have the type of the multiplication.
typedef enum hlo_matmul_packing {
  HLO_MATMUL_IN_PLACE,
  HLO_MATMUL_ON_STACK,          // B: each block, on the stack where it is used
  HLO_MATMUL_IN_SLICES,         // B: each block, in a slice of scratch memory per chunk
  HLO_MATMUL_BY_FIRST_TILE,     // the same, by the first tile that uses it, while it computes
  HLO_MATMUL_PANELS,            // B as a whole, before the product: panels of contiguous rows
  HLO_MATMUL_LINES_OF_ROWS,     // A as a whole, before the product: each row is a line,
  HLO_MATMUL_LINES_OF_STEPS,    // or each step,
  HLO_MATMUL_TRANSPOSED_LINES,  // or each row, from columns that are contiguous in place
} hlo_matmul_packing_t;

/// Narrow codes along the contraction that tables widen to an operand of bf16, and the scales by
/// which they are multiplied, one for each block.
typedef struct hlo_matmul_codes {
  hlo_dtype_t dtype;    // INVALID: the operand is read or computed otherwise
  uint32_t input;       // input number in the fusion
  int64_t block;        // elements; 0: no scales
  uint32_t scales;      // input number in the fusion
  hlo_dtype_t scale;    // type of the scales in memory,
  hlo_dtype_t widened;  // and where the graph multiplies by them
} hlo_matmul_codes_t;

typedef struct hlo_matmul_operand {
  uint32_t node_operand;  // operand number in the node
  uint32_t input;         // input number in the fusion
  hlo_dtype_t dtype;      // in the memory that is read, in place or padded
  int64_t first;          // element from which the loops start
  hlo_matmul_packing_t packing;
  hlo_matmul_prologue_t prologue;
  hlo_matmul_codes_t codes;  // of B, and of A for integers, if lanes run by codes; else of a packed
                             // operand
} hlo_matmul_operand_t;

/// Returns true if all of the operand is copied before the product.
static inline bool hlo_matmul_is_packed(const hlo_matmul_operand_t* operand) {
  return operand->packing >= HLO_MATMUL_PANELS;
}

/// Returns true if the operand is an input or computed from it.
static inline bool hlo_matmul_reads(const hlo_matmul_operand_t* operand, uint32_t input) {
  return operand->input == input || operand->prologue.inputs >> input & 1;
}

/// Returns true if the operand's elements are computed.
static inline bool hlo_matmul_is_produced(const hlo_matmul_operand_t* operand) {
  return operand->prologue.origin == HLO_MATMUL_COMPUTED;
}

/// Returns the innermost loop of the prologue's space for a place of its operand, from 0.
static inline uint32_t hlo_matmul_inner_loop(const hlo_matmul_prologue_t* prologue,
                                             uint32_t place) {
  uint32_t loop = place;
  for (uint32_t i = 0; i <= place; ++i) loop += prologue->blocks[i] > 0;
  return loop;
}

/// Returns true if `lanes` lanes along the loop, from a multiple of them on, can compute the
/// operand's elements: they are in one block.
static inline bool hlo_matmul_lanes_find(const hlo_matmul_operand_t* operand,
                                         const hlo_matmul_dim_t* dim, uint32_t side,
                                         uint32_t lanes) {
  const hlo_matmul_prologue_t* prologue = &operand->prologue;
  if (!dim->place[side]) return true;
  const uint32_t place = dim->place[side] - 1;
  return prologue->blocks[place] % lanes == 0 &&
         (prologue->lane_loops >> hlo_matmul_inner_loop(prologue, place) & 1);
}

/// A copy of a convolution's operand in the type of the multiplication, with zeros around and
/// between its elements, so that all window positions are inside. Signs of bytes are flipped, too.
/// A pair of bf16 is an element and the one `pair_step` later along `pair_dim`, as 32 bits.
typedef struct hlo_matmul_padding {
  bool is_used;
  uint32_t rank;
  hlo_dtype_t from_dtype;
  int64_t from[HLO_CONTRACTION_MAX_RANK], to[HLO_CONTRACTION_MAX_RANK];  // extents
  int64_t low[HLO_CONTRACTION_MAX_RANK], dilation[HLO_CONTRACTION_MAX_RANK];
  uint32_t pair_dim;
  int64_t pair_step;  // 0: no pairs
} hlo_matmul_padding_t;

typedef enum hlo_matmul_phase {
  HLO_MATMUL_PAD,
  HLO_MATMUL_PACK,
  HLO_MATMUL_MULTIPLY,
  HLO_MATMUL_JOIN,  // adds the accumulators of blocks
} hlo_matmul_phase_t;

/// A copy of an operand in scratch memory: lines of a padded input or of A, panels of B.
typedef struct hlo_matmul_copy {
  int64_t count;  // 0: no copy
  int64_t per_chunk, chunk_count;
  size_t offset_bytes;
} hlo_matmul_copy_t;

/// One vector of a panel's columns.
typedef struct hlo_matmul_piece {
  uint32_t offset, lanes, active;
} hlo_matmul_piece_t;

/// A kind of panel: adjacent columns in registers, and the cut of its rows. `tall_count` tiles have
/// `height` rows, the others one row less. Each stripe of rows has `part_count` units of tiles.
typedef struct hlo_matmul_panel {
  uint32_t piece_count;
  hlo_matmul_piece_t pieces[HLO_MATMUL_MAX_PIECES];
  int64_t height, tile_count, tall_count, part_count;
} hlo_matmul_panel_t;

/// How the contraction is cut, and the memory of accumulators between blocks.
typedef enum hlo_matmul_split {
  HLO_MATMUL_WHOLE,
  HLO_MATMUL_BLOCKS_IN_OUTPUT,
  HLO_MATMUL_BLOCKS_IN_SCRATCH,
  HLO_MATMUL_PARTS,  // of blocks, in scratch memory; a last phase joins the parts
} hlo_matmul_split_t;

/// The elements of A that a tile prefetches.
typedef enum hlo_matmul_fetch {
  HLO_MATMUL_FETCH_NOTHING,
  HLO_MATMUL_FETCH_ROWS,   // of the next tile
  HLO_MATMUL_FETCH_STEPS,  // the lines of its adjacent rows, some steps ahead
} hlo_matmul_fetch_t;

/// How lanes run; the table in matmul_strategy.c says what goes with each.
typedef enum hlo_matmul_strategy {
  HLO_MATMUL_BY_COLUMN,    // along columns of B; an element of A is broadcast to all lanes
  HLO_MATMUL_BY_POSITION,  // the same, where B is the input of a convolution
  HLO_MATMUL_BY_CHANNEL,   // along channels of both operands of a depthwise convolution
  HLO_MATMUL_BY_DEPTH,     // along the contraction
  HLO_MATMUL_IN_TILES,     // along columns, in tile registers
  HLO_MATMUL_BY_CODES,     // along the contraction, in pairs that tables give for B's codes
  HLO_MATMUL_BY_QUADS,     // along the contraction, four bytes in each
  HLO_MATMUL_NARROW,       // along several rows, times a matrix smaller than a vector
  HLO_MATMUL_STRATEGIES,
} hlo_matmul_strategy_t;

/// threads: immutable
typedef struct hlo_matmul {
  const hlo_target_t* target;
  const hlo_kernel_config_t* config;  // choices that are given; NULL: none
  hlo_matmul_strategy_t strategy;
  hlo_contraction_t contraction;
  hlo_verdict_t verdict;  // a "no" ends the choice; later fields are undefined then
  hlo_dtype_t dtype;      // of products and accumulators
  uint32_t element_bytes, lanes;
  uint32_t group, last_group;   // elements in a lane, in the last group of the contraction
  int64_t group_from[2];        // elements in place from one element of a group to the next
  const hlo_tile_atom_t* tile;  // atom of tile registers; NULL: vectors
  bool stores_rows;             // one by one from memory, since the epilogue needs many
                                // registers
  hlo_matmul_fetch_t fetch;
  int32_t accumulators_output;  // output that may hold accumulators between blocks; -1: none
  hlo_matmul_operand_t operands[2];
  bool is_convolution;  // and not a plain matrix product
  int64_t repeat;       // adjacent columns that share one channel of A; 1: one
  int64_t slide;        // steps whose rows of A are loaded once for all rows of a tile
  hlo_matmul_padding_t padding[2];
  uint32_t outer_count, depth_count;
  hlo_matmul_dim_t outer[HLO_MATMUL_MAX_LOOPS], rows, columns, depth[HLO_MATMUL_MAX_LOOPS];
  int64_t outer_extent, depth_extent;
  int64_t panel_width, full_panels, panel_count;
  hlo_matmul_panel_t full, edge;
  int64_t panel_stride;  // elements from a panel of B to the next
  hlo_matmul_split_t split;
  int64_t block_steps, block_count;   // along the contraction
  int64_t part_count, part_blocks;    // parts with separate accumulators, and their blocks
  size_t accumulators_offset;         // in the scratch memory
  int64_t accumulators_bytes;         // of all accumulators of one part
  int64_t accumulators_stride;        // elements from a row to the next
  size_t slices_offset, slice_bytes;  // in the scratch memory
  int64_t stripe_count;               // of rows, each for all panels
  int64_t unit_count;                 // units: parts of a panel's tiles in a stripe
  int64_t units_per_chunk;            // of narrow products; otherwise units are
                                      // distributed evenly
  hlo_matmul_copy_t copies[HLO_MATMUL_PACK + 1][2];  // by phase, operand
  uint64_t chunk_count;
  double cost_ns;         // of all products on one thread
  int64_t rows_together;  // rows that one vector of a narrow product holds
  size_t scratch_bytes;
} hlo_matmul_t;

/// Returns true if A's bytes are multiplied with their signs flipped, since both operands are
/// signed or both are unsigned.
static inline bool hlo_matmul_is_flipped(const hlo_matmul_t* matmul) {
  const hlo_matmul_operand_t* operands = matmul->operands;
  return matmul->group == sizeof(int32_t) && matmul->strategy != HLO_MATMUL_IN_TILES &&
         matmul->strategy != HLO_MATMUL_BY_QUADS &&
         operands[HLO_MATMUL_A].dtype == operands[HLO_MATMUL_B].dtype;
}

/// Returns true if lanes run along the contraction: columns and results are single lanes.
static inline bool hlo_matmul_is_along(const hlo_matmul_t* matmul) {
  return matmul->strategy == HLO_MATMUL_BY_DEPTH || matmul->strategy == HLO_MATMUL_BY_CODES ||
         matmul->strategy == HLO_MATMUL_BY_QUADS;
}

/// Returns true if lanes run by codes of both operands, which are multiplied as integers.
static inline bool hlo_matmul_has_integers(const hlo_matmul_t* matmul) {
  return matmul->strategy == HLO_MATMUL_BY_CODES &&
         matmul->operands[HLO_MATMUL_A].codes.dtype != HLO_DTYPE_INVALID;
}

/// Returns true if B is packed block by block, and if that is in slices of scratch memory.
static inline bool hlo_matmul_has_blocks(const hlo_matmul_t* matmul) {
  const hlo_matmul_packing_t packing = matmul->operands[HLO_MATMUL_B].packing;
  return packing >= HLO_MATMUL_ON_STACK && packing <= HLO_MATMUL_BY_FIRST_TILE;
}
static inline bool hlo_matmul_has_slices(const hlo_matmul_t* matmul) {
  return hlo_matmul_has_blocks(matmul) &&
         matmul->operands[HLO_MATMUL_B].packing != HLO_MATMUL_ON_STACK;
}

/// Returns the bytes of a cache line and of the second cache.
static inline int64_t hlo_matmul_line_bytes(const hlo_matmul_t* matmul) {
  return hlo_target_line_bytes(matmul->target);
}
static inline int64_t hlo_matmul_cache_bytes(const hlo_matmul_t* matmul) {
  return matmul->target->tile.memories[2].capacity_bytes;
}

/// Returns the product's decisions for a kernel.
static inline const hlo_matmul_t* hlo_matmul_of(const hlo_kernel_t* kernel) {
  return kernel->form.plan;
}

/// Returns true if tables widen the operand's codes where it is packed.
static inline bool hlo_matmul_widens(const hlo_matmul_operand_t* operand) {
  return hlo_matmul_is_produced(operand) && operand->codes.dtype != HLO_DTYPE_INVALID;
}

/// Lanes to be packed, `stride` elements apart in place. Lanes from `active` on become zero, and so
/// do all elements of a group from `parts` on.
typedef struct hlo_matmul_lanes {
  hlo_vir_value_t* from;
  int64_t stride;
  uint32_t lanes, active, parts;
} hlo_matmul_lanes_t;

/// The source of an operand: an address or, for a computed operand, an index along each of its
/// loops (NULL: the first).
typedef struct hlo_matmul_source {
  hlo_vir_value_t* base;
  hlo_vir_value_t* places[HLO_MATMUL_MAX_LOOPS];
  hlo_vir_value_t *codes, *scales;  // addresses of the first ones, if tables widen the operand
} hlo_matmul_source_t;

/// A list of loops, outermost first.
typedef struct hlo_matmul_loops {
  uint32_t count;
  hlo_matmul_dim_t dims[2 * HLO_CONTRACTION_MAX_RANK];
} hlo_matmul_loops_t;

/// Appends a loop, or merges it into the last loop if that is at `first` or later. Loops of one
/// step are dropped.
void hlo_matmul_add_loop(hlo_matmul_loops_t* loops, uint32_t first, hlo_matmul_dim_t dim);
void hlo_matmul_swap_operands(hlo_matmul_dim_t* dim);
/// Makes rows of the columns and A of B.
void hlo_matmul_swap_roles(hlo_matmul_t* matmul);
/// Returns true if an operand of a dot is narrow codes that are converted to bf16 and perhaps
/// multiplied by scales of blocks, many enough to be looked up where they are used.
bool hlo_matmul_is_of_codes(const hlo_node_t* node, uint32_t side);
/// Lets lanes run by codes if there are few rows and B or, after swapping roles, A is of codes, and
/// no configuration is given.
bool hlo_matmul_choose_codes(hlo_matmul_t* matmul, const hlo_kernel_t* kernel);
/// Finds the codes that packing an operand can widen by tables. Needs the lanes.
void hlo_matmul_find_codes(hlo_matmul_t* matmul, const hlo_kernel_t* kernel);

/// Returns true if these kernels compute the convolution.
bool hlo_convolution_supports(const hlo_node_t* node);
/// Makes the loops of a convolution: output positions and features, and the contracting loops over
/// window and input features. Clears `is_convolution` if they are those of a plain matrix product.
hlo_verdict_t hlo_convolution_make_loops(hlo_matmul_t* matmul, hlo_tiled_space_t* space);
enum { HLO_MATMUL_MAX_CUTS = 6 };
/// A cut of a loop of the result into two, the inner one of `inner` steps.
typedef struct hlo_matmul_cut {
  uint32_t loop;
  int64_t inner;
} hlo_matmul_cut_t;

/// The form of loops that stores the epilogue in the order of its own output.
typedef struct hlo_matmul_form {
  uint32_t cut_count;
  hlo_matmul_cut_t cuts[HLO_MATMUL_MAX_CUTS];  // of loops as the earlier cuts leave them
  bool is_transposed;                          // lanes run along the former rows
} hlo_matmul_form_t;

/// Adds a cut if it costs the product nothing, else returns false.
bool hlo_matmul_cut(const hlo_matmul_t* matmul, hlo_matmul_cut_t cut, hlo_matmul_form_t* form);
/// Swaps rows and columns if operands are then read at least as well.
bool hlo_matmul_transpose_form(const hlo_matmul_t* matmul, hlo_matmul_form_t* form);
/// Decides how the product is computed, and the loops of its output, or says no in its verdict.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_create(const hlo_kernel_t* kernel, const hlo_node_t* node,
                               const hlo_matmul_form_t* form, hlo_arena_t* arena,
                               hlo_tiled_space_t* out_space,
                               hlo_matmul_t** out_matmul) HLO_MUST_USE;
/// Decides the rest once the lanes are known, or says no in its verdict.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_finish(hlo_matmul_t* matmul, const hlo_kernel_t* kernel,
                               hlo_tile_memo_t* memo) HLO_MUST_USE;

/// Checks that the decisions for a product are a legal combination (matmul_strategy.c lists them).
/// errors: INTERNAL, naming the broken rule
hlo_status_t hlo_matmul_verify(const hlo_matmul_t* matmul) HLO_MUST_USE;

/// The vectors side by side (columns, if lanes run along the contraction) and the rows of a tile.
typedef struct hlo_matmul_accumulators {
  int64_t width, height;
} hlo_matmul_accumulators_t;

/// Chooses the tile that computes the product fastest, unless the target's description names one.
/// `width`: a required width, or 0.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_choose_accumulators(const hlo_matmul_t* matmul, hlo_tile_memo_t* memo,
                                            int64_t width,
                                            hlo_matmul_accumulators_t* out_tile) HLO_MUST_USE;
/// Returns true if accumulators of that size fit the registers beside the operands, and the
/// strategy has tiles of different sizes. errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_is_possible_tile(const hlo_matmul_t* matmul,
                                         const hlo_matmul_accumulators_t* tile,
                                         bool* out_is_possible) HLO_MUST_USE;
/// Lists the register tiles that fit as configurations, the fastest estimate first; `base` has the
/// other choices of each.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_list_tiles(const hlo_matmul_t* matmul, const hlo_kernel_config_t* base,
                                   uint32_t most, hlo_kernel_configs_t* list) HLO_MUST_USE;
/// Serves hlo_kernel_list_configs().
hlo_status_t hlo_matmul_list_configs(const hlo_matmul_t* matmul, bool is_exhaustive,
                                     hlo_kernel_configs_t* list) HLO_MUST_USE;
/// Returns the tile of a product by codes.
hlo_matmul_accumulators_t hlo_matmul_codes_tile(const hlo_matmul_t* matmul);
/// Returns the tile of a product by four bytes in each lane along the contraction.
hlo_matmul_accumulators_t hlo_matmul_quads_tile(const hlo_matmul_t* matmul);
/// Prints the system that chose the tile, and its solution.
hlo_status_t hlo_matmul_explain_accumulators(const hlo_matmul_t* matmul,
                                             hlo_strbuf_t* out) HLO_MUST_USE;
/// Prints all tiles that fit the registers, the fastest estimate first. Each line has the format of
/// machine descriptions (hlo_tile_tuned_print()), the time, and a mark on the chosen tile.
hlo_status_t hlo_matmul_print_tiles(const hlo_matmul_t* matmul, hlo_strbuf_t* out) HLO_MUST_USE;
/// Returns true if B is packed for panels of `tiles` tiles.
bool hlo_matmul_packs_b(const hlo_matmul_t* matmul, int64_t tiles);
/// Returns true if B of `bytes` bytes is packed per block, because the whole would be evicted from
/// the caches before its use, and enough rows use a panel.
bool hlo_matmul_may_slice(const hlo_matmul_t* matmul, int64_t bytes);
/// Returns true if A is packed for `panels` panels and tiles of `height` rows.
bool hlo_matmul_packs_a(const hlo_matmul_t* matmul, int64_t panels, int64_t height);

/// Returns the elements that one instruction multiplies in a lane, or 1. `accumulators`: their
/// type, `depth`: the number of products that each adds up.
uint32_t hlo_matmul_group_of(const hlo_target_t* target, const hlo_node_t* node,
                             hlo_dtype_t accumulators, double depth);
/// Returns true if the operands of a few rows can be multiplied so, B in place.
bool hlo_matmul_takes_quads(const hlo_matmul_t* matmul);
/// Returns true for bytes whose larger operand, contiguous along the contraction, is read in place.
bool hlo_matmul_is_of_quads(const hlo_node_t* node, uint32_t side);
/// Returns true if an instruction multiplies four bytes in a lane and there are enough rows to pack
/// B for it.
bool hlo_matmul_has_quads(const hlo_matmul_t* matmul);
/// Decides if elements are multiplied in groups, unless a convolution has decided before. The
/// innermost contracting loop then runs over groups.
void hlo_matmul_choose_group(hlo_matmul_t* matmul);
/// Returns true if tile registers multiply elements of this type (S8: bytes), by the target's atoms
/// and their rates. If so, decides their groups.
bool hlo_matmul_choose_tiles(hlo_matmul_t* matmul, hlo_dtype_t operand);
/// Returns the instruction that multiplies elements of this type in tile registers or in vectors;
/// NULL: none.
const hlo_tile_atom_t* hlo_matmul_atom(const hlo_tile_target_t* target, hlo_dtype_t operand,
                                       bool is_tile);
/// Returns the elements along the contraction per step of tile registers, or 0 without them.
int64_t hlo_matmul_tile_depth(const hlo_target_t* target, const hlo_node_t* node,
                              hlo_dtype_t accumulators, double depth);
/// Returns the size of a tile.
hlo_matmul_accumulators_t hlo_matmul_tile_size(const hlo_matmul_t* matmul);
/// Returns the groups of a packed operand, with zeros after the last one.
int64_t hlo_matmul_filled_steps(const hlo_matmul_t* matmul);
/// Returns the number of blocks of A's rows that stay in the second cache while all panels use
/// them.
int64_t hlo_matmul_tile_blocks(const hlo_matmul_t* matmul);
/// Returns the time of all products of tiles.
double hlo_matmul_tile_ns(const hlo_matmul_t* matmul);
/// Returns sum + x y for `x` of A (flipped) and `y` of B.
hlo_vir_value_t* hlo_matmul_add_groups(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                       hlo_vir_value_t* sum, hlo_vir_value_t* x,
                                       hlo_vir_value_t* y);
hlo_vir_value_t* hlo_matmul_flip(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                 hlo_vir_value_t* value);
/// Loads lanes of packed groups, 32 bits each, as a vector of any type.
hlo_vir_value_t* hlo_matmul_load_groups(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                        uint32_t side, const hlo_matmul_lanes_t* at);
/// Moves lane order[i] to lane i.
hlo_vir_value_t* hlo_matmul_permute(hlo_vir_builder_t* b, hlo_vir_value_t* value,
                                    const uint8_t* order);
/// Joins consecutive vectors in `parts` into one.
hlo_vir_value_t* hlo_matmul_join(hlo_vir_builder_t* b, hlo_vir_value_t** parts, uint32_t count);
/// Interleaves vectors of equal lanes: the first lanes of all vectors, then the second ones, and so
/// on. `count`: 2 or 4.
hlo_vir_value_t* hlo_matmul_interleave(hlo_vir_builder_t* b, hlo_vir_value_t* const* rows,
                                       uint32_t count);
/// Decides units and chunks if several rows fit a vector side by side and the epilogue allows it,
/// else returns false.
bool hlo_matmul_choose_narrow(hlo_matmul_t* matmul, const hlo_fusion_t* fusion);

uint32_t hlo_matmul_phase_count(const hlo_matmul_t* matmul);
/// hlo_kernel_prepares().
bool hlo_matmul_prepares(const hlo_matmul_t* matmul, uint32_t input);
uint64_t hlo_matmul_chunk_count(const hlo_matmul_t* matmul, uint32_t phase);
hlo_matmul_phase_t hlo_matmul_phase(const hlo_matmul_t* matmul, uint32_t number);
/// Returns the elements of a packed panel of B before its first row.
static inline int64_t hlo_matmul_first_row(const hlo_matmul_t* matmul) {
  return hlo_matmul_is_flipped(matmul) ? matmul->panel_width : 0;
}
/// Returns the kind of most panels.
static inline const hlo_matmul_panel_t* hlo_matmul_main_panel(const hlo_matmul_t* matmul) {
  return matmul->full_panels ? &matmul->full : &matmul->edge;
}
/// Returns the units of a stripe: parts of its panels. Units of the same panel are consecutive.
static inline int64_t hlo_matmul_stripe_units(const hlo_matmul_t* matmul) {
  return matmul->full_panels * matmul->full.part_count +
         (matmul->edge.piece_count ? matmul->edge.part_count : 0);
}
/// Returns the elements of the output by which a step of the loop moves; 0 without a loop.
int64_t hlo_matmul_output_stride(const hlo_matmul_t* matmul, int32_t loop);
/// Returns the start of an operand's loops, before packing.
hlo_vir_value_t* hlo_matmul_source(const hlo_kernel_t* kernel, uint32_t side,
                                   const hlo_point_emitter_t* points, hlo_vir_builder_t* b,
                                   hlo_vir_value_t* const* addresses);
/// Emits a phase of any strategy.
void hlo_matmul_emit(const hlo_kernel_t* kernel, uint32_t phase, const hlo_point_emitter_t* points,
                     hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                     hlo_vir_value_t* chunk);
/// Appends the strategy in words.
void hlo_matmul_print_strategy(const hlo_matmul_t* matmul, hlo_strbuf_t* out);
/// Emits the phases before the product: the padded copy, packing.
void hlo_matmul_emit_padding(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                             hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk);
/// Packs rows low <= number of a panel up to the block's end, from their source in place to `to`.
void hlo_matmul_pack_block(const hlo_matmul_t* matmul, const hlo_point_emitter_t* points,
                           hlo_vir_builder_t* b, const hlo_matmul_panel_t* panel,
                           const hlo_matmul_source_t* from, hlo_vir_value_t* to,
                           hlo_vir_value_t* low);
void hlo_matmul_emit_packing(const hlo_kernel_t* kernel, const hlo_point_emitter_t* points,
                             hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                             hlo_vir_value_t* chunk);

/// Finds the addresses of an operand's codes and scales, if tables widen it.
void hlo_matmul_locate_codes(const hlo_matmul_t* matmul, uint32_t side,
                             hlo_vir_value_t* const* addresses, hlo_matmul_source_t* source);
/// Returns the number of the source's element in the operand.
hlo_vir_value_t* hlo_matmul_number_of(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                      uint32_t side, const hlo_matmul_source_t* source);
/// Returns the code with these low bits, as a byte in memory.
uint8_t hlo_matmul_code(hlo_dtype_t dtype, uint32_t low);
/// Returns the least power of two times which all values of a type of at most 8 bits are signed
/// bytes; 0: none is.
int32_t hlo_matmul_integer_factor(hlo_dtype_t dtype);
/// Copies a line of A for products of integers.
void hlo_matmul_pack_integers(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                              const hlo_matmul_source_t* source, hlo_vir_value_t* to);
/// Returns the elements of a chunk of codes along the contraction, in order: two registers of
/// pairs.
void hlo_matmul_widen_chunk(const hlo_matmul_t* matmul, hlo_vir_builder_t* b, uint32_t side,
                            const hlo_matmul_source_t* source, hlo_vir_value_t* out_pairs[2]);
/// Returns chunks of columns first <= number < end of B, a register of columns, as rows of pairs.
void hlo_matmul_widen_columns(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                              const hlo_matmul_source_t* source, uint32_t first, uint32_t end,
                              hlo_vir_value_t* out_rows[HLO_MATMUL_CODES_ROWS]);

/// Returns true if B is packed by transposing blocks in registers, because its columns are
/// contiguous along the contraction.
bool hlo_matmul_transposes_columns(const hlo_matmul_t* matmul);
/// Finds the ops that compute an operand that is not an input of the fusion, or says no in the
/// product's verdict. Sets the strides of the loops.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_find_prologue(hlo_matmul_t* matmul, const hlo_kernel_t* kernel,
                                      uint32_t side) HLO_MUST_USE;
/// Returns a verdict: computing operands in the product must be cheaper than writing and reading
/// them. Needs the number of computations per element.
hlo_verdict_t hlo_matmul_weigh_prologues(const hlo_matmul_t* matmul);
/// Finds the elements of the fusion's inputs that an operand is computed from, over the operand's
/// loops.
/// errors: RESOURCE_EXHAUSTED; the verdict is in the tiling
hlo_status_t hlo_matmul_walk_prologue(const hlo_kernel_t* kernel,
                                      const hlo_matmul_prologue_t* prologue, hlo_arena_t* arena,
                                      hlo_tiling_t** out_tiling) HLO_MUST_USE;
/// Returns true if a member of the fusion is used only by an operand of the product.
bool hlo_matmul_is_for_operand(const hlo_matmul_t* matmul, const hlo_fusion_t* fusion,
                               const hlo_node_t* node);
/// Returns the source moved by `count` steps of a loop.
void hlo_matmul_move(const hlo_matmul_t* matmul, uint32_t side, hlo_vir_builder_t* b,
                     const hlo_matmul_dim_t* dim, hlo_vir_value_t* count,
                     hlo_matmul_source_t* source);
/// Returns `lanes` computed elements along a loop (NULL: all equal) from the source on, in the
/// register form of the operand's type. `mask`: the lanes that are needed; NULL: all.
hlo_vir_value_t* hlo_matmul_produce(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                    const hlo_point_emitter_t* points, uint32_t side,
                                    const hlo_matmul_dim_t* dim, const hlo_matmul_source_t* source,
                                    uint32_t lanes, hlo_vir_value_t* mask);
