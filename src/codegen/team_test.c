// SPDX-License-Identifier: Apache-2.0
// Teams: what becomes one, what does not, how their chunks are cut, and that the proof of plans
// finds members that touch each other's memory.
#include "codegen/team.h"

#include "codegen/plan.h"
#include "ir/test_util.h"

typedef struct fixture {
  hlo_module_t* module;
  hlo_arena_t arena;
  hlo_target_t target;
  hlo_schedule_t* schedule;
  hlo_plan_t* plan;
} fixture_t;

static void make(const hlo_strbuf_t* text, fixture_t* f) {
  *f = (fixture_t){.module = parse(hlo_strbuf_text(text))};
  hlo_arena_init(&f->arena, 0);
  hlo_target_init(&(hlo_cpu_t){.level = HLO_CPU_LEVEL_AVX2}, &f->target);
  const hlo_func_t* func = hlo_module_entry(f->module);
  check(hlo_schedule_create(func, &f->target, &f->arena, &f->schedule));
  check(hlo_schedule_make_teams(f->schedule, f->module, &f->target, &f->arena));
  hlo_kernel_t** kernels = hlo_arena_array(&f->arena, f->schedule->fusion_count, sizeof *kernels);
  const hlo_sequence_t* body = &f->schedule->sequences[0];
  for (uint32_t i = 0; i < body->step_count; ++i) {
    hlo_fusion_t* fusion = body->steps[i].fusion;
    if (fusion) kernels[fusion->index] = fusion->kernel;
  }
  check(hlo_plan_create(func, f->schedule, kernels, false, &f->arena, &f->plan));
  check(hlo_plan_check(f->plan));
}

static void drop(fixture_t* f) {
  hlo_arena_deinit(&f->arena);
  hlo_module_release(f->module);
}

// A function of `count` arguments and results, each an argument or the result before, reversed and
// negated.
static void print_module(hlo_strbuf_t* out, int count, int elements, bool is_chain) {
  hlo_strbuf_puts(out, "func.func @main(");
  for (int i = 0; i < count; ++i) {
    hlo_strbuf_printf(out, "%s%%a%d: tensor<%dxf32>", i ? ", " : "", i, elements + i);
  }
  hlo_strbuf_puts(out, ") -> (");
  for (int i = 0; i < count; ++i) {
    hlo_strbuf_printf(out, "%stensor<%dxf32>", i ? ", " : "", elements + (is_chain ? 0 : i));
  }
  hlo_strbuf_puts(out, ") {\n");
  for (int i = 0; i < count; ++i) {
    int extent = elements + (is_chain ? 0 : i);
    const char* from = is_chain && i ? "r" : "a";
    int number = is_chain && i ? i - 1 : i;
    hlo_strbuf_printf(out, "%%s%d = stablehlo.reverse %%%s%d, dims = [0] : tensor<%dxf32>\n", i,
                      from, number, extent);
    hlo_strbuf_printf(out, "%%r%d = stablehlo.negate %%s%d : tensor<%dxf32>\n", i, i, extent);
  }
  hlo_strbuf_puts(out, "return ");
  for (int i = 0; i < count; ++i) hlo_strbuf_printf(out, "%s%%r%d", i ? ", " : "", i);
  hlo_strbuf_puts(out, " : ");
  for (int i = 0; i < count; ++i) {
    hlo_strbuf_printf(out, "%stensor<%dxf32>", i ? ", " : "", elements + (is_chain ? 0 : i));
  }
  hlo_strbuf_puts(out, "\n}\n");
}

static uint32_t team_count(int count, int elements, bool is_chain) {
  hlo_strbuf_t text = {0};
  print_module(&text, count, elements, is_chain);
  fixture_t f;
  make(&text, &f);
  uint32_t found = f.schedule->team_count;
  drop(&f);
  hlo_strbuf_deinit(&text);
  return found;
}

enum { COUNT = 40, ELEMENTS = 20000 };  // each too little to be cut

static void what_is_independent_and_long_enough_is_one(void** state) {
  (void)state;
  assert_int_equal(team_count(COUNT, ELEMENTS, false), 1);
  assert_int_equal(team_count(2, ELEMENTS, false), 0);        // not worth it
  assert_int_equal(team_count(COUNT, 16, false), 0);          // each better in line
  assert_int_equal(team_count(COUNT, ELEMENTS, true), 0);     // each needs the one before
  assert_int_equal(team_count(3, 50 * ELEMENTS, false), 0);   // all cut by themselves
}

static void parts_hold_all_members_in_order(void** state) {
  (void)state;
  hlo_strbuf_t text = {0};
  print_module(&text, COUNT, ELEMENTS, false);
  fixture_t f;
  make(&text, &f);
  const hlo_team_t* team = f.schedule->sequences[0].steps[0].fusion->team;
  assert_non_null(team);
  assert_int_equal(team->member_count, COUNT);
  uint32_t count;
  hlo_team_part_t* parts;
  check(hlo_team_cut(team, &f.target, 0, &f.arena, &count, &parts));
  assert_true(count > 1 && count < COUNT);  // several small ones together
  uint32_t member = 0;
  for (uint32_t i = 0; i < count; ++i) {
    assert_int_equal(parts[i].first, i);
    assert_int_equal(parts[i].count, 1);
    assert_int_equal(parts[i].first_member, member);
    member = parts[i].end_member;
  }
  assert_int_equal(member, COUNT);
  check(hlo_team_cut(team, &f.target, 1, &f.arena, &count, &parts));
  assert_int_equal(count, 0);
  drop(&f);
  hlo_strbuf_deinit(&text);
}

static void expect_fault(const fixture_t* f) {
  hlo_status_t status = hlo_plan_check(f->plan);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INTERNAL);
  hlo_status_release(status);
}

// As steps one after the other both plans would be right.
static void the_proof_knows_that_members_run_at_a_time(void** state) {
  (void)state;
  hlo_strbuf_t text = {0};
  print_module(&text, COUNT, ELEMENTS, false);
  fixture_t f;
  make(&text, &f);
  const hlo_team_t* team = f.schedule->sequences[0].steps[0].fusion->team;
  const hlo_fusion_t *a = team->members[0], *b = team->members[1];
  hlo_place_t* place = &f.plan->places[b->outputs[0]->index];
  hlo_place_t right = *place;
  *place = f.plan->places[a->inputs[0]->index];  // read by another member
  expect_fault(&f);
  *place = f.plan->places[a->outputs[0]->index];  // or written
  expect_fault(&f);
  *place = right;
  check(hlo_plan_check(f.plan));
  drop(&f);
  hlo_strbuf_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_independent_and_long_enough_is_one),
      cmocka_unit_test(parts_hold_all_members_in_order),
      cmocka_unit_test(the_proof_knows_that_members_run_at_a_time),
  };
  return cmocka_run_group_tests_name("codegen/team", tests, NULL, NULL);
}
