// SPDX-License-Identifier: Apache-2.0
// One call of a tool: from arguments to a verb, its output on standard output, its error on
// standard error.
#include "cli/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "compiler/cache.h"
#include "frontend/frontend.h"
#include "ir/infer.h"
#include "ir/print.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

// Returns the length of "file:line:col: " at the beginning of a message; 0 without a location.
static size_t place_length(const char* message) {
  const char* end = strstr(message, ": ");
  const char* at = end;
  for (int numbers = 0; at && numbers < 2; ++numbers) {
    const char* after = at;
    while (at > message && isdigit((unsigned char)at[-1])) --at;
    if (at == after || at == message || at[-1] != ':') return 0;
    --at;
  }
  return end ? (size_t)(end - message) + 2 : 0;
}

// Faults of the front end have this form already: "model.mlir:3:7: error: message".
static void print_error(const hlo_cli_t* cli, hlo_status_t status) {
  const char* message = hlo_status_message(status);
  size_t place = place_length(message);
  if (strstr(message, "error: ")) {
    fprintf(stderr, "%s\n", message);
  } else if (place) {
    fprintf(stderr, "%.*serror: %s\n", (int)place, message, message + place);
  } else {
    fprintf(stderr, "%s: error: %s\n", cli->tool->name, message);
  }
}

static int finish(const hlo_cli_t* cli, hlo_status_t status, int failure) {
  if (hlo_status_is_ok(status)) return EXIT_OK;
  print_error(cli, status);
  hlo_status_release(status);
  return failure;
}

static hlo_status_t flush(void) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return hlo_ok();
  return hlo_status_create(HLO_STATUS_DATA_LOSS, "cannot write to standard output");
}

void hlo_cli_write(const char* text, size_t length) {
  fwrite(text, 1, length, stdout);
}

// Reads the options of the environment; warnings have the form of log lines.
static hlo_status_t read_environment(hlo_cli_t* cli) {
  hlo_strbuf_t warnings = {0};
  hlo_status_t status = hlo_config_init(&cli->config, NULL, &warnings);
  for (const char* line = hlo_strbuf_text(&warnings); *line;) {
    size_t length = strcspn(line, "\n");
    fprintf(stderr, "%s warn: %.*s\n", cli->tool->name, (int)length, line);
    line += length + (line[length] == '\n');
  }
  hlo_strbuf_deinit(&warnings);
  return status;
}

static int call(hlo_cli_t* cli, int argc, char** argv) {
  hlo_strbuf_t out = {0};
  hlo_status_t status = read_environment(cli);
  if (hlo_status_is_ok(status)) status = hlo_cli_parse(cli, argc, argv);
  if (hlo_status_is_ok(status)) status = hlo_observer_init(&cli->config, &cli->observer);
  if (!hlo_status_is_ok(status)) return finish(cli, status, EXIT_USAGE);
  hlo_observer_start(&cli->config, &cli->observer);
  if (*cli->config.cache_dir) {
    status = hlo_compile_cache_create(&cli->config, &cli->observer.log, &cli->cache);
  }
  if (cli->help) {
    hlo_cli_help(cli->tool, cli->verb, &out);
  } else if (hlo_status_is_ok(status)) {
    status = cli->verb->run(cli, &out);
  }
  if (hlo_status_is_ok(status)) status = hlo_strbuf_status(&out);
  if (!cli->save || cli->help) {
    hlo_cli_write(hlo_strbuf_text(&out), out.length);
  } else if (hlo_status_is_ok(status)) {
    status = hlo_os_file_write(cli->save, hlo_strbuf_text(&out), out.length);
  }
  hlo_strbuf_deinit(&out);
  if (hlo_status_is_ok(status)) status = flush();
  return finish(cli, status, EXIT_FAILED);
}

int hlo_cli_main(const hlo_cli_tool_t* tool, hlo_cli_t* cli, int argc, char** argv) {
  cli->tool = tool;
  hlo_arena_init(&cli->arena, 0);
  int exit_status = call(cli, argc, argv);
  hlo_compile_cache_release(cli->cache);
  hlo_observer_deinit(&cli->observer);
  hlo_config_deinit(&cli->config);
  hlo_arena_deinit(&cli->arena);
  return exit_status;
}

// ---- shared by verbs

hlo_status_t hlo_cli_open(const hlo_cli_t* cli, hlo_cli_source_t* source) {
  *source = (hlo_cli_source_t){.name = strcmp(cli->file, "-") == 0 ? "<stdin>" : cli->file};
  HLO_TRY(hlo_os_file_read(cli->file, 0, &source->bytes, &source->size_bytes));
  hlo_format_t format = hlo_frontend_sniff(source->bytes, source->size_bytes);
  bool is_text = format == HLO_FORMAT_MLIR_TEXT || format == HLO_FORMAT_HLO_TEXT;
  hlo_diag_init(&source->diag, source->name, is_text ? (const char*)source->bytes : NULL,
                is_text ? source->size_bytes : 0);
  return hlo_ok();
}

void hlo_cli_close(hlo_cli_source_t* source) {
  hlo_diag_deinit(&source->diag);
  hlo_mem_free(source->bytes);
}

hlo_status_t hlo_cli_reported(const hlo_cli_source_t* source, hlo_status_t status) {
  hlo_status_t all = hlo_diag_status(&source->diag);
  if (hlo_status_is_ok(all)) return status;
  hlo_status_t result = hlo_status_create(hlo_status_code(status), "%s", hlo_status_message(all));
  hlo_status_release(all);
  hlo_status_release(status);
  return result;
}

hlo_status_t hlo_cli_elided(const hlo_cli_t* cli, hlo_elided_t* out_elided) {
  const char* value = cli->elided_constants;
  *out_elided = HLO_ELIDED_REFUSED;
  if (!value) return hlo_ok();
  if (strcmp(value, "zero") != 0 && strcmp(value, "random") != 0) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                             "unknown --elided-constants=%s, expected zero or random", value);
  }
  *out_elided = *value == 'z' ? HLO_ELIDED_ZERO : HLO_ELIDED_RANDOM;
  return hlo_ok();
}

hlo_status_t hlo_cli_load(const hlo_cli_t* cli, hlo_module_t** out_module) {
  hlo_frontend_options_t options = {0};
  HLO_TRY(hlo_cli_elided(cli, &options.elided));
  hlo_cli_source_t source;
  hlo_module_t* module = NULL;
  hlo_status_t status = hlo_cli_open(cli, &source);
  uint64_t begin = hlo_trace_begin(cli->observer.trace);
  if (hlo_status_is_ok(status)) {
    status = hlo_frontend_load(source.bytes, source.size_bytes, source.name, &options, &source.diag,
                               &module);
  }
  hlo_trace_end(cli->observer.trace, begin, "compile", "frontend", source.name);
  if (hlo_status_is_ok(status)) status = hlo_module_verify(module, &source.diag);
  if (hlo_status_is_ok(status)) {
    *out_module = module;
  } else {
    status = hlo_cli_reported(&source, status);
    hlo_module_release(module);
  }
  hlo_cli_close(&source);
  return status;
}

hlo_status_t hlo_cli_env(const hlo_cli_t* cli, bool may_be_absent, hlo_env_t* out_env) {
  hlo_cpu_t cpu;
  HLO_TRY(may_be_absent ? hlo_cpu_find(cli->config.cpu, &cpu)
                        : hlo_cpu_detect(cli->config.cpu, &cpu));
  *out_env = (hlo_env_t){(hlo_subnormals_t)cli->config.subnormals, cpu.level};
  return hlo_ok();
}

hlo_status_t hlo_cli_print(const hlo_cli_t* cli, const hlo_module_t* module, hlo_strbuf_t* out) {
  hlo_print_options_t options = {
      .locations = cli->locations, .generic = cli->generic, .elide_literals_above = cli->elide};
  hlo_print_module(module, &options, out);
  return hlo_strbuf_status(out);
}
