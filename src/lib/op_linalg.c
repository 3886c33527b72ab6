// SPDX-License-Identifier: Apache-2.0
// cholesky and triangular_solve: batches of matrices, computed in their own type (lapack/lapack.h);
// narrow floats are converted to double and rounded once.
#include <math.h>
#include <string.h>

#include "lib/batches.h"
#include "lib/call_impl.h"
#include "lib/lapack/lapack.h"

// The types and buffers of a batch.
typedef struct {
  hlo_dtype_t dtype, wide;
  const hlo_parallel_t* parallel;  // used inside a matrix, if there is only one
  int64_t count, elements;         // elements: of one matrix of each operand
  size_t wide_bytes, lapack_bytes;
} batch_t;

// Returns false if sizes overflow.
static bool batch_init(batch_t* batch, hlo_dtype_t dtype, int64_t count, int64_t elements,
                       int64_t m, int64_t n) {
  *batch = (batch_t){.dtype = dtype, .wide = HLO_DTYPE_F64, .count = count, .elements = elements};
  if (hlo_lapack_supports(dtype)) batch->wide = dtype;
  size_t total = 0;
  const bool fits =
      hlo_size_mul((size_t)elements, hlo_dtype_size_bytes(batch->wide), &batch->wide_bytes) &&
      hlo_size_add(batch->wide_bytes, 63, &batch->wide_bytes) &&
      hlo_lapack_scratch_bytes(batch->wide, m, n, &batch->lapack_bytes);
  batch->wide_bytes &= ~(size_t)63;
  return fits && hlo_size_add(batch->wide_bytes, batch->lapack_bytes, &total);
}

static hlo_status_t batch_run(batch_t* batch, const hlo_parallel_t* parallel, const void* arg,
                              void (*run)(const void* arg, int64_t index, void* scratch)) {
  if (batch->count == 1) batch->parallel = parallel;
  const hlo_batches_t batches = {.count = batch->count,
                                 .elements = batch->elements,
                                 .scratch_bytes = batch->wide_bytes + batch->lapack_bytes,
                                 .run = run,
                                 .arg = arg};
  return hlo_batches_run(parallel, &batches);
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
  if (hlo_lapack_of(wide)->potrf(c->is_lower, n, scratch, n, &work)) {
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

static hlo_status_t cholesky_run(const hlo_lib_run_t* run) {
  cholesky_t cholesky = *(const cholesky_t*)run->plan;
  cholesky.a = run->operands[0].data;
  cholesky.factor = run->results[0].data;
  return batch_run(&cholesky.batch, run->parallel, &cholesky, factor_one);
}

hlo_status_t hlo_lib_prepare_cholesky(hlo_lib_call_t* call, hlo_arena_t* arena) {
  const hlo_lib_array_t* a = &call->operands[0];
  cholesky_t* cholesky = hlo_arena_array(arena, 1, sizeof *cholesky);
  HLO_TRY(hlo_arena_status(arena));
  if (a->rank < 2 || a->dims[a->rank - 1] != a->dims[a->rank - 2] || !a->element_count) {
    return hlo_ok();
  }
  const int64_t n = a->dims[a->rank - 1];
  cholesky->is_lower = hlo_node_attr_bool(call->node, HLO_ATTR_lower, false);
  cholesky->n = n;
  if (!batch_init(&cholesky->batch, a->dtype, a->element_count / (n * n), n * n, n, n)) {
    return hlo_ok();
  }
  call->plan = cholesky;
  call->run = cholesky_run;
  return hlo_ok();
}

// A triangular solve of one matrix pair.
typedef struct {
  batch_t batch;
  hlo_triangle_t triangle;
  int64_t m, n, order;
  const char *a, *b;
  char* x;
} solve_t;

static bool solve_init(solve_t* s, const hlo_node_t* node, const hlo_lib_array_t* a,
                       const hlo_lib_array_t* b) {
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
  int64_t elements;
  return fits && b->element_count > 0 &&
         !__builtin_add_overflow(s->order * s->order, s->m * s->n, &elements) &&
         batch_init(&s->batch, a->dtype, b->element_count / (s->m * s->n), elements, s->order,
                    s->triangle.is_left ? s->n : s->m);
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
  hlo_lapack_of(wide)->trsm(&triangle, s->m, s->n, b, s->n, &work);
  hlo_dtype_convert(wide, b, dtype, s->x + at * b_count, b_count);
}

static hlo_status_t solve_run(const hlo_lib_run_t* run) {
  solve_t solve = *(const solve_t*)run->plan;
  solve.a = run->operands[0].data;
  solve.b = run->operands[1].data;
  solve.x = run->results[0].data;
  return batch_run(&solve.batch, run->parallel, &solve, solve_one);
}

hlo_status_t hlo_lib_prepare_triangular_solve(hlo_lib_call_t* call, hlo_arena_t* arena) {
  solve_t* solve = hlo_arena_array(arena, 1, sizeof *solve);
  HLO_TRY(hlo_arena_status(arena));
  if (!solve_init(solve, call->node, &call->operands[0], &call->operands[1])) return hlo_ok();
  call->plan = solve;
  call->run = solve_run;
  return hlo_ok();
}
