// SPDX-License-Identifier: Apache-2.0
// Gradients of attention by every variant that this machine runs, against sums in double.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

#include "base/float_bits.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "ir/parse.h"
#include "lib/attention_impl.h"
#include "lib/isa.h"

enum { VARIANTS_MAX = 3, RESULTS = HLO_ATTENTION_GRADIENTS, ARRAYS = 7 };

// A key j of query i counts if i + offset >= j. is_narrow: operands, w and g are bf16.
typedef struct {
  int64_t rows, keys, depth, features, offset, splits;
  bool is_narrow;
} case_t;

// R, K, D, F, O and T stand for rows, keys, depth, features, offset and the operands' type.
static const char kText[] =
    "func.func @main(%q: tensor<RxDxT>, %k: tensor<KxDxT>, %v: tensor<KxFxT>, %o: tensor<RxFxT>,\n"
    "  %m: tensor<Rxf32>, %l: tensor<Rxf32>, %t: tensor<Rxf32>)\n"
    "  -> (tensor<RxDxf32>, tensor<KxDxf32>, tensor<KxFxf32>) {\n"
    "%0 = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1]\n"
    "  : (tensor<RxDxT>, tensor<KxDxT>) -> tensor<RxKxf32>\n"
    "%c = stablehlo.constant dense<O> : tensor<RxKxi32>\n"
    "%i = stablehlo.iota dim = 0 : tensor<RxKxi32>\n"
    "%j = stablehlo.iota dim = 1 : tensor<RxKxi32>\n"
    "%a = stablehlo.add %i, %c : tensor<RxKxi32>\n"
    "%n = stablehlo.compare GE, %a, %j\n"
    "  : (tensor<RxKxi32>, tensor<RxKxi32>) -> tensor<RxKxi1>\n"
    "%e = stablehlo.constant dense<-1.0e+30> : tensor<RxKxf32>\n"
    "%1 = stablehlo.select %n, %0, %e : tensor<RxKxi1>, tensor<RxKxf32>\n"
    "%2 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<Rxf32>) -> tensor<RxKxf32>\n"
    "%3 = stablehlo.subtract %1, %2 : tensor<RxKxf32>\n"
    "%4 = stablehlo.exponential %3 : tensor<RxKxf32>\n"
    "%5 = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<Rxf32>) -> tensor<RxKxf32>\n"
    "%6 = stablehlo.divide %4, %5 : tensor<RxKxf32>\n"
    "%7 = stablehlo.dot_general %o, %v, contracting_dims = [1] x [1]\n"
    "  : (tensor<RxFxT>, tensor<KxFxT>) -> tensor<RxKxf32>\n"
    "%8 = stablehlo.broadcast_in_dim %t, dims = [0] : (tensor<Rxf32>) -> tensor<RxKxf32>\n"
    "%9 = stablehlo.subtract %7, %8 : tensor<RxKxf32>\n"
    "%10 = stablehlo.multiply %9, %6 : tensor<RxKxf32>\n"
    "%z = stablehlo.constant dense<0.0> : tensor<RxKxf32>\n"
    "%11 = stablehlo.select %n, %10, %z : tensor<RxKxi1>, tensor<RxKxf32>\n"
    "%w = stablehlo.convert %6 : (tensor<RxKxf32>) -> tensor<RxKxT>\n"
    "%g = stablehlo.convert %11 : (tensor<RxKxf32>) -> tensor<RxKxT>\n"
    "%12 = stablehlo.dot_general %g, %k, contracting_dims = [1] x [0]\n"
    "  : (tensor<RxKxT>, tensor<KxDxT>) -> tensor<RxDxf32>\n"
    "%13 = stablehlo.dot_general %g, %q, contracting_dims = [0] x [0]\n"
    "  : (tensor<RxKxT>, tensor<RxDxT>) -> tensor<KxDxf32>\n"
    "%14 = stablehlo.dot_general %w, %o, contracting_dims = [0] x [0]\n"
    "  : (tensor<RxKxT>, tensor<RxFxT>) -> tensor<KxFxf32>\n"
    "return %12, %13, %14 : tensor<RxDxf32>, tensor<KxDxf32>, tensor<KxFxf32>\n}";

static hlo_module_t* parse_case(const case_t* c) {
  HLO_SCOPED_STRBUF text = {0};
  for (const char* p = kText; *p; ++p) {
    switch (*p) {
      case 'R': hlo_strbuf_printf(&text, "%d", (int)c->rows); break;
      case 'K': hlo_strbuf_printf(&text, "%d", (int)c->keys); break;
      case 'D': hlo_strbuf_printf(&text, "%d", (int)c->depth); break;
      case 'F': hlo_strbuf_printf(&text, "%d", (int)c->features); break;
      case 'O': hlo_strbuf_printf(&text, "%d", (int)c->offset); break;
      case 'T': hlo_strbuf_printf(&text, "%s", c->is_narrow ? "bf16" : "f32"); break;
      default: hlo_strbuf_putc(&text, *p);
    }
  }
  hlo_diag_t diag;
  hlo_diag_init(&diag, "case", text.data, text.length);
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text.data, text.length, "case", &diag, &module);
  if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", text.data, hlo_status_message(status));
  hlo_diag_deinit(&diag);
  return module;
}

static uint32_t find_variants(const hlo_attention_kernel_t** variants) {
  uint32_t count = 0;
  variants[count++] = &hlo_attention_kernel_generic;
#if defined(__x86_64__)
  if (hlo_isa() >= HLO_ISA_AVX2) variants[count++] = &hlo_attention_kernel_avx2;
  if (hlo_isa() >= HLO_ISA_AVX512) variants[count++] = &hlo_attention_kernel_avx512;
#endif
  return count;
}

/// The arguments: query, key, value, cotangent, maximum, sum, total; the same as bf16.
typedef struct {
  int64_t counts[ARRAYS];
  float* numbers[ARRAYS];
  uint16_t* halves[4];
  double* want[RESULTS];
} data_t;

static void make_numbers(const case_t* c, data_t* data) {
  uint32_t state = 1;
  const int64_t counts[] = {c->rows * c->depth,
                            c->keys * c->depth,
                            c->keys * c->features,
                            c->rows * c->features,
                            c->rows,
                            c->rows,
                            c->rows};
  memcpy(data->counts, counts, sizeof counts);
  for (int a = 0; a < ARRAYS; ++a) {
    data->numbers[a] = hlo_mem_alloc((size_t)counts[a] * sizeof(float));
    assert_non_null(data->numbers[a]);
    if (a < 4) data->halves[a] = hlo_mem_alloc((size_t)counts[a] * sizeof(uint16_t));
    for (int64_t i = 0; a < 4 && i < counts[a]; ++i) {
      state = state * 1664525u + 1013904223u;
      float x = (float)(state >> 8) / (float)(1 << 23) - 1;
      data->halves[a][i] = hlo_f32_to_bf16(x);
      data->numbers[a][i] = c->is_narrow ? hlo_bf16_to_f32(data->halves[a][i]) : x;
    }
  }
}

static double dot(const float* a, const float* b, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += (double)a[i] * b[i];
  return sum;
}

// Adds what one query contributes; fills in its maximum, sum and total. rows: of keys, 2.
static void compute_row(const case_t* c, data_t* data, int64_t i, double* p, double* dp) {
  const float *q = data->numbers[0] + i * c->depth, *k = data->numbers[1];
  const float *v = data->numbers[2], *o = data->numbers[3] + i * c->features;
  double most = -INFINITY, sum = 0, total = 0;
  for (int64_t j = 0; j < c->keys; ++j) {
    p[j] = i + c->offset >= j ? dot(q, k + j * c->depth, c->depth) : -1e30;
    dp[j] = dot(o, v + j * c->features, c->features);
    most = fmax(most, p[j]);
  }
  for (int64_t j = 0; j < c->keys; ++j) sum += p[j] = exp(p[j] - most);
  for (int64_t j = 0; j < c->keys; ++j) total += (p[j] /= sum) * dp[j];
  for (int64_t j = 0; j < c->keys; ++j) {
    const double g = p[j] * (dp[j] - total);
    for (int64_t d = 0; d < c->depth; ++d) {
      data->want[0][i * c->depth + d] += g * k[j * c->depth + d];
      data->want[1][j * c->depth + d] += g * q[d];
    }
    for (int64_t f = 0; f < c->features; ++f) data->want[2][j * c->features + f] += p[j] * o[f];
  }
  data->numbers[4][i] = (float)most;
  data->numbers[5][i] = (float)sum;
  data->numbers[6][i] = (float)total;
}

static void compute(const case_t* c, data_t* data) {
  for (int r = 0; r < RESULTS; ++r) {
    data->want[r] = hlo_mem_alloc_zeroed((size_t)data->counts[r] * sizeof(double));
    assert_non_null(data->want[r]);
  }
  double* scores = hlo_mem_alloc((size_t)(2 * c->keys) * sizeof(double));
  assert_non_null(scores);
  for (int64_t i = 0; i < c->rows; ++i) compute_row(c, data, i, scores, scores + c->keys);
  hlo_mem_free(scores);
}

static void run_kernel(const case_t* c, const hlo_attention_gradient_t* plan, const data_t* data,
                       const hlo_attention_kernel_t* kernel, float** results) {
  const hlo_attention_gradient_size_t size = kernel->gradient_size(plan);
  hlo_attention_gradient_job_t job = {.plan = plan, .splits = c->splits};
  const char* operands[4];
  for (int i = 0; i < 4; ++i) {
    operands[i] = c->is_narrow ? (const char*)data->halves[i] : (const char*)data->numbers[i];
  }
  job.scores.plan = &plan->scores;
  job.scores.query = operands[0];
  job.scores.key = operands[1];
  job.scores.value = operands[2];
  job.cotangent = operands[3];
  job.scores.has_pairs = hlo_isa_has_pairs();
  for (uint32_t i = 0; i < plan->scores.array_count; ++i) {
    job.scores.arrays[i] = (const char*)data->numbers[plan->scores.arrays[i].value->number];
  }
  job.query = (char*)results[0];
  job.key = (char*)results[1];
  job.value = (char*)results[2];
  float* scratch = hlo_mem_alloc_aligned(kernel->gradient_scratch_bytes(plan), 64);
  job.partial =
      hlo_mem_alloc_aligned((size_t)(size.partial_floats * job.splits) * sizeof(float), 64);
  assert_true(scratch && job.partial && size.matrices == 1);
  for (int64_t i = 0; i < job.splits; ++i) kernel->run_gradient(&job, (uint64_t)i, scratch);
  if (job.splits > 1) kernel->reduce_gradient(&job, 0);
  hlo_mem_free(scratch);
  hlo_mem_free(job.partial);
}

static void check_case(const case_t* c, const hlo_attention_kernel_t* kernel) {
  hlo_module_t* module = parse_case(c);
  const hlo_node_t* end = hlo_region_terminator(hlo_module_entry(module)->body);
  const hlo_value_t* roots[RESULTS];
  for (uint32_t i = 0; i < RESULTS; ++i) roots[i] = hlo_node_operand(end, i);
  hlo_attention_gradient_t plan;
  assert_true(hlo_attention_match_gradient(roots, &plan, NULL));
  data_t data;
  float* results[RESULTS];
  make_numbers(c, &data);
  compute(c, &data);
  for (int r = 0; r < RESULTS; ++r) {
    results[r] = hlo_mem_alloc((size_t)data.counts[r] * sizeof(float));
    assert_non_null(results[r]);
  }
  run_kernel(c, &plan, &data, kernel, results);
  for (int r = 0; r < RESULTS; ++r) {
    double most = 0;
    for (int64_t i = 0; i < data.counts[r]; ++i) most = fmax(most, fabs(data.want[r][i]));
    const double bound = most * (c->is_narrow ? 8e-3 : 4e-6);
    for (int64_t i = 0; i < data.counts[r]; ++i) {
      if (!(fabs(results[r][i] - data.want[r][i]) <= bound)) {
        fail_msg("result %d element %d: %g, expected %g", r, (int)i, results[r][i],
                 data.want[r][i]);
      }
    }
    hlo_mem_free(results[r]);
    hlo_mem_free(data.want[r]);
  }
  for (int a = 0; a < ARRAYS; ++a) hlo_mem_free(data.numbers[a]);
  for (int a = 0; a < 4; ++a) hlo_mem_free(data.halves[a]);
  hlo_module_release(module);
}

static void test_variants(void** state) {
  (void)state;
  static const case_t cases[] = {
      {70, 70, 5, 7, 1000, 1, false},  // nothing is masked
      {401, 201, 8, 66, 0, 2, false},  // blocks of later keys are skipped
      {2, 65, 70, 1, 3, 1, false},    {401, 201, 8, 66, 0, 2, true}, {49, 131, 17, 9, 200, 1, true},
  };
  const hlo_attention_kernel_t* variants[VARIANTS_MAX];
  const uint32_t count = find_variants(variants);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (uint32_t k = 0; k < count; ++k) check_case(&cases[i], variants[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
