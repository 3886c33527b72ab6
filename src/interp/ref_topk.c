// SPDX-License-Identifier: Apache-2.0
// chlo.top_k, and the code it shares with custom calls (see ref_topk.h): lines go to the threads in
// groups.
#include "interp/ref_topk.h"

#include <string.h>

#include "interp/ref_util.h"

typedef struct {
  const hlo_topk_t* topk;
  int64_t length, stride, line_count, lines_per_chunk;
  int64_t group;  // lines processed together; 0: each alone
  hlo_tensor_t *values, *others;
  size_t scratch_bytes;      // of lib/sort.h
  size_t line_bytes;         // of a dense copy of a line, a multiple of the word size
  size_t positions_bytes;    // of a line, or a group
  atomic_bool is_exhausted;  // a chunk failed to allocate memory
} run_t;

static void store_positions(hlo_dtype_t dtype, int64_t count, int64_t stride,
                            const uint32_t* positions, char* out) {
  if (stride == 1) {
    hlo_dtype_convert(HLO_DTYPE_U32, positions, dtype, out, (size_t)count);
    return;
  }
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(dtype);
  for (int64_t i = 0; i < count; i++) {
    hlo_dtype_store_int64(dtype, out + i * stride * bytes, positions[i]);
  }
}

static void store_line(const run_t* run, int64_t line, const uint32_t* positions) {
  const hlo_topk_t* topk = run->topk;
  const int64_t block = line / run->stride, offset = line % run->stride;
  const size_t from = (size_t)(block * run->length * run->stride + offset);
  const size_t to = (size_t)(block * topk->kept * run->stride + offset);
  const size_t bytes = hlo_tensor_element_bytes(run->values);
  const size_t other_bytes = hlo_tensor_element_bytes(run->others);
  char* others = (char*)run->others->data + to * other_bytes;
  hlo_sort_permute(bytes, topk->kept, run->stride, positions,
                   (const char*)topk->operand->data + from * bytes,
                   (char*)run->values->data + to * bytes);
  if (topk->companion) {
    hlo_sort_permute(other_bytes, topk->kept, run->stride, positions,
                     (const char*)topk->companion->data + from * other_bytes, others);
  } else {
    store_positions(run->others->dtype, topk->kept, run->stride, positions, others);
  }
}

// Selects from one line; `copy` has room for it.
static void select_line(const run_t* run, int64_t line, char* copy, uint32_t* positions,
                        void* scratch) {
  const int64_t bytes = (int64_t)hlo_tensor_element_bytes(run->values);
  const int64_t start = line / run->stride * run->length * run->stride + line % run->stride;
  const char* in = (const char*)run->topk->operand->data + start * bytes;
  if (run->stride != 1) {
    const int64_t in_stride = run->stride * bytes;
    hlo_strided_copy((size_t)bytes, 1, &run->length, copy, &bytes, in, &in_stride);
    in = copy;
  }
  hlo_sort_select(&run->topk->form, run->length, in, run->topk->kept, positions, scratch);
  store_line(run, line, positions);
}

static void select_group(const run_t* run, int64_t first, int64_t lines, uint32_t* positions,
                         void* scratch) {
  const int64_t bytes = (int64_t)hlo_tensor_element_bytes(run->values);
  const char* in = (const char*)run->topk->operand->data + first * run->length * bytes;
  hlo_sort_group_positions(&run->topk->form, lines, run->length, 1, in, positions, scratch);
  for (int64_t l = 0; l < lines; l++) store_line(run, first + l, positions + l * run->length);
}

static void run_chunk(void* arg, uint64_t index) {
  run_t* run = arg;
  char* scratch =
      hlo_mem_alloc_aligned(run->scratch_bytes + run->line_bytes + run->positions_bytes, 64);
  if (!scratch) {
    atomic_store(&run->is_exhausted, true);
    return;
  }
  char* line = scratch + run->scratch_bytes;
  uint32_t* positions = (uint32_t*)(line + run->line_bytes);
  int64_t l = (int64_t)index * run->lines_per_chunk;
  const int64_t left = run->line_count - l;
  const int64_t end = l + (left < run->lines_per_chunk ? left : run->lines_per_chunk);
  while (l < end) {
    const int64_t lines = end - l < run->group ? end - l : run->group;
    if (2 * lines > run->group) {  // empty lanes cost as much as used ones
      select_group(run, l, lines, positions, scratch);
      l += lines;
    } else {
      select_line(run, l++, line, positions, scratch);
    }
  }
  hlo_mem_free(scratch);
}

// Computes the memory of a chunk.
static bool find_sizes(run_t* run, const hlo_topk_t* topk) {
  const int64_t lines = run->group ? run->group : 1;
  if (!hlo_sort_scratch_bytes(topk->form.dtype, run->length, &run->scratch_bytes)) return false;
  if (run->group && run->scratch_bytes < hlo_sort_group_scratch_bytes(run->length)) {
    run->scratch_bytes = hlo_sort_group_scratch_bytes(run->length);
  }
  run->scratch_bytes = (run->scratch_bytes + 63) & ~(size_t)63;
  run->line_bytes =
      ((size_t)run->length * hlo_tensor_element_bytes(topk->operand) + 63) & ~(size_t)63;
  run->positions_bytes = (size_t)(lines * run->length) * sizeof(uint32_t);
  return true;
}

hlo_status_t hlo_topk_run(const hlo_parallel_t* parallel, const hlo_topk_t* topk,
                          hlo_tensor_t* values, hlo_tensor_t* others) {
  enum { CHUNK_ELEMENTS = 1 << 16 };
  const hlo_tensor_t* operand = topk->operand;
  run_t run = {.topk = topk, .length = operand->dims[topk->axis], .values = values};
  run.others = others;
  if (values->element_count == 0) return hlo_ok();
  if (run.length > HLO_SORT_COUNT_MAX) {
    return hlo_status_create(HLO_STATUS_UNIMPLEMENTED, "lines of %lld elements are not supported",
                             (long long)run.length);
  }
  run.stride = 1;
  for (uint32_t d = topk->axis + 1; d < operand->rank; d++) run.stride *= operand->dims[d];
  run.line_count = operand->element_count / run.length;
  if (run.stride == 1) run.group = hlo_sort_select_group(&topk->form, run.length, topk->kept);
  if (!find_sizes(&run, topk)) return hlo_status_out_of_memory(SIZE_MAX);
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
    return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "k = %lld exceeds the last dimension",
                          (long long)k);
  }
  if (hlo_dtype_is_complex(operand->dtype)) {
    return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "complex numbers have no order");
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
