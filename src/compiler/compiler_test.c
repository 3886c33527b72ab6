// SPDX-License-Identifier: Apache-2.0
// Tests of programs that compiling refuses, of the messages, and of what a program tells the
// runtime.
#include "compiler/compiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/os.h"
#include "frontend/frontend.h"
#include "ir/custom_call.h"
#include "ir/infer.h"

static hlo_status_t compile(const char* text) {
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  hlo_executable_t* executable = NULL;
  hlo_status_t status =
      hlo_compile(text, strlen(text), "test.mlir", &config, NULL, 0, NULL, &executable);
  hlo_executable_release(executable);
  return status;
}

static void expect(hlo_status_t status, hlo_status_code_t code, const char* part) {
  if (hlo_status_code(status) != code || !strstr(hlo_status_message(status), part)) {
    fail_msg("%s", hlo_status_message(status));
  }
  hlo_status_release(status);
}

// The runtime looks them up when the program is loaded.
static void foreign_calls_are_listed(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @main(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = \"stablehlo.if\"(%p) ({\n"
      "    stablehlo.return %x : tensor<f32>\n"
      "  }, {\n"
      "    %1 = stablehlo.custom_call @nobody(%x) : (tensor<f32>) -> tensor<f32>\n"
      "    stablehlo.return %1 : tensor<f32>\n"
      "  }) : (tensor<i1>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}\n"
      "func.func private @nobody_calls_it(%x: tensor<f32>) -> tensor<f32> {\n"
      "  %0 = stablehlo.custom_call @nothing(%x) : (tensor<f32>) -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}\n";
  static const char* const kBackends[] = {"native", "interp"};
  for (int b = 0; b < 2; ++b) {
    hlo_compile_config_t config;
    hlo_compile_config_init(&config);
    config.backend = kBackends[b];
    hlo_executable_t* executable = NULL;
    expect(hlo_compile(kText, strlen(kText), "test.mlir", &config, NULL, 0, NULL, &executable),
           HLO_STATUS_OK, "");
    const hlo_program_t* program = executable->program;
    assert_int_equal(program->foreign_count, 1);
    assert_string_equal(hlo_custom_call_target(program->foreign_nodes[0]), "nobody");
    hlo_executable_release(executable);
  }
}

static void nested_results_are_refused(void** state) {
  (void)state;
  static const char nested[] =
      "HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n  b = (f32[], f32[]) tuple(a, a)\n"
      "  ROOT t = (f32[], (f32[], f32[])) tuple(a, b)\n}\n";
  expect(compile(nested), HLO_STATUS_UNIMPLEMENTED,
         "test.mlir:5:8: instruction t: element 1 of the program's result is a tuple;");
  expect(compile("HloModule m\nENTRY e {\n  a = f32[] parameter(0)\n"
                 "  ROOT t = (f32[], f32[]) tuple(a, a)\n}\n"),
         HLO_STATUS_OK, "");
  // Tools that only read programs see all elements.
  hlo_module_t* module = NULL;
  expect(hlo_frontend_load(nested, sizeof nested - 1, "test.hlo", NULL, NULL, &module),
         HLO_STATUS_OK, "");
  assert_int_equal(hlo_module_entry(module)->type->element_count, 1 + 3);
  hlo_module_release(module);
}

static void modules_are_verified_without_a_sink(void** state) {
  (void)state;
  static const char kText[] =
      "func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n"
      "  %0 = \"stablehlo.add\"(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xf32>\n"
      "  return %0 : tensor<3xf32>\n}\n";
  hlo_module_t* module = NULL;
  expect(hlo_frontend_load(kText, sizeof kText - 1, "test.mlir", NULL, NULL, &module),
         HLO_STATUS_OK, "");
  expect(hlo_module_verify(module, NULL), HLO_STATUS_INVALID_ARGUMENT, "test.mlir:2:8: ");
  hlo_module_release(module);
  expect(compile(kText), HLO_STATUS_INVALID_ARGUMENT, "test.mlir:2:8: ");
}

// Reads a file of the folder into `text` and removes it; fails if it is not there.
static void take_file(const char* folder, const char* name, char* text, size_t size) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* file = fopen(path, "rb");
  if (!file) fail_msg("no %s", path);
  text[fread(text, 1, size - 1, file)] = 0;
  fclose(file);
  hlo_os_file_remove(path);
}

static void optimised_programs_are_written_as_hlo(void** state) {
  (void)state;
  static const char kText[] =
      "module @add_up {\nfunc.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
      "  %c = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "  %0 = stablehlo.add %c, %c : tensor<f32>\n"
      "  %1 = stablehlo.add %x, %0 : tensor<f32>\n  return %1 : tensor<f32>\n}\n}\n";
  char folder[256], name[128], found[4096];
  expect(hlo_os_directory_create_temporary(NULL, folder, sizeof folder), HLO_STATUS_OK, "");
  hlo_compile_config_t config;
  hlo_compile_config_init(&config);
  config.hlo_dump = (hlo_hlo_dump_t){.directory = folder, .is_text = true, .is_proto = true};
  hlo_executable_t* executable = NULL;
  expect(hlo_compile(kText, strlen(kText), "test.mlir", &config, NULL, 0, NULL, &executable),
         HLO_STATUS_OK, "");
  const unsigned long long fingerprint = executable->fingerprint;
  hlo_executable_release(executable);
  snprintf(name, sizeof name, "add_up.%016llx.after_optimizations.txt", fingerprint);
  take_file(folder, name, found, sizeof found);
  assert_non_null(strstr(found, "HloModule add_up"));
  assert_non_null(strstr(found, "constant(2)"));
  snprintf(name, sizeof name, "add_up.%016llx.after_optimizations.hlo.pb", fingerprint);
  take_file(folder, name, found, sizeof found);
  assert_non_null(strstr(found, "add_up"));
  hlo_os_file_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(foreign_calls_are_listed),
      cmocka_unit_test(nested_results_are_refused),
      cmocka_unit_test(modules_are_verified_without_a_sink),
      cmocka_unit_test(optimised_programs_are_written_as_hlo),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
