// SPDX-License-Identifier: Apache-2.0
// Serialized HLO protos: the reader decodes them into descriptions and builds IR; the writer does
// the reverse.
#include "frontend/hlo/export.h"
#include "frontend/hlo/hlo.h"
#include "ir/op_sharding.h"

// Calls a function for every instruction.
static hlo_status_t for_instructions(const hlo_desc_module_t* desc, hlo_arena_t* arena,
                                     hlo_status_t (*visit)(hlo_desc_instruction_t* in,
                                                           hlo_arena_t* arena)) {
  const hlo_desc_computation_t* computations = desc->computations.items;
  for (size_t c = 0; c < desc->computations.count; ++c) {
    hlo_desc_instruction_t* items = computations[c].instructions.items;
    for (size_t i = 0; i < computations[c].instructions.count; ++i) {
      HLO_TRY_MSG(visit(&items[i], arena), "instruction %.*s",
                  items[i].name.size < 200 ? (int)items[i].name.size : 200,
                  items[i].name.size ? (const char*)items[i].name.data : "");
    }
  }
  return hlo_ok();
}

static hlo_status_t sharding_to_text(hlo_desc_instruction_t* in, hlo_arena_t* arena) {
  if (!in->has_op_sharding) return hlo_ok();
  hlo_op_sharding_t sharding;
  HLO_SCOPED_STRBUF text = {0};
  HLO_TRY(hlo_op_sharding_decode(in->op_sharding.data, in->op_sharding.size, arena, &sharding));
  hlo_op_sharding_print(&sharding, &text);
  HLO_TRY(hlo_strbuf_status(&text));
  const char* copy = hlo_arena_strndup(arena, hlo_strbuf_text(&text), text.length);
  if (!copy) return hlo_arena_status(arena);
  in->sharding = (hlo_wire_bytes_t){(const uint8_t*)copy, text.length};
  return hlo_ok();
}

static hlo_status_t sharding_from_text(hlo_desc_instruction_t* in, hlo_arena_t* arena) {
  if (!in->sharding.size) return hlo_ok();
  hlo_op_sharding_t sharding;
  HLO_SCOPED_STRBUF bytes = {0};
  HLO_TRY(
      hlo_op_sharding_parse((const char*)in->sharding.data, in->sharding.size, arena, &sharding));
  hlo_op_sharding_encode(&sharding, &bytes);
  HLO_TRY(hlo_strbuf_status(&bytes));
  const char* copy = hlo_arena_strndup(arena, hlo_strbuf_text(&bytes), bytes.length);
  if (!copy) return hlo_arena_status(arena);
  in->op_sharding = (hlo_wire_bytes_t){(const uint8_t*)copy, bytes.length};
  in->has_op_sharding = true;
  return hlo_ok();
}

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
  if (wrapper.config && wrapper.config->num_partitions > 1) {
    module->num_partitions = wrapper.config->num_partitions;
  }
  if (wrapper.config && wrapper.config->replica_count > 1) {
    module->replica_count = wrapper.config->replica_count;
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
  if (hlo_status_is_ok(status)) status = for_instructions(&desc, &arena, sharding_to_text);
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

// Converts a constant to its form in protos.
static hlo_status_t fill_literal(hlo_desc_instruction_t* in, hlo_arena_t* arena) {
  if (!in->literal) return hlo_ok();
  in->literal->shape = in->shape;
  return hlo_desc_fill_literal(arena, in->shape, in->literal);
}

// Repeats the shardings of the entry's parameters and root for the module, if all of them have one.
static hlo_status_t describe_entry_shardings(hlo_desc_module_t* desc, hlo_arena_t* arena) {
  const hlo_desc_computation_t* entry = desc->computations.items;
  const hlo_desc_computation_t* end = entry + desc->computations.count;
  while (entry < end && entry->id != desc->entry_computation_id) ++entry;
  if (entry == end || desc->num_partitions <= 1) return hlo_ok();
  const size_t count = entry->shape->parameters.count;
  hlo_wire_bytes_t* parameters = hlo_arena_array(arena, count, sizeof *parameters);
  if (!parameters) return hlo_arena_status(arena);
  const hlo_desc_instruction_t* items = entry->instructions.items;
  bool is_complete = true;
  for (size_t i = 0; i < entry->instructions.count; ++i) {
    if (items[i].id == entry->root_id && items[i].has_op_sharding) {
      desc->output_sharding = items[i].op_sharding;
      desc->has_output_sharding = true;
    }
    if (!hlo_bytes_equal(items[i].opcode, "parameter")) continue;
    is_complete &= items[i].has_op_sharding;
    parameters[items[i].parameter_number] = items[i].op_sharding;
  }
  if (is_complete) desc->parameter_shardings = (hlo_wire_array_t){parameters, count};
  return hlo_ok();
}

static hlo_status_t write_proto(const hlo_module_t* module, bool with_config, hlo_strbuf_t* out) {
  HLO_SCOPED_ARENA arena = {0};
  hlo_desc_module_t desc;
  HLO_TRY(hlo_desc_export(module, &arena, &desc));
  HLO_TRY(for_instructions(&desc, &arena, fill_literal));
  HLO_TRY(for_instructions(&desc, &arena, sharding_from_text));
  HLO_TRY(describe_entry_shardings(&desc, &arena));
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
