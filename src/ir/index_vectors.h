// SPDX-License-Identifier: Apache-2.0
// How the index vectors of gather and scatter address an operand.
#pragma once

#include "ir/module.h"

/// How an index tensor addresses an operand: gather's start_index_map or scatter's
/// scatter_dims_to_operand_dims, and the batching dimensions of both.
typedef struct hlo_index_dims {
  int64_t index_vector_dim;
  hlo_ints_t index_map;
  hlo_ints_t operand_batching;
  hlo_ints_t indices_batching;
} hlo_index_dims_t;

/// The vectors of an index tensor: one per position in its dims without the vector dim.
typedef struct hlo_index_vectors {
  hlo_dtype_t dtype;                                  // of the indices
  uint32_t rank;                                      // of the operand
  uint32_t batch_rank;                                // of positions
  int64_t dims[HLO_RANK_MAX], strides[HLO_RANK_MAX];  // of positions, in elements
  int64_t component_stride;
  hlo_ints_t map;
  int batch_of[HLO_RANK_MAX];  // operand dim -> position dim that indexes it, or -1
} hlo_index_vectors_t;

/// Returns false if the dims do not match the index tensor.
bool hlo_index_vectors_init(hlo_index_vectors_t* out, hlo_dtype_t dtype, uint32_t indices_rank,
                            const int64_t* indices_dims, uint32_t operand_rank,
                            const hlo_index_dims_t* dims);

/// Computes the full start index in the operand for a position in `indices`; components may be any
/// int64 values, unsigned ones beyond saturate.
void hlo_index_vectors_start(const hlo_index_vectors_t* vectors, const void* indices,
                             const int64_t* position, int64_t* out_start);
