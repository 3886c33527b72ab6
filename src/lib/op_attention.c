// SPDX-License-Identifier: Apache-2.0
// Fusions of kind "attention" (pass outline_attention): the body defines the computation, blocks of
// queries are computed without the matrix of scores (attention_impl.h).
#include <stdatomic.h>
#include <string.h>

#include "base/integer.h"
#include "lib/attention_impl.h"
#include "lib/call_impl.h"
#include "lib/isa.h"

typedef struct {
  hlo_attention_job_t job;
  const hlo_attention_kernel_t* kernel;
  size_t scratch_bytes;
  atomic_bool is_exhausted;  // a chunk failed to allocate memory
} attention_run_t;

static const hlo_attention_kernel_t* find_kernel(void) {
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_AVX2: return &hlo_attention_kernel_avx2;
    case HLO_ISA_AVX512: return &hlo_attention_kernel_avx512;
    case HLO_ISA_GENERIC: break;
  }
#endif
  return &hlo_attention_kernel_generic;
}

static void run_chunk(void* arg, uint64_t index) {
  attention_run_t* run = arg;
  float* scratch = hlo_mem_alloc_aligned(run->scratch_bytes, 64);
  if (!scratch) {
    atomic_store(&run->is_exhausted, true);
    return;
  }
  run->kernel->run(&run->job, index, scratch);
  hlo_mem_free(scratch);
}

static hlo_status_t attention_run(const hlo_lib_run_t* run) {
  const hlo_attention_t* plan = run->plan;
  const hlo_attention_kernel_t* kernel = find_kernel();
  attention_run_t state = {.kernel = kernel, .scratch_bytes = kernel->scratch_bytes(plan)};
  state.job.plan = plan;
  state.job.has_pairs = hlo_isa_has_pairs();
  state.job.query = run->operands[plan->query.value->number].data;
  state.job.key = run->operands[plan->key.value->number].data;
  state.job.value = run->operands[plan->value.value->number].data;
  state.job.result = run->results[0].data;
  for (uint32_t i = 0; i < plan->array_count; ++i) {
    state.job.arrays[i] = run->operands[plan->arrays[i].value->number].data;
  }
  uint64_t chunks = (uint64_t)hlo_divide_up(plan->rows, kernel->block_queries);
  for (uint32_t i = 0; i < plan->batch_count; ++i) chunks *= (uint64_t)plan->batch[i];
  hlo_parallel_for(run->parallel, chunks, run_chunk, &state);
  return atomic_load(&state.is_exhausted) ? hlo_status_out_of_memory(state.scratch_bytes)
                                          : hlo_ok();
}

// Returns true if the computation reads only arguments of the body.
static bool reads_arguments(const hlo_attention_t* plan) {
  bool is_argument = !plan->query.value->def && !plan->key.value->def && !plan->value.value->def;
  for (uint32_t i = 0; i < plan->array_count; ++i) is_argument &= !plan->arrays[i].value->def;
  return is_argument;
}

hlo_status_t hlo_lib_prepare_attention(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_node_t* node = call->node;
  const char* kind = hlo_node_attr_text(node, HLO_ATTR_kind);
  const hlo_node_t* end = node->region_count == 1 ? hlo_region_terminator(node->regions[0]) : NULL;
  if (!kind || strcmp(kind, "attention") != 0 || !end || end->operand_count != 1) return hlo_ok();
  hlo_attention_t* plan = hlo_arena_alloc(arena, sizeof *plan);
  HLO_TRY(hlo_arena_status(arena));
  if (!hlo_attention_match(hlo_node_operand(end, 0), plan, NULL) || !reads_arguments(plan)) {
    return hlo_ok();
  }
  call->plan = plan;
  call->run = attention_run;
  return hlo_ok();
}
