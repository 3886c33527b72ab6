// SPDX-License-Identifier: Apache-2.0
// Kernels of matrix products: register tiles of sums over loops of fused multiply-adds, operands read in
// place where that is as fast, else copied ("packed") into scratch memory first. What follows the
// product elementwise is computed before the tile is stored. Private to codegen.
//
// The result is rows x columns for every value of the outer loops; lanes run over columns. Operand A is
// broadcast element by element, operand B read in vectors. Operands are swapped when the product is a
// matrix times a vector.
#ifndef HLO_CODEGEN_DOT_MATMUL_H_
#define HLO_CODEGEN_DOT_MATMUL_H_

#include "codegen/dot/contraction.h"
#include "codegen/kernel_impl.h"

enum { HLO_MATMUL_A, HLO_MATMUL_B, HLO_MATMUL_MAX_LOOPS = 16, HLO_MATMUL_MAX_PIECES = 24 };

/// A loop: its extent, the elements that a step moves each operand by, in place (`from`) and where the
/// product reads it.
typedef struct hlo_matmul_dim {
  int64_t extent;
  int64_t from[2], strides[2];
  int32_t digit;  // of the output; -1: none
} hlo_matmul_dim_t;

typedef struct hlo_matmul_operand {
  uint32_t input;     // number among the fusion's inputs
  hlo_dtype_t dtype;  // in memory
  bool is_packed;     // converted and copied to `offset_bytes` of the scratch memory
  size_t offset_bytes;
} hlo_matmul_operand_t;

/// One vector of a panel's columns.
typedef struct hlo_matmul_piece {
  uint32_t offset, lanes, active;
} hlo_matmul_piece_t;

/// A kind of panel, columns side by side in registers, and how its rows are cut: `tall_count` tiles of
/// `height`, the others one lower.
typedef struct hlo_matmul_panel {
  uint32_t piece_count;
  hlo_matmul_piece_t pieces[HLO_MATMUL_MAX_PIECES];
  int64_t height, tile_count, tall_count;
} hlo_matmul_panel_t;

/// threads: immutable
struct hlo_matmul {
  hlo_contraction_t contraction;
  hlo_dtype_t dtype;  // of products and sums
  uint32_t element_bytes, lanes;
  hlo_matmul_operand_t operands[2];
  uint32_t outer_count, depth_count;
  hlo_matmul_dim_t outer[HLO_MATMUL_MAX_LOOPS], rows, columns, depth[HLO_MATMUL_MAX_LOOPS];
  int64_t outer_extent, depth_extent;
  int64_t panel_width, full_panels, panel_count;
  hlo_matmul_panel_t full, edge;
  int64_t panel_stride;  // elements from a panel of B to the next
  int64_t block_count;   // of rows
  int64_t unit_count, units_per_chunk;  // unit: a panel of a block
  int64_t pack_counts[2], pack_per_chunk[2];  // lines of A, panels of B
  uint64_t chunk_count, pack_chunks[2];
  size_t scratch_bytes;
};

/// The matrix product among the members that loops over elements would be slow for; NULL: none.
const hlo_node_t* hlo_matmul_find(const hlo_fusion_t* fusion, uint32_t* out_count);
/// Decides how it is computed, and the digits of the output.
/// errors: UNIMPLEMENTED, RESOURCE_EXHAUSTED
hlo_status_t hlo_matmul_create(const hlo_kernel_t* kernel, const hlo_node_t* node,
                               hlo_arena_t* arena, hlo_tiled_space_t* out_space,
                               hlo_matmul_t** out_matmul) HLO_MUST_USE;
/// Once the lanes are known.
/// errors: UNIMPLEMENTED
hlo_status_t hlo_matmul_finish(hlo_matmul_t* matmul, const hlo_target_t* target,
                               uint32_t lanes) HLO_MUST_USE;

uint32_t hlo_matmul_phase_count(const hlo_matmul_t* matmul);
uint64_t hlo_matmul_chunk_count(const hlo_matmul_t* matmul, uint32_t phase);
static inline size_t hlo_matmul_scratch_bytes(const hlo_matmul_t* matmul) {
  return matmul->scratch_bytes;
}
void hlo_matmul_emit(const hlo_kernel_t* kernel, uint32_t phase, const hlo_point_emitter_t* points,
                     hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses,
                     hlo_vir_value_t* chunk);
/// The packing phase.
void hlo_matmul_emit_packing(const hlo_kernel_t* kernel, hlo_vir_builder_t* b,
                             hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk);

#endif  // HLO_CODEGEN_DOT_MATMUL_H_
