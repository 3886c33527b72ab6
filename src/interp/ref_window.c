// SPDX-License-Identifier: Apache-2.0
// reduce_window: the body runs per window element; scans go along their dimension once.
// select_and_scatter.
#include "interp/ref_fold.h"
#include "interp/ref_util.h"
#include "interp/ref_window_scan.h"
#include "ir/window.h"

// skips_padding: padding has no effect, and may be much longer than the input.
static hlo_status_t window_generic(const hlo_fold_operands_t* fold, const hlo_window_dim_t* windows,
                                   bool skips_padding, hlo_tensor_t** results) {
  const uint32_t count = fold->count, rank = fold->inputs[0]->rank;
  int64_t sizes[HLO_RANK_MAX], strides[HLO_RANK_MAX], o[HLO_RANK_MAX] = {0};
  int64_t first[HLO_RANK_MAX] = {0};
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
    int64_t index[HLO_RANK_MAX] = {0}, w[HLO_RANK_MAX];
    const bool has_elements = !skips_padding || hlo_window_reach(rank, windows, o, first, sizes);
    if (has_elements) do {
        for (uint32_t d = 0; d < rank; d++) w[d] = first[d] + index[d];
        const int64_t offset = hlo_window_offset(rank, windows, strides, o, w);
        for (uint32_t k = 0; k < count; k++) {
          const hlo_tensor_t* input = fold->inputs[k];
          args[count + k] = offset < 0 ? (const char*)fold->inits[k]->data
                                       : (const char*)input->data +
                                             offset * (int64_t)hlo_tensor_element_bytes(input);
        }
        status = hlo_fold_step(fold, 1, args, outs);
      } while (hlo_status_is_ok(status) && hlo_index_next(rank, sizes, index));
    hlo_index_next(rank, results[0]->dims, o);
  }
  hlo_mem_free(args);
  return status;
}

static hlo_status_t window_prepared(hlo_eval_t* eval, const hlo_node_t* node,
                                    const hlo_fold_operands_t* operands, hlo_tensor_t** results) {
  const hlo_tensor_t* input = operands->inputs[0];
  hlo_window_dim_t windows[HLO_RANK_MAX];
  int64_t dims[HLO_RANK_MAX];
  HLO_TRY(hlo_window_dims_of(node, input->rank, input->dims, windows));
  for (uint32_t d = 0; d < input->rank; d++) dims[d] = windows[d].out_size;
  HLO_TRY(hlo_fold_results(eval, node, operands, input->rank, dims, results));
  if (results[0]->element_count == 0) return hlo_ok();
  hlo_window_scan_t scan = {.operands = operands};
  if (hlo_window_is_scan(input->rank, windows, &scan.axis, &scan.is_reverse)) {
    bool is_done = false;
    HLO_TRY(hlo_window_scan(&scan, results, &is_done));
    if (is_done) return hlo_ok();
  }
  bool is_fixed = false;
  const hlo_op_t op = hlo_region_fn_binary(operands->fn);
  if (op != HLO_OP_COUNT && hlo_op_has(op, HLO_TRAIT_ASSOCIATIVE)) {
    HLO_TRY(hlo_window_init_is_fixed(operands, &is_fixed));
  }
  return window_generic(operands, windows, is_fixed, results);
}

hlo_status_t hlo_ref_reduce_window(HLO_REF_ARGUMENTS) {
  return hlo_fold_run(eval, node, operands, results, window_prepared);
}

// ---- select_and_scatter

typedef struct {
  const hlo_tensor_t *operand, *source;
  hlo_tensor_t* result;
  hlo_window_dim_t windows[HLO_RANK_MAX];
  int64_t sizes[HLO_RANK_MAX], strides[HLO_RANK_MAX];
  hlo_region_fn_t *select, *scatter;
} select_t;

// Sets *out_keeps if the element at `kept` stays selected against the one at `other`.
static hlo_status_t keeps_selected(const select_t* s, const char* kept, const char* other,
                                   bool* out_keeps) {
  const void* args[2] = {kept, other};
  void* result = out_keeps;
  return hlo_region_fn_call(s->select, args, &result);
}

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
      const void* args[2] = {source, place};
      void* result = place;
      HLO_TRY(hlo_region_fn_call(s->scatter, args, &result));
    }
    source += hlo_tensor_element_bytes(s->source);
  } while (hlo_index_next(rank, s->source->dims, o));
  return hlo_ok();
}

static hlo_status_t select_prepare(select_t* s, hlo_eval_t* eval, const hlo_node_t* node) {
  const uint32_t rank = s->operand->rank;
  HLO_TRY(hlo_window_dims_of(node, rank, s->operand->dims, s->windows));
  for (uint32_t d = 0; d < rank; d++) {
    s->sizes[d] = s->windows[d].size;
    if (d >= s->source->rank || s->windows[d].out_size != s->source->dims[d]) {
      return hlo_node_invalid(node, "the source must have the shape of the windows");
    }
  }
  hlo_strided_dense(1, rank, s->operand->dims, s->strides);
  HLO_TRY(hlo_region_fn_create(eval, node->regions[0], &s->select));
  HLO_TRY(hlo_region_fn_create(eval, node->regions[1], &s->scatter));
  return hlo_ok();
}

hlo_status_t hlo_ref_select_and_scatter(HLO_REF_ARGUMENTS) {
  select_t s = {.operand = operands[0], .source = operands[1]};
  hlo_tensor_t *source = NULL, *init = NULL;
  const hlo_region_t* scatter = node->regions[1];
  if (scatter->arg_count != 2) {
    return hlo_node_invalid(node, "the scatter body must take two arguments");
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
    if (source->element_count > 0) status = select_and_scatter(&s);
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
