// SPDX-License-Identifier: Apache-2.0
// Gathers and scatters whose windows are runs of elements, one after the other on the side of the
// results or updates: what is left of an index vector is where its run starts.
#ifndef HLO_INTERP_REF_INDEX_ROWS_H_
#define HLO_INTERP_REF_INDEX_ROWS_H_

#include "interp/ref_gather.h"

enum { HLO_INDEX_ROWS_BLOCK = 2048 };  // index components read at a time

typedef struct hlo_index_rows {
  const hlo_tensor_t* indices;
  int64_t count;  // of positions
  int64_t row;    // elements of a window
  uint32_t component_count;
  int64_t strides[HLO_RANK_MAX];  // by component: in the operand, in elements
  int64_t limits[HLO_RANK_MAX];   // by component: last start whose window fits
  // Positions along a dimension that the operand shares move the start along it.
  bool is_batched;
  uint32_t batch_rank;
  int64_t dims[HLO_RANK_MAX], offsets[HLO_RANK_MAX];  // by position dim: size; step in the operand
} hlo_index_rows_t;

/// sizes: of the window, for every dim of the operand; position_strides: of the dense side, in
/// elements, by position dim. False if windows are no runs or positions not in order.
bool hlo_index_rows_init(hlo_index_rows_t* out, const hlo_index_vectors_t* vectors,
                         uint32_t operand_rank, const int64_t* operand_dims, const int64_t* sizes,
                         const int64_t* position_strides);

/// Positions that one call of the next function may read.
static inline int64_t hlo_index_rows_step(const hlo_index_rows_t* rows) {
  return HLO_INDEX_ROWS_BLOCK / rows->component_count;
}
/// Where the windows of positions first .. first + count - 1 start in the operand; windows that do
/// not fit are moved, or with `drops` answered with -1.
void hlo_index_rows_read(const hlo_index_rows_t* rows, int64_t first, int64_t count, bool drops,
                         int64_t* out_starts);

/// Whether every window lies in one row of the operand or outside of it, rows being as long as
/// windows, and rows can be told by 31 bits.
bool hlo_index_rows_are_apart(const hlo_index_rows_t* rows);
/// The row of the operand that each position of a block names.
typedef struct hlo_index_places {
  const uint32_t* places;
  int64_t end;                          // those from here on are outside
  uint32_t read[HLO_INDEX_ROWS_BLOCK];  // where they are made, if they are
} hlo_index_places_t;

/// Those of positions first .. first + count - 1 (at most hlo_index_rows_step()), whose windows are
/// apart.
void hlo_index_rows_places(const hlo_index_rows_t* rows, int64_t first, int64_t count,
                           hlo_index_places_t* out);

#endif  // HLO_INTERP_REF_INDEX_ROWS_H_
