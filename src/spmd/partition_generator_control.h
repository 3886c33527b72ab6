// SPDX-License-Identifier: Apache-2.0
// Test helper: random loops, branches and manual computations (see partition_generator_ops.h).
#pragma once

#include "spmd/partition_generator_ops.h"

// Puts a few ops that keep the shape of v; returns the last value.
static inline uint32_t hlo_gen_body(hlo_generator_t* g, uint32_t v) {
  static void (*const kinds[])(hlo_generator_t*, uint32_t) = {
      hlo_gen_elementwise, hlo_gen_negate, hlo_gen_put_constraint,
      hlo_gen_reverse,     hlo_gen_roll,   hlo_gen_select,
  };
  const uint32_t count = 1 + hlo_gen_below(g, 3);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t before = g->value_count;
    kinds[hlo_gen_below(g, 6)](g, v);
    if (g->value_count == before) continue;
    hlo_gen_put(g, "\n");
    v = g->value_count - 1;
  }
  return v;
}

static inline void hlo_gen_put_return(hlo_generator_t* g, uint32_t v) {
  hlo_gen_put(g, "      stablehlo.return %%v%u : ", v);
  hlo_gen_put_type(g, &g->shapes[v]);
  hlo_gen_put(g, "\n");
}

// A loop of three iterations that carries two values and uses others.
static inline void hlo_gen_while(hlo_generator_t* g, uint32_t v) {
  const uint32_t outer = g->value_count, w = hlo_gen_below(g, outer);
  hlo_gen_shape_t shapes[2] = {g->shapes[v], g->shapes[w]};
  hlo_gen_put(g,
              "    %%n%u, %%v%u, %%v%u = stablehlo.while(%%k = %%zero_i32, %%v%u = %%v%u, %%v%u = "
              "%%v%u) : tensor<i32>, ",
              outer, outer, outer + 1, outer, v, outer + 1, w);
  for (uint32_t i = 0; i < 2; ++i) {
    if (i) hlo_gen_put(g, ", ");
    hlo_gen_put_type(g, &shapes[i]);
    hlo_gen_add(g, &shapes[i]);
  }
  hlo_gen_put(g,
              "\n    cond {\n      %%c = stablehlo.compare LT, %%k, %%three_i32 : (tensor<i32>, "
              "tensor<i32>) -> tensor<i1>\n      stablehlo.return %%c : tensor<i1>\n    } do {\n");
  uint32_t results[2];
  for (uint32_t i = 0; i < 2; ++i) results[i] = hlo_gen_body(g, outer + i);
  hlo_gen_put(
      g,
      "      %%one = stablehlo.constant dense<1> : tensor<i32>\n      %%next = stablehlo.add "
      "%%k, %%one : tensor<i32>\n      stablehlo.return %%next, %%v%u, %%v%u : tensor<i32>, ",
      results[0], results[1]);
  hlo_gen_put_type(g, &shapes[0]);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &shapes[1]);
  hlo_gen_put(g, "\n    }");
  double largest = 0;
  for (uint32_t i = 0; i < g->value_count; ++i) largest = fmax(largest, g->shapes[i].bound);
  g->value_count = outer;
  for (uint32_t i = 0; i < 2; ++i) {
    shapes[i].bound = shapes[i].dtype == HLO_GEN_PRED ? 1 : 512 * largest;
    hlo_gen_add(g, &shapes[i]);
  }
}

// A loop over the slices of a value along a dimension, which it carries or uses from outside.
static inline void hlo_gen_scan(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  if (!from.rank) return;
  const uint32_t dim = hlo_gen_below(g, from.rank), n = g->value_count;
  const bool is_carried = hlo_gen_below(g, 2), is_back = hlo_gen_below(g, 2);
  hlo_gen_shape_t slice = from;
  slice.dims[dim] = 1;
  const char* dtype = hlo_gen_dtype_name(from.dtype);
  hlo_gen_put(g,
              "    %%e%u = stablehlo.constant dense<%lld> : tensor<i32>\n    %%b%u = "
              "stablehlo.broadcast_in_dim %%zero_%s, dims = [] : (tensor<%s>) -> ",
              n, (long long)from.dims[dim], n, dtype, dtype);
  hlo_gen_put_type(g, &slice);
  hlo_gen_put(g, "\n    %%n%u, %%v%u, %%v%u = stablehlo.while(%%k = %%zero_i32, %%a = %%b%u, ", n,
              n, n + 1, n);
  hlo_gen_put(g, "%%s = %%v%u) : tensor<i32>, ", v);
  hlo_gen_put_type(g, &slice);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g,
              "\n    cond {\n      %%c = stablehlo.compare LT, %%k, %%e%u : (tensor<i32>, "
              "tensor<i32>) -> tensor<i1>\n      stablehlo.return %%c : tensor<i1>\n    } do {\n",
              n);
  hlo_gen_put(g,
              "      %%one = stablehlo.constant dense<1> : tensor<i32>\n      %%next = "
              "stablehlo.add %%k, %%one : tensor<i32>\n      %%from_end = stablehlo.subtract "
              "%%e%u, %%next : tensor<i32>\n      %%x = stablehlo.dynamic_slice ",
              n);
  if (is_carried) {
    hlo_gen_put(g, "%%s");
  } else {
    hlo_gen_put(g, "%%v%u", v);
  }
  for (uint32_t d = 0; d < from.rank; ++d) {
    hlo_gen_put(g, d != dim ? ", %%zero_i32" : is_back ? ", %%from_end" : ", %%k");
  }
  hlo_gen_put(g, ", sizes = [");
  hlo_gen_put_ints(g, slice.dims, slice.rank);
  hlo_gen_put(g, "] : (");
  hlo_gen_put_type(g, &from);
  for (uint32_t d = 0; d < from.rank; ++d) hlo_gen_put(g, ", tensor<i32>");
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, &slice);
  hlo_gen_put(
      g, "\n      %%y = stablehlo.%s %%a, %%x : ", hlo_gen_can_sum(&from, 16) ? "add" : "maximum");
  hlo_gen_put_type(g, &slice);
  hlo_gen_put(g, "\n      stablehlo.return %%next, %%y, %%s : tensor<i32>, ");
  hlo_gen_put_type(g, &slice);
  hlo_gen_put(g, ", ");
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, "\n    }");
  slice.bound *= hlo_gen_can_sum(&from, 16) ? (double)from.dims[dim] : 1;
  hlo_gen_add(g, &slice);
  hlo_gen_add(g, &from);
}

static inline void hlo_gen_branches(hlo_generator_t* g, uint32_t v) {
  const uint32_t outer = g->value_count, count = 2 + hlo_gen_below(g, 2);
  hlo_gen_shape_t shape = g->shapes[v];
  const bool is_case = count > 2;
  if (!is_case) {
    hlo_gen_put(
        g,
        "    %%c%u = stablehlo.compare LT, %%index, %%zero_i32 : (tensor<i32>, tensor<i32>) -> "
        "tensor<i1>\n",
        outer);
  }
  hlo_gen_begin(g, 1);
  if (is_case) {
    hlo_gen_put(g, "\"stablehlo.case\"(%%index) (");
  } else {
    hlo_gen_put(g, "\"stablehlo.if\"(%%c%u) (", outer);
  }
  for (uint32_t i = 0; i < count; ++i) {
    hlo_gen_put(g, i ? ", {\n" : "{\n");
    // The number of the result is not yet defined inside.
    hlo_gen_add(g, &(hlo_gen_shape_t){.rank = HLO_GEN_RANK_MAX, .dims = {-1, -1, -1, -1}});
    const uint32_t result = hlo_gen_body(g, v);
    shape.bound = fmax(shape.bound, g->shapes[result].bound);
    hlo_gen_put_return(g, result);
    hlo_gen_put(g, "    }");
    g->value_count = outer;
  }
  hlo_gen_put(g, ") : (%s) -> ", is_case ? "tensor<i32>" : "tensor<i1>");
  hlo_gen_put_type(g, &shape);
  hlo_gen_add(g, &shape);
}

// ---- manual computations

// Returns the device at a position of the mesh.
static inline int64_t hlo_gen_device(const hlo_generator_t* g, int64_t position) {
  int64_t devices = 1;
  for (uint32_t i = 0; i < g->axis_count; ++i) devices *= g->axes[i];
  return g->is_reversed ? devices - 1 - position : position;
}

// Puts the groups along an axis, or the pairs of each device with the next one.
static inline void hlo_gen_put_groups(hlo_generator_t* g, uint32_t axis, bool pairs) {
  int64_t stride = 1, devices = 1;
  for (uint32_t i = 0; i < g->axis_count; ++i) {
    devices *= g->axes[i];
    if (i > axis) stride *= g->axes[i];
  }
  const int64_t size = g->axes[axis];
  hlo_gen_put(g, "dense<[");
  bool is_first = true;
  for (int64_t p = 0; p < devices; ++p) {
    const int64_t at = p / stride % size;
    if (!pairs && at) continue;
    hlo_gen_put(g, is_first ? "[" : ", [");
    is_first = false;
    if (pairs) {
      const int64_t next = p + ((at + 1) % size - at) * stride;
      hlo_gen_put(g, "%lld, %lld", (long long)hlo_gen_device(g, p),
                  (long long)hlo_gen_device(g, next));
    }
    for (int64_t i = 0; !pairs && i < size; ++i) {
      hlo_gen_put(g, i ? ", %lld" : "%lld", (long long)hlo_gen_device(g, p + i * stride));
    }
    hlo_gen_put(g, "]");
  }
  hlo_gen_put(g, "]> : tensor<%lldx%lldxi64>", (long long)(pairs ? devices : devices / size),
              (long long)(pairs ? 2 : size));
}

static inline void hlo_gen_put_dim_sharding(hlo_generator_t* g, uint32_t rank, uint32_t dim,
                                            uint32_t axis) {
  hlo_gen_put(g, "<@mesh, [");
  for (uint32_t d = 0; d < rank; ++d) {
    hlo_gen_put(g, d ? ", " : "");
    if (d == dim) {
      hlo_gen_put(g, "{\"%c\"}", 'a' + axis);
    } else {
      hlo_gen_put(g, "{}");
    }
  }
  hlo_gen_put(g, "]>");
}

typedef enum hlo_gen_manual {
  HLO_GEN_NEGATE,
  HLO_GEN_SUM,
  HLO_GEN_GATHER,
  HLO_GEN_SHIFT,
  HLO_GEN_MANUAL_COUNT
} hlo_gen_manual_t;

static inline void hlo_gen_put_manual_op(hlo_generator_t* g, hlo_gen_manual_t kind, uint32_t axis,
                                         uint32_t dim, const hlo_gen_shape_t* in,
                                         const hlo_gen_shape_t* out) {
  static const char* const names[] = {"negate", "all_reduce", "all_gather", "collective_permute"};
  hlo_gen_put(g, "      %%b = \"stablehlo.%s\"(%%a)", names[kind]);
  if (kind == HLO_GEN_SUM) {
    const char* type = hlo_gen_dtype_name(in->dtype);
    hlo_gen_put(
        g,
        " ({\n      ^bb0(%%p: tensor<%s>, %%q: tensor<%s>):\n        %%r = stablehlo.add %%p, "
        "%%q : tensor<%s>\n        stablehlo.return %%r : tensor<%s>\n      })",
        type, type, type, type);
  }
  if (kind != HLO_GEN_NEGATE) {
    hlo_gen_put(g, " {%s = ", kind == HLO_GEN_SHIFT ? "source_target_pairs" : "replica_groups");
    hlo_gen_put_groups(g, axis, kind == HLO_GEN_SHIFT);
    hlo_gen_put(g, ", channel_handle = #stablehlo.channel_handle<handle = %u, type = 1>",
                ++g->channel);
    if (kind == HLO_GEN_GATHER) hlo_gen_put(g, ", all_gather_dim = %u : i64", dim);
    if (kind != HLO_GEN_SHIFT) hlo_gen_put(g, ", use_global_device_ids");
    hlo_gen_put(g, "}");
  }
  hlo_gen_put(g, " : (");
  hlo_gen_put_type(g, in);
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, out);
  hlo_gen_put(g, "\n      sdy.return %%b : ");
  hlo_gen_put_type(g, out);
  hlo_gen_put(g, "\n    } : (");
}

// Puts an op over all parts that does what a manual op does.
static inline void hlo_gen_put_whole_op(hlo_generator_t* g, hlo_gen_manual_t kind, int64_t parts,
                                        uint32_t dim, uint32_t v, const hlo_gen_shape_t* to) {
  const hlo_gen_shape_t from = g->shapes[v];
  const uint32_t n = g->value_count;
  const int64_t size = from.dims[dim] / parts;
  if (kind == HLO_GEN_SUM) {
    hlo_gen_shape_t split = from;
    memmove(&split.dims[dim + 1], &split.dims[dim], (from.rank - dim) * sizeof *split.dims);
    split.dims[dim] = parts;
    split.dims[dim + 1] = size;
    ++split.rank;
    hlo_gen_put(g, "    %%w%u = stablehlo.reshape %%v%u : (", n, v);
    hlo_gen_put_type(g, &from);
    hlo_gen_put(g, ") -> ");
    hlo_gen_put_type(g, &split);
    const char* type = hlo_gen_dtype_name(from.dtype);
    // A collective has no initial value: a sum of -0 remains -0.
    hlo_gen_put(g, "\n    %%z%u = stablehlo.constant dense<%s> : tensor<%s>\n", n,
                hlo_gen_is_float(&from) ? "-0.0" : "0", type);
    hlo_gen_put(g,
                "    %%v%u = stablehlo.reduce(%%w%u init: %%z%u) applies stablehlo.add across "
                "dimensions = [%u] : (",
                n, n, n, dim);
    hlo_gen_put_type(g, &split);
    hlo_gen_put(g, ", tensor<%s>) -> ", type);
  } else if (kind == HLO_GEN_SHIFT) {
    for (uint32_t k = 0; k < 2; ++k) {
      hlo_gen_shape_t part = from;
      const int64_t cut = from.dims[dim] - size;
      part.dims[dim] = k ? cut : size;
      hlo_gen_put(g, "    %%w%u_%u = stablehlo.slice %%v%u [", n, k, v);
      for (uint32_t d = 0; d < from.rank; ++d) {
        const int64_t first = d == dim && !k ? cut : 0, limit = d == dim && k ? cut : from.dims[d];
        hlo_gen_put(g, d ? ", %lld:%lld" : "%lld:%lld", (long long)first, (long long)limit);
      }
      hlo_gen_put(g, "] : (");
      hlo_gen_put_type(g, &from);
      hlo_gen_put(g, ") -> ");
      hlo_gen_put_type(g, &part);
      hlo_gen_put(g, "\n");
    }
    hlo_gen_shape_t part = from;
    part.dims[dim] = size;
    hlo_gen_put(g, "    %%v%u = stablehlo.concatenate %%w%u_0, %%w%u_1, dim = %u : (", n, n, n,
                dim);
    hlo_gen_put_type(g, &part);
    hlo_gen_put(g, ", ");
    part.dims[dim] = from.dims[dim] - size;
    hlo_gen_put_type(g, &part);
    hlo_gen_put(g, ") -> ");
  } else {
    hlo_gen_put(g, "    %%v%u = stablehlo.%s %%v%u : (", n,
                kind == HLO_GEN_NEGATE ? "negate" : "reshape", v);
    hlo_gen_put_type(g, &from);
    hlo_gen_put(g, ") -> ");
  }
  hlo_gen_put_type(g, to);
}

// A computation that is manual over one axis of the mesh, with a collective inside.
static inline void hlo_gen_manual_computation(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t from = g->shapes[v];
  const uint32_t axis = hlo_gen_below(g, g->axis_count);
  const hlo_gen_manual_t kind = hlo_gen_below(g, HLO_GEN_MANUAL_COUNT);
  const int64_t parts = g->axes[axis];
  if (!from.rank || from.dtype == HLO_GEN_PRED || parts == 1) return;
  const uint32_t dim = hlo_gen_below(g, from.rank);
  if (from.dims[dim] % parts) return;
  if (kind == HLO_GEN_SUM &&
      (from.rank == HLO_GEN_RANK_MAX || !hlo_gen_can_sum(&from, (double)parts)))
    return;
  hlo_gen_shape_t in = from, out = from, to = from;
  in.dims[dim] /= parts;
  if (kind != HLO_GEN_GATHER) out = in;
  if (kind == HLO_GEN_SUM) {
    to = in;
    to.bound *= (double)parts;
  }
  const bool is_whole = kind == HLO_GEN_SUM || kind == HLO_GEN_GATHER;
  hlo_gen_put(g, HLO_GEN_PARTS);
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "sdy.manual_computation(%%v%u) in_shardings=[", v);
  hlo_gen_put_dim_sharding(g, from.rank, dim, axis);
  hlo_gen_put(g, "] out_shardings=[");
  hlo_gen_put_dim_sharding(g, from.rank, is_whole ? UINT32_MAX : dim, axis);
  hlo_gen_put(g, "] manual_axes={\"%c\"} (%%a: ", 'a' + axis);
  hlo_gen_put_type(g, &in);
  hlo_gen_put(g, ") {\n");
  hlo_gen_put_manual_op(g, kind, axis, dim, &in, &out);
  hlo_gen_put_type(g, &from);
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, &to);
  hlo_gen_put(g, HLO_GEN_WHOLE);
  hlo_gen_put_whole_op(g, kind, parts, dim, v, &to);
  hlo_gen_put(g, HLO_GEN_BOTH);
  hlo_gen_add(g, &to);
}
