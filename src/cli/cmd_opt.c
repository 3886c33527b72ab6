// SPDX-License-Identifier: Apache-2.0
// hlocc opt and hlocc passes: runs passes over a program, lists passes.
#include <stdio.h>

#include "cli/cli.h"
#include "ir/clone.h"
#include "ir/print.h"
#include "passes/pipeline.h"
#include "spmd/collective.h"
#include "spmd/explain.h"
#include "spmd/passes.h"
#include "spmd/schedule.h"

static void print_after(void* context, const hlo_pass_stats_t* stats, const hlo_module_t* module) {
  const hlo_cli_t* cli = context;
  hlo_print_options_t options = {
      .locations = cli->locations, .generic = cli->generic, .elide_literals_above = cli->elide};
  HLO_SCOPED_STRBUF text = {0};
  hlo_print_module(module, &options, &text);
  fprintf(stderr, "// after pass %u, %s: %s\n%s", stats->position + 1, stats->pass->name,
          stats->step_count ? "changed" : "unchanged", hlo_strbuf_text(&text));
}

static hlo_status_t run_pipeline(const hlo_cli_t* cli, hlo_module_t* module,
                                 const hlo_pass_options_t* options) {
  hlo_stage_t stage;
  if (!cli->pipeline) return hlo_ok();
  HLO_TRY(hlo_stage_from_name(cli->pipeline, &stage));
  return hlo_stages_run(module, stage, stage,
                        &(hlo_stage_options_t){.partition_count = 1, .passes = *options});
}

static hlo_status_t run_passes(hlo_cli_t* cli, const hlo_env_t* env, hlo_module_t* module) {
  hlo_diag_t diag;
  hlo_diag_init(&diag, cli->file, NULL, 0);
  hlo_dumper_t dumper;
  hlo_dumper_init(&dumper, &cli->observer, module->name, hlo_module_hash(module));
  hlo_dump_module(&dumper, HLO_DUMP_STAGE_input, module);
  hlo_pass_options_t options = {.env = env,
                                .verify_each = cli->verify_each || cli->config.check,
                                .diag = &diag,
                                .after = cli->print_after_all ? print_after : NULL,
                                .after_context = cli,
                                .more = &hlo_spmd_pass_set,
                                .dumper = &dumper,
                                .trace = cli->observer.trace};
  hlo_status_t status = run_pipeline(cli, module, &options);
  if (hlo_status_is_ok(status) && cli->passes) {
    status = hlo_passes_run(module, cli->passes, &options);
  }
  if (hlo_status_is_ok(status)) hlo_dump_module(&dumper, HLO_DUMP_STAGE_final, module);
  hlo_diag_deinit(&diag);
  return status;
}

// Schedules the module, and prints what that saves as a comment.
static hlo_status_t run_schedule(const hlo_cli_t* cli, hlo_module_t* module, hlo_strbuf_t* out) {
  hlo_schedule_options_t options;
  hlo_schedule_stats_t before = {0}, after = {0};
  uint32_t changed = 0;
  const hlo_pass_options_t passes = {.verify_each = cli->verify_each, .more = &hlo_spmd_pass_set};
  if (!cli->schedule) return hlo_ok();
  HLO_TRY(hlo_schedule_options_parse(cli->schedule, &options));
  HLO_TRY(hlo_passes_run(module, "legalize_scheduling_groups,create_async_collectives", &passes));
  HLO_TRY(hlo_schedule_module(module, &options, &changed, &before, &after));
  hlo_schedule_stats_print(&before, &after, "// ", out);
  return hlo_passes_run(module, "convert_async_to_sync", &passes);
}

static hlo_status_t explain_sharding(const hlo_cli_t* cli, hlo_module_t* module,
                                     hlo_strbuf_t* out) {
  const hlo_print_options_t options = {
      .locations = cli->locations, .generic = cli->generic, .elide_literals_above = cli->elide};
  HLO_TRY(hlo_passes_run(module, "inline,dce", NULL));
  const int64_t count = hlo_module_process_counts(module).partitions;
  HLO_TRY(hlo_spmd_explain(module, (uint32_t)count, &options, out));
  return hlo_strbuf_status(out);
}

hlo_status_t hlo_cli_cmd_opt(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (hlo_cli_has_tile(cli)) return hlo_cli_opt_tile(cli, out);
  hlo_module_t* module = NULL;
  hlo_env_t env;
  HLO_TRY(hlo_cli_env(cli, true, &env));
  HLO_TRY(hlo_cli_load(cli, &module));
  hlo_status_t status = run_passes(cli, &env, module);
  if (hlo_status_is_ok(status)) status = run_schedule(cli, module, out);
  if (hlo_status_is_ok(status)) {
    status = cli->explain_sharding ? explain_sharding(cli, module, out)
                                   : hlo_cli_print(cli, module, out);
  }
  hlo_module_release(module);
  return status;
}

static void list_passes(const hlo_pass_set_t* set, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < set->count; ++i) {
    const hlo_pass_info_t* info = &set->passes[i];
    hlo_strbuf_printf(out, "%s%s%s%s  (%s)\n    %s\n", info->name, *info->argument ? "[=" : "",
                      info->argument, *info->argument ? "]" : "", hlo_pass_kind_name(info->kind),
                      info->purpose);
  }
}

hlo_status_t hlo_cli_cmd_passes(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (cli->markdown) {
    hlo_passes_markdown(out);
    hlo_pass_set_markdown(&hlo_pass_set, out);
    hlo_pass_set_markdown(&hlo_spmd_pass_set, out);
    hlo_stages_markdown(out);
    return hlo_ok();
  }
  list_passes(&hlo_pass_set, out);
  list_passes(&hlo_spmd_pass_set, out);
  for (int i = 0; i < HLO_STAGE_COUNT; ++i) {
    const hlo_stage_info_t* info = hlo_stage_info((hlo_stage_t)i);
    hlo_strbuf_printf(out, "pipeline %s  (", info->name);
    hlo_pass_list_print(info->passes, ",", out);
    if (info->dynamic_passes.count) hlo_strbuf_puts(out, "; for dynamic shapes ");
    hlo_pass_list_print(info->dynamic_passes, ",", out);
    hlo_strbuf_printf(out, ")\n    %s\n", info->purpose);
  }
  return hlo_ok();
}
