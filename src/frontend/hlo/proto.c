// SPDX-License-Identifier: Apache-2.0
// Reads serialized HLO protos: decodes them into descriptions and builds IR of those.
#include "frontend/hlo/build.h"
#include "frontend/hlo/hlo.h"

// An HloProto holds a module in field 1, an HloModuleProto its name and, in field 3, computations.
static hlo_status_t decode(const void* bytes, size_t size, hlo_arena_t* arena,
                           hlo_desc_module_t* module) {
  HLO_TRY(hlo_wire_decode(&hlo_desc_module_message, bytes, size, arena, module));
  if (module->computations.count || !module->name.size) return hlo_ok();
  hlo_desc_wrapper_t wrapper = {0};
  hlo_status_t status = hlo_wire_decode(&hlo_desc_wrapper_message, bytes, size, arena, &wrapper);
  if (hlo_status_is_ok(status) && wrapper.hlo_module) *module = *wrapper.hlo_module;
  hlo_status_release(status);  // then it is a module without computations
  return hlo_ok();
}

hlo_status_t hlo_hlo_proto_read(const void* bytes, size_t size, hlo_module_t** out_module) {
  size_t limit;
  if (!hlo_size_mul(size, 32, &limit) || !hlo_size_add(limit, 8 << 20, &limit)) {
    return hlo_status_out_of_memory(SIZE_MAX);
  }
  hlo_arena_t arena;
  hlo_arena_init(&arena, limit);
  hlo_desc_module_t desc = {0};
  hlo_module_t* module = NULL;
  uint32_t line = 0, col = 0;
  hlo_status_t status = decode(bytes, size, &arena, &desc);
  if (hlo_status_is_ok(status)) status = hlo_module_create(limit, &module);
  if (hlo_status_is_ok(status)) status = hlo_desc_build(&desc, NULL, &arena, module, &line, &col);
  hlo_arena_deinit(&arena);
  if (!hlo_status_is_ok(status)) {
    if (module) hlo_module_release(module);
    return status;
  }
  *out_module = module;
  return hlo_ok();
}
