// SPDX-License-Identifier: Apache-2.0
// Work on many small matrices, distributed over the threads.
#pragma once

#include "base/parallel.h"
#include "base/status.h"

typedef struct hlo_batches {
  int64_t count;         // number of matrices
  int64_t elements;      // per matrix, all operands together: estimates the work
  size_t scratch_bytes;  // per thread
  void (*run)(const void* arg, int64_t index, void* scratch);  // 64-byte aligned scratch
  const void* arg;
} hlo_batches_t;

/// errors: RESOURCE_EXHAUSTED
hlo_status_t hlo_batches_run(const hlo_parallel_t* parallel,
                             const hlo_batches_t* batches) HLO_MUST_USE;
