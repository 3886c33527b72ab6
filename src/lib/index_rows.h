// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters whose windows are runs of elements that are consecutive in the results or
// updates: an index vector reduces to the offset at which its run starts.
#pragma once

#include "ir/index_vectors.h"

enum { HLO_INDEX_ROWS_BLOCK = 2048 };  // index components read at a time

typedef struct hlo_index_rows {
  hlo_dtype_t dtype;
  const void* indices;  // set before reading
  int64_t count;        // of positions
  int64_t row;          // elements per window
  uint32_t component_count;
  int64_t strides[HLO_RANK_MAX];  // by component: in the operand, in elements
  int64_t limits[HLO_RANK_MAX];   // by component: last start whose window fits
  // Positions along a batching dimension of the operand offset the start along that dimension.
  bool is_batched;
  uint32_t batch_rank;
  int64_t dims[HLO_RANK_MAX], offsets[HLO_RANK_MAX];  // by position dim: size; step in the operand
} hlo_index_rows_t;

/// sizes: of the window, per operand dim; position_strides: of the dense tensor (results or
/// updates), in elements, per position dim. Returns false if the windows are not runs or the
/// positions not in order.
bool hlo_index_rows_init(hlo_index_rows_t* out, const hlo_index_vectors_t* vectors,
                         uint32_t operand_rank, const int64_t* operand_dims, const int64_t* sizes,
                         const int64_t* position_strides);

/// Returns the maximum number of positions that one call of the next function may read.
static inline int64_t hlo_index_rows_step(const hlo_index_rows_t* rows) {
  return HLO_INDEX_ROWS_BLOCK / rows->component_count;
}
/// Computes where the windows of positions first .. first + count - 1 start in the operand. Windows
/// out of bounds are clamped, or give -1 with `drops`.
void hlo_index_rows_read(const hlo_index_rows_t* rows, int64_t first, int64_t count, bool drops,
                         int64_t* out_starts);

/// Returns true if every window is exactly one row of the operand or out of bounds, where rows have
/// the length of a window, and if row numbers fit 31 bits.
bool hlo_index_rows_are_apart(const hlo_index_rows_t* rows);
/// The row of the operand that each position of a block names.
typedef struct hlo_index_places {
  const uint32_t* places;
  int64_t end;                          // rows from here on are out of bounds
  uint32_t read[HLO_INDEX_ROWS_BLOCK];  // storage of `places` if they are computed
} hlo_index_places_t;

/// Computes the rows of positions first .. first + count - 1 (at most hlo_index_rows_step()), whose
/// windows must be rows (hlo_index_rows_are_apart()).
void hlo_index_rows_places(const hlo_index_rows_t* rows, int64_t first, int64_t count,
                           hlo_index_places_t* out);
