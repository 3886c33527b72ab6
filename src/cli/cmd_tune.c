// SPDX-License-Identifier: Apache-2.0
// hlocc tune: times the configurations of every kernel of a program, prints them, and keeps the
// best ones for programs that are compiled with tune=cache.
#include <inttypes.h>

#include "base/os.h"
#include "cli/cli.h"
#include "compiler/cache.h"
#include "compiler/compiler.h"
#include "compiler/tuner.h"

static hlo_status_t compile(const hlo_cli_t* cli, hlo_compile_cache_t* cache) {
  hlo_compile_config_t config;
  hlo_cli_source_t source;
  hlo_executable_t* executable = NULL;
  hlo_compile_config_read(&cli->config, &cli->observer, &config);
  config.cache = cache;
  HLO_TRY(hlo_cli_elided(cli, &config.elided));
  hlo_status_t status = hlo_cli_open(cli, &source);
  if (hlo_status_is_ok(status)) {
    status = hlo_compile(source.bytes, source.size_bytes, source.name, &config, NULL, 0,
                         &source.diag, &executable);
  }
  if (!hlo_status_is_ok(status)) status = hlo_cli_reported(&source, status);
  hlo_executable_release(executable);
  hlo_cli_close(&source);
  return status;
}

static void print_summary(const hlo_cli_t* cli, hlo_tuner_t* tuner, hlo_strbuf_t* out) {
  const hlo_tuner_stats_t stats = hlo_tuner_stats(tuner);
  const uint64_t count = stats.hits + stats.misses;
  hlo_strbuf_printf(out,
                    "%s%" PRIu64 " of %" PRIu64 " kernels were in the store, %" PRIu64
                    " tuned, %" PRIu64 " of %" PRIu64 " not; %" PRIu64 " candidates timed\n",
                    count ? "\n" : "", stats.hits, count, stats.tuned, stats.failed, count,
                    stats.timed);
  if (!*cli->config.tune_dir && !cli->dry_run) {
    hlo_strbuf_puts(out, "nothing is kept: tune_dir names no directory\n");
  }
}

hlo_status_t hlo_cli_cmd_tune(hlo_cli_t* cli, hlo_strbuf_t* out) {
  hlo_compile_cache_t* cache = NULL;
  HLO_SCOPED_STRBUF lines = {0};
  HLO_TRY(hlo_config_set(&cli->config, "tune", "on", HLO_CONFIG_SOURCE_OPTION));
  HLO_TRY(hlo_compile_cache_create(&cli->config, &cli->observer.log, &cache));
  hlo_tuner_t* tuner = hlo_compile_cache_tuner(cache);
  const hlo_tuner_report_t report = {.is_dry_run = cli->dry_run,
                                     .is_read_only = cli->read_only,
                                     .is_exhaustive = cli->exhaustive,
                                     .table = out,
                                     .log = &lines};
  hlo_tuner_set_report(tuner, &report);
  hlo_status_t status = compile(cli, cache);
  print_summary(cli, tuner, out);
  if (cli->tune_log && hlo_status_is_ok(status)) {
    status = hlo_os_file_write(cli->tune_log, hlo_strbuf_text(&lines), lines.length);
  }
  hlo_compile_cache_release(cache);
  return status;
}
