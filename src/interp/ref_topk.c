// SPDX-License-Identifier: Apache-2.0
// chlo.top_k, and what it shares with custom calls (see ref_topk.h): lines go to the threads in
// groups.
#include "interp/ref_topk.h"

#include <string.h>

#include "interp/ref_util.h"

typedef struct {
  const hlo_topk_t* topk;
  int64_t length, stride, line_count, lines_per_chunk;
  hlo_tensor_t *values, *others;
  size_t scratch_bytes;      // of kernels/sort.h
  size_t line_bytes;         // of a dense copy of a line, in whole words
  atomic_bool is_exhausted;  // a chunk got no memory
} run_t;

static void store(const run_t* run, int64_t line, const uint32_t* positions) {
  const hlo_topk_t* topk = run->topk;
  const int64_t block = line / run->stride, offset = line % run->stride;
  const int64_t from = block * run->length * run->stride + offset;
  const int64_t to = block * topk->kept * run->stride + offset;
  const size_t bytes = hlo_tensor_element_bytes(run->values);
  const size_t other_bytes = hlo_tensor_element_bytes(run->others);
  for (int64_t i = 0; i < topk->kept; i++) {
    const size_t source = (size_t)(from + positions[i] * run->stride);
    const size_t place = (size_t)(to + i * run->stride);
    char* other = (char*)run->others->data + place * other_bytes;
    memcpy((char*)run->values->data + place * bytes,
           (const char*)topk->operand->data + source * bytes, bytes);
    if (topk->companion) {
      memcpy(other, (const char*)topk->companion->data + source * other_bytes, other_bytes);
    } else {
      hlo_dtype_store_int64(run->others->dtype, other, positions[i]);
    }
  }
}

static void run_chunk(void* arg, uint64_t index) {
  run_t* run = arg;
  const size_t positions_bytes = (size_t)run->length * sizeof(uint32_t);
  char* scratch = hlo_mem_alloc_aligned(run->scratch_bytes + run->line_bytes + positions_bytes, 64);
  if (!scratch) {
    atomic_store(&run->is_exhausted, true);
    return;
  }
  char* line = scratch + run->scratch_bytes;
  uint32_t* positions = (uint32_t*)(line + run->line_bytes);
  const int64_t first = (int64_t)index * run->lines_per_chunk;
  const int64_t bytes = (int64_t)hlo_tensor_element_bytes(run->values);
  for (int64_t l = first; l < first + run->lines_per_chunk && l < run->line_count; l++) {
    const int64_t start = l / run->stride * run->length * run->stride + l % run->stride;
    const char* in = (const char*)run->topk->operand->data + start * bytes;
    if (run->stride != 1) {
      const int64_t in_stride = run->stride * bytes;
      hlo_strided_copy((size_t)bytes, 1, &run->length, line, &bytes, in, &in_stride);
      in = line;
    }
    hlo_sort_select(&run->topk->form, run->length, in, run->topk->kept, positions, scratch);
    store(run, l, positions);
  }
  hlo_mem_free(scratch);
}

hlo_status_t hlo_topk_run(const hlo_parallel_t* parallel, const hlo_topk_t* topk,
                          hlo_tensor_t* values, hlo_tensor_t* others) {
  enum { CHUNK_ELEMENTS = 1 << 16 };
  const hlo_tensor_t* operand = topk->operand;
  run_t run = {.topk = topk, .length = operand->dims[topk->axis], .values = values};
  run.others = others;
  if (values->element_count == 0) return hlo_ok();
  if (run.length > HLO_SORT_COUNT_MAX) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "lines of %lld elements",
                             (long long)run.length);
  }
  run.stride = 1;
  for (uint32_t d = topk->axis + 1; d < operand->rank; d++) run.stride *= operand->dims[d];
  run.line_count = operand->element_count / run.length;
  run.line_bytes = ((size_t)run.length * hlo_tensor_element_bytes(operand) + 63) & ~(size_t)63;
  if (!hlo_sort_scratch_bytes(topk->form.dtype, run.length, &run.scratch_bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  run.lines_per_chunk = run.length < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / run.length : 1;
  hlo_parallel_for(parallel, hlo_chunk_count((size_t)run.line_count, (size_t)run.lines_per_chunk),
                   run_chunk, &run);
  return atomic_load(&run.is_exhausted) ? hlo_status_out_of_memory(run.scratch_bytes) : hlo_ok();
}

// ---- chlo.top_k

static hlo_status_t make_results(hlo_eval_t* eval, const hlo_node_t* node, const hlo_topk_t* topk,
                                 hlo_tensor_t** made) {
  const hlo_tensor_t* operand = topk->operand;
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, operand->dims, operand->rank * sizeof(dims[0]));
  dims[topk->axis] = topk->kept;
  for (uint32_t i = 0; i < 2; i++) {
    HLO_TRY(hlo_eval_result_dims(eval, node, i, operand->rank, dims, &made[i]));
  }
  return hlo_topk_run(hlo_eval_parallel(eval), topk, made[0], made[1]);
}

hlo_status_t hlo_ref_chlo_top_k(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                                hlo_tensor_t** results) {
  const hlo_tensor_t* operand = operands[0];
  const int64_t k = hlo_node_attr_int(node, HLO_ATTR_k, 0);
  if (operand->rank == 0 || k < 0 || k > operand->dims[operand->rank - 1]) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "k = %lld exceeds the last dimension",
                          (long long)k);
  }
  if (hlo_dtype_is_complex(operand->dtype)) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "complex numbers have no order");
  }
  const hlo_topk_t topk = {.operand = operand,
                           .axis = operand->rank - 1,
                           .kept = k,
                           .form = {.dtype = operand->dtype, .descending = true}};
  hlo_tensor_t* made[2] = {NULL, NULL};
  hlo_status_t status = make_results(eval, node, &topk, made);
  for (uint32_t i = 0; i < 2; i++) {
    if (hlo_status_is_ok(status)) {
      results[i] = made[i];
    } else {
      hlo_tensor_release(made[i]);
    }
  }
  return status;
}
