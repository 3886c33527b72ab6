// SPDX-License-Identifier: Apache-2.0
// Kernels of Tile IR in text: run, check and print them.
#include <string.h>

#include "base/threads.h"
#include "base/tuning.h"
#include "cli/cli.h"
#include "cli/value.h"
#include "codegen/image/tile_program.h"
#include "codegen/ptx/assembler.h"
#include "codegen/ptx/kernel.h"
#include "compiler/compiler.h"
#include "compiler/execute.h"
#include "tile/ir.h"

typedef struct loaded {
  hlo_arena_t arena;  // of the kernel
  hlo_tile_kernel_t* kernel;
  hlo_module_t* types;     // of its buffers
  hlo_tensor_t** tensors;  // by buffer
} loaded_t;

bool hlo_cli_has_tile(const hlo_cli_t* cli) {
  size_t length = cli->file ? strlen(cli->file) : 0;
  return length > 5 && strcmp(cli->file + length - 5, ".tile") == 0;
}

static hlo_status_t load(const hlo_cli_t* cli, loaded_t* loaded) {
  *loaded = (loaded_t){.kernel = NULL};
  hlo_arena_init(&loaded->arena, 0);
  hlo_cli_source_t source;
  hlo_status_t status = hlo_cli_open(cli, &source);
  if (hlo_status_is_ok(status)) {
    const char* text =
        hlo_arena_strndup(&loaded->arena, (const char*)source.bytes, source.size_bytes);
    status = text ? hlo_tile_kernel_parse(&loaded->arena, text, &loaded->kernel)
                  : hlo_arena_status(&loaded->arena);
  }
  hlo_cli_close(&source);
  return hlo_status_annotate(status, "%s: error", cli->file);
}

static void unload(loaded_t* loaded) {
  for (uint32_t i = 0; loaded->tensors && i < loaded->kernel->buffer_count; ++i) {
    hlo_tensor_release(loaded->tensors[i]);
  }
  hlo_module_release(loaded->types);
  hlo_arena_deinit(&loaded->arena);
}

static hlo_status_t infer(const hlo_cli_t* cli, hlo_tile_kernel_t* kernel) {
  hlo_target_t target;
  HLO_TRY(hlo_target_find(cli->config.cpu, true, &target));
  HLO_TRY_MSG(hlo_tile_kernel_infer(kernel, &target.tile, HLO_TUNING_LAYOUTS_FUEL), "%s: error",
              cli->file);
  return hlo_ok();
}

// ---- run

static hlo_status_t check_counts(const hlo_cli_t* cli, const hlo_tile_kernel_t* kernel) {
  uint32_t outputs = 0;
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) outputs += kernel->buffers[i].is_output;
  uint32_t inputs = kernel->buffer_count - outputs;
  if (cli->output.count > outputs) {
    return hlo_invalid_argument("%s: error: %s has %u results, but --output is given %u times",
                                cli->file, kernel->name, outputs, cli->output.count);
  }
  if (cli->input.count == inputs || (cli->random && cli->input.count < inputs)) return hlo_ok();
  return hlo_cli_wrong_input_count(cli, kernel->name, inputs);
}

// Inputs are values of --input in the order of their buffers; outputs begin with zeros.
static hlo_status_t make_tensors(const hlo_cli_t* cli, loaded_t* loaded) {
  const hlo_tile_kernel_t* kernel = loaded->kernel;
  uint64_t random_state = (uint64_t)cli->seed;
  uint32_t input = 0;
  HLO_TRY(hlo_module_create(0, &loaded->types));
  loaded->tensors =
      hlo_arena_alloc_zeroed(&loaded->arena, (kernel->buffer_count + 1) * sizeof(hlo_tensor_t*));
  HLO_TRY(hlo_arena_status(&loaded->arena));
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) {
    const hlo_tile_buffer_t* buffer = &kernel->buffers[i];
    hlo_tile_ref_t shape = hlo_tile_buffer_ref(buffer);
    hlo_tensor_t** tensor = &loaded->tensors[i];
    if (buffer->is_output) {
      HLO_TRY(hlo_tensor_create(buffer->dtype, shape.rank, shape.dims, tensor));
      if ((*tensor)->size_bytes) memset((*tensor)->data, 0, (*tensor)->size_bytes);
      continue;
    }
    const hlo_type_t* type = hlo_type_tensor(loaded->types, buffer->dtype, shape.rank, shape.dims);
    if (!type) return hlo_arena_status(&loaded->types->arena);
    const char* given = input < cli->input.count ? cli->input.items[input] : NULL;
    hlo_status_t status = given ? hlo_cli_value_read(given, type, &random_state, tensor)
                                : hlo_cli_value_random(type, &random_state, tensor);
    HLO_TRY_MSG(status, "%s: error: input %u of %s", cli->file, input, kernel->name);
    ++input;
  }
  return hlo_ok();
}

// Writes a line at once: threads may print at the same time.
static void print_line(HLO_UNUSED void* context, const char* line) {
  HLO_SCOPED_STRBUF text = {0};
  hlo_strbuf_printf(&text, "%s\n", line);
  hlo_cli_write(hlo_strbuf_text(&text), text.length);
}

// A kernel that is run once or several times.
typedef struct kernel_run {
  const hlo_cli_t* cli;
  const hlo_tile_kernel_t* kernel;
  hlo_tile_program_t* program;  // NULL: interpreted
  hlo_pool_t* pool;
  void** buffers;
} kernel_run_t;

static hlo_status_t run_once(void* context) {
  const kernel_run_t* run = context;
  hlo_tile_meaning_t meaning = *hlo_tile_meaning_of_reference();
  meaning.print = print_line;
  if (run->program) return hlo_tile_program_run(run->program, run->buffers, run->pool, &meaning);
  return run->cli->find_races ? hlo_tile_kernel_find_races(run->kernel, &meaning, run->buffers)
                              : hlo_tile_kernel_run(run->kernel, &meaning, run->buffers);
}

// Compiles the kernel if the options ask for machine code; a kernel with operations that have none
// is interpreted, as is one for a processor without an encoder.
static hlo_status_t compile_kernel(kernel_run_t* run) {
  const hlo_backend_t* backend;
  hlo_target_t target;
  const char* wanted = run->cli->config.backend;
  HLO_TRY(hlo_backend_choose(*wanted ? wanted : NULL, &backend));
  if (backend != hlo_backend_find("native") || run->cli->find_races) return hlo_ok();
  HLO_TRY(hlo_target_find(run->cli->config.cpu, false, &target));
  hlo_status_t status = hlo_tile_program_create(run->kernel, &target, &run->program);
  const hlo_status_code_t code = hlo_status_code(status);
  if (code != HLO_STATUS_UNIMPLEMENTED && code != HLO_STATUS_PERMISSION_DENIED) return status;
  HLO_LOG(&run->cli->observer.log, INFO, "interpreted: %s", hlo_status_message(status));
  hlo_status_release(status);
  return hlo_ok();
}

static hlo_status_t run_kernel(const hlo_cli_t* cli, loaded_t* loaded, hlo_strbuf_t* out) {
  const hlo_tile_kernel_t* kernel = loaded->kernel;
  kernel_run_t run = {.cli = cli, .kernel = kernel};
  run.buffers = hlo_arena_array(&loaded->arena, kernel->buffer_count + 1, sizeof *run.buffers);
  HLO_TRY(hlo_arena_status(&loaded->arena));
  for (uint32_t i = 0; i < kernel->buffer_count; ++i) run.buffers[i] = loaded->tensors[i]->data;
  hlo_status_t status = compile_kernel(&run);
  if (hlo_status_is_ok(status) && run.program) {
    status = hlo_pool_create((uint32_t)cli->config.num_threads, &run.pool);
  }
  if (hlo_status_is_ok(status)) {
    status = cli->bench ? hlo_cli_bench(cli, kernel->name, run_once, &run, out) : run_once(&run);
  }
  hlo_pool_release(run.pool);
  hlo_tile_program_release(run.program);
  return hlo_status_annotate(status, "%s: error", cli->file);
}

static hlo_status_t show_results(const hlo_cli_t* cli, const loaded_t* loaded, hlo_strbuf_t* out) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < loaded->kernel->buffer_count; ++i) {
    if (!loaded->kernel->buffers[i].is_output) continue;
    if (cli->print) HLO_TRY(hlo_cli_result_print(loaded->tensors[i], 1, 0, result, out));
    if (result < cli->output.count) {
      const char* file = cli->output.items[result];
      HLO_TRY(hlo_npy_write(file[0] == '@' ? file + 1 : file, loaded->tensors[i]));
    }
    ++result;
  }
  return hlo_ok();
}

static hlo_status_t load_and_run(const hlo_cli_t* cli, loaded_t* loaded, hlo_strbuf_t* out) {
  HLO_TRY(load(cli, loaded));
  HLO_TRY(check_counts(cli, loaded->kernel));
  HLO_TRY(infer(cli, loaded->kernel));
  HLO_TRY(make_tensors(cli, loaded));
  HLO_TRY(run_kernel(cli, loaded, out));
  return show_results(cli, loaded, out);
}

hlo_status_t hlo_cli_run_tile(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (cli->profile || cli->device_count || cli->function || cli->probe_dir) {
    return hlo_invalid_argument(
        "%s: error: kernels of Tile IR take --input, --random, --seed, --print, --output, --bench "
        "and --find-races",
        cli->file);
  }
  loaded_t loaded;
  hlo_status_t status = load_and_run(cli, &loaded, out);
  unload(&loaded);
  return status;
}

// ---- check and print

static uint32_t count_ops(const hlo_tile_kernel_t* kernel) {
  uint32_t count = 0;
  for (hlo_tile_op_t* op = hlo_tile_first_op(kernel); op; op = hlo_tile_next_op(op)) ++count;
  return count;
}

// Prints the kernel, reads that and prints it again.
static hlo_status_t check_text(hlo_arena_t* arena, hlo_tile_kernel_t* kernel) {
  HLO_SCOPED_STRBUF text = {0};
  HLO_SCOPED_STRBUF again = {0};
  hlo_tile_kernel_t* back;
  HLO_TRY(hlo_tile_kernel_renumber(kernel));
  hlo_tile_kernel_print(kernel, &text);
  HLO_TRY(hlo_strbuf_status(&text));
  HLO_TRY_MSG(hlo_tile_kernel_parse(arena, hlo_strbuf_text(&text), &back), "the printed text");
  hlo_tile_kernel_print(back, &again);
  HLO_TRY(hlo_strbuf_status(&again));
  if (strcmp(hlo_strbuf_text(&text), hlo_strbuf_text(&again)) == 0) return hlo_ok();
  return hlo_internal_error("error: the text differs after parsing and printing");
}

hlo_status_t hlo_cli_check_tile(hlo_cli_t* cli, hlo_strbuf_t* out) {
  loaded_t loaded;
  hlo_status_t status = load(cli, &loaded);
  if (hlo_status_is_ok(status)) status = check_text(&loaded.arena, loaded.kernel);
  if (hlo_status_is_ok(status)) {
    hlo_strbuf_printf(out, "%s: ok, kernel %s, version %u, %u operations\n", cli->file,
                      loaded.kernel->name, hlo_tile_kernel_version(loaded.kernel),
                      count_ops(loaded.kernel));
  }
  unload(&loaded);
  return status;
}

hlo_status_t hlo_cli_opt_tile(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (cli->passes || cli->pipeline || cli->schedule || cli->explain_sharding) {
    return hlo_invalid_argument("%s: error: kernels of Tile IR have no passes: layouts are found",
                                cli->file);
  }
  loaded_t loaded;
  hlo_status_t status = load(cli, &loaded);
  if (hlo_status_is_ok(status)) status = infer(cli, loaded.kernel);
  if (hlo_status_is_ok(status)) hlo_tile_kernel_print(loaded.kernel, out);
  unload(&loaded);
  return status;
}

// ---- compile

// Prints a line for each kernel.
static void print_report(const hlo_ptx_report_t* report, hlo_strbuf_t* out) {
  for (uint32_t i = 0; i < report->kernel_count; ++i) {
    const hlo_ptx_resources_t* kernel = &report->kernels[i];
    hlo_strbuf_printf(out,
                      "%s: %u registers, %u bytes of spill stores, %u of spill loads, %u of stack, "
                      "%u of shared memory, %u barriers\n",
                      kernel->name, kernel->registers, kernel->spill_store_bytes,
                      kernel->spill_load_bytes, kernel->stack_bytes, kernel->shared_bytes,
                      kernel->barriers);
  }
}

static hlo_status_t assemble(const hlo_cli_t* cli, const hlo_ptx_target_t* target,
                             const hlo_strbuf_t* text, hlo_strbuf_t* out) {
  hlo_ptx_assembler_t assembler;
  hlo_ptx_report_t report;
  HLO_TRY(hlo_ptx_assembler_find(cli->config.ptxas, &assembler));
  HLO_TRY(hlo_ptx_assemble(&assembler, target, text, &report, NULL));
  print_report(&report, out);
  return hlo_ok();
}

static hlo_status_t emit_ptx(const hlo_cli_t* cli, const hlo_tile_kernel_t* kernel,
                             hlo_strbuf_t* out) {
  hlo_ptx_target_t target;
  const hlo_ptx_options_t options = {.allows_tf32 = cli->allow_tf32};
  HLO_SCOPED_STRBUF text = {0};
  HLO_TRY(hlo_ptx_target_parse(cli->gpu, &target));
  HLO_TRY_MSG(hlo_ptx_emit_tile(kernel, &target, &options, &text), "%s: error", cli->file);
  if (cli->assemble) return assemble(cli, &target, &text, out);
  hlo_strbuf_append(out, hlo_strbuf_text(&text), text.length);
  return hlo_ok();
}

hlo_status_t hlo_cli_compile_tile(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (!cli->emit || strcmp(cli->emit, "ptx") != 0 || !cli->gpu) {
    return hlo_invalid_argument(
        "%s: error: kernels of Tile IR are compiled with --emit=ptx and "
        "--target=NAME; `hlocc run` runs them",
        cli->file);
  }
  loaded_t loaded;
  hlo_status_t status = load(cli, &loaded);
  if (hlo_status_is_ok(status)) status = emit_ptx(cli, loaded.kernel, out);
  unload(&loaded);
  return status;
}
