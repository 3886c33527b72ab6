// SPDX-License-Identifier: Apache-2.0
// Tests of look-ups in the tables: every name finds its row; names with embedded zeros find no row.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "ir/ops.h"
#include "ir/type.h"

static void every_name_finds_its_row(void** state) {
  (void)state;
  for (int i = 0; i < HLO_OP_COUNT; ++i) {
    const hlo_op_info_t* info = hlo_op_info((hlo_op_t)i);
    assert_int_equal(hlo_op_from_name(info->name, strlen(info->name)), i);
    for (int k = 0; k < info->attr_count; ++k) {
      assert_int_equal(hlo_op_attr_slot((hlo_op_t)i, info->attrs[k].id), k);
    }
  }
  for (int i = 0; i < HLO_ATTR_COUNT; ++i) {
    const char* name = hlo_attr_name((hlo_attr_id_t)i);
    assert_int_equal(hlo_attr_from_name(name, strlen(name)), i);
  }
}

static void names_with_zeros_are_unknown(void** state) {
  (void)state;
  static const char kOp[4096] = "stablehlo.add";
  assert_int_equal(hlo_op_from_name(kOp, sizeof kOp), HLO_OP_COUNT);
  assert_int_equal(hlo_op_from_name(kOp, 12), HLO_OP_COUNT);
  static const char kAttr[4096] = "dimension";
  assert_int_equal(hlo_attr_from_name(kAttr, sizeof kAttr), HLO_ATTR_COUNT);
  static const char kCase[4096] = "LT";
  assert_int_equal(hlo_enum_case_value(HLO_ENUM_COMPARISON_DIRECTION, kCase, sizeof kCase), -1);
  assert_int_equal(hlo_enum_case_value(HLO_ENUM_COMPARISON_DIRECTION, kCase, 2),
                   HLO_COMPARISON_DIRECTION_LT);
}

// Implications between traits.
static void traits_agree_with_each_other(void** state) {
  (void)state;
  for (int i = 0; i < HLO_OP_COUNT; ++i) {
    const hlo_op_info_t* info = hlo_op_info((hlo_op_t)i);
    const uint32_t traits = info->traits;
    const bool computes = info->cost >= HLO_COST_SIMPLE && info->cost <= HLO_COST_POWER;
    assert_true(!(traits & HLO_TRAIT_ELEMENTWISE) == !computes);
    assert_true(!(traits & HLO_TRAIT_PURE) || !(traits & HLO_TRAIT_EFFECT));
    if (traits & (HLO_TRAIT_COMMUTATIVE | HLO_TRAIT_ASSOCIATIVE)) {
      assert_int_equal(info->operand_count, 2);
    }
    if (traits & HLO_TRAIT_TRANSCENDENTAL) assert_true(traits & HLO_TRAIT_ELEMENTWISE);
    if (traits & (HLO_TRAIT_MOVES | HLO_TRAIT_JOINS | HLO_TRAIT_UPDATES | HLO_TRAIT_REDUCES)) {
      assert_true(info->operand_count > 0 && info->result_count > 0);
      assert_false(traits & HLO_TRAIT_ELEMENTWISE);
    }
    if (traits & HLO_TRAIT_STRUCTURED) assert_true(traits & HLO_TRAIT_CONTROL);
    if (traits & HLO_TRAIT_CONSTANT)
      assert_true(hlo_op_attr_slot((hlo_op_t)i, HLO_ATTR_value) >= 0);
    if (info->infer != HLO_INFER_SAME) assert_int_equal(info->elements, HLO_ELEMENT_ANY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_name_finds_its_row),
      cmocka_unit_test(names_with_zeros_are_unknown),
      cmocka_unit_test(traits_agree_with_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
