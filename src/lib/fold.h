// SPDX-License-Identifier: Apache-2.0
// Folding of rows by an associative operation: the inner loops of reduce, reduce_window and scans.
#pragma once

#include <stdint.h>

#include "base/dtype.h"
#include "ir/ops.h"

typedef enum hlo_fold_op {
  HLO_FOLD_ADD,
  HLO_FOLD_MULTIPLY,
  HLO_FOLD_MAXIMUM,  // NaN wins, +0 is above -0
  HLO_FOLD_MINIMUM,  // the same for the minimum
  HLO_FOLD_AND,
  HLO_FOLD_OR,
  HLO_FOLD_XOR,
  HLO_FOLD_OP_COUNT
} hlo_fold_op_t;

/// The number of lines that a scan processes at once, to hide the latency of additions.
enum { HLO_FOLD_LINES = 4 };

/// Loops for one operation and element type. Sums and products of floats accumulate in double to
/// preserve precision in long reductions; integers wrap.
typedef struct hlo_fold {
  hlo_dtype_t in;   // element type of the loops
  hlo_dtype_t acc;  // accumulator
  /// acc[0] = fold of acc[0] and in[0..count), in lanes (any order)
  void (*row)(int64_t count, const void* in, void* acc);
  /// acc[i] = op(acc[i], in[i])
  void (*rows)(int64_t count, const void* in, void* acc);
  /// out[i] = op(out[i], in[i]), both of type `in`, rounded as one operation
  void (*into)(int64_t count, const void* in, void* out);
  /// HLO_FOLD_LINES independent scans, each in order: out[l][i] = acc[l] = op(acc[l], in[l][i]),
  /// with i from 0 by `step` (1 or -1); `out` rounded to type `in`
  void (*scan)(int64_t count, int64_t step, const void* const* in, void* const* out, void* acc);
  /// acc[i] = op(acc[i], in[i]); out[i] = acc[i] rounded to type `in`
  void (*scan_rows)(int64_t count, const void* in, void* acc, void* out);
} hlo_fold_t;

/// Returns the loops for elements of `dtype`, or NULL if the operation is unsupported for the type
/// (complex products, for example). If fold->in differs from dtype, the caller converts elements
/// first (hlo_dtype_convert); results are converted back from fold->acc the same way. threads: safe
const hlo_fold_t* hlo_fold_find(hlo_fold_op_t op, hlo_dtype_t dtype);

/// Returns the folding operation of an op, or HLO_FOLD_OP_COUNT.
hlo_fold_op_t hlo_fold_op_of(hlo_op_t op);
/// result[i] = op(result[i], update[i]) for dense elements of `dtype`, each rounded as one
/// operation. fold: the result of hlo_fold_find(op, dtype).
void hlo_fold_combine(const hlo_fold_t* fold, hlo_dtype_t dtype, int64_t count, void* result,
                      const void* update);
