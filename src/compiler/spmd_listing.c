// SPDX-License-Identifier: Apache-2.0
// Prints what one device computes, keeps and sends (see spmd_listing.h).
#include "compiler/spmd_listing.h"

#include "codegen/image/listing.h"
#include "ir/print.h"

static const char kPrefix[] = "// ";

bool hlo_spmd_listing_is_wanted(const hlo_compile_config_t* config) {
  return config->listing && config->listing->form == HLO_LISTING_SPMD;
}

hlo_status_t hlo_spmd_listing_init(hlo_spmd_listing_t* listing, hlo_module_t* module,
                                   const hlo_compile_config_t* config) {
  hlo_arena_init(&listing->arena, 0);
  return hlo_traffic_mesh_read(module, config->partition_count, &listing->arena, &listing->mesh);
}

void hlo_spmd_listing_deinit(hlo_spmd_listing_t* listing) {
  hlo_arena_deinit(&listing->arena);
}

static void print_memory(const hlo_executable_t* executable, hlo_strbuf_t* out) {
  const hlo_program_t* program = executable->program;
  const double peak = (double)executable->argument_bytes + (double)executable->result_bytes -
                      (double)executable->alias_bytes + (double)program->temporary_bytes;
  const struct {
    const char* name;
    double bytes;
  } rows[] = {{"arguments", (double)executable->argument_bytes},
              {"results", (double)executable->result_bytes},
              {"results in arguments", (double)executable->alias_bytes},
              {"temporaries", (double)program->temporary_bytes},
              {"all", peak}};
  hlo_strbuf_printf(out, "%smemory of a device, bytes (back end %s)\n", kPrefix,
                    program->backend->name);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hlo_strbuf_printf(out, "%s%-20s %14.0f\n", kPrefix, rows[i].name, rows[i].bytes);
  }
}

hlo_status_t hlo_spmd_listing_print(hlo_spmd_listing_t* listing,
                                    const hlo_executable_t* executable) {
  hlo_strbuf_t* out = executable->config.listing->out;
  hlo_traffic_t traffic;
  HLO_TRY(hlo_traffic_count(executable->module, &listing->mesh, &listing->arena, &traffic));
  hlo_print_module(executable->module, NULL, out);
  hlo_strbuf_printf(out, "%sreplicas: %d, partitions: %d\n", kPrefix,
                    executable->config.replica_count, executable->config.partition_count);
  print_memory(executable, out);
  hlo_traffic_print(&traffic, kPrefix, out);
  return hlo_strbuf_status(out);
}
