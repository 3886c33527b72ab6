// SPDX-License-Identifier: Apache-2.0
// Random programs over random meshes with random shardings: every device computes its part of what
// one device computes. HLOCC_TEST_PROGRAMS=N runs N of them, HLOCC_TEST_SEED=N begins with the N-th.
#include <stdlib.h>

#include "spmd/partition_test_util.h"

enum { PROGRAMS = 300, OPS_MAX = 12, RANK_MAX = 4 };

typedef struct shape {
  uint32_t rank;
  int64_t dims[RANK_MAX];
} shape_t;

typedef struct generator {
  hlo_test_random_t random;
  hlo_strbuf_t text;
  uint32_t axis_count;
  int64_t axes[3];
  uint32_t value_count;
  shape_t shapes[64];
} generator_t;

static uint32_t below(generator_t* g, uint32_t bound) {
  return hlo_test_below(&g->random, bound);
}

static int64_t random_size(generator_t* g) {
  static const int64_t sizes[] = {1, 2, 3, 4, 4, 6, 8, 8, 12, 16};
  return sizes[below(g, sizeof sizes / sizeof *sizes)];
}

static void put_type(generator_t* g, const shape_t* shape) {
  hlo_strbuf_puts(&g->text, "tensor<");
  for (uint32_t d = 0; d < shape->rank; ++d) {
    hlo_strbuf_printf(&g->text, "%lldx", (long long)shape->dims[d]);
  }
  hlo_strbuf_puts(&g->text, "f32>");
}

static void put_ints(generator_t* g, const int64_t* values, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_strbuf_printf(&g->text, i ? ", %lld" : "%lld", (long long)values[i]);
  }
}

// Puts "<@mesh, [{"a"}, {"b", ?}]>" of a value; with `must_fit`, parts are of equal size.
static void put_sharding(generator_t* g, const shape_t* shape, bool must_fit) {
  bool used[3] = {false};
  hlo_strbuf_puts(&g->text, "<@mesh, [");
  for (uint32_t d = 0; d < shape->rank; ++d) {
    hlo_strbuf_puts(&g->text, d ? ", {" : "{");
    int64_t parts = 1;
    uint32_t count = 0;
    for (uint32_t k = 0; k < 2; ++k) {
      const uint32_t axis = below(g, g->axis_count);
      const bool fits = shape->dims[d] % (parts * g->axes[axis]) == 0;
      if (used[axis] || (must_fit && !fits) || below(g, 2) == 0) continue;
      used[axis] = true;
      parts *= g->axes[axis];
      hlo_strbuf_printf(&g->text, count++ ? ", \"%c\"" : "\"%c\"", 'a' + axis);
    }
    if (below(g, 3) == 0) hlo_strbuf_puts(&g->text, count ? ", ?" : "?");
    hlo_strbuf_putc(&g->text, '}');
  }
  hlo_strbuf_puts(&g->text, "]>");
}

static uint32_t add_value(generator_t* g, const shape_t* shape) {
  g->shapes[g->value_count] = *shape;
  return g->value_count++;
}

static void begin_op(generator_t* g) {
  hlo_strbuf_printf(&g->text, "    %%v%u = ", g->value_count);
}

// Finds a value of a shape; UINT32_MAX if no value has it.
static uint32_t find_like(generator_t* g, const shape_t* shape) {
  const uint32_t first = below(g, g->value_count);
  for (uint32_t i = 0; i < g->value_count; ++i) {
    const uint32_t v = (first + i) % g->value_count;
    const shape_t* other = &g->shapes[v];
    if (other->rank == shape->rank &&
        memcmp(other->dims, shape->dims, shape->rank * sizeof *shape->dims) == 0) {
      return v;
    }
  }
  return UINT32_MAX;
}

// ---- ops

static void put_elementwise(generator_t* g, uint32_t v) {
  static const char* const names[] = {"add", "maximum", "subtract", "minimum"};
  const shape_t shape = g->shapes[v];
  const uint32_t w = find_like(g, &shape);
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.%s %%v%u, %%v%u : ", names[below(g, 4)], v, w);
  put_type(g, &shape);
  add_value(g, &shape);
}

static void put_constraint(generator_t* g, uint32_t v) {
  const shape_t shape = g->shapes[v];
  begin_op(g);
  hlo_strbuf_printf(&g->text, "sdy.sharding_constraint %%v%u ", v);
  put_sharding(g, &shape, false);
  hlo_strbuf_puts(&g->text, " : ");
  put_type(g, &shape);
  add_value(g, &shape);
}

static void put_transpose(generator_t* g, uint32_t v) {
  const shape_t from = g->shapes[v];
  shape_t to = {from.rank, {0}};
  int64_t order[RANK_MAX] = {0, 1, 2, 3};
  for (uint32_t d = from.rank; d > 1; --d) {
    const uint32_t k = below(g, d);
    const int64_t t = order[k];
    order[k] = order[d - 1];
    order[d - 1] = t;
  }
  for (uint32_t d = 0; d < from.rank; ++d) to.dims[d] = from.dims[order[d]];
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.transpose %%v%u, dims = [", v);
  put_ints(g, order, from.rank);
  hlo_strbuf_puts(&g->text, "] : (");
  put_type(g, &from);
  hlo_strbuf_puts(&g->text, ") -> ");
  put_type(g, &to);
  add_value(g, &to);
}

static void put_broadcast(generator_t* g, uint32_t v) {
  const shape_t from = g->shapes[v];
  if (from.rank == RANK_MAX) return;
  shape_t to = {from.rank + 1, {0}};
  int64_t dims[RANK_MAX];
  const uint32_t at = below(g, to.rank);
  for (uint32_t d = 0; d < from.rank; ++d) {
    dims[d] = d < at ? d : d + 1;
    to.dims[dims[d]] = from.dims[d] == 1 ? random_size(g) : from.dims[d];
  }
  to.dims[at] = random_size(g);
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.broadcast_in_dim %%v%u, dims = [", v);
  put_ints(g, dims, from.rank);
  hlo_strbuf_puts(&g->text, "] : (");
  put_type(g, &from);
  hlo_strbuf_puts(&g->text, ") -> ");
  put_type(g, &to);
  add_value(g, &to);
}

static void put_reduce(generator_t* g, uint32_t v) {
  const shape_t from = g->shapes[v];
  shape_t to = {0};
  int64_t dims[RANK_MAX];
  uint32_t count = 0;
  for (uint32_t d = 0; d < from.rank; ++d) {
    if (below(g, 2)) {
      dims[count++] = d;
    } else {
      to.dims[to.rank++] = from.dims[d];
    }
  }
  const bool is_sum = below(g, 2);
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.reduce(%%v%u init: %s) applies stablehlo.%s across "
                    "dimensions = [", v, is_sum ? "%zero" : "%low", is_sum ? "add" : "maximum");
  put_ints(g, dims, count);
  hlo_strbuf_puts(&g->text, "] : (");
  put_type(g, &from);
  hlo_strbuf_puts(&g->text, ", tensor<f32>) -> ");
  put_type(g, &to);
  add_value(g, &to);
}

// Merges two neighbouring dimensions, or splits one.
static void put_reshape(generator_t* g, uint32_t v) {
  const shape_t from = g->shapes[v];
  shape_t to = from;
  if (from.rank >= 2 && below(g, 2)) {
    const uint32_t at = below(g, from.rank - 1);
    to.dims[at] *= to.dims[at + 1];
    memmove(&to.dims[at + 1], &to.dims[at + 2], (from.rank - at - 2) * sizeof *to.dims);
    --to.rank;
  } else if (from.rank && from.rank < RANK_MAX) {
    const uint32_t at = below(g, from.rank);
    const int64_t factor = from.dims[at] % 4 == 0 && below(g, 2) ? 4 : from.dims[at] % 2 ? 1 : 2;
    memmove(&to.dims[at + 1], &to.dims[at], (from.rank - at) * sizeof *to.dims);
    to.dims[at] = factor;
    to.dims[at + 1] = from.dims[at] / factor;
    ++to.rank;
  }
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.reshape %%v%u : (", v);
  put_type(g, &from);
  hlo_strbuf_puts(&g->text, ") -> ");
  put_type(g, &to);
  add_value(g, &to);
}

static void put_slice(generator_t* g, uint32_t v) {
  const shape_t from = g->shapes[v];
  shape_t to = from;
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.slice %%v%u [", v);
  for (uint32_t d = 0; d < from.rank; ++d) {
    int64_t start = 0, limit = from.dims[d], step = 1;
    if (below(g, 2)) {
      start = below(g, (uint32_t)limit);
      limit = start + 1 + below(g, (uint32_t)(limit - start));
      step = 1 + below(g, 2);
    }
    to.dims[d] = (limit - start + step - 1) / step;
    hlo_strbuf_printf(&g->text, "%s%lld:%lld:%lld", d ? ", " : "", (long long)start,
                      (long long)limit, (long long)step);
  }
  hlo_strbuf_puts(&g->text, "] : (");
  put_type(g, &from);
  hlo_strbuf_puts(&g->text, ") -> ");
  put_type(g, &to);
  add_value(g, &to);
}

static void put_pad(generator_t* g, uint32_t v) {
  const shape_t from = g->shapes[v];
  shape_t to = from;
  int64_t low[RANK_MAX] = {0}, high[RANK_MAX] = {0}, between[RANK_MAX] = {0};
  for (uint32_t d = 0; d < from.rank; ++d) {
    if (below(g, 2)) continue;
    low[d] = (int64_t)below(g, 4) - 1;
    high[d] = below(g, 4);
    between[d] = below(g, 2);
    to.dims[d] = low[d] + high[d] + from.dims[d] + (from.dims[d] - 1) * between[d];
    if (to.dims[d] < 1) high[d] += 1 - to.dims[d], to.dims[d] = 1;
  }
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.pad %%v%u, %%zero, low = [", v);
  put_ints(g, low, from.rank);
  hlo_strbuf_puts(&g->text, "], high = [");
  put_ints(g, high, from.rank);
  hlo_strbuf_puts(&g->text, "], interior = [");
  put_ints(g, between, from.rank);
  hlo_strbuf_puts(&g->text, "] : (");
  put_type(g, &from);
  hlo_strbuf_puts(&g->text, ", tensor<f32>) -> ");
  put_type(g, &to);
  add_value(g, &to);
}

static void put_reverse(generator_t* g, uint32_t v) {
  const shape_t shape = g->shapes[v];
  if (!shape.rank) return;
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.reverse %%v%u, dims = [%u] : ", v,
                    below(g, shape.rank));
  put_type(g, &shape);
  add_value(g, &shape);
}

static void put_concatenate(generator_t* g, uint32_t v) {
  const shape_t from = g->shapes[v];
  if (!from.rank) return;
  const uint32_t w = find_like(g, &from), dim = below(g, from.rank);
  shape_t to = from;
  to.dims[dim] *= 2;
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.concatenate %%v%u, %%v%u, dim = %u : (", v, w, dim);
  put_type(g, &from);
  hlo_strbuf_puts(&g->text, ", ");
  put_type(g, &from);
  hlo_strbuf_puts(&g->text, ") -> ");
  put_type(g, &to);
  add_value(g, &to);
}

static void put_iota(generator_t* g, uint32_t v) {
  const shape_t shape = g->shapes[v];
  if (!shape.rank) return;
  begin_op(g);
  hlo_strbuf_printf(&g->text, "stablehlo.iota dim = %u : ", below(g, shape.rank));
  put_type(g, &shape);
  add_value(g, &shape);
}

// Contracts the last dimension of one value with that of another one.
static void put_dot(generator_t* g, uint32_t v) {
  const shape_t a = g->shapes[v];
  if (!a.rank) return;
  for (uint32_t w = 0; w < g->value_count; ++w) {
    const shape_t b = g->shapes[w];
    if (!b.rank || b.dims[b.rank - 1] != a.dims[a.rank - 1] || a.rank + b.rank - 2 > RANK_MAX) {
      continue;
    }
    shape_t to = {a.rank + b.rank - 2, {0}};
    memcpy(to.dims, a.dims, (a.rank - 1) * sizeof *to.dims);
    memcpy(&to.dims[a.rank - 1], b.dims, (b.rank - 1) * sizeof *to.dims);
    begin_op(g);
    hlo_strbuf_printf(&g->text, "stablehlo.dot_general %%v%u, %%v%u, contracting_dims = [%u] x [%u] "
                      ": (", v, w, a.rank - 1, b.rank - 1);
    put_type(g, &a);
    hlo_strbuf_puts(&g->text, ", ");
    put_type(g, &b);
    hlo_strbuf_puts(&g->text, ") -> ");
    put_type(g, &to);
    add_value(g, &to);
    return;
  }
}

static void put_op(generator_t* g) {
  static void (*const kinds[])(generator_t*, uint32_t) = {
      put_elementwise, put_constraint, put_transpose, put_broadcast, put_reduce, put_reshape,
      put_slice,       put_pad,        put_reverse,   put_concatenate, put_iota, put_dot,
  };
  const uint32_t v = below(g, g->value_count), before = g->value_count;
  int64_t size = 1;
  for (uint32_t d = 0; d < g->shapes[v].rank; ++d) size *= g->shapes[v].dims[d];
  if (size > 4096) return;
  kinds[below(g, sizeof kinds / sizeof *kinds)](g, v);
  if (g->value_count > before) hlo_strbuf_putc(&g->text, '\n');
}

// ---- programs

static void put_mesh(generator_t* g) {
  int64_t left = 8;
  g->axis_count = 1 + below(g, 3);
  for (uint32_t i = 0; i < g->axis_count; ++i) {
    const int64_t sizes[] = {2, 1, 3, 4, 8, 2};
    int64_t size = sizes[below(g, 6)];
    if (size > left) size = 1;
    left /= size;
    g->axes[i] = size;
  }
  int64_t devices = 1;
  for (uint32_t i = 0; i < g->axis_count; ++i) devices *= g->axes[i];
  hlo_strbuf_printf(&g->text, "module attributes {mhlo.num_partitions = %lld : i32} {\n  sdy.mesh "
                    "@mesh = <[", (long long)devices);
  for (uint32_t i = 0; i < g->axis_count; ++i) {
    hlo_strbuf_printf(&g->text, "%s\"%c\"=%lld", i ? ", " : "", 'a' + i, (long long)g->axes[i]);
  }
  hlo_strbuf_putc(&g->text, ']');
  if (below(g, 4) == 0) {  // in reverse
    hlo_strbuf_puts(&g->text, ", device_ids=[");
    for (int64_t i = devices; i-- > 0;) {
      hlo_strbuf_printf(&g->text, i ? "%lld, " : "%lld]", (long long)i);
    }
  }
  hlo_strbuf_puts(&g->text, ">\n");
}

static void put_program(generator_t* g) {
  put_mesh(g);
  const uint32_t args = 1 + below(g, 3);
  hlo_strbuf_puts(&g->text, "  func.func @main(");
  for (uint32_t i = 0; i < args; ++i) {
    shape_t shape = {below(g, RANK_MAX), {0}};
    for (uint32_t d = 0; d < shape.rank; ++d) shape.dims[d] = random_size(g);
    hlo_strbuf_printf(&g->text, i ? ", %%v%u: " : "%%v%u: ", i);
    put_type(g, &shape);
    if (below(g, 4)) {
      hlo_strbuf_puts(&g->text, " {sdy.sharding = #sdy.sharding");
      put_sharding(g, &shape, true);
      hlo_strbuf_putc(&g->text, '}');
    }
    add_value(g, &shape);
  }
  hlo_strbuf_t head = g->text;
  g->text = (hlo_strbuf_t){0};
  const uint32_t ops = 1 + below(g, OPS_MAX);
  for (uint32_t i = 0; i < ops; ++i) put_op(g);
  hlo_strbuf_t body = g->text;
  g->text = head;
  const uint32_t last = g->value_count - 1, other = below(g, g->value_count);
  hlo_strbuf_puts(&g->text, ") -> (");
  put_type(g, &g->shapes[last]);
  hlo_strbuf_puts(&g->text, ", ");
  put_type(g, &g->shapes[other]);
  if (below(g, 2)) {
    hlo_strbuf_puts(&g->text, " {sdy.sharding = #sdy.sharding");
    put_sharding(g, &g->shapes[other], true);
    hlo_strbuf_putc(&g->text, '}');
  }
  hlo_strbuf_puts(&g->text, ") {\n    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n    %low = "
                  "stablehlo.constant dense<-1.0e30> : tensor<f32>\n");
  hlo_strbuf_puts(&g->text, hlo_strbuf_text(&body));
  hlo_strbuf_printf(&g->text, "    return %%v%u, %%v%u : ", last, other);
  put_type(g, &g->shapes[last]);
  hlo_strbuf_puts(&g->text, ", ");
  put_type(g, &g->shapes[other]);
  hlo_strbuf_puts(&g->text, "\n  }\n}\n");
  hlo_strbuf_deinit(&body);
}

static uint32_t number_from_env(const char* name, uint32_t fallback) {
  const char* text = getenv(name);
  return text ? (uint32_t)strtoul(text, NULL, 10) : fallback;
}

static void test_random_programs(void** state) {
  (void)state;
  const uint32_t first = number_from_env("HLOCC_TEST_SEED", 1);
  const uint32_t count = number_from_env("HLOCC_TEST_PROGRAMS", PROGRAMS);
  for (uint32_t seed = first; seed < first + count; ++seed) {
    generator_t g = {.random = {seed * 977u + 13}};
    put_program(&g);
    assert_false(g.text.failed);
    if (getenv("HLOCC_TEST_PRINT")) fprintf(stderr, "seed %u\n%s\n", seed, hlo_strbuf_text(&g.text));
    hlo_test_expect_partitioned(hlo_strbuf_text(&g.text), seed);
    hlo_strbuf_deinit(&g.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
