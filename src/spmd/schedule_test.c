// SPDX-License-Identifier: Apache-2.0
// Properties of schedules: the rules are a strict order, schedules are never worse than before,
// never better than the bound, keep to limits and are the same in every run.
#include "base/strbuf.h"
#include "ir/clone.h"
#include "ir/test_util.h"
#include "passes/runner.h"
#include "spmd/passes.h"
#include "spmd/schedule_impl.h"

static uint64_t seed;

// A linear congruential generator: the upper bits of its state.
static uint32_t random_below(uint32_t count) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((seed >> 33) % count);
}

// ---- the order of candidates

enum { TASK_COUNT = 40, TRIPLE_COUNT = 10000 };

static void make_candidates(hlo_node_t* nodes, hlo_task_t* tasks, hlo_candidate_t* candidates) {
  for (uint32_t i = 0; i < TASK_COUNT; ++i) {
    nodes[i] = (hlo_node_t){.op = random_below(2) ? HLO_OP_add : HLO_OP_constant, .index = i};
    tasks[i] = (hlo_task_t){
        .node = &nodes[i], .kind = random_below(4), .place = i, .depth_ns = random_below(4)};
    tasks[i].uses[random_below(HLO_SCHEDULE_RESOURCE_COUNT)] = tasks[i].kind == HLO_TASK_START;
    candidates[i] = (hlo_candidate_t){
        .task = &tasks[i], .ready_ns = random_below(4), .delta_bytes = (double)random_below(7) - 3};
  }
}

static void test_rules_are_a_strict_order(void** state) {
  (void)state;
  hlo_node_t nodes[TASK_COUNT];
  hlo_task_t tasks[TASK_COUNT];
  hlo_candidate_t c[TASK_COUNT];
  hlo_schedule_options_t options[2];
  hlo_schedule_rule_t rule;
  uint32_t decided[HLO_SCHEDULE_RULE_COUNT] = {0};
  hlo_test_check(hlo_schedule_options_parse("limit=2:memory=3:early", &options[0]));
  hlo_test_check(hlo_schedule_options_parse("limit=2:memory=3", &options[1]));
  seed = 1;
  for (uint32_t i = 0; i < TRIPLE_COUNT; ++i) {
    if (i % 100 == 0) make_candidates(nodes, tasks, c);
    const hlo_schedule_state_t now = {&options[i % 2], random_below(4), random_below(4)};
    const hlo_candidate_t *x = &c[random_below(TASK_COUNT)], *y = &c[random_below(TASK_COUNT)],
                          *z = &c[random_below(TASK_COUNT)];
    const bool xy = hlo_candidate_is_better(&now, x, y, &rule);
    ++decided[rule];
    const bool yx = hlo_candidate_is_better(&now, y, x, &rule);
    const bool yz = hlo_candidate_is_better(&now, y, z, &rule);
    const bool xz = hlo_candidate_is_better(&now, x, z, &rule);
    assert_true(x == y ? !xy && !yx : xy != yx);
    if (xy && yz) assert_true(xz);
  }
  for (int r = 0; r < HLO_SCHEDULE_RULE_COUNT; ++r) assert_true(decided[r] > 0);
}

// ---- schedules of random programs

enum { OPS = 60, PROGRAMS = 60 };

// Writes a program of products, sums, collectives and calls that are annotated as such, on values
// before them.
static void write_program(hlo_strbuf_t* out) {
  hlo_strbuf_puts(out,
                  "module attributes {mhlo.num_replicas = 2 : i32} {\n"
                  "func.func @main(%v0: tensor<32x32xf32>) -> tensor<32x32xf32> {\n");
  for (uint32_t i = 1; i <= OPS; ++i) {
    const uint32_t a = i - 1 - random_below(i < 12 ? i : 12), b = random_below(i);
    const char* type = "tensor<32x32xf32>";
    switch (random_below(5)) {
      case 0:
        hlo_strbuf_printf(out,
                          "  %%v%u = stablehlo.dot_general %%v%u, %%v%u, contracting_dims = "
                          "[1] x [0] : (%s, %s) -> %s\n",
                          i, a, b, type, type, type);
        break;
      case 1:
        hlo_strbuf_printf(out,
                          "  %%v%u = \"stablehlo.collective_permute\"(%%v%u) "
                          "<{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : "
                          "(%s) -> %s\n",
                          i, a, type, type);
        break;
      case 2:
        hlo_strbuf_printf(out,
                          "  %%v%u = \"stablehlo.all_reduce\"(%%v%u) <{replica_groups = "
                          "dense<[[0, 1]]> : tensor<1x2xi64>}> ({\n  ^bb0(%%p: tensor<f32>, %%q: "
                          "tensor<f32>):\n    %%r = stablehlo.add %%p, %%q : tensor<f32>\n    "
                          "stablehlo.return %%r : tensor<f32>\n  }) : (%s) -> %s\n",
                          i, a, type, type);
        break;
      case 3:
        hlo_strbuf_printf(
            out,
            "  %%v%u = stablehlo.custom_call @exchange(%%v%u) "
            "{mhlo.frontend_attributes = {_xla_stream_annotation = \"collective\"}} : "
            "(%s) -> %s\n",
            i, a, type, type);
        break;
      default: hlo_strbuf_printf(out, "  %%v%u = stablehlo.add %%v%u, %%v%u : %s\n", i, a, b, type);
    }
  }
  hlo_strbuf_printf(out, "  return %%v%u : tensor<32x32xf32>\n}\n}\n", OPS);
}

static hlo_module_t* parse_async(const char* text) {
  hlo_module_t* module = hlo_test_parse(text);
  hlo_test_check(hlo_passes_run(module, "create_async_collectives",
                                &(hlo_pass_options_t){.more = &hlo_spmd_pass_set}));
  return module;
}

static void check_program(const char* text, const char* model) {
  hlo_schedule_options_t options;
  hlo_schedule_stats_t before, after;
  uint64_t digest[2], again[2];
  uint32_t changed;
  hlo_test_check(hlo_schedule_options_parse(model, &options));
  for (int run = 0; run < 10; ++run) {
    hlo_module_t* module = parse_async(text);
    hlo_test_check(hlo_schedule_module(module, &options, &changed, &before, &after));
    hlo_test_check(hlo_module_verify(module, NULL));
    hlo_test_check(hlo_module_digest(module, again));
    if (run == 0) memcpy(digest, again, sizeof digest);
    assert_memory_equal(digest, again, sizeof digest);
    assert_true(after.length_ns <= before.length_ns || options.memory_bytes);
    assert_true(after.exposed_ns >= after.bound_ns * (1 - 1e-9));
    assert_true(after.communication_ns <= before.communication_ns * (1 + 1e-9));
    assert_int_equal(after.collectives, before.collectives);
    hlo_module_release(module);
  }
}

static void test_random_programs(void** state) {
  (void)state;
  const char* const models[] = {"host",
                                "host:limit=4",
                                "host:limit=4:early",
                                "node:limit=2:groups",
                                "host:memory=20000",
                                "node:limit=2"};
  for (uint32_t i = 0; i < PROGRAMS; ++i) {
    HLO_SCOPED_STRBUF text = {0};
    seed = i;
    write_program(&text);
    check_program(hlo_strbuf_text(&text), models[i % 6]);
  }
}

// ---- limits

// Returns the most collectives in flight in the entry.
static uint32_t count_flying(const hlo_module_t* module) {
  uint32_t flying = 0, most = 0;
  for (const hlo_node_t* n = module->first_func->body->first; n; n = n->next) {
    flying += n->op == HLO_OP_async_start;
    flying -= n->op == HLO_OP_async_done;
    if (flying > most) most = flying;
  }
  return most;
}

static hlo_module_t* schedule_permutes(const char* model, hlo_schedule_stats_t* after) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_schedule_options_t options;
  uint32_t changed;
  hlo_strbuf_puts(&text,
                  "module attributes {mhlo.num_replicas = 2 : i32} {\n"
                  "func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, "
                  "tensor<64x64xf32>) {\n  %s0 = stablehlo.negate %x : tensor<64x64xf32>\n  %d0 = "
                  "stablehlo.abs %x : tensor<64x64xf32>\n");
  for (int i = 0; i < 6; ++i) {
    hlo_strbuf_printf(
        &text,
        "  %%n%d = stablehlo.negate %%x : tensor<64x64xf32>\n  %%p%d = "
        "\"stablehlo.collective_permute\"(%%n%d) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : "
        "tensor<2x2xi64>}> : (tensor<64x64xf32>) -> tensor<64x64xf32>\n"
        "  %%s%d = stablehlo.add %%s%d, %%p%d : tensor<64x64xf32>\n"
        "  %%d%d = stablehlo.dot_general %%d%d, %%x, contracting_dims = [1] x [0] : "
        "(tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n",
        i, i, i, i + 1, i, i, i + 1, i);
  }
  hlo_strbuf_puts(&text, "  return %s6, %d6 : tensor<64x64xf32>, tensor<64x64xf32>\n}\n}\n");
  hlo_module_t* module = parse_async(hlo_strbuf_text(&text));
  hlo_test_check(hlo_schedule_options_parse(model, &options));
  hlo_test_check(hlo_schedule_module(module, &options, &changed, NULL, after));
  return module;
}

static void test_limits(void** state) {
  (void)state;
  hlo_schedule_stats_t one, four, small;
  hlo_module_t* modules[] = {schedule_permutes("host:limit=1", &one),
                             schedule_permutes("host:limit=4", &four),
                             schedule_permutes("host:limit=4:memory=70000", &small)};
  assert_int_equal(count_flying(modules[0]), 1);
  assert_true(count_flying(modules[1]) <= 4);
  assert_true(four.exposed_ns <= one.exposed_ns);
  assert_true(small.peak_bytes < four.peak_bytes || four.peak_bytes <= 70000);
  for (int i = 0; i < 3; ++i) hlo_module_release(modules[i]);
}

// ---- threads of execution

// The ops of each computation below: a permute, its sum with the argument, and a product
// that could run between, written after both.
#define THREAD_OPS(name)                                                                     \
  "    %p" name " = \"stablehlo.collective_permute\"(%x" name                                \
  ") <{source_target_pairs = "                                                               \
  "dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<64x64xf32>) -> tensor<64x64xf32>\n" \
  "    %s" name " = stablehlo.add %p" name ", %x" name                                       \
  " : tensor<64x64xf32>\n"                                                                   \
  "    %d" name " = stablehlo.dot_general %x" name ", %x" name                               \
  ", contracting_dims = [1] x [0] "                                                          \
  ": (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>\n"                          \
  "    %r" name " = stablehlo.add %s" name ", %d" name " : tensor<64x64xf32>\n"

// Asynchronous computations in a function and in a region; nothing calls @other.
static const char threads_program[] =
    "module attributes {mhlo.num_replicas = 2 : i32} {\n"
    "func.func @main(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {\n"
    "  %f = \"hlo.async_start\"(%x) <{callee = @parallel}> : (tensor<64x64xf32>) -> "
    "!stablehlo.future<tensor<64x64xf32>>\n"
    "  %g = \"hlo.async_start\"(%x) ({\n  ^bb0(%xa: tensor<64x64xf32>):\n" THREAD_OPS("a")
    "    stablehlo.return %ra : tensor<64x64xf32>\n"
    "  }) : (tensor<64x64xf32>) -> !stablehlo.future<tensor<64x64xf32>>\n"
    "  %0 = \"hlo.async_done\"(%f) : (!stablehlo.future<tensor<64x64xf32>>) -> tensor<64x64xf32>\n"
    "  %1 = \"hlo.async_done\"(%g) : (!stablehlo.future<tensor<64x64xf32>>) -> tensor<64x64xf32>\n"
    "  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>\n}\n"
    "func.func private @parallel(%xb: tensor<64x64xf32>) -> tensor<64x64xf32> {\n" THREAD_OPS("b")
    "  return %rb : tensor<64x64xf32>\n}\n"
    "func.func private @other(%xc: tensor<64x64xf32>) -> tensor<64x64xf32> {\n" THREAD_OPS("c")
    "  return %rc : tensor<64x64xf32>\n}\n}\n";

// Checks that every product of a region and those inside runs while a collective is in flight;
// returns how many there are.
static uint32_t check_products_covered(const hlo_region_t* region) {
  uint32_t flying = 0, count = 0;
  for (const hlo_node_t* n = region->first; n; n = n->next) {
    flying += n->op == HLO_OP_async_start;
    flying -= n->op == HLO_OP_async_done;
    if (n->op == HLO_OP_dot_general) {
      assert_int_equal(flying, 1);
      ++count;
    }
    for (uint32_t i = 0; i < n->region_count; ++i) count += check_products_covered(n->regions[i]);
  }
  return count;
}

static void test_threads(void** state) {
  (void)state;
  hlo_schedule_options_t options;
  hlo_schedule_stats_t before, after;
  uint32_t changed, products = 0;
  hlo_module_t* module = parse_async(threads_program);
  hlo_test_check(hlo_schedule_options_parse("node", &options));
  hlo_test_check(hlo_schedule_module(module, &options, &changed, &before, &after));
  hlo_test_check(hlo_module_verify(module, NULL));
  assert_int_equal(changed, 3);
  for (const hlo_func_t* f = module->first_func; f; f = f->next) {
    products += check_products_covered(f->body);
  }
  assert_int_equal(products, 3);
  // Both computations count for the entry, and both became shorter.
  assert_int_equal(before.collectives, 2);
  assert_true(before.communication_ns > 0);
  assert_true(after.exposed_ns < before.exposed_ns);
  assert_true(after.length_ns < before.length_ns);
  hlo_module_release(module);
}

static void expect_fault(const char* text, const char* part) {
  hlo_schedule_options_t options;
  hlo_status_t status = hlo_schedule_options_parse(text, &options);
  assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
  assert_non_null(strstr(hlo_status_message(status), part));
  hlo_status_release(status);
}

static void test_options(void** state) {
  (void)state;
  expect_fault("moon", "'moon' is neither a machine");
  expect_fault("limit=0", "a number above 0");
  expect_fault("host:memory=x", "a number above 0");
  expect_fault("all_reduces=2", "'all_reduces' is no limit");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules_are_a_strict_order),
      cmocka_unit_test(test_random_programs),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
