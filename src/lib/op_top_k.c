// SPDX-License-Identifier: Apache-2.0
// The best elements of lines (ir/top_k.h): lines go to the threads in groups.
#include <stdatomic.h>

#include "base/copy.h"
#include "ir/sort_comparator.h"
#include "lib/call_impl.h"
#include "lib/sort.h"

typedef struct {
  hlo_top_k_t top_k;
  hlo_sort_form_t form;  // sorts the best element first
  int64_t length, stride, line_count, lines_per_chunk;
  int64_t group;           // lines processed together; 0: each alone
  size_t scratch_bytes;    // of lib/sort.h
  size_t line_bytes;       // of a dense copy of a line, a multiple of the word size
  size_t positions_bytes;  // of a line, or a group
} plan_t;

typedef struct {
  plan_t plan;
  const hlo_lib_array_t *operand, *companion;  // companion NULL: positions are stored
  const hlo_lib_array_t *values, *others;
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
  const plan_t* plan = &run->plan;
  const int64_t block = line / plan->stride, offset = line % plan->stride;
  const int64_t kept = plan->top_k.kept;
  const size_t from = (size_t)(block * plan->length * plan->stride + offset);
  const size_t to = (size_t)(block * kept * plan->stride + offset);
  const size_t bytes = hlo_lib_element_bytes(run->values);
  const size_t other_bytes = hlo_lib_element_bytes(run->others);
  char* others = run->others->data + to * other_bytes;
  hlo_sort_permute(bytes, kept, plan->stride, positions, run->operand->data + from * bytes,
                   run->values->data + to * bytes);
  if (run->companion) {
    hlo_sort_permute(other_bytes, kept, plan->stride, positions,
                     run->companion->data + from * other_bytes, others);
  } else {
    store_positions(run->others->dtype, kept, plan->stride, positions, others);
  }
}

// Selects from one line; `copy` has room for it.
static void select_line(const run_t* run, int64_t line, char* copy, uint32_t* positions,
                        void* scratch) {
  const int64_t bytes = (int64_t)hlo_lib_element_bytes(run->values);
  const int64_t start =
      line / run->plan.stride * run->plan.length * run->plan.stride + line % run->plan.stride;
  const char* in = run->operand->data + start * bytes;
  if (run->plan.stride != 1) {
    const int64_t in_stride = run->plan.stride * bytes;
    hlo_strided_copy((size_t)bytes, 1, &run->plan.length, copy, &bytes, in, &in_stride);
    in = copy;
  }
  hlo_sort_select(&run->plan.form, run->plan.length, in, run->plan.top_k.kept, positions, scratch);
  store_line(run, line, positions);
}

static void select_group(const run_t* run, int64_t first, int64_t lines, uint32_t* positions,
                         void* scratch) {
  const int64_t bytes = (int64_t)hlo_lib_element_bytes(run->values);
  const char* in = run->operand->data + first * run->plan.length * bytes;
  hlo_sort_group_positions(&run->plan.form, lines, run->plan.length, 1, in, positions, scratch);
  for (int64_t l = 0; l < lines; l++) store_line(run, first + l, positions + l * run->plan.length);
}

static void run_chunk(void* arg, uint64_t index) {
  run_t* run = arg;
  char* scratch = hlo_mem_alloc_aligned(
      run->plan.scratch_bytes + run->plan.line_bytes + run->plan.positions_bytes, 64);
  if (!scratch) {
    atomic_store(&run->is_exhausted, true);
    return;
  }
  char* line = scratch + run->plan.scratch_bytes;
  uint32_t* positions = (uint32_t*)(line + run->plan.line_bytes);
  int64_t l = (int64_t)index * run->plan.lines_per_chunk;
  const int64_t left = run->plan.line_count - l;
  const int64_t end = l + (left < run->plan.lines_per_chunk ? left : run->plan.lines_per_chunk);
  while (l < end) {
    const int64_t lines = end - l < run->plan.group ? end - l : run->plan.group;
    if (2 * lines > run->plan.group) {  // empty lanes cost as much as used ones
      select_group(run, l, lines, positions, scratch);
      l += lines;
    } else {
      select_line(run, l++, line, positions, scratch);
    }
  }
  hlo_mem_free(scratch);
}

// Computes the memory of a chunk.
static bool find_sizes(plan_t* plan, const hlo_lib_array_t* operand) {
  const int64_t lines = plan->group ? plan->group : 1;
  if (!hlo_sort_scratch_bytes(plan->form.dtype, plan->length, &plan->scratch_bytes)) return false;
  if (plan->group && plan->scratch_bytes < hlo_sort_group_scratch_bytes(plan->length)) {
    plan->scratch_bytes = hlo_sort_group_scratch_bytes(plan->length);
  }
  plan->scratch_bytes = (plan->scratch_bytes + 63) & ~(size_t)63;
  plan->line_bytes = ((size_t)plan->length * hlo_lib_element_bytes(operand) + 63) & ~(size_t)63;
  plan->positions_bytes = (size_t)(lines * plan->length) * sizeof(uint32_t);
  return true;
}

static hlo_status_t top_k_run(const hlo_lib_run_t* lib_run) {
  run_t run = {.plan = *(const plan_t*)lib_run->plan,
               .operand = &lib_run->operands[0],
               .values = &lib_run->results[0],
               .others = &lib_run->results[1]};
  const plan_t* plan = &run.plan;
  if (plan->top_k.has_companion) run.companion = &lib_run->operands[1];
  hlo_parallel_for(lib_run->parallel,
                   hlo_chunk_count((size_t)plan->line_count, (size_t)plan->lines_per_chunk),
                   run_chunk, &run);
  return atomic_load(&run.is_exhausted) ? hlo_status_out_of_memory(plan->scratch_bytes) : hlo_ok();
}

static bool fits(const hlo_lib_call_t* call, const hlo_top_k_t* top_k) {
  const hlo_lib_array_t *operand = &call->operands[0], *others = &call->results[1];
  return call->results[0].element_count > 0 && top_k->kept <= operand->dims[top_k->axis] &&
         operand->dims[top_k->axis] <= HLO_SORT_COUNT_MAX &&
         call->results[0].dims[top_k->axis] == top_k->kept &&
         others->element_count == call->results[0].element_count &&
         (top_k->has_companion ? call->operands[1].element_count == operand->element_count &&
                                     call->operands[1].dtype == others->dtype
                               : hlo_dtype_is_integer(others->dtype));
}

hlo_status_t hlo_lib_prepare_top_k(hlo_lib_call_t* call, hlo_arena_t* arena) {
  enum { CHUNK_ELEMENTS = 1 << 16 };
  const hlo_lib_array_t* operand = &call->operands[0];
  plan_t* plan = hlo_arena_array(arena, 1, sizeof *plan);
  HLO_TRY(hlo_arena_status(arena));
  const bool is_known = hlo_status_take_ok(hlo_top_k_of(call->node, &plan->top_k));
  if (!is_known || !fits(call, &plan->top_k)) return hlo_ok();
  plan->form = (hlo_sort_form_t){operand->dtype, .canonical = plan->top_k.is_canonical,
                                 .descending = plan->top_k.is_largest};
  plan->length = operand->dims[plan->top_k.axis];
  plan->stride = 1;
  for (uint32_t d = plan->top_k.axis + 1; d < operand->rank; d++) plan->stride *= operand->dims[d];
  plan->line_count = operand->element_count / plan->length;
  if (plan->stride == 1) {
    plan->group = hlo_sort_select_group(&plan->form, plan->length, plan->top_k.kept);
  }
  if (!find_sizes(plan, operand)) return hlo_ok();
  plan->lines_per_chunk = plan->length < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / plan->length : 1;
  call->plan = plan;
  call->run = top_k_run;
  return hlo_ok();
}
