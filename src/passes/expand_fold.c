// SPDX-License-Identifier: Apache-2.0
// reduce and reduce_window of any body as loops over the elements of a fold, with the body applied
// to all outputs at once (see expand.h). The order is that of the reference, which scans change for
// associative bodies only.
#include <math.h>
#include <string.h>

#include "base/tuning.h"
#include "passes/associative.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"
#include "passes/loop.h"
#include "passes/splice.h"

/// The values that are folded together.
typedef struct group {
  hlo_value_t* values[HLO_EXPAND_VALUES_MAX];
} group_t;

typedef struct fold {
  hlo_pass_ctx_t* ctx;
  hlo_node_t* node;
  hlo_module_t* module;
  const hlo_region_t* body;
  uint32_t count;
  group_t inputs, inits;  // in the types of the body
  bool is_swapped;        // elements are the first arguments of the body
} fold_t;

static bool read_fold(hlo_pass_ctx_t* ctx, hlo_node_t* node, fold_t* f) {
  const uint32_t count = node->result_count;
  *f = (fold_t){ctx, node, node->parent->module, node->regions[0], .count = count};
  if (node->operand_count != 2 * count || !hlo_expand_can_apply(f->body, 2 * count, count)) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    hlo_value_t *input = hlo_node_operand(node, i), *init = hlo_node_operand(node, count + i);
    const hlo_dtype_t sum = f->body->args[i]->type->dtype;
    if (!hlo_type_is_plain(input->type) || !hlo_type_is_plain(init->type) ||
        !hlo_type_is_plain(node->results[i].type) || hlo_type_element_count(input->type) == 0 ||
        input->type->rank != hlo_node_operand_type(node, 0)->rank ||
        node->results[i].type->dtype != sum ||
        hlo_node_operand_type(f->body->last, i)->dtype != sum) {
      return false;
    }
  }
  for (uint32_t i = 0; i < count; ++i) {
    f->inputs.values[i] =
        hlo_build_convert(node, f->body->args[count + i]->type->dtype, hlo_node_operand(node, i));
    f->inits.values[i] =
        hlo_build_convert(node, f->body->args[i]->type->dtype, hlo_node_operand(node, count + i));
  }
  return true;
}

// Values are NULL when memory is exhausted.
static group_t combine(const fold_t* f, hlo_node_t* at, group_t sums, group_t elements) {
  hlo_value_t* args[2 * HLO_EXPAND_VALUES_MAX];
  group_t result = {{NULL}};
  for (uint32_t i = 0; i < f->count; ++i) {
    args[f->is_swapped ? f->count + i : i] = sums.values[i];
    args[f->is_swapped ? i : f->count + i] = elements.values[i];
  }
  return hlo_expand_apply(f->ctx, at, f->body, args, result.values) ? result : (group_t){{NULL}};
}

static group_t spread_inits(const fold_t* f) {
  group_t result = {{NULL}};
  for (uint32_t i = 0; i < f->count; ++i) {
    result.values[i] =
        hlo_build_broadcast(f->node, f->node->results[i].type, f->inits.values[i], NULL);
  }
  return result;
}

// Returns `value` as [rows, columns...], where the dimensions `is_row` are rows.
static hlo_value_t* as_rows(hlo_node_t* at, hlo_value_t* value, const bool* is_row) {
  const hlo_type_t* type = value->type;
  int64_t order[HLO_RANK_MAX], dims[HLO_RANK_MAX + 1] = {1};
  uint32_t count = 0, rank = 1;
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (!is_row[d]) continue;
    order[count++] = d;
    dims[0] *= type->dims[d];
  }
  for (uint32_t d = 0; d < type->rank; ++d) {
    if (is_row[d]) continue;
    order[count++] = d;
    dims[rank++] = type->dims[d];
  }
  return hlo_build_reshape(at, hlo_type_with_dims(at->parent->module, type, rank, dims),
                           hlo_build_transpose(at, value, order));
}

// ---- reduce -------------------------------------------------------------------------------------

bool hlo_expand_reduce(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  fold_t f;
  uint32_t dim_count;
  const int64_t* dims = hlo_node_attr_ints(node, HLO_ATTR_dimensions, &dim_count);
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  if (!read_fold(ctx, node, &f)) return false;
  bool is_row[HLO_RANK_MAX];
  int64_t length = 1;
  for (uint32_t d = 0; d < type->rank; ++d) {
    is_row[d] = hlo_dims_contain(dims, dim_count, d, NULL);
    if (is_row[d]) length *= type->dims[d];
  }
  group_t rows, elements = {{NULL}};
  for (uint32_t i = 0; i < f.count; ++i) {
    if (!f.inputs.values[i]) return false;
    rows.values[i] = as_rows(node, f.inputs.values[i], is_row);
  }
  hlo_loop_t loop;
  if (!hlo_loop_begin(node, hlo_loop_number(f.module, length), length, f.count,
                      spread_inits(&f).values, &loop)) {
    return false;
  }
  group_t sums;
  memcpy(sums.values, loop.values, sizeof sums.values);
  for (uint32_t i = 0; i < f.count; ++i) {
    elements.values[i] = hlo_loop_row(loop.end, rows.values[i], loop.number);
  }
  return hlo_loop_finish(&loop, combine(&f, loop.end, sums, elements).values, results);
}

// ---- scans: windows that begin or end with a dimension
// -------------------------------------------

// Folds the rows of x one after the other: row i of the result is that of rows 0 ... i.
static bool scan_in_order(const fold_t* f, group_t x, int64_t length, group_t* out) {
  hlo_module_t* module = f->module;
  const hlo_type_t* number = hlo_loop_number(module, length);
  hlo_value_t* initial[2 * HLO_EXPAND_VALUES_MAX];
  hlo_value_t* next[2 * HLO_EXPAND_VALUES_MAX];
  if (!number) return false;
  hlo_value_t* zero = hlo_build_integers(f->node, number, (int64_t[]){0});
  for (uint32_t i = 0; i < f->count; ++i) {
    initial[i] = hlo_loop_row(f->node, x.values[i], zero);
    initial[f->count + i] = x.values[i];
  }
  hlo_loop_t loop;
  if (!hlo_loop_begin(f->node, number, length - 1, 2 * f->count, initial, &loop)) return false;
  hlo_value_t* one = hlo_build_integers(loop.end, number, (int64_t[]){1});
  hlo_value_t* at = hlo_build_binary(loop.end, HLO_OP_add, loop.number, one);
  group_t sums, elements;
  for (uint32_t i = 0; i < f->count; ++i) {
    sums.values[i] = loop.values[i];
    elements.values[i] = hlo_loop_row(loop.end, x.values[i], at);
  }
  sums = combine(f, loop.end, sums, elements);
  for (uint32_t i = 0; i < f->count; ++i) {
    next[i] = sums.values[i];
    next[f->count + i] = hlo_loop_set_row(loop.end, loop.values[f->count + i], sums.values[i], at);
  }
  if (!hlo_loop_finish(&loop, next, initial)) return false;
  memcpy(out->values, initial + f->count, f->count * sizeof *initial);
  return true;
}

// Returns x, [rows, columns], with initial values before and after the rows.
static group_t pad_rows(const fold_t* f, group_t x, int64_t low, int64_t high) {
  for (uint32_t i = 0; i < f->count; ++i) {
    x.values[i] = hlo_build_pad(f->node, x.values[i], f->inits.values[i], (int64_t[]){low, 0},
                                (int64_t[]){high, 0}, NULL);
  }
  return x;
}

static group_t shape_group(const fold_t* f, group_t x, uint32_t rank, const int64_t* dims) {
  for (uint32_t i = 0; i < f->count; ++i) {
    if (!x.values[i]) continue;
    x.values[i] = hlo_build_reshape(
        f->node, hlo_type_with_dims(f->module, x.values[i]->type, rank, dims), x.values[i]);
  }
  return x;
}

// Exchanges the first two of three dimensions.
static group_t exchange_dims(const fold_t* f, group_t x) {
  for (uint32_t i = 0; i < f->count; ++i) {
    x.values[i] = hlo_build_transpose(f->node, x.values[i], (int64_t[]){1, 0, 2});
  }
  return x;
}

// Takes `count` rows of [rows, columns] from `first` on.
static group_t take_rows(const fold_t* f, group_t x, int64_t first, int64_t count) {
  for (uint32_t i = 0; i < f->count && x.values[i]; ++i) {
    const int64_t dims[] = {count, x.values[i]->type->dims[1]};
    x.values[i] =
        hlo_build_slice(f->node, hlo_type_with_dims(f->module, x.values[i]->type, 2, dims),
                        x.values[i], (int64_t[]){first, 0}, NULL);
  }
  return x;
}

// Folds the rows of [length, columns]. A few columns with an associative body are split into about
// sqrt(length) blocks, which are scanned side by side; the fold of the blocks before is then folded
// into each.
static bool scan_rows(const fold_t* f, group_t x, int64_t length, int64_t columns,
                      bool is_associative, group_t* out) {
  if (!is_associative || columns >= HLO_TUNING_SCAN_COLUMNS || length <= HLO_TUNING_SCAN_SHORT) {
    return scan_in_order(f, x, length, out);
  }
  const int64_t rows = (int64_t)ceil(sqrt((double)length)), blocks = (length + rows - 1) / rows;
  const int64_t split[] = {blocks, rows, columns}, lines[] = {rows, blocks * columns};
  const int64_t swapped[] = {rows, blocks, columns}, whole[] = {blocks * rows, columns};
  group_t local, before, after;
  x = exchange_dims(f, shape_group(f, pad_rows(f, x, 0, blocks * rows - length), 3, split));
  if (!scan_in_order(f, shape_group(f, x, 2, lines), rows, &local)) return false;
  before = shape_group(f, take_rows(f, local, rows - 1, 1), 2, (int64_t[]){blocks, columns});
  if (!scan_rows(f, before, blocks, columns, true, &before)) return false;
  before = pad_rows(f, take_rows(f, before, 0, blocks - 1), 1, 0);
  for (uint32_t i = 0; i < f->count; ++i) {
    if (!before.values[i]) return false;
    hlo_value_t* row = hlo_build_reshape(
        f->node, hlo_type_with_dims(f->module, before.values[i]->type, 1, lines + 1),
        before.values[i]);
    before.values[i] = hlo_build_broadcast(f->node, local.values[i]->type, row, (int64_t[]){1});
  }
  after = exchange_dims(f, shape_group(f, combine(f, f->node, before, local), 3, swapped));
  *out = take_rows(f, shape_group(f, after, 2, whole), 0, length);
  return true;
}

static hlo_value_t* reverse_rows(const fold_t* f, hlo_value_t* x) {
  if (!f->is_swapped || !x) return x;
  const hlo_named_attr_t rows = {HLO_ATTR_dimensions, hlo_attr_ints(f->module, 1, (int64_t[]){0})};
  return hlo_build_node(f->node, HLO_OP_reverse, x->type, 1, &x, 1, &rows);
}

// The initial values are a row before the first one, which the results leave out.
static bool expand_scan(const fold_t* f, uint32_t axis, bool is_associative,
                        hlo_value_t** results) {
  const hlo_type_t* type = f->node->results[0].type;
  bool is_row[HLO_RANK_MAX] = {false};
  int64_t order[HLO_RANK_MAX], dims[HLO_RANK_MAX];
  const int64_t length = type->dims[axis], columns = hlo_type_element_count(type) / length;
  const int64_t flat[] = {length, columns};
  group_t x = f->inputs;
  is_row[axis] = true;
  for (uint32_t i = 0; i < f->count; ++i) {
    if (!x.values[i]) return false;
    x.values[i] = reverse_rows(f, as_rows(f->node, x.values[i], is_row));
  }
  x = pad_rows(f, shape_group(f, x, 2, flat), 1, 0);
  if (!scan_rows(f, x, length + 1, columns, is_associative, &x)) return false;
  x = take_rows(f, x, 1, length);
  for (uint32_t d = 0; d < type->rank; ++d) {
    order[d] = d < axis ? d + 1 : d == axis ? 0 : d;
    dims[d] = type->dims[d == 0 ? axis : d <= axis ? d - 1 : d];
  }
  x = shape_group(f, x, type->rank, dims);
  for (uint32_t i = 0; i < f->count; ++i) {
    results[i] = hlo_build_transpose(f->node, reverse_rows(f, x.values[i]), order);
    if (!results[i]) return false;
  }
  return true;
}

// ---- other windows ------------------------------------------------------------------------------

/// Windows over the inputs of a fold.
typedef struct windows {
  fold_t fold;
  hlo_expand_windows_t of;
} windows_t;

// Folds position after position of all windows.
static bool fold_positions(const windows_t* w, hlo_value_t** results) {
  const fold_t* f = &w->fold;
  group_t padded, sums, elements = {{NULL}};
  for (uint32_t i = 0; i < f->count; ++i) {
    padded.values[i] = hlo_expand_pad(&w->of, f->node, f->inputs.values[i], f->inits.values[i]);
  }
  hlo_loop_t loop;
  if (!hlo_loop_begin(f->node, w->of.number, w->of.positions, f->count, spread_inits(f).values,
                      &loop)) {
    return false;
  }
  memcpy(sums.values, loop.values, sizeof sums.values);
  for (uint32_t i = 0; i < f->count; ++i) {
    elements.values[i] =
        hlo_expand_window_elements(&w->of, loop.end, loop.number, padded.values[i]);
  }
  return hlo_loop_finish(&loop, combine(f, loop.end, sums, elements).values, results);
}

// Returns true for the windows that contain input element `indices`.
static hlo_value_t* contains(const windows_t* w, hlo_node_t* at, hlo_value_t** indices) {
  hlo_value_t* all = NULL;
  const hlo_type_t* type =
      hlo_type_with_dtype(w->fold.module, w->fold.node->results[0].type, HLO_DTYPE_S64);
  for (uint32_t d = 0; d < w->of.rank; ++d) {
    const hlo_window_dim_t* dim = &w->of.dims[d];
    hlo_value_t* place = hlo_expand_times(at, indices[d], dim->base_dilation);
    if (!place) return NULL;
    place = hlo_build_binary(at, HLO_OP_add, place, hlo_build_integers(at, place->type, &dim->low));
    hlo_value_t* first = hlo_build_iota(at, type, d);
    hlo_value_t* step = first ? hlo_build_splat(at, type, (double)dim->stride) : NULL;
    first = hlo_build_multiply(at, first, step);
    place =
        hlo_build_binary(at, HLO_OP_subtract, hlo_build_broadcast(at, type, place, NULL), first);
    hlo_value_t* zero = hlo_build_splat(at, type, 0);
    hlo_value_t* dilation = hlo_build_splat(at, type, (double)dim->window_dilation);
    hlo_value_t* last = hlo_build_splat(at, type, (double)((dim->size - 1) * dim->window_dilation));
    hlo_value_t* tests[] = {
        hlo_build_compare(at, HLO_COMPARISON_DIRECTION_GE, place, zero),
        hlo_build_compare(at, HLO_COMPARISON_DIRECTION_LE, place, last),
        hlo_build_compare(at, HLO_COMPARISON_DIRECTION_EQ,
                          hlo_build_binary(at, HLO_OP_remainder, place, dilation), zero)};
    for (uint32_t t = 0; t < 3; ++t) {
      all = all ? hlo_build_binary(at, HLO_OP_and, all, tests[t]) : tests[t];
    }
  }
  return all;
}

// Folds input element after input element into the windows that contain it: windows may consist
// mostly of padding and holes, which change nothing.
static bool fold_inputs(const windows_t* w, int64_t input_count, hlo_value_t** results) {
  const fold_t* f = &w->fold;
  group_t lists, sums, elements = {{NULL}};
  int64_t dims[HLO_RANK_MAX];
  for (uint32_t d = 0; d < w->of.rank; ++d) dims[d] = w->of.dims[d].in_size;
  lists = shape_group(f, f->inputs, 1, &input_count);
  hlo_loop_t loop;
  const hlo_type_t* number = hlo_type_tensor(f->module, HLO_DTYPE_S64, 0, NULL);
  if (!hlo_loop_begin(f->node, number, input_count, f->count, spread_inits(f).values, &loop)) {
    return false;
  }
  memcpy(sums.values, loop.values, sizeof sums.values);
  hlo_value_t* indices[HLO_RANK_MAX] = {NULL};
  hlo_expand_split_number(loop.end, loop.number, w->of.rank, dims, indices);
  hlo_value_t* is_in = contains(w, loop.end, indices);
  for (uint32_t i = 0; i < f->count; ++i) {
    const hlo_dtype_t dtype = f->inputs.values[i] ? f->inputs.values[i]->type->dtype : 0;
    elements.values[i] = hlo_build_broadcast(
        loop.end, hlo_type_with_dtype(f->module, f->node->results[0].type, dtype),
        hlo_loop_row(loop.end, lists.values[i], loop.number), NULL);
  }
  group_t next = combine(f, loop.end, sums, elements);
  for (uint32_t i = 0; i < f->count; ++i) {
    next.values[i] = hlo_build_select(loop.end, is_in, next.values[i], sums.values[i]);
  }
  return hlo_loop_finish(&loop, next.values, results);
}

// Returns true if the body leaves the initial values as they are, so that padding changes nothing.
static bool has_fixed_inits(fold_t* f) {
  bool is_fixed = false;
  if (f->count > HLO_LIFT_MAX_VALUES || !hlo_lift_can_reduce(f->node)) return false;
  const hlo_status_t status =
      hlo_find_fixed(f->ctx, f->node, f->body, f->count, f->inits.values, &is_fixed);
  hlo_status_release(status);
  return is_fixed;
}

// Narrow floats keep the order, as their rounding errors are large.
static bool may_regroup(const fold_t* f) {
  bool is_associative = false;
  for (uint32_t i = 0; i < f->count; ++i) {
    const hlo_dtype_t dtype = f->body->args[i]->type->dtype;
    if (hlo_dtype_is_float(dtype) && hlo_dtype_size_bytes(dtype) < 4) return false;
  }
  hlo_status_release(hlo_find_associative(f->ctx, f->node, f->body, f->count, &is_associative));
  return is_associative;
}

bool hlo_expand_reduce_window(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  enum { PADDED_MAX = 1 << 28 };
  windows_t w;
  if (!hlo_expand_read_windows(node, &w.of) || !read_fold(ctx, node, &w.fold)) return false;
  fold_t* f = &w.fold;
  const int64_t inputs = hlo_type_element_count(hlo_node_operand_type(node, 0));
  const int64_t outputs = hlo_type_element_count(node->results[0].type);
  uint32_t axis = 0;
  const bool is_fixed = has_fixed_inits(f);
  bool is_associative = false, is_reverse = false;
  if (is_fixed && hlo_window_is_scan(w.of.rank, w.of.dims, &axis, &is_reverse) &&
      w.of.dims[axis].size >= w.of.dims[axis].out_size) {
    is_associative = may_regroup(f);
    // The reference keeps the order of windows to the end where they are short.
    if (is_associative || !is_reverse ||
        outputs > HLO_TUNING_SCAN_MIN_STEPS / w.of.dims[axis].size) {
      f->is_swapped = is_reverse;
      return expand_scan(f, axis, is_associative, results);
    }
  }
  if (is_fixed && (inputs <= w.of.positions || w.of.padded > PADDED_MAX)) {
    return fold_inputs(&w, inputs, results);
  }
  return w.of.padded <= PADDED_MAX && fold_positions(&w, results);
}
