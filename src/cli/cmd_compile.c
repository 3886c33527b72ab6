// SPDX-License-Identifier: Apache-2.0
// hlocc compile: compiles like a PJRT client, and prints or saves the result.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "cli/cli.h"
#include "codegen/c/compiler.h"
#include "codegen/image/listing.h"
#include "compiler/compiler.h"

// ---- shared objects from object files, by the system's linker

enum { PATH_BYTES = 1024 };

typedef struct scratch {
  char folder[PATH_BYTES], object[PATH_BYTES], shared[PATH_BYTES];
} scratch_t;

static bool join_path(char out[PATH_BYTES], const char* folder, const char* name) {
  int length = snprintf(out, PATH_BYTES, "%s/%s", folder, name);
  return length >= 0 && length < PATH_BYTES;
}

static bool is_file(const char* path) {
  const uint8_t* bytes = NULL;
  size_t size_bytes = 0;
  bool is_there = hlo_status_take_ok(hlo_os_file_map(path, &bytes, &size_bytes)) && size_bytes;
  if (is_there) hlo_os_pages_unmap((void*)(uintptr_t)bytes, size_bytes);
  return is_there;
}

// Finds the library beside the tool, as built (bin and lib) or as installed.
static hlo_status_t find_library(char out_path[PATH_BYTES]) {
  static const char* const places[] = {"../lib/libhlocc_rt.a", "../" HLOCC_LIBDIR "/libhlocc_rt.a"};
  char folder[PATH_BYTES];
  HLO_TRY(hlo_os_program_path(folder, sizeof folder));
  *strrchr(folder, '/') = 0;
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    if (join_path(out_path, folder, places[i]) && is_file(out_path)) return hlo_ok();
  }
  return hlo_not_found("cannot find libhlocc_rt.a in %.900s/../lib", folder);
}

static hlo_status_t link_in(const scratch_t* scratch, const char* compiler, hlo_strbuf_t* bytes) {
  char library[PATH_BYTES];
  HLO_TRY(find_library(library));
  HLO_TRY(hlo_os_file_write(scratch->object, hlo_strbuf_text(bytes), bytes->length));
  const char* const arguments[] = {
      "-shared", "-o",        scratch->shared, scratch->object, library, "-Wl,--gc-sections",
      "-Wl,-s",  "-lpthread", "-ldl",          "-lm",           NULL};
  HLO_TRY(hlo_c_compiler_run(compiler, arguments));
  uint8_t* data = NULL;
  size_t size_bytes = 0;
  HLO_TRY(hlo_os_file_read(scratch->shared, 0, &data, &size_bytes));
  hlo_strbuf_deinit(bytes);
  hlo_strbuf_append(bytes, (const char*)data, size_bytes);
  hlo_mem_free(data);
  return hlo_strbuf_status(bytes);
}

// Replaces the object file in `bytes` by a shared object: the C compiler (as for
// hlo_c_compiler_run()) links it with libhlocc_rt.a, which is beside the tool.
// errors: NOT_FOUND without compiler or library, INTERNAL with the compiler's message, those of
// files
static hlo_status_t link_shared(const char* compiler, hlo_strbuf_t* bytes) {
  scratch_t scratch;
  HLO_TRY(hlo_os_directory_create_temporary(NULL, scratch.folder, sizeof scratch.folder));
  hlo_status_t status = join_path(scratch.object, scratch.folder, "code.o") &&
                                join_path(scratch.shared, scratch.folder, "code.so")
                            ? link_in(&scratch, compiler, bytes)
                            : hlo_invalid_argument("the path of temporary files is too long");
  hlo_os_file_remove(scratch.object);
  hlo_os_file_remove(scratch.shared);
  hlo_os_file_remove(scratch.folder);
  return status;
}

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
  if (entry->alias >= 0) hlo_strbuf_printf(out, ", may alias %d", entry->alias);
  if (entry->is_donor) hlo_strbuf_puts(out, ", donor");
  hlo_strbuf_puts(out, "\n");
}

static void print_executable(const hlo_executable_t* executable, double milliseconds,
                             hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "%s: compiled in %.3f ms, fingerprint %016llx\n", executable->name,
                    milliseconds, (unsigned long long)executable->fingerprint);
  hlo_strbuf_printf(out, "back end: %s", executable->program->backend->name);
  if (executable->program->cause)
    hlo_strbuf_printf(out, ", because %s", executable->program->cause);
  hlo_strbuf_printf(out, "\nreplicas: %d, partitions: %d\n", executable->config.replica_count,
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
  if (executable->program->is_reused) {
    hlo_strbuf_puts(out, "code: from the cache\n");
  }
  hlo_strbuf_printf(out, "cost: %.0f flops, %.0f transcendentals, %.0f bytes accessed\n",
                    executable->cost.flops, executable->cost.transcendentals,
                    executable->cost.bytes_accessed);
}

// Returns "model" for "dir/model.h".
static const char* base_name(hlo_cli_t* cli, const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  return hlo_arena_strndup(&cli->arena, name, strcspn(name, "."));
}

// One compilation of the tool and the output of its code.
typedef struct output {
  hlo_listing_t listing;
  hlo_strbuf_t header;
  bool is_wanted;   // requests a listing or a header
  bool is_program;  // a file with C functions: source, object or shared object
  bool is_shared;
} output_t;

static bool has_suffix(const char* path, const char* suffix) {
  size_t length = path ? strlen(path) : 0, tail = strlen(suffix);
  return length > tail && strcmp(path + length - tail, suffix) == 0;
}

// Chooses the form by the suffix of the output file if --emit is missing.
static void choose_by_suffix(const hlo_cli_t* cli, output_t* output) {
  output->is_shared = has_suffix(cli->save, ".so");
  output->is_program =
      output->is_shared || has_suffix(cli->save, ".o") || has_suffix(cli->save, ".c");
  output->is_wanted = output->is_program;
  output->listing.form = has_suffix(cli->save, ".c") ? HLO_LISTING_C : HLO_LISTING_OBJECT;
}

static hlo_status_t choose_output(hlo_cli_t* cli, output_t* output) {
  if (!cli->emit) {
    choose_by_suffix(cli, output);
  } else if (hlo_listing_find(cli->emit, &output->listing.form)) {
    output->is_wanted = true;
    output->is_program = cli->header && output->listing.form == HLO_LISTING_C;
  } else {
    return hlo_invalid_argument(
        "unknown form --emit=%s, expected fusion, tile, plan, vir, c, asm, ptx, tilings or spmd",
        cli->emit);
  }
  if (cli->header && !output->is_program) {
    return hlo_invalid_argument("--header needs -o FILE.c, FILE.o or FILE.so, or --emit=c");
  }
  if ((cli->gpu != NULL) != (output->is_wanted && output->listing.form == HLO_LISTING_PTX)) {
    return hlo_invalid_argument("--emit=ptx and --target=NAME need each other");
  }
  output->listing.gpu = cli->gpu;
  if (output->is_program) {
    output->listing.header = &output->header;
    output->listing.name = base_name(cli, cli->header ? cli->header : cli->save);
  }
  return hlo_arena_status(&cli->arena);
}

static hlo_status_t finish_output(const hlo_cli_t* cli, const hlo_executable_t* executable,
                                  output_t* output) {
  if (!output->listing.out->length) {
    return hlo_failed_precondition("back end %s generates no code",
                                   executable->program->backend->name);
  }
  if (output->is_shared) HLO_TRY(link_shared(cli->config.cc, output->listing.out));
  if (!cli->header) return hlo_ok();
  return hlo_os_file_write(cli->header, hlo_strbuf_text(&output->header), output->header.length);
}

static hlo_status_t compile(hlo_cli_t* cli, output_t* output) {
  hlo_compile_config_t config;
  hlo_compile_config_read(&cli->config, &cli->observer, &config);
  config.cache = cli->cache;
  HLO_TRY(hlo_cli_elided(cli, &config.elided));
  config.verify_each |= cli->verify_each;
  if (output->is_wanted && output->listing.form == HLO_LISTING_SPMD) {
    config.replica_count = config.partition_count = 0;
  }
  if (cli->device_count) config.replica_count = (int32_t)cli->device_count;
  if (output->is_wanted) config.listing = &output->listing;
  hlo_cli_source_t source;
  hlo_executable_t* executable = NULL;
  uint64_t start = hlo_os_now_ns();
  hlo_status_t status = hlo_cli_open(cli, &source);
  if (hlo_status_is_ok(status)) {
    status = hlo_compile(source.bytes, source.size_bytes, source.name, &config, NULL, 0,
                         &source.diag, &executable);
  }
  if (!hlo_status_is_ok(status)) {
    status = hlo_cli_reported(&source, status);
  } else if (output->is_wanted) {
    status = finish_output(cli, executable, output);
  } else {
    double milliseconds = (double)(hlo_os_now_ns() - start) / 1e6;
    print_executable(executable, milliseconds, output->listing.out);
  }
  hlo_executable_release(executable);
  hlo_cli_close(&source);
  return status;
}

hlo_status_t hlo_cli_cmd_compile(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (hlo_cli_has_tile(cli)) return hlo_cli_compile_tile(cli, out);
  if (cli->assemble || cli->allow_tf32) {
    return hlo_invalid_argument(
        "--assemble and --allow-tf32 are for kernels of Tile IR, FILE.tile");
  }
  output_t output = {.listing.out = out};
  hlo_status_t status = choose_output(cli, &output);
  if (hlo_status_is_ok(status)) status = compile(cli, &output);
  hlo_strbuf_deinit(&output.header);
  return status;
}

hlo_status_t hlo_cli_print_location(hlo_cli_t* cli, hlo_strbuf_t* out) {
  output_t output = {.listing = {.form = HLO_LISTING_LOCATION, .out = out, .location = cli->pc},
                     .is_wanted = true};
  return compile(cli, &output);
}
