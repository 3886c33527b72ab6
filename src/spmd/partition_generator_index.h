// SPDX-License-Identifier: Apache-2.0
// Test helper: random ops that find elements by indices, and ops over windows (see
// partition_generator_ops.h).
#pragma once

#include "spmd/partition_generator.h"

// ---- dynamic slices

// Puts one index per dimension: constants, or a number known only when the program runs.
static inline void hlo_gen_put_starts(hlo_generator_t* g, uint32_t rank) {
  static const char* const names[] = {"%index", "%zero_i32", "%three_i32", "%five"};
  for (uint32_t d = 0; d < rank; ++d) hlo_gen_put(g, ", %s", names[hlo_gen_below(g, 4)]);
}

static inline void hlo_gen_put_start_types(hlo_generator_t* g, uint32_t rank) {
  for (uint32_t d = 0; d < rank; ++d) hlo_gen_put(g, ", tensor<i32>");
}

static inline hlo_gen_shape_t hlo_gen_smaller(hlo_generator_t* g, hlo_gen_shape_t shape) {
  for (uint32_t d = 0; d < shape.rank; ++d) {
    if (hlo_gen_below(g, 2)) shape.dims[d] = 1 + hlo_gen_below(g, (uint32_t)shape.dims[d]);
  }
  return shape;
}

static inline void hlo_gen_dynamic_slice(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v], to = hlo_gen_smaller(g, from);
  if (!from.rank) return;
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.dynamic_slice %%v%u", v);
  hlo_gen_put_starts(g, from.rank);
  hlo_gen_put(g, ", sizes = [");
  hlo_gen_put_ints(g, to.dims, to.rank);
  hlo_gen_put(g, "] : (");
  hlo_gen_put_type(g, &from);
  hlo_gen_put_start_types(g, from.rank);
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, &to);
  hlo_gen_add(g, &to);
}

static inline void hlo_gen_dynamic_update_slice(hlo_generator_t* g, uint32_t v) {
  hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank) return;
  const hlo_gen_shape_t small = hlo_gen_smaller(g, from);
  const uint32_t w = hlo_gen_make(g, &small);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.dynamic_update_slice %%v%u, %%v%u", v, w);
  hlo_gen_put_starts(g, from.rank);
  hlo_gen_put(g, " : (");
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &g->shapes[w]);
  hlo_gen_put_start_types(g, from.rank);
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, &from);
  from.bound = fmax(from.bound, g->shapes[w].bound);
  hlo_gen_add(g, &from);
}

// ---- gather and scatter

// Dimension numbers: which dimensions are windows, gone, or batches that the indices have, too.
typedef struct hlo_gen_numbers {
  int64_t sizes[HLO_GEN_RANK_MAX];  // of slices
  uint32_t window_count, gone_count, batch_count, indexed_count, loose_count;
  int64_t windows[HLO_GEN_RANK_MAX];          // in the slices
  int64_t gone[HLO_GEN_RANK_MAX];             // in the input
  int64_t batches[HLO_GEN_RANK_MAX];          // in the input
  int64_t indices_batches[HLO_GEN_RANK_MAX];  // in the indices
  int64_t indexed[HLO_GEN_RANK_MAX];          // in the input
  int64_t vector_dim;
  hlo_gen_shape_t indices, slices;
} hlo_gen_numbers_t;

static inline void hlo_gen_choose_kinds(hlo_generator_t* g, const hlo_gen_shape_t* input,
                                        hlo_gen_numbers_t* n, int64_t* window_sizes) {
  for (uint32_t d = 0; d < input->rank; ++d) {
    const uint32_t kind = hlo_gen_below(g, 5);
    n->sizes[d] = 1;
    if (kind == 0) {
      n->batches[n->batch_count++] = d;
      continue;
    }
    if (kind <= 2) {
      n->gone[n->gone_count++] = d;
    } else {
      n->sizes[d] =
          hlo_gen_below(g, 2) ? input->dims[d] : 1 + hlo_gen_below(g, (uint32_t)input->dims[d]);
      window_sizes[n->window_count++] = n->sizes[d];
    }
    if (kind <= 2 || hlo_gen_below(g, 2)) n->indexed[n->indexed_count++] = d;
  }
  for (uint32_t i = n->indexed_count; i > 1; --i) {
    const uint32_t k = hlo_gen_below(g, i);
    const int64_t t = n->indexed[k];
    n->indexed[k] = n->indexed[i - 1];
    n->indexed[i - 1] = t;
  }
}

// Mixes batch dimensions of the indices (and slices) with the windows of the slices.
static inline bool hlo_gen_choose_numbers(hlo_generator_t* g, const hlo_gen_shape_t* input,
                                          hlo_gen_numbers_t* n) {
  int64_t window_sizes[HLO_GEN_RANK_MAX], batch_sizes[2 * HLO_GEN_RANK_MAX];
  memset(n, 0, sizeof *n);
  hlo_gen_choose_kinds(g, input, n, window_sizes);
  n->loose_count = hlo_gen_below(g, 3);
  const uint32_t batch_rank = n->batch_count + n->loose_count;
  if (batch_rank + n->window_count > HLO_GEN_RANK_MAX) return false;
  const bool has_vector = n->indexed_count != 1 || hlo_gen_below(g, 2);
  if (batch_rank + has_vector > HLO_GEN_RANK_MAX) return false;
  for (uint32_t i = 0; i < batch_rank; ++i) {  // loose ones first or last
    batch_sizes[i] = i < n->batch_count ? input->dims[n->batches[i]] : hlo_gen_size(g);
    n->indices_batches[i % HLO_GEN_RANK_MAX] = i;
  }
  n->vector_dim = has_vector ? hlo_gen_below(g, batch_rank + 1) : batch_rank;
  n->indices = (hlo_gen_shape_t){.rank = batch_rank + has_vector, .dtype = HLO_GEN_S32, .bound = 8};
  for (uint32_t i = 0, k = 0; i < n->indices.rank; ++i) {
    const bool is_vector = has_vector && i == n->vector_dim;
    n->indices.dims[i] = is_vector ? n->indexed_count : batch_sizes[k++];
  }
  for (uint32_t i = 0; i < n->batch_count; ++i)
    n->indices_batches[i] += has_vector && i >= n->vector_dim;
  n->slices = *input;
  n->slices.rank = batch_rank + n->window_count;
  uint32_t w = 0, b = 0;
  for (uint32_t d = 0; d < n->slices.rank; ++d) {
    const bool is_window = w < n->window_count && (b == batch_rank || hlo_gen_below(g, 2));
    if (is_window) n->windows[w] = d;
    n->slices.dims[d] = is_window ? window_sizes[w++] : batch_sizes[b++];
  }
  return hlo_gen_count(&n->slices) <= HLO_GEN_ELEMENTS_MAX && hlo_gen_count(&n->indices) > 0;
}

static inline void hlo_gen_put_list(hlo_generator_t* g, const char* name, const int64_t* values,
                                    uint32_t count) {
  if (!count) return;
  hlo_gen_put(g, "%s = [", name);
  hlo_gen_put_ints(g, values, count);
  hlo_gen_put(g, "], ");
}

static inline void hlo_gen_gather(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t input = g->shapes[v];
  hlo_gen_numbers_t n;
  if (!input.rank || !hlo_gen_choose_numbers(g, &input, &n)) return;
  const uint32_t pair[] = {v, hlo_gen_make(g, &n.indices)};
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "\"stablehlo.gather\"(%%v%u, %%v%u) {dimension_numbers = #stablehlo.gather<", v,
              pair[1]);
  hlo_gen_put_list(g, "offset_dims", n.windows, n.window_count);
  hlo_gen_put_list(g, "collapsed_slice_dims", n.gone, n.gone_count);
  hlo_gen_put_list(g, "operand_batching_dims", n.batches, n.batch_count);
  hlo_gen_put_list(g, "start_indices_batching_dims", n.indices_batches, n.batch_count);
  hlo_gen_put_list(g, "start_index_map", n.indexed, n.indexed_count);
  hlo_gen_put(g, "index_vector_dim = %lld>, ", (long long)n.vector_dim);
  hlo_gen_put_array(g, "slice_sizes", n.sizes, input.rank);
  hlo_gen_put(g, ", indices_are_sorted = false}");
  hlo_gen_put_types(g, 2, pair, &n.slices);
  hlo_gen_add(g, &n.slices);
}

static inline void hlo_gen_scatter(hlo_generator_t* g, uint32_t v) {
  static const char* const ops[] = {"maximum", "minimum", "add", "multiply"};
  hlo_gen_shape_t input = g->shapes[v];
  hlo_gen_numbers_t n;
  if (!input.rank || !hlo_gen_choose_numbers(g, &input, &n)) return;
  const uint32_t u = hlo_gen_make(g, &n.slices), at = hlo_gen_make(g, &n.indices);
  const uint32_t three[] = {v, at, u};
  const double bound = input.bound + g->shapes[u].bound * (double)hlo_gen_count(&n.slices);
  hlo_gen_shape_t sum = input;
  sum.bound = bound;
  uint32_t op = hlo_gen_below(g, 5);
  if (op == 3 && input.dtype != HLO_GEN_S32) op = 0;
  if (op == 2 && !hlo_gen_can_sum(&sum, 1)) op = 1;
  const char* type = hlo_gen_dtype_name(input.dtype);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g,
              "\"stablehlo.scatter\"(%%v%u, %%v%u, %%v%u) ({\n    ^bb0(%%p: tensor<%s>, %%q: "
              "tensor<%s>):\n",
              v, at, u, type, type);
  if (op < 4) hlo_gen_put(g, "      %%r = stablehlo.%s %%p, %%q : tensor<%s>\n", ops[op], type);
  hlo_gen_put(g,
              "      stablehlo.return %s : tensor<%s>\n    }) {scatter_dimension_numbers = "
              "#stablehlo.scatter<",
              op < 4 ? "%r" : "%q", type);
  hlo_gen_put_list(g, "update_window_dims", n.windows, n.window_count);
  hlo_gen_put_list(g, "inserted_window_dims", n.gone, n.gone_count);
  hlo_gen_put_list(g, "input_batching_dims", n.batches, n.batch_count);
  hlo_gen_put_list(g, "scatter_indices_batching_dims", n.indices_batches, n.batch_count);
  hlo_gen_put_list(g, "scatter_dims_to_operand_dims", n.indexed, n.indexed_count);
  hlo_gen_put(g, "index_vector_dim = %lld>, indices_are_sorted = false, unique_indices = false}",
              (long long)n.vector_dim);
  hlo_gen_put_types(g, 3, three, &input);
  input.bound = op == 2 ? bound : fmax(input.bound, g->shapes[u].bound);
  hlo_gen_add(g, &input);
}

// ---- windows

typedef struct hlo_gen_window {
  int64_t size, stride, in_dilation, dilation, low, high, out;
} hlo_gen_window_t;

// Chooses a window of a dimension; one that covers all elements so far is a cumulative sum.
static inline hlo_gen_window_t hlo_gen_choose_window(hlo_generator_t* g, int64_t size) {
  hlo_gen_window_t w = {1, 1, 1, 1, 0, 0, size};
  const uint32_t kind = hlo_gen_below(g, 4);
  if (kind == 0) return w;
  if (kind == 1) {
    const bool from_end = hlo_gen_below(g, 4) == 0;
    w.size = size;
    *(from_end ? &w.high : &w.low) = size - 1;
    return w;
  }
  w.size = 1 + hlo_gen_below(g, 4);
  if (hlo_gen_below(g, 2)) w.stride = 1 + hlo_gen_below(g, 3);
  if (hlo_gen_below(g, 4) == 0) w.in_dilation = 2;
  if (hlo_gen_below(g, 4) == 0) w.dilation = 2;
  w.low = hlo_gen_below(g, 3);
  w.high = hlo_gen_below(g, 3);
  const int64_t reach = (w.size - 1) * w.dilation + 1;
  int64_t padded = (size - 1) * w.in_dilation + 1 + w.low + w.high;
  if (padded < reach) {
    w.high += reach - padded;
    padded = reach;
  }
  w.out = (padded - reach) / w.stride + 1;
  return w;
}

static inline void hlo_gen_put_windows(hlo_generator_t* g, const hlo_gen_window_t* w,
                                       uint32_t rank) {
  int64_t values[4][HLO_GEN_RANK_MAX];
  for (uint32_t d = 0; d < rank; ++d) {
    values[0][d] = w[d].size;
    values[1][d] = w[d].stride;
    values[2][d] = w[d].in_dilation;
    values[3][d] = w[d].dilation;
  }
  hlo_gen_put_array(g, "window_dimensions", values[0], rank);
  hlo_gen_put(g, ", ");
  hlo_gen_put_array(g, "window_strides", values[1], rank);
  hlo_gen_put(g, ", ");
  hlo_gen_put_array(g, "base_dilations", values[2], rank);
  hlo_gen_put(g, ", ");
  hlo_gen_put_array(g, "window_dilations", values[3], rank);
  hlo_gen_put(g, ", padding = dense<[");
  for (uint32_t d = 0; d < rank; ++d) {
    hlo_gen_put(g, "%s[%lld, %lld]", d ? ", " : "", (long long)w[d].low, (long long)w[d].high);
  }
  hlo_gen_put(g, "]> : tensor<%ux2xi64>", rank);
}

static inline void hlo_gen_reduce_window(hlo_generator_t* g, uint32_t v) {
  hlo_gen_shape_t to = g->shapes[v];
  hlo_gen_window_t windows[HLO_GEN_RANK_MAX];
  double terms = 1;
  if (!to.rank) return;
  for (uint32_t d = 0; d < to.rank; ++d) {
    windows[d] = hlo_gen_choose_window(g, to.dims[d]);
    to.dims[d] = windows[d].out;
    terms *= (double)windows[d].size;
  }
  if (terms > 64 || hlo_gen_count(&to) > HLO_GEN_ELEMENTS_MAX) return;
  const bool is_sum = hlo_gen_can_sum(&to, terms) && hlo_gen_below(g, 2);
  to.bound = is_sum ? to.bound * terms : fmax(to.bound, 16);
  const char* type = hlo_gen_dtype_name(to.dtype);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g,
              "\"stablehlo.reduce_window\"(%%v%u, %%%s_%s) ({\n    ^bb0(%%p: tensor<%s>, %%q: ", v,
              is_sum ? "zero" : "low", type, type);
  if (!is_sum && hlo_gen_below(g, 3) == 0) {  // the maximum, as a body that is not known
    hlo_gen_put(g,
                "tensor<%s>):\n      %%c = stablehlo.compare GE, %%p, %%q : (tensor<%s>, "
                "tensor<%s>) -> tensor<i1>\n      %%r = stablehlo.select %%c, %%p, %%q : "
                "tensor<i1>, tensor<%s>\n",
                type, type, type, type);
  } else {
    hlo_gen_put(g, "tensor<%s>):\n      %%r = stablehlo.%s %%p, %%q : tensor<%s>\n", type,
                is_sum ? "add" : "maximum", type);
  }
  hlo_gen_put(g, "      stablehlo.return %%r : tensor<%s>\n    }) {", type);
  hlo_gen_put_windows(g, windows, to.rank);
  hlo_gen_put(g, "} : (");
  hlo_gen_put_type(g, &g->shapes[v]);
  hlo_gen_put(g, ", tensor<%s>) -> ", type);
  hlo_gen_put_type(g, &to);
  hlo_gen_add(g, &to);
}

// The gradient of a pooling of maxima.
static inline void hlo_gen_select_and_scatter(hlo_generator_t* g, uint32_t v) {
  hlo_gen_shape_t to = g->shapes[v], source = to;
  hlo_gen_window_t windows[HLO_GEN_RANK_MAX];
  double terms = 1;
  if (!to.rank || to.dtype == HLO_GEN_PRED) return;
  for (uint32_t d = 0; d < to.rank; ++d) {
    const int64_t size = 1 + hlo_gen_below(g, 3), stride = 1 + hlo_gen_below(g, 3),
                  low = hlo_gen_below(g, 2);
    windows[d] = (hlo_gen_window_t){.size = size, .stride = stride, .low = low};
    windows[d].high = hlo_gen_below(g, 2);
    while (to.dims[d] + windows[d].low + windows[d].high < size) ++windows[d].high;
    source.dims[d] = (to.dims[d] + windows[d].low + windows[d].high - size) / stride + 1;
    terms *= (double)size;
  }
  const uint32_t w = hlo_gen_make(g, &source);
  if (!hlo_gen_can_sum(&g->shapes[w], terms)) {
    hlo_gen_put(g, "\n");
    return;
  }
  const char* type = hlo_gen_dtype_name(to.dtype);
  int64_t values[2][HLO_GEN_RANK_MAX];
  for (uint32_t d = 0; d < to.rank; ++d) {
    values[0][d] = windows[d].size;
    values[1][d] = windows[d].stride;
  }
  hlo_gen_begin(g, 1);
  hlo_gen_put(
      g,
      "\"stablehlo.select_and_scatter\"(%%v%u, %%v%u, %%zero_%s) ({\n    ^bb0(%%p: tensor<%s>, "
      "%%q: tensor<%s>):\n      %%r = stablehlo.compare GE, %%p, %%q : (tensor<%s>, tensor<%s>) -> "
      "tensor<i1>\n      stablehlo.return %%r : tensor<i1>\n    }, {\n",
      v, w, type, type, type, type, type);
  hlo_gen_put(g,
              "    ^bb0(%%p: tensor<%s>, %%q: tensor<%s>):\n      %%r = stablehlo.add %%p, %%q : "
              "tensor<%s>\n      stablehlo.return %%r : tensor<%s>\n    }) {",
              type, type, type, type);
  hlo_gen_put_array(g, "window_dimensions", values[0], to.rank);
  hlo_gen_put(g, ", ");
  hlo_gen_put_array(g, "window_strides", values[1], to.rank);
  hlo_gen_put(g, ", padding = dense<[");
  for (uint32_t d = 0; d < to.rank; ++d) {
    hlo_gen_put(g, "%s[%lld, %lld]", d ? ", " : "", (long long)windows[d].low,
                (long long)windows[d].high);
  }
  hlo_gen_put(g, "]> : tensor<%ux2xi64>} : (", to.rank);
  hlo_gen_put_type(g, &to);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &g->shapes[w]);
  hlo_gen_put(g, ", tensor<%s>) -> ", type);
  hlo_gen_put_type(g, &to);
  to.bound = g->shapes[w].bound * terms;
  hlo_gen_add(g, &to);
}

// ---- convolutions

typedef struct hlo_gen_conv {
  uint32_t spatial;
  uint32_t dims[3][HLO_GEN_RANK_MAX];  // of input, kernel, output: batch, feature, spatial
  int64_t features, feature_groups, batch_groups;
  hlo_gen_window_t windows[2];
  hlo_gen_shape_t kernel, out;
} hlo_gen_conv_t;

static inline void hlo_gen_shuffle(hlo_generator_t* g, uint32_t* values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) values[i] = i;
  for (uint32_t i = count; i > 1; --i) {
    const uint32_t k = hlo_gen_below(g, i), t = values[k];
    values[k] = values[i - 1];
    values[i - 1] = t;
  }
}

static inline void hlo_gen_put_conv_dims(hlo_generator_t* g, const uint32_t* dims, uint32_t rank,
                                         const char* letters) {
  for (uint32_t d = 0; d < rank; ++d) {
    uint32_t at = 0;
    while (dims[at] != d) ++at;
    if (d) hlo_gen_put(g, ", ");
    if (at < 2) {
      hlo_gen_put(g, "%c", letters[at]);
    } else {
      hlo_gen_put(g, "%u", at - 2);
    }
  }
}

static inline void hlo_gen_put_conv_window(hlo_generator_t* g, const hlo_gen_conv_t* c) {
  static const char* const names[] = {"stride", "pad", "lhs_dilate", "rhs_dilate"};
  for (uint32_t k = 0; k < 4; ++k) {
    hlo_gen_put(g, "%s%s = [", k ? ", " : "", names[k]);
    for (uint32_t i = 0; i < c->spatial; ++i) {
      const hlo_gen_window_t* w = &c->windows[i];
      const int64_t value = k == 0 ? w->stride : k == 2 ? w->in_dilation : w->dilation;
      if (i) hlo_gen_put(g, ", ");
      if (k == 1) {
        hlo_gen_put(g, "[%lld, %lld]", (long long)w->low, (long long)w->high);
      } else {
        hlo_gen_put(g, "%lld", (long long)value);
      }
    }
    hlo_gen_put(g, "]");
  }
  if (hlo_gen_below(g, 4) == 0)
    hlo_gen_put(g, c->spatial == 2 ? ", reverse = [true, false]" : ", reverse = [true]");
}

// Chooses groups, windows and shapes; returns the number of terms of a sum.
static inline double hlo_gen_choose_conv(hlo_generator_t* g, const hlo_gen_shape_t* in,
                                         hlo_gen_conv_t* c) {
  c->spatial = in->rank - 2;
  for (uint32_t k = 0; k < 3; ++k) hlo_gen_shuffle(g, c->dims[k], in->rank);
  const int64_t batch = in->dims[c->dims[0][0]], features = in->dims[c->dims[0][1]];
  c->feature_groups = c->batch_groups = 1;
  const uint32_t kind = hlo_gen_below(g, 3);
  if (kind == 0 && features % 2 == 0) c->feature_groups = hlo_gen_below(g, 2) ? features : 2;
  if (kind == 1 && batch % 2 == 0) c->batch_groups = hlo_gen_below(g, 2) ? batch : 2;
  c->features = c->feature_groups * c->batch_groups * (1 + hlo_gen_below(g, 4));
  c->kernel = c->out = *in;
  c->kernel.dims[c->dims[1][0]] = c->features;
  c->kernel.dims[c->dims[1][1]] = features / c->feature_groups;
  c->out.dims[c->dims[2][0]] = batch / c->batch_groups;
  c->out.dims[c->dims[2][1]] = c->features;
  double terms = (double)(features / c->feature_groups);
  for (uint32_t i = 0; i < c->spatial; ++i) {
    c->windows[i] = hlo_gen_choose_window(g, in->dims[c->dims[0][2 + i]]);
    c->kernel.dims[c->dims[1][2 + i]] = c->windows[i].size;
    c->out.dims[c->dims[2][2 + i]] = c->windows[i].out;
    terms *= (double)c->windows[i].size;
  }
  return terms;
}

static inline void hlo_gen_convolution(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t in = g->shapes[v];
  hlo_gen_conv_t c;
  if (in.rank < 3 || in.dtype == HLO_GEN_PRED) return;
  const double terms = hlo_gen_choose_conv(g, &in, &c);
  if (hlo_gen_count(&c.kernel) > 1024 || hlo_gen_count(&c.out) > HLO_GEN_ELEMENTS_MAX ||
      terms > 128)
    return;
  const uint32_t w = hlo_gen_make(g, &c.kernel);
  if (!hlo_gen_can_sum(&in, g->shapes[w].bound * terms)) {
    hlo_gen_put(g, "\n");
    return;
  }
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "stablehlo.convolution(%%v%u, %%v%u) dim_numbers = [", v, w);
  hlo_gen_put_conv_dims(g, c.dims[0], in.rank, "bf");
  hlo_gen_put(g, "]x[");
  hlo_gen_put_conv_dims(g, c.dims[1], in.rank, "oi");
  hlo_gen_put(g, "]->[");
  hlo_gen_put_conv_dims(g, c.dims[2], in.rank, "bf");
  hlo_gen_put(g, "], window = {");
  hlo_gen_put_conv_window(g, &c);
  hlo_gen_put(g, "} {batch_group_count = %lld : i64, feature_group_count = %lld : i64}",
              (long long)c.batch_groups, (long long)c.feature_groups);
  c.out.bound = in.bound * g->shapes[w].bound * terms;
  hlo_gen_put_types(g, 2, (uint32_t[]){v, w}, &c.out);
  hlo_gen_add(g, &c.out);
}
