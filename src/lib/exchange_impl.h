// SPDX-License-Identifier: Apache-2.0
// Loops of exchanges by instruction set; all give the same bits.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "lib/fold.h"

/// Folds of dense operands: out[r][i] = op(op(in[0][i], in[1][i]), ...), in this order, for all r.
/// Those of f16 and bf16 are in f32, rounded at the end.
typedef struct hlo_exchange_reduce {
  size_t count;
  uint32_t in_count, out_count;
  size_t stride;  // distance from one pointer to the next, in `in` and `out`
  void* const* in;
  void* const* out;
  size_t in_begin, out_begin;  // the first element
  bool is_streamed;            // results are too large for the caches
} hlo_exchange_reduce_t;

typedef void (*hlo_exchange_reduce_fn_t)(const hlo_exchange_reduce_t* reduce);

typedef struct hlo_exchange_loops {
  /// Returns the loop of an operation on elements of a type, for at least two operands; NULL: none
  /// exists, and hlo_fold_t has to do.
  hlo_exchange_reduce_fn_t (*find_reduce)(hlo_fold_op_t op, hlo_dtype_t dtype);
  /// Copies past the caches where `to` is aligned. Other threads see the writes after fence().
  void (*stream)(void* to, const void* from, size_t size_bytes);
  void (*fence)(void);
} hlo_exchange_loops_t;

extern const hlo_exchange_loops_t hlo_exchange_loops_generic, hlo_exchange_loops_avx2,
    hlo_exchange_loops_avx512;
