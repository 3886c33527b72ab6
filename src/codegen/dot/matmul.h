// SPDX-License-Identifier: Apache-2.0
// Kernels of matrix products: register tiles of sums over loops of fused multiply-adds, operands
// read in place where that is as fast, else copied ("packed") into scratch memory first. What
// follows the product elementwise is computed before the tile is stored. Private to codegen.
//
// The result is rows x columns for every value of the outer loops; lanes run over columns. Operand
// A is broadcast element by element, operand B read in vectors. Operands are swapped when the
// product is a matrix times a vector.
//
// Where there are few rows, and the columns of B are contiguous along the contraction, lanes run
// along that instead and a tile's sums are folded at its end. Operands are swapped when it is the
// columns that are few.
//
// A long contraction is cut into blocks, with the sums so far in the output or scratch memory
// between them, so that a panel's block is used for all rows while the caches hold it.
//
// Bytes and bf16 are multiplied in groups where the processor can: a lane holds 4 or 2 neighbours
// along the contraction, and a step of the innermost contracting loop takes all of them. Bytes of
// equal signedness are multiplied with A's sign bits turned, and each panel of B begins with what
// that adds to its columns' sums. A large B that few rows meet is packed block by block on the
// stack; of one that does not fit the caches each chunk packs a block at a time in scratch memory:
// the first tile that meets it on its way where B's rows are only copied or converted, else before
// the tiles. The last ones ask for what the next block is packed from. Where there are few panels
// to share out, chunks take parts of the contraction, which are summed apart and joined at the end.
//
// Processors with tile registers multiply all of these in those (matmul_tiles.c) where that takes
// less time; convolutions, of whole steps of features, then have zeros around their input.
//
// An operand that a few ops make of something in memory is computed where it is packed or, where
// each element is read once, where it is read; a view, transposed or cut out, is read where it is.
//
// A convolution whose lanes run along features reads the input in place: loops leave out the places
// of the window that are outside, and tiles at the edge, where rows differ in them, have code of
// their own. Lanes of a depthwise one are channels of both operands; a vector of the input is
// loaded once for all rows of a tile that meet it. The gradient of weights multiplies bf16 two
// places of the window at a time, which are joined in a copy of the input. Where each element of
// the input meets one place of the window at most, it is a product of matrices like others.
#ifndef HLO_CODEGEN_DOT_MATMUL_H_
#define HLO_CODEGEN_DOT_MATMUL_H_

#include "codegen/dot/dot.h"
#include "codegen/index/contraction.h"
#include "codegen/loops/kernel_form.h"

enum {
  HLO_MATMUL_A,
  HLO_MATMUL_B,
  HLO_MATMUL_MAX_LOOPS = 16,
  HLO_MATMUL_MAX_NARROW = 8,  // steps along the contraction of a narrow product
  HLO_MATMUL_TRANSPOSED = 4,      // columns that are transposed together in a register
  HLO_MATMUL_MAX_PIECES = 24,
  HLO_MATMUL_MAX_SLIDE = 8,
  HLO_MATMUL_STREAM_SHARE = 4,  // of the first cache: what streams through beside a tile's rows
};

/// Which steps of a contracting loop are inside of the input, or of a window, at a step of a loop
/// of the output: 0 <= first + output step * stride + step * spread < extent.
typedef struct hlo_matmul_limit {
  bool is_used;
  int32_t loop;  // of the output
  int64_t first, stride, spread, extent;
  int64_t wrap_at, wrap;  // from that output step on it is `wrap` further; 0: never
} hlo_matmul_limit_t;

/// A loop: its extent, the elements that a step moves each operand by, in place (`from`) and where
/// the product reads it.
typedef struct hlo_matmul_dim {
  int64_t extent;
  int64_t from[2], strides[2];
  int32_t loop;    // of the output; -1: none
  int64_t wrap_at;  // from this step on the operands are `wrap` elements further; 0: never
  int64_t wrap[2];
  uint32_t place[2];  // of an operand that is computed, the loop's digit + 1; 0: none
  int64_t together;   // elements that a step takes; 0: one
  uint32_t window;    // of a convolution, loops that a limit connects; 0: none
  hlo_matmul_limit_t limit;
} hlo_matmul_dim_t;

static inline bool hlo_matmul_moves(const hlo_matmul_dim_t* dim, uint32_t side) {
  return dim->from[side] || dim->wrap[side] || dim->place[side];
}

/// What an operand is that no memory holds: computed by members of the fusion, from its inputs, for
/// each element where it is packed or read. `from` of the loops are then the strides of the largest
/// input, or, of a view, those of the one that it is a part of.
typedef struct hlo_matmul_prologue {
  bool is_used;
  bool is_view;             // the same elements as the input's, at a place that running tells
  bool is_forced;           // would not be packed if it were in memory
  hlo_value_t* value;       // the operand
  hlo_tiled_space_t space;  // the loops that move along it, as digits
  uint64_t inputs;          // bits of those of the fusion that it reads
  uint64_t lane_loops;     // along which lanes find all elements
  double vector_ops;        // for a vector of elements
  double read_bytes;        // all that it reads
  uint32_t widest_bytes;    // of an element in a register
} hlo_matmul_prologue_t;

typedef struct hlo_matmul_operand {
  uint32_t node_operand;  // its number in the node
  uint32_t input;         // and among the fusion's inputs
  hlo_dtype_t dtype;      // where it is read from, in place or padded
  int64_t first;          // element that the loops start from
  bool is_packed;         // converted and copied to `offset_bytes` of the scratch memory
  size_t offset_bytes;
  hlo_matmul_prologue_t prologue;
} hlo_matmul_operand_t;

/// Whether it is made of an input.
static inline bool hlo_matmul_reads(const hlo_matmul_operand_t* operand, uint32_t input) {
  return operand->input == input || operand->prologue.inputs >> input & 1;
}

/// Whether its elements are computed.
static inline bool hlo_matmul_is_produced(const hlo_matmul_operand_t* operand) {
  return operand->prologue.is_used && !operand->prologue.is_view;
}

/// Whether lanes along the loop find all that its elements are computed of.
static inline bool hlo_matmul_lanes_find(const hlo_matmul_operand_t* operand,
                                         const hlo_matmul_dim_t* dim, uint32_t side) {
  return !dim->place[side] || operand->prologue.lane_loops >> (dim->place[side] - 1) & 1;
}

/// A copy of a convolution's operand in the type that it is multiplied in, with zeros around and
/// between its elements, so that no place of the window is outside. Of bytes, signs are turned too.
/// Pairs of bf16 are an element and the one `pair_step` behind it along `pair_dim`, as 32 bits.
typedef struct hlo_matmul_padding {
  bool is_used;
  uint32_t rank;
  hlo_dtype_t from_dtype;
  int64_t from[HLO_CONTRACTION_MAX_RANK], to[HLO_CONTRACTION_MAX_RANK];  // extents
  int64_t low[HLO_CONTRACTION_MAX_RANK], dilation[HLO_CONTRACTION_MAX_RANK];
  uint32_t pair_dim;
  int64_t pair_step;  // 0: no pairs
  int64_t line_count, lines_per_chunk;
  uint64_t chunk_count;
  size_t offset_bytes;
} hlo_matmul_padding_t;

/// One vector of a panel's columns.
typedef struct hlo_matmul_piece {
  uint32_t offset, lanes, active;
} hlo_matmul_piece_t;

/// A kind of panel, columns side by side in registers, and how its rows are cut: `tall_count` tiles
/// of `height`, the others one lower. Of each stripe of rows there are `part_count` units of tiles.
typedef struct hlo_matmul_panel {
  uint32_t piece_count;
  hlo_matmul_piece_t pieces[HLO_MATMUL_MAX_PIECES];
  int64_t height, tile_count, tall_count, part_count;
} hlo_matmul_panel_t;

/// threads: immutable
typedef struct hlo_matmul {
  hlo_contraction_t contraction;
  hlo_verdict_t verdict;  // a "no" ends the choice: what follows is not decided
  hlo_dtype_t dtype;  // of products and sums
  uint32_t element_bytes, lanes;
  uint32_t group, last_group;   // elements in a lane, in the last one along the contraction
  int64_t group_from[2];        // elements in place from one of them to the next
  const hlo_tile_atom_t* tile;  // products of tile registers; NULL: of vectors
  bool is_flipped;              // signs of A's bytes
  bool packs_blocks;            // B, each block where it is used, on the stack
  bool packs_slices;            // or in a slice of scratch memory for each chunk
  bool packs_apart;             // before the tiles, as computing it takes many registers
  bool stores_rows;             // one by one from memory, as what follows takes many registers
  bool fetches_rows;            // A's next tile is fetched ahead
  bool fetches_lines;           // or the lines that its rows, side by side, have some steps later
  bool transposes_rows;      // A's columns are packed as rows, as many together as there are lanes
  int32_t accumulators_output;  // that sums may lie in between blocks; -1: none
  hlo_matmul_operand_t operands[2];
  bool is_convolution;  // and no product of matrices
  bool is_window_in_lanes;
  bool is_by_channel;  // depthwise: A is read in vectors too, lane by lane with B
  int64_t repeat;      // columns next to each other that have one channel of A; 1: one
  int64_t slide;       // steps whose rows of A are loaded once for all rows of a tile
  bool has_row_limit;  // some rows meet what is outside of the input
  bool is_by_depth;    // lanes run along the contraction
  bool has_masks;      // of the target
  bool has_fma;
  uint32_t line_bytes;  // that come from memory at once
  hlo_matmul_padding_t padding[2];
  uint32_t outer_count, depth_count;
  hlo_matmul_dim_t outer[HLO_MATMUL_MAX_LOOPS], rows, columns, depth[HLO_MATMUL_MAX_LOOPS];
  int64_t outer_extent, depth_extent;
  int64_t panel_width, full_panels, panel_count;
  hlo_matmul_panel_t full, edge;
  int64_t panel_stride;                       // elements from a panel of B to the next
  int64_t block_steps, depth_blocks;          // along the contraction; no blocks: not cut
  int64_t split_count, split_blocks;          // parts that are summed apart, of blocks; 0: none
  int64_t accumulators_bytes;                         // of all sums of one of them
  bool accumulators_in_output;                        // between blocks, instead of scratch memory
  size_t accumulators_offset;                         // there
  size_t slices_offset, slice_bytes;          // and there
  int64_t accumulators_stride;                        // elements from a row to the next
  int64_t stripe_count;                       // of rows, each for all panels
  int64_t unit_count;                         // units: parts of a panel's tiles in a stripe
  int64_t units_per_chunk;                    // of narrow products; else they are shared out
  int64_t pack_counts[2], pack_per_chunk[2];  // lines of A, panels of B
  uint64_t chunk_count, pack_chunks[2];
  double cost_ns;         // of all products on one thread
  bool is_narrow;         // B is smaller than a vector, which has
  int64_t rows_together;  // so many rows side by side
  size_t scratch_bytes;
} hlo_matmul_t;

/// What the form has decided for a kernel.
static inline const hlo_matmul_t* hlo_matmul_of(const hlo_kernel_t* kernel) {
  return kernel->form_plan;
}

/// Lanes to be packed: in place `stride` elements apart. Those behind the first `active` become
/// zero, and so do all elements of their groups behind the first `parts`.
typedef struct hlo_matmul_lanes {
  hlo_vir_value_t* from;
  int64_t stride;
  uint32_t lanes, active, parts;
} hlo_matmul_lanes_t;

/// Where an operand is read: an address or, of one that is computed, a place along each of its
/// loops (NULL: the first).
typedef struct hlo_matmul_source {
  hlo_vir_value_t* base;
  hlo_vir_value_t* places[HLO_MATMUL_MAX_LOOPS];
} hlo_matmul_source_t;

/// A list of loops, outermost first.
typedef struct hlo_matmul_loops {
  uint32_t count;
  hlo_matmul_dim_t dims[2 * HLO_CONTRACTION_MAX_RANK];
} hlo_matmul_loops_t;

/// Appends a loop, or lets the last one from `first` on run on over it; loops of one step are none.
void hlo_matmul_add_loop(hlo_matmul_loops_t* loops, uint32_t first, hlo_matmul_dim_t dim);
void hlo_matmul_swap_operands(hlo_matmul_dim_t* dim);

/// Whether a node is a convolution that these kernels are for.
bool hlo_convolution_supports(const hlo_node_t* node);
/// The loops of a convolution: output places and features, and those along window and input
/// features; no convolution any more where they are those of a product of matrices.
hlo_verdict_t hlo_convolution_make_loops(hlo_matmul_t* matmul, const hlo_target_t* target,
                                         hlo_tiled_space_t* space);
enum { HLO_MATMUL_MAX_CUTS = 6 };
/// A digit of the result that becomes two, the second one of `inner` steps.
typedef struct hlo_matmul_cut {
  uint32_t loop;
  int64_t inner;
} hlo_matmul_cut_t;

/// What lets loops store what is made of the product where ops move it to.
typedef struct hlo_matmul_form {
  uint32_t cut_count;
  hlo_matmul_cut_t cuts[HLO_MATMUL_MAX_CUTS];  // of digits as the earlier ones leave them
  bool is_transposed;                              // lanes run along what would be rows
} hlo_matmul_form_t;

/// Adds a cut that costs the product nothing; false: it would.
bool hlo_matmul_cut(const hlo_matmul_t* matmul, const hlo_target_t* target, hlo_matmul_cut_t cut,
                    hlo_matmul_form_t* form);
/// Exchanges rows and columns if operands are then read at least as well.
bool hlo_matmul_transpose_form(const hlo_matmul_t* matmul, hlo_matmul_form_t* form);
/// Decides how it is computed, and the digits of the output, or says no in its verdict.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_create(const hlo_kernel_t* kernel, const hlo_node_t* node,
                               const hlo_matmul_form_t* form, hlo_arena_t* arena,
                               hlo_tiled_space_t* out_space,
                               hlo_matmul_t** out_matmul) HLO_MUST_USE;
/// Decides the rest once the lanes are known, or says no in its verdict.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_finish(hlo_matmul_t* matmul, const hlo_target_t* target,
                               hlo_tile_memo_t* memo, uint32_t lanes) HLO_MUST_USE;

/// Checks that what was decided for a product is a legal combination (matmul_verify.c lists them).
/// errors: INTERNAL, naming the broken rule
hlo_status_t hlo_matmul_verify(const hlo_matmul_t* matmul) HLO_MUST_USE;

/// Vectors side by side (columns, where lanes run along the contraction) and rows of a tile.
typedef struct hlo_matmul_accumulators {
  int64_t width, height;
} hlo_matmul_accumulators_t;

/// The tile with which all of the product takes least time, unless the target's description has
/// one for it. width: 0, or the one it has to have.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_choose_accumulators(const hlo_matmul_t* matmul, const hlo_target_t* target,
                                    hlo_tile_memo_t* memo, int64_t width,
                                    hlo_matmul_accumulators_t* out_tile) HLO_MUST_USE;
/// The system that it comes from, and its solution.
hlo_status_t hlo_matmul_explain_accumulators(const hlo_matmul_t* matmul, const hlo_target_t* target,
                                     hlo_strbuf_t* out) HLO_MUST_USE;
/// All tiles that registers hold, those that should take least time first: a line each, as machines'
/// descriptions have them (hlo_tile_tuned_print()), the time, and which one is taken.
hlo_status_t hlo_matmul_print_tiles(const hlo_matmul_t* matmul, const hlo_target_t* target,
                                    hlo_strbuf_t* out) HLO_MUST_USE;
/// Whether B is packed when a panel has so many tiles; cache: the second one's bytes.
bool hlo_matmul_packs_b(const hlo_matmul_t* matmul, int64_t cache, int64_t tiles);
/// Whether it may be packed block by block, because all of it would leave the caches before it is
/// used: it has so many bytes, and there are rows enough for a panel.
bool hlo_matmul_may_slice(const hlo_matmul_t* matmul, int64_t bytes);
/// Whether A is packed when there are so many panels, and tiles of so many rows.
bool hlo_matmul_packs_a(const hlo_matmul_t* matmul, int64_t panels, int64_t height);

/// Elements that one instruction multiplies in a lane; 1: there is none. sums: the type of sums,
/// depth: their length.
uint32_t hlo_matmul_group_of(const hlo_target_t* target, const hlo_node_t* node, hlo_dtype_t accumulators,
                             double depth);
/// Whether an instruction multiplies four bytes in a lane, and rows are enough for packing B so.
bool hlo_matmul_has_quads(const hlo_matmul_t* matmul, const hlo_target_t* target);
/// Whether elements are multiplied in groups, which convolutions have decided before; the innermost
/// contracting loop then runs over groups.
void hlo_matmul_choose_group(hlo_matmul_t* matmul, const hlo_target_t* target);
/// Whether elements of this type (S8: bytes) are multiplied in tile registers: by the target's
/// atoms and their rates. Decides their groups then.
bool hlo_matmul_choose_tiles(hlo_matmul_t* matmul, const hlo_target_t* target, hlo_dtype_t operand);
/// The atom of tile registers for it; NULL: there is none.
const hlo_tile_atom_t* hlo_matmul_tile_atom(const hlo_target_t* target, hlo_dtype_t operand);
/// Elements along the contraction that a step of tile registers takes; 0: they have no such.
int64_t hlo_matmul_tile_depth(const hlo_target_t* target, const hlo_node_t* node, hlo_dtype_t accumulators,
                              double depth);
/// Columns of a panel, rows of a tile; groups of a packed operand, with zeros behind the last one.
int64_t hlo_matmul_tile_width(const hlo_matmul_t* matmul);
int64_t hlo_matmul_tile_height(void);
int64_t hlo_matmul_filled_steps(const hlo_matmul_t* matmul);
/// Blocks of rows of A that stay in the second cache while all panels meet them.
int64_t hlo_matmul_tile_blocks(const hlo_matmul_t* matmul, int64_t cache_bytes);
/// Time of all products of tiles.
double hlo_matmul_tile_ns(const hlo_matmul_t* matmul);
/// Whether an operand's groups are whole in place.
bool hlo_matmul_reads_groups(const hlo_matmul_t* matmul, uint32_t side);
/// sum + x y, x of A (flipped), y of B.
hlo_vir_value_t* hlo_matmul_add_groups(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                       hlo_vir_value_t* sum, hlo_vir_value_t* x,
                                       hlo_vir_value_t* y);
hlo_vir_value_t* hlo_matmul_flip(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                 hlo_vir_value_t* value);
/// What the sums of a column of B start from when A is flipped, by the sum of its elements.
hlo_vir_value_t* hlo_matmul_correction(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                       hlo_vir_value_t* sums_of_y);
/// Lanes of groups as they are packed, 32 bits each, as a vector of any type.
hlo_vir_value_t* hlo_matmul_load_groups(const hlo_matmul_t* matmul, hlo_vir_builder_t* b,
                                        uint32_t side, const hlo_matmul_lanes_t* at);
/// Lane i becomes lane order[i].
hlo_vir_value_t* hlo_matmul_permute(hlo_vir_builder_t* b, hlo_vir_value_t* value,
                                    const uint8_t* order);
/// Vectors one after the other as one, in `parts`.
hlo_vir_value_t* hlo_matmul_join(hlo_vir_builder_t* b, hlo_vir_value_t** parts, uint32_t count);
/// Vectors of equal lanes as one: the first lanes of all of them, then the second ones ... `count`:
/// 2 or 4.
hlo_vir_value_t* hlo_matmul_interleave(hlo_vir_builder_t* b, hlo_vir_value_t* const* rows,
                                       uint32_t count);
/// Whether several at a time.
bool hlo_matmul_has_vector_groups(const hlo_matmul_t* matmul, uint32_t side, int64_t stride,
                                  uint32_t parts);

/// Whether several rows fit a vector side by side, and what follows the product allows it.
bool hlo_matmul_choose_narrow(hlo_matmul_t* matmul, const hlo_fusion_t* fusion);
/// The same once the lanes are known; units and chunks then.
bool hlo_matmul_finish_narrow(hlo_matmul_t* matmul, const hlo_target_t* target);
void hlo_matmul_emit_narrow(const hlo_kernel_t* kernel, const hlo_point_emitter_t* points,
                            hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                            hlo_vir_value_t* chunk);

uint32_t hlo_matmul_phase_count(const hlo_matmul_t* matmul);
/// hlo_kernel_prepares().
bool hlo_matmul_prepares(const hlo_matmul_t* matmul, uint32_t input);
uint64_t hlo_matmul_chunk_count(const hlo_matmul_t* matmul, uint32_t phase);
typedef enum hlo_matmul_phase {
  HLO_MATMUL_PAD,
  HLO_MATMUL_PACK,
  HLO_MATMUL_MULTIPLY,
  HLO_MATMUL_JOIN,  // adds the sums of blocks
} hlo_matmul_phase_t;
hlo_matmul_phase_t hlo_matmul_phase(const hlo_matmul_t* matmul, uint32_t number);
/// Elements of a packed panel of B before its first row.
static inline int64_t hlo_matmul_first_row(const hlo_matmul_t* matmul) {
  return matmul->is_flipped ? matmul->panel_width : 0;
}
/// The kind of panel that most are.
static inline const hlo_matmul_panel_t* hlo_matmul_main_panel(const hlo_matmul_t* matmul) {
  return matmul->full_panels ? &matmul->full : &matmul->edge;
}
/// Units of a stripe: parts of its panels, those of a panel next to each other.
static inline int64_t hlo_matmul_stripe_units(const hlo_matmul_t* matmul) {
  return matmul->full_panels * matmul->full.part_count +
         (matmul->edge.piece_count ? matmul->edge.part_count : 0);
}
/// Elements of the output that a step of the digit's loop moves by; 0 without a digit.
int64_t hlo_matmul_output_stride(const hlo_matmul_t* matmul, int32_t loop);
/// Where an operand's loops start, before packing.
hlo_vir_value_t* hlo_matmul_source(const hlo_kernel_t* kernel, uint32_t side,
                                   const hlo_point_emitter_t* points, hlo_vir_builder_t* b,
                                   hlo_vir_value_t* const* addresses);
static inline size_t hlo_matmul_scratch_bytes(const hlo_matmul_t* matmul) {
  return matmul->scratch_bytes;
}
void hlo_matmul_emit(const hlo_kernel_t* kernel, uint32_t phase, const hlo_point_emitter_t* points,
                     hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                     hlo_vir_value_t* chunk);
/// What comes before the product: the padded copy, packing.
void hlo_matmul_emit_padding(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                             hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk);
/// Rows low <= number of a panel up to the block's end, from where they are in place to `to`.
void hlo_matmul_pack_block(const hlo_matmul_t* matmul, const hlo_point_emitter_t* points,
                           hlo_vir_builder_t* b, const hlo_matmul_panel_t* panel,
                           const hlo_matmul_source_t* from, hlo_vir_value_t* to,
                           hlo_vir_value_t* low);
void hlo_matmul_emit_packing(const hlo_kernel_t* kernel, const hlo_point_emitter_t* points,
                             hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                             hlo_vir_value_t* chunk);

/// Whether B is packed in squares that are turned in registers: its columns are neighbours along
/// the contraction.
bool hlo_matmul_transposes_columns(const hlo_matmul_t* matmul);
/// Finds what an operand that is no input of the fusion is made of, or says no in the product's
/// verdict; strides of the loops follow.
/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_find_prologue(hlo_matmul_t* matmul, const hlo_kernel_t* kernel,
                                      uint32_t side) HLO_MUST_USE;
/// Returns whether computing operands so is cheaper than writing and reading them, once it is known
/// how often that is.
hlo_verdict_t hlo_matmul_weigh_prologues(const hlo_matmul_t* matmul, const hlo_target_t* target);
/// Which elements of the fusion's inputs an operand is made of, digits being its loops.
/// errors: RESOURCE_EXHAUSTED; the verdict is in the tiling
hlo_status_t hlo_matmul_walk_prologue(const hlo_kernel_t* kernel,
                                      const hlo_matmul_prologue_t* prologue, hlo_arena_t* arena,
                                      hlo_tiling_t** out_tiling) HLO_MUST_USE;
/// Whether a member of the fusion is only there for an operand of the product.
bool hlo_matmul_is_for_operand(const hlo_matmul_t* matmul, const hlo_fusion_t* fusion,
                               const hlo_node_t* node);
/// The source moved by `count` steps of a loop.
void hlo_matmul_move(const hlo_matmul_t* matmul, uint32_t side, hlo_vir_builder_t* b,
                     const hlo_matmul_dim_t* dim, hlo_vir_value_t* count,
                     hlo_matmul_source_t* source);
/// `lanes` computed elements along a loop (NULL: all the same) from the source on, as registers
/// hold the operand's type. mask: as far as they are needed; NULL: all
hlo_vir_value_t* hlo_matmul_produce(const hlo_point_emitter_t* points, uint32_t side,
                                    const hlo_matmul_dim_t* dim, const hlo_matmul_source_t* source,
                                    uint32_t lanes, hlo_vir_value_t* mask);

#endif  // HLO_CODEGEN_DOT_MATMUL_H_
