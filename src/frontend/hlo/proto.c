// SPDX-License-Identifier: Apache-2.0
// Serialized HLO protos: the reader decodes them into descriptions and builds IR; the writer does
// the reverse.
#include "frontend/hlo/export.h"
#include "frontend/hlo/hlo.h"

// An HloProto has a module in field 1, an HloModuleProto its name and, in field 3, computations.
// Field 2 is the configuration in an HloModuleProtoWithConfig and something else in an old
// HloProto.
static hlo_status_t decode(const void* bytes, size_t size, hlo_arena_t* arena,
                           hlo_desc_module_t* module) {
  HLO_TRY(hlo_wire_decode(&hlo_desc_module_message, bytes, size, arena, module));
  if (module->computations.count || !module->name.size) return hlo_ok();
  hlo_desc_wrapper_t wrapper = {0};
  hlo_status_t status =
      hlo_wire_decode(&hlo_desc_with_config_message, bytes, size, arena, &wrapper);
  if (!hlo_status_is_ok(status)) {
    hlo_status_release(status);
    wrapper = (hlo_desc_wrapper_t){0};
    status = hlo_wire_decode(&hlo_desc_wrapper_message, bytes, size, arena, &wrapper);
  }
  if (hlo_status_is_ok(status) && wrapper.hlo_module) *module = *wrapper.hlo_module;
  if (wrapper.config && wrapper.config->entry_computation_layout) {
    module->shape = wrapper.config->entry_computation_layout;
  }
  hlo_status_release(status);  // it is a module without computations
  return hlo_ok();
}

hlo_status_t hlo_hlo_proto_read(const void* bytes, size_t size,
                                const hlo_hlo_read_options_t* options, hlo_module_t** out_module) {
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
  desc.flat_results = options && options->flat_results;
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

// Converts constants to their form in protos.
static hlo_status_t fill_literals(const hlo_desc_module_t* desc, hlo_arena_t* arena) {
  const hlo_desc_computation_t* computations = desc->computations.items;
  for (size_t c = 0; c < desc->computations.count; ++c) {
    const hlo_desc_instruction_t* items = computations[c].instructions.items;
    for (size_t i = 0; i < computations[c].instructions.count; ++i) {
      if (!items[i].literal) continue;
      items[i].literal->shape = items[i].shape;
      HLO_TRY(hlo_desc_fill_literal(arena, items[i].shape, items[i].literal));
    }
  }
  return hlo_ok();
}

static hlo_status_t write_proto(const hlo_module_t* module, bool with_config, hlo_strbuf_t* out) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_desc_module_t desc;
  HLO_TRY(hlo_desc_export(module, &arena, &desc));
  HLO_TRY(fill_literals(&desc, &arena));
  if (!with_config) {
    hlo_wire_encode(&hlo_desc_module_message, &desc, out);
    return hlo_strbuf_status(out);
  }
  hlo_desc_config_t config = {.entry_computation_layout = desc.shape,
                              .replica_count = desc.replica_count ? desc.replica_count : 1,
                              .num_partitions = desc.num_partitions ? desc.num_partitions : 1,
                              .use_spmd_partitioning = desc.num_partitions > 1};
  hlo_desc_wrapper_t both = {&desc, &config};
  hlo_wire_encode(&hlo_desc_with_config_message, &both, out);
  return hlo_strbuf_status(out);
}

hlo_status_t hlo_hlo_proto_write(const hlo_module_t* module, hlo_strbuf_t* out) {
  return write_proto(module, false, out);
}

hlo_status_t hlo_hlo_proto_write_with_config(const hlo_module_t* module, hlo_strbuf_t* out) {
  return write_proto(module, true, out);
}
