// SPDX-License-Identifier: Apache-2.0
// Checks that the cost of each elementwise op agrees with the number of its instructions.
#include <stdio.h>

#include "codegen/math/elementwise.h"
#include "codegen/math/math.h"
#include "ir/test_util.h"

// Builds a module whose entry function applies the op to vectors of f32.
static hlo_module_t* parse_op(hlo_op_t op) {
  const hlo_op_info_t* info = hlo_op_info(op);
  const bool is_binary = info->operand_count == 2;
  const char* result = strstr(info->name, "is_") ? "tensor<8xi1>" : "tensor<8xf32>";
  char text[512];
  snprintf(text, sizeof text,
           "func.func @main(%%x: tensor<8xf32>, %%y: tensor<8xf32>) -> %s {\n"
           "%%r = \"%s\"(%%x%s) : (tensor<8xf32>%s) -> %s\nreturn %%r : %s\n}\n",
           result, info->name, is_binary ? ", %y" : "", is_binary ? ", tensor<8xf32>" : "", result,
           result);
  return hlo_test_parse(text);
}

// Counts the instructions of vector IR for one vector of elements.
static uint32_t count_instructions(const hlo_node_t* node) {
  hlo_vir_module_t* module;
  hlo_test_check(hlo_vir_module_create(&module));
  hlo_vir_func_t* func = hlo_vir_func_create(module, "op", 2, false);
  hlo_vir_builder_t b;
  hlo_vir_builder_init(&b, func);
  hlo_vir_value_t* operands[2];
  for (uint32_t i = 0; i < 2; ++i) {
    const hlo_element_address_t address = {.base = hlo_vir_param(&b, i),
                                           .index = hlo_vir_iconst(&b, 0)};
    operands[i] = hlo_elementwise_load(&b, HLO_DTYPE_F32, 8, &address);
  }
  const uint32_t before = func->value_count;
  assert_non_null(hlo_elementwise_emit(&b, node, operands));
  const uint32_t count = func->value_count - before;
  hlo_vir_builder_deinit(&b);
  hlo_vir_module_release(module);
  return count;
}

// Divisions and roots are exempt: they are single slow instructions.
static void check_cost(hlo_op_t op) {
  enum { FEW = 8 };
  const hlo_op_cost_t cost_class = hlo_op_info(op)->cost;
  hlo_module_t* module = parse_op(op);
  const hlo_node_t* node = hlo_module_entry(module)->body->first;
  const double cost = hlo_elementwise_cost(node);
  const uint32_t count = count_instructions(node);
  const bool is_slow = cost_class == HLO_COST_DIVIDE || cost_class == HLO_COST_ROOT;
  if (is_slow ? cost <= 1 : (cost <= 1) != (count <= FEW)) {
    fail_msg("%s costs %g, but takes %u instructions", hlo_op_info(op)->name, cost, count);
  }
  if (cost > 1 && !is_slow && cost > count) {
    fail_msg("%s costs %g, more than its %u instructions", hlo_op_info(op)->name, cost, count);
  }
  hlo_module_release(module);
}

static void costs_follow_instructions(void** state) {
  (void)state;
  for (int op = 0; op < HLO_OP_COUNT; ++op) {
    if (hlo_vmath_has((hlo_op_t)op, HLO_DTYPE_F32)) check_cost((hlo_op_t)op);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(costs_follow_instructions)};
  return cmocka_run_group_tests_name("codegen/elementwise", tests, NULL, NULL);
}
