// SPDX-License-Identifier: Apache-2.0
// select_and_scatter of floats with a comparison and a recognised operation, as in gradients of
// poolings. Dimensions before and after the windows are columns, which are selected side by side.
// The reference computes what is left.
#include <string.h>

#include "base/copy.h"
#include "ir/window.h"
#include "lib/batches.h"
#include "lib/call_impl.h"
#include "lib/fold.h"
#include "lib/isa.h"
#include "lib/select_window_impl.h"

typedef struct {
  uint32_t rank;  // of windows: the dims but those before the first window and after the last
  hlo_window_dim_t windows[HLO_RANK_MAX];
  int64_t strides[HLO_RANK_MAX], out_dims[HLO_RANK_MAX];
  int64_t outer, inner;              // columns before and after the windows
  int64_t positions, out_positions;  // of a column of operand and source
  int64_t direction;
  hlo_dtype_t dtype, wide;  // wide: F32 or F64, in which elements are compared
  const hlo_fold_t* fold;
  hlo_select_window_t select;
} plan_t;

typedef struct {
  const plan_t* plan;
  const char *operand, *source;  // operand: in the wide type
  char* result;
} run_t;

// Selects in the windows of output `o` of all columns. Returns false if they have no elements.
static bool select_windows(const plan_t* plan, const int64_t* o, const char* columns,
                           int32_t* selected) {
  const uint32_t last = plan->rank - 1;
  const size_t row_bytes = HLO_SELECT_COLUMNS * hlo_dtype_size_bytes(plan->wide);
  int64_t first[HLO_RANK_MAX], sizes[HLO_RANK_MAX], w[HLO_RANK_MAX] = {0};
  if (!hlo_window_reach(plan->rank, plan->windows, o, first, sizes)) return false;
  _Alignas(64) double kept[HLO_SELECT_COLUMNS];
  selected[0] = -1;
  do {
    int64_t position = 0;
    for (uint32_t d = 0; d <= last; d++) {
      const hlo_window_dim_t* dim = &plan->windows[d];
      position += (o[d] * dim->stride - dim->low + first[d] + w[d]) * plan->strides[d];
    }
    plan->select(plan->direction, sizes[last], columns + (size_t)position * row_bytes,
                 (int32_t)position, kept, selected);
  } while (hlo_index_next(last, sizes, w));
  return true;
}

static void run_columns(const void* arg, int64_t index, void* scratch) {
  const run_t* run = arg;
  const plan_t* plan = run->plan;
  const int64_t begin = index * HLO_SELECT_COLUMNS, all = plan->outer * plan->inner;
  const int64_t count = all - begin < HLO_SELECT_COLUMNS ? all - begin : HLO_SELECT_COLUMNS;
  const int64_t wide_bytes = (int64_t)hlo_dtype_size_bytes(plan->wide);
  const int64_t bytes = (int64_t)hlo_dtype_size_bytes(plan->dtype);
  const int64_t positions = plan->positions, inner = plan->inner;
  char* columns = scratch;
  if (count < HLO_SELECT_COLUMNS) {
    memset(columns, 0, (size_t)(positions * HLO_SELECT_COLUMNS * wide_bytes));
  }
  char* results[HLO_SELECT_COLUMNS];
  const char* sources[HLO_SELECT_COLUMNS];
  for (int64_t c = 0; c < count; c++) {
    const int64_t outer = (begin + c) / inner, at = (begin + c) % inner;
    results[c] = run->result + (outer * positions * inner + at) * bytes;
    sources[c] = run->source + (outer * plan->out_positions * inner + at) * bytes;
    if (c > 0 && at > 0) continue;  // copied with the columns before
    const int64_t run_count = inner - at < count - c ? inner - at : count - c;
    hlo_strided_copy((size_t)wide_bytes, 2, (int64_t[]){positions, run_count},
                     columns + c * wide_bytes,
                     (int64_t[]){HLO_SELECT_COLUMNS * wide_bytes, wide_bytes},
                     run->operand + (outer * positions * inner + at) * wide_bytes,
                     (int64_t[]){inner * wide_bytes, wide_bytes});
  }
  int64_t o[HLO_RANK_MAX] = {0}, at = 0;
  int32_t selected[HLO_SELECT_COLUMNS];
  do {
    if (select_windows(plan, o, columns, selected)) {
      for (int64_t c = 0; c < count; c++) {
        hlo_fold_combine(plan->fold, plan->dtype, 1, results[c] + selected[c] * inner * bytes,
                         sources[c] + at * inner * bytes);
      }
    }
    at++;
  } while (hlo_index_next(plan->rank, plan->out_dims, o));
}

static hlo_status_t select_run(const hlo_lib_run_t* lib) {
  const plan_t* plan = lib->plan;
  const hlo_lib_array_t *operand = &lib->operands[0], *result = &lib->results[0];
  const size_t count = (size_t)operand->element_count, wide = hlo_dtype_size_bytes(plan->wide);
  hlo_strided_fill(hlo_lib_element_bytes(result), count, result->data, lib->operands[2].data);
  char* converted = NULL;
  if (plan->wide != plan->dtype) {
    converted = hlo_mem_alloc_aligned(count * wide, 64);
    if (!converted) return hlo_status_out_of_memory(count * wide);
    hlo_dtype_convert(plan->dtype, operand->data, plan->wide, converted, count);
  }
  const run_t run = {.plan = plan,
                     .operand = converted ? converted : operand->data,
                     .source = lib->operands[1].data,
                     .result = result->data};
  const hlo_batches_t blocks = {
      .count = (plan->outer * plan->inner + HLO_SELECT_COLUMNS - 1) / HLO_SELECT_COLUMNS,
      .elements = INT32_MAX,  // each block on its own
      .scratch_bytes = (size_t)plan->positions * HLO_SELECT_COLUMNS * wide,
      .run = run_columns,
      .arg = &run};
  const hlo_status_t status = hlo_batches_run(lib->parallel, &blocks);
  hlo_mem_free(converted);
  return status;
}

static bool read_bodies(plan_t* plan, const hlo_node_t* node) {
  bool is_swapped = false;
  const hlo_node_t* compare = hlo_region_binary_op(node->regions[0], &is_swapped);
  if (!compare || compare->op != HLO_OP_compare || is_swapped ||
      hlo_node_attr_int(compare, HLO_ATTR_compare_type, -1) == HLO_COMPARISON_TYPE_TOTALORDER) {
    return false;
  }
  plan->direction = hlo_node_attr_int(compare, HLO_ATTR_comparison_direction, -1);
  const hlo_node_t* scatter = hlo_region_binary_op(node->regions[1], &is_swapped);
  plan->fold = scatter ? hlo_fold_find(hlo_fold_op_of(scatter->op), plan->dtype) : NULL;
  return plan->fold && (plan->direction == HLO_COMPARISON_DIRECTION_GE ||
                        plan->direction == HLO_COMPARISON_DIRECTION_GT ||
                        plan->direction == HLO_COMPARISON_DIRECTION_LE ||
                        plan->direction == HLO_COMPARISON_DIRECTION_LT);
}

// Keeps the windows between the first and the last that is no column. Returns false if there are
// none, or if a column has too many positions.
static bool read_windows(plan_t* plan, uint32_t rank) {
  enum { POSITIONS_MAX = 1 << 20 };
  uint32_t first = 0, end = rank;
  plan->outer = plan->inner = plan->positions = plan->out_positions = 1;
  for (; first < rank && hlo_window_is_trivial(&plan->windows[first]); first++) {
    plan->outer *= plan->windows[first].in_size;
  }
  for (; end > first && hlo_window_is_trivial(&plan->windows[end - 1]); end--) {
    plan->inner *= plan->windows[end - 1].in_size;
  }
  plan->rank = end - first;
  memmove(plan->windows, plan->windows + first, plan->rank * sizeof(plan->windows[0]));
  for (uint32_t d = plan->rank; d-- > 0;) {
    plan->strides[d] = plan->positions;
    plan->out_dims[d] = plan->windows[d].out_size;
    plan->positions *= plan->windows[d].in_size;
    plan->out_positions *= plan->out_dims[d];
  }
  return plan->rank > 0 && plan->positions <= POSITIONS_MAX;
}

static hlo_select_window_t loops_of(hlo_dtype_t dtype) {
  switch (hlo_isa()) {
#if defined(__x86_64__)
    case HLO_ISA_AVX512: return hlo_select_window_avx512(dtype);
    case HLO_ISA_AVX2: return hlo_select_window_avx2(dtype);
#endif
    default: return hlo_select_window_generic(dtype);
  }
}

hlo_status_t hlo_lib_prepare_select_and_scatter(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_node_t* node = call->node;
  const hlo_lib_array_t *operand = &call->operands[0], *source = &call->operands[1];
  plan_t* plan = hlo_arena_array(arena, 1, sizeof *plan);
  HLO_TRY(hlo_arena_status(arena));
  plan->dtype = operand->dtype;
  if (!hlo_dtype_is_float(plan->dtype) || source->dtype != plan->dtype ||
      call->operands[2].dtype != plan->dtype || call->results[0].dtype != plan->dtype ||
      node->regions[1]->args[0]->type->dtype != plan->dtype || operand->element_count == 0 ||
      source->element_count == 0 || !read_bodies(plan, node)) {
    return hlo_ok();
  }
  HLO_TRY(hlo_window_dims_of(node, operand->rank, operand->dims, plan->windows));
  if (!read_windows(plan, operand->rank)) return hlo_ok();
  plan->wide = hlo_dtype_size_bytes(plan->dtype) > 4 ? HLO_DTYPE_F64 : HLO_DTYPE_F32;
  plan->select = loops_of(plan->wide);
  call->plan = plan;
  call->run = select_run;
  return hlo_ok();
}
