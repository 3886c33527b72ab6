// SPDX-License-Identifier: Apache-2.0
// scatter: each index vector selects where a window of the updates goes in the results, in place if
// the inputs have no other reference. A window that is partly out of bounds is dropped as a whole,
// as in XLA and as JAX's gradients require (StableHLO's specification drops elements). A body that
// returns the update is a copy, a recognised operation folds rows, any other body runs per element.
#include <string.h>

#include "interp/ref_fold.h"
#include "interp/ref_gather.h"
#include "interp/ref_index_rows.h"
#include "lib/scatter.h"
#include "lib/select.h"

enum { PART_BYTES = 1 << 18 };  // minimum bytes of updates per part

// The state of a scatter. Dims of a window are the operand's dims that are not inserted, in order.
typedef struct {
  uint32_t count;          // of inputs
  hlo_tensor_t** results;  // owned references
  hlo_tensor_t** updates;  // owned references
  hlo_region_fn_t* fn;
  const hlo_parallel_t* parallel;
  hlo_op_t binary;
  bool is_overwrite;  // the body returns its updates
  hlo_index_vectors_t vectors;
  uint32_t window_rank;
  int64_t window_sizes[HLO_RANK_MAX];
  int64_t update_window[HLO_RANK_MAX];  // strides of the window in the updates, in elements
  int64_t update_batch[HLO_RANK_MAX];   // strides of index positions in the updates
  int64_t result_window[HLO_RANK_MAX];  // strides of the window in the results
  uint32_t window_dims[HLO_RANK_MAX];   // operand dim of a window dim
  int64_t result_strides[HLO_RANK_MAX];
  const void** args;  // of the body: elements of the results, then of the updates
} scatter_t;

static bool returns_updates(const hlo_region_t* body, uint32_t count) {
  const hlo_node_t* last = body->first;
  if (!last || last->next || last->operand_count != count) return false;
  for (uint32_t k = 0; k < count; k++) {
    if (hlo_node_operand(last, k) != body->args[count + k]) return false;
  }
  return true;
}

// Computes dimension numbers, sizes and strides.
static hlo_status_t scatter_shape(scatter_t* scatter, const hlo_node_t* node,
                                  const hlo_tensor_t* indices) {
  const hlo_tensor_t *result = scatter->results[0], *update = scatter->updates[0];
  const hlo_ints_t update_window = hlo_node_ints(node, HLO_ATTR_update_window_dims);
  const hlo_ints_t inserted = hlo_node_ints(node, HLO_ATTR_inserted_window_dims);
  const hlo_index_dims_t dims = {
      .index_vector_dim = hlo_node_attr_int(node, HLO_ATTR_index_vector_dim, 0),
      .index_map = hlo_node_ints(node, HLO_ATTR_scatter_dims_to_operand_dims),
      .operand_batching = hlo_node_ints(node, HLO_ATTR_input_batching_dims),
      .indices_batching = hlo_node_ints(node, HLO_ATTR_scatter_indices_batching_dims),
  };
  HLO_TRY(hlo_index_vectors_init(&scatter->vectors, node, indices, result->rank, &dims));
  for (uint32_t d = 0; d < result->rank; d++) {
    if (hlo_ints_has(inserted, d) || hlo_ints_has(dims.operand_batching, d)) continue;
    scatter->window_dims[scatter->window_rank++] = d;
  }
  int64_t update_strides[HLO_RANK_MAX];
  hlo_strided_dense(1, update->rank, update->dims, update_strides);
  hlo_strided_dense(1, result->rank, result->dims, scatter->result_strides);
  uint32_t window = 0, batch = 0;
  bool fits = scatter->window_rank == update_window.count &&
              update->rank == update_window.count + scatter->vectors.batch_rank;
  for (uint32_t d = 0; fits && d < update->rank; d++) {
    if (hlo_ints_has(update_window, d)) {
      scatter->window_sizes[window] = update->dims[d];
      scatter->update_window[window] = update_strides[d];
      scatter->result_window[window] = scatter->result_strides[scatter->window_dims[window]];
      window++;
    } else {
      fits = batch < scatter->vectors.batch_rank && scatter->vectors.dims[batch] == update->dims[d];
      scatter->update_batch[batch++] = update_strides[d];
    }
  }
  return fits ? hlo_ok()
              : hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "dimension numbers do not fit");
}

static hlo_status_t scatter_init(scatter_t* scatter, hlo_eval_t* eval, const hlo_node_t* node,
                                 hlo_tensor_t** operands) {
  const uint32_t count = scatter->count;
  const hlo_region_t* body = node->regions[0];
  if (body->arg_count != 2 * count) {
    return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                          "the body has %u arguments for %u inputs", body->arg_count, count);
  }
  for (uint32_t k = 0; k < count; k++) {
    hlo_tensor_t *input = operands[k], *update = operands[count + 1 + k];
    if (input->element_count != operands[0]->element_count || input->rank != operands[0]->rank ||
        update->element_count != operands[count + 1]->element_count) {
      return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "inputs or updates differ in shape");
    }
    HLO_TRY(hlo_tensor_as(update, body->args[count + k]->type->dtype, &scatter->updates[k]));
    const hlo_dtype_t dtype = body->args[k]->type->dtype;
    if (input->dtype == dtype && !hlo_tensor_is_unique(input)) {
      HLO_TRY(hlo_tensor_create(dtype, input->rank, input->dims, &scatter->results[k]));
      memcpy(scatter->results[k]->data, input->data, input->size_bytes);
      scatter->results[k]->quant = input->quant;
    } else {
      HLO_TRY(hlo_tensor_as(input, dtype, &scatter->results[k]));
    }
  }
  HLO_TRY(scatter_shape(scatter, node, operands[count]));
  scatter->is_overwrite = returns_updates(body, count);
  if (scatter->is_overwrite) return hlo_ok();
  HLO_TRY(hlo_region_fn_create(eval, body, &scatter->fn));
  scatter->binary = hlo_region_fn_binary(scatter->fn);
  return hlo_ok();
}

// The offsets of the window at a position.
typedef struct {
  int64_t result_at, update_at;  // first elements
} window_place_t;

// Returns false if the window at `position` is partly out of bounds.
static bool place_window(const scatter_t* scatter, const int64_t* position, window_place_t* out) {
  const int64_t* dims = scatter->results[0]->dims;
  int64_t start[HLO_RANK_MAX];
  hlo_index_vectors_start(&scatter->vectors, position, start);
  *out = (window_place_t){.result_at = 0};
  for (uint32_t b = 0; b < scatter->vectors.batch_rank; b++) {
    out->update_at += position[b] * scatter->update_batch[b];
  }
  uint32_t w = 0;
  for (uint32_t d = 0; d < scatter->results[0]->rank; d++) {
    const bool in_window = w < scatter->window_rank && scatter->window_dims[w] == d;
    const int64_t size = in_window ? scatter->window_sizes[w++] : 1;
    if (start[d] < 0 || start[d] > dims[d] - size) return false;
    out->result_at += start[d] * scatter->result_strides[d];
  }
  return true;
}

static void overwrite_window(const scatter_t* scatter, const window_place_t* place) {
  int64_t out[HLO_RANK_MAX], in[HLO_RANK_MAX];
  for (uint32_t k = 0; k < scatter->count; k++) {
    const int64_t bytes = (int64_t)hlo_tensor_element_bytes(scatter->results[k]);
    for (uint32_t w = 0; w < scatter->window_rank; w++) {
      out[w] = scatter->result_window[w] * bytes;
      in[w] = scatter->update_window[w] * bytes;
    }
    hlo_strided_copy((size_t)bytes, scatter->window_rank, scatter->window_sizes,
                     (char*)scatter->results[k]->data + place->result_at * bytes, out,
                     (const char*)scatter->updates[k]->data + place->update_at * bytes, in);
  }
}

// Combines the elements of a window, `inner` elements at a time along its last dim.
static hlo_status_t combine_window(const scatter_t* scatter, const window_place_t* place,
                                   const hlo_fold_t* fold) {
  const uint32_t last = scatter->window_rank ? scatter->window_rank - 1 : 0;
  const bool rows = fold && scatter->window_rank > 0 && scatter->result_window[last] == 1 &&
                    scatter->update_window[last] == 1;
  const int64_t inner = rows ? scatter->window_sizes[last] : 1;
  const uint32_t rank = rows ? last : scatter->window_rank;
  int64_t index[HLO_RANK_MAX] = {0};
  do {
    int64_t to = place->result_at, from = place->update_at;
    for (uint32_t w = 0; w < rank; w++) {
      to += index[w] * scatter->result_window[w];
      from += index[w] * scatter->update_window[w];
    }
    for (uint32_t k = 0; k < scatter->count; k++) {
      const hlo_tensor_t *result = scatter->results[k], *update = scatter->updates[k];
      scatter->args[k] = (char*)result->data + to * (int64_t)hlo_tensor_element_bytes(result);
      scatter->args[scatter->count + k] =
          (const char*)update->data + from * (int64_t)hlo_tensor_element_bytes(update);
    }
    if (fold) {
      hlo_fold_combine(fold, scatter->results[0]->dtype, inner, (char*)(uintptr_t)scatter->args[0],
                       scatter->args[1]);
    } else {
      HLO_TRY(hlo_region_fn_call(scatter->fn, scatter->args, (void* const*)scatter->args));
    }
  } while (hlo_index_next(rank, scatter->window_sizes, index));
  return hlo_ok();
}

// Scatters the window of one position.
static hlo_status_t scatter_window(const scatter_t* scatter, const int64_t* position,
                                   const hlo_fold_t* fold) {
  window_place_t place;
  if (!place_window(scatter, position, &place)) return hlo_ok();
  if (!scatter->is_overwrite) return combine_window(scatter, &place, fold);
  overwrite_window(scatter, &place);
  return hlo_ok();
}

// ---- windows that are runs of elements

// Windows that are runs, repeated over `outer`: the window dims before the run that are not
// indexed.
typedef struct {
  hlo_index_rows_t rows;
  uint32_t outer_rank;
  int64_t outer_count;
  uint32_t outer[HLO_RANK_MAX];  // dims of the window
} runs_t;

static bool is_indexed(const scatter_t* scatter, uint32_t dim) {
  return scatter->vectors.batch_of[dim] >= 0 || hlo_ints_has(scatter->vectors.map, dim);
}

// Returns false if the windows are not runs.
static bool runs_of(const scatter_t* scatter, runs_t* out) {
  const hlo_tensor_t* result = scatter->results[0];
  int64_t sizes[HLO_RANK_MAX], row = 1;
  uint32_t w = scatter->window_rank;
  bool is_open = true;  // the run can still extend to outer dims
  *out = (runs_t){.outer_count = 1};
  for (uint32_t d = result->rank; d > 0; d--) {
    const bool in_window = w > 0 && scatter->window_dims[w - 1] == d - 1;
    const int64_t size = in_window ? scatter->window_sizes[--w] : 1;
    sizes[d - 1] = 1;
    if (is_open && (size == 1 || scatter->update_window[w] == row)) {
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
  return hlo_index_rows_init(&out->rows, &scatter->vectors, result->rank, result->dims, sizes,
                             scatter->update_batch);
}

// Overwrites or combines one run of every operand.
static void scatter_run_at(const scatter_t* scatter, const hlo_fold_t* fold, int64_t row,
                           int64_t start, int64_t position) {
  for (uint32_t k = 0; k < scatter->count; k++) {
    const int64_t bytes = (int64_t)hlo_tensor_element_bytes(scatter->results[k]);
    char* to = (char*)scatter->results[k]->data + start * bytes;
    const char* from = (const char*)scatter->updates[k]->data + position * row * bytes;
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

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

// Returns the loop that scatters rows of operand k, and the number of loop elements per operand
// element.
static hlo_scatter_loop_t loop_of(const scatter_t* scatter, uint32_t k, int64_t* out_parts) {
  const hlo_dtype_t dtype = scatter->results[k]->dtype;
  const size_t bytes = hlo_tensor_element_bytes(scatter->results[k]);
  *out_parts = 1;
  if (scatter->is_overwrite) {
    *out_parts = bytes == 16 ? 2 : 1;
    return hlo_scatter_copy(bytes / (size_t)*out_parts);
  }
  if (scatter->count != 1 || scatter->results[0]->quant || dtype != scatter->updates[0]->dtype) {
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
    const int64_t at = number % scatter->window_sizes[w];
    number /= scatter->window_sizes[w];
    *out_result += at * scatter->result_window[w];
    *out_update += at * scatter->update_window[w];
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
    const int64_t bytes = (int64_t)hlo_tensor_element_bytes(scatter->results[k]);
    int64_t parts;
    hlo_scatter_loop_t loop = loop_of(scatter, k, &parts);
    hlo_scatter_t rows = *block;
    rows.row *= parts;
    rows.in = (const char*)scatter->updates[k]->data + update_at * bytes;
    rows.out = (char*)scatter->results[k]->data + result_at * bytes;
    loop(&rows);
  }
}

static void scatter_part(void* arg, uint64_t part) {
  const row_job_t* job = arg;
  const hlo_index_rows_t* rows = &job->runs->rows;
  const bool is_by_rows = job->rows_per_part < job->row_count;
  const int64_t low = is_by_rows ? (int64_t)part * job->rows_per_part : 0;
  const int64_t end = least(low + job->rows_per_part, job->row_count);
  const int64_t outer = is_by_rows ? 0 : (int64_t)part * job->outer_per_part;
  const int64_t outer_end = least(outer + job->outer_per_part, job->runs->outer_count);
  const int64_t step = hlo_index_rows_step(rows);
  for (int64_t first = 0; first < rows->count && low < end; first += step) {
    hlo_index_places_t places;
    uint32_t numbers[HLO_INDEX_ROWS_BLOCK + HLO_SELECT_SLACK];
    const uint32_t count = (uint32_t)least(rows->count - first, step);
    hlo_index_rows_places(rows, first, count, &places);
    if (places.end <= low) return;
    hlo_scatter_t block = {.count = count, .targets = places.places, .row = rows->row};
    block.first = (uint32_t)low;
    block.size = (uint32_t)(least(end, places.end) - low);
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
  return least(update_bytes / PART_BYTES, least(2 + row_bytes / LOOK_BYTES, PARTS_MAX));
}

// Returns false if no loop exists for the windows.
static bool scatter_rows(const scatter_t* scatter, const runs_t* runs) {
  int64_t element_parts;
  for (uint32_t k = 0; k < scatter->count; k++) {
    if (!loop_of(scatter, k, &element_parts)) return false;
  }
  const hlo_index_rows_t* rows = &runs->rows;
  const int64_t bytes = (int64_t)hlo_tensor_element_bytes(scatter->updates[0]);
  const int64_t outer = runs->outer_count,
                update_bytes = scatter->updates[0]->element_count * bytes;
  row_job_t job = {.scatter = scatter,
                   .runs = runs,
                   .row_count = scatter->results[0]->element_count / rows->row};
  int64_t parts = outer > 1 ? least(update_bytes / PART_BYTES, outer)
                            : least(scatter_parts(update_bytes, rows->row * bytes), job.row_count);
  if (!scatter->parallel || !scatter->parallel->run || parts < 1) parts = 1;
  job.outer_per_part = outer > 1 ? (outer + parts - 1) / parts : 1;
  job.rows_per_part = outer > 1 ? job.row_count : (job.row_count + parts - 1) / parts;
  hlo_parallel_for(scatter->parallel, (uint64_t)parts, scatter_part, &job);
  return true;
}

static hlo_status_t scatter_run(const scatter_t* scatter) {
  const hlo_fold_t* fold = NULL;
  if (scatter->updates[0]->element_count == 0) return hlo_ok();
  if (!scatter->is_overwrite && scatter->count == 1 && !scatter->results[0]->quant &&
      scatter->results[0]->dtype == scatter->updates[0]->dtype) {
    fold = hlo_fold_find(hlo_fold_op_of(scatter->binary), scatter->results[0]->dtype);
  }
  runs_t runs;
  if (runs_of(scatter, &runs)) {
    if (hlo_index_rows_are_apart(&runs.rows) && scatter_rows(scatter, &runs)) return hlo_ok();
    const bool has_runs = fold ? fold->in == scatter->results[0]->dtype : scatter->is_overwrite;
    if (has_runs && runs.outer_count == 1) {
      scatter_overlapping(scatter, &runs.rows, fold);
      return hlo_ok();
    }
  }
  int64_t position[HLO_RANK_MAX] = {0};
  do {
    HLO_TRY(scatter_window(scatter, position, fold));
  } while (hlo_index_next(scatter->vectors.batch_rank, scatter->vectors.dims, position));
  return hlo_ok();
}

hlo_status_t hlo_ref_scatter(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                             hlo_tensor_t** results) {
  const uint32_t count = (node->operand_count - 1) / 2;
  const size_t list_bytes = 4 * (size_t)count * sizeof(void*);
  hlo_tensor_t** lists = hlo_mem_alloc_zeroed(list_bytes);
  if (!lists) return hlo_status_out_of_memory(list_bytes);
  scatter_t scatter = {.count = count,
                       .results = lists,
                       .updates = lists + count,
                       .args = (const void**)(lists + 2 * count),
                       .parallel = hlo_eval_parallel(eval),
                       .binary = HLO_OP_COUNT};
  hlo_status_t status = scatter_init(&scatter, eval, node, operands);
  if (hlo_status_is_ok(status)) status = scatter_run(&scatter);
  for (uint32_t k = 0; k < count; k++) {
    hlo_tensor_release(scatter.updates[k]);
    if (hlo_status_is_ok(status)) {
      results[k] = scatter.results[k];
    } else {
      hlo_tensor_release(scatter.results[k]);
    }
  }
  hlo_region_fn_release(scatter.fn);
  hlo_mem_free(lists);
  return status;
}
