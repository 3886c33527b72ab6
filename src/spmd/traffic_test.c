// SPDX-License-Identifier: Apache-2.0
// The bytes that collectives send, computed by hand, and the names of their groups.
#include "spmd/traffic.h"

#include "base/strbuf.h"
#include "ir/test_util.h"

// A program of one collective of 64 floats (256 bytes), over a mesh if there are partitions.
typedef struct row {
  const char* counts;  // attributes of the module
  const char* mesh;    // "" or the axes of a mesh
  const char* op;
  const char* groups;  // attributes of the op
  uint32_t result;     // elements
  const char* axes;
  uint32_t group_size, group_count;
  double sent, total;
} row_t;

#define REPLICAS "mhlo.num_replicas = 8 : i32"
#define PARTITIONS "mhlo.num_partitions = 8 : i32"
#define BOTH "mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 4 : i32"
#define CHANNEL ", channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
#define GLOBAL CHANNEL ", use_global_device_ids"
#define IN_FOURS "replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>"
#define IN_TWOS "replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>"
#define OF_MESH "[\"x\"=2, \"y\"=4]"

static const row_t kRows[] = {
    // A ring sends 3/4 of the bytes to reduce, and 3/4 to gather.
    {REPLICAS, "", "all_reduce", IN_FOURS, 64, "replicas", 4, 2, 384, 8 * 384},
    {PARTITIONS, OF_MESH, "all_reduce", IN_FOURS GLOBAL, 64, "y", 4, 2, 384, 8 * 384},
    {PARTITIONS, OF_MESH, "all_reduce", IN_TWOS GLOBAL, 64, "x", 2, 4, 256, 8 * 256},
    {PARTITIONS, OF_MESH, "all_reduce",
     "replica_groups = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>" GLOBAL, 64,
     "y:(1)2", 2, 4, 256, 8 * 256},
    {PARTITIONS, OF_MESH, "all_reduce",
     "replica_groups = dense<[[0, 1, 4, 5], [2, 3, 6, 7]]> : tensor<2x4xi64>" GLOBAL, 64,
     "x,y:(2)2", 4, 2, 384, 8 * 384},
    {PARTITIONS, OF_MESH ", device_ids=[7, 6, 5, 4, 3, 2, 1, 0]", "all_reduce", IN_FOURS GLOBAL, 64,
     "y", 4, 2, 384, 8 * 384},
    // Groups that are no axes.
    {PARTITIONS, OF_MESH, "all_reduce",
     "replica_groups = dense<[[0, 1], [2, 4], [3, 5], [6, 7]]> : tensor<4x2xi64>" GLOBAL, 64, "", 2,
     4, 256, 8 * 256},
    // A group of three and one of five: 2 * 2/3 * 256 and 2 * 4/5 * 256 each.
    {REPLICAS, "", "all_reduce",
     "replica_groups = dense<[[0, 1, 2, -1, -1], [3, 4, 5, 6, 7]]> : tensor<2x5xi64>", 64,
     "replicas", 5, 2, 2 * 256 * 4.0 / 5, 2 * 256 * (2 + 4)},
    // Without groups: all replicas; with channels, replicas and partitions.
    {BOTH, "", "all_reduce", "replica_groups = dense<> : tensor<0x0xi64>", 64, "replicas", 2, 4,
     256, 8 * 256},
    {BOTH, "", "all_reduce", "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>" CHANNEL, 64, "",
     8, 1, 448, 8 * 448},
    {REPLICAS, "", "all_gather", "all_gather_dim = 0 : i64, " IN_FOURS, 256, "replicas", 4, 2, 768,
     8 * 768},
    {REPLICAS, "", "reduce_scatter", "scatter_dimension = 0 : i64, " IN_FOURS, 16, "replicas", 4, 2,
     192, 8 * 192},
    {REPLICAS, "", "all_to_all",
     "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64, " IN_FOURS, 64,
     "replicas", 4, 2, 192, 8 * 192},
    // The root of each group sends to the next member, and so on: the last one sends nothing.
    {REPLICAS, "", "collective_broadcast", IN_FOURS, 64, "replicas", 4, 2, 256, 6 * 256},
    // One pair stays where it is.
    {PARTITIONS, OF_MESH, "collective_permute",
     "source_target_pairs = dense<[[0, 1], [1, 0], [5, 5]]> : tensor<3x2xi64>" CHANNEL, 64, "y", 8,
     1, 256, 2 * 256},
    {BOTH, "", "collective_permute",
     "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>", 64, "replicas", 2, 4, 256,
     8 * 256},
};

static hlo_module_t* make_program(const row_t* row) {
  const bool has_body =
      strcmp(row->op, "all_reduce") == 0 || strcmp(row->op, "reduce_scatter") == 0;
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, "module attributes {%s} {\n", row->counts);
  if (*row->mesh) hlo_strbuf_printf(&text, "sdy.mesh @mesh = <%s>\n", row->mesh);
  hlo_strbuf_printf(&text,
                    "func.func @main(%%x: tensor<64xf32>) -> tensor<%uxf32> {\n"
                    "  %%0 = \"stablehlo.%s\"(%%x) ",
                    row->result, row->op);
  if (has_body) {
    hlo_strbuf_puts(&text,
                    "({\n ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
                    "  %s = stablehlo.add %a, %b : tensor<f32>\n"
                    "  stablehlo.return %s : tensor<f32>\n }) ");
  }
  hlo_strbuf_printf(&text,
                    "{%s} : (tensor<64xf32>) -> tensor<%uxf32>\n"
                    "  return %%0 : tensor<%uxf32>\n}\n}\n",
                    row->groups, row->result, row->result);
  return hlo_test_parse(hlo_strbuf_text(&text));
}

static void test_bytes_and_axes(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof kRows / sizeof *kRows; ++i) {
    const row_t* row = &kRows[i];
    HLO_SCOPED_ARENA arena = {0};
    hlo_module_t* module = make_program(row);
    hlo_traffic_mesh_t mesh;
    hlo_traffic_t traffic;
    hlo_test_check(hlo_traffic_mesh_read(module, 8, &arena, &mesh));
    hlo_test_check(hlo_traffic_count(module, &mesh, &arena, &traffic));
    assert_int_equal(traffic.count, 1);
    const hlo_traffic_item_t* item = &traffic.items[0];
    assert_string_equal(item->axes, row->axes);
    assert_int_equal(item->bytes.group_size, row->group_size);
    assert_int_equal(item->bytes.group_count, row->group_count);
    assert_float_equal(item->bytes.operand_bytes, 256, 0);
    assert_float_equal(item->bytes.sent_bytes, row->sent, 1e-9);
    assert_float_equal(item->bytes.total_bytes, row->total, 1e-9);
    assert_float_equal(traffic.total_bytes, row->total, 1e-9);
    hlo_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes_and_axes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
