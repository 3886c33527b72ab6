// SPDX-License-Identifier: Apache-2.0
// Tests that both directions agree: random data movements are followed from an operand to the
// result, and back from the result to the operand.
#include "base/strbuf.h"
#include "codegen/index/tiled.h"
#include "ir/test_util.h"

enum { MAX_RANK = 5, MAX_OPS = 6, MAX_NODES = 8, RUNS = 400 };

typedef struct shape {
  uint32_t rank;
  int64_t dims[MAX_RANK];
} shape_t;

static uint32_t next_random(uint64_t* seed, uint32_t end) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33) % end;
}

static void print_shape(hlo_strbuf_t* out, const shape_t* shape) {
  hlo_strbuf_puts(out, "tensor<");
  for (uint32_t i = 0; i < shape->rank; ++i) {
    hlo_strbuf_printf(out, "%lldx", (long long)shape->dims[i]);
  }
  hlo_strbuf_puts(out, "f32>");
}

// Reshapes: splits a dimension in two, or joins two.
static void reshape(uint64_t* seed, shape_t* shape) {
  uint32_t at = next_random(seed, shape->rank), tail = shape->rank - at - 1;
  int64_t inner = next_random(seed, 2) ? 2 : 3;
  if (shape->rank < MAX_RANK && shape->dims[at] % inner == 0) {
    memmove(&shape->dims[at + 2], &shape->dims[at + 1], tail * sizeof *shape->dims);
    shape->dims[at] /= inner;
    shape->dims[at + 1] = inner;
    ++shape->rank;
  } else if (tail) {
    shape->dims[at] *= shape->dims[at + 1];
    memmove(&shape->dims[at + 1], &shape->dims[at + 2], (tail - 1) * sizeof *shape->dims);
    --shape->rank;
  }
}

// Exchanges two dimensions and prints the permutation.
static void transpose(uint64_t* seed, shape_t* shape, hlo_strbuf_t* dims) {
  uint32_t a = next_random(seed, shape->rank), b = next_random(seed, shape->rank);
  for (uint32_t i = 0; i < shape->rank; ++i) {
    hlo_strbuf_printf(dims, "%s%u", i ? ", " : "", i == a ? b : i == b ? a : i);
  }
  int64_t dim = shape->dims[a];
  shape->dims[a] = shape->dims[b];
  shape->dims[b] = dim;
}

static void broadcast(shape_t* shape, hlo_strbuf_t* dims) {
  for (uint32_t i = 0; i < shape->rank; ++i) hlo_strbuf_printf(dims, "%s%u", i ? ", " : "", i + 1);
  memmove(&shape->dims[1], shape->dims, shape->rank * sizeof *shape->dims);
  shape->dims[0] = 1;
  ++shape->rank;
}

// Prints op number `i` + 1 of the chain.
static void print_op(hlo_strbuf_t* out, uint64_t* seed, uint32_t i, shape_t* shape) {
  static const char* const names[] = {"reshape", "transpose", "reverse", "broadcast_in_dim",
                                      "negate"};
  hlo_strbuf_t dims = {0};
  shape_t from = *shape;
  uint32_t kind = next_random(seed, 5);
  if (kind == 3 && shape->rank == MAX_RANK) kind = 4;
  if (kind == 0) reshape(seed, shape);
  if (kind == 1) transpose(seed, shape, &dims);
  if (kind == 2) hlo_strbuf_printf(&dims, "%u", next_random(seed, shape->rank));
  if (kind == 3) broadcast(shape, &dims);
  hlo_strbuf_printf(out, "  %%%u = stablehlo.%s %%%u", i + 1, names[kind], i);
  if (dims.length) hlo_strbuf_printf(out, ", dims = [%s]", hlo_strbuf_text(&dims));
  hlo_strbuf_puts(out, kind == 2 || kind == 4 ? " : " : " : (");
  if (kind != 2 && kind != 4) {
    print_shape(out, &from);
    hlo_strbuf_puts(out, ") -> ");
  }
  print_shape(out, shape);
  hlo_strbuf_puts(out, "\n");
  hlo_strbuf_deinit(&dims);
}

static hlo_module_t* make_chain(uint64_t* seed) {
  hlo_strbuf_t body = {0}, text = {0};
  shape_t shape = {.rank = 2, .dims = {12, 6}};
  uint32_t count = 1 + next_random(seed, MAX_OPS);
  for (uint32_t i = 0; i < count; ++i) print_op(&body, seed, i, &shape);
  hlo_strbuf_puts(&text, "func.func @main(%0: tensor<12x6xf32>) -> ");
  print_shape(&text, &shape);
  hlo_strbuf_printf(&text, " {\n%s  return %%%u : ", hlo_strbuf_text(&body), count);
  print_shape(&text, &shape);
  hlo_strbuf_puts(&text, "\n}\n");
  hlo_module_t* module = hlo_test_parse(hlo_strbuf_text(&text));
  hlo_strbuf_deinit(&body);
  hlo_strbuf_deinit(&text);
  return module;
}

// Checks an output `to` that depends on `from` element by element.
static void check_both_directions(hlo_tiling_t* t, hlo_value_t* from, hlo_value_t* to) {
  hlo_test_check(hlo_tiling_walk(t, NULL, true));
  assert_false(hlo_verdict_is_no(&t->verdict));
  const hlo_tiled_t* down = t->outputs[0];
  while (down->kind == HLO_TILED_COMPUTE) down = down->operands[0];
  assert_int_equal(down->kind, HLO_TILED_LOAD);
  const hlo_expr_t* index[2] = {hlo_expr_loop(&t->exprs, 10, 0, from->type->dims[0]),
                                hlo_expr_loop(&t->exprs, 11, 0, from->type->dims[1])};
  const hlo_expr_t* const* above = hlo_tiling_index_above(t, from, index, to);
  assert_non_null(above);
  const hlo_expr_t* position = hlo_expr_linearize(&t->exprs, to->type->rank, to->type->dims, above);
  for (int64_t i = 0; i < from->type->dims[0]; ++i) {
    for (int64_t k = 0; k < from->type->dims[1]; ++k) {
      int64_t up_at[12] = {[10] = i, [11] = k}, down_at[12] = {0};
      down_at[0] = hlo_expr_evaluate(position, up_at, NULL);
      assert_int_equal(hlo_expr_evaluate(down->offset, down_at, NULL), i * from->type->dims[1] + k);
    }
  }
}

static void indices_round_trip(void** state) {
  (void)state;
  uint64_t seed = 1;
  for (uint32_t run = 0; run < RUNS; ++run) {
    hlo_module_t* module = make_chain(&seed);
    hlo_region_t* body = hlo_module_entry(module)->body;
    hlo_node_t* nodes[MAX_NODES];
    hlo_value_t *input = body->args[0], *output = hlo_node_operand(body->last, 0);
    hlo_fusion_t fusion = {
        .input_count = 1, .output_count = 1, .nodes = nodes, .inputs = &input, .outputs = &output};
    for (hlo_node_t* node = body->first; node != body->last; node = node->next) {
      nodes[fusion.node_count++] = node;
    }
    hlo_arena_t arena;
    hlo_tiling_t* tiling;
    hlo_arena_init(&arena, 0);
    hlo_test_check(hlo_tiling_create(&fusion, &arena, &tiling));
    check_both_directions(tiling, input, output);
    hlo_arena_deinit(&arena);
    hlo_module_release(module);
  }
}

// A reduction, slice or broadcast has no single result element for each operand element.
static void some_ops_have_no_single_result_element(void** state) {
  (void)state;
  static const char* const ops[] = {
      "%1 = stablehlo.slice %0 [0:6, 0:6] : (tensor<12x6xf32>) -> tensor<6x6xf32>",
      "%1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<12x6xf32>) -> "
      "tensor<12x6x2xf32>",
      "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "%1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [1] : "
      "(tensor<12x6xf32>, tensor<f32>) -> tensor<12xf32>"};
  for (uint32_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    hlo_strbuf_t text = {0};
    const char* type = strrchr(ops[i], '>');
    while (strncmp(type, "tensor", 6) != 0) --type;
    hlo_strbuf_printf(&text,
                      "func.func @main(%%0: tensor<12x6xf32>) -> %s {\n%s\nreturn %%1 : %s\n}\n",
                      type, ops[i], type);
    hlo_module_t* module = hlo_test_parse(hlo_strbuf_text(&text));
    hlo_region_t* body = hlo_module_entry(module)->body;
    hlo_value_t *input = body->args[0], *output = hlo_node_operand(body->last, 0);
    hlo_fusion_t fusion = {
        .node_count = 1, .nodes = &output->def, .output_count = 1, .outputs = &output};
    hlo_arena_t arena;
    hlo_tiling_t* t;
    hlo_arena_init(&arena, 0);
    hlo_test_check(hlo_tiling_create(&fusion, &arena, &t));
    hlo_expr_space_init(&t->exprs, &arena);
    const hlo_expr_t* index[2] = {hlo_expr_loop(&t->exprs, 0, 0, 12),
                                  hlo_expr_loop(&t->exprs, 1, 0, 6)};
    assert_null(hlo_tiling_index_above(t, input, index, output));
    hlo_arena_deinit(&arena);
    hlo_module_release(module);
    hlo_strbuf_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(indices_round_trip),
      cmocka_unit_test(some_ops_have_no_single_result_element),
  };
  return cmocka_run_group_tests_name("codegen/tiled_up", tests, NULL, NULL);
}
