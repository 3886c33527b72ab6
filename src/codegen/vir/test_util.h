// SPDX-License-Identifier: Apache-2.0
// The starting point of vector IR tests: a module with one empty function. Include after cmocka.h.
#pragma once

#include "codegen/vir/builder.h"

static const hlo_vir_type_t f32x8 = {HLO_VIR_F32, 8};

typedef struct hlo_test_vir {
  hlo_vir_module_t* module;
  hlo_vir_func_t* func;
  hlo_vir_builder_t b;
} hlo_test_vir_t;

static int setup(void** state) {
  static hlo_test_vir_t fixture;
  assert_true(hlo_status_is_ok(hlo_vir_module_create(&fixture.module)));
  fixture.func = hlo_vir_func_create(fixture.module, "f", 3, false);
  hlo_vir_builder_init(&fixture.b, fixture.func);
  *state = &fixture;
  return 0;
}

static int teardown(void** state) {
  hlo_test_vir_t* fixture = *state;
  hlo_vir_builder_deinit(&fixture->b);
  hlo_vir_module_release(fixture->module);
  return 0;
}
