// SPDX-License-Identifier: Apache-2.0
// Kernels whose loops another folder makes: a form computes one kind of node, as src/codegen/dot
// computes matrix products, with its own loops, which include the node's epilogue. For the folders
// that make forms; others use kernel.h.
#pragma once

#include "codegen/index/tiled.h"
#include "codegen/loops/kernel.h"
#include "codegen/loops/kernel_config.h"
#include "codegen/math/square.h"

enum {
  HLO_KERNEL_MAX_SEGMENTS = 128,
  HLO_KERNEL_MAX_PARTIALS = 8,
  HLO_KERNEL_MAX_EDGE = HLO_SQUARE_MAX_EDGE,  // of a block that is transposed in registers
  HLO_KERNEL_MAX_INTERLEAVED = 8,             // vectors that are interleaved
  HLO_KERNEL_MAX_INTERLEAVED_OUTPUTS = 4,
  HLO_KERNEL_SHARED_INPUTS = 64,  // bits of `shareable`
  HLO_KERNEL_MAX_PHASES = 4,
  HLO_KERNEL_MAX_DEPTHS = 16,
};

/// The kinds of loops; kernel_kind.c says what goes with each.
typedef enum hlo_kernel_kind {
  HLO_KERNEL_POINTS,       // one element of the output; reductions may have lanes of their own
  HLO_KERNEL_LANES,        // lanes along the last loop
  HLO_KERNEL_TRANSPOSE,    // blocks of the last two loops, transposed in registers
  HLO_KERNEL_INTERLEAVED,  // lanes along the last loop, for all values of interleaved_loop, side
                           // by side
  HLO_KERNEL_VECTOR,       // the whole output in one vector
  HLO_KERNEL_SWEEP,        // reductions down columns: rows in blocks, accumulators in the outputs'
                           // memory (split: each chunk has rows of its own in scratch memory)
  HLO_KERNEL_FORM,         // the loops of another folder
  HLO_KERNEL_KINDS,
} hlo_kernel_kind_t;

/// The object that is split into chunks.
typedef enum hlo_kernel_cut {
  HLO_KERNEL_CUT_LOOP,       // the outermost loop
  HLO_KERNEL_CUT_TWO_LOOPS,  // the second loop; each value of the first has its own chunks
  HLO_KERNEL_CUT_REDUCTION,  // a reduction to one element or to columns; a second phase combines
                             // the parts
} hlo_kernel_cut_t;

/// Ranges of the output's loops, [low, end) each.
typedef int64_t hlo_kernel_segment_t[HLO_TILED_MAX_LOOPS][2];

/// Properties of a kernel whose loops are chosen.
typedef struct hlo_kernel_summary {
  uint32_t phase_count;
  uint64_t chunk_counts[HLO_KERNEL_MAX_PHASES];  // 1 for phases that do not exist
  size_t scratch_bytes;
  double cost_ns;
  uint64_t code_size;        // instructions of vector IR besides those of the fusion's nodes
  uint64_t prepared_inputs;  // one bit per input of hlo_kernel_prepares()
} hlo_kernel_summary_t;

/// threads: immutable after creation
struct hlo_kernel {
  const hlo_fusion_t* fusion;
  const hlo_target_t* target;
  const hlo_kernel_config_t* config;  // choices that are given; NULL: none
  hlo_arena_t* arena;
  uint32_t space_count;
  hlo_tiled_space_t* spaces;  // the output's loops (0) and those of reductions
  uint32_t segment_count;
  hlo_kernel_segment_t* segments;
  uint32_t common_levels;  // outermost loops shared by all segments
  uint32_t loop_count;     // loops of the output with more than one value, outermost first
                           // (kernel_order.c)
  uint32_t loops[HLO_TILED_MAX_LOOPS];
  hlo_kernel_kind_t kind;
  union {
    uint32_t interleaved_loop;  // INTERLEAVED: the innermost loop, not among the loops
    uint32_t sweep_levels;      // SWEEP: accumulators above the first (kernel_levels.c)
    struct {                    // FORM
      const hlo_kernel_form_t* functions;
      const hlo_node_t* node;  // that they compute
      const void* plan;        // their decisions
    } form;
  };
  uint32_t lanes;    // of the widest element in a register
  bool moves_bits;   // there are floats below 32 bits, which are only moved or converted by
                     // hlo_vmath_convert_raw(): registers hold them as in memory, whatever the kind
  bool is_streamed;  // an output exceeds all caches and is stored past them: a choice of its own,
                     // open to the kinds that may stream
  hlo_kernel_cut_t cut;
  uint64_t chunk_count;
  int64_t chunk_size;  // of the object that is split
  union {
    uint64_t parts_per_outer;  // TWO_LOOPS: chunks per value of the first
    struct {                   // REDUCTION
      uint32_t space, loop;    // the split loop's number in the reduction's space
      uint32_t partial_count;  // accumulators of 8 bytes per element and chunk
    } split;
  };
  hlo_verdict_t verdict;  // a refusal ends the choice of loops: the fields below are undecided
                          // then
  double cost_ns;
  double moved_bytes;   // of inputs and outputs, each element once
  uint64_t* shareable;  // by output: one bit per input that is read only where the output is
                        // written
  const struct hlo_tile_kernel* tile;     // interpreted as Tile IR instead; NULL: compiled
  const struct hlo_tile_kernel* lowered;  // compiled from this Tile IR instead; NULL: as chosen
  hlo_kernel_summary_t summary;           // valid once everything is chosen
};

/// One element, or lanes along one loop, of a kernel with a form: the input of the epilogue and the
/// stores.
typedef struct hlo_point {
  hlo_vir_value_t* const* loops;  // of the output
  uint32_t lane_loop, lanes;
  hlo_vir_value_t* mask;   // active lanes; NULL: all
  hlo_vir_value_t* value;  // of the product, as its element type is in registers
} hlo_point_t;

typedef struct hlo_point_emitter {
  struct hlo_emitter* emitter;
  struct hlo_emitter* prologues[2];  // of the product's operands; NULL: they are in memory
} hlo_point_emitter_t;

/// The loops of a form, for listings and Tile IR.
typedef struct hlo_kernel_shape {
  uint32_t depth_count;
  int64_t depths[HLO_KERNEL_MAX_DEPTHS];  // extents of the loops that are summed over
  int32_t tile_loops[2];                  // loops of the output that tiles step along; -1: none
  int64_t tile_steps[2];
} hlo_kernel_shape_t;

/// The functions of a form. They return hlo_arena_status() of what they allocate. threads:
/// immutable
struct hlo_kernel_form {
  /// Returns true if the form computes the node because loops over elements would be slow.
  bool (*computes)(const hlo_node_t* node);
  /// Decides spaces, segments, lanes, chunk_count, shareable and form.plan of the kernel, or its
  /// verdict. memo: see hlo_kernel_try(). errors : RESOURCE_EXHAUSTED
  hlo_status_t (*choose)(hlo_kernel_t* kernel, const hlo_node_t* node, hlo_tile_memo_t* memo,
                         hlo_arena_t* scratch);
  /// Summarises the choice in numbers.
  void (*plan)(const hlo_kernel_t* kernel, hlo_kernel_summary_t* out_summary);
  /// Verifies the choice for hlo_kernel_verify(). errors : INTERNAL naming the broken rule
  hlo_status_t (*verify)(const hlo_kernel_t* kernel);
  /// Returns the prologue of operand `side` as a tiling over the form's loops; NULL if the operand
  /// is in memory. errors : RESOURCE_EXHAUSTED
  hlo_status_t (*walk_operand)(const hlo_kernel_t* kernel, uint32_t side, hlo_arena_t* arena,
                               hlo_tiling_t** out_tiling);
  /// Emits the loops of a phase as hlo_kernel_emit() describes. errors : sticky in the module
  void (*emit)(const hlo_kernel_t* kernel, uint32_t phase, const hlo_point_emitter_t* points,
               hlo_vir_builder_t* b, hlo_vir_value_t* const* addresses, hlo_vir_value_t* chunk);
  void (*describe)(const hlo_kernel_t* kernel, hlo_kernel_shape_t* out_shape);
  /// Describes the loops for hlo_kernel_describe().
  void (*print)(const hlo_kernel_t* kernel, hlo_strbuf_t* out);
  /// Serves hlo_kernel_explain(), and the tiles that hlo_kernel_print_tilings() lists.
  hlo_status_t (*explain)(const hlo_kernel_t* kernel, hlo_strbuf_t* out);
  hlo_status_t (*print_tiles)(const hlo_kernel_t* kernel, hlo_strbuf_t* out);
  /// Serves hlo_kernel_sum_order() and hlo_kernel_list_configs().
  uint64_t (*sum_order)(const hlo_kernel_t* kernel);
  hlo_status_t (*list_configs)(const hlo_kernel_t* kernel, bool is_exhaustive,
                               hlo_kernel_configs_t* list);
};

// ---- for choosing ------------------------------------------------------------------------------

/// Returns the segment that is the whole output.
void hlo_kernel_whole_segment(const hlo_tiled_space_t* space, hlo_kernel_segment_t* segment);
/// Returns the element type by which registers hold elements of `dtype`: integers for floats that
/// are only moved.
hlo_dtype_t hlo_kernel_register_dtype(const hlo_kernel_t* kernel, hlo_dtype_t dtype);
/// Returns the bytes of the widest lanes that instances need.
uint32_t hlo_kernel_widest_bytes(const hlo_kernel_t* kernel, const hlo_tiling_t* tiling);
/// Finds the inputs that may share the memory of an output: each element is read only by the
/// iteration that writes it.
void hlo_kernel_find_shareable(hlo_kernel_t* kernel, const hlo_tiling_t* tiling);

// ---- for emitting ------------------------------------------------------------------------------

/// Computes the epilogue and stores the outputs at a point.
void hlo_point_emit(const hlo_point_emitter_t* points, const hlo_point_t* point);
/// Computes the prologue of operand `side` at a point, in register form.
hlo_vir_value_t* hlo_point_prologue(const hlo_point_emitter_t* points, uint32_t side,
                                    const hlo_point_t* point);
/// Returns the address of the first element of a view that is operand `side`.
hlo_vir_value_t* hlo_point_view_start(const hlo_point_emitter_t* points, uint32_t side);
