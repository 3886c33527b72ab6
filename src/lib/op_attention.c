// SPDX-License-Identifier: Apache-2.0
// Fusions of kind "attention" (pass outline_attention): the body defines the computation, blocks of
// queries are computed without the matrix of scores (attention_impl.h). The same for the gradients,
// kind "attention_gradient".
#include <stdatomic.h>
#include <string.h>

#include "base/integer.h"
#include "base/tuning.h"
#include "lib/attention_impl.h"
#include "lib/call_impl.h"
#include "lib/isa.h"

enum { STATISTICS = 3 };  // results of an attention with the maximum and the sum of each row

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

static void set_addresses(const hlo_lib_run_t* run, const hlo_attention_t* plan,
                          hlo_attention_job_t* job) {
  job->plan = plan;
  job->has_pairs = hlo_isa_has_pairs();
  job->query = run->operands[plan->query.value->number].data;
  job->key = run->operands[plan->key.value->number].data;
  job->value = run->operands[plan->value.value->number].data;
  for (uint32_t i = 0; i < plan->array_count; ++i) {
    job->arrays[i] = run->operands[plan->arrays[i].value->number].data;
  }
}

static hlo_status_t attention_run(const hlo_lib_run_t* run) {
  const hlo_attention_t* plan = run->plan;
  const hlo_attention_kernel_t* kernel = find_kernel();
  attention_run_t state = {.kernel = kernel, .scratch_bytes = kernel->scratch_bytes(plan)};
  set_addresses(run, plan, &state.job);
  state.job.result = run->results[0].data;
  if (run->node->result_count == STATISTICS) {
    state.job.most = run->results[1].data;
    state.job.sum = run->results[2].data;
  }
  uint64_t chunks = (uint64_t)hlo_divide_up(plan->rows, kernel->block_queries);
  for (uint32_t i = 0; i < plan->batch_count; ++i) chunks *= (uint64_t)plan->batch[i];
  hlo_parallel_for(run->parallel, chunks, run_chunk, &state);
  return atomic_load(&state.is_exhausted) ? hlo_status_out_of_memory(state.scratch_bytes)
                                          : hlo_ok();
}

// ---- gradients

typedef struct {
  hlo_attention_gradient_job_t job;
  const hlo_attention_gradient_kernel_t* kernel;
  size_t scratch_bytes;
  atomic_bool is_exhausted;  // a chunk failed to allocate memory
} gradient_run_t;

static const hlo_attention_gradient_kernel_t* find_gradient_kernel(void) {
#if defined(__x86_64__)
  switch (hlo_isa()) {
    case HLO_ISA_AVX2: return &hlo_attention_gradient_kernel_avx2;
    case HLO_ISA_AVX512: return &hlo_attention_gradient_kernel_avx512;
    case HLO_ISA_GENERIC: break;
  }
#endif
  return &hlo_attention_gradient_kernel_generic;
}

static void run_gradient_chunk(void* arg, uint64_t index) {
  gradient_run_t* run = arg;
  float* scratch = hlo_mem_alloc_aligned(run->scratch_bytes, 64);
  if (!scratch) {
    atomic_store(&run->is_exhausted, true);
    return;
  }
  run->kernel->run(&run->job, index, scratch);
  hlo_mem_free(scratch);
}

static void reduce_gradient_chunk(void* arg, uint64_t matrix) {
  const gradient_run_t* run = arg;
  run->kernel->reduce(&run->job, matrix);
}

static hlo_status_t gradient_run(const hlo_lib_run_t* run) {
  const hlo_attention_gradient_t* plan = run->plan;
  const hlo_attention_gradient_kernel_t* kernel = find_gradient_kernel();
  const hlo_attention_gradient_size_t size = kernel->size(plan);
  gradient_run_t state = {.kernel = kernel, .scratch_bytes = kernel->scratch_bytes(plan)};
  set_addresses(run, &plan->scores, &state.job.scores);
  state.job.plan = plan;
  state.job.cotangent = run->operands[plan->cotangent.value->number].data;
  state.job.query = run->results[HLO_ATTENTION_QUERY_GRADIENT].data;
  state.job.key = run->results[HLO_ATTENTION_KEY_GRADIENT].data;
  state.job.value = run->results[HLO_ATTENTION_VALUE_GRADIENT].data;
  state.job.splits =
      hlo_min(hlo_divide_up(HLO_TUNING_ATTENTION_GRADIENT_CHUNKS, size.matrices), size.blocks);
  const size_t bytes =
      (size_t)(size.matrices * state.job.splits * size.partial_floats) * sizeof(float);
  if (state.job.splits > 1) {
    state.job.partial = hlo_mem_alloc_aligned(bytes, 64);
    if (!state.job.partial) return hlo_status_out_of_memory(bytes);
  }
  hlo_parallel_for(run->parallel, (uint64_t)(size.matrices * state.job.splits), run_gradient_chunk,
                   &state);
  const bool is_exhausted = atomic_load(&state.is_exhausted);
  if (state.job.splits > 1 && !is_exhausted) {
    hlo_parallel_for(run->parallel, (uint64_t)size.matrices, reduce_gradient_chunk, &state);
  }
  hlo_mem_free(state.job.partial);
  return is_exhausted ? hlo_status_out_of_memory(state.scratch_bytes) : hlo_ok();
}

// ---- preparation

// Returns true if the computation reads only arguments of the body.
static bool reads_arguments(const hlo_attention_t* plan) {
  bool is_argument = !plan->query.value->def && !plan->key.value->def && !plan->value.value->def;
  for (uint32_t i = 0; i < plan->array_count; ++i) is_argument &= !plan->arrays[i].value->def;
  return is_argument;
}

static hlo_status_t prepare_gradient(hlo_lib_call_t* call, const hlo_node_t* end,
                                     hlo_arena_t* arena) {
  const hlo_value_t* roots[HLO_ATTENTION_GRADIENTS];
  if (end->operand_count != HLO_ATTENTION_GRADIENTS) return hlo_ok();
  for (uint32_t i = 0; i < HLO_ATTENTION_GRADIENTS; ++i) roots[i] = hlo_node_operand(end, i);
  hlo_attention_gradient_t* plan = hlo_arena_alloc(arena, sizeof *plan);
  HLO_TRY(hlo_arena_status(arena));
  if (!hlo_attention_match_gradient(roots, plan, NULL) || !reads_arguments(&plan->scores) ||
      plan->cotangent.value->def) {
    return hlo_ok();
  }
  call->plan = plan;
  call->run = gradient_run;
  return hlo_ok();
}

hlo_status_t hlo_lib_prepare_attention(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_node_t* node = call->node;
  const char* kind = hlo_node_attr_text(node, HLO_ATTR_kind);
  const hlo_node_t* end = node->region_count == 1 ? hlo_region_terminator(node->regions[0]) : NULL;
  if (!kind || !end) return hlo_ok();
  if (strcmp(kind, "attention_gradient") == 0) return prepare_gradient(call, end, arena);
  const bool has_statistics = end->operand_count == STATISTICS;
  if (strcmp(kind, "attention") != 0 || (end->operand_count != 1 && !has_statistics)) {
    return hlo_ok();
  }
  hlo_attention_t* plan = hlo_arena_alloc(arena, sizeof *plan);
  HLO_TRY(hlo_arena_status(arena));
  if (!hlo_attention_match(hlo_node_operand(end, 0), false, plan, NULL) || !reads_arguments(plan) ||
      (has_statistics && (hlo_node_operand(end, 1) != plan->most.value ||
                          hlo_node_operand(end, 2) != plan->sum.value))) {
    return hlo_ok();
  }
  call->plan = plan;
  call->run = attention_run;
  return hlo_ok();
}
