// SPDX-License-Identifier: Apache-2.0
// Simulated processes: groups, collectives inside loops, messages, deadlocks.
#include "interp/simgrid.h"
#include "interp/eval_test_util.h"
#include "ir/process_groups.h"

static const hlo_attr_t* matrix(hlo_module_t* m, uint32_t rows, uint32_t cols,
                                const int64_t* values) {
  return hlo_attr_matrix(m, rows, cols, values);
}

static void groups_follow_the_four_strategies(void** state) {
  (void)state;
  hlo_module_t* m = hlo_test_new_module();
  const int64_t values[] = {0, 1, 2, 3};
  const hlo_attr_t* groups = matrix(m, 2, 2, values);
  const struct {
    hlo_group_strategy_t strategy;
    uint32_t replicas, partitions, process;
    uint32_t count, members[4];
  } cases[] = {
      {HLO_GROUP_CROSS_REPLICA, 4, 2, 5, 2, {5, 7}},
      {HLO_GROUP_CROSS_PARTITION, 2, 4, 6, 2, {6, 7}},
      {HLO_GROUP_CROSS_REPLICA_AND_PARTITION, 4, 2, 1, 4, {0, 2, 1, 3}},
      {HLO_GROUP_FLATTENED_IDS, 2, 2, 3, 2, {2, 3}},
  };
  for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
    uint32_t members[8], count = 0;
    hlo_test_must(hlo_group_members(m->poison, cases[k].strategy, groups, cases[k].replicas,
                                    cases[k].partitions, cases[k].process, members, &count));
    assert_int_equal(count, cases[k].count);
    assert_memory_equal(members, cases[k].members, count * sizeof(uint32_t));
  }
  hlo_module_release(m);
}

// i = 0; while (i < 3) { x = all_reduce(x); i += 1 }
static hlo_module_t* reducing_loop(void) {
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  hlo_func_t* func = hlo_test_add_func(m, "main", TYPES(s32), TYPES(s32));
  hlo_region_t* body = func->body;
  hlo_node_t* loop =
      hlo_test_add_node(body, HLO_OP_while, VALUES(hlo_test_add_s32(body, 0), body->args[0]),
                        TYPES(s32, s32), 0, NULL, 2);
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < 2; ++i) hlo_region_add_arg(loop->regions[r], s32);
  }
  hlo_region_t *cond = loop->regions[0], *step = loop->regions[1];
  hlo_test_add_return(cond,
                      VALUES(hlo_test_add_compare(cond, HLO_COMPARISON_DIRECTION_LT, cond->args[0],
                                                  hlo_test_add_s32(cond, 3), 3)));
  const int64_t ids[] = {0, 1};
  hlo_named_attr_t groups = {HLO_ATTR_replica_groups, matrix(m, 1, 2, ids)};
  hlo_node_t* reduce =
      hlo_test_add_node(step, HLO_OP_all_reduce, VALUES(step->args[1]), TYPES(s32), 1, &groups, 1);
  hlo_region_t* sum = reduce->regions[0];
  for (int i = 0; i < 2; ++i) hlo_region_add_arg(sum, s32);
  hlo_test_add_return(sum,
                      VALUES(hlo_test_add_op(sum, HLO_OP_add, VALUES(sum->args[0], sum->args[1]))));
  hlo_value_t* next =
      hlo_test_add_op(step, HLO_OP_add, VALUES(step->args[0], hlo_test_add_s32(step, 1)));
  hlo_test_add_return(step, VALUES(next, &reduce->results[0]));
  hlo_test_add_return(body, VALUES(&loop->results[1]));
  return m;
}

static hlo_status_t run_processes(hlo_module_t* m, const hlo_func_t* const* funcs,
                                  uint32_t replicas, uint32_t input_count, hlo_tensor_t** inputs,
                                  uint32_t output_count, hlo_tensor_t** outputs) {
  hlo_interp_program_t* program = NULL;
  hlo_test_must(hlo_interp_program_create(m, &program));
  hlo_simgrid_run_t run = {.replica_count = replicas,
                           .partition_count = 1,
                           .funcs = funcs,
                           .input_count = input_count,
                           .output_count = output_count,
                           .inputs = inputs};
  hlo_status_t status = hlo_simgrid_run(program, &run, outputs);
  hlo_interp_program_release(program);
  return status;
}

static void collectives_suspend_inside_loops(void** state) {
  (void)state;
  hlo_module_t* m = reducing_loop();
  const hlo_func_t* funcs[2] = {m->first_func, m->first_func};
  hlo_tensor_t* inputs[2] = {hlo_test_s32_tensor(1), hlo_test_s32_tensor(4)};
  hlo_tensor_t* outputs[2] = {NULL, NULL};
  hlo_test_must(run_processes(m, funcs, 2, 2, inputs, 2, outputs));
  for (int p = 0; p < 2; ++p) {
    assert_int_equal(hlo_test_take_s32(outputs[p]), 20);
    hlo_tensor_release(inputs[p]);
  }
  hlo_module_release(m);
}

// A single process of a group of two gets an error that its group is incomplete.
static void a_lone_process_is_refused(void** state) {
  (void)state;
  hlo_module_t* m = reducing_loop();
  hlo_tensor_t *input = hlo_test_s32_tensor(1), *output = NULL;
  hlo_status_t status = hlo_test_run_entry(m, 1, &input, 1, &output);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  hlo_status_release(status);
  hlo_tensor_release(input);
  hlo_module_release(m);
}

static hlo_module_t* permute_and_wait(bool second_waits) {
  hlo_module_t* m = hlo_test_new_module();
  const hlo_type_t* s32 = hlo_test_scalar_type(m, HLO_DTYPE_S32);
  const int64_t ids[] = {0, 1};
  hlo_named_attr_t pairs = {HLO_ATTR_source_target_pairs, matrix(m, 1, 2, ids)};
  const char* names[2] = {"first", "second"};
  for (int k = 0; k < 2; ++k) {
    hlo_func_t* func = hlo_test_add_func(m, names[k], TYPES(s32), TYPES(s32));
    hlo_value_t* x = func->body->args[0];
    if (k == 0 || second_waits) {
      x = &hlo_test_add_node(func->body, HLO_OP_collective_permute, VALUES(x), TYPES(s32), 1,
                             &pairs, 0)
               ->results[0];
    }
    hlo_test_add_return(func->body, VALUES(x));
  }
  return m;
}

static void permutes_fill_with_zero(void** state) {
  (void)state;
  hlo_module_t* m = permute_and_wait(true);
  const hlo_func_t* funcs[2] = {m->first_func, m->last_func};
  hlo_tensor_t* inputs[2] = {hlo_test_s32_tensor(7), hlo_test_s32_tensor(9)};
  hlo_tensor_t* outputs[2] = {NULL, NULL};
  hlo_test_must(run_processes(m, funcs, 2, 2, inputs, 2, outputs));
  assert_int_equal(hlo_test_take_s32(outputs[0]), 0);
  assert_int_equal(hlo_test_take_s32(outputs[1]), 7);
  hlo_tensor_release(inputs[0]);
  hlo_tensor_release(inputs[1]);
  hlo_module_release(m);
}

static void waiting_for_ever_is_an_error(void** state) {
  (void)state;
  hlo_module_t* m = permute_and_wait(false);
  const hlo_func_t* funcs[2] = {m->first_func, m->last_func};
  hlo_tensor_t* inputs[2] = {hlo_test_s32_tensor(7), hlo_test_s32_tensor(9)};
  hlo_tensor_t* outputs[2] = {NULL, NULL};
  hlo_status_t status = run_processes(m, funcs, 2, 2, inputs, 2, outputs);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_FAILED_PRECONDITION);
  hlo_status_release(status);
  hlo_tensor_release(inputs[0]);
  hlo_tensor_release(inputs[1]);
  hlo_module_release(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(groups_follow_the_four_strategies),
      cmocka_unit_test(collectives_suspend_inside_loops),
      cmocka_unit_test(a_lone_process_is_refused),
      cmocka_unit_test(permutes_fill_with_zero),
      cmocka_unit_test(waiting_for_ever_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
