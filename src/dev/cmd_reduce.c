// SPDX-License-Identifier: Apache-2.0
// hlocc-dev reduce: finds the smallest program on which a command fails as on the given one.
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "dev/dev.h"
#include "dev/shrink.h"
#include "ir/print.h"
#include "passes/splice.h"

enum { PATH_BYTES = 4096 };
// A smaller program that takes much longer fails in a different way.
#define LEAST_TIMEOUT_NS UINT64_C(5000000000)
enum { TIMEOUT_FACTOR = 10 };

typedef struct reducer {
  const hlo_dev_t* dev;
  char folder[PATH_BYTES], file[PATH_BYTES + 16];
  const char* script;  // for sh: the command, then the file
  uint64_t timeout_ns;
  uint32_t run_count;
  int exit_code;  // on the given program
} reducer_t;

// Prints the module and runs the command on it.
static hlo_status_t run_command(reducer_t* r, const hlo_module_t* module, hlo_strbuf_t* output,
                                int* out_exit_code) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_print_module(module, &(hlo_print_options_t){0}, &text);
  HLO_TRY(hlo_strbuf_status(&text));
  HLO_TRY(hlo_os_file_write(r->file, hlo_strbuf_text(&text), text.length));
  const char* const arguments[] = {"sh", "-c", r->script, "sh", r->file, NULL};
  ++r->run_count;
  return hlo_os_process_run(arguments, r->timeout_ns, output, out_exit_code);
}

static bool says(const hlo_dev_t* dev, const hlo_strbuf_t* output) {
  return !dev->message || strstr(hlo_strbuf_text(output), dev->message);
}

// Another exit status, another message or a timeout is another failure.
static hlo_status_t still_fails(void* context, const hlo_module_t* module, bool* out_fails) {
  reducer_t* r = context;
  HLO_SCOPED_STRBUF output = {0};
  int exit_code = 0;
  hlo_status_t status = run_command(r, module, &output, &exit_code);
  *out_fails = hlo_status_is_ok(status) && exit_code == r->exit_code && says(r->dev, &output);
  if (hlo_status_code(status) == HLO_STATUS_DEADLINE_EXCEEDED) {
    hlo_status_release(status);
    status = hlo_ok();
  }
  return status;
}

// Runs the command on the given program: its exit status and message define the failure.
static hlo_status_t run_first(reducer_t* r, const hlo_module_t* module) {
  const char* file = r->dev->cli.file;
  HLO_SCOPED_STRBUF output = {0};
  uint64_t begin = hlo_os_now_ns();
  r->timeout_ns = UINT64_MAX;
  hlo_status_t status = run_command(r, module, &output, &r->exit_code);
  uint64_t taken = hlo_os_now_ns() - begin;
  r->timeout_ns =
      taken < LEAST_TIMEOUT_NS / TIMEOUT_FACTOR ? LEAST_TIMEOUT_NS : taken * TIMEOUT_FACTOR;
  if (hlo_status_is_ok(status) && r->exit_code == 0) {
    status = hlo_invalid_argument(
        "%s: error: the command does not fail on the program as hlocc prints it", file);
  } else if (hlo_status_is_ok(status) && !says(r->dev, &output)) {
    status = hlo_invalid_argument("%s: error: the command fails without printing '%s': %.1000s",
                                  file, r->dev->message, hlo_strbuf_text(&output));
  }
  return status;
}

static uint32_t count_operations(const hlo_module_t* module) {
  uint32_t count = 0;
  for (const hlo_func_t* f = module->first_func; f; f = f->next) {
    if (f->body) count += hlo_splice_size(f->body);
  }
  return count;
}

static hlo_status_t reduce(reducer_t* r, hlo_module_t** module, hlo_strbuf_t* out) {
  uint32_t before = count_operations(*module);
  HLO_TRY(run_first(r, *module));
  HLO_TRY(hlo_shrink(module, still_fails, r));
  hlo_strbuf_printf(out, "// %u of %u operations of %s; the command was run %u times\n",
                    count_operations(*module), before, r->dev->cli.file, r->run_count);
  return hlo_cli_print(&r->dev->cli, *module, out);
}

hlo_status_t hlo_dev_cmd_reduce(hlo_cli_t* cli, hlo_strbuf_t* out) {
  const hlo_dev_t* dev = hlo_dev_of(cli);
  if (!dev->command) {
    return hlo_invalid_argument(
        "reduce needs --command=COMMAND, a command that fails on the program");
  }
  reducer_t* r = hlo_arena_alloc_zeroed(&cli->arena, sizeof *r);
  char* script = hlo_arena_alloc(&cli->arena, strlen(dev->command) + sizeof " \"$1\"");
  if (!r || !script) return hlo_arena_status(&cli->arena);
  r->dev = dev;
  r->script = strcat(strcpy(script, dev->command), " \"$1\"");
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_cli_load(cli, &module));
  hlo_status_t status = hlo_os_directory_create_temporary(NULL, r->folder, sizeof r->folder);
  if (hlo_status_is_ok(status)) {
    snprintf(r->file, sizeof r->file, "%s/module.mlir", r->folder);
    status = reduce(r, &module, out);
    hlo_os_file_remove(r->file);
    hlo_os_file_remove(r->folder);
  }
  hlo_module_release(module);
  return status;
}
