// SPDX-License-Identifier: Apache-2.0
// Parallel loops of library functions: on a pool, or by the runtime of a frame (see parallel.h).
#include "base/parallel.h"

typedef struct pool_loop {
  hlo_parallel_chunk_t chunk;
  void* arg;
} pool_loop_t;

static int32_t run_chunk(void* context, size_t index) {
  const pool_loop_t* loop = context;
  loop->chunk(loop->arg, index);
  return 0;
}

static void run_on_pool(void* context, uint64_t count, hlo_parallel_chunk_t chunk, void* arg) {
  pool_loop_t loop = {chunk, arg};
  hlo_pool_parallel_for(context, count, run_chunk, &loop);
}

hlo_parallel_t hlo_parallel_on_pool(hlo_pool_t* pool) {
  return (hlo_parallel_t){run_on_pool, pool};
}

static void run_in_frame(void* context, uint64_t count, hlo_parallel_chunk_t chunk, void* arg) {
  hlo_frame_t* frame = context;
  frame->runtime->library_for(frame, count, chunk, arg);
}

hlo_parallel_t hlo_frame_parallel(hlo_frame_t* frame) {
  const bool has_loops = frame->runtime && frame->runtime->library_for;
  return (hlo_parallel_t){has_loops ? run_in_frame : NULL, frame};
}
