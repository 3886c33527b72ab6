// SPDX-License-Identifier: Apache-2.0
// cholesky and triangular_solve: batches of matrices as complex doubles (ref_lapack.h), rounded
// once.
#include <math.h>
#include <string.h>

#include "interp/ref_lapack.h"
#include "interp/ref_util.h"

// Creates a copy of `tensor` as complex doubles.
static hlo_status_t widen(const hlo_tensor_t* tensor, hlo_tensor_t** out_wide) {
  HLO_TRY(hlo_tensor_create(HLO_DTYPE_C128, tensor->rank, tensor->dims, out_wide));
  hlo_dtype_convert(tensor->dtype, tensor->data, HLO_DTYPE_C128, (*out_wide)->data,
                    (size_t)tensor->element_count);
  return hlo_ok();
}

// Zeroes the other triangle of the factor; fills everything with NaN if the factorisation fails.
static void factor(bool is_lower, int64_t n, hlo_c128_t* a) {
  const bool has_failed = hlo_ref_potrf(is_lower, n, a) != 0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      if (has_failed) a[i * n + j] = NAN + NAN * I;
      if (!has_failed && (is_lower ? j > i : j < i)) a[i * n + j] = 0;
    }
  }
}

hlo_status_t hlo_ref_cholesky(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t* a = operands[0];
  if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2]) {
    return hlo_node_invalid(node, "needs square matrices");
  }
  const int64_t n = a->dims[a->rank - 1];
  hlo_tensor_t* wide = NULL;
  HLO_TRY(widen(a, &wide));
  for (int64_t at = 0; at < a->element_count; at += n * n) {
    factor(hlo_node_attr_bool(node, HLO_ATTR_lower, false), n, (hlo_c128_t*)wide->data + at);
  }
  hlo_status_t status = hlo_eval_result_dims(eval, node, 0, a->rank, a->dims, &results[0]);
  if (hlo_status_is_ok(status)) {
    hlo_dtype_convert(HLO_DTYPE_C128, wide->data, a->dtype, results[0]->data,
                      (size_t)a->element_count);
  }
  hlo_tensor_release(wide);
  return status;
}

// A triangular solve of matrix pairs: b is m x n.
typedef struct {
  hlo_ref_triangle_t triangle;
  bool is_left;
  int64_t m, n;
} solve_t;

static hlo_status_t solve_init(solve_t* s, const hlo_node_t* node, const hlo_tensor_t* a,
                               const hlo_tensor_t* b) {
  const hlo_attr_t* transpose = hlo_node_attr(node, HLO_ATTR_transpose_a);
  const int64_t form = transpose ? transpose->i : HLO_TRANSPOSE_NO_TRANSPOSE;
  s->is_left = hlo_node_attr_bool(node, HLO_ATTR_left_side, true);
  s->triangle = (hlo_ref_triangle_t){
      .is_lower = hlo_node_attr_bool(node, HLO_ATTR_lower, true),
      .is_unit = hlo_node_attr_bool(node, HLO_ATTR_unit_diagonal, false),
      .is_transposed = form == HLO_TRANSPOSE_TRANSPOSE || form == HLO_TRANSPOSE_ADJOINT,
      .is_conjugated = form == HLO_TRANSPOSE_ADJOINT,
      .is_real = !hlo_dtype_is_complex(a->dtype)};
  bool fits = a->rank >= 2 && a->rank == b->rank;
  for (uint32_t d = 0; fits && d + 2 < a->rank; d++) fits = a->dims[d] == b->dims[d];
  if (fits) {
    s->m = b->dims[b->rank - 2];
    s->n = b->dims[b->rank - 1];
    s->triangle.n = a->dims[a->rank - 1];
    fits = a->dims[a->rank - 2] == s->triangle.n && s->triangle.n == (s->is_left ? s->m : s->n);
  }
  return fits ? hlo_ok() : hlo_node_invalid(node, "the matrices do not match in size");
}

static void solve_all(solve_t* s, int64_t count, const hlo_c128_t* a, hlo_c128_t* x) {
  for (int64_t i = 0; i < count; i++) {
    s->triangle.a = a + i * s->triangle.n * s->triangle.n;
    hlo_ref_trsm(&s->triangle, s->is_left, s->is_left ? s->n : s->m, x + i * s->m * s->n);
  }
}

hlo_status_t hlo_ref_triangular_solve(HLO_REF_ARGUMENTS) {
  const hlo_tensor_t *a = operands[0], *b = operands[1];
  solve_t solve;
  HLO_TRY(solve_init(&solve, node, a, b));
  hlo_tensor_t *matrix = NULL, *x = NULL;
  hlo_status_t status = widen(a, &matrix);
  if (hlo_status_is_ok(status)) status = widen(b, &x);
  if (hlo_status_is_ok(status)) {
    const int64_t each = solve.m * solve.n;
    solve_all(&solve, each ? b->element_count / each : 0, matrix->data, x->data);
    status = hlo_eval_result_dims(eval, node, 0, b->rank, b->dims, &results[0]);
  }
  if (hlo_status_is_ok(status)) {
    hlo_dtype_convert(HLO_DTYPE_C128, x->data, b->dtype, results[0]->data,
                      (size_t)b->element_count);
  }
  hlo_tensor_release(matrix);
  hlo_tensor_release(x);
  return status;
}
