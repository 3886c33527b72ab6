// SPDX-License-Identifier: Apache-2.0
// Batch normalisation as reductions and ops of f64 (see expand.h).
#include "passes/build.h"
#include "passes/complex_math.h"
#include "passes/constants.h"
#include "passes/expand_impl.h"

typedef hlo_complex_math_t math_t;
typedef hlo_value_t value_t;

typedef struct norm {
  math_t m;  // with the type of the operand
  hlo_node_t* node;
  int64_t axis;
  double count, epsilon;  // count: elements of a feature
} norm_t;

static bool read_norm(hlo_node_t* node, norm_t* n) {
  const hlo_type_t* type = hlo_node_operand_type(node, 0);
  const hlo_attr_t* epsilon = hlo_node_attr(node, HLO_ATTR_epsilon);
  *n = (norm_t){.node = node, .axis = hlo_node_attr_int(node, HLO_ATTR_feature_index, 0)};
  bool fits = epsilon && n->axis >= 0 && n->axis < (int64_t)type->rank && hlo_type_is_plain(type) &&
              hlo_type_element_count(type) > 0;
  for (uint32_t i = 1; i < node->operand_count && fits; ++i) {
    const hlo_type_t* operand = hlo_node_operand_type(node, i);
    fits = hlo_type_is_plain(operand) &&
           (operand->rank == type->rank && i == 4
                ? hlo_type_element_count(operand) == hlo_type_element_count(type)
                : operand->rank == 1 && operand->dims[0] == type->dims[n->axis]);
  }
  if (!fits) return false;
  n->epsilon = epsilon->f;
  n->count = (double)(hlo_type_element_count(type) / type->dims[n->axis]);
  n->m = (math_t){.insertion_point = node,
                  .type = hlo_type_with_dtype(node->parent->module, type, HLO_DTYPE_F64)};
  return n->m.type != NULL;
}

static value_t* operand(const norm_t* n, uint32_t i) {
  return hlo_build_convert(n->node, HLO_DTYPE_F64, hlo_node_operand(n->node, i));
}

// Returns a feature's number for all its elements.
static value_t* spread(const norm_t* n, value_t* vector) {
  return hlo_build_broadcast(n->node, n->m.type, vector, &n->axis);
}

// Returns the sum of each feature.
static value_t* sum_of(const norm_t* n, value_t* x) {
  int64_t dims[HLO_RANK_MAX];
  uint32_t count = 0;
  for (int64_t d = 0; d < (int64_t)n->m.type->rank; ++d) {
    if (d != n->axis) dims[count++] = d;
  }
  return count ? hlo_build_reduce(n->node, HLO_OP_add, x, 0, count, dims) : x;
}

// The helpers of complex_math.h for vectors of features.
static math_t of_vectors(const norm_t* n, value_t* vector) {
  return (math_t){.insertion_point = n->node, .type = vector ? vector->type : n->m.type};
}

static value_t* divide_by(const norm_t* n, value_t* vector, double count) {
  const math_t v = of_vectors(n, vector);
  return hlo_rdiv(&v, vector, hlo_rconst(&v, count));
}

static value_t* shift(const norm_t* n, value_t* variance) {
  const math_t v = of_vectors(n, variance);
  return hlo_radd_k(&v, variance, n->epsilon);
}

static value_t* normalise(const norm_t* n, value_t* x, value_t* mean, value_t* variance) {
  value_t* deviation = hlo_rcall(&n->m, HLO_OP_sqrt, shift(n, variance));
  value_t* centred = hlo_rsub(&n->m, x, spread(n, mean));
  value_t* scaled =
      hlo_rdiv(&n->m, hlo_rmul(&n->m, centred, spread(n, operand(n, 1))), spread(n, deviation));
  return hlo_radd(&n->m, scaled, spread(n, operand(n, 2)));
}

static void make_training(const norm_t* n, value_t** results) {
  value_t* x = operand(n, 0);
  value_t* mean = divide_by(n, sum_of(n, x), n->count);
  value_t* centred = hlo_rsub(&n->m, x, spread(n, mean));
  value_t* variance = divide_by(n, sum_of(n, hlo_rmul(&n->m, centred, centred)), n->count);
  results[0] = normalise(n, x, mean, variance);
  results[1] = mean;
  results[2] = variance;
}

static void make_gradient(const norm_t* n, value_t** results) {
  value_t *scale = operand(n, 1), *mean = operand(n, 2), *gradient = operand(n, 4);
  value_t* shifted = shift(n, operand(n, 3));
  const math_t v = of_vectors(n, shifted);
  value_t* deviation = hlo_rcall(&v, HLO_OP_sqrt, shifted);
  value_t* centred = hlo_rsub(&n->m, operand(n, 0), spread(n, mean));
  value_t *sum = sum_of(n, gradient), *along = sum_of(n, hlo_rmul(&n->m, gradient, centred));
  value_t* factor = divide_by(n, hlo_rdiv(&v, scale, deviation), n->count);
  value_t* part = hlo_rdiv(&n->m, hlo_rmul(&n->m, spread(n, along), centred), spread(n, shifted));
  value_t* rest = hlo_rsub(&n->m, hlo_rmul_k(&n->m, gradient, n->count), spread(n, sum));
  results[0] = hlo_rmul(&n->m, spread(n, factor), hlo_rsub(&n->m, rest, part));
  results[1] = hlo_rdiv(&v, along, deviation);
  results[2] = sum;
}

bool hlo_expand_batch_norm(hlo_pass_ctx_t* ctx, hlo_node_t* node, hlo_value_t** results) {
  norm_t n;
  (void)ctx;
  if (!read_norm(node, &n)) return false;
  switch (node->op) {
    case HLO_OP_batch_norm_training: make_training(&n, results); break;
    case HLO_OP_batch_norm_grad: make_gradient(&n, results); break;
    default: results[0] = normalise(&n, operand(&n, 0), operand(&n, 3), operand(&n, 4)); break;
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    results[i] = hlo_build_convert(node, node->results[i].type->dtype, results[i]);
    if (!results[i] || results[i]->type != node->results[i].type) return false;
  }
  return true;
}
