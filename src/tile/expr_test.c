// SPDX-License-Identifier: Apache-2.0
// Index expressions against plain integers: random ones, and the forms that reshapes
// must resolve to.
#include "tile/expr.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint64_t state = 88172645463325252u;
static uint32_t below(uint32_t n) {
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)(state >> 20) % n;
}

static const int64_t EXTENTS[3] = {6, 4, 5};

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

// A random expression and, beside it, its value for each of the points of the loops.
typedef struct sample {
  const hlo_expr_t* expr;
  int64_t values[6 * 4 * 5];
} sample_t;

static void make_sample(hlo_expr_space_t* space, int depth, sample_t* out) {
  sample_t a, b;
  uint32_t kind = depth == 0 ? 4 + below(2) : below(5);
  if (kind < 4) make_sample(space, depth - 1, &a);
  if (kind == 0) make_sample(space, depth - 1, &b);
  int64_t number = kind == 2 || kind == 3 ? 1 + below(7) : (int64_t)below(13) - 6;
  uint32_t loop = below(3);
  for (uint32_t p = 0; p < 120; ++p) {
    int64_t loops[3] = {p / 20, p / 5 % 4, p % 5};
    out->values[p] = kind == 0   ? a.values[p] + b.values[p]
                     : kind == 1 ? a.values[p] * number
                     : kind == 2 ? floor_div(a.values[p], number)
                     : kind == 3 ? a.values[p] - number * floor_div(a.values[p], number)
                     : kind == 4 ? loops[loop]
                                 : number;
  }
  out->expr = kind == 0   ? hlo_expr_add(space, a.expr, b.expr)
              : kind == 1 ? hlo_expr_mul(space, a.expr, number)
              : kind == 2 ? hlo_expr_div(space, a.expr, number)
              : kind == 3 ? hlo_expr_mod(space, a.expr, number)
              : kind == 4 ? hlo_expr_loop(space, loop, 0, EXTENTS[loop])
                          : hlo_expr_const(space, number);
}

static void test_random(void** unused) {
  (void)unused;
  for (int round = 0; round < 2000; ++round) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_expr_space_t space;
    hlo_expr_space_init(&space, &arena);
    sample_t sample;
    make_sample(&space, 5, &sample);
    for (uint32_t p = 0; p < 120; ++p) {
      int64_t loops[3] = {p / 20, p / 5 % 4, p % 5};
      assert_int_equal(hlo_expr_evaluate(sample.expr, loops, NULL), sample.values[p]);
      assert_true(sample.expr->low <= sample.values[p] && sample.values[p] <= sample.expr->high);
    }
    assert_false(arena.failed);
    hlo_arena_deinit(&arena);
  }
}

// An offset expression is the sum with a constant, the same pointer.
static void test_offsets(void** unused) {
  (void)unused;
  for (int round = 0; round < 500; ++round) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_expr_space_t space;
    hlo_expr_space_init(&space, &arena);
    sample_t sample;
    make_sample(&space, 4, &sample);
    for (int64_t offset = -3; offset <= 3; ++offset) {
      const hlo_expr_t* sum = hlo_expr_add(&space, sample.expr, hlo_expr_const(&space, offset));
      assert_ptr_equal(hlo_expr_offset(&space, sample.expr, offset), sum);
    }
    assert_false(space.is_exceeded);
    (void)hlo_expr_offset(&space, hlo_expr_const(&space, (int64_t)1 << 62), 1);
    assert_true(space.is_exceeded);
    hlo_arena_deinit(&arena);
  }
}

static void test_reshape_of_collapsed(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_expr_space_t space;
  hlo_expr_space_init(&space, &arena);
  const hlo_expr_t* all = hlo_expr_loop(&space, 0, 0, 2 * 3 * 4 * 5);
  const int64_t dims[4] = {2, 3, 4, 5}, other[3] = {6, 2, 10};
  const hlo_expr_t* index[4];
  hlo_expr_delinearize(&space, all, 4, dims, index);
  const hlo_expr_t* offset = hlo_expr_linearize(&space, 4, dims, index);
  assert_ptr_equal(offset, all);
  hlo_expr_delinearize(&space, offset, 3, other, index);
  assert_ptr_equal(hlo_expr_linearize(&space, 3, other, index), all);
  hlo_arena_deinit(&arena);
}

static void test_loops_resolve(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_expr_space_t space;
  hlo_expr_space_init(&space, &arena);
  const hlo_expr_t* outer = hlo_expr_loop(&space, 0, 0, 7);
  const hlo_expr_t* inner = hlo_expr_loop(&space, 1, 0, 8);
  const hlo_expr_t* whole = hlo_expr_add(&space, hlo_expr_mul(&space, outer, 8), inner);
  assert_ptr_equal(hlo_expr_div(&space, whole, 8), outer);
  assert_ptr_equal(hlo_expr_mod(&space, whole, 8), inner);
  assert_null(hlo_expr_unresolved(hlo_expr_div(&space, whole, 8)));
  const hlo_expr_atom_t* atom = hlo_expr_unresolved(hlo_expr_div(&space, whole, 3));
  assert_non_null(atom);
  assert_int_equal(atom->divisor, 3);
  assert_int_equal(hlo_expr_coefficient(whole, 0), 8);
  assert_int_equal(whole->high, 55);
  // Neighbouring digits of a number are one.
  const hlo_expr_t* n = hlo_expr_loop(&space, 3, 0, 8 * 14 * 48);
  const hlo_expr_t* low = hlo_expr_mod(&space, n, 3);
  const hlo_expr_t* high = hlo_expr_mod(&space, hlo_expr_div(&space, n, 3), 16);
  assert_ptr_equal(hlo_expr_add(&space, low, hlo_expr_mul(&space, high, 3)),
                   hlo_expr_mod(&space, n, 48));
  const hlo_expr_t* upper = hlo_expr_mod(&space, hlo_expr_div(&space, n, 48), 14);
  assert_ptr_equal(hlo_expr_add(&space, high, hlo_expr_mul(&space, upper, 16)),
                   hlo_expr_mod(&space, hlo_expr_div(&space, n, 3), 16 * 14));
  assert_ptr_not_equal(hlo_expr_add(&space, low, hlo_expr_mul(&space, upper, 3)),
                       hlo_expr_mod(&space, n, 3 * 14));
  hlo_arena_deinit(&arena);
}

// A sum beyond the limits is poison, and stays so.
static void test_limits(void** unused) {
  (void)unused;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  for (int kind = 0; kind < 3; ++kind) {
    hlo_expr_space_t space;
    hlo_expr_space_init(&space, &arena);
    const hlo_expr_t* sum = hlo_expr_loop(&space, 0, 0, 10);
    if (kind == 0) {
      for (uint32_t i = 0; i < HLO_EXPR_MAX_TERMS && !space.is_exceeded; ++i) {
        sum = hlo_expr_add(&space, sum, hlo_expr_value(&space, i, 0, 9, 0));
        assert_int_equal(space.is_exceeded, i + 1 == HLO_EXPR_MAX_TERMS);
      }
    } else if (kind == 1) {
      assert_int_equal(hlo_expr_mul(&space, sum, INT64_MAX / 18)->high, INT64_MAX / 18 * 9);
      assert_false(space.is_exceeded);
      sum = hlo_expr_mul(&space, sum, INT64_MAX / 16);
    } else {
      sum = hlo_expr_add(&space, hlo_expr_const(&space, (int64_t)1 << 62), sum);
    }
    assert_true(space.is_exceeded);
    assert_ptr_equal(sum, space.poison);
    assert_false(arena.failed);
  }
  hlo_arena_deinit(&arena);
}

// Products of divisors that 63 bits do not hold.
static void test_large_divisors(void** unused) {
  (void)unused;
  const int64_t large = (int64_t)1 << 62;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  hlo_expr_space_t space;
  hlo_expr_space_init(&space, &arena);
  const hlo_expr_t* x = hlo_expr_loop(&space, 0, -5, 6);
  const hlo_expr_t* twice = hlo_expr_div(&space, hlo_expr_div(&space, x, large), large);
  // 4 (large + 1) is 4 in 64 bits, but these two are not the digits of one number.
  const hlo_expr_t* rest = hlo_expr_mod(&space, hlo_expr_div(&space, x, large + 1), 4);
  const hlo_expr_t* apart =
      hlo_expr_add(&space, hlo_expr_mul(&space, hlo_expr_div(&space, x, 4), 4), rest);
  assert_false(space.is_exceeded);
  for (int64_t number = -5; number < 6; ++number) {
    assert_int_equal(hlo_expr_evaluate(twice, &number, NULL), number < 0 ? -1 : 0);
    assert_int_equal(hlo_expr_evaluate(apart, &number, NULL),
                     floor_div(number, 4) * 4 + (number < 0 ? 3 : 0));
  }
  hlo_arena_deinit(&arena);
}

static void test_memory_failure(void** unused) {
  (void)unused;
  for (uint64_t n = 1; n < 8; ++n) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_expr_space_t space;
    hlo_expr_space_init(&space, &arena);
    hlo_mem_fail_nth(n);
    sample_t sample;
    make_sample(&space, 5, &sample);
    bool failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    if (failed) assert_true(arena.failed);
    hlo_arena_deinit(&arena);
  }
}

// ---- reshapes

enum { MOST_ELEMENTS = 64, MAX_FACTORS = 6, MAX_SHAPES = 64 };

typedef struct shape {
  uint32_t rank;
  int64_t dims[MAX_FACTORS];
} shape_t;

// Adds all shapes of `left` more elements, whose dimensions are above one.
static void add_shapes(int64_t left, const shape_t* outer, shape_t* shapes, uint32_t* count) {
  if (left == 1) shapes[(*count)++] = *outer;
  for (int64_t dim = 2; dim <= left; ++dim) {
    shape_t shape = *outer;
    if (left % dim) continue;
    shape.dims[shape.rank++] = dim;
    add_shapes(left / dim, &shape, shapes, count);
  }
}

static void check_reshape(hlo_expr_space_t* space, const shape_t* from, const shape_t* to,
                          int64_t elements) {
  const hlo_expr_t *loops[MAX_FACTORS], *index[MAX_FACTORS];
  for (uint32_t i = 0; i < to->rank; ++i) loops[i] = hlo_expr_loop(space, i, 0, to->dims[i]);
  const hlo_expr_t* offset = hlo_expr_linearize(space, to->rank, to->dims, loops);
  hlo_expr_delinearize(space, offset, from->rank, from->dims, index);
  for (int64_t n = 0; n < elements; ++n) {
    int64_t point[MAX_FACTORS] = {0}, rest = n;
    for (uint32_t i = to->rank; i-- > 0; rest /= to->dims[i]) point[i] = rest % to->dims[i];
    rest = n;
    for (uint32_t i = from->rank; i-- > 0; rest /= from->dims[i]) {
      const int64_t found = hlo_expr_evaluate(index[i], point, NULL);
      assert_int_equal(found, rest % from->dims[i]);
      assert_true(index[i]->low >= 0 && index[i]->high < from->dims[i]);
    }
  }
  // Equal shapes have equal indices, whatever the way to them.
  for (uint32_t i = 0; i < to->rank && from == to; ++i) assert_ptr_equal(index[i], loops[i]);
}

// From every shape to every other one of as many elements, for up to 64 elements.
static void test_reshapes(void** unused) {
  (void)unused;
  for (int64_t elements = 1; elements <= MOST_ELEMENTS; ++elements) {
    hlo_arena_t arena;
    hlo_arena_init(&arena, 0);
    hlo_expr_space_t space;
    hlo_expr_space_init(&space, &arena);
    shape_t shapes[MAX_SHAPES];
    uint32_t count = 0;
    add_shapes(elements, &(shape_t){0}, shapes, &count);
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t k = 0; k < count; ++k) {
        check_reshape(&space, &shapes[i], &shapes[k], elements);
      }
    }
    assert_false(arena.failed);
    hlo_arena_deinit(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),         cmocka_unit_test(test_reshapes),
      cmocka_unit_test(test_offsets),        cmocka_unit_test(test_reshape_of_collapsed),
      cmocka_unit_test(test_loops_resolve),  cmocka_unit_test(test_limits),
      cmocka_unit_test(test_large_divisors), cmocka_unit_test(test_memory_failure),
  };
  return cmocka_run_group_tests_name("tile/expr", tests, NULL, NULL);
}
