// SPDX-License-Identifier: Apache-2.0
// Parallel loops for library functions without a dependency on a pool: the caller supplies the
// function that runs the chunks of a loop.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/program_abi.h"
#include "base/threads.h"

typedef void (*hlo_parallel_chunk_t)(void* arg, uint64_t index);

/// Runs the chunks of a loop exactly once each, in any order and on any thread, even if the work is
/// cancelled, and returns when all have ended. run NULL: on the caller. threads: safe
typedef struct hlo_parallel {
  void (*run)(void* context, uint64_t count, hlo_parallel_chunk_t chunk, void* arg);
  void* context;
} hlo_parallel_t;

/// Runs chunks 0..count-1; parallel NULL: in order on the caller. The split of a loop into chunks
/// may depend on shapes only, so that results do not depend on threads.
static inline void hlo_parallel_for(const hlo_parallel_t* parallel, uint64_t count,
                                    hlo_parallel_chunk_t chunk, void* arg) {
  if (parallel && parallel->run && count > 1) {
    parallel->run(parallel->context, count, chunk, arg);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) chunk(arg, i);
}

/// Returns loops that run on a pool (NULL: on the caller), which must outlive them.
hlo_parallel_t hlo_parallel_on_pool(hlo_pool_t* pool);

/// Returns loops that run as the frame's runtime runs them; valid while the frame is in its entry.
hlo_parallel_t hlo_frame_parallel(hlo_frame_t* frame);
