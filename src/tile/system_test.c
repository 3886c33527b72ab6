// SPDX-License-Identifier: Apache-2.0
// Constraint systems: what spreads, what is searched, what contradicts itself, and how that is
// said.
#include "tile/system.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static const hlo_tile_target_t MACHINE = {
    .vector_bytes = 64,
    .vector_count = 32,
    .memory_count = 4,
    .atom_count = 4,
    .memories = {{"registers", 2048, 64, 0, 0},
                 {"near", 32 << 10, 64, 64, 0},
                 {"far", 1 << 20, 64, 32, 0},
                 {"main", INT64_MAX, 64, 8, 0}},
    .atoms = {{.name = "op", .op = HLO_TILE_ATOM_VECTOR, .per_ns = 2, .latency_ns = 2},
              {.name = "load", .op = HLO_TILE_ATOM_LOAD, .per_ns = 4},
              {.name = "gather", .op = HLO_TILE_ATOM_GATHER, .per_ns = 0.5},
              {.name = "shuffle", .op = HLO_TILE_ATOM_SHUFFLE, .per_ns = 4}},
};

typedef struct fixture {
  hlo_arena_t arena;
  hlo_tile_layout_space_t space;
  hlo_tile_system_t* system;
} fixture_t;

static hlo_tile_system_t* begin(fixture_t* f) {
  hlo_arena_init(&f->arena, 0);
  hlo_tile_layout_space_init(&f->space, &f->arena);
  return f->system = hlo_tile_system_create(&f->arena, &f->space, &MACHINE);
}
static void end(fixture_t* f) {
  hlo_arena_deinit(&f->arena);
}

static const hlo_tile_layout_t* parsed(fixture_t* f, const char* text) {
  const hlo_tile_layout_t* layout = NULL;
  assert_true(hlo_status_is_ok(hlo_tile_layout_parse(&f->space, &text, &layout)));
  return layout;
}

static hlo_tile_solution_t solved(fixture_t* f) {
  hlo_tile_solution_t solution = {0};
  hlo_status_t status = hlo_tile_system_solve(f->system, 10000, &solution);
  if (!hlo_status_is_ok(status)) fail_msg("%s", hlo_status_message(status));
  return solution;
}

// The constraints that a contradiction names, by their origins.
static void check_conflict(fixture_t* f, const char* const* origins, uint32_t count) {
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(f->system, 10000, &solution);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
  const char* at = strstr(hlo_status_message(status), "none can be left out: ");
  assert_non_null(at);
  at += strlen("none can be left out: ");
  for (uint32_t i = 0; i < count; ++i) {
    assert_memory_equal(at, origins[i], strlen(origins[i]));
    const char* next = strstr(at, "; ");
    assert_true((next != NULL) == (i + 1 < count));
    if (next) at = next + 2;
  }
  hlo_status_release(status);
}

// ---- sizes

static double rounds_of(const void* context, const int64_t* sizes) {
  const int64_t* shape = context;
  int64_t rows = (shape[0] + sizes[0] - 1) / sizes[0],
          columns = (shape[1] + sizes[1] - 1) / sizes[1];
  return (double)(rows * columns * (sizes[0] + sizes[1]));
}

static void test_register_tile(void** unused) {
  (void)unused;
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  int64_t heights[28], widths[8];
  for (int64_t i = 0; i < 28; ++i) heights[i] = i + 1;
  for (int64_t i = 0; i < 8; ++i) widths[i] = i + 1;
  hlo_tile_var_t vars[2] = {hlo_tile_system_size(s, "height", 28, heights),
                            hlo_tile_system_size(s, "width", 8, widths)};
  const hlo_tile_monomial_t sums[2] = {{64, 2, {vars[0], vars[1]}}, {64, 1, {vars[1]}}};
  hlo_tile_system_fits(s, "register tile", 0, 64, 2, sums);
  const int64_t shape[2] = {1024, 64};
  hlo_tile_system_cost(s, "loads", 2, vars, rounds_of, shape);
  hlo_tile_solution_t solution = solved(&f);
  int64_t height = solution.values[vars[0]].size, width = solution.values[vars[1]].size;
  assert_true(height * width + width + 1 <= 32);
  for (int64_t h = 1; h <= 28; ++h) {
    for (int64_t w = 1; w <= 8; ++w) {
      if (h * w + w + 1 > 32) continue;
      int64_t sizes[2] = {h, w};
      assert_true(rounds_of(shape, sizes) >= solution.cost_ns);
    }
  }
  end(&f);
}

// ---- random systems, against every assignment

enum { RANDOM_VARS = 4, RANDOM_CANDIDATES = 6 };

/// A system of a few sizes, and the same as plain data.
typedef struct puzzle {
  uint32_t var_count, counts[RANDOM_VARS], monomial_count, even;
  int64_t candidates[RANDOM_VARS][RANDOM_CANDIDATES], limit;
  hlo_tile_monomial_t monomials[3];
  bool is_even;
  int64_t weights[RANDOM_VARS], wanted[RANDOM_VARS];
} puzzle_t;

static uint32_t next_random(uint64_t* state, uint32_t below) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33) % below;
}

static double distance(const void* context, const int64_t* sizes) {
  const puzzle_t* p = context;
  double sum = 0;
  for (uint32_t i = 0; i < p->var_count; ++i) {
    double off = (double)(sizes[i] - p->wanted[i]);
    sum += (double)p->weights[i] * off * off;
  }
  return sum;
}

static void make_random(puzzle_t* p, uint64_t* state) {
  *p = (puzzle_t){.var_count = 2 + next_random(state, RANDOM_VARS - 1)};
  for (uint32_t i = 0; i < p->var_count; ++i) {
    p->counts[i] = 1 + next_random(state, RANDOM_CANDIDATES);
    for (uint32_t k = 0; k < p->counts[i]; ++k) {
      p->candidates[i][k] = 1 + next_random(state, 12);
    }
    p->weights[i] = next_random(state, 4);
    p->wanted[i] = next_random(state, 12);
  }
  p->monomial_count = next_random(state, 4);
  for (uint32_t i = 0; i < p->monomial_count; ++i) {
    hlo_tile_monomial_t* m = &p->monomials[i];
    m->coefficient = (int64_t)next_random(state, 7) - 2;
    m->var_count = 1 + next_random(state, 2);
    for (uint32_t k = 0; k < m->var_count; ++k) m->vars[k] = next_random(state, p->var_count);
  }
  p->limit = next_random(state, 200);
  p->even = next_random(state, p->var_count);
  p->is_even = next_random(state, 2);
}

static bool holds(const puzzle_t* p, const int64_t* sizes) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < p->monomial_count; ++i) {
    int64_t product = p->monomials[i].coefficient;
    for (uint32_t k = 0; k < p->monomials[i].var_count; ++k) {
      product *= sizes[p->monomials[i].vars[k]];
    }
    sum += product;
  }
  return sum <= p->limit && (!p->is_even || sizes[p->even] % 2 == 0);
}

// The least cost; negative: nothing holds.
static double try_all(const puzzle_t* p, int64_t* sizes, uint32_t var) {
  if (var == p->var_count) return holds(p, sizes) ? distance(p, sizes) : -1;
  double best = -1;
  for (uint32_t k = 0; k < p->counts[var]; ++k) {
    sizes[var] = p->candidates[var][k];
    double cost = try_all(p, sizes, var + 1);
    if (cost >= 0 && (best < 0 || cost < best)) best = cost;
  }
  return best;
}

static void check_random(const puzzle_t* p, double tolerance) {
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  hlo_tile_var_t vars[RANDOM_VARS];
  for (uint32_t i = 0; i < p->var_count; ++i) {
    vars[i] = hlo_tile_system_size(s, "n", p->counts[i], p->candidates[i]);
  }
  hlo_tile_system_at_most(s, "sum", 0, p->monomial_count, p->monomials, p->limit);
  if (p->is_even) hlo_tile_system_multiple(s, "even", vars[p->even], 2);
  hlo_tile_system_cost(s, "distance", p->var_count, vars, distance, p);
  hlo_tile_system_tolerance(s, tolerance);
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(s, 10000, &solution);
  int64_t sizes[RANDOM_VARS];
  double best = try_all(p, sizes, 0);
  if (best < 0) {
    assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
    hlo_status_release(status);
  } else {
    assert_true(hlo_status_is_ok(status));
    for (uint32_t i = 0; i < p->var_count; ++i) sizes[i] = solution.values[vars[i]].size;
    assert_true(holds(p, sizes));
    assert_float_equal(distance(p, sizes), solution.cost_ns, 1e-9);
    assert_true(solution.cost_ns * (1 - tolerance) <= best);
  }
  end(&f);
}

// Without constraints no system is needed for the same answer.
static void check_cheapest(puzzle_t* p) {
  p->monomial_count = 0;
  p->is_even = false;
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  hlo_tile_var_t vars[RANDOM_VARS];
  hlo_tile_candidates_t candidates[RANDOM_VARS];
  for (uint32_t i = 0; i < p->var_count; ++i) {
    vars[i] = hlo_tile_system_size(s, "n", p->counts[i], p->candidates[i]);
    candidates[i] = (hlo_tile_candidates_t){"n", p->counts[i], p->candidates[i]};
  }
  hlo_tile_system_cost(s, "distance", p->var_count, vars, distance, p);
  hlo_tile_solution_t solution = solved(&f);
  int64_t sizes[RANDOM_VARS];
  double cost = hlo_tile_cheapest(p->var_count, candidates, distance, p, sizes);
  assert_float_equal(cost, solution.cost_ns, 1e-9);
  for (uint32_t i = 0; i < p->var_count; ++i) {
    assert_int_equal(sizes[i], solution.values[vars[i]].size);
  }
  end(&f);
}

static void test_random(void** unused) {
  (void)unused;
  uint64_t state = 1;
  for (uint32_t n = 0; n < 3000; ++n) {
    puzzle_t puzzle;
    make_random(&puzzle, &state);
    check_random(&puzzle, 0);
    check_random(&puzzle, 0.25);
    check_cheapest(&puzzle);
  }
}

static void test_multiple(void** unused) {
  (void)unused;
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  const int64_t sizes[] = {5, 7, 24, 32, 48};
  hlo_tile_var_t tile = hlo_tile_system_size(s, "tile", 5, sizes);
  hlo_tile_system_multiple(s, "lanes", tile, 16);
  assert_int_equal(solved(&f).values[tile].size, 32);
  const hlo_tile_monomial_t one = {4, 1, {tile}};
  hlo_tile_system_at_most(s, "stack", 0, 1, &one, 100);
  static const char* const origins[] = {"lanes", "stack"};
  check_conflict(&f, origins, 2);  // 32 and 48 are too large, 5, 7 and 24 no multiples
  hlo_strbuf_t text = {0};
  hlo_tile_system_print(s, &text);
  assert_string_equal(hlo_strbuf_text(&text),
                      "lanes: multiple(tile, 16)\nstack: at_most(0 + 4*tile <= 100)\n");
  hlo_strbuf_deinit(&text);
  end(&f);
}

// ---- layouts

static const char* const ROWS = "<16x16 | 0:16/1 slot 1, 1:16/1 lane 1>";
static const char* const COLUMNS = "<16x16 | 0:16/1 lane 1, 1:16/1 slot 1>";

// load -> negate -> store: what the store needs is known to the load, and back.
static void test_both_directions(void** unused) {
  (void)unused;
  for (int direction = 0; direction < 2; ++direction) {
    fixture_t f;
    hlo_tile_system_t* s = begin(&f);
    hlo_tile_var_t loaded = hlo_tile_system_layout(s, "loaded", 0, NULL);
    hlo_tile_var_t negated = hlo_tile_system_layout(s, "negated", 0, NULL);
    hlo_tile_system_equal(s, "negate", hlo_tile_term_var(s, negated), hlo_tile_term_var(s, loaded));
    const hlo_tile_layout_t* rows = parsed(&f, ROWS);
    hlo_tile_system_equal(s, "hint", hlo_tile_term_var(s, direction ? negated : loaded),
                          hlo_tile_term_layout(s, rows));
    hlo_tile_solution_t solution = solved(&f);
    assert_ptr_equal(solution.values[loaded].layout, rows);
    assert_ptr_equal(solution.values[negated].layout, rows);
    assert_int_equal(solution.fuel_used, 0);
    end(&f);
  }
}

// Either the load or the store goes across lines, or the transposition is done in registers: that
// is cheaper than a gather for each of 16 registers.
static void test_relayout_is_chosen(void** unused) {
  (void)unused;
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  const hlo_tile_layout_t* both[2] = {parsed(&f, ROWS), parsed(&f, COLUMNS)};
  hlo_tile_var_t loaded = hlo_tile_system_layout(s, "loaded", 2, both);
  hlo_tile_var_t stored = hlo_tile_system_layout(s, "stored", 2, both);
  const hlo_tile_term_t* source =
      hlo_tile_term_layout(s, parsed(&f, "<16x16 | 0:16/1 address 1, 1:16/1 address 500>"));
  const hlo_tile_term_t* target =
      hlo_tile_term_layout(s, parsed(&f, "<16x16 | 0:16/1 address 700, 1:16/1 address 1>"));
  hlo_tile_system_transfer(s, "load", source, hlo_tile_term_var(s, loaded), 4, 16, 100);
  hlo_tile_system_transfer(s, "store", target, hlo_tile_term_var(s, stored), 4, 16, 1);
  hlo_tile_system_relayout(s, "between", hlo_tile_term_var(s, loaded), hlo_tile_term_var(s, stored),
                           16, HLO_RELAYOUT_SHUFFLE);
  hlo_tile_solution_t solution = solved(&f);
  assert_ptr_equal(solution.values[loaded].layout, both[1]);
  assert_ptr_equal(solution.values[stored].layout, both[0]);
  hlo_strbuf_t text = {0};
  hlo_tile_solution_print(s, &solution, &text);
  const char* said = strstr(hlo_strbuf_text(&text), "between: relayout(loaded, stored)\n");
  assert_non_null(said);
  assert_non_null(strstr(said,
                         "loaded = <16x16 | 0:16/1 lane 1, 1:16/1 slot 1>, stored = <16x16 | "
                         "0:16/1 slot 1, 1:16/1 lane 1>: "));
  assert_non_null(strstr(said, " tries\n"));
  hlo_strbuf_deinit(&text);
  hlo_tile_system_equal(s, "no shuffles", hlo_tile_term_var(s, loaded),
                        hlo_tile_term_var(s, stored));
  assert_ptr_equal(solved(&f).values[loaded].layout, both[0]);  // the load gathers then
  end(&f);
}

static void test_reduce(void** unused) {
  (void)unused;
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  const hlo_tile_layout_t* both[2] = {parsed(&f, ROWS), parsed(&f, COLUMNS)};
  hlo_tile_var_t wide = hlo_tile_system_layout(s, "wide", 2, both);
  hlo_tile_var_t sums = hlo_tile_system_layout(s, "sums", 0, NULL);
  hlo_tile_system_equal(s, "reduce", hlo_tile_term_var(s, sums),
                        hlo_tile_term_reduce(s, hlo_tile_term_var(s, wide), 2));
  const hlo_tile_layout_t* lanes = parsed(&f, "<16 | 0:16/1 lane 1>");
  hlo_tile_system_equal(s, "store", hlo_tile_term_var(s, sums), hlo_tile_term_layout(s, lanes));
  hlo_tile_solution_t solution = solved(&f);
  assert_ptr_equal(solution.values[wide].layout, both[1]);
  assert_ptr_equal(solution.values[sums].layout, lanes);
  hlo_tile_system_equal(s, "print", hlo_tile_term_var(s, wide), hlo_tile_term_layout(s, both[0]));
  static const char* const origins[] = {"reduce", "store", "print"};
  check_conflict(&f, origins, 3);
  end(&f);
}

// ---- conflicts, fuel, order

static void test_conflict_is_minimal(void** unused) {
  (void)unused;
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  hlo_tile_var_t vars[6];
  static const char* const names[] = {"a", "b", "c", "d", "e", "f"};
  static const char* const adds[] = {"add 0", "add 1", "add 2", "add 3", "add 4"};
  for (uint32_t i = 0; i < 6; ++i) vars[i] = hlo_tile_system_layout(s, names[i], 0, NULL);
  for (uint32_t i = 0; i < 5; ++i) {
    hlo_tile_system_equal(s, adds[i], hlo_tile_term_var(s, vars[i]),
                          hlo_tile_term_var(s, vars[i + 1]));
  }
  hlo_tile_system_equal(s, "cast f", hlo_tile_term_var(s, vars[5]),
                        hlo_tile_term_layout(s, parsed(&f, ROWS)));
  hlo_tile_system_equal(s, "cast b", hlo_tile_term_var(s, vars[1]),
                        hlo_tile_term_layout(s, parsed(&f, ROWS)));
  hlo_tile_system_equal(s, "cast d", hlo_tile_term_var(s, vars[3]),
                        hlo_tile_term_layout(s, parsed(&f, COLUMNS)));
  static const char* const origins[] = {"add 3", "add 4", "cast f", "cast d"};
  check_conflict(&f, origins, 4);
  check_conflict(&f, origins, 4);  // the first check leaves no state
  end(&f);
}

static void test_undetermined(void** unused) {
  (void)unused;
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  hlo_tile_system_layout(s, "lost", 0, NULL);
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(s, 10, &solution);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
  assert_string_equal(hlo_status_message(status), "nothing says what lost may be");
  hlo_status_release(status);
  end(&f);
}

// n x n queens' rooks: sizes that differ, so that there is much to try.
static void make_puzzle(fixture_t* f, uint32_t count) {
  hlo_tile_system_t* s = begin(f);
  int64_t sizes[12];
  for (int64_t i = 0; i < 12; ++i) sizes[i] = i;
  hlo_tile_var_t vars[12];
  for (uint32_t i = 0; i < count; ++i) vars[i] = hlo_tile_system_size(s, "v", count, sizes);
  for (uint32_t i = 0; i + 1 < count; ++i) {
    const hlo_tile_monomial_t step[2] = {{1, 1, {vars[i]}}, {1, 1, {vars[i + 1]}}};
    hlo_tile_system_at_most(s, "step", 0, 2, step, 2 * (int64_t)count);
    hlo_tile_system_multiple(s, "even", vars[i + 1], i % 2 + 2);
  }
  const hlo_tile_monomial_t all[2] = {{-1, 1, {vars[0]}}, {-1, 1, {vars[count - 1]}}};
  hlo_tile_system_at_most(s, "sum", 2 * (int64_t)count - 3, 2, all, 0);
}

static void test_fuel(void** unused) {
  (void)unused;
  fixture_t f;
  make_puzzle(&f, 8);
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(f.system, 0, &solution);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  assert_non_null(strstr(hlo_status_message(status), "fix some of them"));
  hlo_status_release(status);
  end(&f);
}

static void test_deterministic(void** unused) {
  (void)unused;
  int64_t first[6] = {0};
  uint64_t fuel = 0;
  for (int round = 0; round < 20; ++round) {
    fixture_t f;
    make_puzzle(&f, 6);
    hlo_tile_solution_t solution;
    hlo_status_t status = hlo_tile_system_solve(f.system, 1000000, &solution);
    bool is_found = hlo_status_is_ok(status);
    for (uint32_t i = 0; is_found && i < 6; ++i) {
      if (round == 0) first[i] = solution.values[i].size;
      assert_int_equal(solution.values[i].size, first[i]);
    }
    if (is_found && round == 0) fuel = solution.fuel_used;
    if (is_found) assert_int_equal(solution.fuel_used, fuel);
    hlo_status_release(status);
    end(&f);
  }
}

static void test_long_chain(void** unused) {
  (void)unused;
  fixture_t f;
  hlo_tile_system_t* s = begin(&f);
  const hlo_tile_layout_t* both[2] = {parsed(&f, ROWS), parsed(&f, COLUMNS)};
  hlo_tile_var_t vars[1001];
  for (uint32_t i = 0; i < 1001; ++i) vars[i] = hlo_tile_system_layout(s, "v", i ? 0 : 2, both);
  for (uint32_t i = 0; i < 1000; ++i) {
    hlo_tile_system_equal(s, "op", hlo_tile_term_var(s, vars[i + 1]),
                          hlo_tile_term_var(s, vars[i]));
  }
  hlo_tile_system_transfer(
      s, "store",
      hlo_tile_term_layout(s, parsed(&f, "<16x16 | 0:16/1 address 16, 1:16/1 address 1>")),
      hlo_tile_term_var(s, vars[1000]), 4, 16, 1);
  struct timespec start, stop;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  hlo_tile_solution_t solution = solved(&f);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &stop);
  assert_ptr_equal(solution.values[vars[1000]].layout, both[0]);
  assert_true(solution.fuel_used <= 2);
  double ms =
      (double)(stop.tv_sec - start.tv_sec) * 1e3 + (double)(stop.tv_nsec - start.tv_nsec) * 1e-6;
  assert_true(ms < 50);
  end(&f);
}

// However little is left of the memory when no more comes: what is built on nothing is no system.
static void test_memory_failure(void** unused) {
  (void)unused;
  enum { MOST_LEFT = 2048 };
  for (size_t left = 0; left < MOST_LEFT; left += 16) {
    fixture_t f;
    hlo_tile_system_t* s = begin(&f);
    const int64_t sizes[3] = {1, 2, 3};
    assert_non_null(s);
    while ((size_t)(f.arena.end - f.arena.next) > left + 32) hlo_arena_alloc(&f.arena, 1);
    hlo_mem_fail_nth(1);
    hlo_tile_var_t size = hlo_tile_system_size(s, "size", 3, sizes);
    hlo_tile_system_multiple(s, "even", size, 2);
    hlo_tile_solution_t solution;
    hlo_status_t status = hlo_tile_system_solve(s, 100, &solution);
    assert_true(hlo_mem_failed());
    hlo_mem_fail_nth(0);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
    hlo_status_release(status);
    end(&f);
  }
}

// ---- all solutions

enum { MAX_SEEN = 64, MAX_RANK = 3 };

typedef struct seen {
  uint32_t rank, count;
  hlo_tile_var_t vars[MAX_RANK];
  int64_t sizes[MAX_SEEN][MAX_RANK];
  double costs[MAX_SEEN];
} seen_t;

static void see(void* context, const hlo_tile_solution_t* solution) {
  seen_t* seen = context;
  assert_true(seen->count < MAX_SEEN);
  for (uint32_t i = 0; i < seen->rank; ++i) {
    seen->sizes[seen->count][i] = solution->values[seen->vars[i]].size;
  }
  seen->costs[seen->count++] = solution->cost_ns;
}

// A variable for each dimension, with the sizes of its tiles.
static void add_dims(hlo_tile_system_t* s, uint32_t rank, const int64_t* extents, seen_t* seen) {
  *seen = (seen_t){.rank = rank};
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t sizes[HLO_TILE_MAX_SIZES];
    uint32_t count = hlo_tile_list_sizes(1, &extents[i], sizes);
    seen->vars[i] = hlo_tile_system_size(s, i ? "inner" : "outer", count, sizes);
  }
}

static void list_all(hlo_tile_system_t* s, seen_t* seen) {
  assert_true(hlo_status_is_ok(hlo_tile_system_each(s, 1000, see, seen)));
}

// A space without dimensions has one tile; of several each size meets each of the others, the last
// one changing first.
static void test_all_tiles(void** unused) {
  (void)unused;
  static const struct {
    uint32_t rank;
    int64_t extents[MAX_RANK];
    uint32_t count;
  } cases[] = {{0, {0}, 1}, {1, {1}, 1},  {1, {2}, 2},    {1, {3}, 3},       {1, {4}, 3},
               {1, {5}, 4}, {1, {11}, 5}, {2, {3, 4}, 9}, {3, {3, 4, 2}, 18}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    fixture_t f;
    seen_t seen;
    hlo_tile_system_t* s = begin(&f);
    add_dims(s, cases[i].rank, cases[i].extents, &seen);
    list_all(s, &seen);
    assert_int_equal(seen.count, cases[i].count);
    for (uint32_t k = 1; k < seen.count; ++k) {
      uint32_t dim = 0;
      while (seen.sizes[k][dim] == seen.sizes[k - 1][dim]) ++dim;
      assert_true(dim < seen.rank && seen.sizes[k][dim] > seen.sizes[k - 1][dim]);
    }
    for (uint32_t dim = 0; dim < seen.rank; ++dim) {
      assert_int_equal(seen.sizes[seen.count - 1][dim], cases[i].extents[dim]);
    }
    end(&f);
  }
}

static double cost_of_tiles(const void* context, const int64_t* sizes) {
  (void)context;
  return sizes[0] == 2 ? -1 : (double)(100 * sizes[0] + sizes[1]);
}

// Tiles that do not fit, are no multiple or cannot exist are left out; the others have their costs,
// and no cheaper one before them hides them.
static void test_all_that_hold(void** unused) {
  (void)unused;
  fixture_t f;
  seen_t seen;
  hlo_tile_system_t* s = begin(&f);
  static const int64_t extents[2] = {8, 96};
  add_dims(s, 2, extents, &seen);
  const hlo_tile_monomial_t held = {64, 2, {seen.vars[0], seen.vars[1]}};
  hlo_tile_system_fits(s, "tile", 0, 0, 1, &held);  // 32 registers
  hlo_tile_system_multiple(s, "lanes", seen.vars[1], 4);
  hlo_tile_system_cost(s, "time", 2, seen.vars, cost_of_tiles, NULL);
  list_all(s, &seen);
  static const int64_t expected[][2] = {{1, 4}, {1, 8}, {1, 16}, {1, 32}, {4, 4}, {4, 8}, {8, 4}};
  assert_int_equal(seen.count, sizeof expected / sizeof *expected);
  for (uint32_t i = 0; i < seen.count; ++i) {
    assert_int_equal(seen.sizes[i][0], expected[i][0]);
    assert_int_equal(seen.sizes[i][1], expected[i][1]);
    assert_float_equal(seen.costs[i], (double)(100 * expected[i][0] + expected[i][1]), 0);
  }
  hlo_status_t status = hlo_tile_system_each(s, 1, see, &seen);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_RESOURCE_EXHAUSTED);
  hlo_status_release(status);
  hlo_tile_system_multiple(s, "more", seen.vars[0], 16);
  seen.count = 0;
  list_all(s, &seen);
  assert_int_equal(seen.count, 0);
  end(&f);
}

// A dimension that an index makes digits of: tiles are whole in those inside.
static void test_sizes_of_modes(void** unused) {
  (void)unused;
  static const struct {
    uint32_t mode_count;
    int64_t modes[3];
    uint32_t count;
    int64_t sizes[8];
  } cases[] = {{2, {8, 6}, 3, {1, 2, 48}},
               {2, {6, 8}, 6, {1, 2, 4, 8, 16, 32}},  // and 48, below
               {3, {4, 2, 8}, 7, {1, 2, 4, 8, 16, 32, 64}},
               {3, {2, 3, 4}, 4, {1, 2, 4, 24}},
               {2, {4, 3}, 2, {1, 12}}};
  for (uint32_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    int64_t sizes[HLO_TILE_MAX_SIZES];
    uint32_t count = hlo_tile_list_sizes(cases[i].mode_count, cases[i].modes, sizes);
    assert_true(count >= cases[i].count);
    assert_memory_equal(sizes, cases[i].sizes, cases[i].count * sizeof *sizes);
    if (count > cases[i].count) assert_int_equal(sizes[count - 1], 48);
  }
  const int64_t most = INT64_MAX, none = 0;
  int64_t sizes[HLO_TILE_MAX_SIZES];
  assert_int_equal(hlo_tile_list_sizes(1, &most, sizes), HLO_TILE_MAX_SIZES);
  assert_int_equal(hlo_tile_list_sizes(1, &none, sizes), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_register_tile),
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_multiple),
      cmocka_unit_test(test_both_directions),
      cmocka_unit_test(test_relayout_is_chosen),
      cmocka_unit_test(test_reduce),
      cmocka_unit_test(test_conflict_is_minimal),
      cmocka_unit_test(test_undetermined),
      cmocka_unit_test(test_fuel),
      cmocka_unit_test(test_deterministic),
      cmocka_unit_test(test_long_chain),
      cmocka_unit_test(test_memory_failure),
      cmocka_unit_test(test_all_tiles),
      cmocka_unit_test(test_all_that_hold),
      cmocka_unit_test(test_sizes_of_modes),
  };
  return cmocka_run_group_tests_name("tile/system", tests, NULL, NULL);
}
