// SPDX-License-Identifier: Apache-2.0
// Rows of updates put into rows of a result, one after the other: the inner loops of scatter.
#ifndef HLO_LIB_SCATTER_H_
#define HLO_LIB_SCATTER_H_

#include "lib/fold.h"

/// Rows of `in`, and where in `out` each of them goes.
typedef struct hlo_scatter {
  uint32_t count;
  const uint32_t*
      numbers;  // which rows of `in`, each with a place in the range; NULL: the first ones
  const uint32_t* places;  // by row of `in`: its row of the result
  uint32_t first, size;    // the range of the result's rows; places outside of it are left out
  int64_t row;             // elements
  const void* in;
  void* out;  // row `first` of the result
} hlo_scatter_t;

typedef void (*hlo_scatter_loop_t)(const hlo_scatter_t* scatter);

/// out = op(out, in), rounded as one operation, in the order of the rows; NULL where there is no
/// loop for the element type. threads: safe (this and the next one)
hlo_scatter_loop_t hlo_scatter_fold(hlo_fold_op_t op, hlo_dtype_t dtype);
/// out = in, by elements of 1, 2, 4 or 8 bytes; NULL for others.
hlo_scatter_loop_t hlo_scatter_copy(size_t bytes);

#endif  // HLO_LIB_SCATTER_H_
