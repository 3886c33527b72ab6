// SPDX-License-Identifier: Apache-2.0
// scatter: each index vector selects where a window of the updates goes in the results. A window
// that is partly out of bounds is dropped as a whole, as in XLA and as JAX's gradients require
// (StableHLO's specification drops elements). A body that returns the update is a copy, a
// recognised operation folds rows; other bodies are left to the caller.
#include <string.h>

#include "base/copy.h"
#include "ir/reducer.h"
#include "ir/scatter_windows.h"
#include "lib/call_impl.h"
#include "lib/index_rows.h"
#include "lib/scatter.h"
#include "lib/select.h"

enum { PART_BYTES = 1 << 18 };  // minimum bytes of updates per part

// Windows that are runs, repeated over `outer`: the window dims before the run that are not
// indexed.
typedef struct {
  hlo_index_rows_t rows;
  uint32_t outer_rank;
  int64_t outer_count;
  uint32_t outer[HLO_RANK_MAX];  // dims of the window
} runs_t;

// The parameters of a scatter. Dims of a window are the operand's dims that are not inserted, in
// order.
typedef struct {
  uint32_t count;  // of inputs
  const hlo_lib_array_t *operands, *results, *updates;
  const hlo_parallel_t* parallel;  // of the run
  hlo_op_t binary;
  bool is_overwrite;       // the body returns its updates
  const hlo_fold_t* fold;  // NULL: overwritten
  bool has_runs;
  runs_t runs;
  hlo_scatter_windows_t windows;
} scatter_t;

static bool returns_updates(const hlo_region_t* body, uint32_t count) {
  const hlo_node_t* last = body->first;
  if (!last || last->next || last->operand_count != count) return false;
  for (uint32_t k = 0; k < count; k++) {
    if (hlo_node_operand(last, k) != body->args[count + k]) return false;
  }
  return true;
}

static hlo_scatter_array_t array_of(const hlo_lib_array_t* array) {
  return (hlo_scatter_array_t){array->dtype, array->rank, array->dims};
}

static void overwrite_window(const scatter_t* scatter, const hlo_scatter_offsets_t* at) {
  int64_t out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  for (uint32_t k = 0; k < scatter->count; k++) {
    const int64_t bytes = (int64_t)hlo_lib_element_bytes(&scatter->results[k]);
    for (uint32_t w = 0; w < scatter->windows.rank; w++) {
      out[w] = scatter->windows.result_strides[w] * bytes;
      in[w] = scatter->windows.update_strides[w] * bytes;
    }
    hlo_strided_copy((size_t)bytes, scatter->windows.rank, scatter->windows.sizes,
                     (char*)scatter->results[k].data + at->result * bytes, out,
                     (const char*)scatter->updates[k].data + at->update * bytes, in);
  }
}

// Combines the elements of a window, `inner` elements at a time along its last dim.
static void combine_window(const scatter_t* scatter, const hlo_scatter_offsets_t* at) {
  const hlo_lib_array_t *result = &scatter->results[0], *update = &scatter->updates[0];
  const int64_t bytes = (int64_t)hlo_lib_element_bytes(result);
  const uint32_t last = scatter->windows.rank ? scatter->windows.rank - 1 : 0;
  const bool rows = scatter->windows.rank > 0 && scatter->windows.result_strides[last] == 1 &&
                    scatter->windows.update_strides[last] == 1;
  const int64_t inner = rows ? scatter->windows.sizes[last] : 1;
  const uint32_t rank = rows ? last : scatter->windows.rank;
  int64_t index[HLO_RANK_MAX] = {0};
  do {
    int64_t to = at->result, from = at->update;
    for (uint32_t w = 0; w < rank; w++) {
      to += index[w] * scatter->windows.result_strides[w];
      from += index[w] * scatter->windows.update_strides[w];
    }
    hlo_fold_combine(scatter->fold, result->dtype, inner, result->data + to * bytes,
                     update->data + from * bytes);
  } while (hlo_index_next(rank, scatter->windows.sizes, index));
}

// Scatters the window of one position.
static void scatter_window(const scatter_t* scatter, const int64_t* position) {
  hlo_scatter_offsets_t at;
  if (!hlo_scatter_window_find(&scatter->windows, scatter->runs.rows.indices, position, &at))
    return;
  if (scatter->is_overwrite) {
    overwrite_window(scatter, &at);
  } else {
    combine_window(scatter, &at);
  }
}

// ---- windows that are runs of elements

static bool is_indexed(const scatter_t* scatter, uint32_t dim) {
  return scatter->windows.vectors.batch_of[dim] >= 0 ||
         hlo_ints_has(scatter->windows.vectors.map, dim);
}

// Returns false if the windows are not runs.
static bool runs_of(const scatter_t* scatter, runs_t* out) {
  const hlo_lib_array_t* result = &scatter->results[0];
  int64_t sizes[HLO_RANK_MAX], row = 1;
  uint32_t w = scatter->windows.rank;
  bool is_open = true;  // the run can still extend to outer dims
  *out = (runs_t){.outer_count = 1};
  for (uint32_t d = result->rank; d > 0; d--) {
    const bool in_window = w > 0 && scatter->windows.dims[w - 1] == d - 1;
    const int64_t size = in_window ? scatter->windows.sizes[--w] : 1;
    sizes[d - 1] = 1;
    if (is_open && (size == 1 || scatter->windows.update_strides[w] == row)) {
      sizes[d - 1] = size;
      row *= size;
    } else if (size == result->dims[d - 1] && !is_indexed(scatter, d - 1)) {
      out->outer[out->outer_rank++] = w;
      out->outer_count *= size;
    } else if (size != 1) {
      return false;
    }
    is_open &= sizes[d - 1] == result->dims[d - 1];
  }
  return hlo_index_rows_init(&out->rows, &scatter->windows.vectors, result->rank, result->dims,
                             sizes, scatter->windows.batch_strides);
}

// Overwrites or combines one run of every operand.
static void scatter_run_at(const scatter_t* scatter, const hlo_fold_t* fold, int64_t row,
                           int64_t start, int64_t position) {
  for (uint32_t k = 0; k < scatter->count; k++) {
    const int64_t bytes = (int64_t)hlo_lib_element_bytes(&scatter->results[k]);
    char* to = (char*)scatter->results[k].data + start * bytes;
    const char* from = (const char*)scatter->updates[k].data + position * row * bytes;
    if (fold) {
      fold->into(row, from, to);
    } else {
      memcpy(to, from, (size_t)(row * bytes));
    }
  }
}

// Runs may overlap, so they are scattered in the order of the positions, on one thread.
static void scatter_overlapping(const scatter_t* scatter, const hlo_index_rows_t* rows,
                                const hlo_fold_t* fold) {
  const int64_t step = hlo_index_rows_step(rows);
  for (int64_t first = 0; first < rows->count; first += step) {
    int64_t starts[HLO_INDEX_ROWS_BLOCK];
    const int64_t count = rows->count - first < step ? rows->count - first : step;
    hlo_index_rows_read(rows, first, count, true, starts);
    for (int64_t i = 0; i < count; i++) {
      if (starts[i] >= 0) scatter_run_at(scatter, fold, rows->row, starts[i], first + i);
    }
  }
}

// Windows that are rows. Every part of the work has its own rows, or its own indices of the outer
// dims, and reads all positions, so that an element receives its updates in order for any number of
// parts.
typedef struct {
  const scatter_t* scatter;
  const runs_t* runs;
  int64_t row_count, rows_per_part;
  int64_t outer_per_part;
} row_job_t;

// Returns the loop that scatters rows of operand k, and the number of loop elements per operand
// element.
static hlo_scatter_loop_t loop_of(const scatter_t* scatter, uint32_t k, int64_t* out_parts) {
  const hlo_dtype_t dtype = scatter->results[k].dtype;
  const size_t bytes = hlo_lib_element_bytes(&scatter->results[k]);
  *out_parts = 1;
  if (scatter->is_overwrite) {
    *out_parts = bytes == 16 ? 2 : 1;
    return hlo_scatter_copy(bytes / (size_t)*out_parts);
  }
  if (scatter->count != 1 || dtype != scatter->updates[0].dtype) {
    return NULL;
  }
  if (hlo_dtype_is_complex(dtype) && scatter->binary != HLO_OP_add) return NULL;
  *out_parts = hlo_dtype_is_complex(dtype) ? 2 : 1;
  return hlo_scatter_fold(hlo_fold_op_of(scatter->binary), hlo_dtype_info(dtype)->part);
}

// Computes the offsets of index `number` of the outer dims.
static void find_outer(const row_job_t* job, int64_t number, int64_t* out_result,
                       int64_t* out_update) {
  const scatter_t* scatter = job->scatter;
  *out_result = *out_update = 0;
  for (uint32_t i = 0; i < job->runs->outer_rank; i++) {
    const uint32_t w = job->runs->outer[i];
    const int64_t at = number % scatter->windows.sizes[w];
    number /= scatter->windows.sizes[w];
    *out_result += at * scatter->windows.result_strides[w];
    *out_update += at * scatter->windows.update_strides[w];
  }
}

// Scatters a block of positions from `first` on, at one index of the outer dims.
static void scatter_block(const row_job_t* job, const hlo_scatter_t* block, int64_t first,
                          int64_t outer) {
  const scatter_t* scatter = job->scatter;
  int64_t result_at, update_at;
  find_outer(job, outer, &result_at, &update_at);
  result_at += block->first * block->row;
  update_at += first * block->row;
  for (uint32_t k = 0; k < scatter->count; k++) {
    const int64_t bytes = (int64_t)hlo_lib_element_bytes(&scatter->results[k]);
    int64_t parts;
    hlo_scatter_loop_t loop = loop_of(scatter, k, &parts);
    hlo_scatter_t rows = *block;
    rows.row *= parts;
    rows.in = (const char*)scatter->updates[k].data + update_at * bytes;
    rows.out = (char*)scatter->results[k].data + result_at * bytes;
    loop(&rows);
  }
}

static void scatter_part(void* arg, uint64_t part) {
  const row_job_t* job = arg;
  const hlo_index_rows_t* rows = &job->runs->rows;
  const bool is_by_rows = job->rows_per_part < job->row_count;
  const int64_t low = is_by_rows ? (int64_t)part * job->rows_per_part : 0;
  const int64_t end = hlo_lib_min(low + job->rows_per_part, job->row_count);
  const int64_t outer = is_by_rows ? 0 : (int64_t)part * job->outer_per_part;
  const int64_t outer_end = hlo_lib_min(outer + job->outer_per_part, job->runs->outer_count);
  const int64_t step = hlo_index_rows_step(rows);
  for (int64_t first = 0; first < rows->count && low < end; first += step) {
    hlo_index_places_t places;
    uint32_t numbers[HLO_INDEX_ROWS_BLOCK + HLO_SELECT_SLACK];
    const uint32_t count = (uint32_t)hlo_lib_min(rows->count - first, step);
    hlo_index_rows_places(rows, first, count, &places);
    if (places.end <= low) return;
    hlo_scatter_t block = {.count = count, .targets = places.places, .row = rows->row};
    block.first = (uint32_t)low;
    block.size = (uint32_t)(hlo_lib_min(end, places.end) - low);
    if (is_by_rows) {
      block.count = hlo_select_range(count, places.places, block.first, block.size, numbers);
      block.numbers = numbers;
    }
    for (int64_t o = outer; o < outer_end; o++) scatter_block(job, &block, first, o);
  }
}

// Every part reads all positions, which is cheap compared with moving these bytes: long rows allow
// many parts, single elements two.
static int64_t scatter_parts(int64_t update_bytes, int64_t row_bytes) {
  enum { LOOK_BYTES = 64, PARTS_MAX = 64 };
  return hlo_lib_min(update_bytes / PART_BYTES, hlo_lib_min(2 + row_bytes / LOOK_BYTES, PARTS_MAX));
}

// Returns false if no loop exists for the windows.
static bool scatter_rows(const scatter_t* scatter, const runs_t* runs) {
  int64_t element_parts;
  for (uint32_t k = 0; k < scatter->count; k++) {
    if (!loop_of(scatter, k, &element_parts)) return false;
  }
  const hlo_index_rows_t* rows = &runs->rows;
  const int64_t bytes = (int64_t)hlo_lib_element_bytes(&scatter->updates[0]);
  const int64_t outer = runs->outer_count, update_bytes = scatter->updates[0].element_count * bytes;
  row_job_t job = {
      .scatter = scatter, .runs = runs, .row_count = scatter->results[0].element_count / rows->row};
  int64_t parts = outer > 1
                      ? hlo_lib_min(update_bytes / PART_BYTES, outer)
                      : hlo_lib_min(scatter_parts(update_bytes, rows->row * bytes), job.row_count);
  if (!scatter->parallel || !scatter->parallel->run || parts < 1) parts = 1;
  job.outer_per_part = outer > 1 ? (outer + parts - 1) / parts : 1;
  job.rows_per_part = outer > 1 ? job.row_count : (job.row_count + parts - 1) / parts;
  hlo_parallel_for(scatter->parallel, (uint64_t)parts, scatter_part, &job);
  return true;
}

static void scatter_run(const scatter_t* scatter) {
  if (scatter->has_runs) {
    if (hlo_index_rows_are_apart(&scatter->runs.rows) && scatter_rows(scatter, &scatter->runs)) {
      return;
    }
    const bool has_loop = !scatter->fold || scatter->fold->in == scatter->results[0].dtype;
    if (has_loop && scatter->runs.outer_count == 1) {
      scatter_overlapping(scatter, &scatter->runs.rows, scatter->fold);
      return;
    }
  }
  int64_t position[HLO_RANK_MAX] = {0};
  do {
    scatter_window(scatter, position);
  } while (
      hlo_index_next(scatter->windows.vectors.batch_rank, scatter->windows.vectors.dims, position));
}

static hlo_status_t run_scatter(const hlo_lib_run_t* run) {
  scatter_t scatter = *(const scatter_t*)run->plan;
  scatter.operands = run->operands;
  scatter.results = run->results;
  scatter.updates = run->operands + scatter.count + 1;
  scatter.parallel = run->parallel;
  scatter.runs.rows.indices = run->operands[scatter.count].data;
  for (uint32_t k = 0; k < scatter.count; k++) {
    const hlo_lib_array_t* result = &scatter.results[k];
    if (result->data != run->operands[k].data) {
      memcpy(result->data, run->operands[k].data, result->size_bytes);
    }
  }
  if (scatter.updates[0].element_count) scatter_run(&scatter);
  return hlo_ok();
}

// Returns true if all inputs have one shape, all updates another, and the body their types.
static bool has_plain_types(const scatter_t* scatter, const hlo_region_t* body) {
  const uint32_t count = scatter->count;
  bool fits = body->arg_count == 2 * count;
  for (uint32_t k = 0; fits && k < count; k++) {
    const hlo_lib_array_t *result = &scatter->results[k], *update = &scatter->updates[k];
    fits = result->element_count == scatter->results[0].element_count &&
           result->rank == scatter->results[0].rank &&
           scatter->operands[k].element_count == result->element_count &&
           update->element_count == scatter->updates[0].element_count &&
           scatter->operands[k].dtype == result->dtype && update->dtype == result->dtype &&
           body->args[k]->type->dtype == result->dtype &&
           body->args[count + k]->type->dtype == result->dtype;
  }
  return fits;
}

hlo_status_t hlo_lib_prepare_scatter(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_node_t* node = call->node;
  scatter_t* scatter = hlo_arena_array(arena, 1, sizeof *scatter);
  HLO_TRY(hlo_arena_status(arena));
  scatter->count = (node->operand_count - 1) / 2;
  scatter->operands = call->operands;
  scatter->results = call->results;
  scatter->updates = call->operands + scatter->count + 1;
  if (!has_plain_types(scatter, node->regions[0]) ||
      !hlo_scatter_windows_init(&scatter->windows, node, array_of(&call->results[0]),
                                array_of(&call->operands[scatter->count]),
                                array_of(&call->operands[scatter->count + 1]))) {
    return hlo_ok();
  }
  scatter->is_overwrite = returns_updates(node->regions[0], scatter->count);
  scatter->binary = scatter->is_overwrite ? HLO_OP_COUNT : hlo_reduce_op(node, 0);
  if (!scatter->is_overwrite && scatter->count == 1) {
    scatter->fold = hlo_fold_find(hlo_fold_op_of(scatter->binary), scatter->results[0].dtype);
  }
  if (!scatter->is_overwrite && !scatter->fold) return hlo_ok();
  scatter->has_runs = scatter->updates[0].element_count && runs_of(scatter, &scatter->runs);
  call->plan = scatter;
  call->run = run_scatter;
  return hlo_ok();
}
