// SPDX-License-Identifier: Apache-2.0
// Test helper: random ops that compute, move and reduce elements. Each function puts an op of value
// v and adds its results, or does nothing if v does not suit it.
#pragma once

#include "spmd/partition_generator.h"

// ---- elementwise

static inline void hlo_gen_elementwise(hlo_generator_t* g, uint32_t v) {
  static const char* const names[] = {"maximum", "minimum", "add", "subtract"};
  const hlo_gen_shape_t shape = g->shapes[v];
  const uint32_t w = hlo_gen_find(g, &shape, true);
  const uint32_t op = hlo_gen_below(g, shape.dtype == HLO_GEN_PRED ? 2 : 4);
  hlo_gen_shape_t to = shape;
  to.bound = op < 2 ? fmax(shape.bound, g->shapes[w].bound) : shape.bound + g->shapes[w].bound;
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.%s %%v%u, %%v%u : ", names[op], v, w);
  hlo_gen_put_type(g, &shape);
  hlo_gen_add(g, &to);
}

static inline void hlo_gen_negate(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t shape = g->shapes[v];
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.%s %%v%u : ", shape.dtype == HLO_GEN_PRED ? "not" : "negate", v);
  hlo_gen_put_type(g, &shape);
  hlo_gen_add(g, &shape);
}

static inline void hlo_gen_convert(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  hlo_gen_shape_t to = from;
  to.dtype = hlo_gen_below(g, 4);
  if (from.dtype == HLO_GEN_S32 && hlo_gen_is_float(&to)) to.bound = INFINITY;  // may be large
  if (hlo_gen_is_float(&from) && to.dtype == HLO_GEN_S32 && !hlo_gen_can_sum(&from, 1))
    to.dtype = HLO_GEN_F32;
  if (from.dtype == HLO_GEN_PRED) to.bound = 1;
  if (to.dtype == HLO_GEN_BF16 && to.bound > 256) to.bound = INFINITY;
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.convert %%v%u", v);
  hlo_gen_put_types(g, 1, &v, &to);
  hlo_gen_add(g, &to);
}

static inline void hlo_gen_compare(hlo_generator_t* g, uint32_t v) {
  static const char* const names[] = {"LT", "GE", "EQ"};
  hlo_gen_shape_t to = g->shapes[v];
  const uint32_t pair[] = {v, hlo_gen_find(g, &to, true)};
  to.dtype = HLO_GEN_PRED;
  to.bound = 1;
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.compare %s, %%v%u, %%v%u", names[hlo_gen_below(g, 3)], v, pair[1]);
  hlo_gen_put_types(g, 2, pair, &to);
  hlo_gen_add(g, &to);
}

static inline void hlo_gen_select(hlo_generator_t* g, uint32_t v) {
  hlo_gen_shape_t to = g->shapes[v], which = to;
  which.dtype = HLO_GEN_PRED;
  const uint32_t three[] = {hlo_gen_make(g, &which), v, hlo_gen_find(g, &to, true)};
  to.bound = fmax(to.bound, g->shapes[three[2]].bound);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.select %%v%u, %%v%u, %%v%u", three[0], three[1], three[2]);
  hlo_gen_put_types(g, 3, three, &to);
  hlo_gen_add(g, &to);
}

static inline void hlo_gen_barrier(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t a = g->shapes[v];
  const uint32_t w = hlo_gen_below(g, g->value_count);
  const hlo_gen_shape_t b = g->shapes[w];
  hlo_gen_begin(g, 2);
  hlo_gen_put(g, "stablehlo.optimization_barrier %%v%u, %%v%u : ", v, w);
  hlo_gen_put_type(g, &a);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &b);
  hlo_gen_add(g, &a);
  hlo_gen_add(g, &b);
}

static inline void hlo_gen_make_any(hlo_generator_t* g, uint32_t v) {
  hlo_gen_shape_t shape = g->shapes[v];
  shape.dtype = hlo_gen_below(g, 4);
  hlo_gen_make(g, &shape);
}

// ---- movement

static inline void hlo_gen_put_constraint(hlo_generator_t* g, uint32_t v) {
  hlo_gen_constraint(g, v);
}

static inline void hlo_gen_transpose(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  hlo_gen_shape_t to = from;
  int64_t order[HLO_GEN_RANK_MAX] = {0, 1, 2, 3};
  for (uint32_t d = from.rank; d > 1; --d) {
    const uint32_t k = hlo_gen_below(g, d);
    const int64_t t = order[k];
    order[k] = order[d - 1];
    order[d - 1] = t;
  }
  for (uint32_t d = 0; d < from.rank; ++d) to.dims[d] = from.dims[order[d]];
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.transpose %%v%u, dims = [", v);
  hlo_gen_put_ints(g, order, from.rank);
  hlo_gen_put(g, "]");
  hlo_gen_put_types(g, 1, &v, &to);
  hlo_gen_add(g, &to);
}

static inline void hlo_gen_broadcast(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (from.rank == HLO_GEN_RANK_MAX) return;
  hlo_gen_shape_t to = from;
  int64_t dims[HLO_GEN_RANK_MAX];
  const uint32_t at = hlo_gen_below(g, ++to.rank);
  for (uint32_t d = 0; d < from.rank; ++d) {
    dims[d] = d < at ? d : d + 1;
    to.dims[dims[d]] = from.dims[d] == 1 ? hlo_gen_size(g) : from.dims[d];
  }
  to.dims[at] = hlo_gen_size(g);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.broadcast_in_dim %%v%u, dims = [", v);
  hlo_gen_put_ints(g, dims, from.rank);
  hlo_gen_put(g, "]");
  hlo_gen_put_types(g, 1, &v, &to);
  hlo_gen_add(g, &to);
}

// Merges two neighbouring dimensions, splits one, or exchanges the sizes of two.
static inline void hlo_gen_reshape(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  hlo_gen_shape_t to = from;
  if (from.rank >= 2 && !hlo_gen_below(g, 4)) {
    const uint32_t at = hlo_gen_below(g, from.rank - 1);
    to.dims[at] = from.dims[at + 1];
    to.dims[at + 1] = from.dims[at];
  } else if (from.rank >= 2 && hlo_gen_below(g, 2)) {
    const uint32_t at = hlo_gen_below(g, from.rank - 1);
    to.dims[at] *= to.dims[at + 1];
    memmove(&to.dims[at + 1], &to.dims[at + 2], (from.rank - at - 2) * sizeof *to.dims);
    --to.rank;
  } else if (from.rank && from.rank < HLO_GEN_RANK_MAX) {
    const uint32_t at = hlo_gen_below(g, from.rank);
    const int64_t factor = from.dims[at] % 4 == 0 && hlo_gen_below(g, 2) ? 4
                           : from.dims[at] % 2                           ? 1
                                                                         : 2;
    memmove(&to.dims[at + 1], &to.dims[at], (from.rank - at) * sizeof *to.dims);
    to.dims[at] = factor;
    to.dims[at + 1] = from.dims[at] / factor;
    ++to.rank;
  }
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.reshape %%v%u", v);
  hlo_gen_put_types(g, 1, &v, &to);
  hlo_gen_add(g, &to);
}

static inline uint32_t hlo_gen_slice_dims(hlo_generator_t* g, uint32_t v, const int64_t* starts,
                                          const int64_t* limits, const int64_t* steps) {
  hlo_gen_shape_t to = g->shapes[v];
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.slice %%v%u [", v);
  for (uint32_t d = 0; d < to.rank; ++d) {
    to.dims[d] = (limits[d] - starts[d] + steps[d] - 1) / steps[d];
    hlo_gen_put(g, "%s%lld:%lld:%lld", d ? ", " : "", (long long)starts[d], (long long)limits[d],
                (long long)steps[d]);
  }
  hlo_gen_put(g, "]");
  hlo_gen_put_types(g, 1, &v, &to);
  return hlo_gen_add(g, &to);
}

static inline void hlo_gen_slice(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  int64_t starts[HLO_GEN_RANK_MAX] = {0}, limits[HLO_GEN_RANK_MAX],
          steps[HLO_GEN_RANK_MAX] = {1, 1, 1, 1};
  memcpy(limits, from.dims, sizeof limits);
  for (uint32_t d = 0; d < from.rank; ++d) {
    if (hlo_gen_below(g, 2)) continue;
    starts[d] = hlo_gen_below(g, (uint32_t)limits[d]);
    limits[d] = starts[d] + 1 + hlo_gen_below(g, (uint32_t)(limits[d] - starts[d]));
    steps[d] = 1 + hlo_gen_below(g, 2);
  }
  hlo_gen_slice_dims(g, v, starts, limits, steps);
}

static inline void hlo_gen_pad(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  hlo_gen_shape_t to = from;
  int64_t low[HLO_GEN_RANK_MAX] = {0}, high[HLO_GEN_RANK_MAX] = {0},
          between[HLO_GEN_RANK_MAX] = {0};
  for (uint32_t d = 0; d < from.rank; ++d) {
    if (hlo_gen_below(g, 2)) continue;
    low[d] = (int64_t)hlo_gen_below(g, 4) - 1;
    high[d] = hlo_gen_below(g, 4);
    between[d] = hlo_gen_below(g, 2);
    to.dims[d] = low[d] + high[d] + from.dims[d] + (from.dims[d] - 1) * between[d];
    if (to.dims[d] < 1) high[d] += 1 - to.dims[d], to.dims[d] = 1;
  }
  to.bound = fmax(to.bound, 3);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.pad %%v%u, %%%s_%s, low = [", v, hlo_gen_below(g, 2) ? "zero" : "three",
              hlo_gen_dtype_name(from.dtype));
  hlo_gen_put_ints(g, low, from.rank);
  hlo_gen_put(g, "], high = [");
  hlo_gen_put_ints(g, high, from.rank);
  hlo_gen_put(g, "], interior = [");
  hlo_gen_put_ints(g, between, from.rank);
  hlo_gen_put(g, "] : (");
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ", ");
  hlo_gen_put_scalar(g, from.dtype);
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, &to);
  hlo_gen_add(g, &to);
}

static inline void hlo_gen_reverse(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t shape = g->shapes[v];
  if (!shape.rank) return;
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.reverse %%v%u, dims = [%u] : ", v, hlo_gen_below(g, shape.rank));
  hlo_gen_put_type(g, &shape);
  hlo_gen_add(g, &shape);
}

static inline void hlo_gen_join(hlo_generator_t* g, uint32_t count, const uint32_t* values,
                                uint32_t dim) {
  hlo_gen_shape_t to = g->shapes[values[0]];
  for (uint32_t i = 1; i < count; ++i) {
    to.dims[dim] += g->shapes[values[i]].dims[dim];
    to.bound = fmax(to.bound, g->shapes[values[i]].bound);
  }
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.concatenate ");
  for (uint32_t i = 0; i < count; ++i) hlo_gen_put(g, i ? ", %%v%u" : "%%v%u", values[i]);
  hlo_gen_put(g, ", dim = %u", dim);
  hlo_gen_put_types(g, count, values, &to);
  hlo_gen_add(g, &to);
}

static inline void hlo_gen_concatenate(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank) return;
  uint32_t values[8] = {v}, count = 1;
  const uint32_t dim = hlo_gen_below(g, from.rank);
  while (count < 8 && hlo_gen_count(&from) * (count + 4) <= HLO_GEN_ELEMENTS_MAX / 4 &&
         hlo_gen_below(g, 3) == 0) {
    values[count++] = v;
  }
  for (uint32_t w = 0, last = count + 3; w < g->value_count && count < last && count < 8; ++w) {
    hlo_gen_shape_t other = g->shapes[w];
    if (other.rank != from.rank) continue;
    other.dims[dim] = from.dims[dim];
    if (hlo_gen_is_alike(&other, &from, true) && hlo_gen_below(g, 2)) values[count++] = w;
  }
  hlo_gen_join(g, count, values, dim);
}

// Moves the first elements of a dimension to its end.
static inline void hlo_gen_roll(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank) return;
  const uint32_t dim = hlo_gen_below(g, from.rank);
  if (from.dims[dim] < 2) return;
  int64_t starts[HLO_GEN_RANK_MAX] = {0}, limits[HLO_GEN_RANK_MAX];
  const int64_t steps[HLO_GEN_RANK_MAX] = {1, 1, 1, 1};
  memcpy(limits, from.dims, sizeof limits);
  starts[dim] = 1 + hlo_gen_below(g, (uint32_t)from.dims[dim] - 1);
  uint32_t parts[2];
  parts[0] = hlo_gen_slice_dims(g, v, starts, limits, steps);
  hlo_gen_put(g, "\n");
  limits[dim] = starts[dim];
  starts[dim] = 0;
  parts[1] = hlo_gen_slice_dims(g, v, starts, limits, steps);
  hlo_gen_put(g, "\n");
  hlo_gen_join(g, 2, parts, dim);
}

// ---- reductions and products

static inline void hlo_gen_reduce(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  hlo_gen_shape_t to = {.dtype = from.dtype, .bound = from.bound};
  int64_t dims[HLO_GEN_RANK_MAX];
  uint32_t count = 0;
  for (uint32_t d = 0; d < from.rank; ++d) {
    if (hlo_gen_below(g, 2)) {
      dims[count++] = d;
    } else {
      to.dims[to.rank++] = from.dims[d];
    }
  }
  const double terms = (double)hlo_gen_count(&from) / (double)hlo_gen_count(&to);
  const bool is_sum = hlo_gen_can_sum(&from, terms + 3) && hlo_gen_below(g, 2);
  const char* init = hlo_gen_below(g, 4) == 0 ? "three" : is_sum ? "zero" : "low";
  if (is_sum) to.bound = from.bound * terms;
  to.bound = fmax(to.bound + 3, 16);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.reduce(%%v%u init: %%%s_%s) applies stablehlo.%s across dimensions = [",
              v, init, hlo_gen_dtype_name(from.dtype), is_sum ? "add" : "maximum");
  hlo_gen_put_ints(g, dims, count);
  hlo_gen_put(g, "] : (");
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ", ");
  hlo_gen_put_scalar(g, from.dtype);
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, &to);
  hlo_gen_add(g, &to);
}

// The largest element and its first index, as argmax finds them.
static inline void hlo_gen_argmax(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank || from.dtype == HLO_GEN_PRED) return;
  const uint32_t dim = hlo_gen_below(g, from.rank);
  hlo_gen_shape_t index = from, to[2] = {from, from};
  index.dtype = to[1].dtype = HLO_GEN_S32;
  index.bound = to[1].bound = 16;
  for (uint32_t i = 0; i < 2; ++i) {
    --to[i].rank;
    for (uint32_t d = dim; d < to[i].rank; ++d) to[i].dims[d] = from.dims[d + 1];
  }
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.iota dim = %u : ", dim);
  hlo_gen_put_type(g, &index);
  const uint32_t w = hlo_gen_add(g, &index);
  const char* name = hlo_gen_dtype_name(from.dtype);
  hlo_gen_put(g, "\n");
  hlo_gen_begin(g, 2);
  hlo_gen_put(g, "\"stablehlo.reduce\"(%%v%u, %%v%u, %%low_%s, %%zero_i32) ({\n", v, w, name);
  hlo_gen_put(g,
              "    ^bb0(%%p: tensor<%s>, %%q: tensor<i32>, %%r: tensor<%s>, %%s: tensor<i32>):\n",
              name, name);
  hlo_gen_put(
      g,
      "      %%gt = stablehlo.compare GT, %%p, %%r : (tensor<%s>, tensor<%s>) -> tensor<i1>\n"
      "      %%eq = stablehlo.compare EQ, %%p, %%r : (tensor<%s>, tensor<%s>) -> tensor<i1>\n",
      name, name, name, name);
  hlo_gen_put(
      g,
      "      %%lt = stablehlo.compare LT, %%q, %%s : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "      %%and = stablehlo.and %%eq, %%lt : tensor<i1>\n"
      "      %%or = stablehlo.or %%gt, %%and : tensor<i1>\n"
      "      %%x = stablehlo.select %%gt, %%p, %%r : (tensor<i1>, tensor<%s>, tensor<%s>) -> "
      "tensor<%s>\n"
      "      %%y = stablehlo.select %%or, %%q, %%s : (tensor<i1>, tensor<i32>, tensor<i32>) -> "
      "tensor<i32>\n"
      "      stablehlo.return %%x, %%y : tensor<%s>, tensor<i32>\n",
      name, name, name, name);
  hlo_gen_put(g, "    }) {dimensions = array<i64: %u>} : (", dim);
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &index);
  hlo_gen_put(g, ", tensor<%s>, tensor<i32>) -> (", name);
  hlo_gen_put_type(g, &to[0]);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &to[1]);
  hlo_gen_put(g, ")");
  hlo_gen_add(g, &to[0]);
  hlo_gen_add(g, &to[1]);
}

// Contracts the last dimension of one value with that of another one, perhaps with equal first
// dimensions as batches.
static inline void hlo_gen_dot(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t a = g->shapes[v];
  if (!a.rank || a.dtype == HLO_GEN_PRED) return;
  for (uint32_t w = 0; w < g->value_count; ++w) {
    const hlo_gen_shape_t b = g->shapes[w];
    if (!b.rank || b.dims[b.rank - 1] != a.dims[a.rank - 1] || a.dtype != b.dtype) continue;
    if (!hlo_gen_can_sum(&a, b.bound * (double)a.dims[a.rank - 1])) continue;
    const bool has_batch =
        a.rank > 1 && b.rank > 1 && a.dims[0] == b.dims[0] && hlo_gen_below(g, 2);
    if (a.rank + b.rank - 2 - has_batch > HLO_GEN_RANK_MAX) continue;
    hlo_gen_shape_t to = {.rank = a.rank + b.rank - 2 - has_batch, .dtype = a.dtype};
    to.bound = a.bound * b.bound * (double)a.dims[a.rank - 1];
    memcpy(to.dims, a.dims, (a.rank - 1) * sizeof *to.dims);
    memcpy(&to.dims[a.rank - 1], &b.dims[has_batch], (b.rank - 1 - has_batch) * sizeof *to.dims);
    if (hlo_gen_count(&to) > HLO_GEN_ELEMENTS_MAX) continue;
    hlo_gen_begin(g, 1);
    hlo_gen_put(g, "stablehlo.dot_general %%v%u, %%v%u, %scontracting_dims = [%u] x [%u]", v, w,
                has_batch ? "batching_dims = [0] x [0], " : "", a.rank - 1, b.rank - 1);
    hlo_gen_put_types(g, 2, (uint32_t[]){v, w}, &to);
    hlo_gen_add(g, &to);
    return;
  }
}

// ---- along dimensions

static inline void hlo_gen_sort(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t key = g->shapes[v];
  if (!key.rank) return;
  const uint32_t pair[] = {v, hlo_gen_find(g, &key, false)}, count = 1 + hlo_gen_below(g, 2);
  hlo_gen_begin(g, count);
  hlo_gen_put(g, "\"stablehlo.sort\"(%%v%u", v);
  if (count == 2) hlo_gen_put(g, ", %%v%u", pair[1]);
  hlo_gen_put(g, ") ({\n    ^bb0(");
  for (uint32_t i = 0; i < 2 * count; ++i) {
    hlo_gen_put(g, i ? ", %%p%u: " : "%%p%u: ", i);
    hlo_gen_put_scalar(g, g->shapes[pair[i / 2]].dtype);
  }
  hlo_gen_put(g, "):\n      %%c = stablehlo.compare %s, %%p0, %%p1 : (",
              hlo_gen_below(g, 2) ? "LT" : "GT");
  hlo_gen_put_scalar(g, key.dtype);
  hlo_gen_put(g, ", ");
  hlo_gen_put_scalar(g, key.dtype);
  hlo_gen_put(
      g,
      ") -> tensor<i1>\n      stablehlo.return %%c : tensor<i1>\n    }) {dimension = %u : i64, "
      "is_stable = true} : (",
      hlo_gen_below(g, key.rank));
  for (uint32_t round = 0; round < 2; ++round) {
    if (round) hlo_gen_put(g, ") -> (");
    for (uint32_t i = 0; i < count; ++i) {
      if (i) hlo_gen_put(g, ", ");
      hlo_gen_put_type(g, &g->shapes[pair[i]]);
    }
  }
  hlo_gen_put(g, ")");
  const hlo_gen_shape_t other = g->shapes[pair[1]];
  hlo_gen_add(g, &key);
  if (count == 2) hlo_gen_add(g, &other);
}

static inline void hlo_gen_top_k(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank || from.dtype == HLO_GEN_PRED) return;
  hlo_gen_shape_t to[2] = {from, from};
  const uint32_t length = (uint32_t)from.dims[from.rank - 1];
  const uint32_t k = 1 + hlo_gen_below(g, hlo_gen_below(g, 2) ? length : (length + 7) / 8);
  to[0].dims[from.rank - 1] = to[1].dims[from.rank - 1] = k;
  to[1].dtype = HLO_GEN_S32;
  to[1].bound = 16;
  hlo_gen_begin(g, 2);
  hlo_gen_put(g, "chlo.top_k(%%v%u, k = %u) : ", v, k);
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, " -> (");
  hlo_gen_put_type(g, &to[0]);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &to[1]);
  hlo_gen_put(g, ")");
  hlo_gen_add(g, &to[0]);
  hlo_gen_add(g, &to[1]);
}

// The real parts of a transform of the last dimension.
static inline void hlo_gen_fft(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank || from.dtype != HLO_GEN_F32) return;
  hlo_gen_shape_t to = from;
  const int64_t length = from.dims[from.rank - 1];
  to.dims[from.rank - 1] = length / 2 + 1;
  to.bound = INFINITY;
  HLO_SCOPED_STRBUF complex = {0};
  for (uint32_t d = 0; d < to.rank; ++d)
    hlo_strbuf_printf(&complex, "%lldx", (long long)to.dims[d]);
  hlo_gen_put(g, "    %%f%u = stablehlo.fft %%v%u, type = RFFT, length = [%lld] : (",
              g->value_count, v, (long long)length);
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ") -> tensor<%scomplex<f32>>\n", hlo_strbuf_text(&complex));
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.real %%f%u : (tensor<%scomplex<f32>>) -> ", g->value_count,
              hlo_strbuf_text(&complex));
  hlo_gen_put_type(g, &to);
  hlo_gen_add(g, &to);
}

// A transform of the last two dimensions, of sizes whose roots of unity are exact but for rounding.
static inline void hlo_gen_fft_planes(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  const int64_t *dims = from.dims, rank = from.rank;
  if (rank < 2 || !hlo_gen_can_sum(&from, 16) || from.dtype != HLO_GEN_F32) return;
  if (4 % dims[rank - 1] || 4 % dims[rank - 2]) return;
  const uint32_t n = g->value_count;
  const bool is_inverse = hlo_gen_below(g, 2);
  hlo_gen_shape_t to = from;
  HLO_SCOPED_STRBUF complex = {0};
  if (!is_inverse) to.dims[rank - 1] = dims[rank - 1] / 2 + 1;
  for (uint32_t d = 0; d < rank; ++d) hlo_strbuf_printf(&complex, "%lldx", (long long)to.dims[d]);
  const char* type = hlo_strbuf_text(&complex);
  if (is_inverse) {
    hlo_gen_put(g, "    %%g%u = stablehlo.complex %%v%u, %%v%u : tensor<%scomplex<f32>>\n", n, v, v,
                type);
    hlo_gen_put(g, "    %%f%u = stablehlo.fft %%g%u, type = FFT, length = [", n, n);
    hlo_gen_put_ints(g, &dims[rank - 2], 2);
    hlo_gen_put(g, "] : (tensor<%scomplex<f32>>) -> tensor<%scomplex<f32>>\n", type, type);
  } else {
    hlo_gen_put(g, "    %%f%u = stablehlo.fft %%v%u, type = RFFT, length = [", n, v);
    hlo_gen_put_ints(g, &dims[rank - 2], 2);
    hlo_gen_put(g, "] : (");
    hlo_gen_put_type(g, &from);
    hlo_gen_put(g, ") -> tensor<%scomplex<f32>>\n", type);
  }
  hlo_gen_put(g, "    %%h%u = stablehlo.imag %%f%u : (tensor<%scomplex<f32>>) -> ", n, n, type);
  hlo_gen_put_type(g, &to);
  hlo_gen_put(
      g, "\n    %%o%u = stablehlo.broadcast_in_dim %%zero_f32, dims = [] : (tensor<f32>) -> ", n);
  hlo_gen_put_type(g, &to);
  hlo_gen_put(g, "\n    %%j%u = stablehlo.round_nearest_even %%h%u : ", n, n);
  hlo_gen_put_type(g, &to);
  hlo_gen_put(g, "\n");
  to.bound = 32 * from.bound;
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.add %%j%u, %%o%u : ", n, n);  // not -0
  hlo_gen_put_type(g, &to);
  hlo_gen_add(g, &to);
}

// Batch normalisation of a random feature: 0: inference, 1: training, 2: gradient.
static inline void hlo_gen_batch_norm(hlo_generator_t* g, uint32_t v) {
  static const char* const names[] = {"inference", "training", "grad"};
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank || from.dtype != HLO_GEN_F32) return;
  const uint32_t kind = hlo_gen_below(g, 3), feature = hlo_gen_below(g, from.rank);
  hlo_gen_shape_t row = {.rank = 1, .dtype = HLO_GEN_F32, .bound = 3};
  row.dims[0] = from.dims[feature];
  uint32_t operands[5] = {v};
  const uint32_t counts[] = {5, 3, 5}, count = counts[kind];
  for (uint32_t i = 1; i < count; ++i) operands[i] = hlo_gen_make(g, &row);
  if (kind == 2) operands[4] = hlo_gen_find(g, &from, true);
  // Variances are not negative.
  const uint32_t variance = kind == 0 ? 4 : 3;
  const uint32_t n = g->value_count;
  if (kind != 1) {
    hlo_gen_put(g, "    %%q%u = stablehlo.abs %%v%u : ", n, operands[variance]);
    hlo_gen_put_type(g, &row);
    hlo_gen_put(g, "\n");
  }
  hlo_gen_begin(g, kind ? 3 : 1);
  hlo_gen_put(g, "\"stablehlo.batch_norm_%s\"(", names[kind]);
  for (uint32_t i = 0; i < count; ++i) {
    const bool is_variance = kind != 1 && i == variance;
    hlo_gen_put(g, "%s%%%s%u", i ? ", " : "", is_variance ? "q" : "v",
                is_variance ? n : operands[i]);
  }
  hlo_gen_put(g, ") <{epsilon = 1.0 : f32, feature_index = %u : i64}> : (", feature);
  for (uint32_t i = 0; i < count; ++i) {
    if (i) hlo_gen_put(g, ", ");
    hlo_gen_put_type(g, &g->shapes[operands[i]]);
  }
  hlo_gen_put(g, kind ? ") -> (" : ") -> ");
  hlo_gen_put_type(g, &from);
  hlo_gen_shape_t to = from;
  to.bound = row.bound = INFINITY;
  hlo_gen_add(g, &to);
  for (uint32_t i = 0; kind && i < 2; ++i) {
    hlo_gen_put(g, ", ");
    hlo_gen_put_type(g, &row);
    hlo_gen_add(g, &row);
  }
  if (kind) hlo_gen_put(g, ")");
}

// The approximately best elements of any dimension, with their positions.
static inline void hlo_gen_approx_top_k(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank || from.dtype != HLO_GEN_F32) return;
  const uint32_t dim = hlo_gen_below(g, from.rank), n = g->value_count;
  const uint32_t length = (uint32_t)from.dims[dim];
  const uint32_t k = 1 + hlo_gen_below(g, hlo_gen_below(g, 2) ? length : (length + 7) / 8);
  hlo_gen_shape_t index = from, to[2] = {from, from};
  index.dtype = to[1].dtype = HLO_GEN_S32;
  to[0].dims[dim] = to[1].dims[dim] = k;
  to[1].bound = 16;
  hlo_gen_put(g, "    %%at%u = stablehlo.iota dim = %u : ", n, dim);
  hlo_gen_put_type(g, &index);
  hlo_gen_put(g, "\n");
  hlo_gen_begin(g, 2);
  hlo_gen_put(g,
              "stablehlo.custom_call @ApproxTopK(%%v%u, %%at%u, %%low_f32, %%low_i32) "
              "{called_computations = [@first_is_greater], mhlo.backend_config = {top_k = %u : "
              "i64, reduction_dim = %u : i64, aggregate_to_topk = true, is_fallback = %s, "
              "recall_target = 0.95 : f32, reduction_input_size_override = -1 : i64}} : (",
              v, n, k, dim, hlo_gen_below(g, 2) ? "true" : "false");
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &index);
  hlo_gen_put(g, ", tensor<f32>, tensor<i32>) -> (");
  hlo_gen_put_type(g, &to[0]);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &to[1]);
  hlo_gen_put(g, ")");
  hlo_gen_add(g, &to[0]);
  hlo_gen_add(g, &to[1]);
}

// Sums along a dimension, with the last sum.
static inline void hlo_gen_cumulative_scan(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank) return;
  const uint32_t dim = hlo_gen_below(g, from.rank);
  const bool is_sum = hlo_gen_can_sum(&from, 19);
  hlo_gen_shape_t row = from, to = from;
  --row.rank;
  memmove(&row.dims[dim], &row.dims[dim + 1], (row.rank - dim) * sizeof *row.dims);
  to.bound = from.bound * (is_sum ? (double)from.dims[dim] : 1) + 3;
  const uint32_t first = hlo_gen_make(g, &row);
  row.bound = g->shapes[first].bound;
  if (is_sum && !hlo_gen_can_sum(&row, 19)) return;
  hlo_gen_begin(g, 2);
  hlo_gen_put(g, "chlo.scan (%%v%u) inits (%%v%u) dimension = %u attributes {} {\n", v, first, dim);
  hlo_strbuf_t text = g->text;
  g->text = (hlo_strbuf_t){0};
  hlo_gen_put_type(g, &row);
  hlo_strbuf_t type = g->text;
  g->text = text;
  const char* t = hlo_strbuf_text(&type);
  hlo_gen_put(g,
              "    ^bb0(%%x: %s, %%y: %s):\n      %%z = stablehlo.%s %%x, %%y : %s\n      "
              "stablehlo.return %%z, %%z : %s, %s\n    } : (",
              t, t, is_sum ? "add" : "maximum", t, t, t);
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ", %s) -> (", t);
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ", %s)", t);
  hlo_strbuf_deinit(&type);
  to.bound += row.bound;
  row.bound = to.bound;
  hlo_gen_add(g, &to);
  hlo_gen_add(g, &row);
}

// The factor of a matrix with a large diagonal, and a system with the same matrix.
static inline void hlo_gen_linear_algebra(hlo_generator_t* g, uint32_t v) {
  hlo_gen_shape_t shape = g->shapes[v], row = shape;
  const uint32_t rank = shape.rank, n = g->value_count;
  if (rank < 2 || shape.dtype != HLO_GEN_F32 || shape.dims[rank - 1] != shape.dims[rank - 2])
    return;
  HLO_SCOPED_STRBUF type = {0};
  row.dtype = HLO_GEN_S32;
  hlo_strbuf_t text = g->text;
  g->text = (hlo_strbuf_t){0};
  hlo_gen_put_type(g, &shape);
  hlo_strbuf_puts(&type, hlo_strbuf_text(&g->text));
  hlo_strbuf_deinit(&g->text);
  g->text = text;
  const char* t = hlo_strbuf_text(&type);
  hlo_gen_put(g,
              "    %%two%u = stablehlo.constant dense<2.0> : %s\n    %%ten%u = stablehlo.constant "
              "dense<-2.0> : %s\n    %%big%u = stablehlo.constant dense<64.0> : %s\n",
              n, t, n, t, n, t);
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_gen_put(g, "    %%i%u_%u = stablehlo.iota dim = %u : ", n, i, rank - 1 - i);
    hlo_gen_put_type(g, &row);
    hlo_gen_put(g, "\n");
  }
  hlo_gen_put(g, "    %%d%u = stablehlo.compare EQ, %%i%u_0, %%i%u_1 : (", n, n, n);
  hlo_gen_put_type(g, &row);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &row);
  row.dtype = HLO_GEN_PRED;
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, &row);
  hlo_gen_put(
      g,
      "\n    %%k%u = stablehlo.clamp %%ten%u, %%v%u, %%two%u : %s\n    %%m%u = stablehlo.select "
      "%%d%u, %%big%u, %%k%u : (",
      n, n, v, n, t, n, n, n, n);
  hlo_gen_put_type(g, &row);
  hlo_gen_put(g, ", %s, %s) -> %s\n", t, t, t);
  shape.bound = INFINITY;
  hlo_gen_begin(g, 1);
  if (hlo_gen_below(g, 2)) {
    hlo_gen_put(g, "stablehlo.cholesky %%m%u, lower = %s : %s", n,
                hlo_gen_below(g, 2) ? "true" : "false", t);
  } else {
    hlo_gen_put(
        g,
        "\"stablehlo.triangular_solve\"(%%m%u, %%k%u) {left_side = %s, lower = true, "
        "unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (%s, %s) -> "
        "%s",
        n, n, hlo_gen_below(g, 2) ? "true" : "false", t, t, t);
  }
  hlo_gen_add(g, &shape);
}

// Random bits, from a counter that may overflow while they are generated, and the next state.
static inline void hlo_gen_random_bits(hlo_generator_t* g, uint32_t v) {
  hlo_gen_shape_t shape = g->shapes[v];
  hlo_gen_shape_t next = {.rank = 1, .dims = {4}, .dtype = HLO_GEN_S32, .bound = INFINITY};
  const uint32_t n = g->value_count;
  const bool is_threefry = hlo_gen_below(g, 2), is_wide = hlo_gen_below(g, 3) == 0;
  const uint32_t words = is_threefry || hlo_gen_below(g, 2) ? 2 : 3;
  HLO_SCOPED_STRBUF dims = {0};
  for (uint32_t d = 0; d < shape.rank; ++d) {
    hlo_strbuf_printf(&dims, "%lldx", (long long)shape.dims[d]);
  }
  shape.dtype = HLO_GEN_S32;
  next.dims[0] = 2 * words;
  const uint64_t counter = UINT64_MAX - hlo_gen_below(g, 64);
  hlo_gen_put(g, "    %%state%u = stablehlo.constant dense<[7, %llu%s]> : tensor<%uxui64>\n", n,
              hlo_gen_below(g, 2) ? 9ull : (unsigned long long)counter, words == 3 ? ", 5" : "",
              words);
  hlo_gen_put(g,
              "    %%next%u, %%bits%u = stablehlo.rng_bit_generator %%state%u, algorithm = %s : "
              "(tensor<%uxui64>) -> (tensor<%uxui64>, tensor<%sui%u>)\n",
              n, n, n, is_threefry ? "THREE_FRY" : "PHILOX", words, words, hlo_strbuf_text(&dims),
              is_wide ? 64 : 32);
  hlo_gen_put(g, "    %%next32_%u = stablehlo.bitcast_convert %%next%u : (tensor<%uxui64>) -> ", n,
              n, words);
  hlo_gen_put(g, "tensor<%ux2xui32>\n", words);
  hlo_gen_put(g, "    %%bits32_%u = stablehlo.convert %%bits%u : (tensor<%sui%u>) -> ", n, n,
              hlo_strbuf_text(&dims), is_wide ? 64 : 32);
  hlo_gen_put(g, "tensor<%sui32>\n", hlo_strbuf_text(&dims));
  hlo_gen_put(g, "    %%next1_%u = stablehlo.reshape %%next32_%u : (tensor<%ux2xui32>) -> ", n, n,
              words);
  hlo_gen_put(g, "tensor<%uxui32>\n", 2 * words);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.bitcast_convert %%bits32_%u : (tensor<%sui32>) -> ", n,
              hlo_strbuf_text(&dims));
  hlo_gen_put_type(g, &shape);
  hlo_gen_add(g, &shape);
  hlo_gen_put(g, "\n");
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.bitcast_convert %%next1_%u : (tensor<%uxui32>) -> ", n, 2 * words);
  hlo_gen_put_type(g, &next);
  hlo_gen_add(g, &next);
}

static inline void hlo_gen_dimension_size(hlo_generator_t* g, uint32_t v) {
  hlo_gen_shape_t shape = {.dtype = HLO_GEN_S32, .bound = 16};
  if (!g->shapes[v].rank) return;
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "\"stablehlo.get_dimension_size\"(%%v%u) {dimension = %u : i64}", v,
              hlo_gen_below(g, g->shapes[v].rank));
  hlo_gen_put_types(g, 1, &v, &shape);
  hlo_gen_add(g, &shape);
}
