// SPDX-License-Identifier: Apache-2.0
// The linear-algebra custom calls that JAX emits for the cpu platform (lapack/lapack.h). Matrices
// are the last two dimensions; layouts are hints only. Where LAPACK works in place, the operand is
// copied to its result first.
#include <string.h>

#include "ir/custom_call.h"
#include "lib/batches.h"
#include "lib/call_impl.h"
#include "lib/lapack/lapack.h"
#include "lib/lapack/lapack_schur.h"

/// A call on a batch of matrices.
typedef struct call {
  const hlo_node_t* node;
  const hlo_lib_array_t *operands, *results;
  const hlo_parallel_t* parallel;  // of the run
  hlo_dtype_t dtype, real;         // of the matrices; of their real parts
  int64_t count, m, n;             // number of matrices; rows and columns of operand 0
  int64_t k;                       // another size: reflectors, columns of a right-hand side
  int64_t mode;                    // a variant chosen by the call's attributes
  bool has_unused;                 // some results may stay zero-initialised
  bool is_small;                   // `run` handles HLO_LAPACK_SMALL_COUNT matrices from `index` on
  uint32_t copied;                 // operand i begins result i for i below
  hlo_triangle_t triangle;
  hlo_dtype_t scratch_dtype;  // the unit of scratch memory
  size_t scratch_bytes;
  int64_t elements;  // of a matrix in scratch memory: estimates the work
  void (*run)(const struct call* call, int64_t index, const hlo_lapack_work_t* work);
} call_t;

static const hlo_lapack_t* lapack(const call_t* call) {
  return hlo_lapack_of(call->dtype);
}

static bool is_matrix_batch(const hlo_lib_array_t* array) {
  return array->rank >= 2 && hlo_lapack_supports(array->dtype);
}

// The first operand gives the batch dimensions. Returns false if the operands do not fit.
static bool call_init(call_t* call, uint32_t operand_count) {
  const hlo_lib_array_t* a = call->operands;
  if (call->node->operand_count != operand_count || !is_matrix_batch(a)) return false;
  call->dtype = call->scratch_dtype = a->dtype;
  call->m = a->dims[a->rank - 2];
  call->n = a->dims[a->rank - 1];
  call->real = hlo_dtype_info(a->dtype)->part;
  return hlo_dims_element_count(a->rank - 2, a->dims, &call->count);
}

// Returns true if the operand has `each` elements of the call's type per matrix.
static bool has_operand(const call_t* call, uint32_t index, int64_t each) {
  const hlo_lib_array_t* array = &call->operands[index];
  int64_t count;
  return array->dtype == call->dtype && !__builtin_mul_overflow(call->count, each, &count) &&
         array->element_count == count;
}

static void* part(const hlo_lib_array_t* array, int64_t index) {
  return array->data + (size_t)index * hlo_lib_element_bytes(array);
}

static void* matrix(const call_t* call, uint32_t result, int64_t index) {
  return part(&call->results[result], index * call->m * call->n);
}

static void store_info(const call_t* call, uint32_t result, int64_t index, int64_t info) {
  *(int32_t*)part(&call->results[result], index) = (int32_t)info;
}

typedef struct result {
  hlo_dtype_t dtype;
  int64_t each;  // elements per matrix
} result_t;

static void run_matrix(const void* arg, int64_t index, void* scratch) {
  const call_t* call = arg;
  // A single matrix uses all threads; each of several uses one.
  const hlo_lapack_work_t work = {scratch, call->scratch_bytes,
                                  call->count == 1 ? call->parallel : NULL};
  call->run(call, call->is_small ? index * HLO_LAPACK_SMALL_COUNT : index, &work);
}

// Copies an operand to a result, which may be the same memory.
static void copy_operand(void* to, const void* from, size_t size_bytes) {
  if (to != from) memcpy(to, from, size_bytes);
}

// Returns true if the results are as wanted. scratch_m, scratch_n: the arguments of
// hlo_lapack_scratch_bytes().
static bool call_fits(call_t* call, uint32_t count, const result_t* wanted, uint32_t copied,
                      int64_t scratch_m, int64_t scratch_n) {
  if (call->node->result_count != count ||
      __builtin_mul_overflow(scratch_m, scratch_n, &call->elements) ||
      !hlo_lapack_scratch_bytes(call->scratch_dtype, scratch_m, scratch_n, &call->scratch_bytes)) {
    return false;
  }
  call->copied = copied;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_lib_array_t* result = &call->results[i];
    if (result->dtype != wanted[i].dtype || result->element_count != call->count * wanted[i].each) {
      return false;
    }
  }
  return true;
}

// Copies operands to results, and runs the matrices.
static hlo_status_t lapack_run(const hlo_lib_run_t* run) {
  call_t call = *(const call_t*)run->plan;
  call.operands = run->operands;
  call.results = run->results;
  call.parallel = run->parallel;
  hlo_batches_t batches = {.count = call.count,
                           .elements = call.elements,
                           .scratch_bytes = call.scratch_bytes,
                           .run = run_matrix,
                           .arg = &call};
  if (call.is_small) {
    batches.count = (call.count + HLO_LAPACK_SMALL_COUNT - 1) / HLO_LAPACK_SMALL_COUNT;
    batches.elements *= HLO_LAPACK_SMALL_COUNT;
  }
  for (uint32_t i = 0; i < call.node->result_count; ++i) {
    const hlo_lib_array_t* result = &call.results[i];
    if (i < call.copied) {
      copy_operand(result->data, call.operands[i].data, result->size_bytes);
    } else if (call.has_unused) {
      memset(result->data, 0, result->size_bytes);
    }
  }
  return hlo_batches_run(call.parallel, &batches);
}

#define RESULTS(...)                                                     \
  (sizeof((result_t[]){__VA_ARGS__}) / sizeof(result_t)), (result_t[]) { \
    __VA_ARGS__                                                          \
  }
#define INFO \
  { HLO_DTYPE_S32, 1 }

static void potrf_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  store_info(
      call, 1, b,
      lapack(call)->potrf(call->triangle.is_lower, call->n, matrix(call, 0, b), call->n, work));
}

// Returns how many matrices from index b on are processed together.
static int64_t group_size(const call_t* call, int64_t b) {
  return hlo_lib_min(HLO_LAPACK_SMALL_COUNT, call->count - b);
}

static void potrf_some(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  lapack(call)->potrf_small(call->triangle.is_lower, group_size(call, b), call->n,
                            matrix(call, 0, b), part(&call->results[1], b), work);
}

static bool prepare_potrf(call_t* call) {
  // (a) -> factor, info
  if (!call_init(call, 1)) return false;
  if (call->m != call->n) return false;
  call->triangle.is_lower = hlo_custom_call_char(call->node, "uplo", 'L') == 'L';
  call->is_small = hlo_lapack_is_small(call->dtype, call->count, call->n, call->n);
  call->run = call->is_small ? potrf_some : potrf_one;
  return call_fits(call, RESULTS({call->dtype, call->m * call->n}, INFO), 1, call->m, call->n);
}

static void trsm_some(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  hlo_triangle_t triangle = call->triangle;
  const int64_t rows = triangle.is_left ? call->m : call->k;
  const int64_t columns = triangle.is_left ? call->k : call->m, count = group_size(call, b);
  triangle.a = part(&call->operands[0], b * call->m * call->n);
  char* x = part(&call->results[0], b * rows * columns);
  copy_operand(x, part(&call->operands[1], b * rows * columns),
               (size_t)(count * rows * columns) * hlo_dtype_size_bytes(call->dtype));
  lapack(call)->trsm_small(&triangle, count, rows, columns, x, work);
}

static void trsm_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  hlo_triangle_t triangle = call->triangle;
  const int64_t rows = triangle.is_left ? call->m : call->k;
  const int64_t columns = triangle.is_left ? call->k : call->m;
  triangle.a = part(&call->operands[0], b * call->m * call->n);
  char* x = part(&call->results[0], b * rows * columns);
  copy_operand(x, part(&call->operands[1], b * rows * columns),
               (size_t)(rows * columns) * hlo_dtype_size_bytes(call->dtype));
  lapack(call)->trsm(&triangle, rows, columns, x, columns, work);
}

// (a triangular, b) -> x
static bool prepare_trsm(call_t* call) {
  if (!call_init(call, 2)) return false;
  const hlo_lib_array_t* b = &call->operands[1];
  if (call->m != call->n || !is_matrix_batch(b)) return false;
  const char form = hlo_custom_call_char(call->node, "trans_x", 'N');
  call->triangle =
      (hlo_triangle_t){.lda = call->n,
                       .is_left = hlo_custom_call_char(call->node, "side", 'L') == 'L',
                       .is_lower = hlo_custom_call_char(call->node, "uplo", 'L') == 'L',
                       .is_unit = hlo_custom_call_char(call->node, "diag", 'N') == 'U',
                       .form = form == 'N'   ? HLO_LAPACK_PLAIN
                               : form == 'T' ? HLO_LAPACK_TRANSPOSED
                                             : HLO_LAPACK_ADJOINT};
  call->k = b->dims[b->rank - (call->triangle.is_left ? 1 : 2)];
  int64_t each;
  if (b->dims[b->rank - (call->triangle.is_left ? 2 : 1)] != call->m ||
      __builtin_mul_overflow(call->m, call->k, &each) || !has_operand(call, 1, each)) {
    return false;
  }
  call->is_small = hlo_lapack_is_small(call->dtype, call->count, call->m, call->m) &&
                   hlo_lapack_is_small(call->dtype, call->count, call->m, call->k);
  call->run = call->is_small ? trsm_some : trsm_one;
  return call_fits(call, RESULTS({call->dtype, each}), 0, call->m, call->k);
}

static void getrf_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  int32_t* pivots = part(&call->results[1], b * hlo_lib_min(call->m, call->n));
  store_info(call, 2, b,
             lapack(call)->getrf(call->m, call->n, matrix(call, 0, b), call->n, pivots, work));
}

static void getrf_some(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  lapack(call)->getrf_small(group_size(call, b), call->m, call->n, matrix(call, 0, b),
                            part(&call->results[1], b * hlo_lib_min(call->m, call->n)),
                            part(&call->results[2], b), work);
}

// (a) -> lu, pivots (1-based), info
static bool prepare_getrf(call_t* call) {
  if (!call_init(call, 1)) return false;
  call->is_small = hlo_lapack_is_small(call->dtype, call->count, call->m, call->n);
  call->run = call->is_small ? getrf_some : getrf_one;
  return call_fits(call,
                   RESULTS({call->dtype, call->m * call->n},
                           {HLO_DTYPE_S32, hlo_lib_min(call->m, call->n)}, INFO),
                   1, call->m, call->n);
}

static void geqrf_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  lapack(call)->geqrf(call->m, call->n, matrix(call, 0, b), call->n,
                      part(&call->results[1], b * hlo_lib_min(call->m, call->n)), work);
}

static void geqrf_some(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  lapack(call)->geqrf_small(group_size(call, b), call->m, call->n, matrix(call, 0, b),
                            part(&call->results[1], b * hlo_lib_min(call->m, call->n)), work);
}

// (a) -> reflectors and R, tau
static bool prepare_geqrf(call_t* call) {
  if (!call_init(call, 1)) return false;
  call->is_small = hlo_lapack_is_small(call->dtype, call->count, call->m, call->n);
  call->run = call->is_small ? geqrf_some : geqrf_one;
  return call_fits(
      call, RESULTS({call->dtype, call->m * call->n}, {call->dtype, hlo_lib_min(call->m, call->n)}),
      1, call->m, call->n);
}

static void orgqr_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  lapack(call)->orgqr(call->m, call->n, call->k, matrix(call, 0, b), call->n,
                      part(&call->operands[1], b * call->k), work);
}

static void orgqr_some(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  lapack(call)->orgqr_small(group_size(call, b), call->m, call->n, call->k, matrix(call, 0, b),
                            part(&call->operands[1], b * call->k), work);
}

// (reflectors, tau) -> q
static bool prepare_orgqr(call_t* call) {
  if (!call_init(call, 2)) return false;
  const hlo_lib_array_t* tau = &call->operands[1];
  if (tau->rank < 1) return false;
  call->k = tau->dims[tau->rank - 1];
  if (call->m < call->n || call->n < call->k || !has_operand(call, 1, call->k)) return false;
  call->is_small = hlo_lapack_is_small(call->dtype, call->count, call->m, call->n);
  call->run = call->is_small ? orgqr_some : orgqr_one;
  return call_fits(call, RESULTS({call->dtype, call->m * call->n}), 1, call->m, call->n);
}

static void syevd_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  store_info(
      call, 2, b,
      lapack(call)->syevd(call->mode == 'V', call->triangle.is_lower, call->n, matrix(call, 0, b),
                          call->n, part(&call->results[1], b * call->n), work));
}

// (a Hermitian) -> eigenvectors (columns), eigenvalues (ascending), info
static bool prepare_syevd(call_t* call) {
  if (!call_init(call, 1)) return false;
  if (call->m != call->n) return false;
  call->triangle.is_lower = hlo_custom_call_char(call->node, "uplo", 'L') == 'L';
  call->mode = hlo_custom_call_char(call->node, "mode", 'V');
  call->run = syevd_one;
  return call_fits(call, RESULTS({call->dtype, call->m * call->n}, {call->real, call->n}, INFO), 1,
                   call->m, call->n);
}

static void ormqr_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  const hlo_lib_array_t* c = &call->operands[2];
  const int64_t rows = c->dims[c->rank - 2], columns = c->dims[c->rank - 1];
  void* out = part(&call->results[0], b * rows * columns);
  memcpy(out, part(c, b * rows * columns),
         (size_t)(rows * columns) * hlo_dtype_size_bytes(call->dtype));
  lapack(call)->ormqr(call->triangle.is_left, call->mode, rows, columns, call->k,
                      part(&call->operands[0], b * call->m * call->n), call->n,
                      part(&call->operands[1], b * call->k), out, columns, work);
}

// (reflectors, tau, c) -> Q c, Q' c, c Q or c Q'
static bool prepare_ormqr(call_t* call) {
  if (!call_init(call, 3)) return false;
  const hlo_lib_array_t *tau = &call->operands[1], *c = &call->operands[2];
  if (!is_matrix_batch(c) || tau->rank < 1) return false;
  const int64_t rows = c->dims[c->rank - 2], columns = c->dims[c->rank - 1];
  call->k = tau->dims[tau->rank - 1];
  call->triangle.is_left = hlo_custom_call_flag(call->node, "left");
  call->mode = hlo_custom_call_flag(call->node, "transpose");
  int64_t each;
  if (call->m != (call->triangle.is_left ? rows : columns) ||
      call->k > hlo_lib_min(call->m, call->n) || __builtin_mul_overflow(rows, columns, &each) ||
      !has_operand(call, 1, call->k) || !has_operand(call, 2, each)) {
    return false;
  }
  call->run = ormqr_one;
  return call_fits(call, RESULTS({call->dtype, each}), 0, call->m, columns > rows ? columns : rows);
}

static void geqp3_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  lapack(call)->geqp3(call->m, call->n, matrix(call, 0, b), call->n,
                      part(&call->results[1], b * call->n),
                      part(&call->results[2], b * hlo_lib_min(call->m, call->n)), work);
}

// (a, columns to move to the front) -> reflectors and R, column order, tau
static bool prepare_geqp3(call_t* call) {
  if (!call_init(call, 2)) return false;
  const hlo_lib_array_t* first = &call->operands[1];
  if (first->dtype != HLO_DTYPE_S32 || first->element_count != call->count * call->n) {
    return false;
  }
  call->run = geqp3_one;
  return call_fits(call,
                   RESULTS({call->dtype, call->m * call->n}, {HLO_DTYPE_S32, call->n},
                           {call->dtype, hlo_lib_min(call->m, call->n)}),
                   2, call->m, call->n);
}

static void gehrd_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  lapack(call)->gehrd(call->n, call->mode, call->k, matrix(call, 0, b), call->n,
                      part(&call->results[1], b * (call->n - 1)), work);
  store_info(call, 2, b, 0);
}

// (a) -> Hessenberg form and reflectors, tau, info
static bool prepare_gehrd(call_t* call) {
  if (!call_init(call, 1)) return false;
  call->mode = hlo_custom_call_int(call->node, "low", 1) - 1;
  call->k = hlo_custom_call_int(call->node, "high", call->n);
  if (call->m != call->n || call->n < 1 || call->mode < 0 || call->k > call->n) return false;
  call->run = gehrd_one;
  return call_fits(call,
                   RESULTS({call->dtype, call->m * call->n}, {call->dtype, call->n - 1}, INFO), 1,
                   call->m, call->n);
}

static void sytrd_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  const int64_t n = call->n;
  lapack(call)->sytrd(call->triangle.is_lower, n, matrix(call, 0, b), n,
                      part(&call->results[1], b * n), part(&call->results[2], b * (n - 1)),
                      part(&call->results[3], b * (n - 1)), work);
  store_info(call, 4, b, 0);
}

// (a Hermitian) -> reflectors, diagonal, off-diagonal, tau, info
static bool prepare_sytrd(call_t* call) {
  if (!call_init(call, 1)) return false;
  if (call->m != call->n || call->n < 1) return false;
  call->triangle.is_lower = hlo_custom_call_char(call->node, "uplo", 'L') == 'L';
  call->run = sytrd_one;
  return call_fits(call,
                   RESULTS({call->dtype, call->m * call->n}, {call->real, call->n},
                           {call->real, call->n - 1}, {call->dtype, call->n - 1}, INFO),
                   1, call->m, call->n);
}

// ---- tridiagonal systems

// The first entry of dl and the last of du are unused.
static void gtsv_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  const int64_t n = call->n;
  char* dl = part(&call->results[0], b * n);
  const int64_t info = lapack(call)->gtsv(
      false, n, call->k, dl + hlo_dtype_size_bytes(call->dtype), part(&call->results[1], b * n),
      part(&call->results[2], b * n), part(&call->results[3], b * n * call->k), call->k, work);
  store_info(call, 4, b, info);
}

// Like gtsv_one(), but returns the solution only and perturbs pivots near zero.
static void gtsv_perturbed_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  const int64_t n = call->n;
  const size_t each = hlo_dtype_size_bytes(call->dtype),
               line = ((size_t)n * each + 63) & ~(size_t)63;
  char* diagonals = work->scratch;
  for (uint32_t i = 0; i < 3; ++i) {
    memcpy(diagonals + i * line, part(&call->operands[i], b * n), (size_t)n * each);
  }
  void* x = part(&call->results[0], b * n * call->k);
  memcpy(x, part(&call->operands[3], b * n * call->k), (size_t)(n * call->k) * each);
  const hlo_lapack_work_t rest = {diagonals + 3 * line, work->scratch_bytes - 3 * line, NULL};
  lapack(call)->gtsv(true, n, call->k, diagonals + each, diagonals + line, diagonals + 2 * line, x,
                     call->k, &rest);
}

// The last operand holds the matrices; the others have one dimension less.
static bool gtsv_init(call_t* call) {
  if (call->node->operand_count != 4 || !is_matrix_batch(&call->operands[3])) return false;
  const hlo_lib_array_t* b = &call->operands[3];
  call->dtype = call->scratch_dtype = b->dtype;
  call->n = b->dims[b->rank - 2];
  call->k = b->dims[b->rank - 1];
  return hlo_dims_element_count(b->rank - 2, b->dims, &call->count) &&
         has_operand(call, 0, call->n) && has_operand(call, 1, call->n) &&
         has_operand(call, 2, call->n);
}

// (below, diagonal, above, b) -> the overwritten diagonals, x, info
static bool prepare_gtsv(call_t* call) {
  if (!gtsv_init(call)) return false;
  call->run = gtsv_one;
  const result_t diagonal = {call->dtype, call->n};
  return call_fits(call,
                   RESULTS(diagonal, diagonal, diagonal, {call->dtype, call->n * call->k}, INFO), 4,
                   call->n, call->k);
}

static bool prepare_tridiagonal_solve_perturbed(call_t* call) {
  // (below, diagonal, above, b) -> x
  if (!gtsv_init(call)) return false;
  call->run = gtsv_perturbed_one;
  return call_fits(call, RESULTS({call->dtype, call->n * call->k}), 0, call->n, call->k);
}

// ---- singular values, general eigenvalues

static void gesdd_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  const hlo_lib_array_t *u = &call->results[2], *vt = &call->results[3];
  const int64_t least = hlo_lib_min(call->m, call->n);
  const bool has_vectors = call->mode != 'N';
  const int64_t columns = has_vectors ? u->dims[u->rank - 1] : least;
  const int64_t rows = has_vectors ? vt->dims[vt->rank - 2] : least;
  store_info(
      call, 4, b,
      lapack(call)->gesdd(call->m, call->n, matrix(call, 0, b), part(&call->results[1], b * least),
                          columns, has_vectors ? part(u, b * call->m * columns) : NULL, rows,
                          has_vectors ? part(vt, b * rows * call->n) : NULL, work));
}

// (a) -> an unspecified matrix, singular values (descending), left vectors (columns), right vectors
// (rows, conjugated), info
static bool prepare_gesdd(call_t* call) {
  if (!call_init(call, 1)) return false;
  const int64_t m = call->m, n = call->n, least = hlo_lib_min(m, n);
  if (call->node->result_count != 5 || call->node->results[2].type->rank < 2 ||
      call->node->results[3].type->rank < 2) {
    return false;
  }
  call->mode = hlo_custom_call_char(call->node, "mode", 'A');
  const hlo_type_t *u = call->node->results[2].type, *vt = call->node->results[3].type;
  const int64_t columns = u->dims[u->rank - 1], rows = vt->dims[vt->rank - 2];
  if ((columns != least && columns != m) || (rows != least && rows != n)) return false;
  const int64_t wanted = call->mode == 'N' ? least : columns > rows ? columns : rows;
  call->run = gesdd_one;
  call->has_unused = call->mode == 'N';
  return call_fits(call,
                   RESULTS({call->dtype, m * n}, {call->real, least}, {call->dtype, m * columns},
                           {call->dtype, rows * n}, INFO),
                   1, m > n ? m : n, wanted);
}

static void geev_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  const int64_t n = call->n;
  const uint32_t first =
      call->dtype == call->real ? 2 : 1;  // the results before it are the eigenvalues
  const hlo_lib_array_t* results = call->results;
  void* wi = first == 2 ? part(&results[1], b * n) : NULL;
  void* left = call->mode & 1 ? part(&results[first], b * n * n) : NULL;
  void* right = call->mode & 2 ? part(&results[first + 1], b * n * n) : NULL;
  store_info(call, first + 2, b,
             hlo_lapack_geev(call->dtype, n, part(&call->operands[0], b * n * n),
                             part(&results[0], b * n), wi, left, right, work));
}

// (a) -> eigenvalues (for real types two results), left and right eigenvectors (columns), info
static bool prepare_geev(call_t* call) {
  if (!call_init(call, 1)) return false;
  if (call->m != call->n) return false;
  call->mode = (hlo_custom_call_char(call->node, "compute_left", 'V') == 'V' ? 1 : 0) |
               (hlo_custom_call_char(call->node, "compute_right", 'V') == 'V' ? 2 : 0);
  call->scratch_dtype = HLO_DTYPE_C128;
  call->run = geev_one;
  call->has_unused = call->mode != 3;
  const int64_t n = call->n;
  const hlo_dtype_t complex_type = hlo_dtype_complex_of(call->real);
  const result_t values = {call->dtype, n}, vectors = {complex_type, n * n};
  return call->dtype == call->real
             ? call_fits(call, RESULTS(values, values, vectors, vectors, INFO), 0, n, n)
             : call_fits(call, RESULTS(values, vectors, vectors, INFO), 0, n, n);
}

static void gees_one(const call_t* call, int64_t b, const hlo_lapack_work_t* work) {
  const int64_t n = call->n;
  const uint32_t selected = call->dtype == call->real ? 4 : 3;  // results before it: eigenvalues
  void* wi = selected == 4 ? part(&call->results[3], b * n) : NULL;
  void* z = call->mode == 'V' ? part(&call->results[1], b * n * n) : NULL;
  store_info(call, selected, b, 0);
  store_info(call, selected + 1, b,
             hlo_lapack_gees(call->dtype, n, matrix(call, 0, b), z, part(&call->results[2], b * n),
                             wi, work));
}

// (a) -> Schur form, its vectors, eigenvalues (for real types two results), number of selected
// ones, info
static bool prepare_gees(call_t* call) {
  if (!call_init(call, 1)) return false;
  if (call->m != call->n) return false;
  if (hlo_custom_call_char(call->node, "sort", 'N') != 'N') {
    return hlo_node_error(call->node, HLO_STATUS_UNIMPLEMENTED, "@%s cannot sort eigenvalues",
                          hlo_node_attr_text(call->node, HLO_ATTR_call_target_name));
  }
  call->mode = hlo_custom_call_char(call->node, "mode", 'V');
  call->scratch_dtype = HLO_DTYPE_C128;
  call->run = gees_one;
  call->has_unused = call->mode != 'V';
  const int64_t n = call->n;
  const result_t square = {call->dtype, n * n}, values = {call->dtype, n};
  return call->dtype == call->real
             ? call_fits(call, RESULTS(square, square, values, values, INFO, INFO), 1, n, n)
             : call_fits(call, RESULTS(square, square, values, INFO, INFO), 1, n, n);
}

static bool (*const functions[HLO_CUSTOM_FUNCTION_COUNT])(call_t* call) = {
    [HLO_CUSTOM_potrf] = prepare_potrf,
    [HLO_CUSTOM_trsm] = prepare_trsm,
    [HLO_CUSTOM_getrf] = prepare_getrf,
    [HLO_CUSTOM_geqrf] = prepare_geqrf,
    [HLO_CUSTOM_orgqr] = prepare_orgqr,
    [HLO_CUSTOM_ormqr] = prepare_ormqr,
    [HLO_CUSTOM_geqp3] = prepare_geqp3,
    [HLO_CUSTOM_syevd] = prepare_syevd,
    [HLO_CUSTOM_sytrd] = prepare_sytrd,
    [HLO_CUSTOM_gesdd] = prepare_gesdd,
    [HLO_CUSTOM_gehrd] = prepare_gehrd,
    [HLO_CUSTOM_geev] = prepare_geev,
    [HLO_CUSTOM_gees] = prepare_gees,
    [HLO_CUSTOM_gtsv] = prepare_gtsv,
    [HLO_CUSTOM_gtsv_perturbed] = prepare_tridiagonal_solve_perturbed,
};

hlo_status_t hlo_lib_prepare_lapack(hlo_lib_call_t* call, hlo_arena_t* arena) {
  call_t* plan = hlo_arena_array(arena, 1, sizeof *plan);
  HLO_TRY(hlo_arena_status(arena));
  plan->node = call->node;
  plan->operands = call->operands;
  plan->results = call->results;
  if (!functions[hlo_custom_function_of(call->node)](plan)) return hlo_ok();
  call->plan = plan;
  call->run = lapack_run;
  return hlo_ok();
}
