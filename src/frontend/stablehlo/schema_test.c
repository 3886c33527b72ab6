// SPDX-License-Identifier: Apache-2.0
// Tests of the schemas that the op table implies, against the op definitions of StableHLO and CHLO.
#include "frontend/stablehlo/schema.h"

#include <string.h>

#include "base/test_util.h"

static const struct {
  const char* name;
  const char* properties;  // NULL: the op is unknown
} expected[] = {
    {"stablehlo.add", ""},
    {"chlo.acos", ""},
    {"chlo.broadcast_add", "broadcast_dimensions?"},
    {"chlo.ragged_dot", "precision_config? ragged_dot_dimension_numbers"},
    {"chlo.scan",
     "dimension is_associative? is_reverse? scan_dim_size? operand_segment_sizes* "
     "result_segment_sizes*"},
    {"func.call", "arg_attrs+ callee no_inline+ res_attrs+"},
    {"sdy.manual_computation", "in_shardings manual_axes out_shardings"},
    {"stablehlo.all_to_all",
     "channel_handle? concat_dimension replica_groups split_count split_dimension"},
    {"stablehlo.collective_broadcast", "channel_handle? has_dynamic_root+ replica_groups"},
    {"stablehlo.collective_permute", "channel_handle? source_target_pairs"},
    {"stablehlo.convolution",
     "batch_group_count dimension_numbers feature_group_count lhs_dilation? padding? "
     "precision_config? rhs_dilation? window_reversal? window_strides?"},
    {"stablehlo.custom_call",
     "api_version? backend_config? call_target_name called_computations? has_side_effect? "
     "operand_layouts? output_operand_aliases? result_layouts? result_tilings+"},
    {"stablehlo.dot_general", "algorithm+ dot_dimension_numbers precision_config?"},
    {"stablehlo.gather", "dimension_numbers indices_are_sorted? slice_sizes"},
    {"stablehlo.scatter", "indices_are_sorted? scatter_dimension_numbers unique_indices?"},
    {"stablehlo.send", "channel_handle is_host_transfer? source_target_pairs+"},
    {"stablehlo.tanh", "result_accuracy+"},
    {"vhlo.add_v1", ""},
    {"vhlo.add_v2", NULL},
    {"vhlo.add", NULL},
    {"vhlo.cross-replica-sum_v1", "replica_groups"},
    {"vhlo.pad_v1", "edge_padding_high edge_padding_low interior_padding"},
    {"vhlo.send_v1", "channel_id channel_type is_host_transfer"},
    {"vhlo.tanh_v1", ""},
    {"vhlo.tanh_v2", "result_accuracy"},
    {"hlo.copy", NULL},  // has no bytecode
    {"stablehlo.unknown", NULL},
    {"stablehlo", NULL},
};

static void test_schemas(void** state) {
  (void)state;
  hlo_arena_t arena;
  hlo_arena_init(&arena, 0);
  for (size_t i = 0; i < sizeof expected / sizeof expected[0]; ++i) {
    const hlo_bc_op_schema_t* schema;
    assert_true(hlo_status_is_ok(hlo_bc_find_op(&arena, expected[i].name, &schema)));
    if (!expected[i].properties) {
      assert_null(schema);
      continue;
    }
    assert_non_null(schema);
    assert_string_equal(schema->name, expected[i].name);
    assert_string_equal(schema->properties, expected[i].properties);
  }
  hlo_arena_deinit(&arena);
}

// The look-up of versions needs them in this order.
static void test_versions_are_sorted(void** state) {
  (void)state;
  static const char* const names[] = {
#define HLO_VHLO_OP(name, ...) name,
#include "frontend/stablehlo/vhlo.def"
#undef HLO_VHLO_OP
  };
  for (size_t i = 1; i < sizeof names / sizeof names[0]; ++i) {
    assert_true(strcmp(names[i - 1], names[i]) < 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_schemas),
                                     cmocka_unit_test(test_versions_are_sorted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
