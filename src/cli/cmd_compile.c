// SPDX-License-Identifier: Apache-2.0
// hlocc compile: through the compiler as a PJRT client goes, and what came out.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/cli.h"
#include "codegen/listing.h"
#include "compiler/compiler.h"

static void print_entry(const char* what, uint32_t number, const hlo_signature_entry_t* entry,
                        hlo_strbuf_t* out) {
  if (entry->is_token) {
    hlo_strbuf_printf(out, "%s %u: token\n", what, number);
    return;
  }
  hlo_strbuf_printf(out, "%s %u: %s[", what, number, hlo_dtype_info(entry->dtype)->hlo_name);
  for (uint32_t d = 0; d < entry->rank; ++d) {
    hlo_strbuf_printf(out, "%s%lld", d ? "," : "", (long long)entry->dims[d]);
  }
  hlo_strbuf_printf(out, "], %zu bytes, %s", entry->size_bytes, entry->memory_kind);
  if (entry->alias >= 0) {
    hlo_strbuf_printf(out, ", %s alias %d", entry->must_alias ? "must" : "may", entry->alias);
  }
  if (entry->is_donor) hlo_strbuf_puts(out, ", donor");
  hlo_strbuf_puts(out, "\n");
}

static void print_executable(const hlo_executable_t* executable, double milliseconds,
                             hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s: compiled in %.3f ms, fingerprint %016llx\n", executable->name,
                    milliseconds, (unsigned long long)executable->fingerprint);
  hlo_strbuf_printf(out, "replicas: %d, partitions: %d\n", executable->config.replica_count,
                    executable->config.partition_count);
  for (uint32_t i = 0; i < executable->argument_count; ++i) {
    print_entry("argument", i, &executable->arguments[i], out);
  }
  for (uint32_t i = 0; i < executable->result_count; ++i) {
    print_entry("result", i, &executable->results[i], out);
  }
  hlo_strbuf_printf(
      out, "memory: arguments %zu, results %zu, aliased %zu, temporary %zu, code %zu bytes\n",
      executable->argument_bytes, executable->result_bytes, executable->alias_bytes,
      executable->program->temporary_bytes, executable->program->code_bytes);
  hlo_strbuf_printf(out, "cost: %.0f flops, %.0f transcendentals, %.0f bytes accessed\n",
                    executable->cost.flops, executable->cost.transcendentals,
                    executable->cost.bytes_accessed);
}

// "dir/model.h": model.
static const char* base_name(hlo_cli_t* cli, const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  return hlo_arena_strndup(&cli->arena, name, strcspn(name, "."));
}

// Reads --emit and --header into `listing`; *out_listing is NULL when it is not given.
static hlo_status_t choose_listing(hlo_cli_t* cli, hlo_listing_t* listing,
                                   const hlo_listing_t** out_listing) {
  *out_listing = NULL;
  if (cli->header && (!cli->emit || strcmp(cli->emit, "c") != 0)) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT, "--header wants --emit=c");
  }
  if (!cli->emit) return hlo_ok();
  if (!hlo_listing_find(cli->emit, &listing->form)) {
    return hlo_status_create(HLO_STATUS_INVALID_ARGUMENT,
                             "--emit=%s: the forms are plan, vir, c and asm", cli->emit);
  }
  if (cli->header) listing->name = base_name(cli, cli->header);
  *out_listing = listing;
  return hlo_arena_status(&cli->arena);
}

static hlo_status_t finish_listing(const hlo_cli_t* cli, const hlo_executable_t* executable,
                                   const hlo_strbuf_t* out, const hlo_strbuf_t* header) {
  if (out->length && !cli->header) return hlo_ok();
  if (out->length) {
    return hlo_os_file_write(cli->header, hlo_strbuf_text(header), header->length);
  }
  return hlo_status_create(HLO_STATUS_FAILED_PRECONDITION, "--emit=%s: back end %s makes no code",
                           cli->emit, executable->program->backend->name);
}

hlo_status_t hlo_cli_cmd_compile(hlo_cli_t* cli, hlo_strbuf_t* out) {
  hlo_strbuf_t header = {0};
  hlo_listing_t listing = {.out = out, .header = cli->header ? &header : NULL};
  hlo_compile_config_t config;
  hlo_compile_config_read(&cli->config, &cli->observer, &config);
  config.verify_each |= cli->verify_each;
  if (cli->device_count) config.replica_count = (int32_t)cli->device_count;
  HLO_TRY(choose_listing(cli, &listing, &config.listing));
  hlo_cli_source_t source;
  hlo_executable_t* executable = NULL;
  uint64_t start = hlo_os_now_ns();
  hlo_status_t status = hlo_cli_open(cli, &source);
  if (hlo_status_is_ok(status)) {
    status = hlo_compile(source.bytes, source.size_bytes, source.name, &config, NULL, 0,
                         &source.diag, &executable);
  }
  if (hlo_status_is_ok(status)) {
    if (cli->emit) {
      status = finish_listing(cli, executable, out, &header);
    } else {
      print_executable(executable, (double)(hlo_os_now_ns() - start) / 1e6, out);
    }
    hlo_executable_release(executable);
  } else {
    status = hlo_cli_reported(&source, status);
  }
  hlo_cli_close(&source);
  hlo_strbuf_deinit(&header);
  return status;
}
