// SPDX-License-Identifier: Apache-2.0
// Scatters rows of updates into rows of a result, one after the other: the inner loops of scatter.
#pragma once

#include "lib/fold.h"

/// Rows of `in` and their target rows in `out`.
typedef struct hlo_scatter {
  uint32_t count;
  const uint32_t*
      numbers;  // rows of `in` to scatter, whose targets are in range; NULL: the first `count`
  const uint32_t* targets;  // by row of `in`: its row of the result
  uint32_t first, size;     // range of the result's rows; targets out of range are skipped
  int64_t row;              // elements
  const void* in;
  void* out;  // row `first` of the result
} hlo_scatter_t;

typedef void (*hlo_scatter_loop_t)(const hlo_scatter_t* scatter);

/// out = op(out, in), rounded as one operation, in the order of the rows; NULL if the element type
/// has no loop. threads: safe (this and the next one)
hlo_scatter_loop_t hlo_scatter_fold(hlo_fold_op_t op, hlo_dtype_t dtype);
/// out = in, by elements of 1, 2, 4 or 8 bytes; NULL for other sizes.
hlo_scatter_loop_t hlo_scatter_copy(size_t bytes);
