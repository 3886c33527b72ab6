// SPDX-License-Identifier: Apache-2.0
// sort and the selections of the best elements (ir/top_k.h): a stable merge sort of the positions
// of each line, then the elements in that order.
#include <string.h>

#include "base/mem.h"
#include "interp/ref_util.h"
#include "ir/sort_comparator.h"

// The lines of a tensor along one dimension.
typedef struct {
  int64_t length, stride;  // in elements
  int64_t count;
} lines_t;

static lines_t lines_of(const hlo_tensor_t* tensor, uint32_t axis) {
  lines_t lines = {.length = 1, .stride = 1};
  if (axis < tensor->rank) lines.length = tensor->dims[axis];
  for (uint32_t d = axis + 1; d < tensor->rank; d++) lines.stride *= tensor->dims[d];
  lines.count = lines.length ? tensor->element_count / lines.length : 0;
  return lines;
}

// Returns the index of element `i` of a line, where the lines have `length` elements.
static int64_t element_of(const lines_t* lines, int64_t length, int64_t line, int64_t i) {
  return (line / lines->stride * length + i) * lines->stride + line % lines->stride;
}

static char* element_at(const hlo_tensor_t* tensor, int64_t index) {
  return (char*)tensor->data + index * (int64_t)hlo_tensor_element_bytes(tensor);
}

typedef bool (*less_t)(void* context, int64_t a, int64_t b);

// Sorts `count` positions, stably: `spare` has room for as many.
static void merge_sort(int64_t count, int64_t* positions, int64_t* spare, less_t less,
                       void* context) {
  if (count < 2) return;
  const int64_t half = count / 2;
  merge_sort(half, positions, spare, less, context);
  merge_sort(count - half, positions + half, spare, less, context);
  memcpy(spare, positions, (size_t)count * sizeof *spare);
  for (int64_t i = 0, a = 0, b = half; i < count; i++) {
    const bool takes_second = a == half || (b < count && less(context, spare[b], spare[a]));
    positions[i] = takes_second ? spare[b++] : spare[a++];
  }
}

// Allocates the positions of a line, then as many spare ones.
static hlo_status_t create_positions(int64_t length, hlo_tensor_t** out_positions) {
  const int64_t dims[2] = {2, length};
  return hlo_tensor_create(HLO_DTYPE_S64, 2, dims, out_positions);
}

static int64_t* sort_positions(hlo_tensor_t* buffer, less_t less, void* context) {
  int64_t* positions = buffer->data;
  const int64_t count = buffer->dims[1];
  for (int64_t i = 0; i < count; i++) positions[i] = i;
  merge_sort(count, positions, positions + count, less, context);
  return positions;
}

// ---- sort ---------------------------------------------------------------------------------------

typedef struct {
  uint32_t count;  // of operands
  hlo_tensor_t** operands;
  lines_t lines;
  int64_t line;
  hlo_region_fn_t* fn;
  const void** args;    // of the comparator: a and b of each operand
  hlo_status_t status;  // of the comparator
} sort_t;

static bool compare_elements(void* context, int64_t a, int64_t b) {
  sort_t* sort = context;
  bool less = false;
  void* result = &less;
  if (!hlo_status_is_ok(sort->status)) return false;
  for (uint32_t k = 0; k < sort->count; k++) {
    const hlo_tensor_t* operand = sort->operands[k];
    const lines_t* lines = &sort->lines;
    sort->args[2 * k] = element_at(operand, element_of(lines, lines->length, sort->line, a));
    sort->args[2 * k + 1] = element_at(operand, element_of(lines, lines->length, sort->line, b));
  }
  sort->status = hlo_region_fn_call(sort->fn, sort->args, &result);
  return less;
}

static void sort_lines(sort_t* sort, hlo_tensor_t* buffer, hlo_tensor_t** results) {
  const lines_t* lines = &sort->lines;
  for (sort->line = 0; sort->line < lines->count; sort->line++) {
    const int64_t* positions = sort_positions(buffer, compare_elements, sort);
    for (uint32_t k = 0; k < sort->count; k++) {
      for (int64_t i = 0; i < lines->length; i++) {
        memcpy(element_at(results[k], element_of(lines, lines->length, sort->line, i)),
               element_at(sort->operands[k],
                          element_of(lines, lines->length, sort->line, positions[i])),
               hlo_tensor_element_bytes(results[k]));
      }
    }
  }
}

static hlo_status_t sort_run(sort_t* sort, hlo_eval_t* eval, const hlo_node_t* node,
                             hlo_tensor_t** results) {
  const hlo_tensor_t* first = sort->operands[0];
  int64_t axis = hlo_node_attr_int(node, HLO_ATTR_dimension, -1);
  if (axis < 0) axis += first->rank;
  if (first->rank > 0 && (axis < 0 || axis >= first->rank)) {
    return hlo_node_invalid(node, "dimension does not fit rank %u", first->rank);
  }
  for (uint32_t k = 0; k < sort->count; k++) {
    if (sort->operands[k]->element_count != first->element_count) {
      return hlo_node_invalid(node, "operands differ in shape");
    }
    HLO_TRY(hlo_eval_result_dims(eval, node, k, first->rank, sort->operands[k]->dims, &results[k]));
  }
  if (node->regions[0]->arg_count != 2 * sort->count) {
    return hlo_node_invalid(node, "the comparator takes %u arguments", node->regions[0]->arg_count);
  }
  sort->lines = lines_of(first, (uint32_t)axis);
  hlo_tensor_t* buffer = NULL;
  HLO_TRY(hlo_region_fn_create(eval, node->regions[0], &sort->fn));
  HLO_TRY(create_positions(sort->lines.length, &buffer));
  sort_lines(sort, buffer, results);
  hlo_tensor_release(buffer);
  return sort->status;
}

hlo_status_t hlo_ref_sort(HLO_REF_ARGUMENTS) {
  sort_t sort = {.count = node->operand_count, .operands = operands};
  const size_t bytes = 2 * sort.count * sizeof *sort.args;
  sort.args = hlo_mem_alloc(bytes);
  if (!sort.args) return hlo_status_out_of_memory(bytes);
  for (uint32_t k = 0; k < sort.count; k++) results[k] = NULL;
  hlo_status_t status = sort_run(&sort, eval, node, results);
  for (uint32_t k = 0; k < sort.count && !hlo_status_is_ok(status); k++) {
    hlo_tensor_release(results[k]);
    results[k] = NULL;
  }
  hlo_region_fn_release(sort.fn);
  hlo_mem_free(sort.args);
  return status;
}

// ---- the best elements --------------------------------------------------------------------------

typedef struct {
  hlo_top_k_t top_k;
  const hlo_tensor_t* operand;
  lines_t lines;
  int64_t line;
} selection_t;

// Maps an element to an integer of the same order.
static int64_t order_of(const selection_t* s, int64_t position) {
  const int64_t i = element_of(&s->lines, s->lines.length, s->line, position);
  const hlo_dtype_t dtype = s->operand->dtype;
  if (!hlo_dtype_is_float(dtype)) {
    const int64_t value = hlo_tensor_int(s->operand, i);
    return dtype == HLO_DTYPE_U64 ? value ^ INT64_MIN : value;
  }
  double value = hlo_dtype_load_double(dtype, element_at(s->operand, i));
  int64_t bits;
  if (s->top_k.is_canonical && value == 0) value = 0;
  memcpy(&bits, &value, sizeof bits);
  if (s->top_k.is_canonical && value != value) return INT64_MAX;
  return bits < 0 ? bits ^ INT64_MAX : bits;
}

static bool is_better(void* context, int64_t a, int64_t b) {
  const selection_t* s = context;
  return s->top_k.is_largest ? order_of(s, a) > order_of(s, b) : order_of(s, a) < order_of(s, b);
}

static void select_lines(selection_t* s, const hlo_tensor_t* companion, hlo_tensor_t* buffer,
                         hlo_tensor_t** results) {
  const size_t bytes = hlo_tensor_element_bytes(s->operand);
  for (s->line = 0; s->line < s->lines.count; s->line++) {
    const int64_t* positions = sort_positions(buffer, is_better, s);
    for (int64_t i = 0; i < s->top_k.kept; i++) {
      const int64_t to = element_of(&s->lines, s->top_k.kept, s->line, i);
      const int64_t from = element_of(&s->lines, s->lines.length, s->line, positions[i]);
      memcpy(element_at(results[0], to), element_at(s->operand, from), bytes);
      if (companion) {
        memcpy(element_at(results[1], to), element_at(companion, from),
               hlo_tensor_element_bytes(companion));
      } else {
        hlo_dtype_store_int64(results[1]->dtype, element_at(results[1], to), positions[i]);
      }
    }
  }
}

static hlo_status_t select_run(selection_t* s, hlo_eval_t* eval, const hlo_node_t* node,
                               const hlo_tensor_t* companion, hlo_tensor_t** results) {
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, s->operand->dims, s->operand->rank * sizeof(*dims));
  dims[s->top_k.axis] = s->top_k.kept;
  for (uint32_t i = 0; i < 2; ++i) {
    HLO_TRY(hlo_eval_result_dims(eval, node, i, s->operand->rank, dims, &results[i]));
  }
  const bool fits = companion ? companion->element_count == s->operand->element_count &&
                                    companion->dtype == results[1]->dtype
                              : hlo_dtype_is_integer(results[1]->dtype);
  if (!fits) return hlo_node_invalid(node, "the operands, results and attributes do not match");
  hlo_tensor_t* buffer = NULL;
  s->lines = lines_of(s->operand, s->top_k.axis);
  HLO_TRY(create_positions(s->lines.length, &buffer));
  select_lines(s, companion, buffer, results);
  hlo_tensor_release(buffer);
  return hlo_ok();
}

hlo_status_t hlo_ref_chlo_top_k(HLO_REF_ARGUMENTS) {
  selection_t s = {.operand = operands[0]};
  HLO_TRY(hlo_top_k_of(node, &s.top_k));
  if (s.top_k.kept < 0 || s.top_k.kept > s.operand->dims[s.top_k.axis]) {
    return hlo_node_invalid(node, "k = %lld exceeds the dimension", (long long)s.top_k.kept);
  }
  results[0] = results[1] = NULL;
  hlo_status_t status =
      select_run(&s, eval, node, s.top_k.has_companion ? operands[1] : NULL, results);
  for (uint32_t i = 0; i < 2 && !hlo_status_is_ok(status); ++i) {
    hlo_tensor_release(results[i]);
    results[i] = NULL;
  }
  return status;
}
