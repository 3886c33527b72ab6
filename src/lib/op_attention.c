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

/// The chunks of an attention, or of its gradients.
typedef struct {
  const hlo_attention_kernel_t* kernel;
  hlo_attention_gradient_job_t job;  // without gradients only `scores`
  bool is_gradient;
  size_t scratch_bytes;      // of a chunk
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
  if (run->is_gradient) {
    run->kernel->run_gradient(&run->job, index, scratch);
  } else {
    run->kernel->run(&run->job.scores, index, scratch);
  }
  hlo_mem_free(scratch);
}

static hlo_status_t run_chunks(const hlo_lib_run_t* run, uint64_t chunks, attention_run_t* state) {
  hlo_parallel_for(run->parallel, chunks, run_chunk, state);
  return atomic_load(&state->is_exhausted) ? hlo_status_out_of_memory(state->scratch_bytes)
                                           : hlo_ok();
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
  hlo_attention_job_t* job = &state.job.scores;
  set_addresses(run, plan, job);
  job->result = run->results[0].data;
  if (run->node->result_count == STATISTICS) {
    job->most = run->results[1].data;
    job->sum = run->results[2].data;
  }
  uint64_t chunks = (uint64_t)hlo_divide_up(plan->rows, kernel->block_queries);
  for (uint32_t i = 0; i < plan->batch_count; ++i) chunks *= (uint64_t)plan->batch[i];
  return run_chunks(run, chunks, &state);
}

// ---- gradients

static void reduce_gradient_chunk(void* arg, uint64_t matrix) {
  const attention_run_t* run = arg;
  run->kernel->reduce_gradient(&run->job, matrix);
}

static hlo_status_t gradient_run(const hlo_lib_run_t* run) {
  const hlo_attention_gradient_t* plan = run->plan;
  const hlo_attention_kernel_t* kernel = find_kernel();
  const hlo_attention_gradient_size_t size = kernel->gradient_size(plan);
  attention_run_t state = {
      .kernel = kernel, .is_gradient = true, .scratch_bytes = kernel->gradient_scratch_bytes(plan)};
  hlo_attention_gradient_job_t* job = &state.job;
  set_addresses(run, &plan->scores, &job->scores);
  job->plan = plan;
  job->cotangent = run->operands[plan->cotangent.value->number].data;
  job->query = run->results[HLO_ATTENTION_QUERY_GRADIENT].data;
  job->key = run->results[HLO_ATTENTION_KEY_GRADIENT].data;
  job->value = run->results[HLO_ATTENTION_VALUE_GRADIENT].data;
  job->splits =
      hlo_min(hlo_divide_up(HLO_TUNING_ATTENTION_GRADIENT_CHUNKS, size.matrices), size.blocks);
  const size_t bytes = (size_t)(size.matrices * job->splits * size.partial_floats) * sizeof(float);
  if (job->splits > 1) {
    job->partial = hlo_mem_alloc_aligned(bytes, 64);
    if (!job->partial) return hlo_status_out_of_memory(bytes);
  }
  hlo_status_t status = run_chunks(run, (uint64_t)(size.matrices * job->splits), &state);
  if (job->splits > 1 && hlo_status_is_ok(status)) {
    hlo_parallel_for(run->parallel, (uint64_t)size.matrices, reduce_gradient_chunk, &state);
  }
  hlo_mem_free(job->partial);
  return status;
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
