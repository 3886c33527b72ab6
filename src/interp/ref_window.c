// SPDX-License-Identifier: Apache-2.0
// reduce_window: recognised operations run one dimension after the other, long windows in a
// constant number of steps per element; any other body runs per window element. select_and_scatter.
#include "interp/ref_window.h"

#include <string.h>

#include "interp/ref_fold.h"
#include "interp/ref_window_scan.h"

hlo_status_t hlo_window_dim_finish(const hlo_node_t* node, hlo_window_dim_t* dim) {
  int64_t padded = 0, extent = 0;
  const int64_t limit = INT64_MAX / 4;  // so that the sum of two positions does not overflow
  const bool is_valid =
      dim->low > -limit && dim->high > -limit && dim->low < limit && dim->high < limit &&
      dim->size >= 1 && dim->stride >= 1 && dim->base_dilation >= 1 && dim->window_dilation >= 1 &&
      !__builtin_mul_overflow(dim->in_size > 0 ? dim->in_size - 1 : 0, dim->base_dilation,
                              &padded) &&
      !__builtin_add_overflow(padded, dim->in_size > 0, &padded) &&
      !__builtin_add_overflow(padded, dim->low, &padded) &&
      !__builtin_add_overflow(padded, dim->high, &padded) &&
      !__builtin_mul_overflow(dim->size - 1, dim->window_dilation, &extent) && extent < limit;
  if (!is_valid) {
    return hlo_node_error(
        node, HLO_STATUS_INVALID_ARGUMENT,
        "window sizes, strides and dilations must be positive and must not overflow");
  }
  dim->out_size = padded > extent ? (padded - extent - 1) / dim->stride + 1 : 0;
  return hlo_ok();
}

// Reads the windows of a node with window_dimensions, window_strides, base_dilations,
// window_dilations and padding over an input of the given dims. errors: INVALID_ARGUMENT
static hlo_status_t window_dims_of(const hlo_node_t* node, uint32_t rank, const int64_t* dims,
                                   hlo_window_dim_t* out_windows) {
  const hlo_ints_t sizes = hlo_node_ints(node, HLO_ATTR_window_dimensions);
  const hlo_ints_t strides = hlo_node_ints(node, HLO_ATTR_window_strides);
  const hlo_ints_t base = hlo_node_ints(node, HLO_ATTR_base_dilations);
  const hlo_ints_t window = hlo_node_ints(node, HLO_ATTR_window_dilations);
  const hlo_ints_t padding = hlo_node_ints(node, HLO_ATTR_padding);
  for (uint32_t d = 0; d < rank; d++) {
    out_windows[d] = (hlo_window_dim_t){.in_size = dims[d],
                                        .size = hlo_ints_at(sizes, d, 1),
                                        .stride = hlo_ints_at(strides, d, 1),
                                        .base_dilation = hlo_ints_at(base, d, 1),
                                        .window_dilation = hlo_ints_at(window, d, 1),
                                        .low = hlo_ints_at(padding, 2 * d, 0),
                                        .high = hlo_ints_at(padding, 2 * d + 1, 0)};
    HLO_TRY(hlo_window_dim_finish(node, &out_windows[d]));
  }
  return hlo_ok();
}

int64_t hlo_window_offset(uint32_t rank, const hlo_window_dim_t* windows, const int64_t* strides,
                          const int64_t* o, const int64_t* w) {
  int64_t offset = 0;
  for (uint32_t d = 0; d < rank; d++) {
    const int64_t i = hlo_window_input(&windows[d], o[d], w[d]);
    if (i < 0) return -1;
    offset += i * strides[d];
  }
  return offset;
}

// ---- recognised operations

// One pass along a dimension: `in` is [outer, in_size, row], `out` [outer, out_size, row], elements
// of 8 bytes or less in the accumulator's type.
typedef struct {
  const hlo_fold_t* fold;  // reads and accumulates the same type
  const hlo_window_dim_t* dim;
  int64_t row;
  size_t row_bytes;
  const char* in;
  char* out;
  const char* init;       // a row of initial values
  char *prefix, *suffix;  // rows of a padded line, for long windows
} pass_t;

// Returns the row at position p of the padded, dilated line.
static const char* padded_row(const pass_t* pass, int64_t p) {
  const hlo_window_dim_t at = {.in_size = pass->dim->in_size,
                               .low = pass->dim->low,
                               .base_dilation = pass->dim->base_dilation,
                               .stride = 1};
  const int64_t i = hlo_window_input(&at, p, 0);
  return i < 0 ? pass->init : pass->in + (size_t)i * pass->row_bytes;
}

// Folds each window on its own.
static void pass_short(const pass_t* pass) {
  const hlo_window_dim_t* dim = pass->dim;
  const int64_t in_extent = (dim->in_size - 1) * dim->base_dilation;
  for (int64_t o = 0; o < dim->out_size; o++) {
    char* out = pass->out + (size_t)o * pass->row_bytes;
    memcpy(out, pass->init, pass->row_bytes);
    // window elements w whose position o * stride + w * dilation - low is in [0, in_extent]
    const int64_t at = o * dim->stride - dim->low;
    const int64_t step = dim->window_dilation;
    const int64_t first = at < 0 ? (-at + step - 1) / step : 0;
    int64_t last = at > in_extent ? -1 : (in_extent - at) / step;
    if (last >= dim->size) last = dim->size - 1;
    for (int64_t w = first; w <= last; w++) {
      const int64_t i = hlo_window_input(dim, o, w);
      if (i >= 0) pass->fold->rows(pass->row, pass->in + (size_t)i * pass->row_bytes, out);
    }
  }
}

// Two running folds over blocks of the window's size, forwards and backwards, give every window
// from two rows.
// source: van Herk 1992; Gil and Werman 1993
static void pass_long(const pass_t* pass, int64_t length) {
  const hlo_window_dim_t* dim = pass->dim;
  for (int64_t p = 0; p < length; p++) {
    char* row = pass->prefix + (size_t)p * pass->row_bytes;
    if (p % dim->size == 0) {
      memcpy(row, padded_row(pass, p), pass->row_bytes);
    } else {
      memcpy(row, row - pass->row_bytes, pass->row_bytes);
      pass->fold->rows(pass->row, padded_row(pass, p), row);
    }
  }
  for (int64_t p = length - 1; p >= 0; p--) {
    char* row = pass->suffix + (size_t)p * pass->row_bytes;
    if (p == length - 1 || p % dim->size == dim->size - 1) {
      memcpy(row, padded_row(pass, p), pass->row_bytes);
    } else {
      memcpy(row, row + pass->row_bytes, pass->row_bytes);
      pass->fold->rows(pass->row, padded_row(pass, p), row);
    }
  }
  for (int64_t o = 0; o < dim->out_size; o++) {
    const int64_t p = o * dim->stride;
    char* out = pass->out + (size_t)o * pass->row_bytes;
    memcpy(out, pass->suffix + (size_t)p * pass->row_bytes, pass->row_bytes);
    if (p % dim->size != 0) {
      pass->fold->rows(pass->row, pass->prefix + (size_t)(p + dim->size - 1) * pass->row_bytes,
                       out);
    }
  }
}

// Returns the length of the padded line if the long form is worth it, else 0.
static int64_t long_length(const hlo_window_dim_t* dim) {
  if (dim->size < 12 || dim->window_dilation != 1) return 0;
  const int64_t length = (dim->out_size - 1) * dim->stride + dim->size;  // up to the last window
  const int64_t in_extent = (dim->in_size - 1) * dim->base_dilation + 1;
  // elements in the padding are free
  const int64_t reach = dim->size < in_extent ? dim->size : in_extent;
  int64_t direct = 0;
  if (__builtin_mul_overflow(dim->out_size, reach, &direct)) return length;
  return length < direct / 4 ? length : 0;
}

static hlo_status_t run_pass(pass_t* pass, int64_t outer, const char* init) {
  const hlo_window_dim_t* dim = pass->dim;
  const int64_t length = long_length(dim);
  size_t line_bytes = 0, total = 0;
  if (!hlo_size_mul((size_t)length, pass->row_bytes, &line_bytes) ||
      !hlo_size_mul(line_bytes, 2, &total) || !hlo_size_add(total, pass->row_bytes, &total)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  char* rows = hlo_mem_alloc_aligned(total, 64);
  if (!rows) return hlo_status_out_of_memory(total);
  hlo_strided_fill(hlo_dtype_size_bytes(pass->fold->acc), (size_t)pass->row, rows, init);
  pass->init = rows;
  pass->prefix = rows + pass->row_bytes;
  pass->suffix = pass->prefix + line_bytes;
  for (int64_t i = 0; i < outer; i++) {
    if (length) {
      pass_long(pass, length);
    } else {
      pass_short(pass);
    }
    pass->in += (size_t)dim->in_size * pass->row_bytes;
    pass->out += (size_t)dim->out_size * pass->row_bytes;
  }
  hlo_mem_free(rows);
  return hlo_ok();
}

static bool window_is_trivial(const hlo_window_dim_t* dim) {
  return dim->size == 1 && dim->stride == 1 && dim->base_dilation == 1 && dim->low == 0 &&
         dim->high == 0;
}

// Returns true if no pass would fold in the initial value.
static bool windows_are_trivial(uint32_t rank, const hlo_window_dim_t* windows) {
  uint32_t d = 0;
  while (d < rank && window_is_trivial(&windows[d])) d++;
  return d == rank;
}

// Returns true if folding in the initial value a second time changes nothing: padding then has no
// effect.
static bool init_is_neutral(hlo_fold_op_t op, const hlo_tensor_t* init) {
  const double value = hlo_dtype_load_double(init->dtype, init->data);
  switch (op) {
    case HLO_FOLD_ADD: return init->dtype == HLO_DTYPE_PRED || value == 0;
    case HLO_FOLD_XOR: return value == 0;
    case HLO_FOLD_MULTIPLY: return init->dtype == HLO_DTYPE_PRED || value == 1;
    default: return true;
  }
}

// Reduces one dimension after the other in the accumulator's type. `windows` has out->rank entries.
static hlo_status_t window_recognised(const hlo_fold_t* fold, const hlo_fold_t* wide_fold,
                                      const hlo_tensor_t* input, const hlo_tensor_t* init,
                                      const hlo_window_dim_t* windows, hlo_tensor_t* result) {
  _Alignas(16) char acc_init[16];
  const size_t bytes = hlo_dtype_size_bytes(fold->acc);
  hlo_tensor_t* current = NULL;
  hlo_dtype_convert(init->dtype, init->data, fold->acc, acc_init, 1);
  HLO_TRY(hlo_tensor_create(fold->acc, input->rank, input->dims, &current));
  hlo_dtype_convert(input->dtype, input->data, fold->acc, current->data,
                    (size_t)input->element_count);
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, input->dims, input->rank * sizeof(dims[0]));
  hlo_status_t status = hlo_ok();
  // The last dimension comes first: passes that shrink rows make the others cheaper.
  for (uint32_t d = input->rank; d > 0 && hlo_status_is_ok(status); d--) {
    if (window_is_trivial(&windows[d - 1])) continue;
    hlo_tensor_t* next = NULL;
    dims[d - 1] = windows[d - 1].out_size;
    status = hlo_tensor_create(fold->acc, input->rank, dims, &next);
    if (!hlo_status_is_ok(status)) break;
    pass_t pass = {.fold = wide_fold,
                   .dim = &windows[d - 1],
                   .row = 1,
                   .in = current->data,
                   .out = next->data};
    int64_t outer = 1;
    for (uint32_t i = 0; i < input->rank; i++) {
      if (i < d - 1) outer *= dims[i];
      if (i > d - 1) pass.row *= dims[i];
    }
    pass.row_bytes = (size_t)pass.row * bytes;
    status = run_pass(&pass, outer, acc_init);
    hlo_tensor_release(current);
    current = next;
  }
  if (hlo_status_is_ok(status)) {
    hlo_dtype_convert(fold->acc, current->data, result->dtype, result->data,
                      (size_t)result->element_count);
  }
  hlo_tensor_release(current);
  return status;
}

// ---- any body

static hlo_status_t window_generic(const hlo_fold_operands_t* fold, const hlo_window_dim_t* windows,
                                   hlo_tensor_t** results) {
  const uint32_t count = fold->count, rank = fold->inputs[0]->rank;
  int64_t sizes[HLO_RANK_MAX], strides[HLO_RANK_MAX], o[HLO_RANK_MAX] = {0};
  for (uint32_t d = 0; d < rank; d++) sizes[d] = windows[d].size;
  hlo_strided_dense(1, rank, fold->inputs[0]->dims, strides);
  const void** args = hlo_mem_alloc(3 * (size_t)count * sizeof(void*));
  if (!args) return hlo_status_out_of_memory(3 * (size_t)count * sizeof(void*));
  void** outs = (void**)(args + 2 * count);
  hlo_status_t status = hlo_ok();
  for (int64_t i = 0; i < results[0]->element_count && hlo_status_is_ok(status); i++) {
    for (uint32_t k = 0; k < count; k++) {
      outs[k] = (char*)results[k]->data + i * (int64_t)hlo_tensor_element_bytes(results[k]);
      args[k] = outs[k];
    }
    int64_t w[HLO_RANK_MAX] = {0};
    do {
      const int64_t offset = hlo_window_offset(rank, windows, strides, o, w);
      for (uint32_t k = 0; k < count; k++) {
        const hlo_tensor_t* input = fold->inputs[k];
        args[count + k] = offset < 0 ? (const char*)fold->inits[k]->data
                                     : (const char*)input->data +
                                           offset * (int64_t)hlo_tensor_element_bytes(input);
      }
      status = hlo_region_fn_call(fold->fn, args, outs);
    } while (hlo_status_is_ok(status) && hlo_index_next(rank, sizes, w));
    hlo_index_next(rank, results[0]->dims, o);
  }
  hlo_mem_free(args);
  return status;
}

// Float sums and products of small problems are computed element by element in the element type, so
// that every step rounds as written; that would be too slow for large ones.
static bool rounds_in_order(hlo_fold_op_t op, const hlo_tensor_t* result,
                            const hlo_window_dim_t* windows) {
  enum { WORK_MAX = 1 << 18 };  // elements of all windows
  int64_t work = result->element_count;
  for (uint32_t d = 0; d < result->rank; d++) {
    if (__builtin_mul_overflow(work, windows[d].size, &work) || work > WORK_MAX) return false;
  }
  return (op == HLO_FOLD_ADD || op == HLO_FOLD_MULTIPLY) &&
         (hlo_dtype_is_float(result->dtype) || hlo_dtype_is_complex(result->dtype));
}

static hlo_status_t window_prepared(hlo_eval_t* eval, const hlo_node_t* node,
                                    const hlo_fold_operands_t* operands, hlo_tensor_t** results) {
  const hlo_tensor_t* input = operands->inputs[0];
  hlo_window_dim_t windows[HLO_RANK_MAX];
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(window_dims_of(node, input->rank, input->dims, windows));
  for (uint32_t d = 0; d < input->rank; d++) dims[d] = windows[d].out_size;
  HLO_TRY(hlo_fold_results(eval, node, operands, input->rank, dims, results));
  if (results[0]->element_count == 0) return hlo_ok();
  const hlo_fold_op_t op = hlo_fold_op_of(operands->binary);
  const hlo_fold_t* fold = hlo_fold_find(op, input->dtype);
  const bool is_folded =
      operands->count == 1 && fold && results[0]->dtype == input->dtype && !results[0]->quant &&
      input->element_count > 0 && init_is_neutral(op, operands->inits[0]) &&
      !windows_are_trivial(input->rank, windows) && !rounds_in_order(op, results[0], windows);
  hlo_window_scan_t scan = {.parallel = hlo_eval_parallel(eval), .operands = operands};
  if (hlo_window_is_scan(input->rank, windows, &scan)) {
    bool is_done = false;
    HLO_TRY(is_folded ? hlo_window_scan_folded(&scan, op, results[0], &is_done)
                      : hlo_window_scan_any(&scan, results, &is_done));
    if (is_done) return hlo_ok();
  }
  if (is_folded) {
    return window_recognised(fold, hlo_fold_find(op, fold->acc), input, operands->inits[0], windows,
                             results[0]);
  }
  return window_generic(operands, windows, results);
}

hlo_status_t hlo_ref_reduce_window(hlo_eval_t* eval, const hlo_node_t* node,
                                   hlo_tensor_t** operands, hlo_tensor_t** results) {
  return hlo_fold_run(eval, node, operands, results, window_prepared);
}

// ---- select_and_scatter

typedef struct {
  const hlo_tensor_t *operand, *source;
  hlo_tensor_t* result;
  hlo_window_dim_t windows[HLO_RANK_MAX];
  int64_t sizes[HLO_RANK_MAX], strides[HLO_RANK_MAX];
  hlo_region_fn_t *select, *scatter;
  int64_t direction;       // of a select that only compares real numbers, or -1
  const hlo_fold_t* fold;  // of a recognised scatter, or NULL
  bool is_sum;             // a recognised scatter that adds
} select_t;

// Returns the direction of a body that only compares its two arguments, or -1.
static int64_t compare_direction(const hlo_region_t* body) {
  bool is_swapped;
  const hlo_node_t* compare = hlo_region_binary_op(body, &is_swapped);
  if (!compare || compare->op != HLO_OP_compare || is_swapped ||
      !hlo_dtype_is_float(body->args[0]->type->dtype)) {
    return -1;
  }
  const hlo_attr_t* type = hlo_node_attr(compare, HLO_ATTR_compare_type);
  if (type && type->i == HLO_COMPARISON_TYPE_TOTALORDER) return -1;
  return hlo_node_attr(compare, HLO_ATTR_comparison_direction)->i;
}

static bool compare_doubles(int64_t direction, double a, double b) {
  switch (direction) {
    case HLO_COMPARISON_DIRECTION_GE: return a >= b;
    case HLO_COMPARISON_DIRECTION_GT: return a > b;
    case HLO_COMPARISON_DIRECTION_LE: return a <= b;
    case HLO_COMPARISON_DIRECTION_LT: return a < b;
    case HLO_COMPARISON_DIRECTION_EQ: return a == b;
    default: return a != b;
  }
}

// Sets *out_keeps if the element at `kept` stays selected against the one at `other`.
static hlo_status_t keeps_selected(const select_t* s, const char* kept, const char* other,
                                   bool* out_keeps) {
  if (s->direction >= 0) {
    *out_keeps = compare_doubles(s->direction, hlo_dtype_load_double(s->operand->dtype, kept),
                                 hlo_dtype_load_double(s->operand->dtype, other));
    return hlo_ok();
  }
  const void* args[2] = {kept, other};
  void* result = out_keeps;
  return hlo_region_fn_call(s->select, args, &result);
}

// ---- pooling: maximum f32 of each window along all dimensions but the last, sums of gradients

enum { ROW_ELEMENTS = 64, ROW_PLACES = 64 };

static bool is_max_pooling(const select_t* s) {
  const uint32_t rank = s->operand->rank;
  if (rank == 0 || !s->is_sum || s->direction != HLO_COMPARISON_DIRECTION_GE ||
      s->operand->dtype != HLO_DTYPE_F32 || s->result->dtype != HLO_DTYPE_F32) {
    return false;
  }
  const hlo_window_dim_t* last = &s->windows[rank - 1];
  double places = 1;
  for (uint32_t d = 0; d < rank; d++) places *= (double)s->windows[d].size;
  return last->size == 1 && last->stride == 1 && last->low == 0 && last->high == 0 &&
         last->base_dilation == 1 && places <= ROW_PLACES;
}

// Selects elements first <= c < first + count of the window that starts at `o`: one independent
// window per element.
static void select_row(const select_t* s, const int64_t* o, int64_t first, int64_t count,
                       const float* source) {
  const uint32_t rank = s->operand->rank;
  int64_t offsets[ROW_PLACES], w[HLO_RANK_MAX] = {0};
  float largest[ROW_ELEMENTS];
  int32_t selected[ROW_ELEMENTS] = {0}, place = 0;
  do {
    const int64_t offset = hlo_window_offset(rank, s->windows, s->strides, o, w);
    if (offset < 0) continue;
    const float* x = (const float*)s->operand->data + offset + first;
    offsets[place] = offset + first;
    for (int64_t c = 0; c < count; c++) {
      const bool stays = place > 0 && largest[c] >= x[c];
      largest[c] = stays ? largest[c] : x[c];
      selected[c] = stays ? selected[c] : place;
    }
    place++;
  } while (hlo_index_next(rank, s->sizes, w));
  float* result = s->result->data;
  for (int64_t c = 0; c < count && place > 0; c++) result[offsets[selected[c]] + c] += source[c];
}

static void max_pooling(const select_t* s) {
  const uint32_t rank = s->operand->rank;
  const int64_t row = s->source->dims[rank - 1];
  const float* source = s->source->data;
  int64_t o[HLO_RANK_MAX] = {0};
  do {
    for (int64_t first = 0; first < row; first += ROW_ELEMENTS) {
      const int64_t count = row - first < ROW_ELEMENTS ? row - first : ROW_ELEMENTS;
      select_row(s, o, first, count, source + first);
    }
    source += row;
  } while (hlo_index_next(rank - 1, s->source->dims, o));
}

// ---- any windows

static hlo_status_t select_and_scatter(const select_t* s) {
  const uint32_t rank = s->operand->rank;
  const int64_t bytes = (int64_t)hlo_tensor_element_bytes(s->operand);
  const int64_t result_bytes = (int64_t)hlo_tensor_element_bytes(s->result);
  const char *data = s->operand->data, *source = s->source->data;
  int64_t o[HLO_RANK_MAX] = {0};
  do {
    int64_t w[HLO_RANK_MAX] = {0}, selected = -1;
    do {
      const int64_t offset = hlo_window_offset(rank, s->windows, s->strides, o, w);
      if (offset < 0) continue;
      bool stays = false;
      if (selected >= 0)
        HLO_TRY(keeps_selected(s, data + selected * bytes, data + offset * bytes, &stays));
      if (!stays) selected = offset;
    } while (hlo_index_next(rank, s->sizes, w));
    if (selected >= 0) {
      char* place = (char*)s->result->data + selected * result_bytes;
      if (s->fold) {
        hlo_fold_combine(s->fold, s->result->dtype, 1, place, source);
      } else {
        const void* args[2] = {source, place};
        void* result = place;
        HLO_TRY(hlo_region_fn_call(s->scatter, args, &result));
      }
    }
    source += hlo_tensor_element_bytes(s->source);
  } while (hlo_index_next(rank, s->source->dims, o));
  return hlo_ok();
}

static hlo_status_t select_prepare(select_t* s, hlo_eval_t* eval, const hlo_node_t* node) {
  const uint32_t rank = s->operand->rank;
  HLO_TRY(window_dims_of(node, rank, s->operand->dims, s->windows));
  for (uint32_t d = 0; d < rank; d++) {
    s->sizes[d] = s->windows[d].size;
    if (d >= s->source->rank || s->windows[d].out_size != s->source->dims[d]) {
      return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                            "the source must have the shape of the windows");
    }
  }
  hlo_strided_dense(1, rank, s->operand->dims, s->strides);
  HLO_TRY(hlo_region_fn_create(eval, node->regions[0], &s->select));
  HLO_TRY(hlo_region_fn_create(eval, node->regions[1], &s->scatter));
  s->direction = compare_direction(node->regions[0]);
  const hlo_op_t binary = hlo_region_fn_binary(s->scatter);
  s->is_sum = binary == HLO_OP_add;
  const bool is_same = s->result->dtype == s->source->dtype;
  s->fold = is_same ? hlo_fold_find(hlo_fold_op_of(binary), s->result->dtype) : NULL;
  return hlo_ok();
}

hlo_status_t hlo_ref_select_and_scatter(hlo_eval_t* eval, const hlo_node_t* node,
                                        hlo_tensor_t** operands, hlo_tensor_t** results) {
  select_t s = {.operand = operands[0], .source = operands[1]};
  hlo_tensor_t *source = NULL, *init = NULL;
  const hlo_region_t* scatter = node->regions[1];
  if (scatter->arg_count != 2) {
    return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                          "the scatter body must take two arguments");
  }
  hlo_status_t status =
      hlo_eval_result_dims(eval, node, 0, s.operand->rank, s.operand->dims, &s.result);
  if (hlo_status_is_ok(status)) {
    status = hlo_tensor_as(operands[1], scatter->args[0]->type->dtype, &source);
  }
  if (hlo_status_is_ok(status)) status = hlo_tensor_as(operands[2], s.result->dtype, &init);
  if (hlo_status_is_ok(status)) {
    s.source = source;
    status = select_prepare(&s, eval, node);
  }
  if (hlo_status_is_ok(status)) {
    hlo_strided_fill(hlo_tensor_element_bytes(s.result), (size_t)s.result->element_count,
                     s.result->data, init->data);
    if (source->element_count > 0 && is_max_pooling(&s)) {
      max_pooling(&s);
    } else if (source->element_count > 0) {
      status = select_and_scatter(&s);
    }
  }
  hlo_region_fn_release(s.select);
  hlo_region_fn_release(s.scatter);
  hlo_tensor_release(source);
  hlo_tensor_release(init);
  if (hlo_status_is_ok(status)) {
    results[0] = s.result;
  } else {
    hlo_tensor_release(s.result);
  }
  return status;
}
