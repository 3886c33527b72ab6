// SPDX-License-Identifier: Apache-2.0
// cholesky and triangular_solve: batches of matrices, each converted to double (or complex double),
// factorised or solved by kernels/lapack_ref.h, and rounded once.
#include <math.h>
#include <string.h>

#include "interp/ref_batches.h"
#include "interp/ref_util.h"
#include "kernels/lapack_ref.h"

// Working memory for matrices of `count` elements in F64 or C128.
static hlo_status_t work_alloc(hlo_dtype_t wide, int64_t count, void** out_work) {
  size_t bytes = 0;
  if (!hlo_size_mul((size_t)count, hlo_dtype_size_bytes(wide), &bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  *out_work = hlo_mem_alloc_aligned(bytes, 64);
  return *out_work ? hlo_ok() : hlo_status_out_of_memory(bytes);
}

static hlo_dtype_t wide_type(hlo_dtype_t dtype) {
  return hlo_dtype_is_complex(dtype) ? HLO_DTYPE_C128 : HLO_DTYPE_F64;
}

// Factor of the n x n matrix in `work`: the other triangle becomes zero, or all NaN without a
// factor.
static void factor_matrix(bool lower, bool is_complex, int64_t n, void* work) {
  const hlo_matrix_t real = {work, n, 1};
  const hlo_zmatrix_t complex_ = {work, n, 1};
  const int64_t failed =
      is_complex ? hlo_lapack_zpotrf(lower, n, complex_) : hlo_lapack_potrf(lower, n, real);
  const int64_t parts = is_complex ? 2 : 1;
  double* values = work;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j < n; j++) {
      for (int64_t p = 0; p < parts; p++) {
        double* value = &values[(i * n + j) * parts + p];
        if (failed)
          *value = NAN;
        else if (lower ? j > i : j < i)
          *value = 0;
      }
      if (is_complex && i == j && !failed) values[(i * n + j) * 2 + 1] = 0;
    }
  }
}

hlo_status_t hlo_ref_cholesky(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                              hlo_tensor_t** results) {
  const hlo_tensor_t* a = operands[0];
  const bool lower = hlo_node_attr_bool(node, HLO_ATTR_lower, false);
  if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2]) {
    return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "needs square matrices");
  }
  const int64_t n = a->dims[a->rank - 1], count = n * n;
  const hlo_dtype_t wide = wide_type(a->dtype);
  hlo_tensor_t* result = NULL;
  void* work = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, a->rank, a->dims, &result));
  hlo_status_t status = work_alloc(wide, count, &work);
  if (!hlo_status_is_ok(status)) {
    hlo_tensor_release(result);
    return status;
  }
  const size_t matrix_bytes = (size_t)count * hlo_tensor_element_bytes(a);
  for (size_t at = 0; at < a->size_bytes; at += matrix_bytes) {
    hlo_dtype_convert(a->dtype, (const char*)a->data + at, wide, work, (size_t)count);
    factor_matrix(lower, wide == HLO_DTYPE_C128, n, work);
    hlo_dtype_convert(wide, work, a->dtype, (char*)result->data + at, (size_t)count);
  }
  hlo_mem_free(work);
  results[0] = result;
  return hlo_ok();
}

// A triangular solve of one matrix pair.
typedef struct {
  bool left, lower, unit;
  hlo_transpose_t transpose;
  int64_t m, n, order;
} solve_t;

static void solve_matrix(const solve_t* s, bool is_complex, void* a, void* b) {
  if (is_complex) {
    hlo_lapack_ztrsm(s->left, s->lower, s->transpose, s->unit, s->m, s->n,
                     (hlo_zmatrix_t){a, s->order, 1}, (hlo_zmatrix_t){b, s->n, 1});
  } else {
    hlo_lapack_trsm(s->left, s->lower, s->transpose, s->unit, s->m, s->n,
                    (hlo_matrix_t){a, s->order, 1}, (hlo_matrix_t){b, s->n, 1});
  }
}

static hlo_status_t solve_init(solve_t* s, const hlo_node_t* node, const hlo_tensor_t* a,
                               const hlo_tensor_t* b) {
  s->left = hlo_node_attr_bool(node, HLO_ATTR_left_side, true);
  s->lower = hlo_node_attr_bool(node, HLO_ATTR_lower, true);
  s->unit = hlo_node_attr_bool(node, HLO_ATTR_unit_diagonal, false);
  const hlo_attr_t* transpose = hlo_node_attr(node, HLO_ATTR_transpose_a);
  s->transpose = !transpose || transpose->i == HLO_TRANSPOSE_NO_TRANSPOSE ? HLO_LAPACK_PLAIN
                 : transpose->i == HLO_TRANSPOSE_ADJOINT                  ? HLO_LAPACK_ADJOINT
                                                                          : HLO_LAPACK_TRANSPOSED;
  bool fits = a->rank >= 2 && a->rank == b->rank;
  for (uint32_t d = 0; fits && d + 2 < a->rank; d++) fits = a->dims[d] == b->dims[d];
  if (fits) {
    s->m = b->dims[b->rank - 2];
    s->n = b->dims[b->rank - 1];
    s->order = a->dims[a->rank - 1];
    fits = a->dims[a->rank - 2] == s->order && s->order == (s->left ? s->m : s->n);
  }
  return fits ? hlo_ok()
              : hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT, "the matrices do not fit");
}

typedef struct {
  solve_t solve;
  hlo_dtype_t dtype, wide;
  const char *a, *b;
  char* x;
} solve_batch_t;

static void solve_one(const void* arg, int64_t index, void* scratch) {
  const solve_batch_t* batch = arg;
  const size_t a_count = (size_t)(batch->solve.order * batch->solve.order);
  const size_t b_count = (size_t)(batch->solve.m * batch->solve.n);
  const size_t bytes = hlo_dtype_size_bytes(batch->dtype), at = (size_t)index * bytes;
  char* wide_b = (char*)scratch + a_count * hlo_dtype_size_bytes(batch->wide);
  hlo_dtype_convert(batch->dtype, batch->a + at * a_count, batch->wide, scratch, a_count);
  hlo_dtype_convert(batch->dtype, batch->b + at * b_count, batch->wide, wide_b, b_count);
  solve_matrix(&batch->solve, batch->wide == HLO_DTYPE_C128, scratch, wide_b);
  hlo_dtype_convert(batch->wide, wide_b, batch->dtype, batch->x + at * b_count, b_count);
}

hlo_status_t hlo_ref_triangular_solve(hlo_eval_t* eval, const hlo_node_t* node,
                                      hlo_tensor_t** operands, hlo_tensor_t** results) {
  const hlo_tensor_t *a = operands[0], *b = operands[1];
  solve_batch_t batch = {
      .dtype = a->dtype, .wide = wide_type(a->dtype), .a = a->data, .b = b->data};
  HLO_TRY(solve_init(&batch.solve, node, a, b));
  const int64_t a_count = batch.solve.order * batch.solve.order;
  const int64_t b_count = batch.solve.m * batch.solve.n;
  hlo_batches_t batches = {
      .count = b_count ? b->element_count / b_count : 0, .run = solve_one, .arg = &batch};
  if (__builtin_add_overflow(a_count, b_count, &batches.elements) ||
      !hlo_size_mul((size_t)batches.elements, hlo_dtype_size_bytes(batch.wide),
                    &batches.scratch_bytes)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, b->rank, b->dims, &result));
  batch.x = result->data;
  hlo_status_t status = hlo_batches_run(hlo_eval_parallel(eval), &batches);
  if (hlo_status_is_ok(status)) {
    results[0] = result;
  } else {
    hlo_tensor_release(result);
  }
  return status;
}
