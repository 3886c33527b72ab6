// SPDX-License-Identifier: Apache-2.0
// Attention by every variant that this machine runs, against softmax(mask(q k)) v in double; what
// is skipped, and what is known of blocks.
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/float_bits.h"
#include "base/integer.h"
#include "base/mem.h"
#include "ir/parse.h"
#include "lib/attention_impl.h"
#include "lib/isa.h"

enum { TEXT_BYTES = 8192, LIST_BYTES = 1024, VARIANTS_MAX = 3 };

// A key j of query i counts if i + offset >= j; the score of others is `masked`. is_narrow:
// operands and probabilities are bf16. has_dropout: every third probability is dropped, the others
// are multiplied by 1.5. has_positions: the numbers of rows and keys are constants of 64 bits, as
// those of jax.nn.dot_product_attention's local windows are.
typedef struct {
  int64_t rows, keys, depth, features, offset;
  const char* masked;
  bool is_narrow, has_dropout, has_positions;
} case_t;

static bool is_dropped(const case_t* c, int64_t i, int64_t j) {
  return c->has_dropout && (i * 7 + j) % 3 == 0;
}

// Defines %i, the numbers of rows, or %j, those of keys, from constants.
static void print_positions(const case_t* c, bool is_key, char* out) {
  char list[LIST_BYTES] = "";
  const int64_t count = is_key ? c->keys : c->rows;
  for (int64_t i = 0, at = 0; i < count; ++i) {
    at += snprintf(list + at, sizeof list - (size_t)at, "%s%d", i ? ", " : "", (int)i);
    assert_true(at < LIST_BYTES);
  }
  snprintf(out, 2 * LIST_BYTES,
           "%%%s = stablehlo.constant dense<[%s]> : tensor<%dxi64>\n"
           "%%%s = stablehlo.broadcast_in_dim %%%s, dims = [%d] : (tensor<%dxi64>) -> "
           "tensor<%dx%dxi64>\n",
           is_key ? "y" : "x", list, (int)count, is_key ? "j" : "i", is_key ? "y" : "x", is_key,
           (int)count, (int)c->rows, (int)c->keys);
}

static void print_indices(const case_t* c, bool is_key, char* out) {
  if (c->has_positions) {
    print_positions(c, is_key, out);
  } else {
    snprintf(out, 2 * LIST_BYTES, "%%%s = stablehlo.iota dim = %d : tensor<%dx%dxi32>\n",
             is_key ? "j" : "i", is_key, (int)c->rows, (int)c->keys);
  }
}

static hlo_module_t* parse_case(const case_t* c) {
  char text[TEXT_BYTES];
  char s[32], r[32];
  snprintf(s, sizeof s, "%dx%d", (int)c->rows, (int)c->keys);
  snprintf(r, sizeof r, "%d", (int)c->rows);
  const char *t = c->is_narrow ? "bf16" : "f32", *n = c->has_positions ? "i64" : "i32";
  char rows[2 * LIST_BYTES], keys[2 * LIST_BYTES];
  print_indices(c, false, rows);
  print_indices(c, true, keys);
  const int length = snprintf(
      text, sizeof text,
      "func.func @main(%%q: tensor<%sx%dx%s>, %%k: tensor<%dx%dx%s>, %%v: tensor<%dx%dx%s>, "
      "%%t: tensor<%sxi1>) -> tensor<%sx%dxf32> {\n"
      "%%0 = stablehlo.dot_general %%q, %%k, contracting_dims = [1] x [1] : (tensor<%sx%dx%s>, "
      "tensor<%dx%dx%s>) -> tensor<%sxf32>\n"
      "%%c = stablehlo.constant dense<%d> : tensor<%sx%s>\n%s%s"
      "%%a = stablehlo.add %%i, %%c : tensor<%sx%s>\n"
      "%%m = stablehlo.compare GE, %%a, %%j : (tensor<%sx%s>, tensor<%sx%s>) -> tensor<%sxi1>\n"
      "%%l = stablehlo.constant dense<%s> : tensor<%sxf32>\n"
      "%%1 = stablehlo.select %%m, %%0, %%l : tensor<%sxi1>, tensor<%sxf32>\n"
      "%%n = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
      "%%2 = stablehlo.reduce(%%1 init: %%n) applies stablehlo.maximum across dimensions = [1] : "
      "(tensor<%sxf32>, tensor<f32>) -> tensor<%sxf32>\n"
      "%%3 = stablehlo.broadcast_in_dim %%2, dims = [0] : (tensor<%sxf32>) -> tensor<%sxf32>\n"
      "%%4 = stablehlo.subtract %%1, %%3 : tensor<%sxf32>\n"
      "%%5 = stablehlo.exponential %%4 : tensor<%sxf32>\n"
      "%%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%%6 = stablehlo.reduce(%%5 init: %%z) applies stablehlo.add across dimensions = [1] : "
      "(tensor<%sxf32>, tensor<f32>) -> tensor<%sxf32>\n"
      "%%7 = stablehlo.broadcast_in_dim %%6, dims = [0] : (tensor<%sxf32>) -> tensor<%sxf32>\n"
      "%%8 = stablehlo.divide %%5, %%7 : tensor<%sxf32>\n"
      "%%e = stablehlo.convert %%t : (tensor<%sxi1>) -> tensor<%sxf32>\n"
      "%%f = stablehlo.constant dense<%s> : tensor<%sxf32>\n"
      "%%g = stablehlo.divide %%e, %%f : tensor<%sxf32>\n"
      "%%h = stablehlo.multiply %s, %%g : tensor<%sxf32>\n"
      "%%p = stablehlo.convert %s : (tensor<%sxf32>) -> tensor<%sx%s>\n"
      "%%9 = stablehlo.dot_general %%p, %%v, contracting_dims = [1] x [0] : (tensor<%sx%s>, "
      "tensor<%dx%dx%s>) -> tensor<%sx%dxf32>\nreturn %%9 : tensor<%sx%dxf32>\n}",
      r, (int)c->depth, t, (int)c->keys, (int)c->depth, t, (int)c->keys, (int)c->features, t, s, r,
      (int)c->features, r, (int)c->depth, t, (int)c->keys, (int)c->depth, t, s, (int)c->offset, s,
      n, rows, keys, s, n, s, n, s, n, s, c->masked, s, s, s, s, r, r, s, s, s, s, r, r, s, s, s, s,
      "0.6666667", s, s, c->has_dropout ? "%8" : "%g", s, c->has_dropout ? "%h" : "%8", s, s, t, s,
      t, (int)c->keys, (int)c->features, t, r, (int)c->features, r, (int)c->features);
  assert_true(length > 0 && length < TEXT_BYTES);
  hlo_diag_t diag;
  hlo_diag_init(&diag, "case", text, (size_t)length);
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_parse_module(text, (size_t)length, "case", &diag, &module);
  if (!hlo_status_is_ok(status)) fail_msg("%s\n%s", text, hlo_status_message(status));
  hlo_diag_deinit(&diag);
  return module;
}

static hlo_attention_t match_case(const hlo_module_t* module) {
  const hlo_func_t* func = hlo_module_entry(module);
  hlo_attention_t plan;
  assert_true(hlo_attention_match(hlo_node_operand(hlo_region_terminator(func->body), 0), false,
                                  &plan, NULL));
  return plan;
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

static float* random_numbers(int64_t count, float scale) {
  static uint32_t state = 1;
  float* numbers = hlo_mem_alloc((size_t)count * sizeof(float));
  assert_non_null(numbers);
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    numbers[i] = scale * ((float)(state >> 8) / (float)(1 << 23) - 1);
  }
  return numbers;
}

// One row of the result, in double.
static void compute_row(const case_t* c, int64_t i, const float* q, const float* k, const float* v,
                        double* weights, double* out) {
  double most = -INFINITY, sum = 0;
  for (int64_t j = 0; j < c->keys; ++j) {
    double score = 0;
    for (int64_t d = 0; d < c->depth; ++d) {
      score += (double)q[i * c->depth + d] * k[j * c->depth + d];
    }
    const double masked = strcmp(c->masked, "0xFF800000") == 0 ? -INFINITY : -1e30;
    weights[j] = i + c->offset >= j ? score : masked;
    most = fmax(most, weights[j]);
  }
  for (int64_t j = 0; j < c->keys; ++j) sum += weights[j] = exp(weights[j] - most);
  for (int64_t f = 0; f < c->features; ++f) {
    out[f] = 0;
    for (int64_t j = 0; j < c->keys; ++j) {
      const double factor = is_dropped(c, i, j) ? 0 : c->has_dropout ? 1.5 : 1;
      out[f] += factor * weights[j] / sum * v[j * c->features + f];
    }
  }
}

// Rounds numbers to bf16; returns them as such.
static uint16_t* round_numbers(int64_t count, float* numbers) {
  uint16_t* halves = hlo_mem_alloc((size_t)count * sizeof *halves);
  assert_non_null(halves);
  for (int64_t i = 0; i < count; ++i) {
    halves[i] = hlo_f32_to_bf16(numbers[i]);
    numbers[i] = hlo_bf16_to_f32(halves[i]);
  }
  return halves;
}

static void check_rows(const case_t* c, const float* q, const float* k, const float* v,
                       const float* o) {
  // Weights of bf16: sums of values up to 1 with errors of half a unit of 2^-8 each.
  const double bound = (c->has_dropout ? 1.5 : 1) * (c->is_narrow ? 2.5e-3 : 2e-6);
  double* want = hlo_mem_alloc((size_t)(c->features + c->keys) * sizeof(double));
  assert_non_null(want);
  for (int64_t i = 0; i < c->rows; ++i) {
    compute_row(c, i, q, k, v, want + c->features, want);
    for (int64_t f = 0; f < c->features; ++f) {
      const float have = o[i * c->features + f];
      if (isnan(want[f]) ? !isnan(have) : !(fabs(want[f] - have) <= bound)) {
        fail_msg("row %d feature %d: %g, expected %g", (int)i, (int)f, have, want[f]);
      }
    }
  }
  hlo_mem_free(want);
}

static void check_case(const case_t* c, const hlo_attention_kernel_t* kernel) {
  hlo_module_t* module = parse_case(c);
  const hlo_attention_t plan = match_case(module);
  float *q = random_numbers(c->rows * c->depth, 3), *k = random_numbers(c->keys * c->depth, 3);
  float *v = random_numbers(c->keys * c->features, 1),
        *o = random_numbers(c->rows * c->features, 1);
  uint16_t* halves[3] = {NULL};
  if (c->is_narrow) {
    halves[0] = round_numbers(c->rows * c->depth, q);
    halves[1] = round_numbers(c->keys * c->depth, k);
    halves[2] = round_numbers(c->keys * c->features, v);
  }
  float* scratch = hlo_mem_alloc_aligned(kernel->scratch_bytes(&plan), 64);
  assert_non_null(scratch);
  char* truths = hlo_mem_alloc((size_t)(c->rows * c->keys));
  assert_non_null(truths);
  for (int64_t i = 0; i < c->rows * c->keys; ++i) {
    truths[i] = (char)!is_dropped(c, i / c->keys, i % c->keys);
  }
  assert_int_equal(plan.has_factor, c->has_dropout);
  assert_int_equal(plan.array_count, c->has_dropout);
  const hlo_attention_job_t job = {.plan = &plan,
                                   .query = c->is_narrow ? (const char*)halves[0] : (const char*)q,
                                   .key = c->is_narrow ? (const char*)halves[1] : (const char*)k,
                                   .value = c->is_narrow ? (const char*)halves[2] : (const char*)v,
                                   .arrays = {truths},
                                   .result = (char*)o,
                                   .has_pairs = hlo_isa_has_pairs()};
  const int64_t chunks = hlo_divide_up(c->rows, kernel->block_queries);
  for (int64_t i = 0; i < chunks; ++i) kernel->run(&job, (uint64_t)i, scratch);
  check_rows(c, q, k, v, o);
  for (int i = 0; i < 3; ++i) hlo_mem_free(halves[i]);
  hlo_mem_free(q);
  hlo_mem_free(k);
  hlo_mem_free(v);
  hlo_mem_free(o);
  hlo_mem_free(scratch);
  hlo_mem_free(truths);
  hlo_module_release(module);
}

static void test_variants(void** state) {
  (void)state;
  static const case_t cases[] = {
      {70, 70, 5, 7, 1000, "-1.0e+30", false, false, false},  // nothing is masked
      {201, 201, 8, 8, 0, "-1.0e+30", false, false, false},   // blocks of later keys are skipped
      {201, 150, 3, 1, -20, "0xFF800000", false, false,
       false},  // the first queries have no key: NaN
      {201, 150, 3, 2, -150, "-1.0e+30", false, false, false},  // nor here: the mean of all values
      {2, 65, 70, 65, -1, "-1.0e+30", false, false, false},
      {201, 201, 8, 8, 0, "-1.0e+30", true, false, false},
      {201, 150, 3, 1, -20, "0xFF800000", true, false, false},
      {49, 131, 70, 65, 200, "-1.0e+30", true, false, false},
      {201, 150, 3, 2, -150, "-1.0e+30", false, true, false},  // dropout, rows without keys
      {49, 131, 9, 65, 20, "-1.0e+30", false, true, false},
      {201, 201, 8, 8, 0, "-1.0e+30", true, true, false},
      {201, 150, 3, 2, -100, "-1.0e+30", false, false, false},  // half of the rows have no keys
      {201, 151, 3, 2, -100, "-1.0e+30", true, false, false},
      {70, 130, 8, 8, 20, "-1.0e+30", false, false, true},
      {70, 130, 8, 8, -64, "-1.0e+30", true, true, true},
  };
  const hlo_attention_kernel_t* variants[VARIANTS_MAX];
  const uint32_t count = find_variants(variants);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    for (uint32_t k = 0; k < count; ++k) check_case(&cases[i], variants[k]);
  }
}

static void test_ranges(void** state) {
  (void)state;
  const case_t c = {128, 128, 4, 4, 0, "-1.0e+30", false, false, false};
  hlo_module_t* module = parse_case(&c);
  const hlo_attention_t plan = match_case(module);
  hlo_attention_range_t ranges[HLO_ATTENTION_MAX_STEPS];
  const hlo_attention_range_t* last = &ranges[plan.score];
  hlo_attention_block_t block = {.row = 0, .row_count = 64, .key = 64, .key_count = 64};
  hlo_attention_find_ranges(&plan, &block, ranges);
  assert_true(last->is_known && last->low == last->high && last->low < -9e29);
  block.key = 0;
  hlo_attention_find_ranges(&plan, &block, ranges);
  assert_false(last->is_known);
  hlo_module_release(module);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_variants),
      cmocka_unit_test(test_ranges),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
