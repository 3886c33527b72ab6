// SPDX-License-Identifier: Apache-2.0
// Custom calls that select the best elements along a dimension: TopK, mhlo.topk, ApproxTopK (exactly).
#include <string.h>

#include "base/mem.h"
#include "interp/custom_call.h"
#include "kernels/sort.h"

/// Lines of `length` elements along one dimension, `stride` elements apart.
typedef struct selection {
  const hlo_node_t* node;
  const hlo_tensor_t* operand;
  const hlo_tensor_t* companion;  // what the second result takes its elements from; NULL: positions
  uint32_t axis;
  int64_t length, stride, line_count, kept;
  bool is_largest;
  hlo_sort_pair_t *pairs, *scratch;
  uint8_t* line;
} selection_t;

static hlo_status_t misfit(const hlo_node_t* node) {
  return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT,
                        "operands, results or attributes of @%s do not fit each other",
                        hlo_node_attr_text(node, HLO_ATTR_call_target_name));
}

static void copy_strided(uint8_t* out, int64_t out_stride, const uint8_t* in, int64_t in_stride,
                         int64_t count, size_t width) {
  for (int64_t i = 0; i < count; ++i) {
    memcpy(out + (size_t)(i * out_stride) * width, in + (size_t)(i * in_stride) * width, width);
  }
}

static void select_line(const selection_t* s, int64_t line, hlo_tensor_t** results) {
  size_t width = hlo_dtype_size_bytes(s->operand->dtype);
  int64_t block = line / s->stride, offset = line % s->stride;
  int64_t from = block * s->length * s->stride + offset;
  int64_t to = block * s->kept * s->stride + offset;
  const uint8_t* in = (const uint8_t*)s->operand->data + (size_t)from * width;
  copy_strided(s->line, 1, in, s->stride, s->length, width);
  hlo_sort_make_keys(s->operand->dtype, true, s->is_largest, s->length, s->line, s->pairs);
  hlo_sort_pairs(s->length, s->pairs, s->scratch);
  size_t index_width = hlo_dtype_size_bytes(results[1]->dtype);
  for (int64_t i = 0; i < s->kept; ++i) {
    int64_t best = s->pairs[i].index;
    size_t place = (size_t)(to + i * s->stride);
    memcpy((uint8_t*)results[0]->data + place * width, s->line + (size_t)best * width, width);
    uint8_t* index = (uint8_t*)results[1]->data + place * index_width;
    if (s->companion) {
      memcpy(index,
             (const uint8_t*)s->companion->data +
                 (size_t)(from + best * s->stride) * index_width,
             index_width);
    } else {
      hlo_dtype_store_int64(results[1]->dtype, index, best);
    }
  }
}

static hlo_status_t make_results(hlo_eval_t* eval, selection_t* s, hlo_tensor_t** results) {
  int64_t dims[HLO_RANK_MAX];
  memcpy(dims, s->operand->dims, s->operand->rank * sizeof(*dims));
  dims[s->axis] = s->kept;
  for (uint32_t i = 0; i < 2; ++i) {
    HLO_TRY(hlo_eval_result_dims(eval, s->node, i, s->operand->rank, dims, &results[i]));
  }
  bool fits = results[0]->dtype == s->operand->dtype &&
              (s->companion ? results[1]->dtype == s->companion->dtype
                            : hlo_dtype_is_integer(results[1]->dtype));
  return fits ? hlo_ok() : misfit(s->node);
}

static hlo_status_t select_lines(hlo_eval_t* eval, selection_t* s, hlo_tensor_t** results) {
  s->length = s->operand->dims[s->axis];
  s->stride = 1;
  for (uint32_t d = s->axis + 1; d < s->operand->rank; ++d) s->stride *= s->operand->dims[d];
  s->line_count = s->length ? s->operand->element_count / s->length : 0;
  if (s->kept < 0 || s->kept > s->length || hlo_dtype_is_complex(s->operand->dtype)) {
    return misfit(s->node);
  }
  size_t bytes;
  if (!hlo_size_mul((size_t)s->length,
                    2 * sizeof(hlo_sort_pair_t) + hlo_dtype_size_bytes(s->operand->dtype),
                    &bytes)) {
    return misfit(s->node);
  }
  s->pairs = hlo_mem_alloc_aligned(bytes, 64);
  if (!s->pairs) return hlo_status_out_of_memory(bytes);
  s->scratch = s->pairs + s->length;
  s->line = (uint8_t*)(s->scratch + s->length);
  hlo_status_t status = make_results(eval, s, results);
  for (int64_t i = 0; hlo_status_is_ok(status) && i < s->line_count; ++i) {
    select_line(s, i, results);
  }
  hlo_mem_free(s->pairs);
  return status;
}

static const hlo_attr_t* setting(const hlo_node_t* node, const char* key) {
  const hlo_attr_t* value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  const hlo_attr_t* attributes = hlo_attr_dict_get(node->extra, "mhlo.attributes");
  if (!value && attributes && attributes->kind == HLO_ATTR_KIND_DICT) {
    value = hlo_attr_dict_get(attributes, key);
  }
  return value;
}

// Whether the comparator prefers larger elements.
static hlo_status_t read_comparator(hlo_eval_t* eval, const hlo_node_t* node, bool* out_largest) {
  const hlo_attr_t* called = hlo_node_attr(node, HLO_ATTR_called_computations);
  const hlo_attr_t* symbol =
      called && called->kind == HLO_ATTR_KIND_ARRAY && called->count ? called->items[0] : NULL;
  const hlo_func_t* func =
      symbol && symbol->kind == HLO_ATTR_KIND_SYMBOL
          ? hlo_module_find_func(hlo_region_module(node->parent), symbol->text)
          : NULL;
  if (!func || !func->body) return misfit(node);
  hlo_region_fn_t* fn = NULL;
  bool is_ascending = false, is_total_order = false;
  HLO_TRY(hlo_region_fn_create(eval, func->body, &fn));
  bool is_known = hlo_region_fn_comparator(fn, &is_ascending, &is_total_order);
  hlo_region_fn_release(fn);
  *out_largest = !is_ascending;
  return is_known ? hlo_ok()
                  : hlo_eval_error(node, HLO_STATUS_UNIMPLEMENTED,
                                   "its comparator @%s is no comparison of two values", func->name);
}

// (values) -> the largest (or smallest) of the last dimension, their positions
hlo_status_t hlo_custom_topk(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                             hlo_tensor_t** results) {
  if (node->operand_count < 1 || node->result_count != 2 || operands[0]->rank == 0 ||
      node->results[0].type->rank != operands[0]->rank) {
    return misfit(node);
  }
  selection_t s = {.node = node, .operand = operands[0], .axis = operands[0]->rank - 1};
  const hlo_attr_t *k = setting(node, "k"), *largest = setting(node, "largest");
  s.is_largest = !largest || largest->i != 0;
  if (!largest && hlo_node_attr(node, HLO_ATTR_called_computations)) {
    HLO_TRY(read_comparator(eval, node, &s.is_largest));
  }
  s.kept = k && k->kind == HLO_ATTR_KIND_INT ? k->i : node->results[0].type->dims[s.axis];
  return select_lines(eval, &s, results);
}

// (values, companions, initial values...) -> the best of a dimension by the called comparator, and
// their companions
hlo_status_t hlo_custom_approx_topk(hlo_eval_t* eval, const hlo_node_t* node,
                                    hlo_tensor_t** operands, hlo_tensor_t** results) {
  const hlo_attr_t* axis = setting(node, "reduction_dim");
  if (node->operand_count < 4 || node->result_count != 2 || !axis ||
      axis->kind != HLO_ATTR_KIND_INT || axis->i < 0 || axis->i >= (int64_t)operands[0]->rank ||
      operands[1]->element_count != operands[0]->element_count ||
      node->results[0].type->rank != operands[0]->rank) {
    return misfit(node);
  }
  selection_t s = {.node = node,
                   .operand = operands[0],
                   .companion = operands[1],
                   .axis = (uint32_t)axis->i};
  HLO_TRY(read_comparator(eval, node, &s.is_largest));
  s.kept = node->results[0].type->dims[s.axis];
  return select_lines(eval, &s, results);
}
