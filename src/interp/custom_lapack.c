// SPDX-License-Identifier: Apache-2.0
// The linear-algebra custom calls that JAX emits for the cpu platform, on the plain factorisations of
// kernels/lapack_ref.h. Matrices are the last two dimensions; layouts are only hints here.
#include <string.h>

#include "base/mem.h"
#include "interp/custom_call.h"
#include "interp/ref_batches.h"
#include "kernels/lapack_ref.h"

#define REF_ARGUMENTS \
  hlo_eval_t *eval, const hlo_node_t *node, hlo_tensor_t **operands, hlo_tensor_t **results

/// A batch of matrices converted to double, one at a time.
typedef struct batch {
  int64_t count, rows, cols;
  hlo_dtype_t dtype;
  double* work;   // rows * cols, then `extra` doubles
} batch_t;

static hlo_status_t bad_call(const hlo_node_t* node) {
  return hlo_eval_error(node, HLO_STATUS_INVALID_ARGUMENT,
                        "operands or results of @%s do not fit each other",
                        hlo_node_attr_text(node, HLO_ATTR_call_target_name));
}

static bool is_matrix_batch(const hlo_tensor_t* tensor) {
  return tensor->kind == HLO_TYPE_TENSOR && tensor->rank >= 2 &&
         (tensor->dtype == HLO_DTYPE_F32 || tensor->dtype == HLO_DTYPE_F64);
}

static hlo_status_t batch_init(const hlo_node_t* node, const hlo_tensor_t* matrices,
                               size_t extra_count, batch_t* batch) {
  *batch = (batch_t){.dtype = matrices->dtype};
  batch->rows = matrices->dims[matrices->rank - 2];
  batch->cols = matrices->dims[matrices->rank - 1];
  size_t each, words, bytes;
  if (!hlo_dims_element_count(matrices->rank - 2, matrices->dims, &batch->count) ||
      !hlo_size_mul((size_t)batch->rows, (size_t)batch->cols, &each) ||
      !hlo_size_add(each, extra_count, &words) || !hlo_size_mul(words, sizeof(double), &bytes)) {
    return bad_call(node);
  }
  batch->work = hlo_mem_alloc_aligned(bytes, 64);
  return batch->work ? hlo_ok() : hlo_status_out_of_memory(bytes);
}

static void load(const hlo_tensor_t* tensor, int64_t start, int64_t count, double* out) {
  const uint8_t* from = tensor->data;
  hlo_dtype_convert(tensor->dtype, from + (size_t)start * hlo_dtype_size_bytes(tensor->dtype),
                    HLO_DTYPE_F64, out, (size_t)count);
}

static void store(hlo_tensor_t* tensor, int64_t start, int64_t count, const double* in) {
  uint8_t* to = tensor->data;
  hlo_dtype_convert(HLO_DTYPE_F64, in, tensor->dtype,
                    to + (size_t)start * hlo_dtype_size_bytes(tensor->dtype), (size_t)count);
}

static void store_info(hlo_tensor_t* tensor, int64_t i, int64_t info) {
  hlo_dtype_store_int64(tensor->dtype,
                        (uint8_t*)tensor->data + (size_t)i * hlo_dtype_size_bytes(tensor->dtype),
                        info);
}

// A letter of LAPACK's, sent as ui8.
static char letter(const hlo_node_t* node, const char* key, char fallback) {
  const hlo_attr_t* value = hlo_attr_dict_get(hlo_custom_call_config(node), key);
  return value && value->kind == HLO_ATTR_KIND_INT ? (char)value->i : fallback;
}

// All results as the types say; each must be able to hold `count[i]` elements.
static hlo_status_t make_results(hlo_eval_t* eval, const hlo_node_t* node, uint32_t count,
                                 const int64_t* element_counts, hlo_tensor_t** results) {
  if (node->result_count != count) return bad_call(node);
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < count && hlo_status_is_ok(status); ++i) {
    status = hlo_eval_result(eval, node, i, &results[i]);
    if (hlo_status_is_ok(status) && results[i]->element_count != element_counts[i]) {
      status = bad_call(node);
    }
  }
  for (uint32_t i = 0; i < count && !hlo_status_is_ok(status); ++i) {
    hlo_tensor_release(results[i]);
    results[i] = NULL;
  }
  return status;
}

static hlo_matrix_t row_major(double* data, int64_t cols) {
  return (hlo_matrix_t){.data = data, .row = cols, .col = 1};
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// (a) -> factor, info
hlo_status_t hlo_custom_lapack_potrf(REF_ARGUMENTS) {
  if (node->operand_count != 1 || !is_matrix_batch(operands[0])) return bad_call(node);
  const hlo_tensor_t* a = operands[0];
  batch_t batch;
  HLO_TRY(batch_init(node, a, 0, &batch));
  int64_t n = batch.rows, each = n * n;
  hlo_status_t status = batch.rows == batch.cols ? hlo_ok() : bad_call(node);
  if (hlo_status_is_ok(status)) {
    status = make_results(eval, node, 2, (int64_t[]){a->element_count, batch.count}, results);
  }
  bool is_lower = letter(node, "uplo", 'L') == 'L';
  for (int64_t b = 0; hlo_status_is_ok(status) && b < batch.count; ++b) {
    load(a, b * each, each, batch.work);
    store_info(results[1], b, hlo_lapack_potrf(is_lower, n, row_major(batch.work, n)));
    store(results[0], b * each, each, batch.work);
  }
  hlo_mem_free(batch.work);
  return status;
}

typedef struct triangle {
  bool is_left, is_lower, is_unit;
  hlo_transpose_t transpose;
  int64_t k, m, n;  // order of a; rows and columns of b
  const hlo_tensor_t *a, *b;
  hlo_tensor_t** results;
} triangle_t;

static void solve_one(const void* arg, int64_t i, void* scratch) {
  const triangle_t* t = arg;
  int64_t k = t->k, m = t->m, n = t->n;
  double *a = scratch, *x = a + k * k;
  load(t->a, i * k * k, k * k, a);
  load(t->b, i * m * n, m * n, x);
  hlo_lapack_trsm(t->is_left, t->is_lower, t->transpose, t->is_unit, m, n, row_major(a, k),
                  row_major(x, n));
  store(t->results[0], i * m * n, m * n, x);
}

// (a triangular, b) -> x
hlo_status_t hlo_custom_lapack_trsm(REF_ARGUMENTS) {
  if (node->operand_count != 2 || !is_matrix_batch(operands[0]) || !is_matrix_batch(operands[1]) ||
      operands[0]->dtype != operands[1]->dtype) {
    return bad_call(node);
  }
  const hlo_tensor_t *a = operands[0], *b = operands[1];
  char form = letter(node, "trans_x", 'N');
  triangle_t t = {.is_left = letter(node, "side", 'L') == 'L',
                  .is_lower = letter(node, "uplo", 'L') == 'L',
                  .is_unit = letter(node, "diag", 'N') == 'U',
                  .transpose = form == 'N'   ? HLO_LAPACK_PLAIN
                               : form == 'T' ? HLO_LAPACK_TRANSPOSED
                                             : HLO_LAPACK_ADJOINT,
                  .k = a->dims[a->rank - 1],
                  .m = b->dims[b->rank - 2],
                  .n = b->dims[b->rank - 1],
                  .a = a,
                  .b = b,
                  .results = results};
  hlo_batches_t batches = {.run = solve_one, .arg = &t};
  int64_t a_count, b_count;
  if (!hlo_dims_element_count(a->rank - 2, a->dims, &batches.count) ||
      __builtin_mul_overflow(t.k, t.k, &a_count) || __builtin_mul_overflow(t.m, t.n, &b_count) ||
      __builtin_add_overflow(a_count, b_count, &batches.elements) ||
      !hlo_size_mul((size_t)batches.elements, sizeof(double), &batches.scratch_bytes) ||
      t.k != a->dims[a->rank - 2] || t.k != (t.is_left ? t.m : t.n) ||
      b->element_count != batches.count * b_count) {
    return bad_call(node);
  }
  HLO_TRY(make_results(eval, node, 1, (int64_t[]){b->element_count}, results));
  return hlo_batches_run(hlo_eval_parallel(eval), &batches);
}

typedef struct lu {
  int64_t m, n;
  const hlo_tensor_t* a;
  hlo_tensor_t** results;
} lu_t;

static void lu_one(const void* arg, int64_t b, void* scratch) {
  const lu_t* lu = arg;
  int64_t m = lu->m, n = lu->n;
  int32_t* pivots = (int32_t*)lu->results[1]->data + b * smaller(m, n);
  load(lu->a, b * m * n, m * n, scratch);
  store_info(lu->results[2], b, hlo_lapack_getrf(m, n, row_major(scratch, n), pivots));
  store(lu->results[0], b * m * n, m * n, scratch);
}

// (a) -> lu, pivots (1-based), info
hlo_status_t hlo_custom_lapack_getrf(REF_ARGUMENTS) {
  if (node->operand_count != 1 || !is_matrix_batch(operands[0])) return bad_call(node);
  const hlo_tensor_t* a = operands[0];
  lu_t lu = {a->dims[a->rank - 2], a->dims[a->rank - 1], a, results};
  hlo_batches_t batches = {.run = lu_one, .arg = &lu};
  if (!hlo_dims_element_count(a->rank - 2, a->dims, &batches.count) ||
      __builtin_mul_overflow(lu.m, lu.n, &batches.elements) ||
      !hlo_size_mul((size_t)batches.elements, sizeof(double), &batches.scratch_bytes)) {
    return bad_call(node);
  }
  int64_t k = smaller(lu.m, lu.n);
  HLO_TRY(make_results(eval, node, 3,
                       (int64_t[]){a->element_count, batches.count * k, batches.count}, results));
  if (results[1]->dtype != HLO_DTYPE_S32) return bad_call(node);
  return hlo_batches_run(hlo_eval_parallel(eval), &batches);
}

// (a) -> reflectors and R, tau
hlo_status_t hlo_custom_lapack_geqrf(REF_ARGUMENTS) {
  if (node->operand_count != 1 || !is_matrix_batch(operands[0])) return bad_call(node);
  const hlo_tensor_t* a = operands[0];
  batch_t batch;
  HLO_TRY(batch_init(node, a, (size_t)a->dims[a->rank - 1], &batch));
  int64_t m = batch.rows, n = batch.cols, k = smaller(m, n);
  hlo_status_t status =
      make_results(eval, node, 2, (int64_t[]){a->element_count, batch.count * k}, results);
  double* tau = batch.work + m * n;
  for (int64_t b = 0; hlo_status_is_ok(status) && b < batch.count; ++b) {
    load(a, b * m * n, m * n, batch.work);
    hlo_lapack_geqrf(m, n, row_major(batch.work, n), tau);
    store(results[0], b * m * n, m * n, batch.work);
    store(results[1], b * k, k, tau);
  }
  hlo_mem_free(batch.work);
  return status;
}

// (reflectors, tau) -> q
hlo_status_t hlo_custom_lapack_orgqr(REF_ARGUMENTS) {
  if (node->operand_count != 2 || !is_matrix_batch(operands[0]) ||
      operands[1]->kind != HLO_TYPE_TENSOR || operands[1]->rank < 1) {
    return bad_call(node);
  }
  const hlo_tensor_t *a = operands[0], *taus = operands[1];
  int64_t k = taus->dims[taus->rank - 1];
  batch_t batch;
  HLO_TRY(batch_init(node, a, (size_t)k, &batch));
  int64_t m = batch.rows, n = batch.cols;
  bool fits = m >= n && n >= k && taus->element_count == batch.count * k;
  hlo_status_t status = fits ? hlo_ok() : bad_call(node);
  if (hlo_status_is_ok(status)) {
    status = make_results(eval, node, 1, (int64_t[]){a->element_count}, results);
  }
  double* tau = batch.work + m * n;
  for (int64_t b = 0; hlo_status_is_ok(status) && b < batch.count; ++b) {
    load(a, b * m * n, m * n, batch.work);
    load(taus, b * k, k, tau);
    hlo_lapack_orgqr(m, n, k, row_major(batch.work, n), tau);
    store(results[0], b * m * n, m * n, batch.work);
  }
  hlo_mem_free(batch.work);
  return status;
}

// (a symmetric) -> eigenvectors (columns), eigenvalues (ascending), info
hlo_status_t hlo_custom_lapack_syevd(REF_ARGUMENTS) {
  if (node->operand_count != 1 || !is_matrix_batch(operands[0])) return bad_call(node);
  const hlo_tensor_t* a = operands[0];
  batch_t batch;
  HLO_TRY(batch_init(node, a, 2 * (size_t)a->dims[a->rank - 1], &batch));
  int64_t n = batch.rows, each = n * n;
  hlo_status_t status = batch.rows == batch.cols ? hlo_ok() : bad_call(node);
  if (hlo_status_is_ok(status)) {
    status = make_results(eval, node, 3,
                          (int64_t[]){a->element_count, batch.count * n, batch.count}, results);
  }
  bool is_lower = letter(node, "uplo", 'L') == 'L', has_vectors = letter(node, "mode", 'V') == 'V';
  double *w = batch.work + each, *scratch = w + n;
  for (int64_t b = 0; hlo_status_is_ok(status) && b < batch.count; ++b) {
    load(a, b * each, each, batch.work);
    store_info(results[2], b, hlo_lapack_syevd(has_vectors, is_lower, n, row_major(batch.work, n),
                                               w, scratch));
    store(results[0], b * each, each, batch.work);
    store(results[1], b * n, n, w);
  }
  hlo_mem_free(batch.work);
  return status;
}
