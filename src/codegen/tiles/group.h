// SPDX-License-Identifier: Apache-2.0
// Groups of threads that share the tiles of a kernel, as on GPUs: what is written outside of tiles
// runs in all threads at the same time; the points of a tile, copies, reductions and products are
// divided among them. Allocations are in memory that the group shares, accumulators of products in
// registers where the target has an atom for them.
#pragma once

#include "codegen/target/target.h"
#include "codegen/vir/builder.h"
#include "tile/ir.h"

enum {
  HLO_TILE_WARP = 32,
  HLO_TILE_GROUP_MOST_THREADS = 256,
  HLO_TILE_GROUP_MOST_BULK = 8,
  HLO_TILE_TENSOR_COLUMNS = 512
};

/// Where the group keeps an allocation.
typedef struct hlo_tile_group_alloc {
  bool is_fragment;       // in registers, else in near memory
  int64_t offset, bytes;  // of one version in near memory
  uint32_t versions;      // one for each stage of a loop
  hlo_swizzle_t swizzle;  // of byte addresses within a version
  uint32_t memory;        // allocations that share bytes have the same number
  // Fragments of `atom`: warps divide the rows and columns, first rows.
  const hlo_tile_atom_t* atom;
  uint32_t atom_number, first_register;
  bool is_tensor;  // the fragment is in tensor memory; registers have some of its columns
  uint32_t first_column;
  int64_t rows, columns, row_warps, column_warps;
} hlo_tile_group_alloc_t;

/// A copy of boxes of a buffer, which is a matrix, to an allocation by the memory's own unit.
typedef struct hlo_tile_bulk_copy {
  const hlo_tile_op_t* copy;
  uint32_t buffer;
  int64_t rows, columns;          // of the buffer
  int64_t box_rows, box_columns;  // of the allocation
  uint32_t swizzle_bytes;         // of rows under the allocation's swizzle; 0: it has none
} hlo_tile_bulk_copy_t;

/// How a group runs a phase. owner: the arena it was planned in. threads: immutable
typedef struct hlo_tile_group_plan {
  const hlo_tile_op_t* phase;  // NULL: the whole kernel
  uint32_t thread_count;       // a multiple of a warp's, without producers
  bool has_warp_groups;        // four warps multiply together
  uint32_t register_count;     // of fragments, without operands of products
  // Tensor memory: 0 columns, or those of all accumulators, as they are allocated.
  uint32_t tensor_columns, tensor_register;  // the register has the allocation's address
  int64_t tensor_offset;  // in near memory: the barrier of products, then where the address comes
  int64_t near_bytes;
  int64_t reduce_offset;           // of the memory through which warps reduce
  hlo_tile_group_alloc_t* allocs;  // by number of the allocation
  // A loop with stages whose copies threads of their own start, the producers, which follow the
  // others in number; barriers say what is filled and what is free.
  const hlo_tile_op_t* bulk_loop;  // NULL: none
  uint32_t producer_count;
  uint32_t bulk_count;
  hlo_tile_bulk_copy_t bulk[HLO_TILE_GROUP_MOST_BULK];
  int64_t barrier_offset;  // in near memory: for each stage that it is filled, then that it is free
} hlo_tile_group_plan_t;

/// A group in a function.
typedef struct hlo_tile_group {
  const hlo_tile_group_plan_t* plan;
  hlo_vir_value_t *thread, *near;  // INDEX: the number of the thread, the address of near memory
  hlo_vir_value_t* parity;         // INDEX, a variable: of the next product in tensor memory
  bool is_unordered;               // for tests: accesses are not separated
} hlo_tile_group_t;

/// Returns true if a group should run the phase (NULL: the kernel): its blocks have memory of their
/// own, products, or reductions and tiles that are long enough for a warp.
bool hlo_tile_suits_group(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* phase);

/// Returns how many elements of a type are in a byte of a GPU's memory: 4 or 2 of 2 or 4 bits, the
/// first ones in the low bits, else 1.
int64_t hlo_tile_packing(hlo_dtype_t dtype);
/// Gives a kernel whose references count bytes of packed elements along their last dimension, in
/// the arena; the kernel itself where it has none. Such elements have whole rows of bytes, which
/// copies and scaled products access. errors: UNIMPLEMENTED naming the operation
hlo_status_t hlo_tile_pack_elements(const hlo_tile_kernel_t* kernel, hlo_arena_t* arena,
                                    const hlo_tile_kernel_t** out_kernel) HLO_MUST_USE;

/// Plans a phase of a kernel whose elements are packed. near_bytes: the most near memory that a
/// group may have. blocks: one bit for each loop of which a group runs one iteration. errors:
/// RESOURCE_EXHAUSTED with the bytes, or columns of tensor memory, that are needed and available
hlo_status_t hlo_tile_plan_group(const hlo_tile_kernel_t* kernel, const hlo_tile_op_t* phase,
                                 const hlo_target_t* target, int64_t near_bytes, uint64_t blocks,
                                 hlo_arena_t* arena, hlo_tile_group_plan_t* out_plan) HLO_MUST_USE;

/// Allocates tensor memory where the plan has some, before the phase, and frees it at its end.
void hlo_tile_begin_tensor(hlo_vir_builder_t* b, hlo_tile_group_t* group);
void hlo_tile_end_tensor(hlo_vir_builder_t* b, const hlo_tile_group_t* group);
