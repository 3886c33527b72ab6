// SPDX-License-Identifier: Apache-2.0
// sort and chlo.top_k: a permutation is found per line, then applied to every operand. Comparators
// of one key sort its bits (kernels/sort.h), any other body is asked for each pair.
#include <string.h>

#include "interp/ref_sort_keys.h"
#include "interp/ref_util.h"
#include "kernels/sort.h"

// Lines of a tensor along one dimension.
typedef struct {
  int64_t length, stride;  // in elements
  int64_t outer, inner;    // line l starts at (l / inner) * length * inner + l % inner
} lines_t;

static lines_t lines_of(const hlo_tensor_t* tensor, uint32_t axis) {
  lines_t lines = {.length = 1, .outer = 1, .inner = 1};
  for (uint32_t d = 0; d < tensor->rank; d++) {
    if (d < axis) lines.outer *= tensor->dims[d];
    if (d == axis) lines.length = tensor->dims[d];
    if (d > axis) lines.inner *= tensor->dims[d];
  }
  lines.stride = lines.inner;
  return lines;
}

static int64_t line_start(const lines_t* lines, int64_t line) {
  return line / lines->inner * lines->length * lines->inner + line % lines->inner;
}

// out[i * stride] = in[order[i] * stride] for i < count.
static void permute_line(size_t bytes, int64_t count, const int64_t* order, int64_t stride,
                         char* out, int64_t out_stride, const char* in) {
  switch (bytes) {
    case 4:
      for (int64_t i = 0; i < count; i++) {
        ((uint32_t*)out)[i * out_stride] = ((const uint32_t*)in)[order[i] * stride];
      }
      return;
    case 8:
      for (int64_t i = 0; i < count; i++) {
        ((uint64_t*)out)[i * out_stride] = ((const uint64_t*)in)[order[i] * stride];
      }
      return;
    default:
      for (int64_t i = 0; i < count; i++) {
        memcpy(out + (size_t)(i * out_stride) * bytes, in + (size_t)(order[i] * stride) * bytes,
               bytes);
      }
  }
}

// A sort while running. The memory is for one line.
typedef struct {
  uint32_t count;  // of operands
  hlo_tensor_t** operands;
  lines_t lines;
  uint32_t key_count;  // 0: by `fn`
  hlo_sort_key_t keys[HLO_SORT_KEYS_MAX];
  hlo_sort_pair_t *pairs, *pair_scratch;
  int64_t *order, *order_scratch;
  char* line;  // dense copy of a line of a key
  hlo_region_fn_t* fn;
  const void** args;    // of the comparator: a and b of each operand
  int64_t start;        // of the line
  hlo_status_t status;  // of the comparator
} sort_t;

static bool compare_elements(void* context, int64_t a, int64_t b) {
  sort_t* sort = context;
  bool less = false;
  for (uint32_t k = 0; k < sort->count; k++) {
    const int64_t bytes = (int64_t)hlo_tensor_element_bytes(sort->operands[k]);
    const char* line = (const char*)sort->operands[k]->data + sort->start * bytes;
    sort->args[2 * k] = line + a * sort->lines.stride * bytes;
    sort->args[2 * k + 1] = line + b * sort->lines.stride * bytes;
  }
  void* result = &less;
  if (!hlo_status_is_ok(sort->status)) return false;
  sort->status = hlo_region_fn_call(sort->fn, sort->args, &result);
  return less;
}

// Sorts the line by one key; keeps the present order of equal elements.
static void sort_by_key(sort_t* sort, const hlo_sort_key_t* key, bool is_first) {
  const hlo_tensor_t* operand = sort->operands[key->operand];
  const int64_t length = sort->lines.length;
  const size_t bytes = hlo_tensor_element_bytes(operand);
  const hlo_dtype_t part = hlo_dtype_info(operand->dtype)->part;
  const size_t part_bytes = hlo_dtype_size_bytes(part);
  const char* line = (const char*)operand->data + (size_t)sort->start * bytes;
  if (sort->lines.stride != 1 || part_bytes != bytes) {
    const int64_t in = sort->lines.stride * (int64_t)bytes, out = (int64_t)part_bytes;
    hlo_strided_copy(part_bytes, 1, &length, sort->line, &out,
                     line + (size_t)key->part * part_bytes, &in);
    line = sort->line;
  }
  hlo_sort_make_keys(part, key->canonical, key->descending, length, line, sort->pairs);
  hlo_sort_pair_t *pairs = sort->pairs, *scratch = sort->pair_scratch;
  if (!is_first) {
    for (int64_t i = 0; i < length; i++) scratch[i] = pairs[sort->order[i]];
    pairs = sort->pair_scratch;
    scratch = sort->pairs;
  }
  hlo_sort_pairs(length, pairs, scratch);
  for (int64_t i = 0; i < length; i++) sort->order[i] = pairs[i].index;
}

// Leaves the order of a line's elements in sort->order.
static void sort_line(sort_t* sort, int64_t line) {
  const int64_t length = sort->lines.length;
  sort->start = line_start(&sort->lines, line);
  if (sort->key_count == 0) {
    for (int64_t i = 0; i < length; i++) sort->order[i] = i;
    hlo_sort_indices(length, sort->order, sort->order_scratch, compare_elements, sort);
    return;
  }
  for (uint32_t k = sort->key_count; k > 0; k--) {  // the most significant key last
    sort_by_key(sort, &sort->keys[k - 1], k == sort->key_count);
  }
}

// Memory for one line; sort->order owns the block.
static hlo_status_t sort_alloc(sort_t* sort) {
  const size_t length = (size_t)sort->lines.length;
  const size_t key_bytes = sizeof(uint64_t);
  const size_t args_bytes = 2 * sort->count * sizeof(void*);
  const size_t each = 2 * sizeof(hlo_sort_pair_t) + 2 * sizeof(int64_t) + key_bytes;
  size_t total = 0;
  if (!hlo_size_mul(length, each, &total) || !hlo_size_add(total, args_bytes, &total)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  char* block = hlo_mem_alloc_aligned(total, 64);
  if (!block) return hlo_status_out_of_memory(total);
  sort->pairs = (hlo_sort_pair_t*)block;
  sort->pair_scratch = sort->pairs + length;
  sort->order = (int64_t*)(sort->pair_scratch + length);
  sort->order_scratch = sort->order + length;
  sort->args = (const void**)(sort->order_scratch + length);
  sort->line = (char*)(sort->args + 2 * sort->count);
  return hlo_ok();
}

static hlo_status_t sort_lines(sort_t* sort, hlo_tensor_t** results) {
  HLO_TRY(sort_alloc(sort));
  for (int64_t line = 0; line < sort->lines.outer * sort->lines.inner; line++) {
    sort_line(sort, line);
    if (!hlo_status_is_ok(sort->status)) break;
    for (uint32_t k = 0; k < sort->count; k++) {
      const size_t bytes = hlo_tensor_element_bytes(results[k]);
      const size_t at = (size_t)sort->start * bytes;
      permute_line(bytes, sort->lines.length, sort->order, sort->lines.stride,
                   (char*)results[k]->data + at, sort->lines.stride,
                   (const char*)sort->operands[k]->data + at);
    }
  }
  hlo_mem_free(sort->pairs);
  return sort->status;
}

static hlo_status_t sort_results(sort_t* sort, hlo_eval_t* eval, const hlo_node_t* node,
                                 hlo_tensor_t** results) {
  const hlo_tensor_t* first = sort->operands[0];
  int64_t axis = hlo_node_attr_int(node, HLO_ATTR_dimension, -1);
  if (axis < 0) axis += first->rank;
  if (first->rank > 0 && (axis < 0 || axis >= first->rank)) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "dimension does not fit rank %u",
                          first->rank);
  }
  for (uint32_t k = 0; k < sort->count; k++) {
    if (sort->operands[k]->element_count != first->element_count) {
      return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "operands differ in shape");
    }
    HLO_TRY(hlo_eval_result_dims(eval, node, k, first->rank, sort->operands[k]->dims, &results[k]));
  }
  if (node->regions[0]->arg_count != 2 * sort->count) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "the comparator takes %u arguments",
                          node->regions[0]->arg_count);
  }
  sort->key_count = hlo_sort_keys_of(node->regions[0], sort->keys);
  if (sort->key_count == 0) HLO_TRY(hlo_region_fn_create(eval, node->regions[0], &sort->fn));
  sort->lines = lines_of(first, (uint32_t)axis);
  return first->element_count ? sort_lines(sort, results) : hlo_ok();
}

hlo_status_t hlo_ref_sort(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                          hlo_tensor_t** results) {
  sort_t sort = {.count = node->operand_count, .operands = operands};
  for (uint32_t k = 0; k < sort.count; k++) results[k] = NULL;
  hlo_status_t status = sort_results(&sort, eval, node, results);
  if (!hlo_status_is_ok(status)) {
    for (uint32_t k = 0; k < sort.count; k++) {
      hlo_tensor_release(results[k]);
      results[k] = NULL;
    }
  }
  hlo_region_fn_release(sort.fn);
  return status;
}

hlo_status_t hlo_ref_chlo_top_k(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                                hlo_tensor_t** results) {
  const hlo_tensor_t* operand = operands[0];
  const int64_t k = hlo_node_attr_int(node, HLO_ATTR_k, 0);
  if (operand->rank == 0 || k < 0 || k > operand->dims[operand->rank - 1]) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "k = %lld exceeds the last dimension",
                          (long long)k);
  }
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, operand->dims, operand->rank * sizeof(dims[0]));
  dims[operand->rank - 1] = k;
  hlo_tensor_t *values = NULL, *indices = NULL;
  sort_t sort = {.count = 1,
                 .operands = operands,
                 .key_count = 1,
                 .keys = {{.descending = true}},
                 .lines = lines_of(operand, operand->rank - 1)};
  hlo_status_t status = hlo_eval_result_dims(eval, node, 0, operand->rank, dims, &values);
  if (hlo_status_is_ok(status)) {
    status = hlo_eval_result_dims(eval, node, 1, operand->rank, dims, &indices);
  }
  if (hlo_status_is_ok(status)) status = sort_alloc(&sort);
  if (!hlo_status_is_ok(status)) {
    hlo_tensor_release(values);
    hlo_tensor_release(indices);
    return status;
  }
  const size_t bytes = hlo_tensor_element_bytes(operand);
  for (int64_t line = 0; line < sort.lines.outer && k > 0; line++) {
    sort_line(&sort, line);
    permute_line(bytes, k, sort.order, 1, (char*)values->data + (size_t)(line * k) * bytes, 1,
                 (const char*)operand->data + (size_t)sort.start * bytes);
    hlo_dtype_convert(HLO_DTYPE_S64, sort.order, indices->dtype,
                      (char*)indices->data + (size_t)(line * k) * hlo_tensor_element_bytes(indices),
                      (size_t)k);
  }
  hlo_mem_free(sort.pairs);
  results[0] = values;
  results[1] = indices;
  return hlo_ok();
}
