// SPDX-License-Identifier: Apache-2.0
// How kernels use threads without knowing a pool: whoever calls them says how to run the chunks of
// a loop.
#ifndef HLO_BASE_PARALLEL_H_
#define HLO_BASE_PARALLEL_H_

#include <stddef.h>
#include <stdint.h>

#include "base/kernel_abi.h"
#include "base/threads.h"

typedef void (*hlo_parallel_chunk_t)(void* arg, uint64_t index);

/// A way to run loops. Every chunk runs exactly once, in any order and on any thread, also when the
/// work is cancelled; the call returns when all are done. run NULL: on the caller. threads: safe
typedef struct hlo_parallel {
  void (*run)(void* context, uint64_t count, hlo_parallel_chunk_t chunk, void* arg);
  void* context;
} hlo_parallel_t;

/// Runs chunks 0..count-1; parallel NULL: in order on the caller. How a loop is cut may depend on
/// shapes only, so that results do not depend on threads.
static inline void hlo_parallel_for(const hlo_parallel_t* parallel, uint64_t count,
                                    hlo_parallel_chunk_t chunk, void* arg) {
  if (parallel && parallel->run && count > 1) {
    parallel->run(parallel->context, count, chunk, arg);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) chunk(arg, i);
}

/// Loops on a pool (NULL: on the caller), which must live as long.
hlo_parallel_t hlo_parallel_on_pool(hlo_pool_t* pool);

/// Loops as the runtime of a frame runs them; good while the frame is inside its entry.
hlo_parallel_t hlo_frame_parallel(hlo_frame_t* frame);

#endif  // HLO_BASE_PARALLEL_H_
