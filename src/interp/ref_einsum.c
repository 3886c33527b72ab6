// SPDX-License-Identifier: Apache-2.0
// einsum and unary_einsum: repeated labels of an operand become diagonals, labels that occur in one
// operand and not in the result are summed; the rest is one contraction and a transposition.
#include <string.h>

#include "interp/quant.h"
#include "interp/ref_dot.h"

// A list of dimension labels. A letter is its own code; the dims of an ellipsis get labels from 128
// on, counted from the right.
typedef struct {
  uint32_t count;
  int64_t labels[HLO_RANK_MAX];
} labels_t;

static int find_label(const labels_t* list, int64_t label) {
  for (uint32_t i = 0; i < list->count; i++) {
    if (list->labels[i] == label) return (int)i;
  }
  return -1;
}

// Reads labels up to `end`; returns false if they are malformed or do not match the rank (rank < 0:
// any rank, and the ellipsis has `dots` labels).
static bool parse_labels(const char* text, const char* end, int64_t rank, int64_t* dots,
                         labels_t* out) {
  int64_t letters = 0;
  for (const char* p = text; p < end; p++) letters += *p != '.' && *p != ' ';
  if (rank >= 0 && rank - letters > *dots) *dots = rank - letters;
  out->count = 0;
  for (const char* p = text; p < end; p++) {
    if (*p == ' ') continue;
    if (*p == '.') {
      if (end - p < 3 || p[1] != '.' || p[2] != '.') return false;
      const int64_t here = rank >= 0 ? rank - letters : *dots;
      for (int64_t i = here; i > 0; i--) {
        if (out->count == HLO_RANK_MAX) return false;
        out->labels[out->count++] = 127 + i;
      }
      p += 2;
      continue;
    }
    if (out->count == HLO_RANK_MAX) return false;
    out->labels[out->count++] = *p;
  }
  return rank < 0 || out->count == rank;
}

// Takes diagonals: returns a tensor (new or a reference) whose labels are distinct.
static hlo_status_t take_diagonals(hlo_tensor_t* tensor, labels_t* labels,
                                   hlo_tensor_t** out_tensor) {
  labels_t distinct = {0};
  int64_t strides[HLO_RANK_MAX], dims[HLO_RANK_MAX], in[HLO_RANK_MAX], out[HLO_RANK_MAX];
  hlo_tensor_strides(tensor, strides);
  for (uint32_t d = 0; d < labels->count; d++) {
    int at = find_label(&distinct, labels->labels[d]);
    if (at < 0) {
      at = (int)distinct.count++;
      distinct.labels[at] = labels->labels[d];
      dims[at] = tensor->dims[d];
      in[at] = 0;
    }
    if (tensor->dims[d] != dims[at]) return hlo_invalid_argument("a repeated label has two sizes");
    in[at] += strides[d];
  }
  if (distinct.count == labels->count) {
    *out_tensor = hlo_tensor_retain(tensor);
    return hlo_ok();
  }
  *labels = distinct;
  HLO_TRY(hlo_tensor_create(tensor->dtype, distinct.count, dims, out_tensor));
  hlo_tensor_strides(*out_tensor, out);
  hlo_strided_copy(hlo_tensor_element_bytes(tensor), distinct.count, dims, (*out_tensor)->data, out,
                   tensor->data, in);
  return hlo_ok();
}

// Sums over the labels that occur neither in `other` nor in `result`, as a contraction with ones.
// Takes ownership of *tensor.
static hlo_status_t sum_private(hlo_dtype_t dtype, labels_t* labels, const labels_t* other,
                                const labels_t* result, hlo_tensor_t** tensor) {
  int64_t summed[HLO_RANK_MAX], all[HLO_RANK_MAX], dims[HLO_RANK_MAX];
  labels_t kept = {0};
  uint32_t count = 0;
  for (uint32_t d = 0; d < labels->count; d++) {
    const int64_t label = labels->labels[d];
    if (find_label(other, label) >= 0 || find_label(result, label) >= 0) {
      kept.labels[kept.count++] = label;
    } else {
      all[count] = count;
      dims[count] = (*tensor)->dims[d];
      summed[count++] = d;
    }
  }
  if (count == 0) return hlo_ok();
  hlo_tensor_t *ones = NULL, *sum = NULL;
  HLO_TRY(hlo_tensor_create(dtype, count, dims, &ones));
  const int64_t one = 1;
  _Alignas(16) char element[16];
  hlo_dtype_convert(HLO_DTYPE_S64, &one, dtype, element, 1);
  hlo_strided_fill(hlo_tensor_element_bytes(ones), (size_t)ones->element_count, ones->data,
                   element);
  const hlo_dot_dims_t lhs = {.contracting = {summed, count}}, rhs = {.contracting = {all, count}};
  hlo_status_t status = hlo_dot_contract(*tensor, lhs, ones, rhs, dtype, &sum);
  hlo_tensor_release(ones);
  if (!hlo_status_is_ok(status)) return status;
  hlo_tensor_release(*tensor);
  *tensor = sum;
  *labels = kept;
  return hlo_ok();
}

// Returns the result with its dims in the order of `wanted`, in the result's element type.
static hlo_status_t reorder_dims(hlo_eval_t* eval, const hlo_node_t* node,
                                 const hlo_tensor_t* tensor, const labels_t* labels,
                                 const labels_t* wanted, hlo_tensor_t** out_tensor) {
  int64_t strides[HLO_RANK_MAX], dims[HLO_RANK_MAX], in[HLO_RANK_MAX], out[HLO_RANK_MAX];
  hlo_tensor_strides(tensor, strides);
  for (uint32_t d = 0; d < wanted->count; d++) {
    const int at = find_label(labels, wanted->labels[d]);
    if (at < 0 || wanted->count != labels->count) {
      return hlo_node_invalid(node, "the result's labels do not match its rank");
    }
    dims[d] = tensor->dims[at];
    in[d] = strides[at];
  }
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, wanted->count, dims, &result));
  if (result->dtype != tensor->dtype) {
    hlo_tensor_release(result);
    return hlo_node_error(node, HLO_STATUS_INTERNAL, "element types differ");
  }
  hlo_tensor_strides(result, out);
  hlo_strided_copy(hlo_tensor_element_bytes(tensor), wanted->count, dims, result->data, out,
                   tensor->data, in);
  *out_tensor = result;
  return hlo_ok();
}

// Contracts tensors with distinct labels; *labels receives those of the product.
static hlo_status_t contract_labels(hlo_dtype_t dtype, hlo_tensor_t* lhs,
                                    const labels_t* lhs_labels, hlo_tensor_t* rhs,
                                    const labels_t* rhs_labels, const labels_t* wanted,
                                    labels_t* labels, hlo_tensor_t** out_tensor) {
  int64_t lists[4][HLO_RANK_MAX];
  uint32_t batch = 0, contracting = 0;
  labels->count = 0;
  for (uint32_t d = 0; d < lhs_labels->count; d++) {
    const int other = find_label(rhs_labels, lhs_labels->labels[d]);
    if (other < 0) continue;
    const bool is_batch = find_label(wanted, lhs_labels->labels[d]) >= 0;
    uint32_t* count = is_batch ? &batch : &contracting;
    lists[is_batch ? 0 : 2][*count] = d;
    lists[is_batch ? 1 : 3][(*count)++] = other;
    if (is_batch) labels->labels[labels->count++] = lhs_labels->labels[d];
  }
  const hlo_dot_dims_t lhs_dims = {{lists[0], batch}, {lists[2], contracting}};
  const hlo_dot_dims_t rhs_dims = {{lists[1], batch}, {lists[3], contracting}};
  const labels_t *from = lhs_labels, *other = rhs_labels;
  for (int side = 0; side < 2; side++) {
    for (uint32_t d = 0; d < from->count; d++) {
      if (find_label(other, from->labels[d]) >= 0) continue;
      if (labels->count == HLO_RANK_MAX) {
        return hlo_invalid_argument("result rank above %d", HLO_RANK_MAX);
      }
      labels->labels[labels->count++] = from->labels[d];
    }
    from = rhs_labels;
    other = lhs_labels;
  }
  return hlo_dot_contract(lhs, lhs_dims, rhs, rhs_dims, dtype, out_tensor);
}

// Reads the labels of operands and result from the node's configuration.
static hlo_status_t parse_config(const hlo_node_t* node, hlo_tensor_t* const* operands,
                                 labels_t* out_labels, labels_t* out_wanted) {
  const char* config = hlo_node_attr_text(node, HLO_ATTR_einsum_config);
  const char* arrow = config ? strstr(config, "->") : NULL;
  const char* text = config;
  int64_t dots = 0;
  bool fits = arrow != NULL;
  for (uint32_t k = 0; fits && k < node->operand_count; k++) {
    const char* comma = memchr(text, ',', (size_t)(arrow - text));
    const bool is_last = k + 1 == node->operand_count;
    fits = (comma == NULL) == is_last &&
           parse_labels(text, is_last ? arrow : comma, operands[k]->rank, &dots, &out_labels[k]);
    if (fits && !is_last) text = comma + 1;
  }
  fits = fits && parse_labels(arrow + 2, arrow + strlen(arrow), -1, &dots, out_wanted);
  return fits ? hlo_ok()
              : hlo_node_invalid(node, "einsum_config \"%s\" does not match the operands",
                                 config ? config : "");
}

static hlo_status_t einsum(HLO_REF_ARGUMENTS) {
  labels_t labels[2] = {{0}, {0}}, wanted, joint;
  const labels_t none = {0};
  hlo_tensor_t *sides[2] = {NULL, NULL}, *product = NULL;
  const uint32_t count = node->operand_count;
  const hlo_dtype_t dtype = node->results[0].type->dtype;
  HLO_TRY(parse_config(node, operands, labels, &wanted));
  hlo_status_t status = hlo_ok();
  for (uint32_t k = 0; k < count && hlo_status_is_ok(status); k++) {
    status = take_diagonals(operands[k], &labels[k], &sides[k]);
    if (hlo_status_is_ok(status)) {
      status =
          sum_private(dtype, &labels[k], count == 2 ? &labels[1 - k] : &none, &wanted, &sides[k]);
    }
  }
  if (hlo_status_is_ok(status)) {
    if (count == 2) {
      status = contract_labels(dtype, sides[0], &labels[0], sides[1], &labels[1], &wanted, &joint,
                               &product);
    } else {
      joint = labels[0];
      product = hlo_tensor_retain(sides[0]);
    }
  }
  if (hlo_status_is_ok(status))
    status = reorder_dims(eval, node, product, &joint, &wanted, &results[0]);
  hlo_tensor_release(sides[0]);
  hlo_tensor_release(sides[1]);
  hlo_tensor_release(product);
  return status;
}

hlo_status_t hlo_ref_einsum(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_einsum, operands, results);
  }
  return einsum(eval, node, operands, results);
}

hlo_status_t hlo_ref_unary_einsum(HLO_REF_ARGUMENTS) {
  if (hlo_quant_is_used(node, operands)) {
    return hlo_quant_run(eval, node, hlo_ref_unary_einsum, operands, results);
  }
  return einsum(eval, node, operands, results);
}
