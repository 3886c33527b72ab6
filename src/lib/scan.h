// SPDX-License-Identifier: Apache-2.0
// Cumulative operations: the fold of every prefix of a line.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/parallel.h"
#include "lib/fold.h"

/// A scan along the middle dimension of [outer, length, inner] dense elements of type
/// hlo_fold_find(op, dtype)->in.
typedef struct hlo_scan {
  hlo_fold_op_t op;
  hlo_dtype_t dtype;
  bool is_reverse;  // suffixes instead of prefixes
  int64_t outer, length, inner;
} hlo_scan_t;

/// Returns the bytes of scratch memory (64-byte aligned).
size_t hlo_scan_scratch_bytes(const hlo_scan_t* scan);

/// out[o, i, k] = fold of init and in[o, 0..i, k] (reverse: in[o, i.., k]). init: of the fold's acc
/// type, neutral or idempotent (it may be folded in several times). Long lines are folded in
/// segments first, so that the segments can be scanned in parallel; the segments depend on the
/// shape only. owner: all lent; out may be in. threads: safe with separate scratch memory
void hlo_scan_run(const hlo_parallel_t* parallel, const hlo_scan_t* scan, const void* init,
                  const void* in, void* out, void* scratch);
