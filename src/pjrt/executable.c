// SPDX-License-Identifier: Apache-2.0
// Compiled programs: compilation, queries and serialization.
#include <inttypes.h>
#include <stdio.h>

#include "frontend/hlo/hlo.h"
#include "ir/op_sharding.h"
#include "ir/print.h"
#include "pjrt/custom_partitioner.h"
#include "pjrt/objects.h"
#include "pjrt/transform.h"

// --- Wrappers ------------------------------------------------------------------------------------

static void destroy_executable(PJRT_Executable* shell) {
  if (shell == NULL) return;
  hlo_executable_release(shell->executable);
  hlo_arena_deinit(&shell->arena);
  hlo_mem_free(shell);
}

/// Memory kinds, with their lengths, and layouts of the arguments or of the results.
static hlo_status_t describe_side(const hlo_signature_entry_t* entries, size_t count,
                                  hlo_arena_t* arena, const char*** out_kinds, size_t** out_sizes,
                                  PJRT_Layouts_MemoryLayout*** out_layouts) {
  *out_kinds = hlo_arena_array(arena, count, sizeof **out_kinds);
  *out_sizes = hlo_arena_array(arena, count, sizeof **out_sizes);
  *out_layouts = hlo_arena_array(arena, count, sizeof **out_layouts);
  HLO_TRY(hlo_arena_status(arena));
  for (size_t i = 0; i < count; ++i) {
    hlo_pjrt_lend(entries[i].memory_kind, &(*out_kinds)[i], &(*out_sizes)[i]);
    HLO_TRY(hlo_pjrt_layout_create(entries[i].rank, entries[i].minor_to_major, arena,
                                   &(*out_layouts)[i]));
  }
  return hlo_ok();
}

/// True if the partitioner has decided on shardings.
static bool is_sharded(const hlo_executable_t* executable) {
  bool found = false;
  for (uint32_t i = 0; i < executable->argument_count; ++i) {
    found |= executable->arguments[i].sharding != NULL;
  }
  for (uint32_t i = 0; i < executable->result_count; ++i) {
    found |= executable->results[i].sharding != NULL;
  }
  return found && executable->config.partition_count > 1;
}

/// Shardings of the arguments or of the results; those that have none (tokens) are replicated.
static hlo_status_t describe_shardings(const hlo_signature_entry_t* entries, size_t count,
                                       hlo_arena_t* arena, const char*** out_shardings,
                                       size_t** out_sizes) {
  const char** shardings = hlo_arena_array(arena, count, sizeof *shardings);
  size_t* sizes = hlo_arena_array(arena, count, sizeof *sizes);
  HLO_TRY(hlo_arena_status(arena));
  for (size_t i = 0; i < count; ++i) {
    HLO_SCOPED_STRBUF bytes = {0};
    hlo_op_sharding_t sharding = {.kind = HLO_OP_SHARDING_REPLICATED};
    const char* text = entries[i].sharding;
    if (text != NULL) HLO_TRY(hlo_op_sharding_parse(text, strlen(text), arena, &sharding));
    hlo_op_sharding_encode(&sharding, &bytes);
    HLO_TRY(hlo_strbuf_status(&bytes));
    sizes[i] = bytes.length;
    shardings[i] = hlo_arena_strndup(arena, hlo_strbuf_text(&bytes), bytes.length);
  }
  *out_shardings = shardings;
  *out_sizes = sizes;
  return hlo_arena_status(arena);
}

static hlo_status_t describe_results(PJRT_Executable* shell) {
  const hlo_executable_t* executable = shell->executable;
  const size_t count = executable->result_count;
  size_t dim_count = 0;
  for (size_t i = 0; i < count; ++i) dim_count += executable->results[i].rank;
  shell->result_types = hlo_arena_array(&shell->arena, count, sizeof *shell->result_types);
  shell->result_ranks = hlo_arena_array(&shell->arena, count, sizeof *shell->result_ranks);
  shell->result_dims = hlo_arena_array(&shell->arena, dim_count, sizeof *shell->result_dims);
  HLO_TRY(hlo_arena_status(&shell->arena));
  int64_t* dims = shell->result_dims;
  for (size_t i = 0; i < count; ++i) {
    const hlo_signature_entry_t* result = &executable->results[i];
    shell->result_types[i] = (PJRT_Buffer_Type)hlo_dtype_info(result->dtype)->pjrt_type;
    shell->result_ranks[i] = result->rank;
    for (uint32_t d = 0; d < result->rank; ++d) *dims++ = result->dims[d];
  }
  return hlo_ok();
}

static hlo_status_t describe_costs(PJRT_Executable* shell) {
  const hlo_cost_t* cost = &shell->executable->cost;
  const struct {
    const char* name;
    double value;
  } rows[] = {{"flops", cost->flops},
              {"transcendentals", cost->transcendentals},
              {"bytes accessed", cost->bytes_accessed}};
  shell->cost_count = sizeof rows / sizeof rows[0];
  shell->costs = hlo_arena_array(&shell->arena, shell->cost_count, sizeof *shell->costs);
  HLO_TRY(hlo_arena_status(&shell->arena));
  for (size_t i = 0; i < shell->cost_count; ++i) {
    shell->costs[i] = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                        .name = rows[i].name,
                                        .name_size = strlen(rows[i].name),
                                        .type = PJRT_NamedValue_kFloat,
                                        .float_value = (float)rows[i].value,
                                        .value_size = 1};
  }
  return hlo_ok();
}

static hlo_status_t describe(PJRT_Executable* shell) {
  const hlo_executable_t* executable = shell->executable;
  HLO_TRY(describe_side(executable->results, executable->result_count, &shell->arena,
                        &shell->result_memory_kinds, &shell->result_memory_kind_sizes,
                        &shell->result_layouts));
  HLO_TRY(describe_side(executable->arguments, executable->argument_count, &shell->arena,
                        &shell->argument_memory_kinds, &shell->argument_memory_kind_sizes,
                        &shell->argument_layouts));
  static const hlo_signature_entry_t empty_tuple;
  const bool is_empty = executable->result_count == 0;
  shell->result_sharding_count = is_empty ? 1 : executable->result_count;
  if (is_sharded(executable)) {
    HLO_TRY(describe_shardings(is_empty ? &empty_tuple : executable->results,
                               shell->result_sharding_count, &shell->arena,
                               &shell->result_shardings, &shell->result_sharding_sizes));
    HLO_TRY(describe_shardings(executable->arguments, executable->argument_count, &shell->arena,
                               &shell->argument_shardings, &shell->argument_sharding_sizes));
  }
  HLO_TRY(describe_results(shell));
  HLO_TRY(describe_costs(shell));
  snprintf(shell->fingerprint, sizeof shell->fingerprint, "%016" PRIx64,
           hlo_executable_fingerprint(executable));
  return hlo_ok();
}

hlo_status_t hlo_pjrt_executable_create(hlo_executable_t* executable,
                                        PJRT_Executable** out_executable) {
  PJRT_Executable* shell = hlo_mem_alloc_zeroed(sizeof *shell);
  if (shell == NULL) {
    hlo_executable_release(executable);
    return hlo_status_out_of_memory(sizeof *shell);
  }
  hlo_arena_init(&shell->arena, 0);
  shell->executable = executable;
  hlo_status_t status = describe(shell);
  if (!hlo_status_is_ok(status)) {
    destroy_executable(shell);
    return status;
  }
  *out_executable = shell;
  return hlo_ok();
}

hlo_status_t hlo_pjrt_Executable_Destroy(PJRT_Executable_Destroy_Args* args) {
  destroy_executable(args->executable);
  return hlo_ok();
}

// --- Compiling -----------------------------------------------------------------------------------

static bool format_is(const PJRT_Program* program, const char* name) {
  return program->format_size == strlen(name) &&
         memcmp(program->format, name, program->format_size) == 0;
}

static hlo_status_t check_program(const PJRT_Program* program) {
  if (program == NULL || program->code == NULL) {
    return hlo_invalid_argument("no program to compile");
  }
  if (format_is(program, "mlir") || format_is(program, "hlo") ||
      format_is(program, "hlo_with_config")) {
    return hlo_ok();
  }
  return hlo_unimplemented("unsupported program format %.*s, expected mlir, hlo or hlo_with_config",
                           (int)program->format_size, program->format);
}

void hlo_pjrt_compile_config(const hlo_pjrt_settings_t* settings, const char* machine,
                             const hlo_compile_options_t* options, hlo_compile_config_t* config) {
  hlo_compile_config_read(&settings->config, &settings->observer, config);
  config->cache = settings->cache;
  config->custom_partitioner = hlo_pjrt_custom_partitioners();
  config->transforms = hlo_pjrt_transforms();
  if (settings->client) config->parallel = hlo_client_parallel(settings->client);
  if (options->unknown_debug_option_count != 0) {
    HLO_LOG(&settings->observer.log, INFO,
            "compile options: ignored %u debug options of a newer XLA",
            options->unknown_debug_option_count);
  }
  if (machine != NULL) {
    config->cpu = machine;
    config->may_be_absent = true;
  }
  hlo_compile_options_apply(options, config);
}

hlo_status_t hlo_pjrt_compile_bytes(const hlo_serialized_t* program,
                                    const hlo_pjrt_settings_t* settings, const char* machine,
                                    const hlo_compile_options_t* options,
                                    hlo_executable_t** out_executable) {
  hlo_compile_config_t config;
  hlo_pjrt_compile_config(settings, machine, options, &config);
  if (program->is_executable) {
    config.subnormals = program->subnormals;
    config.transforms = NULL;  // it is optimised and transformed
  }
  config.code = program->code;
  config.code_bytes = program->code_bytes;
  return hlo_compile(program->source, program->source_bytes, NULL, &config, options->serialized,
                     options->serialized_bytes, NULL, out_executable);
}

// Options in JAX's form, and an executable compiled with them.
typedef struct compilation {
  hlo_arena_t arena;  // of the options
  hlo_compile_options_t options;
  hlo_executable_t* executable;
} compilation_t;

hlo_status_t hlo_pjrt_check_devices(const PJRT_TopologyDescription* topology,
                                    const hlo_compile_options_t* options) {
  const uint32_t processors = (uint32_t)(options->replica_count * options->partition_count);
  if (processors > topology->device_count) {
    return hlo_invalid_argument(
        "%d replicas of %d partitions do not fit on a topology of %u devices",
        options->replica_count, options->partition_count, topology->device_count);
  }
  for (uint32_t i = 0; options->device_assignment != NULL && i < processors; ++i) {
    if ((uint32_t)options->device_assignment[i] < topology->device_count) continue;
    return hlo_invalid_argument(
        "device_assignment holds the device id %d; the topology has %u devices",
        options->device_assignment[i], topology->device_count);
  }
  return hlo_ok();
}

/// topology: the machine to compile for; null: the client's.
static hlo_status_t compile_program(const PJRT_Program* program,
                                    const PJRT_TopologyDescription* topology,
                                    const hlo_pjrt_settings_t* settings, const char* options,
                                    size_t options_bytes, compilation_t* out) {
  *out = (compilation_t){0};
  hlo_arena_init(&out->arena, 0);
  HLO_TRY(hlo_compile_options_parse(options, options_bytes, &out->arena, &out->options));
  HLO_TRY(check_program(program));
  if (topology != NULL) HLO_TRY(hlo_pjrt_check_devices(topology, &out->options));
  const hlo_serialized_t source = {.source = (const uint8_t*)program->code,
                                   .source_bytes = program->code_size};
  return hlo_pjrt_compile_bytes(&source, settings, topology != NULL ? topology->machine : NULL,
                                &out->options, &out->executable);
}

/// Compiles for the machine and the devices of a topology, which need not be here; the result is
/// loaded later. Everything else is as the options of the client say, or without one, those of the
/// topology.
hlo_status_t hlo_pjrt_Compile(PJRT_Compile_Args* args) {
  compilation_t made;
  hlo_status_t status =
      compile_program(args->program, args->topology,
                      args->client != NULL ? &args->client->settings : args->topology->settings,
                      args->compile_options, args->compile_options_size, &made);
  if (hlo_status_is_ok(status)) {
    status = hlo_pjrt_executable_create(made.executable, &args->executable);
  }
  hlo_arena_deinit(&made.arena);
  return status;
}

hlo_status_t hlo_pjrt_Client_Compile(PJRT_Client_Compile_Args* args) {
  HLO_TRY(hlo_client_check_usable(args->client->client));
  compilation_t made;
  hlo_status_t status = compile_program(args->program, NULL, &args->client->settings,
                                        args->compile_options, args->compile_options_size, &made);
  if (hlo_status_is_ok(status)) {
    status = hlo_pjrt_load(args->client, made.executable, &made.options, &args->executable);
    hlo_executable_release(made.executable);
  }
  hlo_arena_deinit(&made.arena);
  return status;
}

// --- Queries -------------------------------------------------------------------------------------

static bool is_on_device(const hlo_signature_entry_t* entry) {
  return strcmp(entry->memory_kind, hlo_memory_kind_name(HLO_MEMORY_DEVICE)) == 0;
}

/// Returns the bytes of the entries in host memory.
static int64_t host_bytes(const hlo_signature_entry_t* entries, uint32_t count) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!is_on_device(&entries[i])) bytes += (int64_t)entries[i].size_bytes;
  }
  return bytes;
}

/// Returns the bytes that arguments and results share, on the device or on the host: those of
/// different kinds share none.
static int64_t shared_bytes(const hlo_executable_t* executable, bool on_device) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < executable->argument_count; ++i) {
    const hlo_signature_entry_t* argument = &executable->arguments[i];
    if (argument->alias < 0 || is_on_device(argument) != on_device) continue;
    const hlo_signature_entry_t* result = &executable->results[argument->alias];
    if (strcmp(result->memory_kind, argument->memory_kind) == 0) {
      bytes += (int64_t)argument->size_bytes;
    }
  }
  return bytes;
}

hlo_status_t hlo_pjrt_Executable_GetCompiledMemoryStats(
    PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  const hlo_executable_t* executable = args->executable->executable;
  const int64_t host_arguments = host_bytes(executable->arguments, executable->argument_count);
  const int64_t host_results = host_bytes(executable->results, executable->result_count);
  const int64_t code = (int64_t)executable->program->code_bytes;
  const int64_t arguments = (int64_t)executable->argument_bytes - host_arguments;
  const int64_t results = (int64_t)executable->result_bytes - host_results;
  const int64_t shared = shared_bytes(executable, true);
  const int64_t temporaries = (int64_t)executable->program->temporary_bytes;
  args->generated_code_size_in_bytes = code;
  args->argument_size_in_bytes = arguments;
  args->output_size_in_bytes = results;
  args->alias_size_in_bytes = shared;
  args->temp_size_in_bytes = temporaries;
  args->host_generated_code_size_in_bytes = 0;
  args->host_argument_size_in_bytes = host_arguments;
  args->host_output_size_in_bytes = host_results;
  args->host_alias_size_in_bytes = shared_bytes(executable, false);
  args->host_temp_size_in_bytes = 0;
  args->indefinite_allocations = 0;
  args->peak_memory_in_bytes = arguments + results - shared + temporaries;
  args->total_size_in_bytes = args->peak_memory_in_bytes + code;
  args->total_allocation_bytes = results - shared + temporaries;
  args->peak_unpadded_heap_bytes = args->peak_memory_in_bytes;
  return hlo_ok();
}

/// Prints the module of the back end: HLO, or StableHLO text if HLO cannot express an op.
static hlo_status_t write_program(const hlo_module_t* module, hlo_strbuf_t* out,
                                  const char** out_format) {
  *out_format = "hlo_with_config";
  hlo_status_t status = hlo_hlo_proto_write_with_config(module, out);
  if (hlo_status_code(status) != HLO_STATUS_UNIMPLEMENTED) return status;
  hlo_status_release(status);
  *out_format = "mlir";
  hlo_print_module(module, &(hlo_print_options_t){0}, out);
  return hlo_strbuf_status(out);
}

hlo_status_t hlo_pjrt_Executable_OptimizedProgram(PJRT_Executable_OptimizedProgram_Args* args) {
  PJRT_Program* program = args->program;
  if (program == NULL) return hlo_invalid_argument("no program object to fill in");
  HLO_SCOPED_STRBUF text = {0};
  const char* format;
  hlo_status_t status = write_program(args->executable->executable->module, &text, &format);
  if (hlo_status_is_ok(status) && program->code != NULL && program->code_size < text.length) {
    status = hlo_invalid_argument("the program has %zu bytes, but there is room for %zu",
                                  text.length, program->code_size);
  }
  if (hlo_status_is_ok(status)) {
    if (program->code != NULL) memcpy(program->code, text.data, text.length);
    program->code_size = text.length;
    hlo_pjrt_lend(format, &program->format, &program->format_size);
  }
  return status;
}

// --- Serialization -------------------------------------------------------------------------------

static void free_serialized_executable(PJRT_SerializedExecutable* serialized) {
  hlo_mem_free(serialized);
}

hlo_status_t hlo_pjrt_Executable_Serialize(PJRT_Executable_Serialize_Args* args) {
  uint8_t* bytes;
  HLO_TRY(
      hlo_executable_serialize(args->executable->executable, &bytes, &args->serialized_bytes_size));
  args->serialized_bytes = (const char*)bytes;
  args->serialized_executable = (PJRT_SerializedExecutable*)bytes;
  args->serialized_executable_deleter = free_serialized_executable;
  return hlo_ok();
}

static void free_serialized_options(PJRT_SerializedCompileOptions* serialized) {
  hlo_mem_free(serialized);
}

hlo_status_t hlo_pjrt_Executable_GetCompileOptions(PJRT_Executable_GetCompileOptions_Args* args) {
  const hlo_executable_t* executable = args->executable->executable;
  char* copy =
      hlo_mem_strndup(executable->options_bytes != 0 ? (const char*)executable->options : "",
                      executable->options_bytes);
  if (copy == NULL) return hlo_status_out_of_memory(executable->options_bytes);
  args->serialized_bytes = copy;
  args->serialized_bytes_size = executable->options_bytes;
  args->serialized_compile_options = (PJRT_SerializedCompileOptions*)copy;
  args->serialized_compile_options_deleter = free_serialized_options;
  return hlo_ok();
}
