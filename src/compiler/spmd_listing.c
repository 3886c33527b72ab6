// SPDX-License-Identifier: Apache-2.0
// Prints what one device computes, keeps and sends (see spmd_listing.h).
#include "compiler/spmd_listing.h"

#include "codegen/image/listing.h"
#include "ir/print.h"
#include "spmd/memory_estimate.h"

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

// Beside the estimate, the figures of the compiled program; those of temporaries are not known if
// the interpreter runs it.
static void print_memory(const hlo_executable_t* executable, const hlo_memory_estimate_t* estimate,
                         hlo_strbuf_t* out) {
  const hlo_program_t* program = executable->program;
  const hlo_memory_estimate_t compiled = {
      .argument_bytes = (double)executable->argument_bytes,
      .result_bytes = (double)executable->result_bytes,
      .alias_bytes = (double)executable->alias_bytes,
      .temporary_bytes = (double)program->temporary_bytes,
  };
  const struct {
    const char* name;
    double estimate, compiled;
  } rows[] = {
      {"arguments", estimate->argument_bytes, compiled.argument_bytes},
      {"results", estimate->result_bytes, compiled.result_bytes},
      {"results in arguments", estimate->alias_bytes, compiled.alias_bytes},
      {"temporaries", estimate->temporary_bytes, compiled.temporary_bytes},
      {"all", hlo_memory_estimate_all(estimate), hlo_memory_estimate_all(&compiled)},
  };
  const bool is_interpreted = program->backend == hlo_backend_find("interp");
  hlo_strbuf_printf(out, "%s%-20s %14s %14s\n", kPrefix, "bytes of a device", "estimate",
                    program->backend->name);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    hlo_strbuf_printf(out, "%s%-20s %14.0f", kPrefix, rows[i].name, rows[i].estimate);
    if (is_interpreted && rows[i].estimate != rows[i].compiled) {
      hlo_strbuf_printf(out, " %14s\n", "-");
    } else {
      hlo_strbuf_printf(out, " %14.0f\n", rows[i].compiled);
    }
  }
}

hlo_status_t hlo_spmd_listing_print(hlo_spmd_listing_t* listing,
                                    const hlo_executable_t* executable) {
  hlo_strbuf_t* out = executable->config.listing->out;
  hlo_traffic_t traffic;
  hlo_memory_estimate_t memory;
  HLO_TRY(hlo_memory_estimate(executable->module, &memory));
  HLO_TRY(hlo_traffic_count(executable->module, &listing->mesh, &listing->arena, &traffic));
  hlo_print_module(executable->module, NULL, out);
  hlo_strbuf_printf(out, "%sreplicas: %d, partitions: %d\n", kPrefix,
                    executable->config.replica_count, executable->config.partition_count);
  print_memory(executable, &memory, out);
  hlo_traffic_print(&traffic, kPrefix, out);
  return hlo_strbuf_status(out);
}
