// SPDX-License-Identifier: Apache-2.0
// The linear-algebra custom calls that JAX emits for the cpu platform. Matrices are the last two
// dimensions; layouts are hints only. Each matrix is converted to complex doubles, computed
// (ref_lapack.h) and rounded once.
#include <math.h>
#include <string.h>

#include "base/integer.h"
#include "base/mem.h"
#include "interp/custom_call.h"
#include "interp/ref_lapack.h"
#include "interp/ref_util.h"

enum { VALUES_MAX = 6 };

/// A call, and one of its matrices in progress.
typedef struct call {
  const hlo_node_t* node;
  int64_t count, m, n;    // number of matrices; rows and columns of operand 0
  int64_t k;              // elements of operand 1 along its last dimension
  int64_t rows, columns;  // of the last operand
  bool is_real;
  int64_t in_each[VALUES_MAX], out_each[VALUES_MAX];  // elements per matrix
  hlo_c128_t *in[VALUES_MAX], *out[VALUES_MAX];       // out: zero at first
  hlo_c128_t* spare;  // 5 (n + 1) squared elements for square matrices, else those of gesdd
} call_t;

static bool is_lower(const call_t* c) {
  return hlo_custom_call_char(c->node, "uplo", 'L') == 'L';
}

static void copy(hlo_c128_t* to, const hlo_c128_t* from, int64_t count) {
  memcpy(to, from, (size_t)count * sizeof *to);
}

// Returns false if the first operand is not finite: all results become NaN then.
static bool is_finite(call_t* c) {
  for (int64_t i = 0; i < c->m * c->n; i++) {
    if (isfinite(creal(c->in[0][i])) && isfinite(cimag(c->in[0][i]))) continue;
    for (uint32_t r = 0; r < c->node->result_count; r++) {
      for (int64_t e = 0; e < c->out_each[r]; e++) c->out[r][e] = NAN;
    }
    return false;
  }
  return true;
}

static void store_info(call_t* c, int64_t info) {
  c->out[c->node->result_count - 1][0] = (double)info;
}

// (a) -> factor, info
static void potrf(call_t* c) {
  copy(c->out[0], c->in[0], c->n * c->n);
  store_info(c, hlo_ref_potrf(is_lower(c), c->n, c->out[0]));
}

// (a triangular, b) -> x
static void trsm(call_t* c) {
  const bool is_left = hlo_custom_call_char(c->node, "side", 'L') == 'L';
  const char form = hlo_custom_call_char(c->node, "trans_x", 'N');
  const hlo_ref_triangle_t triangle = {.a = c->in[0],
                                       .n = c->n,
                                       .is_lower = is_lower(c),
                                       .is_unit = hlo_custom_call_char(c->node, "diag", 'N') == 'U',
                                       .is_transposed = form != 'N',
                                       .is_conjugated = form == 'C',
                                       .is_real = c->is_real};
  copy(c->out[0], c->in[1], c->rows * c->columns);
  if ((is_left ? c->rows : c->columns) == c->n) {
    hlo_ref_trsm(&triangle, is_left, is_left ? c->columns : c->rows, c->out[0]);
  }
}

// (a) -> lu, pivots (1-based), info
static void getrf(call_t* c) {
  copy(c->out[0], c->in[0], c->m * c->n);
  store_info(c, hlo_ref_getrf(c->m, c->n, c->out[0], c->out[1]));
}

// (a) -> reflectors and R, tau
static void geqrf(call_t* c) {
  copy(c->out[0], c->in[0], c->m * c->n);
  hlo_ref_geqrf(c->m, c->n, c->out[0], NULL, c->out[1]);
}

// (a, columns to move to the front) -> reflectors and R, column order, tau
static void geqp3(call_t* c) {
  copy(c->out[0], c->in[0], c->m * c->n);
  copy(c->out[1], c->in[1], c->n);
  hlo_ref_geqrf(c->m, c->n, c->out[0], c->out[1], c->out[2]);
}

// (reflectors, tau) -> q
static void orgqr(call_t* c) {
  for (int64_t i = 0; i < hlo_min(c->m, c->n); i++) c->out[0][i * c->n + i] = 1;
  hlo_ref_ormqr(true, false, hlo_min(c->k, c->m), c->n, c->in[0], c->in[1], c->m, c->n, c->out[0]);
}

// (reflectors, tau, c) -> Q c, Q' c, c Q or c Q'
static void ormqr(call_t* c) {
  const bool is_left = hlo_custom_call_flag(c->node, "left");
  copy(c->out[0], c->in[2], c->rows * c->columns);
  if (c->m != (is_left ? c->rows : c->columns)) return;
  hlo_ref_ormqr(is_left, hlo_custom_call_flag(c->node, "transpose"), c->k, c->n, c->in[0], c->in[1],
                c->rows, c->columns, c->out[0]);
}

// (a) -> Hessenberg form and reflectors, tau, info
static void gehrd(call_t* c) {
  copy(c->out[0], c->in[0], c->n * c->n);
  const int64_t low = hlo_custom_call_int(c->node, "low", 1) - 1;
  const int64_t high = hlo_custom_call_int(c->node, "high", c->n);
  if (low >= 0 && high <= c->n) hlo_ref_gehrd(c->n, low, high, c->out[0], c->out[1]);
}

// (a Hermitian) -> reflectors, diagonal, off-diagonal, tau, info
static void sytrd(call_t* c) {
  copy(c->out[0], c->in[0], c->n * c->n);
  hlo_ref_sytrd(is_lower(c), c->n, c->out[0], c->out[1], c->out[2], c->out[3]);
}

// (below, diagonal, above, b) -> the overwritten diagonals, x, info
static void gtsv(call_t* c) {
  for (uint32_t i = 0; i < 4; i++) copy(c->out[i], c->in[i], c->in_each[i]);
  store_info(c, hlo_ref_gtsv(0, c->rows, c->columns, c->out[0], c->out[1], c->out[2], c->out[3]));
}

// (below, diagonal, above, b) -> x; pivots near zero are perturbed
static void gtsv_perturbed(call_t* c) {
  const bool is_single =
      hlo_dtype_info(hlo_node_operand_type(c->node, 3)->dtype)->part == HLO_DTYPE_F32;
  const double epsilon = is_single ? 0x1p-23 : 0x1p-52, least = is_single ? 0x1p-126 : 0x1p-1022;
  double largest = 0;
  for (int64_t i = 0; i < c->rows; i++) {
    double size = cabs(c->in[1][i]);
    if (i + 1 < c->rows) size += cabs(c->in[0][i + 1]) + cabs(c->in[2][i]);
    if (size > largest) largest = size;
  }
  copy(c->out[0], c->in[3], c->rows * c->columns);
  hlo_ref_gtsv(largest > 0 ? largest * epsilon : least / epsilon, c->rows, c->columns, c->in[0],
               c->in[1], c->in[2], c->out[0]);
}

// (a Hermitian) -> eigenvectors (columns), eigenvalues (ascending), info
static void syevd(call_t* c) {
  const bool lower = is_lower(c);
  for (int64_t i = 0; i < c->n; i++) {  // the other triangle is not read
    for (int64_t j = i + 1; j < c->n; j++) c->in[0][lower ? i * c->n + j : j * c->n + i] = 0;
  }
  if (is_finite(c)) {
    hlo_ref_syevd(lower, c->n, c->in[0], c->out[1], c->out[0]);
  } else {
    store_info(c, c->n);
  }
}

// (a) -> an unspecified matrix, singular values (descending), left vectors (columns), right vectors
// (rows, conjugated), info
static void gesdd(call_t* c) {
  const bool has_vectors = hlo_custom_call_char(c->node, "mode", 'A') != 'N';
  const int64_t least = hlo_min(c->m, c->n);
  const int64_t columns = has_vectors && c->m ? c->out_each[2] / c->m : 0;
  const int64_t rows = has_vectors && c->n ? c->out_each[3] / c->n : 0;
  if (!is_finite(c)) {
    store_info(c, least);
    return;
  }
  hlo_ref_gesdd(c->m, c->n, c->in[0], c->out[1], columns, c->out[2], rows, c->out[3], c->spare);
}

// Stores eigenvalue `value` at position i: of real matrices in two results.
static void store_value(call_t* c, uint32_t result, int64_t i, hlo_c128_t value) {
  c->out[result][i] = c->is_real ? creal(value) : value;
  if (c->is_real) c->out[result + 1][i] = cimag(value);
}

// Stores eigenvalue k of the Schur form at position i, with its vectors or their conjugates.
static void store_eigen(call_t* c, int64_t i, int64_t k, bool is_conjugated) {
  const int64_t n = c->n;
  hlo_c128_t *z = c->spare, *vector = z + n * n, *rest = vector + n;
  const hlo_c128_t value = c->in[0][k * n + k];
  store_value(c, 0, i, is_conjugated ? conj(value) : value);
  for (int side = 0; side < 2; side++) {
    if (hlo_custom_call_char(c->node, side ? "compute_right" : "compute_left", 'V') != 'V')
      continue;
    hlo_c128_t* out = c->out[(c->is_real ? 2 : 1) + side];
    hlo_ref_schur_vector(side == 0, n, k, c->in[0], z, vector, rest);
    for (int64_t r = 0; r < n; r++) out[r * n + i] = is_conjugated ? conj(vector[r]) : vector[r];
  }
}

// (a) -> eigenvalues (for real types two results), left and right eigenvectors (columns), info
static void geev(call_t* c) {
  const int64_t n = c->n;
  if (!is_finite(c)) {
    store_info(c, n);
    return;
  }
  double norm = 0;
  for (int64_t i = 0; i < n * n; i++) norm = hypot(norm, cabs(c->in[0][i]));
  store_info(c, hlo_ref_schur(n, c->in[0], c->spare, c->spare + n * n));
  // Of a conjugate pair of a real matrix the one above the axis is first, and stands for both.
  const double axis = 16 * (double)n * 0x1p-52 * norm;
  for (int64_t k = 0, i = 0; k < n && i < n; k++) {
    hlo_c128_t* value = &c->in[0][k * n + k];
    if (c->is_real && cimag(*value) < -axis) continue;
    const bool is_pair = c->is_real && cimag(*value) > axis && i + 1 < n;
    if (c->is_real && !is_pair) *value = creal(*value);
    store_eigen(c, i++, k, false);
    if (is_pair) store_eigen(c, i++, k, true);
  }
}

// (a) -> Schur form, its vectors, eigenvalues (for real types two results), number of selected
// ones, info
static void gees(call_t* c) {
  const int64_t n = c->n;
  if (!is_finite(c)) {
    store_info(c, n);
    return;
  }
  hlo_c128_t *t = c->out[0], *z = c->spare + 4 * n * n;
  copy(t, c->in[0], n * n);
  store_info(c,
             c->is_real ? hlo_ref_schur_real(n, t, z, c->spare) : hlo_ref_schur(n, t, z, c->spare));
  if (hlo_custom_call_char(c->node, "mode", 'V') == 'V') copy(c->out[1], z, n * n);
  for (int64_t i = 0; i < n; i++) {
    const bool is_pair = c->is_real && i + 1 < n && t[(i + 1) * n + i] != 0;
    const hlo_c128_t half =
        is_pair ? csqrt(t[i * n + i + 1] * t[(i + 1) * n + i]) : 0;  // imaginary
    store_value(c, 2, i, t[i * n + i] + half);
    if (is_pair) {
      store_value(c, 2, i + 1, t[i * n + i] - half);
      i++;
    }
  }
}

// ---- the table ----------------------------------------------------------------------------------

// The sizes of operands and results, one letter each:
//   A a matrix of m x n, S a square one, T min(m, n), N n, E n - 1, K k elements, C the last
//   operand U columns of m elements, W rows of n elements: min(m, n) of them, or all I a number
typedef struct {
  void (*run)(call_t* call);
  const char *operands, *results, *complex_results;  // complex_results NULL: the same
} function_t;

static const function_t functions[HLO_CUSTOM_FUNCTION_COUNT] = {
    [HLO_CUSTOM_potrf] = {potrf, "S", "SI", NULL},
    [HLO_CUSTOM_trsm] = {trsm, "SC", "C", NULL},
    [HLO_CUSTOM_getrf] = {getrf, "A", "ATI", NULL},
    [HLO_CUSTOM_geqrf] = {geqrf, "A", "AT", NULL},
    [HLO_CUSTOM_orgqr] = {orgqr, "AK", "A", NULL},
    [HLO_CUSTOM_ormqr] = {ormqr, "AKC", "C", NULL},
    [HLO_CUSTOM_geqp3] = {geqp3, "AN", "ANT", NULL},
    [HLO_CUSTOM_syevd] = {syevd, "S", "SNI", NULL},
    [HLO_CUSTOM_sytrd] = {sytrd, "S", "SNEEI", NULL},
    [HLO_CUSTOM_gesdd] = {gesdd, "A", "ATUWI", NULL},
    [HLO_CUSTOM_gehrd] = {gehrd, "S", "SEI", NULL},
    [HLO_CUSTOM_geev] = {geev, "S", "NNSSI", "NSSI"},
    [HLO_CUSTOM_gees] = {gees, "S", "SSNNII", "SSNII"},
    [HLO_CUSTOM_gtsv] = {gtsv, "NNNC", "NNNCI", NULL},
    [HLO_CUSTOM_gtsv_perturbed] = {gtsv_perturbed, "NNNC", "C", NULL},
};

// Returns the elements per matrix that a letter allows, or -1; `found` is the actual number.
static int64_t size_of(const call_t* c, char letter, int64_t found) {
  const int64_t least = hlo_min(c->m, c->n);
  switch (letter) {
    case 'A': return c->m * c->n;
    case 'S': return c->m == c->n ? c->n * c->n : -1;
    case 'T': return least;
    case 'N': return c->n;
    case 'E': return c->n - 1;
    case 'K': return c->k <= least ? c->k : -1;
    case 'C': return c->rows * c->columns;
    case 'U': return found == c->m * c->m ? found : c->m * least;
    case 'W': return found == c->n * c->n ? found : c->n * least;
    default: return 1;
  }
}

static hlo_status_t misfit(const hlo_node_t* node) {
  return hlo_node_invalid(node, "the types of operands and results of @%s do not match",
                          hlo_custom_call_target(node));
}

static bool is_matrices(const hlo_tensor_t* tensor) {
  return tensor->kind == HLO_TYPE_TENSOR && tensor->rank >= 2 &&
         (tensor->dtype == HLO_DTYPE_F32 || tensor->dtype == HLO_DTYPE_F64 ||
          tensor->dtype == HLO_DTYPE_C64 || tensor->dtype == HLO_DTYPE_C128);
}

// Sets the elements per matrix; returns false for others than the letters allow.
static bool fits(const call_t* c, const char* letters, uint32_t count, hlo_tensor_t* const* tensors,
                 int64_t* out_each) {
  if (count != strlen(letters)) return false;
  for (uint32_t i = 0; i < count; i++) {
    const int64_t total = tensors[i]->element_count;
    const int64_t found = c->count ? total / c->count : 0;
    out_each[i] = size_of(c, letters[i], found);
    if (out_each[i] < 0 || tensors[i]->kind != HLO_TYPE_TENSOR ||
        (c->count && out_each[i] * c->count != total)) {
      return false;
    }
  }
  return true;
}

static bool call_init(call_t* c, const char* letters, hlo_tensor_t* const* operands) {
  const uint32_t count = c->node->operand_count;
  if (count != strlen(letters)) return false;
  const hlo_tensor_t* last = operands[count - 1];
  const hlo_tensor_t* first = letters[0] == 'N' ? last : operands[0];
  if (!is_matrices(first) || last->rank < 1) return false;
  c->m = first->dims[first->rank - 2];
  c->n = letters[0] == 'N' ? c->m : first->dims[first->rank - 1];
  c->rows = last->rank < 2 ? 1 : last->dims[last->rank - 2];
  c->columns = last->dims[last->rank - 1];
  c->is_real = !hlo_dtype_is_complex(first->dtype);
  if (count > 1 && operands[1]->rank) c->k = operands[1]->dims[operands[1]->rank - 1];
  return hlo_dims_element_count(first->rank - 2, first->dims, &c->count) &&
         fits(c, letters, count, operands, c->in_each);
}

static hlo_status_t run_matrices(call_t* c, const function_t* function,
                                 hlo_tensor_t* const* operands, hlo_tensor_t* const* results) {
  const int64_t least = hlo_min(c->m, c->n);
  int64_t total = 5 * (least + 1) * (least + 1);
  for (uint32_t i = 0; i < VALUES_MAX; i++) total += 2 * (c->in_each[i] + c->out_each[i]);
  hlo_tensor_t* memory = NULL;
  HLO_TRY(hlo_tensor_create(HLO_DTYPE_C128, 1, &total, &memory));
  for (int64_t b = 0; b < c->count; b++) {
    memset(memory->data, 0, memory->size_bytes);
    hlo_c128_t* at = memory->data;
    for (uint32_t i = 0; i < c->node->operand_count; at += c->in_each[i++]) {
      const size_t bytes = (size_t)c->in_each[i] * hlo_tensor_element_bytes(operands[i]);
      c->in[i] = at;
      hlo_dtype_convert(operands[i]->dtype, (char*)operands[i]->data + (size_t)b * bytes,
                        HLO_DTYPE_C128, at, (size_t)c->in_each[i]);
    }
    for (uint32_t i = 0; i < c->node->result_count; at += c->out_each[i++]) c->out[i] = at;
    c->spare = at;
    function->run(c);
    for (uint32_t i = 0; i < c->node->result_count; i++) {
      const size_t bytes = (size_t)c->out_each[i] * hlo_tensor_element_bytes(results[i]);
      hlo_dtype_convert(HLO_DTYPE_C128, c->out[i], results[i]->dtype,
                        (char*)results[i]->data + (size_t)b * bytes, (size_t)c->out_each[i]);
    }
  }
  hlo_tensor_release(memory);
  return hlo_ok();
}

hlo_status_t hlo_custom_lapack(HLO_REF_ARGUMENTS) {
  const function_t* function = &functions[hlo_custom_function_of(node)];
  call_t c = {.node = node};
  if (!call_init(&c, function->operands, operands)) return misfit(node);
  const char* letters =
      c.is_real || !function->complex_results ? function->results : function->complex_results;
  if (node->result_count != strlen(letters)) return misfit(node);
  if (function->run == gees && hlo_custom_call_char(c.node, "sort", 'N') != 'N') {
    return hlo_node_unimplemented(node, "@%s cannot sort eigenvalues",
                                  hlo_custom_call_target(node));
  }
  hlo_status_t status = hlo_ok();
  for (uint32_t i = 0; i < node->result_count; i++) results[i] = NULL;
  for (uint32_t i = 0; i < node->result_count && hlo_status_is_ok(status); i++) {
    status = hlo_eval_result(eval, node, i, &results[i]);
  }
  if (hlo_status_is_ok(status) && !fits(&c, letters, node->result_count, results, c.out_each)) {
    status = misfit(node);
  }
  if (hlo_status_is_ok(status)) status = run_matrices(&c, function, operands, results);
  for (uint32_t i = 0; i < node->result_count && !hlo_status_is_ok(status); i++) {
    hlo_tensor_release(results[i]);
    results[i] = NULL;
  }
  return status;
}
