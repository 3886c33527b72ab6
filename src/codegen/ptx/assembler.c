// SPDX-License-Identifier: Apache-2.0
// Runs ptxas and reads its messages (see assembler.h).
#include "codegen/ptx/assembler.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"

#define TIMEOUT_NS UINT64_C(120000000000)  // of one run

// ---- messages ----------------------------------------------------------------------------------

// Returns the number before a word, which stands in the same line; 0: the word is not there.
static uint32_t number_before(const char* line, const char* word) {
  const char* end = strchr(line, '\n');
  const char* at = strstr(line, word);
  if (!at || (end && at > end)) return 0;
  while (at > line && at[-1] == ' ') --at;
  while (at > line && at[-1] >= '0' && at[-1] <= '9') --at;
  return (uint32_t)strtoul(at, NULL, 10);
}

static hlo_ptx_resources_t* begin_kernel(const char* line, hlo_ptx_report_t* report) {
  const char* name = strchr(line, '\'') + 1;
  const char* end = strchr(name, '\'');
  if (!end || report->kernel_count == HLO_PTX_REPORT_KERNELS) return NULL;
  hlo_ptx_resources_t* kernel = &report->kernels[report->kernel_count++];
  *kernel = (hlo_ptx_resources_t){.name = ""};
  snprintf(kernel->name, sizeof kernel->name, "%.*s", (int)(end - name), name);
  return kernel;
}

// "Compiling entry function 'k' for 'sm_80'", then lines with what it takes.
static void read_resources(const char* log, hlo_ptx_report_t* report) {
  hlo_ptx_resources_t* kernel = NULL;
  report->kernel_count = 0;
  for (const char* line = log; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    const char* end = strchr(line, '\n');
    const char* compiling = strstr(line, "Compiling entry function '");
    if (compiling && (!end || compiling < end)) {
      kernel = begin_kernel(compiling, report);
    } else if (kernel) {
      kernel->registers += number_before(line, "registers");
      kernel->barriers += number_before(line, "barriers");
      kernel->shared_bytes += number_before(line, "bytes smem");
      kernel->stack_bytes += number_before(line, "bytes stack frame");
      kernel->spill_store_bytes += number_before(line, "bytes spill stores");
      kernel->spill_load_bytes += number_before(line, "bytes spill loads");
    }
  }
}

static bool has_any(const char* log, const char* const* parts) {
  for (; *parts; ++parts) {
    if (strstr(log, *parts)) return true;
  }
  return false;
}

hlo_status_t hlo_ptx_read_log(const char* log, int exit_code, hlo_ptx_report_t* out_report) {
  static const char* const exhausted[] = {"Register allocation failed", "uses too much",
                                          "too many resources", NULL};
  static const char* const unknown[] = {"is not defined for option 'gpu-name'",
                                        "Unsupported .version",
                                        "requires PTX ISA .version",
                                        "requires .target",
                                        "not supported on .target",
                                        "not supported in .target",
                                        "is not supported",
                                        NULL};
  static const char* const undefined[] = {"Unresolved extern", "Undefined reference",
                                          "Unknown symbol", NULL};
  if (exit_code == 0) {
    if (out_report) read_resources(log, out_report);
    return hlo_ok();
  }
  if (has_any(log, exhausted)) return hlo_resource_exhausted("ptxas: %.2000s", log);
  if (has_any(log, unknown)) {
    return hlo_unimplemented("ptxas is too old, or the target lacks an instruction: %.2000s", log);
  }
  if (has_any(log, undefined)) {
    return hlo_failed_precondition("ptxas: undefined symbols: %.2000s", log);
  }
  return hlo_internal_error("ptxas ended with %d: %.2000s", exit_code, log);
}

// ---- processes ---------------------------------------------------------------------------------

static bool runs(const char* path) {
  const char* const arguments[] = {path, "--version", NULL};
  HLO_SCOPED_STRBUF output = {0};
  int exit_code = 1;
  return hlo_status_take_ok(hlo_os_process_run(arguments, TIMEOUT_NS, &output, &exit_code)) &&
         exit_code == 0;
}

hlo_status_t hlo_ptx_assembler_find(const char* wanted, hlo_ptx_assembler_t* out_assembler) {
  static const char* const places[] = {"ptxas", "/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas"};
  const bool is_wanted = wanted && *wanted;
  const size_t count = is_wanted ? 1 : sizeof places / sizeof *places;
  for (size_t i = 0; i < count; ++i) {
    const char* path = is_wanted ? wanted : places[i];
    if (strlen(path) >= sizeof out_assembler->path || !runs(path)) continue;
    snprintf(out_assembler->path, sizeof out_assembler->path, "%s", path);
    atomic_init(&out_assembler->version, 0);
    atomic_init(&out_assembler->process_count, 0);
    return hlo_ok();
  }
  if (is_wanted) return hlo_not_found("no assembler of PTX: %.900s does not run", wanted);
  return hlo_not_found(
      "no assembler of PTX: ptxas is not in PATH, and neither %s nor %s is there; "
      "tools/install_deps.sh ptxas installs it",
      places[1], places[2]);
}

// Runs the assembler on a file; its output is the log.
static hlo_status_t run(hlo_ptx_assembler_t* assembler, const char* target_name, const char* path,
                        hlo_strbuf_t* log, int* out_exit_code) {
  char arch[HLO_PTX_NAME_BYTES + 8];
  snprintf(arch, sizeof arch, "-arch=%s", target_name);
  const char* const arguments[] = {assembler->path, "-v", arch, "-o", "/dev/null", path, NULL};
  // A counter that nothing else depends on.
  atomic_fetch_add_explicit(&assembler->process_count, 1, memory_order_relaxed);
  return hlo_os_process_run(arguments, TIMEOUT_NS, log, out_exit_code);
}

// A file of its own for the text.
typedef struct text_file {
  char folder[HLO_PTX_ASSEMBLER_PATH_BYTES - 16], path[HLO_PTX_ASSEMBLER_PATH_BYTES];
} text_file_t;

static hlo_status_t write_text(const char* text, size_t size_bytes, text_file_t* out_file) {
  HLO_TRY(hlo_os_directory_create_temporary(NULL, out_file->folder, sizeof out_file->folder));
  snprintf(out_file->path, sizeof out_file->path, "%s/kernel.ptx", out_file->folder);
  return hlo_os_file_write(out_file->path, text, size_bytes);
}

static void remove_text(const text_file_t* file) {
  hlo_os_file_remove(file->path);
  hlo_os_file_remove(file->folder);
}

// "Unsupported .version 99.9; current version is '9.0'"
static hlo_status_t read_version(const char* log, uint32_t* out_version) {
  const char* at = strstr(log, "current version is '");
  unsigned major = 0, minor = 0;
  char quote = 0;
  if (at && sscanf(at, "current version is '%u.%u%c", &major, &minor, &quote) == 3 &&
      quote == '\'' && major > 0 && minor < 10) {
    *out_version = 10 * major + minor;
    return hlo_ok();
  }
  return hlo_internal_error("ptxas does not say which version it knows: %.500s", log);
}

hlo_status_t hlo_ptx_assembler_version(hlo_ptx_assembler_t* assembler, uint32_t* out_version) {
  static const char probe[] = ".version 99.9\n.target sm_80\n.address_size 64\n";
  // The number is all there is: threads that ask at the same time get the same answer.
  uint32_t version = atomic_load_explicit(&assembler->version, memory_order_relaxed);
  if (version == 0) {
    text_file_t file;
    HLO_SCOPED_STRBUF log = {0};
    int exit_code = 0;
    HLO_TRY(write_text(probe, sizeof probe - 1, &file));
    hlo_status_t status = run(assembler, "sm_80", file.path, &log, &exit_code);
    remove_text(&file);
    HLO_TRY(status);
    HLO_TRY(read_version(hlo_strbuf_text(&log), &version));
    atomic_store_explicit(&assembler->version, version, memory_order_relaxed);
  }
  *out_version = version;
  return hlo_ok();
}

hlo_status_t hlo_ptx_assemble(hlo_ptx_assembler_t* assembler, const hlo_ptx_target_t* target,
                              const hlo_strbuf_t* text, hlo_ptx_report_t* out_report,
                              hlo_strbuf_t* log) {
  char name[HLO_PTX_NAME_BYTES];
  text_file_t file;
  HLO_SCOPED_STRBUF said = {0};
  int exit_code = 0;
  hlo_ptx_target_name(target, name);
  HLO_TRY(write_text(hlo_strbuf_text(text), text->length, &file));
  hlo_status_t status = run(assembler, name, file.path, &said, &exit_code);
  if (hlo_status_is_ok(status)) {
    status = hlo_ptx_read_log(hlo_strbuf_text(&said), exit_code, out_report);
  }
  if (log) hlo_strbuf_append(log, hlo_strbuf_text(&said), said.length);
  if (hlo_status_is_ok(status)) {
    remove_text(&file);
    return status;
  }
  HLO_TRY_MSG(status, "%s", file.path);
  return hlo_ok();
}
