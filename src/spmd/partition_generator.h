// SPDX-License-Identifier: Apache-2.0
// Test helper: the state of a generator of random programs, and its text of types, shardings and
// values. Values are called %v0, %v1 ...
//
// Sums must not depend on their order, because devices add partial sums: every value has a bound of
// its integers, and values that are not integers are never summed.
#pragma once

#include <math.h>

#include "spmd/partition_test_util.h"

enum {
  HLO_GEN_RANK_MAX = 4,
  HLO_GEN_VALUES_MAX = 96,
  HLO_GEN_AXES_MAX = 3,
  HLO_GEN_ELEMENTS_MAX = 4096
};

typedef enum hlo_gen_dtype { HLO_GEN_F32, HLO_GEN_BF16, HLO_GEN_S32, HLO_GEN_PRED } hlo_gen_dtype_t;

typedef struct hlo_gen_shape {
  uint32_t rank;
  hlo_gen_dtype_t dtype;
  double bound;  // of absolute values, which are integers; INFINITY: any numbers
  int64_t dims[HLO_GEN_RANK_MAX];
} hlo_gen_shape_t;

typedef struct hlo_generator {
  hlo_test_random_t random;
  hlo_strbuf_t text;
  uint32_t axis_count;
  int64_t axes[HLO_GEN_AXES_MAX];
  bool is_reversed;  // order of the devices in the mesh
  uint32_t channel;
  uint32_t value_count;
  hlo_gen_shape_t shapes[HLO_GEN_VALUES_MAX];
} hlo_generator_t;

// Text between HLO_GEN_PARTS and HLO_GEN_WHOLE is of the program for many devices only, that up to
// HLO_GEN_BOTH of the program for one device.
#define HLO_GEN_PARTS "\x01"
#define HLO_GEN_WHOLE "\x02"
#define HLO_GEN_BOTH "\x03"

static inline uint32_t hlo_gen_below(hlo_generator_t* g, uint32_t bound) {
  return hlo_test_below(&g->random, bound);
}

static inline int64_t hlo_gen_size(hlo_generator_t* g) {
  static const int64_t sizes[] = {1, 2, 3, 4, 4, 5, 6, 7, 8, 8, 10, 12, 16};
  return sizes[hlo_gen_below(g, sizeof sizes / sizeof *sizes)];
}

#define hlo_gen_put(g, ...) hlo_strbuf_printf(&(g)->text, __VA_ARGS__)

static inline const char* hlo_gen_dtype_name(hlo_gen_dtype_t dtype) {
  static const char* const names[] = {"f32", "bf16", "i32", "i1"};
  return names[dtype];
}

static inline int64_t hlo_gen_count(const hlo_gen_shape_t* shape) {
  int64_t count = 1;
  for (uint32_t d = 0; d < shape->rank; ++d) count *= shape->dims[d];
  return count;
}

static inline bool hlo_gen_is_float(const hlo_gen_shape_t* shape) {
  return shape->dtype == HLO_GEN_F32 || shape->dtype == HLO_GEN_BF16;
}

/// Returns true if `count` values can be added in any order with the same result.
static inline bool hlo_gen_can_sum(const hlo_gen_shape_t* shape, double count) {
  if (shape->dtype == HLO_GEN_S32) return true;
  if (shape->dtype == HLO_GEN_PRED) return false;
  return shape->bound * count <= (shape->dtype == HLO_GEN_F32 ? 1 << 23 : 1 << 7);
}

// ---- text

static inline void hlo_gen_put_ints(hlo_generator_t* g, const int64_t* values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) hlo_gen_put(g, i ? ", %lld" : "%lld", (long long)values[i]);
}

/// Puts name = array<i64: 1, 2>.
static inline void hlo_gen_put_array(hlo_generator_t* g, const char* name, const int64_t* values,
                                     uint32_t count) {
  hlo_gen_put(g, count ? "%s = array<i64: " : "%s = array<i64", name);
  hlo_gen_put_ints(g, values, count);
  hlo_gen_put(g, ">");
}

static inline void hlo_gen_put_type(hlo_generator_t* g, const hlo_gen_shape_t* shape) {
  hlo_gen_put(g, "tensor<");
  for (uint32_t d = 0; d < shape->rank; ++d) hlo_gen_put(g, "%lldx", (long long)shape->dims[d]);
  hlo_gen_put(g, "%s>", hlo_gen_dtype_name(shape->dtype));
}

static inline void hlo_gen_put_scalar(hlo_generator_t* g, hlo_gen_dtype_t dtype) {
  hlo_gen_put(g, "tensor<%s>", hlo_gen_dtype_name(dtype));
}

/// Puts (T, T) -> T of values and one result.
static inline void hlo_gen_put_types(hlo_generator_t* g, uint32_t count, const uint32_t* values,
                                     const hlo_gen_shape_t* result) {
  hlo_gen_put(g, " : (");
  for (uint32_t i = 0; i < count; ++i) {
    if (i) hlo_gen_put(g, ", ");
    hlo_gen_put_type(g, &g->shapes[values[i]]);
  }
  hlo_gen_put(g, ") -> ");
  hlo_gen_put_type(g, result);
}

static inline void hlo_gen_put_sharding(hlo_generator_t* g, const hlo_gen_shape_t* shape,
                                        bool must_fit) {
  bool used[HLO_GEN_AXES_MAX] = {false};
  hlo_gen_put(g, "<@mesh, [");
  for (uint32_t d = 0; d < shape->rank; ++d) {
    hlo_gen_put(g, d ? ", {" : "{");
    int64_t parts = 1;
    uint32_t count = 0;
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t axis = hlo_gen_below(g, g->axis_count);
      const bool fits = shape->dims[d] % (parts * g->axes[axis]) == 0;
      if (used[axis] || (must_fit && !fits) || hlo_gen_below(g, 2) == 0) continue;
      used[axis] = true;
      parts *= g->axes[axis];
      hlo_gen_put(g, count++ ? ", \"%c\"" : "\"%c\"", 'a' + axis);
    }
    if (hlo_gen_below(g, 3) == 0) hlo_gen_put(g, count ? ", ?" : "?");
    hlo_gen_put(g, "}");
  }
  hlo_gen_put(g, "]>");
}

// ---- values

static inline uint32_t hlo_gen_add(hlo_generator_t* g, const hlo_gen_shape_t* shape) {
  assert_true(g->value_count < HLO_GEN_VALUES_MAX);
  g->shapes[g->value_count] = *shape;
  return g->value_count++;
}

/// Begins an op whose results are the next values.
static inline void hlo_gen_begin(hlo_generator_t* g, uint32_t results) {
  for (uint32_t i = 0; i < results; ++i)
    hlo_gen_put(g, i ? ", %%v%u" : "    %%v%u", g->value_count + i);
  hlo_gen_put(g, " = ");
}

static inline bool hlo_gen_is_alike(const hlo_gen_shape_t* a, const hlo_gen_shape_t* b,
                                    bool same_dtype) {
  return a->rank == b->rank && (!same_dtype || a->dtype == b->dtype) &&
         memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/// Returns a value of a shape; UINT32_MAX if no value has it.
static inline uint32_t hlo_gen_find(hlo_generator_t* g, const hlo_gen_shape_t* shape,
                                    bool same_dtype) {
  const uint32_t first = hlo_gen_below(g, g->value_count);
  for (uint32_t i = 0; i < g->value_count; ++i) {
    const uint32_t v = (first + i) % g->value_count;
    if (hlo_gen_is_alike(&g->shapes[v], shape, same_dtype)) return v;
  }
  return UINT32_MAX;
}

static inline uint32_t hlo_gen_constraint(hlo_generator_t* g, uint32_t v) {
  const hlo_gen_shape_t shape = g->shapes[v];
  hlo_gen_begin(g, 1);
  hlo_gen_put(g, "sdy.sharding_constraint %%v%u ", v);
  hlo_gen_put_sharding(g, &shape, false);
  hlo_gen_put(g, " : ");
  hlo_gen_put_type(g, &shape);
  hlo_gen_put(g, "\n");
  return hlo_gen_add(g, &shape);
}

static inline void hlo_gen_put_elements(hlo_generator_t* g, const hlo_gen_shape_t* shape,
                                        uint32_t dim) {
  if (dim == shape->rank) {
    const int value = (int)hlo_gen_below(g, 13) - 4;
    if (shape->dtype == HLO_GEN_PRED) {
      hlo_gen_put(g, value & 1 ? "true" : "false");
    } else {
      hlo_gen_put(g, hlo_gen_is_float(shape) ? "%d.0" : "%d", value);
    }
    return;
  }
  hlo_gen_put(g, "[");
  for (int64_t i = 0; i < shape->dims[dim]; ++i) {
    if (i) hlo_gen_put(g, ", ");
    hlo_gen_put_elements(g, shape, dim + 1);
  }
  hlo_gen_put(g, "]");
}

/// Makes a value of a shape: one of those that there are, a constant, or a count along a dimension
/// from a number that is known only when the program runs.
static inline uint32_t hlo_gen_make(hlo_generator_t* g, const hlo_gen_shape_t* wanted) {
  hlo_gen_shape_t shape = *wanted;
  uint32_t v = hlo_gen_below(g, 2) ? hlo_gen_find(g, &shape, true) : UINT32_MAX;
  shape.bound = 8;
  if (v == UINT32_MAX && (shape.dtype == HLO_GEN_PRED || !shape.rank ||
                          (hlo_gen_count(&shape) <= 64 && hlo_gen_below(g, 2)))) {
    hlo_gen_begin(g, 1);
    hlo_gen_put(g, "stablehlo.constant dense<");
    hlo_gen_put_elements(g, &shape, 0);
    hlo_gen_put(g, "> : ");
    hlo_gen_put_type(g, &shape);
    hlo_gen_put(g, "\n");
    v = hlo_gen_add(g, &shape);
  } else if (v == UINT32_MAX) {
    hlo_gen_begin(g, 1);
    hlo_gen_put(g, "stablehlo.iota dim = %u : ", hlo_gen_below(g, shape.rank));
    hlo_gen_put_type(g, &shape);
    hlo_gen_put(
        g,
        "\n    %%c%u = stablehlo.convert %%index : (tensor<i32>) -> tensor<%s>\n    %%b%u = "
        "stablehlo.broadcast_in_dim %%c%u, dims = [] : (tensor<%s>) -> ",
        g->value_count, hlo_gen_dtype_name(shape.dtype), g->value_count, g->value_count,
        hlo_gen_dtype_name(shape.dtype));
    hlo_gen_put_type(g, &shape);
    shape.bound = 16;
    const uint32_t count = hlo_gen_add(g, &shape);
    hlo_gen_put(g, "\n");
    hlo_gen_begin(g, 1);
    hlo_gen_put(g, "stablehlo.add %%v%u, %%b%u : ", count, count);
    hlo_gen_put_type(g, &shape);
    hlo_gen_put(g, "\n");
    shape.bound = 19;
    v = hlo_gen_add(g, &shape);
  }
  return hlo_gen_below(g, 2) ? hlo_gen_constraint(g, v) : v;
}
