// SPDX-License-Identifier: Apache-2.0
// Batches of small matrices in chunks (see batches.h).
#include "lib/batches.h"

#include <stdatomic.h>

#include "base/mem.h"

typedef struct {
  const hlo_batches_t* batches;
  int64_t chunk;
  atomic_bool is_exhausted;  // a chunk failed to allocate memory
} run_t;

static void run_chunk(void* arg, uint64_t index) {
  run_t* run = arg;
  const hlo_batches_t* batches = run->batches;
  const int64_t first = (int64_t)index * run->chunk;
  void* scratch = hlo_mem_alloc_aligned(batches->scratch_bytes + 1, 64);
  if (!scratch) {
    atomic_store(&run->is_exhausted, true);
    return;
  }
  for (int64_t b = first; b < first + run->chunk && b < batches->count; b++) {
    batches->run(batches->arg, b, scratch);
  }
  hlo_mem_free(scratch);
}

hlo_status_t hlo_batches_run(const hlo_parallel_t* parallel, const hlo_batches_t* batches) {
  enum { CHUNK_ELEMENTS = 1 << 13 };
  run_t run = {.batches = batches};
  run.chunk = batches->elements > 0 ? CHUNK_ELEMENTS / batches->elements : CHUNK_ELEMENTS;
  if (run.chunk < 1) run.chunk = 1;
  hlo_parallel_for(parallel, hlo_chunk_count((size_t)batches->count, (size_t)run.chunk), run_chunk,
                   &run);
  return atomic_load(&run.is_exhausted) ? hlo_status_out_of_memory(batches->scratch_bytes)
                                        : hlo_ok();
}
