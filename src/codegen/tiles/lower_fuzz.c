// SPDX-License-Identifier: Apache-2.0
// Fuzzes the lowering of Tile IR: a kernel that is read is refused or gives vector IR without
// faults, on targets with and without masks.
#include <stdio.h>
#include <stdlib.h>

#include "base/fuzz.h"
#include "codegen/tiles/lower.h"

enum { SIZE_LIMIT = 1 << 12 };

static void lower(const hlo_tile_kernel_t* kernel, const char* cpu) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_target_t target;
  hlo_tile_plan_t plan;
  hlo_vir_module_t* module = NULL;
  hlo_status_t status = hlo_target_find(cpu, true, &target);
  if (hlo_status_is_ok(status)) status = hlo_tile_check_lowering(kernel, &target);
  if (hlo_status_is_ok(status)) {
    status = hlo_tile_plan_chunks(kernel, &target, &arena, &plan);
    if (hlo_status_is_ok(status)) status = hlo_vir_module_create(&module);
    if (hlo_status_is_ok(status)) {
      hlo_tile_emit_phases(kernel, &target, &plan, module);
      status = hlo_vir_module_status(module);
    }
    if (hlo_status_is_ok(status)) status = hlo_vir_verify(module, target.vector_bytes);
    const hlo_status_code_t code = hlo_status_code(status);
    if (code != HLO_STATUS_OK && code != HLO_STATUS_RESOURCE_EXHAUSTED) {
      (void)fprintf(stderr, "%s: %s\n", cpu, hlo_status_message(status));
      abort();
    }
  }
  hlo_vir_module_release(module);
  hlo_status_release(status);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > SIZE_LIMIT) return 0;
  HLO_SCOPED_ARENA arena = {0};
  hlo_tile_kernel_t* kernel = NULL;
  const char* text = hlo_arena_strndup(&arena, (const char*)data, size);
  hlo_status_t status =
      text ? hlo_tile_kernel_parse(&arena, text, &kernel) : hlo_arena_status(&arena);
  if (hlo_status_is_ok(status)) {
    lower(kernel, "sse2");
    lower(kernel, "avx512");
  }
  hlo_status_release(status);
  return 0;
}
