// SPDX-License-Identifier: Apache-2.0
// Random systems of layouts and sizes: no shortcut changes what is found, and of what is said to
// contradict itself nothing can be left out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tile/system.h"

static const hlo_tile_target_t MACHINE = {
    .vector_bytes = 64,
    .vector_count = 32,
    .memory_count = 2,
    .atom_count = 3,
    .memories = {{"registers", 2048, 64, 0, 0}, {"main", INT64_MAX, 64, 8, 0}},
    .atoms = {{.name = "load", .op = HLO_TILE_ATOM_LOAD, .per_ns = 4},
              {.name = "gather", .op = HLO_TILE_ATOM_GATHER, .per_ns = 0.5},
              {.name = "shuffle", .op = HLO_TILE_ATOM_SHUFFLE, .per_ns = 4}},
};

static const char* const LAYOUTS[] = {
    "<8x16 | 0:8/1 slot 0, 1:16/1 slot 0>",               // splat
    "<8x16 | 0:8/1 slot 0, 1:16/1 slot 0, *:16 lane 1>",  // in every lane
    "<8x16 | 0:8/1 slot 1, 1:16/1 lane 1>",               // rows
    "<8x16 | 0:8/1 lane 1, 1:16/1 slot 1>",               // columns
    "<8x16 | 0:8/1 slot 2, 1:2/8 slot 1, 1:8/1 lane 1>",
    "<8x16 | 0:8/1 time 1, 1:16/1 lane 1>",
};
static const char MEMORY[] = "<8x16 | 0:8/1 address 16, 1:16/1 address 1>";
static const char TRANSPOSED[] = "<8x16 | 0:8/1 address 1, 1:16/1 address 500>";

enum {
  LAYOUT_VARS = 5,
  SIZE_VARS = 4,
  VARS = LAYOUT_VARS + SIZE_VARS,
  RULES = 12,
  KINDS = 8,
  LAYOUT_KINDS = 5
};
enum { LAYOUT_COUNT = sizeof LAYOUTS / sizeof *LAYOUTS };

// A system as plain data: constraint i is named by rule_names[i].
typedef struct rule {
  uint32_t kind, a, b, number;
} rule_t;

typedef struct puzzle {
  uint32_t rule_count;
  rule_t rules[RULES];
  uint32_t kept;  // a bit for each rule
  uint32_t counts[VARS];
  uint32_t layouts[LAYOUT_VARS][LAYOUT_COUNT];
  int64_t sizes[SIZE_VARS][6];
} puzzle_t;

static const char* const RULE_NAMES[RULES] = {"r0", "r1", "r2", "r3", "r4",  "r5",
                                              "r6", "r7", "r8", "r9", "r10", "r11"};

static uint32_t below(uint64_t* state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33) % n;
}

static void make(puzzle_t* p, uint64_t* state) {
  *p = (puzzle_t){.rule_count = 4 + below(state, RULES - 3), .kept = ~0u};
  for (uint32_t i = 0; i < p->rule_count; ++i) {
    rule_t* rule = &p->rules[i];
    *rule = (rule_t){below(state, KINDS), 0, 0, below(state, 64)};
    uint32_t vars = rule->kind < LAYOUT_KINDS ? LAYOUT_VARS : SIZE_VARS;
    rule->a = below(state, vars);
    rule->b = (rule->a + 1 + below(state, vars - 1)) % vars;
  }
  for (uint32_t v = 0; v < LAYOUT_VARS; ++v) {
    p->counts[v] = 2 + below(state, LAYOUT_COUNT - 1);
    uint32_t first = below(state, LAYOUT_COUNT);
    for (uint32_t i = 0; i < p->counts[v]; ++i) p->layouts[v][i] = (first + i) % LAYOUT_COUNT;
  }
  for (uint32_t v = 0; v < SIZE_VARS; ++v) {
    p->counts[LAYOUT_VARS + v] = 2 + below(state, 5);
    for (uint32_t i = 0; i < 6; ++i) p->sizes[v][i] = 1 + below(state, 24);
  }
}

typedef struct fixture {
  hlo_arena_t arena;
  hlo_tile_layout_space_t space;
  hlo_tile_system_t* system;
  const hlo_tile_layout_t* layouts[LAYOUT_COUNT];
  hlo_tile_var_t vars[VARS];
} fixture_t;

static const hlo_tile_layout_t* read_layout(fixture_t* f, const char* text) {
  const hlo_tile_layout_t* layout = NULL;
  assert_true(hlo_status_is_ok(hlo_tile_layout_parse(&f->space, &text, &layout)));
  return layout;
}

static double distance(const void* context, const int64_t* sizes) {
  double off = (double)(sizes[0] - (int64_t)((const rule_t*)context)->number);
  return off * off;
}

static void add_rule(fixture_t* f, const rule_t* rule, const char* name) {
  hlo_tile_system_t* s = f->system;
  uint32_t first = rule->kind < LAYOUT_KINDS ? 0 : LAYOUT_VARS;
  hlo_tile_var_t a = f->vars[first + rule->a], b = f->vars[first + rule->b];
  const hlo_tile_term_t *x = hlo_tile_term_var(s, a), *y = hlo_tile_term_var(s, b);
  const hlo_tile_monomial_t product = {1, 2, {a, b}};
  switch (rule->kind) {
    case 0: hlo_tile_system_equal(s, name, x, y); break;
    case 1:
      hlo_tile_system_relayout(s, name, x, y, 8 + rule->number % 7, HLO_RELAYOUT_MEMORY);
      break;
    case 2: hlo_tile_system_relayout(s, name, x, y, 8, HLO_RELAYOUT_NONE); break;
    case 3:
      hlo_tile_system_transfer(
          s, name, hlo_tile_term_layout(s, read_layout(f, rule->number % 2 ? MEMORY : TRANSPOSED)),
          x, 4, 1 + rule->number, 100);
      break;
    case 4: {
      const hlo_tile_term_t* given =
          hlo_tile_term_layout(s, f->layouts[rule->number / 2 % LAYOUT_COUNT]);
      if (rule->number % 2) {
        hlo_tile_system_equal(s, name, x, given);
      } else {
        hlo_tile_system_relayout(s, name, given, x, 8, HLO_RELAYOUT_MEMORY);
      }
      break;
    }
    case 5: hlo_tile_system_multiple(s, name, a, 1 + rule->number % 6); break;
    case 6: hlo_tile_system_at_most(s, name, 0, 1, &product, 20 + rule->number); break;
    default: hlo_tile_system_cost(s, name, 1, &a, distance, rule);
  }
}

static void begin(fixture_t* f, const puzzle_t* p) {
  hlo_arena_init(&f->arena, 0);
  hlo_tile_layout_space_init(&f->space, &f->arena);
  f->system = hlo_tile_system_create(&f->arena, &f->space, &MACHINE);
  for (uint32_t i = 0; i < LAYOUT_COUNT; ++i) f->layouts[i] = read_layout(f, LAYOUTS[i]);
  for (uint32_t v = 0; v < LAYOUT_VARS; ++v) {
    const hlo_tile_layout_t* candidates[LAYOUT_COUNT];
    for (uint32_t i = 0; i < p->counts[v]; ++i) candidates[i] = f->layouts[p->layouts[v][i]];
    f->vars[v] = hlo_tile_system_layout(f->system, "layout", p->counts[v], candidates);
  }
  for (uint32_t v = 0; v < SIZE_VARS; ++v) {
    f->vars[LAYOUT_VARS + v] =
        hlo_tile_system_size(f->system, "size", p->counts[LAYOUT_VARS + v], p->sizes[v]);
  }
  for (uint32_t i = 0; i < p->rule_count; ++i) {
    if (p->kept >> i & 1) add_rule(f, &p->rules[i], RULE_NAMES[i]);
  }
}

// A solution without pointers.
typedef struct answer {
  bool is_found;
  uint64_t fuel;
  double cost;
  int64_t values[VARS];
} answer_t;

static answer_t solve(const puzzle_t* p, int32_t switched_off) {
  fixture_t f;
  begin(&f, p);
  for (uint32_t k = 0; k < HLO_TILE_SHORTCUT_COUNT; ++k) {
    if (switched_off == (int32_t)k || switched_off == HLO_TILE_SHORTCUT_COUNT) {
      hlo_tile_system_disable(f.system, (hlo_tile_shortcut_t)k);
    }
  }
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(f.system, 1000000, &solution);
  answer_t answer = {.is_found = hlo_status_is_ok(status)};
  if (answer.is_found) {
    answer.fuel = solution.fuel_used;
    answer.cost = solution.cost_ns;
    for (uint32_t v = 0; v < VARS; ++v) {
      answer.values[v] = v < LAYOUT_VARS ? (int64_t)solution.values[f.vars[v]].layout->number
                                         : solution.values[f.vars[v]].size;
    }
  } else {
    assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
  }
  hlo_status_release(status);
  hlo_arena_deinit(&f.arena);
  return answer;
}

// Each alone, and all of them.
static void test_shortcuts(void** unused) {
  (void)unused;
  uint64_t state = 7;
  uint32_t found = 0, saved[HLO_TILE_SHORTCUT_COUNT + 1] = {0};
  for (uint32_t n = 0; n < 1500; ++n) {
    puzzle_t puzzle;
    make(&puzzle, &state);
    answer_t with = solve(&puzzle, -1);
    found += with.is_found;
    for (int32_t k = 0; k <= HLO_TILE_SHORTCUT_COUNT; ++k) {
      answer_t without = solve(&puzzle, k);
      assert_int_equal(with.is_found, without.is_found);
      assert_memory_equal(with.values, without.values, sizeof with.values);
      assert_true(with.cost == without.cost && with.fuel <= without.fuel);
      saved[k] += without.fuel > with.fuel;
    }
  }
  assert_in_range(found, 300, 1400);
  for (uint32_t k = 0; k <= HLO_TILE_SHORTCUT_COUNT; ++k) assert_true(saved[k] > 20);
}

// Independent parts are searched one after the other, not once for each state of the others; also
// if one of them has no solution.
static void test_parts(void** unused) {
  (void)unused;
  enum { PARTS = 50 };
  puzzle_t none = {0};
  for (uint32_t v = 0; v < VARS; ++v) none.counts[v] = 1;
  fixture_t f;
  begin(&f, &none);
  hlo_tile_var_t last = 0;
  for (uint32_t i = 0; i < PARTS; ++i) {
    hlo_tile_system_t* s = f.system;
    hlo_tile_var_t a = hlo_tile_system_layout(s, "a", LAYOUT_COUNT, f.layouts);
    last = hlo_tile_system_layout(s, "b", LAYOUT_COUNT, f.layouts);
    hlo_tile_system_transfer(s, "load", hlo_tile_term_layout(s, read_layout(&f, MEMORY)),
                             hlo_tile_term_var(s, a), 4, 8, 100);
    hlo_tile_system_transfer(s, "store", hlo_tile_term_layout(s, read_layout(&f, TRANSPOSED)),
                             hlo_tile_term_var(s, last), 4, 8, 100);
    hlo_tile_system_relayout(s, "change", hlo_tile_term_var(s, a), hlo_tile_term_var(s, last), 8,
                             HLO_RELAYOUT_MEMORY);
  }
  hlo_tile_solution_t solution;
  hlo_status_t status =
      hlo_tile_system_solve(f.system, PARTS * LAYOUT_COUNT * (LAYOUT_COUNT + 1), &solution);
  assert_true(hlo_status_is_ok(status));
  for (uint32_t i = 0; i < 2; ++i) {
    hlo_tile_system_equal(f.system, "none", hlo_tile_term_var(f.system, last),
                          hlo_tile_term_layout(f.system, f.layouts[i]));
  }
  status = hlo_tile_system_solve(f.system, 10000, &solution);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
  assert_non_null(strstr(hlo_status_message(status), "none: equal"));
  assert_null(strstr(hlo_status_message(status), "load"));
  hlo_status_release(status);
  hlo_arena_deinit(&f.arena);
}

// The rules that a contradiction names, a bit each.
static uint32_t core_of(const puzzle_t* p) {
  fixture_t f;
  begin(&f, p);
  hlo_tile_solution_t solution;
  hlo_status_t status = hlo_tile_system_solve(f.system, 1000000, &solution);
  uint32_t core = 0;
  const char* at = hlo_status_is_ok(status)
                       ? NULL
                       : strstr(hlo_status_message(status), "none can be left out: ");
  assert_true(hlo_status_is_ok(status) || at);
  for (uint32_t i = 0; at && i < p->rule_count; ++i) {
    char name[16] = " ";
    strcat(strcat(name, RULE_NAMES[i]), ": ");
    if (strstr(at, name)) core |= 1u << i;
  }
  hlo_status_release(status);
  hlo_arena_deinit(&f.arena);
  return core;
}

static void test_cores(void** unused) {
  (void)unused;
  uint64_t state = 11;
  uint32_t contradictions = 0;
  for (uint32_t n = 0; n < 1500; ++n) {
    puzzle_t puzzle;
    make(&puzzle, &state);
    uint32_t core = core_of(&puzzle);
    if (!core) continue;
    ++contradictions;
    puzzle.kept = core;
    assert_false(solve(&puzzle, -1).is_found);
    for (uint32_t i = 0; i < puzzle.rule_count; ++i) {
      if (!(core >> i & 1)) continue;
      puzzle.kept = core & ~(1u << i);
      assert_true(solve(&puzzle, -1).is_found);  // and so are all that have less
    }
  }
  assert_in_range(contradictions, 100, 1400);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shortcuts),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_cores),
  };
  return cmocka_run_group_tests_name("tile/solve", tests, NULL, NULL);
}
