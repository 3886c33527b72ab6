// SPDX-License-Identifier: Apache-2.0
// Runs programs compiled ahead of time (see rt.h): a frame, a runtime table, one thread pool per
// process.
#include "rt/rt.h"

#include <string.h>

#include "base/config.h"
#include "base/cpu.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/threads.h"

enum { ALIGNMENT = 64 };
#define FEATURES_KNOWN (UINT64_C(1) << 63)

// ---- per process -------------------------------------------------------------------------------

static _Atomic(hlo_pool_t*) g_pool;
static _Atomic uint64_t g_features;  // 0: not detected yet

static uint32_t wanted_threads(void) {
  hlo_config_t config;
  hlo_status_t status = hlo_config_init(&config, NULL, NULL);
  uint32_t count = hlo_status_is_ok(status) ? (uint32_t)config.num_threads : 0;
  hlo_status_release(status);
  hlo_config_deinit(&config);
  return count;
}

// NULL if threads are unavailable: loops run on the caller then.
static hlo_pool_t* the_pool(void) {
  hlo_pool_t* pool = atomic_load_explicit(&g_pool, memory_order_acquire);
  if (!pool) {
    if (!hlo_status_take_ok(hlo_pool_create(wanted_threads(), &pool))) return NULL;
    hlo_pool_t* other = NULL;
    if (!atomic_compare_exchange_strong(&g_pool, &other, pool)) {
      hlo_pool_release(pool);
      pool = other;
    }
  }
  return hlo_pool_is_orphaned(pool) ? NULL : pool;
}

// A shared library with programs may be closed: its threads must not outlive its code.
__attribute__((destructor)) static void release_pool(void) {
  hlo_pool_t* pool = atomic_exchange(&g_pool, NULL);
  if (pool) hlo_pool_release(pool);
}

static bool has_features(uint64_t wanted) {
  uint64_t features = atomic_load_explicit(&g_features, memory_order_relaxed);
  if (!features) {
    hlo_cpu_t cpu = {0};
    hlo_status_release(hlo_cpu_detect(NULL, &cpu));
    features = cpu.features | FEATURES_KNOWN;
    atomic_store_explicit(&g_features, features, memory_order_relaxed);
  }
  return (wanted & ~features) == 0;
}

// ---- the runtime table -------------------------------------------------------------------------

typedef struct chunks {
  hlo_frame_t* frame;
  hlo_program_chunk_t chunk;
  void* context;
} chunks_t;

static int32_t run_chunk(void* context, size_t index) {
  const chunks_t* chunks = context;
  return chunks->chunk(chunks->frame, chunks->context, index);
}

static int32_t parallel_for(hlo_frame_t* frame, uint64_t chunk_count, hlo_program_chunk_t chunk,
                            void* context) {
  chunks_t chunks = {frame, chunk, context};
  return hlo_pool_parallel_for(the_pool(), chunk_count, run_chunk, &chunks);
}

static void fill(uint8_t* to, const uint8_t* element, uint64_t width, uint64_t size_bytes) {
  for (uint64_t i = 0; i < size_bytes; i += width) memcpy(to + i, element, width);
}

static void run_copy(const hlo_frame_t* frame, const hlo_rt_copy_t* copy) {
  void* to = hlo_rt_address(frame, &copy->to);
  if (copy->element_bytes) {
    fill(to, copy->element, copy->element_bytes, copy->size_bytes);
    return;
  }
  const void* from = hlo_rt_address(frame, &copy->from);
  if (from != to) memcpy(to, from, copy->size_bytes);
}

static int32_t call_library(hlo_frame_t* frame, uint32_t call_site, void* const* buffers) {
  const hlo_rt_program_t* program = frame->program;
  if (call_site < program->first_copy) {
    return program->calls ? program->calls->run(frame, call_site, buffers) : HLO_PROGRAM_ERROR;
  }
  if (call_site - program->first_copy >= program->copy_count) return HLO_PROGRAM_ERROR;
  run_copy(frame, &program->copies[call_site - program->first_copy]);
  return HLO_PROGRAM_DONE;
}

static void library_for(HLO_UNUSED hlo_frame_t* frame, uint64_t chunk_count,
                        hlo_parallel_chunk_t chunk, void* argument) {
  const hlo_parallel_t parallel = hlo_parallel_on_pool(the_pool());
  hlo_parallel_for(&parallel, chunk_count, chunk, argument);
}

static int32_t check_failed(HLO_UNUSED hlo_frame_t* frame, HLO_UNUSED uint32_t call_site,
                            HLO_UNUSED int64_t found, HLO_UNUSED int64_t limit) {
  return HLO_PROGRAM_ERROR;
}

// Programs that wait for other processes are not compiled ahead of time (codegen/aot).
static int32_t refuse_async(HLO_UNUSED hlo_frame_t* frame, HLO_UNUSED uint32_t call_site) {
  return HLO_PROGRAM_ERROR;
}

static const hlo_runtime_table_t kTable = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                                           .size_bytes = sizeof(hlo_runtime_table_t),
                                           .parallel_for = parallel_for,
                                           .async_start = refuse_async,
                                           .async_done = refuse_async,
                                           .call_library = call_library,
                                           .check_failed = check_failed,
                                           .library_for = library_for};

// ---- one run -----------------------------------------------------------------------------------

static int run(const hlo_rt_program_t* program, const void** buffers, uint8_t* temporaries,
               uint8_t* saved) {
  hlo_frame_t frame = {.abi_version = HLO_PROGRAM_ABI_VERSION,
                       .buffers = (void* const*)buffers,
                       .temporaries = temporaries,
                       .saved = saved,
                       .runtime = &kTable,
                       .buffer_count = program->argument_count + program->result_count,
                       .saved_bytes = (uint32_t)program->saved_bytes,
                       .program = program};
  const hlo_env_t env = {(hlo_subnormals_t)program->subnormals, (hlo_cpu_level_t)program->level,
                         false};
  const hlo_env_state_t host = hlo_env_enter(&env);
  const int32_t answer = program->entry(&frame);
  hlo_env_leave(host);
  return answer == HLO_PROGRAM_DONE ? HLO_RT_DONE : HLO_RT_FAILED;
}

int hlo_rt_run(const void* const* arguments, void* const* results,
               const hlo_rt_program_t* program) {
  if (program->abi_version != HLO_RT_ABI_VERSION) return HLO_RT_OTHER_VERSION;
  if (!has_features(program->features)) return HLO_RT_OTHER_PROCESSOR;
  uint32_t count = program->argument_count;
  size_t buffer_count = (size_t)count + program->result_count;
  const void** buffers = hlo_mem_alloc((buffer_count + 1) * sizeof *buffers);
  uint8_t* saved = hlo_mem_alloc_zeroed(program->saved_bytes);
  uint8_t* temporaries = hlo_mem_alloc_aligned(program->temporary_bytes, ALIGNMENT);
  int answer = HLO_RT_OUT_OF_MEMORY;
  if (buffers && saved && temporaries) {
    if (count) memcpy(buffers, arguments, count * sizeof *buffers);
    if (program->result_count) {
      memcpy(buffers + count, results, program->result_count * sizeof *buffers);
    }
    answer = run(program, buffers, temporaries, saved);
  }
  hlo_mem_free(temporaries);
  hlo_mem_free(saved);
  hlo_mem_free(buffers);
  return answer;
}
