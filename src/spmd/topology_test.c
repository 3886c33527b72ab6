// SPDX-License-Identifier: Apache-2.0
// The time of collectives over links, computed by hand: 16 devices, 1,200 bytes each.
#include "spmd/topology.h"

#include <string.h>

#include "base/strbuf.h"
#include "ir/test_util.h"
#include "spmd/simulate.h"

static const char kIslands[] =
    "machine islands  # of four, two groups of them\n"
    "compute 10 1 2\n"
    "launch 5\n"
    "memory 16\n"
    "level island switch 4 100 10\n"
    "level network switch 0 40 1000\n";
static const char kRing[] =
    "machine ring\ncompute 10 1 2\nlevel x ring 4 60 10\nlevel y ring 4 60 10\n";

#define GROUPS(rows, shape) "replica_groups = dense<" rows "> : tensor<" shape "xi64>"
#define OF_FOUR GROUPS("[[0,1,2,3],[4,5,6,7],[8,9,10,11],[12,13,14,15]]", "4x4")
#define ACROSS GROUPS("[[0,4,8,12],[1,5,9,13],[2,6,10,14],[3,7,11,15]]", "4x4")
#define OF_ALL GROUPS("[[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]]", "1x16")
#define OF_TWO_ISLANDS GROUPS("[[0,1,4,5],[2,3,6,7],[8,9,12,13],[10,11,14,15]]", "4x4")

typedef struct row {
  const char* machine;
  const char* op;
  const char* attrs;
  uint32_t result;  // elements of 4 bytes; the operand has 300
  double latency, link;
  int busiest;
} row_t;

static const row_t kRows[] = {
    // Twice 3/4 of 1,200 bytes over a link of 100, and twice the 2 messages of a tree of 4.
    {kIslands, "all_reduce", OF_FOUR, 300, 40, 18, 0},
    // All four groups leave an island by its link: 4 * 2 * 3/4 * 1,200 bytes over 40.
    {kIslands, "all_reduce", ACROSS, 300, 4000, 180, 1},
    // First inside of islands (18 ns), then one part of each: 2 * 3/4 * 1,200 over 40.
    {kIslands, "all_reduce", OF_ALL, 300, 4040, 45, 1},
    // Pairs inside of islands, then two groups between two islands: 2 * 2 * 1/2 * 1,200 over 40.
    {kIslands, "all_reduce", OF_TWO_ISLANDS, 300, 2020, 60, 1},
    {kIslands, "all_gather", "all_gather_dim = 0 : i64, " OF_FOUR, 1200, 20, 36, 0},
    {kIslands, "reduce_scatter", "scatter_dimension = 0 : i64, " OF_FOUR, 75, 20, 9, 0},
    // Each of the four members of an island sends 12/16 of its bytes to other islands.
    {kIslands, "all_to_all",
     "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, " ACROSS, 300,
     2000, 90, 1},
    {kIslands, "collective_broadcast", OF_FOUR, 300, 20, 12, 0},
    // To a neighbour in the island; and two of an island to another one.
    {kIslands, "collective_permute",
     "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>", 300, 10, 12, 0},
    {kIslands, "collective_permute",
     "source_target_pairs = dense<[[0, 4], [1, 5]]> : tensor<2x2xi64>", 300, 1000, 60, 1},
    {kIslands, "collective_permute", "source_target_pairs = dense<[[3, 3]]> : tensor<1x2xi64>", 300,
     0, 0, -1},
    // A ring of four: 2 messages each phase. 2 * 3/4 * 1,200 bytes over both links, 60.
    {kRing, "all_reduce", OF_FOUR, 300, 40, 30, 0},
    // Rings of y: the links of the four devices of x together are 60, and all four groups use them.
    {kRing, "all_reduce", ACROSS, 300, 40, 120, 1},
    // The distance of 0 and 3 is 1, in one of two directions of 30; that of 0 and 2 is 2.
    {kRing, "collective_permute", "source_target_pairs = dense<[[0, 3]]> : tensor<1x2xi64>", 300,
     10, 40, 0},
    {kRing, "collective_permute", "source_target_pairs = dense<[[0, 2]]> : tensor<1x2xi64>", 300,
     20, 80, 0},
};

static hlo_module_t* make_program(const row_t* row) {
  const bool has_body =
      strcmp(row->op, "all_reduce") == 0 || strcmp(row->op, "reduce_scatter") == 0;
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text,
                    "module attributes {mhlo.num_replicas = 16 : i32} {\n"
                    "func.func @main(%%x: tensor<300xf32>) -> tensor<%uxf32> {\n"
                    "  %%0 = \"stablehlo.%s\"(%%x) ",
                    row->result, row->op);
  if (has_body) {
    hlo_strbuf_puts(&text,
                    "({\n ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                    "  %s = stablehlo.add %a, %b : tensor<f32>\n"
                    "  stablehlo.return %s : tensor<f32>\n }) ");
  }
  hlo_strbuf_printf(&text,
                    "{%s} : (tensor<300xf32>) -> tensor<%uxf32>\n"
                    "  return %%0 : tensor<%uxf32>\n}\n}\n",
                    row->attrs, row->result, row->result);
  return hlo_test_parse(hlo_strbuf_text(&text));
}

static void test_times(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
    const row_t* row = &kRows[i];
    HLO_SCOPED_ARENA arena = {0};
    hlo_topology_cache_t cache = {.arena = &arena};
    hlo_schedule_machine_t machine;
    hlo_exchange_time_t time;
    hlo_module_t* module = make_program(row);
    hlo_test_check(hlo_schedule_machine_parse(row->machine, &arena, &machine));
    const hlo_node_t* node = hlo_module_entry(module)->body->first;
    const hlo_process_counts_t counts = hlo_module_process_counts(module);
    hlo_test_check(hlo_topology_time(&machine, node, counts, &cache, &time));
    if (time.latency_ns != row->latency || time.link_ns != row->link ||
        time.busiest != row->busiest) {
      fail_msg("row %zu, %s: latency %g, link %g, level %d", i, row->op, time.latency_ns,
               time.link_ns, time.busiest);
    }
    // The groups are known now.
    hlo_exchange_time_t again;
    hlo_test_check(hlo_topology_time(&machine, node, counts, &cache, &again));
    assert_memory_equal(&time, &again, sizeof time);
    hlo_module_release(module);
  }
}

static void test_text(void** state) {
  (void)state;
  HLO_SCOPED_ARENA arena = {0};
  HLO_SCOPED_STRBUF text = {0};
  hlo_schedule_machine_t machine, table;
  hlo_test_check(hlo_schedule_machine_parse(kIslands, &arena, &machine));
  assert_float_equal(machine.memory_gibibytes, 16, 0);
  assert_int_equal(hlo_topology_capacity(&machine), 0);
  hlo_schedule_machine_print(&machine, &text);
  assert_string_equal(hlo_strbuf_text(&text),
                      "machine islands\ncompute 10 1 2\nlaunch 5\nmemory 16\noverlap yes\n"
                      "level island switch 4 100 10\nlevel network switch 0 40 1000\n");
  assert_true(hlo_schedule_machine("torus", &table));
  assert_int_equal(table.level_count, 3);
  assert_false(hlo_schedule_machine("nothing", &table));
  hlo_test_check(hlo_schedule_machine_parse(kRing, &arena, &machine));
  assert_int_equal(hlo_topology_capacity(&machine), 16);
}

static void test_wrong_texts(void** state) {
  (void)state;
  static const char* const texts[] = {
      "",
      "compute 1 1 1\n",
      "level x ring 4 60 10\n",
      "compute 0 1 1\nlevel x ring 4 60 10\n",
      "compute 1 1 x\nlevel x ring 4 60 10\n",
      "compute 1 1 1\nlevel x star 4 60 10\n",
      "compute 1 1 1\nlevel x ring 4.5 60 10\n",
      "compute 1 1 1\nlevel x ring 4 60\n",
      "compute 1 1 1\nlevel x ring 0 60 1\nlevel y ring 4 60 1\n",
      "compute 1 1 1\nspeed 3\n",
      "compute 1 1 1\noverlap perhaps\n",
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    HLO_SCOPED_ARENA arena = {0};
    hlo_schedule_machine_t machine;
    hlo_status_t status = hlo_schedule_machine_parse(texts[i], &arena, &machine);
    assert_int_equal(hlo_status_code(status), HLO_STATUS_INVALID_ARGUMENT);
    hlo_status_release(status);
  }
}

// A product of 4,096 flops at 10 in a ns, 5 ns to begin it, and then a permute that needs it: 16
// floats to a neighbour take 10 + 64 / 100 ns.
static const char kText[] =
    "module attributes {mhlo.num_partitions = 4 : i32} {\n"
    "func.func @main(%x: tensor<16x8xf32>, %y: tensor<8x16xf32>) -> tensor<16xf32> {\n"
    "  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<16x8xf32>, "
    "tensor<8x16xf32>) -> tensor<16x16xf32>\n"
    "  %1 = stablehlo.slice %0 [0:1, 0:16] : (tensor<16x16xf32>) -> tensor<1x16xf32>\n"
    "  %2 = stablehlo.reshape %1 : (tensor<1x16xf32>) -> tensor<16xf32>\n"
    "  %3 = \"stablehlo.collective_permute\"(%2) {source_target_pairs = dense<[[0, 1], [1, 0]]> "
    ": "
    "tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : "
    "(tensor<16xf32>) -> tensor<16xf32>\n"
    "  return %3 : tensor<16xf32>\n}\n}\n";

static void test_step(void** state) {
  (void)state;
  HLO_SCOPED_ARENA arena = {0};
  hlo_schedule_options_t options;
  const hlo_traffic_mesh_t none = {0};
  hlo_simulation_t simulation;
  hlo_module_t* module = hlo_test_parse(kText);
  hlo_test_check(hlo_schedule_options_parse(NULL, &options));
  hlo_test_check(hlo_schedule_machine_parse(kIslands, &arena, &options.machine));
  hlo_test_check(hlo_simulate(module, &options, &none, &arena, &simulation));
  // Alone: max(409.6, 2,048 bytes over 2 = 1,024) + 5; a start takes 5, while data is under way.
  const double compute = 1024 + 5 + 5, communication = 10.64;
  assert_float_equal(simulation.in_order.compute_ns, compute, 1e-9);
  assert_float_equal(simulation.in_order.communication_ns, communication, 1e-9);
  assert_float_equal(simulation.in_order.length_ns, compute + communication - 5, 1e-9);
  assert_float_equal(simulation.scheduled.flops, 4096, 0);
  assert_float_equal(simulation.memory.argument_bytes, 1024, 0);
  assert_int_equal(simulation.traffic.count, 1);
  assert_float_equal(simulation.traffic.items[0].bytes.sent_bytes, 64, 0);
  hlo_module_release(module);
}

// Memory exhausted at every allocation is reported.
static void test_exhausted_memory(void** state) {
  (void)state;
  bool failed = true;
  for (uint64_t n = 1; failed; ++n) {
    HLO_SCOPED_ARENA arena = {0};
    hlo_schedule_options_t options;
    hlo_traffic_mesh_t mesh = {0};
    hlo_simulation_t simulation;
    hlo_module_t* module = hlo_test_parse(kText);
    hlo_test_check(hlo_schedule_options_parse(NULL, &options));
    options.is_fused = true;
    hlo_arena_alloc(&module->arena, (size_t)(module->arena.end - module->arena.next));
    hlo_mem_fail_nth(n);
    hlo_status_t status = hlo_schedule_machine_parse(kIslands, &arena, &options.machine);
    if (hlo_status_is_ok(status)) status = hlo_traffic_mesh_read(module, 4, &arena, &mesh);
    if (hlo_status_is_ok(status)) {
      status = hlo_simulate(module, &options, &mesh, &arena, &simulation);
    }
    failed = hlo_mem_failed();
    hlo_mem_fail_nth(0);
    assert_int_equal(hlo_status_code(status),
                     failed ? HLO_STATUS_RESOURCE_EXHAUSTED : HLO_STATUS_OK);
    hlo_status_release(status);
    hlo_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_wrong_texts),
      cmocka_unit_test(test_step),
      cmocka_unit_test(test_exhausted_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
