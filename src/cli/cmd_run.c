// SPDX-License-Identifier: Apache-2.0
// hlocc run: runs one function of a program on one process, on the virtual devices of a client, or
// on several simulated ones.
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/parts.h"
#include "cli/profile.h"
#include "cli/value.h"
#include "compiler/execute.h"
#include "interp/program.h"
#include "interp/simgrid.h"
#include "ir/clone.h"
#include "ir/entry.h"
#include "ir/op_sharding.h"
#include "ir/print.h"
#include "passes/pipeline.h"
#include "spmd/collective.h"
#include "spmd/passes.h"

typedef struct run {
  const hlo_cli_t* cli;
  const hlo_func_t* func;
  const hlo_type_t* whole;  // of `func` before it was partitioned; NULL: it is not
  bool is_test;             // one of several functions that run one after the other
  hlo_interp_program_t* program;
  hlo_program_t* compiled;  // of `func` for one process; NULL: not compiled for one
  hlo_pool_t* pool;         // of `compiled`
  hlo_client_t* client;     // of `launch`
  hlo_cli_launch_t launch;  // of `func` on several devices; zero: not compiled for them
  hlo_env_t env;
  uint32_t process_count, partition_count;
  uint32_t input_count, output_count;  // of one process
  hlo_tensor_t** inputs;               // [process][input]: the same tensors for each
  hlo_tensor_t** outputs;              // [process][output]
  const hlo_func_t** funcs;            // [process]
  hlo_arena_t arena;                   // of the lists
} run_t;

static void print_signature(const hlo_func_t* func, hlo_strbuf_t* out) {
  hlo_strbuf_printf(out, "@%s(", func->name);
  for (uint32_t i = 0; i < func->type->input_count; ++i) {
    if (i) hlo_strbuf_puts(out, ", ");
    hlo_print_type(func->type->elements[i], out);
  }
  hlo_strbuf_puts(out, ")");
}

// A test module has no entry but public functions without inputs. Returns the next one after
// `after` (NULL: the first), or NULL.
static const hlo_func_t* next_test(const hlo_module_t* module, const hlo_func_t* after) {
  const hlo_func_t* func = after ? after->next : module->first_func;
  while (func && (func->visibility != HLO_PUBLIC || !func->body || func->type->input_count)) {
    func = func->next;
  }
  return func;
}

static hlo_status_t choose_function(const hlo_cli_t* cli, const hlo_module_t* module,
                                    const hlo_func_t** out_func) {
  if (!cli->function) {
    *out_func = hlo_module_entry(module);
    if (!*out_func) *out_func = next_test(module, NULL);
    if (*out_func) return hlo_ok();
    return hlo_invalid_argument(
        "%s: error: the program has no function @main, no single public function and none without "
        "inputs: select one with --function=@NAME",
        cli->file);
  }
  const char* name = cli->function[0] == '@' ? cli->function + 1 : cli->function;
  *out_func = hlo_module_find_func(module, name);
  if (*out_func && (*out_func)->body) return hlo_ok();
  return hlo_not_found("%s: error: the program has no function @%s", cli->file, name);
}

static hlo_status_t check_counts(const run_t* run) {
  const hlo_cli_t* cli = run->cli;
  if (cli->output.count > run->output_count) {
    return hlo_invalid_argument("%s: error: @%s has %u results, but --output is given %u times",
                                cli->file, run->func->name, run->output_count, cli->output.count);
  }
  if (cli->input.count == run->input_count ||
      (cli->random && cli->input.count < run->input_count)) {
    return hlo_ok();
  }
  HLO_SCOPED_STRBUF text = {0};
  print_signature(run->func, &text);
  return hlo_cli_wrong_input_count(cli, hlo_strbuf_text(&text), run->input_count);
}

// Gives each process input `i`, which all share unless it is divided among partitions.
static hlo_status_t spread_input(run_t* run, uint32_t i, hlo_tensor_t* value) {
  const hlo_attr_t* sharding = hlo_func_argument_attr(run->func, i, HLO_OP_SHARDING_ATTR);
  for (uint32_t p = 0; p < run->process_count; ++p) {
    hlo_tensor_t** input = &run->inputs[p * run->input_count + i];
    if (run->whole) {
      HLO_TRY(hlo_cli_divide(value, sharding, p % run->partition_count, input));
    } else {
      *input = hlo_tensor_retain(value);
    }
  }
  return hlo_ok();
}

static hlo_status_t make_inputs(run_t* run) {
  const hlo_cli_t* cli = run->cli;
  uint64_t random_state = (uint64_t)cli->seed;
  for (uint32_t i = 0; i < run->input_count; ++i) {
    const hlo_type_t* type = (run->whole ? run->whole : run->func->type)->elements[i];
    hlo_tensor_t* value = NULL;
    hlo_status_t status = i < cli->input.count
                              ? hlo_cli_value_read(cli->input.items[i], type, &random_state, &value)
                              : hlo_cli_value_random(type, &random_state, &value);
    if (hlo_status_is_ok(status)) status = spread_input(run, i, value);
    hlo_tensor_release(value);
    HLO_TRY_MSG(status, "%s: error: input %u of @%s", cli->file, i, run->func->name);
  }
  return hlo_ok();
}

// ---- running

static void drop(hlo_tensor_t** tensors, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    hlo_tensor_release(tensors[i]);
    tensors[i] = NULL;
  }
}

static void print_probe(HLO_UNUSED void* context, const char* text, size_t length) {
  hlo_cli_write(text, length);
}

static hlo_status_t interpret(run_t* run) {
  hlo_interp_options_t options = {.rng_seed = (uint64_t)run->cli->seed,
                                  .probe_directory = run->cli->probe_dir,
                                  .print = print_probe};
  if (run->process_count == 1) {
    return hlo_interp_call(run->program, run->func, run->input_count, run->inputs,
                           run->output_count, run->outputs, &options);
  }
  hlo_simgrid_run_t grid = {.replica_count = run->process_count / run->partition_count,
                            .partition_count = run->partition_count,
                            .funcs = run->funcs,
                            .input_count = run->process_count * run->input_count,
                            .output_count = run->process_count * run->output_count,
                            .inputs = run->inputs,
                            .options = &options};
  return hlo_simgrid_run(run->program, &grid, run->outputs);
}

static hlo_status_t call_function(run_t* run) {
  if (run->launch.loaded) return hlo_cli_launch_run(&run->launch);
  drop(run->outputs, run->process_count * run->output_count);
  if (run->compiled) {
    return hlo_program_execute(run->compiled, run->func->type, run->pool, run->inputs,
                               run->outputs);
  }
  const hlo_env_state_t before = hlo_env_enter(&run->env);
  hlo_status_t status = interpret(run);
  hlo_env_leave(before);
  return status;
}

static hlo_status_t run_once(run_t* run) {
  uint64_t begin = hlo_trace_begin();
  hlo_trace_t* outer = hlo_trace_enter(run->cli->observer.trace);
  hlo_status_t status = call_function(run);
  hlo_trace_enter(outer);
  hlo_trace_end(run->cli->observer.trace, begin, "execute", run->func->name, NULL);
  return status;
}

static hlo_status_t run_again(void* context) {
  return run_once(context);
}

// ---- results

// Copies what the devices of a launch hold.
static hlo_status_t read_results(run_t* run) {
  if (!run->launch.loaded) return hlo_ok();
  for (uint32_t p = 0; p < run->process_count; ++p) {
    for (uint32_t i = 0; i < run->output_count; ++i) {
      hlo_tensor_t** output = &run->outputs[p * run->output_count + i];
      const hlo_type_t* type = run->func->type->elements[run->input_count + i];
      HLO_TRY(hlo_tensor_create(type->dtype, type->rank, type->dims, output));
      (*output)->quant = type->quant;
      HLO_TRY(hlo_cli_launch_get(&run->launch, p, i, (*output)->data, (*output)->size_bytes));
    }
  }
  return hlo_ok();
}

// Prints result `i` of a process, or of the partitions of a replica.
static hlo_status_t show_result(const run_t* run, const hlo_tensor_t* result, uint32_t count,
                                uint32_t process, uint32_t i, hlo_strbuf_t* out) {
  const hlo_cli_list_t* files = &run->cli->output;
  if (run->cli->print) {
    if (run->is_test) hlo_strbuf_printf(out, "@%s: ", run->func->name);
    HLO_TRY(hlo_cli_result_print(result, count, process, i, out));
  }
  if (process || i >= files->count) return hlo_ok();
  return hlo_npy_write(files->items[i][0] == '@' ? files->items[i] + 1 : files->items[i], result);
}

// Joins what the partitions of a replica hold of a result, and shows it.
static hlo_status_t show_whole_result(const run_t* run, uint32_t replica, uint32_t i,
                                      hlo_strbuf_t* out) {
  hlo_tensor_t* whole = NULL;
  hlo_tensor_t** parts = hlo_mem_alloc(run->partition_count * sizeof(hlo_tensor_t*));
  if (!parts) return hlo_status_out_of_memory(run->partition_count * sizeof(hlo_tensor_t*));
  for (uint32_t p = 0; p < run->partition_count; ++p) {
    parts[p] = run->outputs[(replica * run->partition_count + p) * run->output_count + i];
  }
  hlo_status_t status = hlo_cli_join(run->whole->elements[run->input_count + i],
                                     hlo_func_result_attr(run->func, i, HLO_OP_SHARDING_ATTR),
                                     run->partition_count, parts, &whole);
  hlo_mem_free(parts);
  if (hlo_status_is_ok(status)) {
    status = show_result(run, whole, run->process_count / run->partition_count, replica, i, out);
  }
  hlo_tensor_release(whole);
  return hlo_status_annotate(status, "result %u", i);
}

static hlo_status_t show_results(const run_t* run, hlo_strbuf_t* out) {
  const uint32_t count =
      run->whole ? run->process_count / run->partition_count : run->process_count;
  for (uint32_t p = 0; p < count; ++p) {
    for (uint32_t i = 0; i < run->output_count; ++i) {
      HLO_TRY(run->whole
                  ? show_whole_result(run, p, i, out)
                  : show_result(run, run->outputs[p * run->output_count + i], count, p, i, out));
    }
  }
  return hlo_ok();
}

static hlo_status_t make_lists(run_t* run) {
  hlo_arena_t* arena = &run->arena;
  run->inputs =
      hlo_arena_array(arena, (size_t)run->process_count * run->input_count, sizeof *run->inputs);
  run->outputs =
      hlo_arena_array(arena, (size_t)run->process_count * run->output_count, sizeof *run->outputs);
  run->funcs = hlo_arena_array(arena, run->process_count, sizeof *run->funcs);
  if (!run->inputs || !run->outputs || !run->funcs) return hlo_arena_status(arena);
  for (uint32_t p = 0; p < run->process_count; ++p) run->funcs[p] = run->func;
  return hlo_ok();
}

// Sets the number of processes: --device-count, divided into the module's partitions.
static hlo_status_t choose_processes(run_t* run, const hlo_module_t* module) {
  enum { LIMIT = 4096 };
  const hlo_attr_t* partitions = hlo_attr_dict_get(module->extra, "mhlo.num_partitions");
  int64_t count = run->cli->device_count ? run->cli->device_count : 1;
  int64_t partition_count = partitions && count > 1 ? partitions->i : 1;
  if (count > LIMIT) {
    return hlo_invalid_argument("--device-count=%lld, expected at most %d", (long long)count,
                                LIMIT);
  }
  if (partition_count < 1 || count % partition_count) {
    return hlo_invalid_argument(
        "%s: error: %lld devices are no multiple of the program's %lld partitions", run->cli->file,
        (long long)count, (long long)partition_count);
  }
  run->process_count = (uint32_t)count;
  run->partition_count = (uint32_t)partition_count;
  return hlo_ok();
}

static void drop_lists(run_t* run) {
  if (run->inputs) drop(run->inputs, run->process_count * run->input_count);
  if (run->outputs) drop(run->outputs, run->process_count * run->output_count);
}

static void drop_compiled(run_t* run) {
  hlo_cli_launch_deinit(&run->launch);
  if (run->compiled) run->compiled->destroy(run->compiled);
  run->compiled = NULL;
}

// Returns true if a client can run the function: it is the entry, and all values have one size.
static bool has_launch(const run_t* run, const hlo_module_t* module) {
  if (run->func != hlo_module_entry(module) || run->cli->probe_dir) return false;
  for (uint32_t i = 0; i < run->func->type->element_count; ++i) {
    const hlo_type_t* type = run->func->type->elements[i];
    if (type->kind != HLO_TYPE_TENSOR || !hlo_type_is_static(type)) return false;
  }
  return true;
}

static hlo_status_t load_on_devices(run_t* run, hlo_executable_t* executable) {
  if (!run->client) {
    hlo_client_options_t options;
    hlo_client_options_read(&run->cli->config, &run->cli->observer, &options);
    options.device_count = run->process_count;
    HLO_TRY(hlo_client_create(&options, &run->client));
  }
  HLO_TRY(hlo_cli_launch_init(&run->launch, run->client, executable));
  for (uint32_t p = 0; p < run->process_count; ++p) {
    for (uint32_t i = 0; i < run->input_count; ++i) {
      HLO_TRY(hlo_cli_launch_set(&run->launch, p, i, run->inputs[p * run->input_count + i]->data));
    }
  }
  return hlo_ok();
}

// Compiles what each device computes, and loads it on all of them.
static hlo_status_t compile_for_devices(run_t* run, const hlo_module_t* module) {
  hlo_compile_config_t config;
  hlo_module_t* copy = NULL;
  hlo_executable_t* executable = NULL;
  if (!has_launch(run, module)) return hlo_ok();
  hlo_compile_config_read(&run->cli->config, &run->cli->observer, &config);
  config.cache = run->cli->cache;
  config.replica_count = (int32_t)(run->process_count / run->partition_count);
  config.partition_count = (int32_t)run->partition_count;
  HLO_TRY(hlo_module_clone(module, &copy));
  copy->extra = hlo_attr_dict_with(copy, copy->extra, HLO_PARTITIONED_ATTR, hlo_attr_unit(copy));
  HLO_TRY(hlo_compile_module(copy, &config, &executable));
  hlo_status_t status = hlo_ok();
  if (executable->program->backend != hlo_backend_find("interp")) {
    status = load_on_devices(run, executable);
  }
  hlo_executable_release(executable);
  return status;
}

// Compiles by the requested back end unless that is the interpreter, which also runs the functions
// that other back ends refuse.
static hlo_status_t compile_function(run_t* run, hlo_module_t* module) {
  const hlo_cli_t* cli = run->cli;
  drop_compiled(run);
  if (strcmp(cli->config.backend, "interp") == 0) return hlo_ok();
  if (run->process_count > 1) return compile_for_devices(run, module);
  hlo_compile_config_t config;
  hlo_compile_config_read(&cli->config, &cli->observer, &config);
  const hlo_backend_t* backend = NULL;
  HLO_TRY(hlo_backend_choose(config.backend, &backend));
  hlo_dumper_t dumper;
  hlo_dumper_init(&dumper, &cli->observer, run->func->name, hlo_module_hash(module));
  config.cache = cli->cache;
  config.entry = run->func->name;
  config.dumper = &dumper;
  const uint64_t begin = hlo_trace_begin();
  HLO_TRY(backend->compile(backend, module, &config, &run->compiled));
  hlo_trace_end(cli->observer.trace, begin, "compile", "back end", run->compiled->backend->name);
  if (run->compiled->backend == hlo_backend_find("interp")) drop_compiled(run);
  if (!run->compiled || run->pool) return hlo_ok();
  return hlo_pool_create((uint32_t)cli->config.num_threads, &run->pool);
}

static hlo_status_t run_function(run_t* run, hlo_module_t* module, hlo_strbuf_t* out) {
  run->input_count = run->func->type->input_count;
  run->output_count = run->func->type->element_count - run->input_count;
  HLO_TRY(check_counts(run));
  HLO_TRY(make_lists(run));
  HLO_TRY(make_inputs(run));
  HLO_TRY(compile_function(run, module));
  HLO_TRY(run_once(run));
  if (run->cli->bench) HLO_TRY(hlo_cli_bench(run->cli, run->func->name, run_again, run, out));
  HLO_TRY(read_results(run));
  return show_results(run, out);
}

// A single partition holds whole tensors, so sharding is dropped; others get what each computes.
// Compilers get static shapes where possible.
static hlo_status_t prepare(run_t* run, hlo_module_t* module) {
  hlo_dumper_t dumper;
  const hlo_func_t* entry = hlo_module_entry(module);
  if (run->partition_count > 1 && entry) run->whole = entry->type;
  hlo_dumper_init(&dumper, &run->cli->observer, module->name, hlo_module_hash(module));
  hlo_dump_module(&dumper, HLO_DUMP_STAGE_input, module);
  if (run->partition_count == 1 || run->whole) {
    const hlo_stage_options_t options = {
        .partition_count = (int32_t)run->partition_count,
        .partition = hlo_spmd_partition_list,
        .keeps_dynamic_shapes = strcmp(run->cli->config.backend, "interp") == 0,
        .passes = {.env = &run->env, .dumper = &dumper, .trace = run->cli->observer.trace}};
    HLO_TRY(hlo_stages_run(module, HLO_STAGE_IMPORT, HLO_STAGE_IMPORT, &options));
  }
  hlo_dump_module(&dumper, HLO_DUMP_STAGE_final, module);
  return hlo_ok();
}

// Adds to the error (taken) of a program for several devices, run on one, how to run it on them.
static hlo_status_t advise(const run_t* run, const hlo_module_t* module, hlo_status_t status) {
  const long long count = (long long)hlo_module_process_counts(module).partitions;
  if (hlo_status_is_ok(status) || run->process_count > 1 || count <= 1) return status;
  hlo_status_t advised = hlo_status_create(
      hlo_status_code(status), "%s; run the program on its %lld devices with --device-count=%lld",
      hlo_status_message(status), count, count);
  hlo_status_release(status);
  return advised;
}

static hlo_status_t run_module(run_t* run, hlo_module_t* module, hlo_strbuf_t* out) {
  HLO_TRY(hlo_cli_env(run->cli, false, &run->env));
  HLO_TRY(choose_processes(run, module));
  HLO_TRY(advise(run, module, prepare(run, module)));
  HLO_TRY(choose_function(run->cli, module, &run->func));
  HLO_TRY(hlo_interp_program_create(module, &run->program));
  run->is_test = !run->cli->function && !hlo_module_entry(module);
  do {
    HLO_TRY(run_function(run, module, out));
    drop_lists(run);
    run->func = run->is_test ? next_test(module, run->func) : NULL;
  } while (run->func);
  return hlo_ok();
}

static hlo_status_t load_and_run(hlo_cli_t* cli, hlo_strbuf_t* out) {
  hlo_module_t* module = NULL;
  HLO_TRY(hlo_cli_load(cli, &module));
  run_t run = {.cli = cli};
  hlo_arena_init(&run.arena, 0);
  hlo_status_t status = run_module(&run, module, out);
  drop_lists(&run);
  drop_compiled(&run);
  if (run.client) hlo_client_release(run.client);
  hlo_pool_release(run.pool);
  hlo_arena_deinit(&run.arena);
  hlo_interp_program_release(run.program);
  hlo_module_release(module);
  return status;
}

hlo_status_t hlo_cli_cmd_run(hlo_cli_t* cli, hlo_strbuf_t* out) {
  if (hlo_cli_has_tile(cli)) return hlo_cli_run_tile(cli, out);
  if (cli->find_races) {
    return hlo_invalid_argument("--find-races is for kernels of Tile IR, FILE.tile");
  }
  if (!cli->profile) return load_and_run(cli, out);
  cli->config.profile_steps = true;
  HLO_TRY(hlo_recording_start());
  hlo_status_t status = load_and_run(cli, out);
  hlo_recording_t* recording = NULL;
  hlo_status_t stopped = hlo_recording_stop(&recording);
  if (hlo_status_is_ok(stopped) && hlo_status_is_ok(status)) {
    status = hlo_cli_print_profile(recording, out);
  } else if (hlo_status_is_ok(status)) {
    status = stopped;
  } else {
    hlo_status_release(stopped);
  }
  hlo_recording_release(recording);
  return status;
}
