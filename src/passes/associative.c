// SPDX-License-Identifier: Apache-2.0
// Tests reducers for associativity on samples (see associative.h): builds both groupings from
// constants, folds them with the reference functions, compares the results and erases them.
#include "passes/associative.h"

#include <math.h>
#include <string.h>

#include "base/tuning.h"
#include "passes/build.h"
#include "passes/constants.h"
#include "passes/fold.h"
#include "passes/splice.h"

enum { GROUPS = 3 };

/// One argument or result of the body: a tensor of samples per value.
typedef struct sample {
  hlo_value_t* values[HLO_LIFT_MAX_VALUES];
} sample_t;

typedef struct trial {
  hlo_node_t* insertion_point;
  const hlo_region_t* body;
  uint32_t count;
  uint32_t seed;
} trial_t;

static uint32_t count_parts(hlo_dtype_t dtype) {
  return hlo_dtype_is_complex(dtype) ? 2 : 1;
}

// Returns halves of small numbers of both signs; integers for integer types.
static double next_number(trial_t* t, hlo_dtype_t dtype) {
  t->seed = t->seed * 1103515245 + 12345;
  const int32_t number = (int32_t)(t->seed >> 16 & 0x7fff) % 19 - 9;
  if (hlo_dtype_is_float(dtype)) return 0.5 * number;
  return dtype == HLO_DTYPE_PRED ? number & 1 : hlo_dtype_is_unsigned(dtype) ? number + 9 : number;
}

static hlo_value_t* make_value(trial_t* t, hlo_dtype_t dtype) {
  const int64_t dims[] = {HLO_TUNING_ASSOCIATIVE_SAMPLES};
  hlo_module_t* module = t->insertion_point->parent->module;
  const hlo_type_t* type = hlo_type_tensor(module, dtype, 1, dims);
  hlo_literal_t* literal = type ? hlo_build_literal(module, type, false) : NULL;
  if (!literal) return NULL;
  const uint32_t parts = count_parts(dtype);
  const hlo_dtype_t part = hlo_dtype_info(dtype)->part;
  const size_t bytes = hlo_dtype_size_bytes(part);
  uint8_t* at = hlo_literal_mutable_data(literal);
  for (uint32_t i = 0; i < HLO_TUNING_ASSOCIATIVE_SAMPLES * parts; ++i, at += bytes) {
    hlo_dtype_store_double(part, at, next_number(t, part));
  }
  return hlo_build_constant(t->insertion_point, type, literal);
}

static sample_t make_sample(trial_t* t) {
  sample_t sample = {{NULL}};
  for (uint32_t i = 0; i < t->count; ++i) {
    sample.values[i] = make_value(t, t->body->args[i]->type->dtype);
  }
  return sample;
}

static sample_t apply_body(const trial_t* t, sample_t x, sample_t y) {
  sample_t result;
  hlo_lift_pair(t->insertion_point, t->body, t->count, x.values, y.values, result.values);
  return result;
}

// Returns the difference that rounding may cause between two groupings of the same operation.
static double tolerance_of(hlo_dtype_t part) {
  return !hlo_dtype_is_float(part) ? 0 : hlo_dtype_size_bytes(part) < 4 ? 0.05 : 1e-4;
}

static bool is_same(const hlo_literal_t* x, const hlo_literal_t* y) {
  const uint32_t parts = count_parts(x->dtype);
  const hlo_dtype_t part = hlo_dtype_info(x->dtype)->part;
  const size_t bytes = hlo_dtype_size_bytes(part);
  for (uint32_t i = 0; i < HLO_TUNING_ASSOCIATIVE_SAMPLES; ++i) {
    const uint8_t *a = hlo_literal_element(x, i), *b = hlo_literal_element(y, i);
    for (uint32_t k = 0; k < parts; ++k) {
      const double p = hlo_dtype_load_double(part, a + k * bytes);
      const double q = hlo_dtype_load_double(part, b + k * bytes);
      const double most = tolerance_of(part) * (1 + fabs(p) + fabs(q));
      if (!isfinite(p) || !(fabs(p - q) <= most)) return false;
    }
  }
  return true;
}

static hlo_status_t fold_after(hlo_pass_ctx_t* ctx, const hlo_node_t* before,
                               hlo_node_t* insertion_point) {
  const uint32_t steps = ctx->step_count;
  hlo_node_t* next;
  for (hlo_node_t* node = before ? before->next : insertion_point->parent->first;
       node != insertion_point; node = next) {
    bool is_folded;
    next = node->next;
    HLO_TRY(hlo_fold_node(ctx, node, &is_folded));
  }
  ctx->step_count = steps;
  return hlo_ok();
}

// Makes a tuple of values and folds what was inserted since `before`.
static hlo_status_t fold_all(hlo_pass_ctx_t* ctx, const hlo_node_t* before,
                             hlo_node_t* insertion_point, uint32_t count,
                             hlo_value_t* const* values, const hlo_node_t** out_tuple) {
  hlo_module_t* module = insertion_point->parent->module;
  const hlo_type_t* types[2 * HLO_LIFT_MAX_VALUES];
  for (uint32_t i = 0; i < count; ++i) types[i] = values[i]->type;
  const hlo_value_t* tuple = hlo_build_node(
      insertion_point, HLO_OP_tuple, hlo_type_tuple(module, count, types), count, values, 0, NULL);
  HLO_TRY(hlo_module_status(module));
  HLO_TRY(fold_after(ctx, before, insertion_point));
  *out_tuple = tuple->def;
  return hlo_ok();
}

// `pair` is a tuple of both results, whose operands folding has replaced with constants.
static bool are_same(const trial_t* t, const hlo_node_t* pair) {
  for (uint32_t i = 0; i < t->count; ++i) {
    const hlo_literal_t* x = hlo_constant_literal(hlo_node_operand(pair, i));
    const hlo_literal_t* y = hlo_constant_literal(hlo_node_operand(pair, t->count + i));
    if (!x || !y || !is_same(x, y)) return false;
  }
  return true;
}

static void erase_after(const hlo_node_t* before, hlo_node_t* insertion_point) {
  while (insertion_point->prev != before) hlo_node_erase(insertion_point->prev);
}

hlo_status_t hlo_find_associative(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point,
                                  const hlo_region_t* body, uint32_t count,
                                  bool* out_is_associative) {
  trial_t t = {.insertion_point = insertion_point, .body = body, .count = count, .seed = 1};
  hlo_module_t* module = insertion_point->parent->module;
  hlo_node_t* const before = insertion_point->prev;
  sample_t samples[GROUPS];
  for (uint32_t i = 0; i < GROUPS; ++i) samples[i] = make_sample(&t);
  const sample_t left = apply_body(&t, apply_body(&t, samples[0], samples[1]), samples[2]);
  const sample_t right = apply_body(&t, samples[0], apply_body(&t, samples[1], samples[2]));
  hlo_value_t* all[2 * HLO_LIFT_MAX_VALUES];
  const hlo_node_t* pair = NULL;
  HLO_TRY(hlo_module_status(module));
  for (uint32_t i = 0; i < 2 * count; ++i) {
    all[i] = i < count ? left.values[i] : right.values[i - count];
  }
  HLO_TRY(fold_all(ctx, before, insertion_point, 2 * count, all, &pair));
  *out_is_associative = are_same(&t, pair);
  erase_after(before, insertion_point);
  return hlo_module_status(module);
}

hlo_status_t hlo_find_fixed(hlo_pass_ctx_t* ctx, hlo_node_t* insertion_point,
                            const hlo_region_t* body, uint32_t count, hlo_value_t* const* values,
                            bool* out_is_fixed) {
  const trial_t t = {.insertion_point = insertion_point, .body = body, .count = count};
  hlo_node_t* const before = insertion_point->prev;
  const hlo_node_t* results = NULL;
  sample_t x = {{NULL}};
  *out_is_fixed = false;
  for (uint32_t i = 0; i < count; ++i) {
    if (!values[i] || !hlo_constant_literal(values[i])) return hlo_ok();
    x.values[i] = values[i];
  }
  x = apply_body(&t, x, x);
  HLO_TRY(hlo_module_status(insertion_point->parent->module));
  HLO_TRY(fold_all(ctx, before, insertion_point, count, x.values, &results));
  bool is_fixed = true;
  for (uint32_t i = 0; i < count; ++i) {
    const hlo_literal_t* found = hlo_constant_literal(hlo_node_operand(results, i));
    const hlo_literal_t* given = hlo_constant_literal(values[i]);
    is_fixed &= found && memcmp(hlo_literal_element(found, 0), hlo_literal_element(given, 0),
                                hlo_dtype_size_bytes(given->dtype)) == 0;
  }
  *out_is_fixed = is_fixed;
  erase_after(before, insertion_point);
  return hlo_module_status(insertion_point->parent->module);
}
