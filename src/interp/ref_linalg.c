// SPDX-License-Identifier: Apache-2.0
// cholesky and triangular_solve: batches of matrices, computed by lib/lapack/lapack.h in their own
// type; narrow floats are converted to double and rounded once.
#include <math.h>
#include <string.h>

#include "lib/batches.h"
#include "interp/ref_util.h"
#include "lib/lapack/lapack.h"

// The types and buffers of a batch.
typedef struct {
  hlo_dtype_t dtype, wide;
  const hlo_parallel_t* parallel;  // used inside a matrix, if there is only one
  int64_t elements;                // per batch element, all matrices together
  size_t wide_bytes, lapack_bytes;
} batch_t;

static hlo_status_t batch_init(hlo_eval_t* eval, hlo_dtype_t dtype, int64_t count, int64_t elements,
                               int64_t m, int64_t n, batch_t* batch, hlo_batches_t* batches) {
  *batch = (batch_t){.dtype = dtype, .wide = HLO_DTYPE_F64, .elements = elements};
  if (hlo_lapack_supports(dtype)) batch->wide = dtype;
  if (count == 1) batch->parallel = hlo_eval_parallel(eval);
  batches->count = count;
  batches->elements = elements;
  const bool fits =
      hlo_size_mul((size_t)elements, hlo_dtype_size_bytes(batch->wide), &batch->wide_bytes) &&
      hlo_size_add(batch->wide_bytes, 63, &batch->wide_bytes) &&
      hlo_lapack_scratch_bytes(batch->wide, m, n, &batch->lapack_bytes);
  batch->wide_bytes &= ~(size_t)63;
  return fits && hlo_size_add(batch->wide_bytes, batch->lapack_bytes, &batches->scratch_bytes)
             ? hlo_ok()
             : hlo_status_out_of_memory(SIZE_MAX);
}

static hlo_lapack_work_t batch_work(const batch_t* batch, void* scratch) {
  return (hlo_lapack_work_t){(char*)scratch + batch->wide_bytes, batch->lapack_bytes,
                             batch->parallel};
}

typedef struct {
  batch_t batch;
  bool is_lower;
  int64_t n;
  const char* a;
  char* factor;
} cholesky_t;

// Zeroes the other triangle of the factor; fills everything with NaN if the factorisation fails.
static void factor_one(const void* arg, int64_t index, void* scratch) {
  const cholesky_t* c = arg;
  const hlo_dtype_t wide = c->batch.wide;
  const int64_t n = c->n;
  const size_t count = (size_t)c->batch.elements, each = hlo_dtype_size_bytes(wide);
  const size_t at = (size_t)index * count * hlo_dtype_size_bytes(c->batch.dtype);
  const hlo_lapack_work_t work = batch_work(&c->batch, scratch);
  hlo_dtype_convert(c->batch.dtype, c->a + at, wide, scratch, count);
  char* bytes = scratch;
  if (hlo_lapack_potrf(wide, c->is_lower, n, scratch, n, &work)) {
    const bool is_double = wide == HLO_DTYPE_F64 || wide == HLO_DTYPE_C128;
    const size_t parts = count * each / (is_double ? sizeof(double) : sizeof(float));
    for (size_t i = 0; i < parts; i++) {
      if (is_double) {
        ((double*)scratch)[i] = NAN;
      } else {
        ((float*)scratch)[i] = NAN;
      }
    }
  } else {
    for (int64_t i = 0; i < n; i++) {
      const int64_t first = c->is_lower ? i + 1 : 0, last = c->is_lower ? n : i;
      memset(bytes + (size_t)(i * n + first) * each, 0, (size_t)(last - first) * each);
    }
  }
  hlo_dtype_convert(wide, scratch, c->batch.dtype, c->factor + at, count);
}

// Runs the batches, which write `result`; takes ownership of `result`.
static hlo_status_t run_batches(hlo_eval_t* eval, const hlo_batches_t* batches,
                                hlo_tensor_t* result, hlo_tensor_t** out_result) {
  hlo_status_t status = hlo_batches_run(hlo_eval_parallel(eval), batches);
  if (hlo_status_is_ok(status)) {
    *out_result = result;
  } else {
    hlo_tensor_release(result);
  }
  return status;
}

hlo_status_t hlo_ref_cholesky(hlo_eval_t* eval, const hlo_node_t* node, hlo_tensor_t** operands,
                              hlo_tensor_t** results) {
  const hlo_tensor_t* a = operands[0];
  if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2]) {
    return hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT, "needs square matrices");
  }
  const int64_t n = a->dims[a->rank - 1];
  cholesky_t cholesky = {
      .is_lower = hlo_node_attr_bool(node, HLO_ATTR_lower, false), .n = n, .a = a->data};
  hlo_batches_t batches = {.run = factor_one, .arg = &cholesky};
  HLO_TRY(batch_init(eval, a->dtype, n ? a->element_count / (n * n) : 0, n * n, n, n,
                     &cholesky.batch, &batches));
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, a->rank, a->dims, &result));
  cholesky.factor = result->data;
  return run_batches(eval, &batches, result, results);
}

// A triangular solve of one matrix pair.
typedef struct {
  batch_t batch;
  hlo_triangle_t triangle;
  int64_t m, n, order;
  const char *a, *b;
  char* x;
} solve_t;

static hlo_status_t solve_init(solve_t* s, const hlo_node_t* node, const hlo_tensor_t* a,
                               const hlo_tensor_t* b) {
  s->triangle.is_left = hlo_node_attr_bool(node, HLO_ATTR_left_side, true);
  s->triangle.is_lower = hlo_node_attr_bool(node, HLO_ATTR_lower, true);
  s->triangle.is_unit = hlo_node_attr_bool(node, HLO_ATTR_unit_diagonal, false);
  const hlo_attr_t* transpose = hlo_node_attr(node, HLO_ATTR_transpose_a);
  s->triangle.form = !transpose || transpose->i == HLO_TRANSPOSE_NO_TRANSPOSE ? HLO_LAPACK_PLAIN
                     : transpose->i == HLO_TRANSPOSE_ADJOINT                  ? HLO_LAPACK_ADJOINT
                                                             : HLO_LAPACK_TRANSPOSED;
  bool fits = a->rank >= 2 && a->rank == b->rank;
  for (uint32_t d = 0; fits && d + 2 < a->rank; d++) fits = a->dims[d] == b->dims[d];
  if (fits) {
    s->m = b->dims[b->rank - 2];
    s->n = b->dims[b->rank - 1];
    s->order = a->dims[a->rank - 1];
    fits = a->dims[a->rank - 2] == s->order && s->order == (s->triangle.is_left ? s->m : s->n);
  }
  return fits ? hlo_ok()
              : hlo_node_error(node, HLO_STATUS_INVALID_ARGUMENT,
                               "the matrices do not match in size");
}

static void solve_one(const void* arg, int64_t index, void* scratch) {
  const solve_t* s = arg;
  const hlo_dtype_t dtype = s->batch.dtype, wide = s->batch.wide;
  const size_t a_count = (size_t)(s->order * s->order), b_count = (size_t)(s->m * s->n);
  const size_t at = (size_t)index * hlo_dtype_size_bytes(dtype);
  char* b = (char*)scratch + a_count * hlo_dtype_size_bytes(wide);
  const hlo_lapack_work_t work = batch_work(&s->batch, scratch);
  hlo_triangle_t triangle = s->triangle;
  triangle.a = scratch;
  triangle.lda = s->order;
  hlo_dtype_convert(dtype, s->a + at * a_count, wide, scratch, a_count);
  hlo_dtype_convert(dtype, s->b + at * b_count, wide, b, b_count);
  hlo_lapack_trsm(wide, &triangle, s->m, s->n, b, s->n, &work);
  hlo_dtype_convert(wide, b, dtype, s->x + at * b_count, b_count);
}

hlo_status_t hlo_ref_triangular_solve(hlo_eval_t* eval, const hlo_node_t* node,
                                      hlo_tensor_t** operands, hlo_tensor_t** results) {
  const hlo_tensor_t *a = operands[0], *b = operands[1];
  solve_t solve = {.a = a->data, .b = b->data};
  HLO_TRY(solve_init(&solve, node, a, b));
  const int64_t b_count = solve.m * solve.n;
  int64_t elements;
  hlo_batches_t batches = {.run = solve_one, .arg = &solve};
  if (__builtin_add_overflow(solve.order * solve.order, b_count, &elements)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  HLO_TRY(batch_init(eval, a->dtype, b_count ? b->element_count / b_count : 0, elements,
                     solve.order, solve.triangle.is_left ? solve.n : solve.m, &solve.batch,
                     &batches));
  hlo_tensor_t* result = NULL;
  HLO_TRY(hlo_eval_result_dims(eval, node, 0, b->rank, b->dims, &result));
  solve.x = result->data;
  return run_batches(eval, &batches, result, results);
}
