// SPDX-License-Identifier: Apache-2.0
// Import of the shardings of GSPMD when memory is exhausted, and of programs that it refuses.
#include "base/mem.h"
#include "ir/test_util.h"
#include "passes/runner.h"

#define VALUE "tensor<16x4xf32>"
#define PART "tensor<2x4xf32>"
#define CALL(result, target, operand, sharding, from, to)                                          \
  "    %" result " = stablehlo.custom_call @" target "(%" operand ") {mhlo.sharding = \"" sharding \
  "\"} : (" from ") -> " to "\n"
#define PROGRAM(body)                                                                     \
  "module attributes {mhlo.num_partitions = 8 : i32} {\n"                                 \
  "  func.func @main(%a: " VALUE " {mhlo.sharding = \"{devices=[2,4]<=[8]}\"}) -> " VALUE \
  " {\n" body "  }\n}\n"

static const char manual[] =
    PROGRAM(CALL("0", "Sharding", "a", "{devices=[8,1]<=[8]}", VALUE, VALUE)  //
            CALL("1", "SPMDFullToShardShape", "0", "{manual}", VALUE, PART)   //
            "    %c = stablehlo.constant dense<2.0> : " PART
            "\n"
            "    %2 = stablehlo.add %1, %c : " PART "\n"  //
            CALL("3", "SPMDShardToFullShape", "2", "{devices=[8,1]<=[8]}", PART,
                 VALUE) "    return %3 : " VALUE "\n");
static const char single[] = PROGRAM(
    CALL("0", "callback", "a", "{maximal device=2}", VALUE, VALUE) "    return %0 : " VALUE "\n");

static void exhausted_memory_is_reported(void** state) {
  (void)state;
  static const char* const programs[] = {manual, single};
  for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
    bool failed = true;
    for (uint64_t n = 1; failed; ++n) {
      hlo_module_t* module = hlo_test_parse(programs[i]);
      // Without room in its block, the module allocates as often as the pass does.
      hlo_arena_alloc(&module->arena, (size_t)(module->arena.end - module->arena.next));
      hlo_mem_fail_nth(n);
      hlo_status_t status = hlo_passes_run(module, "import_gspmd", NULL);
      failed = hlo_mem_failed();
      hlo_mem_fail_nth(0);
      assert_int_equal(hlo_status_code(status),
                       failed ? HLO_STATUS_RESOURCE_EXHAUSTED : HLO_STATUS_OK);
      hlo_status_release(status);
      hlo_module_release(module);
    }
  }
}

static void faults_are_named(void** state) {
  (void)state;
  static const struct {
    const char* text;
    hlo_status_code_t code;
    const char* message;
  } rows[] = {
      {PROGRAM(CALL("0", "Sharding", "a", "{devices=[4,1]<=[4]}", VALUE,
                    VALUE) "    return %0 : " VALUE "\n"),
       HLO_STATUS_INVALID_ARGUMENT, "a sharding over 4 devices in a program for 8 partitions"},
      {PROGRAM(CALL("0", "Sharding", "a", "{devices=[8]<=[8]}", VALUE,
                    VALUE) "    return %0 : " VALUE "\n"),
       HLO_STATUS_INVALID_ARGUMENT, "a sharding of 1 dimensions for a value of 2"},
      {PROGRAM(CALL("0", "Sharding", "a", "{devices}", VALUE, VALUE) "    return %0 : " VALUE "\n"),
       HLO_STATUS_INVALID_ARGUMENT, "expected a part of a sharding"},
      {PROGRAM(CALL(
           "1", "SPMDFullToShardShape", "a", "{manual}", VALUE,
           PART) "    %2 = stablehlo.concatenate %1, %1, %1, %1, %1, %1, %1, %1, dim = 0 : (" PART
                 ", " PART ", " PART ", " PART ", " PART ", " PART ", " PART ", " PART ") -> " VALUE
                 "\n    return %2 : " VALUE "\n"),
       HLO_STATUS_UNIMPLEMENTED, "returns a value that each device has for itself"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hlo_module_t* module = hlo_test_parse(rows[i].text);
    hlo_status_t status = hlo_passes_run(module, "import_gspmd", NULL);
    assert_int_equal(hlo_status_code(status), rows[i].code);
    if (!strstr(hlo_status_message(status), rows[i].message)) {
      fail_msg("\"%s\" does not say \"%s\"", hlo_status_message(status), rows[i].message);
    }
    hlo_status_release(status);
    hlo_module_release(module);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exhausted_memory_is_reported),
      cmocka_unit_test(faults_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
